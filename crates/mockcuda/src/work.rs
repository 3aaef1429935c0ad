//! The work that a program can put into a stream.

use prlx_driver::LaunchConfig;

/// A piece of work in a stream or in a graph. Functions, events and graphs are handles; sizes are in bytes.
#[derive(Clone)]
pub enum Work {
    /// Does nothing, but waits for the work before it.
    Nothing,
    /// Launches a kernel. `cooperative`: with all CTAs resident.
    Launch { function: u64, config: LaunchConfig, params: Vec<u8>, cooperative: bool },
    /// Copies from host to device.
    Write { to: u64, bytes: HostBytes },
    /// Copies from device to host.
    Read { to: usize, from: u64, bytes: usize },
    /// Copies on the device.
    Copy { to: u64, from: u64, bytes: usize },
    /// Sets each byte.
    Fill { to: u64, value: u8, bytes: usize },
    /// Frees device memory.
    Free(u64),
    /// Marks an event as passed.
    Event(u64),
    /// A child graph; exists in graphs only.
    Graph(u64),
}

/// Host bytes for a copy to the device.
#[derive(Clone)]
pub enum HostBytes {
    /// The bytes when the call was made.
    Copied(Vec<u8>),
    /// Address and size of the memory that is read when the copy runs.
    At(usize, usize),
}
