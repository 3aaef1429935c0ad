//! The data flow of one launch: each instruction that each warp executed, with the values that it gave.
//!
//! The CPU device fills it in. An analysis follows a value back through it: from a store to the register that
//! was stored, from a register to the instruction that wrote it last in that lane, from a load to the store
//! that wrote the bytes.
//!
//! # Invariants
//! - Visits of a warp are in the order in which the warp made them, and [`Visit::order`] orders the visits of
//!   all warps as the memory saw them.
//! - Every index is within the table that it refers to.
//!
//! # Limitations
//! It is never written to a file. Recording stops at a limit of memory; [`DataFlow::complete`] says so. Of
//! visits that are not recorded, [`DataFlow::unrecorded`] has the CTAs that wrote global memory, and
//! [`DataFlow::survey`] those that depend on other CTAs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::check::{self, Allocation, Place, Space};
use crate::ids::{Dim3, WarpSize};
use crate::kernel::{Param, Scalar};

/// The data flow of a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DataFlow {
    /// The kernel's name.
    pub kernel: String,
    /// Grid size in CTAs.
    pub grid: Dim3,
    /// CTA size in threads.
    pub block: Dim3,
    /// Warps of a CTA.
    pub warps_per_cta: u64,
    /// Size of the warps.
    pub warp_size: WarpSize,
    /// The parameters of the kernel.
    pub params: Vec<Param>,
    /// The parameter buffer.
    pub param_bytes: Vec<u8>,
    /// Allocations in global memory, by address.
    pub buffers: Vec<Allocation>,
    /// By name of a buffer: its elements, where they are known.
    pub arrays: BTreeMap<String, Elements>,
    /// Variables in shared memory, by address in the CTA's shared memory.
    pub shared: Vec<Allocation>,
    /// Registers of all functions.
    pub registers: Vec<Register>,
    /// Instructions of all functions that the kernel can reach, in the order of the code.
    pub instructions: Vec<Instruction>,
    /// What each warp did: `cta * warps_per_cta + warp`.
    pub warps: Vec<WarpFlow>,
    /// Whether every visit of the CTAs that were asked for is in it.
    pub complete: bool,
    /// What other visits wrote to global memory.
    pub unrecorded: CtaWrites,
    /// What a survey of the launch found, if one was asked for and the visits had no room.
    pub survey: Option<Survey>,
}

/// The elements of a buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elements {
    /// Bytes of an element.
    pub bytes: u64,
    /// Sizes of the dimensions, slowest first.
    pub shape: Vec<u64>,
}

/// What is known of a launch whose visits had no room.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Survey {
    /// CTAs that depend on others: they read global memory that another CTA had written before, take memory
    /// from the heap, or are in a cluster with others.
    pub dependent: CtaSet,
    /// Bytes that a recording of all visits would take, about.
    pub bytes: u64,
}

/// A set of CTAs, by number in the grid.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CtaSet {
    /// A bit for each CTA.
    words: Vec<u64>,
}

impl CtaSet {
    /// Adds a CTA.
    pub fn insert(&mut self, cta: u64) {
        let Ok(word) = usize::try_from(cta / 64) else { return };
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words.get_mut(word).into_iter().for_each(|word| *word |= 1 << (cta % 64));
    }
    /// Whether a CTA is in the set.
    pub fn contains(&self, cta: u64) -> bool {
        let word = usize::try_from(cta / 64).ok().and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (cta % 64) & 1 == 1)
    }
}

/// Words of a page of [`CtaWrites`].
const PAGE_WORDS: u16 = 4096;

/// Set in an entry of [`CtaWrites`] if several CTAs wrote the word.
const SEVERAL: u32 = 1 << 31;

/// The last CTA that wrote each word of 4 bytes of global memory, of writes whose visits are not recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CtaWrites {
    /// By number of the page: its index in `pages`.
    index: HashMap<u64, usize>,
    /// For each word the CTA plus one, or 0, and [`SEVERAL`].
    pages: Vec<Box<[u32]>>,
    /// The page that was used last, and its index.
    last: Option<(u64, usize)>,
}

impl CtaWrites {
    /// Bytes of memory that a page takes.
    pub const PAGE_BYTES: u64 = 4 * PAGE_WORDS as u64;

    /// A CTA writes `bytes` bytes at `address`.
    pub fn add(&mut self, address: u64, bytes: u32, cta: u64) {
        let cta = CtaWrites::entry(cta);
        for word in CtaWrites::words(address, bytes) {
            let (page, word) = CtaWrites::place(word);
            let index = self.find(page).unwrap_or_else(|| self.add_page(page));
            if let Some(last) = self.pages.get_mut(index).and_then(|page| page.get_mut(word)) {
                let other = *last != 0 && *last & !SEVERAL != cta;
                *last = *last & SEVERAL | cta | if other { SEVERAL } else { 0 };
            }
        }
    }
    /// The last CTA that wrote the word at `address`; `None` if no unrecorded visit did.
    pub fn last(&self, address: u64) -> Option<u64> {
        (self.get(address)? & !SEVERAL).checked_sub(1).map(u64::from)
    }
    /// Whether several CTAs wrote one of the words that have these bytes.
    pub fn several(&self, address: u64, bytes: u32) -> bool {
        let mut words = CtaWrites::words(address, bytes);
        words.any(|word| self.get(word << 2).is_some_and(|entry| entry & SEVERAL != 0))
    }
    /// Whether a CTA other than `cta` wrote one of the words that have these bytes.
    pub fn by_others(&mut self, address: u64, bytes: u32, cta: u64) -> bool {
        if self.pages.is_empty() {
            return false;
        }
        let cta = CtaWrites::entry(cta);
        CtaWrites::words(address, bytes).any(|word| {
            let (page, word) = CtaWrites::place(word);
            let index = self.find(page);
            let entry = index.and_then(|index| self.pages.get(index)?.get(word));
            entry.is_some_and(|entry| *entry != 0 && *entry != cta)
        })
    }
    /// What is written for a CTA.
    fn entry(cta: u64) -> u32 {
        u32::try_from(cta).unwrap_or(SEVERAL).min(SEVERAL - 2) + 1
    }
    /// The numbers of the words that have these bytes.
    fn words(address: u64, bytes: u32) -> std::ops::RangeInclusive<u64> {
        address >> 2..=address.saturating_add(u64::from(bytes.max(1)) - 1) >> 2
    }
    fn get(&self, address: u64) -> Option<u32> {
        let (page, word) = CtaWrites::place(address >> 2);
        self.pages.get(*self.index.get(&page)?)?.get(word).copied()
    }
    /// The index of a page.
    fn find(&mut self, page: u64) -> Option<usize> {
        if let Some((last, index)) = self.last
            && last == page
        {
            return Some(index);
        }
        let index = *self.index.get(&page)?;
        self.last = Some((page, index));
        Some(index)
    }
    fn add_page(&mut self, page: u64) -> usize {
        let index = self.pages.len();
        self.pages.push(vec![0; PAGE_WORDS.into()].into());
        self.index.insert(page, index);
        self.last = Some((page, index));
        index
    }
    /// The page of a word, and its place there.
    fn place(word: u64) -> (u64, usize) {
        let words = u64::from(PAGE_WORDS);
        (word / words, usize::try_from(word % words).unwrap_or_default())
    }
    /// Bytes of memory that the table takes.
    pub fn bytes(&self) -> u64 {
        self.pages.len() as u64 * CtaWrites::PAGE_BYTES
    }
}

impl DataFlow {
    /// Fills in the text of source lines, where `file` has it.
    pub fn sources(&mut self, file: &dyn Fn(&str) -> Option<String>) {
        check::source_texts(self.instructions.iter_mut().map(|i| &mut i.place), file);
    }
}

/// A virtual register, as a function declares it. A hardware register is one for each of its values that
/// different instructions use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Register {
    /// Its name in the function.
    pub name: String,
    /// Its type as declared.
    pub ty: Scalar,
    /// The number of the first lane of a word of a mask of lanes; `None` if it holds a number.
    pub first_lane: Option<u32>,
}

/// What kind of work an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Action {
    /// Computes its results from its operands, lane by lane.
    #[default]
    Compute,
    /// Copies its operand.
    Move,
    /// Reads a clock.
    Clock,
    /// Converts its operand to another type.
    Convert,
    /// Chooses one of its first two operands by the third, a predicate.
    Select,
    /// Compares its operands; the result is a predicate.
    Compare,
    /// Loads its results.
    Load,
    /// Stores its operands.
    Store,
    /// Reads, updates and writes memory as one operation; the result is the old value.
    Atomic,
    /// Copies memory to memory, now or later.
    Copy,
    /// A matrix operation of the warp: tiles in registers of all lanes.
    Matrix,
    /// Exchanges values between the lanes of the warp: shuffles, votes.
    Exchange,
    /// A barrier, a fence, an mbarrier.
    Sync,
    /// A branch, with or without a condition.
    Branch,
    /// A call, a return, an exit. Values in memory that it passes are accesses: a read of each, if memory
    /// holds it, and then a write.
    Call,
    /// Texture accesses, hints, and what has no class.
    Other,
}

/// What an instruction computes from its operands, as far as an analysis asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Operation {
    /// An operation that no analysis asks for.
    #[default]
    Other,
    /// The sum of the first two operands. Of an atomic, the sum of the memory and an operand.
    Add,
    /// The first operand minus the second.
    Subtract,
    /// The product of the first two operands.
    Multiply,
    /// The product of the first two operands plus the third.
    MultiplyAdd,
    /// Another operation of the first two operands, which may be exchanged: a minimum, a bitwise and.
    Symmetric,
    /// The first operand in another lane, as the instruction `shfl` of PTX says it.
    Shuffle,
    /// The first operand in the lane that the second names.
    ReadLane,
    /// The first operand in the first lane that executes the instruction.
    ReadFirstLane,
    /// The first operand in the lane that the sum of the others names, which counts bytes of a register.
    Permute,
}

/// An operand of an instruction that it reads.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A register, by its index in [`DataFlow::registers`].
    Register(u32),
    /// A register of another lane: its index, and the lane that each lane reads. Without a lane it is 0.
    OtherLane(u32, Arc<[Option<u8>]>),
    /// The negation of a predicate register.
    Not(u32),
    /// A constant: its bits in the type of the instruction.
    Constant(u64),
    /// A special register, by name.
    Special(String),
    /// The address of a variable or parameter plus an offset.
    Symbol(String, i64),
}

impl Operand {
    /// The register, if it is one.
    pub fn register(&self) -> Option<u32> {
        match self {
            Operand::Register(r) | Operand::OtherLane(r, _) => Some(*r),
            _ => None,
        }
    }
}

/// The address operand of a memory access.
#[derive(Clone, PartialEq, Debug)]
pub struct Address {
    /// The register or variable.
    pub base: Operand,
    /// Bytes added to it.
    pub offset: i64,
}

/// One instruction of the module, with its operands and results as indices.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instruction {
    /// Its line in the module and in the source.
    pub place: Place,
    /// Opcode with its modifiers, as `fma.rn.f32`.
    pub opcode: String,
    /// Kind of the operation.
    pub action: Action,
    /// What it computes.
    pub operation: Operation,
    /// The type of its operation (the last type of the opcode; of a comparison, of what it compares).
    pub ty: Scalar,
    /// The state space of a memory access, as written; generic addresses count as global.
    pub space: Space,
    /// The guard, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// What it reads beside its address: the elements of vectors one after the other.
    pub operands: Vec<Operand>,
    /// The address of its memory access; of a copy, its destination first. Of a call through a pointer, that
    /// of the function.
    pub addresses: Vec<Address>,
    /// The registers that it writes, by index in [`DataFlow::registers`].
    pub results: Vec<u32>,
    /// The basic block, numbered over all functions.
    pub block: u32,
}

impl Instruction {
    /// The operand that result `n` of a move or a conversion comes from, if that is one.
    pub fn copied(&self, n: usize) -> Option<&Operand> {
        match &self.operands[..] {
            [one] => Some(one),
            all if all.len() == self.results.len() => all.get(n),
            _ => None,
        }
    }
    /// The registers among the operands, in order.
    pub fn registers_read(&self) -> impl Iterator<Item = u32> + '_ {
        self.operands.iter().filter_map(Operand::register)
    }
}

/// All that one warp executed, in flat tables that refer to each other by index.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WarpFlow {
    /// The instructions in the order in which the warp executed them.
    pub visits: Vec<Visit>,
    /// The values of results; see [`Visit::values`].
    pub values: Vec<u64>,
    /// The memory accesses, by visit.
    pub accesses: Vec<Access>,
    /// The addresses of accesses; see [`Access::addresses`].
    pub addresses: Vec<u64>,
}

/// One execution of an instruction by some lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Visit {
    /// Its place in the order of all visits of the launch. Two operations of one instruction have the same,
    /// and the halves of a warp: all read their operands before one writes its results.
    pub order: u64,
    /// The instruction: an index into [`DataFlow::instructions`].
    pub instruction: u32,
    /// The lanes that came to the instruction: a bit for each, lane 0 in the lowest.
    pub group: u64,
    /// The lanes of them that executed it: those whose guard held. For a branch: those that took it.
    pub lanes: u64,
    /// Where the values of its results begin in [`WarpFlow::values`]: for each result, one value for each
    /// lane of `lanes`, lowest lane first; if the result's bit in `uniform` is set, one value for all
    /// lanes. A predicate is 0 or 1. Registers of 128 bits have their low half only.
    pub values: u32,
    /// Bit `i`: result `i` has the same value in all lanes. Results from the 32nd on never are uniform.
    pub uniform: u32,
}

/// Whether an access reads memory, writes it, or does both as one operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AccessKind {
    /// It reads the bytes.
    #[default]
    Read,
    /// It writes the bytes.
    Write,
    /// It reads and writes the bytes as one operation.
    Update,
}

/// One memory access of some lanes at a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// The visit: an index into [`WarpFlow::visits`].
    pub visit: u32,
    /// Whether it reads or writes.
    pub kind: AccessKind,
    /// The space of the addresses.
    pub space: Space,
    /// The lanes that access memory.
    pub lanes: u64,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// Whose memory: the CTA of shared memory; of local memory, `cta * threads + thread` of the first lane,
    /// the other lanes having their own; 0 for global memory.
    pub owner: u64,
    /// Where the addresses begin in [`WarpFlow::addresses`]: one for each lane of `lanes`, lowest first.
    pub addresses: u32,
}

impl WarpFlow {
    /// The value of a result of a visit in one lane; `None` if the lane did not execute it.
    pub fn value(&self, code: &[Instruction], visit: u32, result: usize, lane: u32) -> Option<u64> {
        let v = self.visits.get(visit as usize)?;
        if lane >= u64::BITS || v.lanes >> lane & 1 == 0 {
            return None;
        }
        let results = code.get(v.instruction as usize)?.results.len();
        if result >= results {
            return None;
        }
        let count = v.lanes.count_ones();
        let uniform = |i: usize| i < 32 && v.uniform >> i & 1 == 1;
        let before: u32 = (0..result).map(|i| if uniform(i) { 1 } else { count }).sum();
        let lane = if uniform(result) { 0 } else { (v.lanes & ((1u64 << lane) - 1)).count_ones() };
        self.values.get((v.values + before + lane) as usize).copied()
    }
    /// The accesses of a visit.
    pub fn accesses_of(&self, visit: u32) -> &[Access] {
        let from = self.accesses.partition_point(|a| a.visit < visit);
        let to = self.accesses.partition_point(|a| a.visit <= visit);
        self.accesses.get(from..to).unwrap_or_default()
    }
    /// The address of an access in one lane.
    pub fn address(&self, access: &Access, lane: u32) -> Option<u64> {
        if lane >= u64::BITS || access.lanes >> lane & 1 == 0 {
            return None;
        }
        let at = (access.lanes & ((1u64 << lane) - 1)).count_ones();
        self.addresses.get((access.addresses + at) as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_writer_of_a_word_and_whether_there_are_others() {
        let mut writes = CtaWrites::default();
        let page = CtaWrites::PAGE_BYTES;
        assert!(!writes.by_others(0, 4, 3) && writes.last(0).is_none());
        writes.add(page - 4, 8, 3);
        writes.add(8, 2, u64::from(u32::MAX));
        assert_eq!([page - 4, page, page + 4].map(|at| writes.last(at)), [Some(3), Some(3), None]);
        assert_eq!(writes.last(8), Some(u64::from(SEVERAL) - 2), "numbers of CTAs saturate");
        assert!(!writes.by_others(page - 4, 8, 3) && writes.by_others(page - 8, 8, 4));
        writes.add(page, 4, 3);
        assert!(!writes.several(page - 4, 8));
        writes.add(page + 1, 1, 5);
        writes.add(page, 4, 5);
        assert_eq!((writes.last(page + 3), writes.several(page - 4, 8)), (Some(5), true));
        assert!(!writes.several(page - 4, 4));
        assert_eq!(writes.bytes(), 2 * page);
    }

    #[test]
    fn a_set_of_ctas() {
        let mut set = CtaSet::default();
        assert!(!set.contains(0));
        set.insert(64);
        set.insert(3);
        assert_eq!(
            [0, 3, 63, 64, 65, 1 << 40].map(|cta| set.contains(cta)),
            [false, true, false, true, false, false]
        );
    }
}
