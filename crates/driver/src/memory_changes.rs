//! What a launch changed in the memory behind its pointers, and the comparison of two such launches.
//!
//! Digests of that memory reach to the end of an allocation. Caching allocators put many tensors into one,
//! and at other places in each run, so equal launches may have other digests. This module looks only at bytes
//! that one of the launches has changed.
//!
//! Memory is divided into blocks of [`BLOCK`] bytes, counted from the pointer. The file has a hash of each
//! block after the launch, and the content of the blocks that the launch changed, all as little-endian words
//! of 64 bits.
//!
//! # Invariants
//! - Two launches are equal only if every byte that either has changed is equal afterwards.
//! - Two launches differ only if a byte that either has changed differs afterwards.
//! - Reading never panics, and takes memory in proportion to the file.
//!
//! # Limitations
//! If one launch changed a block and the other did not, the comparison knows of the other's block only its
//! hash. It cannot tell whether blocks with other hashes differ in a byte that counts.

use std::collections::BTreeMap;

use crate::random::GOLDEN;

/// Bytes of a block.
pub const BLOCK: usize = 512;

/// The first word of a file.
const MAGIC: u64 = u64::from_le_bytes(*b"PRLXCHG1");

/// What a launch changed behind each of its pointers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryChanges {
    ranges: Vec<RangeChanges>,
}

/// What a launch changed behind one pointer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeChanges {
    /// Byte offset of the pointer in the parameter buffer.
    offset: u64,
    /// Bytes from the pointer to the next one, or to the end of the allocation.
    size: u64,
    /// Of these, how many were copied.
    copied: u64,
    /// Digest of the content before the launch.
    before: u64,
    /// By block: hash of its content after the launch.
    hashes: Vec<u64>,
    /// Blocks with changes, by number.
    changed: BTreeMap<u64, ChangedBlock>,
}

/// A block that a launch changed. The last block of a range has zeros behind its last byte.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ChangedBlock {
    /// Which bytes have changed, one bit for each.
    mask: [u64; BLOCK / 64],
    /// Content after the launch.
    content: [u64; BLOCK / 8],
}

/// Result of [`MemoryChanges::compare`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangesCompared {
    /// All bytes that either launch changed are equal afterwards.
    Equal,
    /// A byte differs that one of the launches changed.
    Differ {
        /// Byte offset of the pointer in the parameter buffer.
        param_offset: u64,
        /// Byte offset of the first word of 4 bytes that differs, from the pointer.
        at: u64,
        /// By side: this word.
        words: [u32; 2],
        /// Whether all memory behind the pointers was equal before the launch.
        same_before: bool,
    },
    /// This cannot be told, for this reason.
    Unknown(String),
}

impl MemoryChanges {
    /// What a launch changed in these ranges.
    pub fn new(ranges: Vec<RangeChanges>) -> MemoryChanges {
        MemoryChanges { ranges }
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![MAGIC, self.ranges.len() as u64];
        for range in &self.ranges {
            let changes = range.changed.len() as u64;
            words.extend([range.offset, range.size, range.copied, range.before, changes]);
            words.extend(&range.hashes);
            for (number, block) in &range.changed {
                words.push(*number);
                words.extend(block.mask.iter().chain(&block.content));
            }
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// If these are not what [`MemoryChanges::to_bytes`] makes.
    pub fn from_bytes(bytes: &[u8]) -> Result<MemoryChanges, String> {
        let mut words = Words { bytes, at: 0 };
        if words.next()? != MAGIC {
            return Err("these are not the memory changes of a launch".to_owned());
        }
        let count = words.next()?;
        let ranges = (0..count).map(|_| RangeChanges::read(&mut words)).collect::<Result<_, String>>()?;
        match words.left() {
            0 => Ok(MemoryChanges { ranges }),
            left => Err(format!("{left} bytes follow the last range")),
        }
    }

    /// Compares what two launches of one kernel changed. A difference counts more than what is not known. Of
    /// launches without pointers, nothing is known.
    pub fn compare(&self, other: &MemoryChanges) -> ChangesCompared {
        let by_offset = |changes: &MemoryChanges| -> BTreeMap<u64, RangeChanges> {
            changes.ranges.iter().map(|r| (r.offset, r.clone())).collect()
        };
        let [a, b] = [self, other].map(by_offset);
        if a.is_empty() && b.is_empty() {
            return ChangesCompared::Unknown("its parameters have no pointers".to_owned());
        }
        let mut result = ChangesCompared::Equal;
        for offset in a.keys().chain(b.keys().filter(|offset| !a.contains_key(offset))) {
            let compared = match [a.get(offset), b.get(offset)] {
                [Some(a), Some(b)] => a.compare(b),
                [a, b] => match a.or(b).is_none_or(|r| r.changed.is_empty()) {
                    true => ChangesCompared::Equal,
                    false => ChangesCompared::Unknown(format!(
                        "only one side has a pointer at byte {offset} of the parameters"
                    )),
                },
            };
            match compared {
                ChangesCompared::Equal => {}
                ChangesCompared::Unknown(_) => result = compared,
                ChangesCompared::Differ { param_offset, at, words, .. } => {
                    let known = |r: &RangeChanges| r.copied == r.size;
                    let input = |r: &RangeChanges| (r.offset, r.size, r.before);
                    let same_before = a.values().all(known)
                        && b.values().all(known)
                        && a.values().map(input).eq(b.values().map(input));
                    return ChangesCompared::Differ { param_offset, at, words, same_before };
                }
            }
        }
        result
    }
}

impl RangeChanges {
    /// No changes yet, of a range with this offset, size, and number of bytes that were copied, all as in
    /// [`RangeChanges`]. `hashes` are those of each block before and after the launch ([`block_hash`]).
    pub fn new([offset, size, copied]: [u64; 3], [before, after]: [&[u64]; 2]) -> RangeChanges {
        let hashes = after.to_vec();
        RangeChanges { offset, size, copied, before: hash(before), hashes, changed: BTreeMap::new() }
    }

    /// Adds changes in blocks from number `first` on, whose content before and after is given. Blocks
    /// without changes are left out.
    pub fn add(&mut self, first: u64, before: &[u8], after: &[u8]) {
        let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK)).zip(first..);
        let changed = blocks.filter(|((before, after), _)| before != after);
        self.changed.extend(changed.map(|((before, after), i)| (i, ChangedBlock::of(before, after))));
    }

    fn read(words: &mut Words<'_>) -> Result<RangeChanges, String> {
        let [offset, size, copied, before, changes] = words.array()?;
        if copied > size {
            return Err(format!("{copied} bytes are copied of {size}"));
        }
        let blocks = copied.div_ceil(BLOCK as u64);
        let hashes = (0..blocks).map(|_| words.next()).collect::<Result<_, String>>()?;
        let mut changed = BTreeMap::new();
        for _ in 0..changes {
            let number = words.next()?;
            let block = ChangedBlock { mask: words.array()?, content: words.array()? };
            if number >= blocks || changed.insert(number, block).is_some() {
                return Err(format!("block {number} of {blocks} is listed twice, or does not exist"));
            }
        }
        Ok(RangeChanges { offset, size, copied, before, hashes, changed })
    }

    fn compare(&self, other: &RangeChanges) -> ChangesCompared {
        let sides = [self, other];
        let common = self.copied.min(other.copied);
        let mut unknown = None;
        let numbers =
            self.changed.keys().chain(other.changed.keys().filter(|n| !self.changed.contains_key(n)));
        for &number in numbers {
            let begin = number * BLOCK as u64;
            let hashes = sides.map(|side| side.hashes.get(number as usize));
            match sides.map(|side| side.changed.get(&number)) {
                [Some(a), Some(b)] => {
                    let known = common.saturating_sub(begin);
                    if let Some(i) = a.first_difference(b).filter(|i| *i < known) {
                        let word = i / 4;
                        return ChangesCompared::Differ {
                            param_offset: self.offset,
                            at: begin + word * 4,
                            words: [a, b].map(|block| block.word(word as usize)),
                            same_before: false,
                        };
                    }
                    if [a, b].iter().any(|block| block.changes_from(known)) {
                        unknown = Some("it changed memory that was not copied on both sides".to_owned());
                    }
                }
                _ if hashes[0].is_some() && hashes[0] == hashes[1] => {}
                _ => {
                    unknown = Some(format!(
                        "only one side changed the {BLOCK} bytes at byte {begin} behind the pointer at byte {} \
                         of the parameters",
                        self.offset
                    ));
                }
            }
        }
        let part = sides.iter().find(|side| side.copied < side.size);
        let part = part.map(|side| format!("{} of {} bytes were copied", side.copied, side.size));
        unknown.or(part).map_or(ChangesCompared::Equal, ChangesCompared::Unknown)
    }
}

impl ChangedBlock {
    fn of(before: &[u8], after: &[u8]) -> ChangedBlock {
        let (mut mask, mut bytes) = ([0; BLOCK / 64], [0; BLOCK]);
        for (i, (before, after)) in before.iter().zip(after).enumerate() {
            mask[i / 64] |= u64::from(before != after) << (i % 64);
            bytes[i] = *after;
        }
        let word = |i: usize| std::array::from_fn(|k| bytes[8 * i + k]);
        ChangedBlock { mask, content: std::array::from_fn(|i| u64::from_le_bytes(word(i))) }
    }

    fn byte(&self, i: usize) -> u8 {
        self.content[i / 8].to_le_bytes()[i % 8]
    }

    /// The word of 4 bytes with this number.
    fn word(&self, i: usize) -> u32 {
        (self.content[i / 2] >> (i % 2 * 32)) as u32
    }

    fn is_changed(&self, i: usize) -> bool {
        self.mask[i / 64] >> (i % 64) & 1 != 0
    }

    /// The first byte that either side has changed and that differs.
    fn first_difference(&self, other: &ChangedBlock) -> Option<u64> {
        let counts = |i: &usize| self.is_changed(*i) || other.is_changed(*i);
        (0..BLOCK).filter(counts).find(|i| self.byte(*i) != other.byte(*i)).map(|i| i as u64)
    }

    /// Whether a byte has changed behind the first `from` ones.
    fn changes_from(&self, from: u64) -> bool {
        (0..BLOCK).any(|i| i as u64 >= from && self.is_changed(i))
    }
}

/// Hash of a block of memory: of its little-endian words of 64 bits, with zeros behind the last byte.
pub fn block_hash(bytes: &[u8]) -> u64 {
    let word = |part: &[u8]| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    };
    hash(&bytes.chunks(8).map(word).collect::<Vec<u64>>())
}

fn hash(words: &[u64]) -> u64 {
    let add = |hash: u64, word: &u64| {
        let hash = (hash ^ word).wrapping_mul(GOLDEN);
        hash ^ hash >> 32
    };
    words.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

/// The words of a file.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn next(&mut self) -> Result<u64, String> {
        let word = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        let word = word.ok_or_else(|| format!("the file ends at byte {}, within a value", self.at))?;
        self.at += 8;
        Ok(u64::from_le_bytes(*word))
    }

    fn array<const N: usize>(&mut self) -> Result<[u64; N], String> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.next()?;
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A range of which as much was copied as is given.
    fn range(offset: u64, size: usize, before: &[u8], after: &[u8]) -> RangeChanges {
        let hashes = [before, after].map(|bytes| bytes.chunks(BLOCK).map(block_hash).collect::<Vec<u64>>());
        let [old, new] = &hashes;
        let mut range = RangeChanges::new([offset, size as u64, after.len() as u64], [old, new]);
        range.add(0, before, after);
        range
    }

    fn one(offset: u64, before: &[u8], after: &[u8]) -> MemoryChanges {
        MemoryChanges::new(vec![range(offset, before.len(), before, after)])
    }

    /// Memory in which `other` stands for what the launch does not write, with these bytes at byte 600.
    fn memory(other: u8, written: &[u8]) -> Vec<u8> {
        let mut bytes = vec![other; 2000];
        bytes[600..600 + written.len()].copy_from_slice(written);
        bytes
    }

    fn changes(other: u8, before: &[u8], after: &[u8]) -> MemoryChanges {
        one(8, &memory(other, before), &memory(other, after))
    }

    #[test]
    fn bytes_that_neither_changed_do_not_count() {
        let a = changes(1, &[0; 8], &[5, 6, 7, 8, 9, 10, 11, 12]);
        let b = changes(2, &[0; 8], &[5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(a.compare(&b), ChangesCompared::Equal);
        // One side has some of the bytes already, and so does not change them.
        let some = changes(2, &[5, 0, 0, 8, 0, 0, 0, 0], &[5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(a.compare(&some), ChangesCompared::Equal);
        let wrong = changes(2, &[5, 0, 0, 8, 0, 0, 0, 0], &[5, 6, 7, 8, 9, 13, 11, 12]);
        let words = [0x0c0b_0a09, 0x0c0b_0d09];
        let differ = |same_before| ChangesCompared::Differ { param_offset: 8, at: 604, words, same_before };
        assert_eq!(a.compare(&wrong), differ(false));
        let culprit = changes(1, &[0; 8], &[5, 6, 7, 8, 9, 13, 11, 12]);
        assert_eq!(a.compare(&culprit), differ(true));
        // A byte that one side alone changed, to what the other does not have.
        let stays = changes(1, &[5, 6, 7, 8, 9, 1, 11, 0], &[5, 6, 7, 8, 9, 1, 11, 12]);
        assert!(matches!(a.compare(&stays), ChangesCompared::Differ { at: 604, .. }));
    }

    #[test]
    fn blocks_that_one_side_changed_are_equal_by_hash_or_unknown() {
        let a = changes(1, &[0; 4], &[5; 4]);
        assert_eq!(a.compare(&changes(1, &[5; 4], &[5; 4])), ChangesCompared::Equal);
        for other in [changes(2, &[5; 4], &[5; 4]), changes(1, &[0; 4], &[0; 4])] {
            assert!(matches!(a.compare(&other), ChangesCompared::Unknown(why) if why.contains("byte 512")));
            assert!(matches!(other.compare(&a), ChangesCompared::Unknown(_)));
        }
    }

    #[test]
    fn what_was_not_copied_is_not_known() {
        let (before, after) = (memory(1, &[0; 4]), memory(1, &[5; 4]));
        let whole = one(8, &before, &after);
        let part = MemoryChanges::new(vec![range(8, 2000, &before[..700], &after[..700])]);
        assert!(matches!(whole.compare(&part), ChangesCompared::Unknown(why) if why.contains("700 of 2000")));
        // A shorter range that was copied whole.
        assert_eq!(whole.compare(&one(8, &before[..700], &after[..700])), ChangesCompared::Equal);
        let cut = one(8, &before[..602], &after[..602]);
        assert!(matches!(whole.compare(&cut), ChangesCompared::Unknown(_)));
        let none = MemoryChanges::new(vec![range(8, 2000, &[], &[])]);
        assert!(matches!(whole.compare(&none), ChangesCompared::Unknown(_)));
        // A pointer on one side alone.
        let elsewhere = one(16, &before, &after);
        assert!(matches!(whole.compare(&elsewhere), ChangesCompared::Unknown(_)));
        let ranges = [range(8, 2000, &before, &after), range(16, 2000, &before, &before)];
        let idle = MemoryChanges::new(ranges.to_vec());
        assert_eq!(whole.compare(&idle), ChangesCompared::Equal);
        let none = MemoryChanges::default();
        assert!(matches!(none.compare(&none), ChangesCompared::Unknown(_)));
    }

    #[test]
    fn files_are_read_back_and_damaged_ones_refused() {
        let changes = changes(3, &[0; 8], &[1; 8]);
        let bytes = changes.to_bytes();
        assert_eq!(MemoryChanges::from_bytes(&bytes), Ok(changes));
        for end in (0..bytes.len()).step_by(3) {
            assert!(MemoryChanges::from_bytes(&bytes[..end]).is_err(), "{end} bytes");
        }
        for word in 0..bytes.len() / 8 {
            let mut damaged = bytes.clone();
            damaged[8 * word..][..8].fill(0xff);
            let _ = MemoryChanges::from_bytes(&damaged);
        }
        assert!(MemoryChanges::from_bytes(&[bytes.as_slice(), &[0; 8]].concat()).is_err());
    }
}
