//! Escapes text: from traces for terminals, and words for shells.

use std::io::{self, Write};

/// A word of a shell's command line.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Makes one line of text from a trace safe for a terminal. A tab becomes four spaces. Other control
/// characters, and characters that reorder text, become their escapes.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                out.extend(c.escape_unicode());
            }
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Applies [`clean`] to each line of `text`; line ends stay.
pub fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Applies [`clean`] to each line of `text`, but keeps escape sequences that only set colours.
fn clean_but_colors(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut out = clean_lines(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';');
        let sets_color = end.is_some_and(|end| part[end..].starts_with('m'));
        out.push_str(if sets_color { "\x1b[" } else { "\\u{1b}[" });
        out.push_str(&clean_lines(part));
    }
    out
}

/// Writes text as [`clean_lines`] does, line by line.
///
/// The last line is written by [`Write::flush`], or when the writer is dropped.
#[derive(Debug)]
pub struct Cleaned<W: Write> {
    to: W,
    colors: bool,
    line: Vec<u8>,
}

impl<W: Write> Cleaned<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Cleaned<W> {
        Cleaned { to, colors: false, line: Vec::new() }
    }
    /// Writes to `to`, a terminal that shows `colors`: escape sequences that set colours are kept then.
    pub fn colored(to: W, colors: bool) -> Cleaned<W> {
        Cleaned { to, colors, line: Vec::new() }
    }
    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = if self.colors { clean_but_colors(&text) } else { clean_lines(&text) };
        self.to.write_all(text.as_bytes())
    }
}

impl<W: Write> Write for Cleaned<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.write_line()?;
        self.to.flush()
    }
}

impl<W: Write> Drop for Cleaned<W> {
    fn drop(&mut self) {
        // Who wants the error has flushed before.
        let _ = self.write_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cleaned_however_they_are_cut() {
        let mut out = Vec::new();
        let mut to = Cleaned::new(&mut out);
        for part in ["a\x1b", "[0m\u{e9}\nb", "\r\nc\u{7}"] {
            to.write_all(part.as_bytes()).unwrap();
        }
        drop(to);
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[0m\u{e9}\nb\\r\nc\\u{7}");
    }

    #[test]
    fn colours_stay_where_the_terminal_shows_them_and_nothing_else_does() {
        let text = "\x1b[1;31mred\x1b[0m \x1b[2J \x1b]0;title\x07 \x1b[31 \u{202e}x\n";
        let written = |colors| {
            let mut out = Vec::new();
            Cleaned::colored(&mut out, colors).write_all(text.as_bytes()).unwrap();
            String::from_utf8(out).unwrap()
        };
        let rest = " \\u{1b}[2J \\u{1b}]0;title\\u{7} \\u{1b}[31 \\u{202e}x\n";
        assert_eq!(written(true), format!("\x1b[1;31mred\x1b[0m{rest}"));
        assert_eq!(written(false), format!("\\u{{1b}}[1;31mred\\u{{1b}}[0m{rest}"));
    }

    #[test]
    fn terminals_are_safe() {
        assert_eq!(clean("a\x1b[31mb\u{202e}\tc\r\n\u{9b}"), "a\\u{1b}[31mb\\u{202e}    c\\r\\n\\u{9b}");
    }
}
