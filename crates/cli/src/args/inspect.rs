//! `prlx inspect`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx_isa::image::Target;

use super::parse;

/// `prlx inspect`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InspectArgs {
    /// PTX file, cubin, fatbin, program, launch file or recording (a file, or a program's directory)
    pub input: PathBuf,
    /// Show the PTX of image N of a cubin, fatbin or program, instead of the list of images
    #[arg(long, value_name = "N")]
    pub image: Option<usize>,
    /// Mark the images that the driver loads for this architecture, as `sm_90`
    #[arg(long, value_name = "ARCH", value_parser = parse::target)]
    pub arch: Option<Target>,
    /// What to show [default: launches of a directory, kernels of anything else]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub show: Option<Show>,
    /// The same as `--show plan`
    #[arg(long, conflicts_with = "show")]
    pub plan: bool,
    /// Show only kernels and functions whose names match (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
}

impl InspectArgs {
    /// What to show, if an option says it.
    pub fn shown(&self) -> Option<Show> {
        self.show.or(self.plan.then_some(Show::Plan))
    }
}

const EXAMPLES: &str = "\
Examples:
  prlx inspect kernel.ptx --show sites                     what can be recorded, and how
  prlx inspect kernel.ptx --plan                           what level `path` records of each kernel
  prlx inspect ./app --arch sm_90                          the images in a program
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
