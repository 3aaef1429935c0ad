//! An error that a check finds follows from code that differs: that code is the cause.

use std::fs;
use std::path::PathBuf;

use crate::programs::comparison;

/// Each thread writes its number to the element that `LINE` of line 3 computes.
const STORE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 out) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .file 1 \"SOURCE\"
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    .loc 1 3 1
    LINE
    .loc 1 4 1
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
";

/// Writes `good` and `bad` to a folder: PTX and source in which `LINE` is the first and the second of
/// `lines`, and launch files of 64 threads with one output.
fn written(name: &str, [module, source]: [&str; 2], lines: [&str; 2]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    for (name, line) in ["good", "bad"].into_iter().zip(lines) {
        let module = module.replace("LINE", line).replace("SOURCE", &format!("{name}.cu"));
        fs::write(folder.join(format!("{name}.ptx")), module).unwrap();
        fs::write(folder.join(format!("{name}.cu")), source.replace("LINE", line)).unwrap();
        let text = format!(
            "module = \"{name}.ptx\"\ngrid = 1\nblock = 64\n\
             [[arg]]\nname = \"out\"\ntype = \"u32\"\nfill = 0\nlen = 64\nout = true\n"
        );
        fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

#[test]
fn a_race_of_a_wrong_index_is_not_the_cause() {
    let source = "store(unsigned *out)\n{\nLINE\nout[index] = threadIdx.x;\n}\n";
    let folder =
        written("following_errors", [STORE, source], ["shr.u32 %r2, %r1, 0;", "shr.u32 %r2, %r1, 1;"]);
    let json = comparison(&folder, &["good.toml", "bad.toml"]);
    let cause = &json["launches"][0]["causes"][0];
    // Two threads of B write each element. The index is the only line that differs, so it explains the race.
    assert_eq!(cause["class"], "address", "{cause:#}");
    let lines = cause["places"].as_array().unwrap().iter().filter(|place| !place.is_null());
    assert!(lines.clone().count() > 0 && lines.clone().all(|p| p["location"]["line"] == 3), "{cause:#}");
    // What two equal sides say: nothing looked for races.
    let same = comparison(&folder, &["bad.toml", "bad.toml"]);
    let notes = |json: &serde_json::Value| json["launches"][0]["notes"].to_string();
    assert!(same["verdict"] == "same" && notes(&same).contains("--check race"), "{same:#}");
    let checked = comparison(&folder, &["bad.toml", "bad.toml", "--check", "race"]);
    assert!(!notes(&checked).contains("races were not looked for"), "{checked:#}");
}

/// Each thread counts itself in a word of shared memory, which thread 0 clears in line 3.
const COUNT: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry count(.param .u64 out) {
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b32 counter;
    .file 1 \"SOURCE\"
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    .loc 1 3 1
    LINE
    .loc 1 4 1
    bar.sync 0;
    .loc 1 5 1
    atom.shared.add.u32 %r3, [counter], 1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
";

#[test]
fn memory_that_an_edit_leaves_unwritten_counts_though_outputs_agree() {
    let source = "count(unsigned *out)\n{\nLINE\n__syncthreads();\natomicAdd(&counter, 1);\n";
    let folder = written("unwritten", [COUNT, source], ["@%p1 st.shared.u32 [counter], %r2;", ""]);
    let json = comparison(&folder, &["good.toml", "bad.toml"]);
    assert_eq!(json["verdict"], "differs", "{json:#}");
    let cause = &json["launches"][0]["causes"][0];
    assert_eq!(cause["class"], "undefined", "{cause:#}");
    assert_eq!(cause["places"][0]["location"]["line"], 3, "{cause:#}");
    assert_eq!(cause["other"]["location"]["line"], 5, "{cause:#}");
}
