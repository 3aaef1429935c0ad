//! Libraries (`cuLibrary*`), and what the driver reports about their kernels.
//!
//! A library is rewritten when the program first asks it for something, because the driver loads it then too.
//! Until then the program's handle stands for the program's own code, afterwards for the replacement
//! ([`handles::library`]).
//!
//! # Invariants
//! - A library that cannot be replaced stays unchanged.
//! - The driver's answers about parameters do not mention the hidden parameter.
//!
//! # Limitations
//! Of the options of a load, only the register limit, the optimisation level and debug code are kept.
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

use prlx_driver::ErrorKind;
use prlx_driver::cuda::error_codes::lookup;
use prlx_driver::cuda::{Functions, image};
use prlx_isa::image::is_binary;

use crate::hooks::jit_options::options;
use crate::hooks::modules::note_lookup;
use crate::hooks::replacement::{RELOCATABLE, replacement, skip_module};
use crate::panic_guard::guard;
use crate::{handles, log};

/// `CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE`.
const HOST_TABLE: i32 = 0;

/// `CU_LIBRARY_BINARY_IS_PRESERVED`: the program keeps the image as long as the library.
const PRESERVED: i32 = 1;

/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: i32 = 1;

/// The replacement of a library, or the library itself if there is none.
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
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe {
        (real.cuLibraryLoadData)(to, at, names, values, count, library_names, library_values, library_count)
    };
    if code == 0 {
        guard(|| {
            // SAFETY: after success the driver has read the image and the options (P4).
            let (image, keeps, options) = unsafe {
                let image = image::bytes(at);
                (
                    image,
                    Keeps::of(library_names, library_values, library_count),
                    options(count, names, values),
                )
            };
            let Ok(image) = image else {
                skip_module(real, RELOCATABLE);
                return None;
            };
            if keeps.shares_host_functions {
                skip_module(real, "it shares functions with the host");
                return None;
            }
            let image = match keeps.image || is_in_read_only_segment(image) {
                true => Image::Borrowed(image.as_ptr().expose_provenance(), image.len()),
                false => Image::Owned(image.to_vec()),
            };
            // SAFETY: after success the driver has written the handle (P4).
            replace_at_first_use(real, unsafe { *to }, image, options);
            Some(())
        });
    }
    code
}

/// Options of a library (`CUlibraryOption`) that matter here.
struct Keeps {
    /// The program keeps the image as long as the library.
    image: bool,
    /// Host code and device code share a table of functions.
    shares_host_functions: bool,
}

impl Keeps {
    /// # Safety
    /// `names` is null or has `count` options; `values` is null or has as many values.
    unsafe fn of(names: *const i32, values: *const *mut c_void, count: u32) -> Keeps {
        let mut keeps = Keeps { image: false, shares_host_functions: false };
        for i in 0..if names.is_null() { 0 } else { count as usize } {
            // SAFETY: neither is null where it is read, so the caller promises `count` elements of each.
            let (name, set) = unsafe { (*names.add(i), values.is_null() || !(*values.add(i)).is_null()) };
            match name {
                // A value may be left out: then the option's presence sets it.
                PRESERVED => keeps.image |= set,
                HOST_TABLE => keeps.shares_host_functions = true,
                _ => {}
            }
        }
        keeps
    }
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
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
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
            // SAFETY: after success the driver has read the path and the options, and has written the handle
            // (P4).
            unsafe {
                let name = OsStr::from_bytes(CStr::from_ptr(path).to_bytes());
                let image = Image::Owned(std::fs::read(name).ok()?);
                replace_at_first_use(real, *to, image, options(count, names, values));
            }
            Some(())
        });
    }
    code
}

/// An image that is read at the library's first use.
enum Image {
    /// Address and size of an image that stays there as long as the library.
    Borrowed(usize, usize),
    /// A copy of the image.
    Owned(Vec<u8>),
}

impl Image {
    fn bytes(&self) -> &[u8] {
        match self {
            // SAFETY: `cuLibraryLoadData` makes this variant only if the program promised to keep the image
            // (`CU_LIBRARY_BINARY_IS_PRESERVED`) or the image lies in a loaded file. Both outlive the
            // library, whose hook is the only user of the bytes.
            Image::Borrowed(at, len) => unsafe {
                from_raw_parts(std::ptr::with_exposed_provenance(*at), *len)
            },
            Image::Owned(bytes) => bytes,
        }
    }
}

/// Whether an image lies in a read-only segment of a loaded program or shared library, where nvcc puts
/// images. It then stays as long as that file is loaded.
fn is_in_read_only_segment(image: &[u8]) -> bool {
    struct Search {
        first: usize,
        end: usize,
        found: bool,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> i32 {
        // SAFETY: dl_iterate_phdr passes a description with as many program headers as it says, and the
        // pointer that it got below, which is a `Search` that nothing else uses meanwhile.
        unsafe {
            let (info, search) = (&*info, &mut *search.cast::<Search>());
            if info.dlpi_phnum == 0 {
                return 0;
            }
            for part in from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) {
                let first = (info.dlpi_addr + part.p_vaddr) as usize;
                if part.p_type == libc::PT_LOAD
                    && part.p_flags & libc::PF_W == 0
                    && first <= search.first
                    && search.end <= first + part.p_filesz as usize
                {
                    search.found = true;
                    return 1;
                }
            }
        }
        0
    }
    let first = image.as_ptr().addr();
    let mut search = Search { first, end: first + image.len(), found: false };
    // SAFETY: `visit` has the type that dl_iterate_phdr calls, and takes the pointer that is passed here.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Notes that a library is to be rewritten at its first use.
fn replace_at_first_use(real: &'static Functions, handle: *mut c_void, image: Image, options: Vec<String>) {
    let load = move || {
        let made = replacement(real, image.bytes(), &options)?;
        let mut library = null_mut();
        // SAFETY: the driver's function (P2). The output is a local variable (P3), the image lives through
        // the call (P6), and there are no options.
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
        // The driver compiles the PTX of a library when it is first used, and refuses it then.
        let refused = if code == 0 && !is_binary(&made.image) { refusal(real, library) } else { code };
        if refused != 0 {
            log::warn_once(&format!(
                "the driver does not load a rewritten library (error {refused}): it runs unchanged"
            ));
            return None;
        }
        Some((library.expose_provenance(), made.module))
    };
    handles::add_library(handle, handles::Library { load: Box::new(load), loaded: OnceLock::new() });
}

/// Compiles a library that this crate loaded. Returns the code with which the driver refuses it, after
/// unloading it, or 0. Other errors, such as a missing context, say nothing of the code and are left to the
/// program's own call.
fn refusal(real: &Functions, library: *mut c_void) -> i32 {
    let mut module = null_mut();
    // SAFETY: the driver's function (P2) with a library that this crate loaded; the output is a local
    // variable (P3).
    let code = unsafe { (real.cuLibraryGetModule)(&mut module, library) };
    if lookup(code).is_none_or(|c| c.kind != ErrorKind::Module) {
        return 0;
    }
    // SAFETY: the driver's function (P2); nobody else has the handle.
    unsafe { (real.cuLibraryUnload)(library) };
    code
}

pub unsafe fn cuLibraryUnload(real: &Functions, handle: *mut c_void) -> i32 {
    let replacement = guard(|| handles::remove_library(handle));
    // SAFETY: the driver's function (P2) with the program's argument (P1), and with a library that this crate
    // loaded to replace this one alone.
    unsafe {
        if let Some(replacement) = replacement {
            (real.cuLibraryUnload)(replacement);
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
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuLibraryGetKernel)(kernel, library, name) };
    // SAFETY: after success the driver has written the handle and read the name (P4).
    unsafe {
        note_lookup(code, kernel, name, |handle, name| {
            handles::add_library_kernel(handle, found.as_ref().map(|f| &f.1), name)
        })
    };
    code
}

pub unsafe fn cuLibraryGetKernelCount(real: &Functions, count: *mut u32, handle: *mut c_void) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLibraryGetKernelCount)(count, library(handle)) }
}

pub unsafe fn cuLibraryEnumerateKernels(
    real: &Functions,
    kernels: *mut *mut c_void,
    count: u32,
    handle: *mut c_void,
) -> i32 {
    let found = guard(|| handles::library(handle));
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code =
        unsafe { (real.cuLibraryEnumerateKernels)(kernels, count, found.as_ref().map_or(handle, |f| f.0)) };
    if code == 0 && count > 0 {
        guard(|| {
            let module = found.as_ref().map(|f| &f.1);
            // SAFETY: after success the driver has written `count` handles (P4).
            for kernel in unsafe { from_raw_parts(kernels, count as usize) }.iter().filter(|k| !k.is_null()) {
                let mut name = std::ptr::null();
                // SAFETY: the driver's function (P2) with a handle that it returned (P5); the output is a
                // local variable (P3). The name lives as long as the library (P4).
                unsafe {
                    if (real.cuKernelGetName)(&mut name, *kernel) == 0 && !name.is_null() {
                        handles::add_library_kernel(
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
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuLibraryGetModule)(module, found.as_ref().map_or(handle, |f| f.0)) };
    if let (0, Some((_, rewritten))) = (code, found) {
        guard(|| {
            // SAFETY: after success the driver has written the handle (P4).
            handles::add_module(unsafe { *module }, rewritten);
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
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLibraryGetGlobal)(at, bytes, library(handle), name) }
}

pub unsafe fn cuLibraryGetManaged(
    real: &Functions,
    at: *mut u64,
    bytes: *mut usize,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLibraryGetManaged)(at, bytes, library(handle), name) }
}

pub unsafe fn cuLibraryGetUnifiedFunction(
    real: &Functions,
    at: *mut *mut c_void,
    handle: *mut c_void,
    symbol: *const c_char,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLibraryGetUnifiedFunction)(at, library(handle), symbol) }
}

pub unsafe fn cuKernelGetFunction(real: &Functions, function: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuKernelGetFunction)(function, kernel) };
    if code == 0 {
        guard(|| {
            // SAFETY: after success the driver has written the handle (P4).
            handles::add_alias(unsafe { *function }, kernel);
            Some(())
        });
    }
    code
}

pub unsafe fn cuKernelGetLibrary(real: &Functions, library: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuKernelGetLibrary)(library, kernel) };
    if code == 0 {
        guard(|| {
            // SAFETY: after success the driver has written the handle (P4), so the program lets the call
            // write there (P1).
            unsafe {
                if let Some(original) = handles::original_library(*library) {
                    *library = original;
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
    if is_hidden(kernel, index) {
        return INVALID_VALUE;
    }
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuKernelGetParamInfo)(kernel, index, offset, size) }
}

pub unsafe fn cuFuncGetParamInfo(
    real: &Functions,
    function: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    if is_hidden(function, index) {
        return INVALID_VALUE;
    }
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuFuncGetParamInfo)(function, index, offset, size) }
}

/// Whether a parameter is the hidden one, behind the program's own.
fn is_hidden(kernel: *mut c_void, index: usize) -> bool {
    guard(|| handles::kernel(kernel)?).is_some_and(|(_, k)| k.skipped.is_none() && index >= k.params.len())
}
