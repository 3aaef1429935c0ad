//! Programs of several ranks, and launches in NVTX ranges.

use std::fs;

use crate::nvidia::nvidia;
use crate::programs::{folder, prlx, program, program_with};

/// A launcher of two ranks, as `torchrun` is one: rank 1 starts first in every second run.
const LAUNCHER: &str = "export WORLD_SIZE=2
for rank in $1; do RANK=$rank LOCAL_RANK=$rank \"$2\" $((rank == $3 ? 3 : -1)) one new & sleep 0.2; done
wait";

#[test]
fn ranks_have_a_recording_each_and_are_matched() {
    let folder = folder("distributed", "ranks");
    let Some(chain) = program(&folder, "chain") else { return };
    let launcher = folder.join("launcher.sh");
    fs::write(&launcher, LAUNCHER).unwrap();
    let launcher = launcher.display().to_string();
    for (to, order, wrong) in [("a", "0 1", "9"), ("b", "1 0", "1")] {
        let words = ["record", "--digest", "-o", to, "--", "bash", &launcher, order, &chain, wrong];
        let (code, out, err) = prlx(&folder, &words, &[]);
        assert_eq!(code, Some(0), "{out}{err}");
    }
    let files = |of: &str| {
        let names =
            fs::read_dir(folder.join(of)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".prlx")).collect();
        names.sort();
        assert_eq!(names.len(), 2, "{names:?}");
        names
    };
    let (a, b) = (files("a"), files("b"));
    assert!(a[0].starts_with("rank0.") && a[1].starts_with("rank1."), "{a:?}");
    // Only rank 1 differs, whoever started first.
    let (code, out, err) = prlx(&folder, &["diff", "a", "b"], &[]);
    assert!(code == Some(1) && out.contains("of rank 1"), "{out}{err}");
    assert!(!out.contains("of rank 0") && !out.contains("no match"), "{out}");
    // One rank is compared with the same rank, and with another one.
    let one = |a: String, b: String| prlx(&folder, &["diff", &a, &b], &[]).0;
    assert_eq!(one(format!("a/{}", a[0]), format!("b/{}", b[0])), Some(0));
    assert_eq!(one(format!("a/{}", a[0]), format!("a/{}", a[1])), Some(0));
    assert_eq!(one(format!("b/{}", b[0]), format!("b/{}", b[1])), Some(1));
}

#[test]
fn ranges_choose_launches_and_are_shown() {
    let folder = folder("distributed", "ranges");
    let Some(header) = nvidia("include/nvtx3/nvToolsExt.h") else { return };
    let include = format!("-I{}", header.parent().unwrap().parent().unwrap().display());
    let Some(ranges) = program_with(&folder, "ranges", &[&include, "-pthread"]) else { return };
    let run = |words: &[&str]| prlx(&folder, words, &[]);
    for to in ["a", "b"] {
        let (code, out, err) = run(&["record", "--digest", "-o", to, "--", &ranges]);
        assert!(code == Some(0) && out.contains("levels 0 1 1 0"), "{out}{err}");
    }
    let (code, out, err) = run(&["inspect", "a"]);
    assert_eq!(code, Some(0), "{err}");
    for part in ["NVTX ranges", "step > inér", "step > op@lib", "whole > other"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, err) = run(&["diff", "a", "b", "--range", "step#1"]);
    assert!(out.contains("2 launches are the same"), "{out}{err}");
    let (_, out, err) = run(&["diff", "a", "b", "--from", "nvtx:step", "--to", "nvtx:op@lib"]);
    assert!(out.contains("4 launches are the same"), "{out}{err}");
    let (code, _, err) = run(&["diff", "a", "b", "--range", "none"]);
    assert!(code == Some(2) && err.contains("in --range"), "{err}");
    // A launch that only one side has names its ranges in JSON.
    let (_, out, err) = run(&["diff", "a", "b", "--json"]);
    assert!(out.contains("\"ranges\"") && out.contains("\"op@lib\""), "{out}{err}");
    let (code, _, err) = run(&["record", "--range", "nvtx:inér", "-o", "c", "--", &ranges]);
    assert!(code == Some(0) && err.contains("9: it is not in the part"), "{err}");
}
