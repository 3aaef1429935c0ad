//! `prlx profile --machine-code`: the listing is NVIDIA's own (`cargo xtask setup`), where it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::nvidia::nvidia;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Notes of a kernel, by kind: how many, and the text.
fn notes(launch: &str, tools: &[(&str, &Path)]) -> Vec<(String, u64, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    command.args(["profile", "--machine-code", "--json"]).arg(format!("{ROOT}/{launch}"));
    // Nothing else is found.
    command.env("PATH", "").env_remove("CUDA_HOME").env_remove("CUDA_PATH").envs(tools.iter().copied());
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let json: Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |n: &Value, key: &str| n[key].as_str().unwrap_or_default().to_owned();
    let all = json["notes"].as_array().unwrap();
    all.iter().map(|n| (text(n, "kind"), n["count"].as_u64().unwrap(), text(n, "text"))).collect()
}

fn tools() -> Option<[PathBuf; 2]> {
    Some([nvidia("bin/ptxas")?, nvidia("bin/nvdisasm")?])
}

#[test]
fn regions_are_held_against_machine_code() {
    let Some([ptxas, nvdisasm]) = tools() else { return };
    let tools = [("PRLX_PTXAS", ptxas.as_path()), ("PRLX_NVDISASM", nvdisasm.as_path())];
    for (launch, of) in [("tests/cases/marks/plain.toml", 3), ("tests/cases/marks/pipeline.toml", 4)] {
        let all = notes(launch, &tools);
        let (_, count, text) =
            all.iter().find(|n| n.0 == "machine-code").unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!(*count, of, "{text}");
        assert!(text.contains(&format!("{of} found in the machine code,")), "{text}");
    }
}

#[test]
fn a_missing_disassembler_is_said() {
    let nowhere = Path::new("/nonexistent/nvdisasm");
    let all = notes("tests/cases/marks/plain.toml", &[("PRLX_NVDISASM", nowhere), ("PRLX_PTXAS", nowhere)]);
    let said = all.iter().find(|n| n.0 == "machine-code").map(|n| n.2.as_str()).unwrap_or_default();
    assert!(said.contains("was not compared with its machine code, plain: there is no ptxas"), "{all:?}");
}
