//! The kernels of `tests/kernels` that run on the CPU device, for the benchmarks, which take this in by
//! `#[path]`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Launches with fewer warp instructions say more of how a kernel begins and ends than of what it does.
pub const LEAST: u64 = 10_000;

/// Names, as `cuda/saxpy`, with their launch files; what `refused.txt` lists is left out. Those of
/// `bench/launches`, which are kernels of the corpus on more data, come as `large/…`.
pub fn kernels() -> Result<Vec<(String, PathBuf)>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = top.join("tests/kernels");
    let refused = std::fs::read_to_string(root.join("refused.txt")).context("tests/kernels/refused.txt")?;
    let refused: Vec<&str> = refused.lines().filter_map(|l| l.split_whitespace().next()).collect();
    let mut all = Vec::new();
    for kind in ["cuda", "triton"] {
        for entry in std::fs::read_dir(root.join(kind)).with_context(|| format!("tests/kernels/{kind}"))? {
            let entry = entry?;
            let name = format!("{kind}/{}", entry.file_name().to_string_lossy());
            let launch = entry.path().join("launch.toml");
            if launch.is_file() && !refused.contains(&name.as_str()) {
                all.push((name, launch));
            }
        }
    }
    for entry in std::fs::read_dir(top.join("bench/launches")).context("bench/launches")? {
        let launch = entry?.path();
        if launch.is_file() {
            all.push((format!("large/{}", launch.file_stem().unwrap_or_default().to_string_lossy()), launch));
        }
    }
    all.sort();
    Ok(all)
}

/// The mean of ratios.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0);
    for ratio in ratios {
        sum += ratio.ln();
        n += 1;
    }
    (sum / f64::from(n.max(1))).exp()
}
