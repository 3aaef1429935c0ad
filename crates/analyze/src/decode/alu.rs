//! Integer and predicate arithmetic exactly as PTX defines it, to evaluate the slices of decisions.
//!
//! # Invariants
//! Arguments are truncated to the type's width before use, results after. Results are zero-extended to 64
//! bits. [`Alu::Mov`] and [`Alu::Extend`] of a signed type sign-extend instead; a consumer truncates to its
//! own width. Shift amounts have 32 bits and bit positions 8, whatever the type. The third argument of
//! `mad.wide` has twice the width.
//!
//! # Limitations
//! No floating-point arithmetic. Floating-point and 128-bit types are refused, except to move their bits.

use prlx_trace::kernel::{Alu, Scalar};

/// The number of arguments of an operation.
pub const fn arity(op: Alu) -> usize {
    use Alu::*;
    match op {
        Mov | Not | Neg | Abs | Popc | Clz | Extend => 1,
        Add | Sub | Mul | MulHi | MulWide | Div | Rem | And | Or | Xor | Shl | Shr | Min | Max => 2,
        Eq | Ne | Lt | Le | Gt | Ge => 2,
        Mad | MadWide | Select | Bfe => 3,
        Lop3 => 4,
    }
}

/// Whether [`eval`] can evaluate `op` on `ty`. Integers, bits and predicates: every operation. Other types:
/// moves only.
pub const fn defined(op: Alu, ty: Scalar) -> bool {
    use Scalar::*;
    match ty {
        B128 => false,
        F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64 => matches!(op, Alu::Mov | Alu::Select),
        _ => true,
    }
}

/// A mask of the low `bits` bits.
const fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The low `bits` bits of `x`, sign-extended to 64 bits.
const fn sign(x: u64, bits: u32) -> i64 {
    if bits >= 64 || bits == 0 { x as i64 } else { ((x << (64 - bits)) as i64) >> (64 - bits) }
}

/// Evaluates one operation. Predicates are 0 and 1. Returns `None` for too few arguments, or for an operation
/// that the type does not have (see [`defined`]).
pub fn eval(op: Alu, ty: Scalar, args: &[u64]) -> Option<u64> {
    use Alu::*;
    if args.len() < arity(op) || !defined(op, ty) {
        return None;
    }
    let (bits, signed) = (ty.bits(), ty.signed());
    let mask = ones(bits);
    let raw = |i: usize| args.get(i).copied().unwrap_or(0);
    let (a, b, c) = (raw(0) & mask, raw(1) & mask, raw(2) & mask);
    let (sa, sb) = (sign(a, bits), sign(b, bits));
    // Wide results have twice the width; no PTX type has more than 64 bits.
    let wide = ones(bits.saturating_mul(2));
    let product = if signed { sa.wrapping_mul(sb) as u64 } else { a.wrapping_mul(b) };
    let result = match op {
        Mov | Extend => return Some(if signed { sa as u64 } else { a }),
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        MulHi if signed => ((i128::from(sa) * i128::from(sb)) >> bits) as u64,
        MulHi => ((u128::from(a) * u128::from(b)) >> bits) as u64,
        MulWide => return Some(product & wide),
        Mad => a.wrapping_mul(b).wrapping_add(c),
        MadWide => return Some(product.wrapping_add(raw(2)) & wide),
        Div if b == 0 => u64::MAX,
        Div if signed => sa.wrapping_div(sb) as u64,
        Div => a / b,
        Rem if b == 0 => u64::MAX,
        Rem if signed => sa.wrapping_rem(sb) as u64,
        Rem => a % b,
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Not => !a,
        Shl => match raw(1) & ones(32) {
            n if n >= u64::from(bits) => 0,
            n => a << n,
        },
        Shr => {
            let n = (raw(1) & ones(32)).min(u64::from(bits));
            // Rust cannot shift by 64: shift by 63, then by 1.
            let n = (n.min(63) as u32, u32::from(n > 63));
            if signed { (sa >> n.0 >> n.1) as u64 } else { a >> n.0 >> n.1 }
        }
        Neg => a.wrapping_neg(),
        Abs if signed => sa.wrapping_abs() as u64,
        Abs => a,
        Min if signed => sa.min(sb) as u64,
        Min => a.min(b),
        Max if signed => sa.max(sb) as u64,
        Max => a.max(b),
        Select => {
            if raw(2) & 1 == 1 {
                a
            } else {
                b
            }
        }
        Eq => return Some(u64::from(a == b)),
        Ne => return Some(u64::from(a != b)),
        Lt => return Some(u64::from(if signed { sa < sb } else { a < b })),
        Le => return Some(u64::from(if signed { sa <= sb } else { a <= b })),
        Gt => return Some(u64::from(if signed { sa > sb } else { a > b })),
        Ge => return Some(u64::from(if signed { sa >= sb } else { a >= b })),
        Popc => return Some(u64::from(a.count_ones())),
        Clz => return Some(u64::from(a.leading_zeros()).saturating_sub(u64::from(64 - bits))),
        Bfe => bit_field(a, bits, signed, (raw(1) & 0xff) as u32, (raw(2) & 0xff) as u32),
        Lop3 => {
            let lut = raw(3);
            (0..8).filter(|i| lut >> i & 1 == 1).fold(0, |acc, i| {
                let pick = |x: u64, bit: u64| if i >> bit & 1 == 1 { x } else { !x };
                acc | (pick(a, 2) & pick(b, 1) & pick(c, 0))
            })
        }
    };
    Some(result & mask)
}

/// Extracts `len` bits of `a` from `pos` on (PTX ISA, `bfe`). Bits beyond the type's width or above the field
/// are copies of the field's sign bit.
fn bit_field(a: u64, bits: u32, signed: bool, pos: u32, len: u32) -> u64 {
    let top = (pos + len).saturating_sub(1).min(bits.saturating_sub(1));
    let fill = signed && len > 0 && a >> top & 1 == 1;
    let have = bits.saturating_sub(pos).min(len);
    let field = if have == 0 { 0 } else { (a >> pos) & ones(have) };
    if fill { field | !ones(have) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTS: [(Scalar, u32, bool); 12] = [
        (Scalar::U8, 8, false),
        (Scalar::S8, 8, true),
        (Scalar::B8, 8, false),
        (Scalar::U16, 16, false),
        (Scalar::S16, 16, true),
        (Scalar::U32, 32, false),
        (Scalar::S32, 32, true),
        (Scalar::B32, 32, false),
        (Scalar::U64, 64, false),
        (Scalar::S64, 64, true),
        (Scalar::B64, 64, false),
        (Scalar::Pred, 1, false),
    ];

    /// A value as the number that it means, in arithmetic too wide to overflow.
    fn number(x: u64, bits: u32, signed: bool) -> i128 {
        let modulus = 1i128 << bits;
        let x = i128::from(x) % modulus;
        if signed && x >= modulus / 2 { x - modulus } else { x }
    }

    /// A number's bits in `bits` bits.
    fn wrap(x: i128, bits: u32) -> u64 {
        x.rem_euclid(1i128 << bits) as u64
    }

    /// Each bit of the result on its own, as the PTX manual writes it.
    fn slow_bfe(a: u64, bits: u32, signed: bool, pos: u64, len: u64) -> u64 {
        let msb = u64::from(bits) - 1;
        let sbit = if !signed || len == 0 { 0 } else { a >> (pos + len - 1).min(msb) & 1 };
        (0..=msb).fold(0, |d, i| d | (if i < len && pos + i <= msb { a >> (pos + i) & 1 } else { sbit }) << i)
    }

    /// The oracle: every operation from its definition, on numbers.
    fn oracle(op: Alu, bits: u32, signed: bool, args: &[u64; 4]) -> u64 {
        let n = |i: usize| number(args[i], bits, signed);
        let (a, b, c) = (n(0), n(1), n(2));
        let amount = (args[1] & 0xffff_ffff) as i128;
        let wide = (bits * 2).min(64);
        // Truncating division from the magnitudes.
        let quotient = |a: i128, b: i128| {
            let q = a.unsigned_abs() / b.unsigned_abs();
            if (a < 0) != (b < 0) { -(q as i128) } else { q as i128 }
        };
        match op {
            Alu::Mov | Alu::Extend => wrap(a, 64),
            Alu::Add => wrap(a + b, bits),
            Alu::Sub => wrap(a - b, bits),
            Alu::Mul => wrap(a.wrapping_mul(b), bits),
            Alu::MulHi if !signed => ((a as u128 * b as u128) >> bits) as u64,
            Alu::MulHi => wrap((a * b).div_euclid(1i128 << bits), bits),
            Alu::MulWide => wrap(a.wrapping_mul(b), wide),
            Alu::Mad => wrap(a.wrapping_mul(b).wrapping_add(c), bits),
            Alu::MadWide => wrap(a.wrapping_mul(b).wrapping_add(i128::from(args[2])), wide),
            Alu::Div if b == 0 => wrap(-1, bits),
            Alu::Div => wrap(quotient(a, b), bits),
            Alu::Rem if b == 0 => wrap(-1, bits),
            Alu::Rem => wrap(a - quotient(a, b) * b, bits),
            Alu::And => (0..bits).fold(0, |d, i| d | ((args[0] >> i & 1) * (args[1] >> i & 1)) << i),
            Alu::Or => (0..bits).fold(0, |d, i| d | (args[0] >> i & 1).max(args[1] >> i & 1) << i),
            Alu::Xor => (0..bits).fold(0, |d, i| d | (((args[0] >> i & 1) + (args[1] >> i & 1)) % 2) << i),
            Alu::Not => wrap(-1 - a, bits),
            Alu::Shl if amount >= i128::from(bits) => 0,
            Alu::Shl => wrap(a.wrapping_mul(1i128 << amount), bits),
            Alu::Shr if amount >= i128::from(bits) => wrap(if a < 0 { -1 } else { 0 }, bits),
            Alu::Shr => wrap(a.div_euclid(1i128 << amount), bits),
            Alu::Neg => wrap(-a, bits),
            Alu::Abs => wrap(a.abs(), bits),
            Alu::Min => wrap(if a < b { a } else { b }, bits),
            Alu::Max => wrap(if a > b { a } else { b }, bits),
            Alu::Select => wrap(if args[2] & 1 == 1 { a } else { b }, bits),
            Alu::Eq => u64::from(a - b == 0),
            Alu::Ne => u64::from(a - b != 0),
            Alu::Lt => u64::from(a - b < 0),
            Alu::Le => u64::from(a - b <= 0),
            Alu::Gt => u64::from(a - b > 0),
            Alu::Ge => u64::from(a - b >= 0),
            Alu::Popc => (0..bits).map(|i| args[0] >> i & 1).sum(),
            Alu::Clz => (0..bits).rev().take_while(|i| args[0] >> i & 1 == 0).count() as u64,
            Alu::Bfe => slow_bfe(wrap(a, bits), bits, signed, args[1] & 0xff, args[2] & 0xff),
            Alu::Lop3 => (0..bits).fold(0, |d, i| {
                let at = (args[0] >> i & 1) * 4 + (args[1] >> i & 1) * 2 + (args[2] >> i & 1);
                d | (args[3] >> at & 1) << i
            }),
        }
    }

    /// Values at which integer arithmetic goes wrong, and a few that are like any other.
    fn corners() -> Vec<u64> {
        let mut v =
            vec![0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 0xdead_beef_1234_5678];
        for bits in [8, 16, 32, 64] {
            let half = 1u64 << (bits - 1);
            v.extend([
                half - 1,
                half,
                half.wrapping_add(1),
                half.wrapping_mul(2).wrapping_sub(1),
                half.wrapping_mul(2),
            ]);
        }
        v.extend([u64::MAX, u64::MAX - 1, 0xffff_ffff_0000_0000, 0x0101_0101_8080_8080]);
        v
    }

    #[test]
    fn every_operation_agrees_with_wide_arithmetic() {
        let values = corners();
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            seed ^ seed >> 29
        };
        let mut cases: Vec<[u64; 4]> = Vec::new();
        for &a in &values {
            for &b in &values {
                cases.push([a, b, values[(random() % values.len() as u64) as usize], random() & 0xff]);
                cases.push([a, b, random(), random() & 0xff]);
            }
        }
        for _ in 0..2000 {
            cases.push([random(), random() >> (random() % 64), random() >> (random() % 64), random() & 0xff]);
        }
        for &op in Alu::ALL {
            for (ty, bits, signed) in INTS {
                for args in &cases {
                    let want = oracle(op, bits, signed, args);
                    assert_eq!(eval(op, ty, args), Some(want), "{}.{} {args:x?}", op.name(), ty.name());
                }
            }
        }
    }

    #[test]
    fn known_values() {
        use Alu::*;
        use Scalar::*;
        for (op, ty, args, want) in [
            (Div, S32, vec![0x8000_0000, 0xffff_ffff], 0x8000_0000),
            (Rem, S32, vec![0x8000_0000, 0xffff_ffff], 0),
            (Div, U32, vec![7, 0], 0xffff_ffff),
            (Rem, S32, vec![0xffff_fff9, 3], 0xffff_ffff),
            (Shr, S32, vec![0x8000_0000, 99], 0xffff_ffff),
            (Shl, B16, vec![1, 0x1_0000], 0),
            (MulWide, S32, vec![0xffff_ffff, 2], 0xffff_ffff_ffff_fffe),
            (MulWide, U16, vec![0xffff, 0xffff], 0xfffe_0001),
            (MulHi, S64, vec![u64::MAX, 2], u64::MAX),
            (Mul, U64, vec![1 << 63, 2], 0),
            (Clz, B32, vec![0], 32),
            (Bfe, S32, vec![0x80, 4, 4], 0xffff_fff8),
            (Extend, S8, vec![0x80], 0xffff_ffff_ffff_ff80),
            (Lop3, B32, vec![0xf0f0, 0xcccc, 0xaaaa, 0x96], 0x9696),
            (Not, Pred, vec![1], 0),
            (Mov, F32, vec![0x3f80_0000], 0x3f80_0000),
        ] {
            assert_eq!(eval(op, ty, &args), Some(want), "{}.{} {args:x?}", op.name(), ty.name());
        }
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        assert_eq!(eval(Alu::Add, Scalar::F32, &[0, 0]), None);
        assert_eq!(eval(Alu::Mov, Scalar::B128, &[0]), None);
        assert_eq!(eval(Alu::Add, Scalar::U32, &[0]), None);
        for &op in Alu::ALL {
            assert_eq!(eval(op, Scalar::U32, &[]), None);
        }
    }
}
