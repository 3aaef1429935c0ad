//! The static half of a recording: what decoding and reports need to know of the code.
//!
//! PRLX computes it once, when it instruments a module, and stores it with the events. Its core is the
//! *decode program*: the [`Step`]s of each basic block. The decoder walks the program lane by lane, with the
//! launch's parameters and the lane's recorded words, and obtains the lane's exact path. A decision that
//! follows from parameters, ids, constants, induction variables and earlier decisions is not recorded: the
//! decoder evaluates its slice again ([`Step::Let`]).
//!
//! # Invariants
//! Every index is within the table that it refers to; the reader checks this. `Module::sites[i].function` and
//! `block` name the block whose steps contain that site.

use crate::ids::{BlockId, FileId, FuncId, LocId, LoopId, SiteId, Slot};
use crate::mark::Mark;
use crate::table::Table;

structures! {
    /// One loaded module.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Module {
        /// Name for reports: a file name, or the name of the kernel.
        pub name: String,
        /// Target of the code, for example `sm_80`.
        pub target: String,
        /// XXH3-128 of the original text.
        pub digest: u128,
        /// Source files that locations name.
        pub files: Vec<SourceFile>,
        /// Source locations, without duplicates.
        pub locs: Vec<Loc>,
        /// Kernels, and the device functions that they can call.
        pub functions: Vec<Function>,
        /// Program points that carry a probe. A [`SiteId`] is an index into this list.
        pub sites: Vec<Site>,
        /// Tables and records of the inserted probe program.
        #[since(5)] pub tables: Vec<Table>,
        /// Markers that were inserted into the module.
        #[since(6)] pub marks: Vec<Mark>,
        /// Version of the recorder's value hashes (levels `print` and `events`): [`crate::device::hashing`],
        /// or 0 for the first version.
        #[since(7)] pub hashing: u8,
    }

    /// A source file.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct SourceFile {
        /// Path as the debug information spells it.
        pub path: String,
        /// Text of the file. `None` if it was not found when the module was instrumented.
        pub text: Option<String>,
    }

    /// A source location, with the call sites it was inlined at.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Loc {
        /// File of the line.
        pub file: FileId,
        /// Line, from 1.
        pub line: u32,
        /// Column, from 1; 0 if unknown.
        pub column: u32,
        /// The inlined function that this line belongs to. Empty if the line belongs to the function itself.
        pub function: String,
        /// The call that was replaced by the inlined function.
        pub inlined_at: Option<LocId>,
    }

    /// A function, its control flow and its decode program.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Function {
        /// Name as in the module (mangled).
        pub name: String,
        /// Whether the function is a kernel, which the host can launch.
        pub kernel: bool,
        /// Parameters, in order, without the hidden parameter of instrumented code.
        pub params: Vec<Param>,
        /// Number of decoder registers that the steps use.
        pub slots: u32,
        /// Basic blocks; block 0 is the entry.
        pub blocks: Vec<Block>,
        /// Loops; an outer loop comes before its inner loops.
        pub loops: Vec<Loop>,
        /// Why the function is not recorded. `None` if it is recorded.
        pub skipped: Option<String>,
        /// Resources of the original code and of the code that ran. `None` if they are not known.
        #[since(11)] pub needs: Option<(ThreadResources, ThreadResources)>,
        /// Locations of the calls through pointers. What the called functions do is not recorded.
        #[since(22)] pub pointer_calls: Vec<Option<LocId>>,
    }

    /// Resources of one thread, as the machine code of a function states them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct ThreadResources {
        /// Number of registers of a thread.
        pub registers: u32,
        /// Local memory of a thread in bytes: arrays and spilled registers.
        pub local: u32,
    }

    /// A kernel parameter: where it lies in the parameter buffer.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Param {
        /// Name in the code.
        pub name: String,
        /// Type of one element.
        pub ty: Scalar,
        /// Byte offset in the parameter buffer.
        pub offset: u32,
        /// Size in bytes. Arrays and structs are larger than `ty`.
        pub size: u32,
    }

    /// A basic block of a function.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Block {
        /// Location of the first instruction that has a location.
        pub loc: Option<LocId>,
        /// Steps that the decoder performs in this block, in order.
        pub steps: Vec<Step>,
        /// Control flow at the end of the block.
        pub end: End,
        /// Immediate post-dominator: lanes that diverge here converge there at the latest. `None` if they
        /// converge only at the exit.
        pub ipdom: Option<BlockId>,
        /// Innermost loop that contains the block.
        pub in_loop: Option<LoopId>,
    }

    /// A natural loop, or an irreducible region.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Loop {
        /// Block at which the loop is entered; one of several if the loop is irreducible. A jump from inside
        /// the loop to this block starts the next iteration.
        pub header: BlockId,
        /// The next enclosing loop.
        pub parent: Option<LoopId>,
        /// All blocks of the loop and of its inner loops, sorted.
        pub blocks: Vec<BlockId>,
        /// Whether the loop can be entered at several blocks. Its iterations are then not well defined, and
        /// are counted at `header`.
        pub irreducible: bool,
        /// Source location of the header.
        pub loc: Option<LocId>,
    }
}

choices! {
    /// One step of the decode program.
    #[derive(Clone, PartialEq, Debug)]
    pub enum Step {
        /// Evaluates one operation of a slice, instead of reading a recorded value.
        Let {
            /// The slot that receives the result.
            to: Slot,
            /// The operation to evaluate.
            op: Alu,
            /// Type of the operation. Arguments and result are truncated to its width.
            ty: Scalar,
            /// Operands of the operation, in order.
            args: Vec<Arg>,
            /// Guard of the instruction. If it does not hold, `to` keeps its value.
            guard: Option<Guard>,
        } = 0,
        /// A visit to a decision. The decoder obtains its value as [`Site::source`] states, writes it to
        /// `slot`, and emits one event.
        Decide {
            /// The site of the decision.
            site: SiteId,
            /// The slot that holds the value afterwards. With [`Source::Computed`] it already holds the
            /// value.
            slot: Slot,
            /// Guard of the defining instruction. If it does not hold, the site is not visited, nothing is
            /// read from the stream, and `slot` keeps its value.
            guard: Option<Guard>,
        } = 1,
        /// A visit to a site that is no decision (a store, an atomic, a barrier …). The decoder emits one
        /// event without a value.
        Visit {
            /// The site that is visited.
            site: SiteId,
            /// Guard of the instruction. The site is visited only if it holds.
            guard: Option<Guard>,
        } = 2,
        /// A call of a function of this module. The decoder walks the function, unless it is skipped.
        Call {
            /// The function that is called.
            function: FuncId,
            /// Guard of the call.
            guard: Option<Guard>,
            /// Source location of the call.
            #[since(8)] loc: Option<LocId>,
        } = 3,
        /// Reads a recorded value, from which later decisions are computed. It lies among the decisions of
        /// the lane's stream, in the parts that [`value_parts`](crate::device::value_parts) lists. (Since
        /// version 15.)
        Read {
            /// The slot that receives the value.
            to: Slot,
            /// Number of low bits that were recorded. The slot's higher bits become 0.
            bits: u8,
            /// Guard of the instruction that gives the value. If it does not hold, nothing is read, and `to`
            /// keeps its value.
            guard: Option<Guard>,
            /// The instruction, as its code spells it.
            text: String,
            /// Source location of the instruction.
            loc: Option<LocId>,
        } = 4,
    }
}

structures! {
    /// A predicate that guards an instruction (`@p` or `@!p`), in a decoder register.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Guard {
        /// Slot that holds the predicate.
        pub slot: Slot,
        /// Whether the guard holds when the predicate is false (`@!p`).
        pub negate: bool,
    }
}

choices! {
    /// Control flow at the end of a block.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum End {
        /// Continues at one block.
        Jump(to: BlockId) = 0,
        /// Continues at one of two blocks, selected by a predicate.
        Branch {
            /// Guard of the branch.
            guard: Guard,
            /// Next block if the guard holds.
            taken: BlockId,
            /// Next block if the guard does not hold.
            other: BlockId,
        } = 1,
        /// Continues at the block with an index (`brx.idx`). An index out of range ends the decoding of the
        /// lane.
        Switch {
            /// The slot that holds the index.
            index: Slot,
            /// Target blocks, in order of the index.
            targets: Vec<BlockId>,
        } = 2,
        /// Returns to the caller. In a kernel, the lane ends.
        Return = 3,
        /// The lane ends here (`exit`, `trap`).
        Exit = 4,
    }

    /// An operand of a slice operation.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Arg {
        /// The value of a decoder register.
        Slot(slot: Slot) = 0,
        /// The bits of a constant.
        Const(bits: u64) = 1,
        /// The value of a special register.
        Special(register: Special) = 2,
        /// A number in the parameter buffer.
        Param {
            /// Byte offset in the parameter buffer.
            offset: u32,
            /// Size in bytes: 1, 2, 4 or 8.
            size: u8,
        } = 3,
    }
}

/// Declares C-like enums that have a stable number in files and a name in texts.
macro_rules! codes {
    ($($(#[doc = $m:literal])* $name:ident {
        $($(#[doc = $vm:literal])* $v:ident = $n:literal $text:literal,)*
    })*) => { $(
        $(#[doc = $m])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub enum $name { #[default] $($(#[doc = $vm])* $v = $n,)* }
        impl $name {
            /// All values, in order of their numbers.
            pub const ALL: &[$name] = &[$($name::$v,)*];
            /// Returns the value with this number in files; `None` for an unknown number.
            pub const fn from_code(n: u8) -> Option<Self> { match n { $($n => Some($name::$v),)* _ => None } }
            /// The number of this value in files. Numbers are never reused for another meaning.
            pub const fn code(self) -> u8 { self as u8 }
            /// The name of this value in texts and JSON.
            pub const fn name(self) -> &'static str { match self { $($name::$v => $text,)* } }
            /// Its rows in `docs/format.md`.
            pub(crate) const LAYOUT: $crate::codec::Layout = $crate::codec::Layout {
                name: stringify!($name),
                doc: concat!($($m),*),
                rows: &[$((Some($n), stringify!($v), $text, concat!($($vm),*)),)*],
            };
        }
        impl $crate::codec::Codec for $name {
            const MIN: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                out.push(self.code());
            }
            fn take(from: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::Error> {
                let n = from.byte()?;
                Self::from_code(n).ok_or_else(|| from.error(format!("{n} is no {}", stringify!($name))))
            }
        }
    )* };
}

#[rustfmt::skip]
mod codes_table {
codes! {
    /// The type of a scalar value; a packed half pair counts as its 32 bits.
    Scalar {
        /// Untyped 32 bits.
        B32 = 0 "b32", /// A predicate of one bit.
        Pred = 1 "pred", /// Untyped 8 bits.
        B8 = 2 "b8", /// Untyped 16 bits.
        B16 = 3 "b16", /// Untyped 64 bits.
        B64 = 4 "b64", /// Unsigned integer of 8 bits.
        U8 = 5 "u8", /// Unsigned integer of 16 bits.
        U16 = 6 "u16", /// Unsigned integer of 32 bits.
        U32 = 7 "u32", /// Unsigned integer of 64 bits.
        U64 = 8 "u64", /// Signed integer of 8 bits.
        S8 = 9 "s8", /// Signed integer of 16 bits.
        S16 = 10 "s16", /// Signed integer of 32 bits.
        S32 = 11 "s32", /// Signed integer of 64 bits.
        S64 = 12 "s64", /// IEEE binary16 number.
        F16 = 13 "f16", /// Two binary16 numbers, the first in the low half.
        F16x2 = 14 "f16x2", /// A bfloat16 number.
        Bf16 = 15 "bf16", /// Two bfloat16 numbers, the first in the low half.
        Bf16x2 = 16 "bf16x2", /// IEEE binary32 number.
        F32 = 17 "f32", /// IEEE binary64 number.
        F64 = 18 "f64", /// Untyped 128 bits.
        B128 = 19 "b128",
    }
    /// Integer and predicate operations that the decoder evaluates. Results wrap to the type's width.
    Alu {
        /// Copy, truncating or extending by the type's signedness.
        Mov = 0 "mov", /// Sum of two values.
        Add = 1 "add", /// First value minus the second.
        Sub = 2 "sub", /// Low half of the product.
        Mul = 3 "mul", /// High half of the product.
        MulHi = 4 "mul.hi", /// Product of two values of the type, of twice its width.
        MulWide = 5 "mul.wide", /// Low half of a*b, plus c.
        Mad = 6 "mad", /// Product of twice the width, plus c.
        MadWide = 7 "mad.wide", /// Quotient towards zero; by zero: all ones.
        Div = 8 "div", /// Remainder; by zero: all ones.
        Rem = 9 "rem", /// Bitwise and of two values.
        And = 10 "and", /// Bitwise or of two values.
        Or = 11 "or", /// Bitwise exclusive or of two values.
        Xor = 12 "xor", /// Bitwise complement of a value.
        Not = 13 "not", /// Left shift; amounts of the width or more give 0.
        Shl = 14 "shl", /// Right shift, arithmetic when signed; amounts clamp to the width.
        Shr = 15 "shr", /// Negative value, in two's complement.
        Neg = 16 "neg", /// Absolute value of a signed value.
        Abs = 17 "abs", /// Smaller of two values.
        Min = 18 "min", /// Larger of two values.
        Max = 19 "max", /// The first value if the third holds, else the second.
        Select = 20 "selp", /// Whether two values are equal.
        Eq = 21 "eq", /// Whether two values differ.
        Ne = 22 "ne", /// Whether the first value is less than the second.
        Lt = 23 "lt", /// Whether the first value is less than the second or equal.
        Le = 24 "le", /// Whether the first value is greater than the second.
        Gt = 25 "gt", /// Whether the first value is greater than the second or equal.
        Ge = 26 "ge", /// Number of bits that are 1.
        Popc = 27 "popc", /// Number of leading bits that are 0.
        Clz = 28 "clz", /// Bits b..b+c of a, extended by signedness.
        Bfe = 29 "bfe", /// Sign- or zero-extension of a value of the type to 64 bits.
        Extend = 30 "extend", /// Three-input logic: c holds the look-up table in the fourth argument.
        Lop3 = 31 "lop3",
    }
    /// Special registers whose value follows from the launch and the lane's place in it.
    Special {
        /// Position x of the thread in its CTA.
        TidX = 0 "%tid.x", /// Position y of the thread in its CTA.
        TidY = 1 "%tid.y", /// Position z of the thread in its CTA.
        TidZ = 2 "%tid.z", /// Size x of a CTA in threads.
        NtidX = 3 "%ntid.x", /// Size y of a CTA in threads.
        NtidY = 4 "%ntid.y", /// Size z of a CTA in threads.
        NtidZ = 5 "%ntid.z", /// Position x of the CTA in the grid.
        CtaidX = 6 "%ctaid.x", /// Position y of the CTA in the grid.
        CtaidY = 7 "%ctaid.y", /// Position z of the CTA in the grid.
        CtaidZ = 8 "%ctaid.z", /// Size x of the grid in CTAs.
        NctaidX = 9 "%nctaid.x", /// Size y of the grid in CTAs.
        NctaidY = 10 "%nctaid.y", /// Size z of the grid in CTAs.
        NctaidZ = 11 "%nctaid.z", /// Number of the lane in its warp.
        LaneId = 12 "%laneid", /// Number of lanes of a warp.
        WarpSize = 13 "WARP_SZ", /// Mask of the lane itself.
        LanemaskEq = 14 "%lanemask_eq", /// Mask of the lower lanes.
        LanemaskLt = 15 "%lanemask_lt", /// Mask of the lane itself and the lower lanes.
        LanemaskLe = 16 "%lanemask_le", /// Mask of the higher lanes.
        LanemaskGt = 17 "%lanemask_gt", /// Mask of the lane itself and the higher lanes.
        LanemaskGe = 18 "%lanemask_ge",
    }
    /// What a site observes.
    SiteClass {
        /// A predicate that steers a branch (and perhaps more).
        Branch = 0 "branch", /// A predicate that guards instructions.
        Guard = 1 "guard", /// A predicate that chooses in a select.
        Select = 2 "select", /// The index of a `brx.idx`.
        Switch = 3 "switch", /// A load from memory.
        Load = 4 "load", /// A store to memory.
        Store = 5 "store", /// An atomic or reduction on memory.
        Atomic = 6 "atomic", /// A barrier or warp synchronisation.
        Sync = 7 "sync", /// Entry of a function.
        Entry = 8 "entry", /// Exit of a function.
        Exit = 9 "exit",
    }
    /// What is recorded: one of the recorders of PRLX, or the user's probe program.
    Level {
        /// Rolling hashes of each lane, held in registers.
        Fingerprint = 0 "print", /// One bit for each decision of each lane, at most.
        Path = 1 "path", /// Events of 16 bytes with exact lane masks.
        Events = 2 "events", /// Operands of all lanes, within a window.
        Operands = 3 "operands", /// What a probe program records: tables, no streams.
        Probe = 4 "probe", /// As `path`, and bits of a hash of what each lane stores. Since version 20.
        Values = 5 "values",
    }
    /// Why a launch ended early.
    FaultKind {
        /// The code faulted: out of bounds, misaligned, a trap.
        Fault = 0 "fault", /// The launch reached the step limit, or it is deadlocked.
        Stuck = 1 "stuck",
    }
    /// How certain it is that the instrumented code corresponds to the code that would have run.
    Fidelity {
        /// The instrumented code is the source of what runs: there is no other code.
        Source = 0 "source", /// Assembling the PTX again yields the loaded machine code, byte for byte.
        Exact = 1 "exact", /// The PTX is for an earlier architecture than the machine code.
        LowerArch = 2 "lower-arch", /// Nothing proves that PTX and machine code correspond.
        Unproven = 3 "unproven",
    }
    /// What a node of a slice computes.
    NodeKind {
        /// An operation on the values of its inputs.
        Op = 0 "op", /// A load from memory.
        Load = 1 "load", /// A kernel or function parameter.
        Param = 2 "param", /// A special register.
        Special = 3 "special", /// A constant or an address.
        Const = 4 "const", /// A value with several reaching definitions: loop-carried or merged.
        Merge = 5 "merge", /// The result of a call.
        Call = 6 "call", /// The result of an atomic or a warp exchange.
        Exchange = 7 "exchange",
    }
}
}
pub use codes_table::{Alu, FaultKind, Fidelity, Level, NodeKind, Scalar, SiteClass, Special};

impl SiteClass {
    /// Whether a site of the class decides by a predicate.
    pub const fn is_predicate(self) -> bool {
        matches!(self, SiteClass::Branch | SiteClass::Guard | SiteClass::Select)
    }

    /// Whether it decides, by a predicate or an index.
    pub const fn decides(self) -> bool {
        self.is_predicate() || matches!(self, SiteClass::Switch)
    }
}

impl Level {
    /// The levels that are recorders: all but a probe program.
    pub const RECORDERS: &[Level] =
        &[Level::Fingerprint, Level::Path, Level::Values, Level::Events, Level::Operands];

    /// Whether lanes write words, from which a decoder follows the path of each.
    pub const fn in_words(self) -> bool {
        matches!(self, Level::Path | Level::Values)
    }

    /// Whether a decoder follows the path of each lane, from words or from events.
    pub const fn has_paths(self) -> bool {
        self.in_words() || matches!(self, Level::Events)
    }

    /// The word that users read: `fingerprint` for [`Level::Fingerprint`]. Files and JSON keep
    /// [`Level::name`], which is `print`.
    pub const fn label(self) -> &'static str {
        match self {
            Level::Fingerprint => "fingerprint",
            level => level.name(),
        }
    }

    /// The recorder of this name. Accepts the label and the name in files: `fingerprint` and `print` are the
    /// same.
    pub fn from_word(word: &str) -> Option<Level> {
        Level::RECORDERS.iter().copied().find(|level| [level.label(), level.name()].contains(&word))
    }
}

impl Scalar {
    /// Width in bits; a predicate has 1.
    pub const fn bits(self) -> u32 {
        use Scalar::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | Bf16 => 16,
            B32 | U32 | S32 | F16x2 | Bf16x2 | F32 => 32,
            B64 | U64 | S64 | F64 => 64,
            B128 => 128,
        }
    }
    /// The bits of `bits` that belong to this type. A register may hold more bits than a value has.
    pub const fn low(self, bits: u64) -> u64 {
        crate::device::low(bits, crate::narrow::low8(self.bits() as u64))
    }
    /// Whether the type is a signed integer.
    pub const fn signed(self) -> bool {
        matches!(self, Scalar::S8 | Scalar::S16 | Scalar::S32 | Scalar::S64)
    }
}

choices! {
    /// How the decoder obtains the value of a decision.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Source {
        /// The site is no decision.
        None = 0,
        /// Reads so many recorded bits of the lane.
        Bits(count: u8) = 1,
        /// The steps before it evaluate the slice of the decision.
        Computed = 2,
        /// Derives the value from a trip count. The decision has the value `stay` as many times as the count
        /// says, then the other value. The decoder reads the count when the lane enters the loop: from the
        /// lane's next `bits` bits, or, if those are all ones or `bits` is 0, from its next count word.
        Trips {
            /// The loop, whose only exit is this decision.
            of: LoopId,
            /// The value with which the loop continues.
            stay: bool,
            /// Number of bits of a small count among the lane's decisions. All ones mean that a count word
            /// follows. With 255, at level `events`, the count is the value of the lane's next event.
            #[since(2)] bits: u8,
        } = 3,
        /// Level `fingerprint`: nothing is recorded. The decision follows from hashed values by arithmetic
        /// that only the device evaluates, so decoders have no value of it. Since version 19.
        Follows = 4,
    }
}

impl Source {
    /// Whether the decision follows from recorded, hashed or known values.
    pub const fn is_derived(self) -> bool {
        matches!(self, Source::Computed | Source::Follows)
    }
}

#[expect(clippy::derivable_impls, reason = "the table has no place for #[default]")]
impl Default for Source {
    fn default() -> Self {
        Source::None
    }
}

structures! {
    /// A program point that carries a probe.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Site {
        /// Function that contains the site.
        pub function: FuncId,
        /// Block of the function that contains the site.
        pub block: BlockId,
        /// Source location of the site.
        pub loc: Option<LocId>,
        /// What the site observes.
        pub class: SiteClass,
        /// Number among the sites of the function with the same location and class. Function, location, class
        /// and this number form a key that is stable across builds. Without a location, it is the number
        /// among all sites of the class in the function.
        pub nth: u32,
        /// The instruction, as in the module.
        pub text: String,
        /// How the decoder obtains the value.
        pub source: Source,
        /// The operands that [`Level::Operands`] records, in order: what a decision compares, or what a
        /// memory site loads or stores.
        pub operands: Vec<Operand>,
        /// The instructions that the decision controls: a branch, guarded instructions and selects.
        pub steers: Vec<Steered>,
        /// The static backward slice of the value. Node 0 is the value; inputs come after the nodes that use
        /// them.
        pub slice: Vec<Node>,
        /// Why nothing is recorded here. `None` if the value is recorded or computed.
        pub skipped: Option<String>,
    }

    /// An operand that can be recorded.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Operand {
        /// Name as in the module: a register or a constant.
        pub name: String,
        /// Type in which the operand is compared.
        pub ty: Scalar,
    }

    /// An instruction that a decision controls.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Steered {
        /// How the decision controls it: branch, guard or select.
        pub class: SiteClass,
        /// The instruction, as in the module.
        pub text: String,
        /// Source location of the instruction.
        pub loc: Option<LocId>,
    }

    /// A node of a backward slice.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Node {
        /// What the node computes.
        pub kind: NodeKind,
        /// The instruction, as in the module.
        pub text: String,
        /// Source location of the instruction.
        pub loc: Option<LocId>,
        /// Inputs of the node, by index in the slice.
        pub inputs: Vec<u32>,
    }
}
