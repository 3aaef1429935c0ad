//! Video instructions against the pseudocode of the PTX ISA, written down here from the text of each form;
//! and against what CUDA says of its SIMD intrinsics, which compile to these.

use crate::alu::Random;
use crate::case::Case;

const LANES: usize = 256;

/// Three operands a thread, many with small parts.
fn inputs(seed: u64) -> Vec<[u32; 3]> {
    let mut r = Random(seed);
    let mut one = || {
        let x = r.next();
        match x >> 61 {
            0 => (x & 0x00ff_00ff) as u32,
            1 => [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x8080_7f7f, 0x7fff_8000, 33][(x & 7) as usize],
            2 => (x & 63) as u32,
            _ => x as u32,
        }
    };
    (0..LANES).map(|_| [one(), one(), one()]).collect()
}

/// Runs an instruction of `%r1`, `%r2`, `%r3`, `%r4` on all inputs.
fn run(text: &str, inputs: &[[u32; 3]]) -> Vec<u32> {
    let mut case = Case::new(&format!(
        "mul.lo.u32 %r10, %r0, 12; cvt.u64.u32 %rd5, %r10; add.u64 %rd5, %rd0, %rd5;
         ld.global.u32 %r2, [%rd5]; ld.global.u32 %r3, [%rd5+4]; ld.global.u32 %r4, [%rd5+8];
         {text}; bar.sync 0; st.global.u32 [%rd5], %r1;"
    ));
    case.block = LANES as u32;
    case.words = inputs.concat();
    case.words().chunks(3).map(|c| c[0]).collect()
}

/// An operand's part as the ISA extends it; a part is `b` or `h` and a digit, or nothing.
fn extract(v: u32, part: &str, signed: bool) -> i64 {
    let n = |p: &str| p[1..].parse::<u32>().unwrap();
    match (part.chars().next(), signed) {
        (Some('b'), true) => i64::from((v >> (8 * n(part))) as i8),
        (Some('b'), false) => i64::from((v >> (8 * n(part))) as u8),
        (Some('h'), true) => i64::from((v >> (16 * n(part))) as i16),
        (Some('h'), false) => i64::from((v >> (16 * n(part))) as u16),
        (_, true) => i64::from(v as i32),
        _ => i64::from(v),
    }
}

fn limits(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn first(op: &str, a: i64, b: i64) -> i64 {
    match op {
        "add" => a + b,
        "sub" => a - b,
        "absdiff" => (a - b).abs(),
        "min" => a.min(b),
        "max" => a.max(b),
        "avrg" if a + b >= 0 => (a + b + 1) >> 1,
        "avrg" => (a + b) >> 1,
        "shl.clamp" => a << b.clamp(0, 32),
        "shr.clamp" => a >> b.clamp(0, 32),
        "shl.wrap" => a << (b & 31),
        "shr.wrap" => a >> (b & 31),
        "eq" => i64::from(a == b),
        "ne" => i64::from(a != b),
        "lt" => i64::from(a < b),
        "le" => i64::from(a <= b),
        "gt" => i64::from(a > b),
        "ge" => i64::from(a >= b),
        _ => unreachable!("{op}"),
    }
}

const SIGNS: [(&str, bool); 2] = [("u32", false), ("s32", true)];

#[test]
fn scalar() {
    let shapes = [
        ("", "", "", ""),
        ("", "b0", "h1", ""),
        ("", "h0", "b3", "add"),
        ("", "", "b1", "min"),
        ("", "h1", "", "max"),
        ("b2", "", "h0", ""),
        ("h1", "b1", "b2", ""),
        ("h0", "", "", ""),
    ];
    let input = inputs(1);
    let dot = |p: &str| if p.is_empty() { String::new() } else { format!(".{p}") };
    for op in [
        "add",
        "sub",
        "absdiff",
        "min",
        "max",
        "shl.clamp",
        "shr.wrap",
        "shl.wrap",
        "shr.clamp",
        "lt",
        "ge",
        "ne",
    ] {
        let (name, mode) = op.split_once('.').map_or((op, String::new()), |(n, m)| (n, format!(".{m}")));
        let set = name.len() == 2;
        for (i, &(pd, pa, pb, second)) in shapes.iter().enumerate() {
            for way in 0..16 {
                let [(td, sd), (ta, sa), (tb, sb)] = [way & 1, way >> 1 & 1, way >> 2 & 1].map(|b| SIGNS[b]);
                let (sat, shift) = (way >> 3 == 1, name.starts_with("sh"));
                if set && (sat || td == "s32") || shift && sb || (i > 4 && way % 3 == 1) {
                    continue;
                }
                let types =
                    if set { format!("vset.{ta}.{tb}.{op}") } else { format!("v{name}.{td}.{ta}.{tb}") };
                let c = if pd.is_empty() && second.is_empty() { "" } else { ", %r4" };
                let text = format!(
                    "{types}{}{mode}{} %r1{}, %r2{}, %r3{}{c}",
                    if sat { ".sat" } else { "" },
                    dot(second),
                    dot(pd),
                    dot(pa),
                    dot(pb)
                );
                let sd = if set { sa } else { sd };
                let bits = if pd.starts_with('b') {
                    8
                } else if pd.starts_with('h') {
                    16
                } else {
                    32
                };
                for (got, &[a, b, c]) in run(&text, &input).into_iter().zip(&input) {
                    let mut t = first(op, extract(a, pa, sa), extract(b, pb, sb));
                    if sat {
                        let (least, greatest) = limits(bits, sd);
                        t = t.clamp(least, greatest);
                    }
                    let (t32, c64) = (extract(t as u32, "", sd), extract(c, "", sd));
                    let t = match second {
                        "add" => t32 + c64,
                        "min" => t32.min(c64),
                        "max" => t32.max(c64),
                        _ => t,
                    } as u32;
                    let want = match pd {
                        "b2" => c & 0xff00_ffff | (t & 0xff) << 16,
                        "h0" => c & 0xffff_0000 | t & 0xffff,
                        "h1" => c & 0x0000_ffff | t << 16,
                        _ => t,
                    };
                    assert_eq!(got, want, "{text}: {a:x} {b:x} {c:x}");
                }
            }
        }
    }
}

#[test]
fn multiply() {
    let input = inputs(2);
    for way in 0..4 {
        let [(ta, sa), (tb, sb)] = [way & 1, way >> 1].map(|b| SIGNS[b]);
        let (td, signed) = SIGNS[usize::from(sa || sb)];
        for (mods, sat, one, shift) in [
            ("", false, 0, 0),
            (".sat", true, 0, 0),
            (".po", false, 1, 0),
            (".shr7", false, 0, 7),
            (".sat.shr15", true, 0, 15),
        ] {
            for (pa, pb) in [("", ""), (".b1", ".h0"), (".h1", "")] {
                let text = format!("vmad.{td}.{ta}.{tb}{mods} %r1, %r2{pa}, %r3{pb}, %r4");
                for (got, &[a, b, c]) in run(&text, &input).into_iter().zip(&input) {
                    let (x, y) = (
                        extract(a, pa.trim_start_matches('.'), sa),
                        extract(b, pb.trim_start_matches('.'), sb),
                    );
                    let sum =
                        (i128::from(x) * i128::from(y) + i128::from(extract(c, "", signed)) + one) >> shift;
                    let (least, greatest) = limits(32, signed);
                    let want = if sat { sum.clamp(least.into(), greatest.into()) } else { sum } as u32;
                    assert_eq!(got, want, "{text}: {a:x} {b:x} {c:x}");
                }
            }
        }
    }
}

#[test]
fn packed() {
    let input = inputs(3);
    let selections = [
        (2, "", "", "", "10", "32", 0b11),
        (2, ".h0", ".h23", ".h11", "23", "11", 0b01),
        (2, ".h1", ".h30", "", "30", "32", 0b10),
        (4, "", "", "", "3210", "7654", 0b1111),
        (4, ".b30", ".b7531", ".b0246", "7531", "0246", 0b1001),
        (4, ".b2", "", ".b1111", "3210", "1111", 0b0100),
    ];
    for op in ["add", "sub", "absdiff", "min", "max", "avrg", "lt", "eq", "ge"] {
        for (n, md, ma, mb, from_a, from_b, mask) in selections {
            for way in 0..24 {
                let [(td, sd), (ta, sa), (tb, sb)] = [way & 1, way >> 1 & 1, way >> 2 & 1].map(|b| SIGNS[b]);
                let (mode, set) = ([".sat", "", ".add"][way >> 3], op.len() == 2);
                if set && (mode == ".sat" || td == "s32") {
                    continue;
                }
                let types =
                    if set { format!("vset{n}.{ta}.{tb}.{op}") } else { format!("v{op}{n}.{td}.{ta}.{tb}") };
                let text = format!("{types}{mode} %r1{md}, %r2{ma}, %r3{mb}, %r4");
                let bits = 32 / n as u32;
                let digit = |s: &str, i: usize| s.as_bytes()[n - 1 - i] - b'0';
                for (got, &[a, b, c]) in run(&text, &input).into_iter().zip(&input) {
                    let pick = |d: u8, signed: bool| {
                        let (v, d) = if usize::from(d) < n { (a, d) } else { (b, d - n as u8) };
                        extract(v, &format!("{}{d}", if n == 2 { 'h' } else { 'b' }), signed)
                    };
                    let (mut sum, mut merged) = (c, c);
                    for i in (0..n).filter(|i| mask >> i & 1 == 1) {
                        let mut t = first(op, pick(digit(from_a, i), sa), pick(digit(from_b, i), sb));
                        if mode == ".sat" {
                            let (least, greatest) = limits(bits, sd);
                            t = t.clamp(least, greatest);
                        }
                        sum = sum.wrapping_add(t as u32);
                        let keep = ((1u64 << bits) - 1) as u32;
                        merged =
                            merged & !(keep << (i as u32 * bits)) | (t as u32 & keep) << (i as u32 * bits);
                    }
                    assert_eq!(got, if mode == ".add" { sum } else { merged }, "{text}: {a:x} {b:x} {c:x}");
                }
            }
        }
    }
}

/// CUDA's intrinsics, as the CUDA math manual says what they are.
#[test]
fn intrinsics() {
    let input = inputs(4);
    let bytes = |v: u32| v.to_le_bytes();
    let halves = |v: u32| [v as u16, (v >> 16) as u16];
    // __vsadu4
    for (got, &[a, b, _]) in
        run("mov.b32 %r4, 0; vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4", &input).iter().zip(&input)
    {
        let want: u32 = bytes(a).iter().zip(bytes(b)).map(|(x, y)| u32::from(x.abs_diff(y))).sum();
        assert_eq!(*got, want);
    }
    // __vabsdiffu4
    for (got, &[a, b, _]) in
        run("mov.b32 %r4, 0; vabsdiff4.u32.u32.u32 %r1, %r2, %r3, %r4", &input).iter().zip(&input)
    {
        let each: [u8; 4] = std::array::from_fn(|i| bytes(a)[i].abs_diff(bytes(b)[i]));
        assert_eq!(*got, u32::from_le_bytes(each));
    }
    // __vaddss2
    for (got, &[a, b, _]) in
        run("mov.b32 %r4, 0; vadd2.s32.s32.s32.sat %r1, %r2, %r3, %r4", &input).iter().zip(&input)
    {
        let each = |i: usize| (halves(a)[i] as i16).saturating_add(halves(b)[i] as i16) as u16;
        assert_eq!(*got, u32::from(each(0)) | u32::from(each(1)) << 16);
    }
    // __vavgs4: the mean, rounded to nearest, halves away from zero.
    for (got, &[a, b, _]) in
        run("mov.b32 %r4, 0; vavrg4.s32.s32.s32 %r1, %r2, %r3, %r4", &input).iter().zip(&input)
    {
        let each: [u8; 4] = std::array::from_fn(|i| {
            let sum = i32::from(bytes(a)[i] as i8) + i32::from(bytes(b)[i] as i8);
            ((f64::from(sum) / 2.0).abs().round().copysign(f64::from(sum)) as i32) as u8
        });
        assert_eq!(*got, u32::from_le_bytes(each), "{a:x} {b:x}");
    }
}

#[test]
fn refusals() {
    for (text, says) in [
        ("vadd.u32.u32.f32 %r1, %r2, %r3", "types"),
        ("vadd2.u32.u32.u32 %r1, %r2, %r3", "sources"),
        ("vadd.u32.u32.u32 %r1.b1, %r2, %r3", "sources"),
        ("vadd.u32.u32.u32 %r1, %r2.b7, %r3", "part `.b7`"),
        ("vadd2.u32.u32.u32 %r1, %r2.b10, %r3, %r4", "part `.b10`"),
        ("vset.u32.u32 %r1, %r2, %r3", "comparison"),
        ("vmad.s32.s32.s32 %r1, -%r2, %r3, %r4", "does not understand"),
        ("vadd4.u32.u32.u32.sat.add %r1, %r2, %r3, %r4", "saturated and summed"),
    ] {
        let e = Case::new(&format!("{text};")).error().to_string();
        assert!(e.contains(says), "{text}: {e}");
    }
}
