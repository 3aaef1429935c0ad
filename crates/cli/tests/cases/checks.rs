//! `--check all` on kernels with one planted fault each (`tests/cases/check`), on their corrected versions,
//! and on the corpus.
//!
//! # Invariants
//! - Under the fair schedule and under hostile ones, a fault gives findings of its check alone, at the lines
//!   that the source marks and at no others.
//! - A corrected kernel gives no findings except notes.
//! - The text that `prlx` prints is in a file beside each case.
//!
//! # Limitations
//! - The number of findings is checked under the fair schedule only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::device_corpus::{Refused, kernels, root};
use libtest_mimic::{Failed, Trial};
use prlx_driver::Job;
use prlx_emu::{Checks, Emulator, Options};
use prlx_present::Style;
use prlx_trace::check::{Check, Finding, Findings, Grade};

/// Seed 0 is the fair schedule; the others split warps, interleave as they please and complete copies late.
const SEEDS: &[u64] = &[0, 1, 7];

/// Runs a launch with every check. A kernel that can't go on has said why.
fn check(job: &Job) -> (Findings, Option<String>) {
    let checks = Checks::all();
    let mut emulator =
        Emulator::new(Options { max_steps: 20_000_000, threads: 1, checks, ..Options::default() });
    let error = prlx_driver::run(&mut emulator, job).err();
    (emulator.take_findings(), error.map(|e| e.to_string()))
}

/// What counts for a case: errors, or for those about notes the notes.
fn counted<'a>(found: &'a Findings, folder: &str) -> Vec<&'a Finding> {
    let notes = folder == Check::Notes.name();
    let counts =
        |f: &&Finding| if notes { f.kind.check() == Check::Notes } else { f.kind.grade() == Grade::Error };
    found.list.iter().filter(counts).collect()
}

/// The folder of a case: the check that finds its fault.
fn folder(path: &Path) -> String {
    path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
}

fn print(found: &Findings) -> String {
    let mut out = Vec::new();
    prlx_present::checks(&mut out, found, &Style::default()).expect("a vector takes what is written");
    String::from_utf8_lossy(&out).into_owned()
}

/// Lines of a source that bear a mark.
fn marked(source: &str, mark: &str) -> BTreeSet<u32> {
    let comment = |l: &str| l.split_once("// ").is_some_and(|(_, c)| c.split_whitespace().any(|w| w == mark));
    (1..).zip(source.lines()).filter(|(_, l)| comment(l)).map(|(n, _)| n).collect()
}

/// The lines of a finding's sides in the case's own source.
fn lines(f: &Finding, file: &str) -> Vec<u32> {
    let line = |s: &prlx_trace::check::Side| {
        let mut source = s.place.iter().flat_map(|p| &p.source);
        source.find(|l| l.file.rsplit('/').next() == Some(file)).map(|l| l.line)
    };
    f.sides.iter().filter_map(line).collect()
}

/// The fault is found, with its lines.
fn bad(path: &Path, seed: u64) -> Result<(), Failed> {
    let mut job = Job::load(path).map_err(|e| e.to_string())?;
    job.config.seed = seed;
    let source = std::fs::read_to_string(path.with_extension("cu"))?;
    let file = path.with_extension("cu").file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut found, error) = check(&job);
    found.sources(&|name| name.ends_with(&file).then(|| source.clone()));
    let text = print(&found);
    let folder = folder(path);
    let (fault, other) = (marked(&source, "FAULT"), marked(&source, "OTHER"));
    let all: BTreeSet<u32> = fault.union(&other).copied().collect();
    if counted(&found, &folder).is_empty() {
        return Err(format!("nothing is found; the run: {error:?}").into());
    }
    for f in counted(&found, &folder) {
        let at = lines(f, &file);
        let whole: BTreeSet<u32> = at.iter().copied().collect();
        let first = at.first().is_some_and(|l| fault.contains(l) || folder == "race" && all.contains(l));
        if f.kind.check().name() != folder || !first || whole != all {
            return Err(format!(
                "lines {at:?} of {}: {fault:?} and {other:?} are marked\n{text}",
                f.kind.name()
            )
            .into());
        }
    }
    if seed == 0 { golden(&path.with_extension("txt"), &text) } else { Ok(()) }
}

fn golden(path: &Path, text: &str) -> Result<(), Failed> {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, text)?;
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    if want == text { Ok(()) } else { Err(format!("not as {} has it:\n{text}", path.display()).into()) }
}

/// Nothing is found.
fn clean(path: &Path, module: &Path, seed: u64) -> Result<(), Failed> {
    let mut job = Job::load(path).map_err(|e| e.to_string())?;
    job.text = std::fs::read_to_string(module)?;
    job.config.seed = seed;
    let (found, error) = check(&job);
    match (counted(&found, &folder(path)).is_empty(), error) {
        (true, None) => Ok(()),
        (_, error) => Err(format!("{error:?}\n{}", print(&found)).into()),
    }
}

/// The launch files of all cases.
fn cases() -> Vec<PathBuf> {
    let entries = |dir: &Path| {
        let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        entries.filter_map(|e| e.ok().map(|e| e.path())).collect::<Vec<_>>()
    };
    let folders = entries(&root().join("tests/cases/check")).into_iter().filter(|p| p.is_dir());
    let mut all: Vec<PathBuf> = folders.flat_map(|d| entries(&d)).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    all.sort();
    all
}

/// One trial for each case, module and seed.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for path in cases() {
        let folder = folder(&path);
        let name = format!("checks/{folder}/{}", path.file_stem().unwrap_or_default().to_string_lossy());
        // Which lanes access memory together is the schedule's choice.
        let seeds = if folder == Check::Notes.name() { &SEEDS[..1] } else { SEEDS };
        for &seed in seeds {
            let launch = path.clone();
            if Check::ALL.iter().any(|c| c.name() == folder) {
                trials.push(Trial::test(format!("{name}/bad/seed={seed}"), move || bad(&launch, seed)));
            }
            let launch = path.clone();
            let module = path.with_extension("good.ptx");
            trials
                .push(Trial::test(format!("{name}/good/seed={seed}"), move || clean(&launch, &module, seed)));
        }
    }
    let refused = Refused::read();
    for k in kernels() {
        let Some(launch) = k.launch.filter(|_| !refused.has(&k.name, &k.target)) else { continue };
        for seed in [SEEDS[0], SEEDS[2]] {
            let (launch, module) = (launch.clone(), k.module.clone());
            let title = format!("checks/{}/{}/seed={seed}", k.name, k.target);
            trials.push(Trial::test(title, move || clean(&launch, &module, seed)));
        }
    }
    assert!(trials.len() > 500, "the cases are gone");
    trials
}
