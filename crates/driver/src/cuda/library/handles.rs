//! The driver's handles as types of their own.
#![allow(unsafe_code, reason = "handles are pointers of the driver's that this process never follows")]

use std::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(pub(super) *mut c_void);

        // SAFETY: a name for something of the driver's, which any thread may say; nothing is reached through
        // it here.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// A handle that the program got from the driver itself.
            ///
            /// # Safety
            /// The driver gave it out, and knows it as long as this is used.
            pub const unsafe fn foreign(handle: *mut c_void) -> $name {
                $name(handle)
            }
        }
    )* };
}

handles! {
    /// A context.
    Context
    /// A module.
    Module
    /// A kernel.
    Function
    /// A stream; null is the default stream.
    Stream
    /// An event.
    Event
}

/// A device, by the driver's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device(pub(super) i32);
