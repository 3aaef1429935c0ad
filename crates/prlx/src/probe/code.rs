//! Code that a probe program may be inserted into.

use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::Job;
use prlx_isa::InstructionSet;
use prlx_isa::amdgpu::{self, object::CodeObject};
use prlx_isa::view::Module;
use prlx_trace::WarpSize;

use crate::input::{self, FileKind};

/// A module, from a launch file, or from a file with PTX or one code object of AMD's.
pub(super) struct Code {
    /// As the user calls it.
    pub(super) name: String,
    /// The text of a module of PTX.
    pub(super) text: String,
    pub(super) module: Module,
    /// The instruction set of machine code; `None` for PTX.
    pub(super) machine_code: Option<InstructionSet>,
    /// The kernel that the launch file launches.
    pub(super) kernel: Option<String>,
}

impl Code {
    /// Reads a launch file, or a file that is or holds PTX or a code object.
    pub(super) fn load(path: &Path) -> Result<Code> {
        if input::identify(path)? == FileKind::LaunchFile {
            let job = Job::load(path)?;
            let (module, machine_code) = (job.view(WarpSize::W32)?, job.object.map(|object| object.set));
            return Ok(Code {
                name: job.module,
                text: job.text,
                module,
                machine_code,
                kernel: Some(job.kernel),
            });
        }
        let name = path.display().to_string();
        if let Some(bytes) = crate::code::amd_object(path, None)? {
            let read = CodeObject::read(&bytes).and_then(|object| amdgpu::read(&object));
            let module = read.with_context(|| name.clone())?;
            let machine_code = Some(amdgpu::INSTRUCTION_SET);
            return Ok(Code { name, text: String::new(), module, machine_code, kernel: None });
        }
        let text = crate::code::ptx(path, None)?;
        let (module, _) = prlx_isa::ptx::read(&text);
        Ok(Code { name, text, module, machine_code: None, kernel: None })
    }

    /// Names of the kernels to probe: those that the user names, or the one that is launched. An empty list
    /// means all.
    pub(super) fn kernels(&self, named: &[String]) -> Vec<String> {
        if named.is_empty() { self.kernel.iter().cloned().collect() } else { named.to_vec() }
    }
}
