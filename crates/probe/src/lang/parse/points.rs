//! Tracepoints.

use prlx_isa::ptx::Op;

use super::super::ast::{Side, Tracepoint, What};
use super::super::error::{ProbeError, nearest};
use super::super::token::{Part, Token};
use super::{Parsed, Parser};
use prlx_plan::pattern;

/// The kinds of tracepoints: how each is written, and what it means.
#[rustfmt::skip]
pub const TRACEPOINTS: &[(&str, &str, &str)] = &[
    ("kernel", "`kernel:begin`, `kernel:NAME:begin`, or with `end`", "A thread begins a kernel, or ends: every way out counts."),
    ("func", "`func:NAME:begin` or `func:NAME:end`", "A function is entered or left, kernels among them."),
    ("block", "`block`", "A basic block begins."),
    ("loop", "`loop:begin`, `loop:trip` or `loop:end`", "A loop is entered, gone on with, or left."),
    ("branch", "`branch`", "Before a conditional branch or a switch."),
    ("decision", "`decision`, or `decision:begin`", "After, or before, the instruction that computes a predicate which steers a branch, a guarded instruction or a select."),
    ("inst", "`inst:OPCODE`, `inst:OPCODE:begin` or `inst:OPCODE:end`", "Before an instruction (also without a side), or after it."),
    ("marker", "`marker:NAME`, or `marker:NAME:begin` and `marker:NAME:end`", "A marker begins (also without a side) or ends."),
];

impl Parser<'_> {
    pub(super) fn tracepoint(&mut self) -> Parsed<Tracepoint> {
        if !matches!(self.token, Token::Name(_)) {
            return Err(self.expected("a tracepoint"));
        }
        // Its parts are no tokens: read again from its first byte on.
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

/// What the parts of a tracepoint mean.
fn tracepoint(parts: &[Part]) -> Parsed<(What, Side)> {
    let whole = parts[0].span.start..parts[parts.len() - 1].span.end;
    let kind = parts[0].text.as_str();
    let Some((_, form, _)) = TRACEPOINTS.iter().find(|k| k.0 == kind) else {
        let complaint = ProbeError::new(parts[0].span.clone(), format!("there is no tracepoint `{kind}`"));
        return Err(match nearest(kind, TRACEPOINTS.iter().map(|k| k.0)) {
            Some(near) => complaint.help(format!("did you mean `{near}`?")),
            None => complaint.help(format!(
                "tracepoints are {}",
                TRACEPOINTS.iter().map(|k| k.0).collect::<Vec<_>>().join(", ")
            )),
        });
    };
    if let Some(empty) = parts[1..].iter().find(|p| p.text.is_empty()) {
        return Err(
            ProbeError::new(empty.span.clone(), "a name is missing here").help(format!("write {form}"))
        );
    }
    let malformed = || ProbeError::new(whole.clone(), format!("this is no tracepoint of kind `{kind}`"));
    let malformed = || malformed().help(format!("write {form}"));
    let side = |part: &Part| match part.text.as_str() {
        "begin" => Ok(Side::Begin),
        "end" => Ok(Side::End),
        other => {
            let complaint = ProbeError::new(part.span.clone(), format!("there is no side `{other}`"));
            let near = nearest(other, ["begin", "end"]);
            Err(complaint
                .help(near.map_or(format!("write {form}"), |near| format!("did you mean `{near}`?"))))
        }
    };
    let is_side = |part: &Part| !part.quoted && matches!(part.text.as_str(), "begin" | "end");
    Ok(match (kind, &parts[1..]) {
        ("kernel", [at]) if is_side(at) => (What::Kernel("*".to_owned()), side(at)?),
        ("kernel", [name, at]) => (What::Kernel(name.text.clone()), side(at)?),
        ("func", [name, at]) => (What::Func(name.text.clone()), side(at)?),
        ("kernel" | "func", [name]) => {
            let name = if is_side(name) { "NAME" } else { &name.text };
            let help = format!("`{kind}:{name}:begin` or `{kind}:{name}:end`");
            return Err(ProbeError::new(whole, "is it where it begins or where it ends?").help(help));
        }
        ("block", []) => (What::Block, Side::Begin),
        ("loop", [at]) if at.text == "trip" => (What::Trip, Side::Begin),
        ("loop", [at]) => match side(at) {
            Ok(side) => (What::Loop, side),
            Err(complaint) => return Err(complaint.help(format!("write {form}"))),
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

/// The words of an opcode; none for `*`.
fn words(opcode: &Part) -> Parsed<Vec<String>> {
    if opcode.text == "*" {
        return Ok(Vec::new());
    }
    let words: Vec<String> = opcode.text.split('.').map(str::to_owned).collect();
    if words.iter().any(String::is_empty) || opcode.quoted {
        return Err(ProbeError::new(opcode.span.clone(), "an opcode is words with points between them"));
    }
    let operation = &words[0];
    if !Op::ALL.iter().any(|op| pattern::any(std::slice::from_ref(operation), op.mnemonic())) {
        let span = opcode.span.start..opcode.span.start + operation.len();
        let complaint = ProbeError::new(span, format!("no operation is called `{operation}`"));
        return Err(match nearest(operation, Op::ALL.iter().map(|op| op.mnemonic())) {
            Some(near) => complaint.help(format!("did you mean `{near}`?")),
            None => complaint.help("the operations are in docs/ops.md"),
        });
    }
    if words[1..].iter().any(|w| w.contains(['*', '?'])) {
        let complaint = ProbeError::new(opcode.span.clone(), "only the operation may be a pattern");
        return Err(complaint.help("modifiers that are left out may be anything"));
    }
    Ok(words)
}
