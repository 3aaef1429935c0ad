//! One function's body, from statements to instructions and blocks.
//!
//! Holds: instructions in source order; names mean what their scope says; a block begins at every label that something
//! names, and after everything that can transfer control or end the lane. Misses: two labels of one name in one scope.

use super::lower::Builder;
use super::names::Meaning;
use super::operand::Reader;
use super::ops::Op;
use super::parse::{Kind, Module, Statement, span};
use super::{declare, meaning, scan};
use crate::view::{
    self, Block, BlockId, Class, FuncId, Guard, Inst, InstId, Mark, MarkKind, Operand, Passed, Span, Type,
};

/// A label of the function.
#[derive(Clone, Default)]
struct Label {
    /// The instruction it stands before.
    at: u32,
    /// Labels of its table, if it names one.
    table: Option<Vec<u32>>,
    /// Whether an instruction or a table names it.
    named: bool,
}

/// Labels by scope, found before the walk because they are used before they stand.
struct Scopes<'a> {
    /// By scope in order of opening: its labels, as name and number.
    labels: Vec<Vec<(&'a str, u32)>>,
    /// By scope: where it ends.
    ends: Vec<u32>,
}

fn scopes<'a>(m: &Module<'a>, f: &super::Function) -> Scopes<'a> {
    let mut s = Scopes { labels: vec![vec![]], ends: vec![f.body.end] };
    let mut open = vec![0usize];
    let mut count = 0u32;
    for statement in m.body(f) {
        match statement.kind {
            Kind::Open => {
                open.push(s.labels.len());
                s.labels.push(vec![]);
                s.ends.push(f.body.end);
            }
            Kind::Close => {
                if let Some(scope) = open.pop() {
                    s.ends[scope] = statement.span.start;
                }
            }
            Kind::Label => {
                if let Some(scope) = open.last() {
                    s.labels[*scope].push((label_name(m, statement), count));
                }
                count += 1;
            }
            _ => {}
        }
    }
    s
}

fn label_name<'a>(m: &Module<'a>, statement: &Statement) -> &'a str {
    let text = m.text(statement.span);
    text.get(..scan::opcode(text.as_bytes(), 0)).unwrap_or_default()
}

/// Registers from which markers take their words.
const PAYLOAD: [&str; 2] = ["$prlx_p0", "$prlx_p1"];

/// No more edges of switches than this times the text's length: a table can be named often.
const EDGES_PER_BYTE: usize = 4;

/// No more branches than this are kept of a marker.
const BRANCHES: usize = 64;

impl<'a> Builder<'_, 'a> {
    /// Reads the body of `f` into `out`, whose parameters are declared already.
    pub(super) fn body(&mut self, f: &super::Function, id: FuncId, out: &mut view::Function) {
        let m = self.m;
        let scopes = scopes(m, f);
        let mut labels: Vec<Label> = vec![Label::default(); scopes.labels.iter().map(Vec::len).sum()];
        let mut stack = vec![0usize];
        let mut opened = 0usize;
        let mut next_label = 0usize;
        let mut loc = None;
        let mut marks = vec![];
        for (name, n) in &scopes.labels[0] {
            self.names.declare_label(name, *n);
        }
        // All at once: a vector that grows touches twice the memory.
        out.insts.reserve_exact(m.body(f).iter().filter(|s| s.kind == Kind::Inst).count());
        for statement in m.body(f) {
            let scope = stack.last().copied().unwrap_or(0);
            match statement.kind {
                Kind::Open => {
                    opened += 1;
                    stack.push(opened);
                    self.names.open();
                    for (name, n) in &scopes.labels[opened] {
                        self.names.declare_label(name, *n);
                    }
                }
                Kind::Close => {
                    stack.pop();
                    self.names.close();
                }
                Kind::Label => {
                    labels[next_label].at = span(0, out.insts.len()).end;
                    if let Some((kind, name)) = MarkKind::of_label(label_name(m, statement)) {
                        let at = InstId(labels[next_label].at);
                        let payload = self.payload(&out.insts);
                        let passed = Passed::All;
                        marks.push((
                            next_label,
                            Mark { kind, name: name.to_owned(), at, passed, payload, loc },
                        ));
                    }
                    next_label += 1;
                }
                Kind::Table => {
                    if let Some(label) = next_label.checked_sub(1) {
                        let table = self.table(statement);
                        for n in &table {
                            labels[*n as usize].named = true;
                        }
                        labels[label].table = Some(table);
                    }
                }
                Kind::Loc => loc = self.loc(statement.span).or(loc),
                Kind::Reg => self.registers(statement, scopes.ends[scope]),
                Kind::Variable => self.local(statement, id),
                Kind::Inst => {
                    let mut inst = self.instruction(statement, out, scopes.ends[scope]);
                    inst.loc = loc;
                    mark(&inst.operands, &mut labels);
                    out.insts.push(inst);
                }
                Kind::File | Kind::Directive | Kind::Unknown => {}
            }
        }
        out.regs = std::mem::take(&mut self.names.regs);
        out.marks = marks.into_iter().filter_map(|(n, mark)| placed(n, mark, &labels, &out.insts)).collect();
        self.blocks(out, &labels, f.span);
    }

    /// What a marker carries that stands behind `insts`: what was moved to its registers just before.
    fn payload(&mut self, insts: &[Inst]) -> Vec<Operand> {
        let names = PAYLOAD.map(|name| self.names.lookup(name));
        let mut found = [None, None];
        let moved =
            |inst: &&Inst| inst.form.op == Some(Op::Mov) && inst.guard.is_none() && inst.operands.len() == 2;
        for inst in insts.iter().rev().take(PAYLOAD.len()).take_while(moved) {
            let [Operand::Reg(to), from] = &inst.operands[..] else { break };
            let own = |meaning: &Option<Meaning>| matches!(meaning, Some(Meaning::Reg(r)) if r == to);
            let Some(i) = names.iter().position(own) else { break };
            found[i].get_or_insert_with(|| from.clone());
        }
        found.into_iter().map_while(|operand| operand).collect()
    }

    /// The labels of a `.branchtargets`.
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
        let d = declare::read(
            self.m.source,
            statement.span.start as usize,
            before_semicolon(self.m, statement.span),
        );
        let scope = Span { start: statement.span.end, end: scope_end };
        for one in &d.declarators {
            match one.family {
                Some(count) => self.names.family(one.name, count, d.ty, scope),
                None => {
                    self.names.register(one.name, d.ty, scope);
                }
            }
        }
    }

    /// A variable declared in the body.
    fn local(&mut self, statement: &Statement, id: FuncId) {
        let end = before_semicolon(self.m, statement.span);
        self.variables(statement.span, end, Some(id));
    }

    fn instruction(&mut self, statement: &Statement, function: &view::Function, scope_end: u32) -> Inst {
        let m = self.m;
        let form = m.form(statement).cloned().unwrap_or_default();
        let (class, space) = match self.kinds.get(statement.form as usize) {
            Some(Some(known)) => *known,
            slot => {
                let kind = (form.class(), form.space());
                if slot.is_some() {
                    self.kinds[statement.form as usize] = Some(kind);
                }
                kind
            }
        };
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
        let roles = meaning::roles(&form, &operands);
        let eval = meaning::eval(&form, &operands, function);
        Inst { span: statement.span, class, guard, operands, roles, space, eval, form, ..Inst::default() }
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
                // Guarded it is all the same: by a register of which nothing else is known.
                self.say(statement.span, "the guard is not a register that is declared here");
                self.names.register(name, Type::Pred, Span { start: statement.span.start, end: scope_end })
            }
        };
        Some(Guard { reg, negate })
    }

    /// Cuts the instructions into blocks and connects them.
    fn blocks(&mut self, f: &mut view::Function, labels: &[Label], whole: Span) {
        let n = f.insts.len();
        let mut begins = vec![false; n + 1];
        begins[0] = true;
        for l in labels.iter().filter(|l| l.named && l.table.is_none()) {
            begins[l.at as usize] = true;
        }
        for (i, inst) in f.insts.iter().enumerate() {
            if ends_block(inst) && i + 1 < n {
                begins[i + 1] = true;
            }
        }
        let mut of = vec![BlockId(0); n + 1];
        for i in 0..=n {
            if begins[i] {
                let at = span(i, i);
                f.blocks.push(Block { insts: at.start..at.start, ..Block::default() });
            }
            let last = span(0, f.blocks.len() - 1).end;
            of[i] = BlockId(last);
            if i < n {
                f.insts[i].block = BlockId(last);
                f.blocks[last as usize].insts.end += 1;
            }
        }
        let mut edges = (whole.end - whole.start) as usize * EDGES_PER_BYTE;
        for inst in &mut f.insts {
            for operand in &mut inst.operands {
                if let Operand::Label(label) = operand {
                    let label = &labels[label.index()];
                    *operand = match &label.table {
                        None => Operand::Label(of[label.at as usize]),
                        Some(table) => match edges.checked_sub(table.len()) {
                            Some(left) => {
                                edges = left;
                                Operand::Targets(
                                    table.iter().map(|t| of[labels[*t as usize].at as usize]).collect(),
                                )
                            }
                            None => Operand::Text(inst.span),
                        },
                    };
                }
            }
        }
        let count = f.blocks.len();
        for i in 0..count {
            let next = (i + 1 < count).then(|| BlockId(span(0, i + 1).end));
            let last = f.blocks[i].insts.clone().last().and_then(|l| f.insts.get(l as usize));
            let succs = match last {
                None => vec![],
                Some(inst) => {
                    let mut succs = targets(inst);
                    if !ends_block(inst) || inst.guard.is_some() || inst.class == Class::Opaque {
                        succs.extend(next);
                    }
                    succs
                }
            };
            f.blocks[i].succs = succs;
        }
        for i in 0..count {
            let id = BlockId(span(0, i).end);
            for k in 0..f.blocks[i].succs.len() {
                let to = f.blocks[i].succs[k].index();
                if f.blocks[to].preds.last() != Some(&id) {
                    f.blocks[to].preds.push(id);
                }
            }
        }
    }
}

/// A marker that is label `n`, unless that is named, with who passes it.
fn placed(n: usize, mark: Mark, labels: &[Label], insts: &[Inst]) -> Option<Mark> {
    let target = |l: &Label| l.named && l.table.is_none() && l.at == mark.at.0;
    let here = |l: &&Label| l.at == mark.at.0;
    if labels[n].named {
        return None;
    }
    let first = n - labels[..n].iter().rev().take_while(here).count();
    let before = labels[first..n].iter().any(target);
    let after = labels[n..].iter().take_while(here).any(target);
    let passed = match (before, after) {
        (_, false) => Passed::All,
        (false, true) => Passed::Falling,
        (true, true) => Passed::Some(branches(first..n, labels, insts)),
    };
    Some(Mark { passed, ..mark })
}

/// The branches that name one of some labels.
fn branches(of: std::ops::Range<usize>, labels: &[Label], insts: &[Inst]) -> Option<Vec<InstId>> {
    let mut all = Vec::new();
    for (i, inst) in insts.iter().enumerate() {
        let mut named = inst
            .operands
            .iter()
            .filter_map(|o| if let Operand::Label(l) = o { Some(l.index()) } else { None });
        let names = named.any(|l| match labels.get(l).map(|l| &l.table) {
            Some(Some(table)) => table.iter().any(|t| of.contains(&(*t as usize))),
            _ => of.contains(&l),
        });
        if names {
            if inst.class != Class::Branch || all.len() == BRANCHES {
                return None;
            }
            all.push(InstId(span(0, i).end));
        }
    }
    Some(all)
}

/// Notes which labels operands name.
fn mark(operands: &[Operand], labels: &mut [Label]) {
    for operand in operands {
        if let Operand::Label(label) = operand
            && let Some(label) = labels.get_mut(label.index())
        {
            label.named = true;
        }
    }
}

/// Whether control can go elsewhere than to the next instruction. An unknown operation that names a label may go there.
fn ends_block(inst: &Inst) -> bool {
    match inst.class {
        Class::Branch | Class::Switch | Class::Return | Class::Exit => true,
        Class::Opaque => inst.operands.iter().any(|o| matches!(o, Operand::Label(_) | Operand::Targets(_))),
        _ => false,
    }
}

/// Where a branch or switch goes when taken.
fn targets(inst: &Inst) -> Vec<BlockId> {
    if !ends_block(inst) {
        return vec![];
    }
    let mut targets = vec![];
    for operand in &inst.operands {
        match operand {
            Operand::Label(b) => targets.push(*b),
            Operand::Targets(list) => targets.extend(list),
            _ => {}
        }
    }
    targets
}

/// The end of a statement's text, without the `;`.
pub(super) fn before_semicolon(m: &Module<'_>, span: Span) -> usize {
    let end = span.end as usize;
    end - usize::from(m.text(span).ends_with(';'))
}
