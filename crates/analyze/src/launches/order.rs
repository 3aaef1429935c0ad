//! Decisions that follow from the order of threads or from time: from what an atomic returned, a flag that
//! another thread sets, the phase of an mbarrier, or a clock.
//!
//! The value that an atomic returns depends on who came first, and how often a loop polls a flag depends on
//! when the other thread sets it. If the outputs agree all the same, what followed from it is no difference.
//! Nor are values that one build stores in shared memory then: where kernels handle the end of an array, they
//! store registers there that nothing wrote, and read them in vain.
//!
//! # Limitations
//! The way from an atomic to a decision is seen in registers only. Addresses are not followed, nor values
//! that another thread stored for this one. In a build with atomics, stored values and loads of shared memory
//! are taken to follow from them; if an atomic returns its value, or a load polls one, everything is, since a
//! CTA may take its work from a counter. `prlx compare` runs the checks, so that a race is not taken for
//! order.

use prlx_trace::Dim3;
use prlx_trace::kernel::{Site, SiteClass};

use crate::report::{
    Cause, CauseClass, CausePlace, Finding, FindingKind, LaunchPart, LaunchReport, ORDER_ADVICE, SiteInfo,
};

/// Loads of values that other threads publish, as instructions are written.
const POLLS: [&str; 3] = ["ld.volatile", "ld.acquire", "ld.relaxed"];

/// What else a value depends on that is a matter of order or time, as instructions or registers are written.
const SOURCES: [&str; 6] =
    ["atom.", "mbarrier.try_wait", "mbarrier.test_wait", "%clock", "%globaltimer", "activemask"];

/// What threads of the one build that both sides run exchange in no fixed order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Exchange {
    /// Nothing, or the sides run two builds.
    None,
    /// Reductions, whose old value nobody reads. Stored values, and what was loaded from shared memory, can
    /// follow from one of another thread.
    Reductions,
    /// Values: an atomic that returns the old one, or a volatile, relaxed or acquiring load of memory that is
    /// not shared. All work of a thread can follow from it: CTAs take their tile from a counter, and add what
    /// the CTAs before have published.
    Values,
}

impl Exchange {
    /// What code with these sites exchanges.
    pub(crate) fn of<'a>(sites: impl Iterator<Item = &'a Site>) -> Exchange {
        let kind = |s: &Site| match s.class {
            SiteClass::Atomic if s.text.contains("atom.") => Exchange::Values,
            SiteClass::Atomic => Exchange::Reductions,
            _ if s.text.contains(".shared") || !has_any(&s.text, &POLLS) => Exchange::None,
            _ => Exchange::Values,
        };
        sites.map(kind).max().unwrap_or(Exchange::None)
    }
}

/// Whether everything that lanes first did differently can follow from the order of threads or from time, or
/// stays in the shared memory of the `one_build` that both sides run.
pub(crate) fn decides(findings: &[Finding], exchange: Exchange, one_build: bool) -> bool {
    let shared = |f: &Finding| f.slice.iter().any(|n| n.text.contains("ld.shared"));
    let follows = |f: &Finding| match exchange {
        Exchange::Values => true,
        Exchange::Reductions => f.kind == FindingKind::Value || shared(f),
        Exchange::None => false,
    };
    findings.iter().all(|f| f.roots == 0 || is_order(f) || follows(f) || one_build && stays_in_shared(f))
}

/// Whether a finding is a value that was stored in shared memory.
fn stays_in_shared(f: &Finding) -> bool {
    let stores = |site: &SiteInfo| site.class == SiteClass::Store && site.text.contains(".shared");
    f.kind == FindingKind::Value && f.shown().is_some_and(stores)
}

/// Whether a text has one of these parts.
fn has_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|p| text.contains(p))
}

/// Whether a finding is the value that an atomic returned, or follows in registers from one of [`POLLS`] or
/// [`SOURCES`].
fn is_order(f: &Finding) -> bool {
    let source = |text: &str| has_any(text, &POLLS) || has_any(text, &SOURCES);
    let of_atomic = f.shown().is_some_and(|s| s.class == SiteClass::Atomic);
    f.kind == FindingKind::Value && of_atomic || f.slice.iter().any(|n| source(&n.text))
}

/// Why order explains different behaviour.
pub(crate) const DECIDES_THERE: &str = "the order or the timing of threads decides there";

/// Why values in shared memory that differ are accepted.
const STAYS_IN_SHARED: &str = "the values that differ are stored in shared memory";

/// The note on different behaviour that is no difference: `what` there was, and `why` it does not count.
pub(crate) fn accepted(what: &str, why: &str) -> String {
    format!("{what}: {why}. The outputs agree, so it is no difference (--strict counts it)")
}

impl LaunchReport {
    /// Removes the findings if equal outputs settle all of them ([`decides`]), the inputs agree, and
    /// `outputs_agree`. A note says what there was. The verdict is computed again.
    pub(crate) fn accept_order_of_threads(&mut self, outputs_agree: bool) {
        if self.order && self.findings_total > 0 && outputs_agree && self.inputs_agree() {
            let stays = self.findings.iter().all(stays_in_shared);
            self.accept_order(if stays { STAYS_IN_SHARED } else { DECIDES_THERE });
        }
    }

    /// Whether no argument, buffer or size is known to differ before the launch.
    pub(crate) fn inputs_agree(&self) -> bool {
        let inputs = |p: LaunchPart| matches!(p, LaunchPart::Input | LaunchPart::Geometry);
        !self.differences.iter().any(|d| inputs(d.what))
    }

    /// Removes the findings, since only the order of threads explains them and the outputs agree. A note says
    /// what there was, and `why` it does not count. The verdict is computed again.
    pub fn accept_order(&mut self, why: &str) {
        let what = self.take_different_behaviour();
        self.notes.push(accepted(&what, why));
        self.conclude();
    }

    /// Takes what can follow from the order of threads for undecided, because the outputs are not known: the
    /// findings become a gap, and the verdict is computed again. Does nothing for other findings.
    pub fn leave_order_open(&mut self) {
        if self.findings_total == 0 || !self.order || self.outputs_agree() {
            return;
        }
        let what = self.take_different_behaviour();
        let why = "the order or the timing of threads can decide there, and what the launch left is not known \
                   (--digest compares all launches)";
        self.gaps.push(format!("{what}: {why}"));
        self.conclude();
    }

    /// Removes the findings. Returns what there was, in words.
    fn take_different_behaviour(&mut self) -> String {
        let (n, at) = self.take_findings();
        let behave = if n == 1 { "thread behaves" } else { "threads behave" };
        format!("{n} {behave} differently{at}")
    }

    /// Removes the findings. Returns the number of threads that they concern, and where the first one is, as
    /// ", first at a.cu:3".
    pub(crate) fn take_findings(&mut self) -> (u64, String) {
        let at = self.findings.first().and_then(Finding::location);
        let at = at.map(|l| format!(", first at {}:{}", prlx_trace::names::file_name(&l.file), l.line));
        self.findings.clear();
        self.findings_total = 0;
        (std::mem::take(&mut self.differing).lanes, at.unwrap_or_default())
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
