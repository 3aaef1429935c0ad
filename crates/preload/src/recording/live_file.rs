//! The live file: a recording beside the process's file, rewritten now and then while the program runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use prlx_driver::session::LIVE_EXTENSION;

use crate::recording::lock::lock;

/// Path of the live file. The file is written and removed only while the lock is held.
pub(super) struct LiveFile(pub(super) Mutex<PathBuf>);

impl LiveFile {
    /// The live file beside the process's file.
    pub fn new(file: &Path) -> LiveFile {
        LiveFile(Mutex::new(file.with_extension(LIVE_EXTENSION)))
    }

    /// Removes the live file. No new one is written while the result is held.
    pub fn remove(&self) -> MutexGuard<'_, PathBuf> {
        let path = lock(&self.0);
        let _ = fs::remove_file(&*path);
        path
    }
}
