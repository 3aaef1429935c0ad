//! Address operands.

use prlx_isa::ptx::opcode;
use prlx_isa::view::{Base, FunctionKind, Inst, Operand, Space};

use super::binder::{Binder, bits};
use crate::code::{AddrBase, AddrSpace};
use crate::error::{EmuError, unsupported};

/// The state space, the register and the offset of an address operand.
///
/// # Errors
/// When the operand is no address.
pub fn address(
    b: &mut Binder<'_>,
    operand: &Operand,
    inst: &Inst,
) -> Result<(AddrSpace, AddrBase, i64), EmuError> {
    let kernel = b.function().kind == FunctionKind::Kernel;
    let params = if kernel && !opcode(inst).has("param::func") || opcode(inst).has("param::entry") {
        AddrSpace::Params
    } else {
        AddrSpace::Local
    };
    let addr_space = match inst.space {
        Space::Generic | Space::Reg => AddrSpace::Generic,
        Space::Global | Space::Const => AddrSpace::Global,
        Space::Shared => AddrSpace::Shared,
        Space::SharedCluster => AddrSpace::Cluster,
        Space::Local => AddrSpace::Local,
        Space::Param => params,
    };
    Ok(match operand {
        Operand::Address(Base::Reg(r), offset) => {
            let at = b.reg(*r);
            let base = if bits(b.reg_type(*r)) == 64 { AddrBase::W64(at) } else { AddrBase::W32(at) };
            (addr_space, base, *offset)
        }
        Operand::Address(Base::Symbol(s), offset) | Operand::Symbol(s, offset) => {
            let (at, space) = b.address(*s)?;
            let addr_space = match space {
                Space::Global | Space::Const => AddrSpace::Global,
                Space::Shared | Space::SharedCluster => AddrSpace::Shared,
                Space::Param if b.params.contains_key(s) => AddrSpace::Params,
                _ => AddrSpace::Local,
            };
            match at {
                Some(a) => (addr_space, AddrBase::None, (a as i64).wrapping_add(*offset)),
                None => (addr_space, AddrBase::W64(b.local_address(*s, 0)), *offset),
            }
        }
        Operand::Address(Base::Absolute, offset) => (addr_space, AddrBase::None, *offset),
        _ => return Err(unsupported("its address is not understood")),
    })
}
