//! Modules of machine code in launch files: which files they are, which object of a file is meant, and the
//! arguments that the runtime fills in.
//!
//! [`ModuleFormat`] says what an instruction set has for that.

use prlx_isa::view::{Function, Module};
use prlx_isa::{InstructionSet, MachineCode};
use prlx_trace::kernel::{Param, Scalar};

use crate::driver::LaunchConfig;
use crate::element;
use crate::error::Error;
use crate::job::{Arg, ArgValue};
use crate::launch_file::table::{Table, Value};
use crate::signature::Signature;

/// Reads the modules of an instruction set that launch files name.
pub trait ModuleFormat: Sync {
    /// The instruction set.
    fn instruction_set(&self) -> InstructionSet;

    /// Whether a file with these bytes holds objects of the instruction set.
    fn recognizes(&self, bytes: &[u8]) -> bool;

    /// The object in the file `name`: the only one, or the one for the processor `arch`.
    ///
    /// # Errors
    /// If the file is damaged, or it is not clear which object is meant.
    fn object(&self, name: &str, bytes: &[u8], arch: Option<&str>) -> Result<Vec<u8>, ModuleError>;

    /// Types of parameters that the code shows and the object does not declare.
    fn param_types(&self, _kernel: &Function, params: &[Param]) -> Vec<Option<Scalar>> {
        vec![None; params.len()]
    }

    /// Whether the runtime fills in a parameter, and not the program.
    fn is_hidden(&self, _param: &Param) -> bool {
        false
    }

    /// What the runtime fills in for a hidden parameter.
    fn hidden_value(&self, _param: &Param, _config: &LaunchConfig) -> u64 {
        0
    }
}

/// Why a module is not read.
#[derive(Clone, Debug)]
pub struct ModuleError {
    what: String,
    /// Whether the key `arch` is wrong, and not the module.
    of_arch: bool,
    help: Option<String>,
}

impl ModuleError {
    /// An error in the module.
    pub fn of_module(what: String) -> ModuleError {
        ModuleError { what, of_arch: false, help: None }
    }

    /// An error in the key `arch`.
    pub fn of_arch(what: String) -> ModuleError {
        ModuleError { what, of_arch: true, help: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn help(self, help: String) -> ModuleError {
        ModuleError { help: Some(help), ..self }
    }
}

/// Reads the object of a file and its view.
pub(super) fn object(
    format: &dyn ModuleFormat,
    file: &Table<'_>,
    module: Value<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<(MachineCode, Module), Error> {
    let arch = file.get("arch");
    let text = arch.map(Value::text).transpose()?;
    let bytes = format.object(name, bytes, text).map_err(|e| {
        let key = arch.filter(|_| e.of_arch).unwrap_or(module);
        let error = key.error(e.what);
        e.help.into_iter().fold(error, Error::help)
    })?;
    let set = format.instruction_set();
    let view = set.read(&bytes).map_err(|e| module.error(format_args!("{name}: {e}")))?;
    Ok((MachineCode { set, bytes, warp_lanes: view.warp_lanes }, view))
}

/// Gives parameters the types that the code shows, if they have the size that the object declares.
pub(super) fn infer_types(format: &dyn ModuleFormat, signature: &mut Signature, module: &Module) {
    let Some(function) = module.functions.iter().find(|f| f.name == signature.name) else { return };
    let types = format.param_types(function, &signature.params);
    for (param, ty) in signature.params.iter_mut().zip(types) {
        let fits = |ty: &Scalar| element::size(*ty) as u32 == param.size;
        param.ty = ty.filter(fits).unwrap_or(param.ty);
    }
}

/// Takes the hidden parameters out of a signature.
pub(super) fn take_hidden(format: &dyn ModuleFormat, signature: &mut Signature) -> Vec<Param> {
    let all = std::mem::take(&mut signature.params);
    let (hidden, own) = all.into_iter().partition(|param| format.is_hidden(param));
    signature.params = own;
    hidden
}

/// Adds hidden parameters and their arguments behind those of the program.
pub(super) fn insert_hidden(
    format: &dyn ModuleFormat,
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
    let argument = |param: &Param| {
        let ty = match param.size {
            1 => Scalar::U8,
            2 => Scalar::U16,
            4 => Scalar::U32,
            _ => Scalar::U64,
        };
        Arg { name: param.name.clone(), value: ArgValue::Scalar(ty, format.hidden_value(param, config)) }
    };
    args.splice(at..at, hidden.iter().map(argument));
    signature.params.extend(hidden);
}
