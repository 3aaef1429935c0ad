//! Decodes the bytes that a kernel left in device memory into the streams of its warps (layout:
//! `prlx_trace::device`).
//!
//! # Invariants
//! - Decoding always ends and allocates in proportion to the pool: a chunk belongs to one chain and is read
//!   once.
//! - The same bytes give the same streams and complaints, with any number of host threads.
//! - Whatever is wrong with the bytes is listed in [`DecodedStreams::damage`], and the warp counts a loss.
//!
//! # Limitations
//! - Garbage that looks like elements is taken for elements.
//! - Two events more than 2^31 clocks apart, with no event between them, may be put in the wrong order.

use crate::workers::WORKERS;
use prlx_trace::device::{EventRecord, Finals, Followers, Head, Shape};
use prlx_trace::launch::{Event, Lanes, OperandRecord};
use prlx_trace::{LaneMask, Level, SiteId, WarpId, WarpStream};

/// How many complaints are kept.
const COMPLAINTS: usize = 16;

/// Elements of an operand record.
const OPERAND_ELEMENTS: u64 = 3;

/// A pool as it was read back, and which of its chunks belong to a stream already. The launches that shared
/// it are decoded one after the other.
#[derive(Debug)]
pub struct Pool<'a> {
    level: Level,
    warp_size: u8,
    at: u64,
    bytes: &'a [u8],
    bucket: u64,
    shape: Shape,
    /// By chunk.
    chunks: Vec<ChunkState>,
    /// How many of them belong to a stream.
    taken: u64,
}

impl<'a> Pool<'a> {
    /// The part of a pool at address `at` that was handed out, `bytes`, to launches at `level` with warps of
    /// `warp_size` lanes. `heads` are those of all these launches: a broken link must not take another
    /// stream's beginning away.
    pub fn new<'h>(
        level: Level,
        warp_size: u8,
        at: u64,
        bytes: &'a [u8],
        bucket: u64,
        heads: impl IntoIterator<Item = &'h [u8]>,
    ) -> Pool<'a> {
        let shape = Shape::of(level, warp_size.into());
        let chunks = vec![ChunkState::Free; bytes.len() / shape.chunk() as usize];
        let mut pool = Pool { level, warp_size, at, bytes, bucket, shape, chunks, taken: 0 };
        for head in heads.into_iter().flat_map(|h| h.chunks_exact(Head::SIZE)).filter_map(Head::read) {
            if let Some(i) = pool.chunk(head.first) {
                pool.chunks[i] = ChunkState::First;
            }
        }
        pool
    }

    /// The number of the chunk at an address.
    fn chunk(&self, at: u64) -> Option<usize> {
        let offset = at.checked_sub(self.at)?;
        let index = usize::try_from(offset / self.shape.chunk()).ok()?;
        (offset.is_multiple_of(self.shape.chunk()) && index < self.chunks.len()).then_some(index)
    }
}

/// What a launch left in device memory besides its part of the pool.
#[derive(Clone, Copy, Debug)]
pub struct LaunchBuffers<'a> {
    /// The first warp of `heads` and `finals`.
    pub first_warp: u64,
    /// The warps' heads.
    pub heads: &'a [u8],
    /// What warps left at their ends, at level `print`.
    pub finals: &'a [u8],
    /// How that lies.
    pub layout: Finals,
    /// How many sites there are.
    pub sites: usize,
}

/// The streams, and how much they hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DecodedStreams {
    /// One for each warp that has heads.
    pub warps: Vec<WarpStream>,
    /// Elements in them: words, checkpoints, events or operand records.
    pub recorded: u64,
    /// Elements lost.
    pub dropped: u64,
    /// Bytes of the pool that they take.
    pub bytes: u64,
    /// What was wrong with the bytes; empty unless a kernel was killed or something is broken.
    pub damage: Vec<String>,
}

/// Reads the streams of all warps of a launch.
pub fn decode_launch(pool: &mut Pool<'_>, memory: LaunchBuffers<'_>) -> DecodedStreams {
    let per_warp = pool.shape.heads(pool.warp_size.into()) as usize * Head::SIZE;
    let before = pool.taken;
    // Which chunk is whose depends on who comes first; what is in them does not.
    let all = memory.heads.chunks_exact(per_warp.max(1)).enumerate();
    let found: Vec<WarpChunks<'_>> =
        all.map(|(i, heads)| pool.find(WarpId(memory.first_warp + i as u64), i, heads)).collect();
    let reader = WarpDecoder { level: pool.level, warp_size: pool.warp_size, memory };
    let bytes = (pool.taken - before) * pool.shape.chunk();
    let mut decoded = DecodedStreams { bytes, ..DecodedStreams::default() };
    let mut complaints = Complaints::default();
    for (stream, more) in WORKERS.map(found, bytes as usize, |found| reader.warp(found)) {
        decoded.recorded += stream.lanes.elements();
        decoded.dropped = decoded.dropped.saturating_add(stream.dropped);
        decoded.warps.push(stream);
        complaints.add(more);
    }
    let more = complaints.count - complaints.damage.len();
    decoded.damage = complaints.damage;
    if more > 0 {
        decoded.damage.push(format!("and {more} more"));
    }
    decoded
}

/// What was wrong.
#[derive(Default)]
struct Complaints {
    damage: Vec<String>,
    count: usize,
}

impl Complaints {
    fn complain(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.damage.len() < COMPLAINTS {
            self.damage.push(what());
        }
    }
    fn add(&mut self, more: Complaints) {
        self.count += more.count;
        self.damage.extend(more.damage.into_iter().take(COMPLAINTS - self.damage.len()));
    }
}

/// Where a warp's streams are.
struct WarpChunks<'a> {
    warp: WarpId,
    /// Its number among the launch's.
    index: usize,
    /// By head.
    chains: Vec<Vec<&'a [u8]>>,
    dropped: u64,
    /// Something is missing.
    lost: bool,
    complaints: Complaints,
}

/// Takes a launch's streams apart.
struct WarpDecoder<'p> {
    level: Level,
    warp_size: u8,
    memory: LaunchBuffers<'p>,
}

/// What is known of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkState {
    /// No chain has it.
    Free,
    /// A head names it.
    First,
    /// A chain has it.
    Taken,
}

impl<'a> Pool<'a> {
    /// Where the streams of a warp are.
    fn find(&mut self, warp: WarpId, index: usize, heads: &[u8]) -> WarpChunks<'a> {
        let mut found = WarpChunks {
            warp,
            index,
            chains: Vec::new(),
            dropped: 0,
            lost: false,
            complaints: Complaints::default(),
        };
        for head in heads.chunks_exact(Head::SIZE).filter_map(Head::read) {
            found.dropped = found.dropped.saturating_add(head.dropped);
            let chain = self.chain(head.first, &mut found);
            found.chains.push(chain);
        }
        if self.level == Level::Operands {
            found.dropped = found.dropped.div_ceil(OPERAND_ELEMENTS);
        }
        found
    }

    /// Follows the links from `first`.
    fn chain(&mut self, first: u64, found: &mut WarpChunks<'_>) -> Vec<&'a [u8]> {
        let (mut chain, warp) = (Vec::new(), found.warp);
        let size = self.shape.chunk() as usize;
        let mut at = first;
        while at != 0 && at != self.bucket {
            let Some(index) = self.chunk(at) else {
                found
                    .complaints
                    .complain(|| format!("{warp}: a link leads to {at:#x}, which is no chunk of the pool"));
                found.lost = true;
                break;
            };
            let allowed = if chain.is_empty() { ChunkState::First } else { ChunkState::Free };
            if self.chunks[index] != allowed {
                found.complaints.complain(|| {
                    format!("{warp}: a link leads to the chunk at {at:#x}, which is already part of a stream")
                });
                found.lost = true;
                break;
            }
            self.chunks[index] = ChunkState::Taken;
            self.taken += 1;
            let chunk = &self.bytes[index * size..][..size];
            chain.push(chunk);
            at = word(chunk, 0);
        }
        found.lost |= at != 0 && at == self.bucket;
        chain
    }
}

impl WarpDecoder<'_> {
    /// The stream of one warp, and what was wrong with it.
    fn warp(&self, found: WarpChunks<'_>) -> (WarpStream, Complaints) {
        let WarpChunks { warp, index, chains, mut dropped, mut lost, mut complaints } = found;
        let chunks = chains.first().map_or(&[][..], |c| &c[..]);
        let streams = match self.level {
            Level::Path => {
                let make = |e: [&[u8; 4]; 3]| u32::from_le_bytes(*e[0]);
                let (words, ends) = self.lanes(warp, chunks, 1, &mut lost, &mut complaints, make);
                Lanes::Path { words, ends }
            }
            Level::Fingerprint => {
                let make = |e: [&[u8; 8]; 3]| u64::from_le_bytes(*e[0]);
                let (checkpoints, ends) = self.lanes(warp, chunks, 1, &mut lost, &mut complaints, make);
                let LaunchBuffers { finals, layout, .. } = self.memory;
                let hashes =
                    layout.read(finals.get(index * layout.bytes() as usize..).unwrap_or_default()).to_vec();
                Lanes::Fingerprint { checkpoints, ends, hashes }
            }
            Level::Operands => {
                let make = |e: [&[u8; 8]; 3]| {
                    let [first, second, third] = e.map(|e| u64::from_le_bytes(*e));
                    OperandRecord {
                        site: SiteId((first as u32).wrapping_sub(1)),
                        visit: (first >> 32) as u32,
                        values: [second, third],
                    }
                };
                let (records, ends) =
                    self.lanes(warp, chunks, OPERAND_ELEMENTS, &mut lost, &mut complaints, make);
                self.drop_unknown_sites(warp, &mut lost, &mut complaints, records, ends)
            }
            Level::Events => Lanes::Events(self.events(warp, &chains, &mut lost, &mut complaints)),
            // A probe program has no streams.
            Level::Probe => Lanes::default(),
        };
        if lost {
            // A kernel that was stopped did not get to count what it lost; that it lost something must not
            // vanish.
            dropped = dropped.max(1);
        }
        (WarpStream { warp, digest: 0, dropped, lanes: streams }, complaints)
    }

    /// Takes the elements of a shared chain, each of `N` bytes, apart by lane, `group` of them at a time; a
    /// zero first element ends a lane.
    fn lanes<const N: usize, T>(
        &self,
        warp: WarpId,
        chunks: &[&[u8]],
        group: u64,
        lost: &mut bool,
        complaints: &mut Complaints,
        make: impl Fn([&[u8; N]; OPERAND_ELEMENTS as usize]) -> T,
    ) -> (Vec<T>, Vec<u32>) {
        let (lanes, group) = (usize::from(self.warp_size), group as usize);
        let last = group - 1;
        let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(lanes));
        for lane in 0..lanes {
            let mut ended = false;
            'lane: for chunk in chunks {
                // A record is three elements, fifteen rows hold five records: none lies in two chunks.
                let elements = chunk.as_chunks::<N>().0;
                for at in (lanes..elements.len()).step_by(lanes * group) {
                    let element = |i: usize| &elements[at + i * lanes + lane];
                    if *element(0) == [0; N] {
                        ended = true;
                    } else if ended {
                        complaints
                            .complain(|| format!("{warp}: lane {lane} has elements after its stream's end"));
                        *lost = true;
                        break 'lane;
                    } else {
                        all.push(make([element(0), element(last.min(1)), element(last)]));
                    }
                }
            }
            ends.push(u32::try_from(all.len()).unwrap_or(u32::MAX));
        }
        (all, ends)
    }

    /// Leaves records of sites that there are not out.
    fn drop_unknown_sites(
        &self,
        warp: WarpId,
        lost: &mut bool,
        complaints: &mut Complaints,
        records: Vec<OperandRecord>,
        ends: Vec<u32>,
    ) -> Lanes {
        if records.iter().all(|r| r.site.index() < self.memory.sites) {
            return Lanes::Operands { records, ends };
        }
        complaints.complain(|| format!("{warp}: records of sites that there are not"));
        *lost = true;
        let (mut kept, mut kept_ends, mut from) = (Vec::new(), Vec::new(), 0);
        for end in ends {
            let lane = &records[from..end as usize];
            kept.extend(lane.iter().filter(|r| r.site.index() < self.memory.sites));
            kept_ends.push(kept.len() as u32);
            from = end as usize;
        }
        Lanes::Operands { records: kept, ends: kept_ends }
    }

    /// Merges the lanes' chains into one stream by clock. Each chain is in the order of its lane's time.
    fn events(
        &self,
        warp: WarpId,
        chains: &[Vec<&[u8]>],
        lost: &mut bool,
        complaints: &mut Complaints,
    ) -> Vec<Event> {
        let mut all: Vec<(i64, usize, Event)> = Vec::new();
        // Clocks are 32 bits and wrap: every lane's first is near the warp's first, each next near the one
        // before.
        let mut base: Option<u32> = None;
        for (lane, chunks) in chains.iter().enumerate() {
            let mut time: Option<(u32, i64)> = None;
            // Events of one place need rows of one chunk: the last rows of another may be empty.
            let rows = chunks.iter().flat_map(|c| {
                let mut rows = c[EventRecord::SIZE..].chunks_exact(EventRecord::SIZE);
                std::iter::from_fn(move || {
                    let event = EventRecord::read(rows.next()?).filter(|r| r.site != 0)?;
                    let more = Followers::of(event.site);
                    Some((event, more, more.and_then(|_| rows.next()).unwrap_or_default()))
                })
            });
            for (event, more, values) in rows {
                let site = SiteId((event.site & Followers::SITE).wrapping_sub(1));
                let count = more.map_or(0, |m| m.count);
                if site.index() + count as usize >= self.memory.sites {
                    complaints.complain(|| {
                        format!("{warp}: lane {lane} has an event of {site}, which there is not")
                    });
                    *lost = true;
                    break;
                }
                let now = match time {
                    Some((clock, now)) => now + i64::from(event.clock.wrapping_sub(clock)),
                    None => i64::from(event.clock.wrapping_sub(*base.get_or_insert(event.clock)) as i32),
                };
                time = Some((event.clock, now));
                let mut add = |site, mask: u32, value: u32| {
                    let event =
                        Event { site, mask: LaneMask(mask.into()), value: value.into(), clock: event.clock };
                    all.extend((mask != 0).then_some((now, lane, event)));
                };
                add(site, event.mask, event.value);
                for i in 0..count {
                    let value = values
                        .get(4 * i as usize..)
                        .and_then(|b| b.first_chunk())
                        .map_or(0, |b| u32::from_le_bytes(*b));
                    let mask = more.map_or(0, |m| m.mask(event.mask, event.value));
                    add(SiteId(site.0 + 1 + i), mask, value);
                }
            }
        }
        all.sort_by_key(|&(now, lane, _)| (now, lane));
        all.into_iter().map(|(_, _, e)| e).collect()
    }
}

/// Eight bytes at `at`; 0 past the end.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}
