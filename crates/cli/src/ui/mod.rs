//! The terminal: colour, progress, notes, warnings, errors. Results go to standard output, everything else to
//! standard error.

mod progress;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use prlx::input::shell;
use prlx::{Event, Monitor, SessionSummary};
use prlx_present::{Cleaned, safe_lines};
use prlx_trace::Level;

use crate::args::When;
use progress::Progress;

/// What the terminal can show.
pub struct Ui {
    color_out: bool,
    color_err: bool,
    stderr: Arc<StdErr>,
    /// Prints the events of library calls.
    events: Box<dyn Fn(Event<'_>) + Sync>,
}

/// What goes to standard error.
struct StdErr {
    color: bool,
    quiet: bool,
    width: usize,
    progress: Progress,
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
        let color_err = colored(io::stderr().is_terminal());
        let progress = Progress::new(!quiet && io::stderr().is_terminal());
        let stderr = Arc::new(StdErr { color: color_err, quiet, width: columns(), progress });
        let events = Arc::clone(&stderr);
        Ui {
            color_out: colored(io::stdout().is_terminal()),
            color_err,
            stderr,
            events: Box::new(move |event| events.show(event)),
        }
    }

    /// The callbacks for library calls: their events are shown here. Signals end the process, so nothing is
    /// cancelled.
    pub fn monitor(&self) -> Monitor<'_> {
        Monitor::new(&*self.events, &|| false)
    }

    /// Whether standard output takes colour.
    pub fn color(&self) -> bool {
        self.color_out
    }

    /// How text goes to standard output.
    pub fn style(&self) -> prlx_present::Style {
        prlx_present::Style { color: self.color(), width: self.stderr.width, cut: io::stdout().is_terminal() }
    }

    /// Standard output. All text that a person reads goes through it, so that names and texts from files
    /// cannot control the terminal. `exact`: the output is JSON or CSV for programs, which must not change.
    /// If its reader goes away, the command goes on, since its exit code says what it found.
    pub fn out(&self, exact: bool) -> Box<dyn Write> {
        result(exact, self.color())
    }

    /// The same for a list, whose exit code says nothing of its content: if its reader goes away, so does the
    /// command.
    pub fn list(&self, exact: bool) -> Box<dyn Write> {
        output(exact, self.color())
    }

    /// Prints information on standard error, unless `--quiet` is given.
    pub fn note(&self, text: &str) {
        self.stderr.note(text);
    }

    /// Prints how long something took, on terminals only: elsewhere the same work gives the same bytes.
    pub fn timing(&self, text: &str) {
        if self.stderr.progress.enabled() {
            self.note(text);
        }
    }

    /// Prints something that the user should know, on standard error.
    pub fn warn(&self, text: &str) {
        self.stderr.warn(text);
    }

    /// Prints an error with its causes, and advice if it has some.
    pub fn error(&self, error: &anyhow::Error) {
        let (red, cyan, off) =
            if self.color_err { ("\x1b[1;31m", "\x1b[1;36m", "\x1b[0m") } else { ("", "", "") };
        let mut err = io::stderr().lock();
        // Names and texts from files must not control the terminal.
        let what = safe_lines(&format!("{error:#}"));
        let _ = writeln!(err, "{red}error{off}: {what}");
        if let Some(help) =
            error.chain().find_map(|e| e.downcast_ref::<prlx_driver::Error>()).and_then(|e| e.help.as_ref())
        {
            let _ = writeln!(err, "  {cyan}help{off}: {}", safe_lines(help));
        }
    }
}

impl StdErr {
    fn show(&self, event: Event<'_>) {
        match event {
            Event::Begin { activity, what, steps } => self.progress.begin(activity, what, steps),
            Event::Step { activity } => self.progress.step(activity),
            Event::End { activity } => self.progress.end(activity),
            Event::Note(text) => self.note(text),
            Event::Warning(text) => self.warn(text),
            Event::Recorded(summary) => self.recorded(summary),
        }
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            self.progress.hide(|| {
                let _ = writeln!(io::stderr().lock(), "{}", safe_lines(text));
            });
        }
    }

    fn warn(&self, text: &str) {
        let (yellow, off) = if self.color { ("\x1b[1;33m", "\x1b[0m") } else { ("", "") };
        self.progress.hide(|| {
            let _ = writeln!(io::stderr().lock(), "{yellow}warning{off}: {}", safe_lines(text));
        });
    }

    /// What the recording of a program holds, with a table of its kernels.
    fn recorded(&self, s: &SessionSummary) {
        let plural = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let seen = format!(
            "{}, {}",
            plural(s.processes, "process", "processes"),
            plural(s.launches, "launch", "launches")
        );
        if s.level == Level::Probe {
            // The tables or the timeline follow, and say what is missing.
            let what = if s.markers { "profiled" } else { "probed" };
            self.note(&format!("{seen}, {} {what}", s.recorded));
            return;
        }
        self.note(&format!("{}: {seen}, {} recorded", s.folder.display(), s.recorded));
        for file in &s.captured {
            self.note(&format!("captured: prlx run {}", shell(file)));
        }
        let mut text = Vec::new();
        let style = prlx_present::Style { color: false, width: self.width, cut: io::stderr().is_terminal() };
        if s.launches > 0 && prlx_present::kernels(&mut text, &s.survey.clone().kernels(), &style).is_ok() {
            self.note(String::from_utf8_lossy(&text).trim_end());
        }
    }
}

/// Standard output, as [`Ui::list`] gives it to a terminal that shows `colors`.
pub fn output(exact: bool, colors: bool) -> Box<dyn Write> {
    let out = io::stdout().lock();
    if exact { Box::new(io::BufWriter::new(out)) } else { Box::new(Cleaned::colored(out, colors)) }
}

/// Standard output, as [`Ui::out`] gives it to a terminal that shows `colors`.
pub fn result(exact: bool, colors: bool) -> Box<dyn Write> {
    Box::new(Unread { out: output(exact, colors), gone: false })
}

/// An output whose reader may go away, as in `prlx … | head`. What is written then is dropped.
struct Unread<W> {
    out: W,
    gone: bool,
}

impl<W: Write> Unread<W> {
    fn unless_gone(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        if !self.gone
            && let Err(error) = write(&mut self.out)
        {
            self.gone = error.kind() == io::ErrorKind::BrokenPipe;
            return if self.gone { Ok(()) } else { Err(error) };
        }
        Ok(())
    }
}

impl<W: Write> Write for Unread<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_gone(|out| out.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_gone(Write::flush)
    }
}

/// Columns for text that is laid out: those that the variable COLUMNS says, or else those of the terminal.
/// 100 if standard output is no terminal.
fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|n| n.trim().parse::<usize>().ok()).filter(|n| *n > 0);
    if let Some(said) = said {
        return said.clamp(60, 1000);
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0);
    size.map_or(100, |size| usize::from(size.ws_col).clamp(60, 160))
}

/// Whether the reader of our output went away, as in `prlx … | head`. That is no error.
pub fn broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |e: &(dyn std::error::Error + 'static)| {
        let io = e.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| e.downcast_ref::<serde_json::Error>()?.io_error_kind())
    };
    error.chain().any(|e| kind(e) == Some(io::ErrorKind::BrokenPipe))
}
