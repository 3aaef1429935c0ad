//! What PRLX 0.5's flags of `prlx-diff` do for own recordings, and tables of findings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn prlx(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prlx")).args(["-q"]).args(words).env("NO_COLOR", "1").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A launch file of an example.
fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.to_str().unwrap().to_owned()
}

fn record(launch: &str, level: &str, to: &Path) -> String {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let done = prlx(&["record", launch, "--level", level, "-o", to.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    to.to_str().unwrap().to_owned()
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn a_warp_is_dumped_as_its_lanes_went() {
    let at = folder("dump");
    let a = record(&example("threshold/good.toml"), "path", &at.join("a.prlx"));
    let b = record(&example("threshold/bad.toml"), "events", &at.join("b.prlx"));
    // B need not be there, nor be of the same level.
    let done = prlx(&["diff", &a, &b, "--dump-a", "3"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    assert!(
        said.starts_with(
            "find_beats  launch 0, grid (4,1,1), block (128,1,1)\nwarp 3 of CTA 0 (0,0,0), level path\n"
        ),
        "{said}"
    );
    // Every lane is in one group, and goes through as many visits as the tables have.
    let lanes: usize = said
        .lines()
        .filter(|l| l.starts_with("lane") || l.starts_with("all"))
        .map(|l| {
            if l == "all lanes" {
                return 32;
            }
            let parts = l.split_once(' ').unwrap().1.split(", ");
            parts
                .map(|p| {
                    p.split_once('-')
                        .map_or(1, |(f, t)| t.parse::<usize>().unwrap() - f.parse::<usize>().unwrap() + 1)
                })
                .sum()
        })
        .sum();
    assert_eq!(lanes, 32, "{said}");
    assert!(said.contains("       0  threshold.cu:18:"), "{said}");
    // At level `events` it is said who was there together.
    let said = text(&prlx(&["diff", &a, &b, "--dump-b", "3"]).stdout);
    assert!(said.contains("level events\n") && said.contains("active 0x"), "{said}");
    let done = prlx(&["diff", &a, &b, "--dump-a", "99"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("has a recorded warp 99"), "{}", text(&done.stderr));
    let done = prlx(&["diff", &a, &b, "--dump-a", "3", "--launch", "1-1"]);
    assert_eq!(done.status.code(), Some(2));
}

/// The same kernel under another name: by default no partner, with `--force` compared, and never `same`.
#[test]
fn kernels_of_other_names_compare_by_force() {
    let at = folder("force");
    fs::create_dir_all(&at).unwrap();
    for file in ["good.ptx", "good.toml", "bad.ptx", "bad.toml"] {
        let text = fs::read_to_string(example(&format!("loop-bound/{file}"))).unwrap();
        let text = if file.starts_with("bad") { text.replace("triangular", "product") } else { text };
        fs::write(at.join(file), text).unwrap();
    }
    let [a, b] = ["good", "bad"].map(|s| {
        record(at.join(format!("{s}.toml")).to_str().unwrap(), "path", &at.join(format!("{s}.prlx")))
    });
    let done = prlx(&["diff", &a, &b]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stdout).contains("has no match in "), "{}", text(&done.stdout));
    let done = prlx(&["diff", &a, &b, "--force"]);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("1 Branch  ") && !said.contains("has no match in "), "{said}");
    assert!(
        said.contains("`triangular` and `product` have different names, and are compared as one kernel"),
        "{said}"
    );
}

/// A table has all findings, however many are shown.
#[cfg(feature = "parquet")]
#[test]
fn a_table_has_all_findings() {
    let at = folder("findings");
    let sides = ["good", "bad"].map(|s| {
        record(&example(&format!("missing-break/{s}.toml")), "events", &at.join(format!("{s}.prlx")))
    });
    let v1 =
        ["a", "b"].map(|s| format!("{}/../../tests/cases/cli/v1.in/{s}.prlx", env!("CARGO_MANIFEST_DIR")));
    for [a, b] in [sides, v1] {
        let table = |n: &str| {
            let path = at.join(format!("{n}.parquet"));
            let done = prlx(&["diff", &a, &b, "-n", n, "--json", "--parquet", path.to_str().unwrap()]);
            let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            let l = &report["launches"][0];
            (
                fs::read(path).unwrap(),
                l["findings"].as_array().unwrap().len(),
                l["findings_total"].as_u64().unwrap(),
            )
        };
        let (few, many) = (table("1"), table("100"));
        assert!(few.2 > 1 && few.0 == many.0, "{} findings", few.2);
        assert_eq!((many.1 as u64, many.2), (few.2, few.2));
    }
}
