//! The command line as files: `tests/cases/cli/*.trycmd` hold commands and what they print.
//!
//! `BLESS=1 cargo test -p prlx-cli --features full --test it cli::` rewrites them. Commands run in a copy of
//! the case's directory, so cases may write files.

use std::process::Command;

#[test]
fn cases() {
    if std::env::var_os("BLESS").is_some() && std::env::var_os("TRYCMD").is_none() {
        // trycmd has a variable of its own: this test runs again with it.
        let exe = std::env::current_exe().unwrap();
        let status = Command::new(exe).args(["cli::cases", "--exact"]).env("TRYCMD", "overwrite").status();
        assert!(status.unwrap().success());
        return;
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    trycmd::TestCases::new()
        .default_bin_path(env!("CARGO_BIN_EXE_prlx"))
        .register_bin("prlx-diff", trycmd::schema::Bin::Path(env!("CARGO_BIN_EXE_prlx-diff").into()))
        .env("NO_COLOR", "1")
        .case(format!("{root}/tests/cases/cli/*.trycmd"));
}
