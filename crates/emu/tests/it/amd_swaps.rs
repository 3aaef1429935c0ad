//! Races of reads before loops that repeat a compare-and-swap, in AMD code (`tests/kernels/amd/swaps.hip`).

use prlx_driver::{Job, run};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Check, Findings, Kind};

const TARGETS: [&str; 5] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"];

fn races(target: &str, kernel: &str, seed: u64) -> Findings {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
    let text = format!(
        "module = 'swaps.{target}.co'\nkernel = '{kernel}'\ngrid = 2\nblock = 128\nseed = {seed}\n\
         [[arg]]\nname = 'word'\ntype = 'u32'\niota = 3\nlen = 256\nout = true\n\
         [[arg]]\nname = 'out'\ntype = 'u32'\nfill = 0\nlen = 256\nout = true\n"
    );
    let job = Job::parse("launch.toml", &text, &|file| Ok(std::fs::read(format!("{folder}{file}")).unwrap()));
    let checks = Checks::NONE.with(Check::Race);
    let mut device = Emulator::new(Options { checks, ..Options::default() });
    run::run(&mut device, &job.unwrap()).unwrap();
    device.take_findings()
}

#[test]
fn reads_that_a_swap_checks_are_no_races() {
    for target in TARGETS {
        for kernel in ["add", "loop", "lds"] {
            for seed in 0..4 {
                let found = races(target, kernel, seed);
                assert_eq!(found.list, [], "{target} {kernel} {seed}");
            }
        }
    }
}

#[test]
fn other_uses_of_the_value_are() {
    for target in TARGETS {
        for kernel in ["stored", "bounded", "once", "guess", "other"] {
            let found = races(target, kernel, 1);
            let kinds: Vec<Kind> = found.list.iter().map(|f| f.kind).collect();
            assert_eq!(kinds, [Kind::Race], "{target} {kernel}: {found:#?}");
        }
    }
}
