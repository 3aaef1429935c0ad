//! Operands recorded in a second run: which visits to record, and how they appear in findings.

use crate::toy::{Hashed, S, module, trace};
use prlx_analyze::{DiffOptions, Report, attach_operands, diff, operand_window};
use prlx_trace::kernel::*;
use prlx_trace::launch::*;
use prlx_trace::{SiteId, Streams, Trace, WarpId};

/// Two inverted decisions in one warp: lane 2 at the branch, lane 9 at the select.
fn parted() -> (Trace, Trace, Report) {
    let toy = vec![vec![S::Loop(vec![S::If(vec![S::Store], vec![]), S::Select])]];
    let mut m = module(&toy);
    // A load that both decisions' slices name.
    let loc = m.sites[0].loc;
    let text = "ld.global.u32 %r1, [%rd1];".to_string();
    m.sites.push(Site { loc, class: SiteClass::Load, text: text.clone(), ..Site::default() });
    for s in &mut m.sites[..3] {
        s.slice.iter_mut().filter(|n| n.kind == NodeKind::Load).for_each(|n| n.loc = loc);
    }
    let run = |edit: bool| {
        let warp = crate::toy::warp(&toy, 0, |l| {
            let mut h = Hashed::new(u64::from(l.0), &[8]);
            match l.0 {
                2 if edit => h.flips.push((SiteId(0), vec![3])),
                9 if edit => h.flips.push((SiteId(2), vec![5])),
                _ => {}
            }
            h
        });
        trace(m.clone(), vec![warp])
    };
    let (a, b) = (run(false), run(true));
    let r = diff(&a, &b, &DiffOptions::default()).unwrap();
    (a, b, r)
}

/// Records every visit in the window: the load, then the decisions. The load gives `base + visit`.
fn record(t: &Trace, w: &Window, base: u64) -> Trace {
    let (mut records, mut ends) = (Vec::new(), Vec::new());
    for lane in 0..32u64 {
        for visit in w.visits.0..w.visits.1 {
            let record = |site: &SiteId| OperandRecord {
                site: *site,
                visit: visit as u32,
                values: [base + visit + if site.0 < 4 { lane } else { 0 }, 7],
            };
            records.extend(w.sites.iter().rev().map(record));
        }
        ends.push(records.len() as u32);
    }
    let mut t = t.clone();
    t.launches[0].launch.level = Level::Operands;
    t.launches[0].launch.window = Some(w.clone());
    let lanes = Lanes::Operands { records, ends };
    t.launches[0].streams =
        Streams::new(vec![WarpStream { warp: WarpId(0), lanes, ..WarpStream::default() }]);
    t
}

#[test]
fn each_window_speaks_for_its_finding_alone() {
    let (a, b, mut r) = parted();
    let windows: Vec<_> =
        r.launches[0].findings.iter().map(|f| [0, 1].map(|s| operand_window(f, s).unwrap())).collect();
    assert_eq!(windows.len(), 2);
    assert_eq!(windows[0][0].sites, [SiteId(0), SiteId(4)]);
    assert_eq!((windows[0][0].warps, windows[0][0].visits, windows[1][0].visits), ((0, 1), (0, 4), (0, 6)));
    let [wa, wb] = &windows[0];
    attach_operands(&mut r, &record(&a, wa, 100), &record(&b, wb, 200)).unwrap();
    let [first, second] = &r.launches[0].findings[..] else { panic!() };
    let ops = first.operands.as_ref().unwrap();
    assert_eq!(ops.rows.len(), 32);
    // The diverging visit is the fourth.
    let lane2 = ops.rows.iter().find(|x| x.lane == 2).unwrap();
    assert_eq!((lane2.differs, lane2.cells[0].bits), (true, [Some(105), Some(205)]));
    assert_eq!((lane2.cells[0].differs, lane2.cells[1].differs), (true, false));
    let load = first.slice.iter().find(|n| n.kind == NodeKind::Load).unwrap();
    assert_eq!((load.values, load.same, load.first), ([Some(103), Some(203)], Some(false), true));
    // The other finding's load was recorded too, but not for its visit: it says nothing.
    assert!(second.operands.is_none());
    assert!(second.slice.iter().all(|n| n.same.is_none()));
    let [wa, wb] = &windows[1];
    attach_operands(&mut r, &record(&a, wa, 300), &record(&b, wb, 300)).unwrap();
    let [first, second] = &r.launches[0].findings[..] else { panic!() };
    assert_eq!(
        first.operands.as_ref().unwrap().rows.iter().find(|x| x.lane == 2).unwrap().cells[0].bits[0],
        Some(105)
    );
    assert_eq!(second.slice.iter().find(|n| n.kind == NodeKind::Load).unwrap().same, Some(true));
    assert!(second.slice.iter().all(|n| !n.first));
}

#[test]
fn one_side_alone() {
    let (a, _, mut r) = parted();
    let w = operand_window(&r.launches[0].findings[0], 0).unwrap();
    attach_operands(&mut r, &record(&a, &w, 100), &Trace::default()).unwrap();
    let f = &r.launches[0].findings[0];
    assert_eq!(f.operands.as_ref().unwrap().rows[2].cells[0].bits, [Some(105), None]);
    assert!(f.slice.iter().all(|n| n.same.is_none() && !n.first));
}

#[test]
fn damaged_records_are_an_error() {
    let (a, b, mut r) = parted();
    let [wa, wb] = [0, 1].map(|s| operand_window(&r.launches[0].findings[0], s).unwrap());
    let mut bad = record(&a, &wa, 0);
    let mut warps = bad.launches[0].streams.frame(0).unwrap();
    let Lanes::Operands { ends, .. } = &mut warps[0].lanes else { panic!() };
    ends[3] = 1 << 30;
    // Streams that are packed refuse ends beyond their records; in memory they may not.
    let streams = std::panic::catch_unwind(|| Streams::new(warps));
    if let Ok(streams) = streams {
        bad.launches[0].streams = streams;
        let _ = attach_operands(&mut r, &bad, &record(&b, &wb, 0));
    }
}
