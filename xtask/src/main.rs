//! Everything that CI does, as local commands: `cargo xtask TASK`.
//!
//! One task, one module, one row of [`TASKS`]; `ci` runs the rows marked so, in order.
//! Tasks fail with the command that failed; they never change tracked files unless their row says so.

mod bench;
mod builds;
mod corpus;
mod fuzz;
mod gpu_bundle;
mod pictures;
mod ptxas;
mod readme;
mod rewritten;
mod setup;
mod tidy;

use anyhow::{Context, Result, bail};
use std::process::{Command, ExitCode};

/// A task: its name, what runs it, and a line of help.
type Task = (&'static str, fn(&[String]) -> Result<()>, &'static str);

const TASKS: &[Task] = &[
    ("ci", ci, "everything CI runs, in its order"),
    ("test", test, "all tests of the workspace (extra words go to cargo test)"),
    ("lint", lint, "rustfmt and clippy, warnings denied"),
    ("doc", docs, "the API's documentation, warnings denied"),
    ("readme", readme::run, "paste real output into README.md, docs and examples (--check: fail if stale)"),
    ("tidy", tidy::run, "house rules: crate edges, module headers, file sizes"),
    ("setup", setup::run, "install the CUDA toolchain and Triton from PyPI into .venv"),
    (
        "corpus",
        corpus::run,
        "compile tests/kernels and examples again (--check compares with what is tracked)",
    ),
    (
        "rewritten",
        rewritten::run,
        "rewrite the corpus at every level, assemble it, and show what registers that costs",
    ),
    (
        "builds",
        builds::run,
        "compile the corpus at several optimisation levels, and compare the builds (WORD…: only these)",
    ),
    ("bench", bench::run, "run benchmarks and print their tables (--keep: into bench/runs)"),
    ("perfetto", perfetto, "read a timeline back with Perfetto's own trace processor"),
    (
        "gpu-bundle",
        gpu_bundle::run,
        "pack binary, corpus and a script that runs them on a machine with a GPU",
    ),
    (
        "pictures",
        pictures::run,
        "look at the page in a browser and at the viewer on a terminal (--keep: into docs/pictures)",
    ),
    (
        "fuzz",
        fuzz::run,
        "fuzz every target for a minute (--seconds N; --keep: small inputs into fuzz/corpus; TARGET…)",
    ),
    ("ptxas", ptxas::run, "assemble PTX files, or all below folders, with NVIDIA's assembler"),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let task = args.first().and_then(|name| TASKS.iter().find(|(n, ..)| n == name));
    let Some((name, run, _)) = task else {
        eprintln!("usage: cargo xtask TASK\n");
        for (name, _, help) in TASKS {
            eprintln!("  {name:<10} {help}");
        }
        return ExitCode::from(2);
    };
    match run(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command in the repository root; its failure is an error that quotes it.
pub fn sh(program: &str, args: &[&str]) -> Result<()> {
    sh_with(program, args, &[])
}

/// The same with variables in its environment.
fn sh_with(program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let quoted = format!("{program} {}", args.join(" "));
    eprintln!("+ {quoted}");
    let status = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run `{quoted}`"))?;
    if !status.success() {
        bail!("`{quoted}` ended with {status}");
    }
    Ok(())
}

/// The repository root.
pub fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| ".".into(), Into::into)
}

/// Begins with the README's test command; what needs NVIDIA's tools comes after what needs only Rust.
fn ci(_: &[String]) -> Result<()> {
    test(&[])?;
    lint(&[])?;
    docs(&[])?;
    // Building what it brings takes long; that it would build must do.
    sh(
        "cargo",
        &["clippy", "--package", "prlx-cli", "--features", "query", "--tests", "--", "--deny", "warnings"],
    )?;
    readme::run(&["--check".into()])?;
    pictures::run(&[])?;
    setup::run(&[])?;
    perfetto(&[])?;
    corpus::run(&["--check".into()])?;
    rewritten::run(&[])?;
    for more in [&[][..], &["--events"]] {
        builds::run(&more.iter().chain(builds::FEW).map(|w| (*w).to_owned()).collect::<Vec<_>>())?;
    }
    fuzz::run(&[])
}

/// Reads a timeline back with Perfetto's own trace processor.
fn perfetto(_: &[String]) -> Result<()> {
    let tools = setup::Tools::find()?;
    let venv = tools.venv().to_str().context("the environment's path is not UTF-8")?;
    let env = [("PRLX_VENV", venv), ("PRLX_PERFETTO", "required")];
    sh_with("cargo", &["test", "--package", "prlx-present", "--test", "perfetto"], &env)
}

fn docs(_: &[String]) -> Result<()> {
    sh_with("cargo", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])
}

fn test(args: &[String]) -> Result<()> {
    let mut all = vec!["test", "--workspace"];
    all.extend(args.iter().map(String::as_str));
    sh("cargo", &all)
}

fn lint(_: &[String]) -> Result<()> {
    sh("cargo", &["fmt", "--all", "--check"])?;
    sh("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}
