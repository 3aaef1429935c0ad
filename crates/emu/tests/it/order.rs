//! The order of CTAs: under seed 0 that of their numbers where it can show, under any other seed the seed's
//! choice, and the same each time.

use std::collections::BTreeSet;

use crate::case::Case;
use prlx_driver::ErrorKind;
use prlx_emu::Options;

/// CTAs of one thread, 64 of them, on as many host threads as there are, with so many words.
fn case(body: &str, words: usize) -> Case {
    let options = Options { max_steps: 2_000_000, threads: 0, ..Options::default() };
    let module = ".shared .u32 unused;";
    Case { words: vec![0; words], options, ..Case::new(body).module(module).shape(64, 1) }
}

/// Adds to word 0 without atomics, many times: what comes out depends on who comes between.
const RACE: &str = "mov.u32 %r1, 200;\n L: ld.global.u32 %r2, [%rd0]; add.u32 %r2, %r2, 1; st.global.u32 [%rd0], %r2;\n\
    sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;";

/// Each CTA takes a number and keeps it in its own word.
const TICKET: &str = "atom.global.add.u32 %r1, [%rd0], 1; st.global.u32 [%rd1+4], %r1;";

#[test]
fn a_race_between_ctas_replays() {
    let race = case(RACE, 1);
    let run = |seed| race.seed(seed).unwrap().0[0];
    let seen: BTreeSet<u32> = (1..20).map(run).collect();
    assert!(seen.len() >= 10, "{seen:?}");
    for seed in 1..20 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
    // However many host threads are asked for.
    let many = Case { options: Options { threads: 8, ..race.options.clone() }, ..race.clone() };
    assert_eq!(many.seed(7).unwrap().0[0], run(7));
}

#[test]
fn seeds_choose_who_comes_first() {
    let ticket = case(TICKET, 65);
    let orders: BTreeSet<Vec<u32>> = (1..20).map(|seed| ticket.seed(seed).unwrap().0[1..].to_vec()).collect();
    assert!(orders.len() >= 18, "only {} orders", orders.len());
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..64));
    }
    // A CTA can be far behind one that has a higher number, as far as those that are under way at once allow.
    assert!(orders.iter().any(|o| o.iter().enumerate().any(|(cta, &n)| n as usize >= cta + 16)));
}

#[test]
fn the_fair_order_is_that_of_their_numbers() {
    let inside = "mov.u32 %r9, 3000;\n L: sub.u32 %r9, %r9, 1; setp.ne.u32 %p1, %r9, 0; @%p1 bra L;";
    for _ in 0..10 {
        let words = case(&format!("{inside} {TICKET}"), 65).words();
        assert!(words[1..].iter().copied().eq(0..64), "{words:?}");
    }
    // Sums of floating point come in one order, too.
    let body = format!(
        "{inside} cvt.rn.f32.u32 %f1, %r61; rcp.approx.f32 %f1, %f1; red.global.add.f32 [%rd0], %f1;"
    );
    let case = Case { words: vec![0x3f80_0000], ..case(&format!("add.u32 %r61, %r61, 1; {body}"), 1) };
    let first = case.words();
    assert!((0..10).all(|_| case.words() == first));
}

#[test]
fn ctas_may_wait_for_earlier_and_later_ones() {
    // All meet at a counter; then each waits for the one after it, the last for the first.
    let body = "atom.global.add.u32 %r1, [%rd0], 1;\n A: ld.volatile.global.u32 %r2, [%rd0]; setp.lt.u32 %p1, %r2, 64; @%p1 bra A;\n\
        st.volatile.global.u32 [%rd1+4], 1; add.u32 %r3, %r61, 1; and.b32 %r3, %r3, 63; \
        mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd0, %rd2;\n\
        B: ld.volatile.global.u32 %r2, [%rd2+4]; setp.eq.u32 %p1, %r2, 0; @%p1 bra B;";
    let case = case(body, 65);
    for seed in 0..6 {
        let (words, ..) = case.seed(seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert!(words[0] == 64 && words[1..].iter().all(|&w| w == 1), "seed {seed}: {words:?}");
    }
}

#[test]
fn a_fault_is_told_though_others_wait_for_ever() {
    let body = "setp.eq.u32 %p1, %r61, 40; @%p1 trap;\n A: ld.volatile.global.u32 %r2, [%rd0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra A;";
    for seed in 0..4 {
        let e = case(body, 65).seed(seed).unwrap_err();
        assert_eq!(e.kind, ErrorKind::Fault, "seed {seed}: {e}");
        assert!(e.message.contains("`@%p1 trap;`") && e.message.contains("CTA (40,0,0)"), "seed {seed}: {e}");
    }
}
