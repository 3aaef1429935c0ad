//! State spaces, widths, atomics, what is said of accesses that go wrong, and what is left of a launch that
//! they stop.

use crate::case::Case;
use prlx_driver::{Driver, ErrorKind, LaunchConfig, ModuleCode, Observed};
use prlx_emu::{Emulator, Options};
use prlx_plan::{Filter, Plan, RecordingRequest};
use prlx_trace::launch::Lanes;
use prlx_trace::{Dim3, LaneMask, Level, WarpId};

#[test]
fn widths_and_signs() {
    let c = Case::new(
        "st.global.u32 [%rd1], 0xfedc8081;
         ld.global.s8 %r1, [%rd1]; ld.global.u8 %r2, [%rd1+1]; ld.global.s16 %r3, [%rd1+2]; \
         ld.global.u16 %r4, [%rd1+2];
         ld.global.s8 %rd2, [%rd1]; cvt.u32.u64 %r5, %rd2; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r6, %rd2;
         ld.global.s8 %h1, [%rd1+1]; cvt.u32.u16 %r7, %h1;
         st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
         st.global.v2.u32 [%rd1+16], {%r5, %r6}; st.global.u32 [%rd1+24], %r7;
         ld.global.v2.u64 {%rd3, %rd4}, [%rd1]; add.u64 %rd3, %rd3, %rd4; st.global.u64 [%rd1+32], %rd3;
         st.global.u8 [%rd1+28], %r3; st.global.u16 [%rd1+30], %r4;",
    )
    .shape(1, 1);
    let w = Case { words: vec![0; 16], ..c }.words();
    let n = |x: i32| x as u32;
    assert_eq!(w[..4], [n(-127), 0x80, n(-292), 0xfedc]);
    assert_eq!(w[4..7], [n(-127), u32::MAX, 0xff80]);
    assert_eq!(w[7], 0xfedc_00dc);
    let sum = (u64::from(w[0]) | u64::from(w[1]) << 32).wrapping_add(u64::from(w[2]) | u64::from(w[3]) << 32);
    assert_eq!((w[8], w[9]), (sum as u32, (sum >> 32) as u32));
}

#[test]
fn spaces_and_generic_addresses() {
    // The same helper through addresses of three windows; a third of the lanes each, so that one load meets
    // all.
    let c = Case::new(
        ".shared .align 4 .b8 buf[128]; .local .align 8 .b8 stack[16];
         mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %r0;
         mov.u64 %rd2, stack; add.u32 %r3, %r0, 100; st.local.u32 [%rd2+4], %r3;
         cvta.local.u64 %rd3, %rd2; add.u64 %rd3, %rd3, 4;
         cvt.u64.u32 %rd4, %r1; cvta.shared.u64 %rd4, %rd4;
         mov.u64 %rd5, table; mul.wide.u32 %rd6, %r0, 4; add.u64 %rd5, %rd5, %rd6;
         rem.u32 %r4, %r0, 3; setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r4, 1;
         mov.u64 %rd7, %rd5; @%p1 mov.u64 %rd7, %rd3; @%p2 mov.u64 %rd7, %rd4;
         bar.sync 0;
         ld.u32 %r5, [%rd7];
         isspacep.shared %p3, %rd7; isspacep.local %p4, %rd7; isspacep.global %p5, %rd7;
         selp.u32 %r6, 1000, 0, %p3; selp.u32 %r7, 2000, 0, %p4; selp.u32 %r8, 4000, 0, %p5;
         add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8;
         add.u32 %r5, %r5, 1; st.u32 [%rd7], %r5;
         ld.u32 %r5, [%rd7]; st.global.u32 [%rd1], %r5;",
    )
    .module(&format!(
        ".global .align 4 .u32 table[32] = {{{}}};",
        (0..32).map(|i| (i * i).to_string()).collect::<Vec<_>>().join(", ")
    ));
    for (l, w) in c.all().into_iter().enumerate() {
        let l = l as u32;
        assert_eq!(w, 1 + [2100 + l, 1000 + l, 4000 + l * l][l as usize % 3]);
    }
}

/// Constants are no global memory to code that asks, as on a GPU, where `isspacep` looks at the module's own
/// window of them.
#[test]
fn constants_are_a_space_of_their_own() {
    let c = Case::new(
        "mov.u64 %rd2, table; cvta.const.u64 %rd2, %rd2; mov.u64 %rd3, held; cvta.const.u64 %rd3, %rd3;
         mov.u64 %rd4, words; cvta.global.u64 %rd4, %rd4;
         isspacep.const %p1, %rd2; isspacep.const %p2, %rd3; isspacep.const %p3, %rd4;
         selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; selp.u32 %r3, 4, 0, %p3;
         add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
         isspacep.global %p1, %rd2; isspacep.global %p2, %rd4; isspacep.global %p3, %rd1;
         selp.u32 %r2, 8, 0, %p1; selp.u32 %r3, 16, 0, %p2; selp.u32 %r4, 32, 0, %p3;
         add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
         st.global.u32 [%rd1], %r1;",
    )
    .module(
        ".const .align 4 .u32 table[4] = {1, 2, 3, 4};\n.global .align 4 .u32 words[4];\n.const .align 4 .u32 held[2] = {5, 6};",
    );
    assert!(c.all().into_iter().all(|found| found == 1 + 2 + 16 + 32));
}

#[test]
fn out_of_bounds_says_all() {
    let c = Case::new(".loc 1 7 3\n setp.eq.u32 %p1, %r0, 17; @%p1 add.u64 %rd1, %rd1, 4096; .loc 1 8 5\n ld.global.u32 %r1, [%rd1+60];")
        .module(".file 1 \"dir/kernel.cu\"");
    let c = Case { grid: 2, block: 40, words: vec![0; 95], ..c };
    let e = c.error();
    assert_eq!(e.kind, ErrorKind::Fault);
    assert_eq!(
        e.message,
        "`ld.global.u32 %r1, [%rd1+60];` at kernel.cu:8:5 in `k` reads at 0x7f2000001080, \
         3844 bytes past the end of `words` (380 bytes): element 1056 of 95, \
         with `%r63` = 17 (line 17 of the PTX); \
         kernel `k`, \
         CTA (0,0,0) thread (17,0,0)"
    );
    let c = Case { body: "ld.global.u64 %rd2, [%rd1];".into(), ..c };
    assert!(
        c.error().message.contains(
            "at 0x7f2000000004, which is not a multiple of 8; kernel `k`, CTA (0,0,0) thread (1,0,0)"
        )
    );
    let c = Case { body: "shl.b32 %r1, %r0, 3; ld.shared.u32 %r1, [%r1];".into(), ..c };
    assert!(c.error().message.contains("there are 0 bytes of shared memory in the CTA"));
    let c = Case {
        body: ".local .align 4 .b8 s[8]; mov.u64 %rd2, s; ld.local.u32 %r1, [%rd2+4]; ld.local.u32 %r1, [%rd2+32];"
            .into(),
        ..c
    };
    assert!(c.error().message.contains("[%rd2+32];"), "{}", c.error());
    let c = Case { body: "mov.u64 %rd2, 0; st.u32 [%rd2], 1;".into(), ..c };
    assert!(c.error().message.contains("writes at 0x0, where nothing is allocated"), "{}", c.error());
}

#[test]
fn the_lowest_cta_that_faults_is_reported() {
    let c = Case::new(
        "setp.lt.u32 %p1, %r61, 5; @%p1 bra FINE; mov.u64 %rd1, 64; FINE: st.global.u32 [%rd1], 1;",
    )
    .shape(64, 32);
    for threads in [1, 4] {
        let c = Case { options: Options { threads, ..c.options.clone() }, ..c.clone() };
        assert!(c.error().message.contains("CTA (5,0,0) thread (0,0,0)"));
    }
}

#[test]
fn what_is_freed_stays_away() {
    let mut e = Emulator::new(Options { threads: 1, ..Options::default() });
    let c = Case::new("ld.global.u32 %r1, [%rd0];");
    let m = e.load(ModuleCode::Ptx(&c.text())).unwrap();
    let at = e.alloc(64, 4).unwrap();
    e.free(at).unwrap();
    assert!(e.free(at).is_err() && e.read(at, &mut [0; 4]).is_err());
    let again = e.alloc(64, 4).unwrap();
    assert_ne!(at, again);
    let config = LaunchConfig { block: prlx_trace::Dim3 { x: 32, y: 1, z: 1 }, ..LaunchConfig::default() };
    let error = e.launch(m, "k", &config, &at.0.to_le_bytes()).unwrap_err();
    assert!(
        error.message.contains("it lies in 64 bytes at") && error.message.contains("that have been freed"),
        "{error}"
    );
    assert!(
        e.launch(m, "k", &config, &[])
            .unwrap_err()
            .message
            .contains("takes 8 bytes of parameters and was given 0")
    );
    assert!(e.launch(m, "j", &config, &[]).unwrap_err().help.is_some_and(|h| h.contains("there is: k")));
    assert!(e.alloc(1 << 60, 4).is_err());
    e.unload(m).unwrap();
    assert!(e.launch(m, "k", &config, &[]).is_err());
}

#[test]
fn atomics() {
    let c = Case::new(
        "add.u64 %rd2, %rd0, 128;
         atom.global.add.u32 %r1, [%rd2], 3; red.global.max.s32 [%rd2+4], %r0; neg.s32 %r2, %r0; \
         red.global.min.s32 [%rd2+8], %r2;
         atom.global.min.u32 %r3, [%rd2+12], %r2; atom.global.inc.u32 %r4, [%rd2+16], 6; \
         atom.global.dec.u32 %r4, [%rd2+20], 9;
         mov.u32 %r5, 1; shl.b32 %r5, %r5, %r0; red.global.or.b32 [%rd2+24], %r5; \
         red.global.xor.b32 [%rd2+28], %r5;
         not.b32 %r6, %r5; setp.lt.u32 %p1, %r0, 8; @%p1 red.global.and.b32 [%rd2+32], %r6;
         mov.f32 %f1, 0f3FC00000; red.global.add.f32 [%rd2+36], %f1;
         cvt.u64.u32 %rd3, %r0; shl.b64 %rd3, %rd3, 30; red.global.add.u64 [%rd2+40], %rd3;
         atom.global.cas.b64 %rd4, [%rd2+48], 0, 77;
         mov.b32 %r7, 0x3c003800; red.global.add.noftz.f16x2 [%rd2+56], %r7;
         atom.global.exch.b32 %r8, [%rd2+60], %r0;
         st.global.u32 [%rd1], %r1;",
    );
    let c = Case { words: vec![0; 64], ..c };
    let mut c = c;
    c.words[32 + 3] = u32::MAX;
    c.words[32 + 8] = u32::MAX;
    let fair = c.words();
    assert_eq!(fair[..32], std::array::from_fn::<u32, 32, _>(|l| 3 * l as u32));
    for seed in 0..20 {
        let w = c.seed(seed).unwrap().0;
        assert_eq!(
            w[32..48 - 1],
            [
                96,
                31,
                (-31i32) as u32,
                0,
                32 % 7,
                8,
                u32::MAX,
                u32::MAX,
                0xffff_ff00,
                48f32.to_bits(),
                (496u64 << 30) as u32,
                ((496u64 << 30) >> 32) as u32,
                77,
                0,
                0x5000_4c00,
            ]
        );
    }
}

#[test]
fn parameters_by_value() {
    let text = ".version 8.0 .target sm_80 .address_size 64
        .visible .entry k(.param .align 8 .b8 s[24], .param .u16 h, .param .u64 out) {
        .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<3>; .reg .f32 %f<2>;
        ld.param.u64 %rd1, [out]; ld.param.v2.u32 {%r1, %r2}, [s+8]; ld.param.u16 %h1, [h]; \
        cvt.u32.u16 %r3, %h1;
        mov.b64 %rd2, s; cvta.param.u64 %rd3, %rd2; ld.u32 %r4, [%rd3+20]; ld.param.s8 %r5, [%rd2+4];
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.u32 [%rd1+16], %r5; ret; }";
    let mut e = Emulator::default();
    let m = e.load(ModuleCode::Ptx(text)).unwrap();
    let at = e.alloc(32, 16).unwrap();
    let mut params: Vec<u8> = (0..24).map(|i| i * 10).collect();
    params.extend([0xcd, 0xab, 0, 0, 0, 0, 0, 0]);
    params.extend(at.0.to_le_bytes());
    e.launch(m, "k", &LaunchConfig::default(), &params).unwrap();
    let mut out = [0; 20];
    e.read(at, &mut out).unwrap();
    let w: Vec<u32> = out.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    assert_eq!(
        w,
        [
            0x6e64_5a50,
            u32::from_le_bytes([120, 130, 140, 150]),
            0xabcd,
            u32::from_le_bytes([200, 210, 220, 230]),
            40
        ]
    );
    let writes = text.replace("ret;", "st.u32 [%rd3], %r1; ret;");
    let m = e.load(ModuleCode::Ptx(&writes)).unwrap();
    let error = e.launch(m, "k", &LaunchConfig::default(), &params).unwrap_err();
    assert!(error.message.contains("writes to the kernel's parameters"), "{error}");
}

#[test]
fn dynamic_shared_memory_follows_static() {
    let text = ".version 8.0 .target sm_80 .address_size 64
        .shared .align 4 .b8 fixed[12]; .shared .align 4 .b8 other[4000]; .extern .shared .align 16 .b8 dyn[];
        .visible .entry other_kernel() { .reg .b32 %r<2>; mov.u32 %r1, other; ret; }
        .visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [out]; mov.u32 %r1, fixed; mov.u32 %r2, dyn; mov.u32 %r3, %dynamic_smem_size; \
        mov.u32 %r4, %total_smem_size;
        st.shared.u32 [dyn+28], %r3; ld.shared.u32 %r3, [%r2+28];
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; ret; }";
    let mut e = Emulator::default();
    let m = e.load(ModuleCode::Ptx(text)).unwrap();
    let at = e.alloc(16, 16).unwrap();
    let config = LaunchConfig { shared: 32, ..LaunchConfig::default() };
    e.launch(m, "k", &config, &at.0.to_le_bytes()).unwrap();
    let mut out = [0; 16];
    e.read(at, &mut out).unwrap();
    let w: Vec<u32> = out.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    assert_eq!(w, [0, 16, 32, 48]);
    let error = e.launch(m, "k", &LaunchConfig { shared: 16, ..config }, &at.0.to_le_bytes()).unwrap_err();
    assert!(
        error
            .message
            .contains("writes at 0x2c, out of bounds: there are 32 bytes of shared memory in the CTA"),
        "{error}"
    );
    let huge = LaunchConfig { shared: 1 << 20, ..LaunchConfig::default() };
    assert_eq!(e.launch(m, "k", &huge, &at.0.to_le_bytes()).unwrap_err().kind, ErrorKind::Launch);
}

/// Caches, hints, orders and scopes do not change what is loaded and stored.
#[test]
fn every_kind_of_load_and_store() {
    let words: Vec<u32> = (0..256u32).map(|i| i.wrapping_mul(0x0101_0101) ^ 7).collect();
    let run = |text: &str| Case { words: words.clone(), ..Case::new(text) }.words();
    for kind in [
        "ld.global",
        "ld.global.ca",
        "ld.global.cg",
        "ld.global.cs",
        "ld.global.lu",
        "ld.global.cv",
        "ld.volatile.global",
        "ld.weak.global.L1::evict_first",
        "ld.relaxed.gpu.global",
        "ld.acquire.sys.global",
        "ld.mmio.relaxed.sys.global",
        "ld.global.nc",
        "ld.global.nc.L1::no_allocate.L2::256B",
        "ld.global.nc.L1::evict_last.L2::128B",
        "ldu.global",
        "ld",
        "ldu",
    ] {
        assert_eq!(
            run(&format!("{kind}.u32 %r1, [%rd1+128]; st.global.u32 [%rd1], %r1;"))[..32],
            words[32..64],
            "{kind}"
        );
    }
    for kind in ["ld.global", "ld.global.nc", "ldu.global", "ld.global.nc.L1::no_allocate"] {
        let w = run(&format!(
            "mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd0, %rd2; {kind}.v4.b32 {{%r1,%r2,%r3,%r4}}, [%rd2+512];
             st.global.v4.b32 [%rd2], {{%r4,%r3,%r2,%r1}};"
        ));
        let want: Vec<u32> = words[128..].chunks(4).flat_map(|c| [c[3], c[2], c[1], c[0]]).collect();
        assert_eq!(w[..128], want, "{kind}");
    }
    for kind in [
        "st.global",
        "st.global.wb",
        "st.global.cg",
        "st.global.cs",
        "st.global.wt",
        "st.volatile.global",
        "st.relaxed.cta.global",
        "st.release.gpu.global",
        "st.weak.global.L1::evict_last",
        "st",
    ] {
        let w = run(&format!(
            "prefetch.global.L1 [%rd1]; prefetch.global.L2::evict_last [%rd1]; prefetchu.L1 [%rd1];
             applypriority.global.L2::evict_normal [%rd0], 128; \
             createpolicy.fractional.L2::evict_last.b64 %rd9, 0.5;
             {kind}.u32 [%rd1], %r0; discard.global.L2 [%rd0+512], 128;"
        ));
        assert_eq!(w[..32], (0..32).collect::<Vec<u32>>(), "{kind}");
    }
    // Both with a policy; 16 bytes at once.
    let w = run(
        "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd9, [%rd0], 128, 256;
         ld.global.L2::cache_hint.u32 %r1, [%rd1+128], %rd9; st.global.L2::cache_hint.u32 [%rd1], %r1, %rd9;",
    );
    assert_eq!(w[..32], words[32..64]);
    let w = run(
        ".reg .b128 %q; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd0, %rd2; ld.global.b128 %q, [%rd2+512]; st.global.b128 [%rd2], %q;",
    );
    assert_eq!(w[..128], words[128..]);
}

/// What cooperative groups find at `%reserved_smem_offset_1` is nobody else's.
#[test]
fn reserved_shared_memory() {
    let mut c = Case::new(
        ".shared .align 4 .b8 fixed[128];
         mov.u32 %r1, %reserved_smem_offset_1; mov.u32 %r2, fixed; mov.u32 %r3, dyn; \
         mov.u32 %r4, %reserved_smem_offset_end;
         shl.b32 %r5, %r0, 3; add.u32 %r6, %r1, %r5; shr.u32 %r7, %r5, 1; add.u32 %r8, %r2, %r7;
         st.shared.u32 [%r8], %r0; st.shared.u32 [%r6], 77; st.shared.u32 [%r6+4], 77; \
         ld.shared.u32 %r9, [%r8];
         setp.lt.u32 %p1, %r3, %r4; selp.u32 %r10, 1000, 0, %p1; add.u32 %r9, %r9, %r10; st.global.u32 [%rd1], %r9;",
    );
    c = c.module(".extern .shared .align 16 .b8 dyn[];");
    assert_eq!(c.words(), (0..32).collect::<Vec<u32>>());
}

#[test]
fn a_late_copy_shows_a_missing_wait() {
    let body = ".shared .align 16 .b8 buf[128];
        mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], 7; bar.sync 0;
        cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; WAIT
        ld.shared.u32 %r3, [%r1]; st.global.u32 [%rd1], %r3;";
    let words: Vec<u32> = (100..132).collect();
    let good = Case { words: words.clone(), ..Case::new(&body.replace("WAIT", "cp.async.wait_group 0;")) };
    assert_eq!(good.all(), words);
    let bad = Case { words: words.clone(), ..Case::new(&body.replace("WAIT", "")) };
    assert!((1..20).any(|seed| bad.seed(seed).unwrap().0 != words));
    let zeros = Case {
        words: words.clone(),
        ..Case::new(&body.replace(", 4;", ", 4, 0;").replace("WAIT", "cp.async.wait_all;"))
    };
    assert_eq!(zeros.all(), vec![0; 32]);
}

#[test]
fn what_kernels_print_comes_in_the_order_of_ctas() {
    let c = Case::new(
        ".local .align 8 .b8 args[16];
         setp.ne.u32 %p1, %r0, 3; @%p1 ret;
         mov.u64 %rd2, args; st.local.u32 [%rd2], %r61; mov.f32 %f1, 0f3FC00000; cvt.f64.f32 %rd9, %f1; \
         st.local.f64 [%rd2+8], %rd9;
         cvta.local.u64 %rd3, %rd2; mov.u64 %rd4, fmt; cvta.global.u64 %rd4, %rd4;
         { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd4; st.param.b64 [b], %rd3;
           call.uni (r), vprintf, (a, b); ld.param.b32 %r5, [r]; }
         st.global.u32 [%rd1], %r5;",
    )
    .module(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
         .global .align 1 .b8 fmt[12] = {99, 116, 97, 32, 37, 100, 58, 32, 37, 103, 10, 0};",
    )
    .shape(3, 32);
    let text = c
        .body
        .replace("cvt.f64.f32 %rd9, %f1;", "mov.b64 %rd9, 0x3ff8000000000000;")
        .replace("st.local.f64", "st.local.u64");
    let c = Case { body: text, ..c };
    for (seed, threads) in [(0, 1), (0, 3), (9, 2)] {
        let c = Case { options: Options { threads, ..c.options.clone() }, ..c.clone() };
        let (words, _, text) = c.seed(seed).unwrap();
        assert_eq!((words[3], text.as_str()), (2, "cta 0: 1.5\ncta 1: 1.5\ncta 2: 1.5\n"));
    }
}

/// Every lane decides three times by what it loads; in between, thread 37 of CTA 5 and of CTA 9 stores out of
/// bounds.
const STRAYS: &str = "
    ld.global.u32 %r1, [%rd1];
    setp.gt.u32 %p1, %r1, 4; @%p1 add.u32 %r2, %r2, 1;
    setp.gt.u32 %p2, %r1, 7; @%p2 add.u32 %r2, %r2, 2;
    mov.u64 %rd2, %rd1;
    setp.eq.u32 %p3, %r0, 37; setp.eq.u32 %p4, %r61, 5; setp.eq.u32 %p5, %r61, 9;
    or.pred %p4, %p4, %p5; and.pred %p3, %p3, %p4;
    @%p3 mov.u64 %rd2, 64;
    st.global.u32 [%rd2], %r2;
    setp.gt.u32 %p6, %r1, 9; @%p6 add.u32 %r2, %r2, 4;
    st.global.u32 [%rd1], %r2;";

fn until_stopped(threads: usize, filter: Filter) -> Observed {
    let case = Case::new(STRAYS).shape(16, 64);
    let text = case.text();
    let (view, _) = prlx_isa::ptx::read(&text);
    let program = RecordingRequest { filter, ..RecordingRequest::new(Level::Path) };
    let plan = Plan::resolve(&program, &view, "k.ptx", &|_| None);
    let mut e = Emulator::new(Options { threads, ..case.options });
    let module = e.load(ModuleCode::Ptx(&text)).unwrap();
    let at = e.alloc(case.words.len() as u64 * 4, 4).unwrap();
    e.fill(at, case.words.len() as u64 * 4, 6).unwrap();
    let shape = |x| Dim3 { x, y: 1, z: 1 };
    let config = LaunchConfig { grid: shape(16), block: shape(64), ..LaunchConfig::default() };
    e.observe(module, "k", &config, &at.0.to_le_bytes(), &plan).unwrap().unwrap()
}

/// All of the CTAs before the one that was stopped, and that one until then.
#[test]
fn the_same_is_left_however_many_threads_ran_it() {
    let one = until_stopped(1, Filter::default());
    let e = one.ended.clone().unwrap_err();
    assert_eq!(e.kind, ErrorKind::Fault);
    assert!(e.message.contains("CTA (5,0,0) thread (37,0,0)"), "{}", e.message);
    // The fair schedule runs one warp of CTA 5 to its end before the other; that one stops at the store.
    assert_eq!(one.unfinished, [(WarpId(11), LaneMask(0xffff_ffff))]);
    let warps: Vec<u64> = one.streams.iter().map(|w| w.warp.0).collect();
    assert_eq!(warps, (0..12).collect::<Vec<_>>());
    let decided = |w: usize| match &one.streams[w].lanes {
        Lanes::Path { words, ends } => words[..ends[0] as usize].iter().map(|w| w.ilog2()).sum::<u32>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (decided(0), decided(10), decided(11)),
        (3, 3, 2),
        "what was decided before the store is there"
    );
    for _ in 0..20 {
        assert_eq!(until_stopped(8, Filter::default()), one);
    }
}

#[test]
fn warps_that_nobody_asked_for_are_not_told() {
    let seen = until_stopped(1, Filter { warps: vec![(3, 11)], ..Filter::default() });
    assert!(seen.ended.is_err());
    assert_eq!((seen.streams.len(), seen.unfinished), (8, vec![]));
}

#[test]
fn variables_of_a_function_have_their_initial_values() {
    let body = ".global .align 4 .b32 g[2] = {5, 6};\n.global .align 8 .u64 q = g;\nld.global.u32 %r1, [g+4];\n\
         ld.global.u64 %rd2, [q];\nld.global.u32 %r2, [%rd2];\nmad.lo.u32 %r1, %r1, 100, %r2;\n\
         st.global.u32 [%rd0], %r1;";
    let case = Case { words: vec![0], ..Case::new(body).shape(1, 1) };
    assert_eq!(case.words(), [605]);
}

#[test]
fn vector_registers() {
    let case = Case::new(
        ".reg .v4 .b32 %v;\n.reg .v2 .f32 %w<3>;\nmov.u32 %v.x, 5;\nmov.u32 %v.y, %r0;\nadd.u32 %v.z, %v.x, %v.y;\n\
         mov.b32 %v.w, 9;\nmov.v4.b32 {%r4, %r5, %r6, %r7}, %v;\nmov.v2.b32 {%r4, %r7}, {%r7, %r4};\n\
         mov.v2.f32 %w2, {0f3F800000, 0f40000000};\nst.global.v4.b32 [%rd0], %v;\n\
         st.global.v2.b32 [%rd0+16], {%r4, %r7};\n\
         st.global.v2.f32 [%rd0+24], %w2;\nld.global.v4.b32 %v, [%rd0+16];\nst.global.u32 [%rd0+32], %v.w;",
    )
    .shape(1, 1);
    let words = Case { words: vec![0; 9], ..case }.words();
    assert_eq!(words, [5, 0, 5, 9, 9, 5, 0x3f80_0000, 0x4000_0000, 0x4000_0000]);
}
