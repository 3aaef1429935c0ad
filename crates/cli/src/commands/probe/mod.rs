//! `prlx probe`: runs a probe program, and what else there is to do with one.

mod app;
mod check;
pub mod engine;
mod explain;
mod list;
mod place;
mod run;
mod show;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use prlx_driver::Job;
use prlx_isa::view;
use prlx_plan::{Filter, RecordingRequest};
use prlx_probe::lang::{Complaint, Script, parse};
use prlx_probe::neutrino;
use prlx_probe::tools::TOOLS;

use crate::args::{ProbeArgs, ProbeCommand};
use crate::code;
use crate::ui::Ui;

/// Most mistakes that are told of a program.
const MISTAKES: usize = 10;

/// Runs it.
pub fn run(args: &ProbeArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.also {
        None => run::run(args, ui),
        Some(ProbeCommand::List) => list::run(),
        Some(ProbeCommand::Check(args)) => check::run(args, ui),
        Some(ProbeCommand::Explain(args)) => explain::run(args, ui),
        Some(ProbeCommand::Show(args)) => show::run(args, ui),
    }
}

/// A program, and what came after it on the command line.
struct Given<'a> {
    script: Arc<Script>,
    /// It is a tool in the box.
    tool: bool,
    rest: &'a [OsString],
}

/// The program that the user named: a file, or the first word as a tool's name or as a text.
fn given<'a>(words: &'a [OsString], file: Option<&Path>, ui: &Ui) -> Result<Given<'a>> {
    if let Some(path) = file {
        return Ok(Given { script: from_file(path, ui)?, tool: false, rest: words });
    }
    let Some((first, rest)) = words.split_first() else {
        bail!("name a program or a tool, or a file with -f")
    };
    let text = first.to_str().ok_or_else(|| anyhow!("the program is no UTF-8"))?;
    if let Some((name, _, program)) = TOOLS.iter().find(|tool| tool.0 == text) {
        return Ok(Given { script: script(program, name)?, tool: true, rest });
    }
    let script = script(text, "program").map_err(|e| {
        let name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match (Path::new(text).is_file(), name) {
            (true, _) => anyhow!("`{text}` is no program, but a file: -f {text} reads a program from it"),
            (_, true) => anyhow!("there is no tool `{text}`: `prlx probe list` shows those in the box"),
            _ => e,
        }
    })?;
    Ok(Given { script, tool: false, rest })
}

/// A program in one word: a tool's name, a file, or a text. With what it is called.
pub fn named(word: &OsStr, ui: &Ui) -> Result<(String, Arc<Script>)> {
    let path = Path::new(word);
    if path.is_file() {
        return Ok((path.file_stem().unwrap_or(word).to_string_lossy().into_owned(), from_file(path, ui)?));
    }
    let words = [word.to_owned()];
    let given = given(&words, None, ui)?;
    Ok((word.to_string_lossy().split_whitespace().collect::<Vec<_>>().join(" "), given.script))
}

/// A program from a file: of our language, or, if its name ends in `.toml`, of Neutrino's.
fn from_file(path: &Path, ui: &Ui) -> Result<Arc<Script>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.display().to_string();
    if path.extension() != Some(OsStr::new("toml")) {
        return script(&text, &name);
    }
    from_toml(&text, &name, ui)
}

/// A program from a text of Neutrino's probes.
fn from_toml(text: &str, name: &str, ui: &Ui) -> Result<Arc<Script>> {
    let (script, warnings) = neutrino::read(text).map_err(|wrong| anyhow!(mistakes(&wrong, text, name)))?;
    if !warnings.is_empty() {
        ui.warn(&mistakes(&warnings, text, name));
    }
    Ok(Arc::new(script))
}

/// Reads a program; what is wrong with it is shown in its text.
fn script(text: &str, name: &str) -> Result<Arc<Script>> {
    parse(text).map(Arc::new).map_err(|complaints| anyhow!(mistakes(&complaints, text, name)))
}

fn mistakes(complaints: &[Complaint], text: &str, name: &str) -> String {
    let told = complaints.iter().take(MISTAKES).map(|c| prlx_present::safe_lines(&c.render(text, name)));
    let mut out = told.collect::<Vec<_>>().join("\n");
    if complaints.len() > MISTAKES {
        out += &format!("\nand {} more", complaints.len() - MISTAKES);
    }
    out.trim_end().to_owned()
}

/// What to weave in: `script`, into kernels like these.
pub fn program(script: &Arc<Script>, kernels: &[String]) -> RecordingRequest {
    let filter = Filter { kernels: kernels.to_vec(), ..Filter::default() };
    RecordingRequest { filter, ..RecordingRequest::of_probe(script.clone()) }
}

/// Code that a program may meet.
struct Code {
    /// As the user calls it.
    name: String,
    text: String,
    module: view::Module,
    /// Of a launch file: the kernel that it launches.
    kernel: Option<String>,
}

impl Code {
    /// The code of a launch file, or of a file that is or holds PTX.
    fn load(path: &OsStr) -> Result<Code> {
        let path = Path::new(path);
        let (text, name, kernel) = match path.extension().and_then(OsStr::to_str) {
            Some("toml") => {
                let job = Job::load(path)?;
                (job.text, job.module, Some(job.kernel))
            }
            _ => (code::ptx(path, None)?, path.display().to_string(), None),
        };
        let (module, _) = prlx_isa::ptx::read(&text);
        Ok(Code { name, text, module, kernel })
    }

    /// The kernels that are probed: those that the user names, or the one that is launched, or all.
    fn kernels(&self, named: &[String]) -> Vec<String> {
        if named.is_empty() { self.kernel.iter().cloned().collect() } else { named.to_vec() }
    }
}

/// A number and its noun.
fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
