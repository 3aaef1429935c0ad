//! Compares the machine instructions of AMD with LLVM: `cargo xtask amdgpu --check`.
//!
//! For every target, `crates/isa/examples/amdgpu_words` makes words of all encodings and opcodes, and
//! `llvm-mc --disassemble` reads them: text and length must be equal, and what LLVM refuses must be opaque.
//! Then clang compiles `xtask/src/amdgpu/kernels.c` for the target, and `llvm-objdump`'s text is compared
//! in the same way. The table has words tried, equal, explained and different by target and encoding.
//!
//! `--words N` sets the number of words for each target, `--seed N` their seed, `--all` ignores the stamp.
//! Other words choose targets.
//!
//! # Invariants
//! Differences that [`mod@explained`] does not name fail the check.
//!
//! # Limitations
//! Words that make LLVM crash are counted as explained.

use crate::corpus::parallel;
use crate::stamps::{self, Inputs};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod explained;

use explained::{Case, explained};

const TARGETS: [&str; 6] = ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"];

/// A target with the lanes of its waves. RDNA has both.
#[derive(Clone, Copy)]
struct Mode<'a> {
    target: &'a str,
    lanes: u8,
}

impl Mode<'_> {
    fn of(target: &str) -> Vec<Mode<'_>> {
        let mode = |lanes| Mode { target, lanes };
        if target.starts_with("gfx9") { vec![mode(64)] } else { vec![mode(32), mode(64)] }
    }

    /// LLVM's options for the processor.
    fn options(self) -> Vec<String> {
        let mut all = vec![format!("--mcpu={}", self.target)];
        if self.lanes == 64 && !self.target.starts_with("gfx9") {
            all.push("--mattr=+wavefrontsize64".into());
        }
        all
    }
}

/// Words for each target and number of lanes if no number is given: about a minute for all.
const WORDS: usize = 20_000;

/// Lines that llvm-mc reads at once.
const CHUNK: usize = 4_000;

/// Two `s_nop` with this number separate the words in LLVM's output.
const MARK: u32 = 0xbeef;

/// Differences of a target that are printed.
const SHOWN: usize = 10;

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (mut words, mut seed, mut all, mut chosen) = (WORDS, 1u64, false, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--check" => {}
            "--all" => all = true,
            "--words" => words = rest.next().context("--words N")?.parse().context("--words N")?,
            "--seed" => seed = rest.next().context("--seed N")?.parse().context("--seed N")?,
            target if TARGETS.contains(&target) => chosen.push(target.to_owned()),
            other => bail!("`{other}`: the targets are {}", TARGETS.join(", ")),
        }
    }
    let default = args.iter().all(|arg| arg == "--check");
    if chosen.is_empty() {
        chosen = TARGETS.map(str::to_owned).to_vec();
    }
    if !default || all {
        return check(&chosen, words, seed);
    }
    let mut inputs = Inputs::new("LLVM 22 against the instructions of AMD");
    for path in [
        "crates/isa/src/amdgpu/inst",
        "crates/isa/src/amdgpu/target.rs",
        "crates/isa/examples/amdgpu_words.rs",
        "xtask/src/amdgpu.rs",
        "xtask/src/amdgpu",
    ] {
        inputs.path(Path::new(path))?;
    }
    stamps::unless_passed("amdgpu", &inputs, || check(&chosen, words, seed))
}

/// Counts of one encoding of a target.
#[derive(Default)]
struct Counts {
    tried: usize,
    read: usize,
    equal: usize,
    explained: usize,
    differ: usize,
}

/// A line of `amdgpu_words`.
struct Word {
    encoding: String,
    words: Vec<u32>,
    bytes: usize,
    text: String,
}

fn check(targets: &[String], words: usize, seed: u64) -> Result<()> {
    let program = crate::built()?.join("examples/amdgpu_words");
    let folder = crate::readme::target_dir().join("amdgpu");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let begun = std::time::Instant::now();
    let mut counts: BTreeMap<(String, String), Counts> = BTreeMap::new();
    let mut reasons: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut failed = false;
    for mode in targets.iter().flat_map(|target| Mode::of(target)) {
        let Mode { target, lanes } = mode;
        let mut shown = 0;
        let numbers = [u64::from(lanes), words as u64, seed].map(|number| number.to_string());
        let made = output(Command::new(&program).arg(target).args(numbers), &folder)?;
        let mut compared = random(mode, parse(&made)?, &folder)?;
        compared.extend(kernels(mode, &program, &folder)?);
        for (word, llvm) in &compared {
            let count = counts.entry((format!("{target} {lanes}"), word.encoding.clone())).or_default();
            count.tried += 1;
            count.read += usize::from(word.bytes > 0);
            let ours = (word.bytes > 0).then_some(word.text.as_str());
            if let Some(llvm) = llvm
                && ours == llvm.as_deref()
            {
                count.equal += 1;
                continue;
            }
            let case = Case {
                target,
                encoding: &word.encoding,
                ours,
                llvm: llvm.as_ref().and_then(Option::as_deref),
                crash: llvm.is_none(),
            };
            if let Some(reason) = explained(&case) {
                count.explained += 1;
                *reasons.entry(reason).or_default() += 1;
                continue;
            }
            count.differ += 1;
            failed = true;
            shown += 1;
            if shown <= SHOWN {
                let words: Vec<String> = word.words.iter().map(|word| format!("{word:08x}")).collect();
                let side = |text: Option<&str>| text.unwrap_or("(nothing)").to_owned();
                eprintln!("{target} {}: {}", word.encoding, words.join(" "));
                eprintln!("  PRLX {}\n  LLVM {}", side(ours), side(case.llvm));
            }
        }
    }
    print!("{}", table(&counts));
    println!("\n| words | why they differ from LLVM |\n|---|---|");
    reasons.iter().for_each(|(reason, count)| println!("| {count} | {reason} |"));
    eprintln!("compared in {} s", begun.elapsed().as_secs());
    if failed {
        bail!("instructions differ from LLVM: see above, and the rows of the table");
    }
    Ok(())
}

/// Standard output of a command, through a file: it may be large.
fn output(command: &mut Command, folder: &Path) -> Result<String> {
    let path = folder.join(format!("out-{:?}.txt", std::thread::current().id()));
    let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let status = command.stdout(file).status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn parse(lines: &str) -> Result<Vec<Word>> {
    let one = |line: &str| -> Option<Word> {
        let mut parts = line.split('\t');
        let encoding = parts.next()?.to_owned();
        let words = parts.next()?.split(' ').map(|word| u32::from_str_radix(word, 16).ok());
        let words = words.collect::<Option<Vec<u32>>>()?;
        let bytes = parts.next()?.parse().ok()?;
        Some(Word { encoding, words, bytes, text: parts.next()?.to_owned() })
    };
    lines.lines().map(|line| one(line).with_context(|| format!("amdgpu_words wrote `{line}`"))).collect()
}

/// A word, and what LLVM reads: `None` if it crashes, `Some(None)` if it refuses.
type Compared = (Word, Option<Option<String>>);

/// Compares random words.
fn random(mode: Mode, words: Vec<Word>, folder: &Path) -> Result<Vec<Compared>> {
    let chunks: Vec<&[Word]> = words.chunks(CHUNK).collect();
    let read = parallel(&chunks, |chunk| disassemble(mode, chunk, folder))?;
    Ok(words.into_iter().zip(read.into_iter().flatten()).collect())
}

/// What LLVM reads of each word. Halves the input until no half crashes.
fn disassemble(mode: Mode, words: &[Word], folder: &Path) -> Result<Vec<Option<Option<String>>>> {
    if let Some(read) = disassemble_once(mode, words, folder)? {
        return Ok(read.into_iter().map(Some).collect());
    }
    if words.len() == 1 {
        return Ok(vec![None]);
    }
    let (left, right) = words.split_at(words.len() / 2);
    Ok([disassemble(mode, left, folder)?, disassemble(mode, right, folder)?].concat())
}

/// What LLVM reads of each word: a line with exactly the bytes that we read, or all if we read none. `None`:
/// it crashes.
fn disassemble_once(mode: Mode, words: &[Word], folder: &Path) -> Result<Option<Vec<Option<String>>>> {
    let mark = bytes(&[0xbf80_0000 | MARK]);
    let mut input = String::new();
    for word in words {
        let length = if word.bytes > 0 { word.bytes / 4 } else { word.words.len() };
        let _ = writeln!(input, "{}\n{mark}\n{mark}", bytes(word.words.get(..length).unwrap_or_default()));
    }
    let path = folder.join(format!("in-{:?}.txt", std::thread::current().id()));
    fs::write(&path, input).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new("llvm-mc-22");
    command.args(["--disassemble", "--triple=amdgcn"]).args(mode.options()).arg(&path);
    let output = command.output().context("cannot run llvm-mc-22: `cargo xtask setup` installs it")?;
    // It fails if it refuses a line, and is killed by a signal if it crashes.
    if output.status.code().is_none() {
        return Ok(None);
    }
    // A line that begins with a refused instruction has a warning behind its bracket.
    let errors = String::from_utf8_lossy(&output.stderr);
    let refused: BTreeSet<usize> = errors
        .lines()
        .filter(|line| line.ends_with("warning: invalid instruction encoding"))
        .filter_map(|line| {
            let mut parts = line.rsplitn(5, ':').skip(2);
            let (column, number) = (parts.next()?, parts.next()?);
            (column == "2").then(|| number.parse().ok())?
        })
        .collect();
    let text = String::from_utf8_lossy(&output.stdout);
    let mark = format!("s_nop {MARK:#x}");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.'));
    let mut read = Vec::with_capacity(words.len());
    for at in 0..words.len() {
        let mut found: Vec<&str> = lines.by_ref().take_while(|line| *line != mark).collect();
        lines.next().filter(|line| *line == mark).context("llvm-mc-22 lost a mark")?;
        let first = (!found.is_empty()).then(|| found.remove(0));
        let first = first.filter(|text| !refused.contains(&(3 * at + 1)) && !meaningless(text));
        let longer = words.get(at).is_some_and(|word| word.bytes > 0) && !found.is_empty();
        read.push(first.map(|text| if longer { format!("{text} (and more)") } else { text.to_owned() }));
    }
    Ok(Some(read))
}

/// Text with which LLVM says that an operand is none: a comment, or a register beyond the last.
fn meaningless(text: &str) -> bool {
    let beyond = |part: &str| {
        part.split_once(']').and_then(|(number, _)| number.parse::<u32>().ok()).is_some_and(|last| last > 255)
    };
    (text.contains("/*") && !text.starts_with("s_delay_alu")) || text.split(':').skip(1).any(beyond)
}

/// Bytes in brackets: llvm-mc does not read on from one line to the next.
fn bytes(words: &[u32]) -> String {
    let each = words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:#04x}"));
    format!("[{}]", each.collect::<Vec<String>>().join(","))
}

/// Compiles our kernels and compares their code with the text of llvm-objdump.
fn kernels(mode: Mode, program: &Path, folder: &Path) -> Result<Vec<Compared>> {
    let source = crate::root().join("xtask/src/amdgpu/kernels.c");
    let Mode { target, lanes } = mode;
    let mut all = Vec::new();
    for level in ["-O0", "-O2", "-O3"] {
        let object: PathBuf = folder.join(format!("kernels.{target}.co"));
        let mut clang = Command::new("clang-22");
        clang.args(["-target", "amdgcn-amd-amdhsa", "-nogpulib", level, &format!("-mcpu={target}")]);
        if lanes == 64 && !target.starts_with("gfx9") {
            clang.arg("-mwavefrontsize64");
        }
        let status = clang.arg("-o").arg(&object).arg(&source).status();
        if !status.context("cannot run clang-22: `cargo xtask setup` installs it")?.success() {
            bail!("clang-22 does not compile {} for {target}", source.display());
        }
        let text =
            output(Command::new("llvm-objdump-22").arg("-d").args(mode.options()).arg(&object), folder)?;
        // `TEXT // ADDRESS: WORDS <label>`
        let lines: Vec<(String, String)> = text
            .lines()
            .filter_map(|line| {
                let (text, rest) = line.split_once("//")?;
                let words = rest.split_once(':')?.1.split(['<', ';']).next()?.trim();
                Some((text.trim().to_owned(), words.to_owned()))
            })
            .collect();
        let path = folder.join(format!("code.{target}.txt"));
        let words: Vec<&str> = lines.iter().map(|(_, words)| words.as_str()).collect();
        fs::write(&path, words.join("\n")).with_context(|| format!("cannot write {}", path.display()))?;
        let input = fs::File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let read =
            output(Command::new(program).args([target, &lanes.to_string(), "-"]).stdin(input), folder)?;
        for (word, (text, _)) in parse(&read)?.into_iter().zip(lines) {
            let whole = word.bytes == word.words.len() * 4;
            let text = if whole || word.bytes == 0 { text } else { format!("{text} (length)") };
            all.push((word, Some(Some(text).filter(|text| !text.starts_with(".long")))));
        }
    }
    Ok(all)
}

fn table(counts: &BTreeMap<(String, String), Counts>) -> String {
    let mut text = String::from("| target, lanes | encoding | words | read | equal | explained | differ |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for ((target, encoding), count) in counts {
        let Counts { tried, read, equal, explained, differ } = count;
        let _ =
            writeln!(text, "| {target} | {encoding} | {tried} | {read} | {equal} | {explained} | {differ} |");
    }
    let sum = |field: fn(&Counts) -> usize| counts.values().map(field).sum::<usize>();
    let _ = writeln!(
        text,
        "| all | | {} | {} | {} | {} | {} |",
        sum(|count| count.tried),
        sum(|count| count.read),
        sum(|count| count.equal),
        sum(|count| count.explained),
        sum(|count| count.differ)
    );
    text
}
