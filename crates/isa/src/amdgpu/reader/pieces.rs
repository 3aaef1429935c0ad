//! The operands of an instruction, before it is known which forms of scalar registers the function has.
//!
//! # Invariants
//! - Every register that [`Inst::registers`](crate::amdgpu::inst::Inst::registers) lists is in a piece. EXEC
//!   of vector instructions is none: it is their guard.
//!
//! # Limitations
//! - Reads of MODE are left out: only `s_setreg` changes it.
//! - Instructions whose registers are unknown have no pieces but their immediate operands.

use crate::amdgpu::inst::table::Class;
use crate::amdgpu::inst::table::{Immediate, Kind, Role as SlotRole, Slot, Type};
use crate::amdgpu::inst::{Encoding, Field, Inst, Operand, Reg, Value};
use crate::view::{self, Role};

/// What an operand is.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Piece {
    /// A constant, or a source that is no register.
    Constant(view::Operand),
    /// The target of a branch or call by offset.
    Target,
    /// Registers as numbers. SCC is among them.
    Words(Vec<Reg>),
    /// Scalar registers as a mask of lanes, by their first one.
    Mask(Reg),
    /// Scalar registers in whatever form the result is read.
    Either(Vec<Reg>),
}

/// Whether EXEC decides which lanes run an instruction.
pub(super) fn is_guarded(inst: &Inst) -> bool {
    let vector = matches!(
        inst.class(),
        Some(
            Class::Valu
                | Class::Transcendental
                | Class::VectorMemory
                | Class::Lds
                | Class::Image
                | Class::Export
        )
    );
    // These read or write one lane whatever EXEC says; matrix products of CDNA use all lanes.
    vector && !matches!(inst.name(), "v_readlane_b32" | "v_readfirstlane_b32" | "v_writelane_b32" | "v_nop")
}

/// Whether an operation treats each bit of a mask alone, and nothing else reads its sources: then a mask is
/// read as a mask if its result is read as one.
pub(super) fn is_transparent(inst: &Inst) -> bool {
    let suffix = if inst.lanes() == 64 { "_b64" } else { "_b32" };
    let Some(stem) = inst.name().strip_prefix("s_").and_then(|name| name.strip_suffix(suffix)) else {
        return false;
    };
    let stem = stem.strip_suffix("_saveexec").or_else(|| stem.strip_suffix("_wrexec")).unwrap_or(stem);
    const STEMS: [&str; 18] = [
        "mov", "cmov", "cselect", "not", "and", "or", "xor", "nand", "nor", "xnor", "andn1", "andn2", "orn1",
        "orn2", "and_not0", "and_not1", "or_not0", "or_not1",
    ];
    STEMS.contains(&stem)
}

/// Whether it is a branch on all lanes of VCC.
pub(super) fn is_vote(inst: &Inst) -> bool {
    matches!(inst.name(), "s_cbranch_vccz" | "s_cbranch_vccnz")
}

/// The operands in the order of the text, then those that the text does not name.
pub(super) fn pieces(inst: &Inst) -> Vec<(Piece, Role)> {
    let Some(mut rest) = inst.registers() else {
        let constants = inst.operands().into_iter().filter(|o| o.value.registers().is_empty());
        return constants.map(|o| (Piece::Constant(constant(&o)), Role::Other)).collect();
    };
    let transparent = is_transparent(inst);
    let mut out = Vec::new();
    let writes = rest.writes.clone();
    let mut vcc_written = writes.contains(&Reg::VccLo);
    let (mut read, mut written) = (Vec::new(), Vec::new());
    let has_inputs = !matches!(
        inst.class(),
        Some(Class::Wait | Class::End | Class::Control | Class::Message | Class::Branch | Class::Barrier)
    );
    for operand in inst.operands() {
        let Operand { slot, value } = operand;
        if slot.field == Field::Addr && inst.encoding() == Some(Encoding::Scratch) && !inst.scratch_vector() {
            continue;
        }
        let regs = value.registers();
        let role = match slot.role {
            // The text names VCC, which the operation writes; a second VCC is read.
            SlotRole::Source if slot.kind == Kind::Vcc && std::mem::take(&mut vcc_written) => Role::Def,
            SlotRole::Source if slot.field == Field::Vdata && is_returned(&regs, &writes) => Role::UseDef,
            SlotRole::Source if is_address(slot) => Role::Addr,
            SlotRole::Source if !has_inputs && regs.is_empty() => Role::Other,
            SlotRole::Source => Role::Use,
            SlotRole::Both => Role::UseDef,
            SlotRole::Result | SlotRole::Returned if inst.keeps_a_part(slot, value) => Role::UseDef,
            SlotRole::Result | SlotRole::Returned => Role::Def,
        };
        if role != Role::Def {
            read.extend(&regs);
        }
        if matches!(role, Role::Def | Role::UseDef) {
            written.extend(&regs);
        }
        let scalar = regs.first().is_some_and(|reg| !matches!(reg, Reg::V(_) | Reg::A(_)));
        let piece = match (slot.kind, regs.first()) {
            (Kind::Immediate(Immediate::Label), _) => {
                out.push((Piece::Target, Role::Target));
                continue;
            }
            (_, None) if role == Role::Def => Piece::Constant(view::Operand::Sink),
            (_, None) => Piece::Constant(constant(&operand)),
            (Kind::Mask | Kind::Vcc | Kind::Exec, Some(first)) => Piece::Mask(*first),
            // "Is zero" of a whole mask is no mask.
            _ if transparent && scalar && !is_condition(value) => Piece::Either(regs),
            _ => Piece::Words(regs),
        };
        out.push((piece, role));
    }
    rest.reads.retain(|reg| !read.contains(reg) && *reg != Reg::Mode);
    rest.writes.retain(|reg| !written.contains(reg));
    let memory = inst.access().is_some() || inst.class() == Some(Class::VectorMemory);
    implicit(inst, transparent, &rest.writes, Role::Def, &mut out);
    implicit(inst, transparent, &rest.reads, if memory { Role::Addr } else { Role::Use }, &mut out);
    out
}

/// Appends registers that no operand names, neighbours as one piece.
fn implicit(inst: &Inst, transparent: bool, regs: &[Reg], role: Role, out: &mut Vec<(Piece, Role)>) {
    let guarded = is_guarded(inst);
    let branch = inst.class() == Some(Class::Branch);
    let mut run: Vec<Reg> = Vec::new();
    let mut flush = |run: &mut Vec<Reg>| {
        if !run.is_empty() {
            out.push((Piece::Words(std::mem::take(run)), role));
        }
    };
    let mut masks = Vec::new();
    for reg in regs {
        match reg {
            Reg::ExecLo | Reg::ExecHi if role != Role::Def && guarded => {}
            Reg::ExecHi | Reg::VccHi if inst.lanes() == 64 => {}
            // A branch's condition is its guard.
            Reg::Scc | Reg::ExecLo | Reg::VccLo if branch => {}
            Reg::ExecLo if transparent => masks.push(Piece::Either(Reg::ExecLo.mask_words(inst.lanes()))),
            Reg::ExecLo => masks.push(Piece::Mask(Reg::ExecLo)),
            Reg::VccLo => masks.push(Piece::Mask(Reg::VccLo)),
            reg => {
                if run.last().is_some_and(|last| last.next() != Some(*reg)) {
                    flush(&mut run);
                }
                run.push(*reg);
            }
        }
    }
    flush(&mut run);
    out.extend(masks.into_iter().map(|mask| (mask, role)));
}

/// Whether an atomic operation of buffers returns into the register of its data.
fn is_returned(regs: &[Reg], writes: &[Reg]) -> bool {
    !regs.is_empty() && regs.iter().all(|reg| writes.contains(reg))
}

fn is_address(slot: &Slot) -> bool {
    matches!(
        slot.field,
        Field::Addr | Field::Vaddr | Field::Saddr | Field::Sbase | Field::Srsrc | Field::Soffset
    )
}

fn is_condition(value: Value) -> bool {
    matches!(value, Value::Named("src_vccz" | "src_execz" | "src_scc", _))
}

/// An operand without registers.
fn constant(operand: &Operand) -> view::Operand {
    let ty = match operand.slot.kind {
        Kind::Source { ty, .. } => ty,
        _ => Type::B32,
    };
    match operand.value {
        Value::Integer(n) => view::Operand::Int(n.into()),
        Value::Float(code) => inline_float(code, ty),
        Value::Literal(bits) => match ty {
            Type::F64 => view::Operand::F64(u64::from(bits) << 32),
            Type::F32 => view::Operand::F32(bits),
            _ => view::Operand::Int(bits.cast_signed().into()),
        },
        Value::Immediate(bits) if operand.slot.field == Field::Simm16 => {
            let [low, high, ..] = bits.to_le_bytes();
            view::Operand::Int(i16::from_le_bytes([low, high]).into())
        }
        Value::Immediate(bits) => view::Operand::Int(bits.into()),
        Value::Named("null", _) => view::Operand::Int(0),
        Value::Named(name, _) => view::Operand::Special(name.to_owned()),
        Value::Registers { .. } | Value::Half { .. } => view::Operand::Special("register".to_owned()),
    }
}

/// A floating-point constant by its code, in the format of the source's type.
fn inline_float(code: u8, ty: Type) -> view::Operand {
    // 1/(2π) is rounded in each format (RDNA3 ISA, "Scalar Operands").
    let (value, half, brain, single, double) = match code {
        240 => (0.5, 0x3800, 0x3f00, 0, 0),
        241 => (-0.5, 0xb800, 0xbf00, 0, 0),
        242 => (1.0, 0x3c00, 0x3f80, 0, 0),
        243 => (-1.0, 0xbc00, 0xbf80, 0, 0),
        244 => (2.0, 0x4000, 0x4000, 0, 0),
        245 => (-2.0, 0xc000, 0xc000, 0, 0),
        246 => (4.0, 0x4400, 0x4080, 0, 0),
        247 => (-4.0, 0xc400, 0xc080, 0, 0),
        _ => (0.0, 0x3118, 0x3e22, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
    };
    match ty {
        Type::F64 | Type::B64 => view::Operand::F64(if code == 248 { double } else { f64::to_bits(value) }),
        Type::F16 | Type::B16 | Type::V2F16 => view::Operand::Int(half),
        Type::Bf16 | Type::V2Bf16 => view::Operand::Int(brain),
        _ if code == 248 => view::Operand::F32(single),
        #[allow(clippy::cast_possible_truncation, reason = "the value is exact in both formats")]
        _ => view::Operand::F32((value as f32).to_bits()),
    }
}

/// Whether all registers are vector registers.
pub(super) fn are_vectors(regs: &[Reg]) -> bool {
    regs.iter().all(|reg| matches!(reg, Reg::V(_) | Reg::A(_)))
}
