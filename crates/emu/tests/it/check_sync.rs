//! `--check sync` reports threads that wait forever, and not threads that only wait long.

use crate::case::Case;
use prlx_driver::ErrorKind;
use prlx_trace::check::{Grade, Kind};

fn clean(case: &Case) {
    for seed in [0, 1, 2] {
        let (found, end) = case.sync_check(seed);
        assert!(found.list.is_empty() && end.is_none(), "seed {seed}: {end:?} {found:#?}");
    }
}

/// The deadlock that is found under every seed: what it says under seed 0, and what its sides wait for.
fn deadlock(case: &Case) -> (String, Vec<String>) {
    for seed in [0, 1, 2] {
        let (found, end) = case.sync_check(seed);
        assert_eq!((found.list.len(), end), (1, Some(ErrorKind::Stuck)), "seed {seed}: {found:#?}");
        assert_eq!(found.list[0].kind, Kind::Deadlock);
    }
    let f = case.sync_check(0).0.list.remove(0);
    (f.what, f.sides.into_iter().map(|s| s.role).collect())
}

/// Warp 0 waits at an mbarrier for warp 1, which does `before`, arrives, and ends.
fn handshake(before: &str) -> Case {
    let body = format!(
        ".shared .align 8 .b64 bar;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\n\
         setp.ge.u32 %p2, %r0, 32;\n@%p2 bra TELL;\n\
         WAIT: mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra WAIT;\nbra OUT;\n\
         TELL: {before}\nmbarrier.arrive.shared.b64 %rd2, [bar];\nOUT:"
    );
    Case::new(&body).shape(1, 64)
}

#[test]
fn waiting_long_is_no_fault() {
    // So long that warp 0 has asked often enough to look lost when warp 1 arrives and ends in one turn.
    clean(&handshake(
        "mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p4, %r1, 600000;\n@%p4 bra LOOP;",
    ));
    // A wait that gives up.
    let gives_up = "mov.u32 %r1, 0;\nLOOP: ld.volatile.global.u32 %r2, [%rd1];\nadd.u32 %r1, %r1, 1;\n\
         setp.lt.u32 %p1, %r1, 20000;\n@%p1 bra LOOP;";
    clean(&Case::new(gives_up).shape(2, 32));
    // A flag that another CTA sets late.
    let flag = "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 bra TELL;\n\
         WAIT: ld.volatile.global.u32 %r3, [%rd0];\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra WAIT;\nbra OUT;\n\
         TELL: mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p4, %r1, 300000;\n@%p4 bra LOOP;\n\
         st.volatile.global.u32 [%rd0], 1;\nOUT:";
    clean(&Case::new(flag).shape(2, 32));
}

#[test]
fn words_that_nobody_changes() {
    let spin = |at: &str| {
        Case::new(&format!(
            ".shared .align 8 .b64 word;\nmov.u32 %r1, word;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u64 [word], 0;\nbar.sync 0;\n\
             @!%p1 bra OUT;\nWAIT: {at};\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra WAIT;\nOUT: bar.sync 0;"
        ))
        .shape(1, 64)
    };
    let (what, sides) = deadlock(&spin("ld.volatile.shared.u32 %r3, [word]"));
    assert_eq!(
        what,
        "no thread of CTA (0,0,0) can continue: 3 groups of lanes wait for an event that never comes"
    );
    let wants = "waits for a change of 4 bytes of shared memory at 0x0 (`word` + 0), which hold 0x0";
    let others = "waits for all 64 threads at barrier 0, where 63 have come, as does one more group of lanes";
    assert_eq!(sides, [wants, others]);
    // Atomics that change nothing ask, too; those that count do not.
    deadlock(&spin("atom.shared.cas.b32 %r3, [word], 5, 6"));
    deadlock(&spin("atom.shared.or.b32 %r3, [word], 0"));
    clean(&spin("atom.shared.inc.u32 %r3, [word], 100000"));
    // In global memory, and asked by a word that a debug build keeps in local memory.
    deadlock(&spin("ld.relaxed.gpu.global.u32 %r3, [%rd1]"));
    deadlock(&spin(
        "ld.acquire.sys.u32 %r3, [%rd1];\n.local .align 4 .b8 kept[4];\nst.local.u32 [kept], %r3",
    ));
}

#[test]
fn deadlocks_end_a_launch_without_checks() {
    let loops = [
        "L: bra L;",
        "L: ld.volatile.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;",
        "L: ld.global.u32 %r2, [%rd0];\nsetp.ne.u32 %p1, %r2, 0;\nvote.sync.any.pred %p2, %p1, -1;\n@!%p2 bra L;",
        ".shared .align 4 .b8 kept[4];\nL: bar.sync 0;\natom.global.cas.b32 %r2, [%rd0], 5, 6;\n\
         st.shared.u32 [kept], %r2;\nbar.sync 0;\nld.shared.u32 %r3, [kept];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra L;",
    ];
    // An ordinary load need not wait for anything.
    let endless = "are in a loop that never ends";
    let waits = "wait for each other";
    for (body, what) in loops.into_iter().zip([endless, waits, endless, waits]) {
        let mut case = Case { words: vec![0], ..Case::new(body).shape(2, 64) };
        case.options.max_steps = 2_000_000_000;
        let e = case.error();
        assert!(e.kind == ErrorKind::Stuck && e.message.contains(what), "{body}: {e}");
    }
}

#[test]
fn ctas_that_have_not_begun_may_help() {
    // Every CTA waits for the one after it, and more wait than may be under way at once: no thread can go on
    // here.
    let chain = "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\nsub.u32 %r3, %r3, 1;\nsetp.eq.u32 %p1, %r2, %r3;\n\
         @%p1 bra TELL;\nadd.u32 %r4, %r2, 1;\nmad.wide.u32 %rd2, %r4, 128, %rd0;\n\
         WAIT: ld.volatile.global.u32 %r5, [%rd2];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra WAIT;\n\
         TELL: mad.wide.u32 %rd2, %r2, 128, %rd0;\nst.volatile.global.u32 [%rd2], 1;";
    clean(&Case::new(chain).shape(40, 32));
    let (what, _) = deadlock(&Case::new(chain).shape(300, 32));
    assert_eq!(
        what,
        "no thread of the grid (44 CTAs have not begun) can continue: 256 groups of lanes wait for an event that never comes"
    );
}

/// What a shuffle finds whose lanes read from `from` lanes above, under a mask.
fn shuffle(before: &str, mask: &str, threads: u32) -> Vec<String> {
    let body = format!("{before}\nshfl.sync.down.b32 %r2, %r0, 8, 31, {mask};");
    let (found, _) = Case::new(&body).shape(1, threads).sync_check(0);
    found.list.into_iter().filter(|f| f.kind == Kind::InactiveLane).map(|f| f.what).collect()
}

#[test]
fn lanes_that_a_shuffle_cannot_read() {
    assert_eq!(
        shuffle("", "-1", 17),
        ["lanes 9-16 read from lanes 17-24, which do not exist in a CTA of 17 threads"]
    );
    let leave = "setp.ge.u32 %p1, %r0, 16;\n@%p1 exit;";
    assert_eq!(shuffle(leave, "-1", 32), ["lanes 8-15 read from lanes 16-23, which have ended"]);
    let apart = "setp.ge.u32 %p1, %r0, 16;\n@%p1 bra OUT;";
    let masked = format!("{apart}\nshfl.sync.down.b32 %r2, %r0, 8, 31, 0xffff;\nOUT: bar.sync 0;");
    let (found, _) = Case::new(&masked).sync_check(0);
    assert_eq!(
        found.list[0].what,
        "lanes 8-15 read from lanes 16-23, which the mask 0x0000ffff does not include"
    );
    // Two reasons at once.
    assert_eq!(
        shuffle("setp.eq.u32 %p1, %r0, 16;\n@%p1 exit;", "-1", 20),
        ["lanes 8, 12-15, 17-19 read from lanes 16, 20-23, 25-27: \
             lanes 20-23, 25-27 do not exist in a CTA of 20 threads, lane 16 has ended"]
    );
    assert!(shuffle("", "-1", 32).is_empty());
}

#[test]
fn a_barrier_in_two_lines() {
    let meets = |line: u32, name: &str| {
        let body = format!(
            ".loc 1 3 1\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra ELSE;\n.loc 1 8 5\nbar.sync {name};\nbra OUT;\n\
             ELSE:\n.loc 1 {line} 5\nbar.sync {name};\nOUT:"
        );
        Case::new(&body).module(".file 1 \"k.cu\"").shape(1, 64).sync_check(0).0.list
    };
    let found = meets(15, "0");
    assert_eq!((found.len(), found[0].kind, found[0].kind.grade()), (1, Kind::BarrierMeets, Grade::Note));
    assert_eq!(
        found[0].what,
        "barrier 0 in line 8 meets warps that wait in line 15: neither waits for all threads"
    );
    assert!(meets(8, "0").is_empty(), "one line that the compiler copied");
    assert!(meets(15, "1, 64").is_empty(), "a named barrier is a handshake");
}
