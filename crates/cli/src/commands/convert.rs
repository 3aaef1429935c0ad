//! `prlx convert`: converts a recording to another format.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use prlx::convert::{Packing, export_launch, repack_file, write_complete};
use prlx::input::{open_session, require_recording};
use prlx::legacy::{self, Input};
use prlx_trace::Level;

use crate::args::{ConvertArgs, ConvertFormat};
use crate::launch_timeline;
use crate::ui::Ui;

/// Converts, and warns about what the new format cannot store.
pub fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode> {
    require_recording(&args.input)?;
    let name = args.input.display();
    let input = legacy::identify(&args.input)?;
    let to = match args.to {
        Some(to) => to,
        None => {
            let to = default_format(args, &input)?;
            if let Some(value) = to.to_possible_value().filter(|_| to != ConvertFormat::Plain) {
                let output = args.output.display();
                ui.note(&format!("{output}: format {} (--to names another)", value.get_name()));
            }
            to
        }
    };
    let packing = to.packing();
    if packing.is_none() && (args.launch.is_some() || args.sites.is_some()) {
        bail!("--launch and --sites are for files of PRLX 0.x; other formats hold all launches");
    }
    match (input, packing) {
        (Input::Session(_), _) => bail!("{name} is a session of PRLX 0.x: convert its files one by one"),
        (Input::File, None) => bail!("{name} is a recording of PRLX 0.x, and has neither times nor tables"),
        (Input::File, Some(packing)) => {
            if args.sites.is_some() {
                bail!("--sites is for recordings of this version; {name} keeps its site ids");
            }
            repack_file(&args.input, &args.output, packing, &ui.monitor())?;
        }
        (Input::Other, None) => convert_session(&args.input, &args.output, to)?,
        (Input::Other, Some(packing)) => export(args, packing, ui)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The format that can hold the recording: a file of PRLX 0.x holds one launch at level `events`.
fn default_format(args: &ConvertArgs, input: &Input) -> Result<ConvertFormat> {
    if !matches!(input, Input::Other) || args.launch.is_some() || args.sites.is_some() {
        return Ok(ConvertFormat::Plain);
    }
    let session = open_session(&args.input)?;
    let one_launch_of_events = match &session.files[..] {
        [file] => {
            let trace = session.read_index(file)?;
            matches!(&trace.launches[..], [r] if r.launch.level == Level::Events && r.launch.fault.is_none())
        }
        _ => false,
    };
    Ok(match one_launch_of_events {
        true => ConvertFormat::Plain,
        false if cfg!(feature = "parquet") => ConvertFormat::Parquet,
        false => ConvertFormat::Perfetto,
    })
}

/// Converts a whole recording.
fn convert_session(input: &Path, output: &Path, to: ConvertFormat) -> Result<()> {
    let session = open_session(input)?;
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
        prlx_driver::files::write(path, (text + "\n").as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
