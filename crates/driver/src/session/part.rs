//! The part of a process's launches that `--from` and `--to` keep.
//!
//! # Invariants
//! - Both ends belong to the part.
//! - A bound that was written as text reads back equal.
//!
//! # Limitations
//! Launches are known by their number and by their kernel. Recordings do not know NVTX ranges.

use std::fmt;
use std::str::FromStr;

use super::pattern::KernelPattern;

/// One end of a part of the launches: `120`, `gemm*`, or `gemm*#3`.
#[derive(Clone, PartialEq, Debug)]
pub enum LaunchBound {
    /// The launch with this number, from 0.
    Number(u64),
    /// The first launch of such a kernel; as the end of a part, the first one that is not before its begin.
    Kernel(KernelPattern),
    /// The launch of such a kernel with this number among the process's launches of such kernels, from 0.
    Nth(KernelPattern, u64),
}

impl FromStr for LaunchBound {
    type Err = String;

    fn from_str(text: &str) -> Result<LaunchBound, String> {
        if text.is_empty() {
            return Err("name a launch by its number, or by its kernel as NAME or NAME#N".into());
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(LaunchBound::Number).map_err(|e| format!("`{text}`: {e}"));
        }
        match text.rsplit_once('#') {
            Some((name, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => {
                let n = n.parse().map_err(|e| format!("`{text}`: {e}"))?;
                Ok(LaunchBound::Nth(KernelPattern::new(name)?, n))
            }
            _ => KernelPattern::new(text).map(LaunchBound::Kernel),
        }
    }
}

impl fmt::Display for LaunchBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchBound::Number(n) => write!(f, "{n}"),
            LaunchBound::Kernel(pattern) => f.write_str(pattern.text()),
            LaunchBound::Nth(pattern, n) => write!(f, "{}#{n}", pattern.text()),
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
}

impl LaunchPart {
    /// Whether the part has all launches.
    pub fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }
}

/// Finds the launches of a part, in the order in which a process makes them.
#[derive(Clone, Debug, Default)]
pub struct LaunchPartState {
    /// Launches so far that match the kernel of the first bound and of the last.
    matched: [u64; 2],
    begun: bool,
    ended: bool,
}

impl LaunchPartState {
    /// Whether the next launch belongs to the part. `kernel` is the name of its kernel in the module.
    pub fn takes(&mut self, part: &LaunchPart, kernel: &str, number: u64) -> bool {
        let mut reaches = |bound: &LaunchBound, end: usize| match bound {
            LaunchBound::Number(n) => number >= *n,
            LaunchBound::Kernel(pattern) => pattern.matches(kernel),
            LaunchBound::Nth(pattern, n) => {
                let matches = pattern.matches(kernel);
                self.matched[end] += u64::from(matches);
                matches && self.matched[end] == n + 1
            }
        };
        let from = part.from.as_ref().is_none_or(|bound| reaches(bound, 0));
        let to = part.to.as_ref().is_some_and(|bound| reaches(bound, 1));
        self.begun |= from;
        let past = matches!(part.to, Some(LaunchBound::Number(n)) if number > n);
        let taken = self.begun && !self.ended && !past;
        self.ended |= self.begun && to;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The launches that a part takes of `a b c a b c a b c`.
    fn taken(from: Option<&str>, to: Option<&str>) -> Vec<u64> {
        let bound = |text: Option<&str>| text.map(|t| t.parse().unwrap());
        let part = LaunchPart { from: bound(from), to: bound(to) };
        let mut state = LaunchPartState::default();
        let all = (0..9).zip(["a", "b", "c"].into_iter().cycle());
        all.filter(|(n, kernel)| state.takes(&part, kernel, *n)).map(|(n, _)| n).collect()
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
        for text in ["12", "gemm*", "gemm*#3", "/^a#b$/", "a#b"] {
            let bound: LaunchBound = text.parse().unwrap();
            assert_eq!(bound.to_string(), text);
        }
        assert!(LaunchBound::from_str("").is_err() && LaunchBound::from_str("/(/").is_err());
    }
}
