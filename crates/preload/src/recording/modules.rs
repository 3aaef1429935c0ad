//! Modules in the recording that were not rewritten, or that a probe program was inserted into.

use prlx_driver::cuda::Functions;
use prlx_trace::process::Skipped;

use crate::recording::open::session;
use crate::rewritten_module::Module;

/// Records that a module was loaded unchanged, and why.
pub fn module_skipped(real: &Functions, module: &str, why: &str) {
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
