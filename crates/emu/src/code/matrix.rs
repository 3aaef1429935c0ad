//! Matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `wmma`, `wgmma`.

use prlx_isa::view::Type;

use super::memory::MemAccess;

/// A step of `wgmma`, which a warp runs as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WgmmaStep {
    /// `wgmma.fence`
    Fence,
    /// `wgmma.mma_async`: index into [`Code::products`](super::Code::products).
    Begin(u32),
    /// `wgmma.commit_group`
    Commit,
    /// `wgmma.wait_group`: wait until at most this many groups are in flight.
    Wait(u32),
}

/// `wgmma.mma_async`: D = A·B + D, with 64 rows per warpgroup and 16 per warp.
#[derive(Clone, Debug)]
pub struct Wgmma {
    /// Columns of B and D.
    pub n: u32,
    /// Element types of D, A and B.
    pub types: [Type; 3],
    /// The planes of D.
    pub d: Vec<u16>,
    /// Where A is.
    pub a: WgmmaA,
    /// The 64-bit plane of the descriptor of B.
    pub b: u16,
    /// The predicate plane that says whether D is added (else D starts at zero).
    pub scale_d: u16,
    /// Whether A and B are negated.
    pub negate: [bool; 2],
    /// Whether A is stored column by column, and B row by row, instead of along k.
    pub transpose: [bool; 2],
    /// Whether integer sums saturate.
    pub saturate: bool,
}

/// Where the matrix A of a `wgmma` is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WgmmaA {
    /// In four registers of each lane.
    Registers([u16; 4]),
    /// In shared memory: the 64-bit plane of its descriptor.
    Shared(u16),
}

/// A matrix operation of a whole warp.
#[derive(Clone, Debug)]
pub enum MatrixOp {
    /// `ldmatrix`: loads 8×8 tiles; `planes[i]` of the access receives tile `i`.
    Load {
        /// Address: each lane gives a row.
        mem: MemAccess,
        /// Transposes the tiles.
        trans: bool,
    },
    /// `stmatrix`.
    Store {
        /// Address and tiles.
        mem: MemAccess,
        /// Transposes the tiles.
        trans: bool,
    },
    /// `mma`, `wmma.mma`.
    Mma(Box<Mma>),
    /// `wmma.load`, `wmma.store`.
    Tile(Box<WmmaTile>),
    /// `movmatrix`.
    Transpose {
        /// The plane of the result.
        dst: u16,
        /// The plane of the tile.
        src: u16,
    },
}

/// `mma`: D = A·B + C.
#[derive(Clone, Debug)]
pub struct Mma {
    /// Rows of A, C and D.
    pub m: u32,
    /// Columns of B, C and D.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Element types of D, A, B and C.
    pub types: [Type; 4],
    /// The planes of D, A, B and C.
    pub planes: [Vec<u16>; 4],
    /// Whether integer sums saturate.
    pub saturate: bool,
    /// Whether single bits are multiplied by `and`; else by `xor`.
    pub and: bool,
    /// Whether the fragments have the layout that this device uses for `wmma`, which PTX leaves open. Element
    /// `i` of lane `l`, with `n` elements per lane, is element `l·n + i` of the matrix, row by row (B: column
    /// by column). Registers beyond the matrix repeat it.
    pub linear: bool,
}

/// A `wmma` fragment and the matrix in memory that it is loaded from or stored to.
#[derive(Clone, Debug)]
pub struct WmmaTile {
    /// The first element, the same for all lanes. The planes are the fragment.
    pub mem: MemAccess,
    /// The plane of the distance between rows (columns, if `col`), in elements; `None`: they are adjacent.
    pub stride: Option<u16>,
    /// Divisor of that distance: elements narrower than a byte are addressed by words.
    pub unit: u32,
    /// Rows (for B: columns).
    pub rows: u32,
    /// Columns (for B: rows).
    pub cols: u32,
    /// Whether the matrix lies in memory column by column.
    pub col: bool,
    /// Bits of an element, or of a word of elements.
    pub bits: u32,
    /// Whether this is a store.
    pub store: bool,
}
