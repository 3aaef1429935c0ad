//! The version of the program: its number, the commit it is built from, and the recording formats that it
//! reads.

use std::sync::LazyLock;

use prlx_trace::FORMAT_VERSION;

/// The number alone, for `-V`.
pub const SHORT: &str = env!("CARGO_PKG_VERSION");

/// Number, commit and formats, for `--version`.
pub static LONG: LazyLock<String> = LazyLock::new(|| {
    // `cargo xtask dist` sets the commit; other builds do not depend on git.
    let commit = option_env!("PRLX_COMMIT").map_or_else(String::new, |commit| format!("commit: {commit}\n"));
    format!(
        "{SHORT}\n{commit}recordings: writes format {FORMAT_VERSION}, reads 1 to {FORMAT_VERSION} and files of PRLX 0.x"
    )
});
