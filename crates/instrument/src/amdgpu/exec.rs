//! Where EXEC surely has all lanes of the wave, and how instructions change it.
//!
//! A forward analysis follows whether EXEC has all lanes, and which scalar registers hold a mask that has
//! them: `s_and_saveexec` saves EXEC, and `s_or` with the saved mask brings all lanes back.
//!
//! # Invariants
//! What is not known is not full.
//!
//! # Limitations
//! Masks that code keeps in lanes of vector registers or in memory are not followed.

use prlx_isa::amdgpu::Native;
use prlx_isa::amdgpu::inst::{Inst, Reg, Value};
use prlx_isa::view::{Class, Function, FunctionKind};

/// How an instruction changes EXEC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// Not at all.
    None,
    /// Lanes leave, and none comes.
    Narrower,
    /// Lanes come, and none leaves.
    Wider,
    /// In another way, or in one that is not known.
    Unknown,
}

/// Masks that have all lanes of the wave, each by a bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Masks(u128);

/// VCC and EXEC lie behind the scalar registers with numbers.
const VCC: u8 = 126;
const EXEC: u8 = 127;

impl Masks {
    fn has(self, mask: u8) -> bool {
        self.0 >> mask & 1 != 0
    }

    fn set(&mut self, mask: u8, full: bool) {
        self.0 = self.0 & !(1 << mask) | u128::from(full) << mask;
    }
}

/// What is known of EXEC in a function.
pub(super) struct Full {
    before: Vec<bool>,
    changes: Vec<Change>,
}

impl Full {
    /// Analyses a function whose waves have `lanes` lanes.
    pub(super) fn of(function: &Function, lanes: u32) -> Full {
        let mut before = vec![false; function.insts.len()];
        let changes = function.insts.iter().map(|inst| {
            if inst.class == Class::Call {
                return Change::Unknown;
            }
            inst.semantics.native.get::<Native>().map_or(Change::None, |native| change(&native.inst, lanes))
        });
        let changes: Vec<Change> = changes.collect();
        let mut at_begin: Vec<Option<Masks>> = vec![None; function.blocks.len()];
        let mut waiting = Vec::new();
        if let Some(first) = at_begin.first_mut() {
            let mut masks = Masks(0);
            masks.set(EXEC, function.kind == FunctionKind::Kernel);
            *first = Some(masks);
            waiting.push(0);
        }
        while let Some(b) = waiting.pop() {
            let Some(mut now) = at_begin[b] else { continue };
            let block = &function.blocks[b];
            for at in block.insts.clone().map(|at| at as usize) {
                before[at] = now.has(EXEC);
                let inst = &function.insts[at];
                match inst.semantics.native.get::<Native>() {
                    _ if inst.class == Class::Call => now = Masks(0),
                    Some(native) => step(&mut now, &native.inst, lanes),
                    None => {}
                }
            }
            for succ in &block.succs {
                let was = at_begin[succ.index()];
                let after = was.map_or(now, |was| Masks(was.0 & now.0));
                if was != Some(after) {
                    at_begin[succ.index()] = Some(after);
                    waiting.push(succ.index());
                }
            }
        }
        Full { before, changes }
    }

    /// Whether EXEC has all lanes before instruction `at`.
    pub(super) fn before(&self, at: usize) -> bool {
        self.before.get(at).copied().unwrap_or(false)
    }

    /// How instruction `at` changes EXEC.
    pub(super) fn change(&self, at: usize) -> Change {
        self.changes.get(at).copied().unwrap_or(Change::Unknown)
    }
}

/// The mask that an operand is.
fn mask(value: Value, lanes: u32) -> Option<u8> {
    let regs = value.registers();
    if regs.len() != lanes as usize / 32 {
        return None;
    }
    match regs.first()? {
        Reg::S(n) => Some(*n),
        Reg::VccLo => Some(VCC),
        Reg::ExecLo => Some(EXEC),
        _ => None,
    }
}

/// The operation on whole masks, by its stem: `s_and` of `s_and_b64` for 64 lanes.
fn stem(inst: &Inst, lanes: u32) -> &str {
    let end = if lanes == 64 { "_b64" } else { "_b32" };
    inst.name().strip_suffix(end).unwrap_or_default()
}

fn change(inst: &Inst, lanes: u32) -> Change {
    let Some(registers) = inst.registers() else { return Change::Unknown };
    if !registers.writes.iter().any(|reg| matches!(reg, Reg::ExecLo | Reg::ExecHi)) {
        return Change::None;
    }
    // A lane that is not in EXEC has no bit in the result of a comparison.
    if inst.name().starts_with("v_cmpx") {
        return Change::Narrower;
    }
    let operands = inst.operands();
    let is_exec = |at: usize| operands.get(at).is_some_and(|o| mask(o.value, lanes) == Some(EXEC));
    match stem(inst, lanes) {
        "s_and_saveexec"
        | "s_andn1_saveexec"
        | "s_and_not0_saveexec"
        | "s_andn1_wrexec"
        | "s_and_not0_wrexec" => Change::Narrower,
        "s_or_saveexec" | "s_orn1_saveexec" | "s_or_not0_saveexec" => Change::Wider,
        "s_and" if is_exec(0) && (is_exec(1) || is_exec(2)) => Change::Narrower,
        "s_andn2" | "s_and_not1" if is_exec(0) && is_exec(1) => Change::Narrower,
        "s_or" if is_exec(0) && (is_exec(1) || is_exec(2)) => Change::Wider,
        "s_mov" if is_exec(0) && is_all(operands.get(1).map(|o| o.value)) => Change::Wider,
        _ => Change::Unknown,
    }
}

/// Whether an operand has the bits of all lanes.
fn is_all(value: Option<Value>) -> bool {
    value == Some(Value::Integer(-1))
}

/// What is full behind an instruction.
fn step(masks: &mut Masks, inst: &Inst, lanes: u32) {
    let Some(registers) = inst.registers() else {
        *masks = Masks(0);
        return;
    };
    let before = *masks;
    for reg in &registers.writes {
        match reg {
            Reg::S(n) => {
                masks.set((*n).min(VCC - 1), false);
                // It may be the second one of a pair.
                if lanes == 64 {
                    masks.set(n.saturating_sub(1), false);
                }
            }
            Reg::VccLo | Reg::VccHi => masks.set(VCC, false),
            Reg::ExecLo | Reg::ExecHi => masks.set(EXEC, false),
            _ => {}
        }
    }
    let operands = inst.operands();
    let number = |at: usize| operands.get(at).and_then(|o| mask(o.value, lanes));
    let full = |at: usize| {
        operands.get(at).is_some_and(|o| is_all(Some(o.value)))
            || number(at).is_some_and(|mask| before.has(mask))
    };
    let exec = before.has(EXEC);
    match stem(inst, lanes) {
        "s_mov" => {
            if let Some(to) = number(0) {
                masks.set(to, full(1));
            }
        }
        "s_or" => {
            if let Some(to) = number(0) {
                masks.set(to, full(1) || full(2));
            }
        }
        "s_and" => {
            if let Some(to) = number(0) {
                masks.set(to, full(1) && full(2));
            }
        }
        stem if stem.ends_with("_saveexec") => {
            masks.set(
                EXEC,
                match stem {
                    "s_and_saveexec" => exec && full(1),
                    "s_or_saveexec" => exec || full(1),
                    _ => false,
                },
            );
            if let Some(to) = number(0) {
                masks.set(to, exec);
            }
        }
        _ => {}
    }
}
