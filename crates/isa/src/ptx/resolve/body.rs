//! The body of one function: from statements to instructions.
//!
//! # Invariants
//! - Instructions are in source order.
//! - A name refers to what its scope declares.
//! - A block begins at every label that something names, and after every instruction that can transfer
//!   control or end the thread.
//!
//! # Limitations
//! Of two labels with the same name in one scope, the later one counts; the diagnostics name it.

use std::sync::Arc;

use super::builder::{Builder, before_semicolon};
use super::effects;
use super::inline_assembly::InlineAssembly;
use super::labels::{Label, label_name, label_scopes, mark_named};
use super::markers::placed;
use super::operands::Reader;
use super::scopes::Meaning;
use super::semantics;
use crate::ptx::syntax::tree::{FunctionSyntax, Statement, StatementKind, span};
use crate::ptx::syntax::{declaration, scan};
use crate::view::{self, FuncId, Guard, Inst, InstId, Marker, MarkerKind, PassedBy, Span, Type};

impl<'a> Builder<'_, 'a> {
    /// Reads the body of `f` into `out`, whose parameters are declared already.
    pub(super) fn body(&mut self, f: &FunctionSyntax, id: FuncId, out: &mut view::Function) {
        let m = self.m;
        let scopes = label_scopes(m, f);
        let mut labels: Vec<Label> = vec![Label::default(); scopes.labels.iter().map(Vec::len).sum()];
        let mut stack = vec![0usize];
        let mut opened = 0usize;
        let mut next_label = 0usize;
        let mut loc = None;
        let mut assembly = InlineAssembly::of(m.source, f.span);
        let mut marks = vec![];
        for (name, n) in &scopes.labels[0] {
            self.names.declare_label(name, *n);
        }
        // Reserved at once: a vector that grows touches twice the memory.
        out.insts.reserve_exact(m.body(f).iter().filter(|s| s.kind == StatementKind::Inst).count());
        for statement in m.body(f) {
            let scope = stack.last().copied().unwrap_or(0);
            match statement.kind {
                StatementKind::Open => {
                    opened += 1;
                    stack.push(opened);
                    self.names.open();
                    for (name, n) in &scopes.labels[opened] {
                        self.names.declare_label(name, *n);
                    }
                }
                StatementKind::Close => {
                    stack.pop();
                    self.names.close();
                }
                StatementKind::Label => {
                    let name = label_name(m, statement);
                    if self.names.label(name).is_some_and(|last| last as usize != next_label) {
                        self.refuse(
                            statement.span,
                            &format!("the label `{name}` is declared twice in this scope"),
                        );
                    } else if self.names.is_declared_here(name) {
                        self.refuse(statement.span, &format!("`{name}` is a label and a variable"));
                    }
                    labels[next_label].at = span(0, out.insts.len()).end;
                    if let Some((kind, mark)) = MarkerKind::of_label(name) {
                        let at = InstId(labels[next_label].at);
                        let payload = self.payload(&out.insts);
                        let passed_by = PassedBy::All;
                        marks.push((
                            next_label,
                            Marker { kind, name: mark.to_owned(), at, passed_by, guard: None, payload, loc },
                        ));
                    }
                    next_label += 1;
                }
                StatementKind::Table => {
                    if let Some(label) = next_label.checked_sub(1) {
                        let table = self.table(statement);
                        for n in &table {
                            labels[*n as usize].named = true;
                        }
                        labels[label].table = Some(table);
                    }
                }
                StatementKind::Loc => {
                    if assembly.first_of_block(statement.span.start) {
                        loc = self.loc(statement.span).or(loc);
                    }
                }
                StatementKind::Reg => self.registers(statement, scopes.ends[scope]),
                StatementKind::Variable => self.local(statement, id),
                StatementKind::Inst => {
                    let mut inst = self.instruction(statement, out, scopes.ends[scope]);
                    inst.loc = loc;
                    mark_named(&inst.operands, &mut labels);
                    out.insts.push(inst);
                }
                StatementKind::File | StatementKind::Directive | StatementKind::Unknown => {}
            }
        }
        out.regs = std::mem::take(&mut self.names.regs);
        out.markers =
            marks.into_iter().filter_map(|(n, mark)| placed(n, mark, &labels, &out.insts)).collect();
        self.blocks(out, &labels, f.span);
    }

    /// Labels that a `.branchtargets` lists.
    fn table(&self, statement: &Statement) -> Vec<u32> {
        let text = self.m.text(statement.span);
        let Some(list) = text.strip_prefix(".branchtargets") else { return vec![] };
        let b = list.as_bytes();
        let mut labels = vec![];
        let mut i = 0;
        loop {
            i = scan::trivia(b, i);
            let end = scan::name(b, i);
            if end == i {
                return labels;
            }
            labels.extend(list.get(i..end).and_then(|name| self.names.label(name)));
            i = scan::trivia(b, end);
            if b.get(i) != Some(&b',') {
                return labels;
            }
            i += 1;
        }
    }

    fn registers(&mut self, statement: &Statement, scope_end: u32) {
        let scan_end = before_semicolon(self.m, statement.span);
        let d = declaration::read(self.m.source, statement.span.start as usize, scan_end);
        if d.end < scan_end {
            self.refuse(statement.span, "text behind the last name of a declaration");
        }
        if !d.typed {
            self.refuse(statement.span, "registers need a type, as `.b32`");
        }
        let scope = Span { start: statement.span.end, end: scope_end };
        for one in &d.declarators {
            match one.family {
                Some(count) => self.names.family(one.name, count, d.ty, d.lanes, scope),
                None => {
                    self.names.vector(one.name, d.ty, d.lanes, scope);
                }
            }
        }
        self.refuse_duplicates(statement.span);
    }

    /// Declares a variable of the body.
    fn local(&mut self, statement: &Statement, id: FuncId) {
        let end = before_semicolon(self.m, statement.span);
        for (symbol, init, unit, dims) in self.variables(statement.span, end, Some(id)) {
            self.initial(symbol, init, unit, &dims);
        }
        self.refuse_duplicates(statement.span);
    }

    fn instruction(&mut self, statement: &Statement, function: &view::Function, scope_end: u32) -> Inst {
        let m = self.m;
        let form = m.form(statement).cloned().unwrap_or_default();
        let known = match self.semantics.get_mut(statement.form as usize) {
            Some(slot) => slot.get_or_insert_with(|| Arc::new(effects::semantics(&form))).clone(),
            None => Arc::default(),
        };
        let (class, space) = (known.class, known.space);
        let opcode = statement.opcode as usize;
        let guard = self.guard(statement, scope_end);
        let end = before_semicolon(m, statement.span);
        let mut reader = Reader {
            source: m.source,
            names: &mut self.names,
            diagnostics: &mut self.diagnostics,
            op: form.op,
        };
        let operands = reader.list((opcode + form.text.len()).min(end), end);
        let roles = semantics::roles(&form, &operands);
        let eval = semantics::eval(&form, &operands, function);
        Inst {
            span: statement.span,
            class,
            guard,
            operands,
            roles,
            space,
            eval,
            semantics: known,
            ..Inst::default()
        }
    }

    fn guard(&mut self, statement: &Statement, scope_end: u32) -> Option<Guard> {
        let b = self.m.source.as_bytes();
        let start = statement.span.start as usize;
        if b.get(start) != Some(&b'@') {
            return None;
        }
        let mut i = scan::trivia(b, start + 1);
        let negate = b.get(i) == Some(&b'!');
        if negate {
            i = scan::trivia(b, i + 1);
        }
        let end = scan::name(b, i);
        let name = self.m.source.get(i..end)?;
        let reg = match self.names.lookup(name) {
            Some(Meaning::Reg(reg)) => reg,
            _ => {
                // The instruction stays guarded, by a register about which nothing else is known.
                self.refuse(statement.span, "the guard is not a register that is declared here");
                self.names.register(name, Type::Pred, Span { start: statement.span.start, end: scope_end })
            }
        };
        Some(Guard { reg, negate })
    }
}
