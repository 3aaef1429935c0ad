//! Check of asynchronous copies and products in flight: their destination must not be accessed, their source
//! not be written.
//!
//! Asynchronous work begins at its instruction. It is over when a thread has waited for it: for its group, in
//! the thread that owns the group; or for the phase of its mbarrier, in any thread of the CTA. Until then its
//! bytes and accumulators are marked, no matter when the copy really happens. Findings therefore do not
//! depend on the schedule.
//!
//! # Invariants
//! In global memory only accesses of the CTA that began the copy count. Races with other CTAs belong to the
//! race check.
//!
//! # Limitations
//! Effects of multicasts in other CTAs are not checked. `cp.async` in flight when its thread ends is not
//! reported; it does no harm.

use prlx_isa::ptx;
use prlx_isa::view::Operand;
use prlx_trace::check::{Allocation, Kind, Memory, Space};
use rustc_hash::FxHashMap;

use crate::code::{MbarrierKind, Op, WarpOpKind, WgmmaA, WgmmaStep};
use crate::copies::mbarrier::{self, MbarrierState};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::matrix::product::{Matrix, ROWS};
use crate::matrix::wgmma_state::WARPS;
use crate::mem::access::{VisibleMemory, each};
use prlx_lanes::LANES;

use super::accesses::{self, AccessKind, WarpAccess};
use super::facts::Facts;
use super::findings::{self, FindingLog, WarpStep};
use super::proxy::Proxy;

/// Bytes that are marked together: the least that a copy moves.
const WORD: u64 = 4;

/// The most asynchronous operations of one warp that are tracked; beyond it the oldest count as complete.
const MOST: usize = 1 << 14;

/// Bytes in memory.
#[derive(Clone, Copy, Debug)]
enum Span {
    /// Bytes of a CTA's shared memory: CTA, first and one past the last address.
    Shared(u64, u64, u64),
    /// Bytes of global memory: first and one past the last address.
    Global(u64, u64),
}

/// How a wait finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Group {
    /// `cp.async`: lane, and which of its groups.
    Copy(usize, u32),
    /// Bulk copies that a group completes: likewise.
    Bulk(usize, u32),
    /// `wgmma`: which group of the warp.
    Products(u32),
    /// An mbarrier alone.
    None,
}

/// Something under way.
#[derive(Clone, Debug)]
struct Pending {
    who: WarpStep,
    writes: Vec<Span>,
    reads: Vec<Span>,
    /// It joins what it writes to what is there: others may do so at the same time.
    updates: bool,
    /// Accumulators, as registers of [`Facts`].
    registers: Vec<u32>,
    /// Registers that it still reads.
    operands: Vec<u32>,
    group: Group,
    /// The parity of the phase of its mbarrier that completes it.
    phase: Option<bool>,
    /// For a product: the warps of the warpgroup that have waited for it, one bit each.
    waited: u8,
}

impl Pending {
    /// Whether what it reads must not be written by `who`: nobody has waited for it, or not this warp of its
    /// warpgroup. The wait of one warp is for the parts of all four; others learn of it through that warp.
    fn reads_on(&self, who: WarpStep) -> bool {
        let (group, place) = (who.warp / WARPS as u32, who.warp % WARPS as u32);
        let inside = who.cta == self.who.cta && group == self.who.warp / WARPS as u32;
        self.waited == 0 || inside && self.waited >> place & 1 == 0
    }
}

/// A warp's groups.
#[derive(Clone, Debug, Default)]
struct Groups {
    copies: [u32; LANES],
    bulks: [u32; LANES],
    products: u32,
    pending: Vec<u64>,
    /// Accumulators in flight, and of which product.
    registers: FxHashMap<u32, u64>,
    /// Operands in flight, likewise.
    operands: FxHashMap<u32, u64>,
}

/// By word of a CTA's shared memory: what still writes it, what still reads it; 0: nothing.
#[derive(Clone, Debug, Default)]
struct Words {
    written: Vec<u64>,
    /// The last that began, and how many there are.
    read: Vec<(u64, u32)>,
}

/// What a step is for this check, beyond its [`Op`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    None,
    /// `cp.async.bulk.commit_group`
    Commit,
    /// `cp.async.bulk.wait_group`; with `.read`: for the sources only.
    Wait(u32, bool),
    /// `fence.proxy.async`
    Fence,
}

/// All that is under way.
#[derive(Debug)]
pub struct AsyncCheck {
    pending: FxHashMap<u64, Pending>,
    next: u64,
    groups: FxHashMap<(u64, u32), Groups>,
    phases: FxHashMap<(u64, u64), Vec<u64>>,
    shared: FxHashMap<u64, Words>,
    /// Operations with a source or destination in global memory.
    global: Vec<u64>,
    acts: Vec<Act>,
    proxy: Proxy,
}

impl AsyncCheck {
    /// For a launch.
    pub fn new(launch: &Launch<'_>) -> AsyncCheck {
        AsyncCheck {
            pending: FxHashMap::default(),
            next: 0,
            groups: FxHashMap::default(),
            phases: FxHashMap::default(),
            shared: FxHashMap::default(),
            global: Vec::new(),
            acts: (0..launch.code.steps.len() as u32).map(|s| act(launch, s)).collect(),
            proxy: Proxy::new(launch.code),
        }
    }
    /// Lanes are about to run a step.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        (facts, log): (&Facts, &mut FindingLog),
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        self.registers(launch, facts, log, here);
        let op = launch.code.steps[here.step as usize].op;
        for t in accesses {
            self.touched(launch, log, cta, t, here);
            if !matches!(op, Op::BulkCopy(_) | Op::TensorCopy(_) | Op::LaneCopy(_))
                && t.kind != AccessKind::Read
            {
                self.proxy.wrote(launch, cta, t, here);
            }
        }
        match op {
            Op::LaneCopy(_) => self.copy(launch, cta, accesses, here),
            Op::LaneCopyCommit => each(here.lanes, |l| self.groups(here).copies[l] += 1),
            Op::LaneCopyWait(left) => self.wait(here, |g, groups| match g {
                Group::Copy(l, n) => here.lanes >> l & 1 == 1 && over(n, groups.copies[l], left),
                _ => false,
            }),
            Op::BulkCopy(_) | Op::TensorCopy(_) => self.bulk(launch, log, warp, cta, accesses, here),
            Op::AsyncStore(_) => self.send(launch, warp, cta, accesses, here),
            Op::Mbarrier(i) => self.mbarrier(launch, warp, cta, i, accesses, here),
            Op::Exchange(i) => {
                self.proxy.synced(here);
                if let WarpOpKind::Wgmma(what) = launch.code.warp_ops[i as usize].kind {
                    self.products(launch, (facts, log), warp, cta, what, here);
                }
            }
            _ => match self.acts[here.step as usize] {
                Act::None => {}
                Act::Commit => each(here.lanes, |l| self.groups(here).bulks[l] += 1),
                Act::Wait(left, read) => self.wait_bulk_groups(here, left, read),
                Act::Fence => self.proxy.fence(here),
            },
        }
    }
    fn groups(&mut self, here: WarpStep) -> &mut Groups {
        self.groups.entry((here.cta, here.warp)).or_default()
    }
    /// A CTA has ended, and with it its shared memory.
    pub fn end(&mut self, launch: &Launch<'_>, log: &mut FindingLog, cta: u64) {
        let own = |s: &Span| matches!(*s, Span::Shared(c, ..) if c == cta);
        let theirs = |s: &Span| matches!(*s, Span::Shared(c, ..) if c != cta);
        let mut ended: Vec<u64> = Vec::new();
        for (&n, p) in &self.pending {
            // What it sends to others is theirs to wait for.
            let gone = p.who.cta == cta && !p.writes.iter().any(theirs);
            if gone || p.reads.iter().chain(&p.writes).any(own) {
                ended.push(n);
            }
        }
        ended.sort_unstable();
        for n in ended {
            let Some(p) = self.pending.get(&n) else { continue };
            let engine = matches!(p.group, Group::Bulk(..) | Group::None);
            if let (true, Some(span)) = (engine, p.reads.iter().chain(&p.writes).find(|s| own(s))) {
                abandoned(launch, log, p, *span);
            }
            self.over(n);
        }
        self.groups.retain(|k, _| k.0 != cta);
        self.phases.retain(|k, _| k.0 != cta);
        self.shared.remove(&cta);
        self.proxy.end(cta);
    }
    /// A barrier of the CTA let these go on.
    pub fn passed(&mut self, who: WarpStep) {
        self.proxy.synced(who);
    }
    /// Marks what was begun.
    fn begin(&mut self, p: Pending) -> u64 {
        self.next += 1;
        let n = self.next;
        for (spans, written) in [(&p.writes, true), (&p.reads, false)] {
            for span in spans {
                match *span {
                    Span::Shared(cta, at, bytes) => {
                        let words = self.shared.entry(cta).or_default();
                        let (first, end) = ((at / WORD) as usize, (at + bytes).div_ceil(WORD) as usize);
                        if words.written.len() < end {
                            words.written.resize(end, 0);
                            words.read.resize(end, (0, 0));
                        }
                        if written {
                            words.written[first..end].fill(n);
                        } else {
                            words.read[first..end].iter_mut().for_each(|r| *r = (n, r.1 + 1));
                        }
                    }
                    Span::Global(..) => {
                        if self.global.last() != Some(&n) {
                            self.global.push(n);
                        }
                    }
                }
            }
        }
        let groups = self.groups(p.who);
        groups.pending.push(n);
        let oldest = (groups.pending.len() > MOST).then(|| groups.pending[0]);
        p.registers.iter().for_each(|&r| _ = groups.registers.insert(r, n));
        p.operands.iter().for_each(|&r| _ = groups.operands.insert(r, n));
        self.pending.insert(n, p);
        oldest.into_iter().for_each(|n| self.over(n));
        n
    }
    /// An mbarrier's phase completes it.
    fn completes(&mut self, key: (u64, u64), n: u64) {
        let (waiting, pending) = (self.phases.entry(key).or_default(), &self.pending);
        waiting.push(n);
        if waiting.len() > MOST {
            waiting.retain(|n| pending.contains_key(n));
        }
    }
    /// Takes away marks.
    fn unmark(&mut self, n: u64, spans: &[Span], written: bool) {
        for span in spans {
            let Span::Shared(cta, at, bytes) = *span else { continue };
            let Some(words) = self.shared.get_mut(&cta) else { continue };
            let end = ((at + bytes).div_ceil(WORD) as usize).min(words.written.len());
            let range = (at / WORD) as usize..end;
            if written {
                let marks = words.written.get_mut(range).into_iter().flatten();
                marks.filter(|w| **w == n).for_each(|w| *w = 0);
            } else {
                words.read.get_mut(range).into_iter().flatten().for_each(|r| r.1 = r.1.saturating_sub(1));
            }
        }
    }
    /// It is over.
    fn over(&mut self, n: u64) {
        let Some(p) = self.pending.remove(&n) else { return };
        self.unmark(n, &p.writes, true);
        self.unmark(n, &p.reads, false);
        self.global.retain(|&g| g != n);
        if let Some(groups) = self.groups.get_mut(&(p.who.cta, p.who.warp)) {
            groups.pending.retain(|&g| g != n);
            groups.registers.retain(|_, g| *g != n);
            groups.operands.retain(|_, g| *g != n);
        }
        if matches!(p.group, Group::Copy(..)) {
            // Compilers leave no fence between `cp.async` and a product.
            for span in &p.writes {
                if let Span::Shared(cta, at, bytes) = *span {
                    self.proxy.replaced(cta, at, bytes);
                }
            }
        }
    }
    /// Ends what a warp waits for.
    fn wait(&mut self, here: WarpStep, due: impl Fn(Group, &Groups) -> bool) {
        let Some(groups) = self.groups.get(&(here.cta, here.warp)) else { return };
        let due = |n: &&u64| self.pending.get(n).is_some_and(|p| due(p.group, groups));
        let all: Vec<u64> = groups.pending.iter().filter(due).copied().collect();
        all.into_iter().for_each(|n| self.over(n));
    }
    fn copy(&mut self, launch: &Launch<'_>, cta: &CtaState, accesses: &[WarpAccess], here: WarpStep) {
        let [from, to] = accesses else { return };
        each(here.lanes & to.lanes, |l| {
            let reads = if from.lanes >> l & 1 == 1 { span(launch, cta, from, l) } else { None };
            let group = Group::Copy(l, self.groups(here).copies[l]);
            self.begin(Pending {
                who: WarpStep { lanes: 1 << l, ..here },
                writes: span(launch, cta, to, l).into_iter().collect(),
                reads: reads.into_iter().collect(),
                updates: false,
                registers: Vec::new(),
                operands: Vec::new(),
                group,
                phase: None,
                waited: 0,
            });
        });
    }
    fn bulk(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let code = launch.code;
        let (counted, ranks) = match code.steps[here.step as usize].op {
            Op::TensorCopy(i) => {
                (code.tensors[i as usize].mbarrier.is_some().then_some(1), code.tensors[i as usize].multicast)
            }
            Op::BulkCopy(i) => {
                (code.bulks[i as usize].mbarrier.is_some().then_some(2), code.bulks[i as usize].multicast)
            }
            _ => return,
        };
        let r = visible_memory(launch, cta, &warp.local);
        each(here.lanes, |l| {
            // What only others receive is theirs to wait for.
            if ranks.is_some_and(|p| warp.planes.w32[usize::from(p)].0[l] >> cta.rank & 1 == 0) {
                return;
            }
            let who = WarpStep { lanes: 1 << l, ..here };
            let (mut reads, mut writes, mut updates) = (Vec::new(), Vec::new(), false);
            let moved = accesses.iter().enumerate().filter(|(i, _)| Some(*i) != counted);
            for (_, t) in moved.filter(|(_, t)| t.lanes >> l & 1 == 1) {
                let Some(span) = span(launch, cta, t, l) else { continue };
                updates |= t.kind == AccessKind::Update;
                match (span, t.kind) {
                    (Span::Shared(cta, at, bytes), AccessKind::Read) => {
                        self.proxy.read(launch, log, (cta, at, bytes), who);
                    }
                    (Span::Shared(cta, at, bytes), _) => self.proxy.replaced(cta, at, bytes),
                    _ => {}
                }
                if t.kind == AccessKind::Read { reads.push(span) } else { writes.push(span) }
            }
            let phase = counted
                .and_then(|i| accesses.get(i))
                .and_then(|t| phase_of(t, &r, l).map(|p| (accesses::owner(launch, cta, t, l), p)));
            let group = match phase {
                Some(_) => Group::None,
                None => Group::Bulk(l, self.groups(here).bulks[l]),
            };
            let n = self.begin(Pending {
                who,
                writes,
                reads,
                updates,
                registers: Vec::new(),
                operands: Vec::new(),
                group,
                phase: phase.map(|(_, (_, parity))| parity),
                waited: 0,
            });
            if let Some((cta, (at, _))) = phase {
                self.completes((cta, at), n);
            }
        });
    }
    fn send(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let [to, counted] = accesses else { return };
        let r = visible_memory(launch, cta, &warp.local);
        each(here.lanes & to.lanes, |l| {
            let Some((at, parity)) = phase_of(counted, &r, l) else { return };
            let n = self.begin(Pending {
                who: WarpStep { lanes: 1 << l, ..here },
                writes: span(launch, cta, to, l).into_iter().collect(),
                reads: Vec::new(),
                updates: to.kind == AccessKind::Update,
                registers: Vec::new(),
                operands: Vec::new(),
                group: Group::None,
                phase: Some(parity),
                waited: 0,
            });
            self.completes((accesses::owner(launch, cta, counted, l), at), n);
        });
    }
    fn wait_bulk_groups(&mut self, here: WarpStep, left: u32, read: bool) {
        let bulks = self.groups(here).bulks;
        let due =
            |g: Group| matches!(g, Group::Bulk(l, n) if here.lanes >> l & 1 == 1 && over(n, bulks[l], left));
        if !read {
            return self.wait(here, |g, _| due(g));
        }
        for n in self.due(here, due) {
            let reads = self.pending.get_mut(&n).map(|p| std::mem::take(&mut p.reads)).unwrap_or_default();
            self.unmark(n, &reads, false);
        }
    }
    /// What a warp has under way in groups that are due.
    fn due(&self, of: WarpStep, due: impl Fn(Group) -> bool) -> Vec<u64> {
        let pending = self.groups.get(&(of.cta, of.warp)).map_or(&[][..], |g| &g.pending);
        pending.iter().copied().filter(|n| self.pending.get(n).is_some_and(|p| due(p.group))).collect()
    }
    fn mbarrier(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        i: u32,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let (bar, r) = (&launch.code.mbarriers[i as usize], visible_memory(launch, cta, &warp.local));
        let [t] = accesses else { return };
        each(here.lanes, |l| {
            let Some((at, parity)) = phase_of(t, &r, l) else { return };
            let key = (accesses::owner(launch, cta, t, l), at);
            match bar.kind {
                MbarrierKind::ArriveCopies { .. } => {
                    // The lane's copies so far are over with this phase, too.
                    let mut so_far = self.groups(here).pending.clone();
                    so_far.retain(|n| {
                        let copy = self.pending.get_mut(n).filter(|p| p.phase.is_none());
                        let copy = copy.filter(|p| matches!(p.group, Group::Copy(of, _) if of == l));
                        copy.map(|p| p.phase = Some(parity)).is_some()
                    });
                    so_far.into_iter().for_each(|n| self.completes(key, n));
                }
                MbarrierKind::Test { .. } => {
                    let asked = mbarrier::phase(bar, &warp.planes, l);
                    if parity == asked {
                        return;
                    }
                    self.proxy.synced(WarpStep { lanes: 1 << l, ..here });
                    let Some(mut waiting) = self.phases.remove(&key) else { return };
                    waiting.retain(|n| {
                        let phase = self.pending.get(n).map(|p| p.phase);
                        if phase == Some(Some(asked)) {
                            self.over(*n);
                        }
                        phase.is_some() && phase != Some(Some(asked))
                    });
                    if !waiting.is_empty() {
                        self.phases.insert(key, waiting);
                    }
                }
                _ => {}
            }
        });
    }
    fn products(
        &mut self,
        launch: &Launch<'_>,
        (facts, log): (&Facts, &mut FindingLog),
        warp: &Warp,
        cta: &CtaState,
        what: WgmmaStep,
        here: WarpStep,
    ) {
        match what {
            WgmmaStep::Fence => {}
            WgmmaStep::Commit => self.groups(here).products += 1,
            WgmmaStep::Wait(left) => {
                let begun = self.groups(here).products;
                let due = |g: Group| matches!(g, Group::Products(n) if over(n, begun, left));
                let first = here.warp / WARPS as u32 * WARPS as u32;
                for warp in first..first + WARPS as u32 {
                    for n in self.due(WarpStep { warp, ..here }, due) {
                        let Some(p) = self.pending.get_mut(&n) else { continue };
                        p.waited |= 1 << (here.warp - first);
                        let whole = p.waited == (1 << WARPS) - 1;
                        if warp == here.warp {
                            // Its results and what it read of registers are its own to wait for.
                            let groups = self.groups(here);
                            groups.registers.retain(|_, g| *g != n);
                            groups.operands.retain(|_, g| *g != n);
                        }
                        if whole {
                            self.over(n);
                        }
                    }
                }
            }
            WgmmaStep::Begin(i) => {
                let op = &launch.code.products[i as usize];
                let matrix = |plane: u16| Matrix::new(warp.planes.w64[usize::from(plane)].0[0]);
                let mut pieces = matrix(op.b).pieces(0, !op.transpose[1], op.n as usize);
                if let WgmmaA::Shared(a) = op.a {
                    pieces.extend(matrix(a).pieces(
                        warp.index as usize % WARPS * ROWS,
                        !op.transpose[0],
                        ROWS,
                    ));
                }
                pieces.retain(|at| at + 16 <= cta.shared.len());
                for &at in &pieces {
                    self.proxy.read(launch, log, (here.cta, at, 16), here);
                    self.product_reads(launch, log, here, at);
                }
                let group = Group::Products(self.groups(here).products);
                self.begin(Pending {
                    who: here,
                    writes: Vec::new(),
                    reads: pieces.into_iter().map(|at| Span::Shared(here.cta, at, 16)).collect(),
                    updates: false,
                    registers: facts.regs(&facts.at(here.step).defs).to_vec(),
                    operands: match op.a {
                        WgmmaA::Registers(_) => facts.operand(launch, here.step, 1),
                        WgmmaA::Shared(_) => Vec::new(),
                    },
                    group,
                    phase: None,
                    waited: 0,
                });
            }
        }
    }
    /// The operation that still reads some bytes: the last one that began, or the first of those in flight.
    fn reader(&self, last: u64, cta: u64, at: u64, bytes: u64) -> u64 {
        let reads = |s: &Span| {
            matches!(*s, Span::Shared(c, from, n) if c == cta && at < from + n
            && from < at + bytes)
        };
        if self.pending.contains_key(&last) {
            return last;
        }
        let left = self.pending.iter().filter(|(_, p)| p.reads.iter().any(reads)).map(|(&n, _)| n);
        left.min().unwrap_or(last)
    }
    /// A product reads a piece of shared memory that a copy may still write.
    fn product_reads(&self, launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, at: u64) {
        let words = self.shared.get(&here.cta).map_or(&[][..], |w| &w.written);
        let mark = words.iter().skip((at / WORD) as usize).take(4).find(|&&n| n != 0);
        if let Some(p) = mark.and_then(|n| self.pending.get(n)) {
            let allocation = findings::allocation(launch, Space::Shared, at);
            report(
                launch,
                log,
                (here, AccessKind::Read),
                p,
                true,
                Memory { space: Space::Shared, address: at, bytes: 16, allocation },
            );
        }
    }
    /// An instruction other than a product uses accumulators of one that is under way, or changes what one
    /// still reads.
    fn registers(&self, launch: &Launch<'_>, facts: &Facts, log: &mut FindingLog, here: WarpStep) {
        if self.pending.is_empty() {
            return;
        }
        let Some(groups) = self.groups.get(&(here.cta, here.warp)) else { return };
        if groups.registers.is_empty() && groups.operands.is_empty() {
            return;
        }
        if let Op::Exchange(i) = launch.code.steps[here.step as usize].op
            && matches!(launch.code.warp_ops[i as usize].kind, WarpOpKind::Wgmma(_))
        {
            return;
        }
        let fact = facts.at(here.step);
        let mut changed = facts.regs(&fact.defs).iter();
        if let Some((&reg, p)) = changed.find_map(|r| Some((r, self.pending.get(groups.operands.get(r)?)?))) {
            log.add(launch, Kind::StillRead, here, Some(p.who.step), 0, || {
                let sides = vec![
                    findings::side(launch, "this change", here),
                    findings::side(launch, "the product that is under way", p.who),
                ];
                let what =
                    format!("changes register `{}`, which a product may still read", facts.name(launch, reg));
                let mut f = findings::finding(Kind::StillRead, what, sides);
                f.help = Some("wait for it with `wgmma.wait_group`".into());
                f
            });
        }
        let mut all = [&fact.uses, &fact.addr, &fact.defs].into_iter().flat_map(|r| facts.regs(r));
        let Some((reg, n)) = all.find_map(|r| groups.registers.get(r).map(|n| (*r, *n))) else { return };
        let Some(p) = self.pending.get(&n) else { return };
        log.add(launch, Kind::Accumulator, here, Some(p.who.step), 0, || {
            let sides = vec![
                findings::side(launch, "this use", here),
                findings::side(launch, "the product that it is an accumulator of", p.who),
            ];
            let what =
                format!("uses register `{}` while a product may still write it", facts.name(launch, reg));
            let mut f = findings::finding(Kind::Accumulator, what, sides);
            f.help = Some("wait with `wgmma.wait_group` first".into());
            f
        });
    }
    /// Looks for marks on what an access accesses.
    fn touched(
        &self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        cta: &CtaState,
        t: &WarpAccess,
        here: WarpStep,
    ) {
        if self.pending.is_empty() {
            return;
        }
        // By what is under way, and whether it writes: the lanes that are in its way.
        let mut hits: Vec<(u64, bool, u32)> = Vec::new();
        each(t.lanes, |l| {
            let mut hit = |n: u64, writes: bool| {
                let Some(p) = self.pending.get(&n) else { return };
                if writes && p.updates && t.kind == AccessKind::Update {
                    return;
                }
                let same = |&&mut (m, w, _): &&mut (u64, bool, u32)| {
                    w == writes && self.pending.get(&m).is_some_and(|q| q.who.step == p.who.step)
                };
                match hits.iter_mut().find(same) {
                    Some((.., lanes)) => *lanes |= 1 << l,
                    None => hits.push((n, writes, 1 << l)),
                }
            };
            match span(launch, cta, t, l) {
                Some(Span::Shared(cta, at, bytes)) => {
                    let Some(words) = self.shared.get(&cta) else { return };
                    let range = (at / WORD) as usize..(at + bytes).div_ceil(WORD) as usize;
                    let written = words.written.iter().take(range.end).skip(range.start);
                    if let Some(n) = written.copied().find(|&n| n != 0) {
                        hit(n, true);
                    }
                    let read = words.read.iter().take(range.end).skip(range.start).find(|r| r.1 > 0);
                    if let Some(&(n, _)) = read.filter(|_| t.kind != AccessKind::Read) {
                        let n = self.reader(n, cta, at, bytes);
                        if self.pending.get(&n).is_some_and(|p| p.reads_on(here)) {
                            hit(n, false);
                        }
                    }
                }
                Some(Span::Global(at, bytes)) => {
                    for &n in &self.global {
                        let Some(p) = self.pending.get(&n).filter(|p| p.who.cta == here.cta) else {
                            continue;
                        };
                        if p.writes.iter().any(|s| s.meets(at, bytes)) {
                            hit(n, true);
                        }
                        if t.kind != AccessKind::Read && p.reads.iter().any(|s| s.meets(at, bytes)) {
                            hit(n, false);
                        }
                    }
                }
                None => {}
            }
        });
        for (n, writes, lanes) in hits {
            if let Some(p) = self.pending.get(&n) {
                let first = lanes.trailing_zeros() as usize;
                report(
                    launch,
                    log,
                    (WarpStep { lanes, ..here }, t.kind),
                    p,
                    writes,
                    findings::memory(launch, t, first),
                );
            }
        }
    }
}

impl Span {
    /// Whether it has some of these bytes of global memory.
    fn meets(self, at: u64, bytes: u64) -> bool {
        matches!(self, Span::Global(from, n) if at < from.saturating_add(n)
            && from < at.saturating_add(bytes))
    }
}

/// Whether group `n` of `begun` is over when `left` may be under way.
fn over(n: u32, begun: u32, left: u32) -> bool {
    left == u32::MAX || n < begun.saturating_sub(left)
}

/// The bytes of a lane's access.
fn span(launch: &Launch<'_>, cta: &CtaState, t: &WarpAccess, l: usize) -> Option<Span> {
    let (at, bytes) = (t.addr.0[l], u64::from(t.bytes[l]));
    match accesses::space(t.space, at) {
        _ if bytes == 0 => None,
        Space::Shared => {
            // All CTAs have the same; what lies outside is another check's.
            let at = accesses::within(t.space, at);
            let inside = cta.shared.len().checked_sub(bytes).is_some_and(|last| at <= last);
            inside.then(|| Span::Shared(accesses::owner(launch, cta, t, l), at, bytes))
        }
        Space::Global => Some(Span::Global(at, bytes)),
        _ => None,
    }
}

/// Where a lane's mbarrier is, and the parity of its phase.
fn phase_of(t: &WarpAccess, r: &VisibleMemory<'_>, l: usize) -> Option<(u64, bool)> {
    let (region, at) = t.at(r, l)?;
    Some((at, MbarrierState::read(region.load64(at)).parity()))
}

fn report(
    launch: &Launch<'_>,
    log: &mut FindingLog,
    (who, kind): (WarpStep, AccessKind),
    p: &Pending,
    writes: bool,
    memory: Memory,
) {
    let kind = if writes { Kind::NotLanded } else { Kind::StillRead };
    let base = memory.allocation.as_ref().map_or(0, |a: &Allocation| a.base);
    log.add(launch, kind, who, Some(p.who.step), base, || {
        let mut first = findings::side(launch, format!("this {}", kind.noun()), who);
        first.memory = Some(memory);
        let by = if matches!(p.group, Group::Products(_)) { "product" } else { "copy" };
        let does = if writes { "write" } else { "read" };
        let role = format!("the {by} that is under way");
        let what = format!("{} memory that a {by} may still {does}", kind.verb());
        let mut f = findings::finding(kind, what, vec![first, findings::side(launch, role, p.who)]);
        f.help = Some(
            match (p.group, writes) {
                (Group::Copy(..), _) => "wait for it with `cp.async.wait_group`, once it is committed",
                (Group::Bulk(..), true) => "wait for it with `cp.async.bulk.wait_group`",
                (Group::Bulk(..), false) => "wait for it with `cp.async.bulk.wait_group.read`",
                (Group::Products(_), _) => "wait for it with `wgmma.wait_group`",
                (Group::None, _) => "wait for the phase of its mbarrier",
            }
            .into(),
        );
        f
    });
}

/// A copy is under way when the CTA ends whose shared memory it uses.
fn abandoned(launch: &Launch<'_>, log: &mut FindingLog, p: &Pending, span: Span) {
    let Span::Shared(cta, at, bytes) = span else { return };
    log.add(launch, Kind::LeftUnderWay, p.who, None, 0, || {
        let mut side = findings::side(launch, "begun here", p.who);
        let allocation = findings::allocation(launch, Space::Shared, at);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        side.memory = Some(Memory { space: Space::Shared, address: at, bytes, allocation });
        let place = launch.config.grid.position(cta);
        let what = format!("nobody has waited for a copy when CTA {place} ends, whose shared memory it uses");
        let mut f = findings::finding(Kind::LeftUnderWay, what, vec![side]);
        f.help = Some(
            match p.group {
                Group::Bulk(..) => {
                    "wait with `cp.async.bulk.wait_group.read` before the end, once it is committed"
                }
                _ => "wait for the phase of its mbarrier before the end",
            }
            .into(),
        );
        f
    });
}

/// What a step is, from its instruction.
fn act(launch: &Launch<'_>, step: u32) -> Act {
    let Some(i) = findings::instruction(launch, step).filter(|_| launch.code.steps[step as usize].cost > 0)
    else {
        return Act::None;
    };
    let f = &i.form;
    match f.op {
        Some(ptx::Op::Fence) if f.has("proxy") && f.has("async") => Act::Fence,
        Some(ptx::Op::Cp) if f.has("bulk") && f.has("commit_group") => Act::Commit,
        Some(ptx::Op::Cp) if f.has("bulk") && f.has("wait_group") => match i.operands.first() {
            Some(Operand::Int(n)) => Act::Wait(u32::try_from(*n).unwrap_or(0), f.has("read")),
            _ => Act::None,
        },
        _ => Act::None,
    }
}
