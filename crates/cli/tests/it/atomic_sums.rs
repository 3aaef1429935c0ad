//! Atomic sums to which one side adds an element more often: the cause is the instruction that gives two
//! threads the same element, in whatever way.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::programs::comparison;

/// Adds `x[i]` for each thread. `INDEX` computes `i` in line 10, and a guard in line 11 skips threads past
/// the end.
const TOTAL: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry total(.param .u64 x, .param .u64 out, .param .u32 n) {
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<5>;
    .file 1 \"total.cu\"
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    .loc 1 9 1
    mad.lo.u32 %r5, %r2, %r3, %r4;
    .loc 1 10 1
    INDEX
    .loc 1 11 1
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 bra DONE;
    .loc 1 12 1
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    .loc 1 13 1
    red.global.add.f32 [%rd2], %f1;
DONE:
    ret;
}
";

fn launch(folder: &Path, name: &str, index: &str, [grid, block]: [u32; 2]) {
    fs::write(folder.join(format!("{name}.ptx")), TOTAL.replace("INDEX", index)).unwrap();
    let text = format!(
        "module = \"{name}.ptx\"\nkernel = \"total\"\ngrid = {grid}\nblock = {block}\n\
         [[arg]]\nname = \"x\"\ntype = \"f32\"\nrandom = [1, 2]\nlen = 200\n\
         [[arg]]\nname = \"out\"\ntype = \"f32\"\nfill = 0\nlen = 1\nout = true\n\
         [[arg]]\nname = \"n\"\nvalue = 200\n"
    );
    fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

/// The verdict and the first cause of a comparison with the right kernel.
fn cause(folder: &Path, bad: &str) -> (String, Value) {
    let json = comparison(folder, &["--rtol", "1e-5", "good.toml", bad]);
    (json["verdict"].as_str().unwrap().to_owned(), json["launches"][0]["causes"][0].clone())
}

#[test]
fn an_element_that_is_added_twice_names_its_index() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("atomic_sums");
    fs::create_dir_all(&folder).unwrap();
    launch(&folder, "good", "mov.u32 %r6, %r5;", [4, 64]);
    launch(&folder, "same", "mov.u32 %r6, %r5;", [2, 128]);
    let (verdict, _) = cause(&folder, "same.toml");
    assert_eq!(verdict, "same");
    for (name, index) in [
        ("wrapped", "rem.u32 %r6, %r5, %r1;"),
        ("clamped", "sub.u32 %r7, %r1, 1; min.u32 %r6, %r5, %r7;"),
        ("overlapping", "mad.lo.u32 %r6, %r2, 100, %r4;"),
        ("masked", "and.b32 %r6, %r5, 127;"),
    ] {
        launch(&folder, name, index, [2, 128]);
        let (verdict, cause) = cause(&folder, &format!("{name}.toml"));
        assert_eq!(
            (verdict.as_str(), cause["class"].as_str()),
            ("differs", Some("address")),
            "{name}: {cause}"
        );
        let what = cause["what"].as_str().unwrap();
        assert!(what.contains("B adds `x[") && what.contains(", A once: `"), "{name}: {what}");
        assert_eq!(cause["places"][1]["location"]["line"], 10, "{name}: {cause}");
    }
}

/// Each thread with an odd element takes the next place of `kept` from a counter.
const COMPACT: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry compact(.param .u64 x, .param .u64 kept, .param .u64 count) {
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [kept];
    ld.param.u64 %rd3, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd4, %r4, 4;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r5, [%rd5];
    and.b32 %r6, %r5, 1;
    setp.eq.u32 %p1, %r6, 0;
    @%p1 bra DONE;
    atom.global.add.u32 %r7, [%rd3], 1;
    mul.wide.u32 %rd6, %r7, 4;
    add.s64 %rd7, %rd2, %rd6;
    st.global.u32 [%rd7], %r5;
DONE:
    ret;
}
";

#[test]
fn places_from_a_counter_differ_by_the_order_of_the_atomics() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compact");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("compact.ptx"), COMPACT).unwrap();
    let elements = (0..512u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7);
    let elements: Vec<String> = elements.map(|e| e.to_string()).collect();
    for (name, seed) in [("first", 0), ("second", 5)] {
        let text = format!(
            "module = \"compact.ptx\"\nkernel = \"compact\"\ngrid = 8\nblock = 64\nseed = {seed}\n\
             [[arg]]\nname = \"x\"\ntype = \"u32\"\narray = [{}]\n\
             [[arg]]\nname = \"kept\"\ntype = \"u32\"\nfill = 0\nlen = 512\nout = true\n\
             [[arg]]\nname = \"count\"\ntype = \"u32\"\nfill = 0\nlen = 1\n",
            elements.join(", ")
        );
        fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }
    let json = comparison(&folder, &["first.toml", "second.toml"]);
    assert_eq!(json["verdict"], "differs");
    let causes = json["launches"][0]["causes"].as_array().unwrap();
    assert!(!causes.is_empty() && causes.iter().all(|cause| cause["class"] == "order"), "{causes:#?}");
}
