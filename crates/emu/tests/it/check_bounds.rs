//! `--check bounds` on small kernels: what is found, where, and in which words.

use crate::case::Case;
use prlx_emu::Checks;
use prlx_trace::check::{Check, Finding, Findings, Kind};

/// What is found in a kernel, which must come to its end.
fn findings(case: Case) -> Findings {
    let mut case = case;
    case.options.checks = Checks::NONE.with(Check::Bounds);
    case.findings()
}

/// The one finding.
fn one(body: &str) -> Finding {
    let found = findings(Case::new(body));
    assert_eq!(found.list.len(), 1, "{found:#?}");
    found.list[0].clone()
}

fn says(f: &Finding, kind: Kind, what: &str, instruction: &str, lanes: u64) {
    assert_eq!((f.kind, f.what.as_str(), f.lanes), (kind, what, lanes), "{f:#?}");
    assert_eq!(f.sides[0].place.as_ref().map(|p| p.instruction.as_str()), Some(instruction));
}

#[test]
fn past_the_end_of_a_buffer() {
    let f = one("ld.global.u32 %r1, [%rd1+4];\nst.global.u32 [%rd1], %r1;");
    says(
        &f,
        Kind::OutOfBounds,
        "reads 4 bytes, right past the end of `words` (128 bytes): element 32 of 32, with `%r63` = 31 (line 17 of the PTX)",
        "ld.global.u32 %r1, [%rd1+4];",
        1,
    );
    let threads = f.sides[0].threads.unwrap();
    assert_eq!((threads.lanes.0, threads.first.x), (1 << 31, 31));
    let f = one("ld.global.v2.u32 {%r1, %r2}, [%rd0+136];");
    assert_eq!(
        (f.what.as_str(), f.lanes),
        ("reads 8 bytes, 8 bytes past the end of `words` (128 bytes): element 17 of 16", 32)
    );
    let f = one("mov.u32 %r1, 7;\nst.global.u32 [%rd0+-4], %r1;");
    assert_eq!(f.what, "writes 4 bytes, right before `words` (128 bytes): element -1 of 32");
    let f = one("red.global.add.u32 [%rd0+256], 1;");
    assert_eq!(f.what, "updates 4 bytes, 128 bytes past the end of `words` (128 bytes): element 64 of 32");
}

#[test]
fn bad_loads_give_zero_and_the_rest_goes_on() {
    let mut case = Case::new(
        "ld.global.u32 %r1, [%rd1+4];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1+4], %r1;\nst.global.u32 [%rd1], %r1;",
    );
    case.options.checks = Checks::NONE.with(Check::Bounds);
    case.words = vec![5; 32];
    let (words, found) = case.checked(0);
    assert_eq!((words[30], words[31]), (6, 1));
    assert_eq!(found.list.iter().filter(|f| f.kind == Kind::OutOfBounds).count(), 2, "{found:#?}");
}

#[test]
fn misaligned() {
    let f = one("ld.global.u32 %r1, [%rd0+2];");
    assert_eq!(f.kind, Kind::Misaligned);
    assert!(f.what.ends_with("which is not a multiple of 4"), "{}", f.what);
}

#[test]
fn shared_and_local() {
    let f = one(
        ".shared .align 4 .b8 tile[64];\nmov.u32 %r1, tile;\nmov.u32 %r2, 1;\nst.shared.u32 [%r1+64], %r2;",
    );
    says(
        &f,
        Kind::OutOfBounds,
        "writes 4 bytes, right past the end of `tile` (64 bytes)",
        "st.shared.u32 [%r1+64], %r2;",
        32,
    );
    let f = one(
        ".local .align 4 .b8 mine[16];\nmov.u64 %rd2, mine;\nmov.u32 %r2, 1;\nst.local.u32 [%rd2+16], %r2;",
    );
    assert_eq!((f.kind, f.lanes), (Kind::OutOfBounds, 32));
    assert!(f.what.contains("local memory"), "{}", f.what);
}

#[test]
fn parameters_and_constants_are_not_written() {
    let f = one("mov.b64 %rd2, p;\ncvta.param.u64 %rd2, %rd2;\nst.u64 [%rd2], %rd0;");
    assert_eq!(
        (f.kind, f.what.as_str()),
        (Kind::ReadOnly, "writes the kernel's parameters, which can't be written")
    );
    let body = "mov.u64 %rd2, table;\nmov.u32 %r1, 1;\nst.global.u32 [%rd2], %r1;";
    let found = findings(Case::new(body).module(".const .align 4 .u32 table[2] = {1, 2};"));
    assert_eq!(found.list[0].what, "writes `table` (8 bytes), which is constant");
}

/// Calls of the device's own functions; the address is in `%rd2`.
const HEAP: &str = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 a);";
const MALLOC: &str = "{\n.param .b64 n; st.param.b64 [n], 24;\n.param .b64 r;\ncall.uni (r), malloc, (n);\nld.param.b64 %rd2, [r];\n}\n";
const FREE: &str = "{\n.param .b64 a; st.param.b64 [a], %rd2;\ncall.uni free, (a);\n}\n";

fn heap(rest: &str) -> Findings {
    let first = "setp.ne.u32 %p1, %r0, 0;\n@%p1 ret;\nmov.u32 %r1, 1;\n";
    findings(Case::new(&format!("{first}{MALLOC}{rest}")).module(HEAP))
}

#[test]
fn blocks_of_malloc_one_by_one() {
    let kinds = |f: &Findings| f.list.iter().map(|f| f.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&heap(&format!("st.u32 [%rd2+20], %r1;\n{FREE}"))), []);
    let past = heap(&format!("st.u32 [%rd2+24], %r1;\n{FREE}"));
    assert_eq!(kinds(&past), [Kind::OutOfBounds]);
    assert_eq!(past.list[0].what, "writes 4 bytes, right past the end of a block of `malloc` (24 bytes)");
    assert_eq!(past.list[0].sides[1].role, "allocated here");
    let freed = heap(&format!("{FREE}st.u32 [%rd2+4], %r1;"));
    assert_eq!(kinds(&freed), [Kind::Freed]);
    assert_eq!(freed.list[0].sides.len(), 3);
    assert_eq!(kinds(&heap(&format!("{FREE}{FREE}"))), [Kind::BadFree]);
    let leak = heap("st.u32 [%rd2], %r1;");
    assert_eq!((kinds(&leak), leak.errors()), (vec![Kind::Leak], 0));
    let wild = heap(&format!("{FREE}add.u64 %rd2, %rd2, 8;\n{FREE}"));
    assert_eq!((kinds(&wild), wild.list[0].sides.len()), (vec![Kind::BadFree], 1));
}

#[test]
fn a_place_is_one_finding_and_many_are_counted() {
    let f = one(
        "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nLOOP:\nld.global.u32 %r3, [%rd0+512];\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 10;\n@%p1 bra LOOP;",
    );
    assert_eq!((f.visits, f.lanes), (10, 320));
    // Before a buffer and behind it are two errors.
    let both = "mul.wide.u32 %rd2, %r0, 8;\nadd.u64 %rd2, %rd2, %rd0;\nld.global.u32 %r1, [%rd2+-4];";
    let found = findings(Case::new(both));
    let lanes: Vec<u64> = found.list.iter().map(|f| f.lanes).collect();
    assert_eq!(lanes, [1, 15], "{found:#?}");
    let many: String = (0..1100).map(|i| format!("ld.global.u32 %r3, [%rd0+{}];\n", 128 + 4 * i)).collect();
    let found = findings(Case::new(&many));
    assert_eq!((found.list.len(), found.dropped), (1000, 100));
}
