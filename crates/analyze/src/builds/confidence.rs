//! Finds matches between two builds that are not certain. If both sides behave alike, the match is confirmed.
//! If they do not, nothing follows, and no finding is reported.
//!
//! # Invariants
//! The trips of a loop match with certainty only if all three hold:
//! - all sites on every trip agree on how many source trips one trip makes;
//! - the loop tests count in matching steps;
//! - both builds test at the same end of a trip, or one begins each trip with the test that the other makes
//!   after it.
//!
//! Calls match with certainty only if both builds call a function from equally many places.
//! [`super::polarity`] decides about the operands of decisions.
//!
//! # Limitations
//! A loop whose tests count something else, such as addresses, is uncertain even if it is the same.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::FuncId;
use prlx_trace::kernel::{Module, Step};

use super::canonical_form::{CanonicalForm, MatchInput, SiteRole};
use super::common_ids::CommonIds;
use super::unrolled_copies::{CopyGroup, FunctionPair, PEELED, SiteCopy, added};

/// By side and part of a source loop: how many source trips one trip makes, according to one group.
type UnrollClaim = [BTreeMap<u32, u32>; 2];

/// The source loops whose trips may not match on both sides.
pub(crate) fn uncertain_loops(
    input: &MatchInput<'_>,
    pair: &FunctionPair<'_>,
    groups: &[(u32, CopyGroup)],
    sides: &[CanonicalForm; 2],
) -> BTreeSet<u32> {
    let compared = |g: &CopyGroup| matches!(sides[0].sites[g.copies[0][0].site], SiteRole::Compared(_));
    let mut claims: BTreeMap<u32, Vec<UnrollClaim>> = BTreeMap::new();
    let mut tests: BTreeMap<u32, Vec<&CopyGroup>> = BTreeMap::new();
    let mut elsewhere: BTreeSet<u32> = BTreeSet::new();
    for (_, g) in groups {
        let Some(source_loop) = g.source_loops.last() else { continue };
        // An edited test counts in the steps of its new text.
        let edited = (input.edited)(g.copies[0][0].site, g.copies[1][0].site);
        if g.exits_loop() && pair.tests_elsewhere(g) {
            elsewhere.insert(*source_loop);
        }
        if g.exits_loop() && !edited {
            tests.entry(*source_loop).or_default().push(g);
        } else if !g.exits_loop() && compared(g) {
            claims.entry(*source_loop).or_default().push([0, 1].map(|side| pair.trips_of(side, g)));
        }
    }
    let all: BTreeSet<u32> = groups.iter().flat_map(|(_, g)| g.source_loops.iter().copied()).collect();
    all.into_iter().filter(|f| elsewhere.contains(f) || !counts_agree(pair, *f, &claims, &tests)).collect()
}

fn counts_agree(
    pair: &FunctionPair<'_>,
    source_loop: u32,
    claims: &BTreeMap<u32, Vec<UnrollClaim>>,
    tests: &BTreeMap<u32, Vec<&CopyGroup>>,
) -> bool {
    let claims = claims.get(&source_loop).map_or(&[][..], |c| c);
    let tests = tests.get(&source_loop).map_or(&[][..], |t| t);
    let loops = [0, 1].map(|side| pair.loops(side, source_loop).len());
    let one = claims.first();
    if claims.iter().any(|c| Some(c) != one) {
        return false;
    }
    // One copy outside of loops is not evidence of an unrolled loop.
    let trips = |side: usize| one.map_or(0, |c| c[side].values().sum::<u32>());
    if (0..2).any(|side| loops[side] == 0 && trips(side) < 2) {
        return false;
    }
    // A single group with copies before or after a loop may be something else.
    let beside = |c: &UnrollClaim| (0..2).any(|side| loops[side] > 0 && c[side].keys().any(|s| *s >= PEELED));
    if claims.len() == 1 && claims.iter().any(beside) {
        return false;
    }
    let factor = |side: usize| one.and_then(|c| c[side].values().max()).copied();
    let steps = [0, 1].map(|side| tests.iter().flat_map(|g| steps(pair, side, g)).collect::<BTreeSet<u64>>());
    match (factor(0), factor(1), &steps) {
        (Some(x), Some(y), [s, t]) => match (s.first(), t.first()) {
            // The step of each side, in proportion to its source trips.
            (Some(s), Some(t)) if loops == [1, 1] => s * u64::from(y) == t * u64::from(x),
            _ => true,
        },
        // Only the loop tests give evidence.
        (_, _, [s, t]) => loops == [1, 1] && s == t,
    }
}

/// The constants that a group's tests add to their counters.
fn steps(pair: &FunctionPair<'_>, side: usize, g: &CopyGroup) -> Vec<u64> {
    let m = pair.modules[side];
    let in_loop = |c: &&SiteCopy| c.exits.is_some();
    let slices = g.copies[side].iter().filter(in_loop).flat_map(|c| &m.sites[c.site].slice);
    slices.filter_map(|n| added(&n.text)).map(i64::unsigned_abs).filter(|c| *c > 0).collect()
}

/// By side: functions that one side of a function pair calls from more places than the other.
pub(crate) fn uncertain_calls(pair: &FunctionPair<'_>, names: [&CommonIds; 2]) -> [BTreeSet<FuncId>; 2] {
    let counts = [0, 1].map(|side| {
        let mut counts: BTreeMap<u32, (FuncId, u32)> = BTreeMap::new();
        for f in called(pair.modules[side], pair.functions[side]) {
            counts.entry(names[side].function(f)).or_insert((f, 0)).1 += 1;
        }
        counts
    });
    [0, 1].map(|side| {
        let other = |of: &u32| counts[1 - side].get(of).map_or(0, |c| c.1);
        counts[side].iter().filter(|(of, c)| c.1 != other(of)).map(|(_, c)| c.0).collect()
    })
}

fn called(m: &Module, f: FuncId) -> impl Iterator<Item = FuncId> {
    let blocks = m.functions.get(f.index()).map_or(&[][..], |f| &f.blocks);
    blocks.iter().flat_map(|b| &b.steps).filter_map(|s| match s {
        Step::Call { function, .. } => Some(*function),
        _ => None,
    })
}
