//! Operands: from text to [`Operand`]s with resolved names (PTX ISA, chapter 6, Instruction Operands).
//!
//! # Invariants
//! - Never panics.
//! - Returns one operand for each that a comma separates. An operand that is not understood is
//!   [`Operand::Text`], with a diagnostic.
//!
//! # Limitations
//! Vectors nested deeper than [`DEEPEST`] are not understood.

use super::scopes::{Meaning, Names};
use super::special_registers::is_special;
use crate::ptx::ops::Op;
use crate::ptx::syntax::constant::{self, Constant};
use crate::ptx::syntax::scan;
use crate::ptx::syntax::tree::span;
use crate::view::{Base, BlockId, Diagnostic, Operand, Reg, VideoSelector};

/// Maximum nesting of braces.
const DEEPEST: u32 = 4;

/// Reads the operands of one instruction.
pub struct Reader<'p, 'a> {
    /// Source text of the module.
    pub source: &'a str,
    /// Names in scope.
    pub names: &'p mut Names<'a>,
    /// Diagnostics so far.
    pub diagnostics: &'p mut Vec<Diagnostic>,
    /// Operation of the instruction.
    pub op: Option<Op>,
}

impl<'a> Reader<'_, 'a> {
    /// All operands from `i` to `end` (before the `;`), separated by commas.
    pub fn list(&mut self, i: usize, end: usize) -> Vec<Operand> {
        self.separated(i, end, 0)
    }

    fn separated(&mut self, mut i: usize, end: usize, depth: u32) -> Vec<Operand> {
        // Nothing is read beyond `end`, not even a comment that begins before it.
        let b = &self.source.as_bytes()[..end];
        let mut operands = vec![];
        loop {
            i = scan::trivia(b, i);
            if i >= end {
                return operands;
            }
            let read = self.operand(b, i, depth);
            let after = read.as_ref().map_or(i, |(_, after)| scan::trivia(b, *after));
            match (read, b.get(after)) {
                (Some((operand, _)), None | Some(b',')) => {
                    operands.push(operand);
                    i = after + 1;
                    if b.get(after).is_some() && scan::trivia(b, i) >= end {
                        self.diagnose(after, end, "a comma without an operand behind it", true);
                    }
                }
                _ => {
                    let comma = comma(b, i);
                    let text = span(i, comma);
                    operands.push(Operand::Text(text));
                    self.diagnose(i, comma, "operand not understood", false);
                    i = comma + 1;
                }
            }
        }
    }

    fn diagnose(&mut self, start: usize, end: usize, message: &str, invalid: bool) {
        if self.diagnostics.len() < 1000 {
            self.diagnostics.push(Diagnostic {
                span: span(start, end),
                message: message.to_owned(),
                invalid,
            });
        }
    }

    fn operand(&mut self, b: &'a [u8], i: usize, depth: u32) -> Option<(Operand, usize)> {
        if depth > DEEPEST {
            return None;
        }
        match b.get(i)? {
            b'[' => self.address(b, i, depth),
            b'{' => {
                let close = matching(b, i)?;
                let inner = self.separated(i + 1, close, depth + 1);
                Some((Operand::Vector(inner), close + 1))
            }
            b'(' if self.op == Some(Op::Call) => {
                let close = matching(b, i)?;
                let inner = self.separated(i + 1, close, depth + 1);
                Some((Operand::List(inner), close + 1))
            }
            b'!' => {
                let at = scan::trivia(b, i + 1);
                let end = scan::name(b, at);
                match self.names.lookup(self.source.get(at..end)?) {
                    Some(Meaning::Reg(r)) => Some((Operand::Not(r), end)),
                    _ => constant(b, i),
                }
            }
            c if scan::is_name(*c) && !c.is_ascii_digit() => {
                let (first, end) = self.named(b, i)?;
                let bar = scan::trivia(b, end);
                if b.get(bar) != Some(&b'|')
                    || !matches!(first, Operand::Reg(_) | Operand::Sink | Operand::Vector(_))
                {
                    return Some((first, end));
                }
                let at = scan::trivia(b, bar + 1);
                let (second, end) = self.named(b, at)?;
                Some((Operand::Pair(Box::new(first), Box::new(second)), end))
            }
            _ => constant(b, i),
        }
    }

    /// Reads a name and what may follow it.
    fn named(&mut self, b: &'a [u8], i: usize) -> Option<(Operand, usize)> {
        let end = scan::name(b, i);
        let name = self.source.get(i..end)?;
        if name.is_empty() {
            return None;
        }
        if name == "_" {
            return Some((Operand::Sink, end));
        }
        let jump = matches!(self.op, Some(Op::Bra | Op::Brx));
        if jump && let Some(label) = self.names.label(name) {
            return Some((Operand::Label(BlockId(label)), end));
        }
        match self.names.lookup(name) {
            Some(Meaning::Reg(reg)) => {
                if b.get(end) == Some(&b'.') {
                    let stop = scan::name(b, end + 1);
                    let element = element(&b[end + 1..stop])?;
                    return Some((Operand::Element(reg, element), stop));
                }
                return Some((Operand::Reg(reg), end));
            }
            Some(Meaning::Vector(first, lanes)) => {
                let all = (0..u32::from(lanes)).map(|i| Reg(first.0 + i));
                if b.get(end) != Some(&b'.') {
                    return Some((Operand::Vector(all.map(Operand::Reg).collect()), end));
                }
                let stop = scan::name(b, end + 1);
                let chosen = all.into_iter().nth(element(&b[end + 1..stop])?.into())?;
                return Some((Operand::Reg(chosen), stop));
            }
            Some(Meaning::Symbol(id)) => {
                let (offset, end) = offset(b, end)?;
                return Some((Operand::Symbol(id, offset), end));
            }
            None => {}
        }
        if let Some(label) = self.names.label(name) {
            return Some((Operand::Label(BlockId(label)), end));
        }
        if name == "WARP_SZ" {
            return Some((Operand::Special(name.to_owned()), end));
        }
        if name == "generic" {
            let open = scan::trivia(b, end);
            if b.get(open) == Some(&b'(') {
                let (inner, end) = self.named(b, scan::trivia(b, open + 1))?;
                let close = scan::trivia(b, end);
                if let (Operand::Symbol(id, inner), Some(b')')) = (inner, b.get(close)) {
                    let (offset, end) = offset(b, close + 1)?;
                    return Some((Operand::Symbol(id, inner.wrapping_add(offset)), end));
                }
            }
            return None;
        }
        if name.starts_with('%') {
            let mut stop = end;
            if b.get(end) == Some(&b'.') {
                stop = scan::name(b, end + 1);
            }
            if !is_special(name) {
                self.diagnose(i, stop, "neither a declared register nor a known special register", false);
            }
            return Some((Operand::Special(self.source.get(i..stop)?.to_owned()), stop));
        }
        None
    }

    /// Reads `[base + offset]` or `[map, {x, y}]`.
    fn address(&mut self, b: &'a [u8], open: usize, depth: u32) -> Option<(Operand, usize)> {
        let close = matching(b, open)?;
        let b = &b[..close];
        let i = scan::trivia(b, open + 1);
        let (base, end) = match b.get(i) {
            Some(c) if scan::is_name(*c) && !c.is_ascii_digit() => {
                let end = scan::name(b, i);
                match self.names.lookup(self.source.get(i..end)?)? {
                    Meaning::Reg(r) => (Base::Reg(r), end),
                    Meaning::Vector(first, lanes) => {
                        let stop = scan::name(b, end + 1);
                        let at = element(b.get(end + 1..stop)?).filter(|i| *i < lanes.into())?;
                        (Base::Reg(Reg(first.0 + u32::from(at))), stop)
                    }
                    Meaning::Symbol(s) => (Base::Symbol(s), end),
                }
            }
            _ => (Base::Absolute, i),
        };
        let (offset, end) = match base {
            Base::Absolute => constant::integer(b, end)?,
            _ => offset(b, end)?,
        };
        let address = Operand::Address(base, offset);
        let at = scan::trivia(b, end);
        match b.get(at) {
            None => Some((address, close + 1)),
            Some(b',') => {
                let mut coordinates = vec![];
                for operand in self.separated(at + 1, close, depth + 1) {
                    match operand {
                        Operand::Vector(inner) => coordinates.extend(inner),
                        other => coordinates.push(other),
                    }
                }
                Some((Operand::Tensor(Box::new(address), coordinates), close + 1))
            }
            _ => None,
        }
    }
}

/// Reads `+4`, `-4`, `+-4`, `+(4*2)`, or nothing.
fn offset(b: &[u8], end: usize) -> Option<(i64, usize)> {
    let at = scan::trivia(b, end);
    match b.get(at) {
        // Both signs are read as part of the expression.
        Some(b'+' | b'-') => constant::integer(b, at),
        _ => Some((0, end)),
    }
}

fn constant(b: &[u8], i: usize) -> Option<(Operand, usize)> {
    let (value, end) = constant::expression(b, i)?;
    let operand = match value {
        Constant::Int(v, _) => Operand::Int(v.cast_signed()),
        Constant::F32(v) => Operand::F32(v),
        Constant::F64(v) => Operand::F64(v),
    };
    Some((operand, end))
}

fn element(name: &[u8]) -> Option<u16> {
    Some(match name {
        b"x" | b"r" => 0,
        b"y" | b"g" => 1,
        b"z" | b"b" => 2,
        b"w" | b"a" => 3,
        parts => VideoSelector::parse(parts)?.code(),
    })
}

/// The bracket that closes the one at `open`.
fn matching(b: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut i = open;
    loop {
        i = scan::trivia(b, i);
        match b.get(i)? {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            b'"' => {
                i = scan::string(b, i);
                continue;
            }
            _ => {}
        }
        i += 1;
    }
}

/// The next comma outside of brackets, or the end.
fn comma(b: &[u8], mut i: usize) -> usize {
    let mut depth = 0i64;
    loop {
        i = scan::trivia(b, i);
        match b.get(i) {
            None => return b.len(),
            Some(b',') if depth <= 0 => return i,
            Some(b'[' | b'{' | b'(') => depth += 1,
            Some(b']' | b'}' | b')') => depth -= 1,
            Some(b'"') => {
                i = scan::string(b, i);
                continue;
            }
            _ => {}
        }
        i += 1;
    }
}
