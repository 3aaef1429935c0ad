//! Escapes text from traces for terminals.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_safe() {
        assert_eq!(clean("a\x1b[31mb\u{202e}\tc\r\n\u{9b}"), "a\\u{1b}[31mb\\u{202e}    c\\r\\n\\u{9b}");
    }
}
