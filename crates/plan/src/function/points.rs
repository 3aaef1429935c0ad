//! The points of a function that carry sites, in one order that no level, filter or elision changes.
//!
//! Order: the entry, then instruction by instruction what it is (load, store, atomic, barrier), then the
//! decisions it makes, then the exit. What a point moves or compares is listed once here, for every recorder.
//!
//! Left out: accesses to parameters (they are part of the launch, or of a call), memory fences, and what
//! moves between memories without passing registers (`cp.async`, bulk copies, tensor memory).

use std::collections::HashMap;

use prlx_isa::view::{Access, BlockId, Class, Effect, Guard, Inst, InstId, Operand, Role, Space, Type};
use prlx_trace::SiteId;
use prlx_trace::device::ALL;
use prlx_trace::kernel::{Scalar, SiteClass};

use crate::function::body::{Body, in_role, is_param, regs, scalar};

/// A point of a function that has a site.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The site's number in the module.
    pub site: SiteId,
    /// The instruction; `None` for the entry, and for the exit by running off the end.
    pub at: Option<InstId>,
    /// What it is.
    pub class: SiteClass,
    /// For a decision: which, an index into [`Body::decisions`].
    pub decision: Option<usize>,
    /// The part whose steps contain it.
    pub part: BlockId,
    /// Under which guard it is visited, as steps and insertions repeat it.
    pub guard: Option<Guard>,
    /// Values at hand before the instruction: what is compared or stored.
    pub before: Vec<Operand>,
    /// Values at hand after it: what was loaded, what an atomic returned.
    pub after: Vec<Operand>,
    /// The type that `before` and `after` are worked on in, where the instruction says.
    pub ty: Option<Scalar>,
}

impl Point {
    /// What [`prlx_trace::kernel::Level::Operands`] records: at most two values, all at hand at the same
    /// place.
    pub fn operands(&self) -> (&[Operand], bool) {
        let (values, after) = if self.after.is_empty() { (&self.before, false) } else { (&self.after, true) };
        (&values[..values.len().min(2)], after)
    }

    /// How many lowest bits of `values`, which an access moves, it moves: [`ALL`] if their registers hold no
    /// more than that, or what they hold beyond it is nothing (PTX ISA, "Operand Size Exceeding
    /// Instruction-Type Size").
    pub fn moved_bits(&self, body: &Body<'_>, values: &[Operand]) -> u8 {
        let Some(ty) = self.ty.filter(|_| self.decision.is_none()) else { return ALL };
        let bits = ty.bits();
        let extended = self.class != SiteClass::Load || ty.signed();
        let more = |v: &Operand| match v {
            Operand::Reg(r) | Operand::Element(r, _) => {
                body.function.regs.get(r.index()).is_some_and(|r| r.ty.bits() > bits)
            }
            Operand::Int(i) => bits < 64 && i.cast_unsigned() >> bits != 0,
            Operand::Vector(parts) => {
                parts.iter().any(|p| self.moved_bits(body, std::slice::from_ref(p)) != ALL)
            }
            _ => false,
        };
        if extended && values.iter().any(more) { bits as u8 } else { ALL }
    }
}

/// The points of `body`; the first has site number `first`.
pub(crate) fn points(body: &Body<'_>, first: u32) -> Vec<Point> {
    let mut out: Vec<Point> = Vec::new();
    let mut push = |mut p: Point| {
        p.site = SiteId(first + out.len() as u32);
        out.push(p);
    };
    push(Point::bare(None, SiteClass::Entry, BlockId(0), None));
    let leaves: HashMap<InstId, BlockId> = body.leaves().filter_map(|(b, i, _)| Some((i?, b))).collect();
    for i in 0..body.function.insts.len() as u32 {
        let at = InstId(i);
        let inst = body.inst(at);
        if let Some(class) = memory_class(inst) {
            push(memory(body, at, inst, class));
        }
        for &d in body.decided.get(&at).into_iter().flatten() {
            push(decision(body, at, inst, d));
        }
        if let Some(part) = leaves.get(&at) {
            push(Point::bare(Some(at), SiteClass::Exit, *part, None));
        }
    }
    for (part, ..) in body.leaves().filter(|(_, at, _)| at.is_none()) {
        push(Point::bare(None, SiteClass::Exit, part, None));
    }
    out
}

impl Point {
    fn bare(at: Option<InstId>, class: SiteClass, part: BlockId, guard: Option<Guard>) -> Point {
        Point {
            site: SiteId(0),
            at,
            class,
            decision: None,
            part,
            guard,
            before: Vec::new(),
            after: Vec::new(),
            ty: None,
        }
    }
}

/// What a memory or synchronisation instruction is as a site.
fn memory_class(inst: &Inst) -> Option<SiteClass> {
    let class = match inst.class {
        Class::Load => SiteClass::Load,
        Class::Store => SiteClass::Store,
        Class::Atomic => SiteClass::Atomic,
        Class::Texture => match inst.semantics.effect {
            Effect::Access(Access { reads: true, writes: true, .. }) => SiteClass::Atomic,
            Effect::Access(Access { writes: true, .. }) => SiteClass::Store,
            Effect::Access(_) => SiteClass::Load,
            _ => return None,
        },
        Class::Sync => match inst.semantics.effect {
            Effect::Barrier(_) | Effect::BarrierObject { .. } => SiteClass::Sync,
            _ => return None,
        },
        _ => return None,
    };
    (!is_param(inst)).then_some(class)
}

fn memory(body: &Body<'_>, at: InstId, inst: &Inst, class: SiteClass) -> Point {
    let mut p = Point::bare(Some(at), class, inst.block, body.guard_after(at));
    // The elements of a tile are several in a register.
    let tile = matches!(inst.semantics.effect, Effect::Access(access) if access.tile);
    let ty = if class == SiteClass::Load { inst.semantics.result } else { inst.semantics.input };
    p.ty = ty.filter(|_| !tile).map(scalar).filter(|s| *s != Scalar::B128);
    match class {
        SiteClass::Load => p.after = values(in_role(inst, &[Role::Def])),
        SiteClass::Store => p.before = values(in_role(inst, &[Role::Use])),
        SiteClass::Atomic => {
            p.before = values(in_role(inst, &[Role::Use]));
            // What an atomic returns depends on the order of threads. That matters only if something uses it.
            let mut results = in_role(inst, &[Role::Def]);
            results
                .retain(|o| regs(std::slice::from_ref(o)).iter().any(|reg| !body.uses(at, *reg).is_empty()));
            p.after = values(results);
        }
        // A barrier that reduces (`bar.red`) gives its result to a decision or a computation; the site is the
        // meeting.
        _ => {}
    }
    p
}

fn decision(body: &Body<'_>, at: InstId, inst: &Inst, d: usize) -> Point {
    let mut p = Point::bare(Some(at), body.class(d), body.part_of(at), body.decision_guard(d));
    p.decision = Some(d);
    if body.is_switch(d) {
        // Behind its own guard, in the part that switches.
        p.guard = if p.part == inst.block { inst.guard } else { None };
        p.before = vec![Operand::Reg(body.decisions[d].reg)];
        p.ty = Some(Scalar::U32);
        return p;
    }
    if matches!(inst.class, Class::Call | Class::Load | Class::Atomic | Class::Opaque) {
        return p;
    }
    p.before = values(in_role(inst, &[Role::Use, Role::UseDef]));
    p.ty = inst.semantics.input.map(scalar);
    p
}

/// Those operands that have a value in a register or in the text.
fn values(operands: Vec<Operand>) -> Vec<Operand> {
    let known = |o: &Operand| match o {
        Operand::Not(r) => Some(Operand::Reg(*r)),
        Operand::Reg(_) | Operand::Element(..) | Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => {
            Some(o.clone())
        }
        _ => None,
    };
    operands.iter().filter_map(known).collect()
}

/// Whether all values fit the 64 bits that folds and records take.
pub(crate) fn too_wide(body: &Body<'_>, values: &[Operand]) -> bool {
    values.iter().any(|v| match v {
        Operand::Reg(r) | Operand::Element(r, _) => {
            body.function.regs.get(r.index()).is_some_and(|r| r.ty == Type::B128)
        }
        _ => false,
    })
}

/// Whether a memory site's values are recorded without being asked for: the thread's own stack says nothing
/// new.
pub(crate) fn shared_memory(inst: &Inst) -> bool {
    inst.space != Space::Local
}

/// Whether others than the thread's CTA can see the memory that a site accesses. A generic address may be
/// anywhere.
pub(crate) fn outer_memory(inst: &Inst) -> bool {
    !matches!(inst.space, Space::Local | Space::Shared)
}

/// A value as written.
pub(crate) fn name(body: &Body<'_>, operand: &Operand) -> String {
    let reg = |r: &prlx_isa::view::Reg| {
        body.function.regs.get(r.index()).map(|r| r.name.clone()).unwrap_or_default()
    };
    match operand {
        Operand::Reg(r) => reg(r),
        Operand::Not(r) => format!("!{}", reg(r)),
        Operand::Element(r, i) => {
            format!("{}.{}", reg(r), ["x", "y", "z", "w"].get(usize::from(*i)).unwrap_or(&"?"))
        }
        Operand::Int(i) => i.to_string(),
        Operand::F32(b) => format!("0f{b:08X}"),
        Operand::F64(b) => format!("0d{b:016X}"),
        Operand::Special(s) => s.clone(),
        Operand::Sink => "_".to_owned(),
        Operand::Vector(all) | Operand::List(all) => {
            format!("{{{}}}", all.iter().map(|o| name(body, o)).collect::<Vec<_>>().join(", "))
        }
        Operand::Pair(a, b) => format!("{}|{}", name(body, a), name(body, b)),
        Operand::Symbol(..) | Operand::Address(..) | Operand::Tensor(..) => "an address".to_owned(),
        Operand::Label(_) | Operand::Targets(_) => "a label".to_owned(),
        Operand::Text(_) => "an operand that PRLX does not understand".to_owned(),
    }
}

/// The type of a value: what the instruction works in, or for predicates and where it does not say, the
/// register's own.
pub(crate) fn type_of(body: &Body<'_>, point: &Point, operand: &Operand) -> Scalar {
    let own = match operand {
        Operand::Reg(r) | Operand::Not(r) | Operand::Element(r, _) => {
            body.function.regs.get(r.index()).map(|r| scalar(r.ty))
        }
        Operand::F32(_) => Some(Scalar::F32),
        Operand::F64(_) => Some(Scalar::F64),
        _ => None,
    };
    let untyped = |ty: Scalar| matches!(ty, Scalar::B8 | Scalar::B16 | Scalar::B32 | Scalar::B64);
    match (own, point.ty) {
        (Some(own @ Scalar::Pred), _) | (Some(own), None) => own,
        (None, None | Some(Scalar::Pred)) => Scalar::B32,
        // `st.b32` of an `.f32` register: the register knows better.
        (Some(own), Some(ty)) if untyped(ty) && own.bits() == ty.bits() => own,
        (_, Some(ty)) => ty,
    }
}
