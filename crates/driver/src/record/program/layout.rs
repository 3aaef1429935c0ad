//! Layout of a recorder's device memory.
//!
//! The memory has the contexts of graph nodes, then the tables of probe programs, then two generations. A
//! generation has the pool, the bucket (one chunk), the cursor and the magazines, and the arena. In the
//! arena, contexts grow from the front, and so do the sums of launches of which only hashes are kept. Heads
//! and final hashes of launches grow from the back. Probe programs have no streams: the pool is one chunk,
//! and records and track regions take the place of hashes.
//!
//! # Invariants
//! - Slots never overlap.
//! - Addresses are aligned as `prlx_trace::device` requires.
//! - Track regions lie where their 32-bit cursors do not wrap.

use std::ops::Range;

use prlx_trace::device::tracks::{BEYOND, LOGS};
use prlx_trace::device::{Context, Head, MAGAZINE_STRIDE, MAGAZINES, Shape, tracks};
use prlx_trace::{FuncId, Level, WarpSize};

use crate::record::memory::context::{ContextKind, Slot, StreamMemory, TrackRegions, has_magazines};

/// Bytes reserved for a context.
pub(super) const CONTEXT: u64 = 160;

const _: () = assert!(Context::SIZE as u64 <= CONTEXT);

/// Bytes of the sums that the hashes of a launch are made of.
pub(super) const LAUNCH_SUMS: u64 = 64;

/// Maximum number of graph nodes with a context.
pub(super) const NODES: u32 = 4096;

/// Number of generations.
pub(super) const GENERATIONS: usize = 2;

/// Bytes reserved for the cursor, so that nothing shares its cache line.
const ALONE: u64 = 256;

/// Bytes that are copied although no launch uses them, rather than to begin another copy.
const GAP: u64 = 32 << 10;

/// Bytes of the cursor and the magazines behind it.
pub(super) const CURSOR: u64 = ALONE + MAGAZINES * MAGAZINE_STRIDE;

/// Sizes of all parts, for a level and a memory budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub level: Level,
    pub warp_size: WarpSize,
    /// Whether only hashes of launches are copied to the host (`launch_hashes`).
    pub hashes: bool,
    shape: Shape,
    /// Bytes of tables.
    pub tables: u64,
    /// Bytes of a generation's pool.
    pub pool: u64,
    /// Bytes of a generation's arena.
    pub arena: u64,
}

impl Layout {
    /// Divides `device` bytes, `tables` of which are for tables. Returns `None` if that is too little.
    pub fn new(level: Level, warp_size: WarpSize, device: u64, tables: u64) -> Option<Layout> {
        let shape = Shape::of(level, warp_size);
        let chunk = shape.chunk();
        let tables = tables / chunk * chunk;
        let each =
            device.checked_sub(u64::from(NODES) * CONTEXT + chunk)?.checked_sub(tables)? / GENERATIONS as u64;
        if level == Level::Probe {
            let arena = each.checked_sub(3 * chunk + CURSOR)? / chunk * chunk;
            return (arena >= 16 << 10).then_some(Layout {
                level,
                warp_size,
                hashes: false,
                shape,
                tables,
                pool: chunk,
                arena,
            });
        }
        // Heads and what warps write at their end lie in the arena, all other data in the pool.
        let share = match level {
            Level::Fingerprint => 2,
            Level::Path | Level::Values | Level::Events => 4,
            _ => 16,
        };
        let arena = each / share / chunk * chunk;
        let pool = each.checked_sub(arena + 2 * chunk + CURSOR)? / chunk * chunk;
        (arena >= 16 << 10 && pool >= chunk).then_some(Layout {
            level,
            warp_size,
            hashes: false,
            shape,
            tables,
            pool,
            arena,
        })
    }
    /// Size of a chunk in bytes. All parts are aligned to it.
    pub fn chunk(&self) -> u64 {
        self.shape.chunk()
    }
    /// Number of chunks of a warp whose lanes write this many elements each.
    pub fn chunks(&self, elements: u32) -> u64 {
        u64::from(elements).div_ceil(self.shape.rows() - 1)
    }
    /// Bytes of the first chunks of a warp's streams.
    pub fn first(&self) -> u64 {
        self.shape.chunk() * self.shape.heads(self.warp_size)
    }
    /// Bytes of a pool that can be reserved for launches. What the magazines hold may stay unused.
    pub fn capacity(&self) -> u64 {
        if has_magazines(self.level, self.warp_size, self.pool) {
            self.pool - MAGAZINES * self.batch()
        } else {
            self.pool
        }
    }
    /// Bytes of the pool for this many elements, if all lanes have equally many.
    pub fn bytes(&self, elements: u64) -> u64 {
        elements.saturating_mul(self.shape.element)
    }
    /// Bytes that fill a magazine.
    fn batch(&self) -> u64 {
        self.shape.batch(self.pool)
    }
    /// Bytes of all parts together.
    pub fn total(&self) -> u64 {
        self.tables_at(0) + self.tables + GENERATIONS as u64 * self.generation()
    }
    /// Address of the tables, if the memory begins at `base`.
    pub fn tables_at(&self, base: u64) -> u64 {
        base + self.nodes().next_multiple_of(self.chunk())
    }
    /// Whether the memory is for tracks. A probe program without tables has only markers.
    pub fn tracked(&self) -> bool {
        self.level == Level::Probe && self.tables == 0
    }
    /// Bytes of the contexts of graph nodes, which come first.
    pub fn nodes(&self) -> u64 {
        u64::from(NODES) * CONTEXT
    }
    fn generation(&self) -> u64 {
        (self.pool + self.chunk() + CURSOR + self.arena).next_multiple_of(self.chunk())
    }
    /// Addresses of the parts of generation `i`, if the memory begins at `base`.
    pub fn area(&self, base: u64, i: usize) -> Area {
        let pool = self.tables_at(base) + self.tables + i as u64 * self.generation();
        let bucket = pool + self.pool;
        let cursor = bucket + self.chunk();
        Area { pool, bucket, cursor, arena: cursor + CURSOR }
    }
    /// Bytes of the heads of `warps` warps, and of their finals or records with `each` bytes per warp. `None`
    /// if there are too many warps.
    pub fn room(&self, warps: u64, each: u64) -> Option<(u64, u64)> {
        // Instrumented code counts warps in 32 bits.
        u32::try_from(warps).ok()?;
        let heads = if self.level == Level::Probe { 0 } else { self.heads() };
        Some((warps.checked_mul(heads)?, warps.checked_mul(each)?))
    }
    /// Bytes of the sums that a launch's hashes are made of.
    fn sums(&self) -> u64 {
        if self.hashes { LAUNCH_SUMS } else { 0 }
    }
    /// Bytes of a context in an arena, with the sums behind it.
    pub fn context(&self) -> u64 {
        CONTEXT + self.sums()
    }
    /// Bytes of a warp's heads. Where only hashes are kept, warps write no streams.
    fn heads(&self) -> u64 {
        if self.hashes { 0 } else { self.shape.heads(self.warp_size) * Head::SIZE as u64 }
    }
}

/// Addresses of a generation's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Area {
    pub pool: u64,
    pub bucket: u64,
    pub cursor: u64,
    pub arena: u64,
}

/// Ranges of an arena that slots use, and where a copy of them has each: one after the other, in the order of
/// their addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct UsedRanges {
    /// Addresses, and where the copy has the first of them.
    ranges: Vec<(Range<u64>, u64)>,
    /// Bytes of all ranges.
    bytes: u64,
}

impl UsedRanges {
    /// Those of slots in an arena, each with whether its launch can write streams: otherwise its heads stay
    /// zero, and are left out. A short gap between two ranges costs less than another copy, so it counts as
    /// used.
    pub fn of(layout: &Layout, arena: &Arena, slots: impl IntoIterator<Item = (Slot, bool)>) -> UsedRanges {
        let arena = arena.area.arena..arena.area.arena + layout.arena;
        let parts = slots.into_iter().flat_map(|(slot, streams)| {
            let (heads, others) = layout.room(slot.kind.warps(), slot.kind.each()).unwrap_or_default();
            let others = slot.heads + heads..slot.heads + heads + others;
            let part = match layout.hashes {
                true => slot.sums..slot.sums + layout.sums(),
                false if streams => slot.heads..others.end,
                false => others,
            };
            [part, slot.tracks..slot.tracks + slot.track_bytes()]
        });
        // Nodes of graphs may write to a slot in the other generation's arena.
        let own =
            |part: &Range<u64>| arena.start <= part.start && part.start < part.end && part.end <= arena.end;
        let mut parts: Vec<Range<u64>> = parts.filter(own).collect();
        parts.sort_by_key(|part| part.start);
        let mut used = UsedRanges::default();
        for part in parts {
            match used.ranges.last_mut() {
                Some((last, _)) if part.start <= last.end + GAP => {
                    used.bytes += part.end.saturating_sub(last.end);
                    last.end = last.end.max(part.end);
                }
                _ => used.push(part),
            }
        }
        used
    }
    /// One range: `bytes` bytes at an address.
    pub fn whole((at, bytes): (u64, u64)) -> UsedRanges {
        let mut used = UsedRanges::default();
        used.push(at..at + bytes);
        used
    }
    fn push(&mut self, range: Range<u64>) {
        let at = self.bytes;
        self.bytes += range.end - range.start;
        self.ranges.push((range, at));
    }
    /// Bytes of all ranges.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Address and bytes of each range.
    pub fn iter(&self) -> impl Iterator<Item = (u64, usize)> {
        self.ranges.iter().map(|(range, _)| (range.start, (range.end - range.start) as usize))
    }
    /// The part of a copy that has `bytes` bytes at an address; empty if they are not in one range.
    pub fn part<'a>(&self, copy: &'a [u8], at: u64, bytes: u64) -> &'a [u8] {
        let next = self.ranges.partition_point(|(range, _)| range.start <= at);
        let found = next.checked_sub(1).and_then(|i| self.ranges.get(i));
        let part =
            found.filter(|(range, _)| bytes <= range.end.saturating_sub(at)).and_then(|(range, from)| {
                copy.get((from + (at - range.start)) as usize..)?.get(..bytes as usize)
            });
        part.unwrap_or_default()
    }
}

/// The arena of a generation, with what is still free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arena {
    layout: Layout,
    area: Area,
    front: u64,
    back: u64,
}

impl Arena {
    pub fn new(layout: Layout, area: Area) -> Arena {
        Arena { layout, area, front: area.arena, back: area.arena + layout.arena }
    }
    /// Bytes that are free.
    pub fn left(&self) -> u64 {
        self.back - self.front
    }
    /// Address and bytes of the part with heads and hashes.
    pub fn used(&self) -> (u64, u64) {
        (self.back, self.area.arena + self.layout.arena - self.back)
    }
    /// Bytes that a copy of it takes: all that launches leave, or the sums that their hashes are made of,
    /// with the contexts between them.
    pub fn copied(&self) -> u64 {
        if self.layout.hashes { self.contexts().1 } else { self.used().1 }
    }
    /// Address and bytes of the part with contexts.
    pub fn contexts(&self) -> (u64, u64) {
        (self.area.arena, self.front - self.area.arena)
    }
    /// Whether an empty arena would have room for a launch of this kind.
    pub fn ever(&self, kind: ContextKind) -> bool {
        Arena::new(self.layout, self.area).carve(kind, true).is_some()
    }
    /// Takes memory for a launch, with or without a context. Returns `None` if there is not enough.
    pub fn carve(&mut self, kind: ContextKind, context: bool) -> Option<Slot> {
        let (heads, finals) = self.layout.room(kind.warps(), kind.each())?;
        let bytes = heads.checked_add(finals)?.checked_next_multiple_of(256)?;
        let tracks = kind.tracks().bytes(kind.recorded())?;
        let regions = if tracks > 0 { below(self.back, tracks, 1 << kind.tracks().log)? } else { self.back };
        let back = regions.checked_sub(bytes)? / 256 * 256;
        let sums = self.layout.sums();
        let front = if context { CONTEXT } else { 0 };
        if back < self.front.checked_add(front + sums)? {
            return None;
        }
        self.back = back;
        let at = self.front;
        self.front += front + sums;
        let finals = if finals > 0 { self.back + heads } else { 0 };
        let tracks = if tracks > 0 { regions } else { 0 };
        let context = if context { at } else { 0 };
        Some(Slot { context, sums: at + front, heads: self.back, finals, tracks, kind })
    }
    /// The context of a slot.
    pub fn context(&self, slot: &Slot) -> Context {
        let memory = StreamMemory {
            level: self.layout.level,
            warp_size: self.layout.warp_size,
            pool: self.area.pool,
            size: self.layout.pool,
            bucket: self.area.bucket,
            cursor: self.area.cursor,
            magazines: self.area.cursor + ALONE,
        };
        memory.context(slot)
    }
}

/// Adds room for tracks to a launch's kind. `lately` is what a track of this kernel needed recently; without
/// it, tracks share half of an arena. Warps without room are not recorded.
pub(super) fn tracked(
    kind: ContextKind,
    layout: &Layout,
    tracks: &tracks::Layout,
    lately: Option<u64>,
) -> ContextKind {
    // Leaves room for contexts, and for aligning the regions.
    let room = layout.arena.saturating_sub(512 + (1 << LOGS.1)).min(tracks::MOST);
    let (log, warps) = tracks.size(kind.recorded(), if lately.is_some() { room } else { room / 2 });
    let needed = || lately.map_or(log, |bytes| bytes.next_power_of_two().ilog2().max(LOGS.0));
    let enough = tracks.log().unwrap_or_else(needed);
    kind.tracked(TrackRegions { regions: tracks.regions(), log: log.min(enough) }, warps)
}

/// Highest address below `end` for `bytes` bytes of track regions, where their cursors do not wrap.
fn below(end: u64, bytes: u64, align: u64) -> Option<u64> {
    let at = end.checked_sub(bytes)? / align * align;
    // Last possible end of regions within this 4 GiB range.
    let last = (at >> 32 << 32) + ((1 << 32) - BEYOND);
    if tracks::fits(at, bytes) {
        Some(at)
    } else {
        last.checked_sub(bytes).filter(|at| tracks::fits(*at, bytes))
    }
}

/// Returns why a kernel's plan cannot be recorded with this layout, or `None` if it can.
pub(super) fn refused(layout: &Layout, plan: &prlx_plan::Plan, kernel: FuncId) -> Option<String> {
    if plan.request.level != layout.level {
        return Some(format!(
            "recording is at level {}, its code at {}",
            layout.level.label(),
            plan.request.level.label()
        ));
    }
    if plan.request.launch_hashes != layout.hashes {
        return Some("its code and the recording differ in whether they hash whole launches".to_owned());
    }
    let function = plan.functions.get(kernel.index()).zip(plan.module.functions.get(kernel.index()));
    let Some((planned, function)) = function else { return Some("its kernel is not in its plan".into()) };
    planned.skipped.clone().or_else(|| function.skipped.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::memory::context::ProbeContext;
    use prlx_plan::{Plan, RecordingRequest};
    use prlx_trace::Dim3;
    use prlx_trace::device::Finals;
    use prlx_trace::launch::Launch;

    const W32: WarpSize = WarpSize::W32;

    fn plan(level: Level) -> Plan {
        let request = RecordingRequest::new(level);
        let finals = Finals { used: [true, true, true, false], warp_size: W32, ..Finals::default() };
        Plan {
            request,
            warp_size: W32,
            module: Default::default(),
            functions: Vec::new(),
            probe_state: Default::default(),
            finals,
        }
    }

    #[test]
    fn parts_do_not_overlap_and_stay_in_the_budget() {
        for (level, tables) in [
            (Level::Path, 0),
            (Level::Values, 0),
            (Level::Fingerprint, 0),
            (Level::Events, 0),
            (Level::Operands, 0),
            (Level::Probe, 0),
            (Level::Probe, (3 << 20) + 1),
        ] {
            assert_eq!(Layout::new(level, W32, 512 << 10, tables), None);
            let layout = Layout::new(level, W32, 8 << 20, tables).unwrap();
            let base = 7 * layout.chunk();
            assert!(layout.total() <= 8 << 20, "{level:?} {}", layout.total());
            let areas = [layout.area(base, 0), layout.area(base, 1)];
            assert!(layout.tables_at(base) >= base + layout.nodes() && layout.tables <= tables);
            assert!(layout.tables_at(base) + layout.tables <= areas[0].pool);
            for area in areas {
                assert!(
                    area.pool.is_multiple_of(layout.chunk()) && area.bucket.is_multiple_of(layout.chunk())
                );
                assert!(area.pool >= base + layout.nodes() && area.bucket == area.pool + layout.pool);
                assert!(area.arena + layout.arena <= base + layout.total());
            }
            assert!(areas[0].arena + layout.arena <= areas[1].pool);
        }
    }

    #[test]
    fn an_arena_is_carved_from_both_ends() {
        let layout = Layout::new(Level::Fingerprint, W32, 4 << 20, 0).unwrap();
        let mut arena = Arena::new(layout, layout.area(0, 0));
        let plan = plan(Level::Fingerprint);
        let launch =
            Launch { grid: Dim3 { x: 33, y: 1, z: 1 }, warp_size: WarpSize::W32, ..Launch::default() };
        let kind = ContextKind::of(&plan, &launch, ProbeContext::default()).rounded();
        assert_eq!((kind.warps(), kind.recorded()), (40, 40));
        let (mut slots, all) = (Vec::new(), arena.left());
        while let Some(slot) = arena.carve(kind, true) {
            assert!(slot.heads.is_multiple_of(256) && slot.finals == slot.heads + 40 * 16);
            slots.push(slot);
        }
        let each = (40u64 * (16 + 48)).next_multiple_of(256);
        assert_eq!(slots.len() as u64, all / (each + CONTEXT));
        assert!(slots.last().unwrap().context + CONTEXT <= arena.used().0);
        assert_eq!(arena.used(), (slots.last().unwrap().heads, each * slots.len() as u64));
        assert!(arena.ever(kind));
        let huge = Launch { grid: Dim3 { x: 1 << 31, y: 65535, z: 65535 }, ..launch };
        let kind = ContextKind::of(&plan, &huge, ProbeContext::default());
        assert!(!arena.ever(kind) && arena.carve(kind, true).is_none());
    }

    #[test]
    fn probes_have_records_in_place_of_heads() {
        let layout = Layout::new(Level::Probe, W32, 4 << 20, 1 << 20).unwrap();
        let mut arena = Arena::new(layout, layout.area(0, 0));
        let plan = plan(Level::Probe);
        let launch =
            Launch { grid: Dim3 { x: 33, y: 1, z: 1 }, warp_size: WarpSize::W32, ..Launch::default() };
        let kind = |records| {
            ContextKind::of(
                &plan,
                &launch,
                ProbeContext { tables: 4096, records, number: 7, ..ProbeContext::default() },
            )
            .rounded()
        };
        let slot = arena.carve(kind(100), true).unwrap();
        let context = arena.context(&slot);
        assert_eq!(
            (context.tables, context.records, context.launch, context.finals),
            (4096, slot.finals, 7, 0)
        );
        assert!(slot.finals.is_multiple_of(256) && arena.used() == (slot.finals, 4096));
        let slot = arena.carve(kind(0), true).unwrap();
        assert_eq!((arena.context(&slot).records, arena.used().1), (0, 4096));
        assert!(!arena.ever(kind(1 << 20)) && arena.ever(kind(1 << 10)));
    }

    #[test]
    fn tracks_have_regions_where_cursors_do_not_wrap() {
        let layout = Layout::new(Level::Probe, W32, 64 << 20, 0).unwrap();
        assert!(layout.tracked());
        let plan = plan(Level::Probe);
        let of = |warps, lately| {
            let launch =
                Launch { grid: Dim3 { x: warps, y: 1, z: 1 }, warp_size: WarpSize::W32, ..Launch::default() };
            let kind = ContextKind::of(&plan, &launch, ProbeContext::default()).rounded();
            tracked(kind, &layout, &tracks::Layout::default(), lately)
        };
        // Nothing is known: half of an arena. Then as much as was wanted, or as there is.
        assert_eq!([of(1, None), of(40, None), of(4000, None)].map(|k| k.tracks().log), [19, 18, 11]);
        assert_eq!(
            [of(40, Some(0)), of(40, Some(4096)), of(40, Some(4097))].map(|k| k.tracks().log),
            [7, 12, 13]
        );
        assert_eq!([of(4000, Some(1 << 30)), of(4000, Some(64))].map(|k| k.tracks().log), [12, 7]);
        // What has no room is left out.
        let many = of(1 << 20, None);
        assert!(many.recorded() < 1 << 18 && many.tracks().log == 7, "{many:?}");
        for base in
            [7 << 20, (1 << 32) - BEYOND - (10 << 20), (1 << 32) - (20 << 20), (5 << 32) - (300 << 20)]
        {
            let mut arena = Arena::new(layout, layout.area(base, 0));
            let (mut end, mut slots) = (arena.back, 0);
            while let Some(slot) = arena.carve(of(40, Some(3000)), true) {
                let bytes = 40 << 12;
                assert!(slot.tracks.is_multiple_of(1 << 12) && tracks::fits(slot.tracks, bytes));
                assert!(slot.tracks + bytes <= end && slot.heads <= slot.tracks && slot.context < slot.heads);
                let context = arena.context(&slot);
                assert_eq!((context.tracks, context.track_log, context.warps), (slot.tracks, 12, 40));
                (end, slots) = (slot.heads, slots + 1);
            }
            assert_eq!(slots > 150, base == 7 << 20 || base == (5 << 32) - (300 << 20), "{base:x}: {slots}");
        }
    }
}
