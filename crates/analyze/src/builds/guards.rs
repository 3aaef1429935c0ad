//! Which decisions may have set the guard of a site.

use std::collections::BTreeMap;

use prlx_trace::SiteId;
use prlx_trace::kernel::{Module, Step};

/// By guarded site: the decisions that may have set its guard. If one of them differs, only one side visits
/// the site.
pub(crate) fn guarded(m: &Module) -> BTreeMap<SiteId, Vec<SiteId>> {
    let mut out: BTreeMap<SiteId, Vec<SiteId>> = BTreeMap::new();
    for f in &m.functions {
        let steps = || f.blocks.iter().flat_map(|b| &b.steps);
        let mut deciders: BTreeMap<_, Vec<SiteId>> = BTreeMap::new();
        for s in steps() {
            if let Step::Decide { site, slot, .. } = s {
                deciders.entry(*slot).or_default().push(*site);
            }
        }
        for s in steps() {
            let (site, guard) = match s {
                Step::Visit { site, guard: Some(g) } | Step::Decide { site, guard: Some(g), .. } => {
                    (*site, g)
                }
                _ => continue,
            };
            out.entry(site).or_default().extend(deciders.get(&guard.slot).into_iter().flatten());
        }
    }
    out
}
