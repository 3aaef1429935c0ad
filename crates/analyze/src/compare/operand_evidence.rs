//! Finds which visits to record again with operands, and adds these operands to the findings.
//!
//! # Invariants
//! The operands are those of each lane's diverging visit, not of the site's last visit. The value of a load
//! is that of its last visit before the decision, in the lane's own order.
//!
//! # Limitations
//! Only the first two operands of an instruction are shown. Loads without a site have no value.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Level, Module, Operand, SiteClass};
use prlx_trace::launch::{Lanes, OperandRecord, Window};
use prlx_trace::{Lane, LaneMask, Recording, SiteId, Trace, WarpId};

use crate::decode::lane_part;
use crate::error::Error;
use crate::launches::kernel_names;
use crate::report::{
    Finding, FindingKind, LaneAt, LaunchReport, OperandCell, OperandColumn, OperandRow, Operands, Report,
    SiteInfo,
};
use crate::value;

/// The longest range of visits that is recorded to include loads outside of the finding's loops.
const MAX_SPAN: u64 = 4096;

/// What to record on `side` to see the operands of `finding`. `None` if the finding has no site there.
pub fn operand_window(finding: &Finding, side: usize) -> Option<Window> {
    let site = finding.site.get(side)?.as_ref()?.id;
    let mut sites = vec![site];
    sites.extend(finding.slice.iter().filter_map(|n| n.site[side]));
    let loads = sites.len() > 1;
    sites.sort_unstable();
    sites.dedup();
    let visits = finding.at.iter().map(|l| l.visit[side]);
    let (mut first, last) = (visits.clone().min().unwrap_or(0), visits.max().unwrap_or(0).saturating_add(1));
    if loads && last <= MAX_SPAN {
        // Loads in outer loops, or outside of loops, have fewer visits.
        first = 0;
    }
    let warps = finding.at.iter().map(|l| place(finding, l, side).0.0);
    let warps = warps.clone().min().zip(warps.max()).unwrap_or((finding.warp.warp, finding.warp.warp));
    Some(Window { sites, warps: (warps.0, warps.1.saturating_add(1)), visits: (first, last) })
}

/// The warp and lane on `side` of a lane of the warp shown (A's).
fn place(finding: &Finding, at: &LaneAt, side: usize) -> (WarpId, Lane) {
    match at.thread.filter(|_| side == 1) {
        Some([warp, lane]) => (WarpId(warp), Lane(lane as u8)),
        None => (WarpId(finding.warp.warp), Lane(at.lane)),
    }
}

/// Adds operands, recorded at level `operands`, to the findings that they belong to. Call it once for each
/// recording of a window. A side with an empty trace gets no operands.
///
/// # Errors
/// The recordings are damaged.
pub fn attach_operands(report: &mut Report, a: &Trace, b: &Trace) -> Result<(), Error> {
    report.launches.iter_mut().try_for_each(|launch| attach_launch_operands(launch, a, b))
}

/// Adds operands to the findings of one launch. Use it for reports on several processes: a recording belongs
/// to one process.
///
/// # Errors
/// The recordings are damaged.
pub fn attach_launch_operands(launch: &mut LaunchReport, a: &Trace, b: &Trace) -> Result<(), Error> {
    let again = [(a, 0), (b, 1)].map(|(t, side)| recording(t, launch, side));
    for finding in &mut launch.findings {
        let mut sides: [Option<RecordedSide<'_>>; 2] = [None, None];
        for (side, found) in again.iter().enumerate() {
            let (Some((module, r)), Some(info)) = (found, &finding.site[side]) else { continue };
            // On a device with another warp size, B's warp contains other threads.
            let other = side == 1 && finding.at.iter().any(|l| l.thread.is_some());
            if (r.launch.warp_size != launch.warp_size) != other {
                continue;
            }
            let Some(site) = again_site(module, info) else { continue };
            let inside =
                |w: &WarpId| r.launch.window.as_ref().is_none_or(|x| (x.warps.0..x.warps.1).contains(&w.0));
            let mut warps = BTreeMap::new();
            let wanted: BTreeSet<WarpId> =
                finding.at.iter().map(|l| place(finding, l, side).0).filter(inside).collect();
            for warp in wanted {
                if let Some(Lanes::Operands { records, ends }) = r.streams.warp(warp)?.map(|s| s.lanes) {
                    warps.insert(warp, (records, ends));
                }
            }
            if !warps.is_empty() {
                sides[side] = Some(RecordedSide { module, site, warps });
            }
        }
        attach(finding, &sides)?;
    }
    Ok(())
}

/// One side of the warp shown, recorded with operands.
struct RecordedSide<'a> {
    module: &'a Module,
    /// The finding's site.
    site: SiteId,
    /// By warp: its records, and the end offset of each lane.
    warps: BTreeMap<WarpId, (Vec<OperandRecord>, Vec<u32>)>,
}

impl RecordedSide<'_> {
    fn lane(&self, (warp, lane): (WarpId, Lane)) -> Result<&[OperandRecord], Error> {
        self.warps.get(&warp).map_or(Ok(&[]), |(records, ends)| lane_part(records, ends, warp, lane))
    }
    /// What a lane recorded at a visit of the finding's site, and its index in the lane's records.
    fn at(&self, lane: (WarpId, Lane), visit: u64) -> Result<Option<(usize, OperandRecord)>, Error> {
        let is = |r: &OperandRecord| r.site == self.site && u64::from(r.visit) == visit;
        let records = self.lane(lane)?;
        Ok(records.iter().position(is).map(|i| (i, records[i])))
    }
    fn operands(&self) -> &[Operand] {
        self.module.sites.get(self.site.index()).map_or(&[], |s| &s.operands)
    }
}

/// The launch that was recorded again: the same number with the same kernel, otherwise the kernel's first
/// launch. B's kernel name may differ slightly.
fn recording<'a>(t: &'a Trace, launch: &LaunchReport, side: usize) -> Option<(&'a Module, &'a Recording)> {
    let fits = |r: &&Recording, same: fn(&str, &str) -> bool| {
        let f = t.modules.get(r.launch.module.index()).and_then(|m| m.functions.get(r.launch.kernel.index()));
        r.launch.level == Level::Operands
            && r.launch.skipped.is_none()
            && f.is_some_and(|f| same(&f.name, &launch.kernel))
    };
    let same = t
        .launches
        .iter()
        .find(|r| r.launch.number == launch.launch[side] && fits(r, kernel_names::same_in_source));
    let first = |how| t.launches.iter().find(|r| fits(r, how));
    let r = same.or_else(|| first(|a, b| a == b)).or_else(|| first(kernel_names::same_in_source))?;
    Some((t.modules.get(r.launch.module.index())?, r))
}

/// The number of a site in the module that was recorded again.
fn again_site(m: &Module, info: &SiteInfo) -> Option<SiteId> {
    let is = |i: usize| m.sites.get(i).is_some_and(|s| s.class == info.class && s.text == info.text);
    if is(info.id.index()) {
        return Some(info.id);
    }
    (0..m.sites.len()).find(|&i| is(i)).map(|i| SiteId(i as u32))
}

fn attach(finding: &mut Finding, sides: &[Option<RecordedSide<'_>>; 2]) -> Result<(), Error> {
    let of = |side: usize| sides[side].as_ref().map_or(&[][..], RecordedSide::operands);
    let columns: Vec<OperandColumn> = (0..of(0).len().max(of(1).len()).min(2))
        .map(|c| OperandColumn {
            name: [0, 1].map(|s| of(s).get(c).map(|o| o.name.clone()).unwrap_or_default()),
            ty: of(0).get(c).or(of(1).get(c)).map(|o| o.ty).unwrap_or_default(),
        })
        .collect();
    let mut rows = Vec::new();
    // By lane: the index of the visit's record, by side.
    let mut records = BTreeMap::new();
    for at in &finding.at {
        let mut seen = [None; 2];
        for side in 0..2 {
            if let Some(s) = &sides[side] {
                seen[side] = s.at(place(finding, at, side), at.visit[side])?;
            }
        }
        records.insert(at.lane, seen.map(|s| s.map(|(i, _)| i)));
        if seen == [None; 2] {
            continue;
        }
        let cells = (0..columns.len())
            .map(|c| {
                let ty = [0, 1].map(|s| of(s).get(c).map_or(columns[c].ty, |o| o.ty));
                let bits = [0, 1].map(|s| seen[s].map(|(_, r)| ty[s].low(r.values[c])));
                OperandCell {
                    bits,
                    shown: [0, 1].map(|s| bits[s].map(|b| value::format_value(b, ty[s]))),
                    differs: matches!(bits, [Some(p), Some(q)] if p != q),
                }
            })
            .collect();
        rows.push(OperandRow { lane: at.lane, differs: at.differs, cells });
    }
    if finding.kind == FindingKind::Value && finding.masks.is_some() {
        narrow(finding, &mut rows);
    }
    if !rows.is_empty() {
        finding.operands = Some(Operands { columns, rows });
    }
    let shown = finding.at.iter().find(|l| l.lane == finding.lane);
    let decided = records.get(&finding.lane).copied();
    if let (Some([Some(i), Some(j)]), [Some(a), Some(b)], Some(at)) = (decided, sides, shown) {
        let [x, y] = [0, 1].map(|side| place(finding, at, side));
        loads(finding, [a, b], [&a.lane(x)?[..i], &b.lane(y)?[..j]]);
    }
    Ok(())
}

/// Level `events` has one digest for all lanes of a visit. The operands show which lanes differ.
fn narrow(finding: &mut Finding, rows: &mut [OperandRow]) {
    let mut differ = LaneMask(0);
    rows.iter().filter(|r| r.cells.iter().any(|c| c.differs)).for_each(|r| differ.insert(Lane(r.lane)));
    let Some(first) = differ.lanes().next() else { return };
    for row in rows {
        let agrees = !row.cells.is_empty() && row.cells.iter().all(|c| !c.differs && !c.bits.contains(&None));
        row.differs &= !agrees;
        for at in finding.at.iter_mut().filter(|at| agrees && at.lane == row.lane) {
            at.differs = false;
        }
    }
    finding.lanes = LaneMask(finding.lanes.0 & differ.0);
    if !finding.lanes.has(Lane(finding.lane)) {
        let visit = finding.at.iter().find(|at| at.lane == first.0).map(|at| at.visit.map(Some));
        (finding.lane, finding.visit, finding.lanes) = (first.0, visit.unwrap_or(finding.visit), differ);
    }
}

/// Fills in the values that the loads of the slice gave to the lane shown, and marks the first load that
/// differs. `before` holds the lane's records before its decision, by side.
fn loads(finding: &mut Finding, sides: [&RecordedSide<'_>; 2], before: [&[OperandRecord]; 2]) {
    // By side and site: the index and value of the last record.
    let last = before.map(|records| -> BTreeMap<SiteId, (usize, u64)> {
        records.iter().enumerate().map(|(i, r)| (r.site, (i, r.values[0]))).collect()
    });
    let mut first: Option<(usize, usize)> = None;
    for (n, node) in finding.slice.iter_mut().enumerate() {
        let [Some(a), Some(b)] = node.site else { continue };
        let site = |side: usize, s: SiteId| {
            sides[side].module.sites.get(s.index()).filter(|s| s.class == SiteClass::Load)
        };
        let (Some(here), Some(there)) = (site(0, a), site(1, b)) else { continue };
        let ty = [here, there].map(|s| s.operands.first().map(|o| o.ty).unwrap_or_default());
        let got = [last[0].get(&a), last[1].get(&b)];
        node.values = [0, 1].map(|s| got[s].map(|g| ty[s].low(g.1)));
        node.shown = [0, 1].map(|s| node.values[s].map(|v| value::format_value(v, ty[s])));
        if let ([Some(x), Some(y)], [Some(at), _]) = (node.values, got) {
            node.same = Some(x == y);
            if x != y && first.is_none_or(|f| at.0 < f.0) {
                first = Some((at.0, n));
            }
        }
    }
    // Arguments come before all loads.
    let argument = finding.slice.iter().any(|n| n.first);
    if let Some((_, n)) = first.filter(|_| !argument) {
        finding.slice[n].first = true;
    }
}
