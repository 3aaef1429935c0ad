//! The work that a program can put into a stream.

use prlx_driver::LaunchConfig;

/// What can be asked for in a stream.
#[derive(Clone)]
pub enum Work {
    Nothing,
    Launch { function: u64, config: LaunchConfig, params: Vec<u8> },
    Write { to: u64, bytes: Host },
    Read { to: usize, from: u64, bytes: usize },
    Copy { to: u64, from: u64, bytes: usize },
    Fill { to: u64, value: u8, bytes: usize },
    Free(u64),
    Event(u64),
    Graph(u64),
}

/// Bytes of the host's: a copy, or where they will be when it is time.
#[derive(Clone)]
pub enum Host {
    Copied(Vec<u8>),
    At(usize, usize),
}
