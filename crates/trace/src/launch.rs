//! The dynamic half of a recording: launches and the streams of their warps.
//!
//! A [`WarpStream`] holds the words of the lanes of one warp as recorded. `prlx-analyze` decodes it against
//! the static half. Warps that recorded the same need no decoding ([`WarpStream::same`]).

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::ids::{Dim3, FuncId, LaneMask, ModuleId, Nanos, RangeId, SiteId, WarpId, WarpSize};
use crate::kernel::{FaultKind, Fidelity, Level, Scalar};

/// What recordings call the CPU device, where others have the name of a GPU.
pub const CPU_DEVICE: &str = "CPU device";

structures! {
    /// A launch of a kernel, and how it was recorded. A `Trace` holds its streams separately.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Launch {
        /// Module of the kernel: an index into `Trace::modules`.
        pub module: ModuleId,
        /// The kernel: an index into the functions of the module.
        pub kernel: FuncId,
        /// Grid size in CTAs.
        pub grid: Dim3,
        /// CTA size in threads.
        pub block: Dim3,
        /// Dynamic shared memory, bytes.
        pub shared: u32,
        /// Number of lanes of each warp.
        pub warp_size: WarpSize,
        /// The parameter buffer of the launch, without the hidden parameter of instrumented code. In a launch
        /// of a program, bytes that the code never reads (padding) are 0.
        pub params: Vec<u8>,
        /// Names of the arguments, and digests of the buffers.
        pub args: Vec<ArgInfo>,
        /// Seed of the schedule. `None` if the device has no seeded schedule.
        pub seed: Option<u64>,
        /// Name of the device, for example `CPU device` or `NVIDIA H200`.
        pub device: String,
        /// The recorder that ran.
        pub level: Level,
        /// At [`Level::Operands`]: the sites, warps and visits that were recorded.
        pub window: Option<Window>,
        /// Numbers of recorded and lost elements, and the overhead of recording.
        pub totals: Totals,
        /// Why the launch ended early. The streams hold what was recorded until then.
        #[since(2)] pub fault: Option<Fault>,
        /// Size of a cluster in CTAs; 1 without clusters. `None` if it is not known.
        #[since(3)] pub cluster: Option<Dim3>,
        /// Number among all launches of the process, from 0. Launches that were not recorded count as well.
        #[since(3)] pub number: u64,
        /// The CUDA stream of the launch: 0 is the default stream, others are numbered by first use.
        #[since(3)] pub stream: u32,
        /// Whether a call or a graph launched the kernel.
        #[since(3)] pub origin: Origin,
        /// The ordinal of the device in the process.
        #[since(3)] pub ordinal: u32,
        /// Time of the launch, since the process started ([`crate::Process::started`]).
        #[since(3)] pub start: Nanos,
        /// How certain it is that the instrumented code corresponds to the code that would have run.
        #[since(3)] pub fidelity: Fidelity,
        /// Why the launch was not recorded: its code was not instrumented, or a filter excluded it. `None` if
        /// it was recorded.
        #[since(3)] pub skipped: Option<String>,
        /// Memory that pointers among the parameters point to, by offset of the pointer. Only for launches of
        /// programs; empty without digests.
        #[since(4)] pub pointees: Vec<Pointee>,
        /// Why the launch has no digests although they were requested.
        #[since(4)] pub undigested: Option<String>,
        /// What the host did to launch the kernel, and when. Only for launches of programs.
        #[since(9)] pub host: Option<Host>,
        /// The NVTX ranges around the call that launched the kernel, in the order in which they began. Only
        /// for launches of programs.
        #[since(13)] pub ranges: Vec<LaunchRange>,
        /// Hashes that stand for the streams of all warps, which were not kept. Only at
        /// [`Level::Fingerprint`].
        #[since(21)] pub hashes: Option<StreamHashes>,
    }

    /// Hashes of the streams of all recorded warps of a launch. They compare launches of one build, whose
    /// warps are recorded alike. The recorder that makes them defines their values.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct StreamHashes {
        /// Number of recorded warps.
        pub warps: u64,
        /// Hash of the warps' hashes of control.
        pub control: u64,
        /// Hash of the warps' hashes of loaded values.
        pub loaded: u64,
        /// Hash of the warps' hashes of stored values.
        pub stored: u64,
        /// Hash of the lanes' signatures.
        pub signatures: u64,
    }

    /// An NVTX range around a launch: one that the launching thread pushed and did not pop, or one that any
    /// thread started and did not end.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LaunchRange {
        /// Its name: an index into [`Trace::ranges`](crate::Trace::ranges).
        pub name: RangeId,
        /// Number of the range among all ranges of the process, in the order in which they began, from 0.
        pub instance: u64,
    }

    /// The name of NVTX ranges.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    pub struct RangeName {
        /// Text of the range.
        pub name: String,
        /// Name of its NVTX domain; empty for the default domain.
        pub domain: String,
    }

    /// What the host did to launch a kernel. Times count from the start of the process
    /// ([`crate::Process::started`]), on the clock of [`Launch::start`]. The program makes its launch call at
    /// [`Launch::start`]; recording then takes until `called`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Host {
        /// The thread that launched the kernel. Threads are numbered from 0, by their first launch.
        pub thread: u32,
        /// When the driver's launch function was called, and when it returned. The kernel did not begin
        /// before the first time. `None` if the driver was not called, or the launch was not recorded.
        pub called: Option<(Nanos, Nanos)>,
        /// When the host learned that the kernel had ended. `None` if it never did.
        pub seen: Option<Nanos>,
        /// Begin and end of the thread's last call, before the launch, that waited for a device.
        pub waited: Option<(Nanos, Nanos)>,
        /// How long recording delayed the thread after that call.
        pub held: Nanos,
    }
}

choices! {
    /// What launched a kernel.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Origin {
        /// A launch call of the host.
        Direct = 0,
        /// A node of a CUDA graph.
        Graph {
            /// Number of the executable graph in the process, by order of instantiation.
            exec: u32,
            /// Number of the kernel node in the graph, in the graph's order.
            node: u32,
            /// Number of the launch of the graph, from 0.
            replay: u64,
        } = 1,
    }
}

#[expect(clippy::derivable_impls, reason = "the table has no place for #[default]")]
impl Default for Origin {
    fn default() -> Self {
        Origin::Direct
    }
}

impl Launch {
    /// Number of warps of a CTA. The last warp may have fewer threads than lanes.
    pub fn warps_per_cta(&self) -> u64 {
        self.warp_size.warps(self.block.volume())
    }
    /// Number of threads of the grid.
    pub fn threads(&self) -> u64 {
        self.grid.volume().saturating_mul(self.block.volume())
    }
    /// Number of warps of the grid.
    pub fn warps(&self) -> u64 {
        self.grid.volume().saturating_mul(self.warps_per_cta())
    }
    /// The lanes of `warp` that are threads of the CTA.
    pub fn lanes(&self, warp: WarpId) -> LaneMask {
        let size = self.warp_size.lanes();
        let first = warp.0 % self.warps_per_cta().max(1) * size;
        let n = self.block.volume().saturating_sub(first).min(size);
        LaneMask(if n >= 64 { u64::MAX } else { (1 << n) - 1 })
    }
    /// The lanes of `warp` that may not have ended, because the launch ended early.
    pub fn unfinished(&self, warp: WarpId) -> LaneMask {
        match self.fault.as_ref().map(|f| &f.unfinished) {
            None => LaneMask(0),
            Some(None) => self.lanes(warp),
            Some(Some(known)) => {
                let found = known.binary_search_by_key(&warp, |w| w.0).ok();
                found.and_then(|i| known.get(i)).map_or(LaneMask(0), |w| w.1)
            }
        }
    }
}

impl fmt::Display for RangeName {
    /// `NAME`, or `NAME@DOMAIN` in a domain of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.domain.is_empty() { Ok(()) } else { write!(f, "@{}", self.domain) }
    }
}

structures! {
    /// One argument of a launch.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct ArgInfo {
        /// Name of the argument, for reports.
        pub name: String,
        /// Type of the scalar, or of a buffer's elements.
        pub ty: Scalar,
        /// For a buffer: its length in bytes; `None` for a scalar. A pointer to device memory is a buffer up
        /// to the end of its allocation.
        pub bytes: Option<u64>,
        /// For a buffer: XXH3-64 of its content before the launch.
        pub before: Option<u64>,
        /// For a buffer: XXH3-64 of its content after the launch.
        pub after: Option<u64>,
    }

    /// Memory that a pointer among a launch's parameters points to. It extends to the next of these pointers
    /// in the same allocation, or to the end of the allocation.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Pointee {
        /// Byte offset of the pointer in the parameter buffer.
        pub offset: u32,
        /// Size of the memory in bytes.
        pub bytes: u64,
        /// Number of bytes, from the beginning, that the digests cover.
        pub digested: u64,
        /// Digest of these bytes before the launch. `None` if it could not be computed.
        pub before: Option<u64>,
        /// Digest of these bytes after the launch. `None` if it could not be computed.
        pub after: Option<u64>,
    }

    /// The part of a launch that [`Level::Operands`] records: visits of some sites by some warps.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Window {
        /// Sites whose operands are recorded.
        pub sites: Vec<SiteId>,
        /// Warps, first and one past the last.
        pub warps: (u64, u64),
        /// Visits of a site by a lane, counted from 0 for each site and lane: first and one past the last.
        pub visits: (u64, u64),
    }

    /// The event that ended a launch early.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Fault {
        /// Whether the code faulted, or the launch did not end.
        pub kind: FaultKind,
        /// Description of the event, with instruction, line and thread.
        pub text: String,
        /// The recorded warps with lanes that had not ended, ascending, with these lanes. `None` if the
        /// device does not report them: any lane may not have ended.
        pub unfinished: Option<Vec<(WarpId, LaneMask)>>,
    }

    /// Sums over a launch. The instrumented code produced `recorded + dropped` elements.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub struct Totals {
        /// Number of elements in the streams (words, checkpoints, events or operand records).
        pub recorded: u64,
        /// Number of elements that did not fit into memory.
        pub dropped: u64,
        /// Number of warps that the filter excluded.
        pub filtered_warps: u64,
        /// Duration without instrumentation, in warp instructions (CPU device) or nanoseconds (GPU); 0 if it
        /// was not measured.
        pub bare: u64,
        /// Duration with instrumentation, in the same unit; 0 if it was not measured.
        pub instrumented: u64,
    }
}

/// The stream of one warp: what its lanes recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WarpStream {
    /// Number of the warp in the grid.
    pub warp: WarpId,
    /// Number of elements of this warp that were lost.
    pub dropped: u64,
    /// The elements, by lane.
    pub lanes: Lanes,
}

impl WarpStream {
    /// Whether both hold the same elements. Clocks do not count, because two runs never agree on them.
    pub fn same(&self, other: &WarpStream) -> bool {
        match (&self.lanes, &other.lanes) {
            (Lanes::Events(a), Lanes::Events(b)) => {
                let content = |e: &Event| (e.site, e.mask, e.value);
                a.len() == b.len() && a.iter().map(content).eq(b.iter().map(content))
            }
            (a, b) => a == b,
        }
    }

    /// XXH3-64 of what [`WarpStream::same`] compares.
    pub fn digest(&self) -> u64 {
        let mut bytes = vec![];
        let mut put = |number: u64| bytes.extend(number.to_le_bytes());
        match &self.lanes {
            Lanes::Path { words, ends } => ends.iter().chain(words).for_each(|n| put((*n).into())),
            Lanes::Fingerprint { checkpoints, ends, hashes } => {
                ends.iter().for_each(|end| put((*end).into()));
                checkpoints.iter().chain(hashes.as_flattened()).for_each(|hash| put(*hash));
            }
            Lanes::Events(events) => {
                events.iter().flat_map(|e| [e.site.0.into(), e.mask.0, e.value]).for_each(put);
            }
            Lanes::Operands { records, ends } => {
                ends.iter().for_each(|end| put((*end).into()));
                let numbers = |r: &OperandRecord| [r.site.0.into(), r.visit.into(), r.values[0], r.values[1]];
                records.iter().flat_map(numbers).for_each(put);
            }
        }
        xxh3_64(&bytes)
    }
}

/// The entry of a warp in a launch's index, which is readable without decompression.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpInfo {
    /// Number of the warp in the grid.
    pub warp: WarpId,
    /// The warp's [`WarpStream::dropped`].
    pub dropped: u64,
}

/// Elements of all lanes of a warp, one lane after the other. `ends[l]` is the index at which the elements of
/// lane `l` end and those of lane `l + 1` begin.
#[derive(Clone, PartialEq, Debug)]
pub enum Lanes {
    /// [`Level::Path`]: words (see [`crate::device`]).
    Path {
        /// Words of all lanes.
        words: Vec<u32>,
        /// Ends by lane.
        ends: Vec<u32>,
    },
    /// [`Level::Fingerprint`]: checkpoints, and the hashes at the lane's end.
    Fingerprint {
        /// Checkpoints of all lanes.
        checkpoints: Vec<u64>,
        /// Ends by lane.
        ends: Vec<u32>,
        /// Two entries for a warp of 32 lanes, three for one of 64. The first holds the warp's hashes of
        /// control, of loaded values and of stored values, each the exclusive or of the lanes' hashes, and 0.
        /// The others hold the signatures of the lanes, eight in each number, from the lowest byte. A
        /// signature is one byte that differs between most lanes that differ; it is 0 for a lane that never
        /// ended. Recordings before version 3, and those of 64 lanes before version 14, have one entry for
        /// each lane instead: control, loaded, stored, synchronisation, all zero for a lane that never ended.
        hashes: Vec<[u64; 4]>,
    },
    /// [`Level::Events`]: the events of the warp, in the order of the clock.
    Events(Vec<Event>),
    /// [`Level::Operands`]: the operands of each visit in the window.
    Operands {
        /// Records of all lanes.
        records: Vec<OperandRecord>,
        /// Ends by lane.
        ends: Vec<u32>,
    },
}

impl Lanes {
    /// Number of elements of all lanes: words, checkpoints, events or records.
    pub fn elements(&self) -> u64 {
        (match self {
            Lanes::Path { words, .. } => words.len(),
            Lanes::Fingerprint { checkpoints, .. } => checkpoints.len(),
            Lanes::Events(events) => events.len(),
            Lanes::Operands { records, .. } => records.len(),
        }) as u64
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes::Path { words: Vec::new(), ends: Vec::new() }
    }
}

/// Splits the hashes of [`Lanes::Fingerprint`] into those of the warp and the signatures of its lanes. `None`
/// if there is an entry for each lane.
pub fn warp_hashes(hashes: &[[u64; 4]]) -> Option<(&[u64; 4], &[[u64; 4]])> {
    hashes.split_first().filter(|(_, signatures)| matches!(signatures.len(), 1 | 2))
}

/// One visit of a warp's active lanes to a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Event {
    /// The site that was visited.
    pub site: SiteId,
    /// Exact mask of the active lanes. A switch has one event for each target, with the lanes that take it.
    pub mask: LaneMask,
    /// For a decision, the lanes whose predicate is true. For a switch, the index of these lanes. For a
    /// memory site, a digest of the active lanes' values, which is comparable only between equal masks.
    pub value: u64,
    /// Low 32 bits of the SM's clock.
    pub clock: u32,
}

/// The operands of one visit by one lane, within the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OperandRecord {
    /// The site that was visited.
    pub site: SiteId,
    /// Number of this visit of the site by the lane, from 0.
    pub visit: u32,
    /// Bits of the first two operands. The second is 0 for a site with one operand, or a memory site.
    pub values: [u64; 2],
}
