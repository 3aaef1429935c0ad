//! Integer operations against arithmetic in `i128`.

use crate::alu::{Lanes, Random, check, choose, integers, levels, regs, run, run_on, tuples};
use prlx_isa::view::Operand;
use prlx_lanes::Planes;
use prlx_lanes::Simd;

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
        check(&text, &tuples(&columns, 20_000, 1), |t| {
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
    each("rem", 2, |v, _| if v[1] == 0 { -1 } else { v[0] % v[1] });
    each("sad", 3, |v, _| v[2] + (v[0] - v[1]).abs());
}

#[test]
fn high_and_wide() {
    each("mul.hi", 2, |v, bits| {
        // Products of 64-bit values leave i128 only unsigned.
        let p = (v[0] as u128).wrapping_mul(v[1] as u128) as i128;
        p >> bits
    });
    for (text, bits, signed) in [("u16", 16, false), ("s16", 16, true), ("u32", 32, false), ("s32", 32, true)]
    {
        let narrow = [integers(bits, 200, 1), integers(bits, 200, 2), integers(2 * bits, 200, 3)];
        check(&format!("mul.wide.{text}"), &tuples(&narrow[..2], 20_000, 1), |t| {
            (val(t[0], bits, signed) * val(t[1], bits, signed)) as u64 & mask(2 * bits)
        });
        check(&format!("mad.wide.{text}"), &tuples(&narrow, 20_000, 1), |t| {
            ((val(t[0], bits, signed) * val(t[1], bits, signed)) as u64).wrapping_add(t[2]) & mask(2 * bits)
        });
    }
    let words = [integers(32, 300, 1), integers(32, 300, 2), integers(32, 300, 3)];
    let cases = tuples(&words, 5000, 2);
    for (ty, signed) in [("u32", false), ("s32", true)] {
        let product = |t: &[u64]| val(t[0] & 0xff_ffff, 24, signed) * val(t[1] & 0xff_ffff, 24, signed);
        check(&format!("mul24.lo.{ty}"), &cases, |t| product(t) as u32 as u64);
        check(&format!("mul24.hi.{ty}"), &cases, |t| (product(t) >> 16) as u32 as u64);
        check(&format!("mad24.lo.{ty}"), &cases, |t| (product(t) + i128::from(t[2])) as u32 as u64);
        check(&format!("mad24.hi.{ty}"), &cases, |t| ((product(t) >> 16) + i128::from(t[2])) as u32 as u64);
        check(&format!("mad.hi.{ty}"), &cases, |t| {
            (((val(t[0], 32, signed) * val(t[1], 32, signed)) >> 32) + i128::from(t[2])) as u32 as u64
        });
    }
    let clamp = |v: i128| v.clamp(i32::MIN.into(), i32::MAX.into()) as u32 as u64;
    let s = |x: u64| val(x, 32, true);
    check("add.sat.s32", &cases, |t| clamp(s(t[0]) + s(t[1])));
    check("sub.sat.s32", &cases, |t| clamp(s(t[0]) - s(t[1])));
    check("mad.hi.sat.s32", &cases, |t| clamp(((s(t[0]) * s(t[1])) >> 32) + s(t[2])));
    check("mad24.hi.sat.s32", &cases, |t| {
        let p = val(t[0] & 0xff_ffff, 24, true) * val(t[1] & 0xff_ffff, 24, true);
        clamp((p >> 16) + s(t[2]))
    });
}

#[test]
fn unary() {
    for &(name, bits, signed) in TYPES.iter().filter(|t| t.2) {
        let one = tuples(&[integers(bits, 2000, 1)], 2000, 1);
        check(&format!("neg.{name}"), &one, |t| (-val(t[0], bits, signed)) as u64 & mask(bits));
        check(&format!("abs.{name}"), &one, |t| val(t[0], bits, signed).unsigned_abs() as u64 & mask(bits));
    }
    for bits in [16, 32, 64] {
        let one = tuples(&[integers(bits, 2000, 1)], 2000, 1);
        check(&format!("not.b{bits}"), &one, |t| !t[0] & mask(bits));
        check(&format!("cnot.b{bits}"), &one, |t| u64::from(t[0] == 0));
        if bits == 16 {
            continue;
        }
        let digits = |x: u64| -> Vec<u64> { (0..bits).map(|i| x >> i & 1).collect() };
        check(&format!("popc.b{bits}"), &one, |t| digits(t[0]).iter().sum());
        check(&format!("clz.b{bits}"), &one, |t| {
            digits(t[0]).iter().rev().take_while(|&&d| d == 0).count() as u64
        });
        check(&format!("brev.b{bits}"), &one, |t| digits(t[0]).iter().fold(0, |a, d| a << 1 | d));
        for (sign, signed) in [("u", false), ("s", true)] {
            let find = |x: u64| {
                let d = digits(x);
                let top = if signed { d[bits as usize - 1] } else { 0 };
                d.iter().rposition(|&b| b != top)
            };
            check(&format!("bfind.{sign}{bits}"), &one, |t| find(t[0]).map_or(0xffff_ffff, |p| p as u64));
            check(&format!("bfind.shiftamt.{sign}{bits}"), &one, |t| {
                find(t[0]).map_or(0xffff_ffff, |p| u64::from(bits) - 1 - p as u64)
            });
        }
    }
}

#[test]
fn logic_and_shifts() {
    let amounts: Vec<u64> = (0..70).chain([255, 256, 0x8000_0000, 0xffff_ffff]).collect();
    for bits in [16u32, 32, 64] {
        let a = integers(bits, 300, 1);
        let two = tuples(&[a.clone(), integers(bits, 300, 2)], 3000, 1);
        check(&format!("and.b{bits}"), &two, |t| t[0] & t[1]);
        check(&format!("or.b{bits}"), &two, |t| t[0] | t[1]);
        check(&format!("xor.b{bits}"), &two, |t| t[0] ^ t[1]);
        let shifts = tuples(&[a, amounts.clone()], 6000, 1);
        let by = |t: &[u64]| t[1].min(100) as u32;
        check(&format!("shl.b{bits}"), &shifts, |t| ((u128::from(t[0]) << by(t)) as u64) & mask(bits));
        check(&format!("shr.u{bits}"), &shifts, |t| (u128::from(t[0]) >> by(t)) as u64);
        check(&format!("shr.s{bits}"), &shifts, |t| (val(t[0], bits, true) >> by(t)) as u64 & mask(bits));
    }
    let words = [integers(32, 300, 1), integers(32, 300, 2), amounts];
    let funnel = tuples(&words, 6000, 1);
    let pair = |t: &[u64]| u128::from(t[1] << 32 | t[0]);
    check("shf.l.wrap.b32", &funnel, |t| (pair(t) << (t[2] & 31) >> 32) as u32 as u64);
    check("shf.l.clamp.b32", &funnel, |t| (pair(t) << t[2].min(32) >> 32) as u32 as u64);
    check("shf.r.wrap.b32", &funnel, |t| (pair(t) >> (t[2] & 31)) as u32 as u64);
    check("shf.r.clamp.b32", &funnel, |t| (pair(t) >> t[2].min(32)) as u32 as u64);
}

#[test]
fn fields() {
    let small: Vec<u64> = (0..70).chain([0x100, 0x1ff, 0xffff_ff08]).collect();
    for bits in [32u32, 64] {
        let a = integers(bits, 300, 1);
        let three = tuples(&[a.clone(), small.clone(), small.clone()], 8000, 1);
        for (sign, signed) in [("u", false), ("s", true)] {
            // PTX ISA's own loop.
            check(&format!("bfe.{sign}{bits}"), &three, |t| {
                let (pos, len, msb) = (t[1] & 0xff, t[2] & 0xff, u64::from(bits) - 1);
                let sbit = if !signed || len == 0 { 0 } else { t[0] >> (pos + len - 1).min(msb) & 1 };
                (0..=msb).fold(0, |d, i| {
                    d | (if i < len && pos + i <= msb { t[0] >> (pos + i) & 1 } else { sbit }) << i
                })
            });
        }
        let four = tuples(&[a, integers(bits, 300, 2), small.clone(), small.clone()], 8000, 1);
        check(&format!("bfi.b{bits}"), &four, |t| {
            let (pos, len, msb) = (t[2] & 0xff, t[3] & 0xff, u64::from(bits) - 1);
            (0..len)
                .filter(|i| pos + i <= msb)
                .fold(t[1], |f, i| f & !(1 << (pos + i)) | (t[0] >> i & 1) << (pos + i))
        });
    }
    let two = tuples(&[small.clone(), small.clone()], 5000, 1);
    check("bmsk.clamp.b32", &two, |t| {
        let (a, b) = (t[0].min(32), t[1].min(32));
        (((1u64 << b) - 1) << a) & 0xffff_ffff
    });
    check("bmsk.wrap.b32", &two, |t| (((1u64 << (t[1] & 31)) - 1) << (t[0] & 31)) & 0xffff_ffff);
    let extend = tuples(&[integers(32, 300, 1), small], 5000, 1);
    let cut = |x: u64, n: u64, signed: bool| match n {
        0 => 0,
        n if signed => val(x & mask(n as u32), n as u32, true) as u32 as u64,
        n => x & mask(n as u32),
    };
    for (ty, signed) in [("u32", false), ("s32", true)] {
        check(&format!("szext.wrap.{ty}"), &extend, |t| cut(t[0], t[1] & 31, signed));
        check(
            &format!("szext.clamp.{ty}"),
            &extend,
            |t| if t[1] >= 32 { t[0] } else { cut(t[0], t[1], signed) },
        );
    }
    let finds = tuples(&[integers(32, 300, 1), (0..32).collect(), integers(32, 40, 2)], 5000, 1);
    let finds: Vec<Vec<u64>> =
        finds.iter().map(|t| vec![t[0], t[1] & 31, (t[2] % 21).wrapping_sub(10) & 0xffff_ffff]).collect();
    check("fns.b32", &finds, |t| {
        let n = val(t[2], 32, true) as i64;
        let set = |p: i64| t[0] >> p & 1 == 1;
        let base = t[1] as i64;
        let found = match n {
            0 => Some(base).filter(|&p| set(p)),
            1.. => (base..32).filter(|&p| set(p)).nth(n as usize - 1),
            _ => (0..=base).rev().filter(|&p| set(p)).nth(-n as usize - 1),
        };
        found.map_or(0xffff_ffff, |p| p as u64)
    });
}

#[test]
fn bytes() {
    let three = tuples(&[integers(32, 300, 1), integers(32, 300, 2), integers(32, 300, 3)], 5000, 1);
    let nibbles = |a: u64, b: u64, sel: u64| {
        (0..4).fold(0, |d, i| {
            let n = sel >> (4 * i) & 15;
            let byte = (b << 32 | a) >> (8 * (n & 7)) & 0xff;
            d | (if n < 8 { byte } else { 0xff * (byte >> 7) }) << (8 * i)
        })
    };
    check("prmt.b32", &three, |t| nibbles(t[0], t[1], t[2]));
    // By the tables of PTX ISA: for selectors 0 to 3, the bytes from the most significant one.
    let tables = [
        ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
        ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
        ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
        ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
        ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
        ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
    ];
    for (mode, table) in tables {
        check(&format!("prmt.b32.{mode}"), &three, |t| nibbles(t[0], t[1], table[(t[2] & 3) as usize]));
    }
    for level in levels() {
        for selector in [0x3210i64, 0x7654, 0x5410, 0x7632, 0x0123, 0xba98, 0xf0e1, 0xfedc] {
            let mut operands = regs(4);
            operands[3] = Operand::Int(selector);
            let op = choose("prmt.b32", operands, level).unwrap();
            for t in three.chunks_exact(32) {
                let src = [0, 1].map(|i| std::array::from_fn(|l| t[l][i]));
                let got = run(&op, &src, u32::MAX)[0];
                (0..32).for_each(|l| assert_eq!(got[l], nibbles(t[l][0], t[l][1], selector as u64)));
            }
        }
        for table in 0..256 {
            let mut operands = regs(4);
            operands.push(Operand::Int(table));
            let op = choose("lop3.b32", operands, level).unwrap();
            let t = &three[table as usize * 8..][..32];
            let src = [0, 1, 2].map(|i| std::array::from_fn(|l| t[l][i]));
            let got = run(&op, &src, u32::MAX)[0];
            for l in 0..32 {
                let bit =
                    |i: u32| (src[0][l] >> i & 1) << 2 | (src[1][l] >> i & 1) << 1 | (src[2][l] >> i & 1);
                let want = (0..32).fold(0, |d, i| d | (table as u64 >> bit(i) & 1) << i);
                assert_eq!(got[l], want, "lop3 {table:x}");
            }
            for name in ["or", "and"] {
                let mut operands = regs(4);
                operands.extend([Operand::Int(table), Operand::Reg(prlx_isa::view::Reg(0))]);
                operands[0] = Operand::Pair(Box::new(operands[0].clone()), Box::new(operands[1].clone()));
                let op = choose(&format!("lop3.{name}.b32"), operands, level).unwrap();
                let with = std::array::from_fn(|l| l as u64 & 1);
                let both = run(&op, &[src[0], src[1], src[2], with], u32::MAX);
                assert_eq!(both[0], got, "lop3.{name} {table:x}");
                for l in 0..32 {
                    let (some, with) = (got[l] != 0, with[l] == 1);
                    let want = if name == "or" { some || with } else { some && with };
                    assert_eq!(both[1][l] == 1, want, "lop3.{name} {table:x}");
                }
            }
        }
    }
}

#[test]
fn dot_products_and_packed_halves() {
    let three = tuples(&[integers(32, 300, 1), integers(32, 300, 2), integers(32, 300, 3)], 5000, 1);
    for (a, sa) in [("u32", false), ("s32", true)] {
        for (b, sb) in [("u32", false), ("s32", true)] {
            let byte = |x: u64, i: u32, s: bool| val(x >> (8 * i) & 0xff, 8, s);
            let half = |x: u64, i: u32, s: bool| val(x >> (16 * i) & 0xffff, 16, s);
            let total = |c: u64, sum: i128| (i128::from(c) + sum) as u32 as u64;
            check(&format!("dp4a.{a}.{b}"), &three, |t| {
                total(t[2], (0..4).map(|i| byte(t[0], i, sa) * byte(t[1], i, sb)).sum())
            });
            check(&format!("dp2a.lo.{a}.{b}"), &three, |t| {
                total(t[2], (0..2).map(|i| half(t[0], i, sa) * byte(t[1], i, sb)).sum())
            });
            check(&format!("dp2a.hi.{a}.{b}"), &three, |t| {
                total(t[2], (0..2).map(|i| half(t[0], i, sa) * byte(t[1], i + 2, sb)).sum())
            });
        }
    }
    let halves = |t: &[u64], f: &dyn Fn(u64, u64) -> u64| {
        f(t[0] & 0xffff, t[1] & 0xffff) & 0xffff | (f(t[0] >> 16, t[1] >> 16) & 0xffff) << 16
    };
    let s = |x: u64| val(x, 16, true);
    let two: Vec<Vec<u64>> = three.iter().map(|t| t[..2].to_vec()).collect();
    check("add.u16x2", &two, |t| halves(t, &|a, b| a + b));
    check("add.s16x2", &two, |t| halves(t, &|a, b| a + b));
    check("min.u16x2", &two, |t| halves(t, &|a, b| a.min(b)));
    check("max.u16x2", &two, |t| halves(t, &|a, b| a.max(b)));
    check("min.s16x2", &two, |t| halves(t, &|a, b| s(a).min(s(b)) as u64));
    check("max.s16x2", &two, |t| halves(t, &|a, b| s(a).max(s(b)) as u64));
    check("min.relu.s16x2", &two, |t| halves(t, &|a, b| s(a).min(s(b)).max(0) as u64));
    check("max.relu.s16x2", &two, |t| halves(t, &|a, b| s(a).max(s(b)).max(0) as u64));
    check("cvt.pack.sat.u8.s32.b32", &three, |t| {
        let one = |x: u64| val(x, 32, true).clamp(0, 255) as u64;
        (t[2] << 16 | one(t[0]) << 8 | one(t[1])) & 0xffff_ffff
    });
    for (ty, bits) in [("u2", 2), ("u4", 4), ("u8", 8), ("s2", 2), ("s4", 4), ("s8", 8)] {
        let (least, greatest) = if ty.starts_with('s') {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        // Small ones too: most others only saturate.
        let small = |x: u64| if x & 1 == 0 { x } else { (val(x >> 1, 31, true) % 40) as u64 & 0xffff_ffff };
        let near: Vec<Vec<u64>> = three.iter().map(|t| vec![small(t[0]), small(t[1]), t[2]]).collect();
        check(&format!("cvt.pack.sat.{ty}.s32.b32"), &near, |t| {
            let one = |x: u64| val(x, 32, true).clamp(least, greatest) as u64 & mask(bits);
            ((t[2] << (2 * bits)) | (one(t[0]) << bits) | one(t[1])) & 0xffff_ffff
        });
    }
    check("cvt.pack.sat.u16.s32", &two, |t| {
        let one = |x: u64| val(x, 32, true).clamp(0, 0xffff) as u64;
        one(t[0]) << 16 | one(t[1])
    });
    check("cvt.pack.sat.s16.s32", &two, |t| {
        let one = |x: u64| val(x, 32, true).clamp(-0x8000, 0x7fff) as u64 & 0xffff;
        one(t[0]) << 16 | one(t[1])
    });
}

/// Carry chains: two and three words against one wide sum.
#[test]
fn carries() {
    let run_one = |planes: &mut Planes, text: &str, srcs: &[Lanes], level| {
        let op = choose(text, regs(srcs.len() + 1), level).unwrap();
        run_on(planes, &op, srcs, u32::MAX)[0]
    };
    let mut r = Random(3);
    for level in levels() {
        for (ty, bits) in [("u32", 32), ("s32", 32), ("u64", 64)] {
            for _ in 0..100 {
                let pool = integers(bits, 64, r.next());
                let mut word = || -> Lanes { std::array::from_fn(|_| pool[(r.next() % 64) as usize]) };
                let [al, ah, bl, bh] = [word(), word(), word(), word()];
                let wide = |h: u64, l: u64| u128::from(h) << bits | u128::from(l);
                let mut planes = Planes::default();
                let lo = run_one(&mut planes, &format!("add.cc.{ty}"), &[al, bl], level);
                let hi = run_one(&mut planes, &format!("addc.{ty}"), &[ah, bh], level);
                let dl = run_one(&mut planes, &format!("sub.cc.{ty}"), &[al, bl], level);
                let dh = run_one(&mut planes, &format!("subc.{ty}"), &[ah, bh], level);
                for l in 0..32 {
                    let (a, b) = (wide(ah[l], al[l]), wide(bh[l], bl[l]));
                    let low = |x: u128| if bits == 64 { x } else { x & u128::from(u64::MAX) };
                    assert_eq!(wide(hi[l], lo[l]), low(a.wrapping_add(b)), "{ty} sum {level:?}");
                    assert_eq!(wide(dh[l], dl[l]), low(a.wrapping_sub(b)), "{ty} difference {level:?}");
                }
                if ty == "s32" {
                    continue;
                }
                // c + a * b, low words of the factors, over three words.
                let zero = [0; 32];
                let r0 = run_one(&mut planes, &format!("mad.lo.cc.{ty}"), &[al, bl, ah], level);
                let r1 = run_one(&mut planes, &format!("madc.hi.cc.{ty}"), &[al, bl, bh], level);
                let r2 = run_one(&mut planes, &format!("addc.{ty}"), &[zero, zero], level);
                for l in 0..32 {
                    let (sum, over) =
                        (u128::from(al[l]) * u128::from(bl[l])).overflowing_add(wide(bh[l], ah[l]));
                    let carry = if bits == 64 { u64::from(over) } else { (sum >> 64) as u64 };
                    assert_eq!(wide(r1[l], r0[l]), if bits == 64 { sum } else { sum & u128::from(u64::MAX) });
                    assert_eq!(r2[l], carry, "{ty} carry {level:?}");
                }
            }
        }
    }
}

/// Mixed chains have the flag of an addition, as ptxas compiles them: `sub.cc` sets it unless it borrows.
#[test]
fn mixed_carry_chains() {
    let one = |planes: &mut Planes, text: &str, a: u64, b: u64, level| {
        let srcs = [[a; 32], [b; 32]];
        run_on(planes, &choose(text, regs(3), level).unwrap(), &srcs, u32::MAX)[0][0]
    };
    for level in levels() {
        for (a, b, after_sub, after_add) in [(1, 2, 0, 6), (2, 1, 1, 6), (0xffff_ffff, 1, 1, 7), (3, 3, 1, 6)]
        {
            let mut planes = Planes::default();
            one(&mut planes, "sub.cc.u32", a, b, level);
            assert_eq!(one(&mut planes, "addc.u32", 0, 0, level), after_sub, "{a} - {b}, {level:?}");
            one(&mut planes, "add.cc.u32", a, b, level);
            assert_eq!(one(&mut planes, "subc.u32", 10, 3, level), after_add, "{a} + {b}, {level:?}");
        }
    }
}

#[test]
fn between_integers() {
    const ALL: &[(&str, u32, bool)] = &[("u8", 8, false), ("s8", 8, true)];
    let all: Vec<_> = ALL.iter().chain(TYPES).collect();
    for &&(from, fb, fs) in &all {
        let inputs = tuples(&[integers(fb, 1000, 1)], 1000, 1);
        for &&(to, tb, ts) in &all {
            check(&format!("cvt.{to}.{from}"), &inputs, |t| val(t[0], fb, fs) as u64 & mask(tb));
            let (least, greatest) =
                if ts { (-(1i128 << (tb - 1)), (1i128 << (tb - 1)) - 1) } else { (0, (1i128 << tb) - 1) };
            check(&format!("cvt.sat.{to}.{from}"), &inputs, |t| {
                val(t[0], fb, fs).clamp(least, greatest) as u64 & mask(tb)
            });
        }
    }
}

#[test]
fn refusals() {
    for (text, n, says) in [
        ("add.frobnicate.u32", 2, "modifier `.frobnicate`"),
        ("vadd.u32.u32.u32", 3, "3 sources, not 2"),
        ("bar.sync", 1, "not an operation on registers alone"),
        ("cvt.rn.satfinite.e2m1.f32", 2, "sm_100"),
        ("div.rn.f32x2", 2, "sm_100"),
        ("add.pred", 2, "types"),
        ("add.rn.cc.u32", 2, "modifier `.rn`"),
        ("min.f32", 3, "3 operands"),
        ("setp.u32", 2, "names no comparison"),
        ("setp.ltu.u32", 2, "floating-point"),
        ("cvt.rs.f16x2.f32", 3, "stochastic"),
        ("cvt.rs.satfinite.e2m1x4.f32", 2, "not implemented"),
        ("add.u32", 1, "1 result and 1 source, not 1 and 2"),
    ] {
        let e = choose(text, regs(n + 1), Simd::Base).unwrap_err();
        assert!(e.to_string().contains(says), "{text}: {e}");
    }
}
