//! Keys as they are read, with paths as short as they are unambiguous.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::names::file_name;

use super::model::{Tallies, TallyKey, float};

/// Widest text that a key has in its column.
pub(super) const KEY: usize = 60;

/// The paths that are shown in full because another path has the same file name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct KeyNames(BTreeSet<String>);

impl KeyNames {
    pub(super) fn of(tallies: &Tallies) -> KeyNames {
        let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for key in tallies.tables.iter().flat_map(|t| &t.rows).flat_map(|r| &r.keys) {
            if let TallyKey::Line(path, _) | TallyKey::Site(path, ..) = key {
                paths.entry(file_name(path)).or_default().insert(path);
            }
        }
        let double = paths.into_values().filter(|p| p.len() > 1).flatten();
        KeyNames(double.map(str::to_owned).collect())
    }

    pub(super) fn path<'a>(&self, path: &'a str) -> &'a str {
        if self.0.contains(path) { path } else { file_name(path) }
    }

    /// A key as text.
    pub(super) fn key(&self, key: &TallyKey) -> String {
        match key {
            TallyKey::Int(n) => n.to_string(),
            TallyKey::Float(_, bits) => float(f64::from_bits(*bits)),
            TallyKey::Address(at) | TallyKey::Hex(at) => format!("{at:#x}"),
            TallyKey::Word(text) | TallyKey::Recording(_, text) => text.clone(),
            TallyKey::Line(path, line) => format!("{}:{line}", self.path(path)),
            TallyKey::Site(_, 0, text) => text.clone(),
            TallyKey::Site(path, line, text) => format!("{}:{line} {text}", self.path(path)),
        }
    }
}
