//! Finds boundaries in bytes: the ends of white space and comments, words, strings, brackets and statements.
//!
//! # Invariants
//! - Every function returns a position at or after its argument, never beyond the end.
//! - Positions are at ASCII bytes, and therefore on character boundaries.
//!
//! # Limitations
//! The functions know no grammar. Inside brackets they understand only strings and comments.

/// White space. NUL counts: modules end with a terminator.
const SPACE: u8 = 1;

/// Part of a name: letters, digits, `_`, `$`, and every byte of UTF-8 beyond ASCII. `%` only begins a name
/// (PTX ISA, 4.3 Statements; 4.4 Identifiers).
const NAME: u8 = 2;

/// Bytes at which the search for the end of a statement stops.
const STOP: u8 = 4;

const KIND: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        if c <= b' ' {
            t[i] = SPACE;
        } else if c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$') || c >= 0x80 {
            t[i] = NAME;
        } else if matches!(c, b';' | b'{' | b'}' | b'"' | b'/') {
            t[i] = STOP;
        }
        i += 1;
    }
    t
};

/// Whether `c` can begin a name or number.
pub fn is_name(c: u8) -> bool {
    KIND[c as usize] == NAME || c == b'%'
}

/// After white space, comments and preprocessor lines.
pub fn trivia(b: &[u8], mut i: usize) -> usize {
    loop {
        while i < b.len() && KIND[b[i] as usize] == SPACE {
            i += 1;
        }
        match b.get(i) {
            Some(b'/') => match comment(b, i) {
                Some(end) => i = end,
                None => return i,
            },
            Some(b'#') => i = line(b, i),
            _ => return i,
        }
    }
}

/// The end of the line.
pub fn line(b: &[u8], mut i: usize) -> usize {
    while i < b.len() && b[i] != b'\n' {
        i += 1;
    }
    i
}

/// The end of the comment that begins here, if one does.
pub fn comment(b: &[u8], i: usize) -> Option<usize> {
    match b.get(i + 1) {
        Some(b'/') => Some(line(b, i)),
        Some(b'*') => {
            let mut j = i + 2;
            while j + 1 < b.len() {
                if b[j] == b'*' && b[j + 1] == b'/' {
                    return Some(j + 2);
                }
                j += 1;
            }
            Some(b.len())
        }
        _ => None,
    }
}

/// The end of the string that begins here.
pub fn string(b: &[u8], mut i: usize) -> usize {
    i += 1;
    while i < b.len() {
        match b[i] {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    b.len()
}

/// The end of a name or number.
pub fn name(b: &[u8], mut i: usize) -> usize {
    i += usize::from(b.get(i) == Some(&b'%'));
    while i < b.len() && KIND[b[i] as usize] == NAME {
        i += 1;
    }
    i
}

/// The end of an opcode: names joined by `.` and `::`.
pub fn opcode(b: &[u8], mut i: usize) -> usize {
    loop {
        i = name(b, i);
        match b.get(i) {
            Some(b'.') => i += 1,
            Some(b':') if b.get(i + 1) == Some(&b':') && b.get(i + 2).is_some_and(|c| is_name(*c)) => i += 2,
            _ => return i,
        }
    }
}

/// How the search for the end of a statement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Just after the `;`.
    Semicolon(usize),
    /// At a `}` that closes a scope the statement did not open.
    Brace(usize),
    /// At the end of the text.
    Eof(usize),
}

impl End {
    /// Position where the search ended.
    pub fn at(self) -> usize {
        match self {
            End::Semicolon(i) | End::Brace(i) | End::Eof(i) => i,
        }
    }
}

/// The end of a statement: after its `;` outside of braces, strings and comments.
pub fn statement(b: &[u8], mut i: usize) -> End {
    let mut depth = 0usize;
    loop {
        while i < b.len() && KIND[b[i] as usize] != STOP {
            i += 1;
        }
        match b.get(i) {
            None => return End::Eof(b.len()),
            Some(b';') if depth == 0 => return End::Semicolon(i + 1),
            Some(b'{') => depth += 1,
            Some(b'}') => match depth.checked_sub(1) {
                Some(d) => depth = d,
                None => return End::Brace(i),
            },
            Some(b'"') => {
                i = string(b, i);
                continue;
            }
            Some(b'/') => {
                if let Some(end) = comment(b, i) {
                    i = end;
                    continue;
                }
            }
            _ => {}
        }
        i += 1;
    }
}

/// From a `{`: just after its closing `}`.
pub fn braces(b: &[u8], i: usize) -> usize {
    let mut j = i + 1;
    loop {
        match statement(b, j) {
            End::Semicolon(k) => j = k,
            End::Brace(k) => return k + 1,
            End::Eof(k) => return k,
        }
    }
}

/// From a `(`: just after its closing `)`. Stops at braces, which parentheses never contain.
pub fn parens(b: &[u8], mut i: usize) -> usize {
    let mut depth = 0usize;
    while i < b.len() {
        match b[i] {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            b'{' | b'}' => return i,
            b'"' => {
                i = string(b, i);
                continue;
            }
            b'/' => {
                if let Some(end) = comment(b, i) {
                    i = end;
                    continue;
                }
            }
            _ => {}
        }
        i += 1;
    }
    i
}

/// After a list as in `.target`: one item, then one more after each comma.
pub fn comma_list(b: &[u8], i: usize) -> usize {
    let mut end = opcode(b, trivia(b, i));
    loop {
        let comma = trivia(b, end);
        if b.get(comma) != Some(&b',') {
            return end;
        }
        end = opcode(b, trivia(b, comma + 1));
    }
}

/// The end of the operands of `.file`: number, string, and optional time and size.
pub fn file(b: &[u8], i: usize) -> usize {
    let mut end = name(b, trivia(b, i));
    let quote = trivia(b, end);
    if b.get(quote) == Some(&b'"') {
        end = string(b, quote);
    }
    loop {
        let comma = trivia(b, end);
        if b.get(comma) != Some(&b',') {
            return end;
        }
        end = name(b, trivia(b, comma + 1));
    }
}

/// The end of the operands of `.loc`: file, line and column, and optionally the inlined function and its call
/// site.
pub fn loc(b: &[u8], i: usize) -> usize {
    let mut end = numbers(b, i, 3);
    loop {
        let comma = trivia(b, end);
        if b.get(comma) != Some(&b',') {
            return end;
        }
        let word = trivia(b, comma + 1);
        let word_end = name(b, word);
        match &b[word..word_end] {
            b"function_name" => {
                end = opcode(b, trivia(b, word_end));
                let plus = trivia(b, end);
                if b.get(plus) == Some(&b'+') {
                    end = numbers(b, plus + 1, 1);
                }
            }
            b"inlined_at" => end = numbers(b, word_end, 3),
            _ => end = comma + 1,
        }
    }
}

/// After at most `n` numbers.
fn numbers(b: &[u8], i: usize, n: usize) -> usize {
    let mut end = i;
    for _ in 0..n {
        let at = trivia(b, end);
        if !b.get(at).is_some_and(u8::is_ascii_digit) {
            return end;
        }
        end = name(b, at);
    }
    end
}
