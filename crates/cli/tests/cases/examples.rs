//! Compares every example's `expect.toml` with the report of `prlx compare --json` (see
//! `examples/README.md`).
//!
//! The expectations were derived without PRLX. A comparison passes if three things are as expected: the
//! verdict; the kind and the source line of the first finding; the warps, lanes and visits that differ there.
//! With `class`, it is the class and a source line of the first cause.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// One trial for each comparison of each example.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for folder in examples() {
        let name = folder.strip_prefix(root()).unwrap_or(&folder).display().to_string();
        let table = table(&folder);
        for expected in table.get("compare").and_then(toml::Value::as_array).cloned().unwrap_or_default() {
            let of =
                |key: &str| expected.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
            let title = format!("examples/{name}: {} {} {}", of("a"), of("b"), of("args"));
            let folder = folder.clone();
            trials.push(Trial::test(title, move || compare(&folder, &expected)));
        }
    }
    assert!(trials.len() > 20, "the examples are gone");
    trials
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Folders of examples, and their folders `amd`.
fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root()).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.flat_map(|e| [e.path(), e.path().join("amd")]).collect();
    all.retain(|p| p.join("expect.toml").is_file());
    all.sort();
    all
}

fn table(folder: &Path) -> toml::Table {
    let text = std::fs::read_to_string(folder.join("expect.toml")).unwrap_or_default();
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}

fn compare(folder: &Path, expected: &toml::Value) -> Result<(), Failed> {
    let text = |key: &str| expected.get(key).and_then(toml::Value::as_str);
    let (a, b) = (text("a").ok_or("no a")?, text("b").ok_or("no b")?);
    let done = Command::new(env!("CARGO_BIN_EXE_prlx"))
        .args(["compare", "--json", a, b])
        .args(text("args").unwrap_or_default().split_whitespace())
        .current_dir(folder)
        .output()?;
    let report: Value = serde_json::from_slice(&done.stdout).map_err(|e| {
        format!("{e}: {}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
    })?;
    let verdict = text("verdict").ok_or("no verdict")?;
    same("verdict", &report["verdict"], &Value::from(verdict))?;
    let code = if verdict == "same" { 0 } else { 1 };
    same("exit code", &Value::from(done.status.code()), &Value::from(code))?;
    if verdict == "same" {
        return same("findings", &report["launches"][0]["findings_total"], &Value::from(0));
    }
    if expected.get("class").is_some() {
        return cause(&report["launches"][0]["causes"][0], expected);
    }
    let findings = report["launches"][0]["findings"].as_array().cloned().unwrap_or_default();
    let first = findings.first().ok_or("no finding")?;
    same("kind", &first["kind"], &Value::from(text("kind")))?;
    let side = if text("side") == Some("b") { 1 } else { 0 };
    let want =
        (Value::from(text("file")), Value::from(expected.get("line").and_then(toml::Value::as_integer)));
    if !places(first, side).contains(&want) {
        return Err(format!("place: {:?} instead of {want:?}", places(first, side)).into());
    }
    // One line may hold several decisions, as a loop's guard and its back edge: each is a finding.
    let there: Vec<&Value> = findings.iter().filter(|f| places(f, side).contains(&want)).collect();
    if let Some(at) = expected.get("at").and_then(toml::Value::as_array) {
        let number = |v: &toml::Value, key: &str| v.get(key).and_then(toml::Value::as_integer);
        let mut want: Vec<_> = at.iter().map(|v| (number(v, "cta"), number(v, "warp"), lanes(v))).collect();
        want.sort_unstable();
        same(
            "warps that part",
            &Value::from(format!("{:x?}", parting(&there))),
            &Value::from(format!("{want:x?}")),
        )?;
        for v in at.iter().filter(|v| v.get("visit").is_some()) {
            let here = |w: &&Value| {
                w["cta"].as_i64() == number(v, "cta") && w["in_cta"].as_i64() == number(v, "warp")
            };
            let hit = there.iter().flat_map(|f| hits(f)).find(here);
            same(
                "visit",
                &hit.map(|w| w["visit"].clone()).unwrap_or_default(),
                &Value::from(number(v, "visit")),
            )?;
        }
    }
    Ok(())
}

/// Compares the first cause with the accepted classes and lines.
fn cause(first: &Value, expected: &toml::Value) -> Result<(), Failed> {
    let classes = expected["class"].as_array().into_iter().flatten();
    if !classes.clone().any(|c| c.as_str() == first["class"].as_str()) {
        return Err(format!("class: {} instead of {:?}", first["class"], expected["class"]).into());
    }
    let lines = expected.get("lines").and_then(toml::Value::as_array).cloned();
    let lines = lines.or_else(|| expected.get("line").map(|l| vec![l.clone()])).ok_or("no line")?;
    let is = |place: &Value| {
        let (file, line) = (&place["location"]["file"], place["location"]["line"].as_i64());
        file.as_str() == expected.get("file").and_then(toml::Value::as_str)
            && lines.iter().any(|l| l.as_integer() == line)
    };
    if [&first["places"][0], &first["places"][1], &first["other"]].into_iter().any(is) {
        return Ok(());
    }
    let want = (expected.get("file"), &lines);
    Err(format!("places: {}, {} instead of {want:?}", first["places"], first["other"]).into())
}

/// Files and lines of a finding's decision, and of what it steers: a compare may stand on another line than
/// its `if`.
fn places(finding: &Value, side: usize) -> Vec<(Value, Value)> {
    let site = &finding["site"][side];
    let steered = site["steers"].as_array().into_iter().flatten().map(|s| &s["location"]);
    std::iter::once(&site["location"])
        .chain(steered)
        .map(|l| (l["file"].clone(), l["line"].clone()))
        .collect()
}

fn hits(finding: &Value) -> impl Iterator<Item = &Value> {
    finding["warps"].as_array().into_iter().flatten().filter(|w| mask(&w["roots"]) != Some(0))
}

/// Warps that first part at one of the findings: CTA, warp in it, lanes.
fn parting(findings: &[&Value]) -> Vec<(Option<i64>, Option<i64>, Option<u64>)> {
    let mut all = std::collections::BTreeMap::new();
    for w in findings.iter().flat_map(|f| hits(f)) {
        *all.entry((w["cta"].as_i64(), w["in_cta"].as_i64())).or_insert(0) |=
            mask(&w["roots"]).unwrap_or_default();
    }
    all.into_iter().map(|((cta, warp), lanes)| (cta, warp, Some(lanes))).collect()
}

fn mask(v: &Value) -> Option<u64> {
    hexadecimal(v.as_str()?)
}

/// The lanes that `at` names: a number, or text where lane 63 is among them (TOML's numbers have a sign).
fn lanes(v: &toml::Value) -> Option<u64> {
    let lanes = v.get("lanes")?;
    lanes.as_integer().and_then(|n| u64::try_from(n).ok()).or_else(|| hexadecimal(lanes.as_str()?))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

fn same(what: &str, got: &Value, want: &Value) -> Result<(), Failed> {
    if got == want { Ok(()) } else { Err(format!("{what}: {got} instead of {want}").into()) }
}
