//! Decides whether a report passes a gate: which differences are allowed, and which remain.
//!
//! # Invariants
//! Every difference that decides the report's verdict is one [`JudgedDifference`], with or without a rule
//! that allows it. Findings beyond the report's limit are never allowed. A report with gaps never passes: it
//! fails, or is unknown.
//!
//! # Limitations
//! What lanes do differently because of an allowed difference may be a finding of its own, and needs a rule
//! of its own.

use std::fmt;
use std::str::FromStr;

use super::comparison::Report;
use super::finding::Finding;
use super::launch::LaunchReport;
use super::output::Output;
use super::plain_data::data;
use super::source::{Location, SiteInfo};
use super::tolerance::Tolerance;
use super::verdict::{FindingKind, LaunchPart, Verdict};
use crate::glob::matches;

/// A rule that allows some differences.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// Findings on these lines (first, last) of a file. The file matches by the end of its path.
    Lines(String, u32, u32),
    /// Findings in functions with this name; `*` and `?` are wildcards.
    Function(String),
    /// Findings in kernels with this name; `*` and `?` are wildcards.
    Kernel(String),
    /// Findings of this kind.
    Kind(FindingKind),
    /// Findings at the site with this number, as in recordings of PRLX 0.x.
    Site(u32),
    /// The content of outputs with this name; `*` and `?` are wildcards. With a tolerance, only elements
    /// within it.
    Output(String, Option<Tolerance>),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Lines(file, first, last) if first == last => write!(f, "{file}:{first}"),
            Rule::Lines(file, first, last) => write!(f, "{file}:{first}-{last}"),
            Rule::Function(name) => write!(f, "function={name}"),
            Rule::Kernel(name) => write!(f, "kernel={name}"),
            Rule::Kind(kind) => write!(f, "kind={}", kind.name()),
            Rule::Site(id) => write!(f, "site={id:#010x}"),
            Rule::Output(name, None) => write!(f, "output={name}"),
            Rule::Output(name, Some(t)) => {
                write!(f, "output={name}")?;
                for (limit, x) in [("rtol", t.rtol), ("atol", t.atol)].into_iter().filter(|(_, x)| *x > 0.0) {
                    write!(f, ",{limit}={x:?}")?;
                }
                if t.ulp > 0 {
                    write!(f, ",ulp={}", t.ulp)?;
                }
                f.write_str(if t.equal_nan { ",equal-nan" } else { "" })
            }
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        const FORMS: &str = "FILE:LINE, FILE:FIRST-LAST, function=NAME, kernel=NAME, kind=KIND, site=ID, output=NAME or \
             output=NAME,rtol=X,atol=X,ulp=N,equal-nan";
        let text = text.trim();
        if let Some((what, value)) = text.split_once('=')
            && !value.is_empty()
        {
            match what {
                "function" => return Ok(Rule::Function(value.into())),
                "kernel" => return Ok(Rule::Kernel(value.into())),
                "output" => return output_rule(value),
                "kind" => {
                    let all = [
                        FindingKind::Branch,
                        FindingKind::ActiveMask,
                        FindingKind::Value,
                        FindingKind::Path,
                        FindingKind::ExtraEvents,
                    ];
                    let kind = all.into_iter().find(|k| k.name().eq_ignore_ascii_case(value));
                    let one_of =
                        || format!("`{text}`: a kind is one of {}", all.map(FindingKind::name).join(", "));
                    return kind.map(Rule::Kind).ok_or_else(one_of);
                }
                "site" => {
                    let digits = value.strip_prefix("0x").or(value.strip_prefix("0X"));
                    let id = digits.map_or_else(|| value.parse(), |d| u32::from_str_radix(d, 16));
                    return id.map(Rule::Site).map_err(|e| format!("`{text}`: {e}"));
                }
                _ => {}
            }
        }
        let lines = || {
            let (file, lines) = text.rsplit_once(':').filter(|(file, _)| !file.is_empty())?;
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (1..=last).contains(&first).then(|| Rule::Lines(file.into(), first, last))
        };
        lines().ok_or_else(|| format!("`{text}` is none of {FORMS}"))
    }
}

/// `output C: 12 of 4,096 elements differ, first C[3,255]: 1.25 in A, 4.35 in B`.
fn output_in_words(o: &Output) -> String {
    match (&o.first, &o.uncompared) {
        (_, Some(why)) => format!("output {}: {why}", o.name),
        (None, None) => format!("output {}", o.name),
        (Some(first), None) => {
            let [a, b] = &first.values;
            let place = first.place(&o.name);
            format!(
                "output {}: {} of {} elements differ, first {place}: {a} in A, {b} in B",
                o.name, o.differing, o.elements
            )
        }
    }
}

/// The rule `output=NAME`, with the limits of a tolerance behind commas.
fn output_rule(value: &str) -> Result<Rule, String> {
    let mut parts = value.split(',').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let mut tolerance = None;
    for part in parts {
        let wrong = |what: &str| format!("`output={value}`: `{part}` {what}");
        let limit: &mut Tolerance = tolerance.get_or_insert_default();
        let number = |x: &str| {
            let x: Option<f64> = x.parse().ok();
            x.filter(|x| x.is_finite() && *x >= 0.0).ok_or_else(|| wrong("needs a number of at least 0"))
        };
        match part.split_once('=') {
            Some(("rtol", x)) => limit.rtol = number(x)?,
            Some(("atol", x)) => limit.atol = number(x)?,
            Some(("ulp", n)) => limit.ulp = n.parse().map_err(|_| wrong("needs a whole number"))?,
            None if part == "equal-nan" => limit.equal_nan = true,
            _ => return Err(wrong("is none of rtol=X, atol=X, ulp=N and equal-nan")),
        }
    }
    Ok(Rule::Output(name.to_owned(), tolerance))
}

/// How far a rule matches a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleMatch {
    /// The rule matches no side of the finding.
    Nothing,
    /// The rule matches one of two sides, so it does not allow the finding.
    OneSide,
    /// The rule matches all sides that the finding has.
    Allowed,
}

impl Rule {
    /// How far the rule matches a finding. If the sides are at different places, it must match both.
    fn matched(&self, l: &LaunchReport, f: &Finding) -> RuleMatch {
        let whole = |is: bool| if is { RuleMatch::Allowed } else { RuleMatch::Nothing };
        let sides = |of: &dyn Fn(&SiteInfo) -> bool| {
            let matched: Vec<bool> = f.site.iter().flatten().map(of).collect();
            match (matched.contains(&true), matched.contains(&false)) {
                (true, false) => RuleMatch::Allowed,
                (true, true) => RuleMatch::OneSide,
                (false, _) => RuleMatch::Nothing,
            }
        };
        match self {
            Rule::Kernel(name) => whole(matches(name, &l.kernel)),
            Rule::Kind(kind) => whole(f.kind == *kind),
            Rule::Site(id) => sides(&|s| s.id.0 == *id),
            Rule::Function(name) => {
                let inlined = |l: &Location| !l.function.is_empty() && matches(name, &l.function);
                sides(&|s| matches(name, &s.function) || s.location.as_ref().is_some_and(inlined))
            }
            Rule::Lines(file, first, last) => {
                let here = |l: &Location| same_file(&l.file, file) && (*first..=*last).contains(&l.line);
                match f.site.iter().flatten().next() {
                    Some(_) => sides(&|s| s.location.as_ref().is_some_and(here)),
                    None => whole(f.place.as_ref().is_some_and(here)),
                }
            }
            Rule::Output(..) => RuleMatch::Nothing,
        }
    }
}

/// Whether the last components of a path are `asked`.
fn same_file(path: &str, asked: &str) -> bool {
    path == asked || path.strip_suffix(asked).is_some_and(|before| before.ends_with(['/', '\\']))
}

/// How many differences may remain. Without limits, none may; otherwise every given limit must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GateLimits {
    /// The largest number of findings.
    pub findings: Option<u64>,
    /// The largest number of visits that have findings.
    pub visits: Option<u64>,
    /// The largest number of lanes that have findings. A lane with two findings counts twice.
    pub lanes: Option<u64>,
}

/// The result of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum GateOutcome {
    /// All differences are allowed, and everything was seen.
    Passed,
    /// A difference is not allowed.
    Failed,
    /// Nothing seen fails the gate, but something was not seen.
    Unknown,
}

impl GateOutcome {
    /// The result's name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Failed => "failed",
            GateOutcome::Unknown => "unknown",
        }
    }
    /// The exit code of a gate (2 is for errors).
    pub const fn exit_code(self) -> u8 {
        match self {
            GateOutcome::Passed => 0,
            GateOutcome::Failed => 1,
            GateOutcome::Unknown => 3,
        }
    }
}

data! {
    /// One difference, and the rule that allows it.
    struct JudgedDifference {
        /// The index of its launch in the report. `None` if it belongs to no pair of launches.
        launch: Option<u64>,
        /// The index of the finding in the launch. `None` for other differences, which `what` describes.
        finding: Option<u64>,
        /// The description; empty for a finding.
        what: String,
        /// The index of the rule that allows it.
        rule: Option<u64>,
    }
}

/// The result of a gate, with every difference.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Judgement {
    /// Whether the report passes.
    pub outcome: GateOutcome,
    /// The findings that no rule allows, the visits that have them, and the lanes that have them.
    pub counted: [u64; 3],
    /// The limits that were applied.
    pub most: GateLimits,
    /// The rules, as the user writes them.
    pub rules: Vec<String>,
    /// By rule: the number of differences that it allows. Several rules may allow the same difference.
    pub used: Vec<u64>,
    /// By rule: the number of findings of which it matches one side only, so that it does not allow them.
    pub one_sided: Vec<u64>,
    /// All differences, in the report's order.
    pub items: Vec<JudgedDifference>,
}

impl Judgement {
    /// The differences of one launch that no rule allows; `None`: those outside of launches.
    pub fn remaining(&self, launch: Option<u64>) -> impl Iterator<Item = &JudgedDifference> {
        self.items.iter().filter(move |i| i.launch == launch && i.rule.is_none())
    }
}

/// Applies a gate to a report.
pub fn judge(report: &Report, rules: &[Rule], most: GateLimits) -> Judgement {
    let none = vec![0; rules.len()];
    let mut all = Judge {
        rules,
        items: Vec::new(),
        counted: [0; 3],
        blocked: false,
        used: none.clone(),
        one_sided: none,
    };
    for (i, l) in report.launches.iter().enumerate() {
        all.launch(i as u64, l);
    }
    for u in report.unpaired_differences().0 {
        let side = ["A", "B"][usize::from(u.side.min(1))];
        all.block(None, format!("launch {} of {side}, of kernel {}, has no partner", u.launch, u.kernel));
    }
    for p in report.alone.iter().filter(|p| p.launches > 0) {
        let side = ["A", "B"][usize::from(p.side.min(1))];
        all.block(
            None,
            format!("{side}'s process {} has no partner; it launched {} kernels", p.name, p.launches),
        );
    }
    let limits = [most.findings, most.visits, most.lanes];
    let exceeded = match limits {
        [None, None, None] => all.counted[0] > 0,
        _ => all.counted.iter().zip(limits).any(|(n, most)| most.is_some_and(|most| *n > most)),
    };
    let gaps = !report.gaps.is_empty() || report.launches.iter().any(|l| !l.gaps.is_empty());
    let outcome = match (all.blocked || exceeded, gaps) {
        (true, _) => GateOutcome::Failed,
        (false, true) => GateOutcome::Unknown,
        (false, false) => GateOutcome::Passed,
    };
    let rules = rules.iter().map(ToString::to_string).collect();
    let Judge { items, counted, used, one_sided, .. } = all;
    Judgement { outcome, counted, most, rules, used, one_sided, items }
}

struct Judge<'a> {
    rules: &'a [Rule],
    items: Vec<JudgedDifference>,
    counted: [u64; 3],
    /// A difference that no limit counts.
    blocked: bool,
    used: Vec<u64>,
    one_sided: Vec<u64>,
}

impl Judge<'_> {
    fn block(&mut self, launch: Option<u64>, what: String) {
        self.blocked = true;
        self.items.push(JudgedDifference { launch, finding: None, what, rule: None });
    }

    /// The first rule that allows a difference. Counts every rule that does, or that matches one side.
    fn rule(&mut self, matched: impl Fn(&Rule) -> RuleMatch) -> Option<u64> {
        let mut first = None;
        for (i, rule) in self.rules.iter().enumerate() {
            match matched(rule) {
                RuleMatch::Nothing => {}
                RuleMatch::OneSide => self.one_sided[i] += 1,
                RuleMatch::Allowed => {
                    self.used[i] += 1;
                    first = first.or(Some(i as u64));
                }
            }
        }
        first
    }

    fn launch(&mut self, at: u64, l: &LaunchReport) {
        let (before, launch) = (self.items.len(), Some(at));
        for d in l.decisive_differences() {
            let what = match l.outputs.iter().find(|o| d.what == LaunchPart::Output && o.name == d.name) {
                Some(o) => output_in_words(o),
                None => format!("{} {}: {} in A, {} in B", d.what.name(), d.name, d.values[0], d.values[1]),
            };
            let matched = |r: &Rule| match r {
                Rule::Output(n, None) if d.what == LaunchPart::Output && matches(n, &d.name) => {
                    RuleMatch::Allowed
                }
                _ => RuleMatch::Nothing,
            };
            match self.rule(matched) {
                Some(rule) => {
                    self.items.push(JudgedDifference { launch, finding: None, what, rule: Some(rule) });
                }
                None => self.block(launch, what),
            }
        }
        for o in l.outputs.iter().filter(|o| o.agrees() && o.within_tolerance > 0) {
            // The comparison applied the tolerance of the rule.
            let within = |r: &Rule| match r {
                Rule::Output(n, Some(_)) if matches(n, &o.name) => RuleMatch::Allowed,
                _ => RuleMatch::Nothing,
            };
            self.rule(within);
        }
        match &l.faults {
            [Some(f), None] => self.block(launch, format!("only A was stopped: {}", f.text)),
            [None, Some(f)] => self.block(launch, format!("only B was stopped: {}", f.text)),
            _ => {}
        }
        for (i, f) in l.findings.iter().enumerate() {
            let rule = self.rule(|r| r.matched(l, f));
            self.items.push(JudgedDifference { launch, finding: Some(i as u64), what: String::new(), rule });
            if rule.is_none() {
                for (sum, n) in self.counted.iter_mut().zip([1, f.count, f.lanes_total]) {
                    *sum = sum.saturating_add(n);
                }
            }
        }
        let more = l.findings_total.saturating_sub(l.findings.len() as u64);
        if more > 0 {
            self.block(launch, format!("{more} more findings than the report lists"));
        }
        if l.verdict == Verdict::Differs && self.items.len() == before {
            self.block(launch, "it differs".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Fault, LaunchDifference, UnmatchedLaunch};
    use prlx_trace::SiteId;

    fn at(file: &str, line: u32) -> Option<SiteInfo> {
        let location =
            Some(Location { file: file.into(), line, function: "inner".into(), ..Location::default() });
        Some(SiteInfo { id: SiteId(line), function: "outer".into(), location, ..SiteInfo::default() })
    }

    fn finding(sites: [Option<SiteInfo>; 2]) -> Finding {
        Finding { site: sites, count: 10, lanes_total: 3, ..Finding::default() }
    }

    fn report(findings: Vec<Finding>) -> Report {
        let l = LaunchReport {
            kernel: "kernel_a".into(),
            findings_total: findings.len() as u64,
            verdict: if findings.is_empty() { Verdict::Same } else { Verdict::Differs },
            findings,
            ..LaunchReport::default()
        };
        Report { launches: vec![l], ..Report::default() }
    }

    fn outcome(r: &Report, rules: &[&str], most: GateLimits) -> GateOutcome {
        let rules: Vec<Rule> = rules.iter().map(|r| r.parse().unwrap()).collect();
        judge(r, &rules, most).outcome
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in
            ["a.cu:3", "src/a.cu:3-9", "C:/a.cu:1", "function=f*", "kernel=k", "kind=ActiveMask", "output=o"]
        {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        assert_eq!("site=17".parse::<Rule>(), Ok(Rule::Site(17)));
        for wrong in
            ["", "a.cu", "a.cu:", ":3", "a.cu:0", "a.cu:9-3", "kind=Brnch", "site=x", "function=", "other=x"]
        {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_rule_allows_passes_and_nothing_else() {
        let r = report(vec![finding([at("/home/x/src/a.cu", 7), at("/home/x/src/a.cu", 7)])]);
        let none = GateLimits::default();
        assert_eq!(outcome(&r, &[], none), GateOutcome::Failed);
        for rule in [
            "a.cu:7",
            "src/a.cu:5-9",
            "function=inn*",
            "function=outer",
            "kernel=kernel_?",
            "kind=branch",
            "site=7",
        ] {
            assert_eq!(outcome(&r, &[rule], none), GateOutcome::Passed, "{rule}");
        }
        for rule in [
            "a.cu:8",
            "b.cu:7",
            "c/a.cu:7",
            ".cu:7",
            "function=inn",
            "kernel=k",
            "kind=path",
            "site=8",
            "output=*",
        ] {
            assert_eq!(outcome(&r, &[rule], none), GateOutcome::Failed, "{rule}");
        }
        // The sides are at different places: both must be allowed.
        let r = report(vec![finding([at("a.cu", 7), at("a.cu", 9)])]);
        assert_eq!(outcome(&r, &["a.cu:7"], none), GateOutcome::Failed);
        assert_eq!(outcome(&r, &["a.cu:7-9"], none), GateOutcome::Passed);
        let rules: Vec<Rule> = ["a.cu:7", "a.cu:9", "a.cu:8"].iter().map(|r| r.parse().unwrap()).collect();
        let judged = judge(&r, &rules, none);
        assert_eq!((judged.used, judged.one_sided), (vec![0, 0, 0], vec![1, 1, 0]));
        // Two rules that allow the same finding are both used.
        let rules: Vec<Rule> = ["kernel=*", "a.cu:7-9"].iter().map(|r| r.parse().unwrap()).collect();
        assert_eq!(judge(&r, &rules, none).used, [1, 1]);
        // Nothing is known of where it is.
        let r = report(vec![finding([None, None])]);
        assert_eq!(outcome(&r, &["a.cu:1-99", "function=*", "site=0"], none), GateOutcome::Failed);
        assert_eq!(outcome(&r, &["kernel=*"], none), GateOutcome::Passed);
    }

    #[test]
    fn thresholds_count_what_is_left() {
        let two = vec![finding([at("a.cu", 7), at("a.cu", 7)]), finding([at("a.cu", 9), at("a.cu", 9)])];
        let r = report(two);
        let most = |findings, visits, lanes| GateLimits { findings, visits, lanes };
        for (rules, most, want) in [
            (&[][..], most(Some(2), None, None), GateOutcome::Passed),
            (&[], most(Some(1), None, None), GateOutcome::Failed),
            (&["a.cu:9"], most(Some(1), None, None), GateOutcome::Passed),
            (&[], most(None, Some(20), None), GateOutcome::Passed),
            (&[], most(None, Some(19), None), GateOutcome::Failed),
            (&[], most(Some(9), None, Some(5)), GateOutcome::Failed),
            (&["a.cu:7"], most(Some(9), Some(10), Some(3)), GateOutcome::Passed),
        ] {
            assert_eq!(outcome(&r, rules, most), want, "{rules:?} {most:?}");
        }
        assert_eq!(judge(&r, &["a.cu:7".parse().unwrap()], GateLimits::default()).counted, [1, 10, 3]);
    }

    #[test]
    fn what_was_not_seen_never_passes() {
        let all = GateLimits { findings: Some(99), ..GateLimits::default() };
        let mut r = report(vec![]);
        assert_eq!(outcome(&r, &[], all), GateOutcome::Passed);
        r.launches[0].gaps.push("something".into());
        assert_eq!(outcome(&r, &[], all), GateOutcome::Unknown);
        let mut cut = report(vec![finding([at("a.cu", 7), None])]);
        cut.launches[0].findings_total = 5;
        assert_eq!(outcome(&cut, &["kernel=*"], all), GateOutcome::Failed, "four findings were not listed");
    }

    #[test]
    fn what_no_threshold_counts_fails() {
        let all = GateLimits { findings: Some(99), ..GateLimits::default() };
        let mut fault = report(vec![]);
        fault.launches[0].faults[1] = Some(Fault::default());
        assert_eq!(outcome(&fault, &["kernel=*"], all), GateOutcome::Failed);
        let mut extra = report(vec![]);
        extra.unpaired.push(UnmatchedLaunch { kernel: "k".into(), ..UnmatchedLaunch::default() });
        assert_eq!(outcome(&extra, &["kernel=*"], all), GateOutcome::Failed);
        let mut output = report(vec![]);
        let values = ["content 1".into(), "content 2".into()];
        output.launches[0].differences.push(LaunchDifference {
            what: LaunchPart::Output,
            name: "y".into(),
            values,
        });
        assert_eq!(outcome(&output, &["kernel=*"], all), GateOutcome::Failed);
        assert_eq!(outcome(&output, &["output=y"], GateLimits::default()), GateOutcome::Passed);
        output.launches[0].differences[0].what = LaunchPart::Geometry;
        assert_eq!(outcome(&output, &["output=y"], all), GateOutcome::Failed);
        output.launches[0].differences[0].what = LaunchPart::Input;
        assert_eq!(outcome(&output, &[], GateLimits::default()), GateOutcome::Passed);
    }
}
