//! NVIDIA GPUs through the CUDA driver library, which is opened at run time and never linked.
//!
//! | module | content |
//! |---|---|
//! | `table`, [`calls`], `functions` | the driver calls, their constants, structures and pointers |
//! | `library` | each call as a safe function |
//! | `tiled_map` | the tensor map that a call encodes |
//! | [`error_codes`] | CUDA's error codes |
//! | `gpus`, `device` | the devices of this machine, and one device as a [`Driver`](crate::Driver) |
//! | [`image`] | the length of images in memory |
//! | [`capture`] | copies of the memory that a launch's pointers lead to |
//! | [`memory_changes`] | what a launch changes in that memory |
//! | [`pointee_digest`] | digests of the memory that a launch's pointers lead to |
//! | `launch_hashes` | the kernel that hashes launches |
//! | `queue` | streams, events and copies, as the recorder of programs uses them |

pub mod calls;
pub mod capture;
mod device;
pub mod error_codes;
mod functions;
mod gpus;
pub mod image;
mod launch_hashes;
mod library;
pub mod memory_changes;
pub mod pointee_digest;
mod queue;
mod sum_text;
mod table;
mod tiled_map;

pub use device::Cuda;
pub use error_codes::sticky;
pub use functions::Functions;
pub use gpus::{CudaInstallation, Gpu, installation};
pub use launch_hashes::LAUNCH_HASHES;
pub use library::{Library, PointerInfo, VARIABLE};
pub use queue::CudaQueue;
pub use tiled_map::TiledMapCall;
