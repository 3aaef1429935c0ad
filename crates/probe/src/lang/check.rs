//! Types, and what a point can't be asked, as far as that is known without code.
//!
//! Operands and kernel parameters have a type only at a place: here it is unknown, and goes with any. What is refused
//! here would be refused at every place.
//!
//! Holds: of every clause that passes, loops have at most [`TRIPS`] trips each and [`STATEMENTS`] statements come of it
//! when they are unrolled; a local variable has a value wherever it is read.

use std::collections::HashMap;
use std::ops::Range;

use prlx_trace::table::Aggregate;

use super::ast::{Clause, Expr, ExprKind, Script, Span, Stmt, Tracepoint, Update};
use super::availability::{at_inst, output_unavailable, unavailable};
use super::builtin::Builtin;
use super::error::{MAX_ERRORS, ProbeError, nearest};
use super::parse::assignment;
use super::types::{alone, common, fits, promoted, range};
use prlx_plan::VariableScope;
use prlx_plan::code::{Binary, Ty, Unary};

/// Most trips of a loop.
pub const TRIPS: u64 = 64;
/// Most statements of a clause, loops unrolled.
pub const STATEMENTS: u64 = 4096;
/// Most keys of a table.
pub const KEYS: usize = 8;
/// Most tables.
pub const TABLES: usize = 256;
/// Most declared variables.
pub const VARS: usize = 64;
/// Most declarations of records.
pub const RECORDS: usize = 64;
/// Most local variables of a clause.
pub const LOCALS: usize = 256;
/// Most tracepoints of a clause.
pub const POINTS: usize = 256;
/// Most fields of a record.
pub const FIELDS: usize = 64;
/// Most records of one holder that are kept.
pub const KEEP: u32 = 65536;

/// How lanes update a variable of their warp or CTA: those updates that come to the same in any order.
pub const MERGES: [Binary; 7] =
    [Binary::Add, Binary::Sub, Binary::Min, Binary::Max, Binary::And, Binary::Or, Binary::Xor];

/// Refuses a loop with no trips or too many.
pub(super) fn trips(range: &Range<i64>, span: &Span) -> Result<(), ProbeError> {
    let n = i128::from(range.end) - i128::from(range.start);
    match n {
        ..=0 => Err(ProbeError::new(span.clone(), "this loop has no trips")),
        n if n > TRIPS.into() => {
            Err(ProbeError::new(span.clone(), format!("a loop has at most {TRIPS} trips, this one has {n}")))
        }
        _ => Ok(()),
    }
}

/// What is known of an expression.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    /// It has this type.
    Is(Ty),
    /// A whole number that takes the type of what it meets.
    Int(i128),
    /// A number with a point, likewise.
    Float,
    /// A text.
    Text,
    /// It depends on the place.
    Unknown,
}

impl Kind {
    /// The type, if it is known, of what stands alone.
    fn ty(self) -> Option<Ty> {
        match self {
            Kind::Is(ty) => Some(ty),
            Kind::Int(n) => Some(alone(n)),
            Kind::Float => Some(Ty::F64),
            Kind::Text | Kind::Unknown => None,
        }
    }
}

/// Checks a script of which each part is well formed.
pub(super) fn check(script: &Script, errors: &mut Vec<ProbeError>) {
    for var in script.vars.iter().filter(|v| v.of != VariableScope::Thread && v.init != 0) {
        let whose = if var.of == VariableScope::Warp { "warp" } else { "CTA" };
        let message = format!("a {whose}'s variable begins as 0");
        let help = "of a least value, keep the greatest of `~x`: 0 gives way to any";
        errors.push(ProbeError::new(var.span.clone(), message).help(help));
    }
    let mut rows = HashMap::new();
    for clause in &script.clauses {
        let mut checker = Checker {
            script,
            clause,
            errors,
            rows: &mut rows,
            locals: vec![None; clause.locals.len()],
            set: vec![false; clause.locals.len()],
        };
        if let Some(predicate) = &clause.predicate {
            checker.predicate(predicate);
        }
        checker.body(&clause.body);
        let statements = unrolled(&clause.body);
        if statements > STATEMENTS {
            let start = clause.span.start;
            let span = start..clause.tracepoints.last().map_or(start, |t| t.span.end);
            let message = format!("with its loops unrolled this clause has {statements} statements");
            errors.push(ProbeError::new(span, message).help(format!("at most {STATEMENTS} are allowed")));
        }
    }
}

/// How many statements a body has when its loops are unrolled.
fn unrolled(body: &[Stmt]) -> u64 {
    let each = body.iter().map(|stmt| match stmt {
        Stmt::If(_, then, other) => unrolled(then).saturating_add(unrolled(other)).saturating_add(1),
        Stmt::For(_, range, body, _) => unrolled(body).saturating_mul(range.end.abs_diff(range.start)),
        _ => 1,
    });
    each.fold(0, u64::saturating_add)
}

/// What a row of a table is told by, or what it takes, at its first update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    Number,
    Text,
    Site,
    Line,
    Integers,
    Floats,
}

impl Meaning {
    fn words(self) -> &'static str {
        match self {
            Meaning::Number => "a number",
            Meaning::Text => "a text",
            Meaning::Site => "a site",
            Meaning::Line => "a line",
            Meaning::Integers => "integers",
            Meaning::Floats => "floats",
        }
    }
}

struct Checker<'a> {
    script: &'a Script,
    clause: &'a Clause,
    errors: &'a mut Vec<ProbeError>,
    /// By table, and by key (`None`: the value): what it is at the first update that says it.
    rows: &'a mut HashMap<(usize, Option<usize>), (Meaning, Span)>,
    /// What the first assignment of each local variable gave.
    locals: Vec<Option<Kind>>,
    /// Which of them have a value here.
    set: Vec<bool>,
}

impl Checker<'_> {
    fn report(&mut self, span: &Span, message: impl Into<String>) {
        self.errors.push(ProbeError::new(span.clone(), message));
    }

    fn complain_help(&mut self, span: &Span, message: impl Into<String>, help: impl Into<String>) {
        self.errors.push(ProbeError::new(span.clone(), message).help(help));
    }

    fn text(&self, span: &Span) -> &str {
        self.script.text.get(span.clone()).unwrap_or_default()
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            // More would not be shown.
            if self.errors.len() < MAX_ERRORS {
                self.stmt(stmt);
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Local(number, value) => {
                let kind = self.value(value);
                self.local_is(*number, kind, &value.span);
            }
            Stmt::Assign(number, value) => {
                let kind = self.value(value);
                let var = &self.script.vars[*number];
                self.goes_into(kind, var.ty, &var.name, &value.span);
                if var.of != VariableScope::Thread && reads(value, *number) {
                    let (name, all) = (&var.name, merges());
                    let message = format!("what other lanes bring to `{name}` meanwhile would be lost");
                    self.complain_help(&value.span, message, format!("lanes update it by {all}"));
                }
            }
            Stmt::Merge { var, how, value, old, span } => {
                let kind = self.value(value);
                let var = &self.script.vars[*var];
                let (name, ty) = (&var.name, var.ty);
                if !MERGES.contains(how) {
                    let message =
                        format!("lanes that come to `{name}` have no order, and this update needs one");
                    self.complain_help(span, message, format!("lanes update it by {}", merges()));
                } else if !ty.integer() || ty.bits() < 32 {
                    let message =
                        format!("`{name}` is a `{}`: lanes update integers of 32 and 64 bits", ty.name());
                    self.complain_help(span, message, "others can be set, by `=`");
                }
                self.goes_into(kind, ty, name, &value.span);
                if let Some(local) = old {
                    self.local_is(*local, Kind::Is(ty), span);
                }
            }
            Stmt::Update(update) => self.update(update),
            Stmt::Save { record, fields, .. } => {
                for (value, (name, ty)) in fields.iter().zip(&self.script.records[*record].fields) {
                    let kind = self.value(value);
                    self.goes_into(kind, *ty, name, &value.span);
                }
            }
            Stmt::If(condition, then, other) => {
                self.predicate(condition);
                let before = self.set.clone();
                self.body(then);
                let after = std::mem::replace(&mut self.set, before);
                self.body(other);
                self.set.iter_mut().zip(after).for_each(|(a, b)| *a &= b);
            }
            Stmt::For(number, range, body, _) => {
                let ty = [range.start, range.end].map(|n| alone(n.into()));
                let ty = if ty.contains(&Ty::S64) { Ty::S64 } else { Ty::S32 };
                self.locals[*number] = Some(Kind::Is(ty));
                self.set[*number] = true;
                self.body(body);
            }
        }
    }

    /// A local variable is set.
    fn local_is(&mut self, number: usize, kind: Kind, span: &Span) {
        match self.locals[number] {
            None => self.locals[number] = Some(kind.ty().map_or(Kind::Unknown, Kind::Is)),
            Some(Kind::Is(ty)) => {
                let name = format!("${}", self.clause.locals[number]);
                self.goes_into(kind, ty, &name, span);
            }
            Some(_) => {}
        }
        self.set[number] = true;
    }

    fn update(&mut self, update: &Update) {
        let table = &self.script.tables[update.table];
        for (i, key) in update.key.iter().enumerate() {
            let meaning = match (&key.kind, self.expr(key)) {
                (_, Kind::Text) => Meaning::Text,
                (ExprKind::Builtin(Builtin::Site), _) => Meaning::Site,
                (ExprKind::Builtin(Builtin::Line), _) => Meaning::Line,
                _ => Meaning::Number,
            };
            self.agrees(update.table, Some(i), meaning, &key.span);
        }
        let Some(value) = &update.value else { return };
        let kind = self.value(value);
        let Some(ty) = kind.ty() else { return };
        if ty == Ty::Bool {
            let help = format!("`u32({})`", self.text(&value.span));
            self.complain_help(&value.span, "a predicate is no number", help);
        } else if ty.float() && matches!(table.aggregate, Aggregate::Hist | Aggregate::Lhist { .. }) {
            let help = format!("`s64({})`", self.text(&value.span));
            self.complain_help(&value.span, "histograms are of integers", help);
        } else if !matches!(kind, Kind::Int(_)) {
            let meaning = if ty.float() { Meaning::Floats } else { Meaning::Integers };
            self.agrees(update.table, None, meaning, &value.span);
        }
    }

    /// Holds a key or a value of a table against its first update.
    fn agrees(&mut self, table: usize, key: Option<usize>, meaning: Meaning, span: &Span) {
        let (first, at) = self.rows.entry((table, key)).or_insert_with(|| (meaning, span.clone())).clone();
        if first != meaning {
            let line = 1 + self.script.text[..at.start].matches('\n').count();
            let name = &self.script.tables[table].name;
            let (what, is) = match key {
                Some(i) => (format!("key {} of `@{name}`", i + 1), "is"),
                None => (format!("`@{name}`"), "takes"),
            };
            self.report(
                span,
                format!("{what} {is} {} here, and {} in line {line}", meaning.words(), first.words()),
            );
        }
    }

    /// Whether a value goes into something of a type.
    fn goes_into(&mut self, kind: Kind, ty: Ty, name: &str, span: &Span) {
        let text = self.text(span).to_owned();
        match kind {
            Kind::Int(n) if ty.integer() => {
                if !range(ty).contains(&n) {
                    let help = format!("`{}({text})` if its low bits are meant", ty.name());
                    self.complain_help(
                        span,
                        format!("{n} does not fit into `{name}`, a `{}`", ty.name()),
                        help,
                    );
                }
            }
            Kind::Float if ty.float() => {}
            Kind::Text | Kind::Unknown => {}
            kind => {
                let Some(from) = kind.ty().filter(|from| !fits(*from, ty)) else { return };
                let help = match ty {
                    Ty::Bool => not_zero(&text),
                    ty if name.starts_with('$') => {
                        format!("`{}({text})`, or let `{name}` begin as a `{}`", ty.name(), from.name())
                    }
                    ty => format!("`{}({text})`", ty.name()),
                };
                let message = format!("a `{}` does not go into `{name}`, a `{}`", from.name(), ty.name());
                self.complain_help(span, message, help);
            }
        }
    }

    /// An expression that is true or false.
    fn predicate(&mut self, e: &Expr) {
        let kind = self.value(e);
        if let Some(ty) = kind.ty().filter(|ty| *ty != Ty::Bool) {
            let help = not_zero(self.text(&e.span));
            self.complain_help(&e.span, format!("this is a `{}`, not a predicate", ty.name()), help);
        }
    }

    /// An expression that is no text.
    fn value(&mut self, e: &Expr) -> Kind {
        match self.expr(e) {
            Kind::Text => {
                let help = "texts are keys, or are compared: `func == \"load*\"`";
                self.complain_help(&e.span, "a text is no value", help);
                Kind::Unknown
            }
            kind => kind,
        }
    }

    /// An expression that is a number; of one whose type is known and not `such`, `want` says what it should be.
    fn number(&mut self, e: &Expr, such: impl Fn(Ty) -> bool, want: &str) -> Kind {
        let kind = self.value(e);
        match kind.ty().filter(|ty| !such(*ty)) {
            Some(ty) => {
                let message = format!("{want}, and this is a `{}`", ty.name());
                let text = self.text(&e.span);
                match ty {
                    Ty::Bool => self.complain_help(&e.span, message, format!("`u32({text})` is 0 or 1")),
                    ty if ty.float() => {
                        self.complain_help(&e.span, message, format!("`s64({text})` truncates"))
                    }
                    _ => self.report(&e.span, message),
                }
                Kind::Unknown
            }
            None => kind,
        }
    }

    fn expr(&mut self, e: &Expr) -> Kind {
        let integer = |ty: Ty| ty.integer();
        match &e.kind {
            ExprKind::Int(n) => Kind::Int(*n),
            ExprKind::Float(_) => Kind::Float,
            ExprKind::Bool(_) => Kind::Is(Ty::Bool),
            ExprKind::Text(_) => Kind::Text,
            ExprKind::Builtin(builtin) => {
                self.refuse(&e.span, builtin.name(), |point| unavailable(point, *builtin));
                builtin.gives().ty().map_or(Kind::Text, Kind::Is)
            }
            ExprKind::In(n) => {
                self.refuse(&e.span, &format!("in{n}"), |point| {
                    (!at_inst(point)).then_some("there is no instruction")
                });
                Kind::Unknown
            }
            ExprKind::Out(_) => {
                self.refuse(&e.span, "out", output_unavailable);
                Kind::Unknown
            }
            ExprKind::Arg(_) => Kind::Unknown,
            ExprKind::Local(number) => self.local(*number, &e.span),
            ExprKind::Var(number) => Kind::Is(self.script.vars[*number].ty),
            ExprKind::Unary(op, a) => match op {
                Unary::Neg | Unary::Abs => {
                    let kind = self.number(a, |ty| ty != Ty::Bool, "a number is needed");
                    kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
                }
                Unary::Not => {
                    let kind = self.number(a, integer, "`~` is of integers");
                    kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
                }
                Unary::Popc | Unary::Clz => {
                    self.number(a, integer, "an integer is needed");
                    Kind::Is(Ty::U32)
                }
                Unary::Finite => {
                    self.number(a, Ty::float, "a float is needed");
                    Kind::Is(Ty::Bool)
                }
            },
            ExprKind::Not(a) => {
                self.predicate(a);
                Kind::Is(Ty::Bool)
            }
            ExprKind::Logic(_, a, b) => {
                self.predicate(a);
                self.predicate(b);
                Kind::Is(Ty::Bool)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, &e.span),
            ExprKind::Select(c, a, b) => {
                self.predicate(c);
                let (a, b) = (self.value(a), self.value(b));
                self.meet(a, b, &e.span)
            }
            ExprKind::Cast(ty, a) => {
                self.value(a);
                Kind::Is(*ty)
            }
            ExprKind::Bits(a) => match self.number(a, Ty::float, "`bits` is of floats").ty() {
                Some(Ty::F32) => Kind::Is(Ty::U32),
                Some(_) => Kind::Is(Ty::U64),
                None => Kind::Unknown,
            },
            ExprKind::High(a) => {
                if !matches!(a.kind, ExprKind::In(_) | ExprKind::Out(_)) {
                    self.complain_help(
                        &a.span,
                        "only an operand has a high half",
                        "`high_half(in0)`, `high_half(out)`",
                    );
                }
                self.expr(a);
                Kind::Is(Ty::F32)
            }
            ExprKind::Ballot(a) => {
                self.predicate(a);
                Kind::Is(Ty::U32)
            }
            ExprKind::Same(a) => {
                self.number(a, integer, "lanes are told apart by integers: of a float, bits(…)");
                Kind::Is(Ty::U32)
            }
            ExprKind::Reduce(_, a) => {
                let kind = self.number(a, integer, "lanes come together in integers");
                kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
            }
        }
    }

    fn local(&mut self, number: usize, span: &Span) -> Kind {
        if self.set[number] {
            return self.locals[number].unwrap_or(Kind::Unknown);
        }
        let names = &self.clause.locals;
        let name = &names[number];
        let known = names.iter().zip(&self.set).filter(|(_, set)| **set).map(|(n, _)| n.as_str());
        let complaint = match self.locals[number] {
            Some(_) => ProbeError::new(span.clone(), format!("`${name}` may have no value here"))
                .help(format!("give it one before: `${name} = 0;`")),
            None => {
                let complaint = ProbeError::new(span.clone(), format!("`${name}` has no value here"));
                match nearest(name, known) {
                    Some(near) => complaint.help(format!("did you mean `${near}`?")),
                    None => complaint,
                }
            }
        };
        self.errors.push(complaint);
        Kind::Unknown
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr, span: &Span) -> Kind {
        if matches!(op, Binary::Eq | Binary::Ne) {
            let (left, right) = (self.expr(a), self.expr(b));
            return match (left == Kind::Text, right == Kind::Text) {
                (true, true) => {
                    if !matches!((&a.kind, &b.kind), (ExprKind::Builtin(_), ExprKind::Text(_))) {
                        let help = "one side is `func`, `file`, …, the other a text that stands here";
                        self.complain_help(span, "these texts can't be compared", help);
                    }
                    Kind::Is(Ty::Bool)
                }
                (false, false) => {
                    self.meet(left, right, span);
                    Kind::Is(Ty::Bool)
                }
                _ => {
                    self.report(span, "a text is compared with a number");
                    Kind::Is(Ty::Bool)
                }
            };
        }
        match op {
            Binary::Shl | Binary::Shr => {
                let kind = self.number(a, Ty::integer, "shifts are of integers");
                self.number(b, Ty::integer, "shifts are by integers");
                kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
            }
            Binary::And | Binary::Or | Binary::Xor => {
                let not_float = |ty: Ty| !ty.float();
                let left = self.number(a, not_float, "this is done with bits of integers");
                let right = self.number(b, not_float, "this is done with bits of integers");
                let bools = [left, right].map(|kind| kind.ty().map(|ty| ty == Ty::Bool));
                let compares = |e: &Expr| matches!(e.kind, ExprKind::Binary(op, ..) if op.compares());
                if matches!(bools, [Some(a), Some(b)] if a != b) && (compares(a) || compares(b)) {
                    let help = "comparisons bind closer than `&`, `|` and `^`: write `(a & b) == c`";
                    self.complain_help(span, "a number meets a comparison", help);
                    return Kind::Unknown;
                }
                self.meet(left, right, span)
            }
            _ => {
                let such = |ty: Ty| ty != Ty::Bool && (op != Binary::Rem || ty.integer());
                let want =
                    if op == Binary::Rem { "remainders are of integers" } else { "a number is needed" };
                let (left, right) = (self.number(a, such, want), self.number(b, such, want));
                let kind = self.meet(left, right, span);
                if op.compares() { Kind::Is(Ty::Bool) } else { kind }
            }
        }
    }

    /// The type that two are brought to.
    fn meet(&mut self, a: Kind, b: Kind, span: &Span) -> Kind {
        match (a, b) {
            (Kind::Int(n), Kind::Is(ty)) | (Kind::Is(ty), Kind::Int(n)) if ty.integer() => {
                let ty = promoted(ty);
                if !range(ty).contains(&n) {
                    let help = format!(
                        "`{}({n})` if its low bits are meant, or a cast of the other to a type that has it",
                        ty.name()
                    );
                    self.complain_help(
                        span,
                        format!("{n} meets a `{}`, which has no such value", ty.name()),
                        help,
                    );
                }
                Kind::Is(ty)
            }
            (Kind::Float, Kind::Is(ty)) | (Kind::Is(ty), Kind::Float) if ty.float() => Kind::Is(ty),
            _ => {
                let (Some(left), Some(right)) = (a.ty(), b.ty()) else { return Kind::Unknown };
                match common(left, right) {
                    Some(ty) => Kind::Is(ty),
                    None => {
                        let message = format!("a `{}` meets a `{}`", left.name(), right.name());
                        self.complain_help(
                            span,
                            message,
                            "a predicate becomes a number by `u32(…)`, a number a predicate by `!= 0`",
                        );
                        Kind::Unknown
                    }
                }
            }
        }
    }

    /// Complains if one of the clause's points unavailable something for certain.
    fn refuse(&mut self, span: &Span, name: &str, unavailable: impl Fn(&Tracepoint) -> Option<&'static str>) {
        let clause = self.clause;
        if let Some((point, why)) = clause.tracepoints.iter().find_map(|t| Some((t, unavailable(t)?))) {
            let at = self.text(&point.span).to_owned();
            self.report(span, format!("`{name}` is not to be had at `{at}`: {why}"));
        }
    }
}

/// The signs of [`MERGES`].
fn merges() -> String {
    let signs: Vec<String> = MERGES.iter().map(|op| format!("`{}`", assignment(*op))).collect();
    signs.join(", ")
}

/// Whether an expression reads a declared variable.
fn reads(e: &Expr, var: usize) -> bool {
    match &e.kind {
        ExprKind::Var(v) => *v == var,
        ExprKind::Unary(_, a) | ExprKind::Not(a) | ExprKind::Cast(_, a) | ExprKind::Bits(a) => reads(a, var),
        ExprKind::High(a) => reads(a, var),
        ExprKind::Ballot(a) | ExprKind::Same(a) | ExprKind::Reduce(_, a) => reads(a, var),
        ExprKind::Binary(_, a, b) | ExprKind::Logic(_, a, b) => reads(a, var) || reads(b, var),
        ExprKind::Select(c, a, b) => reads(c, var) || reads(a, var) || reads(b, var),
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Text(_) => false,
        ExprKind::Builtin(_) | ExprKind::In(_) | ExprKind::Out(_) | ExprKind::Arg(_) | ExprKind::Local(_) => {
            false
        }
    }
}

fn not_zero(text: &str) -> String {
    let simple = text.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c));
    if simple { format!("`{text} != 0`") } else { format!("`({text}) != 0`") }
}
