//! The cases of `tests/field`: bugs that people reported, each with its right answer.
//!
//! `expect.toml` of a case has rows. A row is a command and what it must answer: the verdict, the class of
//! the first cause or finding, and the lines of which it must name one. A row that PRLX answers wrongly has
//! `open`, the reason; when it becomes right, `open` must go.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[expect(dead_code, reason = "it is for readers of the file")]
    bug: String,
    #[expect(dead_code, reason = "it is for readers of the file")]
    answer: String,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    command: String,
    verdict: Words,
    class: Option<Vec<String>>,
    lines: Option<Vec<String>>,
    seeds: Option<String>,
    open: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

/// What a command answered.
#[derive(Debug, Default)]
pub struct Answer {
    /// The verdict, or what `run` amounts to.
    pub verdict: String,
    /// The class of what comes first.
    pub class: String,
    /// File and line of all places that come first.
    pub lines: Vec<(String, u64)>,
}

/// The lines of a location and of where it was inlined.
fn locations(location: &Value) -> Vec<(String, u64)> {
    let inlined = location["inlined"].as_array().into_iter().flatten();
    let all = std::iter::once(location).chain(inlined);
    all.filter_map(|l| Some((l["file"].as_str()?.to_owned(), l["line"].as_u64()?))).collect()
}

/// What a comparison names first: a cause, else a finding.
pub fn of_comparison(json: &Value) -> Answer {
    let report = if json["report"].is_object() { &json["report"] } else { json };
    let launch = &report["launches"][0];
    let mut answer =
        Answer { verdict: json["verdict"].as_str().unwrap_or_default().to_owned(), ..Answer::default() };
    let (cause, finding) = (&launch["causes"][0], &launch["findings"][0]);
    if cause.is_object() {
        answer.class = cause["class"].as_str().unwrap_or_default().to_owned();
        let places = cause["places"].as_array().into_iter().flatten().chain([&cause["other"]]);
        answer.lines = places.flat_map(|p| locations(&p["location"])).collect();
    } else if finding.is_object() {
        answer.class = "decision".into();
        let sites = finding["site"].as_array().into_iter().flatten();
        answer.lines = sites.flat_map(|s| locations(&s["location"])).collect();
    }
    answer
}

fn of_run(json: &Value) -> Answer {
    let findings = json["checks"]["findings"].as_array().into_iter().flatten();
    let Some(first) = findings.into_iter().find(|f| f["grade"] == "error") else {
        return Answer { verdict: "clean".into(), ..Answer::default() };
    };
    let class = first["kind"].as_str().unwrap_or_default();
    let sides = first["sides"].as_array().into_iter().flatten();
    let lines = sides.flat_map(|s| s["place"]["source"].as_array().into_iter().flatten());
    let lines = lines.filter_map(|l| Some((l["file"].as_str()?.to_owned(), l["line"].as_u64()?)));
    Answer { verdict: "finding".into(), class: class.into(), lines: lines.collect() }
}

/// What a probe names first: the first table with rows, and the lines of the places that are its keys.
fn of_probe(json: &Value) -> Answer {
    let rows = |t: &Value| t["rows"].as_array().cloned().unwrap_or_default();
    let Some(table) = json["tables"].as_array().into_iter().flatten().find(|t| !rows(t).is_empty()) else {
        return Answer { verdict: "empty".into(), ..Answer::default() };
    };
    let keys = rows(table).into_iter().map(|row| row["key"][0].clone());
    let line = |key: Value| {
        let file = key["file"].as_str()?.rsplit('/').next()?;
        Some((file.to_owned(), key["line"].as_u64()?))
    };
    let class = table["name"].as_str().unwrap_or_default().into();
    Answer { verdict: "values".into(), class, lines: keys.filter_map(line).collect() }
}

fn answer(folder: &Path, row: &Row) -> Answer {
    let mut prlx = Command::new(env!("CARGO_BIN_EXE_prlx"));
    prlx.current_dir(folder).env("NO_COLOR", "1").args(row.command.split(' ')).arg("--json");
    if let Some(seeds) = &row.seeds {
        prlx.args(["--seeds", seeds]);
    }
    let out = prlx.output().expect("prlx runs");
    match serde_json::from_slice::<Value>(&out.stdout) {
        Ok(json) if row.command.starts_with("run") => of_run(&json),
        Ok(json) if row.command.starts_with("probe") => of_probe(&json),
        Ok(json) => of_comparison(&json),
        Err(_) => Answer { verdict: String::from_utf8_lossy(&out.stderr).into_owned(), ..Answer::default() },
    }
}

/// What is wrong with an answer; `None` if it is right.
fn wrong(row: &Row, got: &Answer) -> Option<String> {
    let verdict = match &row.verdict {
        Words::One(word) => *word == got.verdict,
        Words::Several(words) => words.contains(&got.verdict),
    };
    if !verdict {
        return Some(format!("verdict: {}", got.verdict.trim()));
    }
    if row.class.as_ref().is_some_and(|classes| !classes.contains(&got.class)) {
        return Some(format!("class: {}", got.class));
    }
    let named = |wanted: &String| {
        let (file, line) = wanted.rsplit_once(':').unwrap_or((wanted, ""));
        got.lines.iter().any(|(f, l)| f.ends_with(file) && l.to_string() == line)
    };
    match &row.lines {
        Some(lines) if !lines.iter().any(named) => Some(format!("lines: {:?}", got.lines)),
        _ => None,
    }
}

#[test]
fn cases_get_their_right_answers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/field");
    let folders = |of: &Path| -> Vec<PathBuf> {
        let mut list: Vec<PathBuf> =
            std::fs::read_dir(of).into_iter().flatten().flatten().map(|e| e.path()).collect();
        list.retain(|path| path.is_dir());
        list.sort();
        list
    };
    let (mut table, mut faults, mut rows, mut open) = (String::new(), String::new(), 0, 0);
    for folder in folders(&root).iter().flat_map(|of| folders(of)) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text =
            std::fs::read_to_string(folder.join("expect.toml")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let case: Case = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for row in &case.row {
            let wrong = wrong(row, &answer(&folder, row));
            let state = match (&wrong, &row.open) {
                (None, None) => "right",
                (Some(_), Some(_)) => "open",
                (Some(_), None) => "WRONG",
                (None, Some(_)) => "RIGHT, remove `open`",
            };
            rows += 1;
            open += usize::from(state == "open");
            let seeds = row.seeds.as_ref().map_or(String::new(), |s| format!(" --seeds {s}"));
            let why = row.open.as_deref().or(wrong.as_deref()).unwrap_or_default();
            let line = format!("{name:<20} {:<52} {state} {why}", format!("{}{seeds}", row.command));
            let _ = writeln!(table, "{line}");
            if !matches!(state, "right" | "open") {
                let _ = writeln!(faults, "{line}");
            }
        }
    }
    println!("{table}{} of {rows} rows are right, {open} are open", rows - open);
    assert!(rows > 100 && faults.is_empty(), "{faults}");
}
