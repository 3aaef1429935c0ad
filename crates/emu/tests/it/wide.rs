//! The test mode with warps of 64 lanes: what it means, and what it refuses.

use crate::case::Case;
use prlx_driver::{Driver, ErrorKind, LaunchConfig, ModuleCode};
use prlx_emu::{Checks, Emulator, FlowRequest, Others};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::check::Check;
use prlx_trace::dataflow::Visit;
use prlx_trace::launch::Lanes;
use prlx_trace::{Dim3, LaneMask, Level, WarpSize};

fn wide(body: &str) -> Case {
    let mut case = Case::new(body);
    case.options.warp_size = WarpSize::W64;
    case
}

#[test]
fn threads_know_their_place() {
    let body = "mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mov.u32 %r3, %nwarpid; mov.u32 %r4, WARP_SZ;
                shl.b32 %r2, %r2, 8; shl.b32 %r3, %r3, 16; shl.b32 %r4, %r4, 24;
                or.b32 %r1, %r1, %r2; or.b32 %r3, %r3, %r4; or.b32 %r1, %r1, %r3; st.global.u32 [%rd1], %r1;";
    let words = wide(body).shape(2, 96).all();
    let of = |thread: u32| (thread % 64) | ((thread / 64) << 8) | 0x4002_0000;
    assert_eq!(words, (0..192).map(|i| of(i % 96)).collect::<Vec<_>>());
    assert_eq!(words[37], 0x4002_0025);
    assert_eq!(words[95], 0x4002_011f);
}

#[test]
fn halves_of_a_warp_meet_and_wait_for_each_other() {
    let shared = ".shared .align 4 .b8 tile[512];";
    // Through shared memory: each thread reads the word of the thread 32 further, across the halves.
    let exchange = "mov.u32 %r2, tile; mad.lo.u32 %r3, %r0, 4, %r2; mul.lo.u32 %r4, %r0, 7; \
                    st.shared.u32 [%r3], %r4; bar.sync 0; xor.b32 %r5, %r0, 32; mad.lo.u32 %r5, %r5, 4, %r2; \
                    ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    let words = wide(exchange).module(shared).shape(1, 128).all();
    assert_eq!(words, (0..128).map(|i| (i ^ 32) * 7).collect::<Vec<u32>>());
    // The lower half waits in a loop for a store of the upper half, which comes later in the code.
    let waits = "setp.ge.u32 %p1, %r0, 32; @%p1 bra SET;
                 L: ld.volatile.global.u32 %r1, [%rd0+252]; setp.eq.u32 %p2, %r1, 0; @%p2 bra L;
                 st.global.u32 [%rd1], 5; bra OUT;
                 SET: add.u32 %r2, %r0, 1; st.volatile.global.u32 [%rd1], %r2; OUT:";
    let words = wide(waits).shape(1, 64).all();
    assert_eq!(words, (0..64).map(|i| if i < 32 { 5 } else { i + 1 }).collect::<Vec<u32>>());
}

#[test]
fn barriers_count_warps_of_64_threads() {
    let e = wide("bar.sync 1, 32;").shape(1, 64).error();
    assert!(e.message.contains("which is not a multiple of 64"), "{e}");
    // Lanes that do not exist count too: a warp arrives as a whole.
    for threads in [32, 40, 64] {
        wide("bar.sync 1, 64; st.global.u32 [%rd1], 1;").shape(1, threads).all();
    }
    let e = wide("setp.ge.u32 %p1, %r0, 100; @%p1 bar.sync 1, 256;").shape(1, 128).error();
    assert_eq!(e.kind, ErrorKind::Stuck);
    assert!(e.message.contains("warp 1 lanes 36-63"), "{e}");
}

#[test]
fn what_needs_32_lanes_is_refused_with_its_place() {
    for instruction in [
        "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;",
        "vote.sync.any.pred %p1, %p2, -1;",
        "match.any.sync.b32 %r1, %r0, -1;",
        "redux.sync.add.s32 %r1, %r0, -1;",
        "activemask.b32 %r1;",
        "elect.sync %r1|%p1, -1;",
        "bar.warp.sync -1;",
        "mov.u32 %r1, %lanemask_eq;",
        "mov.b64 %rd2, {%lanemask_lt, %r1};",
        "mov.u32 %r1, %lanemask_ge;",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;",
    ] {
        let e = wide(&format!("{instruction}\nst.global.u32 [%rd1], %r1;")).error();
        assert_eq!(e.kind, ErrorKind::Unsupported, "{e}");
        let (place, why) = (format!("`{instruction}` at line "), "and a warp has 64 lanes here");
        assert!(e.message.contains(&place) && e.message.contains(why), "{e}");
        Case::new(&format!("mov.u32 %r1, 0;\n{instruction}\nst.global.u32 [%rd1], %r1;")).words();
    }
    let mut checked = wide("st.global.u32 [%rd1], 1;");
    checked.options.checks = Checks::NONE.with(Check::Race);
    let e = checked.error();
    assert_eq!(e.kind, ErrorKind::Unsupported);
    assert!(e.message.contains("the checks need warps of 32 lanes"), "{e}");
}

#[test]
fn faults_name_the_thread() {
    let e = wide("setp.eq.u32 %p1, %r0, 109; @%p1 trap;").shape(1, 128).error();
    assert!(e.message.contains("thread (109,0,0)"), "{e}");
}

/// Lanes of both halves share an event, and lane 39 is the last that takes the branch.
#[test]
fn hooks_see_the_whole_warp() {
    let case = wide(
        "setp.lt.u32 %p1, %r0, 40; @%p1 bra SMALL; st.global.u32 [%rd1], 7; bra OUT;
         SMALL: st.global.u32 [%rd1], 9; OUT:",
    )
    .shape(1, 128);
    let (mut view, _) = prlx_isa::ptx::read(&case.text());
    let request = RecordingRequest { elide: false, ..RecordingRequest::new(Level::Events) };
    for (lanes, fits) in [(32, false), (64, true)] {
        view.warp_lanes = lanes;
        let plan = Plan::resolve(&request, &view, "k", &|_| None);
        let mut device = Emulator::new(case.options.clone());
        let module = device.load(ModuleCode::Ptx(&case.text())).unwrap();
        let buffer = device.alloc(512, 4).unwrap();
        let block = Dim3 { x: 128, y: 1, z: 1 };
        let config = LaunchConfig { block, ..LaunchConfig::default() };
        let seen = device.observe(module, "k", &config, &buffer.0.to_le_bytes(), &plan).unwrap();
        if !fits {
            let e = seen.unwrap_err();
            assert_eq!(e.message, "the plan is for warps of 32 lanes; the device has warps of 64");
            continue;
        }
        let streams = seen.unwrap().streams;
        assert_eq!(streams.len(), 2);
        let Lanes::Events(events) = &streams[0].lanes else { panic!("events") };
        let branch = events.iter().find(|e| e.value != 0 && e.mask == LaneMask(u64::MAX)).unwrap();
        assert_eq!(branch.value, (1 << 40) - 1);
        assert!(events.iter().any(|e| e.mask == LaneMask(u64::MAX << 40)), "{events:?}");
    }
}

#[test]
fn data_flow_has_lanes_of_the_whole_warp() {
    let mut case = wide(
        "setp.lt.u32 %p1, %r0, 40; mov.u32 %r1, 0; @%p1 ld.global.u32 %r1, [%rd1];
                         add.u32 %r2, %r1, %r0; st.global.u32 [%rd1], %r2;",
    )
    .shape(1, 96);
    case.words = (0..96).map(|i| 100 * i).collect();
    case.options.dataflow = Some(FlowRequest { bytes: 1 << 20, ctas: None, others: Others::Noted });
    let (flow, words) = case.data_flow(0);
    assert_eq!((flow.warps.len(), flow.warps_per_cta, flow.warp_size), (2, 2, WarpSize::W64));
    let number = |opcode: &str| flow.instructions.iter().position(|i| i.opcode == opcode).unwrap() as u32;
    let of = |warp: usize, opcode: &str, lane: u32| {
        let runs = |v: &Visit| v.instruction == number(opcode) && v.lanes >> lane & 1 == 1;
        flow.warps[warp].visits.iter().rposition(runs).unwrap() as u32
    };
    let lanes = flow.warps[0].visits.iter().filter(|v| v.instruction == number("ld.global.u32"));
    assert_eq!(lanes.fold(0, |all, v| all | v.lanes), (1 << 40) - 1);
    let load = of(0, "ld.global.u32", 39);
    assert_eq!(flow.warps[0].value(&flow.instructions, load, 0, 39), Some(3900));
    let sum = of(1, "add.u32", 31);
    assert_eq!(flow.warps[1].value(&flow.instructions, sum, 0, 31), Some(95));
    assert_eq!((words[39], words[40], words[95]), (3939, 40, 95));
}
