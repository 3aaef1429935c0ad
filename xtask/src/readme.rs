//! Pastes real output into pages.
//!
//! A page names a command between two comments:
//!
//! ```text
//! <!-- output: compare good.toml bad.toml -->
//! <!-- end -->
//! ```
//!
//! This task replaces everything between them by the output of `prlx` for that command, run in the page's
//! folder. `--check` changes nothing and fails if a page is stale.
//!
//! # Invariants
//! The command's exit code must be a verdict (0, 1, 3): the output of an error is never pasted.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stamps::{self, Inputs};

const OPEN: &str = "<!-- output: ";
const CLOSE: &str = "<!-- end -->";

/// Rewrites the pages, or checks them.
pub fn run(args: &[String]) -> Result<()> {
    let check = args.iter().any(|a| a == "--check");
    // As README.md has it: without a package or features. A check lints the same code if it changed, but
    // leaves the optimised program to users and benchmarks: the output is that of the program of the tests.
    let prlx = if check {
        let mut inputs = Inputs::new("README.md's first command");
        ["crates/cli", "crates/preload"].iter().try_for_each(|folder| inputs.program(folder))?;
        let lint = || crate::sh("cargo", &["clippy", "--quiet", "--", "--deny", "warnings"]);
        stamps::unless_passed("first-command", &inputs, lint)?;
        crate::built()?.join("prlx")
    } else {
        crate::sh("cargo", &["run", "--release", "--quiet", "--", "--version"])?;
        target_dir().join("release/prlx")
    };
    let mut stale = Vec::new();
    for page in pages()? {
        let text = fs::read_to_string(&page)?;
        let fresh = refresh(&text, |command| output(&prlx, &page, command))
            .with_context(|| page.display().to_string())?;
        if fresh != text {
            stale.push(page.display().to_string());
            if !check {
                fs::write(&page, fresh)?;
            }
        }
    }
    match (check, stale.is_empty()) {
        (_, true) => Ok(()),
        (false, false) => {
            eprintln!("rewritten: {}", stale.join(", "));
            Ok(())
        }
        (true, false) => bail!("stale output in {}: run `cargo xtask readme`", stale.join(", ")),
    }
}

/// The folder where cargo builds.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::root().join("target"), PathBuf::from)
}

fn pages() -> Result<Vec<PathBuf>> {
    let root = crate::root();
    let mut pages = vec![
        root.join("README.md"),
        root.join("docs/amd.md"),
        root.join("docs/tutorial.md"),
        root.join("docs/checks.md"),
        root.join("docs/ci.md"),
    ];
    for entry in fs::read_dir(root.join("examples"))? {
        pages.push(entry?.path().join("README.md"));
    }
    pages.retain(|p| p.is_file());
    pages.sort();
    Ok(pages)
}

fn refresh(text: &str, run: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        let command = rest[at + OPEN.len()..].split(" -->").next().unwrap_or_default();
        let head = at + OPEN.len() + command.len() + " -->".len();
        let end = rest[head..].find(CLOSE).with_context(|| format!("`{command}` has no `{CLOSE}`"))? + head;
        out.push_str(&rest[..head]);
        out.push_str("\n```console\n");
        out.push_str(&run(command)?);
        out.push_str("```\n");
        rest = &rest[end..];
    }
    out.push_str(rest);
    Ok(out)
}

fn output(prlx: &Path, page: &Path, command: &str) -> Result<String> {
    let folder = page.parent().context("a page is in a folder")?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let done = Command::new(prlx).args(&words).current_dir(folder).env("NO_COLOR", "1").output()?;
    let code = done.status.code();
    if !matches!(code, Some(0 | 1 | 3)) {
        bail!("`prlx {command}` ended with {}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    }
    let text = String::from_utf8(done.stdout)?;
    Ok(format!("$ prlx {command}\n{}", text.strip_suffix('\n').map_or(text.clone(), |t| format!("{t}\n"))))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_marked_part_changes() {
        let page = "a\n<!-- output: run x -->\nold\n<!-- end -->\nb\n";
        let fresh = super::refresh(page, |c| Ok(format!("$ prlx {c}\nnew\n"))).unwrap_or_default();
        assert_eq!(fresh, "a\n<!-- output: run x -->\n```console\n$ prlx run x\nnew\n```\n<!-- end -->\nb\n");
        assert!(super::refresh("<!-- output: run x -->", |_| Ok(String::new())).is_err());
    }
}
