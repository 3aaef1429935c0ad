//! The kernels of the tests, their launches and recordings, and files with what is expected.

use std::path::{Path, PathBuf};

use prlx_driver::buffer_content::Content;
use prlx_driver::job::{Arg, ArgValue, Buffer};
use prlx_driver::{Job, LaunchConfig, RecordOptions, Recorded, record};
use prlx_emu::{Checks, Emulator, Options};
use prlx_isa::MachineCode;
use prlx_plan::{Plan, RecordingRequest};
use prlx_toy::{LANES, TOY, Toy};
use prlx_trace::kernel::Scalar;
use prlx_trace::{Dim3, Trace};

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

fn buffer(name: &str, len: u32, content: Content, out: bool) -> Arg {
    let value = ArgValue::Buffer(Buffer {
        ty: Scalar::U32,
        shape: vec![len.into()],
        content,
        random: (0, 0),
        out,
        save: None,
        expect: None,
        map: None,
        place: None,
        variable: false,
    });
    Arg { name: name.to_owned(), value }
}

/// Element `i` of the input.
pub fn input(i: u32) -> u32 {
    i + 1
}

/// The launch of a kernel: two CTAs of [`THREADS`] threads.
pub fn job(name: &str, text: &str) -> Job {
    let module = TOY.read(text.as_bytes()).unwrap();
    let numbers = (0..ELEMENTS).flat_map(|i| input(i).to_le_bytes()).collect();
    Job {
        name: format!("{name}.toml"),
        module: format!("{name}.toy"),
        text: text.to_owned(),
        object: Some(MachineCode { set: TOY, bytes: text.as_bytes().to_vec(), warp_lanes: LANES }),
        folder: PathBuf::new(),
        source: PathBuf::new(),
        kernel: "steps".to_owned(),
        config: LaunchConfig {
            grid: Dim3 { x: 2, y: 1, z: 1 },
            block: Dim3 { x: THREADS, y: 1, z: 1 },
            ..LaunchConfig::default()
        },
        params: prlx_plan::kernel_params(&module, &module.functions[0]),
        args: vec![
            buffer("in", ELEMENTS, Content::Bytes(numbers), false),
            buffer("out", ELEMENTS, Content::Fill(7), true),
            buffer("found", 2, Content::Fill(0), true),
            Arg { name: "n".to_owned(), value: ArgValue::Scalar(Scalar::U32, ELEMENTS.into()) },
        ],
        before: Vec::new(),
    }
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
