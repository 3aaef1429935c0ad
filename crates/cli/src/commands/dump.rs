//! `prlx diff --dump-a`, `--dump-b`: what one warp of a recording did, and no comparison.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::session::{Pattern, Session};
use prlx_trace::WarpId;

use crate::args::DiffArgs;
use crate::report;
use crate::v1::{self, Input, Recording};

/// Prints it, with `--json` as JSON but for recordings of PRLX 0.x, which printed text then too: of each launch that has the warp, among those that were asked for.
pub fn run(path: &Path, warp: u32, args: &DiffArgs) -> Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let kernel = |name: &str| args.kernel.is_empty() || args.kernel.iter().any(|p: &Pattern| p.takes(name));
    let asked = |number: u64| {
        args.launch.is_empty() || args.launch.iter().any(|(first, end)| (*first..*end).contains(&number))
    };
    let shown = match v1::look(path)? {
        Input::File => {
            let recording = Recording::open(path)?;
            let warps = recording.file()?.header.warps;
            if warp >= warps {
                bail!("{} has {warps} warps: there is no warp {warp}", path.display());
            }
            of_v1(&mut out, &recording, warp)?
        }
        Input::Session(entries) => {
            let mut shown = false;
            for e in entries.iter().filter(|e| kernel(&e.kernel) && asked(e.launch.into())) {
                shown |= of_v1(&mut out, &v1::of_session(path, e)?, warp)?;
            }
            shown
        }
        Input::Other => {
            let session = Session::open(path)?;
            let mut shown = false;
            for (i, file) in session.files.iter().enumerate() {
                let trace = report::read(&session, i)?;
                for (number, r) in report::numbered(&trace) {
                    if asked(number) && kernel(&report::kernel_of(&trace, r)) {
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
        bail!("{}: no launch that was asked for has a recorded warp {warp}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn of_v1(out: &mut impl Write, recording: &Recording, warp: u32) -> Result<bool> {
    let file = recording.file()?;
    let has = warp < file.header.warps;
    if has {
        prlx_legacy::v1::dump(out, &file, Some(warp))
            .with_context(|| recording.path.display().to_string())?;
    }
    Ok(has)
}
