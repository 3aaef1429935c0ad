//! Recordings of PRLX 0.x on disk: files that are mapped, sessions, site tables.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use memmap2::{Mmap, UncheckedAdvice};
use prlx_analyze::v1::SiteTable;
use prlx_trace::v1::{File, SessionEntry, SiteEntry, is_v1};

/// The list of a session's launches, and the table of its sites.
const SESSION: &str = "session.json";
const SITES: &str = "prlx-sites.json";
/// Bytes of a JSON file that are read.
const MOST_JSON: u64 = 1 << 30;

/// A version 1 file, mapped.
pub struct Recording {
    /// As the user calls it.
    pub path: PathBuf,
    map: Mmap,
}

impl Recording {
    /// Maps a file.
    pub fn open(path: &Path) -> Result<Recording> {
        let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        #[allow(unsafe_code, reason = "mapping a file")]
        // SAFETY: bytes that another process changes while they are mapped may be read in either state, and all reading is
        // checked; a file that is cut meanwhile ends this process by a signal, as it would any program that maps it.
        let map = unsafe { Mmap::map(&file) }.with_context(|| format!("cannot map {}", path.display()))?;
        Ok(Recording { path: path.to_owned(), map })
    }

    /// Its header, checked.
    pub fn file(&self) -> Result<File<'_>> {
        File::open(&self.map).map_err(|e| anyhow!("{}: {e}", self.path.display()))
    }

    /// Says that bytes of the file are not needed any more, so that memory stays small however large files are. Of a
    /// packed file, offsets are not those of the mapped bytes, and its bytes are few.
    pub fn done(&self, bytes: Range<u64>) {
        const PAGE: u64 = 4096;
        let (start, end) = (bytes.start.next_multiple_of(PAGE), bytes.end.min(self.map.len() as u64) / PAGE * PAGE);
        if start < end {
            #[allow(unsafe_code, reason = "giving back pages")]
            // SAFETY: the map is shared and read-only, so its pages are the file's, and come back when they are read again.
            let _ = unsafe {
                self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start as usize, (end - start) as usize)
            };
        }
    }
}

/// What a path is.
pub enum Input {
    /// A file of version 1.
    File,
    /// A folder with the list of a session's launches.
    Session(Vec<SessionEntry>),
    /// Something else.
    Other,
}

/// Looks at what a path is.
pub fn look(path: &Path) -> Result<Input> {
    if path.is_dir() {
        let list = path.join(SESSION);
        if !list.is_file() {
            return Ok(Input::Other);
        }
        let text = json(&list)?;
        // Own sessions have another list.
        if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'[') {
            return Ok(Input::Other);
        }
        let entries = serde_json::from_slice(&text).with_context(|| format!("{} is no session", list.display()))?;
        return Ok(Input::Session(entries));
    }
    let mut magic = [0; 8];
    let mut file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(if file.read_exact(&mut magic).is_ok() && is_v1(&magic) { Input::File } else { Input::Other })
}

/// A launch of a session.
pub fn of_session(folder: &Path, entry: &SessionEntry) -> Result<Recording> {
    let places = entry.places().map_err(|e| anyhow!("{}: {e}", folder.join(SESSION).display()))?;
    let inside = fs::canonicalize(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for place in &places {
        let path = folder.join(place);
        let Ok(real) = fs::canonicalize(&path) else { continue };
        if !real.starts_with(&inside) {
            bail!("{}: launch {} is a link out of the session's folder", path.display(), entry.launch);
        }
        return Recording::open(&path);
    }
    bail!("{}: launch {} has no file {}", folder.display(), entry.launch, places.join(" or "))
}

/// A site table: the one that was asked for, or the one beside a recording, or none.
pub fn sites(asked: Option<&Path>, recording: &Path) -> Result<SiteTable> {
    let beside = if recording.is_dir() { recording.join(SITES) } else { recording.with_file_name(SITES) };
    let path = match asked {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => return Ok(SiteTable::default()),
    };
    let rows: Vec<SiteEntry> =
        serde_json::from_slice(&json(path)?).with_context(|| format!("{} is no site table", path.display()))?;
    Ok(SiteTable::new(rows))
}

/// B's ids in A's names, where both sides have tables of their own.
pub fn renamed(asked: bool, tables: [&SiteTable; 2]) -> HashMap<u32, u32> {
    if asked { tables[1].to(tables[0]) } else { HashMap::new() }
}

fn json(path: &Path) -> Result<Vec<u8>> {
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut text = Vec::new();
    file.take(MOST_JSON).read_to_end(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text)
}
