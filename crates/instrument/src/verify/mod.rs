//! Verifies rewritten code independently: it trusts neither the edits nor their text, only the reader of PTX.
//!
//! # Invariants
//! For `rewritten` made from `source` by `plan`:
//!
//! 1. Removing the inserted snippets gives `source`, byte for byte. The snippets are found by comparing the
//!    two texts.
//! 2. Snippets are only at the top of recorded functions, before or after an instruction with an insertion
//!    (or a call of a recorded function), and at the end of the parameter and argument lists of recorded
//!    functions. Each list got exactly one entry. Before the first function may be one inserted function, the
//!    code that takes a chunk, which inserted code may call.
//! 3. The rewritten text reads without a diagnostic that the original did not have. Without the inserted
//!    instructions, its instructions are the original's, in order.
//! 4. Inserted instructions are of the few kinds that recording needs. They write only inserted registers,
//!    and memory only through the cursor, the context or the record. They read a temporary only after writing
//!    it, and registers of the source only in scope.
//! 5. Inserted branches go forward and stay inside their snippet. Inserted labels are unique.
//! 6. Inserted code waits only for lanes of its warp: every `.sync` names a mask that `activemask` returned
//!    in the same snippet.
//! 7. Every snippet does exactly what the plan's insertions at its position say. It is executed on sample
//!    states of one lane and compared with a model of the plan's actions (see [`model`]). The states include
//!    true and false guards, chunks with room, full chunks, empty heads, an exhausted pool, and no recording.
//!
//! # Limitations
//! - Effects that need several lanes (elections, shuffles) are left to the emulator's schedules.
//! - That a call passes the same record on is checked by its form only.

pub(crate) mod amdgpu;
mod arithmetic;
mod behaviour;
mod check;
mod execute;
mod fault;
mod function;
mod handover;
pub mod inserted_code;
mod machine;
mod memory;
mod model;
mod next_chunk;
mod placement;
mod plan_facts;
mod rules;
mod snippets;
mod states;

use prlx_isa::view::Module;
use prlx_plan::Plan;

use crate::error::Error;
use crate::tokens;
use fault::wrong;

/// Checks that `rewritten` is `source` with `plan` lowered into it and nothing else. `module` is the view of
/// `source`.
///
/// # Errors
/// The first invariant of this module that does not hold, with its position in `rewritten`.
pub fn verify(source: &str, rewritten: &str, module: &Module, plan: &Plan) -> Result<(), Error> {
    crate::ptx::can_exchange(plan)?;
    crate::ptx::fits(module, plan)?;
    let prefix = tokens::prefix(source);
    let ((after, complaints), pieces) = beside(
        || prlx_isa::ptx::read(rewritten),
        || snippets::find_snippets(source, rewritten, module, &prefix),
        source.len() > LONG,
    );
    let pieces = pieces?;
    // Most modules have no diagnostics; then the original's do not matter.
    let before = if complaints.is_empty() { 0 } else { prlx_isa::ptx::read(source).1.len() };
    if let Some(new) = complaints.get(before) {
        return Err(wrong(
            new.span.start as usize,
            format!("the rewritten text has a new diagnostic: {}", new.message),
        ));
    }
    let (next_chunk, functions) = match after.functions.split_first() {
        Some((first, others)) if first.name == next_chunk::name(&prefix) => (Some(first), others),
        _ => (None, &after.functions[..]),
    };
    check::check(
        &function::Inputs {
            source,
            rewritten,
            module,
            after: &after,
            functions,
            next_chunk,
            plan,
            prefix: &prefix,
        },
        &pieces,
    )
}

/// Size of a source from which a second thread pays off, bytes.
const LONG: usize = 8 << 10;

/// Runs both closures, in parallel if `at_once` is set and a thread can be started.
fn beside<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync, at_once: bool) -> (A, B) {
    if !at_once {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, &second);
        let own = first();
        (own, other.ok().and_then(|o| o.join().ok()).unwrap_or_else(&second))
    })
}
