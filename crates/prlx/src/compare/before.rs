//! Causes in the launches before a launch: what they leave in memory is its input.

use anyhow::Result;
use prlx_analyze::report::{Cause, CauseClass};
use prlx_driver::Job;
use prlx_driver::job::{Arg, ArgValue, LaunchBefore, ParamValue};
use prlx_trace::names::display_name;

/// If inputs of a launch are the cause, looks for the first launch before it that left something else, and
/// puts the causes there in their place. `explain` finds the causes of the differences between two launches.
///
/// # Errors
/// If `explain` fails.
pub(super) fn explain_inputs(
    causes: &mut Vec<Cause>,
    jobs: &[Job; 2],
    mut explain: impl FnMut(&[Job; 2]) -> Result<Vec<Cause>>,
) -> Result<()> {
    if !causes.iter().any(|c| c.class == CauseClass::Input) {
        return Ok(());
    }
    let [a, b] = jobs;
    for k in 0..a.before.len().min(b.before.len()) {
        let [Some(x), Some(y)] = [launch_before(a, k), launch_before(b, k)] else { return Ok(()) };
        let kernel = display_name(&y.kernel);
        let mut found = explain(&[x, y])?;
        // Arguments of the launch that differ are its own inputs, and no less a cause.
        if found.is_empty() {
            continue;
        }
        for cause in &mut found {
            cause.what = format!("in the launch of `{kernel}` before: {}", cause.what);
        }
        causes.retain(|c| c.class != CauseClass::Input);
        causes.splice(..0, found);
        return Ok(());
    }
    Ok(())
}

/// Launch `k` before a job, as a job of its own whose outputs are all buffers; `None` if it takes a buffer
/// twice, or a launch before it takes a struct that it does not.
fn launch_before(job: &Job, k: usize) -> Option<Job> {
    let launch = job.before.get(k)?;
    let mut args: Vec<Arg> = Vec::new();
    // By position in the job: the position in the new one.
    let mut moved: Vec<Option<usize>> = vec![None; job.args.len()];
    for (value, param) in launch.values.iter().zip(&launch.params) {
        args.push(match *value {
            ParamValue::Scalar(ty, bits) => {
                Arg { name: param.name.clone(), value: ArgValue::Scalar(ty, bits) }
            }
            ParamValue::Argument(i) => {
                let arg = job.args.get(i)?.clone();
                let first = moved.get_mut(i)?.replace(args.len()).is_none();
                if !first && matches!(arg.value, ArgValue::Buffer(_)) {
                    return None;
                }
                arg
            }
        });
    }
    for (arg, moved) in job.args.iter().zip(&mut moved) {
        if moved.is_none() && matches!(arg.value, ArgValue::Buffer(_)) {
            *moved = Some(args.len());
            args.push(arg.clone());
        }
    }
    let position = |old: usize| moved.get(old).copied().flatten();
    for arg in &mut args {
        match &mut arg.value {
            ArgValue::Scalar(..) => {}
            ArgValue::Struct { pointers, .. } => {
                for (_, to) in pointers {
                    *to = position(*to)?;
                }
            }
            ArgValue::TensorMap { over, .. } => *over = position(*over)?,
            ArgValue::Buffer(buffer) => {
                (buffer.out, buffer.save, buffer.expect) = (true, None, None);
            }
        }
    }
    let value = |value: &ParamValue| match *value {
        ParamValue::Argument(i) => match job.args.get(i)?.value {
            ArgValue::Scalar(ty, bits) => Some(ParamValue::Scalar(ty, bits)),
            _ => Some(ParamValue::Argument(position(i)?)),
        },
        scalar => Some(scalar),
    };
    let before = job.before[..k].iter().map(|earlier| {
        let values = earlier.values.iter().map(value).collect::<Option<_>>()?;
        Some(LaunchBefore { values, ..earlier.clone() })
    });
    Some(Job {
        kernel: launch.kernel.clone(),
        config: launch.config.clone(),
        params: launch.params.clone(),
        args,
        before: before.collect::<Option<_>>()?,
        ..job.clone()
    })
}
