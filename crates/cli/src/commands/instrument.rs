//! `prlx instrument`: inserts the recorder's code into PTX.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx::code;
use prlx::record::{check_code_filters, recorder_program};

use crate::args::InstrumentArgs;
use crate::ui::Ui;

/// Rewrites a file, and prints on standard error what was done to each function.
pub fn run(args: &InstrumentArgs, ui: &Ui) -> Result<ExitCode> {
    args.recorder.filter_note().iter().for_each(|note| ui.warn(note));
    let name = args.input.display().to_string();
    let text = code::ptx(&args.input, args.image)?;
    let rewrite =
        prlx_instrument::rewrite(&text, &name, &recorder_program(&args.recorder.options(), 1), &|_| None)
            .with_context(|| format!("cannot instrument {name}"))?;
    check_code_filters(&args.recorder.options(), &rewrite.plan, None)?;
    if args.output == Path::new("-") {
        std::io::stdout().lock().write_all(rewrite.text.as_bytes())?;
    } else {
        prlx_driver::files::write(&args.output, rewrite.text.as_bytes())
            .with_context(|| format!("cannot write {}", args.output.display()))?;
    }
    for (plan, function) in rewrite.plan.functions.iter().zip(&rewrite.plan.module.functions) {
        match &plan.skipped {
            Some(why) => ui.note(&format!("{}: unchanged: {why}", function.name)),
            None => ui.note(&format!("{}: {} insertions", function.name, plan.insertions.len())),
        }
    }
    Ok(ExitCode::SUCCESS)
}
