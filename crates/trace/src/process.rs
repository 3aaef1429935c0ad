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
    /// A process that launched kernels.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Process {
        /// Process id on its host.
        pub pid: u32,
        /// Name of the host.
        pub host: String,
        /// Rank among all processes of a distributed run (`RANK`), if set.
        pub rank: Option<u32>,
        /// Rank among the processes of its host (`LOCAL_RANK`), if set.
        pub local_rank: Option<u32>,
        /// Number of processes of the run (`WORLD_SIZE`), if set.
        pub world_size: Option<u32>,
        /// Command line, program first. Bytes that are not UTF-8 are replaced.
        pub command: Vec<String>,
        /// When recording began, since 1 January 1970 UTC.
        pub started: Nanos,
        /// Devices of the process, by ordinal.
        pub devices: Vec<Device>,
        /// Versions of the software, as pairs of a name, such as `driver` or `ptxas`, and a version.
        pub versions: Vec<(String, String)>,
    }

    /// A device that a process can launch on.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Device {
        /// Ordinal of the device in the process.
        pub ordinal: u32,
        /// Name of the device, for example `NVIDIA H200`.
        pub name: String,
        /// Unique id of the device; empty if it has none.
        pub uuid: String,
        /// Compute capability: major and minor.
        pub capability: (u32, u32),
    }

    /// Code that was not instrumented. Its launches are in the list of launches, with the same reason.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Skipped {
        /// Name of the module.
        pub module: String,
        /// Name of the kernel, as in the module. `None` if it concerns all kernels of the module.
        pub kernel: Option<String>,
        /// The reason, for reports.
        pub reason: String,
    }
}
