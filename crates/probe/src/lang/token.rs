//! Splits the text of a program into tokens. The parser asks for one token at a time, because the words of a
//! tracepoint follow other rules ([`Lexer::parts`]).
//!
//! # Invariants
//!
//! - Every token but the end takes at least one byte, so parsing ends.
//! - Spans lie on character boundaries.

use super::Span;

/// A token of the probe language.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A name, possibly with dots: `size`, `tid.x`, `arg.0`.
    Name(&'a str),
    /// `$name`.
    Local(&'a str),
    /// `@name`; the name may be empty.
    At(&'a str),
    /// A whole number.
    Int(u64),
    /// A finite number with a decimal point or an exponent.
    Float(f64),
    /// A text, without its quotes.
    Text(String),
    /// One of [`SIGNS`].
    Sign(&'static str),
    /// An invalid token, with the reason.
    Bad(&'static str),
    /// The end of the text.
    End,
}

/// Signs. If one is a prefix of another, the longer one comes first.
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
    /// Byte offset where the next token or blank begins.
    pub at: usize,
}

/// A part of a tracepoint between colons, with its place.
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

    /// Consumes characters while `such` holds.
    fn run(&mut self, such: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !such(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    /// The next token, with its place.
    pub fn next(&mut self) -> (Token<'a>, Span) {
        if let Err(open) = self.blank() {
            return (Token::Bad("this comment is not closed"), open..open + 2);
        }
        let start = self.at;
        let token = self.token();
        (token, start..self.at)
    }

    /// Skips white space and comments. The error is the start of a comment that is not closed.
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
                    _ if name.is_empty() => Token::Bad("a local variable needs a name, for example `$x`"),
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
                    Token::Bad("unexpected character")
                }
            },
        }
    }

    /// A name. A dot and the characters directly after it belong to the name.
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
        const BAD: Token<'_> = Token::Bad("this is not a number");
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
                Token::Bad("this number does not fit into 64 bits")
            }
            Err(_) => BAD,
        }
    }

    /// A text, from its opening quote.
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
                    return Token::Bad("this text is not closed");
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    _ => bad = Some("unknown escape; a text can have `\\\"`, `\\\\`, `\\n` and `\\t`"),
                },
                c => text.push(c),
            }
        }
        self.at = self.text.len();
        Token::Bad("this text is not closed")
    }

    /// The parts of the tracepoint that begins here: `inst`, `ld.global`, `end`. A double colon does not
    /// separate parts. The error is a message with its place.
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
                while !self.run(in_pattern).is_empty()
                    || self.rest().starts_with("::")
                    || template_arguments(self.rest()) > 0
                {
                    if self.rest().starts_with("::") {
                        self.at += 2;
                    }
                    self.at += template_arguments(self.rest());
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

/// The length of template arguments that `text` starts with, in bytes: `<float, pair<int>>`. 0 if it does
/// not.
fn template_arguments(text: &str) -> usize {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => open += 1,
            '>' if open == 1 => return at + 1,
            '>' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 || "\n\"{};".contains(c) {
            return 0;
        }
    }
    0
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a pattern in a tracepoint can have this character without quotes. (`::` can stand there, too.)
pub(super) fn in_pattern(c: char) -> bool {
    in_name(c) || ".$%*?-".contains(c)
}
