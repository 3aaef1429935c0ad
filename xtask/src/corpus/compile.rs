//! Compiles sources to PTX: CUDA with nvcc, Triton with its own compiler.

use super::{Kind, Product, Source, clean::clean, parallel, put, quiet};
use crate::setup::Tools;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags for every CUDA source, after `-O3` or its own flags.
pub const NVCC: &[&str] = &["-ptx", "-lineinfo", "-std=c++17", "-frandom-seed=prlx"];

const TRITON: &str = "xtask/py/triton_ptx.py";

/// Makes every product; with `check`, returns the tracked ones that differ.
pub fn all(tools: &Tools, sources: &[Source], check: bool) -> Result<Vec<String>> {
    let jobs: Vec<(&Source, &Product)> =
        sources.iter().flat_map(|s| s.products.iter().map(move |p| (s, p))).collect();
    let stale = parallel(&jobs, |(source, product)| {
        let text = compile(tools, source, product)
            .with_context(|| format!("{} for {}", source.path().display(), product.arch))?;
        Ok(put(&product.path, &text, check && product.kept)?.then(|| product.path.display().to_string()))
    })?;
    Ok(stale.into_iter().flatten().collect())
}

fn compile(tools: &Tools, source: &Source, product: &Product) -> Result<String> {
    let scratch = Scratch::new(&crate::root().join(&source.dir))?;
    let folder = scratch.0.to_string_lossy().into_owned();
    let text = match source.kind {
        Kind::Cuda => nvcc(tools, source, product, &scratch.0)?,
        Kind::Triton => triton(tools, source, product, &scratch.0)?,
    };
    Ok(clean(&text, &folder))
}

/// The flags of a CUDA source for one product.
pub fn flags(source: &Source, product: &Product) -> Vec<String> {
    let mut flags = source.flags.clone().unwrap_or_else(|| vec!["-O3".to_owned()]);
    let debug = flags.iter().any(|f| f == "-G");
    flags.extend(NVCC.iter().filter(|f| !(debug && **f == "-lineinfo")).map(|f| (*f).to_owned()));
    flags.extend(product.define.map(|d| format!("-D{d}")));
    flags.push(format!("-arch={}", product.arch));
    flags
}

fn nvcc(tools: &Tools, source: &Source, product: &Product, dir: &Path) -> Result<String> {
    let mut command = Command::new(tools.program("nvcc"));
    command.current_dir(dir).args(flags(source, product)).args([source.file.as_str(), "-o", "out.ptx"]);
    quiet(&mut command)?;
    fs::read_to_string(dir.join("out.ptx")).context("nvcc wrote no PTX")
}

fn triton(tools: &Tools, source: &Source, product: &Product, dir: &Path) -> Result<String> {
    let mut command = Command::new(tools.python());
    command.current_dir(dir).arg(crate::root().join(TRITON)).args([source.file.as_str(), product.arch]);
    command.env("TRITON_CACHE_DIR", dir.join("cache")).env("PYTHONDONTWRITEBYTECODE", "1");
    quiet(&mut command)
}

/// A temporary folder for one compilation, with copies of the source's folder and of `include`.
///
/// Its path always has the same length, because `-G` builds contain it in their debug information.
struct Scratch(PathBuf);

impl Scratch {
    fn new(from: &Path) -> Result<Scratch> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("/tmp/prlx-{:010}-{count:06}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let scratch = Scratch(path);
        // Beside it the header of markers.
        for entry in fs::read_dir(from)?.chain(fs::read_dir(crate::root().join("include"))?) {
            let entry = entry?;
            let is_source = [".cu", ".cuh", ".h", ".hpp", ".py"]
                .iter()
                .any(|e| entry.path().to_string_lossy().ends_with(e));
            if is_source {
                fs::copy(entry.path(), scratch.0.join(entry.file_name()))?;
            }
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
