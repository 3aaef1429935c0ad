//! Compares one pair of launches and decides its verdict.

use std::collections::BTreeSet;

use prlx_trace::kernel::Level;
use prlx_trace::names::display_name;
use prlx_trace::{FuncId, Launch, Recording, Trace};

use crate::builds::gaps::{self as uncompared, UncomparedVisits};
use crate::builds::site_match::ModuleMatch;
use crate::decode::CheckedModule;
use crate::error::Error;
use crate::launches::gaps::{
    Gaps, coverage_gaps, dilation, pointer_calls, recorded_at_level, static_gaps, unseen_memory,
};
use crate::launches::kernel_names;
use crate::launches::order::{self, Exchange};
use crate::launches::{culprit, differences};
use crate::report::{
    Elements, Fault, Lanes, LaunchDifference, LaunchPart, LaunchReport, OTHER_NAMES, Sites, Warps,
    WhyUncompared,
};

use super::cluster::FindingClusters;
use super::context::{Context, totals};
use super::launch_hashes;
use super::launch_selection::SelectedLaunch;
use super::launch_streams::streams;
use super::module_cache::{ModuleCache, forced_names, module};
use super::options::DiffOptions;

/// Compares one pair of launches.
pub(super) fn compare_launches<'a>(
    traces: [&'a Trace; 2],
    at: [&SelectedLaunch; 2],
    shared: &mut ModuleCache<'a>,
    options: &DiffOptions,
) -> Result<LaunchReport, Error> {
    let kernel = &at[0].kernel;
    let recordings = [0, 1].map(|side| &traces[side].launches[at[side].index]);
    let [la, lb] = recordings.map(|r| &r.launch);
    let [ma, mb] = [module(traces[0], la)?, module(traces[1], lb)?];
    let mut out = LaunchReport {
        kernel: kernel.clone(),
        launch: at.map(|w| w.number),
        ranges: [0, 1].map(|side| {
            let names = traces[side].range_names(&recordings[side].launch);
            names.map(ToString::to_string).collect()
        }),
        skipped: [la, lb].map(|l| l.skipped.clone()),
        fidelity: [la, lb].map(|l| l.fidelity.name().to_owned()),
        module: [ma.name.clone(), mb.name.clone()],
        device: [la.device.clone(), lb.device.clone()],
        level: la.level,
        grid: la.grid,
        block: la.block,
        warp_size: la.warp_size,
        faults: [la, lb].map(|l| l.fault.as_ref().map(|f| Fault { kind: f.kind, text: f.text.clone() })),
        dilation: [la, lb].map(dilation),
        ..LaunchReport::default()
    };
    let differences = |digests: bool| {
        let mut all = differences::differences([ma, mb], [la, lb], digests);
        if at[0].kernel != at[1].kernel {
            let values = kernel_names::distinguish([&at[0].kernel, &at[1].kernel]);
            all.push(LaunchDifference { what: LaunchPart::Code, name: "kernel".into(), values });
        }
        all
    };
    let all = differences(true);
    out.culprit = culprit::culprit([la, lb], &all);
    let digested = [la, lb].into_iter().all(culprit::digested);
    let comparable = culprit::comparable([la, lb]);
    out.digests_differ = all.iter().any(|d| d.what == LaunchPart::Output) || digested && !comparable;
    out.digests_agree = digested && !out.digests_differ;
    out.differences = if options.digest_differences { all } else { differences(false) };
    out.padding = culprit::padding([ma, mb], [la, lb], &out.differences);
    out.undigested = [la, lb].map(culprit::undigested);
    if out.skipped.iter().any(Option::is_some) {
        let mut out = not_compared(out, [la, lb], None);
        if !options.strict {
            out.accept_unrecorded();
        }
        return Ok(out);
    }
    if la.level != lb.level {
        let what = format!("A was recorded at level {}, B at level {}", la.level.label(), lb.level.label());
        return Err(Error::new(format!("kernel {kernel}"), what));
    }
    shared.prepare(traces, [la, lb])?;
    let pairing = shared.pairing([ma, mb], [la, lb]);
    let cx = shared.context([la, lb], options.limits);
    let hashing_differs = (ma.hashing != mb.hashing).then(|| hashing_differs(la.level)).flatten();
    out.reshaped = work_distribution_differs(pairing, &cx);
    // A launch that was stopped has a gap of its own.
    let completed = out.faults == [None, None];
    let known = digested && (options.digest_differences || out.digests_agree);
    if completed && !known {
        out.unseen_memory = unseen_memory([ma, mb], cx.reach, la.level).map(str::to_owned);
    }
    let kept = || {
        (la.hashes.is_some() != lb.hashes.is_some())
            .then(|| "one side has hashes of the whole launch only: record both alike".to_owned())
    };
    let unlike = || needs_one_build(la.level, pairing, &cx).or_else(|| out.reshaped.clone()).or_else(kept);
    if let Some(why) = hashing_differs.or_else(unlike) {
        return Ok(not_compared(out, [la, lb], Some(why)));
    }
    let forced = forced_names([ma, mb], [la, lb])
        .map(|names| names.map(display_name))
        .map(|[x, y]| format!("`{x}` and `{y}`{OTHER_NAMES}"));
    let (plain, _) = compare_lanes(&cx, recordings, pairing.same, options, (out.clone(), forced.clone()))?;
    if hidden(&plain) == 0 || plain.findings_total > 0 {
        return Ok(plain);
    }
    // One side inlined what the other calls: compare again with these calls inlined on both sides.
    shared.prepare_inlined(traces, [la, lb])?;
    let cx = shared.context([la, lb], options.limits);
    let Some(view) = shared.inlined_context(&cx) else { return Ok(plain) };
    let (inlined, uncompared) = compare_lanes(&view, recordings, false, options, (out, forced))?;
    // An uncertain difference must be listed in the report.
    let listed = !uncompared.has_matched_sites(view.canonical)
        || inlined.uncompared.iter().any(|u| u.why == WhyUncompared::Doubtful && u.hides);
    let complete =
        inlined.findings_total == 0 && inlined.coverage.lanes.failed <= plain.coverage.lanes.failed;
    Ok(if listed && complete && hidden(&inlined) < hidden(&plain) { inlined } else { plain })
}

/// The number of uncompared visits that could hide a difference.
fn hidden(l: &LaunchReport) -> u64 {
    l.uncompared.iter().filter(|u| u.hides).map(|u| u.visits).sum()
}

/// Compares the lanes. Also returns what was not compared. `same_sites`: both sides have one build.
fn compare_lanes(
    cx: &Context<'_>,
    recordings: [&Recording; 2],
    same_sites: bool,
    options: &DiffOptions,
    (mut out, forced): (LaunchReport, Option<String>),
) -> Result<(LaunchReport, UncomparedVisits), Error> {
    let mut gaps = Gaps::new();
    gaps.extend(forced.map(|what| ("0000".into(), what)));
    // One build does the same with the same inputs.
    let determined = same_sites && cx.launches.into_iter().all(culprit::known) && out.inputs_agree();
    let coverage = &mut out.coverage;
    for (side, l) in cx.launches.into_iter().enumerate() {
        let (program, reach) = cx.recorded[side];
        coverage.elements[side] = Elements { recorded: l.totals.recorded, dropped: l.totals.dropped };
        let alone = cx
            .canonical
            .map(|f| uncompared::unmatched(cx.sides.programs[side], &f[side], l.level, cx.reach[side]));
        coverage.sites[side] = sites(program, l.level, reach, alone.unwrap_or_default());
        static_gaps(program.module, l, program, reach, side, &mut gaps);
        if !determined {
            pointer_calls(program.module, reach, side, &mut gaps);
        }
    }
    let mut clusters = FindingClusters::new(options);
    let mut uncompared = UncomparedVisits::default();
    match cx.launches.map(|l| l.hashes) {
        [Some(a), Some(b)] => out.hashes = launch_hashes::compare(cx, [a, b], coverage),
        _ => streams(cx, recordings, same_sites, coverage, &mut clusters, &mut uncompared, &mut gaps)?,
    }
    coverage_gaps(coverage, cx.launches, &mut gaps);
    clusters.apply_filter(coverage, &mut gaps);
    if let Some(sides) = cx.canonical {
        out.uncompared =
            uncompared::list(cx.sides.programs, sides, cx.reach, cx.launches[0].level, &uncompared);
        uncompared::gaps(&out.uncompared, &uncompared, &mut gaps);
    }
    out.differing = clusters.totals();
    out.notes.extend(clusters.note());
    out.findings = clusters.findings(cx, cx.sides.programs.map(|p| p.module));
    out.findings_total = out.findings.len() as u64;
    out.order =
        !options.strict && out.findings_total > 0 && order::decides(&out.findings, exchange(cx), same_sites);
    out.findings.truncate(options.findings);
    if let Some(hashes) = &out.hashes {
        let what = launch_hashes::what_differs(hashes);
        out.order = !options.strict && launch_hashes::is_order(hashes, exchange(cx));
        if out.order && out.digests_agree && out.inputs_agree() {
            out.notes.push(order::accepted(&what, order::DECIDES_THERE));
        } else {
            gaps.insert(
                "5".into(),
                format!("{what}, which does not tell which threads differ (--level path does)"),
            );
        }
    }
    let mut out = with_verdict(out, gaps);
    out.accept_order_of_threads(out.digests_agree);
    Ok((out, uncompared))
}

/// What the threads of both sides exchange in no fixed order, if they run one build.
fn exchange(cx: &Context<'_>) -> Exchange {
    let [program, _] = cx.sides.programs;
    let reached = program.module.sites.iter().filter(|s| cx.reach[0].contains(&s.function));
    if cx.canonical.is_none() { Exchange::of(reached) } else { Exchange::None }
}

/// Why recordings that hash values in different ways cannot be compared. `None` if the level records no
/// hashes.
fn hashing_differs(level: Level) -> Option<String> {
    let hashes = matches!(level, Level::Fingerprint | Level::Values | Level::Events);
    let level = hashes.then(|| level.label())?;
    Some(format!(
        "one side was recorded by an older version that hashes values differently, so level {level} cannot \
         be compared: record it again"
    ))
}

/// Why recordings of two builds cannot be compared at this level. `None` if they can.
fn needs_one_build(level: Level, pairing: &ModuleMatch, cx: &Context<'_>) -> Option<String> {
    let (what, than) = match level {
        Level::Fingerprint if !pairing.same || cx.by_thread() => ("hashes", "path"),
        Level::Operands if cx.canonical.is_some() || cx.by_thread() => ("visits of single sites", "events"),
        _ => return None,
    };
    let level = level.label();
    Some(format!(
        "{what} of level {level} can be compared within one build only, and these are two: record both at \
         level {than}"
    ))
}

/// Why threads of equal index do different work, as far as the geometry shows it. `None` if it does not. Two
/// builds with different CTA sizes distribute the work differently.
fn work_distribution_differs(pairing: &ModuleMatch, cx: &Context<'_>) -> Option<String> {
    let [a, b] = cx.launches;
    let [x, y] = [a, b].map(|l| l.block.volume());
    let but = "decisions are not compared; buffers are, where they were digested";
    if x != y && (!pairing.same || x.saturating_mul(a.grid.volume()) != y.saturating_mul(b.grid.volume())) {
        return Some(format!(
            "CTAs have {x} threads in A and {y} in B, so their threads do not correspond: {but}"
        ));
    }
    if cx.canonical.is_some() && a.grid != b.grid {
        return Some(format!(
            "two builds were launched with different grids, so their CTAs do not correspond: {but}"
        ));
    }
    None
}

/// The report on two launches whose lanes cannot be compared. Geometry, inputs and outputs are still
/// compared.
fn not_compared(mut out: LaunchReport, launches: [&Launch; 2], why: Option<String>) -> LaunchReport {
    let coverage = &mut out.coverage;
    let (warps, lanes) = totals(launches);
    coverage.warps = Warps { missing: warps.total, ..warps };
    coverage.lanes = Lanes { missing: lanes.total, ..lanes };
    for (elements, l) in coverage.elements.iter_mut().zip(launches) {
        *elements = Elements { recorded: l.totals.recorded, dropped: l.totals.dropped };
    }
    let mut gaps = Gaps::new();
    coverage_gaps(coverage, launches, &mut gaps);
    // The reason explains why no warp was compared; counting the warps adds nothing.
    gaps.remove("5");
    gaps.extend(why.map(|why| ("000".into(), why)));
    with_verdict(out, gaps)
}

/// Fills in the gaps and the verdict.
fn with_verdict(mut out: LaunchReport, gaps: Gaps) -> LaunchReport {
    out.gaps = gaps.into_values().collect();
    out.gaps.extend(out.unseen_memory.clone());
    out.accept_geometry();
    out.conclude();
    out
}

fn sites(p: &CheckedModule<'_>, level: Level, reach: &BTreeSet<FuncId>, unmatched: u64) -> Sites {
    let all = || {
        p.module
            .sites
            .iter()
            .enumerate()
            .filter(|(_, s)| reach.contains(&s.function) && recorded_at_level(level, s))
    };
    let hidden: BTreeSet<usize> = reach.iter().flat_map(|f| p.hidden(*f)).map(|(s, _)| s.index()).collect();
    let skipped = all().filter(|(i, s)| s.skipped.is_some() || hidden.contains(i)).count();
    Sites { total: all().count() as u64, skipped: skipped as u64, unmatched }
}
