//! The exported functions: one for each row of the driver's table that is marked for this library.
//!
//! # Invariants
//! Arguments and result are those of cuda.h. Each export calls the function of its name in `hooks` with the
//! driver's own functions. A marked row without such a function does not compile.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use prlx_driver::cuda::{Functions, calls};

use crate::interpose::driver_functions::{driver, exported, seen};
use crate::log;
use crate::panic_guard::guard;

/// The body of each call.
mod body {
    pub use super::proc_address::{cuGetProcAddress, cuGetProcAddress_v2};
    pub use crate::hooks::graph::*;
    pub use crate::hooks::launch::*;
    pub use crate::hooks::library::*;
    pub use crate::hooks::link::*;
    pub use crate::hooks::modules::*;
    pub use crate::hooks::wait::*;
}

/// Makes the exports, and hands the marked rows on to the tables of names.
macro_rules! exports {
    (@take [$($all:ident)*]) => {
        /// The symbols that we stand in for.
        pub fn hooks() -> &'static [&'static str] {
            &[$(stringify!($all)),*]
        }
        /// Our function of a symbol; null if there is none.
        pub fn address(symbol: &str) -> *mut c_void {
            match symbol {
                $(stringify!($all) => $all as *const () as *mut c_void,)*
                _ => null_mut(),
            }
        }
    };
    (@take [$($all:ident)*] $(#[$doc:meta])* @$since:literal $name:ident($($arg:ident: $ty:ty),*); $($rest:tt)*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as cuda.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // SAFETY: the program's promise is ours.
            unsafe { body::$name(driver(), $($arg),*) }
        }
        exports! { @take [$($all)* $name] $($rest)* }
    };
    (@take [$($all:ident)*] $(#[$doc:meta])* $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*); $($rest:tt)*) => {
        exports! { @take [$($all)*] $($rest)* }
    };
    ($($rows:tt)*) => { exports! { @take [] $($rows)* } };
}

prlx_driver::cuda_calls!(exports);

/// `cuGetProcAddress`: answers with the exports of this library.
mod proc_address {
    use super::*;

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
        let Some(asked) = calls::call_for_version(name, version, flags & calls::PER_THREAD_STREAM != 0)
        else {
            return found;
        };
        let ours = address(asked.name);
        if ours.is_null() {
            return found;
        }
        let latest = calls::call_for_version(name, c_int::MAX, false).map_or("", |c| c.name);
        let number = latest.rsplit_once("_v").and_then(|(_, v)| v.parse::<u32>().ok()).unwrap_or(1);
        if asked.name.trim_end_matches("_ptsz") == latest
            && !exported(&format!("{name}_v{}", number + 1)).is_null()
        {
            log::warn_once(&format!(
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
        guard(|| {
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
}
