//! Compares path views with the decoder: the steps shown of each side are exactly its visits, in order.

use crate::toy::{Hashed, S, live, module, stream, trace};
use prlx_analyze::view::{PathView, PathViewOptions, StepMatch};
use prlx_analyze::{DiffOptions, diff, lane_visits, path_view};
use prlx_trace::{Lane, SiteId, Trace, WarpId};
use proptest::prelude::*;

fn toy() -> Vec<Vec<S>> {
    vec![
        vec![
            S::Store,
            S::Loop(vec![
                S::If(vec![S::Store], vec![S::Select]),
                S::Loop(vec![S::Guard]),
                S::Call(1),
                S::Leave,
            ]),
            S::If(vec![S::Store], vec![S::Store]),
        ],
        vec![S::Loop(vec![S::Select]), S::Store],
    ]
}

/// Two lanes of a warp, of which `edit` changes the second.
fn pair(toy: &[Vec<S>], seed: u64, shape: &[u64], edit: impl Fn(&mut Hashed)) -> [Trace; 2] {
    let make = |edited: bool| {
        let lane = |l: u64| {
            let mut h = Hashed::new(seed + l, shape);
            if edited && l == 1 {
                edit(&mut h);
            }
            live(toy, 0, &mut h)
        };
        trace(module(toy), vec![stream(0, &[lane(0), lane(1)])])
    };
    [make(false), make(true)]
}

fn first_look(traces: &[Trace; 2], options: &PathViewOptions) -> Option<PathView> {
    let [a, b] = traces;
    let report = diff(a, b, &DiffOptions::default()).unwrap();
    let (launch, finding) = report.first()?;
    Some(path_view([a, b], launch, finding, options).unwrap().expect("streams"))
}

/// Options under which nothing is left out.
fn all() -> PathViewOptions {
    PathViewOptions { before: usize::MAX, after: usize::MAX, columns: 64, ..PathViewOptions::default() }
}

fn visits(t: &Trace, lane: u8) -> Vec<(SiteId, u64)> {
    let r = &t.launches[0];
    let warp = r.streams.warp(WarpId(0)).unwrap().unwrap();
    lane_visits(&t.modules[0], &r.launch, &warp, Lane(lane)).unwrap().visits
}

fn shown(l: &PathView, side: usize) -> Vec<(SiteId, u64)> {
    let site = |i: u64| l.sites[side][i as usize].id;
    l.steps.iter().filter_map(|s| Some((site(s.site[side]?), s.value[side]?))).collect()
}

fn check(traces: &[Trace; 2]) -> Result<(), TestCaseError> {
    let Some(l) = first_look(traces, &all()) else { return Ok(()) };
    prop_assert_eq!((l.before, l.after), (0, 0));
    for (side, trace) in traces.iter().enumerate() {
        prop_assert_eq!(shown(&l, side), visits(trace, l.lane));
        for step in &l.steps {
            let only = [StepMatch::A, StepMatch::B].iter().position(|m| *m == step.mark);
            prop_assert_eq!(step.site[side].is_some(), only.is_none_or(|o| o == side));
        }
        // The loops' sums: what lies in the kernel's own loops, and trips that begin.
        let inside = l.steps.iter().filter(|s| s.site[side].is_some() && !s.within.is_empty()).count() as u64;
        let sums: u64 = l.nest.iter().filter(|n| n.parent.is_none()).map(|n| n.visits[side]).sum();
        prop_assert_eq!(inside, sums);
    }
    let differ = |s: &&prlx_analyze::view::AlignedStep| s.mark != StepMatch::Same;
    let row = &l.lanes[usize::from(l.lane)];
    prop_assert_eq!(row.steps, l.steps.len() as u64);
    prop_assert_eq!(row.parts, l.steps.iter().position(|s| differ(&s)).map(|p| p as u64));
    // Every cell says what is in it.
    for (cell, steps) in row.cells.chars().zip(l.steps.chunks(l.per_cell as usize)) {
        let marks: std::collections::BTreeSet<char> =
            steps.iter().map(|s| s.mark.letter()).filter(|c| *c != '.').collect();
        let want = match marks.len() {
            0 => '.',
            1 => *marks.first().unwrap(),
            _ => '#',
        };
        prop_assert_eq!(cell, want);
    }
    prop_assert!(row.cells.len() <= 64);
    prop_assert_eq!(row.cells.len() as u64, row.steps.div_ceil(l.per_cell));
    // The lane that was not touched.
    let other = &l.lanes[usize::from(1 - l.lane)];
    prop_assert!(other.cells.chars().all(|c| c == '.') && other.parts.is_none());
    Ok(())
}

proptest! {
    #[test]
    fn steps_are_the_visits(
        seed in 0u64..1000,
        // More than can be dropped: a loop has a trip.
        trips in 5u64..12,
        edits in prop::collection::vec((0u64..12, 0u8..5), 1..5),
    ) {
        check(&pair(&toy(), seed, &[trips, 3], |h| {
            for (trip, what) in &edits {
                match what {
                    0 => h.flips.push((SiteId(1), vec![*trip])),
                    1 => h.flips.push((SiteId(4), vec![*trip, 1])),
                    2 => h.adds.push((SiteId(6), vec![*trip], 2)),
                    3 => h.flips.push((SiteId(7), vec![*trip])),
                    _ => h.drops.push((SiteId(8), vec![], *trip)),
                }
            }
        }))?;
    }
}

#[test]
fn a_window_is_cut_around_the_finding() {
    let toy =
        [vec![S::Loop(vec![S::Store, S::If(vec![S::Store], vec![S::Select]), S::Loop(vec![S::Guard])])]];
    let traces = pair(&toy, 3, &[400, 3], |h| h.flips.push((SiteId(4), vec![1, 1])));
    let whole = first_look(&traces, &all()).expect("they differ");
    let some = first_look(&traces, &PathViewOptions { before: 3, after: 4, ..all() }).expect("they differ");
    let at = whole.at.expect("the finding's step") as usize;
    assert_eq!(whole.steps[at].mark, StepMatch::Differs);
    assert_eq!((some.at, some.before, some.steps.len()), (Some(3), at as u64 - 3, 7));
    assert_eq!(some.before + some.steps.len() as u64 + some.after, whole.steps.len() as u64);
    let marks = |s: &[prlx_analyze::view::AlignedStep]| {
        s.iter().map(|s| (s.mark, s.visit, s.within.clone())).collect::<Vec<_>>()
    };
    assert_eq!(marks(&some.steps), marks(&whole.steps[at - 3..at + 4]));
    assert_eq!(some.nest, whole.nest);
}
