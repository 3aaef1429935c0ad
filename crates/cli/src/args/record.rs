//! `prlx record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;
use super::part::PartArgs;
use super::recorder::{LaunchSelectionArgs, RecorderArgs};

/// `prlx record`.
#[derive(Args, Debug)]
#[command(
    override_usage = "prlx record [OPTIONS] -o FILE LAUNCH\n       prlx record [OPTIONS] -- PROGRAM…",
    after_help = EXAMPLES
)]
pub struct RecordArgs {
    /// Launch file (docs/launch-file.md)
    #[arg(value_name = "LAUNCH", required_unless_present = "program", conflicts_with = "program")]
    pub file: Option<PathBuf>,
    /// A CUDA program and its arguments (docs/sessions.md)
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// Output file (launch file) or new directory (program) [default for a program: its name with .prlx]
    #[arg(long, short, value_name = "PATH", required_unless_present = "program")]
    pub output: Option<PathBuf>,
    /// Overwrite the directory of an earlier recording. The file of a launch file is always overwritten.
    #[arg(long)]
    pub force: bool,
    /// Program: also write each recorded launch as a launch file, with at most MIB of the memory that it
    /// had [default: 256]. `prlx run` runs it on the CPU device
    #[arg(long, value_name = "MIB", num_args = 0..=1, require_equals = true, default_missing_value = "256")]
    pub capture: Option<u64>,
    #[command(flatten)]
    pub recorder: RecorderArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub selection: LaunchSelectionArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
}

const EXAMPLES: &str = "\
Exit codes: 0 done; for a launch file 1 if checks found errors, 2 wrong option or file, 4 the kernel faulted
or did not end; for a program, its own.

Examples:
  prlx record -o good.prlx examples/threshold/good.toml    a launch file, on the CPU device
  prlx record -o app.prlx -- ./app --steps 100             a CUDA program
  prlx record -o app.prlx --kernel 'gemm*' --count 10 -- ./app
  prlx record -o app.prlx --capture --launch 12 -- ./app   launch 12 as a launch file";
