//! CUDA's error codes: the kind of error that each becomes, and advice for the user.
//!
//! # Invariants
//! Names and numbers are those of cuda.h. A test compares them with the header if it is installed.
//!
//! # Limitations
//! Only codes of calls that PRLX makes are listed.

use crate::error::ErrorKind;

/// An error code of the driver.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// Number of the code (`CUresult`).
    pub code: i32,
    /// Name of the code without `CUDA_ERROR_`.
    pub name: &'static str,
    /// Kind of error that it becomes.
    pub kind: ErrorKind,
    /// Advice for the user; empty if there is none.
    pub help: &'static str,
}

macro_rules! codes {
    ($($code:literal $name:ident $kind:ident $help:literal;)*) => {
        /// Known codes, in ascending order.
        pub const CODES: &[Code] =
            &[$(Code { code: $code, name: stringify!($name), kind: ErrorKind::$kind, help: $help },)*];
    };
}

codes! {
    1 INVALID_VALUE Launch "";
    2 OUT_OF_MEMORY Memory "`nvidia-smi` shows who holds the device's memory; --memory makes the recording's smaller";
    3 NOT_INITIALIZED Device "";
    4 DEINITIALIZED Device "";
    34 STUB_LIBRARY Device "the libcuda.so.1 that was found is the toolkit's stub, good for linking only: take its folder out of LD_LIBRARY_PATH";
    36 CALL_REQUIRES_NEWER_DRIVER Device "a newer driver is needed";
    46 DEVICE_UNAVAILABLE Device "another process may have the device for itself (`nvidia-smi -q -d COMPUTE` shows the compute mode)";
    100 NO_DEVICE Device "is there a GPU (`nvidia-smi`), and does CUDA_VISIBLE_DEVICES leave it visible?";
    101 INVALID_DEVICE Device "`prlx doctor` lists the devices";
    200 INVALID_IMAGE Module "";
    201 INVALID_CONTEXT Device "";
    209 NO_BINARY_FOR_GPU Module "the module was made for another architecture than this device's: compile it for this one, or keep its PTX";
    214 ECC_UNCORRECTABLE Device "the device's memory failed: reset it";
    218 INVALID_PTX Module "";
    220 NVLINK_UNCORRECTABLE Device "";
    221 JIT_COMPILER_NOT_FOUND Module "the driver's PTX compiler is not installed: set PRLX_PTXAS to a ptxas";
    222 UNSUPPORTED_PTX_VERSION Module "the PTX is newer than the driver: update it, or set PRLX_PTXAS to a ptxas that knows the module's `.version`";
    223 JIT_COMPILATION_DISABLED Module "CUDA_DISABLE_PTX_JIT is set: unset it, or set PRLX_PTXAS to a ptxas";
    300 INVALID_SOURCE Module "";
    301 FILE_NOT_FOUND File "";
    400 INVALID_HANDLE NotFound "";
    500 NOT_FOUND NotFound "";
    600 NOT_READY Device "";
    700 ILLEGAL_ADDRESS Fault "";
    701 LAUNCH_OUT_OF_RESOURCES Launch "the kernel needs more registers or shared memory than a CTA of this size can have: launch smaller CTAs";
    702 LAUNCH_TIMEOUT Stuck "the device also drives a display, and its kernels may only run for seconds";
    709 CONTEXT_IS_DESTROYED Device "";
    710 ASSERT Fault "";
    714 HARDWARE_STACK_ERROR Fault "";
    715 ILLEGAL_INSTRUCTION Fault "";
    716 MISALIGNED_ADDRESS Fault "";
    717 INVALID_ADDRESS_SPACE Fault "";
    718 INVALID_PC Fault "";
    719 LAUNCH_FAILED Fault "";
    720 COOPERATIVE_LAUNCH_TOO_LARGE Launch "all CTAs of a cooperative launch must be resident: launch fewer or smaller CTAs";
    801 NOT_SUPPORTED Unsupported "";
    802 SYSTEM_NOT_READY Device "the system's NVIDIA services are not up (nvidia-fabricmanager on machines with NVSwitch)";
    803 SYSTEM_DRIVER_MISMATCH Device "libcuda and the kernel's driver are of different versions: after an update, restart";
    804 COMPAT_NOT_SUPPORTED_ON_DEVICE Device "the forward-compatibility libcuda does not work on this device: take it out of LD_LIBRARY_PATH";
    900 STREAM_CAPTURE_UNSUPPORTED Launch "";
    901 STREAM_CAPTURE_INVALIDATED Launch "";
    903 STREAM_CAPTURE_UNMATCHED Launch "";
    904 STREAM_CAPTURE_UNJOINED Launch "";
    905 STREAM_CAPTURE_ISOLATION Launch "";
    906 STREAM_CAPTURE_IMPLICIT Launch "";
    908 STREAM_CAPTURE_WRONG_THREAD Launch "";
    910 GRAPH_EXEC_UPDATE_FAILURE Launch "";
    912 INVALID_CLUSTER_SIZE Launch "";
    999 UNKNOWN Device "the driver failed inside; `dmesg` may say more";
}

/// Not all CTAs of a cooperative launch can be resident at the same time.
pub const COOPERATIVE_LAUNCH_TOO_LARGE: i32 = 720;

/// Whether a failure with this code leaves the context unusable, because a kernel failed instead of the call.
pub fn sticky(code: i32) -> bool {
    lookup(code).is_some_and(|c| matches!(c.kind, ErrorKind::Fault | ErrorKind::Stuck))
}

/// Looks up an error code.
pub fn lookup(code: i32) -> Option<&'static Code> {
    CODES.iter().find(|c| c.code == code)
}
