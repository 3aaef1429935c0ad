//! Determines the length of images in memory, which a program passes to the driver as plain pointers.
//!
//! # Invariants
//! Reads only what the headers of the image declare.
//!
//! # Limitations
//! Wrong headers are not detected. The driver trusts them as well.
#![allow(
    unsafe_code,
    reason = "pointers that C programs pass say neither what they point to nor how long it is"
)]

use std::ffi::{CStr, c_void};
use std::slice::from_raw_parts;

use prlx_isa::image::{ELF, FATBIN};

/// Magic number of the wrapper that nvcc puts around a fatbin in a program: `{ u32 magic, u32 version, u64
/// at, u64 more }`.
const WRAPPER: u32 = 0x4662_43b1;

/// Why an image has no readable bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The pointer is null.
    Null,
    /// The image is a part of relocatable device code, which is linked when it is loaded.
    Relocatable,
}

/// Returns the bytes of an image: PTX without its NUL, an ELF file up to the end of its headers and sections,
/// or a fatbin, which may be in nvcc's wrapper.
///
/// # Safety
/// `at` must be null or point to an image that the driver accepts and that lives at least as long as `'a`.
///
/// # Errors
/// See [`Unreadable`].
pub unsafe fn bytes<'a>(at: *const c_void) -> Result<&'a [u8], Unreadable> {
    if at.is_null() {
        return Err(Unreadable::Null);
    }
    // SAFETY: the caller guarantees an image. Text ends with a NUL. Every other kind starts with a header
    // that is longer than four bytes and contains a zero byte, so the search for a NUL stays inside the
    // image.
    let text = unsafe { CStr::from_ptr(at.cast()) }.to_bytes();
    if text.starts_with(ELF) {
        // SAFETY: the caller guarantees an image, and this one starts with the magic number of ELF.
        return Ok(unsafe { elf(at.cast()) });
    }
    match text.get(..4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])) {
        // SAFETY: the caller guarantees an image, and this one starts with the wrapper's magic number. A
        // wrapper has 24 bytes.
        Some(WRAPPER) => match unsafe { (number(at.cast(), 4, 4), number(at.cast(), 8, 8)) } {
            // SAFETY: a wrapper of version 1 holds the address of a fatbin, which lives as long as the
            // wrapper.
            (1, to) => unsafe { bytes(std::ptr::with_exposed_provenance(to)) },
            _ => Err(Unreadable::Relocatable),
        },
        Some(FATBIN) => {
            // SAFETY: the caller guarantees an image, and this one starts with the magic number of a fatbin.
            // Its header has 16 bytes: the header's size at offset 6 and the size of the rest at offset 8.
            let size = unsafe { number(at.cast(), 6, 2) + number(at.cast(), 8, 8) };
            // SAFETY: the header declares this size, and the caller guarantees an image that is complete.
            Ok(unsafe { from_raw_parts(at.cast(), size) })
        }
        _ => Ok(text),
    }
}

/// Reads a little-endian number.
///
/// # Safety
/// `size` bytes, at most 8, must be readable at `offset` bytes after `at`.
unsafe fn number(at: *const u8, offset: usize, size: usize) -> usize {
    let mut bytes = [0; 8];
    // SAFETY: the caller guarantees that the bytes are readable.
    bytes[..size].copy_from_slice(unsafe { from_raw_parts(at.add(offset), size) });
    u64::from_le_bytes(bytes) as usize
}

/// Returns the bytes of an ELF file.
///
/// # Safety
/// `at` must point to a complete 64-bit ELF file.
unsafe fn elf<'a>(at: *const u8) -> &'a [u8] {
    // SAFETY: all offsets lie in the file header or in a section header, and the caller guarantees that the
    // file has those.
    let part = |offset: usize, size: usize| unsafe { number(at, offset, size) };
    let (segments, sections) = (part(32, 8) + part(54, 2) * part(56, 2), part(40, 8));
    let ends = (0..part(60, 2)).map(|i| {
        let header = sections + i * 64;
        // A section without bytes in the file (`SHT_NOBITS`) ends where it begins.
        part(header + 24, 8) + if part(header + 4, 4) == 8 { 0 } else { part(header + 32, 8) }
    });
    let end = ends.max().unwrap_or(64).max(segments).max(sections + part(60, 2) * 64);
    // SAFETY: `end` is the end of the last header or section, and the caller guarantees a complete file.
    unsafe { from_raw_parts(at, end) }
}
