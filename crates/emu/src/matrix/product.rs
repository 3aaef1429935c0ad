//! The arithmetic of `wgmma` and `tcgen05.mma`: reads matrices from shared memory and registers, and sums
//! products.
//!
//! For every type, 32 bytes of a row of A or of a column of B take part in one instruction: a [`Row`].
//! [`Matrix`] locates them by the rules of the matrix descriptor (PTX ISA, Asynchronous Warpgroup-Level
//! Matrix Instructions: Shared Memory Matrix Layout, Strides, Swizzling Modes, Matrix Descriptor Format;
//! TensorCore 5th Generation Family Instructions: Shared memory descriptor, Canonical Layouts).

use prlx_isa::view::Type;

use crate::code::Wgmma;
use crate::error::{EmuError, invalid};
use crate::mem::Region;
use prlx_lanes::fp8::{Byte, E4m3, E5m2};
use prlx_lanes::half::{Bf16, F16, Half};
use prlx_lanes::{LANES, Planes, V32};

/// The 32 bytes of a row of A, or of a column of B, that one instruction multiplies.
pub type Row = [u8; 32];
/// Rows of A that a warp multiplies.
pub const ROWS: usize = 16;
/// The most elements of a row (single bits count as words of 32).
pub const MOST: usize = 32;
/// Columns that are multiplied together: those of four accumulators.
pub const WIDE: usize = 8;

/// A matrix in shared memory, as its descriptor has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrix {
    start: u64,
    leading: u64,
    stride: u64,
    /// The start of the swizzle pattern, in units of 128 bytes, modulo 8.
    base: u64,
    /// Bytes of a swizzled row; 16: not swizzled.
    width: u64,
    /// Whether pieces of 32 bytes are swizzled, not of 16.
    wide: bool,
}

impl Matrix {
    /// Decodes a descriptor of `wgmma`.
    pub fn new(d: u64) -> Matrix {
        let field = |at: u32| (d >> at & 0x3fff) << 4;
        let width = [16, 128, 64, 32][(d >> 62) as usize];
        let (start, leading, stride) = (field(0), field(16), field(32));
        Matrix { start, leading, stride, base: d >> 49 & 7, width, wide: false }
    }
    /// Decodes a descriptor of `tcgen05`, whose swizzling mode has three bits.
    ///
    /// # Errors
    /// It has another swizzling mode, or an absolute leading dimension.
    pub fn of_tensor_core(d: u64) -> Result<Matrix, EmuError> {
        if d >> 52 & 1 == 1 {
            return Err(invalid(
                "has a descriptor with an absolute leading dimension, which is not implemented",
            ));
        }
        match d >> 61 {
            0 | 2 | 4 | 6 => Ok(Matrix::new(d)),
            1 => Ok(Matrix { width: 128, wide: true, ..Matrix::new(d) }),
            mode => {
                Err(invalid(format!("has a descriptor with swizzling mode {mode}, which PTX does not have")))
            }
        }
    }
    /// The address of 16 bytes: number `across` in the contiguous direction, in line `down`.
    fn place(&self, across: u64, down: u64, k_major: bool) -> u64 {
        let (per, w) = (self.width / 16, self.width);
        if self.wide {
            let plain =
                across % per * 16 + across / per * self.leading + down % 4 * w + down / 4 * self.stride;
            let at = self.start + plain;
            return at ^ ((at >> 7).wrapping_sub(self.base) & 3) << 5;
        }
        let plain = match (k_major, per) {
            (true, 1) => down % 8 * 16 + down / 8 * self.stride + across * self.leading,
            (true, _) => down % 8 * w + down / 8 * self.stride + across * 16,
            (false, 1) => down % 8 * 16 + down / 8 * self.leading + across * self.stride,
            (false, _) => {
                across % per * 16 + across / per * self.leading + down % 8 * w + down / 8 * self.stride
            }
        };
        let at = self.start + plain;
        let phase = (at >> 7).wrapping_sub(self.base) & (per - 1);
        at ^ phase << 4
    }
    /// The addresses of the pieces of 16 bytes that [`Matrix::read`] reads. `element`: bytes of an element.
    pub fn pieces(&self, first: usize, k_major: bool, element: usize, rows: usize) -> Vec<u64> {
        let per = 16 / element;
        let (across, down) = if k_major {
            (0..2, first..first + rows)
        } else {
            (first / per..(first + rows).div_ceil(per), 0..32 / element)
        };
        across.flat_map(|a| down.clone().map(move |d| self.place(a as u64, d as u64, k_major))).collect()
    }
    /// Reads the first `bytes` (16 or 32) of rows that lie next to each other.
    ///
    /// # Errors
    /// The matrix does not lie inside shared memory.
    pub fn read_part(&self, shared: &Region, bytes: usize, rows: &mut [Row]) -> Result<(), EmuError> {
        for (i, row) in rows.iter_mut().enumerate() {
            for (across, piece) in row[..bytes].chunks_mut(16).enumerate() {
                piece.copy_from_slice(&load(shared, self.place(across as u64, i as u64, true))?);
            }
        }
        Ok(())
    }
    /// Reads rows from number `first` on; `k_major`: their bytes lie next to each other, else elements (of
    /// `element` bytes) of one k do.
    ///
    /// # Errors
    /// The matrix does not lie inside shared memory.
    pub fn read(
        &self,
        shared: &Region,
        first: usize,
        k_major: bool,
        element: usize,
        rows: &mut [Row],
    ) -> Result<(), EmuError> {
        let load = |across: usize, down: usize| load(shared, self.place(across as u64, down as u64, k_major));
        if k_major {
            for (i, row) in rows.iter_mut().enumerate() {
                row[..16].copy_from_slice(&load(0, first + i)?);
                row[16..].copy_from_slice(&load(1, first + i)?);
            }
            return Ok(());
        }
        let per = 16 / element;
        for (i, some) in rows.chunks_mut(per).enumerate() {
            for k in 0..32 / element {
                let chunk = load(first / per + i, k)?;
                for (row, bytes) in some.iter_mut().zip(chunk.chunks_exact(element)) {
                    row[element * k..element * (k + 1)].copy_from_slice(bytes);
                }
            }
        }
        Ok(())
    }
}

/// 16 bytes of shared memory.
fn load(shared: &Region, at: u64) -> Result<[u8; 16], EmuError> {
    if at + 16 > shared.len() {
        return Err(invalid(format!(
            "reads 16 bytes at {at:#x} of shared memory; there are {}",
            shared.len()
        )));
    }
    Ok((u128::from(shared.load64(at)) | u128::from(shared.load64(at + 8)) << 64).to_le_bytes())
}

/// A from registers: register `r` of lane `l` has 4 bytes of row `l / 4 + 8·(r % 2)`, from byte `16·(r / 2) +
/// 4·(l % 4)`.
pub fn fragment(planes: &Planes, registers: &[u16; 4]) -> [Row; ROWS] {
    let mut rows = [[0; 32]; ROWS];
    for (r, &plane) in registers.iter().enumerate() {
        for (l, v) in planes.w32[usize::from(plane)].0.iter().enumerate() {
            let at = r / 2 * 16 + l % 4 * 4;
            rows[l / 4 + r % 2 * 8][at..at + 4].copy_from_slice(&v.to_le_bytes());
        }
    }
    rows
}

/// The elements of a row as binary32, negated if `negate`.
#[inline(always)]
pub fn floats(ty: Type, row: &Row, negate: bool) -> [f32; MOST] {
    let mut out = [0.0; MOST];
    match ty {
        Type::F16 => elements(row, &mut out, |b| F16::widen(u16::from_le_bytes(b))),
        Type::Bf16 => elements(row, &mut out, |b| Bf16::widen(u16::from_le_bytes(b))),
        Type::E4m3 => elements(row, &mut out, |[b]| F16::widen(E4m3::to_f16(b))),
        Type::E5m2 => elements(row, &mut out, |[b]| F16::widen(E5m2::to_f16(b))),
        // The hardware ignores the low bits of tf32.
        _ => elements(row, &mut out, |b| f32::from_bits(u32::from_le_bytes(b) & !0x1fff)),
    }
    if negate {
        out.iter_mut().for_each(|x| *x = -*x);
    }
    out
}

/// The elements of a row as integers; single bits as words of 32.
#[inline(always)]
pub fn integers(ty: Type, row: &Row) -> [i32; MOST] {
    let mut out = [0; MOST];
    match ty {
        Type::S8 => elements(row, &mut out, |[b]| i32::from(b as i8)),
        Type::U8 => elements(row, &mut out, |[b]| i32::from(b)),
        _ => elements(row, &mut out, i32::from_le_bytes),
    }
    out
}

#[inline(always)]
fn elements<T, const N: usize>(row: &Row, out: &mut [T; MOST], f: impl Fn([u8; N]) -> T) {
    for (out, bytes) in out.iter_mut().zip(row.as_chunks::<N>().0) {
        *out = f(*bytes);
    }
}

/// `c[i][j] = add(c[i][j], a[i][x], b[x][j])`, for x from 0 on.
#[inline(always)]
pub fn sums<T: Copy>(
    a: &[[T; MOST]; ROWS],
    b: &[[T; WIDE]],
    c: &mut [[T; WIDE]; ROWS],
    add: impl Fn(T, T, T) -> T,
) {
    for r in (0..ROWS).step_by(4) {
        let mut four = [c[r], c[r + 1], c[r + 2], c[r + 3]];
        for (x, b) in b.iter().enumerate().take(MOST) {
            for (i, c) in four.iter_mut().enumerate() {
                let a = a[r + i][x];
                for (c, &b) in c.iter_mut().zip(b) {
                    *c = add(*c, a, b);
                }
            }
        }
        c[r..r + 4].copy_from_slice(&four);
    }
}

/// Columns of B side by side.
#[inline(always)]
fn side_by_side<T: Copy + Default>(columns: &[Row], f: impl Fn(&Row) -> [T; MOST]) -> [[T; WIDE]; MOST] {
    let mut out = [[T::default(); WIDE]; MOST];
    for (j, column) in columns.iter().enumerate().take(WIDE) {
        for (out, v) in out.iter_mut().zip(f(column)) {
            out[j] = v;
        }
    }
    out
}

/// Places of the accumulators of 8 columns: `f(lane, index, row, column)`.
#[inline(always)]
fn accumulators(mut f: impl FnMut(usize, usize, usize, usize)) {
    for i in 0..4 {
        for l in 0..LANES {
            f(l, i, l / 4 + i / 2 * 8, l % 4 * 2 + i % 2);
        }
    }
}

/// `d = a·b + d`, or without `+ d`: 16 rows of D, as the lanes have them.
#[inline(always)]
pub fn multiply(op: &Wgmma, scale_d: bool, a: &[Row; ROWS], b: &[Row], d: &mut [V32]) {
    let k = 256 / op.types[1].bits().clamp(8, 32) as usize;
    let blocks = b.chunks_exact(WIDE);
    match op.types[1] {
        Type::B1 | Type::S8 | Type::U8 => {
            let left = a.map(|row| integers(op.types[1], &row));
            for (b, d) in blocks.zip(d.chunks_exact_mut(4)) {
                let right = side_by_side(b, |row| integers(op.types[2], row));
                let mut c = [[0; WIDE]; ROWS];
                if op.types[1] == Type::B1 {
                    sums(&left, &right[..8], &mut c, |c: i32, a, b| c + (a & b).count_ones() as i32);
                } else {
                    sums(&left, &right[..k], &mut c, |c: i32, a, b| c + a * b);
                }
                accumulators(|l, i, row, col| {
                    let old = if scale_d { d[i].0[l] as i32 } else { 0 };
                    let v = c[row][col];
                    d[i].0[l] = if op.saturate { old.saturating_add(v) } else { old.wrapping_add(v) } as u32;
                });
            }
        }
        _ => {
            let half = op.types[0] == Type::F16;
            let left = a.map(|row| floats(op.types[1], &row, op.negate[0]));
            for (b, d) in blocks.zip(d.chunks_exact_mut(if half { 2 } else { 4 })) {
                let right = side_by_side(b, |row| floats(op.types[2], row, op.negate[1]));
                let mut c = [[0f32; WIDE]; ROWS];
                if scale_d {
                    accumulators(|l, i, row, col| {
                        c[row][col] = if half {
                            F16::widen((d[i / 2].0[l] >> (16 * (i % 2))) as u16)
                        } else {
                            f32::from_bits(d[i].0[l])
                        };
                    });
                }
                sums(&left, &right[..k], &mut c, |c: f32, a, b| c + a * b);
                accumulators(|l, i, row, col| {
                    let v = c[row][col];
                    if half {
                        let (out, shift) = (&mut d[i / 2].0[l], 16 * (i as u32 % 2));
                        *out = *out & !(0xffff << shift) | u32::from(F16::near(v)) << shift;
                    } else {
                        d[i].0[l] = if v.is_nan() { 0x7fff_ffff } else { v.to_bits() };
                    }
                });
            }
        }
    }
}
