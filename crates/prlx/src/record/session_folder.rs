//! Prepares the folder that a program's recording goes into.

use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::{Error, ErrorKind};

/// Makes the folder, or takes one that is empty, and checks that it is writable. Returns whether it was made.
pub(super) fn prepare(path: &Path) -> Result<bool> {
    let made = match std::fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(false) => {
            let what = format!("{} is not empty", path.display());
            let help = "PRLX never overwrites a recording: remove it, or name another directory with -o";
            return Err(Error::new(ErrorKind::File, what).help(help).into());
        }
        Ok(true) => false,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(path)
                .with_context(|| format!("cannot create the directory {}", path.display()))?;
            true
        }
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            let what = format!("{} is a file; the recording of a program is a directory", path.display());
            return Err(Error::new(ErrorKind::File, what).help("name another one with -o").into());
        }
        Err(e) => return Err(e).with_context(|| format!("cannot read the directory {}", path.display())),
    };
    // Better now than when the program has run for hours.
    let probe = path.join(".prlx");
    std::fs::write(&probe, b"prlx")
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write into {}", path.display()))?;
    Ok(made)
}
