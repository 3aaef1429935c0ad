//! Keys as they are read, with paths as short as they are unambiguous.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::names::{display_name, display_names, file_name};

use super::model::{Tallies, TallyKey, float};

/// Widest text that a key has in its column.
pub(super) const KEY: usize = 60;

/// How the keys of some tables are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct KeyNames {
    /// The paths that are shown in full because another path has the same file name.
    whole_paths: BTreeSet<String>,
    /// By symbol of a C++ function: its name.
    functions: BTreeMap<String, String>,
}

impl KeyNames {
    pub(super) fn of(tallies: &Tallies) -> KeyNames {
        let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut symbols: BTreeSet<&str> = BTreeSet::new();
        for key in tallies.tables.iter().flat_map(|t| &t.rows).flat_map(|r| &r.keys) {
            if let TallyKey::Line(path, _) | TallyKey::Site(path, ..) = key {
                paths.entry(file_name(path)).or_default().insert(path);
            }
            if let TallyKey::Word(text) = key
                && text.starts_with("_Z")
            {
                symbols.insert(text);
            }
        }
        let double = paths.into_values().filter(|p| p.len() > 1).flatten();
        let names = display_names(symbols.iter().copied());
        KeyNames {
            whole_paths: double.map(str::to_owned).collect(),
            functions: symbols.into_iter().map(str::to_owned).zip(names).collect(),
        }
    }

    pub(super) fn path<'a>(&self, path: &'a str) -> &'a str {
        if self.whole_paths.contains(path) { path } else { file_name(path) }
    }

    /// A key as text.
    pub(super) fn key(&self, key: &TallyKey) -> String {
        match key {
            TallyKey::Int(n) => n.to_string(),
            TallyKey::Float(_, bits) => float(f64::from_bits(*bits)),
            TallyKey::Address(at) | TallyKey::Hex(at) => format!("{at:#x}"),
            TallyKey::Word(text) => self.functions.get(text).unwrap_or(text).clone(),
            TallyKey::Recording(_, text) => text.clone(),
            TallyKey::Line(path, line) => format!("{}:{line}", self.path(path)),
            TallyKey::Site(_, 0, text) => demangled(text),
            TallyKey::Site(path, line, text) => format!("{}:{line} {}", self.path(path), demangled(text)),
        }
    }
}

/// The text of a site, with the name of its function as the source has it: `ret in ns::scale<float>`.
fn demangled(text: &str) -> String {
    let Some((code, function)) = text.rsplit_once(" in _Z") else { return text.to_owned() };
    let end = function.find(' ').unwrap_or(function.len());
    let (symbol, rest) = function.split_at(end);
    format!("{code} in {}{rest}", display_name(&format!("_Z{symbol}")))
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn functions_of_sites_have_their_names_in_the_source() {
        let shown = [
            ("ret in _ZN2ns5scaleIfEEvPT_i", "ret in ns::scale<float>"),
            (
                "st.u32 [%rd1], 1 in _Z1fPf (number 2 of this text)",
                "st.u32 [%rd1], 1 in f (number 2 of this text)",
            ),
            ("ret in copy", "ret in copy"),
            ("ret in _Znonsense", "ret in _Znonsense"),
        ];
        for (text, want) in shown {
            assert_eq!(demangled(text), want);
        }
    }
}
