//! Tokens of PTX text, and the positions of names.
//!
//! Everything about instructions comes from the view. Tokens serve two purposes: the parts that the view
//! omits (argument lists, forward declarations), and [`crate::verify`], which must not depend on what the
//! lowering read.

use prlx_isa::view::Span;

/// A token: a word (a name, a number or a part of an opcode), a string, or one other character. A dot is a
/// token of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    /// Text of the token.
    pub text: &'a str,
    /// Offset in the text, bytes.
    pub at: usize,
}

impl Token<'_> {
    /// Offset one past the last byte.
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }
    /// Span of the token.
    pub fn span(&self) -> Span {
        span(self.at, self.end())
    }
}

/// A span from two offsets. The texts are far below 4 GiB.
pub(crate) fn span(start: usize, end: usize) -> Span {
    Span { start: start.try_into().unwrap_or(u32::MAX), end: end.try_into().unwrap_or(u32::MAX) }
}

/// Whether a byte can be part of a word.
pub(crate) fn word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%') || b >= 0x80
}

/// Tokens of `source[from..to]`, without white space and comments.
pub(crate) fn tokens(source: &str, from: usize, to: usize) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let to = to.min(bytes.len());
    // PTX has about one token per four bytes. A vector that never grows avoids touching fresh memory twice.
    let mut out = Vec::with_capacity(to.saturating_sub(from) / 4);
    let mut i = from;
    while i < to {
        let next = skip(bytes, i, to);
        if next != i {
            i = next;
            continue;
        }
        let end = match bytes[i] {
            b if word_byte(b) => (i..to).find(|&j| !word_byte(bytes[j])).unwrap_or(to),
            b'"' => string_end(bytes, i, to),
            _ => i + 1,
        };
        out.extend(source.get(i..end).map(|text| Token { text, at: i }));
        i = end;
    }
    out
}

/// After white space or one comment at `i`; `i` itself if there is neither.
pub(crate) fn skip(bytes: &[u8], i: usize, to: usize) -> usize {
    match bytes.get(i..to) {
        Some([b'/', b'/', ..]) => (i..to).find(|&j| bytes[j] == b'\n').unwrap_or(to),
        Some([b'/', b'*', ..]) => {
            (i + 2..to).find(|&j| bytes[j..to].starts_with(b"*/")).map_or(to, |j| j + 2)
        }
        Some([b, ..]) if b.is_ascii_whitespace() || *b == 0 => i + 1,
        _ => i,
    }
}

fn string_end(bytes: &[u8], start: usize, to: usize) -> usize {
    let mut i = start + 1;
    while i < to {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    to
}

/// From an opening bracket at token `i`, the index of the bracket that closes it.
pub(crate) fn closing(tokens: &[Token<'_>], i: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (j, t) in tokens.iter().enumerate().skip(i) {
        match t.text {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return Some(j);
        }
    }
    None
}

/// From a closing bracket at token `i`, the index of the bracket that opens it.
pub(crate) fn opening(tokens: &[Token<'_>], i: usize) -> Option<usize> {
    let mut depth = 0usize;
    for j in (0..=i).rev() {
        match tokens[j].text {
            ")" | "}" | "]" => depth += 1,
            "(" | "{" | "[" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return Some(j);
        }
    }
    None
}

/// The prefix of all inserted names: a word that occurs nowhere in `source`.
pub(crate) fn prefix(source: &str) -> String {
    let mut prefix = "prlx_".to_owned();
    let mut n = 0u32;
    while source.contains(&prefix) {
        n += 1;
        prefix = format!("prlx{n}_");
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_hide_what_is_in_them() {
        let source = "ld.u32 %r1,[a+4]; // ; }\n/* { */ .file 1 \"a;b\\\"\"";
        let texts: Vec<_> = tokens(source, 0, source.len()).iter().map(|t| t.text).collect();
        let expected =
            ["ld", ".", "u32", "%r1", ",", "[", "a", "+", "4", "]", ";", ".", "file", "1", "\"a;b\\\"\""];
        assert_eq!(texts, expected);
    }

    #[test]
    fn brackets_pair_both_ways() {
        let t = tokens("f (a, (b), c) ;", 0, 15);
        assert_eq!(closing(&t, 1), Some(9));
        assert_eq!(opening(&t, 9), Some(1));
        assert_eq!(closing(&t[..5], 1), None);
    }

    #[test]
    fn the_prefix_avoids_the_source() {
        assert_eq!(prefix("mov.u32 %r1, 0;"), "prlx_");
        assert_eq!(prefix("mov.u32 %prlx_a, 0; $prlx1_b:"), "prlx2_");
    }
}
