//! `prlx inspect`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx_isa::amdgpu::object::TargetId;
use prlx_isa::image::Target;

use super::parse::{self, Arch};

/// `prlx inspect`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InspectArgs {
    /// PTX file, cubin, fatbin, AMD code object or bundle, program, launch file or recording (a file, or a
    /// program's directory)
    pub input: PathBuf,
    /// Show image N alone: of a cubin, fatbin or program its PTX, of AMD code its kernels
    #[arg(long, value_name = "N")]
    pub image: Option<usize>,
    /// Mark the images that are loaded for this architecture, as `sm_90` or `gfx942:sramecc+:xnack-`
    #[arg(long, value_name = "ARCH", value_parser = parse::arch)]
    pub arch: Option<Arch>,
    /// What to show [default: launches of a directory, kernels of anything else]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub show: Option<Show>,
    /// The same as `--show plan`
    #[arg(long, conflicts_with = "show")]
    pub plan: bool,
    /// Show only kernels and functions whose names match (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Write JSON: of AMD code only
    #[arg(long)]
    pub json: bool,
}

impl InspectArgs {
    /// What to show, if an option says it.
    pub fn shown(&self) -> Option<Show> {
        self.show.or(self.plan.then_some(Show::Plan))
    }

    /// The NVIDIA device whose images are marked.
    pub fn cuda(&self) -> Option<Target> {
        self.arch.and_then(|arch| if let Arch::Cuda(target) = arch { Some(target) } else { None })
    }

    /// The AMD device whose images are marked.
    pub fn amd(&self) -> Option<TargetId> {
        self.arch.and_then(|arch| if let Arch::Amd(id) = arch { Some(id) } else { None })
    }
}

const EXAMPLES: &str = "\
Examples:
  prlx inspect kernel.ptx --show sites                     what can be recorded, and how
  prlx inspect kernel.ptx --plan                           what level `path` records of each kernel
  prlx inspect ./app --arch sm_90                          the images in a program
  prlx inspect kernels.hsaco --kernel '*gemm*'             kernels, registers and arguments of AMD code
  prlx inspect app.prlx                                    the launches in a recording";

/// What `inspect` shows.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// A line for each kernel and function
    Kernels,
    /// Basic blocks and edges
    Cfg,
    /// The loop nest
    Loops,
    /// Decisions and other sites, and how each is recorded
    Sites,
    /// What level `path` records: values, decisions and iteration counts, and how often
    Plan,
    /// Processes and launches of a recording
    Launches,
    /// Everything in a recording, as text
    Streams,
}
