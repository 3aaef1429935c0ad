//! `prlx query` on recordings of an example: rows, two sides, what is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn prlx(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prlx")).args(words).env("NO_COLOR", "1").output().unwrap()
}

/// Both sides of `examples/threshold`, recorded.
fn recordings(name: &str) -> [String; 2] {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    ["good", "bad"].map(|side| {
        let launch =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/threshold/{side}.toml"));
        let to = folder.join(format!("{side}.prlx")).display().to_string();
        let done = prlx(&["-q", "record", launch.to_str().unwrap(), "-o", &to]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        to
    })
}

fn rows(words: &[&str]) -> String {
    let done = prlx(words);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn one_recording() {
    let [a, _] = recordings("query-one");
    assert_eq!(
        rows(&["query", "select kernel, recorded from launches", &a]),
        "kernel      recorded\nfind_beats       512\n"
    );
    assert_eq!(rows(&["query", "--csv", "select count(*) n from warps", &a]), "n\n16\n");
    let joined = "select line, count(*) n, sum(value) held from visits join sites using (process, module, site) \
                  group by line order by line";
    assert_eq!(rows(&["query", "--csv", joined, &a]), "line,n,held\n6,4000,3975\n18,4512,4000\n");
    // Who has seen enough stops reading.
    assert_eq!(rows(&["query", "--csv", "select lane from visits limit 2", &a]), "lane\n0\n0\n");
    // A text that a spreadsheet would run is none; a number stays one.
    assert_eq!(rows(&["query", "--csv", "select '=1+1' x, -1 y", &a]), "x,y\n'=1+1,-1\n");
}

#[test]
fn two_recordings() {
    let [a, b] = recordings("query-two");
    let parted = "select count(*) n from a.visits x join b.visits y using (warp, lane, visit) \
                  where x.site = y.site and x.value <> y.value";
    assert_ne!(rows(&["query", "--csv", parted, &a, &b]), "n\n0\n");
    let found = rows(&["query", "--csv", "select kind, line, lanes_total from findings", &a, &b]);
    assert!(found.starts_with("kind,line,lanes_total\nBranch,6,8\n"), "{found}");
}

#[test]
fn what_is_no_query_is_refused() {
    let [a, _] = recordings("query-refused");
    for (sql, why) in [
        ("select * from findings", "findings"),
        ("copy launches to 'x.csv'", "not supported"),
        ("create external table x stored as csv location '/etc/passwd'", "not supported"),
        ("selec", "selec"),
    ] {
        let done = prlx(&["query", sql, &a]);
        let said = String::from_utf8_lossy(&done.stderr).to_lowercase();
        assert!(done.status.code() == Some(2) && said.contains(why), "{sql}: {said}");
    }
}
