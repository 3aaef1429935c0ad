//! `prlx cost`: prints the overhead of recording, probing and profiling.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use prlx::Monitor;
use prlx::cost::{self, Instrumentation, KernelCost};
use prlx::device::Device;
use prlx::probe;
use prlx::profile::marking;
use prlx_driver::{Cost, CostOptions, MarkerVisits, ResourceUsage};
use prlx_plan::RecordingRequest;
use prlx_trace::Level;
use serde_json::{Value, json};

use crate::args::CostArgs;
use crate::failure;
use crate::ui::Ui;

/// Rounds on a GPU. The CPU device counts instructions, which are the same in every round.
const ROUNDS: u32 = 21;
/// Bytes to write between two rounds; more than the second-level cache of any GPU holds.
const FLUSH: u64 = 256 << 20;

/// Measures every launch file, and prints a table of each; of several, also their means.
pub fn run(args: &CostArgs, ui: &Ui) -> Result<ExitCode> {
    let device = args.device.options();
    let monitor = ui.monitor();
    let instrumentations = instrumentations(args, &monitor)?;
    let info = Device::open(&device)?.driver().info();
    let counts = info.hooks;
    let options = CostOptions {
        rounds: args.rounds.unwrap_or(if counts { 1 } else { ROUNDS }),
        pool: args.memory << 20,
        flush: if args.warm || counts { 0 } else { FLUSH },
    };
    let (mut rows, mut failed, mut code) = (Vec::new(), 0, 0);
    let out = &mut ui.out(args.json);
    for launch in &args.launches {
        let activity = monitor.activity(&format!("measuring {}", launch.display()));
        let row = cost::measure(launch, &instrumentations, &args.also, &options, &device);
        drop(activity);
        let row = match row.with_context(|| format!("cannot measure {}", launch.display())) {
            Ok(row) => row,
            Err(e) if args.launches.len() == 1 => return Err(e),
            Err(e) => {
                ui.warn(&format!("{e:#}"));
                failed += 1;
                code = code.max(failure::exit_code(&e));
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
        for (i, instrumentation) in instrumentations.iter().enumerate() {
            let ratios = |r: &KernelCost| r.instrumented.get(i).map_or((1.0, 1.0), |w| w.ratios(&r.bare));
            let (mean, worst, which) = cost::mean(&rows, |r| ratios(r).0);
            let (off, ..) = cost::mean(&rows, |r| ratios(r).1);
            let name = &instrumentation.name;
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
    out.flush()?;
    if failed > 0 {
        let what = anyhow!("{failed} of {} launch files could not be measured", args.launches.len());
        ui.error(&what);
        return Ok(ExitCode::from(code));
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

/// The instrumentations that the options ask for.
fn instrumentations(args: &CostArgs, monitor: &Monitor<'_>) -> Result<Vec<Instrumentation>> {
    let recorder = |level: Level| Instrumentation {
        name: level.name().to_owned(),
        program: RecordingRequest::new(level),
    };
    let mut all: Vec<Instrumentation> = args.levels().into_iter().map(recorder).collect();
    for word in &args.probe {
        let found = probe::named(word, monitor)?;
        all.push(Instrumentation { name: found.name, program: probe::recording_request(&found.script, &[]) });
    }
    for form in &args.markers {
        let (name, form) = form.form();
        let auto = args.auto.iter().map(|a| a.via()).collect();
        let program = RecordingRequest::of_markers(marking(auto, Vec::new(), false, form));
        all.push(Instrumentation { name: name.to_owned(), program });
    }
    Ok(all)
}

fn text(out: &mut impl Write, row: &KernelCost, counts: bool) -> io::Result<()> {
    let median = cost::quartile(&row.bare, 2);
    let amount = match counts {
        true => format!("{median} warp instructions"),
        false => format!("{:.3} ms", median as f64 / 1e6),
    };
    writeln!(out, "{}: {amount}", row.name)?;
    let title = ["", "ratio", "spread", "off", "registers", "local", "shared", "occupancy", "streams", ""];
    let names = row.instrumented.iter().map(|w| &w.name).chain(row.others.iter().map(|(name, _)| name));
    let first = names.map(|n| n.chars().count() + 2).max().unwrap_or(0).clamp(8, 42);
    let mut line = |cells: [String; 10]| {
        let text = cells.iter().zip([first, 7, 8, 7, 10, 6, 7, 10, 10, 0]).map(|(c, w)| format!("{c:<w$}"));
        writeln!(out, "  {}", text.collect::<String>().trim_end())
    };
    line(title.map(str::to_owned))?;
    let mut form = |name: &str, cost: &Cost, off: Option<&Cost>, note: &str| {
        let needs = |of: &dyn Fn(&ResourceUsage) -> String| {
            cost.resources.as_ref().map_or_else(|| "-".to_owned(), of)
        };
        let full = if cost.full { "memory was too small" } else { "" };
        let changed = if cost.changed { "buffers differ" } else { "" };
        line([
            name.to_owned(),
            format!("{:.3}", cost::ratio(cost, &row.bare)),
            format!("{:.1}%", cost::spread(cost) * 100.0),
            off.map_or_else(String::new, |off| format!("{:.3}", cost::ratio(off, &row.bare))),
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
    for form_cost in &row.instrumented {
        let name = short(&form_cost.name);
        match &form_cost.costs {
            Some((on, off)) => form(&name, on, Some(off), "")?,
            None => form(&name, &row.bare, None, "no effect in this kernel")?,
        }
    }
    for (name, cost) in &row.others {
        form(&short(name), cost, None, "")?;
    }
    for (name, (on, _)) in row.instrumented.iter().filter_map(|w| Some((&w.name, w.costs.as_ref()?))) {
        let Some(passed) = on.marker_visits else { continue };
        let of = if counts { "warp instructions each" } else { "ns each in that one" };
        let each = cost::per_visit(on, &row.bare, passed, counts);
        let MarkerVisits { all, most } = passed;
        writeln!(out, "  {name}: markers passed {all} times, {most} in one track: {each:.2} {of}")?;
    }
    for (name, why) in row.instrumented.iter().flat_map(|w| w.unmarked.iter().map(|why| (&w.name, why))) {
        writeln!(out, "  {name}: {why}")?;
    }
    let slowest = row.instrumented.iter().map(|w| w.rewriting).max().unwrap_or_default();
    writeln!(
        out,
        "  instrumented in at most {:.1} ms each, without the assembler",
        slowest.as_secs_f64() * 1e3
    )
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

fn as_json(row: &KernelCost, counts: bool) -> Value {
    let form = |name: &str, cost: &Cost| {
        json!({
            "form": name, "median": cost::quartile(cost, 2), "quartiles": [cost::quartile(cost, 1), cost::quartile(cost, 3)],
            "ratio": cost::ratio(cost, &row.bare), "streams": cost.streams, "full": cost.full, "changed": cost.changed,
            "needs": cost.resources.map(|n| json!({
                "registers": n.registers, "local": n.local, "shared": n.shared, "resident": n.resident, "room": n.room,
            })),
        })
    };
    let mut forms = vec![form("bare", &row.bare), form("again", &row.again)];
    for form_cost in &row.instrumented {
        let name = &form_cost.name;
        let mut first = match &form_cost.costs {
            Some((on, _)) => form(name, on),
            None => json!({ "form": name, "idle": true }),
        };
        first["rewriting_nanos"] = json!(form_cost.rewriting.as_nanos() as u64);
        if let Some((on, passed)) = form_cost.costs.as_ref().and_then(|(on, _)| Some((on, on.marker_visits?)))
        {
            let each = cost::per_visit(on, &row.bare, passed, counts);
            first["passed"] = json!({ "all": passed.all, "most": passed.most, "each": each });
        }
        if !form_cost.unmarked.is_empty() {
            first["unmarked"] = json!(form_cost.unmarked);
        }
        forms.push(first);
        forms.extend(form_cost.costs.iter().map(|(_, off)| form(&format!("{name} off"), off)));
    }
    forms.extend(row.others.iter().map(|(name, cost)| form(name, cost)));
    json!({ "launch": row.name, "kernel": row.kernel, "forms": forms })
}
