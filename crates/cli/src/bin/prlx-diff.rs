//! `prlx-diff A B …`: the name that PRLX 0.5 had for `prlx diff A B …`. It runs the `prlx` beside it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let prlx = match std::env::current_exe() {
        Ok(own) => own.with_file_name("prlx"),
        Err(error) => {
            eprintln!("error: cannot tell where prlx is: {error}");
            return ExitCode::from(2);
        }
    };
    let mut command = Command::new(&prlx);
    if !args.iter().any(|a| a == "-V" || a == "--version") {
        command.arg("diff");
    }
    // Comes back only when it fails.
    let error = command.args(args).exec();
    eprintln!("error: cannot run {}: {error}", prlx.display());
    ExitCode::from(2)
}
