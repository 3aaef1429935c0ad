//! Registers and LDS of AMD's code that are used before the work that writes them was waited for.
//!
//! Loads write their registers, or LDS, when they complete, which an instruction waits for by counters. The
//! device completes every load at once, so this check keeps the work that hardware might still have under
//! way.
//!
//! # Invariants
//! - Work is complete here only if every device of the target has completed it.
//! - One wave's instructions concern only itself.

use prlx_isa::amdgpu::inst::Reg;
use prlx_trace::check::{Finding, Kind, Space};
use rustc_hash::FxHashMap;

use super::accesses::{self, WarpAccess};
use super::findings::{self, FindingLog, WarpStep};
use crate::code::{Counter, Timing};
use crate::exec::launch::Launch;
use crate::mem::access::each;

/// The most work of a wave that is kept: the counters hold at most 63.
const KEPT: usize = 256;

/// Work under way.
#[derive(Clone, Debug)]
struct Work {
    counters: Vec<Counter>,
    late: Vec<Reg>,
    in_order: bool,
    by: WarpStep,
    to_lds: bool,
    /// The step, by the count of the log, at which an access to its bytes was reported.
    reported: Option<u64>,
    /// Bytes of LDS that it writes: first, and one past the last.
    lds: Vec<(u64, u64)>,
}

/// The check of a launch.
#[derive(Debug, Default)]
pub struct WaitCheck {
    waves: FxHashMap<(u64, u32), Vec<Work>>,
}

impl WaitCheck {
    /// A wave is about to run an instruction.
    pub fn step(&mut self, launch: &Launch<'_>, log: &mut FindingLog, timing: &Timing, here: WarpStep) {
        let work = self.waves.entry((here.cta, here.warp)).or_default();
        for (reg, reads) in
            timing.reads.iter().map(|r| (r, true)).chain(timing.writes.iter().map(|r| (r, false)))
        {
            let Some(early) = work.iter().position(|w| w.late.contains(reg)) else { continue };
            // Loads that complete in order also write in order.
            let ordered = timing.in_order
                && work[early].in_order
                && timing.late.contains(reg)
                && timing.issues.iter().any(|c| work[early].counters.contains(c));
            if ordered {
                continue;
            }
            report(launch, log, here, &work[early], *reg, reads);
            // Once is enough.
            work.remove(early);
        }
        for &(counter, left) in &timing.waits {
            let mut counts: Vec<usize> =
                (0..work.len()).filter(|i| work[*i].counters.contains(&counter)).collect();
            let ordered = counts.iter().all(|i| work[*i].in_order);
            let complete = counts.len().saturating_sub(left as usize);
            counts.truncate(if left == 0 || ordered { complete } else { 0 });
            for i in counts.into_iter().rev() {
                work.remove(i);
            }
        }
        if !timing.issues.is_empty() {
            if work.len() >= KEPT {
                work.remove(0);
            }
            let (counters, late) = (timing.issues.clone(), timing.late.clone());
            let lds = Vec::new();
            let (in_order, to_lds) = (timing.in_order, timing.to_lds);
            work.push(Work { counters, late, in_order, by: here, to_lds, reported: None, lds });
        }
    }
    /// A half of the wave `warp` is about to access memory. `accesses` are those of its step.
    pub fn access(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: u32,
        here: WarpStep,
        accesses: &[WarpAccess],
    ) {
        let Some(work) = self.waves.get_mut(&(here.cta, warp)) else { return };
        let mut places: Vec<(u64, u64)> = Vec::new();
        for t in accesses {
            each(t.lanes, |l| {
                if accesses::space(t.space, t.addr.0[l]) == Space::Shared {
                    let at = accesses::within(t.space, t.addr.0[l]);
                    places.push((at, at + u64::from(t.bytes[l])));
                }
            });
        }
        let inst = |step: u32| launch.code.origin.get(step as usize);
        if let Some(own) = work.last_mut().filter(|w| w.to_lds && inst(w.by.step) == inst(here.step)) {
            // Only the stores of such a load access LDS.
            own.lds.append(&mut places);
            return;
        }
        let overlaps = |w: &Work| w.lds.iter().any(|a| places.iter().any(|b| a.0 < b.1 && b.0 < a.1));
        // Once is enough, for both halves of the wave.
        let now = log.now();
        let open = |w: &&mut Work| w.reported.is_none_or(|at| at == now) && overlaps(w);
        if let Some(early) = work.iter_mut().find(open) {
            early.reported = Some(now);
            report_lds(launch, log, here, early);
        }
    }
    /// Whether a wave has loads to LDS under way.
    pub fn loads_to_lds(&self, cta: u64, warp: u32) -> bool {
        self.waves.get(&(cta, warp)).is_some_and(|work| work.iter().any(|w| w.to_lds))
    }
    /// A CTA has ended.
    pub fn end(&mut self, cta: u64) {
        self.waves.retain(|(of, _), _| *of != cta);
    }
}

fn report(launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, work: &Work, reg: Reg, reads: bool) {
    log.add(launch, Kind::RegisterTooEarly, here, Some(work.by.step), 0, || {
        let lanes = launch.module.warp_lanes;
        let name = prlx_isa::amdgpu::Register::Word(reg).name(lanes);
        let verb = if reads { "reads" } else { "writes" };
        let sides = vec![
            findings::side(launch, "this instruction", here),
            findings::side(launch, "the load that was not waited for", work.by),
        ];
        let what = format!("{verb} register `{name}`, which a load may still write");
        let finding = findings::finding(Kind::RegisterTooEarly, what, sides);
        with_help(launch, finding, work)
    });
}

fn report_lds(launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, work: &Work) {
    log.add(launch, Kind::LdsTooEarly, here, Some(work.by.step), 0, || {
        let sides = vec![
            findings::side(launch, "this instruction", here),
            findings::side(launch, "the load that was not waited for", work.by),
        ];
        let what = "accesses bytes of LDS, which a load may still write".to_owned();
        with_help(launch, findings::finding(Kind::LdsTooEarly, what, sides), work)
    });
}

/// The finding with the instruction that waits for the work.
fn with_help(launch: &Launch<'_>, finding: Finding, work: &Work) -> Finding {
    let split = launch.module.target.starts_with("gfx12");
    let wait = work.counters.first().map_or("s_waitcnt", |c| c.wait(split));
    Finding { help: Some(format!("wait for it with `{wait}`")), ..finding }
}
