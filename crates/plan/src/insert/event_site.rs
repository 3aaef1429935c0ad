//! Where the event of one site is written, for which lanes, and with which value.

use prlx_isa::view::{Class, Guard, InstId, Operand};
use prlx_trace::kernel::SiteClass;

use crate::function::body::{Body, regs, written};
use crate::function::points::{self, Point};
use crate::function::wgmma::WgmmaHazards;
use crate::plan::At;

/// Where a decision's value is at hand, and for whom.
pub(crate) fn decided_at(body: &Body<'_>, p: &Point, at: InstId) -> (At, Option<Guard>) {
    match p.class {
        SiteClass::Switch => (At::Before(at), body.inst(at).guard),
        _ => (At::After(at), p.guard),
    }
}

/// Where a point's event is written, for whom, and with which value.
pub(crate) struct EventPlacement {
    pub place: At,
    pub guard: Option<Guard>,
    pub value: Option<Operand>,
}

/// How a point's event is written by itself.
pub(crate) fn event_at(body: &Body<'_>, p: &Point, at: InstId) -> EventPlacement {
    let after = || EventPlacement { place: At::After(at), guard: p.guard, value: p.after.first().cloned() };
    match (p.decision, p.class) {
        (Some(d), _) => {
            let (place, guard) = decided_at(body, p, at);
            EventPlacement { place, guard, value: Some(Operand::Reg(body.decisions[d].reg)) }
        }
        (None, SiteClass::Load) => after(),
        (None, SiteClass::Atomic) if !p.after.is_empty() => after(),
        (None, _) => EventPlacement {
            place: At::Before(at),
            guard: body.inst(at).guard,
            value: p.before.first().cloned(),
        },
    }
}

/// Whether a point is a write to memory, of which all is known before it.
pub(crate) fn stores(p: &Point) -> bool {
    p.class == SiteClass::Store || p.class == SiteClass::Atomic && p.after.is_empty()
}

/// Whether `values` and `guard` are the same at `first` and at `at`, a later instruction, and for the same
/// lanes: no instruction between them changes one of them, and no lane joins, leaves or waits there.
pub(crate) fn stays(
    body: &Body<'_>,
    first: InstId,
    at: InstId,
    values: &[Operand],
    guard: Option<Guard>,
) -> bool {
    let mut read = regs(values);
    read.extend(guard.map(|g| g.reg));
    body.part_of(first) == body.part_of(at)
        && (first.0..at.0).map(|i| body.inst(InstId(i))).all(|inst| {
            !matches!(inst.class, Class::Call | Class::Sync | Class::Warp | Class::Opaque)
                && written(inst).iter().all(|reg| !read.contains(reg))
        })
}

/// Why code at `at` can't read `values`.
pub(crate) fn unreadable(
    body: &Body<'_>,
    windows: &WgmmaHazards,
    at: InstId,
    values: &[Operand],
) -> Option<String> {
    if points::too_wide(body, values) {
        return Some("a 128-bit register".to_owned());
    }
    let flying = windows.before(at);
    let hit =
        values.iter().any(|v| matches!(v, Operand::Reg(r) | Operand::Element(r, _) if flying.contains(r)));
    hit.then(|| "an accumulator of tensor-core work in flight".to_owned())
}
