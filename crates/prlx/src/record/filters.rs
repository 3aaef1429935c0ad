//! Refuses filters that match nothing, and names what would match.
//!
//! A filter with a typing error would otherwise record nothing or everything, and the comparison after it
//! would mean nothing.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use prlx_driver::{Error, ErrorKind};
use prlx_plan::{Filter, Plan};
use prlx_trace::kernel::{Module, Site};
use prlx_trace::names::{display_name, display_names};
use prlx_trace::{FileId, Level};

use super::options::RecorderOptions;

/// Maximum number of names or lines that a message lists.
const LISTED: usize = 24;

/// Checks the filters that name code against an instrumented module, and against the launched kernel if there
/// is one.
///
/// # Errors
/// If the module has no function, `--kernel` or `--function` leaves out the kernel, or no recorded site
/// matches `--line` and `--class`.
pub fn check_code_filters(recorder: &RecorderOptions, plan: &Plan, kernel: Option<&str>) -> Result<()> {
    let module = &plan.module;
    let names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
    if names.is_empty() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the module has no function, so nothing can be recorded",
        )
        .into());
    }
    for (option, patterns) in [("--kernel", &recorder.kernels), ("--function", &recorder.functions)] {
        if let Some(kernel) = kernel {
            require_kernel(option, patterns, kernel)?;
        }
        let filter = Filter { functions: patterns.clone(), ..Filter::default() };
        if !names.iter().any(|name| filter.takes_function(name)) {
            let what = format!("{option} {} matches no function", patterns.join(", "));
            return Err(no_match(what, format!("the functions are {}", list(display_names(names)))));
        }
    }
    if recorder.lines.is_empty() && recorder.classes.is_empty() {
        return Ok(());
    }
    check_sites(recorder, module)
}

/// Checks that name patterns take the kernel of a launch file.
///
/// # Errors
/// If they leave it out: nothing would be recorded.
pub fn require_kernel(option: &str, patterns: &[String], kernel: &str) -> Result<()> {
    if (Filter { functions: patterns.to_vec(), ..Filter::default() }).takes_function(kernel) {
        return Ok(());
    }
    let what = format!("{option} {} leaves out the kernel of the launch file", patterns.join(", "));
    Err(no_match(what, format!("the kernel is {}", display_name(kernel))))
}

/// Checks that every source line of `--line` has code in the module.
///
/// # Errors
/// If a line has none.
pub fn require_lines(lines: &[(String, u32)], module: &Module) -> Result<()> {
    let file = |at: &FileId| module.files.get(at.index()).map_or("", |f| f.path.as_str());
    let named =
        |path: &str, asked: &str| path.strip_suffix(asked).is_some_and(|b| b.is_empty() || b.ends_with('/'));
    for (asked, line) in lines {
        if !module.locs.iter().any(|l| l.line == *line && named(file(&l.file), asked)) {
            let what = format!("--line {asked}:{line}: no code is on this line");
            return Err(no_match(
                what,
                format!("lines that match: {}", lines_of(module, module.sites.iter())),
            ));
        }
    }
    Ok(())
}

/// Checks that a site matches `--line` and `--class`.
fn check_sites(recorder: &RecorderOptions, module: &Module) -> Result<()> {
    let recorded = |s: &&Site| recorder.level != Level::Path || s.class.decides();
    let sites = || module.sites.iter().filter(recorded);
    let lines = Filter { lines: recorder.lines.clone(), ..Filter::default() };
    let both = Filter { classes: recorder.classes.clone(), ..lines.clone() };
    if sites().any(|s| both.takes_site(module, s)) {
        return Ok(());
    }
    let (on_lines, at_path) = match recorder.level {
        Level::Path => ("no decision", "; level `path` records decisions only, --level events records more"),
        _ => ("no site", ""),
    };
    let texts = recorder.lines.iter().map(|(file, lines)| match lines.end - lines.start {
        1 => format!("{file}:{}", lines.start),
        _ => format!("{file}:{}-{}", lines.start, lines.end - 1),
    });
    let texts: Vec<String> = texts.collect();
    let here: BTreeSet<&str> =
        sites().filter(|s| lines.takes_site(module, s)).map(|s| s.class.name()).collect();
    if here.is_empty() {
        let what = format!("--line {}: {on_lines} is on these lines", texts.join(" --line "));
        return Err(no_match(what, format!("lines that match: {}{at_path}", lines_of(module, sites()))));
    }
    let classes: Vec<&str> = recorder.classes.iter().map(|c| c.name()).collect();
    let place = if texts.is_empty() { String::new() } else { format!(" on --line {}", texts.join(", ")) };
    let what = format!("--class {}: {on_lines} is of this class{place}", classes.join(" --class "));
    Err(no_match(what, format!("classes that match: {}{at_path}", list(here))))
}

/// Checks the ranges of `--warps` and `--ctas` against the size of a launch.
///
/// # Errors
/// If a range, or a part of one, is out of range.
pub fn check_ranges(recorder: &RecorderOptions, warps: u64, ctas: u64) -> Result<()> {
    out_of_range("--warps", "warps", &recorder.warps, warps)?;
    out_of_range("--ctas", "CTAs", &recorder.ctas, ctas)
}

/// Refuses half-open ranges that do not lie in `0..total`.
///
/// # Errors
/// The message names the part that is out of range.
pub fn out_of_range(option: &str, what: &str, ranges: &[(u64, u64)], total: u64) -> Result<()> {
    let Some((first, end)) = ranges.iter().find(|(_, end)| *end > total) else { return Ok(()) };
    let (first, last) = ((*first).max(total), end - 1);
    let part = if first == last { first.to_string() } else { format!("{first}-{last}") };
    let what = format!("{option}: {part} is out of range: there are {total} {what}, counted from 0");
    Err(Error::new(ErrorKind::Launch, what).into())
}

/// The lines of sites, by file.
fn lines_of<'a>(module: &'a Module, sites: impl Iterator<Item = &'a Site>) -> String {
    let mut files: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for site in sites {
        let mut next = site.loc;
        // An inlined site matches the lines that it was inlined at, too. A damaged chain may close on itself.
        for _ in 0..=module.locs.len() {
            let Some(loc) = next.and_then(|l| module.locs.get(l.index())) else { break };
            let file = module.files.get(loc.file.index()).map_or("", |f| f.path.as_str());
            let name = prlx_trace::names::file_name(file);
            files.entry(name).or_default().insert(loc.line);
            next = loc.inlined_at;
        }
    }
    if files.is_empty() {
        return "none, the PTX has no line information (compile with -lineinfo)".to_owned();
    }
    let file =
        |(name, lines): (&&str, &BTreeSet<u32>)| format!("{name}:{}", list(lines.iter().map(u32::to_string)));
    files.iter().map(file).collect::<Vec<_>>().join("; ")
}

/// The first names of a list, and how many more there are.
fn list<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let shown: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn no_match(what: String, help: String) -> anyhow::Error {
    Error::new(ErrorKind::NotFound, what).help(help).into()
}
