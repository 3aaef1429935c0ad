//! Lists the code that two builds do not share, or that could not be compared, and the gaps that this leaves.
//!
//! # Invariants
//! Every site that the recording level includes and that is not compared is listed once, under its line. Only
//! visited sites make a gap: code that never ran hides no difference.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Level, Site, SiteClass};
use prlx_trace::{FuncId, LocId, SiteId};

use crate::decode::CheckedModule;
use crate::launches::gaps::{Gaps, recorded_at_level};
use crate::report::{Uncompared, WhyUncompared};

use super::canonical_form::{CanonicalForm, SiteRole};

/// Visits that were not compared.
#[derive(Default)]
pub(crate) struct UncomparedVisits {
    /// By side and site: the number of visits.
    pub visits: [BTreeMap<SiteId, u64>; 2],
    /// The number of memory digests that differ, but cover other lanes on each side.
    pub incomparable: u64,
}

impl UncomparedVisits {
    /// Adds the uncompared visits of one warp.
    pub fn add(&mut self, visits: &[BTreeMap<SiteId, u64>; 2], incomparable: u64) {
        for (sum, visits) in self.visits.iter_mut().zip(visits) {
            visits.iter().for_each(|(site, n)| *sum.entry(*site).or_default() += n);
        }
        self.incomparable += incomparable;
    }

    /// Whether some of the sites seem to exist in both builds.
    pub fn has_matched_sites(&self, sides: Option<&[CanonicalForm; 2]>) -> bool {
        let both = |side: &CanonicalForm, s: &SiteId| {
            matches!(side.sites.get(s.index()), Some(SiteRole::Compared(_)))
        };
        sides.is_some_and(|sides| {
            sides.iter().zip(&self.visits).any(|(own, all)| all.keys().any(|s| both(own, s)))
        })
    }
}

/// The number of a side's sites that have no match.
pub(crate) fn unmatched(
    p: &CheckedModule<'_>,
    side: &CanonicalForm,
    level: Level,
    reach: &BTreeSet<FuncId>,
) -> u64 {
    let alone = |why| matches!(why, WhyUncompared::Alone | WhyUncompared::Between);
    let is = |(s, part): &(&Site, &SiteRole)| {
        reportable(s, level, reach) && matches!(part, SiteRole::Excluded(why) if alone(*why))
    };
    let sites = p.module.sites.iter().zip(&side.sites).enumerate().filter(|(_, both)| is(both));
    sites.map(|(i, _)| p.recorded(SiteId(i as u32))).collect::<BTreeSet<_>>().len() as u64
}

fn reportable(s: &Site, level: Level, reach: &BTreeSet<FuncId>) -> bool {
    // Every level records where a function begins and ends.
    reach.contains(&s.function)
        && recorded_at_level(level, s)
        && !matches!(s.class, SiteClass::Entry | SiteClass::Exit)
}

/// Everything that is not compared, by side and place in the code.
pub(crate) fn list(
    programs: [&CheckedModule<'_>; 2],
    sides: &[CanonicalForm; 2],
    reach: [&BTreeSet<FuncId>; 2],
    level: Level,
    uncompared: &UncomparedVisits,
) -> Vec<Uncompared> {
    let mut out = Vec::new();
    for side in 0..2 {
        let m = programs[side].module;
        // The entry's index, by line and reason.
        let mut places: BTreeMap<(FuncId, Option<LocId>, SiteClass, WhyUncompared), usize> = BTreeMap::new();
        for (i, (s, part)) in m.sites.iter().zip(&sides[side].sites).enumerate() {
            let id = SiteId(i as u32);
            let visits = uncompared.visits[side].get(&id).copied().unwrap_or_default();
            let why = match part {
                SiteRole::Excluded(why) => *why,
                // Visited inside a call or a trip that may not match.
                SiteRole::Compared(_) if visits > 0 => WhyUncompared::Doubtful,
                SiteRole::Compared(_) => continue,
            };
            // Loads and barriers are recorded at level `events` if they were asked for.
            let asked = visits > 0 && matches!(s.class, SiteClass::Load | SiteClass::Sync);
            if !reportable(s, level, reach[side]) && !asked {
                continue;
            }
            let at = *places.entry((s.function, s.loc, s.class, why)).or_insert_with(|| {
                out.push(Uncompared {
                    side: side as u8,
                    why,
                    site: programs[side].site_info(id).unwrap_or_default(),
                    ..Uncompared::default()
                });
                out.len() - 1
            });
            out[at].sites += 1;
            out[at].visits += visits;
            out[at].hides |= why.hides() && visits > 0;
        }
    }
    out
}

/// Adds a gap for each reason for which a difference could be hidden.
pub(crate) fn gaps(list: &[Uncompared], uncompared: &UncomparedVisits, gaps: &mut Gaps) {
    for why in [WhyUncompared::Alone, WhyUncompared::Copies, WhyUncompared::Opposite, WhyUncompared::Doubtful]
    {
        for side in 0..2u8 {
            let of = list.iter().filter(|u| u.hides && u.why == why && u.side == side);
            let (sites, visits) = of.fold((0, 0), |(s, v), u| (s + u.sites, v + u.visits));
            // A reason that concerns both sides gives one gap.
            if visits == 0
                || side == 1 && why != WhyUncompared::Alone && gaps.contains_key(&format!("2 {why:?}"))
            {
                continue;
            }
            let name = ["A", "B"][usize::from(side)];
            let s = |one: &'static str, many: &'static str| if sites == 1 { one } else { many };
            let (key, text) = match why {
                WhyUncompared::Opposite => (
                    format!("2 {why:?}"),
                    format!(
                        "{sites} matched {} may test the opposite condition: not compared",
                        s("site", "sites")
                    ),
                ),
                WhyUncompared::Copies => (
                    format!("2 {why:?}"),
                    format!(
                        "{sites} {} in other loops, or copied differently, in the other build: not compared",
                        s("site is", "sites are")
                    ),
                ),
                WhyUncompared::Doubtful => (
                    format!("2 {why:?}"),
                    format!(
                        "{sites} {} to have a match, but behaved differently: the match may be wrong",
                        s("site seems", "sites seem")
                    ),
                ),
                _ => (
                    format!("2 {why:?} {side}"),
                    format!(
                        "{sites} {} that only {name} has {} executed: the effect is unknown",
                        s("site", "sites"),
                        s("was", "were")
                    ),
                ),
            };
            gaps.insert(key, text);
        }
    }
    if let Some(text) = unread(list) {
        gaps.insert("2 source".into(), text);
    }
    if uncompared.incomparable > 0 {
        let n = uncompared.incomparable;
        let text = format!(
            "{n} {} other lanes in each build: not compared",
            if n == 1 { "memory digest covers" } else { "memory digests cover" }
        );
        gaps.insert("2 apart".into(), text);
    }
}

/// The source files without text, where an edited line cannot be told from a compiler's change.
fn unread(list: &[Uncompared]) -> Option<String> {
    let doubtful = list.iter().filter(|u| u.hides && u.why == WhyUncompared::Doubtful);
    let unread =
        doubtful.filter_map(|u| Some((u.site.location.as_ref()?, u.side))).filter(|(l, _)| l.code.is_none());
    let (mut files, mut sides) = (BTreeSet::new(), BTreeSet::new());
    for (l, side) in unread {
        files.insert(prlx_trace::names::file_name(&l.file));
        sides.insert(["A", "B"][usize::from(side)]);
    }
    let [files, sides] = [files, sides].map(|all| all.into_iter().collect::<Vec<_>>());
    (!files.is_empty()).then(|| {
        format!(
            "{} {} not available when {} {} recorded: an edit there looks like a compiler's change",
            files.join(", "),
            if files.len() == 1 { "was" } else { "were" },
            sides.join(" and "),
            if sides.len() == 1 { "was" } else { "were" },
        )
    })
}
