//! Target architectures, and which device runs code for which target.

use std::fmt;

/// A target architecture, as `sm_90a`. The suffix `a` restricts code to that architecture, `f` to its family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// Number, as `90`: ten times the major version plus the minor.
    pub number: u32,
    /// Suffix: `a`, `f` or none.
    pub suffix: Option<char>,
}

impl Target {
    /// Reads `sm_90a` or `compute_90a`.
    pub fn parse(text: &str) -> Option<Target> {
        let rest = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
        let digits = rest.trim_end_matches(['a', 'f']);
        let suffix = match &rest[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        let known = !digits.is_empty() && digits.len() < 4 && digits.bytes().all(|b| b.is_ascii_digit());
        known.then(|| digits.parse().ok()).flatten().map(|number| Target { number, suffix })
    }

    /// Target of a compute capability, without suffix: (9, 0) is `sm_90`.
    pub fn of((major, minor): (u32, u32)) -> Target {
        Target { number: major.saturating_mul(10).saturating_add(minor), suffix: None }
    }

    /// Whether machine code for this target runs on a device: the same major version, and a minor version not
    /// below its own (CUDA C++ Programming Guide, Binary Compatibility). With suffix `a` it runs on that
    /// architecture alone.
    pub fn runs_on(self, device: Target) -> bool {
        let family = self.number / 10 == device.number / 10 && self.number <= device.number;
        family && (self.suffix != Some('a') || self.number == device.number)
    }

    /// Whether PTX for this target can be assembled for a device: for the same and every later architecture
    /// (CUDA C++ Programming Guide, PTX Compatibility). With suffix `a` for that architecture alone, with `f`
    /// for its family.
    pub fn assembles_for(self, device: Target) -> bool {
        match self.suffix {
            None => self.number <= device.number,
            Some(_) => self.runs_on(device),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |s| write!(f, "{s}"))
    }
}
