//! A report to walk through on a terminal: findings, source, both sides' steps, lanes, loops, operands.
//!
//! [`App`] is the state and knows no terminal: keys and clicks go in, [`App::draw`] puts it into a frame of any size.
//! [`run`] is the loop around it. `pane` says what each view shows, line by line.
//!
//! Holds: what is selected, searched for and filtered survives every change of size; texts of traces are escaped; nothing is
//! read from the recordings before it is looked at.
//!
//! Misses: editing anything. It shows one finding at a time.

mod app;
mod draw;
mod pane;

use std::io::{self, Write};

use prlx_analyze::report::Report;
use prlx_analyze::view::{PathView, ViewModel};
use ratatui::crossterm::clipboard::CopyToClipboard;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event};
use ratatui::crossterm::execute;

pub use app::{App, Flow};

/// Looks at a finding: launch and finding by index; `Err` says why it can't.
pub type Looker<'a> = Box<dyn FnMut(usize, usize) -> Result<Option<PathView>, String> + 'a>;

/// What viewers need of a comparison.
pub struct Subject<'a> {
    /// What was found.
    pub report: &'a Report,
    /// Sources. Its looks are not used.
    pub scene: &'a ViewModel,
    /// Gives what there is to see around a finding.
    pub look: Looker<'a>,
}

/// Shows a report on this terminal until the user leaves.
///
/// # Errors
/// Those of the terminal.
pub fn run(subject: Subject<'_>, color: bool) -> io::Result<()> {
    let mut app = App::new(subject, color);
    let mut terminal = ratatui::try_init()?;
    // Without a mouse it works too.
    let _ = execute!(io::stdout(), EnableMouseCapture);
    let ended = (|| {
        loop {
            terminal.draw(|frame| app.draw(frame))?;
            let flow = match event::read()? {
                Event::Key(key) if key.is_press() => app.key(key),
                Event::Mouse(mouse) => app.mouse(mouse),
                _ => Flow::On,
            };
            match flow {
                Flow::On => {}
                Flow::Copy(text) => {
                    execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))?;
                    io::stdout().flush()?;
                }
                Flow::Leave => return Ok(()),
            }
        }
    })();
    let _ = execute!(io::stdout(), DisableMouseCapture);
    ratatui::restore();
    ended
}
