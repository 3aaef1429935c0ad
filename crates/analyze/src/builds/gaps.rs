//! What two builds do not have in common, or not so that it could be compared: in words, and as what keeps a verdict from being
//! `same`.
//!
//! Holds: every site that a level tells of and that is not compared is listed once, under its line. A gap is only what was
//! visited: what never ran hides nothing.

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
    /// By side and site.
    pub visits: [BTreeMap<SiteId, u64>; 2],
    /// Values of memory that differ, but were taken over other lanes on each side.
    pub apart: u64,
}

impl UncomparedVisits {
    /// Adds what one warp left out.
    pub fn add(&mut self, visits: &[BTreeMap<SiteId, u64>; 2], apart: u64) {
        for (sum, visits) in self.visits.iter_mut().zip(visits) {
            visits.iter().for_each(|(site, n)| *sum.entry(*site).or_default() += n);
        }
        self.apart += apart;
    }

    /// Whether something that both builds seem to have is among it.
    pub fn doubts(&self, sides: Option<&[CanonicalForm; 2]>) -> bool {
        let both = |side: &CanonicalForm, s: &SiteId| {
            matches!(side.sites.get(s.index()), Some(SiteRole::Compared(_)))
        };
        sides.is_some_and(|sides| {
            sides.iter().zip(&self.visits).any(|(own, all)| all.keys().any(|s| both(own, s)))
        })
    }
}

/// VisitCounts a side's sites that have no partner.
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
    // Where a function begins and ends every level sees.
    reach.contains(&s.function)
        && recorded_at_level(level, s)
        && !matches!(s.class, SiteClass::Entry | SiteClass::Exit)
}

/// All that is not compared, by side and place in the code.
pub(crate) fn list(
    programs: [&CheckedModule<'_>; 2],
    sides: &[CanonicalForm; 2],
    reach: [&BTreeSet<FuncId>; 2],
    level: Level,
    left: &UncomparedVisits,
) -> Vec<Uncompared> {
    let mut out = Vec::new();
    for side in 0..2 {
        let m = programs[side].module;
        // By line and reason: its entry.
        let mut places: BTreeMap<(FuncId, Option<LocId>, SiteClass, WhyUncompared), usize> = BTreeMap::new();
        for (i, (s, part)) in m.sites.iter().zip(&sides[side].sites).enumerate() {
            let id = SiteId(i as u32);
            let visits = left.visits[side].get(&id).copied().unwrap_or_default();
            let why = match part {
                SiteRole::Excluded(why) => *why,
                // Or in a call or a trip that may be another one.
                SiteRole::Compared(_) if visits > 0 => WhyUncompared::Doubtful,
                SiteRole::Compared(_) => continue,
            };
            if !reportable(s, level, reach[side]) {
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

/// What of it could hide a difference.
pub(crate) fn gaps(list: &[Uncompared], left: &UncomparedVisits, gaps: &mut Gaps) {
    for why in [WhyUncompared::Alone, WhyUncompared::Copies, WhyUncompared::Opposite, WhyUncompared::Doubtful]
    {
        for side in 0..2u8 {
            let of = list.iter().filter(|u| u.hides && u.why == why && u.side == side);
            let (sites, visits) = of.fold((0, 0), |(s, v), u| (s + u.sites, v + u.visits));
            // What both sides have is told once.
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
                        "{sites} {} with a partner may ask the opposite: not compared",
                        s("site", "sites")
                    ),
                ),
                WhyUncompared::Copies => (
                    format!("2 {why:?}"),
                    format!(
                        "{sites} {} in other loops, or not as often, as in the other build: not compared",
                        s("site is", "sites are")
                    ),
                ),
                WhyUncompared::Doubtful => (
                    format!("2 {why:?}"),
                    format!(
                        "{sites} {} to have a partner, and may not: it did not do the same",
                        s("site seems", "sites seem")
                    ),
                ),
                _ => (
                    format!("2 {why:?} {side}"),
                    format!(
                        "{sites} {} only {name} has ran: what that changed is not known",
                        s("site that", "sites that")
                    ),
                ),
            };
            gaps.insert(key, text);
        }
    }
    if let Some(text) = unread(list) {
        gaps.insert("2 source".into(), text);
    }
    if left.apart > 0 {
        let n = left.apart;
        let text = format!(
            "{n} {} taken over other lanes in each build: not compared",
            if n == 1 { "value was" } else { "values were" }
        );
        gaps.insert("2 apart".into(), text);
    }
}

/// Which sources nobody could look at, where something may differ because a line was edited, or because of the compiler.
fn unread(list: &[Uncompared]) -> Option<String> {
    let doubtful = list.iter().filter(|u| u.hides && u.why == WhyUncompared::Doubtful);
    let unread =
        doubtful.filter_map(|u| Some((u.site.location.as_ref()?, u.side))).filter(|(l, _)| l.code.is_none());
    let (mut files, mut sides) = (BTreeSet::new(), BTreeSet::new());
    for (l, side) in unread {
        files.insert(l.file.rsplit(['/', '\\']).next().unwrap_or(&l.file));
        sides.insert(["A", "B"][usize::from(side)]);
    }
    let [files, sides] = [files, sides].map(|all| all.into_iter().collect::<Vec<_>>());
    (!files.is_empty()).then(|| {
        format!(
            "{} {} not at hand when {} {} recorded: an edit there cannot be told from what a compiler did",
            files.join(", "),
            if files.len() == 1 { "was" } else { "were" },
            sides.join(" and "),
            if sides.len() == 1 { "was" } else { "were" },
        )
    })
}
