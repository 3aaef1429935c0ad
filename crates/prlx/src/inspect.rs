//! Reads the modules of a recording, a launch file, or a file with code, to show them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use prlx_driver::Job;
use prlx_isa::view::{self, FuncId, FunctionKind};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::Level;
use prlx_trace::kernel::Module;

use crate::code;
use crate::diff::read_file;
use crate::input::{self, FileKind};

/// By kernel: what the CPU device says about it.
pub type DeviceNotes = BTreeMap<String, Vec<String>>;

/// The modules of a file, and what the CPU device says about their kernels.
///
/// Modules of a recording are as the recording holds them, and come without notes. Code is planned for the
/// `path` recorder.
///
/// # Errors
/// If the file cannot be read, or is a recording of PRLX 0.x, which holds no modules.
pub fn modules(path: &Path, image: Option<usize>) -> Result<(Vec<Module>, DeviceNotes)> {
    match input::identify(path)? {
        FileKind::Recording | FileKind::OldRecording | FileKind::Directory => {
            let session = input::open_session(path)?;
            let traces = (0..session.files.len()).map(|i| read_file(&session, i));
            let modules = traces.map(|t| t.map(|t| t.modules)).collect::<Result<Vec<_>>>()?;
            Ok((modules.concat(), DeviceNotes::new()))
        }
        FileKind::LaunchFile => Ok(of_code(&Job::load(path)?.text, &path.display().to_string())),
        _ => Ok(of_code(&code::ptx(path, image)?, &path.display().to_string())),
    }
}

/// The module called `name` with this PTX, planned for the `path` recorder, and notes on its kernels.
pub fn of_code(text: &str, name: &str) -> (Vec<Module>, DeviceNotes) {
    let (view, diagnostics) = prlx_isa::ptx::read(text);
    let program = RecordingRequest::new(Level::Path);
    let module = Plan::resolve(&program, &view, name, &|_| None).module;
    let notes = match prlx_isa::ptx::invalid(text, &diagnostics) {
        Some((line, invalid)) => {
            let why = format!("CPU device: refused: line {line} is not valid PTX: {}", invalid.message);
            let kernels = view.functions.iter().filter(|f| f.kind == FunctionKind::Kernel);
            kernels.map(|kernel| (kernel.name.clone(), vec![why.clone()])).collect()
        }
        None => device_notes(&view, text),
    };
    (vec![module], notes)
}

/// What the CPU device says about each kernel: that it runs, or why it is refused, each reason once.
fn device_notes(view: &view::Module, text: &str) -> DeviceNotes {
    let mut notes = DeviceNotes::new();
    let of_kind = view.functions.iter().enumerate().filter(|(_, f)| f.kind == FunctionKind::Kernel);
    let kernels: Vec<FuncId> = of_kind.map(|(i, _)| FuncId(i as u32)).collect();
    for (kernel, refusals) in kernels.iter().zip(prlx_emu::unsupported(view, text, &kernels)) {
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
        notes.insert(view.functions[kernel.index()].name.clone(), lines);
    }
    notes
}
