//! What was inserted, found by comparing two texts token by token.
//!
//! A piece is a statement, a label, a scope or a list entry that has the prefix in it and stands where one may stand. All
//! else has to be the original's: tokens equal, and the bytes between them too, but for white space beside a piece.

use crate::tokens::tokens;
use prlx_isa::view::{Class, Module};
use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::tokens::{Token, closing};
use crate::verify::fault::wrong;

/// Inserted text between two tokens of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// End of the token of the source before it.
    pub after: usize,
    /// Beginning of the token of the source after it.
    pub before: usize,
    /// Whether it is an entry of a list; else it is statements.
    pub list: bool,
    /// Its parts in the rewritten text: statements, labels and scopes.
    pub units: Vec<(usize, usize)>,
}

/// Where statements may be inserted.
struct Places {
    starts: FxHashSet<usize>,
    ends: FxHashSet<usize>,
    tops: FxHashSet<usize>,
    /// Bodies and, by body, calls: sorted.
    bodies: Vec<(usize, usize)>,
    calls: Vec<(usize, usize)>,
}

impl Places {
    fn of(module: &Module) -> Places {
        let insts = || module.functions.iter().flat_map(|f| &f.insts);
        let range = |s: prlx_isa::view::Span| (s.start as usize, s.end as usize);
        Places {
            starts: insts().map(|i| i.span.start as usize).collect(),
            ends: insts().map(|i| i.span.end as usize).collect(),
            tops: module.functions.iter().map(|f| f.body.start as usize + 1).collect(),
            bodies: module.functions.iter().map(|f| range(f.body)).collect(),
            calls: insts().filter(|i| i.class == Class::Call).map(|i| range(i.span)).collect(),
        }
    }
    fn statement(&self, after: usize, before: usize) -> bool {
        self.tops.contains(&after) || self.ends.contains(&after) || self.starts.contains(&before)
    }
    fn list(&self, before: usize) -> bool {
        let within = |ranges: &[(usize, usize)]| {
            let i = ranges.partition_point(|r| r.1 <= before);
            ranges.get(i).is_some_and(|r| r.0 < before)
        };
        !within(&self.bodies) || within(&self.calls)
    }
}

/// The rewritten text.
struct New<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// By token: whether it has the prefix in it.
    ours: Vec<bool>,
}

impl<'a> New<'a> {
    fn of(text: &'a str, prefix: &str) -> New<'a> {
        let tokens = tokens(text, 0, text.len());
        let mut ours = vec![false; tokens.len()];
        let mut next = 0;
        for (at, _) in text.match_indices(prefix) {
            while tokens.get(next).is_some_and(|t| t.end() <= at) {
                next += 1;
            }
            // In a comment it is in no token.
            if tokens.get(next).is_some_and(|t| t.at <= at) {
                ours[next] = true;
            }
        }
        New { text, tokens, ours }
    }

    /// From a token on.
    fn from(&self, first: usize) -> Front<'_, 'a> {
        Front { tokens: &self.tokens[first..], ours: &self.ours[first..] }
    }
}

/// Tokens that are yet to be read.
#[derive(Clone, Copy)]
struct Front<'t, 'a> {
    tokens: &'t [Token<'a>],
    ours: &'t [bool],
}

/// Finds all pieces.
pub(super) fn pieces(
    source: &str,
    rewritten: &str,
    module: &Module,
    prefix: &str,
) -> Result<Vec<Piece>, Error> {
    let places = Places::of(module);
    let (a, new) = (tokens(source, 0, source.len()), New::of(rewritten, prefix));
    let b = &new.tokens;
    let mut found = Vec::new();
    let (mut i, mut j, mut after, mut at) = (0, 0, 0, 0);
    loop {
        let before = a.get(i).map_or(source.len(), |t| t.at);
        let next = a.get(i).map(|t| t.text);
        let (list, statement) = (places.list(before), places.statement(after, before));
        let mut piece = Piece { after, before, list, units: Vec::new() };
        let mut rest = String::new();
        loop {
            let front = new.from(j);
            let n = if statement { front.unit() } else { 0 };
            let n = if n == 0 && list && piece.units.is_empty() { front.entry(next) } else { n };
            if n == 0 {
                break;
            }
            piece.list = !statement || !new.ours[j] && matches!(b[j].text, "," | "(" | ".") && list;
            let (start, end) = (b[j].at, b[j + n - 1].end());
            rest.push_str(&new.text[at..start]);
            piece.units.push((start, end));
            at = end;
            j += n;
        }
        let until = b.get(j).map_or(rewritten.len(), |t| t.at);
        let (last, between) = (&rewritten[at..until], &source[after..before]);
        let same = match piece.units.is_empty() {
            true => last == between,
            false => without_white(rest.bytes().chain(last.bytes()), between),
        };
        if !same {
            return Err(wrong(at, "bytes of the original changed between two words"));
        }
        if !piece.units.is_empty() {
            found.push(piece);
        }
        match (a.get(i), b.get(j)) {
            (None, None) => return Ok(found),
            (Some(x), Some(y)) if x.text == y.text => (after, at) = (x.end(), y.end()),
            (x, y) => {
                let [x, y] = [x, y].map(|t| t.map_or("the end", |t| t.text));
                return Err(wrong(until, format!("`{y}` stands where the original has `{x}`")));
            }
        }
        i += 1;
        j += 1;
    }
}

/// Whether `wanted` is `text` less some white space.
fn without_white(text: impl Iterator<Item = u8>, wanted: &str) -> bool {
    let mut wanted = wanted.bytes().peekable();
    for b in text {
        if wanted.peek() == Some(&b) {
            wanted.next();
        } else if !b.is_ascii_whitespace() {
            return false;
        }
    }
    wanted.next().is_none()
}

impl Front<'_, '_> {
    /// Whether one of the first so many has the prefix in it.
    fn ours(&self, range: std::ops::Range<usize>) -> bool {
        self.ours[range].iter().any(|ours| *ours)
    }

    /// How many tokens an inserted statement, label or scope at the front has; 0: there is none.
    fn unit(&self) -> usize {
        let b = self.tokens;
        match b {
            [open, dot, reg, ..] if open.text == "{" && dot.text == "." && reg.text == "reg" => {
                let first = b.iter().position(|t| t.text == ";").unwrap_or(0);
                match closing(b, 0) {
                    Some(end) if self.ours(0..first) => end + 1,
                    _ => 0,
                }
            }
            [_, colon, ..] if colon.text == ":" && self.ours[0] => 2,
            _ => {
                let Some(end) = b.iter().position(|t| t.text == ";") else { return 0 };
                if !self.ours(0..end) {
                    return 0;
                }
                let statement = &b[..end];
                // A directive of the original, such as `.loc`, has no end of its own before an inserted statement.
                let declares = |t: &Token<'_>| matches!(t.text, "reg" | "local" | "param");
                let foreign = statement.iter().any(|t| t.text == "call" || t.text == ":")
                    || statement.first().is_none_or(|t| t.text == "}")
                    || statement[0].text == "." && !statement.get(1).is_some_and(declares);
                let whole = statement.iter().filter(|t| t.text == "{").count()
                    == statement.iter().filter(|t| t.text == "}").count();
                if !foreign && whole { end + 1 } else { 0 }
            }
        }
    }

    /// How many tokens an inserted list entry at the front has, where the original goes on with `next`.
    fn entry(&self, next: Option<&str>) -> usize {
        let b = self.tokens;
        let group = |open: usize| match closing(b, open) {
            Some(end) if self.ours(open..end) => end + 1,
            _ => 0,
        };
        match (b, next) {
            ([first, second, ..], n) if first.text == "," && second.text == "(" && n != Some(",") => group(1),
            ([first, ..], n) if first.text == "(" && n != Some("(") => group(0),
            (_, Some(")")) => match b.iter().position(|t| t.text == ")") {
                Some(end) if self.ours(0..end) => end,
                _ => 0,
            },
            _ => 0,
        }
    }
}
