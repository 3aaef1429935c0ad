//! Finds, opens and initialises the driver library.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ffi::{CStr, OsString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::null;

use libloading::Library as Dynamic;

use crate::cuda::error_codes::lookup;
use crate::cuda::functions::Functions;
use crate::error::{Error, ErrorKind};
use crate::queue::Failure;

/// Environment variable: path of the library to use instead of the system's. Tests load a mock with it.
pub const VARIABLE: &str = "PRLX_LIBCUDA";

/// Places of the driver library, in the order in which they are tried: the loader's search path, then the
/// folders of containers and of WSL.
const PLACES: &[&str] = &[
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
];

/// Oldest supported driver version. The first driver of CUDA 12 has all calls that PRLX needs.
const OLDEST: i32 = 12000;

const NEWER: &str = "a driver of CUDA 12 or newer is needed";

/// The opened driver library.
#[derive(Clone, Copy)]
pub struct Library {
    pub(super) functions: Functions,
}

impl Library {
    /// Uses these functions. The driver must be initialised already.
    pub const fn of(functions: Functions) -> Library {
        Library { functions }
    }

    /// Finds and opens the library, and initialises the driver.
    ///
    /// # Errors
    /// If there is no driver, it is too old, or it finds no usable device.
    pub fn open() -> Result<Library, Error> {
        let named = std::env::var_os(VARIABLE).filter(|v| !v.is_empty());
        let places = named.as_ref().map_or_else(
            || {
                PLACES
                    .iter()
                    .map(OsString::from)
                    .filter(|p| Path::new(p).is_relative() || Path::new(p).exists())
                    .collect()
            },
            |one| vec![one.clone()],
        );
        let mut reason = String::new();
        for place in &places {
            // SAFETY: Loading a library runs its initialisers. This one is the system's driver, or the
            // library that the user named.
            match unsafe { Dynamic::new(place) } {
                Ok(library) => {
                    let library = ManuallyDrop::new(library);
                    let newer = |what: String| Err(Error::new(ErrorKind::Device, what).help(NEWER));
                    // SAFETY: the symbol is only looked up, never used.
                    if unsafe { library.get::<*const c_void>(b"cuInit\0") }.is_err() {
                        return newer(format!("the CUDA driver {} has no `cuInit`", place.display()));
                    }
                    // SAFETY: C1: the symbols with the names of the call table have the types of cuda.h. The
                    // library is never closed, so they stay callable.
                    let functions = unsafe {
                        Functions::of(&|name| {
                            library.get::<*const c_void>(name.to_bytes_with_nul()).map_or(null(), |s| *s)
                        })
                    };
                    let library = Library { functions };
                    call!(library.cuInit(0)).map_err(|e| e.during("the CUDA driver does not start"))?;
                    let version = library
                        .version()
                        .map_err(|e| e.during("the CUDA driver does not say its version"))?;
                    if version < OLDEST {
                        return newer(format!(
                            "the CUDA driver is for CUDA {}.{}",
                            version / 1000,
                            version % 1000 / 10
                        ));
                    }
                    return Ok(library);
                }
                Err(e) if reason.is_empty() => {
                    reason =
                        std::error::Error::source(&e).map_or_else(|| e.to_string(), |why| why.to_string());
                }
                Err(_) => {}
            }
        }
        let error = Error::new(ErrorKind::Device, format!("no CUDA driver: {reason}"));
        Err(error.help("install NVIDIA's driver, or run on the CPU device: --device cpu"))
    }

    /// Describes a failed call with the driver's name and text for the code.
    pub(super) fn failure(&self, call: &'static str, code: i32) -> Failure {
        let text = |function: unsafe extern "C" fn(i32, *mut *const c_char) -> i32| {
            let mut at: *const c_char = std::ptr::null();
            // SAFETY: C1: both functions that are passed here have this type. C2: `at` is a local variable.
            // The driver sets it to a constant string, or to null for an unknown code.
            match unsafe { function(code, &mut at) } {
                // SAFETY: the driver returned a string that ends with a NUL. It lives as long as the library,
                // which is never closed.
                0 if !at.is_null() => Some(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()),
                _ => None,
            }
        };
        let name = text(self.functions.cuGetErrorName).unwrap_or_else(|| format!("CUDA error {code}"));
        let text =
            text(self.functions.cuGetErrorString).unwrap_or_else(|| "the driver has no words for it".into());
        let (kind, help) = lookup(code).map_or((ErrorKind::Device, ""), |c| (c.kind, c.help));
        Failure { call, code, name, text, kind, help, log: String::new() }
    }

    /// Newest CUDA version that the driver supports, as 1000 * major + 10 * minor.
    pub fn version(&self) -> Result<i32, Failure> {
        let mut version = 0;
        call!(self.cuDriverGetVersion(&mut version))?;
        Ok(version)
    }
}
