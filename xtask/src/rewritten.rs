//! Feeds rewritten code to NVIDIA's assembler: every module of the corpus at every level, and the registers
//! it takes.
//!
//! `cargo xtask rewritten` writes the modules to `target/rewritten`, assembles them unless the same text was
//! assembled before (`stamps`), and prints a table of registers and spills against the originals. `--out
//! FILE` always assembles and also writes the table to a file. Other words choose modules by their path.

use crate::corpus::parallel;
use crate::ptxas::target;
use crate::setup::Tools;
use crate::stamps::{self, Inputs};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LEVELS: [&str; 13] = [
    "none",
    "path",
    "print",
    "events",
    "operands",
    "probe-bank-conflicts",
    "probe-counts",
    "probe-flow",
    "probe-functions",
    "probe-lanes",
    "probe-marks",
    "probe-transactions",
    "probe-values",
];

/// Registers of a thread, and bytes of spill stores, of a kernel.
type Cost = (i64, i64);

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (out, words) = match args {
        [flag, file, rest @ ..] if flag == "--out" => (Some(file), rest),
        _ => (None, args),
    };
    let folder = Path::new("target/rewritten");
    let full = crate::root().join(folder);
    if full.exists() {
        fs::remove_dir_all(&full).with_context(|| format!("cannot remove {}", full.display()))?;
    }
    let rewrite = crate::built()?.join("examples/rewrite_all");
    let mut args = vec!["target/rewritten"];
    args.extend(words.iter().map(String::as_str));
    crate::sh(crate::text(&rewrite)?, &args)?;
    if out.is_some() || !words.is_empty() {
        return assemble(&full, out);
    }
    let mut inputs = Inputs::new("ptxas of rewritten modules");
    inputs.path(folder)?;
    stamps::unless_passed("rewritten", &inputs, || assemble(&full, None))
}

/// Assembles every module below `full` and prints the table; writes the whole list to `out`.
fn assemble(full: &Path, out: Option<&String>) -> Result<()> {
    let mut files: Vec<(usize, PathBuf)> = Vec::new();
    for (i, level) in LEVELS.iter().enumerate() {
        for entry in fs::read_dir(full.join(level)).with_context(|| format!("nothing at level {level}"))? {
            files.push((i, entry?.path()));
        }
    }
    let tools = Tools::find()?;
    let ptxas = tools.program("ptxas");
    let said = parallel(&files, |(_, path)| {
        let mut command = Command::new(&ptxas);
        command.arg("-v").arg(format!("-arch={}", target(path)?)).args(["-o", "/dev/null"]).arg(path);
        verbose(&mut command).with_context(|| path.display().to_string())
    })?;
    let mut kernels: BTreeMap<(String, String), [Option<Cost>; LEVELS.len()]> = BTreeMap::new();
    for ((level, path), text) in files.iter().zip(&said) {
        let module = path.file_stem().unwrap_or_default().to_string_lossy().replace('~', "/");
        for (kernel, cost) in costs(text) {
            kernels.entry((module.clone(), kernel)).or_default()[*level] = Some(cost);
        }
    }
    let table = table(&kernels);
    print!("{table}");
    if let Some(file) = out {
        let whole = format!("{}\n{table}\n{}", HEAD.trim_start(), list(&kernels));
        fs::write(crate::root().join(file), whole).with_context(|| format!("cannot write {file}"))?;
    }
    eprintln!("{} modules assembled", files.len());
    Ok(())
}

/// Runs ptxas and returns its standard error, which lists the resources of each kernel.
fn verbose(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{}", text.trim_end());
    }
    Ok(text)
}

/// Parses the output of `ptxas -v` into kernels with their resources.
fn costs(text: &str) -> Vec<(String, Cost)> {
    let mut found = Vec::new();
    let (mut kernel, mut spilt) = (None, 0);
    let number = |line: &str, before: &str| -> Option<i64> {
        line[..line.find(before)?].trim_end().rsplit([' ', ',']).next()?.parse().ok()
    };
    for line in text.lines() {
        if line.contains("Compiling entry function") {
            kernel = line.split('\'').nth(1).map(str::to_owned);
            spilt = 0;
        }
        spilt += number(line, " bytes spill stores").unwrap_or(0);
        if let (Some(n), Some(name)) = (number(line, " registers"), &kernel) {
            found.push((name.clone(), (n, spilt)));
        }
    }
    found
}

const HEAD: &str = "
# Registers of rewritten code

`cargo xtask rewritten --out bench/runs/DATE-registers.md`: every module of the corpus, rewritten at every level
(decisions that can be reconstructed are not recorded), assembled by ptxas 13.0.88 for the target it names. Static
figures; nothing was run. Level `operands` records eight sites, distributed over the module.
";

/// The summary table, one row for each level.
fn table(kernels: &BTreeMap<(String, String), [Option<Cost>; LEVELS.len()]>) -> String {
    let mut out = String::from(
        "| level | kernels | more registers: mean | median | 90 % | most | past 128 | newly spilling | spill bytes |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (level, name) in LEVELS.iter().enumerate().skip(1) {
        let pairs = || kernels.values().filter_map(|k| Some((k[0]?, k[level]?)));
        let mut more: Vec<i64> = pairs().map(|(was, is)| is.0 - was.0).collect();
        more.sort_unstable();
        let at = |part: usize| {
            more.get((more.len() * part / 100).min(more.len().saturating_sub(1))).copied().unwrap_or(0)
        };
        let mean = more.iter().sum::<i64>() as f64 / more.len().max(1) as f64;
        let wide = pairs().filter(|(was, is)| was.0 <= 128 && is.0 > 128).count();
        let spilling = pairs().filter(|(was, is)| was.1 == 0 && is.1 > 0).count();
        let bytes: i64 = pairs().map(|(was, is)| is.1 - was.1).sum();
        let _ = writeln!(
            out,
            "| {name} | {} | {mean:.1} | {} | {} | {} | {wide} | {spilling} | {bytes} |",
            more.len(),
            at(50),
            at(90),
            at(100)
        );
    }
    out
}

/// The table of all kernels.
fn list(kernels: &BTreeMap<(String, String), [Option<Cost>; LEVELS.len()]>) -> String {
    let mut out =
        format!("| module | kernel | {} |\n|---|---|{}\n", LEVELS.join(" | "), "---|".repeat(LEVELS.len()));
    for ((module, kernel), costs) in kernels {
        let cell = |c: &Option<Cost>| match c {
            None => "-".to_owned(),
            Some((n, 0)) => n.to_string(),
            Some((n, spilt)) => format!("{n} ({spilt} B spilt)"),
        };
        let cells: Vec<String> = costs.iter().map(cell).collect();
        let module = module.trim_start_matches("tests/kernels/");
        let _ = writeln!(out, "| {module} | {kernel} | {} |", cells.join(" | "));
    }
    out
}
