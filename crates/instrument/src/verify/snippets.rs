//! Finds the inserted snippets by comparing two texts token by token.
//!
//! A snippet is a statement, a label, a scope or a list entry that contains the prefix, at a position where
//! one may be. The function that takes a chunk may stand before the first function. Everything else has to be
//! the original's: equal tokens, and equal bytes between them, except for white space beside a snippet.

use crate::tokens::tokens;
use prlx_isa::view::{Class, Module};
use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::tokens::{Token, closing};
use crate::verify::fault::wrong;
use crate::verify::next_chunk::name;

/// Inserted text between two tokens of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct InsertedSnippet {
    /// End of the preceding token of the source.
    pub after: usize,
    /// Beginning of the following token of the source.
    pub before: usize,
    /// Whether it is a list entry; otherwise it is statements, or the function that takes a chunk.
    pub list: bool,
    /// Its parts in the rewritten text: statements, labels and scopes.
    pub units: Vec<(usize, usize)>,
}

/// Positions where text may be inserted.
struct AllowedPlaces {
    starts: FxHashSet<usize>,
    ends: FxHashSet<usize>,
    tops: FxHashSet<usize>,
    /// Where the first function begins.
    first: Option<usize>,
    /// Bodies of functions, and calls: sorted.
    bodies: Vec<(usize, usize)>,
    calls: Vec<(usize, usize)>,
}

impl AllowedPlaces {
    fn of(module: &Module) -> AllowedPlaces {
        let insts = || module.functions.iter().flat_map(|f| &f.insts);
        let range = |s: prlx_isa::view::Span| (s.start as usize, s.end as usize);
        AllowedPlaces {
            starts: insts().map(|i| i.span.start as usize).collect(),
            ends: insts().map(|i| i.span.end as usize).collect(),
            tops: module.functions.iter().map(|f| f.body.start as usize + 1).collect(),
            first: module.functions.first().map(|f| f.span.start as usize),
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

/// The rewritten text as tokens.
struct RewrittenTokens<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// Whether each token contains the prefix.
    ours: Vec<bool>,
    /// For each token, the number of tokens up to the next of [`ENTRY_ENDS`], or up to the end of the text.
    /// Debug sections have hundreds of thousands of tokens without one: a search from each would be
    /// quadratic.
    entry_ends: Vec<usize>,
}

/// Tokens at which a list entry ends at the latest.
const ENTRY_ENDS: [&str; 6] = [",", ";", "(", ")", "{", "}"];

impl<'a> RewrittenTokens<'a> {
    fn of(text: &'a str, prefix: &str) -> RewrittenTokens<'a> {
        let tokens = tokens(text, 0, text.len());
        let mut ours = vec![false; tokens.len()];
        let mut next = 0;
        for (at, _) in text.match_indices(prefix) {
            while tokens.get(next).is_some_and(|t| t.end() <= at) {
                next += 1;
            }
            // A prefix in a comment is in no token.
            if tokens.get(next).is_some_and(|t| t.at <= at) {
                ours[next] = true;
            }
        }
        let mut entry_ends = vec![0; tokens.len()];
        let mut distance = 0;
        for (token, end) in tokens.iter().zip(&mut entry_ends).rev() {
            distance = if ENTRY_ENDS.contains(&token.text) { 0 } else { distance + 1 };
            *end = distance;
        }
        RewrittenTokens { text, tokens, ours, entry_ends }
    }

    /// The tokens from `first` on.
    fn from(&self, first: usize) -> Remaining<'_, 'a> {
        Remaining {
            tokens: &self.tokens[first..],
            ours: &self.ours[first..],
            entry_ends: &self.entry_ends[first..],
        }
    }
}

/// The tokens that are still to be read.
#[derive(Clone, Copy)]
struct Remaining<'t, 'a> {
    tokens: &'t [Token<'a>],
    ours: &'t [bool],
    entry_ends: &'t [usize],
}

/// Finds all inserted snippets.
pub(super) fn find_snippets(
    source: &str,
    rewritten: &str,
    module: &Module,
    prefix: &str,
) -> Result<Vec<InsertedSnippet>, Error> {
    let places = AllowedPlaces::of(module);
    let (a, new) = (tokens(source, 0, source.len()), RewrittenTokens::of(rewritten, prefix));
    let b = &new.tokens;
    let next_chunk = name(prefix);
    let mut found = Vec::new();
    let (mut i, mut j, mut after, mut at) = (0, 0, 0, 0);
    loop {
        let before = a.get(i).map_or(source.len(), |t| t.at);
        let next = a.get(i).map(|t| t.text);
        let (list, statement) = (places.list(before), places.statement(after, before));
        let mut snippet = InsertedSnippet { after, before, list, units: Vec::new() };
        let mut rest = String::new();
        loop {
            let front = new.from(j);
            let function = match places.first == Some(before) && snippet.units.is_empty() {
                true => front.function(&next_chunk),
                false => 0,
            };
            let n = if statement { front.unit() } else { function };
            let n = if n == 0 && list && snippet.units.is_empty() { front.entry(next) } else { n };
            if n == 0 {
                break;
            }
            let entry = !statement || !new.ours[j] && matches!(b[j].text, "," | "(" | ".") && list;
            snippet.list = entry && function == 0;
            let (start, end) = (b[j].at, b[j + n - 1].end());
            rest.push_str(&new.text[at..start]);
            snippet.units.push((start, end));
            at = end;
            j += n;
        }
        let until = b.get(j).map_or(rewritten.len(), |t| t.at);
        let (last, between) = (&rewritten[at..until], &source[after..before]);
        let same = match snippet.units.is_empty() {
            true => last == between,
            false => without_white(rest.bytes().chain(last.bytes()), between),
        };
        if !same {
            return Err(wrong(at, "bytes of the original changed between two words"));
        }
        if !snippet.units.is_empty() {
            found.push(snippet);
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

/// Whether `wanted` is `text` without some of its white space.
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

impl Remaining<'_, '_> {
    /// Whether a token in the range contains the prefix.
    fn ours(&self, range: std::ops::Range<usize>) -> bool {
        self.ours[range].iter().any(|ours| *ours)
    }

    /// Number of tokens of an inserted statement, label or scope at the front; 0: none.
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
                // A directive of the original, such as `.loc`, has no terminator before an inserted
                // statement.
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

    /// Number of tokens of the inserted function `name` at the front; 0: none.
    fn function(&self, name: &str) -> usize {
        let b = self.tokens;
        let head: String = b.iter().take(10).map(|t| t.text).collect();
        match b.iter().position(|t| t.text == "{") {
            Some(open) if head.starts_with(".func(") && head.ends_with(&format!("){name}")) => {
                closing(&b[open..], 0).map_or(0, |end| open + end + 1)
            }
            _ => 0,
        }
    }

    /// Number of tokens of an inserted list entry at the front, where the original continues with `next`; 0:
    /// none.
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
            // Before another entry: the array of variadic arguments must stay the last one.
            _ => match self.entry_ends.first() {
                Some(&end) if b.get(end).is_some_and(|t| t.text == ",") && self.ours(0..end) => end + 1,
                _ => 0,
            },
        }
    }
}
