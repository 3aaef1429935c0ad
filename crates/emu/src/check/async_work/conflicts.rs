//! Finds accesses to memory that an asynchronous operation may still write or read.

use super::ops::{AsyncOps, Span, WORD, pages};
use super::report;
use crate::check::accesses::{AccessKind, WarpAccess};
use crate::check::findings::{self, FindingLog, WarpStep};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::mem::access::each;

impl AsyncOps {
    /// Reports the lanes of an access that use memory of operations in flight.
    pub fn check_access(
        &self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        cta: &CtaState,
        access: &WarpAccess,
        here: WarpStep,
    ) {
        if self.in_flight.is_empty() {
            return;
        }
        // The lanes in conflict, by operation and whether the operation writes.
        let mut hits: Vec<(u64, bool, u32)> = Vec::new();
        each(access.lanes, |l| {
            let mut hit = |n: u64, writes: bool| {
                let Some(p) = self.in_flight.get(&n) else { return };
                if writes && p.updates && access.kind == AccessKind::Update {
                    return;
                }
                let same = |&&mut (m, w, _): &&mut (u64, bool, u32)| {
                    w == writes && self.in_flight.get(&m).is_some_and(|q| q.by.step == p.by.step)
                };
                match hits.iter_mut().find(same) {
                    Some((.., lanes)) => *lanes |= 1 << l,
                    None => hits.push((n, writes, 1 << l)),
                }
            };
            match Span::of(launch, cta, access, l) {
                Some(Span::Shared { cta, at, bytes }) => {
                    let Some(words) = self.shared.get(&cta) else { return };
                    let range = (at / WORD) as usize..(at + bytes).div_ceil(WORD) as usize;
                    let written = words.written.iter().take(range.end).skip(range.start);
                    if let Some(n) = written.copied().find(|&n| n != 0) {
                        hit(n, true);
                    }
                    let read = words.read.iter().take(range.end).skip(range.start).find(|r| r.1 > 0);
                    if let Some(&(n, _)) = read.filter(|_| access.kind != AccessKind::Read) {
                        let n = self.reader(n, cta, at, bytes);
                        if self.in_flight.get(&n).is_some_and(|p| p.still_reads(here)) {
                            hit(n, false);
                        }
                    }
                }
                Some(Span::Global { at, bytes }) => {
                    for &n in pages(at, bytes).filter_map(|page| self.global.get(&page)).flatten() {
                        let Some(p) = self.in_flight.get(&n).filter(|p| p.by.cta == here.cta) else {
                            continue;
                        };
                        if p.writes.iter().any(|s| s.overlaps_global(at, bytes)) {
                            hit(n, true);
                        }
                        if access.kind != AccessKind::Read
                            && p.reads.iter().any(|s| s.overlaps_global(at, bytes))
                        {
                            hit(n, false);
                        }
                    }
                }
                Some(Span::Tensor { .. }) | None => {}
            }
        });
        for (n, writes, lanes) in hits {
            if let Some(p) = self.in_flight.get(&n) {
                let first = lanes.trailing_zeros() as usize;
                report::in_use(
                    launch,
                    log,
                    (WarpStep { lanes, ..here }, access.kind),
                    p,
                    writes,
                    Some(findings::memory(launch, access, first)),
                );
            }
        }
    }
}
