//! The grid barrier of cooperative groups: the instructions that nvcc 13.0 makes of `this_grid().sync()`.

use prlx_driver::ErrorKind;
use prlx_emu::{Checks, MAX_COOPERATIVE_CTAS, Options};

use crate::case::Case;

/// `sync()`, without the names of its labels.
const SYNC: &str = "
    setp.ne.s64 %p14, %rd20, 0; @%p14 bra $validN; trap; $validN:
    barrier.sync 0;
    setp.ne.u32 %p13, %r0, 0; @%p13 bra $othersN;
    mov.u32 %r50, %nctaid.x; sub.u32 %r51, 0x80000001, %r50;
    setp.eq.u32 %p12, %r61, 0; selp.b32 %r52, %r51, 1, %p12;
    atom.add.release.gpu.u32 %r53, [%rd21], %r52;
    $pollN: ld.acquire.gpu.u32 %r54, [%rd21];
    xor.b32 %r55, %r54, %r53; setp.gt.s32 %p11, %r55, -1; @%p11 bra $pollN;
    $othersN: barrier.sync 0;";

/// `this_grid()`: the address of the workspace in `%rd20`, that of the barrier in `%rd21`.
const THIS_GRID: &str = "
    mov.u32 %r40, %envreg2; mov.u32 %r41, %envreg1; mov.b64 %rd20, {%r40, %r41}; add.s64 %rd21, %rd20, 4;";

/// Three times, each thread adds 1 to the word that the thread with its number in the next CTA has left. The
/// words of even and odd rounds are two halves of the buffer.
fn rotation(ctas: u32, between: &str) -> Case {
    let mut body = format!(
        "{THIS_GRID}
         mov.u32 %r1, %nctaid.x; mul.lo.u32 %r1, %r1, %r62; add.u32 %r2, %r63, %r62; rem.u32 %r2, %r2, %r1;
         mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd0; mul.wide.u32 %rd3, %r1, 4;
         add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;"
    );
    for round in 0..3 {
        let (from, to) = if round % 2 == 0 { ("%rd2", "%rd4") } else { ("%rd5", "%rd1") };
        body += &format!("\nld.global.u32 %r3, [{from}]; add.u32 %r3, %r3, 1; st.global.u32 [{to}], %r3;");
        body += &between.replace('N', &round.to_string());
    }
    let mut case = Case::new(&body).shape(ctas, 64);
    case.words = vec![7; 2 * (ctas * 64) as usize];
    case
}

/// What [`rotation`] leaves if CTAs wait for each other.
fn rotated(ctas: u32) -> Vec<u32> {
    let half = (ctas * 64) as usize;
    [vec![9; half], vec![10; half]].concat()
}

#[test]
fn ctas_wait_for_each_other_under_every_schedule() {
    assert_eq!(rotation(5, SYNC).all(), rotated(5));
    let several = Options { threads: 3, ..rotation(5, SYNC).options };
    let case = Case { options: several, ..rotation(40, SYNC) };
    assert_eq!(case.words(), rotated(40));
}

#[test]
fn clusters_wait_for_each_other() {
    let case = Case { cluster: 4, ..rotation(24, SYNC) };
    let case = Case { body: format!("mov.u32 %r60, %cluster_ctarank;\n{}", case.body), ..case };
    assert_eq!(case.all(), rotated(24));
}

/// More CTAs than a launch without a grid barrier keeps resident, and few steps for each.
#[test]
fn many_ctas_wait_for_each_other() {
    let case = rotation(700, SYNC);
    let (words, stats, _) = case.seed(0).unwrap();
    assert_eq!(words, rotated(700));
    assert!(stats.warp_instructions < 700 * 1000, "{}", stats.warp_instructions);
    assert_eq!(case.seed(3).unwrap().0, rotated(700));
}

#[test]
fn the_barrier_orders_accesses_of_ctas() {
    let with_checks = |between| {
        let mut case = rotation(6, between);
        case.options.checks = Checks::all();
        case
    };
    for seed in [0, 1, 2] {
        let (words, found) = with_checks(SYNC).checked(seed);
        assert_eq!(words, rotated(6));
        assert!(found.list.is_empty(), "seed {seed}: {:?}", found.list);
    }
    let found = with_checks("").findings();
    assert!(found.list.iter().any(|f| f.kind.name() == "race"), "{:?}", found.list);
}

#[test]
fn a_cta_that_does_not_arrive_is_a_deadlock() {
    let leaves = format!("\nsetp.eq.u32 %p1, %r61, 2; @%p1 ret;{SYNC}");
    for seed in [0, 1, 2] {
        let (error, found) = rotation(6, &leaves).ends(seed);
        let error = error.unwrap();
        assert_eq!(error.kind, ErrorKind::Stuck, "seed {seed}: {error}");
        assert!(error.message.contains("`the workspace of the grid barrier` + 4"), "{error}");
        assert!(found.list.is_empty());
        let (found, _) = rotation(6, &leaves).sync_check(seed);
        assert!(found.list.iter().any(|f| f.kind.name() == "deadlock"), "seed {seed}: {:?}", found.list);
    }
}

#[test]
fn a_grid_that_cannot_be_resident_has_no_barrier() {
    let large = rotation(MAX_COOPERATIVE_CTAS as u32 + 1, SYNC).error();
    assert_eq!(large.kind, ErrorKind::Fault);
    assert!(large.message.starts_with("`trap;`"), "{large}");
    let help = large.help.unwrap_or_default();
    assert!(help.contains("grid barrier") && help.contains("4225 CTAs are more than"), "{help}");
    let mut little = rotation(600, SYNC);
    little.options.max_memory = 2 << 20;
    let help = little.error().help.unwrap_or_default();
    assert!(help.contains("the 600 CTAs need") && help.contains("--max-memory"), "{help}");
    // A kernel that asks for the barrier and does not use it runs in any grid.
    let unused = rotation(MAX_COOPERATIVE_CTAS as u32 + 1, "");
    assert_eq!(unused.seed(0).unwrap().0.len(), 2 * 64 * 4225);
}

#[test]
fn several_gpus_are_refused() {
    let case = Case::new(
        "{ .param .b32 s; .param .b64 h; st.param.b32 [s], 2; call (h), cudaCGGetIntrinsicHandle, (s); }",
    );
    let case = case.module(".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle (.param .b32 s);");
    let error = case.error();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.message.contains("`this_multi_grid()`"), "{error}");
}
