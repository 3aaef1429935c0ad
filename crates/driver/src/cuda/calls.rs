//! Constants and structures of the driver calls in [`cuda_calls!`](crate::cuda_calls), and that table as data
//! (cuda.h 13.0).
//!
//! # Invariants
//! Numbers and sizes of structures are those of cuda.h. A test compares them with the header if it is
//! installed.
//!
//! # Limitations
//! Only what PRLX uses is declared.

use std::ffi::c_void;

/// Device attributes (`CUdevice_attribute`).
pub mod attribute {
    /// Number of lanes in a warp.
    pub const WARP_SIZE: i32 = 10;
    /// Number of SMs.
    pub const PROCESSORS: i32 = 16;
    /// Maximum resident threads per SM.
    pub const THREADS: i32 = 39;
    /// Major compute capability.
    pub const MAJOR: i32 = 75;
    /// Minor compute capability.
    pub const MINOR: i32 = 76;
    /// Maximum shared memory of a CTA that opts in to more than the default.
    pub const MAX_SHARED_OPTIN: i32 = 97;
}

/// Function attributes (`CUfunction_attribute`).
pub mod function {
    /// Maximum threads per CTA, as the kernel's registers allow.
    pub const MAX_THREADS: i32 = 0;
    /// Static shared memory in bytes.
    pub const SHARED: i32 = 1;
    /// Local memory per thread in bytes: arrays and spilled registers.
    pub const LOCAL: i32 = 3;
    /// Registers per thread.
    pub const REGISTERS: i32 = 4;
    /// Maximum dynamic shared memory in bytes; can be set.
    pub const MAX_DYNAMIC_SHARED: i32 = 8;
    /// Whether clusters larger than the portable size are allowed; can be set.
    pub const NON_PORTABLE_CLUSTER: i32 = 14;
}

/// Context limits (`CUlimit`).
pub mod limit {
    /// Stack size of a thread in bytes.
    pub const STACK_SIZE: i32 = 0;
}

/// Element types of tensor maps by name (`CUtensorMapDataType`).
pub const TENSOR_TYPES: [(&str, i32); 12] = [
    ("u8", 0),
    ("s8", 0),
    ("u16", 1),
    ("s16", 1),
    ("u32", 2),
    ("s32", 3),
    ("u64", 4),
    ("s64", 5),
    ("f16", 6),
    ("f32", 7),
    ("f64", 8),
    ("bf16", 9),
];

/// Options of the JIT compiler (`CUjit_option`).
pub mod jit {
    /// Maximum registers per thread.
    pub const MAX_REGISTERS: i32 = 0;
    /// Optimisation level, 0 to 4.
    pub const OPTIMIZATION: i32 = 7;
    /// Whether to generate debug information.
    pub const DEBUG: i32 = 11;
    /// Buffer that receives the compiler's errors.
    pub const ERROR_LOG: i32 = 5;
    /// Size of that buffer in bytes.
    pub const ERROR_LOG_SIZE: i32 = 6;
    /// Whether to generate line information.
    pub const LINE_INFO: i32 = 13;
}

/// Keys of a launch's `extra` list, which passes all parameters as one buffer.
pub mod extra {
    /// End of the list.
    pub const END: usize = 0;
    /// The next entry is the address of the buffer.
    pub const BUFFER: usize = 1;
    /// The next entry is the address of the buffer's size.
    pub const SIZE: usize = 2;
}

/// Launch attributes (`CUlaunchAttributeID`).
pub mod launch {
    /// No attribute: the entry is ignored.
    pub const IGNORE: i32 = 0;
    /// Whether all CTAs must be resident at the same time.
    pub const COOPERATIVE: i32 = 2;
    /// Size of a cluster: the first three words of the value.
    pub const CLUSTER_DIMENSION: i32 = 4;
    /// Whether the kernel may start before the previous kernel in its stream has ended (programmatic stream
    /// serialisation).
    pub const PROGRAMMATIC: i32 = 6;
    /// Priority of the launch.
    pub const PRIORITY: i32 = 8;
}

/// Pointer attributes (`CUpointer_attribute`).
pub mod pointer {
    /// Kind of the memory (`CUmemorytype`), for example [`DEVICE`].
    pub const MEMORY_TYPE: i32 = 2;
    /// Host memory that is page-locked (`CU_MEMORYTYPE_HOST`).
    pub const HOST: u32 = 1;
    /// Device memory (`CU_MEMORYTYPE_DEVICE`).
    pub const DEVICE: u32 = 2;
    /// Whether the memory is managed: its pages migrate to the processor that uses them.
    pub const IS_MANAGED: i32 = 8;
    /// Ordinal of the device that owns the memory.
    pub const DEVICE_ORDINAL: i32 = 9;
    /// Start address of the allocation or of the reserved address range.
    pub const RANGE_START: i32 = 11;
    /// Length of that range in bytes.
    pub const RANGE_SIZE: i32 = 12;
    /// Whether the address is backed by memory.
    pub const MAPPED: i32 = 13;
    /// Access of the current context's device, for example [`READ`].
    pub const ACCESS_FLAGS: i32 = 16;
    /// Flag: the memory is readable (`CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ`).
    pub const READ: u32 = 1;
    /// Length in bytes of the memory that is mapped at the address.
    pub const MAPPING_SIZE: i32 = 18;
    /// Start address of that mapping.
    pub const MAPPING_START: i32 = 19;
}

/// Predefined streams and stream flags.
pub mod stream {
    /// The legacy default stream (`CU_STREAM_LEGACY`). A null stream means this one, unless the call uses
    /// per-thread default streams.
    pub const LEGACY: u64 = 1;
    /// The per-thread default stream (`CU_STREAM_PER_THREAD`).
    pub const PER_THREAD: u64 = 2;
    /// Flag: the stream does not synchronise with the legacy default stream (`CU_STREAM_NON_BLOCKING`).
    pub const NON_BLOCKING: u32 = 1;
}

/// Stream capture modes (`CUstreamCaptureMode`) and states.
pub mod capture {
    /// No thread may make potentially unsafe calls.
    pub const GLOBAL: i32 = 0;
    /// Only the capturing thread may not make them.
    pub const THREAD_LOCAL: i32 = 1;
    /// Every thread may make them.
    pub const RELAXED: i32 = 2;
    /// `CUstreamCaptureStatus`: none, active, invalidated.
    pub const STATUS: [i32; 3] = [0, 1, 2];
}

/// Kinds of linker input (`CUjitInputType`).
pub mod input {
    /// PTX text, ending in NUL.
    pub const PTX: i32 = 1;
    /// Fatbin: a container of images.
    pub const FATBIN: i32 = 2;
}

/// Kinds of graph nodes (`CUgraphNodeType`).
pub mod node {
    /// Launch of a kernel.
    pub const KERNEL: i32 = 0;
    /// Copy of memory.
    pub const COPY: i32 = 1;
    /// Fill of memory.
    pub const FILL: i32 = 2;
    /// A child graph.
    pub const GRAPH: i32 = 4;
    /// A node without work.
    pub const EMPTY: i32 = 5;
}

/// Flag of `cuGetProcAddress`: prefer the call that uses per-thread default streams.
pub const PER_THREAD_STREAM: u64 = 2;

/// An attribute of a launch (`CUlaunchAttribute`).
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    /// Which attribute: a constant of [`launch`].
    pub id: i32,
    /// Padding of the C structure.
    pub pad: [u8; 4],
    /// The value: a union of 64 bytes.
    pub value: [u32; 16],
}

/// Shape and stream of a launch (`CUlaunchConfig`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Size of the grid in CTAs, or in clusters for `.blocksareclusters` kernels.
    pub grid: [u32; 3],
    /// Size of a CTA in threads.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Stream; null means the default stream.
    pub stream: *mut c_void,
    /// Array of attributes.
    pub attributes: *mut LaunchAttribute,
    /// Number of attributes.
    pub count: u32,
}

/// Parameters of a kernel node (`CUDA_KERNEL_NODE_PARAMS`). The first version of the structure ends with
/// `extra`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    /// Kernel to launch (`CUfunction`).
    pub function: *mut c_void,
    /// Size of the grid in CTAs.
    pub grid: [u32; 3],
    /// Size of a CTA in threads.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Addresses of the parameters, as in a launch.
    pub params: *mut *mut c_void,
    /// Parameters as one buffer, as in a launch.
    pub extra: *mut *mut c_void,
    /// Kernel to launch (`CUkernel`), if `function` is null.
    pub kernel: *mut c_void,
    /// Context of `kernel`; null means the thread's current context.
    pub context: *mut c_void,
}

/// One launch of a multi-device cooperative launch (`CUDA_LAUNCH_PARAMS`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceLaunch {
    /// Kernel to launch.
    pub function: *mut c_void,
    /// Size of the grid in CTAs.
    pub grid: [u32; 3],
    /// Size of a CTA in threads.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Stream of the launch, which also selects the device.
    pub stream: *mut c_void,
    /// Addresses of the parameters, as in a launch.
    pub params: *mut *mut c_void,
}

/// Parameters of a graph node (`CUgraphNodeParams`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeParams {
    /// Kind of the node: a constant of [`node`].
    pub kind: i32,
    /// Reserved, must be zero.
    pub reserved: [i32; 3],
    /// Parameters of this kind of node.
    pub params: NodeParamsUnion,
    /// Reserved, must be zero.
    pub reserved2: i64,
}

/// The union in [`NodeParams`]; `kind` selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union NodeParamsUnion {
    /// The bytes of any kind.
    pub bytes: [i64; 29],
    /// Parameters of a kernel node.
    pub kernel: KernelNodeParams,
}

/// Parameters of instantiating a graph (`CUDA_GRAPH_INSTANTIATE_PARAMS`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InstantiateParams {
    /// Flags of the instantiation.
    pub flags: u64,
    /// Stream for the upload of the graph.
    pub stream: *mut c_void,
    /// Output: the node that caused an error.
    pub error: *mut c_void,
    /// Output: the kind of error, 0 for success.
    pub result: i32,
}

/// Result of updating an executable graph (`CUgraphExecUpdateResultInfo`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateResult {
    /// Kind of the result; 0 means that the graph was updated.
    pub result: i32,
    /// Node that caused an error.
    pub error: *mut c_void,
    /// Source node of the edge that caused an error.
    pub from: *mut c_void,
}

// Sizes that C compilers give these structures on x86-64 and aarch64.
const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);
const _: () = assert!(size_of::<DeviceLaunch>() == 56);
const _: () = assert!(size_of::<KernelNodeParams>() == 72 && size_of::<NodeParams>() == 256);
const _: () = assert!(size_of::<InstantiateParams>() == 32 && size_of::<UpdateResult>() == 24);

/// A row of the call table as data.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Exported symbol of the call.
    pub name: &'static str,
    /// Rust types of the arguments.
    pub arguments: &'static [&'static str],
    /// CUDA version from which `cuGetProcAddress` returns the call, if several calls share its name.
    pub since: Option<i32>,
}

/// Splits a symbol into its name without version, and whether it uses per-thread default streams:
/// `cuGraphLaunch_ptsz` becomes (`cuGraphLaunch`, true).
pub fn base_name(symbol: &str) -> (&str, bool) {
    let (name, own) = symbol.strip_suffix("_ptsz").map_or((symbol, false), |n| (n, true));
    let versioned = name.rsplit_once("_v").filter(|(_, v)| v.bytes().all(|b| b.is_ascii_digit()));
    (versioned.map_or(name, |(n, _)| n), own)
}

/// Returns the call that a program gets from `cuGetProcAddress` for `name` and a CUDA version: the newest
/// call of that name that is not newer than the version. With `own`, calls with per-thread default streams
/// are preferred.
pub fn call_for_version(name: &str, version: i32, own: bool) -> Option<&'static Call> {
    // cuda.h gives a later call this name, although its symbol differs.
    let renamed =
        |symbol| if symbol == "cuGraphInstantiateWithFlags" { "cuGraphInstantiate" } else { symbol };
    let fits = |c: &&Call| {
        let (plain, of) = base_name(c.name);
        (plain == name || renamed(plain) == name)
            && (own || !of)
            && c.since.is_none_or(|since| since <= version)
    };
    CALLS.iter().filter(fits).max_by_key(|c| (base_name(c.name).1, c.since))
}

macro_rules! list {
    ($($(#[$doc:meta])* $(@$since:literal)? $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// All rows of the call table.
        pub const CALLS: &[Call] = &[$(Call {
            name: stringify!($name),
            arguments: &[$(stringify!($ty)),*],
            since: [$(Some($since),)? $(Some($from),)? None][0],
        },)*];
    };
}
crate::cuda_calls!(list);

#[cfg(test)]
mod tests {
    use super::call_for_version;

    #[test]
    fn programs_get_the_call_of_their_version() {
        for (name, version, own, symbol) in [
            ("cuLaunchKernel", 4000, false, Some("cuLaunchKernel")),
            ("cuLaunchKernel", 7000, true, Some("cuLaunchKernel_ptsz")),
            ("cuMemAlloc", 3020, true, Some("cuMemAlloc_v2")),
            ("cuGetProcAddress", 11030, false, Some("cuGetProcAddress")),
            ("cuGetProcAddress", 13000, false, Some("cuGetProcAddress_v2")),
            ("cuGraphAddKernelNode", 11000, false, Some("cuGraphAddKernelNode")),
            ("cuGraphAddKernelNode", 12000, false, Some("cuGraphAddKernelNode_v2")),
            ("cuGraphInstantiate", 11000, false, Some("cuGraphInstantiate_v2")),
            ("cuGraphInstantiate", 12000, false, Some("cuGraphInstantiateWithFlags")),
            ("cuGraphInstantiateWithParams", 12000, true, Some("cuGraphInstantiateWithParams_ptsz")),
            ("cuLibraryLoadData", 11080, false, None),
            ("cuNothing", 13000, false, None),
        ] {
            assert_eq!(
                call_for_version(name, version, own).map(|c| c.name),
                symbol,
                "{name} {version} {own}"
            );
        }
    }
}
