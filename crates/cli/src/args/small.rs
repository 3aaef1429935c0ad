//! Commands with few options: `prlx merge`, `prlx doctor`, `prlx man`, `prlx completions`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `prlx merge`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  prlx merge part-0.json part-1.json part-2.json part-3.json")]
pub struct MergeArgs {
    /// The parts that `diff --shard` wrote, in any order
    #[arg(required = true)]
    pub parts: Vec<PathBuf>,
    /// Print the report as JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
}

/// `prlx doctor`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  prlx doctor --json")]
pub struct DoctorArgs {
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
}

/// `prlx man`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  prlx man | man -l -\n  prlx man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write a page for each command into this directory, instead of printing the main page
    pub dir: Option<PathBuf>,
}

/// `prlx completions`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  prlx completions bash > ~/.local/share/bash-completion/completions/prlx")]
pub struct CompletionsArgs {
    /// Shell to print completions for
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell with completions.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shell {
    /// The GNU Bash shell
    Bash,
    /// The Elvish shell
    Elvish,
    /// The fish shell
    Fish,
    /// The PowerShell of Microsoft
    Powershell,
    /// The Z shell
    Zsh,
}

#[cfg(feature = "man")]
impl Shell {
    /// The generator of completions.
    pub fn generator(self) -> clap_complete::Shell {
        match self {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Elvish => clap_complete::Shell::Elvish,
            Shell::Fish => clap_complete::Shell::Fish,
            Shell::Powershell => clap_complete::Shell::PowerShell,
            Shell::Zsh => clap_complete::Shell::Zsh,
        }
    }
}
