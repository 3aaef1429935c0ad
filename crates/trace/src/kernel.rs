//! The static half of a recording: what decoding and reports need to know of the code.
//!
//! It is computed once, when a module is instrumented, and stored with the events. Its core is the *decode
//! program*: the [`Step`]s of each basic block. Walked lane by lane, with the launch's parameters and the
//! lane's recorded words, it gives the lane's exact path. A decision that follows from parameters, ids,
//! constants, induction variables and earlier decisions is not recorded: the decoder evaluates its slice
//! again ([`Step::Let`]).
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
        /// What the user calls it: a file name, or the kernel's.
        pub name: String,
        /// The target its code was written for, as `sm_80`.
        pub target: String,
        /// XXH3-128 of the original text.
        pub digest: u128,
        /// Source files that locations name.
        pub files: Vec<SourceFile>,
        /// Source locations, each once.
        pub locs: Vec<Loc>,
        /// Functions: kernels and the device functions they can reach.
        pub functions: Vec<Function>,
        /// Probed points; a [`SiteId`] is an index here.
        pub sites: Vec<Site>,
        /// Tables and records of the probe program that was written into it.
        #[since(5)] pub tables: Vec<Table>,
        /// Markers that were inserted into it.
        #[since(6)] pub marks: Vec<Mark>,
        /// In which way its recorder hashes values (levels `print` and `events`): [`crate::device::HASHING`],
        /// or 0, from before there was another one.
        #[since(7)] pub hashing: u8,
    }

    /// A source file.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct SourceFile {
        /// Path as the debug information spells it.
        pub path: String,
        /// Its text, where it could be found when the module was instrumented.
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
        /// The inlined function that this line belongs to; empty when the line is the function's own.
        pub function: String,
        /// Where that function was inlined.
        pub inlined_at: Option<LocId>,
    }

    /// A function, its control flow and its decode program.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Function {
        /// Name as in the module (mangled).
        pub name: String,
        /// Whether it can be launched.
        pub kernel: bool,
        /// Parameters, in order, without the one that instrumenting appends.
        pub params: Vec<Param>,
        /// How many decoder registers its steps use.
        pub slots: u32,
        /// Basic blocks; block 0 is the entry.
        pub blocks: Vec<Block>,
        /// Loops, outer before inner.
        pub loops: Vec<Loop>,
        /// Why it is not recorded; `None` when it is.
        pub skipped: Option<String>,
        /// What it takes of a multiprocessor as the program has it, and as it ran to be recorded; `None`: not
        /// known.
        #[since(11)] pub needs: Option<(ThreadResources, ThreadResources)>,
    }

    /// What a function takes of a multiprocessor, as its machine code says.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct ThreadResources {
        /// Registers of a thread.
        pub registers: u32,
        /// Local memory of a thread, bytes: arrays, and registers that were spilt.
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
        /// Size in bytes; more than that of `ty` for arrays and structs.
        pub size: u32,
    }

    /// A basic block.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Block {
        /// Location of its first instruction that has one.
        pub loc: Option<LocId>,
        /// What the decoder does here, in order.
        pub steps: Vec<Step>,
        /// Where it goes then.
        pub end: End,
        /// Immediate post-dominator: where lanes that part here meet again at the latest. `None`: only at the
        /// exit.
        pub ipdom: Option<BlockId>,
        /// Innermost loop it belongs to.
        pub in_loop: Option<LoopId>,
    }

    /// A natural loop, or an irreducible region.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Loop {
        /// Where it is entered (one of the entries if irreducible). An arrival here from inside starts the
        /// next trip.
        pub header: BlockId,
        /// The enclosing loop.
        pub parent: Option<LoopId>,
        /// All its blocks, inner loops' included, sorted.
        pub blocks: Vec<BlockId>,
        /// Entered at more than one block: trips are not well defined and are counted at `header`.
        pub irreducible: bool,
        /// Location of the header.
        pub loc: Option<LocId>,
    }
}

choices! {
    /// One step of the decode program.
    #[derive(Clone, PartialEq, Debug)]
    pub enum Step {
        /// Evaluates one operation of a slice again.
        Let {
            /// Receives the result.
            to: Slot,
            /// Operation to evaluate.
            op: Alu,
            /// Type it works on; its width masks arguments and result.
            ty: Scalar,
            /// Operands, in order.
            args: Vec<Arg>,
            /// The instruction's guard: without it, `to` keeps its value.
            guard: Option<Guard>,
        } = 0,
        /// A visit to a decision: its value, from where [`Site::source`] says, goes to `slot` and is one
        /// decoded event.
        Decide {
            /// Site of the decision.
            site: SiteId,
            /// Holds the value afterwards (and before, when [`Source::Computed`]).
            slot: Slot,
            /// The defining instruction's guard: visited only if it holds; else nothing is taken and `slot`
            /// keeps its value.
            guard: Option<Guard>,
        } = 1,
        /// A visit to a site whose class is no decision (store, atomic, barrier …): one decoded event without
        /// a value.
        Visit {
            /// The visited site.
            site: SiteId,
            /// The instruction's guard: visited only if it holds.
            guard: Option<Guard>,
        } = 2,
        /// A call of a function of this module; the decoder walks it (unless that function is skipped). Since
        /// version 8 with its place in the source.
        Call {
            /// The function that is called.
            function: FuncId,
            /// The call's guard.
            guard: Option<Guard>,
            /// Where in the source it calls.
            #[since(8)] loc: Option<LocId>,
        } = 3,
    }
}

structures! {
    /// `@p` or `@!p`, in decoder registers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Guard {
        /// Slot that holds the predicate.
        pub slot: Slot,
        /// True for `@!p`.
        pub negate: bool,
    }
}

choices! {
    /// How a block ends.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum End {
        /// To one block, always.
        Jump(to: BlockId) = 0,
        /// By a predicate.
        Branch {
            /// The branch's guard.
            guard: Guard,
            /// Where if it holds.
            taken: BlockId,
            /// Where if not.
            other: BlockId,
        } = 1,
        /// By an index (`brx.idx`); an index out of range ends the decoding of that lane.
        Switch {
            /// Holds the index.
            index: Slot,
            /// Targets in order.
            targets: Vec<BlockId>,
        } = 2,
        /// To the caller; in a kernel the lane ends.
        Return = 3,
        /// The lane ends here (`exit`, `trap`).
        Exit = 4,
    }

    /// What a slice operation reads.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Arg {
        /// A decoder register.
        Slot(slot: Slot) = 0,
        /// A constant's bits.
        Const(bits: u64) = 1,
        /// A special register.
        Special(register: Special) = 2,
        /// Bytes of the parameter buffer: offset and size.
        Param {
            /// Byte offset in the parameter buffer.
            offset: u32,
            /// 1, 2, 4 or 8.
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
            /// Every one, in order of its number.
            pub const ALL: &[$name] = &[$($name::$v,)*];
            /// From the number that stands in files.
            pub const fn from_code(n: u8) -> Option<Self> { match n { $($n => Some($name::$v),)* _ => None } }
            /// The number that stands in files; never reused for another meaning.
            pub const fn code(self) -> u8 { self as u8 }
            /// Its name in texts.
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
        B32 = 0 "b32", /// Predicate.
        Pred = 1 "pred", /// Untyped 8 bits.
        B8 = 2 "b8", /// Untyped 16 bits.
        B16 = 3 "b16", /// Untyped 64 bits.
        B64 = 4 "b64", /// Unsigned.
        U8 = 5 "u8", /// Unsigned.
        U16 = 6 "u16", /// Unsigned.
        U32 = 7 "u32", /// Unsigned.
        U64 = 8 "u64", /// Signed.
        S8 = 9 "s8", /// Signed.
        S16 = 10 "s16", /// Signed.
        S32 = 11 "s32", /// Signed.
        S64 = 12 "s64", /// IEEE binary16.
        F16 = 13 "f16", /// Two binary16, the first in the low half.
        F16x2 = 14 "f16x2", /// bfloat16.
        Bf16 = 15 "bf16", /// Two bfloat16.
        Bf16x2 = 16 "bf16x2", /// IEEE binary32.
        F32 = 17 "f32", /// IEEE binary64.
        F64 = 18 "f64", /// 128 bits.
        B128 = 19 "b128",
    }
    /// Integer and predicate operations that a decoder can evaluate again; results wrap to the type's width.
    Alu {
        /// Copy, truncating or extending by the type's signedness.
        Mov = 0 "mov", /// Sum.
        Add = 1 "add", /// Difference.
        Sub = 2 "sub", /// Low half of the product.
        Mul = 3 "mul", /// High half of the product.
        MulHi = 4 "mul.hi", /// Product of two values of the type, of twice its width.
        MulWide = 5 "mul.wide", /// Low half of a*b, plus c.
        Mad = 6 "mad", /// Product of twice the width, plus c.
        MadWide = 7 "mad.wide", /// Quotient towards zero; by zero: all ones.
        Div = 8 "div", /// Remainder; by zero: all ones.
        Rem = 9 "rem", /// Bitwise.
        And = 10 "and", /// Bitwise.
        Or = 11 "or", /// Bitwise.
        Xor = 12 "xor", /// Bitwise.
        Not = 13 "not", /// Left shift; amounts of the width or more give 0.
        Shl = 14 "shl", /// Right shift, arithmetic when signed; amounts clamp to the width.
        Shr = 15 "shr", /// Two's complement.
        Neg = 16 "neg", /// Absolute value.
        Abs = 17 "abs", /// Smaller.
        Min = 18 "min", /// Larger.
        Max = 19 "max", /// a if c else b.
        Select = 20 "selp", /// Equal.
        Eq = 21 "eq", /// Not equal.
        Ne = 22 "ne", /// Less.
        Lt = 23 "lt", /// Less or equal.
        Le = 24 "le", /// Greater.
        Gt = 25 "gt", /// Greater or equal.
        Ge = 26 "ge", /// Number of ones.
        Popc = 27 "popc", /// Leading zeros.
        Clz = 28 "clz", /// Bits b..b+c of a, extended by signedness.
        Bfe = 29 "bfe", /// Sign- or zero-extension of a value of the type to 64 bits.
        Extend = 30 "extend", /// Three-input logic: c holds the look-up table in the fourth argument.
        Lop3 = 31 "lop3",
    }
    /// Special registers whose value follows from the launch and the lane's place in it.
    Special {
        /// Thread in its CTA.
        TidX = 0 "%tid.x", /// Thread in its CTA.
        TidY = 1 "%tid.y", /// Thread in its CTA.
        TidZ = 2 "%tid.z", /// CTA size.
        NtidX = 3 "%ntid.x", /// CTA size.
        NtidY = 4 "%ntid.y", /// CTA size.
        NtidZ = 5 "%ntid.z", /// CTA in the grid.
        CtaidX = 6 "%ctaid.x", /// CTA in the grid.
        CtaidY = 7 "%ctaid.y", /// CTA in the grid.
        CtaidZ = 8 "%ctaid.z", /// Grid size.
        NctaidX = 9 "%nctaid.x", /// Grid size.
        NctaidY = 10 "%nctaid.y", /// Grid size.
        NctaidZ = 11 "%nctaid.z", /// Lane in its warp.
        LaneId = 12 "%laneid", /// Lanes of a warp.
        WarpSize = 13 "WARP_SZ", /// Mask of this lane.
        LanemaskEq = 14 "%lanemask_eq", /// Mask of lower lanes.
        LanemaskLt = 15 "%lanemask_lt", /// Mask of lower lanes and this.
        LanemaskLe = 16 "%lanemask_le", /// Mask of higher lanes.
        LanemaskGt = 17 "%lanemask_gt", /// Mask of higher lanes and this.
        LanemaskGe = 18 "%lanemask_ge",
    }
    /// What kind of point a site is.
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
    /// What is written down, and at what cost: by a recorder (`DESIGN.md` §2), or by the user's own program.
    Level {
        /// Rolling hashes in registers.
        Fingerprint = 0 "print", /// One bit a decision a lane.
        Path = 1 "path", /// 16-byte events with exact masks.
        Events = 2 "events", /// All lanes' operands in a window.
        Operands = 3 "operands", /// What a probe program keeps: tables, no streams.
        Probe = 4 "probe",
    }
    /// How a launch came to end before its end.
    FaultKind {
        /// The code faulted: out of bounds, misaligned, a trap.
        Fault = 0 "fault", /// It did not end within its limit, or waits for itself.
        Stuck = 1 "stuck",
    }
    /// How sure it is that the code that was rewritten is what would have run untouched.
    Fidelity {
        /// It is the source of what runs: there is no other code.
        Source = 0 "source", /// Assembled again it gives the machine code that was loaded, byte for byte.
        Exact = 1 "exact", /// It is for an earlier architecture than the machine code that would have run.
        LowerArch = 2 "lower-arch", /// It lay beside the machine code; nothing proves that they belong together.
        Unproven = 3 "unproven",
    }
    /// What a node of a slice is.
    NodeKind {
        /// An operation on the values before it.
        Op = 0 "op", /// A load from memory.
        Load = 1 "load", /// A kernel or function parameter.
        Param = 2 "param", /// A special register.
        Special = 3 "special", /// A constant or an address.
        Const = 4 "const", /// Several definitions reach it: a loop-carried or merged value.
        Merge = 5 "merge", /// The result of a call.
        Call = 6 "call", /// The result of an atomic or a warp exchange.
        Exchange = 7 "exchange",
    }
}
}
pub use codes_table::{Alu, FaultKind, Fidelity, Level, NodeKind, Scalar, SiteClass, Special};

impl Level {
    /// The levels that are recorders: all but a probe program.
    pub const RECORDERS: &[Level] = &[Level::Fingerprint, Level::Path, Level::Events, Level::Operands];

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
    /// What is its own of `bits`: a register may hold more than what is moved through it.
    pub const fn low(self, bits: u64) -> u64 {
        crate::device::low(bits, crate::narrow::low8(self.bits() as u64))
    }
    /// Whether it is a signed integer.
    pub const fn signed(self) -> bool {
        matches!(self, Scalar::S8 | Scalar::S16 | Scalar::S32 | Scalar::S64)
    }
}

choices! {
    /// Where a decoder gets a decision's value from.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Source {
        /// Not a decision.
        None = 0,
        /// From the lane's recorded bits.
        Bits(count: u8) = 1,
        /// From the steps before it: its slice is evaluated again.
        Computed = 2,
        /// From a trip count: the decision holds `stay` as many times as the lane's next count says, then the
        /// other value. The count is taken when the loop is entered: from the lane's next `bits` bits, or, if
        /// those are all ones or `bits` is 0, from its next count word.
        Trips {
            /// The loop that this decision alone leaves.
            of: LoopId,
            /// The value with which the loop goes on.
            stay: bool,
            /// Bits that a small count takes among the lane's decisions; all ones announce a count word. 255:
            /// at level `events`, the count is the value of the lane's next event.
            #[since(2)] bits: u8,
        } = 3,
    }
}

#[expect(clippy::derivable_impls, reason = "the table has no place for #[default]")]
impl Default for Source {
    fn default() -> Self {
        Source::None
    }
}

structures! {
    /// A probed point.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Site {
        /// Function that contains it.
        pub function: FuncId,
        /// Which block of it.
        pub block: BlockId,
        /// Where in the source.
        pub loc: Option<LocId>,
        /// What it is.
        pub class: SiteClass,
        /// Among the sites of this function with the same location and class, its number: with them, the key
        /// that is stable across builds. Without a location, its number among all sites of the class in the
        /// function.
        pub nth: u32,
        /// The instruction, as written.
        pub text: String,
        /// How its value is decoded.
        pub source: Source,
        /// What a decision compares, or a memory site moves: the operands that [`Level::Operands`] records,
        /// in order.
        pub operands: Vec<Operand>,
        /// What the decision steers: the branch, guarded instructions and selects, as written.
        pub steers: Vec<Steered>,
        /// The static backward slice of its value, node 0 first; inputs come after the nodes that use them.
        pub slice: Vec<Node>,
        /// Why nothing is recorded here; `None` when it is recorded or computed.
        pub skipped: Option<String>,
    }

    /// An operand that can be recorded.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Operand {
        /// As written: a register or a constant.
        pub name: String,
        /// Type it is compared in.
        pub ty: Scalar,
    }

    /// An instruction that a decision steers.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Steered {
        /// Branch, guard or select.
        pub class: SiteClass,
        /// The instruction's text, as written.
        pub text: String,
        /// Where in the source.
        pub loc: Option<LocId>,
    }

    /// A node of a backward slice.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Node {
        /// What it is.
        pub kind: NodeKind,
        /// The instruction's text, as written.
        pub text: String,
        /// Where in the source.
        pub loc: Option<LocId>,
        /// Nodes it depends on, by index in the slice.
        pub inputs: Vec<u32>,
    }
}
