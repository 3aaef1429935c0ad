//! The header of a function: name, parameter lists and directives up to its body or `;`.

use super::scan;
use super::tree::span;
use crate::view::Span;

/// A function header after `.entry` or `.func`.
pub struct Header {
    /// Name; empty if there is none.
    pub name: Span,
    /// Return parameters, parentheses included.
    pub returns: Option<Span>,
    /// Parameters, parentheses included.
    pub params: Span,
    /// Position of the `{` or `;`, or where neither was found.
    pub end: usize,
}

/// Reads a header, from after `.entry` or `.func`.
pub fn header(b: &[u8], mut i: usize) -> Header {
    let mut h = Header { name: Span::default(), returns: None, params: Span::default(), end: i };
    let mut named = false;
    let mut has_params = false;
    let mut pragma = false;
    loop {
        i = scan::trivia(b, i);
        match b.get(i) {
            None | Some(b'{' | b'}') => break,
            Some(b';') => {
                // `.pragma "…";` may stand between header and body.
                let next = scan::trivia(b, i + 1);
                if !(pragma && matches!(b.get(next), Some(b'{'))) {
                    break;
                }
                i = next;
            }
            Some(b'(') => {
                let end = scan::parens(b, i);
                if !named {
                    h.returns = Some(span(i, end));
                } else if !has_params {
                    h.params = span(i, end);
                    has_params = true;
                }
                i = end.max(i + 1);
            }
            Some(b'.') => {
                let end = scan::name(b, i + 1);
                let word = &b[i + 1..end];
                pragma = word == b"pragma";
                i = end;
                if word == b"attribute" {
                    let open = scan::trivia(b, end);
                    if b.get(open) == Some(&b'(') {
                        i = scan::parens(b, open).max(open + 1);
                    }
                }
            }
            Some(b'"') => i = scan::string(b, i),
            Some(c) if scan::is_name(*c) => {
                let end = scan::name(b, i);
                if !named {
                    named = true;
                    h.name = span(i, end);
                    h.params = span(end, end);
                }
                i = end;
            }
            Some(_) => i += 1,
        }
    }
    h.end = i;
    h
}
