//! Records the launches of a program that does not know about it: many at a time, from any thread, in bounded
//! memory.
//!
//! # A launch
//! [`Recorder::begin`] reserves a slot and returns the hidden parameter, with which the program's launch is
//! made. [`Recorder::queued`] records an event behind it in its stream. `begin` records one before it, so the
//! two give its run time. The copy thread (`copy_thread`) sees the event pass and copies the data to the host
//! beside the program's work. The decode thread (`decode_thread`) decodes it and delivers the launch to the
//! sink. After the program has waited for its launches, [`Recorder::wait_for_copies`] waits until they are
//! copied. From then on they cannot be lost.
//!
//! An event costs the stream some 2 us, as much as a short kernel. So short launches into a busy legacy
//! default stream share the event of a later launch, which comes after 15 of them at most. Their run times
//! are not measured, and they count as ended a little later. When the program waits, and before a stream is
//! captured, they get their event.
//!
//! # Generations
//! Device memory is allocated once and split into two generations (`layout`). Launches go to the open
//! generation. When that is full, or old enough, the other one is opened if it is clean. A closed generation
//! is copied when all its launches have ended, then zeroed, and is clean again.
//!
//! # Size estimates
//! The recorder estimates what a launch will write (`size_estimate`). A generation accepts launches as long
//! as the bytes written and the estimates fit into it, but always at least one launch. If neither generation
//! has room, `begin` waits for a short time, as long as other launches still end. Then the launch goes where
//! its heads fit, and elements beyond the pool are counted as dropped. If its heads fit nowhere, it runs
//! unrecorded and is reported as such.
//!
//! # Contexts
//! Contexts lie in device memory. They are copied there before the launch, many of a kind at a time, while
//! the launching thread waits for the copy; no work of the program can delay that for long. The alternatives
//! are worse: if the program's stream waited for an event, that event could end up behind a kernel that waits
//! for the host; and every warp would read a context in host memory over the bus.
//!
//! # Graphs
//! The context of a graph's node has a fixed address ([`Recorder::node`]), with which the graph is built.
//! Before each launch of the graph, [`Recorder::replay`] fills the contexts by a copy in the graph's own
//! stream. A context of zeros records nothing.
//!
//! # Probes and markers
//! Probe programs have no streams. Their records take the place of hashes. Their tables belong to a module
//! (`tables`); the copy thread copies them, and [`Recorder::tallies`] returns their contents. Tracks of
//! markers belong to a launch. Until the size of a kernel's tracks is known from an earlier launch, a launch
//! gets half of a generation for them.
//!
//! # Hashes of launches
//! A recorder may keep only hashes of whole launches (`launch_hashes`). The device makes them before the
//! copy, so that the host neither copies nor decodes what the warps left.
//!
//! # Use
//! Create one recorder per context, at its first module, before any kernel runs that waits for the host. If a
//! call means the per-thread default stream, pass `CU_STREAM_PER_THREAD`. Captured streams get nodes instead
//! of launches. Call [`Recorder::finish`] before the context is reset or destroyed, and before the process
//! ends.
//!
//! # Invariants
//! - In streams of the program, the recorder only records events. Before a launch of a graph it also makes
//!   one copy, which waits for the previous launch of the same graph, as the graph itself would.
//! - No call invalidates a stream capture.
//! - Every wait of a thread of the program is bounded, by [`MAX_LAUNCH_WAIT`] at most.
//! - When the recording has ended, requested = recorded + unfinished + unrecorded + unlisted + cancelled.
//! - A forked process records nothing.
//!
//! # Limitations
//! - Memory is freed only with the context, because freeing waits for the device.
//! - Events between two launches end the overlap of programmatic dependent launches.
//! - Launches of graphs are not timed. A launch into an idle stream is timed from the moment its first event
//!   reaches the stream.
//! - A kernel that never ends keeps its generation, so half of the memory is left.
//! - Launches that ended before a fault and were not copied are lost with the context, unless the memory is
//!   the host's. [`Recorder::queued_alone`] loses none.
//! - The recorder makes no digests of the program's buffers.
//! - Graph nodes that run several times in one launch, as in loop bodies, would overwrite their own data.
//!   They must not have contexts.

mod batch;
mod copy_thread;
mod create;
mod decode_thread;
mod graph;
mod handle;
mod launch;
pub(crate) mod launch_hashes;
mod layout;
mod limits;
mod shared;
mod size_estimate;
mod state;
mod tables;
mod unfinished;

pub use graph::{NodeId, Replay};
pub use handle::Recorder;
pub use launch::{Finished, RecorderMemory, Running, Ticket, UnrecordedReason};
pub use limits::{MAX_COPY_WAIT, MAX_LAUNCH_WAIT};
pub use state::{Counts, HostTimes, TimeSpent};
