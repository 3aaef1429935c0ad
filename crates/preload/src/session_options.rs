//! The options of the session that this process takes part in, from the environment.

use std::sync::LazyLock;

use prlx_driver::session::{Options, VARIABLE};

use crate::log;

/// What to record. `None` if the environment names no session, or if its description cannot be read (the user
/// gets a warning): then this process is left alone.
pub fn options() -> Option<&'static Options> {
    static OPTIONS: LazyLock<Option<Options>> = LazyLock::new(|| {
        let text = std::env::var(VARIABLE).ok().filter(|v| !v.is_empty())?;
        Options::from_variable(&text, &prlx_probe::program).map_err(|e| log::warn_once(&e.message)).ok()
    });
    OPTIONS.as_ref()
}
