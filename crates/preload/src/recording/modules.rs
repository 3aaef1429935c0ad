//! Modules in the recording that were not rewritten, or that a probe program was inserted into.

use std::collections::BTreeSet;
use std::sync::Mutex;

use prlx_driver::cuda::Functions;
use prlx_driver::session::MODULE_NOT_REWRITTEN;
use prlx_trace::process::Skipped;

use crate::recording::lock::lock;
use crate::recording::open::session;
use crate::rewritten_module::Module;

/// Why modules were loaded unchanged so far.
static REASONS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Most reasons that are kept.
const MAX_REASONS: usize = 16;

/// Most reasons that are named for a kernel.
const MAX_NAMED: usize = 3;

/// Why a kernel of a module that was loaded unchanged is not recorded. Its module is not known here, so the
/// reasons of all modules are named.
pub fn module_not_rewritten() -> String {
    let reasons = lock(&REASONS);
    if reasons.is_empty() || reasons.len() > MAX_NAMED {
        return MODULE_NOT_REWRITTEN.to_owned();
    }
    let reasons: Vec<&str> = reasons.iter().map(String::as_str).collect();
    format!("{MODULE_NOT_REWRITTEN}: {}", reasons.join("; or "))
}

/// Records that a module was loaded unchanged, and why.
pub fn module_skipped(real: &Functions, module: &str, why: &str) {
    let mut reasons = lock(&REASONS);
    if reasons.len() < MAX_REASONS {
        reasons.insert(why.to_owned());
    }
    drop(reasons);
    if let Some(session) = session(real) {
        let skipped = Skipped { module: module.to_owned(), kernel: None, reason: why.to_owned() };
        session.write(|file| file.skipped(&skipped));
    }
}

/// Records a module that was rewritten for a probe program or for its markers, even if it is never launched.
/// `unavailable` lists the program's values that this module does not have, and the markers that are not
/// recorded.
pub fn module_probed(real: &Functions, module: &Module, unavailable: &[String]) {
    let Some(session) = session(real) else { return };
    session.module_index(module);
    let name = &module.plan.module.name;
    for reason in unavailable {
        let skipped = Skipped { module: name.clone(), kernel: Some(name.clone()), reason: reason.clone() };
        session.write(|file| file.skipped(&skipped));
    }
}
