//! `prlx assert`: a gate for continuous integration. A new recording may differ from a golden one only where
//! rules allow.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx::gate::{JUDGED_FINDINGS, read_rules};
use prlx::input::require_recordings;
use prlx_analyze::gate::{GateLimits, Rule, judge};
use prlx_analyze::outputs::Tolerance;

use crate::args::{AssertArgs, DiffArgs, LegacyArgs, ReportArgs};
use crate::commands::diff;
use crate::report;
use crate::ui::Ui;

/// The tolerances that rules give to single outputs.
fn output_tolerances(rules: &[Rule]) -> Vec<(String, Tolerance)> {
    let tolerance = |rule: &Rule| match rule {
        Rule::Output(name, Some(tolerance)) => Some((name.clone(), *tolerance)),
        _ => None,
    };
    rules.iter().filter_map(tolerance).collect()
}

/// Compares the recordings, judges the report, and writes what the options ask for.
pub fn run(args: &AssertArgs, ui: &Ui) -> Result<ExitCode> {
    require_recordings([&args.golden, &args.new], true)?;
    let mut rules = args.allow.clone();
    for file in &args.allow_file {
        rules.extend(read_rules(file)?);
    }
    let as_diff = DiffArgs {
        a: args.golden.clone(),
        b: args.new.clone(),
        kernel: args.kernel.clone(),
        part: args.part.clone(),
        launch: args.launch.clone(),
        report: ReportArgs {
            findings: JUDGED_FINDINGS,
            strict: args.strict,
            html: args.html.clone(),
            ..ReportArgs::default()
        },
        tolerance: args.tolerance.clone(),
        shard: None,
        output: None,
        legacy: LegacyArgs { values: args.values, ..LegacyArgs::default() },
    };
    let (mut report, scene) = diff::compare(&as_diff, output_tolerances(&rules), ui)?;
    report::write_files(&mut report, &scene, JUDGED_FINDINGS, &as_diff.report)?;
    let most = GateLimits { findings: args.max_findings, visits: args.max_visits, lanes: args.max_lanes };
    let judgement = judge(&report, &rules, most);
    if let Some(path) = &args.junit {
        let mut file = Vec::new();
        prlx_present::junit(&mut file, &judgement, &report)?;
        prlx_driver::files::write(path, file.as_ref())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = ui.out(args.json);
    if args.json {
        prlx_present::gate_json(&mut out, &judgement, &report)?;
    } else {
        prlx_present::gate(&mut out, &judgement, &report, args.findings, &ui.style())?;
    }
    if args.github {
        // GitHub reads commands from both streams; JSON stays JSON.
        let root = std::env::current_dir().unwrap_or_default();
        let mut lines = Vec::new();
        prlx_present::github(&mut lines, &judgement, &report, &root.to_string_lossy())?;
        if args.json {
            io::stderr().write_all(&lines)?;
        } else {
            out.write_all(&lines)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::from(judgement.outcome.exit_code()))
}
