//! `prlx instrument`: inserts the recorder's code into PTX, or into a code object of AMD's.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::code;
use prlx::record::{check_code_filters, recorder_program};
use prlx_instrument::AmdGpu;
use prlx_trace::Level;
use prlx_trace::names::display_names;

use crate::args::InstrumentArgs;
use crate::ui::Ui;

/// Rewrites a file, and prints on standard error what was done to each function.
pub fn run(args: &InstrumentArgs, ui: &Ui) -> Result<ExitCode> {
    args.recorder.refuse_for_code()?;
    if args.recorder.options().level == Level::Operands {
        bail!("level `operands` records a window around a finding: instrument at another level");
    }
    args.recorder.filter_note().iter().for_each(|note| ui.warn(note));
    let name = args.input.display().to_string();
    let program = recorder_program(&args.recorder.options(), 1);
    let rewrite = match code::amd_object(&args.input, args.image)? {
        Some(object) => prlx_instrument::rewrite_object(&AmdGpu, &object, &name, &program, &|_| None),
        None => {
            let text = code::ptx(&args.input, args.image)?;
            prlx_instrument::rewrite(&text, &name, &program, &|_| None)
        }
    };
    let rewrite = rewrite.with_context(|| format!("cannot instrument {name}"))?;
    check_code_filters(&args.recorder.options(), &rewrite.plan, None)?;
    let bytes = rewrite.object.as_ref().map_or(rewrite.text.as_bytes(), |object| &object.bytes);
    if args.output == Path::new("-") {
        if rewrite.object.is_some() && std::io::stdout().is_terminal() {
            bail!("a code object is no text: name a file with -o");
        }
        std::io::stdout().lock().write_all(bytes)?;
    } else {
        prlx_driver::files::write(&args.output, bytes)
            .with_context(|| format!("cannot write {}", args.output.display()))?;
    }
    let names = display_names(rewrite.plan.module.functions.iter().map(|f| f.name.as_str()));
    for (plan, name) in rewrite.plan.functions.iter().zip(names) {
        match &plan.skipped {
            Some(why) => ui.note(&format!("{name}: unchanged: {why}")),
            None => ui.note(&format!("{name}: {} insertions", plan.insertions.len())),
        }
    }
    Ok(ExitCode::SUCCESS)
}
