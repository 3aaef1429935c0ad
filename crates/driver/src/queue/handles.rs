//! Handles of a GPU's API as distinct types.
#![allow(unsafe_code, reason = "handles are pointers of an API that this process never follows")]

use std::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(pub(crate) *mut c_void);

        // SAFETY: a handle is a name that any thread may pass to the API. This crate never follows the
        // pointer.
        unsafe impl Send for $name {}
        // SAFETY: as for `Send`; a shared handle can only be copied.
        unsafe impl Sync for $name {}

        impl $name {
            /// Wraps a handle that the program got from the API.
            ///
            /// # Safety
            /// The API must have returned the handle, and must know it as long as this value or a copy is
            /// used.
            pub const unsafe fn foreign(handle: *mut c_void) -> $name {
                $name(handle)
            }
        }
    )* };
}

handles! {
    /// A context: the memory and the modules of one program on one device.
    Context
    /// A loaded module.
    Module
    /// A kernel of a module.
    Function
    /// A stream: work that the device does in order. Null is the default stream.
    Stream
    /// A place in a stream that work passes.
    Event
}
