//! Commands of PRLX 0.5 that have other names now. They are rewritten before the command line is parsed.
//!
//! # Invariants
//! - A command line of this version is left alone.
//! - What cannot be rewritten is refused, with the command to use.
//!
//! # Limitations
//! - Options before the command's name are not looked at.
//! - `prlx pytorch watch`, `diff-steps` and `report` need Python: the Python package handles them.

use std::ffi::OsString;

/// Why a command of PRLX 0.5 is refused: the message, and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused(pub &'static str, pub &'static str);

/// The words of today's command line for one of PRLX 0.5, without the program's name; `None` if it is none.
///
/// # Errors
/// If the command is gone.
pub fn today(words: &[OsString]) -> Result<Option<Vec<OsString>>, Refused> {
    let text: Vec<&str> = words.iter().map(|w| w.to_str().unwrap_or_default()).collect();
    let rest = |n: usize| words[n..].to_vec();
    let help = |n: usize| text.get(n).is_some_and(|w| HELP.contains(w));
    Ok(Some(match text[..] {
        ["flamegraph", ..] if help(1) => with(&["diff", "--help"], Vec::new()),
        ["session" | "triton" | "pytorch", ..] if help(1) => with(&["record", "--help"], Vec::new()),
        ["session", "capture", ..] | ["pytorch", "run", ..] if help(2) => {
            with(&["record", "--help"], Vec::new())
        }
        ["flamegraph", ..] => flamegraph(rest(1)),
        ["session", "capture", ..] => record(rest(2), None),
        ["session", "inspect", ..] => with(&["inspect"], rest(2)),
        ["session", "diff", ..] => with(&["diff"], rest(2)),
        ["session", ..] => return Err(Refused("`prlx session` needs a command", SESSION)),
        ["check", ..] => with(&["inspect"], rest(1)),
        ["triton" | "pytorch", "--info" | "--check-env", ..] => with(&["doctor"], Vec::new()),
        ["triton", _, ..] => record(rest(1), Some("python3")),
        ["pytorch", "run", ..] => record(rest(2), Some("python3")),
        ["pytorch", "watch" | "diff-steps" | "report", ..] => {
            return Err(Refused("this command needs the Python package of PRLX", "pip install prlx"));
        }
        ["compile", ..] | ["pytorch", "compile", ..] => {
            return Err(Refused("PRLX has no `compile`: programs need no rebuild", COMPILE));
        }
        ["triton" | "pytorch", ..] => {
            return Err(Refused("a script is missing", "prlx record -- python3 SCRIPT"));
        }
        ["assert", ..] if text.iter().any(|w| ASSERT.contains(&w.split('=').next().unwrap_or_default())) => {
            assert(rest(1))
        }
        _ => return Ok(None),
    }))
}

const HELP: [&str; 2] = ["-h", "--help"];
const SESSION: &str = "prlx record -o DIR -- ./app; prlx inspect DIR; prlx diff A B";
const COMPILE: &str = "compile as always, and: prlx record -- ./app. To rewrite PTX: prlx instrument";
/// Options of `prlx assert` that only PRLX 0.5 had.
const ASSERT: [&str; 5] = ["--golden", "--max-divergences", "--ignore-active-mask", "--session", "--map"];

fn with(command: &[&str], rest: Vec<OsString>) -> Vec<OsString> {
    command.iter().map(OsString::from).chain(rest).collect()
}

/// `prlx flamegraph A B [-o FILE] [options of diff]`.
fn flamegraph(mut rest: Vec<OsString>) -> Vec<OsString> {
    let file = take(&mut rest, &["-o", "--output"]).unwrap_or_else(|| "prlx-flamegraph.json".into());
    let mut words = with(&["diff"], rest);
    words.extend(["--export-flamegraph".into(), file]);
    words
}

/// `… [-o DIR] [--nvbit] [--] PROGRAM…`: the program is recorded, run by `runner` if it is a script.
fn record(mut rest: Vec<OsString>, runner: Option<&str>) -> Vec<OsString> {
    // Options end at the program.
    let mut head = Vec::new();
    while let Some(first) = rest.first().and_then(|w| w.to_str()) {
        match first {
            "-o" | "--output" if rest.len() > 1 => head.extend(["-o".into(), rest[1].clone()]),
            "--nvbit" | "--" => {}
            _ => break,
        }
        rest.drain(..if matches!(first, "-o" | "--output") { 2.min(rest.len()) } else { 1 });
    }
    let mut words = with(&["record"], head);
    words.push("--".into());
    words.extend(runner.map(OsString::from));
    words.extend(rest);
    words
}

/// `prlx assert [A] [B] [--golden A] [--max-divergences N] …`: the gate of PRLX 0.5 counted divergences.
fn assert(mut rest: Vec<OsString>) -> Vec<OsString> {
    let golden = take(&mut rest, &["--golden"]);
    let most = take(&mut rest, &["--max-divergences"]).unwrap_or_else(|| "0".into());
    let mut words = vec!["diff".into()];
    words.extend(golden);
    words.extend(rest);
    words.extend(["--max-allowed-divergences".into(), most]);
    words
}

/// Takes an option and its value out of the words: `--name VALUE` or `--name=VALUE`.
fn take(words: &mut Vec<OsString>, names: &[&str]) -> Option<OsString> {
    for at in 0..words.len() {
        let word = words[at].to_str().unwrap_or_default();
        if names.contains(&word) && at + 1 < words.len() {
            words.remove(at);
            return Some(words.remove(at));
        }
        if let Some((_, value)) = word.split_once('=').filter(|(name, _)| names.contains(name)) {
            let value = value.into();
            words.remove(at);
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let now =
            today(&words).unwrap_or_else(|Refused(what, help)| Some(vec![format!("{what}: {help}").into()]));
        now.map(|w| w.join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn old_commands_become_todays() {
        let cases = [
            ("flamegraph a b --map m", "diff a b --map m --export-flamegraph prlx-flamegraph.json"),
            ("flamegraph a b -o f.json", "diff a b --export-flamegraph f.json"),
            ("flamegraph --help", "diff --help"),
            ("triton -h", "record --help"),
            ("pytorch --help", "record --help"),
            ("pytorch run --help", "record --help"),
            ("session capture --help", "record --help"),
            ("triton train.py --help", "record -- python3 train.py --help"),
            ("session capture -o d -- ./app -o x", "record -o d -- ./app -o x"),
            ("session capture ./app", "record -- ./app"),
            ("session inspect d", "inspect d"),
            ("session diff a b --values", "diff a b --values"),
            ("check ./app", "inspect ./app"),
            ("triton --check-env", "doctor"),
            ("triton train.py --steps 3", "record -- python3 train.py --steps 3"),
            ("pytorch run --nvbit -o d train.py -o x", "record -o d -- python3 train.py -o x"),
            ("assert --golden g t", "diff g t --max-allowed-divergences 0"),
            (
                "assert g t --max-divergences=3 --json --ignore-active-mask",
                "diff g t --json --ignore-active-mask --max-allowed-divergences 3",
            ),
        ];
        for (old, new) in cases {
            assert_eq!(rewritten(old).as_deref(), Some(new), "{old}");
        }
        for line in ["assert g t --max-findings 3", "diff a b", "run k.toml", "--version", ""] {
            assert_eq!(rewritten(line), None);
        }
        for line in ["compile a.cu", "pytorch compile a.cu", "session", "triton", "pytorch report d"] {
            assert!(rewritten(line).is_some_and(|refused| refused.contains(": ")), "{line}");
        }
    }
}
