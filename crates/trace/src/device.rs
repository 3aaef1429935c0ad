//! The bytes that instrumented code and host share while a kernel runs: one [`Context`] a launch of fewer than 2^32 warps, one head a warp, and
//! chunks from a pool that grow with use. Launches of one level may share a pool with its cursor and bucket, at one time
//! too; heads and final hashes are a launch's own.
//!
//! The hidden kernel parameter is the address of a [`Context`]; null means that nothing is recorded. All of it is
//! little-endian and zeroed before the first launch that sees it, but for the context itself and the bucket's link.
//!
//! **Streams.** A stream is a chain of chunks. A chunk is [`Shape::rows`] rows, aligned to its own size; row 0 holds the
//! address of the next chunk in its first eight bytes, rows 1.. hold elements. Elements are never zero, so a zero ends a
//! stream. In a *shared* stream (levels `path`, `print`, `operands`) the lanes of a warp share one chain and a row holds
//! one element of each lane: `[row][lane]`, so that converged lanes store whole cache lines; each lane has its own row
//! cursor. In a *private* stream (level `events`, written by whichever lane leads) each lane has its own chain and a row is
//! one element; events that are written together lie in one chunk, so a zero ends only what its chunk holds. The link to the
//! first chunk is the warp's (shared) or lane's (private) entry of `heads`.
//!
//! **Cursor.** A lane keeps the address of its next element in a register. The row part of that address being 0 means that
//! a chunk is needed first; it starts as `lane * element` (shared) or 0 (private), that is with chunk address 0.
//!
//! **Magazines.** A GPU does one atomic operation on an address every few nanoseconds, and grids take millions of chunks. So a
//! multiprocessor takes a batch of chunks from the pool and hands them out itself. Its magazine is a u64: bits 16.. are the
//! offset of its next chunk in the pool, bits 0..16 how many are left. Who takes one adds a chunk to the one and -1 to the
//! other. Who finds none left (0) takes a batch from the pool, keeps its first chunk and sets the magazine to the rest; who
//! finds less than none (bit 15 set) came between, and takes one chunk from the pool. What is left in magazines at the end was
//! handed out and holds nothing.
//!
//! **Overflow.** When the pool is used up the chain continues in the *bucket*, one chunk that links to itself and is never
//! read; each lane adds the elements that it wrote there to its warp's `dropped`.
//!
//! **Words of `path`.** Top bit 0: decisions, first in the highest place, under a leading 1 (`1 d0 d1 … dn`): at most
//! [`WORD_BITS`] of them. Top bit 1: 30 bits of a trip count, low part first; bit 30 says that more follows. Bits and counts
//! are two queues: the decoder takes from each as it needs, in order. A trip count below 2^[`COUNT_BITS`] - 1 lies among the
//! decisions, in [`COUNT_BITS`] bits; those all ones say that the count is in a word of its own.

pub mod tables;
pub mod tracks;

use std::mem::offset_of;

/// Rows in a chunk of a shared stream, the link row included.
pub const CHUNK_ROWS: u64 = 16;
/// Rows in a chunk of a private stream: they are small, and whoever needs the next one waits for memory.
pub const PRIVATE_CHUNK_ROWS: u64 = 32;
/// Magazines of a pool: one a multiprocessor, by its number modulo this.
pub const MAGAZINES: u64 = 256;
/// Bytes from one magazine to the next: each has cache lines of its own.
pub const MAGAZINE_STRIDE: u64 = 128;
/// Bytes of chunks that fill a magazine where the pool is large: while one waits for more, others go to the
/// pool themselves.
pub const MAGAZINE_BYTES: u64 = 64 << 10;
/// Bits of a magazine that count the chunks left.
pub const MAGAZINE_COUNT: u32 = 16;
/// Decisions in a word of `path`.
pub const WORD_BITS: u32 = 30;
/// Bits of a small trip count among decisions.
pub const COUNT_BITS: u8 = 6;
/// Level `events`, in place of a number of bits: a count is an event of its own, of the decision's site. Its
/// value is the count, its mask the lanes with that count; it is the first event of theirs since they entered
/// the loop.
pub const COUNT_EVENT: u8 = u8::MAX;
/// Set in words that carry a trip count.
pub const COUNT_WORD: u32 = 1 << 31;
/// Set in count words that are followed by a higher part.
pub const COUNT_MORE: u32 = 1 << 30;

/// How far the high half of a value is turned where it is hashed, so that its highest bit meets another one
/// of the low half.
pub const TURN: u32 = 11;
/// The way in which values are hashed: it is another one whenever the same values get other hashes.
pub const HASHING: u8 = 3;

/// What a warp leaves at its end at level `print`: the hashes that are used, of four bytes each and two or
/// four of them, then a byte a lane (of 32), as [`Lanes::Fingerprint`](crate::launch::Lanes::Fingerprint)
/// says. Warps lie side by side without gaps, for memory takes longer for parts of a sector than for whole
/// ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Finals {
    /// Which of the four hashes are used; the others are 0.
    pub used: [bool; 4],
}

impl Finals {
    /// Bytes of a warp.
    pub fn bytes(self) -> u64 {
        self.signatures() + 32
    }
    /// The offset of the lanes' bytes.
    pub fn signatures(self) -> u64 {
        match self.hash(4) {
            0 => 0,
            1..=8 => 8,
            _ => 16,
        }
    }
    /// The offset of hash `i`, if that is used.
    pub fn hash(self, i: usize) -> u64 {
        4 * self.used.iter().take(i).filter(|u| **u).count() as u64
    }
    /// The warp's hashes and its lanes' bytes; what `bytes` is too short for is 0.
    pub fn read(self, bytes: &[u8]) -> [[u64; 4]; 2] {
        let at = |at: u64| bytes.get(at as usize..).unwrap_or_default();
        let hash = |i: usize| at(self.hash(i)).first_chunk().map_or(0, |b| u64::from(u32::from_le_bytes(*b)));
        let lanes = |i: usize| {
            at(self.signatures() + 8 * i as u64).first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
        };
        [std::array::from_fn(|i| if self.used[i] { hash(i) } else { 0 }), std::array::from_fn(lanes)]
    }
}

/// Declares device records once: struct, size, field offsets, reading, writing.
macro_rules! records {
    ($($(#[$m:meta])* $name:ident { $($(#[$fm:meta])* $f:ident: $t:ident,)* })*) => { $(
        $(#[$m])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct $name { $($(#[$fm])* pub $f: $t,)* }
        impl $name {
            /// Size in bytes.
            pub const SIZE: usize = size_of::<$name>();
            /// Name, type and byte offset of every field, in order.
            pub const FIELDS: &[(&str, &str, usize)] =
                &[$((stringify!($f), stringify!($t), offset_of!($name, $f)),)*];
            /// Byte offset of a field.
            ///
            /// # Panics
            /// At compile time or in the first test, if there is no such field.
            pub const fn offset(field: &str) -> usize {
                let mut i = 0;
                while i < Self::FIELDS.len() {
                    if same(Self::FIELDS[i].0, field) { return Self::FIELDS[i].2; }
                    i += 1;
                }
                panic!("no such field")
            }
            /// Reads one; `None` when `bytes` is too short.
            pub fn read(bytes: &[u8]) -> Option<Self> {
                Some($name { $($f: {
                    let at = offset_of!($name, $f);
                    $t::from_le_bytes(bytes.get(at..at + size_of::<$t>())?.try_into().ok()?)
                },)* })
            }
            /// Its bytes.
            pub fn to_bytes(&self) -> Vec<u8> {
                let mut out = Vec::with_capacity(Self::SIZE);
                $(out.extend_from_slice(&self.$f.to_le_bytes());)*
                out
            }
        }
    )* };
}

/// String equality that works at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

records! {
    /// What a launch's instrumented code is given. Addresses are device addresses.
    Context {
        /// Address of the pool, aligned to a chunk.
        pool: u64,
        /// Bytes of the pool, a multiple of a chunk.
        size: u64,
        /// Address of the pool's cursor: a u64, the bytes handed out. It is atomically increased and may run
        /// past `size`.
        cursor: u64,
        /// Address of the pool's [`MAGAZINES`], or 0: every chunk is taken from the pool itself.
        magazines: u64,
        /// Bytes that fill a magazine, a multiple of a chunk.
        batch: u64,
        /// Address of the [`Head`]s: one a warp (shared streams) or one a lane (private streams).
        heads: u64,
        /// Address of what warps leave at their ends at level `print`: [`Finals::bytes`] a warp.
        finals: u64,
        /// Warps of a CTA, of a launch that has one dimension and of which all warps are recorded; else 0.
        /// Lies behind `finals`, with which it is loaded.
        cta_warps: u64,
        /// Address of the bucket, one chunk, aligned to a chunk.
        bucket: u64,
        /// First warp to record.
        warp_first: u32,
        /// How many warps to record.
        warps: u32,
        /// How many of them, the first ones, begin with a chunk: in order those at the pool's beginning, as
        /// their heads say too. Of a private stream it is lane 0's.
        given: u64,
        /// Address of a probe program's tables, or 0, and nothing is kept in them: they lie as
        /// [`crate::device::tables`] says.
        tables: u64,
        /// Address of a probe program's records, or 0, and none are kept: [`tables::Records::warp`] bytes a
        /// warp, for all warps of the launch.
        records: u64,
        /// `cta_warps`, or 0 where there are no records. Lies behind `records`, with which it is loaded.
        record_warps: u64,
        /// Address of what markers leave, or 0: one region a track, as [`crate::device::tracks`] says, from
        /// the first warp to record on.
        tracks: u64,
        /// Logarithm of a region's bytes.
        track_log: u64,
        /// The launch's number in its process.
        launch: u64,
        /// Operands: first visit of a site by a lane to record.
        visit_first: u64,
        /// Operands: one past the last.
        visit_last: u64,
    }
    /// The parameter that a recorded kernel has behind its own. What a warp needs as it ends is in it: short
    /// warps wait for each load. All of it is 0 where nothing is recorded.
    HiddenParameter {
        /// Address of the launch's [`Context`].
        context: u64,
        /// What the context says of `tables`; 0: ask there. So it is of a graph's node, whose context is
        /// filled before each of its launches.
        tables: u64,
        /// Likewise, `finals` or `records`: a launch has one of them at most.
        ends: u64,
        /// The context's `cta_warps`; 0: ask there for this and `ends`.
        cta_warps: u64,
    }
    /// Where a stream begins.
    Head {
        /// Address of its first chunk; 0: nothing was written.
        first: u64,
        /// Elements that went to the bucket.
        dropped: u64,
    }
    /// The beginning of a track's region.
    TrackHead {
        /// The multiprocessor on which the lane began, plus one; 0: no lane did.
        sm: u32,
        /// The lane.
        lane: u32,
        /// Its group, if it said one.
        group: u32,
        /// Whether it did.
        grouped: u32,
        /// The multiprocessor's clock when it began.
        begin_cycles: u64,
        /// The global timer then.
        begin_nanos: u64,
        /// The clock when it ended.
        end_cycles: u64,
        /// The timer then; 0: it did not end.
        end_nanos: u64,
        /// Bytes of slots that it wanted to write; known when it ended.
        written: u64,
        /// Lane that began but follows another since it joined a group, plus one; if it is `lane`, nobody
        /// leads.
        left: u32,
        /// Nothing.
        spare: u32,
    }
    /// An element at level `events`; see also [`Followers`].
    EventRecord {
        /// Site, plus one; in its top bits [`Followers::tag`].
        site: u32,
        /// Lanes that it is of; 0 if there are none after all: of a store that is told of with the decision
        /// before it.
        mask: u32,
        /// See [`crate::launch::Event::value`].
        value: u32,
        /// Low bits of `%clock`.
        clock: u32,
    }
}

impl Context {
    /// The parameter of a launch whose context lies at `at`, as it is.
    pub fn hidden_parameter(&self, at: u64) -> HiddenParameter {
        let ends = if self.finals != 0 { self.finals } else { self.records };
        let cta_warps = if ends != 0 { self.cta_warps } else { 0 };
        HiddenParameter { context: at, tables: self.tables, ends, cta_warps }
    }
}

/// What the row behind an event holds: values, of four bytes each, of events of the sites that follow its
/// own. The top bits of its site say so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Followers {
    /// How many: 1 to [`Followers::MOST`], but not 3.
    pub count: u32,
    /// Which of its lanes they are of.
    pub lanes: Follow,
}

/// Lanes of events that follow another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Follow {
    /// All that it is of.
    All = 1,
    /// Those with their bit in its value.
    With = 2,
    /// Those without.
    Without = 3,
}

impl Followers {
    /// Most events that follow one.
    pub const MOST: usize = 4;
    /// Bits of an event's site that are its number, plus one.
    pub const SITE: u32 = (1 << 28) - 1;

    /// The top bits of the event's site.
    pub const fn tag(self) -> u32 {
        (self.lanes as u32) << 30 | (self.count - 1) << 28
    }
    /// From an event's site.
    pub const fn of(site: u32) -> Option<Followers> {
        let lanes = match site >> 30 {
            0 => return None,
            1 => Follow::All,
            2 => Follow::With,
            _ => Follow::Without,
        };
        Some(Followers { count: (site >> 28 & 3) + 1, lanes })
    }
    /// Their lanes, if the event is of `mask` and has `value`.
    pub const fn mask(self, mask: u32, value: u32) -> u32 {
        match self.lanes {
            Follow::All => mask,
            Follow::With => mask & value,
            Follow::Without => mask & !value,
        }
    }
}

/// As many bits of a value as there are.
pub const ALL: u8 = 64;

/// The `bits` lowest bits of `value`. What an access moves may be less than its register holds: `st.u8` from
/// a register of 32 bits stores 8, and a load that extends a sign says nothing by it. Another compiler may
/// hold the same in another register.
pub const fn low(value: u64, bits: u8) -> u64 {
    match bits {
        0 => 0,
        1..64 => value & u64::MAX >> (64 - bits),
        ALL.. => value,
    }
}

/// By what a lane multiplies in [`digest`], less `lane` times twice that: odd, and another number in each
/// lane.
pub const DIGEST_BY: u32 = 0x9E37_79B1;
/// By what [`digest`] multiplies the high half of a value.
pub const DIGEST_HIGH: u32 = 0xC2B2_AE3D;

/// One lane's part of the digest in [`EventRecord::value`]: the digest of a memory site is the exclusive or,
/// over the active lanes, of what this gives for a lane's values (a vector's elements in order), each as its
/// bits zero-extended. Lowered code and hooks both compute it. Both halves of a product count: highest bits
/// (signs) show in its upper half, by another number in each lane, so that what differs alike in several
/// values, or in all lanes, does not go away.
pub const fn digest(lane: u32, values: &[u64]) -> u32 {
    let by = lane.wrapping_mul(DIGEST_BY << 1).wrapping_add(DIGEST_BY);
    let mut hash = 0;
    let mut i = 0;
    while i < values.len() {
        let high = ((values[i] >> 32) as u32).rotate_left(TURN).wrapping_mul(DIGEST_HIGH);
        let product = (hash ^ values[i] as u32 ^ high) as u64 * by as u64;
        hash = product as u32 ^ (product >> 32) as u32;
        i += 1;
    }
    hash
}

/// The shape of a level's streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes of an element.
    pub element: u64,
    /// Lanes that share a row: the warp size for a shared stream, 1 for a private one.
    pub lanes: u64,
}

impl Shape {
    /// The shape of `level`'s streams for warps of `warp_size` lanes. Operand records are three elements of
    /// eight bytes: `site + 1 | visit << 32`, then two values.
    pub const fn of(level: crate::kernel::Level, warp_size: u64) -> Shape {
        use crate::kernel::Level;
        match level {
            Level::Path => Shape { element: 4, lanes: warp_size },
            // A probe program has no streams; the shape is as good as any.
            Level::Fingerprint | Level::Operands | Level::Probe => Shape { element: 8, lanes: warp_size },
            Level::Events => Shape { element: EventRecord::SIZE as u64, lanes: 1 },
        }
    }
    /// Bytes of a row.
    pub const fn row(self) -> u64 {
        self.element * self.lanes
    }
    /// Rows of a chunk, the link row included.
    pub const fn rows(self) -> u64 {
        if self.lanes == 1 { PRIVATE_CHUNK_ROWS } else { CHUNK_ROWS }
    }
    /// Bytes of a chunk, and its alignment: a power of two.
    pub const fn chunk(self) -> u64 {
        self.row() * self.rows()
    }
    /// Bytes that fill a magazine of a pool of `size` bytes: enough chunks that few come to the pool, and few
    /// enough that magazines hold no more than a quarter of it. One chunk: magazines are of no use.
    pub const fn batch(self, size: u64) -> u64 {
        let most = size / 4 / MAGAZINES / self.chunk();
        let enough = MAGAZINE_BYTES / self.chunk();
        self.chunk()
            * if most > enough {
                enough
            } else if most == 0 {
                1
            } else {
                most
            }
    }
    /// Heads that a warp of `warp_size` lanes needs.
    pub const fn heads(self, warp_size: u64) -> u64 {
        warp_size / self.lanes
    }
}
