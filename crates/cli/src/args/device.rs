//! Options for the device that a launch file runs on.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use prlx::device::{Contract, DeviceChoice, DeviceOptions};
use prlx_emu::Checks;
use prlx_trace::WarpSize;

use super::parse;

/// Where a launch file runs.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Device options (launch files)")]
pub struct DeviceArgs {
    /// Run on the CPU device (`cpu`), an NVIDIA GPU (`cuda`, `cuda:1`), or a GPU if there is one (`auto`)
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = parse::device)]
    pub device: DeviceChoice,
    /// CPU device: use this schedule seed instead of the launch file's; random input data stays the same
    #[arg(long)]
    pub seed: Option<u64>,
    /// CPU device: stop a CTA as stuck after N steps
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// GPU: stop a kernel as stuck after so many seconds; a flight recorder's contents are read all the same
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds)]
    pub timeout: Option<Duration>,
    /// CPU device: check while the kernel runs: bounds, init, race, sync, async, notes, or all
    /// (docs/checks.md)
    #[arg(long, value_name = "LIST", value_parser = Checks::from_str)]
    pub check: Option<Checks>,
    /// CPU device: number of host threads under seed 0 (other seeds and recordings always use one); with
    /// --seeds, number of schedules that run at the same time [default: one for each core; one if the order
    /// of CTAs can change results]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// CPU device: lanes of a warp, 32 or 64. A test mode: see docs/cpu.md
    #[arg(long, value_name = "LANES", default_value = "32", value_parser = parse::warp_size, hide = true)]
    pub warp_size: WarpSize,
    /// CPU device: maximum memory for buffers, running CTAs, checks and recordings, in MiB [default: 16384]
    #[arg(long, value_name = "MIB")]
    pub max_memory: Option<u64>,
    /// CPU device: KiB of text that a launch may print with `printf`; PRLX drops the text of later calls
    /// [default: 1024]
    #[arg(long, value_name = "KIB")]
    pub max_printed: Option<u64>,
    /// CPU device: compute an approximate operation as hardware does, from this file
    /// (docs/internals/calibration.md); may be repeated
    #[arg(long, value_name = "FILE")]
    pub calibration: Vec<PathBuf>,
}

/// Whether multiplications and additions are fused.
#[derive(Args, Debug, Clone, Copy, Default)]
#[command(next_help_heading = "Device options (launch files)")]
pub struct ContractArgs {
    /// CPU device: fuse multiplications and additions without a rounding mode, as the assembler does (`on`),
    /// round twice (`off`), or run both ways and say whether outputs differ (`both`) (docs/cpu.md)
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub contract: ContractChoice,
}

/// The values of `--contract`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ContractChoice {
    /// Round after the multiplication and after the addition.
    Off,
    /// Fuse what the assembler fuses.
    #[default]
    On,
    /// Fuse, and run again without to compare the outputs.
    Both,
}

impl ContractArgs {
    /// What the device does in the first run.
    pub fn option(&self) -> Contract {
        if self.contract == ContractChoice::Off { Contract::Off } else { Contract::On }
    }
}

impl DeviceArgs {
    /// The options of the library.
    pub fn options(&self) -> DeviceOptions {
        DeviceOptions {
            device: self.device,
            seed: self.seed,
            max_steps: self.max_steps,
            max_launch_steps: None,
            max_memory: self.max_memory,
            turn: None,
            timeout: self.timeout,
            max_printed: self.max_printed,
            check: self.check,
            dataflow: None,
            contract: Contract::default(),
            warp_size: self.warp_size,
            threads: self.threads,
            calibration: self.calibration.clone(),
            cancel: None,
        }
    }
}
