//! Check of mbarriers: whether they are initialised, counted and waited for as PTX requires.
//!
//! # Invariants
//! Lanes whose operation is refused leave the mbarrier unchanged, and the kernel continues.
//!
//! # Limitations
//! Reuse of the memory of an mbarrier without `inval` is not reported.

use prlx_trace::check::{Kind, Memory, Space};
use rustc_hash::FxHashMap;

use crate::code::{MbarrierKind, Op};
use crate::copies::mbarrier::{self, MbarrierState};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::each;

use crate::check::accesses::{self, WarpAccess};
use crate::check::findings::{self, FindingLog, WarpStep};

/// Why a lane must not run its operation.
#[derive(Clone, Debug)]
struct MbarrierError {
    kind: Kind,
    /// The step that initialised the mbarrier.
    init: Option<WarpStep>,
    /// Description of the operation, for the finding.
    what: String,
}

/// The mbarriers of the running CTAs.
#[derive(Debug, Default)]
pub struct Mbarriers {
    /// By CTA and address in its shared memory: the step that initialised the mbarrier.
    initialised: FxHashMap<(u64, u64), WarpStep>,
}

impl Mbarriers {
    /// Checks an operation on mbarriers that lanes are about to run; returns the lanes that may run it.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        cta: &CtaState,
        t: &WarpAccess,
        here: WarpStep,
    ) -> u32 {
        let Op::Mbarrier(i) = launch.code.steps[here.step as usize].op else { return here.lanes };
        let bar = &launch.code.mbarriers[i as usize];
        let mut good = here.lanes;
        let mut bits: FxHashMap<(u64, u64), u64> = FxHashMap::default();
        let mut refused: Vec<(MbarrierError, u32)> = Vec::new();
        let r = visible_memory(launch, cta, &warp.local);
        each(here.lanes, |l| {
            let Some((region, at)) =
                t.at(&r, l).filter(|_| accesses::space(t.space, t.addr.0[l]) == Space::Shared)
            else {
                return;
            };
            let key = (accesses::owner(launch, cta, t, l), at);
            let old = *bits.entry(key).or_insert_with(|| region.load64(at));
            let operand = mbarrier::operand(bar, &warp.planes, l);
            match self.judge(bar.kind, key, old, operand, WarpStep { lanes: 1 << l, ..here }) {
                Ok(new) => _ = bits.insert(key, new),
                Err(why) => {
                    good &= !(1 << l);
                    match refused.iter_mut().find(|(r, _)| (r.kind, r.init) == (why.kind, why.init)) {
                        Some((_, lanes)) => *lanes |= 1 << l,
                        None => refused.push((why, 1 << l)),
                    }
                }
            }
        });
        for (why, lanes) in refused {
            let memory = findings::memory(launch, t, lanes.trailing_zeros() as usize);
            add(launch, log, WarpStep { lanes, ..here }, why, memory);
        }
        good
    }
    /// The bits of an mbarrier after the operation of one lane, if the operation is allowed.
    fn judge(
        &mut self,
        kind: MbarrierKind,
        key: (u64, u64),
        old: u64,
        operand: Option<u64>,
        who: WarpStep,
    ) -> Result<u64, MbarrierError> {
        let init = self.initialised.get(&key).copied();
        let refuse = |kind, what: String| Err(MbarrierError { kind, init, what });
        match (kind, init) {
            (MbarrierKind::Init, Some(_)) => {
                return refuse(Kind::MbarrierInitTwice, "initialises an mbarrier that is in use".into());
            }
            (MbarrierKind::Init, None) => _ = self.initialised.insert(key, who),
            (_, None) => {
                return refuse(Kind::MbarrierNotInit, "uses an mbarrier that is not initialised".into());
            }
            (MbarrierKind::Invalidate, Some(_)) => _ = self.initialised.remove(&key),
            (_, Some(_)) => {
                let n = MbarrierState::read(old).excess();
                if n > 0 {
                    let what = format!("this mbarrier received {n} bytes more than its phase expects");
                    return refuse(Kind::MbarrierBytes, what);
                }
                return mbarrier::after(kind, old, operand)
                    .or_else(|text| refuse(Kind::MbarrierCount, format!("uses an mbarrier {text}")));
            }
        }
        // The device itself refuses a count that is out of range.
        Ok(mbarrier::after(kind, old, operand).unwrap_or(old))
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.initialised.retain(|k, _| k.0 != cta);
    }
}

fn add(launch: &Launch<'_>, log: &mut FindingLog, who: WarpStep, why: MbarrierError, memory: Memory) {
    log.add(launch, why.kind, who, why.init.map(|o| o.step), 0, || {
        let mut first = findings::side(launch, "this operation", who);
        first.memory = Some(memory);
        let mut sides = vec![first];
        sides.extend(why.init.map(|o| findings::side(launch, "set up here", o)));
        findings::finding(why.kind, why.what, sides)
    });
}
