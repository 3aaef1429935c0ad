//! Exports a launch of a recording as a file of PRLX 0.x.
//!
//! # Limitations
//! - The reverse does not work: a recording of this version holds the control flow of the code, and no file
//!   of version 1 does.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use prlx_analyze::{CheckedModule, DecodeLimits, complete_events};
use prlx_legacy::v1::{Event, EventKind, Flags, Head, Header, SiteEntry, Writer, kernel_hash, site_id};
use prlx_trace::kernel::{Module, Site, SiteClass};
use prlx_trace::launch::Lanes;
use prlx_trace::{Level, Recording, Trace, WarpSize};

use super::complete_file::{Out, write_complete};
use super::losses::Losses;
use super::packing::Packing;
use crate::Monitor;
use crate::diff::read_file;
use crate::input;

/// Writes one launch of a recording, counted from 0, as a file of PRLX 0.x. Returns the table of its sites.
///
/// # Errors
/// If the recording has more than one file or no such launch, if a file of PRLX 0.x would misrepresent the
/// launch, or if a file cannot be read or written.
pub fn export_launch(
    input: &Path,
    launch: u64,
    output: &Path,
    to: Packing,
    monitor: &Monitor<'_>,
) -> Result<Vec<SiteEntry>> {
    let name = input.display();
    let session = input::open_session(input)?;
    if session.files.len() != 1 {
        bail!("{name} has {} files: convert one of them", session.files.len());
    }
    let trace = read_file(&session, 0)?;
    let Some(recording) = trace.launches.get(launch as usize) else {
        bail!("{name} has {} launches, counted from 0; it has no launch {launch}", trace.launches.len());
    };
    write_complete(output, |out| export(&trace, recording, to, out, monitor))
}

fn export(
    trace: &Trace,
    r: &Recording,
    to: Packing,
    out: Out,
    monitor: &Monitor<'_>,
) -> Result<(Vec<SiteEntry>, Out)> {
    let l = &r.launch;
    if l.level != Level::Events {
        bail!("it was recorded at level `{}`; a file of PRLX 0.x needs level `events`", l.level.label());
    }
    if l.warp_size != WarpSize::W32 {
        bail!("its warps have {} lanes; a file of PRLX 0.x has 32", l.warp_size);
    }
    if let Some(fault) = &l.fault {
        bail!("it was stopped, and a file of PRLX 0.x cannot store that: {}", fault.text);
    }
    let module =
        trace.modules.get(l.module.index()).ok_or_else(|| anyhow!("it has no module {}", l.module))?;
    let kernel = module.functions.get(l.kernel.index()).map_or("", |f| f.name.as_str());
    let count =
        |n: u64, what: &str| u32::try_from(n).map_err(|_| anyhow!("{n} {what} are more than it can hold"));
    let most = r.streams.infos().map(|i| i.warp).collect::<Vec<_>>();
    let mut room = 1;
    let frames = r.streams.frames();
    let program = CheckedModule::new(module)?;
    for i in 0..frames {
        let all = |w| complete_events(&program, l, w, DecodeLimits::default()).lanes.elements();
        room = r.streams.frame(i)?.iter().map(all).fold(room, u64::max);
    }
    let warps = count(l.warps(), "warps")?;
    let mut header = Header {
        flags: to.flags(Flags::default()),
        grid: l.grid,
        block: l.block,
        warps_per_block: count(l.warps_per_cta(), "warps of a CTA")?,
        warps,
        events_per_warp: count(room, "events of a warp")?,
        ..Header::default()
    };
    header.set_kernel(kernel);
    header.kernel_hash = kernel_hash(kernel);
    let (sites, table) = sites(module);
    let mut losses = Losses::default();
    let mut out = Writer::new(out, &header)?;
    let mut next = 0u32;
    let recorded: BTreeSet<u64> = most.iter().map(|w| w.0).collect();
    for i in 0..frames {
        for w in r.streams.frame(i)? {
            while u64::from(next) < w.warp.0.min(warps.into()) {
                out.warp(Head::default(), &[])?;
                next += 1;
            }
            let w = complete_events(&program, l, &w, DecodeLimits::default());
            let Lanes::Events(events) = &w.lanes else { bail!("{} has no events", w.warp) };
            let mut kept = Vec::with_capacity(events.len());
            for e in events {
                let mask = e.mask.0 as u32;
                match sites.get(e.site.index()) {
                    Some(Some((id, kind))) => kept.push(event(*id, *kind, mask, e.value, &mut losses)),
                    _ => losses.add("are loads or synchronisation"),
                }
            }
            if to == Packing::Compact {
                kept = kept.into_iter().map(|e| losses.narrow(e)).collect();
            }
            let (n, dropped) = (kept.len() as u32, count(w.dropped, "lost events")?);
            let head = Head { write_idx: n.saturating_add(dropped), overflow: dropped, events: n, total: 0 };
            out.warp(head, &kept)?;
            next += 1;
        }
    }
    let missing = u64::from(warps) - recorded.len() as u64;
    if missing > 0 {
        bail!("{missing} warps were not recorded, and a file of PRLX 0.x cannot store that");
    }
    losses.warn(monitor);
    monitor
        .warn("a file of PRLX 0.x does not store the lanes' paths, the code, arguments, outputs and clocks");
    Ok((table, out.finish()?))
}

fn event(site: u32, kind: EventKind, mask: u32, value: u64, losses: &mut Losses) -> Event {
    let (mut dir, mut word) = (0, value as u32);
    match kind {
        EventKind::Branch => {
            // PRLX 0.x stores the direction of the lowest active lane.
            dir = (value as u32 >> mask.trailing_zeros().min(31) & 1) as u8;
            word = 0;
            if value as u32 & mask != 0 && value as u32 & mask != mask {
                losses.add(
                    "are decisions of lanes that take different branches, and keep that of the first lane",
                );
            }
        }
        EventKind::Switch => dir = value as u8,
        _ => {}
    }
    Event { site, kind: kind as u8, dir, result: 0, mask, value: word }
}

/// A site's id in files of version 1 and its kind; `None` for what has no kind there.
type Named = Option<(u32, EventKind)>;

/// By site: its id as PRLX makes them, and its kind; and the table of them.
fn sites(module: &Module) -> (Vec<Named>, Vec<SiteEntry>) {
    let mut taken = BTreeSet::new();
    let (mut ids, mut table) = (Vec::new(), Vec::new());
    for (n, s) in module.sites.iter().enumerate() {
        let Some(kind) = kind(s) else {
            ids.push(None);
            continue;
        };
        let function = module.functions.get(s.function.index()).map_or("", |f| f.name.as_str());
        let loc = s.loc.and_then(|l| module.locs.get(l.index()));
        let file = loc.and_then(|l| module.files.get(l.file.index())).map_or("", |f| f.path.as_str());
        let (line, column) = loc.map_or((0, 0), |l| (l.line, l.column));
        let key = match loc {
            Some(_) => format!("{file}:{function}:{line}:{column}:{}", kind as u8),
            None => format!("{function}:{}:ord{n}", kind as u8),
        };
        // Sites of one place, and places whose hashes collide, get different ids.
        let mut id = site_id(&key);
        let mut again = 0;
        while !taken.insert(id) {
            again += 1;
            id = site_id(&format!("{key}:c{again}"));
        }
        ids.push(Some((id, kind)));
        table.push(SiteEntry {
            site_id: id,
            filename: file.into(),
            function: function.into(),
            line,
            column,
            event_type: kind as u32,
            ordinal: n as u32,
        });
    }
    (ids, table)
}

fn kind(s: &Site) -> Option<EventKind> {
    Some(match s.class {
        SiteClass::Branch | SiteClass::Guard | SiteClass::Select => EventKind::Branch,
        SiteClass::Switch => EventKind::Switch,
        SiteClass::Store if s.text.contains(".shared") => EventKind::SharedStore,
        SiteClass::Store => EventKind::GlobalStore,
        SiteClass::Atomic => EventKind::Atomic,
        SiteClass::Entry => EventKind::FuncEntry,
        SiteClass::Exit => EventKind::FuncExit,
        SiteClass::Load | SiteClass::Sync => return None,
    })
}
