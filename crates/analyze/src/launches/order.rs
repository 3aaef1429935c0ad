//! Decisions that follow from the order of threads or from time: from what an atomic returned, a flag that
//! another thread sets, the phase of an mbarrier, or a clock.
//!
//! The value that an atomic returns depends on who came first, and how often a loop polls a flag depends on
//! when the other thread sets it. If the outputs agree all the same, what followed from it is no difference.
//!
//! # Limitations
//! The way from an atomic to a decision is seen in registers only. A value that another thread stored for
//! this one is not followed: in a build with atomics, stored values and loads of shared memory are taken to
//! follow from them. `prlx compare` of launch files runs the checks, so that a race is not taken for order.

use prlx_trace::Dim3;
use prlx_trace::kernel::SiteClass;

use crate::report::{
    Cause, CauseClass, CausePlace, Finding, FindingKind, LaunchPart, LaunchReport, ORDER_ADVICE,
};

/// What a value depends on that is a matter of order or time, as instructions or registers are written.
const SOURCES: [&str; 9] = [
    "atom.",
    "ld.volatile",
    "ld.acquire",
    "ld.relaxed",
    "mbarrier.try_wait",
    "mbarrier.test_wait",
    "%clock",
    "%globaltimer",
    "activemask",
];

/// Whether everything that lanes first did differently follows from the order of threads or from time.
/// `atomics`: both sides run one build, and it has atomics. Then stored values, and what was loaded from
/// shared memory, can follow from an atomic of another thread.
pub(crate) fn decides(findings: &[Finding], atomics: bool) -> bool {
    let shared = |f: &Finding| f.slice.iter().any(|n| n.text.contains("ld.shared"));
    let follows =
        |f: &Finding| f.roots == 0 || is_order(f) || atomics && (f.kind == FindingKind::Value || shared(f));
    findings.iter().all(follows)
}

/// Whether a finding is the value that an atomic returned, or follows in registers from one of [`SOURCES`].
fn is_order(f: &Finding) -> bool {
    let source = |text: &str| SOURCES.iter().any(|s| text.contains(s));
    let of_atomic = f.shown().is_some_and(|s| s.class == SiteClass::Atomic);
    f.kind == FindingKind::Value && of_atomic || f.slice.iter().any(|n| source(&n.text))
}

impl LaunchReport {
    /// Removes the findings if all of them follow from the order of threads or from time, the inputs agree,
    /// and `outputs_agree`. A note says what there was. The verdict is computed again.
    pub(crate) fn accept_order_of_threads(&mut self, outputs_agree: bool) {
        let inputs = |p: LaunchPart| matches!(p, LaunchPart::Input | LaunchPart::Geometry);
        if self.order
            && self.findings_total > 0
            && outputs_agree
            && !self.differences.iter().any(|d| inputs(d.what))
        {
            self.accept_order("the order or the timing of threads decides there");
        }
    }

    /// Removes the findings, since only the order of threads explains them and the outputs agree. A note says
    /// what there was, and `why` it does not count. The verdict is computed again.
    pub fn accept_order(&mut self, why: &str) {
        let at = self.findings.first().and_then(Finding::location);
        let at = at.map(|l| {
            format!(", first at {}:{}", l.file.rsplit(['/', '\\']).next().unwrap_or(&l.file), l.line)
        });
        let n = self.differing.lanes;
        self.notes.push(format!(
            "{n} {} differently{}: {why}. The outputs agree, so it is no difference (--strict counts it)",
            if n == 1 { "thread behaves" } else { "threads behave" },
            at.unwrap_or_default(),
        ));
        self.findings.clear();
        self.findings_total = 0;
        self.differing = Default::default();
        self.conclude();
    }

    /// Adds a cause: two schedules of one launch, in which the checks find no error, leave other outputs.
    pub fn add_order_cause(&mut self) {
        let output = self.outputs.iter().find_map(|o| Some((o.name.clone(), o.first.clone()?)));
        let (Some(finding), Some((output, first))) = (self.findings.first(), output) else { return };
        let thread = finding.warp.in_cta * self.warp_size.lanes() + u64::from(finding.lane);
        let place = |side: usize| {
            let site = finding.site[side].as_ref()?;
            let Dim3 { x, y, z } = finding.warp.at;
            let thread = self.block.position(thread);
            Some(CausePlace {
                text: site.text.clone(),
                location: site.location.clone(),
                function: site.function.clone(),
                cta: [x, y, z],
                thread: [thread.x, thread.y, thread.z],
                trip: finding.visit[side].unwrap_or_default(),
                ..CausePlace::default()
            })
        };
        self.causes.push(Cause {
            class: CauseClass::Order,
            output,
            element: first.index,
            values: first.values,
            elements: 1,
            what:
                "both sides run the same code on the same inputs, and the checks find no error: the order of \
                   threads decides"
                    .into(),
            advice: ORDER_ADVICE.into(),
            places: [place(0), place(1)],
            ..Cause::default()
        });
    }
}
