//! `mma` and `wmma`: products of small matrices whose elements lie in the registers of the lanes.
//!
//! The layout of fragments (PTX ISA, Matrix Fragments for mma) follows one rule for all shapes. A register of
//! all lanes is a block of 8 rows of 4 words; word `t` of row `g` belongs to lane `4g + t`. Register `r` of A
//! holds rows from `8·(r % 2)` (all rows, in 8-row shapes) and words from `4·(r / 2)`. Register `r` of B
//! holds words from `4r` of the columns of B. Accumulators `2h` and `2h + 1` hold rows from `8h` of C, with
//! adjacent words; or one register has both as halves.
//!
//! # Invariants
//! Integers, bits and binary64 are as PTX defines them (binary64 is a chain of fused operations in the order
//! of k).
//!
//! # Limitations
//! Products of other types are exact, summed in binary64 in the order of k, then added to C, and rounded
//! once. Hardware sums in an undocumented order with undocumented truncation, so that results agree within a
//! tolerance only. The layout of `m8n8k4` on binary16, and sparse and block-scaled forms, are missing.

use prlx_isa::view::Type;

use crate::code::{MemAccess, Mma, Plane, WmmaTile};
use crate::mem::access::{self, AccessError, VisibleMemory};
use prlx_lanes::fp8::{Byte, E4m3, E5m2};
use prlx_lanes::half::{Bf16, F16, Half};
use prlx_lanes::round::narrow_odd;
use prlx_lanes::{LANES, Planes, V32, V64};

/// Rows and columns that are worked on at once.
const ROWS: usize = 4;
const COLS: usize = 8;
/// A part of an accumulator.
type Block<T> = [[T; COLS]; ROWS];
/// All of it, by rows of blocks: at most 16 × 16, 32 × 8 or 8 × 32.
type Blocks<T> = [Block<T>; 8];

/// A register of one lane.
trait Word: Copy + Default {
    /// A register of all lanes.
    fn plane(p: &Planes, i: u16) -> &[Self; LANES];
    /// A register of all lanes, to be written.
    fn plane_mut(p: &mut Planes, i: u16) -> &mut [Self; LANES];
    /// The lower or the upper half.
    fn half(self, i: usize) -> Self;
    /// A word from its lower and upper half.
    fn pair(lower: Self, upper: Self) -> Self;
}
macro_rules! words {
    ($($t:ty, $planes:ident;)*) => { $(
        impl Word for $t {
            #[inline(always)]
            fn plane(p: &Planes, i: u16) -> &[$t; LANES] {
                &p.$planes[usize::from(i)].0
            }
            #[inline(always)]
            fn plane_mut(p: &mut Planes, i: u16) -> &mut [$t; LANES] {
                &mut p.$planes[usize::from(i)].0
            }
            #[inline(always)]
            fn half(self, i: usize) -> $t {
                const HALF: u32 = <$t>::BITS / 2;
                self >> (HALF as usize * i) & (<$t>::MAX >> HALF)
            }
            #[inline(always)]
            fn pair(lower: $t, upper: $t) -> $t {
                lower | upper << (<$t>::BITS / 2)
            }
        }
    )* };
}
words! {
    u32, w32;
    u64, w64;
}

/// Does `d = a·b + c`.
#[inline(always)]
pub fn mma(p: &mut Planes, op: &Mma) {
    let [_, a, b, _] = op.types;
    match a {
        Type::F64 => {
            let c = load::<u64>(p, op, false);
            let mut d = c.map(|block| block.map(|row| row.map(f64::from_bits)));
            let number = |w: u64, _| f64::from_bits(w);
            multiply::<u64, f64, 1, 4>(p, op, &mut d, number, number, |sum, x, y| x.mul_add(y, sum));
            store(p, op, false, &d.map(|block| block.map(|row| row.map(f64::to_bits))));
        }
        Type::F16 => float::<2, 8>(p, op, f16, f16),
        Type::Bf16 => float::<2, 8>(p, op, bf16, bf16),
        Type::E4m3 | Type::E5m2 => {
            let number =
                |ty| move |w, j| if ty == Type::E4m3 { byte::<E4m3>(w, j) } else { byte::<E5m2>(w, j) };
            float::<4, 16>(p, op, number(a), number(b));
        }
        Type::B1 if op.and => {
            integer::<1, 4>(p, op, word, word, |sum, x, y| sum + (x & y).count_ones() as i32)
        }
        Type::B1 => integer::<1, 4>(p, op, word, word, |sum, x, y| sum + (x ^ y).count_ones() as i32),
        Type::S4 | Type::U4 => integer::<8, 32>(p, op, part::<4>(a), part::<4>(b), |sum, x, y| sum + x * y),
        Type::S8 | Type::U8 => integer::<4, 16>(p, op, part::<8>(a), part::<8>(b), |sum, x, y| sum + x * y),
        _ => float::<1, 4>(p, op, tf32, tf32),
    }
}

/// Elements of a register as numbers, by their place in it.
#[inline(always)]
fn f16(w: u32, j: usize) -> f64 {
    f64::from(F16::widen(w.half(j) as u16))
}
#[inline(always)]
fn bf16(w: u32, j: usize) -> f64 {
    f64::from(Bf16::widen(w.half(j) as u16))
}
#[inline(always)]
fn byte<B: Byte>(w: u32, j: usize) -> f64 {
    f64::from(F16::widen(B::to_f16((w >> (8 * j)) as u8)))
}
/// The low bits do not take part.
#[inline(always)]
fn tf32(w: u32, _: usize) -> f64 {
    f64::from(f32::from_bits(w & !0x1fff))
}
#[inline(always)]
fn word(w: u32, _: usize) -> i32 {
    w as i32
}
/// Integers of `BITS` bits, by the sign of their type.
#[inline(always)]
fn part<const BITS: usize>(ty: Type) -> impl Fn(u32, usize) -> i32 + Copy {
    let signed = matches!(ty, Type::S4 | Type::S8);
    move |w, j| {
        let top = w << (32 - BITS - BITS * j);
        if signed { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 }
    }
}

/// `E` elements in a register, `K` in four.
#[inline(always)]
fn float<const E: usize, const K: usize>(
    p: &mut Planes,
    op: &Mma,
    left: impl Fn(u32, usize) -> f64 + Copy,
    right: impl Fn(u32, usize) -> f64 + Copy,
) {
    let mut sums = [[[0f64; COLS]; ROWS]; 8];
    multiply::<u32, f64, E, K>(p, op, &mut sums, left, right, |sum, x, y| sum + x * y);
    let [d, _, _, c] = op.types.map(|t| t == Type::F16);
    let mut out = load::<u32>(p, op, c);
    for (out, sums) in out.iter_mut().flatten().zip(sums.iter().flatten()) {
        let row = sum_row(sums, out, c);
        for (out, sum) in out.iter_mut().zip(row) {
            *out = if d {
                F16::near(narrow_odd(sum)).into()
            } else if sum.is_nan() {
                0x7fff_ffff
            } else {
                (sum as f32).to_bits()
            };
        }
    }
    store(p, op, d, &out);
}

/// Sums with C.
#[inline(always)]
fn sum_row(sums: &[f64; COLS], c: &[u32; COLS], packed: bool) -> [f64; COLS] {
    let mut out = *sums;
    for (out, &c) in out.iter_mut().zip(c) {
        *out += if packed { f16(c, 0) } else { f64::from(f32::from_bits(c)) };
    }
    out
}

#[inline(always)]
fn integer<const E: usize, const K: usize>(
    p: &mut Planes,
    op: &Mma,
    left: impl Fn(u32, usize) -> i32 + Copy,
    right: impl Fn(u32, usize) -> i32 + Copy,
    add: impl Fn(i32, i32, i32) -> i32 + Copy,
) {
    // Without C they stay far from the limits.
    let mut sums = [[[0i32; COLS]; ROWS]; 8];
    multiply::<u32, i32, E, K>(p, op, &mut sums, left, right, add);
    let mut out = load::<u32>(p, op, false);
    for (out, &sum) in out.iter_mut().flatten().flatten().zip(sums.iter().flatten().flatten()) {
        let c = *out as i32;
        *out = if op.saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) } as u32;
    }
    store(p, op, false, &out);
}

/// `sums[i][j] = add(sums[i][j], a[i][x], b[x][j])`, for x from 0 on.
#[inline(always)]
fn multiply<W: Word, T: Copy + Default, const E: usize, const K: usize>(
    p: &Planes,
    op: &Mma,
    sums: &mut Blocks<T>,
    left: impl Fn(W, usize) -> T,
    right: impl Fn(W, usize) -> T,
    add: impl Fn(T, T, T) -> T + Copy,
) {
    if op.linear {
        return linear::<W, T, E>(p, op, sums, left, right, add);
    }
    let halves = op.m as usize / 8;
    for (r, &b) in op.planes[2].iter().enumerate() {
        let mut cols = [[T::default(); COLS]; K];
        for (t, words) in columns(W::plane(p, b)).iter().enumerate() {
            for j in 0..E {
                for g in 0..COLS {
                    cols[E * t + j][g] = right(words[g], j);
                }
            }
        }
        for (h, &a) in op.planes[1][halves * r..][..halves].iter().enumerate() {
            let mut rows = [[[T::default(); ROWS]; K]; 2];
            for (t, words) in columns(W::plane(p, a)).iter().enumerate() {
                for j in 0..E {
                    for g in 0..8 {
                        rows[g / ROWS][E * t + j][g % ROWS] = left(words[g], j);
                    }
                }
            }
            for (q, rows) in rows.iter().enumerate() {
                block(&mut sums[2 * h + q], rows, &cols, add);
            }
        }
    }
}

/// The same for `wmma` fragments.
#[inline(always)]
fn linear<W: Word, T: Copy + Default, const E: usize>(
    p: &Planes,
    op: &Mma,
    sums: &mut Blocks<T>,
    left: impl Fn(W, usize) -> T,
    right: impl Fn(W, usize) -> T,
    add: impl Fn(T, T, T) -> T + Copy,
) {
    // Elements of a row of A; bits go by words.
    let k = if op.types[1] == Type::B1 { op.k / 32 } else { op.k } as usize;
    let a = flat::<W, T, E>(p, &op.planes[1], op.m as usize * k, left);
    let b = flat::<W, T, E>(p, &op.planes[2], op.n as usize * k, right);
    let across = op.n as usize / COLS;
    for j in 0..across {
        let mut cols = [[T::default(); COLS]; 32];
        for (x, col) in cols[..k].iter_mut().enumerate() {
            *col = std::array::from_fn(|c| b[(COLS * j + c) * k + x]);
        }
        for i in 0..op.m as usize / ROWS {
            let mut rows = [[T::default(); ROWS]; 32];
            for (x, row) in rows[..k].iter_mut().enumerate() {
                *row = std::array::from_fn(|r| a[(ROWS * i + r) * k + x]);
            }
            block(&mut sums[i * across + j], &rows[..k], &cols[..k], add);
        }
    }
}

/// A `wmma` fragment of A or B of so many elements.
#[inline(always)]
fn flat<W: Word, T: Copy + Default, const E: usize>(
    p: &Planes,
    planes: &[u16],
    total: usize,
    f: impl Fn(W, usize) -> T,
) -> [T; 512] {
    let (mut out, each) = ([T::default(); 512], total / LANES);
    for (i, &plane) in planes.iter().take(each / E).enumerate() {
        for (l, &w) in W::plane(p, plane).iter().enumerate() {
            for j in 0..E {
                out[l * each + i * E + j] = f(w, j);
            }
        }
    }
    out
}

#[inline(always)]
fn block<T: Copy>(sums: &mut Block<T>, left: &[[T; ROWS]], right: &[[T; COLS]], add: impl Fn(T, T, T) -> T) {
    let mut now = *sums;
    for (l, r) in left.iter().zip(right) {
        for (now, &l) in now.iter_mut().zip(l) {
            for (now, &r) in now.iter_mut().zip(r) {
                *now = add(*now, l, r);
            }
        }
    }
    *sums = now;
}

/// The columns of a register's 8 rows of 4 words.
#[inline(always)]
fn columns<W: Word>(v: &[W; LANES]) -> [[W; 8]; 4] {
    let mut out = [[W::default(); 8]; 4];
    for (t, out) in out.iter_mut().enumerate() {
        for (g, out) in out.iter_mut().enumerate() {
            *out = v[4 * g + t];
        }
    }
    out
}

/// C's elements; `packed`: two to a register.
#[inline(always)]
fn load<W: Word>(p: &Planes, op: &Mma, packed: bool) -> Blocks<W> {
    let mut out = [[[W::default(); COLS]; ROWS]; 8];
    let planes = &op.planes[3];
    if op.linear {
        places(op, |l, i, block, row, col| {
            let w = W::plane(p, planes[if packed { i / 2 } else { i }])[l];
            out[block][row][col] = if packed { w.half(i % 2) } else { w };
        });
        return out;
    }
    for h in 0..op.m as usize / 8 {
        let both = if packed { [planes[h]; 2] } else { [planes[2 * h], planes[2 * h + 1]] };
        let [first, second] = both.map(|i| W::plane(p, i));
        for g in 0..8 {
            let row = &mut out[2 * h + g / ROWS][g % ROWS];
            for t in 0..4 {
                let (a, b) = (first[4 * g + t], second[4 * g + t]);
                (row[2 * t], row[2 * t + 1]) = if packed { (a.half(0), a.half(1)) } else { (a, b) };
            }
        }
    }
    out
}

/// Writes D's elements.
#[inline(always)]
fn store<W: Word>(p: &mut Planes, op: &Mma, packed: bool, d: &Blocks<W>) {
    let planes = &op.planes[0];
    if op.linear {
        return places(op, |l, i, block, row, col| {
            let out = &mut W::plane_mut(p, planes[if packed { i / 2 } else { i }])[l];
            *out = match (packed, i % 2) {
                (false, _) => d[block][row][col],
                (true, 0) => W::pair(d[block][row][col], W::default()),
                _ => W::pair(*out, d[block][row][col]),
            };
        });
    }
    for h in 0..op.m as usize / 8 {
        for i in 0..if packed { 1 } else { 2 } {
            let out = W::plane_mut(p, planes[if packed { h } else { 2 * h + i }]);
            for g in 0..8 {
                let row = &d[2 * h + g / ROWS][g % ROWS];
                for t in 0..4 {
                    out[4 * g + t] =
                        if packed { W::pair(row[2 * t], row[2 * t + 1]) } else { row[2 * t + i] };
                }
            }
        }
    }
}

/// Places of a `wmma` accumulator's elements: `f(lane, index, block, row, column)`, indices of a lane in
/// order.
#[inline(always)]
fn places(op: &Mma, mut f: impl FnMut(usize, usize, usize, usize, usize)) {
    let (each, n) = ((op.m * op.n) as usize / LANES, op.n as usize);
    for i in 0..each {
        for l in 0..LANES {
            let (row, col) = ((l * each + i) / n, (l * each + i) % n);
            f(l, i, row / ROWS * (n / COLS) + col / COLS, row % ROWS, col % COLS);
        }
    }
}

/// Elements of a `wmma` fragment that a lane loads or stores.
pub fn elements_per_lane(t: &WmmaTile) -> usize {
    (t.rows * t.cols) as usize / LANES
}

/// The address of element `i` of each lane, from the addresses of the matrix.
pub fn element_addresses(p: &Planes, t: &WmmaTile, base: &V64, i: usize) -> V64 {
    let (mut addr, each) = (*base, elements_per_lane(t));
    for (l, a) in addr.0.iter_mut().enumerate() {
        let at = l * each + i;
        let (row, col) = ((at / t.cols as usize) as u64, (at % t.cols as usize) as u64);
        let (major, minor, across) = if t.col { (col, row, t.rows) } else { (row, col, t.cols) };
        let stride = t.stride.map_or(across, |s| p.w32[usize::from(s)].0[l] / t.unit);
        *a = a.wrapping_add((major * u64::from(stride) + minor) * u64::from(t.mem.size));
    }
    addr
}

/// Loads or stores a `wmma` fragment.
///
/// # Errors
/// The first lane that reaches outside of memory.
pub fn tile(
    p: &mut Planes,
    r: &VisibleMemory<'_>,
    hint: &mut usize,
    t: &WmmaTile,
) -> Result<(), Box<AccessError>> {
    let base = access::all_addresses(p, &t.mem);
    let each = elements_per_lane(t);
    let size = u64::from(t.mem.size);
    let (total, keep) = (t.mem.planes.len() * elements_per_register(t), u64::MAX >> (64 - t.bits));
    for i in 0..each {
        let addr = element_addresses(p, t, &base, i);
        if t.store {
            access::each_address(r, hint, t.mem.space, &addr, size, |l, region, at| {
                region.store(at, t.mem.size, element(p, t, i, l));
            })?;
        } else {
            let mut values = [0; LANES];
            access::each_address(r, hint, t.mem.space, &addr, size, |l, region, at| {
                values[l] = region.load(at, t.mem.size)
            })?;
            for i in (i..total).step_by(each) {
                let Some((plane, shift)) = element_place(t, i) else { continue };
                for (l, v) in values.iter().enumerate() {
                    let old = access::value(p, plane, l);
                    access::set(p, plane, l, old & !(keep << shift) | v << shift);
                }
            }
        }
    }
    Ok(())
}

/// Element `i` of a lane's fragment, or the word that it lies in.
pub fn element(p: &Planes, t: &WmmaTile, i: usize, l: usize) -> u64 {
    let Some((plane, shift)) = element_place(t, i) else { return 0 };
    access::value(p, plane, l) >> shift & u64::MAX >> (64 - t.bits)
}

/// The register of an element of a lane's fragment, and where it begins in it.
fn element_place(t: &WmmaTile, i: usize) -> Option<(Plane, u32)> {
    let per = elements_per_register(t);
    Some((*t.mem.planes.get(i / per)?, (i % per) as u32 * t.bits))
}

fn elements_per_register(t: &WmmaTile) -> usize {
    if t.bits == 64 { 1 } else { 32 / t.bits as usize }
}

/// The rows that `stmatrix` writes, by the lane that gives a row's address: their lower and upper halves.
pub fn stored_rows(planes: &Planes, mem: &MemAccess, trans: bool) -> [V64; 2] {
    let (mut lower, mut upper) = (V64([0; LANES]), V64([0; LANES]));
    for (i, &plane) in mem.planes.iter().enumerate() {
        let tile = V32(std::array::from_fn(|l| access::value(planes, plane, l) as u32));
        let tile = if trans { transposed(&tile) } else { tile };
        for (row, words) in tile.0.as_chunks::<4>().0.iter().enumerate() {
            let [a, b, c, d] = words.map(u64::from);
            (lower.0[8 * i + row], upper.0[8 * i + row]) = (a | b << 32, c | d << 32);
        }
    }
    [lower, upper]
}

/// An 8×8 tile of 16-bit elements with rows and columns exchanged; a row is four lanes' words.
#[inline(always)]
pub fn transposed(v: &V32) -> V32 {
    let at = |row: usize, col: usize| v.0[4 * row + col / 2].half(col % 2);
    V32(std::array::from_fn(|l| u32::pair(at(l % 4 * 2, l / 4), at(l % 4 * 2 + 1, l / 4))))
}
