//! The corpus and the lists beside it, as the tests read them.
//!
//! `index.toml`: every module, with its launch. `refused.txt`: launches that the CPU device refuses, by
//! kernel or by kernel and target. `schedule.txt`: what the schedule may choose.

#![allow(dead_code, reason = "a test of prlx-cli includes this file and uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A module of the corpus.
pub struct Kernel {
    /// The name of the kernel, for example `cuda/saxpy`.
    pub name: String,
    /// The target of the module, for example `sm_80`.
    pub target: String,
    /// The PTX file.
    pub module: PathBuf,
    /// The launch file.
    pub launch: Option<PathBuf>,
}

/// The root folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    let path = root().join("tests/kernels").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Every module of the corpus.
pub fn kernels() -> Vec<Kernel> {
    let index: toml::Table = read("index.toml").parse().expect("the index of the corpus is TOML");
    let list = index.get("kernel").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let at = |path: &str| root().join("tests/kernels").join(path);
    list.iter()
        .map(|k| {
            let text = |key: &str| k.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            Kernel {
                name: format!("{}/{}", text("kind"), text("name")),
                target: text("target").to_owned(),
                module: at(text("module")),
                launch: Some(text("launch")).filter(|l| !l.is_empty()).map(at),
            }
        })
        .collect()
}

/// Kernels with a launch file, in order: name as `cuda/saxpy`, launch file. One launch file serves the
/// modules of all targets.
pub fn launches() -> BTreeMap<String, PathBuf> {
    kernels().into_iter().filter_map(|k| Some((k.name, k.launch?))).collect()
}

/// Lines that say something, as words.
fn lines(file: &str) -> Vec<Vec<String>> {
    let words = |l: &str| l.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    read(file).lines().filter(|l| !l.starts_with('#')).map(words).filter(|w| !w.is_empty()).collect()
}

/// `refused.txt`.
pub struct Refused(Vec<Vec<String>>);

impl Refused {
    /// Reads `refused.txt` of the corpus.
    pub fn read() -> Refused {
        Refused(lines("refused.txt"))
    }
    /// What is refused, as written.
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().filter_map(|l| l.first().cloned()).collect()
    }
    /// Whether a line means a kernel's module for a target.
    pub fn means(line: &str, name: &str, target: &str) -> bool {
        line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/') == Some(target))
    }
    /// Whether a kernel's module for a target is refused.
    pub fn has(&self, name: &str, target: &str) -> bool {
        self.lines().iter().any(|line| Refused::means(line, name, target))
    }
}

/// `schedule.txt`.
pub struct Scheduled(Vec<Vec<String>>);

impl Scheduled {
    /// Reads `schedule.txt` of the corpus.
    pub fn read() -> Scheduled {
        Scheduled(lines("schedule.txt"))
    }
    fn says(&self, name: &str, words: &[&str]) -> bool {
        let mut here = self.0.iter().filter(|l| l.first().is_some_and(|n| n == name));
        here.any(|l| l.get(1).is_some_and(|of| of.split(',').any(|w| words.contains(&w))))
    }
    /// Whether the schedule may choose what is recorded of a kernel at a level.
    pub fn has(&self, name: &str, level: &str) -> bool {
        self.says(name, &["all", level])
    }
    /// Whether it may choose a kernel's results.
    pub fn outputs(&self, name: &str) -> bool {
        self.says(name, &["outputs"])
    }
    /// Whether the schedule may choose the order of a kernel's markers. It may not where a wait only repeats
    /// its test.
    pub fn order_of_markers(&self, name: &str) -> bool {
        let repeats = |l: &[String]| l.windows(3).any(|w| w == ["waits", "ask", "again"]);
        self.0.iter().any(|l| {
            let chosen = l.get(1).is_some_and(|of| of.split(',').any(|w| w == "all" || w == "outputs"));
            l.first().is_some_and(|n| n == name) && chosen && !repeats(l)
        })
    }
    /// Whether rewritten code records other things than hooks even under the fair schedule.
    pub fn timed(&self, name: &str) -> bool {
        self.says(name, &["timed"])
    }
}
