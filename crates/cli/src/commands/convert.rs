//! `prlx convert`: converts a recording to another format.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::convert::{Packing, export_launch, repack_file, write_complete};
use prlx::legacy::{self, Input};
use prlx_driver::session::Session;

use crate::args::{ConvertArgs, ConvertFormat};
use crate::launch_timeline;
use crate::ui::Ui;

/// Converts, and warns about what the new format cannot store.
pub fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode> {
    let name = args.input.display();
    let packing = args.to.packing();
    if packing.is_none() && (args.launch.is_some() || args.sites.is_some()) {
        bail!("--launch and --sites are for files of PRLX 0.x; other formats hold all launches");
    }
    match (legacy::identify(&args.input)?, packing) {
        (Input::Session(_), _) => bail!("{name} is a session of PRLX 0.x: convert its files one by one"),
        (Input::File, None) => bail!("{name} is a recording of PRLX 0.x, and has neither times nor tables"),
        (Input::File, Some(packing)) => {
            if args.sites.is_some() {
                bail!("--sites is for recordings of this version; {name} keeps its site ids");
            }
            repack_file(&args.input, &args.output, packing, &ui.monitor())?;
        }
        (Input::Other, None) => convert_session(&args.input, &args.output, args.to)?,
        (Input::Other, Some(packing)) => export(args, packing, ui)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Converts a whole recording.
fn convert_session(input: &Path, output: &Path, to: ConvertFormat) -> Result<()> {
    let session = Session::open(input)?;
    if to == ConvertFormat::Parquet {
        return crate::tables::write_recording(&session, output);
    }
    let all = launch_timeline::of_session(&session)?;
    write_complete(output, |mut out| {
        match to {
            ConvertFormat::Chrome => all.chrome(&mut out)?,
            _ => all.perfetto(&mut out)?,
        }
        Ok(((), out))
    })
}

/// Exports one launch as a file of PRLX 0.x, and its site table.
fn export(args: &ConvertArgs, packing: Packing, ui: &Ui) -> Result<()> {
    let launch = args.launch.unwrap_or(0);
    let table = export_launch(&args.input, launch, &args.output, packing, &ui.monitor())?;
    if let Some(path) = &args.sites {
        let text = serde_json::to_string_pretty(&table)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
