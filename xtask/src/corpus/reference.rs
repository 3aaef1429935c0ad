//! Computes inputs and expected results with each folder's `reference.py`.

use super::{Source, quiet};
use crate::setup::Tools;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::process::Command;

const RUNNER: &str = "xtask/py/reference.py";

/// Runs every `reference.py`; with `check`, returns the `.npy` files that differ.
///
/// Floats may differ in their last digits between machines, so close values count as equal.
pub fn all(tools: &Tools, sources: &[Source], check: bool) -> Result<Vec<String>> {
    let dirs: BTreeSet<_> = sources.iter().map(|s| &s.dir).collect();
    let dirs = dirs.into_iter().filter(|d| crate::root().join(d).join("reference.py").is_file());
    let mut command = Command::new(tools.python());
    command.current_dir(crate::root()).arg("-B").arg(RUNNER).args(check.then_some("--check")).args(dirs);
    let stale = quiet(&mut command).context("reference.py")?;
    Ok(stale.lines().map(str::to_owned).collect())
}
