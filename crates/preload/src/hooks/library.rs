//! Libraries, and what the driver says of their kernels.
//!
//! A library is rewritten when it is first asked for something, as the driver does with it: until then the
//! program's handle is of its own code, and afterwards stands for the library in its place
//! ([`handles::library`]).
//!
//! # Invariants
//! What can't be replaced stays as it is; the parameter that the program does not know of is not told of.
//! # Limitations
//! Options of a load but for the registers and the optimisation.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "as cuda.h has them")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::slice::from_raw_parts;
use std::sync::OnceLock;

use prlx_driver::cuda::{Functions, image};

use crate::hooks::jit_options::options;
use crate::hooks::modules::named;
use crate::hooks::replacement::{RELOCATABLE, refused, replacement};
use crate::panic_guard::guard;
use crate::{handles, log};

/// `CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE`, `CU_LIBRARY_BINARY_IS_PRESERVED`.
const HOST_TABLE: i32 = 0;

const PRESERVED: i32 = 1;

/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: i32 = 1;

/// The library that stands in the place of the program's.
fn library(handle: *mut c_void) -> *mut c_void {
    guard(|| handles::library(handle)).map_or(handle, |(real, _)| real)
}

pub unsafe fn cuLibraryLoadData(
    real: &'static Functions,
    to: *mut *mut c_void,
    at: *const c_void,
    names: *mut i32,
    values: *mut *mut c_void,
    count: u32,
    library_names: *mut i32,
    library_values: *mut *mut c_void,
    library_count: u32,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe {
        (real.cuLibraryLoadData)(to, at, names, values, count, library_names, library_values, library_count)
    };
    if code == 0 {
        guard(|| {
            // SAFETY: the program's promise.
            unsafe {
                let bytes = match image::bytes(at) {
                    Ok(bytes) => bytes,
                    Err(_) => {
                        refused(real, RELOCATABLE);
                        return None;
                    }
                };
                let mut preserved = false;
                for i in 0..if library_names.is_null() { 0 } else { library_count as usize } {
                    // A value may be left out: the option's presence says enough.
                    let set = library_values.is_null() || !(*library_values.add(i)).is_null();
                    match *library_names.add(i) {
                        PRESERVED => preserved |= set,
                        HOST_TABLE => {
                            refused(real, "it shares functions with the host");
                            return None;
                        }
                        _ => {}
                    }
                }
                let held = match preserved || mapped(bytes) {
                    true => Held::There(bytes.as_ptr().expose_provenance(), bytes.len()),
                    false => Held::Copied(bytes.to_vec()),
                };
                later(real, *to, held, options(count, names, values));
            }
            Some(())
        });
    }
    code
}

pub unsafe fn cuLibraryLoadFromFile(
    real: &'static Functions,
    to: *mut *mut c_void,
    path: *const c_char,
    names: *mut i32,
    values: *mut *mut c_void,
    count: u32,
    library_names: *mut i32,
    library_values: *mut *mut c_void,
    library_count: u32,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe {
        (real.cuLibraryLoadFromFile)(
            to,
            path,
            names,
            values,
            count,
            library_names,
            library_values,
            library_count,
        )
    };
    if code == 0 {
        guard(|| {
            // SAFETY: the program's promise.
            unsafe {
                let name = OsStr::from_bytes(CStr::from_ptr(path).to_bytes());
                later(real, *to, Held::Copied(std::fs::read(name).ok()?), options(count, names, values));
            }
            Some(())
        });
    }
    code
}

/// An image that will be looked at later.
enum Held {
    /// It stays where it is as long as the library.
    There(usize, usize),
    Copied(Vec<u8>),
}

impl Held {
    fn bytes(&self) -> &[u8] {
        match self {
            // SAFETY: the program, or the file that is mapped there, keeps it.
            Held::There(at, len) => unsafe { from_raw_parts(std::ptr::with_exposed_provenance(*at), *len) },
            Held::Copied(bytes) => bytes,
        }
    }
}

/// Whether an image is in the read-only part of a program or library that is loaded, as nvcc puts it: there
/// it stays.
fn mapped(image: &[u8]) -> bool {
    struct Wanted {
        first: usize,
        end: usize,
        found: bool,
    }
    unsafe extern "C" fn object(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> i32 {
        // SAFETY: the loader describes an object; the last argument is what was given it below.
        unsafe {
            let (info, wanted) = (&*info, &mut *wanted.cast::<Wanted>());
            if info.dlpi_phnum == 0 {
                return 0;
            }
            for part in from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) {
                let first = (info.dlpi_addr + part.p_vaddr) as usize;
                if part.p_type == libc::PT_LOAD
                    && part.p_flags & libc::PF_W == 0
                    && first <= wanted.first
                    && wanted.end <= first + part.p_filesz as usize
                {
                    wanted.found = true;
                    return 1;
                }
            }
        }
        0
    }
    let first = image.as_ptr().addr();
    let mut wanted = Wanted { first, end: first + image.len(), found: false };
    // SAFETY: the function takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(object), (&raw mut wanted).cast()) };
    wanted.found
}

/// A library that is rewritten when it is used.
fn later(real: &'static Functions, handle: *mut c_void, held: Held, options: Vec<String>) {
    let later = move || {
        let made = replacement(real, held.bytes(), &options)?;
        let mut library = null_mut();
        // SAFETY: the image lives through the call, and the driver copies it.
        let code = unsafe {
            let none = null_mut();
            (real.cuLibraryLoadData)(
                &mut library,
                made.image.as_ptr().cast(),
                none,
                null_mut(),
                0,
                none,
                null_mut(),
                0,
            )
        };
        if code != 0 {
            log::warn_once(&format!(
                "the driver does not load a rewritten library (error {code}): it runs as it is"
            ));
            return None;
        }
        Some((library.expose_provenance(), made.module))
    };
    handles::library_is(handle, handles::Library { later: Box::new(later), done: OnceLock::new() });
}

pub unsafe fn cuLibraryUnload(real: &Functions, handle: *mut c_void) -> i32 {
    let other = guard(|| handles::library_gone(handle));
    // SAFETY: the program's call; the other one was loaded by us, for this one alone.
    unsafe {
        if let Some(other) = other {
            (real.cuLibraryUnload)(other);
        }
        (real.cuLibraryUnload)(handle)
    }
}

pub unsafe fn cuLibraryGetKernel(
    real: &Functions,
    kernel: *mut *mut c_void,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    let found = guard(|| handles::library(handle));
    let library = found.as_ref().map_or(handle, |f| f.0);
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLibraryGetKernel)(kernel, library, name) };
    // SAFETY: it has answered, so its arguments can be read.
    unsafe {
        named(code, kernel, name, |at, name| {
            handles::library_kernel_is(at, found.as_ref().map(|f| &f.1), name)
        })
    };
    code
}

pub unsafe fn cuLibraryGetKernelCount(real: &Functions, count: *mut u32, handle: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetKernelCount)(count, library(handle)) }
}

pub unsafe fn cuLibraryEnumerateKernels(
    real: &Functions,
    kernels: *mut *mut c_void,
    count: u32,
    handle: *mut c_void,
) -> i32 {
    let found = guard(|| handles::library(handle));
    // SAFETY: the program's call.
    let code =
        unsafe { (real.cuLibraryEnumerateKernels)(kernels, count, found.as_ref().map_or(handle, |f| f.0)) };
    if code == 0 && count > 0 {
        guard(|| {
            let module = found.as_ref().map(|f| &f.1);
            // SAFETY: the driver has filled it.
            for kernel in unsafe { from_raw_parts(kernels, count as usize) }.iter().filter(|k| !k.is_null()) {
                let mut name = std::ptr::null();
                // SAFETY: a kernel of the driver's, and a place for its name, which lives as long as its
                // library.
                unsafe {
                    if (real.cuKernelGetName)(&mut name, *kernel) == 0 && !name.is_null() {
                        handles::library_kernel_is(
                            *kernel,
                            module,
                            CStr::from_ptr(name).to_str().unwrap_or_default(),
                        );
                    }
                }
            }
            Some(())
        });
    }
    code
}

pub unsafe fn cuLibraryGetModule(real: &Functions, module: *mut *mut c_void, handle: *mut c_void) -> i32 {
    let found = guard(|| handles::library(handle));
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLibraryGetModule)(module, found.as_ref().map_or(handle, |f| f.0)) };
    if let (0, Some((_, of))) = (code, found) {
        guard(|| {
            // SAFETY: the driver has put it there.
            handles::module_is(unsafe { *module }, of);
            Some(())
        });
    }
    code
}

pub unsafe fn cuLibraryGetGlobal(
    real: &Functions,
    at: *mut u64,
    bytes: *mut usize,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetGlobal)(at, bytes, library(handle), name) }
}

pub unsafe fn cuLibraryGetManaged(
    real: &Functions,
    at: *mut u64,
    bytes: *mut usize,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetManaged)(at, bytes, library(handle), name) }
}

pub unsafe fn cuLibraryGetUnifiedFunction(
    real: &Functions,
    at: *mut *mut c_void,
    handle: *mut c_void,
    symbol: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetUnifiedFunction)(at, library(handle), symbol) }
}

pub unsafe fn cuKernelGetFunction(real: &Functions, function: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuKernelGetFunction)(function, kernel) };
    if code == 0 {
        guard(|| {
            // SAFETY: the driver has put it there.
            handles::kernel_as(unsafe { *function }, kernel);
            Some(())
        });
    }
    code
}

pub unsafe fn cuKernelGetLibrary(real: &Functions, library: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuKernelGetLibrary)(library, kernel) };
    if code == 0 {
        guard(|| {
            // SAFETY: the driver has put it there.
            unsafe {
                if let Some(own) = handles::library_behind(*library) {
                    *library = own;
                }
            }
            Some(())
        });
    }
    code
}

pub unsafe fn cuKernelGetParamInfo(
    real: &Functions,
    kernel: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    if hidden(kernel, index) {
        return INVALID_VALUE;
    }
    // SAFETY: the program's call.
    unsafe { (real.cuKernelGetParamInfo)(kernel, index, offset, size) }
}

pub unsafe fn cuFuncGetParamInfo(
    real: &Functions,
    function: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    if hidden(function, index) {
        return INVALID_VALUE;
    }
    // SAFETY: the program's call.
    unsafe { (real.cuFuncGetParamInfo)(function, index, offset, size) }
}

/// Whether a parameter is one that the program does not know of.
fn hidden(kernel: *mut c_void, index: usize) -> bool {
    guard(|| handles::kernel(kernel)?).is_some_and(|(_, k)| k.skipped.is_none() && index >= k.params.len())
}
