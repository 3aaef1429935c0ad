//! `prlx convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx::convert::Packing;

/// `prlx convert`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ConvertArgs {
    /// Recording: a file, or a program's directory; of PRLX 0.x a file
    pub input: PathBuf,
    /// Output file, or new directory for Parquet files
    #[arg(long, short, value_name = "PATH")]
    pub output: PathBuf,
    /// Format of the output [default: plain for a single launch at level `events` and for files of PRLX 0.x;
    /// parquet for other recordings, or perfetto in builds without Parquet]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<ConvertFormat>,
    /// For a file of PRLX 0.x: the launch to store, counted from 0 [default: 0]
    #[arg(long, value_name = "N")]
    pub launch: Option<u64>,
    /// For a file of PRLX 0.x: also write the site table, as prlx-sites.json
    #[arg(long, value_name = "FILE")]
    pub sites: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  prlx convert app.prlx -o tables                          the format that can hold the recording
  prlx convert app.prlx -o app.perfetto --to perfetto
  prlx convert app.prlx -o tables --to parquet
  prlx convert events.prlx -o old.prlx --to packed --sites prlx-sites.json";

/// What a recording is converted to.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConvertFormat {
    /// A file of PRLX 0.x with 16 bytes for each event; needs a recording at level `events`
    Plain,
    /// A file of PRLX 0.x with 8 bytes for each event, without values
    Compact,
    /// A file of PRLX 0.x as one zstd frame
    Packed,
    /// Launches over time, for ui.perfetto.dev (docs/timeline.md)
    Perfetto,
    /// Launches over time, in Chrome's JSON format
    Chrome,
    /// Launches, warps, sites and visits as Parquet files (docs/tables.md)
    Parquet,
}

impl ConvertFormat {
    /// The packing of a file of PRLX 0.x; `None` for other formats.
    pub fn packing(self) -> Option<Packing> {
        match self {
            ConvertFormat::Plain => Some(Packing::Plain),
            ConvertFormat::Compact => Some(Packing::Compact),
            ConvertFormat::Packed => Some(Packing::Packed),
            ConvertFormat::Perfetto | ConvertFormat::Chrome | ConvertFormat::Parquet => None,
        }
    }
}
