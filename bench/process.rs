//! What whole processes take, for benchmarks that measure the program itself; they take this in by `#[path]`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Anything, or whatever went wrong.
pub type Any<T> = Result<T, Box<dyn Error>>;

/// The `prlx` beside a benchmark.
pub fn prlx() -> Any<PathBuf> {
    let own = std::env::current_exe()?;
    let beside = own.parent().and_then(Path::parent).map(|p| p.join("prlx"));
    Ok(beside.filter(|p| p.exists()).ok_or("no prlx beside the benchmark")?)
}

/// Wall time and memory of `prlx diff A B`, and what it finds.
pub struct Took {
    /// The best of so many runs.
    pub time: Duration,
    /// High-water mark in MiB, mapped pages of files included.
    pub peak: u64,
    /// Its report as JSON.
    pub report: serde_json::Value,
}

/// Compares two recordings `runs` times, after once to bring files into the page cache.
pub fn diff(prlx: &Path, [a, b]: [&Path; 2], runs: usize) -> Any<Took> {
    let command = || {
        let mut c = Command::new(prlx);
        c.args(["-q", "diff"]).args([a, b]).stderr(Stdio::inherit());
        c
    };
    let json = command().args(["--json", "--limit", "1"]).output()?;
    let report = serde_json::from_slice(&json.stdout)?;
    let mut time = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        command().stdout(Stdio::null()).status()?;
        time = time.min(start.elapsed());
    }
    // Memory in a run of its own: reading it takes time.
    let mut child = command().stdout(Stdio::null()).spawn()?;
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(Took { time, peak: peak / 1024, report })
}

/// A folder for files that goes away with them, however the program ends, unless they are to stay.
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    stays: bool,
}

impl Folder {
    /// Makes it among the files that pass.
    pub fn new(name: &str, stays: bool) -> Any<Folder> {
        let folder = Folder { path: std::env::temp_dir().join(name), stays };
        fs::create_dir_all(&folder.path)?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.stays {
            eprintln!("the last pair lies in {}", self.path.display());
        } else if let Err(e) = fs::remove_dir_all(&self.path) {
            eprintln!("cannot remove {}: {e}", self.path.display());
        }
    }
}
