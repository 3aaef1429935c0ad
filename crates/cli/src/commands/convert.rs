//! `prlx convert`: recordings of PRLX 0.x in another packing, own recordings as such, their launches over time, and
//! their tables.
//!
//! Holds: what the new file cannot hold is said on standard error, or refused where the file would say something untrue.
//!
//! Misses: recordings of PRLX 0.x as own ones: those have the control flow of the code, which is in no file of version 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use prlx_analyze::{Limits, Program, whole};
use prlx_driver::session::Session;
use prlx_legacy::v1::{
    Event, EventKind, File, Flags, Head, Header, SiteEntry, Warp, Writer, kernel_hash, site_id,
};
use prlx_trace::kernel::{Module, Site, SiteClass};
use prlx_trace::launch::Lanes;
use prlx_trace::{Level, Recording, Trace};

use crate::args::{ConvertArgs, Form};
use crate::report::read;
#[cfg(feature = "parquet")]
use crate::tables;
use crate::timeline;
use crate::ui::Ui;
use crate::v1::{Input, Recording as Mapped, look};

/// Converts, and says what was left behind.
pub fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode> {
    let name = args.input.display();
    let old = matches!(args.to, Form::Plain | Form::Compact | Form::Packed);
    if !old && (args.launch.is_some() || args.sites.is_some()) {
        bail!("--launch and --sites are for files of PRLX 0.x: all else has all launches");
    }
    match look(&args.input)? {
        Input::Session(_) => bail!("{name} is a session: convert its files"),
        Input::File if !old => bail!("{name} is a recording of PRLX 0.x, which has neither times nor tables"),
        Input::File => {
            if args.sites.is_some() {
                bail!("--sites: {name} keeps the ids that it has");
            }
            let mapped = Mapped::open(&args.input)?;
            let file = mapped.file()?;
            save(&args.output, |out| repack(&file, args.to, out, ui))?;
        }
        #[cfg(feature = "parquet")]
        Input::Other if args.to == Form::Parquet => {
            tables::of_recording(&Session::open(&args.input)?, &args.output)?
        }
        Input::Other if !old => {
            let all = timeline::of(&Session::open(&args.input)?)?;
            save(&args.output, |mut out| {
                match args.to {
                    Form::Chrome => all.chrome(&mut out)?,
                    _ => all.perfetto(&mut out)?,
                }
                Ok(((), out))
            })?;
        }
        Input::Other => {
            let session = Session::open(&args.input)?;
            if session.files.len() != 1 {
                bail!("{name} has {} files: convert one of them", session.files.len());
            }
            let trace = read(&session, 0)?;
            let n = args.launch.unwrap_or(0);
            let Some(recording) = trace.launches.get(n as usize) else {
                bail!("{name} has {} launches: there is no launch {n}", trace.launches.len());
            };
            let table = save(&args.output, |out| export(&trace, recording, args.to, out, ui))?;
            if let Some(path) = &args.sites {
                let text = serde_json::to_string_pretty(&table)?;
                fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

type Out = BufWriter<fs::File>;

/// Writes a file under its name only when it is whole.
fn save<T>(path: &Path, write: impl FnOnce(Out) -> Result<(T, Out)>) -> Result<T> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let all = || -> Result<T> {
        let (value, mut out) = write(BufWriter::new(fs::File::create(part)?))?;
        out.flush()?;
        fs::rename(part, path)?;
        Ok(value)
    };
    all()
        .inspect_err(|_| drop(fs::remove_file(part)))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn flags(old: Flags, to: Form) -> Flags {
    let kept = old.0 & !(Flags::COMPACT | Flags::PACKED);
    Flags(match to {
        Form::Packed => kept | Flags::PACKED,
        Form::Compact => kept | Flags::COMPACT,
        _ => kept,
    })
}

/// The same recording in another packing.
fn repack(file: &File<'_>, to: Form, out: Out, ui: &Ui) -> Result<((), Out)> {
    let old = &file.header;
    let mut header =
        Header { flags: flags(old.flags, to), history_offset: 0, snapshot_offset: 0, ..old.clone() };
    let was_compact = old.flags.has(Flags::COMPACT);
    if was_compact && to == Form::Packed {
        // What was never there stays away.
        header.flags.0 |= Flags::COMPACT;
    }
    let narrow = header.flags.has(Flags::COMPACT) && !was_compact;
    let mut lost = Lost::default();
    let mut out = Writer::new(out, &header)?;
    let mut cursor = file.cursor()?;
    for w in 0..header.warps {
        let warp = Warp::new(cursor.events(w..w + 1)?, was_compact);
        let events = warp.events();
        let events = events.iter().map(|e| if narrow { lost.narrow(Event::of(e)) } else { Event::of(e) });
        out.warp(warp.head, &events.collect::<Vec<_>>())?;
    }
    let (mut histories, mut snapshots) = (Vec::new(), Vec::new());
    let swapped = matches!((file.layout.history, file.layout.snapshots), (Some(h), Some(s)) if s.at < h.at);
    for values in [!swapped, swapped] {
        for w in 0..header.warps {
            match values {
                // Rings follow in the order in which they are written, unless offsets said otherwise.
                true if !swapped => cursor.history(w)?.iter().try_for_each(|r| out.history(r))?,
                true => histories.extend(cursor.history(w)?),
                false if !swapped => cursor.snapshots(w)?.iter().try_for_each(|r| out.snapshots(r))?,
                false => snapshots.extend(cursor.snapshots(w)?),
            }
        }
    }
    histories.iter().try_for_each(|r| out.history(r))?;
    snapshots.iter().try_for_each(|r| out.snapshots(r))?;
    lost.say(ui);
    Ok(((), out.finish()?))
}

/// What the new file does not hold: how many events, by reason.
#[derive(Default)]
struct Lost(BTreeMap<&'static str, u64>);

impl Lost {
    fn add(&mut self, why: &'static str) {
        *self.0.entry(why).or_default() += 1;
    }
    /// As much of an event as a compact file holds.
    fn narrow(&mut self, e: Event) -> Event {
        if e.site > 0xffff {
            self.add("have half of their site's id");
        }
        if e.value != 0 {
            self.add("have no value");
        }
        if e.result != 0 {
            self.add("have no atomic result");
        }
        if e.dir > 1 || e.kind > 15 {
            self.add("have no target, or another kind");
        }
        Event { site: e.site & 0xffff, kind: e.kind & 15, dir: e.dir & 1, value: 0, result: 0, ..e }
    }
    fn say(&self, ui: &Ui) {
        for (why, n) in &self.0 {
            ui.warn(&format!("{n} events {why}: the new file cannot hold it"));
        }
    }
}

/// A launch of an own recording as a file of version 1, and its sites.
fn export(trace: &Trace, r: &Recording, to: Form, out: Out, ui: &Ui) -> Result<(Vec<SiteEntry>, Out)> {
    let l = &r.launch;
    if l.level != Level::Events {
        bail!(
            "it was recorded at level `{}`: a file of version 1 holds what level `events` records",
            l.level.label()
        );
    }
    if l.warp_size != 32 {
        bail!("its warps have {} lanes: a file of version 1 holds 32", l.warp_size);
    }
    if let Some(fault) = &l.fault {
        bail!("it was stopped, which a file of version 1 cannot say: {}", fault.text);
    }
    let module =
        trace.modules.get(l.module.index()).ok_or_else(|| anyhow!("it has no module {}", l.module))?;
    let kernel = module.functions.get(l.kernel.index()).map_or("", |f| f.name.as_str());
    let count =
        |n: u64, what: &str| u32::try_from(n).map_err(|_| anyhow!("{n} {what} are more than it can hold"));
    let most = r.streams.infos().map(|i| i.warp).collect::<Vec<_>>();
    let mut room = 1;
    let frames = r.streams.frames();
    let program = Program::new(module)?;
    for i in 0..frames {
        let all = |w| whole(&program, l, w, Limits::default()).lanes.elements();
        room = r.streams.frame(i)?.iter().map(all).fold(room, u64::max);
    }
    let warps = count(l.warps(), "warps")?;
    let mut header = Header {
        flags: flags(Flags::default(), to),
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
    let mut lost = Lost::default();
    let mut out = Writer::new(out, &header)?;
    let mut next = 0u32;
    let recorded: BTreeSet<u64> = most.iter().map(|w| w.0).collect();
    for i in 0..frames {
        for w in r.streams.frame(i)? {
            while u64::from(next) < w.warp.0.min(warps.into()) {
                out.warp(Head::default(), &[])?;
                next += 1;
            }
            let w = whole(&program, l, &w, Limits::default());
            let Lanes::Events(events) = &w.lanes else { bail!("{} has no events", w.warp) };
            let mut kept = Vec::with_capacity(events.len());
            for e in events {
                let mask = e.mask.0 as u32;
                match sites.get(e.site.index()) {
                    Some(Some((id, kind))) => kept.push(event(*id, *kind, mask, e.value, &mut lost)),
                    _ => lost.add("are loads or synchronisation"),
                }
            }
            if to == Form::Compact {
                kept = kept.into_iter().map(|e| lost.narrow(e)).collect();
            }
            let (n, dropped) = (kept.len() as u32, count(w.dropped, "lost events")?);
            let head = Head { write_idx: n.saturating_add(dropped), overflow: dropped, events: n, total: 0 };
            out.warp(head, &kept)?;
            next += 1;
        }
    }
    let missing = u64::from(warps) - recorded.len() as u64;
    if missing > 0 {
        bail!("{missing} warps were not recorded, which a file of version 1 cannot say");
    }
    lost.say(ui);
    ui.warn("lanes' paths, code, arguments, outputs and clocks are not in a file of version 1");
    Ok((table, out.finish()?))
}

fn event(site: u32, kind: EventKind, mask: u32, value: u64, lost: &mut Lost) -> Event {
    let (mut dir, mut word) = (0, value as u32);
    match kind {
        EventKind::Branch => {
            // The leader's, as PRLX has it.
            dir = (value as u32 >> mask.trailing_zeros().min(31) & 1) as u8;
            word = 0;
            if value as u32 & mask != 0 && value as u32 & mask != mask {
                lost.add("are decisions on which lanes part, of which the first lane's is kept");
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
        // Sites of one place are told apart, and so are places whose hashes collide.
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
