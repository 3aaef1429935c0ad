//! Files that hold kernels: PTX, cubins, fatbins, and programs with fatbins in them.
//!
//! [`read`] lists the images of a file. [`choose`] returns the image of a module that the driver takes for a
//! device. [`Image::ptx`] returns the PTX of an image: its own text, or the text that `-lineinfo` stores in a
//! cubin.
//!
//! # Invariants
//! - Any bytes are accepted.
//! - Nothing is decompressed before it is asked for, and never to more than [`LARGEST`] or than the
//!   compressed bytes can account for.
//!
//! # Limitations
//! - Archives (`.a`), Mach-O and PE programs and 32-bit ELF files are not read.
//! - Images that a program generates at run time are not in its file.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

mod compression;
pub mod cubin;
pub(crate) mod elf;
mod embedded;
mod error;
mod fatbin;
mod line_table;
pub(crate) mod little_endian;
mod locations;
mod lz4;
mod target;

pub use self::compression::Compression;
pub use self::elf::MAGIC as ELF;
pub(crate) use self::embedded::RATIO;
pub use self::embedded::{Image, Kind, LARGEST};
pub use self::error::Error;
pub use self::fatbin::MAGIC as FATBIN;
pub use self::target::Target;

use self::elf::Elf;

/// Sections of a program that hold fatbins: of whole programs, and of relocatable device code (`-rdc=true`).
const SECTIONS: [&str; 3] = [".nv_fatbin", "__nv_relfatbin", ".nv_relfatbin"];

/// Whether a file is a binary that may hold images: ELF or a fatbin.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(elf::MAGIC) || fatbin::begins(bytes)
}

/// Lists the images of a file, in file order.
///
/// # Errors
/// If the format is unknown, or the structure of the file is broken.
pub fn read(bytes: &[u8]) -> Result<Vec<Image<'_>>, Error> {
    let mut images = Vec::new();
    if fatbin::begins(bytes) {
        containers(bytes, 0, &mut images)?;
    } else if bytes.starts_with(elf::MAGIC) {
        let elf = Elf::read(bytes)?;
        if elf.machine == elf::CUDA {
            let code = cubin::read(bytes)?;
            images.push(plain(Kind::Cubin, code.target, code.options, bytes));
        } else if elf.machine == elf::AMDGPU {
            let what = "AMD machine code, which holds no PTX; `prlx inspect` shows it";
            return Err(Error { at: 18, what: what.into() });
        } else {
            for section in elf.sections.iter().filter(|s| SECTIONS.contains(&s.name)) {
                containers(section.data, section.at, &mut images)?;
            }
        }
    } else {
        let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(text).ok().filter(|t| t.contains(".version"));
        let text =
            text.ok_or_else(|| Error { at: 0, what: "neither PTX, a cubin, a fatbin nor a program".into() })?;
        let (module, _) = crate::ptx::read(text);
        let target = Target::parse(&module.target).unwrap_or(Target { number: 0, suffix: None });
        images.push(plain(Kind::Ptx, target, String::new(), bytes));
    }
    Ok(images)
}

/// The PTX of a file: of image number `image` if given. Otherwise the file must have exactly one module with
/// PTX; PTX text is preferred to PTX stored in a cubin, then the highest target wins.
///
/// # Errors
/// If the file cannot be read, if no image has PTX, or if more than one module has.
pub fn source(bytes: &[u8], image: Option<usize>) -> Result<String, Error> {
    let images = read(bytes)?;
    let wrong = |what: String| Error { at: 0, what };
    if let Some(n) = image {
        let image = images
            .get(n)
            .ok_or_else(|| wrong(format!("there is no image {n}: the file has {} images", images.len())))?;
        return image.ptx()?.ok_or_else(|| wrong(format!("image {n} holds no PTX")));
    }
    let mut best: Option<(&Image<'_>, String)> = None;
    for image in &images {
        // Unreadable machine code does not hide the PTX beside it.
        let ptx = if image.kind == Kind::Ptx { image.ptx()? } else { image.ptx().unwrap_or_default() };
        let Some(text) = ptx else { continue };
        let rank = |i: &Image<'_>| (i.kind == Kind::Ptx, i.target.number);
        match &best {
            Some((other, _)) if other.module != image.module => {
                return Err(wrong("more than one module holds PTX: choose an image".into()));
            }
            Some((other, _)) if rank(other) >= rank(image) => {}
            _ => best = Some((image, text)),
        }
    }
    let none =
        "no image holds PTX; nvcc keeps it with -gencode arch=compute_90,code=compute_90 or with -lineinfo";
    best.map(|(_, text)| text).ok_or_else(|| wrong(none.into()))
}

fn plain(kind: Kind, target: Target, options: String, stored: &[u8]) -> Image<'_> {
    let (name, compression, size) = (String::new(), Compression::None, stored.len() as u64);
    Image { module: 0, at: 0, kind, target, options, name, compression, size, stored }
}

/// Appends the images of the containers in `bytes`; each container is a module. Containers are aligned to
/// eight bytes, with zeros between them.
fn containers<'a>(bytes: &'a [u8], at: u64, images: &mut Vec<Image<'a>>) -> Result<(), Error> {
    let mut from = 0;
    while let Some(rest) = bytes.get(from..).filter(|r| !r.is_empty()) {
        if !fatbin::begins(rest) {
            from += 8;
            continue;
        }
        let (entries, end) = fatbin::entries(rest, at + from as u64)?;
        let module = images.last().map_or(0, |i| i.module + 1);
        images.extend(entries.into_iter().map(|e| Image {
            module,
            at: e.at,
            kind: if e.ptx { Kind::Ptx } else { Kind::Cubin },
            target: Target { number: e.number, suffix: e.suffix },
            options: e.options,
            name: e.name,
            compression: e.compression,
            size: e.size,
            stored: e.stored,
        }));
        from += end.max(8).next_multiple_of(8);
    }
    Ok(())
}

/// The image of a module that the driver takes for a device. Machine code that runs on the device is
/// preferred, and of it the highest target. Otherwise it is the PTX that can be assembled for the device,
/// again with the highest target. Among equal targets the more specific suffix wins, then the first image.
pub fn choose<'i, 'a>(images: &'i [Image<'a>], module: usize, device: Target) -> Option<&'i Image<'a>> {
    let best = |kind: Kind, fits: fn(Target, Target) -> bool| {
        let all = images.iter().filter(|i| i.module == module && i.kind == kind && fits(i.target, device));
        let rank = |i: &&Image<'_>| (i.target.number, i.target.suffix.map(|s| s == 'a'));
        // Of equal elements, `max_by_key` takes the last.
        all.rev().max_by_key(rank)
    };
    best(Kind::Cubin, Target::runs_on).or_else(|| best(Kind::Ptx, Target::assembles_for))
}
