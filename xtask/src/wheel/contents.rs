//! What is inside a wheel: its files, and what its binaries need of the system.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{PACKAGE, PROGRAMS, empty_folder};
use crate::glibc::{self, Needs, Version};
use crate::{root, sh, text};

/// Shared libraries that every Linux with glibc has. `ld-linux-*` is the loader.
const SYSTEM: [&str; 7] =
    ["libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1", "ld-linux-"];
/// The native module in the wheel.
const NATIVE: &str = "prlx/_native.abi3.so";
/// Files that installers read, after the name and version of the package.
const METADATA: [&str; 7] = [
    ".data/purelib/prlx.pth",
    ".dist-info/METADATA",
    ".dist-info/RECORD",
    ".dist-info/WHEEL",
    ".dist-info/entry_points.txt",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
];
/// Maximum size of the packed wheel for users, in bytes.
const MOST: u64 = 40 << 20;

/// Unpacks a wheel and checks its files and binaries. Returns rows of a table: what was checked, and the
/// result. `limit` is the newest glibc that a binary may need; without it, sizes are not limited either.
///
/// # Errors
/// If files are missing, do not belong there, or need what the system may not have.
pub fn inspect(python: &str, wheel: &Path, limit: Option<Version>) -> Result<Vec<(String, String)>> {
    let folder = empty_folder("wheel-files")?;
    sh(python, &["-m", "zipfile", "-e", text(wheel)?, text(&folder)?])?;
    let files = names(&folder, "")?;
    let bytes = fs::metadata(wheel)?.len();
    if limit.is_some() && bytes > MOST {
        bail!("the wheel has {bytes} bytes, more than {MOST}");
    }
    let expected = expected()?;
    let mut missing: Vec<&str> = expected.difference(&files).map(String::as_str).collect();
    missing.extend(METADATA.iter().filter(|end| !files.iter().any(|f| is_metadata(f) && f.ends_with(**end))));
    let strange: Vec<&str> =
        files.difference(&expected).filter(|f| !is_metadata(f)).map(String::as_str).collect();
    if !missing.is_empty() || !strange.is_empty() {
        bail!("the wheel lacks [{}] and should not have [{}]", missing.join(", "), strange.join(", "));
    }
    let mut rows = vec![(
        "files".into(),
        format!(
            "{} of the package, {} of metadata; {}",
            expected.len(),
            files.len() - expected.len(),
            megabytes(bytes)
        ),
    )];
    let programs = PROGRAMS.iter().map(|p| format!("prlx/bin/{p}"));
    for name in std::iter::once(NATIVE.to_owned()).chain(programs) {
        let file = folder.join(&name);
        let found = needs(&file, limit).with_context(|| name.clone())?;
        rows.push((format!("`{name}`"), format!("{found}; {}", megabytes(fs::metadata(&file)?.len()))));
    }
    Ok(rows)
}

/// What a binary needs. Fails if that is a newer glibc than `limit`, or a library of [`SYSTEM`] is not
/// enough.
fn needs(file: &Path, limit: Option<Version>) -> Result<String> {
    let Needs { glibc, libraries } = glibc::needs(file)?;
    let version = glibc.unwrap_or_default();
    if limit.is_some_and(|limit| version > limit) {
        bail!("needs glibc {}.{}", version.0, version.1);
    }
    if let Some(other) = libraries.iter().find(|l| !SYSTEM.iter().any(|s| l.starts_with(s))) {
        bail!("needs {other}, which a bare system may not have");
    }
    let short: Vec<&str> = libraries.iter().filter_map(|l| l.split(".so").next()).collect();
    Ok(format!("glibc {}.{}, {}", version.0, version.1, short.join(" ")))
}

/// The files that the package has: its Python sources, types, programs and native module.
fn expected() -> Result<BTreeSet<String>> {
    let sources = names(&root().join(PACKAGE).join("python"), "")?;
    let source = |name: &String| [".py", ".pyi", "/py.typed"].iter().any(|end| name.ends_with(end));
    let mut all: BTreeSet<String> = sources.into_iter().filter(source).collect();
    if !all.contains("prlx/py.typed") || !all.contains("prlx/_native.pyi") {
        bail!("the package has no types");
    }
    all.extend(PROGRAMS.iter().map(|p| format!("prlx/bin/{p}")));
    all.insert(NATIVE.into());
    Ok(all)
}

/// Whether a file is one of those that installers read.
fn is_metadata(file: &str) -> bool {
    let name = format!("prlx-{}", env!("CARGO_PKG_VERSION"));
    file.strip_prefix(&name).is_some_and(|rest| METADATA.contains(&rest))
}

/// The paths of all files below a folder, after `before`.
fn names(folder: &Path, before: &str) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            all.extend(names(&entry.path(), &format!("{name}/"))?);
        } else {
            all.insert(name);
        }
    }
    Ok(all)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
