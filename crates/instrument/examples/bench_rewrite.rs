//! How long it takes to write a program into a module, stage by stage: `cargo xtask bench rewrite`, or this
//! example with words that names of kernels or programs contain.
//!
//! Modules are those of `bench/overhead` and `bench/torch`, programs the levels of recording and the tools
//! that have goals. Of each kernel the program that takes longest, in milliseconds of one thread on the
//! processor, and what the same takes on the clock where nothing of it was done before. Prints Markdown.

#[path = "../../../bench/clock.rs"]
mod clock;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use clock::best;
use prlx_instrument::{apply, ptx, rewrite, verify};
use prlx_plan::{Plan, RecordingRequest};
use prlx_probe::tools::TOOLS;
use prlx_trace::kernel::Level;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let programs = programs();
    println!(
        "| kernel | KB | instructions | slowest | read | resolve | lower | verify | all | on the clock, first |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, path) in modules()? {
        let source = fs::read_to_string(&path)?;
        let taken =
            |program: &str| words.iter().all(|w| name.contains(w.as_str()) || program.contains(w.as_str()));
        let rows = programs.iter().filter(|p| taken(p.0)).map(|(of, program)| (*of, row(&source, program)));
        let Some((of, row)) = rows.max_by(|a, b| a.1.all().total_cmp(&b.1.all())) else { continue };
        let Row { stages: [read, resolve, lower, verify], insts, first } = row;
        let [read, resolve, lower, verify, all, first] =
            [read, resolve, lower, verify, row.all(), first].map(|s| format!("{:.2}", s * 1e3));
        let size = source.len() / 1000;
        println!(
            "| {name} | {size} | {insts} | {of} | {read} | {resolve} | {lower} | {verify} | {all} | {first} |"
        );
    }
    Ok(())
}

/// Levels of recording, and tools that have goals.
fn programs() -> Vec<(&'static str, RecordingRequest)> {
    let levels = [Level::Fingerprint, Level::Path, Level::Events]
        .map(|level| (level.name(), RecordingRequest::new(level)));
    let goals = ["block-scheduling", "global-bytes", "tensor-ops", "memory-timeline"];
    let tools = TOOLS.iter().filter(|t| goals.contains(&t.0)).map(|(name, _, text)| {
        (*name, RecordingRequest::of_probe(prlx_probe::program(text).expect("a tool of ours")))
    });
    levels.into_iter().chain(tools).collect()
}

/// The modules of launches at real sizes, by name.
fn modules() -> io::Result<BTreeMap<String, PathBuf>> {
    let mut all = BTreeMap::new();
    for folder in ["overhead", "torch"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench").join(folder);
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "toml") {
                let text = fs::read_to_string(&path)?;
                let module = text.lines().find_map(|l| l.strip_prefix("module = \"")?.strip_suffix('"'));
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                all.extend(module.map(|m| (name, folder.join(m))));
            }
        }
    }
    Ok(all)
}

/// What one program takes in one module, in seconds.
struct Row {
    /// Reading, resolving, lowering, verifying.
    stages: [f64; 4],
    insts: usize,
    /// All of it on the clock, the first time.
    first: f64,
}

impl Row {
    fn all(&self) -> f64 {
        self.stages.iter().sum()
    }
}

fn row(source: &str, program: &RecordingRequest) -> Row {
    let began = Instant::now();
    let whole = rewrite(source, "bench", program, &|_| None).expect("it can be rewritten");
    let first = began.elapsed().as_secs_f64();
    let (module, plan, text) = (&whole.module, &whole.plan, &whole.text);
    let stages = [
        best(|| drop(black_box(prlx_isa::ptx::read(black_box(source))))),
        best(|| drop(black_box(Plan::resolve(program, black_box(module), "bench", &|_| None)))),
        best(|| {
            drop(black_box(apply(
                source,
                &ptx(source, module, black_box(plan)).expect("it was lowered before"),
            )))
        }),
        best(|| verify(source, black_box(text), module, plan).expect("it was verified before")),
    ];
    Row { stages, insts: module.functions.iter().map(|f| f.insts.len()).sum(), first }
}
