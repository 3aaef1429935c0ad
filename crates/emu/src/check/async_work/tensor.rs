//! Tracks the instructions on tensor memory: the shared memory and the tensor memory that they use, and what
//! completes them (PTX ISA, Memory Consistency Model for 5th generation of TensorCore operations).
//!
//! `tcgen05.mma` and `.cp` are complete when a thread has seen the phase of an mbarrier that a later
//! `tcgen05.commit` of the same thread signals. `tcgen05.ld` and `.st` are complete after `tcgen05.wait` of
//! the same warp.

use super::ops::{AsyncOp, AsyncOps, Span, WaitGroup};
use super::report;
use crate::check::accesses::AccessKind;
use crate::check::findings::{FindingLog, WarpStep};
use crate::code::{AddrSpace, TensorProduct, window};
use crate::code::{TensorA, TensorFragment, TensorOp, TensorShape, TensorWarpOp};
use crate::copies::bulk::targets;
use crate::copies::mbarrier::MbarrierState;
use crate::exec::cta_state::CtaState;
use crate::exec::grid_shape;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::matrix::product::Matrix;
use crate::matrix::tensor_core::ranks;
use crate::matrix::tensor_memory::address;
use crate::matrix::tensor_state::{COLUMNS, Cell, ProductOperands, ROWS, TensorWorkKind};
use crate::mem::access::{self, each};

/// Lanes of tensor memory that share a mark.
const GROUP: u32 = 16;

/// The span of some columns of the lanes from `lane` on.
fn span(cta: u64, lane: u32, column: u32, columns: u32) -> Span {
    Span::Tensor { cta, at: u64::from(lane / GROUP * COLUMNS + column), cells: columns.into() }
}

/// The spans that a load or store covers.
fn fragment_spans(warp: &Warp, cta: u64, f: &TensorFragment) -> Vec<Span> {
    let start = Cell::new(address(&warp.planes, f.at, 0));
    let width = if f.packed { 2 } else { 1 };
    let count = f.planes.len() as u32;
    let columns = width
        * match f.shape {
            TensorShape::Lanes32 | TensorShape::Split(_) => count,
            TensorShape::Wide64 | TensorShape::Wide128 | TensorShape::Wide256 => 2 * count,
        };
    let first = span(cta, start.lane, start.column, columns);
    match f.shape {
        TensorShape::Lanes32 => vec![first, span(cta, start.lane + GROUP, start.column, columns)],
        TensorShape::Split(by) => vec![first, span(cta, start.lane, start.column + by * width, columns)],
        _ => vec![first],
    }
}

impl AsyncOps {
    /// A warp runs an instruction on tensor memory as a whole.
    pub fn tensor_warp_step(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        op: &TensorWarpOp,
        here: WarpStep,
    ) {
        match op {
            TensorWarpOp::Load(f) => {
                let spans = fragment_spans(warp, here.cta, f);
                self.check_tensor(launch, log, &spans, AccessKind::Read, here, |_| true);
                self.track(AsyncOp::new(here, Vec::new(), spans, WaitGroup::TensorLoad));
            }
            TensorWarpOp::Store(f) => {
                let spans = fragment_spans(warp, here.cta, f);
                self.check_tensor(launch, log, &spans, AccessKind::Write, here, |g| {
                    g != WaitGroup::TensorStore
                });
                self.track(AsyncOp::new(here, spans, Vec::new(), WaitGroup::TensorStore));
            }
            TensorWarpOp::Wait { loads } => {
                let group = if *loads { WaitGroup::TensorLoad } else { WaitGroup::TensorStore };
                self.complete_due(here, |g| g == group);
            }
            TensorWarpOp::Allocate { .. } | TensorWarpOp::Free { .. } | TensorWarpOp::Relinquish => {}
        }
    }
    /// Lanes issue an instruction on tensor memory.
    pub fn tensor_step(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        cta: &CtaState,
        i: u32,
        here: WarpStep,
    ) {
        each(here.lanes, |l| {
            let here = WarpStep { lanes: 1 << l, ..here };
            let Ok(kind) = warp.tensor_work(launch, cta, i, l) else { return };
            match (&launch.code.tensor_ops[i as usize], kind) {
                (TensorOp::Product(op), TensorWorkKind::Product(_, now)) => {
                    self.track_tensor_product(launch, log, cta, op, &now, here);
                }
                (_, TensorWorkKind::Copy { shape, pair, to, from }) => {
                    let Ok(matrix) = Matrix::of_tensor_core(from) else { return };
                    let (rows, bytes) = shape.source();
                    let pieces: Vec<u64> = matrix.pieces(0, true, 1, rows as usize);
                    // The second half of the pieces are the second 16 bytes of each row.
                    let pieces = &pieces[..pieces.len() * bytes as usize / 32];
                    let (mut reads, mut writes) = (Vec::new(), Vec::new());
                    for rank in ranks(cta.rank, pair) {
                        let owner = grid_shape::number(launch, cta.position, rank);
                        reads.extend(sources(owner, cta, pieces));
                        let column = Cell::new(to).column;
                        writes.extend(
                            (0..ROWS)
                                .step_by(GROUP as usize)
                                .map(|lane| span(owner, lane, column, bytes / 4)),
                        );
                    }
                    self.track_tensor_core(launch, log, reads, writes, here);
                }
                (_, TensorWorkKind::Commit { at, ranks }) => {
                    let r = visible_memory(launch, cta, &warp.local);
                    let begun: Vec<u64> = self.due(here, |g| g == WaitGroup::Tensor(l));
                    for at in targets(ranks, at) {
                        let Some((region, off)) = access::range(&r, AddrSpace::Cluster, l, at, 8) else {
                            continue;
                        };
                        let owner = match at / window::CTA {
                            0 => cta.index,
                            rank => grid_shape::number(launch, cta.position, (rank - 1) as u32),
                        };
                        let parity = MbarrierState::read(region.load64(off)).parity();
                        begun.iter().for_each(|&n| self.complete_with_phase((owner, off), n, parity));
                    }
                }
                _ => {}
            }
        });
    }
    fn track_tensor_product(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        cta: &CtaState,
        op: &TensorProduct,
        now: &ProductOperands,
        here: WarpStep,
    ) {
        let (shape, members) = (&now.shape, ranks(cta.rank, op.pair));
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for &rank in &members {
            let owner = grid_shape::number(launch, cta.position, rank);
            let mut add = |descriptor: u64, which: usize, rows: u32| {
                if let Ok(matrix) = Matrix::of_tensor_core(descriptor) {
                    let (k_major, element) = (!shape.transpose[which], shape.element_bytes());
                    reads.extend(sources(owner, cta, &matrix.pieces(0, k_major, element, rows as usize)));
                }
            };
            add(now.b, 1, shape.n / members.len() as u32);
            if matches!(op.a, TensorA::Shared(_)) {
                add(now.a, 0, shape.rows(op));
            }
            for (lane, columns) in shape.lanes(op, Cell::new(now.d).lane) {
                writes.push(span(owner, lane, Cell::new(now.d).column, columns));
                if matches!(op.a, TensorA::Tensor(_)) {
                    reads.push(span(owner, lane, Cell::new(now.a as u32).column, 8));
                }
            }
        }
        self.track_tensor_core(launch, log, reads, writes, here);
    }
    /// Tracks what the tensor core reads and writes, and checks it against what is in flight.
    fn track_tensor_core(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        reads: Vec<Span>,
        writes: Vec<Span>,
        here: WarpStep,
    ) {
        for s in &reads {
            if let Span::Shared { cta, at, bytes } = *s {
                self.proxy.read(launch, log, (cta, at, bytes), here);
                if cta == here.cta {
                    self.check_product_source(launch, log, here, at);
                }
            }
        }
        // The tensor core performs its own instructions in order.
        let other = |g| !matches!(g, WaitGroup::Tensor(_));
        self.check_tensor(launch, log, &reads, AccessKind::Read, here, other);
        self.check_tensor(launch, log, &writes, AccessKind::Write, here, other);
        let group = WaitGroup::Tensor(here.lanes.trailing_zeros() as usize);
        self.track(AsyncOp::new(here, writes, reads, group));
    }
    /// Reports an access to tensor memory that an operation in flight, of a group that `counts`, may still
    /// write, or read.
    fn check_tensor(
        &self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        spans: &[Span],
        kind: AccessKind,
        here: WarpStep,
        counts: impl Fn(WaitGroup) -> bool,
    ) {
        for s in spans {
            let Span::Tensor { cta, at, cells } = *s else { continue };
            let Some(marks) = self.tensor.get(&cta) else { continue };
            let range = at as usize..(at + cells) as usize;
            let written = marks.written.iter().take(range.end).skip(range.start).copied();
            let read = marks.read.iter().take(range.end).skip(range.start).filter(|r| r.1 > 0).map(|r| r.0);
            let found = |n: u64| self.in_flight.get(&n).filter(|p| counts(p.group));
            if let Some(p) = written.filter(|&n| n != 0).find_map(found) {
                return report::in_use(launch, log, (here, kind), p, true, None);
            }
            if kind != AccessKind::Read
                && let Some(p) = read.into_iter().find_map(found)
            {
                return report::in_use(launch, log, (here, kind), p, false, None);
            }
        }
    }
}

/// Pieces of 16 bytes of the shared memory of a CTA, without those outside.
fn sources(owner: u64, cta: &CtaState, pieces: &[u64]) -> Vec<Span> {
    let inside = pieces.iter().filter(|&&at| at + 16 <= cta.shared.len());
    inside.map(|&at| Span::Shared { cta: owner, at, bytes: 16 }).collect()
}
