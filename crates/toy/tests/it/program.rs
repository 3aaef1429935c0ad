//! The recorder of programs over the CPU device: what it delivers of launches of a program is what recording
//! the launch file gives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use prlx_driver::cuda::LAUNCH_HASHES;
use prlx_driver::queue::Queue;
use prlx_driver::record::program::{Finished, Recorder, RecorderMemory};
use prlx_driver::{Driver, Job, ModuleCode, prepare};
use prlx_emu::Checks;
use prlx_instrument::{Rewrite, rewrite_object};
use prlx_plan::RecordingRequest;
use prlx_toy::{TOY, Toy};
use prlx_trace::launch::Launch;
use prlx_trace::{Level, WarpSize};

use crate::queue::CpuQueue;
use crate::rewrite::by_code;
use crate::support::{BAD, GOOD, device, job};

/// Memory of the recorder: two generations, with room for some launches each.
const MEMORY: RecorderMemory = RecorderMemory { device: 64 << 20, tables: 0, on_host: false, host: 64 << 20 };

/// Runs a program that launches a kernel some times, and records it.
fn record_program(job: &Job, level: Level, hashes: bool, times: u64) -> Vec<Finished> {
    let request = RecordingRequest { launch_hashes: hashes, ..RecordingRequest::new(level) };
    let Rewrite { plan, object, .. } =
        rewrite_object(&Toy, job.text.as_bytes(), &job.module, &request, &|_| None).unwrap();
    let plan = Arc::new(plan);
    let queue = CpuQueue::new(device(Checks::NONE), WarpSize::W64);
    let delivered = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&delivered);
    let sink = move |launch| to.lock().unwrap().push(launch);
    let hashes = hashes.then_some(LAUNCH_HASHES.as_bytes());
    let recorder = Recorder::new(Arc::new(queue.clone()), (level, hashes), MEMORY, sink).unwrap();

    let stream = queue.create_stream().unwrap();
    let bytes = object.unwrap().bytes;
    let module = queue.with(|device| device.load(ModuleCode::Object(TOY, &bytes)));
    let prepared = queue.with(|device| prepare(device, job));
    for number in 0..times {
        queue.with(|device| prepared.reset(device, job));
        let launch = Launch {
            number,
            level,
            grid: job.config.grid,
            block: job.config.block,
            warp_size: WarpSize::W64,
            params: prepared.params.clone(),
            ..Launch::default()
        };
        let ticket = recorder.begin(&plan, launch, stream).unwrap();
        let (kernel, params) = job.instrumented_launch(&prepared.params, &ticket.hidden).unwrap();
        queue.with(|device| device.launch(module, &kernel, &job.config, &params));
        recorder.queued(ticket, stream);
    }
    recorder.wait_for_copies();
    let (counts, failed) = recorder.finish(Duration::from_secs(60));
    assert_eq!((counts.requested, counts.recorded, failed), (times, times, None));
    let mut all = std::mem::take(&mut *delivered.lock().unwrap());
    all.sort_by_key(|f| f.recording.launch.number);
    all
}

#[test]
fn launches_of_a_program_are_recorded_as_launch_files_are() {
    for text in [GOOD, BAD] {
        for level in [Level::Path, Level::Values, Level::Fingerprint, Level::Events] {
            let job = job("kernel", text);
            let (_, file) = by_code(&job, &RecordingRequest::new(level));
            let program = record_program(&job, level, false, 5);
            assert_eq!(program.len(), 5);
            for launch in program {
                assert!(launch.damage.is_empty(), "{level:?}: {:?}", launch.damage);
                let totals = &launch.recording.launch.totals;
                assert_eq!((totals.dropped, launch.recording.launch.warps()), (0, 4), "{level:?}");
                assert_eq!(launch.recording.streams.root(), file.recording.streams.root(), "{level:?}");
            }
        }
    }
}

/// The kernel that hashes launches is PTX, and the words that it hashes are those of waves of 64 lanes.
#[test]
fn hashes_of_launches_tell_kernels_apart() {
    let hashes = |text: &str| {
        let all = record_program(&job("kernel", text), Level::Fingerprint, true, 3);
        let hashes: Vec<_> = all.iter().map(|f| f.recording.launch.hashes.unwrap()).collect();
        assert!(hashes.windows(2).all(|two| two[0] == two[1]), "{hashes:?}");
        assert_eq!(hashes[0].warps, 4);
        hashes[0]
    };
    assert_eq!(hashes(GOOD), hashes(GOOD));
    assert_ne!(hashes(GOOD), hashes(BAD));
}
