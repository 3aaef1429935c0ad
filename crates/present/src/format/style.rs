//! Colours of text on a terminal.

use prlx_analyze::Verdict;

/// How text is laid out and coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Whether ANSI colour codes are written.
    pub color: bool,
    /// Columns of the terminal. Longer source lines and instructions are clipped.
    pub width: usize,
    /// Whether rows of tables that are wider than that are cut. Source lines at their ends always are.
    pub cut: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100, cut: true }
    }
}

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    /// What agrees or succeeded.
    Good,
    /// What differs or failed.
    Bad,
    /// What is unknown or deserves a warning.
    Warning,
    /// A heading or another emphasised text.
    Strong,
    /// Less important than the rest.
    Faint,
    /// A source location.
    Location,
    /// Text without colour.
    Plain,
}

impl Style {
    /// Widest text that a key of a table has in its column.
    pub(crate) fn key_width(&self) -> usize {
        if self.cut { 60 } else { usize::MAX }
    }
    /// `text` in the colour of `ink`. The caller has escaped the text.
    pub(crate) fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Good => "1;32",
            Ink::Bad => "1;31",
            Ink::Warning => "1;33",
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Location => "36",
            Ink::Plain => return text.into(),
        };
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    /// The name of a verdict in its colour.
    pub(crate) fn verdict(self, v: Verdict) -> String {
        let ink = match v {
            Verdict::Same => Ink::Good,
            Verdict::Differs => Ink::Bad,
            Verdict::Unknown => Ink::Warning,
        };
        self.ink(ink, v.name())
    }
}
