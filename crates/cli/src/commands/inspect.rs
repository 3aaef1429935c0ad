//! `prlx inspect`: what is in a PTX file, a file that holds images, a launch file or a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::Job;
use prlx_isa::view::{FuncId, FunctionKind};
use prlx_present::inspect::{View, inspect};
use prlx_probe::{Filter, Plan, Program};
use prlx_trace::Level;
use prlx_trace::kernel::Module;

use crate::args::{InspectArgs, Show};
use crate::code;
use crate::commands::record::open;

/// Prints it.
pub fn run(args: &InspectArgs) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let view = match args.show {
        Show::Kernels => View::Functions,
        Show::Cfg => View::Blocks,
        Show::Loops => View::Loops,
        Show::Sites => View::Sites,
        Show::Streams => {
            open(&args.input).context("only a recording has streams")?.dump(&mut out)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    if args.show == Show::Kernels && args.image.is_none() && code::list(&args.input, args.arch, &mut out)? {
        return Ok(ExitCode::SUCCESS);
    }
    let filter = Filter { functions: args.kernel.clone(), ..Filter::default() };
    let wanted = |name: &str| filter.takes_function(name);
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

/// Lines about a kernel, by its name.
type Notes = BTreeMap<String, Vec<String>>;

/// The static half: of a recording as it stands in it, of code as the `path` recorder would make it.
fn modules(args: &InspectArgs) -> Result<(Vec<Module>, Notes)> {
    let name = args.input.display().to_string();
    let text = match args.input.extension().and_then(|e| e.to_str()) {
        Some("prlx") => return Ok((open(&args.input)?.modules, Notes::new())),
        Some("toml") => Job::load(&args.input)?.text,
        _ => code::ptx(&args.input, args.image)?,
    };
    let (view, _) = prlx_isa::ptx::read(&text);
    let program = Program { level: Level::Path, elide: true, filter: Filter::default(), window: None };
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
            let opcode = r.text.split(' ').find(|w| !w.starts_with('@')).unwrap_or_default().trim_end_matches(';');
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
