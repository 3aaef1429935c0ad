//! Check for uninitialised values: which bytes of memory and lanes of registers were never written, and where
//! they are used.
//!
//! The result of an instruction is undefined in a lane if a source is. `selp` follows the source that it
//! selects, and a shuffle the lane that it reads. A matrix product is undefined if one of its three matrices
//! is entirely undefined. A copy of an undefined value into shared or local memory is no finding: the bytes
//! become undefined. A finding is a *use*: a guard or a branch, an address, a store to global memory, an
//! operand of an atomic, or an update of bytes that were never written. A value that was reported counts as
//! defined afterwards, so that one cause gives one finding.
//!
//! Initially defined: what the host wrote, module variables and parameters. Initially undefined: registers,
//! shared and local memory when a CTA begins, blocks of `malloc`, and buffers that nobody wrote or that are
//! `uninit`.
//!
//! # Limitations
//! - Registers are tracked whole: `x & 0` of an undefined `x` is undefined, and so is every byte of `x`.
//! - The carry flag and the registers of recursive functions are not tracked.
//! - Reads of `wgmma`, `wmma.load`, tensor copies and `vprintf` are not checked.
//! - What one launch leaves undefined counts as defined in the next.

use prlx_isa::view::FuncId;
use prlx_trace::check::{Kind, Side, Space};
use rustc_hash::FxHashMap;

use crate::code::{
    AddrSpace, Callee, MatrixOp, MbarrierKind, MemAccess, Op, Plane, Rmw, Slot, TensorCopy, WarpOp,
    WarpOpKind, WgmmaStep,
};
use crate::copies::bulk;
use crate::exec::cta_state::CtaState;
use crate::exec::exchange::exchange;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::{VisibleMemory, each};
use prlx_lanes::{LANES, Planes, V32};

use super::accesses::{self, AccessKind, WarpAccess};
use super::facts::Fact;
use super::findings::{self, CheckContext, WarpStep};
use super::undefined::Undefined;

/// The origin of an undefined value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// Memory that nothing wrote: the lanes and step that read it, its space and address, and how many bytes.
    Memory(WarpStep, AddrSpace, u64, u32),
    /// A register that nothing wrote, by number.
    Register(u32),
}

/// A warp's registers.
#[derive(Debug)]
struct Registers {
    /// By register: the lanes in which it is undefined.
    undefined: Vec<u32>,
    /// By register: the origin of its undefined value; `None`: the register itself was never written.
    origin: Vec<Option<Origin>>,
}

/// The check for uninitialised values of a launch.
#[derive(Debug, Default)]
pub struct InitCheck {
    memory: Undefined,
    warps: FxHashMap<(u64, u32), Registers>,
}

impl InitCheck {
    /// The check at the start of a launch.
    pub fn new(launch: &Launch<'_>) -> InitCheck {
        let mut init = InitCheck::default();
        for (region, at, bytes) in launch.memory.unwritten_ranges() {
            init.memory.mark_undefined(region, at, bytes);
        }
        init
    }
    /// Marks a new block of `malloc` as undefined.
    pub fn malloc(&mut self, launch: &Launch<'_>, at: u64, bytes: u64) {
        if let Some((region, off)) = launch.memory.range(at, bytes) {
            self.memory.mark_undefined(region, off, bytes);
        }
    }
    /// Forgets a CTA that has ended: its storage is reused.
    pub fn end(&mut self, cta: &CtaState, warps: &[Warp]) {
        self.memory.end(&cta.shared);
        for w in warps {
            self.memory.end(&w.local);
            self.warps.remove(&(cta.index, w.index));
        }
    }
    fn begin(&mut self, cx: &CheckContext<'_, '_>, warp: &Warp, cta: &CtaState) -> Registers {
        if !self.memory.tracks(&cta.shared) {
            self.memory.begin(&cta.shared);
        }
        self.memory.begin(&warp.local);
        let n = cx.facts.registers as usize;
        let mut undefined = vec![u32::MAX; n];
        for (i, f) in cx.launch.module.functions.iter().enumerate() {
            let entry = cx.launch.code.entries.get(i);
            let all = cx.facts.of_function(i, f);
            if entry.is_some_and(|e| e.saved.is_some()) {
                undefined[all.start as usize..all.end as usize].fill(0);
            }
            for r in &f.reg_params {
                undefined[all.start as usize + r.index()] = 0;
            }
        }
        Registers { undefined, origin: vec![None; n] }
    }
    /// Checks a step that the lanes `m` of the group `mask` are about to run, with its accesses.
    #[allow(clippy::too_many_arguments, reason = "the parts of a step")]
    pub fn step(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        warp: &Warp,
        cta: &CtaState,
        op: &Op,
        mask: u32,
        m: u32,
        accesses: &[WarpAccess],
    ) {
        let fact = cx.facts.at(cx.who.step);
        if !fact.main {
            return;
        }
        let key = (cx.who.cta, cx.who.warp);
        let mut regs = match self.warps.remove(&key) {
            Some(r) => r,
            None => self.begin(cx, warp, cta),
        };
        if let Some(g) = fact.guard {
            report_use(cx, &mut regs, g, mask, Kind::UndefinedBranch, None);
        }
        for &r in cx.facts.regs(&fact.addr) {
            report_use(cx, &mut regs, r, m, Kind::UndefinedAddress, accesses.first());
        }
        if m != 0 {
            let r = visible_memory(cx.launch, cta, &warp.local);
            self.track(cx, warp, &r, op, fact, m, accesses, &mut regs);
        }
        self.warps.insert(key, regs);
    }
    /// Marks the results of the step as defined, in lanes whose access was skipped.
    pub fn define_results(&mut self, cx: &CheckContext<'_, '_>, lanes: u32) {
        if lanes != 0
            && let Some(regs) = self.warps.get_mut(&(cx.who.cta, cx.who.warp))
        {
            let fact = cx.facts.at(cx.who.step);
            cx.facts.regs(&fact.defs).iter().for_each(|&d| regs.set(d, lanes, 0, None));
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the parts of a step")]
    fn track(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        warp: &Warp,
        r: &VisibleMemory<'_>,
        op: &Op,
        fact: &Fact,
        m: u32,
        accesses: &[WarpAccess],
        regs: &mut Registers,
    ) {
        let (facts, code) = (cx.facts, cx.launch.code);
        let (uses, defs) = (facts.regs(&fact.uses), facts.regs(&fact.defs));
        match *op {
            Op::Alu(_, args) => {
                let (from, lanes) = match uses {
                    [a, b, p] if fact.select => {
                        let chosen = warp.planes.get_pred(args.src[2]);
                        let (ua, ub, up) = (
                            regs.undefined[*a as usize],
                            regs.undefined[*b as usize],
                            regs.undefined[*p as usize],
                        );
                        let lanes = up | chosen & ua | !chosen & ub;
                        (uses.iter().copied().find(|&u| regs.undefined[u as usize] & lanes & m != 0), lanes)
                    }
                    _ => regs.any(uses, m),
                };
                let origin = from.map(|u| regs.origin_of(u));
                defs.iter().for_each(|&d| regs.set(d, m, lanes, origin));
            }
            Op::Ld(i) => self.load(cx, r, &code.mems[i as usize], &accesses[0], m, defs, regs),
            Op::St(i) => self.store(cx, r, &code.mems[i as usize], &accesses[0], m, uses, regs),
            Op::Atom(i) => {
                for &u in uses {
                    report_use(cx, regs, u, m, Kind::UndefinedStore, accesses.first());
                }
                let exchanged = code.atoms[i as usize].rmw == Rmw::Exch;
                self.update(cx, r, &accesses[0], m, exchanged);
                defs.iter().for_each(|&d| regs.set(d, m, 0, None));
            }
            Op::AsyncStore(_) => accesses.iter().for_each(|t| self.defines(r, t, m)),
            Op::LaneCopy(_) => self.copy(cx, warp, r, None, m, accesses),
            Op::BulkCopy(i) => self.copy(cx, warp, r, code.bulks[i as usize].multicast, m, accesses),
            Op::TensorCopy(i) => self.tensor_copy(cx, warp, r, &code.tensors[i as usize], m, accesses),
            Op::Mbarrier(i) => {
                let begins = code.mbarriers[i as usize].kind == MbarrierKind::Init;
                accesses.iter().for_each(|t| self.update(cx, r, t, m, begins));
                defs.iter().for_each(|&d| regs.set(d, m, 0, None));
            }
            Op::Exchange(i) => self.sync(cx, warp, r, &code.warp_ops[i as usize], fact, m, accesses, regs),
            Op::Brx(_) => {
                for &u in uses {
                    report_use(cx, regs, u, m, Kind::UndefinedBranch, None);
                }
            }
            Op::Call(i) => {
                let call = &code.calls[i as usize];
                each(m, |l| {
                    let callee = match call.callee {
                        Callee::Direct(f) => Some(f),
                        Callee::Indirect(p) => warp.function_at(cx.launch, p, l),
                        Callee::Builtin(_) => None,
                    };
                    match callee.and_then(|f| Some((f, code.entries.get(f.index())?))) {
                        Some((f, entry)) => {
                            regs.enter(cx, f, entry.saved.is_some(), 1 << l);
                            self.pass(r, &call.args, &entry.params, l);
                        }
                        None => self.pass(r, &[], &call.rets, l),
                    }
                });
                defs.iter().for_each(|&d| regs.set(d, m, 0, None));
            }
            Op::Ret => each(m, |l| {
                if let Some(frame) = warp.frames[l].last() {
                    let entry = &code.entries[frame.func as usize];
                    self.pass(r, &entry.returns, &code.calls[frame.call as usize].rets, l);
                }
            }),
            _ => defs.iter().for_each(|&d| regs.set(d, m, 0, None)),
        }
    }
    /// Copies the bits of a `cp.async` or a bulk copy. What it fills with zeros is defined. `multicast` is
    /// the plane of the mask of receiving CTAs.
    fn copy(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        warp: &Warp,
        r: &VisibleMemory<'_>,
        multicast: Option<u16>,
        m: u32,
        accesses: &[WarpAccess],
    ) {
        let [from, to, counted @ ..] = accesses else { return };
        each(to.lanes & m, |l| {
            let Some(to_at) = to.at(r, l) else { return };
            let read = if from.lanes >> l & 1 == 1 { from.bytes[l] } else { 0 };
            match from.at(r, l).filter(|_| read > 0 && to.kind == AccessKind::Write) {
                Some(from_at) => self.memory.copy(from_at, to_at, read.into()),
                None => self.memory.define(to_at.0, to_at.1, read.into()),
            }
            let rest = to.bytes[l].saturating_sub(read);
            self.memory.define(to_at.0, to_at.1 + u64::from(read), rest.into());
        });
        counted.iter().for_each(|t| self.update(cx, r, t, m, false));
        if let Some(p) = multicast {
            each(to.lanes & m, |l| self.receive(r, Some(warp.planes.w32[usize::from(p)].0[l]), to, l));
        }
    }
    /// The bits of a tensor copy: what it reads outside the tensor is filled, and therefore defined.
    fn tensor_copy(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        warp: &Warp,
        r: &VisibleMemory<'_>,
        copy: &TensorCopy,
        m: u32,
        accesses: &[WarpAccess],
    ) {
        let Some((tile, rest)) = accesses.split_first() else { return };
        let (counted, rows) = rest.split_at(usize::from(copy.mbarrier.is_some()).min(rest.len()));
        each(tile.lanes & m, |l| {
            let ranks = copy.multicast.map(|p| warp.planes.w32[usize::from(p)].0[l]);
            if copy.load {
                self.receive(r, ranks, tile, l);
            }
            let Some(t) = warp.tile(r, copy, l).ok().filter(|_| copy.reduce.is_none()) else {
                return;
            };
            for at in bulk::targets(ranks.map(|r| r as u16), tile.addr.0[l]) {
                let Ok((shared, base)) = r.peers.find(r.rank, at) else { continue };
                t.parts(cx.launch.memory, at - base, |global, far, near, n| {
                    if shared.len().checked_sub(n).is_none_or(|last| near > last) {
                        return;
                    }
                    let (far, near) = ((global, far), (shared, near));
                    let (from, to) = if copy.load { (far, near) } else { (near, far) };
                    self.memory.copy(from, to, n);
                });
            }
        });
        let updated = if copy.reduce.is_some() { rows } else { &[] };
        counted.iter().chain(updated).for_each(|t| self.update(cx, r, t, m, false));
    }
    /// Copies the bits of values that a call or a return passes. Targets without a source become defined.
    fn pass(&mut self, r: &VisibleMemory<'_>, from: &[Slot], to: &[Slot], l: usize) {
        let base = l as u64 * r.stride;
        for (i, &to) in to.iter().enumerate() {
            let Slot::Bytes(b, n) = to else { continue };
            let b = base + u64::from(b);
            match from.get(i) {
                Some(&Slot::Bytes(a, k)) => {
                    self.memory.copy((r.local, base + u64::from(a)), (r.local, b), n.min(k).into())
                }
                _ => self.memory.define(r.local, b, n.into()),
            }
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the parts of a load")]
    fn load(
        &mut self,
        cx: &CheckContext<'_, '_>,
        r: &VisibleMemory<'_>,
        mem: &MemAccess,
        t: &WarpAccess,
        m: u32,
        defs: &[u32],
        regs: &mut Registers,
    ) {
        let mut undefined = [0u32; 8];
        let mut first = None;
        if t.space != AddrSpace::Params {
            each(t.lanes & m, |l| {
                let Some((region, at)) = t.at(r, l).filter(|(region, _)| self.memory.tracks(region)) else {
                    return;
                };
                for (k, u) in undefined.iter_mut().enumerate().take(mem.planes.len()) {
                    let bits = self.memory.get(region, at + k as u64 * u64::from(mem.size), mem.size.into());
                    if bits != 0 {
                        *u |= 1 << l;
                        first = first.or(Some(l));
                    }
                }
            });
        }
        let origin = first.map(|l| {
            let lanes = undefined.iter().fold(0, |a, b| a | b);
            Origin::Memory(WarpStep { lanes, ..cx.who }, t.space, t.addr.0[l], t.bytes[l])
        });
        let mut defs = defs.iter();
        for (plane, &u) in mem.planes.iter().zip(&undefined) {
            if *plane != Plane::None
                && let Some(&d) = defs.next()
            {
                regs.set(d, m, u, origin);
            }
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the parts of a store")]
    fn store(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        r: &VisibleMemory<'_>,
        mem: &MemAccess,
        t: &WarpAccess,
        m: u32,
        uses: &[u32],
        regs: &mut Registers,
    ) {
        let m = m & t.lanes;
        let mut global = 0;
        each(m, |l| global |= u32::from(accesses::space(t.space, t.addr.0[l]) == Space::Global) << l);
        for &u in uses {
            report_use(cx, regs, u, global, Kind::UndefinedStore, Some(t));
        }
        if regs.any(uses, m).0.is_none() {
            return self.defines(r, t, m);
        }
        // Constant elements have no register. Then all elements follow the first one.
        let of = |k: usize| if uses.len() == mem.planes.len() { uses.get(k) } else { uses.first() };
        each(m, |l| {
            let Some((region, at)) = t.at(r, l) else { return };
            for k in 0..mem.planes.len() {
                let undefined = of(k).is_some_and(|&u| regs.undefined[u as usize] >> l & 1 == 1);
                let bits = if undefined { u64::MAX } else { 0 };
                self.memory.set(region, at + k as u64 * u64::from(mem.size), mem.size.into(), bits);
            }
        });
    }
    /// Marks as defined what a bulk copy of a lane writes to the shared memory of these CTAs, or of its own.
    fn receive(&mut self, r: &VisibleMemory<'_>, ranks: Option<u32>, t: &WarpAccess, l: usize) {
        for at in bulk::targets(ranks.map(|r| r as u16), t.addr.0[l]) {
            if let Ok((region, base)) = r.peers.find(r.rank, at) {
                self.memory.define(region, at - base, t.bytes[l].into());
            }
        }
    }
    fn defines(&mut self, r: &VisibleMemory<'_>, t: &WarpAccess, m: u32) {
        each(t.lanes & m, |l| {
            if let Some((region, at)) = t.at(r, l) {
                self.memory.define(region, at, t.bytes[l].into());
            }
        });
    }
    /// An update of memory that reads the old value, unless the value is `exchanged`.
    fn update(
        &mut self,
        cx: &mut CheckContext<'_, '_>,
        r: &VisibleMemory<'_>,
        t: &WarpAccess,
        m: u32,
        exchanged: bool,
    ) {
        let mut undefined = 0;
        each(t.lanes & m, |l| {
            let Some((region, at)) = t.at(r, l) else { return };
            if self.memory.get(region, at, t.bytes[l]) != 0 {
                undefined |= u32::from(!exchanged) << l;
                self.memory.define(region, at, t.bytes[l].into());
            }
        });
        if undefined != 0 {
            let (launch, who) = (cx.launch, WarpStep { lanes: undefined, ..cx.who });
            cx.log.add(launch, Kind::UndefinedUpdate, who, None, 0, || {
                let l = undefined.trailing_zeros() as usize;
                let what = format!(
                    "{} {} bytes of {} memory that nothing wrote",
                    t.kind.verb(),
                    t.bytes[l],
                    accesses::space(t.space, t.addr.0[l]).name()
                );
                let memory = Some(findings::memory(launch, t, l));
                findings::finding(
                    Kind::UndefinedUpdate,
                    what,
                    vec![Side { memory, ..findings::side(launch, "this update", who) }],
                )
            });
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the parts of an exchange")]
    fn sync(
        &mut self,
        cx: &CheckContext<'_, '_>,
        warp: &Warp,
        r: &VisibleMemory<'_>,
        sync: &WarpOp,
        fact: &Fact,
        m: u32,
        accesses: &[WarpAccess],
        regs: &mut Registers,
    ) {
        let (uses, defs) = (cx.facts.regs(&fact.uses), cx.facts.regs(&fact.defs));
        let (from, lanes) = regs.any(uses, m);
        let origin = from.map(|u| regs.origin_of(u));
        match sync.kind {
            WarpOpKind::Up | WarpOpKind::Down | WarpOpKind::Bfly | WarpOpKind::Idx => {
                let (value, others) =
                    uses.split_first().map_or((0, uses), |(v, o)| (regs.undefined[*v as usize], o));
                let how = regs.any(others, m).1;
                let Some((&d, rest)) = defs.split_first() else { return };
                regs.set(d, m, how | moved(&warp.planes, sync, m, value), origin);
                rest.iter().for_each(|&d| regs.set(d, m, how, origin));
            }
            WarpOpKind::Matrix(t) => match &cx.launch.code.matrix[t as usize] {
                MatrixOp::Load { mem, trans } => {
                    let rows: Vec<u64> = (0..8 * mem.planes.len())
                        .map(|l| {
                            accesses[0].at(r, l).map_or(0, |(region, at)| self.memory.get(region, at, 16))
                        })
                        .collect();
                    for (tile, &d) in rows.chunks(8).zip(defs) {
                        let lanes = tile_lanes(tile, *trans);
                        let first = tile.iter().position(|&bits| bits != 0).unwrap_or(0);
                        let at = accesses[0].addr.0[first];
                        let origin = Origin::Memory(WarpStep { lanes, ..cx.who }, accesses[0].space, at, 16);
                        regs.set(d, m, lanes, Some(origin));
                    }
                }
                MatrixOp::Store { .. } => each(accesses[0].lanes & m, |l| {
                    if let Some((region, at)) = accesses[0].at(r, l) {
                        let undefined = if lanes & m != 0 { u64::MAX } else { 0 };
                        self.memory.set(region, at, 16, undefined);
                    }
                }),
                MatrixOp::Mma(op) => {
                    let sizes = [1, 2, 3].map(|i| op.planes[i].len());
                    // Constants have no register. If there are some, the registers cannot be split by matrix.
                    let (a, rest) =
                        uses.split_at(if sizes.iter().sum::<usize>() == uses.len() { sizes[0] } else { 0 });
                    let (b, c) = rest.split_at(if a.is_empty() { 0 } else { sizes[1] });
                    let gone =
                        |x: &[u32]| !x.is_empty() && x.iter().all(|&u| regs.undefined[u as usize] & m == m);
                    let all = if gone(a) || gone(b) || gone(c) { m } else { 0 };
                    defs.iter().for_each(|&d| regs.set(d, m, all, origin));
                }
                // Every result depends on values of many lanes, and most programs use only some of them.
                _ => {
                    let all = if lanes & m == m { m } else { 0 };
                    defs.iter().for_each(|&d| regs.set(d, m, all, origin));
                }
            },
            WarpOpKind::Warp => {}
            WarpOpKind::Wgmma(WgmmaStep::Begin(i)) => {
                // Without `scale-d` the accumulators are only written.
                let adds = warp.planes.get_pred(cx.launch.code.products[i as usize].scale_d) & m != 0;
                let read: Vec<u32> = uses.iter().copied().filter(|u| adds || !defs.contains(u)).collect();
                let (from, lanes) = regs.any(&read, m);
                let all = if lanes & m != 0 { m } else { 0 };
                defs.iter().for_each(|&d| regs.set(d, m, all, from.map(|u| regs.origin_of(u))));
            }
            _ => {
                let all = if lanes & m != 0 { m } else { 0 };
                defs.iter().for_each(|&d| regs.set(d, m, all, origin));
            }
        }
    }
}

impl Registers {
    /// The first register that is undefined in a lane of `m`, and all lanes in which one is.
    fn any(&self, uses: &[u32], m: u32) -> (Option<u32>, u32) {
        let lanes = uses.iter().fold(0, |lanes, &u| lanes | self.undefined[u as usize]);
        let first = if lanes & m == 0 {
            None
        } else {
            uses.iter().copied().find(|&u| self.undefined[u as usize] & m != 0)
        };
        (first, lanes)
    }
    /// Lanes enter a function: its registers become undefined. The registers of recursive functions are not
    /// tracked.
    fn enter(&mut self, cx: &CheckContext<'_, '_>, func: FuncId, recursive: bool, lanes: u32) {
        let Some(f) = cx.launch.module.functions.get(func.index()).filter(|_| !recursive) else { return };
        let all = cx.facts.of_function(func.index(), f);
        let first = all.start;
        all.for_each(|r| self.set(r, lanes, u32::MAX, None));
        f.reg_params.iter().for_each(|p| self.set(first + p.index() as u32, lanes, 0, None));
    }
    fn origin_of(&self, reg: u32) -> Origin {
        self.origin[reg as usize].unwrap_or(Origin::Register(reg))
    }
    /// Writes a register in the lanes `m`.
    fn set(&mut self, reg: u32, m: u32, undefined: u32, origin: Option<Origin>) {
        let u = &mut self.undefined[reg as usize];
        *u = *u & !m | undefined & m;
        if undefined & m != 0 {
            self.origin[reg as usize] = origin;
        }
    }
}

/// The lanes that receive an undefined value from a shuffle.
fn moved(planes: &Planes, sync: &WarpOp, m: u32, undefined: u32) -> u32 {
    if undefined == 0 {
        return 0;
    }
    let mut bits = V32([0; LANES]);
    each(undefined, |l| bits.0[l] = 1);
    let mut p = Planes {
        w32: vec![bits, planes.get32(sync.src[1]), planes.get32(sync.src[2]), bits],
        ..Planes::default()
    };
    exchange(&mut p, &WarpOp { src: [0, 1, 2], dst: 3, pred: None, ..sync.clone() }, m);
    (0..LANES).fold(0, |lanes, l| lanes | p.w32[3].0[l] << l)
}

/// The lanes whose part of a tile is undefined: row `l / 4` holds the two 16-bit elements of lane `l`.
fn tile_lanes(rows: &[u64], trans: bool) -> u32 {
    let element = |r: usize, c: usize| rows.get(r).is_some_and(|bits| bits >> (2 * c) & 3 != 0);
    (0..LANES).fold(0, |lanes, l| {
        let (r, c) = (l / 4, l % 4 * 2);
        let undefined =
            if trans { element(c, r) || element(c + 1, r) } else { element(r, c) || element(r, c + 1) };
        lanes | u32::from(undefined) << l
    })
}

/// Reports a use of a register by the lanes `m` where it is undefined. It counts as defined afterwards.
fn report_use(
    cx: &mut CheckContext<'_, '_>,
    regs: &mut Registers,
    reg: u32,
    m: u32,
    kind: Kind,
    touch: Option<&WarpAccess>,
) {
    let lanes = regs.undefined[reg as usize] & m;
    if lanes == 0 {
        return;
    }
    let origin = regs.origin_of(reg);
    regs.undefined[reg as usize] &= !lanes;
    let (launch, facts, who) = (cx.launch, cx.facts, WarpStep { lanes, ..cx.who });
    let other = match origin {
        Origin::Memory(by, ..) => Some(by.step),
        Origin::Register(_) => None,
    };
    cx.log.add(launch, kind, who, other, 0, || {
        let name = |reg| format!("`{}`", facts.name(launch, reg));
        let from = match origin {
            Origin::Memory(..) => "comes from memory that nothing wrote".to_owned(),
            Origin::Register(r) => format!("comes from register {}, which nothing set", name(r)),
        };
        let (what, role) = match kind {
            Kind::UndefinedBranch => (format!("decides by a value that {from}"), "decided here"),
            Kind::UndefinedAddress => {
                (format!("takes its address from a value that {from}"), "used as an address here")
            }
            _ => (format!("stores a value that {from}"), "stored here"),
        };
        let mut first = findings::side(launch, role, who);
        first.memory = touch.map(|t| findings::memory(launch, t, lanes.trailing_zeros() as usize));
        let mut sides = vec![first];
        if let Origin::Memory(by, place, at, bytes) = origin {
            let (space, address) = (accesses::space(place, at), accesses::within(place, at));
            let allocation = findings::allocation(launch, space, address);
            let memory = Some(prlx_trace::check::Memory { space, address, bytes, allocation });
            sides.push(Side {
                memory,
                ..findings::side(launch, "read here, where nothing had been written", by)
            });
        }
        findings::finding(kind, what, sides)
    });
}
