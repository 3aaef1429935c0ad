//! The copies of each site in one pair of functions, and the loops that are one source loop.
//!
//! # Invariants
//! Copies of which a trip visits only one count once; copies that follow one another count each. Loops that
//! contain the same groups at the same depth are one source loop, and so are loops that the same decisions
//! exit.
//!
//! # Limitations
//! As [`super::unroll_match`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{End, Module, SiteClass};
use prlx_trace::{BlockId, FuncId, LoopId};

use super::canonical_form::LoopLevel;
use super::control_flow::ControlFlow;
use super::polarity;

/// The largest number of source loops around a group.
const MAX_LEVELS: usize = 64;
/// The first number of parts that are not loops: code peeled off a source loop.
pub(crate) const PEELED: u32 = 1 << 24;

/// One copy of a site.
#[derive(Clone, Debug)]
pub(crate) struct SiteCopy {
    pub site: usize,
    pub block: BlockId,
    pub order: (u32, usize),
    /// The loops around it, outermost first.
    pub loops_around: Vec<LoopId>,
    /// The loop that its branch can exit.
    pub exits: Option<LoopId>,
}

pub(crate) struct CopyGroup {
    pub copies: [Vec<SiteCopy>; 2],
    pub source_loops: Vec<u32>,
    /// The number of copies in one source trip.
    pub copies_per_trip: u32,
    /// The side that tests at the end of each trip and not before the first, while the other side tests at
    /// the beginning.
    pub tests_late: Option<usize>,
}

/// The positions of one side's copies: the site, its rank among the copies of a trip, and its source trips.
pub(crate) type CopyPositions = Vec<(usize, u32, Vec<LoopLevel>)>;

/// Disjoint sets of numbers.
pub(crate) struct UnionFind(pub Vec<usize>);

impl UnionFind {
    fn find(&self, mut i: usize) -> usize {
        while self.0[i] != i {
            i = self.0[i];
        }
        i
    }
    fn join(&mut self, i: usize, j: usize) {
        let (i, j) = (self.find(i), self.find(j));
        self.0[i.max(j)] = i.min(j);
    }
}

/// A pair of matched functions, while their groups are analysed.
pub(crate) struct FunctionPair<'a> {
    pub modules: [&'a Module; 2],
    pub functions: [FuncId; 2],
    pub flows: [ControlFlow; 2],
    pub source_loops: UnionFind,
    /// By side and source loop: its loops.
    pub members: [BTreeMap<u32, Vec<LoopId>>; 2],
    /// By side and block: a cache of [`ControlFlow::on_every_trip`].
    pub always: [RefCell<BTreeMap<BlockId, bool>>; 2],
    /// The number of its first source loop.
    pub base: u32,
    /// By side, source loop and part: how many source trips one trip makes. `None` if the groups disagree.
    pub factors: [BTreeMap<(u32, u32), Option<u32>>; 2],
}

impl FunctionPair<'_> {
    fn node(&self, side: usize, l: LoopId) -> usize {
        l.index()
            + if side == 0 { 0 } else { self.modules[0].functions[self.functions[0].index()].loops.len() }
    }
    pub fn source_loop(&self, side: usize, l: LoopId) -> u32 {
        self.base + self.source_loops.find(self.node(side, l)) as u32
    }
    /// This side's loops of a source loop.
    pub fn loops(&self, side: usize, source_loop: u32) -> &[LoopId] {
        self.members[side].get(&source_loop).map_or(&[], |l| l)
    }
    pub fn copy(&self, side: usize, site: usize) -> SiteCopy {
        let (m, flow) = (self.modules[side], &self.flows[side]);
        let block = m.sites[site].block;
        let chain = flow.loops.get(block.index()).cloned().unwrap_or_default();
        let inside = |b: BlockId, l: &LoopId| flow.loops.get(b.index()).is_some_and(|ls| ls.contains(l));
        let leaves = chain.last().copied().filter(|l| {
            polarity::branch_targets(m, site).is_some_and(|ways| ways.iter().any(|w| !inside(*w, l)))
        });
        SiteCopy {
            site,
            block,
            order: (flow.order.get(block.index()).copied().unwrap_or(u32::MAX), site),
            loops_around: chain,
            exits: leaves,
        }
    }

    /// The rank of each copy of a trip: how many of the other copies precede it. Exclusive copies share a
    /// rank.
    fn ranks(&self, side: usize, copies: &[&SiteCopy]) -> Vec<u32> {
        let before = |a: &SiteCopy, b: &SiteCopy| match a.block == b.block {
            true => a.site < b.site,
            false => self.flows[side].follows(a.block, b.block),
        };
        let mut ranks: Vec<u32> = Vec::with_capacity(copies.len());
        for (i, c) in copies.iter().enumerate() {
            let rank = (0..i).filter(|j| before(copies[*j], c)).map(|j| ranks[j] + 1).max().unwrap_or(0);
            ranks.push(rank);
        }
        ranks
    }

    /// The part of a source loop that a copy is in.
    fn segment(&self, side: usize, c: &SiteCopy, source_loop: u32) -> (u32, Option<LoopId>) {
        match c.loops_around.iter().find(|l| self.source_loop(side, **l) == source_loop) {
            Some(l) => (l.0, Some(*l)),
            None => {
                let f = &self.modules[side].functions[self.functions[side].index()];
                let at = |l: &LoopId| self.flows[side].order.get(f.loops[l.index()].header.index()).copied();
                let before = self
                    .loops(side, source_loop)
                    .iter()
                    .filter(|l| at(l).is_some_and(|o| o < c.order.0))
                    .count();
                (PEELED + before as u32, None)
            }
        }
    }

    /// One side's copies by the parts that they are in.
    fn paths<'c>(&self, side: usize, g: &'c CopyGroup) -> BTreeMap<Vec<u32>, Vec<&'c SiteCopy>> {
        let mut out: BTreeMap<Vec<u32>, Vec<&SiteCopy>> = BTreeMap::new();
        for c in &g.copies[side] {
            let path = g.source_loops.iter().map(|f| self.segment(side, c, *f).0).collect();
            out.entry(path).or_default().push(c);
        }
        out
    }

    /// Whether the source loops around all copies are the group's, in order. Loops that were unrolled
    /// completely may be missing.
    fn nested(&self, side: usize, g: &CopyGroup) -> bool {
        g.copies[side].iter().all(|c| {
            let mut all = g.source_loops.iter();
            c.loops_around.iter().all(|l| all.any(|f| *f == self.source_loop(side, *l)))
        })
    }

    /// Computes the source trips of one side's copies, and their rank in a trip. `None` if the copies do not
    /// account for all trips.
    fn places(&self, side: usize, g: &CopyGroup, out: &mut CopyPositions) -> Option<()> {
        let copies: Vec<&SiteCopy> = g.copies[side].iter().collect();
        if g.source_loops.is_empty() {
            let ranks = self.ranks(side, &copies);
            out.extend(copies.iter().zip(&ranks).map(|(c, r)| (c.site, *r, Vec::new())));
            return (ranks.iter().max()? + 1 == g.copies_per_trip).then_some(());
        }
        self.level(side, g, &copies, &[], out)
    }

    fn level(
        &self,
        side: usize,
        g: &CopyGroup,
        copies: &[&SiteCopy],
        outer: &[LoopLevel],
        out: &mut CopyPositions,
    ) -> Option<()> {
        let source_loop = g.source_loops[outer.len()];
        let last = outer.len() + 1 == g.source_loops.len();
        let mut segments: BTreeMap<u32, (Option<LoopId>, Vec<&SiteCopy>)> = BTreeMap::new();
        for c in copies {
            let (segment, of) = self.segment(side, c, source_loop);
            segments.entry(segment).or_insert((of, Vec::new())).1.push(c);
        }
        for (segment, (of, copies)) in segments {
            let known = match self.factors[side].get(&(source_loop, segment)) {
                Some(agreed) => Some((*agreed)?),
                None => None,
            };
            let with = |factor, offset| {
                let mut levels = outer.to_vec();
                levels.push(LoopLevel { source_loop, segment, of, factor, offset });
                levels
            };
            if last {
                let ranks = self.ranks(side, &copies);
                let n = ranks.iter().max()? + 1;
                let factor = n / g.copies_per_trip;
                if n % g.copies_per_trip != 0 || known.is_some_and(|k| k != factor) {
                    return None;
                }
                // A test at the end of a trip belongs to the next trip.
                let late = u32::from(g.tests_late == Some(side));
                out.extend(copies.iter().zip(&ranks).map(|(c, r)| {
                    (c.site, r % g.copies_per_trip, with(factor, r / g.copies_per_trip + late))
                }));
                continue;
            }
            // Inner loops, in order: one trip contains as many as it makes source trips.
            let next = g.source_loops[outer.len() + 1];
            let mut inner: Vec<u32> = Vec::new();
            for c in &copies {
                let s = self.segment(side, c, next).0;
                if !inner.contains(&s) {
                    inner.push(s);
                }
            }
            let factor = match (of, known) {
                (_, Some(k)) => k,
                // Only the inner loop gives evidence: its number must equal the other side's.
                (Some(_), None) => {
                    let other =
                        self.loops(1 - side, next).len() / self.loops(1 - side, source_loop).len().max(1);
                    if inner.len() != other {
                        return None;
                    }
                    1
                }
                (None, None) => inner.len() as u32,
            };
            if factor == 0 || !(inner.len() as u32).is_multiple_of(factor) {
                return None;
            }
            let chunk = inner.len() / factor as usize;
            for (i, part) in inner.chunks(chunk.max(1)).enumerate() {
                let here: Vec<&SiteCopy> = copies
                    .iter()
                    .copied()
                    .filter(|c| part.contains(&self.segment(side, c, next).0))
                    .collect();
                self.level(side, g, &here, &with(factor, i as u32), out)?;
            }
        }
        Some(())
    }
}

impl<'a> FunctionPair<'a> {
    pub fn new(modules: [&'a Module; 2], functions: [FuncId; 2], base: u32) -> FunctionPair<'a> {
        let of = [0, 1].map(|side| &modules[side].functions[functions[side].index()]);
        let loops = of.iter().map(|f| f.loops.len()).sum();
        FunctionPair {
            modules,
            functions,
            flows: of.map(ControlFlow::new),
            source_loops: UnionFind((0..loops).collect()),
            members: Default::default(),
            always: Default::default(),
            base,
            factors: Default::default(),
        }
    }

    /// Merges loops into source loops: those that contain the same groups at the same depth, and those that
    /// the same decisions exit.
    pub fn merge_loops(&mut self, groups: &[(u32, CopyGroup)]) {
        for (_, g) in groups {
            let depth = |side: usize| g.copies[side].iter().map(|c| c.loops_around.len()).max().unwrap_or(0);
            let mut chains: Vec<(usize, &[LoopId])> = Vec::new();
            for (side, copies) in g.copies.iter().enumerate() {
                let deep =
                    copies.iter().filter(|c| depth(0) == depth(1) && c.loops_around.len() == depth(side));
                chains.extend(deep.map(|c| (side, &c.loops_around[..])));
            }
            let first = chains.first().copied();
            for (side, chain) in chains {
                let (_, of) = first.unwrap_or_default();
                for (l, of) in chain.iter().zip(of) {
                    let (i, j) = (self.node(side, *l), self.node(0, *of));
                    self.source_loops.join(i, j);
                }
            }
            let leaves = |side: usize| g.copies[side].iter().filter_map(|c| c.exits).collect::<Vec<_>>();
            if let (Some(first), [_, ..]) = (leaves(0).first(), &leaves(1)[..]) {
                for side in 0..2 {
                    for l in leaves(side) {
                        let (i, j) = (self.node(side, l), self.node(0, *first));
                        self.source_loops.join(i, j);
                    }
                }
            }
        }
    }

    /// Lists the loops of each source loop, after merging.
    pub fn list_loops(&mut self) {
        for side in 0..2 {
            let n = self.modules[side].functions[self.functions[side].index()].loops.len() as u32;
            for l in (0..n).map(LoopId) {
                let source_loop = self.source_loop(side, l);
                self.members[side].entry(source_loop).or_default().push(l);
            }
        }
    }

    /// Computes the source loops around a group, and how many copies one trip has.
    pub fn count_copies(&self, g: &mut CopyGroup) {
        let mut longest: Vec<u32> = Vec::new();
        for (side, copies) in g.copies.iter().enumerate() {
            for c in copies {
                let chain: Vec<u32> = c.loops_around.iter().map(|l| self.source_loop(side, *l)).collect();
                if chain.len() > longest.len() {
                    longest = chain;
                }
            }
        }
        g.source_loops = longest;
        let counts = (0..2)
            .flat_map(|side| self.paths(side, g).into_values().map(move |c| (side, c)).collect::<Vec<_>>());
        let each =
            counts.map(|(side, c)| self.ranks(side, &c).iter().max().map_or(0, |m| m + 1)).fold(0, gcd);
        g.copies_per_trip = each.max(1);
        g.tests_late = (0..2).find(|late| self.tests_at_end(*late, g) && self.tests_first(1 - late, g));
    }

    /// Whether a group is the test at the beginning of each trip of its loop.
    fn tests_first(&self, side: usize, g: &CopyGroup) -> bool {
        let [c] = &g.copies[side][..] else { return false };
        c.exits.is_some_and(|l| self.leads_to(side, self.header(side, l), c.block))
            && !self.branches_to_header(side, c)
    }

    /// Whether `from` leads to `to` without a decision. Calls end blocks in some builds.
    fn leads_to(&self, side: usize, from: BlockId, to: BlockId) -> bool {
        let blocks = &self.modules[side].functions[self.functions[side].index()].blocks;
        let next = |b: &BlockId| match blocks.get(b.index())?.end {
            End::Jump(next) if *b != to => Some(next),
            _ => None,
        };
        std::iter::successors(Some(from), next).take(blocks.len()).any(|b| b == to)
    }

    /// Whether one side tests after each trip, and the other somewhere inside it. The last test may then
    /// belong to no trip.
    pub fn tests_elsewhere(&self, g: &CopyGroup) -> bool {
        let within = |side: usize| {
            g.copies[side].iter().all(|c| c.exits.is_some())
                && !g.copies[side].iter().any(|c| self.branches_to_header(side, c))
        };
        g.tests_late.is_none() && (0..2).any(|late| self.tests_at_end(late, g) && within(1 - late))
    }

    /// Whether a group is the test after each trip of its loops, with none before the first.
    fn tests_at_end(&self, side: usize, g: &CopyGroup) -> bool {
        let copies = &g.copies[side];
        copies.iter().all(|c| c.exits.is_some() && c.loops_around.len() == g.source_loops.len())
            && copies.iter().any(|c| self.branches_to_header(side, c))
    }

    fn header(&self, side: usize, l: LoopId) -> BlockId {
        self.modules[side].functions[self.functions[side].index()].loops[l.index()].header
    }

    /// Whether the branch of a loop exit otherwise goes to the next trip.
    fn branches_to_header(&self, side: usize, c: &SiteCopy) -> bool {
        let ways = polarity::branch_targets(self.modules[side], c.site);
        c.exits.zip(ways).is_some_and(|(l, ways)| ways.contains(&self.header(side, l)))
    }

    /// Computes how many source trips one trip of each part makes: the factor on which more than half of its
    /// groups agree.
    pub fn count_factors(&mut self, groups: &[(u32, CopyGroup)]) {
        let mut votes: [BTreeMap<(u32, u32), BTreeMap<u32, u32>>; 2] = Default::default();
        for (_, g) in groups.iter().filter(|(_, g)| !g.exits_loop()) {
            let Some(source_loop) = g.source_loops.last() else { continue };
            for (side, votes) in votes.iter_mut().enumerate() {
                for (path, copies) in self.paths(side, g) {
                    let n = self.ranks(side, &copies).iter().max().map_or(0, |m| m + 1);
                    let segment = path.last().copied().unwrap_or_default();
                    *votes
                        .entry((*source_loop, segment))
                        .or_default()
                        .entry(n / g.copies_per_trip)
                        .or_default() += 1;
                }
            }
        }
        let most = |side: usize, segment: u32, v: BTreeMap<u32, u32>| {
            let all: u32 = v.values().sum();
            let (factor, _) = v.into_iter().find(|(_, n)| n * 2 > all)?;
            // A single group may have been duplicated in the source; then the steps of the loop must confirm
            // the factor.
            let sure =
                factor == 1 || all > 1 || segment >= PEELED || self.steps_by(side, LoopId(segment), factor);
            sure.then_some(factor)
        };
        let mut side = 0;
        let factors = votes.map(|votes| {
            let own = votes.into_iter().map(|(at, v)| (at, most(side, at.1, v))).collect();
            side += 1;
            own
        });
        self.factors = factors;
    }

    /// Whether the exits of a loop count in steps that are multiples of `factor`.
    fn steps_by(&self, side: usize, of: LoopId, factor: u32) -> bool {
        let m = self.modules[side];
        let by = |c: i64| c != 0 && c.unsigned_abs().is_multiple_of(factor.into());
        let own = m.sites.iter().enumerate().filter(|(_, s)| s.function == self.functions[side]);
        let ways: Vec<_> = own.filter(|(i, _)| self.copy(side, *i).exits == Some(of)).collect();
        // Or each of the source trips has an exit of its own.
        ways.len() >= factor as usize
            || ways.iter().any(|(_, s)| s.slice.iter().filter_map(|n| added(&n.text)).any(by))
    }

    /// How many source trips one trip of each part of the innermost source loop makes, according to one
    /// group.
    pub fn trips_of(&self, side: usize, g: &CopyGroup) -> BTreeMap<u32, u32> {
        let mut out: BTreeMap<u32, u32> = BTreeMap::new();
        for (path, copies) in self.paths(side, g) {
            let n = self.ranks(side, &copies).iter().max().map_or(0, |m| m + 1);
            out.insert(path.last().copied().unwrap_or_default(), n / g.copies_per_trip);
        }
        out
    }

    /// Whether the group has copies in all of a side's loops of its innermost source loop.
    fn in_all_loops(&self, side: usize, g: &CopyGroup) -> bool {
        let own = |l: &LoopId| g.copies[side].iter().any(|c| c.loops_around.contains(l));
        let innermost = g.source_loops.last().is_none_or(|f| self.loops(side, *f).iter().all(own));
        innermost
            && g.source_loops.iter().all(|f| {
                let loops = self.loops(side, *f);
                loops.is_empty() || loops.iter().any(own)
            })
    }

    /// The positions of a group's copies on both sides, if they account for all trips.
    pub fn positions(&self, g: &CopyGroup) -> Option<[CopyPositions; 2]> {
        let mut out: [Vec<_>; 2] = Default::default();
        for (side, out) in out.iter_mut().enumerate() {
            let once = g.source_loops.iter().collect::<BTreeSet<_>>().len() == g.source_loops.len();
            if !once
                || g.source_loops.len() > MAX_LEVELS
                || !self.nested(side, g)
                || !self.in_all_loops(side, g)
            {
                return None;
            }
            self.places(side, g, out)?;
        }
        // A loop exit must exist in every build that has the loop.
        let has = |side: usize| g.source_loops.last().is_some_and(|f| !self.loops(side, *f).is_empty());
        if g.exits_loop() && (0..2).any(|side| has(side) && !g.exits_loop_in(side)) {
            return None;
        }
        // A select or guard may run too early or too often, because no branch controls it.
        let class = self.modules[0].sites[g.copies[0][0].site].class;
        if matches!(class, SiteClass::Select | SiteClass::Guard) {
            let always = |side: usize| {
                let inner = g.copies[side].iter().filter(|c| c.loops_around.len() == g.source_loops.len());
                inner.map(|c| self.always(side, c)).collect()
            };
            let all: BTreeSet<bool> = [0, 1].iter().flat_map(|s| -> BTreeSet<bool> { always(*s) }).collect();
            if all.len() > 1 {
                return None;
            }
        }
        let loops = |side: usize, f: u32| self.loops(side, f).iter().map(move |l| (side, f, *l));
        let mut known = g.source_loops.iter().flat_map(|f| loops(0, *f).chain(loops(1, *f)));
        let told = |(side, f, l): (usize, u32, LoopId)| self.factors[side].contains_key(&(f, l.0));
        if g.exits_loop() && !known.all(told) && !self.same_steps(g) {
            return None;
        }
        Some(out)
    }

    /// Whether all copies of a decision are computed alike, constants included: their loops then take equal
    /// steps.
    fn same_steps(&self, g: &CopyGroup) -> bool {
        let how = |side: usize, c: &SiteCopy| -> Vec<String> {
            let slice = &self.modules[side].sites[c.site].slice;
            slice.iter().map(|n| plain(&n.text)).collect()
        };
        let all: BTreeSet<Vec<String>> =
            (0..2).flat_map(|side| g.copies[side].iter().map(move |c| how(side, c))).collect();
        all.len() == 1
    }

    fn always(&self, side: usize, c: &SiteCopy) -> bool {
        let f = &self.modules[side].functions[self.functions[side].index()];
        *self.always[side]
            .borrow_mut()
            .entry(c.block)
            .or_insert_with(|| self.flows[side].on_every_trip(f, c.block))
    }

    /// Whether every trip visits each copy of a group that is in it.
    pub fn in_every_trip(&self, g: &CopyGroup) -> bool {
        (0..2).all(|side| {
            g.copies[side].iter().all(|c| {
                !self.modules[side].sites[c.site].text.starts_with('@')
                    && (self.always(side, c) || c.loops_around.len() < g.source_loops.len())
            })
        })
    }
}

impl CopyGroup {
    /// Whether a copy exits a loop.
    pub fn exits_loop(&self) -> bool {
        self.exits_loop_in(0) || self.exits_loop_in(1)
    }
    /// Whether a copy of this side exits a loop.
    pub fn exits_loop_in(&self, side: usize) -> bool {
        self.copies[side].iter().any(|c| c.exits.is_some())
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The constant that an instruction adds.
pub(crate) fn added(text: &str) -> Option<i64> {
    let adds = text.starts_with("add.") || text.starts_with("sub.");
    text.rsplit(',').next().and_then(|c| c.trim().trim_end_matches(';').parse().ok()).filter(|_| adds)
}

/// An instruction's text without register numbers.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut register = false;
    for c in text.chars() {
        register = c == '%' || register && c.is_ascii_alphanumeric();
        if !register || !c.is_ascii_digit() {
            out.push(c);
        }
    }
    out
}

impl FunctionPair<'_> {
    /// Whether both sides have the loop that a group exits, or had it before it was unrolled.
    pub fn loops_of(&self, g: &CopyGroup) -> bool {
        let leaves = |side: usize| {
            g.copies[side].iter().filter_map(move |c| c.exits.map(|l| self.source_loop(side, l)))
        };
        let source_loops: BTreeSet<u32> = leaves(0).chain(leaves(1)).collect();
        source_loops.iter().all(|f| g.source_loops.last() == Some(f))
    }
}
