//! Prints a recording as text, for tests and `prlx inspect`: everything in the file, one line per item.
//!
//! Words of level `path` appear as their decisions (`1011`) or trip counts (`x12`), everything else as
//! numbers. Source texts are only counted. A warp in a damaged frame is reported as damaged.

use std::fmt::{self, Display};
use std::io::{self, Write};

use crate::device::{COUNT_EVENT, COUNT_MORE, COUNT_WORD};
use crate::kernel::{Arg, Block, End, Function, Guard, Module, Site, Source, Step};
use crate::launch::{Host, Lanes, Launch, Origin, StreamHashes, WarpStream, warp_hashes};
use crate::outputs::OutputContents;
use crate::process::Process;
use crate::trace::{Recording, Trace};

/// Shows an optional thing, or `-`.
struct Or<'a, T>(&'a Option<T>);

impl<T: Display> Display for Or<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(x) => x.fmt(f),
            None => f.write_str("-"),
        }
    }
}

impl Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", if self.negate { "!" } else { "" }, self.slot)
    }
}

impl Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Slot(slot) => slot.fmt(f),
            Arg::Const(bits) => write!(f, "{:#x}", bits),
            Arg::Special(special) => f.write_str(special.name()),
            Arg::Param { offset, size } => {
                write!(f, "param[{offset}..{}]", u64::from(*offset) + u64::from(*size))
            }
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = match self {
            Step::Let { guard, .. }
            | Step::Decide { guard, .. }
            | Step::Visit { guard, .. }
            | Step::Call { guard, .. }
            | Step::Read { guard, .. } => guard,
        };
        if let Some(guard) = guard {
            write!(f, "{guard} ")?;
        }
        match self {
            Step::Let { to, op, ty, args, .. } => {
                write!(f, "{to} = {}.{}", op.name(), ty.name())?;
                args.iter()
                    .enumerate()
                    .try_for_each(|(i, a)| write!(f, "{} {a}", if i > 0 { "," } else { "" }))
            }
            Step::Decide { site, slot, .. } => write!(f, "{slot} = decide {site}"),
            Step::Visit { site, .. } => write!(f, "visit {site}"),
            Step::Call { function, loc: None, .. } => write!(f, "call {function}"),
            Step::Call { function, loc: Some(loc), .. } => write!(f, "call {function} at {loc}"),
            Step::Read { to, bits, text, .. } => write!(f, "{to} = read {bits} of `{text}`"),
        }
    }
}

impl Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Jump(to) => write!(f, "jump {to}"),
            End::Branch { guard, taken, other } => write!(f, "{guard} {taken} else {other}"),
            End::Switch { index, targets } => write!(f, "switch {index} {targets:?}"),
            End::Return => f.write_str("return"),
            End::Exit => f.write_str("exit"),
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::None => f.write_str("none"),
            Source::Bits(n) => write!(f, "bits {n}"),
            Source::Computed => f.write_str("computed"),
            Source::Follows => f.write_str("follows"),
            Source::Trips { of, stay, bits: COUNT_EVENT } => {
                write!(f, "trips of {of} while {stay}, in an event")
            }
            Source::Trips { of, stay, bits: 0 } => write!(f, "trips of {of} while {stay}"),
            Source::Trips { of, stay, bits } => {
                write!(f, "trips of {of} while {stay}, small ones in {bits} bits")
            }
        }
    }
}

impl Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Direct => f.write_str("a call"),
            Origin::Graph { exec, node, replay } => write!(f, "graph {exec}, node {node}, replay {replay}"),
        }
    }
}

impl Trace {
    /// Writes the recording as text.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "trace by {:?}", self.producer)?;
        if let Some(p) = &self.process {
            process(out, p)?;
        }
        for (i, m) in self.modules.iter().enumerate() {
            module(out, i, m)?;
        }
        for s in &self.skipped {
            writeln!(out, "skipped {:?} {}: {}", s.module, Or(&s.kernel), s.reason)?;
        }
        for (i, name) in self.ranges.iter().enumerate() {
            writeln!(out, "range{i} {:?}", name.to_string())?;
        }
        for (i, r) in self.launches.iter().enumerate() {
            launch(out, i, &r.launch)?;
            streams(out, r)?;
        }
        self.outputs.iter().try_for_each(|o| output(out, o))?;
        self.cut.iter().try_for_each(|cut| writeln!(out, "cut {cut}"))
    }
}

fn output(out: &mut dyn Write, o: &OutputContents) -> io::Result<()> {
    let OutputContents { launch, name, ty, shape, tolerance, bytes, packed } = o;
    let (ty, packed) = (ty.name(), packed.len());
    writeln!(
        out,
        "output {name:?} of launch {launch} {ty} {shape:?} {tolerance:?} {bytes} bytes {packed} packed"
    )
}

fn process(out: &mut dyn Write, p: &Process) -> io::Result<()> {
    let ranks = (Or(&p.rank), Or(&p.local_rank), Or(&p.world_size));
    write!(out, "process {} on {:?} started {} ", p.pid, p.host, p.started)?;
    writeln!(out, "rank {} local {} of {}: {:?}", ranks.0, ranks.1, ranks.2, p.command)?;
    for d in &p.devices {
        let (major, minor) = d.capability;
        writeln!(out, "  device{} {:?} {:?} capability {major}.{minor}", d.ordinal, d.name, d.uuid)?;
    }
    p.versions.iter().try_for_each(|(name, version)| writeln!(out, "  {name:?} {version:?}"))
}

fn module(out: &mut dyn Write, i: usize, m: &Module) -> io::Result<()> {
    writeln!(out, "module{i} {:?} for {} digest {:032x}", m.name, m.target, m.digest)?;
    for (i, f) in m.files.iter().enumerate() {
        let text = f.text.as_ref().map_or("no text".into(), |t| format!("{} bytes of text", t.len()));
        writeln!(out, "  file{i} {:?} {text}", f.path)?;
    }
    for (i, l) in m.locs.iter().enumerate() {
        write!(out, "  loc{i} {}:{}:{}", l.file, l.line, l.column)?;
        match &l.inlined_at {
            Some(at) => writeln!(out, " in {:?} inlined at {at}", l.function)?,
            None => writeln!(out)?,
        }
    }
    for (i, f) in m.functions.iter().enumerate() {
        function(out, i, f)?;
    }
    m.sites.iter().enumerate().try_for_each(|(i, s)| site(out, i, s))
}

fn function(out: &mut dyn Write, i: usize, f: &Function) -> io::Result<()> {
    let kind = if f.kernel { "kernel" } else { "function" };
    writeln!(out, "  func{i} {kind} {:?} slots {} skipped {}", f.name, f.slots, Or(&f.skipped))?;
    for p in &f.params {
        writeln!(out, "    param {:?} {} at {} size {}", p.name, p.ty.name(), p.offset, p.size)?;
    }
    for (i, l) in f.loops.iter().enumerate() {
        let kind = if l.irreducible { " irreducible" } else { "" };
        writeln!(out, "    loop{i} {} in {} {}{kind} {:?}", l.header, Or(&l.parent), Or(&l.loc), l.blocks)?;
    }
    for loc in &f.pointer_calls {
        writeln!(out, "    calls through a pointer {}", Or(loc))?;
    }
    for (i, Block { loc, steps, end, ipdom, in_loop }) in f.blocks.iter().enumerate() {
        writeln!(out, "    block{i} {} ipdom {} in {}", Or(loc), Or(ipdom), Or(in_loop))?;
        steps.iter().try_for_each(|s| writeln!(out, "      {s}"))?;
        writeln!(out, "      {end}")?;
    }
    Ok(())
}

fn site(out: &mut dyn Write, i: usize, s: &Site) -> io::Result<()> {
    let place = format!("{} {} {}", s.function, s.block, Or(&s.loc));
    writeln!(
        out,
        "  site{i} {} {place} #{} {} skipped {}: {}",
        s.class.name(),
        s.nth,
        s.source,
        Or(&s.skipped),
        s.text
    )?;
    for o in &s.operands {
        writeln!(out, "    operand {} {}", o.ty.name(), o.name)?;
    }
    for x in &s.steers {
        writeln!(out, "    steers {} {}: {}", x.class.name(), Or(&x.loc), x.text)?;
    }
    for (i, n) in s.slice.iter().enumerate() {
        writeln!(out, "    node{i} {} {} {:?}: {}", n.kind.name(), Or(&n.loc), n.inputs, n.text)?;
    }
    Ok(())
}

fn launch(out: &mut dyn Write, i: usize, l: &Launch) -> io::Result<()> {
    writeln!(
        out,
        "launch{i} {} {} grid {} block {} shared {} warps of {} at level {} on {:?} seed {}",
        l.module,
        l.kernel,
        l.grid,
        l.block,
        l.shared,
        l.warp_size,
        l.level.name(),
        l.device,
        Or(&l.seed)
    )?;
    let t = l.totals;
    writeln!(out, "  recorded {} dropped {} filtered warps {}", t.recorded, t.dropped, t.filtered_warps)?;
    writeln!(out, "  cost {} bare {}", t.instrumented, t.bare)?;
    if let Some(w) = &l.window {
        writeln!(out, "  window {:?} warps {:?} visits {:?}", w.sites, w.warps, w.visits)?;
    }
    if (l.cluster, l.number, l.stream, l.ordinal, l.start) != Default::default() {
        let place = format!("number {} device {} stream {} start {}", l.number, l.ordinal, l.stream, l.start);
        writeln!(out, "  {place} cluster {}", Or(&l.cluster))?;
    }
    if (l.origin, l.fidelity) != Default::default() {
        writeln!(out, "  from {} fidelity {}", l.origin, l.fidelity.name())?;
    }
    if let Some(why) = &l.skipped {
        writeln!(out, "  skipped: {why}")?;
    }
    if let Some(f) = &l.fault {
        writeln!(out, "  {} {:?} unfinished {:?}", f.kind.name(), f.text, f.unfinished)?;
    }
    writeln!(out, "  params {}", l.params.iter().map(|b| format!("{b:02x}")).collect::<String>())?;
    let digest = |d: Option<u64>| d.map_or("-".into(), |d| format!("{d:016x}"));
    for a in &l.args {
        let (before, after) = (digest(a.before), digest(a.after));
        writeln!(
            out,
            "  arg {:?} {} bytes {} before {before} after {after}",
            a.name,
            a.ty.name(),
            Or(&a.bytes)
        )?;
    }
    for p in &l.pointees {
        let (before, after) = (digest(p.before), digest(p.after));
        writeln!(
            out,
            "  pointer at {} to {} bytes: {} before {before} after {after}",
            p.offset, p.bytes, p.digested
        )?;
    }
    if let Some(Host { thread, called, seen, waited, held }) = l.host {
        let [called, waited] =
            [called, waited].map(|at| at.map_or("-".into(), |(a, b)| format!("{a} to {b}")));
        writeln!(out, "  thread {thread}: called {called}, seen {}, waited {waited} + {held}", Or(&seen))?;
    }
    if !l.ranges.is_empty() {
        let ranges: Vec<String> = l.ranges.iter().map(|r| format!("{} of {}", r.instance, r.name)).collect();
        writeln!(out, "  in {}", ranges.join(", "))?;
    }
    if let Some(StreamHashes { warps, control, loaded, stored, signatures }) = l.hashes {
        let parts = format!("control {control:016x} loaded {loaded:016x} stored {stored:016x}");
        writeln!(out, "  hashes of {warps} warps: {parts} signatures {signatures:016x}")?;
    }
    if let Some(why) = &l.undigested {
        writeln!(out, "  no digests: {why}")?;
    }
    Ok(())
}

fn streams(out: &mut dyn Write, r: &Recording) -> io::Result<()> {
    for i in 0..r.streams.frames() {
        match r.streams.frame(i) {
            Ok(warps) => warps.iter().try_for_each(|w| warp(out, w))?,
            Err(e) => writeln!(out, "  frame {i}: {e}")?,
        }
    }
    Ok(())
}

/// Writes what a warp's stream holds.
///
/// # Errors
/// When `out` does.
pub fn warp(out: &mut dyn Write, w: &WarpStream) -> io::Result<()> {
    writeln!(out, "  {} dropped {}", w.warp, w.dropped)?;
    match &w.lanes {
        Lanes::Path { words, ends } => by_lane(out, words, ends, |w| match *w {
            w if w & COUNT_WORD != 0 => {
                format!("x{}{}", w & !(COUNT_WORD | COUNT_MORE), if w & COUNT_MORE != 0 { "+" } else { "" })
            }
            0 => "0".into(),
            // The leading 1 is no decision.
            w => format!("{w:b}")[1..].to_owned(),
        }),
        Lanes::Fingerprint { checkpoints, ends, hashes } => {
            by_lane(out, checkpoints, ends, |c| format!("{c:016x}"))?;
            if let Some((h, signatures)) = warp_hashes(hashes) {
                writeln!(out, "    warp ends {:016x} {:016x} {:016x}", h[0], h[1], h[2])?;
                let bytes: String = signatures
                    .as_flattened()
                    .iter()
                    .flat_map(|s| s.to_le_bytes())
                    .map(|b| format!("{b:02x}"))
                    .collect();
                return writeln!(out, "    signatures {bytes}");
            }
            for (lane, h) in hashes.iter().enumerate().filter(|(_, h)| **h != [0; 4]) {
                writeln!(out, "    lane{lane} ends {:016x} {:016x} {:016x} {:016x}", h[0], h[1], h[2], h[3])?;
            }
            Ok(())
        }
        Lanes::Events(events) => events.iter().try_for_each(|e| {
            writeln!(out, "    {} {:?} value {:#x} clock {}", e.site, e.mask, e.value, e.clock)
        }),
        Lanes::Operands { records, ends } => by_lane(out, records, ends, |r| {
            format!("{}#{}:{:#x},{:#x}", r.site, r.visit, r.values[0], r.values[1])
        }),
    }
}

/// The elements of each lane that has any.
fn by_lane<T>(out: &mut dyn Write, all: &[T], ends: &[u32], show: impl Fn(&T) -> String) -> io::Result<()> {
    let mut from = 0;
    for (lane, &end) in ends.iter().enumerate() {
        let elements = all.get(from..end as usize).unwrap_or_default();
        if !elements.is_empty() {
            let shown: Vec<String> = elements.iter().map(&show).collect();
            writeln!(out, "    lane{lane} {}", shown.join(" "))?;
        }
        from = end as usize;
    }
    Ok(())
}
