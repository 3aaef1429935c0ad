//! `cargo xtask wheel`: the Python package as a wheel, and its tests.
//!
//! The wheel holds the native module, the programs `prlx` and `prlx-diff`, and the preload library.
//! cargo-zigbuild links them for glibc 2.28, with the linker and the headers of the package `ziglang`. The
//! task checks the files and the binaries in the wheel, installs it into an empty environment, tries it
//! there, and runs its tests. `--check` does the same with the programs of the tests, which need the glibc of
//! this machine. `--wheel FILE` only checks a wheel for users that is built already. `--triton` then runs the
//! tests of Triton with every supported version of it, and `--torch` those of PyTorch, which it installs
//! first (3 GB; they need no GPU).
//!
//! # Invariants
//! The checked package finds nothing but what it installs, besides the packages that the tests need.
//! The wheel for users needs nothing newer than [`GLIBC`], and no library that a bare system may not have.
//!
//! # Limitations
//! `--check` does not run maturin's own packing, which would compile everything again.

mod contents;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::glibc::Version;
use crate::setup::Tools;
use crate::{root, sh, sh_with, text};

/// The folder of the package.
const PACKAGE: &str = "crates/python";
/// Versions of Triton that are tested, besides that of `cargo xtask setup`.
const TRITON: [&str; 5] = ["3.4.0", "3.5.1", "3.7.1", "3.8.0", "3.9.0"];
/// The version of PyTorch that is tested.
const TORCH: &str = "torch==2.11.0";
/// The packages that link for an older glibc.
const ZIG: [&str; 2] = ["ziglang==0.15.2", "cargo-zigbuild==0.24.1"];
/// The newest glibc that the wheel for users may need: major, minor.
const GLIBC: Version = (2, 28);
/// What the package carries besides its native module.
const PROGRAMS: [&str; 3] = ["prlx", "prlx-diff", "libprlx_preload.so"];

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let tools = Tools::find()?;
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check(&tools, &release(&tools)?, Some(GLIBC)),
        ["--check"] => check(&tools, &quick(&tools)?, None),
        ["--wheel", wheel] => check(&tools, Path::new(wheel), Some(GLIBC)),
        ["--triton"] => versions(&tools),
        ["--torch"] => torch(),
        _ => bail!("usage: cargo xtask wheel [--check|--wheel FILE|--triton|--torch]"),
    }
}

/// Builds the wheel that users get, for Linux with [`GLIBC`] and later. Returns its path.
///
/// The programs name the commit that they are built from, unless the tree has uncommitted changes.
fn release(tools: &Tools) -> Result<PathBuf> {
    let zig = tools.script("cargo-zigbuild");
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let (major, minor) = GLIBC;
    let target = format!("{triple}.{major}.{minor}");
    let path =
        format!("{}:{}", tools.venv().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    if !zig.exists() {
        sh(text(&tools.python())?, &[&["-m", "pip", "install", "--quiet"], &ZIG[..]].concat())?;
    }
    let build = ["zigbuild", "--profile", "dist", "--target", &target, "--package", "prlx-cli"];
    let more = ["--package", "prlx-preload", "--features", "prlx-cli/full"];
    let mut env = vec![("PATH", path.as_str())];
    let commit = crate::dist::commit().ok();
    env.extend(commit.as_deref().map(|commit| ("PRLX_COMMIT", commit)));
    sh_with(text(&zig)?, &[&build[..], &more[..]].concat(), &env)?;
    carry(&crate::readme::target_dir().join(triple).join("dist"))?;
    let platform = format!("manylinux_{major}_{minor}");
    // Other flags than those of the programs: in one folder, each build would discard the other's.
    let target = crate::readme::target_dir().join("wheel-module");
    let how = ["--profile", "dist", "--zig", "--compatibility", &platform];
    maturin(tools, &[&how[..], &["--target-dir", text(&target)?]].concat(), &path)
}

/// Copies the programs into the package.
fn carry(from: &Path) -> Result<()> {
    let to = root().join(PACKAGE).join("python/prlx/bin");
    fs::create_dir_all(&to)?;
    for name in PROGRAMS {
        // Tests build the library only as a dependency, and leave what an earlier build put beside it.
        let places = [from.join(name), from.join("deps").join(name)];
        let built = places.iter().filter_map(|p| Some((fs::metadata(p).ok()?.modified().ok()?, p)));
        let (_, from) = built.max().with_context(|| format!("{name} is not built"))?;
        let to = to.join(name);
        if to.exists() {
            fs::remove_file(&to)?;
        }
        fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        sh("strip", &["--strip-debug", text(&to)?])?;
    }
    Ok(())
}

/// Makes an empty folder for the wheel.
fn empty_folder(name: &str) -> Result<PathBuf> {
    let out = crate::readme::target_dir().join(name);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    Ok(out)
}

/// Builds the wheel. Returns its path.
fn maturin(tools: &Tools, options: &[&str], path: &str) -> Result<PathBuf> {
    let out = empty_folder("wheels")?;
    let manifest = root().join(PACKAGE).join("Cargo.toml");
    let build = ["build", "--manifest-path", text(&manifest)?, "--out", text(&out)?];
    sh_with(text(&tools.script("maturin"))?, &[&build[..], options].concat(), &[("PATH", path)])?;
    only_entry(&out)
}

/// Packs the wheel from what the tests build. Returns its path.
fn quick(tools: &Tools) -> Result<PathBuf> {
    let built = crate::built()?;
    carry(&built)?;
    let native = built.join("_native.abi3.so");
    fs::copy(built.join("lib_native.so"), &native).context("the native module is not built")?;
    sh("strip", &["--strip-debug", text(&native)?])?;
    let (out, info) = (empty_folder("wheels")?, empty_folder("wheel-info")?);
    let (python, package) = (tools.python(), root().join(PACKAGE));
    let manifest = package.join("Cargo.toml");
    let to = ["--metadata-directory", text(&info)?, "--manifest-path", text(&manifest)?];
    let how = ["--interpreter", text(&python)?, "--compatibility", "linux"];
    let words = [&["pep517", "write-dist-info"], &to[..], &how[..]].concat();
    sh(text(&tools.script("maturin"))?, &words)?;
    let info = only_entry(&info)?;
    let script = root().join("xtask/py/quick_wheel.py");
    let words = [text(&script)?, text(&package)?, text(&native)?, text(&info)?, text(&out)?];
    sh(text(&python)?, &words)?;
    only_entry(&out)
}

/// The entry of a folder that has one.
fn only_entry(folder: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(folder)?.next();
    Ok(entry.with_context(|| format!("{} is empty", folder.display()))??.path())
}

/// Checks a wheel: what is inside, whether it works in an empty environment, and the tests of the package.
/// Prints a table. `limit` is the newest glibc that its binaries may need.
fn check(tools: &Tools, wheel: &Path, limit: Option<Version>) -> Result<()> {
    let mut rows = contents::inspect(text(&tools.python())?, wheel, limit)?;
    let (venv, tried) = trial::install(wheel, limit.is_some())?;
    rows.extend(tried);
    trial::tests(tools, &venv)?;
    rows.push(("tests of the package".into(), "passed".into()));
    println!("| checked | result |\n|---|---|");
    rows.iter().for_each(|(what, result)| println!("| {what} | {result} |"));
    println!("{}", wheel.display());
    Ok(())
}

/// Runs the tests of Triton with every version that the package supports.
fn versions(tools: &Tools) -> Result<()> {
    let site = site_packages(&crate::readme::target_dir().join("wheel-venv"))?;
    let tests = root().join(PACKAGE).join("tests/test_triton.py");
    println!("| Triton | tests |\n|---|---|");
    for version in TRITON {
        let folder = crate::readme::target_dir().join(format!("triton-{version}"));
        let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", text(&folder)?];
        sh(text(&tools.python())?, &[&pip[..], &[&format!("triton=={version}")]].concat())?;
        let path = format!("{}:{}", site.display(), folder.display());
        let pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", text(&tests)?];
        sh_with(text(&tools.python())?, &pytest, &[("PYTHONPATH", &path)])?;
        println!("| {version} | passed |");
        fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

/// Runs the cases of `tests/field/triton` from Python and prints their table, with the package that `--check`
/// installed.
pub fn field() -> Result<()> {
    let python = crate::readme::target_dir().join("wheel-venv/bin/python");
    let tests = root().join(PACKAGE).join("tests/test_field.py");
    sh(text(&python)?, &[text(&tests)?])
}

/// Runs the tests of PyTorch in an environment of their own, with the package that `--check` installed.
fn torch() -> Result<()> {
    let site = site_packages(&crate::readme::target_dir().join("wheel-venv"))?;
    let venv = crate::readme::target_dir().join("torch-venv");
    let python = venv.join("bin/python");
    if !python.exists() {
        sh("python3", &["-m", "venv", text(&venv)?])?;
    }
    sh(text(&python)?, &["-m", "pip", "install", "--quiet", TORCH, "numpy", "pytest"])?;
    let tests = root().join(PACKAGE).join("tests/pytorch");
    let pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", text(&tests)?];
    sh_with(text(&python)?, &pytest, &[("PYTHONPATH", text(&site)?)])
}

/// Lets an environment import the packages of another one, after its own.
fn lend(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (site_packages(from)?, site_packages(to)?);
    fs::write(to.join("lent.pth"), format!("{}\n", from.display()))?;
    Ok(())
}

fn site_packages(venv: &Path) -> Result<PathBuf> {
    let lib = venv.join("lib");
    let entries = fs::read_dir(&lib).with_context(|| format!("cannot list {}", lib.display()))?;
    let found = entries.filter_map(|e| Some(e.ok()?.path().join("site-packages"))).find(|p| p.is_dir());
    found.with_context(|| format!("no packages in {}", lib.display()))
}
