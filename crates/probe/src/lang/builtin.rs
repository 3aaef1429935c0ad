//! What a program can ask of a place and of a thread: declared once.

use prlx_plan::code::{LaneQuery, Ty};

/// Declares the builtins: name, what it is of, documentation.
macro_rules! builtins {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $known:expr;)*) => {
        /// A builtin.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Builtin { $($(#[doc = $doc])+ $variant,)* }

        /// All of them: name, builtin, what it gives, what it means.
        pub const BUILTINS: &[(&str, Builtin, Gives, &str)] =
            &[$(($name, Builtin::$variant, $known, concat!($($doc),+)),)*];
    };
}

/// What a builtin gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// A number that is known of the place.
    Number(Ty),
    /// A text that is known of the place.
    Text,
    /// A special register of 32 bits.
    Special(&'static str),
    /// A number of a place in the grid, computed from special registers.
    Index(Index),
    /// What is asked when the code runs.
    Query(LaneQuery),
    /// A value of the instruction, of this type.
    Value(Ty),
}

impl Gives {
    /// Its type; a text has none.
    pub const fn ty(self) -> Option<Ty> {
        match self {
            Gives::Number(ty) | Gives::Value(ty) => Some(ty),
            Gives::Text => None,
            Gives::Special(_) | Gives::Index(Index::Thread | Index::WarpInCta) => Some(Ty::U32),
            Gives::Index(Index::Cta | Index::Warp) => Some(Ty::U64),
            Gives::Query(ask) => Some(ask.ty()),
        }
    }
}

use Gives::{Number, Special, Text, Value};

/// Numbers of places in the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// The thread's in its CTA; `u32`.
    Thread,
    /// The warp's in its CTA; `u32`.
    WarpInCta,
    /// The CTA's in the grid; `u64`.
    Cta,
    /// The warp's in the grid; `u64`.
    Warp,
}

builtins! {
    /// The place itself; as a key, it is shown as file, line and instruction.
    Site "site" Number(Ty::U32);
    /// The source line; as a key, it is shown with its file.
    Line "line" Number(Ty::U32);
    /// The source file's path.
    File "file" Text;
    /// The function that the line is in: the inlined one, if it is inlined.
    Func "func" Text;
    /// The kernel or device function that the instruction is in.
    Kernel "kernel" Text;
    /// The instruction's opcode with its modifiers.
    Opcode "opcode" Text;
    /// The type of the first value that a store stores, or that another instruction gives: `f32`, `s64`, `b16`; of an
    /// instruction that says only how wide it is, what the value is declared or computed as.
    Type "type" Text;
    /// The state space that the instruction names: `global`, `shared`, `local`, `const`, `param`, `generic`; empty without one.
    Space "space" Text;
    /// Whether the instruction reads memory.
    Reads "reads" Number(Ty::Bool);
    /// Whether the instruction writes memory.
    Writes "writes" Number(Ty::Bool);
    /// Whether the access is volatile.
    Volatile "volatile" Number(Ty::Bool);
    /// Bytes of one element that a memory instruction moves.
    Width "width" Number(Ty::U32);
    /// How many elements it moves: 1, or a vector's.
    Elements "elements" Number(Ty::U32);
    /// Bytes that a lane moves: `width * elements`, or what a copy's operand says that it reads.
    Size "size" Value(Ty::U32);
    /// Multiplications and additions of a tensor instruction, over the lanes that work together.
    Flops "flops" Number(Ty::U64);
    /// How many loops the place is in.
    Depth "depth" Number(Ty::U32);
    /// Which of the places that a tracepoint finds in this function it is, from 0.
    Nth "nth" Number(Ty::U32);
    /// The basic block's number in its function.
    BlockNumber "block" Number(Ty::U32);
    /// The address that a memory instruction names, with its offset; of a copy, the one that it writes to.
    Address "address" Value(Ty::U64);
    /// The address that an asynchronous copy reads from.
    Source "source" Value(Ty::U64);
    /// The address of the barrier object that an asynchronous copy or `mbarrier` instruction names.
    Mbarrier "mbarrier" Value(Ty::U64);
    /// Of a branch, whether the lane takes it; of a decision, its predicate.
    Taken "taken" Value(Ty::Bool);
    /// The thread's index in its CTA, in x.
    TidX "tid.x" Special("%tid.x");
    /// The thread's index in its CTA, in y.
    TidY "tid.y" Special("%tid.y");
    /// The thread's index in its CTA, in z.
    TidZ "tid.z" Special("%tid.z");
    /// Threads of a CTA, in x.
    NtidX "ntid.x" Special("%ntid.x");
    /// Threads of a CTA, in y.
    NtidY "ntid.y" Special("%ntid.y");
    /// Threads of a CTA, in z.
    NtidZ "ntid.z" Special("%ntid.z");
    /// The CTA's index in the grid, in x.
    CtaidX "ctaid.x" Special("%ctaid.x");
    /// The CTA's index in the grid, in y.
    CtaidY "ctaid.y" Special("%ctaid.y");
    /// The CTA's index in the grid, in z.
    CtaidZ "ctaid.z" Special("%ctaid.z");
    /// CTAs of the grid, in x.
    NctaidX "nctaid.x" Special("%nctaid.x");
    /// CTAs of the grid, in y.
    NctaidY "nctaid.y" Special("%nctaid.y");
    /// CTAs of the grid, in z.
    NctaidZ "nctaid.z" Special("%nctaid.z");
    /// The cluster's index in the grid, in x.
    ClusterX "cluster.x" Special("%clusterid.x");
    /// The cluster's index in the grid, in y.
    ClusterY "cluster.y" Special("%clusterid.y");
    /// The cluster's index in the grid, in z.
    ClusterZ "cluster.z" Special("%clusterid.z");
    /// The thread's number in its CTA.
    Thread "thread" Gives::Index(Index::Thread);
    /// The CTA's number in the grid.
    Cta "cta" Gives::Index(Index::Cta);
    /// The warp's number in the grid.
    Warp "warp" Gives::Index(Index::Warp);
    /// The warp's number in its CTA.
    WarpInCta "warp_in_cta" Gives::Index(Index::WarpInCta);
    /// The lane's number in its warp.
    Lane "lane" Special("%laneid");
    /// The multiprocessor.
    Sm "sm" Special("%smid");
    /// The lanes that are here together, a bit each.
    Active "active" Gives::Query(LaneQuery::Active);
    /// Whether this lane is the lowest of those that are here together.
    Leader "leader" Gives::Query(LaneQuery::Leader);
    /// The multiprocessor's clock, 32 bits: it wraps every few seconds.
    Clock32 "clock32" Gives::Query(LaneQuery::Clock);
    /// The multiprocessor's clock.
    Clock "clock" Gives::Query(LaneQuery::Clock64);
    /// The global timer, nanoseconds.
    Time "time" Gives::Query(LaneQuery::Time);
    /// The launch's number in its process.
    Launch "launch" Gives::Query(LaneQuery::Launch);
}

impl Builtin {
    /// Its name in programs.
    pub fn name(self) -> &'static str {
        BUILTINS.iter().find(|b| b.1 == self).map_or("", |b| b.0)
    }
    /// What it gives.
    pub fn gives(self) -> Gives {
        BUILTINS.iter().find(|b| b.1 == self).map_or(Text, |b| b.2)
    }
}
