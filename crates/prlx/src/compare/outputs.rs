//! Compares the outputs of two jobs as numbers.
//!
//! # Invariants
//! - A buffer that one job names as an output is one for both.
//! - The argument of the other job has the same name. If no argument there has it, the argument at the same
//!   position is meant, unless the name of that one occurs in this job. In a comparison, both get one name.
//!
//! # Limitations
//! Elements are compared only if both sides have the same number of them, of the same type.

use std::borrow::Cow;
use std::mem::discriminant;

use prlx_analyze::outputs::{self, Contents, Tolerance, compare_contents, only_one_side};
use prlx_analyze::report::Output;
use prlx_driver::job::{ArgValue, Buffer};
use prlx_driver::{Job, element};

/// The jobs with the same outputs on both sides, and with one name for both sides' argument.
pub(super) fn with_common_outputs(jobs: &[Job; 2]) -> Cow<'_, [Job; 2]> {
    let mut out = with_common_names(jobs);
    for side in [0, 1] {
        let outputs: Vec<usize> = (0..out[side].args.len()).filter(|i| is_output(&out[side], *i)).collect();
        for i in outputs {
            let Some(other) = partner(&out, side, i).filter(|j| !is_output(&out[1 - side], *j)) else {
                continue;
            };
            if let Some(ArgValue::Buffer(b)) =
                out.to_mut()[1 - side].args.get_mut(other).map(|arg| &mut arg.value)
            {
                b.out = true;
            }
        }
    }
    out
}

/// The jobs with one name for the arguments that correspond, if both are arrays or both are numbers. PTX of
/// Triton has no names of its own: its arguments get those of the other side.
fn with_common_names(jobs: &[Job; 2]) -> Cow<'_, [Job; 2]> {
    let mut out = Cow::Borrowed(jobs);
    for i in 0..jobs[0].args.len() {
        let Some(j) = partner(jobs, 0, i) else { continue };
        let [a, b] = [&jobs[0].args[i], &jobs[1].args[j]];
        if a.name == b.name || discriminant(&a.value) != discriminant(&b.value) {
            continue;
        }
        let generated = is_generated(&a.name);
        let (side, at, name) = if generated { (0, i, b.name.clone()) } else { (1, j, a.name.clone()) };
        if let Some(arg) = out.to_mut()[side].args.get_mut(at) {
            arg.name = name;
        }
    }
    out
}

/// Whether a compiler made up the name of an argument: `param_3`.
fn is_generated(name: &str) -> bool {
    name.strip_prefix("param_").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Compares all outputs, in the order of A's arguments. The launch files' `expect` gives the tolerance of an
/// output if `tolerance` is `None`. Also returns the positions of the differing elements
/// ([`prlx_analyze::outputs::compare_output`]).
///
/// `outputs` are what the two runs left. Without any, as after a fault, the result is empty.
pub fn compare_outputs(
    jobs: &[Job; 2],
    outputs: [&[prlx_driver::Output]; 2],
    tolerance: Option<Tolerance>,
) -> Vec<(Output, Vec<u64>)> {
    if outputs.iter().any(|o| o.is_empty()) {
        return Vec::new();
    }
    let find = |side: usize, i: usize| {
        let name = &jobs[side].args.get(i)?.name;
        outputs[side].iter().find(|o| o.name == *name)
    };
    let mut all = Vec::new();
    for i in 0..jobs[0].args.len() {
        let Some(a) = find(0, i) else { continue };
        let other = partner(jobs, 0, i);
        let Some(b) = other.and_then(|j| find(1, j)) else {
            all.push((only_one_side(&a.name, a.ty, &a.shape, 0), Vec::new()));
            continue;
        };
        let limits = tolerance.unwrap_or_else(|| expected(jobs, [Some(i), other]));
        let [x, y] = [a, b].map(|o| Contents::new(o.ty, &o.shape, &o.bytes));
        all.push(compare_contents(&a.name, [x, y], &limits));
    }
    let unmatched =
        (0..jobs[1].args.len()).filter(|j| partner(jobs, 1, *j).and_then(|i| find(0, i)).is_none());
    all.extend(unmatched.filter_map(|j| find(1, j)).map(|b| {
        let only = only_one_side(&b.name, b.ty, &b.shape, 1);
        (only, Vec::new())
    }));
    all
}

/// Gives B's outputs the types of A's where the widths are equal. The types of captured memory are guesses,
/// and other code leads to other ones.
pub(super) fn with_types_of_a(jobs: &mut [Job; 2], outputs: &mut [Vec<prlx_driver::Output>; 2]) {
    for i in 0..outputs[0].len() {
        let (name, ty) = (&outputs[0][i].name, outputs[0][i].ty);
        let Some(i) = jobs[0].args.iter().position(|arg| arg.name == *name) else { continue };
        let Some(arg) = partner(jobs, 0, i).and_then(|j| jobs[1].args.get_mut(j)) else { continue };
        let Some(output) = outputs[1].iter_mut().find(|o| o.name == arg.name) else { continue };
        if element::size(output.ty) != element::size(ty) {
            continue;
        }
        output.ty = ty;
        if let ArgValue::Buffer(buffer) = &mut arg.value {
            buffer.ty = ty;
        }
    }
}

/// Makes elements equal that neither launch changed: what lies there is not their work. Memory behind the
/// last tensor of an allocation has chance contents.
pub(super) fn ignore_unchanged(jobs: &[Job; 2], outputs: [&mut [prlx_driver::Output]; 2]) {
    let [all_a, all_b] = outputs;
    for a in all_a {
        let Some(i) = jobs[0].args.iter().position(|arg| arg.name == a.name) else { continue };
        let Some(j) = partner(jobs, 0, i) else { continue };
        let Some(b) = all_b.iter_mut().find(|b| b.name == jobs[1].args[j].name) else { continue };
        let (Some(before_a), Some(before_b)) = (buffer(&jobs[0], i), buffer(&jobs[1], j)) else { continue };
        if a.bytes == b.bytes {
            continue;
        }
        let (before_a, before_b) = (before_a.bytes(), before_b.bytes());
        let size = element::size(a.ty).max(1);
        let sides = a.bytes.chunks(size).zip(before_a.chunks(size));
        let others = b.bytes.chunks_mut(size).zip(before_b.chunks(size));
        for ((a, before_a), (b, before_b)) in sides.zip(others) {
            if a == before_a && *b == *before_b && a.len() == b.len() {
                b.copy_from_slice(a);
            }
        }
    }
}

/// The larger tolerances of what the launch files expect of an output.
fn expected(jobs: &[Job; 2], at: [Option<usize>; 2]) -> Tolerance {
    let both = [0, 1].map(|side| buffer(&jobs[side], at[side]?)?.expect.as_ref());
    Tolerance::expected(both.into_iter().flatten().map(|e| [e.rtol, e.atol]))
}

fn buffer(job: &Job, i: usize) -> Option<&Buffer> {
    match &job.args.get(i)?.value {
        ArgValue::Buffer(buffer) => Some(buffer),
        _ => None,
    }
}

fn is_output(job: &Job, i: usize) -> bool {
    buffer(job, i).is_some_and(|b| b.out || b.expect.is_some())
}

/// The other side's argument that corresponds to argument `i` of `side`.
fn partner(jobs: &[Job; 2], side: usize, i: usize) -> Option<usize> {
    let [own, other] =
        [side, 1 - side].map(|s| jobs[s].args.iter().map(|arg| arg.name.as_str()).collect::<Vec<_>>());
    outputs::partner([&own, &other], i)
}
