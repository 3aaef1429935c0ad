//! The second look: which visits to record operands of, and what they say.
//!
//! Holds: the evidence shown is that of the diverging visit of each lane, not of the site's last one. Values of loads are
//! those of the load's last visit before the decision, by the order of the lane's own records.
//!
//! Misses: operands beyond the second; loads that the module has no site for.

use std::collections::BTreeMap;

use prlx_trace::kernel::{Level, Module, SiteClass};
use prlx_trace::launch::{Lanes, OperandRecord, Window};
use prlx_trace::{Lane, Recording, SiteId, Trace, WarpId};

use crate::decode::lane_part;
use crate::error::Error;
use crate::report::{Finding, LaunchReport, OperandCell, OperandColumn, OperandRow, Operands, Report, SiteInfo};
use crate::value;

/// Visits that a window may span so that loads outside of the finding's loops are in it.
const MAX_SPAN: u64 = 4096;

/// What to watch on `side` to see the operands of `finding`; `None` if it has no site there.
pub fn window_for(finding: &Finding, side: usize) -> Option<Window> {
    let site = finding.site.get(side)?.as_ref()?.id;
    let mut sites = vec![site];
    sites.extend(finding.slice.iter().filter_map(|n| n.site[side]));
    let loads = sites.len() > 1;
    sites.sort_unstable();
    sites.dedup();
    let visits = finding.at.iter().map(|l| l.visit[side]);
    let (mut first, last) = (visits.clone().min().unwrap_or(0), visits.max().unwrap_or(0).saturating_add(1));
    if loads && last <= MAX_SPAN {
        // Loads of outer loops, or of none, have been visited less often.
        first = 0;
    }
    Some(Window { sites, warps: (finding.warp.warp, finding.warp.warp + 1), visits: (first, last) })
}

/// Puts both sides' operands, recorded at level `operands`, into the findings whose visits they are.
///
/// # Errors
/// When the recordings are damaged.
pub fn attach_operands(report: &mut Report, a: &Trace, b: &Trace) -> Result<(), Error> {
    for launch in &mut report.launches {
        let at = launch.launch;
        let sides = [recording(a, launch, at[0]), recording(b, launch, at[1])];
        let [Some((ma, ra)), Some((mb, rb))] = sides else { continue };
        for finding in &mut launch.findings {
            let warp = WarpId(finding.warp.warp);
            let (Some(wa), Some(wb)) = (ra.streams.warp(warp)?, rb.streams.warp(warp)?) else { continue };
            let seen =
                |r: &Recording| r.launch.window.as_ref().is_none_or(|w| (w.warps.0..w.warps.1).contains(&warp.0));
            let (Lanes::Operands { records: xa, ends: ea }, Lanes::Operands { records: xb, ends: eb }) =
                (&wa.lanes, &wb.lanes)
            else {
                continue;
            };
            if !seen(ra) || !seen(rb) {
                continue;
            }
            let lane = |l: u8| -> Result<[&[OperandRecord]; 2], Error> {
                Ok([lane_part(xa, ea, warp, Lane(l))?, lane_part(xb, eb, warp, Lane(l))?])
            };
            attach(finding, [ma, mb], lane)?;
        }
    }
    Ok(())
}

/// The launch of `t` that was recorded again: the same number if its kernel is the same, else the first of that kernel.
fn recording<'a>(t: &'a Trace, launch: &LaunchReport, number: u64) -> Option<(&'a Module, &'a Recording)> {
    let fits = |r: &&Recording| {
        let f = t.modules.get(r.launch.module.index()).and_then(|m| m.functions.get(r.launch.kernel.index()));
        r.launch.level == Level::Operands && f.is_some_and(|f| f.name == launch.kernel)
    };
    let same = t.launches.get(number as usize).filter(fits);
    let r = same.or_else(|| t.launches.iter().find(fits))?;
    Some((t.modules.get(r.launch.module.index())?, r))
}

/// The number of a site in the module that was recorded again.
fn again(m: &Module, info: &SiteInfo) -> Option<SiteId> {
    let is = |i: usize| m.sites.get(i).is_some_and(|s| s.class == info.class && s.text == info.text);
    if is(info.id.index()) {
        return Some(info.id);
    }
    (0..m.sites.len()).find(|&i| is(i)).map(|i| SiteId(i as u32))
}

fn attach<'a>(
    finding: &mut Finding,
    modules: [&Module; 2],
    lane: impl Fn(u8) -> Result<[&'a [OperandRecord]; 2], Error>,
) -> Result<(), Error> {
    let [Some(ia), Some(ib)] = &finding.site else { return Ok(()) };
    let [Some(sa), Some(sb)] = [again(modules[0], ia), again(modules[1], ib)] else { return Ok(()) };
    let sites = [sa, sb];
    let operands = [0, 1].map(|s| &modules[s].sites[sites[s].index()].operands[..]);
    let columns: Vec<OperandColumn> = operands[0]
        .iter()
        .zip(operands[1])
        .take(2)
        .map(|(x, y)| OperandColumn { name: [x.name.clone(), y.name.clone()], ty: x.ty })
        .collect();
    let mut rows = Vec::new();
    for at in &finding.at {
        let records = lane(at.lane)?;
        let of =
            |side: usize| records[side].iter().find(|r| r.site == sites[side] && u64::from(r.visit) == at.visit[side]);
        let (x, y) = (of(0), of(1));
        if x.is_none() && y.is_none() {
            continue;
        }
        let cells = (0..columns.len())
            .map(|c| {
                let bits = [x.map(|r| r.values[c]), y.map(|r| r.values[c])];
                let ty = [0, 1].map(|s: usize| operands[s][c].ty);
                OperandCell {
                    bits,
                    shown: [0, 1].map(|s| bits[s].map(|b| value::shown(b, ty[s]))),
                    differs: matches!(bits, [Some(p), Some(q)] if p != q),
                }
            })
            .collect();
        rows.push(OperandRow { lane: at.lane, differs: at.differs, cells });
    }
    if !rows.is_empty() {
        finding.operands = Some(Operands { columns, rows });
    }
    loads(finding, modules, sites, lane(finding.lane)?);
    Ok(())
}

/// What the loads of the slice gave to the lane shown, and which of them first gave both sides something else.
fn loads(finding: &mut Finding, modules: [&Module; 2], sites: [SiteId; 2], records: [&[OperandRecord]; 2]) {
    let visit = finding.visit;
    // By side and site: the last record before the decision, and its number.
    let last = |side: usize| -> BTreeMap<SiteId, (usize, u64)> {
        let mut seen = BTreeMap::new();
        for (i, r) in records[side].iter().enumerate() {
            if r.site == sites[side] && Some(u64::from(r.visit)) == visit[side] {
                break;
            }
            seen.insert(r.site, (i, r.values[0]));
        }
        seen
    };
    let seen = [last(0), last(1)];
    let mut first: Option<(usize, usize)> = None;
    for (n, node) in finding.slice.iter_mut().enumerate() {
        let [Some(a), Some(b)] = node.site else { continue };
        let load = |m: &Module, s: SiteId| m.sites.get(s.index()).is_some_and(|s| s.class == SiteClass::Load);
        if !load(modules[0], a) || !load(modules[1], b) {
            continue;
        }
        let got = [seen[0].get(&a), seen[1].get(&b)];
        let ty = modules[0].sites[a.index()].operands.first().map(|o| o.ty).unwrap_or_default();
        node.values = got.map(|g| g.map(|g| g.1));
        node.shown = node.values.map(|v| v.map(|v| value::shown(v, ty)));
        if let [Some(x), Some(y)] = got {
            node.same = Some(x.1 == y.1);
            if x.1 != y.1 && first.is_none_or(|f| x.0 < f.0) {
                first = Some((x.0, n));
            }
        }
    }
    // An argument that differs was there before any load.
    let argument = finding.slice.iter().any(|n| n.first);
    if let Some((_, n)) = first.filter(|_| !argument) {
        finding.slice[n].first = true;
    }
}
