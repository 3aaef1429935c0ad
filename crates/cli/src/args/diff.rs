//! `prlx diff`.

use std::path::PathBuf;

use clap::Args;
use prlx_analyze::Shard;
use prlx_driver::session::KernelPattern;

use super::legacy::LegacyArgs;
use super::parse;
use super::part::PartArgs;
use super::report::ReportArgs;
use super::tolerance::ToleranceArgs;

/// `prlx diff`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// First recording: a file, or a program's directory
    pub a: PathBuf,
    /// Second recording, compared with the first
    pub b: PathBuf,
    /// Compare only kernels whose names match (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = parse::pattern)]
    pub kernel: Vec<KernelPattern>,
    /// Compare only launches FIRST-LAST of the first recording's processes, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub launch: Vec<(u64, u64)>,
    /// Compare only part I of N of the pairs of launches (I from 0 to N-1), for `prlx merge`
    #[arg(long, value_name = "I/N", value_parser = parse::shard, requires = "output")]
    pub shard: Option<Shard>,
    /// Write the report into FILE, as JSON, instead of printing it
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    #[command(flatten)]
    pub legacy: LegacyArgs,
}

const EXAMPLES: &str = "\
Examples:
  prlx diff good.prlx bad.prlx
  prlx diff a.prlx b.prlx --kernel 'gemm*' --html report.html
  prlx diff a.prlx b.prlx --shard 0/4 -o part-0.json";
