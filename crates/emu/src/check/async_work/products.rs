//! Tracks the products of `wgmma`: the shared memory that they read, and the registers that they use.

use prlx_trace::check::{Memory, Space};

use super::ops::{AsyncOp, AsyncOps, Span, WORD, WaitGroup, group_done};
use super::report;
use crate::check::accesses::AccessKind;
use crate::check::facts::Facts;
use crate::check::findings::{self, FindingLog, WarpStep};
use crate::code::{WarpOpKind, Wgmma, WgmmaA, WgmmaStep};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::matrix::product::{Matrix, ROWS};
use crate::matrix::wgmma_state::WARPS;

/// The addresses of the pieces of 16 bytes of shared memory that a warp's part of a product reads.
pub fn shared_operands(op: &Wgmma, warp: &Warp, cta: &CtaState) -> Vec<u64> {
    let matrix = |plane: u16| Matrix::new(warp.planes.w64[usize::from(plane)].0[0]);
    let mut pieces = matrix(op.b).pieces(0, !op.transpose[1], 2, op.n as usize);
    if let WgmmaA::Shared(a) = op.a {
        pieces.extend(matrix(a).pieces(warp.index as usize % WARPS * ROWS, !op.transpose[0], 2, ROWS));
    }
    pieces.retain(|at| at + 16 <= cta.shared.len());
    pieces
}

impl AsyncOps {
    /// A warp runs a step of `wgmma`.
    pub fn wgmma_step(
        &mut self,
        launch: &Launch<'_>,
        (facts, log): (&Facts, &mut FindingLog),
        warp: &Warp,
        cta: &CtaState,
        what: WgmmaStep,
        here: WarpStep,
    ) {
        match what {
            WgmmaStep::Fence => {}
            WgmmaStep::Commit => self.warp_ops(here).products += 1,
            WgmmaStep::Wait(left) => {
                let begun = self.warp_ops(here).products;
                let due = |g: WaitGroup| matches!(g, WaitGroup::Product(n) if group_done(n, begun, left));
                let first = here.warp / WARPS as u32 * WARPS as u32;
                for warp in first..first + WARPS as u32 {
                    for n in self.due(WarpStep { warp, ..here }, due) {
                        let Some(p) = self.in_flight.get_mut(&n) else { continue };
                        p.waited |= 1 << (here.warp - first);
                        let whole = p.waited == (1 << WARPS) - 1;
                        if warp == here.warp {
                            // Only the warp itself waits for its accumulators and operands in registers.
                            let ops = self.warp_ops(here);
                            ops.registers.retain(|_, g| *g != n);
                            ops.operands.retain(|_, g| *g != n);
                        }
                        if whole {
                            self.complete(n);
                        }
                    }
                }
            }
            WgmmaStep::Begin(i) => {
                let op = &launch.code.products[i as usize];
                let pieces = shared_operands(op, warp, cta);
                for &at in &pieces {
                    self.proxy.read(launch, log, (here.cta, at, 16), here);
                    self.check_product_source(launch, log, here, at);
                }
                let group = WaitGroup::Product(self.warp_ops(here).products);
                let reads =
                    pieces.into_iter().map(|at| Span::Shared { cta: here.cta, at, bytes: 16 }).collect();
                self.track(AsyncOp {
                    registers: facts.regs(&facts.at(here.step).defs).to_vec(),
                    operands: match op.a {
                        WgmmaA::Registers(_) => facts.operand(launch, here.step, 1),
                        WgmmaA::Shared(_) => Vec::new(),
                    },
                    ..AsyncOp::new(here, Vec::new(), reads, group)
                });
            }
        }
    }
    /// Reports a product that reads 16 bytes of shared memory at `at` while a copy may still write them.
    pub fn check_product_source(&self, launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, at: u64) {
        let words = self.shared.get(&here.cta).map_or(&[][..], |w| &w.written);
        let mark = words.iter().skip((at / WORD) as usize).take(4).find(|&&n| n != 0);
        if let Some(p) = mark.and_then(|n| self.in_flight.get(n)) {
            let allocation = findings::allocation(launch, Space::Shared, at);
            report::in_use(
                launch,
                log,
                (here, AccessKind::Read),
                p,
                true,
                Some(Memory { space: Space::Shared, address: at, bytes: 16, allocation }),
            );
        }
    }
    /// Reports an instruction other than `wgmma` that uses accumulators of a product in flight, or writes a
    /// register that a product may still read.
    pub fn check_registers(&self, launch: &Launch<'_>, facts: &Facts, log: &mut FindingLog, here: WarpStep) {
        if self.in_flight.is_empty() {
            return;
        }
        let Some(ops) = self.warps.get(&(here.cta, here.warp)) else { return };
        if ops.registers.is_empty() && ops.operands.is_empty() {
            return;
        }
        if launch.code.warp_op(here.step).is_some_and(|op| matches!(op.kind, WarpOpKind::Wgmma(_))) {
            return;
        }
        let fact = facts.at(here.step);
        let mut changed = facts.regs(&fact.defs).iter();
        if let Some((&reg, p)) = changed.find_map(|r| Some((r, self.in_flight.get(ops.operands.get(r)?)?))) {
            report::operand_written(launch, log, here, p.by, facts.name(launch, reg));
        }
        let mut all = [&fact.uses, &fact.addr, &fact.defs].into_iter().flat_map(|r| facts.regs(r));
        let Some((reg, n)) = all.find_map(|r| ops.registers.get(r).map(|n| (*r, *n))) else { return };
        if let Some(p) = self.in_flight.get(&n) {
            report::accumulator_used(launch, log, here, p.by, facts.name(launch, reg));
        }
    }
}
