//! `prlx timeline`, and how timelines are shown.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx::timeline::BufferFormat;
use prlx_driver::session::KernelPattern;
use prlx_legacy::cudaprofiler::Format;
use prlx_timeline::Selection;
use prlx_trace::Picos;

use super::parse;

/// `prlx timeline`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TimelineArgs {
    /// Recording with markers; or a buffer of TVM's CudaProfiler or of FlashInfer, as a .npy file
    pub input: PathBuf,
    /// Show only kernels whose names match (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = parse::pattern)]
    pub kernel: Vec<KernelPattern>,
    /// Show only launches FIRST-LAST, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub launch: Vec<(u64, u64)>,
    #[command(flatten)]
    pub buffer: BufferArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// What a buffer does not say itself.
#[derive(Args, Debug)]
#[command(next_help_heading = "Buffer options (.npy files)")]
pub struct BufferArgs {
    /// The profiler that wrote the buffer
    #[arg(long, value_enum, default_value_t = BufferWriter::Cudaprofiler)]
    pub format: BufferWriter,
    /// Names of the buffer's events, from number 0 on
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Number of CTAs of the grid, if the buffer has no header
    #[arg(long, value_name = "N")]
    pub blocks: Option<u32>,
    /// Number of groups of a CTA, if the buffer has no header
    #[arg(long, value_name = "N")]
    pub groups: Option<u32>,
}

impl BufferArgs {
    /// The options of the library.
    pub fn format(&self) -> BufferFormat {
        let (format, names) = (self.format.into(), self.names.clone());
        BufferFormat { format, names, blocks: self.blocks, groups: self.groups }
    }
}

const EXAMPLES: &str = "\
Exit codes: 0 done, 2 error. The output lists what was repaired in a buffer or is missing (docs/profile.md).

Examples:
  prlx timeline buffer.npy --names load,compute,store
  prlx timeline buffer.npy --names load,mma --format flashinfer --perfetto out.perfetto
  prlx timeline run.prlx --cta 0-3 --from 10 --to 50 --csv spans.csv
  prlx timeline app.prlx --kernel 'gemm*' --launch 10-19";

/// The profiler that wrote a buffer.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferWriter {
    /// TVM's CudaProfiler, or FlashInfer without SM numbers
    Cudaprofiler,
    /// FlashInfer's profiler, with SM numbers
    Flashinfer,
}

impl From<BufferWriter> for Format {
    fn from(writer: BufferWriter) -> Format {
        match writer {
            BufferWriter::Cudaprofiler => Format::CudaProfiler,
            BufferWriter::Flashinfer => Format::FlashInfer,
        }
    }
}

/// How a timeline is shown, and which part of it.
#[derive(Args, Debug, Clone, Default, PartialEq)]
#[command(next_help_heading = "Timeline options")]
pub struct ViewArgs {
    /// Print JSON (docs/profile.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most N rows of each table
    #[arg(long, short = 'n', value_name = "N", default_value_t = 12)]
    pub rows: usize,
    /// Also write all spans for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Also write all spans in Chrome's JSON format
    #[arg(long, value_name = "FILE")]
    pub chrome: Option<PathBuf>,
    /// Also write all spans as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write all spans as a Parquet file
    #[arg(long, value_name = "FILE", value_parser = crate::features::parquet_path)]
    pub parquet: Option<PathBuf>,
    /// Also write an HTML page: chosen CTAs, all SMs, and which warp waited for which
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write all spans as a buffer of TVM's CudaProfiler, as a .npy file
    #[arg(long, value_name = "FILE")]
    pub cudaprofiler: Option<PathBuf>,
    /// Show only SMs FIRST-LAST; may be repeated
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub sm: Vec<(u64, u64)>,
    /// Show only CTAs FIRST-LAST
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub cta: Vec<(u64, u64)>,
    /// Show only groups FIRST-LAST of a CTA; its warps, if the recording has no groups
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub group: Vec<(u64, u64)>,
    /// Show only spans that end at this time or later, in microseconds since the start
    #[arg(long, value_name = "µs", value_parser = micros)]
    pub from: Option<Picos>,
    /// Show only spans that begin at this time or earlier
    #[arg(long, value_name = "µs", value_parser = micros)]
    pub to: Option<Picos>,
}

impl ViewArgs {
    /// The same options without output files.
    pub fn without_files(&self) -> ViewArgs {
        ViewArgs {
            perfetto: None,
            chrome: None,
            csv: None,
            parquet: None,
            html: None,
            cudaprofiler: None,
            ..self.clone()
        }
    }
    /// The first given option that writes a file of spans.
    pub fn span_file(&self) -> Option<&'static str> {
        let files = [
            ("--perfetto", &self.perfetto),
            ("--chrome", &self.chrome),
            ("--csv", &self.csv),
            ("--parquet", &self.parquet),
            ("--cudaprofiler", &self.cudaprofiler),
        ];
        files.iter().find(|(_, path)| path.is_some()).map(|(option, _)| *option)
    }
    /// The part of the timeline that the options select.
    pub fn cut(&self) -> Selection {
        let (sms, ctas, groups) = (self.sm.clone(), self.cta.clone(), self.group.clone());
        Selection { sms, ctas, groups, from: self.from, to: self.to }
    }
}

/// Parses a time in microseconds.
fn micros(text: &str) -> Result<Picos, String> {
    match text.parse::<f64>() {
        Ok(us) if (0.0..1e12).contains(&us) => Ok(Picos((us * 1e6).round() as u64)),
        _ => Err(format!("`{text}` is no number of microseconds")),
    }
}
