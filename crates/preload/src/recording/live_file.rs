//! The live file: a recording beside the process's file, rewritten now and then while the program runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use prlx_driver::session::LIVE_EXTENSION;

use crate::recording::lock::lock;

/// The file, while it may be written.
pub(super) struct Live(pub(super) Mutex<PathBuf>);

impl Live {
    /// Beside the process's own file.
    pub fn new(file: &Path) -> Live {
        Live(Mutex::new(file.with_extension(LIVE_EXTENSION)))
    }
    /// Takes it away; none is put there as long as this is held.
    pub fn stop(&self) -> MutexGuard<'_, PathBuf> {
        let path = lock(&self.0);
        let _ = fs::remove_file(&*path);
        path
    }
}
