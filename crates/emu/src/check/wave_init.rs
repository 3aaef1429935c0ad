//! The check for uninitialised values in AMD's machine code: registers that nothing wrote, LDS, scratch
//! memory and global memory.
//!
//! What the registers of a wave hold is followed by its [`Twins`], bit by bit. Memory has one bit per byte,
//! and bits of bytes that a store of undefined bits leaves, as for PTX. The uses that are findings are those
//! of PTX, too: EXEC or a branch that depends on undefined bits, an address, a store to global memory, an
//! operand of an atomic, and an update of bytes that nothing wrote. Copies into LDS, scratch memory and
//! registers are none. A value that was reported counts as defined afterwards.
//!
//! # Limitations
//! - A value that is the same for all samples of the undefined bits counts as defined ([`Twins`]).
//! - A register has one origin for all lanes.
//! - A called function begins with the registers of its caller, which count as written where that wrote them.
//! - What one launch leaves undefined counts as defined in the next.

use prlx_trace::check::{Kind, Space};

use crate::code::{AddrBase, Atomic, MemAccess, Op, Plane, Rmw};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::{self, VisibleMemory, each};
use prlx_lanes::LANES;

use super::accesses::{self, WarpAccess};
use super::facts::Facts;
use super::findings::{CheckContext, WarpStep};
use super::recent::Recent;
use super::twins::{Incoming, Twins};
use super::undefined::{MemoryOrigin, Origin, Undefined};
use super::undefined_uses as uses;
use super::wave_facts::{Form, WaveFact, WaveFacts};

/// The check for uninitialised values of a launch of AMD's code.
#[derive(Debug)]
pub struct WaveInit {
    memory: Undefined,
    facts: WaveFacts,
    waves: Recent<(u64, u32), Twins>,
}

/// A half of a wave that accesses memory, with what its instruction is.
struct Half<'a> {
    warp: &'a Warp,
    /// Its place in the wave.
    at: usize,
    fact: &'a WaveFact,
    memory: VisibleMemory<'a>,
    /// Bytes that loads of the instruction read before this one, and in all.
    part: (u32, u32),
}

impl WaveInit {
    /// The check at the start of a launch; `None` if the code is not AMD's.
    pub fn new(launch: &Launch<'_>, numbers: &Facts) -> Option<WaveInit> {
        let facts = WaveFacts::of(launch, numbers);
        if facts.registers.is_empty() {
            return None;
        }
        let mut memory = Undefined::default();
        for (region, at, bytes) in launch.memory.unwritten_ranges() {
            memory.mark_undefined(region, at, bytes);
        }
        Some(WaveInit { memory, facts, waves: Recent::default() })
    }
    /// Forgets a CTA that has ended: its storage is reused.
    pub fn end(&mut self, launch: &Launch<'_>, cta: &CtaState, warps: &[Warp]) {
        self.memory.end(&cta.shared);
        for w in warps {
            self.memory.end(&w.local);
            self.waves.take((cta.index, w.index / launch.halves()));
        }
    }
    fn begin(&mut self, launch: &Launch<'_>, halves: &[Warp], cta: &CtaState) -> Box<Twins> {
        if !self.memory.tracks(&cta.shared) {
            self.memory.begin(&cta.shared);
        }
        halves.iter().for_each(|half| self.memory.begin(&half.local));
        Box::new(Twins::of(halves, launch.code, &self.facts))
    }
    /// Checks a step that a wave is about to run, and runs it in the twins, unless it accesses memory.
    pub fn step(&mut self, cx: &mut CheckContext<'_, '_>, halves: &[Warp], cta: &CtaState) {
        let (launch, code, pc) = (cx.launch, cx.launch.code, cx.who.step);
        let Some(key) = halves.first().map(|h| (cta.index, h.index / launch.halves())) else { return };
        let mut twins = self.waves.take(key).unwrap_or_else(|| self.begin(launch, halves, cta));
        if let Some(last) = twins.last.replace(pc) {
            self.compare_exec(cx, &mut twins, halves, last);
        }
        let (fact, begins) = self.facts.at(pc);
        let step = &code.steps[pc as usize];
        if begins {
            let exec = code.exec.filter(|_| fact.vector);
            let of = |h: &Warp| exec.map_or(u32::MAX, |exec| h.planes.get_pred(exec));
            let lanes: Vec<u32> = halves.iter().map(of).collect();
            let from = twins.first_different(halves, &fact.uses, &lanes);
            if let Some(from) = from.or_else(|| twins.first_different(halves, &fact.addr, &lanes)) {
                let origin = twins.origin(from);
                let origin = if fact.moves { origin } else { origin.computed() };
                fact.defs.iter().for_each(|d| twins.set_origin(d.form, origin));
            }
        }
        match step.op {
            Op::Alu(..) | Op::Wave(..) => twins.run(halves, step),
            Op::WaveBranch(i) => {
                let of = code.wave_branches[i as usize].of;
                if twins.any_differs(halves, of) {
                    decides(cx, &mut twins, halves, Form::Pred(of), fact);
                }
            }
            Op::WaveJump(low, high, _) => {
                for plane in [low, high] {
                    let form = Form::Word(plane);
                    if halves.iter().enumerate().any(|(at, half)| twins.differs(half, at, form) & 1 != 0) {
                        decides(cx, &mut twins, halves, form, fact);
                    }
                }
            }
            _ => {}
        }
        self.waves.put(key, twins);
    }
    /// Reports lanes that EXEC has or has not because of an undefined value, after the step `last`.
    fn compare_exec(&self, cx: &mut CheckContext<'_, '_>, twins: &mut Twins, halves: &[Warp], last: u32) {
        let exec = Form::Pred(cx.launch.code.exec.unwrap_or(0));
        let lanes: Vec<u32> = halves.iter().enumerate().map(|(at, h)| twins.differs(h, at, exec)).collect();
        if lanes.iter().all(|m| *m == 0) {
            return;
        }
        let (fact, _) = self.facts.at(last);
        let place = fact.defs.iter().find(|d| d.form == exec).or(fact.uses.first()).copied();
        let here = cx.who;
        let lanes: Vec<u32> = halves.iter().zip(&lanes).map(|(half, m)| m & half.alive).collect();
        if let (Some(place), true) = (place, lanes.iter().any(|m| *m != 0)) {
            cx.who = WarpStep { step: last, ..here.of_wave(halves, &lanes) };
            uses::report(cx, Kind::UndefinedBranch, cx.who.lanes, twins.origin(place), None);
        }
        cx.who = here;
        for (at, half) in halves.iter().enumerate() {
            twins.define(half, at, exec, u32::MAX);
            let all = fact.uses.iter().chain(&fact.defs);
            all.for_each(|place| twins.define(half, at, place.form, u32::MAX));
        }
    }
    /// Checks an access to memory of one half, which the lanes `m` are about to run. Lanes that have ended or
    /// are away run it, too, where the wave has enabled all lanes to save registers; they have no findings.
    pub fn access(&mut self, cx: &mut CheckContext<'_, '_>, warp: &Warp, cta: &CtaState, m: u32) {
        let (launch, code) = (cx.launch, cx.launch.code);
        let key = (cta.index, warp.index / launch.halves());
        let op = &code.steps[cx.who.step as usize].op;
        let (Op::Ld(_) | Op::St(_) | Op::Atom(_)) = op else { return };
        let own = if m == 0 { Vec::new() } else { accesses::accesses(warp, code, op, m) };
        let Some(mut twins) = self.waves.take(key) else { return };
        let half = Half {
            warp,
            at: (warp.index % launch.halves()) as usize,
            fact: self.facts.at(cx.who.step).0,
            memory: visible_memory(launch, cta, &warp.local),
            part: self.facts.part(cx.who.step),
        };
        let touch = own.first();
        match *op {
            Op::Ld(i) => {
                let mem = &code.mems[i as usize];
                address(cx, &mut twins, &half, mem, m, touch);
                if half.fact.scalar {
                    // One access of the wave, also for lanes that do not run.
                    let first = accesses::accesses(warp, code, op, 1);
                    first.iter().for_each(|t| load(&self.memory, cx, &mut twins, &half, mem, t));
                } else if let Some(t) = touch.filter(|_| m != 0) {
                    let t = WarpAccess { lanes: t.lanes & m, ..t.clone() };
                    load(&self.memory, cx, &mut twins, &half, mem, &t);
                }
            }
            Op::St(i) => {
                let mem = &code.mems[i as usize];
                address(cx, &mut twins, &half, mem, m, touch);
                if let Some(t) = touch {
                    store(&mut self.memory, cx, &mut twins, &half, mem, m & t.lanes, t);
                }
            }
            Op::Atom(i) => {
                let atom = &code.atoms[i as usize];
                address(cx, &mut twins, &half, &atom.mem, m, touch);
                if let Some(t) = touch {
                    atomic(&mut self.memory, cx, &mut twins, &half, atom, m & t.lanes, t);
                }
            }
            _ => {}
        }
        self.waves.put(key, twins);
    }
    /// What a step of one half wrote in the lanes `m`, which no operation on registers did, is the same in
    /// the twins, but for the undefined bits that it read.
    pub fn after(&mut self, launch: &Launch<'_>, cta: u64, warp: &Warp, step: u32, m: u32) {
        let code = launch.code;
        let planes: &[Plane] = match code.steps[step as usize].op {
            Op::Ld(i) => &code.mems[i as usize].planes,
            Op::Atom(i) => &code.atoms[i as usize].mem.planes,
            Op::Clock(_, to) => &[Plane::W64(to)],
            _ => return,
        };
        let (halves, at) = (launch.halves(), (warp.index % launch.halves()) as usize);
        if let Some(twins) = self.waves.get_mut((cta, warp.index / halves)) {
            planes.iter().for_each(|p| twins.define_plane(warp, at, *p, m));
            twins.bring(at);
        }
    }
}

/// Reports a wave whose branch or jump depends on an undefined register.
fn decides(cx: &mut CheckContext<'_, '_>, twins: &mut Twins, halves: &[Warp], form: Form, fact: &WaveFact) {
    let different = |(at, half): (usize, &Warp)| twins.differs(half, at, form) & half.alive & !half.away;
    let lanes: Vec<u32> = halves.iter().enumerate().map(different).collect();
    let whole = || halves.iter().map(|h| h.alive & !h.away).collect();
    let lanes: Vec<u32> = if lanes.iter().all(|m| *m == 0) { whole() } else { lanes };
    let all: Vec<u32> = halves.iter().map(|_| u32::MAX).collect();
    let place = fact.uses.iter().find(|p| p.form == form).copied();
    let place = place.or_else(|| twins.first_different(halves, &fact.uses, &all));
    if let (true, Some(place)) = (lanes.iter().any(|m| *m != 0), place) {
        let here = cx.who;
        cx.who = here.of_wave(halves, &lanes);
        uses::report(cx, Kind::UndefinedBranch, cx.who.lanes, twins.origin(place), None);
        cx.who = here;
    }
    for (at, half) in halves.iter().enumerate() {
        twins.define(half, at, form, u32::MAX);
        fact.uses.iter().for_each(|place| twins.define(half, at, place.form, u32::MAX));
    }
}

/// Reports lanes whose address depends on an undefined value.
fn address(
    cx: &mut CheckContext<'_, '_>,
    twins: &mut Twins,
    half: &Half<'_>,
    mem: &MemAccess,
    m: u32,
    touch: Option<&WarpAccess>,
) {
    let plane = match mem.base {
        AddrBase::W64(p) => Plane::W64(p),
        AddrBase::W32(p) => Plane::W32(p),
        AddrBase::None => return,
    };
    let lanes = differing(&twins.bits(half.warp, half.at, plane, m), u64::MAX);
    if lanes == 0 {
        return;
    }
    let all = half.fact.addr.iter().chain(&half.fact.uses);
    let place = all.copied().find(|p| twins.differs(half.warp, half.at, p.form) & lanes != 0);
    let here = lanes & cx.who.lanes;
    if let (Some(place), true) = (place, here != 0) {
        uses::report(cx, Kind::UndefinedAddress, here, twins.origin(place), touch);
    }
    let lanes = if half.fact.scalar { u32::MAX } else { lanes };
    twins.define_plane(half.warp, half.at, plane, lanes);
    half.fact.addr.iter().for_each(|p| twins.define(half.warp, half.at, p.form, lanes));
}

/// The lanes with a bit of a mask.
fn differing(bits: &[u64; LANES], mask: u64) -> u32 {
    (0..LANES).fold(0, |lanes, l| lanes | u32::from(bits[l] & mask != 0) << l)
}

/// The bits of an element.
fn element(size: u8) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (8 * u32::from(size))) - 1 }
}

/// The origin of bytes that a lane reads and nothing wrote.
fn unwritten(
    memory: &Undefined,
    cx: &CheckContext<'_, '_>,
    half: &Half<'_>,
    t: &WarpAccess,
    (l, lanes): (usize, u32),
) -> Option<Origin> {
    let (region, at) = t.at(&half.memory, l)?;
    let (skip, total) = match half.part {
        (skip, total) if total > t.bytes[l] && u64::from(skip) <= at => (skip, total),
        _ => (0, t.bytes[l]),
    };
    Some(Origin::Memory(MemoryOrigin {
        by: WarpStep { lanes, ..cx.who },
        space: t.space,
        at: t.addr.0[l].wrapping_sub(skip.into()),
        bytes: total,
        unwritten: memory.get(region, at - u64::from(skip), total),
        computed: false,
    }))
}

/// A load: the undefined bits that it brings.
fn load(
    memory: &Undefined,
    cx: &CheckContext<'_, '_>,
    twins: &mut Twins,
    half: &Half<'_>,
    mem: &MemAccess,
    t: &WarpAccess,
) {
    let lanes = uses::undefined_lanes(memory, &half.memory, t, t.lanes);
    let Some(&plane) = mem.planes.first().filter(|_| lanes != 0) else { return };
    let mut new = Incoming { plane, bits: [0; LANES], keys: [0; LANES] };
    let mut origin = None;
    // The lowest lane comes last: its origin is that of the register.
    for l in (0..LANES).rev().filter(|l| lanes >> l & 1 == 1) {
        let Some((region, at)) = t.at(&half.memory, l) else { continue };
        new.bits[l] = memory.element(region, at, mem.size.into());
        new.keys[l] = t.addr.0[l];
        if new.bits[l] != 0 {
            let byte = at + u64::from(new.bits[l].trailing_zeros() / 8);
            let here =
                || unwritten(memory, cx, half, t, (l, if half.fact.scalar { cx.who.lanes } else { lanes }));
            origin = memory.origin(region, byte).or_else(here);
        }
    }
    if half.fact.scalar {
        (new.bits, new.keys) = ([new.bits[0]; LANES], [new.keys[0]; LANES]);
    }
    twins.incoming.push(new);
    if let Some(origin) = origin {
        let form = |p: &Plane| if let Plane::W32(p) = p { Some(Form::Word(*p)) } else { None };
        let own = half.fact.defs.iter().find(|d| Some(d.form) == form(&plane)).map(|d| vec![d.form]);
        let forms = own.filter(|_| !half.fact.scalar);
        let forms = forms.unwrap_or_else(|| half.fact.defs.iter().map(|d| d.form).collect());
        forms.into_iter().for_each(|form| twins.set_origin(form, origin));
    }
}

/// The origin of an undefined plane that an instruction reads.
fn origin_of(twins: &Twins, half: &Half<'_>, plane: Plane, m: u32) -> Option<Origin> {
    let uses = &half.fact.uses;
    let own = uses.iter().find(|p| matches!((p.form, plane), (Form::Word(a), Plane::W32(b)) if a == b));
    let place = own.or_else(|| uses.iter().find(|p| twins.differs(half.warp, half.at, p.form) & m != 0));
    place.map(|p| twins.origin(*p))
}

/// A store: to global memory it is a use, elsewhere a copy.
fn store(
    memory: &mut Undefined,
    cx: &mut CheckContext<'_, '_>,
    twins: &mut Twins,
    half: &Half<'_>,
    mem: &MemAccess,
    m: u32,
    t: &WarpAccess,
) {
    let Some(&plane) = mem.planes.first() else { return };
    let bits = twins.bits(half.warp, half.at, plane, m);
    let lanes = differing(&bits, element(mem.size)) & m;
    if lanes == 0 {
        return uses::define(memory, &half.memory, t, m);
    }
    let mut global = 0;
    each(lanes & cx.who.lanes, |l| {
        global |= u32::from(accesses::space(t.space, t.addr.0[l]) == Space::Global) << l
    });
    let origin = origin_of(twins, half, plane, lanes);
    let mut reported = 0;
    if let (Some(origin), true) = (origin, global != 0) {
        let copied = matches!(origin, Origin::Memory(origin) if origin.may_be_padding());
        let kind = if copied { Kind::UndefinedCopy } else { Kind::UndefinedStore };
        uses::report(cx, kind, global, origin, Some(t));
        if !copied {
            reported = global;
            twins.define_plane(half.warp, half.at, plane, reported);
        }
    }
    uses::define(memory, &half.memory, t, m & (!lanes | reported));
    each(lanes & !reported, |l| {
        if let Some((region, at)) = t.at(&half.memory, l) {
            memory.set_element(region, at, mem.size.into(), bits[l] & element(mem.size), origin);
        }
    });
}

/// An atomic: its operands are used, and so are the old bytes, but for those that an exchange replaces and
/// those that `and` and `or` keep.
fn atomic(
    memory: &mut Undefined,
    cx: &mut CheckContext<'_, '_>,
    twins: &mut Twins,
    half: &Half<'_>,
    atom: &Atomic,
    m: u32,
    t: &WarpAccess,
) {
    for plane in atom.values.iter().chain(&atom.swap).copied() {
        let lanes = differing(&twins.bits(half.warp, half.at, plane, m), u64::MAX);
        if lanes != 0 {
            let here = lanes & cx.who.lanes;
            if let Some(origin) = origin_of(twins, half, plane, lanes).filter(|_| here != 0) {
                uses::report(cx, Kind::UndefinedStore, here, origin, Some(t));
            }
            twins.define_plane(half.warp, half.at, plane, lanes);
            half.fact.uses.iter().for_each(|p| twins.define(half.warp, half.at, p.form, lanes));
        }
    }
    if !matches!(atom.rmw, Rmw::And | Rmw::Or) {
        return uses::update(memory, cx, &half.memory, t, m, atom.rmw == Rmw::Exch);
    }
    let Some(&value) = atom.values.first() else { return };
    let plane = atom.mem.planes.first().copied().unwrap_or(Plane::None);
    let mut new = Incoming { plane, bits: [0; LANES], keys: t.addr.0 };
    each(m, |l| {
        let Some((region, at)) = t.at(&half.memory, l) else { return };
        let bits = memory.element(region, at, atom.mem.size.into());
        if bits == 0 {
            return;
        }
        let value = access::value(&half.warp.planes, value, l);
        let kept = if atom.rmw == Rmw::And { value } else { !value };
        let origin = memory.origin(region, at).or_else(|| unwritten(memory, cx, half, t, (l, 1 << l)));
        new.bits[l] = bits;
        if let Some(origin) = origin {
            half.fact.defs.iter().for_each(|d| twins.set_origin(d.form, origin));
        }
        memory.set_element(region, at, atom.mem.size.into(), bits & kept, origin);
    });
    twins.incoming.push(new);
}
