//! Recordings and reports as tables: launches, warps, sites, every visit of every lane, findings.
//!
//! Each table is declared once, names, types and what they mean; whoever writes tables ([`crate::parquet`]) goes by that. Rows come in
//! batches of at most [`ROWS`], so a table may be larger than memory.
//!
//! Holds: `process` and `launch`, and `process`, `module` and `site`, join the tables of a recording; the same input gives the same
//! rows in the same order. Every text is as recorded: nothing is escaped.
//!
//! Misses: recordings at level `print` have no visits, those of PRLX 0.x no tables but findings; what an operand was is in the
//! report only.

use std::io;

use prlx_analyze::report::{LaunchReport, Report};
use prlx_analyze::{CheckedModule, DecodeLimits, Decoder, PathItem};
use prlx_trace::kernel::SiteClass;
use prlx_trace::launch::Lanes;
use prlx_trace::{Lane, Level, Recording, SiteId, Trace, WarpStream};

use crate::words;

/// Most rows of a batch.
pub const ROWS: usize = 1 << 16;

/// What a column holds; every cell may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Numbers of 64 bits, without sign.
    Number,
    /// Numbers of 64 bits, with one.
    Signed,
    /// Floats of 64 bits.
    Float,
    /// Yes or no.
    Flag,
    /// Texts.
    Text,
}

/// A cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Missing.
    None,
    /// A number.
    Number(u64),
    /// A number with a sign.
    Signed(i64),
    /// A float: its bits.
    Float(u64),
    /// Yes or no.
    Flag(bool),
    /// A text.
    Text(String),
}

impl Cell {
    /// As text; a missing one is empty.
    pub fn plain(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Number(n) => n.to_string(),
            Cell::Signed(n) => n.to_string(),
            Cell::Float(bits) => f64::from_bits(*bits).to_string(),
            Cell::Flag(yes) => yes.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }
    /// As text in CSV (RFC 4180).
    pub fn csv(&self) -> String {
        let plain = self.plain();
        match plain.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", plain.replace('"', "\"\"")),
            false => plain,
        }
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Cell {
        Cell::Number(n)
    }
}
impl From<u32> for Cell {
    fn from(n: u32) -> Cell {
        Cell::Number(n.into())
    }
}
impl From<bool> for Cell {
    fn from(yes: bool) -> Cell {
        Cell::Flag(yes)
    }
}
impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::None, Into::into)
    }
}

/// A table: its name, and its columns with what they mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// What it is called.
    pub name: &'static str,
    /// Name, kind and meaning of each column.
    pub columns: &'static [(&'static str, Kind, &'static str)],
}

/// Rows of a table, by column.
pub type Batch = Vec<Vec<Cell>>;

/// Takes rows of a table.
pub type Sink<'a> = dyn FnMut(&Table, Batch) -> io::Result<()> + 'a;

use Kind::{Flag, Number, Text};

/// The launches of a recording.
pub const LAUNCHES: Table = Table {
    name: "launches",
    columns: &[
        ("process", Number, "its process: the files of a recording, in their order"),
        ("pid", Number, "that process's number on its host; none for a launch file"),
        ("rank", Number, "its rank, if it has one"),
        ("launch", Number, "number in its process, from 0"),
        ("module", Number, "the module's place among those of its process"),
        ("kernel", Text, "the kernel's name, as in the module"),
        ("grid_x", Number, "CTAs"),
        ("grid_y", Number, ""),
        ("grid_z", Number, ""),
        ("block_x", Number, "threads of a CTA"),
        ("block_y", Number, ""),
        ("block_z", Number, ""),
        ("level", Text, "the recorder"),
        ("device", Text, "where it ran"),
        ("ordinal", Number, "that device's number in its process"),
        ("stream", Number, "its stream"),
        ("start", Number, "when it was launched, in nanoseconds since its process began"),
        (
            "ran",
            Number,
            "how long it ran with the recorder: nanoseconds, on the CPU device instructions; none if not measured",
        ),
        ("recorded", Number, "elements that were recorded"),
        ("lost", Number, "elements that did not fit"),
        ("fault", Text, "what stopped it before its end"),
        ("skipped", Text, "why nothing of it was recorded"),
    ],
};

/// The warps that were recorded.
pub const WARPS: Table = Table {
    name: "warps",
    columns: &[
        ("process", Number, "the launch's process"),
        ("launch", Number, "the launch"),
        ("warp", Number, "number in the grid"),
        ("cta", Number, "number of its CTA"),
        ("digest", Number, "equal digests, equal warps; none if not computed"),
        ("lost", Number, "elements of it that did not fit"),
    ],
};

/// The places with a probe.
pub const SITES: Table = Table {
    name: "sites",
    columns: &[
        ("process", Number, "the module's process"),
        ("module", Number, "the module"),
        ("site", Number, "number in the module"),
        ("class", Text, "branch, guard, select, switch, load, store, atomic, sync, entry or exit"),
        ("function", Text, "the function that it is in, as in the module"),
        ("file", Text, "where in the source; none if not known"),
        ("line", Number, "line, from 1"),
        ("column", Number, "column, from 1; 0 if unknown"),
        ("instruction", Text, "as written"),
        ("skipped", Text, "why nothing is recorded there"),
    ],
};

/// Every visit of a site by a lane, decoded.
pub const VISITS: Table = Table {
    name: "visits",
    columns: &[
        ("process", Number, "the launch's process"),
        ("launch", Number, "the launch"),
        ("module", Number, "its module"),
        ("warp", Number, "the warp's number in the grid"),
        ("lane", Number, "the lane"),
        ("visit", Number, "visits of this lane before it, of any site"),
        ("site", Number, "the site"),
        (
            "value",
            Number,
            "a decision's value; at level events what the event says of the lane; none for other sites",
        ),
        ("mask", Number, "lanes that were there with it, where the recording says (level events)"),
    ],
};

/// What differs.
pub const FINDINGS: Table = Table {
    name: "findings",
    columns: &[
        ("process", Number, "pair of processes"),
        ("launch_a", Number, "the launch's number in A"),
        ("launch_b", Number, "the launch's number in B"),
        ("kernel", Text, "the kernel's name, as in the module"),
        ("finding", Number, "its place among the launch's findings, first things first"),
        ("kind", Text, "Branch, ActiveMask, Value, Path or ExtraEvents"),
        ("class", Text, "class of the site"),
        ("site", Number, "the site's number in its module"),
        ("function", Text, "the function that it is in"),
        ("file", Text, "where in the source"),
        ("line", Number, "line, from 1"),
        ("instruction", Text, "as written"),
        ("warp", Number, "the warp shown"),
        ("cta", Number, "its CTA"),
        ("lane", Number, "the lane shown"),
        ("lanes", Number, "mask of that warp's lanes that differ there"),
        ("visit_a", Number, "how often the lane shown had visited the site before, in A"),
        ("visit_b", Number, "the same in B"),
        ("value_a", Number, "the value in A"),
        ("value_b", Number, "the value in B"),
        ("side", Text, "side that has more: A or B"),
        ("roots", Number, "lanes that first part here"),
        ("lanes_total", Number, "lanes that have it, over all warps"),
        ("warps_total", Number, "warps that have it"),
        ("visits_total", Number, "visits that have it"),
        ("culprit", Flag, "whether the launch got the same and left something else"),
        ("said", Text, "what happened, in a sentence"),
    ],
};

/// Rows of a table in the making.
struct Rows<'a, 's> {
    table: &'static Table,
    columns: Batch,
    sink: &'a mut Sink<'s>,
}

impl<'a, 's> Rows<'a, 's> {
    fn new(table: &'static Table, sink: &'a mut Sink<'s>) -> Rows<'a, 's> {
        Rows { table, columns: vec![Vec::new(); table.columns.len()], sink }
    }
    fn push<const N: usize>(&mut self, row: [Cell; N]) -> io::Result<()> {
        self.columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        if self.columns[0].len() >= ROWS { self.flush() } else { Ok(()) }
    }
    fn flush(&mut self) -> io::Result<()> {
        let empty = vec![Vec::new(); self.table.columns.len()];
        let full = std::mem::replace(&mut self.columns, empty);
        if full[0].is_empty() { Ok(()) } else { (self.sink)(self.table, full) }
    }
}

/// Gives a table of a recording, the `process`-th of its session. It fails as `sink` does, and when a stream can't be decoded: then
/// with an error of kind `InvalidData`.
pub type Give = fn(u64, &Trace, &mut Sink<'_>) -> io::Result<()>;

/// The tables of a recording.
pub const RECORDING: &[(&Table, Give)] =
    &[(&LAUNCHES, launches), (&WARPS, warps), (&SITES, sites), (&VISITS, visits)];

/// The launches of a recording, by number.
fn sorted(trace: &Trace) -> Vec<&Recording> {
    let mut all: Vec<&Recording> = trace.launches.iter().collect();
    all.sort_by_key(|r| r.launch.number);
    all
}

fn launches(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = Rows::new(&LAUNCHES, sink);
    let of = trace.process.as_ref();
    for l in sorted(trace).into_iter().map(|r| &r.launch) {
        let function = trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
        let measured = Some(l.totals.instrumented).filter(|n| *n > 0 && l.skipped.is_none());
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
        ])?;
    }
    rows.flush()
}

fn warps(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = Rows::new(&WARPS, sink);
    for Recording { launch, streams } in sorted(trace) {
        for info in streams.infos() {
            rows.push([
                process.into(),
                launch.number.into(),
                info.warp.0.into(),
                (info.warp.0 / launch.warps_per_cta().max(1)).into(),
                Some(info.digest).filter(|d| *d != 0).into(),
                info.dropped.into(),
            ])?;
        }
    }
    rows.flush()
}

fn sites(process: u64, trace: &Trace, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = Rows::new(&SITES, sink);
    for (m, module) in (0u64..).zip(&trace.modules) {
        for (i, s) in (0u64..).zip(&module.sites) {
            let loc = s.loc.and_then(|l| module.locs.get(l.index()));
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
    let mut rows = Rows::new(&VISITS, sink);
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
                    decoded(&mut rows, process, r, &program, &stream, lane)?;
                }
            }
        }
    }
    rows.flush()
}

/// The visits of one lane.
fn decoded(
    rows: &mut Rows<'_, '_>,
    process: u64,
    r: &Recording,
    program: &CheckedModule<'_>,
    stream: &WarpStream,
    lane: Lane,
) -> io::Result<()> {
    let at = |e: prlx_analyze::Error| damaged(format!("launch {}, {}: {e}", r.launch.number, stream.warp));
    let events = matches!(stream.lanes, Lanes::Events(_));
    let decides =
        |class| matches!(class, SiteClass::Branch | SiteClass::Guard | SiteClass::Select | SiteClass::Switch);
    let decision = |site: SiteId| program.module.sites.get(site.index()).is_some_and(|s| decides(s.class));
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

/// Gives the findings of a report.
///
/// # Errors
/// Those of `sink`.
pub fn findings(report: &Report, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = Rows::new(&FINDINGS, sink);
    report.launches.iter().try_for_each(|l| of_launch(&mut rows, l))?;
    rows.flush()
}

fn of_launch(rows: &mut Rows<'_, '_>, l: &LaunchReport) -> io::Result<()> {
    for (i, f) in (0u64..).zip(&l.findings) {
        let (site, place) = (f.shown(), f.location());
        let side = |s: u8| ["A", "B"][usize::from(s.min(1))];
        rows.push([
            l.process.into(),
            l.launch[0].into(),
            l.launch[1].into(),
            l.kernel.as_str().into(),
            i.into(),
            f.kind.name().into(),
            site.map(|s| s.class.name()).into(),
            site.map(|s| s.id.0).into(),
            site.map(|s| s.function.as_str()).into(),
            place.map(|p| p.file.as_str()).into(),
            place.map(|p| p.line).into(),
            site.map(|s| s.text.as_str()).into(),
            f.warp.warp.into(),
            f.warp.cta.into(),
            u32::from(f.lane).into(),
            f.lanes.0.into(),
            f.visit[0].into(),
            f.visit[1].into(),
            f.values.map(|v| v[0]).into(),
            f.values.map(|v| v[1]).into(),
            f.side.map(side).into(),
            f.roots.into(),
            f.lanes_total.into(),
            f.warps_total.into(),
            f.count.into(),
            l.culprit.into(),
            words::sentence(f).as_str().into(),
        ])?;
    }
    Ok(())
}

fn damaged(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
