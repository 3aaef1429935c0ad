//! The inputs of the program's link jobs (`cuLink*`). If a linked image came from one PTX, that PTX is its
//! source.
//!
//! # Invariants
//! The number of remembered results is bounded ([`MAX_RESULTS`]).

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use prlx_isa::image::Target;
use prlx_trace::kernel::Fidelity;
use xxhash_rust::xxh3::xxh3_128;

use crate::rewrite::source::Source;

/// The inputs of one link job.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// The text of the last input, if that was PTX; otherwise empty.
    pub(super) ptx: String,
    /// Number of inputs.
    pub(super) inputs: usize,
    /// Options of the job and of its inputs, in the form that an assembler takes.
    pub(super) options: Vec<String>,
}

impl Link {
    /// The PTX input as the source of `code`, the job's result.
    ///
    /// # Errors
    /// If the job had several inputs or none of PTX, or if the PTX has no known target.
    pub fn source(self, code: &[u8], device: Target) -> Result<Source, String> {
        if self.inputs != 1 || self.ptx.is_empty() {
            return Err(format!("it was linked from {} inputs", self.inputs));
        }
        let target = prlx_driver::assemble::target(&self.ptx, device).map_err(|e| e.message)?;
        let target = target.ok_or("its `.target` is not known")?;
        // The linker compiled this PTX just now, so it is the source: there is nothing to prove.
        let code = Some(code.to_vec());
        Ok(Source { ptx: self.ptx, target, options: self.options, code, fidelity: Fidelity::Source })
    }
}

/// All link jobs of the process.
#[derive(Default)]
pub(super) struct Links {
    /// Jobs that are not destroyed, by `CUlinkState`.
    pub(super) open: HashMap<usize, Link>,
    /// Completed jobs by the hash of their result; at most [`MAX_RESULTS`].
    pub(super) completed: HashMap<u128, Link>,
}

static LINKS: LazyLock<Mutex<Links>> = LazyLock::new(Mutex::default);

/// Maximum number of remembered results. Later ones are treated as machine code of unknown origin.
pub(super) const MAX_RESULTS: usize = 1000;

/// The link job whose result is this image.
pub fn linked(image: &[u8]) -> Option<Link> {
    let links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    if links.completed.is_empty() { None } else { links.completed.get(&xxh3_128(image)).cloned() }
}

pub(super) fn change_links(change: impl FnOnce(&mut Links)) {
    change(&mut LINKS.lock().unwrap_or_else(PoisonError::into_inner));
}
