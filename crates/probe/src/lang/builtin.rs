//! The builtins of the probe language, in one table.

use prlx_plan::code::{LaneQuery, Ty};

/// Declares the builtins: name, kind and type, documentation.
macro_rules! builtins {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $known:expr;)*) => {
        /// A builtin of the probe language.
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
    /// A special register of 32 bits, as [`Operand::Special`](prlx_isa::view::Operand::Special) calls it for
    /// all instruction sets.
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
            Gives::Special(_) | Gives::Index(Index::Thread | Index::WarpInCta | Index::LanesBelow) => {
                Some(Ty::U32)
            }
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
    /// The lanes of the warp with lower numbers, as a mask; `u32`, or `u64` where warps have 64 lanes.
    LanesBelow,
    /// The CTA's in the grid; `u64`.
    Cta,
    /// The warp's in the grid; `u64`.
    Warp,
}

builtins! {
    /// Number of the site; as a key, it is shown as file, line and instruction.
    Site "site" Number(Ty::U32);
    /// Your own source line, of inlined library code that of its call; as a key, it is shown with its file.
    Line "line" Number(Ty::U32);
    /// Path of the file of that line.
    File "file" Text;
    /// Source function of that line; for inlined code, the inlined function.
    Func "func" Text;
    /// Kernel or device function that contains the instruction.
    Kernel "kernel" Text;
    /// Opcode of the instruction, with its modifiers.
    Opcode "opcode" Text;
    /// Type of the first value that the instruction stores or computes: `f32`, `s64`, `b16`. If the
    /// instruction names only a width, the type that the value is declared or computed as.
    Type "type" Text;
    /// State space of the instruction: `global`, `shared`, `local`, `const`, `param`, `generic`; empty if it
    /// has none.
    Space "space" Text;
    /// Whether the instruction reads memory.
    Reads "reads" Number(Ty::Bool);
    /// Whether the instruction writes memory.
    Writes "writes" Number(Ty::Bool);
    /// Whether the memory access is volatile.
    Volatile "volatile" Number(Ty::Bool);
    /// Bytes of one element of a memory access.
    Width "width" Number(Ty::U32);
    /// Number of elements of a memory access: 1, or the length of the vector.
    Elements "elements" Number(Ty::U32);
    /// Bytes that a lane moves: `width * elements`; for a copy, the bytes that its operands say it reads.
    Size "size" Value(Ty::U32);
    /// Multiplications and additions of a tensor instruction, divided by the lanes that execute it together.
    Flops "flops" Number(Ty::U64);
    /// Number of loops that contain the site.
    Depth "depth" Number(Ty::U32);
    /// Index of the site among the sites of this tracepoint in the function, from 0.
    Nth "nth" Number(Ty::U32);
    /// Number of the basic block in its function.
    BlockNumber "block" Number(Ty::U32);
    /// Address of a memory access, including the offset; for a copy, the destination.
    Address "address" Value(Ty::U64);
    /// Source address of an asynchronous copy.
    Source "source" Value(Ty::U64);
    /// Address of the barrier object of an asynchronous copy or `mbarrier` instruction.
    Mbarrier "mbarrier" Value(Ty::U64);
    /// At a branch, whether the lane takes it; at a decision, the value of the predicate.
    Taken "taken" Value(Ty::Bool);
    /// The thread's index in its CTA, in x.
    TidX "tid.x" Special("%tid.x");
    /// The thread's index in its CTA, in y.
    TidY "tid.y" Special("%tid.y");
    /// The thread's index in its CTA, in z.
    TidZ "tid.z" Special("%tid.z");
    /// Size of the CTA in threads, in x.
    NtidX "ntid.x" Special("%ntid.x");
    /// Size of the CTA in threads, in y.
    NtidY "ntid.y" Special("%ntid.y");
    /// Size of the CTA in threads, in z.
    NtidZ "ntid.z" Special("%ntid.z");
    /// The CTA's index in the grid, in x.
    CtaidX "ctaid.x" Special("%ctaid.x");
    /// The CTA's index in the grid, in y.
    CtaidY "ctaid.y" Special("%ctaid.y");
    /// The CTA's index in the grid, in z.
    CtaidZ "ctaid.z" Special("%ctaid.z");
    /// Size of the grid in CTAs, in x.
    NctaidX "nctaid.x" Special("%nctaid.x");
    /// Size of the grid in CTAs, in y.
    NctaidY "nctaid.y" Special("%nctaid.y");
    /// Size of the grid in CTAs, in z.
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
    /// Lanes of a warp: 32, or 64 on AMD targets whose waves have 64 lanes.
    WarpSize "warp_size" Number(Ty::U32);
    /// The lane's number in its warp.
    Lane "lane" Special("%laneid");
    /// Mask of the lanes of the warp with lower numbers.
    LanesBelow "lanes_below" Gives::Index(Index::LanesBelow);
    /// Number of the multiprocessor (SM) that runs the thread.
    Sm "sm" Special("%smid");
    /// Mask of the lanes of the warp that execute the site together.
    Active "active" Gives::Query(LaneQuery::Active);
    /// Whether this lane is the lowest in `active`.
    Leader "leader" Gives::Query(LaneQuery::Leader);
    /// Low 32 bits of the multiprocessor's clock, in cycles; they wrap every few seconds.
    Clock32 "clock32" Gives::Query(LaneQuery::Clock);
    /// The multiprocessor's clock, in cycles.
    Clock "clock" Gives::Query(LaneQuery::Clock64);
    /// The global timer, in nanoseconds.
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
