//! Results of slow checks, by the hash of everything that they depend on.
//!
//! `xtask/stamps.toml` is tracked: a row says that a check passed on inputs with that hash. A check whose
//! inputs still have it need not run again. Inputs are sources, flags and the versions of the tools; so a row
//! means the same on every machine.
//!
//! # Invariants
//! Only a check that passed writes its row, and only outside of CI: CI runs the check when the row is out of
//! date, and leaves the file as it is. `--all` on a task ignores its row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const FILE: &str = "xtask/stamps.toml";
const HEAD: &str =
    "# Inputs on which slow checks passed (xtask/src/stamps.rs). Written by the tasks that it names.\n\n";

/// Hashes the inputs of one check (FNV-1a, 128 bits: a change by accident is what it must see).
pub struct Inputs(u128);

impl Inputs {
    /// The versions of all pinned tools, and `what` else the check depends on.
    pub fn new(what: &str) -> Inputs {
        let mut inputs = Inputs(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        crate::setup::PINS.iter().for_each(|pin| inputs.bytes(pin.as_bytes()));
        inputs.bytes(what.as_bytes());
        inputs
    }

    /// Adds bytes, with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }

    /// Adds a file, or every file below a folder: paths relative to the repository, and contents.
    ///
    /// # Errors
    /// When something can't be read.
    pub fn path(&mut self, path: &Path) -> Result<()> {
        let full = crate::root().join(path);
        if full.is_dir() {
            let mut entries: Vec<PathBuf> =
                fs::read_dir(&full)?.map(|e| Ok(path.join(e?.file_name()))).collect::<Result<_>>()?;
            entries.sort();
            // Pages are not inputs.
            entries.retain(|p| !p.ends_with("__pycache__") && p.extension().is_none_or(|e| e != "md"));
            return entries.iter().try_for_each(|p| self.path(p));
        }
        self.bytes(path.to_string_lossy().as_bytes());
        self.bytes(&fs::read(&full).with_context(|| format!("cannot read {}", path.display()))?);
        Ok(())
    }

    /// Adds everything that the program of a crate (a folder) is built from: the workspace's manifest and
    /// lock file, the compiler's version, and the sources of the crate and of all crates that it needs.
    ///
    /// # Errors
    /// When something can't be read.
    pub fn program(&mut self, folder: &str) -> Result<()> {
        for file in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"] {
            self.path(Path::new(file))?;
        }
        for folder in needed(folder)? {
            let mut entries: Vec<PathBuf> = fs::read_dir(crate::root().join(&folder))?
                .map(|e| Ok(Path::new(&folder).join(e?.file_name())))
                .collect::<Result<_>>()?;
            entries.sort();
            entries.retain(|p| !UNUSED.iter().any(|unused| p.ends_with(unused)));
            entries.iter().try_for_each(|p| self.path(p))?;
        }
        Ok(())
    }
}

/// Entries of a crate's folder that its program is not built from.
const UNUSED: [&str; 4] = ["tests", "examples", "benches", "proptest-regressions"];

/// The folders of a crate and of all crates of the workspace that it depends on, as their manifests say.
fn needed(folder: &str) -> Result<BTreeSet<String>> {
    let manifest = |folder: &str| -> Result<toml::Table> {
        let path = Path::new(folder).join("Cargo.toml");
        let text = fs::read_to_string(crate::root().join(&path));
        text.with_context(|| format!("cannot read {}", path.display()))?
            .parse()
            .with_context(|| format!("cannot read {}", path.display()))
    };
    let workspace = manifest("")?;
    let shared = workspace.get("workspace").and_then(|w| w.get("dependencies"));
    let (mut all, mut open) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        if all.contains(&folder) {
            continue;
        }
        let manifest = manifest(&folder)?;
        if ["build-dependencies", "target"].iter().any(|key| manifest.contains_key(*key)) {
            bail!("{folder}/Cargo.toml has dependencies that stamps do not follow");
        }
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        for (name, how) in dependencies.into_iter().flatten() {
            if how.get("path").is_some() {
                bail!("{folder}/Cargo.toml: the path of `{name}` belongs in the workspace's manifest");
            }
            let path = shared.and_then(|s| s.get(name)?.get("path")?.as_str());
            open.extend(path.map(str::to_owned));
        }
        all.insert(folder);
    }
    Ok(all)
}

/// Runs `check`, unless it passed on the same inputs before.
///
/// # Errors
/// Those of the check.
pub fn unless_passed(name: &str, inputs: &Inputs, check: impl FnOnce() -> Result<()>) -> Result<()> {
    let hash = format!("{:032x}", inputs.0);
    let path = crate::root().join(FILE);
    let mut rows: BTreeMap<String, String> = match fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("cannot read {FILE}"))?,
        Err(_) => BTreeMap::new(),
    };
    if rows.get(name) == Some(&hash) {
        eprintln!("{name}: passed before on the same sources, flags and tools ({FILE})");
        return Ok(());
    }
    check()?;
    if std::env::var_os("CI").is_none() {
        rows.insert(name.to_owned(), hash);
        let lines: String = rows.iter().map(|(name, hash)| format!("{name} = \"{hash}\"\n")).collect();
        fs::write(&path, format!("{HEAD}{lines}")).with_context(|| format!("cannot write {FILE}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Inputs, needed};

    #[test]
    fn what_is_hashed_is_told_by_its_parts() {
        let hash = |parts: &[&str]| {
            let mut inputs = Inputs::new("x");
            parts.iter().for_each(|p| inputs.bytes(p.as_bytes()));
            inputs.0
        };
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&[]), hash(&[""]));
    }

    #[test]
    fn a_program_needs_the_crates_of_its_crates() {
        let needed = needed("crates/cli").unwrap_or_default();
        // `lanes` comes by `emu` only.
        let all = ["crates/cli", "crates/analyze", "crates/emu", "crates/lanes", "crates/trace"];
        assert!(all.iter().all(|folder| needed.contains(*folder)), "{needed:?}");
        assert!(!needed.contains("crates/mockcuda") && !needed.contains("xtask"), "{needed:?}");
    }
}
