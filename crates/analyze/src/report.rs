//! What a comparison found: plain data, the same bytes for the same inputs.
//!
//! Holds: a side is an index, 0 for A and 1 for B, in every array of two. Findings of a launch are sorted: those at which
//! lanes first part come first, by how early that was; one that only happens in lanes that had parted before stands after
//! them. Sums add up: [`Warps::total`] and [`Lanes::total`] are the sums of their other fields.
//!
//! Everything here is public and serialisable (feature `serde`); names of fields are part of the JSON's promise.

use prlx_trace::kernel::{FaultKind, Level, NodeKind, Scalar, SiteClass};
use prlx_trace::{Dim3, LaneMask, SiteId};

pub use crate::outcome::{Kind, LaunchPart, Verdict, WhyUncompared};

/// Declares plain data that can be serialised.
macro_rules! data {
    ($($(#[$m:meta])* struct $name:ident { $($(#[$fm:meta])* $f:ident: $t:ty,)* })*) => { $(
        $(#[$m])*
        #[derive(Clone, PartialEq, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($(#[$fm])* pub $f: $t,)* }
    )* };
}

pub(crate) use data;

data! {
    /// What comparing two recordings gives.
    struct Report {
        /// Whether they agree.
        verdict: Verdict,
        /// What keeps the verdict from being certain, or would if nothing differed.
        gaps: Vec<String>,
        /// What the user calls the sides: files or commands. Empty until the caller says.
        names: [String; 2],
        /// What made each side.
        producers: [String; 2],
        /// Processes, compared in pairs; a comparison of launch files has one.
        processes: Vec<ProcessPair>,
        /// Processes that the other side has no partner for.
        alone: Vec<Alone>,
        /// Pairs of launches that there are to compare; a part of a report ([`crate::DiffOptions::shard`]) has fewer.
        pairs: u64,
        /// Launches, compared in pairs, by process and A's number.
        launches: Vec<LaunchReport>,
        /// Launches that the other side has no partner for.
        unpaired: Vec<Unpaired>,
    }
    /// Two processes that belong together.
    struct ProcessPair {
        /// By side: the process in words; empty if there is none, as with launch files.
        names: [String; 2],
        /// By side: where and how its file was cut off; `None` if it is whole.
        cut: [Option<String>; 2],
    }
    /// A process that only one side has.
    struct Alone {
        /// Which side.
        side: u8,
        /// The process in words.
        name: String,
        /// How much it launched.
        launches: u64,
        /// Where and how its file was cut off; `None` if it is whole.
        cut: Option<String>,
    }
    /// Code of one build that is not compared with the other's: one place in it.
    struct Uncompared {
        /// Which side.
        side: u8,
        /// Why.
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
    /// A launch that only one side has.
    struct Unpaired {
        /// Its process, by index.
        process: u64,
        /// Which side.
        side: u8,
        /// Its number among that side's launches.
        launch: u64,
        /// Its kernel.
        kernel: String,
    }
    /// Two launches, compared.
    struct LaunchReport {
        /// Whether they agree.
        verdict: Verdict,
        /// What keeps that from being certain.
        gaps: Vec<String>,
        /// The kernel's name, as in the module.
        kernel: String,
        /// Its process, by index.
        process: u64,
        /// By side: the launch's number.
        launch: [u64; 2],
        /// By side: why nothing of it was recorded; `None` when it was.
        skipped: [Option<String>; 2],
        /// By side: how sure it is that what was rewritten is what would have run, as `source`, `exact`.
        fidelity: [String; 2],
        /// All that went in is known and the same, and yet something else came out.
        culprit: bool,
        /// The bytes of structures among the parameters that are all that differs of what went in, as `bytes 4 to 7 of p`, if the rest is
        /// known and they may be padding, which nobody sets.
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
        #[cfg_attr(feature = "serde", serde(with = "crate::words::level"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        level: Level,
        /// CTAs (side A's).
        #[cfg_attr(feature = "serde", serde(with = "crate::words::dim"))]
        #[cfg_attr(feature = "schema", schemars(with = "[u32; 3]"))]
        grid: Dim3,
        /// Threads in a CTA (side A's).
        #[cfg_attr(feature = "serde", serde(with = "crate::words::dim"))]
        #[cfg_attr(feature = "schema", schemars(with = "[u32; 3]"))]
        block: Dim3,
        /// Lanes in a warp.
        warp_size: u8,
        /// By side: what stopped it before its end. If that happened to one side alone, the launches differ.
        faults: [Option<Fault>; 2],
        /// What differs before any code ran, or after all of it: geometry, arguments, outputs.
        differences: Vec<LaunchDifference>,
        /// What differs in the code's path, first things first.
        findings: Vec<Finding>,
        /// How many findings there were before the list was cut.
        findings_total: u64,
        /// What all of them come to, those that were cut from the list too.
        differing: Differing,
        /// How much was looked at.
        coverage: Coverage,
        /// By side: work with recording over work without; `None` if not measured.
        dilation: [Option<f64>; 2],
    }
    /// How much differs in what lanes did.
    struct Differing {
        /// Lanes that part.
        lanes: u64,
        /// Warps that they are in.
        warps: u64,
        /// Visits that have a finding, by its [`Kind`], in the order of those.
        kinds: [u64; 5],
    }
    /// What stopped a launch before its end.
    struct Fault {
        /// In which way.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::fault_kind"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        kind: FaultKind,
        /// What happened, with its place.
        text: String,
    }
    /// A difference of the launch as a whole.
    struct LaunchDifference {
        /// What differs.
        what: LaunchPart,
        /// The argument's or part's name.
        name: String,
        /// By side: its value in words.
        values: [String; 2],
    }
    /// A difference in what lanes did, and all places that have it.
    struct Finding {
        /// What kind.
        kind: Kind,
        /// By side: where in the code. Equal for one module; either may be missing.
        site: [Option<SiteInfo>; 2],
        /// Where it is when no site is: a block or a loop.
        place: Option<Location>,
        /// Side that has more, for extra events.
        side: Option<u8>,
        /// At the representative: the value on each side.
        values: Option<[u64; 2]>,
        /// How often the decision held on one side only: A's, B's.
        ways: [u64; 2],
        /// The warp shown: of those that part here, the one that parts earliest.
        warp: WarpPlace,
        /// Its lanes that differ at the same place as the lane shown.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        lanes: LaneMask,
        /// The lane shown: the first of them.
        lane: u8,
        /// By side: how often the lane shown had visited the site before.
        visit: [Option<u64>; 2],
        /// Visits of the lane shown before it, on side A.
        position: u64,
        /// Loops around it, outermost first, with the trip in which it is.
        trips: Vec<TripInfo>,
        /// Loop trips that only one side has, at the representative.
        extra_trips: [u64; 2],
        /// Visits that only one side has, at the representative.
        extra_visits: [u64; 2],
        /// For level `events`: who took part, by side.
        masks: Option<[Mask; 2]>,
        /// For level `print`: which hashes differ, and where.
        hashes: Option<HashInfo>,
        /// Lanes that first part here. 0: only lanes that had parted before have it.
        roots: u64,
        /// All lanes that have it, over all warps.
        lanes_total: u64,
        /// All visits that have it.
        count: u64,
        /// By side: visits that only that side has because of it.
        follows: [u64; 2],
        /// The warps that have it, ascending; at most [`crate::DiffOptions::warps`].
        warps: Vec<WarpHit>,
        /// How many there are.
        warps_total: u64,
        /// Both sides' operands at the visit shown, where they were recorded.
        operands: Option<Operands>,
        /// The slice of its value: how it came about, by side A's code.
        slice: Vec<SliceNode>,
        /// By lane of the warp shown: where each lane is at this point, for a second recording.
        at: Vec<LaneAt>,
    }
    /// The visit that one lane of the representative warp makes of the finding's site.
    struct LaneAt {
        /// Lane.
        lane: u8,
        /// By side: how often it had visited the site before.
        visit: [u64; 2],
        /// Whether it has the finding.
        differs: bool,
        /// B's warp and lane of the same thread, if warps have another number of lanes there; else they are the same.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        thread: Option<[u64; 2]>,
    }
    /// A lane mask that is written in hexadecimal.
    struct Mask {
        /// The lanes.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        lanes: LaneMask,
    }
    /// What fingerprints say.
    struct HashInfo {
        /// Which differ: control, loaded values, stored values, synchronisation.
        differ: [bool; 4],
        /// The first checkpoint that differs; `None`: it lies after the last, or there are none.
        checkpoint: Option<u64>,
        /// By side: how many checkpoints there are.
        checkpoints: [u64; 2],
    }
    /// A warp's place.
    struct WarpPlace {
        /// Number in the grid.
        warp: u64,
        /// Its CTA's number.
        cta: u64,
        /// Its CTA's position.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::dim"))]
        #[cfg_attr(feature = "schema", schemars(with = "[u32; 3]"))]
        at: Dim3,
        /// Number in its CTA.
        in_cta: u64,
    }
    /// One warp that has a finding.
    struct WarpHit {
        /// Number in the grid.
        warp: u64,
        /// Its CTA's number.
        cta: u64,
        /// Number in its CTA.
        in_cta: u64,
        /// Lanes that have it.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        lanes: LaneMask,
        /// Lanes that first part here.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        roots: LaneMask,
        /// The smallest number of visits of the site before it, over these lanes.
        visit: Option<u64>,
        /// Visits that have it.
        count: u64,
    }
    /// A loop around a place.
    struct TripInfo {
        /// Where the loop is.
        location: Option<Location>,
        /// By side: which trip, from 0.
        trip: [u64; 2],
        /// By side: of how many.
        trips: [u64; 2],
    }
    /// A site, in words.
    struct SiteInfo {
        /// Its number in its module.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::site_id"))]
        #[cfg_attr(feature = "schema", schemars(with = "u32"))]
        id: SiteId,
        /// What it is.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::class"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        class: SiteClass,
        /// The function that it is in.
        function: String,
        /// The instruction.
        text: String,
        /// Where in the source.
        location: Option<Location>,
        /// What the decision steers.
        steers: Vec<SteeredInfo>,
    }
    /// What a decision steers.
    struct SteeredInfo {
        /// Branch, guard or select.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::class"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        class: SiteClass,
        /// The instruction.
        text: String,
        /// Where in the source.
        location: Option<Location>,
    }
    /// A place in the source.
    struct Location {
        /// Path as the debug information spells it.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 if unknown.
        column: u32,
        /// The inlined function that the line belongs to; empty if none.
        function: String,
        /// The line's text.
        code: Option<String>,
        /// Where that function was inlined, innermost first.
        inlined: Vec<Location>,
    }
    /// A node of a slice.
    struct SliceNode {
        /// What it is.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::node_kind"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        kind: NodeKind,
        /// The instruction.
        text: String,
        /// Where in the source.
        location: Option<Location>,
        /// Nodes that it depends on.
        inputs: Vec<u32>,
        /// How deep it hangs below the decision.
        depth: u32,
        /// For a parameter: the argument's name.
        argument: Option<String>,
        /// For a parameter, or a load whose value was recorded: what it gave to the lane shown.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::hex_pair"))]
        #[cfg_attr(feature = "schema", schemars(with = "[Option<String>; 2]"))]
        values: [Option<u64>; 2],
        /// The value in words, by side.
        shown: [Option<String>; 2],
        /// Whether it gave both sides the same; `None` if not recorded.
        same: Option<bool>,
        /// The first input that differs: arguments before loads, loads in the order in which the lane made them.
        first: bool,
        /// Its number in the site's slice.
        #[cfg_attr(feature = "serde", serde(skip))]
        node: u32,
        /// By side: the load's site, if it has one.
        #[cfg_attr(feature = "serde", serde(skip))]
        site: [Option<SiteId>; 2],
    }
    /// Both sides' operands of one visit, for every lane of the warp.
    struct Operands {
        /// What is compared: names and types.
        columns: Vec<OperandColumn>,
        /// By lane that was recorded on either side, ascending.
        rows: Vec<OperandRow>,
    }
    /// One operand.
    struct OperandColumn {
        /// As written, by side.
        name: [String; 2],
        /// Its type.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::scalar"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        ty: Scalar,
    }
    /// One lane's operands.
    struct OperandRow {
        /// Lane.
        lane: u8,
        /// Whether the lane has the finding.
        differs: bool,
        /// By column.
        cells: Vec<OperandCell>,
    }
    /// One operand of one lane.
    struct OperandCell {
        /// By side: its bits; `None` if it was not recorded.
        #[cfg_attr(feature = "serde", serde(with = "crate::words::hex_pair"))]
        #[cfg_attr(feature = "schema", schemars(with = "[Option<String>; 2]"))]
        bits: [Option<u64>; 2],
        /// By side: in words.
        shown: [Option<String>; 2],
        /// Whether they differ.
        differs: bool,
    }
    /// How much was looked at.
    struct Coverage {
        /// Lanes that were seen to their end on both sides, in percent of the launch's; 100 only if all were.
        percent: f64,
        /// Warps of the launch.
        warps: Warps,
        /// Lanes of the warps.
        lanes: Lanes,
        /// By side: visits of the lanes that were decoded.
        visits: [Visits; 2],
        /// By side: what devices wrote.
        elements: [Elements; 2],
        /// By side: sites of the kernel and what it calls; at level `path`, its decisions.
        sites: [Sites; 2],
    }
    /// Warps, by what happened to them.
    struct Warps {
        /// All.
        total: u64,
        /// Equal by digest; not decoded.
        equal: u64,
        /// Compared lane by lane.
        compared: u64,
        /// Not recorded on one side or both.
        missing: u64,
        /// Recorded, but not decodable.
        failed: u64,
    }
    /// Lanes of recorded warps, by what happened to them.
    struct Lanes {
        /// All lanes of all warps.
        total: u64,
        /// In warps that are equal by digest.
        in_equal_warps: u64,
        /// With the same words.
        same_words: u64,
        /// Decoded to their end on both sides.
        compared: u64,
        /// Decoded as far as the recording goes, or until the launch was stopped.
        truncated: u64,
        /// In warps that were not recorded.
        missing: u64,
        /// Not decodable.
        failed: u64,
    }
    /// Decoded visits, by where their value came from.
    struct Visits {
        /// Decisions that were recorded.
        recorded: u64,
        /// Decisions that were evaluated again.
        computed: u64,
        /// Other sites.
        other: u64,
    }
    /// What devices wrote.
    struct Elements {
        /// Written.
        recorded: u64,
        /// Lost for want of room.
        dropped: u64,
    }
    /// Sites of a kernel and of what it calls.
    struct Sites {
        /// All.
        total: u64,
        /// Left out, or hidden because what they depend on was.
        skipped: u64,
        /// Without a partner on the other side ([`Uncompared`] says which).
        unmatched: u64,
    }
}

impl LaunchDifference {
    /// Whether this difference alone makes the verdict "differs". Other code and other inputs do not: the same path from
    /// other data is still the same path.
    pub fn decides(&self) -> bool {
        !matches!(self.what, LaunchPart::Code | LaunchPart::Input)
    }
}

impl Finding {
    /// The site shown: side A's, or B's where A has none.
    pub fn shown(&self) -> Option<&SiteInfo> {
        let [a, b] = &self.site;
        match self.side {
            Some(1) => b.as_ref().or(a.as_ref()),
            _ => a.as_ref().or(b.as_ref()),
        }
    }
    /// Where it is.
    pub fn location(&self) -> Option<&Location> {
        self.shown().and_then(|s| s.location.as_ref()).or(self.place.as_ref())
    }
}

impl Report {
    /// The first launch that differs.
    pub fn first_launch(&self) -> Option<&LaunchReport> {
        self.launches.iter().find(|l| l.verdict == Verdict::Differs)
    }
    /// The first launch into which the same went, and out of which something else came.
    pub fn culprit(&self) -> Option<&LaunchReport> {
        self.launches.iter().find(|l| l.culprit)
    }
    /// Of launches before the culprit, the first that may be it: something else came out, and what differs of what went in may
    /// be padding. With how many other launches of its kernel have the same bytes differ, and left the same.
    pub fn suspect(&self) -> Option<(&LaunchReport, u64)> {
        let other = |l: &LaunchReport| l.differences.iter().any(|d| d.what == LaunchPart::Output);
        let mut before = self.launches.iter().take_while(|l| !l.culprit);
        let suspect = before.find(|l| l.padding.is_some() && other(l))?;
        let alike =
            |l: &&LaunchReport| (&l.kernel, &l.padding) == (&suspect.kernel, &suspect.padding) && !other(l);
        Some((suspect, self.launches.iter().filter(alike).count() as u64))
    }
    /// The finding to look at first: of the first launch that has any.
    pub fn first(&self) -> Option<(&LaunchReport, &Finding)> {
        self.launches.iter().find_map(|l| l.findings.first().map(|f| (l, f)))
    }
}

impl Lanes {
    /// Those seen to their end on both sides, in percent, cut to hundredths: 100 only if all were.
    pub fn percent(&self) -> f64 {
        let seen = self.in_equal_warps + self.same_words + self.compared;
        if seen >= self.total {
            100.0
        } else {
            (seen as f64 / self.total as f64 * 1e4).floor().min(9999.0) / 100.0
        }
    }
}
