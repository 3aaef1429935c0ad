//! `cargo xtask dist`: one archive with everything that a machine without Rust needs.
//!
//! `target/package/prlx-VERSION-ARCH-linux.tar.gz` holds the programs `prlx` and `prlx-diff` with all formats,
//! the preload library, the header of markers, man pages, completions for bash, zsh and fish, the licences
//! and the README.
//!
//! # Invariants
//! The programs name the commit that they were built from; the tree must have no uncommitted change.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::corpus::quiet;
use crate::{root, sh, sh_with, text};

/// Shells that completions are made for.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
/// Files of the repository, and the folder of the archive that each goes to.
const FILES: [(&str, &str); 4] =
    [("LICENSE-APACHE", ""), ("LICENSE-MIT", ""), ("README.md", ""), ("include/prlx.cuh", "include")];

/// Runs the task.
pub fn run(_: &[String]) -> Result<()> {
    let commit = commit()?;
    let build = ["build", "--profile", "dist", "--package", "prlx-cli", "--package", "prlx-preload"];
    sh_with(
        "cargo",
        &[&build[..], &["--features", "prlx-cli/full"]].concat(),
        &[("PRLX_COMMIT", commit.as_str())],
    )?;
    let built = crate::readme::target_dir().join("dist");
    let name = format!("prlx-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let folder = root().join("target/package").join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    for (program, to) in [("prlx", "bin"), ("prlx-diff", "bin"), ("libprlx_preload.so", "lib")] {
        put(&built.join(program), &folder.join(to))?;
    }
    for (file, to) in FILES {
        put(&root().join(file), &folder.join(to))?;
    }
    let prlx = built.join("prlx");
    let man = folder.join("share/man/man1");
    fs::create_dir_all(&man)?;
    quiet(Command::new(&prlx).arg("man").arg(&man))?;
    let completions = folder.join("share/completions");
    fs::create_dir_all(&completions)?;
    for shell in SHELLS {
        let script = quiet(Command::new(&prlx).args(["completions", shell]))?;
        fs::write(completions.join(format!("prlx.{shell}")), script)?;
    }
    // The version has dots, so this is no change of an extension.
    let archive = root().join("target/package").join(format!("{name}.tar.gz"));
    let parent = folder.parent().context("a folder has a parent")?;
    sh("tar", &["-C", text(parent)?, "-czf", text(&archive)?, &name])?;
    println!("{} ({} KiB)", archive.display(), fs::metadata(&archive)?.len() >> 10);
    Ok(())
}

/// The commit of a clean tree.
pub fn commit() -> Result<String> {
    let git = |args: &[&str]| quiet(Command::new("git").args(args).current_dir(root()));
    if !git(&["status", "--porcelain", "--untracked-files=no"])?.trim().is_empty() {
        bail!("the tree has uncommitted changes: commit them, so that the archive can name its commit");
    }
    Ok(git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned())
}

/// Copies a file into a folder, which it makes.
fn put(file: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let to = folder.join(file.file_name().context("a file has a name")?);
    fs::copy(file, &to).with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
    Ok(())
}
