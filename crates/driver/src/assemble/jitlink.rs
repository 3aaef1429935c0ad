//! nvJitLink: NVIDIA's assembler as a library, which needs no GPU driver.
//!
//! # Invariants
//! - Every handle is destroyed.
//! - Every buffer that the library fills has the size that the library asked for.
//!
//! # Safety contract
//! - **J1, types.** The functions have the types that nvJitLink.h declares.
//! - **J2, live arguments.** Pointers that are passed point to values that live until the call returns; the
//!   library copies what it keeps.
//! - **J3, handle.** A handle is used only between `create` and `destroy`, by one thread.
//!
//! # Limitations
//! The library is never closed.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ffi::{CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::null_mut;

use libloading::Library as Dynamic;

type Handle = *mut c_void;
/// `NVJITLINK_INPUT_PTX` of nvJitLink.h.
const PTX: i32 = 2;

/// The functions of nvJitLink.h that are used. Each returns 0 or an error code.
macro_rules! functions {
    ($($name:ident = $symbol:literal($($arg:ty),*);)*) => {
        /// Function pointers into the library.
        pub struct Library { $($name: unsafe extern "C" fn($($arg),*) -> i32,)* }
        impl Library {
            fn of(library: &Dynamic) -> Option<Library> {
                // SAFETY: J1: the symbol of this name has this type in nvJitLink.h. The library is never
                // closed, so the pointer stays valid.
                Some(Library { $($name: *unsafe { library.get($symbol) }.ok()?,)* })
            }
        }
    };
}
functions! {
    version = b"nvJitLinkVersion\0"(*mut u32, *mut u32);
    create = b"nvJitLinkCreate\0"(*mut Handle, u32, *mut *const c_char);
    destroy = b"nvJitLinkDestroy\0"(*mut Handle);
    add = b"nvJitLinkAddData\0"(Handle, i32, *const c_void, usize, *const c_char);
    complete = b"nvJitLinkComplete\0"(Handle);
    cubin_size = b"nvJitLinkGetLinkedCubinSize\0"(Handle, *mut usize);
    cubin = b"nvJitLinkGetLinkedCubin\0"(Handle, *mut c_void);
    log_size = b"nvJitLinkGetErrorLogSize\0"(Handle, *mut usize);
    log = b"nvJitLinkGetErrorLog\0"(Handle, *mut c_void);
}

impl Library {
    /// Opens the library with that name or path. Also returns its version: major, minor.
    pub fn open(path: &Path) -> Option<(Library, (u32, u32))> {
        // SAFETY: Loading a library runs its initialisers. This one is NVIDIA's, or the one that the user
        // named.
        let dynamic = ManuallyDrop::new(unsafe { Dynamic::new(path) }.ok()?);
        let library = Library::of(&dynamic)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: J2: both are local variables that the call writes.
        let code = unsafe { (library.version)(&mut major, &mut minor) };
        (code == 0).then_some((library, (major, minor)))
    }

    /// Assembles `ptx`. The outer error means that the library cannot be used; the inner error is its message
    /// about the PTX.
    pub fn assemble(&self, ptx: &str, options: &[String]) -> Result<Result<Vec<u8>, String>, String> {
        let options: Vec<CString> = options.iter().filter_map(|o| CString::new(o.as_str()).ok()).collect();
        let mut list: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut text = ptx.as_bytes().to_vec();
        text.push(0);
        let mut handle = null_mut();
        // SAFETY: J2: the list and its strings live until the end of this function, and `list.len()` is their
        // number.
        let created = unsafe { (self.create)(&mut handle, list.len() as u32, list.as_mut_ptr()) };
        if created != 0 {
            return Err({
                let given = options.iter().map(|o| o.to_string_lossy()).collect::<Vec<_>>().join(" ");
                format!("error {created} for the options {given}")
            });
        }
        // SAFETY: J3: the handle was created above. J2: the text lives until the end of this function, and
        // its length includes the NUL, as the header asks.
        let mut result =
            unsafe { (self.add)(handle, PTX, text.as_ptr().cast(), text.len(), c"ptx".as_ptr()) };
        if result == 0 {
            // SAFETY: J3: the handle was created above and is not yet destroyed.
            result = unsafe { (self.complete)(handle) };
        }
        let (size, get) = match result {
            0 => (self.cubin_size, self.cubin),
            _ => (self.log_size, self.log),
        };
        let mut bytes = Vec::new();
        let mut length = 0;
        // SAFETY: J3: the handle is destroyed last. J2: the buffer has the length that the library returned
        // for it.
        unsafe {
            if size(handle, &mut length) == 0 {
                bytes.resize(length, 0u8);
                if get(handle, bytes.as_mut_ptr().cast()) != 0 {
                    bytes.clear();
                }
            }
            (self.destroy)(&mut handle);
        }
        if result == 0 && !bytes.is_empty() {
            return Ok(Ok(bytes));
        }
        let log = bytes.split(|b| *b == 0).next().unwrap_or_default();
        Ok(Err(format!("error {result}: {}", String::from_utf8_lossy(log).trim_end())))
    }
}
