//! Compares the outputs of two jobs as numbers.
//!
//! # Invariants
//! - A buffer that one job names as an output is one for both.
//! - The argument of the other job has the same name. If no argument there has it, the argument at the same
//!   position is meant, unless the name of that one occurs in this job.
//!
//! # Limitations
//! Elements are compared only if both sides have the same number of them, of the same type.

use std::borrow::Cow;

use prlx_analyze::outputs::{Tolerance, compare_output};
use prlx_analyze::report::Output;
use prlx_driver::job::{ArgValue, Buffer};
use prlx_driver::{Job, element};
use prlx_trace::kernel::Scalar;

/// The jobs with the same outputs on both sides.
pub(super) fn with_common_outputs(jobs: &[Job; 2]) -> Cow<'_, [Job; 2]> {
    let mut out = Cow::Borrowed(jobs);
    for side in [0, 1] {
        for (i, _) in jobs[side].args.iter().enumerate().filter(|(i, _)| is_output(&jobs[side], *i)) {
            let Some(other) = partner(jobs, side, i).filter(|j| !is_output(&jobs[1 - side], *j)) else {
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

/// Compares all outputs, in the order of A's arguments. The launch files' `expect` gives the tolerance of an
/// output if `tolerance` is `None`. Also returns the positions of the differing elements
/// ([`compare_output`]).
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
            all.push((alone(a, "A"), Vec::new()));
            continue;
        };
        let limits = tolerance.unwrap_or_else(|| expected(jobs, [Some(i), other]));
        all.push(match common_type([a.ty, b.ty]) {
            Some(ty) => compare_output(&a.name, ty, &a.shape, [&a.bytes, &b.bytes], &limits),
            None => {
                let why = format!("A holds {}, B {}", a.ty.name(), b.ty.name());
                let ty = format!("{}, {}", a.ty.name(), b.ty.name());
                (Output { ty, uncompared: Some(why), ..alone(a, "A") }, Vec::new())
            }
        });
    }
    let unmatched =
        (0..jobs[1].args.len()).filter(|j| partner(jobs, 1, *j).and_then(|i| find(0, i)).is_none());
    all.extend(unmatched.filter_map(|j| Some((alone(find(1, j)?, "B"), Vec::new()))));
    all
}

/// The type as which the elements of both sides are compared: `None` if they mean different numbers.
fn common_type([a, b]: [Scalar; 2]) -> Option<Scalar> {
    let same =
        a == b || element::size(a) == element::size(b) && !element::is_float(a) && !element::is_float(b);
    same.then_some(a)
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

/// An output that only one side has.
fn alone(o: &prlx_driver::Output, side: &str) -> Output {
    Output {
        name: o.name.clone(),
        ty: o.ty.name().to_owned(),
        shape: o.shape.clone(),
        elements: o.shape.iter().product(),
        uncompared: Some(format!("only {side} has it")),
        ..Output::default()
    }
}

/// The larger tolerances of what the launch files expect of an output.
fn expected(jobs: &[Job; 2], at: [Option<usize>; 2]) -> Tolerance {
    let both = [0, 1].map(|side| buffer(&jobs[side], at[side]?)?.expect.as_ref());
    both.into_iter().flatten().filter(|e| e.rtol > 0.0 || e.atol > 0.0).fold(
        Tolerance::default(),
        |limits, e| Tolerance {
            rtol: limits.rtol.max(e.rtol),
            atol: limits.atol.max(e.atol),
            equal_nan: true,
            ..limits
        },
    )
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
    let (own, other) = (&jobs[side].args, &jobs[1 - side].args);
    let name = &own.get(i)?.name;
    other.iter().position(|arg| arg.name == *name).or_else(|| {
        let there = other.get(i)?;
        own.iter().all(|arg| arg.name != there.name).then_some(i)
    })
}
