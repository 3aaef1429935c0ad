//! Compares the outputs that two recordings hold, as numbers.
//!
//! # Invariants
//! - A buffer that one launch file names as an output is one for both sides.
//! - Elements that a recording does not hold are compared by the digests of their buffers. Equal digests mean
//!   equal elements. With other digests, the output differs, or is unknown if a tolerance could excuse it.
//!
//! # Limitations
//! A launch that was stopped has no outputs. Only recordings of launch files have any.

use prlx_trace::kernel::Scalar;
use prlx_trace::{Launch, OutputContents, Trace, element};

use super::options::DiffOptions;
use crate::error::Error;
use crate::glob::matches;
use crate::outputs::{Contents, Tolerance, add_outputs, compare_contents, only_one_side, partner};
use crate::report::{LaunchReport, Output};

/// Adds the outputs of two recorded launches to their report, and computes its verdict again. Does nothing if
/// the recordings name no outputs.
///
/// # Errors
/// If the elements of an output are damaged.
pub(super) fn add_recorded_outputs(
    report: &mut LaunchReport,
    traces: [&Trace; 2],
    launches: [&Launch; 2],
    options: &DiffOptions,
) -> Result<(), Error> {
    if launches.iter().any(|l| l.fault.is_some() || l.skipped.is_some()) {
        return Ok(());
    }
    let sides = [0, 1].map(|side| Side::new(traces[side], launches[side]));
    let mut outputs = Vec::new();
    for (i, name) in sides[0].names.iter().enumerate() {
        let other = partner([&sides[0].names, &sides[1].names], i);
        match (sides[0].output(i), other.and_then(|j| sides[1].output(j))) {
            (None, None) => {}
            (a, b) => {
                let pair = [Some(i), other];
                outputs.push(match other {
                    Some(_) => compare(&sides, pair, [a, b], options)?,
                    None => {
                        only_one_side(name, a.map_or(Scalar::B8, |a| a.ty), a.map_or(&[], |a| &a.shape), 0)
                    }
                });
            }
        }
    }
    for (j, name) in sides[1].names.iter().enumerate() {
        let matched = partner([&sides[1].names, &sides[0].names], j).is_some();
        if let (false, Some(b)) = (matched, sides[1].output(j)) {
            outputs.push(only_one_side(name, b.ty, &b.shape, 1));
        }
    }
    add_outputs(report, outputs);
    if !options.strict {
        report.accept_tests_without_effect();
        report.accept_decisions_of_other_threads();
    }
    Ok(())
}

/// One side's launch and the outputs that its recording names.
struct Side<'a> {
    launch: &'a Launch,
    /// Names of the arguments.
    names: Vec<&'a str>,
    outputs: Vec<&'a OutputContents>,
}

impl<'a> Side<'a> {
    fn new(trace: &'a Trace, launch: &'a Launch) -> Side<'a> {
        let names = launch.args.iter().map(|arg| arg.name.as_str()).collect();
        Side { launch, names, outputs: trace.outputs.iter().filter(|o| o.launch == launch.number).collect() }
    }

    /// The output that argument `i` is.
    fn output(&self, i: usize) -> Option<&'a OutputContents> {
        let name = self.names.get(i)?;
        self.outputs.iter().find(|o| o.name == **name).copied()
    }

    /// The digest of argument `i` after the launch.
    fn digest(&self, i: usize) -> Option<u64> {
        self.launch.args.get(i)?.after
    }
}

/// Compares argument `pair[0]` of A with argument `pair[1]` of B. At least one of them is an output.
fn compare(
    sides: &[Side<'_>; 2],
    pair: [Option<usize>; 2],
    outputs: [Option<&OutputContents>; 2],
    options: &DiffOptions,
) -> Result<Output, Error> {
    let Some(known) = outputs[0].or(outputs[1]) else { return Ok(Output::default()) };
    let limits = tolerance(known, outputs, options);
    let elements = |side: usize| match outputs[side] {
        Some(output) => output.unpack(),
        None => Ok(None),
    };
    if let (Some(a), Some(b), [Some(x), Some(y)]) = (outputs[0], outputs[1], [elements(0)?, elements(1)?]) {
        let contents = [Contents::new(a.ty, &a.shape, &x), Contents::new(b.ty, &b.shape, &y)];
        return Ok(compare_contents(&known.name, contents, &limits).0);
    }
    let digests = [0, 1].map(|side| sides[side].digest(pair[side]?));
    let size = element::size(known.ty).max(1) as u64;
    let mut out = Output {
        name: known.name.clone(),
        ty: known.ty.name().to_owned(),
        shape: known.shape.clone(),
        elements: known.bytes / size,
        ..Output::default()
    };
    if digests[0].is_none() || digests[0] != digests[1] {
        let missing = [0, 1].map(|side| outputs[side].is_none_or(|o| o.packed.is_empty()));
        let who = match missing {
            [true, true] => "the recordings do",
            [true, false] => "A's recording does",
            _ => "B's recording does",
        };
        let differ = if digests.contains(&None) { "the bytes are not known" } else { "the bytes differ" };
        out.uncompared = Some(format!("{differ}, and {who} not hold the elements (record --outputs MIB)"));
        out.unknown = digests.contains(&None) || !limits.is_exact();
    }
    Ok(out)
}

/// The tolerance of an output: the first rule for its name, that of the options, or the larger one of what
/// both launch files state.
fn tolerance(
    known: &OutputContents,
    outputs: [Option<&OutputContents>; 2],
    options: &DiffOptions,
) -> Tolerance {
    let rule = options.output_tolerances.iter().find(|(pattern, _)| matches(pattern, &known.name));
    let given = rule.map(|(_, tolerance)| *tolerance).or(options.tolerance);
    given.unwrap_or_else(|| {
        let stated = outputs.into_iter().flatten().filter_map(|o| o.tolerance);
        Tolerance::expected(stated.map(|(rtol, atol)| [rtol, atol].map(f64::from_bits)))
    })
}
