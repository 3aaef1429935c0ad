//! Comparisons of a side that ends with one that never does.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::programs::comparison;

/// All threads toggle a word of shared memory between barriers until no thread does, which `BOUND` decides.
/// Memory changes in each iteration, so no search for deadlocks proves that the loop never ends.
const SPIN: &str = ".version 8.0
.target sm_80
.address_size 64
.file 1 \"spin.cu\"
.visible .entry spin(.param .u64 out) {
    .reg .pred %p<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b32 changed;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
LOOP:
    .loc 1 6 1
    bar.sync 0;
    st.shared.u32 [changed], 0;
    bar.sync 0;
    .loc 1 9 1
    setp.lt.u32 %p1, %r1, BOUND;
    @%p1 bra SKIP;
    .loc 1 10 1
    xor.b32 %r2, %r2, 2;
    st.shared.u32 [changed], 1;
SKIP:
    .loc 1 12 1
    bar.sync 0;
    ld.shared.u32 %r3, [changed];
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra LOOP;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
";

/// CTA 1 waits for a flag that CTA 0 sets, behind a barrier.
const HAND_ON: &str = ".version 8.0
.target sm_80
.address_size 64
.file 1 \"hand_on.cu\"
.visible .entry hand_on(.param .u64 out) {
    .reg .pred %p<6>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    .loc 1 4 1
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra WAIT;
    .loc 1 6 1
    bar.sync 0, 64;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra END;
    .loc 1 8 1
    mov.u32 %r3, 1;
    st.volatile.global.u32 [%rd1+4], %r3;
    bra END;
WAIT:
    .loc 1 11 1
    ld.volatile.global.u32 %r4, [%rd1+4];
    setp.ne.u32 %p3, %r4, 1;
    @%p3 bra WAIT;
END:
    ret;
}
";

/// The only launch of the comparison of a kernel with one in which the text `from` is `to`.
fn changed([kernel, text]: [&str; 2], [from, to]: [&str; 2], words: &[&str]) -> Value {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("endless").join(format!("{kernel} {to}"));
    fs::create_dir_all(&folder).unwrap();
    assert!(text.contains(from), "{from}");
    for (name, text) in [("good", text.to_owned()), ("bad", text.replace(from, to))] {
        fs::write(folder.join(format!("{name}.ptx")), text).unwrap();
        let launch = format!(
            "module = \"{name}.ptx\"\nkernel = \"{kernel}\"\ngrid = 2\nblock = 64\n\
             [[arg]]\nname = \"out\"\ntype = \"u32\"\nfill = 0\nlen = 64\nout = true\n"
        );
        fs::write(folder.join(format!("{name}.toml")), launch).unwrap();
    }
    comparison(&folder, &[&["good.toml", "bad.toml"], words].concat())["launches"][0].clone()
}

/// The launch of a kernel that ends with one that does not.
fn compared(words: &[&str]) -> Value {
    changed(["spin", &SPIN.replace("BOUND", "1000")], ["%r1, 1000", "%r1, 0"], words)
}

/// The class of the only cause, and the lines of its places.
fn cause(launch: &Value) -> (String, Vec<u64>) {
    let causes = launch["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{launch:#}");
    let places = causes[0]["places"].as_array().unwrap();
    let lines = places.iter().filter_map(|p| p["location"]["line"].as_u64()).collect();
    (causes[0]["class"].as_str().unwrap().to_owned(), lines)
}

#[test]
fn a_side_that_never_ends_has_a_cause() {
    let line = |change: [&str; 2]| cause(&changed(["hand_on", HAND_ON], change, &[]));
    let stuck = |lines: &[u64]| ("stuck".to_owned(), lines.to_vec());
    // The flag goes elsewhere, or has another value.
    assert_eq!(line(["st.volatile.global.u32 [%rd1+4]", "st.volatile.global.u32 [%rd1+8]"]), stuck(&[8, 8]));
    assert_eq!(line(["mov.u32 %r3, 1", "mov.u32 %r3, 2"]), stuck(&[8, 8]));
    // The thread does not come to the store, or waits for others itself.
    assert_eq!(line(["%p2, %r1, 0", "%p2, %r1, 64"]), stuck(&[6, 6]));
    assert_eq!(line(["bar.sync 0, 64", "bar.sync 0, 96"]), stuck(&[6, 6]));
    // Another word is read, or another value is waited for.
    assert_eq!(line(["%r4, [%rd1+4]", "%r4, [%rd1+12]"]), stuck(&[11, 11]));
    assert_eq!(line(["%p3, %r4, 1", "%p3, %r4, 3"]), stuck(&[11, 11]));
}

#[test]
fn a_side_that_never_ends_needs_no_run_to_the_usual_limit() {
    let launch = compared(&[]);
    let text = launch["faults"][1]["text"].as_str().unwrap();
    assert!(text.contains("step limit of 8000000 instructions"), "{text}");
    // What is compared ends much earlier.
    let recorded = launch["coverage"]["elements"][1]["recorded"].as_u64().unwrap();
    assert!(recorded < 2_000_000, "{recorded}");
}

#[test]
fn events_are_compared_where_paths_show_nothing() {
    let launch = compared(&["--max-steps", "10000", "--level", "path"]);
    let text = launch["faults"][1]["text"].as_str().unwrap();
    assert!(text.contains("step limit of 10000 instructions"), "{text}");
    assert_eq!(launch["level"], "events", "{launch:#}");
    assert_eq!(cause(&launch), ("stuck".to_owned(), vec![9, 9]));
}
