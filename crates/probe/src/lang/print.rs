//! A program in its canonical form: reading it again gives the same, places in the text apart.

use std::fmt::{self, Display, Formatter, Write};

use prlx_trace::device::tables::Which;
use prlx_trace::table::Aggregate;

use super::ast::{Clause, Expr, ExprKind, Record, Script, Side, Stmt, Tracepoint, Update, Var, What};
use super::function::Function;
use super::parse::{OPERATORS, SELECT, UNARY, assignment};
use super::token::in_pattern;
use prlx_plan::VariableScope;
use prlx_plan::code::{Binary, Ty, Unary};

/// How closely names, numbers and calls bind: nothing comes between.
const WHOLE: u8 = UNARY + 1;

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for var in &self.vars {
            write_var(f, var)?;
        }
        for record in &self.records {
            write_record(f, record)?;
        }
        for (i, clause) in self.clauses.iter().enumerate() {
            if i > 0 || !self.vars.is_empty() || !self.records.is_empty() {
                writeln!(f)?;
            }
            let points: Vec<String> = clause.tracepoints.iter().map(Tracepoint::to_string).collect();
            write!(f, "{} ", points.join(", "))?;
            let printer = Printer { script: self, clause };
            if let Some(predicate) = &clause.predicate {
                write!(f, "/{}/ ", printer.expr(predicate, 0))?;
            }
            printer.block(f, &clause.body, 0)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

fn holder(of: VariableScope) -> &'static str {
    match of {
        VariableScope::Thread => "thread",
        VariableScope::Warp => "warp",
        VariableScope::Cta => "cta",
    }
}

fn write_var(f: &mut Formatter<'_>, var: &Var) -> fmt::Result {
    write!(f, "{} {}: {}", holder(var.of), var.name, var.ty.name())?;
    if var.init != 0 {
        write!(f, " = {}", constant(var.ty, var.init))?;
    }
    writeln!(f, ";")
}

/// Bits as a constant of their type.
fn constant(ty: Ty, bits: u64) -> String {
    let unused = 64 - ty.bits();
    match ty {
        Ty::Bool => (bits != 0).to_string(),
        Ty::F64 => format!("{:?}", f64::from_bits(bits)),
        Ty::F32 => {
            let value = f32::from_bits(bits as u32);
            let short = format!("{value:?}");
            // Read as a binary64 and rounded again, the shortest text could give another number.
            let same = short.parse::<f64>().is_ok_and(|v| (v as f32).to_bits() == value.to_bits());
            if same { short } else { format!("{:?}", f64::from(value)) }
        }
        ty if ty.signed() => ((bits << unused).cast_signed() >> unused).to_string(),
        _ => bits.to_string(),
    }
}

fn write_record(f: &mut Formatter<'_>, record: &Record) -> fmt::Result {
    let fields: Vec<String> =
        record.fields.iter().map(|(name, ty)| format!("{name}: {}", ty.name())).collect();
    let which = match record.which {
        Which::First => "keep",
        Which::Last => "keep last",
        Which::Room => "grow",
    };
    let (name, of) = (&record.name, holder(record.of));
    writeln!(f, "record @{name}({}) per {of} {which} {};", fields.join(", "), record.keep)
}

impl Display for Tracepoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let side = if self.side == Side::Begin { "begin" } else { "end" };
        match (&self.what, self.side) {
            (What::Kernel(name), _) if name == "*" => write!(f, "kernel:{side}"),
            (What::Kernel(name), _) => write!(f, "kernel:{}:{side}", pattern(name)),
            (What::Func(name), _) => write!(f, "func:{}:{side}", pattern(name)),
            (What::Block, _) => write!(f, "block"),
            (What::Loop, _) => write!(f, "loop:{side}"),
            (What::Trip, _) => write!(f, "loop:trip"),
            (What::Branch, _) => write!(f, "branch"),
            (What::Decision, Side::Begin) => write!(f, "decision:begin"),
            (What::Decision, Side::End) => write!(f, "decision"),
            (What::Inst(words), at) => {
                let opcode = if words.is_empty() { "*".to_owned() } else { words.join(".") };
                write!(f, "inst:{opcode}{}", if at == Side::End { ":end" } else { "" })
            }
            (What::Marker(name), Side::Begin) => write!(f, "marker:{}", pattern(name)),
            (What::Marker(name), Side::End) => write!(f, "marker:{}:end", pattern(name)),
        }
    }
}

/// A name pattern, with quotes where it needs them.
fn pattern(name: &str) -> String {
    let plain = !matches!(name, "begin" | "end") && name.chars().all(in_pattern);
    if plain { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c => out.push(c),
        }
    }
    out + "\""
}

/// An aggregate of a value as it is written.
pub(super) fn aggregate(aggregate: Aggregate, value: &str) -> String {
    match aggregate {
        Aggregate::Count => "count()".to_owned(),
        Aggregate::Sum => format!("sum({value})"),
        Aggregate::Min => format!("min({value})"),
        Aggregate::Max => format!("max({value})"),
        Aggregate::Avg => format!("avg({value})"),
        Aggregate::Hist => format!("hist({value})"),
        Aggregate::Lhist { low, step, steps } => {
            let high = i128::from(low) + i128::from(step) * i128::from(steps);
            format!("lhist({value}, {low}, {high}, {step})")
        }
        // A table never is one: these are declared.
        Aggregate::Record { .. } => format!("record({value})"),
    }
}

struct Printer<'a> {
    script: &'a Script,
    clause: &'a Clause,
}

impl Printer<'_> {
    fn block(&self, f: &mut Formatter<'_>, body: &[Stmt], depth: usize) -> fmt::Result {
        if body.is_empty() {
            return write!(f, "{{}}");
        }
        writeln!(f, "{{")?;
        let indent = |depth: usize| "    ".repeat(depth);
        for stmt in body {
            write!(f, "{}", indent(depth + 1))?;
            self.stmt(f, stmt, depth + 1)?;
            writeln!(f)?;
        }
        write!(f, "{}}}", indent(depth))
    }

    fn stmt(&self, f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
        match stmt {
            Stmt::Local(number, value) => write!(f, "{} = {};", self.local(*number), self.expr(value, 0)),
            Stmt::Assign(number, value) => write!(f, "{} = {};", self.var(*number), self.expr(value, 0)),
            Stmt::Merge { var, how, value, old, .. } => {
                let old = old.map(|local| format!("{} = ", self.local(local))).unwrap_or_default();
                write!(f, "{old}{} {} {};", self.var(*var), assignment(*how), self.expr(value, 0))
            }
            Stmt::Update(update) => self.update(f, update),
            Stmt::Save { record, fields, .. } => {
                let name = self.script.records.get(*record).map_or("", |r| &r.name);
                write!(f, "save @{name}({});", self.list(fields))
            }
            Stmt::If(condition, then, other) => {
                write!(f, "if ({}) ", self.expr(condition, 0))?;
                self.block(f, then, depth)?;
                match &other[..] {
                    [] => Ok(()),
                    [chained @ Stmt::If(..)] => {
                        write!(f, " else ")?;
                        self.stmt(f, chained, depth)
                    }
                    other => {
                        write!(f, " else ")?;
                        self.block(f, other, depth)
                    }
                }
            }
            Stmt::For(number, range, body, _) => {
                write!(f, "for {} in {}..{} ", self.local(*number), range.start, range.end)?;
                self.block(f, body, depth)
            }
        }
    }

    fn update(&self, f: &mut Formatter<'_>, update: &Update) -> fmt::Result {
        let Some(table) = self.script.tables.get(update.table) else { return Ok(()) };
        write!(f, "@{}", table.name)?;
        if !update.key.is_empty() {
            write!(f, "[{}]", self.list(&update.key))?;
        }
        let value = update.value.as_ref().map(|v| self.expr(v, 0)).unwrap_or_default();
        write!(f, " = {};", aggregate(table.aggregate, &value))
    }

    fn local(&self, number: usize) -> String {
        format!("${}", self.clause.locals.get(number).map_or("", String::as_str))
    }

    fn var(&self, number: usize) -> &str {
        self.script.vars.get(number).map_or("", |v| &v.name)
    }

    fn list(&self, all: &[Expr]) -> String {
        all.iter().map(|e| self.expr(e, 0)).collect::<Vec<_>>().join(", ")
    }

    /// An expression where one that binds at least so closely is needed.
    fn expr(&self, e: &Expr, least: u8) -> String {
        let (text, closeness) = self.open(e);
        if closeness < least { format!("({text})") } else { text }
    }

    /// An expression without parentheses around it, and how closely it binds.
    fn open(&self, e: &Expr) -> (String, u8) {
        let call = |name: &str, of: &[&Expr]| {
            let of: Vec<String> = of.iter().map(|e| self.expr(e, 0)).collect();
            (format!("{name}({})", of.join(", ")), WHOLE)
        };
        let whole = |text: String| (text, WHOLE);
        match &e.kind {
            ExprKind::Int(n) => whole(n.to_string()),
            ExprKind::Float(x) => whole(format!("{x:?}")),
            ExprKind::Bool(b) => whole(b.to_string()),
            ExprKind::Text(text) => whole(quoted(text)),
            ExprKind::Builtin(builtin) => whole(builtin.name().to_owned()),
            ExprKind::In(n) => whole(format!("in{n}")),
            ExprKind::Out(0) => whole("out".to_owned()),
            ExprKind::Out(n) => whole(format!("out{n}")),
            ExprKind::Arg(name) => whole(format!("arg.{name}")),
            ExprKind::Local(number) => whole(self.local(*number)),
            ExprKind::Var(number) => whole(self.var(*number).to_owned()),
            ExprKind::Unary(Unary::Neg, a) => self.signed('-', a),
            ExprKind::Unary(Unary::Not, a) => self.signed('~', a),
            ExprKind::Not(a) => self.signed('!', a),
            ExprKind::Unary(op, a) => call(Function::Unary(*op).name(), &[a]),
            ExprKind::Binary(op @ (Binary::Min | Binary::Max), a, b) => {
                call(Function::Binary(*op).name(), &[a, b])
            }
            ExprKind::Binary(op, a, b) => self.operator(*op, false, a, b),
            ExprKind::Logic(op, a, b) => self.operator(*op, true, a, b),
            ExprKind::Select(c, a, b) => {
                let (c, a, b) = (self.expr(c, SELECT + 1), self.expr(a, SELECT), self.expr(b, SELECT));
                (format!("{c} ? {a} : {b}"), SELECT)
            }
            ExprKind::Cast(ty, a) => call(ty.name(), &[a]),
            ExprKind::Bits(a) => call(Function::Bits.name(), &[a]),
            ExprKind::High(a) => call(Function::High.name(), &[a]),
            ExprKind::Ballot(a) => call(Function::Ballot.name(), &[a]),
            ExprKind::Same(a) => call(Function::Same.name(), &[a]),
            ExprKind::Reduce(how, a) => call(Function::Reduce(*how).name(), &[a]),
        }
    }

    fn signed(&self, sign: char, a: &Expr) -> (String, u8) {
        let mut text = String::from(sign);
        let inner = self.expr(a, UNARY);
        // A minus would become the number's own.
        let apart = inner.starts_with('-') || sign == '-' && inner.starts_with(|c: char| c.is_ascii_digit());
        let _ = if apart { write!(text, "({inner})") } else { write!(text, "{inner}") };
        (text, UNARY)
    }

    fn operator(&self, op: Binary, logic: bool, a: &Expr, b: &Expr) -> (String, u8) {
        let row = OPERATORS.iter().find(|o| o.2 == op && o.3 == logic);
        let Some(&(sign, closeness, ..)) = row else { return (String::new(), WHOLE) };
        (format!("{} {sign} {}", self.expr(a, closeness), self.expr(b, closeness + 1)), closeness)
    }
}
