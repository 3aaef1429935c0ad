//! Assembles PTX files with NVIDIA's assembler, which decides what is valid PTX.

use crate::corpus::{parallel, quiet};
use crate::setup::Tools;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the task on files, and on folders with `.ptx` files at any depth.
pub fn run(args: &[String]) -> Result<()> {
    let mut paths = Vec::new();
    for arg in args {
        collect(Path::new(arg), &mut paths)?;
    }
    assemble(&paths)?;
    eprintln!("{} modules assembled", paths.len());
    Ok(())
}

/// Assembles every file for the architecture of its `.target`. The error contains the messages of ptxas.
pub fn assemble(paths: &[PathBuf]) -> Result<()> {
    let tools = Tools::find()?;
    let ptxas = tools.program("ptxas");
    parallel(paths, |path| {
        let arch = target(path)?;
        let mut command = Command::new(&ptxas);
        command.arg(format!("-arch={arch}")).args(["-o", "/dev/null"]).arg(path);
        quiet(&mut command).with_context(|| path.display().to_string())
    })?;
    Ok(())
}

/// The architecture that a module's `.target` line names.
pub fn target(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = text.lines().find_map(|l| l.trim_start().strip_prefix(".target"));
    let arch = line.and_then(|l| l.split([',', ' ', '\t']).find(|w| !w.is_empty()));
    Ok(arch.with_context(|| format!("{} has no .target", path.display()))?.to_owned())
}

fn collect(path: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        into.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?;
    let mut entries = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|e| e == "ptx") {
            collect(&entry, into)?;
        }
    }
    Ok(())
}
