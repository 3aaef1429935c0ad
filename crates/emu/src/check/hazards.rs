//! Instructions of AMD's code that come too soon after others, where hardware does not wait by itself
//! ([`prlx_isa::amdgpu::hazards`]).
//!
//! Each wave keeps the instructions that it executed last. An instruction that should have waited for one of
//! them is a finding with both places, what is needed, and what was there.
//!
//! # Invariants
//! - Only executed instructions count, in the order in which their wave executed them.
//!
//! # Limitations
//! - The rules are those of LLVM 22, which may wait for more than hardware needs.

use prlx_isa::amdgpu::hazards::{Code, Early, Executed};
use prlx_isa::amdgpu::inst::Inst;
use prlx_isa::amdgpu::{Native, Target};
use prlx_trace::check::{Finding, Kind};
use rustc_hash::FxHashMap;

use super::findings::{self, FindingLog, WarpStep};
use crate::exec::launch::Launch;

/// The check of a launch.
pub struct HazardCheck {
    /// The machine instructions, in the order of their first steps.
    code: Code,
    waves: FxHashMap<(u64, u32), Executed>,
}

impl std::fmt::Debug for HazardCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HazardCheck").field("waves", &self.waves.len()).finish_non_exhaustive()
    }
}

impl HazardCheck {
    /// The check of a kernel of AMD's whose target has hazards.
    pub fn new(launch: &Launch<'_>) -> Option<HazardCheck> {
        let insts: Vec<&Inst> =
            launch.code.natives.iter().map(|step| inst(launch, *step)).collect::<Option<_>>()?;
        let target: Target = insts.first()?.target();
        let lanes = if launch.module.warp_lanes == 32 { 32 } else { 64 };
        Code::has_hazards(target).then(|| HazardCheck {
            code: Code::executed(target, lanes, insts.into_iter()),
            waves: FxHashMap::default(),
        })
    }
    /// A wave is about to run a step.
    pub fn step(&mut self, launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep) {
        let natives = &launch.code.natives;
        let Ok(at) = natives.binary_search(&here.step) else { return };
        let wave = self.waves.entry((here.cta, here.warp)).or_default();
        if let Some(early) = wave.step(&self.code, at) {
            report(launch, log, here, &early);
        }
    }
    /// A CTA has ended.
    pub fn end(&mut self, cta: u64) {
        self.waves.retain(|(of, _), _| *of != cta);
    }
}

/// The machine instruction that begins with a step.
fn inst<'a>(launch: &Launch<'a>, step: u32) -> Option<&'a Inst> {
    let (func, inst) = launch.code.origin.get(step as usize)?;
    let inst = launch.module.functions.get(func.index())?.insts.get(inst.index())?;
    inst.semantics.native.get::<Native>().map(|native| &native.inst)
}

fn report(launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, early: &Early) {
    let before = early.before.and_then(|at| launch.code.natives.get(at).copied());
    log.add(launch, Kind::Hazard, here, before, 0, || {
        let mut sides = vec![findings::side(launch, "this instruction", here)];
        sides.extend(before.map(|step| {
            findings::side(launch, "the instruction that it must wait for", WarpStep { step, ..here })
        }));
        let states = |n: u8| if n == 1 { "1 wait state".to_owned() } else { format!("{n} wait states") };
        let what = match early.states {
            Some((needed, had)) => {
                format!("comes too early: {}, which needs {} between, not {had}", early.what, states(needed))
            }
            None => format!("comes too early: {}", early.what),
        };
        let help = Some(format!("insert `{}` before this instruction", early.remedy));
        Finding { help, ..findings::finding(Kind::Hazard, what, sides) }
    });
}
