//! The kernels of the tests, their launches and recordings, and files with what is expected.

use std::path::Path;

use prlx_driver::{Error, Job, RecordOptions, Recorded, record};
use prlx_emu::{Checks, Emulator, Options};
use prlx_plan::{Plan, RecordingRequest};
use prlx_toy::{TOY, Toy};
use prlx_trace::Trace;

/// Counts steps of the Collatz sequence.
pub const GOOD: &str = include_str!("../kernels/good.toy");
/// The same, but one comparison on line 15 is `>=` instead of `>`.
pub const BAD: &str = include_str!("../kernels/bad.toy");

/// Threads of a CTA: a wave and a part of another.
pub const THREADS: u32 = 100;
/// Elements of the input, fewer than threads.
pub const ELEMENTS: u32 = 190;

/// Compares a text with a file; `BLESS=1` writes the file.
pub fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} has changed (BLESS=1 writes it):\n{text}");
}

/// Element `i` of the input.
pub fn input(i: u32) -> u32 {
    i + 1
}

/// The launch file of a kernel: two CTAs of [`THREADS`] threads.
fn launch_file(name: &str) -> String {
    format!(
        r#"
module = "{name}.toy"
kernel = "steps"
grid = 2
block = {THREADS}

[[arg]]
name = "in"
type = "u32"
iota = 1
len = {ELEMENTS}

[[arg]]
name = "out"
type = "u32"
fill = 7
len = {ELEMENTS}
out = true

[[arg]]
name = "found"
type = "u32"
fill = 0
len = 2
out = true

[[arg]]
name = "n"
value = {ELEMENTS}
"#
    )
}

/// The launch of a kernel, read from its launch file.
pub fn read_job(name: &str, text: &str) -> Result<Job, Error> {
    let module = |_: &str| Ok(text.as_bytes().to_vec());
    Job::parse_with(&format!("{name}.toml"), &launch_file(name), &module, &[&Toy])
}

/// The launch of a kernel that can be read.
pub fn job(name: &str, text: &str) -> Job {
    read_job(name, text).unwrap()
}

/// A CPU device that runs toy code.
pub fn device(checks: Checks) -> Emulator {
    Emulator::new(Options {
        threads: 1,
        max_steps: 1 << 20,
        machines: vec![&Toy],
        checks,
        ..Options::default()
    })
}

/// A recording by hooks, while the device runs the unchanged code.
pub fn by_hooks(job: &Job, request: &RecordingRequest) -> (Plan, Recorded) {
    let view = TOY.read(job.text.as_bytes()).unwrap();
    let plan = Plan::resolve(request, &view, &job.module, &|_| None);
    let recorded = record(&mut device(Checks::NONE), None, &plan, job, &RecordOptions::default()).unwrap();
    (plan, recorded)
}

/// A recording as it would be in a file.
pub fn trace((plan, recorded): &(Plan, Recorded)) -> Trace {
    assert!(recorded.damage.is_empty() && recorded.fault.is_none());
    Trace {
        modules: vec![plan.module.clone()],
        launches: vec![recorded.recording.clone()],
        tallies: recorded.tallies.clone(),
        ..Trace::default()
    }
}
