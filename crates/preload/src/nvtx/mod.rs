//! NVTX: the library is an injection library, to which NVTX reports the program's ranges.
//!
//! `prlx record` sets `NVTX_INJECTION64_PATH` to this library. At the program's first NVTX call, NVTX loads
//! the library named there and calls `InitializeInjectionNvtx2`, which installs the callbacks below. Each
//! copy of NVTX in the process (every library can have one) does so. The source of the protocol is NVTX's
//! public header `nvtx3/nvtxDetail/nvtxTypes.h`.
//!
//! # Invariants
//! - If the user has an injection library of their own, it is initialised first, gets every call, and its
//!   results are the program's.
//! - A program without NVTX calls never comes here.
//!
//! # Limitations
//! - Version 2 of NVTX (`libnvToolsExt.so`) has another protocol and is not seen.
//! - Ranges of NVTX's extensions (payload schemas) are not seen.
#![allow(unsafe_code, reason = "a C interface: NVTX's header says what pointers point to")]

mod ranges;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStringExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use prlx_driver::session::NVTX_LIBRARY;
pub use ranges::current;

use crate::panic_guard::guard;

/// Id of the export table with [`Callbacks`].
const CALLBACKS: u32 = 1;
/// Number of the module of callbacks without a domain.
const CORE: usize = 1;
/// Number of the module of callbacks with a domain.
const CORE2: usize = 5;
/// Larger than the number of any callback that is installed.
const IDS: usize = 16;
/// The result of a push or a pop that nobody tracks.
const NO_TRACKING: c_int = -2;

/// Types of an event's message.
mod message_type {
    pub const ASCII: i32 = 1;
    pub const UNICODE: i32 = 2;
    pub const REGISTERED: i32 = 3;
}

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    functions:
        unsafe extern "C" fn(module: c_int, table: *mut *mut *mut *mut c_void, size: *mut c_uint) -> c_int,
}

/// `nvtxEventAttributes_t`.
#[repr(C)]
struct Event {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// The text of an event's message. An event without a message has an empty one.
///
/// # Safety
/// `event` is null, or points to an event as NVTX's header describes it.
unsafe fn message(event: *const Event) -> String {
    // SAFETY: the caller's promise. The message has the type that the event names.
    unsafe {
        match event.as_ref() {
            Some(e) if e.message_type == message_type::ASCII => text(e.message.cast()),
            Some(e) if e.message_type == message_type::UNICODE => wide(e.message.cast()),
            Some(e) if e.message_type == message_type::REGISTERED => ranges::registered(e.message.addr()),
            _ => String::new(),
        }
    }
}

/// A text of bytes, cut off at [`ranges::NAME_BYTES`].
///
/// # Safety
/// `at` is null, or points to a text that ends with a zero.
unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { CStr::from_ptr(at) }.to_bytes();
    String::from_utf8_lossy(bytes.get(..ranges::NAME_BYTES).unwrap_or(bytes)).into_owned()
}

/// A text of wide characters (UTF-32 on Linux), cut off at [`ranges::NAME_BYTES`] characters.
///
/// # Safety
/// `at` is null, or points to a text that ends with a zero.
unsafe fn wide(at: *const u32) -> String {
    // SAFETY: the caller's promise: everything up to the zero may be read.
    let characters = (0..ranges::NAME_BYTES).map(|i| unsafe { *at.add(i) }).take_while(|c| *c != 0);
    match at.is_null() {
        true => String::new(),
        false => characters.map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
    }
}

/// The functions of the user's own injection library, by module and callback.
static USERS: [[AtomicPtr<c_void>; IDS]; CORE2 + 1] =
    [const { [const { AtomicPtr::new(null_mut()) }; IDS] }; CORE2 + 1];

/// Declares the callbacks. A row has the module, the number and the signature of the callback, and what this
/// library does and returns, given the result of the user's own library.
macro_rules! callbacks {
    ($(
        $module:ident $id:literal $name:ident($($arg:ident: $ty:ty),*) -> $result:ty
            = |$theirs:pat_param| $own:expr;
    )*) => {
        $(
            unsafe extern "C" fn $name($($arg: $ty),*) -> $result {
                let theirs = USERS[$module][$id].load(Ordering::Acquire);
                let theirs: Option<$result> = (!theirs.is_null()).then(|| {
                    // SAFETY: the user's library has installed this function for this callback, so it has
                    // this type. The arguments are the program's.
                    unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> $result>(theirs)(
                            $($arg),*
                        )
                    }
                });
                let own = guard(|| {
                    let $theirs = theirs;
                    // SAFETY: the program's arguments are what NVTX's header asks for.
                    #[allow(unused_unsafe, reason = "some callbacks take no pointers")]
                    Some(unsafe { $own })
                });
                theirs.or(own).unwrap_or_else(|| none::$name())
            }
        )*
        /// Results of the callbacks if neither this library nor the user's handles the call.
        mod none {
            use super::*;
            $(pub fn $name() -> $result { <$result as Untracked>::UNTRACKED })*
        }
        /// The callbacks, with their modules and numbers.
        fn all() -> [(usize, usize, *mut c_void); [$(stringify!($name)),*].len()] {
            [$(($module, $id, $name as *const () as *mut c_void)),*]
        }
    };
}

/// A result of a callback that does nothing.
trait Untracked {
    const UNTRACKED: Self;
}
impl Untracked for c_int {
    const UNTRACKED: c_int = NO_TRACKING;
}
impl Untracked for u64 {
    const UNTRACKED: u64 = 0;
}
impl Untracked for usize {
    const UNTRACKED: usize = 0;
}
impl Untracked for () {
    const UNTRACKED: () = ();
}

// Handles of domains and of registered strings are opaque pointers: `usize` here.
callbacks! {
    CORE 4 start_ex(event: *const Event) -> u64 = |theirs| ranges::start(0, message(event), theirs);
    CORE 5 start_a(name: *const c_char) -> u64 = |theirs| ranges::start(0, text(name), theirs);
    CORE 6 start_w(name: *const u32) -> u64 = |theirs| ranges::start(0, wide(name), theirs);
    CORE 7 end(id: u64) -> () = |_| ranges::end(id);
    CORE 8 push_ex(event: *const Event) -> c_int = |_| ranges::push(0, message(event));
    CORE 9 push_a(name: *const c_char) -> c_int = |_| ranges::push(0, text(name));
    CORE 10 push_w(name: *const u32) -> c_int = |_| ranges::push(0, wide(name));
    CORE 11 pop() -> c_int = |_| ranges::pop(0);
    CORE2 2 domain_start(domain: usize, event: *const Event) -> u64
        = |theirs| ranges::start(domain, message(event), theirs);
    CORE2 3 domain_end(domain: usize, id: u64) -> () = |_| { let _ = domain; ranges::end(id) };
    CORE2 4 domain_push(domain: usize, event: *const Event) -> c_int
        = |_| ranges::push(domain, message(event));
    CORE2 5 domain_pop(domain: usize) -> c_int = |_| ranges::pop(domain);
    CORE2 10 register_a(domain: usize, name: *const c_char) -> usize
        = |theirs| { let _ = domain; ranges::register(text(name), theirs) };
    CORE2 11 register_w(domain: usize, name: *const u32) -> usize
        = |theirs| { let _ = domain; ranges::register(wide(name), theirs) };
    CORE2 12 create_a(name: *const c_char) -> usize = |theirs| ranges::domain(text(name), theirs);
    CORE2 13 create_w(name: *const u32) -> usize = |theirs| ranges::domain(wide(name), theirs);
}

/// The type of NVTX's function that returns its export tables.
type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// Installs the callbacks in one copy of NVTX, which calls this function at its first call. Returns 1 if
/// there is a tool, else 0.
///
/// # Safety
/// `tables` is NVTX's own function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(tables: Option<GetExportTable>) -> c_int {
    let slots = || {
        // SAFETY: NVTX's own function and tables.
        all().map(|(module, id, own)| (module, id, own, tables.and_then(|t| unsafe { slot(t, module, id) })))
    };
    // SAFETY: a slot holds a function pointer, and NVTX makes no calls before this function returns.
    let before = slots().map(|(.., slot)| slot.map(|slot| unsafe { *slot }));
    // SAFETY: as for this function.
    let theirs = unsafe { initialize_users(tables) };
    let own = guard(|| {
        for ((module, id, own, slot), before) in slots().into_iter().zip(before) {
            let Some(slot) = slot else { continue };
            // SAFETY: as above; `own` has the type of this callback.
            unsafe {
                if Some(*slot) != before {
                    USERS.get(module)?.get(id)?.store(*slot, Ordering::Release);
                }
                *slot = own;
            }
        }
        Some(1)
    });
    theirs.max(own.unwrap_or(0))
}

/// The place where NVTX keeps the function for a callback. `None` if this NVTX does not have the callback.
///
/// # Safety
/// `tables` is NVTX's own function.
unsafe fn slot(tables: GetExportTable, module: usize, id: usize) -> Option<*mut *mut c_void> {
    // SAFETY: the export table has the type that its id stands for; it lives as long as NVTX. Outputs are
    // local variables.
    unsafe {
        let callbacks = tables(CALLBACKS).cast::<Callbacks>().as_ref()?;
        let (mut table, mut size) = (null_mut(), 0);
        if callbacks.size < size_of::<Callbacks>()
            || (callbacks.functions)(module as c_int, &mut table, &mut size) == 0
            || table.is_null()
            || id >= size as usize
        {
            return None;
        }
        let slot: *mut *mut c_void = *table.add(id);
        (!slot.is_null()).then_some(slot)
    }
}

/// Initialises the user's own injection library, if there is one. Returns its result.
///
/// # Safety
/// `tables` is NVTX's own function.
unsafe fn initialize_users(tables: Option<GetExportTable>) -> c_int {
    let Some(path) = std::env::var_os(NVTX_LIBRARY).and_then(|p| CString::new(p.into_vec()).ok()) else {
        return 0;
    };
    // SAFETY: the user asked for this library to be loaded as NVTX would have loaded it, and called as NVTX
    // would have called it.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return 0;
        }
        let theirs = libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr());
        if theirs.is_null() || theirs == InitializeInjectionNvtx2 as *const () as *mut c_void {
            return 0;
        }
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Option<GetExportTable>) -> c_int>(theirs)(
            tables,
        )
    }
}
