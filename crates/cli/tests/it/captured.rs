//! Launches of programs that are captured as launch files, and explained.

use std::fs;

use crate::programs::{folder, prlx, program};

#[test]
fn a_program_s_wrong_number_has_a_cause() {
    let folder = folder("captured", "cause");
    let Some(chain) = program(&folder, "chain") else { return };
    let (good, bad) = (format!("{chain} -1 one new"), format!("{chain} 3 one new"));
    let (code, out, err) = prlx(&folder, &["compare", "--digest", "--a", &good, "--b", &bad], &[]);
    assert_eq!(code, Some(1), "{err}");
    for part in [
        "culprit launch 3",
        "(class: input)",
        "`bias[0]` differs before the launch",
        "y[1]   A 10931   B 10932",
        "the cause comes from running both sides again on the CPU device",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // Without digests, the launch that takes another path is the first that differs.
    let (_, out, err) = prlx(&folder, &["compare", "--a", &good, "--b", &bad], &[]);
    assert!(out.contains("(class: input)") && out.contains("an earlier launch, or the host"), "{out}{err}");
    let words = ["compare", "--no-explain", "--a", &good, "--b", &bad];
    let (_, out, err) = prlx(&folder, &words, &[]);
    assert!(!out.contains("  cause  ") && !err.contains("again to capture"), "{out}{err}");
}

#[test]
fn captured_launches_run_and_are_replaced() {
    let folder = folder("captured", "record");
    let Some(chain) = program(&folder, "chain") else { return };
    let record = |more: &[&str]| {
        let words = [&["record", "-o", "r.prlx", "--capture"], more, &["--", &chain, "-1", "one", "new"]];
        prlx(&folder, &words.concat(), &[])
    };
    let (code, _, err) = record(&[]);
    assert!(code == Some(2) && err.contains("choose single ones with --launch"), "{err}");
    // One long range is enough to copy too much, whatever the others are.
    let (code, _, err) = record(&["--launch", "2", "--launch", "0-900"]);
    assert!(code == Some(2) && err.contains("choose single ones with --launch"), "{err}");
    let (code, _, err) = record(&["--launch", "2"]);
    assert!(code == Some(0) && err.contains("captured: prlx run r.prlx/"), "{err}");
    let file = err.lines().find_map(|l| l.strip_prefix("captured: prlx run ")).unwrap();
    let (code, out, err) = prlx(&folder, &["run", file], &[]);
    assert!(code == Some(0) && out.contains("y  u32[64]"), "{out}{err}");
    // Another recording takes the place, and a file that is not part of it stays.
    let (code, _, err) = record(&["--launch", "2", "--force"]);
    assert_eq!(code, Some(0), "{err}");
    let notes = folder.join("r.prlx").join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let (code, _, err) = record(&["--launch", "2", "--force"]);
    assert!(code == Some(2) && err.contains("notes.txt is not part of a recording"), "{err}");
    assert!(notes.is_file());
}
