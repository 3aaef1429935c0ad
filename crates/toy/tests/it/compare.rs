//! The comparison of two kernels that differ in one decision of some lanes.

use prlx_analyze::report::Finding;
use prlx_analyze::{DiffOptions, Report, Verdict, diff};
use prlx_plan::RecordingRequest;
use prlx_trace::Level;

use crate::support::{BAD, GOOD, by_hooks, job, trace};

/// Elements 6, 43, 44 and 45 take 16 steps. They are lanes of the first wave.
pub const LANES: u64 = 1 << 6 | 0b111 << 43;

fn compare(a: &str, b: &str, level: Level) -> Report {
    let of = |name: &str, text: &str| trace(&by_hooks(&job(name, text), &RecordingRequest::new(level)));
    diff(&of("good", a), &of("bad", b), &DiffOptions::default()).unwrap()
}

fn line(finding: &Finding) -> u32 {
    let site = finding.site.iter().flatten().next().unwrap();
    site.location.as_ref().unwrap().line
}

/// The first finding of a report.
pub fn first(report: &Report) -> &Finding {
    assert_eq!(report.verdict, Verdict::Differs);
    &report.launches[0].findings[0]
}

#[test]
fn a_difference_is_found_with_its_line_and_its_lanes() {
    for level in [Level::Path, Level::Values, Level::Events] {
        let report = compare(GOOD, BAD, level);
        let finding = first(&report);
        assert_eq!((line(finding), finding.warp.warp, finding.lanes.0), (15, 0, LANES), "{}", level.name());
        // The operands lead to the comparison, and to the count of steps.
        let texts: Vec<&str> = finding.slice.iter().map(|node| node.text.as_str()).collect();
        assert!(texts[1].starts_with("cmp.g"), "{texts:?}");
        assert!(texts.contains(&"add.u32 v3, v3, 1"), "{texts:?}");
    }
}

#[test]
fn a_kernel_is_the_same_as_itself() {
    for level in [Level::Path, Level::Values, Level::Fingerprint, Level::Events] {
        assert_eq!(compare(GOOD, GOOD, level).verdict, Verdict::Same, "{}", level.name());
    }
}

#[test]
fn fingerprints_name_the_wave() {
    let report = compare(GOOD, BAD, Level::Fingerprint);
    let finding = first(&report);
    assert_eq!((finding.warp.warp, finding.warps_total), (0, 1), "{finding:#?}");
}
