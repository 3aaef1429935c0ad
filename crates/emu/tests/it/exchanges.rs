//! What lanes and warps do together: exchanges, votes, barriers, and what is said when they wait for ever.

use crate::case::Case;
use prlx_driver::ErrorKind;

#[test]
fn shuffles() {
    // By PTX's own pseudocode, lane by lane.
    for (mode, b, c) in [
        ("up", 3, 0),
        ("down", 5, 31),
        ("bfly", 9, 31),
        ("idx", 40, 31),
        ("up", 2, 0x1800),
        ("down", 6, 0x181f),
        ("idx", 6, 0x181f),
        ("bfly", 12, 0x0f1f & 0x180f),
    ] {
        let w = Case::new(&format!(
            "mad.lo.u32 %r1, %r0, 10, 5; shfl.sync.{mode}.b32 %r2|%p1, %r1, {b}, {c}, -1; selp.u32 %r3, 1000, 0, %p1;
             add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2;"
        ))
        .all();
        for lane in 0..32i32 {
            let (bval, cval, mask) = (b & 31, c & 31, c >> 8 & 31);
            let (max, min) = (lane & mask | cval & !mask, lane & mask);
            let (j, ok) = match mode {
                "up" => (lane - bval, lane - bval >= max),
                "down" => (lane + bval, lane + bval <= max),
                "bfly" => (lane ^ bval, (lane ^ bval) <= max),
                _ => (min | bval & !mask, (min | bval & !mask) <= max),
            };
            let want = (if ok { j } else { lane }) * 10 + 5 + if ok { 1000 } else { 0 };
            assert_eq!(w[lane as usize], want as u32, "{mode} {b} {c:#x} lane {lane}");
        }
    }
}

#[test]
fn votes_and_matches() {
    let w = Case::new(
        "setp.lt.u32 %p1, %r0, 20; and.b32 %r1, %r0, 3;
         vote.sync.ballot.b32 %r2, %p1, -1; vote.sync.all.pred %p2, %p1, -1; \
         vote.sync.any.pred %p3, !%p1, -1; vote.sync.uni.pred %p4, %p1, -1;
         match.any.sync.b32 %r3, %r1, -1; match.all.sync.b32 %r4|%p5, 7, -1; \
         match.all.sync.b32 %r5|%p6, %r1, -1;
         cvt.u64.u32 %rd2, %r1; shl.b64 %rd2, %rd2, 40; match.any.sync.b64 %r6, %rd2, -1;
         selp.u32 %r7, 1, 0, %p2; selp.u32 %r8, 2, 0, %p3; selp.u32 %r9, 4, 0, %p4; \
         selp.u32 %r10, 8, 0, %p5; selp.u32 %r11, 16, 0, %p6;
         add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; add.u32 %r7, %r7, %r10; add.u32 %r7, %r7, %r11;
         xor.b32 %r2, %r2, 0xfffff; or.b32 %r7, %r7, %r2; not.b32 %r4, %r4; or.b32 %r7, %r7, %r4; \
         or.b32 %r7, %r7, %r5;
         xor.b32 %r3, %r3, %r6; shl.b32 %r3, %r3, 8; or.b32 %r7, %r7, %r3;
         shl.b32 %r6, %r6, 16; or.b32 %r7, %r7, %r6;
         st.global.u32 [%rd1], %r7;",
    )
    .all();
    for (l, w) in w.into_iter().enumerate() {
        assert_eq!(w, (2 + 8) | (0x1111_1111u32 << (l & 3)) << 16);
    }
}

#[test]
fn reductions_and_elections() {
    let w = Case::new(
        "sub.s32 %r1, %r0, 10;
         redux.sync.add.s32 %r2, %r1, -1; redux.sync.min.s32 %r3, %r1, -1; \
         redux.sync.max.u32 %r4, %r1, -1; redux.sync.xor.b32 %r5, %r0, -1;
         setp.ge.u32 %p1, %r0, 16; @!%p1 bra LOW;
         redux.sync.add.u32 %r6, %r0, 0xffff0000; elect.sync %r7|%p2, 0xffff0000; bra OUT;
         LOW: redux.sync.add.u32 %r6, %r0, 0x0000ffff; elect.sync %r7|%p2, 0x0000ffff;
         OUT: add.s32 %r2, %r2, %r3; xor.b32 %r2, %r2, %r4; xor.b32 %r2, %r2, %r5; \
         mad.lo.u32 %r2, %r6, 1000, %r2;
         mad.lo.u32 %r2, %r7, 1000000, %r2; selp.u32 %r8, 10000000, 0, %p2; add.u32 %r2, %r2, %r8;
         st.global.u32 [%rd1], %r2;",
    )
    .all();
    for (l, w) in w.into_iter().enumerate() {
        let first = ((496 - 320) - 10) ^ -1i32;
        let (sum, leader) = if l >= 16 { (376, 16) } else { (120, 0) };
        let want = sum * 1000 + first + leader * 1_000_000 + if l as i32 == leader { 10_000_000 } else { 0 };
        assert_eq!(w, want as u32, "lane {l}");
    }
}

#[test]
fn lanes_that_part_meet_at_a_synchronisation() {
    // The mask names lanes that come by two ways.
    let w = Case::new(
        "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 1;
         @%p1 bra EVEN;
         mov.u32 %r2, 5; add.u32 %r2, %r2, %r0; bra JOIN;
         EVEN: mul.lo.u32 %r2, %r0, 100;
         JOIN: shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; bar.warp.sync -1; st.global.u32 [%rd1], %r3;",
    )
    .all();
    for (l, w) in w.into_iter().enumerate() {
        let o = l as u32 ^ 1;
        assert_eq!(w, if o & 1 == 0 { o * 100 } else { o + 5 });
    }
}

#[test]
fn a_barrier_waits_for_all_that_are_left() {
    let c = Case::new(
        ".shared .align 4 .b8 buf[512]; setp.ge.u32 %p1, %r0, 100; @%p1 ret;
         mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
         bar.sync 0; sub.u32 %r4, 99, %r0; shl.b32 %r4, %r4, 2; add.u32 %r4, %r1, %r4; \
         ld.shared.u32 %r5, [%r4];
         barrier.sync 0; st.shared.u32 [%r3], 1; bar.sync 0; ld.shared.u32 %r6, [%r4]; add.u32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;",
    )
    .shape(2, 128);
    for (i, w) in c.all().into_iter().enumerate() {
        assert_eq!(w, if i % 128 < 100 { 100 - i as u32 % 128 } else { 0 });
    }
}

#[test]
fn barriers_with_numbers_counts_and_reductions() {
    // Warp 0 produces for warp 1 through barrier 3; warps 2 and 3 have barrier 4 for themselves; barrier 0
    // reduces.
    let c = Case::new(
        ".shared .u32 cell; mov.u32 %r1, cell; shr.u32 %r2, %r0, 5; mov.u32 %r5, 0;
         setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1; @%p1 bra PRODUCE; @%p2 bra CONSUME;
         bar.sync 4, 64; bra OUT;
         PRODUCE: setp.eq.u32 %p3, %r0, 0; @%p3 st.shared.u32 [%r1], 42; bar.arrive 3, 64; bra OUT;
         CONSUME: bar.sync 3, 64; ld.shared.u32 %r5, [%r1];
         OUT: setp.lt.u32 %p4, %r0, 70; bar.red.popc.u32 %r6, 0, %p4; bar.red.and.pred %p5, 0, %p4; \
         bar.red.or.pred %p6, 0, !%p4;
         selp.u32 %r7, 1000, 0, %p5; selp.u32 %r8, 2000, 0, %p6; add.u32 %r5, %r5, %r6; \
         add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8;
         st.global.u32 [%rd1], %r5;",
    )
    .shape(1, 128);
    for (i, w) in c.all().into_iter().enumerate() {
        assert_eq!(w, 2070 + if i / 32 == 1 { 42 } else { 0 }, "thread {i}");
    }
}

#[test]
fn waiting_for_ever_is_told() {
    let c = Case::new("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1; @!%p1 bar.sync 2;").shape(2, 64);
    let e = c.error();
    assert_eq!(e.kind, ErrorKind::Stuck);
    let want = "the threads of CTA (0,0,0) wait for each other; kernel `k`\n  \
        warp 0 lanes 0-31 at `@%p1 bar.sync 1;` at line 19 of the PTX in `k`: waits for all 64 threads at \
        barrier 1, where 32 have come\n  \
        warp 1 lanes 0-31 at `@!%p1 bar.sync 2;` at line 19 of the PTX in `k`: waits for all 64 threads at barrier 2, where 32 have come";
    assert_eq!(e.message, want);
    let e = Case::new("setp.lt.u32 %p1, %r0, 4; @%p1 bra A; bar.sync 0; bra B; A: shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xff; bar.sync 0; B:").error();
    assert!(e.message.contains("warp 0 lanes 0-3 at `shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xff;`"), "{e}");
    assert!(e.message.contains("for lanes 4-7") && e.message.contains("lanes 4-31 at `bar.sync 0;`"), "{e}");
    let e = Case::new("vote.sync.ballot.b32 %r1, %p1, 0xfffffffe;").error();
    assert!(e.message.contains("is executed by lane 0, which its mask 0xfffffffe does not name"), "{e}");
    let e = Case::new("bar.sync %r0;").error();
    assert!(
        e.message.contains("names barrier 16; there are 16") && e.message.contains("thread (16,0,0)"),
        "{e}"
    );
}

#[test]
fn what_is_not_there_is_refused_before_it_runs() {
    let c = Case::new(
        "st.global.u32 [%rd1], 1; bra OUT; .loc 1 3 9\n tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}]; sqrt.rn.ftz.bogus.f32 %f1, %f2; OUT:",
    )
    .module(".file 1 \"k.cu\"");
    let e = c.error();
    assert_eq!(e.kind, ErrorKind::Unsupported);
    assert!(e.message.starts_with("`k` has instruction"), "{e}");
    assert!(
        e.message.contains(
            "`tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];` at k.cu:3:9 in `k`: it is not implemented"
        ),
        "{e}"
    );
}

#[test]
fn a_cta_is_a_cluster_of_its_own() {
    let c = Case::new(
        ".shared .align 4 .b8 buf[512]; mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
         barrier.cluster.arrive.release.aligned; mov.u32 %r7, %cluster_ctarank; \
         barrier.cluster.wait.acquire.aligned;
         xor.b32 %r4, %r2, 508; add.u32 %r4, %r1, %r4; mapa.shared::cluster.u32 %r5, %r4, %r7; \
         ld.shared::cluster.u32 %r6, [%r5];
         barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%rd1], %r6;",
    )
    .shape(2, 128);
    for (i, w) in c.all().into_iter().enumerate() {
        assert_eq!(w, 127 - i as u32 % 128);
    }
}

/// Targets before sm_70 have votes and shuffles without a mask. Their warps run in step, as under seed 0.
#[test]
fn votes_without_a_mask() {
    let body = "mov.u32 %r3, 0;\nsetp.ge.u32 %p1, %r0, 5;\n@%p1 bra OUT;\nsetp.ne.u32 %p2, %r0, 3;\n\
        vote.ballot.b32 %r3, %p2;\nvote.any.pred %p3, %p1;\n@%p3 add.u32 %r3, %r3, 1000;\n\
        shfl.up.b32 %r4, %r0, 1, 0;\n\
        mad.lo.u32 %r3, %r4, 100, %r3;\nOUT: st.global.u32 [%rd1], %r3;";
    assert_eq!(Case::new(body).shape(1, 8).words(), [23, 23, 123, 223, 323, 0, 0, 0]);
}
