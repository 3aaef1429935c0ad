//! Builds the view around a finding: both sides' steps side by side, the loops around them, and where each
//! lane of the warp agrees. The report says what differs; this view shows it.
//!
//! # Invariants
//! Steps are aligned as the comparison aligned them. Memory is bounded by the trees of one lane and by
//! [`PathViewOptions`], however long the lanes are.
//!
//! # Limitations
//! Levels `fingerprint` and `operands` record no path and have no view. What one side executed after the
//! other's recording ended is not shown. Each lane's steps are counted separately: equal columns of two lanes
//! are not one moment.

use std::collections::BTreeMap;

use prlx_trace::{Lane, SiteId, Trace, WarpId};

use crate::align::divergence;
use crate::align::execution_tree as tree;
use crate::align::step_recorder::{LaneStrip, ScopeBuilder, StepRecorder, StepWindow};
use crate::compare::context::Context;
use crate::compare::module_cache::{InlinedModules, ModuleCache};
use crate::compare::{at_number, lane_trees};
use crate::error::Error;
use crate::report::{AlignedStep, Finding, LaneRow, LaunchReport, PathView, describe};

use super::options::PathViewOptions;

/// Builds the view around a finding of `launch`, from the recordings that were compared. `None` if their
/// level records no path, or if the warp was not recorded.
///
/// # Errors
/// The recordings are damaged, or are not those of the report.
pub fn path_view(
    traces: [&Trace; 2],
    launch: &LaunchReport,
    finding: &Finding,
    options: &PathViewOptions,
) -> Result<Option<PathView>, Error> {
    let missing =
        |side: usize| Error::new(format!("launch {}", launch.launch[side]), "it is not in this recording");
    let [Some(a), Some(b)] = [0, 1].map(|side| at_number(traces[side], launch.launch[side])) else {
        return Err(missing(usize::from(at_number(traces[0], launch.launch[0]).is_some())));
    };
    let launches = [&a.launch, &b.launch];
    // Uncertain matches through inlined calls have no findings.
    let no_calls = InlinedModules::new();
    let mut shared = ModuleCache::new(&no_calls);
    shared.prepare(traces, launches)?;
    let cx = shared.context(launches, options.limits);
    let warp = WarpId(finding.warp.warp);
    let mut out = PathView { lane: finding.lane, ..PathView::default() };
    let mut lanes = launches[0].lanes(warp).0;
    let mut theirs = BTreeMap::new();
    let partners = if cx.by_thread() { cx.partners(warp) } else { vec![warp] };
    for w in partners {
        theirs.insert(w, b.streams.warp(w)?);
    }
    if !cx.by_thread() {
        lanes |= launches[1].lanes(warp).0;
    }
    let Some(a) = a.streams.warp(warp)? else { return Ok(None) };
    let mut rows = Vec::new();
    for lane in prlx_trace::LaneMask(lanes).lanes() {
        let (w, other) = if cx.by_thread() { cx.partner(warp, lane) } else { (warp, lane) };
        let Some(b) = theirs.get(&w).and_then(Option::as_ref) else { return Ok(None) };
        let Some([ta, tb]) = lane_trees(&cx, [(&a, lane), (b, other)])? else { return Ok(None) };
        let target = [0, 1].map(|s| finding.site[s].as_ref().map(|i| i.id).zip(finding.visit[s]));
        let mut watch = StepRecorder::new(
            options.before,
            options.after,
            options.columns,
            (lane.0 == finding.lane).then_some(target),
        );
        divergence::record_steps(&cx.sides, &ta, &tb, &mut watch);
        if let Some(window) = watch.window.take() {
            fill_in(&cx, &mut out, window, &watch.nest);
        }
        rows.push((lane, watch.map));
    }
    lay_out(&mut out, rows);
    Ok(Some(out))
}

/// Brings all lanes to the same number of steps per cell.
fn lay_out(out: &mut PathView, mut rows: Vec<(Lane, LaneStrip)>) {
    out.per_cell = rows.iter().map(|(_, m)| m.per_cell).max().unwrap_or(1);
    for (lane, map) in &mut rows {
        while map.per_cell < out.per_cell {
            map.halve();
        }
        let cells = map.cells.iter().map(|m| m.letter()).collect();
        out.lanes.push(LaneRow { lane: lane.0, cells, steps: map.steps, parts: map.parts });
    }
}

/// Fills in the steps and loops of the lane shown.
fn fill_in(cx: &Context<'_>, out: &mut PathView, window: StepWindow, nest: &[ScopeBuilder]) {
    let modules = cx.sides.programs.map(|p| p.module);
    (out.before, out.after) = (window.before, window.after);
    out.at = window.at.map(|i| i as u64);
    let mut known: [BTreeMap<SiteId, u64>; 2] = Default::default();
    for seen in window.steps {
        let mut step = AlignedStep { mark: seen.mark, within: seen.within, ..AlignedStep::default() };
        for (side, e) in seen.entries.iter().enumerate() {
            let Some(e) = e else { continue };
            let id = tree::site(*e);
            let sites = &mut out.sites[side];
            step.site[side] = Some(*known[side].entry(id).or_insert_with(|| {
                sites.push(describe::site_info(modules[side], id).unwrap_or_default());
                sites.len() as u64 - 1
            }));
            step.visit[side] = Some(e.nth.into());
            step.value[side] = Some(e.value);
        }
        out.steps.push(step);
    }
    out.nest = nest.iter().map(|n| n.finish(modules)).collect();
}
