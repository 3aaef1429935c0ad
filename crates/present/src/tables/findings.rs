//! The rows of the table of findings.

use std::io;

use prlx_analyze::report::{LaunchReport, Report};

use super::model::{RowBatcher, Sink};
use super::schema::FINDINGS;
use crate::words;

/// Passes the findings of a report to `sink`.
///
/// # Errors
/// Those of `sink`.
pub fn findings(report: &Report, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut rows = RowBatcher::new(&FINDINGS, sink);
    report.launches.iter().try_for_each(|l| findings_of_launch(&mut rows, l))?;
    rows.flush()
}

fn findings_of_launch(rows: &mut RowBatcher<'_, '_>, l: &LaunchReport) -> io::Result<()> {
    for (i, f) in (0u64..).zip(&l.findings) {
        let (site, place) = (f.shown(), f.location().map(words::own));
        let side = |s: u8| ["A", "B"][usize::from(s.min(1))];
        rows.push([
            l.process.into(),
            l.launch[0].into(),
            l.launch[1].into(),
            l.kernel.as_str().into(),
            i.into(),
            f.kind.name().into(),
            site.map(|s| s.class.name()).into(),
            site.map(|s| s.id.0).into(),
            site.map(|s| s.function.as_str()).into(),
            place.map(|p| p.file.as_str()).into(),
            place.map(|p| p.line).into(),
            site.map(|s| s.text.as_str()).into(),
            f.warp.warp.into(),
            f.warp.cta.into(),
            u32::from(f.lane).into(),
            f.lanes.0.into(),
            f.visit[0].into(),
            f.visit[1].into(),
            f.values.map(|v| v[0]).into(),
            f.values.map(|v| v[1]).into(),
            f.side.map(side).into(),
            f.roots.into(),
            f.lanes_total.into(),
            f.warps_total.into(),
            f.count.into(),
            l.culprit.into(),
            words::sentence(f).as_str().into(),
        ])?;
    }
    Ok(())
}
