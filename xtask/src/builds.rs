//! Compares builds of the corpus' kernels at several optimisation levels (`xtask/py/builds.py` says how).
//!
//! `cargo xtask builds WORD…` compares only kernels whose name contains a word. CI compares [`FEW`].

use crate::setup::Tools;
use anyhow::{Context, Result};

/// One kernel for each matching rule: loops whose test moved, disappeared or was unrolled; recursion that
/// became a loop; calls in loops; comparisons that two lines share; waits; a lock; loops of functions that
/// one build inlined; stores of part of a register.
pub const FEW: &[&str] = &[
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
    let tools = Tools::find()?;
    let prlx = crate::built()?.join("prlx");
    let [python, nvcc] = [tools.python(), tools.program("nvcc")];
    let text = |path: &std::path::Path| {
        Ok::<_, anyhow::Error>(path.to_str().context("a path is not UTF-8")?.to_owned())
    };
    let [python, nvcc, prlx] = [text(&python)?, text(&nvcc)?, text(&prlx)?];
    let mut words = vec!["-B", "xtask/py/builds.py", &nvcc, &prlx];
    words.extend(args.iter().map(String::as_str));
    crate::sh(&python, &words)
}
