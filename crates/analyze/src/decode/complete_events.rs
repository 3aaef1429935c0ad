//! Level `events`: adds the events that the recorder omitted because they follow from the others and from the
//! code.
//!
//! The recorder omits events of computed branches, of the kernel's entry, of exits, and of the trips of
//! counted loops (`prlx_probe` decides which). A [`Decoder`] reconstructs these visits for one lane. This
//! module decides which lanes share an event: lanes that were converged at the kernel's entry, at an event,
//! or at a barrier of whole warps, and that took the same path since. It walks all lanes of a warp side by
//! side, in such groups.
//!
//! # Invariants
//! Every event of the stream is kept, in order; a trip count is replaced by its trips. A reconstructed event
//! comes after the event or barrier that it follows from. A lane that cannot be decoded appears only in
//! recorded events. A complete stream is returned unchanged.
//!
//! # Limitations
//! A reconstructed event has the clock of the event before it.

use std::borrow::Cow;

use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::Source;
use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{BlockId, Lane, LaneMask, Launch, SiteId, WarpStream};

use crate::error::Error;

use super::checked_module::{CheckedModule, can_be_omitted};
use super::decoder::Decoder;
use super::path_item::{DecodeLimits, MAX_ENTRIES, PathItem};

/// Where the walk of a lane has stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LanePosition {
    /// At this event of the stream.
    Event(usize),
    /// At a barrier; the number of barriers the lane has passed.
    Barrier(u64),
    /// At the end of the lane or of its recording.
    Ended,
    /// The lane cannot be decoded further.
    Failed,
}

/// The next step of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LaneAdvance {
    /// A visit without an event in the stream: site and value.
    Visit(SiteId, u64),
    /// A site that the lane passed with its guard off.
    Skipped(SiteId),
    /// An event of the stream.
    Event(SiteId),
    /// A branch: its block and the target taken.
    Fork(BlockId, u32),
    /// The lane needs the stream to continue.
    Stop,
}

struct WarpWalk<'a> {
    program: &'a CheckedModule<'a>,
    decoders: Vec<Decoder<'a>>,
    stands: Vec<LanePosition>,
    met: Vec<u64>,
    out: Vec<Event>,
}

/// Returns `stream` with all of its events. Streams of other levels, and of kernels that cannot be decoded,
/// are returned unchanged.
pub fn complete_events<'a>(
    program: &'a CheckedModule<'a>,
    launch: &'a Launch,
    stream: &'a WarpStream,
    limits: DecodeLimits,
) -> Cow<'a, WarpStream> {
    let Lanes::Events(events) = &stream.lanes else { return Cow::Borrowed(stream) };
    let lanes = launch.warp_size.full_mask().lanes();
    let decoders: Result<Vec<_>, _> =
        lanes.map(|lane| Ok(Decoder::new(program, launch, stream, lane, limits)?.with_skipped())).collect();
    let Ok(decoders) = decoders.map_err(|_: Error| ()) else { return Cow::Borrowed(stream) };
    let n = decoders.len();
    let out = Vec::with_capacity(events.len() * 2);
    let mut walk = WarpWalk { program, decoders, stands: vec![LanePosition::Ended; n], met: vec![0; n], out };
    walk.run(launch.lanes(stream.warp), 0);
    for (i, e) in events.iter().enumerate() {
        if let Some(Source::Trips { stay, bits: COUNT_EVENT, .. }) = program.sources.get(e.site.index()) {
            // The count was consumed where the loop was entered. For a lane that cannot be decoded, one trip
            // is certain: the last.
            let mask = LaneMask(walk.stand(|s| s == LanePosition::Failed).0 & e.mask.0);
            let value = if *stay { 0 } else { mask.0 };
            walk.out.extend((mask.0 != 0).then_some(Event { mask, value, ..*e }));
            continue;
        }
        // A lane that is already at a later event was not converged with the lanes of this one.
        let astray = walk.stand(|s| matches!(s, LanePosition::Event(at) if at > i)).0 & e.mask.0;
        walk.run(LaneMask(astray), e.clock);
        while let Some(first) = walk.first_met(e.mask) {
            walk.run(first, e.clock);
        }
        walk.out.push(*e);
        walk.run(walk.stand(|s| s == LanePosition::Event(i)), e.clock);
    }
    let clock = events.last().map_or(0, |e| e.clock);
    while let Some(first) = walk.first_met(LaneMask(u64::MAX)) {
        walk.run(first, clock);
    }
    Cow::Owned(WarpStream { lanes: Lanes::Events(walk.out), ..stream.clone() })
}

fn set(lanes: impl Iterator<Item = Lane>) -> LaneMask {
    lanes.fold(LaneMask(0), |set, lane| LaneMask(set.0 | 1 << lane.0))
}

impl WarpWalk<'_> {
    /// The lanes at the earliest barrier, if any lane of `of` waits at a barrier.
    fn first_met(&self, of: LaneMask) -> Option<LaneMask> {
        let stands = (0u8..)
            .map(Lane)
            .zip(&self.stands)
            .filter(|(l, s)| of.has(*l) && matches!(s, LanePosition::Barrier(_)));
        let first = *stands.map(|(_, s)| s).min()?;
        Some(self.stand(|s| s == first))
    }

    /// The lanes whose position satisfies `so`.
    fn stand(&self, so: impl Fn(LanePosition) -> bool) -> LaneMask {
        set((0u8..).map(Lane).zip(&self.stands).filter(|(_, s)| so(**s)).map(|(l, _)| l))
    }

    /// Walks converged lanes until each needs the stream.
    fn run(&mut self, together: LaneMask, clock: u32) {
        let mut groups = vec![together];
        while let Some(group) = groups.pop() {
            let next: Vec<(Lane, LaneAdvance)> = group.lanes().map(|lane| (lane, self.next(lane))).collect();
            // Lanes split by their next step. A lane that skips an event stays with the lanes that have it.
            let mut left = &next[..];
            let mut done = LaneMask(0);
            while let Some((&(lane, what), rest)) = left.split_first() {
                left = rest;
                if done.has(lane) {
                    continue;
                }
                let with = |other: LaneAdvance| match (what, other) {
                    (
                        LaneAdvance::Visit(a, _) | LaneAdvance::Skipped(a),
                        LaneAdvance::Visit(b, _) | LaneAdvance::Skipped(b),
                    ) => a == b,
                    (LaneAdvance::Fork(..), _) => what == other,
                    _ => false,
                };
                let same = || next.iter().filter(|(l, n)| *l == lane || with(*n));
                let mask = set(same().map(|(l, _)| *l));
                done.0 |= mask.0;
                match what {
                    LaneAdvance::Stop | LaneAdvance::Event(_) => continue,
                    LaneAdvance::Fork(..) => {}
                    LaneAdvance::Visit(site, _) | LaneAdvance::Skipped(site) => {
                        let event =
                            next.iter().find(|(_, n)| *n == LaneAdvance::Event(site)).map(|(l, _)| *l);
                        let visits = same().filter(|(_, n)| matches!(n, LaneAdvance::Visit(..)));
                        let there = set(visits.clone().map(|(l, _)| *l));
                        let value = visits.fold(0, |v, (l, n)| match n {
                            LaneAdvance::Visit(_, 1) => v | 1 << l.0,
                            _ => v,
                        });
                        if there.0 != 0 && can_be_omitted(self.program, site) {
                            self.out.push(Event { site, mask: there, value, clock });
                        }
                        if let (Some(event), 0) = (event, there.0) {
                            for lane in mask.lanes() {
                                self.stands[usize::from(lane.0)] = self.stands[usize::from(event.0)];
                            }
                            continue;
                        }
                    }
                }
                groups.push(mask);
            }
        }
    }

    /// Walks a lane to its next step.
    fn next(&mut self, lane: Lane) -> LaneAdvance {
        let l = usize::from(lane.0);
        let Some(decoder) = self.decoders.get_mut(l) else { return LaneAdvance::Stop };
        self.stands[l] = LanePosition::Ended;
        if self.out.len() > MAX_ENTRIES {
            return LaneAdvance::Stop;
        }
        loop {
            return match decoder.next() {
                Ok(Some(PathItem::Visit { site, value, mask: LaneMask(0) })) => {
                    LaneAdvance::Visit(site, value)
                }
                Ok(Some(PathItem::Visit { site, .. })) => {
                    self.stands[l] = LanePosition::Event(decoder.last_event());
                    LaneAdvance::Event(site)
                }
                Ok(Some(PathItem::Skipped(site))) => LaneAdvance::Skipped(site),
                Ok(Some(PathItem::Branch { block, to })) => LaneAdvance::Fork(block, to),
                Ok(Some(PathItem::Barrier(_))) => {
                    self.met[l] += 1;
                    self.stands[l] = LanePosition::Barrier(self.met[l]);
                    LaneAdvance::Stop
                }
                Ok(Some(_)) => continue,
                Ok(None) => LaneAdvance::Stop,
                Err(_) => {
                    self.stands[l] = LanePosition::Failed;
                    LaneAdvance::Stop
                }
            };
        }
    }
}
