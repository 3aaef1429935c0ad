//! What the calls of the table ([`cuda_calls!`](crate::cuda_calls)) take: numbers and structures (cuda.h
//! 13.0); and the table as data.
//!
//! # Invariants
//! Numbers and the structures' sizes are cuda.h's; a test reads the header where there is one. Misses: what
//! is not used.

use std::ffi::c_void;

/// `CUdevice_attribute`.
pub mod attribute {
    /// Lanes in a warp.
    pub const WARP_SIZE: i32 = 10;
    /// Multiprocessors.
    pub const PROCESSORS: i32 = 16;
    /// Threads that a multiprocessor has room for.
    pub const THREADS: i32 = 39;
    /// Compute capability, before the point.
    pub const MAJOR: i32 = 75;
    /// Compute capability, after the point.
    pub const MINOR: i32 = 76;
    /// Shared memory of a CTA that asks for more than the usual.
    pub const MAX_SHARED_OPTIN: i32 = 97;
}

/// `CUfunction_attribute`.
pub mod function {
    /// Most threads of a CTA, as its registers allow.
    pub const MAX_THREADS: i32 = 0;
    /// Static shared memory, bytes.
    pub const SHARED: i32 = 1;
    /// Local memory of a thread, bytes: arrays and spilt registers.
    pub const LOCAL: i32 = 3;
    /// Registers of a thread.
    pub const REGISTERS: i32 = 4;
    /// Most dynamic shared memory, bytes.
    pub const MAX_DYNAMIC_SHARED: i32 = 8;
    /// Whether clusters may be larger than every device of the kind can run.
    pub const NON_PORTABLE_CLUSTER: i32 = 14;
}

/// `CUlimit`.
pub mod limit {
    /// Stack of a thread, bytes.
    pub const STACK_SIZE: i32 = 0;
}

/// `CUtensorMapDataType`, by the type's name.
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

/// `CUjit_option`.
pub mod jit {
    /// At most so many registers.
    pub const MAX_REGISTERS: i32 = 0;
    /// `-O0` to `-O4`.
    pub const OPTIMIZATION: i32 = 7;
    /// Keep what a debugger needs.
    pub const DEBUG: i32 = 11;
    /// Where the JIT's errors are written.
    pub const ERROR_LOG: i32 = 5;
    /// How long that is, bytes.
    pub const ERROR_LOG_SIZE: i32 = 6;
    /// Keep source lines.
    pub const LINE_INFO: i32 = 13;
}

/// Parameters as one buffer: what `extra` of a launch holds.
pub mod extra {
    /// Ends the list.
    pub const END: usize = 0;
    /// Then: address of the buffer.
    pub const BUFFER: usize = 1;
    /// Then: address of its size.
    pub const SIZE: usize = 2;
}

/// `CUlaunchAttributeID`.
pub mod launch {
    /// Nothing.
    pub const IGNORE: i32 = 0;
    /// Whether all CTAs run at once.
    pub const COOPERATIVE: i32 = 2;
    /// The value's first three words are the cluster's sizes.
    pub const CLUSTER_DIMENSION: i32 = 4;
    /// Whether the kernel may start before the one in front of it in its stream has ended.
    pub const PROGRAMMATIC: i32 = 6;
    /// Which goes first.
    pub const PRIORITY: i32 = 8;
}

/// `CUpointer_attribute`.
pub mod pointer {
    /// What kind of memory: [`DEVICE`] or another.
    pub const MEMORY_TYPE: i32 = 2;
    /// `CU_MEMORYTYPE_DEVICE`.
    pub const DEVICE: u32 = 2;
    /// Whether pages go to where they are used.
    pub const IS_MANAGED: i32 = 8;
    /// The device that it is of.
    pub const DEVICE_ORDINAL: i32 = 9;
    /// Where its allocation begins, or what was reserved for allocations.
    pub const RANGE_START: i32 = 11;
    /// How long that is, bytes.
    pub const RANGE_SIZE: i32 = 12;
    /// Whether there is memory.
    pub const MAPPED: i32 = 13;
    /// What the current context's device may do there: [`READ`].
    pub const ACCESS_FLAGS: i32 = 16;
    /// `CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ`, a bit.
    pub const READ: u32 = 1;
    /// How long the memory is that lies there, bytes.
    pub const MAPPING_SIZE: i32 = 18;
    /// Where it begins.
    pub const MAPPING_START: i32 = 19;
}

/// Streams that are always there.
pub mod stream {
    /// `CU_STREAM_LEGACY`: what no stream means, where it does not mean the thread's own.
    pub const LEGACY: u64 = 1;
    /// `CU_STREAM_PER_THREAD`.
    pub const PER_THREAD: u64 = 2;
    /// `CU_STREAM_NON_BLOCKING`, a flag: neither waits for the legacy stream nor makes it wait.
    pub const NON_BLOCKING: u32 = 1;
}

/// `CUstreamCaptureMode`.
pub mod capture {
    /// No thread may make calls that could wait.
    pub const GLOBAL: i32 = 0;
    /// The capturing thread may not.
    pub const THREAD_LOCAL: i32 = 1;
    /// Every thread may.
    pub const RELAXED: i32 = 2;
    /// `CUstreamCaptureStatus`: no capture, one, one that failed.
    pub const STATUS: [i32; 3] = [0, 1, 2];
}

/// `CUjitInputType`.
pub mod input {
    /// Text.
    pub const PTX: i32 = 1;
    /// A container of images.
    pub const FATBIN: i32 = 2;
}

/// `CUgraphNodeType`.
pub mod node {
    /// A kernel.
    pub const KERNEL: i32 = 0;
    /// A copy.
    pub const COPY: i32 = 1;
    /// Setting bytes.
    pub const FILL: i32 = 2;
    /// A graph.
    pub const GRAPH: i32 = 4;
    /// Nothing.
    pub const EMPTY: i32 = 5;
}

/// Flags of `cuGetProcAddress`: the calls whose default stream is the thread's own.
pub const PER_THREAD_STREAM: u64 = 2;

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    /// Which.
    pub id: i32,
    /// Unused.
    pub pad: [u8; 4],
    /// The value, a union of 64 bytes.
    pub value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Stream; null is the default one.
    pub stream: *mut c_void,
    /// Attributes.
    pub attributes: *mut LaunchAttribute,
    /// How many.
    pub count: u32,
}

/// `CUDA_KERNEL_NODE_PARAMS`. Its first version ends with `extra`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    /// `CUfunction`.
    pub function: *mut c_void,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// As in a launch.
    pub params: *mut *mut c_void,
    /// As in a launch.
    pub extra: *mut *mut c_void,
    /// `CUkernel`, if there is no function.
    pub kernel: *mut c_void,
    /// Its context, if it is not the thread's.
    pub context: *mut c_void,
}

/// `CUDA_LAUNCH_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceLaunch {
    /// The kernel.
    pub function: *mut c_void,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Its stream, which says the device.
    pub stream: *mut c_void,
    /// As in a launch.
    pub params: *mut *mut c_void,
}

/// `CUgraphNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeParams {
    /// One of [`node`]'s.
    pub kind: i32,
    /// Zeros.
    pub reserved: [i32; 3],
    /// By kind.
    pub params: NodeParamsUnion,
    /// Zero.
    pub reserved2: i64,
}

/// What [`NodeParams`] hold, by kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub union NodeParamsUnion {
    /// Whatever it is.
    pub bytes: [i64; 29],
    /// Of a kernel.
    pub kernel: KernelNodeParams,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InstantiateParams {
    /// Flags.
    pub flags: u64,
    /// Where it is uploaded.
    pub stream: *mut c_void,
    /// Out: the node that is wrong.
    pub error: *mut c_void,
    /// Out: what is wrong; 0 is nothing.
    pub result: i32,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateResult {
    /// 0: it was updated.
    pub result: i32,
    /// The node that is wrong.
    pub error: *mut c_void,
    /// The node before it.
    pub from: *mut c_void,
}

// What the compiler makes of cuda.h for x86-64 and aarch64.
const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);
const _: () = assert!(size_of::<DeviceLaunch>() == 56);
const _: () = assert!(size_of::<KernelNodeParams>() == 72 && size_of::<NodeParams>() == 256);
const _: () = assert!(size_of::<InstantiateParams>() == 32 && size_of::<UpdateResult>() == 24);

/// A row of the table, for those who check it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The symbol.
    pub name: &'static str,
    /// Types of its arguments, in Rust.
    pub arguments: &'static [&'static str],
    /// From which version of CUDA programs get it, where that matters.
    pub since: Option<i32>,
}

/// A symbol's name without its version, and whether its default stream is the thread's own: (`cuGraphLaunch`,
/// true) of `cuGraphLaunch_ptsz`.
pub fn base_name(symbol: &str) -> (&str, bool) {
    let (name, own) = symbol.strip_suffix("_ptsz").map_or((symbol, false), |n| (n, true));
    let versioned = name.rsplit_once("_v").filter(|(_, v)| v.bytes().all(|b| b.is_ascii_digit()));
    (versioned.map_or(name, |(n, _)| n), own)
}

/// What a program gets that asks `cuGetProcAddress` for `name`, for a version of CUDA: the last of the calls
/// of that name that is not newer; with `own`, those whose default stream is the thread's own before others.
pub fn call_for_version(name: &str, version: i32, own: bool) -> Option<&'static Call> {
    // The header's name for a later call that is not called so.
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
        /// The table as data.
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
