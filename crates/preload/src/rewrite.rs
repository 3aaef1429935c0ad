//! From a module's PTX to the code that is loaded in its place.
//!
//! Holds: a module that can't be rewritten, or whose rewritten code might not run where the program's does, is left as it is,
//! with a reason; what is proved is proved by assembling the untouched PTX and comparing machine code.
//! Misses: how the driver itself would assemble PTX: where there is no assembler, it gets the rewritten PTX.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use prlx_driver::assemble::{Assemblers, Failed, Within, lost, needs, shares_registers};
use prlx_driver::session::{Options, VARIABLE};
use prlx_instrument::Rewrite;
use prlx_isa::image::Target;
use prlx_isa::view::FunctionKind;
use prlx_plan::{RecordingRequest, UNPROBED};
use prlx_probe::diagnostics;
use prlx_trace::kernel::Fidelity;

use crate::known::Module;
use crate::say;
use crate::source::{self, Source};
use prlx_driver::occupancy::{registers_per_thread, threads_per_sm};

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

/// Threads of a CTA, at most.
const THREADS: u32 = 1024;

static ASSEMBLERS: LazyLock<Assemblers> = LazyLock::new(Assemblers::find);

/// What is to be recorded; `None`: nothing, this process is left alone.
pub fn options() -> Option<&'static Options> {
    static OPTIONS: LazyLock<Option<Options>> = LazyLock::new(|| {
        let said = std::env::var(VARIABLE).ok().filter(|v| !v.is_empty())?;
        Options::from_variable(&said, &prlx_probe::program).map_err(|e| say::once(&e.message)).ok()
    });
    OPTIONS.as_ref()
}

/// The assemblers that are here, as they call themselves.
pub fn tools() -> impl Iterator<Item = &'static str> {
    ASSEMBLERS.tools.iter().map(|t| t.version())
}

/// Rewrites a module. `more`: options of the load that change code.
///
/// # Errors
/// Why it is left as it is.
pub fn replacement(source: Source, more: &[String]) -> Result<Replacement, String> {
    let begun = Instant::now();
    let asked = options().ok_or("nothing is to be recorded")?;
    let name = name(&source.ptx);
    if asked.closer.as_ref().is_some_and(|c| c.module != prlx_plan::digest(&source.ptx)) {
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
        let made = of(rewrite).map(|first| {
            let lost = first.lost(own.as_deref());
            let less = program.with_spans().filter(|_| lost > 0);
            let other = less.and_then(|less| write(&less).and_then(of).ok());
            other.filter(|other| other.lost(own.as_deref()) < lost).unwrap_or(first)
        });
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
            let own = own.as_deref().map(needs).unwrap_or_default();
            let now = needs(&made);
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
    say::log(&format!(
        "module {name}: {recorded} of {} kernels rewritten, {}, for {}; {:.1} ms, of it {:.1} to rewrite",
        module.kernels.len(),
        fidelity.name(),
        source.target,
        begun.elapsed().as_secs_f64() * 1e3,
        written.as_secs_f64() * 1e3
    ));
    Ok(Replacement { image, module: Arc::new(module), missed })
}

/// Assembles PTX of our own for a device; as it is, ending in NUL, where the driver has to.
pub fn own(ptx: &str, device: Target) -> Vec<u8> {
    let made = ASSEMBLERS.tools.iter().find_map(|tool| ASSEMBLERS.assemble(tool, ptx, device, &[]).ok());
    made.unwrap_or_else(|| [ptx.as_bytes(), &[0]].concat())
}

/// What a module is called: its first kernel.
fn name(ptx: &str) -> String {
    let words = ptx.split_once(".entry").map(|(_, rest)| rest.trim_start());
    let name = words.and_then(|w| w.split(|c: char| c == '(' || c == '{' || c.is_whitespace()).next());
    name.unwrap_or("without kernels").to_owned()
}

/// How many threads a CTA of each kernel may have, where the kernel says it.
fn bounds(module: &prlx_isa::view::Module) -> BTreeMap<&str, u32> {
    let bound = |f: &prlx_isa::view::Function| {
        let limits = f.limits.iter().filter(|(name, _)| name == "maxntid" || name == "reqntid");
        limits.map(|(_, sizes)| sizes.iter().fold(1u32, |n, s| n.saturating_mul(*s))).min()
    };
    module.functions.iter().filter_map(|f| Some((f.name.as_str(), bound(f)?))).collect()
}

/// Rewritten text, and its machine code; `None`: the driver has to make that.
struct Made {
    rewrite: Rewrite,
    code: Option<Vec<u8>>,
}

impl Made {
    /// For how many threads fewer there is room than of the program's own code.
    fn lost(&self, own: Option<&[u8]>) -> u32 {
        own.zip(self.code.as_deref()).map_or(0, |(own, code)| lost(own, code))
    }
}

/// The machine code that would have run; of markers, whose times hang on how many threads run at once, what it would be if the driver makes it.
fn before(rewrite: &Rewrite, source: &Source, options: &[String]) -> Option<Vec<u8>> {
    let made = || {
        let mut tools = ASSEMBLERS.tools.iter().filter(|_| rewrite.plan.probe_state.tracks.is_some());
        tools.find_map(|tool| ASSEMBLERS.assemble(tool, &source.ptx, source.target, options).ok())
    };
    source.code.clone().or_else(made)
}

/// Assembles rewritten text so that it runs wherever the program's own code does; `None`: the driver has to.
fn assembled(
    rewrite: &Rewrite,
    source: &Source,
    own: Option<&[u8]>,
    options: &[String],
) -> Result<Option<Vec<u8>>, String> {
    let bounds = bounds(&rewrite.module);
    let within = Within::of(&rewrite.plan, own);
    for tool in &ASSEMBLERS.tools {
        match ASSEMBLERS.rewritten(tool, &rewrite.text, within, source.target, options) {
            Ok(code) => {
                // A launch that fits the program's code must fit this one too.
                let Some(most) = own.and_then(|own| fewer(own, &code, &bounds)) else {
                    return Ok(Some(code));
                };
                let less = [options, &[format!("-maxrregcount={most}")]].concat();
                // What limits registers as a kernel begins may stop warps that share theirs.
                let limited = (!shares_registers(&rewrite.text)).then_some(less);
                let code =
                    limited.and_then(|l| ASSEMBLERS.assemble(tool, &rewrite.text, source.target, &l).ok());
                let code = code.filter(|code| own.and_then(|own| fewer(own, code, &bounds)).is_none());
                let why = || {
                    format!("rewritten, it needs more than {most} registers, and its CTAs would be too large")
                };
                return code.map(Some).ok_or_else(why);
            }
            Err(Failed::Wrong(e)) => return Err(e.message),
            Err(Failed::Unfit(_)) => {}
        }
    }
    Ok(None)
}

/// With how many registers all kernels could be started with CTAs as large as before; `None`: they can.
fn fewer(own: &[u8], made: &[u8], bounds: &BTreeMap<&str, u32>) -> Option<u32> {
    let own = needs(own);
    let tight = needs(made).into_iter().filter_map(|(name, now)| {
        let before =
            threads_per_sm(own.get(name)?.registers).min(bounds.get(name).copied().unwrap_or(THREADS)).max(1);
        (threads_per_sm(now.registers) < before).then(|| registers_per_thread(before))
    });
    tight.min()
}

/// Whether the untouched PTX gives the machine code that the program would have run.
fn proved(source: &Source, options: &[String]) -> bool {
    let (Some(own), Some(tool)) = (&source.code, ASSEMBLERS.tools.first()) else { return false };
    let again = ASSEMBLERS.assemble(tool, &source.ptx, source.target, options);
    again.is_ok_and(|code| source::same_code(own, &code))
}
