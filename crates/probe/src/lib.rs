//! The probe language, and Neutrino's: text is parsed and checked into a [`lang::Script`], which a
//! [`Plan`](prlx_plan::Plan) binds to the instructions of a module.
//!
//! File by file: `lang` has the language, `bind` turns clauses into insertions, `neutrino` reads Neutrino's
//! programs, `matches` lists which instructions a program matches, `diagnostics` words what a plan says of
//! it, and `tools` contains the programs that come with PRLX.

use std::sync::Arc;

use prlx_plan::ProbeProgram;

mod bind;
pub mod diagnostics;
pub mod lang;
mod matches;
pub mod neutrino;
pub mod tools;

/// Parses and checks the text of a program.
///
/// # Errors
/// The rendered errors, each with line, column and source line.
pub fn program(text: &str) -> Result<Arc<dyn ProbeProgram>, String> {
    match lang::parse(text) {
        Ok(script) => Ok(Arc::new(script)),
        Err(wrong) => Err(wrong.iter().map(|w| w.render(text, "probe")).collect()),
    }
}

pub use matches::{ProbeMatch, alternatives};
