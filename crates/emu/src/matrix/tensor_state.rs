//! The allocations of a CTA's tensor memory, and the instructions on it that are in flight.
//!
//! # Invariants
//! Columns are 0 to 511, and lanes 0 to 127.

use super::product_shape::ProductShape;
use crate::code::TensorCopyShape;
use crate::error::{EmuError, invalid};

/// Lanes of tensor memory.
pub const ROWS: u32 = 128;
/// Columns of tensor memory.
pub const COLUMNS: u32 = 512;
/// Columns that are allocated together.
const UNIT: u32 = 32;

/// A place in tensor memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The lane (row), from 0 on.
    pub lane: u32,
    /// The column, from 0 on.
    pub column: u32,
}

impl Cell {
    /// The place with an address.
    pub fn new(address: u32) -> Cell {
        Cell { lane: address >> 16, column: address & 0xffff }
    }
    /// The place so many lanes and columns further on.
    ///
    /// # Errors
    /// It lies outside tensor memory.
    pub fn offset(self, lanes: u32, columns: u32) -> Result<Cell, EmuError> {
        let cell = Cell { lane: self.lane + lanes, column: self.column + columns };
        if cell.lane < ROWS && cell.column < COLUMNS {
            return Ok(cell);
        }
        Err(invalid(format!(
            "accesses lane {} of column {} of tensor memory, which has {ROWS} lanes and {COLUMNS} columns",
            cell.lane, cell.column
        )))
    }
    /// The offset in the region of tensor memory.
    pub fn at(self) -> u64 {
        u64::from((self.lane * COLUMNS + self.column) * 4)
    }
}

/// An allocation: its first column, its columns, and the warp and step that made it.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// The first column.
    pub first: u32,
    /// How many there are.
    pub columns: u32,
    /// The warp that allocated it.
    pub warp: u32,
    /// The step that allocated it.
    pub step: u32,
}

/// The allocated columns of a CTA's tensor memory.
#[derive(Clone, Debug, Default)]
pub struct TensorAllocations {
    /// The allocations that were not freed.
    pub live: Vec<Allocation>,
    /// Whether the CTA has given up the right to allocate.
    pub relinquished: bool,
}

impl TensorAllocations {
    /// Reserves columns and returns the first.
    ///
    /// # Errors
    /// So many columns cannot be allocated, or the CTA has given up the right to.
    pub fn allocate(&mut self, columns: u32, warp: u32, step: u32) -> Result<u32, EmuError> {
        check_size(columns)?;
        if self.relinquished {
            return Err(invalid(
                "allocates tensor memory after `tcgen05.relinquish_alloc_permit` gave up the right to",
            ));
        }
        let free =
            |first: u32| self.live.iter().all(|a| first + columns <= a.first || a.first + a.columns <= first);
        let Some(first) = (0..COLUMNS).step_by(columns as usize).find(|&first| free(first)) else {
            let taken: u32 = self.live.iter().map(|a| a.columns).sum();
            return Err(invalid(format!(
                "allocates {columns} columns of tensor memory, of whose {COLUMNS} the CTA has {taken} allocated"
            )));
        };
        self.live.push(Allocation { first, columns, warp, step });
        Ok(first)
    }
    /// Frees an allocation.
    ///
    /// # Errors
    /// There is none of these columns.
    pub fn free(&mut self, first: u32, columns: u32) -> Result<(), EmuError> {
        check_size(columns)?;
        let Some(i) = self.live.iter().position(|a| a.first == first && a.columns == columns) else {
            return Err(invalid(format!(
                "frees {columns} columns of tensor memory from column {first} on, which is no allocation"
            )));
        };
        self.live.remove(i);
        Ok(())
    }
    /// Fails unless all of some columns are allocated.
    ///
    /// # Errors
    /// One is not.
    pub fn check(&self, first: u32, columns: u32) -> Result<(), EmuError> {
        let allocated = |c: u32| self.live.iter().any(|a| a.first <= c && c < a.first + a.columns);
        match (first..first + columns).find(|&c| !allocated(c)) {
            None => Ok(()),
            Some(c) => Err(invalid(format!("accesses column {c} of tensor memory, which is not allocated"))),
        }
    }
}

fn check_size(columns: u32) -> Result<(), EmuError> {
    if columns.is_power_of_two() && (UNIT..=COLUMNS).contains(&columns) {
        return Ok(());
    }
    Err(invalid(format!("is given {columns} columns, which is not a power of two from {UNIT} to {COLUMNS}")))
}

/// A product in flight: the operands that it had when it was issued.
#[derive(Clone, Debug)]
pub struct ProductOperands {
    /// What the instruction descriptor says.
    pub shape: ProductShape,
    /// The address of D.
    pub d: u32,
    /// The address of A in tensor memory, or its descriptor.
    pub a: u64,
    /// The descriptor of B.
    pub b: u64,
    /// The addresses of the scales.
    pub scales: [u32; 2],
    /// Masks of the lanes that keep their values, 32 lanes each.
    pub kept_lanes: Vec<u32>,
    /// Whether D is added.
    pub add: bool,
}

/// What an instruction does when its turn comes.
#[derive(Clone, Debug)]
pub enum TensorWorkKind {
    /// A product: its index in [`crate::code::Code::tensor_ops`], and its operands.
    Product(u32, Box<ProductOperands>),
    /// A copy from the matrix of a descriptor to an address.
    Copy { shape: TensorCopyShape, pair: bool, to: u32, from: u64 },
    /// A signal to the mbarrier at an address of the cluster, in the CTAs of a mask.
    Commit { at: u64, ranks: Option<u16> },
}

/// An instruction in flight.
#[derive(Clone, Debug)]
pub struct TensorWork {
    /// What it does.
    pub kind: TensorWorkKind,
    /// The warp, lane and step that issued it.
    pub by: (u32, u32, u32),
}
