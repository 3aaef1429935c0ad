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

/// The only launch of the comparison of a kernel that ends with one that does not.
fn compared(words: &[&str]) -> Value {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("endless");
    fs::create_dir_all(&folder).unwrap();
    for (name, bound) in [("good", "1000"), ("bad", "0")] {
        fs::write(folder.join(format!("{name}.ptx")), SPIN.replace("BOUND", bound)).unwrap();
        let launch = format!(
            "module = \"{name}.ptx\"\nkernel = \"spin\"\ngrid = 1\nblock = 64\n\
             [[arg]]\nname = \"out\"\ntype = \"u32\"\nfill = 0\nlen = 64\nout = true\n"
        );
        fs::write(folder.join(format!("{name}.toml")), launch).unwrap();
    }
    comparison(&folder, &[&["good.toml", "bad.toml"], words].concat())["launches"][0].clone()
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
}
