//! The file that holds a recording: a header, then sections until the one that says that it is whole.
//!
//! **Header**: 8 bytes [`MAGIC`], 4 bytes version, 4 bytes checksum of those 12 (the low half). **Section**: a head of 40 bytes — kind, flags (4 bytes
//! each), stored length, length when unpacked, checksum of what is stored, checksum of the head so far (8 bytes each) —
//! and the stored bytes. All little-endian; checksums are XXH3-64.
//!
//! Sections follow one another without a table in front, so that a recorder appends a launch when it has ended and what a
//! killed one left is whole up to its last section. A reader walks from head to head; the bytes of frames are left alone
//! until they are asked for, and each frame has a checksum of its own in the index before it.
//!
//! **Versions.** The magic changes when nothing of the old can be read. Every other change raises [`VERSION`]; a reader
//! reads its own version and all before it, and refuses later ones. A field that is added says since when
//! (`#[since]`), a kind or a number is never used again. A section of unknown kind whose flag [`SKIP`] is set is skipped.
//!
//! Holds: reading never panics; what is held at once is in proportion to the file ([`Budget`]); every id is in range.

use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64;

use crate::ids::WarpId;
use crate::kernel::Module;
use crate::launch::Launch;
use crate::stored::{Reader, Stored, VERSION, put_number};
use crate::trace::{Packed, Recording, Streams, Trace, WarpInfo};
use crate::{Error, frame, validate};

/// The first bytes of a file.
pub const MAGIC: &[u8; 8] = b"PRLXTRC2";
const HEADER: usize = 16;
const HEAD: usize = 40;

/// Flag: the stored bytes are a zstd frame.
const PACKED: u32 = 1;
/// Flag: who does not know the kind may go on without the section.
const SKIP: u32 = 2;
/// Flag: the head's checksum of what is stored is 0; the bytes have checksums elsewhere.
const UNCHECKED: u32 = 4;

/// Kinds of section, with their number, whether they are packed, and what they hold.
pub(crate) const KINDS: &[(u32, &str, &str)] = &[
    (META, "meta", "The producer, as `String`. Always first."),
    (
        MODULE,
        "module",
        "A `Module`; its number is its place among the modules. Comes before the launches that name it.",
    ),
    (LAUNCH, "launch", "A `Launch`. Its index and its frames follow."),
    (INDEX, "index", "The warps of the launch and where their streams are: see Index."),
    (
        FRAMES,
        "frames",
        "The launch's frames, one after the other, each a zstd frame: see Frames. Not packed again, and without checksum.",
    ),
    (END, "end", "The number of sections before it, as `u64`. Always last."),
];
const META: u32 = 1;
const MODULE: u32 = 2;
const LAUNCH: u32 = 3;
const INDEX: u32 = 4;
const FRAMES: u32 = 5;
const END: u32 = 0xffff_ffff;

/// Most bytes that one section unpacks to (frames apart).
const MOST: u64 = 256 << 20;

/// How much may be unpacked while a file is opened: 16 MiB, and 256 times its length. Text packs 30-fold at best.
struct Budget(u64);

impl Budget {
    fn take(&mut self, bytes: u64) -> Result<(), String> {
        self.0 = self.0.checked_sub(bytes).ok_or("the file unpacks to far more than a recording would")?;
        Ok(())
    }
}

impl Trace {
    /// Writes a file.
    ///
    /// # Errors
    /// When `out` fails, or a stream is too long for a frame (a gibibyte for one warp).
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(&header(VERSION))?;
        let mut to = Writer { out, sections: 0 };
        to.value(META, |b| self.producer.put(b))?;
        for module in &self.modules {
            to.value(MODULE, |b| module.put(b))?;
        }
        for recording in &self.launches {
            let frames = recording.streams.pack()?;
            to.value(LAUNCH, |b| recording.launch.put(b))?;
            to.value(INDEX, |b| put_index(b, &recording.streams, &frames))?;
            let length = frames.iter().map(|(_, f)| f.bytes.len()).sum();
            to.head(FRAMES, UNCHECKED, length, length, 0)?;
            for (_, frame) in &frames {
                to.out.write_all(&frame.bytes)?;
            }
        }
        let count = to.sections.to_le_bytes();
        to.head(END, 0, count.len(), count.len(), xxh3_64(&count))?;
        to.out.write_all(&count)?;
        to.out.flush()
    }

    /// Reads a file. Streams stay packed: damage in them shows when they are unpacked.
    ///
    /// # Errors
    /// When the bytes are no recording, are damaged or cut off, or are of a later version.
    pub fn read(file: &[u8]) -> Result<Trace, Error> {
        Trace::open(file, true)
    }

    /// Reads all of a file but the streams: modules, launches, and the warps' digests. The frames' bytes are not looked
    /// at, so that a mapped file is not loaded for them.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn read_index(file: &[u8]) -> Result<Trace, Error> {
        Trace::open(file, false)
    }

    fn open(file: &[u8], frames: bool) -> Result<Trace, Error> {
        let mut sections = Sections::new(file)?;
        let mut trace = Trace::default();
        let mut count = 0;
        let mut at = sections.next()?;
        if at.kind != META {
            return Err(at.error("the first section must be meta"));
        }
        trace.producer = sections.value(&at, "Trace.producer")?;
        loop {
            count += 1;
            at = sections.next()?;
            match at.kind {
                END => break,
                MODULE => {
                    let name = format!("Trace.modules[{}]", trace.modules.len());
                    let module: Module = sections.value(&at, &name)?;
                    validate::module(&module).map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    trace.modules.push(module);
                }
                LAUNCH => {
                    let keep = frames;
                    let name = format!("Trace.launches[{}]", trace.launches.len());
                    let launch: Launch = sections.value(&at, &name)?;
                    validate::launch(&launch, &trace.modules)
                        .map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    let (index, frames) = (sections.next()?, sections.next()?);
                    count += 2;
                    if (index.kind, frames.kind) != (INDEX, FRAMES) {
                        return Err(index.error("a launch's index and frames must follow it"));
                    }
                    let sites = trace.modules[launch.module.index()].sites.len() as u32;
                    let streams = sections
                        .streams(&index, &frames, &launch, keep.then_some(sites))
                        .map_err(|e| e.within(&name))?;
                    trace.launches.push(Recording { launch, streams });
                }
                _ if at.flags & SKIP != 0 => {}
                kind => return Err(at.error(format!("sections of kind {kind} are not known"))),
            }
        }
        if at.stored.first_chunk().map(|b| u64::from_le_bytes(*b)) != Some(count) || at.stored.len() != 8 {
            return Err(at.error("the number of sections is not what the last one says"));
        }
        match sections.left() {
            0 => Ok(trace),
            n => Err(sections.error(format!("{n} bytes follow the end"))),
        }
    }
}

/// The first bytes of a file: the last four are a checksum of those before.
fn header(version: u32) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&version.to_le_bytes());
    let checksum = xxh3_64(&bytes) as u32;
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

struct Writer<W> {
    out: W,
    sections: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the head of a section.
    fn head(&mut self, kind: u32, flags: u32, stored: usize, size: usize, checksum: u64) -> io::Result<()> {
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&kind.to_le_bytes());
        head.extend_from_slice(&flags.to_le_bytes());
        for n in [stored as u64, size as u64, checksum] {
            head.extend_from_slice(&n.to_le_bytes());
        }
        head.extend_from_slice(&xxh3_64(&head).to_le_bytes());
        self.sections += 1;
        self.out.write_all(&head)
    }
    /// Writes a packed section.
    fn value(&mut self, kind: u32, put: impl Fn(&mut Vec<u8>)) -> io::Result<()> {
        let mut bytes = Vec::new();
        put(&mut bytes);
        let packed = frame::pack(&bytes)?;
        self.head(kind, PACKED, packed.len(), bytes.len(), xxh3_64(&packed))?;
        self.out.write_all(&packed)
    }
}

/// The warps, column by column, and the frames.
fn put_index(out: &mut Vec<u8>, streams: &Streams, frames: &[(usize, Packed)]) {
    put_number(out, streams.infos().len() as u64);
    let mut next = 0;
    for info in streams.infos() {
        // Mostly every warp is there, and this is 0.
        put_number(out, info.warp.0.wrapping_sub(std::mem::replace(&mut next, info.warp.0.wrapping_add(1))));
    }
    streams.infos().for_each(|i| out.extend_from_slice(&i.digest.to_le_bytes()));
    streams.infos().for_each(|i| put_number(out, i.dropped));
    put_number(out, frames.len() as u64);
    for (warps, frame) in frames {
        put_number(out, *warps as u64);
        put_number(out, frame.bytes.len() as u64);
        put_number(out, frame.size);
        out.extend_from_slice(&frame.checksum.to_le_bytes());
    }
}

/// A section of the file that is read.
struct Section<'a> {
    kind: u32,
    flags: u32,
    size: u64,
    stored: &'a [u8],
    /// Where `stored` begins in the file.
    offset: u64,
}

impl Section<'_> {
    fn error(&self, what: impl Into<String>) -> Error {
        self.field("Section", what)
    }
    fn field(&self, field: &str, what: impl Into<String>) -> Error {
        Error { offset: self.offset, field: field.into(), what: what.into() }
    }
}

/// The sections of a file.
struct Sections<'a> {
    bytes: &'a [u8],
    from: Reader<'a>,
    version: u32,
    budget: Budget,
}

impl<'a> Sections<'a> {
    fn new(bytes: &'a [u8]) -> Result<Sections<'a>, Error> {
        let fail = |what: String| Err(Error { offset: 0, field: "header".into(), what });
        if !bytes.starts_with(MAGIC) {
            return fail("this is no recording of prlx: it does not begin with PRLXTRC2".into());
        }
        let version = bytes[MAGIC.len()..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        if bytes.get(..HEADER) != Some(&header(version)) {
            return fail("the header is cut off or damaged".into());
        }
        if !(1..=VERSION).contains(&version) {
            return fail(format!("the file is of version {version}; this prlx reads 1 to {VERSION}"));
        }
        let mut from = Reader::new(bytes, version);
        from.bytes(HEADER)?;
        let budget = Budget((16 << 20) + 256 * bytes.len() as u64);
        Ok(Sections { bytes, from, version, budget })
    }
    fn left(&self) -> usize {
        self.from.left()
    }
    fn error(&self, what: impl Into<String>) -> Error {
        self.from.error(what).within("Section")
    }
    /// The next section, with its checksums checked.
    fn next(&mut self) -> Result<Section<'a>, Error> {
        if self.left() == 0 {
            return Err(self.error("the file is cut off: the last section is missing"));
        }
        let head = self.from.bytes(HEAD).map_err(|e| e.within("Section.head"))?;
        let u32_at = |i: usize| head[i..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let u64_at = |i: usize| head[i..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        if xxh3_64(&head[..HEAD - 8]) != u64_at(HEAD - 8) {
            return Err(self.error("the checksum of the head does not fit"));
        }
        let (kind, flags) = (u32_at(0), u32_at(4));
        let offset = (self.bytes.len() - self.left()) as u64;
        let length = usize::try_from(u64_at(8)).map_err(|_| self.error("the section is too long"))?;
        let stored = self.from.bytes(length).map_err(|e| e.within("Section.stored"))?;
        let section = Section { kind, flags, size: u64_at(16), stored, offset };
        if flags & UNCHECKED == 0 && xxh3_64(stored) != u64_at(24) {
            return Err(section.error("the checksum does not fit the bytes"));
        }
        Ok(section)
    }
    /// A section's bytes, unpacked.
    fn unpacked(&mut self, section: &Section<'a>) -> Result<Vec<u8>, Error> {
        if section.flags & PACKED == 0 {
            return Ok(section.stored.to_vec());
        }
        if section.size > MOST {
            return Err(section.error(format!("it unpacks to {} bytes; {MOST} are allowed", section.size)));
        }
        self.budget.take(section.size).map_err(|e| section.error(e))?;
        frame::unpack(section.stored, section.size).map_err(|e| section.error(e))
    }
    /// The value that a section holds.
    fn value<T: Stored>(&mut self, section: &Section<'a>, name: &str) -> Result<T, Error> {
        let bytes = self.unpacked(section)?;
        Reader::new(&bytes, self.version).whole(name)
    }
    /// The streams that an index describes, for a module of so many sites; `None`: without their bytes.
    fn streams(
        &mut self,
        index: &Section<'a>,
        frames: &Section<'a>,
        launch: &Launch,
        sites: Option<u32>,
    ) -> Result<Streams, Error> {
        let bytes = self.unpacked(index)?;
        let mut from = Reader::new(&bytes, self.version);
        let infos = take_infos(&mut from, launch).map_err(|e| e.within("index.warps"))?;
        let mut all = Vec::new();
        let (mut warps, mut at) = (0usize, 0usize);
        // A frame takes 1 + 1 + 1 + 8 bytes of the index at least.
        for i in 0..from.count(11).map_err(|e| e.within("index.frames"))? {
            let name = format!("index.frames[{i}]");
            let mut take = || -> Result<(usize, Option<Packed>), Error> {
                let (n, length, size) = (from.number()?, from.number()?, from.number()?);
                let checksum = from.bytes(8)?.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
                let n = usize::try_from(n).ok().filter(|n| *n > 0 && *n <= infos.len() - warps);
                let n = n.ok_or_else(|| from.error("it has no warps, or more than there are"))?;
                let length = usize::try_from(length).ok().filter(|l| *l <= frames.stored.len() - at);
                let length = length.ok_or_else(|| from.error("it reaches past the frames"))?;
                if size > frame::MOST {
                    return Err(from.error(format!("it unpacks to {size} bytes; {} are allowed", frame::MOST)));
                }
                let offset = frames.offset + at as u64;
                let stored = &frames.stored[at..at + length];
                (warps, at) = (warps + n, at + length);
                let version = self.version;
                let packed =
                    sites.map(|sites| Packed { bytes: stored.to_vec(), size, checksum, version, sites, offset });
                Ok((n, packed))
            };
            all.push(take().map_err(|e| e.within(&name))?);
        }
        if from.left() > 0 || warps != infos.len() || at != frames.stored.len() {
            return Err(from.error("index and frames do not fit each other").within("index"));
        }
        Ok(Streams::packed(infos, all))
    }
}

/// The warps of an index.
pub(crate) fn take_infos(from: &mut Reader<'_>, launch: &Launch) -> Result<Vec<WarpInfo>, Error> {
    // Number, digest, dropped: 10 bytes at least.
    let n = from.count(10)?;
    let mut infos = Vec::with_capacity(n);
    let mut next = 0u64;
    for _ in 0..n {
        let skipped = from.number()?;
        let warp = next.checked_add(skipped).filter(|w| *w < launch.warps());
        let warp = warp.ok_or_else(|| from.error(format!("the launch has {} warps", launch.warps())))?;
        infos.push(WarpInfo { warp: WarpId(warp), digest: 0, dropped: 0 });
        next = warp + 1;
    }
    for info in &mut infos {
        info.digest = from.bytes(8)?.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
    }
    for info in &mut infos {
        info.dropped = from.number()?;
    }
    Ok(infos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a producer, one more section, and an end.
    fn with(kind: u32, flags: u32, size: usize, stored: &[u8]) -> Vec<u8> {
        let mut to = Writer { out: header(VERSION), sections: 0 };
        to.value(META, |b| String::from("me").put(b)).unwrap();
        to.head(kind, flags, stored.len(), size, xxh3_64(stored)).unwrap();
        to.out.extend_from_slice(stored);
        to.head(END, 0, 8, 8, xxh3_64(&2u64.to_le_bytes())).unwrap();
        to.out.extend_from_slice(&2u64.to_le_bytes());
        to.out
    }

    #[test]
    fn unknown_sections_are_skipped_if_they_allow_it() {
        assert_eq!(Trace::read(&with(77, SKIP, 3, b"abc")).unwrap().producer, "me");
        assert_eq!(Trace::read(&with(77, 0, 3, b"abc")).unwrap_err().what, "sections of kind 77 are not known");
        assert!(Trace::read(&with(META, 0, 3, b"abc")).is_err());
    }

    #[test]
    fn bombs_are_refused() {
        let zeros = frame::pack(&vec![0; 64 << 20]).unwrap();
        let e = Trace::read(&with(MODULE, PACKED, 64 << 20, &zeros)).unwrap_err();
        assert_eq!(e.what, "the file unpacks to far more than a recording would");
        let e = Trace::read(&with(MODULE, PACKED, 1 << 40, &zeros)).unwrap_err();
        assert_eq!(e.what, "it unpacks to 1099511627776 bytes; 268435456 are allowed");
        let e = Trace::read(&with(MODULE, PACKED, 100, &zeros)).unwrap_err();
        assert_eq!(e.what, "100 bytes were packed, 101 come out");
    }

    #[test]
    fn later_versions_are_refused() {
        let mut file = with(77, SKIP, 0, b"");
        file.splice(..HEADER, header(VERSION + 1));
        assert_eq!(
            Trace::read(&file).unwrap_err().what,
            format!("the file is of version {}; this prlx reads 1 to {VERSION}", VERSION + 1)
        );
    }
}
