//! What AMD's operations do, in the words of the neutral view.

use super::calls::Destination;
use crate::amdgpu::inst::table::{Access as Direction, Class as Kind};
use crate::amdgpu::inst::{Encoding, Field, Inst};
use crate::view::{Access, Barrier, Class, Effect, Participants, Semantics, Space};

/// What the mnemonic says of an instruction.
pub(super) fn of(inst: &Inst, destination: Option<&Destination>) -> Semantics {
    let class = class(inst, destination);
    Semantics {
        opcode: opcode(inst),
        class,
        space: space(inst),
        effect: effect(inst, class),
        ..Semantics::default()
    }
}

/// The mnemonic as it is printed.
fn opcode(inst: &Inst) -> String {
    let text = inst.print();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn class(inst: &Inst, destination: Option<&Destination>) -> Class {
    let Some(kind) = inst.class() else { return Class::Opaque };
    let name = inst.name();
    match kind {
        Kind::Salu | Kind::Valu | Kind::Transcendental => Class::Integer,
        Kind::Matrix => Class::Matrix,
        Kind::ScalarMemory | Kind::VectorMemory | Kind::Lds => match inst.access() {
            Some(Direction::Load) => Class::Load,
            Some(Direction::Store) => Class::Store,
            Some(Direction::Atomic) => Class::Atomic,
            None => Class::Hint,
        },
        Kind::Image => Class::Texture,
        Kind::Export | Kind::Message | Kind::Control
            if name == "s_trap" && inst.get(Field::Simm16) != DEBUG =>
        {
            Class::Exit
        }
        Kind::Export | Kind::Message | Kind::Control => Class::Hint,
        Kind::Wait | Kind::Barrier => Class::Sync,
        Kind::Branch if name == "s_setpc_b64" && destination == Some(&Destination::Caller) => Class::Return,
        Kind::Branch => Class::Branch,
        Kind::Call => Class::Call,
        Kind::End => Class::Exit,
    }
}

/// The trap of a debugger, after which the wave goes on (LLVM, User Guide for AMDGPU Backend, "Trap Handler
/// ABI").
const DEBUG: u32 = 3;

/// Whether control can go anywhere but to the next instruction.
pub(super) fn ends_block(inst: &Inst) -> bool {
    matches!(inst.class(), Some(Kind::Branch | Kind::End))
        || inst.name() == "s_trap" && inst.get(Field::Simm16) != DEBUG
}

/// Whether the instruction is a branch of which nothing is known, or words that may be one.
pub(super) fn may_branch(inst: &Inst) -> bool {
    let name = inst.name();
    let scalar = inst.is_opaque() && inst.words().first().is_some_and(|word| word >> 30 == 2);
    scalar
        || name.starts_with("s_rfe")
        || name.starts_with("s_cbranch_cdbg")
        || name.starts_with("s_subvector_loop")
        || matches!(name, "s_cbranch_g_fork" | "s_cbranch_i_fork" | "s_cbranch_join" | "s_setvskip")
}

fn space(inst: &Inst) -> Space {
    match inst.encoding() {
        Some(Encoding::Ds) => Space::Shared,
        Some(Encoding::Global | Encoding::Smem | Encoding::Mubuf | Encoding::Mtbuf) => Space::Global,
        Some(Encoding::Scratch) => Space::Local,
        _ => Space::Generic,
    }
}

fn effect(inst: &Inst, class: Class) -> Effect {
    match class {
        Class::Load | Class::Store | Class::Atomic => Effect::Access(Access {
            reads: class != Class::Store,
            writes: class != Class::Load,
            element: Some(4),
            elements: inst.access_bytes().unwrap_or(4) / 4,
            ..Access::default()
        }),
        Class::Sync if inst.name() == "s_barrier" => Effect::Barrier(Barrier {
            participants: Participants::Cta,
            arrives: true,
            waits: true,
            converged: true,
        }),
        Class::Exit if inst.name() == "s_trap" => Effect::Trap,
        _ if inst.name().starts_with("s_sleep") => Effect::Sleep,
        _ => Effect::Plain,
    }
}
