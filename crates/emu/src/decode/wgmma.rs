//! Decoding of `wgmma`.

use prlx_isa::ptx::opcode;
use prlx_isa::view::{Inst, Operand, Type};

use super::binder::Binder;
use super::matrix::{dimensions, list};
use crate::code::{Op, WarpOp, WarpOpKind, Wgmma, WgmmaA, WgmmaStep};
use crate::error::{EmuError, unsupported};

/// `wgmma` (PTX ISA, Asynchronous Warpgroup-Level Matrix Instructions).
pub fn wgmma(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    let what = match () {
        () if f.has("fence") => WgmmaStep::Fence,
        () if f.has("commit_group") => WgmmaStep::Commit,
        () if f.has("wait_group") => {
            let Some(Operand::Int(n)) = inst.operands.first() else {
                return Err(unsupported("its count is not a constant"));
            };
            WgmmaStep::Wait(u32::try_from(*n).map_err(|_| unsupported("its count is negative"))?)
        }
        () if f.has("sp") => return Err(unsupported("sparse products are not implemented")),
        () if f.has("mma_async") => {
            let product = product(b, inst)?;
            b.code.products.push(product);
            WgmmaStep::Begin(b.code.products.len() as u32 - 1)
        }
        () => return Err(unsupported("it is not implemented")),
    };
    let kind = WarpOpKind::Wgmma(what);
    b.code.warp_ops.push(WarpOp { kind, members: None, dst: 0, pred: None, src: [0; 3], flag: false });
    let at = b.code.warp_ops.len() as u32 - 1;
    b.emit_main(Op::Exchange(at));
    Ok(())
}

fn product(b: &mut Binder<'_>, inst: &Inst) -> Result<Wgmma, EmuError> {
    use Type::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
    let f = opcode(inst);
    let (m, n, k) =
        f.mods.iter().find_map(|m| dimensions(m)).ok_or_else(|| unsupported("its shape is missing"))?;
    let [d, a, bt] = f.types[..] else { return Err(unsupported("its types are not understood")) };
    let float = match (d, a, bt) {
        (F16 | F32, F16, F16)
        | (F32, Bf16, Bf16)
        | (F32, Tf32, Tf32)
        | (F16 | F32, E4m3 | E5m2, E4m3 | E5m2) => true,
        (S32, S8 | U8, S8 | U8) | (S32, B1, B1) => false,
        _ => return Err(unsupported("it is not implemented for these types")),
    };
    // Integers have fewer shapes: 8, 16, 24, 32, and multiples of 16 from there on.
    let columns = (8..=256).contains(&n) && n.is_multiple_of(8) && (float || n <= 32 || n.is_multiple_of(16));
    if m != 64 || !columns || k * a.bits() != 256 {
        return Err(unsupported("PTX has no such shape for these types"));
    }
    if a == B1 && !(f.has("and") && f.has("popc")) {
        return Err(unsupported("bits are multiplied by `.and.popc` alone"));
    }
    let [to, left, right, scale, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
    };
    let planes =
        list(to).iter().map(|o| Ok(b.dest(o, Type::B32)?.0)).collect::<Result<Vec<_>, EmuError>>()?;
    let need = n / 2 * d.bits() / 32;
    if planes.len() as u32 != need {
        return Err(unsupported(format!("it names {} accumulators where {need} are needed", planes.len())));
    }
    let from = match left {
        Operand::Vector(v) => {
            let v = v.iter().map(|o| b.source(o, Type::B32)).collect::<Result<Vec<_>, _>>()?;
            WgmmaA::Registers(v.try_into().map_err(|_| unsupported("A is not in four registers"))?)
        }
        o => WgmmaA::Shared(b.source(o, Type::B64)?),
    };
    let mut rest = rest.iter();
    let mut sign = || match rest.next() {
        Some(Operand::Int(1)) => Ok(false),
        Some(Operand::Int(-1)) => Ok(true),
        _ => Err(unsupported("a scale is 1 or -1")),
    };
    let negate = if float { [sign()?, sign()?] } else { [false; 2] };
    let mut transpose = [false; 2];
    if matches!(a, F16 | Bf16) {
        let first = usize::from(matches!(from, WgmmaA::Registers(_)));
        for t in &mut transpose[first..] {
            *t = match rest.next() {
                Some(Operand::Int(v @ (0 | 1))) => *v == 1,
                _ => return Err(unsupported("whether a matrix is transposed is 0 or 1")),
            };
        }
    }
    if rest.next().is_some() {
        return Err(unsupported("it has too many operands"));
    }
    Ok(Wgmma {
        n,
        types: [d, a, bt],
        d: planes,
        a: from,
        b: b.source(right, Type::B64)?,
        scale_d: b.source(scale, Type::Pred)?,
        negate,
        transpose,
        saturate: f.has("satfinite"),
    })
}
