//! Which instructions have no meaning in warps of 64 lanes. This is the only place that says so.
//!
//! PTX is made for warps of 32 lanes. In the test mode with 64 lanes (`exec::wide`), `%laneid` is 0 to 63,
//! `WARP_SZ` is 64, and a barrier of the CTA counts warps of 64 threads. An instruction is refused if its
//! encoding has room for 32 lanes only: a mask of lanes in 32 bits, or a tile that 32 lanes hold.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Inst, Module, Operand};
use prlx_trace::WarpSize;

use crate::error::{EmuError, unsupported};

/// Checks that an instruction has a meaning in the warps of a module.
///
/// # Errors
/// If it has one in warps of 32 lanes only.
pub fn supported(module: &Module, inst: &Inst) -> Result<(), EmuError> {
    if WarpSize::of(module.warp_lanes.into()) != Some(WarpSize::W64) {
        return Ok(());
    }
    match opcode(inst).op.and_then(|op| operation(op, inst)) {
        Some(what) => Err(unsupported(format!("{what}, and a warp has 64 lanes here"))),
        None if inst.operands.iter().any(names_mask) => {
            Err(unsupported("a register of lanes has 32 bits, and a warp has 64 lanes here"))
        }
        None => Ok(()),
    }
}

/// Why an operation is bound to 32 lanes; `None` if it is not.
fn operation(op: Op, inst: &Inst) -> Option<&'static str> {
    match op {
        Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::Elect | Op::Activemask => {
            Some("its mask of lanes has 32 bits")
        }
        Op::Bar | Op::Barrier if opcode(inst).has("warp") => Some("its mask of lanes has 32 bits"),
        Op::Ldmatrix | Op::Stmatrix | Op::Movmatrix | Op::Mma | Op::Wmma | Op::Wgmma | Op::Tcgen05 => {
            Some("32 lanes hold its tile")
        }
        _ => None,
    }
}

/// Whether an operand reads a register that is a mask of lanes.
fn names_mask(operand: &Operand) -> bool {
    match operand {
        Operand::Special(name) => name.starts_with("%lanemask_"),
        Operand::Vector(parts) => parts.iter().any(names_mask),
        _ => false,
    }
}
