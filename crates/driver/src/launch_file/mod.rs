//! Reads launch files: TOML files that describe one launch (`docs/launch-file.md`).
//!
//! Every key is declared in `keys`. `load` reads the whole file; the other parts read one section each.

mod arguments;
mod buffers;
mod compile;
mod files;
mod kernel;
mod keys;
mod load;
mod shape;
pub(crate) mod table;
mod tensor_map;

pub use compile::ptx as compile_cuda;
pub use files::Files;
