//! Races in AMD code: of reads before loops that repeat a compare-and-swap, and of data that a workgroup
//! hands to another one (`swaps.hip` and `releases.hip` in `tests/kernels/amd`).

use prlx_driver::{Job, run};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Check, Findings, Kind};

const TARGETS: [&str; 5] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"];

fn races(module: &str, target: &str, kernel: &str, seed: u64) -> Findings {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
    let arg =
        |name, content| format!("[[arg]]\nname = '{name}'\ntype = 'u32'\n{content}\nlen = 256\nout = true\n");
    let args = match module {
        "swaps" => [arg("word", "iota = 3"), arg("out", "fill = 0")].concat(),
        _ => ["flag", "data", "out"].map(|name| arg(name, "fill = 0")).concat(),
    };
    let text = format!(
        "module = '{module}.{target}.co'\nkernel = '{kernel}'\ngrid = 2\nblock = 128\nseed = {seed}\n{args}"
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
                let found = races("swaps", target, kernel, seed);
                assert_eq!(found.list, [], "{target} {kernel} {seed}");
            }
        }
    }
}

#[test]
fn other_uses_of_the_value_are() {
    for target in TARGETS {
        for kernel in ["stored", "bounded", "once", "guess", "other"] {
            let found = races("swaps", target, kernel, 1);
            let kinds: Vec<Kind> = found.list.iter().map(|f| f.kind).collect();
            assert_eq!(kinds, [Kind::Race], "{target} {kernel}: {found:#?}");
        }
    }
}

#[test]
fn data_behind_a_released_flag_is_no_race() {
    for target in TARGETS {
        for kernel in ["release", "fence", "wide"] {
            for seed in 0..4 {
                let found = races("releases", target, kernel, seed);
                assert_eq!(found.list, [], "{target} {kernel} {seed}");
            }
        }
    }
}

#[test]
fn data_that_a_flag_does_not_order_is() {
    for target in TARGETS {
        for kernel in ["early", "hasty", "relaxed"] {
            let found = races("releases", target, kernel, 1);
            let kinds: Vec<Kind> = found.list.iter().map(|f| f.kind).collect();
            assert_eq!(kinds, [Kind::Race], "{target} {kernel}: {found:#?}");
        }
    }
}
