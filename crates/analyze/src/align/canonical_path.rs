//! A lane's path in the form that two builds share ([`crate::canonical`]): visits by what they are in the source and in which trips
//! they were made, in one order, whatever order the compiler gave them.
//!
//! Holds: a body's visits stand in the order in which A's code has them; visits of one place keep theirs. EntryKind is not compared is
//! counted, not kept. A loop has as many trips as the copies count that are in each of them, or as have visits.
//!
//! Misses: calls in loops that were unrolled. Memory goes with the lane's visits; lanes of too many are refused, as in [`crate::tree`].

use std::collections::BTreeMap;

use prlx_trace::{FuncId, LaneMask, LoopId, SiteId};

use crate::builds::canonical_form::{CanonicalForm, CanonicalSite, SiteRole};
use crate::decode::{DecodeOutcome, Decoder, MAX_ENTRIES, PathItem};
use crate::error::Error;

use super::execution_tree::{Entry, EntryKind, LaneTree, TreeNodeKind};

/// A lane in the shared form.
pub(crate) struct CanonicalPath {
    pub tree: LaneTree,
    /// Visits that are not compared.
    pub left: BTreeMap<SiteId, u64>,
}

/// EntryKind lies in the kernel, a call or a trip.
#[derive(Default)]
struct PathBody {
    /// Visits, by name.
    visits: Vec<(u32, Entry, LaneMask)>,
    /// By family.
    runs: BTreeMap<u32, LoopRun>,
    calls: Vec<(FuncId, PathBody)>,
}

/// A loop of the source, from its first trip to its last.
#[derive(Default)]
struct LoopRun {
    /// Its parts, in the order in which the lane came to them, and how many trips of each began.
    segments: Vec<(u32, u64)>,
    /// EntryKind is visited once in each trip.
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
    /// Open loops, and which trip each is in.
    loops: Vec<(LoopId, u64)>,
    /// Bodies around its own.
    depth: usize,
}

/// Bodies in bodies, at most.
const MAX_NESTED: usize = 400;

impl Frame {
    /// The run of the innermost of the place's families, and which trip of it the place is in.
    fn run(&mut self, side: &CanonicalForm, place: &CanonicalSite) -> Option<(&mut LoopRun, u64)> {
        let factors = side.factors.get(&place.group);
        let loops = &self.loops;
        let mut body = &mut self.body;
        let mut levels = place.levels.iter().enumerate().peekable();
        while let Some((depth, level)) = levels.next() {
            let own = loops.iter().rev().find(|o| Some(o.0) == level.of).map_or(0, |o| o.1);
            let run = body.runs.entry(level.family).or_default();
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
    /// Where a place's visits go; `None` where the other side has none.
    fn body(&mut self, side: &CanonicalForm, place: &CanonicalSite) -> Option<&mut PathBody> {
        // The borrow of one branch would last through the other.
        if place.levels.is_empty() {
            return Some(&mut self.body);
        }
        let (run, trip) = self.run(side, place)?;
        (!place.early || trip > 0).then(|| run.trips.entry(trip).or_default())
    }
    /// A loop's next trip began.
    fn trip(&mut self, side: &CanonicalForm, of: LoopId) {
        if let Some(place) = side.loops.get(&(self.function, of)) {
            self.run(side, place);
        }
    }
}

/// Decodes the rest of a lane.
///
/// # Errors
/// As the decoder's, and when the lane is too long or too deep.
pub(crate) fn build(
    decoder: Decoder<'_>,
    side: &CanonicalForm,
    kernel: FuncId,
    with_masks: bool,
) -> Result<CanonicalPath, Error> {
    let mut decoder = decoder.with_blocks();
    let mut out = CanonicalPath { tree: LaneTree::default(), left: BTreeMap::new() };
    let mut seen: Vec<u32> = vec![0; side.sites.len()];
    let open = |function, depth| Frame { function, body: PathBody::default(), loops: Vec::new(), depth };
    let mut stack = vec![open(kernel, 0)];
    let mut visits = 0;
    while let Some(item) = decoder.next()? {
        let Some(top) = stack.last_mut() else { break };
        match item {
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
                    _ => *out.left.entry(site).or_default() += 1,
                }
            }
            PathItem::At(block) => {
                for place in side.counts.get(&(top.function, block)).into_iter().flatten() {
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
                let plain = |p: &&CanonicalSite| p.levels.iter().all(|l| l.factor == 1 && l.offset == 0);
                // EntryKind the other side does not have, it did not call; but perhaps what that calls.
                let calls = match side.alone.contains(&done.function) {
                    true => done.body.calls,
                    false => vec![(done.function, done.body)],
                };
                match around {
                    None => top.body.calls.extend(calls),
                    Some(Some(place)) if plain(&place) => {
                        if let Some((run, trip)) = top.run(side, place) {
                            run.trips.entry(trip).or_default().calls.extend(calls);
                        } else {
                            top.body.calls.extend(calls);
                        }
                    }
                    // Which trip it belongs to is not known.
                    Some(_) => calls.iter().for_each(|(_, b)| count_uncompared(b, &mut out.left)),
                }
            }
            PathItem::Branch { .. } | PathItem::Join(_) | PathItem::Skipped(_) | PathItem::Barrier(_) => {}
        }
        if stack.last().is_some_and(|f| f.depth > MAX_NESTED) || visits > MAX_ENTRIES {
            return Err(Error::new("lane", "too long or too deep to compare as a whole"));
        }
    }
    // EntryKind ended in a call ended in all that called it.
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

fn count_uncompared(body: &PathBody, left: &mut BTreeMap<SiteId, u64>) {
    body.visits.iter().for_each(|(_, e, _)| *left.entry(SiteId(e.id())).or_default() += 1);
    body.runs.values().flat_map(|r| r.trips.values()).for_each(|b| count_uncompared(b, left));
    body.calls.iter().for_each(|(_, b)| count_uncompared(b, left));
}

/// Puts a body into the tree; gives its node.
fn append_body(
    tree: &mut LaneTree,
    side: &CanonicalForm,
    kind: TreeNodeKind,
    function: FuncId,
    mut body: PathBody,
    masks: bool,
) -> Result<u32, Error> {
    // CommonIds sort stably: visits of one place stay in order.
    let mut entries: Vec<(u32, Entry, LaneMask)> = std::mem::take(&mut body.visits);
    for (family, mut run) in body.runs {
        let n = run.len();
        if n == 0 {
            continue;
        }
        let of = side.families.get(&family).copied();
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
        let id = tree.add(TreeNodeKind::Loop(LoopId(family)), function, of, &trips, &side.names, masks);
        let order = side.order.get(&family).copied().unwrap_or(u32::MAX);
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
