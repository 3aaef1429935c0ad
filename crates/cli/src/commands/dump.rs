//! `prlx diff --dump-a`, `--dump-b`: prints what one warp of a recording did.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::diff::{kernel_name, launches_by_number, read_file};
use prlx::input::open_session;
use prlx::legacy::{self, Input, MappedFile};
use prlx_driver::session::KernelPattern;
use prlx_trace::WarpId;

use crate::args::DiffArgs;

/// Prints the warp of each launch that the options select. Recordings of PRLX 0.x print text, also with
/// `--json`.
pub fn run(path: &Path, warp: u32, args: &DiffArgs) -> Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let kernel =
        |name: &str| args.kernel.is_empty() || args.kernel.iter().any(|p: &KernelPattern| p.matches(name));
    let asked = |number: u64| {
        args.launch.is_empty() || args.launch.iter().any(|(first, end)| (*first..*end).contains(&number))
    };
    let shown = match legacy::identify(path)? {
        Input::File => {
            let recording = MappedFile::open(path)?;
            let warps = recording.file()?.header.warps;
            if warp >= warps {
                bail!("{} has {warps} warps, counted from 0; it has no warp {warp}", path.display());
            }
            dump_legacy(&mut out, &recording, warp)?
        }
        Input::Session(entries) => {
            let mut shown = false;
            for e in entries.iter().filter(|e| kernel(&e.kernel) && asked(e.launch.into())) {
                shown |= dump_legacy(&mut out, &legacy::open_launch(path, e)?, warp)?;
            }
            shown
        }
        Input::Other => {
            let session = open_session(path)?;
            let mut shown = false;
            for (i, file) in session.files.iter().enumerate() {
                let trace = read_file(&session, i)?;
                for (number, r) in launches_by_number(&trace) {
                    if asked(number) && kernel(&kernel_name(&trace, r)) {
                        let (launch, warp) = ((number, r), WarpId(warp.into()));
                        let found = match args.report.json {
                            true => prlx_present::visits_json(&mut out, &trace, launch, warp),
                            false => prlx_present::visits(&mut out, &trace, launch, warp),
                        };
                        shown |=
                            found.with_context(|| format!("{}, launch {number}", file.path.display()))?;
                    }
                }
            }
            shown
        }
    };
    out.flush()?;
    if !shown {
        bail!("{}: no selected launch has a recorded warp {warp}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn dump_legacy(out: &mut impl Write, recording: &MappedFile, warp: u32) -> Result<bool> {
    let file = recording.file()?;
    let has = warp < file.header.warps;
    if has {
        prlx_legacy::v1::dump(out, &file, Some(warp))
            .with_context(|| recording.path.display().to_string())?;
    }
    Ok(has)
}
