//! Temporary folders for the files that PRLX exchanges with compilers and assemblers.
//!
//! # Invariants
//! - The folder is new, and only this user can read or write it. Its name cannot be predicted, so nobody else
//!   can prepare a file or a link for PRLX to write to.
//! - The folder is removed when its value is dropped.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

/// Creates a private folder in the system's folder for temporary files.
///
/// # Errors
/// If that folder cannot be written to.
pub(crate) fn temporary_folder() -> io::Result<TempDir> {
    let private = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("prlx-").permissions(private).tempdir()
}

/// Links that an attacker could prepare.
#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::temporary_folder;

    /// Runs `work` while links to one file lie under every name that a process ID and a counter could give
    /// in the temporary folder. Asserts that the file is unchanged.
    pub(crate) fn among_prepared_links<T>(work: impl FnOnce() -> T) -> T {
        let folder = temporary_folder().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        let pid = std::process::id();
        let name = |n: u32, end: &str| std::env::temp_dir().join(format!("prlx-{pid}-{n}{end}"));
        let names: Vec<PathBuf> =
            (0..64).flat_map(|n| ["", ".ptx", ".cubin"].map(|end| name(n, end))).collect();
        for name in &names {
            // Another test of this process may have made the same link.
            let _ = symlink(&victim, name);
        }
        let result = work();
        let content = fs::read_to_string(&victim);
        names.iter().for_each(|name| {
            let _ = fs::remove_file(name);
        });
        assert_eq!(content.unwrap(), "untouched");
        result
    }

    #[test]
    fn the_folder_is_private_and_goes() {
        let folder = temporary_folder().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_ne!(temporary_folder().unwrap().path(), path);
        drop(folder);
        assert!(!path.exists());
    }
}
