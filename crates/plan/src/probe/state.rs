//! What a probe program keeps besides temporaries: variables, counters, tables.

use std::collections::{BTreeMap, HashMap};

use prlx_isa::view::{FuncId, InstId};
use prlx_trace::WarpSize;
use prlx_trace::device::{tables, tracks};
use prlx_trace::table::{Row, TableContents};

use crate::probe::code::Ty;

/// What a probe program keeps besides temporaries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProbeState {
    /// Variables of threads: in registers, handed to callees and back.
    pub vars: Vec<ThreadVariable>,
    /// Variables of warps and CTAs: the first eight bytes each of a warp's among the records; a CTA's are in
    /// those of its first warp.
    pub shared_variables: Vec<SharedVariable>,
    /// Counters of threads, likewise: what each adds up to goes to a row that is known when the thread ends.
    pub counters: Vec<Counter>,
    /// Those of them that share registers.
    pub packed: PackedCounters,
    /// Where tables lie, by number in `Module::tables`, which has those of records behind them. If there
    /// are `shares`, one more, whose rows count how often lanes came to stretches of blocks.
    pub tables: Vec<tables::Layout>,
    /// What rows get of such stretches.
    pub shares: Vec<CountShare>,
    /// Tables whose rows are known are there several times, behind the others, so that multiprocessors do not
    /// wait for each other.
    pub copies: TableCopies,
    /// Where records lie.
    pub records: tables::Records,
    /// Where what markers leave lies; `None`: no marker is recorded.
    pub tracks: Option<tracks::Layout>,
    /// Markers that are not recorded, and why.
    pub unrecorded_markers: Vec<Unavailable>,
    /// Places where something that the program names is unavailable, and why.
    pub unavailable: Vec<Unavailable>,
    /// Clauses of the program that have no place in the module, also none at which they do nothing.
    pub unmatched_clauses: Vec<usize>,
}

/// A variable of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadVariable {
    /// Its name in the program; empty for one of ours.
    pub name: String,
    /// The variable's type.
    pub ty: Ty,
    /// Bits that it starts with.
    pub init: u64,
}

/// A variable of a warp or CTA; it begins as zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedVariable {
    /// Its name in the program.
    pub name: String,
    /// The variable's type.
    pub ty: Ty,
    /// Who has one of its own: a warp or a CTA.
    pub of: VariableScope,
}

/// A counter of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Which table its sum is added to; one that counts or sums integers.
    pub table: u32,
    /// The row's number in its table.
    pub row: u32,
}

/// Counters of which it is known what a thread adds to them at most lie side by side in registers of 32 bits:
/// what all lanes of a warp have in one of these is added up at once, and no counter runs into the next. The
/// others have 64 bits each.
///
/// Where the whole warp ends and each of the others is below 2^[`PackedCounters::small`] in each lane, lane n
/// adds counter n to its row; else the lowest lane adds all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PackedCounters {
    /// How many: the first of [`ProbeState::counters`].
    pub counters: u32,
    /// Bits of each: enough for the most that all threads of a warp add to one.
    pub bits: u32,
}

impl PackedCounters {
    /// Numbers of so many bits have a sum of 32 bits over a warp of that size.
    pub const fn small(warp_size: WarpSize) -> u32 {
        32 - warp_size.lanes().trailing_zeros()
    }

    /// How many share a register.
    pub fn each(self) -> u32 {
        32 / self.bits.max(1)
    }
    /// How many registers they take.
    pub fn words(self) -> u32 {
        self.counters.div_ceil(self.each())
    }
    /// Which register a counter is in, and from which bit on; if it is one of them.
    pub fn place(self, counter: u32) -> Option<(u32, u32)> {
        (counter < self.counters).then(|| (counter / self.each(), counter % self.each() * self.bits))
    }
}

/// Tables whose rows are known, several times: of each the first is where its layout says. A multiprocessor
/// has that of its number, modulo `count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableCopies {
    /// How many; a power of two.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u32,
}

impl Default for TableCopies {
    fn default() -> TableCopies {
        TableCopies { count: 1, stride: 0 }
    }
}

/// Most copies of a table, and most bytes that they take together.
const COPIES: u32 = 128;
const COPIED: u64 = 1 << 20;
/// They begin at multiples of this: no two share what atomic operations wait for.
const APART: u64 = 256;

/// What a row gets each time that a lane comes to a stretch of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountShare {
    /// Which stretch: a row of the last of [`ProbeState::tables`].
    pub stretch: u32,
    /// Which table; one that counts or sums integers.
    pub table: u32,
    /// The row's number in its table.
    pub row: u32,
    /// The amount that each visit adds.
    pub add: u64,
}

/// Something that a clause can't be told at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable {
    /// Which clause of the program.
    pub clause: usize,
    /// Which function of the module.
    pub function: FuncId,
    /// At which instruction.
    pub at: Option<InstId>,
    /// The reason, as a clause of a sentence.
    pub why: String,
}

impl ProbeState {
    /// How many of `tables` are the program's.
    pub fn own(&self) -> usize {
        self.tables.len() - usize::from(!self.shares.is_empty())
    }
    /// Gives rows their shares of what stretches of blocks counted. `all` is what each of `tables` holds, in
    /// order, perhaps with others behind them; what is left is the program's own, numbered as in
    /// `Module::tables`.
    pub fn add_shares(&self, all: &mut Vec<TableContents>) {
        let own = self.own();
        if own == self.tables.len() || all.len() <= own {
            return;
        }
        let counted = all.remove(own);
        all.iter_mut().skip(own).for_each(|behind| behind.table = behind.table.saturating_sub(1));
        let times: HashMap<u64, u64> =
            counted.rows.iter().filter_map(|r| Some((*r.key.first()?, *r.cells.first()?))).collect();
        let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for share in &self.shares {
            let times = times.get(&share.stretch.into()).copied().unwrap_or(0);
            let sum = sums.entry((share.table, share.row)).or_default();
            *sum = sum.wrapping_add(share.add.wrapping_mul(times));
        }
        for ((table, row), sum) in sums.into_iter().filter(|(_, sum)| *sum != 0) {
            let Some(tables::Rows::Known(keys)) = self.tables.get(table as usize).map(|t| &t.rows) else {
                continue;
            };
            let (Some(key), Some(tally)) = (keys.get(row as usize), all.get_mut(table as usize)) else {
                continue;
            };
            match tally.rows.binary_search_by(|r| r.key.cmp(key)) {
                Ok(at) => {
                    tally.rows[at].cells.iter_mut().take(1).for_each(|cell| *cell = cell.wrapping_add(sum))
                }
                Err(at) => tally.rows.insert(at, Row { key: key.clone(), cells: vec![sum] }),
            }
        }
    }
    /// Gives all tables their places, and those whose rows are known their copies.
    pub fn lay_out(&mut self) {
        let hashed = |t: &&mut tables::Layout| matches!(t.rows, tables::Rows::Hashed { .. });
        let place = |all: Vec<&mut tables::Layout>, from: u64| {
            all.into_iter().fold(from, |at, table| {
                table.at = at;
                at + table.bytes()
            })
        };
        let end = place(self.tables.iter_mut().filter(hashed).collect(), 0).next_multiple_of(APART);
        let known = place(self.tables.iter_mut().filter(|t| !hashed(t)).collect(), end) - end;
        let stride = known.next_multiple_of(APART);
        let mut count = COPIES;
        while count > 1 && u64::from(count) * stride > COPIED {
            count /= 2;
        }
        if let (1.., Ok(stride)) = (known, u32::try_from(stride)) {
            self.copies = TableCopies { count, stride };
        }
    }
    /// The rows that one of `tables` has, by ascending keys, and how many values were lost. `all` is the
    /// memory of all tables.
    pub fn rows(&self, table: &tables::Layout, all: &[u8]) -> (Vec<Row>, u64) {
        let (rows, lost) = table.read(all);
        if matches!(table.rows, tables::Rows::Hashed { .. }) || self.copies.count == 1 {
            return (rows, lost);
        }
        let mut rows: BTreeMap<Vec<u64>, Vec<u64>> = rows.into_iter().map(|r| (r.key, r.cells)).collect();
        for copy in 1..u64::from(self.copies.count) {
            let other =
                tables::Layout { at: table.at + copy * u64::from(self.copies.stride), ..table.clone() };
            for row in other.read(all).0 {
                match rows.get_mut(&row.key) {
                    Some(cells) => table.aggregate.merge(cells, &row.cells, table.ty),
                    None => drop(rows.insert(row.key, row.cells)),
                }
            }
        }
        (rows.into_iter().map(|(key, cells)| Row { key, cells }).collect(), lost)
    }
    /// Bytes of device memory that all tables take.
    pub fn table_bytes(&self) -> u64 {
        let copies = u64::from(self.copies.count - 1) * u64::from(self.copies.stride);
        self.tables.iter().map(|t| t.at + t.bytes()).max().map_or(0, |end| end + copies)
    }
}

/// Who has a variable, or a record, of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariableScope {
    /// Each thread has its own.
    Thread,
    /// Each warp has its own.
    Warp,
    /// Each CTA has its own.
    Cta,
}
