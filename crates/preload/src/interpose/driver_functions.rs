//! The driver's own functions, behind the ones that this library exports.
//!
//! # Limitations
//! `dlvsym` is not interposed.
#![allow(unsafe_code, reason = "symbols of the dynamic loader")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use prlx_driver::cuda::{Functions, VARIABLE};

/// `dlsym` of the C library.
static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

pub(super) fn real_dlsym() -> *mut c_void {
    let known = DLSYM.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let versions = [c"GLIBC_2.34", c"GLIBC_2.2.5"];
    // SAFETY: names that end.
    let found = versions.map(|v| unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), v.as_ptr()) });
    let found = found.into_iter().find(|f| !f.is_null()).unwrap_or(null_mut());
    DLSYM.store(found, Ordering::Relaxed);
    found
}

/// What the C library's `dlsym` finds.
pub(super) fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let real = real_dlsym();
    if real.is_null() {
        return null_mut();
    }
    // SAFETY: that is its type.
    let real: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
        unsafe { std::mem::transmute(real) };
    // SAFETY: a handle from the caller, or one that is always there; a name that ends.
    unsafe { real(handle, name.as_ptr()) }
}

/// What stands behind us under a name.
pub fn behind(name: &CStr) -> *mut c_void {
    find(libc::RTLD_NEXT, name)
}

/// The driver's library, as `dlopen` names it; 0 is none.
static DRIVER: OnceLock<usize> = OnceLock::new();

/// A function of the driver was seen: its library is the driver.
pub(super) fn seen(function: *mut c_void) {
    DRIVER.get_or_init(|| {
        let mut info = libc::Dl_info {
            dli_fname: null(),
            dli_fbase: null_mut(),
            dli_sname: null(),
            dli_saddr: null_mut(),
        };
        // SAFETY: any address; the name that it gives lives as long as its library.
        unsafe {
            match libc::dladdr(function, &mut info) {
                0 => open(),
                _ => libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD).expose_provenance(),
            }
        }
    });
}

/// The driver as the loader finds it.
fn open() -> usize {
    let named = std::env::var_os(VARIABLE).and_then(|v| std::ffi::CString::new(v.into_encoded_bytes()).ok());
    let name = named.filter(|n| !n.is_empty()).unwrap_or_else(|| c"libcuda.so.1".to_owned());
    // SAFETY: a name that ends.
    unsafe {
        let loaded = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let loaded = if loaded.is_null() { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) } else { loaded };
        loaded.expose_provenance()
    }
}

/// The driver's own functions.
pub fn driver() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let handle: *mut c_void = std::ptr::with_exposed_provenance_mut(*DRIVER.get_or_init(open));
        let find = |name: &CStr| if handle.is_null() { null() } else { find(handle, name).cast_const() };
        // SAFETY: functions of the driver of these names have these types, as cuda.h says.
        unsafe { Functions::of(&find) }
    })
}

/// Where a function of the driver's is, by its symbol; null if it is not there.
pub(super) fn exported(name: &str) -> *mut c_void {
    let Ok(name) = std::ffi::CString::new(name) else { return null_mut() };
    match *DRIVER.get_or_init(open) {
        0 => null_mut(),
        handle => find(std::ptr::with_exposed_provenance_mut(handle), &name),
    }
}
