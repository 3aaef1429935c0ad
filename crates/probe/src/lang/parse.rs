//! Parses the text of a program into a [`Script`].
//!
//! This file parses declarations and clauses; `points`, `statement` and `expression` parse the rest.
//! Variables and records must be declared before they are used. After an error in a statement the parser
//! continues with the next statement, so one pass finds several errors. It drops a clause that contains an
//! error.
//!
//! # Invariants
//!
//! - Parsing ends: every iteration of a loop consumes a token. [`DEPTH`] and [`PARTS`] bound the nesting of
//!   the text and of the result.
//! - There are at most [`MAX_ERRORS`] errors.

mod expression;
mod points;
mod statement;

pub(super) use expression::{OPERATORS, SELECT, UNARY};
pub use points::TRACEPOINTS;
pub(super) use statement::assignment;

use std::collections::HashMap;

use prlx_trace::device::tables::Which;
use prlx_trace::table::Aggregate;

use super::ast::{Clause, Record, Script, Span, Table, Var};
use super::builtin::BUILTINS;
use super::check;
use super::error::{MAX_ERRORS, ProbeError, nearest};
use super::function::FUNCTIONS;
use super::token::{Lexer, Token};
use prlx_plan::VariableScope;
use prlx_plan::code::{TYPES, Ty};

/// Maximum nesting depth of parentheses, branches and loops.
const DEPTH: usize = 64;
/// Maximum number of operands and operators of an expression.
const PARTS: usize = 256;

/// Parses and checks a program.
///
/// # Errors
/// All errors, in the order of the text; at most `MAX_ERRORS`.
pub fn parse(text: &str) -> Result<Script, Vec<ProbeError>> {
    let mut parser = Parser::new(text);
    parser.program();
    let Parser { script, mut errors, .. } = parser;
    check::check(&script, &mut errors);
    if errors.is_empty() {
        return Ok(script);
    }
    errors.sort_by_key(|c| (c.span.start, c.span.end));
    errors.truncate(MAX_ERRORS);
    Err(errors)
}

/// Result of a parsing step. An error means that the step could not recover.
type Parsed<T> = Result<T, ProbeError>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    /// The place of the next token.
    span: Span,
    /// The end of the token before it.
    end: usize,
    script: Script,
    errors: Vec<ProbeError>,
    /// Numbers of tables by name.
    tables: HashMap<String, usize>,
    /// Local variables of the current clause that are in scope, by name.
    locals: HashMap<&'a str, usize>,
    /// Names of all local variables of the current clause.
    local_names: Vec<&'a str>,
    /// Variables of the loops around the current statement.
    loops: Vec<usize>,
    /// Nesting depth of the current statement or expression.
    depth: usize,
    /// Operands and operators of the current expression so far.
    parts: usize,
    /// Whether a `/` before a `{` ends the current expression.
    predicate: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let mut parser = Parser {
            lexer: Lexer::new(text),
            token: Token::End,
            span: 0..0,
            end: 0,
            script: Script { text: text.to_owned(), ..Script::default() },
            errors: Vec::new(),
            tables: HashMap::new(),
            locals: HashMap::new(),
            local_names: Vec::new(),
            loops: Vec::new(),
            depth: 0,
            parts: 0,
            predicate: false,
        };
        parser.advance();
        parser
    }

    /// Consumes the current token.
    fn advance(&mut self) {
        self.end = self.span.end;
        (self.token, self.span) = self.lexer.next();
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(s) if s == sign)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.token, Token::Name(n) if n == name)
    }

    /// Consumes a sign if it is the current token.
    fn takes(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    /// Consumes a word if it is the current token.
    fn takes_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// The error that the current token is not `what`.
    fn expected(&self, what: &str) -> ProbeError {
        let found = match &self.token {
            Token::Bad(why) => return ProbeError::new(self.span.clone(), *why),
            Token::End => "the end of the program".to_owned(),
            _ => {
                let text = &self.script.text[self.span.clone()];
                let short: String = text.chars().take(40).collect();
                if short.len() < text.len() { format!("`{short}…`") } else { format!("`{text}`") }
            }
        };
        ProbeError::new(self.span.clone(), format!("expected {what}, found {found}"))
    }

    fn report(&mut self, error: ProbeError) {
        if !self.full() {
            self.errors.push(error);
        }
    }

    /// Whether the maximum number of errors is reached.
    fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Reports the first item beyond a limit.
    fn limit(&mut self, count: usize, most: usize, what: &str, span: &Span) {
        if count == most + 1 {
            self.report(ProbeError::new(span.clone(), format!("a program has at most {most} {what}")));
        }
    }

    /// Parses something one nesting level deeper.
    fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            return Err(ProbeError::new(self.span.clone(), format!("nested more than {DEPTH} levels deep")));
        }
        self.depth += 1;
        let done = what(self);
        self.depth -= 1;
        done
    }

    /// Parses a name without dots.
    fn plain_name(&mut self, what: &str) -> Parsed<(&'a str, Span)> {
        match self.token {
            Token::Name(name) if !name.contains('.') => {
                let span = self.span.clone();
                self.advance();
                Ok((name, span))
            }
            _ => Err(self.expected(what)),
        }
    }

    fn program(&mut self) {
        let mut wrong = false;
        while self.token != Token::End && !self.full() {
            let (start, before) = (self.span.start, self.errors.len());
            let done = match self.token {
                Token::Name("thread") => self.var(VariableScope::Thread),
                Token::Name("warp") => self.var(VariableScope::Warp),
                Token::Name("cta") => self.var(VariableScope::Cta),
                Token::Name("record") => self.record(),
                _ => self.clause(),
            };
            if let Err(error) = done {
                self.report(error);
                self.skip_item(start);
            }
            wrong |= self.errors.len() > before;
        }
        if self.script.clauses.is_empty() && !wrong {
            let error = ProbeError::new(self.span.clone(), "the program has no clause");
            self.report(error.help("add one, for example `kernel:begin { @threads = count(); }`"));
        }
    }

    /// After an error in a declaration or in the head of a clause: skips to its end.
    fn skip_item(&mut self, start: usize) {
        if self.span.start == start {
            self.advance();
        }
        let mut depth = 0usize;
        while self.token != Token::End {
            let ends = match self.token {
                Token::Sign("{") => {
                    depth += 1;
                    false
                }
                Token::Sign("}") => {
                    depth = depth.saturating_sub(1);
                    depth == 0
                }
                Token::Sign(";") => depth == 0,
                _ => false,
            };
            self.advance();
            if ends {
                return;
            }
        }
    }

    /// `thread start: u64 = 0;`
    fn var(&mut self, of: VariableScope) -> Parsed<()> {
        self.advance();
        let (name, span) = self.plain_name("a variable's name")?;
        let init_of = |parser: &mut Self| -> Parsed<(Ty, u64)> {
            parser.expect(":")?;
            let ty = parser.ty()?;
            let init = if parser.takes("=") { parser.constant(ty)? } else { 0 };
            Ok((ty, init))
        };
        let done = init_of(self);
        // Declares the name even after an error, so that its uses give no further errors.
        let (ty, init) = done.as_ref().map_or((Ty::U64, 0), |d| *d);
        if let Some(what) = reserved(name) {
            let error =
                ProbeError::new(span, format!("a variable cannot be named `{name}`, which is {what}"));
            self.report(error.help("choose another name"));
        } else if self.script.vars.iter().any(|v| v.name == name) {
            self.report(ProbeError::new(span, format!("variable `{name}` is already declared")));
        } else {
            self.limit(self.script.vars.len() + 1, check::VARS, "variables", &span);
            self.script.vars.push(Var { name: name.to_owned(), of, ty, init, span });
        }
        done?;
        self.expect(";")
    }

    fn ty(&mut self) -> Parsed<Ty> {
        let (name, span) = self.plain_name("a type")?;
        TYPES.iter().find(|(n, _)| *n == name).map(|(_, ty)| *ty).ok_or_else(|| {
            let error = ProbeError::new(span, format!("unknown type `{name}`"));
            match nearest(name, TYPES.iter().map(|t| t.0)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => {
                    let names: Vec<&str> = TYPES.iter().map(|t| t.0).collect();
                    error.help(format!("the types are {}", names.join(", ")))
                }
            }
        })
    }

    /// Parses a number, `true` or `false`, and returns its bits as a value of type `ty`.
    fn constant(&mut self, ty: Ty) -> Parsed<u64> {
        let start = self.span.start;
        let minus = self.takes("-");
        let sign = if minus { -1.0 } else { 1.0 };
        let bits = match self.token {
            Token::Int(n) if ty.float() => float_bits(ty, sign * n as f64),
            Token::Float(x) if ty.float() => float_bits(ty, sign * x),
            Token::Int(n) if ty.integer() => {
                let n = if minus { -i128::from(n) } else { i128::from(n) };
                super::types::range(ty).contains(&n).then_some(n as u64 & u64::MAX >> (64 - ty.bits()))
            }
            Token::Name("true") if ty == Ty::Bool && !minus => Some(1),
            Token::Name("false") if ty == Ty::Bool && !minus => Some(0),
            Token::Int(_) | Token::Float(_) | Token::Name("true" | "false") => None,
            _ => return Err(self.expected("a constant")),
        };
        self.advance();
        let span = start..self.end;
        bits.ok_or_else(|| {
            let text = &self.script.text[span.clone()];
            ProbeError::new(span, format!("`{text}` is not a value of type `{}`", ty.name()))
        })
    }

    /// `record @sched(start: u64, sm: u32) per warp keep 1;`
    fn record(&mut self) -> Parsed<()> {
        let start = self.span.start;
        self.advance();
        let Token::At(name) = self.token else { return Err(self.expected("a record name such as `@sched`")) };
        let name_span = self.span.clone();
        if name.is_empty() {
            return Err(ProbeError::new(name_span, "a record needs a name, for example `@sched`"));
        }
        self.advance();
        let mut fields: Vec<(String, Ty)> = Vec::new();
        self.expect("(")?;
        while !self.is(")") {
            let (name, span) = self.plain_name("a field's name")?;
            self.expect(":")?;
            let ty = self.ty()?;
            if fields.iter().any(|f| f.0 == name) {
                self.report(ProbeError::new(span, format!("field `{name}` is already declared")));
            }
            fields.push((name.to_owned(), ty));
            if fields.len() > check::FIELDS {
                return Err(ProbeError::new(
                    start..self.end,
                    format!("a record has at most {} fields", check::FIELDS),
                ));
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect(")")?;
        if fields.is_empty() {
            self.report(ProbeError::new(start..self.end, "a record needs at least one field"));
        }
        if !self.takes_name("per") {
            return Err(self.expected("`per warp` or `per thread`"));
        }
        let of = match self.token {
            Token::Name("thread") => VariableScope::Thread,
            Token::Name("warp") => VariableScope::Warp,
            _ => return Err(self.expected("`warp` or `thread`")),
        };
        self.advance();
        let which = match (self.takes_name("grow"), self.takes_name("keep")) {
            (true, false) => Which::Room,
            (false, true) if self.takes_name("last") => Which::Last,
            (false, true) => Which::First,
            _ => return Err(self.expected("`keep` or `grow`, then a number of records")),
        };
        let Token::Int(keep) = self.token else { return Err(self.expected("the number of records to keep")) };
        let keep = u32::try_from(keep).ok().filter(|k| (1..=check::KEEP).contains(k));
        if keep.is_none() {
            let message = format!("the number of records must be 1 to {}", check::KEEP);
            self.report(ProbeError::new(self.span.clone(), message));
        }
        self.advance();
        let span = start..self.end;
        if self.script.records.iter().any(|r| r.name == name) {
            self.report(ProbeError::new(name_span, format!("record `@{name}` is already declared")));
        } else if self.tables.contains_key(name) {
            self.report(ProbeError::new(name_span, format!("`@{name}` is already a table")));
        } else {
            self.limit(self.script.records.len() + 1, check::RECORDS, "record declarations", &span);
            let name = name.to_owned();
            self.script.records.push(Record { name, fields, of, keep: keep.unwrap_or(1), which, span });
        }
        self.expect(";")
    }

    /// `tracepoint, tracepoint /predicate/ { action }`
    fn clause(&mut self) -> Parsed<()> {
        let (start, before) = (self.span.start, self.errors.len());
        self.locals.clear();
        self.local_names.clear();
        let mut tracepoints = vec![self.tracepoint()?];
        while self.takes(",") {
            tracepoints.push(self.tracepoint()?);
            if tracepoints.len() > check::POINTS {
                let message = format!("a clause has at most {} tracepoints", check::POINTS);
                return Err(ProbeError::new(start..self.end, message));
            }
        }
        let mut predicate = None;
        if self.takes("/") {
            self.predicate = true;
            let read = self.expression();
            self.predicate = false;
            predicate = Some(read?);
            self.expect("/")?;
        }
        if !self.is("{") {
            return Err(self.expected(if predicate.is_none() { "`/predicate/` or `{`" } else { "`{`" }));
        }
        let body = self.block()?;
        if self.errors.len() == before {
            let locals = self.local_names.iter().map(|l| (*l).to_owned()).collect();
            self.script.clauses.push(Clause { tracepoints, predicate, body, locals, span: start..self.end });
        }
        Ok(())
    }

    /// The index of a table. Reports an update that does not match the table's first one.
    fn table(&mut self, name: &str, aggregate: Aggregate, keys: usize, span: &Span) -> usize {
        if let Some(record) = self.script.records.iter().find(|r| r.name == name) {
            let help = format!("save a record: `save @{name}({})`", field_names(record));
            let message = format!("`@{name}` is a record, not a table");
            self.report(ProbeError::new(span.clone(), message).help(help));
        }
        let new = self.script.tables.len();
        let number = *self.tables.entry(name.to_owned()).or_insert(new);
        let Some(table) = self.script.tables.get(number) else {
            self.limit(new + 1, check::TABLES, "tables", span);
            self.script.tables.push(Table { name: name.to_owned(), aggregate, keys, span: span.clone() });
            return number;
        };
        let line = 1 + self.script.text[..table.span.start].matches('\n').count();
        if table.aggregate != aggregate {
            let (this, first) =
                (super::print::aggregate(aggregate, "…"), super::print::aggregate(table.aggregate, "…"));
            let message = format!("`@{name}` uses `{this}` here, but `{first}` in line {line}");
            let help = "use one aggregate for a table, or a second table";
            self.report(ProbeError::new(span.clone(), message).help(help));
        } else if table.keys != keys {
            let message =
                format!("`@{name}` has {} here, but {} in line {line}", keyed(keys), keyed(table.keys));
            self.report(ProbeError::new(span.clone(), message));
        }
        number
    }
}

fn keyed(keys: usize) -> String {
    match keys {
        0 => "no key".to_owned(),
        1 => "1 key".to_owned(),
        n => format!("{n} keys"),
    }
}

/// The names of a record's fields, separated by commas.
fn field_names(record: &Record) -> String {
    record.fields.iter().map(|f| f.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// The bits of a value as a float of type `ty`; `None` if it is too large for an `f32`.
fn float_bits(ty: Ty, value: f64) -> Option<u64> {
    let narrow = value as f32;
    match ty {
        Ty::F32 => narrow.is_finite().then(|| narrow.to_bits().into()),
        _ => Some(value.to_bits()),
    }
}

/// What a name means to the language, if a variable cannot have it.
fn reserved(name: &str) -> Option<&'static str> {
    /// Keywords that can stand where an expression or a statement can.
    const WORDS: &[&str] = &["if", "else", "for", "in", "save", "true", "false", "arg", "record"];
    if BUILTINS.iter().any(|b| b.0 == name) {
        Some("a builtin")
    } else if FUNCTIONS.iter().any(|f| f.0 == name) {
        Some("a function")
    } else if TYPES.iter().any(|t| t.0 == name) {
        Some("a type")
    } else if WORDS.contains(&name) {
        Some("a keyword")
    } else if super::ast::operand(name).is_some() {
        Some("an operand")
    } else {
        None
    }
}
