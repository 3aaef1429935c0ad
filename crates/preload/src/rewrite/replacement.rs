//! Makes the code that is loaded in place of a module.
//!
//! # Invariants
//! - A module that cannot be rewritten, or whose rewritten code might not run where the original runs, stays
//!   unchanged, with a reason.
//! - Fidelity `exact` is proved: PRLX assembles the unchanged PTX and compares its machine code with the
//!   program's. The same assembler makes the rewritten code.
//!
//! # Limitations
//! Without an assembler on this machine, the driver gets rewritten PTX. What the driver would make of the
//! original PTX is not known then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_driver::assemble::{Assembler, thread_resources};
use prlx_driver::occupancy::keep_occupancy;
use prlx_instrument::Rewrite;
use prlx_isa::ptx::with_optional_lines;
use prlx_isa::view::FunctionKind;
use prlx_plan::{RecordingRequest, UNPROBED};
use prlx_probe::diagnostics;
use prlx_trace::kernel::Fidelity;

use crate::log;
use crate::rewrite::assembly::{
    AssembledRewrite, assemble_rewrite, assemblers, original_code, proved_assembler,
};
use crate::rewrite::source::Source;
use crate::rewritten_module::Module;
use crate::session_options::options as session_options;

/// The code that is loaded in place of a module.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// Machine code, or PTX that ends in NUL.
    pub image: Arc<[u8]>,
    /// The rewritten module.
    pub module: Arc<Module>,
    /// Values of the probe program that this module does not have, and markers that are not recorded.
    pub unavailable: Vec<String>,
}

/// Rewrites a module. `more` are options of the load that change code, in the form that an assembler takes.
///
/// # Errors
/// Why the module stays unchanged.
pub fn replacement(source: Source, more: &[String]) -> Result<Replacement, String> {
    let begun = Instant::now();
    let (name, program) = request(&source)?;
    let files = |path: &str| std::fs::read_to_string(path).ok().filter(|t| t.len() < 1 << 20);
    let rewrite = |program: &RecordingRequest| {
        prlx_instrument::rewrite(&source.ptx, &name, program, &files).map_err(|e| e.message)
    };
    let first = rewrite(&program)?;
    if first.plan.functions.iter().all(|f| f.skipped.is_some()) {
        let mut why = first.plan.functions.iter().filter_map(|f| f.skipped.as_deref());
        let why = why.clone().find(|why| *why == UNPROBED).or_else(|| why.next());
        return Err(why.unwrap_or("it has no kernels").to_owned());
    }
    let rewriting = begun.elapsed();
    let options: Vec<String> = source.options.iter().chain(more).cloned().collect();
    let original = original_code(&first, &source, &options);
    let original = original.as_deref();
    let assemble_with = |first: Rewrite, tools: &[&Assembler]| {
        let assemble = |rewrite: Rewrite| {
            let code = assemble_rewrite(&rewrite, &source, original, (&options, tools));
            code.map(|code| AssembledRewrite { rewrite, code })
        };
        let lean = || program.with_fewer_registers().and_then(|lean| rewrite(&lean).and_then(assemble).ok());
        assemble(first).map(|first| keep_occupancy(first, lean, |made| made.threads_lost(original)))
    };
    let tools = assemblers();
    let (assembled, proved) = std::thread::scope(|scope| {
        let unproven = source.fidelity == Fidelity::Unproven;
        let proof = unproven.then(|| scope.spawn(|| proved_assembler(&source, &options)));
        (assemble_with(first, &tools), proof.and_then(|p| p.join().ok().flatten()))
    });
    let used = tools.first().copied();
    let other = proved.filter(|proved| used.is_none_or(|used| !std::ptr::eq(*proved, used)));
    let AssembledRewrite { rewrite, code } = match other {
        Some(proved) => assemble_with(rewrite(&program)?, &[proved]).or(assembled)?,
        None => assembled?,
    };
    let unavailable = unavailable(&program, &rewrite);
    let fidelity = if proved.is_some() { Fidelity::Exact } else { source.fidelity };
    let mut plan = rewrite.plan;
    let image: Arc<[u8]> = match code {
        Some(code) => {
            let before = original.map(thread_resources).unwrap_or_default();
            let now = thread_resources(&code);
            for function in &mut plan.module.functions {
                let name = function.name.as_str();
                function.needs = before.get(name).copied().zip(now.get(name).copied());
            }
            code.into()
        }
        // The driver's own assembler has no second attempt.
        None => {
            let text = with_optional_lines(&rewrite.text).unwrap_or(rewrite.text);
            [text.as_bytes(), &[0]].concat().into()
        }
    };
    let captures = session_options().is_some_and(|o| o.capture.is_some());
    let ptx = captures.then_some(source.ptx);
    let module = Module::new(&rewrite.module, plan, fidelity, ptx);
    let recorded = module.kernels.values().filter(|k| k.skipped.is_none()).count();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    log::debug(&format!(
        "module {name}: {recorded} of {} kernels rewritten, {}, for {}; {:.1} ms, of it {:.1} to rewrite",
        module.kernels.len(),
        fidelity.name(),
        source.target,
        ms(begun.elapsed()),
        ms(rewriting)
    ));
    Ok(Replacement { image, module: Arc::new(module), unavailable })
}

/// The module's name, and what the session asks to record in it.
///
/// # Errors
/// Why nothing is recorded in the module.
fn request(source: &Source) -> Result<(String, RecordingRequest), String> {
    let asked = session_options().ok_or("nothing is to be recorded")?;
    if asked.zoom.as_ref().is_some_and(|c| c.module != prlx_isa::digest(source.ptx.as_bytes())) {
        return Err("another module is looked at closer".into());
    }
    let mut program = asked.program();
    if !asked.kernels.is_empty() {
        let (view, _) = prlx_isa::ptx::read(&source.ptx);
        let kernels =
            view.functions.iter().filter(|f| f.kind == FunctionKind::Kernel && asked.wants(&f.name));
        program.filter.kernels = kernels.map(|f| f.name.clone()).collect();
        if program.filter.kernels.is_empty() {
            return Err("no kernel of it was asked for".into());
        }
    }
    Ok((name(&source.ptx), program))
}

/// The values of the probe program that the module does not have, its tracepoints that match nothing, and the
/// markers that are not recorded, each as a text with the reason.
fn unavailable(program: &RecordingRequest, rewrite: &Rewrite) -> Vec<String> {
    let state = &rewrite.plan.probe_state;
    let mut all = program.probe.as_deref().map_or_else(Vec::new, |script| {
        let values = diagnostics::missed(script, &rewrite.module, &state.unavailable);
        let unmatched = state.unmatched_clauses.iter().map(|clause| diagnostics::nowhere(script, *clause));
        values.into_iter().map(|m| m.1).chain(unmatched).collect()
    });
    all.extend(state.unrecorded_markers.iter().map(|marker| {
        let function = rewrite.module.functions.get(marker.function.index()).map_or("", |f| f.name.as_str());
        format!("{function}: {}", marker.why)
    }));
    all
}

/// Name of a module: that of its first kernel.
fn name(ptx: &str) -> String {
    let words = ptx.split_once(".entry").map(|(_, rest)| rest.trim_start());
    let name = words.and_then(|w| w.split(|c: char| c == '(' || c == '{' || c.is_whitespace()).next());
    name.unwrap_or("without kernels").to_owned()
}
