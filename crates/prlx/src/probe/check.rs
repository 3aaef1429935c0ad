//! Finds out where a probe program matches in a module.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use prlx_plan::Plan;
use prlx_probe::ProbeMatch;
use prlx_probe::lang::Script;
use prlx_trace::names::display_name;

use super::code::Code;
use super::matches;
use super::plan::recording_request;

/// Where a program matches in a module.
#[derive(Debug)]
pub struct Checked {
    /// The module's name.
    pub module: String,
    /// The tracepoints that match something.
    pub matches: Vec<ModuleMatches>,
    /// Why other tracepoints match nothing.
    pub unmatched: Vec<String>,
    /// What is unavailable at matches.
    pub unavailable: Vec<String>,
    /// Kernels that cannot take the program, and why.
    pub skipped: Vec<(String, String)>,
}

/// The matches of one tracepoint.
#[derive(Debug)]
pub struct ModuleMatches {
    /// The tracepoint, as text.
    pub tracepoint: String,
    /// Number of instructions.
    pub places: usize,
    /// Number of functions with such instructions.
    pub functions: usize,
}

/// Finds the matches of a program in a launch file's module, or in a file that is or holds PTX.
///
/// # Errors
/// If the file cannot be read.
pub fn check_module(script: &Arc<Script>, path: &Path) -> Result<Checked> {
    let code = Code::load(path)?;
    let program = recording_request(script, &code.kernels(&[]));
    let found = ProbeMatch::all(script, &code.module, &program.filter);
    let unmatched = matches::unmatched(script, &code.module, &program.filter, &found);
    let matches = found.iter().filter(|l| !l.possible.is_empty()).map(|l| {
        let functions: BTreeSet<u32> = l.possible.iter().map(|(f, _)| f.0).collect();
        ModuleMatches {
            tracepoint: script.clauses[l.clause].tracepoints[l.tracepoint].to_string(),
            places: l.possible.len(),
            functions: functions.len(),
        }
    });
    let matches = matches.collect();
    let plan = Plan::resolve(&program, &code.module, &code.name, &|_| None);
    let unavailable = matches::unavailable(script, &code.module, &plan.probe_state.unavailable);
    let skipped = plan
        .module
        .functions
        .iter()
        .filter(|function| function.kernel && code.kernel.as_ref().is_none_or(|k| *k == function.name));
    let skipped = skipped.filter_map(|f| Some((display_name(&f.name), f.skipped.clone()?))).collect();
    Ok(Checked {
        module: code.name,
        matches,
        unmatched: unmatched.lines,
        unavailable: unavailable.into_iter().map(|m| m.what).collect(),
        skipped,
    })
}
