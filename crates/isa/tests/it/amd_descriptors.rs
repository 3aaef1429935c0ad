//! Kernel descriptors of AMD: each field against the directives that llvm-mc assembled
//! (`tests/kernels/amd/descriptors.*.s`), and bytes that survive.

use std::collections::BTreeMap;

use prlx_isa::amdgpu::object::{
    CodeObject, DESCRIPTOR, Descriptor, Field, Initial, PRELOAD_PROLOGUE, WorkgroupIds,
};
use prlx_isa::amdgpu::{Family, Target};

use crate::common::{Random, root};

pub fn file(name: &str) -> Vec<u8> {
    let path = root().join("tests/kernels/amd").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// By kernel: the values of the directives, without `.amdhsa_`.
fn directives(text: &str) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut all = BTreeMap::new();
    let mut kernel = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(".amdhsa_kernel ") {
            kernel = name.to_owned();
        } else if let Some((name, value)) =
            line.trim().strip_prefix(".amdhsa_").and_then(|l| l.split_once(' '))
            && line.starts_with(' ')
        {
            let values: &mut BTreeMap<_, _> = all.entry(kernel.clone()).or_default();
            assert!(values.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    all
}

/// The field whose value a directive gives directly; `None` if it needs arithmetic.
fn field(directive: &str, target: Target) -> Option<Field> {
    Some(match directive {
        "group_segment_fixed_size" => Field::GroupSegment,
        "private_segment_fixed_size" => Field::PrivateSegment,
        "kernarg_size" => Field::Kernarg,
        "user_sgpr_count" => Field::UserSgprs,
        "user_sgpr_private_segment_buffer" => Field::PrivateSegmentBuffer,
        "user_sgpr_dispatch_ptr" => Field::DispatchPtr,
        "user_sgpr_queue_ptr" => Field::QueuePtr,
        "user_sgpr_kernarg_segment_ptr" => Field::KernargSegmentPtr,
        "user_sgpr_dispatch_id" => Field::DispatchId,
        "user_sgpr_flat_scratch_init" => Field::FlatScratchInit,
        "user_sgpr_private_segment_size" => Field::PrivateSegmentSize,
        "user_sgpr_kernarg_preload_length" => Field::PreloadLength,
        "user_sgpr_kernarg_preload_offset" => Field::PreloadOffset,
        "enable_private_segment" | "system_sgpr_private_segment_wavefront_offset" => Field::Scratch,
        "system_sgpr_workgroup_id_x" => Field::WorkgroupIdX,
        "system_sgpr_workgroup_id_y" => Field::WorkgroupIdY,
        "system_sgpr_workgroup_id_z" => Field::WorkgroupIdZ,
        "system_sgpr_workgroup_info" => Field::WorkgroupInfo,
        "system_vgpr_workitem_id" => Field::WorkitemId,
        "tg_split" => Field::TgSplit,
        "wavefront_size32" => Field::Wave32,
        "shared_vgpr_count" => Field::SharedVgprs,
        "workgroup_processor_mode" => Field::WgpMode,
        "memory_ordered" => Field::MemOrdered,
        "forward_progress" => Field::FwdProgress,
        "uses_dynamic_stack" => Field::DynamicStack,
        "float_round_mode_32" => Field::Round32,
        "float_round_mode_16_64" => Field::Round16And64,
        "float_denorm_mode_32" => Field::Denorm32,
        "float_denorm_mode_16_64" => Field::Denorm16And64,
        "dx10_clamp" => Field::Dx10Clamp,
        "ieee_mode" => Field::IeeeMode,
        "round_robin_scheduling" => Field::RoundRobin,
        "fp16_overflow" => Field::Fp16Overflow,
        "inst_pref_size" if target.family() == Family::Gfx12 => Field::PrefetchGfx12,
        "inst_pref_size" => Field::PrefetchGfx11,
        "exception_fp_ieee_invalid_op" => Field::TrapInvalid,
        "exception_fp_denorm_src" => Field::TrapDenormal,
        "exception_fp_ieee_div_zero" => Field::TrapDivision,
        "exception_fp_ieee_overflow" => Field::TrapOverflow,
        "exception_fp_ieee_underflow" => Field::TrapUnderflow,
        "exception_fp_ieee_inexact" => Field::TrapInexact,
        "exception_int_div_zero" => Field::TrapIntDivision,
        _ => return None,
    })
}

#[test]
fn descriptors_hold_what_the_directives_said() {
    let mut compared = 0;
    for target in Target::all() {
        let bytes = file(&format!("descriptors.{target}.co"));
        let object = CodeObject::read(&bytes).unwrap();
        let text = String::from_utf8(file(&format!("descriptors.{target}.s"))).unwrap();
        let kernels = directives(&text);
        assert_eq!(object.kernels.len(), kernels.len());
        for kernel in &object.kernels {
            let (said, descriptor) = (&kernels[&kernel.name], &kernel.descriptor);
            let place = format!("{target} {}", kernel.name);
            let mut left: Vec<&str> = Vec::new();
            for (directive, value) in said {
                match field(directive, target) {
                    Some(field) => {
                        assert_eq!(descriptor.get(field), Some(*value), "{place} {directive}");
                        compared += 1;
                    }
                    None => left.push(directive),
                }
            }
            let derived =
                ["accum_offset", "next_free_sgpr", "next_free_vgpr", "reserve_flat_scratch", "reserve_vcc"];
            assert!(left.iter().all(|d| derived.contains(d)), "{place}: {left:?}");
            registers(descriptor, said, &place);
            assert_eq!(descriptor.reserved(), [], "{place}");
            // A function of four bytes, behind 256 bytes for hardware that does not preload.
            let prologue = if descriptor.preload().is_some() { PRELOAD_PROLOGUE } else { 0 };
            assert_eq!(kernel.code.end - kernel.code.start, prologue + 4, "{place}");
            assert_eq!(descriptor.hardware_entry_offset() - descriptor.entry_offset(), prologue as i64);
            assert!(kernel.code.start.is_multiple_of(256), "{place}");
            assert_eq!(object.code(kernel).len() as u64, prologue + 4);
            let end = if target.family() < Family::Gfx11 { 0xbf81_0000_u32 } else { 0xbfb0_0000 };
            assert_eq!(object.code(kernel).last_chunk(), Some(&end.to_le_bytes()), "s_endpgm");
        }
        assert_eq!(object.write(), bytes);
    }
    assert!(compared > 700, "{compared}");
}

/// What the numbers of registers follow from.
fn registers(descriptor: &Descriptor, said: &BTreeMap<String, u32>, place: &str) {
    let target = descriptor.target();
    let value = |name: &str| said.get(name).copied();
    let vgprs = descriptor.vgprs();
    let (wave, granule, allocated) = match (target.family(), value("wavefront_size32")) {
        (Family::Gfx9, _) => (64, 8, 8),
        (Family::Gfx10, Some(1)) => (32, 8, 16),
        (Family::Gfx10, _) => (64, 4, 8),
        (_, Some(1)) => (32, 8, 24),
        _ => (64, 4, 12),
    };
    assert_eq!(descriptor.wave_size(), wave, "{place}");
    let next = value("next_free_vgpr").unwrap();
    let requested = next.next_multiple_of(granule);
    assert_eq!(
        (vgprs.requested, vgprs.allocated),
        (requested, requested.next_multiple_of(allocated)),
        "{place}"
    );
    let vector = value("accum_offset").map_or(requested, |offset| offset.min(requested));
    assert_eq!((vgprs.vector, vgprs.accumulator), (vector, requested - vector), "{place}");
    if target.family() == Family::Gfx9 {
        // VCC, XNACK_MASK and FLAT_SCRATCH are the last six; gfx90a can do without the last pair.
        let special = if value("reserve_flat_scratch") == Some(0) { 4 } else { 6 };
        let sgprs = (value("next_free_sgpr").unwrap() + special).next_multiple_of(16);
        assert_eq!(descriptor.sgprs(), sgprs, "{place}");
    } else {
        assert_eq!(descriptor.sgprs(), 128, "{place}");
    }
    // Dense from s0 on, in the order of LLVM's table.
    let mut expected = Vec::new();
    let mut first = 0;
    for (name, content, count) in [
        ("private_segment_buffer", Initial::PrivateSegmentBuffer, 4),
        ("dispatch_ptr", Initial::DispatchPtr, 2),
        ("queue_ptr", Initial::QueuePtr, 2),
        ("kernarg_segment_ptr", Initial::KernargSegmentPtr, 2),
        ("dispatch_id", Initial::DispatchId, 2),
        ("flat_scratch_init", Initial::FlatScratchInit, 2),
        ("private_segment_size", Initial::PrivateSegmentSize, 1),
    ] {
        if value(&format!("user_sgpr_{name}")) == Some(1) {
            expected.push((content, first, count));
            first += count;
        }
    }
    if let Some(length @ 1..) = value("user_sgpr_kernarg_preload_length") {
        expected.push((Initial::PreloadedKernargs, first, length));
        assert_eq!(
            descriptor.preload(),
            Some((length, 4 * value("user_sgpr_kernarg_preload_offset").unwrap())),
            "{place}"
        );
    }
    let mut first = value("user_sgpr_count").unwrap();
    let mut system = Vec::new();
    if target != Target::Gfx1201 {
        system.extend([
            ("system_sgpr_workgroup_id_x", Initial::WorkgroupIdX),
            ("system_sgpr_workgroup_id_y", Initial::WorkgroupIdY),
            ("system_sgpr_workgroup_id_z", Initial::WorkgroupIdZ),
            ("system_sgpr_workgroup_info", Initial::WorkgroupInfo),
        ]);
    }
    system.push(("system_sgpr_private_segment_wavefront_offset", Initial::ScratchWaveOffset));
    for (name, content) in system {
        if value(name) == Some(1) {
            expected.push((content, first, 1));
            first += 1;
        }
    }
    let got: Vec<_> = descriptor.initial_sgprs().iter().map(|s| (s.content, s.first, s.count)).collect();
    assert_eq!(got, expected, "{place}");
    let temporaries = descriptor.workgroup_ids() == WorkgroupIds::TrapTemporaries;
    assert_eq!(temporaries, target == Target::Gfx1201);
    assert_eq!(descriptor.workitem_dimensions(), Some(value("system_vgpr_workitem_id").unwrap() + 1));
    assert_eq!(descriptor.packs_workitem_ids(), target != Target::Gfx1030);
}

/// Whatever the bytes: fields written back give the same bytes, and a written field changes its own bits
/// alone.
#[test]
fn every_bit_survives() {
    let mut random = Random(64);
    for target in Target::all() {
        for _ in 0..50 {
            let mut bytes = [0; DESCRIPTOR];
            bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
            let descriptor = Descriptor::new(bytes, target);
            let mut copy = Descriptor::new([0; DESCRIPTOR], target);
            for (field, value) in descriptor.fields() {
                copy.set(field, value).unwrap();
            }
            copy.set_entry_offset(descriptor.entry_offset());
            assert_eq!(copy.reserved(), []);
            // What is not a field is reserved: together they are all bits.
            let mut bytes = *copy.bytes();
            for bit in descriptor.reserved() {
                let byte = &mut bytes[usize::from(bit / 8)];
                assert_eq!(*byte >> (bit % 8) & 1, 0, "{target} bit {bit}");
                *byte |= 1 << (bit % 8);
            }
            assert_eq!(&bytes, descriptor.bytes(), "{target}");
            for field in Field::ALL {
                let Some((_, width)) = field.bits(target) else {
                    assert!(copy.clone().set(*field, 0).unwrap_err().what.contains("have no field"));
                    continue;
                };
                let value = random.next() as u32 & (u32::MAX >> (32 - width));
                let mut changed = descriptor;
                changed.set(*field, value).unwrap();
                for (other, before) in descriptor.fields() {
                    let wanted = if other == *field { value } else { before };
                    assert_eq!(changed.get(other), Some(wanted), "{target} {field:?} {other:?}");
                }
                assert_eq!(changed.reserved(), descriptor.reserved());
                if width < 32 {
                    assert!(changed.set(*field, 1 << width).unwrap_err().what.contains("too few"));
                }
            }
        }
    }
}
