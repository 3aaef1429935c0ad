//! `prlx inspect`: shows what is in a PTX file, a file with images, a launch file or a recording.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::diff::read_file;
use prlx_driver::session::Session;
use prlx_plan::Filter;
use prlx_present::recording::module::{ModuleView, inspect};

use crate::args::{InspectArgs, Show};
use crate::commands::images;
use crate::ui::Ui;

/// Prints what the options ask for.
pub fn run(args: &InspectArgs, ui: &Ui) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let show = args.show.unwrap_or(if args.input.is_dir() { Show::Launches } else { Show::Kernels });
    let filter = Filter { functions: args.kernel.clone(), ..Filter::default() };
    let wanted = |name: &str| filter.takes_function(name);
    let view = match show {
        Show::Kernels => ModuleView::Functions,
        Show::Cfg => ModuleView::Blocks,
        Show::Loops => ModuleView::Loops,
        Show::Sites => ModuleView::Sites,
        Show::Launches | Show::Streams => {
            let session = Session::open(&args.input)?;
            print_session(&session, ui, &mut out)?;
            for i in 0..session.files.len() {
                let only = if show == Show::Streams { "streams" } else { "launches" };
                let trace = read_file(&session, i).with_context(|| format!("only a recording has {only}"))?;
                match show {
                    Show::Streams => trace.dump(&mut out)?,
                    _ => prlx_present::launches(&mut out, &trace, &wanted, &ui.style())?,
                }
            }
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    if show == Show::Kernels && args.image.is_none() && images::list(&args.input, args.arch, &mut out)? {
        return Ok(ExitCode::SUCCESS);
    }
    let (modules, notes) = prlx::inspect::modules(&args.input, args.image)?;
    if !modules.iter().flat_map(|m| &m.functions).any(|f| wanted(&f.name)) {
        bail!("{}: no kernel or function matches {}", args.input.display(), args.kernel.join(" or "));
    }
    for module in &modules {
        inspect(&mut out, module, view, &wanted, &|name| notes.get(name).cloned().unwrap_or_default())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints how the recorded program ended.
fn print_session(session: &Session, ui: &Ui, out: &mut impl Write) -> io::Result<()> {
    let Some(index) = &session.index else {
        if session.is_folder() {
            ui.warn("the directory has no index: the program has not ended, or prlx was killed");
        }
        return Ok(());
    };
    let how = match (index.code, index.signal) {
        (Some(0), _) => "ended well".to_owned(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    };
    writeln!(out, "{}: {how}", prlx_present::safe(&index.command.join(" ")))
}
