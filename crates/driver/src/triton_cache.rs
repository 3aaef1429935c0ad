//! Finds the PTX of a Triton kernel in Triton's cache on disk.
//!
//! The PTX inside a cubin has no comments, and only comments in Triton's PTX say where a function of the
//! library was inlined. Triton keeps its PTX in `$TRITON_CACHE_DIR/*/KERNEL.ptx`, and Inductor sets that
//! variable.
//!
//! # Invariants
//! A file is taken only if it is the PTX of the cubin, statement by statement.
//!
//! # Limitations
//! At most 20,000 folders of a cache are looked at.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The number of folders of a cache that are looked at.
const MAX_FOLDERS: usize = 20_000;

/// What Triton keeps of `ptx`, the PTX inside a cubin with these kernels. `None` if the cache does not have
/// it.
pub fn find(kernels: &[String], ptx: &str) -> Option<String> {
    let [kernel] = kernels else { return None };
    find_in(&folder(&|name| std::env::var_os(name))?, kernel, ptx)
}

/// Triton's cache, as Triton 3.x finds it (`triton/knobs.py`).
pub fn folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Some(set("TRITON_HOME").or_else(|| set("HOME"))?.join(".triton/cache"));
    set("TRITON_CACHE_DIR").or_else(home)
}

fn find_in(cache: &Path, kernel: &str, ptx: &str) -> Option<String> {
    if kernel.contains('/') {
        return None;
    }
    let most = ptx.len().saturating_mul(16) as u64;
    let wanted: Vec<&str> = statements(ptx).collect();
    fs::read_dir(cache).ok()?.take(MAX_FOLDERS).flatten().find_map(|entry| {
        let mut text = String::new();
        let file = File::open(entry.path().join(format!("{kernel}.ptx"))).ok()?;
        file.take(most).read_to_string(&mut text).ok()?;
        statements(&text).eq(wanted.iter().copied()).then_some(text)
    })
}

/// The lines of PTX without comments, locations and the data of debug sections.
fn statements(ptx: &str) -> impl Iterator<Item = &str> {
    let code = |line| str::trim(str::split(line, "//").next().unwrap_or_default());
    let counts = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        !matches!(word, "" | ".loc" | ".file" | ".b8" | ".b16" | ".b32" | ".b64")
    };
    ptx.lines().map(code).filter(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = r#"//
        .file 1 "f.py"
        .entry k()
        {
            .loc 1 2 3 // f.py:2:3 @[ f.py:9:1 ]
            ret; // end
        }
        .section .debug_abbrev
        {
        .b8 1 // abbreviation
        }
        "#;
    const STORED: &str = r#"

.entry k()
{
            .loc 1 2 0
ret;
}
.section .debug_abbrev
{

}
.file 1 "f.py"
"#;

    #[test]
    fn the_file_with_the_same_statements_is_found() {
        let cache = std::env::temp_dir().join(format!("prlx-triton-cache-{}", std::process::id()));
        for (folder, text) in [("a", KEPT.replace("ret", "trap")), ("b", KEPT.to_owned())] {
            fs::create_dir_all(cache.join(folder)).unwrap();
            fs::write(cache.join(folder).join("k.ptx"), text).unwrap();
        }
        let found = ["k", "../b/k", "m"].map(|kernel| find_in(&cache, kernel, STORED));
        let other = find_in(&cache, "k", &STORED.replace("ret", "exit"));
        fs::remove_dir_all(&cache).unwrap();
        assert_eq!((found, other), ([Some(KEPT.to_owned()), None, None], None));
    }

    #[test]
    fn the_folder_is_where_triton_has_it() {
        let folder = |set: &[(&str, &str)]| {
            folder(&|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
        };
        assert_eq!(folder(&[("TRITON_CACHE_DIR", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(folder(&[("TRITON_CACHE_DIR", ""), ("HOME", "/h")]), Some("/h/.triton/cache".into()));
        assert_eq!(folder(&[("TRITON_HOME", "/t"), ("HOME", "/h")]), Some("/t/.triton/cache".into()));
        assert_eq!(folder(&[]), None);
    }
}
