//! Records launches of a program that knows nothing of it: many at a time, from any thread, into memory that
//! is bounded.
//!
//! **Way of a launch.** [`Recorder::begin`] places it and gives the hidden parameter, which leads to its
//! context; the program's launch is made with it; [`Recorder::queued`] puts an event behind it into its
//! stream, as `begin` did before it: between them lies how long it ran. A thread of the recorder's own
//! (`copy_thread`) sees the event pass and copies what was recorded to the host beside the program's work; another
//! (`scribe`) takes it apart and hands the launch on. After the program has waited for its launches itself,
//! [`Recorder::wait_for_copies`] waits until they are copied: they are safe then.
//!
//! **Generations.** Device memory is taken once and split in two (`layout`). Launches go to the open
//! generation. When that fills, or is a moment old, the other is opened if it is clean; a closed one is
//! drained when all its launches have ended, zeroed, and clean again.
//!
//! **Room.** A launch is promised what it is likely to write (`size_estimate`), and a generation takes launches as
//! long as what was written and what is promised fit into it; one launch at least, however large. When
//! neither has room, `begin` waits a little, and only as long as launches still end. Then the launch goes
//! where its heads have room, and what runs over is counted; if they have none it runs unrecorded and is said
//! to.
//!
//! **Contexts** lie in device memory and are copied there before the launch, many of a kind at a time, while
//! the launching thread waits for the copy, which nothing of the program's can hold up for long. An event for
//! the program's stream to wait for could end up behind a kernel that waits for the host; contexts in the
//! host's memory would be read over the bus by every warp.
//!
//! **Graphs.** A node's context has a place of its own ([`Recorder::node`]), whose address is what the graph
//! was built with. Before each launch of the graph, [`Recorder::replay`] puts fresh contexts there by a copy
//! in the graph's own stream; one of zeros records nothing.
//!
//! **Probe programs** have no streams. Their records lie where launches' hashes do; their tables are a
//! module's (`tables`), are copied by the same thread, and [`Recorder::tallies`] says what was in them.
//!
//! **Markers** leave tracks, which are a launch's and come back with it. How much room a track gets is a
//! guess, half of a generation for a launch, until a launch of the same kernel has said how much it wanted.
//!
//! **Use.** One recorder a context, made before anything runs there that waits for the host: at its first
//! module. Where a call is for the thread's own default stream, the stream is `CU_STREAM_PER_THREAD`. A
//! stream that is captured takes nodes, not launches. Before the context is reset or destroyed, and before
//! the process ends, [`Recorder::finish`].
//!
//! # Invariants
//! Nothing is allocated, freed, set or waited for in a stream of the program, but for the copies before a
//! graph's launch, and their wait for the same graph's launch before, for which the graph itself would wait;
//! no call breaks a capture; every wait of a thread of the program is bounded, by [`MAX_LAUNCH_WAIT`] at most; asked
//! = recorded + unfinished + unrecorded + unsaid + cancelled when the recording has ended. A forked child
//! records nothing.
//! # Limitations
//! What is taken from the driver goes back with the context, for freeing waits for the device; events between
//! two launches end the overlap of programmatic dependent launches; times of the launches of graphs; a launch
//! into a stream that has nothing to do is timed from when its event came there; a kernel that never ends
//! holds its generation until the end, so half of the memory is left; what had ended before a fault and was
//! not yet copied is lost with the context, for only the host's memory can be read then
//! ([`Recorder::queued_alone`] loses nothing); digests of the program's buffers; nodes of a graph that run
//! several times in one launch of it (bodies of loops) would write over themselves and must not be given
//! contexts.

mod batch;
mod copy_thread;
mod create;
mod decode_thread;
mod graph;
mod handle;
mod launch;
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
