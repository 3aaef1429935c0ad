//! Compiles the corpus' CUDA kernels as HIP for AMD's targets and runs them on the CPU device
//! (`xtask/py/amd_corpus.py` says how): `cargo xtask amd-corpus`.
//!
//! `cargo xtask amd-corpus WORD…` takes only kernels whose name contains a word, and `--target gfx942` one
//! target. With `--check`, as in CI, nothing runs if that passed before on the same kernels, compiler and
//! sources of PRLX (`stamps`).

use crate::stamps::{self, Inputs};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

const CLANG: &str = "clang-22";

/// Kernels, what is compiled beside them, and the script.
const INPUTS: &[&str] = &[
    "tests/kernels/cuda",
    "tests/kernels/amd/hip",
    "tests/kernels/amd/corpus.txt",
    "tests/kernels/amd/corpus.prlx",
    "xtask/py/amd_corpus.py",
];

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (check, words): (Vec<_>, Vec<_>) = args.iter().map(String::as_str).partition(|arg| *arg == "--check");
    if check.is_empty() {
        return compare(&words);
    }
    let mut inputs = Inputs::new(&format!("{:?}", crate::FULL));
    inputs.bytes(crate::corpus::quiet(Command::new(CLANG).arg("--version"))?.as_bytes());
    INPUTS.iter().try_for_each(|path| inputs.path(Path::new(path)))?;
    inputs.program("crates/cli")?;
    stamps::unless_passed("amd-corpus", &inputs, || compare(&words))
}

fn compare(words: &[&str]) -> Result<()> {
    let tools = crate::setup::Tools::find()?;
    let (python, prlx) = (tools.python(), crate::built()?.join("prlx"));
    let all = [&["-B", "xtask/py/amd_corpus.py", CLANG, crate::text(&prlx)?], words].concat();
    crate::sh(crate::text(&python)?, &all)
}
