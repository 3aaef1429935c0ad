//! `prlx new`.

use std::path::PathBuf;

use clap::Args;
use prlx_driver::session::KernelPattern;

use super::parse;

/// `prlx new`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct NewArgs {
    /// PTX file, CUDA source, or a cubin, fatbin or program that holds PTX
    pub code: PathBuf,
    /// The kernel to launch, if there are several: its name in C++ or in the module (`*` and `?` match; or a
    /// regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = parse::pattern)]
    pub kernel: Option<KernelPattern>,
    /// The image to use in a file with several, as `prlx inspect` numbers them; its PTX becomes a file beside
    /// the output
    #[arg(long, value_name = "N")]
    pub image: Option<usize>,
    /// Output file; `-` for standard output [default: the name of the code with .toml, in the working
    /// directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Examples:
  prlx new kernel.ptx                                      writes kernel.toml
  prlx new kernels.cu --kernel 'ns::scale<float>' -o scale.toml
  prlx new kernel.ptx && prlx run kernel.toml --check all";
