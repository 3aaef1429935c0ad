//! Parses statements.

use std::ops::Range;

use prlx_trace::table::{Aggregate, STEPS};

use super::super::ast::{Expr, ExprKind, Span, Stmt, Update};
use super::super::check;
use super::super::error::{ProbeError, nearest};
use super::super::function::AGGREGATES;
use super::super::token::Token;
use super::{Parsed, Parser, field_names, reserved};
use prlx_plan::VariableScope;
use prlx_plan::code::Binary;

/// Assignment operators, with the operation that they apply to the old value.
const ASSIGNMENTS: &[(&str, Option<Binary>)] = &[
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Sub)),
    ("*=", Some(Binary::Mul)),
    ("/=", Some(Binary::Div)),
    ("%=", Some(Binary::Rem)),
    ("&=", Some(Binary::And)),
    ("|=", Some(Binary::Or)),
    ("^=", Some(Binary::Xor)),
    ("<<=", Some(Binary::Shl)),
    (">>=", Some(Binary::Shr)),
];

/// Assignment operators that begin with a name: `x min= e`.
const NAMED: &[(&str, Binary)] = &[("min", Binary::Min), ("max", Binary::Max)];

/// The assignment operator of an operation, as a program writes it.
pub(in super::super) fn assignment(op: Binary) -> String {
    let named = NAMED.iter().find(|n| n.1 == op).map(|n| format!("{}=", n.0));
    let sign = || ASSIGNMENTS.iter().find(|a| a.1 == Some(op)).map_or("=", |a| a.0).to_owned();
    named.unwrap_or_else(sign)
}

impl<'a> Parser<'a> {
    /// `{ … }`
    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.deeper(|p| {
            let open = p.span.clone();
            p.expect("{")?;
            let mut body = Vec::new();
            while !p.takes("}") {
                if p.full() {
                    // Nobody sees this error: the list is full. It ends the parsing.
                    return Err(ProbeError::new(open, "too many errors"));
                }
                if p.token == Token::End {
                    return Err(ProbeError::new(open, "this `{` has no `}`"));
                }
                if p.takes(";") {
                    continue;
                }
                let start = p.span.start;
                match p.statement() {
                    Ok(stmt) => body.push(stmt),
                    Err(error) => {
                        p.report(error);
                        p.skip_statement(start);
                    }
                }
            }
            Ok(body)
        })
    }

    /// After an error in a statement: skips to its end.
    fn skip_statement(&mut self, start: usize) {
        let mut depth = 0usize;
        if self.span.start == start && !self.is("{") {
            self.advance();
        }
        loop {
            match self.token {
                Token::End => return,
                Token::Sign("{") => depth += 1,
                Token::Sign("}") if depth == 0 => return,
                Token::Sign("}") => depth -= 1,
                Token::Sign(";") if depth == 0 => return self.advance(),
                _ => {}
            }
            let closed = depth == 0 && self.is("}");
            self.advance();
            if closed && !self.is_name("else") {
                return;
            }
        }
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let stmt = match self.token {
            Token::Name("if") => return self.branch(),
            Token::Name("for") => return self.repeat(),
            Token::Name("save") => self.save()?,
            Token::Name(name) => self.variable(name)?,
            Token::Local(name) => self.local_variable(name)?,
            Token::At(name) => self.update(name)?,
            _ => return Err(self.expected("a statement or `}`")),
        };
        if !self.takes(";") && !self.is("}") {
            let expected = self.expected("`;`");
            // Points to where the semicolon is missing, unless the next token is invalid.
            return Err(match self.token {
                Token::Bad(_) => expected,
                _ => ProbeError { span: self.end..self.end, ..expected },
            });
        }
        Ok(stmt)
    }

    fn branch(&mut self) -> Parsed<Stmt> {
        self.deeper(|p| {
            p.advance();
            let condition = p.expression()?;
            let then = p.block()?;
            let other = match p.takes_name("else") {
                true if p.is_name("if") => vec![p.branch()?],
                true => p.block()?,
                false => Vec::new(),
            };
            Ok(Stmt::If(condition, then, other))
        })
    }

    fn repeat(&mut self) -> Parsed<Stmt> {
        let start = self.span.start;
        self.advance();
        let Token::Local(name) = self.token else {
            return Err(self.expected("a local variable such as `$i`"));
        };
        if self.locals.get(name).is_some_and(|l| self.loops.contains(l)) {
            let message = format!("`${name}` is already the variable of an enclosing loop");
            self.report(ProbeError::new(self.span.clone(), message).help("choose another name"));
        }
        self.advance();
        if !self.takes_name("in") {
            return Err(self.expected("`in`"));
        }
        let from = self.bound()?;
        self.expect("..")?;
        let range = from..self.bound()?;
        let span = start..self.end;
        check::trips(&range, &span).unwrap_or_else(|c| self.report(c));
        // The variable is local to the loop and hides another one of the same name.
        let outer = self.locals.get(name).copied();
        let variable = self.new_local(name);
        self.loops.push(variable);
        let body = self.block();
        self.loops.pop();
        match outer {
            Some(outer) => self.locals.insert(name, outer),
            None => self.locals.remove(name),
        };
        Ok(Stmt::For(variable, range, body?, span))
    }

    /// Parses a bound of a loop.
    fn bound(&mut self) -> Parsed<i64> {
        let wrong = self.expected("a whole number");
        let minus = self.takes("-");
        let Token::Int(n) = self.token else {
            return Err(match self.token {
                Token::Bad(_) => self.expected("a whole number"),
                _ => wrong.help("the bounds of a loop must be constants"),
            });
        };
        let n = if minus { -i128::from(n) } else { n.into() };
        let n = i64::try_from(n).map_err(|_| {
            ProbeError::new(self.span.clone(), "a bound of a loop must fit into a signed 64-bit integer")
        })?;
        self.advance();
        Ok(n)
    }

    fn save(&mut self) -> Parsed<Stmt> {
        let start = self.span.start;
        self.advance();
        let Token::At(name) = self.token else { return Err(self.expected("a record such as `@sched`")) };
        let found = self.script.records.iter().position(|r| r.name == name);
        let at = self.span.clone();
        self.advance();
        let open = self.span.start;
        self.expect("(")?;
        let fields = self.list(")")?;
        self.expect(")")?;
        let Some(record) = found else {
            let error = ProbeError::new(at, format!("unknown record `@{name}`"));
            return Err(match nearest(name, self.script.records.iter().map(|r| r.name.as_str())) {
                Some(near) => error.help(format!("did you mean `@{near}`?")),
                None => {
                    error.help(format!("declare it first: `record @{name}(value: u64) per warp keep 1;`"))
                }
            });
        };
        let declared = &self.script.records[record];
        if fields.len() != declared.fields.len() {
            let (n, is) = (declared.fields.len(), fields.len());
            let fields = if n == 1 { "field" } else { "fields" };
            let message = format!("`@{name}` has {n} {fields}, but {is} values are given");
            let help = format!("write `save @{name}({})`", field_names(declared));
            return Err(ProbeError::new(open..self.end, message).help(help));
        }
        Ok(Stmt::Save { record, fields, span: start..self.end })
    }

    /// Parses `x = e`, `x += e` or `x++` of a declared variable.
    fn variable(&mut self, name: &str) -> Parsed<Stmt> {
        let span = self.span.clone();
        let Some(number) = self.script.vars.iter().position(|v| v.name == name) else {
            if let Some(what) = reserved(name) {
                let message = format!("a statement cannot begin with `{name}`, which is {what}");
                return Err(ProbeError::new(span, message)
                    .help("a statement assigns a variable, updates a table, or saves a record"));
            }
            let error = ProbeError::new(span, format!("unknown variable `{name}`"));
            let names = self.script.vars.iter().map(|v| v.name.as_str()).chain(["save", "if", "for"]);
            return Err(match nearest(name, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error
                    .help(format!("declare it: `thread {name}: u64;`, or use a local variable: `${name}`")),
            });
        };
        self.advance();
        match self.script.vars[number].of {
            VariableScope::Thread => Ok(Stmt::Assign(number, self.assigned(ExprKind::Var(number), span)?)),
            _ => Ok(match self.operation()? {
                (None, value) => Stmt::Assign(number, value),
                (Some(how), value) => {
                    Stmt::Merge { var: number, how, value, old: None, span: span.start..self.end }
                }
            }),
        }
    }

    fn local_variable(&mut self, name: &'a str) -> Parsed<Stmt> {
        let span = self.span.clone();
        let number = self.local(name);
        if self.loops.contains(&number) {
            self.report(ProbeError::new(
                span.clone(),
                format!("only the loop can set its variable `${name}`"),
            ));
        }
        self.advance();
        let plain = self.is("=");
        let value = self.assigned(ExprKind::Local(number), span.clone())?;
        let ExprKind::Var(var) = value.kind else { return Ok(Stmt::Local(number, value)) };
        // `$old = x += e`
        if !self.operates() {
            return Ok(Stmt::Local(number, value));
        }
        let (how, by) = self.operation()?;
        let span = span.start..self.end;
        match (self.script.vars[var].of, how) {
            (VariableScope::Thread, _) => {
                let name = &self.script.vars[var].name;
                let message = format!(
                    "`{name}` is a thread variable; only a variable of a warp or CTA can be read and updated at once"
                );
                Err(ProbeError::new(span, message)
                    .help(format!("write `$… = {name};`, then a statement that updates `{name}`")))
            }
            (_, Some(how)) if plain => Ok(Stmt::Merge { var, how, value: by, old: Some(number), span }),
            _ => Err(ProbeError::new(span, "a statement can assign only one variable")
                .help("the exception is `$old = x += …`, where `x` is a variable of a warp or CTA")),
        }
    }

    /// Whether the current token begins an assignment operator.
    fn operates(&self) -> bool {
        self.is("++") || ASSIGNMENTS.iter().any(|a| self.is(a.0)) || NAMED.iter().any(|n| self.is_name(n.0))
    }

    /// Parses an assignment operator and its right side. Returns the operation on the old value, and the
    /// other operand.
    fn operation(&mut self) -> Parsed<(Option<Binary>, Expr)> {
        if self.is("++") {
            let one = Expr { kind: ExprKind::Int(1), span: self.span.clone() };
            self.advance();
            return Ok((Some(Binary::Add), one));
        }
        if let Some((_, op)) = NAMED.iter().find(|n| self.is_name(n.0)) {
            self.advance();
            self.expect("=")?;
            return Ok((Some(*op), self.expression()?));
        }
        let found = ASSIGNMENTS.iter().find(|a| self.is(a.0));
        let Some((_, op)) = found else { return Err(self.expected("an assignment such as `=`")) };
        self.advance();
        Ok((*op, self.expression()?))
    }

    /// Parses the rest of an assignment to `old`, and returns the new value.
    fn assigned(&mut self, old: ExprKind, at: Span) -> Parsed<Expr> {
        let (op, by) = self.operation()?;
        let Some(op) = op else { return Ok(by) };
        let span = at.start..by.span.end;
        let old = Expr { kind: old, span: at };
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(old), Box::new(by)), span })
    }

    /// `@t[k, …] = sum(e)`, `@t[k]++`, `@t[k] += e`
    fn update(&mut self, name: &str) -> Parsed<Stmt> {
        let at = self.span.clone();
        self.advance();
        let mut key = Vec::new();
        if self.is("[") {
            self.advance();
            key = self.list("]")?;
            self.expect("]")?;
            if key.is_empty() || key.len() > check::KEYS {
                let message = format!("a table has 1 to {} keys between `[` and `]`", check::KEYS);
                return Err(ProbeError::new(at.start..self.end, message));
            }
        }
        let (aggregate, value) = if self.takes("++") {
            (Aggregate::Count, None)
        } else if self.takes("+=") {
            (Aggregate::Sum, Some(self.expression()?))
        } else if self.takes("=") {
            self.aggregate()?
        } else {
            return Err(self.expected("`=`, `+=` or `++`"));
        };
        let table = self.table(name, aggregate, key.len(), &at);
        Ok(Stmt::Update(Update { table, key, value, span: at.start..self.end }))
    }

    /// Parses an aggregate: `count()`, `sum(e)` …
    fn aggregate(&mut self) -> Parsed<(Aggregate, Option<Expr>)> {
        let start = self.span.clone();
        let form = |(name, params, _): &(&str, &[&str], &str)| format!("`{name}({})`", params.join(", "));
        let all =
            || format!("the aggregates are {}", AGGREGATES.iter().map(form).collect::<Vec<_>>().join(", "));
        let Token::Name(name) = self.token else {
            return Err(self.expected("an aggregate").help(all()));
        };
        let Some(row) = AGGREGATES.iter().find(|a| a.0 == name) else {
            let error = ProbeError::new(start, format!("unknown aggregate `{name}`"));
            return Err(match nearest(name, AGGREGATES.iter().map(|a| a.0)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(all()),
            });
        };
        self.advance();
        self.expect("(")?;
        let mut args = self.list(")")?;
        self.expect(")")?;
        let span = start.start..self.end;
        if args.len() != row.1.len() {
            let error = ProbeError::new(span, format!("wrong number of values for `{name}`"));
            return Err(error.help(format!("write {}", form(row))));
        }
        let aggregate = match name {
            "count" => Aggregate::Count,
            "sum" => Aggregate::Sum,
            "min" => Aggregate::Min,
            "max" => Aggregate::Max,
            "avg" => Aggregate::Avg,
            "hist" => Aggregate::Hist,
            _ => steps(args.drain(1..).collect(), &span)?,
        };
        Ok((aggregate, args.pop()))
    }
}

/// The aggregate `lhist(e, low, high, step)`, from its last three arguments.
fn steps(args: Vec<Expr>, span: &Span) -> Parsed<Aggregate> {
    let number = |e: &Expr| match e.kind {
        ExprKind::Int(n) => Ok(n),
        _ => Err(ProbeError::new(
            e.span.clone(),
            "the bounds and the step of `lhist` must be constant whole numbers",
        )),
    };
    let [low, high, step] = &args[..] else {
        return Err(ProbeError::new(span.clone(), "`lhist` takes 4 values"));
    };
    let (low, high, step) = (number(low)?, number(high)?, number(step)?);
    let Range { start, end } = low..high;
    let wrong = |what: String| ProbeError::new(span.clone(), what);
    let (Ok(low), Ok(_), Ok(width)) = (i64::try_from(start), i64::try_from(end), u64::try_from(step)) else {
        let message =
            "the bounds of `lhist` must fit into signed 64-bit integers, and its step must be above 0";
        return Err(wrong(message.to_owned()));
    };
    if width == 0 || start >= end {
        return Err(wrong("`lhist` needs low < high, and a step above 0".to_owned()));
    }
    if (end - start) % step != 0 {
        let up = start + (end - start + step - 1) / step * step;
        let message = format!("steps of {step} from {start} do not reach {end} exactly");
        return Err(wrong(message).help(format!("use {up} or {} as the upper bound", up - step)));
    }
    let steps = (end - start) / step;
    match u32::try_from(steps) {
        Ok(steps) if steps <= STEPS => Ok(Aggregate::Lhist { low, step: width, steps }),
        _ => Err(wrong(format!("`lhist` has at most {STEPS} steps; this one has {steps}"))),
    }
}
