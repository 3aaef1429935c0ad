//! Assembles rewritten PTX so that it runs wherever the program's own code runs.
//!
//! A program's machine code may come from another assembler than this machine's: Triton brings its own. The
//! one that makes the program's code from its PTX assembles the rewritten PTX as well, because another one
//! may need more registers.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use prlx_driver::assemble::{
    AssembleError, Assembler, Assemblers, RegisterBudget, thread_resources, threads_lost, uses_setmaxnreg,
};
use prlx_driver::occupancy::{registers_per_thread, threads_per_sm};
use prlx_instrument::Rewrite;
use prlx_isa::image::Target;

use crate::rewrite::source;
use crate::rewrite::source::Source;

/// Maximum threads of a CTA.
const MAX_CTA_THREADS: u32 = 1024;

static ASSEMBLERS: LazyLock<Assemblers> = LazyLock::new(Assemblers::find);

/// Triton's assemblers, once it is loaded.
static OF_TRITON: OnceLock<Vec<Assembler>> = OnceLock::new();

/// The assembler that has made the machine code of the program's last module that was proved exact.
static LAST_PROVED: Mutex<Option<&'static Assembler>> = Mutex::new(None);

/// The assemblers of this machine and of Triton, that which made the program's last module first.
pub(super) fn assemblers() -> Vec<&'static Assembler> {
    let last = *LAST_PROVED.lock().unwrap_or_else(PoisonError::into_inner);
    let of_triton = match OF_TRITON.get() {
        Some(found) => found.as_slice(),
        None => match Assemblers::of_triton() {
            found if found.is_empty() => &[][..],
            found => OF_TRITON.get_or_init(|| found).as_slice(),
        },
    };
    let others = ASSEMBLERS.tools.iter().chain(of_triton);
    last.into_iter().chain(others.filter(|tool| last.is_none_or(|last| !std::ptr::eq(*tool, last)))).collect()
}

/// Versions of the assemblers on this machine, as they report them.
pub fn tools() -> impl Iterator<Item = &'static str> {
    ASSEMBLERS.tools.iter().map(|t| t.version())
}

/// Assembles a kernel of this library for a device. Without an assembler, returns the PTX, ending in NUL, for
/// the driver to assemble.
pub fn assemble_own(ptx: &str, device: Target) -> Vec<u8> {
    let code = ASSEMBLERS.tools.iter().find_map(|tool| ASSEMBLERS.assemble(tool, ptx, device, &[]).ok());
    code.unwrap_or_else(|| [ptx.as_bytes(), &[0]].concat())
}

/// Maximum threads of a CTA of each kernel that declares it (PTX ISA, `.maxntid` and `.reqntid`).
fn cta_limits(module: &prlx_isa::view::Module) -> BTreeMap<&str, u32> {
    let limit = |f: &prlx_isa::view::Function| {
        let limits = f.limits.iter().filter(|(name, _)| name == "maxntid" || name == "reqntid");
        limits.map(|(_, sizes)| sizes.iter().fold(1u32, |n, s| n.saturating_mul(*s))).min()
    };
    module.functions.iter().filter_map(|f| Some((f.name.as_str(), limit(f)?))).collect()
}

/// Rewritten PTX with its machine code.
pub(super) struct AssembledRewrite {
    pub(super) rewrite: Rewrite,
    /// `None`: there is no assembler, and the driver assembles the PTX.
    pub(super) code: Option<Vec<u8>>,
}

impl AssembledRewrite {
    /// How many threads fewer an SM can hold than with the original code, summed over the functions.
    pub(super) fn threads_lost(&self, original: Option<&[u8]>) -> u32 {
        original.zip(self.code.as_deref()).map_or(0, |(original, code)| threads_lost(original, code))
    }
}

/// The machine code that would have run without the rewrite. If the driver would assemble it, that is done
/// here for markers only, because their times depend on how many threads run at once.
pub(super) fn original_code(rewrite: &Rewrite, source: &Source, options: &[String]) -> Option<Vec<u8>> {
    let assemble = || {
        let mut tools = ASSEMBLERS.tools.iter().filter(|_| rewrite.plan.probe_state.tracks.is_some());
        tools.find_map(|tool| ASSEMBLERS.assemble(tool, &source.ptx, source.target, options).ok())
    };
    source.code.clone().or_else(assemble)
}

/// Assembles rewritten PTX. Every launch that fits the `original` code fits the result too. Returns `None` if
/// there is no suitable assembler and the driver has to assemble it. Assemblers are tried in the order of
/// `tools`.
///
/// # Errors
/// If an assembler rejects the code, or the code needs too many registers for the kernel's CTAs.
pub(super) fn assemble_rewrite(
    rewrite: &Rewrite,
    source: &Source,
    original: Option<&[u8]>,
    (options, tools): (&[String], &[&Assembler]),
) -> Result<Option<Vec<u8>>, String> {
    let limits = cta_limits(&rewrite.module);
    let limit = |code: &[u8]| original.and_then(|original| register_limit(original, code, &limits));
    let budget = RegisterBudget::of(&rewrite.plan, original);
    for tool in tools {
        match ASSEMBLERS.assemble_rewritten(tool, &rewrite.text, budget, source.target, options) {
            Ok(code) => {
                let Some(most) = limit(&code) else {
                    return Ok(Some(code));
                };
                let options = [options, &[format!("-maxrregcount={most}")]].concat();
                // With a register limit, warps that use `setmaxnreg` may wait for registers forever.
                let code = (!uses_setmaxnreg(&rewrite.text))
                    .then(|| ASSEMBLERS.assemble(tool, &rewrite.text, source.target, &options).ok())
                    .flatten()
                    .filter(|code| limit(code).is_none());
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

/// Registers per thread that `code` may have so that each kernel can be launched with CTAs as large as with
/// the original code. `None` if it can already. `limits` are those of [`cta_limits`].
fn register_limit(original: &[u8], code: &[u8], limits: &BTreeMap<&str, u32>) -> Option<u32> {
    let original = thread_resources(original);
    let too_large = thread_resources(code).into_iter().filter_map(|(name, now)| {
        let limit = limits.get(name).copied().unwrap_or(MAX_CTA_THREADS);
        let before = threads_per_sm(original.get(name)?.registers).min(limit).max(1);
        (threads_per_sm(now.registers) < before).then(|| registers_per_thread(before))
    });
    too_large.min()
}

/// The assembler that makes the machine code that the program would have run from the unchanged PTX.
pub(super) fn proved_assembler(source: &Source, options: &[String]) -> Option<&'static Assembler> {
    let original = source.code.as_deref()?;
    let is_exact = |tool: &&Assembler| {
        let again = ASSEMBLERS.assemble(tool, &source.ptx, source.target, options);
        again.is_ok_and(|code| source::same_code(original, &code))
    };
    let proved = assemblers().into_iter().find(is_exact)?;
    *LAST_PROVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(proved);
    Some(proved)
}
