//! What a probe program sees of machine code.
//!
//! Tracepoints name operations of PTX. An instruction of machine code has its own opcode, which tracepoints
//! can name too (`inst:global_load_dword`), and other names
//! ([`Semantics::names`](prlx_isa::view::Semantics::names)): what PTX calls the same operation. So one
//! program runs on both.
//!
//! # Limitations
//! A FLAT instruction of AMD's may access global, LDS or scratch memory. It matches no tracepoint that names
//! a space.

use prlx_isa::amdgpu::Native;
use prlx_isa::view::{Inst, Role};

/// The instruction of the machine, if the code is AMD's.
pub(super) fn native(inst: &Inst) -> Option<&Native> {
    inst.semantics.native.get::<Native>()
}

/// Whether an instruction of the view stands for none of the machine, as those for registers at the entry.
pub(super) fn is_added(inst: &Inst) -> bool {
    inst.semantics.native.is_none()
}

/// Whether an instruction of the view stands for the registers that nothing has written at a kernel's entry.
pub(super) fn is_undefined(inst: &Inst) -> bool {
    is_added(inst) && inst.semantics.opcode == "entry" && !inst.roles.contains(&Role::Use)
}
