//! Findings of the checks of a running kernel, as plain data for the reports.
//!
//! # Invariants
//! A finding has at least one side: the access or decision that is wrong. Further sides say what it conflicts
//! with. Findings are in the order of their first occurrence; each pair of code locations appears once per
//! kind.
//!
//! # Limitations
//! The caller, who can read files, fills in the text of source lines ([`Findings::sources`]).

use std::collections::BTreeMap;

use crate::{Dim3, LaneMask};

/// Declares the checks and the kinds of finding of each, with the words that users see.
macro_rules! kinds {
    ($($(#[$c:meta])* $check:ident $flag:literal {
        $($(#[$m:meta])* $kind:ident $name:literal $grade:ident $what:literal;)*
    })*) => {
        /// A check: what `--check` names.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Check { $($(#[$c])* $check,)* }

        impl Check {
            /// All of them.
            pub const ALL: &'static [Check] = &[$(Check::$check),*];
            /// The word for it on the command line and in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Check::$check => $flag,)* }
            }
        }

        /// What kind of fault.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind { $($($(#[$m])* $kind,)*)* }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$($(Kind::$kind,)*)*];
            /// The word for it in text and JSON.
            pub const fn name(self) -> &'static str {
                match self { $($(Kind::$kind => $name,)*)* }
            }
            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $($(Kind::$kind => $what,)*)* }
            }
            /// The check that finds it.
            pub const fn check(self) -> Check {
                match self { $($(Kind::$kind => Check::$check,)*)* }
            }
            /// Whether it is wrong, or only worth knowing.
            pub const fn grade(self) -> Grade {
                match self { $($(Kind::$kind => Grade::$grade,)*)* }
            }
        }
    };
}

/// Severity of a finding. Only errors fail `prlx run --check`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Grade {
    /// The kernel is wrong: its behaviour is undefined, or cannot be what its author meant.
    Error,
    /// The kernel may be correct: it is slow, or depends on something that the check cannot see.
    Note,
}

impl Grade {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Grade::Error => "error",
            Grade::Note => "note",
        }
    }
}

kinds! {
    /// Accesses to memory that is not there.
    Bounds "bounds" {
        /// Outside every allocation, or across the end of one.
        OutOfBounds "out-of-bounds" Error "an access to bytes that belong to no allocation";
        /// Not a multiple of its width.
        Misaligned "misaligned" Error "an access at an address that is not a multiple of its width";
        /// A block that `free` took back.
        Freed "use-after-free" Error "an access to memory that has been freed";
        /// `free` of something else, or again.
        BadFree "bad-free" Error "`free` of an address that `malloc` did not give, or that was freed before";
        /// Constants and parameters.
        ReadOnly "read-only" Error "a write to memory that can't be written";
        /// Blocks that nothing freed.
        Leak "leak" Note "blocks of `malloc` that nothing freed when the kernel ended";
    }
    /// Uses of values that nothing wrote.
    Init "init" {
        /// A branch, a guard or an index of a jump.
        UndefinedBranch "undefined-branch" Error "a decision by a value that nothing wrote";
        /// The address of an access.
        UndefinedAddress "undefined-address" Error "an address from a value that nothing wrote";
        /// A store to global memory, or an operand of an atomic.
        UndefinedStore "undefined-store" Error "a value that nothing wrote, stored in global memory or given to an atomic";
        /// A value that was loaded together with defined bytes and only copied.
        UndefinedCopy "undefined-copy" Note "a copy to global memory of bytes that nothing wrote, beside bytes that are defined";
        /// An atomic, or work on an mbarrier.
        UndefinedUpdate "undefined-update" Error "an update of memory that nothing wrote";
    }
    /// Accesses of several threads that nothing orders.
    Race "race" {
        /// One of them writes, and not both are atomic.
        Race "race" Error "two accesses to a byte, of which one writes, that nothing orders";
        /// A volatile read of data and a volatile write.
        VolatileData "volatile-data" Note "a volatile read of data in global memory and a volatile write, that nothing orders";
        /// Both write what is there anyway.
        SameValue "same-value" Note "writes of the same value to a byte that nothing orders";
    }
    /// How threads meet.
    Sync "sync" {
        /// A part of a warp at an `.aligned` barrier.
        DivergentBarrier "divergent-barrier" Error "an `.aligned` barrier at which the lanes of a warp do not arrive as one";
        /// Thread counts of a barrier.
        BarrierCount "barrier-count" Error "a barrier that is given different thread counts, or one that is no multiple of 32";
        /// Waiting and reducing at once.
        MixedBarrier "mixed-barrier" Error "a barrier that some wait at and others reduce over";
        /// Warps of a CTA at one barrier in two places.
        BarrierMeets "barrier-meets" Note "a barrier of the CTA at which some warps wait in another line";
        /// All remaining threads wait.
        Deadlock "deadlock" Error "threads that wait for what can't come";
        /// A mask without the lane that gives it.
        MaskWithoutSelf "mask-without-self" Error "an exchange of a warp whose mask does not name a lane that runs it";
        /// The source lane is not active.
        InactiveLane "inactive-lane" Error "a shuffle that reads a lane which does not take part";
        /// There was no `mbarrier.init`.
        MbarrierNotInit "mbarrier-not-init" Error "an operation on an mbarrier that was not set up";
        /// A second `mbarrier.init`.
        MbarrierInitTwice "mbarrier-init-twice" Error "an mbarrier that is set up again while in use";
        /// Too many arrivals.
        MbarrierCount "mbarrier-count" Error "more arrivals at an mbarrier than its phase expects";
        /// Too many bytes.
        MbarrierBytes "mbarrier-bytes" Error "more bytes at an mbarrier than its phase expects";
    }
    /// Asynchronous copies and products.
    Async "async" {
        /// Used before it came.
        NotLanded "not-landed" Error "an access to memory that an asynchronous copy may still write";
        /// Changed before it was read.
        StillRead "still-read" Error "a write to memory that an asynchronous copy or product may still read";
        /// Used before it was there.
        Accumulator "accumulator" Error "a use of an accumulator that a product may still write";
        /// Used before the load that writes it was waited for.
        RegisterTooEarly "register-too-early" Error "a use of a register that a load may still write";
        /// Bytes of LDS that a load to LDS writes (AMD).
        LdsTooEarly "lds-too-early" Error "an access to LDS that a load may still write";
        /// Wait states or a wait for internal counters are missing (AMD).
        Hazard "hazard" Error "an instruction too soon after another, where hardware does not wait by itself";
        /// Nobody waited for it.
        LeftUnderWay "left-under-way" Error "a copy that is under way when the CTA ends whose shared memory it uses";
        /// Two ways to memory without a fence.
        ProxyFence "proxy-fence" Error "a read through the asynchronous proxy of what ordinary stores wrote, without a fence";
    }
    /// What takes longer than it need.
    Notes "notes" {
        /// Words of one bank.
        BankConflict "bank-conflict" Note "an access to shared memory whose lanes touch different words of one bank";
        /// More sectors than needed.
        Uncoalesced "uncoalesced" Note "an access to global memory that touches at least twice the sectors that its bytes need";
    }
}

/// One finding, with everything that a report shows of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Kind of the error.
    pub kind: Kind,
    /// What happened, without a full stop: ``reads 4 bytes past the end of `x` ``.
    pub what: String,
    /// What is wrong first, then what it is wrong against.
    pub sides: Vec<Side>,
    /// What to do about it, where there is something.
    pub help: Option<String>,
    /// How many warp instructions it was seen at.
    pub visits: u64,
    /// Number of lanes over all these visits.
    pub lanes: u64,
}

/// One of the accesses, threads or places that a finding is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// Role in the finding: `this load`, `the other write`, `allocated here`.
    pub role: String,
    /// The instruction; `None` if there is none, as for a register that no instruction sets.
    pub place: Option<Place>,
    /// The threads of the first execution at which the finding was made.
    pub threads: Option<Threads>,
    /// The memory that it accesses.
    pub memory: Option<Memory>,
}

/// Some lanes of one warp, and where they are in the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Position of their CTA in the grid.
    pub cta: Dim3,
    /// Number of their warp in the CTA.
    pub warp: u32,
    /// The lanes of the warp that take part.
    pub lanes: LaneMask,
    /// `threadIdx` of the lowest of these lanes.
    pub first: Dim3,
}

/// State space of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Space {
    /// Global memory and constant memory.
    #[default]
    Global,
    /// Shared memory of a CTA.
    Shared,
    /// Local memory of a thread.
    Local,
    /// The kernel's parameters.
    Params,
}

impl Space {
    /// The word for it in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Params => "params",
        }
    }
}

/// The memory that one lane accesses, and the allocation around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// State space of the address.
    pub space: Space,
    /// The address of the first lane's access, in its space.
    pub address: u64,
    /// Bytes that a lane accesses; 0: no access.
    pub bytes: u32,
    /// The allocation or variable it lies in, or nearest to it.
    pub allocation: Option<Allocation>,
}

/// A range of memory with a name: a buffer of the launch, or a variable of the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// The argument's or variable's name, or a description.
    pub name: String,
    /// Address of its first byte.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// An instruction, in the module's text and in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Place {
    /// Function, as the module names it.
    pub function: String,
    /// The instruction's text.
    pub instruction: String,
    /// Its line in the module's text, from 1.
    pub module_line: u32,
    /// Whether that text is a disassembly, and not PTX.
    pub disassembly: bool,
    /// Source lines: that of the innermost inlined function first, then those of its callers. Empty if the
    /// module has no line table.
    pub source: Vec<SourceLine>,
}

impl Place {
    /// The index in `source` of the user's own line: the innermost line outside of libraries, or 0.
    pub fn own(&self) -> usize {
        self.source.iter().position(|l| !crate::names::is_library_file(&l.file)).unwrap_or(0)
    }
}

/// A line of source, with the function that it was inlined from.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceLine {
    /// The file, as the module names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
    /// The inlined function that the line belongs to; empty if the line is in the function itself.
    pub function: String,
    /// Text of the line, once [`source_texts`] has read the file.
    pub text: Option<String>,
}

/// What the checks found in one launch or in several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// Findings, one for each kind and pair of places.
    pub list: Vec<Finding>,
    /// How many pairs of places are not in the list, because it is full.
    pub dropped: u64,
    /// What the checks did not look at, as sentences: memory that its shadow had no room for.
    pub unchecked: Vec<String>,
}

impl Findings {
    /// Appends the findings of another launch.
    pub fn add(&mut self, more: Findings) {
        self.list.extend(more.list);
        self.dropped += more.dropped;
        self.unchecked.extend(more.unchecked);
    }
    /// Number of findings of grade [`Grade::Error`].
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|f| f.kind.grade() == Grade::Error).count()
    }
    /// Fills in the text of source lines, where `file` has it.
    pub fn sources(&mut self, file: &dyn Fn(&str) -> Option<String>) {
        let places = self.list.iter_mut().flat_map(|f| &mut f.sides).filter_map(|s| s.place.as_mut());
        source_texts(places, file);
    }
}

/// Fills in the text of the source lines of places, where `file` has it.
pub fn source_texts<'a>(places: impl Iterator<Item = &'a mut Place>, file: &dyn Fn(&str) -> Option<String>) {
    let mut read: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    for line in places.flat_map(|p| &mut p.source) {
        let lines = read
            .entry(line.file.clone())
            .or_insert_with(|| file(&line.file).map(|text| text.lines().map(str::to_owned).collect()));
        let number = (line.line as usize).checked_sub(1);
        line.text = lines.as_ref().zip(number).and_then(|(lines, n)| lines.get(n).cloned());
    }
}
