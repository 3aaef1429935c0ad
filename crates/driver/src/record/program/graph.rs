//! Launches of graphs. Their contexts have fixed addresses and are filled before each launch.
//!
//! Two executable graphs that were made from one graph share their contexts. If they run at the same time,
//! their streams are mixed. Both launches then count as not recorded, and the generation of the first one is
//! kept until both have ended.

use std::sync::Arc;
use std::time::Instant;

use prlx_plan::Plan;
use prlx_trace::device::Context;
use prlx_trace::launch::Launch;

use crate::queue::{Failure, Stream, quiet};
use crate::record::memory::context::{ContextKind, Slot};
use crate::record::program::handle::Recorder;
use crate::record::program::launch::UnrecordedReason;
use crate::record::program::layout::{CONTEXT, refused};
use crate::record::program::limits::{NO_TABLES, STAGED};
use crate::record::program::shared::Shared;
use crate::record::program::state::{
    HostTimes, NodeUser, Ownership, PlacedLaunch, Placement, Progress, State,
};

/// Number of a graph's kernel node that has a context.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NodeId(u32);

/// A launch of a graph between `replay` and `replayed`. Pass it to either [`Recorder::replayed`] or
/// [`Recorder::not_replayed`].
#[must_use]
#[derive(Debug)]
pub struct Replay {
    /// When the driver was called for the launch, and when it returned, if the caller measured it.
    pub called: Option<[Instant; 2]>,
    /// Placements of the launches; empty if none of them is recorded.
    places: Vec<Placement>,
    /// Why nothing of it is recorded.
    pub unrecorded: Option<UnrecordedReason>,
}

/// A node of a graph's launch before it has a slot.
struct PendingNode {
    node: NodeId,
    plan: Arc<Plan>,
    launch: Launch,
    kind: ContextKind,
    size_estimate: u64,
}

impl Recorder {
    /// Gives a kernel node a context and returns its address, which becomes the node's hidden parameter.
    /// Returns `None` if there are too many nodes. The node records nothing until [`Recorder::replay`] fills
    /// the context. A node that can run several times in one launch of its graph must not have a context.
    pub fn node(&self) -> Option<(NodeId, u64)> {
        if self.forked() {
            return None;
        }
        let mut state = self.shared.lock();
        let node = state.free_nodes.pop()?;
        Some((NodeId(node), self.shared.node(node)))
    }

    /// Releases a node's context. No graph that has its address may be launched again.
    pub fn release_node(&self, node: NodeId) {
        if !self.forked() {
            let mut state = self.shared.lock();
            state.users.remove(&node.0);
            state.free_nodes.push(node.0);
        }
    }

    /// Fills the contexts of a graph's nodes before the graph is launched into `stream`, by a copy in that
    /// stream. `exec` identifies the executable graph. The launch's context must be the calling thread's
    /// current one.
    pub fn replay(&self, exec: u32, stream: Stream, nodes: Vec<(NodeId, Arc<Plan>, Launch)>) -> Replay {
        if self.forked() {
            return Replay { called: None, places: Vec::new(), unrecorded: Some(UnrecordedReason::Forked) };
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        state.counts.requested += nodes.len() as u64;
        let mut asked = Vec::with_capacity(nodes.len());
        let mut zeroed = Vec::new();
        for (node, plan, launch) in nodes {
            match refused(&shared.layout, &plan, launch.kernel) {
                Some(why) => {
                    state.add_unrecorded(launch, &why);
                    zeroed.push((node.0, None));
                }
                None => {
                    let Some(probe_context) = shared.probe_context(&mut state, &plan, &launch) else {
                        state.add_unrecorded(launch, NO_TABLES);
                        zeroed.push((node.0, None));
                        continue;
                    };
                    let kind = shared.kind(&state, &plan, &launch, probe_context);
                    let most = plan.most_elements(launch.kernel);
                    let size_estimate =
                        state.size_history.estimate(&shared.layout, &launch, kind.recorded(), most);
                    asked.push(PendingNode { node, plan, launch, kind, size_estimate });
                }
            }
        }
        let _quiet = quiet(&*shared.queue);
        let mut users = running(&mut state, &asked);
        if users.iter().any(|u| u.exec != exec) {
            // The copy thread may not have noticed yet that they have ended.
            shared.refresh(&mut state, &users);
            users = running(&mut state, &asked);
        }
        if users.iter().any(|u| u.exec != exec) {
            return mixed(&mut state, exec, &users, asked);
        }
        let kinds: Vec<ContextKind> = asked.iter().map(|a| a.kind).collect();
        let size_estimate = asked.iter().map(|a| a.size_estimate).sum();
        let (mut state, room) = shared.reserve(state, &kinds, size_estimate, |state, generation| {
            // Either all nodes get a slot, or none.
            let arena = &mut state.generations[generation].arena;
            let before = *arena;
            let slots: Option<Vec<Slot>> = kinds.iter().map(|k| arena.carve(*k, false)).collect();
            if slots.is_none() {
                *arena = before;
            }
            Ok(slots)
        });
        let mut contexts = zeroed;
        let (places, unrecorded) = match room {
            Ok((generation, slots)) => {
                for (a, slot) in asked.iter().zip(&slots) {
                    contexts.push((a.node.0, Some(state.generations[generation].arena.context(slot))));
                }
                let ids: Vec<u32> = asked.iter().map(|a| a.node.0).collect();
                let placed = asked.into_iter().zip(slots).map(|(a, slot)| PlacedLaunch {
                    plan: a.plan,
                    launch: a.launch,
                    slot,
                    progress: Progress::Pending,
                    ownership: Ownership::Exclusive,
                    size_estimate: a.size_estimate,
                    host_times: HostTimes::default(),
                });
                let places = vec![state.place(generation, placed)];
                for id in ids {
                    state.users.entry(id).or_default().push(NodeUser { exec, places: places.clone() });
                }
                (places, None)
            }
            Err(why) => {
                let why_not = shared.unrecorded_text(&state, why);
                for a in asked {
                    contexts.push((a.node.0, None));
                    state.add_unrecorded(a.launch, &why_not);
                }
                (Vec::new(), Some(why))
            }
        };
        if let Err(e) = shared.fill(&mut state, stream, &users, contexts) {
            shared.fail(&mut state, e);
        }
        Replay { called: None, places, unrecorded }
    }

    /// The driver launched the graph into `stream`.
    pub fn replayed(&self, replay: Replay, stream: Stream) {
        if !self.forked() {
            let mut state = self.shared.lock();
            state.called(&replay.places, replay.called);
            let _quiet = quiet(&*self.shared.queue);
            self.shared.record_end(&mut state, replay.places, stream, None);
        }
    }

    /// The driver refused to launch it.
    pub fn not_replayed(&self, replay: Replay) {
        if !self.forked() {
            let mut state = self.shared.lock();
            replay.places.iter().for_each(|place| state.ended(place, Progress::Cancelled));
        }
    }
}

impl Shared {
    fn node(&self, node: u32) -> u64 {
        self.base + u64::from(node) * CONTEXT
    }

    /// Marks launches of graphs as ended whose events have passed.
    fn refresh(&self, state: &mut State, users: &[NodeUser]) {
        let theirs = state.waiting.values().flatten().filter(|w| users.iter().any(|u| u.places == w.places));
        // Failures are left to the copy thread, which makes the same query.
        let passed = theirs.filter(|w| self.queue.event_passed(w.event).is_ok_and(|passed| passed));
        let places: Vec<Placement> = passed.flat_map(|w| w.places.clone()).collect();
        places.iter().for_each(|place| state.ended(place, Progress::Done));
    }

    /// Fills the contexts of nodes; `None` means zeros. The copy is ordered in `stream`, behind the last
    /// launches of `users`.
    fn fill(
        &self,
        state: &mut State,
        stream: Stream,
        users: &[NodeUser],
        mut contexts: Vec<(u32, Option<Context>)>,
    ) -> Result<(), Failure> {
        // The graph itself would wait for its previous launch in any stream, so the copy must wait as well.
        for (other, waiting) in &state.waiting {
            let mut theirs = waiting.iter().filter(|w| users.iter().any(|u| u.places == w.places));
            if let Some(last) = theirs.next_back().filter(|_| *other != stream) {
                self.queue.make_stream_wait(stream, last.event)?;
            }
        }
        contexts.sort_by_key(|c| c.0);
        let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
        for (node, context) in contexts {
            let mut bytes = context.map_or_else(Vec::new, |c| c.to_bytes());
            bytes.resize(CONTEXT as usize, 0);
            let at = self.node(node);
            match parts.last_mut() {
                Some((begin, run)) if *begin + run.len() as u64 == at => run.extend(bytes),
                _ => parts.push((at, bytes)),
            }
        }
        let size = parts.iter().map(|p| p.1.len()).sum::<usize>();
        if size == 0 {
            return Ok(());
        }
        let mut free = None;
        for (i, dma) in state.staging.iter_mut().enumerate() {
            if dma.size() >= size && dma.done()? {
                free = Some(i);
                break;
            }
        }
        let i = match free {
            Some(i) => i,
            None => {
                state.staging.push(self.queue.copy_buffer(size.next_power_of_two().max(STAGED))?);
                state.staging.len() - 1
            }
        };
        let parts: Vec<(u64, &[u8])> = parts.iter().map(|(at, bytes)| (*at, &bytes[..])).collect();
        state.staging[i].copy_to_device(stream, &parts)
    }
}

/// Finds the launches that may still write through the contexts of these nodes.
fn running(state: &mut State, asked: &[PendingNode]) -> Vec<NodeUser> {
    let mut all = Vec::new();
    for a in asked {
        let mut users = state.users.remove(&a.node.0).unwrap_or_default();
        users.retain(|u| state.writing(&u.places));
        all.extend(users.iter().cloned());
        if !users.is_empty() {
            state.users.insert(a.node.0, users);
        }
    }
    all
}

/// Places a launch whose contexts are used by launches of another executable graph. The streams of all of
/// them are mixed, and their memory is kept until all have ended.
fn mixed(state: &mut State, exec: u32, users: &[NodeUser], asked: Vec<PendingNode>) -> Replay {
    let mut held: Vec<(usize, Slot)> = Vec::new();
    for place in users.iter().flat_map(|u| &u.places) {
        let Some(all) = state.at(place) else { continue };
        for spoilt in all.iter_mut().filter(|p| p.ownership == Ownership::Exclusive) {
            spoilt.ownership = Ownership::Shared;
        }
        if let Some(first) = all.first().filter(|_| held.iter().all(|h| h.0 != place.generation)) {
            held.push((place.generation, first.slot));
        }
    }
    let mut places = Vec::new();
    for (i, (generation, slot)) in held.into_iter().enumerate() {
        let ownership = if i == 0 { Ownership::Shared } else { Ownership::Placeholder };
        let placed: Vec<PlacedLaunch> = asked
            .iter()
            .map(|a| PlacedLaunch {
                plan: Arc::clone(&a.plan),
                launch: a.launch.clone(),
                slot,
                progress: Progress::Pending,
                ownership,
                size_estimate: 0,
                host_times: HostTimes::default(),
            })
            .collect();
        places.push(state.place(generation, placed));
    }
    for a in &asked {
        state.users.entry(a.node.0).or_default().push(NodeUser { exec, places: places.clone() });
    }
    Replay { called: None, places, unrecorded: Some(UnrecordedReason::Full) }
}
