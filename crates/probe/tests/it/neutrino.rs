//! Neutrino's probes: `tests/cases/neutrino/NAME.toml` with the program and the warnings that it gives in
//! `NAME.out`; in `wrong.txt` files with lines `---- what` between them, in `wrong.out` what is said of each.
//! `BLESS=1` writes those. The first five are Neutrino's own tools, written anew from their description.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prlx_isa::ptx;
use prlx_plan::{Action, Plan, RecordingRequest};
use prlx_probe::neutrino::read;

const RIGHT: &[&str] = &["block-sched", "gmem-bytes", "tensorop", "progress", "dmat", "helpers"];

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/neutrino")
}

fn shown(text: &str) -> String {
    let (program, complaints) = match read(text) {
        Ok((script, warnings)) => (script.to_string(), warnings),
        Err(complaints) => (String::new(), complaints),
    };
    complaints.iter().map(|c| c.render(text, "x.toml")).collect::<String>() + &program
}

/// Holds what is said against a file.
fn held(name: &str, out: &str) {
    let path = cases().join(format!("{name}.out"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, out).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), out, "{name}: look at it with BLESS=1");
}

#[test]
fn right_files_give_programs() {
    for name in RIGHT {
        let text = fs::read_to_string(cases().join(format!("{name}.toml"))).unwrap();
        assert!(read(&text).is_ok(), "{}", shown(&text));
        held(name, &shown(&text));
    }
}

#[test]
fn the_page_shows_a_right_file() {
    let page = fs::read_to_string(cases().join("../../../docs/probe-tools.md")).unwrap();
    let files: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|p| p.split("```").next()).collect();
    assert!(!files.is_empty());
    for text in files {
        let (_, warnings) = read(text).unwrap_or_else(|_| panic!("{}", shown(text)));
        assert!(warnings.is_empty(), "{}", shown(text));
    }
}

#[test]
fn wrong_files_give_errors() {
    let text = fs::read_to_string(cases().join("wrong.txt")).unwrap();
    let mut out = String::new();
    for case in text.split("---- ").skip(1) {
        let (title, text) = case.split_once('\n').unwrap();
        assert!(read(text).is_err(), "{title}");
        write!(out, "---- {title}\n{}", shown(text)).unwrap();
    }
    held("wrong", &out);
}

/// The translated programs bind to kernels with global and asynchronous accesses and tensor instructions.
#[test]
fn programs_bind() {
    let kernels = cases().join("../../kernels");
    let sources: Vec<String> = ["triton/matmul_f16", "cuda/gemm_cp_async", "triton/attention"]
        .iter()
        .flat_map(|k| fs::read_dir(kernels.join(k)).unwrap().map(|e| e.unwrap().path()))
        .filter(|p| p.extension().is_some_and(|e| e == "ptx"))
        .map(|p| fs::read_to_string(p).unwrap())
        .collect();
    assert!(sources.len() > 2);
    for name in RIGHT {
        let (script, _) = read(&fs::read_to_string(cases().join(format!("{name}.toml"))).unwrap()).unwrap();
        let program = RecordingRequest::of_probe(Arc::new(script));
        let mut probes = 0;
        for source in &sources {
            let plan = Plan::resolve(&program, &ptx::read(source).0, name, &|_| None);
            let actions = plan.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
            probes += actions.filter(|a| matches!(a, Action::Probe(_))).count();
            // Of `add`, some have lists or constants; the others ask nothing that is not there.
            assert!(
                *name == "helpers" || plan.probe_state.unavailable.is_empty(),
                "{name}: {:?}",
                plan.probe_state.unavailable
            );
        }
        assert!(probes > 0, "{name}");
    }
}

/// Bytes and words of right files, changed, left out, doubled: an answer, never a panic; what is said lies in
/// the text.
#[test]
fn broken_files_never_panic() {
    let texts: Vec<String> =
        RIGHT.iter().map(|name| fs::read_to_string(cases().join(format!("{name}.toml"))).unwrap()).collect();
    let mut state = 1u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let words = [
        "%NR", "\"", "{", "}", "[", "]", ";", ":", "::", ".", "ä", "//", "SAVE", "-", "0x", "\\n", "u32",
        "\n", "=",
    ];
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..20_000 {
        let mut text: Vec<char> = texts[random(texts.len())].chars().collect();
        for _ in 0..=random(4) {
            let at = random(text.len());
            match random(4) {
                0 => drop(text.drain(at..(at + 1 + random(8)).min(text.len()))),
                1 => drop(text.splice(at..at, words[random(words.len())].chars())),
                2 => {
                    let piece = text[at..(at + random(40)).min(text.len())].to_vec();
                    let to = random(text.len());
                    drop(text.splice(to..to, piece));
                }
                _ => drop(text.splice(at..(at + 1).min(text.len()), words[random(words.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        let complaints = match read(&text) {
            Ok((script, warnings)) => {
                right += 1;
                drop(script.to_string());
                warnings
            }
            Err(complaints) => {
                wrong += 1;
                assert!(!complaints.is_empty());
                complaints
            }
        };
        for c in complaints {
            assert!(c.span.start <= c.span.end && c.span.end <= text.len(), "{c:?} in {text}");
            drop(c.render(&text, "x.toml"));
        }
    }
    assert!(right > 500 && wrong > 500, "{right} right, {wrong} wrong");
}
