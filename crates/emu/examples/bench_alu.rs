//! How fast data operations run: millions of warp operations a second, by operation and level.
//!
//! `cargo xtask bench alu`, or this example with a text that the operations' names contain. One thread;
//! operands stay in the first-level cache, a call through a pointer each time, as the interpreter does it.
//! Prints Markdown.

#[path = "../tests/it/alu.rs"]
mod alu;
#[path = "../../../bench/clock.rs"]
mod clock;

use std::hint::black_box;

use clock::best;
use prlx_isa::view::{Operand, Reg};
use prlx_lanes::{Args, Planes, Simd, V32, V64};

/// Opcodes by family, with how many sources.
const OPS: &[(&str, usize)] = &[
    ("mov.b32", 1),
    ("add.s32", 2),
    ("mul.lo.s32", 2),
    ("mul.wide.s32", 2),
    ("mad.lo.s32", 3),
    ("add.s64", 2),
    ("mul.lo.s64", 2),
    ("div.u32", 2),
    ("and.b32", 2),
    ("shl.b32", 2),
    ("shf.l.wrap.b32", 3),
    ("lop3.b32", 3),
    ("prmt.b32", 3),
    ("bfe.u32", 3),
    ("popc.b32", 1),
    ("clz.b32", 1),
    ("min.s32", 2),
    ("add.cc.u32", 2),
    ("setp.lt.s32", 2),
    ("setp.lt.s64", 2),
    ("setp.gt.and.f32", 3),
    ("selp.b32", 3),
    ("selp.b64", 3),
    ("cvt.u64.u32", 1),
    ("cvt.u32.u64", 1),
    ("cvt.s64.s32", 1),
    ("cvt.rn.f32.s32", 1),
    ("cvt.rzi.s32.f32", 1),
    ("cvt.rn.f16.f32", 1),
    ("cvt.f32.f16", 1),
    ("cvt.rn.f16x2.f32", 2),
    ("cvt.rn.bf16x2.f32", 2),
    ("cvt.f32.bf16", 1),
    ("cvt.rn.f32.f64", 1),
    ("cvt.rn.satfinite.e4m3x2.f32", 2),
    ("add.f32", 2),
    ("add.rz.f32", 2),
    ("add.ftz.f32", 2),
    ("mul.f32", 2),
    ("fma.rn.f32", 3),
    ("fma.rn.ftz.f32", 3),
    ("min.f32", 2),
    ("div.rn.f32", 2),
    ("sqrt.rn.f32", 1),
    ("ex2.approx.f32", 1),
    ("lg2.approx.f32", 1),
    ("sin.approx.f32", 1),
    ("tanh.approx.f32", 1),
    ("rsqrt.approx.f32", 1),
    ("add.f64", 2),
    ("fma.rn.f64", 3),
    ("fma.rz.f64", 3),
    ("add.f16x2", 2),
    ("fma.rn.f16x2", 3),
    ("add.bf16x2", 2),
    ("fma.rn.bf16x2", 3),
    ("mul.f16", 2),
    ("mov.b64", 2),
];

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let levels = alu::levels();
    print!("| M warp operations / s |");
    levels.iter().for_each(|l| print!(" {} |", name(*l)));
    println!("\n|---|{}", "---|".repeat(levels.len()));
    for &(text, n) in OPS.iter().filter(|(t, _)| t.contains(&filter)) {
        print!("| `{text}` |");
        levels.iter().for_each(|l| print!(" {:.1} |", measure(text, n, *l)));
        println!();
    }
}

fn name(level: Simd) -> &'static str {
    match level {
        Simd::Base => "base (SSE2)",
        Simd::Avx2 => "AVX2",
        Simd::Avx512 => "AVX-512",
    }
}

fn measure(text: &str, n: usize, level: Simd) -> f64 {
    let mut operands = alu::regs(n + 1);
    if text.starts_with("lop3") {
        operands.push(Operand::Int(0x96));
    } else if text == "mov.b64" {
        operands = vec![Operand::Reg(Reg(0)), Operand::Vector(alu::regs(2))];
    }
    let op = match alu::choose(text, operands, level) {
        Ok(op) => op,
        Err(e) => panic!("{text}: {e}"),
    };
    // Small integers that are also ordinary binary32 and binary16 numbers.
    let mut planes = Planes::default();
    for i in 0..8u32 {
        planes.w32.push(V32(std::array::from_fn(|l| 0x3f80_3c00 + (l as u32) * 0x0101 * (i + 1))));
        planes.w64.push(V64(std::array::from_fn(|l| {
            0x3ff0_0000_3f80_0000 + (l as u64) * 0x1_0001 * u64::from(i + 1)
        })));
        planes.pred.push(0x5a5a_5a5a << i);
    }
    let args = Args { dst: [4, 5, 6, 7], src: [0, 1, 2, 3], imm: op.imm };
    let seconds = best(|| black_box(op.run)(&mut planes, &args, u32::MAX));
    black_box(&planes);
    1e-6 / seconds
}
