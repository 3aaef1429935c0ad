//! `docs/ops.md` says what the tables and the corpus say. `BLESS=1` writes it.
//!
//! Every instruction of every module is decoded as a launch would decode it (`prlx_emu::unsupported`), so
//! that what the page says of a form is what happens to it; and `coverage.rs` must not refuse what that shows
//! to run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::corpus::{Refused, kernels, root};
use libtest_mimic::Trial;
use prlx_driver::Job;
use prlx_emu::testing::{Coverage, coverage, tests};
use prlx_emu::unsupported;
use prlx_isa::ptx::{Op, opcode, read};
use prlx_isa::view::{FuncId, FunctionKind, InstId};

const WIDTH: usize = 116;

/// What the corpus shows of one opcode as written.
#[derive(Default)]
struct Form {
    runs: usize,
    /// Whether a launch that tests run has it.
    tested: bool,
    /// How often each reason refuses the form.
    refused: BTreeMap<String, usize>,
}

/// What it shows of one operation.
#[derive(Default)]
struct Seen {
    forms: BTreeMap<String, Form>,
    /// Kernels that run under test and have it.
    kernels: BTreeSet<String>,
}

/// Everything that the page needs to know of the corpus.
#[derive(Default)]
struct Corpus {
    modules: usize,
    kernels: BTreeSet<String>,
    ops: BTreeMap<Op, Seen>,
    /// Opcodes that the table lacks.
    unknown: BTreeSet<String>,
}

impl Corpus {
    fn module(&mut self, path: &Path) {
        let source = std::fs::read_to_string(path).expect("a module of the corpus");
        let (module, _) = read(&source);
        let ids: Vec<FuncId> = (0..module.functions.len() as u32).map(FuncId).collect();
        let refusals: BTreeMap<(FuncId, InstId), String> = unsupported(&module, &source, &ids)
            .into_iter()
            .flatten()
            .filter_map(|r| Some(((r.function, r.inst?), r.why)))
            .collect();
        for (f, function) in module.functions.iter().enumerate() {
            for (i, inst) in function.insts.iter().enumerate() {
                let Some(op) = opcode(inst).op else {
                    self.unknown.insert(inst.semantics.opcode.clone());
                    continue;
                };
                let form =
                    self.ops.entry(op).or_default().forms.entry(inst.semantics.opcode.clone()).or_default();
                match refusals.get(&(FuncId(f as u32), InstId(i as u32))) {
                    Some(why) => *form.refused.entry(why.clone()).or_default() += 1,
                    None => form.runs += 1,
                }
            }
        }
        self.modules += 1;
    }
    /// A launch that tests run: its kernel, and the device functions beside it.
    fn launch(&mut self, name: &str, path: &Path, text: Option<&Path>) {
        let job = Job::load(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let source = text.map_or(job.text, |p| std::fs::read_to_string(p).expect("a module of the corpus"));
        let (module, _) = read(&source);
        let root = module.functions.iter().position(|f| f.name == job.kernel).expect("the launch's kernel");
        let refused = unsupported(&module, &source, &[FuncId(root as u32)]).concat();
        assert!(refused.is_empty(), "{name} is not in refused.txt, but: {refused:?}");
        self.kernels.insert(name.to_owned());
        let here = module.functions.iter().filter(|f| f.name == job.kernel || f.kind == FunctionKind::Device);
        for inst in here.flat_map(|f| &f.insts) {
            let Some(op) = opcode(inst).op else { continue };
            let seen = self.ops.entry(op).or_default();
            seen.kernels.insert(name.to_owned());
            seen.forms.entry(inst.semantics.opcode.clone()).or_default().tested = true;
        }
    }
    fn gather() -> Corpus {
        let mut all = Corpus::default();
        let refused = Refused::read();
        for k in kernels() {
            all.module(&k.module);
            if let Some(launch) = k.launch.filter(|_| !refused.has(&k.name, &k.target)) {
                all.launch(&k.name, &launch, Some(&k.module));
            }
        }
        for path in examples() {
            match path.extension().and_then(|e| e.to_str()) {
                Some("ptx") => all.module(&path),
                Some("toml") if !path.ends_with("expect.toml") => {
                    let folder =
                        path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
                    all.launch(&format!("examples/{folder}"), &path, None);
                }
                _ => {}
            }
        }
        all
    }
}

/// Every file of the examples.
fn examples() -> Vec<PathBuf> {
    let files = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default()
    };
    let mut all: Vec<PathBuf> = files(&root().join("examples")).iter().flat_map(|d| files(d)).collect();
    all.sort();
    all
}

/// The line of documentation without the section, and the section's chapter.
fn doc(op: Op) -> (&'static str, &'static str) {
    let text = op.doc().trim().trim_end_matches('.');
    let Some((does, section)) = text.rsplit_once(" (PTX ISA, ") else { return (text, "Other") };
    (does, section.rsplit_once(": ").map_or(section, |(chapter, _)| chapter))
}

fn page(corpus: &Corpus) -> String {
    let none = Seen::default();
    let seen = |op: Op| corpus.ops.get(&op).unwrap_or(&none);
    let count = |f: fn(Coverage) -> bool| Op::ALL.iter().filter(|&&op| f(coverage(op))).count();
    let forms =
        |f: fn(&Form) -> bool| corpus.ops.values().flat_map(|s| s.forms.values()).filter(|x| f(x)).count();
    let mut out = String::from(HEAD);
    let _ = write!(
        out,
        "{} operations run, {} are hints without effect, {} are refused. The {} modules of `tests/kernels`\n\
         and `examples` have {} forms of {} operations: {} run ({} of them in launches that tests run),\n\
         {} are refused, {} run or not by their operands. {} kernels run under test.\n",
        count(|c| matches!(c, Coverage::Runs(_))),
        count(|c| c == Coverage::Hint),
        count(|c| c == Coverage::Refused),
        corpus.modules,
        forms(|_| true),
        corpus.ops.values().filter(|s| !s.forms.is_empty()).count(),
        forms(|f| f.refused.is_empty()),
        forms(|f| f.refused.is_empty() && f.tested),
        forms(|f| f.runs == 0),
        forms(|f| f.runs > 0 && !f.refused.is_empty()),
        corpus.kernels.len(),
    );
    if !corpus.unknown.is_empty() {
        let list: Vec<String> = corpus.unknown.iter().map(|t| format!("`{t}`")).collect();
        let _ = writeln!(out, "\nNot in the table: {}.", list.join(", "));
    }
    let mut chapters: Vec<&str> = Vec::new();
    for &op in Op::ALL {
        if !chapters.contains(&doc(op).1) {
            chapters.push(doc(op).1);
        }
    }
    for chapter in chapters {
        let ops: Vec<Op> = Op::ALL.iter().copied().filter(|&op| doc(op).1 == chapter).collect();
        let _ = writeln!(out, "\n## {chapter}\n");
        out += "| operation | what it does | operands | CPU device | tests | run | refused | kernels |\n";
        out += "|---|---|---|---|---|--:|--:|--:|\n";
        for &op in &ops {
            let does = match coverage(op) {
                Coverage::Runs("") => "runs".into(),
                Coverage::Runs(limits) => format!("runs: {limits}"),
                Coverage::Hint => "no effect".into(),
                Coverage::Refused => "refused".into(),
            };
            let roles: Vec<String> = op.roles().iter().map(|r| format!("{r:?}").to_lowercase()).collect();
            let refused = seen(op).forms.values().filter(|f| !f.refused.is_empty()).count();
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {does} | {} | {} | {refused} | {} |",
                op.mnemonic(),
                doc(op).0.replace('|', "\\|"),
                roles.join(" "),
                tests(op).join(", "),
                seen(op).forms.len() - refused,
                seen(op).kernels.len(),
            );
        }
        listing(&mut out, &ops, &seen);
    }
    out += "\n## Tests of single operations\n\n`crates/emu/tests/it`:\n\n| file | reference of the tests |\n|---|---|\n";
    let files: BTreeSet<&str> = named().map(|(file, _)| file).collect();
    for file in files {
        let text = test_file(file);
        let head: Vec<&str> = text.lines().map_while(|l| l.strip_prefix("//! ")).collect();
        let _ = writeln!(out, "| `{file}` | {} |", head.join(" ").replace('|', "\\|"));
    }
    out
}

/// Every test that [`tests`] names: its file, its function.
fn named() -> impl Iterator<Item = (&'static str, &'static str)> {
    Op::ALL.iter().flat_map(|&op| tests(op)).filter_map(|t| t.split_once("::"))
}

fn test_file(name: &str) -> String {
    let path = root().join(format!("crates/emu/tests/it/{name}.rs"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The forms that occur, and those of them that are refused.
fn listing<'a>(out: &mut String, ops: &[Op], seen: &dyn Fn(Op) -> &'a Seen) {
    let mut lines = Vec::new();
    for &op in ops.iter().filter(|&&op| !seen(op).forms.is_empty()) {
        let mut line = format!("{:<10}", op.mnemonic());
        for (text, form) in &seen(op).forms {
            let rest = text.strip_prefix(op.mnemonic()).filter(|r| !r.is_empty()).unwrap_or("(plain)");
            let rest = if form.tested || form.runs == 0 { rest.to_owned() } else { format!("{rest}*") };
            if line.len() + 1 + rest.len() > WIDTH && line.len() > 11 {
                lines.push(std::mem::replace(&mut line, " ".repeat(10)));
            }
            line = format!("{line} {rest}");
        }
        lines.push(line);
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "\nForms that occur:\n\n```text\n{}\n```", lines.join("\n"));
    }
    let mut rows = String::new();
    for (text, form) in ops.iter().flat_map(|&op| &seen(op).forms) {
        for (why, n) in &form.refused {
            let of = form.runs + form.refused.values().sum::<usize>();
            let _ = writeln!(rows, "| `{text}` | {n} of {of} | {} |", why.replace('|', "\\|"));
        }
    }
    if !rows.is_empty() {
        let _ = write!(out, "\nRefused of them:\n\n| form | instructions | why |\n|---|--:|---|\n{rows}");
    }
}

const HEAD: &str = "\
# Operations and the CPU device's coverage

Every PTX operation that PRLX knows, by chapter of the PTX ISA, and how the CPU device executes it. The
CPU device refuses a kernel before launch if the kernel can reach an operation that it cannot execute. The
message names the instruction and the line. `prlx inspect FILE` reports the same for any module.

Columns:

- *operands*: `def` is written, `use` is read, `addr` is an address, `target` is code. The last one repeats.
- *tests*: tests of the operation alone against an independent reference, listed at the end of this page.
- *run*, *refused*: the number of forms (opcodes as written) in this repository's kernels that run or are
  refused.
- *kernels*: kernels with the operation that run under test against references of their own.

A form marked `*` runs but occurs in no launch of a test.

Written by `BLESS=1 cargo test -p prlx-emu --test cases ops/` from `crates/isa/src/ptx/ops.rs`,
`crates/emu/src/decode/coverage.rs` and those kernels.

";

/// The two trials of the page.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("ops/the tests that the page names exist", || {
            tests_exist();
            Ok(())
        }),
        Trial::test("ops/the page is up to date", || {
            page_is_current();
            Ok(())
        }),
    ]
}

/// Every test that the page names exists, and every operation that runs is tested.
fn tests_exist() {
    for (file, function) in named() {
        let text = test_file(file);
        assert!(
            text.contains(&format!("#[test]\nfn {function}() {{")),
            "there is no test {file}::{function}"
        );
    }
    let corpus = Corpus::gather();
    for &op in Op::ALL.iter().filter(|&&op| matches!(coverage(op), Coverage::Runs(_))) {
        let runs = corpus.ops.get(&op).is_some_and(|s| !s.kernels.is_empty());
        assert!(runs || !tests(op).is_empty(), "nothing tests `{}`", op.mnemonic());
    }
}

/// The page is what the tables and the corpus give.
fn page_is_current() {
    let corpus = Corpus::gather();
    assert!(corpus.modules > 100, "the corpus is gone");
    for (op, seen) in &corpus.ops {
        let runs = seen.forms.values().any(|f| f.runs > 0);
        assert!(
            !runs || coverage(*op) != Coverage::Refused,
            "`{}` runs: coverage.rs refuses it",
            op.mnemonic()
        );
    }
    let path = root().join("docs/ops.md");
    let want = page(&corpus);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, want).expect("docs/ops.md can be written");
        return;
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == want, "docs/ops.md is stale: BLESS=1 writes it again");
}
