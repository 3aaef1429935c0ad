//! Every kernel of the corpus: on the CPU device it gives what its launch file expects, under the fair
//! schedule and under hostile ones.
//!
//! Kernels that need what the device does not do yet must be refused, with an error that names the
//! instruction; they are listed in `tests/kernels/refused.txt`, and a kernel that runs must leave the list.
//! Those whose result the schedule may choose have `outputs` in `tests/kernels/schedule.txt`.

use std::path::Path;

use crate::corpus::{Refused, Scheduled, kernels};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{ErrorKind, Job};
use prlx_emu::{Emulator, Options};

/// Seeds: the fair schedule, and hostile ones.
const SEEDS: [u64; 3] = [0, 1, 0xBAD_5EED];

fn case(path: &Path, module: &Path, refused: bool, free: bool, seed: u64) -> Result<(), Failed> {
    let mut job = Job::load(path).map_err(|e| e.to_string())?;
    // One launch file serves the modules of all targets.
    job.text = std::fs::read_to_string(module)?;
    job.config.seed = seed;
    let mut emulator = Emulator::new(Options { max_steps: 200_000_000, ..Options::default() });
    let run = prlx_driver::run(&mut emulator, &job);
    match run {
        Err(e) if refused && e.kind == ErrorKind::Unsupported => Ok(()),
        Err(e) => Err(format!("{:?}: {e}", e.kind).into()),
        Ok(_) if refused => Err("it runs: take it off tests/kernels/refused.txt".into()),
        Ok(run) => {
            for o in run.outputs {
                if seed != 0 && free {
                    continue;
                }
                if let Some(c) = o.expect
                    && c.wrong > 0
                {
                    return Err(format!(
                        "`{}`: {} of {} elements are wrong, first {:?}",
                        o.name, c.wrong, c.elements, c.first
                    )
                    .into());
                }
            }
            Ok(())
        }
    }
}

/// One trial per launch and seed, and one for the list of refused launches.
pub fn trials() -> Vec<Trial> {
    let (refused, scheduled, mut trials) = (Refused::read(), Scheduled::read(), Vec::new());
    let (mut unknown, mut launches) = (refused.lines(), 0);
    for k in kernels() {
        let Some(launch) = k.launch else { continue };
        launches += 1;
        unknown.retain(|line| !Refused::means(line, &k.name, &k.target));
        let (is_refused, free) = (refused.has(&k.name, &k.target), scheduled.outputs(&k.name));
        for seed in SEEDS {
            let (launch, module) = (launch.clone(), k.module.clone());
            let title = format!("outputs/{}/{}/seed={seed}", k.name, k.target);
            trials.push(Trial::test(title, move || case(&launch, &module, is_refused, free, seed)));
        }
    }
    assert!(launches > 100, "the corpus is gone");
    trials.push(Trial::test("outputs/every line of refused.txt names a launch", move || {
        if unknown.is_empty() {
            Ok(())
        } else {
            Err(format!("nothing is launched as {}", unknown.join(", ")).into())
        }
    }));
    trials
}
