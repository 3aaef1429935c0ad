//! Data operations against a GPU: writes a PTX module with a kernel for each operation and the values to try,
//! and compares what the GPU answered. `alu_device.py` beside this file runs it all where there is a GPU.
//!
//!     alu_device write DIR     writes DIR/ops.ptx, DIR/ops.txt, DIR/in.bin
//!     alu_device compare DIR   reads DIR/out.bin; lists the operations that differ, with examples

#[path = "../tests/it/alu.rs"]
mod alu;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use alu::{Lanes, Random};
use prlx_emu::testing::AluOp;
use prlx_isa::view::{Operand, Reg, Type};
use prlx_lanes::Simd;

/// Tuples tried for each operation.
const N: usize = 32_768;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", dir] => write(Path::new(dir)),
        ["compare", dir] => compare(Path::new(dir)),
        _ => {
            eprintln!("usage: alu_device write|compare DIR");
            std::process::exit(2);
        }
    }
}

/// What values an operand takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pool {
    Bits(u32),
    F32,
    F64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    /// Positions, lengths, shift amounts.
    Small,
    Pred,
}
const POOLS: &[Pool] = &[
    Pool::Bits(16),
    Pool::Bits(32),
    Pool::Bits(64),
    Pool::F32,
    Pool::F64,
    Pool::F16,
    Pool::Bf16,
    Pool::F16x2,
    Pool::Bf16x2,
    Pool::Small,
    Pool::Pred,
];

/// Corners of a format, then random values of every kind.
fn float(exponent: u32, fraction: u32, r: &mut Random, i: usize) -> u64 {
    let (one, sign) = (1u64 << fraction, 1u64 << (fraction + exponent));
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let unit = ((1u64 << (exponent - 1)) - 1) << fraction;
    let corners = [
        0,
        1,
        one - 1,
        one,
        one + 1,
        unit,
        unit - 1,
        unit + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | one >> 1,
        unit + one / 2,
    ];
    if i < 2 * corners.len() {
        return corners[i / 2] | if i % 2 == 1 { sign } else { 0 };
    }
    let x = r.next();
    let bits = x & (sign | (sign - 1));
    match x >> 61 {
        0..=2 => bits,
        3 | 4 => (bits & (sign | (one - 1))) | (unit + ((x >> 50 & 7) << fraction)),
        5 => bits & (sign | (one - 1)),
        6 => (bits & !(one - 1)) | (bits & (one - 1) & 0u64.wrapping_sub(one >> (x >> 40 & 3))),
        _ => (bits & sign) | (unit + (bits & (8 * one - 1))),
    }
}

/// A column of values, for operand `k`.
fn column(pool: Pool, k: usize) -> Vec<u64> {
    let mut r = Random(k as u64 * 1000 + 17);
    let mut value = |i: usize| -> u64 {
        match pool {
            Pool::Bits(bits) => {
                let ones = u64::MAX >> (64 - bits);
                let top = 1u64 << (bits - 1);
                let corners = [
                    0,
                    1,
                    2,
                    3,
                    top,
                    top - 1,
                    top + 1,
                    ones,
                    ones - 1,
                    31,
                    32,
                    33,
                    0xff,
                    0x100,
                    0x7fff,
                    0x8000,
                ];
                let x = r.next();
                corners.get(i).copied().unwrap_or(if x & 1 == 0 { x >> 1 } else { x >> 1 >> (x >> 50 & 63) })
                    & ones
            }
            Pool::F32 => float(8, 23, &mut r, i),
            Pool::F64 => float(11, 52, &mut r, i),
            Pool::F16 => float(5, 10, &mut r, i),
            Pool::Bf16 => float(8, 7, &mut r, i),
            Pool::F16x2 => float(5, 10, &mut r, i) | float(5, 10, &mut r, i + usize::from(i > 9)) << 16,
            Pool::Bf16x2 => float(8, 7, &mut r, i) | float(8, 7, &mut r, i + usize::from(i > 9)) << 16,
            Pool::Small => r.next() % [70, 33, 300][i % 3],
            Pool::Pred => r.next() & 1,
        }
    };
    let corners: Vec<u64> = (0..26).map(&mut value).collect();
    (0..N)
        .map(
            |i| {
                if i < 26 * 26 * 26 { corners[i / 26usize.pow(k as u32) % 26] } else { value(usize::MAX / 2) }
            },
        )
        .collect()
}

/// An operation to try.
struct Case {
    text: String,
    op: AluOp,
    pools: Vec<Pool>,
    /// `d|p`.
    pair: bool,
    /// Results are compared in units of the last place, and reported.
    approximate: bool,
}

fn pool_of(t: Type) -> Pool {
    match t {
        Type::Pred => Pool::Pred,
        Type::F32 => Pool::F32,
        Type::F64 => Pool::F64,
        Type::F16 => Pool::F16,
        Type::Bf16 => Pool::Bf16,
        Type::F16x2 => Pool::F16x2,
        Type::Bf16x2 => Pool::Bf16x2,
        Type::B64 | Type::U64 | Type::S64 => Pool::Bits(64),
        Type::B16 | Type::U16 | Type::S16 | Type::E4m3x2 | Type::E5m2x2 => Pool::Bits(16),
        _ => Pool::Bits(32),
    }
}

/// Every form to try.
#[expect(clippy::too_many_lines, reason = "a table of forms")]
fn texts() -> Vec<(String, usize)> {
    let mut v: Vec<(String, usize)> = Vec::new();
    let mut add = |n: usize, parts: &[&[&str]]| {
        let mut all = vec![String::new()];
        for p in parts {
            all = all
                .iter()
                .flat_map(|a| {
                    p.iter().map(move |b| {
                        if b.is_empty() {
                            a.clone()
                        } else if a.is_empty() {
                            (*b).to_owned()
                        } else {
                            format!("{a}.{b}")
                        }
                    })
                })
                .collect();
        }
        v.extend(all.into_iter().map(|t| (t, n)));
    };
    let ints: &[&str] = &["u16", "s16", "u32", "s32", "u64", "s64"];
    let words: &[&str] = &["u32", "s32"];
    let signed: &[&str] = &["s16", "s32", "s64"];
    let any: &[&str] = &["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    let rounds: &[&str] = &["rn", "rz", "rm", "rp"];
    add(2, &[&["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"], ints]);
    add(3, &[&["mad.lo", "mad.hi", "sad"], ints]);
    add(2, &[&["mul.wide"], &["u16", "s16", "u32", "s32"]]);
    add(3, &[&["mad.wide"], &["u16", "s16", "u32", "s32"]]);
    add(2, &[&["add.sat.s32", "sub.sat.s32"]]);
    add(3, &[&["mad.hi.sat.s32", "mad24.hi.sat.s32"]]);
    add(2, &[&["mul24.lo", "mul24.hi"], words]);
    add(3, &[&["mad24.lo", "mad24.hi"], words]);
    add(1, &[&["neg", "abs"], signed]);
    add(2, &[&["min.relu", "max.relu"], &["s32", "s16x2"]]);
    add(2, &[&["min", "max"], &["u16x2", "s16x2"]]);
    add(2, &[&["add"], &["u16x2", "s16x2"]]);
    add(2, &[&["and", "or", "xor"], &["b16", "b32", "b64", "pred"]]);
    add(1, &[&["not"], &["b16", "b32", "b64", "pred"]]);
    add(1, &[&["cnot"], &["b16", "b32", "b64"]]);
    add(2, &[&["shl"], &["b16", "b32", "b64"]]);
    add(2, &[&["shr"], ints]);
    add(3, &[&["shf.l", "shf.r"], &["wrap", "clamp"], &["b32"]]);
    add(1, &[&["popc", "clz", "brev"], &["b32", "b64"]]);
    add(1, &[&["bfind", "bfind.shiftamt"], &["u32", "s32", "u64", "s64"]]);
    add(3, &[&["bfe"], &["u32", "s32", "u64", "s64"]]);
    add(4, &[&["bfi"], &["b32", "b64"]]);
    add(2, &[&["bmsk.clamp.b32", "bmsk.wrap.b32"]]);
    add(2, &[&["szext.clamp", "szext.wrap"], words]);
    add(3, &[&["prmt.b32"], &["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]]);
    add(3, &[&["dp4a", "dp2a.lo", "dp2a.hi"], words, words]);
    add(3, &[&["cvt.pack.sat"], &["u8", "s8"], &["s32.b32"]]);
    add(2, &[&["cvt.pack.sat"], &["u16", "s16"], &["s32"]]);
    add(2, &[&["setp"], &["eq", "ne", "lt", "le", "gt", "ge"], ints]);
    add(
        2,
        &[
            &["setp"],
            &["eq", "lt", "ge", "equ", "neu", "ltu", "geu", "num", "nan"],
            &["f32", "f64", "f16", "bf16", "f16x2", "ftz.f32", "ftz.f16"],
        ],
    );
    add(
        2,
        &[
            &["set"],
            &["lt", "neu"],
            &[
                "u32.f32",
                "f32.f32",
                "u32.f64",
                "f16.f16",
                "f16x2.f16x2",
                "u16.f16",
                "u32.f16",
                "bf16x2.bf16x2",
                "bf16.bf16",
                "u32.f16x2",
            ],
        ],
    );
    add(3, &[&["setp.gt"], &["and", "or", "xor"], &["f32", "s32"]]);
    add(3, &[&["selp"], &["b16", "b32", "b64"]]);
    add(3, &[&["slct.u32.s32", "slct.u64.f32", "slct.ftz.u32.f32"]]);
    add(
        1,
        &[
            &["testp"],
            &["finite", "infinite", "number", "notanumber", "normal", "subnormal"],
            &["f32", "f64"],
        ],
    );
    add(2, &[&["copysign"], &["f32", "f64"]]);
    add(1, &[&["mov"], &["b16", "b32", "b64", "f32", "f64"]]);
    // Floating point.
    add(2, &[&["add", "sub", "mul"], rounds, &["f32", "ftz.f32", "sat.f32", "ftz.sat.f32", "f64"]]);
    add(3, &[&["fma"], rounds, &["f32", "ftz.f32", "sat.f32", "f64"]]);
    add(2, &[&["div"], rounds, &["f32", "ftz.f32", "f64"]]);
    add(1, &[&["rcp", "sqrt"], rounds, &["f32", "ftz.f32", "f64"]]);
    add(1, &[&["neg", "abs"], &["f32", "ftz.f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "ftz.f16"]]);
    add(
        2,
        &[&["min", "max"], &["f32", "ftz.f32", "NaN.f32", "xorsign.abs.f32", "NaN.xorsign.abs.f32", "f64"]],
    );
    add(
        2,
        &[
            &["min", "max"],
            &["", "NaN", "xorsign.abs", "NaN.xorsign.abs"],
            &["f16", "f16x2", "bf16", "bf16x2"],
        ],
    );
    add(2, &[&["min", "max"], &["ftz.f16", "ftz.f16x2"]]);
    add(2, &[&["add", "sub", "mul"], &["", "rn", "ftz", "sat", "ftz.sat"], &["f16", "f16x2"]]);
    add(2, &[&["add", "sub", "mul"], &["rn"], &["bf16", "bf16x2"]]);
    add(3, &[&["fma.rn"], &["", "ftz", "sat", "relu", "ftz.relu"], &["f16", "f16x2"]]);
    add(3, &[&["fma.rn"], &["", "relu"], &["bf16", "bf16x2"]]);
    // Conversions.
    add(1, &[&["cvt"], any, any]);
    add(1, &[&["cvt.sat"], any, any]);
    add(1, &[&["cvt"], rounds, &["f32", "f64", "f16"], any]);
    add(1, &[&["cvt.rn.sat.f32", "cvt.rn.sat.f16"], &["s32", "u64"]]);
    add(1, &[&["cvt.rn", "cvt.rz"], &["bf16"], &["s16", "u32", "s32", "u64", "s64"]]);
    add(1, &[&["cvt"], &["rni", "rzi", "rmi", "rpi"], any, &["f32", "f64", "f16"]]);
    add(1, &[&["cvt"], &["rni", "rzi", "rmi", "rpi"], &["s32", "u32", "s64", "s16"], &["bf16"]]);
    add(1, &[&["cvt"], &["rni.ftz", "rpi.ftz"], &["s32", "u64"], &["f32"]]);
    add(
        1,
        &[
            &["cvt"],
            &["rni", "rzi", "rmi", "rpi"],
            &["f32.f32", "f64.f64", "f16.f16", "ftz.f32.f32", "sat.f32.f32"],
        ],
    );
    add(
        1,
        &[
            &["cvt"],
            rounds,
            &["f32.f64", "f16.f32", "f16.f64", "ftz.f32.f64", "ftz.f16.f32", "sat.f32.f64", "sat.f16.f32"],
        ],
    );
    add(1, &[&["cvt.rn", "cvt.rz"], &["bf16.f32", "relu.bf16.f32", "relu.f16.f32"]]);
    add(1, &[&["cvt.rn.satfinite"], &["f16.f32", "bf16.f32"]]);
    add(
        1,
        &[
            &["cvt"],
            &[
                "f64.f32",
                "f32.f16",
                "f64.f16",
                "f32.bf16",
                "ftz.f32.f16",
                "ftz.f64.f32",
                "sat.f32.f32",
                "sat.f32.f16",
                "ftz.sat.f32.f32",
            ],
        ],
    );
    add(1, &[&["cvt.rn.bf16.f64", "cvt.f64.bf16", "cvt.rn.bf16.f16", "cvt.rn.f16.bf16"]]);
    add(2, &[&["cvt"], &["rn", "rz"], &["", "relu"], &["f16x2.f32", "bf16x2.f32"]]);
    add(2, &[&["cvt.rn.satfinite"], &["f16x2.f32", "bf16x2.f32"]]);
    add(2, &[&["cvt.rn.satfinite"], &["", "relu"], &["e4m3x2.f32", "e5m2x2.f32"]]);
    add(1, &[&["cvt.rn.satfinite"], &["", "relu"], &["e4m3x2.f16x2", "e5m2x2.f16x2"]]);
    add(1, &[&["cvt.rn"], &["", "relu"], &["f16x2.e4m3x2", "f16x2.e5m2x2"]]);
    add(
        1,
        &[&[
            "cvt.rna.tf32.f32",
            "cvt.rn.tf32.f32",
            "cvt.rz.tf32.f32",
            "cvt.rn.relu.tf32.f32",
            "cvt.rna.satfinite.tf32.f32",
        ]],
    );
    // Approximations.
    add(
        1,
        &[
            &[
                "rcp.approx",
                "sqrt.approx",
                "rsqrt.approx",
                "sin.approx",
                "cos.approx",
                "lg2.approx",
                "ex2.approx",
            ],
            &["f32", "ftz.f32"],
        ],
    );
    add(1, &[&["tanh.approx.f32", "rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"]]);
    add(2, &[&["div.approx", "div.full"], &["f32", "ftz.f32"]]);
    add(1, &[&["ex2.approx", "tanh.approx"], &["f16", "f16x2"]]);
    add(1, &[&["ex2.approx.ftz", "tanh.approx"], &["bf16", "bf16x2"]]);
    // `.sat` is an error where the destination holds every source value.
    v.retain(|(t, _)| match t.strip_prefix("cvt.sat.").and_then(|t| t.split_once('.')) {
        Some((to, from)) if any.contains(&to) && any.contains(&from) => {
            let bits = |t: &str| t[1..].parse::<u32>().unwrap_or(0);
            !(bits(to) > bits(from) && (to.starts_with('s') || from.starts_with('u')) || to == from)
        }
        _ => true,
    });
    v
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for (text, n) in texts() {
        let pair = text.starts_with("setp") && (text.contains(".and.") || text.contains("x2"));
        let first = Operand::Reg(Reg(0));
        let first = if pair { Operand::Pair(Box::new(first.clone()), Box::new(first)) } else { first };
        let operands = [vec![first], alu::regs(n)].concat();
        let op = match alu::choose(&text, operands, Simd::detect()) {
            Ok(op) => op,
            Err(e) => {
                eprintln!("{text}: {e}");
                continue;
            }
        };
        let mut pools: Vec<Pool> = op.src.iter().map(|&t| pool_of(t)).collect();
        for (prefix, from) in
            [("shl.", 1), ("shr.", 1), ("shf.", 2), ("bfe.", 1), ("bfi.", 2), ("bmsk.", 0), ("szext.", 1)]
        {
            if text.starts_with(prefix) {
                pools[from..].fill(Pool::Small);
            }
        }
        let approximate = text.contains("approx") || text.contains("full");
        out.push(Case { text, op, pools, pair, approximate });
    }
    out
}

/// Register class and loading width of a type, in bits; 8-bit values live in 32-bit registers.
fn width(t: Type) -> u32 {
    match t {
        Type::Pred => 1,
        t => match t.bits() {
            16 => 16,
            64 => 64,
            _ => 32,
        },
    }
}

fn write(dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let cases = cases();
    let mut ptx = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
    let mut list = String::new();
    for (i, c) in cases.iter().enumerate() {
        kernel(&mut ptx, i, c);
        let _ = writeln!(list, "{} {}", c.op.dst.len(), c.text);
    }
    fs::write(dir.join("ops.ptx"), ptx)?;
    fs::write(dir.join("ops.txt"), list)?;
    let mut bytes = Vec::new();
    for &pool in POOLS {
        for k in 0..4 {
            bytes.extend(column(pool, k).iter().flat_map(|x| x.to_le_bytes()));
        }
    }
    fs::write(dir.join("in.bin"), bytes)
}

/// A kernel that does one operation on all tuples: every operand and result is 64 bits in memory.
fn kernel(out: &mut String, number: usize, c: &Case) {
    let mut b = String::new();
    let _ = writeln!(b, ".visible .entry op{number}(.param .u64 in, .param .u64 out)\n{{");
    let _ = writeln!(b, "  .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<12>; .reg .b64 %d<16>;");
    b += "  ld.param.u64 %d10, [in];\n  ld.param.u64 %d11, [out];\n  mov.u32 %r9, %ctaid.x;\n  mov.u32 %r10, %tid.x;\n";
    b += "  mad.lo.u32 %r9, %r9, 256, %r10;\n  mul.wide.u32 %d12, %r9, 8;\n  add.u64 %d10, %d10, %d12;\n  add.u64 %d11, %d11, %d12;\n";
    let name = |t: Type, i: usize| match width(t) {
        1 => format!("%p{i}"),
        16 => format!("%h{i}"),
        64 => format!("%d{i}"),
        _ => format!("%r{i}"),
    };
    let mut operands = Vec::new();
    let n = c.op.dst.len();
    let dst: Vec<String> = (0..n).map(|i| name(c.op.dst[i], i)).collect();
    operands.push(dst.join("|"));
    for (k, &t) in c.op.src.iter().enumerate() {
        let place = POOLS.iter().position(|p| *p == c.pools[k]).unwrap_or(0) * 4 + k;
        let (at, reg) = (place * N * 8, name(t, 2 + k));
        let _ = match width(t) {
            1 => writeln!(b, "  ld.global.u32 %r8, [%d10+{at}];\n  setp.ne.u32 {reg}, %r8, 0;"),
            w => writeln!(b, "  ld.global.b{w} {reg}, [%d10+{at}];"),
        };
        operands.push(reg);
    }
    let _ = writeln!(b, "  {} {};", c.text, operands.join(", "));
    for (i, &t) in c.op.dst.iter().enumerate() {
        let (at, reg) = (i * N * 8, name(t, i));
        let _ = match width(t) {
            1 => writeln!(b, "  selp.u64 %d13, 1, 0, {reg};"),
            64 => writeln!(b, "  mov.b64 %d13, {reg};"),
            w => writeln!(b, "  cvt.u64.u{w} %d13, {reg};"),
        };
        let _ = writeln!(b, "  st.global.u64 [%d11+{at}], %d13;");
    }
    b += "  ret;\n}\n";
    *out += &b;
}

/// Sign-magnitude patterns as ordered integers.
fn key(x: u64, bits: u32) -> i64 {
    let magnitude = (x & ((1 << (bits - 1)) - 1)) as i64;
    if x >> (bits - 1) & 1 == 1 { -magnitude } else { magnitude }
}

fn compare(dir: &Path) -> std::io::Result<()> {
    let words: Vec<u64> = fs::read(dir.join("out.bin"))?
        .chunks_exact(8)
        .map(|b| b.iter().rev().fold(0, |x, &y| x << 8 | u64::from(y)))
        .collect();
    let columns: Vec<Vec<u64>> = POOLS.iter().flat_map(|&p| (0..4).map(move |k| column(p, k))).collect();
    let (mut at, mut same, mut differ) = (0, 0, 0);
    for c in cases() {
        let src: Vec<&Vec<u64>> = (0..c.pools.len())
            .map(|k| &columns[POOLS.iter().position(|p| *p == c.pools[k]).unwrap_or(0) * 4 + k])
            .collect();
        let (mut wrong, mut examples, mut worst) = (0, Vec::new(), 0);
        for base in (0..N).step_by(32) {
            let lanes: Vec<Lanes> = src.iter().map(|s| std::array::from_fn(|l| s[base + l])).collect();
            let ours = alu::run(&c.op, &lanes, u32::MAX);
            for (d, &t) in c.op.dst.iter().enumerate() {
                let bits = if t == Type::Pred { 1 } else { t.bits() };
                let mask = u64::MAX >> (64 - bits);
                for l in 0..32 {
                    let Some(&gpu) = words.get(at + d * N + base + l) else { continue };
                    let (gpu, cpu) = (gpu & mask, ours[d][l] & mask);
                    let bad = if c.approximate
                        && matches!(bits, 32 | 64)
                        && !matches!(t, Type::F16x2 | Type::Bf16x2)
                    {
                        let infinity = if bits == 32 { 0x7f80_0000 } else { 0x7ff << 52 };
                        let special = |x: u64| x & (mask >> 1) >= infinity;
                        let apart = key(gpu, bits).abs_diff(key(cpu, bits));
                        if special(gpu) || special(cpu) {
                            gpu != cpu
                        } else {
                            worst = worst.max(apart);
                            apart > 4
                        }
                    } else {
                        gpu != cpu
                    };
                    if bad {
                        wrong += 1;
                        if examples.len() < 6 && wrong % 7 == 1 {
                            let from: Vec<String> = lanes.iter().map(|s| format!("{:x}", s[l])).collect();
                            examples.push(format!("({}) gpu {gpu:x} cpu {cpu:x}", from.join(", ")));
                        }
                    }
                }
            }
        }
        at += c.op.dst.len() * N;
        if wrong > 0 || c.approximate {
            println!("{:44} {wrong:6} differ; apart at most {worst}: {}", c.text, examples.join("; "));
        }
        if wrong > 0 {
            differ += 1
        } else {
            same += 1
        }
        let _ = c.pair;
    }
    println!("{same} operations agree, {differ} differ, {N} tuples each");
    Ok(())
}
