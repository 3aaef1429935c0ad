//! The lanes of a warp that stay converged: one decoder walks them all.
//!
//! The decoder has the registers of one lane. Registers that can differ between lanes are evaluated here for
//! every lane. A decision in which the lanes disagree ends the walk with an error.

use prlx_trace::kernel::{Alu, Arg, End, Guard, Scalar, Special, Step};
use prlx_trace::{FuncId, Lane, LaneMask, Launch, Slot, WarpId};

use super::alu;
use super::checked_module::{CheckedFunction, CheckedModule, can_be_omitted};
use super::special_registers::SpecialRegisters;

/// The state of all lanes of a converged warp, as far as it can differ between them.
#[derive(Clone, Debug)]
pub(super) struct ConvergedLanes {
    pub mask: LaneMask,
    /// By function and register: whether it has a value for each lane.
    varies: Vec<Vec<bool>>,
    /// By lane of the mask.
    specials: Vec<SpecialRegisters>,
    /// By register of all open calls, and by lane of the mask. Only registers that vary are kept up to date.
    values: Vec<Vec<u64>>,
}

/// A function, and where the registers of its call begin.
pub(super) type Call = (FuncId, usize);

impl ConvergedLanes {
    pub fn new(program: &CheckedModule<'_>, launch: &Launch, warp: WarpId, mask: LaneMask) -> ConvergedLanes {
        ConvergedLanes {
            mask,
            varies: program.functions.iter().map(|f| varying(program, f)).collect(),
            specials: mask.lanes().map(|l: Lane| SpecialRegisters::new(launch, warp, l)).collect(),
            values: Vec::new(),
        }
    }

    /// Changes the number of registers. New ones are 0.
    pub fn resize(&mut self, registers: usize) {
        self.values.resize(registers, vec![0; self.specials.len()]);
    }

    /// Whether a register has a value for each lane.
    pub fn varies(&self, (function, _): Call, slot: Slot) -> bool {
        self.varies[function.index()][slot.index()]
    }

    /// The value of a register in a lane; `own`: the registers of the lane that is decoded.
    fn value(&self, call: Call, slot: Slot, lane: usize, own: &[u64]) -> u64 {
        let at = call.1 + slot.index();
        if self.varies(call, slot) { self.values[at][lane] } else { own[at] }
    }

    /// Whether all lanes agree with the decoded one in these bits of a register.
    pub fn agree(&self, call: Call, slot: Slot, bits: u64, own: &[u64]) -> bool {
        let at = call.1 + slot.index();
        !self.varies(call, slot) || self.values[at].iter().all(|v| (v ^ own[at]) & bits == 0)
    }

    /// Sets a register in all lanes.
    pub fn set(&mut self, call: Call, slot: Slot, value: u64) {
        if self.varies(call, slot) {
            self.values[call.1 + slot.index()].fill(value);
        }
    }

    /// Evaluates an operation whose result varies. `other`: what arguments that are no
    /// registers are, for the decoded lane. `None`: it is undefined.
    pub fn evaluate(
        &mut self,
        call: Call,
        to: Slot,
        (op, ty, args): (Alu, Scalar, &[Arg]),
        guard: Option<Guard>,
        own: &[u64],
        other: impl Fn(&Arg) -> Option<u64>,
    ) -> Option<()> {
        for lane in 0..self.specials.len() {
            let holds = |g: Guard| (self.value(call, g.slot, lane, own) & 1 == 1) != g.negate;
            if !guard.is_none_or(holds) {
                continue;
            }
            let mut values = [0; 4];
            for (value, arg) in values.iter_mut().zip(args) {
                *value = match arg {
                    Arg::Slot(s) => self.value(call, *s, lane, own),
                    Arg::Special(s) => self.specials[lane].0[*s as usize],
                    arg => other(arg)?,
                };
            }
            let result = alu::eval(op, ty, &values[..args.len().min(4)])?;
            self.values[call.1 + to.index()][lane] = result;
        }
        Some(())
    }
}

/// The registers of a function whose values can differ between the lanes of a warp, and on which control flow
/// depends.
fn varying(program: &CheckedModule<'_>, f: &CheckedFunction<'_>) -> Vec<bool> {
    let mut varies = differing(f);
    for (varies, steers) in varies.iter_mut().zip(steering(program, f)) {
        *varies &= steers;
    }
    varies
}

/// The registers on which control flow depends.
fn steering(program: &CheckedModule<'_>, f: &CheckedFunction<'_>) -> Vec<bool> {
    let mut steers = vec![false; f.function.slots as usize];
    let mut mark = |slot: Slot| !std::mem::replace(&mut steers[slot.index()], true);
    for block in &f.function.blocks {
        for step in &block.steps {
            let guard = match step {
                Step::Let { .. } => None,
                Step::Decide { site, slot, guard } => {
                    if can_be_omitted(program, *site) {
                        mark(*slot);
                    }
                    *guard
                }
                Step::Visit { guard, .. } | Step::Read { guard, .. } | Step::Call { guard, .. } => *guard,
            };
            guard.into_iter().for_each(|g| _ = mark(g.slot));
        }
        match &block.end {
            End::Branch { guard, .. } => _ = mark(guard.slot),
            End::Switch { index, .. } => _ = mark(*index),
            End::Jump(_) | End::Return | End::Exit => {}
        }
    }
    loop {
        let mut changed = false;
        for step in f.function.blocks.iter().flat_map(|b| &b.steps) {
            let Step::Let { to, args, guard, .. } = step else { continue };
            if !steers[to.index()] {
                continue;
            }
            let args = args.iter().filter_map(|a| if let Arg::Slot(s) = a { Some(*s) } else { None });
            for slot in args.chain(guard.map(|g| g.slot)) {
                changed |= !std::mem::replace(&mut steers[slot.index()], true);
            }
        }
        if !changed {
            return steers;
        }
    }
}

/// The registers of a function whose values can differ between the lanes of a warp.
fn differing(f: &CheckedFunction<'_>) -> Vec<bool> {
    let mut varies = vec![false; f.function.slots as usize];
    let steps = || f.function.blocks.iter().flat_map(|b| &b.steps);
    loop {
        let mut changed = false;
        for step in steps() {
            let Step::Let { to, args, guard, .. } = step else { continue };
            let differs = |arg: &Arg| match arg {
                Arg::Slot(s) => varies[s.index()],
                Arg::Special(s) => by_lane(*s),
                Arg::Const(_) | Arg::Param { .. } => false,
            };
            let depends = args.iter().any(differs) || guard.is_some_and(|g| varies[g.slot.index()]);
            if depends && !varies[to.index()] {
                varies[to.index()] = true;
                changed = true;
            }
        }
        if !changed {
            return varies;
        }
    }
}

/// Whether a special register can differ between the lanes of a warp.
fn by_lane(s: Special) -> bool {
    use Special::{CtaidX, CtaidY, CtaidZ, NctaidX, NctaidY, NctaidZ, NtidX, NtidY, NtidZ, WarpSize};
    !matches!(s, CtaidX | CtaidY | CtaidZ | NctaidX | NctaidY | NctaidZ | NtidX | NtidY | NtidZ | WarpSize)
}
