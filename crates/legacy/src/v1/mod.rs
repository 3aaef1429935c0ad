//! Files of PRLX 0.x (`.prlx` version 1): streams of warp events, with rings of values and of compared
//! operands.
//!
//! A file is a header of 160 bytes; for each warp a head and room for events; then, if flags say so, for each
//! warp a ring of values (history) and a ring of operands (snapshots). All of it is little-endian. Packed
//! files have the same layout, but for one zstd frame that holds everything after the header. `docs/v1.md`
//! has the bytes.
//!
//! # Invariants
//! Nothing is copied when a plain file is read; a packed one is read from front to back through one
//! window. Sizes and places are checked before anything is read; a [`Head`] says what it lost, and readers
//! must ask.
//!
//! # Limitations
//! Buffers that PRLX's `nvrtc_runtime` leaves, whose fields lie elsewhere; the `GDDBGGPU` files
//! before version 1, of which no layout was published.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

mod dump;
mod header;
mod json;
mod read;
mod write;

pub use dump::{dump, first_events};
pub use header::{Flags, HEADER, Header, Layout, MAGIC, Section};
pub use json::{SessionEntry, SiteEntry};
pub use read::{Cursor, File, Ring, Warp, is_v1};
pub use write::Writer;

/// Bytes of one event in memory. Compact events are widened to this size.
pub type EventBytes = [u8; 16];

/// One event of a warp. `mask` holds the active lanes; all other fields are those of lane 0 or of the leading
/// lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Event {
    /// Hash of the source location; its low 16 bits in a compact file.
    pub site: u32,
    /// Number of the [`EventKind`].
    pub kind: u8,
    /// Direction of a branch, or target of a switch.
    pub dir: u8,
    /// Low 16 bits of the old value of an atomic; 0 for other events.
    pub result: u16,
    /// Mask of the active lanes.
    pub mask: u32,
    /// Left operand of a branch, or the value that is stored or added; 0 in a compact file.
    pub value: u32,
}

impl Event {
    /// Decodes the 16 bytes of an event in a file.
    #[inline]
    pub fn of(b: &EventBytes) -> Event {
        Event {
            site: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            kind: b[4],
            dir: b[5],
            result: u16::from_le_bytes([b[6], b[7]]),
            mask: u32::from_le_bytes([b[8], b[9], b[10], b[11]]),
            value: u32::from_le_bytes([b[12], b[13], b[14], b[15]]),
        }
    }
    /// Encodes the event as 16 bytes, as in a file.
    pub fn bytes(self) -> EventBytes {
        let mut out = [0; 16];
        out[..4].copy_from_slice(&self.site.to_le_bytes());
        (out[4], out[5]) = (self.kind, self.dir);
        out[6..8].copy_from_slice(&self.result.to_le_bytes());
        out[8..12].copy_from_slice(&self.mask.to_le_bytes());
        out[12..].copy_from_slice(&self.value.to_le_bytes());
        out
    }
    /// From a compact file's 8 bytes: site, then kind in the low four bits with the direction above it, a
    /// byte that means nothing, and the mask.
    pub fn of_compact(b: &[u8; 8]) -> Event {
        Event {
            site: u16::from_le_bytes([b[0], b[1]]).into(),
            kind: b[2] & 15,
            dir: b[2] >> 4 & 1,
            mask: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            ..Event::default()
        }
    }
    /// Encodes the event as 8 bytes. `None` if its values do not fit.
    pub fn compact(self) -> Option<[u8; 8]> {
        if self.kind > 15 || self.dir > 1 || self.result != 0 || self.value != 0 {
            return None;
        }
        let [s0, s1] = u16::try_from(self.site).ok()?.to_le_bytes();
        let [m0, m1, m2, m3] = self.mask.to_le_bytes();
        Some([s0, s1, self.kind | self.dir << 4, 0, m0, m1, m2, m3])
    }
}

/// Declares the kinds of events: number, name in PRLX's tools, meaning.
macro_rules! kinds {
    ($($name:ident = $n:literal $text:literal $doc:literal)*) => {
        /// Kind of an event. Events with other numbers are kept, but not compared.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum EventKind { $(#[doc = $doc] $name = $n,)* }
        impl EventKind {
            /// All kinds, in order of their numbers.
            pub const ALL: &[EventKind] = &[$(EventKind::$name,)*];
            /// The kind with this number; `None` if there is none.
            pub const fn of(n: u8) -> Option<EventKind> {
                match n { $($n => Some(EventKind::$name),)* _ => None }
            }
            /// Name of the kind in the tools of PRLX 0.x.
            pub const fn name(self) -> &'static str {
                match self { $(EventKind::$name => $text,)* }
            }
        }
    };
}
kinds! {
    Branch = 0 "Branch" "A conditional branch."
    SharedStore = 1 "SharedMemStore" "A store to shared memory."
    Atomic = 2 "Atomic" "An atomic operation."
    FuncEntry = 3 "FuncEntry" "A function was entered."
    FuncExit = 4 "FuncExit" "A function was left."
    Switch = 5 "Switch" "A switch; `dir` and `value` say where it went."
    GlobalStore = 6 "GlobalStore" "A store to global memory."
}

/// Head of a warp's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// Index of the next event. It keeps counting when memory is full.
    pub write_idx: u32,
    /// Number of events that were lost because memory was full; these are the newest.
    pub overflow: u32,
    /// Number of events that the warp recorded.
    pub events: u32,
    /// Number of executed events, including those that sampling dropped; 0 if the writer did not count.
    pub total: u32,
}

/// An entry of a warp's history: a recorded value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HistoryEntry {
    /// Site id of the recorded value.
    pub site: u32,
    /// Low 32 bits of the value.
    pub value: u32,
    /// Sequence number of the entry in its ring.
    pub seq: u32,
}

/// Operands of all lanes of a warp at one compare instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Site id of the compare instruction.
    pub site: u32,
    /// Mask of the active lanes. Operands of other lanes are 0.
    pub mask: u32,
    /// Sequence number of the entry in its ring.
    pub seq: u32,
    /// Predicate of the comparison, with LLVM's numbers: 0 to 15 floating point, 32 to 41 integer.
    pub predicate: u32,
    /// Left operands, by lane.
    pub lhs: [u32; 32],
    /// Right operands, by lane.
    pub rhs: [u32; 32],
}

/// LLVM's predicates that order signed integers.
const SIGNED: std::ops::RangeInclusive<u32> = 38..=41;

impl Snapshot {
    /// How its operands are to be read.
    pub fn scalar(&self) -> prlx_trace::kernel::Scalar {
        use prlx_trace::kernel::Scalar;
        match self.predicate {
            0..=15 => Scalar::F32,
            p if SIGNED.contains(&p) => Scalar::S32,
            34..=37 => Scalar::U32,
            _ => Scalar::B32,
        }
    }
    /// The comparison in LLVM's words; empty if its number means nothing.
    pub fn comparison(&self) -> &'static str {
        const FLOAT: [&str; 16] = [
            "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "uno", "ueq", "ugt", "uge", "ult",
            "ule", "une", "true",
        ];
        const INTEGER: [&str; 10] = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];
        let integer = || INTEGER.get(self.predicate.checked_sub(32)? as usize);
        FLOAT.get(self.predicate as usize).or_else(integer).copied().unwrap_or_default()
    }
}

/// FNV-1a with 32 bits, as PRLX makes site ids of `file:function:line:column:type`.
pub fn site_id(text: &str) -> u32 {
    text.bytes().fold(2_166_136_261, |h, b| (h ^ u32::from(b)).wrapping_mul(16_777_619))
}

/// FNV-1a with 64 bits, as PRLX hashes a kernel's name.
pub fn kernel_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
