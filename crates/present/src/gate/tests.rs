//! Names from traces cannot break out of a gate's outputs, and rules are reported as what they match.

use std::io;

use prlx_analyze::gate::{GateLimits, Rule, judge};
use prlx_analyze::report::{Finding, LaunchReport, Location, Report, SiteInfo};

use super::{gate, github, junit};
use crate::Style;

fn hostile() -> Report {
    let name = "evil\n::error::x\r]]><!--&\"%0A\u{1b}[2J";
    let location =
        Some(Location { file: format!("/repo/{name},:"), line: 3, column: 1, ..Location::default() });
    let site = Some(SiteInfo { location, ..SiteInfo::default() });
    let finding = Finding { site: [site.clone(), site], ..Finding::default() };
    let launch = LaunchReport {
        kernel: name.into(),
        module: [name.into(), name.into()],
        findings: vec![finding],
        findings_total: 1,
        gaps: vec![name.into()],
        verdict: prlx_analyze::Verdict::Differs,
        ..LaunchReport::default()
    };
    Report {
        names: [name.into(), name.into()],
        launches: vec![launch],
        gaps: vec![name.into()],
        ..Report::default()
    }
}

fn written(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    assert!(write(&mut out).is_ok());
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn names_stay_within_their_place() {
    let r = hostile();
    for rules in [vec![], vec![Rule::Kernel("*".into())]] {
        let j = judge(&r, &rules, GateLimits::default());
        let lines = written(|out| github(out, &j, &r, "/repo"));
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert!(
            lines.lines().all(|l| ["::error ", "::warning ", "::notice "].iter().any(|s| l.starts_with(s)))
        );
        let properties = lines.split("::").nth(1).unwrap_or_default();
        assert!(
            properties.contains("file=evil\\n%3A%3Aerror%3A%3Ax") && properties.matches(',').count() == 3
        );
        let xml = written(|out| junit(out, &j, &r));
        assert!(!xml.contains('\u{1b}') && !xml.contains("]]>") && !xml.contains("<!--"), "{xml}");
        for (open, close) in [("<testcase", "</testcase>"), ("<testsuite ", "</testsuite>")] {
            let ends =
                xml.matches(close).count() + xml.matches("\"/>").count() * usize::from(open == "<testcase");
            assert_eq!(xml.matches(open).count(), ends, "{xml}");
        }
        let text = written(|out| gate(out, &j, &r, 10, &Style::default()));
        assert!(!text.contains('\u{1b}') && !text.lines().any(|l| l.starts_with("::")), "{text}");
    }
}

#[test]
fn a_rule_for_one_side_is_not_called_unused() {
    let site = |line| {
        let location = Some(Location { file: "a.cu".into(), line, column: 1, ..Location::default() });
        Some(SiteInfo { location, ..SiteInfo::default() })
    };
    let finding = Finding { site: [site(7), site(9)], ..Finding::default() };
    let launch = LaunchReport { findings: vec![finding], findings_total: 1, ..LaunchReport::default() };
    let r = Report { launches: vec![launch], ..Report::default() };
    let rules = [Rule::Lines("a.cu".into(), 7, 7), Rule::Lines("a.cu".into(), 8, 8)];
    let j = judge(&r, &rules, GateLimits::default());
    let text = written(|out| gate(out, &j, &r, 10, &Style::default()));
    for line in [
        "  partial  a.cu:7: matches one side of 1 finding; add a rule that matches both sides",
        "  unused   a.cu:8: matches no difference",
    ] {
        assert!(text.lines().any(|l| l == line), "{text}");
    }
}
