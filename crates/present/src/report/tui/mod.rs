//! A report in an interactive viewer on a terminal.
//!
//! [`App`] holds the state and does not depend on a terminal: it receives keys and clicks, and [`App::draw`]
//! draws it into a frame of any size. [`run`] is the event loop. `pane` produces the lines of each view.
//!
//! # Invariants
//! - Selection, search and filter survive every change of size.
//! - Text from traces is escaped.
//! - A recording is read only when a view needs it.
//!
//! # Limitations
//! The viewer shows one finding at a time.

mod app;
mod draw;
mod pane;
mod subject;
mod terminal;

pub use app::{Action, App};
pub use subject::{Looker, Subject};
pub use terminal::run;
