//! The command line, declared once: names, defaults and help texts.
//!
//! Parsing has no side effects. Each file declares one command, or options that commands share; `commands/`
//! does the work.

mod assert;
mod compare;
mod convert;
mod cost;
mod device;
mod diff;
mod inspect;
mod instrument;
mod legacy;
mod new;
mod parse;
mod part;
mod probe;
mod profile;
mod query;
mod record;
mod recorder;
mod repeat;
mod report;
mod run;
mod small;
mod timeline;
mod tolerance;

use clap::{Parser, Subcommand, ValueEnum};

pub use assert::AssertArgs;
pub use compare::{CommandWords, CompareArgs};
pub use convert::{ConvertArgs, ConvertFormat};
pub use cost::CostArgs;
pub use device::ContractChoice;
pub use diff::DiffArgs;
pub use inspect::{InspectArgs, Show};
pub use instrument::InstrumentArgs;
pub use legacy::LegacyArgs;
pub use new::NewArgs;
pub use probe::{
    ProbeArgs, ProbeCheckArgs, ProbeCommand, ProbeEngineArgs, ProbeExplainArgs, ProbeShowArgs, TableArgs,
};
pub use profile::{ProfileArgs, ProfileCommand, ProfileDiffArgs, ProfileFormat};
pub use query::QueryArgs;
pub use record::RecordArgs;
pub use recorder::RecorderArgs;
pub use repeat::RepeatArgs;
pub use report::ReportArgs;
pub use run::RunArgs;
pub use small::{CompletionsArgs, DoctorArgs, ManArgs, MergeArgs};
pub use timeline::{TimelineArgs, ViewArgs};

/// Find where two runs of a GPU kernel first differ, in which threads, and why.
#[derive(Parser, Debug)]
#[command(
    name = "prlx",
    version = crate::version::SHORT,
    long_version = crate::version::LONG.as_str(),
    after_help = EXIT_CODES,
    max_term_width = 100
)]
pub struct Cli {
    /// Use colours in the output
    #[arg(long, value_enum, default_value_t = When::Auto, global = true, help_heading = GLOBAL)]
    pub color: When,
    /// Show no progress and no notes
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Heading of the options that every command has.
const GLOBAL: &str = "Global options";

const EXIT_CODES: &str = "\
Exit codes: 0 same (or done), 1 differs, or checks found errors; 2 wrong option or file; 3 unknown: what was
not recorded may differ; 4 the run failed: the kernel faulted or did not end.

Examples:
  prlx compare examples/threshold/good.toml examples/threshold/bad.toml
  prlx new kernel.ptx
  prlx doctor";

/// The commands of `prlx`.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Write a launch file for a kernel
    New(NewArgs),
    /// Run a launch file and show its buffers
    Run(RunArgs),
    /// Record a launch file or a program
    Record(RecordArgs),
    /// Compare two recordings
    Diff(DiffArgs),
    /// Convert a recording to another format; list what the format cannot store
    Convert(ConvertArgs),
    /// Merge the parts of a report that `diff --shard` wrote
    Merge(MergeArgs),
    /// Run and compare two launch files or two programs
    Compare(Box<CompareArgs>),
    /// Compare a new recording with a golden one, and allow only the differences that rules name
    Assert(AssertArgs),
    /// Run a launch file or a program many times, and compare the outcomes
    Repeat(RepeatArgs),
    /// Query the tables of one or two recordings with SQL (docs/query.md)
    #[command(hide = cfg!(not(feature = "query")))]
    Query(QueryArgs),
    /// Measure the overhead of recording a kernel, at each level
    Cost(CostArgs),
    /// Run a small program at chosen instructions: count, sum, histogram, record
    Probe(ProbeArgs),
    /// Insert a probe into one kernel of a binary, and keep the result of every step on disk
    ProbeEngine(ProbeEngineArgs),
    /// Measure where the cycles go inside kernels, by regions of the source or inserted markers
    Profile(Box<ProfileArgs>),
    /// Show where the cycles go, from a recording with markers or another profiler's buffer
    Timeline(TimelineArgs),
    /// Insert the recorder's code into PTX
    Instrument(InstrumentArgs),
    /// Show the contents of PTX, a cubin, a fatbin, AMD code, a program, a launch file or a recording
    Inspect(InspectArgs),
    /// Check the GPU, driver and compilers, and list what works with them
    Doctor(DoctorArgs),
    /// Print the manual page, or write a page for each command
    Man(ManArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

impl Command {
    /// Whether the result is JSON on standard output.
    pub fn json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Diff(args) => args.report.json,
            Command::Compare(args) => args.report.json,
            Command::Merge(args) => args.json,
            Command::Assert(args) => args.json,
            Command::Repeat(args) => args.json,
            Command::Cost(args) => args.json,
            Command::Probe(args) => args.show.json,
            Command::Profile(args) => args.view.json,
            Command::Timeline(args) => args.view.json,
            Command::Doctor(args) => args.json,
            Command::Inspect(args) => args.json,
            Command::New(_)
            | Command::Record(_)
            | Command::Convert(_)
            | Command::Query(_)
            | Command::ProbeEngine(_)
            | Command::Instrument(_)
            | Command::Man(_)
            | Command::Completions(_) => false,
        }
    }
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// On terminals, unless NO_COLOR is set
    Auto,
    /// Also in files and pipes
    Always,
    /// Never use colour
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every command, with its name as the user writes it.
    fn commands() -> Vec<(String, clap::Command)> {
        let mut all = vec![("prlx".to_owned(), Cli::command())];
        let mut at = 0;
        while let Some((name, command)) = all.get(at).cloned() {
            all.extend(command.get_subcommands().map(|c| (format!("{name} {}", c.get_name()), c.clone())));
            at += 1;
        }
        all
    }

    #[test]
    fn every_help_text_ends_with_examples() {
        for (name, command) in commands() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let last = after.rsplit("\n\n").next().unwrap_or_default();
            assert!(last.starts_with("Example") && last.contains(&format!("\n  {name}")), "{name}: {after}");
        }
    }

    #[test]
    fn a_heading_has_the_options_that_are_declared_under_it() {
        fn declared<A: clap::Args>() -> clap::Command {
            A::augment_args(clap::Command::new("group"))
        }
        let groups = [
            declared::<RecorderArgs>(),
            declared::<recorder::LaunchSelectionArgs>(),
            declared::<part::PartArgs>(),
            declared::<device::DeviceArgs>(),
            declared::<device::ContractArgs>(),
            declared::<ReportArgs>(),
            declared::<tolerance::ToleranceArgs>(),
            declared::<LegacyArgs>(),
            declared::<TableArgs>(),
            declared::<timeline::BufferArgs>(),
            declared::<ViewArgs>(),
        ];
        for (name, command) in commands() {
            for arg in command.get_arguments() {
                let Some(heading) = arg.get_help_heading().filter(|h| *h != GLOBAL) else { continue };
                let same =
                    |a: &clap::Arg| a.get_id() == arg.get_id() && a.get_help_heading() == Some(heading);
                let belongs = groups.iter().any(|g| g.get_arguments().any(same));
                assert!(belongs, "{name}: --{} is not one of the `{heading}`", arg.get_id());
            }
        }
    }
}
