//! The terminal: colour, progress, errors. Results go to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::When;

/// What the terminal can show.
pub struct Ui {
    color_out: bool,
    color_err: bool,
    progress: bool,
    quiet: bool,
}

impl Ui {
    /// Honours `--color`, `--quiet` and the NO_COLOR convention.
    pub fn new(when: When, quiet: bool) -> Ui {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let colored = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !no_color,
        };
        Ui {
            color_out: colored(io::stdout().is_terminal()),
            color_err: colored(io::stderr().is_terminal()),
            progress: !quiet && io::stderr().is_terminal(),
            quiet,
        }
    }

    /// Whether standard output takes colour.
    pub fn color(&self) -> bool {
        self.color_out
    }

    /// Columns of the terminal, for text that is laid out; 100 when there is none.
    pub fn width(&self) -> usize {
        console::Term::stdout().size_checked().map_or(100, |(_, columns)| usize::from(columns).clamp(60, 160))
    }

    /// How text goes to standard output.
    pub fn style(&self) -> prlx_present::Style {
        prlx_present::Style { color: self.color(), width: self.width() }
    }

    /// Shows that something takes its time, until the value is dropped. Nothing shows for work of under 150 ms.
    pub fn spinner(&self, what: &str) -> ProgressBar {
        if !self.progress {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(7));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(150));
        bar
    }

    /// Shows how far work of so many parts has come, until the value is dropped.
    pub fn bar(&self, parts: u64, what: &str) -> ProgressBar {
        if !self.progress {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(parts), ProgressDrawTarget::stderr_with_hz(7));
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos} of {len} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar
    }

    /// Says something in passing, on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Says how long something took, on terminals alone: elsewhere the same work gives the same bytes.
    pub fn timing(&self, text: &str) {
        if self.progress {
            self.note(text);
        }
    }

    /// Says something that the user should know, on standard error.
    pub fn warn(&self, text: &str) {
        let (yellow, off) = if self.color_err { ("\x1b[1;33m", "\x1b[0m") } else { ("", "") };
        let _ = writeln!(io::stderr().lock(), "{yellow}warning{off}: {text}");
    }

    /// Prints an error with what led to it, and advice if there is some.
    pub fn error(&self, error: &anyhow::Error) {
        let (red, cyan, off) =
            if self.color_err { ("\x1b[1;31m", "\x1b[1;36m", "\x1b[0m") } else { ("", "", "") };
        let mut err = io::stderr().lock();
        let _ = writeln!(err, "{red}error{off}: {error:#}");
        if let Some(help) =
            error.chain().find_map(|e| e.downcast_ref::<prlx_driver::Error>()).and_then(|e| e.help.as_ref())
        {
            let _ = writeln!(err, "  {cyan}help{off}: {help}");
        }
    }
}

/// Whether the reader of our output went away, as `prlx … | head` does: no error.
pub fn broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|e| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}
