//! Packs a folder that runs on a machine with a GPU, without Rust and without this repository: `prlx`, its
//! preload library, the corpus, the examples, programs that do not know PRLX, and scripts
//! (`xtask/py/gpu_*.py`).
//!
//! `cargo xtask gpu-bundle [FOLDER]` fills the folder (`target/gpu-bundle`). There, `python3 gpu_bundle.py`
//! and `python3 gpu_programs.py` print the tables. Kernels are instrumented and assembled there, as a user
//! does it.
//!
//! # Invariants
//! The binaries need no newer glibc than [`GLIBC`]. The bundle has at most [`MOST`] bytes.

use crate::{glibc, root, sh};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// The binaries in the bundle.
const BINARIES: [&str; 2] = ["prlx", "libprlx_preload.so"];
/// The scripts in the bundle.
const SCRIPTS: [&str; 5] =
    ["gpu_bundle.py", "gpu_programs.py", "gpu_probes.py", "gpu_markers.py", "launch_price.py"];
/// The newest glibc that the binaries may need, that of Ubuntu 22.04: major, minor.
const GLIBC: (u32, u32) = (2, 35);
/// Maximum size of the bundle, in bytes.
const MOST: u64 = 60 << 20;
/// Extensions of the files that a launch needs.
const KINDS: [&str; 3] = ["toml", "ptx", "npy"];
/// Extensions of the sources of programs.
const SOURCES: [&str; 3] = ["cu", "cuh", "py"];
/// The folder of kernels that launches of `bench/overhead` name: here, and in the bundle.
const KERNELS: [&str; 2] = ["../../tests/kernels/", "../kernels/"];

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let named = args.first().map_or("target/gpu-bundle", String::as_str);
    let bundle = root().join(named);
    if bundle.exists() {
        fs::remove_dir_all(&bundle).with_context(|| format!("cannot remove {}", bundle.display()))?;
    }
    fs::create_dir_all(&bundle)?;
    sh("cargo", &["build", "--release", "-p", "prlx-cli", "-p", "prlx-preload"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let mut newest = (0, 0);
    for name in BINARIES {
        let binary = bundle.join(name);
        fs::copy(target.join("release").join(name), &binary)
            .with_context(|| format!("cannot copy {name}"))?;
        // Its debug information is most of it.
        sh("strip", &["--strip-debug", &binary.to_string_lossy()])?;
        let needs = glibc::needs(&binary)?.glibc.unwrap_or_default();
        if needs > GLIBC {
            bail!(
                "{name} needs glibc {}.{}, newer than {}.{}: build it on an older system, or with cargo-zigbuild \
                 (`--target x86_64-unknown-linux-gnu.2.31`, which needs that target's std from rustup)",
                needs.0,
                needs.1,
                GLIBC.0,
                GLIBC.1
            );
        }
        newest = newest.max(needs);
    }
    for script in SCRIPTS {
        fs::copy(root().join("xtask/py").join(script), bundle.join(script))?;
    }
    copy(&root().join("tests/kernels"), &bundle.join("kernels"), &KINDS)?;
    // With their sources: two builds compare by what was edited.
    copy(&root().join("examples"), &bundle.join("examples"), &[&KINDS[..], &SOURCES[..]].concat())?;
    copy(&root().join("tests/cases/probe"), &bundle.join("probes"), &["prlx"])?;
    copy(&root().join("tests/cases/marks"), &bundle.join("marks"), &KINDS)?;
    copy(&root().join("tests/programs/cuda"), &bundle.join("programs"), &SOURCES)?;
    overhead(&root().join("bench/overhead"), &bundle.join("overhead"))?;
    copy(&root().join("bench/suite"), &bundle.join("suite"), &[&KINDS[..], &["py"]].concat())?;
    copy(&root().join("bench/torch"), &bundle.join("torch"), &KINDS)?;
    copy(&root().join("bench/launch_price"), &bundle.join("launch_price"), &SOURCES)?;
    copy(&root().join("bench/markers"), &bundle.join("markers"), &KINDS)?;
    fs::create_dir_all(bundle.join("approx"))?;
    for file in ["approx.py", "approx.ptx"] {
        fs::copy(root().join("bench/approx").join(file), bundle.join("approx").join(file))?;
    }
    for list in ["schedule.txt", "refused.txt"] {
        fs::copy(root().join("tests/kernels").join(list), bundle.join("kernels").join(list))?;
    }
    let (files, bytes) = size(&bundle)?;
    if bytes > MOST {
        bail!("the bundle has {bytes} bytes, more than {MOST}");
    }
    let (major, minor) = newest;
    let there = SCRIPTS.map(|s| format!("python3 {s}")).join(", ");
    eprintln!("{named}: {files} files, {} MiB, needs glibc {major}.{minor}; there: {there}", bytes >> 20);
    Ok(())
}

/// Copies files with some extensions, recursively.
fn copy(from: &Path, to: &Path, kinds: &[&str]) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let (path, name) = { entry.map(|e| (e.path(), e.file_name()))? };
        if path.is_dir() {
            copy(&path, &to.join(name), kinds)?;
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| kinds.contains(&e)) {
            fs::create_dir_all(to)?;
            fs::copy(&path, to.join(name)).with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// Copies the launches whose overhead is measured, and the script that makes their inputs.
fn overhead(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let path = entry?.path();
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if let ("toml" | "py", Some(name)) = (kind, path.file_name()) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            fs::write(to.join(name), text.replace(KERNELS[0], KERNELS[1]))?;
        }
    }
    Ok(())
}

fn size(folder: &Path) -> Result<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (n, size) =
            if entry.path().is_dir() { size(&entry.path())? } else { (1, entry.metadata()?.len()) };
        files += n;
        bytes += size;
    }
    Ok((files, bytes))
}
