//! `printf` in kernels: formats the argument buffer that compilers pass to `vprintf`, and keeps the text.
//!
//! # Invariants
//! - A call prints at most [`CALL`] bytes; more is a fault.
//! - The kept text is the beginning of what the launch prints. It ends before the first call that exceeds the
//!   limit of the launch.
//!
//! # Limitations
//! `%n` and wide characters are not supported.

use prlx_trace::Printed;

use crate::error::{EmuError, invalid};

/// Maximum number of bytes that one call may print: the default size of CUDA's whole buffer.
const CALL: usize = 1 << 20;

/// Appends the text of one call to `printed`. Drops it, and all later calls, once the whole text would exceed
/// `limit` bytes.
pub fn keep(printed: &mut Printed, text: &[u8], limit: u64) {
    if printed.dropped > 0 || (printed.text.len() + text.len()) as u64 > limit {
        printed.dropped += 1;
    } else {
        printed.text.extend_from_slice(text);
    }
}

/// Reads a byte of the thread's memory.
type Byte<'a> = &'a dyn Fn(u64) -> Option<u8>;

/// Reads the zero-terminated string at an address, at most 64 KiB of it.
///
/// # Errors
/// If the string runs into memory that cannot be read.
pub fn text(byte: Byte<'_>, at: u64) -> Result<String, EmuError> {
    let mut out = Vec::new();
    for i in 0..1 << 16 {
        match byte(at.wrapping_add(i)) {
            Some(0) => break,
            Some(b) => out.push(b),
            None => return Err(invalid(format!("gets a string at {at:#x}, which can't be read"))),
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alt: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats the string at address `format` with the packed arguments at `args`, and appends the text to `out`.
/// Returns the number of arguments that it used.
///
/// # Errors
/// If a string or an argument cannot be read, the text exceeds [`CALL`], or a conversion is not supported.
pub fn format(out: &mut Vec<u8>, byte: Byte<'_>, format: u64, args: u64) -> Result<u32, EmuError> {
    let format = text(byte, format)?;
    let (mut at, mut n) = (args, 0);
    let mut take = |bytes: u64| -> Result<u64, EmuError> {
        at = at.checked_next_multiple_of(bytes).unwrap_or(0);
        let v =
            (0..bytes).try_fold(0u64, |v, i| byte(at.wrapping_add(i)).map(|b| v | u64::from(b) << (8 * i)));
        at = at.wrapping_add(bytes);
        n += 1;
        v.ok_or_else(|| invalid(format!("is given arguments at {args:#x}, which can't be read")))
    };
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if out.len() > CALL {
            return Err(invalid(format!("prints more than {CALL} bytes at once")));
        }
        if c != '%' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let mut s = Spec::default();
        while let Some(&c) = chars.peek() {
            match c {
                '-' => s.left = true,
                '+' => s.plus = true,
                ' ' => s.space = true,
                '#' => s.alt = true,
                '0' => s.zero = true,
                _ => break,
            }
            chars.next();
        }
        let mut number = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| -> Result<i64, EmuError> {
            if chars.peek() == Some(&'*') {
                chars.next();
                return Ok(i64::from(take(4)? as i32));
            }
            let mut v = 0i64;
            while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
                v = (v * 10 + i64::from(d)).min(1 << 16);
                chars.next();
            }
            Ok(v)
        };
        let width = number(&mut chars)?;
        s.left |= width < 0;
        s.width = width.unsigned_abs().min(1 << 16) as usize;
        if chars.peek() == Some(&'.') {
            chars.next();
            s.precision = usize::try_from(number(&mut chars)?).ok();
        }
        let mut long = false;
        while let Some(&c) = chars.peek() {
            match c {
                'l' | 'j' | 'z' | 't' => long = true,
                'h' | 'L' => {}
                _ => break,
            }
            chars.next();
        }
        let bytes = if long { 8 } else { 4 };
        let body = match chars.next() {
            Some('%') => "%".into(),
            Some('d' | 'i') => {
                let v = take(bytes)?;
                let v = if long { v as i64 } else { i64::from(v as u32 as i32) };
                signed(&s, v < 0, digits(&s, v.unsigned_abs().to_string()))
            }
            Some('u') => digits(&s, take(bytes)?.to_string()),
            Some('x') => digits(&s, format!("{}{:x}", if s.alt { "0x" } else { "" }, take(bytes)?)),
            Some('X') => digits(&s, format!("{}{:X}", if s.alt { "0X" } else { "" }, take(bytes)?)),
            Some('o') => digits(&s, format!("{:o}", take(bytes)?)),
            Some('c') => char::from(take(4)? as u8).to_string(),
            Some('p') => format!("{:#x}", take(8)?),
            Some('s') => {
                let v = text(byte, take(8)?)?;
                v.chars().take(s.precision.unwrap_or(usize::MAX)).collect()
            }
            Some(c @ ('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A')) => {
                let v = f64::from_bits(take(8)?);
                let body = float(&s, c.to_ascii_lowercase(), v.abs());
                let body = signed(&s, v.is_sign_negative() && !v.is_nan(), body);
                if c.is_ascii_uppercase() { body.to_uppercase() } else { body }
            }
            Some(other) => format!("%{other}"),
            None => "%".into(),
        };
        let pad = s.width.saturating_sub(body.chars().count());
        let zero = s.zero && !s.left;
        let sign = if zero && body.starts_with(['-', '+', ' ']) { 1 } else { 0 };
        let mut push = |c: &str, times: usize| (0..times).for_each(|_| out.extend_from_slice(c.as_bytes()));
        push(" ", if s.left || zero { 0 } else { pad });
        push(&body[..sign], 1);
        push("0", if zero { pad } else { 0 });
        push(&body[sign..], 1);
        push(" ", if s.left { pad } else { 0 });
    }
    Ok(n)
}

fn digits(s: &Spec, body: String) -> String {
    let missing = s.precision.unwrap_or(0).saturating_sub(body.len());
    "0".repeat(missing) + &body
}

fn signed(s: &Spec, negative: bool, body: String) -> String {
    match (negative, s.plus, s.space) {
        (true, ..) => format!("-{body}"),
        (_, true, _) => format!("+{body}"),
        (_, _, true) => format!(" {body}"),
        _ => body,
    }
}

fn exponent(v: f64, precision: usize) -> String {
    let text = format!("{v:.precision$e}");
    match text.split_once('e') {
        Some((m, e)) => {
            let e: i32 = e.parse().unwrap_or(0);
            format!("{m}e{}{:02}", if e < 0 { '-' } else { '+' }, e.abs())
        }
        None => text,
    }
}

fn float(s: &Spec, c: char, v: f64) -> String {
    if v.is_nan() {
        return "nan".into();
    }
    if v.is_infinite() {
        return "inf".into();
    }
    let p = s.precision.unwrap_or(6);
    match c {
        'f' => format!("{v:.p$}"),
        'e' => exponent(v, p),
        'a' => {
            let bits = v.to_bits();
            let (e, m) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
            let m = format!("{m:013x}");
            let m = m.trim_end_matches('0');
            let dot = if m.is_empty() { "" } else { "." };
            format!("0x{}{dot}{m}p{:+}", u8::from(e > 0), if v == 0.0 { 0 } else { e.max(1) - 1023 })
        }
        _ => {
            let p = p.max(1);
            let rounded = exponent(v, p - 1);
            let e: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
            let body = if e < -4 || e >= p as i32 {
                rounded
            } else {
                format!("{v:.*}", (p as i32 - 1 - e).max(0) as usize)
            };
            if s.alt || !body.contains('.') {
                return body;
            }
            let (m, e) = body.split_once('e').map_or((body.as_str(), None), |(m, e)| (m, Some(e)));
            let m = m.trim_end_matches('0').trim_end_matches('.');
            e.map_or(m.to_string(), |e| format!("{m}e{e}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_c_does() {
        let mut memory = vec![0u8; 256];
        let fmt = b"%d|%5d|%-5d|%05d|%+d|%u|%x|%#X|%lld|%f|%.2f|%e|%g|%g|%s|%c|%%|%8.3f\0";
        memory[..fmt.len()].copy_from_slice(fmt);
        memory[100..104].copy_from_slice(b"hey\0");
        let mut args: Vec<u8> = Vec::new();
        let mut put = |b: &[u8]| {
            args.resize(args.len().next_multiple_of(b.len()), 0);
            args.extend_from_slice(b);
        };
        for v in [-3i32, 42, 42, -42, 7] {
            put(&v.to_le_bytes());
        }
        put(&u32::MAX.to_le_bytes());
        put(&255u32.to_le_bytes());
        put(&255u32.to_le_bytes());
        put(&i64::MIN.to_le_bytes());
        for v in [1.5f64, 2.345, 12345.678, 0.0001, 1e10] {
            put(&v.to_le_bytes());
        }
        put(&100u64.to_le_bytes());
        put(&u32::from(b'z').to_le_bytes());
        put(&(-1.0f64).to_le_bytes());
        memory[104..104 + args.len()].copy_from_slice(&args);
        let mut out = Vec::new();
        let n = format(&mut out, &|at| memory.get(at as usize).copied(), 0, 104).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "-3|   42|42   |-0042|+7|4294967295|ff|0XFF|-9223372036854775808|1.500000|2.35|1.234568e+04|0.0001|1e+10|hey|z|%|  -1.000"
        );
        assert_eq!(n, 17);
    }
}
