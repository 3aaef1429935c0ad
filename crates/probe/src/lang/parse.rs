//! A program's text becomes a [`Script`]: declarations and clauses here, the rest in `points`, `statement` and
//! `expression`.
//!
//! Variables and records are declared before they are used. A statement that is wrong is passed over, so that one
//! reading finds what is wrong in the others too; a clause with a wrong statement is left out.
//!
//! Holds: reading ends, for every turn of a loop takes a token; how deep it goes is bounded ([`DEPTH`], [`PARTS`]), and
//! so is how deep what it makes is; at most [`MAX_ERRORS`] errors.

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

/// How deep parentheses, branches and loops may lie in one another.
const DEPTH: usize = 64;
/// Most parts of an expression: operands and operators.
const PARTS: usize = 256;

/// Reads and checks a program.
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

/// What a step gives, or why there is nothing to go on with.
type Parsed<T> = Result<T, ProbeError>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    /// Where that is.
    span: Span,
    /// Where the one before ended.
    end: usize,
    script: Script,
    errors: Vec<ProbeError>,
    /// Numbers of tables by name.
    tables: HashMap<String, usize>,
    /// Numbers of local variables of the clause at hand that have a name here.
    locals: HashMap<&'a str, usize>,
    /// Names of all of them.
    local_names: Vec<&'a str>,
    /// Loops around the statement at hand: their variables.
    loops: Vec<usize>,
    /// How deep it is.
    depth: usize,
    /// Parts of the expression at hand so far.
    parts: usize,
    /// Whether a `/` before a `{` ends the expression at hand.
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

    /// Passes the token at hand.
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

    /// Passes a sign if it is there.
    fn takes(&mut self, sign: &str) -> bool {
        let there = self.is(sign);
        if there {
            self.advance();
        }
        there
    }

    /// Passes a word if it is there.
    fn takes_name(&mut self, name: &str) -> bool {
        let there = self.is_name(name);
        if there {
            self.advance();
        }
        there
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// The complaint that something else was expected.
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

    fn report(&mut self, complaint: ProbeError) {
        if !self.full() {
            self.errors.push(complaint);
        }
    }

    /// Whether there are enough errors.
    fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Complains where there is one more of something than there may be.
    fn limit(&mut self, count: usize, most: usize, what: &str, span: &Span) {
        if count == most + 1 {
            self.report(ProbeError::new(span.clone(), format!("a program has at most {most} {what}")));
        }
    }

    /// Does something one level deeper.
    fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            return Err(ProbeError::new(
                self.span.clone(),
                format!("more than {DEPTH} levels lie in one another here"),
            ));
        }
        self.depth += 1;
        let done = what(self);
        self.depth -= 1;
        done
    }

    /// A name without points.
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
            if let Err(complaint) = done {
                self.report(complaint);
                self.pass_item(start);
            }
            wrong |= self.errors.len() > before;
        }
        if self.script.clauses.is_empty() && !wrong {
            let message = "the program says nowhere what to do";
            self.report(
                ProbeError::new(self.span.clone(), message).help("`kernel:begin { @threads = count(); }`"),
            );
        }
    }

    /// After a mistake in a declaration or a clause's head: to the end of it.
    fn pass_item(&mut self, start: usize) {
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
        // The name is known even so: that its uses are wrong too would be no news.
        let (ty, init) = done.as_ref().map_or((Ty::U64, 0), |d| *d);
        if let Some(what) = taken(name) {
            self.report(ProbeError::new(
                span,
                format!("a variable can't be called `{name}`: that is {what}"),
            ));
        } else if self.script.vars.iter().any(|v| v.name == name) {
            self.report(ProbeError::new(span, format!("there is a variable `{name}` already")));
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
            let complaint = ProbeError::new(span, format!("there is no type `{name}`"));
            match nearest(name, TYPES.iter().map(|t| t.0)) {
                Some(near) => complaint.help(format!("did you mean `{near}`?")),
                None => {
                    let names: Vec<&str> = TYPES.iter().map(|t| t.0).collect();
                    complaint.help(format!("types are {}", names.join(", ")))
                }
            }
        })
    }

    /// A number, `true` or `false`: its bits in a type.
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
            ProbeError::new(span, format!("`{text}` is no value of type `{}`", ty.name()))
        })
    }

    /// `record @sched(start: u64, sm: u32) per warp keep 1;`
    fn record(&mut self) -> Parsed<()> {
        let start = self.span.start;
        self.advance();
        let Token::At(name) = self.token else { return Err(self.expected("a record's name, as `@sched`")) };
        let name_span = self.span.clone();
        if name.is_empty() {
            return Err(ProbeError::new(name_span, "a record has a name"));
        }
        self.advance();
        let mut fields: Vec<(String, Ty)> = Vec::new();
        self.expect("(")?;
        while !self.is(")") {
            let (name, span) = self.plain_name("a field's name")?;
            self.expect(":")?;
            let ty = self.ty()?;
            if fields.iter().any(|f| f.0 == name) {
                self.report(ProbeError::new(span, format!("there is a field `{name}` already")));
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
            self.report(ProbeError::new(start..self.end, "a record has fields"));
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
            _ => return Err(self.expected("`keep` or `grow`, and how many")),
        };
        let Token::Int(keep) = self.token else { return Err(self.expected("how many records are kept")) };
        let keep = u32::try_from(keep).ok().filter(|k| (1..=check::KEEP).contains(k));
        if keep.is_none() {
            let message = format!("of one holder, 1 to {} records are kept", check::KEEP);
            self.report(ProbeError::new(self.span.clone(), message));
        }
        self.advance();
        let span = start..self.end;
        if self.script.records.iter().any(|r| r.name == name) {
            self.report(ProbeError::new(name_span, format!("there are records `@{name}` already")));
        } else if self.tables.contains_key(name) {
            self.report(ProbeError::new(name_span, format!("`@{name}` is a table above")));
        } else {
            self.limit(self.script.records.len() + 1, check::RECORDS, "kinds of records", &span);
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

    /// The number of a table; all of it is as at its first mention.
    fn table(&mut self, name: &str, aggregate: Aggregate, keys: usize, span: &Span) -> usize {
        if let Some(record) = self.script.records.iter().find(|r| r.name == name) {
            let help = format!("`save @{name}({})`", field_names(record));
            self.report(ProbeError::new(span.clone(), format!("`@{name}` are records")).help(help));
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
            let message = format!("`@{name}` takes `{this}` here, and `{first}` in line {line}");
            self.report(ProbeError::new(span.clone(), message).help("a table aggregates in one way"));
        } else if table.keys != keys {
            let message =
                format!("`@{name}` has {} here, and {} in line {line}", keyed(keys), keyed(table.keys));
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

/// Names of a record's fields.
fn field_names(record: &Record) -> String {
    record.fields.iter().map(|f| f.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// A float's bits in its type, if it is not too large for it.
fn float_bits(ty: Ty, value: f64) -> Option<u64> {
    let narrow = value as f32;
    match ty {
        Ty::F32 => narrow.is_finite().then(|| narrow.to_bits().into()),
        _ => Some(value.to_bits()),
    }
}

/// What a name means without being declared.
fn taken(name: &str) -> Option<&'static str> {
    /// Words of the grammar that stand where an expression or a statement could.
    const WORDS: &[&str] = &["if", "else", "for", "in", "save", "true", "false", "arg", "record"];
    if BUILTINS.iter().any(|b| b.0 == name) {
        Some("a builtin")
    } else if FUNCTIONS.iter().any(|f| f.0 == name) {
        Some("a function")
    } else if TYPES.iter().any(|t| t.0 == name) {
        Some("a type")
    } else if WORDS.contains(&name) {
        Some("a word of the language")
    } else if super::ast::operand(name).is_some() {
        Some("an operand")
    } else {
        None
    }
}
