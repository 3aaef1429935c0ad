//! The exported functions: one for each row of the driver's table that is marked for this library (`@`).
//!
//! # Invariants
//! - Arguments and results are those of cuda.h.
//! - Each export calls the function of its name in `hooks`, with the driver's own functions and the program's
//!   arguments. A marked row without such a function does not compile.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use prlx_driver::cuda::{Functions, calls};

use crate::interpose::driver_functions::{driver, driver_symbol, note_driver_function};
use crate::log;
use crate::panic_guard::guard;

/// The hooks, by the name of their call.
mod body {
    pub use super::proc_address::{cuGetProcAddress, cuGetProcAddress_v2};
    pub use crate::hooks::graph::*;
    pub use crate::hooks::launch::*;
    pub use crate::hooks::library::*;
    pub use crate::hooks::link::*;
    pub use crate::hooks::memory::*;
    pub use crate::hooks::modules::*;
    pub use crate::hooks::tensor_maps::*;
    pub use crate::hooks::wait::*;
}

/// Makes the exports, and collects the names of the marked rows.
macro_rules! exports {
    (@take [$($all:ident)*]) => {
        /// The symbols that this library intercepts.
        fn hooked_symbols() -> &'static [&'static str] {
            &[$(stringify!($all)),*]
        }
        /// Address of this library's export of a symbol; null if there is none.
        pub fn address(symbol: &str) -> *mut c_void {
            match symbol {
                $(stringify!($all) => $all as *const () as *mut c_void,)*
                _ => null_mut(),
            }
        }
    };
    (
        @take [$($all:ident)*]
        $(#[$doc:meta])* @$since:literal $name:ident($($arg:ident: $ty:ty),*);
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as cuda.h requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // SAFETY: the caller's duty is the hook's: the arguments are passed on unchanged (P1), and
            // `driver` returns the driver's functions (P2).
            unsafe { body::$name(driver(), $($arg),*) }
        }
        exports! { @take [$($all)* $name] $($rest)* }
    };
    (
        @take [$($all:ident)*]
        $(#[$doc:meta])* $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*);
        $($rest:tt)*
    ) => {
        exports! { @take [$($all)*] $($rest)* }
    };
    ($($rows:tt)*) => { exports! { @take [] $($rows)* } };
}

prlx_driver::cuda_calls!(exports);

/// `cuGetProcAddress`: replaces hooked functions in the driver's answers by the exports of this library.
mod proc_address {
    use super::*;

    /// The function that the program gets instead of `found`, which the driver found for it.
    ///
    /// The address identifies the function best. Only if the driver gives out an address that none of its
    /// symbols has, name, version and flags decide.
    fn replaced(name: &str, version: c_int, flags: u64, found: *mut c_void) -> *mut c_void {
        static REAL: OnceLock<Vec<(usize, &'static str)>> = OnceLock::new();
        note_driver_function(found);
        let real = REAL.get_or_init(|| {
            let all = hooked_symbols().iter().map(|name| (driver_symbol(name).addr(), *name));
            all.filter(|(at, _)| *at != 0).collect()
        });
        if let Some((_, name)) = real.iter().find(|(at, _)| *at == found.addr()) {
            return address(name);
        }
        let Some(asked) = calls::call_for_version(name, version, flags & calls::PER_THREAD_STREAM != 0)
        else {
            return found;
        };
        let hook = address(asked.name);
        if hook.is_null() {
            return found;
        }
        // A later version of the function than prlx knows may take other arguments: it is not replaced.
        let latest = calls::call_for_version(name, c_int::MAX, false).map_or("", |c| c.name);
        let number = latest.rsplit_once("_v").and_then(|(_, v)| v.parse::<u32>().ok()).unwrap_or(1);
        if asked.name.trim_end_matches("_ptsz") == latest
            && !driver_symbol(&format!("{name}_v{}", number + 1)).is_null()
        {
            log::warn_once(&format!(
                "the driver has a newer version of `{name}` than prlx knows: calls through it are not recorded"
            ));
            return found;
        }
        hook
    }

    pub unsafe fn cuGetProcAddress(
        real: &Functions,
        symbol: *const c_char,
        at: *mut *mut c_void,
        version: i32,
        flags: u64,
    ) -> i32 {
        // SAFETY: the driver's function (P2) with the program's arguments (P1).
        let code = unsafe { (real.cuGetProcAddress)(symbol, at, version, flags) };
        // SAFETY: the arguments of the call above, and its result.
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
        // SAFETY: the driver's function (P2) with the program's arguments (P1).
        let code = unsafe { (real.cuGetProcAddress_v2)(symbol, at, version, flags, status) };
        // SAFETY: the arguments of the call above, and its result.
        unsafe { replace(code, symbol, at, version, flags) };
        code
    }

    /// Replaces the function that `cuGetProcAddress` has stored at `at`.
    ///
    /// # Safety
    /// The arguments are those of a call of `cuGetProcAddress` that has returned `code`.
    unsafe fn replace(code: i32, symbol: *const c_char, at: *mut *mut c_void, version: i32, flags: u64) {
        guard(|| {
            // SAFETY: after success the driver has read the name and written the address (P4). The program
            // lets the call write there (P1).
            unsafe {
                if code == 0 && !symbol.is_null() && !at.is_null() && !(*at).is_null() {
                    let name = CStr::from_ptr(symbol).to_str().ok()?;
                    *at = replaced(name, version, flags, *at);
                }
            }
            Some(())
        });
    }
}
