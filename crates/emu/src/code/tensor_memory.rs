//! Instructions on tensor memory (PTX ISA, TensorCore 5th Generation Family Instructions: `tcgen05`).

use prlx_isa::view::Type;

use super::memory::MemAccess;

/// An address of tensor memory: a 32-bit plane, and an offset that is added.
///
/// Bits 16 to 31 are the lane (row), bits 0 to 15 the column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorAddress {
    /// The 32-bit plane that holds the address.
    pub plane: u16,
    /// What is added.
    pub offset: u32,
}

/// The lanes and columns that the registers of a warp cover in `tcgen05.ld` and `tcgen05.st` (PTX ISA, Data
/// Movement Shape).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorShape {
    /// `.32x32b`: lane of the warp by lane of tensor memory.
    Lanes32,
    /// `.16x64b`
    Wide64,
    /// `.16x128b`
    Wide128,
    /// `.16x256b`
    Wide256,
    /// `.16x32bx2`: the upper half of the warp accesses other columns, so many further on.
    Split(u32),
}

impl TensorShape {
    /// The row and the column of register `r` of lane `l`, relative to the address.
    pub fn cell(self, l: u32, r: u32) -> (u32, u32) {
        match self {
            TensorShape::Lanes32 => (l, r),
            TensorShape::Split(by) => (l % 16, r + if l < 16 { 0 } else { by }),
            TensorShape::Wide64 => (l % 2 * 8 + l / 4, l / 2 % 2 + 2 * r),
            TensorShape::Wide128 => (l / 4 + r % 2 * 8, l % 4 + r / 2 * 4),
            TensorShape::Wide256 => (l / 4 + r / 2 % 2 * 8, l % 4 * 2 + r % 2 + r / 4 * 8),
        }
    }
    /// The rows that it covers.
    pub fn rows(self) -> u32 {
        if self == TensorShape::Lanes32 { 32 } else { 16 }
    }
}

/// Registers of a warp, and where they lie in tensor memory.
#[derive(Clone, Debug)]
pub struct TensorFragment {
    /// The first lane and column.
    pub at: TensorAddress,
    /// How the registers cover lanes and columns.
    pub shape: TensorShape,
    /// The 32-bit planes.
    pub planes: Vec<u16>,
    /// Whether a register holds the lower halves of two adjacent columns (`.pack::16b`, `.unpack::16b`).
    pub packed: bool,
}

/// An instruction on tensor memory that a warp runs as a whole.
#[derive(Clone, Debug)]
pub enum TensorWarpOp {
    /// `tcgen05.alloc`
    Allocate {
        /// Where in shared memory the address is written.
        to: MemAccess,
        /// The 32-bit plane of the number of columns.
        columns: u16,
    },
    /// `tcgen05.dealloc`
    Free {
        /// The 32-bit plane of the address.
        at: u16,
        /// The 32-bit plane of the number of columns.
        columns: u16,
    },
    /// `tcgen05.relinquish_alloc_permit`
    Relinquish,
    /// `tcgen05.ld`
    Load(TensorFragment),
    /// `tcgen05.st`
    Store(TensorFragment),
    /// `tcgen05.wait`: waits for loads, or for stores.
    Wait {
        /// Whether it waits for loads.
        loads: bool,
    },
}

/// The kinds of products (PTX ISA, `tcgen05.mma`, `.kind`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum ProductKind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

/// Where the matrix A of a product lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorA {
    /// In shared memory: the 64-bit plane of its descriptor.
    Shared(u16),
    /// In tensor memory.
    Tensor(TensorAddress),
}

/// `tcgen05.mma`: D = A·B + D.
#[derive(Clone, Debug)]
pub struct TensorProduct {
    /// The kind of its elements.
    pub kind: ProductKind,
    /// Whether both CTAs of a pair take part (`.cta_group::2`).
    pub pair: bool,
    /// Whether it is `.ws`.
    pub stationary: bool,
    /// Where D begins.
    pub d: TensorAddress,
    /// Where A lies.
    pub a: TensorA,
    /// The 64-bit plane of the descriptor of B.
    pub b: u16,
    /// The 32-bit plane of the instruction descriptor.
    pub descriptor: u16,
    /// The addresses of the scales of A and B.
    pub scales: Option<[TensorAddress; 2]>,
    /// Scales of a row of A, or of a column of B.
    pub scale_count: u32,
    /// 32-bit planes: the mask of the lanes of tensor memory that keep their values.
    pub kept_lanes: Vec<u16>,
    /// The predicate plane that says whether D is added.
    pub add: u16,
    /// D is multiplied by 2 to the power of minus this.
    pub shift_d: u32,
}

/// The rows that `tcgen05.cp` copies, and where they go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorCopyShape {
    /// `.128x256b` and `.128x128b`: rows of 32 or 16 bytes, one for each lane.
    Lanes128 {
        /// Bytes of a row.
        bytes: u32,
    },
    /// `.4x256b`: a row of 32 bytes for the same lane of each quarter.
    Quarters,
    /// `.64x128b.warpx2::02_13`: the upper 64 lanes repeat the lower ones.
    Halves,
    /// `.64x128b.warpx2::01_23`: 32 rows for the lower two quarters, and 32 for the upper two.
    Pairs,
    /// `.32x128b.warpx4`: each quarter has the same rows.
    Warps,
}

impl TensorCopyShape {
    /// Rows in shared memory, and their bytes.
    pub fn source(self) -> (u32, u32) {
        match self {
            TensorCopyShape::Lanes128 { bytes } => (128, bytes),
            TensorCopyShape::Quarters => (4, 32),
            TensorCopyShape::Halves | TensorCopyShape::Pairs => (64, 16),
            TensorCopyShape::Warps => (32, 16),
        }
    }
    /// The row of lane `lane` of tensor memory; `None`: the lane keeps its values. `first` is the lane of the
    /// address.
    pub fn row(self, lane: u32, first: u32) -> Option<u32> {
        match self {
            TensorCopyShape::Lanes128 { .. } => Some(lane),
            TensorCopyShape::Quarters => (lane % 32 == first % 32).then_some(lane / 32),
            TensorCopyShape::Halves => Some(lane % 64),
            TensorCopyShape::Pairs => Some(lane / 64 * 32 + lane % 32),
            TensorCopyShape::Warps => Some(lane % 32),
        }
    }
}

/// An instruction on tensor memory that a single thread issues.
#[derive(Clone, Debug)]
pub enum TensorOp {
    /// `tcgen05.mma`
    Product(TensorProduct),
    /// `tcgen05.cp`
    Copy {
        /// The rows that are copied, and where they go.
        shape: TensorCopyShape,
        /// Whether both CTAs of a pair copy.
        pair: bool,
        /// Where the first column of the rows goes.
        to: TensorAddress,
        /// The 64-bit plane of the descriptor of the source.
        from: u16,
    },
    /// `tcgen05.commit`: an mbarrier is signalled when all that the thread has issued is complete.
    Commit {
        /// The address of the mbarrier.
        mbarrier: MemAccess,
        /// The 32-bit plane of the mask of receiving CTAs.
        multicast: Option<u16>,
    },
}

/// The element type with a number in an instruction descriptor (PTX ISA, Instruction descriptor).
pub fn element_type(kind: ProductKind, number: u32) -> Option<Type> {
    use ProductKind::{F8f6f4, F16, I8, Mxf4, Mxf4nvf4, Mxf8f6f4, Tf32};
    Some(match (kind, number) {
        (F16, 0) => Type::F16,
        (F16, 1) => Type::Bf16,
        (Tf32, 2) => Type::Tf32,
        (I8, 0) => Type::U8,
        (I8, 1) => Type::S8,
        (F8f6f4 | Mxf8f6f4, 0) => Type::E4m3,
        (F8f6f4 | Mxf8f6f4, 1) => Type::E5m2,
        (F8f6f4 | Mxf8f6f4, 3) => Type::E2m3,
        (F8f6f4 | Mxf8f6f4, 4) => Type::E3m2,
        (F8f6f4 | Mxf8f6f4, 5) | (Mxf4 | Mxf4nvf4, 1) => Type::E2m1,
        _ => return None,
    })
}
