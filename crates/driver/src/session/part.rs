//! The part of a process's launches that `--from`, `--to` and `--range` keep.
//!
//! # Invariants
//! - Both ends belong to the part.
//! - A bound that was written as text reads back equal.
//!
//! # Limitations
//! Only ranges that contain a launch count: a recording does not know others.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use prlx_trace::Launch;
use prlx_trace::launch::RangeName;

use super::pattern::KernelPattern;

/// Begin of a bound that names an NVTX range.
const RANGE: &str = "nvtx:";

/// One end of a part of the launches: `120`, `gemm*`, `gemm*#3`, `nvtx:step_3`, or `nvtx:step#1`.
#[derive(Clone, PartialEq, Debug)]
pub enum LaunchBound {
    /// The launch with this number, from 0.
    Number(u64),
    /// The first launch of such a kernel; as the end of a part, the first one that is not before its begin.
    Kernel(KernelPattern),
    /// The launch of such a kernel with this number among the process's launches of such kernels, from 0.
    Nth(KernelPattern, u64),
    /// All launches in an NVTX range.
    Range(RangePattern),
}

/// NVTX ranges: `step_3`, `step_*`, `step@domain`, or `step#1`.
#[derive(Clone, PartialEq, Debug)]
pub struct RangePattern {
    /// Matches the text of a range, alone or followed by `@` and the domain.
    name: KernelPattern,
    /// The number of the range among those with such a name that contain a launch, from 0. `None`: for
    /// `--from` and `--to` the first, for `--range` all.
    nth: Option<u64>,
}

impl FromStr for RangePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<RangePattern, String> {
        let text = text.strip_prefix(RANGE).unwrap_or(text);
        if text.is_empty() {
            return Err("name an NVTX range as NAME, NAME@DOMAIN or NAME#N".into());
        }
        let (name, nth) = with_number(text)?;
        Ok(RangePattern { name: KernelPattern::new(name)?, nth })
    }
}

impl fmt::Display for RangePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.text())?;
        self.nth.map_or(Ok(()), |n| write!(f, "#{n}"))
    }
}

impl RangePattern {
    /// The numbers of the ranges around a launch that have such a name, outermost first.
    fn matching<'a>(&'a self, launch: &'a Launch, names: &'a [RangeName]) -> impl Iterator<Item = u64> + 'a {
        let named = |at: usize| {
            let known = names.get(at);
            known.is_some_and(|n| self.name.matches(&n.name) || self.name.matches(&n.to_string()))
        };
        launch.ranges.iter().filter(move |r| named(r.name.index())).map(|r| r.instance)
    }
}

/// `NAME#N` as name and number; any other text as name.
fn with_number(text: &str) -> Result<(&str, Option<u64>), String> {
    match text.rsplit_once('#') {
        Some((name, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => {
            n.parse().map(|n| (name, Some(n))).map_err(|e| format!("`{text}`: {e}"))
        }
        _ => Ok((text, None)),
    }
}

impl FromStr for LaunchBound {
    type Err = String;

    fn from_str(text: &str) -> Result<LaunchBound, String> {
        if text.is_empty() {
            return Err(
                "name a launch by its number, by its kernel as NAME or NAME#N, or by nvtx:RANGE".into()
            );
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(LaunchBound::Number).map_err(|e| format!("`{text}`: {e}"));
        }
        if text.starts_with(RANGE) {
            return text.parse().map(LaunchBound::Range);
        }
        let (name, n) = with_number(text)?;
        let pattern = KernelPattern::new(name)?;
        Ok(match n {
            Some(n) => LaunchBound::Nth(pattern, n),
            None => LaunchBound::Kernel(pattern),
        })
    }
}

impl fmt::Display for LaunchBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchBound::Number(n) => write!(f, "{n}"),
            LaunchBound::Kernel(pattern) => f.write_str(pattern.text()),
            LaunchBound::Nth(pattern, n) => write!(f, "{}#{n}", pattern.text()),
            LaunchBound::Range(range) => write!(f, "{RANGE}{range}"),
        }
    }
}

/// A part of the launches of each process; without bounds, all of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchPart {
    /// Its first launch.
    pub from: Option<LaunchBound>,
    /// Its last launch.
    pub to: Option<LaunchBound>,
    /// The NVTX ranges that its launches lie in.
    pub range: Option<RangePattern>,
}

impl LaunchPart {
    /// Whether the part has all launches.
    pub fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.range.is_none()
    }
}

/// Finds the launches of a part, in the order in which a process makes them.
#[derive(Clone, Debug, Default)]
pub struct LaunchPartState {
    /// Launches so far that match the kernel of the first bound and of the last.
    matched: [u64; 2],
    /// The ranges so far that match the first bound, the last bound and [`LaunchPart::range`], with their
    /// numbers in the order of their first launches.
    ranges: [HashMap<u64, u64>; 3],
    /// Whether a launch in the range of the last bound was taken.
    in_last: bool,
    begun: bool,
    ended: bool,
}

impl LaunchPartState {
    /// Whether the next launch belongs to the part. It has the kernel of this name in the module, and this
    /// number; `names` are the names of ranges ([`prlx_trace::Trace::ranges`]).
    pub fn takes(
        &mut self,
        part: &LaunchPart,
        (kernel, number): (&str, u64),
        launch: &Launch,
        names: &[RangeName],
    ) -> bool {
        let from = part.from.as_ref().is_none_or(|b| self.reaches(b, 0, (kernel, number), launch, names));
        self.begun |= from;
        let to = part.to.as_ref().is_some_and(|b| self.reaches(b, 1, (kernel, number), launch, names));
        let past = match part.to {
            Some(LaunchBound::Number(n)) => number > n,
            Some(LaunchBound::Range(_)) => self.in_last && !to,
            _ => false,
        };
        self.ended |= past;
        let inside = part.range.as_ref().is_none_or(|range| self.is_in(range, 2, launch, names));
        let taken = self.begun && !self.ended;
        // A part that ends with a range has all its launches.
        match part.to {
            Some(LaunchBound::Range(_)) => self.in_last |= taken && to,
            _ => self.ended |= self.begun && to,
        }
        taken && inside
    }

    /// Whether a launch is the bound of this number.
    fn reaches(
        &mut self,
        bound: &LaunchBound,
        end: usize,
        (kernel, number): (&str, u64),
        launch: &Launch,
        names: &[RangeName],
    ) -> bool {
        match bound {
            LaunchBound::Number(n) => number >= *n,
            LaunchBound::Kernel(pattern) => pattern.matches(kernel),
            LaunchBound::Nth(pattern, n) => {
                let matches = pattern.matches(kernel);
                self.matched[end] += u64::from(matches);
                matches && self.matched[end] == n + 1
            }
            // Without a number, ranges before the part's begin do not count.
            LaunchBound::Range(range) if range.nth.is_none() && !self.begun && end == 1 => false,
            LaunchBound::Range(range) => {
                let first = RangePattern { nth: Some(range.nth.unwrap_or(0)), ..range.clone() };
                self.is_in(&first, end, launch, names)
            }
        }
    }

    /// Whether a launch lies in such a range. `place`: where the ranges so far are counted.
    fn is_in(&mut self, range: &RangePattern, place: usize, launch: &Launch, names: &[RangeName]) -> bool {
        let mut inside = false;
        for instance in range.matching(launch, names) {
            let seen = &mut self.ranges[place];
            let next = seen.len() as u64;
            let nth = *seen.entry(instance).or_insert(next);
            inside |= range.nth.is_none_or(|n| n == nth);
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use prlx_trace::RangeId;
    use prlx_trace::launch::LaunchRange;

    use super::*;

    /// The launches that a part takes of `a b c a b c a b c`.
    fn taken(from: Option<&str>, to: Option<&str>) -> Vec<u64> {
        let bound = |text: Option<&str>| text.map(|t| t.parse().unwrap());
        let part = LaunchPart { from: bound(from), to: bound(to), range: None };
        taken_by(&part)
    }

    /// The launches that a part takes of `a b c a b c a b c`. Launches 1 to 3 lie in a range `step`, 2 in
    /// `inner` inside of it, 5 in `step` of the domain `d`, 6 to 8 in `step` again.
    fn taken_by(part: &LaunchPart) -> Vec<u64> {
        let name = |name: &str, domain: &str| RangeName { name: name.into(), domain: domain.into() };
        let names = [name("step", ""), name("inner", ""), name("step", "d")];
        let range = |name, instance| LaunchRange { name: RangeId(name), instance };
        let ranges = |n| match n {
            2 => vec![range(0, 4), range(1, 5)],
            1 | 3 => vec![range(0, 4)],
            5 => vec![range(2, 7)],
            6..=8 => vec![range(0, 9)],
            _ => Vec::new(),
        };
        let mut state = LaunchPartState::default();
        let all = (0..9).zip(["a", "b", "c"].into_iter().cycle());
        all.filter(|(n, kernel)| {
            let launch = Launch { ranges: ranges(*n), ..Launch::default() };
            state.takes(part, (kernel, *n), &launch, &names)
        })
        .map(|(n, _)| n)
        .collect()
    }

    #[test]
    fn parts_begin_and_end_at_ranges() {
        assert_eq!(taken(Some("nvtx:step"), Some("nvtx:step")), [1, 2, 3]);
        assert_eq!(taken(Some("nvtx:step"), Some("4")), [1, 2, 3, 4]);
        assert_eq!(taken(Some("nvtx:step#1"), Some("nvtx:step#1")), [5]);
        assert_eq!(taken(Some("nvtx:step@d"), None), [5, 6, 7, 8]);
        assert_eq!(taken(Some("nvtx:inner"), Some("nvtx:step#2")), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(taken(Some("4"), Some("nvtx:step")), [4, 5]);
        assert_eq!(taken(None, Some("nvtx:in*")), [0, 1, 2]);
        assert!(taken(Some("nvtx:none"), None).is_empty());
        let range = |text: &str| LaunchPart { range: Some(text.parse().unwrap()), ..LaunchPart::default() };
        assert_eq!(taken_by(&range("step")), [1, 2, 3, 5, 6, 7, 8]);
        assert_eq!(taken_by(&range("nvtx:step#2")), [6, 7, 8]);
        assert_eq!(taken_by(&range("*@d")), [5]);
        let part =
            LaunchPart { from: Some("2".parse().unwrap()), to: Some("7".parse().unwrap()), ..range("step") };
        assert_eq!(taken_by(&part), [2, 3, 5, 6, 7]);
    }

    #[test]
    fn parts_begin_and_end_at_numbers_and_kernels() {
        assert_eq!(taken(None, None).len(), 9);
        assert_eq!(taken(Some("2"), Some("4")), [2, 3, 4]);
        assert_eq!(taken(Some("b"), Some("a")), [1, 2, 3]);
        assert_eq!(taken(Some("b#1"), Some("c")), [4, 5]);
        assert_eq!(taken(Some("a"), Some("a")), [0]);
        assert_eq!(taken(None, Some("b#1")), [0, 1, 2, 3, 4]);
        assert_eq!(taken(Some("c#2"), None), [8]);
        assert!(taken(Some("none"), None).is_empty());
        // The end was before the begin.
        assert_eq!(taken(Some("5"), Some("b#0")), [5, 6, 7, 8]);
        assert!(taken(Some("5"), Some("3")).is_empty());
    }

    #[test]
    fn bounds_read_back() {
        for text in ["12", "gemm*", "gemm*#3", "/^a#b$/", "a#b", "nvtx:step", "nvtx:st*@d#2"] {
            let bound: LaunchBound = text.parse().unwrap();
            assert_eq!(bound.to_string(), text);
        }
        assert!(LaunchBound::from_str("").is_err() && LaunchBound::from_str("/(/").is_err());
    }
}
