//! Reads probe programs: from files, from the command line, and from the tools in the box.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use prlx_probe::lang::{ProbeError, Script, parse};
use prlx_probe::neutrino;
use prlx_probe::tools::TOOLS;

use crate::Monitor;
use crate::input::{FileKind, identify};

/// Maximum number of mistakes that are reported for a program.
const MISTAKES: usize = 10;

/// A program, and the words of the command line after it.
#[derive(Debug)]
pub struct SelectedScript<'a> {
    /// The parsed program.
    pub script: Arc<Script>,
    /// It is a tool in the box. Tools are for kernels of every kind, so a clause without a match is no
    /// surprise.
    pub is_tool: bool,
    /// The words after the program.
    pub rest: &'a [OsString],
}

/// A program and its name.
#[derive(Debug)]
pub struct NamedScript {
    /// A tool's name, a file's, or the program's text in one line.
    pub name: String,
    /// The parsed program.
    pub script: Arc<Script>,
}

/// Selects the program that a command line names: `file`, or the first of `words` as a tool's name or a
/// program's text.
///
/// # Errors
/// If there is none, it cannot be read, or it has mistakes.
pub fn select<'a>(
    words: &'a [OsString],
    file: Option<&Path>,
    monitor: &Monitor<'_>,
) -> Result<SelectedScript<'a>> {
    if let Some(path) = file {
        return Ok(SelectedScript { script: from_file(path, monitor)?, is_tool: false, rest: words });
    }
    let Some((first, rest)) = words.split_first() else {
        bail!("name a probe program or a tool, or a file with -f")
    };
    let text = first.to_str().ok_or_else(|| anyhow!("the probe program is not UTF-8"))?;
    if let Some((name, _, program)) = TOOLS.iter().find(|tool| tool.0 == text) {
        return Ok(SelectedScript { script: from_text(program, name)?, is_tool: true, rest });
    }
    let script = from_text(text, "program").map_err(|e| {
        let name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match (Path::new(text).is_file(), name) {
            (true, _) if identify(Path::new(text)).is_ok_and(|kind| kind == FileKind::LaunchFile) => {
                anyhow!(
                    "`{text}` is a launch file: name a probe program or a tool before it (`prlx probe list`)"
                )
            }
            (true, _) => {
                anyhow!("`{text}` is a file, not a program: use -f {text} to read a program from it")
            }
            (_, true) => anyhow!("there is no tool `{text}`: `prlx probe list` lists the tools"),
            _ => e,
        }
    })?;
    Ok(SelectedScript { script, is_tool: false, rest })
}

/// Reads the program that one word names: a file, a tool's name, or a program's text.
///
/// # Errors
/// If it cannot be read, or has mistakes.
pub fn named(word: &OsStr, monitor: &Monitor<'_>) -> Result<NamedScript> {
    let path = Path::new(word);
    if path.is_file() {
        let name = path.file_stem().unwrap_or(word).to_string_lossy().into_owned();
        return Ok(NamedScript { name, script: from_file(path, monitor)? });
    }
    let words = [word.to_owned()];
    let script = select(&words, None, monitor)?.script;
    let name = word.to_string_lossy().split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(NamedScript { name, script })
}

/// Reads a program of PRLX's language, or, if the file's name ends in `.toml`, of Neutrino's.
fn from_file(path: &Path, monitor: &Monitor<'_>) -> Result<Arc<Script>> {
    let text =
        prlx_driver::files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.display().to_string();
    if path.extension() != Some(OsStr::new("toml")) {
        return from_text(&text, &name);
    }
    from_neutrino(&text, &name, monitor)
}

/// Reads a program of Neutrino's.
pub(super) fn from_neutrino(text: &str, name: &str, monitor: &Monitor<'_>) -> Result<Arc<Script>> {
    let (script, warnings) = neutrino::read(text).map_err(|wrong| anyhow!(mistakes(&wrong, text, name)))?;
    if !warnings.is_empty() {
        monitor.warn(&mistakes(&warnings, text, name));
    }
    Ok(Arc::new(script))
}

/// Reads a program; the error shows each mistake in the text.
fn from_text(text: &str, name: &str) -> Result<Arc<Script>> {
    parse(text).map(Arc::new).map_err(|complaints| anyhow!(mistakes(&complaints, text, name)))
}

fn mistakes(complaints: &[ProbeError], text: &str, name: &str) -> String {
    let shown = complaints.iter().take(MISTAKES).map(|c| prlx_present::safe_lines(&c.render(text, name)));
    let mut out = shown.collect::<Vec<_>>().join("\n");
    if complaints.len() > MISTAKES {
        out += &format!("\nand {} more", complaints.len() - MISTAKES);
    }
    out.trim_end().to_owned()
}
