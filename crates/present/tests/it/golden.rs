//! Expected texts in files.

use std::path::PathBuf;

/// Compares a text with `tests/cases/FOLDER/NAME`. With `BLESS=1` it writes the file instead.
#[track_caller]
pub fn check(folder: &str, name: &str, got: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(folder).join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(got, want, "{name} differs from the expected text; BLESS=1 writes it");
}
