//! Repacks files of PRLX 0.x.

use std::path::Path;

use anyhow::Result;
use prlx_legacy::v1::{Event, File, Flags, Header, Warp, Writer};

use super::complete_file::{Out, write_complete};
use super::losses::Losses;
use super::packing::Packing;
use crate::Monitor;
use crate::legacy::MappedFile;

/// Writes a file of PRLX 0.x in another packing.
///
/// # Errors
/// If a file cannot be read or written.
pub fn repack_file(input: &Path, output: &Path, to: Packing, monitor: &Monitor<'_>) -> Result<()> {
    let mapped = MappedFile::open(input)?;
    let file = mapped.file()?;
    write_complete(output, |out| repack(&file, to, out, monitor))
}

fn repack(file: &File<'_>, to: Packing, out: Out, monitor: &Monitor<'_>) -> Result<((), Out)> {
    let old = &file.header;
    let mut header =
        Header { flags: to.flags(old.flags), history_offset: 0, snapshot_offset: 0, ..old.clone() };
    let was_compact = old.flags.has(Flags::COMPACT);
    if was_compact && to == Packing::Packed {
        // The values were never in the old file.
        header.flags.0 |= Flags::COMPACT;
    }
    let narrow = header.flags.has(Flags::COMPACT) && !was_compact;
    let mut losses = Losses::default();
    let mut out = Writer::new(out, &header)?;
    let mut cursor = file.cursor()?;
    for w in 0..header.warps {
        let warp = Warp::new(cursor.events(w..w + 1)?, was_compact);
        let events = warp.events();
        let events = events.iter().map(|e| if narrow { losses.narrow(Event::of(e)) } else { Event::of(e) });
        out.warp(warp.head, &events.collect::<Vec<_>>())?;
    }
    let (mut histories, mut snapshots) = (Vec::new(), Vec::new());
    let swapped = matches!((file.layout.history, file.layout.snapshots), (Some(h), Some(s)) if s.at < h.at);
    for values in [!swapped, swapped] {
        for w in 0..header.warps {
            match values {
                // Rings follow in the order in which they are written, unless offsets said otherwise.
                true if !swapped => cursor.history(w)?.iter().try_for_each(|r| out.history(r))?,
                true => histories.extend(cursor.history(w)?),
                false if !swapped => cursor.snapshots(w)?.iter().try_for_each(|r| out.snapshots(r))?,
                false => snapshots.extend(cursor.snapshots(w)?),
            }
        }
    }
    histories.iter().try_for_each(|r| out.history(r))?;
    snapshots.iter().try_for_each(|r| out.snapshots(r))?;
    losses.warn(monitor);
    Ok(((), out.finish()?))
}
