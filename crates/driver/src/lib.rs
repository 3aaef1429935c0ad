//! Runs kernels on a device and records them.
//!
//! [`Driver`] is the one interface to a device. The CPU device (`prlx-emu`) implements it, and [`cuda`] does
//! for NVIDIA GPUs. Recording is written once, on top of the trait.
//!
//! | module | content |
//! |---|---|
//! | `driver` | the [`Driver`] trait |
//! | [`job`], `launch_file` | one launch with its data, and the TOML file that describes it |
//! | [`element`], [`npy`], [`tensor_map`], [`buffer_content`], [`random`] | the data of arguments |
//! | [`signature`] | what a kernel declares of its parameters and its shape |
//! | [`run`](mod@run) | runs a job's kernel as it is, and compares its outputs |
//! | `record` | runs a job's instrumented kernel, and measures what recording costs |
//! | [`decode`], [`digest`] | what a kernel recorded becomes streams of warps, with digests |
//! | [`occupancy`] | how many threads of an SM fit into its register file |
//! | [`workers`] | the worker threads of this process |
//! | [`session`] | recordings of whole programs |
//! | [`assemble`] | PTX to machine code, by NVIDIA's assemblers |
//! | [`cuda`] | the CUDA driver: calls, devices, the recorder of programs |
//!
//! # Invariants
//! Everything that is taken from a device is given back on every way out. Bytes from files and devices never
//! panic.

pub mod assemble;
pub mod buffer_content;
pub mod cuda;
pub mod decode;
pub mod digest;
mod driver;
pub mod element;
mod error;
pub mod job;
mod launch_file;
pub mod npy;
pub mod occupancy;
pub mod random;
mod record;
pub mod run;
pub mod session;
pub mod signature;
pub mod tensor_map;
pub mod workers;

pub use driver::{
    DeviceInfo, DevicePtr, Driver, LaunchConfig, LaunchStats, ModuleHandle, Observed, ResourceUsage,
};
pub use error::{Error, ErrorKind};
pub use job::Job;
pub use launch_file::Files;
pub use record::{
    Cost, CostOptions, KernelVariant, MarkerVisits, OriginalRun, RecordOptions, Recorded, cost, record,
};
pub use run::{Output, PreparedJob, Run, prepare, run};
pub use tensor_map::TensorMap;
