//! Check for data races in shared and global memory, by happens-before (PTX ISA, Memory Consistency Model).
//!
//! Two accesses of different threads to a byte race if one of them writes, nothing orders them, and they are
//! not both strong (atomic, volatile, relaxed or stronger) with scopes that include both threads. These order
//! accesses: program order of a thread; barriers of the CTA and of the cluster; `bar.warp.sync`; a release
//! that an acquire observes, by `.release` and `.acquire` forms or by fences around strong accesses, at
//! scopes that include both threads; and mbarriers, where an arrival releases and a wait acquires. Lanes of a
//! warp are different threads: neither `shfl` nor a common instruction orders them. On AMD's devices they are
//! not: all lanes of a wave are at one instruction.
//!
//! Volatile accesses are strong, but order no other thread. A volatile read of data that meets a volatile
//! write of another value is therefore a race in shared memory, and a note in global memory, where programs
//! may mean it. A volatile read that polls a flag is neither.
//!
//! Some of AMD's targets have the same code for atomic stores as for plain ones. There, a store that meets an
//! atomic load counts as atomic ([`super::facts::Fact::unmarked`]).
//!
//! A read whose value the thread drops is no race ([`super::dropped`]), nor is one that meets an atomic if a
//! compare-and-swap of the same word checks its value ([`super::cas_reads`]).
//!
//! Two writes of the same value are a kind of their own, a note. A copy counts as a write of the thread that
//! began it. A product (`wgmma`) reads its operands when it is begun, and is then ordered after all that any
//! lane of its warp is ordered after. Later writes are not compared with that read, since one thread may say
//! for all four warps that the product has ended; `async_work` finds those that come before its end.
//!
//! # Limitations
//! - At most four unordered readers of a word are remembered.
//! - A wait acquires what all arrivals have released so far, including those for the next phase.
//! - Cluster scope counts as device scope. `fence.mbarrier_init` counts as a full fence. Order by `fence.sc`
//! - Reads of `tcgen05.mma` are not checked.

use std::sync::Arc;

use prlx_isa::view::{Order, Scope};
use prlx_trace::check::{Kind, Side, Space};
use rustc_hash::FxHashMap;

use crate::code::{AddrSpace, BarrierKind, MatrixOp, MbarrierKind, Op, WarpOpKind, WgmmaStep};
use crate::exec::cta_state::{CLUSTER, CtaState};
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::matrix::mma::stored_rows;
use crate::mem::Region;
use crate::mem::access::{VisibleMemory, each};
use prlx_lanes::{LANES, V64};

use super::accesses::{self, AccessKind, WarpAccess};
use super::async_work::products::shared_operands;
use super::clocks::{BarrierArrivals, CtaClocks, Published, Thread};
use super::dropped::StoredOnly;
use super::facts::Facts;
use super::findings::{self, CheckContext, WarpStep};
use super::happens_before::CtaNumber;
use super::pending::{PendingRaces, report};
use super::reach::Reach;
use super::recent::Recent;
use super::remedies;
use super::shadow::{self, AccessRecord, ShadowCell, ShadowMemory};
use super::stored::Stored;

/// The most places in memory that can hold a release at a time.
const PLACES: usize = 1 << 20;

/// The barrier of a cluster.
#[derive(Debug, Default)]
struct ClusterBarrier {
    arrivals: BarrierArrivals,
    /// The arrivals of the phase that completed last.
    done: Arc<BarrierArrivals>,
    /// How many CTAs of the cluster have ended.
    ended: u32,
}

/// The race check of a launch.
#[derive(Debug, Default)]
pub struct RaceCheck {
    cells: ShadowMemory,
    ctas: Recent<u64, CtaClocks>,
    /// What was released at each place in memory: region and offset.
    places: FxHashMap<(usize, u64), Published>,
    clusters: FxHashMap<u64, ClusterBarrier>,
    stored_only: StoredOnly,
}

/// How a step orders its accesses.
#[derive(Clone, Copy)]
struct AccessOrder<'a> {
    order: Order,
    /// For a plain store: its values.
    stores: Option<Stored<'a>>,
    /// The step waits for an mbarrier.
    waits: bool,
    /// The access counts the bytes of a copy at an mbarrier.
    counts: bool,
    /// The access is one of a product's reads, with which later accesses are not compared.
    product: bool,
}

/// An access of some lanes to the same place.
struct Access<'a> {
    access: &'a WarpAccess,
    /// The lanes that access this place.
    lanes: u32,
    region: &'a Region,
    at: u64,
    bytes: u32,
    writes: bool,
    order: Order,
    /// For a plain store: its values.
    stores: Option<Stored<'a>>,
    /// The access is one of a product's reads, with which later accesses are not compared.
    product: bool,
}

impl RaceCheck {
    /// Bytes of shadow memory that the check takes when `left` bytes are free.
    pub fn room(left: u64) -> u64 {
        (left / 4).min(shadow::LIMIT as u64)
    }
    /// The check at the start of a launch, when `left` bytes are free.
    pub fn new(launch: &Launch<'_>, left: u64) -> RaceCheck {
        RaceCheck {
            cells: ShadowMemory::new(RaceCheck::room(left)),
            stored_only: StoredOnly::of(launch),
            ..RaceCheck::default()
        }
    }
    /// Forgets a CTA that has ended: its storage is reused.
    pub fn end(&mut self, launch: &Launch<'_>, cta: &CtaState) {
        let id = cta.shared.id();
        self.cells.end(id);
        self.places.retain(|p, _| p.0 != id);
        self.ctas.take(cta.index);
        let cluster = cluster(launch, cta);
        if let Some(m) = self.clusters.get_mut(&cluster) {
            m.ended += 1;
            if u64::from(m.ended) >= launch.cluster.volume() {
                self.clusters.remove(&cluster);
            }
        }
    }
    /// Checks a step that the lanes `m` of the group `mask` are about to run, with its accesses. For a store,
    /// `m` may be empty.
    pub fn step(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        warp: &Warp,
        cta: &CtaState,
        op: &Op,
        (mask, m): (u32, u32),
        accesses: &[WarpAccess],
    ) {
        let code = cx.launch.code;
        let order = cx.facts.at(cx.who.step).order;
        let Ok(number) = CtaNumber::try_from(cta.index) else {
            return cx.log.unchecked("races of CTAs beyond number 4294967295");
        };
        if self.places.len() >= PLACES {
            // Without what is released from here on, ordered accesses would look like races.
            return cx.log.unchecked("races after a million places in memory had released something");
        }
        let mut clocks = self.ctas.take(cta.index).unwrap_or_else(|| {
            Box::new(CtaClocks {
                number,
                time: 1,
                lockstep: cx.launch.code.exec.map(|_| cx.launch.halves()),
                threads: vec![Thread::default(); cx.launch.warps as usize * LANES],
                alike: 0,
                floor: None,
                arrived: vec![None; CLUSTER],
                used: FxHashMap::default(),
                pending: PendingRaces::default(),
            })
        });
        self.use_values(cx, &mut clocks, warp, (mask, m));
        self.synchronise_step(cx, &mut clocks, warp, cta, op, m);
        clocks.find_alike(cx.who.warp, m);
        let r = visible_memory(cx.launch, cta, &warp.local);
        let matrix = match *op {
            Op::Exchange(i) => match code.warp_ops[i as usize].kind {
                WarpOpKind::Matrix(t) => Some(&code.matrix[t as usize]),
                _ => None,
            },
            _ => None,
        };
        let rows = match matrix {
            Some(MatrixOp::Store { mem, trans }) => Some(stored_rows(&warp.planes, mem, *trans)),
            _ => None,
        };
        let operands = product_reads(cx.launch, warp, cta, op, m);
        for (i, t) in accesses.iter().chain(&operands).enumerate() {
            // The mbarrier that counts the bytes of a copy.
            let counts = match op {
                Op::BulkCopy(_) => i == 2,
                Op::AsyncStore(_) => i == 1,
                Op::TensorCopy(t) => i == 1 && code.tensors[*t as usize].mbarrier.is_some(),
                _ => false,
            };
            let order = match *op {
                _ if counts => Order { strong: true, release: true, acquire: false, scope: Scope::Cluster },
                // What a copy reads and writes is not strong; what it updates is.
                Op::BulkCopy(_) | Op::TensorCopy(_) | Op::AsyncStore(_) | Op::LaneCopy(_)
                    if t.kind != AccessKind::Update =>
                {
                    Order::default()
                }
                _ => order,
            };
            let stores = match *op {
                Op::St(i) => Some(Stored::Registers(&code.mems[i as usize])),
                Op::Exchange(_) => match matrix {
                    Some(MatrixOp::Tile(tile)) if tile.store => Some(Stored::Element(tile, i)),
                    _ => rows.as_ref().map(Stored::Rows),
                },
                _ => None,
            };
            let waits = matches!(*op, Op::Mbarrier(b) if matches!(code.mbarriers[b as usize].kind,
                MbarrierKind::Test { .. }));
            let product = i >= accesses.len();
            let how = AccessOrder { order, stores, waits, counts, product };
            self.check_access(cx, &mut clocks, warp, &r, t, t.lanes & m, how);
        }
        if self.cells.full {
            cx.log.unchecked(
                "races in memory that was first touched when 1 GiB of notes on accesses was used up",
            );
        }
        self.ctas.put(cta.index, clocks);
    }
    /// Reports the races with reads whose values a store uses.
    fn use_values(
        &self,
        cx: &mut CheckContext<'_, '_>,
        clocks: &mut CtaClocks,
        warp: &Warp,
        (mask, m): (u32, u32),
    ) {
        for flow in self.stored_only.of_store(cx.who.step) {
            let lanes = match &flow.guard {
                None => m,
                Some(all) => all.iter().fold(mask, |m, &p| m & warp.planes.get_pred(p)),
            };
            let lanes = if flow.crosses && lanes != 0 { u32::MAX } else { lanes };
            if lanes == 0 {
                continue;
            }
            *clocks.used.entry((cx.who.warp, flow.load)).or_default() |= lanes;
            clocks.pending.report(cx, (cx.who.warp, flow.load), lanes);
        }
    }
    /// Orders accesses by a fence, a barrier or `bar.warp.sync` that the lanes `m` run.
    fn synchronise_step(
        &mut self,
        cx: &CheckContext<'_, '_>,
        clocks: &mut CtaClocks,
        warp: &Warp,
        cta: &CtaState,
        op: &Op,
        m: u32,
    ) {
        let code = cx.launch.code;
        let order = cx.facts.at(cx.who.step).order;
        match *op {
            Op::Fence => clocks.fence(cx.who.warp, m, order),
            Op::Barrier(i) => {
                let bar = &code.barriers[i as usize];
                match bar.kind {
                    BarrierKind::ClusterArrive => {
                        let barrier = self.clusters.entry(cluster(cx.launch, cta)).or_default();
                        if order.release {
                            clocks.arrive(cx.who.warp, m, &mut barrier.arrivals);
                        } else {
                            clocks.arrive_relaxed(cx.who.warp, m, &mut barrier.arrivals);
                        }
                    }
                    BarrierKind::ClusterWait => {
                        if let Some(barrier) = self.clusters.get(&cluster(cx.launch, cta)) {
                            clocks.learn(cx.who.warp, m, &barrier.done);
                        }
                    }
                    _ => {
                        let ids = warp.planes.w32[usize::from(bar.id)];
                        let mut rest = m;
                        while rest != 0 {
                            let id = ids.0[rest.trailing_zeros() as usize];
                            let mut same = 0;
                            each(rest, |l| same |= u32::from(ids.0[l] == id) << l);
                            rest &= !same;
                            let mut arrivals = clocks
                                .arrived
                                .get_mut(id as usize)
                                .and_then(Option::take)
                                .unwrap_or_default();
                            clocks.arrive(cx.who.warp, same, &mut arrivals);
                            arrivals.some_did_not_wait |= bar.kind == BarrierKind::Arrive;
                            if let Some(a) = clocks.arrived.get_mut(id as usize) {
                                *a = Some(arrivals);
                            }
                        }
                    }
                }
            }
            Op::Exchange(i)
                if matches!(
                    code.warp_ops[i as usize].kind,
                    WarpOpKind::Warp | WarpOpKind::Wgmma(WgmmaStep::Begin(_))
                ) =>
            {
                let mut all = BarrierArrivals::default();
                clocks.arrive(cx.who.warp, m, &mut all);
                clocks.learn(cx.who.warp, m, &all);
            }
            _ => {}
        }
    }
    /// A barrier of the CTA is complete, and the lanes that wait at it are about to continue.
    pub fn barrier_complete(&mut self, cta: u64, id: usize, warps: &[Warp]) {
        let Some(clocks) = self.ctas.get_mut(cta) else { return };
        let Some(mut all) = clocks.arrived.get_mut(id).and_then(Option::take) else { return };
        let waits = |w: &Warp| {
            let mut m = 0;
            each(w.at_barrier, |l| m |= u32::from(usize::from(w.barrier_id[l]) == id) << l);
            m
        };
        // When all threads wait, none has run anything since it arrived.
        if !all.some_did_not_wait && warps.iter().all(|w| w.alive & !waits(w) == 0) {
            all.known.learn_all(clocks.number, clocks.time);
        }
        clocks.time += 1;
        let mut learned = clocks.learned(&all);
        for w in warps {
            clocks.learn_more(w.index, waits(w), &all, &mut learned);
        }
    }
    /// The barrier of the cluster is complete. Called once for each CTA of the cluster.
    pub fn cluster_barrier_complete(&mut self, launch: &Launch<'_>, cta: &CtaState, warps: &[Warp]) {
        let Some(barrier) = self.clusters.get_mut(&cluster(launch, cta)) else { return };
        if !barrier.arrivals.is_empty() {
            barrier.done = Arc::new(std::mem::take(&mut barrier.arrivals));
        }
        let Some(clocks) = self.ctas.get_mut(cta.index) else { return };
        for w in warps {
            let mut m = 0;
            each(w.at_barrier, |l| m |= u32::from(usize::from(w.barrier_id[l]) == CLUSTER) << l);
            clocks.learn(w.index, m, &barrier.done);
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the parts of an access")]
    fn check_access(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        clocks: &mut CtaClocks,
        warp: &Warp,
        r: &VisibleMemory<'_>,
        t: &WarpAccess,
        m: u32,
        how: AccessOrder<'_>,
    ) {
        let AccessOrder { order, stores, waits, counts, product } = how;
        let mut hint = 0;
        for lanes in t.same_places(m) {
            let l = lanes.trailing_zeros() as usize;
            if !matches!(accesses::space(t.space, t.addr.0[l]), Space::Shared | Space::Global) {
                continue;
            }
            let Some((region, at)) = t.near(r, l, &mut hint) else { continue };
            let writes = t.kind != AccessKind::Read && !waits;
            let bytes = t.bytes[l];
            let access = Access { access: t, lanes, region, at, bytes, writes, order, stores, product };
            if !counts {
                self.access(cx, clocks, warp, &access);
            }
            if order.strong || cx.facts.at(cx.who.step).unmarked && !product {
                self.synchronise(clocks, cx.who.warp, &access, t.kind, waits);
            }
        }
    }
    fn access(&mut self, cx: &mut CheckContext<'_, '_>, clocks: &mut CtaClocks, warp: &Warp, a: &Access<'_>) {
        if a.writes && !a.order.strong && a.lanes.count_ones() > 1 && a.access.kind == AccessKind::Write {
            report_same_instruction(cx, warp, a);
        }
        let end = a.at + u64::from(a.bytes);
        for word in a.at / 4..end.div_ceil(4) {
            let bytes = match word * 4 {
                first if first >= a.at && first + 4 <= end => 15,
                first => (0..4).fold(0, |b, i| b | u32::from((a.at..end).contains(&(first + i))) << i),
            };
            let Some(cell) = self.cells.at(a.region.id(), word) else { return };
            let new = AccessRecord::new(
                clocks.number,
                clocks.time,
                cx.who.warp,
                a.lanes,
                cx.who.step,
                bytes,
                a.writes,
            );
            let meets = |old: &AccessRecord| {
                old.lanes != 0 && old.bytes() & bytes != 0 && (old.writes() || new.writes())
            };
            let before = cell.0.iter().any(meets).then_some(*cell);
            if !a.product {
                cell.drop_covered(clocks, cx.facts, new);
                cell.add(new);
            }
            for old in before.iter().flat_map(|cell| &cell.0).filter(|old| meets(old)) {
                conflict(cx, clocks, &self.stored_only, warp, a, new, *old);
            }
        }
    }
    /// Publishes and acquires by a strong access.
    fn synchronise(
        &mut self,
        clocks: &mut CtaClocks,
        warp: u32,
        a: &Access<'_>,
        kind: AccessKind,
        waits: bool,
    ) {
        let key = (a.region.id(), a.at);
        let number = clocks.number;
        let mut released = false;
        // They may learn different things.
        clocks.alike = 0;
        each(a.lanes, |l| {
            let time = clocks.time;
            let thread = &mut clocks.threads[warp as usize * LANES + l];
            if kind != AccessKind::Write
                && let Some(p) = self.places.get(&key)
            {
                let seen = p.at(number, if waits { Scope::Gpu } else { a.order.scope });
                if a.order.acquire {
                    thread.known = seen.acquired(&thread.known);
                } else {
                    thread.seen.join(&seen);
                }
            }
            if kind == AccessKind::Read || waits {
                return;
            }
            let published = if a.order.release {
                let mut known = (*thread.known).clone();
                known.learn(number, warp, 1 << l, time);
                released = true;
                Published::of(number, a.order.scope, &Arc::new(known))
            } else {
                thread.fenced.at(number, a.order.scope)
            };
            // A store replaces what was released there; an update adds to it.
            if kind == AccessKind::Write {
                self.places.remove(&key);
            }
            if !published.is_empty() {
                self.places.entry(key).or_default().join(&published);
            }
        });
        clocks.time += u32::from(released);
    }
}

/// The reads of the matrices in shared memory by a warp that begins a product, each lane some of them.
fn product_reads(launch: &Launch<'_>, warp: &Warp, cta: &CtaState, op: &Op, m: u32) -> Vec<WarpAccess> {
    let Op::Exchange(i) = *op else { return Vec::new() };
    let WarpOpKind::Wgmma(WgmmaStep::Begin(product)) = launch.code.warp_ops[i as usize].kind else {
        return Vec::new();
    };
    let pieces = shared_operands(&launch.code.products[product as usize], warp, cta);
    let access = |some: &[u64]| {
        let mut addr = V64([0; LANES]);
        addr.0[..some.len()].copy_from_slice(some);
        let lanes = (u32::MAX >> (LANES - some.len())) & m;
        let (kind, space) = (AccessKind::Read, AddrSpace::Shared);
        WarpAccess { kind, space, addr, bytes: [16; LANES], align: 16, lanes }
    };
    pieces.chunks(LANES).map(access).collect()
}

/// The number of the cluster of a CTA.
fn cluster(launch: &Launch<'_>, cta: &CtaState) -> u64 {
    let (grid, size, at) = (launch.config.grid, launch.cluster, cta.position);
    let many = crate::exec::grid_shape::clusters(grid, size);
    let row = u64::from(at.z / size.z.max(1)) * u64::from(many.y) + u64::from(at.y / size.y.max(1));
    row * u64::from(many.x) + u64::from(at.x / size.x.max(1))
}

impl ShadowCell {
    /// Drops the records that a new access covers: they are ordered before it, have no other bytes, are not
    /// writes unless the new access writes, and race with nothing that the new access does not race with.
    fn drop_covered(&mut self, clocks: &CtaClocks, facts: &Facts, new: AccessRecord) {
        let order = |r: AccessRecord| facts.at(r.step()).order;
        let here = order(new);
        // An atomic after a plain write of the same thread does not make that write atomic.
        let races_less = |old: AccessRecord| {
            here.strong && {
                let before = order(old);
                !(before.strong && before.scope >= here.scope)
            }
        };
        for old in &mut self.0 {
            let covered =
                old.lanes != 0 && old.bytes() & !new.bytes() == 0 && (new.writes() || !old.writes());
            if covered && !races_less(*old) && clocks.unordered(new.warp(), new.lanes, *old).0 == 0 {
                *old = AccessRecord::default();
            }
        }
    }
}

/// Reports lanes of one instruction that store to the same bytes.
fn report_same_instruction(cx: &mut CheckContext<'_, '_>, warp: &Warp, a: &Access<'_>) {
    let Some(stored) = a.stores else { return };
    let first = a.lanes.trailing_zeros() as usize;
    let mut other = 0;
    each(a.lanes, |l| other |= u32::from(!stored.values(warp, l).eq(stored.values(warp, first))) << l);
    let kind = if other == 0 { Kind::SameValue } else { Kind::Race };
    let others = if other == 0 { a.lanes & !(1 << first) } else { other };
    let (launch, step) = (cx.launch, cx.who.step);
    let here = WarpStep { lanes: a.lanes & !others, ..cx.who };
    let there = WarpStep { lanes: others, ..cx.who };
    let base = findings::memory(launch, a.access, first);
    let of = base.allocation.as_ref().map_or(0, |a| a.base);
    cx.log.add(launch, kind, WarpStep { lanes: a.lanes, ..cx.who }, Some(step), of, || {
        let what = match other {
            0 => format!("lanes of a warp write the same value to the same {} bytes at once", a.bytes),
            _ => format!("lanes of a warp write different values to the same {} bytes at once", a.bytes),
        };
        let side = |role, who| Side { memory: Some(base.clone()), ..findings::side(launch, role, who) };
        let mut f = findings::finding(
            kind,
            what,
            vec![side("this write", here), side("the same write, by other lanes", there)],
        );
        let shared = base.space == Space::Shared;
        f.help = (other != 0).then(|| remedies::for_one_instruction(launch, step, shared).into());
        f
    });
}

/// The noun for the access of a step.
fn noun(launch: &Launch<'_>, facts: &Facts, step: u32, writes: bool) -> String {
    let what = if writes { "write" } else { "read" };
    match launch.code.steps.get(step as usize).map(|s| s.op) {
        Some(Op::Atom(_)) => "atomic".into(),
        Some(Op::Mbarrier(_)) => "mbarrier operation".into(),
        Some(Op::LaneCopy(_) | Op::BulkCopy(_) | Op::TensorCopy(_) | Op::AsyncStore(_)) => {
            format!("copy's {what}")
        }
        _ if facts.at(step).order.strong => format!("volatile {what}"),
        _ => what.into(),
    }
}

/// Reports two accesses to a byte, one of which writes, if nothing orders them. If one of them reads a value
/// that its thread has not used so far, the report waits until it is.
fn conflict(
    cx: &mut CheckContext<'_, '_>,
    clocks: &mut CtaClocks,
    stored_only: &StoredOnly,
    warp: &Warp,
    a: &Access<'_>,
    new: AccessRecord,
    old: AccessRecord,
) {
    let (unordered, after) = clocks.unordered(new.warp(), new.lanes, old);
    if unordered == 0 {
        return;
    }
    let (now, before) = (cx.facts.at(cx.who.step), cx.facts.at(old.step()));
    let both = match (a.order.strong, before.order.strong) {
        (false, true) => now.unmarked && !old.writes(),
        (true, false) => before.unmarked && !new.writes(),
        (mine, other) => mine && other,
    };
    let narrow = old.cta != new.cta && (a.order.scope == Scope::Cta || before.order.scope == Scope::Cta);
    let l = new.lanes.trailing_zeros() as usize;
    let exchanged = both && exchanges(cx, warp, a, new, old);
    if both && !narrow && !exchanged {
        return;
    }
    // The swap of the thread that reads fails if the other access comes between the two.
    let (reader, writer) = if new.writes() { (before, a.order) } else { (now, before.order) };
    if reader.checked && writer.strong && new.writes() != old.writes() {
        return;
    }
    let same = old.writes() && keeps_value(warp, a, new.lanes);
    let shared = accesses::space(a.access.space, a.access.addr.0[l]) == Space::Shared;
    let kind = match exchanged && !shared {
        _ if same => Kind::SameValue,
        true => Kind::VolatileData,
        false => Kind::Race,
    };
    let (launch, facts) = (cx.launch, cx.facts);
    let (cta, warp, step) = (old.cta.into(), old.warp(), old.step());
    let there = WarpStep { cta, warp, lanes: unordered, upper: 0, step };
    let memory = findings::memory(launch, a.access, l);
    let base = memory.allocation.as_ref().map_or(0, |m| m.base);
    let reach = Reach::of(new, old);
    let here = WarpStep { lanes: new.lanes, ..cx.who };
    let make = || {
        let (this, other) =
            (noun(launch, facts, here.step, new.writes()), noun(launch, facts, old.step(), old.writes()));
        let an = |what: &str| format!("{} {what}", if what.starts_with('a') { "an" } else { "a" });
        let name = memory.allocation.as_ref().map_or_else(String::new, |m| format!(" of `{}`", m.name));
        let who = reach.who();
        let (this_one, that_one) = (an(&this), an(&other));
        let what = match (same, both) {
            (true, _) => {
                format!("a write{name} and {that_one} {who} give the same value, and nothing orders them")
            }
            (_, true) if narrow => {
                format!("{this_one}{name} and {that_one} {who} whose scope is only the CTA")
            }
            _ => {
                format!("{this_one}{name} and {that_one} {who} touch the same bytes, and nothing orders them")
            }
        };
        let mut first = findings::side(launch, format!("this {this}"), here);
        first.memory = Some(memory.clone());
        let second = findings::side(launch, format!("the {other} {who}"), there);
        let mut f = findings::finding(kind, what, vec![first, second]);
        f.help = Some(match both && narrow {
            true => "both need a scope that holds both threads: `.gpu` or `.sys`".into(),
            false => remedies::remedy(launch, reach, new, old),
        });
        f
    };
    let (reader, lanes) = if new.writes() { (old, unordered) } else { (new, after) };
    let read = (reader.warp(), reader.step());
    let used = if new.writes() { clocks.used.get(&read).copied().unwrap_or_default() } else { 0 };
    let waits =
        reach != Reach::Ctas && !reader.writes() && stored_only.has(reader.step()) && used & lanes == 0;
    if waits && !cx.log.has(launch, kind, here.step, old.step(), base) {
        let now = cx.log.now();
        clocks.pending.add((read, lanes), (here, old.step(), base), (reach, now), make);
    } else {
        report(cx, kind, here, (old.step(), base), reach, make);
    }
}

/// Whether a volatile read of data meets a volatile write of another value. Which of the two comes first then
/// decides what the thread reads. A read that polls a flag is no read of data.
fn exchanges(
    cx: &CheckContext<'_, '_>,
    warp: &Warp,
    a: &Access<'_>,
    new: AccessRecord,
    old: AccessRecord,
) -> bool {
    let (this, other) = (cx.facts.at(cx.who.step), cx.facts.at(old.step()));
    let reader = if new.writes() { other } else { this };
    let keeps = keeps_value(warp, a, new.lanes);
    this.volatile && other.volatile && new.writes() != old.writes() && !reader.polls && !keeps
}

/// Whether an access is a store of these lanes that leaves the memory unchanged.
fn keeps_value(warp: &Warp, a: &Access<'_>, lanes: u32) -> bool {
    let Some(stored) = a.stores.filter(|_| a.writes) else { return false };
    let mut keeps = true;
    each(lanes, |l| keeps &= stored.keeps(warp, l, a.region, a.at));
    keeps
}
