//! Tensor maps: what tensor copies (TMA) have to know of a tensor in global memory.
//!
//! A [`TensorMap`] says what CUDA's `cuTensorMapEncodeTiled` is told; each driver makes 128 opaque bytes of
//! it, in its own way ([`Driver::tensor_map`](crate::Driver::tensor_map)).
//!
//! # Invariants
//! A checked map is one that CUDA would take. Misses: interleaved layouts, im2col, L2 promotion, the types
//! `tf32` and `f32` that flush.

use prlx_trace::kernel::Scalar;

use crate::element;

/// Bytes of an encoded map.
pub const BYTES: usize = 128;

/// How 16-byte pieces of shared memory change places, so that columns of a tile lie in different banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Swizzle {
    /// They don't.
    #[default]
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    /// All, by the name that launch files use.
    pub const ALL: [(&str, Swizzle); 4] =
        [("none", Swizzle::None), ("32B", Swizzle::B32), ("64B", Swizzle::B64), ("128B", Swizzle::B128)];
    /// Bytes within which pieces change places; 16: they don't.
    pub const fn width(self) -> u32 {
        match self {
            Swizzle::None => 16,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128 => 128,
        }
    }
}

/// A tiled tensor map. Lists go by dimension, the one whose elements lie next to each other first, as in
/// CUDA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// Type of the elements; signed bytes and 16-bit integers count as unsigned ones.
    pub ty: Scalar,
    /// Elements of the tensor.
    pub sizes: Vec<u64>,
    /// Bytes from one element to the next, for every dimension but the first.
    pub strides: Vec<u64>,
    /// Elements of a tile, before steps leave some out.
    pub tile: Vec<u32>,
    /// Of so many elements one is copied; the first dimension's is ignored.
    pub steps: Vec<u32>,
    /// Swizzle of the tile in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside the tensor are NaN, not 0.
    pub nan: bool,
}

impl TensorMap {
    /// Bytes of an element.
    pub fn element(&self) -> u64 {
        element::size(self.ty) as u64
    }
    /// Bytes from the tensor's first element to the end of its last.
    pub fn extent(&self) -> u128 {
        let outer = self.sizes.iter().skip(1).zip(&self.strides);
        let last: u128 = outer.map(|(&n, &s)| u128::from(n.saturating_sub(1)) * u128::from(s)).sum();
        last + u128::from(self.sizes.first().copied().unwrap_or(0)) * u128::from(self.element())
    }
    /// Whether CUDA would encode it (CUDA driver API, Tensor Map Object Management).
    ///
    /// # Errors
    /// What is wrong, in words that name the launch file's key.
    pub fn check(&self) -> Result<(), String> {
        let rank = self.sizes.len();
        if !(1..=5).contains(&rank) {
            return Err(format!("`sizes`: a tensor has 1 to 5 dimensions, not {rank}"));
        }
        let known = matches!(
            self.ty,
            Scalar::U64 | Scalar::S64 | Scalar::F64 | Scalar::U32 | Scalar::S32 | Scalar::F32
        ) || matches!(
            self.ty,
            Scalar::U16 | Scalar::S16 | Scalar::F16 | Scalar::Bf16 | Scalar::U8 | Scalar::S8
        );
        if !known {
            return Err(format!("`type`: there are no tensor maps of {}", self.ty.name()));
        }
        let lists = [
            ("strides", self.strides.len(), rank - 1),
            ("box", self.tile.len(), rank),
            ("steps", self.steps.len(), rank),
        ];
        for (name, has, needs) in lists {
            if has != needs {
                return Err(format!(
                    "`{name}`: it has {has} numbers where a tensor of {rank} dimensions needs {needs}"
                ));
            }
        }
        if let Some(n) = self.sizes.iter().find(|&&n| n == 0 || n > 1 << 32) {
            return Err(format!("`sizes`: {n} is not between 1 and 2^32"));
        }
        if let Some(n) = self.strides.iter().find(|&&n| !n.is_multiple_of(16) || n >= 1 << 40) {
            return Err(format!("`strides`: {n} bytes is not a multiple of 16 below 2^40"));
        }
        if let Some(n) = self.tile.iter().find(|&&n| n == 0 || n > 256) {
            return Err(format!("`box`: {n} is not between 1 and 256"));
        }
        if let Some(n) = self.steps.iter().find(|&&n| n == 0 || n > 8) {
            return Err(format!("`steps`: {n} is not between 1 and 8"));
        }
        let row = u64::from(self.tile[0]) * self.element();
        if !row.is_multiple_of(16) {
            return Err(format!("`box`: a row of {row} bytes is not a multiple of 16"));
        }
        if self.swizzle != Swizzle::None && row > self.swizzle.width().into() {
            let width = self.swizzle.width();
            return Err(format!("`box`: a row of {row} bytes is more than the {width} that are swizzled"));
        }
        if self.nan && !element::is_float(self.ty) {
            return Err(format!("`oob`: a {} can't be NaN", self.ty.name()));
        }
        Ok(())
    }
}
