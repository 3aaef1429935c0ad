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
mod subject;
mod terminal;

pub use app::{Action, App};
pub use subject::{Looker, Subject};
pub use terminal::run;
