//! How tables and records of a probe program lie in device memory, and reading them.
//!
//! All of it starts as zeros. A **table** is rows of 64-bit cells, changed by reductions alone. Rows that the plan knows come in its order: the cells of
//! each. Others are found by their keys' [`hash`]: a row is its hash (0: nobody has it), its keys, its cells; a value goes to the first of the
//! [`PROBES`] rows from the hash's place on that has this hash, or that it can take; if there is none it is lost, and counted
//! in the eight bytes before the rows.
//!
//! All warps of a grid come to the few rows of tables whose rows the plan knows, and atomic operations on one address wait for each other: there are several copies of these
//! tables, and a multiprocessor has its own (`prlx_plan::TableCopies`); whoever reads them puts them together.
//!
//! The least and the greatest are kept as the greatest of numbers in whose order ([`ordered`]) values are, the least's
//! with all bits turned, so that 0 gives way to any; how often says whether there was any.
//!
//! **Records** lie by holder: for each warp of the launch, [`Records::warp`] bytes; in them, first eight bytes for each variable of the
//! program that a warp or CTA has (a CTA's are those of its first warp), then a part for each declaration. A warp's part is how many
//! were written (eight bytes), then those kept. A part that keeps the last ones is a ring. A part that grows is a
//! **log** of all warps: how many entries were asked for (eight bytes, those of the launch's first warp), then entries: the holder's
//! number plus 1, the record; they go on in the next warp's part.
//!
//! A record's fields lie in it by their types' bytes ([`Part::offsets`]): the widest first, so that each is at a multiple of its own.
//! Where one record is kept of a warp whose threads each write at most one ([`Part::alone`]), how many were written, 32 at most, lies among
//! its fields of two bytes: a short warp's end is bounded by what it writes.
//!
//! The part of **threads'** records, of which each numbers its own from 1 on, is slots of the warp and of its lanes; record n is in slot n - 1,
//! modulo how many are kept. Numbers have four bytes; behind them lies the first field of as many or fewer that has no sign ([`Part::beside`]), in four bytes; the others
//! take eight each. A lane's own entry is these words, and each word of all lanes lies together: what a warp writes at once is whole sectors of memory.
//! Where all 32 lanes write records of one number at once, with the same value beside it, they are one entry of the warp: the number, the value beside it, and for each of the
//! other fields by how much it grows from lane to lane (four bytes each, with a sign); then, at a multiple of 16 bytes, lane 0's fields (eight bytes each). A
//! field that does not grow evenly says [`APART`] there, and lies where the lanes' own do. Of a slot's two entries the one with the greater
//! number counts. First lie the warp's slots, then those of all lanes, slot by slot. If the first ones are kept, a lane that has
//! written more has said before all this how many (eight bytes each lane).
//!
//! Holds: reading allocates in proportion to the bytes, whatever they are. Misses: two rows of several keys can have the same hash and
//! come together, which among a million rows has odds of one in 30 million; rows of one key can't. A thread's records are numbered in 32 bits.

use std::collections::BTreeMap;

use crate::kernel::Scalar;
use crate::table::{Aggregate, Row};

/// Rows that are looked at for a key.
pub const PROBES: u64 = 8;
/// Bytes before the rows of a table whose rows are found by hash: how many values were lost.
pub const LOST: u64 = 8;
/// In place of how much a field of a thread's record grows from lane to lane: each lane has its own.
pub const APART: i32 = i32::MIN;
/// The multiplier of [`hash`].
pub const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash of keys, never 0. Of one key: different keys, different hashes, but for the one key whose hash would be 0.
pub fn hash(keys: &[u64]) -> u64 {
    let mixed = keys.iter().fold(0u64, |h, key| {
        let h = (h ^ key).wrapping_mul(MULTIPLIER);
        h ^ h >> 32
    });
    mixed.max(1)
}

/// Where a table lies.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// Its first byte, from that of all tables.
    pub at: u64,
    /// How rows are found.
    pub rows: Rows,
    /// How values come together.
    pub aggregate: Aggregate,
    /// The type of values, of 64 bits: [`Scalar::U64`], [`Scalar::S64`] or [`Scalar::F64`].
    pub ty: Scalar,
}

/// How a table's rows are found.
#[derive(Clone, PartialEq, Debug)]
pub enum Rows {
    /// The plan knows them: their keys, in the order in which they lie.
    Known(Vec<Vec<u64>>),
    /// By hash.
    Hashed {
        /// How many keys a row has.
        keys: usize,
        /// Logarithm of how many rows there is room for, 3 to 32.
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
    /// The rows that hold something, by ascending keys, and how many values were lost. `all` is the memory of all tables.
    pub fn read(&self, all: &[u8]) -> (Vec<Row>, u64) {
        let size = self.row() as usize;
        let start = usize::try_from(self.at).unwrap_or(usize::MAX);
        let own = all.get(start..).unwrap_or_default();
        let own = &own[..own.len().min(usize::try_from(self.bytes()).unwrap_or(usize::MAX))];
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
                for bytes in own.get(LOST as usize..).unwrap_or_default().chunks_exact(size) {
                    let words = words(bytes);
                    if words[0] != 0 {
                        let (key, cells) = words[1..].split_at(*keys);
                        rows.push(Row { key: key.to_vec(), cells: cells.to_vec() });
                    }
                }
            }
        }
        rows.retain(|r| r.cells.iter().any(|c| *c != 0) || matches!(self.aggregate, Aggregate::Sum));
        if let Aggregate::Min | Aggregate::Max = self.aggregate {
            for row in &mut rows {
                let kept = if self.aggregate == Aggregate::Min { !row.cells[1] } else { row.cells[1] };
                row.cells[1] = from_ordered(kept, self.ty);
            }
        }
        rows.sort_unstable();
        (rows, lost)
    }
}

/// A value's bits, as a number in whose order values of its type are (floats in IEEE's total order).
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

/// Where a program's records lie in a warp's bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Records {
    /// Each.
    pub parts: Vec<Part>,
    /// Bytes of a warp.
    pub warp: u64,
}

/// Where records of one declaration lie.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// First byte in the warp's.
    pub at: u64,
    /// Whether each lane has records of its own; else the warp has.
    pub of_lane: bool,
    /// Types of a record's fields.
    pub fields: Vec<Scalar>,
    /// How many are kept.
    pub keep: u32,
    /// Which ones.
    pub which: Which,
    /// Whether no thread writes more than one.
    pub once: bool,
}

/// Which records of a declaration are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Which {
    /// The first of each holder.
    #[default]
    First,
    /// The last of each holder.
    Last,
    /// Those for which there is room in a log of all holders, which has room for [`Part::keep`] of each.
    Room,
}

impl Part {
    /// Whether lanes number their own records, and those that write alike at once write together.
    pub fn numbered(&self) -> bool {
        self.of_lane && self.which != Which::Room
    }
    /// Whether how many a warp wrote lies in the one record that is kept of it.
    pub fn alone(&self) -> bool {
        !self.of_lane && self.which != Which::Room && self.keep == 1 && self.once
    }
    /// Where in a record each field lies; behind them, how many were written, of two bytes, if it is [`Part::alone`].
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
    /// Bytes of each field, and of what lies behind them.
    fn sizes(&self) -> Vec<u64> {
        let fields = self.fields.iter().map(|ty| u64::from(ty.bits().div_ceil(8)).min(8));
        fields.chain(self.alone().then_some(2)).collect()
    }
    /// Bytes of a record: whole words of four bytes, and of eight if a field has as many.
    pub fn row(&self) -> u64 {
        let sizes = self.sizes();
        let widest = sizes.iter().copied().max().unwrap_or_default();
        sizes.iter().sum::<u64>().next_multiple_of(widest.max(4))
    }
    /// From the part's first byte: where a warp's records begin.
    pub fn rows(&self) -> u64 {
        if self.alone() { 0 } else { 8 }
    }
    /// The fields of a record, in 64 bits, and what lies behind them.
    fn record(&self, bytes: &[u8]) -> Vec<u64> {
        let types = self.fields.iter().copied().chain([Scalar::U16]);
        let each = self.offsets().into_iter().zip(self.sizes()).zip(types);
        each.map(|((at, size), ty)| {
            let own = bytes.get(at as usize..(at + size) as usize).unwrap_or_default();
            let bits = own.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            let above = 64 - 8 * size as u32;
            match ty {
                Scalar::F32 => f64::from(f32::from_bits(bits as u32)).to_bits(),
                _ if ty.signed() => (bits << above).cast_signed().wrapping_shr(above).cast_unsigned(),
                _ => bits,
            }
        })
        .collect()
    }
    /// Of a record that threads number: which field lies beside the number.
    pub fn beside(&self) -> Option<usize> {
        self.fields.iter().position(|ty| matches!(ty, Scalar::Pred | Scalar::U8 | Scalar::U16 | Scalar::U32))
    }
    /// The others.
    pub fn behind(&self) -> Vec<usize> {
        (0..self.fields.len()).filter(|i| Some(*i) != self.beside()).collect()
    }
    /// Bytes of what lanes write together.
    pub fn joint(&self) -> u64 {
        self.joint_fields() + (8 * self.behind().len() as u64).next_multiple_of(16)
    }
    /// Where in it lane 0's fields begin.
    pub fn joint_fields(&self) -> u64 {
        (8 + 4 * self.behind().len() as u64).next_multiple_of(16)
    }
    /// Bytes of what a lane writes alone, in words of eight.
    pub fn single(&self) -> u64 {
        8 + 8 * self.behind().len() as u64
    }
    /// From the part's first byte: where slots of the warp begin.
    pub fn joints(&self) -> u64 {
        if self.which == Which::First { 8 * self.holders() } else { 0 }
    }
    /// Likewise, those of lanes.
    pub fn singles(&self) -> u64 {
        self.joints() + u64::from(self.keep) * self.joint()
    }
    /// Bytes in a warp's.
    pub fn bytes(&self) -> u64 {
        match self.which {
            Which::Room => 8 + self.entries() * self.entry(),
            _ if self.of_lane => self.singles() + u64::from(self.keep) * self.holders() * self.single(),
            _ => (self.rows() + self.row() * u64::from(self.keep)).next_multiple_of(8),
        }
    }
    /// Bytes of a record in a log.
    pub fn entry(&self) -> u64 {
        (8 + self.row()).next_multiple_of(8)
    }
    /// Entries of a log that lie in a warp's bytes.
    pub fn entries(&self) -> u64 {
        u64::from(self.keep) * self.holders()
    }
    /// Holders of a warp.
    fn holders(&self) -> u64 {
        if self.of_lane { 32 } else { 1 }
    }
    /// A lane's records in the part's bytes, by number from 0, and how many it wrote.
    fn lane(&self, bytes: &[u8], lane: u64) -> (Vec<(u64, Vec<u64>)>, u64) {
        let four = |at: u64| {
            let word = bytes.get(at as usize..).and_then(|b| b.first_chunk()).copied();
            u32::from_le_bytes(word.unwrap_or_default())
        };
        let eight = |at: u64| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        let mut found: Vec<(u64, Vec<u64>)> = Vec::new();
        for slot in 0..u64::from(self.keep) {
            let joint = self.joints() + slot * self.joint();
            let own = self.singles() + slot * self.holders() * self.single() + 8 * lane;
            let (together, alone) = (four(joint), four(own));
            let Some(number) = together.max(alone).checked_sub(1) else { continue };
            let mut fields = vec![0; self.fields.len()];
            if let Some(beside) = self.beside() {
                fields[beside] = four(if alone >= together { own + 4 } else { joint + 4 }).into();
            }
            for (i, behind) in (0u64..).zip(self.behind()) {
                let step = four(joint + 8 + 4 * i).cast_signed();
                fields[behind] = match alone >= together || step == APART {
                    true => eight(own + 8 * self.holders() * (1 + i)),
                    false => {
                        let first = eight(joint + self.joint_fields() + 8 * i);
                        first.wrapping_add_signed(i64::from(step).wrapping_mul(lane as i64))
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
    /// Places parts one after the other, behind so many variables.
    pub fn new(variables: usize, parts: Vec<Part>) -> Records {
        let mut records = Records { parts, warp: 8 * variables as u64 };
        // What is written 16 bytes at once.
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
    /// The records of part `i`, in the memory of all warps: the holder (a warp, or a thread counted by warps of 32), which of the
    /// holder's it is, from 0, and the fields; and how many were not kept.
    pub fn read(&self, i: usize, all: &[u8]) -> (Vec<Row>, u64) {
        let (mut rows, mut lost) = (Vec::new(), 0u64);
        let Some(part) = self.parts.get(i).filter(|_| self.warp > 0) else { return (rows, lost) };
        let word = |bytes: &[u8], at: usize| {
            bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
        };
        if part.which == Which::Room {
            return self.log(part, all);
        }
        for (warp, bytes) in all.chunks_exact(self.warp as usize).enumerate() {
            if part.of_lane {
                let own = bytes.get(part.at as usize..).unwrap_or_default();
                for lane in 0..part.holders() {
                    let (records, written) = part.lane(own, lane);
                    lost = lost.saturating_add(written.saturating_sub(records.len() as u64));
                    let key = |n| vec![warp as u64 * part.holders() + lane, n];
                    rows.extend(records.into_iter().map(|(n, cells)| Row { key: key(n), cells }));
                }
                continue;
            }
            let at = part.at as usize;
            let record = |slot: u64| {
                let first = at + (part.rows() + slot * part.row()) as usize;
                part.record(bytes.get(first..first + part.row() as usize).unwrap_or_default())
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

    /// The entries of a log, by holder: each one's are in the order in which it wrote them.
    fn log(&self, part: &Part, all: &[u8]) -> (Vec<Row>, u64) {
        let word = |at: usize| Some(u64::from_le_bytes(*all.get(at..)?.first_chunk()?));
        let written = word(part.at as usize).unwrap_or_default();
        let places = (0..all.len() as u64 / self.warp).flat_map(|warp| {
            let first = warp * self.warp + part.at + 8;
            (0..part.entries()).map(move |i| first + i * part.entry())
        });
        let mut holders: BTreeMap<u64, Vec<Vec<u64>>> = BTreeMap::new();
        let (mut rows, mut kept) = (Vec::new(), 0);
        for at in places.take(usize::try_from(written).unwrap_or(usize::MAX)) {
            // 0: nobody has come to write it.
            let record = all.get(at as usize + 8..).and_then(|b| b.get(..part.row() as usize));
            if let (Some(holder @ 1..), Some(record)) = (word(at as usize), record) {
                holders.entry(holder - 1).or_default().push(part.record(record));
                kept += 1;
            }
        }
        for (holder, records) in holders {
            rows.extend(records.into_iter().zip(0..).map(|(cells, n)| Row { key: vec![holder, n], cells }));
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
        let mut bytes = vec![0u8; records.warp as usize];
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
        let mut bytes = vec![0u8; records.warp as usize];
        let mut put = |at: u64, words: &[u64]| {
            for (i, word) in words.iter().enumerate() {
                bytes[at as usize + 8 * i..][..8].copy_from_slice(&word.to_le_bytes());
            }
        };
        // All lanes write a first and a second record together, of which one field does not grow evenly; of the last ones lane 3 has written a third, which
        // takes the first's place.
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
    fn a_log_is_of_all_holders() {
        let part = Part { fields: vec![Scalar::U64], keep: 2, which: Which::Room, ..Part::default() };
        let records = Records::new(1, vec![part]);
        assert_eq!((records.warp, records.parts[0].at), (48, 8));
        // Of two warps with room for four: the second wrote three times, one entry was not filled, one more did not fit.
        let words = [99u64, 5, 2, 10, 1, 11, 99, 0, 0, 0, 2, 12];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let row = |warp, n, value| Row { key: vec![warp, n], cells: vec![value] };
        assert_eq!(records.read(0, &bytes), (vec![row(0, 0, 11), row(1, 0, 10), row(1, 1, 12)], 2));
        assert_eq!(records.read(0, &bytes[..48]).1, 3);
        assert_eq!(records.read(0, &[]), (vec![], 0));
    }
}
