//! Tensor maps as this device encodes them, and the tiles that tensor copies move.
//!
//! The 128 bytes of a map are opaque to programs (`CUtensorMap`), so the layout is the device's own,
//! little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | address of the tensor |
//! | 8..12 | `PRLT` |
//! | 12..17 | rank less 1, element type, interleaving, swizzle, fill: the numbers of `tensormap.replace` |
//! | 24..44 | five sizes, elements, 0 for 2^32 |
//! | 48..80 | four strides, bytes |
//! | 80..100 | five sizes of the tile |
//! | 100..120 | five steps |
//!
//! A tile is copied row by row, a row being its elements along the first dimension; in shared memory the rows
//! lie one after the other and 16-byte pieces change places by their address (PTX ISA, Tensors: Tiled Mode,
//! Swizzling Modes).
//!
//! # Invariants
//! A map is checked by the rules of `cuTensorMapEncodeTiled` each time that it is used.
//!
//! # Limitations
//! Missing are interleaved layouts, im2col, types `f32.ftz` and `tf32`; swizzled tiles whose rows are not as
//! wide as the pattern, for which no layout is documented. What fills a tile with NaN is the canonical NaN.

use prlx_driver::tensor_map::{BYTES, Swizzle, TensorMap};
use prlx_trace::kernel::Scalar;

use crate::code::{Rmw, TensorMapField, TensorReduction};
use crate::error::{EmuError, invalid};
use crate::mem::access;
use crate::mem::{Memory, Region};

const MAGIC: u32 = u32::from_le_bytes(*b"PRLT");
/// Element types by their number in `tensormap.replace`.
const TYPES: [Option<Scalar>; 13] = [
    Some(Scalar::U8),
    Some(Scalar::U16),
    Some(Scalar::U32),
    Some(Scalar::S32),
    Some(Scalar::U64),
    Some(Scalar::S64),
    Some(Scalar::F16),
    Some(Scalar::F32),
    None,
    Some(Scalar::F64),
    Some(Scalar::Bf16),
    None,
    None,
];

impl TensorMapField {
    /// The first byte of the field, and its length in bytes.
    fn place(self) -> (usize, usize) {
        let at = |i: u8, most: u8| usize::from(i.min(most));
        match self {
            TensorMapField::Address => (0, 8),
            TensorMapField::Rank => (12, 1),
            TensorMapField::Type => (13, 1),
            TensorMapField::Interleave => (14, 1),
            TensorMapField::Swizzle => (15, 1),
            TensorMapField::Fill => (16, 1),
            TensorMapField::Size(i) => (24 + 4 * at(i, 4), 4),
            TensorMapField::Stride(i) => (48 + 8 * at(i, 3), 8),
            TensorMapField::Tile(i) => (80 + 4 * at(i, 4), 4),
            TensorMapField::Step(i) => (100 + 4 * at(i, 4), 4),
        }
    }
    /// Writes the field in a tensor map.
    pub fn set(self, map: &mut [u8; BYTES], v: u64) {
        let (at, n) = self.place();
        map[at..at + n].copy_from_slice(&v.to_le_bytes()[..n]);
        map[8..12].copy_from_slice(&MAGIC.to_le_bytes());
    }
    fn get(self, map: &[u8; BYTES]) -> u64 {
        let (at, n) = self.place();
        let mut v = [0; 8];
        v[..n].copy_from_slice(&map[at..at + n]);
        u64::from_le_bytes(v)
    }
}

/// The bytes of a map over a tensor at `at`.
///
/// # Errors
/// What is wrong with the map.
pub fn encode(at: u64, map: &TensorMap) -> Result<[u8; BYTES], EmuError> {
    map.check().map_err(invalid)?;
    if !at.is_multiple_of(16) {
        return Err(invalid(format!("a tensor at {at:#x}, which is not a multiple of 16")));
    }
    let ty = match map.ty {
        Scalar::S8 => Scalar::U8,
        Scalar::S16 => Scalar::U16,
        ty => ty,
    };
    let mut out = [0; BYTES];
    let number = TYPES.iter().position(|t| *t == Some(ty)).unwrap_or(TYPES.len());
    TensorMapField::Address.set(&mut out, at);
    TensorMapField::Rank.set(&mut out, map.sizes.len() as u64 - 1);
    TensorMapField::Type.set(&mut out, number as u64);
    TensorMapField::Swizzle
        .set(&mut out, Swizzle::ALL.iter().position(|(_, s)| *s == map.swizzle).unwrap_or(0) as u64);
    TensorMapField::Fill.set(&mut out, map.nan.into());
    for i in 0..map.sizes.len() {
        let n = i as u8;
        TensorMapField::Size(n).set(&mut out, map.sizes[i]);
        TensorMapField::Tile(n).set(&mut out, map.tile[i].into());
        TensorMapField::Step(n).set(&mut out, map.steps[i].into());
        if let Some(&bytes) = map.strides.get(i) {
            TensorMapField::Stride(n).set(&mut out, bytes);
        }
    }
    Ok(out)
}

/// The address of the tensor of a map, and the other fields.
///
/// # Errors
/// What is wrong with the map.
pub fn decode(bytes: &[u8; BYTES]) -> Result<(u64, TensorMap), EmuError> {
    if u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) != MAGIC {
        return Err(invalid("these 128 bytes are no tensor map of this device"));
    }
    let (rank, number) = (TensorMapField::Rank.get(bytes) + 1, TensorMapField::Type.get(bytes) as usize);
    if rank > 5 {
        return Err(invalid(format!("it has {rank} dimensions; there are at most 5")));
    }
    let ty = TYPES.get(number).copied().flatten();
    let ty = ty.ok_or_else(|| {
        invalid(format!("its element type, number {number} of `tensormap.replace`, is not implemented"))
    })?;
    if TensorMapField::Interleave.get(bytes) != 0 {
        return Err(invalid("interleaved layouts are not implemented"));
    }
    let swizzle = Swizzle::ALL.get(TensorMapField::Swizzle.get(bytes) as usize);
    let whole = |n: u64| if n == 0 { 1 << 32 } else { n };
    let map = TensorMap {
        ty,
        sizes: (0..rank as u8).map(|i| whole(TensorMapField::Size(i).get(bytes))).collect(),
        strides: (1..rank as u8).map(|i| TensorMapField::Stride(i - 1).get(bytes)).collect(),
        tile: (0..rank as u8).map(|i| TensorMapField::Tile(i).get(bytes) as u32).collect(),
        steps: (0..rank as u8).map(|i| TensorMapField::Step(i).get(bytes) as u32).collect(),
        swizzle: swizzle.ok_or_else(|| invalid("its swizzle is not implemented"))?.1,
        nan: TensorMapField::Fill.get(bytes) == 1,
    };
    map.check().map_err(|e| invalid(e.replace('`', "")))?;
    let at = TensorMapField::Address.get(bytes);
    if !at.is_multiple_of(16) {
        return Err(invalid(format!("its tensor lies at {at:#x}, which is not a multiple of 16")));
    }
    Ok((at, map))
}

/// A tile of a tensor.
#[derive(Clone, Debug)]
pub struct Tile {
    at: u64,
    map: TensorMap,
    /// The coordinates of the first element.
    first: [i32; 5],
}

/// A row of a tile in global memory. `bytes` of the row, from offset `from` on, lie at the address `at`; the
/// rest lies outside the tensor.
pub struct TileRow {
    /// The address of the first byte inside the tensor.
    pub at: u64,
    from: usize,
    /// How many bytes lie inside the tensor.
    pub bytes: usize,
}

impl Tile {
    /// The tile of the map in `bytes` that begins at `first`.
    ///
    /// # Errors
    /// The map is invalid or not supported, or the number of coordinates is wrong.
    pub fn new(bytes: &[u8; BYTES], first: &[i32]) -> Result<Tile, EmuError> {
        let (at, map) = decode(bytes)?;
        if map.sizes.len() != first.len() {
            return Err(invalid(format!(
                "it has {} dimensions, and {} coordinates are given",
                map.sizes.len(),
                first.len()
            )));
        }
        if map.swizzle != Swizzle::None
            && map.tile[0] as u64 * map.element() != u64::from(map.swizzle.width())
        {
            return Err(invalid("a swizzle of rows that are not as wide as it is not implemented"));
        }
        // Not documented; an H200 reports "illegal instruction"
        // (bench/runs/2026-11-20-h200-tensor-copies.md).
        let begin = i64::from(first[0]) * map.element() as i64;
        if begin % 16 != 0 {
            return Err(invalid(format!(
                "a tile that begins at {}, {begin} bytes into a row, not at a multiple of 16",
                first[0]
            )));
        }
        let mut all = [0; 5];
        all[..first.len()].copy_from_slice(first);
        Ok(Tile { at, map, first: all })
    }
    /// Checks a tile that is stored or reduced: it may end behind the tensor, but not begin before it.
    ///
    /// # Errors
    /// A coordinate is negative.
    pub fn storable(self) -> Result<Tile, EmuError> {
        // Not documented; observed on the same H200.
        match self.first.iter().position(|&x| x < 0) {
            None => Ok(self),
            Some(d) => Err(invalid(format!(
                "a tile that begins at {} along dimension {d}: only a load may begin before the tensor",
                self.first[d]
            ))),
        }
    }
    /// The bytes of a row.
    fn row(&self) -> usize {
        self.map.tile[0] as usize * self.map.element() as usize
    }
    /// The number of elements in shared memory along a dimension other than the first.
    fn count(&self, d: usize) -> u64 {
        u64::from(self.map.tile[d].div_ceil(self.map.steps[d]))
    }
    /// The bytes of the tile in shared memory.
    pub fn bytes(&self) -> u64 {
        (1..self.map.tile.len()).fold(self.row() as u64, |n, d| n.saturating_mul(self.count(d)))
    }
    /// The rows of the tile in global memory, in the order of shared memory.
    pub fn rows(&self) -> impl Iterator<Item = TileRow> {
        let (rank, size) = (self.map.sizes.len(), self.map.element());
        let rows = self.bytes() / self.row().max(1) as u64;
        (0..rows).map(move |mut i| {
            let (mut at, mut inside) = (self.at, true);
            for d in 1..rank {
                let x = i64::from(self.first[d]) + (i % self.count(d)) as i64 * i64::from(self.map.steps[d]);
                i /= self.count(d);
                inside &= x >= 0 && (x as u64) < self.map.sizes[d];
                at = at.wrapping_add((x as u64).wrapping_mul(self.map.strides[d - 1]));
            }
            let x = i64::from(self.first[0]);
            let last = (x + i64::from(self.map.tile[0])).min(self.map.sizes[0].min(i64::MAX as u64) as i64);
            let n = if inside { (last - x.max(0)).max(0) as u64 } else { 0 };
            let from = if n > 0 { (x.max(0) - x) as u64 } else { 0 };
            let at = at.wrapping_add((x.max(0) as u64).wrapping_mul(size));
            TileRow { at, from: (from * size) as usize, bytes: (n * size) as usize }
        })
    }
    /// Calls `f` with each part that has a place in global memory and one in shared memory, for a tile at
    /// `at` there: region and place in global memory, place in shared memory, bytes. Parts are at most 16
    /// bytes.
    pub fn parts(&self, memory: &Memory, at: u64, mut f: impl FnMut(&Region, u64, u64, u64)) {
        let (rows, row): (Vec<TileRow>, usize) = (self.rows().collect(), self.row().max(1));
        self.pieces(at, |at, i| {
            let mut i = i;
            let end = i + 16;
            // A piece may have several narrow rows.
            while i < end {
                let (k, inside) = (i / row, i % row);
                let n = (row - inside).min(end - i);
                if let Some(r) = rows.get(k) {
                    let (first, last) = (inside.max(r.from), (inside + n).min(r.from + r.bytes));
                    if first < last
                        && let Ok((region, off)) = find_row(memory, r)
                    {
                        let (skip, into) = ((first - r.from) as u64, (first - inside + i + 16 - end) as u64);
                        f(region, off + skip, at + into, (last - first) as u64);
                    }
                }
                i += n;
            }
        });
    }
    /// Reads the tile from the tensor.
    ///
    /// # Errors
    /// A row does not lie in one allocation.
    pub fn read(&self, memory: &Memory) -> Result<Vec<u8>, EmuError> {
        let size = self.map.element() as usize;
        let nan: u64 = match self.map.ty {
            _ if !self.map.nan => 0,
            Scalar::F64 => 0x7fff_ffff_ffff_ffff,
            Scalar::F32 => 0x7fff_ffff,
            _ => 0x7fff,
        };
        let mut out = nan.to_le_bytes()[..size].repeat(self.bytes() as usize / size);
        for (row, out) in self.rows().zip(out.chunks_exact_mut(self.row())) {
            if row.bytes > 0 {
                let (region, off) = find_row(memory, &row)?;
                region.read(off, &mut out[row.from..row.from + row.bytes]);
            }
        }
        Ok(out)
    }
    /// Writes the part of the tile inside the tensor, or reduces it into the tensor.
    ///
    /// # Errors
    /// A row does not lie in one allocation.
    pub fn write(
        &self,
        memory: &Memory,
        data: &[u8],
        reduce: Option<TensorReduction>,
    ) -> Result<(), EmuError> {
        let rmw = reduce.map(|r| r.on(self.map.ty)).transpose()?;
        let size = self.map.element() as u8;
        for (row, data) in self.rows().zip(data.chunks_exact(self.row())) {
            if row.bytes == 0 {
                continue;
            }
            let (region, off) = find_row(memory, &row)?;
            let data = &data[row.from..row.from + row.bytes];
            match rmw {
                None => region.write(off, data),
                Some(rmw) => reduce_into(region, off, data, rmw, size),
            }
        }
        Ok(())
    }
    /// Calls `f` with each 16-byte piece: its place in shared memory for a tile at `at`, a multiple of 128,
    /// and in the tile's bytes. A piece stays in its row, for a row is as wide as the pattern.
    pub fn pieces(&self, at: u64, mut f: impl FnMut(u64, usize)) {
        let phases = u64::from(self.map.swizzle.width() / 16 - 1);
        for i in (0..self.bytes()).step_by(16) {
            let plain = at + i;
            f(plain ^ (plain >> 7 & phases) << 4, i as usize);
        }
    }
}

fn find_row<'a>(memory: &'a Memory, row: &TileRow) -> Result<(&'a Region, u64), EmuError> {
    memory.range(row.at, row.bytes as u64).ok_or_else(|| {
        let (n, at) = (row.bytes, row.at);
        invalid(format!(
            "{n} bytes of the tensor at {at:#x}, which are not all there: {}",
            memory.describe_near(at)
        ))
    })
}

/// Updates the elements at `off` with the elements of `data`.
pub fn reduce_into(region: &Region, off: u64, data: &[u8], rmw: Rmw, size: u8) {
    for (i, bytes) in data.chunks_exact(size.into()).enumerate() {
        let mut v = [0; 8];
        v[..bytes.len()].copy_from_slice(bytes);
        let v = u64::from_le_bytes(v);
        region.update(off + i as u64 * u64::from(size), size, |old| access::rmw(rmw, size, old, v, 0));
    }
}

impl TensorReduction {
    /// The reduction with a PTX name.
    pub fn named(name: &str) -> Option<TensorReduction> {
        use TensorReduction::{Add, And, Dec, Inc, Max, Min, Or, Xor};
        let all = [
            ("add", Add),
            ("min", Min),
            ("max", Max),
            ("inc", Inc),
            ("dec", Dec),
            ("and", And),
            ("or", Or),
            ("xor", Xor),
        ];
        all.into_iter().find(|(n, _)| *n == name).map(|(_, r)| r)
    }
    /// On elements of a type (PTX ISA, cp.reduce.async.bulk; what tensor copies take was tried on an H200 and
    /// is the same).
    ///
    /// # Errors
    /// PTX has no such reduction for the type.
    pub fn on(self, ty: Scalar) -> Result<Rmw, EmuError> {
        use Scalar::{Bf16, F16, F32, F64, S32, S64, U32, U64};
        let extreme = |max, bf16| Rmw::Extreme16 { max, bf16, pair: false };
        Ok(match (self, ty) {
            (TensorReduction::Add, F16) => Rmw::AddF16,
            (TensorReduction::Add, Bf16) => Rmw::AddBf16,
            (TensorReduction::Add, F32) => Rmw::AddF32 { flush: false },
            (TensorReduction::Add, F64) => Rmw::AddF64,
            (TensorReduction::Add, U32 | S32 | U64) => Rmw::Add,
            (TensorReduction::Min | TensorReduction::Max, F16 | Bf16) => {
                extreme(self == TensorReduction::Max, ty == Bf16)
            }
            (TensorReduction::Min, S32 | S64) => Rmw::MinS,
            (TensorReduction::Max, S32 | S64) => Rmw::MaxS,
            (TensorReduction::Min, U32 | U64) => Rmw::MinU,
            (TensorReduction::Max, U32 | U64) => Rmw::MaxU,
            (TensorReduction::Inc, U32) => Rmw::Inc,
            (TensorReduction::Dec, U32) => Rmw::Dec,
            (TensorReduction::And, U32 | S32 | U64) => Rmw::And,
            (TensorReduction::Or, U32 | S32 | U64) => Rmw::Or,
            (TensorReduction::Xor, U32 | S32 | U64) => Rmw::Xor,
            _ => return Err(invalid(format!("there is no such reduction of {}", ty.name()))),
        })
    }
}
