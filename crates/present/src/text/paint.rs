//! Colour, clipping and escaping: what every line of text goes through.

/// How text is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Whether to write ANSI colour codes.
    pub color: bool,
    /// Columns to lay out for; longer source lines and instructions are clipped.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100 }
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    /// Agrees.
    Good,
    /// Differs.
    Bad,
    /// Not known.
    Doubt,
    /// A heading.
    Strong,
    /// Less important than the rest.
    Faint,
    /// A place in the source.
    Place,
    /// Ordinary text.
    Plain,
}

impl Style {
    /// `text` in `ink`. The text must be escaped.
    pub(crate) fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Good => "1;32",
            Ink::Bad => "1;31",
            Ink::Doubt => "1;33",
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Place => "36",
            Ink::Plain => return text.into(),
        };
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

/// A name or line from a trace, safe for a terminal: tabs become four spaces, other control characters and those that
/// reorder text are written out.
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

/// The same of several lines.
pub fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// `text` in at most `width` characters; what is cut off is marked.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// `text` in lines of at most `width` characters, broken between words. Coloured text stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.contains('\x1b') || text.chars().count() <= width {
        return vec![text.into()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width.max(20) {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// A mangled C++ name as far as it is plain names: `_Z9take_beatffRfPi` is `take_beat`. Others stay as they are.
pub(crate) fn plain(name: &str) -> String {
    let Some(rest) = name.strip_prefix("_Z") else { return name.into() };
    let nested = rest.starts_with('N');
    let mut rest = rest.trim_start_matches(['N', 'K', 'L']);
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&e| e > 0) {
        let Some(part) = rest[..end]
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .and_then(|n: usize| rest.get(end..end.checked_add(n)?))
        else {
            break;
        };
        parts.push(if part.starts_with("_GLOBAL__N_") { "(anonymous)" } else { part });
        rest = &rest[end + part.len()..];
        if !nested {
            break;
        }
    }
    if parts.is_empty() { name.into() } else { parts.join("::") }
}

/// `text` filled with spaces to `width` characters.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let n = text.chars().count();
    format!("{text}{}", " ".repeat(width.saturating_sub(n)))
}

/// A number with thin groups: 1,234,567.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A number and its noun.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_safe() {
        assert_eq!(clean("a\x1b[31mb\u{202e}\tc\r\n\u{9b}"), "a\\u{1b}[31mb\\u{202e}    c\\r\\n\\u{9b}");
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("abcd", 4), "abcd");
        for (name, want) in [
            ("_Z9take_beatffRfPi", "take_beat"),
            ("_ZN2ns3fooIfEEvT_", "ns::foo"),
            ("_ZN12_GLOBAL__N_13barEv", "(anonymous)::bar"),
            ("kernel_0d1d", "kernel_0d1d"),
            ("_Z99x", "_Z99x"),
            ("_Z", "_Z"),
            ("_Z0", "_Z0"),
            ("_Z3é", "_Z3é"),
        ] {
            assert_eq!(plain(name), want);
        }
        assert_eq!(wrap("one two three four five six", 20), ["one two three four", "five six"]);
        assert_eq!(
            (number(0), number(999), number(1000), number(1234567)),
            ("0".into(), "999".into(), "1,000".into(), "1,234,567".into())
        );
    }
}
