//! Explains differences of launches whose whole data flow takes much memory: both sides run again, and record
//! the CTAs that matter.
//!
//! The first run of a side has noted which CTA wrote each word of global memory last, and which CTAs depend
//! on others. The CTAs that stored the elements which are followed matter, and what they read. If they depend
//! on no other CTA, nothing else needs to run.
//!
//! # Invariants
//! Of CTAs that depend on no others, the cause is the one that the whole data flow gives.
//!
//! # Limitations
//! If a CTA depends on others and the whole data flow is larger than [`DATAFLOW_BYTES`], an element may have
//! a value from a CTA that is not recorded.

use std::collections::BTreeSet;

use anyhow::Result;
use prlx_analyze::cause::{
    ExplainedLaunch, Explanation, error_ctas, explain, explain_decision, explain_error, storing_ctas,
};
use prlx_analyze::report::{Cause, Finding};
use prlx_driver::Job;
use prlx_emu::{FlowRequest, Others};
use prlx_trace::check::Check;
use prlx_trace::dataflow::{DataFlow, Survey};

use super::side_runs::{FIRST_BYTES, Origin, at_once, record_flow};
use crate::Monitor;
use crate::device::DeviceOptions;

/// Bytes that the data flow of one side may take.
const DATAFLOW_BYTES: u64 = 1 << 30;

/// How often both sides run to record the data flow of some CTAs: each time with those that the last one led
/// to.
const FLOW_ROUNDS: usize = 3;

/// CTAs that are added at most, for one of these runs.
const MORE_CTAS: usize = 32;

/// Both sides, to run again.
pub(super) struct Reruns<'a> {
    /// By side: the launch file.
    pub(super) jobs: &'a [Job; 2],
    /// Where they ran first.
    pub(super) origin: Origin,
    /// The options of the CPU device.
    pub(super) device: &'a DeviceOptions,
    /// Shows what is done.
    pub(super) monitor: &'a Monitor<'a>,
    /// Whether the first run of a side stopped before its end.
    pub(super) stopped: bool,
}

impl Reruns<'_> {
    /// Explains why outputs differ.
    ///
    /// # Errors
    /// If the device cannot be opened, or the user interrupts.
    pub(super) fn explain(&self, launch: &ExplainedLaunch<'_>) -> Result<Explanation> {
        if launch.outputs.is_empty() {
            return Ok(Explanation::default());
        }
        if launch.flows.iter().all(|flow| flow.complete) {
            return Ok(explain(launch));
        }
        let stored = storing_ctas(launch);
        let ctas = match launch.flows[0].grid == launch.flows[1].grid {
            true => [0, 1].map(|_| stored.ctas.iter().flatten().copied().collect()),
            false => stored.ctas,
        };
        if !stored.several && self.independent(launch, &ctas) {
            return self.explain_ctas(launch, ctas, Others::Skipped);
        }
        let fits = |flow: &&DataFlow| flow.survey.as_ref().is_some_and(|s| s.bytes <= DATAFLOW_BYTES);
        let mut whole = None;
        if launch.flows.iter().all(fits) {
            let flows = self.record(None, Others::Noted)?;
            if flows.iter().all(|flow| flow.complete) {
                return Ok(explain(&with_flows(launch, &flows)));
            }
            whole = Some(flows);
        }
        let found = self.explain_ctas(launch, ctas, Others::Noted)?;
        if !found.causes.is_empty() {
            return Ok(found);
        }
        // What a recording up to the limit has may reach an element as well.
        let whole = whole.map_or_else(|| self.record(None, Others::Noted), Ok)?;
        Ok(explain(&with_flows(launch, &whole)))
    }
    /// Explains an error that one side alone makes ([`explain_error`]).
    ///
    /// # Errors
    /// If the device cannot be opened, or the user interrupts.
    pub(super) fn explain_error(&self, launch: &ExplainedLaunch<'_>) -> Result<Option<Cause>> {
        let ctas = error_ctas(launch);
        let complete = launch.flows.iter().all(|flow| flow.complete);
        if complete || ctas.is_empty() && !self.stopped {
            return Ok(explain_error(launch));
        }
        if ctas.is_empty() {
            // A side that never ends shows early why.
            let flows = self.record_within(FIRST_BYTES, None, Others::Noted)?;
            return Ok(explain_error(&with_flows(launch, &flows)));
        }
        Ok(explain_error(&with_flows(launch, &self.record_ctas(launch, ctas)?)))
    }
    /// Explains why the thread of a finding makes another decision ([`explain_decision`]).
    ///
    /// # Errors
    /// If the device cannot be opened, or the user interrupts.
    pub(super) fn explain_decision(
        &self,
        launch: &ExplainedLaunch<'_>,
        finding: &Finding,
    ) -> Result<Option<Cause>> {
        let explain =
            |launch: &ExplainedLaunch<'_>| explain_decision(launch, finding.warp.warp, finding.lane);
        if launch.flows.iter().all(|flow| flow.complete) {
            return Ok(explain(launch));
        }
        let flows = self.record_ctas(launch, BTreeSet::from([finding.warp.cta]))?;
        Ok(explain(&with_flows(launch, &flows)))
    }
    /// Records the data flow of these CTAs, and of those that they depend on.
    fn record_ctas(&self, launch: &ExplainedLaunch<'_>, ctas: BTreeSet<u64>) -> Result<[DataFlow; 2]> {
        let ctas = [ctas.clone(), ctas];
        let same_grid = launch.flows[0].grid == launch.flows[1].grid;
        match same_grid && self.independent(launch, &ctas) {
            true => self.record(Some(&ctas), Others::Skipped),
            false => self.record(None, Others::Noted),
        }
    }
    /// Whether these CTAs do the same if no other CTA runs.
    fn independent(&self, launch: &ExplainedLaunch<'_>, ctas: &[BTreeSet<u64>; 2]) -> bool {
        let alone = |side: usize| {
            let survey = launch.flows[side].survey.as_ref();
            let none = |s: &Survey| ctas[side].iter().all(|cta| !s.dependent.contains(*cta));
            let job = &self.jobs[side];
            survey.is_some_and(none) && job.config.seed == 0 && job.before.is_empty()
        };
        !self.stopped && alone(0) && alone(1)
    }
    /// Runs both sides and records these CTAs; without any, all.
    fn record(&self, ctas: Option<&[BTreeSet<u64>; 2]>, others: Others) -> Result<[DataFlow; 2]> {
        self.record_within(DATAFLOW_BYTES, ctas, others)
    }
    /// Runs both sides and records these CTAs in this much memory; without any, all.
    fn record_within(
        &self,
        bytes: u64,
        ctas: Option<&[BTreeSet<u64>; 2]>,
        others: Others,
    ) -> Result<[DataFlow; 2]> {
        self.monitor.check()?;
        let what = match ctas {
            Some([a, b]) => format!("recording the data flow of {} CTAs", a.len().max(b.len())),
            None => "recording the data flow of all CTAs".to_owned(),
        };
        let _activity = self.monitor.activity(&what);
        // With the first, a run goes on behind an access that is out of bounds, as the first one did.
        let checks = [Check::Bounds, Check::Sync];
        let checks = if ctas.is_some() && others == Others::Noted { &checks[..1] } else { &checks[..] };
        at_once(|side| {
            let ctas = ctas.map(|ctas| ctas[side].clone());
            let request = FlowRequest { bytes, ctas, others };
            record_flow(&self.jobs[side], self.origin, self.device, checks, request)
        })
    }
    /// Explains differing outputs by the data flow of the CTAs that stored the elements which are followed,
    /// and of those that they read from.
    fn explain_ctas(
        &self,
        launch: &ExplainedLaunch<'_>,
        mut ctas: [BTreeSet<u64>; 2],
        others: Others,
    ) -> Result<Explanation> {
        let mut found = Explanation::default();
        for _ in 0..FLOW_ROUNDS {
            let flows = self.record(Some(&ctas), others)?;
            if flows.iter().any(|flow| !flow.complete) && ctas.iter().any(|ctas| ctas.len() > 1) {
                // Fewer elements then have a cause, but the right one.
                for ctas in &mut ctas {
                    let kept = ctas.len().div_ceil(4);
                    *ctas = std::mem::take(ctas).into_iter().take(kept).collect();
                }
                continue;
            }
            found = explain(&with_flows(launch, &flows));
            let more: BTreeSet<u64> = found.unrecorded.iter().copied().take(MORE_CTAS).collect();
            if more.is_empty() || ctas.iter().all(|ctas| more.is_subset(ctas)) {
                break;
            }
            ctas.iter_mut().for_each(|ctas| ctas.extend(&more));
        }
        Ok(found)
    }
}

/// The same launch with another recording of its data flow.
fn with_flows<'a>(launch: &ExplainedLaunch<'a>, flows: &'a [DataFlow; 2]) -> ExplainedLaunch<'a> {
    ExplainedLaunch { flows: [&flows[0], &flows[1]], ..*launch }
}
