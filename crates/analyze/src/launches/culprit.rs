//! Whether a launch is where a difference began: everything that went in is known and the same, and the outputs differ.

use prlx_trace::Launch;
use prlx_trace::kernel::Module;
use prlx_trace::launch::Pointee;

use crate::report::{LaunchDifference, LaunchPart};

use super::differences::masked;
use super::gaps::plural as s;

/// Places of bytes that are spelt out.
const SPELT: usize = 4;

/// Why not all is digested that a launch's pointers lead to; `None` if all is, or digests were not asked for.
pub(crate) fn undigested(l: &Launch) -> Option<String> {
    let count = |is: fn(&Pointee) -> bool| l.pointees.iter().filter(|p| is(p)).count() as u64;
    let (out, cut) = (count(|p| p.before.is_none()), count(|p| p.before.is_some() && p.digested < p.bytes));
    let plural = |n| s(n, "pointer leads", "pointers lead");
    if l.undigested.is_some() {
        l.undigested.clone()
    } else if out > 0 {
        Some(format!("{out} {} to memory that was not digested", plural(out)))
    } else {
        (cut > 0).then(|| format!("{cut} {} to more than was digested (--digest=MIB)", plural(cut)))
    }
}

/// Whether all that went into a launch is known. What pointers inside of buffers lead to is not, nor are module variables.
fn known(l: &Launch) -> bool {
    let mut buffers = l.args.iter().filter(|a| a.bytes.is_some()).map(|a| a.before).peekable();
    let some = buffers.peek().is_some() || !l.pointees.is_empty();
    some && buffers.all(|before| before.is_some()) && undigested(l).is_none()
}

/// Whether all that went into a launch is known and the same, and yet something else came out: what differs began here.
pub(crate) fn culprit(launches: [&Launch; 2], differences: &[LaunchDifference]) -> bool {
    launches.into_iter().all(known)
        && !differences.is_empty()
        && differences.iter().all(|d| d.what == LaunchPart::Output)
}

/// The bytes of structures among the parameters that are all that differs of what went in, if they may be padding, and the
/// rest is known: `bytes 4 to 7 of p`. A structure begins with something that is set, so its first byte is none; what has a
/// scalar's size counts as one, and has none.
pub(crate) fn padding(
    modules: [&Module; 2],
    launches: [&Launch; 2],
    differences: &[LaunchDifference],
) -> Option<String> {
    let inputs = differences.iter().filter(|d| d.what == LaunchPart::Input).count();
    if inputs == 0
        || !launches.into_iter().all(known)
        || differences.iter().any(|d| d.what == LaunchPart::Geometry)
    {
        return None;
    }
    let params =
        [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map_or(&[][..], |f| &f.params));
    let masked = masked(launches);
    let mut found: Vec<String> = Vec::new();
    let mut differ = 0;
    for (p, q) in params[0].iter().zip(params[1]) {
        let range = p.offset as usize..(p.offset as usize).checked_add(p.size as usize)?;
        let [a, b] = masked.each_ref().map(|m| m.get(range.clone()));
        let (a, b) = (a?, b?);
        if a == b {
            continue;
        }
        let structure = p.size > p.ty.bits().div_ceil(8) && (p.offset, p.size) == (q.offset, q.size);
        if !structure || a[0] != b[0] {
            return None;
        }
        differ += 1;
        let mut at = 0;
        while let Some(from) = (at..a.len()).find(|i| a[*i] != b[*i]) {
            at = (from..a.len()).find(|i| a[*i] == b[*i]).unwrap_or(a.len());
            found.push(match at - from {
                1 => format!("byte {from} of {}", p.name),
                _ => format!("bytes {from} to {} of {}", at - 1, p.name),
            });
        }
    }
    // Something else differs too, as what a pointer leads to.
    if inputs != differ {
        return None;
    }
    let more = found.len().saturating_sub(SPELT);
    found.truncate(SPELT);
    Some(found.join(", ") + &if more > 0 { format!(" and {more} more places") } else { String::new() })
}
