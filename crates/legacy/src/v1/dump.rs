//! Prints a version 1 file as text.

use std::io::{self, Write};

use super::{Event, EventKind, File, Flags, Warp};

/// Writes the header, and the parts of all warps.
///
/// # Errors
/// If `out` fails. Errors of the file become an [`io::Error`] with their text.
pub fn dump(out: &mut impl Write, file: &File<'_>) -> io::Result<()> {
    let h = &file.header;
    writeln!(
        out,
        "kernel {} hash {:#018x} flags {:#x}",
        h.kernel().escape_debug(),
        h.kernel_hash,
        h.flags.0
    )?;
    writeln!(
        out,
        "grid {} block {} warps per block {} warps {}",
        h.grid, h.block, h.warps_per_block, h.warps
    )?;
    writeln!(
        out,
        "events {} histories {} snapshots {}",
        h.events_per_warp, h.history_depth, h.snapshot_depth
    )?;
    writeln!(out, "device {} time {} sample rate {}", h.device(), h.timestamp, h.sample_rate)?;
    let bad = |e: prlx_trace::Error| io::Error::new(io::ErrorKind::InvalidData, e.to_string());
    let warps = 0..h.warps;
    let mut cursor = file.cursor().map_err(bad)?;
    for w in warps.clone() {
        let warp = Warp::new(cursor.events(w..w + 1).map_err(bad)?, h.flags.has(Flags::COMPACT));
        writeln!(out, "warp {w} events {} lost {} met {}", warp.head.events, warp.lost(), warp.head.total)?;
        for b in warp.events().iter() {
            let e = Event::of(b);
            let kind = EventKind::of(e.kind).map_or_else(|| e.kind.to_string(), |k| k.name().into());
            write!(out, "  {:#010x} {kind} {} lanes {:#010x} value {:#x}", e.site, e.dir, e.mask, e.value)?;
            if e.result != 0 {
                write!(out, " result {:#x}", e.result)?;
            }
            writeln!(out)?;
        }
    }
    // A packed file is read forwards: the section that lies first comes first.
    let first = |a: Option<super::Section>, b: Option<super::Section>| match (a, b) {
        (Some(a), Some(b)) => a.at < b.at,
        _ => true,
    };
    let history_first = first(file.layout.history, file.layout.snapshots);
    for history in [history_first, !history_first] {
        for w in warps.clone() {
            if history {
                let Some(ring) = cursor.history(w).map_err(bad)? else { continue };
                writeln!(out, "warp {w} history of {}", ring.written)?;
                ring.wrong.iter().try_for_each(|e| writeln!(out, "  not to be believed: {e}"))?;
                for e in ring.entries {
                    writeln!(out, "  {} {:#010x} value {:#x}", e.seq, e.site, e.value)?;
                }
            } else {
                let Some(ring) = cursor.snapshots(w).map_err(bad)? else { continue };
                writeln!(out, "warp {w} snapshots of {}", ring.written)?;
                ring.wrong.iter().try_for_each(|e| writeln!(out, "  not to be believed: {e}"))?;
                for s in ring.entries {
                    writeln!(out, "  {} {:#010x} lanes {:#010x} {}", s.seq, s.site, s.mask, s.comparison())?;
                    let operands = s.lhs.iter().zip(&s.rhs).enumerate();
                    for (lane, (lhs, rhs)) in operands.filter(|(lane, _)| s.mask >> lane & 1 == 1) {
                        writeln!(out, "    {lane}: {lhs:#x} {rhs:#x}")?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Writes the header of side `side` (`A` or `B`), and the first `most` events of the file, warp by warp, as
/// PRLX 0.5 did.
///
/// # Errors
/// If `out` fails. Errors of the file become an [`io::Error`] with their text.
pub fn first_events(out: &mut impl Write, side: &str, file: &File<'_>, most: u64) -> io::Result<()> {
    let h = &file.header;
    let bad = |e: prlx_trace::Error| io::Error::new(io::ErrorKind::InvalidData, e.to_string());
    let compact = h.flags.has(Flags::COMPACT);
    let (mut events, mut overflows) = (0, 0);
    let mut cursor = file.cursor().map_err(bad)?;
    for w in 0..h.warps {
        let warp = Warp::new(cursor.events(w..w + 1).map_err(bad)?, compact);
        events += warp.kept();
        overflows += u64::from(warp.head.overflow);
    }
    let three = |d: prlx_trace::Dim3| format!("[{}, {}, {}]", d.x, d.y, d.z);
    writeln!(out, "\n=== Trace {side} ===")?;
    writeln!(out, "Kernel:     {}", h.kernel().escape_debug())?;
    writeln!(out, "Hash:       {:#018x}", h.kernel_hash)?;
    writeln!(out, "Grid:       {}\nBlock:      {}", three(h.grid), three(h.block))?;
    writeln!(out, "Warps:      {}\nEvents:     {events}\nOverflows:  {overflows}", h.warps)?;
    writeln!(out, "Timestamp:  {}\nCUDA Arch:  {}", h.timestamp, h.device().to_uppercase())?;
    writeln!(out, "\n=== Events (first {most} events) ===")?;
    let mut left = most;
    let mut cursor = file.cursor().map_err(bad)?;
    for w in 0..h.warps {
        if left == 0 {
            break;
        }
        let warp = Warp::new(cursor.events(w..w + 1).map_err(bad)?, compact);
        if warp.kept() == 0 {
            continue;
        }
        writeln!(out, "\nWarp {w} ({} events, {} overflows):", warp.kept(), warp.head.overflow)?;
        for (i, bytes) in warp.events().iter().enumerate().take(left.try_into().unwrap_or(usize::MAX)) {
            let e = Event::of(bytes);
            writeln!(
                out,
                "  [{i}] site={:#010x} type={} branch={} active_mask={:#010x} value={}",
                e.site, e.kind, e.dir, e.mask, e.value
            )?;
        }
        left = left.saturating_sub(warp.kept());
    }
    writeln!(out)
}
