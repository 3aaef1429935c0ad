//! The tensor map that a call of `cuTensorMapEncodeTiled` describes.
//!
//! # Limitations
//! Maps that [`TensorMap`] cannot express are not read.
#![allow(unsafe_code, reason = "the arguments of a C call are pointers")]

use std::slice::from_raw_parts;

use prlx_trace::kernel::Scalar;

use crate::cuda::calls;
use crate::tensor_map::{Swizzle, TensorMap};

/// The arguments of `cuTensorMapEncodeTiled` that describe a map, as cuda.h has them.
#[derive(Clone, Copy, Debug)]
pub struct TiledMapCall {
    /// Type of the elements (`CUtensorMapDataType`).
    pub element: i32,
    /// Number of dimensions.
    pub rank: u32,
    /// Sizes of the tensor, `rank` of them.
    pub sizes: *const u64,
    /// Strides in bytes, `rank - 1` of them.
    pub strides: *const u64,
    /// Sizes of a tile, `rank` of them.
    pub tile: *const u32,
    /// Traversal strides, `rank` of them.
    pub steps: *const u32,
    /// How channels are packed (`CUtensorMapInterleave`): 0 for not at all.
    pub interleave: i32,
    /// How pieces of a tile are permuted (`CUtensorMapSwizzle`).
    pub swizzle: i32,
    /// What is read outside of the tensor (`CUtensorMapFloatOOBfill`).
    pub fill: i32,
}

impl TiledMapCall {
    /// The map. `None` if an argument is invalid, or if no [`TensorMap`] is like it.
    ///
    /// # Safety
    /// Each pointer is null or has as many numbers as its field says.
    pub unsafe fn map(&self) -> Option<TensorMap> {
        let name = calls::TENSOR_TYPES.iter().find(|(_, n)| *n == self.element)?.0;
        let ty = *Scalar::ALL.iter().find(|s| s.name() == name)?;
        let swizzle = Swizzle::ALL.get(usize::try_from(self.swizzle).ok()?)?.1;
        let nulls = self.sizes.is_null()
            || self.strides.is_null() && self.rank > 1
            || self.tile.is_null()
            || self.steps.is_null();
        if nulls || !(1..=5).contains(&self.rank) || self.interleave != 0 || !(0..=1).contains(&self.fill) {
            return None;
        }
        let n = self.rank as usize;
        // SAFETY: none of the pointers that are read is null, and the caller promises their lengths.
        let (sizes, strides, tile, steps) = unsafe {
            let strides = if n > 1 { from_raw_parts(self.strides, n - 1) } else { &[] };
            (
                from_raw_parts(self.sizes, n),
                strides,
                from_raw_parts(self.tile, n),
                from_raw_parts(self.steps, n),
            )
        };
        Some(TensorMap {
            ty,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            tile: tile.to_vec(),
            steps: steps.to_vec(),
            swizzle,
            nan: self.fill == 1,
        })
    }
}
