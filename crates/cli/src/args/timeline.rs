//! `prlx timeline`, and how timelines are shown.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx::timeline::BufferFormat;
use prlx_driver::session::Pattern;
use prlx_legacy::cudaprofiler::Format;
use prlx_timeline::Cut;

/// `prlx timeline`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TimelineArgs {
    /// A buffer of TVM's CudaProfiler or of FlashInfer's, as NumPy's .npy; or a recording with markers
    pub input: PathBuf,
    /// Only launches of these kernels (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = super::pattern)]
    pub kernel: Vec<Pattern>,
    /// Only launches FIRST-LAST, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_parser = super::span)]
    pub launch: Vec<(u64, u64)>,
    #[command(flatten)]
    pub buffer: BufferArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// What a buffer does not say of itself.
#[derive(Args, Debug)]
pub struct BufferArgs {
    /// BufferWriter buffer it is
    #[arg(long, value_enum, default_value_t = BufferWriter::Cudaprofiler)]
    pub format: BufferWriter,
    /// Names of a buffer's events, from number 0 on
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub names: Vec<String>,
    /// CTAs of the grid, where a buffer's header was never written
    #[arg(long, value_name = "N")]
    pub blocks: Option<u32>,
    /// Groups of a CTA, where a buffer's header was never written
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
  prlx timeline buffer.npy --names load,compute,store
  prlx timeline buffer.npy --names load,mma --format flashinfer --perfetto out.perfetto
  prlx timeline run.prlx --cta 0-3 --from 10 --to 50 --csv spans.csv
  prlx timeline app.prlx --kernel 'gemm*' --launch 10-19

Exit codes: 0 done, 2 error. What was repaired of a buffer, or is missing, is said (docs/profile.md).";

/// BufferWriter buffer.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferWriter {
    /// TVM's CudaProfiler; FlashInfer's too, where it does not write down multiprocessors
    Cudaprofiler,
    /// FlashInfer's
    Flashinfer,
}

impl From<BufferWriter> for Format {
    fn from(whose: BufferWriter) -> Format {
        match whose {
            BufferWriter::Cudaprofiler => Format::CudaProfiler,
            BufferWriter::Flashinfer => Format::FlashInfer,
        }
    }
}

/// How a timeline is shown, and which part of it.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct ViewArgs {
    /// Print JSON (docs/profile.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most this many rows of each table
    #[arg(long, short = 'n', value_name = "N", default_value_t = 12)]
    pub rows: usize,
    /// Also write all spans into FILE, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Also write them in Chrome's JSON format
    #[arg(long, value_name = "FILE")]
    pub chrome: Option<PathBuf>,
    /// Also write them as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write them as a Parquet file
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Also write a page that needs nothing else: chosen CTAs, all multiprocessors, who waited for whom
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write them as a buffer of TVM's CudaProfiler, as NumPy's .npy
    #[arg(long, value_name = "FILE")]
    pub cudaprofiler: Option<PathBuf>,
    /// Only these multiprocessors, FIRST-LAST; may be repeated
    #[arg(long, value_name = "FIRST-LAST", value_parser = super::span)]
    pub sm: Vec<(u64, u64)>,
    /// Only these CTAs
    #[arg(long, value_name = "FIRST-LAST", value_parser = super::span)]
    pub cta: Vec<(u64, u64)>,
    /// Only these groups; warps of the CTA, where no groups are known
    #[arg(long, value_name = "FIRST-LAST", value_parser = super::span)]
    pub group: Vec<(u64, u64)>,
    /// Only what ends at this time or later, in microseconds since the first moment
    #[arg(long, value_name = "µs", value_parser = micros)]
    pub from: Option<u64>,
    /// Only what begins at this time or earlier
    #[arg(long, value_name = "µs", value_parser = micros)]
    pub to: Option<u64>,
}

impl ViewArgs {
    /// The same without files.
    pub fn without_files(&self) -> ViewArgs {
        ViewArgs {
            perfetto: None,
            chrome: None,
            csv: None,
            #[cfg(feature = "parquet")]
            parquet: None,
            html: None,
            cudaprofiler: None,
            ..self.clone()
        }
    }
    /// The option of a file of spans, if one was given.
    pub fn span_file(&self) -> Option<&'static str> {
        let files = [
            ("--perfetto", &self.perfetto),
            ("--chrome", &self.chrome),
            ("--csv", &self.csv),
            #[cfg(feature = "parquet")]
            ("--parquet", &self.parquet),
            ("--cudaprofiler", &self.cudaprofiler),
        ];
        files.iter().find(|(_, path)| path.is_some()).map(|(option, _)| *option)
    }
    /// The part that is wanted.
    pub fn cut(&self) -> Cut {
        let (sms, ctas, groups) = (self.sm.clone(), self.cta.clone(), self.group.clone());
        Cut { sms, ctas, groups, from: self.from, to: self.to }
    }
}

/// Microseconds, as picoseconds.
fn micros(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(us) if (0.0..1e12).contains(&us) => Ok((us * 1e6).round() as u64),
        _ => Err(format!("`{text}` is no number of microseconds")),
    }
}
