//! Installs a wheel into an empty environment, tries it there, and runs the tests of the package.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{PACKAGE, lend, site_packages};
use crate::corpus::quiet;
use crate::setup::Tools;
use crate::{root, sh, sh_with, text};

/// Maximum time of `import prlx` of a wheel for users, in seconds.
const IMPORT: f64 = 0.2;
/// Prints how long `import prlx` takes, with the native module, which the first use loads. In seconds.
const TIMED: &str =
    "import time; t = time.perf_counter(); import prlx; prlx.Kernel; print(time.perf_counter() - t)";
/// The example that is tried: a kernel, and the same kernel with a defect.
const LAUNCHES: [&str; 2] = ["examples/threshold/good.toml", "examples/threshold/bad.toml"];

/// Installs a wheel into an empty environment without NumPy and tries its programs and its module. Returns
/// the environment, and rows of a table: what was checked, and the result.
///
/// # Errors
/// If something does not work. With `fast` also if `import prlx` takes more than [`IMPORT`]: an unoptimised
/// module needs longer.
pub fn install(wheel: &Path, fast: bool) -> Result<(PathBuf, Vec<(String, String)>)> {
    let venv = crate::readme::target_dir().join("wheel-venv");
    sh("python3", &["-m", "venv", "--clear", text(&venv)?])?;
    let python = venv.join("bin/python");
    sh(text(&python)?, &["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", text(wheel)?])?;
    let run = |program: &str, words: &[&str]| {
        eprintln!("+ {program} {}", words.join(" "));
        quiet(Command::new(venv.join("bin").join(program)).args(words).current_dir(root()))
            .with_context(|| format!("{program} {}", words.join(" ")))
    };
    let mut rows = Vec::new();
    for program in ["prlx", "prlx-diff"] {
        let version = run(program, &["--version"])?;
        rows.push((format!("`{program} --version`"), version.lines().next().unwrap_or_default().to_owned()));
    }
    run("prlx", &["doctor"])?;
    rows.push(("`prlx doctor`".into(), "exit code 0".into()));
    let taken = import(&python)?;
    if fast && taken > IMPORT {
        bail!("`import prlx` takes {taken:.3} s, more than {IMPORT} s");
    }
    rows.push(("`import prlx; prlx.Kernel` without NumPy".into(), format!("{taken:.3} s")));
    run("prlx", &["run", LAUNCHES[0]])?;
    run("prlx", &["compare", LAUNCHES[0], LAUNCHES[0]])?;
    let words = ["compare", LAUNCHES[0], LAUNCHES[1]];
    let differs = Command::new(venv.join("bin/prlx")).args(words).current_dir(root()).output()?;
    if differs.status.code() != Some(1) {
        bail!("prlx {}: {}, not exit code 1", words.join(" "), differs.status);
    }
    rows.push(("`prlx run`, `prlx compare` of an example".into(), "run; same; differs".into()));
    let library = site_packages(&venv)?.join("prlx/bin/libprlx_preload.so");
    let loaded = Command::new(&python).args(["-c", ""]).env("LD_PRELOAD", &library).output()?;
    if !loaded.status.success() || !loaded.stderr.is_empty() {
        bail!("libprlx_preload.so does not load: {}", String::from_utf8_lossy(&loaded.stderr));
    }
    rows.push(("a program with `libprlx_preload.so`".into(), "exit code 0, no message".into()));
    Ok((venv, rows))
}

/// The shortest of five times of `import prlx`, in seconds. The first import compiles the modules to `.pyc`
/// files.
fn import(python: &Path) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        let taken = quiet(Command::new(python).args(["-c", TIMED]))?;
        best = best.min(taken.trim().parse().context("no time of an import")?);
    }
    Ok(best)
}

/// Runs the tests of the package in the environment of [`install`], with the packages that the tests need.
pub fn tests(tools: &Tools, venv: &Path) -> Result<()> {
    let python = venv.join("bin/python");
    let tests = root().join(PACKAGE).join("tests");
    let (numba, torch) = (tests.join("test_numba.py"), tests.join("pytorch"));
    lend(tools.venv(), venv)?;
    let pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider"];
    let others = [text(&tests)?, "--ignore", text(&numba)?, "--ignore", text(&torch)?];
    sh(text(&python)?, &[&pytest[..], &others[..]].concat())?;
    // Numba looks for libNVVM in its own environment.
    let site = site_packages(venv)?;
    let words = [&pytest[..], &[text(&numba)?]].concat();
    sh_with(text(&tools.python())?, &words, &[("PYTHONPATH", text(&site)?)])
}
