//! The findings of the check of asynchronous work.

use prlx_trace::check::{Allocation, Kind, Memory, Space};

use super::ops::{AsyncOp, Span, WaitGroup};
use crate::check::accesses::AccessKind;
use crate::check::findings::{self, FindingLog, WarpStep};
use crate::exec::launch::Launch;

/// The operation, as a noun.
fn noun(p: &AsyncOp) -> &'static str {
    match p.group {
        WaitGroup::Product(_) => "product",
        WaitGroup::Tensor(_) => "product or copy of the tensor core",
        WaitGroup::TensorLoad => "`tcgen05.ld`",
        WaitGroup::TensorStore => "`tcgen05.st`",
        WaitGroup::LaneCopy(..) | WaitGroup::BulkCopy(..) | WaitGroup::Mbarrier => "copy",
    }
}

/// An access to memory that an operation may still write (`writes`) or read.
pub fn in_use(
    launch: &Launch<'_>,
    log: &mut FindingLog,
    (who, access): (WarpStep, AccessKind),
    p: &AsyncOp,
    writes: bool,
    memory: Option<Memory>,
) {
    let kind = if writes { Kind::NotLanded } else { Kind::StillRead };
    let base = memory.as_ref().and_then(|m| m.allocation.as_ref()).map_or(0, |a: &Allocation| a.base);
    log.add(launch, kind, who, Some(p.by.step), base, || {
        let mut first = findings::side(launch, format!("this {}", access.noun()), who);
        let place = if memory.is_some() { "memory" } else { "tensor memory" };
        first.memory = memory;
        let by = noun(p);
        let does = if writes { "write" } else { "read" };
        let role = format!("the {by} that has not finished");
        let what = format!("{} {place} that a {by} may still {does}", access.verb());
        let mut f = findings::finding(kind, what, vec![first, findings::side(launch, role, p.by)]);
        f.help = Some(
            match (p.group, writes) {
                (WaitGroup::LaneCopy(..), _) => {
                    "wait for it with `cp.async.wait_group`, once it is committed"
                }
                (WaitGroup::BulkCopy(..), true) => "wait for it with `cp.async.bulk.wait_group`",
                (WaitGroup::BulkCopy(..), false) => "wait for it with `cp.async.bulk.wait_group.read`",
                (WaitGroup::Product(_), _) => "wait for it with `wgmma.wait_group`",
                (WaitGroup::Tensor(_), _) => {
                    "commit it with `tcgen05.commit`, and wait for the phase of that mbarrier"
                }
                (WaitGroup::TensorLoad, _) => "wait for it with `tcgen05.wait::ld`",
                (WaitGroup::TensorStore, _) => "wait for it with `tcgen05.wait::st`",
                (WaitGroup::Mbarrier, _) => "wait for the phase of its mbarrier",
            }
            .into(),
        );
        f
    });
}

/// An instruction writes register `name`, which a product of `by` may still read.
pub fn operand_written(launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, by: WarpStep, name: &str) {
    log.add(launch, Kind::StillRead, here, Some(by.step), 0, || {
        let sides = vec![
            findings::side(launch, "this change", here),
            findings::side(launch, "the product that has not finished", by),
        ];
        let what = format!("changes register `{name}`, which a product may still read");
        let mut f = findings::finding(Kind::StillRead, what, sides);
        f.help = Some("wait for it with `wgmma.wait_group`".into());
        f
    });
}

/// An instruction uses register `name`, an accumulator that a product of `by` may still write.
pub fn accumulator_used(launch: &Launch<'_>, log: &mut FindingLog, here: WarpStep, by: WarpStep, name: &str) {
    log.add(launch, Kind::Accumulator, here, Some(by.step), 0, || {
        let sides = vec![
            findings::side(launch, "this use", here),
            findings::side(launch, "the product that accumulates into it", by),
        ];
        let what = format!("uses register `{name}` while a product may still write it");
        let mut f = findings::finding(Kind::Accumulator, what, sides);
        f.help = Some("wait with `wgmma.wait_group` first".into());
        f
    });
}

/// A copy that nobody has waited for when the CTA ends whose shared memory it uses.
pub fn unfinished(launch: &Launch<'_>, log: &mut FindingLog, p: &AsyncOp, span: Span) {
    let Span::Shared { cta, at, bytes } = span else { return };
    log.add(launch, Kind::LeftUnderWay, p.by, None, 0, || {
        let mut side = findings::side(launch, "begun here", p.by);
        let allocation = findings::allocation(launch, Space::Shared, at);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        side.memory = Some(Memory { space: Space::Shared, address: at, bytes, allocation });
        let place = launch.config.grid.position(cta);
        let what = format!(
            "CTA {place} ends while a {} that nothing waited for may still use its shared memory",
            noun(p)
        );
        let mut f = findings::finding(Kind::LeftUnderWay, what, vec![side]);
        f.help = Some(
            match p.group {
                WaitGroup::BulkCopy(..) => {
                    "wait with `cp.async.bulk.wait_group.read` before the end, once it is committed"
                }
                _ => "wait for the phase of its mbarrier before the end",
            }
            .into(),
        );
        f
    });
}
