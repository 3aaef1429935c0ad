//! Compares launches as a whole: geometry, arguments, and buffers before and after.
//!
//! # Invariants
//! Geometry and outputs decide the verdict. Kernel names and inputs that differ are reported but do not
//! decide it: the same path from other data is still the same path.

use std::collections::BTreeSet;

use prlx_trace::Launch;
use prlx_trace::kernel::{Module, Scalar};
use prlx_trace::launch::Pointee;

use crate::report::{LaunchDifference, LaunchPart};
use crate::value;

/// The differences between two launches, apart from what their lanes did. `digests`: with those of the memory
/// behind pointers.
pub(crate) fn differences(
    modules: [&Module; 2],
    launches: [&Launch; 2],
    digests: bool,
) -> Vec<LaunchDifference> {
    let mut out = Vec::new();
    let [a, b] = launches;
    let mut put = |what, name: &str, values: [String; 2]| {
        if values[0] != values[1] {
            out.push(LaunchDifference { what, name: name.into(), values });
        }
    };
    put(LaunchPart::Geometry, "grid", [a.grid.to_string(), b.grid.to_string()]);
    put(LaunchPart::Geometry, "block", [a.block.to_string(), b.block.to_string()]);
    if let (Some(a), Some(b)) = (a.cluster, b.cluster) {
        put(LaunchPart::Geometry, "cluster", [a.to_string(), b.to_string()]);
    }
    // A device with another warp size: threads are compared, not lanes.
    put(LaunchPart::Code, "warp size", [a.warp_size.to_string(), b.warp_size.to_string()]);
    // The amount of dynamic shared memory is part of how a kernel was built.
    let builds = if modules[0].digest == modules[1].digest { LaunchPart::Geometry } else { LaunchPart::Code };
    put(builds, "dynamic shared memory", [a.shared.to_string(), b.shared.to_string()]);
    if a.args.len() != b.args.len() {
        put(LaunchPart::Input, "arguments", [a.args.len().to_string(), b.args.len().to_string()]);
    }
    let params =
        [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map_or(&[][..], |f| &f.params));
    pointees(modules, launches, digests, &mut put);
    let masked = masked(launches);
    if a.args.is_empty() && b.args.is_empty() && masked[0] != masked[1] {
        put(
            LaunchPart::Input,
            "parameters",
            value::format_difference(masked.each_ref().map(|p| &p[..]), [[Scalar::B8; 2]; 2]),
        );
    }
    for (i, (x, y)) in a.args.iter().zip(&b.args).enumerate() {
        let lengths = [x.bytes, y.bytes];
        match lengths {
            [None, None] => {
                let raw = |side: usize| {
                    let p = params[side].get(i)?;
                    let end = (p.offset as usize).checked_add(p.size as usize)?;
                    Some((p, masked[side].get(p.offset as usize..end)?))
                };
                if let (Some((p, v)), Some((q, w))) = (raw(0), raw(1))
                    && v != w
                {
                    put(
                        LaunchPart::Input,
                        &x.name,
                        value::format_difference([v, w], [[x.ty, p.ty], [y.ty, q.ty]]),
                    );
                }
            }
            _ => {
                let length = |l: Option<u64>| l.map_or("no buffer".into(), |l| format!("{l} bytes"));
                put(LaunchPart::Input, &x.name, lengths.map(length));
                let hash = |h: Option<u64>| h.map_or_else(String::new, |h| format!("content {h:016x}"));
                if x.before.is_some() && y.before.is_some() && lengths[0] == lengths[1] {
                    put(LaunchPart::Input, &x.name, [hash(x.before), hash(y.before)]);
                }
            }
        }
    }
    for (x, y) in a.args.iter().zip(&b.args) {
        // Memory that a launch leaves as it was is none of its outputs.
        let kept = [x, y].iter().all(|arg| arg.before.is_some() && arg.before == arg.after);
        if let (Some(p), Some(q)) = (x.after, y.after)
            && p != q
            && !kept
        {
            put(LaunchPart::Output, &x.name, [p, q].map(|h| format!("content {h:016x}")));
        }
    }
    out
}

/// The parameters with zeros for addresses, which mean nothing between runs: words whose target is known, or,
/// if neither launch tells its pointers, words of eight bytes that may be addresses in both.
pub(super) fn masked(launches: [&Launch; 2]) -> [Vec<u8>; 2] {
    let both = |offset: u32| launches.iter().all(|l| l.pointees.iter().any(|p| p.offset == offset));
    let word = |l: &Launch, offset: u32| {
        l.params.get(offset as usize..).and_then(|p| p.first_chunk()).map(|word| u64::from_le_bytes(*word))
    };
    let tells = |l: &Launch| !l.pointees.is_empty() || l.args.iter().any(|arg| arg.bytes.is_some());
    let known: Vec<u32> = if one_is_undigested(launches) {
        // Only one side knows its pointers, and the other one has the same parameters.
        let all = launches.into_iter().flat_map(|l| &l.pointees);
        let address = |offset: u32| launches.iter().all(|l| word(l, offset).is_some_and(may_be_address));
        all.map(|p| p.offset).filter(|o| address(*o)).collect()
    } else if launches.into_iter().any(tells) {
        launches[0].pointees.iter().map(|p| p.offset).filter(|o| both(*o)).collect()
    } else {
        let end = launches[0].params.len() as u32;
        let address = |offset: u32| launches.iter().all(|l| word(l, offset).is_some_and(may_be_address));
        (0..end).step_by(8).filter(|o| address(*o)).collect()
    };
    launches.map(|l| {
        let mut params = l.params.clone();
        for at in &known {
            params.get_mut(*at as usize..).into_iter().flatten().take(8).for_each(|b| *b = 0);
        }
        params
    })
}

/// Whether one launch alone has no digests although they were wanted. What its parameters point to is not
/// known.
fn one_is_undigested([a, b]: [&Launch; 2]) -> bool {
    a.undigested.is_some() != b.undigested.is_some()
}

/// Whether a word may be an address of device memory. Sizes and counts are smaller, and floating-point
/// numbers of eight bytes larger.
fn may_be_address(word: u64) -> bool {
    (1 << 32..1 << 49).contains(&word)
}

/// Adds the differences in the memory behind pointers.
fn pointees(
    modules: [&Module; 2],
    launches: [&Launch; 2],
    digests: bool,
    put: &mut impl FnMut(LaunchPart, &str, [String; 2]),
) {
    if one_is_undigested(launches) {
        return;
    }
    let [a, b] = launches;
    let of = |l: &Launch, offset: u32| l.pointees.iter().find(|p| p.offset == offset).copied();
    let offsets: BTreeSet<u32> = a.pointees.iter().chain(&b.pointees).map(|p| p.offset).collect();
    for (offset, x, y) in offsets.iter().map(|o| (*o, of(a, *o), of(b, *o))) {
        let name = place(modules[0], a, offset);
        let (Some(x), Some(y)) = (x, y) else {
            let what =
                |p: Option<Pointee>| p.map_or("no pointer".into(), |p| format!("to {} bytes", p.bytes));
            put(LaunchPart::Input, &name, [what(x), what(y)]);
            continue;
        };
        put(LaunchPart::Input, &name, [x, y].map(|p| format!("to {} bytes", p.bytes)));
        let content = |d: [Option<u64>; 2]| match d {
            [Some(p), Some(q)] if digests && x.digested == y.digested => {
                [p, q].map(|h| format!("content {h:016x}"))
            }
            _ => Default::default(),
        };
        put(LaunchPart::Input, &name, content([x.before, y.before]));
        let kept = [x, y].iter().all(|p| p.before.is_some() && p.before == p.after);
        if !kept {
            put(LaunchPart::Output, &name, content([x.after, y.after]));
        }
    }
}

/// The name of the parameter word at an offset.
fn place(m: &Module, l: &Launch, offset: u32) -> String {
    let params = m.functions.get(l.kernel.index()).map_or(&[][..], |f| &f.params);
    match params.iter().find(|p| offset.checked_sub(p.offset).is_some_and(|at| at < p.size)) {
        Some(p) if p.offset == offset => p.name.clone(),
        Some(p) => format!("{}+{}", p.name, offset - p.offset),
        None => format!("parameter at {offset}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_that_one_side_alone_knows_are_no_difference() {
        let launch = |words: [u64; 2]| Launch {
            params: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            ..Launch::default()
        };
        let module = Module::default();
        let told = |a: &Launch, b: &Launch| differences([&module, &module], [a, b], true);
        let pointee = Pointee { offset: 0, bytes: 64, digested: 64, before: Some(1), after: Some(2) };
        let a = Launch { pointees: vec![pointee], ..launch([0x7f00_1234_5600, 5]) };
        let b = Launch { undigested: Some("no room".to_owned()), ..launch([0x7f00_9876_5400, 5]) };
        assert_eq!(told(&a, &b), []);
        // Numbers still count, and so does a pointer where both sides were looked at.
        let other = Launch { params: launch([0x7f00_9876_5400, 6]).params, ..b.clone() };
        assert_eq!(told(&a, &other).len(), 1);
        assert_eq!(told(&a, &Launch { undigested: None, ..b })[0].values[1], "no pointer");
    }

    #[test]
    fn memory_that_both_launches_keep_is_no_output() {
        let module = Module::default();
        let left = |before: u64, after: u64| {
            let (before, after) = (Some(before), Some(after));
            let pointee = Pointee { offset: 0, bytes: 64, digested: 64, before, after };
            Launch { pointees: vec![pointee], params: vec![0; 8], ..Launch::default() }
        };
        let told = |a: Launch, b: Launch| -> Vec<LaunchPart> {
            differences([&module, &module], [&a, &b], true).into_iter().map(|d| d.what).collect()
        };
        assert_eq!(told(left(1, 1), left(2, 2)), [LaunchPart::Input]);
        assert_eq!(told(left(1, 1), left(2, 3)), [LaunchPart::Input, LaunchPart::Output]);
        assert_eq!(told(left(1, 2), left(1, 3)), [LaunchPart::Output]);
    }
}
