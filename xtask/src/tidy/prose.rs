//! Rules about text: line length, the words of `WORDS`, doc comments that say nothing, links.
//!
//! # Limitations
//! Prose is judged by patterns. A sentence can pass every rule and still be unclear.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// Columns of a line, at most. Tables, links and string literals may be longer.
const COLUMNS: usize = 110;

/// Phrases that only an insider understands, in lower case. `docs/internals/contributing.md` says what to
/// write instead.
const WORDS: &[&str] = &[
    "told of",
    "is told",
    "are told",
    "tells apart",
    "told apart",
    "decides otherwise",
    "decide otherwise",
    "lanes part",
    "comes of it",
    "may be had",
    "to be had",
    "lands nowhere",
    "by the cpu device's own eyes",
    "weave",
    "woven",
    "is nobody's",
    "as the module says",
    "who was late",
    "what of gpu",
    "holds: ",
    "misses: ",
];

/// Checks one Rust source.
pub fn rust(name: &str, text: &str, wrong: &mut Vec<String>) {
    let mut docs: Vec<(usize, &str)> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let comment = trimmed.starts_with("//");
        if line.chars().count() > COLUMNS && (comment || !line.contains('"')) && !line.contains("://") {
            wrong.push(format!("{name}:{}: longer than {COLUMNS} columns", i + 1));
        }
        words(name, i, line, wrong);
        match trimmed.strip_prefix("///") {
            Some(doc) => docs.push((i, doc.trim())),
            None => {
                if let [(at, only)] = docs[..]
                    && says_nothing(only)
                {
                    wrong.push(format!("{name}:{}: the doc comment `{only}` says nothing", at + 1));
                }
                docs.clear();
            }
        }
    }
}

/// Checks one page.
pub fn page(root: &Path, path: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(path)?;
    let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let in_book = path.starts_with(root.join("docs"));
    let folder = path.parent().unwrap_or(root);
    let mut code = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if !code {
            let table = line.trim_start().starts_with('|') || line.starts_with("    ");
            if line.chars().count() > COLUMNS && !table && !line.contains("](") && !line.starts_with("<!--") {
                wrong.push(format!("{name}:{}: longer than {COLUMNS} columns", i + 1));
            }
            words(&name, i, line, wrong);
            for link in links(line) {
                let target = link.split('#').next().unwrap_or_default();
                if target.is_empty() || link.contains("://") || link.starts_with("mailto:") {
                    continue;
                }
                let full = folder.join(target);
                if !full.exists() {
                    wrong.push(format!("{name}:{}: the link {link} leads nowhere", i + 1));
                } else if in_book && !inside(&full, &root.join("docs")) {
                    wrong.push(format!("{name}:{}: the link {link} leaves the book", i + 1));
                }
            }
        }
    }
    Ok(())
}

/// Checks that the book's table of contents names every page below `docs`.
pub fn contents(root: &Path, pages: &[std::path::PathBuf], wrong: &mut Vec<String>) -> Result<()> {
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md"))?;
    for page in pages.iter().filter(|p| p.starts_with(root.join("docs"))) {
        let name = page.strip_prefix(root.join("docs")).unwrap_or(page).display().to_string();
        if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
            wrong.push(format!("docs/{name} is not in docs/SUMMARY.md"));
        }
    }
    Ok(())
}

fn words(name: &str, i: usize, line: &str, wrong: &mut Vec<String>) {
    let lower = line.to_lowercase();
    for word in WORDS.iter().filter(|w| lower.contains(**w)) {
        wrong.push(format!("{name}:{}: \"{}\" is not plain English", i + 1, word.trim()));
    }
}

/// Whether a doc comment has two words or fewer.
fn says_nothing(doc: &str) -> bool {
    !doc.is_empty() && !doc.starts_with(['#', '[', '`', '-']) && doc.split_whitespace().count() < 3
}

/// The targets of a line's links.
fn links(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        if let Some(end) = rest.find(')') {
            out.push(&rest[..end]);
        }
    }
    out
}

fn inside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_rule_finds_its_fault() {
        let mut wrong = Vec::new();
        let text =
            format!("/// What.\nfn a() {{}}\n// {}\n/// Who is told of it, long after.\n", "x".repeat(120));
        super::rust("a.rs", &text, &mut wrong);
        assert_eq!(
            wrong,
            [
                "a.rs:1: the doc comment `What.` says nothing",
                "a.rs:3: longer than 110 columns",
                "a.rs:4: \"told of\" is not plain English",
                "a.rs:4: \"is told\" is not plain English",
            ]
        );
        assert_eq!(super::links("see [a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
    }
}
