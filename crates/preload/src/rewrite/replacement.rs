//! Makes the code that is loaded in place of a module.
//!
//! # Invariants
//! - A module that cannot be rewritten, or whose rewritten code might not run where the program's code runs,
//!   is left as it is, with a reason.
//! - Fidelity `exact` is proved: the untouched PTX is assembled, and its machine code is compared with the
//!   program's.
//!
//! # Limitations
//! How the driver itself would assemble the PTX is not known. Where there is no assembler, the driver gets
//! rewritten PTX.

use std::sync::Arc;
use std::time::Instant;

use prlx_driver::assemble::thread_resources;
use prlx_driver::occupancy::keep_occupancy;
use prlx_instrument::Rewrite;
use prlx_isa::view::FunctionKind;
use prlx_plan::{RecordingRequest, UNPROBED};
use prlx_probe::diagnostics;
use prlx_trace::kernel::Fidelity;

use crate::log;
use crate::rewrite::assembly::{Made, assembled, before, proved};
use crate::rewrite::source::Source;
use crate::rewritten_module::Module;
use crate::session_options::options;

/// What is loaded in a module's place.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// An image: machine code, or PTX ending in NUL.
    pub image: Arc<[u8]>,
    /// What it is.
    pub module: Arc<Module>,
    /// What a probe program can't be told in it, and which markers are not recorded.
    pub missed: Vec<String>,
}

/// Rewrites a module. `more`: options of the load that change code.
///
/// # Errors
/// Why it is left as it is.
pub fn replacement(source: Source, more: &[String]) -> Result<Replacement, String> {
    let begun = Instant::now();
    let asked = options().ok_or("nothing is to be recorded")?;
    let name = name(&source.ptx);
    if asked.zoom.as_ref().is_some_and(|c| c.module != prlx_plan::digest(&source.ptx)) {
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
    let files = |path: &str| std::fs::read_to_string(path).ok().filter(|t| t.len() < 1 << 20);
    let write = |program: &RecordingRequest| {
        prlx_instrument::rewrite(&source.ptx, &name, program, &files).map_err(|e| e.message)
    };
    let rewrite = write(&program)?;
    if rewrite.plan.functions.iter().all(|f| f.skipped.is_some()) {
        let mut why = rewrite.plan.functions.iter().filter_map(|f| f.skipped.as_deref());
        let why = why.clone().find(|why| *why == UNPROBED).or_else(|| why.next());
        return Err(why.unwrap_or("it has no kernels").to_owned());
    }
    let written = begun.elapsed();
    let options: Vec<String> = source.options.iter().chain(more).cloned().collect();
    let own = before(&rewrite, &source, &options);
    let (made, proof) = std::thread::scope(|scope| {
        let proof =
            (source.fidelity == Fidelity::Unproven).then(|| scope.spawn(|| proved(&source, &options)));
        let of = |rewrite: Rewrite| {
            assembled(&rewrite, &source, own.as_deref(), &options).map(|code| Made { rewrite, code })
        };
        let spans = || program.with_spans().and_then(|spans| write(&spans).and_then(of).ok());
        let made = of(rewrite).map(|first| keep_occupancy(first, spans, |made| made.lost(own.as_deref())));
        (made, proof.is_some_and(|p| p.join().unwrap_or(false)))
    });
    let Made { rewrite, code } = made?;
    let kept = &rewrite.plan.probe_state;
    let mut missed = program.probe.as_deref().map_or_else(Vec::new, |script| {
        let missed = diagnostics::missed(script, &rewrite.module, &source.ptx, &kept.unavailable)
            .into_iter()
            .map(|m| m.1);
        missed
            .chain(kept.unmatched_clauses.iter().map(|clause| diagnostics::nowhere(script, *clause)))
            .collect()
    });
    missed.extend(kept.unrecorded_markers.iter().map(|missed| {
        let function = rewrite.module.functions.get(missed.function.index()).map_or("", |f| f.name.as_str());
        format!("{function}: {}", missed.why)
    }));
    let fidelity = if proof { Fidelity::Exact } else { source.fidelity };
    let mut plan = rewrite.plan;
    let image: Arc<[u8]> = match code {
        Some(made) => {
            let own = own.as_deref().map(thread_resources).unwrap_or_default();
            let now = thread_resources(&made);
            for function in &mut plan.module.functions {
                function.needs =
                    own.get(function.name.as_str()).copied().zip(now.get(function.name.as_str()).copied());
            }
            made.into()
        }
        None => [rewrite.text.as_bytes(), &[0]].concat().into(),
    };
    let module = Module::new(&rewrite.module, plan, fidelity);
    let recorded = module.kernels.values().filter(|k| k.skipped.is_none()).count();
    log::debug(&format!(
        "module {name}: {recorded} of {} kernels rewritten, {}, for {}; {:.1} ms, of it {:.1} to rewrite",
        module.kernels.len(),
        fidelity.name(),
        source.target,
        begun.elapsed().as_secs_f64() * 1e3,
        written.as_secs_f64() * 1e3
    ));
    Ok(Replacement { image, module: Arc::new(module), missed })
}

/// What a module is called: its first kernel.
fn name(ptx: &str) -> String {
    let words = ptx.split_once(".entry").map(|(_, rest)| rest.trim_start());
    let name = words.and_then(|w| w.split(|c: char| c == '(' || c == '{' || c.is_whitespace()).next());
    name.unwrap_or("without kernels").to_owned()
}
