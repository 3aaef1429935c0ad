//! Launches as a whole: geometry, arguments, buffers before and after, and what was not seen of them.
//!
//! Holds: names of kernels and inputs that differ are told, but do not decide: the same path from other data is still the
//! same path. Geometry
//! and outputs decide.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Level, Module, Scalar, Site, SiteClass};
use prlx_trace::launch::Pointee;
use prlx_trace::{FuncId, Launch};

use crate::program::Program;
use crate::report::{Coverage, LaunchDifference, LaunchPart};
use crate::value;

/// The gaps of a launch, each once, in the order of their keys.
pub(crate) type Gaps = BTreeMap<String, String>;

/// Places of bytes that are spelt out.
const SPELT: usize = 4;

/// What differs between two launches apart from what their lanes did.
pub(crate) fn differences(modules: [&Module; 2], launches: [&Launch; 2]) -> Vec<LaunchDifference> {
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
    // Of another device: threads compare.
    put(LaunchPart::Code, "warp size", [a.warp_size.to_string(), b.warp_size.to_string()]);
    // How much a build wants is part of how it was built.
    let builds = if modules[0].digest == modules[1].digest { LaunchPart::Geometry } else { LaunchPart::Code };
    put(builds, "dynamic shared memory", [a.shared.to_string(), b.shared.to_string()]);
    if a.args.len() != b.args.len() {
        put(LaunchPart::Input, "arguments", [a.args.len().to_string(), b.args.len().to_string()]);
    }
    let params =
        [0, 1].map(|s| modules[s].functions.get(launches[s].kernel.index()).map_or(&[][..], |f| &f.params));
    pointees(modules, launches, &mut put);
    let masked = masked(launches);
    if a.args.is_empty() && b.args.is_empty() && masked[0] != masked[1] {
        put(
            LaunchPart::Input,
            "parameters",
            value::unlike(masked.each_ref().map(|p| &p[..]), [[Scalar::B8; 2]; 2]),
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
                    put(LaunchPart::Input, &x.name, value::unlike([v, w], [[x.ty, p.ty], [y.ty, q.ty]]));
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
        if let (Some(p), Some(q)) = (x.after, y.after)
            && p != q
        {
            put(LaunchPart::Output, &x.name, [p, q].map(|h| format!("content {h:016x}")));
        }
    }
    out
}

/// The parameters, with zeros for addresses, which say nothing where what they lead to is known.
fn masked(launches: [&Launch; 2]) -> [Vec<u8>; 2] {
    let both = |offset: u32| launches.iter().all(|l| l.pointees.iter().any(|p| p.offset == offset));
    let known: Vec<u32> = launches[0].pointees.iter().map(|p| p.offset).filter(|o| both(*o)).collect();
    launches.map(|l| {
        let mut params = l.params.clone();
        for at in &known {
            params.get_mut(*at as usize..).into_iter().flatten().take(8).for_each(|b| *b = 0);
        }
        params
    })
}

/// What differs in what pointers lead to.
fn pointees(
    modules: [&Module; 2],
    launches: [&Launch; 2],
    put: &mut impl FnMut(LaunchPart, &str, [String; 2]),
) {
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
            [Some(p), Some(q)] if x.digested == y.digested => [p, q].map(|h| format!("content {h:016x}")),
            _ => Default::default(),
        };
        put(LaunchPart::Input, &name, content([x.before, y.before]));
        put(LaunchPart::Output, &name, content([x.after, y.after]));
    }
}

/// What the word of the parameters at an offset is called.
fn place(m: &Module, l: &Launch, offset: u32) -> String {
    let params = m.functions.get(l.kernel.index()).map_or(&[][..], |f| &f.params);
    match params.iter().find(|p| offset.checked_sub(p.offset).is_some_and(|at| at < p.size)) {
        Some(p) if p.offset == offset => p.name.clone(),
        Some(p) => format!("{}+{}", p.name, offset - p.offset),
        None => format!("parameter at {offset}"),
    }
}

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

/// Whether a level tells of a site: `path` tells of decisions alone.
pub(crate) fn told(level: Level, s: &Site) -> bool {
    use SiteClass::{Branch, Guard, Select, Switch};
    level != Level::Path || matches!(s.class, Branch | Guard | Select | Switch)
}

/// Work with recording over work without.
pub(crate) fn dilation(l: &Launch) -> Option<f64> {
    (l.totals.bare > 0 && l.totals.instrumented > 0)
        .then(|| l.totals.instrumented as f64 / l.totals.bare as f64)
}

/// What the static half says was not seen.
pub(crate) fn static_gaps(
    m: &Module,
    l: &Launch,
    program: &Program<'_>,
    reach: &BTreeSet<FuncId>,
    side: usize,
    gaps: &mut Gaps,
) {
    let name = ["A", "B"][side];
    for f in reach {
        let Some(function) = m.functions.get(f.index()) else { continue };
        let what = if *f == l.kernel { "the kernel" } else { "the function" };
        if let Some(why) = &function.skipped {
            let text = format!("{what} `{}` was not recorded in {name}: {why}", function.name);
            gaps.insert(format!("1 {f} {side}"), text);
        } else if let Some(why) = program.functions.get(f.index()).and_then(|p| p.lost.as_ref()) {
            gaps.insert(
                format!("1 {f} {side}"),
                format!("`{}` can't be followed in {name}: {why}", function.name),
            );
        }
    }
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let hidden: BTreeMap<_, _> = reach.iter().flat_map(|f| program.hidden(*f)).collect();
    for (i, s) in m.sites.iter().enumerate().filter(|(_, s)| reach.contains(&s.function) && told(l.level, s))
    {
        let why = hidden.get(&prlx_trace::SiteId(i as u32)).or(s.skipped.as_ref());
        if let Some(why) = why {
            *reasons.entry(why.clone()).or_default() += 1;
        }
    }
    for (i, (why, n)) in reasons.into_iter().enumerate() {
        gaps.insert(
            format!("2 {side} {i:03}"),
            format!("{n} {} not recorded in {name}: {why}", s(n, "site was", "sites were")),
        );
    }
}

/// What the dynamic half says was not seen.
pub(crate) fn coverage_gaps(c: &Coverage, launches: [&Launch; 2], gaps: &mut Gaps) {
    if let [Some(a), Some(b)] = launches.map(|l| &l.skipped)
        && a == b
    {
        gaps.insert("00".into(), format!("the launch was not recorded: {a}"));
        return;
    }
    for (side, l) in launches.iter().enumerate() {
        let name = ["A", "B"][side];
        if let Some(why) = &l.skipped {
            gaps.insert(format!("00 {side}"), format!("the launch was not recorded in {name}: {why}"));
        }
        if l.fault.is_some() {
            gaps.insert(
                format!("01 {side}"),
                format!("{name} was stopped: what it would have done then is not known"),
            );
        }
        let t = &l.totals;
        if t.dropped > 0 {
            let text = format!(
                "{} {} lost for want of room in {name}",
                t.dropped,
                s(t.dropped, "element was", "elements were")
            );
            gaps.insert(format!("3 {side}"), text);
        }
        if t.filtered_warps > 0 {
            let text = format!(
                "{} {} left out by a filter in {name}",
                t.filtered_warps,
                s(t.filtered_warps, "warp was", "warps were")
            );
            gaps.insert(format!("4 {side}"), text);
        }
    }
    let mut put = |key: &str, n: u64, one: &str, many: &str| {
        if n > 0 {
            gaps.insert(key.into(), format!("{n} {}", s(n, one, many)));
        }
    };
    let filtered = launches.iter().map(|l| l.totals.filtered_warps).max().unwrap_or(0);
    put(
        "5",
        c.warps.missing.saturating_sub(filtered),
        "warp was not recorded on both sides",
        "warps were not recorded on both sides",
    );
    put(
        "6",
        c.lanes.truncated,
        "lane's recording ends before the lane does",
        "lanes' recordings end before the lanes do",
    );
    if c.lanes.failed > 0 {
        put("7", c.lanes.failed, "lane could not be decoded", "lanes could not be decoded");
    }
    if c.warps.total == 0 {
        gaps.insert("8".into(), "the launch has no warps".into());
    }
}

fn s<'a>(n: u64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}
