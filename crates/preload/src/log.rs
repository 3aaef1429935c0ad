//! Warnings for the user, on standard error, and a debug log of what the library does.
//!
//! # Invariants
//! - Each warning is printed once.
//! - A line is written by one call, so lines of several threads do not mix.
//!
//! # Limitations
//! After [`MAX_WARNINGS`] different warnings, further ones go to the debug log only.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Environment variable that names the file of the debug log.
const LOG: &str = "PRLX_PRELOAD_LOG";
/// Maximum number of different warnings that are printed.
const MAX_WARNINGS: usize = 100;

static LOG_FILE: LazyLock<Option<Mutex<std::fs::File>>> = LazyLock::new(|| {
    let path = std::env::var_os(LOG).filter(|p| !p.is_empty())?;
    std::fs::File::options().append(true).create(true).open(path).ok().map(Mutex::new)
});

/// Prints a warning, unless the same text was printed before. The debug log gets it every time.
pub fn warn_once(text: &str) {
    static PRINTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    debug(text);
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    let printed = printed.get_or_insert_default();
    if printed.len() < MAX_WARNINGS && printed.insert(text.to_owned()) {
        // The program may have closed standard error: there is nobody to report that to.
        let _ = std::io::stderr().write_all(format!("prlx: {text}\n").as_bytes());
    }
}

/// Appends a line to the debug log, if the environment names one.
pub fn debug(text: &str) {
    if let Some(file) = &*LOG_FILE {
        let line = format!("{} {text}\n", std::process::id());
        let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}
