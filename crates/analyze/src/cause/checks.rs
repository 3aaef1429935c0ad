//! Races, reads of unwritten memory and the like that explain a difference.
//!
//! A walk that passes an access with such a finding ends there: what it meets behind a race is chance.

use prlx_trace::check::{Check, Finding, Findings, Grade, Kind, Place, Side};

use super::flow::{Source, Word};
use super::place::place_of;
use super::source_changes::SourceChanges;
use super::walk::{Context, Found, Walk};
use crate::report::{Cause, CauseClass, CausePlace, LaunchDifference, LaunchPart, LaunchReport, Verdict};

/// The class of causes that a finding is; `None` if it explains no value.
pub(super) fn class(kind: Kind) -> Option<CauseClass> {
    match kind {
        Kind::Race => Some(CauseClass::Race),
        Kind::NotLanded | Kind::ProxyFence => Some(CauseClass::Stale),
        Kind::StillRead => Some(CauseClass::Race),
        Kind::Accumulator | Kind::RegisterTooEarly | Kind::LdsTooEarly | Kind::Hazard => {
            Some(CauseClass::Stale)
        }
        Kind::Deadlock => Some(CauseClass::Stuck),
        Kind::InactiveLane => Some(CauseClass::Undefined),
        Kind::OutOfBounds | Kind::Misaligned => Some(CauseClass::Address),
        _ if kind.check() == Check::Init => Some(CauseClass::Undefined),
        _ => None,
    }
}

/// A finding that explains what a walk found, and its side.
pub(super) struct ByCheck<'a> {
    side: usize,
    finding: &'a Finding,
    class: CauseClass,
}

/// Looks for a finding that explains the difference better than what the walk found.
pub(super) fn refine<'a>(
    walk: &Walk<'_>,
    findings: [&'a Findings; 2],
    found: &mut Found,
) -> Option<ByCheck<'a>> {
    let changes = &walk.code.changes;
    let one_change = !walk.code.same && changes.count() == 1;
    // Code that differs is the cause, and the finding follows from it, unless a barrier is all that differs:
    // the compiler then makes other code around it.
    let of_code = matches!(found.class, CauseClass::Operation | CauseClass::Address | CauseClass::Guard);
    let barrier = one_change && changes.synchronise;
    if of_code && found.rank == 0 && !barrier {
        return None;
    }
    // One change in the source, and not of a barrier: an error elsewhere follows from it.
    let follows = one_change && !barrier;
    let lines = [0, 1].map(|side| lines(walk, side, found));
    let weak = walk.code.same
        || barrier
        || matches!(found.class, CauseClass::Stale | CauseClass::Order | CauseClass::Undefined)
        || found.rank >= 2;
    let addressed = [0, 1].map(|side| addressed(walk, side, found));
    let mut best: Option<((bool, bool, bool), ByCheck<'a>)> = None;
    for side in [1, 0] {
        for finding in findings[side].list.iter().filter(|f| f.kind.grade() == Grade::Error) {
            let Some(class) = class(finding.kind) else { continue };
            if follows && !places(finding).any(|p| changes.touch(side, p)) {
                continue;
            }
            let on_way = places(finding).any(|p| lines[side].contains(&(p.function.as_str(), p.module_line)));
            let alone = !findings[1 - side].list.iter().any(|other| alike(changes, side, finding, other));
            if !(alone || weak) || !(on_way || alone && weak) {
                continue;
            }
            // Threads that access other places than they should can race there.
            let follows =
                places(finding).any(|p| addressed[side].contains(&(p.function.as_str(), p.module_line)));
            // What a barrier would order is also read before it is written.
            let quality = (!follows, on_way, class == CauseClass::Race);
            if best.as_ref().is_none_or(|(of_best, _)| quality > *of_best) {
                best = Some((quality, ByCheck { side, finding, class }));
            }
        }
    }
    let (_, mut check) = best?;
    if check.class == CauseClass::Undefined {
        // What is read too early is not written yet.
        if let Some(race) = race_of_read(&findings[check.side].list, check.finding) {
            (check.finding, check.class) = (race, CauseClass::Race);
        }
    }
    found.class = check.class;
    found.rank = 0;
    Some(check)
}

/// The race of the load that reads what nothing wrote (`undefined`) with a write.
fn race_of_read<'a>(findings: &'a [Finding], undefined: &'a Finding) -> Option<&'a Finding> {
    let line = |place: &'a Place| place.source.get(place.own()).map(|l| (l.file.as_str(), l.line));
    let load = line(undefined.sides.get(1)?.place.as_ref()?)?;
    let mut races = findings.iter().filter(|f| f.kind == Kind::Race);
    races.find(|f| places(f).any(|place| line(place) == Some(load)))
}

/// The places of a finding.
fn places(finding: &Finding) -> impl Iterator<Item = &Place> {
    finding.sides.iter().filter_map(|s| s.place.as_ref())
}

/// Whether a finding of a side is the same one as a finding of the other side. A place without a line can be
/// any.
fn alike(changes: &SourceChanges, side: usize, finding: &Finding, other: &Finding) -> bool {
    let same = |(x, y): (&&Place, &&Place)| match (x.source.first(), y.source.first()) {
        (Some(x), Some(y)) => changes.counterpart(side, &x.file, x.line) == Some(y.line),
        _ => true,
    };
    let (here, there): (Vec<&Place>, Vec<&Place>) = (places(finding).collect(), places(other).collect());
    // The schedule decides which access of a race comes first.
    let reversed = || finding.kind.check() == Check::Race && here.iter().zip(there.iter().rev()).all(same);
    finding.kind == other.kind
        && here.len() == there.len()
        && (here.iter().zip(&there).all(same) || reversed())
}

/// The functions and module lines of all instructions on the way to what was found.
fn lines<'a>(walk: &Walk<'a>, side: usize, found: &Found) -> Vec<(&'a str, u32)> {
    let flow = walk.flows[side];
    let chain = walk.chain(found.pair);
    let writer = |word: &Word| flow.writer(word).map(|w| w.at);
    let sources = chain.iter().flat_map(|p| {
        let from = match &p.sources[side] {
            Source::Result(at, n) => [Some(*at), flow.read_word(*at, *n).as_ref().and_then(writer)],
            Source::Memory(word) => [writer(word), None],
            _ => [None, None],
        };
        [Some(p.users[side])].into_iter().chain(from)
    });
    let other = found.other.filter(|(s, _)| *s == side).map(|(_, at)| at);
    let all = sources.chain([found.places[side], other]).flatten();
    all.filter_map(|at| flow.instruction(at))
        .map(|i| (i.place.function.as_str(), i.place.module_line))
        .collect()
}

/// The functions and module lines of the accesses on the way to what was found whose addresses differ.
fn addressed<'a>(walk: &Walk<'a>, side: usize, found: &Found) -> Vec<(&'a str, u32)> {
    let chain = walk.chain(found.pair);
    let users = chain.iter().filter(|p| p.context == Context::Address).map(|p| p.users[side]);
    users
        .filter_map(|at| walk.flows[side].instruction(at))
        .filter(|i| !i.addresses.is_empty())
        .map(|i| (i.place.function.as_str(), i.place.module_line))
        .collect()
}

/// A finding of one side in words.
pub(super) fn words(side: usize, finding: &Finding) -> String {
    format!("in {}: {}", super::walk::name(side), finding.what)
}

/// The place of an access that a finding names, with its thread.
pub(super) fn access_place(access: &Side) -> Option<CausePlace> {
    let mut place = place_of(access.place.as_ref()?);
    if let Some(threads) = access.threads {
        place.cta = [threads.cta.x, threads.cta.y, threads.cta.z];
        place.thread = [threads.first.x, threads.first.y, threads.first.z];
    }
    Some(place)
}

/// Puts a finding's words and places into a cause. A place on a line of the source that differs comes first.
pub(super) fn fill_in(cause: &mut Cause, check: ByCheck<'_>, changes: &SourceChanges) {
    let ByCheck { side, finding, class } = check;
    cause.class = class;
    cause.what = words(side, finding);
    let mut sides: Vec<_> = finding.sides.iter().collect();
    if class == CauseClass::Undefined && sides.len() > 1 {
        // The load of what nothing wrote comes first, then what uses the value.
        sides.swap(0, 1);
    }
    sides.sort_by_key(|s| !s.place.as_ref().is_some_and(|p| changes.touch(side, p)));
    let mut places = sides.into_iter().map(access_place);
    cause.places = [None, None];
    cause.places[side] = places.next().flatten();
    cause.other = places.next().flatten();
    if let Some(help) = &finding.help {
        cause.advice.clone_from(help);
    }
}

/// The errors that only one side has, with that side.
pub(super) fn errors_alone<'a>(
    findings: [&'a Findings; 2],
    changes: &'a SourceChanges,
) -> impl Iterator<Item = (usize, &'a Finding)> {
    [1, 0].into_iter().flat_map(move |side| {
        let errors = findings[side].list.iter().filter(|f| f.kind.grade() == Grade::Error);
        let alone =
            errors.filter(move |f| !findings[1 - side].list.iter().any(|g| alike(changes, side, f, g)));
        alone.map(move |finding| (side, finding))
    })
}

/// The first error behind which threads do what the schedule left to chance, with its class.
pub(super) fn error_of_chance(findings: &Findings) -> Option<(&Finding, CauseClass)> {
    let chance = [CauseClass::Race, CauseClass::Stale, CauseClass::Undefined];
    let mut errors = findings.list.iter().filter(|f| f.kind.grade() == Grade::Error);
    errors.find_map(|f| Some((f, class(f.kind).filter(|class| chance.contains(class))?)))
}

/// Adds the cause of a launch that differs from itself, if nothing else explains it: an error that a check
/// found in it, by which threads read what the schedule left.
pub fn add_error_of_both(launch: &mut LaunchReport, findings: &Findings) {
    if launch.verdict != Verdict::Differs || !launch.causes.is_empty() {
        return;
    }
    let Some((finding, class)) = error_of_chance(findings) else { return };
    let mut cause = Cause { advice: class.advice().to_owned(), ..Cause::default() };
    fill_in(&mut cause, ByCheck { side: 0, finding, class }, &SourceChanges::default());
    cause.what = format!("in both, which are one launch: {}", finding.what);
    cause.places[1] = cause.places[0].clone();
    launch.causes.push(cause);
}

/// Errors of one side that are listed as differences.
const LISTED: usize = 4;

/// Whether an error decides the verdict although all outputs agree. How far a compiler optimised can change
/// whether a value is written, or a product done, before it is used, without an effect on any output.
/// `edited`: whether the source differs, so that the compiler is not all that does.
fn decides(kind: Kind, edited: bool) -> bool {
    edited || kind.check() != Check::Init && kind != Kind::Accumulator
}

/// Adds the errors that checks found on one side alone: as differences, and as causes where nothing else was
/// found. If all outputs agree, some kinds of error are only notes. `changes` says what differs in the
/// source. Returns whether there are any errors of one side alone. The report's verdict is computed again.
pub fn add_check_findings(
    launch: &mut LaunchReport,
    findings: [&Findings; 2],
    changes: &SourceChanges,
) -> bool {
    let mut alone: Vec<(usize, &Finding)> = errors_alone(findings, changes).collect();
    let any = !alone.is_empty();
    if launch.outputs_agree() {
        let (decisive, others): (Vec<_>, Vec<_>) =
            alone.into_iter().partition(|(_, f)| decides(f.kind, changes.count() > 0));
        alone = decisive;
        launch.notes.extend(others.first().map(|(side, f)| {
            format!("the checks found in {} alone: {} ({})", super::walk::name(*side), f.what, f.kind.name())
        }));
    }
    for (side, finding) in alone.iter().take(LISTED) {
        let mut values = [String::from("none"), String::from("none")];
        values[*side].clone_from(&finding.what);
        let name = finding.kind.name().to_owned();
        launch.differences.push(LaunchDifference { what: LaunchPart::Check, name, values });
    }
    if launch.causes.is_empty() {
        let explains = alone.iter().find_map(|(side, f)| Some((*side, *f, class(f.kind)?)));
        if let Some((side, finding, class)) = explains {
            let mut cause = Cause { advice: class.advice().to_owned(), ..Cause::default() };
            fill_in(&mut cause, ByCheck { side, finding, class }, changes);
            super::relocate::to_only_change(changes, &mut cause);
            launch.causes.push(cause);
        }
    }
    launch.conclude();
    any
}

#[cfg(test)]
mod tests {
    use prlx_trace::check::SourceLine;

    use super::*;

    #[test]
    fn the_same_error_on_lines_that_moved_is_on_both_sides() {
        let place = |line: Option<u32>| {
            let line = line.map(|line| SourceLine { file: "k.cu".into(), line, ..Default::default() });
            let place = Place { source: line.into_iter().collect(), ..Default::default() };
            Side { place: Some(place), ..Default::default() }
        };
        let race = |lines: [Option<u32>; 2]| {
            let finding = Finding {
                kind: Kind::Race,
                what: String::new(),
                sides: lines.map(place).to_vec(),
                help: None,
                visits: 1,
                lanes: 1,
            };
            Findings { list: vec![finding], ..Default::default() }
        };
        let text = |text: &str| vec![("k.cu".to_owned(), text.to_owned())];
        let files = [text("a\nb\nc\n"), text("// new\na\nb\nc\n")];
        let changes = SourceChanges::of_files(files.each_ref());
        let alone = |a, b| errors_alone([&race(a), &race(b)], &changes).count();
        assert_eq!(alone([Some(1), Some(3)], [Some(2), Some(4)]), 0);
        assert_eq!(alone([Some(1), Some(3)], [Some(4), Some(2)]), 0);
        assert_eq!(alone([Some(1), Some(3)], [Some(1), Some(3)]), 2);
        // Library code has no line in one build, and one in the other.
        assert_eq!(alone([Some(1), Some(3)], [None, Some(4)]), 0);
        assert_eq!(alone([Some(1), Some(3)], [None, Some(3)]), 2);
    }

    #[test]
    fn a_race_of_both_sides_is_the_cause_of_a_launch_that_differs_from_itself() {
        let side = |line: u32| {
            let source = vec![SourceLine { file: "k.cu".into(), line, ..Default::default() }];
            Side { place: Some(Place { source, ..Default::default() }), ..Default::default() }
        };
        let finding = |kind: Kind| Finding {
            kind,
            what: "two threads".into(),
            sides: vec![side(14), side(16)],
            help: None,
            visits: 1,
            lanes: 1,
        };
        let findings = |kind: Kind| Findings { list: vec![finding(kind)], ..Default::default() };
        let explained = |verdict: Verdict, kind: Kind| {
            let mut launch = LaunchReport { verdict, ..Default::default() };
            add_error_of_both(&mut launch, &findings(kind));
            launch.causes
        };
        let causes = explained(Verdict::Differs, Kind::Race);
        let lines = causes[0].places.each_ref().map(|p| p.as_ref()?.location.as_ref().map(|l| l.line));
        assert_eq!((causes.len(), causes[0].class, lines), (1, CauseClass::Race, [Some(14); 2]));
        // What no schedule decides explains nothing, and nothing is to be explained where all agrees.
        assert!(explained(Verdict::Differs, Kind::OutOfBounds).is_empty());
        assert!(explained(Verdict::Same, Kind::Race).is_empty());
    }
}
