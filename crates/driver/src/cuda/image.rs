//! Images in memory, whose length only their content says: what a program hands the driver to load.
//!
//! # Invariants
//! Nothing is read but what the headers say is there. Misses: that the headers tell the truth; the driver
//! believes them too.
#![allow(
    unsafe_code,
    reason = "pointers that C programs pass say neither what they point to nor how long it is"
)]

use std::ffi::{CStr, c_void};
use std::slice::from_raw_parts;

use prlx_isa::image::{ELF, FATBIN};

/// The magic of the wrapper that nvcc puts around a fatbin in a program: `{ u32 magic, u32 version, u64 at,
/// u64 more }`.
const WRAPPER: u32 = 0x4662_43b1;

/// Why there are no bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The pointer is null.
    Null,
    /// Parts of relocatable device code, to be linked when they are loaded.
    Relocatable,
}

/// The bytes of an image: PTX without its NUL, an ELF file to the end of its headers and sections, a fatbin,
/// also in nvcc's wrapper.
///
/// # Safety
/// `at` is null, or points to an image as the driver takes one, which lives as long as `'a`.
///
/// # Errors
/// See [`Unreadable`].
pub unsafe fn bytes<'a>(at: *const c_void) -> Result<&'a [u8], Unreadable> {
    if at.is_null() {
        return Err(Unreadable::Null);
    }
    // SAFETY: text is four bytes long at least, and everything else has a longer header. (Text of fewer: its
    // NUL comes first.)
    let text = unsafe { CStr::from_ptr(at.cast()) }.to_bytes();
    if text.starts_with(ELF) {
        // SAFETY: the caller's promise: an ELF file.
        return Ok(unsafe { elf(at.cast()) });
    }
    match text.get(..4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])) {
        // SAFETY: the caller's promise: a wrapper's header.
        Some(WRAPPER) => match unsafe { (number(at.cast(), 4, 4), number(at.cast(), 8, 8)) } {
            // SAFETY: the wrapper says that the fatbin is there.
            (1, to) => unsafe { bytes(std::ptr::with_exposed_provenance(to)) },
            _ => Err(Unreadable::Relocatable),
        },
        Some(FATBIN) => {
            // SAFETY: the caller's promise: a fatbin's header says how long it and what follows is.
            let size = unsafe { number(at.cast(), 6, 2) + number(at.cast(), 8, 8) };
            // SAFETY: as the header says.
            Ok(unsafe { from_raw_parts(at.cast(), size) })
        }
        _ => Ok(text),
    }
}

/// # Safety
/// `size` bytes, at most 8, can be read `offset` bytes behind `at`.
unsafe fn number(at: *const u8, offset: usize, size: usize) -> usize {
    let mut bytes = [0; 8];
    // SAFETY: the caller's promise.
    bytes[..size].copy_from_slice(unsafe { from_raw_parts(at.add(offset), size) });
    u64::from_le_bytes(bytes) as usize
}

/// # Safety
/// `at` points to a 64-bit ELF file.
unsafe fn elf<'a>(at: *const u8) -> &'a [u8] {
    // SAFETY: within the headers of the file, where the caller's promise is that there are some.
    let part = |offset: usize, size: usize| unsafe { number(at, offset, size) };
    let (segments, sections) = (part(32, 8) + part(54, 2) * part(56, 2), part(40, 8));
    let ends = (0..part(60, 2)).map(|i| {
        let header = sections + i * 64;
        // A section without bytes in the file (`SHT_NOBITS`) ends where it begins.
        part(header + 24, 8) + if part(header + 4, 4) == 8 { 0 } else { part(header + 32, 8) }
    });
    let end = ends.max().unwrap_or(64).max(segments).max(sections + part(60, 2) * 64);
    // SAFETY: as the headers say.
    unsafe { from_raw_parts(at, end) }
}
