//! Initial values of variables: nested braces of constants and addresses, in row-major order (PTX ISA, 5.4.4
//! Initializers).
//!
//! A packed structure contains addresses byte by byte, as `0xff(name), 0xff00(name)` and so on. They become
//! one address again here.
//!
//! # Invariants
//! Memory is proportional to the text.
//!
//! # Limitations
//! Addresses of fewer than eight bytes in packed structures, and the initial values of textures and samplers,
//! are not read.

use super::builder::Builder;
use crate::ptx::syntax::{constant, scan};
use crate::view::{Span, SymbolId, Type};

impl<'a> Builder<'_, 'a> {
    /// Reads the initial value of a symbol: nested braces, in row-major order.
    pub(super) fn initial(&mut self, id: SymbolId, init: Span, unit: u64, dims: &[u64]) {
        let source = self.m.source;
        let b = &source.as_bytes()[..init.end as usize];
        let unit = unit.max(1);
        let is_opaque =
            self.out.symbols[id.index()].ty == Type::B64 && source[init.range()].contains("addr_mode");
        if is_opaque {
            return;
        }
        // Size of one entry of a brace, by nesting depth.
        let mut strides = vec![unit; dims.len() + 1];
        for k in (0..dims.len()).rev() {
            let below = strides[k + 1];
            strides[k] = if k + 1 < dims.len() { dims[k + 1].max(1).saturating_mul(below) } else { unit };
        }
        let mut bytes: Vec<u8> = vec![];
        let mut relocs = vec![];
        // Of an address given byte by byte: offset and number of the next byte, and the address.
        let mut part: Option<(u64, u32, (SymbolId, i64, bool))> = None;
        // Where each open brace began.
        let mut open: Vec<u64> = vec![];
        let mut at = 0u64;
        let mut i = init.start as usize;
        loop {
            i = scan::trivia(b, i);
            match b.get(i) {
                None => break,
                Some(b'{') => {
                    open.push(at);
                    i += 1;
                }
                Some(b'}') => {
                    if let Some(began) = open.pop()
                        && let Some(k) = open.len().checked_sub(1)
                    {
                        // An inner brace takes a whole entry of the outer one, however few values it
                        // contains.
                        let stride = strides.get(k).copied().unwrap_or(unit);
                        at = began.saturating_add(stride).max(at);
                    }
                    i += 1;
                }
                Some(b',') => i += 1,
                Some(_) => {
                    let Some((value, end)) = self.value(b, i) else {
                        self.diagnose(init, "initial value not understood");
                        break;
                    };
                    let width = usize::try_from(unit).unwrap_or(8);
                    let (Ok(start), true) = (usize::try_from(at), at < u64::from(u32::MAX)) else { break };
                    let needed = (start + width).saturating_sub(bytes.len());
                    let Some(left) = self.budget.checked_sub(needed) else {
                        self.diagnose(init, "initial value too large: the rest is taken as zeros");
                        break;
                    };
                    self.budget = left;
                    if bytes.len() < start + width {
                        bytes.resize(start + width, 0);
                    }
                    match value {
                        Value::Bits(v, f64_bits) => {
                            let v = self.in_type(id, v, f64_bits);
                            let le = v.to_le_bytes();
                            let n = width.min(8);
                            bytes[start..start + n].copy_from_slice(&le[..n]);
                        }
                        Value::Address(symbol, addend, generic) => relocs.push((at, symbol, addend, generic)),
                        Value::Part(byte, address) => {
                            let expected = part.is_some_and(|p| p == (at, byte, address));
                            part =
                                if byte == 0 || expected { Some((at + 1, byte + 1, address)) } else { None };
                            if part.is_none() || unit != 1 {
                                self.diagnose(init, "part of an address: taken as zero");
                            } else if byte == 7 {
                                let (symbol, addend, generic) = address;
                                relocs.push((at - 7, symbol, addend, generic));
                            }
                        }
                    }
                    at = at.saturating_add(unit);
                    i = end;
                }
            }
        }
        let symbol = &mut self.out.symbols[id.index()];
        if symbol.size == 0 && dims.first() == Some(&0) {
            // `x[] = {…}` is as long as its initial value.
            symbol.size = at.next_multiple_of(strides[0].max(1));
        }
        symbol.init = bytes;
        symbol.relocs = relocs;
    }

    /// A constant as bits of the symbol's type.
    fn in_type(&self, id: SymbolId, v: u64, f64_bits: bool) -> u64 {
        match (self.out.symbols[id.index()].ty, f64_bits) {
            (Type::F32, true) => {
                #[allow(clippy::cast_possible_truncation, reason = "rounding is what the assembler does too")]
                let v = f64::from_bits(v) as f32;
                u64::from(v.to_bits())
            }
            _ => v,
        }
    }

    fn value(&self, b: &'a [u8], i: usize) -> Option<(Value, usize)> {
        let c = *b.get(i)?;
        if scan::is_name(c) && !c.is_ascii_digit() {
            let end = scan::name(b, i);
            let name = self.m.source.get(i..end)?;
            let open = scan::trivia(b, end);
            let (name, generic, end) = if name == "generic" && b.get(open) == Some(&b'(') {
                let inner = scan::trivia(b, open + 1);
                let stop = scan::name(b, inner);
                let close = scan::trivia(b, stop);
                if b.get(close) != Some(&b')') {
                    return None;
                }
                (self.m.source.get(inner..stop)?, true, close + 1)
            } else {
                (name, false, end)
            };
            let symbol = self.names.variable(name)?;
            let plus = scan::trivia(b, end);
            let (addend, end) = match b.get(plus) {
                Some(b'+' | b'-') => constant::integer(b, plus)?,
                _ => (0, end),
            };
            return Some((Value::Address(symbol, addend, generic), end));
        }
        let (value, end) = constant::expression(b, i)?;
        let open = scan::trivia(b, end);
        if let (constant::Constant::Int(mask, _), Some(b'(')) = (value, b.get(open)) {
            let inner = scan::trivia(b, open + 1);
            let named = b.get(inner).is_some_and(|c| scan::is_name(*c) && !c.is_ascii_digit());
            let (Value::Address(symbol, addend, generic), end) =
                (if named { self.value(b, inner) } else { None })?
            else {
                return None;
            };
            let close = scan::trivia(b, end);
            let byte = mask.trailing_zeros() / 8;
            if b.get(close) != Some(&b')') || mask.checked_shr(byte * 8) != Some(0xff) {
                return None;
            }
            return Some((Value::Part(byte, (symbol, addend, generic)), close + 1));
        }
        Some(match value {
            constant::Constant::Int(v, _) => (Value::Bits(v, false), end),
            constant::Constant::F32(v) => (Value::Bits(u64::from(v), false), end),
            constant::Constant::F64(v) => (Value::Bits(v, true), end),
        })
    }
}

enum Value {
    /// Bits, and whether they are those of a binary64.
    Bits(u64, bool),
    Address(SymbolId, i64, bool),
    /// One byte of an address, counted from the least significant.
    Part(u32, (SymbolId, i64, bool)),
}
