//! Level `values`: at which instructions bits that stand for stored values are recorded.
//!
//! These are stores and atomics, or the accesses that the filter names. Of an atomic, what it is given counts:
//! what it returns depends on the order of threads. A decoder reads the bits as it reads those of a decision
//! that steers nothing.
//!
//! # Limitations
//! - Nothing is recorded in a loop that only waits: how often it runs is a matter of timing.
//! - The decoder must know the guard, so it must be a recorded or computed decision.

use std::collections::BTreeSet;

use prlx_isa::view::{Guard, InstId, Operand};
use prlx_trace::SiteId;
use prlx_trace::kernel::SiteClass;

use crate::choose::cut;
use crate::function::body::Body;
use crate::function::points::Point;
use crate::function::spin_loops;
use crate::function::wgmma::WgmmaHazards;
use crate::insert::event_site::unreadable;
use crate::plan::At;

/// What a function records of the values that it stores.
#[derive(Default)]
pub(crate) struct Stored {
    /// The instructions.
    pub insts: BTreeSet<InstId>,
    /// Sites that were asked for, and why nothing is recorded there.
    pub skipped: Vec<(SiteId, String)>,
}

impl Stored {
    /// Of the points that are `asked` for. `kept`: by decision, whether a decoder knows it.
    pub fn of(body: &Body<'_>, points: &[Point], asked: &[bool], kept: &[bool]) -> Stored {
        let (windows, waiting) = (WgmmaHazards::of(body), spin_loops::asking_parts(body));
        let reachable = body.reachable();
        let mut out = Stored::default();
        for (p, asked) in points.iter().zip(asked) {
            let Some(at) = p.at.filter(|_| *asked && p.decision.is_none()) else { continue };
            let values = values(p);
            if values.is_empty() || !reachable[p.part.index()] {
                continue;
            }
            let why = match unreadable(body, &windows, at, values) {
                None if waiting[p.part.index()] => Some("how often a loop that waits runs depends on timing"),
                None if !body.inst(at).guard.is_none_or(|g| cut::knows_guard(body, kept, at, g)) => {
                    Some("its guard is not recorded")
                }
                None => None,
                Some(why) => {
                    out.skipped.push((p.site, why));
                    continue;
                }
            };
            match why {
                Some(why) => out.skipped.push((p.site, why.to_owned())),
                None => _ = out.insts.insert(at),
            }
        }
        out
    }
}

/// The values of a point that its bits stand for.
pub(crate) fn values(p: &Point) -> &[Operand] {
    if p.class == SiteClass::Load { &p.after } else { &p.before }
}

/// Where the bits of a point are recorded, and for whom.
pub(crate) fn place(body: &Body<'_>, p: &Point, at: InstId) -> (At, Option<Guard>) {
    match p.class {
        SiteClass::Load => (At::After(at), p.guard),
        _ => (At::Before(at), body.inst(at).guard),
    }
}
