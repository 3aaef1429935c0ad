//! nvJitLink: NVIDIA's assembler as a library, which needs no driver.
//!
//! # Invariants
//! Handles are destroyed; every buffer has the size that the library asked for. Misses: it is never closed.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ffi::{CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::null_mut;

use libloading::Library as Dynamic;

type Handle = *mut c_void;
/// `NVJITLINK_INPUT_PTX`.
const PTX: i32 = 2;

/// The functions, as nvJitLink.h declares them; each gives 0 or an error.
macro_rules! functions {
    ($($name:ident = $symbol:literal($($arg:ty),*);)*) => {
        /// The library.
        pub struct Library { $($name: unsafe extern "C" fn($($arg),*) -> i32,)* }
        impl Library {
            fn of(library: &Dynamic) -> Option<Library> {
                // SAFETY: the symbols of these names have these types, as nvJitLink.h says.
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
    /// The library of that name or path, and its version.
    pub fn open(path: &Path) -> Option<(Library, (u32, u32))> {
        // SAFETY: loading a library runs its initialisers; this one is NVIDIA's, or what the user named.
        let dynamic = ManuallyDrop::new(unsafe { Dynamic::new(path) }.ok()?);
        let library = Library::of(&dynamic)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both may be written.
        let told = unsafe { (library.version)(&mut major, &mut minor) };
        (told == 0).then_some((library, (major, minor)))
    }

    /// The machine code. The outer error: the library can't do it; the inner one: what it says of the PTX.
    pub fn assemble(&self, ptx: &str, options: &[String]) -> Result<Result<Vec<u8>, String>, String> {
        let options: Vec<CString> = options.iter().filter_map(|o| CString::new(o.as_str()).ok()).collect();
        let mut list: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut text = ptx.as_bytes().to_vec();
        text.push(0);
        let mut handle = null_mut();
        // SAFETY: the list and its strings live through the call; the library copies them.
        let created = unsafe { (self.create)(&mut handle, list.len() as u32, list.as_mut_ptr()) };
        if created != 0 {
            return Err(format!("error {created} for {options:?}"));
        }
        // SAFETY: the handle was made above; the text lives through the call, and its size is told with its
        // NUL.
        let mut result =
            unsafe { (self.add)(handle, PTX, text.as_ptr().cast(), text.len(), c"ptx".as_ptr()) };
        if result == 0 {
            // SAFETY: the handle was made above.
            result = unsafe { (self.complete)(handle) };
        }
        let (size, get) = match result {
            0 => (self.cubin_size, self.cubin),
            _ => (self.log_size, self.log),
        };
        let mut bytes = Vec::new();
        let mut length = 0;
        // SAFETY: the handle was made above; the buffer has the size that the library asks for.
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
        let said = bytes.split(|b| *b == 0).next().unwrap_or_default();
        Ok(Err(format!("error {result}: {}", String::from_utf8_lossy(said).trim_end())))
    }
}
