//! The exported functions: one for each row of the driver's table that is marked for us.
//!
//! Holds: arguments and answer are those of cuda.h; each calls the function of its name in [`load`], [`launch`], [`graph`] or [`wait`],
//! with the driver's own functions; a row that is marked and has no such function does not compile.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::symbols::driver;

/// What each call does. Safety, of all of them: pointers are as cuda.h says.
mod body {
    pub use crate::graph::*;
    pub use crate::launch::*;
    pub use crate::library::*;
    pub use crate::link::*;
    pub use crate::load::*;
    pub use crate::symbols::{cuGetProcAddress, cuGetProcAddress_v2};
    pub use crate::wait::*;
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
