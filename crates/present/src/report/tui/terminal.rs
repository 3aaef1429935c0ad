//! The event loop around the viewer.

use std::io::{self, Write};

use ratatui::crossterm::clipboard::CopyToClipboard;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event};
use ratatui::crossterm::execute;

use super::app::{Action, App};
use super::subject::Subject;

/// Shows a report on this terminal until the user quits.
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
                _ => Action::Continue,
            };
            match flow {
                Action::Continue => {}
                Action::Copy(text) => {
                    execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))?;
                    io::stdout().flush()?;
                }
                Action::Quit => return Ok(()),
            }
        }
    })();
    let _ = execute!(io::stdout(), DisableMouseCapture);
    ratatui::restore();
    ended
}
