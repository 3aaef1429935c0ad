//! 16-bit formats: every operand there is of operations on one, and the modifiers; against `rustc_apfloat`.
//! Signs of the wider formats too.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::alu::{Random, check, choose, levels, many, regs, run, run_on};
use prlx_lanes::{LANES, Planes};
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
        let pairs: Vec<Vec<u64>> =
            (0..=0xffffu64).map(|h| vec![h | (h.wrapping_mul(40503) & 0xffff) << 16]).collect();
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

/// At most a unit in the last place from the exact value: inside what PTX allows (2^-9.9 and 2^-7 relative
/// for `ex2`, 2^-10.987 and 2^-8 absolute for `tanh`).
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
                    let apart =
                        if want == NAN { u64::from(got[l] != NAN) } else { key(want).abs_diff(key(got[l])) };
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
    for x in [
        0,
        1,
        2,
        inf - 1,
        inf,
        inf + 1,
        inf / 2,
        inf / 2 + 1,
        0x3c00,
        0x3f80,
        0x0400,
        0x0080,
        0x03ff,
        0x007f,
        0x3bff,
    ] {
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

/// A format of 16 bits, for a reference that is fast: bits of its fraction, least exponent, infinity.
#[derive(Clone, Copy)]
struct Format {
    fraction: i32,
    least: i32,
    inf: u64,
}

const F16: Format = Format { fraction: 10, least: -14, inf: 0x7c00 };
const BF16: Format = Format { fraction: 7, least: -126, inf: 0x7f80 };

impl Format {
    /// The pattern nearest to `x`, ties to even.
    fn near(self, x: f64) -> u64 {
        if x.is_nan() {
            return NAN;
        }
        let two = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
        let exponent = |m: f64| ((m.to_bits() >> 52) as i32 - 1023).max(self.least);
        let (sign, m) = (x.to_bits() >> 48 & 0x8000, x.abs());
        if m >= two(200) {
            return sign | self.inf;
        }
        // A sum in which the least bit that is left is the format's: the processor rounds it.
        let big = two(exponent(m) - self.fraction + 52);
        let rounded = (m + big) - big;
        let e = exponent(rounded);
        let mantissa = (rounded * two(self.fraction - e)) as u64;
        sign | (((e - self.least) as u64) << self.fraction).wrapping_add(mantissa).min(self.inf)
    }
}

#[test]
fn the_fast_reference_is_right() {
    fn all<F: Float>(format: Format)
    where
        Double: FloatConvert<F>,
    {
        let mut r = Random(3);
        for _ in 0..many(20_000) {
            // Of every length, near every pattern and its midpoints.
            let h = r.next();
            let x = f64::from(f32::from_bits((h as u32) & !0 << (h >> 32 & 31)));
            let y = f64::from_bits(x.to_bits().wrapping_add(h >> 40 & 3).wrapping_sub(1));
            for x in [x, y] {
                assert_eq!(format.near(x), rounded::<F>(x), "{x:e}");
            }
        }
    }
    all::<Half>(F16);
    all::<BFloat>(BF16);
}

/// Every pair of operands there is, 4 billion for each form, on all cores. In binary64 a product is exact,
/// and a sum is exact or has more than twice the format's bits, so that rounding it again does no harm.
/// `docs/cpu.md` says when this last ran.
fn every_pair(form: &str) {
    fn all(text: &str, format: Format, values: &[f64], f: impl Fn(f64, f64) -> f64 + Sync) {
        let ops: Vec<_> = levels().into_iter().map(|l| (l, choose(text, regs(3), l).unwrap())).collect();
        let next = AtomicU64::new(0);
        let row = |a: u64, planes: &mut Planes| {
            for first in (0..=0xffffu64).step_by(LANES) {
                let srcs = [[a; LANES], std::array::from_fn(|l| first + l as u64)];
                let want = srcs[1].map(|b| format.near(f(values[a as usize], values[b as usize])));
                for (level, op) in &ops {
                    let got = run_on(planes, op, &srcs, u32::MAX)[0];
                    assert!(got == want, "{text} {level:?} {a:x} and {first:x}..: {got:x?} is not {want:x?}");
                }
            }
        };
        let begun = std::time::Instant::now();
        std::thread::scope(|s| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                s.spawn(|| {
                    let mut planes = Planes::default();
                    let rows =
                        std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|&a| a <= 0xffff));
                    rows.for_each(|a| row(a, &mut planes));
                });
            }
        });
        println!("{text}: 4294967296 pairs at {} levels in {:?}", ops.len(), begun.elapsed());
    }
    // -0 is less than +0, and a NaN gives way to the other.
    fn least(a: f64, b: f64) -> f64 {
        let first = if a == 0.0 && b == 0.0 { a.is_sign_negative() } else { a < b };
        if b.is_nan() || first { a } else { b }
    }
    let (format, values): (_, Vec<f64>) = match form.rsplit_once('.') {
        Some((_, "bf16")) => (BF16, (0..=0xffff).map(number::<BFloat>).collect()),
        _ => (F16, (0..=0xffff).map(number::<Half>).collect()),
    };
    match form.split_once('.').unwrap().0 {
        "add" => all(form, format, &values, |a, b| a + b),
        "mul" => all(form, format, &values, |a, b| a * b),
        "sub" => all(form, format, &values, |a, b| a - b),
        "min" => all(form, format, &values, least),
        _ => all(form, format, &values, |a, b| -least(-a, -b)),
    }
}

macro_rules! every_pair {
    ($($name:ident $form:literal)*) => {$(
        #[test]
        #[ignore = "minutes of all cores: cargo test --release -p prlx-emu --test it alu_half -- --ignored --test-threads 1"]
        fn $name() {
            every_pair($form);
        }
    )*};
}

every_pair! {
    every_pair_add_f16 "add.f16"
    every_pair_mul_f16 "mul.f16"
    every_pair_sub_f16 "sub.f16"
    every_pair_min_f16 "min.f16"
    every_pair_max_f16 "max.f16"
    every_pair_add_bf16 "add.bf16"
    every_pair_mul_bf16 "mul.bf16"
    every_pair_sub_bf16 "sub.bf16"
    every_pair_min_bf16 "min.bf16"
    every_pair_max_bf16 "max.bf16"
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
                    assert!(
                        !text.contains("ftz") || got.to_bits() as u32 == 0,
                        "{text} {x:e}: its lower word"
                    );
                }
            }
        }
    }
}
