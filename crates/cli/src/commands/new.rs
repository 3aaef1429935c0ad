//! `prlx new`: writes a launch file for a kernel.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::input::shell;
use prlx::template::launch_template;
use prlx_driver::{Error, ErrorKind};

use crate::args::NewArgs;
use crate::files::write_file;
use crate::ui::Ui;

/// Writes the launch file, and prints the command that runs it.
pub fn run(args: &NewArgs, ui: &Ui) -> Result<ExitCode> {
    let by_default = || PathBuf::from(args.code.file_stem().unwrap_or_default()).with_extension("toml");
    let output = args.output.clone().unwrap_or_else(by_default);
    let printed = output == Path::new("-");
    let place = if printed { by_default() } else { output.clone() };
    let made = launch_template(&args.code, args.image, args.kernel.as_ref(), &place)?;
    if printed {
        if made.module.is_some() {
            bail!("--image also writes the PTX of the image: name the output file with -o");
        }
        std::io::stdout().lock().write_all(made.text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let module = made.module.as_ref();
    let files = module.map(|(path, _)| path).into_iter().chain([&output]);
    if let Some(there) = files.into_iter().find(|path| path.exists() && !args.force) {
        let what = format!("{} exists", there.display());
        let help = "to overwrite it, add --force; or name another file with -o";
        return Err(Error::new(ErrorKind::File, what).help(help).into());
    }
    if let Some((path, ptx)) = module {
        write_file(path, |out| out.write_all(ptx.as_bytes()))?;
        ui.note(&format!("{}: the PTX of the image", path.display()));
    }
    write_file(&output, |out| out.write_all(made.text.as_bytes()))?;
    let kernel = prlx_trace::names::display_name(&made.kernel);
    let params = if made.params == 1 { "parameter" } else { "parameters" };
    ui.note(&format!("{}: kernel {kernel}, {} {params}", output.display(), made.params));
    if let Some(why) = &made.failure {
        ui.warn(&format!("{} does not run as it is, edit it: {why}", output.display()));
    }
    ui.note(&format!("  next: prlx run {}", shell(&output)));
    Ok(ExitCode::SUCCESS)
}
