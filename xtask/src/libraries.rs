//! Instruments kernels of CUB, Thrust, libcu++, CUTLASS and flashinfer, and assembles the results:
//! `cargo xtask libraries [--prlx FILE] [--limit SECONDS] [--out FILE] [WORD…]`.
//!
//! [`sources`] lists the sources: ours below [`OURS`], which instantiate the libraries' templates, and
//! examples in CUTLASS's package. nvcc compiles each source to PTX. PRLX instruments each module at every
//! level of [`LEVELS`], and ptxas assembles the original and each result. The task prints a row for each
//! source, and then what was refused or failed, with the reason. Words choose sources by their name, also
//! among those examples of CUTLASS that [`EXAMPLES`] does not list. `--prlx` names a program that is built
//! already. `--out` also writes the tables to a file.
//!
//! # Invariants
//! - The task fails if a source does not compile, a kernel is refused, or ptxas refuses what it accepted
//!   before, unless [`KNOWN`] has that row.
//! - Nothing of the libraries is kept in the repository: pip downloads [`PACKAGES`] into `target/libraries`.
//!   CCCL's headers are those of the CUDA toolkit.
//! - One program runs at a time.
//!
//! # Limitations
//! - It is no part of CI: it downloads 170 MB and compiles for many minutes.
//! - Nothing is executed.
//! - ptxas takes far longer for instrumented code. A call of ptxas that takes longer than the limit is
//!   listed as late. It is no failure, and does not show whether the code is valid.

use crate::setup::Tools;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A package: its pinned name, and what is unpacked of its wheel.
type Package = (&'static str, &'static [&'static str]);

/// Packages on PyPI that contain the sources.
const PACKAGES: [Package; 3] = [
    (
        "nvidia-cutlass==4.2.0.0",
        &[
            "cutlass_library/source/include/",
            "cutlass_library/source/tools/util/include/",
            "cutlass_library/source/examples/",
        ],
    ),
    (
        "flashinfer-python==0.7.4",
        &["flashinfer/data/include/", "flashinfer/data/cccl/", "flashinfer/data/cutlass/"],
    ),
    ("nvidia-curand==10.4.0.35", &["nvidia/cu13/include/"]),
];

/// Folders of headers, below `target/libraries/NAME`. flashinfer has its own CCCL and CUTLASS.
const CUTLASS: [&str; 4] = [
    "nvidia-cutlass/cutlass_library/source/include",
    "nvidia-cutlass/cutlass_library/source/tools/util/include",
    "nvidia-cutlass/cutlass_library/source/examples/common",
    "nvidia-curand/nvidia/cu13/include",
];
const FLASHINFER: [&str; 7] = [
    "flashinfer-python/flashinfer/data/cccl/cub",
    "flashinfer-python/flashinfer/data/cccl/libcudacxx/include",
    "flashinfer-python/flashinfer/data/cccl/thrust",
    "flashinfer-python/flashinfer/data/include",
    "flashinfer-python/flashinfer/data/cutlass/include",
    "flashinfer-python/flashinfer/data/cutlass/tools/util/include",
    "nvidia-curand/nvidia/cu13/include",
];

/// The folder of our sources, one folder for each library.
const OURS: &str = "tests/kernels/libraries";

/// CUTLASS's examples, below `target/libraries`.
const UPSTREAM: &str = "nvidia-cutlass/cutlass_library/source/examples";

/// Examples that a run without words takes, with their targets.
const EXAMPLES: [(&str, &str); 8] = [
    ("15_ampere_sparse_tensorop_gemm/ampere_sparse_tensorop_gemm.cu", "sm_80"),
    ("24_gemm_grouped/gemm_grouped.cu", "sm_80"),
    ("41_fused_multi_head_attention/fused_multihead_attention_fixed_seqlen.cu", "sm_80"),
    ("48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu", "sm_90a"),
    ("62_hopper_sparse_gemm/62_hopper_sparse_gemm.cu", "sm_90a"),
    ("70_blackwell_gemm/70_blackwell_fp16_gemm.cu", "sm_100a"),
    ("cute/tutorial/sgemm_sm80.cu", "sm_80"),
    ("cute/tutorial/hopper/wgmma_tma_sm90.cu", "sm_90a"),
];

/// Levels that every module passes.
const LEVELS: [&str; 4] = ["path", "fingerprint", "events", "operands"];

/// Seconds that a call of prlx or ptxas may take. A call of prlx that takes longer is a failure.
const LIMIT: u64 = 30;

/// Seconds that nvcc may take.
const COMPILE: u64 = 600;

/// The exit code of `timeout` after its limit.
const LATE: i32 = 124;

/// Failures that are known: a part of the source's name, a part of the reason, and why it stays.
const KNOWN: [(&str, &str, &str); 0] = [];

/// A source of kernels.
struct Source {
    library: String,
    /// Its name in the table.
    name: String,
    path: PathBuf,
    arch: String,
}

/// How a program ended.
enum Outcome {
    Passed,
    /// It reached its time limit.
    Late,
    /// It failed, with this message.
    Failed(String),
}

/// A module at one level.
struct Cell {
    kernels: usize,
    outcome: Outcome,
    /// Seconds of ptxas.
    seconds: f64,
}

/// Paths of the programs that the task runs.
struct Programs {
    nvcc: PathBuf,
    ptxas: PathBuf,
    prlx: PathBuf,
    operands: PathBuf,
    /// Seconds for each call of prlx or ptxas.
    limit: u64,
}

/// What was found.
#[derive(Default)]
struct Report {
    rows: String,
    /// How often what was refused, by source, level and reason.
    refused: BTreeMap<(String, String, String), usize>,
}

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (mut prlx, mut out, mut limit, mut words) = (None, None, LIMIT, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--prlx" => prlx = Some(PathBuf::from(value()?)),
            "--out" => out = Some(value()?.clone()),
            "--limit" => limit = value()?.parse().context("--limit takes seconds")?,
            flag if flag.starts_with('-') => bail!("no option {flag}"),
            word => words.push(word.to_owned()),
        }
    }
    let folder = crate::readme::target_dir().join("libraries");
    let tools = Tools::find()?;
    unpack(&tools, &folder)?;
    let sources = sources(&folder, &words)?;
    let programs = programs(&tools, prlx, limit)?;
    let mut report = Report::default();
    print!("{TABLE}");
    for source in &sources {
        let row = row(&programs, &folder, source, &mut report);
        print!("{row}");
        report.rows += &row;
    }
    let (reasons, unknown) = reasons(&report);
    print!("{reasons}");
    if let Some(file) = out {
        let whole = format!("{HEAD}\n{TABLE}{}{reasons}", report.rows);
        fs::write(crate::root().join(&file), whole).with_context(|| format!("cannot write {file}"))?;
    }
    if unknown > 0 {
        bail!("{unknown} failures are not known");
    }
    Ok(())
}

/// Downloads and unpacks what is not there yet.
fn unpack(tools: &Tools, folder: &Path) -> Result<()> {
    let python = tools.python();
    for (pin, parts) in PACKAGES {
        let (name, _) = pin.split_once("==").context("a package without a version")?;
        let to = folder.join(name);
        // A folder whose stamp has the version is whole.
        let stamp = to.join("version");
        if fs::read_to_string(&stamp).is_ok_and(|version| version == pin) {
            continue;
        }
        let wheels = folder.join("wheels").join(name);
        for old in [&to, &wheels] {
            if old.exists() {
                fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
            }
        }
        let pip = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest"];
        crate::sh(crate::text(&python)?, &[&pip[..], &[crate::text(&wheels)?, pin]].concat())?;
        let wheel = fs::read_dir(&wheels)?.flatten().next().context("pip downloaded nothing")?.path();
        let all = [&["-c", UNPACK, crate::text(&wheel)?, crate::text(&to)?], parts].concat();
        crate::corpus::quiet(Command::new(&python).args(all))?;
        fs::write(&stamp, pin).with_context(|| format!("cannot write {}", stamp.display()))?;
    }
    Ok(())
}

/// Unpacks the parts of a wheel whose names begin with one of the given ones.
const UNPACK: &str = "
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if n.startswith(tuple(sys.argv[3:]))])
";

/// The sources that the words choose.
fn sources(folder: &Path, words: &[String]) -> Result<Vec<Source>> {
    let mut all = Vec::new();
    let ours = crate::root().join(OURS);
    for path in files(&ours)? {
        let name = path.strip_prefix(&ours)?.to_string_lossy().into_owned();
        let library = name.split('/').next().unwrap_or_default().to_owned();
        let arch = if name.contains("sm90") { "sm_90a" } else { "sm_80" };
        all.push(Source { library, name, path, arch: arch.to_owned() });
    }
    let upstream = folder.join(UPSTREAM);
    for path in files(&upstream)? {
        let short = path.strip_prefix(&upstream)?.to_string_lossy().into_owned();
        let listed = EXAMPLES.iter().find(|(name, _)| *name == short);
        if words.is_empty() && listed.is_none() {
            continue;
        }
        let arch = listed.map_or_else(|| target(&short), |(_, arch)| arch);
        let name = format!("examples/{short}");
        all.push(Source { library: "cutlass".to_owned(), name, path, arch: arch.to_owned() });
    }
    all.retain(|s| words.is_empty() || words.iter().any(|word| s.name.contains(word.as_str())));
    if all.is_empty() {
        bail!("no source has one of these words: {}", words.join(", "));
    }
    Ok(all)
}

/// The target of an example of CUTLASS, from its name.
fn target(name: &str) -> &'static str {
    let parts = [
        ("sm103", "sm_103a"),
        ("geforce", "sm_120a"),
        ("blackwell", "sm_100a"),
        ("hopper", "sm_90a"),
        ("ada_", "sm_89"),
    ];
    parts.iter().find(|(part, _)| name.contains(part)).map_or("sm_80", |(_, arch)| arch)
}

/// The `.cu` files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|e| e == "cu") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Builds what is missing.
fn programs(tools: &Tools, prlx: Option<PathBuf>, limit: u64) -> Result<Programs> {
    let release = crate::readme::target_dir().join("release");
    let build = ["build", "--release", "--quiet"];
    crate::sh("cargo", &[&build[..], &["-p", "prlx-instrument", "--example", "operands"]].concat())?;
    let prlx = match prlx {
        Some(path) => path,
        None => {
            crate::sh("cargo", &[&build[..], &["-p", "prlx-cli", "--bin", "prlx"]].concat())?;
            release.join("prlx")
        }
    };
    let operands = release.join("examples/operands");
    Ok(Programs { nvcc: tools.program("nvcc"), ptxas: tools.program("ptxas"), prlx, operands, limit })
}

/// Compiles, instruments and assembles a source. Returns its row.
fn row(programs: &Programs, folder: &Path, source: &Source, report: &mut Report) -> String {
    let work = folder.join("ptx").join(source.name.replace('/', "~"));
    let mut row = format!("| {} | {} | {} |", source.library, source.name, source.arch);
    let begun = Instant::now();
    let ptx = work.join("none.ptx");
    let mut note = |level: &str, reason: String, count: usize| {
        *report.refused.entry((source.name.clone(), level.to_owned(), reason)).or_default() += count;
    };
    let made = fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()));
    match made.and_then(|()| compile(programs, folder, source, &ptx)) {
        Ok(Outcome::Passed) => {}
        Ok(Outcome::Late) => note("nvcc", format!("nvcc took more than {COMPILE} s"), 1),
        Ok(Outcome::Failed(why)) => note("nvcc", why, 1),
        Err(error) => note("nvcc", format!("{error:#}"), 1),
    }
    let Ok(text) = fs::read_to_string(&ptx) else {
        return row + " - | - | - | - | - | - | - |\n";
    };
    let compiled = begun.elapsed().as_secs_f64();
    let kernels = text.lines().filter(|line| line.contains(".entry ")).count();
    let bare = assemble(programs, &ptx, &source.arch, kernels);
    let _ = write!(row, " {kernels} | {} |", cell(&bare));
    if let Outcome::Failed(why) = &bare.outcome {
        note("none", format!("ptxas: {why}"), 1);
    }
    for level in LEVELS {
        let to = work.join(format!("{level}.ptx"));
        let (refused, done) = instrument(programs, level, &ptx, &to);
        let unchanged: usize = refused.values().sum();
        refused.into_iter().for_each(|(why, count)| note(level, why, count));
        let passed = match done {
            Outcome::Passed => assemble(programs, &to, &source.arch, kernels.saturating_sub(unchanged)),
            outcome => Cell { kernels: 0, outcome, seconds: 0.0 },
        };
        let _ = write!(row, " {} |", cell(&passed));
        match &passed.outcome {
            Outcome::Failed(why) => note(level, why.clone(), 1),
            Outcome::Late => note(level, format!("late: more than {} s", programs.limit), 1),
            Outcome::Passed => {}
        }
        // Instrumented modules of all sources would take gigabytes.
        let _ = fs::remove_file(&to);
    }
    let _ = writeln!(row, " {compiled:.0} | {:.0} |", begun.elapsed().as_secs_f64());
    row
}

/// A cell of the table.
fn cell(cell: &Cell) -> String {
    match cell.outcome {
        Outcome::Passed => format!("{}, {:.1} s", cell.kernels, cell.seconds),
        Outcome::Late => format!("{}, late", cell.kernels),
        Outcome::Failed(_) => "failed".to_owned(),
    }
}

/// Compiles a source to PTX.
fn compile(programs: &Programs, folder: &Path, source: &Source, ptx: &Path) -> Result<Outcome> {
    if ptx.exists() {
        fs::remove_file(ptx).with_context(|| format!("cannot remove {}", ptx.display()))?;
    }
    let mut command = limited(&programs.nvcc, COMPILE);
    command.args(["-ptx", "-lineinfo", "-std=c++17", "-O3", "-w", "--expt-relaxed-constexpr"]);
    command.arg(format!("-arch={}", source.arch)).arg("-o").arg(ptx);
    let headers: &[&str] = match source.library.as_str() {
        "cutlass" => &CUTLASS,
        "flashinfer" => &FLASHINFER,
        _ => &[],
    };
    for part in headers {
        command.arg("-I").arg(folder.join(part));
    }
    outcome(command.arg(&source.path), "error")
}

/// Instruments a module. Returns the kernels that are unchanged, by reason, and whether a module was written.
fn instrument(
    programs: &Programs,
    level: &str,
    from: &Path,
    to: &Path,
) -> (BTreeMap<String, usize>, Outcome) {
    let mut command;
    if level == "operands" {
        command = limited(&programs.operands, programs.limit);
        command.arg(from).arg(to);
    } else {
        command = limited(&programs.prlx, programs.limit);
        command.args(["instrument", "--level", level]).arg(from).arg("-o").arg(to);
    }
    let mut unchanged = BTreeMap::new();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return (unchanged, Outcome::Failed(format!("cannot run: {error}"))),
    };
    let text = String::from_utf8_lossy(&output.stderr);
    for why in text.lines().filter_map(|line| Some(line.split_once(": unchanged: ")?.1)) {
        *unchanged.entry(why.to_owned()).or_default() += 1;
    }
    let done = match output.status.code() {
        Some(0) => Outcome::Passed,
        Some(LATE) => Outcome::Failed(format!("prlx took more than {} s", programs.limit)),
        _ => Outcome::Failed(format!("refused: {}", message(&text, "error"))),
    };
    (unchanged, done)
}

/// Assembles a module.
fn assemble(programs: &Programs, ptx: &Path, arch: &str, kernels: usize) -> Cell {
    let begun = Instant::now();
    let mut command = limited(&programs.ptxas, programs.limit);
    command.arg(format!("-arch={arch}")).args(["-o", "/dev/null"]).arg(ptx);
    let outcome = match outcome(&mut command, "ptxas") {
        Ok(Outcome::Failed(why)) => Outcome::Failed(format!("ptxas: {why}")),
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed(format!("{error:#}")),
    };
    Cell { kernels, outcome, seconds: begun.elapsed().as_secs_f64() }
}

/// A command that ends after a limit, with the exit code [`LATE`].
fn limited(program: &Path, seconds: u64) -> Command {
    let mut command = Command::new("timeout");
    command.arg(seconds.to_string()).arg(program);
    command
}

/// Runs a command. A failure has the first message that contains a word.
fn outcome(command: &mut Command, word: &str) -> Result<Outcome> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let text = [output.stdout, output.stderr].concat();
    Ok(match output.status.code() {
        Some(0) => Outcome::Passed,
        Some(LATE) => Outcome::Late,
        _ => Outcome::Failed(message(&String::from_utf8_lossy(&text), word)),
    })
}

/// The first line with a word, else the last line, without folders.
fn message(text: &str, word: &str) -> String {
    let line = text.lines().find(|line| line.contains(word)).or(text.lines().last()).unwrap_or("no message");
    let words = line.split(' ').map(|w| w.rsplit_once('/').map_or(w, |(_, name)| name));
    words.collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The table of what was refused, and the number of failures that are not known.
fn reasons(report: &Report) -> (String, usize) {
    let mut unknown = 0;
    let mut out = String::from("\n| file | level | count | reason | known |\n|---|---|---|---|---|\n");
    for ((name, level, reason), count) in &report.refused {
        let known = KNOWN.iter().find(|(file, part, _)| name.contains(file) && reason.contains(part));
        let late = reason.starts_with("late");
        unknown += usize::from(known.is_none() && !late);
        let known = known.map_or(if late { "late" } else { "no" }, |(.., why)| why);
        let _ = writeln!(out, "| {name} | {level} | {count} | {reason} | {known} |");
    }
    if report.refused.is_empty() {
        out = "\nNothing was refused.\n".to_owned();
    }
    (out, unknown)
}

const TABLE: &str = "\
| library | file | target | kernels | ptxas of the original \
| path | fingerprint | events | operands | nvcc s | all s |
|---|---|---|---|---|---|---|---|---|---|---|
";

const HEAD: &str = "\
# Kernels of CUDA libraries

`cargo xtask libraries`: sources of `tests/kernels/libraries`, and examples in CUTLASS's package, compiled by
nvcc 13.0.88, instrumented at every level, and assembled by ptxas 13.0.88. A cell has the instrumented kernels
and the seconds of ptxas. Nothing was run. Level `operands` records eight sites for each kernel.
";
