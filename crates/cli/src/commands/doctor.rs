//! `prlx doctor`: prints what this machine has.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use crate::args::DoctorArgs;
use crate::ui::Ui;

/// Prints a table, or JSON.
pub fn run(args: &DoctorArgs, ui: &Ui) -> Result<ExitCode> {
    let findings = prlx::doctor::check();
    let mut out = ui.out(args.json);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &findings)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let (green, dim, off) = if ui.color() { ("\x1b[32m", "\x1b[2m", "\x1b[0m") } else { ("", "", "") };
    for f in &findings {
        let mark = if f.found { format!("{green}yes{off}") } else { format!("{dim}no {off}") };
        writeln!(out, "{mark}  {:<11} {}", f.name, f.detail)?;
        writeln!(out, "     {:<11} {dim}{}{off}", "", f.allows)?;
    }
    Ok(ExitCode::SUCCESS)
}
