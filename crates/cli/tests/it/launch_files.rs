//! What launch files describe beyond one launch: variables of the module, launches before, large buffers, and
//! the files that they write.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::programs::{folder, prlx};

/// `init` writes `x[i] = i + n`; `k` writes `x[i] * scale[i % 2]`, counts in `calls` and looks into `table`.
const MODULE: &str = ".version 8.0
.target sm_80
.address_size 64
.const .align 4 .u32 scale[2] = {3, 5};
.global .align 4 .u32 calls = 7;
.visible .entry init(.param .u64 x, .param .u32 n)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r2, [n];
    mov.u32 %r1, %tid.x;
    add.u32 %r2, %r2, %r1;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd2, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
.visible .entry k(.param .u64 x, .param .u64 table)
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd3, [table];
    add.u64 %rd3, %rd3, LAST;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd2, %rd1;
    ld.global.u32 %r2, [%rd2];
    and.b32 %r3, %r1, 1;
    mul.wide.u32 %rd4, %r3, 4;
    mov.u64 %rd5, scale;
    add.u64 %rd5, %rd5, %rd4;
    ld.const.u32 %r4, [%rd5];
    mul.lo.u32 %r2, %r2, %r4;
    ld.global.u32 %r5, [%rd3];
    add.u32 %r2, %r2, %r5;
    st.global.u32 [%rd2], %r2;
    red.global.add.u32 [calls], 1;
    ret;
}
";

fn launch(table: u64, more: &str) -> String {
    format!(
        "module = \"k.ptx\"\nkernel = \"k\"\ngrid = 1\nblock = 4\n
[[arg]]\nname = \"x\"\ntype = \"u32\"\nfill = 0\nlen = 4\nout = true\n
[[arg]]\nname = \"table\"\ntype = \"u8\"\nfill = 0\nlen = {table}\n
[[before]]\nkernel = \"init\"\ngrid = 1\nblock = 4\nargs = [\"x\", 10]\n{more}"
    )
}

fn here(name: &str, table: u64, more: &str) -> std::path::PathBuf {
    let here = folder("launch_files", name);
    let last = table - 4;
    fs::write(here.join("k.ptx"), MODULE.replace("LAST", &last.to_string())).unwrap();
    fs::write(here.join("k.toml"), launch(table, more)).unwrap();
    here
}

fn outputs(here: &Path, words: &[&str]) -> Vec<(String, Vec<String>)> {
    let (code, out, err) = prlx(here, &[&["run", "k.toml", "--json"], words].concat(), &[]);
    assert_eq!(code, Some(0), "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let first = |o: &Value| o["first"].as_array().unwrap().iter().map(text).collect();
    json["outputs"].as_array().unwrap().iter().map(|o| (text(&o["name"]), first(o))).collect()
}

const TABLE: u64 = 3_000_000_004;
const CALLS: &str = "[[variable]]\nname = \"calls\"\ntype = \"u32\"\nout = true\n";
const SCALE: &str = "[[variable]]\nname = \"scale\"\ntype = \"u32\"\narray = [1, 100]\n";

#[test]
fn variables_and_launches_before() {
    let strings = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let own = here("own", 8, CALLS);
    let want = [("x".to_owned(), strings(&["30", "55", "36", "65"])), ("calls".to_owned(), strings(&["11"]))];
    assert_eq!(outputs(&own, &[]), want);
    // The recorder runs the launch more than once: each run begins anew.
    for how in [&[][..], &["--rewritten"]] {
        let words = [&["record", "k.toml", "-o", "k.prlx", "--force"], how].concat();
        let (code, _, err) = prlx(&own, &words, &[]);
        assert!(code == Some(0) && !err.contains("differ"), "{how:?}: {err}");
    }
    let set = here("set", 8, &format!("{SCALE}{CALLS}"));
    assert_eq!(outputs(&set, &["--check", "all"])[0].1, ["10", "1100", "12", "1300"]);
    fs::copy(own.join("k.toml"), set.join("own.toml")).unwrap();
    let (code, out, err) = prlx(&set, &["compare", "own.toml", "k.toml"], &[]);
    assert!(code == Some(1) && out.contains("scale"), "{out}{err}");
}

#[test]
fn wrong_variables_and_launches_are_named() {
    for (more, want) in [
        (CALLS.replace("calls", "cals"), "no global or constant variable `cals`"),
        (SCALE.replace(", 100", ""), "it has 8 bytes in the module, and 4 here"),
        (SCALE.replace("array", "offset = 4\narray"), "a variable of the module has no such key"),
        ("[[before]]\nkernel = \"init\"\ngrid = 1\nblock = 4\nargs = [\"x\"]\n".into(), "takes 2 parameters"),
        ("[[before]]\nkernel = \"init\"\ngrid = 1\nblock = 4\nargs = [\"y\", 1]\n".into(), "has this name"),
        ("[[before]]\nkernel = \"none\"\ngrid = 1\nblock = 4\nargs = []\n".into(), "no kernel `none`"),
    ] {
        let here = here("wrong", 8, &more);
        let (code, _, err) = prlx(&here, &["run", "k.toml"], &[]);
        assert!(code == Some(2) && err.contains(want), "{want}: {err}");
    }
}

#[test]
fn a_large_table_of_zeros_runs_and_compares() {
    let here = here("large", TABLE, CALLS);
    outputs(&here, &[]);
    let (code, out, err) = prlx(&here, &["compare", "k.toml", "k.toml"], &[]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, _, err) = prlx(&here, &["run", "k.toml", "--max-memory", "1000"], &[]);
    assert!(matches!(code, Some(2 | 4)) && err.contains("--max-memory"), "{code:?} {err}");
}

#[test]
fn a_launch_file_writes_below_its_folder() {
    let writes = |to: &str| {
        let here = here("writes", 8, "");
        let text = launch(8, "").replacen("out = true", &format!("out = \"{to}\""), 1);
        fs::write(here.join("k.toml"), text).unwrap();
        here
    };
    for to in ["../x.npy", "/tmp/x.npy", "link/x.npy", "k.toml", "./k.ptx", "none/x.npy"] {
        let here = writes(to);
        std::os::unix::fs::symlink("..", here.join("link")).unwrap();
        let (code, _, err) = prlx(&here, &["run", "k.toml"], &[]);
        assert!(code == Some(2) && err.contains("the output `x` would"), "{to}: {err}");
        assert!(!here.join("../x.npy").exists());
    }
    let here = writes("../x.npy");
    let (code, _, err) = prlx(&here, &["run", "k.toml", "--allow-writes-outside"], &[]);
    assert!(code == Some(0) && err.contains("wrote ../x.npy"), "{err}");
    fs::remove_file(here.join("../x.npy")).unwrap();
}
