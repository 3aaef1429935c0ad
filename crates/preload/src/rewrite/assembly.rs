//! Assembles rewritten PTX so that it runs wherever the program's own code runs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use prlx_driver::assemble::{
    AssembleError, Assemblers, RegisterBudget, thread_resources, threads_lost, uses_setmaxnreg,
};
use prlx_driver::occupancy::{registers_per_thread, threads_per_sm};
use prlx_instrument::Rewrite;
use prlx_isa::image::Target;

use crate::rewrite::source;
use crate::rewrite::source::Source;

/// Threads of a CTA, at most.
const THREADS: u32 = 1024;

static ASSEMBLERS: LazyLock<Assemblers> = LazyLock::new(Assemblers::find);

/// The assemblers that are here, as they call themselves.
pub fn tools() -> impl Iterator<Item = &'static str> {
    ASSEMBLERS.tools.iter().map(|t| t.version())
}

/// Assembles PTX of our own for a device; as it is, ending in NUL, where the driver has to.
pub fn own(ptx: &str, device: Target) -> Vec<u8> {
    let made = ASSEMBLERS.tools.iter().find_map(|tool| ASSEMBLERS.assemble(tool, ptx, device, &[]).ok());
    made.unwrap_or_else(|| [ptx.as_bytes(), &[0]].concat())
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
pub(super) struct Made {
    pub(super) rewrite: Rewrite,
    pub(super) code: Option<Vec<u8>>,
}

impl Made {
    /// For how many threads fewer there is room than of the program's own code.
    pub(super) fn lost(&self, own: Option<&[u8]>) -> u32 {
        own.zip(self.code.as_deref()).map_or(0, |(own, code)| threads_lost(own, code))
    }
}

/// The machine code that would have run; of markers, whose times hang on how many threads run at once, what
/// it would be if the driver makes it.
pub(super) fn before(rewrite: &Rewrite, source: &Source, options: &[String]) -> Option<Vec<u8>> {
    let made = || {
        let mut tools = ASSEMBLERS.tools.iter().filter(|_| rewrite.plan.probe_state.tracks.is_some());
        tools.find_map(|tool| ASSEMBLERS.assemble(tool, &source.ptx, source.target, options).ok())
    };
    source.code.clone().or_else(made)
}

/// Assembles rewritten text so that it runs wherever the program's own code does; `None`: the driver has to.
pub(super) fn assembled(
    rewrite: &Rewrite,
    source: &Source,
    own: Option<&[u8]>,
    options: &[String],
) -> Result<Option<Vec<u8>>, String> {
    let bounds = bounds(&rewrite.module);
    let within = RegisterBudget::of(&rewrite.plan, own);
    for tool in &ASSEMBLERS.tools {
        match ASSEMBLERS.assemble_rewritten(tool, &rewrite.text, within, source.target, options) {
            Ok(code) => {
                // A launch that fits the program's code must fit this one too.
                let Some(most) = own.and_then(|own| fewer(own, &code, &bounds)) else {
                    return Ok(Some(code));
                };
                let less = [options, &[format!("-maxrregcount={most}")]].concat();
                // What limits registers as a kernel begins may stop warps that share theirs.
                let limited = (!uses_setmaxnreg(&rewrite.text)).then_some(less);
                let code =
                    limited.and_then(|l| ASSEMBLERS.assemble(tool, &rewrite.text, source.target, &l).ok());
                let code = code.filter(|code| own.and_then(|own| fewer(own, code, &bounds)).is_none());
                let why = || {
                    format!("rewritten, it needs more than {most} registers, and its CTAs would be too large")
                };
                return code.map(Some).ok_or_else(why);
            }
            Err(AssembleError::InvalidCode(e)) => return Err(e.message),
            Err(AssembleError::Unsuitable(_)) => {}
        }
    }
    Ok(None)
}

/// With how many registers all kernels could be started with CTAs as large as before; `None`: they can.
fn fewer(own: &[u8], made: &[u8], bounds: &BTreeMap<&str, u32>) -> Option<u32> {
    let own = thread_resources(own);
    let tight = thread_resources(made).into_iter().filter_map(|(name, now)| {
        let before =
            threads_per_sm(own.get(name)?.registers).min(bounds.get(name).copied().unwrap_or(THREADS)).max(1);
        (threads_per_sm(now.registers) < before).then(|| registers_per_thread(before))
    });
    tight.min()
}

/// Whether the untouched PTX gives the machine code that the program would have run.
pub(super) fn proved(source: &Source, options: &[String]) -> bool {
    let (Some(own), Some(tool)) = (&source.code, ASSEMBLERS.tools.first()) else { return false };
    let again = ASSEMBLERS.assemble(tool, &source.ptx, source.target, options);
    again.is_ok_and(|code| source::same_code(own, &code))
}
