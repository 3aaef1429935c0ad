//! Check for uninitialised values: which bytes of memory and lanes of registers were never written, and where
//! they are used.
//!
//! The result of an instruction is undefined in a lane if a source is. Operations on bits follow single bits
//! ([`BitRule`](super::bit_rules::BitRule)), `selp` follows the source that it selects, and a shuffle the
//! bits of the lane that it reads. A matrix product is undefined if one of its three matrices is entirely
//! undefined. A copy of an undefined value into shared or local memory is no finding: the bytes become
//! undefined, and keep the origin of the value. So do bytes of global memory, with a note, if the value was
//! loaded together with defined bytes and only copied: it may be the padding of a structure. A finding is a
//! *use*: a guard or a branch, an address, another store to global memory, an operand of an atomic, or an
//! update of bits that were never written. `and` and `or` atomics define the bits that they set. A value that
//! was reported counts as defined afterwards, so that one cause gives one finding.
//!
//! Initially defined: what the host wrote, module variables and parameters. Initially undefined: registers,
//! shared and local memory when a CTA begins, blocks of `malloc`, and buffers that nobody wrote or that are
//! `uninit`.
//!
//! # Limitations
//! - Arithmetic and matrix operations treat registers whole.
//! - The carry flag and the registers of recursive functions are not tracked.
//! - Reads of `wgmma`, `wmma.load`, tensor copies and `vprintf` are not checked.
//! - What one launch leaves undefined counts as defined in the next.

use prlx_isa::view::FuncId;
use prlx_trace::check::{Kind, Space};

use crate::code::{
    AddrSpace, Atomic, Callee, MatrixOp, MbarrierKind, MemAccess, Op, Plane, Rmw, Slot, TensorCopy, WarpOp,
    WarpOpKind, WgmmaStep,
};
use crate::copies::bulk;
use crate::exec::cta_state::CtaState;
use crate::exec::exchange::exchange;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::{self, VisibleMemory, each};
use prlx_lanes::{LANES, Planes, V32};

use super::accesses::{self, AccessKind, WarpAccess};
use super::facts::Fact;
use super::findings::{CheckContext, WarpStep};
use super::recent::Recent;
use super::registers::Registers;
use super::undefined::{MemoryOrigin, Origin, Undefined};
use super::undefined_uses as uses;

/// The check for uninitialised values of a launch.
#[derive(Debug, Default)]
pub struct InitCheck {
    memory: Undefined,
    warps: Recent<(u64, u32), Registers>,
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
            self.warps.take((cta.index, w.index));
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
            let entry = cx.launch.code.entries.get(&FuncId(i as u32));
            let all = cx.facts.of_function(i, f);
            if entry.is_some_and(|e| e.saved.is_some()) {
                undefined[all.start as usize..all.end as usize].fill(0);
            }
            for r in &f.reg_params {
                undefined[all.start as usize + r.index()] = 0;
            }
        }
        Registers::new(undefined)
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
        let mut regs = match self.warps.take(key) {
            Some(r) => r,
            None => Box::new(self.begin(cx, warp, cta)),
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
        self.warps.put(key, regs);
    }
    /// Marks the results of the step as defined, in lanes whose access was skipped.
    pub fn define_results(&mut self, cx: &CheckContext<'_, '_>, lanes: u32) {
        if lanes != 0
            && let Some(regs) = self.warps.get_mut((cx.who.cta, cx.who.warp))
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
            Op::Alu(..) => compute(cx, warp, fact, m, regs),
            Op::Ld(i) => self.load(cx, r, &code.mems[i as usize], &accesses[0], m, fact, regs),
            Op::St(i) => self.store(cx, r, &code.mems[i as usize], &accesses[0], m, fact, regs),
            Op::Atom(i) => {
                for &u in uses {
                    report_use(cx, regs, u, m, Kind::UndefinedStore, accesses.first());
                }
                defs.iter().for_each(|&d| regs.set(d, m, 0, None));
                let atom = &code.atoms[i as usize];
                match atom.rmw {
                    Rmw::And | Rmw::Or => self.set_bits(cx, warp, r, atom, &accesses[0], m, defs, regs),
                    rmw => uses::update(&mut self.memory, cx, r, &accesses[0], m, rmw == Rmw::Exch),
                }
            }
            Op::AsyncStore(_) => accesses.iter().for_each(|t| uses::define(&mut self.memory, r, t, m)),
            Op::LaneCopy(_) => self.copy(cx, warp, r, None, m, accesses),
            Op::BulkCopy(i) => self.copy(cx, warp, r, code.bulks[i as usize].multicast, m, accesses),
            Op::TensorCopy(i) => self.tensor_copy(cx, warp, r, &code.tensors[i as usize], m, accesses),
            Op::Tensor(_) => accesses.iter().for_each(|t| uses::update(&mut self.memory, cx, r, t, m, false)),
            Op::Mbarrier(i) => {
                let begins = code.mbarriers[i as usize].kind == MbarrierKind::Init;
                accesses.iter().for_each(|t| uses::update(&mut self.memory, cx, r, t, m, begins));
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
                    match callee.and_then(|f| Some((f, code.entries.get(&f)?))) {
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
                    let entry = &code.entries[&FuncId(frame.func)];
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
        counted.iter().for_each(|t| uses::update(&mut self.memory, cx, r, t, m, false));
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
        counted.iter().chain(updated).for_each(|t| uses::update(&mut self.memory, cx, r, t, m, false));
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
        fact: &Fact,
        regs: &mut Registers,
    ) {
        let (defs, signed) = (cx.facts.regs(&fact.defs), fact.signed);
        defs.iter().for_each(|&d| regs.set(d, m, 0, None));
        if t.space == AddrSpace::Params {
            return;
        }
        let lanes = uses::undefined_lanes(&self.memory, r, t, m);
        if lanes == 0 {
            return;
        }
        // The lowest lane comes last: its origin is that of the register.
        for l in (0..LANES).rev().filter(|l| lanes >> l & 1 == 1) {
            let Some((region, at)) = t.at(r, l) else { continue };
            let here = Origin::Memory(MemoryOrigin {
                by: WarpStep { lanes, ..cx.who },
                space: t.space,
                at: t.addr.0[l],
                bytes: t.bytes[l],
                unwritten: self.memory.get(region, at, t.bytes[l]),
                computed: false,
            });
            let mut defs = defs.iter();
            for (k, plane) in (0..).zip(&mem.planes) {
                let Some(&d) = (if *plane == Plane::None { None } else { defs.next() }) else { continue };
                let at = at + k * u64::from(mem.size);
                let bits = self.memory.element(region, at, mem.size.into());
                if bits != 0 {
                    let byte = at + u64::from(bits.trailing_zeros() / 8);
                    let origin = self.memory.origin(region, byte).unwrap_or(here);
                    let width = cx.facts.width(cx.launch, d);
                    let bits = extended(bits, mem.size, width, signed);
                    regs.set_bits(d, l, bits, width, Some(origin));
                }
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
        fact: &Fact,
        regs: &mut Registers,
    ) {
        let m = m & t.lanes;
        let (uses, elements) = (cx.facts.regs(&fact.uses), cx.facts.regs(&fact.elements));
        let mut global = 0;
        each(m, |l| global |= u32::from(accesses::space(t.space, t.addr.0[l]) == Space::Global) << l);
        for &u in uses {
            let kind = match regs.origin_of(u) {
                Origin::Memory(origin) if origin.may_be_padding() => Kind::UndefinedCopy,
                _ => Kind::UndefinedStore,
            };
            report_use(cx, regs, u, global, kind, Some(t));
        }
        if regs.any(uses, m).0.is_none() {
            return uses::define(&mut self.memory, r, t, m);
        }
        each(m, |l| {
            let Some((region, at)) = t.at(r, l) else { return };
            for k in 0..mem.planes.len() {
                let u = elements.get(k).copied().filter(|&u| u != u32::MAX);
                let (bits, origin) = u.map_or((0, None), |u| (regs.bits(u, l), Some(regs.origin_of(u))));
                let at = at + k as u64 * u64::from(mem.size);
                self.memory.set_element(region, at, mem.size.into(), bits, origin);
            }
        });
    }
    /// `and` and `or` atomics: the bits that they set are defined, and the other bits stay as they are.
    #[allow(clippy::too_many_arguments, reason = "the parts of an atomic")]
    fn set_bits(
        &mut self,
        cx: &CheckContext<'_, '_>,
        warp: &Warp,
        r: &VisibleMemory<'_>,
        atom: &Atomic,
        t: &WarpAccess,
        m: u32,
        defs: &[u32],
        regs: &mut Registers,
    ) {
        each(t.lanes & m, |l| {
            let Some((region, at)) = t.at(r, l).filter(|(region, _)| self.memory.tracks(region)) else {
                return;
            };
            for (k, value) in (0..).zip(&atom.values) {
                let (at, bytes) = (at + k as u64 * u64::from(atom.mem.size), u32::from(atom.mem.size));
                let bits = self.memory.element(region, at, bytes);
                if bits == 0 {
                    continue;
                }
                let value = access::value(&warp.planes, *value, l);
                let kept = if atom.rmw == Rmw::And { value } else { !value };
                let origin = self.memory.origin(region, at).unwrap_or(Origin::Memory(MemoryOrigin {
                    by: WarpStep { lanes: 1 << l, ..cx.who },
                    space: t.space,
                    at: t.addr.0[l],
                    bytes: t.bytes[l],
                    unwritten: self.memory.get(region, at, bytes),
                    computed: false,
                }));
                if let Some(&d) = defs.get(k) {
                    regs.set_bits(d, l, bits, cx.facts.width(cx.launch, d), Some(origin));
                }
                self.memory.set_element(region, at, bytes, bits & kept, Some(origin));
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
                let Some((&d, rest)) = defs.split_first() else { return };
                let (value, others) = uses.split_first().map_or((None, uses), |(v, o)| (Some(*v), o));
                let how = regs.any(others, m).1;
                let bits = value.map(|v| moved(&warp.planes, sync, m, |l| regs.bits(v, l) as u32));
                let width = cx.facts.width(cx.launch, d);
                each(m, |l| match (how >> l & 1, &bits) {
                    (0, Some(bits)) => regs.set_bits(d, l, bits.0[l].into(), width, origin),
                    (how, _) => regs.set(d, 1 << l, how << l, origin),
                });
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
                        let origin = MemoryOrigin {
                            by: WarpStep { lanes, ..cx.who },
                            space: accesses[0].space,
                            at,
                            bytes: 16,
                            unwritten: tile.get(first).copied().unwrap_or(0),
                            computed: false,
                        };
                        regs.set(d, m, lanes, Some(Origin::Memory(origin)));
                    }
                }
                MatrixOp::Store { .. } => each(accesses[0].lanes & m, |l| {
                    if let Some((region, at)) = accesses[0].at(r, l) {
                        let undefined = if lanes & m != 0 { u64::MAX } else { 0 };
                        self.memory.set(region, at, 16, undefined);
                    }
                }),
                // Undefined registers count as defined, as long as others of the fragment are.
                MatrixOp::Tile(tile) if tile.store => accesses.iter().for_each(|t| {
                    each(t.lanes & m, |l| {
                        if let Some((region, at)) = t.at(r, l) {
                            let undefined = if lanes & m == m { u64::MAX } else { 0 };
                            self.memory.set(region, at, t.bytes[l], undefined);
                        }
                    });
                }),
                MatrixOp::Mma(op) => {
                    let sizes = [1, 2, 3].map(|i| op.planes[i].len());
                    // Constants have no register. If there are some, the registers cannot be split by matrix.
                    let (a, rest) =
                        uses.split_at(if sizes.iter().sum::<usize>() == uses.len() { sizes[0] } else { 0 });
                    let (b, c) = rest.split_at(if a.is_empty() { 0 } else { sizes[1] });
                    let gone = |x: &[u32]| !x.is_empty() && x.iter().all(|&u| regs.lanes(u) & m == m);
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
            WarpOpKind::Tensor(_) => {
                accesses.iter().for_each(|t| uses::define(&mut self.memory, r, t, m));
                defs.iter().for_each(|&d| regs.set(d, m, 0, None));
            }
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

/// By lane: the undefined bits of what a shuffle gives. `undefined`: those of the value in a lane.
fn moved(planes: &Planes, sync: &WarpOp, m: u32, undefined: impl Fn(usize) -> u32) -> V32 {
    let mut bits = V32([0; LANES]);
    (0..LANES).for_each(|l| bits.0[l] = undefined(l));
    let mut p = Planes {
        w32: vec![bits, planes.get32(sync.src[1]), planes.get32(sync.src[2]), bits],
        ..Planes::default()
    };
    exchange(&mut p, &WarpOp { src: [0, 1, 2], dst: 3, pred: None, ..sync.clone() }, m);
    p.w32[3]
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

/// The undefined bits of a register after a load of `bytes` bytes, which extends the sign or zeros.
fn extended(bits: u64, bytes: u8, width: u32, signed: bool) -> u64 {
    let top = u32::from(bytes) * 8;
    let sign = signed && top < width.min(64) && bits >> (top - 1) & 1 == 1;
    if sign { bits | u64::MAX << top } else { bits }
}

/// An operation on registers: the undefined bits of its results.
fn compute(cx: &CheckContext<'_, '_>, warp: &Warp, fact: &Fact, m: u32, regs: &mut Registers) {
    let (uses, defs) = (cx.facts.regs(&fact.uses), cx.facts.regs(&fact.defs));
    let (from, lanes) = regs.any(uses, m);
    let Some(from) = from else {
        defs.iter().for_each(|&d| regs.set(d, m, 0, None));
        return;
    };
    let Some(rule) = &fact.bits else {
        let origin = regs.origin_of(from).computed();
        defs.iter().for_each(|&d| regs.set(d, m, lanes, Some(origin)));
        return;
    };
    let widths: Vec<u32> = defs.iter().map(|&d| cx.facts.width(cx.launch, d)).collect();
    let mut results: Vec<[u64; LANES]> = vec![[0; LANES]; defs.len()];
    each(m & lanes, |l| {
        for (n, result) in results.iter_mut().enumerate() {
            result[l] = rule.result(n, &warp.planes, l, &|reg| regs.bits(reg, l));
        }
    });
    // The first source from which an undefined bit can come.
    let origins: Vec<Origin> = results
        .iter()
        .map(|result| {
            let left = (0..LANES).filter(|&l| result[l] != 0).fold(0, |lanes, l| lanes | 1u32 << l);
            let from = uses.iter().copied().find(|&u| regs.lanes(u) & left & m != 0);
            regs.origin_of(from.unwrap_or(uses[0]))
        })
        .collect();
    for (((&d, result), width), origin) in defs.iter().zip(&results).zip(widths).zip(origins) {
        regs.set(d, m & !lanes, 0, None);
        each(m & lanes, |l| regs.set_bits(d, l, result[l], width, Some(origin)));
    }
}

/// Reports a use of a register by the lanes `m` where it is undefined. It counts as defined afterwards,
/// except after a mere copy.
fn report_use(
    cx: &mut CheckContext<'_, '_>,
    regs: &mut Registers,
    reg: u32,
    m: u32,
    kind: Kind,
    touch: Option<&WarpAccess>,
) {
    let lanes = regs.lanes(reg) & m;
    if lanes == 0 {
        return;
    }
    let origin = regs.origin_of(reg);
    if kind != Kind::UndefinedCopy {
        regs.define(reg, lanes);
    }
    uses::report(cx, kind, lanes, origin, touch);
}
