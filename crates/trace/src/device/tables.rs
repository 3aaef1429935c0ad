//! The layout of a probe program's tables and records in device memory, and the reader of both.
//!
//! All bytes are zero before the launch.
//!
//! **Tables.** A table is rows of 64-bit cells. Kernels change cells with reductions only. If the plan lists
//! the rows, they lie in its order, and a row is its cells. Otherwise rows are found by the [`hash`] of their
//! keys, and a row is the hash (0: free), the keys, the cells. A value goes to the first of [`PROBES`] rows,
//! from the hash's place on, that has this hash or is free. If there is none, the value is lost and counted
//! in the eight bytes before the rows.
//!
//! All warps of a grid update the few rows of a listed table, and atomic operations on one address run one
//! after the other. Such tables therefore have several copies, and each SM uses one of them
//! (`prlx_plan::TableCopies`). The reader merges the copies.
//!
//! A minimum or maximum is kept as the largest number of an encoding that preserves the order of values
//! ([`ordered`]). For a minimum all bits are inverted, so that any value replaces 0. The row's count shows
//! whether there was a value.
//!
//! **Records.** Each warp of the launch has [`Records::warp`] bytes: eight bytes for each variable of
//! the program that a warp or CTA has (those of a CTA are its first warp's), then a part for each record
//! declaration. A warp's part is the number of records written (eight bytes), then the records kept. A part
//! that keeps the last records is a ring. A part that grows is a **log** of all warps: the number of entries
//! requested (eight bytes, those of the launch's first warp), then entries, each the owner's number plus 1
//! and the record. The log continues in the next warp's part.
//!
//! The fields of a record lie in order of decreasing size, so each is at a multiple of its size
//! ([`Part::offsets`]). If a warp keeps one record and each of its threads writes at most one
//! ([`Part::alone`]), the number of records written is at most the number of lanes. It then lies among the
//! fields of two bytes, because the end of a short warp costs as much as it writes.
//!
//! **Records of threads.** Each thread numbers its records from 1. A thread's part has slots of the warp and
//! slots of its lanes; record n is in slot n - 1, modulo the number of slots. A number has four bytes. The
//! first unsigned field of at most four bytes lies behind it ([`Part::beside`]), in four bytes. All
//! other fields take eight bytes each. A lane's own entry is these words, and each word of all lanes is
//! contiguous, so a warp writes whole sectors of memory. If all lanes of a warp write records with the same
//! number and the same value beside it at once, they are one entry of the warp: the number, the value beside
//! it, the step of each other field from lane to lane (four bytes, signed); then, at a multiple of 16 bytes,
//! the fields of lane 0 (eight bytes each). A field without a constant step has [`APART`] there and lies in
//! the lanes' own entries. Of the two entries of a slot, the one with the greater number counts. The warp's
//! slots come first, then those of all lanes, slot by slot. If the first records are kept, the part begins
//! with the number of records that each lane wrote, in eight bytes; it is 0 unless that is more than are
//! kept.
//!
//! # Invariants
//! Reading never panics and allocates in proportion to the bytes, whatever they are.
//!
//! # Limitations
//! Two rows with several keys may have the same hash and share a row. Among a million rows, the probability
//! is one in 30 million. Rows with one key cannot collide. A thread's records are numbered in 32 bits.

use std::collections::BTreeMap;

use crate::ids::WarpSize;
use crate::kernel::Scalar;
use crate::narrow::{index, low32};
use crate::table::{Aggregate, Row};

/// Number of rows that are tried for a key.
pub const PROBES: u64 = 8;
/// Bytes before the rows of a table whose rows are found by hash. They hold the number of lost values.
pub const LOST: u64 = 8;
/// In place of a field's step from lane to lane: there is none, and each lane has its own value.
pub const APART: i32 = i32::MIN;
/// The multiplier of [`hash`].
pub const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash of keys, never 0. For single keys, different keys have different hashes, except the one key whose
/// hash would be 0.
pub fn hash(keys: &[u64]) -> u64 {
    let mixed = keys.iter().fold(0u64, |h, key| {
        let h = (h ^ key).wrapping_mul(MULTIPLIER);
        h ^ h >> 32
    });
    mixed.max(1)
}

/// The layout of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// Offset of its first byte from the first byte of all tables.
    pub at: u64,
    /// How the row of a key is found.
    pub rows: Rows,
    /// How values are aggregated in a row.
    pub aggregate: Aggregate,
    /// The 64-bit type of values: [`Scalar::U64`], [`Scalar::S64`] or [`Scalar::F64`].
    pub ty: Scalar,
}

/// How the row of a key is found.
#[derive(Clone, PartialEq, Debug)]
pub enum Rows {
    /// The plan lists all rows: the keys of each, in memory order.
    Known(Vec<Vec<u64>>),
    /// By a hash of the keys.
    Hashed {
        /// Number of keys of a row.
        keys: usize,
        /// Base-2 logarithm of the number of rows, 3 to 32.
        log: u32,
    },
}

impl Layout {
    /// Bytes of a row.
    pub fn row(&self) -> u64 {
        let cells = 8 * self.aggregate.cells(0) as u64;
        match self.rows {
            Rows::Known(_) => cells,
            Rows::Hashed { keys, .. } => cells + 8 + 8 * keys as u64,
        }
    }
    /// Bytes of the table.
    pub fn bytes(&self) -> u64 {
        match &self.rows {
            Rows::Known(rows) => self.row() * rows.len() as u64,
            Rows::Hashed { log, .. } => LOST + (self.row() << log),
        }
    }
    /// Reads the rows that have values, by ascending keys, and the number of lost values. `all` is the memory
    /// of all tables.
    pub fn read(&self, all: &[u8]) -> (Vec<Row>, u64) {
        let size = index(self.row());
        let own = all.get(index(self.at)..).unwrap_or_default();
        let own = own.get(..index(self.bytes())).unwrap_or(own);
        let words =
            |bytes: &[u8]| bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect::<Vec<u64>>();
        let (mut rows, mut lost) = (Vec::new(), 0);
        match &self.rows {
            Rows::Known(known) => {
                let found = known.iter().zip(own.chunks_exact(size));
                rows.extend(found.map(|(key, bytes)| Row { key: key.clone(), cells: words(bytes) }));
            }
            Rows::Hashed { keys, .. } => {
                lost = words(own).first().copied().unwrap_or_default();
                for bytes in own.get(index(LOST)..).unwrap_or_default().chunks_exact(size) {
                    if let Some((1.., rest)) = words(bytes).split_first()
                        && let Some((key, cells)) = rest.split_at_checked(*keys)
                    {
                        rows.push(Row { key: key.to_vec(), cells: cells.to_vec() });
                    }
                }
            }
        }
        rows.retain(|r| r.cells.iter().any(|c| *c != 0) || matches!(self.aggregate, Aggregate::Sum));
        if let Aggregate::Min | Aggregate::Max = self.aggregate {
            for value in rows.iter_mut().filter_map(|r| r.cells.get_mut(1)) {
                let kept = if self.aggregate == Aggregate::Min { !*value } else { *value };
                *value = from_ordered(kept, self.ty);
            }
        }
        rows.sort_unstable();
        (rows, lost)
    }
}

/// Encodes a value's bits as a number, such that numbers compare as values of type `ty` do. Floats compare in
/// IEEE 754's total order.
pub fn ordered(bits: u64, ty: Scalar) -> u64 {
    const TOP: u64 = 1 << 63;
    match ty {
        Scalar::S64 => bits ^ TOP,
        Scalar::F64 if bits & TOP != 0 => !bits,
        Scalar::F64 => bits ^ TOP,
        _ => bits,
    }
}

/// The inverse of [`ordered`].
pub fn from_ordered(number: u64, ty: Scalar) -> u64 {
    const TOP: u64 = 1 << 63;
    match ty {
        Scalar::S64 => number ^ TOP,
        Scalar::F64 if number & TOP == 0 => !number,
        Scalar::F64 => number ^ TOP,
        _ => number,
    }
}

/// The layout of a program's records in the bytes of a warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Records {
    /// One part for each record declaration.
    pub parts: Vec<Part>,
    /// Bytes of one warp.
    pub warp: u64,
}

/// The layout of the records of one declaration: a part of the warp's bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Offset of its first byte in the warp's bytes.
    pub at: u64,
    /// Whether each lane has records of its own. Otherwise the warp has them.
    pub of_lane: bool,
    /// Size of the warps.
    pub warp_size: WarpSize,
    /// Types of a record's fields, in declared order.
    pub fields: Vec<Scalar>,
    /// Number of records kept of each owner.
    pub keep: u32,
    /// Which records those are.
    pub which: Which,
    /// Whether each thread writes at most one record.
    pub once: bool,
}

/// Which records of an owner are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Which {
    /// The first ones.
    #[default]
    First,
    /// The last ones.
    Last,
    /// All that fit into one log of all owners. The log has room for [`Part::keep`] records of each.
    Room,
}

impl Part {
    /// Whether lanes number their own records, and write together if they write alike at once.
    pub fn numbered(&self) -> bool {
        self.of_lane && self.which != Which::Room
    }
    /// Whether the number of records that a warp wrote lies within the one record that is kept of it.
    pub fn alone(&self) -> bool {
        !self.of_lane && self.which != Which::Room && self.keep == 1 && self.once
    }
    /// The byte offset of each field in a record. If the layout is [`Part::alone`], one more offset
    /// follows: that of the number of records written, in two bytes.
    pub fn offsets(&self) -> Vec<u64> {
        let sizes = self.sizes();
        let mut offsets = vec![0; sizes.len()];
        let mut at = 0;
        for size in [8, 4, 2, 1] {
            for (offset, _) in offsets.iter_mut().zip(&sizes).filter(|(_, own)| **own == size) {
                *offset = at;
                at += size;
            }
        }
        offsets
    }
    /// Bytes of each field, and of the number of records if that lies among the fields.
    fn sizes(&self) -> Vec<u64> {
        let fields = self.fields.iter().map(|ty| u64::from(ty.bits().div_ceil(8)).min(8));
        fields.chain(self.alone().then_some(2)).collect()
    }
    /// Bytes of a record: a multiple of four, and of eight if a field has eight.
    pub fn row(&self) -> u64 {
        let sizes = self.sizes();
        let widest = sizes.iter().copied().max().unwrap_or_default();
        sizes.iter().sum::<u64>().next_multiple_of(widest.max(4))
    }
    /// Offset of a warp's first record from the part's first byte.
    pub fn rows(&self) -> u64 {
        if self.alone() { 0 } else { 8 }
    }
    /// Reads the fields of a record, extended to 64 bits, and the number of records if that lies among them.
    fn record(&self, bytes: &[u8]) -> Vec<u64> {
        let types = self.fields.iter().copied().chain([Scalar::U16]);
        let each = self.offsets().into_iter().zip(self.sizes()).zip(types);
        each.map(|((at, size), ty)| {
            let own = bytes.get(index(at)..index(at + size)).unwrap_or_default();
            let bits = own.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            let above = 64 - 8 * low32(size);
            match ty {
                Scalar::F32 => f64::from(f32::from_bits(low32(bits))).to_bits(),
                _ if ty.signed() => (bits << above).cast_signed().wrapping_shr(above).cast_unsigned(),
                _ => bits,
            }
        })
        .collect()
    }
    /// For records of threads: the index of the field that lies beside the number.
    pub fn beside(&self) -> Option<usize> {
        self.fields.iter().position(|ty| matches!(ty, Scalar::Pred | Scalar::U8 | Scalar::U16 | Scalar::U32))
    }
    /// For records of threads: the indices of all other fields.
    pub fn behind(&self) -> Vec<usize> {
        (0..self.fields.len()).filter(|i| Some(*i) != self.beside()).collect()
    }
    /// Bytes of an entry that all lanes write together.
    pub fn joint(&self) -> u64 {
        self.joint_fields() + (8 * self.behind().len() as u64).next_multiple_of(16)
    }
    /// Offset of lane 0's fields in such an entry.
    pub fn joint_fields(&self) -> u64 {
        (8 + 4 * self.behind().len() as u64).next_multiple_of(16)
    }
    /// Bytes of a lane's own entry, a multiple of eight.
    pub fn single(&self) -> u64 {
        8 + 8 * self.behind().len() as u64
    }
    /// Offset of the warp's slots from the part's first byte.
    pub fn joints(&self) -> u64 {
        if self.which == Which::First { 8 * self.owners() } else { 0 }
    }
    /// Offset of the lanes' slots from the part's first byte.
    pub fn singles(&self) -> u64 {
        self.joints() + u64::from(self.keep) * self.joint()
    }
    /// Bytes of the part in each warp.
    pub fn bytes(&self) -> u64 {
        match self.which {
            Which::Room => 8 + self.entries() * self.entry(),
            _ if self.of_lane => self.singles() + u64::from(self.keep) * self.owners() * self.single(),
            _ => (self.rows() + self.row() * u64::from(self.keep)).next_multiple_of(8),
        }
    }
    /// Bytes of a log's entry.
    pub fn entry(&self) -> u64 {
        (8 + self.row()).next_multiple_of(8)
    }
    /// Number of a log's entries in each warp's bytes.
    pub fn entries(&self) -> u64 {
        u64::from(self.keep) * self.owners()
    }
    /// Number of owners in a warp: its lanes, or the warp itself.
    fn owners(&self) -> u64 {
        if self.of_lane { self.warp_size.lanes() } else { 1 }
    }
    /// Reads a lane's records from the part's bytes, with their numbers from 0, and the number that it wrote.
    fn lane(&self, bytes: &[u8], lane: u64) -> (Vec<(u64, Vec<u64>)>, u64) {
        let four = |at: u64| {
            let word = bytes.get(index(at)..).and_then(|b| b.first_chunk()).copied();
            u32::from_le_bytes(word.unwrap_or_default())
        };
        let eight = |at: u64| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        let mut found: Vec<(u64, Vec<u64>)> = Vec::new();
        for slot in 0..u64::from(self.keep) {
            let joint = self.joints() + slot * self.joint();
            let own = self.singles() + slot * self.owners() * self.single() + 8 * lane;
            let (together, alone) = (four(joint), four(own));
            let Some(number) = together.max(alone).checked_sub(1) else { continue };
            let mut fields = vec![0; self.fields.len()];
            if let Some(field) = self.beside().and_then(|beside| fields.get_mut(beside)) {
                *field = four(if alone >= together { own + 4 } else { joint + 4 }).into();
            }
            for (i, behind) in (0u64..).zip(self.behind()) {
                let step = four(joint + 8 + 4 * i).cast_signed();
                let Some(field) = fields.get_mut(behind) else { continue };
                *field = match alone >= together || step == APART {
                    true => eight(own + 8 * self.owners() * (1 + i)),
                    false => {
                        let first = eight(joint + self.joint_fields() + 8 * i);
                        first.wrapping_add_signed(i64::from(step).wrapping_mul(lane.cast_signed()))
                    }
                };
            }
            found.push((number.into(), fields));
        }
        found.sort_unstable_by_key(|r| r.0);
        let most = found.last().map_or(0, |r| r.0.saturating_add(1));
        let more = if self.which == Which::First { eight(8 * lane) } else { 0 };
        (found, most.max(more))
    }
}

impl Records {
    /// Places the parts one after the other, behind `variables` variables of eight bytes.
    pub fn new(variables: usize, parts: Vec<Part>) -> Records {
        let mut records = Records { parts, warp: 8 * variables as u64 };
        // Kernels write such a record with one store of 16 bytes.
        let mut all = 8;
        for part in &mut records.parts {
            let apart = match part.alone() && part.bytes().is_multiple_of(16) {
                // Whole sectors of memory.
                _ if part.numbered() => 32,
                true => 16,
                false => 8,
            };
            part.at = records.warp.next_multiple_of(apart);
            records.warp = part.at + part.bytes();
            all = apart.max(all);
        }
        records.warp = records.warp.next_multiple_of(all);
        records
    }
    /// Reads the records of part `i` from the memory of all warps. The keys of a row are the owner (a warp,
    /// or a thread: the warp times its number of lanes, plus the lane) and the record's number of that
    /// owner, from 0. The cells are the fields. Also returns the number of records that were not kept.
    pub fn read(&self, i: usize, all: &[u8]) -> (Vec<Row>, u64) {
        let (mut rows, mut lost) = (Vec::new(), 0u64);
        let Some(part) = self.parts.get(i).filter(|_| self.warp > 0) else { return (rows, lost) };
        let word = |bytes: &[u8], at: usize| {
            bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
        };
        if part.which == Which::Room {
            return self.log(part, all);
        }
        for (warp, bytes) in all.chunks_exact(index(self.warp)).enumerate() {
            if part.of_lane {
                let own = bytes.get(index(part.at)..).unwrap_or_default();
                for lane in 0..part.owners() {
                    let (records, written) = part.lane(own, lane);
                    lost = lost.saturating_add(written.saturating_sub(records.len() as u64));
                    let key = |n| vec![warp as u64 * part.owners() + lane, n];
                    rows.extend(records.into_iter().map(|(n, cells)| Row { key: key(n), cells }));
                }
                continue;
            }
            let at = index(part.at);
            let record = |slot: u64| {
                let first = at + index(part.rows() + slot * part.row());
                part.record(bytes.get(first..first + index(part.row())).unwrap_or_default())
            };
            let written = match part.alone() {
                true => record(0).last().copied().unwrap_or_default(),
                false => word(bytes, at),
            };
            let kept = written.min(part.keep.into());
            lost = lost.saturating_add(written - kept);
            let first = if part.which == Which::Last { written - kept } else { 0 };
            for n in first..first + kept {
                let mut cells = record(n % u64::from(part.keep.max(1)));
                cells.truncate(part.fields.len());
                rows.push(Row { key: vec![warp as u64, n], cells });
            }
        }
        (rows, lost)
    }

    /// Reads the entries of a log, by owner, each owner's in the order in which it wrote them.
    fn log(&self, part: &Part, all: &[u8]) -> (Vec<Row>, u64) {
        let word = |at: usize| Some(u64::from_le_bytes(*all.get(at..)?.first_chunk()?));
        let written = word(index(part.at)).unwrap_or_default();
        let places = (0..all.len() as u64 / self.warp).flat_map(|warp| {
            let first = warp * self.warp + part.at + 8;
            (0..part.entries()).map(move |i| first + i * part.entry())
        });
        let mut owners: BTreeMap<u64, Vec<Vec<u64>>> = BTreeMap::new();
        let (mut rows, mut kept) = (Vec::new(), 0);
        for at in places.map(index).take(index(written)) {
            // 0: the owner reserved the entry and did not write it.
            let record = all.get(at + 8..).and_then(|b| b.get(..index(part.row())));
            if let (Some(owner @ 1..), Some(record)) = (word(at), record) {
                owners.entry(owner - 1).or_default().push(part.record(record));
                kept += 1;
            }
        }
        for (owner, records) in owners {
            rows.extend(records.into_iter().zip(0..).map(|(cells, n)| Row { key: vec![owner, n], cells }));
        }
        (rows, written.saturating_sub(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_given_back() {
        let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 2.5, f64::INFINITY].map(f64::to_bits);
        let signed = [i64::MIN, -1, 0, 1, i64::MAX].map(i64::cast_unsigned);
        for (values, ty) in [(&floats[..], Scalar::F64), (&signed[..], Scalar::S64)] {
            assert!(values.windows(2).all(|w| ordered(w[0], ty) < ordered(w[1], ty)));
            assert!(values.iter().all(|v| from_ordered(ordered(*v, ty), ty) == *v));
        }
    }

    #[test]
    fn rows_are_read_back() {
        let known = Layout {
            at: 8,
            rows: Rows::Known(vec![vec![7], vec![3]]),
            aggregate: Aggregate::Min,
            ty: Scalar::S64,
        };
        let mut bytes = vec![0; 8];
        for word in [0, 0, 2, !ordered((-4i64).cast_unsigned(), Scalar::S64)] {
            bytes.extend_from_slice(&u64::to_le_bytes(word));
        }
        let row = Row { key: vec![3], cells: vec![2, (-4i64).cast_unsigned()] };
        assert_eq!(known.read(&bytes), (vec![row], 0));
        let hashed = Layout {
            at: 0,
            rows: Rows::Hashed { keys: 1, log: 3 },
            aggregate: Aggregate::Count,
            ty: Scalar::U64,
        };
        assert_eq!((hashed.row(), hashed.bytes()), (24, 8 + 8 * 24));
        let mut words = [0u64; 25];
        words[0] = 5;
        words[1 + 6..1 + 9].copy_from_slice(&[hash(&[9]), 9, 2]);
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(hashed.read(&bytes), (vec![Row { key: vec![9], cells: vec![2] }], 5));
        assert_eq!(hashed.read(&bytes[..100]), (vec![Row { key: vec![9], cells: vec![2] }], 5));
        assert_eq!(hashed.read(&[]), (vec![], 0));
    }

    #[test]
    fn records_are_the_first_or_the_last() {
        let part = |which| Part { fields: vec![Scalar::U64], keep: 2, which, ..Part::default() };
        let records = Records::new(0, vec![part(Which::First), part(Which::Last)]);
        assert_eq!((records.warp, records.parts[1].at), (48, 24));
        let words = [3u64, 10, 11, 3, 12, 11];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let row = |n, value| Row { key: vec![0, n], cells: vec![value] };
        assert_eq!(records.read(0, &bytes), (vec![row(0, 10), row(1, 11)], 1));
        assert_eq!(records.read(1, &bytes), (vec![row(1, 11), row(2, 12)], 1));
    }

    #[test]
    fn fields_lie_by_their_types() {
        use Scalar::*;
        let fields = vec![U16, Pred, F32, U64, S8, S32];
        let part = Part { fields, keep: 3, which: Which::Last, ..Part::default() };
        assert_eq!((part.offsets(), part.row()), (vec![16, 18, 8, 0, 19, 12], 24));
        let small = Part { fields: vec![U16, U8], keep: 3, ..Part::default() };
        assert_eq!((small.offsets(), small.row(), small.bytes()), (vec![0, 2], 4, 24));
        let records = Records::new(0, vec![part.clone(), Part { which: Which::Room, ..part }]);
        assert_eq!((records.warp, records.parts[1].at), (80 + 8 + 3 * 32, 80));
        let mut bytes = vec![0u8; index(records.warp)];
        let mut record = 7u64.to_le_bytes().to_vec();
        record.extend((-1.5f32).to_le_bytes());
        record.extend((-3i32).to_le_bytes());
        record.extend([0xFE, 0xFF, 1, 0xFF]);
        bytes[0] = 2;
        bytes[8 + 24..][..record.len()].copy_from_slice(&record);
        bytes[80] = 1;
        bytes[88] = 5;
        bytes[96..][..record.len()].copy_from_slice(&record);
        let cells =
            [0xFFFE, 1, (-1.5f64).to_bits(), 7, (-1i64).cast_unsigned(), (-3i64).cast_unsigned()].to_vec();
        assert_eq!(records.read(0, &bytes).0[1], Row { key: vec![0, 1], cells: cells.clone() });
        assert_eq!(records.read(1, &bytes), (vec![Row { key: vec![4, 0], cells }], 0));
    }

    #[test]
    fn one_record_of_a_warp_says_how_many_there_were() {
        use Scalar::*;
        let of = |fields: &[Scalar], which| {
            let part = Part { fields: fields.to_vec(), keep: 1, which, once: true, ..Part::default() };
            Records::new(0, vec![part])
        };
        let last = of(&[U64, U32, U16], Which::Last);
        assert_eq!((last.warp, last.parts[0].offsets()), (16, vec![0, 8, 12, 14]));
        let mut bytes = vec![0u8; 48];
        bytes[..16].copy_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 7, 0, 1, 0]);
        bytes[32..].copy_from_slice(&[6, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 4, 0, 32, 0]);
        let row = |warp, n, cells: [u64; 3]| Row { key: vec![warp, n], cells: cells.to_vec() };
        assert_eq!(last.read(0, &bytes), (vec![row(0, 0, [9, 8, 7]), row(2, 31, [6, 5, 4])], 31));
        let first = of(&[U64, U32, U16], Which::First);
        assert_eq!(first.read(0, &bytes), (vec![row(0, 0, [9, 8, 7]), row(2, 0, [6, 5, 4])], 31));
        assert_eq!(of(&[], Which::First).read(0, &[1, 0, 0, 0, 0, 0, 0, 0]).0.len(), 1);
        assert_eq!((of(&[U8], Which::Last).warp, of(&[U64], Which::Last).warp), (8, 16));
    }

    #[test]
    fn threads_records_are_the_warps_or_their_own() {
        let fields = vec![Scalar::U64, Scalar::U16, Scalar::S32];
        let part = |which| Part { of_lane: true, fields: fields.clone(), keep: 2, which, ..Part::default() };
        let records = Records::new(1, vec![part(Which::First), part(Which::Last)]);
        let [first, last] = &records.parts[..] else { unreachable!("there are two") };
        assert_eq!((first.beside(), first.behind()), (Some(1), vec![0, 2]));
        assert_eq!((first.at, first.joint(), first.single(), first.joints()), (32, 32, 24, 256));
        assert_eq!((last.at, last.joints(), last.singles()), (first.at + 256 + 2 * 32 + 64 * 24, 0, 64));
        let mut bytes = vec![0u8; index(records.warp)];
        let mut put = |at: u64, words: &[u64]| {
            for (i, word) in words.iter().enumerate() {
                bytes[index(at) + 8 * i..][..8].copy_from_slice(&word.to_le_bytes());
            }
        };
        // All lanes write a first and a second record together; one field of the second has no constant step.
        // In the part of the last records, lane 3 has written a third one, which replaces its first.
        let two =
            |low: i32, high: i32| u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32;
        for part in [first, last] {
            put(part.at + part.joints(), &[two(1, 70), two(0, -4), 7, 1000]);
            put(part.at + part.joints() + 32, &[two(2, 71), two(1, APART), 10, 5]);
            let lanes: Vec<u64> = (0..32u64).map(|lane| lane * lane).collect();
            put(part.at + part.singles() + 768 + 512, &lanes);
        }
        for (word, value) in [(0, two(3, 72)), (1, 80), (2, 81)] {
            put(last.at + last.singles() + 256 * word + 8 * 3, &[value]);
        }
        put(first.at + 8 * 3, &[5]);
        let of = |i, lane| {
            let rows = records.read(i, &bytes).0.into_iter().filter(|r| r.key[0] == lane);
            rows.map(|r| (r.key[1], r.cells)).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 0), [(0, vec![7, 70, 1000]), (1, vec![10, 71, 0])]);
        assert_eq!(of(0, 3), [(0, vec![7, 70, 988]), (1, vec![13, 71, 9])]);
        assert_eq!(of(1, 31), [(0, vec![7, 70, 876]), (1, vec![41, 71, 961])]);
        assert_eq!(of(1, 3), [(1, vec![13, 71, 9]), (2, vec![80, 72, 81])]);
        assert_eq!((records.read(0, &bytes).1, records.read(1, &bytes).1), (3, 1));
        assert_eq!(records.read(0, &bytes[..40]), (vec![], 0));
    }

    #[test]
    fn threads_of_wide_warps_have_records_as_well() {
        let part = |which| Part {
            of_lane: true,
            warp_size: WarpSize::W64,
            fields: vec![Scalar::U32, Scalar::U64],
            keep: 1,
            which,
            ..Part::default()
        };
        let records = Records::new(0, vec![part(Which::Last), part(Which::Room)]);
        let [last, log] = &records.parts[..] else { unreachable!("there are two") };
        assert_eq!((last.bytes(), log.entries()), (last.joint() + 64 * last.single(), 64));
        let mut bytes = vec![0u8; 2 * index(records.warp)];
        let mut put = |at: u64, word: u64| bytes[index(at)..][..8].copy_from_slice(&word.to_le_bytes());
        // Lane 63 of the second warp wrote its second record, with the values 9 and 8.
        let own = records.warp + last.at + last.singles() + 8 * 63;
        put(own, 2 | 9 << 32);
        put(own + 8 * 64, 8);
        // So it did to the log.
        put(log.at, 1);
        put(log.at + 8, 64 + 63 + 1);
        put(log.at + 16, 8);
        put(log.at + 24, 9);
        let row = |n| Row { key: vec![127, n], cells: vec![9, 8] };
        assert_eq!(records.read(0, &bytes), (vec![row(1)], 1));
        assert_eq!(records.read(1, &bytes), (vec![row(0)], 0));
    }

    #[test]
    fn a_log_is_of_all_owners() {
        let part = Part { fields: vec![Scalar::U64], keep: 2, which: Which::Room, ..Part::default() };
        let records = Records::new(1, vec![part]);
        assert_eq!((records.warp, records.parts[0].at), (48, 8));
        // Two warps with room for four entries: the second wrote three times, one entry was not filled, one
        // more did not fit.
        let words = [99u64, 5, 2, 10, 1, 11, 99, 0, 0, 0, 2, 12];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let row = |warp, n, value| Row { key: vec![warp, n], cells: vec![value] };
        assert_eq!(records.read(0, &bytes), (vec![row(0, 0, 11), row(1, 0, 10), row(1, 1, 12)], 2));
        assert_eq!(records.read(0, &bytes[..48]).1, 3);
        assert_eq!(records.read(0, &[]), (vec![], 0));
    }
}
