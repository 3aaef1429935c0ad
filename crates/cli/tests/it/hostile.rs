//! Inputs that would block, never end, or take work that nothing recorded.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::programs::{ROOT, folder, prlx};

#[test]
fn pipes_and_devices_are_refused() {
    let here = folder("hostile", "inputs");
    assert!(Command::new("mkfifo").arg(here.join("pipe")).status().unwrap().success());
    let named = "module = \"/dev/zero\"\ngrid = 1\nblock = 1\n";
    fs::write(here.join("module.toml"), named).unwrap();
    let ptx =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n ret;\n}\n";
    fs::write(here.join("k.ptx"), ptx).unwrap();
    let array = "module = \"k.ptx\"\ngrid = 1\nblock = 1\n[[arg]]\nnpy = \"pipe\"\n";
    fs::write(here.join("array.toml"), array).unwrap();
    for words in [
        &["run", "/dev/zero"][..],
        &["run", "pipe"],
        &["run", "module.toml"],
        &["run", "array.toml"],
        &["compare", "pipe", "array.toml"],
        &["record", "/dev/zero", "-o", "x.prlx"],
        &["inspect", "/dev/zero"],
        &["inspect", "pipe"],
        &["diff", "/dev/zero", "pipe"],
        &["assert", "pipe", "/dev/urandom"],
        &["convert", "/dev/zero", "-o", "x.json"],
        &["instrument", "/dev/zero"],
        &["instrument", "pipe"],
        &["new", "/dev/zero"],
        &["timeline", "/dev/zero"],
        &["merge", "/dev/zero", "pipe"],
    ] {
        let words = [&["20", env!("CARGO_BIN_EXE_prlx")], words].concat();
        let done = Command::new("timeout").args(&words).current_dir(&here).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{words:?}: {err}");
        assert!(err.contains("and a file is needed"), "{words:?}: {err}");
    }
}

#[test]
fn work_is_bounded_by_what_was_recorded() {
    let files = Path::new(ROOT).join("tests/traces/hostile");
    let here = folder("hostile", "work");
    for name in ["jumpself", "exp", "trips29"] {
        let [a, b] = ["t", "f"].map(|side| files.join(format!("{name}_{side}.prlx")).display().to_string());
        let begun = Instant::now();
        let (code, out, err) = prlx(&here, &["diff", &a, &b], &[]);
        assert!(matches!(code, Some(1..=3)), "{name}: {out}{err}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{name}: {:?}", begun.elapsed());
    }
}
