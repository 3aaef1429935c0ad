//! Turns sites, locations and slices of a module's tables into what a report shows.
//!
//! # Invariants
//! Nothing here fails: an index out of range gives less text.

use std::collections::{BTreeSet, VecDeque};

use prlx_trace::kernel::{Module, NodeKind, Site, SiteClass};
use prlx_trace::{FuncId, Launch, LocId, LoopId, SiteId};

use super::evidence::SliceNode;
use super::source::{Location, SiteInfo, SteeredInfo};
use crate::value;

/// The largest depth of inlining that is followed.
const MAX_INLINED: usize = 32;
/// The largest number of slice nodes in a report.
const MAX_NODES: usize = 48;

/// A source location with its line's text and the calls that inlined it.
pub(crate) fn location(m: &Module, loc: Option<LocId>) -> Option<Location> {
    let mut place = without_inlining(m, loc?)?;
    let mut at = m.locs.get(loc?.index())?.inlined_at;
    while let Some(l) = at.filter(|_| place.inlined.len() < MAX_INLINED) {
        place.inlined.extend(without_inlining(m, l));
        at = m.locs.get(l.index()).and_then(|l| l.inlined_at);
    }
    Some(place)
}

fn without_inlining(m: &Module, loc: LocId) -> Option<Location> {
    let loc = m.locs.get(loc.index())?;
    let file = m.files.get(loc.file.index());
    let code = file
        .and_then(|f| f.text.as_deref())
        .and_then(|t| t.lines().nth((loc.line as usize).checked_sub(1)?))
        .map(|l| l.trim_end().to_string());
    Some(Location {
        file: file.map(|f| f.path.clone()).unwrap_or_default(),
        line: loc.line,
        column: loc.column,
        function: loc.function.clone(),
        code,
        inlined: Vec::new(),
    })
}

/// The name of a function.
pub(crate) fn function_name(m: &Module, f: FuncId) -> String {
    m.functions.get(f.index()).map(|f| f.name.clone()).unwrap_or_default()
}

/// What a report says of a site. `None` if the module has no such site.
pub fn site_info(m: &Module, id: SiteId) -> Option<SiteInfo> {
    let s = m.sites.get(id.index())?;
    let steers = s
        .steers
        .iter()
        .map(|s| SteeredInfo { class: s.class, text: s.text.clone(), location: location(m, s.loc) })
        .collect();
    Some(SiteInfo {
        id,
        class: s.class,
        function: function_name(m, s.function),
        text: s.text.clone(),
        location: location(m, s.loc),
        steers,
    })
}

/// The location of a loop: its header's, or its first block's that has a line. Compilers put line 0 on blocks
/// that merge values.
pub(crate) fn loop_location(m: &Module, function: FuncId, of: LoopId) -> Option<Location> {
    let f = m.functions.get(function.index())?;
    let l = f.loops.get(of.index())?;
    let has_line = |loc: &Option<LocId>| loc.and_then(|l| m.locs.get(l.index())).is_some_and(|l| l.line > 0);
    let blocks = l.blocks.iter().filter_map(|b| f.blocks.get(b.index())).map(|b| b.loc);
    location(m, std::iter::once(l.loc).chain(blocks).find(has_line).unwrap_or(l.loc))
}

/// Fills in the values of slice nodes that read a parameter, and marks the first that differs. Addresses of
/// buffers are left out, since they mean nothing between runs.
pub(crate) fn parameters(modules: [&Module; 2], launches: [&Launch; 2], slice: &mut [SliceNode]) {
    let mut first = true;
    for node in slice.iter_mut().filter(|n| n.kind == NodeKind::Param) {
        let name = |m: &Module, l: &Launch| {
            let f = m.functions.get(l.kernel.index())?;
            // `[name]` or `[name+4]`.
            let inside = node.text.split_once('[')?.1.split([']', '+']).next()?.trim();
            f.params.iter().position(|p| p.name == inside)
        };
        let Some(i) = name(modules[0], launches[0]).or_else(|| name(modules[1], launches[1])) else {
            continue;
        };
        let [Some(x), Some(y)] = launches.map(|l| l.args.get(i)) else { continue };
        node.argument = Some(x.name.clone()).filter(|n| !n.is_empty());
        if x.bytes.is_some() || y.bytes.is_some() {
            continue;
        }
        let raw = |side: usize| {
            let p = modules[side].functions.get(launches[side].kernel.index())?.params.get(i)?;
            let end = (p.offset as usize).checked_add(p.size as usize)?;
            let bytes = launches[side].params.get(p.offset as usize..end).filter(|b| b.len() <= 8)?;
            Some((
                bytes.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b)),
                value::format_bytes(bytes, [x.ty, p.ty]),
            ))
        };
        let [Some(a), Some(b)] = [raw(0), raw(1)] else { continue };
        node.values = [Some(a.0), Some(b.0)];
        node.same = Some(a.0 == b.0);
        node.first = a.0 != b.0 && std::mem::take(&mut first);
        node.shown = [Some(a.1), Some(b.1)];
    }
}

/// The load sites in a site's slice: node and site.
pub(crate) fn loads(m: &Module, s: &Site) -> Vec<(u32, SiteId)> {
    let mut taken = BTreeSet::new();
    let mut out = Vec::new();
    for (i, node) in s.slice.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Load) {
        let is = |(j, l): &(usize, &Site)| {
            l.function == s.function
                && l.class == SiteClass::Load
                && l.loc == node.loc
                && l.text == node.text
                && !taken.contains(j)
        };
        if let Some((j, _)) = m.sites.iter().enumerate().find(is) {
            taken.insert(j);
            out.push((i as u32, SiteId(j as u32)));
        }
    }
    out
}

/// A site's slice. Each node appears once, at its smallest depth.
pub(crate) fn slice(m: &Module, id: SiteId) -> Vec<SliceNode> {
    let Some(s) = m.sites.get(id.index()) else { return Vec::new() };
    // Depth-first from the decision, so that chains stay together.
    let mut order: Vec<(u32, u32)> = Vec::new();
    let mut place = vec![None; s.slice.len()];
    let mut todo = VecDeque::from([(0u32, 0u32)]);
    while let Some((n, depth)) = todo.pop_back() {
        let (Some(node), Some(p)) = (s.slice.get(n as usize), place.get_mut(n as usize)) else { continue };
        if p.is_some() || order.len() >= MAX_NODES {
            continue;
        }
        *p = Some(order.len() as u32);
        order.push((n, depth));
        todo.extend(node.inputs.iter().rev().map(|&i| (i, depth + 1)));
    }
    order
        .iter()
        .filter_map(|&(n, depth)| {
            let node = s.slice.get(n as usize)?;
            Some(SliceNode {
                kind: node.kind,
                text: node.text.clone(),
                location: location(m, node.loc),
                inputs: node.inputs.iter().filter_map(|&i| *place.get(i as usize)?).collect(),
                depth,
                node: n,
                ..SliceNode::default()
            })
        })
        .collect()
}
