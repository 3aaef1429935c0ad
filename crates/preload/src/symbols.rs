//! How a program's calls of the driver come here, and where the driver's own functions are.
//!
//! Programs find the driver's functions in three ways: linked (our exports come first), by `dlsym` (which is ours too), and by
//! `cuGetProcAddress`, whose answers we change ([`replaced`]).
//!
//! Holds: `dlsym` for any name that is not the driver's is a jump to the C library's, with the caller's return address, on which
//! `RTLD_NEXT` depends; what the driver does not have is not there with us either. Misses: `dlvsym`.
#![allow(unsafe_code, reason = "symbols of the dynamic loader")]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use prlx_driver::cuda::{Functions, VARIABLE, calls};

use crate::exports::{address, hooks};
use crate::{say, think};

/// `dlsym` of the C library.
static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// What [`dlsym`] does: jumps there, or answers.
#[repr(C)]
pub struct Choice {
    jump: *mut c_void,
    answer: *mut c_void,
}

/// The C library's `dlsym`, but for the driver's functions that we stand in for.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {choose}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "mov rax, rdx",
        "ret",
        choose = sym choose,
    )
}

/// # Safety
/// As `dlsym`.
unsafe extern "C" fn choose(handle: *mut c_void, name: *const c_char) -> Choice {
    let jump = Choice { jump: real_dlsym(), answer: null_mut() };
    // SAFETY: a name that ends; its first bytes are looked at in order.
    let driver = unsafe { !name.is_null() && *name == b'c' as c_char && *name.add(1) == b'u' as c_char };
    if !driver || think::inside() {
        return jump;
    }
    // SAFETY: a name that ends.
    let text = unsafe { CStr::from_ptr(name) };
    let Some(ours) = text.to_str().ok().map(address).filter(|a| !a.is_null()) else { return jump };
    let mut real = find(handle, text);
    if real == ours {
        // The caller looks everywhere, and we come first: it is there if it is there behind us.
        real = find(libc::RTLD_NEXT, text);
    }
    if real.is_null() {
        return Choice { jump: null_mut(), answer: null_mut() };
    }
    seen(real);
    Choice { jump: null_mut(), answer: ours }
}

fn real_dlsym() -> *mut c_void {
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
fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
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
fn seen(function: *mut c_void) {
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
fn exported(name: &str) -> *mut c_void {
    let Ok(name) = std::ffi::CString::new(name) else { return null_mut() };
    match *DRIVER.get_or_init(open) {
        0 => null_mut(),
        handle => find(std::ptr::with_exposed_provenance_mut(handle), &name),
    }
}

/// What a program gets in the place of what `cuGetProcAddress` found for it.
pub fn replaced(name: &str, version: c_int, flags: u64, found: *mut c_void) -> *mut c_void {
    static REAL: OnceLock<Vec<(usize, &'static str)>> = OnceLock::new();
    seen(found);
    // The function itself says best which one it is.
    let real = REAL.get_or_init(|| {
        let all = hooks().iter().map(|name| (exported(name).addr(), *name));
        all.filter(|(at, _)| *at != 0).collect()
    });
    if let Some((_, name)) = real.iter().find(|(at, _)| *at == found.addr()) {
        return address(name);
    }
    // Then name and version; but a later version of it than we know is another function.
    let Some(asked) = calls::asked(name, version, flags & calls::PER_THREAD_STREAM != 0) else {
        return found;
    };
    let ours = address(asked.name);
    if ours.is_null() {
        return found;
    }
    let latest = calls::asked(name, c_int::MAX, false).map_or("", |c| c.name);
    let number = latest.rsplit_once("_v").and_then(|(_, v)| v.parse::<u32>().ok()).unwrap_or(1);
    if asked.name.trim_end_matches("_ptsz") == latest
        && !exported(&format!("{name}_v{}", number + 1)).is_null()
    {
        say::once(&format!(
            "the driver has a later `{name}` than prlx knows: what is done through it is not recorded"
        ));
        return found;
    }
    ours
}

pub unsafe fn cuGetProcAddress(
    real: &Functions,
    symbol: *const c_char,
    at: *mut *mut c_void,
    version: i32,
    flags: u64,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuGetProcAddress)(symbol, at, version, flags) };
    // SAFETY: the same arguments.
    unsafe { replace(code, symbol, at, version, flags) };
    code
}
pub unsafe fn cuGetProcAddress_v2(
    real: &Functions,
    symbol: *const c_char,
    at: *mut *mut c_void,
    version: i32,
    flags: u64,
    status: *mut i32,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuGetProcAddress_v2)(symbol, at, version, flags, status) };
    // SAFETY: the same arguments.
    unsafe { replace(code, symbol, at, version, flags) };
    code
}
/// # Safety
/// The arguments of `cuGetProcAddress`, and what it answered.
unsafe fn replace(code: i32, symbol: *const c_char, at: *mut *mut c_void, version: i32, flags: u64) {
    think::think(|| {
        // SAFETY: the driver has found the name, so both can be read.
        unsafe {
            if code == 0 && !symbol.is_null() && !at.is_null() && !(*at).is_null() {
                let name = CStr::from_ptr(symbol).to_str().ok()?;
                *at = replaced(name, version, flags, *at);
            }
        }
        Some(())
    });
}
