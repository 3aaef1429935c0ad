//! Reads and writes launch files: TOML files that describe one launch (`docs/launch-file.md`).
//!
//! Every key is declared in `keys`. `load` reads the whole file; the other parts read one section each.
//! `write` makes a launch file of a launch of a program.

mod amd;
mod arguments;
mod before;
mod buffers;
mod compile;
mod compiler_errors;
mod files;
mod kernel;
mod keys;
mod load;
mod module_format;
mod param_uses;
mod param_uses_amd;
mod shape;
mod source_names;
pub(crate) mod table;
mod tensor_map;
mod write;

pub use compile::{CompilerOptions, Language, code_object as compile_hip, hip_compiler, ptx as compile_cuda};
pub use files::Files;
pub use load::MODULE_FORMATS;
pub use module_format::{ModuleError, ModuleFormat};
pub use param_uses::{ParamUse, param_uses};
pub use param_uses_amd::param_uses_amd;
pub use source_names::source_names;
pub use write::{CapturedBuffer, CapturedLaunch, LAUNCH_FILE, after_file, is_partial, quoted, short_name};
