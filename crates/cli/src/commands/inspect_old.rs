//! `prlx inspect` of recordings of PRLX 0.x: files, and directories with a `session.json`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::legacy::{self, Input, MappedFile};
use prlx_legacy::v1::{Flags, Warp, dump};

use crate::args::{InspectArgs, Show};

/// Prints a recording of PRLX 0.x; `None` if the input is something else.
pub fn run(args: &InspectArgs, out: &mut impl Write) -> Result<Option<ExitCode>> {
    match legacy::identify(&args.input)? {
        Input::Other => return Ok(None),
        Input::File => file(args, &MappedFile::open(&args.input)?, out)?,
        Input::Session(entries) => {
            for entry in &entries {
                write!(out, "launch {}  ", entry.launch)?;
                file(args, &legacy::open_launch(&args.input, entry)?, out)?;
            }
        }
    }
    out.flush()?;
    Ok(Some(ExitCode::SUCCESS))
}

/// Prints what a file says about its launch, or all of its events.
fn file(args: &InspectArgs, recording: &MappedFile, out: &mut impl Write) -> Result<()> {
    let file = recording.file()?;
    match args.shown() {
        None | Some(Show::Kernels | Show::Launches) => {}
        Some(Show::Streams) => {
            return dump(out, &file).with_context(|| recording.path.display().to_string());
        }
        Some(Show::Cfg | Show::Loops | Show::Sites | Show::Plan) => bail!(
            "{} is a recording of PRLX 0.x, which holds no code: use --show launches or --show streams",
            recording.path.display()
        ),
    }
    let h = &file.header;
    let (mut events, mut lost) = (0u64, 0u64);
    let mut cursor = file.cursor()?;
    for w in 0..h.warps {
        let warp = Warp::new(cursor.events(w..w + 1)?, h.flags.has(Flags::COMPACT));
        events += u64::from(warp.head.events);
        lost += warp.lost();
    }
    writeln!(out, "{}: a recording of PRLX 0.x", recording.path.display())?;
    let kernel = prlx_present::safe(&h.kernel());
    writeln!(out, "  kernel {kernel}, grid {}, block {}, on {}", h.grid, h.block, h.device())?;
    writeln!(out, "  {} warps, {events} events, {lost} lost{}", h.warps, form(h.flags, h.sampled()))?;
    Ok(())
}

/// How the events are stored.
fn form(flags: Flags, sampled: bool) -> String {
    let forms = [
        (flags.has(Flags::COMPACT), "without values"),
        (flags.has(Flags::PACKED), "compressed"),
        (flags.has(Flags::HISTORY), "with histories"),
        (flags.has(Flags::SNAPSHOT), "with operands"),
        (sampled, "sampled"),
    ];
    forms.iter().filter(|(is, _)| *is).map(|(_, form)| format!(", {form}")).collect()
}
