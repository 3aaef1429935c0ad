//! Level `values`: where bits that stand for stored values are recorded.
//!
//! These values are those of stores and atomics, or of the accesses that the filter names. Of an atomic, what
//! it is given counts: what it returns depends on the order of threads. Stores of one source line that follow
//! each other share their bits, as vectors do. A decoder reads the bits as it reads those of a decision that
//! steers nothing.
//!
//! # Limitations
//! - Nothing is recorded in a loop that only waits: how often it runs is a matter of timing.
//! - The decoder must know the guard, so it must be a recorded or computed decision.

use std::collections::BTreeMap;

use prlx_isa::view::{Guard, InstId, Operand};
use prlx_trace::SiteId;
use prlx_trace::kernel::SiteClass;

use crate::function::body::Body;
use crate::function::points::Point;
use crate::function::spin_loops;
use crate::function::wgmma::WgmmaHazards;
use crate::insert::event_site::{stays, unreadable};
use crate::plan::At;

/// How many values share one sequence of bits, at most.
const MOST: usize = 16;

/// Bits that stand for stored values.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StoredHash {
    /// The site of the first store.
    pub site: SiteId,
    /// Where they are recorded.
    pub place: At,
    /// The guard of the stores.
    pub guard: Option<Guard>,
    /// What they stand for.
    pub values: Vec<Operand>,
    /// As many lowest bits of each value count.
    pub bits: u8,
}

/// By the instruction at which they are recorded.
pub(crate) type StoredHashes = BTreeMap<InstId, StoredHash>;

/// Of the points that are `asked` for: what is recorded, and the sites where nothing can be, with the reason.
/// `kept`: by decision, whether a decoder knows it.
pub(crate) fn hashes(
    body: &Body<'_>,
    points: &[Point],
    asked: &[bool],
    kept: &[bool],
) -> (StoredHashes, Vec<(SiteId, String)>) {
    let (windows, waiting) = (WgmmaHazards::of(body), spin_loops::asking_parts(body));
    let reachable = body.reachable();
    let mut hashes = StoredHashes::new();
    let mut skipped = Vec::new();
    // The last store, if the next one may share its bits.
    let mut last: Option<InstId> = None;
    for (p, asked) in points.iter().zip(asked) {
        let Some(at) = p.at.filter(|_| *asked && p.decision.is_none()) else { continue };
        let values = if p.class == SiteClass::Load { &p.after } else { &p.before };
        if values.is_empty() || !reachable[p.part.index()] {
            continue;
        }
        let why = unreadable(body, &windows, at, values).or_else(|| {
            if waiting[p.part.index()] {
                return Some("how often a loop that waits runs depends on timing".to_owned());
            }
            let known = body.inst(at).guard.is_none_or(|g| body.knows_guard(kept, at, g));
            (!known).then(|| "its guard is not recorded".to_owned())
        });
        if let Some(why) = why {
            skipped.push((p.site, why));
            continue;
        }
        let (place, guard) = match p.class {
            SiteClass::Load => (At::After(at), p.guard),
            _ => (At::Before(at), body.inst(at).guard),
        };
        let bits = p.moved_bits(body, values);
        let mut hash = StoredHash { site: p.site, place, guard, values: values.clone(), bits };
        if p.class == SiteClass::Store
            && let Some(first) = last.filter(|first| {
                let earlier = &hashes[first];
                shares(body, (*first, earlier), (at, &hash))
                    && unreadable(body, &windows, at, &earlier.values).is_none()
            })
            && let Some(earlier) = hashes.remove(&first)
        {
            hash.site = earlier.site;
            hash.values.splice(..0, earlier.values);
        }
        last = (p.class == SiteClass::Store).then_some(at);
        hashes.insert(at, hash);
    }
    (hashes, skipped)
}

/// Whether what is recorded at `a` can be recorded at `b` as well, a later store of the same line.
fn shares(body: &Body<'_>, (a, first): (InstId, &StoredHash), (b, next): (InstId, &StoredHash)) -> bool {
    stays(body, a, b, &first.values, first.guard)
        && body.loc(a).is_some()
        && body.loc(a) == body.loc(b)
        && (first.guard, first.bits) == (next.guard, next.bits)
        && first.values.len() + next.values.len() <= MOST
}
