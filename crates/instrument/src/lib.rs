//! The engine: a plan becomes edits of the source text. Code that it does not touch stays byte-identical.

mod edit;
mod error;
mod ptx;
pub mod reordering;
mod tokens;
mod verify;
pub use edit::{Edit, apply};
pub use error::{Error, ErrorKind};
pub use ptx::ptx;
pub use verify::verify;

use prlx_isa::view::Module;
use prlx_plan::{Plan, RecordingRequest};

/// A module with a program written into it.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// What was inserted where, and the static half of the trace to be.
    pub plan: Plan,
    /// The rewritten text.
    pub text: String,
    /// The view of the original.
    pub module: Module,
}

/// Reads `source`, which the user calls `name`, resolves `program` against it, lowers the plan and verifies the result.
/// `sources` gives the text of a source file by its path in the debug information, if it is at hand.
///
/// # Errors
/// When the module can't carry the recorder, or (a fault of ours) the result breaks an invariant of [`verify`].
pub fn rewrite(
    source: &str,
    name: &str,
    program: &RecordingRequest,
    sources: &dyn Fn(&str) -> Option<String>,
) -> Result<Rewrite, Error> {
    let (module, _) = prlx_isa::ptx::read(source);
    let plan = Plan::resolve(program, &module, source, name, sources);
    let edits = ptx(source, &module, &plan)?;
    let text = apply(source, &edits);
    verify(source, &text, &module, &plan)?;
    Ok(Rewrite { plan, text, module })
}
