//! Comparisons, choices, moves and predicates.

use crate::alu::{Lanes, Random, check, choose, integers, levels, regs, run, tuples};
use prlx_isa::view::{Operand, Reg};

/// Whether a relation holds, from an ordering or none.
fn holds(relation: &str, o: Option<std::cmp::Ordering>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match relation {
        "eq" => o == Some(Equal),
        "ne" => matches!(o, Some(Less | Greater)),
        "lt" | "lo" => o == Some(Less),
        "le" | "ls" => matches!(o, Some(Less | Equal)),
        "gt" | "hi" => o == Some(Greater),
        "ge" | "hs" => matches!(o, Some(Greater | Equal)),
        "num" => o.is_some(),
        "nan" => o.is_none(),
        unordered => o.is_none() || holds(&unordered[..2], o),
    }
}

const ORDERED: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge"];
const UNORDERED: &[&str] = &["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// A pattern as a number, by its type.
fn number(ty: &str, x: u64) -> f64 {
    match ty {
        "f32" => f64::from(f32::from_bits(x as u32)),
        "f64" => f64::from_bits(x),
        "bf16" => f64::from(f32::from_bits((x as u32) << 16)),
        _ => {
            let (sign, e, m) = (x >> 15 & 1, (x >> 10 & 31) as i32, (x & 0x3ff) as f64);
            let v = match e {
                0 => m * 2f64.powi(-24),
                31 if m == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                e => (1024.0 + m) * 2f64.powi(e - 25),
            };
            if sign == 1 { -v } else { v }
        }
    }
}

fn floats(ty: &str) -> Vec<u64> {
    let (bits, fraction) = match ty {
        "f32" => (32, 23),
        "f64" => (64, 52),
        "bf16" => (16, 7),
        _ => (16, 10),
    };
    let sign = 1u64 << (bits - 1);
    let infinity = (sign - 1) >> fraction << fraction;
    let mut v = vec![
        0,
        1,
        infinity,
        infinity + 1,
        infinity | 1 << (fraction - 1),
        infinity - 1,
        infinity / 2,
        infinity / 2 + 1,
    ];
    v.extend(v.clone().iter().map(|x| x | sign));
    let mut r = Random(1);
    v.extend((0..200).map(|_| r.next() & (sign | (sign - 1))));
    v
}

#[test]
fn integers_compare() {
    for bits in [16u32, 32, 64] {
        let cases = tuples(&[integers(bits, 200, 1), integers(bits, 200, 2)], 2000, 1);
        let signed = |x: u64| (x << (64 - bits)) as i64;
        for r in ORDERED {
            check(&format!("setp.{r}.u{bits}"), &cases, |t| holds(r, Some(t[0].cmp(&t[1]))).into());
            check(&format!("setp.{r}.s{bits}"), &cases, |t| {
                holds(r, Some(signed(t[0]).cmp(&signed(t[1])))).into()
            });
            check(&format!("set.{r}.u32.s{bits}"), &cases, |t| {
                if holds(r, Some(signed(t[0]).cmp(&signed(t[1])))) { 0xffff_ffff } else { 0 }
            });
        }
        for r in ["lo", "ls", "hi", "hs"] {
            check(&format!("setp.{r}.u{bits}"), &cases, |t| holds(r, Some(t[0].cmp(&t[1]))).into());
        }
    }
}

#[test]
fn floats_compare() {
    for ty in ["f32", "f64", "f16", "bf16"] {
        let pool = floats(ty);
        let cases = tuples(&[pool.clone(), pool], 4000, 1);
        for r in ORDERED.iter().chain(UNORDERED) {
            let test = |t: &[u64]| holds(r, number(ty, t[0]).partial_cmp(&number(ty, t[1])));
            check(&format!("setp.{r}.{ty}"), &cases, |t| test(t).into());
            check(&format!("set.{r}.f32.{ty}"), &cases, |t| if test(t) { 0x3f80_0000 } else { 0 });
        }
    }
    let pool = floats("f32");
    let flushed = |x: u64| if x & 0x7f80_0000 == 0 { 0.0 } else { number("f32", x) };
    check("setp.lt.ftz.f32", &tuples(&[pool.clone(), pool], 4000, 1), |t| {
        (flushed(t[0]) < flushed(t[1])).into()
    });
}

/// Two destinations and a boolean operand.
#[test]
fn joined() {
    let pool = floats("f32");
    let pair = Operand::Pair(Box::new(Operand::Reg(Reg(0))), Box::new(Operand::Reg(Reg(1))));
    let mut r = Random(5);
    for level in levels() {
        for how in ["and", "or", "xor"] {
            let operands = [vec![pair.clone()], regs(3)].concat();
            let op = choose(&format!("setp.gt.{how}.f32"), operands, level).unwrap();
            for _ in 0..50 {
                let mut lanes = || -> Lanes { std::array::from_fn(|_| pool[(r.next() % 216) as usize]) };
                let src = [lanes(), lanes(), lanes().map(|x| x >> 3 & 1)];
                let got = run(&op, &src, 0xffff_00ff);
                for l in 0..32 {
                    let holds = number("f32", src[0][l]) > number("f32", src[1][l]);
                    let c = src[2][l] == 1;
                    let join = |x: bool| match how {
                        "and" => x && c,
                        "or" => x || c,
                        _ => x != c,
                    };
                    let want =
                        if 0xffff_00ffu32 >> l & 1 == 1 { [join(holds), join(!holds)] } else { [true; 2] };
                    assert_eq!([got[0][l] == 1, got[1][l] == 1], want);
                }
            }
        }
        // Packed pairs: a predicate for each half.
        let operands = [vec![pair.clone()], regs(2)].concat();
        let op = choose("setp.lt.f16x2", operands, level).unwrap();
        let halves = floats("f16");
        for _ in 0..50 {
            let mut lanes = || -> Lanes {
                std::array::from_fn(|_| {
                    halves[(r.next() % 216) as usize] | halves[(r.next() % 216) as usize] << 16
                })
            };
            let src = [lanes(), lanes()];
            let got = run(&op, &src, u32::MAX);
            for l in 0..32 {
                for (i, by) in [0, 16].into_iter().enumerate() {
                    let n = |x: u64| number("f16", x >> by & 0xffff);
                    assert_eq!(got[i][l] == 1, n(src[0][l]) < n(src[1][l]));
                }
            }
        }
    }
}

#[test]
fn choices() {
    for bits in [16u32, 32, 64] {
        let a = integers(bits, 200, 1);
        let cases = tuples(&[a.clone(), integers(bits, 200, 2), vec![0, 1]], 1000, 1);
        check(&format!("selp.b{bits}"), &cases, |t| if t[2] == 1 { t[0] } else { t[1] });
        let by = tuples(&[a.clone(), integers(bits, 200, 2), integers(32, 200, 3)], 1000, 1);
        check(&format!("slct.u{bits}.s32"), &by, |t| if (t[2] as i32) >= 0 { t[0] } else { t[1] });
        let by = tuples(&[a, integers(bits, 200, 2), floats("f32")], 1000, 1);
        check(&format!("slct.u{bits}.f32"), &by, |t| {
            if f32::from_bits(t[2] as u32) >= 0.0 { t[0] } else { t[1] }
        });
        check(&format!("slct.ftz.u{bits}.f32"), &by, |t| {
            if f32::from_bits(t[2] as u32) >= 0.0 || t[2] & 0x7f80_0000 == 0 { t[0] } else { t[1] }
        });
    }
}

#[test]
fn predicates() {
    let cases = tuples(&[vec![0, 1], vec![0, 1]], 64, 1);
    check("and.pred", &cases, |t| t[0] & t[1]);
    check("or.pred", &cases, |t| t[0] | t[1]);
    check("xor.pred", &cases, |t| t[0] ^ t[1]);
    let one: Vec<Vec<u64>> = cases.iter().map(|t| vec![t[0]]).collect();
    check("not.pred", &one, |t| 1 - t[0]);
    check("mov.pred", &one, |t| t[0]);
    for ty in ["f32", "f64"] {
        let one: Vec<Vec<u64>> = floats(ty).into_iter().map(|x| vec![x]).collect();
        let (fraction, least) =
            if ty == "f32" { (23, f64::from(f32::MIN_POSITIVE)) } else { (52, f64::MIN_POSITIVE) };
        let _ = fraction;
        let x = |t: &[u64]| number(ty, t[0]);
        check(&format!("testp.finite.{ty}"), &one, |t| x(t).is_finite().into());
        check(&format!("testp.infinite.{ty}"), &one, |t| x(t).is_infinite().into());
        check(&format!("testp.number.{ty}"), &one, |t| (!x(t).is_nan()).into());
        check(&format!("testp.notanumber.{ty}"), &one, |t| x(t).is_nan().into());
        check(&format!("testp.normal.{ty}"), &one, |t| {
            (x(t).is_finite() && (x(t).abs() >= least || x(t) == 0.0)).into()
        });
        check(&format!("testp.subnormal.{ty}"), &one, |t| (x(t) != 0.0 && x(t).abs() < least).into());
    }
}

#[test]
fn moves() {
    for bits in [16u32, 32, 64] {
        let one = tuples(&[integers(bits, 200, 1)], 300, 1);
        check(&format!("mov.b{bits}"), &one, |t| t[0]);
    }
    let mut r = Random(9);
    for level in levels() {
        for (bits, parts) in [(16u32, 2u32), (32, 2), (32, 4), (64, 2), (64, 4)] {
            let part = bits / parts;
            let vector = Operand::Vector(regs(parts as usize));
            let scalar = Operand::Reg(Reg(0));
            let pack = choose(&format!("mov.b{bits}"), vec![scalar.clone(), vector.clone()], level).unwrap();
            let unpack = choose(&format!("mov.b{bits}"), vec![vector, scalar], level).unwrap();
            let ones = (1u128 << part) as u64 - 1;
            let src: Vec<Lanes> = (0..parts).map(|_| std::array::from_fn(|_| r.next() & ones)).collect();
            let whole = run(&pack, &src, u32::MAX)[0];
            for l in 0..32 {
                let want = (0..parts).fold(0, |w, i| w | src[i as usize][l] << (i * part));
                assert_eq!(whole[l], want, "{bits} of {parts}");
            }
            assert_eq!(run(&unpack, &[whole], u32::MAX), src, "{bits} to {parts}");
        }
    }
}
