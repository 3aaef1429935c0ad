//! Floating-point operations against `rustc_apfloat` (LLVM's software floating point): another author's
//! arithmetic.

use crate::alu::{Random, check, choose, levels, many, regs, run};
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

const MODES: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

/// What the tests need of a format.
trait Format: Float {
    const WIDTH: u32;
    const FRACTION: u32;
    const QUIET: u64;
    fn of(bits: u64) -> Self {
        Self::from_bits(u128::from(bits))
    }
    fn bits(self) -> u64 {
        if self.is_nan() { Self::QUIET } else { self.to_bits() as u64 }
    }
}
impl Format for Single {
    const WIDTH: u32 = 32;
    const FRACTION: u32 = 23;
    const QUIET: u64 = 0x7fff_ffff;
}
impl Format for Double {
    const WIDTH: u32 = 64;
    const FRACTION: u32 = 52;
    const QUIET: u64 = 0xfff8_0000_0000_0000;
}
impl Format for Half {
    const WIDTH: u32 = 16;
    const FRACTION: u32 = 10;
    const QUIET: u64 = 0x7fff;
}
impl Format for BFloat {
    const WIDTH: u32 = 16;
    const FRACTION: u32 = 7;
    const QUIET: u64 = 0x7fff;
}

/// The result of an operation on `t`: binary64 keeps the first NaN among its operands, made quiet.
fn sealed<F: Format>(r: F, t: &[u64]) -> u64 {
    let first = t.iter().find(|&&x| F::WIDTH == 64 && F::of(x).is_nan());
    if r.is_nan() { first.map_or(F::QUIET, |x| x | 1 << 51) } else { r.bits() }
}

/// Values worth trying: corners first, then random patterns, many close to each other in exponent.
fn values<F: Format>(n: usize, seed: u64) -> Vec<u64> {
    let (sign, one) = (1u64 << (F::WIDTH - 1), 1u64 << F::FRACTION);
    let exponents = sign >> F::FRACTION;
    let infinity = (exponents - 1) << F::FRACTION;
    let unit = (exponents / 2 - 1) << F::FRACTION;
    let mut v = Vec::new();
    for x in [
        0,
        1,
        2,
        one - 1,
        one,
        one + 1,
        unit,
        unit + 1,
        unit - 1,
        infinity - 1,
        infinity,
        infinity + 1,
        unit + one / 2,
    ] {
        v.extend([x, x | sign]);
    }
    let mut r = Random(seed);
    while v.len() < many(n) {
        let x = r.next();
        let bits = x & (sign | (sign - 1));
        v.push(match x >> 61 {
            // Any pattern; near 1; few bits of fraction; subnormal; large.
            0..=2 => bits,
            3 => (bits & (sign | (one - 1))) | (unit + ((x >> 50 & 7) << F::FRACTION)),
            4 => bits & !(one - 1) | (bits & (one - 1) & 0u64.wrapping_sub(one >> (x >> 40 & 3))),
            5 => bits & (sign | (one - 1)),
            6 => (bits & (sign | (one - 1))) | (infinity - one),
            _ => (bits & sign) | (unit + (bits & (8 * one - 1))),
        });
    }
    v
}

/// All pairs of corners, then random picks; in a third of the picks operands nearly cancel.
fn cases<F: Format>(operands: usize, n: usize, seed: u64) -> Vec<Vec<u64>> {
    let pool = values::<F>(n / 10, seed);
    let mut out = Vec::new();
    if operands >= 2 {
        for &a in &pool[..26] {
            for &b in &pool[..26] {
                for &c in if operands == 3 { &pool[..26] } else { &pool[..1] } {
                    out.push([a, b, c][..operands].to_vec());
                }
            }
        }
    }
    let mut r = Random(seed + 1);
    let corners = out.len();
    while out.len() < corners + many(n) {
        let mut t: Vec<u64> = (0..operands).map(|_| pool[(r.next() % pool.len() as u64) as usize]).collect();
        let x = r.next();
        if x.is_multiple_of(3) && operands == 2 {
            t[1] = t[0] ^ (x >> 8 & 7) ^ (1 << (F::WIDTH - 1));
        }
        if x.is_multiple_of(3) && operands == 3 {
            // c close to -a*b.
            let p = F::of(t[0]).mul_r(F::of(t[1]), Round::NearestTiesToEven).value;
            t[2] = p.bits() ^ (1 << (F::WIDTH - 1)) ^ (x >> 8 & 3);
        }
        out.push(t);
    }
    out
}

fn arithmetic<F: Format>(ty: &str, modes: &[(&str, Round)], n: usize) {
    let (two, three) = (cases::<F>(2, n, 3), cases::<F>(3, n, 4));
    for &(mode, round) in modes {
        let f = |t: &[u64]| (F::of(t[0]), F::of(t[1]));
        check(&format!("add.{mode}.{ty}"), &two, |t| sealed(f(t).0.add_r(f(t).1, round).value, t));
        check(&format!("sub.{mode}.{ty}"), &two, |t| sealed(f(t).0.sub_r(f(t).1, round).value, t));
        check(&format!("mul.{mode}.{ty}"), &two, |t| sealed(f(t).0.mul_r(f(t).1, round).value, t));
        check(&format!("fma.{mode}.{ty}"), &three, |t| {
            sealed(f(t).0.mul_add_r(f(t).1, F::of(t[2]), round).value, t)
        });
        if F::WIDTH >= 32 {
            check(&format!("div.{mode}.{ty}"), &two, |t| sealed(f(t).0.div_r(f(t).1, round).value, t));
            let one = F::from_u128(1).value;
            let ones: Vec<_> = two.iter().map(|t| t[..1].to_vec()).collect();
            check(&format!("rcp.{mode}.{ty}"), &ones, |t| sealed(one.div_r(F::of(t[0]), round).value, t));
        }
    }
}

#[test]
fn binary32() {
    arithmetic::<Single>("f32", &MODES, 20_000);
}

#[test]
fn binary64() {
    arithmetic::<Double>("f64", &MODES, 15_000);
}

#[test]
fn halves() {
    arithmetic::<Half>("f16", &MODES[..1], 60_000);
    arithmetic::<BFloat>("bf16", &MODES[..1], 60_000);
}

/// Zero of its sign if subnormal.
fn flush(x: u64) -> u64 {
    if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }
}
/// Clamped to [0, 1].
fn saturate(x: u64) -> u64 {
    match x {
        0x3f80_0000..=0x7f80_0000 => 0x3f80_0000,
        0..0x3f80_0000 => x,
        _ => 0,
    }
}

/// An exact value in binary32 with `.ftz`: zero, where its 24 bits with no end to the exponents are below
/// 2^-126.
fn ftz(r: Single, exact: Quad, round: Round) -> u64 {
    let scaled: Single = exact.scalbn_r(64, round).convert_r(round, &mut false).value;
    let tiny = (scaled.to_bits() as u64 & 0x7fff_ffff) < (127 - 62) << 23;
    if tiny { r.bits() & 0x8000_0000 } else { r.bits() }
}

#[test]
fn flush_and_saturate() {
    let two = cases::<Single>(2, 10_000, 5);
    let s = |t: &[u64], i: usize| Single::of(flush(t[i]));
    let q = |t: &[u64], i: usize| -> Quad { s(t, i).convert(&mut false).value };
    for (mode, round) in MODES {
        let product =
            |t: &[u64]| ftz(s(t, 0).mul_r(s(t, 1), round).value, q(t, 0).mul_r(q(t, 1), round).value, round);
        check(&format!("add.{mode}.ftz.f32"), &two, |t| {
            ftz(s(t, 0).add_r(s(t, 1), round).value, q(t, 0).add_r(q(t, 1), round).value, round)
        });
        check(&format!("mul.{mode}.ftz.f32"), &two, product);
        check(&format!("mul.{mode}.ftz.sat.f32"), &two, |t| saturate(product(t)));
        check(&format!("sub.{mode}.sat.f32"), &two, |t| {
            saturate(Single::of(t[0]).sub_r(Single::of(t[1]), round).value.bits())
        });
    }
    let near = Round::NearestTiesToEven;
    let three = cases::<Single>(3, 10_000, 6);
    check("fma.rn.ftz.f32", &three, |t| {
        let r = s(t, 0).mul_add_r(s(t, 1), s(t, 2), near).value;
        ftz(r, q(t, 0).mul_add_r(q(t, 1), q(t, 2), near).value, near)
    });
    check("fma.rn.sat.f32", &three, |t| {
        let [a, b, c] = [0, 1, 2].map(|i| Single::of(t[i]));
        saturate(a.mul_add_r(b, c, near).value.bits())
    });
    // Seen on an H200.
    check("mul.ftz.f32", &[vec![0x3f7f_ffff, 0x0080_0000]], |_| 0);
    check("div.rp.ftz.f32", &[vec![0x0080_0000, 0x3f80_0001]], |_| 0);
    check("mul.ftz.f16", &[vec![0x3bff, 0x0400]], |_| 0);
    check("fma.rn.ftz.f16", &[vec![0x0400, 0xbbff, 0x8000]], |_| 0x8000);
    check("cvt.rp.ftz.f16.f32", &[vec![1]], |_| 1);
}

/// Square roots: the result and its neighbours, squared exactly.
fn roots<F: Format + FloatConvert<Quad>>(ty: &str, n: usize) {
    let values: Vec<Vec<u64>> = values::<F>(n, 8).into_iter().map(|x| vec![x]).collect();
    for level in levels() {
        let of = |mode: &str| choose(&format!("sqrt.{mode}.{ty}"), regs(2), level).unwrap();
        let ops = ["rn", "rz", "rm", "rp"].map(of);
        for chunk in values.chunks(32) {
            let src = std::array::from_fn(|l| chunk[l % chunk.len()][0]);
            let [near, zero, down, up] = ops.each_ref().map(|op| run(op, &[src], u32::MAX)[0]);
            for l in 0..32 {
                let x = F::of(src[l]);
                if x.is_nan() || (x.is_negative() && !x.is_zero()) {
                    let nan = sealed(F::of(F::QUIET), &src[l..=l]);
                    assert_eq!([near[l], zero[l], down[l], up[l]], [nan; 4], "{ty} {:x}", src[l]);
                } else if x.is_zero() || x.is_infinite() {
                    assert!([near[l], zero[l], down[l], up[l]] == [src[l]; 4], "{ty} {:x}", src[l]);
                } else {
                    // The exact root lies between: r*r - x has no rounding that hides its sign.
                    let sign = |r: u64| {
                        let [r, x]: [Quad; 2] = [F::of(r), x].map(|v| v.convert(&mut false).value);
                        let e = r.mul_add_r(r, -x, Round::TowardNegative).value;
                        if e.is_zero() {
                            0
                        } else if e.is_negative() {
                            -1
                        } else {
                            1
                        }
                    };
                    assert!(
                        sign(down[l]) <= 0 && sign(up[l]) >= 0 && zero[l] == down[l],
                        "{ty} {:x}",
                        src[l]
                    );
                    let exact = down[l] == up[l];
                    assert!(if exact { sign(up[l]) == 0 } else { up[l] == down[l] + 1 }, "{ty} {:x}", src[l]);
                    assert!(near[l] == down[l] || near[l] == up[l]);
                }
            }
        }
    }
}

#[test]
fn square_roots() {
    roots::<Single>("f32", 20_000);
    roots::<Double>("f64", 20_000);
    // To nearest: against the host's own instruction.
    let f32s: Vec<Vec<u64>> = values::<Single>(20_000, 9).into_iter().map(|x| vec![x]).collect();
    check("sqrt.rn.f32", &f32s, |t| {
        Single::of(u64::from(f32::from_bits(t[0] as u32).sqrt().to_bits())).bits()
    });
}

/// A conversion between two formats; NaNs as an H200 gives them.
fn convert<A: Format + FloatConvert<B>, B: Format>(a: &str, b: &str, inputs: &[Vec<u64>]) {
    for (mode, round) in MODES {
        let text =
            if A::FRACTION > B::FRACTION { format!("cvt.{mode}.{b}.{a}") } else { format!("cvt.{b}.{a}") };
        check(&text, inputs, |t| {
            if !A::of(t[0]).is_nan() {
                return A::of(t[0]).convert_r(round, &mut false).value.bits();
            }
            let keeps = A::WIDTH == 64 || B::WIDTH == 64;
            let payload = u128::from(t[0] & ((1 << A::FRACTION) - 1)) << 64 >> A::FRACTION;
            let sign = (t[0] >> (A::WIDTH - 1)) << (B::WIDTH - 1);
            let quiet = (((1u64 << (B::WIDTH - 1)) - 1) >> (B::FRACTION - 1)) << (B::FRACTION - 1);
            match (a, b) {
                ("bf16", "f32") => t[0] << 16,
                _ if keeps => sign | quiet | (payload >> (64 - B::FRACTION)) as u64,
                _ => B::QUIET,
            }
        });
    }
}

fn singles<F: Format>(n: usize) -> Vec<Vec<u64>> {
    let mut v: Vec<Vec<u64>> = values::<F>(n, 10).into_iter().map(|x| vec![x]).collect();
    // Close to what halves can hold: every half, and its neighbours beyond the half's last bit.
    if F::WIDTH == 32 {
        let mut r = Random(11);
        for h in 0..=0xffffu64 {
            let b = Half::of(h).convert_r(Round::NearestTiesToEven, &mut false).value;
            let b: Single = b;
            v.push(vec![(b.bits() + (r.next() % 3) * 0xfff + (r.next() % 3)) & 0xffff_ffff]);
            v.push(vec![(h << 16) | [0x7fff, 0x8000, 0x8001, 0][(r.next() % 4) as usize]]);
        }
    }
    v
}

#[test]
fn between_formats() {
    let halves: Vec<Vec<u64>> = (0..=0xffff).map(|h| vec![h]).collect();
    convert::<Half, Single>("f16", "f32", &halves);
    convert::<Half, Double>("f16", "f64", &halves);
    convert::<BFloat, Single>("bf16", "f32", &halves);
    convert::<BFloat, Double>("bf16", "f64", &halves);
    let (f32s, f64s) = (singles::<Single>(30_000), singles::<Double>(30_000));
    convert::<Single, Half>("f32", "f16", &f32s);
    convert::<Single, BFloat>("f32", "bf16", &f32s);
    convert::<Single, Double>("f32", "f64", &f32s);
    convert::<Double, Single>("f64", "f32", &f64s);
    convert::<Double, Half>("f64", "f16", &f64s);
    convert::<Double, BFloat>("f64", "bf16", &f64s);
}

/// The pattern nearest to a value in a format without infinities and NaNs, by trying all of them: of two
/// equally near ones the even one; a NaN becomes the greatest.
fn nearest(x: f32, (sign, fraction, bias): (u64, u32, i32)) -> u64 {
    if x.is_nan() {
        return sign - 1;
    }
    let distance = |p: u64| (small((sign, fraction, bias), p) - f64::from(x.abs()).min(1e9)).abs();
    let best = (0..sign).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))));
    best.unwrap() | if x.is_sign_negative() { sign } else { 0 }
}

/// The value of a pattern of such a format.
fn small((sign, fraction, bias): (u64, u32, i32), p: u64) -> f64 {
    let magnitude = p & (sign - 1);
    let (e, f) = ((magnitude >> fraction) as i32, (magnitude & ((1 << fraction) - 1)) as f64);
    let f = f / f64::from(1u32 << fraction);
    let value = if e == 0 { f * 2f64.powi(1 - bias) } else { (1.0 + f) * 2f64.powi(e - bias) };
    if p & sign != 0 { -value } else { value }
}

#[test]
fn formats_of_four_and_six_bits() {
    let two = cases::<Single>(2, 20_000, 14);
    for (name, format, width) in
        [("e2m1x2", (8, 1, 1), 4), ("e2m3x2", (0x20, 3, 1), 8), ("e3m2x2", (0x20, 2, 3), 8)]
    {
        // Values near those of the format, besides those that are far from all of them.
        let near = (0..2 * format.0).flat_map(|p| {
            let v = small(format, p) as f32;
            [v, v * 1.03, v * 1.2, v * 1.25, v * 1.5, v / 3.0].map(|v| u64::from(v.to_bits()))
        });
        let near: Vec<u64> = near.collect();
        let near = near.iter().zip(near.iter().rev()).map(|(a, b)| vec![*a, *b]);
        let all: Vec<Vec<u64>> = two.iter().cloned().chain(near).collect();
        let one = |x: u64| nearest(f32::from_bits(x as u32), format);
        check(&format!("cvt.rn.satfinite.{name}.f32"), &all, |t| one(t[0]) << width | one(t[1]));
        let pairs: Vec<Vec<u64>> = (0..if width == 4 { 0x100 } else { 0x10000 }).map(|p| vec![p]).collect();
        let wide = |p: u64| {
            let h: Half = Double::of(small(format, p).to_bits()).convert(&mut false).value;
            h.bits() | if p & format.0 != 0 { 0x8000 } else { 0 }
        };
        let used = pairs.into_iter().filter(|p| {
            let mask = 2 * format.0 - 1;
            p[0] & !(mask | mask << width) == 0
        });
        check(&format!("cvt.rn.f16x2.{name}"), &used.collect::<Vec<_>>(), |t| {
            wide(t[0] >> width) << 16 | wide(t[0] & ((1 << width) - 1))
        });
    }
}

#[test]
fn scale_factors_are_powers_of_two() {
    let two = cases::<Single>(2, 20_000, 15);
    // The least power of two that is not below the value, or the greatest that is not above it.
    let scale = |x: u64, up: bool, finite: bool| -> u64 {
        let x = f64::from(f32::from_bits(x as u32)).abs();
        let power = |e: u64| 2f64.powi(e as i32 - 127);
        match x {
            x if x.is_nan() => 0xff,
            x if x > power(0xfe) && (up || x.is_infinite()) => 0xff - u64::from(finite),
            _ if up => (0..0xff).find(|e| power(*e) >= x).unwrap(),
            _ => (0..0xff).rev().find(|e| power(*e) <= x).unwrap_or(0),
        }
    };
    for (text, up, finite) in [
        ("cvt.rp.satfinite.ue8m0x2.f32", true, true),
        ("cvt.rz.satfinite.ue8m0x2.f32", false, true),
        ("cvt.rp.ue8m0x2.f32", true, false),
        ("cvt.rz.ue8m0x2.f32", false, false),
    ] {
        check(text, &two, |t| scale(t[0], up, finite) << 8 | scale(t[1], up, finite));
    }
    let pairs: Vec<Vec<u64>> = (0..=0xffff).map(|p| vec![p]).collect();
    let wide = |p: u64| match p & 0xff {
        0xff => 0x7fff,
        e => u64::from((2f64.powi(e as i32 - 127) as f32).to_bits() >> 16),
    };
    check("cvt.rn.bf16x2.ue8m0x2", &pairs, |t| wide(t[0] >> 8) << 16 | wide(t[0]));
}

#[test]
fn pairs_of_binary32() {
    let pairs = |n: usize, seed: u64| -> Vec<Vec<u64>> {
        let all = cases::<Single>(n, 20_000, seed);
        let both = all.iter().zip(all.iter().rev());
        both.map(|(low, high)| (0..n).map(|i| low[i] | high[i] << 32).collect()).collect()
    };
    let halves = |t: &[u64], f: &dyn Fn(&[Single]) -> Single| -> u64 {
        [0, 32].iter().fold(0, |all, shift| {
            let values: Vec<Single> = t.iter().map(|x| Single::of(x >> shift & 0xffff_ffff)).collect();
            all | f(&values).bits() << shift
        })
    };
    for (name, mode) in [("rn", Round::NearestTiesToEven), ("rz", Round::TowardZero)] {
        check(&format!("add.{name}.f32x2"), &pairs(2, 16), |t| halves(t, &|v| v[0].add_r(v[1], mode).value));
        check(&format!("mul.{name}.f32x2"), &pairs(2, 17), |t| halves(t, &|v| v[0].mul_r(v[1], mode).value));
        check(&format!("fma.{name}.f32x2"), &pairs(3, 18), |t| {
            halves(t, &|v| v[0].mul_add_r(v[1], v[2], mode).value)
        });
    }
}

#[test]
fn mixed_precision() {
    fn all<N: Format + FloatConvert<Single>>(ty: &str) {
        let operands = |n: usize, seed: u64| -> Vec<Vec<u64>> {
            let (narrow, wide) = (cases::<N>(n - 1, 20_000, seed), cases::<Single>(1, 20_000, seed + 1));
            narrow.into_iter().zip(wide).map(|(a, c)| [a, c].concat()).collect()
        };
        let widened = |x: u64| {
            let exact: Single = N::of(x).convert(&mut false).value;
            exact
        };
        for (name, mode) in MODES {
            let last = |t: &[u64]| Single::of(t[t.len() - 1]);
            let sum = |t: &[u64]| widened(t[0]).add_r(last(t), mode).value;
            check(&format!("add.{name}.f32.{ty}"), &operands(2, 30), |t| sealed(sum(t), &[]));
            check(&format!("sub.{name}.sat.f32.{ty}"), &operands(2, 31), |t| {
                saturate(sealed(widened(t[0]).sub_r(last(t), mode).value, &[]))
            });
            check(&format!("fma.{name}.f32.{ty}"), &operands(3, 32), |t| {
                sealed(widened(t[0]).mul_add_r(widened(t[1]), last(t), mode).value, &[])
            });
        }
    }
    all::<Half>("f16");
    all::<BFloat>("bf16");
}

#[test]
fn packed() {
    let two = cases::<Single>(2, 20_000, 12);
    let near = Round::NearestTiesToEven;
    let half = |x: u64| -> u64 {
        let h: Half = Single::of(x).convert_r(near, &mut false).value;
        h.bits()
    };
    let bf = |x: u64| -> u64 {
        let h: BFloat = Single::of(x).convert_r(near, &mut false).value;
        h.bits()
    };
    let relu = |h: u64| if h & 0x8000 != 0 { 0 } else { h };
    check("cvt.rn.f16x2.f32", &two, |t| half(t[0]) << 16 | half(t[1]));
    check("cvt.rn.bf16x2.f32", &two, |t| bf(t[0]) << 16 | bf(t[1]));
    check("cvt.rn.relu.f16x2.f32", &two, |t| relu(half(t[0])) << 16 | relu(half(t[1])));
    check("cvt.rn.relu.bf16x2.f32", &two, |t| relu(bf(t[0])) << 16 | relu(bf(t[1])));
    let finite = |h: u64| if h & 0x7fff == 0x7c00 { h - 1 } else { h };
    check("cvt.rn.satfinite.f16x2.f32", &two, |t| finite(half(t[0])) << 16 | finite(half(t[1])));
    // 8-bit formats saturate to the largest finite value.
    let e4m3 = |x: u64| -> u64 {
        if Single::of(x).is_nan() {
            return 0x7f;
        }
        let b: Float8E4M3FN = Single::of(x).convert_r(near, &mut false).value;
        let b = if b.is_nan() { 0x7e } else { b.to_bits() as u64 & 0x7f };
        b | (x >> 24 & 0x80)
    };
    let e5m2 = |x: u64| -> u64 {
        if Single::of(x).is_nan() {
            return 0x7f;
        }
        let b: Float8E5M2 = Single::of(x).convert_r(near, &mut false).value;
        let b = (b.to_bits() as u64 & 0x7f).min(0x7b);
        b | (x >> 24 & 0x80)
    };
    check("cvt.rn.satfinite.e4m3x2.f32", &two, |t| e4m3(t[0]) << 8 | e4m3(t[1]));
    check("cvt.rn.satfinite.e5m2x2.f32", &two, |t| e5m2(t[0]) << 8 | e5m2(t[1]));
    let wide = |h: u64| -> u64 {
        let x: Single = Half::of(h).convert(&mut false).value;
        x.bits()
    };
    let pairs: Vec<Vec<u64>> =
        (0..=0xffffu64).map(|h| vec![h | (h.wrapping_mul(40_503) & 0xffff) << 16]).collect();
    check("cvt.rn.satfinite.e4m3x2.f16x2", &pairs, |t| {
        e4m3(wide(t[0] >> 16)) << 8 | e4m3(wide(t[0] & 0xffff))
    });
    check("cvt.rn.satfinite.e5m2x2.f16x2", &pairs, |t| {
        e5m2(wide(t[0] >> 16)) << 8 | e5m2(wide(t[0] & 0xffff))
    });
    let bytes: Vec<Vec<u64>> = (0..=0xffff).map(|h| vec![h]).collect();
    let from4 = |b: u64| -> u64 {
        let h: Half = Float8E4M3FN::from_bits(u128::from(b & 0xff)).convert(&mut false).value;
        h.bits()
    };
    let from5 = |b: u64| -> u64 {
        let h: Half = Float8E5M2::from_bits(u128::from(b & 0xff)).convert(&mut false).value;
        h.bits()
    };
    check("cvt.rn.f16x2.e4m3x2", &bytes, |t| from4(t[0] >> 8) << 16 | from4(t[0]));
    check("cvt.rn.f16x2.e5m2x2", &bytes, |t| from5(t[0] >> 8) << 16 | from5(t[0]));
    // Pairs of halves: the same as each half alone.
    let near2 =
        |a: u64, b: u64, f: &dyn Fn(u64, u64) -> u64| f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16;
    let words: Vec<Vec<u64>> = cases::<Half>(2, 20_000, 13)
        .chunks(2)
        .filter(|c| c.len() == 2)
        .map(|c| vec![c[0][0] | c[1][0] << 16, c[0][1] | c[1][1] << 16])
        .collect();
    check("add.f16x2", &words, |t| {
        near2(t[0], t[1], &|a, b| Half::of(a).add_r(Half::of(b), near).value.bits())
    });
    check("mul.bf16x2", &words, |t| {
        near2(t[0], t[1], &|a, b| BFloat::of(a).mul_r(BFloat::of(b), near).value.bits())
    });
}

#[test]
fn tf32() {
    let inputs = singles::<Single>(20_000);
    // To nearest in 10 bits of fraction, ties away: half a unit more, then cut.
    check("cvt.rna.tf32.f32", &inputs, |t| {
        let cut = t[0] & !0x1fff;
        if t[0] & 0x1000 != 0 && Single::of(t[0]).is_finite() { cut + 0x2000 } else { cut }
    });
    check(
        "cvt.rz.tf32.f32",
        &inputs,
        |t| if Single::of(t[0]).is_nan() { 0x7fff_e000 } else { t[0] & !0x1fff },
    );
}

const INTS: &[(&str, u32, bool)] = &[
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

fn to_integers<F: Format>(ty: &str, inputs: &[Vec<u64>]) {
    let modes = [
        ("rni", Round::NearestTiesToEven),
        ("rzi", Round::TowardZero),
        ("rmi", Round::TowardNegative),
        ("rpi", Round::TowardPositive),
    ];
    for &(int, bits, signed) in INTS {
        let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        for (mode, round) in modes {
            check(&format!("cvt.{mode}.{int}.{ty}"), inputs, |t| {
                let x = F::of(t[0]);
                if x.is_nan() {
                    return if F::WIDTH == 64 || bits == 64 { 1 << (bits - 1) } else { 0 };
                }
                let mut exact = false;
                let wide = x.to_i128_r(100, round, &mut exact).value;
                let (least, greatest) = if signed {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                } else {
                    (0, (1i128 << bits) - 1)
                };
                wide.clamp(least, greatest) as u64 & ones
            });
        }
    }
}

#[test]
fn floats_to_integers() {
    let mut f32s: Vec<Vec<u64>> = values::<Single>(4_000, 14).into_iter().map(|x| vec![x]).collect();
    let mut f64s: Vec<Vec<u64>> = values::<Double>(4_000, 14).into_iter().map(|x| vec![x]).collect();
    // Around the ends of every integer type, and halves.
    for i in 0..65 {
        for d in [-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5] {
            for s in [1.0, -1.0] {
                let x: f64 = s * ((1u128 << i) as f64 + d);
                f64s.push(vec![x.to_bits()]);
                f32s.push(vec![u64::from((x as f32).to_bits())]);
            }
        }
    }
    to_integers::<Single>("f32", &f32s);
    to_integers::<Double>("f64", &f64s);
    let halves: Vec<Vec<u64>> = (0..=0xffff).map(|h| vec![h]).collect();
    to_integers::<Half>("f16", &halves);
    to_integers::<BFloat>("bf16", &halves);
}

#[test]
fn integers_to_floats() {
    fn all<F: Format>(ty: &str) {
        for &(int, bits, signed) in INTS {
            let inputs: Vec<Vec<u64>> =
                crate::alu::integers(bits, 3000, 15).into_iter().map(|x| vec![x]).collect();
            for (mode, round) in MODES {
                check(&format!("cvt.{mode}.{ty}.{int}"), &inputs, |t| {
                    let v = if signed {
                        i128::from((t[0] << (64 - bits)) as i64 >> (64 - bits))
                    } else {
                        i128::from(t[0])
                    };
                    F::from_i128_r(v, round).value.bits()
                });
            }
        }
    }
    all::<Single>("f32");
    all::<Double>("f64");
    all::<Half>("f16");
    all::<BFloat>("bf16");
}

/// Sign-magnitude patterns as ordered integers.
fn key(x: u64, bits: u32) -> i64 {
    let magnitude = (x & ((1 << (bits - 1)) - 1)) as i64;
    if x >> (bits - 1) & 1 == 1 { -1 - magnitude } else { magnitude }
}

fn extremes<F: Format>(ty: &str, all: bool) {
    let two = cases::<F>(2, 20_000, 16);
    let nan = |x: u64| F::of(x).is_nan();
    let pick = |a: u64, b: u64, max: bool| match (nan(a), nan(b)) {
        // Of two, the second.
        (true, true) => sealed(F::of(F::QUIET), &[b]),
        (true, false) => b,
        (false, true) => a,
        _ if (key(a, F::WIDTH) < key(b, F::WIDTH)) != max => a,
        _ => b,
    };
    for (name, max) in [("min", false), ("max", true)] {
        check(&format!("{name}.{ty}"), &two, |t| pick(t[0], t[1], max));
        if all {
            check(&format!("{name}.NaN.{ty}"), &two, |t| {
                if nan(t[0]) || nan(t[1]) { F::QUIET } else { pick(t[0], t[1], max) }
            });
            let sign = 1u64 << (F::WIDTH - 1);
            check(&format!("{name}.xorsign.abs.{ty}"), &two, |t| {
                match pick(t[0] & !sign, t[1] & !sign, max) {
                    n if nan(n) => F::QUIET,
                    r => r | ((t[0] ^ t[1]) & sign),
                }
            });
        }
    }
}

#[test]
fn min_max() {
    extremes::<Single>("f32", true);
    extremes::<Double>("f64", false);
    extremes::<Half>("f16", true);
    extremes::<BFloat>("bf16", true);
}

#[test]
fn integral_values() {
    let inputs: Vec<Vec<u64>> = values::<Single>(20_000, 17).into_iter().map(|x| vec![x]).collect();
    for (mode, round) in [("rni", MODES[0].1), ("rzi", MODES[1].1), ("rmi", MODES[2].1), ("rpi", MODES[3].1)]
    {
        check(&format!("cvt.{mode}.f32.f32"), &inputs, |t| {
            Single::of(t[0]).round_to_integral(round).value.bits()
        });
        check(&format!("cvt.{mode}.sat.f32.f32"), &inputs, |t| {
            saturate(Single::of(t[0]).round_to_integral(round).value.bits())
        });
    }
}

/// Sine and cosine: absolute errors, as PTX gives them.
#[test]
fn angles() {
    let mut r = Random(20);
    for (name, exact) in [("sin", f64::sin as fn(f64) -> f64), ("cos", f64::cos)] {
        for (range, error) in
            [(std::f64::consts::PI, 2f64.powf(-20.5)), (100.0 * std::f64::consts::PI, 2f64.powf(-14.7))]
        {
            for level in levels() {
                let op = choose(&format!("{name}.approx.f32"), regs(2), level).unwrap();
                for _ in 0..500 {
                    let src: [u64; 32] = std::array::from_fn(|_| {
                        let unit = (r.next() >> 11) as f64 / 2f64.powi(52) - 1.0;
                        u64::from(((unit * range) as f32).to_bits())
                    });
                    let got = run(&op, &[src], u32::MAX)[0];
                    for l in 0..32 {
                        let x = f64::from(f32::from_bits(src[l] as u32));
                        let apart = (f64::from(f32::from_bits(got[l] as u32)) - exact(x)).abs();
                        assert!(apart <= error, "{name}({x}) is off by {apart}");
                    }
                }
            }
        }
    }
    let (inf, nan) = (0x7f80_0000, 0x7fff_ffff);
    for text in ["sin.approx.f32", "sin.approx.ftz.f32"] {
        check(text, &[vec![0], vec![0x8000_0000], vec![1], vec![inf], vec![nan]], |t| match t[0] {
            0 | 1 => 0,
            0x8000_0000 => t[0],
            _ => nan,
        });
    }
    check("cos.approx.f32", &[vec![0], vec![0x8000_0000], vec![1], vec![inf]], |t| {
        if t[0] == inf { nan } else { 0x3f80_0000 }
    });
}

/// Approximations: at most a unit in the last place from the exact value, so inside what PTX allows.
fn near_to(text: &str, ftz: bool, exact: impl Fn(f64) -> f64) {
    let mut inputs: Vec<Vec<u64>> = values::<Single>(30_000, 18).into_iter().map(|x| vec![x]).collect();
    let mut r = Random(19);
    inputs.extend((0..30_000).map(|_| vec![u64::from(((r.next() as i32 as f32) / 2e7).to_bits())]));
    for level in levels() {
        let op = choose(text, regs(2), level).unwrap();
        for chunk in inputs.chunks(32) {
            let src = std::array::from_fn(|l| chunk[l % chunk.len()][0]);
            let got = run(&op, &[src], u32::MAX)[0];
            for l in 0..32 {
                let x = if ftz { flush(src[l]) } else { src[l] };
                let want = exact(f64::from(f32::from_bits(x as u32))) as f32;
                let want = if want.is_nan() { 0x7fff_ffff } else { u64::from(want.to_bits()) };
                let want = if ftz { flush(want) } else { want };
                let apart = key(want, 32).abs_diff(key(got[l], 32));
                let special = !f32::from_bits(want as u32).is_finite() || want & 0x7fff_ffff == 0;
                assert!(
                    apart <= u64::from(!special),
                    "{text} {level:?} {:x}: {:x} is not {want:x}",
                    src[l],
                    got[l]
                );
            }
        }
    }
}

#[test]
fn approximations() {
    near_to("ex2.approx.f32", false, f64::exp2);
    near_to("ex2.approx.ftz.f32", true, f64::exp2);
    near_to("lg2.approx.f32", false, f64::log2);
    near_to("lg2.approx.ftz.f32", true, f64::log2);
    near_to("tanh.approx.f32", false, f64::tanh);
    near_to("rsqrt.approx.f32", false, |x| 1.0 / x.sqrt());
    near_to("rsqrt.approx.ftz.f32", true, |x| 1.0 / x.sqrt());
    near_to("rcp.approx.f32", false, |x| 1.0 / x);
    near_to("rcp.approx.ftz.f32", true, |x| 1.0 / x);
    near_to("sqrt.approx.f32", false, f64::sqrt);
}
