//! A whole recording in memory.
//!
//! Streams stay in frames of a few hundred warps, compressed as in the file, or left in the file ([`Bytes`]).
//! They are decompressed one frame at a time. Frames that are equal on both sides are known without that
//! ([`Streams::same_frame`]). Frames are independent: any number of threads may decompress at a time.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::device::{Finals, LastWord};
use crate::frame::packing::{self, PackedFrame};
use crate::ids::{ModuleId, RangeId, WarpId};
use crate::kernel::Module;
use crate::launch::{Lanes, Launch, RangeName, WarpInfo, WarpStream};
use crate::mark::Marks;
use crate::narrow::{self, saturated32};
use crate::outputs::OutputContents;
use crate::parallel::Workers;
use crate::process::{Process, Skipped};
use crate::read_params::ReadParams;
use crate::table::TableContents;
use crate::warp_list::WarpList;
use crate::{Error, frame};

/// A recording: modules, and launches with their streams.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// The program that wrote it, for example `prlx 0.1.0`.
    pub producer: String,
    /// The process that launched the kernels. `None` for a launch file.
    pub process: Option<Process>,
    /// The static half: the modules and their code.
    pub modules: Vec<Module>,
    /// The dynamic half: the launches in the order in which they ended. [`Launch::number`] has the order in
    /// which they began.
    pub launches: Vec<Recording>,
    /// Code that was not instrumented.
    pub skipped: Vec<Skipped>,
    /// Names of the NVTX ranges that launches lie in, each once.
    pub ranges: Vec<RangeName>,
    /// Contents of the tables of probe programs.
    pub tallies: Vec<TableContents>,
    /// Records of markers, launch by launch.
    pub marks: Vec<Marks>,
    /// Contents of the outputs, launch by launch.
    pub outputs: Vec<OutputContents>,
    /// Where the file was cut off. Later launches may be missing. `None` if the file is complete.
    pub cut: Option<Error>,
}

/// One launch and its streams.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recording {
    /// Description of the launch.
    pub launch: Launch,
    /// Streams of its warps.
    pub streams: Streams,
}

/// The streams of one launch, in ascending order of the warps. Warps that were not recorded are absent.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    warps: WarpList,
    frames: Vec<Frame>,
}

/// The streams of some warps.
#[derive(Clone, Debug)]
struct Frame {
    /// The warps, as a range of indices in the list of all.
    warps: Range<usize>,
    /// XXH3-64 of the unpacked frame without clocks. 0: not known.
    digest: u64,
    body: Body,
}

/// What the index of a launch says of a frame: its number of warps, the digest of its content or 0, and its
/// bytes, if they are to be read.
pub(crate) type IndexedFrame = (usize, u64, Option<Packed>);

#[derive(Clone, Debug)]
enum Body {
    /// Decoded streams, not yet compressed.
    Plain(Vec<WarpStream>),
    /// A compressed frame, as in a file.
    Packed(Packed),
    /// Not loaded, by [`Trace::read_index`].
    Absent,
}

/// The bytes of a file, in memory or mapped. Frames are decompressed from them on demand.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A range of a file's bytes.
#[derive(Clone)]
pub(crate) struct Part {
    file: Bytes,
    at: Range<usize>,
}

impl Part {
    pub fn new(file: Bytes, at: Range<usize>) -> Part {
        Part { file, at }
    }
    pub fn own(bytes: Vec<u8>) -> Part {
        Part { at: 0..bytes.len(), file: Arc::new(bytes) }
    }
    pub fn len(&self) -> usize {
        self.at.len()
    }
    /// The bytes of the range; empty if the file has become shorter.
    pub fn bytes(&self) -> &[u8] {
        (*self.file).as_ref().get(self.at.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.at)
    }
}

/// A frame in the form that files have.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// The compressed bytes, a zstd frame.
    pub bytes: Part,
    /// Size of the decompressed frame in bytes.
    pub size: u64,
    /// XXH3-64 of `bytes`.
    pub checksum: u64,
    /// Format version of the file.
    pub version: u32,
    /// Number of sites of the module.
    pub sites: u32,
    /// Offset of `bytes` in the file.
    pub offset: u64,
}

/// Estimated size of a frame in bytes, for dividing work among threads.
const MUCH: usize = 1 << 20;

const ABSENT: &str = "only the index of this recording was read";

impl Packed {
    /// Packs the streams of warps, the first of which has index `first`. Also returns the digest of their
    /// content.
    fn new(first: usize, warps: &[WarpStream]) -> std::io::Result<(Packed, u64)> {
        let packed = Packed::of(|out| frame::put(out, first, warps));
        packed.map_err(|e| {
            let warp = warps.first().map(|w| w.warp).unwrap_or_default();
            std::io::Error::new(e.kind(), format!("the stream of {warp} is not written: {e}"))
        })
    }
    /// Packs a frame that `put` appends to memory, which returns how many of its bytes do not depend on
    /// clocks. Also returns the digest of these.
    fn of(put: impl Fn(&mut Vec<u8>) -> usize) -> std::io::Result<(Packed, u64)> {
        let PackedFrame { bytes, size, digest } = packing::pack_frame(put)?;
        let checksum = xxh3_64(&bytes);
        let version = crate::codec::VERSION;
        Ok((Packed { bytes: Part::own(bytes), size, checksum, version, sites: u32::MAX, offset: 0 }, digest))
    }
    fn open(&self, first: usize, infos: &[WarpInfo]) -> Result<Vec<WarpStream>, Error> {
        let name = name_of(infos.first().copied());
        let damaged = |what: String| Error { offset: self.offset, field: name.clone(), what };
        let packed = self.bytes.bytes();
        if xxh3_64(packed) != self.checksum {
            return Err(damaged("the checksum does not fit the bytes".into()));
        }
        let bytes = packing::unpack(packed, self.size).map_err(damaged)?;
        frame::parse(&bytes, self.version, first, infos, self.sites).map_err(|e| e.within(&name))
    }
}

/// How errors name the frame that begins with this warp.
fn name_of(first: Option<WarpInfo>) -> String {
    format!("frame of {}", first.map(|i| i.warp).unwrap_or_default())
}

/// The compressed streams of a few hundred warps. A caller that decodes many warps on several threads makes
/// frames there, so that no thread holds the streams of all warps.
#[derive(Debug)]
pub struct StreamFrame {
    warps: WarpList,
    digest: u64,
    body: Body,
}

impl StreamFrame {
    /// Maximum number of warps in a frame.
    pub const WARPS: usize = frame::WARPS;

    /// Whether a frame with `warps` warps takes one more, with which it has `elements` elements.
    pub fn has_room(warps: usize, elements: u64) -> bool {
        warps < frame::WARPS && elements <= frame::ELEMENTS
    }

    /// Compresses the streams of `warps`, which ascend. `first` is the number of warps in the frames before.
    /// Without memory to compress them, the frame holds them as they are.
    pub fn new(first: usize, warps: Vec<WarpStream>) -> StreamFrame {
        let list = warps.iter().map(info).collect();
        match Packed::new(first, &warps) {
            Ok((packed, digest)) => StreamFrame { warps: list, digest, body: Body::Packed(packed) },
            Err(_) => StreamFrame { warps: list, digest: 0, body: Body::Plain(warps) },
        }
    }

    /// [`StreamFrame::new`] for `n` warps from `warp` on at level `path` that lost nothing and wrote nothing
    /// but the last words of their `lanes` lanes, which are `finals`. Also returns the number of words. This
    /// takes a tenth of the time.
    pub fn of_last_words(
        first: usize,
        (warp, n): (WarpId, usize),
        lanes: usize,
        (last_word, finals): (LastWord, &[u8]),
    ) -> (StreamFrame, u64) {
        let words = Cell::new(0);
        let put = |out: &mut Vec<u8>| {
            words.set(frame::put_last_words(out, first, (n, lanes), last_word, finals) as u64);
        };
        let plain = || {
            let mut by_lane = last_word.read(finals).into_iter().chain(std::iter::repeat(0));
            let stream = |warp: u64| {
                let (mut words, mut ends) = (Vec::new(), Vec::new());
                for word in by_lane.by_ref().take(lanes) {
                    words.extend(Some(word).filter(|word| *word != 0));
                    ends.push(saturated32(words.len()));
                }
                WarpStream { warp: WarpId(warp), dropped: 0, lanes: Lanes::Path { words, ends } }
            };
            (warp.0..).take(n).map(stream).collect()
        };
        let frame = StreamFrame::packed_or(WarpList::run(warp, n), put, plain);
        (frame, words.get())
    }

    /// [`StreamFrame::new`] for `n` warps from `warp` on at level `print` that lost nothing and have no
    /// checkpoints. `finals` holds what each of them wrote at its end. This takes a tenth of the time.
    pub fn of_prints(first: usize, (warp, n): (WarpId, usize), layout: Finals, finals: &[u8]) -> StreamFrame {
        let put = |out: &mut Vec<u8>| frame::put_prints(out, first, n, layout, finals);
        let plain = || {
            let lanes = narrow::index(layout.warp_size.lanes());
            let mut finals = finals.chunks(narrow::index(layout.bytes()));
            let stream = |warp: u64| {
                let hashes = layout.read(finals.next().unwrap_or_default());
                let lanes = Lanes::Fingerprint { checkpoints: Vec::new(), ends: vec![0; lanes], hashes };
                WarpStream { warp: WarpId(warp), dropped: 0, lanes }
            };
            (warp.0..).take(n).map(stream).collect()
        };
        StreamFrame::packed_or(WarpList::run(warp, n), put, plain)
    }

    /// [`StreamFrame::new`] for warps at level `path` with `lanes` lanes each. `ends` has where the words of
    /// each lane end among those of its warp, warp by warp, and `words` all words. Without lists for each
    /// warp, it takes a third of the time.
    pub fn of_paths(
        first: usize,
        infos: Vec<WarpInfo>,
        lanes: usize,
        ends: &[u32],
        words: &[u32],
    ) -> StreamFrame {
        let put = |out: &mut Vec<u8>| frame::put_paths(out, first, lanes, ends, words);
        let plain = || {
            let mut words = words.iter().copied();
            let warps = infos.iter().zip(ends.chunks(lanes.max(1))).map(|(info, ends)| {
                let own = words.by_ref().take(ends.last().map_or(0, |end| *end as usize)).collect();
                let lanes = Lanes::Path { words: own, ends: ends.to_vec() };
                WarpStream { warp: info.warp, dropped: info.dropped, lanes }
            });
            warps.collect()
        };
        StreamFrame::packed_or(infos.iter().copied().collect(), put, plain)
    }

    /// Packs what `put` appends, which does not depend on clocks. Without memory for that, the frame holds
    /// the streams that `plain` returns.
    fn packed_or(
        warps: WarpList,
        put: impl Fn(&mut Vec<u8>),
        plain: impl FnOnce() -> Vec<WarpStream>,
    ) -> StreamFrame {
        let packed = Packed::of(|out| {
            put(out);
            out.len()
        });
        match packed {
            Ok((packed, digest)) => StreamFrame { warps, digest, body: Body::Packed(packed) },
            Err(_) => StreamFrame { warps, digest: 0, body: Body::Plain(plain()) },
        }
    }
}

/// The index entry of a warp.
fn info(stream: &WarpStream) -> WarpInfo {
    WarpInfo { warp: stream.warp, dropped: stream.dropped }
}

impl Streams {
    /// Streams of the given warps, which may be in any order.
    pub fn new(mut warps: Vec<WarpStream>) -> Streams {
        warps.sort_by_key(|w| w.warp);
        let list = warps.iter().map(info).collect();
        let mut frames: Vec<Frame> = Vec::new();
        let mut elements = 0;
        for (i, warp) in warps.into_iter().enumerate() {
            elements += warp.lanes.elements();
            match frames.last_mut() {
                Some(Frame { warps, body: Body::Plain(streams), .. })
                    if StreamFrame::has_room(streams.len(), elements) =>
                {
                    warps.end += 1;
                    streams.push(warp);
                }
                _ => {
                    elements = warp.lanes.elements();
                    frames.push(Frame { warps: i..i + 1, digest: 0, body: Body::Plain(vec![warp]) });
                }
            }
        }
        Streams { warps: list, frames }
    }
    /// Appends warps as one more frame, which is compressed at once. With this, a launch may have more
    /// streams than fit into memory.
    ///
    /// # Errors
    /// If the warps do not ascend or are more than [`StreamFrame::WARPS`], or the frame cannot be compressed.
    pub fn append(&mut self, warps: &[WarpStream]) -> std::io::Result<()> {
        if warps.len() > StreamFrame::WARPS {
            return Err(std::io::Error::other(format!("a frame cannot have {} warps", warps.len())));
        }
        let mut before = self.warps.len().checked_sub(1).and_then(|i| self.warps.get(i)).map(|i| i.warp);
        for w in warps {
            if before.is_some_and(|b| b >= w.warp) {
                return Err(std::io::Error::other(format!("{} comes too late", w.warp)));
            }
            before = Some(w.warp);
        }
        if warps.is_empty() {
            return Ok(());
        }
        let (packed, digest) = Packed::new(self.warps.len(), warps)?;
        let list = warps.iter().map(info).collect();
        self.push(StreamFrame { warps: list, digest, body: Body::Packed(packed) });
        Ok(())
    }
    /// Appends a frame. Its warps come after all others, and its `first` is their number.
    pub fn push(&mut self, frame: StreamFrame) {
        let at = self.warps.len();
        let warps = at..at + frame.warps.len();
        self.frames.push(Frame { warps, digest: frame.digest, body: frame.body });
        self.warps.extend(&frame.warps);
    }
    /// Streams in the form that files have. The warps of all frames are `warps`.
    pub(crate) fn packed(warps: WarpList, frames: Vec<IndexedFrame>) -> Streams {
        let mut at = 0;
        let frames = frames.into_iter().map(|(n, digest, packed)| {
            at += n;
            Frame { warps: at - n..at, digest, body: packed.map_or(Body::Absent, Body::Packed) }
        });
        Streams { frames: frames.collect(), warps }
    }
    /// All frames, each with its number of warps, the digest of its content or 0, and its compressed form.
    ///
    /// # Errors
    /// If a frame cannot be compressed.
    pub(crate) fn pack(&self, workers: &Workers) -> std::io::Result<Vec<(usize, u64, Packed)>> {
        let pack = |frame: &Frame| {
            let (packed, digest) = match &frame.body {
                Body::Packed(packed) => (packed.clone(), frame.digest),
                Body::Absent => return Err(std::io::Error::other(ABSENT)),
                Body::Plain(warps) => Packed::new(frame.warps.start, warps)?,
            };
            Ok((frame.warps.len(), digest, packed))
        };
        // A frame is much, but for the last.
        let much = self.frames.len().saturating_sub(1).saturating_mul(MUCH);
        workers.map(self.frames.iter().collect(), much, pack).into_iter().collect()
    }
    /// All recorded warps, ascending.
    pub fn infos(&self) -> impl ExactSizeIterator<Item = WarpInfo> + '_ {
        self.warps.iter()
    }
    /// The list of all recorded warps.
    pub(crate) fn warps(&self) -> &WarpList {
        &self.warps
    }
    /// The index entry of a warp. `None` if the warp was not recorded.
    pub fn info(&self, warp: WarpId) -> Option<WarpInfo> {
        self.warps.get(self.warps.index_of(warp)?)
    }
    /// A digest of the warps and of what they recorded, without clocks. 0 if that of a frame is not known, as
    /// in files before version 18.
    ///
    /// Equal digests, equal content. Equal content has equal digests if one recorder of one version wrote
    /// both.
    pub fn root(&self) -> u64 {
        let mut hash = Xxh3::new();
        let mut put = |number: u64| hash.update(&number.to_le_bytes());
        for (first, n) in self.warps.runs() {
            put(first);
            put(n as u64);
        }
        for (at, dropped) in self.warps.dropped() {
            put(*at as u64);
            put(*dropped);
        }
        for i in 0..self.frames() {
            match self.frame_digest(i) {
                0 => return 0,
                digest => put(digest),
            }
        }
        hash.digest().max(1)
    }
    /// XXH3-64 of what the warps of frame `i` recorded, without clocks. 0 if it is not known.
    fn frame_digest(&self, i: usize) -> u64 {
        match self.frames.get(i) {
            Some(Frame { digest: 0, body: Body::Plain(streams), warps }) => {
                Packed::new(warps.start, streams).map_or(0, |(_, digest)| digest)
            }
            frame => frame.map_or(0, |frame| frame.digest),
        }
    }
    /// Whether frame `i` is known, without decompression, to be equal to a frame of other streams: the same
    /// warps, which recorded the same apart from clocks.
    pub fn same_frame(&self, i: usize, other: (&Streams, usize)) -> bool {
        let digest = |streams: &Streams, i| streams.frames.get(i).map_or(0, |f: &Frame| f.digest);
        let known = digest(self, i);
        known != 0
            && known == digest(other.0, other.1)
            && self.frame_infos(i).eq(other.0.frame_infos(other.1))
    }
    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }
    /// The warps of frame `i`, without decompressing it. Empty if there is no such frame.
    pub fn frame_infos(&self, i: usize) -> impl ExactSizeIterator<Item = WarpInfo> + '_ {
        self.warps.part(self.frames.get(i).map(|f| f.warps.clone()).unwrap_or_default())
    }
    /// Index of the frame that holds a warp. `None` if the warp was not recorded.
    pub fn frame_of(&self, warp: WarpId) -> Option<usize> {
        let at = self.warps.index_of(warp)?;
        Some(self.frames.partition_point(|f| f.warps.end <= at))
    }
    /// Decompresses frame `i`. Warps ascend, within frames and from frame to frame.
    ///
    /// # Errors
    /// When the frame's bytes are damaged.
    pub fn frame(&self, i: usize) -> Result<Vec<WarpStream>, Error> {
        let Some(frame) = self.frames.get(i) else { return Ok(Vec::new()) };
        match &frame.body {
            Body::Plain(warps) => Ok(warps.clone()),
            Body::Packed(packed) => packed.open(frame.warps.start, &self.frame_infos(i).collect::<Vec<_>>()),
            Body::Absent => {
                let field = name_of(self.frame_infos(i).next());
                Err(Error { offset: 0, field, what: ABSENT.into() })
            }
        }
    }
    /// Decompresses the frame of a warp and returns its stream. `None` if the warp was not recorded. For many
    /// warps, [`Streams::frame`] is faster.
    ///
    /// # Errors
    /// When the frame's bytes are damaged.
    pub fn warp(&self, warp: WarpId) -> Result<Option<WarpStream>, Error> {
        let Some(i) = self.frame_of(warp) else { return Ok(None) };
        if let Some(Frame { body: Body::Plain(warps), .. }) = self.frames.get(i) {
            return Ok(warps.iter().find(|w| w.warp == warp).cloned());
        }
        Ok(self.frame(i)?.into_iter().find(|w| w.warp == warp))
    }
}

impl Trace {
    /// Appends another recording. Its modules get the next numbers; the numbers of its launches grow by
    /// `launches`.
    pub fn append(&mut self, other: Trace, launches: u64) {
        let modules = saturated32(self.modules.len());
        let module = |id: ModuleId| ModuleId(id.0 + modules);
        if self.producer.is_empty() {
            self.producer = other.producer;
        }
        self.modules.extend(other.modules);
        self.skipped.extend(other.skipped);
        let mut known: HashMap<RangeName, RangeId> =
            (0..).map(RangeId).zip(&self.ranges).map(|(id, name)| (name.clone(), id)).collect();
        let mut id = |name: RangeName| {
            *known.entry(name).or_insert_with_key(|name| {
                self.ranges.push(name.clone());
                RangeId(saturated32(self.ranges.len() - 1))
            })
        };
        let ranges: Vec<RangeId> = other.ranges.into_iter().map(&mut id).collect();
        self.launches.extend(other.launches.into_iter().map(|mut recording| {
            recording.launch.module = module(recording.launch.module);
            recording.launch.number += launches;
            for range in &mut recording.launch.ranges {
                range.name = ranges.get(range.name.index()).copied().unwrap_or(range.name);
            }
            recording
        }));
        self.tallies.extend(other.tallies.into_iter().map(|tally| TableContents {
            module: module(tally.module),
            launches: tally.launches.map(|(first, last)| (first + launches, last + launches)),
            ..tally
        }));
        self.marks.extend(other.marks.into_iter().map(|marks| Marks {
            module: module(marks.module),
            launch: marks.launch + launches,
            ..marks
        }));
        self.outputs.extend(
            other
                .outputs
                .into_iter()
                .map(|output| OutputContents { launch: output.launch + launches, ..output }),
        );
    }
    /// The names of the NVTX ranges around a launch of this recording, the innermost last.
    pub fn range_names(&self, launch: &Launch) -> impl Iterator<Item = &RangeName> {
        launch.ranges.iter().filter_map(|range| self.ranges.get(range.name.index()))
    }
    /// A digest of what its launches did and left, in the order of their numbers: kernels, shapes, streams,
    /// what buffers and memory behind pointers hold afterwards, as far as it was digested, what stopped them,
    /// why they were not recorded. Equal digests, equal runs as far as they were recorded. What went in does
    /// not count, nor when and where it ran. `None` if the digest of a stream is not known.
    pub fn root(&self) -> Option<u64> {
        let mut order: Vec<&Recording> = self.launches.iter().collect();
        order.sort_by_key(|r| r.launch.number);
        let mut params = ReadParams::new(&self.modules);
        let mut hash = Xxh3::new();
        let mut put = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for Recording { launch: l, streams } in order {
            let kernel = self.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
            put(kernel.map_or(&[], |f| f.name.as_bytes()));
            for d in [l.grid, l.block, l.cluster.unwrap_or_default()] {
                [d.x, d.y, d.z].iter().for_each(|n| put(&n.to_le_bytes()));
            }
            put(&[l.level.code(), l.fault.as_ref().map_or(u8::MAX, |f| f.kind.code())]);
            put(l.skipped.as_deref().unwrap_or_default().as_bytes());
            put(&params.of(l));
            match (l.hashes, streams.root()) {
                (Some(h), _) => {
                    [h.warps, h.control, h.loaded, h.stored, h.signatures]
                        .iter()
                        .for_each(|n| put(&n.to_le_bytes()));
                }
                (None, 0) => return None,
                (None, root) => put(&root.to_le_bytes()),
            }
            let pointees = l.pointees.iter().map(|p| p.after);
            for after in l.args.iter().map(|a| a.after).chain(pointees) {
                let mut bytes = [0; 9];
                if let Some(n) = after {
                    bytes[0] = 1;
                    bytes[1..].copy_from_slice(&n.to_le_bytes());
                }
                put(&bytes);
            }
        }
        Some(hash.digest())
    }
}

/// Streams are equal if their warps are, whatever their frames. Damaged streams are equal to none.
impl PartialEq for Streams {
    fn eq(&self, other: &Streams) -> bool {
        let all = |s: &Streams| (0..s.frames()).map(|i| s.frame(i)).collect::<Result<Vec<_>, Error>>();
        self.warps == other.warps
            && matches!((all(self), all(other)), (Ok(a), Ok(b)) if a.iter().flatten().eq(b.iter().flatten()))
    }
}
