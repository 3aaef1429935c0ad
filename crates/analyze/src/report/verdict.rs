//! The enumerations of a report: verdicts, kinds of findings, parts of launches, and reasons for not
//! comparing code.

/// Whether two recordings agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// Everything was seen, and agrees.
    #[default]
    Same,
    /// What was seen agrees; what was not could differ.
    Unknown,
    /// Something differs.
    Differs,
}

impl Verdict {
    /// The verdict's name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Unknown => "unknown",
            Verdict::Differs => "differs",
        }
    }
    /// The exit code of commands that compare (2 is for errors).
    pub const fn exit_code(self) -> u8 {
        match self {
            Verdict::Same => 0,
            Verdict::Differs => 1,
            Verdict::Unknown => 3,
        }
    }
}

/// The kinds of findings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Kind"))]
pub enum FindingKind {
    /// A decision has another value.
    #[default]
    Branch,
    /// The same decision, but other lanes took part in it.
    ActiveMask,
    /// The same path, but another value: loaded, stored, or in an output.
    Value,
    /// Different places where the same one was expected.
    Path,
    /// Visits or loop trips that only one side has.
    ExtraEvents,
}

impl FindingKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [FindingKind; 5] = [
        FindingKind::Branch,
        FindingKind::ActiveMask,
        FindingKind::Value,
        FindingKind::Path,
        FindingKind::ExtraEvents,
    ];

    /// The kind's name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::Branch => "Branch",
            FindingKind::ActiveMask => "ActiveMask",
            FindingKind::Value => "Value",
            FindingKind::Path => "Path",
            FindingKind::ExtraEvents => "ExtraEvents",
        }
    }
}

/// Why code of one build is not compared with the other's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WhyUncompared {
    /// Only this side has it.
    #[default]
    Alone,
    /// Only this side has it, to choose between copies of what both have: what it chose shows in them.
    Between,
    /// It keeps a loop going whose trips are other ones than the other side's: how many of the source's there were is compared.
    Stays,
    /// Its copies do not add up to those of the other side, or stand in other loops.
    Copies,
    /// It may be the opposite comparison.
    Opposite,
    /// It may be another decision, or in another trip, than what it seems to be on the other side; and it did not do the same.
    Doubtful,
}

impl WhyUncompared {
    /// Whether a difference could be hidden in code that is not compared for this reason.
    pub const fn hides(self) -> bool {
        matches!(
            self,
            WhyUncompared::Alone | WhyUncompared::Copies | WhyUncompared::Opposite | WhyUncompared::Doubtful
        )
    }
}

/// A part of a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LaunchPart {
    /// Grid, block or cluster.
    #[default]
    Geometry,
    /// How the kernel is called (other template arguments, or another build's name for it), or how many lanes its warps have.
    Code,
    /// An argument's value, or a buffer's content before the launch.
    Input,
    /// A buffer's content after the launch.
    Output,
    /// The content after the launch of a buffer that the launch file does not name as an output.
    Scratch,
}

impl LaunchPart {
    /// The part's name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            LaunchPart::Geometry => "geometry",
            LaunchPart::Code => "code",
            LaunchPart::Input => "input",
            LaunchPart::Output => "output",
            LaunchPart::Scratch => "scratch",
        }
    }
}
