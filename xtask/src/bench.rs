//! Runs the benchmarks, one example program each, and keeps their output: `cargo xtask bench [NAME…] [--keep]
//! [-- WORDS]`.
//!
//! A name also selects its variants (`diff` selects `diff-v1`). Words after `--` go to the programs. `--keep`
//! writes the tables to `bench/runs/DATE-NAME.md`. Notes by hand below the mark in that file are kept. A run
//! names processor and load of the machine, never its name or paths.

use crate::root;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A benchmark: its name, the package whose example `bench_NAME` it is, and the title of its runs.
type Bench = (&'static str, &'static str, &'static str);

const BENCHES: &[Bench] = &[
    ("parse", "prlx-isa", "Reading PTX"),
    ("rewrite", "prlx-instrument", "Rewriting a kernel"),
    ("alu", "prlx-emu", "Data operations"),
    ("emulate", "prlx-cli", "The CPU device"),
    ("emulate-amd", "prlx-cli", "The CPU device with AMD's machine code"),
    ("overhead", "prlx-cli", "What recording costs on the CPU device"),
    ("trace", "prlx-cli", "Recordings in files"),
    ("timeline", "prlx-present", "Timelines of kernels"),
    ("diff", "prlx-analyze", "Decoding and comparing"),
    ("diff-files", "prlx-analyze", "Comparing recordings in files"),
    ("diff-own", "prlx-cli", "Comparing own recordings by fingerprints"),
    ("diff-v1", "prlx-cli", "Comparing recordings of PRLX 0.x"),
    ("diff-drift", "prlx-legacy", "Comparing recordings of PRLX 0.x that drift apart"),
];

/// The mark below which a kept run has notes by hand.
const END: &str = "<!-- end of what `cargo xtask bench` wrote -->\n";

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let split = args.iter().position(|a| a == "--").unwrap_or(args.len());
    let (mine, words) = (&args[..split], args.get(split + 1..).unwrap_or_default());
    let keep = mine.iter().any(|a| a == "--keep");
    let names: Vec<&str> = mine.iter().map(String::as_str).filter(|a| *a != "--keep").collect();
    if let Some(unknown) = names.iter().find(|n| !BENCHES.iter().any(|b| takes(n, b.0))) {
        let known: Vec<&str> = BENCHES.iter().map(|b| b.0).collect();
        bail!("no benchmark `{unknown}`; there are {}", known.join(", "));
    }
    for bench in BENCHES.iter().filter(|b| names.is_empty() || names.iter().any(|n| takes(n, b.0))) {
        one(bench, words, keep)?;
    }
    Ok(())
}

/// Whether a given name selects a benchmark: it or one of its variants.
fn takes(asked: &str, name: &str) -> bool {
    name == asked || name.split_once('-').is_some_and(|(of, _)| of == asked)
}

fn one(&(name, package, title): &Bench, words: &[String], keep: bool) -> Result<()> {
    let example = format!("bench_{name}");
    let what = ["--release", "--quiet", "-p", package, "--example", &example];
    // Some measure the program itself.
    crate::sh("cargo", &[&["build", "--bins"], &what[..]].concat())?;
    let load = load();
    let mut command = Command::new("cargo");
    command.arg("run").args(what).arg("--").args(words).current_dir(root()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot run {example}"))?;
    if !output.status.success() {
        bail!("{example} ended with {}", output.status);
    }
    let tables = String::from_utf8(output.stdout).context("its tables are not text")?;
    print!("{tables}");
    if keep {
        let date = said("date", &["-u", "+%Y-%m-%d"])?;
        let path = format!("bench/runs/{date}-{name}.md");
        let head = format!("# {title}, {date}\n\n`cargo xtask bench {name}`. {}\n", machine(&load)?);
        save(&root().join(&path), &format!("{head}\n{tables}"))?;
        eprintln!("kept {path}");
    }
    Ok(())
}

/// Writes the run. The notes below the mark of an existing file are kept.
fn save(path: &Path, run: &str) -> Result<()> {
    let old = fs::read_to_string(path).unwrap_or_default();
    let notes = old.split_once(END).map_or("", |(_, notes)| notes);
    fs::write(path, format!("{run}\n{END}{notes}"))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the output of a program without its last newline.
fn said(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the load average over one minute, if the system reports it.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .filter(|w| !w.is_empty())
        .map_or("load unknown".into(), |n| format!("load {n} before"))
}

/// Describes processor, compiler and commit.
fn machine(load: &str) -> Result<String> {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        let line = info.lines().find(|l| l.starts_with(key));
        line.and_then(|l| l.split_once(':')).map_or("", |(_, v)| v.trim())
    };
    let model = match of("model name") {
        "" => "unknown processor",
        name => name,
    };
    let flags = of("flags");
    let simd =
        [("avx512bw", "AVX-512"), ("avx2", "AVX2")].iter().find(|(f, _)| flags.split(' ').any(|w| w == *f));
    let simd = simd.map_or("no AVX2", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rustc = said("rustc", &["--version"])?;
    let rust = rustc.split(' ').nth(1).unwrap_or("unknown").to_owned();
    let commit = said("git", &["rev-parse", "--short", "HEAD"])?;
    let changed = if said("git", &["status", "--porcelain", "--", "crates"])?.is_empty() {
        ""
    } else {
        " with changes"
    };
    Ok(format!(
        "Machine: {cores} cores of an {model} ({simd}), {load}; Rust {rust}, release. Commit {commit}{changed}.\n\
         Times are processor time of one thread where a table does not say otherwise. Other work on the machine disturbs them; by how \
         much was not measured."
    ))
}
