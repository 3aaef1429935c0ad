//! Benchmark: the speed of the CPU device, in warp instructions per second on one host thread. Prints
//! Markdown.
//!
//! It runs loops with one kind of work and the same work in Rust; a matrix product and the same in Rust; then
//! the kernels of the corpus. Run `cargo xtask bench emulate`, or this example with a text that selects
//! kernels by name. Code is decoded before the clock starts. Launches with fewer than [`corpus::LEAST`] warp
//! instructions are too short to measure.

#[path = "../../../bench/clock.rs"]
mod clock;
#[path = "../../../bench/corpus.rs"]
mod corpus;
#[path = "../../../bench/fastest.rs"]
mod fastest;
#[path = "../../../bench/native.rs"]
mod native;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fastest::fastest;
use prlx_driver::{Driver, Job, LaunchConfig, ModuleCode, prepare};
use prlx_emu::{Emulator, Options};
use prlx_lanes::Simd;
use prlx_lanes::half::{F16, Half};
use prlx_trace::Dim3;

/// A loop of 200,000 trips around a body.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 buffer)
{{
    .shared .align 16 .b8 buf[1024];
    .reg .pred %p<4>;
    .reg .b32 %r<32>;
    .reg .f32 %f<16>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [buffer];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x; mov.u32 %r31, buf;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r0, 0;
    mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f3F800000;
    mov.f32 %f4, 0f3F800000; mov.f32 %f5, 0f3F000000; mov.f32 %f6, 0f3F800000; mov.f32 %f7, 0f3F800000;
    mov.u32 %r4, 1; mov.u32 %r5, 1664525; mov.u32 %r6, 1013904223; mov.u32 %r7, 0; mov.u32 %r9, 0;
LOOP:
{body}
    add.s32 %r0, %r0, 1;
    setp.lt.s32 %p0, %r0, 200000;
    @%p0 bra LOOP;
    add.s32 %r7, %r7, %r9;
    cvt.rn.f32.s32 %f8, %r7;
    add.f32 %f8, %f8, %f1;
    st.global.f32 [%rd3], %f8;
    ret;
}}
"
    )
}

/// A kind of work, the body of its loop, and the same work in Rust.
type Work = (&'static str, &'static str, fn(&mut native::Buffer));
const BODIES: &[Work] = &[
    (
        "integer and float mix",
        "fma.rn.f32 %f1, %f1, %f2, %f3;
             mad.lo.s32 %r4, %r4, %r5, %r6;
             xor.b32 %r7, %r7, %r4;
             shr.u32 %r8, %r7, 3;
             add.s32 %r9, %r9, %r8;",
        native::mix,
    ),
    (
        "fma chain",
        "fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f4, %f4, %f2, %f3;
             fma.rn.f32 %f5, %f5, %f2, %f3; fma.rn.f32 %f6, %f6, %f2, %f3;
             fma.rn.f32 %f7, %f7, %f2, %f3; fma.rn.f32 %f1, %f1, %f2, %f3;",
        native::chain,
    ),
    (
        "loads and stores in rows",
        "and.b32 %r8, %r0, 1023;
             mul.wide.u32 %rd4, %r8, 128;
             add.s64 %rd5, %rd3, %rd4;
             ld.global.f32 %f4, [%rd5];
             fma.rn.f32 %f1, %f4, %f2, %f3;
             st.global.f32 [%rd5], %f1;",
        native::rows,
    ),
    (
        "gathers",
        "mad.lo.s32 %r4, %r4, %r5, %r1;
             and.b32 %r8, %r4, 8191;
             mul.wide.u32 %rd4, %r8, 4;
             add.s64 %rd5, %rd1, %rd4;
             ld.global.f32 %f4, [%rd5];
             fma.rn.f32 %f1, %f4, %f2, %f3;",
        native::gathers,
    ),
    (
        "divergent if and else",
        "mad.lo.s32 %r4, %r4, %r5, %r1;
             and.b32 %r8, %r4, 65536;
             setp.ne.s32 %p1, %r8, 0;
             @%p1 bra THEN;
             xor.b32 %r7, %r7, %r4;
             bra.uni JOIN;
             THEN:
             add.s32 %r9, %r9, %r8;
             JOIN:",
        native::divergent,
    ),
    (
        "shared memory",
        "and.b32 %r8, %r0, 127; shl.b32 %r8, %r8, 2;
             ld.shared.f32 %f4, [%r8];
             fma.rn.f32 %f1, %f4, %f2, %f3;
             shl.b32 %r9, %r1, 2;
             st.shared.f32 [%r9], %f1;",
        native::shared,
    ),
    (
        "mma m16n8k16 f16",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
             {%f1, %f4, %f5, %f6}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f4, %f5, %f6};",
        native::product,
    ),
    (
        "shuffles",
        "shfl.sync.bfly.b32 %r8, %r4, 1, 31, -1;
             add.s32 %r4, %r4, %r8;
             shfl.sync.down.b32 %r8, %r4, 4, 31, -1;
             xor.b32 %r7, %r7, %r8;",
        native::shuffles,
    ),
];

fn main() -> Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let best = Simd::detect();
    println!("M warp instructions a second; Rust: as many as its time for the same work would be.\n");
    println!("| loop of | warp instructions | AVX2 | {best:?} | Rust | Rust / AVX2 |");
    println!("|---|---|---|---|---|---|");
    for (name, body, native) in BODIES {
        let block = LaunchConfig { block: Dim3 { x: 128, y: 1, z: 1 }, ..LaunchConfig::default() };
        let text = kernel(body);
        let (instructions, avx2) = micro(&text, &block, Simd::Avx2)?;
        let (_, all) = micro(&text, &block, best)?;
        let mut buffer = vec![0f32; 1 << 18];
        let rust = fastest(|| {
            let start = clock::processor();
            native(&mut buffer);
            Ok((0, clock::processor() - start))
        })?;
        let rate = |seconds: f64| instructions as f64 / seconds / 1e6;
        let (a, b, c) = (rate(avx2), rate(all), rate(rust.1));
        println!("| {name} | {instructions} | {a:.0} | {b:.0} | {c:.0} | {:.1} |", c / a);
    }
    let many = LaunchConfig {
        grid: Dim3 { x: 20_000, y: 1, z: 1 },
        block: Dim3 { x: 256, y: 1, z: 1 },
        ..LaunchConfig::default()
    };
    let short = kernel("").replace("200000", "1");
    let (instructions, avx2) = micro(&short, &many, Simd::Avx2)?;
    let (_, all) = micro(&short, &many, best)?;
    let rate = |seconds: f64| instructions as f64 / seconds / 1e6;
    println!(
        "| nothing: 20,000 short CTAs of 8 warps | {instructions} | {:.0} | {:.0} | | |",
        rate(avx2),
        rate(all)
    );
    gemm()?;
    println!("\n| kernel | warp instructions | ms | M/s |");
    println!("|---|---|---|---|");
    let mut rows = Vec::new();
    for (name, launch) in corpus::kernels()? {
        if name.contains(&filter) {
            let (instructions, seconds) = kernel_of(&launch).with_context(|| name.clone())?;
            rows.push((name, instructions, seconds));
        }
    }
    rows.retain(|r| r.1 >= corpus::LEAST);
    rows.sort_by(|a, b| (b.1 as f64 / b.2).total_cmp(&(a.1 as f64 / a.2)));
    for (name, instructions, seconds) in &rows {
        println!(
            "| {name} | {instructions} | {:.2} | {:.1} |",
            seconds * 1e3,
            *instructions as f64 / seconds / 1e6
        );
    }
    let (instructions, seconds) = rows.iter().fold((0, 0.0), |(i, s), r| (i + r.1, s + r.2));
    println!("| all | {instructions} | {:.2} | {:.1} |", seconds * 1e3, instructions as f64 / seconds / 1e6);
    let mean = corpus::geometric_mean(rows.iter().map(|r| r.1 as f64 / r.2 / 1e6));
    println!("| geometric mean of {} | | | {mean:.1} |", rows.len());
    Ok(())
}

/// A product of matrices on tensor cores, as nvcc compiles it, and its result against the same in Rust.
fn gemm() -> Result<()> {
    let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/launches/gemm_f16.toml");
    let job = Job::load(&launch)?;
    let n = 512;
    println!(
        "\n| product of {n} x {n} binary16 matrices, `mma.m16n8k16` | ms | Rust, binary32: ms | Rust / it |"
    );
    println!("|---|---|---|---|");
    for level in [Simd::Avx2, Simd::detect()] {
        let mut device = device(level);
        let module = device.load(ModuleCode::Ptx(&job.text))?;
        let prepared = prepare(&mut device, &job)?;
        let (_, seconds) = fastest(|| {
            prepared.reset(&mut device, &job)?;
            let start = clock::processor();
            let stats = device.launch(module, &job.kernel, &job.config, &prepared.params)?;
            Ok((stats.warp_instructions, clock::processor() - start))
        })?;
        let mut half = |arg: usize| -> Result<Vec<f32>> {
            let mut bytes = vec![0; 2 * n * n];
            device.read(prepared.buffers[arg].context("a matrix")?, &mut bytes)?;
            Ok(bytes.chunks_exact(2).map(|b| F16::widen(u16::from_le_bytes([b[0], b[1]]))).collect())
        };
        let (a, b) = (half(0)?, half(1)?);
        let mut bytes = vec![0; 4 * n * n];
        device.read(prepared.buffers[2].context("the product")?, &mut bytes)?;
        let mut c = Vec::new();
        let (_, rust) = fastest(|| {
            let start = clock::processor();
            c = native::matmul(&a, &b, n);
            Ok((0, clock::processor() - start))
        })?;
        for (got, want) in bytes.chunks_exact(4).zip(&c) {
            let got = f32::from_le_bytes([got[0], got[1], got[2], got[3]]);
            ensure!((got - want).abs() < 1e-3, "its product has {got} where Rust has {want}");
        }
        println!("| {level:?} | {:.1} | {:.1} | {:.2} |", seconds * 1e3, rust * 1e3, rust / seconds);
    }
    Ok(())
}

/// One host thread: its clock sees all the work.
fn device(level: Simd) -> Emulator {
    Emulator::new(Options { threads: 1, simd: level, ..Options::default() })
}

fn micro(text: &str, config: &LaunchConfig, level: Simd) -> Result<(u64, f64)> {
    let mut device = device(level);
    let module = device.load(ModuleCode::Ptx(text))?;
    let buffer = device.alloc(1 << 20, 256)?;
    fastest(|| {
        let start = clock::processor();
        let stats = device.launch(module, "k", config, &buffer.0.to_le_bytes())?;
        Ok((stats.warp_instructions, clock::processor() - start))
    })
}

fn kernel_of(launch: &Path) -> Result<(u64, f64)> {
    let job = Job::load(launch)?;
    let mut device = device(Simd::detect());
    let module = device.load(ModuleCode::Ptx(&job.text))?;
    let prepared = prepare(&mut device, &job)?;
    fastest(|| {
        prepared.reset(&mut device, &job)?;
        let start = clock::processor();
        let stats = device.launch(module, &job.kernel, &job.config, &prepared.params)?;
        Ok((stats.warp_instructions, clock::processor() - start))
    })
}
