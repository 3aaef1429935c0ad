//! `prlx inspect`: what is in a PTX file, a file that holds images, a launch file or a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::Job;
use prlx_driver::session::Session;
use prlx_isa::view::{FuncId, FunctionKind};
use prlx_plan::{Filter, Plan, RecordingRequest};
use prlx_present::inspect::{View, inspect};
use prlx_trace::Level;
use prlx_trace::kernel::Module;

use crate::args::{InspectArgs, Show};
use crate::code;
use crate::report;
use crate::ui::Ui;

/// Prints it.
pub fn run(args: &InspectArgs, ui: &Ui) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let show = args.show.unwrap_or(if args.input.is_dir() { Show::Launches } else { Show::Kernels });
    let filter = Filter { functions: args.kernel.clone(), ..Filter::default() };
    let wanted = |name: &str| filter.takes_function(name);
    let view = match show {
        Show::Kernels => View::Functions,
        Show::Cfg => View::Blocks,
        Show::Loops => View::Loops,
        Show::Sites => View::Sites,
        Show::Launches | Show::Streams => {
            let session = Session::open(&args.input)?;
            session_of(&session, ui, &mut out)?;
            for i in 0..session.files.len() {
                let only = if show == Show::Streams { "streams" } else { "launches" };
                let trace =
                    report::read(&session, i).with_context(|| format!("only a recording has {only}"))?;
                match show {
                    Show::Streams => trace.dump(&mut out)?,
                    _ => prlx_present::launches(&mut out, &trace, &wanted, &ui.style())?,
                }
            }
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    if show == Show::Kernels && args.image.is_none() && code::list(&args.input, args.arch, &mut out)? {
        return Ok(ExitCode::SUCCESS);
    }
    let (modules, notes) = modules(args)?;
    if !modules.iter().flat_map(|m| &m.functions).any(|f| wanted(&f.name)) {
        bail!("{}: no kernel or function is called {}", args.input.display(), args.kernel.join(" or "));
    }
    for module in &modules {
        inspect(&mut out, module, view, &wanted, &|name| notes.get(name).cloned().unwrap_or_default())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What is said of a session as a whole.
fn session_of(session: &Session, ui: &Ui, out: &mut impl Write) -> io::Result<()> {
    let Some(index) = &session.index else {
        if session.is_folder() {
            ui.warn("the folder has no index: the program has not ended, or prlx was killed");
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

/// Lines about a kernel, by its name.
type Notes = BTreeMap<String, Vec<String>>;

/// The static half: of a recording as it stands in it, of code as the `path` recorder would make it.
fn modules(args: &InspectArgs) -> Result<(Vec<Module>, Notes)> {
    let name = args.input.display().to_string();
    let text = match args.input.extension().and_then(|e| e.to_str()) {
        Some("prlx") => {
            let session = Session::open(&args.input)?;
            let traces = (0..session.files.len()).map(|i| report::read(&session, i));
            let modules = traces.map(|t| t.map(|t| t.modules)).collect::<Result<Vec<_>>>()?;
            return Ok((modules.concat(), Notes::new()));
        }
        Some("toml") => Job::load(&args.input)?.text,
        _ => code::ptx(&args.input, args.image)?,
    };
    let (view, _) = prlx_isa::ptx::read(&text);
    let program = RecordingRequest {
        level: Level::Path,
        probe: None,
        markers: None,
        elide: true,
        filter: Filter::default(),
        window: None,
    };
    let module = Plan::resolve(&program, &view, &text, &name, &|_| None).module;
    Ok((vec![module], device(&view, &text)))
}

/// What the CPU device says of each kernel; of refusals that are alike, the first.
fn device(view: &prlx_isa::view::Module, text: &str) -> Notes {
    let mut notes = Notes::new();
    for (i, kernel) in view.functions.iter().enumerate().filter(|(_, f)| f.kind == FunctionKind::Kernel) {
        let refusals = prlx_emu::unsupported(view, text, FuncId(i as u32));
        let (mut seen, mut lines) = (BTreeSet::new(), Vec::new());
        for r in &refusals {
            let opcode =
                r.text.split(' ').find(|w| !w.starts_with('@')).unwrap_or_default().trim_end_matches(';');
            if seen.insert((opcode, &r.why)) {
                lines.push(match r.inst {
                    Some(_) => format!("CPU device: refused: `{opcode}` at {}: {}", r.place, r.why),
                    None => format!("CPU device: refused: {}", r.why),
                });
            }
        }
        if lines.is_empty() {
            lines.push("CPU device: runs".into());
        }
        notes.insert(kernel.name.clone(), lines);
    }
    notes
}
