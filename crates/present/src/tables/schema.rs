//! The tables of recordings and reports: their columns, and what these mean.

use super::model::ColumnKind::{Flag, Number, Text};
use super::model::TableSchema;

/// The launches of a recording.
pub const LAUNCHES: TableSchema = TableSchema {
    name: "launches",
    columns: &[
        ("process", Number, "its process: the files of a recording, in their order"),
        ("pid", Number, "that process's number on its host; none for a launch file"),
        ("rank", Number, "its rank, if it has one"),
        ("launch", Number, "number in its process, from 0"),
        ("module", Number, "the module's place among those of its process"),
        ("kernel", Text, "the kernel's name, as in the module"),
        ("grid_x", Number, "CTAs"),
        ("grid_y", Number, ""),
        ("grid_z", Number, ""),
        ("block_x", Number, "threads of a CTA"),
        ("block_y", Number, ""),
        ("block_z", Number, ""),
        ("level", Text, "the recorder"),
        ("device", Text, "where it ran"),
        ("ordinal", Number, "that device's number in its process"),
        ("stream", Number, "its stream"),
        ("start", Number, "when it was launched, in nanoseconds since its process began"),
        (
            "ran",
            Number,
            "how long it ran with the recorder: nanoseconds, on the CPU device instructions; none if not measured",
        ),
        ("recorded", Number, "elements that were recorded"),
        ("lost", Number, "elements that did not fit"),
        ("fault", Text, "what stopped it before its end"),
        ("skipped", Text, "why nothing of it was recorded"),
        ("range", Text, "the innermost NVTX range around it"),
        ("ranges", Text, "all NVTX ranges around it, the innermost last, with ` > ` between them"),
    ],
};

/// The warps that were recorded.
pub const WARPS: TableSchema = TableSchema {
    name: "warps",
    columns: &[
        ("process", Number, "the launch's process"),
        ("launch", Number, "the launch"),
        ("warp", Number, "number in the grid"),
        ("cta", Number, "number of its CTA"),
        ("digest", Number, "equal digests: the warps recorded the same, apart from clocks"),
        ("lost", Number, "elements of it that did not fit"),
    ],
};

/// The sites of a recording's modules.
pub const SITES: TableSchema = TableSchema {
    name: "sites",
    columns: &[
        ("process", Number, "the module's process"),
        ("module", Number, "the module"),
        ("site", Number, "number in the module"),
        ("class", Text, "branch, guard, select, switch, load, store, atomic, sync, entry or exit"),
        ("function", Text, "the function that it is in, as in the module"),
        (
            "file",
            Text,
            "where in the source; of code that a library inlines, the user's own line; none if not known",
        ),
        ("line", Number, "line, from 1"),
        ("column", Number, "column, from 1; 0 if unknown"),
        ("instruction", Text, "as written"),
        ("skipped", Text, "why nothing is recorded there"),
    ],
};

/// Every visit of a site by a lane, decoded.
pub const VISITS: TableSchema = TableSchema {
    name: "visits",
    columns: &[
        ("process", Number, "the launch's process"),
        ("launch", Number, "the launch"),
        ("module", Number, "its module"),
        ("warp", Number, "the warp's number in the grid"),
        ("lane", Number, "the lane"),
        ("visit", Number, "visits of this lane before it, of any site"),
        ("site", Number, "the site"),
        (
            "value",
            Number,
            "a decision's value; at level events what the event says of the lane; none for other sites",
        ),
        ("mask", Number, "lanes that were there with it, where the recording says (level events)"),
    ],
};

/// The findings of a report.
pub const FINDINGS: TableSchema = TableSchema {
    name: "findings",
    columns: &[
        ("process", Number, "pair of processes"),
        ("launch_a", Number, "the launch's number in A"),
        ("launch_b", Number, "the launch's number in B"),
        ("kernel", Text, "the kernel's name, as in the module"),
        ("finding", Number, "its place among the launch's findings, first things first"),
        ("kind", Text, "Branch, ActiveMask, Value, Path or ExtraEvents"),
        ("class", Text, "class of the site"),
        ("site", Number, "the site's number in its module"),
        ("function", Text, "the function that it is in"),
        ("file", Text, "where in the source; of code that a library inlines, the user's own line"),
        ("line", Number, "line, from 1"),
        ("instruction", Text, "as written"),
        ("warp", Number, "the warp shown"),
        ("cta", Number, "its CTA"),
        ("lane", Number, "the lane shown"),
        ("lanes", Number, "mask of that warp's lanes that differ there"),
        ("visit_a", Number, "how often the lane shown had visited the site before, in A"),
        ("visit_b", Number, "the same in B"),
        ("value_a", Number, "the value in A"),
        ("value_b", Number, "the value in B"),
        ("side", Text, "side that has more: A or B"),
        ("roots", Number, "lanes that first part here"),
        ("lanes_total", Number, "lanes that have it, over all warps"),
        ("warps_total", Number, "warps that have it"),
        ("visits_total", Number, "visits that have it"),
        ("culprit", Flag, "whether the launch got the same and left something else"),
        ("said", Text, "what happened, in a sentence"),
    ],
};
