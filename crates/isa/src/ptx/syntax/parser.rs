//! The lossless parser: a module as ranges of its text.
//!
//! It finds header directives, variables, functions and statements. It does not read operands. Each distinct
//! opcode is split once.
//!
//! # Invariants
//! - It never fails and never panics, whatever the text.
//! - Items, and statements in a body, are in order and do not overlap. Between them are only white space and
//!   comments.
//! - One pass, memory linear in the text, no recursion.
//!
//! # Limitations
//! Nothing is checked beyond what the boundaries need. The assembler judges validity.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::header::header;
use super::scan::{self, End};
use super::tree::{FunctionSyntax, Item, ItemKind, Statement, StatementKind, SyntaxTree, span};
use crate::ptx::opcode::Opcode;
use crate::view::{Diagnostic, FunctionKind};

/// Maximum number of diagnostics, so that a garbage file does not fill memory with them.
const MOST_DIAGNOSTICS: usize = 1000;

/// Diagnostics of items that the end of the text cuts off.
const OPEN_DECLARATION: &str = "a declaration without its `;`";
/// As before, in the header of a function.
const OPEN_HEADER: &str = "a function header without a body or `;`";
/// As before, in a body.
const OPEN_BODY: &str = "the body of a function does not end";

/// The item that the end of `source` cuts off: its line, from 1, and its diagnostic. `None` if the last item
/// is complete. A file that ends between two items looks complete.
pub fn truncation<'d>(source: &str, diagnostics: &'d [Diagnostic]) -> Option<(usize, &'d Diagnostic)> {
    let end = source.trim_end().len();
    let open = |d: &&Diagnostic| [OPEN_DECLARATION, OPEN_HEADER, OPEN_BODY].contains(&d.message.as_str());
    let cut = diagnostics.iter().filter(open).find(|d| d.span.end as usize >= end)?;
    let before = source.get(..cut.span.start as usize).unwrap_or_default();
    Some((before.matches('\n').count() + 1, cut))
}

/// The first thing for which every assembler refuses `source`: its line, from 1, and its diagnostic.
pub fn invalid<'d>(source: &str, diagnostics: &'d [Diagnostic]) -> Option<(usize, &'d Diagnostic)> {
    let first = diagnostics.iter().filter(|d| d.invalid).min_by_key(|d| d.span.start)?;
    let before = source.get(..first.span.start as usize).unwrap_or_default();
    Some((before.matches('\n').count() + 1, first))
}

/// Parses a module.
pub fn parse(source: &str) -> (SyntaxTree<'_>, Vec<Diagnostic>) {
    let mut p = Parser {
        source,
        b: source.as_bytes(),
        m: SyntaxTree { source, ..SyntaxTree::default() },
        diagnostics: vec![],
        known: FxHashMap::default(),
        recent: vec![(0, 0, u32::MAX); RECENT],
    };
    if u32::try_from(source.len()).is_err() {
        p.diagnose(0, 0, "the module is larger than 4 GiB: not read", false);
    } else {
        p.module();
    }
    (p.m, p.diagnostics)
}

/// Entries of the cache of recent opcodes; a power of two.
const RECENT: usize = 512;

struct Parser<'a> {
    source: &'a str,
    b: &'a [u8],
    m: SyntaxTree<'a>,
    diagnostics: Vec<Diagnostic>,
    known: FxHashMap<&'a str, u32>,
    /// By a cheap hash: start, end and number of a recent opcode. The hash map behind it resists provoked
    /// collisions; this cache need not.
    recent: Vec<(u32, u32, u32)>,
}

impl<'a> Parser<'a> {
    /// Adds a reason for which every assembler refuses the module.
    fn refuse(&mut self, start: usize, end: usize, message: &str) {
        self.diagnose(start, end, message, true);
    }

    fn diagnose(&mut self, start: usize, end: usize, message: &str, invalid: bool) {
        if self.diagnostics.len() < MOST_DIAGNOSTICS {
            self.diagnostics.push(Diagnostic {
                span: span(start, end),
                message: message.to_owned(),
                invalid,
            });
        }
    }

    fn module(&mut self) {
        let mut i = 0;
        loop {
            i = scan::trivia(self.b, i);
            if i >= self.b.len() {
                return;
            }
            let (end, kind) = self.item(i);
            let end = end.max(i + 1);
            self.m.items.push(Item { span: span(i, end), kind });
            i = end;
        }
    }

    fn item(&mut self, start: usize) -> (usize, ItemKind) {
        let b = self.b;
        if b[start] != b'.' {
            // LLVM writes a label between sections.
            let colon = scan::name(b, start);
            if colon > start && b.get(colon) == Some(&b':') {
                return (colon + 1, ItemKind::Directive);
            }
            let end = match b[start..].iter().position(|c| matches!(c, b'\n' | b';')) {
                Some(n) if b[start + n] == b';' => start + n + 1,
                Some(n) => start + n,
                None => b.len(),
            };
            // Old compilers wrote debug information this way.
            if !b[start..].starts_with(b"@@DWARF") {
                self.refuse(start, end, "not understood at module level");
            }
            return (end, ItemKind::Unknown);
        }
        let mut i = start;
        loop {
            let end = scan::name(b, i + 1);
            let word = &b[i + 1..end];
            match word {
                b"visible" | b"extern" | b"weak" | b"common" => {
                    i = scan::trivia(b, end);
                    if b.get(i) != Some(&b'.') {
                        return self.variable(start, i);
                    }
                }
                b"entry" => return self.function(start, end, FunctionKind::Kernel),
                b"func" => return self.function(start, end, FunctionKind::Device),
                _ if i > start => return self.variable(start, i),
                b"version" | b"target" | b"address_size" => {
                    return (scan::comma_list(b, end), ItemKind::Directive);
                }
                b"file" => {
                    let end = scan::file(b, end);
                    self.m.files.push(span(start, end));
                    return (end, ItemKind::Directive);
                }
                b"loc" => return (scan::loc(b, end), ItemKind::Directive),
                b"pragma" | b"alias" => return (scan::statement(b, end).at(), ItemKind::Directive),
                b"global" | b"const" | b"shared" | b"local" | b"param" | b"reg" | b"tex" | b"sreg" => {
                    return self.variable(start, i);
                }
                b"section" => {
                    let mut open = end;
                    while open < b.len() && b[open] != b'{' && b[open] != b';' {
                        open = (open + 1).max(scan::trivia(b, open));
                    }
                    return match b.get(open) {
                        Some(b'{') => (scan::braces(b, open), ItemKind::Section),
                        _ => (b.len().min(open + 1), ItemKind::Section),
                    };
                }
                _ => return self.unknown_directive(start, end),
            }
        }
    }

    /// Skips a directive of a later PTX version: up to its `;`, a block in braces, or the next line that
    /// begins with a directive.
    fn unknown_directive(&mut self, start: usize, mut i: usize) -> (usize, ItemKind) {
        let b = self.b;
        let mut last = i;
        loop {
            let next = scan::trivia(b, i);
            let new_line = b[i..next].contains(&b'\n');
            i = next;
            match b.get(i) {
                None => break,
                Some(b'.') if new_line => break,
                Some(b';') => {
                    last = i + 1;
                    break;
                }
                Some(b'{') => return (scan::braces(b, i), ItemKind::Section),
                Some(b'"') => i = scan::string(b, i),
                Some(_) => i = scan::name(b, i).max(i + 1),
            }
            last = i;
        }
        self.diagnose(start, last, "unknown directive", false);
        (last, ItemKind::Directive)
    }

    fn variable(&mut self, start: usize, i: usize) -> (usize, ItemKind) {
        match scan::statement(self.b, i) {
            End::Semicolon(end) => (end, ItemKind::Variable),
            other => {
                self.refuse(start, other.at(), OPEN_DECLARATION);
                (other.at(), ItemKind::Unknown)
            }
        }
    }

    fn function(&mut self, start: usize, after: usize, kind: FunctionKind) -> (usize, ItemKind) {
        let h = header(self.b, after);
        let mut f = FunctionSyntax {
            kind,
            name: h.name,
            returns: h.returns,
            params: h.params,
            ..FunctionSyntax::default()
        };
        if h.name.start == h.name.end {
            self.refuse(start, h.end, "a function without a name");
        }
        if self.b.get(h.end) != Some(&b'{') {
            let end = if self.b.get(h.end) == Some(&b';') { h.end + 1 } else { h.end };
            if end == h.end {
                self.refuse(start, end, OPEN_HEADER);
            }
            return (end, ItemKind::Declaration);
        }
        let first = self.m.statements.len();
        let end = self.statements(h.end + 1);
        f.span = span(start, end);
        f.body = span(h.end, end);
        f.statements = span(first, self.m.statements.len()).start..span(first, self.m.statements.len()).end;
        self.m.functions.push(f);
        (end, ItemKind::Function(span(0, self.m.functions.len() - 1).end))
    }

    /// Parses the statements of a body, from after its `{`. Returns the position after its `}`.
    fn statements(&mut self, mut i: usize) -> usize {
        let b = self.b;
        let mut depth = 1usize;
        loop {
            i = scan::trivia(b, i);
            let Some(c) = b.get(i) else {
                self.refuse(i, i, OPEN_BODY);
                return b.len();
            };
            let start = i;
            let mut opcode = start;
            let mut form = u32::MAX;
            let kind = match c {
                b'{' => {
                    depth += 1;
                    i += 1;
                    StatementKind::Open
                }
                b'}' => {
                    depth -= 1;
                    i += 1;
                    if depth == 0 {
                        return i;
                    }
                    StatementKind::Close
                }
                b'.' => {
                    let end = scan::name(b, i + 1);
                    match &b[i + 1..end] {
                        b"loc" => {
                            i = scan::loc(b, end);
                            StatementKind::Loc
                        }
                        b"file" => {
                            i = scan::file(b, end);
                            self.m.files.push(span(start, i));
                            StatementKind::File
                        }
                        word => {
                            let kind = match word {
                                b"reg" => StatementKind::Reg,
                                b"local" | b"shared" | b"param" | b"global" | b"const" | b"tex" => {
                                    StatementKind::Variable
                                }
                                b"branchtargets" | b"calltargets" | b"callprototype" => StatementKind::Table,
                                _ => StatementKind::Directive,
                            };
                            i = self.end_of_statement(start, end);
                            kind
                        }
                    }
                }
                b'@' => {
                    i = scan::trivia(b, i + 1);
                    if b.get(i) == Some(&b'!') {
                        i = scan::trivia(b, i + 1);
                    }
                    opcode = scan::trivia(b, scan::name(b, i));
                    let end = scan::opcode(b, opcode);
                    form = if end > opcode { self.form(opcode, end) } else { u32::MAX };
                    i = self.end_of_statement(start, end);
                    if form == u32::MAX { StatementKind::Unknown } else { StatementKind::Inst }
                }
                c if scan::is_name(*c) => {
                    let end = scan::opcode(b, i);
                    let colon = if b.get(end) == Some(&b':') { end } else { scan::trivia(b, end) };
                    if b.get(colon) == Some(&b':') {
                        i = colon + 1;
                        StatementKind::Label
                    } else {
                        form = self.form(start, end);
                        i = self.end_of_statement(start, end);
                        StatementKind::Inst
                    }
                }
                _ => {
                    i = self.end_of_statement(start, i).max(start + 1);
                    self.refuse(start, i, "not understood in a function");
                    StatementKind::Unknown
                }
            };
            self.m.statements.push(Statement {
                span: span(start, i),
                opcode: span(0, opcode).end,
                form,
                kind,
            });
        }
    }

    fn end_of_statement(&mut self, start: usize, i: usize) -> usize {
        match scan::statement(self.b, i) {
            End::Semicolon(end) => end,
            End::Brace(mut end) | End::Eof(mut end) => {
                // A statement without `;` ends with its last word, so that the following white space is not
                // part of it.
                while end > i && self.b[end - 1] <= b' ' {
                    end -= 1;
                }
                self.refuse(start, end, "a statement without its `;`");
                end
            }
        }
    }

    /// Number of an opcode in the table.
    fn form(&mut self, start: usize, end: usize) -> u32 {
        let text = &self.b[start..end];
        let slot = hash(text) & (RECENT - 1);
        let (s, e, form) = self.recent[slot];
        if form != u32::MAX && &self.b[s as usize..e as usize] == text {
            return form;
        }
        let text = &self.source[start..end];
        let next = span(0, self.m.forms.len()).end;
        let form = *self.known.entry(text).or_insert(next);
        if form == next {
            self.m.forms.push(Arc::new(Opcode::parse(text)));
        }
        let at = span(start, end);
        self.recent[slot] = (at.start, at.end, form);
        form
    }
}

/// Hash of the length, the first and the last bytes: enough to distinguish most opcodes.
fn hash(text: &[u8]) -> usize {
    let word = |w: &[u8]| w.iter().fold(0u64, |h, c| h << 8 | u64::from(*c));
    let (head, tail) = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(h), Some(t)) => (u64::from_le_bytes(*h), u64::from_le_bytes(*t)),
        _ => (word(text), 0),
    };
    let h = (head ^ tail.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (text.len() as u64).wrapping_mul(0xff51);
    (h >> 40) as usize
}
