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

use crate::copies::mbarrier::State;
use crate::exec::warp_state::Warp;
use crate::mem::access::each;
use prlx_lanes::LANES;

use crate::check::findings::WarpStep;

/// How often a lane asks an mbarrier in vain before it counts as waiting.
const GROUP_QUANTUM: u32 = 1 << 12;
/// How often it asks other memory before its registers are looked at.
const LOOK: u32 = 64;

/// What a lane asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum What {
    /// The lane does not poll.
    #[default]
    Nothing,
    /// An mbarrier of shared memory, whether a phase is complete; its bits.
    Mbarrier { at: u64, bits: u64, phase: bool },
    /// Other memory: the space, where in it, how many bytes, and what the first eight of them hold.
    Memory { space: Space, at: u64, bytes: u32, value: u64 },
}

/// What a lane asked last.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    what: What,
    step: u32,
    /// How often, since `changes`; 0: it does not ask.
    times: u32,
    /// Changes of memory until then.
    changes: u64,
    /// Its registers at an earlier time, as a hash.
    before: u64,
    vain: bool,
}

/// Some lanes that ask in vain.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The polling lanes and their step.
    pub who: WarpStep,
    /// What they ask.
    pub what: What,
}

/// What the lanes of CTAs under way ask.
#[derive(Debug, Default)]
pub struct Polling {
    /// By CTA and warp.
    asked: FxHashMap<(u64, u32), [Asked; LANES]>,
    /// How often memory was changed.
    changes: u64,
}

impl Polling {
    /// Memory is about to change, or may have.
    pub fn changed(&mut self) {
        self.changes += 1;
    }
    /// Lanes do something other than ask.
    pub fn busy(&mut self, here: WarpStep) {
        if let Some(asked) = self.asked.get_mut(&(here.cta, here.warp)) {
            each(here.lanes, |l| asked[l] = Asked::default());
        }
    }
    /// Lanes test mbarriers; `what` says of each which, if it is in vain.
    pub fn tests(&mut self, here: WarpStep, mut what: impl FnMut(usize) -> Option<What>) {
        let asked = self.asked.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            let now = what(l).unwrap_or_default();
            let a = asked[l];
            let again = a.what == now && a.step == here.step && a.changes == self.changes;
            let times = match now {
                What::Nothing => 0,
                _ if again => a.times.saturating_add(1),
                _ => 1,
            };
            let vain = times >= GROUP_QUANTUM;
            asked[l] = Asked { what: now, step: here.step, times, changes: self.changes, before: 0, vain };
        });
    }
    /// Lanes read memory that others may change, and change nothing; `what` says of each which.
    pub fn reads(&mut self, warp: &Warp, here: WarpStep, mut what: impl FnMut(usize) -> What) {
        let asked = self.asked.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            let a = &mut asked[l];
            if a.changes != self.changes || matches!(a.what, What::Mbarrier { .. }) {
                *a = Asked { changes: self.changes, ..Asked::default() };
            }
            a.times = a.times.saturating_add(1);
            if a.times < LOOK || a.vain {
                return;
            }
            let now = registers(warp, l, here.step);
            if a.before == now {
                (a.vain, a.what, a.step) = (true, what(l), here.step);
                return;
            }
            if a.times.is_power_of_two() {
                a.before = now;
            }
        });
    }
    /// The lanes of a warp that can run, if all of them ask in vain; by what they ask.
    pub fn waiting(&self, cta: u64, warp: &Warp) -> Option<Vec<Waiting>> {
        let mut rest = warp.ready();
        if rest == 0 {
            return Some(Vec::new());
        }
        let asked = self.asked.get(&(cta, warp.index))?;
        let mut vain = 0;
        each(rest, |l| vain |= u32::from(asked[l].vain && asked[l].changes == self.changes) << l);
        if vain != rest {
            return None;
        }
        let mut all = Vec::new();
        while rest != 0 {
            let first = asked[rest.trailing_zeros() as usize];
            let mut lanes = 0;
            each(rest, |l| {
                lanes |= u32::from((asked[l].step, asked[l].what) == (first.step, first.what)) << l
            });
            rest &= !lanes;
            all.push(Waiting {
                who: WarpStep { cta, warp: warp.index, lanes, step: first.step },
                what: first.what,
            });
        }
        Some(all)
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.asked.retain(|k, _| k.0 != cta);
    }
}

impl What {
    /// Whether only the CTAs of one cluster can change it.
    pub fn inside(self) -> bool {
        !matches!(self, What::Memory { space: Space::Global, .. })
    }
    /// In words; `name` is the variable or allocation that other memory lies in, and where in it.
    pub fn words(self, name: impl FnOnce(Space, u64) -> String) -> String {
        match self {
            What::Nothing => "nothing".into(),
            What::Mbarrier { at, bits, .. } => {
                format!("the mbarrier at {at:#x} of shared memory, {}", State::read(bits).missing())
            }
            What::Memory { space, at, bytes, value } => {
                format!(
                    "a change of {bytes} bytes of {} memory at {at:#x} ({}), which hold {value:#x}",
                    space.name(),
                    name(space, at)
                )
            }
        }
    }
}

/// All that a lane goes on with, as a hash.
fn registers(warp: &Warp, l: usize, step: u32) -> u64 {
    let mut h = FxHasher::default();
    (step, warp.frames[l].len(), warp.sp[l], warp.taken[l], warp.planes.carry >> l & 1).hash(&mut h);
    warp.planes.w32.iter().for_each(|p| h.write_u32(p.0[l]));
    warp.planes.w64.iter().for_each(|p| h.write_u64(p.0[l]));
    warp.planes.pred.iter().for_each(|p| h.write_u32(p >> l & 1));
    // 0 is for none.
    h.finish() | 1
}
