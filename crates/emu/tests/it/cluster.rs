//! Clusters: special registers, addresses, distributed shared memory, barriers, and what goes wrong with
//! them.

use crate::case::Case;
use prlx_driver::{Driver, ErrorKind, LaunchConfig, ModuleCode};
use prlx_emu::{Emulator, Options};
use prlx_trace::Dim3;

/// The cluster's barrier.
const MEET: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// A kernel in clusters, with a buffer of 32 words in shared memory whose address is in `%r1`; `MEET` is the
/// barrier.
fn case(body: &str, grid: u32, block: u32, cluster: u32) -> Case {
    let body = format!("mov.u32 %r1, buf; mov.u32 %r2, %cluster_ctarank; {}", body.replace("MEET", MEET));
    Case { cluster, ..Case::new(&body).module(".shared .align 16 .b8 buf[128];").shape(grid, block) }
}

#[test]
fn special_registers_say_where() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
        .reg .b32 %r<32>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n\
        ld.param.u64 %rd0, [p]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x;\n\
        mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %rd1, %r3, 48; add.u64 %rd0, %rd0, %rd1;\n\
        mov.u32 %r4, %clusterid.x; mov.u32 %r5, %clusterid.y; mov.u32 %r6, %nclusterid.x; \
        mov.u32 %r7, %nclusterid.y;\n\
        mov.u32 %r8, %cluster_ctaid.x; mov.u32 %r9, %cluster_ctaid.y; mov.u32 %r10, %cluster_nctaid.x;\n\
        mov.u32 %r11, %cluster_nctaid.y; mov.u32 %r12, %cluster_ctarank; mov.u32 %r13, %cluster_nctarank;\n\
        mov.pred %p1, %is_explicit_cluster; selp.u32 %r14, 1, 0, %p1; mov.u32 %r15, %cluster_nctaid.z;\n\
        st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7}; st.global.v4.u32 [%rd0+16], {%r8, %r9, %r10, %r11};\n\
        st.global.v4.u32 [%rd0+32], {%r12, %r13, %r14, %r15}; ret;\n}\n";
    let run = |cluster: Dim3| {
        let mut e = Emulator::new(Options::default());
        let m = e.load(ModuleCode::Ptx(text)).unwrap();
        let at = e.alloc(24 * 48, 16).unwrap();
        let config = LaunchConfig { grid: Dim3 { x: 4, y: 6, z: 1 }, cluster, ..LaunchConfig::default() };
        e.launch(m, "k", &config, &at.0.to_le_bytes()).unwrap();
        let mut out = vec![0; 24 * 48];
        e.read(at, &mut out).unwrap();
        out.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect::<Vec<_>>()
    };
    let words = run(Dim3 { x: 2, y: 3, z: 1 });
    for (i, got) in words.chunks(12).enumerate() {
        let (x, y) = (i as u32 % 4, i as u32 / 4);
        assert_eq!(
            got,
            [x / 2, y / 3, 2, 2, x % 2, y % 3, 2, 3, y % 3 * 2 + x % 2, 6, 1, 1],
            "CTA ({x},{y})"
        );
    }
    let words = run(Dim3::default());
    for (i, got) in words.chunks(12).enumerate() {
        let (x, y) = (i as u32 % 4, i as u32 / 4);
        assert_eq!(got, [x, y, 4, 6, 0, 0, 1, 1, 0, 1, 0, 1], "CTA ({x},{y})");
    }
}

#[test]
fn loads_stores_and_atomics_reach_other_ctas() {
    // Each CTA writes to the next, adds to the one after it, and reads from its own; shared and generic
    // addresses.
    let c = case(
        "shl.b32 %r3, %r0, 2; add.u32 %r3, %r1, %r3; st.shared.u32 [%r3], 0; MEET
         add.u32 %r4, %r2, 1; and.b32 %r4, %r4, 3; mapa.shared::cluster.u32 %r5, %r3, %r4;
         mad.lo.u32 %r6, %r2, 100, %r0; st.shared::cluster.u32 [%r5], %r6; MEET
         add.u32 %r4, %r2, 2; and.b32 %r4, %r4, 3; cvt.u64.u32 %rd2, %r3; cvta.shared.u64 %rd2, %rd2; \
         mapa.u64 %rd3, %rd2, %r4;
         atom.shared::cluster.add.u32 %r7, [%r5], 1000; red.add.u32 [%rd3], 10000; MEET
         ld.u32 %r8, [%rd2]; mapa.shared::cluster.u32 %r9, %r3, %r2; ld.shared::cluster.u32 %r10, [%r9];
         ld.shared::cluster.u32 %r11, [%r3]; sub.u32 %r10, %r10, %r11; add.u32 %r8, %r8, %r10;
         mul.lo.u32 %r12, %r7, 0; add.u32 %r8, %r8, %r12; st.global.u32 [%rd1], %r8; MEET",
        8,
        32,
        4,
    );
    for (i, w) in c.all().into_iter().enumerate() {
        let (rank, t) = (i as u32 / 32 % 4, i as u32 % 32);
        assert_eq!(w, (rank + 3) % 4 * 100 + t + 11000, "rank {rank} thread {t}");
    }
}

#[test]
fn addresses_say_whose_they_are() {
    let c = case(
        "xor.b32 %r3, %r2, 1; mapa.shared::cluster.u32 %r4, buf, %r3; mapa.shared::cluster.u32 %r5, %r1, %r2;
         getctarank.shared::cluster.u32 %r6, %r4; getctarank.shared::cluster.u32 %r7, %r1; \
         getctarank.shared::cluster.u32 %r8, %r5;
         cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2; mapa.u64 %rd3, %rd2, %r3; \
         mapa.u64 %rd4, %rd2, %r2;
         getctarank.u32 %r9, %rd3; getctarank.u32 %r10, %rd2; getctarank.u32 %r11, %rd4;
         isspacep.shared %p1, %rd2; isspacep.shared::cta %p2, %rd4; isspacep.shared::cta %p3, %rd3;
         isspacep.shared::cluster %p4, %rd3; isspacep.shared::cluster %p5, %rd2; \
         isspacep.global %p6, %rd3; isspacep.shared::cluster %p7, %rd0;
         isspacep.shared %p8, %rd0;
         selp.u32 %r12, 1, 0, %p1; selp.u32 %r13, 2, 0, %p2; selp.u32 %r14, 4, 0, %p3; \
         selp.u32 %r15, 8, 0, %p4;
         selp.u32 %r16, 16, 0, %p5; selp.u32 %r17, 32, 0, %p6; selp.u32 %r18, 64, 0, %p7; \
         selp.u32 %r19, 128, 0, %p8;
         add.u32 %r12, %r12, %r13; add.u32 %r14, %r14, %r15; add.u32 %r16, %r16, %r17; \
         add.u32 %r18, %r18, %r19;
         add.u32 %r12, %r12, %r14; add.u32 %r16, %r16, %r18; add.u32 %r12, %r12, %r16;
         shl.b32 %r12, %r12, 8; shl.b32 %r6, %r6, 5; shl.b32 %r7, %r7, 4; shl.b32 %r8, %r8, 3; \
         shl.b32 %r9, %r9, 2; shl.b32 %r10, %r10, 1;
         or.b32 %r12, %r12, %r6; or.b32 %r12, %r12, %r7; or.b32 %r12, %r12, %r8; or.b32 %r12, %r12, %r9; \
         or.b32 %r12, %r12, %r10;
         or.b32 %r12, %r12, %r11; cvta.to.shared.u64 %rd5, %rd4; st.shared.u32 [%rd5], %r12; \
         ld.shared.u32 %r12, [buf];
         st.global.u32 [%rd1], %r12;",
        2,
        1,
        2,
    );
    let flags = (1 | 2 | 8 | 16) << 8;
    assert_eq!(c.all(), [flags | 0b10_0100, flags | 0b01_1011]);
}

#[test]
fn sending_counts_bytes_at_the_mbarrier_of_the_receiver() {
    // Each thread sends two words to the other CTA and adds to a counter there; the receiver waits for all
    // the bytes.
    let c = case(
        ".shared .align 8 .b64 bar; .shared .u32 count; mov.u32 %r3, bar; setp.eq.u32 %p1, %r0, 0; xor.b32 %r4, %r2, 1;
         @%p1 st.shared.u32 [count], 5; @%p1 mbarrier.init.shared.b64 [%r3], 1;
         @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r3], 192; MEET
         shl.b32 %r5, %r0, 3; add.u32 %r5, %r1, %r5; mapa.shared::cluster.u32 %r6, %r5, %r4; \
         mapa.shared::cluster.u32 %r7, %r3, %r4;
         mapa.shared::cluster.u32 %r8, count, %r4; mad.lo.u32 %r9, %r2, 100, %r0; add.u32 %r10, %r9, 50;
         st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r6], {%r9, %r10}, [%r7];
         red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r8], 100, [%r7];
         L: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra L;
         ld.shared.v2.u32 {%r11, %r12}, [%r5]; ld.shared.u32 %r13, [count]; add.u32 %r11, %r11, %r12; \
         mad.lo.u32 %r11, %r13, 1000, %r11;
         st.global.u32 [%rd1], %r11; MEET", 4, 16, 2);
    for (i, w) in c.all().into_iter().enumerate() {
        let (rank, t) = (i as u32 / 16 % 2, i as u32 % 16);
        assert_eq!(w, 2 * ((1 - rank) * 100 + t) + 50 + 21_000, "rank {rank} thread {t}");
    }
    let apart = case(
        "mapa.shared::cluster.u32 %r4, %r1, 1; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r0, [%r1+8];",
        2,
        1,
        2,
    );
    let e = apart.error();
    assert!(
        e.message.contains("sends to one CTA's shared memory, and the bytes are to be counted in another's"),
        "{e}"
    );
}

#[test]
fn an_mbarrier_takes_arrivals_of_the_whole_cluster() {
    let c = case(
        ".shared .align 8 .b64 bar; mov.u32 %r3, bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r3], 128; MEET
         mapa.shared::cluster.u32 %r4, %r1, 2; mapa.shared::cluster.u32 %r5, %r3, 2;
         red.shared::cluster.add.u32 [%r4], 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
         setp.ne.u32 %p2, %r2, 2; @%p2 bra OUT;
         L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r3], 0; @!%p3 bra L; \
         st.global.u32 [%rd1], 1;
         OUT: MEET", 4, 32, 4);
    for (i, w) in c.all().into_iter().enumerate() {
        assert_eq!(w, u32::from(i / 32 == 2));
    }
}

#[test]
fn runs_of_bytes_go_to_other_ctas() {
    let c = case(
        ".shared .align 8 .b64 bar; .shared .align 16 .b8 box[128]; mov.u32 %r3, bar; setp.eq.u32 %p1, %r0, 0; mov.u32 %r10, box;
         @%p1 mbarrier.init.shared.b64 [%r3], 1; @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r3], 128;
         shl.b32 %r4, %r0, 2; add.u32 %r5, %r1, %r4; add.u32 %r6, %r10, %r4; \
         mad.lo.u32 %r7, %r2, 100, %r0; st.shared.u32 [%r5], %r7; MEET
         xor.b32 %r8, %r2, 1; mapa.shared::cluster.u32 %r9, %r10, %r8; \
         mapa.shared::cluster.u32 %r11, %r3, %r8;
         @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r1], 128, \
         [%r11];
         L: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra L; ld.shared.u32 %r12, [%r6]; st.global.u32 [%rd1], %r12; MEET", 4, 32, 2);
    for (i, w) in c.all().into_iter().enumerate() {
        assert_eq!(w, (1 - i as u32 / 32 % 2) * 100 + i as u32 % 32);
    }
}

#[test]
fn the_barrier_waits_for_all_that_are_left_and_knows_its_phases() {
    // Rank 0 spins on what rank 1 writes after the barrier that rank 0 has arrived at but does not wait for
    // yet.
    let c = case(
        "setp.ge.u32 %p1, %r0, 20; @%p1 ret; setp.eq.u32 %p2, %r2, 1; mapa.shared::cluster.u32 %r3, %r1, 0; @!%p2 st.shared.u32 [%r1], 0; MEET
         barrier.cluster.arrive.release; @%p2 bra SECOND;
         L: ld.volatile.shared.u32 %r4, [%r1]; setp.eq.u32 %p3, %r4, 0; @%p3 bra L; \
         barrier.cluster.wait.acquire; bra OUT;
         SECOND: barrier.cluster.wait.acquire; st.shared::cluster.u32 [%r3], 7; mov.u32 %r4, 9;
         OUT: st.global.u32 [%rd1], %r4; MEET", 4, 64, 2);
    for (i, w) in c.all().into_iter().enumerate() {
        let (rank, t) = (i / 64 % 2, i % 64);
        assert_eq!(w, if t >= 20 { 0 } else { [7, 9][rank] }, "rank {rank} thread {t}");
    }
    let e = case("barrier.cluster.arrive; barrier.cluster.arrive;", 2, 1, 2).error();
    assert!(e.message.contains("arrives at the cluster's barrier again before it waited for it"), "{e}");
    let e = case("barrier.cluster.wait;", 2, 1, 2).error();
    assert!(e.message.contains("waits for the cluster's barrier without having arrived at it"), "{e}");
}

#[test]
fn deadlock_names_the_ctas() {
    let c = case(
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra OTHER; MEET bra OUT;\n OTHER: setp.eq.u32 %p2, %r0, 3; @%p2 bar.sync 0; @!%p2 bra MORE; bra OUT;\n MORE: MEET OUT:",
        4,
        32,
        2,
    );
    let e = c.error();
    assert_eq!(e.kind, ErrorKind::Stuck);
    let want = "the threads of cluster (0,0,0) wait for each other; kernel `k`\n  \
        CTA (0,0,0) (rank 0), warp 0 lanes 0-31 at `barrier.cluster.wait.acquire.aligned;` at line 19 of \
        the PTX in `k`: waits for the cluster's barrier, to which CTA (1,0,0) (rank 1), warp 0 lane 3 has \
        not come\n  \
        CTA (1,0,0) (rank 1), warp 0 lanes 0-2, 4-31 at `barrier.cluster.wait.acquire.aligned;` at line \
        21 of the PTX in `k`: waits for the cluster's barrier, to which CTA (1,0,0) (rank 1), warp 0 lane \
        3 has not come\n  \
        CTA (1,0,0) (rank 1), warp 0 lane 3 at `@%p2 bar.sync 0;` at line 20 of the PTX in `k`: waits for all 32 threads at barrier 0, where 1 have come";
    assert_eq!(e.message, want);
    let c = case(
        "setp.eq.u32 %p1, %r2, 1; setp.eq.u32 %p2, %r0, 3; @!%p1 bra OUT; @%p2 bar.sync 1; @!%p2 bar.sync 2;\n OUT:",
        4,
        32,
        2,
    );
    let e = c.error();
    assert!(
        e.message.starts_with("the threads of CTA (1,0,0) (rank 1) wait for each other; kernel `k`"),
        "{e}"
    );
}

#[test]
fn what_is_out_of_reach_is_told() {
    let remote = "mapa.shared::cluster.u32 %r3, %r1, 1; setp.eq.u32 %p1, %r2, 0; @!%p1 bra OUT;";
    let error = |body: &str| case(&format!("{remote} {body}\n OUT:"), 2, 32, 2).error().message;
    let e = error("ld.shared::cluster.u32 %r4, [%r3+128];");
    assert!(
        e.contains("reads at 0x2000080, out of bounds: there are 128 bytes of shared memory in a CTA"),
        "{e}"
    );
    let e = error("ld.shared::cluster.u32 %r4, [%r3+2];");
    assert!(e.contains("at 0x2000002, which is not a multiple of 4"), "{e}");
    let e = error("st.shared.u32 [%r3], 1;");
    assert!(
        e.contains("writes at 0x2000000, which lies in the shared memory of rank 1 of the cluster"),
        "{e}"
    );
    let e = error("mapa.shared::cluster.u32 %r3, %r1, 2; ld.shared::cluster.u32 %r4, [%r3];");
    assert!(e.contains("in the shared memory of rank 2 of the cluster, which has 2 CTAs"), "{e}");
    let e = error("mapa.u64 %rd3, %rd0, 1; ld.u32 %r4, [%rd3];");
    assert!(e.contains("of the cluster, which has 2 CTAs"), "{e}");
    // Rank 1 ends at once; what rank 0 does late is too late.
    let late = "mov.u32 %r5, 100000; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;";
    let e = error(&format!("{late} atom.shared::cluster.add.u32 %r4, [%r3], 1;"));
    assert!(
        e.contains(
            "updates at 0x2000000, in the shared memory of rank 1 of the cluster, a CTA that has ended"
        ),
        "{e}"
    );
    assert!(e.contains("CTA (0,0,0) thread (0,0,0)"), "{e}");
}

#[test]
fn launches_must_fit_the_kernel() {
    let text = |limits: &str| {
        format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {limits}\n{{ ret; }}\n")
    };
    let launch = |limits: &str, grid: u32, cluster: u32| {
        let mut e = Emulator::new(Options::default());
        let m = e.load(ModuleCode::Ptx(&text(limits))).unwrap();
        let one = |x| Dim3 { x, ..Dim3::default() };
        let config = LaunchConfig { grid: one(grid), cluster: one(cluster), ..LaunchConfig::default() };
        e.launch(m, "k", &config, &[]).map_err(|e| e.message)
    };
    assert!(launch(".reqnctapercluster 2", 4, 1).is_ok());
    assert!(launch(".reqnctapercluster 2", 4, 2).is_ok());
    // Whoever launches it has counted its CTAs.
    assert!(launch(".blocksareclusters .reqntid 1 .reqnctapercluster 2", 4, 1).is_ok());
    assert!(launch(".explicitcluster .maxclusterrank 4", 16, 4).is_ok());
    assert!(launch("", 16, 16).is_ok());
    let wrong = [
        (".reqnctapercluster 2", 4, 4, "`k`: it must be launched in clusters of (2,1,1) CTAs, not (4,1,1)"),
        (".reqnctapercluster 2", 3, 1, "a grid of (3,1,1) CTAs can't be divided into clusters of (2,1,1)"),
        (".maxclusterrank 4", 16, 8, "a cluster of (8,1,1) CTAs has 8; it may have 1 to 4"),
        ("", 32, 32, "has 32; it may have 1 to 16"),
        ("", 32, 0, "has 0; it may have 1 to 16"),
        (".reqntid 1 .blocksareclusters", 4, 1, "`.blocksareclusters` without `.reqnctapercluster`"),
        (
            ".blocksareclusters .reqntid 1 .reqnctapercluster 2",
            3,
            1,
            "can't be divided into clusters of (2,1,1)",
        ),
    ];
    for (limits, grid, cluster, message) in wrong {
        let e = launch(limits, grid, cluster).unwrap_err();
        assert!(e.contains(message), "{e}");
    }
}

#[test]
fn what_is_sent_comes_late() {
    // Rank 0 sends, then sets a flag; rank 1 sees the flag, and what was sent only under some schedules.
    let c = case(
        "setp.eq.u32 %p1, %r0, 0; mov.u32 %r7, 7; mov.u32 %r8, 0; shl.b32 %r3, %r0, 2; add.u32 %r3, %r1, %r3;
         @%p1 mbarrier.init.shared.b64 [%r1+64], 1;
         @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r1+64], 16; @%p1 st.shared.u32 [%r1+72], %r8; \
         st.shared.u32 [%r3], %r8; MEET
         mapa.shared::cluster.u32 %r4, %r3, 1; mapa.shared::cluster.u32 %r5, %r1, 1; \
         setp.eq.u32 %p2, %r2, 1; @%p2 bra READ;
         st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r7, [%r5+64];
         st.relaxed.cluster.shared::cluster.u32 [%r5+72], %r7; bra OUT;
         READ: ld.volatile.shared.u32 %r9, [%r1+72]; setp.eq.u32 %p3, %r9, 0; @%p3 bra READ;
         ld.volatile.shared.u32 %r9, [%r3]; st.global.u32 [%rd1], %r9;
         WAIT: mbarrier.test_wait.parity.shared.b64 %p4, [%r1+64], 0; @!%p4 bra WAIT;
         OUT: MEET",
        2,
        4,
        2,
    );
    assert_eq!(c.words()[4..], [7; 4], "the fair schedule");
    let seen: Vec<u32> = (1..60).flat_map(|seed| c.seed(seed).unwrap().0[4..].to_vec()).collect();
    assert!(seen.contains(&0) && seen.contains(&7), "{seen:?}");
}
