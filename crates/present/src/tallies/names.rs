//! Keys as they are read, with paths as short as they are unambiguous.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Key, Tallies, float};

/// Which paths are shown whole: those whose last names are the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub(super) fn of(kept: &Tallies) -> Names {
        let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for key in kept.tables.iter().flat_map(|t| &t.rows).flat_map(|r| &r.keys) {
            if let Key::Line(path, _) | Key::Site(path, ..) = key {
                paths.entry(last_name(path)).or_default().insert(path);
            }
        }
        let double = paths.into_values().filter(|p| p.len() > 1).flatten();
        Names(double.map(str::to_owned).collect())
    }

    pub(super) fn path<'a>(&self, path: &'a str) -> &'a str {
        if self.0.contains(path) { path } else { last_name(path) }
    }

    /// A key, as it is read.
    pub(super) fn key(&self, key: &Key) -> String {
        match key {
            Key::Int(n) => n.to_string(),
            Key::Float(_, bits) => float(f64::from_bits(*bits)),
            Key::Address(at) => format!("{at:#x}"),
            Key::Word(text) | Key::Recording(_, text) => text.clone(),
            Key::Line(path, line) => format!("{}:{line}", self.path(path)),
            Key::Site(_, 0, text) => text.clone(),
            Key::Site(path, line, text) => format!("{}:{line} {text}", self.path(path)),
        }
    }
}

/// The file name of a path.
pub(super) fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
