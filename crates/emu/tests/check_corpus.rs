//! Every kernel of the corpus is clean under every check, under the fair schedule and a hostile one.

mod lists;

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use lists::{Refused, kernels};
use prlx_driver::Job;
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Finding, Grade};

/// Seeds: the fair schedule, and a hostile one.
const SEEDS: [u64; 2] = [0, 1];

fn case(path: &Path, module: &Path, seed: u64) -> Result<(), Failed> {
    let mut job = Job::load(path).map_err(|e| e.to_string())?;
    job.text = std::fs::read_to_string(module)?;
    job.config.seed = seed;
    let options = Options { max_steps: 200_000_000, checks: Checks::all(), ..Options::default() };
    let mut emulator = Emulator::new(options);
    let run = prlx_driver::run(&mut emulator, &job);
    let found = emulator.take_findings();
    let errors: Vec<String> =
        found.list.iter().filter(|f| f.kind.grade() == Grade::Error).take(5).map(in_words).collect();
    match run {
        Err(e) => Err(format!("{:?}: {e}\n{}", e.kind, errors.join("\n")).into()),
        Ok(_) if found.errors() > 0 => Err(format!("{} errors:\n{}", found.errors(), errors.join("\n")).into()),
        Ok(_) if !found.unchecked.is_empty() => Err(format!("not checked: {:?}", found.unchecked).into()),
        Ok(_) => Ok(()),
    }
}

fn in_words(f: &Finding) -> String {
    let mut text = format!("[{}] {}", f.kind.name(), f.what);
    for s in &f.sides {
        let place = s.place.as_ref().map(|p| {
            let source = p.source.first().map_or(String::new(), |l| format!("{}:{} ", l.file, l.line));
            format!("{source}{} (PTX line {})", p.instruction, p.module_line)
        });
        let who = s.threads.map(|t| format!("CTA {} warp {} lanes {:#x}", t.cta, t.warp, t.lanes.0));
        text += &format!("\n    {}: {} {}", s.role, place.unwrap_or_default(), who.unwrap_or_default());
    }
    text
}

fn main() {
    let args = Arguments::from_args();
    let (refused, mut trials) = (Refused::read(), Vec::new());
    for k in kernels() {
        let Some(launch) = k.launch.filter(|_| !refused.has(&k.name, &k.target)) else { continue };
        for seed in SEEDS {
            let (launch, module) = (launch.clone(), k.module.clone());
            let title = format!("{}/{}/seed={seed}", k.name, k.target);
            trials.push(Trial::test(title, move || case(&launch, &module, seed)));
        }
    }
    assert!(trials.len() > 200, "the corpus is gone");
    libtest_mimic::run(&args, trials).exit();
}
