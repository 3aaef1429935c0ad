//! Constants and constant expressions, as PTX evaluates them: 64-bit integers, signed or unsigned by their
//! operands (PTX ISA, 4.5 Constants).
//!
//! # Invariants
//! Never panics. Nesting is bounded; deeper expressions are not understood.
//!
//! # Limitations
//! No floating-point arithmetic. A floating-point constant has at most a sign.

use super::scan;

/// The value of a constant expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// 64 bits of an integer, and whether it is unsigned.
    Int(u64, bool),
    /// Bits of a binary32, from `0f`.
    F32(u32),
    /// Bits of a binary64, from `0d` or a decimal.
    F64(u64),
}

/// Maximum nesting of parentheses.
const DEEPEST: u32 = 64;

/// Reads a constant expression at `i`. Returns its value and its end.
pub fn expression(b: &[u8], i: usize) -> Option<(Constant, usize)> {
    ternary(b, i, 0)
}

/// Reads an integer expression at `i`. Returns its value and its end.
pub fn integer(b: &[u8], i: usize) -> Option<(i64, usize)> {
    match expression(b, i)? {
        (Constant::Int(v, _), end) => Some((v.cast_signed(), end)),
        _ => None,
    }
}

fn ternary(b: &[u8], i: usize, depth: u32) -> Option<(Constant, usize)> {
    let (condition, end) = binary(b, i, 0, depth)?;
    let question = scan::trivia(b, end);
    if b.get(question) != Some(&b'?') || depth >= DEEPEST {
        return Some((condition, end));
    }
    let Constant::Int(c, _) = condition else { return None };
    let (yes, end) = ternary(b, question + 1, depth + 1)?;
    let colon = scan::trivia(b, end);
    if b.get(colon) != Some(&b':') {
        return None;
    }
    let (no, end) = ternary(b, colon + 1, depth + 1)?;
    Some((if c != 0 { yes } else { no }, end))
}

/// The operator at `i`: its text and its precedence.
fn operator(b: &[u8], i: usize) -> Option<(&'static str, u8)> {
    const OPERATORS: [(&str, u8); 18] = [
        ("||", 1),
        ("&&", 2),
        ("==", 6),
        ("!=", 6),
        ("<<", 8),
        (">>", 8),
        ("<=", 7),
        (">=", 7),
        ("|", 3),
        ("^", 4),
        ("&", 5),
        ("<", 7),
        (">", 7),
        ("+", 9),
        ("-", 9),
        ("*", 10),
        ("/", 10),
        ("%", 10),
    ];
    let rest = b.get(i..)?;
    OPERATORS.iter().copied().find(|(text, _)| rest.starts_with(text.as_bytes()))
}

fn binary(b: &[u8], i: usize, least: u8, depth: u32) -> Option<(Constant, usize)> {
    let (mut left, mut end) = unary(b, i, depth)?;
    loop {
        let at = scan::trivia(b, end);
        let Some((op, tightness)) = operator(b, at).filter(|(_, t)| *t > least) else {
            return Some((left, end));
        };
        if depth >= DEEPEST {
            return None;
        }
        let (right, next) = binary(b, at + op.len(), tightness, depth + 1)?;
        let (Constant::Int(x, ux), Constant::Int(y, uy)) = (left, right) else { return None };
        left = apply(op, x, ux, y, uy);
        end = next;
    }
}

fn apply(op: &str, x: u64, ux: bool, y: u64, uy: bool) -> Constant {
    let unsigned = ux || uy;
    let (sx, sy) = (x.cast_signed(), y.cast_signed());
    let shift = u32::try_from(y).unwrap_or(64);
    let less = if unsigned { x < y } else { sx < sy };
    let truth = |t: bool| Constant::Int(u64::from(t), false);
    match op {
        "||" => truth(x != 0 || y != 0),
        "&&" => truth(x != 0 && y != 0),
        "==" => truth(x == y),
        "!=" => truth(x != y),
        "<" => truth(less),
        ">=" => truth(!less),
        "<=" => truth(less || x == y),
        ">" => truth(!(less || x == y)),
        "|" => Constant::Int(x | y, unsigned),
        "^" => Constant::Int(x ^ y, unsigned),
        "&" => Constant::Int(x & y, unsigned),
        "<<" => Constant::Int(x.checked_shl(shift).unwrap_or(0), ux),
        ">>" if ux => Constant::Int(x.checked_shr(shift).unwrap_or(0), ux),
        ">>" => Constant::Int((sx >> shift.min(63)).cast_unsigned(), ux),
        "+" => Constant::Int(x.wrapping_add(y), unsigned),
        "-" => Constant::Int(x.wrapping_sub(y), unsigned),
        "*" => Constant::Int(x.wrapping_mul(y), unsigned),
        "/" if unsigned => Constant::Int(x.checked_div(y).unwrap_or(0), true),
        "/" => Constant::Int(sx.checked_div(sy).unwrap_or(0).cast_unsigned(), false),
        _ if unsigned => Constant::Int(x.checked_rem(y).unwrap_or(0), true),
        _ => Constant::Int(sx.checked_rem(sy).unwrap_or(0).cast_unsigned(), false),
    }
}

fn unary(b: &[u8], i: usize, depth: u32) -> Option<(Constant, usize)> {
    if depth >= DEEPEST {
        return None;
    }
    let i = scan::trivia(b, i);
    match b.get(i)? {
        b'-' => Some(match unary(b, i + 1, depth + 1)? {
            (Constant::Int(v, u), end) => (Constant::Int(v.wrapping_neg(), u), end),
            (Constant::F32(v), end) => (Constant::F32(v ^ 1 << 31), end),
            (Constant::F64(v), end) => (Constant::F64(v ^ 1 << 63), end),
        }),
        b'+' => unary(b, i + 1, depth + 1),
        b'~' => match unary(b, i + 1, depth + 1)? {
            (Constant::Int(v, u), end) => Some((Constant::Int(!v, u), end)),
            _ => None,
        },
        b'!' => match unary(b, i + 1, depth + 1)? {
            (Constant::Int(v, _), end) => Some((Constant::Int(u64::from(v == 0), false), end)),
            _ => None,
        },
        b'(' => {
            let inner = scan::trivia(b, i + 1);
            if b.get(inner) == Some(&b'.') {
                // A cast: `(.s64)` or `(.u64)`.
                let end = scan::name(b, inner + 1);
                let unsigned = &b[inner + 1..end] == b"u64";
                let close = scan::trivia(b, end);
                if b.get(close) != Some(&b')') {
                    return None;
                }
                return match unary(b, close + 1, depth + 1)? {
                    (Constant::Int(v, _), end) => Some((Constant::Int(v, unsigned), end)),
                    _ => None,
                };
            }
            let (value, end) = ternary(b, inner, depth + 1)?;
            let close = scan::trivia(b, end);
            (b.get(close) == Some(&b')')).then_some((value, close + 1))
        }
        c if c.is_ascii_digit() => number(b, i),
        _ => None,
    }
}

/// Reads a literal.
fn number(b: &[u8], i: usize) -> Option<(Constant, usize)> {
    let end = scan::name(b, i);
    let text = std::str::from_utf8(&b[i..end]).ok()?;
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] if text.len() == 10 => {
            return Some((Constant::F32(u32::try_from(hex(&text[2..])?).ok()?), end));
        }
        [b'0', b'd' | b'D', ..] if text.len() == 18 => return Some((Constant::F64(hex(&text[2..])?), end)),
        _ => {}
    }
    let integer = text.strip_suffix(['U', 'u']);
    let (digits, unsigned) = (integer.unwrap_or(text), integer.is_some());
    let value = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => hex(&digits[2..]),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2).ok(),
        [b'0', _, ..] if digits.bytes().all(|c| (b'0'..b'8').contains(&c)) => {
            u64::from_str_radix(digits, 8).ok()
        }
        _ => digits.parse().ok(),
    };
    let is_hex = digits.starts_with("0x") || digits.starts_with("0X");
    if b.get(end) != Some(&b'.')
        && let Some(v) = value
    {
        // An integer that does not fit a signed type is unsigned.
        return Some((Constant::Int(v, unsigned || v.cast_signed() < 0), end));
    }
    if is_hex {
        return None;
    }
    // A decimal: digits, point, digits, exponent.
    let mut end = i;
    let digits = |mut j: usize| {
        while b.get(j).is_some_and(u8::is_ascii_digit) {
            j += 1;
        }
        j
    };
    end = digits(end);
    if b.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(b.get(end), Some(b'e' | b'E')) {
        let sign = end + 1 + usize::from(matches!(b.get(end + 1), Some(b'+' | b'-')));
        if digits(sign) > sign {
            end = digits(sign);
        }
    }
    if b.get(end).is_some_and(|c| scan::is_name(*c)) {
        return None;
    }
    let value: f64 = std::str::from_utf8(&b[i..end]).ok()?.parse().ok()?;
    Some((Constant::F64(value.to_bits()), end))
}
