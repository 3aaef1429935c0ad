//! Files that hold kernels: PTX, cubins, fatbins, and programs with fatbins in them. From bytes to the PTX of a kernel.
//!
//! [`read`] lists the images of a file; [`choose`] says which of a module's images the driver takes for a device;
//! [`Image::ptx`] gives an image's PTX, its own text or what `-lineinfo` left in it.
//!
//! Holds: any bytes; nothing is decompressed before it is asked for, and then never to more than [`LARGEST`] or than the
//! compressed bytes can account for. Misses: archives (`.a`), Mach-O and PE programs, 32-bit ELF; images that a program makes
//! while it runs.

pub mod cubin;
mod elf;
mod fatbin;
mod lz4;

use std::borrow::Cow;
use std::fmt;

use self::elf::Elf;
pub use self::elf::MAGIC as ELF;
pub use self::fatbin::MAGIC as FATBIN;

/// Most bytes that an image may have.
pub const LARGEST: u64 = 512 << 20;
/// Most bytes that one compressed byte may give.
const RATIO: u64 = 1 << 14;
/// Sections of a program that hold fatbins: of whole programs, and of those whose device code is linked (`-rdc=true`).
const SECTIONS: [&str; 3] = [".nv_fatbin", "__nv_relfatbin", ".nv_relfatbin"];

/// What is wrong with a file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Bytes from the file's beginning; 0 also for the file as a whole.
    pub at: u64,
    /// What.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            0 => f.write_str(&self.what),
            at => write!(f, "{} (at byte {at})", self.what),
        }
    }
}

impl std::error::Error for Error {}

/// A little-endian number of `N` bytes at `at`.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// An architecture, as `sm_90a`: its number, and `a` for code that runs on it alone or `f` for its family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// As `90`.
    pub number: u32,
    /// As `a`.
    pub suffix: Option<char>,
}

impl Target {
    /// From `sm_90a` or `compute_90a`.
    pub fn parse(text: &str) -> Option<Target> {
        let rest = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
        let digits = rest.trim_end_matches(['a', 'f']);
        let suffix = match &rest[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        let known = !digits.is_empty() && digits.len() < 4 && digits.bytes().all(|b| b.is_ascii_digit());
        known.then(|| digits.parse().ok()).flatten().map(|number| Target { number, suffix })
    }

    /// The plain architecture of a compute capability: (9, 0) is `sm_90`.
    pub fn of((major, minor): (u32, u32)) -> Target {
        Target { number: major.saturating_mul(10).saturating_add(minor), suffix: None }
    }

    /// Whether machine code for it runs on a device: on the same major with a minor not below its own (CUDA C++ programming
    /// guide, "binary compatibility"); with `a` on that device alone.
    pub fn runs_on(self, device: Target) -> bool {
        let family = self.number / 10 == device.number / 10 && self.number <= device.number;
        family && (self.suffix != Some('a') || self.number == device.number)
    }

    /// Whether PTX for it can be assembled for a device: for the same and every later one ("PTX compatibility"); with `a`
    /// for that device alone, with `f` for its family.
    pub fn assembles_for(self, device: Target) -> bool {
        match self.suffix {
            None => self.number <= device.number,
            Some(_) => self.runs_on(device),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |s| write!(f, "{s}"))
    }
}

/// What an image is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Text.
    Ptx,
    /// Machine code in ELF.
    Cubin,
}

/// How an image is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// As it is.
    None,
    /// One LZ4 block.
    Lz4,
    /// One Zstandard frame.
    Zstd,
}

/// An image in a file.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// Which module of the file it belongs to: a module's images are one program for several devices.
    pub module: usize,
    /// Where its container's entry, or itself, begins.
    pub at: u64,
    /// What it is.
    pub kind: Kind,
    /// What it is for.
    pub target: Target,
    /// The assembler's options that are stored with it.
    pub options: String,
    /// The source's name, where it is stored.
    pub name: String,
    /// How it is stored.
    pub compression: Compression,
    /// Bytes of the image itself.
    pub size: u64,
    stored: &'a [u8],
}

impl<'a> Image<'a> {
    /// Its bytes.
    ///
    /// # Errors
    /// When it is too large, or does not decompress to the size that is stored with it.
    pub fn bytes(&self) -> Result<Cow<'a, [u8]>, Error> {
        let wrong = |what: String| Error { at: self.at, what };
        let most = LARGEST.min((self.stored.len() as u64).saturating_mul(RATIO));
        if self.size > most {
            return Err(wrong(format!("an image of {} bytes is larger than it can be", self.size)));
        }
        let size = self.size as usize;
        let broken = || wrong(format!("the image does not decompress to its {size} bytes"));
        match self.compression {
            Compression::None => Ok(Cow::Borrowed(self.stored)),
            Compression::Lz4 => lz4::decompress(self.stored, size).map(Cow::Owned).ok_or_else(broken),
            Compression::Zstd => zstd::bulk::decompress(self.stored, size)
                .ok()
                .filter(|bytes| bytes.len() == size)
                .map(Cow::Owned)
                .ok_or_else(broken),
        }
    }

    /// Its PTX: its own text, or what is stored in a cubin; `None` if there is none.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn ptx(&self) -> Result<Option<String>, Error> {
        let bytes = self.bytes()?;
        match self.kind {
            Kind::Cubin => Ok(cubin::read(&bytes)?.ptx),
            Kind::Ptx => {
                let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
                let text = std::str::from_utf8(text);
                let text = text.map_err(|_| Error { at: self.at, what: "the PTX is not text".into() })?;
                Ok(Some(text.to_owned()))
            }
        }
    }

    /// Names of its kernels.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn kernels(&self) -> Result<Vec<String>, Error> {
        if self.kind == Kind::Cubin {
            return Ok(cubin::read(&self.bytes()?)?.kernels);
        }
        let (module, _) = crate::ptx::read(&self.ptx()?.unwrap_or_default());
        let kernels = module.functions.into_iter().filter(|f| f.kind == crate::view::FunctionKind::Kernel);
        Ok(kernels.map(|f| f.name).collect())
    }
}

/// Whether a file is one of those that hold images beside text.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(elf::MAGIC) || fatbin::begins(bytes)
}

/// The images of a file, in its order.
///
/// # Errors
/// When the file is none that is known, or its structure is broken.
pub fn read(bytes: &[u8]) -> Result<Vec<Image<'_>>, Error> {
    let mut images = Vec::new();
    if fatbin::begins(bytes) {
        containers(bytes, 0, &mut images)?;
    } else if bytes.starts_with(elf::MAGIC) {
        let elf = Elf::read(bytes)?;
        if elf.machine == elf::CUDA {
            let code = cubin::read(bytes)?;
            images.push(plain(Kind::Cubin, code.target, code.options, bytes));
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

/// The PTX of a file: of the image of that number; else of the one module that has some, its own text before what is stored
/// in a cubin, then that for the highest target.
///
/// # Errors
/// When the file can't be read, no image has PTX, or more than one module has.
pub fn source(bytes: &[u8], image: Option<usize>) -> Result<String, Error> {
    let images = read(bytes)?;
    let wrong = |what: String| Error { at: 0, what };
    if let Some(n) = image {
        let image =
            images.get(n).ok_or_else(|| wrong(format!("there is no image {n}, but {}", images.len())))?;
        return image.ptx()?.ok_or_else(|| wrong(format!("image {n} holds no PTX")));
    }
    let mut best: Option<(&Image<'_>, String)> = None;
    for image in &images {
        // Machine code that can't be read does not keep the PTX beside it from being found.
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

/// The images of the containers in `bytes`, each a module; they are aligned to eight bytes, with zeros between them.
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

/// The image of a module that the driver takes for a device: of the machine code that runs there, that for the highest target;
/// else of the PTX that can be assembled for it, that for the highest target. Of equals, the more special, then the first.
pub fn choose<'i, 'a>(images: &'i [Image<'a>], module: usize, device: Target) -> Option<&'i Image<'a>> {
    let best = |kind: Kind, fits: fn(Target, Target) -> bool| {
        let all = images.iter().filter(|i| i.module == module && i.kind == kind && fits(i.target, device));
        let rank = |i: &&Image<'_>| (i.target.number, i.target.suffix.map(|s| s == 'a'));
        // Of equals, `max_by_key` takes the last.
        all.rev().max_by_key(rank)
    };
    best(Kind::Cubin, Target::runs_on).or_else(|| best(Kind::Ptx, Target::assembles_for))
}
