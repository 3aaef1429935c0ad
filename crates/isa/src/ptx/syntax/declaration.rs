//! Declarations of variables, registers and parameters, which share one grammar (PTX ISA, 5.4 Variables).
//!
//! # Invariants
//! Never panics. Sizes saturate.
//!
//! # Limitations
//! Attributes (`.managed`, `.unified`) and the alignment of a pointer parameter's target are skipped.

use super::tree::span;
use super::{constant, scan};
use crate::view::{Space, Span, Type};

/// A declaration: a type, and the names that it declares.
#[derive(Clone, Debug, Default)]
pub struct Declaration<'a> {
    /// Whether it is declared `.extern`.
    pub external: bool,
    /// State space, if one is named.
    pub space: Option<Space>,
    /// Alignment given by `.align`, bytes.
    pub align: Option<u32>,
    /// Element type. Opaque types (`.texref` and the like) are 64 bits.
    pub ty: Type,
    /// Whether a type is named.
    pub typed: bool,
    /// Number of elements of a vector type; 1 otherwise.
    pub lanes: u32,
    /// The declared names.
    pub declarators: Vec<Declarator<'a>>,
    /// Position after the last name, its dimensions and its initial value.
    pub end: usize,
}

/// One declared name.
#[derive(Clone, Debug, Default)]
pub struct Declarator<'a> {
    /// Name as written.
    pub name: &'a str,
    /// Count of a parameterised name: `n` of `%r<n>`.
    pub family: Option<u64>,
    /// Sizes of the dimensions; 0 where none is written.
    pub dims: Vec<u64>,
    /// The initial value, from after the `=`.
    pub init: Option<Span>,
    /// Text of the name with its dimensions and initial value.
    pub span: Span,
}

impl Declaration<'_> {
    /// Size of one element of the declared type, bytes.
    pub fn unit(&self) -> u64 {
        u64::from(self.ty.bytes()) * u64::from(self.lanes)
    }
    /// Alignment as declared, or the natural alignment of the type, bytes.
    pub fn alignment(&self) -> u32 {
        let own = u32::try_from(self.unit()).unwrap_or(1).max(1);
        self.align.unwrap_or(own.next_power_of_two())
    }
    /// Size of a declared variable, bytes.
    pub fn size(&self, d: &Declarator<'_>) -> u64 {
        d.dims.iter().fold(self.unit(), |n, dim| n.saturating_mul(*dim))
    }
}

/// Reads a declaration in a range: before its `;`, or one parameter.
pub fn read<'a>(source: &'a str, start: usize, end: usize) -> Declaration<'a> {
    let b = &source.as_bytes()[..end];
    let mut d = Declaration { lanes: 1, ..Declaration::default() };
    let mut i = attributes(source, b, start, &mut d);
    while let Some((one, after)) = declarator(source, b, i) {
        d.declarators.push(one);
        d.end = after;
        if b.get(after) != Some(&b',') {
            break;
        }
        i = after + 1;
    }
    d
}

/// Reads what precedes the names: linkage, state space, alignment and type. Returns the position after it.
fn attributes(source: &str, b: &[u8], start: usize, d: &mut Declaration<'_>) -> usize {
    let mut i = start;
    let mut pointer = false;
    loop {
        i = scan::trivia(b, i);
        if b.get(i) != Some(&b'.') {
            return i;
        }
        let stop = scan::name(b, i + 1);
        let word = source.get(i + 1..stop).unwrap_or_default();
        i = stop;
        match word {
            "extern" => d.external = true,
            "align" => {
                if let Some((n, stop)) = constant::integer(b, i) {
                    if !pointer {
                        d.align = u32::try_from(n).ok().filter(|n| n.is_power_of_two());
                    }
                    i = stop;
                }
            }
            "ptr" => pointer = true,
            "attribute" => {
                let open = scan::trivia(b, i);
                if b.get(open) == Some(&b'(') {
                    i = scan::parens(b, open);
                }
            }
            "v2" => d.lanes = 2,
            "v3" => d.lanes = 3,
            "v4" => d.lanes = 4,
            "v8" => d.lanes = 8,
            "texref" | "samplerref" | "surfref" => (d.ty, d.typed) = (Type::B64, true),
            _ => match (Type::from_name(word), state_space(word)) {
                (Some(ty), _) => (d.ty, d.typed) = (ty, true),
                // After `.ptr`, the state space is that of the pointer's target.
                (None, Some(s)) if !pointer => {
                    d.space.get_or_insert(s);
                }
                _ => {}
            },
        }
        // `.const[3]` is obsolete, but old files contain it.
        if b.get(i) == Some(&b'[') {
            while i < b.len() && b[i] != b']' {
                i += 1;
            }
            i = b.len().min(i + 1);
        }
    }
}

/// Reads one name with its dimensions and initial value. Returns it and the position after it; `None` if
/// there is no name, or a dimension is not understood.
fn declarator<'a>(source: &'a str, b: &[u8], start: usize) -> Option<(Declarator<'a>, usize)> {
    let mut i = scan::trivia(b, start);
    let from = i;
    let stop = scan::name(b, i);
    if stop == i {
        return None;
    }
    let mut one = Declarator { name: source.get(i..stop).unwrap_or_default(), ..Declarator::default() };
    i = scan::trivia(b, stop);
    if b.get(i) == Some(&b'<') {
        let digits = scan::trivia(b, i + 1);
        let stop = scan::name(b, digits);
        one.family = source.get(digits..stop).and_then(|n| n.parse().ok());
        i = scan::trivia(b, stop);
        i += usize::from(b.get(i) == Some(&b'>'));
        i = scan::trivia(b, i);
    }
    while b.get(i) == Some(&b'[') {
        let inner = scan::trivia(b, i + 1);
        let (size, stop) = match b.get(inner) {
            Some(b']') => (0, inner),
            _ => match constant::integer(b, inner) {
                Some((n, stop)) => (u64::try_from(n).unwrap_or(0), stop),
                None => return None,
            },
        };
        one.dims.push(size);
        let close = scan::trivia(b, stop);
        if b.get(close) != Some(&b']') {
            return None;
        }
        i = scan::trivia(b, close + 1);
    }
    if b.get(i) == Some(&b'=') {
        let from = i + 1;
        i = from;
        let mut depth = 0usize;
        // Up to the comma before the next name.
        loop {
            i = scan::trivia(b, i);
            match b.get(i) {
                None => break,
                Some(b',') if depth == 0 => break,
                Some(b'{' | b'(') => depth += 1,
                Some(b'}' | b')') => depth = depth.saturating_sub(1),
                Some(b'"') => {
                    i = scan::string(b, i);
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
        one.init = Some(span(from, i));
    }
    one.span = span(from, i);
    Some((one, i))
}

fn state_space(word: &str) -> Option<Space> {
    Some(match word {
        "global" | "tex" => Space::Global,
        "const" => Space::Const,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Param,
        "reg" => Space::Reg,
        _ => return None,
    })
}
