//! Target IDs, as `gfx942:sramecc+:xnack-`: a processor and the features that code was built for (LLVM, User
//! Guide for AMDGPU Backend, "Target ID").

use std::fmt;

use super::super::target::Target;

/// How code was built with regard to a feature that a device may have switched on or off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// The processor does not have the feature.
    Unsupported,
    /// The code runs either way. Of a device: its setting is not known.
    Any,
    /// The code runs only where the feature is off.
    Off,
    /// The code runs only where the feature is on.
    On,
}

impl Feature {
    /// Reads the two bits that the flags of a code object have for a feature.
    pub(super) fn of_bits(bits: u32) -> Feature {
        match bits & 3 {
            0 => Feature::Unsupported,
            1 => Feature::Any,
            2 => Feature::Off,
            _ => Feature::On,
        }
    }

    /// Whether code with this setting runs on a device with that one.
    fn runs_on(self, device: Feature) -> bool {
        matches!(self, Feature::Unsupported | Feature::Any) || self == device
    }

    fn is_fixed(self) -> bool {
        matches!(self, Feature::Off | Feature::On)
    }
}

/// A processor and the features that code was built for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TargetId {
    /// Processor whose instructions the code has.
    pub target: Target,
    /// SRAM-ECC: whether 16-bit loads keep the other half of the register.
    pub sramecc: Feature,
    /// XNACK: whether memory accesses that fault are replayed.
    pub xnack: Feature,
}

impl TargetId {
    /// The target without stated features.
    pub fn of(target: Target) -> TargetId {
        let feature = if target.has_features() { Feature::Any } else { Feature::Unsupported };
        TargetId { target, sramecc: feature, xnack: feature }
    }

    /// Reads `gfx942:sramecc+:xnack-`. Features may be absent, and have any order.
    ///
    /// # Errors
    /// If PRLX does not read code for this processor, or a feature is unknown to it. The error says why.
    pub fn parse(text: &str) -> Result<TargetId, String> {
        let (name, features) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let mut id = TargetId::of(Target::parse(name).ok_or_else(|| unknown(name))?);
        for feature in features.into_iter().flat_map(|f| f.split(':')) {
            let wrong = || {
                format!("`{feature}` is no feature of {name}; it has sramecc+, sramecc-, xnack+ and xnack-")
            };
            let plain = || format!("`{feature}` is no feature of {name}, which has none");
            if !id.target.has_features() {
                return Err(plain());
            }
            match feature {
                "sramecc+" => id.sramecc = Feature::On,
                "sramecc-" => id.sramecc = Feature::Off,
                "xnack+" => id.xnack = Feature::On,
                "xnack-" => id.xnack = Feature::Off,
                _ => return Err(wrong()),
            }
        }
        Ok(id)
    }

    /// Whether code for this target runs on a device: the same processor, and for each feature the device's
    /// setting or code that runs either way.
    pub fn runs_on(self, device: TargetId) -> bool {
        self.target == device.target
            && self.sramecc.runs_on(device.sramecc)
            && self.xnack.runs_on(device.xnack)
    }

    /// Number of features that the code was built for. Of two images that run, the one with more is the more
    /// specific one.
    pub(super) fn specific(self) -> usize {
        usize::from(self.sramecc.is_fixed()) + usize::from(self.xnack.is_fixed())
    }
}

/// Why code for a processor is not read.
pub(super) fn unknown(name: &str) -> String {
    let known: Vec<&str> = Target::all().map(Target::name).collect();
    let kind = if name.ends_with("-generic") { "the generic target" } else { "target" };
    format!("PRLX does not read code for {kind} `{name}`, only for {}", known.join(", "))
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.target)?;
        for (name, feature) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match feature {
                Feature::On => write!(f, ":{name}+")?,
                Feature::Off => write!(f, ":{name}-")?,
                Feature::Any | Feature::Unsupported => {}
            }
        }
        Ok(())
    }
}
