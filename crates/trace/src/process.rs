//! The recorded process, and code that ran without instrumentation.
//!
//! A file holds at most one process: none for a recording of a launch file, one for each process of a
//! program. The folder of the files says which of them belong together (docs/sessions.md).
//!
//! # Limitations
//! The process section is written first. What the process learns later, such as a device first used after the
//! first launch, is not in it.

use crate::ids::Nanos;

structures! {
    /// A process that launched.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Process {
        /// Its number on its host.
        pub pid: u32,
        /// The host's name.
        pub host: String,
        /// Its place among all processes of a distributed run: `RANK`, where set.
        pub rank: Option<u32>,
        /// Its place among those of its host: `LOCAL_RANK`, where set.
        pub local_rank: Option<u32>,
        /// How many processes there are: `WORLD_SIZE`, where set.
        pub world_size: Option<u32>,
        /// Its command line, program first; bytes that are no UTF-8 are replaced.
        pub command: Vec<String>,
        /// When it began to be recorded, in nanoseconds since 1970.
        pub started: Nanos,
        /// Its devices, by ordinal.
        pub devices: Vec<Device>,
        /// Versions of what took part: a name, as `driver` or `ptxas`, and its version.
        pub versions: Vec<(String, String)>,
    }

    /// A device that a process can launch on.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Device {
        /// Its number in the process.
        pub ordinal: u32,
        /// In words, as `NVIDIA H200`.
        pub name: String,
        /// What tells it from all others; empty if it does not say.
        pub uuid: String,
        /// Compute capability: major and minor.
        pub capability: (u32, u32),
    }

    /// Code that runs untouched. Launches of it are among the others, and say so again.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Skipped {
        /// What the module is called.
        pub module: String,
        /// The kernel, as in the module; `None`: all that the module has.
        pub kernel: Option<String>,
        /// Reason, for the user.
        pub reason: String,
    }
}
