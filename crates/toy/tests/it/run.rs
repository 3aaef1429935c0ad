//! Toy code on the CPU device: results against a reference, checks, and errors.

use std::collections::BTreeMap;

use prlx_driver::{Job, Output};
use prlx_emu::{Checks, Emulator};

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
