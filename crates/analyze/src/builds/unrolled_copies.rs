//! Copies of one place, loops of one source: how they belong together in one pair of functions.
//!
//! Holds: copies of which only one is visited in a trip count once; those that follow one another count each. Loops that hold the
//! same groups at the same depth are one family, and so are those that the same decisions leave. Misses: see [`crate::canonical`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{End, Module, SiteClass};
use prlx_trace::{BlockId, FuncId, LoopId};

use super::canonical_form::LoopLevel;
use super::control_flow::ControlFlow;
use super::polarity;

/// Families around a group, at most.
const MAX_LEVELS: usize = 64;
/// Segments that are no loop begin here.
pub(crate) const STRAIGHT: u32 = 1 << 24;

/// One member of a group.
#[derive(Clone, Debug)]
pub(crate) struct SiteCopy {
    pub site: usize,
    pub block: BlockId,
    pub order: (u32, usize),
    /// Loops around it, outermost first.
    pub chain: Vec<LoopId>,
    /// The loop that it can leave.
    pub leaves: Option<LoopId>,
}

pub(crate) struct CopyGroup {
    pub copies: [Vec<SiteCopy>; 2],
    pub families: Vec<u32>,
    /// Copies of one trip of the source.
    pub each: u32,
    /// The side that asks at the end of each trip whether there is another, where the other side asks at the beginning; and nobody asks
    /// before the first.
    pub asks_late: Option<usize>,
}

/// Where the copies of one side stand: site, which of the copies of a trip, trips.
pub(crate) type CopyPositions = Vec<(usize, u32, Vec<LoopLevel>)>;

/// Numbers that are one.
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

/// One pair of functions, while its groups are looked at.
pub(crate) struct FunctionPair<'a> {
    pub modules: [&'a Module; 2],
    pub functions: [FuncId; 2],
    pub flows: [ControlFlow; 2],
    pub families: UnionFind,
    /// By side and family: its loops.
    pub members: [BTreeMap<u32, Vec<LoopId>>; 2],
    /// By side and block: see [`ControlFlow::on_every_trip`].
    pub always: [RefCell<BTreeMap<BlockId, bool>>; 2],
    /// The number of its first family.
    pub base: u32,
    /// By side, family and segment: how many trips of the source a trip is; `None` where groups do not agree.
    pub factors: [BTreeMap<(u32, u32), Option<u32>>; 2],
}

impl FunctionPair<'_> {
    fn node(&self, side: usize, l: LoopId) -> usize {
        l.index()
            + if side == 0 { 0 } else { self.modules[0].functions[self.functions[0].index()].loops.len() }
    }
    pub fn family(&self, side: usize, l: LoopId) -> u32 {
        self.base + self.families.find(self.node(side, l)) as u32
    }
    /// This side's loops of a family.
    pub fn loops(&self, side: usize, family: u32) -> &[LoopId] {
        self.members[side].get(&family).map_or(&[], |l| l)
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
            chain,
            leaves,
        }
    }

    /// Copies of one trip, by how many of the others come before each: copies of which only one is visited have one number.
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

    /// The segment of a family that a copy is in.
    fn segment(&self, side: usize, c: &SiteCopy, family: u32) -> (u32, Option<LoopId>) {
        match c.chain.iter().find(|l| self.family(side, **l) == family) {
            Some(l) => (l.0, Some(*l)),
            None => {
                let f = &self.modules[side].functions[self.functions[side].index()];
                let at = |l: &LoopId| self.flows[side].order.get(f.loops[l.index()].header.index()).copied();
                let before =
                    self.loops(side, family).iter().filter(|l| at(l).is_some_and(|o| o < c.order.0)).count();
                (STRAIGHT + before as u32, None)
            }
        }
    }

    /// By the segments that they are in: the copies of a side.
    fn paths<'c>(&self, side: usize, g: &'c CopyGroup) -> BTreeMap<Vec<u32>, Vec<&'c SiteCopy>> {
        let mut out: BTreeMap<Vec<u32>, Vec<&SiteCopy>> = BTreeMap::new();
        for c in &g.copies[side] {
            let path = g.families.iter().map(|f| self.segment(side, c, *f).0).collect();
            out.entry(path).or_default().push(c);
        }
        out
    }

    /// Whether the families around all copies are those of the group, from outside in, but for those that were unrolled whole.
    fn nested(&self, side: usize, g: &CopyGroup) -> bool {
        g.copies[side].iter().all(|c| {
            let mut all = g.families.iter();
            c.chain.iter().all(|l| all.any(|f| *f == self.family(side, *l)))
        })
    }

    /// Which trips the copies of a side are in, and which of the copies of a trip each is: `None` if they do not add up.
    fn places(&self, side: usize, g: &CopyGroup, out: &mut CopyPositions) -> Option<()> {
        let copies: Vec<&SiteCopy> = g.copies[side].iter().collect();
        if g.families.is_empty() {
            let ranks = self.ranks(side, &copies);
            out.extend(copies.iter().zip(&ranks).map(|(c, r)| (c.site, *r, Vec::new())));
            return (ranks.iter().max()? + 1 == g.each).then_some(());
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
        let family = g.families[outer.len()];
        let last = outer.len() + 1 == g.families.len();
        let mut segments: BTreeMap<u32, (Option<LoopId>, Vec<&SiteCopy>)> = BTreeMap::new();
        for c in copies {
            let (segment, of) = self.segment(side, c, family);
            segments.entry(segment).or_insert((of, Vec::new())).1.push(c);
        }
        for (segment, (of, copies)) in segments {
            let known = match self.factors[side].get(&(family, segment)) {
                Some(agreed) => Some((*agreed)?),
                None => None,
            };
            let with = |factor, offset| {
                let mut levels = outer.to_vec();
                levels.push(LoopLevel { family, segment, of, factor, offset });
                levels
            };
            if last {
                let ranks = self.ranks(side, &copies);
                let n = ranks.iter().max()? + 1;
                let factor = n / g.each;
                if n % g.each != 0 || known.is_some_and(|k| k != factor) {
                    return None;
                }
                // What is asked at the end of a trip is asked for the next.
                let late = u32::from(g.asks_late == Some(side));
                out.extend(
                    copies
                        .iter()
                        .zip(&ranks)
                        .map(|(c, r)| (c.site, r % g.each, with(factor, r / g.each + late))),
                );
                continue;
            }
            // Inner loops, in order: as many of them to a trip as there are trips of the source.
            let next = g.families[outer.len() + 1];
            let mut inner: Vec<u32> = Vec::new();
            for c in &copies {
                let s = self.segment(side, c, next).0;
                if !inner.contains(&s) {
                    inner.push(s);
                }
            }
            let factor = match (of, known) {
                (_, Some(k)) => k,
                // Nothing but the inner loop tells: as many there as on the other side, or it is not known.
                (Some(_), None) => {
                    let other = self.loops(1 - side, next).len() / self.loops(1 - side, family).len().max(1);
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
            families: UnionFind((0..loops).collect()),
            members: Default::default(),
            always: Default::default(),
            base,
            factors: Default::default(),
        }
    }

    /// Which loops are one: those that hold the same groups at the same depth, and those that the same decisions leave.
    pub fn unite(&mut self, groups: &[(u32, CopyGroup)]) {
        for (_, g) in groups {
            let depth = |side: usize| g.copies[side].iter().map(|c| c.chain.len()).max().unwrap_or(0);
            let mut chains: Vec<(usize, &[LoopId])> = Vec::new();
            for (side, copies) in g.copies.iter().enumerate() {
                let deep = copies.iter().filter(|c| depth(0) == depth(1) && c.chain.len() == depth(side));
                chains.extend(deep.map(|c| (side, &c.chain[..])));
            }
            let first = chains.first().copied();
            for (side, chain) in chains {
                let (_, of) = first.unwrap_or_default();
                for (l, of) in chain.iter().zip(of) {
                    let (i, j) = (self.node(side, *l), self.node(0, *of));
                    self.families.join(i, j);
                }
            }
            let leaves = |side: usize| g.copies[side].iter().filter_map(|c| c.leaves).collect::<Vec<_>>();
            if let (Some(first), [_, ..]) = (leaves(0).first(), &leaves(1)[..]) {
                for side in 0..2 {
                    for l in leaves(side) {
                        let (i, j) = (self.node(side, l), self.node(0, *first));
                        self.families.join(i, j);
                    }
                }
            }
        }
    }

    /// Lists the loops of families that are made.
    pub fn gather(&mut self) {
        for side in 0..2 {
            let n = self.modules[side].functions[self.functions[side].index()].loops.len() as u32;
            for l in (0..n).map(LoopId) {
                let family = self.family(side, l);
                self.members[side].entry(family).or_default().push(l);
            }
        }
    }

    /// The families around a group, and how many copies are of one trip.
    pub fn measure(&self, g: &mut CopyGroup) {
        let mut longest: Vec<u32> = Vec::new();
        for (side, copies) in g.copies.iter().enumerate() {
            for c in copies {
                let chain: Vec<u32> = c.chain.iter().map(|l| self.family(side, *l)).collect();
                if chain.len() > longest.len() {
                    longest = chain;
                }
            }
        }
        g.families = longest;
        let counts = (0..2)
            .flat_map(|side| self.paths(side, g).into_values().map(move |c| (side, c)).collect::<Vec<_>>());
        let each =
            counts.map(|(side, c)| self.ranks(side, &c).iter().max().map_or(0, |m| m + 1)).fold(0, gcd);
        g.each = each.max(1);
        g.asks_late = (0..2).find(|late| self.asks_at_end(*late, g) && self.asks_first(1 - late, g));
    }

    /// Whether a group is what its loop does first in each trip: ask whether there is one.
    fn asks_first(&self, side: usize, g: &CopyGroup) -> bool {
        let [c] = &g.copies[side][..] else { return false };
        c.leaves.is_some_and(|l| self.straight(side, self.header(side, l), c.block))
            && !self.goes_back(side, c)
    }

    /// Whether every lane that comes to a block goes on to another one without a decision: calls end blocks in some builds.
    fn straight(&self, side: usize, from: BlockId, to: BlockId) -> bool {
        let blocks = &self.modules[side].functions[self.functions[side].index()].blocks;
        let next = |b: &BlockId| match blocks.get(b.index())?.end {
            End::Jump(next) if *b != to => Some(next),
            _ => None,
        };
        std::iter::successors(Some(from), next).take(blocks.len()).any(|b| b == to)
    }

    /// Whether one side asks after each trip what the other asks somewhere in it, and nothing says that the other asks it first: then
    /// the last that is asked may be of no trip.
    pub fn asks_elsewhere(&self, g: &CopyGroup) -> bool {
        let within = |side: usize| {
            g.copies[side].iter().all(|c| c.leaves.is_some())
                && !g.copies[side].iter().any(|c| self.goes_back(side, c))
        };
        g.asks_late.is_none() && (0..2).any(|late| self.asks_at_end(late, g) && within(1 - late))
    }

    /// Whether a group is what its loops ask after each trip, and nothing before the first.
    fn asks_at_end(&self, side: usize, g: &CopyGroup) -> bool {
        let copies = &g.copies[side];
        copies.iter().all(|c| c.leaves.is_some() && c.chain.len() == g.families.len())
            && copies.iter().any(|c| self.goes_back(side, c))
    }

    fn header(&self, side: usize, l: LoopId) -> BlockId {
        self.modules[side].functions[self.functions[side].index()].loops[l.index()].header
    }

    /// Whether a decision that leaves a loop goes to its next trip if it does not.
    fn goes_back(&self, side: usize, c: &SiteCopy) -> bool {
        let ways = polarity::branch_targets(self.modules[side], c.site);
        c.leaves.zip(ways).is_some_and(|(l, ways)| ways.contains(&self.header(side, l)))
    }

    /// How many trips of the source a trip of each segment is: what most groups in it say, if more than half of them agree.
    pub fn count_factors(&mut self, groups: &[(u32, CopyGroup)]) {
        let mut votes: [BTreeMap<(u32, u32), BTreeMap<u32, u32>>; 2] = Default::default();
        for (_, g) in groups.iter().filter(|(_, g)| !g.leaves()) {
            let Some(family) = g.families.last() else { continue };
            for (side, votes) in votes.iter_mut().enumerate() {
                for (path, copies) in self.paths(side, g) {
                    let n = self.ranks(side, &copies).iter().max().map_or(0, |m| m + 1);
                    let segment = path.last().copied().unwrap_or_default();
                    *votes.entry((*family, segment)).or_default().entry(n / g.each).or_default() += 1;
                }
            }
        }
        let most = |side: usize, segment: u32, v: BTreeMap<u32, u32>| {
            let all: u32 = v.values().sum();
            let (factor, _) = v.into_iter().find(|(_, n)| n * 2 > all)?;
            // One group alone may as well have been there twice: then the loop's steps must say so too.
            let sure =
                factor == 1 || all > 1 || segment >= STRAIGHT || self.steps_by(side, LoopId(segment), factor);
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

    /// Whether what leaves a loop counts in steps of which `factor` makes one.
    fn steps_by(&self, side: usize, of: LoopId, factor: u32) -> bool {
        let m = self.modules[side];
        let by = |c: i64| c != 0 && c.unsigned_abs().is_multiple_of(factor.into());
        let own = m.sites.iter().enumerate().filter(|(_, s)| s.function == self.functions[side]);
        let ways: Vec<_> = own.filter(|(i, _)| self.copy(side, *i).leaves == Some(of)).collect();
        // Or each of its trips of the source tests on its own.
        ways.len() >= factor as usize
            || ways.iter().any(|(_, s)| s.slice.iter().filter_map(|n| added(&n.text)).any(by))
    }

    /// How many trips of the source a trip of each segment of the innermost family is, as a group's copies have it.
    pub fn trips_of(&self, side: usize, g: &CopyGroup) -> BTreeMap<u32, u32> {
        let mut out: BTreeMap<u32, u32> = BTreeMap::new();
        for (path, copies) in self.paths(side, g) {
            let n = self.ranks(side, &copies).iter().max().map_or(0, |m| m + 1);
            out.insert(path.last().copied().unwrap_or_default(), n / g.each);
        }
        out
    }

    /// Whether each side has copies in all its loops of the group's innermost family; or it has no such loops.
    fn everywhere(&self, side: usize, g: &CopyGroup) -> bool {
        let own = |l: &LoopId| g.copies[side].iter().any(|c| c.chain.contains(l));
        let innermost = g.families.last().is_none_or(|f| self.loops(side, *f).iter().all(own));
        innermost
            && g.families.iter().all(|f| {
                let loops = self.loops(side, *f);
                loops.is_empty() || loops.iter().any(own)
            })
    }

    /// Where the copies of a group stand, if they add up.
    pub fn add_up(&self, g: &CopyGroup) -> Option<[CopyPositions; 2]> {
        let mut out: [Vec<_>; 2] = Default::default();
        for (side, out) in out.iter_mut().enumerate() {
            let once = g.families.iter().collect::<BTreeSet<_>>().len() == g.families.len();
            if !once || g.families.len() > MAX_LEVELS || !self.nested(side, g) || !self.everywhere(side, g) {
                return None;
            }
            self.places(side, g, out)?;
        }
        // What leaves a loop does so in every build that has the loop.
        let has = |side: usize| g.families.last().is_some_and(|f| !self.loops(side, *f).is_empty());
        if g.leaves() && (0..2).any(|side| has(side) && !g.leaves_in(side)) {
            return None;
        }
        // What is chosen without a branch may be chosen too early, or too often.
        let class = self.modules[0].sites[g.copies[0][0].site].class;
        if matches!(class, SiteClass::Select | SiteClass::Guard) {
            let always = |side: usize| {
                let inner = g.copies[side].iter().filter(|c| c.chain.len() == g.families.len());
                inner.map(|c| self.always(side, c)).collect()
            };
            let all: BTreeSet<bool> = [0, 1].iter().flat_map(|s| -> BTreeSet<bool> { always(*s) }).collect();
            if all.len() > 1 {
                return None;
            }
        }
        let loops = |side: usize, f: u32| self.loops(side, f).iter().map(move |l| (side, f, *l));
        let mut known = g.families.iter().flat_map(|f| loops(0, *f).chain(loops(1, *f)));
        let told = |(side, f, l): (usize, u32, LoopId)| self.factors[side].contains_key(&(f, l.0));
        if g.leaves() && !known.all(told) && !self.same_steps(g) {
            return None;
        }
        Some(out)
    }

    /// Whether all copies of a decision come about in the same way, constants included: so their loops take the same steps.
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

    /// Whether every trip visits each of a group's copies in it.
    pub fn in_every_trip(&self, g: &CopyGroup) -> bool {
        (0..2).all(|side| {
            g.copies[side].iter().all(|c| {
                !self.modules[side].sites[c.site].text.starts_with('@')
                    && (self.always(side, c) || c.chain.len() < g.families.len())
            })
        })
    }
}

impl CopyGroup {
    /// Whether it leaves a loop.
    pub fn leaves(&self) -> bool {
        self.leaves_in(0) || self.leaves_in(1)
    }
    /// Whether it does on one side.
    pub fn leaves_in(&self, side: usize) -> bool {
        self.copies[side].iter().any(|c| c.leaves.is_some())
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

/// An instruction without the numbers of its registers.
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
    /// Whether both sides have the loop that a group leaves, or had it before it was unrolled.
    pub fn loops_of(&self, g: &CopyGroup) -> bool {
        let leaves =
            |side: usize| g.copies[side].iter().filter_map(move |c| c.leaves.map(|l| self.family(side, l)));
        let families: BTreeSet<u32> = leaves(0).chain(leaves(1)).collect();
        families.iter().all(|f| g.families.last() == Some(f))
    }
}
