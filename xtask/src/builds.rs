//! Compares builds of the corpus' kernels at several optimisation levels (`xtask/py/builds.py` says how).
//!
//! `cargo xtask builds WORD…` compares only kernels whose name contains a word. `--few` compares [`FEW`], as
//! CI does, unless that passed before on the same kernels, compilers and sources of PRLX (`stamps`).
//! `--level LEVEL` compares at that level.

use crate::setup::Tools;
use crate::stamps::{self, Inputs};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// One kernel for each matching rule: loops whose test moved, disappeared or was unrolled; recursion that
/// became a loop; calls in loops; comparisons that two lines share; waits; a lock; loops of functions that
/// one build inlined; stores of part of a register.
const FEW: &[&str] = &[
    "attention",
    "bulk_copy",
    "cluster_norm",
    "cooperative_groups",
    "gemm_tma",
    "histogram_shared",
    "mbarrier_pipeline",
    "nbody",
    "rare_integer",
    "recursion",
    "simd_video",
    "spin_lock",
    "state_machine",
    "templates",
    "tma_swizzles",
    "union_find",
    "warp_specialised",
];

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (mut level, mut few, mut words) = ("path", false, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--level" => level = args.next().context("--level takes a level")?,
            "--few" => few = true,
            flag if flag.starts_with('-') => bail!("no option {flag}"),
            word => words.push(word),
        }
    }
    if !few {
        return compare(level, &words);
    }
    let mut inputs = Inputs::new(&format!("{FEW:?} {:?}", crate::FULL));
    inputs.bytes(host_compiler()?.as_bytes());
    INPUTS.iter().try_for_each(|path| inputs.path(Path::new(path)))?;
    inputs.program("crates/cli")?;
    let stamp = if level == "path" { "builds".to_owned() } else { format!("builds-{level}") };
    stamps::unless_passed(&stamp, &inputs, || compare(level, FEW))
}

/// The kernels, what may differ, and the script that compares.
const INPUTS: &[&str] = &["tests/kernels/cuda", "tests/kernels/builds.txt", "xtask/py/builds.py"];

/// The version of the compiler whose headers nvcc includes.
fn host_compiler() -> Result<String> {
    crate::corpus::quiet(Command::new("g++").arg("-dumpfullversion"))
}

/// Compares the builds of the kernels whose names contain a word; of all kernels without words.
fn compare(level: &str, words: &[&str]) -> Result<()> {
    let tools = Tools::find()?;
    let [python, nvcc, prlx] = [tools.python(), tools.program("nvcc"), crate::built()?.join("prlx")];
    let mut all = vec!["-B", "xtask/py/builds.py", crate::text(&nvcc)?, crate::text(&prlx)?];
    all.extend(["--level", level]);
    all.extend(words);
    crate::sh(crate::text(&python)?, &all)
}
