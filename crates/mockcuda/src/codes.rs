//! The error codes that the mock returns (`CUresult`, cuda.h 13.0).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::LazyLock;

use prlx_driver::cuda::error_codes::CODES;
use prlx_driver::{Error, ErrorKind};

/// A call's result; an error is a `CUresult`.
pub type Result<T> = std::result::Result<T, i32>;

/// Error codes, named as in cuda.h without `CUDA_ERROR_`.
pub mod code {
    /// Not a code of CUDA: the call has to wait for work that cannot run yet, and is made again.
    pub const BUSY: i32 = i32::MIN;
    pub const INVALID_VALUE: i32 = 1;
    pub const OUT_OF_MEMORY: i32 = 2;
    pub const NOT_INITIALIZED: i32 = 3;
    pub const INVALID_DEVICE: i32 = 101;
    pub const INVALID_IMAGE: i32 = 200;
    pub const INVALID_CONTEXT: i32 = 201;
    pub const NO_BINARY_FOR_GPU: i32 = 209;
    pub const INVALID_PTX: i32 = 218;
    pub const FILE_NOT_FOUND: i32 = 301;
    pub const INVALID_HANDLE: i32 = 400;
    pub const NOT_FOUND: i32 = 500;
    pub const NOT_READY: i32 = 600;
    pub const ILLEGAL_ADDRESS: i32 = 700;
    pub const LAUNCH_TIMEOUT: i32 = 702;
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: i32 = 720;
    pub const NOT_SUPPORTED: i32 = 801;
    pub const CAPTURE_UNSUPPORTED: i32 = 900;
    pub const CAPTURE_INVALIDATED: i32 = 901;
    pub const CAPTURE_UNMATCHED: i32 = 903;
    pub const CAPTURE_UNJOINED: i32 = 904;
    pub const CAPTURE_ISOLATION: i32 = 905;
    pub const CAPTURE_IMPLICIT: i32 = 906;
    pub const CAPTURED_EVENT: i32 = 907;
    pub const CAPTURE_WRONG_THREAD: i32 = 908;
    pub const GRAPH_EXEC_UPDATE_FAILURE: i32 = 910;
    pub const UNKNOWN: i32 = 999;
}

/// Name and text of an error, as `cuGetErrorName` and `cuGetErrorString` return them.
pub fn error(code: i32) -> Option<&'static [CString; 2]> {
    static TEXTS: LazyLock<BTreeMap<i32, [CString; 2]>> = LazyLock::new(|| {
        let text = |s: String| CString::new(s).unwrap_or_default();
        let of =
            |name: &str| [text(format!("CUDA_ERROR_{name}")), text(name.to_lowercase().replace('_', " "))];
        CODES.iter().map(|c| (c.code, of(c.name))).collect()
    });
    TEXTS.get(&code)
}

/// The code that stands for an error of the emulator.
pub(crate) fn code_of(error: &Error) -> i32 {
    match error.kind {
        ErrorKind::Module => code::INVALID_PTX,
        ErrorKind::Unsupported => code::NOT_SUPPORTED,
        ErrorKind::NotFound => code::NOT_FOUND,
        ErrorKind::Memory => code::OUT_OF_MEMORY,
        ErrorKind::Launch => code::INVALID_VALUE,
        ErrorKind::Fault => code::ILLEGAL_ADDRESS,
        ErrorKind::Stuck => code::LAUNCH_TIMEOUT,
        _ => code::UNKNOWN,
    }
}
