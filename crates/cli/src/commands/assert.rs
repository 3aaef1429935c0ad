//! `prlx assert`: a gate for continuous integration. A new recording may differ from a golden one only where rules allow it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use prlx_analyze::gate::{GateLimits, Rule, judge};

use crate::args::{AssertArgs, DiffArgs, PrlxArgs, ReportArgs};
use crate::commands::diff;
use crate::report;
use crate::ui::Ui;

/// Findings of a launch that are judged; more fail.
const ROOM: usize = 4096;

/// Compares them, judges the report, and writes what was asked for.
pub fn run(args: &AssertArgs, ui: &Ui) -> Result<ExitCode> {
    let mut rules = args.allow.clone();
    for file in &args.allow_file {
        rules.extend(read(file)?);
    }
    let as_diff = DiffArgs {
        a: args.golden.clone(),
        b: args.new.clone(),
        kernel: args.kernel.clone(),
        launch: args.launch.clone(),
        report: ReportArgs { findings: ROOM, html: args.html.clone(), ..ReportArgs::default() },
        shard: None,
        output: None,
        prlx: PrlxArgs { values: args.values, ..PrlxArgs::default() },
    };
    let (mut report, scene) = diff::report(&as_diff, ui)?;
    report::files(&mut report, &scene, ROOM, &as_diff.report)?;
    let most = GateLimits { findings: args.max_findings, visits: args.max_visits, lanes: args.max_lanes };
    let judgement = judge(&report, &rules, most);
    if let Some(path) = &args.junit {
        let mut file = Vec::new();
        prlx_present::junit(&mut file, &judgement, &report)?;
        fs::write(path, file).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = io::stdout().lock();
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

/// The rules of a file: one a line; what follows a `#` at a line's start or after a space is for people.
fn read(path: &Path) -> Result<Vec<Rule>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rules = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let rule =
            if line.starts_with('#') { "" } else { line.split(" #").next().unwrap_or_default().trim() };
        if !rule.is_empty() {
            rules.push(rule.parse().map_err(|e: String| anyhow!("{}:{}: {e}", path.display(), i + 1))?);
        }
    }
    Ok(rules)
}
