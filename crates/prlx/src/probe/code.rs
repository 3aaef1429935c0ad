//! Code that a probe program may be inserted into.

use std::path::Path;

use anyhow::Result;
use prlx_driver::Job;
use prlx_isa::view::Module;

use crate::input::{self, FileKind};

/// A module, from a launch file or from a file with PTX.
pub(super) struct Code {
    /// As the user calls it.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) module: Module,
    /// The kernel that the launch file launches.
    pub(super) kernel: Option<String>,
}

impl Code {
    /// Reads a launch file, or a file that is or holds PTX.
    pub(super) fn load(path: &Path) -> Result<Code> {
        let (text, name, kernel) = match input::identify(path)? {
            FileKind::LaunchFile => {
                let job = Job::load(path)?;
                (job.text, job.module, Some(job.kernel))
            }
            _ => (crate::code::ptx(path, None)?, path.display().to_string(), None),
        };
        let (module, _) = prlx_isa::ptx::read(&text);
        Ok(Code { name, text, module, kernel })
    }

    /// Names of the kernels to probe: those that the user names, or the one that is launched. An empty list
    /// means all.
    pub(super) fn kernels(&self, named: &[String]) -> Vec<String> {
        if named.is_empty() { self.kernel.iter().cloned().collect() } else { named.to_vec() }
    }
}
