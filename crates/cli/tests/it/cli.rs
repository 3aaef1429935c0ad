//! The command line as files: `tests/cases/cli/*.trycmd` hold commands and what they print.
//!
//! `TRYCMD=overwrite cargo test -p prlx-cli --test it cli::` rewrites them; read the diff. Commands run in a copy of
//! `examples`, so cases may write files.

#[test]
fn cases() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    trycmd::TestCases::new()
        .default_bin_path(env!("CARGO_BIN_EXE_prlx"))
        .register_bin("prlx-diff", trycmd::schema::Bin::Path(env!("CARGO_BIN_EXE_prlx-diff").into()))
        .env("NO_COLOR", "1")
        .case(format!("{root}/tests/cases/cli/*.trycmd"));
}
