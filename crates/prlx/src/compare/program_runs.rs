//! Runs the programs of a comparison, each as often as the comparison needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use prlx_driver::session::{LaunchPart, Options, Session};
use prlx_trace::Recording;

use super::launch_files::CompareOptions;
use crate::Monitor;
use crate::diff::{kernel_name, launches_by_number, match_processes, read_file};
use crate::record::{self, ProgramOutput, Supervisor, TunerChoices};

/// Two programs that run more than once.
pub(super) struct Programs<'a> {
    pub(super) commands: [&'a [OsString]; 2],
    /// Where recordings go.
    pub(super) folder: &'a Path,
    /// Overwrite recordings that are there.
    pub(super) force: bool,
    pub(super) supervisor: &'a Supervisor,
    /// What autotuners chose in earlier runs.
    pub(super) choices: &'a TunerChoices,
    /// By side: whether the driver waits for every launch, so that a fault loses no other launch.
    pub(super) blocking: [bool; 2],
}

/// Two programs and their first recordings.
pub(super) struct Recorded<'a> {
    pub(super) programs: Programs<'a>,
    pub(super) sides: [Session; 2],
    /// How both were recorded.
    pub(super) session: &'a Options,
    pub(super) options: &'a CompareOptions,
    pub(super) monitor: &'a Monitor<'a>,
}

impl Programs<'_> {
    /// Runs side `side` once more; the name of its recording ends in `suffix`.
    pub(super) fn record(
        &self,
        side: usize,
        suffix: &str,
        options: &Options,
        monitor: &Monitor<'_>,
    ) -> Result<Session> {
        monitor.check()?;
        let name = ["a", "b"][side];
        let options = Options { folder: self.folder.join(format!("{name}{suffix}.prlx")), ..options.clone() };
        if self.force {
            record::remove_recording(&options.folder)?;
        }
        let output = ProgramOutput::ToStderr;
        let blocking = ["env", "CUDA_LAUNCH_BLOCKING=1"].map(OsString::from);
        let blocking = blocking.iter().filter(|_| self.blocking[side]);
        let command: Vec<OsString> = blocking.chain(self.commands[side]).cloned().collect();
        let with = (self.supervisor, self.choices);
        let ended = record::run_with_choices(&command, &options, output, with, monitor)?;
        if ended.stopped {
            bail!("stopped by a signal, while {} ran", name.to_uppercase());
        }
        if let Some(how) = ended.failure() {
            monitor.warn(&format!("{} {how}", name.to_uppercase()));
        }
        Ok(Session::open(&options.folder)?)
    }
}

impl Recorded<'_> {
    /// Runs side `side` once more and records only the launches with these numbers, of every process.
    pub(super) fn record_launches(
        &self,
        side: usize,
        suffix: &str,
        numbers: impl Iterator<Item = u64>,
        options: Options,
    ) -> Result<Session> {
        let launches = ranges(numbers);
        let part = LaunchPart::default();
        let options = Options { part, launches, skip: 0, count: None, time: None, ..options };
        self.programs.record(side, suffix, &options, self.monitor)
    }

    /// The position of the file of process `process` of the report, in the first recording of side `side`.
    pub(super) fn file(&self, side: usize, process: u64) -> Option<usize> {
        let (a, b) = *match_processes(&self.sides).pairs.get(usize::try_from(process).ok()?)?;
        Some([a, b][side])
    }

    /// The launches of side `side` that `made`, a later recording of it, has as the first one does, by
    /// process and number: of the same kernel, with the same dimensions. What a program chooses by time, it
    /// may choose otherwise.
    ///
    /// # Errors
    /// If a recording cannot be read.
    pub(super) fn made_again(&self, side: usize, made: &Session) -> Result<BTreeSet<(u64, u64)>> {
        let mut again = BTreeSet::new();
        for process in 0..self.sides[side].files.len() as u64 {
            let files = self.file(side, process).zip(self.file_again(side, process, made));
            let Some((then, now)) = files else { continue };
            let traces = [read_file(&self.sides[side], then)?, read_file(made, now)?];
            let [then, now] = traces.each_ref().map(|trace| -> BTreeMap<u64, _> {
                let launches = launches_by_number(trace).into_iter();
                let what = |r: &Recording| (kernel_name(trace, r), r.launch.grid, r.launch.block);
                launches.map(|(number, r)| (number, what(r))).collect()
            });
            let same = now.iter().filter(|(number, what)| then.get(number) == Some(what));
            again.extend(same.map(|(number, _)| (process, *number)));
        }
        Ok(again)
    }

    /// The position of the same file in `made`, a later recording of that side.
    pub(super) fn file_again(&self, side: usize, process: u64, made: &Session) -> Option<usize> {
        let first = self.file(side, process)?;
        let same = match_processes(&[self.sides[side].clone(), made.clone()]).pairs;
        same.into_iter().find(|(then, _)| *then == first).map(|(_, now)| now)
    }
}

/// Launch numbers as half-open ranges. Programs get them through their environment, which has little room: of
/// many ranges, near ones become one.
fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    let mut gap = 0;
    loop {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for &n in &numbers {
            match ranges.last_mut() {
                Some((_, end)) if n <= end.saturating_add(gap) => *end = n + 1,
                _ => ranges.push((n, n + 1)),
            }
        }
        if ranges.len() <= MAX_RANGES {
            return ranges;
        }
        gap = 2 * gap + 1;
    }
}

/// The most ranges of launch numbers that a program gets.
const MAX_RANGES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_numbers_become_few_ranges() {
        assert_eq!(ranges([5, 1, 2, 3, 9].into_iter()), [(1, 4), (5, 6), (9, 10)]);
        let few = ranges((0..100_000).map(|n| 3 * n));
        assert!(few.len() <= MAX_RANGES && few[0].0 == 0 && few.iter().any(|r| r.1 == 299_998), "{few:?}");
        assert!(ranges(std::iter::empty()).is_empty());
    }
}
