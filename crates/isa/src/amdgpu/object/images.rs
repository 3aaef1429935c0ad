//! One code object of a file: which bundle it belongs to, what it was built for, and its bytes.

use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::code_object::{self, CodeObject};
use super::containers::{self, Compressed, Compression, Entry};
use super::target_id::TargetId;
use crate::image::elf::{Elf, MAGIC};
use crate::image::little_endian::{u32_at, u64_at};
use crate::image::{Error, LARGEST, RATIO};

/// Sections of a program that hold bundles.
const SECTIONS: [&str; 2] = [".hip_fatbin", ".hipFatBin"];
/// Section of the wrappers by which a program registers its bundles: `{ u32 magic, u32 version, u64 address
/// of the bundle, u64 0 }`.
const WRAPPERS: &str = ".hipFatBinSegment";
const WRAPPER: usize = 24;
const WRAPPER_MAGIC: u32 = 0x4849_5046;
/// Maximum nesting of bundles.
const DEEPEST: u32 = 4;
/// Maximum number of images in a file.
const MOST: usize = 1 << 16;
/// Maximum number of bundles that a program registers.
const REGISTERED: usize = 1 << 12;
/// Kind of the entries for the host.
const HOST: &str = "host";

/// One code object of a file.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// Bundle of the file that it belongs to. The images of a bundle are the same program for several
    /// targets.
    pub bundle: usize,
    /// Offset in the file of the code object. If it is compressed: of the bundle, see [`Image::within`].
    pub at: u64,
    /// If it is compressed: its offset in the decompressed bundle.
    pub within: Option<u64>,
    /// Kind and target in the bundle, as `hipv4-amdgcn-amd-amdhsa--gfx942:xnack+`; empty for a code object
    /// that is a file by itself.
    pub id: String,
    /// What it was built for, or why PRLX does not read it.
    pub target: Result<TargetId, String>,
    /// Compression of its bundle.
    pub compression: Option<Compression>,
    /// Size of the code object, bytes.
    pub size: u64,
    content: Content<'a>,
}

#[derive(Clone, Debug)]
enum Content<'a> {
    Stored(&'a [u8]),
    Inflated(Arc<Inflated<'a>>, Range<u64>),
}

/// A compressed bundle, which is decompressed when the first of its images is asked for.
#[derive(Debug)]
struct Inflated<'a> {
    bundle: Compressed<'a>,
    whole: OnceLock<Option<Vec<u8>>>,
}

impl Image<'_> {
    /// The bytes of the code object. Images of a compressed bundle share the decompressed bundle, which is
    /// kept until all of them are dropped.
    ///
    /// # Errors
    /// If the bundle does not decompress to the size stored with it.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        let (inflated, place) = match &self.content {
            Content::Stored(bytes) => return Ok(bytes),
            Content::Inflated(inflated, place) => (inflated, place),
        };
        let whole = inflated.whole.get_or_init(|| {
            let size = usize::try_from(inflated.bundle.size).ok()?;
            let mut whole = Vec::with_capacity(size.min(inflated.bundle.stored.len().saturating_mul(16)));
            let read = inflated.bundle.content().take(inflated.bundle.size + 1).read_to_end(&mut whole);
            read.ok().filter(|read| *read == size).map(|_| whole)
        });
        let range = usize::try_from(place.start).ok().zip(usize::try_from(place.end).ok());
        let part = range.zip(whole.as_ref()).and_then(|((from, to), whole)| whole.get(from..to));
        part.ok_or_else(|| Error {
            at: self.at,
            what: format!("the offload bundle does not decompress to its {} bytes", inflated.bundle.size),
        })
    }

    /// The code object.
    ///
    /// # Errors
    /// If PRLX does not read code for its target, or it is damaged. Offsets of errors are those in the code
    /// object.
    pub fn code_object(&self) -> Result<CodeObject<'_>, Error> {
        CodeObject::read(self.bytes()?)
    }
}

/// Whether a file begins as a code object or a bundle.
pub fn is_binary(bytes: &[u8]) -> bool {
    code_object::is_code_object(bytes) || containers::begins(bytes)
}

/// Lists the code objects of a file, in file order: of a code object, a bundle, or a program or library that
/// holds bundles. Entries of bundles for the host are omitted.
///
/// # Errors
/// If the format is unknown, or the structure of the file is broken.
pub fn read(bytes: &[u8]) -> Result<Vec<Image<'_>>, Error> {
    let mut list = List { images: Vec::new(), bundles: 0 };
    if code_object::is_code_object(bytes) {
        let target = CodeObject::read(bytes)?.target;
        list.push_file(bytes, target);
    } else if containers::begins(bytes) {
        list.section(bytes, 0)?;
    } else if bytes.starts_with(MAGIC) {
        list.program(bytes)?;
    } else {
        let what = "neither an AMD code object, an offload bundle nor a program";
        return Err(Error { at: 0, what: what.into() });
    }
    Ok(list.images)
}

/// The image of a bundle that the runtime takes for a device: one for its processor, built for its features
/// or for any. Of several, the one that is built for more features is taken, then the first.
pub fn choose<'i, 'a>(images: &'i [Image<'a>], bundle: usize, device: TargetId) -> Option<&'i Image<'a>> {
    let fits = |image: &&Image<'_>| {
        image.bundle == bundle && image.target.as_ref().is_ok_and(|target| target.runs_on(device))
    };
    let rank = |image: &&Image<'_>| image.target.as_ref().map_or(0, |target| target.specific());
    // Of equal elements, `max_by_key` takes the last.
    images.iter().rev().filter(fits).max_by_key(rank)
}

struct List<'a> {
    images: Vec<Image<'a>>,
    bundles: usize,
}

impl<'a> List<'a> {
    fn push_file(&mut self, bytes: &'a [u8], target: TargetId) {
        self.images.push(Image {
            bundle: 0,
            at: 0,
            within: None,
            id: String::new(),
            target: Ok(target),
            compression: None,
            size: bytes.len() as u64,
            content: Content::Stored(bytes),
        });
    }

    /// Appends the bundles of a program.
    fn program(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        let elf = Elf::read(bytes)?;
        let mut sections: Vec<Range<u64>> = Vec::new();
        for section in elf.sections.iter().filter(|s| SECTIONS.contains(&s.name)) {
            let place = section.at..section.at + section.data.len() as u64;
            // Sections of a damaged file may share their bytes.
            if !sections.iter().any(|s| s.start < place.end && place.start < s.end) {
                self.section(section.data, section.at)?;
                sections.push(place);
            }
        }
        // Wrappers lead to bundles in sections of other names.
        for at in registered(&elf, bytes)? {
            let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
            if !sections.iter().any(|s| s.contains(&at)) && containers::begins(rest) {
                self.bundle(rest, at, 0)?;
            }
        }
        Ok(())
    }

    /// Appends the bundles in a section. They are aligned, with zeros between them.
    fn section(&mut self, bytes: &'a [u8], at: u64) -> Result<(), Error> {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|r| !r.is_empty()) {
            if containers::begins(rest) {
                from += self.bundle(rest, at + from as u64, 0)?;
                from = from.next_multiple_of(8);
            } else {
                from += 8;
            }
        }
        Ok(())
    }

    /// Appends the images of the bundle at the beginning of `bytes`; its length.
    fn bundle(&mut self, bytes: &'a [u8], at: u64, depth: u32) -> Result<usize, Error> {
        if depth > DEEPEST {
            return Err(Error { at, what: "offload bundles are nested too deeply".into() });
        }
        if self.images.len() > MOST {
            return Err(Error { at, what: format!("the file has more than {MOST} code objects") });
        }
        let bundle = self.bundles;
        self.bundles += 1;
        if containers::is_compressed(bytes) {
            let compressed = Compressed::read(bytes, at)?;
            let most = LARGEST.min((compressed.stored.len() as u64).saturating_mul(RATIO));
            if compressed.size > most {
                let what = format!("an offload bundle of {} bytes is larger than it can be", compressed.size);
                return Err(Error { at, what });
            }
            let (entries, _) = containers::entries(&mut *compressed.content(), compressed.size, at)?;
            let inflated = Arc::new(Inflated { bundle: compressed, whole: OnceLock::new() });
            for entry in device(entries) {
                let content = Content::Inflated(Arc::clone(&inflated), entry.place.clone());
                self.push(bundle, at, Some(entry.place.start), entry, Some(compressed.method), content);
            }
            return Ok(compressed.len());
        }
        let (entries, end) = containers::entries(&mut &*bytes, bytes.len() as u64, at)?;
        for entry in device(entries) {
            let range = usize::try_from(entry.place.start).ok().zip(usize::try_from(entry.place.end).ok());
            let part = range.and_then(|(from, to)| bytes.get(from..to)).unwrap_or_default();
            let place = at + entry.place.start;
            if containers::begins(part) {
                self.bundle(part, place, depth + 1)?;
            } else {
                self.push(bundle, place, None, entry, None, Content::Stored(part));
            }
        }
        Ok(usize::try_from(end).unwrap_or(bytes.len()))
    }

    fn push(
        &mut self,
        bundle: usize,
        at: u64,
        within: Option<u64>,
        entry: Entry,
        compression: Option<Compression>,
        content: Content<'a>,
    ) {
        let target = target(&entry.id);
        let size = entry.place.end - entry.place.start;
        self.images.push(Image { bundle, at, within, id: entry.id, target, compression, size, content });
    }
}

/// The entries that hold something for a device.
fn device(entries: Vec<Entry>) -> impl Iterator<Item = Entry> {
    let kind = |id: &str| id.split('-').next().unwrap_or_default().to_owned();
    entries.into_iter().filter(move |e| !e.place.is_empty() && kind(&e.id) != HOST)
}

/// The target of an ID: `KIND-amdgcn-amd-amdhsa-ENVIRONMENT-TARGET`, where the environment is mostly empty,
/// and old compilers omit it with its dash.
fn target(id: &str) -> Result<TargetId, String> {
    let rest = id.split_once("-amdgcn-amd-amdhsa-").map(|(_, rest)| rest);
    let rest = rest.ok_or_else(|| format!("`{id}` is no code for the HSA runtime"))?;
    let is_target = |text: &str| text.starts_with("gfx");
    let name = if is_target(rest) { rest } else { rest.split_once('-').map_or(rest, |(_, name)| name) };
    TargetId::parse(name)
}

/// Offsets in the file of the bundles that a program registers.
fn registered(elf: &Elf<'_>, bytes: &[u8]) -> Result<Vec<u64>, Error> {
    let Some(section) = elf.section(WRAPPERS) else { return Ok(Vec::new()) };
    let segments = Elf::segments(bytes)?;
    let relocated: std::collections::HashMap<u64, u64> =
        elf.relocations().map(|r| (r.address, r.addend.cast_unsigned())).collect();
    if section.data.len() / WRAPPER > REGISTERED {
        let what = format!("section `{WRAPPERS}` registers more than {REGISTERED} bundles");
        return Err(Error { at: section.at, what });
    }
    let mut all = Vec::new();
    for (n, wrapper) in section.data.chunks_exact(WRAPPER).enumerate() {
        if u32_at(wrapper, 0) != Some(WRAPPER_MAGIC) {
            continue;
        }
        let field = section.address.wrapping_add((n * WRAPPER + 8) as u64);
        let address = relocated.get(&field).copied().or_else(|| u64_at(wrapper, 8)).unwrap_or_default();
        let segment = segments.iter().find(|s| {
            s.kind == 1 && address.checked_sub(s.address).is_some_and(|from| from < s.data.len() as u64)
        });
        all.extend(segment.map(|s| s.at + (address - s.address)));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}
