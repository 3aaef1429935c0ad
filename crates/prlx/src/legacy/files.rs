//! Opens files, sessions and site tables of PRLX 0.x.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use memmap2::{Mmap, UncheckedAdvice};
use prlx_legacy::compare::SiteTable;
use prlx_legacy::v1::{File, SessionEntry, SiteEntry, is_v1};

/// File that lists a session's launches.
const SESSION: &str = "session.json";
/// File with a session's site table.
const SITES: &str = "prlx-sites.json";
/// Maximum size of a JSON file, in bytes.
const MAX_JSON: u64 = 1 << 30;
/// A memory-mapped file of format version 1.
#[derive(Debug)]
pub struct MappedFile {
    /// Its path, as the user wrote it.
    pub path: PathBuf,
    map: Mmap,
}

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    /// If the file cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<MappedFile> {
        let file =
            prlx_driver::files::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        #[allow(unsafe_code, reason = "mapping a file")]
        // SAFETY: `Mmap::map` requires that the file does not change while it is mapped. Another process may
        // change it: then a read sees old or new bytes, and every reader of these bytes checks them. If the
        // file is truncated, an access raises SIGBUS, as in any program that maps files; no Rust value is
        // left in an invalid state.
        let map = unsafe { Mmap::map(&file) }.with_context(|| format!("cannot map {}", path.display()))?;
        Ok(MappedFile { path: path.to_owned(), map })
    }

    /// Reads and checks the header.
    ///
    /// # Errors
    /// If the file is not one of format version 1, or is damaged.
    pub fn file(&self) -> Result<File<'_>> {
        File::open(&self.map).map_err(|e| anyhow!("{}: {e}", self.path.display()))
    }

    /// Releases the pages of bytes that are not needed any more, so that large files take little memory.
    ///
    /// `bytes` are offsets in the mapped file. Do not call this for a packed file, whose offsets count
    /// unpacked bytes.
    pub fn release(&self, bytes: Range<u64>) {
        const PAGE: u64 = 4096;
        let (start, end) =
            (bytes.start.next_multiple_of(PAGE), bytes.end.min(self.map.len() as u64) / PAGE * PAGE);
        if start < end {
            #[allow(unsafe_code, reason = "giving back pages")]
            // SAFETY: `unchecked_advise_range` with `DontNeed` requires that no data is lost. The mapping is
            // read-only and backed by the file, so a released page is read from the file again on the next
            // access. The range is inside the mapping: `end` is at most its length.
            let _ = unsafe {
                self.map.unchecked_advise_range(
                    UncheckedAdvice::DontNeed,
                    start as usize,
                    (end - start) as usize,
                )
            };
        }
    }
}

/// When a recording was made: its header's time stamp, in seconds or microseconds depending on the writer;
/// without one, the file's modification time.
pub fn recorded_at(recording: &MappedFile, file: &File<'_>) -> Option<SystemTime> {
    let since = match file.header.timestamp {
        0 => return fs::metadata(&recording.path).and_then(|m| m.modified()).ok(),
        t if t >> 40 == 0 => Duration::from_secs(t),
        t => Duration::from_micros(t),
    };
    UNIX_EPOCH.checked_add(since)
}

/// What a path leads to.
#[derive(Debug)]
pub enum Input {
    /// A file of format version 1.
    File,
    /// A session of PRLX 0.x: a folder with a list of launches.
    Session(Vec<SessionEntry>),
    /// Anything else, such as a recording of this version.
    Other,
}

/// Finds out what a path leads to.
///
/// # Errors
/// If the path cannot be read, or the list of launches is malformed.
pub fn identify(path: &Path) -> Result<Input> {
    if path.is_dir() {
        let list = path.join(SESSION);
        if !list.is_file() {
            return Ok(Input::Other);
        }
        let text = json(&list)?;
        // Sessions of this version have an object there.
        if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'[') {
            return Ok(Input::Other);
        }
        let entries = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not a session list", list.display()))?;
        return Ok(Input::Session(entries));
    }
    let mut magic = [0; 8];
    let mut file =
        prlx_driver::files::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(if file.read_exact(&mut magic).is_ok() && is_v1(&magic) { Input::File } else { Input::Other })
}

/// Opens the file of a session's launch.
///
/// # Errors
/// If there is no such file, or it is a link to a place outside the session's folder.
pub fn open_launch(folder: &Path, entry: &SessionEntry) -> Result<MappedFile> {
    let places = entry.places().map_err(|e| anyhow!("{}: {e}", folder.join(SESSION).display()))?;
    let inside = fs::canonicalize(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for place in &places {
        let path = folder.join(place);
        let Ok(real) = fs::canonicalize(&path) else { continue };
        if !real.starts_with(&inside) {
            bail!(
                "{}: launch {} is a link to a file outside the session's directory",
                path.display(),
                entry.launch
            );
        }
        return MappedFile::open(&path);
    }
    bail!("{}: launch {} has no file {}", folder.display(), entry.launch, places.join(" or "))
}

/// Reads a site table: the given one, or the one beside a recording; empty if there is none.
///
/// # Errors
/// If the file cannot be read, or is no site table.
pub fn site_table(asked: Option<&Path>, recording: &Path) -> Result<SiteTable> {
    let beside = if recording.is_dir() { recording.join(SITES) } else { recording.with_file_name(SITES) };
    let path = match asked {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => return Ok(SiteTable::default()),
    };
    let rows: Vec<SiteEntry> = serde_json::from_slice(&json(path)?)
        .with_context(|| format!("{} is not a site table", path.display()))?;
    Ok(SiteTable::new(rows))
}

/// B's site ids in terms of A's, if each side has a table of its own; otherwise empty.
pub fn ids_in_a(separate: bool, tables: [&SiteTable; 2]) -> HashMap<u32, u32> {
    if separate { tables[1].to(tables[0]) } else { HashMap::new() }
}

fn json(path: &Path) -> Result<Vec<u8>> {
    let file = prlx_driver::files::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut text = Vec::new();
    file.take(MAX_JSON).read_to_end(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text)
}
