//! The inputs of the program's link jobs. If a linked image came from one PTX, that PTX is its source.
//!
//! # Invariants
//! The number of remembered link jobs is bounded.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use prlx_isa::image::Target;
use prlx_trace::kernel::Fidelity;
use xxhash_rust::xxh3::xxh3_128;

use crate::rewrite::source::Source;

/// What went into a linking.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its PTX; the last, if there were several.
    pub(super) ptx: String,
    pub(super) inputs: usize,
    pub(super) options: Vec<String>,
}

impl Link {
    /// The PTX that went into it, as the source of what came of it.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn source(self, code: &[u8], device: Target) -> Result<Source, String> {
        if self.inputs != 1 || self.ptx.is_empty() {
            return Err(format!("it was linked from {} inputs", self.inputs));
        }
        let target = prlx_driver::assemble::target(&self.ptx, device).map_err(|e| e.message)?;
        let target = target.ok_or("its `.target` is not known")?;
        // What is loaded came from this PTX: there is no other source.
        let code = Some(code.to_vec());
        Ok(Source { ptx: self.ptx, target, options: self.options, code, fidelity: Fidelity::Source })
    }
}

/// Linkings.
#[derive(Default)]
pub(super) struct Links {
    /// Those that go on, by handle.
    pub(super) open: HashMap<usize, Link>,
    /// Those that are done, by the hash of what came of them; at most [`KEPT`].
    pub(super) done: HashMap<u128, Link>,
}

static LINKS: LazyLock<Mutex<Links>> = LazyLock::new(Mutex::default);

pub(super) const KEPT: usize = 1000;

/// What an image was linked from, if it was.
pub fn linked(bytes: &[u8]) -> Option<Link> {
    let links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    if links.done.is_empty() { None } else { links.done.get(&xxh3_128(bytes)).cloned() }
}

pub(super) fn change_links(change: impl FnOnce(&mut Links)) {
    change(&mut LINKS.lock().unwrap_or_else(PoisonError::into_inner));
}
