//! The tools: programs that come with PRLX, in `crates/probe/tools`.
//!
//! The first lines of each program say what it counts, and its limitations. docs/probe-tools.md says more.

/// A tool: its name, what it answers, its program.
macro_rules! tools {
    ($($name:literal $answers:literal)*) => {
        &[$(($name, $answers, include_str!(concat!("../tools/", $name, ".prlx"))),)*]
    };
}

/// All of them: name, what it answers, its program.
#[rustfmt::skip]
pub const TOOLS: &[(&str, &str, &str)] = tools! {
    "block-scheduling" "Where each warp ran, from when to when on its multiprocessor's clock."
    "residency" "Which warps were on which multiprocessor at which time: residency and tail."
    "global-bytes" "Bytes to and from global memory, by line, waited for or copied."
    "bytes" "Bytes read and written, by line and state space."
    "transactions" "Bytes and transactions, by line and state space."
    "coalescing" "Sectors that accesses to global memory touch, and how many they need, by line."
    "bank-conflicts" "Shared-memory cycles that warps need, and the minimum without bank conflicts, by line."
    "tensor-ops" "Tensor-core work by line."
    "instruction-mix" "Executed instructions by opcode."
    "branch-efficiency" "How many lanes take each branch, and how often warps diverge there, by line."
    "progress" "The last branches of each warp: where a kernel hangs."
    "memory-timeline" "The last accesses of each thread to global memory, with time and address."
    "barrier-wait" "How long warps wait at barriers and for asynchronous work."
    "barrier-order" "The order in which warps arrive at the barriers of their CTA."
    "imbalance" "How unequal the work of a CTA's warps is."
    "stopwatch" "A template: time from one source line to another."
    "values" "A template: which values an expression has."
    "stored-range" "Least, greatest and mean float stored, by line."
    "nan-origin" "Instructions that compute an infinity or NaN from finite inputs."
};
