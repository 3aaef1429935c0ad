//! Compares two lanes' trees: each difference once, where it begins.
//!
//! # Invariants
//! Subtrees with equal hashes are skipped, so the work grows with the differences. A decision that differs is
//! one finding. What only one side executes because of it, up to the reconvergence of its branch, *follows*
//! from it and is counted with it. Places match by execution index: only the children of one node are
//! aligned, and nothing is searched further ahead.
//!
//! Pruned parts are known by their hashes only. A comparison that needs more of one fails, and is done again
//! with whole trees.
//!
//! # Limitations
//! A difference that follows through data (a value is stored and loaded again later) is a second finding.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;

use prlx_trace::{BlockId, Lane, LaneMask, LoopId, SiteId};

use crate::builds::canonical_form::SiteRole;
use crate::decode::is_decision as decides;
use crate::edit_script::{self, TripStep};
use crate::report::FindingKind;

use super::build_pair::BuildPair;
use super::difference::{Difference, FindingKey, LaneDiff, LaneFinding, TripPosition};
use super::digests::JoinedDigests;
use super::execution_tree::{self as tree, Entry, EntryKind, LaneTree};
use super::step_recorder::StepRecorder;
use super::trips::Trips;

/// How the comparison of a body ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BodyEnd {
    /// Both sides reached the end of the body.
    AtEnd,
    /// Control diverged and reconverges outside of the body.
    Diverged(Reconvergence),
}

/// Where diverged control reconverges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reconvergence {
    /// At the function's return.
    AtReturn,
    /// In a body of this loop (`None`: the function's own body), at these blocks by side.
    AtBlocks(Option<LoopId>, [BlockId; 2]),
}

/// The largest number of alignments of one body. A body that needs more is taken to have nothing in common.
const MAX_RUNS: usize = 64;

struct LaneComparison<'a> {
    sides: &'a BuildPair<'a>,
    trees: [&'a LaneTree; 2],
    /// If set, lane masks are compared as well, except for these lanes.
    masks: Option<LaneMask>,
    /// The lane's memory digests, if the schedules may have grouped lanes in different ways.
    digests: Option<(&'a JoinedDigests, Lane)>,
    out: LaneDiff,
    trips: Vec<TripPosition>,
    position: u64,
    /// The common site numbers of decisions that differed.
    diverged_sites: BTreeSet<u32>,
    last: Option<FindingKey>,
    /// The comparison needs a part that was pruned.
    lost: Cell<bool>,
    /// Receives every step, equal or not.
    recorder: Option<&'a mut StepRecorder>,
}

/// Compares two lanes. With `masks`, compares lane masks as well, except for the given lanes: lanes that
/// diverged are missing from other masks because of that.
pub(crate) fn compare_lanes(
    sides: &BuildPair<'_>,
    a: &LaneTree,
    b: &LaneTree,
    masks: Option<LaneMask>,
) -> LaneDiff {
    let mut d = differ(sides, [a, b], masks);
    if a.nodes.is_empty()
        || b.nodes.is_empty()
        || a.node(a.root).hash == b.node(b.root).hash && !d.compares_masks()
    {
        return d.out;
    }
    d.body([a.root, b.root], [!a.complete, !b.complete]);
    if sides.all_uncertain {
        d.out.make_uncertain();
    }
    d.out
}

/// Compares two lanes whose trees were pruned. `None` if it needs a part that was pruned.
pub(crate) fn compare_pruned(sides: &BuildPair<'_>, a: &LaneTree, b: &LaneTree) -> Option<LaneDiff> {
    let mut d = differ(sides, [a, b], None);
    let [x, y] = [a, b].map(|t| t.nodes.get(t.root as usize));
    if x?.hash == y?.hash {
        return Some(d.out);
    }
    d.body([a.root, b.root], [!a.complete, !b.complete]);
    if sides.all_uncertain {
        d.out.make_uncertain();
    }
    (!d.lost.get()).then_some(d.out)
}

/// Compares a lane of two runs of one build. Its memory digests compare also where other lanes took part.
pub(crate) fn compare_event_lanes(
    sides: &BuildPair<'_>,
    a: &LaneTree,
    b: &LaneTree,
    digests: (&JoinedDigests, Lane),
) -> LaneDiff {
    let mut d = LaneComparison { digests: Some(digests), ..differ(sides, [a, b], None) };
    let [Some(x), Some(y)] = [a, b].map(|t| t.nodes.get(t.root as usize)) else { return d.out };
    if x.hash != y.hash {
        d.body([a.root, b.root], [!a.complete, !b.complete]);
    }
    d.out
}

/// Walks two lanes side by side and passes every step to `recorder`.
pub(crate) fn record_steps(sides: &BuildPair<'_>, a: &LaneTree, b: &LaneTree, recorder: &mut StepRecorder) {
    if !a.nodes.is_empty() && !b.nodes.is_empty() {
        let mut d = LaneComparison { recorder: Some(recorder), ..differ(sides, [a, b], None) };
        d.body([a.root, b.root], [!a.complete, !b.complete]);
    }
}

fn differ<'a>(
    sides: &'a BuildPair<'a>,
    trees: [&'a LaneTree; 2],
    masks: Option<LaneMask>,
) -> LaneComparison<'a> {
    LaneComparison {
        sides,
        trees,
        masks,
        digests: None,
        out: LaneDiff { cut: trees.iter().any(|t| !t.complete), ..LaneDiff::default() },
        trips: Vec::new(),
        position: 0,
        diverged_sites: BTreeSet::new(),
        last: None,
        lost: Cell::new(false),
        recorder: None,
    }
}

/// The identity of a child or visit among its siblings, without values.
fn token(sides: &BuildPair<'_>, trees: [&LaneTree; 2], side: usize, e: Entry) -> u64 {
    let names = sides.names[side];
    match e.what() {
        EntryKind::Visit => u64::from(names.site(tree::site(e))) << 2,
        EntryKind::Child => {
            let node = trees[side].node(e.id());
            match node.kind {
                tree::TreeNodeKind::Loop(l) => {
                    u64::from(names.function(node.function)) << 34
                        | u64::from(names.loop_of(node.function, l)) << 2
                        | 1
                }
                tree::TreeNodeKind::Call(f) => u64::from(names.function(f)) << 2 | 2,
                tree::TreeNodeKind::Root | tree::TreeNodeKind::Trip => 3,
            }
        }
        EntryKind::Branch | EntryKind::Join => u64::MAX,
    }
}

impl LaneComparison<'_> {
    /// Hashes do not cover masks: if masks are compared, everything is walked.
    fn compares_masks(&self) -> bool {
        self.masks.is_some()
    }

    fn common(&self, side: usize, s: SiteId) -> u32 {
        self.sides.names[side].site(s)
    }

    /// The identity of an entry among its siblings.
    fn token(&self, side: usize, e: Entry) -> u64 {
        token(self.sides, self.trees, side, e)
    }

    fn note(&mut self, difference: Difference, side: u8) {
        let site =
            difference.sites[0].map(|s| self.common(0, s)).or(difference.sites[1].map(|s| self.common(1, s)));
        let key = (difference.kind, site.unwrap_or(u32::MAX), side);
        let root = self.out.found.is_empty();
        let way = if difference.kind == FindingKind::Branch {
            [difference.values[0] > difference.values[1], difference.values[0] < difference.values[1]]
        } else {
            [false; 2]
        };
        let found = self.out.found.entry(key).or_insert(LaneFinding {
            first: difference,
            count: 0,
            ways: [0; 2],
            follows: [0; 2],
            root,
        });
        found.count += 1;
        for (n, way) in found.ways.iter_mut().zip(way) {
            *n += u64::from(way);
        }
        self.last = Some(key);
    }

    /// Whether a match between the sides is uncertain; see [`crate::builds`].
    fn uncertain(&self, side: usize, e: Entry) -> bool {
        let Some(own) = self.sides.canonical.map(|sides| &sides[side]) else { return false };
        match e.what() {
            EntryKind::Visit => {
                let role = own.sites.get(tree::site(e).index());
                matches!(role, Some(SiteRole::Compared(place)) if !place.certain)
            }
            EntryKind::Child => match self.trees[side].node(e.id()).kind {
                tree::TreeNodeKind::Loop(source_loop) => own.uncertain_loops.contains(&source_loop.0),
                tree::TreeNodeKind::Call(f) => own.uncertain_calls.contains(&f),
                tree::TreeNodeKind::Root | tree::TreeNodeKind::Trip => false,
            },
            EntryKind::Branch | EntryKind::Join => false,
        }
    }

    /// Whether a part of a canonical path contains no decision. Such a part that one build executes more
    /// often is its compiler's choice, such as spills, repeated loads, or calls that the other build inlined.
    fn has_no_decision(&self, side: usize, e: Entry) -> bool {
        if self.sides.canonical.is_none() {
            return false;
        }
        let mut todo = vec![e];
        while let Some(e) = todo.pop() {
            match e.what() {
                EntryKind::Visit if decides(self.sides.programs[side].module, tree::site(e)) => return false,
                EntryKind::Child => todo.extend(self.trees[side].entries(e.id())),
                EntryKind::Visit | EntryKind::Branch | EntryKind::Join => {}
            }
        }
        true
    }

    /// Counts the visits of one side as uncertain.
    fn count_uncertain(&mut self, side: usize, e: Entry) {
        let mut todo = vec![e];
        while let Some(e) = todo.pop() {
            match e.what() {
                EntryKind::Visit => *self.out.uncertain_visits[side].entry(tree::site(e)).or_default() += 1,
                EntryKind::Child => todo.extend(self.trees[side].entries(e.id())),
                EntryKind::Branch | EntryKind::Join => {}
            }
        }
    }

    fn follow(&mut self, a: u64, b: u64) {
        if let Some(found) = self.last.and_then(|k| self.out.found.get_mut(&k)) {
            found.follows[0] += a;
            found.follows[1] += b;
        }
    }

    fn new_difference(&self, kind: FindingKind) -> Difference {
        Difference { position: self.position, trips: self.trips.clone(), ..Difference::new(kind) }
    }

    /// Passes a visit or a subtree to the recorder, on both sides or on one.
    fn record(&mut self, at: [Option<Entry>; 2]) {
        let (Some(recorder), Some(one)) = (&mut self.recorder, at[0].or(at[1])) else { return };
        match one.what() {
            EntryKind::Visit => recorder.visit(at),
            EntryKind::Child => {
                self.enter(at);
                let [a, b] =
                    [0, 1].map(|side| at[side].map_or(&[][..], |e| self.trees[side].entries(e.id())));
                match at {
                    [Some(_), Some(_)] => self.record_both(a, b),
                    _ => self.record_parts([a, b]),
                }
                if self.trees[usize::from(at[0].is_none())].node(one.id()).kind != tree::TreeNodeKind::Trip {
                    self.leave();
                }
            }
            EntryKind::Branch | EntryKind::Join => {}
        }
    }

    /// Passes what both sides have alike to the recorder.
    fn record_both(&mut self, a: &[Entry], b: &[Entry]) {
        if self.recorder.is_some() {
            let compared = |e: &&Entry| matches!(e.what(), EntryKind::Visit | EntryKind::Child);
            for (x, y) in a.iter().filter(compared).zip(b.iter().filter(compared)) {
                self.record([Some(*x), Some(*y)]);
            }
        }
    }

    /// Passes what only one side has to the recorder.
    fn record_parts(&mut self, parts: [&[Entry]; 2]) {
        if self.recorder.is_some() {
            parts[0].iter().for_each(|e| self.record([Some(*e), None]));
            parts[1].iter().for_each(|e| self.record([None, Some(*e)]));
        }
    }

    /// Tells the recorder that the next steps are inside a child.
    fn enter(&mut self, at: [Option<Entry>; 2]) {
        let side = usize::from(at[0].is_none());
        let (Some(e), Some(recorder)) = (at[side], &mut self.recorder) else { return };
        let node = self.trees[side].node(e.id());
        match node.kind {
            tree::TreeNodeKind::Trip => recorder.trip(at.map(|e| e.is_some())),
            _ => {
                let token = token(self.sides, self.trees, side, e);
                recorder.enter(token, at.map(|e| e.is_some()), node.function, node.of);
            }
        }
    }

    fn leave(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.leave();
        }
    }

    /// Compares one visit on both sides. Returns whether a decision differed.
    fn visit(&mut self, a: Entry, b: Entry, masks: [LaneMask; 2]) -> bool {
        let site = tree::site(a);
        let decision = decides(self.sides.programs[0].module, site);
        if a.value != b.value && (self.uncertain(0, a) || self.uncertain(1, b)) {
            self.count_uncertain(0, a);
            self.count_uncertain(1, b);
            return false;
        }
        let joined = self
            .digests
            .filter(|_| a.value != b.value && !decision && a.nth == b.nth)
            .and_then(|(all, lane)| all.agree(self.common(0, site), a.nth, lane));
        if joined == Some(true) {
            return false;
        }
        let kind = if a.value != b.value && decision {
            FindingKind::Branch
        } else if self.masks.is_some_and(|but| (masks[0].0 ^ masks[1].0) & !but.0 != 0) {
            FindingKind::ActiveMask
        } else if a.value != b.value && (masks[0] == masks[1] || joined == Some(false)) {
            // A memory site records a digest over the lanes of the mask.
            FindingKind::Value
        } else {
            self.out.incomparable += u64::from(a.value != b.value);
            return false;
        };
        let difference = Difference {
            sites: [Some(site), Some(tree::site(b))],
            nth: [Some(a.nth), Some(b.nth)],
            values: [a.value, b.value],
            masks,
            ..self.new_difference(kind)
        };
        if kind == FindingKind::Branch {
            self.diverged_sites.insert(self.common(0, site));
        }
        self.note(difference, 0);
        kind == FindingKind::Branch
    }

    /// Compares two bodies. `cut[side]`: that side's recording ends in this body.
    fn body(&mut self, nodes: [u32; 2], cut: [bool; 2]) -> BodyEnd {
        let [ta, tb] = self.trees;
        let (a, b) = (ta.entries(nodes[0]), tb.entries(nodes[1]));
        let of = ta.node(nodes[0]).of;
        let (mut i, mut j) = (0, 0);
        let mut runs = 0;
        // The last decision that both sides made in this body differed: what does not match now follows from
        // it.
        let mut differed = false;
        loop {
            while a.get(i).is_some_and(|e| e.what() == EntryKind::Join) {
                i += 1;
            }
            while b.get(j).is_some_and(|e| e.what() == EntryKind::Join) {
                j += 1;
            }
            let (x, y) = (a.get(i).copied(), b.get(j).copied());
            let branch = |e: Option<Entry>| e.filter(|e| e.what() == EntryKind::Branch);
            match (branch(x), branch(y)) {
                (Some(x), Some(y)) => {
                    (i, j) = (i + 1, j + 1);
                    if x.value == y.value {
                        continue;
                    }
                    let point = self.reconvergence(nodes, [BlockId(x.id()), BlockId(y.id())]);
                    match self.skip_to(point, of, a, b, &mut i, &mut j) {
                        BodyEnd::AtEnd => continue,
                        out => return out,
                    }
                }
                // Another build may branch where this one does not.
                (Some(_), None) => {
                    i += 1;
                    continue;
                }
                (None, Some(_)) => {
                    j += 1;
                    continue;
                }
                (None, None) => {}
            }
            match (x, y) {
                (None, None) => return BodyEnd::AtEnd,
                (Some(x), Some(y)) if self.token(0, x) == self.token(1, y) => {
                    let at = (i, j);
                    (i, j) = (i + 1, j + 1);
                    if x.what() == EntryKind::Visit {
                        let masks = [ta.mask(nodes[0], at.0), tb.mask(nodes[1], at.1)];
                        self.record([Some(x), Some(y)]);
                        if self.visit(x, y, masks) {
                            differed = true;
                        } else if decides(self.sides.programs[0].module, tree::site(x)) {
                            differed = false;
                        }
                        self.position += 1;
                        continue;
                    }
                    let inside = [cut[0] && i == a.len(), cut[1] && j == b.len()];
                    if let BodyEnd::Diverged(point) = self.child(x, y, inside)
                        && let out @ BodyEnd::Diverged(_) = self.skip_to(point, of, a, b, &mut i, &mut j)
                    {
                        return out;
                    }
                }
                (x, y) => {
                    if x.is_none() && cut[0] || y.is_none() && cut[1] {
                        return BodyEnd::AtEnd;
                    }
                    runs += 1;
                    let (to_i, to_j) = self.next_match(a, b, i, j, runs);
                    // The recording ends here; what follows might have matched.
                    if to_i == a.len() && cut[0] || to_j == b.len() && cut[1] {
                        return BodyEnd::AtEnd;
                    }
                    self.record_parts([&a[i..to_i], &b[j..to_j]]);
                    self.unmatched([&a[i..to_i], &b[j..to_j]], differed);
                    self.position += ta.visits(&a[i..to_i]);
                    (i, j) = (to_i, to_j);
                }
            }
        }
    }

    /// Compares a loop or call that both sides have. `cut[side]`: that side's recording ends in it.
    fn child(&mut self, x: Entry, y: Entry, cut: [bool; 2]) -> BodyEnd {
        let (m, n) = (self.trees[0].node(x.id()), self.trees[1].node(y.id()));
        let end = self.position + m.visits;
        let mut went = BodyEnd::AtEnd;
        if m.hash == n.hash && !self.compares_masks() {
            self.record([Some(x), Some(y)]);
        } else if m.pruned != 0 || n.pruned != 0 {
            self.lost.set(true);
        } else if self.uncertain(0, x) || self.uncertain(1, y) {
            self.record_parts([&[x], &[y]]);
            self.count_uncertain(0, x);
            self.count_uncertain(1, y);
        } else {
            self.enter([Some(x), Some(y)]);
            if let tree::TreeNodeKind::Loop(_) = m.kind {
                went = self.trips([x.id(), y.id()], cut);
            } else {
                // Control that leaves a call continues after it.
                self.body([x.id(), y.id()], cut);
            }
            self.leave();
        }
        self.position = end;
        went
    }

    /// Finds where control reconverges after both sides left these blocks by different edges.
    fn reconvergence(&mut self, nodes: [u32; 2], blocks: [BlockId; 2]) -> Reconvergence {
        if self.diverged_sites.is_empty() {
            // No recorded decision explains it: another build, or a decision that was not recorded.
            let function = self.trees[0].node(nodes[0]).function;
            let difference = Difference {
                block: Some((0, function, blocks[0])),
                ..self.new_difference(FindingKind::Path)
            };
            self.note(difference, 0);
        }
        let point = |side: usize| {
            let program = self.sides.programs[side];
            let f = program.functions.get(self.trees[side].node(nodes[side]).function.index())?;
            let meet = f.function.blocks.get(blocks[side].index())?.ipdom?;
            Some((f.common_loop(blocks[side], meet), meet))
        };
        match (point(0), point(1)) {
            (Some((l, x)), Some((_, y))) => Reconvergence::AtBlocks(l, [x, y]),
            _ => Reconvergence::AtReturn,
        }
    }

    /// Skips to the reconvergence point, if it is in this body (a body of loop `of`).
    fn skip_to(
        &mut self,
        point: Reconvergence,
        of: Option<LoopId>,
        a: &[Entry],
        b: &[Entry],
        i: &mut usize,
        j: &mut usize,
    ) -> BodyEnd {
        let (to_i, to_j, went) = match point {
            Reconvergence::AtBlocks(l, [x, y]) if l == of => {
                (LaneTree::seek(a, *i, Some(x)), LaneTree::seek(b, *j, Some(y)), BodyEnd::AtEnd)
            }
            _ => (a.len(), b.len(), BodyEnd::Diverged(point)),
        };
        self.record_parts([&a[*i..to_i], &b[*j..to_j]]);
        let skipped = (self.trees[0].visits(&a[*i..to_i]), self.trees[1].visits(&b[*j..to_j]));
        self.follow(skipped.0, skipped.1);
        self.position += skipped.0;
        (*i, *j) = (to_i, to_j);
        went
    }

    /// The first positions at or after `i` and `j` from which both sides match.
    fn next_match(&self, a: &[Entry], b: &[Entry], i: usize, j: usize, runs: usize) -> (usize, usize) {
        if runs > MAX_RUNS {
            return (a.len(), b.len());
        }
        let tokens = |side: usize, entries: &[Entry], from: usize| -> (Vec<u64>, Vec<usize>) {
            (from..entries.len())
                .filter(|&k| matches!(entries[k].what(), EntryKind::Visit | EntryKind::Child))
                .map(|k| (self.token(side, entries[k]), k))
                .unzip()
        };
        let ((ta, ia), (tb, ib)) = (tokens(0, a, i), tokens(1, b, j));
        let at = |index: &[usize], k: usize, end: usize| index.get(k).copied().unwrap_or(end);
        match edit_script::edits(&ta, &tb).as_deref() {
            Some([run, ..]) => (at(&ia, run.a.end, a.len()), at(&ib, run.b.end, b.len())),
            _ => (a.len(), b.len()),
        }
    }

    /// Reports the parts of a body that do not match.
    fn unmatched(&mut self, parts: [&[Entry]; 2], differed: bool) {
        let mut sure = [Vec::new(), Vec::new()];
        for side in 0..2 {
            for e in parts[side] {
                match (self.uncertain(side, *e) || self.has_no_decision(side, *e)) && !differed {
                    true => self.count_uncertain(side, *e),
                    false => sure[side].push(*e),
                }
            }
        }
        let parts = [&sure[0][..], &sure[1][..]];
        let visits = [self.trees[0].visits(parts[0]), self.trees[1].visits(parts[1])];
        let explained = |side: usize| {
            parts[side].iter().all(|e| match e.what() {
                EntryKind::Visit => {
                    let guards = self.sides.guarded[side].get(&tree::site(*e));
                    guards.into_iter().flatten().any(|g| self.diverged_sites.contains(&self.common(side, *g)))
                }
                EntryKind::Child => false,
                EntryKind::Branch | EntryKind::Join => true,
            })
        };
        if differed || explained(0) && explained(1) {
            return self.follow(visits[0], visits[1]);
        }
        let first = |side: usize| {
            parts[side].iter().find_map(|e| match e.what() {
                EntryKind::Visit => Some(*e),
                EntryKind::Child => self.trees[side].first_visit(e.id()),
                _ => None,
            })
        };
        let (x, y) = (first(0), first(1));
        let (kind, side) = match (x, y) {
            (Some(_), Some(_)) => (FindingKind::Path, 0),
            (Some(_), None) => (FindingKind::ExtraEvents, 0),
            (None, Some(_)) => (FindingKind::ExtraEvents, 1),
            (None, None) => return,
        };
        let difference = Difference {
            sites: [x.map(tree::site), y.map(tree::site)],
            nth: [x.map(|e| e.nth), y.map(|e| e.nth)],
            values: [x.map_or(0, |e| e.value), y.map_or(0, |e| e.value)],
            extra_visits: visits,
            ..self.new_difference(kind)
        };
        self.note(difference, side);
    }

    /// Compares two runs of a loop.
    fn trips(&mut self, nodes: [u32; 2], cut: [bool; 2]) -> BodyEnd {
        let [ta, tb] = self.trees;
        // A's trips and B's, as far as they are not in runs of pruned ones.
        let [a, b] = [0, 1].map(|side| Trips::new(self.trees[side], nodes[side], self.position));
        let Some(steps) = self.align([&a, &b], cut) else {
            self.lost.set(true);
            return BodyEnd::AtEnd;
        };
        let own = usize::from(ta.node(nodes[0]).of.is_none() && tb.node(nodes[1]).of.is_some());
        let node = self.trees[own].node(nodes[own]);
        let of = node.of.unwrap_or_default();
        let function = node.function;
        let all = [a.count as u64, b.count as u64];
        let [ea, eb] = [ta.entries(nodes[0]), tb.entries(nodes[1])];
        // The number of trips passed to the recorder, by side.
        let mut shown = [0, 0];
        // The last trip that both sides have differs, and only one side continues.
        let mut diverged = false;
        let past_end = |past: [usize; 2], all: [u64; 2]| past.iter().zip(all).any(|(p, n)| *p as u64 == n);
        for step in steps {
            let (to, past) = match &step {
                TripStep::Pair(i, j) => ([*i, *j], [i + 1, j + 1]),
                TripStep::OnlyA(r, j) => ([r.start, *j], [r.end, *j]),
                TripStep::OnlyB(i, r) => ([*i, r.start], [*i, r.end]),
            };
            self.record_both(&ea[shown[0]..a.index(to[0])], &eb[shown[1]..b.index(to[1])]);
            shown = [a.index(past[0]), b.index(past[1])];
            let place = |trip: [usize; 2]| TripPosition {
                function,
                of,
                side: own,
                trip: trip.map(|t| t as u64),
                trips: all,
            };
            // Trips that only one side continues with follow from the decision of the last common trip.
            let follows = diverged && to.iter().zip(all).any(|(t, n)| *t as u64 == n);
            match step {
                TripStep::Pair(i, j) => {
                    let found = self.out.found.len();
                    let (x, y) = (a.index(i), b.index(j));
                    self.position = a.before[x];
                    self.trips.push(place([i, j]));
                    self.enter([Some(ea[x]), Some(eb[y])]);
                    let last = [cut[0] && i + 1 == a.count, cut[1] && j + 1 == b.count];
                    let went = self.body([a.nodes[x], b.nodes[y]], last);
                    self.trips.pop();
                    diverged =
                        self.sides.canonical.is_some() && self.out.found.len() > found && past_end(past, all);
                    if let BodyEnd::Diverged(_) = went {
                        let rest = |t: &LaneTree, ids: &[u32]| ids.iter().map(|&n| t.node(n).visits).sum();
                        self.follow(rest(ta, &a.nodes[x + 1..]), rest(tb, &b.nodes[y + 1..]));
                        self.record_parts([&ea[x + 1..], &eb[y + 1..]]);
                        return went;
                    }
                }
                TripStep::OnlyA(r, j) => {
                    let own = a.index(r.start)..a.index(r.end);
                    self.record_parts([&ea[own.clone()], &[]]);
                    if follows {
                        self.follow(a.visits(own), 0);
                    } else {
                        let at = a.before[own.start];
                        self.extra_trips(0, &a.nodes[own], place([r.start, j]), at);
                    }
                }
                TripStep::OnlyB(i, r) => {
                    let own = b.index(r.start)..b.index(r.end);
                    self.record_parts([&[], &eb[own.clone()]]);
                    if follows {
                        self.follow(0, b.visits(own));
                    } else {
                        let at = a.before[a.index(i)];
                        self.extra_trips(1, &b.nodes[own], place([i, r.start]), at);
                    }
                }
            }
        }
        self.record_both(&ea[shown[0]..], &eb[shown[1]..]);
        BodyEnd::AtEnd
    }

    /// Aligns the trips of a loop. `None` if that needs trips that were pruned.
    fn align(&self, [a, b]: [&Trips; 2], cut: [bool; 2]) -> Option<Vec<TripStep>> {
        if self.compares_masks() {
            let both = a.count.min(b.count);
            let mut steps: Vec<TripStep> = (0..both).map(|k| TripStep::Pair(k, k)).collect();
            if a.count > both {
                steps.push(TripStep::OnlyA(both..a.count, b.count));
            } else if b.count > both {
                steps.push(TripStep::OnlyB(a.count, both..b.count));
            }
            return Some(steps);
        }
        // Two loops that were not built together have other runs of pruned trips.
        if !a.runs(self.trees[0]).eq(b.runs(self.trees[1])) {
            return None;
        }
        // Trips that a truncated recording lost are not extra trips of the other side.
        if cut[0] || cut[1] {
            return Some(self.moved([a, b]));
        }
        let [(head, ha), (other, hb)] = [(0, a), (1, b)].map(|(side, t)| t.after_run(self.trees[side]));
        let pruned = |side: usize, t: &Trips, head: usize| {
            t.nodes[usize::from(head > 0)..].iter().any(|n| self.trees[side].node(*n).pruned != 0)
        };
        if head != other || pruned(0, a, head) || pruned(1, b, head) {
            let moved = self.moved([a, b]);
            return (a.count == b.count && moved.len() <= edit_script::MOST_IN_PLACE).then_some(moved);
        }
        let leaves = |i: usize, j: usize| {
            self.differ_only_in_exit([a.nodes[a.index(head + i)], b.nodes[b.index(head + j)]])
        };
        let shifted = |r: Range<usize>| r.start + head..r.end + head;
        let steps = edit_script::align_trips(&ha, &hb, leaves).into_iter().map(|step| match step {
            TripStep::Pair(i, j) => TripStep::Pair(i + head, j + head),
            TripStep::OnlyA(r, j) => TripStep::OnlyA(shifted(r), j + head),
            TripStep::OnlyB(i, r) => TripStep::OnlyB(i + head, shifted(r)),
        });
        Some(steps.collect())
    }

    /// The trips that differ from the other side's trip of the same number.
    fn moved(&self, [a, b]: [&Trips; 2]) -> Vec<TripStep> {
        let hash = |side: usize, t: &Trips, i: usize| self.trees[side].node(t.nodes[i]);
        let (mut i, mut j) = (0, 0);
        let mut out = Vec::new();
        while i < a.nodes.len() && j < b.nodes.len() {
            let (x, y) = (hash(0, a, i), hash(1, b, j));
            if x.hash != y.hash && x.pruned == 0 && y.pruned == 0 {
                out.push(TripStep::Pair(a.starts[i], b.starts[j]));
            }
            // Runs of pruned trips have the same numbers on both sides.
            (i, j) = (i + 1, j + 1);
        }
        out
    }

    /// Whether two trips differ in one decision only, by which one side leaves the loop.
    fn differ_only_in_exit(&self, trips: [u32; 2]) -> bool {
        let mut trial =
            LaneComparison { digests: self.digests, ..differ(self.sides, self.trees, self.masks) };
        let went = trial.body(trips, [false; 2]);
        self.lost.set(self.lost.get() || trial.lost.get());
        let mut found = trial.out.found.values();
        let leaves = |f: &LaneFinding| self.sides.canonical.is_some() && f.first.kind == FindingKind::Branch;
        (matches!(went, BodyEnd::Diverged(_)) || found.clone().any(leaves))
            && found.next().is_some_and(|f| f.count == 1)
            && found.next().is_none()
    }

    /// Reports trips that only one side has.
    fn extra_trips(&mut self, side: usize, trips: &[u32], place: TripPosition, position: u64) {
        self.position = position;
        self.trips.push(place);
        let tree = self.trees[side];
        let first = trips.iter().find_map(|&n| tree.first_visit(n));
        let mut difference = self.new_difference(FindingKind::ExtraEvents);
        self.trips.pop();
        difference.sites[side] = first.map(tree::site);
        difference.nth[side] = first.map(|e| e.nth);
        difference.extra_trips[side] = trips.len() as u64;
        difference.extra_visits[side] = trips.iter().map(|&n| tree.node(n).visits).sum();
        let function = self.sides.programs[place.side].functions.get(place.function.index());
        let header = function.and_then(|f| f.function.loops.get(place.of.index())).map(|l| l.header);
        difference.block = header.map(|h| (place.side, place.function, h));
        self.note(difference, side as u8);
    }
}
