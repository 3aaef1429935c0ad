//! Parses expressions, by operator precedence.

use super::super::ast::operand;
use super::super::ast::{Expr, ExprKind};
use super::super::builtin::{BUILTINS, Builtin};
use super::super::check;
use super::super::error::{ProbeError, nearest};
use super::super::function::{AGGREGATES, FUNCTIONS, Function};
use super::super::token::Token;
use super::{PARTS, Parsed, Parser};
use prlx_plan::code::{Binary, TYPES};

/// Binary operators: sign, precedence (higher binds tighter), operation, and whether it is an
/// [`ExprKind::Logic`].
#[rustfmt::skip]
pub(in super::super) const OPERATORS: &[(&str, u8, Binary, bool)] = &[
    ("||", 2, Binary::Or, true),
    ("&&", 3, Binary::And, true),
    ("|", 4, Binary::Or, false),
    ("^", 5, Binary::Xor, false),
    ("&", 6, Binary::And, false),
    ("==", 7, Binary::Eq, false), ("!=", 7, Binary::Ne, false),
    ("<", 8, Binary::Lt, false), ("<=", 8, Binary::Le, false),
    (">", 8, Binary::Gt, false), (">=", 8, Binary::Ge, false),
    ("<<", 9, Binary::Shl, false), (">>", 9, Binary::Shr, false),
    ("+", 10, Binary::Add, false), ("-", 10, Binary::Sub, false),
    ("*", 11, Binary::Mul, false), ("/", 11, Binary::Div, false), ("%", 11, Binary::Rem, false),
];

/// Precedence of `?:`.
pub(in super::super) const SELECT: u8 = 1;
/// Precedence of unary operators.
pub(in super::super) const UNARY: u8 = 12;

impl<'a> Parser<'a> {
    /// Parses a whole expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.parts = 0;
        self.select()
    }

    /// Parses expressions separated by commas, up to a closing sign.
    pub(super) fn list(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut all = Vec::new();
        while !self.is(close) {
            all.push(self.expression()?);
            if !self.takes(",") {
                break;
            }
        }
        Ok(all)
    }

    fn node(&mut self, kind: ExprKind, start: usize) -> Parsed<Expr> {
        self.parts += 1;
        let span = start..self.end;
        if self.parts > PARTS {
            return Err(ProbeError::new(
                span,
                format!("this expression has more than {PARTS} operands and operators"),
            ));
        }
        Ok(Expr { kind, span })
    }

    fn select(&mut self) -> Parsed<Expr> {
        self.deeper(|p| {
            let condition = p.binary(SELECT + 1)?;
            if !p.takes("?") {
                return Ok(condition);
            }
            let start = condition.span.start;
            let then = p.select()?;
            p.expect(":")?;
            let other = p.select()?;
            p.node(ExprKind::Select(Box::new(condition), Box::new(then), Box::new(other)), start)
        })
    }

    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            let found = OPERATORS.iter().find(|o| self.is(o.0)).filter(|o| o.1 >= least);
            let Some(&(sign, closeness, op, logic)) = found else { return Ok(left) };
            if sign == "/" && self.predicate && self.before_brace() {
                return Ok(left);
            }
            self.advance();
            let right = self.binary(closeness + 1)?;
            let start = left.span.start;
            // The text of a comparison becomes the right operand.
            let swap = matches!(left.kind, ExprKind::Text(_)) && matches!(op, Binary::Eq | Binary::Ne);
            let (a, b) =
                if swap { (Box::new(right), Box::new(left)) } else { (Box::new(left), Box::new(right)) };
            let kind = if logic { ExprKind::Logic(op, a, b) } else { ExprKind::Binary(op, a, b) };
            left = self.node(kind, start)?;
        }
    }

    /// Whether the token after the current one is `{`. No expression begins with `{`.
    fn before_brace(&self) -> bool {
        let mut lookahead = self.lexer.clone();
        lookahead.next().0 == Token::Sign("{")
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span.start;
        let sign = match self.token {
            Token::Sign(sign @ ("-" | "~" | "!")) => sign,
            _ => return self.primary(),
        };
        self.advance();
        // A minus before a number is part of the number.
        match self.token {
            Token::Int(n) if sign == "-" => {
                let n = -i128::from(n);
                self.advance();
                if n < i64::MIN.into() {
                    return Err(ProbeError::new(start..self.end, "this number does not fit into 64 bits"));
                }
                return self.node(ExprKind::Int(n), start);
            }
            Token::Float(x) if sign == "-" => {
                self.advance();
                return self.node(ExprKind::Float(-x), start);
            }
            _ => {}
        }
        let operand = Box::new(self.deeper(Self::unary)?);
        let kind = match sign {
            "-" => ExprKind::Unary(prlx_plan::code::Unary::Neg, operand),
            "~" => ExprKind::Unary(prlx_plan::code::Unary::Not, operand),
            _ => ExprKind::Not(operand),
        };
        self.node(kind, start)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span.start;
        let kind = match self.token.clone() {
            Token::Int(n) => ExprKind::Int(n.into()),
            Token::Float(x) => ExprKind::Float(x),
            Token::Text(text) => ExprKind::Text(text),
            Token::Local(name) => {
                let number = self.local(name);
                ExprKind::Local(number)
            }
            Token::Name(name) => return self.named(name),
            Token::Sign("(") => {
                self.advance();
                let inner = self.inside(Self::select)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::At(_) => {
                let error = ProbeError::new(self.span.clone(), "a program cannot read a table");
                return Err(error.help("keep the value in a variable: `thread x: u64;`"));
            }
            _ => return Err(self.expected("a value")),
        };
        self.advance();
        self.node(kind, start)
    }

    /// Parses something in parentheses, where a `/` is always a division.
    fn inside<T>(&mut self, what: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let predicate = std::mem::take(&mut self.predicate);
        let done = what(self);
        self.predicate = predicate;
        done
    }

    /// The index of a local variable; a new variable gets the next index.
    pub(super) fn local(&mut self, name: &'a str) -> usize {
        match self.locals.get(name) {
            Some(number) => *number,
            None => self.new_local(name),
        }
    }

    /// Adds a local variable and returns its index.
    pub(super) fn new_local(&mut self, name: &'a str) -> usize {
        let number = self.local_names.len();
        self.local_names.push(name);
        self.locals.insert(name, number);
        if number == check::LOCALS {
            let message = format!("a clause has at most {} local variables", check::LOCALS);
            self.report(ProbeError::new(self.span.clone(), message));
        }
        number
    }

    /// Parses an operand that begins with a name.
    fn named(&mut self, name: &'a str) -> Parsed<Expr> {
        let (start, span) = (self.span.start, self.span.clone());
        self.advance();
        if self.is("(") {
            return self.call(name, start);
        }
        let declared = self.script.vars.iter().position(|v| v.name == name);
        let kind = if let Some(number) = declared {
            ExprKind::Var(number)
        } else if let Some(row) = BUILTINS.iter().find(|b| b.0 == name) {
            ExprKind::Builtin(row.1)
        } else if let Some(operand) = operand(name) {
            operand
        } else if let "true" | "false" = name {
            ExprKind::Bool(name == "true")
        } else if let Some(parameter) = name.strip_prefix("arg.") {
            ExprKind::Arg(parameter.to_owned())
        } else {
            // Parsing continues with any builtin: the grammar does not depend on the name.
            let unknown = self.unknown(name, span);
            self.report(unknown);
            ExprKind::Builtin(Builtin::Site)
        };
        self.node(kind, start)
    }

    fn unknown(&self, name: &str, span: std::ops::Range<usize>) -> ProbeError {
        let error = ProbeError::new(span, format!("unknown name `{name}`"));
        if let Some((name, _, params, _)) = FUNCTIONS.iter().find(|f| f.0 == name) {
            return error.help(format!("call the function: `{name}({})`", params.join(", ")));
        }
        if name == "arg" {
            return error.help("write a kernel parameter as `arg.NAME`, or by its number as `arg.0`");
        }
        if name.strip_prefix("in").or(name.strip_prefix("out")).is_some_and(|d| d.parse::<u64>().is_ok()) {
            return error.help("the operands are `in0` to `in9` and `out0` to `out9`");
        }
        if ["tid", "ntid", "ctaid", "nctaid", "cluster"].contains(&name) {
            return error.help(format!("write `{name}.x`, `{name}.y` or `{name}.z`"));
        }
        if self.locals.contains_key(name) {
            return error.help(format!("did you mean `${name}`?"));
        }
        let vars = self.script.vars.iter().map(|v| v.name.as_str());
        let functions = FUNCTIONS.iter().map(|f| f.0);
        let names =
            vars.chain(BUILTINS.iter().map(|b| b.0)).chain(functions).chain(["out", "in0", "true", "false"]);
        match nearest(name, names) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => {
                error.help("docs/probes.md lists all names; declare a variable, or use a local one: `$x`")
            }
        }
    }

    /// `f(a, b)`, `u32(a)`
    fn call(&mut self, name: &str, start: usize) -> Parsed<Expr> {
        let span = start..self.end;
        self.advance();
        let mut args = self.inside(|p| {
            let mut args = Vec::new();
            while !p.is(")") {
                args.push(p.select()?);
                if !p.takes(",") {
                    break;
                }
            }
            Ok(args)
        })?;
        self.expect(")")?;
        let ty = TYPES.iter().find(|t| t.0 == name).map(|t| t.1);
        let function = FUNCTIONS.iter().find(|f| f.0 == name);
        let takes = match (ty, function) {
            (Some(_), _) => 1,
            (None, Some(function)) => function.2.len(),
            (None, None) => return Err(no_function(name, span)),
        };
        if args.len() != takes {
            let params = function.map_or("x".to_owned(), |f| f.2.join(", "));
            let given = if args.len() == 1 { "1 value" } else { &format!("{} values", args.len()) };
            let message = format!("`{name}({params})` has {given} here");
            let error = ProbeError::new(start..self.end, message);
            return Err(if args.len() == 1 && AGGREGATES.iter().any(|a| a.0 == name) {
                error.help(format!("to aggregate one value, update a table: `@t = {name}(x)`"))
            } else {
                error.help(format!("write `{name}({params})`"))
            });
        }
        let mut next = || args.pop().map(Box::new);
        let (Some(last), before) = (next(), next()) else { return Err(self.expected("a value")) };
        let kind = match (ty, function.map(|f| f.1), before) {
            (Some(ty), ..) => ExprKind::Cast(ty, last),
            (None, Some(Function::Unary(op)), _) => ExprKind::Unary(op, last),
            (None, Some(Function::Binary(op)), Some(first)) => ExprKind::Binary(op, first, last),
            (None, Some(Function::Bits), _) => ExprKind::Bits(last),
            (None, Some(Function::High), _) => ExprKind::High(last),
            (None, Some(Function::Ballot), _) => ExprKind::Ballot(last),
            (None, Some(Function::Same), _) => ExprKind::Same(last),
            (None, Some(Function::Reduce(how)), _) => ExprKind::Reduce(how, last),
            (None, Some(Function::Binary(_)) | None, _) => return Err(no_function(name, span)),
        };
        self.node(kind, start)
    }
}

fn no_function(name: &str, span: std::ops::Range<usize>) -> ProbeError {
    let error = ProbeError::new(span, format!("unknown function `{name}`"));
    if AGGREGATES.iter().any(|a| a.0 == name) {
        return error.help(format!("`{name}` is an aggregate, which updates a table: `@t = {name}(…)`"));
    }
    match nearest(name, FUNCTIONS.iter().map(|f| f.0).chain(TYPES.iter().map(|t| t.0))) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("docs/probes.md lists the functions"),
    }
}
