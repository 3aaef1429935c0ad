//! Evidence beside a finding: the slice of the value that differs, and the operands of both sides.

use prlx_trace::SiteId;
use prlx_trace::kernel::{NodeKind, Scalar};

use super::plain_data::data;
use super::source::Location;

data! {
    /// A node of a slice.
    struct SliceNode {
        /// What it is.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::node_kind"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        kind: NodeKind,
        /// The instruction, as the module writes it.
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
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::hex_pair"))]
        #[cfg_attr(feature = "schema", schemars(with = "[Option<String>; 2]"))]
        values: [Option<u64>; 2],
        /// The value in words, by side.
        shown: [Option<String>; 2],
        /// Whether it gave both sides the same; `None` if not recorded.
        same: Option<bool>,
        /// The first input that differs: arguments before loads, loads in the order in which the lane made
        /// them.
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
    /// One operand of a decision, for all lanes.
    struct OperandColumn {
        /// As written, by side.
        name: [String; 2],
        /// The type of its values.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::scalar"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        ty: Scalar,
    }
    /// One lane's operands.
    struct OperandRow {
        /// The lane in its warp.
        lane: u8,
        /// Whether the lane has the finding.
        differs: bool,
        /// The values, by column.
        cells: Vec<OperandCell>,
    }
    /// One operand of one lane.
    struct OperandCell {
        /// By side: its bits; `None` if it was not recorded.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::hex_pair"))]
        #[cfg_attr(feature = "schema", schemars(with = "[Option<String>; 2]"))]
        bits: [Option<u64>; 2],
        /// By side: in words.
        shown: [Option<String>; 2],
        /// Whether they differ.
        differs: bool,
    }
}
