//! Records the tracks of markers beside the original code: the tracks that instrumented code writes.
//!
//! # Invariants
//! Only a ring drops records; there is room for everything else, anchors included. Clocks count the
//! instructions of the CTA, as `%clock` does on this device.

use std::collections::VecDeque;

use prlx_plan::{Action, Word};
use prlx_trace::device::tracks::{ANCHOR_SLOTS, Form, Layout};
use prlx_trace::ids::{Cycles, Nanos};
use prlx_trace::mark::{Anchor, Record, Records, Track};
use prlx_trace::{FuncId, WarpId, WarpSize};

use crate::code::Hook;
use crate::exec::time::EPOCH;
use crate::hooks::value::{HookContext, Registers, each_lane};

/// The tracks of one warp.
#[derive(Clone, Debug)]
pub struct WarpTracks {
    /// The kernel that is run.
    kernel: FuncId,
    /// The number of the warp in the grid.
    warp: WarpId,
    /// Lanes of the warp.
    size: WarpSize,
    /// The track of each lane that has one.
    lanes: Vec<Option<LaneTrack>>,
}

/// The track of a running lane.
#[derive(Clone, Debug)]
struct LaneTrack {
    track: Track,
    /// The records, in order.
    written: VecDeque<Record>,
    /// The words of sums.
    words: Vec<u32>,
    /// Slots that instrumented code would have written, and the slot at which the next anchor is due.
    slots: u64,
    next: u64,
}

fn now(context: HookContext<'_>) -> Anchor {
    Anchor { cycles: Cycles(context.clock), nanos: Nanos(EPOCH + context.clock / 2), took: None }
}

impl LaneTrack {
    fn begin(layout: &Layout, warp: WarpId, lane: usize, context: HookContext<'_>) -> LaneTrack {
        let track = Track { lane: lane as u8, sm: context.sm, begin: Some(now(context)), ..Track::default() };
        let next = layout.first(warp.0).into();
        LaneTrack { track, written: VecDeque::new(), words: vec![0; layout.words as usize], slots: 0, next }
    }
}

impl WarpTracks {
    /// A warp before any lane begins.
    pub fn new(kernel: FuncId, warp: WarpId, size: WarpSize) -> WarpTracks {
        WarpTracks { kernel, warp, size, lanes: Vec::new() }
    }
    /// Lanes `m` begin a kernel.
    pub fn begin(&mut self, layout: &Layout, m: u64, context: HookContext<'_>) {
        self.lanes.resize(self.size.lanes() as usize, None);
        each_lane(if layout.lanes { m } else { m & 1 }, |l| {
            self.lanes[l] = Some(LaneTrack::begin(layout, self.warp, l, context))
        });
    }
    /// Lanes `m` end. `kernel`: in the kernel itself.
    pub fn end(&mut self, layout: &Layout, m: u64, kernel: bool, context: HookContext<'_>) {
        let of = self.kernel;
        self.each_track(m, |_, lane| {
            lane.track.end = Some(now(context));
            match layout.form {
                Form::Sums if kernel => {
                    lane.track.sums = layout.sums(of, |i| lane.words.get(i as usize).copied().unwrap_or(0));
                }
                Form::Records | Form::Spans | Form::Sums | Form::Ring { .. } => {}
            }
        });
    }
    fn each_track(&mut self, m: u64, mut f: impl FnMut(usize, &mut LaneTrack)) {
        each_lane(m, |l| {
            if let Some(Some(lane)) = self.lanes.get_mut(l) {
                f(l, lane);
            }
        });
    }
    /// Runs an action of markers for the lanes `m`.
    pub fn run_action(
        &mut self,
        layout: &Layout,
        hook: &Hook,
        planes: &Registers<'_, '_>,
        m: u64,
        context: HookContext<'_>,
    ) {
        match &hook.action {
            Action::Room { slots } => self.each_track(m, |_, lane| lane.slots += u64::from(*slots)),
            Action::Anchor => self.each_track(m, |_, lane| {
                if lane.slots >= lane.next {
                    // Hooks take no time.
                    lane.track.anchors.0.push(Anchor { took: Some(0), ..now(context) });
                    lane.slots += u64::from(ANCHOR_SLOTS);
                    lane.next = lane.slots + u64::from(layout.apart);
                }
            }),
            Action::Mark { mark, words: of, .. } => {
                let most = layout.ring().map(|r| r.entries as usize);
                self.each_track(m, |l, lane| {
                    let mut payload = [0; 2];
                    payload.iter_mut().zip(words(of, hook, planes, l)).for_each(|(p, word)| *p = word);
                    let record = Record { mark: *mark, clock: context.clock as u32, payload };
                    if most.is_some_and(|n| lane.written.len() >= n) {
                        lane.written.pop_front();
                        lane.track.lost += 1;
                    }
                    lane.written.push_back(record);
                });
            }
            Action::Add { ends, begins, count } => self.each_track(m, |_, lane| {
                let clock = context.clock as u32;
                let minus = begins.iter().map(|word| (word, clock.wrapping_neg()));
                let count = count.iter().map(|(word, by)| (word, *by));
                for (word, by) in ends.iter().map(|word| (word, clock)).chain(minus).chain(count) {
                    if let Some(word) = lane.words.get_mut(*word as usize) {
                        *word = word.wrapping_add(by);
                    }
                }
            }),
            // A mark that ends one span and begins another is one record.
            Action::Span { end, begin } => self.each_track(m, |l, lane| {
                let clock = context.clock as u32;
                let ends = end.and_then(|e| layout.spans.get(e.span as usize)?.end);
                let ends = ends.filter(|mark| begin.as_ref().is_none_or(|b| b.mark != *mark));
                let word = begin
                    .iter()
                    .flat_map(|b| &b.word)
                    .flat_map(|w| words(std::slice::from_ref(w), hook, planes, l));
                let payload = [word.last().unwrap_or(0), 0];
                lane.written.extend(ends.map(|mark| Record { mark, clock, payload: [0; 2] }));
                lane.written.extend(begin.as_ref().map(|b| Record { mark: b.mark, clock, payload }));
            }),
            Action::Group { values } => each_lane(m, |l| {
                let mut words = words(values, hook, planes, l);
                let (group, leads) = (words.next(), words.next());
                let Some(lane) = self.lanes.get_mut(l) else { return };
                if let Some(leads) = leads {
                    *lane = (leads != 0).then(|| LaneTrack::begin(layout, self.warp, l, context));
                }
                if let Some(lane) = lane {
                    lane.track.group = group;
                }
            }),
            _ => {}
        }
    }
    /// The approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        let records = self.lanes.iter().flatten().map(|l| l.written.capacity());
        (records.sum::<usize>() * size_of::<Record>()) as u64
    }
    /// The tracks of the warp, with number `warp` in the grid.
    pub fn finish(self, layout: &Layout, warp: u64) -> impl Iterator<Item = Track> {
        let last = layout.ring().is_some();
        self.lanes.into_iter().flatten().map(move |lane| {
            let mut records = layout.numbered(lane.written);
            records.shrink_to_fit();
            Track { warp: WarpId(warp), records: Records(records), last, ..lane.track }
        })
    }
}

/// The words of a marker in one lane.
fn words(of: &[Word], hook: &Hook, planes: &Registers<'_, '_>, l: usize) -> impl Iterator<Item = u32> {
    let word = move |(w, v): (&Word, &crate::code::HookValue)| {
        (planes.value(*v, l) as u32).wrapping_add(w.add as u32)
    };
    of.iter().zip(&hook.values).map(word)
}
