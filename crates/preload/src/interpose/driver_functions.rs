//! The driver's own functions, behind the ones that this library exports.
//!
//! # Limitations
//! `dlvsym` is not intercepted.
#![allow(unsafe_code, reason = "symbols of the dynamic loader")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use prlx_driver::cuda::{Functions, VARIABLE};

/// Address of the C library's `dlsym`, once it is known.
static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Address of the C library's `dlsym`; null if it has none.
pub(super) fn real_dlsym() -> *mut c_void {
    let known = DLSYM.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // A lookup of `dlsym` needs a way around this library's own: a versioned one.
    let versions = [c"GLIBC_2.34", c"GLIBC_2.2.5"];
    // SAFETY: both names are C string literals. `RTLD_NEXT` is always a valid handle.
    let found = versions.map(|v| unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), v.as_ptr()) });
    let found = found.into_iter().find(|f| !f.is_null()).unwrap_or(null_mut());
    DLSYM.store(found, Ordering::Relaxed);
    found
}

/// Looks up a symbol with the C library's `dlsym`; null if it is not found.
pub(super) fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let real = real_dlsym();
    if real.is_null() {
        return null_mut();
    }
    // SAFETY: `real` is the C library's `dlsym`, which has this type (POSIX).
    let real: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
        unsafe { std::mem::transmute(real) };
    // SAFETY: the handle is `RTLD_NEXT`, one that `dlopen` returned, or the one that the program passed to
    // `dlsym`. A `CStr` ends in NUL.
    unsafe { real(handle, name.as_ptr()) }
}

/// The next definition of a symbol after this library's; null if there is none.
pub fn next_symbol(name: &CStr) -> *mut c_void {
    find(libc::RTLD_NEXT, name)
}

/// A symbol of a library that is loaded and whose file name begins with `file`; null if there is none.
pub fn in_loaded_library(file: &CStr, symbol: &CStr) -> *mut c_void {
    /// What is searched, and the path of the library.
    struct Search<'a> {
        file: &'a [u8],
        path: Option<CString>,
    }
    /// # Safety
    /// The loader's call: `info` describes a library, and `search` is a [`Search`].
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> i32 {
        // SAFETY: the loader passes a description that lives for this call, and the pointer that it got.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: not null, so it is the library's path.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) };
        let name = path.to_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
        search.path = name.starts_with(search.file).then(|| path.to_owned());
        i32::from(search.path.is_some())
    }
    let mut search = Search { file: file.to_bytes(), path: None };
    // SAFETY: `look` has the type that the loader calls, and `search` lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    let Some(path) = search.path else { return null_mut() };
    // SAFETY: the path is a string. Nothing is loaded that is not there.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() { null_mut() } else { find(handle, symbol) }
}

/// The driver library's handle from `dlopen`, as an address. 0 if it cannot be opened.
static DRIVER: OnceLock<usize> = OnceLock::new();

/// Takes the library of `function`, which the program has just found, as the driver.
pub(super) fn note_driver_function(function: *mut c_void) {
    DRIVER.get_or_init(|| {
        let mut info = libc::Dl_info {
            dli_fname: null(),
            dli_fbase: null_mut(),
            dli_sname: null(),
            dli_saddr: null_mut(),
        };
        // SAFETY: dladdr takes any address, and `info` is a local variable of its type. After success the
        // file name is a string that lives as long as the library, which the program keeps loaded.
        unsafe {
            match libc::dladdr(function, &mut info) {
                0 => open(),
                _ => libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD).expose_provenance(),
            }
        }
    });
}

/// Opens the driver by the environment's path or its usual name.
fn open() -> usize {
    let named = std::env::var_os(VARIABLE).and_then(|v| CString::new(v.into_encoded_bytes()).ok());
    let name = named.filter(|n| !n.is_empty()).unwrap_or_else(|| c"libcuda.so.1".to_owned());
    // SAFETY: a `CString` ends in NUL. Loading runs the initialisers of the driver, or of the library that
    // the user named.
    unsafe {
        let loaded = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let loaded = if loaded.is_null() { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) } else { loaded };
        loaded.expose_provenance()
    }
}

/// The driver's own functions. A function that the driver lacks answers `CUDA_ERROR_NOT_SUPPORTED`.
pub fn driver() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let handle: *mut c_void = std::ptr::with_exposed_provenance_mut(*DRIVER.get_or_init(open));
        let find = |name: &CStr| if handle.is_null() { null() } else { find(handle, name).cast_const() };
        // SAFETY: the library is the driver, whose function of a name has the type in cuda.h, and so the type
        // in the driver's table (P2).
        unsafe { Functions::of(&find) }
    })
}

/// Address of the driver's function of that symbol; null if the driver lacks it.
pub(super) fn driver_symbol(name: &str) -> *mut c_void {
    let Ok(name) = CString::new(name) else { return null_mut() };
    match *DRIVER.get_or_init(open) {
        0 => null_mut(),
        handle => find(std::ptr::with_exposed_provenance_mut(handle), &name),
    }
}
