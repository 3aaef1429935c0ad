//! Everything that CI does, as local commands: `cargo xtask TASK`.
//!
//! Each task is one module and one row of [`TASKS`]. `ci` runs the steps of [`CI`] in order.
//!
//! # Invariants
//! A failing task names the command that failed. Tasks change no tracked files, unless their row says so; in
//! CI they change none.

mod amd_corpus;
mod amd_packages;
mod amdgpu;
mod bench;
mod builds;
mod corpus;
mod dist;
mod fuzz;
mod glibc;
mod gpu_bundle;
mod libraries;
mod pictures;
mod ptxas;
mod readme;
mod rewritten;
mod setup;
mod stamps;
mod tidy;
mod wheel;

use anyhow::{Context, Result, bail};
use std::process::{Command, ExitCode};

/// A task: its name, its function, and a line of help.
type Task = (&'static str, fn(&[String]) -> Result<()>, &'static str);

const TASKS: &[Task] = &[
    ("ci", ci, "run everything that CI runs, in its order"),
    ("test", test, "run all tests of the workspace (more arguments go to cargo test)"),
    ("lint", lint, "run rustfmt and clippy, warnings denied"),
    ("doc", docs, "build the API documentation, warnings denied"),
    ("book", book, "build the book of docs/"),
    ("deny", deny, "check licences and sources of all dependencies"),
    ("query", query, "lint the code of the feature `query`, if its files changed"),
    (
        "readme",
        readme::run,
        "paste real output into README.md, docs and examples (--check: fail if it is stale)",
    ),
    ("tidy", tidy::run, "check house rules: crate edges, circles of files, headers, sizes, words, links"),
    ("setup", setup::run, "install the CUDA toolchain and Triton from PyPI into .venv"),
    (
        "field",
        field,
        "run the cases of tests/field and print the table of what is right (--python: those of Triton, from Python)",
    ),
    (
        "corpus",
        corpus::run,
        "compile tests/kernels and examples (--check: compare with the tracked products)",
    ),
    (
        "rewritten",
        rewritten::run,
        "instrument the corpus at every level, assemble it, and print the registers",
    ),
    (
        "builds",
        builds::run,
        "compile the corpus at several optimisation levels, and compare the builds (--level LEVEL, --few, WORD…)",
    ),
    (
        "amd-corpus",
        amd_corpus::run,
        "run the corpus' CUDA kernels as HIP on the CPU device, for AMD's targets (--target NAME, --check, WORD…)",
    ),
    (
        "amd-packages",
        amd_packages::run,
        "instrument kernels of Debian's ROCm packages and print how many are accepted (--objects N, --at-most N, …)",
    ),
    (
        "libraries",
        libraries::run,
        "instrument and assemble kernels of CUB, Thrust, libcu++, CUTLASS and flashinfer (--prlx FILE, --out FILE, WORD…)",
    ),
    ("amdgpu", amdgpu::run, "compare AMD's instructions with LLVM 22 (--words N, --seed N, --all, TARGET…)"),
    ("bench", bench::run, "run benchmarks and print their tables (--keep: into bench/runs)"),
    ("dist", dist::run, "pack programs, preload library, man pages and completions into one archive"),
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
        "fuzz every target for ten seconds (--seconds N; --keep: small inputs into fuzz/corpus; TARGET…)",
    ),
    (
        "wheel",
        wheel::run,
        "build the Python package as a wheel, install it and test it (--check: a quick build; --triton; --torch)",
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

/// Runs a command in the repository root. If it fails, the error quotes it.
pub fn sh(program: &str, args: &[&str]) -> Result<()> {
    sh_with(program, args, &[])
}

/// Runs a command like [`sh`], with additional environment variables.
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

/// A step of CI: its name and its function.
type Step = (&'static str, fn() -> Result<()>);

/// The steps of CI. Tools come first: in CI a test that lacks one fails instead of skipping.
const CI: &[Step] = &[
    ("setup", || setup::run(&[])),
    ("lint", || lint(&[])),
    ("test", || sh("cargo", &["xtask", "test"])), // as README.md has it
    ("wheel", || wheel::run(&["--check".into()])),
    ("doc", || docs(&[])),
    ("book", || book(&[])),
    ("deny", || deny(&[])),
    ("query", || query(&[])),
    ("readme", || readme::run(&["--check".into()])),
    ("pictures", || pictures::run(&[])),
    ("corpus", || corpus::run(&["--check".into()])),
    ("rewritten", || rewritten::run(&[])),
    ("builds", || builds::run(&["--few".into()])),
    ("builds --level events", || builds::run(&["--few".into(), "--level".into(), "events".into()])),
    ("amdgpu", || amdgpu::run(&[])),
    ("amd-corpus", || amd_corpus::run(&["--check".into()])),
    ("fuzz", || fuzz::run(&[])),
];

/// Runs every step and prints how long each took.
fn ci(_: &[String]) -> Result<()> {
    let mut times = Vec::new();
    for (name, step) in CI {
        let begun = std::time::Instant::now();
        step().with_context(|| format!("step `{name}`"))?;
        times.push((*name, begun.elapsed().as_secs()));
    }
    println!("| step | seconds |\n|---|---|");
    times.iter().for_each(|(name, seconds)| println!("| {name} | {seconds} |"));
    println!("| all | {} |", times.iter().map(|(_, s)| s).sum::<u64>());
    Ok(())
}

/// Lints the code of the feature `query` if its files changed. It compiles about 200 packages.
fn query(_: &[String]) -> Result<()> {
    let mut inputs = stamps::Inputs::new("clippy of query");
    QUERY.iter().try_for_each(|path| inputs.path(std::path::Path::new(path)))?;
    stamps::unless_passed("query", &inputs, || {
        let all =
            ["clippy", "--package", "prlx-cli", "--features", "query", "--tests", "--", "--deny", "warnings"];
        sh("cargo", &all)
    })
}

/// The files of the feature `query`.
const QUERY: &[&str] = &[
    "Cargo.lock",
    "crates/cli/src/commands/query.rs",
    "crates/cli/tests/it/query.rs",
    "crates/cli/Cargo.toml",
    "crates/present/src/tables",
];

/// Checks licences, sources and duplicates of all dependencies. Advisories need a network access that CI may
/// not have.
fn deny(_: &[String]) -> Result<()> {
    let tools = setup::Tools::find()?;
    sh(text(&tools.script("cargo-deny"))?, &["--all-features", "check", "bans", "licenses", "sources"])
}

/// Builds the book of `docs`; its links are checked by `tidy`. A warning is a failure: the book lacks text
/// that mdBook takes for HTML.
fn book(_: &[String]) -> Result<()> {
    let tools = setup::Tools::find()?;
    let out = readme::target_dir().join("book");
    let (program, args) = (tools.script("mdbook"), ["build", "docs", "--dest-dir", text(&out)?]);
    let done = Command::new(&program).args(args).current_dir(root()).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    eprint!("{said}");
    if !done.status.success() || said.contains("WARN") {
        bail!("mdbook ended with {}, and may have warned", done.status);
    }
    Ok(())
}

/// A path as text, for a command line.
fn text(path: &std::path::Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Features of the packaged program. Tests, lints and documentation use them too, so that nothing is built
/// twice.
const FULL: [&str; 3] = ["--workspace", "--features", "prlx-cli/full"];

/// Runs all tests. They use the tools of `cargo xtask setup` if these are installed. In CI a missing tool is
/// a failure.
fn test(args: &[String]) -> Result<()> {
    let mut all = vec!["test"];
    all.extend(FULL);
    // No page of the documentation has code that rustdoc tests, and looking for it takes a while.
    let chosen = |arg: &String| ["--test", "--lib", "--bin", "--doc", "--example"].contains(&arg.as_str());
    if !args.iter().any(chosen) {
        all.extend(["--lib", "--bins", "--tests"]);
    }
    all.extend(args.iter().map(String::as_str));
    let mut env = Vec::new();
    let tools = setup::Tools::find();
    if let Ok(tools) = &tools {
        env.push(("PRLX_VENV", text(tools.venv())?));
        if std::env::var_os("CI").is_some() {
            env.push(("PRLX_REQUIRE_TOOLS", "1"));
        }
    }
    sh_with("cargo", &all, &env)
}

/// Builds everything that the tests build, and the native module of the Python package, with the same
/// features. Returns the folder of the programs.
///
/// # Errors
/// When something does not compile.
pub fn built() -> Result<std::path::PathBuf> {
    sh("cargo", &[&["build", "--quiet"], &FULL[..], &["--lib", "--bins", "--tests", "--examples"]].concat())?;
    Ok(readme::target_dir().join("debug"))
}

fn lint(_: &[String]) -> Result<()> {
    sh("cargo", &["fmt", "--all", "--check"])?;
    sh("cargo", &[&["clippy"], &FULL[..], &["--all-targets", "--", "-D", "warnings"]].concat())
}

fn field(args: &[String]) -> Result<()> {
    if args == ["--python"] {
        return wheel::field();
    }
    let all = ["test", "--quiet", "-p", "prlx-cli", "--features", "full", "--test", "it"];
    sh_with("cargo", &[&all[..], &["field::", "--", "--nocapture"]].concat(), &[])
}

fn docs(_: &[String]) -> Result<()> {
    let all = [&["doc"], &FULL[..], &["--no-deps"]].concat();
    sh_with("cargo", &all, &[("RUSTDOCFLAGS", "-D warnings")])
}
