//! Parts of the program that are compiled on request.

use std::path::PathBuf;

/// The error of a command or an option that this build does not have.
pub fn missing(what: &str, feature: &str) -> anyhow::Error {
    let error = prlx_driver::Error::new(
        prlx_driver::ErrorKind::File,
        format!("this build of prlx does not have {what}"),
    );
    error.help(build_with(feature)).into()
}

fn build_with(feature: &str) -> String {
    format!("build it with: cargo build --release -p prlx-cli --features {feature}")
}

/// Parses the path of a Parquet file or of a folder for them.
pub fn parquet_path(text: &str) -> Result<PathBuf, String> {
    if cfg!(feature = "parquet") {
        Ok(PathBuf::from(text))
    } else {
        Err(format!("this build of prlx writes no Parquet files; {}", build_with("parquet")))
    }
}

/// Fails if a command needs the terminal viewer and this build has none.
pub fn require_viewer(wanted: bool) -> anyhow::Result<()> {
    if wanted && !cfg!(feature = "tui") { Err(missing("the terminal viewer (--tui)", "tui")) } else { Ok(()) }
}
