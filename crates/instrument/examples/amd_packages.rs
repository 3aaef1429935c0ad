//! Counts how many kernels of real AMD code PRLX instruments, and why it refuses the others.
//!
//! `amd_packages [--objects N] [--largest KIB] [--at-most N] [--levels path,fingerprint] [--verbose]
//! NAME=FOLDER…` reads every file below each folder, instruments the code objects for PRLX's targets, and
//! prints a Markdown row for each name and level, and then the reasons of refusal.
//! `cargo xtask amd-packages` calls it with Debian packages.
//!
//! # Invariants
//! - Objects that are larger than `--largest` are listed. With `--objects`, the objects of a folder that are
//!   taken lie at equal distances in their order, and so do kernels of an object with `--at-most`. Two runs
//!   take the same ones.
//! - The exit code is 1 if an object is not written back byte by byte, if instructions do not have the words
//!   that they were read from, or if PRLX panics.
//!
//! # Limitations
//! Nothing is executed: `cargo xtask amd-corpus` runs instrumented code.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use prlx_isa::amdgpu::Native;
use prlx_isa::amdgpu::object::{CodeObject, is_binary, read};
use prlx_isa::view::{FunctionKind, Module};
use prlx_plan::RecordingRequest;
use prlx_trace::kernel::Level;

/// Threads that instrument.
const JOBS: usize = 2;

/// What is asked of every object.
struct Options {
    /// Most objects of a folder.
    objects: usize,
    /// Largest object, bytes.
    largest: u64,
    /// Most kernels of an object.
    at_most: usize,
    /// Levels to instrument at.
    levels: Vec<Level>,
    /// Prints each refused kernel with its object.
    verbose: bool,
}

/// Counts of a package at a level.
#[derive(Default)]
struct Counts {
    objects: usize,
    instructions: usize,
    taken: usize,
    accepted: usize,
    /// Bytes of the objects before and after.
    bytes: [u64; 2],
    time: Duration,
    refused: BTreeMap<String, usize>,
}

/// What is true of a package at every level.
#[derive(Default)]
struct Facts {
    /// Objects for PRLX's targets.
    objects: usize,
    /// Kernels of the objects that are taken.
    kernels: usize,
    /// Objects for other targets, by the reason.
    unread: BTreeMap<String, usize>,
    /// Objects that differ after they were read and written, instructions whose words differ, and panics.
    broken: Vec<String>,
}

fn main() -> ExitCode {
    let mut options = Options {
        objects: usize::MAX,
        largest: u64::MAX,
        at_most: usize::MAX,
        levels: vec![Level::Path],
        verbose: false,
    };
    let mut packages = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let parsed = match arg.as_str() {
            "--objects" => args.next().and_then(|n| n.parse().ok()).map(|n| options.objects = n),
            "--largest" => args.next().and_then(|n| n.parse::<u64>().ok()).map(|n| options.largest = n << 10),
            "--at-most" => args.next().and_then(|n| n.parse().ok()).map(|n| options.at_most = n),
            "--levels" => args.next().and_then(|l| levels(&l)).map(|l| options.levels = l),
            "--verbose" => {
                options.verbose = true;
                Some(())
            }
            other => other.split_once('=').map(|(name, folder)| {
                packages.push((name.to_owned(), PathBuf::from(folder)));
            }),
        };
        if parsed.is_none() {
            eprintln!(
                "usage: amd_packages [--objects N] [--largest KIB] [--at-most N] [--levels LIST] [--verbose] NAME=FOLDER…"
            );
            return ExitCode::from(2);
        }
    }
    println!(
        "| package | level | code objects | taken | instructions | kernels | taken | accepted | % | size | seconds |\n\
         |---|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut reasons = String::new();
    let mut broken = Vec::new();
    for (name, folder) in &packages {
        let (facts, counts) = package(folder, &options);
        for (level, counts) in options.levels.iter().zip(&counts) {
            println!("{}", row(name, *level, &facts, counts));
            for (reason, count) in &counts.refused {
                reasons += &format!("| {name} | {} | {count} kernels | {reason} |\n", label(*level));
            }
        }
        for (reason, count) in &facts.unread {
            reasons += &format!("| {name} | all | {count} objects | {reason} |\n");
        }
        broken.extend(facts.broken);
    }
    println!("\n| package | level | not instrumented | reason |\n|---|---|---|---|\n{reasons}");
    broken.iter().for_each(|what| eprintln!("{what}"));
    println!(
        "objects not written back as they were read, instructions with other words, panics: {}",
        broken.len()
    );
    ExitCode::from(u8::from(!broken.is_empty()))
}

fn levels(text: &str) -> Option<Vec<Level>> {
    let level = |name| [Level::Path, Level::Fingerprint].into_iter().find(|level| label(*level) == name);
    text.split(',').map(level).collect()
}

/// The name of a level on the command line.
fn label(level: Level) -> &'static str {
    if level == Level::Fingerprint { "fingerprint" } else { level.name() }
}

/// A row of the table.
fn row(name: &str, level: Level, facts: &Facts, counts: &Counts) -> String {
    let share = 100.0 * counts.accepted as f64 / counts.taken.max(1) as f64;
    let size = counts.bytes[1] as f64 / counts.bytes[0].max(1) as f64;
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {share:.2} | {size:.2}x | {:.1} |",
        label(level),
        facts.objects,
        counts.objects,
        counts.instructions,
        facts.kernels,
        counts.taken,
        counts.accepted,
        counts.time.as_secs_f64()
    )
}

/// Files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => out.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => out.push(entry.path()),
            _ => {}
        }
    }
    out.sort();
    out
}

/// Instruments the code objects of a folder. Counts come back for each level.
fn package(folder: &Path, options: &Options) -> (Facts, Vec<Counts>) {
    let mut facts = Facts::default();
    let mut counts: Vec<Counts> = options.levels.iter().map(|_| Counts::default()).collect();
    let listed = list(folder, options.largest, &mut facts);
    let mut chosen: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (path, at) in sample(listed, options.objects) {
        chosen.entry(path).or_default().push(at);
    }
    for (path, chosen) in chosen {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let Ok(images) = read(&bytes) else { continue };
        let next = Mutex::new(chosen.iter());
        let done = Mutex::new((&mut facts, &mut counts));
        std::thread::scope(|scope| {
            for _ in 0..JOBS {
                scope.spawn(|| {
                    loop {
                        let at = next.lock().ok().and_then(|mut next| next.next());
                        let Some(image) = at.and_then(|at| images.get(*at)) else { break };
                        let name = format!("{} {}", path.display(), image.id);
                        let part = one(image.bytes().map_err(|e| e.what), &name, options);
                        if let Ok(mut done) = done.lock() {
                            let (facts, counts) = &mut *done;
                            add(facts, counts, part);
                        }
                    }
                });
            }
        });
    }
    (facts, counts)
}

/// Code objects for PRLX's targets: the file, and the number of the image in it.
fn list(folder: &Path, largest: u64, facts: &mut Facts) -> Vec<(PathBuf, usize)> {
    let mut listed = Vec::new();
    for path in files(folder) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if !is_binary(&bytes) && !bytes.starts_with(b"\x7fELF") {
            continue;
        }
        let Ok(images) = read(&bytes) else { continue };
        for (at, image) in images.iter().enumerate() {
            match &image.target {
                Ok(_) if image.size > largest => {
                    let why = format!("larger than {} KiB, by choice", largest >> 10);
                    *facts.unread.entry(why).or_default() += 1;
                    facts.objects += 1;
                }
                Ok(_) => listed.push((path.clone(), at)),
                Err(why) => *facts.unread.entry(general(why)).or_default() += 1,
            }
        }
    }
    facts.objects += listed.len();
    listed
}

fn add(facts: &mut Facts, counts: &mut [Counts], (part, parts): (Facts, Vec<Counts>)) {
    facts.kernels += part.kernels;
    facts.broken.extend(part.broken);
    part.unread.into_iter().for_each(|(reason, n)| *facts.unread.entry(reason).or_default() += n);
    for (all, part) in counts.iter_mut().zip(parts) {
        all.objects += part.objects;
        all.instructions += part.instructions;
        all.taken += part.taken;
        all.accepted += part.accepted;
        all.time += part.time;
        (0..2).for_each(|i| all.bytes[i] += part.bytes[i]);
        part.refused.into_iter().for_each(|(reason, n)| *all.refused.entry(reason).or_default() += n);
    }
}

/// Instruments an object at each level.
fn one(bytes: Result<&[u8], String>, name: &str, options: &Options) -> (Facts, Vec<Counts>) {
    let mut facts = Facts::default();
    let object = bytes.and_then(|bytes| Ok((bytes, CodeObject::read(bytes).map_err(|e| e.what)?)));
    let (bytes, object) = match object {
        Ok(object) => object,
        Err(why) => {
            facts.unread.insert(general(&why), 1);
            return (facts, Vec::new());
        }
    };
    facts.kernels = object.kernels.len();
    if object.write() != bytes {
        facts.broken.push(format!("{name}: it is not written back as it was read"));
    }
    let kernels = sample(object.kernels.iter().map(|k| k.name.as_str()).collect(), options.at_most);
    let counts = options.levels.iter().map(|level| {
        let done = catch_unwind(AssertUnwindSafe(|| instrument(bytes, &kernels, *level, name, options)));
        done.unwrap_or_else(|_| {
            facts.broken.push(format!("{name}: PRLX panicked at level {}", label(*level)));
            Counts { objects: 1, taken: kernels.len(), ..Counts::default() }
        })
    });
    let counts: Vec<Counts> = counts.collect();
    if let Ok(view) = prlx_isa::amdgpu::read(&object)
        && let Some(what) = other_words(&object, &view)
    {
        facts.broken.push(format!("{name}: {what}"));
    }
    (facts, counts)
}

/// At most so many, at equal distances.
fn sample<T: Clone>(all: Vec<T>, at_most: usize) -> Vec<T> {
    let count = all.len().min(at_most);
    (0..count).filter_map(|i| all.get(i * all.len() / count).cloned()).collect()
}

fn instrument(bytes: &[u8], kernels: &[&str], level: Level, name: &str, options: &Options) -> Counts {
    let begun = Instant::now();
    let mut request = RecordingRequest::new(level);
    if kernels.len() < options.at_most {
        request.filter.kernels = Vec::new();
    } else {
        request.filter.kernels = kernels.iter().map(|name| (*name).to_owned()).collect();
    }
    let mut counts = Counts { objects: 1, taken: kernels.len(), ..Counts::default() };
    counts.bytes[0] = bytes.len() as u64;
    match prlx_instrument::rewrite_object(&prlx_instrument::AmdGpu, bytes, name, &request, &|_| None) {
        Err(e) => {
            counts.refused.insert(general(&e.message), kernels.len());
        }
        Ok(rewrite) => {
            counts.bytes[1] = rewrite.object.map_or(0, |object| object.bytes.len() as u64);
            let chosen: std::collections::HashSet<&str> = kernels.iter().copied().collect();
            for (plan, function) in rewrite.plan.functions.iter().zip(&rewrite.module.functions) {
                let natives = function.insts.iter().filter(|i| i.semantics.native.get::<Native>().is_some());
                counts.instructions += natives.count();
                if function.kind != FunctionKind::Kernel || !chosen.contains(function.name.as_str()) {
                    continue;
                }
                match &plan.skipped {
                    None => counts.accepted += 1,
                    Some(why) => {
                        if options.verbose {
                            eprintln!("{why}: {} of {name}", function.name);
                        }
                        *counts.refused.entry(general(why)).or_default() += 1;
                    }
                }
            }
        }
    }
    counts.time = begun.elapsed();
    counts
}

/// A reason without names, numbers and texts of one kernel.
fn general(why: &str) -> String {
    let mut out = String::new();
    for (i, part) in why.split('`').enumerate() {
        out += if i % 2 == 0 { part } else { "`…`" };
    }
    let word = |word: &str| match word.strip_prefix("0x") {
        Some(_) => "0x…".to_owned(),
        None => word.to_owned(),
    };
    out.split(' ').map(word).collect::<Vec<_>>().join(" ").replace('|', "/")
}

/// Whether the instructions of a view have the bytes of the object, compared by a hash of each function.
fn other_words(object: &CodeObject<'_>, view: &Module) -> Option<String> {
    view.functions.iter().find_map(|function| {
        let natives = || function.insts.iter().filter_map(|inst| inst.semantics.native.get::<Native>());
        let (mut ours, mut theirs) = (DefaultHasher::new(), DefaultHasher::new());
        for native in natives() {
            let words = native.inst.words();
            words.iter().for_each(|word| word.hash(&mut ours));
            let bytes = object.at_address(native.address).unwrap_or_default();
            let bytes = bytes.chunks_exact(4).take(words.len()).filter_map(|word| word.first_chunk());
            bytes.for_each(|word| u32::from_le_bytes(*word).hash(&mut theirs));
        }
        (ours.finish() != theirs.finish()).then(|| format!("{} has other words", function.name))
    })
}
