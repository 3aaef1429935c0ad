//! Checks types and the availability of builtins, as far as the module does not matter.
//!
//! Operands and kernel parameters have a type only at a site. Here their type is unknown, and every type
//! accepts it. A program that this check refuses would fail at every site.
//!
//! # Invariants
//!
//! - In a clause that passes, each loop has at most [`TRIPS`] iterations, and unrolling gives at most
//!   [`STATEMENTS`] statements.
//! - A local variable has a value wherever it is read.

use std::collections::HashMap;
use std::ops::Range;

use prlx_trace::table::Aggregate;

use super::ast::{Clause, Expr, ExprKind, Script, Span, Stmt, Tracepoint, Update};
use super::availability::{NO_INSTRUCTION, at_inst, output_unavailable, unavailable};
use super::builtin::Builtin;
use super::constant::{self, Constant};
use super::error::{MAX_ERRORS, ProbeError, nearest};
use super::parse::assignment;
use super::types::{alone, common, fits, promoted, range};
use prlx_plan::VariableScope;
use prlx_plan::code::{Binary, Ty, Unary};

/// Maximum number of iterations of a loop.
pub const TRIPS: u64 = 64;
/// Maximum number of statements of a clause, with its loops unrolled.
pub const STATEMENTS: u64 = 4096;
/// Maximum number of keys of a table.
pub const KEYS: usize = 8;
/// Maximum number of tables of a program.
pub const TABLES: usize = 256;
/// Maximum number of declared variables of a program.
pub const VARS: usize = 64;
/// Maximum number of record declarations of a program.
pub const RECORDS: usize = 64;
/// Maximum number of local variables of a clause.
pub const LOCALS: usize = 256;
/// Maximum number of tracepoints of a clause.
pub const POINTS: usize = 256;
/// Maximum number of fields of a record.
pub const FIELDS: usize = 64;
/// Maximum number of records that PRLX keeps for one warp or thread.
pub const KEEP: u32 = 65536;

/// The updates that several lanes can apply to a variable of their warp or CTA: their result does not depend
/// on the order of the lanes.
pub const MERGES: [Binary; 7] =
    [Binary::Add, Binary::Sub, Binary::Min, Binary::Max, Binary::And, Binary::Or, Binary::Xor];

/// Refuses a loop without iterations or with more than [`TRIPS`].
pub(super) fn trips(range: &Range<i64>, span: &Span) -> Result<(), ProbeError> {
    let n = i128::from(range.end) - i128::from(range.start);
    match n {
        ..=0 => Err(ProbeError::new(span.clone(), "this loop has no iterations")
            .help("the second bound is exclusive, and must be greater than the first")),
        n if n > TRIPS.into() => Err(ProbeError::new(
            span.clone(),
            format!("a loop has at most {TRIPS} iterations; this one has {n}"),
        )),
        _ => Ok(()),
    }
}

/// What is known about the type of an expression.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    /// The expression has this type.
    Is(Ty),
    /// A whole number. It takes the type of the other operand.
    Int(i128),
    /// A number with a decimal point. It takes the float type of the other operand.
    Float,
    /// A text, which only comparisons and table keys accept.
    Text,
    /// The type depends on the site.
    Unknown,
}

impl Kind {
    /// The type, if it is known, of an expression without a second operand.
    fn ty(self) -> Option<Ty> {
        match self {
            Kind::Is(ty) => Some(ty),
            Kind::Int(n) => Some(alone(n)),
            Kind::Float => Some(Ty::F64),
            Kind::Text | Kind::Unknown => None,
        }
    }
}

/// Checks a script that the parser accepted.
pub(super) fn check(script: &Script, errors: &mut Vec<ProbeError>) {
    for var in script.vars.iter().filter(|v| v.of != VariableScope::Thread && v.init != 0) {
        let scope = if var.of == VariableScope::Warp { "warp" } else { "CTA" };
        let message = format!("a variable of a {scope} always starts at 0");
        let help = "remove the initial value; for a minimum, keep the maximum of `~x` and invert it when you read it";
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
            let message = format!("this clause has {statements} statements when its loops are unrolled");
            let help = format!("at most {STATEMENTS} are allowed: use fewer iterations, or several clauses");
            errors.push(ProbeError::new(span, message).help(help));
        }
    }
}

/// Number of statements of a body when its loops are unrolled.
fn unrolled(body: &[Stmt]) -> u64 {
    let each = body.iter().map(|stmt| match stmt {
        Stmt::If(_, then, other) => unrolled(then).saturating_add(unrolled(other)).saturating_add(1),
        Stmt::For(_, range, body, _) => unrolled(body).saturating_mul(range.end.abs_diff(range.start)),
        _ => 1,
    });
    each.fold(0, u64::saturating_add)
}

/// The kind of a table's key or value, as its first update defines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CellKind {
    Number,
    Text,
    Site,
    Line,
    Integers,
    Floats,
}

impl CellKind {
    fn words(self) -> &'static str {
        match self {
            CellKind::Number => "a number",
            CellKind::Text => "a text",
            CellKind::Site => "a site",
            CellKind::Line => "a line",
            CellKind::Integers => "integers",
            CellKind::Floats => "floats",
        }
    }
}

struct Checker<'a> {
    script: &'a Script,
    clause: &'a Clause,
    errors: &'a mut Vec<ProbeError>,
    /// The kind of each table's keys, by index, and of its value (`None`), with the place that defines it.
    rows: &'a mut HashMap<(usize, Option<usize>), (CellKind, Span)>,
    /// The type that the first assignment gave to each local variable.
    locals: Vec<Option<Kind>>,
    /// Whether each local variable has a value on every path to this statement.
    set: Vec<bool>,
}

impl Checker<'_> {
    fn report(&mut self, span: &Span, message: impl Into<String>) {
        self.errors.push(ProbeError::new(span.clone(), message));
    }

    fn report_help(&mut self, span: &Span, message: impl Into<String>, help: impl Into<String>) {
        self.errors.push(ProbeError::new(span.clone(), message).help(help));
    }

    fn text(&self, span: &Span) -> &str {
        self.script.text.get(span.clone()).unwrap_or_default()
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            // The caller shows no more errors than this.
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
                    let message =
                        format!("this assignment to `{name}` would lose concurrent updates of other lanes");
                    self.report_help(&value.span, message, format!("update it with one of {all}"));
                }
            }
            Stmt::Merge { var, how, value, old, span } => {
                let kind = self.value(value);
                let var = &self.script.vars[*var];
                let (name, ty) = (&var.name, var.ty);
                if !MERGES.contains(how) {
                    let message = format!(
                        "the result of this update of `{name}` would depend on the order of the lanes"
                    );
                    self.report_help(span, message, format!("update it with one of {}", merges()));
                } else if !ty.integer() || ty.bits() < 32 {
                    let message = format!(
                        "`{name}` is a `{}`; lanes can update only integers of 32 or 64 bits",
                        ty.name()
                    );
                    self.report_help(span, message, "declare another type, or assign it with `=`");
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

    /// Notes an assignment to a local variable.
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
            let kind = match (&key.kind, self.expr(key)) {
                (_, Kind::Text) => CellKind::Text,
                (ExprKind::Builtin(Builtin::Site), _) => CellKind::Site,
                (ExprKind::Builtin(Builtin::Line), _) => CellKind::Line,
                _ => CellKind::Number,
            };
            self.same_kind(update.table, Some(i), kind, &key.span);
        }
        let Some(value) = &update.value else { return };
        let kind = self.value(value);
        let Some(ty) = kind.ty() else { return };
        if ty == Ty::Bool {
            let help = format!("convert it: `u32({})`", self.text(&value.span));
            self.report_help(&value.span, "expected a number, found a predicate", help);
        } else if ty.float() && matches!(table.aggregate, Aggregate::Hist | Aggregate::Lhist { .. }) {
            let help = format!("convert it: `s64({})`", self.text(&value.span));
            self.report_help(&value.span, "a histogram takes integers, found a float", help);
        } else if !matches!(kind, Kind::Int(_)) {
            let kind = if ty.float() { CellKind::Floats } else { CellKind::Integers };
            self.same_kind(update.table, None, kind, &value.span);
        }
    }

    /// Compares the kind of a key or a value of a table with the table's first update.
    fn same_kind(&mut self, table: usize, key: Option<usize>, kind: CellKind, span: &Span) {
        let (first, at) = self.rows.entry((table, key)).or_insert_with(|| (kind, span.clone())).clone();
        if first != kind {
            let line = 1 + self.script.text[..at.start].matches('\n').count();
            let name = &self.script.tables[table].name;
            let (what, is) = match key {
                Some(i) => (format!("key {} of `@{name}`", i + 1), "is"),
                None => (format!("`@{name}`"), "aggregates"),
            };
            let message = format!("{what} {is} {} here, but {} in line {line}", kind.words(), first.words());
            self.report_help(span, message, "use one kind in all updates of a table, or a second table");
        }
    }

    /// Checks that a value can be stored in the variable or field `name` of type `ty`.
    fn goes_into(&mut self, kind: Kind, ty: Ty, name: &str, span: &Span) {
        let text = self.text(span).to_owned();
        match kind {
            Kind::Int(n) if ty.integer() => {
                if !range(ty).contains(&n) {
                    let help = format!("write `{}({text})` to keep only the low bits", ty.name());
                    self.report_help(
                        span,
                        format!("{n} does not fit into `{name}`, which is a `{}`", ty.name()),
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
                        format!(
                            "convert it: `{}({text})`, or assign a `{}` to `{name}` first",
                            ty.name(),
                            from.name()
                        )
                    }
                    ty => format!("convert it: `{}({text})`", ty.name()),
                };
                let message =
                    format!("cannot store a `{}` in `{name}`, which is a `{}`", from.name(), ty.name());
                self.report_help(span, message, help);
            }
        }
    }

    /// Checks an expression that must be a predicate.
    fn predicate(&mut self, e: &Expr) {
        let kind = self.value(e);
        if let Some(ty) = kind.ty().filter(|ty| *ty != Ty::Bool) {
            let help = not_zero(self.text(&e.span));
            self.report_help(&e.span, format!("expected a predicate, found a `{}`", ty.name()), help);
        }
    }

    /// Checks an expression that must not be a text.
    fn value(&mut self, e: &Expr) -> Kind {
        match self.expr(e) {
            Kind::Text => {
                let help = "use a text as a table key, or compare it: `func == \"load*\"`";
                self.report_help(&e.span, "a text is not allowed here", help);
                Kind::Unknown
            }
            kind => kind,
        }
    }

    /// Checks an expression that must be a number. If its type is known and `such` refuses it, the message
    /// says that `want` is expected.
    fn number(&mut self, e: &Expr, such: impl Fn(Ty) -> bool, want: &str) -> Kind {
        let kind = self.value(e);
        match kind.ty().filter(|ty| !such(*ty)) {
            Some(ty) => {
                let message = format!("expected {want}, found a `{}`", ty.name());
                let text = self.text(&e.span);
                match ty {
                    Ty::Bool => {
                        self.report_help(&e.span, message, format!("convert it: `u32({text})` is 0 or 1"))
                    }
                    ty if ty.float() => {
                        self.report_help(&e.span, message, format!("convert it: `s64({text})` truncates"))
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
                self.refuse(&e.span, &format!("in{n}"), |point| (!at_inst(point)).then_some(NO_INSTRUCTION));
                Kind::Unknown
            }
            ExprKind::Out(_) => {
                self.refuse(&e.span, "out", output_unavailable);
                Kind::Unknown
            }
            ExprKind::Arg(_) => Kind::Unknown,
            ExprKind::Local(number) => self.local(*number, &e.span),
            ExprKind::Var(number) => Kind::Is(self.script.vars[*number].ty),
            ExprKind::Unary(..) if whole(e).is_some() => {
                whole(e).map_or(Kind::Unknown, |n| Kind::Is(alone(n)))
            }
            ExprKind::Unary(op, a) => match op {
                Unary::Neg | Unary::Abs => {
                    let kind = self.number(a, |ty| ty != Ty::Bool, "a number");
                    kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
                }
                Unary::Not => {
                    let kind = self.number(a, integer, "an integer");
                    kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
                }
                Unary::Popc | Unary::Clz => {
                    self.number(a, integer, "an integer");
                    Kind::Is(Ty::U32)
                }
                Unary::Finite => {
                    self.number(a, Ty::float, "a float");
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
                self.common_type(a, b, &e.span)
            }
            ExprKind::Cast(ty, a) => {
                self.value(a);
                Kind::Is(*ty)
            }
            ExprKind::Bits(a) => match self.number(a, Ty::float, "a float").ty() {
                Some(Ty::F32) => Kind::Is(Ty::U32),
                Some(_) => Kind::Is(Ty::U64),
                None => Kind::Unknown,
            },
            ExprKind::High(a) => {
                if !matches!(a.kind, ExprKind::In(_) | ExprKind::Out(_)) {
                    self.report_help(
                        &a.span,
                        "`high_half` takes an operand of the instruction",
                        "for example `high_half(in0)` or `high_half(out)`",
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
                self.number(a, integer, "an integer, or the `bits(…)` of a float");
                Kind::Is(Ty::U32)
            }
            ExprKind::Reduce(_, a) => {
                let kind = self.number(a, integer, "an integer to combine over lanes");
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
        let error = match self.locals[number] {
            Some(_) => {
                ProbeError::new(span.clone(), format!("`${name}` has no value on some paths to this point"))
                    .help(format!("assign it before: `${name} = 0;`"))
            }
            None => {
                let error = ProbeError::new(span.clone(), format!("`${name}` has no value yet"));
                match nearest(name, known) {
                    Some(near) => error.help(format!("did you mean `${near}`?")),
                    None => error.help(format!("assign it before: `${name} = 0;`")),
                }
            }
        };
        self.errors.push(error);
        Kind::Unknown
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr, span: &Span) -> Kind {
        if let (Some(x), Some(y)) = (whole(a), whole(b)) {
            return Kind::Is(match constant::binary(op, x, y) {
                Constant::Whole(n) => alone(n),
                Constant::Truth(_) => Ty::Bool,
            });
        }
        if matches!(op, Binary::Eq | Binary::Ne) {
            let (left, right) = (self.expr(a), self.expr(b));
            return match (left == Kind::Text, right == Kind::Text) {
                (true, true) => {
                    if !matches!((&a.kind, &b.kind), (ExprKind::Builtin(_), ExprKind::Text(_))) {
                        let help = "compare a text builtin, such as `func` or `file`, with a text in quotes";
                        self.report_help(span, "these two texts cannot be compared", help);
                    }
                    Kind::Is(Ty::Bool)
                }
                (false, false) => {
                    self.common_type(left, right, span);
                    Kind::Is(Ty::Bool)
                }
                _ => {
                    self.report(span, "cannot compare a text with a number");
                    Kind::Is(Ty::Bool)
                }
            };
        }
        match op {
            Binary::Shl | Binary::Shr => {
                let kind = self.number(a, Ty::integer, "an integer to shift");
                self.number(b, Ty::integer, "an integer as the shift count");
                kind.ty().map_or(Kind::Unknown, |ty| Kind::Is(promoted(ty)))
            }
            Binary::And | Binary::Or | Binary::Xor => {
                let not_float = |ty: Ty| !ty.float();
                let left = self.number(a, not_float, "an integer or a predicate");
                let right = self.number(b, not_float, "an integer or a predicate");
                let bools = [left, right].map(|kind| kind.ty().map(|ty| ty == Ty::Bool));
                let compares = |e: &Expr| matches!(e.kind, ExprKind::Binary(op, ..) if op.compares());
                if matches!(bools, [Some(a), Some(b)] if a != b) && (compares(a) || compares(b)) {
                    let help = "comparisons bind tighter than `&`, `|` and `^`: write `(a & b) == c`";
                    self.report_help(span, "this operator combines a number with a comparison", help);
                    return Kind::Unknown;
                }
                self.common_type(left, right, span)
            }
            _ => {
                let such = |ty: Ty| ty != Ty::Bool && (op != Binary::Rem || ty.integer());
                let want = if op == Binary::Rem { "an integer" } else { "a number" };
                let (left, right) = (self.number(a, such, want), self.number(b, such, want));
                let kind = self.common_type(left, right, span);
                if op.compares() { Kind::Is(Ty::Bool) } else { kind }
            }
        }
    }

    /// The type that both operands are converted to.
    fn common_type(&mut self, a: Kind, b: Kind, span: &Span) -> Kind {
        match (a, b) {
            (Kind::Int(n), Kind::Is(ty)) | (Kind::Is(ty), Kind::Int(n)) if ty.integer() => {
                let ty = promoted(ty);
                if !range(ty).contains(&n) {
                    let help = format!(
                        "write `{}({n})` to keep only the low bits, or convert the other operand",
                        ty.name()
                    );
                    self.report_help(
                        span,
                        format!("{n} does not fit into a `{}`, the type of the other operand", ty.name()),
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
                        let message = format!("cannot combine a `{}` with a `{}`", left.name(), right.name());
                        self.report_help(
                            span,
                            message,
                            "`u32(…)` converts a predicate to a number, `!= 0` a number to a predicate",
                        );
                        Kind::Unknown
                    }
                }
            }
        }
    }

    /// Reports the first tracepoint of the clause where `name` can never be available.
    fn refuse(&mut self, span: &Span, name: &str, unavailable: impl Fn(&Tracepoint) -> Option<&'static str>) {
        let clause = self.clause;
        if let Some((point, why)) = clause.tracepoints.iter().find_map(|t| Some((t, unavailable(t)?))) {
            let at = self.text(&point.span).to_owned();
            self.report(span, format!("`{name}` is not available at `{at}`: {why}"));
        }
    }
}

/// The operators of [`MERGES`] as a program writes them.
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

/// The value of an expression of whole numbers alone.
fn whole(e: &Expr) -> Option<i128> {
    match &e.kind {
        ExprKind::Int(n) => Some(*n),
        ExprKind::Unary(op, a) => constant::unary(*op, whole(a)?),
        ExprKind::Binary(op, a, b) => match constant::binary(*op, whole(a)?, whole(b)?) {
            Constant::Whole(n) => Some(n),
            Constant::Truth(_) => None,
        },
        _ => None,
    }
}

fn not_zero(text: &str) -> String {
    let simple = text.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c));
    if simple { format!("`{text} != 0`") } else { format!("`({text}) != 0`") }
}
