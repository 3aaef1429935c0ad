//! Errors in the text of a program, with their place.

use super::Span;

/// Maximum number of errors that are reported for one program.
pub(crate) const MAX_ERRORS: usize = 100;

/// An error in a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeError {
    /// The part of the text that is wrong.
    pub span: Span,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl ProbeError {
    /// An error without advice.
    pub(crate) fn new(span: Span, message: impl Into<String>) -> ProbeError {
        ProbeError { span, message: message.into(), help: None }
    }

    /// Adds advice on how to mend the error.
    pub(crate) fn help(self, help: impl Into<String>) -> ProbeError {
        ProbeError { help: Some(help.into()), ..self }
    }

    /// Renders `name:line:column: message`, the source line, carets below the place, and the help. Lines and
    /// columns count from 1; columns count characters.
    pub fn render(&self, text: &str, name: &str) -> String {
        let start = char_boundary(text, self.span.start);
        let end = char_boundary(text, self.span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let (row, column) =
            (1 + text[..start].matches('\n').count(), 1 + text[line_start..start].chars().count());
        let plain = |c: char| if c.is_control() && c != '\t' { ' ' } else { c };
        let line: String = text[line_start..line_end].trim_end().chars().map(plain).collect();
        let indent: String =
            text[line_start..start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let carets = "^".repeat(text[start..end.min(line_end)].trim_end().chars().count().max(1));
        let mut out = format!("{name}:{row}:{column}: {}\n    {line}\n    {indent}{carets}\n", self.message);
        if let Some(help) = &self.help {
            out += &format!("help: {help}\n");
        }
        out
    }
}

/// The last character boundary at or before a byte.
fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// The candidate that is closest to `name`, if it is close enough to be a misspelling.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = ((name.len() + 1) / 3).max(1);
    if name.len() > 64 {
        return None;
    }
    let distances = candidates.into_iter().filter(|c| c.len().abs_diff(name.len()) <= far);
    let (distance, best) = distances.map(|c| (distance(name, c), c)).min_by_key(|(d, _)| *d)?;
    (distance <= far && distance < name.len().max(best.len())).then_some(best)
}

/// Edit distance: the number of characters to change, insert, delete, or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase().into_bytes(), b.to_ascii_lowercase().into_bytes());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            row[j] = (last[j - 1] + usize::from(a[i - 1] != b[j - 1])).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}
