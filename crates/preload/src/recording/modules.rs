//! Modules that were not rewritten, and modules of probe programs, in the recording.

use prlx_driver::cuda::Functions;
use prlx_trace::process::Skipped;

use crate::recording::open::session;
use crate::rewritten_module::Module;

/// A module was left as it is.
pub fn left(real: &Functions, module: &str, why: &str) {
    if let Some(session) = session(real) {
        let skipped = Skipped { module: module.to_owned(), kernel: None, reason: why.to_owned() };
        session.write(|file| file.skipped(&skipped));
    }
}

/// A module was rewritten with a probe program, or for its markers: it is in the recording though it may
/// never be launched. `missed` is what the program can't be told in it, and which markers are not recorded.
pub fn probed(real: &Functions, module: &Module, missed: &[String]) {
    let Some(session) = session(real) else { return };
    session.number(module);
    let of = &module.plan.module.name;
    for reason in missed {
        let skipped = Skipped { module: of.clone(), kernel: Some(of.clone()), reason: reason.clone() };
        session.write(|file| file.skipped(&skipped));
    }
}
