//! An independent check of rewritten code: it trusts neither the edits nor the text they hold, only the reader of PTX.
//!
//! Invariants, for `rewritten` made from `source` by `plan`:
//!
//! 1. Taking the inserted pieces away gives `source` byte for byte. Pieces are found by comparing the two texts.
//! 2. Pieces stand only at the top of recorded functions, before or after an instruction for which the plan has an
//!    insertion there (or which calls a recorded function), and at the end of the parameter and argument lists of
//!    recorded functions. Each list got exactly one entry.
//! 3. The rewritten text reads without a complaint that the original did not have, and its instructions, the inserted
//!    left out, are the original's in their order.
//! 4. Inserted instructions are of the few kinds that recording needs. They write only registers that were inserted,
//!    and memory only through the cursor, the context or the record; they read a temporary only after it was written,
//!    and registers of the source only where those are in scope.
//! 5. Inserted branches go forward and stay inside their piece. Inserted labels are unique.
//! 6. Inserted code waits for nothing but lanes: every `.sync` names a mask that `activemask` gave in the same piece.
//! 7. Every piece does what the plan's insertions at its place say, no more and no less: it is executed on sample states
//!    of one lane and compared with a model of the plan's actions (see [`model`]): guards that hold and that do not,
//!    chunks with room, full chunks, empty heads, an exhausted pool, no recording.
//!
//! Misses: what only several lanes can show (elections, shuffles) is for the emulator's schedules; that a call hands the
//! same record on is checked for its form alone.

mod arithmetic;
mod check;
mod execute;
mod fault;
mod function;
mod handover;
mod machine;
mod memory;
mod model;
mod placement;
mod plan_facts;
mod rules;
mod run;
mod snippets;
mod states;

use prlx_isa::view::Module;
use prlx_plan::Plan;

use crate::error::Error;
use crate::tokens;
use fault::wrong;

/// Checks that `rewritten` is `source`, of which `module` is the view, with `plan` lowered into it and nothing else.
///
/// # Errors
/// The first invariant of this module's list that does not hold, with its place in `rewritten`.
pub fn verify(source: &str, rewritten: &str, module: &Module, plan: &Plan) -> Result<(), Error> {
    crate::ptx::fits(module, plan)?;
    let prefix = tokens::prefix(source);
    let ((after, complaints), pieces) = beside(
        || prlx_isa::ptx::read(rewritten),
        || snippets::pieces(source, rewritten, module, &prefix),
        source.len() > LONG,
    );
    let pieces = pieces?;
    // Most have none, and then it does not matter what the original's are.
    let before = if complaints.is_empty() { 0 } else { prlx_isa::ptx::read(source).1.len() };
    if let Some(new) = complaints.get(before) {
        return Err(wrong(
            new.span.start as usize,
            format!("the rewritten text does not read: {}", new.message),
        ));
    }
    check::check(
        &function::Texts { source, rewritten, module, after: &after, plan, prefix: &prefix },
        &pieces,
    )
}

/// Bytes of a source for which a second thread is worth it.
const LONG: usize = 8 << 10;

/// Does both, at once if that is worth it and there is a thread to be had.
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
