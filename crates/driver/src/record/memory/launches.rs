//! What a launch records, and the trace entries that decoded streams, tables and records become.

use prlx_plan::{Plan, ProbeState, RecordingRequest};
use prlx_trace::launch::Launch;
use prlx_trace::mark::Marks;
use prlx_trace::table::Row;
use prlx_trace::{ModuleId, Recording, TableContents, WarpId};

use crate::decode::{DecodedStreams, KeptWarps};

/// Range of warps that a launch records: first, and one past the last. If the filter has several ranges, this
/// is the range from the first of them to the last, and [`recording`] removes the warps between them.
pub(in crate::record) fn wanted(program: &RecordingRequest, launch: &Launch) -> (u64, u64) {
    let all = (0, launch.warps());
    let ranges = &program.filter.warps;
    let hull = || Some((ranges.iter().map(|r| r.0).min()?, ranges.iter().map(|r| r.1).max()?));
    let (first, last) = launch.window.as_ref().map(|w| w.warps).or_else(hull).unwrap_or(all);
    (first.min(all.1), last.clamp(first.min(all.1), all.1))
}

/// [`Context::cta_warps`](prlx_trace::device::Context::cta_warps) of a launch that records the warps
/// `wanted.0..wanted.1`.
pub(in crate::record) fn cta_warps(launch: &Launch, wanted: (u64, u64)) -> u64 {
    let flat = [launch.grid, launch.block].iter().all(|d| (d.y, d.z) == (1, 1));
    if flat && wanted == (0, launch.warps()) { launch.warps_per_cta() } else { 0 }
}

/// Adds a launch to its decoded streams. Also returns complaints about the recorded bytes.
pub(in crate::record) fn recording(
    kept: &KeptWarps<'_>,
    mut launch: Launch,
    decoded: DecodedStreams,
) -> (Recording, Vec<String>) {
    let (first, last) = wanted(kept.request, &launch);
    let taken = (first..last).filter(|w| kept.takes(WarpId(*w))).count() as u64;
    launch.totals.recorded = decoded.recorded;
    launch.totals.dropped = decoded.dropped;
    launch.totals.filtered_warps = launch.warps() - taken;
    launch.hashes = decoded.hashes;
    (Recording { launch, streams: decoded.streams }, decoded.damage)
}

/// Decodes the tracks of a launch from a copy of their memory: of `warps` warps, in regions of `1 << log`
/// bytes. `None` if the launch has no markers.
pub(in crate::record) fn marks(
    plan: &Plan,
    launch: &Launch,
    (warps, log): (u64, u32),
    bytes: &[u8],
) -> Option<Marks> {
    let layout = plan.probe_state.tracks.as_ref()?;
    let (first, _) = wanted(&plan.request, launch);
    let Launch { module, kernel, number, .. } = *launch;
    let left_out = launch.warps() - warps.min(launch.warps() - first);
    let tracks = layout.read(kernel, first, log, bytes);
    Some(Marks { module, launch: number, tracks, left_out })
}

/// Contents of a module's tables after the launches with the numbers `launches.0..=launches.1`. `bytes` is a
/// copy of their memory.
pub(in crate::record) fn tables(
    state: &ProbeState,
    module: ModuleId,
    launches: (u64, u64),
    bytes: &[u8],
) -> Vec<TableContents> {
    let each = state.tables.iter().enumerate();
    let mut all = each.map(|(i, table)| tally(module, i, launches, state.rows(table, bytes))).collect();
    state.add_shares(&mut all);
    all
}

/// Contents of the records of one launch. `bytes` is a copy of their memory.
pub(in crate::record) fn records(state: &ProbeState, launch: &Launch, bytes: &[u8]) -> Vec<TableContents> {
    let of = |i: usize| {
        let launches = (launch.number, launch.number);
        tally(launch.module, state.own() + i, launches, state.records.read(i, bytes))
    };
    (0..state.records.parts.len()).map(of).collect()
}

fn tally(
    module: ModuleId,
    table: usize,
    launches: (u64, u64),
    (rows, lost): (Vec<Row>, u64),
) -> TableContents {
    TableContents { module, table: table as u32, launches: Some(launches), rows, lost }
}
