//! Brings two builds of one source to one canonical form, in which a place that one build duplicated (by
//! unrolling, peeling or specialising) is one place again.
//!
//! Sites of the same place, class and operand types form a *group*; its members are *copies*. Loops that
//! contain the same groups form a *source loop*: a main loop and its remainder, or two versions of which one
//! runs. The *factor* of a loop is how many source trips one trip makes, inferred from its copies: a loop
//! unrolled by four has a factor of four. Copies outside of the loops were peeled off them, and are source
//! trips as well.
//!
//! # Invariants
//! A group is compared only if its copies account for all loops of its source loop. Other groups, and sites
//! without a match, are excluded with a reason. Only certain matches ([`super::confidence`]) can become
//! findings.
//!
//! # Limitations
//! Sites without source lines are matched by order only. Code moved into or out of loops, and branches that
//! became selects, are not matched. Calls that one build inlined are handled by [`super::inlining`].

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Module, Site, SiteClass};
use prlx_trace::{BlockId, FuncId, LoopId, SiteId};

use crate::decode::is_decision as decides;
use crate::report::WhyUncompared as Why;

use super::canonical_form::{
    CanonicalForm, CanonicalSite, FIRST_SOURCE_LOOP, LOOP_TESTS, MatchInput, SiteRole,
};
use super::confidence;
use super::control_flow::ControlFlow;
use super::match_key::{SiteKey, SourceLevel};
use super::polarity::{self, DecisionTraits, PolarityMatch};
use super::unrolled_copies::{CopyGroup, CopyPositions, FunctionPair, SiteCopy};

/// The largest number of copies of a group on one side.
const MAX_COPIES: usize = 1 << 10;

/// Function, locations, class, and the types of the operands.
type GroupKey = (u32, Vec<SourceLevel>, SiteClass, String);

fn group_key(s: &Site, k: &SiteKey, columns: bool) -> Option<GroupKey> {
    let mut stack = k.place.clone();
    if !columns {
        stack.iter_mut().for_each(|p| p.1 = 0);
    }
    let types = match polarity::comparison(s) {
        Some((_, ty)) => ty,
        None => s.operands.iter().map(|o| o.ty.name()).collect::<Vec<_>>().join(" "),
    };
    (!stack.is_empty()).then_some((k.function, stack, k.class, types))
}

/// By side and site: the group.
type GroupOf = [Vec<Option<u32>>; 2];

/// Function, first location, and class of the sites on a source line.
type SourceLine = (u32, Option<u64>, SiteClass);

/// The number of sites by line.
type SitesPerLine = BTreeMap<SourceLine, usize>;

/// Groups the sites of both modules. Returns each site's group, and each group's sites.
fn groups(input: &MatchInput<'_>) -> (GroupOf, Vec<[Vec<usize>; 2]>) {
    let mut of = input.modules.map(|m| vec![None; m.sites.len()]);
    let mut all: Vec<[Vec<usize>; 2]> = Vec::new();
    for columns in [true, false] {
        let mut by_shape: BTreeMap<GroupKey, [Vec<usize>; 2]> = BTreeMap::new();
        for (side, of) in of.iter().enumerate() {
            for (i, (s, k)) in input.modules[side].sites.iter().zip(input.keys[side]).enumerate() {
                if let Some(group_key) = group_key(s, k, columns).filter(|_| of[i].is_none()) {
                    by_shape.entry(group_key).or_default()[side].push(i);
                }
            }
        }
        for sites in by_shape.into_values().filter(|s| s.iter().all(|s| !s.is_empty())) {
            // Equally many sites at equal loop depths match one by one.
            let depths = [0, 1]
                .map(|side| sites[side].iter().map(|i| depth(input.modules[side], *i)).collect::<Vec<_>>());
            let parts = match depths[0] == depths[1] {
                true => sites[0].iter().zip(&sites[1]).map(|(a, b)| [vec![*a], vec![*b]]).collect(),
                false => vec![sites],
            };
            for sites in parts {
                for side in 0..2 {
                    sites[side].iter().for_each(|i| of[side][*i] = Some(all.len() as u32));
                }
                all.push(sites);
            }
        }
    }
    for (b, a) in input.partners.iter().enumerate() {
        if let Some(a) = a.map(|a| a as usize)
            && of[0].get(a).is_some_and(Option::is_none)
            && of[1][b].is_none()
        {
            (of[0][a], of[1][b]) = (Some(all.len() as u32), Some(all.len() as u32));
            all.push([vec![a], vec![b]]);
        }
    }
    (of, all)
}

/// The number of loops around a site.
fn depth(m: &Module, site: usize) -> usize {
    let s = &m.sites[site];
    let Some(f) = m.functions.get(s.function.index()) else { return 0 };
    let innermost = f.blocks.get(s.block.index()).and_then(|b| b.in_loop);
    let around = |l: &LoopId| f.loops.get(l.index()).and_then(|l| l.parent);
    std::iter::successors(innermost, around).take(f.loops.len()).count()
}

/// Maps both modules to their canonical form.
pub(crate) fn match_unrolled(input: &MatchInput<'_>) -> [CanonicalForm; 2] {
    let (of, all) = groups(input);
    let mut sides = [0, 1].map(|side| CanonicalForm {
        names: input.names[side].clone(),
        sites: vec![SiteRole::Excluded(Why::Alone); input.modules[side].sites.len()],
        ..CanonicalForm::default()
    });
    let first = input.modules[0].sites.len() as u32;
    sides[0].names.sites = (0..first).collect();
    sides[1].names.sites = (0..input.modules[1].sites.len() as u32).map(|i| first + i).collect();
    let mut by_function: BTreeMap<(FuncId, FuncId), Vec<usize>> = BTreeMap::new();
    for (i, g) in all.iter().enumerate() {
        let of = [0, 1].map(|side| input.modules[side].sites[g[side][0]].function);
        by_function.entry((of[0], of[1])).or_default().push(i);
    }
    let lines = [0, 1].map(|side| {
        let mut lines = SitesPerLine::new();
        (0..input.modules[side].sites.len())
            .for_each(|i| *lines.entry(line(input, side, i)).or_default() += 1);
        lines
    });
    let mut base = FIRST_SOURCE_LOOP;
    let mut paired: [BTreeSet<FuncId>; 2] = Default::default();
    for b in (0..input.modules[1].functions.len() as u32).map(FuncId) {
        let a = FuncId(input.names[1].function(b));
        if a.index() >= input.modules[0].functions.len() {
            continue;
        }
        paired[0].insert(a);
        paired[1].insert(b);
        let mut pair = FunctionPair::new(input.modules, [a, b], base);
        base += pair.source_loops.0.len() as u32;
        let too_large = pair.flows.iter().any(|f| f.order.is_empty());
        let here = by_function.remove(&(a, b)).unwrap_or_default();
        let (here, left): (Vec<usize>, Vec<usize>) =
            here.into_iter().partition(|i| !too_large && all[*i].iter().all(|s| s.len() <= MAX_COPIES));
        for (side, sites) in left.iter().flat_map(|i| all[*i].iter().enumerate()) {
            sites.iter().for_each(|s| sides[side].sites[*s] = SiteRole::Excluded(Why::Copies));
            if !too_large {
                sides[side].changed_functions.insert([a, b][side]);
            }
        }
        let mut groups: Vec<(u32, CopyGroup)> = here
            .into_iter()
            .map(|i| {
                let g = &all[i];
                let copies = [0, 1].map(|side| {
                    let mut copies: Vec<SiteCopy> = g[side].iter().map(|s| pair.copy(side, *s)).collect();
                    copies.sort_by_key(|c| c.order);
                    copies
                });
                (
                    i as u32,
                    CopyGroup { copies, source_loops: Vec::new(), copies_per_trip: 1, tests_late: None },
                )
            })
            .collect();
        pair.merge_loops(&groups);
        pair.list_loops();
        groups.iter_mut().for_each(|(_, g)| pair.count_copies(g));
        pair.count_factors(&groups);
        match_function(input, (&of, &lines), &pair, &groups, &mut sides);
    }
    for (side, paired) in paired.iter().enumerate() {
        let functions = 0..input.modules[side].functions.len() as u32;
        sides[side].unmatched_functions = functions.map(FuncId).filter(|f| !paired.contains(f)).collect();
        let alone = sides[side].unmatched_functions.clone();
        sides[side].changed_functions.extend(alone);
    }
    sides
}

/// By source loop: the group that counts its trips. The first in order, but a group that exits the loop only
/// if there is no other.
type TripCounters = BTreeMap<u32, (bool, (u32, usize), u32)>;

/// Maps the sites and loops of one pair of functions.
fn match_function(
    input: &MatchInput<'_>,
    (of, lines): (&GroupOf, &[SitesPerLine; 2]),
    pair: &FunctionPair<'_>,
    groups: &[(u32, CopyGroup)],
    sides: &mut [CanonicalForm; 2],
) {
    let in_block = [0, 1].map(|side| polarity::sites_by_block(pair.modules[side], pair.functions[side]));
    let matcher = FunctionMatcher { input, of, lines, pair, in_block: &in_block };
    let equally_many = matcher.sites_without_line(0) == matcher.sites_without_line(1);
    let mut changed = false;
    for (id, g) in groups {
        // Sites without a line match by order, if both sides have equally many.
        let placed = equally_many || !input.keys[0][g.copies[0][0].site].place.is_empty();
        changed |= matcher.place_group(*id, g, placed, sides);
    }
    for side in 0..2 {
        changed |= mark_copy_selectors(pair, side, &in_block[side], &mut sides[side]);
    }
    let unmatched = matcher.unmatched_lines(sides);
    let partial = |g: &CopyGroup| unmatched.contains(&line(input, 0, g.copies[0][0].site));
    for (_, g) in groups.iter().filter(|(_, g)| g.copies.iter().any(|c| c.len() > 1) && partial(g)) {
        for (side, copies) in g.copies.iter().enumerate() {
            copies.iter().for_each(|c| sides[side].sites[c.site] = SiteRole::Excluded(Why::Copies));
        }
    }
    let counters = trip_counters(pair, groups, &partial, sides);
    for side in 0..2 {
        let loops = pair.modules[side].functions[pair.functions[side].index()].loops.len() as u32;
        let source_loops: BTreeSet<u32> = (0..loops).map(|l| pair.source_loop(side, LoopId(l))).collect();
        changed |= source_loops.len() != loops as usize;
    }
    let uncertain = confidence::uncertain_loops(input, pair, groups, sides);
    let calls = confidence::uncertain_calls(pair, input.names);
    for (own, calls) in sides.iter_mut().zip(calls) {
        changed |= !uncertain.is_empty() || !calls.is_empty();
        own.uncertain_loops.extend(&uncertain);
        own.uncertain_calls.extend(calls);
    }
    for (side, own) in sides.iter_mut().enumerate() {
        mark_loop_exits(pair, side, &counters, own);
        exclude_ambiguous_exits(pair, side, own);
    }
    if changed {
        for (side, own) in sides.iter_mut().enumerate() {
            own.changed_functions.insert(pair.functions[side]);
        }
    }
}

/// What placing the groups of one pair of functions needs.
struct FunctionMatcher<'a> {
    input: &'a MatchInput<'a>,
    of: &'a GroupOf,
    lines: &'a [SitesPerLine; 2],
    pair: &'a FunctionPair<'a>,
    /// By side and block: its sites.
    in_block: &'a [Vec<Vec<u32>>; 2],
}

impl FunctionMatcher<'_> {
    /// The number of a side's decisions that have no source line.
    fn sites_without_line(&self, side: usize) -> usize {
        let module = self.pair.modules[side];
        let is = |(i, s): &(usize, &Site)| {
            s.function == self.pair.functions[side]
                && self.input.keys[side][*i].place.is_empty()
                && decides(module, SiteId(*i as u32))
        };
        module.sites.iter().enumerate().filter(is).count()
    }

    /// Places the copies of a group, or excludes them. Returns whether the sides differ in more than numbers.
    fn place_group(&self, id: u32, g: &CopyGroup, placed: bool, sides: &mut [CanonicalForm; 2]) -> bool {
        let pair = self.pair;
        let places = pair.positions(g);
        // A's first copy gives the common number of each copy in a trip.
        let mut names: BTreeMap<u32, u32> = BTreeMap::new();
        for c in &g.copies[0] {
            let place = places.iter().flat_map(|p| &p[0]).find(|p| p.0 == c.site);
            if let Some(p) = place {
                names.entry(p.1).or_insert(c.site as u32);
            }
        }
        let places = places.filter(|p| g.exits_loop() || same_thing(pair, p, &names));
        let inversions = places
            .as_ref()
            .map(|places| inversions(self.input, (self.of, self.lines), self.in_block, places, &names));
        let (Some(places), Some(Some((inversions, certain)))) = (&places, inversions) else {
            let why = match places {
                Some(_) => Why::Opposite,
                None if g.exits_loop() && pair.loops_of(g) => Why::Stays,
                None => Why::Copies,
            };
            for (side, copies) in g.copies.iter().enumerate() {
                // A copy that exits no loop is unrelated to a loop test.
                let why = if why == Why::Stays && !g.exits_loop_in(side) { Why::Alone } else { why };
                copies.iter().for_each(|c| sides[side].sites[c.site] = SiteRole::Excluded(why));
            }
            return true;
        };
        let certain = certain && placed;
        let mut changed = !certain || g.tests_late.is_some() || g.copies.iter().any(|c| c.len() != 1);
        for (side, (places, inversions)) in places.iter().zip(inversions).enumerate() {
            let own = &mut sides[side];
            for (site, sub, levels) in places {
                let inverted = inversions.contains(site);
                changed |= inverted || levels.iter().any(|l| l.factor != 1 || l.of.is_none());
                own.names.sites[*site] = names.get(sub).copied().unwrap_or(own.names.sites[*site]);
                let early = g.tests_late == Some(1 - side);
                let place = CanonicalSite { group: id, inverted, certain, early, levels: levels.clone() };
                enter_loops(own, pair.functions[side], g, &place, own.names.sites[*site]);
                own.sites[*site] = SiteRole::Compared(place);
            }
        }
        changed
    }

    /// The lines of unmatched sites. A group on such a line may be incomplete: one build may have a load of
    /// another width there, for example.
    fn unmatched_lines(&self, sides: &[CanonicalForm; 2]) -> BTreeSet<SourceLine> {
        let mut lines = BTreeSet::new();
        for (side, own) in sides.iter().enumerate() {
            let here = own.sites.iter().enumerate().filter(|(_, p)| **p == SiteRole::Excluded(Why::Alone));
            lines.extend(here.map(|(i, _)| line(self.input, side, i)));
        }
        lines
    }
}

/// Records what one copy says of the loops around it: factors, order, and where a loop's trips are. `name` is
/// the common number of the copy.
fn enter_loops(own: &mut CanonicalForm, function: FuncId, g: &CopyGroup, place: &CanonicalSite, name: u32) {
    let levels = &place.levels;
    for (depth, l) in levels.iter().enumerate() {
        let (at, looped) = ((depth as u32, l.segment), l.of.is_some() || depth + 1 < levels.len());
        own.factors.entry(place.group).or_default().insert(at, l.factor);
        if g.exits_loop() && looped {
            own.factors.entry(place.group | LOOP_TESTS).or_default().insert(at, l.factor);
        }
        own.order.entry(l.source_loop).and_modify(|n| *n = name.min(*n)).or_insert(name);
    }
    for (i, of) in levels.iter().enumerate().filter_map(|(i, l)| Some((i, l.of?))) {
        let mut part = CanonicalSite { early: false, levels: levels[..=i].to_vec(), ..place.clone() };
        part.levels[i].offset = 0;
        // A test before the first trip is not a trip. Loop tests place a loop only if nothing else does.
        let tests_exit = g.exits_loop() && i + 1 == levels.len();
        if tests_exit {
            part.group |= LOOP_TESTS;
        }
        let entry = own.loops.entry((function, of)).or_insert_with(|| part.clone());
        if !tests_exit && entry.group & LOOP_TESTS != 0 {
            *entry = part;
        }
        own.source_loops.entry(levels[i].source_loop).and_modify(|f| *f = (*f).min(of)).or_insert(of);
    }
}

/// Chooses, for each source loop, the group that counts its trips, and marks the blocks of its copies.
/// Excludes loop tests that no group counts. `partial` says whether a group may be incomplete.
fn trip_counters(
    pair: &FunctionPair<'_>,
    groups: &[(u32, CopyGroup)],
    partial: &dyn Fn(&CopyGroup) -> bool,
    sides: &mut [CanonicalForm; 2],
) -> TripCounters {
    let mut counters: TripCounters = BTreeMap::new();
    for (id, g) in groups {
        let compared = matches!(sides[0].sites[g.copies[0][0].site], SiteRole::Compared(_)) && !partial(g);
        if let Some(source_loop) = g.source_loops.last().filter(|_| compared && pair.in_every_trip(g)) {
            let rank = (g.exits_loop(), g.copies[0][0].order, *id);
            counters.entry(*source_loop).and_modify(|r| *r = rank.min(*r)).or_insert(rank);
        }
    }
    let uncounted = |g: &CopyGroup| g.source_loops.last().is_none_or(|f| !counters.contains_key(f));
    for (_, g) in groups.iter().filter(|(_, g)| uncounted(g)) {
        // No site counts the trips of this loop, so its test alone could differ unseen.
        for (side, c) in (0..2).flat_map(|side| g.copies[side].iter().map(move |c| (side, c))) {
            if sides[side].sites[c.site] == SiteRole::Excluded(Why::Stays) {
                sides[side].sites[c.site] = SiteRole::Excluded(Why::Copies);
            }
        }
    }
    for (id, g) in groups.iter().filter(|(id, _)| counters.values().any(|c| c.2 == *id)) {
        for (side, copies) in g.copies.iter().enumerate() {
            let own = &mut sides[side];
            for c in copies {
                let SiteRole::Compared(place) = &own.sites[c.site] else { continue };
                // One of several copies in a trip counts the trip.
                if own.names.sites[c.site] == g.copies[0][0].site as u32 && place.group == *id {
                    let place = place.clone();
                    own.trip_counters.entry((pair.functions[side], c.block)).or_default().push(place);
                }
            }
        }
    }
    counters
}

/// Whether nothing shows that the copies are different decisions. A single copy on each side needs no
/// evidence.
fn same_thing(pair: &FunctionPair<'_>, places: &[CopyPositions; 2], names: &BTreeMap<u32, u32>) -> bool {
    let meaning = |side: usize, site: usize| polarity::traits_of(pair.modules[side], site, &[], &[]);
    let alike = |side: usize, site: usize, sub: u32| {
        names.get(&sub).is_some_and(|first| {
            !polarity::known_different(&meaning(0, *first as usize), &meaning(side, site))
        })
    };
    places.iter().all(|p| p.len() == 1)
        || places.iter().enumerate().all(|(side, p)| p.iter().all(|(site, sub, _)| alike(side, *site, *sub)))
}

/// Whether memory accesses are certainly copies of one access: they are the only ones on their line, and have
/// equal widths.
fn one_access(input: &MatchInput<'_>, lines: &[SitesPerLine; 2], places: &[CopyPositions; 2]) -> bool {
    let width = |side: usize, site: usize| {
        let text = &input.modules[side].sites[site].text;
        let opcode = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        // `2` and `32` of `st.global.v2.f32`.
        let parts =
            opcode.split('.').filter(|p| p.ends_with(|c: char| c.is_ascii_digit()) && !p.contains("::"));
        parts.map(|p| p.trim_start_matches(|c: char| c.is_ascii_alphabetic()).to_owned()).collect::<Vec<_>>()
    };
    let Some((first, ..)) = places[0].first() else { return true };
    let here = |side: usize| {
        let Some((one, ..)) = places[side].first() else { return true };
        lines[side].get(&line(input, side, *one)) == Some(&places[side].len())
            && places[side].iter().all(|(site, ..)| width(side, *site) == width(0, *first))
    };
    here(0) && here(1)
}

/// By side: copies whose decision is true where A's first copy is false; and whether all copies are certain.
/// `None` if a polarity is ambiguous.
fn inversions(
    input: &MatchInput<'_>,
    (of, lines): (&GroupOf, &[SitesPerLine; 2]),
    in_block: &[Vec<Vec<u32>>; 2],
    places: &[CopyPositions; 2],
    names: &BTreeMap<u32, u32>,
) -> Option<([BTreeSet<usize>; 2], bool)> {
    let first = *names.values().next()? as usize;
    match input.modules[0].sites[first].class {
        SiteClass::Load | SiteClass::Store | SiteClass::Atomic => {
            return Some((Default::default(), one_access(input, lines, places)));
        }
        _ if !decides(input.modules[0], SiteId(first as u32)) => return Some((Default::default(), true)),
        SiteClass::Switch => return Some((Default::default(), true)),
        _ => {}
    }
    let meaning =
        |side: usize, site: usize| polarity::traits_of(input.modules[side], site, &of[side], &in_block[side]);
    let ours: BTreeMap<u32, DecisionTraits> =
        names.iter().map(|(sub, s)| (*sub, meaning(0, *s as usize))).collect();
    let mut out: [BTreeSet<usize>; 2] = Default::default();
    let alone = places.iter().all(|c| c.len() == 1);
    let mut all_certain = true;
    for side in 0..2 {
        for (site, sub, _) in &places[side] {
            let edited = side == 1 && (input.edited)(*names.get(sub)? as usize, *site);
            match polarity::relate(ours.get(sub)?, &meaning(side, *site), edited) {
                PolarityMatch::Known { inverted, certain } => {
                    all_certain &= certain;
                    if inverted {
                        out[side].insert(*site);
                    }
                }
                PolarityMatch::Assumed if alone => all_certain &= edited,
                PolarityMatch::Assumed | PolarityMatch::Ambiguous => return None,
            }
        }
    }
    Some((out, all_certain))
}

/// Excludes loop exits that are ambiguous. The number of trips identifies a single excluded exit, but not one
/// of several.
fn exclude_ambiguous_exits(pair: &FunctionPair<'_>, side: usize, own: &mut CanonicalForm) {
    let mut out: BTreeMap<LoopId, Vec<usize>> = BTreeMap::new();
    let f = pair.functions[side];
    for (i, s) in pair.modules[side].sites.iter().enumerate().filter(|(_, s)| s.function == f) {
        if own.sites[i] == SiteRole::Excluded(Why::Stays)
            && decides(pair.modules[side], SiteId(i as u32))
            && s.function == f
        {
            pair.copy(side, i).exits.into_iter().for_each(|l| out.entry(l).or_default().push(i));
        }
    }
    for i in out.into_values().filter(|sites| sites.len() > 1).flatten() {
        own.sites[i] = SiteRole::Excluded(Why::Copies);
    }
}

/// Function, line and class of a site; all decisions share one class.
fn line(input: &MatchInput<'_>, side: usize, site: usize) -> SourceLine {
    let k = &input.keys[side][site];
    let class = if decides(input.modules[side], SiteId(site as u32)) { SiteClass::Branch } else { k.class };
    (k.function, k.line(), class)
}

/// Marks unmatched decisions of one side that exit a loop whose trips are counted.
fn mark_loop_exits(pair: &FunctionPair<'_>, side: usize, counters: &TripCounters, own: &mut CanonicalForm) {
    let f = pair.functions[side];
    for (i, _) in pair.modules[side].sites.iter().enumerate().filter(|(_, s)| s.function == f) {
        let leaves = |l| counters.contains_key(&pair.source_loop(side, l));
        if own.sites[i] == SiteRole::Excluded(Why::Alone) && pair.copy(side, i).exits.is_some_and(leaves) {
            own.sites[i] = SiteRole::Excluded(Why::Stays);
        }
    }
}

/// Marks unmatched branches that choose between copies. Returns whether the side has unmatched sites.
fn mark_copy_selectors(
    pair: &FunctionPair<'_>,
    side: usize,
    in_block: &[Vec<u32>],
    own: &mut CanonicalForm,
) -> bool {
    let (m, id) = (pair.modules[side], pair.functions[side]);
    let f = &m.functions[id.index()];
    let mut alone = false;
    for (i, s) in m.sites.iter().enumerate().filter(|(_, s)| s.function == id) {
        if own.sites[i] != SiteRole::Excluded(Why::Alone) {
            continue;
        }
        alone = true;
        let Some(ways) = polarity::branch_targets(m, i) else { continue };
        let until = f.blocks.get(s.block.index()).and_then(|b| b.ipdom);
        let copied = |site: &u32| match &own.sites[*site as usize] {
            SiteRole::Compared(place) => {
                own.factors.get(&place.group).is_some_and(|f| f.len() > place.levels.len())
            }
            SiteRole::Excluded(_) => false,
        };
        let shows = |way: &BlockId| {
            let blocks = ControlFlow::region(f, *way, until);
            blocks.is_empty() || blocks.iter().flat_map(|b| &in_block[b.index()]).any(copied)
        };
        if ways.iter().all(shows) && ways[0] != ways[1] {
            own.sites[i] = SiteRole::Excluded(Why::Between);
        }
    }
    alone
}
