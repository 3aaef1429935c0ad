//! Parses tracepoints: `inst:ld.global:end`.

use prlx_isa::operations;

use super::super::ast::{Side, Tracepoint, What};
use super::super::error::{ProbeError, nearest};
use super::super::token::{Part, Token};
use super::{Parsed, Parser};
use prlx_plan::pattern;

/// The kinds of tracepoints: name, syntax, meaning. `docs/probes.md` shows this table.
#[rustfmt::skip]
pub const TRACEPOINTS: &[(&str, &str, &str)] = &[
    ("kernel", "`kernel:begin`, `kernel:NAME:begin`, or with `end`", "At a thread's first instruction, or at every point where it ends."),
    ("func", "`func:NAME:begin` or `func:NAME:end`", "At the entry of a function, or at every point where control leaves it. Kernels are functions, too."),
    ("block", "`block`", "At the start of each basic block."),
    ("loop", "`loop:begin`, `loop:trip` or `loop:end`", "Where control enters a loop, jumps back to its header, or leaves it."),
    ("branch", "`branch`", "Before each conditional branch and each switch (`brx.idx`)."),
    ("decision", "`decision`, or `decision:begin`", "After (or, with `begin`, before) each instruction that computes the predicate of a branch, a guarded instruction or a select."),
    ("inst", "`inst:OPCODE`, `inst:OPCODE:begin` or `inst:OPCODE:end`", "Before each instruction with this opcode; with `end`, after it."),
    ("marker", "`marker:NAME`, or `marker:NAME:begin` and `marker:NAME:end`", "Where a marker begins; with `end`, where it ends: also at `PRLX_SWITCH`, if the region that it ends is the same on all ways to it."),
];

impl Parser<'_> {
    pub(super) fn tracepoint(&mut self) -> Parsed<Tracepoint> {
        if !matches!(self.token, Token::Name(_)) {
            return Err(self.expected("a tracepoint"));
        }
        // The parts of a tracepoint are not tokens. Read them again from the first byte.
        self.lexer.at = self.span.start;
        let parts = self.lexer.parts();
        let start = self.span.start;
        self.span = start..self.lexer.at;
        let parts = parts.map_err(|(why, span)| ProbeError::new(span, why));
        self.advance();
        let parts = parts?;
        let span = start..self.end;
        let (what, side) = tracepoint(&parts)?;
        Ok(Tracepoint { what, side, span })
    }
}

/// The meaning of a tracepoint's parts.
fn tracepoint(parts: &[Part]) -> Parsed<(What, Side)> {
    let whole = parts[0].span.start..parts[parts.len() - 1].span.end;
    let kind = parts[0].text.as_str();
    let Some((_, form, _)) = TRACEPOINTS.iter().find(|k| k.0 == kind) else {
        let error = ProbeError::new(parts[0].span.clone(), format!("unknown tracepoint `{kind}`"));
        return Err(match nearest(kind, TRACEPOINTS.iter().map(|k| k.0)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!(
                "the tracepoints are {}",
                TRACEPOINTS.iter().map(|k| k.0).collect::<Vec<_>>().join(", ")
            )),
        });
    };
    if let Some(empty) = parts[1..].iter().find(|p| p.text.is_empty()) {
        return Err(
            ProbeError::new(empty.span.clone(), "a name is missing here").help(format!("write {form}"))
        );
    }
    let malformed = || ProbeError::new(whole.clone(), format!("malformed `{kind}` tracepoint"));
    let malformed = || malformed().help(format!("write {form}"));
    let side = |part: &Part| match part.text.as_str() {
        "begin" => Ok(Side::Begin),
        "end" => Ok(Side::End),
        other => {
            let error = ProbeError::new(part.span.clone(), format!("unknown side `{other}`"));
            let near = nearest(other, ["begin", "end"]);
            Err(error.help(near.map_or(format!("write {form}"), |near| format!("did you mean `{near}`?"))))
        }
    };
    let is_side = |part: &Part| !part.quoted && matches!(part.text.as_str(), "begin" | "end");
    Ok(match (kind, &parts[1..]) {
        ("kernel", [at]) if is_side(at) => (What::Kernel("*".to_owned()), side(at)?),
        ("kernel", [name, at]) => (What::Kernel(name.text.clone()), side(at)?),
        ("func", [name, at]) => (What::Func(name.text.clone()), side(at)?),
        ("kernel" | "func", [name]) => {
            let name = if is_side(name) { "NAME" } else { &name.text };
            let help = format!("write `{kind}:{name}:begin` or `{kind}:{name}:end`");
            return Err(ProbeError::new(whole, "this tracepoint needs `:begin` or `:end`").help(help));
        }
        ("block", []) => (What::Block, Side::Begin),
        ("loop", [at]) if at.text == "trip" => (What::Trip, Side::Begin),
        ("loop", [at]) => match side(at) {
            Ok(side) => (What::Loop, side),
            Err(error) => return Err(error.help(format!("write {form}"))),
        },
        ("branch", []) => (What::Branch, Side::Begin),
        ("decision", []) => (What::Decision, Side::End),
        ("decision", [at]) => (What::Decision, side(at)?),
        ("inst", [opcode]) => (What::Inst(words(opcode)?), Side::Begin),
        ("inst", [opcode, at]) => (What::Inst(words(opcode)?), side(at)?),
        ("marker", [name]) => (What::Marker(name.text.clone()), Side::Begin),
        ("marker", [name, at]) => (What::Marker(name.text.clone()), side(at)?),
        _ => return Err(malformed()),
    })
}

/// Whether a pattern is the name of an operation of an instruction set.
fn is_operation(name: &str) -> bool {
    operations::has(name, |pattern, known| pattern::matches(pattern.as_bytes(), known.as_bytes()))
}

/// The words of an opcode; empty for `*`.
fn words(opcode: &Part) -> Parsed<Vec<String>> {
    if opcode.text == "*" {
        return Ok(Vec::new());
    }
    let words: Vec<String> = opcode.text.split('.').map(str::to_owned).collect();
    if words.iter().any(String::is_empty) || opcode.quoted {
        let error = ProbeError::new(opcode.span.clone(), "an opcode is a list of words separated by dots");
        return Err(error.help("for example `inst:ld.global`, without quotes"));
    }
    let operation = &words[0];
    if !is_operation(operation) {
        let span = opcode.span.start..opcode.span.start + operation.len();
        let error = ProbeError::new(span, format!("unknown operation `{operation}`"));
        return Err(match nearest(operation, operations::mnemonics()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("docs/ops.md lists the operations"),
        });
    }
    if words[1..].iter().any(|w| w.contains(['*', '?'])) {
        let error = ProbeError::new(opcode.span.clone(), "only the first word of an opcode can be a pattern");
        return Err(error.help("leave a modifier out to match any"));
    }
    Ok(words)
}
