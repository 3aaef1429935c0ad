//! The context of a launch: what instrumented code reads to find its memory.
//!
//! # Invariants
//! Contexts are made here only, from the memory that launches share and the launch's own.

use prlx_plan::Plan;
use prlx_trace::device::{Context, Shape, final_bytes};
use prlx_trace::launch::Launch;
use prlx_trace::{Level, WarpSize};

use crate::record::memory::launches::{cta_warps, wanted};

/// The memory into which launches write their streams: a pool of chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::record) struct StreamMemory {
    pub level: Level,
    pub warp_size: WarpSize,
    /// Address of the pool.
    pub pool: u64,
    /// Bytes of the pool.
    pub size: u64,
    /// Address of the bucket: one chunk.
    pub bucket: u64,
    /// Address of the cursor: the bytes of the pool that are taken.
    pub cursor: u64,
    /// Address of the magazines, if the pool is large enough for them.
    pub magazines: u64,
}

impl StreamMemory {
    /// The context of the launch that has this slot.
    pub fn context(&self, slot: &Slot) -> Context {
        let kind = &slot.kind;
        let batch = Shape::of(self.level, self.warp_size).batch(self.size);
        let probe = self.level == Level::Probe;
        let (finals, records) = if probe { (0, slot.finals) } else { (slot.finals, 0) };
        Context {
            pool: self.pool,
            size: self.size,
            cursor: self.cursor,
            magazines: if has_magazines(self.level, self.warp_size, self.size) { self.magazines } else { 0 },
            batch,
            heads: slot.heads,
            finals,
            cta_warps: kind.cta_warps,
            bucket: self.bucket,
            warp_first: kind.wanted.0 as u32,
            warps: (kind.wanted.1 - kind.wanted.0) as u32,
            given: 0,
            tables: kind.probe_context.tables,
            records,
            record_warps: if records == 0 { 0 } else { kind.cta_warps },
            tracks: slot.tracks,
            track_log: kind.probe_context.tracks.log.into(),
            launch: kind.probe_context.number,
            visit_first: kind.visits.0,
            visit_last: kind.visits.1,
        }
    }
}

/// Whether a pool of `bytes` bytes is handed out in batches, which lie in magazines.
pub(in crate::record) fn has_magazines(level: Level, warp_size: WarpSize, bytes: u64) -> bool {
    let shape = Shape::of(level, warp_size);
    shape.batch(bytes) > shape.chunk()
}

/// Everything that a context depends on besides the addresses in its slot. Launches of the same kind can use
/// each other's contexts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::record) struct ContextKind {
    /// Number of warps with heads.
    warps: u64,
    /// Warps to record: first, and one past the last.
    wanted: (u64, u64),
    visits: (u64, u64),
    cta_warps: u64,
    /// Bytes of a warp's final hashes.
    finals: u64,
    probe_context: ProbeContext,
}

/// Fields of a context that only probe programs have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(in crate::record) struct ProbeContext {
    /// Address of the module's tables.
    pub tables: u64,
    /// Bytes of a warp's records.
    pub records: u64,
    /// Number of the launch, if the probe program uses it; otherwise 0.
    pub number: u64,
    /// Regions for tracks.
    pub tracks: TrackRegions,
}

/// Size of the track regions of a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(in crate::record) struct TrackRegions {
    /// Regions per warp; 0 if there are no tracks.
    pub regions: u64,
    /// Binary logarithm of a region's bytes.
    pub log: u32,
}

impl TrackRegions {
    /// Bytes of the regions of `warps` warps.
    pub fn bytes(self, warps: u64) -> Option<u64> {
        warps.checked_mul(self.regions)?.checked_mul(1 << self.log)
    }
}

impl ContextKind {
    /// Number of warps with heads.
    pub fn warps(&self) -> u64 {
        self.warps
    }
    /// Bytes of a warp besides its heads: final hashes or records.
    pub fn each(&self) -> u64 {
        self.finals + self.probe_context.records
    }
    /// Number of recorded warps.
    pub fn recorded(&self) -> u64 {
        self.wanted.1 - self.wanted.0
    }
    /// The kind of a launch's context.
    pub fn of(plan: &Plan, launch: &Launch, probe_context: ProbeContext) -> ContextKind {
        let wanted = wanted(&plan.request, launch);
        ContextKind {
            warps: launch.warps(),
            wanted,
            visits: launch.window.as_ref().map_or((0, u64::MAX), |w| w.visits),
            cta_warps: cta_warps(launch, wanted),
            finals: final_bytes(plan.request.level, plan.finals),
            probe_context,
        }
    }
    /// The kind that launches of similar sizes share: without room for warps behind the recorded ones, and
    /// with room for a few more warps than there are. Rounding keeps the number of kinds small and wastes
    /// little memory: there are at most eight sizes between two powers of two. Sizes beyond any memory stay
    /// as they are.
    pub fn rounded(self) -> ContextKind {
        let (first, last) = self.wanted;
        let warps = match last.max(1) {
            n if n < 1 << 40 => n.next_multiple_of((n.next_power_of_two() / 8).max(1)),
            n => n,
        };
        let last = if last == self.warps { warps } else { last };
        ContextKind { warps, wanted: (first, last), ..self }
    }
    /// Adds track regions for the first `warps` of the recorded warps. The others are not recorded.
    pub fn tracked(self, tracks: TrackRegions, warps: u64) -> ContextKind {
        let wanted = (self.wanted.0, self.wanted.0 + warps);
        ContextKind { wanted, probe_context: ProbeContext { tracks, ..self.probe_context }, ..self }
    }
    /// Size of its track regions.
    pub fn tracks(&self) -> TrackRegions {
        self.probe_context.tracks
    }
}

/// Addresses of the memory that a launch uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::record) struct Slot {
    /// Context of the launch; 0 if it lies elsewhere, as that of a graph's node does.
    pub context: u64,
    /// The sums that its hashes are made of, if only hashes are kept. They lie among contexts, where memory
    /// is zero at first.
    pub sums: u64,
    pub heads: u64,
    /// Final hashes, or records of a probe program.
    pub finals: u64,
    /// Track regions; 0 if there are none.
    pub tracks: u64,
    pub kind: ContextKind,
}

impl Slot {
    /// Number of warps with track regions, and the binary logarithm of a region's bytes.
    pub fn regions(&self) -> (u64, u32) {
        (self.kind.recorded(), self.kind.tracks().log)
    }
    /// Bytes of the track regions.
    pub fn track_bytes(&self) -> u64 {
        self.kind.tracks().bytes(self.kind.recorded()).unwrap_or(0)
    }
}
