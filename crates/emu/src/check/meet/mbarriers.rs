//! mbarriers: whether they are set up, counted and waited for as PTX asks.
//!
//! Holds: lanes whose operation is refused leave the mbarrier as it is, and the kernel goes on. Lanes that ask an mbarrier again
//! and again, while nothing can change it any more, are found to wait for ever.
//!
//! Misses: memory of an mbarrier that is used for something else without `inval`; waiting for ever in clusters.

use prlx_trace::check::{Kind, Memory};
use rustc_hash::FxHashMap;

use crate::access::{Reach, each};
use crate::code::{MbarKind, Mbarrier, Op};
use crate::cta::{Block, Launch};
use crate::mbarrier::{self, State};
use crate::planes::LANES;
use crate::warp::{Warp, reach};

use super::super::found::{self, Found, Who};
use super::super::touch::{self, Touch};

/// How often a lane asks in vain before it counts as waiting. A copy that is under way comes sooner.
const PATIENCE: u32 = 1 << 12;

/// What a lane asked last.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    at: u64,
    bits: u64,
    phase: bool,
    step: u32,
    /// How often, with the same answer; 0: it does not wait.
    times: u32,
}

/// Why a lane may not do what it is about to.
#[derive(Clone, Debug)]
struct Refusal {
    kind: Kind,
    /// Who set the mbarrier up, if anybody.
    set_up: Option<Who>,
    /// In words.
    what: String,
}

/// The mbarriers of the CTAs under way.
#[derive(Debug, Default)]
pub struct Mbarriers {
    /// By CTA and place in its shared memory: who set it up.
    live: FxHashMap<(u64, u64), Who>,
    /// By CTA and warp: what its lanes ask.
    asked: FxHashMap<(u64, u32), [Asked; LANES]>,
}

/// A group of lanes that waits at an mbarrier.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// They.
    pub who: Who,
    /// For what, in words.
    pub what: String,
}

impl Mbarriers {
    /// Lanes are about to work on mbarriers; those that may.
    pub fn work(
        &mut self,
        launch: &Launch<'_>,
        found: &mut Found,
        warp: &Warp,
        block: &Block,
        t: &Touch,
        here: Who,
    ) -> u32 {
        let Op::Mbarrier(i) = launch.code.steps[here.step as usize].op else { return here.lanes };
        let bar = &launch.code.mbarriers[i as usize];
        let mut good = here.lanes;
        let mut bits: FxHashMap<(u64, u64), u64> = FxHashMap::default();
        let mut refused: Vec<(Refusal, u32)> = Vec::new();
        let r = reach(launch, block, &warp.local);
        each(here.lanes, |l| {
            let Some((region, at)) = t.at(&r, l).filter(|_| touch::space(t.place, t.addr.0[l]) == "shared") else {
                return;
            };
            let key = (touch::owner(launch, block, t, l), at);
            let old = *bits.entry(key).or_insert_with(|| region.load64(at));
            let operand = mbarrier::operand(bar, &warp.planes, l);
            match self.judge(bar.kind, key, old, operand, Who { lanes: 1 << l, ..here }) {
                Ok(new) => _ = bits.insert(key, new),
                Err(why) => {
                    good &= !(1 << l);
                    match refused.iter_mut().find(|(r, _)| (r.kind, r.set_up) == (why.kind, why.set_up)) {
                        Some((_, lanes)) => *lanes |= 1 << l,
                        None => refused.push((why, 1 << l)),
                    }
                }
            }
        });
        for (why, lanes) in refused {
            let memory = found::memory(launch, t, lanes.trailing_zeros() as usize);
            add(launch, found, Who { lanes, ..here }, why, memory);
        }
        self.ask(warp, &r, bar, t, Who { lanes: good, ..here });
        good
    }
    /// The bits of an mbarrier after one lane's work, if it is right.
    fn judge(
        &mut self,
        kind: MbarKind,
        key: (u64, u64),
        old: u64,
        operand: Option<u64>,
        who: Who,
    ) -> Result<u64, Refusal> {
        let set_up = self.live.get(&key).copied();
        let refuse = |kind, what: String| Err(Refusal { kind, set_up, what });
        match (kind, set_up) {
            (MbarKind::Init, Some(_)) => {
                return refuse(Kind::MbarrierInitTwice, "sets up an mbarrier that is in use".into());
            }
            (MbarKind::Init, None) => _ = self.live.insert(key, who),
            (_, None) => return refuse(Kind::MbarrierNotInit, "uses an mbarrier that nothing has set up".into()),
            (MbarKind::Invalidate, Some(_)) => _ = self.live.remove(&key),
            (_, Some(_)) => {
                let n = State::read(old).excess();
                if n > 0 {
                    let what = format!("{n} bytes more have come to this mbarrier than its phase expects");
                    return refuse(Kind::MbarrierBytes, what);
                }
                return mbarrier::after(kind, old, operand)
                    .or_else(|text| refuse(Kind::MbarrierCount, format!("uses an mbarrier {text}")));
            }
        }
        // A count that can't be is the device's to refuse.
        Ok(mbarrier::after(kind, old, operand).unwrap_or(old))
    }
    /// Remembers what lanes ask in vain.
    fn ask(&mut self, warp: &Warp, r: &Reach<'_>, bar: &Mbarrier, t: &Touch, here: Who) {
        let MbarKind::Test { .. } = bar.kind else { return self.busy(here) };
        let asked = self.asked.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            let Some((region, at)) = t.at(r, l) else { return };
            let bits = region.load64(at);
            let phase = mbarrier::phase(bar, &warp.planes, l);
            let times = match asked[l] {
                _ if State::read(bits).passed(phase) => 0,
                a if (a.at, a.bits, a.phase, a.step) == (at, bits, phase, here.step) => a.times.saturating_add(1),
                _ => 1,
            };
            asked[l] = Asked { at, bits, phase, step: here.step, times };
        });
    }
    /// Lanes do something by which others may go on.
    pub fn busy(&mut self, here: Who) {
        if let Some(asked) = self.asked.get_mut(&(here.cta, here.warp)) {
            each(here.lanes, |l| asked[l].times = 0);
        }
    }
    /// If no lane of a CTA can go on, and some wait for mbarriers: these, by warp and place.
    pub fn stuck(&self, cta: u64, warps: &[Warp]) -> Option<Vec<Waiting>> {
        let mut waiting = Vec::new();
        for w in warps {
            let asked = self.asked.get(&(cta, w.index));
            let waits = |l: usize| asked.is_some_and(|a| a[l].times >= PATIENCE);
            let mut rest = 0;
            each(w.alive & !w.at_bar & !w.at_sync, |l| rest |= u32::from(waits(l)) << l);
            if rest != w.alive & !w.at_bar & !w.at_sync {
                return None;
            }
            while let (Some(asked), true) = (asked, rest != 0) {
                let first = asked[rest.trailing_zeros() as usize];
                let mut lanes = 0;
                each(rest, |l| lanes |= u32::from((asked[l].step, asked[l].at) == (first.step, first.at)) << l);
                rest &= !lanes;
                let what =
                    format!("the mbarrier at {:#x} of shared memory, {}", first.at, State::read(first.bits).missing());
                waiting.push(Waiting { who: Who { cta, warp: w.index, lanes, step: first.step }, what });
            }
        }
        (!waiting.is_empty()).then_some(waiting)
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.live.retain(|k, _| k.0 != cta);
        self.asked.retain(|k, _| k.0 != cta);
    }
}

fn add(launch: &Launch<'_>, found: &mut Found, who: Who, why: Refusal, memory: Memory) {
    found.add(launch, why.kind, who, why.set_up.map(|o| o.step), 0, || {
        let mut first = found::side(launch, "this operation", who);
        first.memory = Some(memory);
        let mut sides = vec![first];
        sides.extend(why.set_up.map(|o| found::side(launch, "set up here", o)));
        found::finding(why.kind, why.what, sides)
    });
}
