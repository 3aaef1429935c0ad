//! Prints a version 1 file as text.

use std::io::{self, Write};

use super::{Event, EventKind, File, Flags, Warp};

/// Writes the header, and the parts of one warp or of all warps.
///
/// # Errors
/// If `out` fails. Errors of the file become an [`io::Error`] with their text.
pub fn dump(out: &mut impl Write, file: &File<'_>, only: Option<u32>) -> io::Result<()> {
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
    let warps = only.map_or(0..h.warps, |w| w..w.saturating_add(1).min(h.warps));
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
