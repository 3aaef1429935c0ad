//! Level `events`: the events that were not written, because they follow from those that were and from the code.
//!
//! A recording leaves out events of branches that are computed, of the kernel's entry, of exits, and of the trips of
//! counted loops (`prlx_probe` says where). What they say of one lane a [`Decoder`] gives. Who was there together is the rule
//! of this module: lanes that were together, at the kernel's entry, at an event or at a barrier of whole warps, and that
//! have gone the same way since. All lanes of a warp are walked side by side, in groups of such.
//!
//! Holds: every event of the stream is in what is made of it, in its order, but for counts, whose trips are there instead;
//! what is made stands behind the event, or the barrier, that it follows from. A lane that can't be walked is in no event but
//! the stream's. A stream that has all its events comes out as it is.
//!
//! Misses: clocks of what is made: they are those of the event before.

use std::borrow::Cow;

use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::{SiteClass, Source};
use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{BlockId, Lane, LaneMask, Launch, SiteId, WarpStream};

use crate::error::Error;

use super::checked_module::CheckedModule;
use super::decoder::Decoder;
use super::path_item::{DecodeLimits, MAX_ENTRIES, PathItem};

/// Where a lane stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LanePosition {
    /// At this event of the stream.
    Event(usize),
    /// At a barrier: how many it has passed.
    Barrier(u64),
    /// At its end, or at that of its recording.
    Ended,
    /// It can't be walked.
    Failed,
}

/// What a lane came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LaneAdvance {
    /// A visit that has no event of its own.
    Visit(SiteId, u64),
    /// A site that it passed by.
    Skipped(SiteId),
    /// An event of the stream.
    Event(SiteId),
    /// A fork.
    Fork(BlockId, u32),
    /// Nothing more for now.
    Stop,
}

struct WarpWalk<'a> {
    program: &'a CheckedModule<'a>,
    decoders: Vec<Decoder<'a>>,
    stands: Vec<LanePosition>,
    met: Vec<u64>,
    out: Vec<Event>,
}

/// `stream` with all of its events. At other levels, and where the kernel can't be walked, it is as it was.
pub fn complete_events<'a>(
    program: &'a CheckedModule<'a>,
    launch: &'a Launch,
    stream: &'a WarpStream,
    limits: DecodeLimits,
) -> Cow<'a, WarpStream> {
    let Lanes::Events(events) = &stream.lanes else { return Cow::Borrowed(stream) };
    let lanes = (0..64).map(Lane).take_while(|l| l.0 < launch.warp_size);
    let decoders: Result<Vec<_>, _> =
        lanes.map(|lane| Ok(Decoder::new(program, launch, stream, lane, limits)?.with_skipped())).collect();
    let Ok(decoders) = decoders.map_err(|_: Error| ()) else { return Cow::Borrowed(stream) };
    let n = decoders.len();
    let out = Vec::with_capacity(events.len() * 2);
    let mut walk = WarpWalk { program, decoders, stands: vec![LanePosition::Ended; n], met: vec![0; n], out };
    walk.run(launch.lanes(stream.warp), 0);
    for (i, e) in events.iter().enumerate() {
        if let Some(Source::Trips { stay, bits: COUNT_EVENT, .. }) = program.sources.get(e.site.index()) {
            // It was taken where the loop was entered. Of a lane that is lost, one trip is sure: when it left.
            let mask = LaneMask(walk.stand(|s| s == LanePosition::Failed).0 & e.mask.0);
            let value = if *stay { 0 } else { mask.0 };
            walk.out.extend((mask.0 != 0).then_some(Event { mask, value, ..*e }));
            continue;
        }
        // Who passed a later event by was not with those who have it, after all.
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
    /// Of the lanes that stand at barriers, if any of `of` does: those that stand at the first.
    fn first_met(&self, of: LaneMask) -> Option<LaneMask> {
        let stands = (0u8..)
            .map(Lane)
            .zip(&self.stands)
            .filter(|(l, s)| of.has(*l) && matches!(s, LanePosition::Barrier(_)));
        let first = *stands.map(|(_, s)| s).min()?;
        Some(self.stand(|s| s == first))
    }

    /// The lanes that stand so.
    fn stand(&self, so: impl Fn(LanePosition) -> bool) -> LaneMask {
        set((0u8..).map(Lane).zip(&self.stands).filter(|(_, s)| so(**s)).map(|(l, _)| l))
    }

    /// Walks lanes that are together to where each needs the stream.
    fn run(&mut self, together: LaneMask, clock: u32) {
        let mut groups = vec![together];
        while let Some(group) = groups.pop() {
            let next: Vec<(Lane, LaneAdvance)> = group.lanes().map(|lane| (lane, self.next(lane))).collect();
            // Lanes part by what they came to; those that pass an event by stay with those that have it.
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
                        if there.0 != 0 && self.has_events(site) {
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

    /// Whether a site without events in the stream has them.
    fn has_events(&self, site: SiteId) -> bool {
        self.program.module.sites.get(site.index()).is_some_and(|s| match s.class {
            SiteClass::Entry | SiteClass::Exit => true,
            SiteClass::Branch => {
                matches!(s.source, Source::Computed | Source::Trips { bits: COUNT_EVENT, .. })
            }
            _ => false,
        })
    }

    /// Walks a lane to the next thing that matters.
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
