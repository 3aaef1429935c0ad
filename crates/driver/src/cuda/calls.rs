//! The calls of the CUDA driver API that are used, declared once: name with its version suffix, and signature (cuda.h 13.0).
//!
//! [`cuda_calls!`](crate::cuda_calls) is the table. The loader makes its function pointers from it, a mock its exports.
//! Holds: each row is as cuda.h has it; a test reads the header where there is one.
//! Misses: every call returns `CUresult`, an `i32`; 64-bit Linux only.

use std::ffi::c_void;

/// Hands the table to a macro: `cuda_calls!(make)` expands to `make! { … }` with a row for each call.
#[macro_export]
macro_rules! cuda_calls {
    ($make:ident) => {
        $make! {
            /// Starts the driver.
            cuInit(flags: u32);
            /// 1000 * major + 10 * minor of the newest CUDA that the driver knows.
            cuDriverGetVersion(version: *mut i32);
            /// The short name of an error.
            cuGetErrorName(error: i32, text: *mut *const ::core::ffi::c_char);
            /// An error in words.
            cuGetErrorString(error: i32, text: *mut *const ::core::ffi::c_char);
            /// How many devices there are.
            cuDeviceGetCount(count: *mut i32);
            /// A device by its ordinal.
            cuDeviceGet(device: *mut i32, ordinal: i32);
            /// Its name.
            cuDeviceGetName(name: *mut ::core::ffi::c_char, len: i32, device: i32);
            /// One of [`Attribute`](crate::cuda::calls::attribute)'s numbers.
            cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32);
            /// Bytes of its memory.
            cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
            /// The context that the runtime API shares with us.
            cuDevicePrimaryCtxRetain(context: *mut *mut ::core::ffi::c_void, device: i32);
            /// Gives it back; the last one destroys it.
            cuDevicePrimaryCtxRelease_v2(device: i32);
            /// Makes a context the calling thread's.
            cuCtxSetCurrent(context: *mut ::core::ffi::c_void);
            /// Sets one of [`limit`](crate::cuda::calls::limit)'s.
            cuCtxSetLimit(limit: i32, value: usize);
            /// The calling thread's context, or null.
            cuCtxGetCurrent(context: *mut *mut ::core::ffi::c_void);
            /// How the calling thread treats captures of others; sets it and gives what it was. Relaxed, no call of it breaks one.
            cuThreadExchangeStreamCaptureMode(mode: *mut i32);
            /// Waits for everything; gives the error of what failed.
            cuCtxSynchronize();
            /// Loads PTX (ending in NUL), a cubin or a fatbin.
            cuModuleLoadDataEx(
                module: *mut *mut ::core::ffi::c_void,
                image: *const ::core::ffi::c_void,
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void
            );
            /// Unloads it.
            cuModuleUnload(module: *mut ::core::ffi::c_void);
            /// A kernel of a module.
            cuModuleGetFunction(
                function: *mut *mut ::core::ffi::c_void,
                module: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// What a kernel needs: registers, shared memory …
            cuFuncGetAttribute(value: *mut i32, attribute: i32, function: *mut ::core::ffi::c_void);
            /// What a kernel may have: dynamic shared memory, large clusters.
            cuFuncSetAttribute(function: *mut ::core::ffi::c_void, attribute: i32, value: i32);
            /// How many CTAs of a kernel a multiprocessor runs at once.
            cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctas: *mut i32,
                function: *mut ::core::ffi::c_void,
                threads: i32,
                shared: usize
            );
            /// Allocates, aligned to 256 bytes at least.
            cuMemAlloc_v2(at: *mut u64, bytes: usize);
            /// Frees.
            cuMemFree_v2(at: u64);
            /// Copies to the device.
            cuMemcpyHtoD_v2(to: u64, from: *const ::core::ffi::c_void, bytes: usize);
            /// Copies from the device.
            cuMemcpyDtoH_v2(to: *mut ::core::ffi::c_void, from: u64, bytes: usize);
            /// Sets bytes.
            cuMemsetD8_v2(to: u64, value: u8, bytes: usize);
            /// Allocates host memory that the device's copy engines reach.
            cuMemHostAlloc(to: *mut *mut ::core::ffi::c_void, bytes: usize, flags: u32);
            /// Frees it.
            cuMemFreeHost(at: *mut ::core::ffi::c_void);
            /// Copies to the device when the stream comes to it.
            cuMemcpyHtoDAsync_v2(to: u64, from: *const ::core::ffi::c_void, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Copies from the device when the stream comes to it.
            cuMemcpyDtoHAsync_v2(to: *mut ::core::ffi::c_void, from: u64, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Sets bytes when the stream comes to it.
            cuMemsetD8Async(to: u64, value: u8, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Makes a tensor map, of 128 bytes at a multiple of 64.
            cuTensorMapEncodeTiled(
                map: *mut ::core::ffi::c_void,
                element: i32,
                rank: u32,
                at: *mut ::core::ffi::c_void,
                sizes: *const u64,
                strides: *const u64,
                tile: *const u32,
                steps: *const u32,
                interleave: i32,
                swizzle: i32,
                promotion: i32,
                fill: i32
            );
            /// Starts a kernel.
            cuLaunchKernelEx(
                config: *const $crate::cuda::calls::LaunchConfig,
                function: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Makes a stream. Priorities beyond the device's are taken as its highest or lowest.
            cuStreamCreateWithPriority(stream: *mut *mut ::core::ffi::c_void, flags: u32, priority: i32);
            /// Destroys one; work that is in it is still done.
            cuStreamDestroy_v2(stream: *mut ::core::ffi::c_void);
            /// Makes what follows in a stream wait for an event.
            cuStreamWaitEvent(stream: *mut ::core::ffi::c_void, event: *mut ::core::ffi::c_void, flags: u32);
            /// Makes an event.
            cuEventCreate(event: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Puts it into a stream; null is the default stream.
            cuEventRecord(event: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// Whether everything has passed that its last record stood behind.
            cuEventQuery(event: *mut ::core::ffi::c_void);
            /// Milliseconds between two events that have passed.
            cuEventElapsedTime(
                milliseconds: *mut f32,
                start: *mut ::core::ffi::c_void,
                end: *mut ::core::ffi::c_void
            );
            /// Destroys an event.
            cuEventDestroy_v2(event: *mut ::core::ffi::c_void);
        }
    };
}

/// `CUdevice_attribute`.
pub mod attribute {
    /// Lanes in a warp.
    pub const WARP_SIZE: i32 = 10;
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

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`: the value's first three words are the cluster's sizes.
pub const CLUSTER_DIMENSION: i32 = 4;

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

// What the compiler makes of cuda.h for x86-64 and aarch64.
const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);

/// A row of the table, for those who check it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The symbol.
    pub name: &'static str,
    /// Types of its arguments, in Rust.
    pub arguments: &'static [&'static str],
}

macro_rules! list {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// The table as data.
        pub const CALLS: &[Call] =
            &[$(Call { name: stringify!($name), arguments: &[$(stringify!($ty)),*] },)*];
    };
}
cuda_calls!(list);
