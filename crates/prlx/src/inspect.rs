//! Reads the modules of a recording, a launch file, or a file with code, to show them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use prlx_driver::Job;
use prlx_driver::session::Session;
use prlx_isa::view::{self, FuncId, FunctionKind};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::Level;
use prlx_trace::kernel::Module;

use crate::code;
use crate::diff::read_file;

/// By kernel: what the CPU device says about it.
pub type DeviceNotes = BTreeMap<String, Vec<String>>;

/// The modules of a file, and what the CPU device says about their kernels.
///
/// Modules of a recording are as the recording holds them, and come without notes. Code is planned for the
/// `path` recorder.
///
/// # Errors
/// If the file cannot be read.
pub fn modules(path: &Path, image: Option<usize>) -> Result<(Vec<Module>, DeviceNotes)> {
    let text = match path.extension().and_then(|e| e.to_str()) {
        Some("prlx") => {
            let session = Session::open(path)?;
            let traces = (0..session.files.len()).map(|i| read_file(&session, i));
            let modules = traces.map(|t| t.map(|t| t.modules)).collect::<Result<Vec<_>>>()?;
            return Ok((modules.concat(), DeviceNotes::new()));
        }
        Some("toml") => Job::load(path)?.text,
        _ => code::ptx(path, image)?,
    };
    let (view, _) = prlx_isa::ptx::read(&text);
    let program = RecordingRequest::new(Level::Path);
    let name = path.display().to_string();
    let module = Plan::resolve(&program, &view, &text, &name, &|_| None).module;
    Ok((vec![module], device_notes(&view, &text)))
}

/// What the CPU device says about each kernel: that it runs, or why it is refused, each reason once.
fn device_notes(view: &view::Module, text: &str) -> DeviceNotes {
    let mut notes = DeviceNotes::new();
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
