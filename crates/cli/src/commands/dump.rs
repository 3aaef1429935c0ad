//! `prlx diff --dump-a`, `--dump-b`: prints what one warp of a recording did, or the first events of a
//! recording of PRLX 0.x.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::diff::{kernel_name, launches_by_number, read_file};
use prlx::input::open_session;
use prlx::legacy::{self, Input, MappedFile};
use prlx_driver::session::KernelPattern;
use prlx_trace::WarpId;

use crate::args::DiffArgs;
use crate::ui::output;

/// Prints the first `most` events of each launch that the options select, of a recording of PRLX 0.x. Returns
/// false for other recordings.
pub fn first_events(side: &str, path: &Path, most: u32, args: &DiffArgs) -> Result<bool> {
    let files = match legacy::identify(path)? {
        Input::File => vec![MappedFile::open(path)?],
        Input::Session(entries) => {
            let asked = entries.iter().filter(|e| selected(args, &e.kernel, e.launch.into()));
            asked.map(|e| legacy::open_launch(path, e)).collect::<Result<_, _>>()?
        }
        Input::Other => return Ok(false),
    };
    if args.report.json {
        bail!("--dump-a and --dump-b print text before the report; leave out --json");
    }
    let mut out = output(false, false);
    for recording in &files {
        prlx_legacy::v1::first_events(&mut out, side, &recording.file()?, most.into())
            .with_context(|| recording.path.display().to_string())?;
    }
    out.flush()?;
    Ok(true)
}

/// Whether `--kernel` and `--launch` select a launch.
fn selected(args: &DiffArgs, kernel: &str, number: u64) -> bool {
    (args.kernel.is_empty() || args.kernel.iter().any(|p: &KernelPattern| p.matches(kernel)))
        && (args.launch.is_empty() || args.launch.iter().any(|(first, end)| (*first..*end).contains(&number)))
}

/// Prints the warp of each launch that the options select.
pub fn run(path: &Path, warp: u32, args: &DiffArgs) -> Result<ExitCode> {
    let mut out = output(args.report.json, false);
    let session = open_session(path)?;
    let mut shown = false;
    for (i, file) in session.files.iter().enumerate() {
        let trace = read_file(&session, i)?;
        for (number, r) in launches_by_number(&trace) {
            if selected(args, &kernel_name(&trace, r), number) {
                let (launch, warp) = ((number, r), WarpId(warp.into()));
                let found = match args.report.json {
                    true => prlx_present::visits_json(&mut out, &trace, launch, warp),
                    false => prlx_present::visits(&mut out, &trace, launch, warp),
                };
                shown |= found.with_context(|| format!("{}, launch {number}", file.path.display()))?;
            }
        }
    }
    out.flush()?;
    if !shown {
        bail!("{}: no selected launch has a recorded warp {warp}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
