//! What two builds seem to have in common and may not: there, that both do the same says that they do, and that they do not says
//! nothing.
//!
//! Holds: trips of a loop are surely those of the other build's loop only if all that is in each of them agrees on how many of the
//! source's trips one is, no test to stay counts in other steps, and tests are asked at the same end of a trip, or each trip begins with
//! what the other build asks after it. Calls are surely the same ones only if both builds call a
//! function from as many places. What a decision compares, [`crate::meaning`] looks at.
//!
//! Misses: loops whose tests count something else (addresses, say) are doubtful, though they may be the same.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::FuncId;
use prlx_trace::kernel::{Module, Step};

use super::canonical_form::{CanonicalForm, MatchInput, SiteRole};
use super::common_ids::CommonIds;
use super::unrolled_copies::{CopyGroup, FunctionPair, STRAIGHT, SiteCopy, added};

/// By family and side: how many trips of the source a trip of each segment is, as one group has it.
type UnrollClaim = [BTreeMap<u32, u32>; 2];

/// The families of which it is not sure that their trips are the same on both sides.
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
        let Some(family) = g.families.last() else { continue };
        // An edited test counts as it was edited.
        let edited = (input.edited)(g.copies[0][0].site, g.copies[1][0].site);
        if g.leaves() && pair.asks_elsewhere(g) {
            elsewhere.insert(*family);
        }
        if g.leaves() && !edited {
            tests.entry(*family).or_default().push(g);
        } else if !g.leaves() && compared(g) {
            claims.entry(*family).or_default().push([0, 1].map(|side| pair.trips_of(side, g)));
        }
    }
    let all: BTreeSet<u32> = groups.iter().flat_map(|(_, g)| g.families.iter().copied()).collect();
    all.into_iter().filter(|f| elsewhere.contains(f) || !counts_agree(pair, *f, &claims, &tests)).collect()
}

fn counts_agree(
    pair: &FunctionPair<'_>,
    family: u32,
    claims: &BTreeMap<u32, Vec<UnrollClaim>>,
    tests: &BTreeMap<u32, Vec<&CopyGroup>>,
) -> bool {
    let claims = claims.get(&family).map_or(&[][..], |c| c);
    let tests = tests.get(&family).map_or(&[][..], |t| t);
    let loops = [0, 1].map(|side| pair.loops(side, family).len());
    let one = claims.first();
    if claims.iter().any(|c| Some(c) != one) {
        return false;
    }
    // One copy and no loop is no loop that was unrolled.
    let trips = |side: usize| one.map_or(0, |c| c[side].values().sum::<u32>());
    if (0..2).any(|side| loops[side] == 0 && trips(side) < 2) {
        return false;
    }
    // What one group alone has before or after a loop may be something else.
    let beside =
        |c: &UnrollClaim| (0..2).any(|side| loops[side] > 0 && c[side].keys().any(|s| *s >= STRAIGHT));
    if claims.len() == 1 && claims.iter().any(beside) {
        return false;
    }
    let factor = |side: usize| one.and_then(|c| c[side].values().max()).copied();
    let steps = [0, 1].map(|side| tests.iter().flat_map(|g| steps(pair, side, g)).collect::<BTreeSet<u64>>());
    match (factor(0), factor(1), &steps) {
        (Some(x), Some(y), [s, t]) => match (s.first(), t.first()) {
            // As many steps as trips of the source, on both sides.
            (Some(s), Some(t)) if loops == [1, 1] => s * u64::from(y) == t * u64::from(x),
            _ => true,
        },
        // Only the tests tell.
        (_, _, [s, t]) => loops == [1, 1] && s == t,
    }
}

/// In which steps a group's tests count.
fn steps(pair: &FunctionPair<'_>, side: usize, g: &CopyGroup) -> Vec<u64> {
    let m = pair.modules[side];
    let in_loop = |c: &&SiteCopy| c.leaves.is_some();
    let slices = g.copies[side].iter().filter(in_loop).flat_map(|c| &m.sites[c.site].slice);
    slices.filter_map(|n| added(&n.text)).map(i64::unsigned_abs).filter(|c| *c > 0).collect()
}

/// By side: functions that one of a pair of functions calls from more places than the other does.
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
