//! Insertions: an action at a place in a function.

use std::sync::Arc;

use prlx_isa::view::{Guard, InstId, Operand, Reg};
use prlx_trace::SiteId;

use super::hash::RollingHash;
use crate::probe::code::Code;

/// One action at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct Insertion {
    /// The place in the function.
    pub at: At,
    /// For whom: lanes for which the guard does not hold skip it. An action at a guarded instruction that
    /// should run only when the instruction does repeats the guard here.
    pub guard: Option<Guard>,
    /// What runs there.
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

impl At {
    /// The order of places in the text.
    pub fn order(self) -> (u32, u8) {
        match self {
            At::Entry => (0, 0),
            At::Before(i) => (i.0, 1),
            At::After(i) => (i.0, 2),
        }
    }
}

/// What inserted code does.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Sets up the lane's state: from the context in a kernel, from the caller in a device function.
    Begin,
    /// Writes out what is pending (kernel, before a return or exit: word, hashes) or hands the state back
    /// (device function, before a return). Before an `exit` in a device function it writes out.
    End {
        /// The instruction is a `trap`: it stops the kernel, wherever the lane was.
        trap: bool,
    },
    /// Before a call: hands the state to the callee.
    Save,
    /// After a call: takes it back.
    Restore,
    /// `path`: the lane has written no word yet, on any way to here: its cursor is where it starts.
    StartCursor,
    /// `path`: makes room for `bits` decisions: writes the word out if fewer are free.
    Reserve {
        /// How many decisions, one bit each.
        bits: u32,
    },
    /// `path`: appends bits of `reg` (a predicate: one), highest first: a decision, or a part of a recorded
    /// value. `print`: a decision that the next [`Action::FoldWord`] takes.
    Bits {
        /// The site of the decision; `None` for a part of a value.
        site: Option<SiteId>,
        /// What is appended.
        reg: Reg,
        /// The lowest bit that is appended.
        from: u8,
        /// How many bits.
        bits: u8,
        /// Where they go.
        into: WordBits,
    },
    /// `values`: appends [`VALUE_BITS`](prlx_trace::device::VALUE_BITS) bits that stand for what is stored
    /// ([`value_hash`](crate::value_hash)).
    ValueHash {
        /// The site that the action records.
        site: SiteId,
        /// What: registers, or constants, in order; each as its bits zero-extended to 64.
        values: Vec<Operand>,
        /// As many lowest bits of each count, see [`low`](prlx_trace::device::low).
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
    /// In place of all [`Action::TripAdd`]s, before the count is written: unless the counter is 0, sets it to
    /// `reg` less `less`.
    TripRead {
        /// Which counter of the function.
        counter: u32,
        /// A register of 32 bits that the loop counts by itself.
        reg: Reg,
        /// What it holds of a lane that went on no time, less one.
        less: u32,
    },
    /// `path`: makes room for `room` decisions, unless 0, as [`Action::Reserve`] does. Then, unless the
    /// counter is 0: appends how often the lane went on in [`COUNT_BITS`](prlx_trace::device::COUNT_BITS)
    /// bits, and sets the counter to 0. A count that does not fit is all ones there, and written in words of
    /// its own.
    TripEnd {
        /// Which counter of the function.
        counter: u32,
        /// Room for these bits and what follows them.
        room: u32,
    },
    /// `events`: unless the counter is 0: lanes that went on equally often write an event with how often, and
    /// set the counter to 0.
    TripEvent {
        /// Which counter of the function.
        counter: u32,
        /// The decision that the loop is left by.
        site: SiteId,
    },
    /// `print`: unless the counter is 0: folds how often the lane went on into [`RollingHash::Control`], and
    /// sets the counter to 0.
    TripFold {
        /// Which counter of the function.
        counter: u32,
    },
    /// `print`: folds a value into a hash.
    Fold {
        /// The site that the action records; `None` for a computed value.
        site: Option<SiteId>,
        /// The hash that takes the values.
        into: RollingHash,
        /// What: registers, or constants; each is folded in order as its bits zero-extended to 64.
        values: Vec<Operand>,
        /// As many lowest bits of each count, see [`low`](prlx_trace::device::low).
        bits: u8,
    },
    /// `print`: folds the lane's word into [`RollingHash::Control`], and empties it.
    FoldWord,
    /// `print`: counts a back edge; at every 2^`every` of them, writes a checkpoint of all four hashes mixed.
    Checkpoint {
        /// Logarithm of the distance.
        every: u8,
    },
    /// `events`: writes an event (see also `Plan::pieces`): which lanes, and the ballot of a predicate, or
    /// a digest of `value` over them.
    Event {
        /// The site that the action records.
        site: SiteId,
        /// Of those active lanes for which this holds; where it holds for none, there is no event. `None`: of
        /// all.
        of: Option<Guard>,
        /// Predicate, index or moved value.
        value: Option<Operand>,
        /// As many lowest bits of it count, of a vector's elements each, see
        /// [`low`](prlx_trace::device::low).
        bits: u8,
    },
    /// `probe`: runs a piece of the program.
    Probe(Arc<Code>),
    /// `probe`: adds to a counter of `ProbeState::counters`.
    Count {
        /// Index into [`ProbeState::counters`](crate::ProbeState::counters).
        counter: u32,
        /// The amount to add.
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
        /// Which of `Module::marks`.
        mark: u32,
        /// How many slots before the cursor.
        back: u32,
        /// The words behind it, at most two.
        words: Vec<Word>,
    },
    /// `probe`: reads the clock once, for words of the lane's track (`tracks::Form::Sums`): those of
    /// regions that end here and begin here, and one that counts.
    Add {
        /// Words to which it is added.
        ends: Vec<u32>,
        /// Words from which it is subtracted.
        begins: Vec<u32>,
        /// A word, and what is added to it.
        count: Option<(u32, u32)>,
    },
    /// `probe`: reads the clock once, for a span that ends and one that begins (`tracks::Form::Spans`).
    Span {
        /// If what the last [`Action::Room`] asked for fits, writes it.
        end: Option<SpanEnd>,
        /// Is kept until it ends.
        begin: Option<SpanBegin>,
    },
    /// `probe`: the lane belongs to a group.
    Group {
        /// Its number; then, if it is there, whether the lane leads it: who does has the warp's track from
        /// here on, who doesn't has none.
        values: Vec<Word>,
    },
    /// `operands`: if the lane's visit of `site` is in the window, writes a record of up to two values;
    /// counts the visit.
    Operands {
        /// The site that the action records.
        site: SiteId,
        /// Which visit counter of the function.
        counter: u32,
        /// Up to two values to record.
        values: Vec<Operand>,
    },
}

/// Where appended bits go in the lane's word.
///
/// Bits of one stretch of code share the shift: the first makes place for all, the others fill it. Nothing
/// reads the word in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordBits {
    /// How far the word is shifted first.
    pub shift: u8,
    /// Which bit of the shifted word takes the lowest of them.
    pub to: u8,
}

impl WordBits {
    /// Of `bits` bits that share nothing: they are shifted in.
    pub fn alone(bits: u8) -> WordBits {
        WordBits { shift: bits, to: 0 }
    }
}

/// A span that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanEnd {
    /// Which of `tracks::Layout::spans`.
    pub span: u32,
    /// How many slots before the cursor it is written.
    pub back: u32,
}

/// A span that begins.
#[derive(Clone, PartialEq, Debug)]
pub struct SpanBegin {
    /// At which of `Module::marks`.
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
