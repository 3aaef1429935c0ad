//! The visits of one warp as text or JSON, decoded; lanes with the same visits are shown together.
//!
//! # Invariants
//! Every lane of the launch in the warp is in exactly one group. Memory is bounded by the decoder of one
//! lane.
//!
//! # Limitations
//! The levels `fingerprint` and `operands` record no path. Their streams are printed as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};

use prlx_analyze::report::SiteInfo;
use prlx_analyze::{
    CheckedModule, DecodeLimits, DecodeOutcome, Decoder, Error, PathItem, complete_events, site_info,
};
use prlx_trace::kernel::{Level, Module};
use prlx_trace::{Dim3, Lane, LaneMask, Launch, Recording, SiteId, Trace, WarpId, WarpStream};
use serde_json::Value;

use crate::format::{clean, count, pad, plain_name};
use crate::words;

/// Widths of the columns for the place, and for class and value.
const PLACE: usize = 24;
const VALUE: usize = 14;

/// Writes the visits of warp `warp` in a launch of `trace`; `launch` is the number that the user gave, and
/// the launch. Returns whether the warp was recorded.
///
/// # Errors
/// When `out` does, or the recording is damaged.
pub fn visits(
    out: &mut impl Write,
    trace: &Trace,
    launch: (u64, &Recording),
    warp: WarpId,
) -> io::Result<bool> {
    let Some(w) = RecordedWarp::find(trace, launch, warp)? else { return Ok(false) };
    let l = w.launch;
    writeln!(
        out,
        "{}  launch {}, grid {}, block {}",
        clean(&plain_name(w.kernel)),
        w.number,
        l.grid,
        l.block
    )?;
    let lost = if w.stream.dropped > 0 {
        format!(", {} dropped", count(w.stream.dropped, "element", "elements"))
    } else {
        String::new()
    };
    let at = l.grid.position(w.cta);
    writeln!(out, "warp {} of CTA {} {at}, level {}{lost}", warp.0, w.cta, l.level.label())?;
    if w.bare() {
        prlx_trace::dump_warp(out, &w.stream)?;
        return Ok(true);
    }
    let mut known: BTreeMap<SiteId, SiteInfo> = BTreeMap::new();
    for lanes in w.groups()? {
        writeln!(out, "{}", words::lanes(lanes, l.warp_size))?;
        let mut n = 0u64;
        let end = w.walk(lanes, |(site, value, mask)| {
            let info = known.entry(site).or_insert_with(|| w.site(site));
            let place = info.location.as_ref().map(words::place).unwrap_or_default();
            let said = format!("{} {}", info.class.name(), words::step_value(info.class, value));
            let who = if mask == LaneMask(0) { String::new() } else { format!("  active {:#x}", mask.0) };
            let line =
                format!("{n:>8}  {} {} {}{who}", pad(&place, PLACE), pad(&said, VALUE), clean(&info.text));
            n += 1;
            writeln!(out, "{}", line.trim_end())
        })?;
        if let Some(why) = end {
            writeln!(out, "{:>8}  {}", "", clean(&why))?;
        }
    }
    Ok(true)
}

/// Writes the visits as one JSON object on one line.
///
/// # Errors
/// As those of [`visits`].
pub fn visits_json(
    out: &mut impl Write,
    trace: &Trace,
    launch: (u64, &Recording),
    warp: WarpId,
) -> io::Result<bool> {
    let Some(w) = RecordedWarp::find(trace, launch, warp)? else { return Ok(false) };
    let (l, [gx, gy, gz], [x, y, z]) = (w.launch, dims(w.launch.grid), dims(w.launch.block));
    write!(out, "{{\"kernel\":{},\"launch\":{},", Value::from(w.kernel), w.number)?;
    write!(out, "\"grid\":[{gx},{gy},{gz}],\"block\":[{x},{y},{z}],\"warp_size\":{},", l.warp_size)?;
    write!(out, "\"level\":\"{}\",\"warp\":{},\"cta\":{},", l.level.name(), warp.0, w.cta)?;
    write!(out, "\"dropped\":{},", w.stream.dropped)?;
    if w.bare() {
        let mut text = Vec::new();
        prlx_trace::dump_warp(&mut text, &w.stream)?;
        let text = String::from_utf8_lossy(&text);
        writeln!(out, "\"stream\":{}}}", Value::from_iter(text.lines()))?;
        return Ok(true);
    }
    write!(out, "\"groups\":[")?;
    let mut met = BTreeSet::new();
    for (i, lanes) in w.groups()?.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}{{\"lanes\":\"{:#x}\",\"visits\":[", lanes.0)?;
        let mut comma = "";
        let end = w.walk(lanes, |(site, value, mask)| {
            met.insert(site);
            let mask = if mask == LaneMask(0) { "null".into() } else { format!("\"{:#x}\"", mask.0) };
            write!(out, "{}{{\"site\":{},\"value\":\"{value:#x}\",\"mask\":{mask}}}", comma, site.0)?;
            comma = ",";
            Ok(())
        })?;
        write!(out, "],\"cut\":{}}}", end.map_or(Value::Null, Value::from))?;
    }
    write!(out, "],\"sites\":")?;
    serde_json::to_writer(&mut *out, &met.into_iter().map(|s| w.site(s)).collect::<Vec<_>>())?;
    writeln!(out, "}}")?;
    Ok(true)
}

fn dims(d: Dim3) -> [u32; 3] {
    [d.x, d.y, d.z]
}

/// A recorded warp with its launch and module.
struct RecordedWarp<'a> {
    number: u64,
    launch: &'a Launch,
    kernel: &'a str,
    module: &'a Module,
    program: CheckedModule<'a>,
    cta: u64,
    stream: WarpStream,
    warp: WarpId,
}

impl<'a> RecordedWarp<'a> {
    /// `None` if the warp was not recorded. At levels that record paths, the stream includes reconstructed
    /// events.
    fn find(
        trace: &'a Trace,
        (number, r): (u64, &'a Recording),
        warp: WarpId,
    ) -> io::Result<Option<RecordedWarp<'a>>> {
        let Recording { launch, streams } = r;
        let Some(stream) = streams.warp(warp).map_err(|e| damaged(&e))? else { return Ok(None) };
        let module =
            trace.modules.get(launch.module.index()).ok_or_else(|| damaged(&"the launch has no module"))?;
        let program = CheckedModule::new(module).map_err(|e| damaged(&e))?;
        let kernel = module.functions.get(launch.kernel.index()).map_or("", |f| &f.name);
        let cta = warp.0 / launch.warps_per_cta().max(1);
        let mut found = RecordedWarp { number, launch, kernel, module, program, cta, stream, warp };
        if !found.bare() {
            found.stream =
                complete_events(&found.program, launch, &found.stream, DecodeLimits::default()).into_owned();
        }
        Ok(Some(found))
    }

    /// Whether the level of the launch records no path.
    fn bare(&self) -> bool {
        matches!(self.launch.level, Level::Fingerprint | Level::Operands)
    }

    /// The lanes of the warp, grouped by equal visits.
    fn groups(&self) -> io::Result<Vec<LaneMask>> {
        let mut groups: BTreeMap<(u64, u64), LaneMask> = BTreeMap::new();
        for lane in self.launch.lanes(self.warp).lanes() {
            let mut hash = DefaultHasher::new();
            let mut n = 0u64;
            let end = walk(&self.program, self.launch, &self.stream, lane, |visit| {
                visit.hash(&mut hash);
                n += 1;
                Ok(())
            })?;
            end.hash(&mut hash);
            groups.entry((hash.finish(), n)).or_default().insert(lane);
        }
        let mut groups: Vec<LaneMask> = groups.into_values().collect();
        groups.sort_by_key(|lanes| lanes.0.trailing_zeros());
        Ok(groups)
    }

    /// [`walk`] over the first lane of a group.
    fn walk(
        &self,
        lanes: LaneMask,
        give: impl FnMut((SiteId, u64, LaneMask)) -> io::Result<()>,
    ) -> io::Result<Option<String>> {
        match lanes.lanes().next() {
            Some(lane) => walk(&self.program, self.launch, &self.stream, lane, give),
            None => Ok(None),
        }
    }

    fn site(&self, s: SiteId) -> SiteInfo {
        site_info(self.module, s).unwrap_or_default()
    }
}

/// Passes the visits of a lane to `give`. Returns why they stop, if the lane did not exit.
fn walk(
    program: &CheckedModule<'_>,
    launch: &Launch,
    stream: &WarpStream,
    lane: Lane,
    mut give: impl FnMut((SiteId, u64, LaneMask)) -> io::Result<()>,
) -> io::Result<Option<String>> {
    let said = |e: Error| Ok(Some(format!("not decodable: {e}")));
    let mut decoder = match Decoder::new(program, launch, stream, lane, DecodeLimits::default()) {
        Ok(decoder) => decoder.flat().with_complete_stream(),
        Err(e) => return said(e),
    };
    loop {
        match decoder.next() {
            Ok(Some(PathItem::Visit { site, value, mask })) => give((site, value, mask))?,
            Ok(Some(_)) => {}
            Ok(None) if decoder.outcome() == DecodeOutcome::Ended => return Ok(None),
            Ok(None) => return Ok(Some("the recording ends here, before the lane exits".into())),
            Err(e) => return said(e),
        }
    }
}

fn damaged(what: &impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}
