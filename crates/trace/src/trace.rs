//! A whole recording in memory.
//!
//! Streams stay in frames of a few hundred warps, compressed as in the file, or left in the file ([`Bytes`]).
//! They are decompressed one frame at a time. [`WarpInfo`], which is needed to skip equal warps, is available
//! without decompression. Frames are independent: any number of threads may decompress at a time.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::ids::{ModuleId, RangeId, WarpId};
use crate::kernel::Module;
use crate::launch::{Lanes, Launch, RangeName, WarpInfo, WarpStream};
use crate::mark::Marks;
use crate::narrow::saturated32;
use crate::outputs::OutputContents;
use crate::parallel::Workers;
use crate::process::{Process, Skipped};
use crate::table::TableContents;
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
    infos: Vec<WarpInfo>,
    frames: Vec<Frame>,
}

/// The streams of some warps.
#[derive(Clone, Debug)]
struct Frame {
    /// The warps, as a range of indices in `infos`.
    warps: Range<usize>,
    body: Body,
}

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
    /// Packs the streams of warps, the first of which has index `first`.
    fn new(first: usize, warps: &[WarpStream]) -> std::io::Result<Packed> {
        let packed = Packed::of(|out| frame::put(out, first, warps));
        packed.map_err(|e| {
            let warp = warps.first().map(|w| w.warp).unwrap_or_default();
            std::io::Error::new(e.kind(), format!("the stream of {warp} is not written: {e}"))
        })
    }
    /// Packs a frame that `put` appends to memory.
    fn of(put: impl Fn(&mut Vec<u8>)) -> std::io::Result<Packed> {
        let (size, bytes) = frame::pack_frame(put)?;
        let checksum = xxh3_64(&bytes);
        let version = crate::codec::VERSION;
        Ok(Packed { bytes: Part::own(bytes), size, checksum, version, sites: u32::MAX, offset: 0 })
    }
    fn open(&self, first: usize, infos: &[WarpInfo]) -> Result<Vec<WarpStream>, Error> {
        let name = name_of(infos);
        let damaged = |what: String| Error { offset: self.offset, field: name.clone(), what };
        let packed = self.bytes.bytes();
        if xxh3_64(packed) != self.checksum {
            return Err(damaged("the checksum does not fit the bytes".into()));
        }
        let bytes = frame::unpack(packed, self.size).map_err(damaged)?;
        frame::parse(&bytes, self.version, first, infos, self.sites).map_err(|e| e.within(&name))
    }
}

/// How errors name the frame of these warps.
fn name_of(infos: &[WarpInfo]) -> String {
    format!("frame of {}", infos.first().map(|i| i.warp).unwrap_or_default())
}

/// The compressed streams of a few hundred warps. A caller that decodes many warps on several threads makes
/// frames there, so that no thread holds the streams of all warps.
#[derive(Debug)]
pub struct StreamFrame {
    infos: Vec<WarpInfo>,
    body: Body,
}

impl StreamFrame {
    /// Whether a frame with `warps` warps takes one more, with which it has `elements` elements.
    pub fn has_room(warps: usize, elements: u64) -> bool {
        warps < frame::WARPS && elements <= frame::ELEMENTS
    }

    /// Compresses the streams of `warps`, which ascend. `first` is the number of warps in the frames before.
    /// Without memory to compress them, the frame holds them as they are.
    pub fn new(first: usize, warps: Vec<WarpStream>) -> StreamFrame {
        let infos = infos(&warps);
        let body = Packed::new(first, &warps).map_or(Body::Plain(warps), Body::Packed);
        StreamFrame { infos, body }
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
        let body = match Packed::of(|out| frame::put_paths(out, first, lanes, ends, words)) {
            Ok(packed) => Body::Packed(packed),
            Err(_) => {
                let mut words = words.iter().copied();
                let warps = infos.iter().zip(ends.chunks(lanes.max(1))).map(|(info, ends)| {
                    let own = words.by_ref().take(ends.last().map_or(0, |end| *end as usize)).collect();
                    let lanes = Lanes::Path { words: own, ends: ends.to_vec() };
                    WarpStream { warp: info.warp, digest: info.digest, dropped: info.dropped, lanes }
                });
                Body::Plain(warps.collect())
            }
        };
        StreamFrame { infos, body }
    }
}

/// The index entries of warps.
fn infos(warps: &[WarpStream]) -> Vec<WarpInfo> {
    warps.iter().map(|w| WarpInfo { warp: w.warp, digest: w.digest, dropped: w.dropped }).collect()
}

impl Streams {
    /// Streams of the given warps, which may be in any order.
    pub fn new(mut warps: Vec<WarpStream>) -> Streams {
        warps.sort_by_key(|w| w.warp);
        let infos = infos(&warps);
        let mut frames: Vec<Frame> = Vec::new();
        let mut elements = 0;
        for (i, warp) in warps.into_iter().enumerate() {
            elements += warp.lanes.elements();
            match frames.last_mut() {
                Some(Frame { warps, body: Body::Plain(streams) })
                    if StreamFrame::has_room(streams.len(), elements) =>
                {
                    warps.end += 1;
                    streams.push(warp);
                }
                _ => {
                    elements = warp.lanes.elements();
                    frames.push(Frame { warps: i..i + 1, body: Body::Plain(vec![warp]) });
                }
            }
        }
        Streams { infos, frames }
    }
    /// Appends warps as one more frame, which is compressed at once. With this, a launch may have more
    /// streams than fit into memory.
    ///
    /// # Errors
    /// If the warps do not ascend, or the frame cannot be compressed.
    pub fn append(&mut self, warps: &[WarpStream]) -> std::io::Result<()> {
        let mut before = self.infos.last().map(|i| i.warp);
        for w in warps {
            if before.is_some_and(|b| b >= w.warp) {
                return Err(std::io::Error::other(format!("{} comes too late", w.warp)));
            }
            before = Some(w.warp);
        }
        if warps.is_empty() {
            return Ok(());
        }
        let body = Body::Packed(Packed::new(self.infos.len(), warps)?);
        self.push(StreamFrame { infos: infos(warps), body });
        Ok(())
    }
    /// Appends a frame. Its warps come after all others, and its `first` is their number.
    pub fn push(&mut self, frame: StreamFrame) {
        let at = self.infos.len();
        let warps = at..at + frame.infos.len();
        self.frames.push(Frame { warps, body: frame.body });
        self.infos.extend(frame.infos);
    }
    /// Streams in the form that files have. Each frame has its number of warps; together these are `infos`.
    pub(crate) fn packed(infos: Vec<WarpInfo>, frames: Vec<(usize, Option<Packed>)>) -> Streams {
        let mut at = 0;
        let frames = frames.into_iter().map(|(n, packed)| {
            at += n;
            Frame { warps: at - n..at, body: packed.map_or(Body::Absent, Body::Packed) }
        });
        Streams { frames: frames.collect(), infos }
    }
    /// All frames, each with its number of warps and its compressed form.
    ///
    /// # Errors
    /// If a frame cannot be compressed.
    pub(crate) fn pack(&self, workers: &Workers) -> std::io::Result<Vec<(usize, Packed)>> {
        let pack = |frame: &Frame| {
            let packed = match &frame.body {
                Body::Packed(packed) => packed.clone(),
                Body::Absent => return Err(std::io::Error::other(ABSENT)),
                Body::Plain(warps) => Packed::new(frame.warps.start, warps)?,
            };
            Ok((frame.warps.len(), packed))
        };
        // A frame is much, but for the last.
        let much = self.frames.len().saturating_sub(1).saturating_mul(MUCH);
        workers.map(self.frames.iter().collect(), much, pack).into_iter().collect()
    }
    /// All recorded warps, ascending.
    pub fn infos(&self) -> impl ExactSizeIterator<Item = WarpInfo> + '_ {
        self.infos.iter().copied()
    }
    /// The index entry of a warp. `None` if the warp was not recorded.
    pub fn info(&self, warp: WarpId) -> Option<WarpInfo> {
        let at = self.infos.binary_search_by_key(&warp, |w| w.warp).ok()?;
        self.infos.get(at).copied()
    }
    /// A digest of the digests of all warps. Launches with equal roots are equal, as far as they were
    /// recorded. 0 if the digest of a warp is missing.
    pub fn root(&self) -> u64 {
        let mut hash = Xxh3::new();
        for info in &self.infos {
            if info.digest == 0 {
                return 0;
            }
            hash.update(&info.warp.0.to_le_bytes());
            hash.update(&info.digest.to_le_bytes());
        }
        hash.digest().max(1)
    }
    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }
    /// The warps of frame `i`, without decompressing it. Empty if there is no such frame.
    pub fn frame_infos(&self, i: usize) -> &[WarpInfo] {
        self.frames.get(i).and_then(|f| self.infos.get(f.warps.clone())).unwrap_or_default()
    }
    /// Index of the frame that holds a warp. `None` if the warp was not recorded.
    pub fn frame_of(&self, warp: WarpId) -> Option<usize> {
        let at = self.infos.binary_search_by_key(&warp, |w| w.warp).ok()?;
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
            Body::Packed(packed) => packed.open(frame.warps.start, self.frame_infos(i)),
            Body::Absent => {
                let field = name_of(self.frame_infos(i));
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
    /// what buffers hold afterwards, what stopped them, why they were not recorded. Equal digests, equal runs
    /// as far as they were recorded. What went in does not count, nor when and where it ran. `None` if a warp
    /// has no digest.
    pub fn root(&self) -> Option<u64> {
        let mut order: Vec<&Recording> = self.launches.iter().collect();
        order.sort_by_key(|r| r.launch.number);
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
            match streams.root() {
                0 => return None,
                root => put(&root.to_le_bytes()),
            }
            for after in l.args.iter().map(|a| a.after) {
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
        self.infos == other.infos
            && matches!((all(self), all(other)), (Ok(a), Ok(b)) if a.iter().flatten().eq(b.iter().flatten()))
    }
}
