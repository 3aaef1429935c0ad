//! The folder of a program's recording that is only looked at.
//!
//! Holds: what is among temporary files goes with its [`Folder`]. Misses: that, if we are killed.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Where the recording is: where the user keeps it, or, until this goes, among temporary files.
pub enum Folder {
    /// It stays.
    Kept(PathBuf),
    /// It goes.
    Temporary(PathBuf),
}

impl Folder {
    /// `kept`, or one for what `what` does.
    pub fn new(kept: Option<&Path>, what: &str) -> Folder {
        match kept {
            Some(path) => Folder::Kept(path.to_owned()),
            None => {
                let name = format!("prlx-{what}-{}-{:x}", std::process::id(), now());
                Folder::Temporary(std::env::temp_dir().join(name))
            }
        }
    }
}

/// A number that no other has that was started as the same process.
fn now() -> u128 {
    std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos()
}

impl Deref for Folder {
    type Target = Path;
    fn deref(&self) -> &Path {
        let (Folder::Kept(path) | Folder::Temporary(path)) = self;
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Folder::Temporary(path) = self {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
