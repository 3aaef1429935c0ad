//! Machine code that was made before, in the user's cache folder: one file an entry, named by the key.
//!
//! An entry is `PRLXCUB1`, the length and the 128-bit hash of what follows, little-endian, and the bytes.
//!
//! # Invariants
//! A file under an entry's name is whole, for it is written beside it and renamed; what is damaged all the
//! same is found by its hash and removed; processes may share the folder; its size stays below a limit, the
//! longest unused goes first. A folder that can't be read or written is no error: nothing is kept then.
//! # Limitations
//! Two processes that make the same entry both make it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::xxh3_128;

/// Names the folder to use instead of the user's; empty: keep nothing.
pub const VARIABLE: &str = "PRLX_CACHE_DIR";
const MAGIC: &[u8] = b"PRLXCUB1";
const HEAD: usize = 32;
/// Bytes of all entries.
const LIMIT: u64 = 1 << 30;
/// A file that is being written for so long was left by a process that died.
const STALE: Duration = Duration::from_secs(3600);

/// A folder of entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// The user's: `$PRLX_CACHE_DIR`, else `prlx` in `$XDG_CACHE_HOME` or `~/.cache`.
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

    /// In a folder, which is made when it is needed, with at most so many bytes.
    pub fn new(folder: PathBuf, limit: u64) -> Cache {
        Cache { folder, limit }
    }

    fn path(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}.cubin"))
    }

    /// An entry's bytes.
    pub fn get(&self, key: u128) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = fs::read(&path).ok()?;
        if !whole(&bytes) {
            let _ = fs::remove_file(&path);
            return None;
        }
        // Its time says when it was used last.
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        bytes.drain(..HEAD);
        Some(bytes)
    }

    /// Keeps an entry, if it can be kept.
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

    /// Removes what was not used for the longest time, until all is below the limit, and what dead processes
    /// left.
    fn trim(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        let mut kept: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in entries.flatten() {
            let (path, Ok(meta)) = (entry.path(), entry.metadata()) else { continue };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|e| e.to_str()) {
                Some("cubin") => kept.push((used, path, meta.len())),
                Some("part") if now.duration_since(used).is_ok_and(|age| age > STALE) => remove(&path),
                _ => {}
            }
        }
        kept.sort();
        let mut size: u64 = kept.iter().map(|(_, _, n)| n).sum();
        for (_, path, bytes) in kept {
            if size <= self.limit {
                break;
            }
            remove(&path);
            size -= bytes;
        }
    }
}

fn remove(path: &Path) {
    // Another process may have been quicker.
    let _ = fs::remove_file(path);
}

fn whole(bytes: &[u8]) -> bool {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else { return false };
    head.starts_with(MAGIC)
        && head[8..16] == (rest.len() as u64).to_le_bytes()
        && head[16..32] == xxh3_128(rest).to_le_bytes()
}
