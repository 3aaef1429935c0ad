//! Tests of the CPU device over files: the kernels of the corpus, and the cases of markers.
//!
//! A trial is named after its group and its file, as `outputs/cuda/saxpy/sm_80/seed=1`. `cargo test -p
//! prlx-emu --test cases NAME` runs the trials whose name contains NAME.

mod amd_marks;
mod corpus;
mod hooks;
mod marks;
mod ops_page;
mod outputs;

use libtest_mimic::Arguments;

fn main() {
    let args = Arguments::from_args();
    let mut trials = outputs::trials();
    trials.extend(hooks::trials());
    trials.extend(marks::trials());
    trials.extend(amd_marks::trials());
    trials.extend(ops_page::trials());
    libtest_mimic::run(&args, trials).exit();
}
