//! `mma` and `wmma`: products of small matrices whose elements lie in the lanes' registers.
//!
//! Holds: integers and binary64 as PTX defines them (binary64 as a chain of fused operations in the order of k). Others:
//! products are exact, summed in binary64 and rounded once; hardware sums in an order and with a truncation that are not
//! documented, so that results agree within a tolerance only.
//!
//! The fragments' layout (PTX ISA, Matrix Fragments for mma) is one rule for all shapes: with `g = lane / 4`, `t = lane % 4`
//! and `e` elements in a register, register `r` of A holds row `g + 8·(r % 2)` (8-row shapes: `g`) and columns
//! `4e·(r / 2) + e·t ..`, register `r` of B holds column `g` and rows `4e·r + e·t ..`, and accumulator `i` holds row
//! `g + 8·(i / 2)`, column `2t + i % 2`.

use prlx_isa::view::Type;

use crate::access::{self, Bad, Reach};
use crate::code::{Mma, Tile};
use crate::half;
use crate::planes::{LANES, Planes, V32};

/// Does `d = a·b + c`.
#[inline(always)]
pub fn mma(p: &mut Planes, op: &Mma) {
    match op.types[1] {
        Type::F64 => double(p, op),
        Type::S8 | Type::U8 => integer(p, op),
        _ => float(p, op),
    }
}

/// Places of A's and B's elements: `f(lane, register, element in it, row, column)`.
#[inline(always)]
fn elements(op: &Mma, e: u32, of_a: bool, mut f: impl FnMut(usize, usize, u32, usize, usize)) {
    let registers = if of_a { &op.planes[1] } else { &op.planes[2] };
    if op.linear {
        let (rows, cols) = if of_a { (op.m, op.k) } else { (op.k, op.n) };
        return linear(rows, cols, |l, i, row, col| f(l, i / e as usize, i as u32 % e, row, col));
    }
    let high = op.m == 16;
    for r in 0..registers.len() as u32 {
        for j in 0..e {
            for l in 0..LANES as u32 {
                let (g, t) = (l / 4, l % 4);
                let (row, col) = if of_a {
                    (g + if high { 8 * (r % 2) } else { 0 }, 4 * e * if high { r / 2 } else { r } + e * t + j)
                } else {
                    (4 * e * r + e * t + j, g)
                };
                f(l as usize, r as usize, j, row as usize, col as usize);
            }
        }
    }
}

/// Places of accumulators: `f(lane, index, row, column)`.
#[inline(always)]
fn accumulators(op: &Mma, mut f: impl FnMut(usize, usize, usize, usize)) {
    if op.linear {
        return linear(op.m, op.n, f);
    }
    for l in 0..LANES {
        for i in 0..(op.m / 4) as usize {
            f(l, i, l / 4 + 8 * (i / 2), l % 4 * 2 + i % 2);
        }
    }
}

/// Places of a `wmma` fragment's elements: `f(lane, index, row, column)`.
#[inline(always)]
fn linear(rows: u32, cols: u32, mut f: impl FnMut(usize, usize, usize, usize)) {
    let (each, cols) = ((rows * cols) as usize / LANES, cols as usize);
    for i in 0..each {
        for l in 0..LANES {
            let at = l * each + i;
            f(l, i, at / cols, at % cols);
        }
    }
}

/// Loads or stores a `wmma` fragment.
pub fn tile(p: &mut Planes, r: &Reach<'_>, hint: &mut usize, t: &Tile) -> Result<(), Box<Bad>> {
    let base = access::all_addresses(p, &t.mem);
    let each = (t.rows * t.cols) as usize / LANES;
    let size = u64::from(t.mem.size);
    let per = if t.bits == 64 { 1 } else { 32 / t.bits as usize };
    let (total, keep) = (t.mem.planes.len() * per, u64::MAX >> (64 - t.bits));
    for i in 0..each {
        let mut addr = base;
        for (l, a) in addr.0.iter_mut().enumerate() {
            let at = l * each + i;
            let (row, col) = ((at / t.cols as usize) as u64, (at % t.cols as usize) as u64);
            let (major, minor, across) = if t.col { (col, row, t.rows) } else { (row, col, t.cols) };
            let stride = t.stride.map_or(across, |s| p.w32[usize::from(s)].0[l]);
            *a = a.wrapping_add((major * u64::from(stride) + minor) * size);
        }
        let place = |i: usize| (t.mem.planes[i / per], (i % per) as u32 * t.bits);
        if t.store {
            let (plane, shift) = place(i);
            access::each_address(r, hint, t.mem.place, &addr, size, |l, region, at| {
                region.store(at, t.mem.size, access::value(p, plane, l) >> shift & keep);
            })?;
        } else {
            let mut values = [0; LANES];
            access::each_address(r, hint, t.mem.place, &addr, size, |l, region, at| {
                values[l] = region.load(at, t.mem.size)
            })?;
            for i in (i..total).step_by(each) {
                let (plane, shift) = place(i);
                for (l, v) in values.iter().enumerate() {
                    let old = access::value(p, plane, l);
                    access::set(p, plane, l, old & !(keep << shift) | v << shift);
                }
            }
        }
    }
    Ok(())
}

/// The number that some bits mean.
fn number(bits: u32, ty: Type) -> f64 {
    match ty {
        Type::F16 => f64::from(half::from_f16(bits as u16)),
        Type::Bf16 => f64::from(f32::from_bits(bits << 16)),
        // The low bits do not take part.
        Type::Tf32 => f64::from(f32::from_bits(bits & !0x1fff)),
        Type::E4m3 => fp8(bits, 4, 3),
        Type::E5m2 => f64::from(half::from_f16((bits as u16 & 255) << 8)),
        _ => f64::from(f32::from_bits(bits)),
    }
}

fn fp8(bits: u32, exponent: i32, mantissa: i32) -> f64 {
    let (e, m) = ((bits >> mantissa & 15) as i32, (bits & 7) as f64);
    let bias = (1 << (exponent - 1)) - 1;
    let v = match (e, bits & 7) {
        (15, 7) => f64::NAN,
        (0, _) => m * 2f64.powi(1 - bias - mantissa),
        _ => (8.0 + m) * 2f64.powi(e - bias - mantissa),
    };
    if bits >> 7 & 1 == 1 { -v } else { v }
}

/// An element of every lane's register as a number.
#[inline(always)]
fn numbers(plane: &V32, j: u32, ty: Type) -> [f64; LANES] {
    let mut out = [0.0; LANES];
    match ty {
        Type::F16 => {
            for (out, &bits) in out.iter_mut().zip(&plane.0) {
                *out = f64::from(half_number(bits >> (16 * j) & 0xffff));
            }
        }
        Type::Bf16 => {
            for (out, &bits) in out.iter_mut().zip(&plane.0) {
                *out = f64::from(f32::from_bits(bits >> (16 * j) << 16));
            }
        }
        _ => {
            for (out, &bits) in out.iter_mut().zip(&plane.0) {
                *out =
                    number(if ty.bits() == 32 { bits } else { bits >> (ty.bits() * j) & ((1 << ty.bits()) - 1) }, ty);
            }
        }
    }
    out
}

/// A binary16 without branches, so that the lane loop becomes vector code.
#[inline(always)]
fn half_number(h: u32) -> f32 {
    let m = h & 0x7fff;
    // Its bits as those of a binary32 are the number times 2^-112; infinities and NaNs need their exponent.
    let finite = f32::from_bits(m << 13) * f32::from_bits(0x7780_0000);
    let bits = if m >= 0x7c00 { 0x7f80_0000 | (m & 0x3ff) << 13 } else { finite.to_bits() };
    f32::from_bits(bits | (h & 0x8000) << 16)
}

#[inline(always)]
fn float(p: &mut Planes, op: &Mma) {
    if op.n == 8 { product::<8>(p, op) } else { product::<32>(p, op) }
}

#[inline(always)]
fn product<const N: usize>(p: &mut Planes, op: &Mma) {
    let [d, a, b, c] = op.types;
    let (mut left, mut right) = ([[0f64; 32]; 32], [[0f64; N]; 32]);
    let mut last = (usize::MAX, 0);
    let mut values = [0.0; LANES];
    let (e, f) = (32 / a.bits().max(1), 32 / b.bits().max(1));
    elements(op, e, true, |l, r, j, row, col| {
        if last != (r, j) {
            (last, values) = ((r, j), numbers(&p.w32[usize::from(op.planes[1][r])], j, a));
        }
        left[row][col] = values[l];
    });
    last = (usize::MAX, 0);
    elements(op, f, false, |l, r, j, row, col| {
        if last != (r, j) {
            (last, values) = ((r, j), numbers(&p.w32[usize::from(op.planes[2][r])], j, b));
        }
        right[row][col] = values[l];
    });
    let mut sums = [[0f64; N]; 32];
    for (left, sums) in left.iter().zip(&mut sums).take(op.m as usize) {
        let mut row = [0f64; N];
        for (&x, right) in left.iter().zip(&right).take(op.k as usize) {
            for (sum, r) in row.iter_mut().zip(right) {
                *sum += x * r;
            }
        }
        *sums = row;
    }
    accumulators(op, |l, i, row, col| {
        let packed = c == Type::F16;
        let (plane, shift) = if packed { (i / 2, 16 * (i as u32 % 2)) } else { (i, 0) };
        let bits = p.w32[usize::from(op.planes[3][plane])].0[l] >> shift;
        sums[row][col] += number(if packed { bits & 0xffff } else { bits }, c);
    });
    accumulators(op, |l, i, row, col| {
        let v = sums[row][col];
        if d == Type::F16 {
            let out = &mut p.w32[usize::from(op.planes[0][i / 2])].0[l];
            let shift = 16 * (i as u32 % 2);
            *out = *out & !(0xffff << shift) | u32::from(half::to_f16(v)) << shift;
        } else {
            p.w32[usize::from(op.planes[0][i])].0[l] = if v.is_nan() { 0x7fff_ffff } else { (v as f32).to_bits() };
        }
    });
}

fn integer(p: &mut Planes, op: &Mma) {
    let [_, a, b, _] = op.types;
    let (mut left, mut right) = ([[0i64; 32]; 32], [[0i64; 32]; 32]);
    let part = |p: &Planes, plane: u16, l: usize, j: u32, ty: Type| {
        let byte = (p.w32[usize::from(plane)].0[l] >> (8 * j)) as u8;
        if ty == Type::S8 { i64::from(byte as i8) } else { i64::from(byte) }
    };
    elements(op, 4, true, |l, r, j, row, col| left[row][col] = part(p, op.planes[1][r], l, j, a));
    elements(op, 4, false, |l, r, j, row, col| right[row][col] = part(p, op.planes[2][r], l, j, b));
    let mut out = [[0u32; 8]; LANES];
    accumulators(op, |l, i, row, col| {
        let c = i64::from(p.w32[usize::from(op.planes[3][i])].0[l] as i32);
        let sum = c + (0..op.k as usize).map(|x| left[row][x] * right[x][col]).sum::<i64>();
        let sum = if op.saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        out[l][i] = sum as u32;
    });
    accumulators(op, |l, i, _, _| p.w32[usize::from(op.planes[0][i])].0[l] = out[l][i]);
}

fn double(p: &mut Planes, op: &Mma) {
    let (mut left, mut right) = ([[0f64; 16]; 16], [[0f64; 8]; 16]);
    let part = |p: &Planes, plane: u16, l: usize| f64::from_bits(p.w64[usize::from(plane)].0[l]);
    elements(op, 1, true, |l, r, _, row, col| left[row][col] = part(p, op.planes[1][r], l));
    elements(op, 1, false, |l, r, _, row, col| right[row][col] = part(p, op.planes[2][r], l));
    let mut out = [[0u64; 4]; LANES];
    accumulators(op, |l, i, row, col| {
        let c = part(p, op.planes[3][i], l);
        let sum = (0..op.k as usize).fold(c, |sum, x| left[row][x].mul_add(right[x][col], sum));
        out[l][i] = sum.to_bits();
    });
    accumulators(op, |l, i, _, _| p.w64[usize::from(op.planes[0][i])].0[l] = out[l][i]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_as_numbers() {
        for h in 0..=u16::MAX {
            let (x, y) = (half_number(h.into()), half::from_f16(h));
            assert!(x.to_bits() == y.to_bits(), "{h:#x}");
        }
    }
}
