//! 16-bit formats: every operand there is of operations on one, and the modifiers; against `rustc_apfloat`. Signs of the wider
//! formats too.

mod alu;

use alu::{Random, check, choose, levels, many, regs, run};
use rustc_apfloat::ieee::{BFloat, Double, Half, Quad};
use rustc_apfloat::{Float, FloatConvert, Round};

const NEAR: Round = Round::NearestTiesToEven;
const NAN: u64 = 0x7fff;

fn every() -> Vec<Vec<u64>> {
    (0..=0xffff).map(|h| vec![h]).collect()
}

fn bits<F: Float>(x: F) -> u64 {
    if x.is_nan() { NAN } else { x.to_bits() as u64 }
}

fn number<F: Float + FloatConvert<Double>>(h: u64) -> f64 {
    f64::from_bits(F::from_bits(h.into()).convert(&mut false).value.to_bits() as u64)
}

fn rounded<F: Float>(x: f64) -> u64
where
    Double: FloatConvert<F>,
{
    bits(FloatConvert::<F>::convert_r(Double::from_bits(x.to_bits().into()), NEAR, &mut false).value)
}

/// Patterns in the order of their values.
fn key(h: u64) -> i64 {
    let magnitude = (h & 0x7fff) as i64;
    if h >> 15 == 1 { -1 - magnitude } else { magnitude }
}

#[test]
fn signs() {
    for ty in ["f16", "bf16"] {
        let inf = if ty == "f16" { 0x7c00 } else { 0x7f80 };
        let nan = |h: u64| h & 0x7fff > inf;
        check(&format!("neg.{ty}"), &every(), |t| if nan(t[0]) { NAN } else { t[0] ^ 0x8000 });
        check(&format!("abs.{ty}"), &every(), |t| if nan(t[0]) { NAN } else { t[0] & 0x7fff });
        let two = |h: u64, f: &dyn Fn(u64) -> u64| f(h & 0xffff) | f(h >> 16) << 16;
        let pairs: Vec<Vec<u64>> = (0..=0xffffu64).map(|h| vec![h | (h.wrapping_mul(40503) & 0xffff) << 16]).collect();
        check(&format!("neg.{ty}x2"), &pairs, |t| two(t[0], &|h| if nan(h) { NAN } else { h ^ 0x8000 }));
        check(&format!("abs.{ty}x2"), &pairs, |t| two(t[0], &|h| if nan(h) { NAN } else { h & 0x7fff }));
    }
    for (ty, sign, inf) in [("f32", 1u64 << 31, 0x7f80_0000), ("f64", 1 << 63, 0x7ff << 52)] {
        let mut r = Random(1);
        let mut some: Vec<u64> = vec![0, sign, 1, inf - 1, inf, sign | inf];
        some.extend((0..many(1000)).map(|_| r.next() & (sign | (sign - 1))));
        some.retain(|x| x & !sign <= inf);
        let one: Vec<Vec<u64>> = some.iter().map(|x| vec![*x]).collect();
        check(&format!("neg.{ty}"), &one, |t| t[0] ^ sign);
        check(&format!("abs.{ty}"), &one, |t| t[0] & !sign);
        // The sign of the first, the magnitude of the second.
        let two: Vec<Vec<u64>> = some.windows(2).map(<[u64]>::to_vec).collect();
        check(&format!("copysign.{ty}"), &two, |t| t[0] & sign | t[1] & !sign);
        if ty == "f32" {
            let flush = |x: u64| if x & inf == 0 { x & sign } else { x };
            check("neg.ftz.f32", &one, |t| flush(t[0] ^ sign));
            check("abs.ftz.f32", &one, |t| flush(t[0] & !sign));
        }
    }
}

/// At most a unit in the last place from the exact value: inside what PTX allows (2^-9.9 and 2^-7 relative for `ex2`, 2^-10.987
/// and 2^-8 absolute for `tanh`).
#[test]
fn approximations() {
    fn all<F: Float + FloatConvert<Double>>(text: &str, exact: fn(f64) -> f64)
    where
        Double: FloatConvert<F>,
    {
        for level in levels() {
            let op = choose(text, regs(2), level).unwrap();
            for first in (0..=0xffffu64).step_by(32) {
                let src = std::array::from_fn(|l| first + l as u64);
                let got = run(&op, &[src], u32::MAX)[0];
                for l in 0..32 {
                    let want = rounded::<F>(exact(number::<F>(src[l])));
                    let apart = if want == NAN { u64::from(got[l] != NAN) } else { key(want).abs_diff(key(got[l])) };
                    assert!(apart <= 1, "{text} {level:?} {:x}: {:x} is not {want:x}", src[l], got[l]);
                }
            }
        }
    }
    all::<Half>("ex2.approx.f16", f64::exp2);
    // Its subnormal results are zero.
    all::<BFloat>("ex2.approx.ftz.bf16", |x| if f64::exp2(x) < 2f64.powi(-126) { 0.0 } else { f64::exp2(x) });
    all::<Half>("tanh.approx.f16", f64::tanh);
    all::<BFloat>("tanh.approx.bf16", f64::tanh);
}

/// Operands: all pairs of corners, then random ones.
fn operands(n: usize, inf: u64, seed: u64) -> Vec<Vec<u64>> {
    let mut corners = Vec::new();
    for x in
        [0, 1, 2, inf - 1, inf, inf + 1, inf / 2, inf / 2 + 1, 0x3c00, 0x3f80, 0x0400, 0x0080, 0x03ff, 0x007f, 0x3bff]
    {
        corners.extend([x, x | 0x8000]);
    }
    let mut out = Vec::new();
    for &a in &corners {
        for &b in &corners {
            out.push((0..n).map(|i| [a, b, corners[(a + 3 * b) as usize % corners.len()]][i]).collect());
        }
    }
    let mut r = Random(seed);
    for _ in 0..many(6_000) {
        let x = r.next();
        out.push((0..n).map(|i| x >> (16 * i) & 0xffff).collect());
    }
    out
}

#[test]
fn modifiers() {
    fn all<F: Float + FloatConvert<Quad>>(ty: &str, inf: u64, one: u64)
    where
        Quad: FloatConvert<F>,
    {
        let (two, three) = (operands(2, inf, 1), operands(3, inf, 2));
        let of = |h: u64| F::from_bits(h.into());
        let sum = |t: &[u64]| bits(of(t[0]).add_r(of(t[1]), NEAR).value);
        let difference = |t: &[u64]| bits(of(t[0]).sub_r(of(t[1]), NEAR).value);
        let product = |t: &[u64]| bits(of(t[0]).mul_r(of(t[1]), NEAR).value);
        let fma = |t: &[u64]| bits(of(t[0]).mul_add_r(of(t[1]), of(t[2]), NEAR).value);
        check(&format!("add.{ty}"), &two, sum);
        check(&format!("sub.rn.{ty}"), &two, difference);
        check(&format!("mul.{ty}"), &two, product);
        check(&format!("fma.rn.{ty}"), &three, fma);
        // NaN goes through: it is not negative.
        let relu = |h: u64| if h >> 15 == 1 && h & 0x7fff <= inf { 0 } else { h };
        check(&format!("fma.rn.relu.{ty}"), &three, |t| relu(fma(t)));
        if ty == "f16" {
            let sat = |h: u64| if h >> 15 == 1 || h > inf { 0 } else { h.min(one) };
            check("add.sat.f16", &two, |t| sat(sum(t)));
            check("sub.sat.f16", &two, |t| sat(difference(t)));
            check("mul.rn.sat.f16", &two, |t| sat(product(t)));
            check("fma.rn.sat.f16", &three, |t| sat(fma(t)));
            let flush = |h: u64| if h & 0x7c00 == 0 { h & 0x8000 } else { h };
            let flushed = |t: &[u64]| t.iter().map(|h| flush(*h)).collect::<Vec<_>>();
            check("add.ftz.f16", &two, |t| flush(sum(&flushed(t))));
        }
    }
    all::<Half>("f16", 0x7c00, 0x3c00);
    all::<BFloat>("bf16", 0x7f80, 0x3f80);
}

/// Every pair of operands there is: 4 billion for each form.
#[test]
#[ignore = "takes an hour"]
fn every_pair() {
    fn all<F: Float>(text: &str, f: fn(F, F) -> F) {
        for a in 0..=0xffffu64 {
            let row: Vec<Vec<u64>> = (0..=0xffff).map(|b| vec![a, b]).collect();
            check(text, &row, |t| bits(f(F::from_bits(t[0].into()), F::from_bits(t[1].into()))));
        }
    }
    all::<Half>("add.f16", |a, b| a.add_r(b, NEAR).value);
    all::<Half>("mul.f16", |a, b| a.mul_r(b, NEAR).value);
    all::<BFloat>("add.bf16", |a, b| a.add_r(b, NEAR).value);
    all::<BFloat>("mul.bf16", |a, b| a.mul_r(b, NEAR).value);
}

/// The forms on binary64 that see upper words only, within a unit of those; and the one that sees all.
#[test]
fn reciprocals_of_doubles() {
    let mut r = Random(7);
    let inputs: Vec<f64> = (0..many(2000)).map(|_| f64::from_bits(r.next() & (u64::MAX >> 1))).collect();
    for (text, exact, bound) in [
        ("rcp.approx.ftz.f64", (|x| 1.0 / x) as fn(f64) -> f64, 2f64.powi(-19)),
        ("rsqrt.approx.ftz.f64", |x| 1.0 / x.sqrt(), 2f64.powi(-19)),
        ("rsqrt.approx.f64", |x| 1.0 / x.sqrt(), 2f64.powi(-52)),
    ] {
        for level in levels() {
            let op = choose(text, regs(2), level).unwrap();
            for chunk in inputs.chunks_exact(32) {
                let got = run(&op, &[std::array::from_fn(|l| chunk[l].to_bits())], u32::MAX)[0];
                for (x, got) in chunk.iter().zip(got) {
                    let (want, got) = (exact(*x), f64::from_bits(got));
                    let ends = !x.is_normal() || !want.is_normal();
                    assert!(
                        ends || ((got - want) / want).abs() <= bound,
                        "{text} {level:?} {x:e}: {got:e} is not {want:e}"
                    );
                    assert!(!text.contains("ftz") || got.to_bits() as u32 == 0, "{text} {x:e}: its lower word");
                }
            }
        }
    }
}
