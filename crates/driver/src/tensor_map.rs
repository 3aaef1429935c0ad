//! Tensor maps: descriptors of a tensor in global memory for tensor copies (TMA).
//!
//! A [`TensorMap`] has the arguments of CUDA's `cuTensorMapEncodeTiled`. Each driver encodes it as 128 opaque
//! bytes in its own way ([`Driver::tensor_map`](crate::Driver::tensor_map)).
//!
//! # Invariants
//! CUDA accepts every map that passes [`TensorMap::check`].
//!
//! # Limitations
//! Interleaved layouts, im2col, L2 promotion, and the types `tf32` and flush-to-zero `f32` are not supported.

use prlx_trace::kernel::Scalar;

use crate::element;

/// Size of an encoded map in bytes.
pub const BYTES: usize = 128;

/// Permutation of 16-byte pieces in shared memory, so that the columns of a tile lie in different banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Swizzle {
    /// Pieces are not permuted.
    #[default]
    None,
    /// Permutes within 32 bytes.
    B32,
    /// Permutes within 64 bytes.
    B64,
    /// Permutes within 128 bytes.
    B128,
}

impl Swizzle {
    /// All kinds, with their names in launch files.
    pub const ALL: [(&str, Swizzle); 4] =
        [("none", Swizzle::None), ("32B", Swizzle::B32), ("64B", Swizzle::B64), ("128B", Swizzle::B128)];
    /// Number of bytes within which pieces are permuted; 16 means no permutation.
    pub const fn width(self) -> u32 {
        match self {
            Swizzle::None => 16,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128 => 128,
        }
    }
}

/// A tiled tensor map. Lists are ordered by dimension as in CUDA: contiguous dimension first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// Type of the elements. CUDA has no signed 8-bit and 16-bit types here: these count as unsigned.
    pub ty: Scalar,
    /// Size of the tensor in elements.
    pub sizes: Vec<u64>,
    /// Distance from one element to the next in bytes, for every dimension but the first.
    pub strides: Vec<u64>,
    /// Size of a tile in elements, before `steps` skips any.
    pub tile: Vec<u32>,
    /// Traversal stride: one of so many elements is copied. The stride of the first dimension is ignored.
    pub steps: Vec<u32>,
    /// Swizzle of the tile in shared memory.
    pub swizzle: Swizzle,
    /// Whether elements outside the tensor read as NaN instead of 0.
    pub nan: bool,
}

impl TensorMap {
    /// Size of an element in bytes.
    pub fn element(&self) -> u64 {
        element::size(self.ty) as u64
    }
    /// Bytes from the tensor's first element to the end of its last.
    pub fn extent(&self) -> u128 {
        let outer = self.sizes.iter().skip(1).zip(&self.strides);
        let last: u128 = outer.map(|(&n, &s)| u128::from(n.saturating_sub(1)) * u128::from(s)).sum();
        last + u128::from(self.sizes.first().copied().unwrap_or(0)) * u128::from(self.element())
    }
    /// Checks whether CUDA would encode the map (CUDA driver API, "Tensor Map Object Management").
    ///
    /// # Errors
    /// If it would not. The text begins with the launch file's key that is wrong.
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
