//! Runs kernels on a device and records them.
//!
//! [`Driver`] is the one interface to a device. The CPU device (`prlx-emu`) and [`cuda`] (NVIDIA GPUs)
//! implement it. Recording is written once, on top of the trait.
//!
//! | module | content |
//! |---|---|
//! | `driver` | the [`Driver`] trait |
//! | [`job`], `launch_file` | one launch with its data, and the TOML file that describes it |
//! | [`element`], [`npy`], [`tensor_map`], [`buffer_content`], [`random`] | the data of arguments |
//! | [`signature`] | parameters and launch limits that a kernel declares |
//! | [`run`](mod@run) | runs a job's original kernel and compares its outputs |
//! | [`queue`] | what recording a program needs of a GPU's API, as a trait |
//! | [`record`](mod@record) | records one launch of a job, or all launches of a program |
//! | [`files`] | reads input files and writes output files |
//! | [`decode`] | decodes what a kernel recorded into streams of warps |
//! | [`digest`] | digests of memory |
//! | [`memory_changes`] | what a launch changed in memory |
//! | [`occupancy`] | how many threads of an SM fit into its register file |
//! | [`workers`] | the worker threads of this process |
//! | [`session`] | recordings of whole programs |
//! | [`assemble`] | assembles PTX with NVIDIA's assemblers |
//! | [`cuda`] | the CUDA driver: calls, devices |
//!
//! # Invariants
//! - Everything that is allocated on a device is freed on every way out, also after errors.
//! - Bytes from files and devices never cause a panic.

pub mod assemble;
pub mod buffer_content;
pub mod cuda;
pub mod decode;
pub mod digest;
mod driver;
mod error;
pub mod files;
pub mod job;
mod launch_file;
pub mod memory_changes;
pub mod npy;
pub mod occupancy;
pub mod queue;
pub mod random;
pub mod record;
pub mod run;
pub mod session;
pub mod signature;
mod temporary;
pub mod tensor_map;
pub mod triton_cache;
pub mod workers;

pub use driver::{
    DeviceInfo, DevicePtr, Driver, LaunchConfig, LaunchStats, ModuleCode, ModuleHandle, Observed,
    ResourceUsage,
};
pub use error::{Error, ErrorKind};
pub use job::Job;
pub use launch_file::{
    CapturedBuffer, CapturedLaunch, CompilerOptions, Files, LAUNCH_FILE, Language, MODULE_FORMATS,
    ModuleError, ModuleFormat, ParamUse, after_file, compile_cuda, compile_hip, hip_compiler, is_partial,
    param_uses, param_uses_amd, quoted, short_name, source_names,
};
pub use prlx_trace::element;
pub use record::{
    Cost, CostOptions, KernelVariant, MarkerVisits, OriginalRun, RecordOptions, Recorded, cost, record,
};
pub use run::{Output, PreparedJob, Run, prepare, run};
pub use tensor_map::TensorMap;
