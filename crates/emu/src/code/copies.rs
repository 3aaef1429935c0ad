//! Asynchronous copies and stores, and edits of tensor maps.

use super::memory::{Atomic, MemAccess, Plane, Rmw};

/// `cp.async`: each lane copies up to 16 bytes from global to shared memory.
#[derive(Clone, Debug)]
pub struct LaneCopy {
    /// The destination of the bytes.
    pub dst: MemAccess,
    /// The source of the bytes.
    pub src: MemAccess,
    /// The plane of the number of bytes to copy, if the instruction has it; zeros fill the rest.
    pub size: Option<u16>,
    /// The predicate that replaces the copy by zeros (`ignore-src`).
    pub ignore: Option<u16>,
}

/// `cp.async.bulk`: each lane copies a range of bytes.
#[derive(Clone, Debug)]
pub struct BulkCopy {
    /// The destination of the bytes.
    pub dst: MemAccess,
    /// The source of the bytes.
    pub src: MemAccess,
    /// The plane of the size in bytes.
    pub size: u16,
    /// The mbarrier that counts the bytes.
    pub mbarrier: Option<MemAccess>,
    /// The reduction applied at the destination and the bytes of an element; `None`: the bytes are
    /// overwritten.
    pub reduce: Option<(Rmw, u8)>,
    /// The plane of the mask of receiving CTAs of the cluster; `None`: the CTA that the address names.
    pub multicast: Option<u16>,
}

/// `cp.async.bulk.tensor`: each lane copies a tile of a tensor.
#[derive(Clone, Debug)]
pub struct TensorCopy {
    /// The tensor map.
    pub map: MemAccess,
    /// The planes of the coordinates.
    pub at: Vec<u16>,
    /// The tile in shared memory.
    pub shared: MemAccess,
    /// Whether the copy goes to shared memory; else from it.
    pub load: bool,
    /// The mbarrier that counts the bytes.
    pub mbarrier: Option<MemAccess>,
    /// The reduction applied to each element of the tensor; `None`: elements are overwritten.
    pub reduce: Option<TensorReduction>,
    /// The receiving CTAs, as in [`BulkCopy::multicast`].
    pub multicast: Option<u16>,
}

/// `tensormap.replace`, `tensormap.cp_fenceproxy`: an edit of a tensor map in memory.
#[derive(Clone, Debug)]
pub struct TensorMapOp {
    /// The tensor map.
    pub map: MemAccess,
    /// The edit that the instruction makes.
    pub kind: TensorMapEdit,
}

/// An edit of a tensor map.
#[derive(Clone, Debug)]
pub enum TensorMapEdit {
    /// Set a field to a value.
    Set(TensorMapField, Plane),
    /// Copy another tensor map.
    Copy(MemAccess),
}

/// `st.async`, `red.async`: each lane sends elements to the shared memory of a CTA of the cluster.
#[derive(Clone, Debug)]
pub struct AsyncStore {
    /// What happens to the elements at the destination.
    pub kind: AsyncStoreKind,
    /// The mbarrier that counts their bytes, in the same CTA.
    pub mbarrier: MemAccess,
}

/// What an asynchronous store does at its destination.
#[derive(Clone, Debug)]
pub enum AsyncStoreKind {
    /// Overwrites the elements (`st.async`).
    Store(MemAccess),
    /// Updates the elements (`red.async`).
    Update(Atomic),
}

/// A field of a tensor map, as `tensormap.replace` names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum TensorMapField {
    Address,
    Rank,
    Type,
    Interleave,
    Swizzle,
    Fill,
    Size(u8),
    Stride(u8),
    Tile(u8),
    Step(u8),
}

/// The reduction of a tensor copy, for any element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum TensorReduction {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}
