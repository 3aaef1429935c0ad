//! Checks that every launch file fits its module, and writes derived launch files.
//!
//! `launch.toml` runs the first product of a kernel. For each further tracked product this task derives a
//! launch file: `launch.sm_90a.toml`, with that module and the shared memory that it needs.

use super::{Kind, Source, put, quiet};
use crate::setup::Tools;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const CHECKER: &str = "xtask/py/check_launch.py";

/// Writes the derived launch files (or compares them), and checks all launch files.
pub fn check(tools: &Tools, sources: &[Source], check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for source in sources.iter().filter(|s| s.launched && s.is_listed()) {
        for product in source.products.iter().filter(|p| p.kept).skip(1) {
            let path = source.dir.join(format!("launch.{}.toml", product.arch));
            let text = derive(source, product.arch, &product.path)?;
            if put(&path, &text, check)? {
                stale.push(path.display().to_string());
            }
        }
    }
    if !stale.is_empty() {
        bail!("stale, derived from launch.toml:\n  {}", stale.join("\n  "));
    }
    let dirs: BTreeSet<_> = sources.iter().filter(|s| s.launched).map(|s| &s.dir).collect();
    let mut command = Command::new(tools.python());
    command.current_dir(crate::root()).arg("-B").arg(CHECKER).args(dirs);
    quiet(&mut command).map(drop)
}

/// Derives the launch file for another product of the same source.
fn derive(source: &Source, arch: &str, module: &Path) -> Result<String> {
    let path = crate::root().join(&source.dir).join("launch.toml");
    let base = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let shared = if source.kind == Kind::Triton { shared(module)? } else { None };
    let mut text = String::from("# Made from launch.toml by `cargo xtask corpus`.\n");
    for line in base.lines() {
        match line.split_once('=').map(|(key, _)| key.trim()) {
            Some("module") => text.push_str(&format!("module = \"{arch}.ptx\"\n")),
            Some("shared") if shared.is_some() => {}
            Some("block") => {
                text.push_str(&format!("{line}\n"));
                if let Some(shared) = &shared {
                    text.push_str(&format!("shared = {shared}\n"));
                }
            }
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    Ok(text)
}

/// Reads the shared memory size from the first line of a Triton module.
fn shared(module: &Path) -> Result<Option<String>> {
    let text = fs::read_to_string(crate::root().join(module)).context("a module that was just made")?;
    let mut words = text.lines().next().unwrap_or_default().split_whitespace().skip_while(|w| *w != "shared");
    Ok(words.nth(1).map(str::to_owned))
}
