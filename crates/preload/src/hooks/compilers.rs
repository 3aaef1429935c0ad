//! Compilers inside the program, NVRTC and nvJitLink: they get the option to keep the PTX and the source
//! lines in the code that they make (`-lineinfo`).
//!
//! The option changes no instruction: code made with it is recorded because its PTX can be read back. A
//! compiler that does not take the option gets the program's own options.
//!
//! # Invariants
//! - The program gets the compiler's own result, and of a failure the messages for its own options.
//! - Programs that ask for debug code, or for lines already, are left alone; so are all with `--no-env`.
//!
//! # Limitations
//! A process may load [`SLOTS`] libraries with such a function; further ones are not intercepted.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as nvrtc.h and nvJitLink.h say what they point to"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::interpose::driver_functions::{in_loaded_library, next_symbol};
use crate::log;
use crate::panic_guard::guard;
use crate::session_options::options;

/// `nvrtcCompileProgram` and `nvJitLinkCreate`: a program or a place for a handle, the number of options, and
/// the options. The result is 0 for success.
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;

/// The option that both compilers take.
const OPTION: &CStr = c"-lineinfo";
/// Options after which it is not added.
const OWN: [&str; 5] = ["-lineinfo", "--generate-line-info", "-G", "--device-debug", "-g"];

/// Number of libraries whose functions can be intercepted.
pub const SLOTS: usize = 4;

/// The libraries' own functions, one for each of [`HOOKS`].
static REAL: [AtomicPtr<c_void>; SLOTS] = [const { AtomicPtr::new(null_mut()) }; SLOTS];

/// The functions that the program gets instead.
const HOOKS: [Compile; SLOTS] = [hook::<0>, hook::<1>, hook::<2>, hook::<3>];

/// Whether a symbol is a function that is intercepted. The names of nvJitLink end in its version.
pub fn is_compiler(symbol: &str) -> bool {
    let versioned = symbol.strip_prefix("__nvJitLinkCreate_");
    symbol == "nvrtcCompileProgram"
        || symbol == "nvJitLinkCreate"
        || versioned.is_some_and(|v| v.bytes().all(|b| b.is_ascii_digit() || b == b'_'))
}

/// The function that the program gets for `real`, which it has just found.
pub fn replacement(real: *mut c_void) -> *mut c_void {
    if real.is_null() || !options().is_some_and(|o| o.keep_ptx) {
        return real;
    }
    for (slot, hook) in REAL.iter().zip(HOOKS) {
        let found = slot.compare_exchange(null_mut(), real, Ordering::AcqRel, Ordering::Acquire);
        if found.is_ok() || found == Err(real) {
            return hook as *const () as *mut c_void;
        }
    }
    real
}

/// # Safety
/// As the library's function of this slot requires.
unsafe extern "C" fn hook<const SLOT: usize>(
    what: *mut c_void,
    count: c_int,
    given: *const *const c_char,
) -> c_int {
    let real = REAL[SLOT].load(Ordering::Acquire);
    // SAFETY: a hook is only given out after `replacement` has stored the library's function in its slot.
    let real: Compile = unsafe { std::mem::transmute(real) };
    // SAFETY: the program's own call.
    unsafe { compile(real, what, count, given) }
}

/// # Safety
/// `real` is one of the functions of [`Compile`], and the other arguments are the program's.
unsafe fn compile(real: Compile, what: *mut c_void, count: c_int, given: *const *const c_char) -> c_int {
    // SAFETY: the program passes `count` options, each of them a string.
    if let Some(more) = guard(|| unsafe { with_lines(count, given) }) {
        // SAFETY: the program's arguments, and a list of options that lives until the call returns.
        let code = unsafe { real(what, more.len() as c_int, more.as_ptr()) };
        if code == 0 {
            log::debug("a compiler of the program keeps its PTX");
            return code;
        }
    }
    // SAFETY: the program's own call.
    unsafe { real(what, count, given) }
}

/// The options with [`OPTION`]; `None` if it is not to be added.
///
/// # Safety
/// `given` is null, or points to `count` strings.
unsafe fn with_lines(count: c_int, given: *const *const c_char) -> Option<Vec<*const c_char>> {
    let count = usize::try_from(count).ok()?;
    // SAFETY: the pointer is not null where it is read, and the caller promises the length.
    let mut all = if given.is_null() { Vec::new() } else { unsafe { from_raw_parts(given, count) }.to_vec() };
    // SAFETY: each option is a string.
    let own = all.iter().any(|o| !o.is_null() && OWN.iter().any(|own| unsafe { is(*o, own) }));
    all.push(OPTION.as_ptr());
    (!own).then_some(all)
}

/// # Safety
/// `option` is a string.
unsafe fn is(option: *const c_char, name: &str) -> bool {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(option) }.to_bytes() == name.as_bytes()
}

/// NVRTC's compilation, for programs that are linked against the library.
///
/// # Safety
/// As nvrtc.h says.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the library's own name")]
pub unsafe extern "C" fn nvrtcCompileProgram(
    program: *mut c_void,
    count: c_int,
    given: *const *const c_char,
) -> c_int {
    /// `NVRTC_ERROR_INTERNAL_ERROR`.
    const INTERNAL: c_int = 11;
    let mut real = next_symbol(c"nvrtcCompileProgram");
    if real.is_null() {
        // A library that was opened for itself alone has brought NVRTC along.
        real = in_loaded_library(c"libnvrtc.so", c"nvrtcCompileProgram");
    }
    if real.is_null() {
        return INTERNAL;
    }
    // SAFETY: the next definition of this symbol is NVRTC's, which has this type.
    let real: Compile = unsafe { std::mem::transmute(real) };
    match options().is_some_and(|o| o.keep_ptx) {
        // SAFETY: the program's own call.
        true => unsafe { compile(real, program, count, given) },
        // SAFETY: the program's own call.
        false => unsafe { real(program, count, given) },
    }
}
