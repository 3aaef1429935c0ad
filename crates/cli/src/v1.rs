//! Recordings of PRLX 0.x on disk: files that are mapped, sessions, site tables, and the sources that those name.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use memmap2::{Mmap, UncheckedAdvice};
use prlx_legacy::compare::SiteTable;
use prlx_legacy::v1::{File, SessionEntry, SiteEntry, is_v1};

/// The list of a session's launches, and the table of its sites.
const SESSION: &str = "session.json";
const SITES: &str = "prlx-sites.json";
/// Bytes of a JSON file that are read.
const MOST_JSON: u64 = 1 << 30;
/// Bytes of a source file that are read.
const MOST_SOURCE: u64 = 4 << 20;
/// What source files end in. A table may name any file, and pages that show it are passed on: others are not read.
const SOURCES: [&str; 24] = [
    "c", "cc", "cl", "cpp", "cu", "cuh", "cxx", "f90", "h", "hh", "hip", "hpp", "hxx", "inc", "inl", "ipp",
    "jl", "ll", "mlir", "mojo", "ptx", "py", "rs", "ttir",
];
/// Times of files and of recordings are taken for the same within this.
const ALIKE: Duration = Duration::from_secs(2);

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
        let (start, end) =
            (bytes.start.next_multiple_of(PAGE), bytes.end.min(self.map.len() as u64) / PAGE * PAGE);
        if start < end {
            #[allow(unsafe_code, reason = "giving back pages")]
            // SAFETY: the map is shared and read-only, so its pages are the file's, and come back when they are read again.
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

/// When a recording was made: in seconds or microseconds, by writer; or as its file says.
pub fn made(recording: &Recording, file: &File<'_>) -> Option<SystemTime> {
    let since = match file.header.timestamp {
        0 => return fs::metadata(&recording.path).and_then(|m| m.modified()).ok(),
        t if t >> 40 == 0 => Duration::from_secs(t),
        t => Duration::from_micros(t),
    };
    UNIX_EPOCH.checked_add(since)
}

/// Looks for the source files that site tables name.
pub struct Sources {
    /// By side: folders in which a file is looked for that is not where its name says.
    pub folders: [Vec<PathBuf>; 2],
    /// By side: when the first recording was made.
    pub made: [Option<SystemTime>; 2],
    /// By file: the sides that were recorded before it was changed.
    pub changed: BTreeMap<PathBuf, [bool; 2]>,
}

impl Sources {
    /// The text of a source file as a side's table spells it, if it is at hand: where the name says, from here or from the
    /// side's folders, or under its last name in those.
    pub fn text(&mut self, side: usize, name: &str) -> Option<String> {
        let name = Path::new(name);
        let below = self.folders[side].iter().map(|f| f.join(name));
        let beside = self.folders[side].iter().filter_map(|f| Some(f.join(name.file_name()?)));
        let path = below.chain([name.to_owned()]).chain(beside).find(|p| p.is_file())?;
        let real = fs::canonicalize(&path).ok()?;
        if !SOURCES.contains(&real.extension()?.to_str()?.to_ascii_lowercase().as_str()) {
            return None;
        }
        let file = fs::File::open(&real).ok()?;
        let facts = file.metadata().ok()?;
        let mut text = String::new();
        file.take(MOST_SOURCE + 1).read_to_string(&mut text).ok().filter(|n| *n as u64 <= MOST_SOURCE)?;
        if let (Ok(changed), Some(made)) = (facts.modified(), self.made[side])
            && changed.duration_since(made).is_ok_and(|after| after > ALIKE)
        {
            self.changed.entry(path).or_default()[side] = true;
        }
        Some(text)
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
        let entries =
            serde_json::from_slice(&text).with_context(|| format!("{} is no session", list.display()))?;
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
    let rows: Vec<SiteEntry> = serde_json::from_slice(&json(path)?)
        .with_context(|| format!("{} is no site table", path.display()))?;
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
