//! Modules of AMD's machine code in launch files: which code object of a file is meant, and the arguments
//! that the runtime fills in.

use prlx_isa::InstructionSet;
use prlx_isa::amdgpu;
use prlx_isa::amdgpu::object::{self, TargetId};
use prlx_isa::view::Function;
use prlx_trace::kernel::{Param, Scalar};

use crate::driver::LaunchConfig;
use crate::launch_file::module_format::{ModuleError, ModuleFormat};
use crate::launch_file::param_uses_amd::float_params;

/// Modules of AMD's machine code.
#[derive(Debug)]
pub(super) struct AmdModules;

impl ModuleFormat for AmdModules {
    fn instruction_set(&self) -> InstructionSet {
        amdgpu::INSTRUCTION_SET
    }

    fn recognizes(&self, bytes: &[u8]) -> bool {
        object::is_binary(bytes)
    }

    fn object(&self, name: &str, bytes: &[u8], arch: Option<&str>) -> Result<Vec<u8>, ModuleError> {
        let wrong = |e: &dyn std::fmt::Display| ModuleError::of_module(format!("{name}: {e}"));
        let images = object::read(bytes).map_err(|e| wrong(&e))?;
        let targets = || {
            let names = images.iter().filter_map(|i| i.target.as_ref().ok()).map(ToString::to_string);
            names.collect::<Vec<_>>().join(", ")
        };
        let image = match arch {
            Some(arch) => {
                let device = TargetId::parse(arch).map_err(|why| ModuleError::of_arch(why.to_string()))?;
                object::choose(&images, 0, device).ok_or_else(|| {
                    let what = format!("{name} has no code object that runs on {device}");
                    ModuleError::of_arch(what).help(format!("it has code for {}", targets()))
                })?
            }
            None => match &images[..] {
                [one] => one,
                [] => return Err(wrong(&"it has no code object that PRLX reads")),
                _ => {
                    let e = ModuleError::of_module(format!("{name} has {} code objects", images.len()));
                    return Err(e.help(format!("say which one with `arch`: {}", targets())));
                }
            },
        };
        Ok(image.bytes().map_err(|e| wrong(&e))?.to_vec())
    }

    /// Those that only operations on floating-point numbers use have the type of these.
    fn param_types(&self, kernel: &Function, params: &[Param]) -> Vec<Option<Scalar>> {
        float_params(kernel, params)
    }

    /// LLVM, User Guide for AMDGPU Backend, "Kernel Argument Metadata": `.value_kind`.
    fn is_hidden(&self, param: &Param) -> bool {
        param.name.starts_with("hidden_")
    }

    /// What PRLX's devices do not have, as a buffer for `printf`, is 0.
    fn hidden_value(&self, param: &Param, config: &LaunchConfig) -> u64 {
        let axis = |name: &str, of: prlx_trace::Dim3| match name.as_bytes().last() {
            Some(b'x') => of.x,
            Some(b'y') => of.y,
            _ => of.z,
        };
        match param.name.strip_prefix("hidden_").unwrap_or(&param.name) {
            kind if kind.starts_with("block_count_") => axis(kind, config.grid).into(),
            kind if kind.starts_with("group_size_") => axis(kind, config.block).into(),
            // The grid counts whole groups, so none is partial.
            "grid_dims" => match (config.grid, config.block) {
                (grid, block) if grid.z > 1 || block.z > 1 => 3,
                (grid, block) if grid.y > 1 || block.y > 1 => 2,
                _ => 1,
            },
            "dynamic_lds_size" => config.shared.into(),
            _ => 0,
        }
    }
}
