//! Loops that wait forever although they count, write or sleep; and loops that look like them and end.

use crate::case::Case;
use prlx_driver::ErrorKind;
use prlx_trace::check::Kind;

/// Two CTAs of two warps with a buffer of 128 words: word 0 is 1, the others are 0.
fn case(body: &str) -> Case {
    let mut case = Case::new(body).shape(2, 64);
    case.words[0] = 1;
    case
}

/// What the sides of the deadlock wait for, which every seed finds.
fn waits(body: &str) -> Vec<String> {
    for seed in [0, 1, 2, 3] {
        let (found, end) = case(body).sync_check(seed);
        let kinds: Vec<_> = found.list.iter().map(|f| f.kind).collect();
        assert_eq!((kinds, end), (vec![Kind::Deadlock], Some(ErrorKind::Stuck)), "seed {seed}: {body}");
    }
    case(body).sync_check(0).0.list.remove(0).sides.into_iter().map(|side| side.role).collect()
}

fn waits_for(what: &str, body: &str) {
    let roles = waits(body);
    assert!(roles[0].starts_with(what), "{roles:?}\n{body}");
}

fn ends(body: &str) {
    ends_with(&case(body));
}

fn ends_with(case: &Case) {
    for seed in [0, 1, 2, 3, 4, 5] {
        let (found, end) = case.sync_check(seed);
        assert!(found.list.is_empty() && end.is_none(), "seed {seed}: {end:?} {found:#?}\n{}", case.text());
    }
}

/// Word 0 is 1, so that this compare-and-swap fails; it waits in vain.
const LOCK: &str =
    "waits for a change of 4 bytes of global memory at 0x7f2000000000 (`words` + 0), which hold 0x1";
/// Word 1 is 0 and stays 0.
const FLAG: &str =
    "waits for a change of 4 bytes of global memory at 0x7f2000000004 (`words` + 4), which hold 0x0";

#[test]
fn loops_that_count_wait_too() {
    let cas = "atom.global.cas.b32 %r2, [%rd0], 0, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra OUT;";
    let out = "bra L;\nOUT: st.global.u32 [%rd0+8], %r3;";
    waits_for(LOCK, &format!("mov.u32 %r3, 0;\nL: {cas}\nadd.u32 %r3, %r3, 1;\n{out}"));
    // The value to swap in counts as well.
    let swaps = "mov.u32 %r3, 2;\nL: atom.global.cas.b32 %r2, [%rd0], 0, %r3;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra OUT;\n\
                 add.u32 %r3, %r3, 1;\nbra L;\nOUT:";
    waits_for(LOCK, swaps);
    // 64 bits in two halves.
    let wide = "mov.u32 %r3, 0;\nmov.u32 %r4, 0;\nL: add.cc.u32 %r3, %r3, 0x40000000;\naddc.u32 %r4, %r4, 0;";
    waits_for(LOCK, &format!("{wide}\n{cas}\n{out}"));
    // A debug build keeps the counter in local memory.
    let local = ".local .align 4 .b8 kept[4];\nmov.u32 %r3, 0;\nst.local.u32 [kept], %r3;\n\
                 L: ld.local.u32 %r4, [kept];\nadd.u32 %r4, %r4, 1;\nst.local.u32 [kept], %r4;";
    waits_for(LOCK, &format!("{local}\n{cas}\n{out}"));
}

#[test]
fn loops_that_write_wait_too() {
    let poll = "ld.volatile.global.u32 %r2, [%rd0+4];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;";
    for each in [
        "red.global.add.u32 [%rd0+8], 1;",
        "atom.global.add.u32 %r5, [%rd0+8], 1;",
        "add.u32 %r5, %r5, 1;\nst.global.u32 [%rd1+256], %r5;",
        // The same value goes to the word that is polled.
        "mov.u32 %r6, 0;\nst.volatile.global.u32 [%rd0+4], %r6;\nred.global.add.u32 [%rd0+8], 1;",
        "atom.global.or.b32 %r6, [%rd0+4], 0;\nadd.u32 %r5, %r5, 1;",
    ] {
        let body = format!("mov.u32 %r5, 0;\nL: {each}\n{poll}");
        let mut case = case(&body);
        case.words.resize(256, 0);
        let (found, end) = case.sync_check(0);
        assert!(end == Some(ErrorKind::Stuck) && found.list.len() == 1, "{body}: {end:?} {found:#?}");
        let role = &found.list[0].sides[0].role;
        assert!(role.starts_with(FLAG), "{body}: {role}");
    }
    // One thread polls and counts, and hands on what it read.
    let hand_on = ".shared .align 4 .b8 word[8];\nsetp.eq.u32 %p2, %r0, 0;\nmov.u32 %r5, 0;\n\
        L: bar.sync 0;\n@!%p2 bra REST;\natom.global.cas.b32 %r2, [%rd0], 0, 1;\nst.shared.u32 [word], %r2;\n\
        add.u32 %r5, %r5, 1;\nst.shared.u32 [word+4], %r5;\nREST: bar.sync 0;\nld.shared.u32 %r3, [word];\n\
        setp.ne.u32 %p1, %r3, 0;\n@%p1 bra L;";
    let roles = waits(hand_on);
    let word = "waits for a change of 4 bytes of shared memory at 0x0 (`word` + 0), which hold 0x1";
    assert!([LOCK, word].iter().all(|what| roles.iter().any(|role| role.starts_with(what))), "{roles:?}");
}

#[test]
fn loops_that_sleep_wait_too() {
    let poll = "ld.volatile.global.u32 %r2, [%rd0+4];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;";
    let doubles = "mov.u32 %r5, 8;\nL: nanosleep.u32 %r5;\nshl.b32 %r5, %r5, 1;";
    waits_for(FLAG, &format!("{doubles}\n{poll}"));
    let clock = "L: mov.u64 %rd5, %clock64;\nC: mov.u64 %rd6, %clock64;\nsub.u64 %rd7, %rd6, %rd5;\n\
                 setp.lt.u64 %p3, %rd7, 90;\n@%p3 bra C;";
    waits_for(FLAG, &format!("{clock}\n{poll}"));
    let counts = "mov.u32 %r7, 0;\nL: add.u32 %r7, %r7, 1;\nmov.u32 %r8, 0;\nC: add.u32 %r8, %r8, 1;\n\
                  and.b32 %r9, %r7, 31;\nsetp.lt.u32 %p3, %r8, %r9;\n@%p3 bra C;";
    waits_for(FLAG, &format!("{counts}\n{poll}"));
}

#[test]
fn loops_that_release_themselves_end() {
    let poll = "ld.volatile.global.u32 %r2, [%rd0+4];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;";
    for each in [
        // The stored value is 0 for a long time.
        "add.u32 %r5, %r5, 1;\nshr.u32 %r6, %r5, 11;\nst.volatile.global.u32 [%rd0+4], %r6;",
        "add.u32 %r5, %r5, 1;\nshr.u32 %r6, %r5, 11;\nred.global.or.b32 [%rd0+4], %r6;",
        "add.u32 %r5, %r5, 1;\nshr.u32 %r6, %r5, 11;\natom.global.cas.b32 %r7, [%rd0+4], 0, %r6;",
        // The store happens once, late.
        "add.u32 %r5, %r5, 1;\nsetp.eq.u32 %p3, %r5, 3000;\n@%p3 st.volatile.global.u32 [%rd0+4], 1;",
        "add.u32 %r5, %r5, 1;\nsetp.ne.u32 %p3, %r5, 3000;\n@%p3 bra M;\nst.volatile.global.u32 [%rd0+4], 1;\nM:",
        // The address of the store comes to the word in the end.
        "sub.u32 %r8, %r8, 4;\ncvt.u64.u32 %rd5, %r8;\nadd.u64 %rd6, %rd0, %rd5;\nst.volatile.global.u32 [%rd6], 1;",
    ] {
        let mut case = case(&format!("mov.u32 %r5, 0;\nmov.u32 %r8, 8192;\nL: {each}\n{poll}"));
        case.words.resize(2048, 0);
        ends_with(&case);
    }
}

#[test]
fn loops_with_a_bounded_counter_end() {
    let count = "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 5000;";
    ends(&format!("mov.u32 %r5, 0;\nL: ld.volatile.global.u32 %r2, [%rd0];\n{count}\n@%p1 bra L;"));
    // Through a guard, a select, a shuffle, the carry flag, and memory.
    ends(&format!(
        "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nL: {count}\n@!%p1 mov.u32 %r6, 1;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra L;"
    ));
    ends(&format!(
        "mov.u32 %r5, 0;\nL: {count}\nselp.u32 %r6, 0, 1, %p1;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra L;"
    ));
    ends(&format!("mov.u32 %r5, 0;\nL: {count}\nvote.sync.any.pred %p2, %p1, -1;\n@%p2 bra L;"));
    ends(
        "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nL: add.cc.u32 %r5, %r5, 0x00100000;\naddc.u32 %r6, %r6, 0;\n\
         setp.lt.u32 %p1, %r6, 1;\n@%p1 bra L;",
    );
    ends(
        ".local .align 4 .b8 kept[4];\nmov.u32 %r5, 0;\nst.local.u32 [kept], %r5;\nL: ld.local.u32 %r6, [kept];\n\
         add.u32 %r7, %r6, 1;\nst.local.u32 [kept], %r7;\nsetp.lt.u32 %p1, %r6, 5000;\n@%p1 bra L;",
    );
    ends("L: atom.global.add.u32 %r5, [%rd0+8], 1;\nsetp.lt.u32 %p1, %r5, 5000;\n@%p1 bra L;");
    // A long inner loop in an outer one: its state is that of an earlier round.
    ends(
        "mov.u32 %r5, 0;\nL: mov.u32 %r6, 0;\nM: add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 100;\n@%p1 bra M;\n\
         add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 60;\n@%p2 bra L;",
    );
    // Both loops have one header, and only the inner one waits for the clock.
    ends(
        "mov.u64 %rd5, %clock64;\nadd.u64 %rd5, %rd5, 20000;\nL: mov.u64 %rd6, %clock64;\nsetp.lt.u64 %p1, %rd6, %rd5;\n\
         @%p1 bra L;\nld.volatile.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;",
    );
    // A function that begins with its loop, called again and again.
    let function = ".func (.reg .u32 out) spin(.reg .u32 n)\n{\n.reg .pred %p<2>;\n\
        L: sub.u32 n, n, 1;\nsetp.ne.u32 %p1, n, 0;\n@%p1 bra L;\nmov.u32 out, n;\nret;\n}\n";
    let calls = "mov.u32 %r5, 0;\nmov.u32 %r7, 100;\nM: call (%r6), spin, (%r7);\nadd.u32 %r5, %r5, 1;\n\
        setp.lt.u32 %p2, %r5, 60;\n@%p2 bra M;";
    ends_with(&case(calls).module(function));
}

#[test]
fn threads_that_another_thread_releases_late_end() {
    // The pollers count, and the other CTA works for a long time before it sets the flag.
    let body = "setp.ne.u32 %p4, %r61, 0;\n@%p4 bra WORK;\nmov.u32 %r5, 0;\n\
        L: add.u32 %r5, %r5, 1;\nred.global.add.u32 [%rd0+8], 1;\nld.volatile.global.u32 %r2, [%rd0+4];\n\
        setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nbra OUT;\n\
        WORK: mov.u32 %r7, 0;\nM: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 30000;\n@%p3 bra M;\n\
        st.volatile.global.u32 [%rd0+4], 1;\nOUT:";
    ends(body);
    // A chain: each thread waits for the one before it, counts, and releases the next.
    let chain = "mul.wide.u32 %rd5, %r63, 4;\nadd.u64 %rd6, %rd0, %rd5;\nmov.u32 %r5, 0;\n\
        L: ld.volatile.global.u32 %r2, [%rd6];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd6+1024], %r5;\n\
        setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nst.volatile.global.u32 [%rd6+4], 1;";
    let mut chained = case(chain);
    chained.words.resize(512, 0);
    ends_with(&chained);
}

#[test]
fn host_threads_hand_their_waiting_ctas_over() {
    let body = "L: atom.global.add.u32 %r2, [%rd0+4], 0;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;";
    let mut stuck = Case::new(body).shape(16, 32);
    stuck.options.threads = 2;
    stuck.options.max_steps = 500_000_000;
    let e = stuck.error();
    assert!(e.kind == ErrorKind::Stuck && e.message.contains("wait for each other"), "{e}");
    // The last CTA releases the others.
    let released = "setp.ne.u32 %p2, %r61, 15;\n@%p2 bra L;\nmov.u32 %r7, 0;\nM: add.u32 %r7, %r7, 1;\n\
        setp.lt.u32 %p3, %r7, 2000000;\n@%p3 bra M;\nst.volatile.global.u32 [%rd0+4], 1;\n";
    let mut ends = Case::new(&format!("{released}{body}")).shape(16, 32);
    ends.options.threads = 2;
    ends.options.max_steps = 500_000_000;
    assert_eq!(ends.words()[1], 1);
}

#[test]
fn a_wait_that_would_give_up_late_ends_at_the_limit() {
    let polls = "ld.volatile.global.u32 %r2, [%rd0+4];\n".repeat(12);
    let body = format!(
        "mov.u32 %r5, 0;\nL: add.u32 %r5, %r5, 1;\n{polls}setp.eq.u32 %p1, %r2, 0;\n\
         setp.lt.and.u32 %p2, %r5, 1000000000, %p1;\n@%p2 bra L;"
    );
    let mut case = Case { words: vec![0; 2], ..Case::new(&body).shape(1, 1) };
    case.options.max_steps = 200_000_000;
    let e = case.error();
    assert!(
        e.message.starts_with("all threads of the grid only wait, and none of them changes memory"),
        "{e}"
    );
    assert!(e.message.contains("is in a loop that reads 4 bytes of global memory at 0x7f2000000004"), "{e}");
    assert!(e.help.as_deref().is_some_and(|help| help.contains("--max-steps")), "{e}");
}
