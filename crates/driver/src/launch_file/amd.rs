//! Modules of AMD's machine code in launch files: which code object of a file is meant, and the arguments
//! that the runtime fills in.

use prlx_isa::MachineCode;
use prlx_isa::amdgpu;
use prlx_isa::amdgpu::object::{self, TargetId};
use prlx_isa::view::Module;
use prlx_trace::kernel::{Param, Scalar};

use crate::driver::LaunchConfig;
use crate::element;
use crate::error::Error;
use crate::job::{Arg, ArgValue};
use crate::launch_file::param_uses_amd::float_params;
use crate::launch_file::table::{Table, Value};
use crate::signature::Signature;

/// Reads the code object of a file: the only one, or the one for the processor that `arch` names.
pub(super) fn code_object(
    file: &Table<'_>,
    module: Value<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<(MachineCode, Module), Error> {
    let wrong = |e: &dyn std::fmt::Display| module.error(format_args!("{name}: {e}"));
    let images = object::read(bytes).map_err(|e| wrong(&e))?;
    let targets = || {
        let names = images.iter().filter_map(|i| i.target.as_ref().ok()).map(ToString::to_string);
        names.collect::<Vec<_>>().join(", ")
    };
    let image = match file.get("arch") {
        Some(arch) => {
            let device = TargetId::parse(arch.text()?).map_err(|why| arch.error(why))?;
            object::choose(&images, 0, device).ok_or_else(|| {
                let what = format!("{name} has no code object that runs on {device}");
                arch.error(what).help(format!("it has code for {}", targets()))
            })?
        }
        None => match &images[..] {
            [one] => one,
            [] => return Err(wrong(&"it has no code object that PRLX reads")),
            _ => {
                let e = module.error(format_args!("{name} has {} code objects", images.len()));
                return Err(e.help(format!("say which one with `arch`: {}", targets())));
            }
        },
    };
    let bytes = image.bytes().map_err(|e| wrong(&e))?.to_vec();
    let view = amdgpu::INSTRUCTION_SET.read(&bytes).map_err(|e| wrong(&e))?;
    Ok((MachineCode { set: amdgpu::INSTRUCTION_SET, bytes, warp_lanes: view.warp_lanes }, view))
}

/// Whether the runtime fills in a parameter, and not the program (LLVM, User Guide for AMDGPU Backend,
/// "Kernel Argument Metadata": `.value_kind`).
fn is_hidden(param: &Param) -> bool {
    param.name.starts_with("hidden_")
}

/// Gives scalar parameters that only operations on floating-point numbers use the type of these: machine code
/// declares only their size.
pub(super) fn infer_types(signature: &mut Signature, module: &Module) {
    let Some(function) = module.functions.iter().find(|f| f.name == signature.name) else { return };
    let types = float_params(function, &signature.params);
    for (param, ty) in signature.params.iter_mut().zip(types) {
        let fits = |ty: &Scalar| element::size(*ty) as u32 == param.size;
        param.ty = ty.filter(fits).unwrap_or(param.ty);
    }
}

/// Takes the hidden parameters out of a signature.
pub(super) fn take_hidden(signature: &mut Signature) -> Vec<Param> {
    let all = std::mem::take(&mut signature.params);
    let (hidden, own) = all.into_iter().partition(is_hidden);
    signature.params = own;
    hidden
}

/// Adds hidden parameters and their arguments behind those of the program.
pub(super) fn insert_hidden(
    args: &mut Vec<Arg>,
    signature: &mut Signature,
    hidden: Vec<Param>,
    config: &LaunchConfig,
) {
    let at = signature.params.len();
    for arg in args.iter_mut() {
        let moved = |to: &mut usize| *to += if *to >= at { hidden.len() } else { 0 };
        match &mut arg.value {
            ArgValue::Struct { pointers, .. } => pointers.iter_mut().for_each(|(_, to)| moved(to)),
            ArgValue::TensorMap { over, .. } => moved(over),
            ArgValue::Scalar(..) | ArgValue::Buffer(_) => {}
        }
    }
    args.splice(at..at, hidden_arguments(&hidden, config));
    signature.params.extend(hidden);
}

/// The arguments that the runtime fills in. What PRLX's devices do not have, as a buffer for `printf`, is 0.
fn hidden_arguments(params: &[Param], config: &LaunchConfig) -> Vec<Arg> {
    let axis = |name: &str, of: prlx_trace::Dim3| match name.as_bytes().last() {
        Some(b'x') => of.x,
        Some(b'y') => of.y,
        _ => of.z,
    };
    let value = |name: &str| -> u64 {
        let kind = name.strip_prefix("hidden_").unwrap_or(name);
        match kind {
            _ if kind.starts_with("block_count_") => axis(name, config.grid).into(),
            _ if kind.starts_with("group_size_") => axis(name, config.block).into(),
            // The grid counts whole groups, so none is partial.
            "grid_dims" => match (config.grid, config.block) {
                (grid, block) if grid.z > 1 || block.z > 1 => 3,
                (grid, block) if grid.y > 1 || block.y > 1 => 2,
                _ => 1,
            },
            "dynamic_lds_size" => config.shared.into(),
            _ => 0,
        }
    };
    let scalar = |param: &Param| {
        let ty = match param.size {
            1 => Scalar::U8,
            2 => Scalar::U16,
            4 => Scalar::U32,
            _ => Scalar::U64,
        };
        Arg { name: param.name.clone(), value: ArgValue::Scalar(ty, value(&param.name)) }
    };
    params.iter().map(scalar).collect()
}
