//! Compares the decoder with an independent walk of a toy program, and feeds it damaged streams.

use crate::toy::{Hashed, S, live, module, stream, trace};
use prlx_analyze::{
    CheckedModule, DecodeLimits, DecodeOutcome, Decoder, PathItem, complete_events, lane_visits,
};
use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::*;
use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{Lane, LaneMask, SiteId, Slot};
use proptest::prelude::*;

fn everything() -> Vec<Vec<S>> {
    vec![
        vec![
            S::Store,
            S::Computed(17),
            S::Counted(vec![
                S::If(vec![S::Store, S::Call(1)], vec![S::Select]),
                S::Loop(vec![S::Guard, S::Break, S::Counted(vec![S::Select])]),
                S::Store,
            ]),
            S::Leave,
            S::Loop(vec![S::Leave, S::Store]),
            S::Call(1),
        ],
        vec![S::Guard, S::Loop(vec![S::Select, S::Leave]), S::Store],
    ]
}

#[test]
fn a_lane_comes_back_as_it_was() {
    let toy = everything();
    let m = module(&toy);
    for seed in 0..200 {
        let shape = [seed % 7 + 1, seed % 5 + 1, seed % 3 + 1];
        let lanes: Vec<_> = (0..32).map(|l| live(&toy, l, &mut Hashed::new(seed * 32 + l, &shape))).collect();
        let t = trace(m.clone(), vec![stream(0, &lanes)]);
        let warp = &t.launches[0].streams.frame(0).unwrap()[0];
        for l in 0..32 {
            let got = lane_visits(&m, &t.launches[0].launch, warp, Lane(l)).unwrap();
            assert!(got.complete);
            assert_eq!(got.visits, lanes[usize::from(l)].visits);
        }
    }
}

#[test]
fn loops_calls_and_joins_balance() {
    let toy = everything();
    let m = module(&toy);
    let program = CheckedModule::new(&m).unwrap();
    let lived = live(&toy, 0, &mut Hashed::new(3, &[4, 3, 2]));
    let t = trace(m.clone(), vec![stream(0, &[lived])]);
    let warp = &t.launches[0].streams.frame(0).unwrap()[0];
    let mut d =
        Decoder::new(&program, &t.launches[0].launch, warp, Lane(0), DecodeLimits::default()).unwrap();
    let mut open = Vec::new();
    let mut trips = 0;
    while let Some(item) = d.next().unwrap() {
        match item {
            PathItem::Enter(_) | PathItem::Call(_) => open.push(item),
            PathItem::Trip(l) => {
                trips += 1;
                assert_eq!(open.last(), Some(&PathItem::Enter(l)));
            }
            PathItem::Leave(l) => assert_eq!(open.pop(), Some(PathItem::Enter(l))),
            PathItem::Return => assert!(matches!(open.pop(), Some(PathItem::Call(_)))),
            _ => {}
        }
    }
    assert!(trips > 0);
    assert_eq!(d.outcome(), DecodeOutcome::Ended);
}

#[test]
fn long_counts_have_two_words() {
    let toy = vec![vec![S::Counted(vec![])]];
    let m = module(&toy);
    let count = (1u64 << 31) + 5;
    let lived = crate::toy::Lived { counts: vec![count], ..Default::default() };
    assert_eq!(lived.words().len(), 2);
    let t = trace(m.clone(), vec![stream(0, &[lived])]);
    let warp = &t.launches[0].streams.frame(0).unwrap()[0];
    let program = CheckedModule::new(&m).unwrap();
    // Not walked to its end: 2^31 trips. The budget says so.
    let limits = DecodeLimits { steps: 1000, ..DecodeLimits::default() };
    let mut d = Decoder::new(&program, &t.launches[0].launch, warp, Lane(0), limits).unwrap();
    let end = loop {
        match d.next() {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    let e = end.unwrap_err();
    assert!(e.limit && e.what.contains("more steps"), "{e}");
}

#[test]
fn what_was_not_recorded_hides_what_depends_on_it() {
    let toy = vec![vec![S::Guard, S::Select, S::If(vec![S::Store], vec![])]];
    let mut m = module(&toy);
    // The guard's decision is left out: neither it nor its store are seen, the rest is.
    m.sites[0].source = Source::None;
    m.sites[0].skipped = Some("filtered".into());
    let mut lived = live(&toy, 0, &mut Hashed::new(1, &[]));
    lived.bits.remove(0);
    let t = trace(m.clone(), vec![stream(0, &[lived.clone()])]);
    let warp = &t.launches[0].streams.frame(0).unwrap()[0];
    let got = lane_visits(&m, &t.launches[0].launch, warp, Lane(0)).unwrap();
    let want: Vec<_> = lived.visits.into_iter().filter(|(s, _)| s.0 > 1).collect();
    assert_eq!((got.visits, got.complete), (want, true));
    let hidden = CheckedModule::new(&m).unwrap().hidden(prlx_trace::FuncId(0));
    assert_eq!(hidden.iter().map(|h| h.0).collect::<Vec<_>>(), [SiteId(0), SiteId(1)]);
    // A branch by what was left out can't be followed.
    m.sites[3].source = Source::None;
    assert!(
        lane_visits(&m, &t.launches[0].launch, warp, Lane(0)).unwrap_err().what.contains("cannot be decoded")
    );
}

#[test]
fn endless_programs_end() {
    let toy = vec![vec![S::Store, S::Loop(vec![S::Store]), S::Call(1)], vec![S::Store]];
    let mut m = module(&toy);
    let t = trace(m.clone(), vec![stream(0, &[live(&toy, 0, &mut Hashed::new(1, &[3]))])]);
    let warp = &t.launches[0].streams.frame(0).unwrap()[0];
    // A function that calls itself.
    m.functions[1].blocks[0].steps.push(Step::Call {
        function: prlx_trace::FuncId(1),
        guard: None,
        loc: None,
    });
    assert!(
        lane_visits(&m, &t.launches[0].launch, warp, Lane(0)).unwrap_err().what.contains("nest too deep")
    );
    // A loop that consumes nothing.
    m.functions[0].blocks[0].end = End::Jump(prlx_trace::BlockId(0));
    let program = CheckedModule::new(&m).unwrap();
    let limits = DecodeLimits { steps: 2_000, ..DecodeLimits::default() };
    let mut d = Decoder::new(&program, &t.launches[0].launch, warp, Lane(0), limits).unwrap();
    while let Ok(Some(_)) = d.next() {}
    assert!(d.next().is_err());
}

#[test]
fn ill_formed_modules_are_refused() {
    let good = module(&everything());
    assert!(CheckedModule::new(&good).is_ok());
    type Break = Box<dyn Fn(&mut Module)>;
    let broken: Vec<Break> = vec![
        Box::new(|m| m.functions[0].slots = 0),
        Box::new(|m| m.functions[0].slots = u32::MAX),
        Box::new(|m| m.functions[0].blocks[0].end = End::Jump(prlx_trace::BlockId(999))),
        Box::new(|m| m.functions[0].loops[0].parent = Some(prlx_trace::LoopId(0))),
        Box::new(|m| m.functions[0].loops[0].header = prlx_trace::BlockId(999)),
        Box::new(|m| m.functions[0].blocks[0].in_loop = Some(prlx_trace::LoopId(99))),
        Box::new(|m| m.sites.truncate(3)),
        Box::new(|m| m.functions.truncate(1)),
        Box::new(|m| m.sites[1].source = Source::Bits(31)),
        Box::new(|m| {
            let (to, ty, args) = (Slot(0), Scalar::F32, vec![Arg::Const(0); 2]);
            m.functions[0].blocks[0].steps.push(Step::Let { to, op: Alu::Add, ty, args, guard: None });
        }),
    ];
    for (i, b) in broken.iter().enumerate() {
        let mut m = good.clone();
        b(&mut m);
        assert!(CheckedModule::new(&m).is_err(), "{i}");
    }
}

proptest! {
    /// A truncated stream gives a truncated lane whose visits are a prefix, never an ended lane.
    #[test]
    fn cut_streams_are_truncated(seed in 0u64..500, keep in 0.0f64..1.0) {
        let toy = everything();
        let m = module(&toy);
        let lived = live(&toy, 0, &mut Hashed::new(seed, &[3, 3, 2]));
        let mut cut = lived.clone();
        cut.bits.truncate((cut.bits.len() as f64 * keep) as usize);
        let t = trace(m.clone(), vec![stream(0, &[cut.clone()])]);
        let warp = &t.launches[0].streams.frame(0).unwrap()[0];
        let got = lane_visits(&m, &t.launches[0].launch, warp, Lane(0)).unwrap();
        prop_assert_eq!(got.complete, cut.bits.len() == lived.bits.len());
        prop_assert!(lived.visits.starts_with(&got.visits));
    }

    /// Random words never cause a panic or endless decoding.
    #[test]
    fn random_words_do_not_panic(
        words in prop::collection::vec(any::<u32>(), 0..40),
        ends in prop::collection::vec(0u32..50, 0..34),
    ) {
        let toy = everything();
        let m = module(&toy);
        let mut s = stream(0, &[]);
        s.lanes = Lanes::Path { words, ends };
        let t = trace(m.clone(), vec![s]);
        let warp = &t.launches[0].streams.frame(0).unwrap()[0];
        let program = CheckedModule::new(&m).unwrap();
        for l in [0, 1, 31, 32, 63, 255] {
            let limits = DecodeLimits { steps: 100_000, ..DecodeLimits::default() };
            if let Ok(mut d) = Decoder::new(&program, &t.launches[0].launch, warp, Lane(l), limits) {
                while let Ok(Some(_)) = d.next() {}
            }
        }
    }

    /// For any events of a warp: recorded events other than counts stay in order, and the completed stream
    /// decodes or fails.
    #[test]
    fn random_events_stay(
        events in prop::collection::vec((any::<u32>(), any::<u32>(), 0u64..100), 0..40),
        counts in any::<bool>(),
    ) {
        let mut m = module(&everything());
        for site in &mut m.sites {
            match &mut site.source {
                Source::Trips { bits, .. } if counts => *bits = COUNT_EVENT,
                _ => {}
            }
        }
        let sites = m.sites.len() as u32;
        let event = |&(site, mask, value): &(u32, u32, u64)| {
            Event { site: SiteId(site % sites), mask: LaneMask(mask.into()), value, clock: 0 }
        };
        let mut s = stream(0, &[]);
        s.lanes = Lanes::Events(events.iter().map(event).collect());
        let t = trace(m.clone(), vec![s]);
        let (launch, warp) = (&t.launches[0].launch, &t.launches[0].streams.frame(0).unwrap()[0]);
        let program = CheckedModule::new(&m).unwrap();
        let limits = DecodeLimits { steps: 2_000, ..DecodeLimits::default() };
        let all = complete_events(&program, launch, warp, limits);
        let Lanes::Events(made) = &all.lanes else { panic!("no events") };
        let mut rest = made.iter();
        for e in events.iter().map(event) {
            if !matches!(m.sites[e.site.index()].source, Source::Trips { bits: COUNT_EVENT, .. }) {
                prop_assert!(rest.any(|x| *x == e), "{:?} is lost", e);
            }
        }
        for lane in launch.lanes(warp.warp).lanes() {
            let mut d = Decoder::new(&program, launch, &all, lane, limits).unwrap().with_complete_stream();
            while let Ok(Some(_)) = d.next() {}
        }
    }
}
