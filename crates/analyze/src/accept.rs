//! Decides the verdict on a launch, and which differences are none because the outputs agree.
//!
//! # Invariants
//! - A difference that is accepted leaves a note that says what there was.
//! - Nothing is accepted if an output differs or is not known, or if a fault stopped a side.

use prlx_trace::names::file_name;

use crate::report::{
    CHANGED_ALIKE, DECIDED_AS_OTHERS, Finding, FindingKind, LaunchDifference, LaunchPart, LaunchReport,
    Location, OTHER_NAMES, Output, TripInfo, UNRECORDED, Verdict,
};

/// The note on launches that distribute the same work in different ways.
const OTHER_GRID: &str =
    "other grid or block: the results agree; decisions were not compared thread by thread";

/// How notes on other launch dimensions begin.
const OTHER_SHAPE: &str = "other grid or block:";

/// The note on launches whose threads could be compared nevertheless.
const SAME_THREADS: &str = "other grid or block: the results agree, and so do the decisions of all threads";

/// Whether a part of the geometry distributes the work among threads.
fn is_shape(name: &str) -> bool {
    matches!(name, "grid" | "block" | "cluster")
}

impl LaunchReport {
    /// Whether the outputs were compared, and all are equal within the tolerance; of a launch that names no
    /// outputs, whether all its memory is equal by digest.
    pub fn outputs_agree(&self) -> bool {
        match self.outputs.is_empty() {
            true => self.digests_agree,
            false => self.outputs.iter().all(Output::agrees),
        }
    }

    /// Records that what the launch left in memory was compared after all. The caller computes the verdict
    /// again.
    pub fn memory_was_compared(&mut self) {
        if let Some(gap) = self.unseen_memory.take() {
            self.gaps.retain(|g| *g != gap);
        }
    }

    /// Records that other runs of both sides left the same in memory, by digests of all of it. The verdict is
    /// computed again.
    pub fn digests_agreed(&mut self) {
        self.digests_agree = true;
        self.memory_was_compared();
        self.accept_geometry();
        self.accept_order_of_threads(true);
        self.conclude();
    }

    /// Takes the decisions of a launch for compared, because other launches of its kernel were: whether it
    /// agrees follows from what it left in memory. The verdict is computed again.
    pub fn decided_as_others(&mut self) {
        self.take_findings();
        self.gaps.clear();
        self.gaps.extend(self.unseen_memory.clone());
        self.notes.push(DECIDED_AS_OTHERS.to_owned());
        self.conclude();
    }

    /// Takes a launch that neither side recorded for the same if all memory behind its parameters is equal by
    /// digest. The gap becomes a note. Other parameters had no effect then: addresses of host memory,
    /// padding, pointers to more memory than the kernel uses.
    pub(crate) fn accept_unrecorded(&mut self) {
        if self.digests_agree {
            self.accept_unrecorded_because(UNRECORDED);
        }
    }

    /// The same, because all that either side changed in that memory is equal.
    pub fn changes_agreed(&mut self) {
        self.accept_unrecorded_because(CHANGED_ALIKE);
    }

    /// Records that other runs of both sides left other values in memory that one of them changed: these, at
    /// this byte behind a pointer among the parameters. The verdict is computed again.
    pub fn changes_differ(&mut self, place: String, values: [String; 2]) {
        self.differences.push(LaunchDifference { what: LaunchPart::Output, name: place, values });
        self.conclude();
    }

    fn accept_unrecorded_because(&mut self, note: &str) {
        let unrecorded = self.skipped.iter().all(Option::is_some);
        if unrecorded && self.gaps.len() == 1 && self.faults == [None, None] {
            self.notes.append(&mut self.gaps);
            self.notes.push(note.to_owned());
            self.differences.retain(|d| d.what != LaunchPart::Input);
            self.conclude();
        }
    }

    /// Accepts another grid or block if the outputs agree and nothing else differs: then it distributes the
    /// same work among other threads. The gaps, which all say that decisions were not compared, become a
    /// note.
    pub(crate) fn accept_geometry(&mut self) {
        let other = self.differences.iter().any(|d| d.what == LaunchPart::Geometry && is_shape(&d.name));
        let stopped = self.faults[0].is_some() != self.faults[1].is_some();
        let recorded = self.skipped == [None, None];
        if !(other || self.reshaped.is_some())
            || !self.outputs_agree()
            || self.findings_total > 0
            || stopped
            || !recorded
        {
            return;
        }
        let compared = self.reshaped.is_none() && self.gaps.is_empty();
        self.gaps.clear();
        let note = if compared { SAME_THREADS } else { OTHER_GRID };
        if !self.notes.iter().any(|n| n.starts_with(OTHER_SHAPE)) {
            self.notes.push(note.to_owned());
        }
    }

    /// The differences of the launch as a whole that make the verdict `differs`. Another grid or block does
    /// not if all outputs agree.
    pub fn decisive_differences(&self) -> impl Iterator<Item = &LaunchDifference> {
        let agree = self.outputs_agree();
        self.differences.iter().filter(move |d| d.is_decisive() && !(agree && d.what == LaunchPart::Geometry))
    }

    /// Whether all that keeps the verdict from being certain is code of two builds without a match, while all
    /// lanes were decoded and all outputs agree.
    pub fn only_code_unmatched(&self) -> bool {
        let c = &self.coverage;
        self.verdict == Verdict::Unknown
            && self.outputs_agree()
            && self.uncompared.iter().any(|u| u.hides)
            && c.warps.missing == 0
            && c.lanes.failed == 0
            && c.elements.iter().all(|e| e.dropped == 0)
    }

    /// Two kernels with different names that the user compares can be the same if the outputs agree. The gap
    /// becomes a note, and the verdict is computed again.
    pub fn accept_other_names(&mut self) {
        if !self.outputs.is_empty() && self.outputs_agree() {
            self.notes.extend(self.gaps.extract_if(.., |gap| gap.ends_with(OTHER_NAMES)));
            self.conclude();
        }
    }

    /// Takes outputs that agree, and checks that found nothing, for enough: the verdict becomes `same`,
    /// with a note of what was not compared.
    pub fn accept_unmatched_code(&mut self) {
        let n = self.uncompared.iter().filter(|u| u.hides).map(|u| u.sites).sum::<u64>();
        self.gaps.clear();
        self.notes.push(format!(
            "two builds: the outputs agree and the checks found no error; {n} {} no counterpart and {} not \
             compared",
            if n == 1 { "decision has" } else { "decisions have" },
            if n == 1 { "was" } else { "were" },
        ));
        self.conclude();
    }

    /// Removes findings of conditions that one build evaluates and the other does not, if that is all that
    /// was found and the outputs agree. Compilers leave out a test whose result they know, and make a select
    /// of a branch. A note says what there was. The verdict is computed again.
    pub fn accept_tests_without_effect(&mut self) {
        // More iterations of a loop that both builds have are a difference.
        let alone = |f: &Finding| {
            f.kind == FindingKind::ExtraEvents
                && f.site.iter().flatten().count() == 1
                && f.extra_trips == [0; 2]
                && f.masks.is_none()
        };
        // What only lanes do that have parted at such a condition follows from it.
        let without_effect = |f: &Finding| alone(f) || f.roots == 0;
        let listed = self.findings_total == self.findings.len() as u64;
        let stopped = self.faults.iter().any(Option::is_some);
        if self.findings.is_empty() || !listed || stopped || !self.outputs_agree() {
            return;
        }
        if !self.findings.iter().all(without_effect) {
            return;
        }
        let (n, at) = self.take_findings();
        self.notes.push(format!(
            "two builds: {n} {} a condition on one side alone{at}. The outputs agree, so it is no difference \
             (--strict counts it)",
            if n == 1 { "thread evaluates" } else { "threads evaluate" },
        ));
        self.conclude();
    }

    /// Removes findings if the launches have another grid or block and the outputs agree: then a thread with
    /// the same position has another part of the work, and other decisions. A note says what there was. The
    /// verdict is computed again.
    pub fn accept_decisions_of_other_threads(&mut self) {
        let other = self.differences.iter().any(|d| d.what == LaunchPart::Geometry && is_shape(&d.name));
        let stopped = self.faults.iter().any(Option::is_some);
        if !other || self.findings_total == 0 || stopped || !self.outputs_agree() {
            return;
        }
        let (n, at) = self.take_findings();
        self.accept_geometry();
        self.notes.retain(|note| !note.starts_with(OTHER_SHAPE));
        self.notes.push(format!(
            "{OTHER_SHAPE} {n} {} a different branch{at}. The outputs agree, so it is no difference \
             (--strict counts it)",
            if n == 1 { "thread takes" } else { "threads take" },
        ));
        self.conclude();
    }

    /// Removes findings of two builds of one source text if the outputs agree: other constants or options of
    /// the compiler divide the work in another way. A note says what there was. The verdict is computed
    /// again.
    pub fn accept_decisions_of_other_options(&mut self) {
        let stopped = self.faults.iter().any(Option::is_some);
        if self.findings_total == 0 || stopped || !self.outputs_agree() {
            return;
        }
        let (n, at) = self.take_findings();
        self.notes.push(format!(
            "two builds of one source: {n} {} a different branch{at}. The outputs agree, and the checks found \
             no error on one side alone, so it is no difference (--strict counts it)",
            if n == 1 { "thread takes" } else { "threads take" },
        ));
        self.conclude();
    }

    /// Removes findings inside of loops that both builds pass as often, if the source of these loops' heads
    /// differs and the outputs agree: the loop does its work in another order, as one that runs downwards
    /// instead of upwards. `rewrote`: whether the head differs of a loop that
    /// begins at a line. A note says what there was. The
    /// verdict is computed again.
    pub fn accept_other_order_of_iterations(&mut self, rewrote: &dyn Fn(&Location) -> bool) {
        let listed = self.findings_total == self.findings.len() as u64;
        let stopped = self.faults.iter().any(Option::is_some);
        if self.findings.is_empty() || !listed || stopped || !self.outputs_agree() {
            return;
        }
        let turned = |t: &&TripInfo| t.trips[0] == t.trips[1] && t.location.as_ref().is_some_and(rewrote);
        // What only lanes do that have parted in such a loop follows from it.
        let inside =
            |f: &Finding| f.roots == 0 || f.extra_trips == [0; 2] && f.trips.iter().any(|t| turned(&t));
        if !self.findings.iter().all(inside) {
            return;
        }
        let at = self.findings.iter().flat_map(|f| &f.trips).find(turned).and_then(|t| t.location.clone());
        let at = at.map(|l| format!(" at {}:{}", file_name(&l.file), l.line)).unwrap_or_default();
        let (n, _) = self.take_findings();
        self.notes.push(format!(
            "two builds: {n} {} a different branch in iterations of the loop{at}, whose source differs. Both \
             builds pass it as often, and the outputs agree, so it is no difference (--strict counts it)",
            if n == 1 { "thread takes" } else { "threads take" },
        ));
        self.conclude();
    }

    /// Computes the verdict from the findings, differences, faults and gaps.
    pub fn conclude(&mut self) {
        let differs = self.findings_total > 0
            || self.decisive_differences().next().is_some()
            || self.faults[0].is_some() != self.faults[1].is_some();
        self.verdict = match (differs, self.gaps.is_empty()) {
            (true, _) => Verdict::Differs,
            (false, true) => Verdict::Same,
            (false, false) => Verdict::Unknown,
        };
    }
}

#[cfg(test)]
mod tests {
    use prlx_trace::kernel::Scalar;

    use super::*;
    use crate::outputs::{Tolerance, add_outputs, compare_output};
    use crate::report::SiteInfo;

    fn floats(a: f32, b: f32, tolerance: Tolerance) -> Output {
        let [a, b] = [a, b].map(f32::to_le_bytes);
        compare_output("o", Scalar::F32, &[1], [&a, &b], &tolerance).0
    }

    fn report(findings: Vec<Finding>, outputs_differ: u64) -> LaunchReport {
        LaunchReport {
            findings_total: findings.len() as u64,
            findings,
            outputs: vec![Output { differing: outputs_differ, ..Output::default() }],
            ..LaunchReport::default()
        }
    }

    #[test]
    fn a_test_without_effect_is_no_difference() {
        let test = || Finding {
            kind: FindingKind::ExtraEvents,
            site: [None, Some(SiteInfo::default())],
            extra_visits: [0, 1],
            ..Finding::default()
        };
        let verdict = |findings: Vec<Finding>, differ| {
            let findings = findings.into_iter().map(|f| Finding { roots: 1, ..f }).collect();
            let mut l = report(findings, differ);
            if differ > 0 {
                let what = LaunchPart::Output;
                l.differences.push(LaunchDifference { what, ..LaunchDifference::default() });
            }
            l.accept_tests_without_effect();
            l.conclude();
            (l.verdict, l.notes.len())
        };
        assert_eq!(verdict(vec![test(), test()], 0), (Verdict::Same, 1));
        assert_eq!(verdict(vec![test()], 1), (Verdict::Differs, 0));
        let branch = Finding { kind: FindingKind::Branch, ..test() };
        assert_eq!(verdict(vec![test(), branch], 0), (Verdict::Differs, 0));
        let iteration = Finding { extra_trips: [0, 1], ..test() };
        assert_eq!(verdict(vec![iteration], 0), (Verdict::Differs, 0));
        let enters = Finding { follows: [0, 3], ..test() };
        assert_eq!(verdict(vec![enters], 0), (Verdict::Same, 1));
    }

    #[test]
    fn a_loop_that_is_turned_round_is_no_difference() {
        let inside = |line, trips| Finding {
            kind: FindingKind::Branch,
            roots: 1,
            trips: vec![TripInfo {
                location: Some(Location { line, ..Location::default() }),
                trips,
                ..TripInfo::default()
            }],
            ..Finding::default()
        };
        let verdict = |findings: Vec<Finding>, differ| {
            let mut l = report(findings, differ);
            l.accept_other_order_of_iterations(&|l| l.line == 5);
            l.conclude();
            (l.verdict, l.notes.len())
        };
        let follows = Finding { roots: 0, ..inside(9, [1, 1]) };
        assert_eq!(verdict(vec![inside(5, [4, 4]), follows], 0), (Verdict::Same, 1));
        // Outputs differ, a loop whose line both sides share, another number of iterations.
        assert_eq!(verdict(vec![inside(5, [4, 4])], 1).0, Verdict::Differs);
        assert_eq!(verdict(vec![inside(5, [4, 4]), inside(9, [4, 4])], 0), (Verdict::Differs, 0));
        assert_eq!(verdict(vec![inside(5, [4, 3])], 0), (Verdict::Differs, 0));
        let longer = Finding { extra_trips: [0, 1], ..inside(5, [4, 4]) };
        assert_eq!(verdict(vec![longer], 0), (Verdict::Differs, 0));
    }

    #[test]
    fn another_block_is_no_difference_if_all_memory_is_equal() {
        let verdict = |digests_agree, skipped: Option<String>| {
            let what = LaunchPart::Geometry;
            let block = LaunchDifference { what, name: "block".into(), ..LaunchDifference::default() };
            let mut l = LaunchReport {
                differences: vec![block],
                digests_agree,
                skipped: [skipped.clone(), skipped],
                gaps: vec!["threads do not correspond".into()],
                ..LaunchReport::default()
            };
            l.accept_geometry();
            l.accept_geometry();
            l.conclude();
            (l.verdict, l.notes.len())
        };
        assert_eq!(verdict(true, None), (Verdict::Same, 1));
        assert_eq!(verdict(false, None), (Verdict::Differs, 0));
        assert_eq!(verdict(true, Some("no PTX".into())), (Verdict::Unknown, 0));
    }

    fn launch(differences: &[(LaunchPart, &str)]) -> LaunchReport {
        let differences = differences.iter().map(|(what, name)| LaunchDifference {
            what: *what,
            name: (*name).to_owned(),
            values: ["1".into(), "2".into()],
        });
        let mut launch = LaunchReport { differences: differences.collect(), ..LaunchReport::default() };
        launch.conclude();
        launch
    }

    #[test]
    fn numbers_replace_digests_and_other_buffers_decide_nothing() {
        let near = Tolerance { rtol: 0.1, ..Tolerance::default() };
        let equal = floats(1.0, 1.01, near);
        let wrong = floats(1.0, 2.0, near);
        let mut l = launch(&[(LaunchPart::Output, "o"), (LaunchPart::Output, "scratch")]);
        assert_eq!(l.verdict, Verdict::Differs);
        add_outputs(&mut l, vec![equal]);
        assert_eq!((l.verdict, l.notes.len()), (Verdict::Same, 1));
        assert_eq!(l.differences.iter().map(|d| d.what).collect::<Vec<_>>(), [LaunchPart::Scratch]);
        let mut l = launch(&[(LaunchPart::Output, "o")]);
        add_outputs(&mut l, vec![wrong]);
        assert_eq!(l.verdict, Verdict::Differs);
        assert_eq!(l.differences[0].values, ["[0] = 1.0", "[0] = 2.0"]);
    }

    #[test]
    fn another_grid_with_equal_outputs_is_the_same_unless_a_lane_differs() {
        let equal = floats(1.0, 1.0, Tolerance::default());
        let mut l = launch(&[(LaunchPart::Geometry, "grid")]);
        l.gaps.push("no lane was compared".into());
        let mut found = LaunchReport { findings_total: 1, ..l.clone() };
        add_outputs(&mut l, vec![equal.clone()]);
        assert_eq!(
            (l.verdict, l.notes.as_slice(), l.gaps.len()),
            (Verdict::Same, &[OTHER_GRID.to_owned()][..], 0)
        );
        add_outputs(&mut found, vec![equal]);
        assert_eq!(found.verdict, Verdict::Differs);
        found.accept_decisions_of_other_threads();
        assert_eq!((found.verdict, found.findings_total, found.notes.len()), (Verdict::Same, 0, 1));
        let mut wrong = launch(&[(LaunchPart::Geometry, "grid")]);
        add_outputs(&mut wrong, vec![floats(1.0, 2.0, Tolerance::default())]);
        wrong.findings_total = 1;
        wrong.accept_decisions_of_other_threads();
        assert_eq!((wrong.verdict, wrong.findings_total), (Verdict::Differs, 1));
    }
}
