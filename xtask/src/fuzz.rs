//! Fuzzes every target of `fuzz/`: `cargo xtask fuzz [--seconds N] [--keep] [TARGET…]`, ten seconds each by
//! default. Without arguments, it does so only if the fuzzed code, the targets or their inputs changed
//! ([`crate::stamps`]).
//!
//! libFuzzer is built with the stable compiler, without a sanitizer: the fuzzed code has hardly any `unsafe`
//! and fails by panicking. A target starts with its inputs in `fuzz/corpus` and with [`SEEDS`]. New inputs go
//! to `fuzz/target/found`. `--keep` merges both folders into few small inputs that reach the same code.
//!
//! # Invariants
//! No tracked file changes without `--keep`. A failing input is left in `fuzz/artifacts`, and the error names
//! it.
//!
//! # Limitations
//! Inputs have at most [`LONGEST`] bytes. Errors that only a sanitizer sees are not found (use
//! `cargo +nightly fuzz run TARGET`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};

use crate::stamps::{self, Inputs};

/// Seconds of a target, unless `--seconds` says otherwise. A release is fuzzed with `--seconds 60` or more.
const SECONDS: u64 = 10;
/// Maximum size of an input, in bytes.
const LONGEST: u32 = 16 << 10;
/// Limits of a target's kept inputs: bytes together, and number.
const KEPT: (u64, usize) = (128 << 10, 256);
/// Test files that targets start with.
const SEEDS: &[(&str, &str)] = &[
    ("ptx_read", "tests/cases"),
    ("amd_object", "tests/kernels/amd"),
    ("image_read", "tests/images"),
    ("trace_read", "tests/traces"),
    ("v1_read", "tests/traces"),
];
/// Limits of one input: seconds, and mebibytes.
const LIMITS: [&str; 2] = ["-timeout=60", "-rss_limit_mb=3072"];
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Coverage instrumentation for libFuzzer, from stable compiler options.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What targets are built from and start with, besides the crates.
const INPUTS: &[&str] = &[
    "fuzz/Cargo.toml",
    "fuzz/Cargo.lock",
    "fuzz/fuzz_targets",
    "fuzz/corpus",
    "tests/cases",
    "tests/images",
    "tests/kernels/amd",
    "tests/traces",
];

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        return fuzz_targets(args);
    }
    let mut inputs = Inputs::new(&format!("{SECONDS} {LONGEST} {LIMITS:?} {FLAGS}"));
    INPUTS.iter().try_for_each(|path| inputs.path(Path::new(path)))?;
    for folder in crates()? {
        inputs.program(&folder)?;
    }
    stamps::unless_passed("fuzz", &inputs, || fuzz_targets(&[]))
}

/// The folders of the crates that the targets fuzz.
fn crates() -> Result<Vec<String>> {
    let dependencies = manifest()?.remove("dependencies");
    let dependencies = dependencies.as_ref().and_then(toml::Value::as_table);
    let path =
        |(_, how): (_, &toml::Value)| how.get("path")?.as_str()?.strip_prefix("../").map(str::to_owned);
    Ok(dependencies.into_iter().flatten().filter_map(path).collect())
}

fn fuzz_targets(args: &[String]) -> Result<()> {
    let (mut seconds, mut keep, mut names) = (SECONDS, false, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                seconds =
                    args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).context("--seconds N")?;
            }
            "--keep" => keep = true,
            name => names.push(name.to_owned()),
        }
    }
    let all = targets()?;
    if let Some(unknown) = names.iter().find(|n| !all.contains(n)) {
        bail!("no target `{unknown}`; there are {}", all.join(", "));
    }
    let names = if names.is_empty() { all } else { names };
    build(&names)?;
    // A core each.
    let next = Mutex::new(names.iter());
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(name) = next.lock().ok().and_then(|mut n| n.next()) {
            match fuzz(name, seconds) {
                Ok(line) => println!("{line}"),
                Err(e) => failed.lock().into_iter().for_each(|mut f| f.push(format!("{e:#}"))),
            }
        }
    };
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            s.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap_or_default();
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    if keep { names.iter().try_for_each(|n| minimise(n)) } else { Ok(()) }
}

/// The names of the targets: the programs of `fuzz/Cargo.toml`.
fn targets() -> Result<Vec<String>> {
    let manifest = manifest()?;
    let bins =
        manifest.get("bin").and_then(toml::Value::as_array).context("fuzz/Cargo.toml has no programs")?;
    Ok(bins.iter().filter_map(|b| b.get("name")?.as_str()).map(str::to_owned).collect())
}

fn manifest() -> Result<toml::Table> {
    Ok(fs::read_to_string(home().join("Cargo.toml"))?.parse()?)
}

fn home() -> PathBuf {
    crate::root().join("fuzz")
}

fn build(names: &[String]) -> Result<()> {
    let mut words = vec!["build", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml"];
    words.extend(["--target", TRIPLE]);
    names.iter().for_each(|n| words.extend(["--bin", n]));
    crate::sh_with("cargo", &words, &[("RUSTFLAGS", FLAGS), ("CARGO_TARGET_DIR", "fuzz/target")])
}

/// The command for a target's program, with its limits.
fn program(name: &str) -> Command {
    let mut command = Command::new(home().join("target").join(TRIPLE).join("release").join(name));
    // Kernels made of a few bytes do nothing: inputs need not begin short.
    command.args(LIMITS).arg("-len_control=0").arg(format!("-max_len={LONGEST}")).current_dir(home());
    command
}

/// The folders of a target's inputs: tracked inputs, and inputs found by earlier runs.
fn inputs(name: &str) -> Result<[PathBuf; 2]> {
    let all = [home().join("corpus").join(name), home().join("target/found").join(name)];
    all.iter().try_for_each(fs::create_dir_all).context("cannot make folders for inputs")?;
    Ok(all)
}

/// Runs a target for some seconds. Returns a line with runs, new inputs and memory.
fn fuzz(name: &str, seconds: u64) -> Result<String> {
    let [kept, found] = inputs(name)?;
    let artifacts = home().join("artifacts").join(name);
    fs::create_dir_all(&artifacts)?;
    let mut command = program(name);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args(["-print_final_stats=1"]).args([&found, &kept]);
    command.args(SEEDS.iter().filter(|(of, _)| *of == name).map(|(_, seeds)| crate::root().join(seeds)));
    let output = command.output();
    let output = output.with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let last: Vec<&str> = said.lines().rev().filter(|l| !l.trim().is_empty()).take(60).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        bail!("{name} fails: the input is in fuzz/artifacts/{name}\n{}", last.join("\n"));
    }
    let stat = |key: &str| {
        let value = said.lines().rev().find_map(|l| l.strip_prefix(key));
        value.map_or("?", str::trim).to_owned()
    };
    let runs = stat("stat::number_of_executed_units:");
    let new = stat("stat::new_units_added:");
    Ok(format!(
        "{name}: {runs} runs in {seconds} s, {new} new inputs, at most {} MiB",
        stat("stat::peak_rss_mb:")
    ))
}

/// Merges tracked and found inputs, and keeps the smallest that fit the limits. An input that once failed
/// reaches no new code after the fix; it stays only under a name of its own, `fixed-WHAT`.
fn minimise(name: &str) -> Result<()> {
    let [kept, found] = inputs(name)?;
    let least = home().join("target/least").join(name);
    if least.exists() {
        fs::remove_dir_all(&least)?;
    }
    fs::create_dir_all(&least)?;
    let output = program(name)
        .args(["-set_cover_merge=1", "-use_counters=0"])
        .args([&least, &kept, &found])
        .output()?;
    if !output.status.success() {
        bail!("{name}: merging its inputs ended with {}", output.status);
    }
    let mut files = files(&least)?;
    files.sort_by_key(|(path, size)| (*size, path.clone()));
    for (path, _) in self::files(&kept)? {
        if !path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("fixed-")) {
            fs::remove_file(path)?;
        }
    }
    let (mut room, mut n) = (KEPT.0, 0);
    for (path, size) in files.iter().take(KEPT.1) {
        let (Some(left), Some(name)) = (room.checked_sub(*size), path.file_name()) else { break };
        fs::copy(path, kept.join(name))?;
        (room, n) = (left, n + 1);
    }
    println!("{name}: {n} of {} inputs kept, {} bytes", files.len(), KEPT.0 - room);
    Ok(())
}

/// Lists the files of a folder with their sizes in bytes.
fn files(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        all.push((entry.path(), entry.metadata()?.len()));
    }
    Ok(all)
}
