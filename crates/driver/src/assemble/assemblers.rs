//! The assemblers that are installed on this machine, best first, and the cache of their results.
//!
//! # Invariants
//! - An assembler that does not support the architecture or the PTX version is skipped.
//! - An error that an assembler finds in the code is reported.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use prlx_isa::image::Target;
use prlx_isa::ptx::with_optional_lines;
use prlx_trace::kernel::ThreadResources;
use xxhash_rust::xxh3::Xxh3;

use crate::assemble::cache::Cache;
use crate::assemble::register_budget::{RegisterBudget, thread_resources, with_register_limits};
use crate::assemble::search::{find_program, path_from_variable, triton_assemblers};
use crate::assemble::tool::{AssembleError, Assembler, OPTIONS};

/// Environment variable: the only assembler to use, `ptxas`, `nvjitlink` or `driver`.
pub const VARIABLE: &str = "PRLX_ASSEMBLER";

/// Environment variable: path of the `ptxas` to use.
pub const PTXAS: &str = "PRLX_PTXAS";

/// Environment variable: path of the nvJitLink library to use.
pub const NVJITLINK: &str = "PRLX_NVJITLINK";

/// What ptxas and nvJitLink say if predicate registers run out (error C7600 of CUDA 12 and 13).
const NO_REGISTERS: &str = "Register allocation failed";

/// Installed assemblers, with the cache of their results.
#[derive(Debug, Default)]
pub struct Assemblers {
    /// Assemblers in the order in which they are tried.
    pub tools: Vec<Assembler>,
    /// Cache of results; `None` disables it.
    pub cache: Option<Cache>,
}

impl Assemblers {
    /// Finds the assemblers of this machine, as the environment chooses ([`VARIABLE`], [`PTXAS`],
    /// [`NVJITLINK`]).
    pub fn find() -> Assemblers {
        let wanted = env::var(VARIABLE).unwrap_or_default();
        let mut tools = Vec::new();
        if matches!(wanted.as_str(), "" | "ptxas") {
            tools.extend(
                path_from_variable(PTXAS)
                    .or_else(|| find_program("ptxas"))
                    .and_then(|p| Assembler::ptxas(&p)),
            );
        }
        if matches!(wanted.as_str(), "nvjitlink") || wanted.is_empty() && tools.is_empty() {
            let places = path_from_variable(NVJITLINK).map_or_else(
                || {
                    ["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"]
                        .map(PathBuf::from)
                        .to_vec()
                },
                |one| vec![one],
            );
            tools.extend(places.iter().find_map(|p| Assembler::jit_link(p)));
        }
        Assemblers { tools, cache: Cache::of_user() }
    }

    /// The assemblers that Triton uses in this process; none before it is loaded, or if the environment
    /// chooses another tool than `ptxas`.
    pub fn of_triton() -> Vec<Assembler> {
        let wanted = env::var(VARIABLE).unwrap_or_default();
        if !matches!(wanted.as_str(), "" | "ptxas") {
            return Vec::new();
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        triton_assemblers(&maps).iter().filter_map(|path| Assembler::ptxas(path)).collect()
    }

    /// Assembles instrumented `ptx` within a register budget. Kernels that would have to spill to stay within
    /// the budget are assembled without a limit.
    ///
    /// # Errors
    /// See [`AssembleError`].
    pub fn assemble_rewritten(
        &self,
        tool: &Assembler,
        ptx: &str,
        within: RegisterBudget<'_>,
        target: Target,
        more: &[String],
    ) -> Result<Vec<u8>, AssembleError> {
        let code = self.assemble(tool, ptx, target, more)?;
        let (before, mut limits) = (thread_resources(&code), within.limits(&code));
        // The second attempt leaves out the kernels that spilled in the first.
        for _ in 0..2 {
            let lean = with_register_limits(ptx, &limits)
                .and_then(|lean| self.assemble(tool, &lean, target, more).ok());
            let Some(lean) = lean else { break };
            let now = thread_resources(&lean);
            let local =
                |all: &BTreeMap<&str, ThreadResources>, name: &str| all.get(name).map_or(0, |n| n.local);
            let spilt: Vec<&str> =
                now.keys().copied().filter(|f| local(&now, f) > local(&before, f)).collect();
            if spilt.is_empty() {
                return Ok(lean);
            }
            limits.retain(|name, _| !spilt.contains(name));
        }
        Ok(code)
    }

    /// Assembles `ptx` with one of [`Self::tools`] and additional options. If the assembler finds no
    /// registers for it, its optional lines become code. Takes the result from the cache if it is there.
    ///
    /// # Errors
    /// See [`AssembleError`].
    pub fn assemble(
        &self,
        tool: &Assembler,
        ptx: &str,
        target: Target,
        more: &[String],
    ) -> Result<Vec<u8>, AssembleError> {
        let mut hash = Xxh3::new();
        // The recording level is part of the text, so it needs no part of the key.
        for part in [tool.version.as_str(), &target.to_string(), &OPTIONS.join(" "), &more.join(" "), ptx] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let key = hash.digest128();
        if let Some(code) = self.cache.as_ref().and_then(|cache| cache.get(key)) {
            return Ok(code);
        }
        let made = tool.assemble(ptx, target, more).or_else(|e| match (e, with_optional_lines(ptx)) {
            (AssembleError::InvalidCode(e), Some(ptx)) if e.message.contains(NO_REGISTERS) => {
                tool.assemble(&ptx, target, more)
            }
            (e, _) => Err(e),
        })?;
        if let Some(cache) = &self.cache {
            cache.put(key, &made);
        }
        Ok(made)
    }
}
