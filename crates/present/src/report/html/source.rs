//! Source files with the lines that a finding refers to.

use std::collections::BTreeMap;

use prlx_analyze::report::{Finding, Location};
use prlx_analyze::view::ViewModel;
use prlx_trace::names::is_library_file;

use crate::format::clean;
use crate::format::html::{el, esc};
use crate::words;

/// Lines around a marked one that are shown of files longer than [`WHOLE`].
const AROUND: usize = 40;
/// Lines of a file that is shown whole.
const WHOLE: usize = 2000;

/// The files that the finding names: A's and B's side by side, or one where both sides have the same text.
pub(super) fn panels(scene: &ViewModel, f: &Finding) -> String {
    let mut out = [String::new(), String::new()];
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for side in 0..2 {
        let mut files: Vec<_> = marks(f, side).into_iter().collect();
        // The user's own files come before those of libraries.
        files.sort_by_key(|(file, _)| is_library_file(file));
        for (file, marks) in files {
            let Some(text) = scene.sources[side].get(&file) else { continue };
            let Some((file, text)) = scene.sources[side]
                .get_key_value(&file)
                .filter(|(k, _)| !shown.contains(&(k.as_str(), text.as_str())))
            else {
                continue;
            };
            shown.push((file, text));
            let both = scene.sources[1 - side].get(file) == Some(text);
            let of = if both { String::new() } else { format!(" in {}", ["A", "B"][side]) };
            let name = el("h4", "", esc(&format!("{file}{of}")));
            out[side] += &el("div", "source", name + &panel(text, &marks));
        }
    }
    match &out {
        [a, b] if !a.is_empty() && !b.is_empty() => {
            el("div", "sides", el("div", "", a.as_str()) + &el("div", "", b.as_str()))
        }
        _ => out.concat(),
    }
}

/// What is to be said of a line.
struct LineMark {
    class: &'static str,
    column: u32,
    text: String,
}

/// By file, by line: what the finding says of it, from this side's sites.
fn marks(f: &Finding, side: usize) -> BTreeMap<String, BTreeMap<u32, Vec<LineMark>>> {
    let mut out: BTreeMap<String, BTreeMap<u32, Vec<LineMark>>> = BTreeMap::new();
    let mut put = |l: &Location, class: &'static str, text: &str| {
        let marks = out.entry(l.file.clone()).or_default().entry(l.line).or_default();
        if !marks.iter().any(|m| m.text == text) {
            marks.push(LineMark { class, column: l.column, text: text.into() });
        }
    };
    if let Some(site) = &f.site[side] {
        if let Some(l) = &site.location {
            put(words::own(l), "here", &format!("{}: {}", words::noun(site.class), site.text));
            let mut lines = words::chain(l);
            let inner = lines.by_ref().take_while(|at| !std::ptr::eq(*at, words::own(l)));
            inner.for_each(|l| put(l, "at", "in library code"));
            lines.for_each(|l| put(l, "at", "inlined here"));
        }
        for s in &site.steers {
            s.location
                .iter()
                .for_each(|l| put(words::own(l), "at", &format!("{} {}", words::CONTROLS, s.text)));
        }
    } else if let Some(l) = f.place.as_ref().filter(|_| f.site == [None, None]) {
        put(words::own(l), "here", "here");
    }
    for n in f.slice.iter().filter(|n| n.first || n.same == Some(false)) {
        if let (Some(l), [Some(a), Some(b)]) = (&n.location, &n.shown) {
            let what = if n.first { "the first input that differs" } else { "differs" };
            put(
                words::own(l),
                "why",
                &format!("{}: A {a}, B {b}, {what}", n.argument.as_deref().unwrap_or(&n.text)),
            );
        }
    }
    out
}

fn panel(text: &str, marks: &BTreeMap<u32, Vec<LineMark>>) -> String {
    let all = text.lines().count();
    let near = |i: usize| all <= WHOLE || marks.keys().any(|m| (*m as usize).abs_diff(i + 1) <= AROUND);
    let mut rows = String::new();
    let mut hidden = false;
    for (i, line) in text.lines().enumerate() {
        if !near(i) {
            hidden = true;
            continue;
        }
        if std::mem::take(&mut hidden) {
            rows += "<tr class=\"gap\"><th>⋮</th><td></td></tr>";
        }
        let said = marks.get(&(i as u32 + 1)).map_or(&[][..], |m| &m[..]);
        let class = said.first().map_or("", |m| m.class);
        let mut code = esc(line);
        // Columns count bytes.
        if let Some((head, tail)) =
            said.iter().find_map(|m| line.split_at_checked((m.column as usize).checked_sub(1)?))
        {
            let word = tail.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|&e| e > 0);
            let (word, tail) = tail
                .split_at_checked(word.unwrap_or(tail.chars().next().map_or(0, char::len_utf8)))
                .unwrap_or((tail, ""));
            code = esc(head) + &el("mark", "", esc(word)) + &esc(tail);
        }
        let notes: String =
            said.iter().map(|m| el("span", &format!("note {}", m.class), esc(&clean(&m.text)))).collect();
        rows += &format!("<tr class=\"{class}\"><th>{}</th><td><code>{code}</code>{notes}</td></tr>", i + 1);
    }
    el("div", "code", el("table", "", rows))
}
