//! Timelines of kernels as one HTML page: selected CTAs with a row for each track, all SMs, and arrows
//! between waits and arrivals. Two runs are drawn one below the other. The page contains its data as JSON and
//! draws it.
//!
//! # Invariants
//! - Names from traces are data, never markup. The page's policy forbids it to load anything.
//! - The same input gives the same bytes.
//! - The page lists everything that it leaves out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use prlx_timeline::{Analysis, Arrow, Timeline, arrows};
use prlx_trace::Picos;
use serde_json::{Value, json};

use super::super::host::{self, HostSpanKind};
use super::super::spans::{async_rows, track_name};
use super::super::text::SIMULATED;
use crate::format::html::esc;
use crate::format::time;
use crate::format::{clean, count, number};

/// Maximum number of CTAs drawn.
const CTAS: usize = 8;
/// Maximum number of spans drawn for a side.
const SPANS: usize = 200_000;
/// Maximum number of CTAs in the overview.
const OVERVIEW: usize = 100_000;

/// One of the timelines of a page.
pub struct ProfilePage<'a> {
    /// The heading of this timeline.
    pub name: &'a str,
    /// The timeline that is drawn.
    pub timeline: &'a Timeline,
    /// The analysis of the timeline.
    pub analysis: &'a Analysis,
}

/// Writes one timeline, or two, as a page.
///
/// # Errors
/// Those of `out`.
pub fn profile_html(out: &mut impl Write, sides: &[ProfilePage<'_>]) -> io::Result<()> {
    let data: Vec<Value> = sides.iter().map(side_data).collect();
    // Within a script element only `</` ends it; as an escape it is the same text.
    let data = serde_json::to_string(&data)?.replace('<', "\\u003c");
    let title: Vec<String> = sides.iter().map(|s| esc(s.name)).collect();
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <header><input type=\"search\" id=\"find\" placeholder=\"filter regions by name\" aria-label=\"regions\">\
         <button id=\"all\">all</button><span id=\"said\">wheel: zoom · drag: move · shift and drag: measure · click: details</span></header>\n\
         <main></main>\n<div id=\"tip\" hidden></div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        title.join(" and "),
        include_str!("page.css"),
        include_str!("page.js"),
    )
}

fn side_data(page: &ProfilePage<'_>) -> Value {
    let (t, a) = (page.timeline, page.analysis);
    let mut notes: Vec<String> = t.notes.iter().map(|n| format!("{} {}", number(n.count), n.text)).collect();
    notes.extend(super::super::text::calibrations(t, usize::MAX));
    notes.extend(t.host.clocks.iter().map(host::clock_accuracy));
    let chosen = choose(t);
    let all: BTreeSet<(usize, u64)> = t.tracks.iter().map(|t| (t.launch, t.cta)).collect();
    if chosen.len() < all.len() {
        notes.push(format!(
            "{} of {} are shown: the longest, the shortest and some in between; choose others with --cta",
            chosen.len(),
            count(all.len() as u64, "CTA", "CTAs")
        ));
    }
    let host = host::rows(t);
    let mut rows: Vec<Value> = Vec::new();
    let mut regions: Vec<Value> = {
        let waits: BTreeSet<u32> = a.waits.iter().map(|w| w.region).collect();
        (0u32..).zip(&t.regions).map(|(i, r)| json!([clean(&r.title()), waits.contains(&i)])).collect()
    };
    // Of the host's rows; by launch: where it is called, runs, and begins.
    let mut named: HashMap<String, usize> = HashMap::new();
    let mut calls: HashMap<u64, Vec<(usize, i64)>> = HashMap::new();
    let back = |at: Picos| i64::try_from(i128::from(at.0) - i128::from(host.lead.0)).unwrap_or(i64::MAX);
    for row in &host.rows {
        let spans = row.spans.iter().take(SPANS / 10).map(|s| {
            let region = *named.entry(s.name()).or_insert_with_key(|name| {
                regions.push(json!([name, matches!(s.what, HostSpanKind::Wait | HostSpanKind::Recording)]));
                regions.len() - 1
            });
            s.launches().for_each(|n| calls.entry(n).or_default().push((rows.len(), back(s.begin))));
            json!([region, back(s.begin), s.end - s.begin, 0, s.launch, 0, 0])
        });
        let spans: Vec<Value> = spans.collect();
        rows.push(json!({ "name": row.name, "host": true, "flight": false, "spans": spans, "moments": [] }));
    }
    let most = host.rows.iter().map(|row| row.spans.len().saturating_sub(SPANS / 10)).sum::<usize>();
    if most > 0 {
        notes.push(format!(
            "{} of the host and of streams are not shown",
            count(most as u64, "span", "spans")
        ));
    }
    // By track: its row.
    let mut places: HashMap<usize, usize> = HashMap::new();
    let (mut drawn, mut left) = (0, 0);
    for (i, track) in t.tracks.iter().enumerate().filter(|(_, t)| chosen.contains(&(t.launch, t.cta))) {
        if drawn + track.spans.len() > SPANS {
            left += track.spans.len() as u64;
            continue;
        }
        drawn += track.spans.len();
        places.insert(i, rows.len());
        let on = track.sm.map(|sm| format!("SM {sm}, ")).unwrap_or_default();
        let nested = track.spans.iter().filter(|s| !s.asynchronous).collect();
        for (n, spans) in [nested].into_iter().chain(async_rows(track)).enumerate() {
            let spans: Vec<Value> = spans
                .into_iter()
                .map(|s| json!([s.region, s.begin, s.time(), s.depth, s.trip, s.payload[0], s.cycles]))
                .collect();
            let moments: Vec<Value> =
                track.moments.iter().filter(|_| n == 0).map(|m| json!([m.region, m.at])).collect();
            let name = if n == 0 { format!("{on}{}", track_name(track)) } else { "asynchronous".to_owned() };
            rows.push(json!({ "name": name, "cta": track.cta, "flight": n > 0, "spans": spans, "moments": moments }));
        }
    }
    if left > 0 {
        notes.push(format!(
            "{} of these CTAs are not shown: the page is limited to {SPANS} spans",
            count(left, "span", "spans")
        ));
    }
    if t.axis.simulated {
        notes.push(format!("simulated clock: {SIMULATED}"));
    }
    let joined = all_arrows(t, &places, calls);
    let mut overview = Vec::new();
    if all.len() > OVERVIEW {
        notes.push(format!("no overview: more than {OVERVIEW} CTAs"));
    } else {
        overview = sm_overview(t);
    }
    let causes: Vec<Value> = a.causes.iter().map(|c| json!([c.share, c.kind, clean(&c.text)])).collect();
    let path: Vec<Value> = a
        .path
        .iter()
        .take(12)
        .map(|p| json!([clean(&p.name), p.role, time(p.time), p.share, p.what_if]))
        .collect();
    json!({
        "name": clean(page.name), "time": a.time, "lead": host.lead, "residual": t.axis.residual, "regions": regions, "rows": rows, "arrows": joined,
        "overview": overview, "causes": causes, "path": path, "notes": notes,
    })
}

/// The arrows of the page, from row and time to row and time: between waits and arrivals, and from launch
/// `calls` to kernels. `places` has the row of each track that is drawn.
fn all_arrows(
    t: &Timeline,
    places: &HashMap<usize, usize>,
    mut calls: HashMap<u64, Vec<(usize, i64)>>,
) -> Vec<Value> {
    let mut all: Vec<Value> = arrows(t)
        .into_iter()
        .filter_map(|Arrow { from, to }| {
            Some(json!([places.get(&from.0)?, from.1, places.get(&to.0)?, to.1]))
        })
        .collect();
    for call in &t.host.calls {
        let drawn = places.iter().filter(|(track, _)| Some(t.tracks[**track].launch) == call.tracks);
        let begin = |track: usize| t.tracks[track].range().map(|[begin, _]| begin);
        let first = drawn.filter_map(|(track, row)| Some((begin(*track)?, *row))).min();
        let mut way = calls.remove(&call.number).unwrap_or_default();
        way.extend(first.map(|(at, row)| (row, i64::try_from(at.0).unwrap_or(i64::MAX))));
        all.extend(way.windows(2).map(|w| json!([w[0].0, w[0].1, w[1].0, w[1].1])));
    }
    all
}

/// For each SM: its CTAs, with the begin and the end of each.
fn sm_overview(t: &Timeline) -> Vec<Value> {
    let mut sms: BTreeMap<u32, BTreeMap<(usize, u64), [Picos; 2]>> = BTreeMap::new();
    for track in t.tracks.iter() {
        if let (Some(sm), Some([begin, end])) = (track.sm, track.range()) {
            let range = sms.entry(sm).or_default().entry((track.launch, track.cta)).or_insert([begin, end]);
            *range = [range[0].min(begin), range[1].max(end)];
        }
    }
    let ctas = |ctas: BTreeMap<(usize, u64), [Picos; 2]>| {
        ctas.into_iter().map(|((_, cta), [begin, end])| json!([cta, begin, end])).collect::<Vec<_>>()
    };
    sms.into_iter().map(|(sm, all)| json!([sm, ctas(all)])).collect()
}

/// The CTAs that are drawn: all if there are at most [`CTAS`], else the longest, the shortest and some in
/// between.
fn choose(t: &Timeline) -> BTreeSet<(usize, u64)> {
    let mut ranges: BTreeMap<(usize, u64), [Picos; 2]> = BTreeMap::new();
    for track in &t.tracks {
        let Some([begin, end]) = track.range() else { continue };
        let range = ranges.entry((track.launch, track.cta)).or_insert([begin, end]);
        *range = [range[0].min(begin), range[1].max(end)];
    }
    let mut all: Vec<(Picos, (usize, u64))> =
        ranges.into_iter().map(|(key, [begin, end])| (end - begin, key)).collect();
    all.sort_unstable();
    let n = all.len();
    (0..CTAS.min(n)).map(|i| all[if n <= CTAS { i } else { i * (n - 1) / (CTAS - 1) }].1).collect()
}
