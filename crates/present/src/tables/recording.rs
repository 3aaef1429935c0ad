//! The rows of a recording's tables.

use std::io;

use prlx_analyze::{CheckedModule, DecodeLimits, Decoder, PathItem};
use prlx_trace::launch::Lanes;
use prlx_trace::names::own_line;
use prlx_trace::{Lane, Level, Recording, SiteId, Trace, WarpStream};

use super::model::{RowBatcher, Sink, TableSchema};
use super::schema::{LAUNCHES, SITES, VISITS, WARPS};

/// Passes the rows of one table of a recording to a sink; the first argument is the index of its process. It
/// fails with the sink's error, or with `InvalidData` if a stream cannot be decoded.
pub type RowSource = fn(u64, &Trace, &mut Sink<'_>) -> io::Result<()>;

/// The tables of a recording.
pub const RECORDING: &[(&TableSchema, RowSource)] =
    &[(&LAUNCHES, launches), (&WARPS, warps), (&SITES, sites), (&VISITS, visits)];

/// The launches of a recording, by number.
fn sorted(trace: &Trace) -> Vec<&Recording> {
    let mut all: Vec<&Recording> = trace.launches.iter().collect();
    all.sort_by_key(|r| r.launch.number);
    all
}

fn launches(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = RowBatcher::new(&LAUNCHES, sink);
    let of = trace.process.as_ref();
    for l in sorted(trace).into_iter().map(|r| &r.launch) {
        let function = trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
        let measured = Some(l.totals.instrumented).filter(|n| *n > 0 && l.skipped.is_none());
        let ranges: Vec<String> = trace.range_names(l).map(ToString::to_string).collect();
        rows.push([
            process.into(),
            of.map(|p| p.pid).into(),
            of.and_then(|p| p.rank).into(),
            l.number.into(),
            l.module.0.into(),
            function.map(|f| f.name.as_str()).into(),
            l.grid.x.into(),
            l.grid.y.into(),
            l.grid.z.into(),
            l.block.x.into(),
            l.block.y.into(),
            l.block.z.into(),
            l.level.name().into(),
            l.device.as_str().into(),
            l.ordinal.into(),
            l.stream.into(),
            l.start.0.into(),
            measured.into(),
            l.totals.recorded.into(),
            l.totals.dropped.into(),
            l.fault.as_ref().map(|f| f.text.as_str()).into(),
            l.skipped.as_deref().into(),
            ranges.last().map(String::as_str).into(),
            Some(ranges.join(" > ")).filter(|r| !r.is_empty()).as_deref().into(),
        ])?;
    }
    rows.flush()
}

fn warps(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = RowBatcher::new(&WARPS, sink);
    for Recording { launch, streams } in sorted(trace) {
        for frame in 0..streams.frames() {
            for warp in streams.frame(frame).map_err(io::Error::other)? {
                rows.push([
                    process.into(),
                    launch.number.into(),
                    warp.warp.0.into(),
                    (warp.warp.0 / launch.warps_per_cta().max(1)).into(),
                    Some(warp.digest()).into(),
                    warp.dropped.into(),
                ])?;
            }
        }
    }
    rows.flush()
}

fn sites(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = RowBatcher::new(&SITES, sink);
    for (m, module) in (0u64..).zip(&trace.modules) {
        for (i, s) in (0u64..).zip(&module.sites) {
            let loc = s.loc.and_then(|l| own_line(module, l));
            let file = loc.and_then(|l| module.files.get(l.file.index()));
            rows.push([
                process.into(),
                m.into(),
                i.into(),
                s.class.name().into(),
                module.functions.get(s.function.index()).map(|f| f.name.as_str()).into(),
                file.map(|f| f.path.as_str()).into(),
                loc.map(|l| l.line).into(),
                loc.map(|l| l.column).into(),
                s.text.as_str().into(),
                s.skipped.as_deref().into(),
            ])?;
        }
    }
    rows.flush()
}

fn visits(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = RowBatcher::new(&VISITS, sink);
    for r in sorted(trace) {
        let l = &r.launch;
        if l.skipped.is_some() || matches!(l.level, Level::Fingerprint | Level::Operands) {
            continue;
        }
        let module =
            trace.modules.get(l.module.index()).ok_or_else(|| damaged("a launch has no module".into()))?;
        let program = CheckedModule::new(module).map_err(|e| damaged(e.to_string()))?;
        for i in 0..r.streams.frames() {
            for stream in r.streams.frame(i).map_err(|e| damaged(e.to_string()))? {
                let stream = prlx_analyze::complete_events(&program, l, &stream, DecodeLimits::default());
                for lane in l.lanes(stream.warp).lanes() {
                    lane_visits(&mut rows, process, r, &program, &stream, lane)?;
                }
            }
        }
    }
    rows.flush()
}

/// Adds the visits of one lane.
fn lane_visits(
    rows: &mut RowBatcher<'_, '_>,
    process: u64,
    r: &Recording,
    program: &CheckedModule<'_>,
    stream: &WarpStream,
    lane: Lane,
) -> io::Result<()> {
    let at = |e: prlx_analyze::Error| damaged(format!("launch {}, {}: {e}", r.launch.number, stream.warp));
    let events = matches!(stream.lanes, Lanes::Events(_));
    let decision = |site: SiteId| program.module.sites.get(site.index()).is_some_and(|s| s.class.decides());
    let mut decoder = Decoder::new(program, &r.launch, stream, lane, DecodeLimits::default())
        .map_err(at)?
        .flat()
        .with_complete_stream();
    let mut n = 0u64;
    while let Some(item) = decoder.next().map_err(at)? {
        let PathItem::Visit { site, value, mask } = item else { continue };
        rows.push([
            process.into(),
            r.launch.number.into(),
            r.launch.module.0.into(),
            stream.warp.0.into(),
            u32::from(lane.0).into(),
            n.into(),
            site.0.into(),
            Some(value).filter(|_| events || decision(site)).into(),
            Some(mask.0).filter(|_| events).into(),
        ])?;
        n += 1;
    }
    Ok(())
}

fn damaged(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
