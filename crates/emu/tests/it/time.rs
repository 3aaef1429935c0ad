//! Time: the simulated clock, instructions that are about time or resources, and the step limit, which ends
//! every loop.

use crate::case::Case;
use prlx_driver::ErrorKind;

#[test]
fn an_instruction_takes_a_cycle_and_two_a_nanosecond() {
    let w = Case::new(
        ".reg .b64 %t<9>; mov.u64 %t0, %clock64; mov.u64 %t1, %clock64; add.u32 %r1, %r0, 1; add.u32 %r1, %r1, 1; mov.u64 %t2, %clock64;
         mov.u32 %r2, %clock; mov.u32 %r3, %clock_hi; mov.u64 %t3, %globaltimer; \
         mov.u32 %r4, %globaltimer_lo; mov.u32 %r5, %globaltimer_hi;
         mov.u64 %t4, %globaltimer;
         sub.u64 %t1, %t1, %t0; sub.u64 %t5, %t2, %t0; cvt.u32.u64 %r6, %t2; sub.u32 %r6, %r2, %r6; \
         shr.u64 %t2, %t2, 1;
         sub.u64 %t6, %t3, %t2; sub.u64 %t4, %t4, %t3; cvt.u32.u64 %r7, %t3; shr.u64 %t3, %t3, 32; \
         sub.u32 %r4, %r4, %r7; cvt.u32.u64 %r8, %t3; sub.u32 %r5, %r5, %r8;
         cvt.u32.u64 %r9, %t1; cvt.u32.u64 %r10, %t5; cvt.u32.u64 %r11, %t6; cvt.u32.u64 %r12, %t4;
         setp.eq.u32 %p1, %r0, 0; @!%p1 bra OUT;
         st.global.v4.u32 [%rd0], {%r9, %r10, %r6, %r3}; st.global.v4.u32 [%rd0+16], {%r11, %r4, %r5, %r12}; OUT:",
    )
    .words();
    // From one clock to the next: 1, and 4 with two instructions between; the low half one later, the high
    // half 0; the timer is a second and the three cycles in between ahead of half the clock, and goes on by
    // half a cycle a step.
    assert_eq!(w[..4], [1, 4, 1, 0]);
    assert_eq!((w[4] - 1_000_000_000, w[6]), (1, 0));
    assert!(w[5] <= 1 && (1..=2).contains(&w[7]), "{w:?}");
}

#[test]
fn who_sleeps_lets_others_go_first() {
    // Lane 0 and warp 0 wait with naps for lane 9 of warp 1, which naps as well.
    let c = Case::new(
        ".shared .u32 flag; setp.eq.u32 %p1, %r0, 41; @%p1 bra SET; setp.ne.u32 %p2, %r0, 0; @%p2 bra OUT;
         L: nanosleep.u32 1000; ld.volatile.shared.u32 %r1, [flag]; setp.ne.u32 %p3, %r1, 77; @%p3 bra L; \
         bra OUT;
         SET: nanosleep.u32 500000; mov.u32 %r1, 77; st.volatile.shared.u32 [flag], %r1;
         OUT: bar.sync 0; ld.shared.u32 %r1, [flag]; st.global.u32 [%rd1], %r1;",
    )
    .module(".shared .u32 unused;")
    .shape(1, 64);
    assert!(c.all().iter().all(|&w| w == 77));
}

#[test]
fn resources_are_never_short() {
    let c = Case::new(
        "griddepcontrol.wait; setmaxnreg.dec.sync.aligned.u32 40; pmevent 3; pmevent.mask 5; add.u32 %r1, %r0, 1;
         setmaxnreg.inc.sync.aligned.u32 232; griddepcontrol.launch_dependents; st.global.u32 [%rd1], %r1;",
    );
    assert!(c.all().into_iter().eq(1..33));
    let e = Case::new("setmaxnreg.inc.sync.aligned.u32 100;").error();
    assert!(e.kind == ErrorKind::Unsupported && e.message.contains("a multiple of 8 from 24 to 256"), "{e}");
}

#[test]
fn a_breakpoint_ends_the_launch() {
    let e = Case::new("setp.eq.u32 %p1, %r0, 5; @%p1 brkpt;").error();
    assert_eq!(e.kind, ErrorKind::Fault);
    assert!(e.message.contains("`@%p1 brkpt;`") && e.message.contains("thread (5,0,0)"), "{e}");
}

#[test]
fn every_loop_ends_at_the_step_limit() {
    let endless = [
        "L: bra L;",
        "L: bra.uni L;",
        "setp.eq.u32 %p1, %r0, 0;\n L: @%p1 bra L; @!%p1 bra L;",
        "L: nanosleep.u32 100; bra L;",
        "L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
        "L: atom.global.cas.b32 %r1, [%rd0], 1, 0; setp.ne.u32 %p1, %r1, 1; @%p1 bra L;",
        "setp.ne.u32 %p1, %r0, 0; @%p1 bra OUT; mbarrier.init.shared.b64 [bar], 2;\n\
         L: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;\n OUT:",
        "setp.ne.u32 %p1, %r0, 0; @%p1 bra OUT; mbarrier.init.shared.b64 [bar], 2;\n\
         L: mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra L;\n OUT:",
        "L: bar.sync 0; bra L;",
        "L: barrier.cluster.arrive; barrier.cluster.wait; bra L;",
        "L: shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; bra L;",
        "L: elect.sync %r1|%p1, -1; bra L;",
        "L: cp.async.ca.shared.global [buf], [%rd0], 4; bra L;",
        "L: cp.async.commit_group; cp.async.wait_all; bra L;",
        "L: membar.gl; bra L;",
        "mov.u32 %r1, 0; ts: .branchtargets L, M;\n L: brx.idx %r1, ts;\n M:",
        "L: call f; bra L;",
        "L: mov.u64 %rd2, %globaltimer; bra L;",
        "setp.lt.u32 %p1, %r0, 16;\n L: @%p1 bra L; bar.warp.sync -1;",
    ];
    let module = ".shared .align 8 .b64 bar; .shared .align 16 .b8 buf[16]; .func f() { ret; }";
    for body in endless {
        for seed in [0, 5] {
            let mut case = Case::new(body).module(module).shape(2, 64);
            case.options.max_steps = 50_000;
            let begun = std::time::Instant::now();
            let e = case.seed(seed).expect_err(body);
            assert_eq!(e.kind, ErrorKind::Stuck, "{body}: {e}");
            assert!(
                e.message.contains("did not end within the step limit of 50000 instructions"),
                "{body}: {e}"
            );
            assert!(begun.elapsed().as_secs() < 20, "{body}: {:?}", begun.elapsed());
        }
    }
}
