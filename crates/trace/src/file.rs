//! The file of a recording: a header, then sections, the last of which marks the file as complete.
//!
//! **Header**: 8 bytes [`MAGIC`], 4 bytes version, 4 bytes checksum (the low half of that of the 12 bytes
//! before).
//! **Section**: a head of 40 bytes, and the stored bytes. The head holds kind and flags (4 bytes each),
//! stored length, length when decompressed, checksum of the stored bytes, and checksum of the head so far (8
//! bytes each). All numbers are little-endian; checksums are XXH3-64.
//!
//! There is no table of sections, so a recorder appends each launch when it has ended ([`crate::Writer`]),
//! and the file of a killed process is complete up to its last section ([`Trace::read_cut`]). A reader goes
//! from head to head and reads frames only on demand; the index before them holds a checksum for each.
//!
//! **Versions.** The magic changes when old files become unreadable. Every other change raises [`VERSION`]. A
//! reader accepts its own version and all earlier ones, and refuses later ones. A new field states its
//! version (`#[since]`). Kinds and numbers are never reused. A section of unknown kind with flag [`SKIP`] is
//! skipped.
//!
//! # Invariants
//! Reading never panics. Memory is proportional to the file ([`Budget`]). Every id is in range.

use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{Codec, Reader, VERSION};
use crate::frame::packing;
use crate::kernel::Module;
use crate::launch::Launch;
use crate::mark::Marks;
use crate::narrow::{self, low32, saturated32};
use crate::outputs::OutputContents;
use crate::table::TableContents;
use crate::trace::{Bytes, IndexedFrame, Packed, Part, Recording, Streams, Trace};
use crate::warp_list::WarpList;
use crate::{Error, frame, validate};

/// The first bytes of a file.
pub const MAGIC: &[u8; 8] = b"PRLXTRC2";
const HEADER: usize = 16;
pub(crate) const HEAD: usize = 40;

/// Flag: the stored bytes are a zstd frame.
pub(crate) const PACKED: u32 = 1;
/// Flag: who does not know the kind may go on without the section.
const SKIP: u32 = 2;
/// Flag: the head's checksum of what is stored is 0; the bytes have checksums elsewhere.
pub(crate) const UNCHECKED: u32 = 4;

/// Kinds of section, with their number, whether they are packed, and what they hold.
pub(crate) const KINDS: &[(u32, &str, &str)] = &[
    (META, "meta", "The producer, as `String`. Always first."),
    (
        MODULE,
        "module",
        "A `Module`; its number is its place among the modules. Comes before the launches that name it.",
    ),
    (LAUNCH, "launch", "A `Launch` with streams. Its index and its frames follow."),
    (INDEX, "index", "The warps of the launch and where their streams are: see Index."),
    (
        FRAMES,
        "frames",
        "The launch's frames, one after the other, each a zstd frame: see Frames. Not packed again, and without checksum.",
    ),
    (
        PROCESS,
        "process",
        "The `Process` that launched, if the recording is of one. At most one, after meta. (Since version 3.)",
    ),
    (SKIPPED, "skipped", "A `Skipped`: code that runs untouched. (Since version 3.)"),
    (LONE, "lone launch", "A `Launch` without streams. (Since version 3.)"),
    (TALLY, "tally", "A `TableContents`: what was in a table of a probe program. (Since version 5.)"),
    (MARKS, "marks", "A `Marks`: what the markers of a launch left. (Since version 6.)"),
    (
        OUTPUT,
        "output",
        "An `OutputContents`: what a launch left in one output. Comes after the launch. (Since version 12.)",
    ),
    (
        RANGE,
        "range",
        "A `RangeName`; its number is its place among them. Comes before the launches that name it. (Since version 13.)",
    ),
    (END, "end", "The number of sections before it, as `u64`. Always last."),
];
pub(crate) const META: u32 = 1;
pub(crate) const MODULE: u32 = 2;
pub(crate) const LAUNCH: u32 = 3;
pub(crate) const INDEX: u32 = 4;
pub(crate) const FRAMES: u32 = 5;
pub(crate) const PROCESS: u32 = 6;
pub(crate) const SKIPPED: u32 = 7;
pub(crate) const LONE: u32 = 8;
pub(crate) const TALLY: u32 = 9;
pub(crate) const MARKS: u32 = 10;
pub(crate) const OUTPUT: u32 = 11;
pub(crate) const RANGE: u32 = 12;
pub(crate) const END: u32 = 0xffff_ffff;

/// Most bytes that one section unpacks to (frames apart).
const MOST: u64 = 256 << 20;

/// How much memory a file may take while it is opened.
struct Budget {
    /// Bytes that may be unpacked: 16 MiB, and 256 times the file's length. Text packs 30-fold at best.
    unpacked: u64,
    /// Bytes of memory that the items of its lists may take: 64 MiB, and 1024 times its length.
    items: u64,
}

impl Budget {
    fn new(length: usize) -> Budget {
        let length = length as u64;
        Budget {
            unpacked: length.saturating_mul(256).saturating_add(16 << 20),
            items: length.saturating_mul(1024).saturating_add(64 << 20),
        }
    }
    fn unpack(&mut self, bytes: u64) -> Result<(), String> {
        let left = self.unpacked.checked_sub(bytes);
        self.unpacked = left.ok_or("the file unpacks to far more than a recording would")?;
        Ok(())
    }
}

/// What of the frames' bytes is kept.
#[derive(Clone, Copy)]
enum Keep<'a> {
    Nothing,
    Copies,
    /// They stay in the file.
    In(&'a Bytes),
}

impl Trace {
    /// Reads a file. Streams stay packed: damage in them shows when they are unpacked.
    ///
    /// # Errors
    /// When the bytes are no recording, are damaged or cut off, or are of a later version.
    pub fn read(file: &[u8]) -> Result<Trace, Error> {
        Trace::open(file, Keep::Copies, false)
    }

    /// Reads a file that may have been cut off, as when its writer was killed or the disk was full: all up to
    /// its last whole section. [`Trace::cut`] says whether that is not all.
    ///
    /// # Errors
    /// As [`Trace::read`], but for a cut after the first section.
    pub fn read_cut(file: &[u8]) -> Result<Trace, Error> {
        Trace::open(file, Keep::Copies, true)
    }

    /// Reads all of a file but the streams: modules, launches, and the digests of the frames. The frames'
    /// bytes are not looked at, so that a mapped file is not loaded for them. The file may have been cut off.
    ///
    /// # Errors
    /// As [`Trace::read_cut`].
    pub fn read_index(file: &[u8]) -> Result<Trace, Error> {
        Trace::open(file, Keep::Nothing, true)
    }

    /// As [`Trace::read_cut`], but frames stay where they are: of a mapped file only those that are unpacked
    /// are ever loaded.
    ///
    /// # Errors
    /// As [`Trace::read_cut`]. A file that is changed later shows when frames of it are unpacked.
    pub fn read_mapped(file: &Bytes) -> Result<Trace, Error> {
        Trace::open((**file).as_ref(), Keep::In(file), true)
    }

    fn open(file: &[u8], frames: Keep<'_>, may_be_cut: bool) -> Result<Trace, Error> {
        let mut sections = Sections::new(file)?;
        let meta = sections.next()?;
        if meta.kind != META {
            return Err(meta.error("the first section must be meta"));
        }
        let mut trace = Trace { producer: sections.value(&meta, "Trace.producer")?, ..Trace::default() };
        match trace.fill(&mut sections, frames) {
            Err(e) if may_be_cut && sections.cut => trace.cut = Some(e),
            filled => filled?,
        }
        Ok(trace)
    }

    /// Takes all sections after the first.
    fn fill(&mut self, sections: &mut Sections<'_>, keep: Keep<'_>) -> Result<(), Error> {
        let mut count = 1;
        let end = loop {
            let at = sections.next()?;
            match at.kind {
                END => break at,
                PROCESS if count == 1 => self.process = Some(sections.value(&at, "Trace.process")?),
                MODULE => {
                    let name = format!("Trace.modules[{}]", self.modules.len());
                    let module: Module = sections.value(&at, &name)?;
                    validate::module(&module)
                        .map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    self.modules.push(module);
                }
                SKIPPED => {
                    let name = format!("Trace.skipped[{}]", self.skipped.len());
                    self.skipped.push(sections.value(&at, &name)?);
                }
                RANGE => {
                    let name = format!("Trace.ranges[{}]", self.ranges.len());
                    self.ranges.push(sections.value(&at, &name)?);
                }
                LAUNCH | LONE => {
                    let name = format!("Trace.launches[{}]", self.launches.len());
                    let launch: Launch = sections.value(&at, &name)?;
                    validate::launch(&launch, &self.modules, self.ranges.len())
                        .map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    let mut streams = Streams::default();
                    if at.kind == LAUNCH {
                        let (index, frames) = (sections.next()?, sections.next()?);
                        count += 2;
                        if (index.kind, frames.kind) != (INDEX, FRAMES) {
                            return Err(index.error("a launch's index and frames must follow it"));
                        }
                        let module = self.modules.get(launch.module.index());
                        let sites = module.map_or(0, |m| saturated32(m.sites.len()));
                        streams = sections
                            .streams(&index, &frames, &launch, sites, keep)
                            .map_err(|e| e.within(&name))?;
                    }
                    self.launches.push(Recording { launch, streams });
                }
                TALLY => {
                    let name = format!("Trace.tallies[{}]", self.tallies.len());
                    let tally: TableContents = sections.value(&at, &name)?;
                    validate::tally(&tally, &self.modules)
                        .map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    self.tallies.push(tally);
                }
                MARKS => {
                    let name = format!("Trace.marks[{}]", self.marks.len());
                    let marks: Marks = sections.value(&at, &name)?;
                    validate::marks(&marks, &self.modules)
                        .map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    self.marks.push(marks);
                }
                OUTPUT => {
                    let name = format!("Trace.outputs[{}]", self.outputs.len());
                    let output: OutputContents = sections.value(&at, &name)?;
                    validate::output(&output, &self.launches)
                        .map_err(|(field, what)| at.field(&format!("{name}.{field}"), what))?;
                    self.outputs.push(output);
                }
                _ if at.flags & SKIP != 0 => {}
                kind => return Err(at.error(format!("sections of kind {kind} are not known, or not here"))),
            }
            count += 1;
        };
        if end.stored.first_chunk().map(|b| u64::from_le_bytes(*b)) != Some(count) || end.stored.len() != 8 {
            return Err(end.error("the number of sections is not what the last one says"));
        }
        match sections.left() {
            0 => Ok(()),
            n => Err(sections.error(format!("{n} bytes follow the end"))),
        }
    }
}

/// The first bytes of a file: the last four are a checksum of those before.
pub(crate) fn header(version: u32) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&version.to_le_bytes());
    let checksum = low32(xxh3_64(&bytes));
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
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

/// Iterates over the sections of a file and checks the head of each.
struct Sections<'a> {
    bytes: &'a [u8],
    from: Reader<'a>,
    version: u32,
    budget: Budget,
    /// The file ended before what was asked for.
    cut: bool,
}

impl<'a> Sections<'a> {
    fn new(bytes: &'a [u8]) -> Result<Sections<'a>, Error> {
        let fail = |what: String| Err(Error { offset: 0, field: "header".into(), what });
        let Some(rest) = bytes.strip_prefix(&MAGIC[..]) else {
            return fail("this is no recording of prlx: it does not begin with PRLXTRC2".into());
        };
        let version = rest.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        if bytes.get(..HEADER) != Some(&header(version)) {
            return fail("the header is cut off or damaged".into());
        }
        if !(1..=VERSION).contains(&version) {
            return fail(format!("the file is of version {version}; this prlx reads 1 to {VERSION}"));
        }
        let mut from = Reader::new(bytes, version);
        from.bytes(HEADER)?;
        let budget = Budget::new(bytes.len());
        Ok(Sections { bytes, from, version, budget, cut: false })
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
            self.cut = true;
            return Err(self.error("the file is cut off: the last section is missing"));
        }
        let head = self.take(HEAD, "Section.head")?;
        let at = |i: usize| head.get(i..).unwrap_or_default();
        let u32_at = |i: usize| at(i).first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let u64_at = |i: usize| at(i).first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        if head.get(..HEAD - 8).map(xxh3_64) != Some(u64_at(HEAD - 8)) {
            return Err(self.error("the checksum of the head does not fit"));
        }
        let (kind, flags) = (u32_at(0), u32_at(4));
        let offset = (self.bytes.len() - self.left()) as u64;
        let length = usize::try_from(u64_at(8)).map_err(|_| self.error("the section is too long"))?;
        let stored = self.take(length, "Section.stored")?;
        let section = Section { kind, flags, size: u64_at(16), stored, offset };
        if flags & UNCHECKED == 0 && xxh3_64(stored) != u64_at(24) {
            return Err(section.error("the checksum does not fit the bytes"));
        }
        Ok(section)
    }
    /// The next `n` bytes of the file.
    fn take(&mut self, n: usize, name: &str) -> Result<&'a [u8], Error> {
        self.cut = n > self.left();
        self.from.bytes(n).map_err(|e| e.within(name))
    }
    /// A section's bytes, unpacked.
    fn unpacked(&mut self, section: &Section<'a>) -> Result<Vec<u8>, Error> {
        if section.flags & PACKED == 0 {
            return Ok(section.stored.to_vec());
        }
        if section.size > MOST {
            return Err(section.error(format!("it unpacks to {} bytes; {MOST} are allowed", section.size)));
        }
        self.budget.unpack(section.size).map_err(|e| section.error(e))?;
        packing::unpack(section.stored, section.size).map_err(|e| section.error(e))
    }
    /// The value that a section holds.
    fn value<T: Codec>(&mut self, section: &Section<'a>, name: &str) -> Result<T, Error> {
        let bytes = self.unpacked(section)?;
        let mut from = Reader::bounded(&bytes, self.version, self.budget.items);
        let value = from.whole(name)?;
        self.budget.items = from.room();
        Ok(value)
    }
    /// The streams that an index describes, for a module of so many sites.
    fn streams(
        &mut self,
        index: &Section<'a>,
        frames: &Section<'a>,
        launch: &Launch,
        sites: u32,
        keep: Keep<'_>,
    ) -> Result<Streams, Error> {
        let bytes = self.unpacked(index)?;
        let mut from = Reader::bounded(&bytes, self.version, self.budget.items);
        let list = take_warps(&mut from, launch).map_err(|e| e.within("index.warps"))?;
        self.budget.items = from.room();
        let mut all = Vec::new();
        let (mut warps, mut at) = (0usize, 0usize);
        // A frame takes 1 + 1 + 1 + 8 bytes of the index at least, and a digest since version 18.
        for i in 0..from.count(11).map_err(|e| e.within("index.frames"))? {
            let name = format!("index.frames[{i}]");
            let mut take = || -> Result<IndexedFrame, Error> {
                let (n, length, size) = (from.number()?, from.number()?, from.number()?);
                let checksum = u64::from_le_bytes(from.array()?);
                let digest = if self.version < 18 { 0 } else { u64::from_le_bytes(from.array()?) };
                let most = if self.version < 18 { usize::MAX } else { frame::WARPS };
                let n = usize::try_from(n).ok().filter(|n| (1..=most.min(list.len() - warps)).contains(n));
                let n = n.ok_or_else(|| from.error("it has no warps, or more than there are"))?;
                let stored = frames.stored.get(at..).and_then(|rest| rest.get(..narrow::index(length)));
                let stored = stored.ok_or_else(|| from.error("it reaches past the frames"))?;
                let most = packing::most(stored.len());
                if size > most {
                    return Err(from.error(format!("it unpacks to {size} bytes; {most} are allowed")));
                }
                let offset = frames.offset + at as u64;
                (warps, at) = (warps + n, at + stored.len());
                let version = self.version;
                let bytes = match keep {
                    Keep::Nothing => return Ok((n, digest, None)),
                    Keep::Copies => Part::own(stored.to_vec()),
                    Keep::In(file) => {
                        let start = narrow::index(offset);
                        Part::new(file.clone(), start..start + stored.len())
                    }
                };
                Ok((n, digest, Some(Packed { bytes, size, checksum, version, sites, offset })))
            };
            all.push(take().map_err(|e| e.within(&name))?);
        }
        if from.left() > 0 || warps != list.len() || at != frames.stored.len() {
            return Err(from.error("index and frames do not fit each other").within("index"));
        }
        Ok(Streams::packed(list, all))
    }
}

/// Reads the numbers and drop counts of a launch's warps from its index section.
///
/// # Errors
/// If the section ends early, or names a warp that the launch does not have.
pub(crate) fn take_warps(from: &mut Reader<'_>, launch: &Launch) -> Result<WarpList, Error> {
    if from.version < 18 {
        return take_single_warps(from, launch);
    }
    // A frame has at most 256 warps, and 20 bytes of the index.
    let most = (from.left() / 20).saturating_mul(frame::WARPS);
    let n = from.number()?;
    let n = usize::try_from(n).ok().filter(|n| *n <= most);
    let n = n.ok_or_else(|| from.error(format!("more warps than the {most} of its frames")))?;
    let mut warps = WarpList::default();
    let mut next = 0u64;
    while warps.len() < n {
        let (skipped, own) = (from.number()?, from.number()?);
        let own = usize::try_from(own).ok().filter(|own| (1..=n - warps.len()).contains(own));
        let own = own.ok_or_else(|| from.error("a run has no warps, or more than there are"))?;
        let first = warp_number(from, launch, next, skipped, own)?;
        warps.push_run(first, own);
        next = first + own as u64;
    }
    match from.number()? {
        0 => {}
        1 => (0..n).try_for_each(|i| from.number().map(|dropped| warps.lost(i, dropped)))?,
        _ => return Err(from.error("it does not say whether warps lost elements")),
    }
    Ok(warps)
}

/// As [`take_warps`], from a file before version 18.
fn take_single_warps(from: &mut Reader<'_>, launch: &Launch) -> Result<WarpList, Error> {
    // Number, digest, dropped: 10 bytes at least.
    let n = from.count(10)?;
    let mut warps = WarpList::default();
    let mut next = 0u64;
    for _ in 0..n {
        let skipped = from.number()?;
        let warp = warp_number(from, launch, next, skipped, 1)?;
        warps.push_run(warp, 1);
        next = warp + 1;
    }
    from.bytes(n * size_of::<u64>())?;
    for i in 0..n {
        warps.lost(i, from.number()?);
    }
    Ok(warps)
}

/// The first of `n` warps with consecutive numbers, `skipped` behind `next`.
fn warp_number(from: &Reader<'_>, launch: &Launch, next: u64, skipped: u64, n: usize) -> Result<u64, Error> {
    let first = next.checked_add(skipped);
    let inside = |first: &u64| first.checked_add(n as u64).is_some_and(|end| end <= launch.warps());
    first.filter(inside).ok_or_else(|| from.error(format!("the launch has {} warps", launch.warps())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::Writer;

    /// A file of a producer, one more section, and an end.
    fn with(kind: u32, flags: u32, size: usize, stored: &[u8]) -> Vec<u8> {
        let mut to = Writer::new(Vec::new(), "me", None).unwrap();
        to.section(kind, flags, size, xxh3_64(stored), &[stored]).unwrap();
        to.finish().unwrap()
    }

    #[test]
    fn unknown_sections_are_skipped_if_they_allow_it() {
        assert_eq!(Trace::read(&with(77, SKIP, 3, b"abc")).unwrap().producer, "me");
        assert_eq!(
            Trace::read(&with(77, 0, 3, b"abc")).unwrap_err().what,
            "sections of kind 77 are not known, or not here"
        );
        assert!(Trace::read(&with(META, 0, 3, b"abc")).is_err());
    }

    #[test]
    fn bombs_are_refused() {
        let zeros = packing::pack(&vec![0; 64 << 20]).unwrap();
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
