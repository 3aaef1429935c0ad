//! Splits the text of a program into tokens, one at a time, on demand of the parser: words of tracepoints
//! differ.
//!
//! # Invariants
//!
//! - Every token but the end takes at least one byte, so parsing ends.
//! - Spans lie on character boundaries.

use super::Span;

/// A token of the probe language.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A name, perhaps dotted: `size`, `tid.x`, `arg.0`.
    Name(&'a str),
    /// `$name`.
    Local(&'a str),
    /// `@name`, the name perhaps empty.
    At(&'a str),
    /// A whole number.
    Int(u64),
    /// A number with a point or an exponent; finite.
    Float(f64),
    /// A text, without its quotes.
    Text(String),
    /// One of [`SIGNS`].
    Sign(&'static str),
    /// Nothing that the language has, and why.
    Bad(&'static str),
    /// The end of the text.
    End,
}

/// Signs; where one begins with another, the longer one comes first.
#[rustfmt::skip]
const SIGNS: &[&str] = &[
    "<<=", ">>=",
    "..", "++", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>",
    "{", "}", "(", ")", "[", "]", ",", ";", ":", "?", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=",
];

/// Splits a text into tokens.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Where the next token is looked for.
    pub at: usize,
}

/// A part of a tracepoint between colons, and where it is.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Part {
    pub text: String,
    pub quoted: bool,
    pub span: Span,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Takes characters while they are such.
    fn run(&mut self, such: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !such(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// The next token, and where it is.
    pub fn next(&mut self) -> (Token<'a>, Span) {
        if let Err(open) = self.blank() {
            return (Token::Bad("this comment does not end"), open..open + 2);
        }
        let start = self.at;
        let token = self.token();
        (token, start..self.at)
    }

    /// Passes white space and comments; where a comment begins that does not end.
    fn blank(&mut self) -> Result<(), usize> {
        let mut line_start = self.at == 0;
        loop {
            line_start |= self.run(char::is_whitespace).contains('\n');
            let rest = self.rest();
            if rest.starts_with("//") || rest.starts_with('#') && line_start {
                self.run(|c| c != '\n');
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let open = self.at;
                let Some(end) = comment.find("*/") else {
                    self.at = self.text.len();
                    return Err(open);
                };
                self.at += 2 + end + 2;
                line_start = false;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Token<'a> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Token::End };
        match first {
            '0'..='9' => self.number(),
            '"' => self.quoted(),
            c if begins_name(c) => self.name(),
            '$' | '@' => {
                self.at += 1;
                let name = if self.rest().starts_with(begins_name) { self.run(in_name) } else { "" };
                match first {
                    '@' => Token::At(name),
                    _ if name.is_empty() => Token::Bad("a local variable has a name: `$x`"),
                    _ => Token::Local(name),
                }
            }
            _ => match SIGNS.iter().find(|s| rest.starts_with(**s)) {
                Some(sign) => {
                    self.at += sign.len();
                    Token::Sign(sign)
                }
                None => {
                    self.at += first.len_utf8();
                    Token::Bad("this character means nothing here")
                }
            },
        }
    }

    /// A name; what follows a point directly belongs to it.
    fn name(&mut self) -> Token<'a> {
        let start = self.at;
        self.run(in_name);
        while self.rest().strip_prefix('.').is_some_and(|r| r.starts_with(|c| in_name(c) || c == '$')) {
            self.at += 1;
            self.run(|c| in_name(c) || c == '$');
        }
        Token::Name(&self.text[start..self.at])
    }

    fn number(&mut self) -> Token<'a> {
        const BAD: Token<'_> = Token::Bad("this is no number");
        let start = self.at;
        let whole = self.run(in_name);
        for (prefix, radix) in [("0x", 16), ("0b", 2)] {
            if let Some(digits) = whole.strip_prefix(prefix) {
                return u64::from_str_radix(&digits.replace('_', ""), radix).map_or(BAD, Token::Int);
            }
        }
        let mut float = whole.contains(['e', 'E']);
        if !float
            && self.rest().strip_prefix('.').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.at += 1;
            self.run(in_name);
            float = true;
        }
        if float && self.text[start..self.at].ends_with(['e', 'E']) && self.rest().starts_with(['+', '-']) {
            self.at += 1;
            self.run(in_name);
        }
        let text = self.text[start..self.at].replace('_', "");
        if float {
            return match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Token::Float(value),
                Ok(_) => Token::Bad("this number is too large"),
                Err(_) => BAD,
            };
        }
        match text.parse::<u64>() {
            Ok(value) => Token::Int(value),
            Err(_) if text.bytes().all(|b| b.is_ascii_digit()) => {
                Token::Bad("this number has more than 64 bits")
            }
            Err(_) => BAD,
        }
    }

    /// A text, from its first quote on.
    fn quoted(&mut self) -> Token<'a> {
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        let mut bad = None;
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return bad.map_or(Token::Text(text), Token::Bad);
                }
                '\n' => {
                    self.at += i;
                    return Token::Bad("this text does not end");
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    _ => {
                        bad = Some(
                            "in texts, `\\\"`, `\\\\`, `\\n` and `\\t` stand for characters; no other `\\` does",
                        )
                    }
                },
                c => text.push(c),
            }
        }
        self.at = self.text.len();
        Token::Bad("this text does not end")
    }

    /// The parts of a tracepoint, from here on: `inst`, `ld.global`, `end`. Two colons do not separate. Or
    /// what is wrong with it, and where.
    pub fn parts(&mut self) -> Result<Vec<Part>, (&'static str, Span)> {
        let mut parts = Vec::new();
        loop {
            let start = self.at;
            let quoted = self.rest().starts_with('"');
            let text = if quoted {
                match self.quoted() {
                    Token::Text(text) => text,
                    Token::Bad(why) => return Err((why, start..self.at)),
                    _ => String::new(),
                }
            } else {
                while !self.run(in_pattern).is_empty() || self.rest().starts_with("::") {
                    if self.rest().starts_with("::") {
                        self.at += 2;
                    }
                }
                self.text[start..self.at].to_owned()
            };
            parts.push(Part { text, quoted, span: start..self.at });
            if !self.rest().starts_with(':') {
                return Ok(parts);
            }
            self.at += 1;
        }
    }
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a pattern in a tracepoint has this character without quotes, `::` apart.
pub(super) fn in_pattern(c: char) -> bool {
    in_name(c) || ".$%*?-".contains(c)
}
