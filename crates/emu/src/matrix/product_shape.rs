//! The instruction descriptor of `tcgen05.mma`, and where D lies in tensor memory (PTX ISA, Instruction
//! descriptor, Data Path Layout Organization).
//!
//! A [`Part`] of D is a range of columns whose rows lie in the same lanes of tensor memory.

use prlx_isa::view::Type;

use super::product::ROWS;
use crate::code::{ProductKind, TensorProduct, element_type};
use crate::error::{EmuError, invalid, unsupported};

/// What an instruction descriptor says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProductShape {
    /// Rows of A and D, in both CTAs of a pair together.
    pub m: u32,
    /// Columns of B and D.
    pub n: u32,
    /// The element types of D, A and B.
    pub types: [Type; 3],
    /// Whether A and B are negated.
    pub negate: [bool; 2],
    /// Whether A lies column by column, and B row by row.
    pub transpose: [bool; 2],
    /// Whether integer sums saturate.
    pub saturate: bool,
    /// Which bytes of a word are the scales of A and B.
    pub scale_ids: [u32; 2],
    /// Whether scales are `ue4m3`; else `ue8m0`.
    pub e4m3_scales: bool,
}

/// A range of columns of D, and the lanes of tensor memory where its rows lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The lane of row 0.
    first: u32,
    /// Whether the rows lie 16 to a quarter of the lanes; else next to each other.
    sparse: bool,
    /// The first column, and how many there are.
    pub columns: (u32, u32),
}

impl Part {
    /// The lane of a row.
    pub fn lane(&self, row: u32) -> u32 {
        self.first + if self.sparse { row / 16 * 32 + row % 16 } else { row }
    }
}

impl ProductShape {
    /// Decodes the instruction descriptor of a product.
    ///
    /// # Errors
    /// PTX has no such product, or it is not implemented.
    pub fn new(op: &TensorProduct, d: u32) -> Result<ProductShape, EmuError> {
        let (field, bit) = (|at: u32, bits: u32| d >> at & ((1 << bits) - 1), |at: u32| d >> at & 1 == 1);
        let wrong = |what: String| invalid(format!("has instruction descriptor {d:#010x}: {what}"));
        if bit(2) {
            return Err(unsupported("sparse products are not implemented"));
        }
        let scaled = op.scales.is_some();
        if scaled && op.kind != ProductKind::Mxf8f6f4 && bit(31) {
            return Err(unsupported("products of 96 elements are not implemented"));
        }
        let element = |at: u32, name: &str| {
            element_type(op.kind, field(at, 3)).ok_or_else(|| {
                wrong(format!("{} is no element type of {name} for this `.kind`", field(at, 3)))
            })
        };
        let to = match (op.kind, field(4, 2)) {
            (ProductKind::I8, 2) => Type::S32,
            (ProductKind::F16 | ProductKind::F8f6f4, 0) => Type::F16,
            (ProductKind::F16 | ProductKind::F8f6f4 | ProductKind::Tf32, 1) => Type::F32,
            _ if scaled => Type::F32,
            (_, n) => return Err(wrong(format!("{n} is no element type of D for this `.kind`"))),
        };
        let shape = ProductShape {
            m: field(24, 5) << 4,
            n: field(17, 6) << 3,
            types: [to, element(7, "A")?, element(10, "B")?],
            negate: [bit(13), bit(14)],
            transpose: [bit(15), bit(16)],
            saturate: bit(3) && op.kind == ProductKind::I8,
            scale_ids: if scaled { [field(29, 2), field(4, 2)] } else { [0; 2] },
            e4m3_scales: op.kind == ProductKind::Mxf4nvf4 && !bit(23),
        };
        let ProductShape { m, n, .. } = shape;
        let rows = match (op.stationary, op.pair) {
            (true, false) => matches!(m, 32 | 64 | 128),
            (true, true) => false,
            (false, true) => matches!(m, 128 | 256),
            (false, false) => m == 128 || m == 64 && !scaled,
        };
        let columns = match (op.stationary, op.kind) {
            (true, _) => matches!(n, 64 | 128 | 256),
            _ if op.pair => n % if op.kind == ProductKind::I8 { 32 } else { 16 } == 0,
            (_, ProductKind::I8) => n <= 32 || n % 16 == 0,
            _ => true,
        };
        if !rows || !columns || !(8..=256).contains(&n) {
            return Err(wrong(format!(
                "PTX has no product of {m} rows and {n} columns for this instruction"
            )));
        }
        if shape.dense(op) && shape.transpose != [false; 2] {
            return Err(wrong("this `.kind` cannot transpose A or B".into()));
        }
        Ok(shape)
    }
    /// Rows in each CTA that takes part.
    pub fn rows(&self, op: &TensorProduct) -> u32 {
        self.m / if op.pair { 2 } else { 1 }
    }
    /// Bytes of the elements of A and B in shared memory, where they lie across k.
    pub fn element_bytes(&self) -> usize {
        match self.types[1] {
            Type::F16 | Type::Bf16 => 2,
            Type::Tf32 => 4,
            _ => 1,
        }
    }
    /// Whether 64 elements of 4 bits lie next to each other.
    pub fn dense(&self, op: &TensorProduct) -> bool {
        matches!(op.kind, ProductKind::Mxf4 | ProductKind::Mxf4nvf4)
    }
    /// The parts of D in a CTA's tensor memory, for an address of D with this lane.
    ///
    /// # Errors
    /// D cannot begin at this lane.
    pub fn parts(&self, op: &TensorProduct, lane: u32) -> Result<Vec<Part>, EmuError> {
        let rows = self.rows(op);
        let sparse = rows == 64 && !op.stationary && !op.pair;
        if lane != 0 && !(sparse && lane == 16) {
            return Err(invalid(format!("has D at lane {lane} of tensor memory, where it cannot begin")));
        }
        let count = if sparse { 1 } else { 128 / rows };
        let each = self.n / count;
        let part = |i: u32| Part { first: lane + i * rows, sparse, columns: (i * each, each) };
        Ok((0..count).map(part).collect())
    }
    /// The lanes of tensor memory that rows of D take, 16 by 16, and the columns there.
    pub fn lanes(&self, op: &TensorProduct, lane: u32) -> Vec<(u32, u32)> {
        let parts = self.parts(op, lane).unwrap_or_default();
        let blocks = |p: Part| (0..self.rows(op)).step_by(ROWS).map(move |row| (p.lane(row), p.columns.1));
        parts.into_iter().flat_map(blocks).collect()
    }
    /// Columns of tensor memory that D takes.
    pub fn d_columns(&self, op: &TensorProduct) -> u32 {
        let sparse = self.rows(op) == 64 && !op.stationary && !op.pair;
        if sparse { self.n } else { self.n * self.rows(op) / 128 }
    }
}
