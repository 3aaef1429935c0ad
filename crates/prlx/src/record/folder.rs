//! The folder that holds recordings while a command works, and afterwards if the user wants to keep them.
//!
//! # Invariants
//! - A temporary folder is removed when its [`RecordingFolder`] is dropped.
//!
//! # Limitations
//! - It stays if the process is killed.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};

/// A folder for recordings: the user's, or a temporary one.
#[derive(Debug)]
pub enum RecordingFolder {
    /// The user's folder; it stays.
    Kept(PathBuf),
    /// A temporary folder; it is removed on drop.
    Temporary(PathBuf),
}

impl RecordingFolder {
    /// Names the folder `kept`, or a temporary folder for a command called `purpose`. Creates nothing.
    pub fn new(kept: Option<&Path>, purpose: &str) -> RecordingFolder {
        match kept {
            Some(path) => RecordingFolder::Kept(path.to_owned()),
            None => {
                // Process numbers are reused; the time tells two processes of one number apart.
                let nanos = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
                let name = format!("prlx-{purpose}-{}-{nanos:x}", std::process::id());
                RecordingFolder::Temporary(std::env::temp_dir().join(name))
            }
        }
    }

    /// Like [`RecordingFolder::new`], and creates the folder.
    ///
    /// # Errors
    /// If the folder cannot be created, or a temporary folder of that name exists.
    pub fn create(kept: Option<&Path>, purpose: &str) -> Result<RecordingFolder> {
        let folder = RecordingFolder::new(kept, purpose);
        let created = match &folder {
            RecordingFolder::Kept(path) => std::fs::create_dir_all(path),
            RecordingFolder::Temporary(path) => std::fs::create_dir(path),
        };
        created.with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }
}

impl Deref for RecordingFolder {
    type Target = Path;
    fn deref(&self) -> &Path {
        let (RecordingFolder::Kept(path) | RecordingFolder::Temporary(path)) = self;
        path
    }
}

impl Drop for RecordingFolder {
    fn drop(&mut self) {
        if let RecordingFolder::Temporary(path) = self {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
