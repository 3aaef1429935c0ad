//! The driver's handles as distinct types.
#![allow(unsafe_code, reason = "handles are pointers of the driver's that this process never follows")]

use std::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(pub(super) *mut c_void);

        // SAFETY: C3: a handle is a name that any thread may pass to the driver. This crate never follows the
        // pointer.
        unsafe impl Send for $name {}
        // SAFETY: C3: as for `Send`; a shared handle can only be copied.
        unsafe impl Sync for $name {}

        impl $name {
            /// Wraps a handle that the program got from the driver.
            ///
            /// # Safety
            /// The driver must have returned the handle, and must know it as long as this value or a copy is
            /// used.
            pub const unsafe fn foreign(handle: *mut c_void) -> $name {
                $name(handle)
            }
        }
    )* };
}

handles! {
    /// A context of the driver.
    Context
    /// A loaded module.
    Module
    /// A kernel of a module.
    Function
    /// A stream; null is the default stream.
    Stream
    /// An event of the driver.
    Event
}

/// A device, by its number in the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device(pub(super) i32);
