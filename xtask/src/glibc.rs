//! What a binary needs of the system: its version of glibc, and its shared libraries.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::corpus::quiet;

/// A version of glibc: major, minor.
pub type Version = (u32, u32);

/// What a binary needs of the system.
#[derive(Debug, PartialEq, Eq)]
pub struct Needs {
    /// The newest version of glibc that a symbol names; `None` for a binary without such symbols.
    pub glibc: Option<Version>,
    /// The shared libraries that the binary names (`DT_NEEDED`).
    pub libraries: Vec<String>,
}

/// Returns what a binary needs, as `objdump` lists it.
///
/// # Errors
/// If the file is no ELF file, or `objdump` is missing.
pub fn needs(binary: &Path) -> Result<Needs> {
    Ok(parse(&quiet(Command::new("objdump").arg("--private-headers").arg(binary))?))
}

/// Reads the output of `objdump --private-headers`. A program may have names of versions as text, too: of
/// symbols that it looks up itself.
fn parse(text: &str) -> Needs {
    let mut needs = Needs { glibc: None, libraries: Vec::new() };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["NEEDED", library] => needs.libraries.push(library.to_owned()),
            // A reference to a version: its hash, flags, index and name.
            [_, _, _, name] => needs.glibc = needs.glibc.max(version(name)),
            _ => {}
        }
    }
    needs
}

/// Reads `GLIBC_2.34`, or `GLIBC_2.2.5`.
fn version(name: &str) -> Option<Version> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(|n| n.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::{Needs, parse};

    #[test]
    fn the_newest_glibc_and_the_libraries_count() {
        let text = "Dynamic Section:\n  NEEDED  libm.so.6\n  NEEDED  libc.so.6\n  INIT  0x0\n\
                    Version References:\n  required from libc.so.6:\n    0x09691a75 0x00 05 GLIBC_2.2.5\n\
                    0x069691b4 0x00 04 GLIBC_2.34\n0x09691a75 0x00 03 GLIBC_2.9\n0x0 0x00 02 GLIBC_PRIVATE";
        let libraries = vec!["libm.so.6".to_owned(), "libc.so.6".to_owned()];
        assert_eq!(parse(text), Needs { glibc: Some((2, 34)), libraries });
        assert_eq!(parse("static").glibc, None);
    }
}
