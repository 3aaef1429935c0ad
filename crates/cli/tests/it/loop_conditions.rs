//! Two builds write the condition of a loop in different ways, and one of them leaves it too early: the cause
//! is that loop, not an earlier one.

use std::fs;
use std::path::PathBuf;

use crate::programs::comparison;

/// Sums 16 elements with 8 threads: each adds two of them in the loop of line 6, then the loop of line 9 adds
/// the parts in shared memory. `BEGIN` is what the compiler does before that loop, and `END` its condition.
const SUM: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 x, .param .u64 out) {
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<6>;
    .shared .align 4 .b32 part[8];
    .file 1 \"sum.cu\"
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %r1;
    mov.u32 %r3, 0;
ADD:
    .loc 1 6 1
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    add.u32 %r3, %r3, %r4;
    add.u32 %r2, %r2, 8;
    setp.lt.u32 %p1, %r2, 16;
    @%p1 bra ADD;
    .loc 1 7 1
    BEGIN
    st.shared.u32 [%r6], %r3;
    bar.sync 0;
HALF:
    .loc 1 10 1
    setp.ge.u32 %p2, %r1, %r7;
    @%p2 bra SKIP;
    shl.b32 %r8, %r7, 2;
    add.u32 %r8, %r6, %r8;
    ld.shared.u32 %r9, [%r8];
    ld.shared.u32 %r10, [%r6];
    add.u32 %r10, %r10, %r9;
    st.shared.u32 [%r6], %r10;
SKIP:
    .loc 1 11 1
    bar.sync 0;
    .loc 1 9 1
    END
    @%p3 bra HALF;
    .loc 1 13 1
    ld.shared.u32 %r11, [part];
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd5, %rd2, %rd3;
    st.global.u32 [%rd5], %r11;
    ret;
}
";

#[test]
fn a_loop_that_ends_too_early_is_the_cause() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("loop_conditions");
    fs::create_dir_all(&folder).unwrap();
    let index = "shl.b32 %r5, %r1, 2; mov.u32 %r6, part; add.u32 %r6, %r6, %r5;";
    for (name, begin, end) in [
        ("good", format!("mov.u32 %r7, 4; {index}"), "shr.u32 %r7, %r7, 1; setp.ne.u32 %p3, %r7, 0;"),
        ("bad", format!("{index} mov.u32 %r7, 4;"), "setp.gt.u32 %p3, %r7, 3; shr.u32 %r7, %r7, 1;"),
    ] {
        let text = SUM.replace("BEGIN", &begin).replace("END", end);
        fs::write(folder.join(format!("{name}.ptx")), text).unwrap();
        let text = format!(
            "module = \"{name}.ptx\"\nkernel = \"sum\"\ngrid = 1\nblock = 8\n\
             [[arg]]\nname = \"x\"\ntype = \"u32\"\niota = 1\nlen = 16\n\
             [[arg]]\nname = \"out\"\ntype = \"u32\"\nfill = 0\nlen = 8\nout = true\n"
        );
        fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }
    let json = comparison(&folder, &["good.toml", "bad.toml"]);
    let cause = &json["launches"][0]["causes"][0];
    // 1 + 2 + … + 16 = 136. Without the last round, the parts of odd threads are missing:
    // 1 + 3 + … + 15 = 64.
    assert_eq!((&cause["class"], &cause["values"]), (&"guard".into(), &["136", "64"].into()), "{cause:#}");
    let lines = cause["places"].as_array().unwrap().iter().filter(|place| !place.is_null());
    assert!(lines.clone().count() > 0 && lines.clone().all(|p| p["location"]["line"] == 9), "{cause:#}");
}
