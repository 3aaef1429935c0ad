//! Programs of `tests/programs` under `prlx`, on the stand-in for the driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A library that cargo builds beside this test.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

/// A folder of a test's own, with the stand-in in it, under the driver's name.
pub fn folder(group: &str, name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(group).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    std::os::unix::fs::symlink(beside("libprlx_mockcuda.so"), path.join("libcuda.so.1")).unwrap();
    path
}

/// Builds a program of `tests/programs`; `None` where there is no compiler.
pub fn program(folder: &Path, name: &str) -> Option<String> {
    program_with(folder, name, &[])
}

/// As [`program`], with more options for the compiler.
pub fn program_with(folder: &Path, name: &str, options: &[&str]) -> Option<String> {
    let out = folder.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-w", "-DFIND=2", "-o"])
        .arg(&out)
        .arg(format!("{ROOT}/tests/programs/{name}.c"))
        .arg("-ldl")
        .args(options);
    let built = cc.output().map_err(|_| crate::tools::skip("no cc")).ok()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(out.display().to_string())
}

/// What `prlx` answers: exit code, standard output, standard error.
pub fn prlx(folder: &Path, words: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String, String) {
    answer(command(folder, words, env).output().unwrap())
}

/// The report of `prlx -q compare --json` for these words.
pub fn comparison(folder: &Path, words: &[&str]) -> Value {
    let (_, out, err) = prlx(folder, &[&["-q", "compare", "--json"], words].concat(), &[]);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"))
}

/// The same of one that was started by itself.
pub fn answer(out: Output) -> (Option<i32>, String, String) {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

/// `prlx`, in a folder.
pub fn command(folder: &Path, words: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    command
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("PRLX_PRELOAD", beside("libprlx_preload.so"));
    command.env("LD_LIBRARY_PATH", folder).env("PRLX_ASSEMBLER", "driver").env("PRLX_CACHE_DIR", "");
    command.env("TMPDIR", folder).env_remove("LD_PRELOAD").envs(env.iter().copied());
    command
}
