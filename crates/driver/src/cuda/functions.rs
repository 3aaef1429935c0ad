//! Function pointers into a driver library, one for each row of the call table.
//!
//! # Invariants
//! Every pointer can be called. A call that the library lacks returns `CUDA_ERROR_NOT_SUPPORTED`.
#![allow(unsafe_code, reason = "pointers that dlsym gave become functions")]

use std::ffi::{CStr, c_void};
use std::mem::transmute;

/// Result of a call that the library lacks (`CUDA_ERROR_NOT_SUPPORTED`).
const NOT_SUPPORTED: i32 = 801;

macro_rules! functions {
    ($($(#[$doc:meta])* $(@$since:literal)? $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// Function pointers, one for each row of [`cuda_calls!`](crate::cuda_calls).
        #[allow(non_snake_case, reason = "the driver's own names")]
        #[derive(Clone, Copy, Debug)]
        pub struct Functions { $($(#[$doc])* pub $name: unsafe extern "C" fn($($ty),*) -> i32,)* }

        impl Functions {
            /// Takes the functions that `find` returns by name; `find` returns null for missing ones.
            ///
            /// # Safety
            /// A function that `find` returns must have the type that the table declares for its name, and
            /// stay callable as long as the result is used.
            pub unsafe fn of(find: &dyn Fn(&CStr) -> *const c_void) -> Functions {
                Functions { $($name: {
                    unsafe extern "C" fn missing($(_: $ty),*) -> i32 {
                        NOT_SUPPORTED
                    }
                    let name = concat!(stringify!($name), "\0");
                    let found = find(CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default());
                    match found.is_null() {
                        true => missing,
                        // SAFETY: the caller guarantees that the function has the type of this row.
                        false => unsafe { transmute::<*const c_void, unsafe extern "C" fn($($ty),*) -> i32>(found) },
                    }
                },)* }
            }
        }
    };
}
crate::cuda_calls!(functions);
