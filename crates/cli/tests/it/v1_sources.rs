//! Recordings of PRLX 0.x and the sources that their site tables name: lines are shown where the file is at
//! hand.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/cli/v1.in");
const SOURCE: &str = "// Sums.\n__global__ void sum(int n)\n{\n    for (int i = 0; i < n; i++) {\n        if (i & 1)\n            bump(i);\n  }\n}\n";
/// Before the recordings were made, as they say.
const BEFORE: u64 = 1_749_000_000;

/// A folder with both recordings; the table of sites in `table`, and there a source of this name, as old as
/// it says.
fn folder(name: &str, table: &str, source: &str, age: u64) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join(table)).unwrap();
    for file in ["a.prlx", "b.prlx"] {
        fs::copy(Path::new(CASES).join(file), root.join(file)).unwrap();
    }
    fs::copy(Path::new(CASES).join("prlx-sites.json"), root.join(table).join("prlx-sites.json")).unwrap();
    let path = root.join(table).join(source);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, SOURCE).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(UNIX_EPOCH + Duration::from_secs(age))
        .unwrap();
    root
}

fn diff(root: &Path, words: &[&str]) -> Output {
    let mut prlx = Command::new(env!("CARGO_BIN_EXE_prlx"));
    prlx.current_dir(root).env("NO_COLOR", "1").args(["-q", "diff", "a.prlx", "b.prlx"]).args(words);
    prlx.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn lines_are_shown_where_the_file_is_at_hand() {
    let root = folder("v1-sources", "", "sum.cu", BEFORE);
    let done = diff(&root, &["--html", "page.html"]);
    let said = text(&done.stdout);
    assert!(said.contains("   sum.cu:4:9 in sum\n      4 │     for (int i = 0; i < n; i++) {\n"), "{said}");
    assert!(said.contains("      5 │         if (i & 1)\n        │             ^\n"), "{said}");
    assert_eq!(text(&done.stderr), "");
    let page = fs::read_to_string(root.join("page.html")).unwrap();
    assert!(page.contains("<h4>sum.cu</h4>"), "the page has no source");
    assert!(page.contains("<tr class=\"here\"><th>5</th>"), "the page marks no line");
    // The report's keys have it too.
    let json: serde_json::Value = serde_json::from_slice(&diff(&root, &["--json"]).stdout).unwrap();
    let place = &json["launches"][0]["findings"][1]["site"][1]["location"];
    assert_eq!(place["code"], "        if (i & 1)");
    // Without the file there is the place.
    fs::remove_file(root.join("sum.cu")).unwrap();
    let said = text(&diff(&root, &[]).stdout);
    assert!(said.contains("   sum.cu:4:9 in sum\n   branch"), "{said}");
}

#[test]
fn a_table_may_lie_elsewhere_and_beside_its_sources() {
    let root = folder("v1-sources-map", "build", "sum.cu", BEFORE);
    let said = text(&diff(&root, &["--map", "build/prlx-sites.json"]).stdout);
    assert!(said.contains("if (i & 1)"), "{said}");
    // Beside B alone.
    fs::rename(root.join("b.prlx"), root.join("build/b.prlx")).unwrap();
    let mut prlx = Command::new(env!("CARGO_BIN_EXE_prlx"));
    let done =
        prlx.current_dir(&root).env("NO_COLOR", "1").args(["-q", "diff", "a.prlx", "build/b.prlx"]).output();
    assert!(text(&done.unwrap().stdout).contains("if (i & 1)"));
}

/// Of a build in another folder, every site has another id.
#[test]
fn another_folder_is_another_set_of_ids() {
    let root = folder("v1-sources-apart", "there", "sum.cu", BEFORE);
    fs::copy(root.join("there/prlx-sites.json"), root.join("prlx-sites.json")).unwrap();
    let table = fs::read_to_string(root.join("there/prlx-sites.json")).unwrap();
    let mut rows: Vec<serde_json::Value> = serde_json::from_str(&table).unwrap();
    let mut there = fs::read(root.join("a.prlx")).unwrap();
    for row in &mut rows {
        let id = row["site_id"].as_u64().unwrap() as u32;
        row["site_id"] = (id ^ 1).into();
        row["filename"] = "/other/folder/sum.cu".into();
        let (old, new) = (id.to_le_bytes(), (id ^ 1).to_le_bytes());
        for at in (160..there.len()).step_by(4) {
            if there[at..at + 4] == old {
                there[at..at + 4].copy_from_slice(&new);
            }
        }
    }
    fs::write(root.join("there/prlx-sites.json"), serde_json::to_string(&rows).unwrap()).unwrap();
    fs::write(root.join("there/a.prlx"), there).unwrap();
    let diff = |words: &[&str]| {
        let mut prlx = Command::new(env!("CARGO_BIN_EXE_prlx"));
        prlx.current_dir(&root)
            .env("NO_COLOR", "1")
            .args(["-q", "diff", "a.prlx", "there/a.prlx"])
            .args(words);
        prlx.output().unwrap()
    };
    let done = diff(&[]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("no site in common"), "{}", text(&done.stderr));
    let done = diff(&["--remap-a", "prlx-sites.json", "--remap-b", "there/prlx-sites.json"]);
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(0), String::new()), "{}", text(&done.stdout));
}

#[test]
fn what_was_changed_since_is_said() {
    let root = folder("v1-sources-changed", "", "sum.cu", 1_760_000_000);
    let said = text(&diff(&root, &[]).stderr);
    assert!(said.contains("sum.cu changed after both sides were recorded"), "{said}");
}

/// A table may name any file; a page that shows one is passed on.
#[test]
fn only_sources_are_read() {
    let root = folder("v1-sources-secret", "", "key.pem", BEFORE);
    let table = root.join("prlx-sites.json");
    let named = fs::read_to_string(&table).unwrap().replace("sum.cu", "key.pem");
    fs::write(&table, named).unwrap();
    let said = text(&diff(&root, &[]).stdout);
    assert!(said.contains("key.pem:5:13") && !said.contains("if (i & 1)"), "{said}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(root.join("key.pem"), root.join("link.cu")).unwrap();
        let named = fs::read_to_string(&table).unwrap().replace("key.pem", "link.cu");
        fs::write(&table, named).unwrap();
        let said = text(&diff(&root, &[]).stdout);
        assert!(said.contains("link.cu:5:13") && !said.contains("if (i & 1)"), "{said}");
    }
}
