//! Which region a switch marker ends: the innermost one that is open there, whatever way a lane comes.
//!
//! # Limitations
//! Where regions that are open differ between the ways to a place, no switch behind it has a known region
//! until all of them agree again.

use std::collections::HashMap;

use prlx_isa::view::{BlockId, Marker, MarkerKind, PassedBy};
use prlx_plan::function::body::Body;

/// Names of the regions that are open, the innermost last; `None`: not the same on all ways.
type Open = Option<Vec<String>>;

/// For each marker of a function that is a switch: the name of the region that it ends; `None`: it is not the
/// same on all ways. Other markers, and switches where no region is open, are not there.
pub(super) fn ended(body: &Body<'_>) -> HashMap<usize, Option<String>> {
    let mut here: HashMap<BlockId, Vec<(usize, &Marker)>> = HashMap::new();
    let last = body.function.insts.len().saturating_sub(1);
    for (i, marker) in body.function.markers.iter().enumerate() {
        let at = prlx_isa::view::InstId(marker.at.0.min(last as u32));
        if body.function.insts.get(at.index()).is_some() {
            here.entry(body.inst(at).block).or_default().push((i, marker));
        }
    }
    let mut known: HashMap<BlockId, Open> = HashMap::from([(BlockId(0), Some(Vec::new()))]);
    let mut rest = vec![BlockId(0)];
    let mut ended = HashMap::new();
    while let Some(part) = rest.pop() {
        let mut open = known.get(&part).cloned().flatten();
        for (i, marker) in here.get(&part).into_iter().flatten() {
            step(*i, marker, &mut open, &mut ended);
        }
        for to in body.parts.get(part.index()).map(|p| p.end.succs()).unwrap_or_default() {
            let before = known.get(&to);
            let met = match before {
                None => open.clone(),
                Some(before) if *before == open => continue,
                Some(None) => continue,
                Some(_) => None,
            };
            known.insert(to, met);
            rest.push(to);
        }
    }
    ended
}

fn step(i: usize, marker: &Marker, open: &mut Open, ended: &mut HashMap<usize, Option<String>>) {
    let all = marker.guard.is_none() && marker.passed_by == PassedBy::All;
    let region = matches!(marker.kind, MarkerKind::Begin | MarkerKind::End | MarkerKind::Switch);
    if region && !all {
        *open = None;
    }
    if marker.kind == MarkerKind::Switch {
        match open.as_ref().map(|open| open.last().cloned()) {
            Some(Some(name)) => drop(ended.insert(i, Some(name))),
            Some(None) => drop(ended.remove(&i)),
            None => drop(ended.insert(i, None)),
        }
    }
    let Some(open) = open else { return };
    match marker.kind {
        MarkerKind::Begin => open.push(marker.name.clone()),
        MarkerKind::End => {
            if let Some(at) = open.iter().rposition(|name| *name == marker.name) {
                open.remove(at);
            }
        }
        MarkerKind::Switch => {
            open.pop();
            open.push(marker.name.clone());
        }
        _ => {}
    }
}
