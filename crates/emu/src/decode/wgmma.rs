//! Decoding of `wgmma`.

use prlx_isa::view::{Inst, Operand, Type};

use super::binder::Binder;
use super::matrix::{dimensions, list};
use crate::code::{Op, WarpOp, WarpOpKind, Wgmma, WgmmaA, WgmmaStep};

/// `wgmma` (PTX ISA, Asynchronous Warpgroup-Level Matrix Instructions).
pub fn wgmma(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    let what = match () {
        () if f.has("fence") => WgmmaStep::Fence,
        () if f.has("commit_group") => WgmmaStep::Commit,
        () if f.has("wait_group") => {
            let Some(Operand::Int(n)) = inst.operands.first() else {
                return Err("its count is not a constant".into());
            };
            WgmmaStep::Wait(u32::try_from(*n).map_err(|_| "its count is negative")?)
        }
        () if f.has("sp") => return Err("sparse products are not implemented".into()),
        () if f.has("mma_async") => {
            let product = product(b, inst)?;
            b.code.products.push(product);
            WgmmaStep::Begin(b.code.products.len() as u32 - 1)
        }
        () => return Err("it is not implemented".into()),
    };
    let kind = WarpOpKind::Wgmma(what);
    b.code.warp_ops.push(WarpOp { kind, members: None, dst: 0, pred: None, src: [0; 3], flag: false });
    let at = b.code.warp_ops.len() as u32 - 1;
    b.emit_main(Op::Exchange(at));
    Ok(())
}

fn product(b: &mut Binder<'_>, inst: &Inst) -> Result<Wgmma, String> {
    use Type::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
    let f = &inst.form;
    let (m, n, k) = f.mods.iter().find_map(|m| dimensions(m)).ok_or("its shape is missing")?;
    let [d, a, bt] = f.types[..] else { return Err("its types are not understood".into()) };
    let float = match (d, a, bt) {
        (F16 | F32, F16, F16)
        | (F32, Bf16, Bf16)
        | (F32, Tf32, Tf32)
        | (F16 | F32, E4m3 | E5m2, E4m3 | E5m2) => true,
        (S32, S8 | U8, S8 | U8) | (S32, B1, B1) => false,
        _ => return Err("it is not implemented for these types".into()),
    };
    // Integers have fewer shapes: 8, 16, 24, 32, and multiples of 16 from there on.
    let columns = (8..=256).contains(&n) && n.is_multiple_of(8) && (float || n <= 32 || n.is_multiple_of(16));
    if m != 64 || !columns || k * a.bits() != 256 {
        return Err("PTX has no such shape for these types".into());
    }
    if a == B1 && !(f.has("and") && f.has("popc")) {
        return Err("bits are multiplied by `.and.popc` alone".into());
    }
    let [to, left, right, scale, rest @ ..] = inst.operands.as_slice() else {
        return Err("it has too few operands".into());
    };
    let planes = list(to).iter().map(|o| Ok(b.dest(o, Type::B32)?.0)).collect::<Result<Vec<_>, String>>()?;
    let need = n / 2 * d.bits() / 32;
    if planes.len() as u32 != need {
        return Err(format!("it names {} accumulators where {need} are needed", planes.len()));
    }
    let from = match left {
        Operand::Vector(v) => {
            let v = v.iter().map(|o| b.source(o, Type::B32)).collect::<Result<Vec<_>, _>>()?;
            WgmmaA::Registers(v.try_into().map_err(|_| "A is not in four registers")?)
        }
        o => WgmmaA::Shared(b.source(o, Type::B64)?),
    };
    let mut rest = rest.iter();
    let mut sign = || match rest.next() {
        Some(Operand::Int(1)) => Ok(false),
        Some(Operand::Int(-1)) => Ok(true),
        _ => Err("a scale is 1 or -1"),
    };
    let negate = if float { [sign()?, sign()?] } else { [false; 2] };
    let mut transpose = [false; 2];
    if matches!(a, F16 | Bf16) {
        let first = usize::from(matches!(from, WgmmaA::Registers(_)));
        for t in &mut transpose[first..] {
            *t = match rest.next() {
                Some(Operand::Int(v @ (0 | 1))) => *v == 1,
                _ => return Err("whether a matrix is transposed is 0 or 1".into()),
            };
        }
    }
    if rest.next().is_some() {
        return Err("it has too many operands".into());
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
