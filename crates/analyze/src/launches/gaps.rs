//! Describes what was not seen of a pair of launches. A gap keeps the verdict from being `same`.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::{Level, Module, Site, SiteClass};
use prlx_trace::names::{file_name, own_line};
use prlx_trace::{FuncId, Launch, element};

use crate::decode::CheckedModule;
use crate::report::Coverage;

/// The gaps of a launch as texts, sorted by keys that also prevent duplicates.
pub(crate) type Gaps = BTreeMap<String, String>;

/// Whether a recording level includes a site. Level `path` includes decisions only. Levels `values` and
/// `events` include loads, and `events` barriers, only if they were asked for by class.
pub(crate) fn recorded_at_level(level: Level, s: &Site) -> bool {
    use SiteClass::{Entry, Exit, Load, Sync};
    match level {
        Level::Path => s.class.decides(),
        Level::Values => !matches!(s.class, Load | Sync | Entry | Exit),
        Level::Events => !matches!(s.class, Load | Sync),
        _ => true,
    }
}

/// Whether a site has a value only, which level `path` does not record either: an access to memory. Outputs
/// are compared apart from it, so no value that could not be read is a gap.
fn is_value(s: &Site) -> bool {
    matches!(s.class, SiteClass::Load | SiteClass::Store | SiteClass::Atomic)
}

/// Why a recording at this level does not tell what the kernel left in memory, unless it has digests or
/// outputs. `None` if it does, or if the kernel stores nothing.
///
/// Levels `fingerprint` and `events` hash what each lane stores, and not where. In one code, this determines
/// the content of memory, but for sums of floating-point numbers by atomics, which depend on the order of
/// threads.
///
/// # Limitations
/// Threads that store to one place without synchronisation, and exchanges, also leave a content that depends
/// on their order.
pub(crate) fn unseen_memory(
    modules: [&Module; 2],
    reach: [&BTreeSet<FuncId>; 2],
    level: Level,
) -> Option<&'static str> {
    let any = |is: fn(&Site) -> bool| {
        (0..2).any(|side| modules[side].sites.iter().any(|s| reach[side].contains(&s.function) && is(s)))
    };
    let stores = |s: &Site| matches!(s.class, SiteClass::Store | SiteClass::Atomic);
    let sums_floats =
        |s: &Site| s.class == SiteClass::Atomic && s.operands.iter().any(|o| element::is_float(o.ty));
    match level {
        Level::Path if any(stores) => Some(
            "what the kernel stored was not compared: level path records decisions only (--digest compares \
             memory, --level fingerprint stored values)",
        ),
        Level::Values if any(stores) => Some(
            "what the kernel stored was compared by hashes of a few bits only (--digest compares memory, --level \
             fingerprint stored values)",
        ),
        Level::Fingerprint | Level::Events if any(stores) && modules[0].digest != modules[1].digest => Some(
            "where the kernel stored was not compared: the code differs, and hashes hold values only (--digest \
             compares memory)",
        ),
        Level::Fingerprint | Level::Events if any(sums_floats) => Some(
            "what the kernel's atomics left was not compared: sums of floating-point numbers depend on the order \
             of threads (--digest compares memory)",
        ),
        _ => None,
    }
}

/// The work of the launch with recording, divided by the work without.
pub(crate) fn dilation(l: &Launch) -> Option<f64> {
    (l.totals.bare > 0 && l.totals.instrumented > 0)
        .then(|| l.totals.instrumented as f64 / l.totals.bare as f64)
}

/// Adds the gaps known from the module: functions and sites that were not recorded.
pub(crate) fn static_gaps(
    m: &Module,
    l: &Launch,
    program: &CheckedModule<'_>,
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
                format!("`{}` cannot be decoded in {name}: {why}", function.name),
            );
        }
    }
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let hidden: BTreeMap<_, _> = reach.iter().flat_map(|f| program.hidden(*f)).collect();
    for (i, s) in m
        .sites
        .iter()
        .enumerate()
        .filter(|(_, s)| reach.contains(&s.function) && recorded_at_level(l.level, s))
    {
        let why = hidden.get(&prlx_trace::SiteId(i as u32)).or(s.skipped.as_ref());
        if let Some(why) = why.filter(|why| !is_value(s) || why.contains("filter")) {
            *reasons.entry(why.clone()).or_default() += 1;
        }
    }
    for (i, (why, n)) in reasons.into_iter().enumerate() {
        gaps.insert(
            format!("2 {side} {i:03}"),
            format!("{n} {} not recorded in {name}: {why}", plural(n, "site was", "sites were")),
        );
    }
}

/// Adds a gap for each function that calls others through a pointer, which are not recorded.
pub(crate) fn pointer_calls(m: &Module, reach: &BTreeSet<FuncId>, side: usize, gaps: &mut Gaps) {
    for f in reach {
        let Some(function) = m.functions.get(f.index()) else { continue };
        let Some(first) = function.pointer_calls.first() else { continue };
        let at = first.and_then(|loc| own_line(m, loc)).and_then(|l| {
            let file = m.files.get(l.file.index())?;
            Some(format!(" at {}:{}", file_name(&file.path), l.line))
        });
        gaps.insert(
            format!("1 {f} {side} calls"),
            format!(
                "`{}` calls functions through a pointer{} in {}: what they do is not recorded",
                function.name,
                at.unwrap_or_default(),
                ["A", "B"][side]
            ),
        );
    }
}

/// Adds the gaps known from the recording: lost elements, filtered warps, truncated lanes.
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
                format!("{name} was stopped: its remaining execution is unknown"),
            );
        }
        let t = &l.totals;
        if t.dropped > 0 {
            let text = format!(
                "{} {} lost in {name}: the recording buffer was full",
                t.dropped,
                plural(t.dropped, "element was", "elements were")
            );
            gaps.insert(format!("3 {side}"), text);
        }
        if t.filtered_warps > 0 {
            let text = format!(
                "{} {} excluded by a filter in {name}",
                t.filtered_warps,
                plural(t.filtered_warps, "warp was", "warps were")
            );
            gaps.insert(format!("4 {side}"), text);
        }
    }
    let mut put = |key: &str, n: u64, one: &str, many: &str| {
        if n > 0 {
            gaps.insert(key.into(), format!("{n} {}", plural(n, one, many)));
        }
    };
    let filtered = launches.iter().map(|l| l.totals.filtered_warps).max().unwrap_or(0);
    put(
        "5",
        c.warps.missing.saturating_sub(filtered),
        "warp was not recorded on both sides",
        "warps were not recorded on both sides",
    );
    let unhashed = "ended early, or decided by a parameter or a device that differs, which no hash covers: \
                    record at level `path`";
    let (one, many) = match launches[0].level {
        Level::Fingerprint => (format!("lane {unhashed}"), format!("lanes {unhashed}")),
        _ => (
            "lane's recording ends before the lane does".to_owned(),
            "lanes' recordings end before the lanes do".to_owned(),
        ),
    };
    put("6", c.lanes.truncated, &one, &many);
    if c.lanes.failed > 0 {
        put("7", c.lanes.failed, "lane could not be decoded", "lanes could not be decoded");
    }
    if c.warps.total == 0 {
        gaps.insert("8".into(), "the launch has no warps".into());
    }
}

pub(crate) fn plural<'a>(n: u64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_do_not_tell_where_other_code_stores() {
        let store = Site { class: SiteClass::Store, ..Site::default() };
        let module = |digest: u128| Module { digest, sites: vec![store.clone()], ..Module::default() };
        let reach = BTreeSet::from([FuncId(0)]);
        let unseen = |level: Level, b: u128| unseen_memory([&module(1), &module(b)], [&reach; 2], level);
        for level in [Level::Fingerprint, Level::Events] {
            assert_eq!(unseen(level, 1), None);
            assert!(unseen(level, 2).is_some_and(|gap| gap.starts_with("where the kernel stored")));
        }
    }
}
