//! Reads any bytes as marker data in device memory: tracks, a recording that contains them, and its timeline.
//!
//! # Invariants
//! Reading never panics. The number of tracks is proportional to the bytes. Written tracks read back as equal
//! ones.

use prlx_trace::device::TrackHead;
use prlx_trace::device::tracks::{APART, Form, Group, LOGS, Layout, SLOT, Shape, Spanned, wanted};
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{Function, Module};
use prlx_trace::launch::{Host, Launch};
use prlx_trace::mark::{Mark, MarkKind, Marks, Via};
use prlx_trace::{Dim3, FuncId, Recording, Trace, WarpSize};

use super::timeline_read::holds;

/// Runs the target on one input. The first byte says how large regions are, whether each lane has one, and
/// what they hold.
pub fn run(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else { return };
    let (log, lanes) = (LOGS.0 + u32::from(first >> 1) % 4, first & 1 != 0);
    let entries = u32::from(first >> 4);
    let form = match (first & 8 == 0, first & 0x80 == 0) {
        (true, true) => Form::Records,
        (true, false) => Form::Spans,
        (false, _) => Form::Ring { entries },
    };
    let marks: Vec<Mark> = (0..24).map(mark).collect();
    let shapes = marks
        .iter()
        .enumerate()
        .map(|(i, m)| Shape { words: (i % 3) as u32 % 2, group: group(m, i) })
        .collect();
    let span = |i: u32| Spanned { begin: i, end: (i % 5 != 4).then_some(i + 1), alone: i.is_multiple_of(2) };
    let spans = (0..23).map(span).collect();
    let layout = Layout { form, lanes, shapes, spans, apart: APART, ..Layout::default() };
    let log = layout.log().unwrap_or(log);
    let tracks = layout.read(FuncId(0), 0, log, bytes);
    assert!(tracks.len() <= bytes.len() >> log);
    let (room, longest) = ((1u64 << log) - TrackHead::SIZE as u64, wanted(log, bytes));
    for track in &tracks {
        let records = track.records.0.len() as u64;
        assert!(track.anchors.0.len() as u64 * 2 * SLOT <= room, "{track:?}");
        // A wait stands for groups that were committed, each once.
        let ring = track.last;
        assert!(records <= 2 * room / SLOT && (ring || track.lost <= longest / SLOT), "{track:?}");
        assert!(ring || track.lost > 0 || records * SLOT <= longest.saturating_mul(2));
    }
    let module = Module { functions: vec![Function::default()], marks, ..Module::default() };
    let side = |x| Dim3 { x, y: 1, z: 1 };
    // Times of the host are any, too.
    let word =
        |i: usize| bytes.get(8 * i..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b));
    let host = Host {
        thread: 0,
        called: (first & 2 == 0).then(|| (Nanos(word(1)), Nanos(word(2)))),
        seen: (first & 4 == 0).then(|| Nanos(word(3))),
        waited: Some((Nanos(word(4)), Nanos(word(5)))),
        held: Nanos(word(6)),
    };
    let launch = Launch {
        grid: side(8),
        block: side(64),
        warp_size: WarpSize::W32,
        start: Nanos(word(0)),
        host: Some(host),
        ..Launch::default()
    };
    let marks = vec![Marks { tracks, ..Marks::default() }];
    let launches = vec![Recording { launch, ..Recording::default() }];
    let trace = Trace { modules: vec![module], launches, marks, ..Trace::default() };
    let mut file = Vec::new();
    trace.write(&mut file).expect("memory takes everything");
    let read = Trace::read(&file).expect("what was written is read");
    assert_eq!(read.marks, trace.marks);
    holds(&prlx_timeline::timeline(&read, |_| 2048));
}

fn mark(i: usize) -> Mark {
    let name = ["load", "mma", "store"][i / 8].to_owned();
    let kind = MarkKind::ALL[i % MarkKind::ALL.len()];
    Mark { name, kind, via: Via::ALL[i % Via::ALL.len()], ..Mark::default() }
}

/// What of a queue it is, if it is.
fn group(mark: &Mark, i: usize) -> Option<Group> {
    let queue = (i % 2) as u8;
    match mark.kind {
        MarkKind::Issue if i > 7 => Some(Group::Commit { queue }),
        MarkKind::Complete if i > 7 => Some(Group::Wait { queue, left: 1 }),
        _ => None,
    }
}
