//! The slice of a value: the instructions it was computed from, as a tree.

use prlx_analyze::report::SliceNode;

/// The lines that connect node `i` of a slice to the node that uses it. Only the first `most` nodes are
/// shown.
pub(crate) fn lead(slice: &[SliceNode], i: usize, most: usize) -> String {
    // Whether a sibling of the node's ancestor at that depth (or of the node) follows.
    let follows = |depth: u32| {
        let rest = slice[i + 1..].iter().take(most.saturating_sub(i + 1)).map(|n| n.depth);
        rest.take_while(|&d| d >= depth).any(|d| d == depth)
    };
    let Some(depth) = slice[i].depth.checked_sub(1) else { return String::new() };
    let mut out: String = (1..=depth.min(24)).map(|d| if follows(d) { "│ " } else { "  " }).collect();
    out.push_str(if follows(depth + 1) { "├ " } else { "└ " });
    out
}
