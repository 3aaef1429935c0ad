//! Names what holds a kernel up: rules over the results of the other analyses.
//!
//! # Invariants
//! Every cause names a role or CTA, a region, and its share of the launches' time. Causes are sorted by that
//! share. A share below five percent is not reported.
//!
//! # Limitations
//! These are rules, not proofs. Each cause therefore states what was observed.

use prlx_trace::Picos;

use crate::analyze::critical_path::CriticalPathPart;
use crate::analyze::overlap::Overlap;
use crate::analyze::pipeline::Loop;
use crate::analyze::tail::LaunchTail;
use crate::analyze::waits::{Blame, Wait, WaitKind};
use crate::model::{Timeline, Track};
use crate::statistics::total;

/// The least share that is named.
const LEAST: f64 = 0.05;
/// The least share of its time that one end of a pipeline waits, for it to count as held up by the other.
const HELD: f64 = 0.1;

/// How many times as long as the quickest copies must fly, for data to come no faster whatever is in flight.
const QUEUED: u64 = 2;

/// Something that holds a kernel up.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Cause {
    /// What kind: `late-producer`, `few-stages`, `slow-data`, `epilogue`, `slow-cta`, `exposed`, `idle-sms`,
    /// `barrier`.
    pub kind: &'static str,
    /// The share of the launches' time.
    pub share: f64,
    /// Who: a role, or a CTA.
    pub who: String,
    /// The region to look at; empty if it is none.
    pub region: String,
    /// What was seen.
    pub text: String,
}

/// What the causes are found from.
pub(crate) struct Seen<'a> {
    pub timeline: &'a Timeline,
    pub waits: &'a [Wait],
    pub loops: &'a [Loop],
    pub overlaps: &'a [Overlap],
    pub path: &'a [CriticalPathPart],
    pub tails: &'a [LaunchTail],
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The share of a role's time for which it is really held up by a wait.
fn held(wait: &Wait) -> f64 {
    wait.share * wait.held.as_f64() / wait.total.max(Picos(1)).as_f64()
}

/// The causes, the heaviest first.
pub(crate) fn causes(seen: &Seen<'_>) -> Vec<Cause> {
    let mut out = Vec::new();
    pipelines(seen, &mut out);
    epilogues(seen, &mut out);
    ctas(seen, &mut out);
    barriers(seen, &mut out);
    exposed(seen, &mut out);
    out.retain(|c| c.share >= LEAST);
    let last = |c: &Cause| c.kind == "exposed";
    out.sort_by(|a, b| {
        last(a)
            .cmp(&last(b))
            .then(b.share.total_cmp(&a.share))
            .then_with(|| (a.kind, &a.who, &a.region).cmp(&(b.kind, &b.who, &b.region)))
    });
    out
}

/// Consumers that starve: because their producer is late, because it has no room to be early, or because data
/// come no faster.
fn pipelines(seen: &Seen<'_>, out: &mut Vec<Cause>) {
    let most = |side: WaitKind| {
        let sided = seen.waits.iter().filter(|w| w.side == side).map(|w| (w, held(w)));
        sided
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.role.cmp(&a.0.role)))
            .filter(|(_, share)| *share >= HELD)
    };
    let Some((starved, share)) = most(WaitKind::Starved) else { return };
    if let Some((blocked, room)) = most(WaitKind::Blocked) {
        let seen = format!(
            "{} waits {} of its time in {}, and {}, which feeds it, {} in {} for room",
            starved.role,
            percent(share),
            starved.name,
            blocked.role,
            percent(room),
            blocked.name
        );
        // More in flight is of use as long as each flies no longer for it (Little's law).
        let flights = starved.flight.map(|f| f.map(|ps| format!("{:.2} us", ps.as_f64() / 1e6)));
        let (kind, why) = match (starved.flight, flights) {
            (Some([quick, usual]), Some([q, u])) if usual.0 >= QUEUED * quick.0 => (
                "slow-data",
                format!(
                    "its copies take {u} and the quickest {q}: they queue, and more stages would lengthen the queue"
                ),
            ),
            (Some(_), Some([q, u])) => (
                "few-stages",
                format!(
                    "its copies take {u} and the quickest {q}: the pipeline has too few stages to cover their way"
                ),
            ),
            _ => (
                "few-stages",
                "the pipeline has too few stages to cover the way of its data, unless these come no faster"
                    .to_owned(),
            ),
        };
        return out.push(Cause {
            kind,
            share,
            who: starved.role.clone(),
            region: starved.name.clone(),
            text: format!("{seen}; {why}"),
        });
    }
    let blame = starved.by.first().cloned().unwrap_or_default();
    let (who, doing) = match (blame.role.as_str(), blame.region.as_str()) {
        ("", _) => ("its producer".to_owned(), String::new()),
        (role, "") => (role.to_owned(), String::new()),
        (role, region) => (role.to_owned(), format!(", which is in {region} then")),
    };
    out.push(Cause {
        kind: "late-producer",
        share,
        who: who.clone(),
        region: blame.region,
        text: format!(
            "{} waits {} of its time in {} for {who}{doing} and has room: the producer is late",
            starved.role,
            percent(share),
            starved.name
        ),
    });
}

/// Regions that a role visits after its loop, on the path.
fn epilogues(seen: &Seen<'_>, out: &mut Vec<Cause>) {
    for on in seen.path.iter().filter(|p| p.share >= HELD) {
        let Some(region) = on.region else { continue };
        let Some(of) = seen.loops.iter().find(|l| l.role == on.role && l.region != region) else { continue };
        let last = |t: &Track| {
            let mine = t.spans.iter().filter(|s| s.region == region).map(|s| s.begin).min();
            let trips = t.spans.iter().filter(|s| s.region == of.region).map(|s| s.end).max();
            mine.zip(trips).map(|(mine, trips)| mine >= trips)
        };
        let tracks = seen.timeline.tracks.iter().filter(|t| t.role().to_string() == on.role);
        let (after, all) =
            tracks.filter_map(last).fold((0, 0), |(after, all), yes| (after + usize::from(yes), all + 1));
        if all == 0 || after * 2 < all {
            continue;
        }
        let alone = seen
            .overlaps
            .iter()
            .find(|o| o.region == Some(region))
            .map_or(0.0, |o| o.alone.as_f64() / o.time.max(Picos(1)).as_f64());
        out.push(Cause {
            kind: "epilogue",
            share: on.share,
            who: on.role.clone(),
            region: on.name.clone(),
            text: format!(
                "{} of {}, after its loop over {}, is {} of the critical path, {} of it with nothing beside it in the CTA",
                on.name, on.role, of.name, percent(on.share), percent(alone)
            ),
        });
    }
}

/// CTAs that the end waits for, and multiprocessors without work.
fn ctas(seen: &Seen<'_>, out: &mut Vec<Cause>) {
    let whole = total(seen.tails.iter().map(|t| t.time));
    let share = |time: Picos| time.as_f64() / whole.max(Picos(1)).as_f64();
    let waited = total(seen.tails.iter().map(|t| t.waited));
    let worst = seen.tails.iter().filter(|t| t.waited > Picos(0)).max_by_key(|t| t.waited);
    if let Some((tail, &(cta, sm, time))) = worst.and_then(|t| Some((t, t.slow_ctas.first()?))) {
        let on = sm.map(|sm| format!(" on SM {sm}")).unwrap_or_default();
        let ratio = time.as_f64() / tail.cta[0].max(Picos(1)).as_f64();
        let region = slow_region(seen.timeline, cta);
        let inside = region.as_ref().map(|r| format!(", most of it more in {r}")).unwrap_or_default();
        out.push(Cause {
            kind: "slow-cta",
            share: share(waited),
            who: format!("CTA {cta}"),
            region: region.unwrap_or_default(),
            text: format!(
                "CTA {cta}{on} takes {ratio:.1} times as long as others{inside}: the launch's end waits for it"
            ),
        });
    }
    let idle: f64 = seen.tails.iter().filter(|t| t.sms > 0).map(|t| t.idle.as_f64() / t.sms as f64).sum();
    let idle = (idle - waited.as_f64()).max(0.0) / whole.max(Picos(1)).as_f64();
    let waves = seen.tails.iter().map(|t| t.waves).fold(0.0, f64::max);
    out.push(Cause {
        kind: "idle-sms",
        share: idle,
        who: "the grid".into(),
        region: String::new(),
        text: format!(
            "multiprocessors have no CTA for {} of the time; the grid is {waves:.2} waves",
            percent(idle)
        ),
    });
}

/// The region in which a CTA takes the most more than the mean of all.
fn slow_region(timeline: &Timeline, cta: u64) -> Option<String> {
    let ctas = timeline
        .tracks
        .iter()
        .map(|t| (t.launch, t.cta))
        .collect::<std::collections::BTreeSet<_>>()
        .len()
        .max(1);
    let mut more = vec![0i128; timeline.regions.len()];
    for t in &timeline.tracks {
        for s in
            t.spans.iter().filter(|s| !s.asynchronous && !crate::analyze::waits::is_wait(timeline, s.region))
        {
            more[s.region as usize] +=
                i128::from(s.time().0) * if t.cta == cta { ctas as i128 - 1 } else { -1 };
        }
    }
    let (worst, time) =
        more.into_iter().enumerate().max_by_key(|(i, time)| (*time, std::cmp::Reverse(*i)))?;
    (time > 0).then(|| timeline.regions[worst].title())
}

/// Barriers at which all wait for one: one cause for each barrier and who is late there.
fn barriers(seen: &Seen<'_>, out: &mut Vec<Cause>) {
    let mut groups: Vec<(&Blame, Vec<&Wait>)> = Vec::new();
    for wait in seen.waits.iter().filter(|w| w.side == WaitKind::Barrier) {
        let Some(blame) = wait.by.first() else { continue };
        let same = |(other, waits): &&mut (&Blame, Vec<&Wait>)| {
            (&other.role, &other.region) == (&blame.role, &blame.region) && waits[0].region == wait.region
        };
        match groups.iter_mut().find(same) {
            Some((_, waits)) => waits.push(wait),
            None => groups.push((blame, vec![wait])),
        }
    }
    for (blame, waits) in groups {
        let Some(wait) = waits.iter().copied().max_by(|a, b| a.share.total_cmp(&b.share)) else { continue };
        let doing = if blame.region.is_empty() {
            String::new()
        } else {
            format!(", which is in {} before", blame.region)
        };
        let who = match waits.len() {
            1 => format!("{} waits {} of its time", wait.role, percent(wait.share)),
            n => format!(
                "{n} of the roles, {} most of all, wait up to {} of their time",
                wait.role,
                percent(wait.share)
            ),
        };
        out.push(Cause {
            kind: "barrier",
            share: wait.share,
            who: blame.role.clone(),
            region: blame.region.clone(),
            text: format!("{who} at {}, most for {}{doing}", wait.name, blame.role),
        });
    }
}

/// The region with the most of the path, if nothing above says it.
fn exposed(seen: &Seen<'_>, out: &mut Vec<Cause>) {
    let on = seen
        .path
        .iter()
        .find(|p| p.region.is_some_and(|r| !crate::analyze::waits::is_wait(seen.timeline, r)));
    // A kernel always has such a region: only one with half of the path says something.
    let named = |p: &&CriticalPathPart| p.share * HELD >= LEAST && !out.iter().any(|c| c.region == p.name);
    let Some(on) = on.filter(named) else { return };
    let gain =
        on.what_if.map(|w| format!("; a tenth faster, the launch is {w:.1} % shorter")).unwrap_or_default();
    // What a kernel is there for is no fault of its own: it is sorted after what is.
    out.push(Cause {
        kind: "exposed",
        share: on.share,
        who: on.role.clone(),
        region: on.name.clone(),
        text: format!("{} of {} is {} of the critical path{gain}", on.name, on.role, percent(on.share)),
    });
}
