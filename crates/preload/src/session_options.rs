//! The options of the session that this process takes part in, from the environment.

use std::sync::LazyLock;

use prlx_driver::session::{Options, VARIABLE};

use crate::log;

/// What is to be recorded; `None`: nothing, this process is left alone.
pub fn options() -> Option<&'static Options> {
    static OPTIONS: LazyLock<Option<Options>> = LazyLock::new(|| {
        let said = std::env::var(VARIABLE).ok().filter(|v| !v.is_empty())?;
        Options::from_variable(&said, &prlx_probe::program).map_err(|e| log::warn_once(&e.message)).ok()
    });
    OPTIONS.as_ref()
}
