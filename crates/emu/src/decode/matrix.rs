//! Decoding of tile operations.

use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Inst, Operand, Type};

use super::address::address;
use super::binder::{Binder, bits};
use crate::code::{MatrixOp, MemAccess, Mma, Op, Plane, WarpOp, WarpOpKind};
use crate::error::{EmuError, unsupported};

/// A warp-wide operation on tiles.
fn tile(b: &mut Binder<'_>, t: MatrixOp) {
    b.code.matrix.push(t);
    let kind = WarpOpKind::Matrix(b.code.matrix.len() as u32 - 1);
    b.code.warp_ops.push(WarpOp { kind, members: None, dst: 0, pred: None, src: [0; 3], flag: false });
    let at = b.code.warp_ops.len() as u32 - 1;
    b.emit_main(Op::Exchange(at));
}

pub fn list(o: &Operand) -> &[Operand] {
    match o {
        Operand::Vector(v) => v,
        o => std::slice::from_ref(o),
    }
}

/// `ldmatrix`, `stmatrix`, `movmatrix`.
pub fn rows(b: &mut Binder<'_>, inst: &Inst, op: Ptx) -> Result<(), EmuError> {
    let f = opcode(inst);
    if !f.has("m8n8") || f.ty(0) != Some(Type::B16) {
        return Err(unsupported("only 8x8 tiles of 16-bit elements are implemented"));
    }
    let [first, second, ..] = inst.operands.as_slice() else {
        return Err(unsupported("it needs two operands"));
    };
    if op == Ptx::Movmatrix {
        let src = b.source(second, Type::B32)?;
        let (dst, _) = b.dest(first, Type::B32)?;
        tile(b, MatrixOp::Transpose { dst, src });
        return Ok(());
    }
    let (regs, at) = if op == Ptx::Ldmatrix { (first, second) } else { (second, first) };
    let (place, base, offset) = address(b, at, inst)?;
    let planes = list(regs).iter().map(|o| b.element(o, Type::B32)).collect::<Result<Vec<_>, _>>()?;
    if planes.iter().any(|p| !matches!(p, Plane::W32(_) | Plane::None)) {
        return Err(unsupported("its registers are not of 32 bits"));
    }
    if !matches!(planes.len(), 1 | 2 | 4) {
        return Err(unsupported(format!("it names {} registers", planes.len())));
    }
    let mem = MemAccess { space: place, base, offset, size: 16, strong: false, planes };
    let trans = f.has("trans");
    tile(b, if op == Ptx::Ldmatrix { MatrixOp::Load { mem, trans } } else { MatrixOp::Store { mem, trans } });
    Ok(())
}

/// The planes of the four matrices: D, A, B, C.
fn operands(b: &mut Binder<'_>, inst: &Inst, types: [Type; 4]) -> Result<[Vec<u16>; 4], EmuError> {
    let mut planes = [const { Vec::new() }; 4];
    if inst.operands.len() < 4 {
        return Err(unsupported("it has too few operands"));
    }
    for (i, o) in inst.operands.iter().take(4).enumerate() {
        let ty = if types[i] == Type::F64 { Type::B64 } else { Type::B32 };
        for o in list(o) {
            planes[i].push(if i == 0 { b.dest(o, ty)?.0 } else { b.source(o, ty)? });
        }
    }
    Ok(planes)
}

/// `mma.sync`.
pub fn mma(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    let (m, n, k) =
        f.mods.iter().find_map(|m| dimensions(m)).ok_or_else(|| unsupported("its shape is missing"))?;
    let [d, a, bt, c] = f.types[..] else { return Err(unsupported("this form is not implemented")) };
    if f.mods.iter().any(|m| m == "sp" || m.starts_with("sp::")) {
        return Err(unsupported("sparse matrices are not implemented"));
    }
    if f.mods.iter().any(|m| m.starts_with("kind::") || m.contains("block_scale")) {
        return Err(unsupported(
            "block-scaled forms and their types are for sm_100 and later, and not implemented",
        ));
    }
    use Type::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let fits = match (a, bt) {
        (F16, F16) => m == 16 && matches!(k, 8 | 16) && matches!(d, F16 | F32) && c == d,
        (Bf16, Bf16) => m == 16 && matches!(k, 8 | 16) && d == F32 && c == F32,
        (Tf32, Tf32) => m == 16 && matches!(k, 4 | 8) && d == F32 && c == F32,
        (E4m3 | E5m2, E4m3 | E5m2) => m == 16 && matches!(k, 16 | 32) && matches!(d, F16 | F32) && c == d,
        (S8 | U8, S8 | U8) => matches!((m, k), (16, 16 | 32) | (8, 16)) && d == S32 && c == S32,
        (S4 | U4, S4 | U4) => matches!((m, k), (16, 32 | 64) | (8, 32)) && d == S32 && c == S32,
        (B1, B1) => matches!((m, k), (16, 128 | 256) | (8, 128)) && d == S32 && c == S32 && popc(inst),
        (F64, F64) => matches!((m, k), (16, 4 | 8 | 16) | (8, 4)) && d == F64 && c == F64,
        _ => false,
    };
    if !fits || n != 8 || !f.has("row") || !f.has("col") {
        return Err(unsupported("this shape is not implemented for these types"));
    }
    let types = [d, a, bt, c];
    let planes = operands(b, inst, types)?;
    // Elements of a register, of A and B; accumulators are two to a register if they are halves.
    let e = if a == F64 { 1 } else { 32 / bits(a).max(1) };
    let results = m * n / 32 * bits(d) / if d == F64 { 64 } else { 32 };
    let want = [results, m * k / 32 / e, n * k / 32 / e, results];
    let have = planes.each_ref().map(|p| p.len() as u32);
    if want != have {
        let list = |n: [u32; 4]| n.map(|n| n.to_string()).join(", ");
        return Err(unsupported(format!(
            "it names {} registers for D, A, B and C where {} are needed",
            list(have),
            list(want)
        )));
    }
    let op = Mma { m, n, k, types, planes, saturate: f.has("satfinite"), and: f.has("and"), linear: false };
    tile(b, MatrixOp::Mma(Box::new(op)));
    Ok(())
}

/// Whether the instruction says how bits are multiplied.
fn popc(inst: &Inst) -> bool {
    opcode(inst).has("popc") && (opcode(inst).has("and") || opcode(inst).has("xor"))
}

/// `wmma`.
pub fn wmma(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    let (m, n, k) =
        f.mods.iter().find_map(|m| dimensions(m)).ok_or_else(|| unsupported("its shape is missing"))?;
    use Type::{B1, Bf16, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let fits = |ty| match ty {
        F16 | Bf16 | S8 | U8 => matches!((m, n, k), (16, 16, 16) | (32, 8, 16) | (8, 32, 16)),
        Tf32 => (m, n, k) == (16, 16, 8),
        F64 => (m, n, k) == (8, 8, 4),
        S4 | U4 => (m, n, k) == (8, 8, 32),
        B1 => (m, n, k) == (8, 8, 128),
        _ => false,
    };
    let shape = "this shape is not implemented for these types";
    if f.has("mma") {
        let types = match f.types[..] {
            [d, c] => [d, F16, F16, c],
            [d, a, bt, c] => [d, a, bt, c],
            _ => return Err(unsupported("its types are not understood")),
        };
        let known = match types {
            [F16 | F32, F16, F16, F16 | F32] | [F32, Bf16, Bf16, F32] | [F32, Tf32, Tf32, F32] => true,
            [S32, S8, S8, S32] | [S32, U8, U8, S32] | [S32, S4, S4, S32] | [S32, U4, U4, S32] => true,
            [S32, B1, B1, S32] => popc(inst),
            types => types == [F64; 4],
        };
        if !known || !fits(types[1]) {
            return Err(unsupported(shape));
        }
        let planes = operands(b, inst, types)?;
        for (i, total) in [m * n, m * k, k * n, m * n].into_iter().enumerate() {
            check(planes[i].len(), total, types[i])?;
        }
        let op =
            Mma { m, n, k, types, planes, saturate: f.has("satfinite"), and: f.has("and"), linear: true };
        tile(b, MatrixOp::Mma(Box::new(op)));
        return Ok(());
    }
    let ty = f.types.last().copied().ok_or_else(|| unsupported("its type is missing"))?;
    // A fragment of B consists of columns.
    let (rows, cols, col) = match () {
        () if f.has("a") => (m, k, f.has("col")),
        () if f.has("b") => (n, k, f.has("row")),
        () => (m, n, f.has("col")),
    };
    let factor = f.has("a") || f.has("b");
    let known = if factor { fits(ty) } else { [F16, Bf16, Tf32, S8, S4, B1, F64].into_iter().any(fits) };
    if !known || !factor && !matches!(ty, F16 | F32 | S32 | F64) {
        return Err(unsupported(shape));
    }
    let store = f.has("store");
    let [first, second, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
    };
    let (at, regs) = if store { (first, second) } else { (second, first) };
    let (place, base, offset) = address(b, at, inst)?;
    let element = if ty == F64 { Type::B64 } else { Type::B32 };
    let planes = list(regs).iter().map(|o| b.element(o, element)).collect::<Result<Vec<_>, _>>()?;
    check(planes.len(), rows * cols, ty)?;
    let stride = rest.first().map(|o| b.source(o, Type::U32)).transpose()?;
    // Elements narrower than a byte are loaded by words, which requires rows of A and columns of B.
    let narrow = bits(ty) < 8;
    if narrow && col {
        return Err(unsupported("elements of 4 bits or one are only in rows of A and columns of B"));
    }
    let (bits, unit) = if narrow { (32, 32 / bits(ty).max(1)) } else { (bits(ty), 1) };
    let mem = MemAccess { space: place, base, offset, size: (bits / 8) as u8, strong: false, planes };
    let t = crate::code::WmmaTile { mem, stride, unit, rows, cols: cols / unit, col, bits, store };
    tile(b, MatrixOp::Tile(Box::new(t)));
    Ok(())
}

/// Checks that registers can hold the part of a lane of `total` elements.
fn check(registers: usize, total: u32, ty: Type) -> Result<(), EmuError> {
    let e = if ty == Type::F64 { 1 } else { 32 / bits(ty).max(1) };
    let (have, need) = (registers as u32 * e, total / 32);
    if have < need || !have.is_multiple_of(need.max(1)) {
        return Err(unsupported(format!("its {registers} registers can't hold a part of {total} elements")));
    }
    Ok(())
}

pub fn dimensions(m: &str) -> Option<(u32, u32, u32)> {
    let (m, rest) = m.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}
