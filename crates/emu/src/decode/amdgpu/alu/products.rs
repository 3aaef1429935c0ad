//! Matrix products of binary64, and sparse ones (`v_smfmac_*`), of CDNA.
//!
//! The lanes (AMD's matrix instruction calculator), for M rows and columns and B blocks:
//!
//! | matrix | place of an element |
//! |---|---|
//! | binary64, A: row i, column k | lane i + M * (block + B * k) |
//! | binary64, B: column j, row k | lane j + M * (block + B * k) |
//! | binary64, C and D | lane j + M * (block + B * (i % 4)); pair of registers i / 4 |
//! | sparse, A: row i | lane i + M * g: group g of 64 / M has a part of the columns, two of each four |
//! | sparse, B: column j | lane j + M * g, likewise, with all four |
//! | sparse, indices of row i | lane i + M * g: two bits for each element of A, in their order |
//!
//! `abid` chooses the part of the register with the indices, if `cbsz` is 0.
//!
//! # Invariants
//! EXEC does not matter.
//!
//! # Limitations
//! - The guides leave the order of a sum open. Here products are added one by one, each with one rounding,
//!   those of the first column first.
//! - Shapes with twice the columns, which gfx950 adds, are refused: the calculator does not have them.

use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Field, Operand};
use prlx_lanes::Args;

use super::super::decoder::Decoder;
use super::matrix::{add_product, copy, element, element_number, shape, types};
use crate::code::{NO_GUARD, Op, Wave};
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// Adds the products of a matrix product of binary64 to one pair of registers of C, which `dst` has. The
/// constant has the rows, the blocks, the pair, and the signs.
fn add_doubles(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let part = |low: u32| (a.imm >> low & 255) as usize;
    let (rows, blocks, pair, signs) = (part(0).max(1), part(8).max(1), part(16), part(24));
    let sign = |n: usize, value: f64| if signs >> n & 1 == 1 { -value } else { value };
    let lanes = w.lanes();
    for lane in 0..lanes {
        let (column, block, high) = (lane % rows, lane / rows % blocks, lane / (rows * blocks));
        let row = 4 * pair + high;
        let mut sum = sign(2, f64::from_bits(w.wide(a.src[2], lane)));
        for k in 0..lanes / (rows * blocks) {
            let place = |at: usize| at + rows * (block + blocks * k);
            let x = f64::from_bits(w.wide(a.src[0], place(row)));
            let y = f64::from_bits(w.wide(a.src[1], place(column)));
            sum = sign(0, x).mul_add(sign(1, y), sum);
        }
        w.set_wide(a.dst[0], lane, sum.to_bits());
    }
}

/// Appends the steps of a matrix product of binary64.
pub(super) fn doubles(d: &mut Decoder<'_, '_>, name: &str, operands: &[Operand]) -> Result<(), EmuError> {
    let [result, a, b, c] = operands else { return Err(unsupported("a product needs three sources")) };
    let rows = shape(name.trim_start_matches("v_mfma_f64_")).map_or(0, |[rows, ..]| rows);
    let to = result.value.registers();
    let (ra, rb, rc) = (a.value.registers(), b.value.registers(), c.value.registers());
    let lanes = d.lanes as usize;
    let blocks = match rows {
        4 | 16 => to.len() / 2 * lanes / (rows * rows),
        _ => 0,
    };
    if blocks == 0 || ra.len() != 2 || rb.len() != 2 {
        return Err(unsupported("its matrices have sizes that are not implemented"));
    }
    let [cbsz, abid, blgp] = [Field::Cbsz, Field::Abid, Field::Blgp].map(|field| d.inst.get(field));
    if cbsz | abid != 0 || blgp != 0 && d.inst.target() == Target::Gfx90a {
        return Err(unsupported("products of binary64 have no `cbsz`, `abid` and `blgp`"));
    }
    let wide = |d: &mut Decoder<'_, '_>, regs: &[prlx_isa::amdgpu::inst::Reg]| match regs {
        [low, high] => {
            let (low, high) = (d.word(*low), d.word(*high));
            Ok(d.pair(low, high))
        }
        _ => Err(unsupported("its third source has another size")),
    };
    let (x, y) = (wide(d, &ra)?, wide(d, &rb)?);
    let constant = if rc.is_empty() { Some(d.words(c)?) } else { None };
    let mut sums = Vec::new();
    for (pair, place) in to.chunks(2).enumerate() {
        let from = match &constant {
            Some(words) => match words[..] {
                [low, high] => d.pair(low, high),
                _ => return Err(unsupported("its third source has another size")),
            },
            None => wide(d, rc.get(2 * pair..2 * pair + 2).unwrap_or_default())?,
        };
        let sum = d.b.temp(PlaneKind::W64);
        let imm = rows as u64 | (blocks as u64) << 8 | (pair as u64) << 16 | u64::from(blgp) << 24;
        let args = Args { dst: [sum, 0, 0, 0], src: [x, y, from, 0], imm };
        d.b.push(Op::Wave(add_doubles, args), NO_GUARD, u8::from(pair == 0));
        sums.push((sum, place));
    }
    for (sum, place) in sums {
        if let [low, high] = place {
            let dst = [d.word(*low), d.word(*high), 0, 0];
            d.wave_all(halves, Args { dst, src: [sum, 0, 0, 0], imm: 0 });
        }
    }
    Ok(())
}

/// Writes two registers with the halves of a number, in all lanes.
fn halves(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    for lane in 0..w.lanes() {
        let value = w.wide(a.src[0], lane);
        w.set_word(a.dst[0], lane, value as u32);
        w.set_word(a.dst[1], lane, (value >> 32) as u32);
    }
}

/// Adds the products of one register of a sparse A, and of the two of B with its columns, to one register of
/// D, which `dst` has. The constant has the rows, the types, the register of D, and the first bit of the
/// indices.
fn add_sparse(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let part = |low: u32| (a.imm >> low & 255) as usize;
    let (rows, register, first) = (part(0).max(1), part(24), part(32));
    let (ta, tb) = (element(part(8)), element(part(16)));
    let bits = ta.bits();
    let per = 32 / bits as usize;
    let lanes = w.lanes();
    for lane in 0..lanes {
        let (column, high) = (lane % rows, lane / rows);
        let row = match rows {
            32 => 8 * (register / 4) + 4 * high + register % 4,
            _ => 4 * high + register,
        };
        let mut sum = w.word(a.dst[0], lane);
        for group in 0..lanes / rows {
            let place = |at: usize| at + rows * group;
            let x = w.word(a.src[0], place(row));
            let indices = w.word(a.src[3], place(row)) >> first;
            let y = [a.src[1], a.src[2]].map(|plane| w.word(plane, place(column)));
            for n in 0..per {
                // Of each four columns, two have elements.
                let column = n / 2 * 4 + (indices >> (2 * n) & 3) as usize;
                let y = y[column / per] >> ((column % per) as u32 * bits);
                sum = add_product([ta, tb], sum, [x >> (n as u32 * bits), y]);
            }
        }
        w.set_word(a.dst[0], lane, sum);
    }
}

/// Appends the steps of a sparse product.
pub(super) fn sparse(d: &mut Decoder<'_, '_>, name: &str, operands: &[Operand]) -> Result<(), EmuError> {
    let Some((types, rows)) = types(d, name) else {
        return Err(unsupported("this matrix product is not implemented"));
    };
    let [result, a, b, index] = operands else { return Err(unsupported("a product needs three sources")) };
    let (to, ra, rb) = (result.value.registers(), a.value.registers(), b.value.registers());
    let index = index.value.registers();
    let lanes = d.lanes as usize;
    if ra.len() != 2 || rb.len() != 4 || index.len() != 1 || rows * rows != to.len() * lanes {
        return Err(unsupported("its matrices have sizes that are not implemented"));
    }
    if d.inst.get(Field::Blgp) != 0 {
        return Err(unsupported("sparse products have no `blgp`"));
    }
    // Two bits for each element of A in a lane.
    let bits = 2 * 2 * 32 / types[0].bits();
    let set = if d.inst.get(Field::Cbsz) == 0 { d.inst.get(Field::Abid) % (32 / bits) } else { 0 };
    let index = index.first().map_or(0, |reg| d.word(*reg));
    let mut sums = Vec::new();
    for (register, reg) in to.iter().enumerate() {
        let (from, sum) = (d.word(*reg), d.b.temp(PlaneKind::W32));
        d.wave_all(copy, Args { dst: [sum, 0, 0, 0], src: [from, 0, 0, 0], imm: 0 });
        for (at, (x, pair)) in ra.iter().zip(rb.chunks(2)).enumerate() {
            let [low, high] = pair else { continue };
            let first = set * bits + at as u32 * bits / 2;
            let [ta, tb] = types.map(element_number);
            let imm = rows as u64 | ta << 8 | tb << 16 | (register as u64) << 24 | u64::from(first) << 32;
            let src = [d.word(*x), d.word(*low), d.word(*high), index];
            let cost = u8::from(register == 0 && at == 0);
            d.b.push(Op::Wave(add_sparse, Args { dst: [sum, 0, 0, 0], src, imm }), NO_GUARD, cost);
        }
        sums.push(sum);
    }
    for (reg, sum) in to.iter().zip(sums) {
        let dst = d.word(*reg);
        d.wave_all(copy, Args { dst: [dst, 0, 0, 0], src: [sum, 0, 0, 0], imm: 0 });
    }
    Ok(())
}
