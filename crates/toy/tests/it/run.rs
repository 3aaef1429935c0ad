//! Toy code on the CPU device: results against a reference, checks, and errors.

use std::collections::BTreeMap;

use prlx_driver::{Job, Output};
use prlx_emu::{Checks, Emulator, FlowRequest, Options, Others};
use prlx_toy::Toy;
use prlx_trace::check::{Check, Findings, Kind};
use prlx_trace::dataflow::{AccessKind, Action};

use crate::support::{BAD, ELEMENTS, GOOD, THREADS, device, input, job};

/// What the kernel computes for a launch, by a program that knows nothing of waves: `out` and `found`.
fn reference(limit: impl Fn(u32) -> bool) -> (Vec<u32>, [u32; 2]) {
    let steps = |mut x: u32| {
        let mut n = 0;
        while x != 1 {
            x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
            n += 1;
        }
        n
    };
    let (mut out, mut found) = (vec![0; ELEMENTS as usize], [0; 2]);
    for cta in 0..2 {
        let mut values = BTreeMap::new();
        // The lanes of a wave that pass the limit are numbered.
        let mut ranks: BTreeMap<u32, u32> = BTreeMap::new();
        for thread in 0..THREADS {
            let i = cta * THREADS + thread;
            let mut n = 0;
            if i < ELEMENTS {
                n = steps(input(i));
                if limit(n) {
                    let rank = ranks.entry(thread / 64).or_default();
                    n = n * 100 + *rank;
                    *rank += 1;
                    found[0] += 1;
                }
                out[i as usize] = n;
            }
            values.insert(thread, n);
        }
        // Thread 0 adds what its wave sums: the value of lane 0, and that of lane 1 twice.
        found[1] += values[&0] + 2 * values[&1];
    }
    (out, found)
}

fn words(outputs: &[Output], name: &str) -> Vec<u32> {
    let output = outputs.iter().find(|output| output.name == name).unwrap();
    output.bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn run(device: &mut Emulator, job: &Job) -> (Vec<u32>, Vec<u32>) {
    let outputs = prlx_driver::run(device, job).unwrap().outputs;
    (words(&outputs, "out"), words(&outputs, "found"))
}

#[test]
fn kernels_compute_what_the_reference_computes() {
    for (text, limit) in [(GOOD, 17), (BAD, 16)] {
        let (out, found) = reference(|n| n >= limit);
        for seed in [0, 1, 7] {
            let mut job = job("kernel", text);
            job.config.seed = seed;
            assert_eq!(run(&mut device(Checks::NONE), &job), (out.clone(), found.to_vec()));
        }
    }
    assert_ne!(reference(|n| n > 16), reference(|n| n >= 16));
}

/// What a check finds in a kernel.
fn findings(text: &str, check: Check) -> Findings {
    let mut device = device(Checks::NONE.with(check));
    prlx_driver::run(&mut device, &job("kernel", text)).unwrap();
    device.take_findings()
}

#[test]
fn checks_find_planted_errors() {
    // Lanes read what the other wave of their CTA stored, behind the barrier or not.
    let crossing = GOOD.replace("xor.u32 v6, v4, 4", "xor.u32 v6, v4, 256");
    assert_ne!(crossing, GOOD);
    assert_eq!(findings(&crossing, Check::Race).list, []);
    let found = findings(&crossing.replace("  barrier ; 23\n", ""), Check::Race);
    let [race] = &found.list[..] else { panic!("{:?}", found.list) };
    assert_eq!(race.kind, Kind::Race);
    let mut lines: Vec<u32> =
        race.sides.iter().filter_map(|side| Some(side.place.as_ref()?.source.first()?.line)).collect();
    lines.sort_unstable();
    assert_eq!(lines, [22, 26]);
    // Elements behind the input are loaded.
    let longer = GOOD.replace("cmp.lt.u32 m0, v1, v2", "cmp.le.u32 m0, v1, v2");
    let error = prlx_driver::run(&mut device(Checks::NONE), &job("kernel", &longer)).unwrap_err().to_string();
    assert!(error.contains("`ld.global.u32 v2, [d0]` at steps.c:7 in `steps` reads"), "{error}");
}

#[test]
fn the_data_flow_has_accesses_and_types() {
    let options = Options {
        threads: 1,
        machines: vec![&Toy],
        dataflow: Some(FlowRequest { bytes: 16 << 20, ctas: None, others: Others::Noted }),
        ..Options::default()
    };
    let mut device = Emulator::new(options);
    prlx_driver::run(&mut device, &job("good", GOOD)).unwrap();
    let flow = device.take_dataflow().unwrap();
    assert!(flow.complete);
    let store = flow.instructions.iter().position(|inst| inst.opcode == "st.global.u32").unwrap();
    assert_eq!(flow.instructions[store].action, Action::Store);
    let mut lanes = 0;
    for warp in &flow.warps {
        for access in warp.accesses.iter().filter(|a| a.kind == AccessKind::Write && a.bytes == 4) {
            let visit = warp.visits[access.visit as usize];
            lanes += if visit.instruction as usize == store { access.lanes.count_ones() } else { 0 };
        }
    }
    assert_eq!(lanes, ELEMENTS);
    let wide = flow.instructions.iter().find(|inst| inst.opcode == "shl.u64").unwrap();
    assert_eq!(wide.ty.name(), "u64");
}
