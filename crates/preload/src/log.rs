//! What the library says: on standard error, each thing once; with `PRLX_PRELOAD_LOG` also what it does, in a
//! file.
//!
//! # Invariants
//! Lines are written whole, by one call. Misses: more than [`MOST`] different things.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Names the file for what is done.
const LOG: &str = "PRLX_PRELOAD_LOG";
/// So many different things are said.
const MOST: usize = 100;

static LOG_FILE: LazyLock<Option<Mutex<std::fs::File>>> = LazyLock::new(|| {
    let path = std::env::var_os(LOG).filter(|p| !p.is_empty())?;
    std::fs::File::options().append(true).create(true).open(path).ok().map(Mutex::new)
});

/// Says something that the user should know, once.
pub fn warn_once(text: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    debug(text);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let said = said.get_or_insert_default();
    if said.len() < MOST && said.insert(text.to_owned()) {
        // The program may have closed it.
        let _ = std::io::stderr().write_all(format!("prlx: {text}\n").as_bytes());
    }
}

/// Writes down what was done, if somebody wants to know.
pub fn debug(text: &str) {
    if let Some(file) = &*LOG_FILE {
        let line = format!("{} {text}\n", std::process::id());
        let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}
