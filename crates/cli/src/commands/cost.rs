//! `prlx cost`: what recording costs a kernel here: time on a GPU, warp instructions on the CPU device.
//!
//! Each kernel runs as it is; as it is once more, from a copy loaded again (`again`: what such a difference is worth); and at
//! each level, with each probe program and with its markers, recording and not recording (`off`). Everything is in proportion to the first.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use prlx_driver::{Cost, CostOptions, Form, Needs, Passed};
use prlx_instrument::Rewrite;
use prlx_plan::RecordingRequest;
use prlx_plan::markers::Marking;
use prlx_trace::Level;
use serde_json::{Value, json};

use crate::args::CostArgs;
use crate::commands::probe;
use crate::record::{self, Device};
use crate::ui::Ui;

/// Rounds on a GPU. The CPU device counts instructions, which are the same in every round.
const ROUNDS: u32 = 21;
/// More than the second-level cache of any GPU.
const FLUSH: u64 = 256 << 20;

/// What was measured of one launch file.
struct Row {
    name: String,
    kernel: String,
    bare: Cost,
    again: Cost,
    /// By level, probe program and form of markers.
    woven: Vec<Woven>,
    /// Other modules' kernels, by name.
    also: Vec<(String, Cost)>,
}

/// What is woven into kernels: a recorder, a probe program or what markers leave.
struct Weave {
    name: String,
    program: RecordingRequest,
}

/// A kernel with something woven in.
struct Woven {
    name: String,
    /// How long reading, resolving, lowering and verifying its module took; not its assembler.
    rewriting: Duration,
    /// Recording, not recording; none if the program does nothing in the kernel, which stays as it is.
    costs: Option<(Cost, Cost)>,
    /// Why markers were left out, if some were.
    unmarked: Vec<String>,
}

impl Woven {
    /// In proportion to the bare kernel: recording, not recording.
    fn ratios(&self, bare: &Cost) -> (f64, f64) {
        self.costs.as_ref().map_or((1.0, 1.0), |(on, off)| (ratio(on, bare), ratio(off, bare)))
    }
}

/// Measures every launch file, and prints a table of each; of several, also their means.
pub fn run(args: &CostArgs, ui: &Ui) -> Result<ExitCode> {
    let weaves = weaves(args, ui)?;
    let info = record::device(&args.device)?.driver().info();
    let counts = info.hooks;
    let options = CostOptions {
        rounds: args.rounds.unwrap_or(if counts { 1 } else { ROUNDS }),
        pool: args.memory << 20,
        flush: if args.warm || counts { 0 } else { FLUSH },
    };
    let (mut rows, mut failed) = (Vec::new(), 0);
    let out = &mut io::stdout().lock();
    for launch in &args.launches {
        let bar = ui.spinner(&format!("measuring {}", launch.display()));
        // A device of its own for each: a fault of one takes no other along.
        let row = record::device(&args.device)
            .and_then(|mut device| measure(launch, &weaves, args, &options, &mut device));
        bar.finish_and_clear();
        let row = match row.with_context(|| format!("cannot measure {}", launch.display())) {
            Ok(row) => row,
            Err(e) if args.launches.len() == 1 => return Err(e),
            Err(e) => {
                ui.warn(&format!("{e:#}"));
                failed += 1;
                continue;
            }
        };
        if !args.json {
            text(out, &row, counts)?;
        }
        rows.push(row);
    }
    if args.json {
        let unit = if counts { "warp_instructions" } else { "nanos" };
        let all = json!({
            "device": info.name, "unit": unit, "rounds": options.rounds, "caches": caches(&options, counts),
            "launches": rows.iter().map(|r| as_json(r, counts)).collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &all)?;
        writeln!(out)?;
    } else if rows.len() > 1 {
        writeln!(out, "{} launches: geometric mean, worst", rows.len())?;
        for (i, weave) in weaves.iter().enumerate() {
            let ratios = |r: &Row| r.woven.get(i).map_or((1.0, 1.0), |w| w.ratios(&r.bare));
            let (mean, worst, which) = mean(&rows, |r| ratios(r).0);
            let (off, ..) = self::mean(&rows, |r| ratios(r).1);
            let name = &weave.name;
            writeln!(out, "  {name:<7} {mean:.3}  {worst:.3} {which}; not recording {off:.3}")?;
        }
    }
    if !args.json {
        let rounds = if options.rounds == 1 { "round" } else { "rounds" };
        writeln!(
            out,
            "on the {}, {} {rounds}, caches {}",
            info.name,
            options.rounds,
            caches(&options, counts)
        )?;
    }
    if failed > 0 {
        bail!("{failed} of {} launch files could not be measured", args.launches.len());
    }
    Ok(ExitCode::SUCCESS)
}

fn caches(options: &CostOptions, counts: bool) -> &'static str {
    match (counts, options.flush) {
        (true, _) => "not simulated",
        (_, 0) => "warm",
        _ => "flushed",
    }
}

/// What is to be measured.
fn weaves(args: &CostArgs, ui: &Ui) -> Result<Vec<Weave>> {
    let recorder =
        |level: Level| Weave { name: level.name().to_owned(), program: RecordingRequest::new(level) };
    let mut all: Vec<Weave> = args.levels().into_iter().map(recorder).collect();
    for word in &args.probe {
        let (name, script) = probe::named(word, ui)?;
        all.push(Weave { name, program: probe::program(&script, &[]) });
    }
    for left in &args.markers {
        let (name, form) = left.form();
        let outside = args.auto.iter().map(|a| a.via()).collect();
        let marking = Marking { source: true, outside, lines: Vec::new(), lanes: false, form, spare: false };
        all.push(Weave { name: name.to_owned(), program: RecordingRequest::of_markers(marking) });
    }
    Ok(all)
}

fn measure(
    launch: &Path,
    weaves: &[Weave],
    args: &CostArgs,
    options: &CostOptions,
    device: &mut Device,
) -> Result<Row> {
    let job = record::load(launch, &args.device)?;
    let rewrites = weaves
        .iter()
        .map(|weave| {
            let began = Instant::now();
            let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &weave.program, &|path| {
                job.source_text(path)
            })?;
            Ok((rewrite, began.elapsed()))
        })
        .collect::<Result<Vec<(Rewrite, Duration)>, prlx_instrument::Error>>()?;
    // A program that does nothing in the kernel leaves it as it is.
    let idle = |weave: &Weave, rewrite: &Rewrite| {
        let kernel = rewrite
            .plan
            .functions
            .iter()
            .zip(&rewrite.plan.module.functions)
            .find(|f| f.1.name == job.kernel);
        weave.program.level == Level::Probe && kernel.is_some_and(|(f, _)| f.skipped.is_some())
    };
    let idle: Vec<bool> = weaves.iter().zip(&rewrites).map(|(w, (r, _))| idle(w, r)).collect();
    let mut forms = vec![Form { text: &job.text, plan: None, records: false }; 2];
    for ((rewrite, _), _) in rewrites.iter().zip(&idle).filter(|(_, idle)| !**idle) {
        let form = Form { text: &rewrite.text, plan: Some(&rewrite.plan), records: true };
        forms.extend([form, Form { records: false, ..form }]);
    }
    let also = args.also.iter().map(|path| other(path)).collect::<Result<Vec<_>>>()?;
    forms.extend(also.iter().map(|(_, text)| Form { text, plan: None, records: false }));
    let mut costs = prlx_driver::cost(device.driver(), &job, &forms, options)?.into_iter();
    let mut next = || costs.next().unwrap_or_default();
    let (bare, again) = (next(), next());
    let each = weaves.iter().zip(&rewrites).zip(idle);
    let woven = each.map(|((weave, (rewrite, rewriting)), idle)| Woven {
        name: weave.name.clone(),
        rewriting: *rewriting,
        costs: (!idle).then(|| (next(), next())),
        unmarked: unmarked(rewrite),
    });
    let woven = woven.collect();
    let also = also.into_iter().map(|(name, _)| (name, next())).collect();
    let folder = launch.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = launch.file_stem().unwrap_or_default().to_string_lossy();
    // Launch files of one folder are told apart by their own names, others by their folders'.
    let name = if name.starts_with("launch") { format!("{folder}/{name}") } else { name.into_owned() };
    Ok(Row { name, kernel: job.kernel, bare, again, woven, also })
}

/// Another module: its name and text.
fn other(path: &Path) -> Result<(String, String)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text))
}

/// Why markers were left out, if some were.
fn unmarked(rewrite: &Rewrite) -> Vec<String> {
    rewrite.plan.kept.unmarked.iter().map(|m| prlx_present::safe(&m.why).to_string()).collect()
}

/// What coming to a marker once costs: time of the track with the most, or warp instructions of all.
fn each(cost: &Cost, bare: &Cost, passed: Passed, counts: bool) -> f64 {
    let more = quarter(cost, 2) as f64 - quarter(bare, 2) as f64;
    more / if counts { passed.all } else { passed.most }.max(1) as f64
}

/// The quarter of the way through the sorted rounds: 1 and 3 are quartiles, 2 is the median.
fn quarter(cost: &Cost, n: usize) -> u64 {
    let mut sorted = cost.rounds.clone();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) * n / 4).copied().unwrap_or(0)
}

/// Medians, over each other.
fn ratio(cost: &Cost, bare: &Cost) -> f64 {
    quarter(cost, 2) as f64 / quarter(bare, 2).max(1) as f64
}

/// How far apart the quartiles are, in proportion to the median.
fn spread(cost: &Cost) -> f64 {
    (quarter(cost, 3) - quarter(cost, 1)) as f64 / quarter(cost, 2).max(1) as f64
}

/// Geometric mean and worst of a ratio, and whose that is.
fn mean(rows: &[Row], of: impl Fn(&Row) -> f64) -> (f64, f64, &str) {
    let logs: f64 = rows.iter().map(|r| of(r).max(f64::MIN_POSITIVE).ln()).sum();
    let worst = rows.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
    let (most, which) = worst.map_or((0.0, ""), |r| (of(r), r.name.as_str()));
    ((logs / rows.len().max(1) as f64).exp(), most, which)
}

fn text(out: &mut impl Write, row: &Row, counts: bool) -> io::Result<()> {
    let median = quarter(&row.bare, 2);
    let amount = match counts {
        true => format!("{median} warp instructions"),
        false => format!("{:.3} ms", median as f64 / 1e6),
    };
    writeln!(out, "{}: {amount}", row.name)?;
    let title = ["", "ratio", "spread", "off", "registers", "local", "shared", "occupancy", "streams", ""];
    let names = row.woven.iter().map(|w| &w.name).chain(row.also.iter().map(|(name, _)| name));
    let first = names.map(|n| n.chars().count() + 2).max().unwrap_or(0).clamp(8, 42);
    let mut line = |cells: [String; 10]| {
        let text = cells.iter().zip([first, 7, 8, 7, 10, 6, 7, 10, 10, 0]).map(|(c, w)| format!("{c:<w$}"));
        writeln!(out, "  {}", text.collect::<String>().trim_end())
    };
    line(title.map(str::to_owned))?;
    let mut form = |name: &str, cost: &Cost, off: Option<&Cost>, note: &str| {
        let needs = |of: &dyn Fn(&Needs) -> String| cost.needs.as_ref().map_or_else(|| "-".to_owned(), of);
        let full = if cost.full { "more than the memory given" } else { "" };
        let changed = if cost.changed { "buffers differ" } else { "" };
        line([
            name.to_owned(),
            format!("{:.3}", ratio(cost, &row.bare)),
            format!("{:.1}%", spread(cost) * 100.0),
            off.map_or_else(String::new, |off| format!("{:.3}", ratio(off, &row.bare))),
            needs(&|n| n.registers.to_string()),
            needs(&|n| n.local.to_string()),
            needs(&|n| n.shared.to_string()),
            needs(&|n| format!("{:.0}%", 100.0 * f64::from(n.resident) / f64::from(n.room.max(1)))),
            size(cost.streams),
            [full, changed, note].join(" ").trim().to_owned(),
        ])
    };
    form("bare", &row.bare, None, "")?;
    form("again", &row.again, None, "")?;
    for woven in &row.woven {
        let name = short(&woven.name);
        match &woven.costs {
            Some((on, off)) => form(&name, on, Some(off), "")?,
            None => form(&name, &row.bare, None, "does nothing in it")?,
        }
    }
    for (name, cost) in &row.also {
        form(&short(name), cost, None, "")?;
    }
    for (name, (on, _)) in row.woven.iter().filter_map(|w| Some((&w.name, w.costs.as_ref()?))) {
        let Some(passed) = on.passed else { continue };
        let of = if counts { "warp instructions each" } else { "ns each in that one" };
        let each = each(on, &row.bare, passed, counts);
        let Passed { all, most } = passed;
        writeln!(out, "  {name}: markers passed {all} times, {most} in one track: {each:.2} {of}")?;
    }
    for (name, why) in row.woven.iter().flat_map(|w| w.unmarked.iter().map(|why| (&w.name, why))) {
        writeln!(out, "  {name}: {why}")?;
    }
    let slowest = row.woven.iter().map(|w| w.rewriting).max().unwrap_or_default();
    writeln!(out, "  rewritten in {:.1} ms each at most, assembler aside", slowest.as_secs_f64() * 1e3)
}

/// A program's name, or the beginning of its text.
fn short(name: &str) -> String {
    match name.chars().nth(40) {
        Some(_) => name.chars().take(39).chain(['…']).collect(),
        None => name.to_owned(),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "-".to_owned(),
        n if n < 10 << 10 => format!("{n} B"),
        n if n < 10 << 20 => format!("{} KiB", n >> 10),
        n => format!("{} MiB", n >> 20),
    }
}

fn as_json(row: &Row, counts: bool) -> Value {
    let form = |name: &str, cost: &Cost| {
        json!({
            "form": name, "median": quarter(cost, 2), "quartiles": [quarter(cost, 1), quarter(cost, 3)],
            "ratio": ratio(cost, &row.bare), "streams": cost.streams, "full": cost.full, "changed": cost.changed,
            "needs": cost.needs.map(|n| json!({
                "registers": n.registers, "local": n.local, "shared": n.shared, "resident": n.resident, "room": n.room,
            })),
        })
    };
    let mut forms = vec![form("bare", &row.bare), form("again", &row.again)];
    for woven in &row.woven {
        let name = &woven.name;
        let mut first = match &woven.costs {
            Some((on, _)) => form(name, on),
            None => json!({ "form": name, "idle": true }),
        };
        first["rewriting_nanos"] = json!(woven.rewriting.as_nanos() as u64);
        if let Some((on, passed)) = woven.costs.as_ref().and_then(|(on, _)| Some((on, on.passed?))) {
            let each = each(on, &row.bare, passed, counts);
            first["passed"] = json!({ "all": passed.all, "most": passed.most, "each": each });
        }
        if !woven.unmarked.is_empty() {
            first["unmarked"] = json!(woven.unmarked);
        }
        forms.push(first);
        forms.extend(woven.costs.iter().map(|(_, off)| form(&format!("{name} off"), off)));
    }
    forms.extend(row.also.iter().map(|(name, cost)| form(name, cost)));
    json!({ "launch": row.name, "kernel": row.kernel, "forms": forms })
}
