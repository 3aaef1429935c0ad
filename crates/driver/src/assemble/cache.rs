//! A cache of machine code in the user's cache folder: one file for each entry, named after its key.
//!
//! A file has the magic `PRLXCUB1`, the length and the 128-bit hash of the content (all little-endian), and
//! the content.
//!
//! # Invariants
//! - A file with an entry's name is complete: it is written under another name and renamed.
//! - A damaged file is recognised by its hash and removed.
//! - Processes can share the folder.
//! - The folder's size stays below a limit. The entries that were unused for longest are removed first.
//! - A folder that cannot be read or written is not an error: nothing is cached then.
//!
//! # Limitations
//! Two processes that need the same new entry at the same time both assemble it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::xxh3_128;

/// Environment variable: folder to use instead of the user's. If it is empty, nothing is cached.
pub const VARIABLE: &str = "PRLX_CACHE_DIR";
const MAGIC: &[u8] = b"PRLXCUB1";
const HEAD: usize = 32;
/// Maximum size of all entries together, in bytes.
const LIMIT: u64 = 1 << 30;
/// Age at which an unfinished file counts as left behind by a dead process.
const STALE: Duration = Duration::from_secs(3600);

/// A cache folder and its size limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// The user's cache: `$PRLX_CACHE_DIR`, or the folder `prlx` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub fn of_user() -> Option<Cache> {
        let folder = match env::var_os(VARIABLE) {
            Some(named) if named.is_empty() => return None,
            Some(named) => PathBuf::from(named),
            None => {
                let set = |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
                set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")))?.join("prlx")
            }
        };
        Some(Cache::new(folder, LIMIT))
    }

    /// A cache in `folder`, which is created on first use, with at most `limit` bytes.
    pub fn new(folder: PathBuf, limit: u64) -> Cache {
        Cache { folder, limit }
    }

    fn path(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}.cubin"))
    }

    /// Returns an entry's content.
    pub fn get(&self, key: u128) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = fs::read(&path).ok()?;
        if !whole(&bytes) {
            let _ = fs::remove_file(&path);
            return None;
        }
        // The modification time is the time of last use.
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        bytes.drain(..HEAD);
        Some(bytes)
    }

    /// Stores an entry. Failures are ignored.
    pub fn put(&self, key: u128, bytes: &[u8]) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if bytes.len() as u64 + HEAD as u64 > self.limit || fs::create_dir_all(&self.folder).is_err() {
            return;
        }
        let part =
            format!("{key:032x}.{}.{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let part = self.folder.join(part);
        let head = [MAGIC, &(bytes.len() as u64).to_le_bytes(), &xxh3_128(bytes).to_le_bytes()].concat();
        let written =
            fs::write(&part, [&head, bytes].concat()).and_then(|()| fs::rename(&part, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        self.trim();
    }

    /// Removes files of dead processes, and entries until the size is below the limit.
    fn trim(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        let mut entries: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in files.flatten() {
            let (path, Ok(meta)) = (entry.path(), entry.metadata()) else { continue };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|e| e.to_str()) {
                Some("cubin") => entries.push((used, path, meta.len())),
                Some("part") if now.duration_since(used).is_ok_and(|age| age > STALE) => remove(&path),
                _ => {}
            }
        }
        entries.sort();
        let mut size: u64 = entries.iter().map(|(_, _, n)| n).sum();
        for (_, path, bytes) in entries {
            if size <= self.limit {
                break;
            }
            remove(&path);
            size -= bytes;
        }
    }
}

fn remove(path: &Path) {
    // Another process may have removed it already.
    let _ = fs::remove_file(path);
}

fn whole(bytes: &[u8]) -> bool {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else { return false };
    head.starts_with(MAGIC)
        && head[8..16] == (rest.len() as u64).to_le_bytes()
        && head[16..32] == xxh3_128(rest).to_le_bytes()
}
