//! Sides that read the same memory in another way: by another type, or with another order.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::programs::comparison;

/// Converts a byte. Line 3 of the source loads it.
const BYTE: &str = "
.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd3, %r1;
    add.s64 %rd4, %rd2, %rd3;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd5, %rd1, %rd3;
    .loc 1 3 1
    LINE
    st.global.u32 [%rd5], %r2;
    ret;
}
";

/// CTA 0 publishes a word; CTA 1 waits for it. Line 3 of the source reads the flag.
const FLAG: &str = "
.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra WAIT;
    .loc 1 1 1
    mov.u32 %r2, 42;
    st.global.u32 [%rd1], %r2;
    mov.u32 %r2, 1;
    st.release.gpu.global.u32 [%rd2], %r2;
    ret;
WAIT:
    .loc 1 3 1
    LINE
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra WAIT;
    .loc 1 4 1
    ld.global.u32 %r3, [%rd1];
    st.global.u32 [%rd1+4], %r3;
    ret;
}
";

/// The first launch of a comparison of two kernels, in which the source's line 3 and the instructions in the
/// place of `LINE` differ.
fn compared(name: &str, kernel: &str, lines: [&str; 2], launch: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    for (side, line) in ["a", "b"].into_iter().zip(lines) {
        let head = format!(".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"{side}.cu\"\n");
        fs::write(folder.join(format!("{side}.ptx")), head + &kernel.replace("LINE", line)).unwrap();
        fs::write(folder.join(format!("{side}.cu")), format!("one\ntwo\n{line}\nfour\n")).unwrap();
        fs::write(folder.join(format!("{side}.toml")), format!("module = \"{side}.ptx\"\n{launch}")).unwrap();
    }
    comparison(&folder, &["a.toml", "b.toml"])["launches"][0].take()
}

#[test]
fn a_load_of_another_type_is_no_input_that_differs() {
    let launch = "grid = 1\nblock = 32\n[[arg]]\nname = \"out\"\ntype = \"s32\"\nfill = 0\nlen = 32\nout = true\n\
                  [[arg]]\nname = \"in\"\ntype = \"u8\"\niota = 240\nlen = 64\n";
    let lines = ["ld.global.s8 %r2, [%rd4];", "ld.global.u8 %r2, [%rd4];"];
    let found = compared("loads_type", BYTE, lines, launch);
    assert_eq!(found["causes"][0]["class"], "operation", "{found:#}");
    let lines = ["ld.global.u16 %r2, [%rd2];", "ld.global.u8 %r2, [%rd2];"];
    let found = compared("loads_size", BYTE, lines, launch);
    assert_eq!(found["causes"][0]["class"], "operation", "{found:#}");
}

#[test]
fn a_weaker_order_is_looked_at_by_the_checks() {
    let launch = "grid = 2\nblock = 1\n[[arg]]\nname = \"out\"\ntype = \"u32\"\nfill = 0\nlen = 2\nout = true\n\
                  [[arg]]\nname = \"in\"\ntype = \"u32\"\nfill = 0\nlen = 1\n";
    let lines = ["ld.acquire.gpu.global.u32 %r2, [%rd2];", "ld.relaxed.gpu.global.u32 %r2, [%rd2];"];
    let found = compared("loads_order", FLAG, lines, launch);
    let cause = &found["causes"][0];
    assert_eq!((&found["verdict"], &cause["class"]), (&"differs".into(), &"race".into()), "{found:#}");
    assert!(cause["what"].as_str().unwrap().ends_with("only line 3 differs"), "{cause:#}");
    assert_eq!(compared("loads_same", FLAG, [lines[0]; 2], launch)["verdict"], "same");
}
