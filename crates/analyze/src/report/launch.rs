//! The report on one pair of launches.

use prlx_trace::kernel::{FaultKind, Level};
use prlx_trace::{Dim3, WarpSize};

use super::cause::Cause;
use super::coverage::Coverage;
use super::finding::{Finding, HashInfo};
use super::output::Output;
use super::plain_data::data;
use super::source::SiteInfo;
use super::verdict::{LaunchPart, Verdict, WhyUncompared};

/// The note on a launch whose decisions had no room in the recorder's memory, and that is the same by hashes.
pub const HASHED_FOR_ROOM: &str = "there was no room for all decisions, so the hashes of what was decided, loaded \
     and stored were compared, in another run of both sides (--memory makes more room)";

/// The note on launches whose own decisions were not compared, because other launches of the kernel stand for
/// them.
pub const DECIDED_AS_OTHERS: &str = "hashes of its decisions differ, or have no meaning between two builds; no \
     decision differs in the launches of this kernel that were recorded again, and the memory is equal here \
     (--level path compares all decisions)";

/// The note on launches that neither side recorded.
pub const UNRECORDED: &str = "decisions were not recorded, and all memory behind the parameters is equal by digest \
     (--strict: unknown)";

/// The note on launches that neither side recorded, and whose memory has been copied.
pub const CHANGED_ALIKE: &str = "decisions were not recorded, and all that it changed in the memory behind the \
     parameters is equal (--strict: unknown)";

/// End of the gap of launches of kernels that the user matched although their names differ.
pub const OTHER_NAMES: &str = " have different names, and are compared as one kernel";

/// Notes that a report of launches that are the same has once, with the number of these launches.
pub const NOTES_OF_SAME: [&str; 4] = [HASHED_FOR_ROOM, DECIDED_AS_OTHERS, UNRECORDED, CHANGED_ALIKE];

data! {
    /// Two launches, compared.
    struct LaunchReport {
        /// Whether they agree.
        verdict: Verdict,
        /// What keeps that from being certain.
        gaps: Vec<String>,
        /// Sentences that a reader should know and that do not change the verdict, as that a tolerance was
        /// used.
        notes: Vec<String>,
        /// The kernel's name, as in the module.
        kernel: String,
        /// Its process, by index.
        process: u64,
        /// By side: the launch's number.
        launch: [u64; 2],
        /// By side: the names of the NVTX ranges around the launch, the innermost last, as `NAME` or
        /// `NAME@DOMAIN`.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "no_ranges"))]
        ranges: [Vec<String>; 2],
        /// By side: why nothing of it was recorded; `None` when it was.
        skipped: [Option<String>; 2],
        /// By side: how sure it is that what was rewritten is what would have run, as `source`, `exact`.
        fidelity: [String; 2],
        /// All that went in is known and the same, and yet something else came out.
        culprit: bool,
        /// The bytes of structures among the parameters that are all that differs of what went in, as
        /// `bytes 4 to 7 of p`, if the rest is known and they may be padding, which nobody sets.
        padding: Option<String>,
        /// By side: why not all is digested that its pointers lead to, if digests were asked for.
        undigested: [Option<String>; 2],
        /// By side: the module's name.
        module: [String; 2],
        /// Of two builds: what is not compared, by side and place in the code.
        uncompared: Vec<Uncompared>,
        /// By side: where it ran.
        device: [String; 2],
        /// Which recorder ran.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::level"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        level: Level,
        /// CTAs (side A's).
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::dim"))]
        #[cfg_attr(feature = "schema", schemars(with = "[u32; 3]"))]
        grid: Dim3,
        /// Threads in a CTA (side A's).
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::dim"))]
        #[cfg_attr(feature = "schema", schemars(with = "[u32; 3]"))]
        block: Dim3,
        /// Number of lanes of a warp (side A's).
        #[cfg_attr(feature = "schema", schemars(with = "u8"))]
        warp_size: WarpSize,
        /// By side: what stopped it before its end. If that happened to one side alone, the launches differ.
        faults: [Option<Fault>; 2],
        /// Why threads of equal index do different work, if they do: another grid or block. Decisions are
        /// then not compared.
        reshaped: Option<String>,
        /// What differs before any code ran, or after all of it: geometry, arguments, outputs.
        differences: Vec<LaunchDifference>,
        /// The outputs, compared as numbers, in the order of the arguments; empty if the launch names none.
        outputs: Vec<Output>,
        /// Whether the digests of all memory that the launch can write are known and equal afterwards.
        #[cfg_attr(feature = "serde", serde(default))]
        digests_agree: bool,
        /// Whether digests of memory after the launch are known on both sides and differ, or are of memory of
        /// other sizes.
        #[cfg_attr(feature = "serde", serde(default))]
        digests_differ: bool,
        /// Why nothing tells whether both sides left the same in memory, in the words of the gap; `None` if
        /// outputs, digests or hashes of the stored values do.
        #[cfg_attr(feature = "serde", serde(default))]
        unseen_memory: Option<String>,
        /// Why outputs differ, one cause for each group of elements that was followed back.
        causes: Vec<Cause>,
        /// What differs in the code's path, first things first.
        findings: Vec<Finding>,
        /// How many findings there were before the list was cut.
        findings_total: u64,
        /// Whether everything that lanes first did differently can follow from the order of threads or from
        /// time: from what an atomic returned, from a flag that another thread sets, or from a clock.
        order: bool,
        /// Which hashes of all threads differ, if these were kept in place of what each thread did. They are
        /// no finding, as they do not tell which threads differ.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        hashes: Option<HashInfo>,
        /// What all of them come to, those that were cut from the list too.
        differing: Differing,
        /// How much was looked at.
        coverage: Coverage,
        /// By side: work with recording over work without; `None` if not measured.
        dilation: [Option<f64>; 2],
    }
    /// Code of one build that is not compared with the other's: one place in it.
    struct Uncompared {
        /// Which side has the code: 0 for A, 1 for B.
        side: u8,
        /// Why it is not compared.
        why: WhyUncompared,
        /// The site, or the first of several that stand there.
        site: SiteInfo,
        /// How many there are.
        sites: u64,
        /// Their visits, of the lanes that were decoded.
        visits: u64,
        /// Whether a difference could hide in them: it keeps the verdict from being `same`.
        hides: bool,
    }
    /// How much differs in what lanes did.
    struct Differing {
        /// Lanes that part.
        lanes: u64,
        /// Warps that they are in.
        warps: u64,
        /// Visits that have a finding, in the order of [`FindingKind::ALL`](crate::FindingKind::ALL).
        #[cfg_attr(
            feature = "schema",
            schemars(description = "Visits that have a finding, by its [`Kind`], in the order of those.")
        )]
        kinds: [u64; 5],
    }
    /// What stopped a launch before its end.
    struct Fault {
        /// In which way.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::fault_kind"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        kind: FaultKind,
        /// What happened, with its place.
        text: String,
    }
    /// A difference of the launch as a whole.
    struct LaunchDifference {
        /// The part of the launch that differs.
        what: LaunchPart,
        /// The argument's or part's name.
        name: String,
        /// By side: its value in words.
        values: [String; 2],
    }
}

/// Whether a launch lies in no range on either side.
#[cfg(feature = "serde")]
fn no_ranges(ranges: &[Vec<String>; 2]) -> bool {
    ranges.iter().all(Vec::is_empty)
}

impl LaunchDifference {
    /// Whether this difference alone makes the verdict `differs`. Geometry and outputs do. Code and inputs do
    /// not: the same path from other data is still the same path. Other buffers do not either: nothing reads
    /// them after the launch.
    pub fn is_decisive(&self) -> bool {
        !matches!(self.what, LaunchPart::Code | LaunchPart::Input | LaunchPart::Scratch)
    }
}
