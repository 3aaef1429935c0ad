//! HTML elements with escaped text.

use std::fmt::Display;

use super::escape::clean;

/// `text` escaped for HTML, as content and inside quotes. Control characters become their escapes.
pub(crate) fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// An element with its classes (none if empty) and its content, which is HTML.
pub(crate) fn el(tag: &str, class: &str, inside: impl Display) -> String {
    if class.is_empty() {
        format!("<{tag}>{inside}</{tag}>")
    } else {
        format!("<{tag} class=\"{class}\">{inside}</{tag}>")
    }
}

/// A table with a row for each name and its HTML.
pub(crate) fn pairs(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows: String =
        rows.into_iter().map(|(k, v)| el("tr", "", el("th", "", k) + &el("td", "", v))).collect();
    el("table", "facts", rows)
}

/// Applies [`esc`] to each line.
pub(crate) fn esc_lines(text: &str) -> String {
    text.lines().map(esc).collect::<Vec<_>>().join("\n")
}
