//! Decodes the bytes that a kernel left in device memory into streams, one per warp. `prlx_trace::device`
//! defines the layout.
//!
//! # Invariants
//! - Decoding always ends and allocates in proportion to the pool: a chunk belongs to one chain and is read
//!   once.
//! - The same bytes give the same streams and complaints, with any number of host threads.
//! - Every fault in the bytes is listed in [`DecodedStreams::damage`], and the warp counts at least one lost
//!   element.
//!
//! # Limitations
//! - Garbage that looks like elements is decoded as elements.
//! - Two events more than 2^31 clocks apart, with no event between them, may be put in the wrong order.

use std::ops::Range;

use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::device::{Finals, Followers, Head, Shape, WideEventRecord, final_bytes};
use prlx_trace::launch::{Event, Lanes, Launch, OperandRecord, StreamHashes, WarpInfo};
use prlx_trace::{LaneMask, Level, SiteId, StreamFrame, Streams, WarpId, WarpSize, WarpStream};

use crate::workers::WORKERS;

/// Maximum number of complaints that are kept.
const COMPLAINTS: usize = 16;

/// Elements that make one operand record.
const OPERAND_ELEMENTS: u64 = 3;

/// A copy of the pool, with the state of each chunk. Launches that share a pool are decoded one after the
/// other.
#[derive(Debug)]
pub struct Pool<'a> {
    level: Level,
    warp_size: WarpSize,
    at: u64,
    bytes: &'a [u8],
    bucket: u64,
    shape: Shape,
    /// One entry per chunk.
    chunks: Vec<ChunkState>,
    /// Number of chunks that belong to a decoded chain.
    taken: u64,
}

impl<'a> Pool<'a> {
    /// `bytes` is a copy of the part of the pool that was handed out, `at` its device address, `bucket` the
    /// address of the chunk that absorbs dropped elements. `heads` are the heads of every launch that uses
    /// the pool: a broken link must not take the first chunk of another stream.
    pub fn new<'h>(
        level: Level,
        warp_size: WarpSize,
        at: u64,
        bytes: &'a [u8],
        bucket: u64,
        heads: impl IntoIterator<Item = &'h [u8]>,
    ) -> Pool<'a> {
        let shape = Shape::of(level, warp_size);
        let chunks = vec![ChunkState::Free; bytes.len() / shape.chunk() as usize];
        let mut pool = Pool { level, warp_size, at, bytes, bucket, shape, chunks, taken: 0 };
        // Most warps have no chunk.
        let parts = heads.into_iter().flat_map(|h| h.chunks(StreamFrame::WARPS * Head::SIZE));
        for part in parts.filter(|part| !is_zero(part)) {
            for head in part.chunks_exact(Head::SIZE).filter_map(Head::read) {
                if let Some(i) = pool.chunk(head.first) {
                    pool.chunks[i] = ChunkState::First;
                }
            }
        }
        pool
    }

    /// Returns the number of the chunk at an address.
    fn chunk(&self, at: u64) -> Option<usize> {
        let offset = at.checked_sub(self.at)?;
        let index = usize::try_from(offset / self.shape.chunk()).ok()?;
        (offset.is_multiple_of(self.shape.chunk()) && index < self.chunks.len()).then_some(index)
    }
}

/// What a launch left in device memory besides its part of the pool.
#[derive(Clone, Copy, Debug)]
pub struct LaunchBuffers<'a> {
    /// Number of the warp to which the first entries of `heads` and `finals` belong.
    pub first_warp: u64,
    /// Number of warps.
    pub warps: u64,
    /// Heads of the warps. Empty if no warp has one.
    pub heads: &'a [u8],
    /// What the warps wrote at their end: hashes at level `fingerprint`, last words at level `path`.
    pub finals: &'a [u8],
    /// Layout of the final hashes.
    pub layout: Finals,
    /// Number of sites in the module. Elements with a larger site are dropped.
    pub sites: usize,
}

/// Decoded streams of a launch, with totals. Warps that the recording does not keep are not part of it.
#[derive(Clone, Debug, Default)]
pub struct DecodedStreams {
    /// The streams of the warps that have heads, compressed.
    pub streams: Streams,
    /// Hashes in place of the streams, if only these are kept.
    pub hashes: Option<StreamHashes>,
    /// Number of decoded elements: words, checkpoints, events or operand records.
    pub recorded: u64,
    /// Number of lost elements.
    pub dropped: u64,
    /// Bytes of the pool that the launch used, for all of its warps.
    pub bytes: u64,
    /// Faults found in the bytes. Empty unless a kernel was stopped or PRLX has a bug.
    pub damage: Vec<String>,
}

/// The warps that a recording of a launch keeps.
pub(crate) struct KeptWarps<'p> {
    /// What the launch records.
    pub request: &'p RecordingRequest,
    /// Whether the launch records a window.
    window: bool,
}

impl<'p> KeptWarps<'p> {
    /// Those of a launch of this plan.
    pub fn new(plan: &'p Plan, launch: &Launch) -> KeptWarps<'p> {
        KeptWarps { request: &plan.request, window: launch.window.is_some() }
    }
    /// Whether the recording keeps a warp.
    pub fn takes(&self, warp: WarpId) -> bool {
        self.window || self.request.filter.takes_warp(warp.0)
    }
    /// What [`decode_launches`] returns for a launch, of streams that need no decoding.
    pub fn streams(&self, warps: Vec<WarpStream>) -> DecodedStreams {
        let kept: Vec<_> = warps.into_iter().filter(|w| self.takes(w.warp)).collect();
        let recorded = kept.iter().map(|w| w.lanes.elements()).sum();
        let dropped = kept.iter().map(|w| w.dropped).fold(0, u64::saturating_add);
        DecodedStreams { streams: Streams::new(kept), recorded, dropped, ..DecodedStreams::default() }
    }
}

/// Decodes the streams of launches that share a pool, and compresses them: of each launch the warps that its
/// [`KeptWarps`] keep.
pub(crate) fn decode_launches(
    pool: &mut Pool<'_>,
    launches: &[(LaunchBuffers<'_>, &KeptWarps<'_>)],
) -> Vec<DecodedStreams> {
    // Which chain gets a contested chunk depends on the order of the warps. The content does not, so it is
    // decoded in parallel.
    let found: Vec<FoundLaunch<'_>> =
        launches.iter().map(|(memory, kept)| pool.find_launch(*memory, kept)).collect();
    let work = found.iter().map(|launch| launch.work).sum();
    let (mut frames, mut decoders, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (i, launch) in found.into_iter().enumerate() {
        frames.extend(launch.frames.into_iter().map(|(first, frame)| (i, first, frame)));
        decoders.push(launch.decoder);
        let decoded = DecodedStreams { bytes: launch.bytes, ..DecodedStreams::default() };
        all.push((decoded, Complaints::default()));
    }
    let decode = |(i, first, frame): (usize, usize, FrameWarps)| {
        decoders.get(i).map(|decoder| (i, decoder.frame(first, frame)))
    };
    for (i, frame) in WORKERS.map(frames, work, decode).into_iter().flatten() {
        let Some((decoded, complaints)) = all.get_mut(i) else { continue };
        decoded.recorded += frame.recorded;
        decoded.dropped = decoded.dropped.saturating_add(frame.dropped);
        complaints.add(frame.complaints);
        decoded.streams.push(frame.streams);
    }
    let finish = |(mut decoded, complaints): (DecodedStreams, Complaints)| {
        let more = complaints.count - complaints.damage.len();
        decoded.damage = complaints.damage;
        if more > 0 {
            decoded.damage.push(format!("and {more} more"));
        }
        decoded
    };
    all.into_iter().map(finish).collect()
}

/// The chunks of a launch's warps.
struct FoundLaunch<'p> {
    decoder: WarpDecoder<'p>,
    /// The warps of each frame, with the number of warps before them.
    frames: Vec<(usize, FrameWarps)>,
    /// Bytes of the pool that the launch used.
    bytes: u64,
    /// Bytes to decode.
    work: usize,
}

/// Complaints about the bytes: the first few as text, all as a number.
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

/// The chains of a launch. Two lists for all of them take less time than a list for each warp.
#[derive(Default)]
struct Chains<'a> {
    /// Chunks of all chains, one chain after the other.
    chunks: Vec<&'a [u8]>,
    /// Where each chain ends in `chunks`, by head.
    ends: Vec<usize>,
}

impl<'a> Chains<'a> {
    /// The chunks of a chain; none if there is no such chain.
    fn chunks(&self, chain: usize) -> &[&'a [u8]] {
        let end = |chain: usize| self.ends.get(chain).copied();
        let start = chain.checked_sub(1).and_then(end).unwrap_or_default();
        end(chain).and_then(|end| self.chunks.get(start..end)).unwrap_or_default()
    }
}

/// The warps of a frame.
enum FrameWarps {
    /// Warps at these positions, none of which has a chunk or lost anything.
    WithoutChunks(Range<usize>),
    /// Warps of which at least one has chunks or lost something.
    Found(Vec<WarpChunks>),
}

/// Chunks of one warp's streams.
struct WarpChunks {
    warp: WarpId,
    /// Position of the warp among the warps of the launch.
    index: usize,
    /// The warp's chains in the list of the launch, by head.
    chains: Range<usize>,
    dropped: u64,
    /// Whether elements are missing.
    lost: bool,
    complaints: Complaints,
}

impl WarpChunks {
    /// Those of a warp that has none.
    fn none(warp: WarpId, index: usize) -> WarpChunks {
        let complaints = Complaints::default();
        WarpChunks { warp, index, chains: 0..0, dropped: 0, lost: false, complaints }
    }
    /// Number of lost elements.
    fn lost_elements(&self) -> u64 {
        // A kernel that was stopped could not count its losses. The report must still show that something is
        // missing.
        if self.lost { self.dropped.max(1) } else { self.dropped }
    }
}

/// Decodes the streams of one launch, a frame at a time.
struct WarpDecoder<'p> {
    level: Level,
    warp_size: WarpSize,
    chains: Chains<'p>,
    memory: LaunchBuffers<'p>,
}

/// Elements of the lanes of a warp.
#[derive(Default)]
struct LaneElements<T> {
    /// Those of all lanes, lane by lane.
    elements: Vec<T>,
    /// Where those of each lane end.
    ends: Vec<u32>,
}

/// The decoded warps of one frame.
struct DecodedFrame {
    streams: StreamFrame,
    recorded: u64,
    dropped: u64,
    complaints: Complaints,
}

/// Which chain owns a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkState {
    /// No chain owns it.
    Free,
    /// A head names it as the first chunk of a chain.
    First,
    /// A chain owns it.
    Taken,
}

impl<'a> Pool<'a> {
    /// Finds the chunks of the warps of a launch, and divides those that `kept` keeps into frames.
    fn find_launch<'p>(&mut self, memory: LaunchBuffers<'p>, kept: &'p KeptWarps<'p>) -> FoundLaunch<'p>
    where
        'a: 'p,
    {
        let before = self.taken;
        let per_warp = self.shape.heads(self.warp_size) as usize * Head::SIZE;
        let mut chains = Chains::default();
        let most_elements = self.shape.chunk() / self.shape.element;
        let mut frames: Vec<(usize, FrameWarps)> = Vec::new();
        let (mut elements, mut warps, mut position) = (0, 0, 0);
        let warp_at = |position: usize| WarpId(memory.first_warp + position as u64);
        let takes_all = kept.window || kept.request.filter.warps.is_empty();
        let mut all_heads = memory.heads.chunks(per_warp.max(1) * StreamFrame::WARPS);
        let all_warps = usize::try_from(memory.warps).unwrap_or(usize::MAX);
        while position < all_warps {
            let some = position..all_warps.min(position + StreamFrame::WARPS);
            let heads = all_heads.next().unwrap_or_default();
            position = some.end;
            let all = takes_all || some.clone().all(|i| kept.takes(warp_at(i)));
            if all && is_zero(heads) {
                frames.push((warps, FrameWarps::WithoutChunks(some.clone())));
                warps += some.len();
                continue;
            }
            // Whether a warp begins with a chunk depends on launches before, and must not decide how equal
            // streams are divided into frames.
            if all {
                frames.push((warps, FrameWarps::Found(Vec::new())));
                elements = 0;
            }
            let mut heads = heads.chunks_exact(per_warp.max(1));
            for i in some {
                let before = chains.chunks.len();
                let found = self.find(warp_at(i), i, heads.next().unwrap_or_default(), &mut chains);
                if !kept.takes(found.warp) {
                    continue;
                }
                let own = (chains.chunks.len() - before).saturating_sub(1) as u64 * most_elements;
                match frames.last_mut() {
                    Some((_, FrameWarps::Found(frame)))
                        if frame.is_empty() || StreamFrame::has_room(frame.len(), elements + own) =>
                    {
                        frame.push(found);
                        elements += own;
                    }
                    _ => {
                        frames.push((warps, FrameWarps::Found(vec![found])));
                        elements = own;
                    }
                }
                warps += 1;
            }
        }
        let bytes = (self.taken - before) * self.shape.chunk();
        let work = bytes as usize + memory.heads.len() + memory.finals.len();
        let decoder = WarpDecoder { level: self.level, warp_size: self.warp_size, chains, memory };
        FoundLaunch { decoder, frames, bytes, work }
    }

    /// Finds the chunks of a warp's streams, and appends them to `chains`.
    fn find(&mut self, warp: WarpId, index: usize, heads: &[u8], chains: &mut Chains<'a>) -> WarpChunks {
        let first = chains.ends.len();
        let mut found = WarpChunks { chains: first..first, ..WarpChunks::none(warp, index) };
        for head in heads.chunks_exact(Head::SIZE).filter_map(Head::read) {
            found.dropped = found.dropped.saturating_add(head.dropped);
            self.chain(head.first, &mut found, &mut chains.chunks);
            chains.ends.push(chains.chunks.len());
        }
        found.chains.end = chains.ends.len();
        if self.level == Level::Operands {
            found.dropped = found.dropped.div_ceil(OPERAND_ELEMENTS);
        }
        found
    }

    /// Follows the links from the chunk at `first`, and appends the chunks to `chain`.
    fn chain(&mut self, first: u64, found: &mut WarpChunks, chain: &mut Vec<&'a [u8]>) {
        let warp = found.warp;
        let size = self.shape.chunk() as usize;
        let mut at = first;
        let mut allowed = ChunkState::First;
        while at != 0 && at != self.bucket {
            let Some(index) = self.chunk(at) else {
                found
                    .complaints
                    .complain(|| format!("{warp}: a link leads to {at:#x}, which is no chunk of the pool"));
                found.lost = true;
                break;
            };
            if self.chunks[index] != allowed {
                found.complaints.complain(|| {
                    format!("{warp}: a link leads to the chunk at {at:#x}, which is already part of a stream")
                });
                found.lost = true;
                break;
            }
            self.chunks[index] = ChunkState::Taken;
            allowed = ChunkState::Free;
            self.taken += 1;
            let chunk = &self.bytes[index * size..][..size];
            chain.push(chunk);
            at = word(chunk, 0);
        }
        found.lost |= at != 0 && at == self.bucket;
    }
}

impl WarpDecoder<'_> {
    /// Decodes and compresses warps. `first` is the number of kept warps before them.
    fn frame(&self, first: usize, warps: FrameWarps) -> DecodedFrame {
        match warps {
            FrameWarps::WithoutChunks(positions) => {
                if let Some(frame) = self.frame_of_finals(first, &positions) {
                    return frame;
                }
                self.frame_of(first, positions.map(|i| self.without_chunks(i)))
            }
            FrameWarps::Found(warps) => self.frame_of(first, warps.into_iter()),
        }
    }

    fn without_chunks(&self, index: usize) -> WarpChunks {
        WarpChunks::none(WarpId(self.memory.first_warp + index as u64), index)
    }

    fn frame_of(&self, first: usize, warps: impl Iterator<Item = WarpChunks>) -> DecodedFrame {
        if self.level.in_words() {
            return self.frame_of_paths(first, warps);
        }
        let (mut recorded, mut dropped, mut complaints) = (0, 0u64, Complaints::default());
        let decode = |found| {
            let (stream, more) = self.warp(found);
            recorded += stream.lanes.elements();
            dropped = dropped.saturating_add(stream.dropped);
            complaints.add(more);
            stream
        };
        let warps: Vec<WarpStream> = warps.map(decode).collect();
        let frame = StreamFrame::new(first, warps);
        DecodedFrame { streams: frame, recorded, dropped, complaints }
    }

    /// A frame of warps without chunks, if what they wrote at their end can be packed as it is: last words at
    /// level `path`, hashes at level `print`.
    fn frame_of_finals(&self, first: usize, positions: &Range<usize>) -> Option<DecodedFrame> {
        let layout = self.memory.layout;
        let each = final_bytes(self.level, layout) as usize;
        let finals = self.memory.finals.get(positions.start * each..positions.end * each)?;
        let warps = (WarpId(self.memory.first_warp + positions.start as u64), positions.len());
        let (frame, recorded) = match self.level {
            Level::Fingerprint => (StreamFrame::of_prints(first, warps, layout, finals), 0),
            Level::Path | Level::Values => {
                let lanes = self.warp_size.lanes() as usize;
                StreamFrame::of_last_words(first, warps, lanes, (layout.last_word, finals))
            }
            _ => return None,
        };
        Some(DecodedFrame { streams: frame, recorded, dropped: 0, complaints: Complaints::default() })
    }

    /// A frame of warps at level `path`. They share lists: worker threads that allocate for each warp wait
    /// for each other.
    fn frame_of_paths(&self, first: usize, warps: impl Iterator<Item = WarpChunks>) -> DecodedFrame {
        let lanes = self.warp_size.lanes() as usize;
        let each = final_bytes(self.level, self.memory.layout) as usize;
        let (mut infos, mut words, mut ends) = (Vec::new(), Vec::<u32>::new(), Vec::<u32>::new());
        let (mut all_dropped, mut all_complaints) = (0u64, Complaints::default());
        let mut full = LaneElements::default();
        for mut found in warps {
            let of_words = words.len();
            let last =
                self.memory.finals.get(found.index * each..(found.index + 1) * each).unwrap_or_default();
            let chunks = self.shared_chunks(&found);
            let make = |e: [&[u8; 4]; 3]| u32::from_le_bytes(*e[0]);
            self.lanes(&mut found, chunks, 1, make, &mut full);
            let mut from = 0;
            let last = self.memory.layout.last_word.read(last).into_iter().chain(std::iter::repeat(0));
            for (end, last) in full.ends.iter().zip(last) {
                words.extend_from_slice(full.elements.get(from..*end as usize).unwrap_or_default());
                words.extend(Some(last).filter(|word| *word != 0));
                ends.push(u32::try_from(words.len() - of_words).unwrap_or(u32::MAX));
                from = *end as usize;
            }
            let dropped = found.lost_elements();
            infos.push(WarpInfo { warp: found.warp, dropped });
            all_dropped = all_dropped.saturating_add(dropped);
            all_complaints.add(found.complaints);
        }
        let frame = StreamFrame::of_paths(first, infos, lanes, &ends, &words);
        DecodedFrame {
            streams: frame,
            recorded: words.len() as u64,
            dropped: all_dropped,
            complaints: all_complaints,
        }
    }

    /// The chunks of the chain that all lanes share. Most warps have none.
    fn shared_chunks(&self, found: &WarpChunks) -> &[&[u8]] {
        if found.chains.is_empty() { &[] } else { self.chains.chunks(found.chains.start) }
    }

    /// Decodes one warp. Also returns complaints about its bytes.
    fn warp(&self, mut found: WarpChunks) -> (WarpStream, Complaints) {
        let chunks = self.shared_chunks(&found);
        let streams = match self.level {
            Level::Fingerprint => {
                let make = |e: [&[u8; 8]; 3]| u64::from_le_bytes(*e[0]);
                let mut of_lanes = LaneElements::default();
                self.lanes(&mut found, chunks, 1, make, &mut of_lanes);
                let LaneElements { elements: checkpoints, ends } = of_lanes;
                let LaunchBuffers { finals, layout, .. } = self.memory;
                let hashes =
                    layout.read(finals.get(found.index * layout.bytes() as usize..).unwrap_or_default());
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
                let mut of_lanes = LaneElements::default();
                self.lanes(&mut found, chunks, OPERAND_ELEMENTS, make, &mut of_lanes);
                self.drop_unknown_sites(&mut found, of_lanes)
            }
            Level::Events => Lanes::Events(self.events(&mut found)),
            // `frame_of_paths` decodes paths, and a probe program has no streams.
            Level::Path | Level::Values | Level::Probe => Lanes::default(),
        };
        let stream = WarpStream { warp: found.warp, dropped: found.lost_elements(), lanes: streams };
        (stream, found.complaints)
    }

    /// Splits a chain that all lanes share by lane, and puts what it finds in place of what is in `to`.
    /// Elements have `N` bytes; `group` of them make one item. A first element of zeros ends a lane.
    fn lanes<'c, const N: usize, T>(
        &self,
        found: &mut WarpChunks,
        chunks: &[&'c [u8]],
        group: u64,
        make: impl Fn([&[u8; N]; OPERAND_ELEMENTS as usize]) -> T,
        to: &mut LaneElements<T>,
    ) {
        let (lanes, group) = (self.warp_size.lanes() as usize, group as usize);
        to.elements.clear();
        to.ends.clear();
        // Most warps have no chunk.
        if chunks.is_empty() {
            to.ends.resize(lanes, 0);
            return;
        }
        let last = group - 1;
        // An operand record has three elements. A chunk's fifteen rows hold five records, so no record spans
        // two chunks.
        let rows = |chunk: &'c [u8]| chunk.as_chunks::<N>().0[lanes..].chunks_exact(lanes * group);
        let every = u64::MAX >> (64 - lanes);
        let (mut ended, mut late) = (0, 0);
        let mut counts = [0; 64];
        for chunk in chunks {
            let mut from = lanes;
            for row in rows(chunk) {
                from += row.len();
                let mut elements = 0u64;
                for (lane, element) in row[..lanes].iter().enumerate() {
                    elements |= u64::from(*element != [0; N]) << lane;
                }
                late |= elements & ended;
                ended |= !elements & every;
                for (lane, count) in counts[..lanes].iter_mut().enumerate() {
                    *count += usize::from(!ended >> lane & 1 == 1);
                }
                // Most chunks are empty but for a few rows.
                if elements == 0 && is_zero(&chunk[from * N..]) {
                    break;
                }
            }
        }
        to.elements.reserve(counts[..lanes].iter().sum());
        for (lane, count) in counts[..lanes].iter().enumerate() {
            to.elements.extend(chunks.iter().flat_map(|chunk| rows(chunk)).take(*count).map(|row| {
                let element = |i: usize| &row[i * lanes + lane];
                make([element(0), element(last.min(1)), element(last)])
            }));
            to.ends.push(u32::try_from(to.elements.len()).unwrap_or(u32::MAX));
            if late >> lane & 1 == 1 {
                let warp = found.warp;
                found
                    .complaints
                    .complain(|| format!("{warp}: lane {lane} has elements after its stream's end"));
                found.lost = true;
            }
        }
    }

    /// Drops operand records whose site does not exist.
    fn drop_unknown_sites(&self, found: &mut WarpChunks, of_lanes: LaneElements<OperandRecord>) -> Lanes {
        let LaneElements { elements: records, ends } = of_lanes;
        if records.iter().all(|r| r.site.index() < self.memory.sites) {
            return Lanes::Operands { records, ends };
        }
        let warp = found.warp;
        found.complaints.complain(|| format!("{warp}: records of sites that there are not"));
        found.lost = true;
        let (mut own, mut own_ends, mut from) = (Vec::new(), Vec::new(), 0);
        for end in ends {
            let lane = &records[from..end as usize];
            own.extend(lane.iter().filter(|r| r.site.index() < self.memory.sites));
            own_ends.push(own.len() as u32);
            from = end as usize;
        }
        Lanes::Operands { records: own, ends: own_ends }
    }

    /// Merges the lanes' chains into one stream by clock. Each chain is in the order of its lane.
    fn events(&self, found: &mut WarpChunks) -> Vec<Event> {
        let mut all: Vec<(i64, usize, Event)> = Vec::new();
        // Clocks have 32 bits and wrap. The first clock of every lane is near the first of the warp, and each
        // next one is near the one before.
        let mut base: Option<u32> = None;
        let size = Shape::of(Level::Events, self.warp_size).element as usize;
        // A row behind an event has the values of its followers.
        let each = size / Followers::MOST;
        for (lane, chunks) in found.chains.clone().map(|chain| self.chains.chunks(chain)).enumerate() {
            let mut time: Option<(u32, i64)> = None;
            // An event and the values of its followers lie in one chunk, so the last row of a chunk can be
            // empty.
            let rows = chunks.iter().flat_map(|c| {
                let mut rows = c[size..].chunks_exact(size);
                std::iter::from_fn(move || {
                    let event = WideEventRecord::of(self.warp_size, rows.next()?).filter(|r| r.site != 0)?;
                    let more = Followers::of(event.site);
                    Some((event, more, more.and_then(|_| rows.next()).unwrap_or_default()))
                })
            });
            for (event, more, values) in rows {
                let site = SiteId((event.site & Followers::SITE).wrapping_sub(1));
                let count = more.map_or(0, |m| m.count);
                if site.index() + count as usize >= self.memory.sites {
                    let warp = found.warp;
                    found.complaints.complain(|| {
                        format!("{warp}: lane {lane} has an event of {site}, which there is not")
                    });
                    found.lost = true;
                    break;
                }
                let now = match time {
                    Some((clock, now)) => now + i64::from(event.clock.wrapping_sub(clock)),
                    None => i64::from(event.clock.wrapping_sub(*base.get_or_insert(event.clock)) as i32),
                };
                time = Some((event.clock, now));
                let mut add = |site, mask: u64, value: u64| {
                    let event = Event { site, mask: LaneMask(mask), value, clock: event.clock };
                    all.extend((mask != 0).then_some((now, lane, event)));
                };
                add(site, event.mask, event.value);
                for i in 0..count {
                    let value = values.chunks_exact(each).nth(i as usize).unwrap_or_default();
                    let value = value.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
                    let mask = more.map_or(0, |m| m.mask(event.mask, event.value));
                    add(SiteId(site.0 + 1 + i), mask, value);
                }
            }
        }
        all.sort_by_key(|&(now, lane, _)| (now, lane));
        all.into_iter().map(|(_, _, e)| e).collect()
    }
}

/// Whether all bytes are 0.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let rest = rest.iter().fold(0, |all, byte| all | *byte);
    words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word)) == 0 && rest == 0
}

/// Reads eight bytes at `at`; 0 past the end.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use prlx_trace::Streams;
    use prlx_trace::device::LastWord;

    use super::*;

    #[test]
    fn paths_make_the_frame_that_their_streams_make() {
        let sizes = [(LastWord::Byte, 1usize), (LastWord::Half, 2), (LastWord::Whole, 4)];
        for (warp_size, (last_word, size)) in
            [WarpSize::W32, WarpSize::W64].into_iter().flat_map(|w| sizes.map(|size| (w, size)))
        {
            let lanes = warp_size.lanes() as usize;
            // The words of five warps: one in each lane, as many decisions or not; in some lanes; none.
            let words = |warp: usize| -> Vec<u32> {
                let word = |lane: usize| match (warp, lane % 3) {
                    (0 | 1, _) => 16 + (lane + warp) as u32 % 16,
                    (2, _) => 2 << (lane % 5),
                    (3, 1) => 5,
                    _ => 0,
                };
                (0..lanes).map(word).collect()
            };
            let all: Vec<Vec<u32>> = (0..5).map(words).collect();
            let finals: Vec<u8> =
                all.iter().flatten().flat_map(|w| w.to_le_bytes()[..size].to_vec()).collect();
            let layout = Finals { last_word, warp_size, ..Finals::default() };
            let memory =
                LaunchBuffers { first_warp: 5, warps: 5, heads: &[], finals: &finals, layout, sites: 1 };
            let chains = Chains::default();
            let decoder = WarpDecoder { level: Level::Path, warp_size, chains, memory };
            for some in [0..2, 0..3, 3..5, 4..5, 0..5] {
                let stream = |warp: usize| {
                    let mut words = Vec::new();
                    let mut lane = |word: &u32| {
                        words.extend(Some(*word).filter(|word| *word != 0));
                        words.len() as u32
                    };
                    let ends = all[warp].iter().map(&mut lane).collect();
                    let lanes = Lanes::Path { words, ends };
                    WarpStream { warp: WarpId(5 + warp as u64), lanes, ..WarpStream::default() }
                };
                let expected: Vec<WarpStream> = some.clone().map(stream).collect();
                let frame = decoder.frame(0, FrameWarps::WithoutChunks(some));
                assert_eq!(frame.recorded, expected.iter().map(|w| w.lanes.elements()).sum::<u64>());
                let mut streams = Streams::default();
                streams.push(frame.streams);
                assert_eq!(streams.frame(0).unwrap(), expected);
                let mut one_by_one = Streams::default();
                one_by_one.push(StreamFrame::new(0, expected));
                assert_eq!(format!("{streams:?}"), format!("{one_by_one:?}"));
            }
        }
    }

    #[test]
    fn prints_make_the_frame_that_their_streams_make() {
        let used = [[true, false, true, false], [true; 4], [false; 4]];
        for (warp_size, used) in [WarpSize::W32, WarpSize::W64].into_iter().flat_map(|w| used.map(|u| (w, u)))
        {
            let layout = Finals { used, warp_size, ..Finals::default() };
            let finals: Vec<u8> = (0..5 * layout.bytes()).map(|i| (i * i / 8) as u8).collect();
            let memory =
                LaunchBuffers { first_warp: 5, warps: 5, heads: &[], finals: &finals, layout, sites: 1 };
            let chains = Chains::default();
            let decoder = WarpDecoder { level: Level::Fingerprint, warp_size, chains, memory };
            for some in [0..1, 1..5, 0..5] {
                let stream = |warp: usize| {
                    let hashes = layout.read(&finals[warp * layout.bytes() as usize..]);
                    let ends = vec![0; warp_size.lanes() as usize];
                    let lanes = Lanes::Fingerprint { checkpoints: Vec::new(), ends, hashes };
                    WarpStream { warp: WarpId(5 + warp as u64), dropped: 0, lanes }
                };
                let expected: Vec<WarpStream> = some.clone().map(stream).collect();
                let mut streams = Streams::default();
                streams.push(decoder.frame(0, FrameWarps::WithoutChunks(some)).streams);
                assert_eq!(streams.frame(0).unwrap(), expected);
                let mut one_by_one = Streams::default();
                one_by_one.push(StreamFrame::new(0, expected));
                assert_eq!(format!("{streams:?}"), format!("{one_by_one:?}"));
            }
        }
    }
}
