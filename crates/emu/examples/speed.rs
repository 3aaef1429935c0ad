//! How fast the CPU device runs: warp instructions a second on one host thread, by kind of work.
//!
//! `cargo run --release -p prlx-emu --example speed`

use prlx_driver::{Driver, Error, LaunchConfig};
use prlx_emu::{Emulator, Options};
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

fn main() -> Result<(), Error> {
    let bodies = [
        (
            "integer and float mix",
            "fma.rn.f32 %f1, %f1, %f2, %f3;
             mad.lo.s32 %r4, %r4, %r5, %r6;
             xor.b32 %r7, %r7, %r4;
             shr.u32 %r8, %r7, 3;
             add.s32 %r9, %r9, %r8;",
        ),
        (
            "fma chain",
            "fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f4, %f4, %f2, %f3;
             fma.rn.f32 %f5, %f5, %f2, %f3; fma.rn.f32 %f6, %f6, %f2, %f3;
             fma.rn.f32 %f7, %f7, %f2, %f3; fma.rn.f32 %f1, %f1, %f2, %f3;",
        ),
        (
            "loads and stores in rows",
            "and.b32 %r8, %r0, 1023;
             mul.wide.u32 %rd4, %r8, 128;
             add.s64 %rd5, %rd3, %rd4;
             ld.global.f32 %f4, [%rd5];
             fma.rn.f32 %f1, %f4, %f2, %f3;
             st.global.f32 [%rd5], %f1;",
        ),
        (
            "gathers",
            "mad.lo.s32 %r4, %r4, %r5, %r1;
             and.b32 %r8, %r4, 8191;
             mul.wide.u32 %rd4, %r8, 4;
             add.s64 %rd5, %rd1, %rd4;
             ld.global.f32 %f4, [%rd5];
             fma.rn.f32 %f1, %f4, %f2, %f3;",
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
        ),
        (
            "shared memory",
            "and.b32 %r8, %r0, 127; shl.b32 %r8, %r8, 2;
             ld.shared.f32 %f4, [%r8];
             fma.rn.f32 %f1, %f4, %f2, %f3;
             shl.b32 %r9, %r1, 2;
             st.shared.f32 [%r9], %f1;",
        ),
        (
            "mma m16n8k16 f16",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
             {%f1, %f4, %f5, %f6}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f4, %f5, %f6};",
        ),
        (
            "shuffles",
            "shfl.sync.bfly.b32 %r8, %r4, 1, 31, -1;
             add.s32 %r4, %r4, %r8;
             shfl.sync.down.b32 %r8, %r4, 4, 31, -1;
             xor.b32 %r7, %r7, %r8;",
        ),
    ];
    for (name, body) in bodies {
        let block = LaunchConfig { block: Dim3 { x: 128, y: 1, z: 1 }, ..LaunchConfig::default() };
        measure(name, &kernel(body), &block)?;
    }
    let text = kernel("bra OUT; OUT:").replace("200000", "1");
    let many = LaunchConfig {
        grid: Dim3 { x: 20_000, y: 1, z: 1 },
        block: Dim3 { x: 256, y: 1, z: 1 },
        ..LaunchConfig::default()
    };
    measure("20,000 CTAs of 8 warps and some 30 instructions", &text, &many)
}

/// Time that this thread has had on a processor, nanoseconds.
fn on_processor() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

fn measure(name: &str, text: &str, config: &LaunchConfig) -> Result<(), Error> {
    let mut e = Emulator::new(Options { threads: 1, ..Options::default() });
    let module = e.load(text.as_bytes())?;
    let buffer = e.alloc(1 << 20, 256)?;
    let mut best = 0.0f64;
    for _ in 0..3 {
        let before = on_processor();
        let s = e.launch(module, "k", config, &buffer.0.to_le_bytes())?;
        // The launch runs on this thread; what else runs on the machine does not count.
        let nanos = before.zip(on_processor()).map_or(s.nanos, |(a, b)| b - a);
        best = best.max(s.warp_instructions as f64 * 1e3 / nanos as f64);
    }
    eprintln!("{name}: {best:.0} M warp instructions a second");
    Ok(())
}
