//! `prlx instrument`.

use std::path::PathBuf;

use clap::Args;

use super::recorder::RecorderArgs;

/// `prlx instrument`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  prlx instrument kernel.ptx -o recorded.ptx\n  prlx instrument app --image 2 --level events -o recorded.ptx\n  prlx instrument kernel.co -o recorded.co"
)]
pub struct InstrumentArgs {
    /// PTX file, a cubin, fatbin or program that holds PTX, or a code object of AMD's
    pub input: PathBuf,
    /// The image to use in a file with several, as `prlx inspect` numbers them
    #[arg(long, value_name = "N")]
    pub image: Option<usize>,
    /// Output file; `-` for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    pub recorder: RecorderArgs,
}
