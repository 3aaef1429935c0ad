//! The integration tests of `prlx-driver`.

mod assemble;
mod cubin_lines;
mod cuda_header;
mod fake;
mod lanes;
mod launch_file;
#[path = "../../../../tests/nvidia.rs"]
mod nvidia;
mod record;
mod run;
mod session;
#[path = "../../../../tests/tools.rs"]
mod tools;
