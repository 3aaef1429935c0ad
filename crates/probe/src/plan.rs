//! Programs and plans.
//!
//! **State of a recording lane.** Lowered code and hooks keep, per lane, what the actions of its level need:
//! - `path`: the word under construction (starts as 1: no decisions), the cursor, and a counter of trips, 0 outside of counted loops and one more than the trips that were
//!   gone on with inside (lowered code keeps it in 32 bits: a lane may go on 2^32 - 2 times);
//! - `print`: four 64-bit hashes (each starts as [`Fold::START`]), the cursor, a 64-bit count of back edges;
//! - `events`: the cursor, and a counter of trips; - `operands`: the cursor and a 32-bit visit counter per watched site;
//! - `probe`: the program's variables, and counters (64 bits each, or several in 32); of a track the cursor, where it ends, the high half of both.
//!
//! Device functions get the state from their caller and give it back ([`Action::Save`], [`Action::Restore`] around the
//! call; [`Action::Begin`] and [`Action::End`] in the callee).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use prlx_isa::view::{FuncId, Guard, InstId, Operand, Reg};
use prlx_trace::SiteId;
use prlx_trace::device::{Finals, Follow, Followers, TURN, tables, tracks};
use prlx_trace::kernel::{Level, Module, SiteClass};
use prlx_trace::launch::Window;
use prlx_trace::table::{Row, TableContents};

use crate::code::{Ask, Code, Ty};
use crate::lang::{Holder, Script};
use crate::marks::Marking;

/// What to watch.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The recorder; [`Level::Probe`]: the user's own program.
    pub level: Level,
    /// That program.
    pub script: Option<Arc<Script>>,
    /// Leave decisions out that the decoder can evaluate again, and count trips where a loop has one exit. Off, every
    /// decision is one recorded bit: what the hooks of the emulator use as the independent reference.
    pub elide: bool,
    /// What to leave out.
    pub filter: Filter,
    /// For [`Level::Operands`].
    pub window: Option<Window>,
}

impl Program {
    /// What else may be written into a module in its place, where that takes less of a multiprocessor.
    pub fn sparing(&self) -> Option<Program> {
        let script = self.script.as_ref()?;
        let marks = script.marks.as_ref().filter(|m| m.spare && m.form == tracks::Form::Records)?;
        let marks = Some(Marking { form: tracks::Form::Spans, ..marks.clone() });
        Some(Program { script: Some(Arc::new(Script { marks, ..Script::clone(script) })), ..self.clone() })
    }
}

/// What a recorder takes; empty lists take all. Patterns are names with `*` and `?`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// Kernels.
    pub kernels: Vec<String>,
    /// Functions (kernels and device functions).
    pub functions: Vec<String>,
    /// Lines: a file name pattern and a range of lines. At level `path`, decisions that steer branches are recorded
    /// regardless, for without them the path is lost.
    pub lines: Vec<(String, Range<u32>)>,
    /// Classes of site; likewise.
    pub classes: Vec<SiteClass>,
    /// Warps, by index: first and one past the last. `None`: all.
    pub warps: Option<(u64, u64)>,
}

/// A program resolved against a module: the only input of every lowering.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// What was asked.
    pub program: Program,
    /// The static half of the trace to be: functions with decode programs, sites, locations. Function `i` is the view's
    /// function `i`.
    pub module: Module,
    /// By function of the view, in order.
    pub functions: Vec<FunctionPlan>,
    /// What a probe program keeps; of a recorder it is empty.
    pub kept: Kept,
    /// What a warp leaves at its end at level `print`: hashes into which something is folded.
    pub finals: Finals,
}

/// What a probe program keeps besides temporaries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Kept {
    /// Variables of threads: in registers, handed to callees and back.
    pub vars: Vec<Var>,
    /// Variables of warps and CTAs: the first eight bytes each of a warp's among the records; a CTA's are in those of its first warp.
    pub held: Vec<Held>,
    /// Counters of threads, likewise: what each adds up to goes to a row that is known when the thread ends.
    pub counters: Vec<Counter>,
    /// Those of them that share registers.
    pub packed: Packed,
    /// Where tables lie, by number in [`Module::tables`], which has those of records behind them. If there are `shares`, one more,
    /// whose rows count how often lanes came to stretches of blocks.
    pub tables: Vec<tables::Layout>,
    /// What rows get of such stretches.
    pub shares: Vec<Share>,
    /// Tables whose rows are known are there several times, behind the others, so that multiprocessors do not wait for each other.
    pub copies: Copies,
    /// Where records lie.
    pub records: tables::Records,
    /// Where what markers leave lies; `None`: no marker is recorded.
    pub tracks: Option<tracks::Layout>,
    /// Markers that are not recorded, and why.
    pub unmarked: Vec<Missed>,
    /// Places where something that the program names is not to be had, and why.
    pub missed: Vec<Missed>,
    /// Clauses of the program that have no place in the module, also none at which they do nothing.
    pub idle: Vec<usize>,
}

/// A variable of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// Its name in the program; empty for one of ours.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Bits that it starts with.
    pub init: u64,
}

/// A variable of a warp or CTA; it begins as zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// Its name in the program.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Who has one of its own: a warp or a CTA.
    pub of: Holder,
}

/// A counter of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Which table its sum is added to; one that counts or sums integers.
    pub table: u32,
    /// Which row.
    pub row: u32,
}

/// Counters of which it is known what a thread adds to them at most lie side by side in registers of 32 bits: what all lanes of a warp have in one of
/// these is added up at once, and no counter runs into the next. The others have 64 bits each.
///
/// Where the whole warp ends and each of the others is below 2^[`Packed::SMALL`] in each lane, lane n adds counter n to its row; else the lowest lane adds all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packed {
    /// How many: the first of [`Kept::counters`].
    pub counters: u32,
    /// Bits of each: enough for 32 times the most that a thread adds to one.
    pub bits: u32,
}

impl Packed {
    /// Numbers of so many bits have a sum of 32 over a warp.
    pub const SMALL: u32 = 27;

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

/// Tables whose rows are known, several times: of each the first is where its layout says. A multiprocessor has that of its
/// number, modulo `count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copies {
    /// How many; a power of two.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u32,
}

impl Default for Copies {
    fn default() -> Copies {
        Copies { count: 1, stride: 0 }
    }
}

/// Most copies of a table, and most bytes that they take together.
const COPIES: u32 = 128;
const COPIED: u64 = 1 << 20;
/// They begin at multiples of this: no two share what atomic operations wait for.
const APART: u64 = 256;

/// What a row gets each time that a lane comes to a stretch of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Which stretch: a row of the last of [`Kept::tables`].
    pub stretch: u32,
    /// Which table; one that counts or sums integers.
    pub table: u32,
    /// Which row.
    pub row: u32,
    /// How much.
    pub add: u64,
}

/// Something that a clause can't be told at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// Which clause of the program.
    pub clause: usize,
    /// Which function of the module.
    pub function: FuncId,
    /// At which instruction.
    pub at: Option<InstId>,
    /// Why.
    pub why: String,
}

impl Kept {
    /// How many of `tables` are the program's.
    pub fn own(&self) -> usize {
        self.tables.len() - usize::from(!self.shares.is_empty())
    }
    /// Gives rows their shares of what stretches of blocks counted. `all` is what each of `tables` holds, in order, perhaps with others
    /// behind them; what is left is the program's own, numbered as in [`Module::tables`].
    pub fn settle(&self, all: &mut Vec<TableContents>) {
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
    pub(crate) fn lay_out(&mut self) {
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
            self.copies = Copies { count, stride };
        }
    }
    /// The rows that one of `tables` has, by ascending keys, and how many values were lost. `all` is the memory of all tables.
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

/// What goes into one function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FunctionPlan {
    /// Which function of the view.
    pub function: FuncId,
    /// Why it is left as it is: the filter, something that can't be instrumented, or that nothing in it needs recording
    /// (the module's function is not skipped then: a decoder walks it). No insertions then.
    pub skipped: Option<String>,
    /// What to insert, by position; at the same position in this order.
    pub insertions: Vec<Insertion>,
    /// Trip-counted loops: how many counters there are.
    pub trip_counters: u32,
}

/// One action at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct Insertion {
    /// Where.
    pub at: At,
    /// For whom: lanes for which the guard does not hold skip it. An action at a guarded instruction that should run only
    /// when the instruction does repeats the guard here.
    pub guard: Option<Guard>,
    /// What.
    pub action: Action,
}

/// A place in a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum At {
    /// Before the first instruction.
    Entry,
    /// Before an instruction; branches to a label there run it too.
    Before(InstId),
    /// After an instruction that does not transfer control.
    After(InstId),
}

/// What inserted code does.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Sets up the lane's state: from the context in a kernel, from the caller in a device function.
    Begin,
    /// Writes out what is pending (kernel, before a return or exit: word, hashes) or hands the state back (device function,
    /// before a return). Before an `exit` in a device function it writes out.
    End {
        /// The instruction is a `trap`: it stops the kernel, wherever the lane was.
        trap: bool,
    },
    /// Before a call: hands the state to the callee.
    Save,
    /// After a call: takes it back.
    Restore,
    /// `path`: makes room for `bits` decisions: writes the word out if fewer are free.
    Reserve {
        /// How many.
        bits: u32,
    },
    /// `path`: appends the low `bits` bits of `reg` (a predicate: one), highest first.
    Bits {
        /// The site, for the record.
        site: SiteId,
        /// What is appended.
        reg: Reg,
        /// How many bits.
        bits: u8,
    },
    /// All but `operands`: a counted loop is entered: sets the counter to 1.
    TripBegin {
        /// Which counter of the function.
        counter: u32,
    },
    /// Likewise: the lane goes on in the loop: adds 1.
    TripAdd {
        /// Which counter of the function.
        counter: u32,
    },
    /// In place of all [`Action::TripAdd`]s, before the count is written: unless the counter is 0, sets it to `reg` less `less`.
    TripRead {
        /// Which counter of the function.
        counter: u32,
        /// A register of 32 bits that the loop counts by itself.
        reg: Reg,
        /// What it holds of a lane that went on no time, less one.
        less: u32,
    },
    /// `path`: makes room for `room` decisions as [`Action::Reserve`] does. Then, unless the counter is 0: appends how often the
    /// lane went on in [`COUNT_BITS`](prlx_trace::device::COUNT_BITS) bits, and sets the counter to 0. A count that does not fit
    /// is all ones there, and written in words of its own.
    TripEnd {
        /// Which counter of the function.
        counter: u32,
        /// Room for these bits and what follows them.
        room: u32,
    },
    /// `events`: unless the counter is 0: lanes that went on equally often write an event with how often, and set the counter to 0.
    TripEvent {
        /// Which counter of the function.
        counter: u32,
        /// The decision that the loop is left by.
        site: SiteId,
    },
    /// `print`: unless the counter is 0: folds how often the lane went on into [`Fold::Control`], and sets the counter to 0.
    TripFold {
        /// Which counter of the function.
        counter: u32,
    },
    /// `print`: folds a value into a hash.
    Fold {
        /// The site.
        site: SiteId,
        /// Which hash.
        into: Fold,
        /// What: registers, or constants; each is folded in order as its bits zero-extended to 64.
        values: Vec<Operand>,
        /// As many lowest bits of each count, see [`low`](prlx_trace::device::low).
        bits: u8,
    },
    /// `print`: counts a back edge; at every 2^`every` of them, writes a checkpoint of all four hashes mixed.
    Checkpoint {
        /// Logarithm of the distance.
        every: u8,
    },
    /// `events`: writes an event (see also [`Plan::pieces`]): which lanes, and the ballot of a predicate, or a digest of `value` over them.
    Event {
        /// The site.
        site: SiteId,
        /// Of those active lanes for which this holds; where it holds for none, there is no event. `None`: of all.
        of: Option<Guard>,
        /// Predicate, index or moved value.
        value: Option<Operand>,
        /// As many lowest bits of it count, of a vector's elements each, see [`low`](prlx_trace::device::low).
        bits: u8,
    },
    /// `probe`: runs a piece of the program.
    Probe(Arc<Code>),
    /// `probe`: adds to a counter of [`Kept::counters`].
    Count {
        /// Which.
        counter: u32,
        /// How much.
        add: u64,
    },
    /// `probe`: tests whether the next so many slots fit the lane's track, and moves its cursor beyond them.
    Room {
        /// How many slots.
        slots: u32,
    },
    /// `probe`: if one is due and fits, writes an anchor, and moves the cursor of the lane's track beyond it.
    Anchor,
    /// `probe`: if what the last [`Action::Room`] asked for fits, writes a record of a marker.
    Mark {
        /// Which of [`Module::marks`].
        mark: u32,
        /// How many slots before the cursor.
        back: u32,
        /// The words behind it, at most two.
        words: Vec<Word>,
    },
    /// `probe`: reads the clock once, for words of the lane's track ([`tracks::Form::Sums`]): those of regions that end here and begin here, and one that
    /// counts.
    Add {
        /// Words to which it is added.
        ends: Vec<u32>,
        /// Words from which it is subtracted.
        begins: Vec<u32>,
        /// A word, and what is added to it.
        count: Option<(u32, u32)>,
    },
    /// `probe`: reads the clock once, for a span that ends and one that begins ([`tracks::Form::Spans`]).
    Span {
        /// If what the last [`Action::Room`] asked for fits, writes it.
        end: Option<SpanEnd>,
        /// Is kept until it ends.
        begin: Option<SpanBegin>,
    },
    /// `probe`: the lane belongs to a group.
    Group {
        /// Its number; then, if it is there, whether the lane leads it: who does has the warp's track from here on, who
        /// doesn't has none.
        values: Vec<Word>,
    },
    /// `operands`: if the lane's visit of `site` is in the window, writes a record of up to two values; counts the visit.
    Operands {
        /// The site.
        site: SiteId,
        /// Which visit counter of the function.
        counter: u32,
        /// What.
        values: Vec<Operand>,
    },
}

/// A span that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanEnd {
    /// Which of [`tracks::Layout::spans`].
    pub span: u32,
    /// How many slots before the cursor it is written.
    pub back: u32,
}

/// A span that begins.
#[derive(Clone, PartialEq, Debug)]
pub struct SpanBegin {
    /// At which of [`Module::marks`].
    pub mark: u32,
    /// The marker's word.
    pub word: Option<Word>,
}

/// 32 bits that go into a record.
#[derive(Clone, PartialEq, Debug)]
pub struct Word {
    /// A register, constant or symbol; of 64 bits the low ones.
    pub of: Operand,
    /// What is added to it.
    pub add: i64,
}

/// Which rolling hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// Decisions.
    Control = 0,
    /// Loaded values.
    Loaded = 1,
    /// Stored values, and what atomics return.
    Stored = 2,
    /// Barriers: of old recordings alone.
    Sync = 3,
}

/// An event that is written in full, and what follows it in the next row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Written<'p> {
    /// The event.
    pub first: &'p Insertion,
    /// How many of the events behind it follow with their values alone.
    pub more: Option<Followers>,
}

impl Plan {
    /// Whether anything in it writes to streams: often all that a kernel decides can be computed.
    pub fn writes(&self) -> bool {
        use Action::{Bits, Checkpoint, Event, Operands, TripEnd, TripEvent};
        let mut actions = self.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
        let counts = |a: &Action| matches!(a, TripEnd { .. } | TripEvent { .. });
        actions.any(|a| {
            counts(a) || matches!(a, Bits { .. } | Checkpoint { .. } | Event { .. } | Operands { .. })
        })
    }
    /// Whether a probe program asks for the number of the launch.
    pub fn numbered(&self) -> bool {
        let mut actions = self.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
        actions.any(|a| matches!(a, Action::Probe(code) if code.asks(Ask::Launch)))
    }
    /// Insertions, in order, by what is done at once: plain events of one place for the same lanes have one head, which finds
    /// their leader and room for all of them. (A switch's have many leaders.)
    pub fn pieces<'i, 'p>(&self, here: &'i [&'p Insertion]) -> impl Iterator<Item = &'i [&'p Insertion]> {
        let plain = |i: &Insertion| match i.action {
            Action::Event { site, .. } => {
                self.module.sites.get(site.index()).is_none_or(|s| s.class != SiteClass::Switch)
            }
            _ => false,
        };
        let alike =
            move |a: &&Insertion, b: &&Insertion| (a.at, a.guard) == (b.at, b.guard) && plain(a) && plain(b);
        here.chunk_by(alike).flat_map(|c| c.chunks(Self::HEAD))
    }
    /// Most events under one head.
    pub const HEAD: usize = 8;
    /// The events under one head, as they are written: of those whose sites follow each other, only the first's in full if the others are of lanes
    /// that it knows.
    pub fn rows<'p>(mut piece: &[&'p Insertion]) -> Vec<Written<'p>> {
        let event = |i: &Insertion| match &i.action {
            Action::Event { site, of, value, .. } => Some((site.0, *of, value.clone())),
            _ => None,
        };
        let mut rows = Vec::new();
        while let Some((first, rest)) = piece.split_first() {
            let lanes = |i: &Insertion, nth: usize| {
                let ((site, of, value), (own, own_of, _)) = (event(first)?, event(i)?);
                match own_of {
                    _ if own != site + 1 + nth as u32 => None,
                    same if same == of => Some(Follow::All),
                    Some(g) if of.is_none() && value == Some(Operand::Reg(g.reg)) => {
                        Some(if g.negate { Follow::Without } else { Follow::With })
                    }
                    _ => None,
                }
            };
            let lanes: Vec<Option<Follow>> = rest.iter().enumerate().map(|(n, i)| lanes(i, n)).collect();
            let more = lanes.first().copied().flatten();
            let count =
                lanes.iter().take(Followers::MOST).take_while(|l| more.is_some() && **l == more).count();
            // Vectors of three there are not.
            let count = if count == 3 { 2 } else { count };
            rows.push(Written { first, more: more.map(|lanes| Followers { count: count as u32, lanes }) });
            piece = &rest[count..];
        }
        rows
    }
    /// [`Plan::finals`] of functions.
    pub fn finals(functions: &[FunctionPlan]) -> Finals {
        let mut finals = Finals::default();
        for insertion in functions.iter().flat_map(|f| &f.insertions) {
            match &insertion.action {
                Action::Fold { into, .. } => finals.used[*into as usize] = true,
                Action::TripFold { .. } => finals.used[Fold::Control as usize] = true,
                _ => {}
            }
        }
        finals
    }
}

impl Fold {
    /// The multiplier of the rolling hash: odd, with well-spread bits, and of 32 bits, which a GPU multiplies by in two instructions.
    pub const K: u64 = 0x9E37_79B1;
    /// What every hash starts from, so that leading zeros count.
    pub const START: u64 = 1;

    /// One step of the hash, as lowered code, hooks and decoders all compute it. Both halves of a value meet the hash's low half: what
    /// differs in its highest bits alone no multiplication would spread, and of two such values (the signs of two doubles) one
    /// would undo the other.
    pub const fn step(hash: u64, value: u64) -> u64 {
        let high = ((value >> 32) as u32).rotate_left(TURN) as u64;
        (hash ^ high).wrapping_mul(Self::K) ^ value & u32::MAX as u64
    }
    /// A multiplier of lanes: odd, with well-spread bits.
    pub const LANE: u32 = 0x9E37_79B1;

    /// What a lane puts into its warp's hash: its own, in a way of its own, so that neither lanes can trade nor what differs alike in all
    /// of them goes away. Both halves of the product count: a difference in the lowest bit changes the high one seldom, one in
    /// the highest bit the low one never. 32 bits, for a GPU joins those of 32 lanes in one instruction, and few warps are the only one
    /// that differs.
    pub const fn of_lane(hash: u64, lane: u32) -> u32 {
        let all =
            hash.wrapping_mul(lane.wrapping_mul(Self::LANE.wrapping_mul(2)).wrapping_add(Self::LANE) as u64);
        (all as u32).wrapping_mul(Self::LANE).wrapping_add((all >> 32) as u32)
    }
    /// A lane's signature, of what it puts into its warp's hashes, in order: never 0.
    pub fn signature(parts: impl Iterator<Item = u32>) -> u8 {
        let all = parts.fold(0u32, |s, part| s.wrapping_mul(Self::LANE).wrapping_add(part));
        ((all >> 24) as u8).max(1)
    }
    /// A checkpoint of the four hashes: never 0.
    pub const fn checkpoint(hashes: [u64; 4]) -> u64 {
        match hashes[0] ^ hashes[1].rotate_left(16) ^ hashes[2].rotate_left(32) ^ hashes[3].rotate_left(48) {
            0 => 1,
            all => all,
        }
    }
}
