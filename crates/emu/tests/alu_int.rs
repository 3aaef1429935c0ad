//! Integer operations against arithmetic in `i128`.

mod alu;
use alu::{check, integers, tuples};

/// A value of `bits` bits, by its sign.
fn val(x: u64, bits: u32, signed: bool) -> i128 {
    if signed { i128::from((x << (64 - bits)) as i64 >> (64 - bits)) } else { i128::from(x) }
}
fn mask(bits: u32) -> u64 {
    if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
}
const TYPES: &[(&str, u32, bool)] = &[
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

fn each(op: &str, n: usize, f: impl Fn(&[i128], u32) -> i128) {
    for &(name, bits, signed) in TYPES {
        let text = format!("{op}.{name}");
        let columns: Vec<_> = (0..n).map(|i| integers(bits, 200, 7 + i as u64)).collect();
        check(&text, &tuples(&columns, 3000, 1), |t| {
            let v: Vec<i128> = t.iter().map(|&x| val(x, bits, signed)).collect();
            f(&v, bits) as u64 & mask(bits)
        });
    }
}

#[test]
fn arithmetic() {
    each("add", 2, |v, _| v[0] + v[1]);
    each("sub", 2, |v, _| v[0] - v[1]);
    each("mul.lo", 2, |v, _| v[0].wrapping_mul(v[1]));
    each("mad.lo", 3, |v, _| v[0].wrapping_mul(v[1]).wrapping_add(v[2]));
    each("min", 2, |v, _| v[0].min(v[1]));
    each("max", 2, |v, _| v[0].max(v[1]));
    each("div", 2, |v, _| if v[1] == 0 { -1 } else { v[0] / v[1] });
    each("rem", 2, |v, _| if v[1] == 0 { v[0] } else { v[0] % v[1] });
    each("sad", 3, |v, _| v[2] + (v[0] - v[1]).abs());
}
