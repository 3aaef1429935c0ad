//! What a loop waits for: the memory that it reads again and again.
//!
//! The reads of the loop are found in its slice, and their addresses in the registers that the lane has now.
//!
//! # Limitations
//! A called function is not searched.

use prlx_trace::check::Space;

use crate::check::accesses;
use crate::check::findings;
use crate::code::{MbarrierKind, Op};
use crate::copies::mbarrier::{self, MbarrierState};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};

/// The memory that a loop reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PollTarget {
    /// The loop reads no memory that the search knows.
    Nothing,
    /// An mbarrier in shared memory: its address and its bits.
    Mbarrier {
        /// The address of the mbarrier in shared memory, in bytes.
        at: u64,
        /// The 64 bits that the mbarrier holds now.
        bits: u64,
    },
    /// A load or an atomic reads this memory.
    Memory {
        /// The state space.
        space: Space,
        /// The address in that space.
        at: u64,
        /// The length in bytes.
        bytes: u32,
        /// The first eight bytes.
        value: u64,
        /// Whether the access is an atomic or volatile one, so that the loop waits for other threads.
        strong: bool,
    },
}

impl PollTarget {
    /// Whether a loop that reads this never ends by itself, rather than that it waits for other threads.
    pub fn endless(self) -> bool {
        matches!(self, PollTarget::Nothing | PollTarget::Memory { strong: false, .. })
    }
    /// What a lane does that never leaves the loop, as a predicate. `endless`: whether no thread waits.
    pub fn doing(self, launch: &Launch<'_>, endless: bool) -> String {
        let words = || self.words(launch);
        match (self, endless) {
            (PollTarget::Nothing, true) => "is in a loop that never ends".into(),
            (PollTarget::Nothing, false) => {
                "waits for the end of a loop that repeats and depends on no memory".into()
            }
            (PollTarget::Mbarrier { .. }, _) => format!("waits for {}", words()),
            (PollTarget::Memory { .. }, true) => {
                format!("is in a loop that never ends unless something changes {}", words())
            }
            (PollTarget::Memory { .. }, false) => format!("waits for a change of {}", words()),
        }
    }
    /// A description of the memory.
    pub fn words(self, launch: &Launch<'_>) -> String {
        match self {
            PollTarget::Nothing => "no memory".into(),
            PollTarget::Mbarrier { at, bits } => {
                format!("the mbarrier at {at:#x} of shared memory, {}", MbarrierState::read(bits).missing())
            }
            PollTarget::Memory { space, at, bytes, value, .. } => {
                let name = match findings::allocation(launch, space, at) {
                    Some(a) => format!("`{}` + {}", a.name, at.wrapping_sub(a.base)),
                    None => "no allocation".into(),
                };
                format!("{bytes} bytes of {} memory at {at:#x} ({name}), which hold {value:#x}", space.name())
            }
        }
    }
}

/// The reads of a loop.
#[derive(Clone, Copy, Debug)]
pub struct LoopReads {
    /// The step that reads what the loop most likely waits for; the last step of the loop if none does.
    pub step: u32,
    /// What it reads.
    pub what: PollTarget,
}

/// What lane `l` reads in the loop `number` to decide whether it leaves it. `counts`: whether a step may be
/// the one that does. An mbarrier, a strong load or an atomic is a better answer than another load.
pub fn reads(
    launch: &Launch<'_>,
    cta: &CtaState,
    warp: &Warp,
    number: u32,
    counts: &dyn Fn(u32) -> bool,
    l: usize,
) -> LoopReads {
    let loops = launch.loops();
    let (first, last) = loops.all.get(number as usize).map_or((0, 0), |l| l.range);
    let code = launch.code;
    let mut found = LoopReads { step: last, what: PollTarget::Nothing };
    let mut best = 0;
    let r = visible_memory(launch, cta, &warp.local);
    for step in first..=last.min(code.steps.len().saturating_sub(1) as u32) {
        if !loops.contains(number, step) || !counts(step) {
            continue;
        }
        let op = code.steps[step as usize].op;
        let rank = match op {
            Op::Mbarrier(i) if matches!(code.mbarriers[i as usize].kind, MbarrierKind::Test { .. }) => 3,
            Op::Atom(_) => 2,
            Op::Ld(i) if code.mems[i as usize].strong => 2,
            Op::Ld(_) => 1,
            _ => continue,
        };
        let Some(t) = accesses::accesses(warp, code, &op, 1 << l).into_iter().next() else { continue };
        let Some((region, at)) = t.at(&r, l) else { continue };
        let space = accesses::space(t.space, t.addr.0[l]);
        let what = match op {
            Op::Mbarrier(i) => {
                let bits = region.load64(at);
                // A test that succeeds is not what the lane waits for.
                if MbarrierState::read(bits).passed(mbarrier::phase(
                    &code.mbarriers[i as usize],
                    &warp.planes,
                    l,
                )) {
                    continue;
                }
                PollTarget::Mbarrier { at, bits }
            }
            _ => {
                let value = region.load(at, t.bytes[l].min(8) as u8);
                let at = accesses::within(t.space, t.addr.0[l]);
                PollTarget::Memory { space, at, bytes: t.bytes[l], value, strong: rank > 1 }
            }
        };
        if rank > best {
            (best, found.step, found.what) = (rank, step, what);
        }
    }
    found
}
