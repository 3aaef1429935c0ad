//! Finds the launch at which a difference began: its inputs are known and equal, and its outputs differ.

use std::collections::BTreeSet;

use prlx_trace::Launch;
use prlx_trace::kernel::Module;
use prlx_trace::launch::Pointee;

use crate::report::{LaunchDifference, LaunchPart};

use super::differences::masked;
use super::gaps::plural as s;

/// The largest number of byte ranges that are listed.
const SPELT: usize = 4;

/// Why some memory behind a launch's pointers has no digest. `None` if all of it has, or if digests were not
/// requested.
pub(crate) fn undigested(l: &Launch) -> Option<String> {
    let count = |is: fn(&Pointee) -> bool| l.pointees.iter().filter(|p| is(p)).count() as u64;
    let (out, cut) = (count(|p| p.after.is_none()), count(|p| p.after.is_some() && p.digested < p.bytes));
    let plural = |n| s(n, "pointer leads", "pointers lead");
    if l.undigested.is_some() {
        l.undigested.clone()
    } else if out > 0 {
        Some(format!("{out} {} to memory that was not digested", plural(out)))
    } else {
        (cut > 0).then(|| format!("{cut} {} to more than was digested (--digest=MIB)", plural(cut)))
    }
}

/// Whether the content of all of a launch's buffers after it is known.
pub(crate) fn digested(l: &Launch) -> bool {
    let mut buffers = l.args.iter().filter(|a| a.bytes.is_some()).map(|a| a.after).peekable();
    let pointees = l.pointees.iter().all(|p| p.after.is_some() && p.digested == p.bytes);
    let some = buffers.peek().is_some() || !l.pointees.is_empty();
    some && buffers.all(|after| after.is_some()) && pointees && l.undigested.is_none()
}

/// Whether the digests of both launches are of equally much memory behind the same pointers.
pub(crate) fn comparable(launches: [&Launch; 2]) -> bool {
    let ranges =
        |l: &Launch| -> BTreeSet<(u32, u64)> { l.pointees.iter().map(|p| (p.offset, p.digested)).collect() };
    ranges(launches[0]) == ranges(launches[1])
}

/// Whether all inputs of a launch are known. Memory behind pointers inside buffers is never known, nor are
/// module variables.
pub(crate) fn known(l: &Launch) -> bool {
    let mut buffers = l.args.iter().filter(|a| a.bytes.is_some()).map(|a| a.before).peekable();
    let some = buffers.peek().is_some() || !l.pointees.is_empty();
    let pointees = l.pointees.iter().all(|p| p.before.is_some());
    some && buffers.all(|before| before.is_some()) && pointees && undigested(l).is_none()
}

/// Whether all inputs of a launch are known and equal, and yet its outputs differ: the difference began in
/// this launch.
pub(crate) fn culprit(launches: [&Launch; 2], differences: &[LaunchDifference]) -> bool {
    launches.into_iter().all(known)
        && !differences.is_empty()
        && differences.iter().all(|d| d.what == LaunchPart::Output)
}

/// The bytes that may be padding, if they are all that differs in the inputs and the other inputs are known,
/// such as `bytes 4 to 7 of p`.
///
/// Only bytes of structures can be padding, and never the first byte of one. A parameter of a scalar's size
/// counts as a scalar and has no padding.
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
    // Another input differs as well, such as the memory behind a pointer.
    if inputs != differ {
        return None;
    }
    let more = found.len().saturating_sub(SPELT);
    found.truncate(SPELT);
    Some(found.join(", ") + &if more > 0 { format!(" and {more} more places") } else { String::new() })
}
