//! Escapes text from traces for terminals.

use std::io::{self, Write};

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

/// Writes text as [`clean_lines`] does, line by line.
///
/// The last line is written by [`Write::flush`], or when the writer is dropped.
#[derive(Debug)]
pub struct Cleaned<W: Write> {
    to: W,
    line: Vec<u8>,
}

impl<W: Write> Cleaned<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Cleaned<W> {
        Cleaned { to, line: Vec::new() }
    }
    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.to.write_all(clean_lines(&String::from_utf8_lossy(&line)).as_bytes())
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
    fn terminals_are_safe() {
        assert_eq!(clean("a\x1b[31mb\u{202e}\tc\r\n\u{9b}"), "a\\u{1b}[31mb\\u{202e}    c\\r\\n\\u{9b}");
    }
}
