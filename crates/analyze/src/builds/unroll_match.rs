//! Two builds of one source that do not have the same sites, brought to one form: a place in the source that one build has
//! once and the other several times (unrolled, peeled, specialised) is one place again.
//!
//! Sites of the same place, class and operands are a *group*; its members are *copies*. Loops that hold the same groups are one
//! loop of the source, a *family*: a main loop and what remains of it, or two versions of which one runs. How many copies
//! one trip of a loop makes is its *factor*: one trip of a loop unrolled by four is four trips. What stands outside of its
//! family's loops was peeled off them, and is trips too.
//!
//! Holds: a group is compared only if its copies add up in all loops of its family; what does not, and what has no partner, is left
//! out, with a reason. Nothing of a loop is believed that its copies do not show. Only what is certain ([`crate::doubt`]) can be said to differ.
//!
//! Misses: sites without source lines; code that was moved into or out of loops; decisions that became selects. Calls that one build
//! inlined are none any more where [`crate::inline`] was at work.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Module, Site, SiteClass};
use prlx_trace::{BlockId, FuncId, LoopId, SiteId};

use crate::decode::is_decision as decides;
use crate::report::WhyUncompared as Why;

use super::canonical_form::{CanonicalForm, CanonicalSite, FAMILIES, MatchInput, SiteRole, TESTS};
use super::confidence;
use super::control_flow::ControlFlow;
use super::match_key::SiteMatchKey;
use super::polarity::{self, DecisionTraits, PolarityMatch};
use super::unrolled_copies::{CopyGroup, CopyPositions, FunctionPair, SiteCopy};

/// Copies of a group on one side, at most.
const MAX_COPIES: usize = 1 << 10;

/// A place, class and the types of what is compared or moved.
type GroupKey = (u32, Vec<(u64, u32, String)>, SiteClass, String);

fn group_key(s: &Site, k: &SiteMatchKey, columns: bool) -> Option<GroupKey> {
    let mut stack = k.1.clone();
    if !columns {
        stack.iter_mut().for_each(|p| p.1 = 0);
    }
    let types = match polarity::comparison(s) {
        Some((_, ty)) => ty,
        None => s.operands.iter().map(|o| o.ty.name()).collect::<Vec<_>>().join(" "),
    };
    (!stack.is_empty()).then_some((k.0, stack, k.2, types))
}

/// By side and site: its group.
type GroupOf = [Vec<Option<u32>>; 2];

/// A line of the source, and what kind of site stands there.
type SourceLine = (u32, Option<u64>, SiteClass);

/// How many sites lines have.
type SitesPerLine = BTreeMap<SourceLine, usize>;

/// By side and site, its group; and the groups' sites.
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
            // As many in the same loops: one by one, whatever they are.
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

/// How many loops are around a site.
fn depth(m: &Module, site: usize) -> usize {
    let s = &m.sites[site];
    let Some(f) = m.functions.get(s.function.index()) else { return 0 };
    let innermost = f.blocks.get(s.block.index()).and_then(|b| b.in_loop);
    let around = |l: &LoopId| f.loops.get(l.index()).and_then(|l| l.parent);
    std::iter::successors(innermost, around).take(f.loops.len()).count()
}

/// Brings two modules to one form.
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
    let mut base = FAMILIES;
    let mut paired: [BTreeSet<FuncId>; 2] = Default::default();
    for b in (0..input.modules[1].functions.len() as u32).map(FuncId) {
        let a = FuncId(input.names[1].function(b));
        if a.index() >= input.modules[0].functions.len() {
            continue;
        }
        paired[0].insert(a);
        paired[1].insert(b);
        let mut pair = FunctionPair::new(input.modules, [a, b], base);
        base += pair.families.0.len() as u32;
        let too_large = pair.flows.iter().any(|f| f.order.is_empty());
        let here = by_function.remove(&(a, b)).unwrap_or_default();
        let (here, left): (Vec<usize>, Vec<usize>) =
            here.into_iter().partition(|i| !too_large && all[*i].iter().all(|s| s.len() <= MAX_COPIES));
        for (side, sites) in left.iter().flat_map(|i| all[*i].iter().enumerate()) {
            sites.iter().for_each(|s| sides[side].sites[*s] = SiteRole::Excluded(Why::Copies));
            if !too_large {
                sides[side].uneven.insert([a, b][side]);
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
                (i as u32, CopyGroup { copies, families: Vec::new(), each: 1, asks_late: None })
            })
            .collect();
        pair.unite(&groups);
        pair.gather();
        groups.iter_mut().for_each(|(_, g)| pair.measure(g));
        pair.count_factors(&groups);
        match_function(input, (&of, &lines), &pair, &groups, &mut sides);
    }
    for (side, paired) in paired.iter().enumerate() {
        let functions = 0..input.modules[side].functions.len() as u32;
        sides[side].alone = functions.map(FuncId).filter(|f| !paired.contains(f)).collect();
        let alone = sides[side].alone.clone();
        sides[side].uneven.extend(alone);
    }
    sides
}

/// By family: the group that counts its trips; of several the first, but none that leaves it if there is another.
type TripCounters = BTreeMap<u32, (bool, (u32, usize), u32)>;

/// One pair of functions.
fn match_function(
    input: &MatchInput<'_>,
    (of, lines): (&GroupOf, &[SitesPerLine; 2]),
    pair: &FunctionPair<'_>,
    groups: &[(u32, CopyGroup)],
    sides: &mut [CanonicalForm; 2],
) {
    let in_block = [0, 1].map(|side| polarity::sites_by_block(pair.modules[side], pair.functions[side]));
    let mut uneven = false;
    // What stands on no line is found by its order, if there is as much of it.
    let unplaced = [0, 1].map(|side| {
        let own = |(i, s): &(usize, &Site)| {
            s.function == pair.functions[side]
                && input.keys[side][*i].1.is_empty()
                && decides(pair.modules[side], SiteId(*i as u32))
        };
        pair.modules[side].sites.iter().enumerate().filter(own).count()
    });
    let placed =
        |g: &CopyGroup| unplaced[0] == unplaced[1] || !input.keys[0][g.copies[0][0].site].1.is_empty();
    for (id, g) in groups {
        uneven |= g.copies.iter().any(|c| c.len() != 1);
        let places = pair.add_up(g);
        // What stands for each copy of a trip is A's first.
        let mut names: BTreeMap<u32, u32> = BTreeMap::new();
        for c in &g.copies[0] {
            let place = places.iter().flat_map(|p| &p[0]).find(|p| p.0 == c.site);
            if let Some(p) = place {
                names.entry(p.1).or_insert(c.site as u32);
            }
        }
        let places = places.filter(|p| g.leaves() || same_thing(pair, p, &names));
        let inversions =
            places.as_ref().map(|places| inversions(input, (of, lines), &in_block, places, &names));
        let (places, inversions) = match (places, inversions) {
            (Some(places), Some(Some((inversions, certain)))) => (places, (inversions, certain && placed(g))),
            (places, _) => {
                let why = match places {
                    Some(_) => Why::Opposite,
                    None if g.leaves() && pair.loops_of(g) => Why::Stays,
                    None => Why::Copies,
                };
                for (side, copies) in g.copies.iter().enumerate() {
                    // What leaves no loop is nothing of what leaves one.
                    let why = if why == Why::Stays && !g.leaves_in(side) { Why::Alone } else { why };
                    copies.iter().for_each(|c| sides[side].sites[c.site] = SiteRole::Excluded(why));
                }
                uneven = true;
                continue;
            }
        };
        let (inversions, certain) = inversions;
        for (side, (places, inversions)) in places.into_iter().zip(inversions).enumerate() {
            let own = &mut sides[side];
            for (site, sub, levels) in places {
                let inverted = inversions.contains(&site);
                uneven |= inverted
                    || !certain
                    || g.asks_late.is_some()
                    || levels.iter().any(|l| l.factor != 1 || l.of.is_none());
                for (depth, l) in levels.iter().enumerate() {
                    let (at, looped) =
                        ((depth as u32, l.segment), l.of.is_some() || depth + 1 < levels.len());
                    own.factors.entry(*id).or_default().insert(at, l.factor);
                    if g.leaves() && looped {
                        own.factors.entry(*id | TESTS).or_default().insert(at, l.factor);
                    }
                }
                let early = g.asks_late == Some(1 - side);
                let place = CanonicalSite { group: *id, inverted, certain, early, levels };
                own.names.sites[site] = names.get(&sub).copied().unwrap_or(own.names.sites[site]);
                let name = own.names.sites[site];
                for l in &place.levels {
                    own.order.entry(l.family).and_modify(|n| *n = name.min(*n)).or_insert(name);
                }
                let loops = place.levels.iter().enumerate().filter_map(|(i, l)| Some((i, l.of?)));
                for (i, l) in loops.collect::<Vec<_>>() {
                    let mut part =
                        CanonicalSite { early: false, levels: place.levels[..=i].to_vec(), ..place.clone() };
                    part.levels[i].offset = 0;
                    // What is asked before a loop's first trip is no trip of it: only tests stand for it if nothing else does.
                    let asks = g.leaves() && i + 1 == place.levels.len();
                    if asks {
                        part.group |= TESTS;
                    }
                    let entry = own.loops.entry((pair.functions[side], l)).or_insert_with(|| part.clone());
                    if !asks && entry.group & TESTS != 0 {
                        *entry = part;
                    }
                    own.families.entry(place.levels[i].family).and_modify(|f| *f = (*f).min(l)).or_insert(l);
                }
                own.sites[site] = SiteRole::Compared(place);
            }
        }
    }
    for side in 0..2 {
        uneven |= mark_copy_selectors(pair, side, &in_block[side], &mut sides[side]);
    }
    // What one side has alone where a group stands may be more of it: a load of another width, say.
    let mut alone = BTreeSet::new();
    for (side, own) in sides.iter().enumerate() {
        let here = own.sites.iter().enumerate().filter(|(_, p)| **p == SiteRole::Excluded(Why::Alone));
        alone.extend(here.map(|(i, _)| line(input, side, i)));
    }
    let doubtful = |g: &CopyGroup| alone.contains(&line(input, 0, g.copies[0][0].site));
    for (_, g) in groups.iter().filter(|(_, g)| g.copies.iter().any(|c| c.len() > 1) && doubtful(g)) {
        for (side, copies) in g.copies.iter().enumerate() {
            copies.iter().for_each(|c| sides[side].sites[c.site] = SiteRole::Excluded(Why::Copies));
        }
    }
    let mut counters: TripCounters = BTreeMap::new();
    for (id, g) in groups {
        let compared = matches!(sides[0].sites[g.copies[0][0].site], SiteRole::Compared(_)) && !doubtful(g);
        if let Some(family) = g.families.last().filter(|_| compared && pair.in_every_trip(g)) {
            let rank = (g.leaves(), g.copies[0][0].order, *id);
            counters.entry(*family).and_modify(|r| *r = rank.min(*r)).or_insert(rank);
        }
    }
    for (_, g) in groups.iter().filter(|(_, g)| g.families.last().is_none_or(|f| !counters.contains_key(f))) {
        // A loop whose trips nothing counts: that it stays differs, or does not.
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
                // Of several copies in a trip, one counts.
                if own.names.sites[c.site] == g.copies[0][0].site as u32 && place.group == *id {
                    let place = place.clone();
                    own.counts.entry((pair.functions[side], c.block)).or_default().push(place);
                }
            }
        }
    }
    for side in 0..2 {
        let loops = pair.modules[side].functions[pair.functions[side].index()].loops.len() as u32;
        let families: BTreeSet<u32> = (0..loops).map(|l| pair.family(side, LoopId(l))).collect();
        uneven |= families.len() != loops as usize;
    }
    let doubtful = confidence::uncertain_loops(input, pair, groups, sides);
    let calls = confidence::uncertain_calls(pair, input.names);
    for (own, calls) in sides.iter_mut().zip(calls) {
        uneven |= !doubtful.is_empty() || !calls.is_empty();
        own.doubtful.extend(&doubtful);
        own.calls.extend(calls);
    }
    for (side, own) in sides.iter_mut().enumerate() {
        mark_loop_exits(pair, side, &counters, own);
        exclude_ambiguous_exits(pair, side, own);
    }
    if uneven {
        for (side, own) in sides.iter_mut().enumerate() {
            own.uneven.insert(pair.functions[side]);
        }
    }
}

/// Whether nothing says that copies are of other things; what has one partner is what it is.
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

/// Whether accesses to memory are surely copies of one: they are all that their line has, and move as much. Of several on a line one may be taken for
/// another, and what one build moves at once another may in parts.
fn one_access(input: &MatchInput<'_>, lines: &[SitesPerLine; 2], places: &[CopyPositions; 2]) -> bool {
    let width = |side: usize, site: usize| {
        let text = &input.modules[side].sites[site].text;
        let opcode = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        // Of `st.global.v2.f32` `2` and `32`.
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

/// By side: the copies that hold where A's first does not; and whether all are surely copies of it. `None` if it may be either of one.
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

/// By how many trips a loop made one can tell a single decision to leave it. Of several that are left out, one could be taken for
/// another.
fn exclude_ambiguous_exits(pair: &FunctionPair<'_>, side: usize, own: &mut CanonicalForm) {
    let mut out: BTreeMap<LoopId, Vec<usize>> = BTreeMap::new();
    let f = pair.functions[side];
    for (i, s) in pair.modules[side].sites.iter().enumerate().filter(|(_, s)| s.function == f) {
        if own.sites[i] == SiteRole::Excluded(Why::Stays)
            && decides(pair.modules[side], SiteId(i as u32))
            && s.function == f
        {
            pair.copy(side, i).leaves.into_iter().for_each(|l| out.entry(l).or_default().push(i));
        }
    }
    for i in out.into_values().filter(|sites| sites.len() > 1).flatten() {
        own.sites[i] = SiteRole::Excluded(Why::Copies);
    }
}

/// Function, line and class (one for all decisions) of a site.
fn line(input: &MatchInput<'_>, side: usize, site: usize) -> SourceLine {
    let k = &input.keys[side][site];
    let class = if decides(input.modules[side], SiteId(site as u32)) { SiteClass::Branch } else { k.2 };
    (k.0, k.1.first().map(|p| p.0), class)
}

/// Finds decisions of one side alone to leave loops whose trips are counted.
fn mark_loop_exits(pair: &FunctionPair<'_>, side: usize, counters: &TripCounters, own: &mut CanonicalForm) {
    let f = pair.functions[side];
    for (i, _) in pair.modules[side].sites.iter().enumerate().filter(|(_, s)| s.function == f) {
        let leaves = |l| counters.contains_key(&pair.family(side, l));
        if own.sites[i] == SiteRole::Excluded(Why::Alone) && pair.copy(side, i).leaves.is_some_and(leaves) {
            own.sites[i] = SiteRole::Excluded(Why::Stays);
        }
    }
}

/// Finds the branches of one side that choose mark_copy_selectors copies. Says whether the side has sites alone.
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
