//! `prlx man` and `prlx completions`: print the manual page and completions, made from the command line's
//! declaration.

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{CompletionsArgs, ManArgs};

/// Writes a manual page for each command into a directory, or prints that of `prlx`.
#[cfg(feature = "man")]
pub fn man(args: &ManArgs) -> Result<ExitCode> {
    use clap::CommandFactory;

    let command = crate::args::Cli::command().disable_help_subcommand(true);
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir)?;
            clap_mangen::generate_to(command, dir)?;
        }
        None => clap_mangen::Man::new(command).render(&mut std::io::stdout().lock())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints completions for a shell.
#[cfg(feature = "man")]
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    use clap::CommandFactory;

    use crate::args;

    let mut text = Vec::new();
    clap_complete::generate(args.shell.generator(), &mut args::Cli::command(), "prlx", &mut text);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails: this build has no manual page.
#[cfg(not(feature = "man"))]
pub fn man(_: &ManArgs) -> Result<ExitCode> {
    Err(crate::features::missing("the manual page", "man"))
}

/// Fails: this build has no completions.
#[cfg(not(feature = "man"))]
pub fn completions(_: &CompletionsArgs) -> Result<ExitCode> {
    Err(crate::features::missing("completions", "man"))
}
