//! `prlx compare`.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use clap::Args;

use super::device::{ContractArgs, DeviceArgs};
use super::parse;
use super::part::PartArgs;
use super::recorder::{LaunchSelectionArgs, RecorderArgs};
use super::report::ReportArgs;
use super::tolerance::ToleranceArgs;

/// `prlx compare`.
#[derive(Args, Debug)]
#[command(
    override_usage = "prlx compare [OPTIONS] A B\n       prlx compare [OPTIONS] --a COMMAND --b COMMAND\n       prlx compare [OPTIONS] --seeds FIRST..END A [B]",
    after_help = EXAMPLES
)]
pub struct CompareArgs {
    /// First launch file (docs/launch-file.md)
    #[arg(required_unless_present = "command_a", conflicts_with = "command_a")]
    pub a: Option<PathBuf>,
    /// Second launch file; optional with --seeds
    #[arg(required_unless_present_any = ["seeds", "command_a"], conflicts_with = "command_a")]
    pub b: Option<PathBuf>,
    /// First program and its arguments, in one word, quoted as for a shell (docs/sessions.md)
    #[arg(long = "a", value_name = "COMMAND", value_parser = command_words, requires = "command_b", conflicts_with = "seeds")]
    pub command_a: Option<CommandWords>,
    /// Second program and its arguments
    #[arg(long = "b", value_name = "COMMAND", value_parser = command_words, requires = "command_a")]
    pub command_b: Option<CommandWords>,
    /// Run under the schedules FIRST to END-1, list the outcomes, and compare the two most frequent ones
    #[arg(long, value_name = "FIRST..END", value_parser = parse::seeds, conflicts_with_all = ["seed", "check", "rewritten"])]
    pub seeds: Option<Range<u64>>,
    /// Do not run both sides again to see all operands around the first findings
    #[arg(long)]
    pub no_zoom: bool,
    /// Do not run both sides again to find why outputs differ
    #[arg(long)]
    pub no_explain: bool,
    /// Programs: do not run both sides again to compare what their launches stored
    #[arg(long, requires = "command_a")]
    pub no_outputs: bool,
    /// Launch files on the CPU device: show the text that both kernels print
    #[arg(long, conflicts_with_all = ["seeds", "command_a"])]
    pub printed: bool,
    /// Keep both recordings in this directory, as a.prlx and b.prlx
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Programs: overwrite the recordings of an earlier run with --keep
    #[arg(long, requires = "keep")]
    pub force: bool,
    #[command(flatten)]
    pub recorder: RecorderArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub selection: LaunchSelectionArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub contract: ContractArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
}

const EXAMPLES: &str = "\
Examples:
  prlx compare examples/threshold/good.toml examples/threshold/bad.toml
  prlx compare --a './app --seed 1' --b './app --seed 2'
  prlx compare --rtol 1e-5 softmax.toml softmax_w8.toml    outputs within a tolerance are equal
  prlx compare --seeds 0..200 launch.toml                  two schedules of one launch";

/// A program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandWords(pub Vec<OsString>);

fn command_words(text: &str) -> std::result::Result<CommandWords, String> {
    match shlex::split(text) {
        None => Err("a quote is open, or a backslash ends it".into()),
        Some(words) if words.is_empty() => Err("there is no program in it".into()),
        Some(words) => Ok(CommandWords(words.into_iter().map(OsString::from).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_would() {
        let split = command_words("./app --name 'a b' \"c\\\"d\" e\\ f").unwrap();
        assert_eq!(split.0, ["./app", "--name", "a b", "c\"d", "e f"]);
        assert!(command_words("./app 'open").is_err() && command_words("  ").is_err());
    }
}
