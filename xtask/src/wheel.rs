//! `cargo xtask wheel`: the Python package as a wheel, and its tests.
//!
//! The wheel holds the native module, the programs `prlx` and `prlx-diff`, and the preload library. With
//! `--check`, it is packed from the programs of the tests, installed into an empty environment, and its tests
//! run there. `--triton` then runs the tests of Triton with every supported version of it, and `--torch`
//! those of PyTorch, which it installs first (3 GB; they need no GPU).
//!
//! # Invariants
//! The checked package finds nothing but what it installs, besides the packages that the tests need.
//!
//! # Limitations
//! `--check` does not run maturin's own packing, which would compile everything again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::setup::Tools;
use crate::{root, sh, sh_with, text};

/// The folder of the package.
const PACKAGE: &str = "crates/python";
/// Versions of Triton that are tested, besides that of `cargo xtask setup`.
const TRITON: [&str; 5] = ["3.4.0", "3.5.1", "3.7.1", "3.8.0", "3.9.0"];
/// The version of PyTorch that is tested.
const TORCH: &str = "torch==2.11.0";
/// What the package carries besides its native module.
const PROGRAMS: [&str; 3] = ["prlx", "prlx-diff", "libprlx_preload.so"];

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let tools = Tools::find()?;
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => release(&tools),
        ["--check"] => check(&tools),
        ["--triton"] => versions(&tools),
        ["--torch"] => torch(),
        _ => bail!("usage: cargo xtask wheel [--check|--triton|--torch]"),
    }
}

/// Builds the wheel that users get, for Linux with glibc 2.28 and later.
fn release(tools: &Tools) -> Result<()> {
    let zig = tools.script("cargo-zigbuild");
    let target = format!("{}-unknown-linux-gnu.2.28", std::env::consts::ARCH);
    let path =
        format!("{}:{}", tools.venv().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    if !zig.exists() {
        let pip = ["-m", "pip", "install", "--quiet", "ziglang==0.15.2", "cargo-zigbuild==0.24.1"];
        sh(text(&tools.python())?, &pip)?;
    }
    let build = ["zigbuild", "--profile", "dist", "--target", &target, "--package", "prlx-cli"];
    let more = ["--package", "prlx-preload", "--features", "prlx-cli/full"];
    sh_with(text(&zig)?, &[&build[..], &more[..]].concat(), &[("PATH", &path)])?;
    let triple = target.trim_end_matches(".2.28");
    carry(&crate::readme::target_dir().join(triple).join("dist"))?;
    let wheel = ["--profile", "dist", "--zig", "--compatibility", "manylinux_2_28"];
    println!("{}", maturin(tools, &wheel, &path)?.display());
    Ok(())
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

/// Packs a wheel, installs it into an empty environment, and runs its tests.
fn check(tools: &Tools) -> Result<()> {
    let wheel = quick(tools)?;
    let venv = crate::readme::target_dir().join("wheel-venv");
    sh("python3", &["-m", "venv", "--clear", text(&venv)?])?;
    let python = venv.join("bin/python");
    sh(text(&python)?, &["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", text(&wheel)?])?;
    // Without NumPy, as on a machine that has nothing else.
    sh(text(&python)?, &["-c", "import prlx; print('import prlx', prlx.__version__)"])?;
    sh(text(&venv.join("bin/prlx"))?, &["--version"])?;
    sh(text(&venv.join("bin/prlx-diff"))?, &["--version"])?;
    let tests = root().join(PACKAGE).join("tests");
    let (numba, torch) = (tests.join("test_numba.py"), tests.join("pytorch"));
    lend(tools.venv(), &venv)?;
    let pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider"];
    let others = [text(&tests)?, "--ignore", text(&numba)?, "--ignore", text(&torch)?];
    sh(text(&python)?, &[&pytest[..], &others[..]].concat())?;
    // Numba looks for libNVVM in its own environment.
    let site = site_packages(&venv)?;
    let words = [&pytest[..], &[text(&numba)?]].concat();
    sh_with(text(&tools.python())?, &words, &[("PYTHONPATH", text(&site)?)])
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
