//! Benchmark: the speed of the CPU device with AMD's machine code, in wave instructions per second on one
//! host thread. Prints Markdown.
//!
//! The loops are those of `bench_emulate`, written again for waves of 32 lanes (gfx1100) and of 64 (gfx942).
//! Their source is beside the code objects in `bench/launches/amd`. Run `cargo xtask bench emulate-amd`, or
//! this example with a text that selects loops by kernel and target, such as `mix.gfx1100`.

#[path = "../../../bench/clock.rs"]
mod clock;
#[path = "../../../bench/fastest.rs"]
mod fastest;
#[path = "../../../bench/native.rs"]
#[expect(dead_code, reason = "some of its loops are not written for AMD")]
mod native;

use anyhow::Result;
use fastest::fastest;
use prlx_driver::{Driver, LaunchConfig, ModuleCode};
use prlx_emu::{Emulator, Options};
use prlx_isa::amdgpu::INSTRUCTION_SET;
use prlx_lanes::Simd;
use prlx_trace::Dim3;

/// Targets with their code object.
const TARGETS: [(&str, &[u8]); 2] = [
    ("gfx1100", include_bytes!("../../../bench/launches/amd/loops.gfx1100.co")),
    ("gfx942", include_bytes!("../../../bench/launches/amd/loops.gfx942.co")),
];

/// A kind of work, its kernel, and the same work in Rust.
type Work = (&'static str, &'static str, fn(&mut native::Buffer));
const WORK: &[Work] = &[
    ("integer and float mix", "mix", native::mix),
    ("fma chain", "chain", native::chain),
    ("loads and stores in rows", "rows", native::rows),
    ("gathers", "gathers", native::gathers),
    ("divergent if and else", "divergent", native::divergent),
    ("LDS", "shared", native::shared),
];

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let best = Simd::detect();
    println!("M wave instructions a second; Rust: as many as its time for the same work would be.\n");
    println!("| loop of | target | wave instructions | AVX2 | {best:?} | Rust | Rust / AVX2 |");
    println!("|---|---|---|---|---|---|---|");
    for (work, kernel, native) in WORK {
        let mut buffer = vec![0f32; 1 << 18];
        let rust = fastest(|| {
            let start = clock::processor();
            native(&mut buffer);
            Ok((0, clock::processor() - start))
        })?;
        for (target, object) in TARGETS {
            if !format!("{kernel}.{target}").contains(&filter) {
                continue;
            }
            let (instructions, avx2) = run(object, kernel, Simd::Avx2)?;
            let (_, all) = run(object, kernel, best)?;
            let rate = |seconds: f64| instructions as f64 / seconds / 1e6;
            let (a, b, c) = (rate(avx2), rate(all), rate(rust.1));
            println!("| {work} | {target} | {instructions} | {a:.0} | {b:.0} | {c:.0} | {:.1} |", c / a);
        }
    }
    Ok(())
}

/// Runs a loop in 128 lanes, on one host thread: its clock sees all the work.
fn run(object: &[u8], kernel: &str, simd: Simd) -> Result<(u64, f64)> {
    let mut device = Emulator::new(Options { threads: 1, simd, ..Options::default() });
    let module = device.load(ModuleCode::Object(INSTRUCTION_SET, object))?;
    let buffer = device.alloc(1 << 20, 256)?;
    let config = LaunchConfig { block: Dim3 { x: 128, y: 1, z: 1 }, ..LaunchConfig::default() };
    fastest(|| {
        let start = clock::processor();
        let stats = device.launch(module, kernel, &config, &buffer.0.to_le_bytes())?;
        Ok((stats.warp_instructions, clock::processor() - start))
    })
}
