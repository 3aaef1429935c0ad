//! Branches, loops, calls: every lane its own way, and together again.

use crate::case::Case;
use prlx_driver::{DevicePtr, Driver, LaunchConfig, ModuleCode};
use prlx_emu::Emulator;
use prlx_trace::Dim3;

#[test]
fn nested_ifs_meet_again() {
    let w = Case::new(
        "and.b32 %r1, %r0, 1; setp.eq.s32 %p1, %r1, 0;
         and.b32 %r2, %r0, 2; setp.eq.s32 %p2, %r2, 0;
         mov.u32 %r3, 0;
         @%p1 bra EVEN;
         @%p2 bra ODDLOW;
         add.s32 %r3, %r3, 1000;
         bra OUT;
         ODDLOW: add.s32 %r3, %r3, 100;
         bra OUT;
         EVEN: add.s32 %r3, %r3, 10;
         OUT: activemask.b32 %r4;
         add.s32 %r3, %r3, %r0;
         popc.b32 %r4, %r4; shl.b32 %r4, %r4, 16; or.b32 %r3, %r3, %r4;
         st.global.u32 [%rd1], %r3;",
    )
    .words();
    for (l, w) in w.iter().enumerate() {
        let add = [10, 100, 10, 1000][l & 3];
        assert_eq!(*w, 32 << 16 | (add + l as u32), "lane {l}: all 32 lanes are together after the join");
    }
}

#[test]
fn loops_of_different_trips() {
    let c = Case::new(
        "mov.u32 %r1, 0; mov.u32 %r2, 0;
         TOP: setp.ge.u32 %p1, %r1, %r0;
         @%p1 bra DONE;
         mad.lo.u32 %r2, %r1, 3, %r2;
         add.u32 %r1, %r1, 1;
         setp.eq.u32 %p2, %r1, 20;
         @%p2 bra BREAK;
         bra TOP;
         BREAK: add.u32 %r2, %r2, 100000;
         DONE: st.global.u32 [%rd1], %r2;",
    );
    for (l, w) in c.all().into_iter().enumerate() {
        let n = l.min(20) as u32;
        assert_eq!(w, 3 * n * n.saturating_sub(1) / 2 + if l >= 20 { 100_000 } else { 0 });
    }
    // Lanes wait for the longest: 20 trips of 7 or 8 steps, not 32 lanes' trips one after the other.
    assert!(c.seed(0).unwrap().1.warp_instructions < 200);
}

#[test]
fn early_returns_and_exits() {
    let c = Case::new(
        "st.global.u32 [%rd1], 1;
         setp.gt.u32 %p1, %r0, 20; @%p1 ret;
         st.global.u32 [%rd1], 2;
         setp.gt.u32 %p2, %r0, 10; @%p2 exit;
         st.global.u32 [%rd1], 3;",
    );
    for (l, w) in c.all().into_iter().enumerate() {
        assert_eq!(
            w,
            if l > 20 {
                1
            } else if l > 10 {
                2
            } else {
                3
            }
        );
    }
}

#[test]
fn inactive_lanes_keep_their_values() {
    let w = Case::new(
        "mov.u32 %r1, 7; mov.u64 %rd2, 9;
         setp.lt.u32 %p1, %r0, 16;
         @%p1 mov.u32 %r1, 1; @!%p1 add.u64 %rd2, %rd2, 1;
         @%p1 setp.eq.u32 %p1, %r0, 3;
         cvt.u32.u64 %r2, %rd2; mad.lo.u32 %r1, %r2, 10, %r1;
         selp.u32 %r3, 1000, 0, %p1; add.u32 %r1, %r1, %r3;
         st.global.u32 [%rd1], %r1;",
    )
    .all();
    for (l, w) in w.into_iter().enumerate() {
        assert_eq!(w, if l < 16 { 91 + if l == 3 { 1000 } else { 0 } } else { 107 });
    }
}

#[test]
fn tables_of_targets() {
    let c = Case::new(
        "ts: .branchtargets A, B, C;
         rem.u32 %r1, %r0, 3;
         brx.idx %r1, ts;
         A: mov.u32 %r2, 10; bra OUT;
         B: mov.u32 %r2, 20; bra OUT;
         C: mov.u32 %r2, 30;
         OUT: st.global.u32 [%rd1], %r2;",
    );
    assert!(c.all().into_iter().enumerate().all(|(l, w)| w == [10, 20, 30][l % 3]));
    let e = Case { body: c.body.replace("rem.u32 %r1, %r0, 3", "add.u32 %r1, %r0, 0"), ..c }.error();
    assert!(e.message.contains("has 3 targets and is given index 3"), "{e}");
}

const FIB: &str = ".func (.param .b32 out) fib(.param .b32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<8>;
    ld.param.u32 %r1, [n];
    setp.lt.u32 %p1, %r1, 2;
    mov.u32 %r2, %r1;
    @%p1 bra DONE;
    add.u32 %r3, %r1, -1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }
    add.u32 %r3, %r1, -2;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), fib, (a); ld.param.b32 %r5, [b]; }
    add.u32 %r2, %r4, %r5;
    DONE: st.param.b32 [out], %r2;
    ret;
}";

#[test]
fn recursion_keeps_each_frame() {
    let c = Case::new(
        "rem.u32 %r1, %r0, 9;
         { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), fib, (a); \
         ld.param.b32 %r2, [b]; }
         st.global.u32 [%rd1], %r2;",
    )
    .module(FIB);
    let fib = [0, 1, 1, 2, 3, 5, 8, 13, 21];
    assert!(c.all().into_iter().enumerate().all(|(l, w)| w == fib[l % 9]));
}

#[test]
fn endless_recursion_is_an_error() {
    let c = Case::new("{ .param .b32 a; st.param.b32 [a], %r0; call.uni f, (a); }").module(
        ".func f(.param .b32 n) { .local .align 4 .b8 big[512]; .reg .b32 %r<3>; .reg .b64 %rd<3>;
                 mov.u64 %rd1, big; ld.param.u32 %r1, [n]; st.local.u32 [%rd1], %r1;
                 { .param .b32 a; st.param.b32 [a], %r1; call.uni f, (a); } ret; }",
    );
    let e = c.error();
    assert!(e.message.contains("calls `f` too deeply") && e.message.contains("in `f`"), "{e}");
}

#[test]
fn calls_by_address_and_predicate() {
    let module = ".func (.param .b32 o) twice(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; shl.b32 %r1, %r1, 1; st.param.b32 [o], %r1; ret; }
        .func (.param .b32 o) square(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; \
        mul.lo.u32 %r1, %r1, %r1; st.param.b32 [o], %r1; ret; }
        .global .align 8 .u64 table[2] = { twice, square };";
    let c = Case::new(
        "and.b32 %r1, %r0, 1; mul.wide.u32 %rd2, %r1, 8; mov.u64 %rd3, table; add.u64 %rd3, %rd3, %rd2; ld.global.u64 %rd4, [%rd3];
         setp.lt.u32 %p1, %r0, 30; mov.u32 %r2, 5;
         { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;
           proto: .callprototype (.param .b32 _) _ (.param .b32 _);
           @%p1 call (b), %rd4, (a), proto;
           @%p1 ld.param.b32 %r2, [b]; }
         st.global.u32 [%rd1], %r2;",
    )
    .module(module);
    for (l, w) in c.all().into_iter().enumerate() {
        let l = l as u32;
        assert_eq!(
            w,
            if l >= 30 {
                5
            } else if l % 2 == 1 {
                l * l
            } else {
                2 * l
            }
        );
    }
    let wild = Case { body: c.body.replace("ld.global.u64 %rd4, [%rd3]", "mov.u64 %rd4, 12345"), ..c };
    assert!(wild.error().message.contains("calls 0x3039, which is no function"));
}

#[test]
fn a_lane_may_wait_for_a_lane_of_its_warp() {
    // A lock that every lane takes in turn, as sloppy as people write it.
    let c = Case::new(
        "SPIN: atom.global.cas.b32 %r1, [%rd0], 0, 1;
         setp.ne.u32 %p1, %r1, 0;
         @%p1 bra SPIN;
         ld.volatile.global.u32 %r2, [%rd0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd0+4], %r2;
         membar.gl;
         atom.global.exch.b32 %r3, [%rd0], 0;",
    )
    .shape(4, 96);
    for threads in [1, 3] {
        let c = Case {
            options: prlx_emu::Options { max_steps: 40_000_000, threads, ..c.options.clone() },
            ..c.clone()
        };
        for seed in [0, 1, 2, 3] {
            assert_eq!(c.seed(seed).unwrap().0[1], 4 * 96, "seed {seed}");
        }
    }
}

#[test]
fn a_cta_may_wait_for_a_later_one() {
    let c = Case::new(
        "setp.ne.u32 %p0, %r0, 0; @%p0 ret;
         atom.global.add.u32 %r1, [%rd0], 1;
         WAIT: ld.volatile.global.u32 %r2, [%rd0]; setp.lt.u32 %p1, %r2, 8; @%p1 bra WAIT;
         st.global.u32 [%rd1+4], %r2;",
    )
    .shape(8, 2);
    let c = Case { options: prlx_emu::Options { max_steps: 400_000_000, ..c.options }, ..c };
    assert_eq!(c.seed(0).unwrap().0[15], 8);
    assert_eq!(c.seed(5).unwrap().0[15], 8);
}

#[test]
fn what_never_ends_is_reported() {
    let e = Case::new("LOOP: add.u32 %r1, %r1, 1; bra LOOP;").error();
    assert_eq!(e.kind, prlx_driver::ErrorKind::Stuck);
    assert!(e.message.contains("bra LOOP;") || e.message.contains("add.u32"), "{e}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    // The order of arrival is what a schedule chooses.
    let c = Case::new("atom.global.add.u32 %r1, [%rd0], 1; st.global.u32 [%rd1+512], %r1;").shape(1, 128);
    let c = Case { words: vec![0; 256], ..c };
    let runs: Vec<Vec<u32>> = (0..12).map(|s| c.seed(s).unwrap().0).collect();
    for (s, run) in runs.iter().enumerate() {
        assert_eq!(&c.seed(s as u64).unwrap().0, run);
    }
    assert!(runs.iter().any(|r| r != &runs[0]), "hostile seeds choose other orders");
    // CTAs that don't race: the number of threads changes nothing.
    let c = Case::new(
        ".shared .u32 n; mov.u32 %r2, n; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%r2], 0; bar.sync 0;
         atom.shared.add.u32 %r1, [%r2], 1; st.global.u32 [%rd1], %r1;",
    )
    .shape(16, 64);
    for seed in 0..6 {
        let one = c.seed(seed).unwrap();
        let many = Case { options: prlx_emu::Options { threads: 4, ..c.options.clone() }, ..c.clone() }
            .seed(seed)
            .unwrap();
        assert_eq!((one.0, one.1.warp_instructions), (many.0, many.1.warp_instructions));
    }
}

/// Each lane takes another number of bytes, calls, gives back, and takes again.
#[test]
fn memory_of_the_stack() {
    let w = Case::new(
        "shl.b32 %r1, %r0, 2; add.u32 %r1, %r1, 4; cvt.u64.u32 %rd2, %r1;
         stacksave.u64 %rd3;
         alloca.u64 %rd4, %rd2, 16; cvta.local.u64 %rd5, %rd4;
         st.local.u32 [%rd4], %r0; add.u64 %rd6, %rd5, %rd2; st.u32 [%rd6+-4], %r0;
         and.b64 %rd8, %rd4, 15; cvt.u32.u64 %r9, %rd8;
         { .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), deeper, (a); \
         ld.param.b32 %r2, [r]; }
         ld.local.u32 %r3, [%rd4]; ld.u32 %r4, [%rd6+-4];
         stackrestore.u64 %rd3; alloca.u64 %rd7, %rd2; sub.u64 %rd7, %rd7, %rd4; cvt.u32.u64 %r6, %rd7;
         setp.gt.u32 %p1, %r6, 15; selp.u32 %r6, 1000000, 0, %p1;
         add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r6; mad.lo.u32 %r2, %r9, 10000, %r2;
         st.global.u32 [%rd1], %r2;",
    )
    .module(
        ".func (.param .b32 r) deeper (.param .b32 a) {
           .local .align 8 .b8 own[64]; .reg .b32 %r<8>; .reg .b64 %rd<8>;
           ld.param.b32 %r1, [a]; mov.u64 %rd1, own; st.local.u32 [%rd1+60], %r1;
           alloca.u64 %rd2, 40; st.local.u32 [%rd2], %r1; st.local.u32 [%rd2+36], %r1;
           ld.local.u32 %r2, [%rd1+60]; add.u32 %r2, %r2, 100; st.param.b32 [r], %r2; ret; }",
    )
    .all();
    assert_eq!(w, (0..32).map(|l| 100 + 3 * l).collect::<Vec<u32>>());
    let e = Case::new("mov.u64 %rd2, 100000000; alloca.u64 %rd4, %rd2; st.local.u32 [%rd4], %r0;").error();
    assert!(e.to_string().contains("takes 100000000 bytes of the stack"), "{e}");
    let e =
        Case::new("mov.u64 %rd2, 8; alloca.u64 %rd4, %rd2; mov.u64 %rd5, 16; stackrestore.u64 %rd5;").error();
    assert!(e.to_string().contains("was not saved"), "{e}");
}

/// With the lane and the instruction; without a debugger a breakpoint is a trap.
#[test]
fn what_stops_the_kernel() {
    for op in ["trap", "brkpt"] {
        let e = Case::new(&format!("setp.eq.u32 %p1, %r0, 9; @%p1 {op};")).error().to_string();
        assert!(e.contains(&format!("{op};` ")) && e.contains("thread (9,0,0)"), "{e}");
    }
}

#[test]
fn newer_targets_run_without_their_tensor_memory() {
    let case = Case::new("st.global.u32 [%rd1], %r0;");
    for target in ["sm_100a", "sm_103f", "sm_120", "sm_121a"] {
        let mut e = Emulator::new(case.options.clone());
        let text = case.text().replace(".target sm_80", &format!(".target {target}"));
        let module = e.load(ModuleCode::Ptx(&text)).unwrap();
        let at = e.alloc(128, 4).unwrap();
        let block = Dim3 { x: 32, y: 1, z: 1 };
        let config = LaunchConfig { block, ..LaunchConfig::default() };
        e.launch(module, "k", &config, &at.0.to_le_bytes()).unwrap_or_else(|e| panic!("{target}: {e}"));
        let mut last = [0; 4];
        e.read(DevicePtr(at.0 + 124), &mut last).unwrap();
        assert_eq!(u32::from_le_bytes(last), 31, "{target}");
    }
}
