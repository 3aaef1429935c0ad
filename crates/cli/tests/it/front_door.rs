//! What a user meets first: readers that go away, directories that are in the way.

use std::fs;
use std::process::{Command, Stdio};

use crate::programs::{ROOT, folder, prlx};

/// Kernels of the corpus whose launch file must be edited before it runs: five take tensor maps, two
/// assume a shape of the CTA or the cluster that their code does not state, and one reads text up to a zero.
const NEEDS_EDITS: &[&str] = &[
    "cluster_async",
    "debug_reduce",
    "gemm_tma",
    "loaded_loops",
    "tma_dimensions",
    "tma_multicast",
    "tma_swizzles",
    "tma_tensor_copy",
];

/// Commands whose output is longer than any reader wants.
const PRINTING: &[&[&str]] = &[
    &["--help"],
    &["run", "good.toml"],
    &["run", "good.toml", "--json"],
    &["run", "good.toml", "--check", "all"],
    &["run", "good.toml", "--seeds", "0..3"],
    &["run", "good.toml", "--seeds", "0..3", "--json"],
    &["compare", "good.toml", "bad.toml"],
    &["compare", "good.toml", "bad.toml", "--json"],
    &["record", "good.toml", "-o", "again.prlx", "--check", "all"],
    &["diff", "a.prlx", "b.prlx"],
    &["diff", "a.prlx", "b.prlx", "--json"],
    &["diff", "a.prlx", "b.prlx", "--dump-a", "1"],
    &["diff", "a.prlx", "b.prlx", "--dump-a", "1", "--json"],
    &["assert", "a.prlx", "b.prlx"],
    &["assert", "a.prlx", "b.prlx", "--json"],
    &["assert", "a.prlx", "b.prlx", "--github"],
    &["repeat", "good.toml", "-n", "2"],
    &["repeat", "good.toml", "-n", "2", "--json"],
    &["cost", "good.toml"],
    &["cost", "good.toml", "--json"],
    &["probe", "list"],
    &["probe", "global-bytes", "good.toml"],
    &["probe", "global-bytes", "good.toml", "--json"],
    &["probe", "check", "global-bytes", "threshold.ptx", "--print"],
    &["probe", "explain", "global-bytes", "threshold.ptx"],
    &["profile", "--auto=trip", "good.toml"],
    &["profile", "--auto=trip", "good.toml", "--json"],
    &["instrument", "threshold.ptx"],
    &["inspect", "threshold.ptx", "--show", "sites"],
    &["inspect", "a.prlx", "--show", "streams"],
    &["inspect", "a.prlx", "--show", "launches"],
    &["inspect", "good.toml"],
    &["doctor"],
    &["doctor", "--json"],
];

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let here = folder("door", "pipe");
    for file in ["good.toml", "bad.toml", "threshold.ptx"] {
        fs::copy(format!("{ROOT}/tests/cases/cli/door.in/{file}"), here.join(file)).unwrap();
    }
    for (side, file) in [("good", "a"), ("bad", "b")] {
        let made = prlx(&here, &["record", &format!("{side}.toml"), "-o", &format!("{file}.prlx")], &[]);
        assert_eq!(made.0, Some(0), "{made:?}");
    }
    for words in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
        command.args(*words).current_dir(&here).stdout(writer).stderr(Stdio::piped());
        let done = command.output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(!err.contains("error") && !err.contains("panicked"), "{words:?}: {err}");
        // What was found does not depend on who reads it.
        let read = prlx(&here, words, &[]);
        assert_eq!(done.status.code(), read.0, "{words:?}");
    }
}

#[test]
fn an_empty_recording_is_never_in_the_way() {
    let here = folder("door", "empty");
    let record = |words: &[&str]| prlx(&here, &[&["record"], words, &["--", "/bin/true"]].concat(), &[]);
    for _ in 0..2 {
        let (code, _, err) = record(&[]);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.contains("nothing was recorded") && !here.join("true.prlx").exists(), "{err}");
    }
    // A directory of an earlier version, which left its index behind.
    let index = r#"{"format":"prlx-session","version":1,"command":["app"],"code":0,"signal":null,"nanos":1,"processes":[]}"#;
    fs::create_dir(here.join("old.prlx")).unwrap();
    fs::write(here.join("old.prlx/session.json"), index).unwrap();
    let (code, _, err) = record(&["-o", "old.prlx"]);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn force_overwrites_a_recording_and_nothing_else() {
    let here = folder("door", "force");
    let record = |words: &[&str]| prlx(&here, &[&["record"], words, &["--", "/bin/true"]].concat(), &[]);
    let kept = here.join("kept.prlx");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("host.1.prlx"), "a recording").unwrap();
    fs::write(kept.join("host.1.live"), "its live file").unwrap();
    let (code, _, err) = record(&["-o", "kept.prlx"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("kept.prlx is not empty") && err.contains("add --force"), "{err}");
    fs::write(kept.join("notes.txt"), "the user's").unwrap();
    let (code, _, err) = record(&["-o", "kept.prlx", "--force"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("kept.prlx/notes.txt is not part of a recording"), "{err}");
    assert!(kept.join("host.1.prlx").exists());
    fs::remove_file(kept.join("notes.txt")).unwrap();
    let (code, _, err) = record(&["-o", "kept.prlx", "--force"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(!kept.join("host.1.prlx").exists() && !kept.join("host.1.live").exists());
}

/// `prlx new` for every kernel of the corpus, and a run of what it writes.
#[test]
fn launch_files_for_the_corpus_run_as_they_are() {
    let here = folder("door", "new");
    let (mut failed, mut unnamed, mut made) = (Vec::new(), Vec::<String>::new(), 0);
    for group in ["cuda", "triton"] {
        let mut cases: Vec<_> = fs::read_dir(format!("{ROOT}/tests/kernels/{group}")).unwrap().collect();
        cases.sort_by_key(|case| case.as_ref().unwrap().file_name());
        for case in cases {
            let (folder, name) = case.map(|c| (c.path(), c.file_name())).unwrap();
            let Ok(text) = fs::read_to_string(folder.join("launch.toml")) else { continue };
            let launch: toml::Table = text.split("[[arg]]").next().unwrap().parse().unwrap();
            let module = folder.join(launch["module"].as_str().unwrap());
            let output = format!("{group}-{}.toml", name.display());
            let mut words = vec!["new", module.to_str().unwrap(), "-o", &output];
            if let Some(kernel) = launch.get("kernel") {
                words.extend(["--kernel", kernel.as_str().unwrap()]);
            }
            let (code, _, err) = prlx(&here, &words, &[]);
            assert_eq!(code, Some(0), "{output}: {err}");
            let written = fs::read_to_string(here.join(&output)).unwrap();
            if group == "cuda" && written.contains("\"param_0\"") {
                unnamed.push(name.display().to_string());
            }
            made += 1;
            let (code, _, run) = prlx(&here, &["run", &output], &[]);
            assert_eq!(code == Some(0), !err.contains("does not run as it is"), "{output}: {err}{run}");
            if code != Some(0) {
                failed.push(name.display().to_string());
            }
        }
    }
    assert!(made > 100, "only {made} kernels were found");
    assert_eq!(failed, NEEDS_EDITS);
    assert!(unnamed.is_empty(), "parameters without the names of their sources: {unnamed:?}");
}
