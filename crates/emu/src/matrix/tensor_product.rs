//! The arithmetic of `tcgen05.mma` (PTX ISA, Block Scaling).
//!
//! An A in tensor memory, and all scales, are read from the lanes of the part of D that is computed: PTX
//! wants copies of them there.
//!
//! # Invariants
//! Integers are exact. In other types a product is rounded to binary32 (exact except for overflow and
//! underflow), sums are binary32, to nearest, from C in the order of k, and a binary16 D is rounded once. A
//! result is within `k · 2^-24 · (|c| + Σ|a·b|)` of the exact one.
//!
//! # Limitations
//! Elements are multiplied by their scales before they are multiplied by each other, which can overflow
//! where hardware does not.

use prlx_isa::view::Type;
use prlx_lanes::half::{F16, Half};

use super::elements::{halves, is_narrow, scale};
use super::product::{MOST, Matrix, ROWS, Row, WIDE, integers};
use super::product_shape::{Part, ProductShape};
use super::tensor_state::{Cell, ProductOperands};
use crate::code::{TensorA, TensorProduct};
use crate::error::{EmuError, invalid, unsupported};
use crate::exec::launch::Launch;
use crate::mem::Region;

/// Sums of 16 rows and 8 columns.
type Block<T> = [[T; WIDE]; ROWS];

/// The rows of A or B in shared memory.
fn matrix_rows(
    shared: &Region,
    descriptor: u64,
    shape: &ProductShape,
    which: usize,
    count: u32,
) -> Result<Vec<Row>, EmuError> {
    let mut rows = vec![Row::default(); count as usize];
    let matrix = Matrix::of_tensor_core(descriptor)?;
    matrix.read(shared, 0, !shape.transpose[which], shape.element_bytes(), &mut rows)?;
    Ok(rows)
}

/// Multiplies: writes the rows of D of one CTA. `members` are the shared memories of the CTAs that hold B, in
/// the order of their columns; `own` is that of the rows of A, and `rank` its place among the members.
///
/// # Errors
/// A matrix lies outside its memory.
pub fn multiply(
    launch: &Launch<'_>,
    op: &TensorProduct,
    now: &ProductOperands,
    members: &[&Region],
    rank: usize,
    memory: &Region,
) -> Result<(), EmuError> {
    let shape = &now.shape;
    let own = members[rank];
    let mut right = Vec::new();
    for shared in members {
        right.extend(matrix_rows(shared, now.b, shape, 1, shape.n / members.len() as u32)?);
    }
    let left = match op.a {
        TensorA::Shared(_) => Some(matrix_rows(own, now.a, shape, 0, shape.rows(op))?),
        TensorA::Tensor(_) if is_narrow(shape.types[1]) && !shape.dense(op) => {
            return Err(unsupported(
                "A in tensor memory is not implemented for elements of fewer than 8 bits",
            ));
        }
        TensorA::Tensor(_) => None,
    };
    let d = Cell::new(now.d);
    for part in shape.parts(op, d.lane)? {
        for first in (0..shape.rows(op)).step_by(ROWS) {
            let mut rows = [Row::default(); ROWS];
            for (row, r) in rows.iter_mut().zip(first..) {
                match &left {
                    Some(left) => *row = left[r as usize],
                    None => {
                        let at = Cell { lane: part.lane(r), column: Cell::new(now.a as u32).column };
                        at.offset(0, 7)?;
                        memory.read(at.at(), row);
                    }
                }
            }
            let target = Target { memory, part, d, first, kept: &now.kept_lanes[..], rank };
            if shape.types[0] == Type::S32 {
                target.integers(launch, now, &rows, &right)?;
            } else {
                target.floats(launch, op, now, &rows, &right)?;
            }
        }
    }
    Ok(())
}

/// 16 rows of a part of D.
struct Target<'a> {
    memory: &'a Region,
    part: Part,
    d: Cell,
    first: u32,
    kept: &'a [u32],
    rank: usize,
}

impl Target<'_> {
    /// Calls `f` with each word of the 8 columns from `column` on, its row and its column.
    fn words(&self, column: u32, mut f: impl FnMut(&Region, u64, usize, usize)) -> Result<(), EmuError> {
        for i in 0..ROWS as u32 {
            let lane = self.part.lane(self.first + i);
            let mask = self.kept.get(self.rank * 4 + lane as usize / 32).copied().unwrap_or(0);
            if mask >> (lane % 32) & 1 == 1 {
                continue;
            }
            let cell = Cell { lane, column: self.d.column }.offset(0, column)?;
            cell.offset(0, WIDE as u32 - 1)?;
            for j in 0..WIDE {
                f(self.memory, cell.at() + 4 * j as u64, i as usize, j);
            }
        }
        Ok(())
    }
    fn integers(
        &self,
        launch: &Launch<'_>,
        now: &ProductOperands,
        rows: &[Row; ROWS],
        right: &[Row],
    ) -> Result<(), EmuError> {
        let shape = &now.shape;
        let a = rows.map(|row| integers(shape.types[1], &row));
        let (from, count) = self.part.columns;
        for column in (0..count).step_by(WIDE) {
            let mut b = [[0; WIDE]; MOST];
            for j in 0..WIDE {
                let column = integers(shape.types[2], &right[(from + column) as usize + j]);
                b.iter_mut().zip(column).for_each(|(b, v)| b[j] = v);
            }
            let mut c: Block<i32> = [[0; WIDE]; ROWS];
            (launch.simd.integer_sums)(&a, &b, &mut c);
            self.words(column, |memory, at, i, j| {
                let old = if now.add { memory.load32(at) as i32 } else { 0 };
                let v = if shape.saturate { old.saturating_add(c[i][j]) } else { old.wrapping_add(c[i][j]) };
                memory.store32(at, v as u32);
            })?;
        }
        Ok(())
    }
    fn floats(
        &self,
        launch: &Launch<'_>,
        op: &TensorProduct,
        now: &ProductOperands,
        rows: &[Row; ROWS],
        right: &[Row],
    ) -> Result<(), EmuError> {
        let (shape, half) = (&now.shape, now.shape.types[0] == Type::F16);
        let dense = shape.dense(op);
        let mut a = [[[0.0; MOST]; ROWS]; 2];
        for (i, row) in rows.iter().enumerate() {
            let mut values = halves(shape.types[1], row, dense, shape.negate[0]);
            self.scale(op, now, 0, self.first + i as u32, &mut values)?;
            (a[0][i], a[1][i]) = (values[0], values[1]);
        }
        let (from, count) = self.part.columns;
        for column in (0..count).step_by(WIDE) {
            let mut b = [[[0.0; WIDE]; MOST]; 2];
            for j in 0..WIDE as u32 {
                let row = &right[(from + column + j) as usize];
                let mut values = halves(shape.types[2], row, dense, shape.negate[1]);
                self.scale(op, now, 1, column + j, &mut values)?;
                for (b, half) in b.iter_mut().zip(values) {
                    b.iter_mut().zip(half).for_each(|(b, v)| b[j as usize] = v);
                }
            }
            let mut c: Block<f32> = [[0.0; WIDE]; ROWS];
            if now.add {
                let shift = 2f32.powi(-(op.shift_d as i32));
                self.words(column, |memory, at, i, j| {
                    let v = memory.load32(at);
                    c[i][j] = shift * if half { F16::widen(v as u16) } else { f32::from_bits(v) };
                })?;
            }
            (launch.simd.float_sums)(&a[0], &b[0], &mut c);
            if dense {
                (launch.simd.float_sums)(&a[1], &b[1], &mut c);
            }
            self.words(column, |memory, at, i, j| {
                let v = c[i][j];
                let bits = match half {
                    true => F16::near(v).into(),
                    false if v.is_nan() => 0x7fff_ffff,
                    false => v.to_bits(),
                };
                memory.store32(at, bits);
            })?;
        }
        Ok(())
    }
    /// Multiplies the elements of row `index` of A (`which` 0), or of a column of B of this part (1), by
    /// their scales: the word at lane `index % 32` of the quarter, and column `index / 32`, holds them.
    fn scale(
        &self,
        op: &TensorProduct,
        now: &ProductOperands,
        which: usize,
        index: u32,
        values: &mut [[f32; MOST]; 2],
    ) -> Result<(), EmuError> {
        if op.scales.is_none() {
            return Ok(());
        }
        let quarter = self.part.lane(if which == 0 { index } else { self.first }) / 32 * 32;
        let start = Cell { lane: quarter + index % 32, column: Cell::new(now.scales[which]).column };
        let word = self.memory.load32(start.offset(0, index / 32)?.at()).to_le_bytes();
        let (elements, all) = (if now.shape.dense(op) { 2 * MOST } else { MOST }, values.as_flattened_mut());
        let each = elements / op.scale_count as usize;
        for (i, block) in all[..elements].chunks_mut(each).enumerate() {
            let byte = now.shape.scale_ids[which] as usize + i;
            let Some(&bits) = word.get(byte) else {
                return Err(invalid(format!("has its scales at byte {byte} of a word")));
            };
            let by = scale(bits, now.shape.e4m3_scales);
            block.iter_mut().for_each(|x| *x *= by);
        }
        Ok(())
    }
}
