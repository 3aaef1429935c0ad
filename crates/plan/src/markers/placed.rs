//! Markers with their place in the code.

use prlx_isa::view::{self, BlockId, Class, Guard, InstId, LocId, Operand, PassedBy};
use prlx_trace::device::tracks::Group;
use prlx_trace::mark::{MarkKind, Via};

use crate::function::body::{Body, PartEnd};
use crate::plan::{At, SpanBegin, Word};

/// A marker at its place.
pub(super) struct PlacedMarker {
    pub at: At,
    pub guard: Option<Guard>,
    pub name: String,
    pub kind: MarkKind,
    pub via: Via,
    pub loc: Option<LocId>,
    pub words: Vec<(&'static str, Word)>,
    /// Part of a queue of asynchronous work.
    pub group: Option<Group>,
}

/// Where code at a marker goes, and for whom.
pub struct MarkerPosition {
    /// Where the code goes.
    pub at: At,
    /// The lanes that pass the marker there; `None`: all.
    pub guard: Option<Guard>,
    /// The part of the function that the place is in.
    pub part: BlockId,
}

/// Where code at a marker can stand: at one place, or on each way to it; at none, where nobody comes there.
pub fn positions(body: &Body<'_>, mark: &view::Marker) -> Result<Vec<MarkerPosition>, String> {
    let count = body.function.insts.len() as u32;
    let branches = match &mark.passed_by {
        PassedBy::All if mark.at.0 < count => {
            return Ok(vec![MarkerPosition {
                at: At::Before(mark.at),
                guard: mark.guard,
                part: body.inst(mark.at).block,
            }]);
        }
        PassedBy::All | PassedBy::FallThrough => &[],
        PassedBy::Some(Some(branches)) => branches.as_slice(),
        PassedBy::Some(None) => {
            let what = format!("marker {} {}", mark.kind.name(), mark.name);
            return Err(format!(
                "{what} stands between two labels, and a switch or many branches go to the first"
            ));
        }
    };
    let take = |i: &InstId| MarkerPosition {
        at: At::Before(*i),
        guard: body.inst(*i).guard,
        part: body.inst(*i).block,
    };
    let mut all: Vec<MarkerPosition> = branches.iter().map(take).collect();
    let Some(last) = mark.at.0.checked_sub(1).map(InstId) else {
        all.push(MarkerPosition { at: At::Entry, guard: None, part: BlockId(0) });
        return Ok(all);
    };
    let inst = body.inst(last);
    let part = inst.block;
    match (leaves(inst.class), inst.guard) {
        (false, _) => all.push(MarkerPosition { at: At::After(last), guard: None, part }),
        (true, None) => {}
        (true, Some(g)) => {
            let guard = Some(Guard { reg: g.reg, negate: !g.negate });
            all.push(MarkerPosition { at: At::Before(last), guard, part });
        }
    }
    Ok(all)
}

/// Whether control does not just come out behind an instruction.
pub(super) fn leaves(class: Class) -> bool {
    matches!(class, Class::Branch | Class::Switch | Class::Return | Class::Exit)
}

/// Where lanes go from one part to another, and which of those that are there.
pub fn edge(body: &Body<'_>, from: BlockId, to: BlockId) -> Result<(At, Option<Guard>, InstId), String> {
    let part = &body.parts[from.index()];
    let Some(last) = part.insts.clone().next_back().map(InstId).or(part.of) else {
        return Err("there is no instruction at which this loop is entered or left".to_owned());
    };
    let class = body.inst(last).class;
    let at = if leaves(class) { At::Before(last) } else { At::After(last) };
    let guard = match part.end {
        PartEnd::Branch { taken, other, .. } if taken == other => None,
        PartEnd::Branch { guard, taken, .. } if taken == to => Some(guard),
        PartEnd::Branch { guard, .. } => Some(Guard { reg: guard.reg, negate: !guard.negate }),
        PartEnd::Switch { .. } if part.end.succs().len() > 1 => {
            return Err(
                "a switch enters or leaves a loop here, and which way lanes go is not a predicate".to_owned()
            );
        }
        _ => body.inst(last).guard.filter(|_| class == Class::Switch),
    };
    Ok((at, guard, last))
}

pub(super) fn kind(kind: view::MarkerKind) -> MarkKind {
    match kind {
        view::MarkerKind::Begin => MarkKind::Begin,
        view::MarkerKind::End => MarkKind::End,
        view::MarkerKind::Instant => MarkKind::Instant,
        view::MarkerKind::Switch => MarkKind::Switch,
        view::MarkerKind::Issue => MarkKind::Issue,
        view::MarkerKind::Complete => MarkKind::Complete,
        view::MarkerKind::Arrive => MarkKind::Arrive,
        view::MarkerKind::Group => MarkKind::Group,
    }
}

/// What a marker leaves.
pub(super) enum MarkerOutput {
    /// A record of the marker.
    Record,
    /// A span ends there, by number, or begins.
    Span { end: Option<u32>, begin: Option<SpanBegin> },
}

/// A number as a word.
pub(super) fn number(n: u32) -> Word {
    Word { of: Operand::Int(n.into()), add: 0 }
}
