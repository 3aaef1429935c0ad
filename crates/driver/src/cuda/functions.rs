//! The table's calls as pointers into a driver library.
//!
//! # Invariants
//! Every pointer can be called: what the library lacks is a function that says so. Misses: whose library it
//! is.
#![allow(unsafe_code, reason = "pointers that dlsym gave become functions")]

use std::ffi::{CStr, c_void};
use std::mem::transmute;

/// `CUDA_ERROR_NOT_SUPPORTED`: what calls answer that the library lacks.
const NOT_SUPPORTED: i32 = 801;

macro_rules! functions {
    ($($(#[$doc:meta])* $(@$since:literal)? $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// A pointer for each row of [`cuda_calls!`](crate::cuda_calls).
        #[allow(non_snake_case, reason = "the driver's own names")]
        #[derive(Clone, Copy, Debug)]
        pub struct Functions { $($(#[$doc])* pub $name: unsafe extern "C" fn($($ty),*) -> i32,)* }

        impl Functions {
            /// The calls as `find` finds them by name; null for those that are not there.
            ///
            /// # Safety
            /// What is found under a name has the type that the table says.
            pub unsafe fn of(find: &dyn Fn(&CStr) -> *const c_void) -> Functions {
                Functions { $($name: {
                    unsafe extern "C" fn missing($(_: $ty),*) -> i32 {
                        NOT_SUPPORTED
                    }
                    let name = concat!(stringify!($name), "\0");
                    let found = find(CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default());
                    match found.is_null() {
                        true => missing,
                        // SAFETY: the caller's promise.
                        false => unsafe { transmute::<*const c_void, unsafe extern "C" fn($($ty),*) -> i32>(found) },
                    }
                },)* }
            }
        }
    };
}
crate::cuda_calls!(functions);
