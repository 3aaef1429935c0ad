//! Outputs that hold times differ between schedules, and the cause says so.

use std::fs;
use std::path::{Path, PathBuf};

use crate::programs::comparison;

#[test]
fn a_time_in_an_output_is_a_cause_of_its_own() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("clocks");
    fs::create_dir_all(&folder).unwrap();
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/cuda/clock_stamps");
    let launch = fs::read_to_string(kernel.join("launch.toml")).unwrap();
    let module = kernel.join("sm_80.ptx").canonicalize().unwrap();
    for seed in [0, 1] {
        let launch = launch.replace("sm_80.ptx", &module.display().to_string());
        let launch = launch.replace("expect = \"expect.npy\"", "");
        let launch = launch.replacen("block  = 64", &format!("block  = 64\nseed = {seed}"), 1);
        fs::write(folder.join(format!("{seed}.toml")), launch).unwrap();
    }
    let json = comparison(&folder, &["0.toml", "1.toml"]);
    let causes = json["launches"][0]["causes"].as_array().unwrap();
    assert!(!causes.is_empty() && causes.iter().all(|cause| cause["class"] == "timing"), "{json:#}");
    let source = fs::read_to_string(kernel.join("kernel.cu")).unwrap();
    let reads = |line: u64| source.lines().nth(line as usize - 1).unwrap().contains("clock");
    let places = causes.iter().flat_map(|cause| cause["places"].as_array().unwrap());
    assert!(places.into_iter().all(|p| reads(p["location"]["line"].as_u64().unwrap())), "{json:#}");
}
