//! Runs the actions of a recording plan beside the original code, and writes the streams that instrumented
//! code writes.
//!
//! # Invariants
//! - Hooks write no register except the plan's own counters. The code executes as it does without hooks.
//! - Words, hashes and records are those of `prlx_trace::device` and `prlx_plan::Fold`.
//! - Decisions without room are counted as dropped. Only a faulty plan has them.

use prlx_plan::{Action, Plan, ProbeState, RollingHash, value_hash};
use prlx_trace::device::{COUNT_BITS, VALUE_BITS, WORD_BITS, count_words, decisions_in, digest, low};
use prlx_trace::kernel::{Level, SiteClass};
use prlx_trace::launch::{Event, Lanes, OperandRecord, WarpStream};
use prlx_trace::{FuncId, LaneMask, SiteId, WarpId};
use rustc_hash::FxHashMap;

use crate::code::Hook;
use crate::hooks::probes::{self, ProbeResults};
use crate::hooks::value::{HookContext, Registers, each_lane};

/// What a launch records.
#[derive(Clone, Copy, Debug)]
pub struct Observe<'a> {
    /// The recording plan that runs.
    pub plan: &'a Plan,
    /// Number of the kernel among the functions of the plan's module.
    pub kernel: FuncId,
    /// Warps of the launch.
    pub warps: u64,
}

impl Observe<'_> {
    /// Whether a warp is recorded.
    pub fn wants(&self, warp: WarpId) -> bool {
        let p = &self.plan.request;
        let window = p.window.as_ref().filter(|_| p.level == Level::Operands).map(|w| w.warps);
        p.filter.takes_warp(warp.0) && window.is_none_or(|(first, end)| (first..end).contains(&warp.0))
    }
}

/// The recorder of one warp.
#[derive(Debug)]
pub struct Recorder {
    warp: WarpId,
    level: Level,
    visits_wanted: (u64, u64),
    /// By site: whether it is a switch, which has an event for each way that lanes take.
    switches: Vec<bool>,
    word: Vec<u32>,
    words: Vec<Vec<u32>>,
    /// Decisions and trip counts that found no room in their word.
    dropped: u64,
    hashes: Vec<[u32; 4]>,
    edges: Vec<u64>,
    checkpoints: Vec<Vec<u64>>,
    /// Which of the four hashes a lane writes when it ends.
    folds: [bool; 4],
    finals: [u64; 4],
    signatures: Vec<u8>,
    events: Vec<Event>,
    visits: FxHashMap<SiteId, Vec<u32>>,
    records: Vec<Vec<OperandRecord>>,
    probes: probes::WarpProbes,
}

/// Decisions that a word has room for.
fn free(word: u32) -> u32 {
    WORD_BITS.saturating_sub(decisions_in(word))
}

impl Recorder {
    /// A recorder that has recorded nothing.
    pub fn new(o: &Observe<'_>, warp: WarpId) -> Recorder {
        let p = &o.plan.request;
        let lanes = o.plan.warp_size.lanes() as usize;
        Recorder {
            warp,
            level: p.level,
            visits_wanted: p.window.as_ref().map_or((0, u64::MAX), |w| w.visits),
            switches: o.plan.module.sites.iter().map(|s| s.class == SiteClass::Switch).collect(),
            word: vec![1; lanes],
            words: vec![Vec::new(); lanes],
            dropped: 0,
            hashes: vec![[RollingHash::START; 4]; lanes],
            edges: vec![0; lanes],
            checkpoints: vec![Vec::new(); lanes],
            folds: o.plan.finals.used,
            finals: [0; 4],
            signatures: vec![0; lanes],
            events: Vec::new(),
            visits: FxHashMap::default(),
            records: vec![Vec::new(); lanes],
            probes: probes::WarpProbes::new(o.plan, o.kernel, warp, o.warps),
        }
    }
    /// Makes room for `bits` decisions in the current words of lanes `m`.
    fn reserve(&mut self, m: u64, bits: u32) {
        each_lane(m, |l| {
            if free(self.word[l]) < bits {
                self.words[l].push(std::mem::replace(&mut self.word[l], 1));
            }
        });
    }
    /// Appends bits to the current word of a lane.
    fn append(&mut self, l: usize, bits: u8, value: u64) {
        if free(self.word[l]) < u32::from(bits) {
            self.dropped += 1;
            return;
        }
        self.word[l] = self.word[l] << bits | (value & ((1 << bits) - 1)) as u32;
    }
    /// The warp that is recorded.
    pub fn warp(&self) -> WarpId {
        self.warp
    }
    /// Runs an action of the plan for the lanes `m`.
    pub fn run_action(
        &mut self,
        probe_state: &ProbeState,
        hook: &Hook,
        planes: &mut Registers<'_, '_>,
        m: u64,
        context: HookContext<'_>,
    ) {
        if m == 0 {
            return;
        }
        let clock = context.clock as u32;
        match &hook.action {
            Action::Probe(code) => self.probes.run(probe_state, hook, code, planes, m, context),
            Action::Count { counter, add } => self.probes.count(*counter, *add, m),
            Action::End { trap } if self.level == Level::Probe => {
                if hook.kernel || hook.leaves {
                    self.probes.end(probe_state, m, hook.kernel, *trap, context);
                }
            }
            Action::Room { .. }
            | Action::Anchor
            | Action::Mark { .. }
            | Action::Add { .. }
            | Action::Span { .. }
            | Action::Group { .. } => {
                if let Some(layout) = &probe_state.tracks {
                    self.probes.marks.run_action(layout, hook, planes, m, context);
                }
            }
            Action::Begin => {
                if let Some(layout) = probe_state.tracks.as_ref().filter(|_| hook.kernel) {
                    self.probes.marks.begin(layout, m, context);
                }
                for i in 0..hook.counters.1 {
                    each_lane(m, |l| planes.counter(hook.counters.0 + i, l).into_iter().for_each(|n| *n = 0));
                }
            }
            Action::End { .. } if hook.kernel || hook.leaves => self.end_lanes(m),
            // A device function shares the state of the lane with its caller here.
            Action::End { .. } | Action::Save | Action::Restore => {}
            // The hooks' words are in lists, without a cursor.
            Action::StartCursor => {}
            Action::Reserve { bits } => self.reserve(m, *bits),
            Action::Bits { from, bits, .. } => {
                // One by one, so that a lane which a fault ends here has no place that nothing filled.
                let Some(&p) = hook.values.first() else { return };
                each_lane(m, |l| self.append(l, *bits, planes.value(p, l).unbounded_shr((*from).into())));
            }
            Action::ValueHash { bits, .. } => each_lane(m, |l| {
                let hash = value_hash(hook.values.iter().map(|&p| low(planes.value(p, l), *bits)));
                self.append(l, VALUE_BITS, hash.into());
            }),
            Action::TripBegin { .. }
            | Action::TripAdd { .. }
            | Action::TripRead { .. }
            | Action::TripEnd { .. }
            | Action::TripEvent { .. }
            | Action::TripFold { .. } => self.count_trips(hook, planes, m, clock),
            Action::Fold { into, bits, .. } => each_lane(m, |l| {
                for &p in &hook.values {
                    let h = &mut self.hashes[l][*into as usize];
                    *h = RollingHash::step(*h, low(planes.value(p, l), *bits));
                }
            }),
            Action::FoldWord => each_lane(m, |l| {
                let word = std::mem::replace(&mut self.word[l], 1);
                let h = &mut self.hashes[l][RollingHash::Control as usize];
                *h = RollingHash::step(*h, word.into());
            }),
            Action::Checkpoint { every } => each_lane(m, |l| {
                self.edges[l] += 1;
                if self.edges[l].is_multiple_of(1 << every) {
                    self.checkpoints[l].push(RollingHash::checkpoint(self.hashes[l]));
                }
            }),
            Action::Event { site, bits, .. } => self.record_event(hook, planes, m, clock, (*site, *bits)),
            Action::Operands { site, .. } => self.record_operands(hook, planes, m, *site),
        }
    }
    /// Finishes the words and hashes of lanes that end.
    fn end_lanes(&mut self, m: u64) {
        each_lane(m, |l| {
            if self.level.in_words() && self.word[l] != 1 {
                self.words[l].push(std::mem::replace(&mut self.word[l], 1));
            }
            let part = |i: usize| RollingHash::of_lane(self.hashes[l][i], l as u32);
            let used = (0..4).filter(|i| self.folds[*i]);
            self.signatures[l] = RollingHash::signature(used.clone().map(part));
            used.for_each(|i| self.finals[i] ^= u64::from(part(i)));
        });
    }
    /// Runs an action on a trip counter. The counter of a lane is 0 outside the loop and one more than the
    /// number of trips inside.
    fn count_trips(&mut self, hook: &Hook, planes: &mut Registers<'_, '_>, m: u64, clock: u32) {
        let plane = |counter: u32| hook.counters.0 + counter as u16;
        // The trips of a lane, whose counter becomes 0.
        let taken = |planes: &mut Registers<'_, '_>, counter: u32, l: usize| {
            std::mem::take(planes.counter(plane(counter), l)?).checked_sub(1)
        };
        match &hook.action {
            Action::TripBegin { counter } => {
                each_lane(m, |l| planes.counter(plane(*counter), l).into_iter().for_each(|n| *n = 1));
            }
            Action::TripAdd { counter } => {
                each_lane(m, |l| {
                    planes.counter(plane(*counter), l).into_iter().for_each(|n| *n = n.wrapping_add(1));
                });
            }
            Action::TripRead { counter, less, .. } => {
                let Some(&p) = hook.values.first() else { return };
                each_lane(m, |l| {
                    let trips = u64::from((planes.value(p, l) as u32).wrapping_sub(*less));
                    let count = planes.counter(plane(*counter), l).filter(|n| **n != 0);
                    count.into_iter().for_each(|n| *n = trips);
                });
            }
            Action::TripEnd { counter, room } => {
                self.reserve(m, *room);
                let large = (1 << COUNT_BITS) - 1;
                each_lane(m, |l| {
                    let Some(n) = taken(planes, *counter, l) else { return };
                    self.append(l, COUNT_BITS, n.min(large));
                    if n >= large {
                        self.words[l].extend(count_words(n));
                    }
                });
            }
            Action::TripEvent { counter, site } => {
                // One event per count, in the order of the lowest lanes that have it.
                let mut groups: Vec<(u64, u64)> = Vec::new();
                each_lane(m, |l| {
                    let Some(n) = taken(planes, *counter, l) else { return };
                    match groups.iter_mut().find(|(value, _)| *value == n) {
                        Some((_, mask)) => *mask |= 1 << l,
                        None => groups.push((n, 1 << l)),
                    }
                });
                self.events.extend(groups.into_iter().map(|(value, mask)| Event {
                    site: *site,
                    mask: LaneMask(mask),
                    value,
                    clock,
                }));
            }
            Action::TripFold { counter } => {
                each_lane(m, |l| {
                    let Some(n) = taken(planes, *counter, l) else { return };
                    let h = &mut self.hashes[l][RollingHash::Control as usize];
                    *h = RollingHash::step(*h, n);
                });
            }
            _ => {}
        }
    }
    /// Records an event at a site: one for the lanes that the hook selects, or one for each way of a switch.
    fn record_event(
        &mut self,
        hook: &Hook,
        planes: &Registers<'_, '_>,
        m: u64,
        clock: u32,
        (site, bits): (SiteId, u8),
    ) {
        let m = match hook.of.map(|(p, negate)| (planes.pred(p), negate)) {
            Some((p, negate)) => m & if negate { !p } else { p },
            None => m,
        };
        if m == 0 {
            return;
        }
        let mut event = |mask: u64, value: u64| {
            self.events.push(Event { site, mask: LaneMask(mask), value, clock });
        };
        match (hook.pred, hook.values.as_slice()) {
            (Some(p), _) => event(m, planes.pred(p) & m),
            (None, []) => event(m, 0),
            (None, [v, ..]) if self.switches.get(site.0 as usize) == Some(&true) => {
                let mut left = m;
                while left != 0 {
                    let index = planes.value(*v, left.trailing_zeros() as usize);
                    let mut same = 0;
                    each_lane(left, |l| same |= u64::from(planes.value(*v, l) == index) << l);
                    event(same, index);
                    left &= !same;
                }
            }
            (None, list) => {
                let mut d = 0;
                each_lane(m, |l| {
                    let values: Vec<u64> = list.iter().map(|&p| low(planes.value(p, l), bits)).collect();
                    d ^= digest(l as u32, &values);
                });
                event(m, d.into());
            }
        }
    }
    /// Records the operands of an instruction, in the visits of the lane that are wanted.
    fn record_operands(&mut self, hook: &Hook, planes: &Registers<'_, '_>, m: u64, site: SiteId) {
        let lanes = self.word.len();
        let visits = self.visits.entry(site).or_insert_with(|| vec![0; lanes]);
        each_lane(m, |l| {
            let visit = visits[l];
            visits[l] += 1;
            if u64::from(visit) >= self.visits_wanted.0 && u64::from(visit) < self.visits_wanted.1 {
                let mut values = [0; 2];
                for (v, &p) in values.iter_mut().zip(&hook.values) {
                    *v = planes.value(p, l);
                }
                self.records[l].push(OperandRecord { site, visit, values });
            }
        });
    }
    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        let lanes = |n: usize, size: usize| (n * size) as u64;
        lanes(self.words.iter().map(Vec::len).sum(), 4)
            + lanes(self.checkpoints.iter().map(Vec::len).sum(), 8)
            + lanes(self.records.iter().map(Vec::len).sum(), size_of::<OperandRecord>())
            + lanes(self.events.len(), size_of::<Event>())
            + self.probes.bytes()
    }
    /// The results of a probe program in this warp.
    pub fn probe_results(self, probe_state: &ProbeState) -> ProbeResults {
        self.probes.finish(probe_state, self.warp.0)
    }
    /// The recorded stream, also of lanes that have not ended. A probe program records no stream.
    pub fn finish(mut self) -> WarpStream {
        for (words, word) in self.words.iter_mut().zip(self.word).filter(|(_, word)| *word != 1) {
            words.push(word);
        }
        fn flat<T>(lists: Vec<Vec<T>>) -> (Vec<T>, Vec<u32>) {
            let (mut all, mut ends) = (Vec::new(), Vec::new());
            for list in lists {
                all.extend(list);
                ends.push(all.len() as u32);
            }
            (all, ends)
        }
        let lanes = match self.level {
            Level::Path | Level::Values => {
                let (words, ends) = flat(self.words);
                Lanes::Path { words, ends }
            }
            Level::Fingerprint => {
                let (checkpoints, ends) = flat(self.checkpoints);
                let mut hashes = vec![self.finals];
                for signatures in self.signatures.chunks(32) {
                    let mut words = [0; 4];
                    for (word, bytes) in words.iter_mut().zip(signatures.as_chunks().0) {
                        *word = u64::from_le_bytes(*bytes);
                    }
                    hashes.push(words);
                }
                Lanes::Fingerprint { checkpoints, ends, hashes }
            }
            Level::Events => Lanes::Events(self.events),
            Level::Operands => {
                let (records, ends) = flat(self.records);
                Lanes::Operands { records, ends }
            }
            Level::Probe => Lanes::default(),
        };
        WarpStream { warp: self.warp, dropped: self.dropped, lanes }
    }
}
