//! Outputs that recordings hold: `diff` and `assert` say of them what `compare` says, with tolerances.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn prlx(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    let Output { status, stdout, stderr } =
        command.args(["-q"]).args(words).current_dir(folder).env("NO_COLOR", "1").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recorded_outputs").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Records both launches of an example as `a.prlx` and `b.prlx`. Returns their launch files.
fn record(folder: &Path, example: &str, more: &[&str]) -> [String; 2] {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    [("good.toml", "a.prlx"), ("bad.toml", "b.prlx")].map(|(launch, to)| {
        let launch = examples.join(launch).to_str().unwrap().to_owned();
        let words = [&["record", &launch, "-o", to], more].concat();
        let (code, _, err) = prlx(folder, &words);
        assert_eq!(code, Some(0), "{err}");
        launch
    })
}

fn outputs(json: &str) -> Value {
    let json: Value = serde_json::from_str(json).unwrap();
    json["launches"][0]["outputs"].clone()
}

#[test]
fn diff_says_what_compare_says() {
    let folder = folder("diff");
    let [good, bad] = record(&folder, "masked-other", &[]);
    let (_, compared, _) = prlx(&folder, &["compare", "--json", "--no-explain", &good, &bad]);
    let (code, diffed, err) = prlx(&folder, &["diff", "--json", "a.prlx", "b.prlx"]);
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(outputs(&diffed), outputs(&compared));
    let y = &outputs(&diffed)[0];
    assert!(y["differing"].as_u64() > Some(0) && y["first"]["values"][0].is_string(), "{y}");
    let (code, text, _) = prlx(&folder, &["diff", "a.prlx", "a.prlx"]);
    assert_eq!(code, Some(0), "{text}");
    // A folder of `compare --keep` holds them as well.
    let words = ["compare", "--no-explain", "--keep", "kept", &good, &bad];
    assert_eq!(prlx(&folder, &words).0, Some(1));
    let (_, kept, err) = prlx(&folder, &["diff", "--json", "kept/a.prlx", "kept/b.prlx"]);
    assert_eq!(outputs(&kept), outputs(&compared), "{err}");
}

/// Every thread adds 1 / (its number + 1) to one sum. The order of warps decides the last bits.
const SUM: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 total) {
    .reg .b32 %r<4>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [total];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    add.u32 %r3, %r3, 1;
    cvt.rn.f32.u32 %f1, %r3;
    rcp.rn.f32 %f2, %f1;
    red.global.add.f32 [%rd1], %f2;
    ret;
}
";

fn write_sum(folder: &Path) {
    fs::write(folder.join("sum.ptx"), SUM).unwrap();
    let launch = "module = \"sum.ptx\"\nkernel = \"sum\"\ngrid = 8\nblock = 64\n\n[[arg]]\nname = \"total\"\n\
                  type = \"f32\"\nfill = 0\nlen = 1\nout = true\n";
    fs::write(folder.join("sum.toml"), launch).unwrap();
}

/// Records the sum under two schedules that round it otherwise, as `a.prlx` and `b.prlx`.
fn record_sums(folder: &Path, more: &[&str]) {
    write_sum(folder);
    for (seed, to) in [("0", "a.prlx"), ("2", "b.prlx")] {
        let words = [&["record", "sum.toml", "--seed", seed, "-o", to], more].concat();
        let (code, _, err) = prlx(folder, &words);
        assert_eq!(code, Some(0), "{err}");
    }
}

#[test]
fn elements_that_were_not_recorded_are_compared_by_digest() {
    let folder = folder("absent");
    record_sums(&folder, &["--outputs", "0"]);
    let (code, out, _) = prlx(&folder, &["diff", "a.prlx", "a.prlx"]);
    assert_eq!(code, Some(0), "{out}");
    let (code, out, _) = prlx(&folder, &["diff", "a.prlx", "b.prlx"]);
    let why = "the bytes differ, and the recordings do not hold the elements (record --outputs MIB)";
    assert!(code == Some(1) && out.contains(why), "{out}");
    // A tolerance could excuse the difference.
    let (code, out, _) = prlx(&folder, &["diff", "--rtol", "1e-5", "a.prlx", "b.prlx"]);
    assert!(code == Some(3) && out.contains("output `total` was not compared: the bytes differ"), "{out}");
    // One side alone does not suffice.
    let (code, _, err) = prlx(&folder, &["record", "sum.toml", "--seed", "0", "-o", "a.prlx"]);
    assert_eq!(code, Some(0), "{err}");
    let (_, out, _) = prlx(&folder, &["diff", "a.prlx", "b.prlx"]);
    assert!(out.contains("and B's recording does not hold the elements"), "{out}");
}

#[test]
fn gates_have_tolerances_for_single_outputs() {
    let folder = folder("gate");
    record_sums(&folder, &[]);
    let gate = |more: &[&str]| {
        let words = [&["assert", "a.prlx", "b.prlx"], more].concat();
        let (code, out, err) = prlx(&folder, &words);
        (code, out + &err)
    };
    assert_eq!(gate(&[]).0, Some(1));
    assert_eq!(gate(&["--rtol", "1e-5"]).0, Some(0));
    assert_eq!(gate(&["--rtol", "1e-12"]).0, Some(1));
    let (code, said) = gate(&["--allow", "output=total,rtol=1e-5"]);
    assert!(code == Some(0) && !said.contains("unused"), "{said}");
    assert_eq!(gate(&["--allow", "output=other,rtol=1e-5"]).0, Some(1));
    // A rule's tolerance goes before that of the options.
    assert_eq!(gate(&["--rtol", "1e-5", "--allow", "output=total,ulp=0"]).0, Some(1));
    let (code, said) = gate(&["--allow", "output=total,rtol=much"]);
    assert!(code == Some(2) && said.contains("`rtol=much` needs a number"), "{said}");
}

#[test]
fn outcomes_within_the_tolerance_are_one() {
    let folder = folder("seeds");
    write_sum(&folder);
    let (code, out, err) = prlx(&folder, &["run", "--seeds", "0..12", "sum.toml"]);
    assert!(code == Some(1) && out.contains("output total  f32[1]: 1 of 1 element differs"), "{out}{err}");
    // The lanes of an atomic add one after the other.
    assert!(out.contains("the same 512 addends are added in another order"), "{out}");
    let (code, out, err) = prlx(&folder, &["run", "--seeds", "0..12", "--rtol", "1e-5", "sum.toml"]);
    assert!(code == Some(0) && out.contains("the same outcome in all 12 runs"), "{out}{err}");
    assert!(out.contains("other bits, equal within the tolerance"), "{out}");
    assert_eq!(prlx(&folder, &["compare", "--seeds", "0..12", "--ulp", "100", "sum.toml"]).0, Some(0));
    // One run has no other to be compared with.
    let (code, _, err) = prlx(&folder, &["run", "--rtol", "1e-5", "sum.toml"]);
    assert!(code == Some(2) && err.contains("--seeds"), "{err}");
}

#[test]
fn repeated_runs_are_compared_by_their_outputs() {
    let folder = folder("repeat");
    write_sum(&folder);
    let (code, out, err) = prlx(&folder, &["repeat", "-n", "6", "sum.toml"]);
    assert!(code == Some(1) && out.contains("output total  f32[1]: 1 of 1 element differs"), "{out}{err}");
    let (code, out, err) = prlx(&folder, &["repeat", "-n", "6", "--rtol", "1e-5", "sum.toml"]);
    assert!(code == Some(0), "{out}{err}");
    assert!(out.contains("other digests, and compared as the same"), "{out}{err}");
}
