//! The kernels of the tests, and files with what is expected.

use std::path::Path;

/// Counts steps of the Collatz sequence.
pub const GOOD: &str = include_str!("../kernels/good.toy");
/// The same, but one comparison on line 15 is `>=` instead of `>`.
pub const BAD: &str = include_str!("../kernels/bad.toy");

/// Compares a text with a file; `BLESS=1` writes the file.
pub fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} has changed (BLESS=1 writes it):\n{text}");
}
