//! Runs the fuzz targets on every input in `fuzz/corpus`, without libFuzzer.
//!
//! An input that failed once and was fixed stays in `fuzz/corpus`, and fails here if it fails again.

use std::fs;
use std::path::Path;

use crate::fuzz;

/// Runs a target on all that is kept of it.
fn replay(name: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{name} keeps nothing");
    for file in files {
        // A test that fails shows what was printed last.
        println!("{}", file.display());
        run(&fs::read(&file).unwrap());
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { replay(stringify!($name), fuzz::$name::run); })*

        #[test]
        fn every_target_is_here() {
            let mut here = vec![$(stringify!($name)),*];
            here.sort_unstable();
            let manifest = include_str!("../../../../fuzz/Cargo.toml").parse::<toml::Table>().unwrap();
            let bins = manifest["bin"].as_array().unwrap();
            let mut there: Vec<&str> = bins.iter().map(|b| b["name"].as_str().unwrap()).collect();
            there.sort_unstable();
            assert_eq!(here, there);
        }
    };
}

targets! {
    amd_object amdgpu_inst checks image_read instrument_vs_observe launch_file memory_changes
    probe_program ptx_read timeline_read trace_read tracks_read v1_read
}
