//! What one warp did, as text: the visits of its lanes, decoded, with lanes that did the same together.
//!
//! Holds: each lane of the launch in the warp is in one group; memory is bounded by one lane's decoder, however long lanes are.
//! Misses: levels `print` and `operands`, which record no path: what their streams hold is printed as it is.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};

use prlx_analyze::report::SiteInfo;
use prlx_analyze::{Decoder, Error, Item, Limits, Outcome, Program, site_info, whole};
use prlx_trace::kernel::Level;
use prlx_trace::{Lane, LaneMask, Launch, Recording, SiteId, Trace, WarpId, WarpStream};

use crate::text::paint::{clean, count, pad, plain};
use crate::words;

/// Columns of a place, and of a class and value.
const PLACE: usize = 24;
const VALUE: usize = 14;

/// Writes what warp `warp` did in a launch of `trace`, which the user calls `number`; says whether it was recorded.
///
/// # Errors
/// When `out` does, or the recording is damaged.
pub fn visits(
    out: &mut impl Write,
    trace: &Trace,
    (number, launch): (u64, &Recording),
    warp: WarpId,
) -> io::Result<bool> {
    let Recording { launch: l, streams } = launch;
    let Some(stream) = streams.warp(warp).map_err(|e| damaged(&e))? else { return Ok(false) };
    let module = trace.modules.get(l.module.index()).ok_or_else(|| damaged(&"the launch has no module"))?;
    let program = Program::new(module).map_err(|e| damaged(&e))?;
    let kernel = module.functions.get(l.kernel.index()).map_or("", |f| &f.name);
    let cta = warp.0 / l.warps_per_cta().max(1);
    writeln!(out, "{}  launch {}, grid {}, block {}", clean(&plain(kernel)), number, l.grid, l.block)?;
    let lost = if stream.dropped > 0 {
        format!(", {} lost", count(stream.dropped, "element", "elements"))
    } else {
        String::new()
    };
    let at = l.grid.position(cta);
    writeln!(out, "warp {} of CTA {cta} {at}, level {}{lost}", warp.0, l.level.name())?;
    if matches!(l.level, Level::Print | Level::Operands) {
        prlx_trace::dump_warp(out, &stream)?;
        return Ok(true);
    }
    let stream = whole(&program, l, &stream, Limits::default());
    let mut groups: BTreeMap<(u64, u64), LaneMask> = BTreeMap::new();
    for lane in l.lanes(warp).lanes() {
        let mut hash = DefaultHasher::new();
        let mut n = 0u64;
        let end = walk(&program, l, &stream, lane, |visit| {
            visit.hash(&mut hash);
            n += 1;
            Ok(())
        })?;
        end.hash(&mut hash);
        groups.entry((hash.finish(), n)).or_default().insert(lane);
    }
    let mut groups: Vec<LaneMask> = groups.into_values().collect();
    groups.sort_by_key(|lanes| lanes.0.trailing_zeros());
    let mut known: BTreeMap<SiteId, SiteInfo> = BTreeMap::new();
    for lanes in groups {
        let Some(lane) = lanes.lanes().next() else { continue };
        writeln!(out, "{}", words::lanes(lanes, l.warp_size))?;
        let mut n = 0u64;
        let end = walk(&program, l, &stream, lane, |(site, value, mask)| {
            let info = known.entry(site).or_insert_with(|| site_info(module, site).unwrap_or_default());
            let place = info.location.as_ref().map(words::place).unwrap_or_default();
            let said = format!("{} {}", info.class.name(), words::step_value(info.class, value));
            let who = if mask == LaneMask(0) { String::new() } else { format!("  with {:#x}", mask.0) };
            let line = format!("{n:>8}  {} {} {}{who}", pad(&place, PLACE), pad(&said, VALUE), clean(&info.text));
            n += 1;
            writeln!(out, "{}", line.trim_end())
        })?;
        if let Some(why) = end {
            writeln!(out, "{:>8}  {}", "", clean(&why))?;
        }
    }
    Ok(true)
}

/// Gives a lane's visits one by one, and then why there are no more, if it has not ended.
fn walk(
    program: &Program<'_>,
    launch: &Launch,
    stream: &WarpStream,
    lane: Lane,
    mut give: impl FnMut((SiteId, u64, LaneMask)) -> io::Result<()>,
) -> io::Result<Option<String>> {
    let said = |e: Error| Ok(Some(format!("not decodable: {e}")));
    let mut decoder = match Decoder::new(program, launch, stream, lane, Limits::default()) {
        Ok(decoder) => decoder.flat().whole(),
        Err(e) => return said(e),
    };
    loop {
        match decoder.next() {
            Ok(Some(Item::Visit { site, value, mask })) => give((site, value, mask))?,
            Ok(Some(_)) => {}
            Ok(None) if decoder.outcome() == Outcome::Ended => return Ok(None),
            Ok(None) => return Ok(Some("its recording ends here, before the lane does".into())),
            Err(e) => return said(e),
        }
    }
}

fn damaged(what: &impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}
