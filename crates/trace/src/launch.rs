//! The dynamic half of a recording: launches and the streams of their warps.
//!
//! A [`WarpStream`] holds the words of the lanes of one warp as recorded. `prlx-analyze` decodes it against
//! the static half. Streams of equal meaning have equal [`WarpStream::digest`]s, so equal warps are skipped
//! without decoding.

use crate::ids::{Dim3, FuncId, LaneMask, ModuleId, Nanos, SiteId, WarpId};
use crate::kernel::{FaultKind, Fidelity, Level, Scalar};

structures! {
    /// What one launch was, and what was seen of it; its streams are kept apart (see `Trace`).
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Launch {
        /// Module of the kernel: an index into `Trace::modules`.
        pub module: ModuleId,
        /// The kernel: an index into its functions.
        pub kernel: FuncId,
        /// Grid size in CTAs.
        pub grid: Dim3,
        /// CTA size in threads.
        pub block: Dim3,
        /// Dynamic shared memory, bytes.
        pub shared: u32,
        /// Lanes in a warp: 32 or 64.
        pub warp_size: u8,
        /// The parameter buffer as launched, without the parameter that instrumenting appends. Of a program's
        /// launch, bytes that its code never reads (padding) are 0.
        pub params: Vec<u8>,
        /// What the user calls the arguments and what buffers held.
        pub args: Vec<ArgInfo>,
        /// Schedule seed, where the device has one.
        pub seed: Option<u64>,
        /// The device, in words, as `CPU device` or `NVIDIA H200`.
        pub device: String,
        /// Which recorder ran.
        pub level: Level,
        /// At [`Level::Operands`]: what was watched.
        pub window: Option<Window>,
        /// Recorded and lost elements, and what recording cost.
        pub totals: Totals,
        /// What stopped it before its end; the streams hold what was recorded until then.
        #[since(2)] pub fault: Option<Fault>,
        /// CTAs of a cluster; one where no clusters were asked for. `None`: not known.
        #[since(3)] pub cluster: Option<Dim3>,
        /// Its number among the launches of its process, from 0; those that were not recorded count too.
        #[since(3)] pub number: u64,
        /// The stream that it was put into: 0 the default stream, then by order of first use.
        #[since(3)] pub stream: u32,
        /// How it came to be launched.
        #[since(3)] pub origin: Origin,
        /// The ordinal of its device in the process.
        #[since(3)] pub ordinal: u32,
        /// When it was launched, in nanoseconds since its process started ([`crate::Process::started`]).
        #[since(3)] pub start: Nanos,
        /// How sure it is that what was rewritten is what would have run.
        #[since(3)] pub fidelity: Fidelity,
        /// Why nothing of it was recorded: its code runs untouched, or it was not asked for. `None` when it
        /// was recorded.
        #[since(3)] pub skipped: Option<String>,
        /// Of a program's launch: what pointers among its parameters lead to, by place. Empty where that was
        /// not looked at.
        #[since(4)] pub pointees: Vec<Pointee>,
        /// Why digests of it were asked for and there are none.
        #[since(4)] pub undigested: Option<String>,
        /// Of a program's launch: what its host did, and when.
        #[since(9)] pub host: Option<Host>,
    }

    /// What the host did to launch a kernel: times are nanoseconds since its process started
    /// ([`crate::Process::started`]), by the same clock as [`Launch::start`], which is when the program
    /// launched it. Recording it takes from then until `called`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Host {
        /// The thread that launched it: 0 the first that launched something, then by order of their first
        /// launch.
        pub thread: u32,
        /// When the driver was called to launch it, and when it answered: the kernel did not begin before the
        /// first. `None`: the launch did not come so far, or runs without being recorded.
        pub called: Option<(Nanos, Nanos)>,
        /// When the host knew that it had ended. `None`: it never did.
        pub seen: Option<Nanos>,
        /// The last call before it in which its thread waited for a device: its begin and its end.
        pub waited: Option<(Nanos, Nanos)>,
        /// How long recording held the thread after that.
        pub held: Nanos,
    }
}

choices! {
    /// How a launch came about.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Origin {
        /// By a call.
        Direct = 0,
        /// From a graph.
        Graph {
            /// Which executable graph of the process, by order of instantiation.
            exec: u32,
            /// Which kernel node of it, in the graph's order.
            node: u32,
            /// Which launch of the graph, from 0.
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
    /// Warps of one CTA; the last may be partly empty.
    pub fn warps_per_cta(&self) -> u64 {
        self.block.volume().div_ceil(u64::from(self.warp_size.max(1)))
    }
    /// Warps of the grid.
    pub fn warps(&self) -> u64 {
        self.grid.volume().saturating_mul(self.warps_per_cta())
    }
    /// The lanes of `warp` that are threads of the CTA.
    pub fn lanes(&self, warp: WarpId) -> LaneMask {
        let size = u64::from(self.warp_size.max(1));
        let first = warp.0 % self.warps_per_cta().max(1) * size;
        let n = self.block.volume().saturating_sub(first).min(size);
        LaneMask(if n >= 64 { u64::MAX } else { (1 << n) - 1 })
    }
    /// The lanes of `warp` that may not have come to their end because the launch was stopped.
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

structures! {
    /// One argument of a launch.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct ArgInfo {
        /// Name that reports use.
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

    /// What a pointer among a launch's parameters leads to: memory up to the next of these pointers in the
    /// same allocation, or to the end of that.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Pointee {
        /// Where the pointer lies in the parameter buffer.
        pub offset: u32,
        /// How much memory that is, bytes.
        pub bytes: u64,
        /// How much of it, from its beginning, the digests are of.
        pub digested: u64,
        /// Digest of that before the launch (docs/sessions.md); `None`: it could not be digested.
        pub before: Option<u64>,
        /// Digest of it after the launch.
        pub after: Option<u64>,
    }

    /// What [`Level::Operands`] watches: visits of some sites by some warps.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Window {
        /// Sites whose operands are recorded.
        pub sites: Vec<SiteId>,
        /// Warps, first and one past the last.
        pub warps: (u64, u64),
        /// Visits of a site by a lane, counted from 0 for each site and lane: first and one past the last.
        pub visits: (u64, u64),
    }

    /// What stopped a launch before its end.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Fault {
        /// Fault or deadlock.
        pub kind: FaultKind,
        /// What happened, with its place: instruction, line, thread.
        pub text: String,
        /// Of the warps that were recorded, ascending: those with lanes that had not ended, and which lanes.
        /// `None`: the device can't say; it may be any.
        pub unfinished: Option<Vec<(WarpId, LaneMask)>>,
    }

    /// Sums over a launch. `recorded + dropped` is what the instrumented code wanted to write.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub struct Totals {
        /// Elements in the streams (words, checkpoints, events or operand records).
        pub recorded: u64,
        /// Elements that did not fit.
        pub dropped: u64,
        /// Warps that the filter left out.
        pub filtered_warps: u64,
        /// Work without instrumentation: warp instructions (CPU device) or nanoseconds; 0 if not measured.
        pub bare: u64,
        /// The same with instrumentation.
        pub instrumented: u64,
    }
}

/// What the lanes of one warp wrote.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WarpStream {
    /// Number of the warp in the grid.
    pub warp: WarpId,
    /// XXH3-64 of everything that decoding this warp reads (streams, digest of the decode program, grid,
    /// parameters that slices use): equal digests, equal decoded streams. 0: not computed.
    pub digest: u64,
    /// Elements of this warp that were lost.
    pub dropped: u64,
    /// The elements, by lane.
    pub lanes: Lanes,
}

/// The entry of a warp in a launch's index, which is readable without decompression.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpInfo {
    /// Number of the warp in the grid.
    pub warp: WarpId,
    /// The warp's [`WarpStream::digest`].
    pub digest: u64,
    /// The warp's [`WarpStream::dropped`].
    pub dropped: u64,
}

/// Elements by lane; `ends[l]` is where lane `l`'s elements end and lane `l + 1`'s begin.
#[derive(Clone, PartialEq, Debug)]
pub enum Lanes {
    /// [`Level::Path`]: words (see [`crate::device`]).
    Path {
        /// All lanes' words.
        words: Vec<u32>,
        /// Ends by lane.
        ends: Vec<u32>,
    },
    /// [`Level::Fingerprint`]: checkpoints, and the hashes at the lane's end.
    Fingerprint {
        /// All lanes' checkpoints.
        checkpoints: Vec<u64>,
        /// Ends by lane.
        ends: Vec<u32>,
        /// Two entries: first the warp's own hashes of control, loaded and stored values, each the exclusive
        /// or of what its lanes have, and 0; then the lanes' signatures, eight in each number from its lowest
        /// byte on: a byte that tells most lanes apart that differ, 0 for a lane that never ended. In
        /// recordings before version 3, and where a warp has not 32 lanes, an entry a lane: control, loaded,
        /// stored, synchronisation, all zero for one that never ended.
        hashes: Vec<[u64; 4]>,
    },
    /// [`Level::Events`]: one stream a warp, in the order of its clock.
    Events(Vec<Event>),
    /// [`Level::Operands`]: the operands of each visit in the window.
    Operands {
        /// All lanes' records.
        records: Vec<OperandRecord>,
        /// Ends by lane.
        ends: Vec<u32>,
    },
}

impl Lanes {
    /// How many elements there are: words, checkpoints, events or records.
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

/// One visit of a warp's active lanes to a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Event {
    /// The visited site.
    pub site: SiteId,
    /// Exact mask of the active lanes. At a switch: those of them that go this way, with an event for each
    /// way.
    pub mask: LaneMask,
    /// Decision: the lanes whose predicate held. Switch: the index of all its lanes. Memory: a digest over
    /// the active lanes' values, comparable only between equal masks.
    pub value: u64,
    /// Low 32 bits of the SM's clock.
    pub clock: u32,
}

/// All that one lane saw at one visit in the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OperandRecord {
    /// The visited site.
    pub site: SiteId,
    /// Which visit of the site by this lane, from 0.
    pub visit: u32,
    /// The first two operands' bits; a unary or memory site leaves the second 0.
    pub values: [u64; 2],
}
