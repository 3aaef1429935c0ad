//! What viewers show beside a report: source texts, and the paths around its first findings.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::Trace;

use crate::compare::at_number;
use crate::error::Error;
use crate::report::{Finding, LaunchReport, Location, PathView, Report};

use super::around_finding::path_view;
use super::options::PathViewOptions;

/// What viewers show beside a report: the paths around its first findings, and the source files that its
/// findings name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ViewModel {
    /// By the launch's index in the report and the finding's index in the launch.
    pub path_views: BTreeMap<(usize, usize), PathView>,
    /// By side: the texts of source files, by the path in locations.
    pub sources: [BTreeMap<String, String>; 2],
}

impl ViewModel {
    /// Adds sources and path views for the findings of one pair of processes, whose recordings are `traces`.
    /// Stops adding path views at `most` in all.
    ///
    /// # Errors
    /// Those of [`path_view`].
    pub fn add(
        &mut self,
        traces: [&Trace; 2],
        report: &Report,
        process: u64,
        most: usize,
        options: &PathViewOptions,
    ) -> Result<(), Error> {
        for (i, launch) in report.launches.iter().enumerate().filter(|(_, l)| l.process == process) {
            for (j, finding) in launch.findings.iter().enumerate() {
                self.add_sources(traces, launch, finding);
                if self.path_views.len() < most
                    && let Some(found) = path_view(traces, launch, finding, options)?
                {
                    self.path_views.insert((i, j), found);
                }
            }
        }
        Ok(())
    }

    /// Reads the source files that the report names and the recordings do not contain. `source` returns a
    /// file's text by side and path. Also fills in the code of these locations in `report`.
    pub fn read(&mut self, report: &mut Report, mut source: impl FnMut(usize, &str) -> Option<String>) {
        let mut known: [BTreeMap<String, Option<String>>; 2] = Default::default();
        let mut tell = |side: usize, at: &mut Location| {
            let text = match known[side].get(&at.file) {
                Some(text) => text,
                None => known[side].entry(at.file.clone()).or_insert_with(|| source(side, &at.file)),
            };
            let line = text.as_deref().and_then(|t| t.lines().nth((at.line as usize).checked_sub(1)?));
            at.code = line.map(|l| l.trim_end().to_owned());
        };
        for finding in report.launches.iter_mut().flat_map(|l| &mut l.findings) {
            for (side, site) in finding.site.iter_mut().enumerate() {
                site.iter_mut().flat_map(|s| &mut s.location).for_each(|at| tell(side, at));
            }
            finding.trips.iter_mut().flat_map(|t| &mut t.location).for_each(|at| tell(0, at));
        }
        for (all, known) in self.sources.iter_mut().zip(known) {
            all.extend(known.into_iter().filter_map(|(file, text)| Some((file, text?))));
        }
    }

    fn add_sources(&mut self, traces: [&Trace; 2], launch: &LaunchReport, finding: &Finding) {
        let sites = finding.site.iter().flatten().flat_map(|s| s.location.iter());
        let steered = finding.site.iter().flatten().flat_map(|s| &s.steers).flat_map(|s| s.location.iter());
        let slice = finding.slice.iter().flat_map(|n| n.location.iter());
        let places = sites.chain(steered).chain(slice).chain(&finding.place);
        let files: BTreeSet<&str> =
            places.flat_map(|l| std::iter::once(l).chain(&l.inlined)).map(|l| l.file.as_str()).collect();
        for (side, trace) in traces.into_iter().enumerate() {
            let recording = at_number(trace, launch.launch[side]);
            let module = recording.and_then(|r| trace.modules.get(r.launch.module.index()));
            for f in module.into_iter().flat_map(|m| &m.files).filter(|f| files.contains(f.path.as_str())) {
                if let Some(text) = &f.text {
                    self.sources[side].entry(f.path.clone()).or_insert_with(|| text.clone());
                }
            }
        }
    }
}
