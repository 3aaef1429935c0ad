//! The data flow of a launch: visits, values and accesses of each lane; and that recording it changes
//! nothing.

use std::collections::BTreeSet;

use crate::case::Case;
use prlx_driver::Job;
use prlx_emu::{Emulator, FlowRequest, Options, Others};
use prlx_trace::check::Space;
use prlx_trace::dataflow::{AccessKind, Action, CtaWrites, DataFlow, Operand, Operation, Visit};
use prlx_trace::kernel::Scalar;

/// A guarded load, a loop, an exchange through shared memory, and a shuffle.
const BODY: &str = "\
.shared .align 4 .b8 tile[256];
mov.u32 %r1, 7;
setp.lt.u32 %p1, %r0, 40;
@%p1 ld.global.u32 %r1, [%rd1];
mov.u32 %r2, 0;
mov.u32 %r3, 0;
loop:
add.u32 %r2, %r2, %r1;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p2, %r3, 3;
@%p2 bra loop;
mov.u32 %r4, tile;
mad.lo.u32 %r5, %r0, 4, %r4;
st.shared.u32 [%r5], %r2;
bar.sync 0;
xor.b32 %r6, %r0, 33;
mad.lo.u32 %r6, %r6, 4, %r4;
ld.shared.u32 %r7, [%r6];
shfl.sync.bfly.b32 %r8, %r7, 1, 31, 0xffffffff;
add.u32 %r9, %r8, %r2;
st.global.u32 [%rd1], %r9;";

fn case() -> Case {
    let mut case = Case::new(BODY).shape(2, 64);
    case.words = (0..128).map(|i| i * 3 + 1).collect();
    case
}

/// The launch's data flow, and what the buffer holds after it.
fn recorded(seed: u64, limit: u64) -> (DataFlow, Vec<u32>) {
    let mut case = case();
    case.options.dataflow = Some(FlowRequest { bytes: limit, ctas: None, others: Others::Noted });
    case.data_flow(seed)
}

/// The visits of an instruction by one lane, as indices.
fn visits(flow: &DataFlow, warp: usize, lane: u32, opcode: &str) -> Vec<u32> {
    let number = flow.instructions.iter().position(|i| i.opcode == opcode).expect(opcode) as u32;
    let all = flow.warps[warp].visits.iter().enumerate();
    all.filter(|(_, v)| v.instruction == number && v.group >> lane & 1 == 1).map(|(i, _)| i as u32).collect()
}

#[test]
fn visits_have_lanes_and_values() {
    let (flow, words) = recorded(0, 1 << 20);
    assert!(flow.complete);
    assert_eq!((flow.warps.len(), flow.warps_per_cta), (4, 2));
    // Threads 40 to 63 come to the load and do not execute it.
    let load = visits(&flow, 1, 8, "ld.global.u32");
    let [guarded] = load[..] else { panic!("{load:?}") };
    assert_eq!(flow.warps[1].visits[guarded as usize].lanes, 0xff);
    assert_eq!(flow.warps[1].value(&flow.instructions, guarded, 0, 8), None);
    assert_eq!(flow.warps[1].value(&flow.instructions, guarded, 0, 7), Some(39 * 3 + 1));
    // The loop runs three times; its sum is the loaded word times the trip.
    let sums = visits(&flow, 2, 5, "add.u32");
    let first: Vec<_> = sums.iter().map(|&v| flow.warps[2].value(&flow.instructions, v, 0, 5)).collect();
    let word = u64::from((64 + 5) * 3 + 1u32);
    assert_eq!(first, [Some(word), Some(2 * word), Some(3 * word)]);
    // The shuffle gives lane 5 what lane 4 loaded: the sum of thread 4 ^ 33 = 37.
    let shuffle = visits(&flow, 2, 5, "shfl.sync.bfly.b32")[0];
    let other = 3 * u64::from((64 + 37) * 3 + 1u32);
    assert_eq!(flow.warps[2].value(&flow.instructions, shuffle, 0, 5), Some(other));
    assert_eq!(u64::from(words[64 + 5]), other + 3 * word);
}

#[test]
fn accesses_have_addresses_and_owners() {
    let (flow, _) = recorded(0, 1 << 20);
    let store = visits(&flow, 3, 1, "st.shared.u32")[0];
    let [access] = flow.warps[3].accesses_of(store) else { panic!("one access") };
    assert_eq!((access.kind, access.space, access.bytes), (AccessKind::Write, Space::Shared, 4));
    assert_eq!((access.owner, access.lanes), (1, u32::MAX.into()));
    assert_eq!(flow.warps[3].address(access, 1), Some(33 * 4));
    let load = visits(&flow, 3, 1, "ld.shared.u32")[0];
    assert_eq!(
        flow.warps[3].address(&flow.warps[3].accesses_of(load)[0], 1),
        Some(u64::from(33u32 ^ 33) * 4)
    );
    assert_eq!(flow.shared[0].name, "tile");
    let action = |opcode: &str| flow.instructions.iter().find(|i| i.opcode == opcode).unwrap().action;
    assert_eq!(action("shfl.sync.bfly.b32"), Action::Exchange);
    assert_eq!(action("setp.lt.u32"), Action::Compare);
    assert_eq!(action("mad.lo.u32"), Action::Compute);
}

#[test]
fn recording_changes_no_result() {
    for seed in [0, 7] {
        let (_, with) = recorded(seed, 1 << 20);
        let (_, cut) = recorded(seed, 1 << 10);
        let without = case().seed(seed).unwrap().0;
        assert_eq!(with, without, "seed {seed}");
        assert_eq!(cut, without, "seed {seed}");
    }
}

#[test]
fn recording_stops_at_its_limit() {
    let (flow, _) = recorded(0, 1 << 10);
    assert!(!flow.complete);
    let visits: usize = flow.warps.iter().map(|w| w.visits.len()).sum();
    assert!(visits > 0 && visits < 40, "{visits}");
}

/// The data flow of a launch of four CTAs of which the last one reads what the second one wrote.
fn communicating(request: FlowRequest) -> (DataFlow, Vec<u32>) {
    let body = "\
        ld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, %r61;\nst.global.u32 [%rd1], %r1;\n\
        setp.ne.u32 %p1, %r61, 3;\n@%p1 bra done;\n\
        ld.global.u32 %r2, [%rd0+128];\nst.global.u32 [%rd1], %r2;\ndone:";
    let mut case = Case::new(body).shape(4, 32);
    case.words = (0..128).collect();
    case.options.dataflow = Some(request);
    case.data_flow(0)
}

#[test]
fn a_survey_has_the_writers_and_the_ctas_that_depend_on_others() {
    let survey = |bytes: u64| communicating(FlowRequest { bytes, ctas: None, others: Others::Surveyed }).0;
    let (whole, flow) = (survey(1 << 20), survey(1 << 10));
    assert!(whole.complete && whole.survey.is_none() && whole.unrecorded == CtaWrites::default());
    assert!(!flow.complete && flow.warps.is_empty());
    let survey = flow.survey.expect("the recording has no room");
    assert_eq!([0, 1, 2, 3].map(|cta| survey.dependent.contains(cta)), [false, false, false, true]);
    let base = flow.buffers.iter().find(|b| b.bytes == 512).expect("the buffer").base;
    assert_eq!([0, 127, 128, 511].map(|at| flow.unrecorded.last(base + at)), [0, 0, 1, 3].map(Some));
    assert!(!flow.unrecorded.several(base, 512));
    let bytes: usize = whole.warps.iter().map(|w| w.visits.len() * size_of::<Visit>()).sum();
    assert!(survey.bytes >= bytes as u64, "{} of {bytes}", survey.bytes);
}

#[test]
fn ctas_of_a_cluster_depend_on_each_other() {
    let mut case = case();
    case.cluster = 2;
    case.options.dataflow = Some(FlowRequest { bytes: 0, ctas: None, others: Others::Surveyed });
    let survey = case.data_flow(0).0.survey.expect("the recording has no room");
    assert!(survey.dependent.contains(0) && survey.dependent.contains(1));
}

#[test]
fn ctas_that_depend_on_no_others_do_the_same_alone() {
    let ctas = Some(BTreeSet::from([0, 2]));
    let all = communicating(FlowRequest { bytes: 1 << 20, ctas: None, others: Others::Noted }).0;
    let (alone, words) = communicating(FlowRequest { bytes: 1 << 20, ctas, others: Others::Skipped });
    assert!(alone.complete);
    assert_eq!((words[1], words[33], words[65], words[97]), (1, 33, 67, 97), "two CTAs did not run");
    for cta in [0, 2] {
        let unordered = |flow: &DataFlow| {
            let mut warp = flow.warps[cta].clone();
            warp.visits.iter_mut().for_each(|v| v.order = 0);
            warp
        };
        assert_eq!(unordered(&alone), unordered(&all), "CTA {cta}");
    }
    assert!(alone.warps[1].visits.is_empty());
}

/// The data flow of a kernel of AMD's, a row of whose input is `0, 1, 2, …`.
fn softmax(target: &str) -> DataFlow {
    let text = format!(
        "module = 'softmax.good.{target}.co'\nkernel = 'softmax'\ngrid = 1\nblock = 64\n\
         [[arg]]\nname = 'x'\ntype = 'f32'\niota = 0\nlen = 64\n\
         [[arg]]\nname = 'y'\ntype = 'f32'\nfill = 0\nlen = 64\nout = true\n\
         [[arg]]\nname = 'cols'\nvalue = 50\n"
    );
    amd_flow(&text)
}

/// The data flow of a launch of AMD's code.
fn amd_flow(text: &str) -> DataFlow {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
    let job = Job::parse("launch.toml", text, &|file| Ok(std::fs::read(format!("{folder}{file}")).unwrap()));
    let mut device = Emulator::new(Options {
        dataflow: Some(FlowRequest { bytes: 1 << 24, ctas: None, others: Others::Noted }),
        ..Options::default()
    });
    prlx_driver::run(&mut device, &job.unwrap()).unwrap();
    device.take_dataflow().unwrap()
}

/// The value of a register in a lane before a visit.
fn before(flow: &DataFlow, warp: usize, visit: u32, lane: u32, register: u32) -> Option<u64> {
    let visits = &flow.warps[warp].visits;
    let order = visits[visit as usize].order;
    let earlier =
        visits.iter().enumerate().rev().filter(|(_, v)| v.order < order && v.lanes >> lane & 1 == 1);
    let mut values = earlier.filter_map(|(at, v)| {
        let results = &flow.instructions[v.instruction as usize].results;
        let n = results.iter().position(|r| *r == register)?;
        flow.warps[warp].value(&flow.instructions, at as u32, n, lane)
    });
    values.next()
}

#[test]
fn results_of_amd_code_follow_from_its_operands() {
    for target in ["gfx942", "gfx1100"] {
        let flow = softmax(target);
        assert!(flow.complete);
        let mut checked = [0; 4];
        for (warp, of) in flow.warps.iter().enumerate() {
            for (at, v) in of.visits.iter().enumerate().filter(|(_, v)| v.lanes != 0) {
                let i = &flow.instructions[v.instruction as usize];
                if i.operands.is_empty() || i.operands.iter().any(|o| matches!(o, Operand::Special(_))) {
                    continue;
                }
                let lane = v.lanes.trailing_zeros();
                let bits = |n: usize| match &i.operands[n] {
                    Operand::Register(r) => before(&flow, warp, at as u32, lane, *r),
                    Operand::Constant(bits) => Some(*bits),
                    _ => None,
                };
                let float = |n: usize| bits(n).map(|bits| f32::from_bits(bits as u32));
                let result = of.value(&flow.instructions, at as u32, 0, lane);
                let (kind, expected) = match (i.action, i.operation, i.ty) {
                    (Action::Compute, Operation::Add, Scalar::F32) => {
                        (0, float(0).zip(float(1)).map(|(a, b)| (a + b).to_bits().into()))
                    }
                    (Action::Compute, Operation::Subtract, Scalar::F32) => {
                        (1, float(0).zip(float(1)).map(|(a, b)| (a - b).to_bits().into()))
                    }
                    (Action::Select, ..) => {
                        let chosen = bits(2).and_then(|p| bits(usize::from(p == 0)));
                        (2, chosen)
                    }
                    (Action::Move, ..) => (3, bits(0)),
                    _ => continue,
                };
                assert!(expected.is_some(), "{target}: {i:?}");
                assert_eq!(result, expected, "{target}: {i:?}");
                checked[kind] += 1;
            }
        }
        assert!(checked.iter().all(|n| *n > 0), "{target}: {checked:?}");
    }
}

#[test]
fn accesses_of_amd_code_with_two_addresses() {
    for (target, opcode, unit) in [("gfx942", "ds_read2_b32", 4), ("gfx1100", "ds_load_2addr_b32", 4)] {
        let flow = softmax(target);
        let of: Vec<_> = flow.instructions.iter().filter(|i| i.opcode == opcode).collect();
        assert_eq!(of.len(), 12, "{target}");
        assert_eq!((of[0].addresses[0].offset, of[0].addresses[1].offset), (0, 32 * unit));
        assert!(of.iter().all(|i| i.operands.is_empty() && i.results.len() == 2), "{target}");
    }
}

/// The data flow of a kernel of `ties.hip`. Its input is `0, 1, 2, …`.
fn ties(target: &str, kernel: &str) -> DataFlow {
    amd_flow(&format!(
        "module = 'ties.good.{target}.co'\nkernel = '{kernel}'\ngrid = 1\nblock = 64\n\
         [[arg]]\nname = 'x'\ntype = 's32'\niota = 0\nlen = 128\n\
         [[arg]]\nname = 'y'\ntype = 's32'\nfill = 0\nlen = 2\nout = true\n"
    ))
}

#[test]
fn the_lane_number_of_amd_code_is_known() {
    // Counts of all lanes, and of a copy of EXEC that has all of them.
    let kernels = [("gfx942", "argmax"), ("gfx1100", "argmax"), ("gfx1100", "rank")];
    for (target, kernel) in kernels {
        let flow = ties(target, kernel);
        let number = [Operand::Special("%laneid".to_owned())];
        let copies: Vec<usize> =
            (0..flow.instructions.len()).filter(|i| flow.instructions[*i].operands == number).collect();
        assert_eq!(copies.len(), 1, "{target} {kernel}");
        assert_eq!(flow.instructions[copies[0]].action, Action::Move);
        let mut lanes = 0;
        for warp in &flow.warps {
            let visits = (0..).zip(&warp.visits).filter(|(_, v)| v.instruction as usize == copies[0]);
            for (at, v) in visits {
                for lane in (0..64).filter(|lane| v.lanes >> lane & 1 == 1) {
                    let value = warp.value(&flow.instructions, at, 0, lane);
                    assert_eq!(value, Some(lane.into()), "{target} {kernel}");
                    lanes += 1;
                }
            }
        }
        assert_eq!(lanes, if kernel == "rank" { 1 } else { 64 }, "{target} {kernel}");
    }
}

#[test]
fn masks_of_lanes_of_amd_code_are_known() {
    for (target, words) in
        [("gfx942", &[(0, 0xffff_ffc0), (32, u64::from(u32::MAX))][..]), ("gfx1100", &[(0, 0xffff_ffc0)])]
    {
        let flow = ties(target, "votes");
        let compare = flow.instructions.iter().position(|i| i.opcode.starts_with("v_cmp_lt_i32"));
        let number = compare.expect("the comparison with 5");
        let visit = flow.warps[0].visits.iter().position(|v| v.instruction as usize == number).unwrap();
        let results = (0..).zip(&flow.instructions[number].results);
        let masks = results.filter_map(|(n, r)| {
            let first = flow.registers[*r as usize].first_lane?;
            Some((first, flow.warps[0].value(&flow.instructions, visit as u32, n, 0)?))
        });
        assert_eq!(masks.collect::<Vec<_>>(), words, "{target}");
        let plain = flow
            .registers
            .iter()
            .filter(|r| r.name.starts_with('v') && r.name != "vcc_lo" && r.name != "vcc_hi");
        assert!(plain.clone().count() > 0 && plain.into_iter().all(|r| r.first_lane.is_none()), "{target}");
    }
}
