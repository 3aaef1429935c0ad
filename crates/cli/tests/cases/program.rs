//! Programs under `prlx record` and `prlx compare`: streams, signals, exit codes, directories, error
//! messages.
//!
//! The program is this test itself, started as `cases app …`. It does what the recorder inside a real program
//! does, with the same library.
//!
//! # Limitations
//! - Nothing is recorded here: `crates/preload` has its own tests.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Failed, Trial};
use prlx_driver::session::{
    LaunchFilterState, Options, Session, VARIABLE, create_process_file, this_process,
};
use prlx_trace::kernel::{Function, Module};
use prlx_trace::launch::ArgInfo;
use prlx_trace::{FuncId, Launch, Nanos, Streams, WarpSize, Writer};

type Test = fn() -> Result<(), Failed>;

/// One trial for each test of this file.
pub fn trials() -> Vec<Trial> {
    let tests: &[(&str, Test)] = &[
        ("a_recording_is_a_folder", a_recording_is_a_folder),
        ("streams_and_exit_codes_are_the_programs", streams_and_exit_codes_are_the_programs),
        ("signals_reach_the_program", signals_reach_the_program),
        ("a_killed_program_leaves_what_was_whole", a_killed_program_leaves_what_was_whole),
        ("options_reach_the_recorder", options_reach_the_recorder),
        ("programs_are_compared", programs_are_compared),
        ("programs_are_looked_at_closer", programs_are_looked_at_closer),
        ("runs_are_put_together", runs_are_put_together),
        ("what_is_wrong_is_said", what_is_wrong_is_said),
        ("nothing_is_recorded", nothing_is_recorded),
    ];
    tests.iter().map(|(name, test)| Trial::test(format!("program/{name}"), test)).collect()
}

/// The program: `launch NAME:CONTENT …`, `kill`, `exit N`, `echo`, `wait`, in turn.
pub fn app(words: &[String]) -> ExitCode {
    let options = Options::from_variable(&std::env::var(VARIABLE).unwrap(), &prlx_probe::program).unwrap();
    let process = this_process();
    let mut words = words.iter().map(String::as_str);
    let mut file = None;
    let mut choice = LaunchFilterState::default();
    let mut number = 0;
    let mut modules = HashMap::new();
    while let Some(word) = words.next() {
        match word {
            "exit" => {
                if let Some(to) = file {
                    Writer::finish(to).unwrap();
                }
                return ExitCode::from(words.next().unwrap().parse::<u8>().unwrap());
            }
            // As if by the kernel: nothing is cleaned up.
            "kill" => std::process::abort(),
            "echo" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).unwrap();
                println!("{text}{}", std::env::var("LD_PRELOAD").unwrap());
                eprintln!("to the error stream");
            }
            "wait" => {
                println!("ready");
                std::thread::sleep(std::time::Duration::from_secs(60));
            }
            launch => {
                let (name, content) = launch.split_once(':').unwrap();
                let to = file.get_or_insert_with(|| {
                    let (file, _) = create_process_file(&options.folder, &process).unwrap();
                    Writer::new(file, "test", Some(&process)).unwrap()
                });
                let skipped = choice.skip_reason(&options, options.wants(name), number, Nanos(0));
                let module = *modules.entry(name.to_owned()).or_insert_with(|| {
                    let kernel = Function { name: name.into(), kernel: true, ..Function::default() };
                    to.module(&Module { name: name.into(), functions: vec![kernel], ..Module::default() })
                        .unwrap()
                });
                let after = options.digest.map(|_| content.parse().unwrap());
                let before = options.digest.map(|most| most >> 20);
                let arg = ArgInfo { name: "x".into(), bytes: Some(8), before, after, ..ArgInfo::default() };
                let launch = Launch {
                    module,
                    kernel: FuncId(0),
                    number,
                    warp_size: WarpSize::W32,
                    args: vec![arg],
                    skipped: Some(skipped.unwrap_or("only a test").into()),
                    ..Launch::default()
                };
                to.launch(&launch, &Streams::default()).unwrap();
                number += 1;
            }
        }
    }
    if let Some(to) = file {
        to.finish().unwrap();
    }
    ExitCode::SUCCESS
}

/// A shared library that does nothing when it is loaded; cargo builds it beside this test.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libprlx_mockcuda.so")
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("program").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// `prlx` in a folder.
fn prlx(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    command.args(words).current_dir(folder).env("NO_COLOR", "1").env("PRLX_PRELOAD", library());
    command.env("PRLX_LIBCUDA", "/nowhere/libcuda.so").env_remove("LD_PRELOAD");
    command
}

/// `prlx record WORDS -- this test as a program`.
fn record(folder: &Path, words: &[&str], app: &str) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut command = prlx(folder, &["record"]);
    command.args(words).arg("--").arg(exe).arg("app").args(app.split_whitespace());
    command
}

fn said(out: &Output) -> (Option<i32>, String, String) {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

fn a_recording_is_a_folder() -> Result<(), Failed> {
    let here = folder("folder");
    let (code, out, err) = said(&record(&here, &["-o", "a.prlx"], "k:1 j:2 k:3").output()?);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    let (note, err) = err.split_once('\n').ok_or("there is no note on the environment")?;
    assert!(note.starts_with("XLA_FLAGS, ") && note.contains("(--no-env leaves them alone)"), "{note}");
    assert_eq!(
        err,
        "a.prlx: 1 process, 3 launches, 0 recorded\n  \
         kernel  launches  recorded  elements  dropped  not recorded\n  \
         j       1         0         0                  1: only a test\n  \
         k       2         0         0                  2: only a test\n"
    );
    let session = Session::open(&here.join("a.prlx"))?;
    let index = session.index.clone().ok_or("there is no index")?;
    assert_eq!((index.code, index.signal, index.processes.len()), (Some(0), None, 1));
    assert_eq!((index.processes[0].launches, &index.processes[0].incomplete), (3, &None));
    assert_eq!(Path::new(&index.command[0]), std::env::current_exe()?);
    assert_eq!(index.command[1], "app");
    let (code, out, _) = said(&prlx(&here, &["inspect", "a.prlx"]).output()?);
    assert_eq!((code, out.lines().count()), (Some(0), 6), "{out}");
    assert!(out.contains("  2       k       (1,1,1)  (1,1,1)  0       not recorded: only a test"), "{out}");
    // Without -o it is the program's name; a recording is never written over.
    let (code, _, err) = said(&record(&here, &[], "k:1").output()?);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(fs::read_dir(&here)?.count(), 2);
    let (code, _, err) = said(&record(&here, &["-o", "a.prlx"], "k:1").output()?);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("a.prlx is not empty")
            && err.contains("help: to overwrite an earlier recording, add --force"),
        "{err}"
    );
    Ok(())
}

fn streams_and_exit_codes_are_the_programs() -> Result<(), Failed> {
    let here = folder("streams");
    let mut command = record(&here, &["-o", "a"], "k:1 echo exit 7");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LD_PRELOAD", library());
    let mut child = command.spawn()?;
    child.stdin.take().ok_or("no pipe")?.write_all(b"in and ")?;
    let (code, out, err) = said(&child.wait_with_output()?);
    let library = library().canonicalize()?.display().to_string();
    assert_eq!((code, out.trim()), (Some(7), format!("in and {library}:{library}").as_str()));
    assert!(err.contains("\nto the error stream\n"), "{err}");
    assert_eq!(Session::open(&here.join("a"))?.index.and_then(|i| i.code), Some(7));
    Ok(())
}

fn signals_reach_the_program() -> Result<(), Failed> {
    let here = folder("signals");
    let mut command = record(&here, &["-o", "a"], "k:1 wait");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut ready = [0; 6];
    child.stdout.take().ok_or("no pipe")?.read_exact(&mut ready)?;
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?.success());
    assert_eq!(child.wait()?.code(), Some(128 + 15));
    let index = Session::open(&here.join("a"))?.index.ok_or("there is no index")?;
    assert_eq!((index.code, index.signal), (None, Some(15)));
    // Who stops a comparison does not want the other side.
    let exe = std::env::current_exe()?.display().to_string();
    let (a, b) = (format!("'{exe}' app k:1 wait"), format!("'{exe}' app k:1"));
    let mut command = prlx(&here, &["compare", "--a", &a, "--b", &b, "--keep", "kept"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut err = child.stderr.take().ok_or("no pipe")?;
    err.read_exact(&mut ready)?;
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status()?.success());
    let mut rest = String::new();
    err.read_to_string(&mut rest)?;
    assert_eq!(child.wait()?.code(), Some(2), "{rest}");
    assert!(
        rest.contains("stopped by a signal, while A ran") && !here.join("kept/b.prlx").exists(),
        "{rest}"
    );
    Ok(())
}

fn a_killed_program_leaves_what_was_whole() -> Result<(), Failed> {
    let here = folder("killed");
    let (code, _, err) = said(&record(&here, &["-o", "a"], "k:1 k:2 kill").output()?);
    assert_eq!(code, Some(128 + 6), "{err}");
    assert!(err.contains("incomplete, later launches are missing") && err.contains("2 launches"), "{err}");
    let session = Session::open(&here.join("a"))?;
    let trace = session.read(&session.files[0])?;
    assert_eq!((trace.launches.len(), trace.cut.is_some()), (2, true));
    let (code, out, _) = said(&prlx(&here, &["diff", "a", "a"]).output()?);
    assert_eq!(code, Some(3));
    assert!(out.contains("was cut off"), "{out}");
    Ok(())
}

fn options_reach_the_recorder() -> Result<(), Failed> {
    let here = folder("options");
    let words = [
        "-o", "a", "--kernel", "k*", "--kernel", "/^j$/", "--skip", "1", "--count", "2", "--launch", "0-5",
        "-q",
    ];
    let (code, _, err) = said(&record(&here, &words, "k:1 k2:2 x:3 j:4 k:5 k:6 k:7").output()?);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let session = Session::open(&here.join("a"))?;
    let why: Vec<String> = session
        .read(&session.files[0])?
        .launches
        .iter()
        .map(|r| r.launch.skipped.clone().unwrap_or_default())
        .collect();
    let option = |text: &String| text.split(['(', ')']).nth(1).unwrap_or("recorded").to_owned();
    assert_eq!(
        why.iter().map(option).collect::<Vec<_>>(),
        ["--skip", "recorded", "--kernel", "recorded", "--count", "--count", "--launch"]
    );
    Ok(())
}

/// A real program, of `tests/programs`, on the mock: from its fourth launch on something else is in memory,
/// and the next one decides by it.
fn programs_are_looked_at_closer() -> Result<(), Failed> {
    let here = folder("closer");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::os::unix::fs::symlink(library(), here.join("libcuda.so.1"))?;
    let mut cc = Command::new("cc");
    cc.arg("-w").arg("-o").arg(here.join("chain")).arg(format!("{root}/tests/programs/chain.c"));
    let Ok(built) = cc.arg("-L").arg(&here).arg("-l:libcuda.so.1").output() else {
        crate::tools::skip("no cc");
        return Ok(());
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let compare = |words: &[&str]| -> Result<_, Failed> {
        let mut command =
            prlx(&here, &["compare", "--a", "./chain -1 one new", "--b", "./chain 3 one new", "--json"]);
        // By default, only the launch before is recorded, which leaves other memory.
        command.args(["--level", "path"]);
        command
            .env("LD_LIBRARY_PATH", &here)
            .env("PRLX_ASSEMBLER", "driver")
            .env("PRLX_CACHE_DIR", "")
            .env_remove("PRLX_LIBCUDA");
        let preload = library().with_file_name("libprlx_preload.so");
        let (code, out, err) = said(&command.env("PRLX_PRELOAD", preload).args(words).output()?);
        assert_eq!(code, Some(1), "{err}");
        let report: serde_json::Value = serde_json::from_str(&out)?;
        let found = report["launches"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|l| l["findings"] != serde_json::json!([]));
        Ok((found.cloned().ok_or("there is no finding")?, err))
    };
    let (launch, err) = compare(&[])?;
    assert!(err.contains("running both programs again to record the operands of launches 4 and 4"), "{err}");
    let operands = &launch["findings"][0]["operands"];
    let lanes = operands["rows"].as_array().ok_or("no operands")?;
    let lane = launch["findings"][0]["lane"].as_u64();
    let shown = lanes.iter().find(|row| row["lane"].as_u64() == lane).ok_or("not of the lane shown")?;
    // By parity: the numbers are one apart.
    let bits = shown["cells"][0]["bits"].as_array().ok_or("no cell")?;
    assert!(shown["differs"] == true && bits[0] != bits[1], "{operands}");
    let (launch, err) = compare(&["--no-zoom"])?;
    assert!(
        launch["findings"][0]["operands"].is_null() && !err.contains("again to record the operands"),
        "{err}"
    );
    Ok(())
}

fn programs_are_compared() -> Result<(), Failed> {
    let here = folder("compare");
    let exe = std::env::current_exe()?.display().to_string();
    let compare = |a: &str, b: &str, words: &[&str]| -> Result<_, Failed> {
        let (a, b) = (format!("'{exe}' app {a}"), format!("'{exe}' app {b}"));
        Ok(said(&prlx(&here, &["compare", "--a", &a, "--b", &b]).args(words).output()?))
    };
    let (code, out, err) = compare("k:1 j:2 k:3", "k:1 j:2 k:3", &["--strict"])?;
    assert_eq!(code, Some(3), "{err}");
    assert!(out.contains("3 pairs of launches were not recorded"), "{out}");
    let (code, out, err) = compare("k:1 j:2 k:3", "k:1 j:2 k:3", &[])?;
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("3 launches of them: decisions were not recorded, and all memory"), "{out}");
    let (code, out, _) = compare("k:1 j:2 k:3", "k:1 j:9 k:3 x:1", &["--digest"])?;
    assert_eq!(code, Some(1));
    assert!(out.contains("  culprit launch 1, j: same inputs, different outputs (x)"), "{out}");
    assert!(out.contains("  launch 3 of B, x, has no match in A"), "{out}");
    // What the program prints is not in the way; a filter holds for both the recording and the report.
    let words = ["--json", "--kernel", "j", "--keep", "kept", "--strict"];
    let (code, out, err) = compare("k:1 j:2 echo", "j:2 exit 4", &words)?;
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("to the error stream") && err.contains("B ended with exit code 4"), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out)?;
    assert_eq!((&report["pairs"], &report["unpaired"]), (&serde_json::json!(1), &serde_json::json!([])));
    let (code, out, _) =
        said(&prlx(&here, &["diff", "kept/a.prlx", "kept/b.prlx", "--launch", "0"]).output()?);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("launch 0 of A, k, has no match in B"), "{out}");
    Ok(())
}

fn runs_are_put_together() -> Result<(), Failed> {
    let here = folder("repeat");
    let exe = std::env::current_exe()?.display().to_string();
    // Every third run leaves something else, the seventh ends otherwise.
    let script = format!(
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; case $n in 6) exec '{exe}' app k:1 j:2 exit 4;; \
         0|3) exec '{exe}' app k:1 j:9;; *) exec '{exe}' app k:1 j:2;; esac"
    );
    let repeat = |n: &str, words: &[&str]| -> Result<_, Failed> {
        let _ = fs::remove_file(here.join("n"));
        let mut command = prlx(&here, &["repeat", "-n", n]);
        Ok(said(&command.args(words).args(["--", "sh", "-c", &script]).output()?))
    };
    let (code, out, err) = repeat("9", &["--json", "--digest"])?;
    assert_eq!(code, Some(1), "{err}");
    let found: serde_json::Value = serde_json::from_str(&out)?;
    let outcomes: Vec<_> = found["outcomes"].as_array().ok_or("no list")?.iter().collect();
    let firsts: Vec<_> = outcomes.iter().map(|o| o["first"].to_string()).collect();
    assert_eq!(firsts, ["[1,2,4,5,7,8]", "[0,3]", "[6]"]);
    assert_eq!(outcomes[1]["report"]["verdict"], "differs");
    assert_eq!(outcomes[1]["report"]["launches"][1]["culprit"], true);
    // The same was recorded, as far as anything was, but it ended otherwise.
    assert_eq!(
        (&outcomes[2]["ended"], &outcomes[2]["digest"]),
        (&"ended with exit code 4".into(), &outcomes[0]["digest"])
    );
    assert_eq!((&outcomes[0]["launches"], &found["runs"]), (&2.into(), &9.into()));
    // Of each outcome one recording was kept while it ran, and nothing after.
    assert_eq!(fs::read_dir(&here)?.count(), 1);
    let (code, out, _) = repeat("5", &["--keep", "kept", "--level", "path"])?;
    assert_eq!(fs::read_dir(here.join("kept"))?.count(), 5);
    // What was not recorded is never the same; here, nothing was.
    assert_eq!(code, Some(3), "{out}");
    assert!(
        out.starts_with("unknown  the same outcome in all 5 runs, but not everything was compared"),
        "{out}"
    );
    // By default, memory behind launches that were not recorded is digested.
    let (code, out, _) = repeat("5", &[])?;
    assert_eq!(code, Some(1), "{out}");
    assert!(out.starts_with("differs  2 outcomes in 5 runs") && out.contains("culprit launch 1, j"), "{out}");
    let (code, _, err) = repeat("5", &["--keep", "kept"])?;
    assert_eq!(code, Some(2));
    assert!(err.contains("is not empty"), "{err}");
    Ok(())
}

fn what_is_wrong_is_said() -> Result<(), Failed> {
    let here = folder("wrong");
    fs::write(here.join("script"), "echo no\n")?;
    fs::write(here.join("odd"), "echo no\n")?;
    fs::set_permissions(here.join("odd"), fs::Permissions::from_mode(0o755))?;
    fs::write(here.join("file"), "x")?;
    let cases: &[(&[&str], &str)] = &[
        (&["record", "-o", "a", "--", "./nothing"], "the program ./nothing does not exist"),
        (&["record", "-o", "a", "--", "no-such-program-anywhere"], "on PATH"),
        (&["record", "-o", "a", "--", "./script"], "chmod +x"),
        (&["record", "-o", "a", "--", "./odd"], "name its interpreter first"),
        (
            &["record", "-o", "file", "--", "./odd"],
            "file is a file; the recording of a program is a directory",
        ),
        (&["record", "-o", "file/a", "--", "./odd"], "file/a"),
        (&["record", "-o", "/proc/a", "--", "./odd"], "cannot create the directory /proc/a"),
        (&["record", "-o", "a", "--line", "a.cu:3", "--", "./odd"], "--line is for launch files"),
        (&["record", "-o", "a", "--kernel", "/(/", "--", "./odd"], "--kernel `/(/`"),
        (&["record", "-o", "a", "--level", "operands", "--", "./odd"], "around a finding"),
        (&["record", "a.toml", "-o", "a", "--skip", "1"], "--skip is for programs"),
        (&["record", "-o", "a"], "required"),
        (&["compare", "--a", "./odd"], "--b"),
        (&["compare", "--a", "'", "--b", "x"], "a quote is open"),
        (&["compare", "x.toml", "--a", "x", "--b", "x"], "cannot be used with"),
        (&["diff", "file", "file"], "file is not a recording"),
        (&["diff", ".", "."], ". is a folder without a recording in it"),
    ];
    for (words, what) in cases {
        let (code, out, err) = said(&prlx(&here, words).output()?);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{words:?}: {err}");
        assert!(err.contains(what), "{words:?}: {err}");
        assert!(!here.join("a").exists(), "{words:?} leaves a folder");
    }
    let (code, _, err) =
        said(&record(&here, &["-o", "b"], "k:1").env("PRLX_PRELOAD", "/nowhere/lib.so").output()?);
    assert_eq!(code, Some(2));
    assert!(err.contains("PRLX_PRELOAD names /nowhere/lib.so"), "{err}");
    let spaced = here.join("a b.so");
    fs::copy(library(), &spaced)?;
    let (code, _, err) = said(&record(&here, &["-o", "b"], "k:1").env("PRLX_PRELOAD", &spaced).output()?);
    assert_eq!(code, Some(2));
    assert!(err.contains("has a space or a colon"), "{err}");
    Ok(())
}

fn nothing_is_recorded() -> Result<(), Failed> {
    let here = folder("nothing");
    let (code, _, err) = said(&record(&here, &["-o", "a"], "exit 5").output()?);
    assert_eq!(code, Some(5));
    assert!(err.contains("nothing was recorded: no usable CUDA driver"), "{err}");
    let (code, out, _) = said(&prlx(&here, &["diff", "a", "a"]).output()?);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("neither side recorded a launch"), "{out}");
    Ok(())
}
