//! Case files: `tests/cases/isa/*.ptx`, with the expected view, control-flow graph and decisions in `*.view`
//! beside it. `BLESS=1` writes the expected files.

use std::fmt::Write;

use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{DefUse, decisions};
use prlx_isa::ptx;

/// Everything about a module as text.
fn dump(source: &str) -> String {
    let (module, diagnostics) = ptx::read(source);
    let mut s = module.to_string();
    for f in &module.functions {
        let graph = Cfg::of(f);
        let mut lines = String::new();
        for l in &graph.loops {
            let kind = if l.irreducible { "irreducible loop" } else { "loop" };
            let _ = writeln!(
                lines,
                "  {kind} {:?} depth {} in {:?}: {:?} latches {:?} exits {:?}",
                l.header,
                l.depth,
                l.parent.map(|p| graph.loops[p].header),
                l.blocks,
                l.latches,
                l.exits
            );
        }
        for d in decisions(f, &DefUse::of(f, &graph)) {
            let _ =
                writeln!(lines, "  decision {:?} {} steers {:?}", d.at, f.regs[d.reg.index()].name, d.steers);
        }
        if !lines.is_empty() {
            let _ = write!(s, "\n{}\n{lines}", f.name);
        }
    }
    if !diagnostics.is_empty() {
        s.push('\n');
    }
    for d in diagnostics {
        let before = source.get(..d.span.start as usize).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let _ = writeln!(s, "line {line}: {}: {:?}", d.message, d.span.of(source));
    }
    s
}

#[test]
fn cases_are_as_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = vec![];
    for path in crate::common::ptx_files(&["tests/cases/isa"]) {
        let source = std::fs::read_to_string(&path).expect("a case is text");
        let got = dump(&source);
        let beside = path.with_extension("view");
        if bless {
            std::fs::write(&beside, got).expect("the case's folder can be written");
            continue;
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if let Some((n, (got, expected))) =
            got.lines().chain([""]).zip(expected.lines().chain([""])).enumerate().find(|(_, (g, e))| g != e)
        {
            wrong.push(format!("{}:{}\n  expected {expected}\n  got      {got}", beside.display(), n + 1));
        } else if got != expected {
            wrong.push(format!("{}: one is longer", beside.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}\nBLESS=1 writes what was got", wrong.join("\n"));
}
