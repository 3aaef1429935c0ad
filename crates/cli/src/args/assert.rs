//! `prlx assert`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use prlx_analyze::gate::Rule;
use prlx_driver::session::KernelPattern;

use super::parse;
use super::part::PartArgs;
use super::tolerance::ToleranceArgs;

/// `prlx assert`.
#[derive(Args, Debug)]
#[command(after_help = RULES)]
pub struct AssertArgs {
    /// Golden recording: a file, or a program's directory
    pub golden: PathBuf,
    /// New recording, compared with the golden one
    pub new: PathBuf,
    /// Allow the differences that this rule names; may be repeated
    #[arg(long, value_name = "RULE", value_parser = Rule::from_str)]
    pub allow: Vec<Rule>,
    /// Read rules from this file, one on each line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    pub allow_file: Vec<PathBuf>,
    /// Pass with at most N findings that no rule allows
    #[arg(long, value_name = "N")]
    pub max_findings: Option<u64>,
    /// Pass if these findings have at most N visits
    #[arg(long, value_name = "N")]
    pub max_visits: Option<u64>,
    /// Pass if these findings have at most N lanes
    #[arg(long, value_name = "N")]
    pub max_lanes: Option<u64>,
    /// Compare only kernels whose names match (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = parse::pattern)]
    pub kernel: Vec<KernelPattern>,
    /// Compare only launches FIRST-LAST of the golden recording's processes, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub launch: Vec<(u64, u64)>,
    /// Recordings of PRLX 0.x: compare values too
    #[arg(long)]
    pub values: bool,
    /// Also count as differences what only the schedule decides: active lanes, and decisions that follow from
    /// the order of atomics although the outputs agree (docs/verdicts.md)
    #[arg(long)]
    pub strict: bool,
    /// Write JUnit XML into FILE, with a test case for each launch
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also print annotations for GitHub workflows
    #[arg(long)]
    pub github: bool,
    /// Print JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most N findings
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    pub findings: usize,
    /// Also write the report as an HTML page (docs/html.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
}

const RULES: &str = "\
Rules:
  FILE:LINE, FILE:FIRST-LAST  findings on these source lines
  function=NAME               findings in functions of this name (`*` and `?` match)
  kernel=NAME                 findings in kernels of this name
  kind=KIND                   findings of this kind: Branch, ActiveMask, Value, Path, ExtraEvents
  site=ID                     findings at this site, in recordings of PRLX 0.x
  output=NAME                 differences in outputs of this name
  output=NAME,rtol=X,atol=X,ulp=N,equal-nan
                              differences in these outputs within this tolerance, which replaces --rtol,
                              --atol, --ulp and --equal-nan; any of the limits may be absent

Exit codes: 0 passed, 1 failed, 2 wrong option or file, 3 unknown: what was recorded may pass, but not
everything was recorded.

Examples:
  prlx assert golden.prlx new.prlx
  prlx assert golden.prlx new.prlx --allow gemm.cu:40-52 --junit results.xml";
