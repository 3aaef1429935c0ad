//! Writes a file while its content arrives: one section at a time, appended and flushed.
//!
//! # Invariants
//! The file consists of whole sections, except for the last one while it is written. Nothing follows a
//! section that could not be written completely. A file without [`Writer::finish`] reads as cut off.

use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{Codec, VERSION, put_number};
use crate::file::{
    END, FRAMES, HEAD, INDEX, LAUNCH, LONE, MARKS, META, MODULE, OUTPUT, PACKED, PROCESS, RANGE, SKIPPED,
    TALLY, UNCHECKED, header,
};
use crate::frame::packing;
use crate::ids::{ModuleId, RangeId};
use crate::kernel::Module;
use crate::launch::{Launch, RangeName};
use crate::mark::Marks;
use crate::outputs::OutputContents;
use crate::parallel::Workers;
use crate::process::{Process, Skipped};
use crate::table::TableContents;
use crate::trace::{Packed, Streams, Trace};

/// Sections of fewer bytes are not compressed: that would take longer than writing them.
const SMALL: usize = 512;

/// Writes a file, section by section.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    sections: u64,
    modules: u32,
    ranges: u32,
    /// Whether a section was begun and not completed, because `out` failed.
    broken: bool,
    /// Threads that compress frames.
    workers: &'static Workers,
}

impl<W: Write> Writer<W> {
    /// Begins a file. `producer` is the program that writes it, for example `prlx 0.1.0`; `process` is `None`
    /// for a launch file.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn new(out: W, producer: &str, process: Option<&Process>) -> io::Result<Writer<W>> {
        let mut to =
            Writer { out, sections: 0, modules: 0, ranges: 0, broken: false, workers: &Workers::SERIAL };
        to.out.write_all(&header(VERSION))?;
        to.value(META, &producer.to_owned())?;
        if let Some(process) = process {
            to.value(PROCESS, process)?;
        }
        Ok(to)
    }
    /// Lets these threads compress the frames of launches.
    pub fn with_workers(mut self, workers: &'static Workers) -> Self {
        self.workers = workers;
        self
    }
    /// Appends a module. Returns its number, by which launches refer to it.
    ///
    /// # Errors
    /// When `out` fails, or has failed before.
    pub fn module(&mut self, module: &Module) -> io::Result<ModuleId> {
        self.value(MODULE, module)?;
        self.modules += 1;
        Ok(ModuleId(self.modules - 1))
    }
    /// Appends a name of NVTX ranges. Returns its number, by which launches refer to it.
    ///
    /// # Errors
    /// When `out` fails, or has failed before.
    pub fn range(&mut self, range: &RangeName) -> io::Result<RangeId> {
        self.value(RANGE, range)?;
        self.ranges += 1;
        Ok(RangeId(self.ranges - 1))
    }
    /// Appends a launch. Its module and the names of its ranges must have been appended before.
    ///
    /// # Errors
    /// If its module is missing, a stream is too long for a frame (1 GiB for one warp), or `out` fails or has
    /// failed before.
    pub fn launch(&mut self, launch: &Launch, streams: &Streams) -> io::Result<()> {
        self.has(launch.module, "a launch")?;
        if streams.frames() == 0 {
            return self.value(LONE, launch);
        }
        let frames = streams.pack(self.workers)?;
        self.value(LAUNCH, launch)?;
        let mut index = Vec::new();
        put_index(&mut index, streams, &frames);
        self.packed(INDEX, &index)?;
        let length = frames.iter().map(|(_, _, f)| f.bytes.len()).sum();
        let parts: Vec<&[u8]> = frames.iter().map(|(_, _, f)| f.bytes.bytes()).collect();
        self.section(FRAMES, UNCHECKED, length, 0, &parts)
    }
    /// Appends a note on code that was not instrumented.
    ///
    /// # Errors
    /// When `out` fails, or has failed before.
    pub fn skipped(&mut self, skipped: &Skipped) -> io::Result<()> {
        self.value(SKIPPED, skipped)
    }
    /// Appends the contents of a table. Its module must have been appended before.
    ///
    /// # Errors
    /// When its module is not there, `out` fails, or has failed before.
    pub fn tally(&mut self, tally: &TableContents) -> io::Result<()> {
        self.has(tally.module, "a tally")?;
        self.value(TALLY, tally)
    }
    /// Appends the records of a launch's markers. Their module must have been appended before.
    ///
    /// # Errors
    /// When its module is not there, `out` fails, or has failed before.
    pub fn marks(&mut self, marks: &Marks) -> io::Result<()> {
        self.has(marks.module, "what markers left")?;
        self.value(MARKS, marks)
    }
    /// Appends the content of an output. Its launch must have been appended before.
    ///
    /// # Errors
    /// When `out` fails, or has failed before.
    pub fn output(&mut self, output: &OutputContents) -> io::Result<()> {
        self.value(OUTPUT, output)
    }
    /// Writes the last section, which marks the file as complete.
    ///
    /// # Errors
    /// When `out` fails, or has failed before.
    pub fn finish(mut self) -> io::Result<W> {
        let count = self.sections.to_le_bytes();
        self.section(END, 0, count.len(), xxh3_64(&count), &[&count])?;
        Ok(self.out)
    }

    fn has(&self, module: ModuleId, what: &str) -> io::Result<()> {
        match module.0 < self.modules {
            true => Ok(()),
            false => {
                let what = format!("{what} of {module}; {} were written", self.modules);
                Err(io::Error::new(io::ErrorKind::InvalidInput, what))
            }
        }
    }
    fn value(&mut self, kind: u32, value: &impl Codec) -> io::Result<()> {
        let mut bytes = Vec::new();
        value.put(&mut bytes);
        self.packed(kind, &bytes)
    }
    /// Writes a section of `bytes`, compressed if that makes it smaller.
    fn packed(&mut self, kind: u32, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() < SMALL {
            return self.section(kind, 0, bytes.len(), xxh3_64(bytes), &[bytes]);
        }
        let packed = packing::pack(bytes)?;
        self.section(kind, PACKED, bytes.len(), xxh3_64(&packed), &[&packed])
    }
    /// Writes a section of `parts`, which decompress to `size` bytes.
    pub(crate) fn section(
        &mut self,
        kind: u32,
        flags: u32,
        size: usize,
        checksum: u64,
        parts: &[&[u8]],
    ) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("a section before could not be written"));
        }
        let stored: usize = parts.iter().map(|p| p.len()).sum();
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&kind.to_le_bytes());
        head.extend_from_slice(&flags.to_le_bytes());
        for n in [stored as u64, size as u64, checksum] {
            head.extend_from_slice(&n.to_le_bytes());
        }
        head.extend_from_slice(&xxh3_64(&head).to_le_bytes());
        self.broken = true;
        self.out.write_all(&head)?;
        parts.iter().try_for_each(|p| self.out.write_all(p))?;
        self.out.flush()?;
        self.broken = false;
        self.sections += 1;
        Ok(())
    }
}

impl Trace {
    /// Writes a file. A recording that was cut off gives a file without its last section.
    ///
    /// # Errors
    /// As those of [`Writer`].
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        self.write_parallel(out, &Workers::SERIAL)
    }
    /// As [`Trace::write`], with the frames compressed by these threads.
    ///
    /// # Errors
    /// As those of [`Writer`].
    pub fn write_parallel(&self, out: impl Write, workers: &'static Workers) -> io::Result<()> {
        let mut to = Writer::new(out, &self.producer, self.process.as_ref())?.with_workers(workers);
        for module in &self.modules {
            to.module(module)?;
        }
        self.skipped.iter().try_for_each(|s| to.skipped(s))?;
        self.ranges.iter().try_for_each(|name| to.range(name).map(drop))?;
        self.launches.iter().try_for_each(|r| to.launch(&r.launch, &r.streams))?;
        self.tallies.iter().try_for_each(|t| to.tally(t))?;
        self.marks.iter().try_for_each(|m| to.marks(m))?;
        self.outputs.iter().try_for_each(|o| to.output(o))?;
        if self.cut.is_none() { to.finish().map(drop) } else { Ok(()) }
    }
}

/// The index of a launch: its warps, and its frames.
fn put_index(out: &mut Vec<u8>, streams: &Streams, frames: &[(usize, u64, Packed)]) {
    let warps = streams.warps();
    put_number(out, warps.len() as u64);
    let mut next = 0;
    for (first, n) in warps.runs() {
        put_number(out, first.wrapping_sub(next));
        put_number(out, n as u64);
        next = first.wrapping_add(n as u64);
    }
    let dropped = !warps.dropped().is_empty();
    put_number(out, dropped.into());
    if dropped {
        warps.iter().for_each(|info| put_number(out, info.dropped));
    }
    put_number(out, frames.len() as u64);
    for (warps, digest, frame) in frames {
        put_number(out, *warps as u64);
        put_number(out, frame.bytes.len() as u64);
        put_number(out, frame.size);
        out.extend_from_slice(&frame.checksum.to_le_bytes());
        out.extend_from_slice(&digest.to_le_bytes());
    }
}
