//! What a launch changed in the memory behind its pointers, and the comparison of two such launches.
//!
//! Digests of that memory reach to the end of an allocation. Caching allocators put many tensors into one,
//! and at other places in each run, so equal launches may have other digests. This module looks only at what
//! one of the launches has changed.
//!
//! Memory is divided into blocks of [`BLOCK`] bytes, counted from the pointer. The file has a hash of each
//! block after the launch. Of a block with changes it has the words of 4 bytes that have changed, as a mask,
//! and the content if not all of them have. It consists of little-endian words of 64 bits.
//!
//! # Invariants
//! - Two launches are equal only if every byte that either has changed is equal afterwards, by content or by
//!   hash.
//! - Two launches differ only if a byte that either has changed differs afterwards, or its word of 4 bytes.
//! - Reading never panics, and takes memory in proportion to the file.
//!
//! # Limitations If the hashes of a block differ, not both sides have its content, and a part of it stays
//! as it was, it is not known whether it differs in what counts.

use std::collections::BTreeMap;

use crate::random::GOLDEN;

/// Bytes of a block.
pub const BLOCK: usize = 512;

/// How many blocks of a range keep their content although all of their words have changed: for small arrays,
/// so that a report can show values.
const WHOLE: usize = 64;

/// How many blocks of a range keep their content at most.
const MOST_CONTENT: usize = 4096;

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

/// What the device tells of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockInfo {
    /// Hash of its content ([`block_hash`]).
    pub hash: u64,
    /// Which words of 4 bytes have changed, one bit for each.
    pub mask: u128,
}

/// A block that a launch changed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ChangedBlock {
    /// Which words of 4 bytes have changed, one bit for each.
    mask: u128,
    /// Hash of its content before the launch.
    before: u64,
    content: Option<Box<BlockContent>>,
}

/// Content of a block. The last block of a range has zeros behind its last byte.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BlockContent {
    /// Which bytes have changed, one bit for each.
    mask: [u64; BLOCK / 64],
    /// Content before and after the launch.
    before: [u64; BLOCK / 8],
    after: [u64; BLOCK / 8],
}

/// Result of [`MemoryChanges::compare`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangesCompared {
    /// All bytes that either launch changed are equal afterwards.
    Equal,
    /// Memory differs that one of the launches changed.
    Differ {
        /// Byte offset of the pointer in the parameter buffer.
        param_offset: u64,
        /// Byte offset from the pointer: of the first word of 4 bytes that differs, or of its block.
        at: u64,
        /// By side: this word; `None` if only the hashes of the block are known.
        words: Option<[u32; 2]>,
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
                let content = block.content.as_deref();
                words.extend([*number, block.mask as u64, (block.mask >> 64) as u64, block.before]);
                words.push(content.is_some().into());
                words.extend(content.iter().flat_map(|c| c.mask.iter().chain(&c.before).chain(&c.after)));
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
        let [a, b] = [self, other].map(|changes| -> BTreeMap<u64, &RangeChanges> {
            changes.ranges.iter().map(|r| (r.offset, r)).collect()
        });
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
                    let known = |r: &&RangeChanges| r.copied == r.size;
                    let input = |r: &&RangeChanges| (r.offset, r.size, r.before);
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
    /// A range with this offset, size, and number of bytes that were copied, all as in [`RangeChanges`].
    /// `before` has the hashes of its blocks before the launch, `after` what is known of them after it.
    pub fn new([offset, size, copied]: [u64; 3], before: &[u64], after: &[BlockInfo]) -> RangeChanges {
        let hashes = after.iter().map(|block| block.hash).collect();
        let blocks = after.iter().zip(before).zip(0..).filter(|((after, _), _)| after.mask != 0);
        let block = |mask: u128, before: u64| ChangedBlock { mask, before, content: None };
        let changed = blocks.map(|((after, before), i)| (i, block(after.mask, *before))).collect();
        RangeChanges { offset, size, copied, before: hash(before), hashes, changed }
    }

    /// The blocks whose content is wanted ([`RangeChanges::add`]), ascending.
    pub fn wanted(&self) -> Vec<u64> {
        let mut whole = 0;
        let mut wanted = Vec::new();
        for (number, block) in &self.changed {
            whole += usize::from(block.mask == u128::MAX);
            if (block.mask != u128::MAX || whole <= WHOLE) && wanted.len() < MOST_CONTENT {
                wanted.push(*number);
            }
        }
        wanted
    }

    /// Adds the content of blocks with changes before and after the launch, from number `first` on.
    pub fn add(&mut self, first: u64, before: &[u8], after: &[u8]) {
        for ((before, after), number) in before.chunks(BLOCK).zip(after.chunks(BLOCK)).zip(first..) {
            if let Some(block) = self.changed.get_mut(&number) {
                block.content = Some(Box::new(BlockContent::new(before, after)));
            }
        }
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
            let [low, high, old, content] = words.array()?;
            let content = match content {
                0 => None,
                _ => {
                    let (mask, before, after) = (words.array()?, words.array()?, words.array()?);
                    Some(Box::new(BlockContent { mask, before, after }))
                }
            };
            let block = ChangedBlock { mask: u128::from(high) << 64 | u128::from(low), before: old, content };
            if number >= blocks || changed.insert(number, block).is_some() {
                return Err(format!("block {number} of {blocks} is listed twice, or does not exist"));
            }
        }
        Ok(RangeChanges { offset, size, copied, before, hashes, changed })
    }

    fn compare(&self, other: &RangeChanges) -> ChangesCompared {
        let mut unknown = None;
        let numbers =
            self.changed.keys().chain(other.changed.keys().filter(|n| !self.changed.contains_key(n)));
        for &number in numbers {
            match self.compare_block(other, number) {
                ChangesCompared::Equal => {}
                ChangesCompared::Unknown(why) => unknown = Some(why),
                differ @ ChangesCompared::Differ { .. } => return differ,
            }
        }
        let part = [self, other].into_iter().find(|side| side.copied < side.size);
        let part = part.map(|side| format!("{} of {} bytes were copied", side.copied, side.size));
        unknown.or(part).map_or(ChangesCompared::Equal, ChangesCompared::Unknown)
    }

    /// Compares a block that one side at least has changed.
    fn compare_block(&self, other: &RangeChanges, number: u64) -> ChangesCompared {
        let sides = [self, other];
        let begin = number * BLOCK as u64;
        let common = self.copied.min(other.copied).saturating_sub(begin);
        let differ = |at: u64, words: Option<[u32; 2]>| ChangesCompared::Differ {
            param_offset: self.offset,
            at: begin + at,
            words,
            same_before: false,
        };
        let blocks = sides.map(|side| side.changed.get(&number));
        if let [Some(a), Some(b)] = blocks.map(|block| block.and_then(|block| block.content.as_deref())) {
            return match a.first_difference(b).filter(|i| *i < common) {
                Some(i) => differ(i / 4 * 4, Some([a, b].map(|block| short_word(&block.after, i)))),
                None if [a, b].iter().any(|block| block.changes_from(common)) => {
                    ChangesCompared::Unknown("it changed memory that was not copied on both sides".to_owned())
                }
                None => ChangesCompared::Equal,
            };
        }
        let hashes = sides.map(|side| side.hashes.get(number as usize));
        // The other side still has what this one had before.
        let kept = |side: usize| {
            let (block, none) = (blocks[side]?, blocks[1 - side].is_none());
            (none && hashes[1 - side] == Some(&block.before) && common >= BLOCK as u64).then_some(block)
        };
        if let Some((side, block)) = [0, 1].into_iter().find_map(|side| Some((side, kept(side)?))) {
            let first = u64::from(block.mask.trailing_zeros()) * 4;
            let values = block.content.as_ref().map(|content| {
                let mut values = [&content.after, &content.before].map(|words| short_word(words, first));
                values.rotate_left(side);
                values
            });
            return differ(first, values);
        }
        let mask = blocks.into_iter().flatten().fold(0, |mask, block| mask | block.mask);
        match hashes {
            [Some(a), Some(b)] if a == b => ChangesCompared::Equal,
            // Every word of it was changed.
            [Some(_), Some(_)] if mask == u128::MAX && common >= BLOCK as u64 => differ(0, None),
            _ => ChangesCompared::Unknown(format!(
                "the {BLOCK} bytes at byte {begin} behind the pointer at byte {} of the parameters differ, and \
                 may hold what it does not write",
                self.offset
            )),
        }
    }
}

impl BlockContent {
    fn new(before: &[u8], after: &[u8]) -> BlockContent {
        let changed = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
        let mut mask = [0; BLOCK / 64];
        changed.for_each(|(i, _)| mask[i / 64] |= 1 << (i % 64));
        BlockContent { mask, before: words(before), after: words(after) }
    }

    fn byte(&self, i: usize) -> u8 {
        self.after[i / 8].to_le_bytes()[i % 8]
    }

    fn is_changed(&self, i: usize) -> bool {
        self.mask[i / 64] >> (i % 64) & 1 != 0
    }

    /// The first byte that either side has changed and that differs.
    fn first_difference(&self, other: &BlockContent) -> Option<u64> {
        let counts = |i: &usize| self.is_changed(*i) || other.is_changed(*i);
        (0..BLOCK).filter(counts).find(|i| self.byte(*i) != other.byte(*i)).map(|i| i as u64)
    }

    /// Whether a byte has changed behind the first `from` ones.
    fn changes_from(&self, from: u64) -> bool {
        (0..BLOCK).any(|i| i as u64 >= from && self.is_changed(i))
    }
}

/// The words of a block, with zeros behind its last byte.
fn words(bytes: &[u8]) -> [u64; BLOCK / 8] {
    let mut words = [0; BLOCK / 8];
    for (i, byte) in bytes.iter().enumerate().take(BLOCK) {
        words[i / 8] |= u64::from(*byte) << (i % 8 * 8);
    }
    words
}

/// The word of 4 bytes that has byte `i` of a block.
fn short_word(words: &[u64; BLOCK / 8], i: u64) -> u32 {
    words.get(i as usize / 8).map_or(0, |word| (word >> (i / 4 % 2 * 32)) as u32)
}

/// Hash of a block of memory: of its little-endian words of 64 bits, with zeros behind the last byte.
pub fn block_hash(bytes: &[u8]) -> u64 {
    let used = bytes.len().min(BLOCK).div_ceil(8);
    hash(&words(bytes)[..used])
}

/// What the device tells of the blocks of a range with this content before and after a launch.
pub fn block_infos(before: &[u8], after: &[u8]) -> Vec<BlockInfo> {
    let words = |before: &[u8], after: &[u8]| {
        let changed = before.chunks(4).zip(after.chunks(4)).zip(0..).filter(|((a, b), _)| a != b);
        changed.fold(0, |mask, (_, i)| mask | 1 << i)
    };
    let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK));
    blocks.map(|(before, after)| BlockInfo { hash: block_hash(after), mask: words(before, after) }).collect()
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
        let hashes: Vec<u64> = before.chunks(BLOCK).map(block_hash).collect();
        let sizes = [offset, size as u64, after.len() as u64];
        let mut range = RangeChanges::new(sizes, &hashes, &block_infos(before, after));
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
        let words = Some([0x0c0b_0a09, 0x0c0b_0d09]);
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
        let other = changes(2, &[5; 4], &[5; 4]);
        assert!(matches!(a.compare(&other), ChangesCompared::Unknown(why) if why.contains("byte 512")));
        assert!(matches!(other.compare(&a), ChangesCompared::Unknown(_)));
        // It still has what the other side had before.
        let idle = changes(1, &[0; 4], &[0; 4]);
        let differ = |words| ChangesCompared::Differ { param_offset: 8, at: 600, words, same_before: true };
        assert_eq!(a.compare(&idle), differ(Some([0x0505_0505, 0])));
        assert_eq!(idle.compare(&a), differ(Some([0, 0x0505_0505])));
    }

    #[test]
    fn blocks_without_content_count_if_all_of_them_was_changed() {
        let bytes = |other: u8, new: u8| {
            let mut bytes = vec![new; 40_000];
            bytes[..100].fill(other);
            bytes
        };
        let whole = |other: u8, new: u8, strip: bool| {
            let mut range = range(8, 40_000, &bytes(other, 0), &bytes(other, new));
            // Content is kept of the first block, which is changed in part, of some others, and of the last.
            assert_eq!(range.wanted().len(), 1 + WHOLE + 1);
            for (number, block) in &mut range.changed {
                block.content.take_if(|_| strip && (1..78).contains(number));
            }
            MemoryChanges::new(vec![range])
        };
        for strip in [false, true] {
            assert_eq!(whole(1, 7, strip).compare(&whole(2, 7, strip)), ChangesCompared::Equal);
        }
        let ChangesCompared::Differ { at: 100, words, .. } = whole(1, 7, true).compare(&whole(2, 8, true))
        else {
            panic!("the first block has content");
        };
        assert_eq!(words, Some([0x0707_0707, 0x0808_0808]));
        let mut first = [whole(1, 7, true), whole(1, 8, true)];
        first.iter_mut().for_each(|side| drop(side.ranges[0].changed.remove(&0)));
        let differ = first[0].compare(&first[1]);
        assert!(matches!(differ, ChangesCompared::Differ { at: 512, words: None, .. }), "{differ:?}");
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
