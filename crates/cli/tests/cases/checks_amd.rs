//! `--check init` on AMD's machine code: the kernels of `tests/kernels/amd/init.hip`, for five targets and
//! both sizes of waves.
//!
//! # Invariants
//! - Under the fair schedule and under a hostile one, the fault of a kernel gives findings at the line that
//!   the source marks with `FAULT`, and with the read that it marks with `READ`, and no others.
//! - The corrected kernels, and `only_copied`, give no finding.

use std::collections::BTreeSet;

use crate::corpus::root;
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Error, ErrorKind, Job};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Check, Finding, Findings, Kind};

/// Seed 0 is the fair schedule.
const SEEDS: &[u64] = &[0, 7];

const TARGETS: [&str; 6] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1100-wave64", "gfx1201"];

/// The kernels, and how the use of the value is found; `None` if it is none.
const KERNELS: [(&str, Option<Kind>); 10] = [
    ("tile_unwritten", Some(Kind::UndefinedStore)),
    ("early_return", Some(Kind::UndefinedBranch)),
    ("local_array", Some(Kind::UndefinedStore)),
    ("partly_written", Some(Kind::UndefinedStore)),
    ("wrong_index", Some(Kind::UndefinedAddress)),
    ("counter", Some(Kind::UndefinedUpdate)),
    ("uniform_branch", Some(Kind::UndefinedBranch)),
    ("scratch_buffer", Some(Kind::UndefinedStore)),
    ("packed_half", Some(Kind::UndefinedStore)),
    ("only_copied", None),
];

/// One trial for each kernel, target and version.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in TARGETS {
        for (kernel, kind) in KERNELS {
            for bad in [true, false] {
                let name = format!("checks/amd init: {kernel} {target} {}", version(bad));
                trials.push(Trial::test(name, move || check(kernel, target, bad, kind.filter(|_| bad))));
            }
        }
    }
    trials
}

fn version(bad: bool) -> &'static str {
    if bad { "bad" } else { "good" }
}

/// The findings of a kernel.
fn run(kernel: &str, target: &str, bad: bool, seed: u64) -> Result<Findings, Failed> {
    let first = match kernel {
        "scratch_buffer" => "name = 'scratch'\ntype = 's32'\nuninit = true\nlen = 256",
        _ => "name = 'in'\ntype = 's32'\niota = 0\nlen = 256",
    };
    let text = format!(
        "module = 'init.{}.{target}.co'\nkernel = '{kernel}'\ngrid = 2\nblock = 128\n[[arg]]\n{first}\n\
         [[arg]]\nname = 'out'\ntype = 's32'\nfill = 0\nlen = 256\nout = true\n[[arg]]\nvalue = 100\n",
        version(bad)
    );
    let folder = root().join("tests/kernels/amd");
    let read = |file: &str| {
        let path = folder.join(file);
        std::fs::read(&path).map_err(|e| Error::new(ErrorKind::Module, format!("{}: {e}", path.display())))
    };
    let mut job = Job::parse("launch.toml", &text, &read)?;
    job.config.seed = seed;
    let checks = Checks::NONE.with(Check::Init);
    let mut device = Emulator::new(Options { threads: 1, checks, ..Options::default() });
    prlx_driver::run(&mut device, &job)?;
    Ok(device.take_findings())
}

/// The lines of a finding's sides.
fn lines(f: &Finding) -> Vec<u32> {
    let line = |s: &prlx_trace::check::Side| s.place.as_ref()?.source.first().map(|l| l.line);
    f.sides.iter().filter_map(line).collect()
}

fn check(kernel: &str, target: &str, bad: bool, kind: Option<Kind>) -> Result<(), Failed> {
    let source = std::fs::read_to_string(root().join("tests/kernels/amd/init.hip"))?;
    let marked = |mark: &str| -> BTreeSet<u32> {
        let mark = format!("// {kernel} {mark}");
        (1..).zip(source.lines()).filter(|(_, l)| l.ends_with(&mark)).map(|(n, _)| n).collect()
    };
    for &seed in SEEDS {
        let found = run(kernel, target, bad, seed)?;
        if !found.unchecked.is_empty() || found.list.is_empty() != kind.is_none() {
            return Err(format!("under seed {seed}: {found:#?}").into());
        }
        for f in &found.list {
            let at = lines(f);
            let (first, rest): (BTreeSet<u32>, BTreeSet<u32>) =
                (at.iter().take(1).copied().collect(), at.iter().skip(1).copied().collect());
            if Some(f.kind) != kind || first != marked("FAULT") || rest != marked("READ") {
                return Err(format!("under seed {seed}, lines {at:?}: {f:#?}").into());
            }
        }
    }
    Ok(())
}
