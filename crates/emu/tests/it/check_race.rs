//! `--check race` on small kernels: what nothing orders is found, with both sides; what something orders is
//! not.

use crate::case::Case;
use prlx_emu::Checks;
use prlx_trace::check::{Check, Finding, Findings, Grade, Kind};

/// Seeds: what is found must not hang on the schedule.
const SEEDS: [u64; 4] = [0, 1, 2, 3];

fn findings(case: &Case, seed: u64) -> Findings {
    let mut case = case.clone();
    case.options.checks = Checks::NONE.with(Check::Race);
    case.checked(seed).1
}

/// The kinds found under every seed, which must be the same.
fn kinds(case: &Case) -> Vec<Kind> {
    let of = |seed| {
        let mut kinds: Vec<Kind> = findings(case, seed).list.iter().map(|f| f.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    let first = of(0);
    for seed in SEEDS {
        assert_eq!(of(seed), first, "seed {seed}: {:#?}", findings(case, seed));
    }
    first
}

fn clean(case: &Case) {
    for seed in SEEDS {
        let found = findings(case, seed);
        assert!(found.list.is_empty(), "seed {seed}: {found:#?}");
    }
}

fn racy(case: &Case) -> Finding {
    assert_eq!(kinds(case), [Kind::Race]);
    findings(case, 0).list[0].clone()
}

/// Every thread writes its word of `tile` and, after `between`, reads that of thread `tid ^ with`.
fn exchange(with: u32, between: &str) -> Case {
    let body = format!(
        ".shared .align 4 .b8 tile[256];\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, 4, %r1;\nxor.b32 %r3, %r0, {with};\n\
         mad.lo.u32 %r3, %r3, 4, %r1;\nst.shared.u32 [%r2], %r0;\n{between}\nld.shared.u32 %r4, [%r3];\nst.global.u32 [%rd1], %r4;"
    );
    Case::new(&body).shape(1, 64)
}

#[test]
fn barriers_of_the_cta() {
    let f = racy(&exchange(32, ""));
    let text = |i: usize| f.sides[i].place.as_ref().map(|p| p.instruction.clone()).unwrap();
    // Warp 0 ran first: it had read before warp 1 wrote.
    assert_eq!(
        (text(0).as_str(), text(1).as_str()),
        ("st.shared.u32 [%r2], %r0;", "ld.shared.u32 %r4, [%r3];")
    );
    assert_eq!(
        f.what,
        "a write of `tile` and a read of another warp touch the same bytes, and nothing orders them"
    );
    assert_eq!((f.sides[0].threads.unwrap().warp, f.sides[1].threads.unwrap().warp), (1, 0));
    clean(&exchange(32, "bar.sync 0;"));
    clean(&exchange(32, "bar.sync 3, 64;"));
    // A warp's own barrier and a fence order no other warp.
    racy(&exchange(32, "bar.warp.sync -1;"));
    racy(&exchange(32, "membar.gl;"));
}

#[test]
fn an_atomic_does_not_hide_the_write_before_it() {
    // Warp 0 writes a word and adds to it; warp 1 adds to it.
    let adds = |between: &str| {
        let body = format!(
            ".shared .align 4 .b8 tile[4];\nmov.u32 %r1, tile;\nsetp.lt.u32 %p1, %r0, 1;\n\
             @%p1 st.shared.u32 [%r1], 0;\n{between}\natom.shared.add.u32 %r2, [%r1], 1;"
        );
        Case::new(&body).shape(1, 64)
    };
    let f = racy(&adds(""));
    assert!(f.what.starts_with("an atomic of `tile` and a write of another"), "{}", f.what);
    clean(&adds("bar.sync 0;"));
    // In one thread, program order is enough.
    let own = adds("").body.replace("atom", "@%p1 atom");
    clean(&Case::new(&own).shape(1, 64));
}

#[test]
fn lanes_of_a_warp() {
    let f = racy(&exchange(1, ""));
    assert!(f.what.contains("of another lane of the warp"), "{}", f.what);
    racy(&exchange(1, "shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;"));
    clean(&exchange(1, "bar.warp.sync -1;"));
    // Pairs of lanes that synchronise among themselves.
    let pairs = "and.b32 %r5, %r0, 30;\nshl.b32 %r5, 3, %r5;\nbar.warp.sync %r5;";
    clean(&exchange(1, pairs));
    racy(&exchange(2, pairs));
}

#[test]
fn the_next_round_overwrites_what_is_read() {
    let round = |end: &str| {
        let body = format!(
            ".shared .align 4 .b8 tile[256];\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, 4, %r1;\nxor.b32 %r3, %r0, 32;\n\
             mad.lo.u32 %r3, %r3, 4, %r1;\nmov.u32 %r5, 0;\nLOOP:\nst.shared.u32 [%r2], %r5;\nbar.sync 0;\n\
             ld.shared.u32 %r4, [%r3];\n{end}add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 3;\n@%p1 bra LOOP;\nst.global.u32 [%rd1], %r4;"
        );
        Case::new(&body).shape(1, 64)
    };
    racy(&round(""));
    clean(&round("bar.sync 0;\n"));
}

#[test]
fn several_lanes_store_to_one_address() {
    let f = racy(&Case::new("st.global.u32 [%rd0], %r0;"));
    assert_eq!(f.what, "lanes of a warp write different values to the same 4 bytes at once");
    assert!(f.help.unwrap().contains("let one lane write"));
    // Triton's reductions store to shared memory.
    let body = ".shared .align 4 .b8 tile[4];\n.loc 1 4 1\nst.shared.u32 [tile], %r0;";
    let f = racy(&Case::new(body).module(".file 1 \"k.py\""));
    assert!(f.help.unwrap().contains("the same bits if they change places"));
    let same = Case::new("mov.u32 %r1, 7;\nst.global.u32 [%rd0], %r1;").shape(2, 64);
    assert_eq!(kinds(&same), [Kind::SameValue]);
    assert_eq!(findings(&same, 0).errors(), 0);
}

/// Two warps store the same matrix to the same place, as Triton does where there are more warps than data.
#[test]
fn matrices_that_are_there_already() {
    let store = |value: &str, store: &str| {
        let body = format!(
            ".shared .align 16 .b8 tile[2048];\nand.b32 %r1, %r0, 31;\nmov.b32 %r2, {value};\n\
             shl.b32 %r3, %r1, 4;\nmov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\nmov.u32 %r5, 8;\n{store}"
        );
        Case::new(&body).shape(1, 64)
    };
    let stores = [
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r2,%r1,%r2,%r1};",
        "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r3], {%r1,%r2};",
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r4], {%r1,%r2,%r2,%r1}, %r6;",
        "mov.b64 %rd2, {%r2, %r1};\nmov.b128 %wide, {%rd2, %rd2};\nst.shared.b128 [%r3], %wide;",
    ];
    for text in stores {
        let text = match text.contains("%wide") {
            true => format!(".reg .b128 %wide;\n{text}"),
            false => text.replace("%r6", "16"),
        };
        assert_eq!(kinds(&store("%r1", &text)), [Kind::SameValue], "{text}");
        // Parts of it may be the same.
        assert!(kinds(&store("%r0", &text)).contains(&Kind::Race), "{text}");
    }
}

#[test]
fn bytes_next_to_each_other_do_not_meet() {
    let body = "cvt.u64.u32 %rd2, %r0;\nadd.u64 %rd2, %rd2, %rd0;\nst.global.u8 [%rd2], %r0;";
    clean(&Case::new(body));
    racy(&Case::new(
        "shr.u32 %r1, %r0, 1;\ncvt.u64.u32 %rd2, %r1;\nadd.u64 %rd2, %rd2, %rd0;\nst.global.u8 [%rd2], %r0;",
    ));
}

/// Thread 0 of CTA 0 writes the data and then the flag; thread 0 of CTA 1 waits for the flag and then reads
/// the data.
fn message(data: &str, flag: &str, wait: &str, after: &str) -> Case {
    let body = format!(
        "setp.ne.u32 %p1, %r0, 0;\n@%p1 ret;\nmov.u32 %r2, 1;\nsetp.ne.u32 %p2, %r61, 0;\n@%p2 bra READ;\n\
         st.global.u32 [%rd0], 42;\n{data}\n{flag}\nret;\nREAD:\n{wait}\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 \
         bra READ;\n{after}\n\
         ld.global.u32 %r4, [%rd0];\nst.global.u32 [%rd0+8], %r4;"
    );
    Case::new(&body).shape(2, 32)
}

const FLAG: &str = "st.relaxed.gpu.global.u32 [%rd0+4], %r2;";
const WAIT: &str = "ld.relaxed.gpu.global.u32 %r3, [%rd0+4];";

#[test]
fn fences_and_flags() {
    clean(&message("fence.acq_rel.gpu;", FLAG, WAIT, "fence.acq_rel.gpu;"));
    clean(&message(
        "membar.gl;",
        "st.volatile.global.u32 [%rd0+4], %r2;",
        "ld.volatile.global.u32 %r3, [%rd0+4];",
        "membar.gl;",
    ));
    clean(&message(
        "",
        "st.release.gpu.global.u32 [%rd0+4], %r2;",
        "ld.acquire.gpu.global.u32 %r3, [%rd0+4];",
        "",
    ));
    clean(&message(
        "membar.gl;",
        "atom.global.exch.b32 %r5, [%rd0+4], 1;",
        "atom.acquire.gpu.global.add.u32 %r3, [%rd0+4], 0;",
        "",
    ));
    // One fence is missing, on either side.
    racy(&message("", FLAG, WAIT, "fence.acq_rel.gpu;"));
    racy(&message("fence.acq_rel.gpu;", FLAG, WAIT, ""));
    // The scopes do not hold both.
    racy(&message("fence.acq_rel.cta;", FLAG, WAIT, "fence.acq_rel.gpu;"));
    racy(&message("fence.acq_rel.gpu;", FLAG, WAIT, "fence.acq_rel.cta;"));
    let f = racy(&message(
        "",
        "st.release.cta.global.u32 [%rd0+4], %r2;",
        "ld.acquire.gpu.global.u32 %r3, [%rd0+4];",
        "",
    ));
    assert!(f.sides.len() == 2);
}

#[test]
fn atomics() {
    clean(&Case::new("red.global.add.u32 [%rd0], 1;").shape(3, 64));
    let f = racy(&Case::new("red.cta.global.add.u32 [%rd0], 1;").shape(2, 32));
    assert!(f.what.ends_with("whose scope is only the CTA"), "{}", f.what);
    clean(&Case::new("red.cta.global.add.u32 [%rd0], 1;").shape(1, 64));
    racy(&Case::new("red.global.add.u32 [%rd0], 1;\nld.global.u32 %r1, [%rd0];").shape(1, 64));
    clean(&Case::new("red.global.add.u32 [%rd0], 1;\nld.volatile.global.u32 %r1, [%rd0];").shape(1, 64));
}

#[test]
fn a_lock() {
    let lock = |enter: &str, leave: &str| {
        let body = format!(
            "setp.ne.u32 %p1, %r0, 0;\n@%p1 ret;\nAGAIN:\natom.global.cas.b32 %r1, [%rd0], 0, 1;\nsetp.ne.u32 %p2, %r1, 0;\n\
             @%p2 bra AGAIN;\n{enter}\nld.global.u32 %r2, [%rd0+4];\nadd.u32 %r2, %r2, 1;\nst.global.u32 \
             [%rd0+4], %r2;\n{leave}\n\
             atom.global.exch.b32 %r3, [%rd0], 0;"
        );
        Case::new(&body).shape(3, 32)
    };
    clean(&lock("membar.gl;", "membar.gl;"));
    assert!(kinds(&lock("", "membar.gl;")).contains(&Kind::Race));
    assert!(kinds(&lock("membar.gl;", "")).contains(&Kind::Race));
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Warp 0 fills the tile and arrives; warp 1 waits and reads.
    let case = |arrive: &str| {
        let body = format!(
            ".shared .align 4 .b8 tile[128];\nmov.u32 %r1, tile;\nand.b32 %r2, %r0, 31;\nmad.lo.u32 %r2, %r2, 4, %r1;\n\
             setp.ge.u32 %p1, %r0, 32;\n@%p1 bra READ;\nst.shared.u32 [%r2], %r0;\nbar.arrive 1, \
             64;\n{arrive}ret;\n\
             READ:\nbar.sync 1, 64;\nld.shared.u32 %r4, [%r2];\nst.global.u32 [%rd1], %r4;"
        );
        Case::new(&body).shape(1, 64)
    };
    clean(&case(""));
    // What it does after it arrived is not ordered.
    racy(&case("st.shared.u32 [%r2], %r0;\n"));
}

#[test]
fn a_last_cta_adds_up_what_the_others_left() {
    let case = |fence: &str| {
        let body = format!(
            ".shared .align 4 .b8 last[4];\nst.global.u32 [%rd1], %r63;\n{fence}\nbar.sync 0;\nsetp.ne.u32 %p1, %r0, 0;\n\
             @%p1 bra MEET;\natom.global.add.u32 %r1, [%rd0+512], 1;\n{fence}\nst.shared.u32 [last], \
             %r1;\nMEET:\nbar.sync 0;\n\
             ld.shared.u32 %r1, [last];\nsetp.ne.u32 %p2, %r1, 1;\n@%p2 ret;\nmul.wide.u32 %rd3, %r0, \
             4;\nadd.u64 %rd3, %rd3, %rd0;\n\
             ld.global.u32 %r2, [%rd3];\nld.global.u32 %r3, [%rd3+256];"
        );
        let mut case = Case::new(&body).shape(2, 64);
        case.words.resize(256, 0);
        case
    };
    clean(&case("membar.gl;"));
    racy(&case(""));
}

#[test]
fn barriers_of_the_cluster() {
    // Each CTA writes its word of shared memory, and reads that of the other CTA and of its own next warp
    // behind the barrier.
    let case = |before: &str, arrive: &str| {
        let meet = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;";
        let body = format!(
            ".shared .align 4 .b8 tile[256];\nmov.u32 %r1, tile;\nmov.u32 %r2, %cluster_ctarank;\nxor.b32 %r2, %r2, 1;\n\
             xor.b32 %r3, %r0, 32;\nmad.lo.u32 %r4, %r0, 4, %r1;\nmad.lo.u32 %r3, %r3, 4, %r1;\n\
             mapa.shared::cluster.u32 %r5, %r4, %r2;\nst.shared.u32 [%r4], \
             %r0;\n{before}\nbarrier.cluster.{arrive};\n\
             barrier.cluster.wait.acquire;\nld.shared::cluster.u32 %r6, [%r5];\nld.shared.u32 %r7, [%r3];\n\
             add.u32 %r6, %r6, %r7;\nst.global.u32 [%rd1], %r6;\n{meet}"
        );
        Case { cluster: 2, ..Case::new(&body).shape(2, 64) }
    };
    clean(&case("", "arrive"));
    clean(&case("", "arrive.release"));
    let both = findings(&case("", "arrive.relaxed"), 0);
    let of: Vec<&str> = both.list.iter().map(|f| f.what.split(" touch").next().unwrap()).collect();
    assert!(
        of.iter().any(|w| w.ends_with("of another CTA")) && of.iter().any(|w| w.ends_with("of another warp")),
        "{of:?}"
    );
    racy(&case("", "arrive.relaxed"));
    // A fence of the cluster's scope before it makes it a release; one of the CTA's does so for its CTA
    // alone.
    clean(&case("fence.acq_rel.cluster;", "arrive.relaxed"));
    let narrow = findings(&case("fence.acq_rel.cta;", "arrive.relaxed"), 0);
    let of: Vec<&str> = narrow.list.iter().map(|f| f.what.split(" touch").next().unwrap()).collect();
    assert!(!of.is_empty() && of.iter().all(|w| w.ends_with("of another CTA")), "{of:?}");
}

/// Adds to one word by a loop around a compare-and-swap. `read`: the first read; `use_it`: what else happens
/// to its value.
fn swap_loop(read: &str, use_it: &str, repeat: &str) -> Case {
    let body = format!(
        "{read}.global.u32 %r2, [%rd0];\nL: add.u32 %r3, %r2, 5;\n{use_it}\n\
         atom.global.cas.b32 %r4, [%rd0], %r2, %r3;\nsetp.ne.u32 %p1, %r4, %r2;\nmov.u32 %r2, %r4;\n{repeat}"
    );
    Case::new(&body).shape(2, 64)
}

#[test]
fn a_read_that_a_compare_and_swap_checks_is_no_race() {
    clean(&swap_loop("ld", "", "@%p1 bra L;"));
    // Without a second try its effect is lost; its value decides something; it is stored.
    racy(&swap_loop("ld", "", ""));
    racy(&swap_loop("ld", "setp.gt.u32 %p2, %r2, 100;\n@%p2 exit;", "@%p1 bra L;"));
    racy(&swap_loop("ld", "setp.ne.u32 %p2, %r1, 0;\n@%p2 st.global.u32 [%rd1], %r2;", "@%p1 bra L;"));
}

#[test]
fn volatile_orders_no_data() {
    let volatile =
        |case: Case| Case { body: case.body.replace(".shared.u32", ".volatile.shared.u32"), ..case };
    for with in [1, 32] {
        let f = racy(&volatile(exchange(with, "")));
        assert!(["a volatile write", "a volatile read"].iter().all(|w| f.what.contains(w)), "{}", f.what);
        clean(&volatile(exchange(with, "bar.sync 0;")));
    }
    clean(&volatile(exchange(1, "bar.warp.sync -1;")));
    // In global memory programs may mean it, as in asynchronous iterations: a note.
    let global = "mov.u32 %r2, 7;\nadd.u32 %r2, %r2, %r0;\nst.volatile.global.u32 [%rd1], %r2;\nxor.b32 %r3, %r0, 32;\n\
        mul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd2, %rd0, %rd2;\nld.volatile.global.u32 %r4, [%rd2];";
    assert_eq!(kinds(&Case::new(global).shape(1, 64)), [Kind::VolatileData]);
    assert_eq!(Kind::VolatileData.grade(), Grade::Note);
}

#[test]
fn volatile_flags_are_polled() {
    let producer = "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra WAIT;\nst.global.u32 [%rd0+4], 5;\nmembar.gl;\n\
        st.volatile.global.u32 [%rd0], 1;\nbra END;\n";
    // A loop that waits; a test before a fence; a fence right after the read.
    for wait in [
        "WAIT:\nld.volatile.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\nmembar.gl;\n",
        "WAIT:\nld.volatile.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\nmembar.gl;\n",
        "WAIT:\nld.volatile.global.u32 %r2, [%rd0];\nmembar.gl;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\n",
    ] {
        let body = format!("{producer}{wait}ld.global.u32 %r3, [%rd0+4];\nEND:");
        let mut case = Case::new(&body).shape(1, 64);
        case.words[0] = 0;
        clean(&case);
    }
    // The same value again, and a vote for the last writer.
    clean(&Case::new(
        ".shared .align 4 .b32 any;\nst.volatile.shared.u32 [any], %r0;\nbar.sync 0;\nld.volatile.shared.u32 %r1, [any];",
    ));
}

/// Thread 0 writes what all threads read.
fn broadcast(location: &str) -> Case {
    let body = format!(
        ".shared .align 4 .b32 word;\n{location}\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 bra READ;\nst.shared.u32 [word], 7;\n\
         READ: ld.shared.u32 %r1, [word];\nst.global.u32 [%rd1], %r1;"
    );
    Case::new(&body).module(".file 1 \"k.py\"\n.file 2 \"k.cu\"")
}

#[test]
fn the_widest_reach_decides_the_remedy() {
    let help = |case: &Case| SEEDS.map(|seed| findings(case, seed).list[0].help.clone().unwrap());
    let has = |all: [String; 4], what: &str| assert!(all.iter().all(|h| h.contains(what)), "{all:?}");
    has(help(&broadcast("")), "`__syncwarp()`");
    has(help(&broadcast("").shape(1, 64)), "`__syncthreads()`");
    has(help(&broadcast(".loc 1 4 1").shape(1, 64)), "`tl.debug_barrier()`");
    has(help(&broadcast(".loc 2 4 1").shape(1, 64)), "`__syncthreads()`");
    // Kernels of Numba have its name in theirs.
    let numba = |case: Case| case.kernel("_ZN6cudapy8__main__3addB2v1Ev");
    has(help(&numba(broadcast(".loc 1 4 1"))), "`cuda.syncwarp()`");
    has(help(&numba(broadcast(".loc 1 4 1").shape(1, 64))), "`cuda.syncthreads()`");
    let f = &findings(&broadcast("").shape(1, 64), 0).list[0];
    assert!(f.what.contains("of another warp"), "{}", f.what);
}

#[test]
fn a_barrier_does_not_wait_for_a_copy() {
    let body = ".shared .align 16 .b8 tile[512];\nmul.lo.u32 %r1, %r0, 16;\nmov.u32 %r2, tile;\nadd.u32 %r1, %r1, %r2;\n\
        cp.async.ca.shared.global [%r1], [%rd0], 16;\nld.shared.u32 %r3, [tile];\nst.global.u32 [%rd1], %r3;";
    let f = racy(&Case::new(body));
    assert!(f.help.as_ref().unwrap().starts_with("wait until the copy is complete"), "{:?}", f.help);
}

/// 128 threads compute `words[tid % 32]` in place, as Triton compiles it. `stores` sets `%p1`: the threads
/// that store.
fn in_place(stores: &str, use_it: &str) -> Case {
    let body = format!(
        "and.b32 %r1, %r0, 31;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd2, %rd0;\n\
         ld.global.u32 %r2, [%rd2];\n{use_it}\nadd.u32 %r3, %r2, 1;\n{stores}\n@%p1 st.global.u32 [%rd2], %r3;"
    );
    Case::new(&body).shape(1, 128)
}

#[test]
fn a_value_that_its_thread_drops_is_no_race() {
    let first_warp = "and.b32 %r5, %r0, 96;\nsetp.eq.b32 %p1, %r5, 0;";
    clean(&in_place(first_warp, ""));
    let first_lanes = "setp.lt.u32 %p1, %r0, 32;";
    clean(&in_place(first_lanes, ""));
    // A reduction over the warp.
    clean(&in_place(first_warp, "shfl.sync.bfly.b32 %r6, %r2, 16, 31, -1;\nadd.u32 %r2, %r2, %r6;"));
    // A mask that the value decides, in the threads that may store.
    let masked = "and.b32 %r5, %r0, 96;\nsetp.eq.b32 %p2, %r5, 0;\nsetp.lt.u32 %p3, %r2, 9;\n\
                  and.pred %p4, %p2, %p3;\nsetp.lt.u32 %p5, %r0, 1000;\nand.pred %p1, %p5, %p4;";
    clean(&in_place(masked, ""));
}

#[test]
fn a_value_that_its_thread_uses_is_a_race() {
    let first_warp = "and.b32 %r5, %r0, 96;\nsetp.eq.b32 %p1, %r5, 0;";
    for use_it in [
        // Another store, an address, a branch, a guard, an atomic, the carry flag.
        "st.global.u32 [%rd1], %r2;",
        "and.b32 %r6, %r2, 28;\ncvt.u64.u32 %rd3, %r6;\nadd.u64 %rd3, %rd3, %rd0;\nld.const.u32 %r7, [c];\n\
         prefetch.global.L1 [%rd3];",
        "setp.gt.u32 %p3, %r2, 1000;\n@%p3 bra AWAY;\nAWAY:",
        "setp.lt.u32 %p3, %r2, 1000;\n@%p3 red.global.add.u32 [%rd1], 0;",
        "setp.gt.u32 %p3, %r2, 1000;\n@%p3 st.global.u32 [%rd1], 0;",
        "add.cc.u32 %r6, %r2, 1;",
    ] {
        let case = in_place(first_warp, use_it).module(".const .u32 c = 1;");
        assert!(kinds(&case).contains(&Kind::Race), "{use_it}");
    }
    // Two warps store the value, one of them elsewhere.
    let f = racy(&in_place(
        "setp.lt.u32 %p1, %r0, 64;\nsetp.ge.u32 %p2, %r0, 32;\n@%p2 add.u64 %rd2, %rd2, 128;",
        "",
    ));
    assert_eq!(f.what.matches("of another warp").count(), 1, "{f:#?}");
    // Of the other half of a warp, exchanges bring the values to the half that stores.
    let half = "and.b32 %r1, %r0, 15;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd2, %rd0;\n\
                ld.global.u32 %r2, [%rd2];\nshfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;\n\
                setp.lt.u32 %p1, %r0, 16;\n\
                @%p1 st.global.u32 [%rd2], %r3;";
    racy(&Case::new(half));
}
