//! Builds a lane's path in the canonical form that two builds share ([`crate::builds::canonical_form`]).
//!
//! Each visit goes to its place in the source and the source trips in which it was made, whatever order the
//! compiler chose.
//!
//! # Invariants
//! The visits of a body are in the order of A's code; visits of one place keep their order. Visits that are
//! not compared are counted and dropped. A loop has as many trips as its counting copies show, or as have
//! visits.
//!
//! # Limitations
//! Calls inside unrolled loops are not compared. Memory grows with the lane's visits; a lane of more than
//! [`MAX_ENTRIES`] is refused.

use std::collections::BTreeMap;

use prlx_trace::{FuncId, LaneMask, LoopId, SiteId};

use crate::builds::canonical_form::{CanonicalForm, CanonicalSite, SiteRole};
use crate::decode::{DecodeOutcome, Decoder, MAX_ENTRIES, PathItem, is_decision};
use crate::error::Error;

use super::execution_tree::{Entry, EntryKind, LaneTree, TreeNodeKind};

/// A lane's path in the canonical form.
pub(crate) struct CanonicalPath {
    pub tree: LaneTree,
    /// By site: the number of visits that are not compared.
    pub uncompared: BTreeMap<SiteId, u64>,
}

/// The content of the kernel, a call or a trip.
#[derive(Default)]
struct PathBody {
    /// The visits, with their common site numbers.
    visits: Vec<(u32, Entry, LaneMask)>,
    /// The loops run in this body, by source loop.
    runs: BTreeMap<u32, LoopRun>,
    calls: Vec<(FuncId, PathBody)>,
}

/// One run of a source loop, from its first trip to its last.
#[derive(Default)]
struct LoopRun {
    /// Its parts, in the order in which the lane reached them, with the number of trips begun in each.
    segments: Vec<(u32, u64)>,
    /// The number of trips according to copies that run once on every trip.
    counted: u64,
    trips: BTreeMap<u64, PathBody>,
}

impl LoopRun {
    fn note(&mut self, segment: u32, trips: u64) {
        match self.segments.iter_mut().find(|s| s.0 == segment) {
            Some(s) => s.1 = s.1.max(trips),
            None => self.segments.push((segment, trips)),
        }
    }
    fn len(&self) -> u64 {
        let last = self.trips.iter().rev().find(|(_, b)| !b.is_empty()).map_or(0, |(t, _)| t + 1);
        self.counted.max(last)
    }
}

impl PathBody {
    fn is_empty(&self) -> bool {
        self.visits.is_empty() && self.calls.is_empty() && self.runs.values().all(|r| r.len() == 0)
    }
}

/// An open call.
struct Frame {
    function: FuncId,
    body: PathBody,
    /// The open loops, with the current trip of each.
    loops: Vec<(LoopId, u64)>,
    /// The number of bodies around its own.
    depth: usize,
}

/// The largest nesting of bodies.
const MAX_NESTED: usize = 400;

impl Frame {
    /// The run of the innermost source loop around a place, and the trip that the place is in.
    fn run(&mut self, side: &CanonicalForm, place: &CanonicalSite) -> Option<(&mut LoopRun, u64)> {
        let factors = side.factors.get(&place.group);
        let loops = &self.loops;
        let mut body = &mut self.body;
        let mut levels = place.levels.iter().enumerate().peekable();
        while let Some((depth, level)) = levels.next() {
            let own = loops.iter().rev().find(|o| Some(o.0) == level.of).map_or(0, |o| o.1);
            let run = body.runs.entry(level.source_loop).or_default();
            run.note(level.segment, own + 1);
            let before = run.segments.iter().take_while(|s| s.0 != level.segment).map(|(segment, trips)| {
                let factor = factors.and_then(|f| f.get(&(depth as u32, *segment))).copied().unwrap_or(0);
                trips.saturating_mul(factor.into())
            });
            let trip = before.fold(0, u64::saturating_add);
            let trip = trip
                .saturating_add(own.saturating_mul(level.factor.into()))
                .saturating_add(level.offset.into());
            if levels.peek().is_none() {
                return Some((run, trip));
            }
            body = run.trips.entry(trip).or_default();
        }
        None
    }
    /// The body that a visit belongs to. `None` if the other side makes no such visit.
    fn body(&mut self, side: &CanonicalForm, place: &CanonicalSite) -> Option<&mut PathBody> {
        // The borrow of one branch would extend through the other.
        if place.levels.is_empty() {
            return Some(&mut self.body);
        }
        let (run, trip) = self.run(side, place)?;
        (!place.early || trip > 0).then(|| run.trips.entry(trip).or_default())
    }
    /// The next trip of a loop begins.
    fn trip(&mut self, side: &CanonicalForm, of: LoopId) {
        if let Some(place) = side.loops.get(&(self.function, of)) {
            self.run(side, place);
        }
    }
}

/// Decodes the rest of a lane.
///
/// # Errors
/// Those of the decoder, and a lane that is too long or too deep.
pub(crate) fn build(
    decoder: Decoder<'_>,
    side: &CanonicalForm,
    kernel: FuncId,
    with_masks: bool,
) -> Result<CanonicalPath, Error> {
    let mut decoder = decoder.with_blocks();
    let mut out = CanonicalPath { tree: LaneTree::default(), uncompared: BTreeMap::new() };
    let mut seen: Vec<u32> = vec![0; side.sites.len()];
    let open = |function, depth| Frame { function, body: PathBody::default(), loops: Vec::new(), depth };
    let mut stack = vec![open(kernel, 0)];
    let mut visits = 0;
    let module = decoder.module();
    while let Some(item) = decoder.advance()? {
        let Some(top) = stack.last_mut() else { break };
        match *item {
            // Builds share bits of stored values among other stores; outputs are compared in their place.
            PathItem::Visit { site, .. } if !with_masks && !is_decision(module, site) => {}
            PathItem::Visit { site, value, mask } => {
                let nth = seen.get_mut(site.index()).map_or(0, |n| std::mem::replace(n, n.saturating_add(1)));
                visits += 1;
                match side.sites.get(site.index()) {
                    Some(SiteRole::Compared(place)) => {
                        let value = if place.inverted { value ^ 1 } else { value };
                        let entry = Entry::new(EntryKind::Visit, site.0, nth, value);
                        if let Some(body) = top.body(side, place) {
                            body.visits.push((side.names.site(site), entry, mask));
                        }
                    }
                    _ => *out.uncompared.entry(site).or_default() += 1,
                }
            }
            PathItem::At(block) => {
                for place in side.trip_counters.get(&(top.function, block)).into_iter().flatten() {
                    if let Some((run, trip)) = top.run(side, place).filter(|(_, t)| !place.early || *t > 0) {
                        run.counted = run.counted.max(trip.saturating_add(1));
                    }
                }
            }
            PathItem::Enter(l) => {
                top.loops.push((l, 0));
                top.trip(side, l);
            }
            PathItem::Trip(l) => {
                top.loops.last_mut().into_iter().for_each(|o| o.1 += 1);
                top.trip(side, l);
            }
            PathItem::Leave(_) => drop(top.loops.pop()),
            PathItem::Call(f) => {
                let place = top.loops.last().and_then(|(l, _)| side.loops.get(&(top.function, *l)));
                let depth = top.depth + 1 + place.map_or(0, |p| p.levels.len());
                stack.push(open(f, depth));
            }
            PathItem::Return => {
                let Some(done) = stack.pop() else { break };
                let Some(top) = stack.last_mut() else { break };
                let around = top.loops.last().map(|(l, _)| side.loops.get(&(top.function, *l)));
                let undivided = |p: &&CanonicalSite| p.levels.iter().all(|l| l.factor == 1 && l.offset == 0);
                // The other side does not have this function, but may have the functions that it calls.
                let calls = match side.unmatched_functions.contains(&done.function) {
                    true => done.body.calls,
                    false => vec![(done.function, done.body)],
                };
                match around {
                    None => top.body.calls.extend(calls),
                    Some(Some(place)) if undivided(&place) => {
                        if let Some((run, trip)) = top.run(side, place) {
                            run.trips.entry(trip).or_default().calls.extend(calls);
                        } else {
                            top.body.calls.extend(calls);
                        }
                    }
                    // The source trip of this call is unknown.
                    Some(_) => calls.iter().for_each(|(_, b)| count_uncompared(b, &mut out.uncompared)),
                }
            }
            PathItem::Branch { .. } | PathItem::Join(_) | PathItem::Skipped(_) | PathItem::Barrier(_) => {}
        }
        if stack.last().is_some_and(|f| f.depth > MAX_NESTED) || visits > MAX_ENTRIES {
            return Err(Error::new("lane", "too long or too deep to compare as a whole"));
        }
    }
    // A lane that ended inside a call also ended its callers.
    while stack.len() > 1 {
        if let (Some(done), Some(top)) = (stack.pop(), stack.last_mut()) {
            top.body.calls.push((done.function, done.body));
        }
    }
    let body = stack.pop().map(|f| f.body).unwrap_or_default();
    let tree = &mut out.tree;
    let root = append_body(tree, side, TreeNodeKind::Root, kernel, body, with_masks)?;
    tree.root = root;
    tree.complete = decoder.outcome() == DecodeOutcome::Ended;
    tree.counts = decoder.counts();
    Ok(out)
}

fn count_uncompared(body: &PathBody, uncompared: &mut BTreeMap<SiteId, u64>) {
    body.visits.iter().for_each(|(_, e, _)| *uncompared.entry(SiteId(e.id())).or_default() += 1);
    body.runs.values().flat_map(|r| r.trips.values()).for_each(|b| count_uncompared(b, uncompared));
    body.calls.iter().for_each(|(_, b)| count_uncompared(b, uncompared));
}

/// Appends a body to the tree. Returns its node.
fn append_body(
    tree: &mut LaneTree,
    side: &CanonicalForm,
    kind: TreeNodeKind,
    function: FuncId,
    mut body: PathBody,
    masks: bool,
) -> Result<u32, Error> {
    // The sort is stable: visits of one place keep their order.
    let mut entries: Vec<(u32, Entry, LaneMask)> = std::mem::take(&mut body.visits);
    for (source_loop, mut run) in body.runs {
        let n = run.len();
        if n == 0 {
            continue;
        }
        let of = side.source_loops.get(&source_loop).copied();
        if n > (MAX_ENTRIES - tree.entries.len().min(MAX_ENTRIES)) as u64 {
            return Err(Error::new("lane", "too many trips to compare as a whole"));
        }
        let mut trips = Vec::new();
        for trip in 0..n {
            let body = run.trips.remove(&trip).unwrap_or_default();
            let id = append_body(tree, side, TreeNodeKind::Trip, function, body, masks)?;
            tree.nodes[id as usize].of = of;
            trips.push((Entry::new(EntryKind::Child, id, 0, 0), LaneMask(0)));
        }
        let id = tree.add(TreeNodeKind::Loop(LoopId(source_loop)), function, of, &trips, &side.names, masks);
        let order = side.order.get(&source_loop).copied().unwrap_or(u32::MAX);
        entries.push((order, Entry::new(EntryKind::Child, id, 0, 0), LaneMask(0)));
    }
    for (callee, body) in body.calls.into_iter().filter(|(_, b)| !b.is_empty()) {
        let id = append_body(tree, side, TreeNodeKind::Call(callee), callee, body, masks)?;
        entries.push((u32::MAX, Entry::new(EntryKind::Child, id, 0, 0), LaneMask(0)));
    }
    entries.sort_by_key(|e| e.0);
    let entries: Vec<(Entry, LaneMask)> = entries.into_iter().map(|(_, e, m)| (e, m)).collect();
    Ok(tree.add(kind, function, None, &entries, &side.names, masks))
}
