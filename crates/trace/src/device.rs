//! The memory that instrumented code and the host share while a kernel runs.
//!
//! A launch of fewer than 2^32 warps has one [`Context`]. Each warp (or lane) has a [`Head`], and takes
//! chunks from a pool as it needs them. Launches of one level may share a pool with its cursor and bucket,
//! even at the same time. Each launch has its own heads and final hashes.
//!
//! The hidden kernel parameter is the address of a [`Context`]; null means that nothing is recorded. All
//! numbers are little-endian. The host zeroes all memory before the first launch that uses it, except the
//! context and the link of the bucket.
//!
//! **Streams.** A stream is a chain of chunks. A chunk has [`Shape::rows`] rows and is aligned to its
//! own size. The first eight bytes of row 0 are the address of the next chunk. The other rows hold elements.
//! An element is never zero, so a zero ends a stream. In a *shared* stream (levels `path`, `print`,
//! `operands`), the lanes of a warp share one chain, and a row holds one element of each lane: `[row][lane]`.
//! Converged lanes then store whole cache lines. Each lane has its own row cursor. In a *private* stream
//! (level `events`, written by the leading lane), each lane has its own chain, and a row is one element.
//! Events that are written together lie in one chunk, so a zero ends only the contents of its chunk. The link
//! to the first chunk is in `heads`: one entry for each warp (shared) or lane (private).
//!
//! **Last words.** At level `path`, the word that a lane has not filled when it ends is not in its stream,
//! but in [`Context::finals`]: one word for each lane, 0 for none. It has the fewest bytes that hold any last
//! word of the module ([`LastWord`]). Most lanes write no other word, so most warps take no chunk.
//!
//! **Cursor.** A lane keeps the address of its next element in a register. If the row part of that address is
//! 0, the lane needs a new chunk first. The cursor starts as `lane * element` (shared) or 0 (private), that
//! is, in a chunk at address 0.
//!
//! **Magazines.** A GPU executes one atomic operation on an address every few nanoseconds, and a grid takes
//! millions of chunks. Each SM therefore takes batches of chunks from the pool and distributes them itself.
//! Its magazine is a u64: bits 16 and up are the offset of its next chunk in the pool, and bits 0 to 15 are
//! the number of chunks left. A lane that takes a chunk adds the size of a chunk to the offset and -1 to the
//! number. If the number was 0, the lane takes a batch from the pool, keeps the first chunk and sets the
//! magazine to the rest. If it was negative (bit 15 set), another lane is doing that, and the lane takes one
//! chunk from the pool. Chunks left in magazines at the end of the launch count as handed out and are empty.
//!
//! **Overflow.** When the pool is exhausted, chains continue in the *bucket*: one chunk that links to itself
//! and is never read. Each lane adds the number of elements that it wrote there to its warp's `dropped`.
//!
//! **Words of `path`.** If the top bit is 0, the word holds at most [`WORD_BITS`] decisions below a leading
//! 1, the first decision in the highest bit: `1 d0 d1 … dn`. If the top bit is 1, the word holds 30 bits of a
//! trip count, low part first; bit 30 means that a higher part follows. Decisions and counts are two queues:
//! the decoder takes from each as needed, in order. A trip count below 2^[`COUNT_BITS`] - 1 lies among the
//! decisions, in [`COUNT_BITS`] bits. If those are all ones, the count is in a word of its own. A recorded
//! value lies among the decisions as well, in the parts of [`value_parts`].

pub mod tables;
pub mod tracks;

use std::mem::offset_of;

use crate::ids::WarpSize;
use crate::kernel::Level;
use crate::narrow::{index, low32};

/// Number of rows in a chunk of a shared stream, with the link row.
pub const CHUNK_ROWS: u64 = 16;
/// Number of rows in a chunk of a private stream, with the link row. Rows are small, and a lane that needs a
/// new chunk waits for memory, so chunks have more rows.
pub const PRIVATE_CHUNK_ROWS: u64 = 32;
/// Number of magazines of a pool. An SM uses the magazine of its number modulo this.
pub const MAGAZINES: u64 = 256;
/// Bytes from one magazine to the next. Each has its own cache lines.
pub const MAGAZINE_STRIDE: u64 = 128;
/// Bytes of chunks in a batch, for large pools. While one lane fetches a batch, others of the SM go to the
/// pool themselves.
pub const MAGAZINE_BYTES: u64 = 64 << 10;
/// Number of low bits of a magazine that count the chunks left.
pub const MAGAZINE_COUNT: u32 = 16;
/// Largest number of decisions in a word of `path`.
pub const WORD_BITS: u32 = 30;
/// Number of bits of a small trip count among decisions.
pub const COUNT_BITS: u8 = 6;
/// Level `values`: number of bits among decisions that stand for what a lane stores. Four of them fit a word,
/// and one fits the byte that a lane leaves at its end.
pub const VALUE_BITS: u8 = 7;
/// The parts in which a recorded value of `bits` bits lies among the decisions of `path`, in their order: the
/// lowest bit and the number of bits of each. The high part comes first and may be short; each part fits a
/// word.
pub fn value_parts(bits: u8) -> impl Iterator<Item = (u8, u8)> {
    const WORD: u8 = 30;
    const { assert!(WORD as u32 == WORD_BITS) };
    (0..bits.div_ceil(WORD)).rev().map(move |part| (part * WORD, (bits - part * WORD).min(WORD)))
}
/// At level `events`, in place of a number of bits: the trip count is an event of the decision's site. The
/// event's value is the count, and its mask is the lanes with that count. It is the first event of these
/// lanes since they entered the loop.
pub const COUNT_EVENT: u8 = u8::MAX;
/// Bit that marks a word of `path` as a trip count.
pub const COUNT_WORD: u32 = 1 << 31;
/// Bit of a count word that means: a word with the higher part follows.
pub const COUNT_MORE: u32 = 1 << 30;
/// The words of a trip count that is no small one: 30 bits each, the low ones first.
pub fn count_words(count: u64) -> impl Iterator<Item = u32> {
    const BITS: u32 = COUNT_MORE.ilog2();
    let more = |rest: u64| if rest == 0 { 0 } else { COUNT_MORE };
    let next = |rest: &u64| Some(rest >> BITS).filter(|rest| *rest > 0);
    let parts = std::iter::successors(Some(count), next);
    parts.map(move |rest| COUNT_WORD | more(rest >> BITS) | low32(rest) & (COUNT_MORE - 1))
}
/// The number of decisions in a word of `path`: the bits below its leading 1. A word of zeros has none.
#[inline]
pub fn decisions_in(word: u32) -> u32 {
    word.checked_ilog2().unwrap_or(0)
}

/// Bits by which the high half of a value is rotated before it is combined with the low half in a hash. The
/// top bits of both halves then do not cancel.
pub const TURN: u32 = 11;
/// What the name of an instrumented kernel has behind the kernel's own, where both are in one module.
pub const INSTRUMENTED: &str = ".prlx";

/// Version of the hashes that a level records. It changes whenever equal values get other hashes, or other
/// values are hashed.
pub const fn hashing(level: Level) -> u8 {
    match level {
        Level::Fingerprint => 5,
        _ => 4,
    }
}

/// The size of the words that the lanes of a warp leave at its end at level `path`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum LastWord {
    /// Nothing: no lane leaves one.
    None,
    /// One byte: at most 7 decisions.
    Byte,
    /// Two bytes: at most 15 decisions.
    Half,
    /// Four bytes: at most [`WORD_BITS`] decisions.
    #[default]
    Whole,
}

impl LastWord {
    /// The smallest one for words of at most `bits` decisions.
    pub fn of(bits: u32) -> LastWord {
        // The leading 1 is one more bit.
        match bits {
            0..=7 => LastWord::Byte,
            8..=15 => LastWord::Half,
            _ => LastWord::Whole,
        }
    }
    /// Its size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            LastWord::None => 0,
            LastWord::Byte => 1,
            LastWord::Half => 2,
            LastWord::Whole => 4,
        }
    }
    /// Reads the words of lanes, one for each; 0 for none.
    pub fn read(self, bytes: &[u8]) -> Vec<u32> {
        match self {
            LastWord::None => Vec::new(),
            LastWord::Byte => bytes.iter().map(|word| u32::from(*word)).collect(),
            LastWord::Half => bytes.as_chunks().0.iter().map(|w| u16::from_le_bytes(*w).into()).collect(),
            LastWord::Whole => bytes.as_chunks().0.iter().map(|w| u32::from_le_bytes(*w)).collect(),
        }
    }
}

/// The layout of what a warp writes at its end. At level `path` that is the last word of each lane. At level
/// `print` it is hashes: first come the used hashes, four
/// bytes each, padded to eight or 16 bytes. Then comes one signature byte for each lane
/// ([`Lanes::Fingerprint`](crate::launch::Lanes::Fingerprint)). The bytes of warps adjoin without gaps,
/// because partial sectors of memory take longer to write than whole ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Finals {
    /// Which of the four hashes are used: control, loaded, stored, synchronisation. The others are 0.
    pub used: [bool; 4],
    /// Level `path`: the size of a lane's last word.
    pub last_word: LastWord,
    /// Size of the warp.
    pub warp_size: WarpSize,
}

impl Finals {
    /// Number of bytes of one warp.
    pub fn bytes(self) -> u64 {
        self.signatures() + self.warp_size.lanes()
    }
    /// The byte offset of the lanes' signatures.
    pub fn signatures(self) -> u64 {
        match self.hash(4) {
            0 => 0,
            1..=8 => 8,
            _ => 16,
        }
    }
    /// The byte offset of hash `i`, if it is used.
    pub fn hash(self, i: usize) -> u64 {
        4 * self.used.iter().take(i).filter(|u| **u).count() as u64
    }
    /// Reads the warp's four hashes, then the signatures of its lanes (eight in each number, from the lowest
    /// byte; 32 lanes in each entry). Bytes that are missing read as 0.
    pub fn read(self, bytes: &[u8]) -> Vec<[u64; 4]> {
        let at = |at: u64| bytes.get(index(at)..).unwrap_or_default();
        let hash = |i: usize| at(self.hash(i)).first_chunk().map_or(0, |b| u64::from(u32::from_le_bytes(*b)));
        let eight = |at: &[u8]| at.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let used = |i: usize| self.used.get(i) == Some(&true);
        let of_warp = std::array::from_fn(|i| if used(i) { hash(i) } else { 0 });
        let of_lanes = (0..self.warp_size.lanes() / 32)
            .map(|entry| std::array::from_fn(|i| eight(at(self.signatures() + 32 * entry + 8 * i as u64))));
        std::iter::once(of_warp).chain(of_lanes).collect()
    }
}

/// Number of bytes that a warp writes at its end: its hashes at level `print`, the last word of each lane at
/// level `path`.
pub fn final_bytes(level: Level, finals: Finals) -> u64 {
    match level {
        Level::Fingerprint => finals.bytes(),
        Level::Path | Level::Values => finals.last_word.bytes() * finals.warp_size.lanes(),
        Level::Events | Level::Operands | Level::Probe => 0,
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
                let mut fields = Self::FIELDS;
                while let [(name, _, offset), rest @ ..] = fields {
                    if same(name, field) { return *offset; }
                    fields = rest;
                }
                panic!("no such field")
            }
            /// Reads a record. `None` if `bytes` is too short.
            pub fn read(bytes: &[u8]) -> Option<Self> {
                Some($name { $($f: {
                    let at = offset_of!($name, $f);
                    $t::from_le_bytes(bytes.get(at..at + size_of::<$t>())?.try_into().ok()?)
                },)* })
            }
            /// The record as little-endian bytes, in the layout of device memory.
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
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (rest_a, rest_b);
    }
    a.is_empty() && b.is_empty()
}

records! {
    /// Everything that the instrumented code of a launch needs. Addresses are device addresses.
    Context {
        /// Address of the pool, aligned to a chunk.
        pool: u64,
        /// Number of bytes of the pool, a multiple of a chunk.
        size: u64,
        /// Address of the pool's cursor: a u64, the bytes handed out. It is atomically increased
        /// and may run past `size`.
        cursor: u64,
        /// Address of the pool's [`MAGAZINES`]. 0: kernels take every chunk from the pool itself.
        magazines: u64,
        /// Number of bytes of a batch that fills a magazine, a multiple of a chunk.
        batch: u64,
        /// Address of the [`Head`]s: one for each warp (shared streams) or lane (private streams).
        heads: u64,
        /// Address of what warps write at their end: [`final_bytes`] for each warp.
        finals: u64,
        /// Number of warps of a CTA, if the launch has one dimension and all its warps are recorded.
        /// Otherwise 0. It lies behind `finals`, because kernels load both at once.
        cta_warps: u64,
        /// Address of the bucket, one chunk, aligned to a chunk.
        bucket: u64,
        /// Number of the first warp to record.
        warp_first: u32,
        /// Number of warps to record.
        warps: u32,
        /// Number of warps, from the first one on, that begin with a chunk. These chunks are at the pool's
        /// beginning, in order, and their heads link to them. In private streams the chunk is lane 0's.
        given: u64,
        /// Address of a probe program's tables ([`crate::device::tables`] has their layout). 0: kernels
        /// update no table.
        tables: u64,
        /// Address of a probe program's records: [`tables::Records::warp`] bytes for each warp of the
        /// launch. 0: kernels write no records.
        records: u64,
        /// `cta_warps`, or 0 if there are no records. It lies behind `records`, because kernels load both at
        /// once.
        record_warps: u64,
        /// Address of the tracks of markers, or 0: one region for each track, from the first warp to record
        /// on ([`crate::device::tracks`] has their layout).
        tracks: u64,
        /// Base-2 logarithm of the bytes of a track's region.
        track_log: u64,
        /// The launch's number in its process.
        launch: u64,
        /// Level `operands`: first visit of a site by a lane to record, from 0.
        visit_first: u64,
        /// Level `operands`: one past the last visit to record.
        visit_last: u64,
    }
    /// The hidden parameter that instrumentation appends to a kernel's own. It repeats the fields of the
    /// context that a warp needs when it ends, because a short warp would wait for each load. All of it is 0
    /// if nothing is recorded.
    HiddenParameter {
        /// Address of the launch's [`Context`].
        context: u64,
        /// The context's `tables`. 0: kernels read the context instead. A graph's node has 0, because its
        /// context is filled before each launch.
        tables: u64,
        /// The context's `finals` or `records`; a launch has at most one of them. 0: kernels read the context
        /// instead.
        ends: u64,
        /// The context's `cta_warps`. 0: kernels read this and `ends` from the context.
        cta_warps: u64,
    }
    /// The size of the launch, which follows the hidden parameter of AMD kernels: they cannot ask for it
    /// unless the compiler foresaw that.
    LaunchSize {
        /// Threads of a CTA in x.
        block_x: u32,
        /// Threads of a CTA in y.
        block_y: u32,
        /// Threads of a CTA in z.
        block_z: u32,
        /// CTAs of the grid in x.
        grid_x: u32,
        /// CTAs of the grid in y.
        grid_y: u32,
        /// CTAs of the grid in z.
        grid_z: u32,
    }
    /// The head of a stream.
    Head {
        /// Address of its first chunk. 0: nothing was written.
        first: u64,
        /// Number of elements written to the bucket, that is, lost.
        dropped: u64,
    }
    /// The head of a track's region.
    TrackHead {
        /// Number of the SM on which the lane began, plus one. 0: no lane began here.
        sm: u32,
        /// Number of the lane in its warp.
        lane: u32,
        /// The lane's group, if a marker set one.
        group: u32,
        /// 1 if a marker set the group, else 0.
        grouped: u32,
        /// The SM's clock at the lane's begin, in cycles.
        begin_cycles: u64,
        /// The global timer at the lane's begin, in nanoseconds.
        begin_nanos: u64,
        /// The SM's clock at the lane's end, in cycles.
        end_cycles: u64,
        /// The global timer at the lane's end, in nanoseconds. 0: the lane did not end.
        end_nanos: u64,
        /// Number of bytes of slots that the lane wanted to write. Set when it ends.
        written: u64,
        /// Number, plus one, of a lane that began the track and then joined a group that another lane leads.
        /// If it is `lane`, no lane leads here.
        left: u32,
        /// Padding, always 0.
        spare: u32,
    }
    /// An element at level `events`, of a warp of 32 lanes; see also [`Followers`].
    EventRecord {
        /// Site number plus one. The top bits are [`Followers::tag`].
        site: u32,
        /// Lanes that take part. 0 for a coalesced store that no lane executes: its event was reserved with
        /// the branch event before it.
        mask: u32,
        /// The low 32 bits of [`crate::launch::Event::value`].
        value: u32,
        /// The low 32 bits of the SM's clock (`%clock`).
        clock: u32,
    }
    /// An element at level `events`, of a warp of 64 lanes. The fields mean what they mean in
    /// [`EventRecord`].
    WideEventRecord {
        /// Site number plus one. The top bits are [`Followers::tag`].
        site: u32,
        /// The low 32 bits of the SM's clock.
        clock: u32,
        /// Lanes that take part.
        mask: u64,
        /// [`crate::launch::Event::value`].
        value: u64,
        /// Padding, always 0. A record has a power of two of bytes, as chunks must have.
        spare: u64,
    }
}

impl WideEventRecord {
    /// Reads the event record of a warp of that size. `None` if `bytes` is too short.
    pub fn of(size: WarpSize, bytes: &[u8]) -> Option<WideEventRecord> {
        match size {
            WarpSize::W32 => EventRecord::read(bytes).map(|r| WideEventRecord {
                site: r.site,
                clock: r.clock,
                mask: r.mask.into(),
                value: r.value.into(),
                spare: 0,
            }),
            WarpSize::W64 => WideEventRecord::read(bytes),
        }
    }
}

impl Context {
    /// The hidden parameter of a launch with this context. `at` is the context's device address.
    pub fn hidden_parameter(&self, at: u64) -> HiddenParameter {
        let ends = if self.finals != 0 { self.finals } else { self.records };
        let cta_warps = if ends != 0 { self.cta_warps } else { 0 };
        HiddenParameter { context: at, tables: self.tables, ends, cta_warps }
    }
}

/// Coalesced events: the row behind an event holds the values of events of the next sites, four bytes each in
/// a warp of 32 lanes, eight in one of 64. The top bits of the event's site encode this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Followers {
    /// Number of coalesced events: 1, 2 or [`Followers::MOST`].
    pub count: u32,
    /// The lanes that take part in them.
    pub lanes: Follow,
}

/// The lanes of coalesced events, relative to the event before them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Follow {
    /// All lanes of that event.
    All = 1,
    /// Its lanes whose bit is set in its value: those that take the branch.
    With = 2,
    /// Its lanes whose bit is not set in its value.
    Without = 3,
}

impl Followers {
    /// Largest number of coalesced events behind one event.
    pub const MOST: usize = 4;
    /// Mask of the bits of an event's site that hold its number plus one.
    pub const SITE: u32 = (1 << 28) - 1;

    /// The encoding in the top bits of the event's site.
    pub const fn tag(self) -> u32 {
        (self.lanes as u32) << 30 | (self.count - 1) << 28
    }
    /// Decodes the top bits of an event's site. `None`: no events follow.
    pub const fn of(site: u32) -> Option<Followers> {
        let lanes = match site >> 30 {
            0 => return None,
            1 => Follow::All,
            2 => Follow::With,
            _ => Follow::Without,
        };
        Some(Followers { count: (site >> 28 & 3) + 1, lanes })
    }
    /// The lanes of the coalesced events, from the mask and the value of the event before them.
    pub const fn mask(self, mask: u64, value: u64) -> u64 {
        match self.lanes {
            Follow::All => mask,
            Follow::With => mask & value,
            Follow::Without => mask & !value,
        }
    }
}

/// Number of bits of a value. [`low`] with this many bits keeps all of them.
pub const ALL: u8 = 64;

/// The `bits` lowest bits of `value`. An access may move fewer bits than its register has: `st.u8` from a
/// 32-bit register stores 8 bits, and a load may extend a sign. Another compiler may keep the same value in a
/// wider register, so only the bits that move are hashed.
pub const fn low(value: u64, bits: u8) -> u64 {
    match bits {
        0 => 0,
        1..64 => value & u64::MAX >> (64 - bits),
        ALL.. => value,
    }
}

/// Base of the multiplier of a lane in [`digest`]: `DIGEST_BY * (2 * lane + 1)`, an odd number that differs
/// between lanes.
pub const DIGEST_BY: u32 = 0x9E37_79B1;
/// Multiplier of the high half of a value in [`digest`].
pub const DIGEST_HIGH: u32 = 0xC2B2_AE3D;

/// One lane's part of the digest in [`EventRecord::value`].
///
/// The digest of a memory site is the XOR of this function over the active lanes. `values` are the lane's
/// values (the elements of a vector in order), zero-extended. Instrumented code and the hooks of the CPU
/// device both compute it. Both halves of the product count: the top bits of a value (signs) show in the
/// upper half. The multiplier differs between lanes, so that an equal change in several values or in all
/// lanes does not cancel.
pub const fn digest(lane: u32, values: &[u64]) -> u32 {
    let by = lane.wrapping_mul(DIGEST_BY << 1).wrapping_add(DIGEST_BY);
    let (mut hash, mut values) = (0, values);
    while let [value, rest @ ..] = values {
        let high = low32(*value >> 32).rotate_left(TURN).wrapping_mul(DIGEST_HIGH);
        let product = (hash ^ low32(*value) ^ high) as u64 * by as u64;
        hash = low32(product) ^ low32(product >> 32);
        values = rest;
    }
    hash
}

/// The layout of a level's streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of bytes of an element.
    pub element: u64,
    /// Lanes that share a row: the warp size for a shared stream, 1 for a private one.
    pub lanes: u64,
}

impl Shape {
    /// The layout of `level`'s streams for warps of that size. An operand record is three elements of eight
    /// bytes: `site + 1 | visit << 32`, then two values.
    pub const fn of(level: Level, warp_size: WarpSize) -> Shape {
        let lanes = warp_size.lanes();
        match level {
            Level::Path | Level::Values => Shape { element: 4, lanes },
            // A probe program has no streams, so any shape will do.
            Level::Fingerprint | Level::Operands | Level::Probe => Shape { element: 8, lanes },
            Level::Events => {
                let record = match warp_size {
                    WarpSize::W32 => EventRecord::SIZE,
                    WarpSize::W64 => WideEventRecord::SIZE,
                };
                Shape { element: record as u64, lanes: 1 }
            }
        }
    }
    /// Number of bytes of a row.
    pub const fn row(self) -> u64 {
        self.element * self.lanes
    }
    /// Number of rows of a chunk, with the link row.
    pub const fn rows(self) -> u64 {
        if self.lanes == 1 { PRIVATE_CHUNK_ROWS } else { CHUNK_ROWS }
    }
    /// Number of bytes of a chunk, and its alignment. A power of two.
    pub const fn chunk(self) -> u64 {
        self.row() * self.rows()
    }
    /// Number of bytes of a batch, for a pool of `size` bytes. Large batches keep lanes away from the pool's
    /// cursor, but all magazines together hold at most a quarter of the pool. If the result is one chunk,
    /// magazines bring nothing.
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
    /// Number of heads that a warp of that size needs.
    pub const fn heads(self, warp_size: WarpSize) -> u64 {
        warp_size.lanes() / self.lanes
    }
}
