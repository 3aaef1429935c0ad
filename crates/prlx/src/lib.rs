//! PRLX as a library: everything the command line does, as functions over values.
//!
//! A function takes launch files, recordings or a program to run, options as plain data, and a [`Monitor`].
//! It returns a value: a trace, a report, the outcomes of many runs, a timeline, tables. Turning that value
//! into text is the business of `prlx-present`; choosing what to call is the business of the command line.
//!
//! # Invariants
//! - Nothing here prints, parses arguments or ends the process. Progress, notes and warnings go to the
//!   [`Monitor`].
//! - Long work asks [`Monitor::check`] between two steps and ends with [`Cancelled`] if the caller wants it
//!   to.
//! - Files are written where the options say so, and nowhere else but in the temporary folder.
//!
//! # Limitations
//! - Signals that reach this process while a program runs go on to that program (see [`record::Supervisor`]).

pub mod amd;
pub mod code;
pub mod compare;
pub mod contract;
pub mod convert;
pub mod cost;
pub mod device;
pub mod diff;
pub mod doctor;
pub mod gate;
pub mod input;
pub mod inspect;
pub mod joined_findings;
pub mod legacy;
pub mod merge;
mod monitor;
pub mod probe;
pub mod profile;
pub mod record;
pub mod repeat;
pub mod schedules;
mod summary;
pub mod template;
pub mod timeline;

pub use monitor::{Activity, Cancelled, Event, Monitor};
pub use summary::SessionSummary;

/// The result of a library function; an error is a chain of causes, the outermost first.
pub type Result<T> = anyhow::Result<T>;
