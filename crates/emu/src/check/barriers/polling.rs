//! Lanes that poll memory: mbarriers, and words that other threads are expected to change.
//!
//! A lane polls *in vain* when what it reads will not change unless another thread writes memory. At an
//! mbarrier this is assumed after many tests with the same result. At other memory (strong loads, and atomics
//! that change nothing) it is proved: the lane came twice to one instruction with the same registers, and no
//! memory changed in between.
//!
//! # Invariants
//! Anything that may change memory visible to others resets every polling lane. Anything a lane does besides
//! polling resets that lane.
//!
//! # Limitations
//! Loops that poll by a warp exchange (`while (!__any_sync(…))`) or by plain loads, and loops that count
//! their iterations, are not recognised.

use std::hash::{Hash, Hasher};

use prlx_trace::check::Space;
use rustc_hash::{FxHashMap, FxHasher};

use crate::copies::mbarrier::MbarrierState;
use crate::exec::warp_state::Warp;
use crate::mem::access::each;
use prlx_lanes::LANES;

use crate::check::findings::WarpStep;

/// Tests of an mbarrier with the same result after which a lane counts as waiting.
const MBARRIER_TESTS: u32 = 1 << 12;
/// Reads of other memory after which the registers of a lane are compared.
const MEMORY_READS: u32 = 64;

/// What a lane polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PollTarget {
    /// The lane does not poll.
    #[default]
    Nothing,
    /// An mbarrier in shared memory: its address, its bits, and the parity of the phase that the lane waits
    /// for.
    Mbarrier { at: u64, bits: u64, phase: bool },
    /// Other memory: its space, address and length in bytes, and the value of the first eight bytes.
    Memory { space: Space, at: u64, bytes: u32, value: u64 },
}

/// The last poll of a lane.
#[derive(Clone, Copy, Debug, Default)]
struct LastPoll {
    what: PollTarget,
    step: u32,
    /// How often it polled since `changes`; 0: the lane does not poll.
    times: u32,
    /// The number of changes of memory at that time.
    changes: u64,
    /// A hash of its registers at an earlier poll.
    before: u64,
    in_vain: bool,
}

/// Lanes that poll in vain.
#[derive(Clone, Copy, Debug)]
pub struct PollingLanes {
    /// The polling lanes and their step.
    pub who: WarpStep,
    /// What they poll.
    pub what: PollTarget,
}

/// The polls of the lanes of running CTAs.
#[derive(Debug, Default)]
pub struct Polling {
    /// By CTA and warp.
    last: FxHashMap<(u64, u32), [LastPoll; LANES]>,
    /// How often memory was changed.
    changes: u64,
}

impl Polling {
    /// Memory is about to change, or may have.
    pub fn changed(&mut self) {
        self.changes += 1;
    }
    /// Lanes do something other than polling.
    pub fn busy(&mut self, here: WarpStep) {
        if let Some(last) = self.last.get_mut(&(here.cta, here.warp)) {
            each(here.lanes, |l| last[l] = LastPoll::default());
        }
    }
    /// Lanes test mbarriers. `what` gives the target of a lane whose test fails.
    pub fn tests(&mut self, here: WarpStep, mut what: impl FnMut(usize) -> Option<PollTarget>) {
        let last = self.last.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            let now = what(l).unwrap_or_default();
            let a = last[l];
            let again = a.what == now && a.step == here.step && a.changes == self.changes;
            let times = match now {
                PollTarget::Nothing => 0,
                _ if again => a.times.saturating_add(1),
                _ => 1,
            };
            let in_vain = times >= MBARRIER_TESTS;
            last[l] =
                LastPoll { what: now, step: here.step, times, changes: self.changes, before: 0, in_vain };
        });
    }
    /// Lanes read memory that other threads may change. `what` gives the target of a lane.
    pub fn reads(&mut self, warp: &Warp, here: WarpStep, mut what: impl FnMut(usize) -> PollTarget) {
        let last = self.last.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            let a = &mut last[l];
            if a.changes != self.changes || matches!(a.what, PollTarget::Mbarrier { .. }) {
                *a = LastPoll { changes: self.changes, ..LastPoll::default() };
            }
            a.times = a.times.saturating_add(1);
            if a.times < MEMORY_READS || a.in_vain {
                return;
            }
            let now = registers(warp, l, here.step);
            if a.before == now {
                (a.in_vain, a.what, a.step) = (true, what(l), here.step);
                return;
            }
            if a.times.is_power_of_two() {
                a.before = now;
            }
        });
    }
    /// The lanes of a warp that can run, by target; `None` unless all of them poll in vain.
    pub fn waiting(&self, cta: u64, warp: &Warp) -> Option<Vec<PollingLanes>> {
        let mut rest = warp.ready();
        if rest == 0 {
            return Some(Vec::new());
        }
        let last = self.last.get(&(cta, warp.index))?;
        let mut in_vain = 0;
        each(rest, |l| in_vain |= u32::from(last[l].in_vain && last[l].changes == self.changes) << l);
        if in_vain != rest {
            return None;
        }
        let mut all = Vec::new();
        while rest != 0 {
            let first = last[rest.trailing_zeros() as usize];
            let mut lanes = 0;
            each(rest, |l| lanes |= u32::from((last[l].step, last[l].what) == (first.step, first.what)) << l);
            rest &= !lanes;
            all.push(PollingLanes {
                who: WarpStep { cta, warp: warp.index, lanes, step: first.step },
                what: first.what,
            });
        }
        Some(all)
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.last.retain(|k, _| k.0 != cta);
    }
}

impl PollTarget {
    /// Whether only the CTAs of one cluster can change it.
    pub fn inside(self) -> bool {
        !matches!(self, PollTarget::Memory { space: Space::Global, .. })
    }
    /// A description of the target for messages. `name` describes the variable or allocation of an address.
    pub fn words(self, name: impl FnOnce(Space, u64) -> String) -> String {
        match self {
            PollTarget::Nothing => "nothing".into(),
            PollTarget::Mbarrier { at, bits, .. } => {
                format!("the mbarrier at {at:#x} of shared memory, {}", MbarrierState::read(bits).missing())
            }
            PollTarget::Memory { space, at, bytes, value } => {
                format!(
                    "a change of {bytes} bytes of {} memory at {at:#x} ({}), which hold {value:#x}",
                    space.name(),
                    name(space, at)
                )
            }
        }
    }
}

/// A hash of the state that determines what a lane does next.
fn registers(warp: &Warp, l: usize, step: u32) -> u64 {
    let mut h = FxHasher::default();
    (step, warp.frames[l].len(), warp.stack_pointer[l], warp.alloca_bytes[l], warp.planes.carry >> l & 1)
        .hash(&mut h);
    warp.planes.w32.iter().for_each(|p| h.write_u32(p.0[l]));
    warp.planes.w64.iter().for_each(|p| h.write_u64(p.0[l]));
    warp.planes.pred.iter().for_each(|p| h.write_u32(p >> l & 1));
    // 0 means no hash.
    h.finish() | 1
}
