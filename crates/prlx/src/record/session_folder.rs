//! Prepares the folder that a program's recording goes into, and removes what an earlier recording left.
//!
//! # Invariants
//! - Only files that PRLX writes are ever removed: the index, recordings of processes, captured launches, and
//!   what launches changed in memory.
//! - A folder with anything else in it is never written to.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use prlx_driver::session::{CHANGES_EXTENSION, INDEX, LIVE_EXTENSION, Session, captured_launch};
use prlx_driver::{Error, ErrorKind};

/// Makes the folder, or takes one that is empty or holds the index of a recording without processes, and
/// checks that it is writable. Returns whether it was made.
pub(super) fn prepare(path: &Path) -> Result<bool> {
    let made = match entries(path) {
        Ok(all) if !all.is_empty() && !is_leftover(path, &all) => {
            let what = format!("{} is not empty", path.display());
            let help = "to overwrite an earlier recording, add --force; or name another directory with -o";
            return Err(Error::new(ErrorKind::File, what).help(help).into());
        }
        Ok(_) => false,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path)
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
    fs::write(&probe, b"prlx")
        .and_then(|()| fs::remove_file(&probe))
        .with_context(|| format!("cannot write into {}", path.display()))?;
    Ok(made)
}

/// Removes the recording of a program, so that another one can take its place. Does nothing if there is none.
///
/// # Errors
/// If the folder holds a file that is not part of a recording, or a file cannot be removed.
pub fn remove_recording(path: &Path) -> Result<()> {
    let all = match entries(path) {
        Ok(all) => all,
        // `prepare` creates a missing folder, and refuses a file.
        Err(_) => return Ok(()),
    };
    let extension = |file: &Path| file.extension().and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let own = |file: &Path| {
        let extensions = ["prlx", LIVE_EXTENSION, CHANGES_EXTENSION];
        file.is_file() && (file.ends_with(INDEX) || extensions.contains(&&*extension(file)))
    };
    let of_capture = |file: &Path| file.is_file() && ["toml", "ptx", "npy"].contains(&&*extension(file));
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in all {
        match captured_launch(&entry).filter(|_| entry.is_dir()) {
            Some(_) => {
                let inside = entries(&entry).with_context(|| format!("cannot read {}", entry.display()))?;
                files.extend(inside.into_iter().map(|file| (of_capture(&file), file)));
                folders.push(entry);
            }
            None => files.push((own(&entry), entry)),
        }
    }
    if let Some((_, other)) = files.iter().find(|(own, _)| !own) {
        let what = format!("{} is not part of a recording, so --force removes nothing", other.display());
        return Err(Error::new(ErrorKind::File, what).help("name another directory with -o").into());
    }
    let cannot = |path: &Path| format!("cannot remove {}", path.display());
    files.iter().try_for_each(|(_, file)| fs::remove_file(file).with_context(|| cannot(file)))?;
    folders.iter().try_for_each(|folder| fs::remove_dir(folder).with_context(|| cannot(folder)))?;
    Ok(())
}

/// Removes the folder of a recording without processes, so that no empty recording remains.
pub(super) fn discard_leftover(path: &Path) {
    if entries(path).is_ok_and(|all| is_leftover(path, &all)) {
        // If it stays, `prepare` still takes it.
        let _ = fs::remove_file(path.join(INDEX)).and_then(|()| fs::remove_dir(path));
    }
}

/// Whether the only file in a folder is the index of a recording without processes.
fn is_leftover(path: &Path, all: &[PathBuf]) -> bool {
    let index = || Session::open(path).ok().and_then(|session| session.index);
    all.len() == 1 && all[0].ends_with(INDEX) && index().is_some_and(|index| index.processes.is_empty())
}

fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}
