//! Faults of a kernel, and the text that locates them: instruction, source line, kernel, CTA and thread.

use prlx_driver::{Error, ErrorKind};
use prlx_isa::view::{FuncId, Inst, InstId, Loc, LocId, Module, Span};
use prlx_trace::Dim3;
use prlx_trace::names::is_library_file;

use crate::exec::launch::Launch;

/// An error of a warp that ends the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The step that faults.
    pub step: u32,
    /// The lane; `None`: no particular lane.
    pub lane: Option<u32>,
    /// What happened, as the predicate of "the instruction …".
    pub text: String,
}

impl Fault {
    /// A fault of the code, boxed for the way back through the interpreter.
    #[cold]
    pub fn new(step: u32, lane: u32, text: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { kind: ErrorKind::Fault, step, lane: Some(lane), text: text.into() })
    }
}

/// An instruction with its place: `` `ld.global.f32 %f1, [%rd4];` at kernel.cu:12:5 in `saxpy` ``.
pub fn place(module: &Module, source: &str, func: FuncId, inst: InstId) -> String {
    let Some(function) = module.functions.get(func.index()) else { return "an unknown place".into() };
    match spot(module, source, func, inst) {
        Some((text, at)) => format!("`{text}` at {at} in `{}`", function.name),
        None => format!("`{}`", function.name),
    }
}

/// The text of an instruction, and its source location.
pub fn spot(module: &Module, source: &str, func: FuncId, inst: InstId) -> Option<(String, String)> {
    let i = module.functions.get(func.index())?.insts.get(inst.index())?;
    let path = |loc: &Loc| module.files.get(loc.file as usize).map_or("?", |f| f.path.as_str());
    let words = |loc: &Loc| {
        let column = if loc.column > 0 { format!(":{}", loc.column) } else { String::new() };
        format!("{}:{}{column}", path(loc).rsplit('/').next().unwrap_or("?"), loc.line)
    };
    let of = |id: LocId| module.locs.get(id.index());
    let at = match i.loc.and_then(of) {
        Some(loc) => {
            // A location is stored after the one that it was inlined at, so chains end.
            let mut chain = std::iter::successors(Some(loc), |l| l.inlined_at.and_then(of)).take(64);
            match chain.find(|l| !is_library_file(path(l))) {
                Some(own) if own != loc => format!("{} (in {})", words(own), words(loc)),
                _ => words(loc),
            }
        }
        None => line(module, source, i.span),
    };
    Some((text(source, i), at))
}

/// The text of an instruction in one line.
pub fn text(source: &str, inst: &Inst) -> String {
    let text = inst.span.of(source).split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { inst.semantics.opcode.clone() } else { text }
}

/// The line of a span in the text of a module, for messages.
pub fn line(module: &Module, source: &str, span: Span) -> String {
    let line = source.get(..span.start as usize).map_or(0, |s| s.matches('\n').count() + 1);
    // Only PTX has a version.
    let text = if module.version == (0, 0) { "disassembly" } else { "PTX" };
    format!("line {line} of the {text}")
}

/// The position of a thread in the grid, for messages.
pub fn thread(cta: Dim3, block: Dim3, warp: u32, lane: u32) -> String {
    format!("CTA {cta} thread {}", block.position(u64::from(warp) * 32 + u64::from(lane)))
}

/// The error of a fault in a warp.
pub fn error(f: &Fault, launch: &Launch<'_>, cta: Dim3, block: Dim3, warp: u32) -> Error {
    let (module, source, code) = (launch.module, launch.source, launch.code);
    let at = code
        .origin
        .get(f.step as usize)
        .map_or(String::new(), |&(func, inst)| place(module, source, func, inst));
    let who = match f.lane {
        Some(lane) => thread(cta, block, warp, lane),
        None => format!("CTA {cta} warp {}", launch.whole_warp(warp, 0).0),
    };
    Error::new(f.kind, format!("{at} {}; kernel `{}`, {who}", f.text, code.name))
}
