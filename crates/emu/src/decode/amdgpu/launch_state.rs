//! What AMD's code finds in its registers when it begins (LLVM, User Guide for AMDGPU Backend, "Initial
//! Kernel Execution State").

use prlx_driver::LaunchConfig;
use prlx_isa::amdgpu::inst::Reg;
use prlx_isa::amdgpu::object::{Descriptor, Field, Initial, WorkgroupIds};
use prlx_isa::amdgpu::{Family, Register};
use prlx_trace::kernel::Special;
use rustc_hash::FxHashMap;

use super::float_mode::FloatMode;
use crate::code::{SpecialRegister, window};
use crate::decode::binder::Binder;

/// What AMD's code needs to know of its kernel, and of where it is loaded.
#[derive(Clone, Debug)]
pub struct LaunchState {
    /// The descriptor of the kernel.
    pub descriptor: Descriptor,
    /// Address at which address 0 of the code object lies.
    pub base: u64,
}

/// Size of the packet that describes a dispatch (HSA Runtime, `hsa_kernel_dispatch_packet_t`).
const PACKET_BYTES: usize = 64;

/// Alignment of the packet that describes a dispatch. It lies behind the arguments of the kernel.
const PACKET: u64 = 64;

impl LaunchState {
    /// Bytes of the arguments.
    pub fn kernarg_bytes(&self) -> u64 {
        self.descriptor.get(Field::Kernarg).unwrap_or(0).into()
    }
    /// Offset of the dispatch packet from the arguments.
    pub fn packet_offset(&self) -> u64 {
        self.kernarg_bytes().next_multiple_of(PACKET)
    }
    /// Bytes of LDS that the kernel asks for.
    pub fn lds_bytes(&self) -> u32 {
        self.descriptor.get(Field::GroupSegment).unwrap_or(0)
    }
    /// Bytes of scratch memory that a lane asks for.
    pub fn scratch_bytes(&self) -> u32 {
        self.descriptor.get(Field::PrivateSegment).unwrap_or(0)
    }
    /// Whether calls may need more scratch memory than that.
    pub fn has_dynamic_stack(&self) -> bool {
        self.descriptor.is_set(Field::DynamicStack)
    }
    /// The floating-point mode in which the kernel begins.
    pub fn float_mode(&self) -> FloatMode {
        let field = |field| self.descriptor.get(field).unwrap_or(0) as u8;
        let gfx12 = self.descriptor.target().family() == Family::Gfx12;
        FloatMode {
            round32: field(Field::Round32),
            round16_64: field(Field::Round16And64),
            denorm32: field(Field::Denorm32),
            denorm16_64: field(Field::Denorm16And64),
            ieee: !gfx12 && field(Field::IeeeMode) == 1,
            dx10_clamp: gfx12 || field(Field::Dx10Clamp) == 1,
        }
    }
    /// Sets the initial value of the registers that have one, and returns these registers.
    pub fn set_registers(&self, b: &mut Binder<'_>, planes: &FxHashMap<Register, u16>) -> Vec<Reg> {
        let mut all = Vec::new();
        let mut set = |reg: Reg, value: SpecialRegister| {
            all.push(reg);
            if let Some(plane) = planes.get(&Register::Word(reg)) {
                b.code.specials.push((*plane, value));
            }
        };
        let word = |address: u64, at: u32| SpecialRegister::Value((address >> (32 * at)) as u32);
        for initial in self.descriptor.initial_sgprs() {
            for at in 0..initial.count {
                let value = match initial.content {
                    Initial::KernargSegmentPtr => word(window::PARAMS, at),
                    Initial::DispatchPtr => word(window::PARAMS + self.packet_offset(), at),
                    Initial::PrivateSegmentSize => SpecialRegister::Value(self.scratch_bytes()),
                    Initial::PreloadedKernargs => {
                        let (_, offset) = self.descriptor.preload().unwrap_or_default();
                        SpecialRegister::Param(offset + 4 * at)
                    }
                    // A buffer over the whole scratch memory: base, then its size.
                    Initial::PrivateSegmentBuffer if at < 2 => word(window::LOCAL, at),
                    Initial::PrivateSegmentBuffer if at == 2 => SpecialRegister::Value(u32::MAX),
                    Initial::WorkgroupIdX => SpecialRegister::Launch(Special::CtaidX),
                    Initial::WorkgroupIdY => SpecialRegister::Launch(Special::CtaidY),
                    Initial::WorkgroupIdZ => SpecialRegister::Launch(Special::CtaidZ),
                    Initial::PrivateSegmentBuffer
                    | Initial::QueuePtr
                    | Initial::DispatchId
                    | Initial::FlatScratchInit
                    | Initial::WorkgroupInfo
                    | Initial::ScratchWaveOffset => SpecialRegister::Value(0),
                };
                if let Ok(first) = u8::try_from(initial.first + at) {
                    set(Reg::S(first), value);
                }
            }
        }
        if self.descriptor.workgroup_ids() == WorkgroupIds::TrapTemporaries {
            set(Reg::Ttmp(9), SpecialRegister::Launch(Special::CtaidX));
            set(Reg::Ttmp(7), SpecialRegister::PackedCtaid);
        }
        let dimensions = self.descriptor.workitem_dimensions().unwrap_or(3);
        if self.descriptor.packs_workitem_ids() {
            set(Reg::V(0), SpecialRegister::PackedTid(dimensions as u8));
        } else {
            let ids = [Special::TidX, Special::TidY, Special::TidZ];
            for (at, id) in (0..).zip(ids).take(dimensions as usize) {
                set(Reg::V(at), SpecialRegister::Launch(id));
            }
        }
        all
    }
    /// What code of AMD's finds at its arguments: the arguments, and behind them the packet of the dispatch.
    pub fn with_packet(&self, config: &LaunchConfig, params: &[u8]) -> Vec<u8> {
        let at = (self.packet_offset() as usize).max(params.len().next_multiple_of(PACKET_BYTES));
        let mut all = params.to_vec();
        all.resize(at + PACKET_BYTES, 0);
        let (grid, block) = (config.grid, config.block);
        let mut packet = Vec::with_capacity(PACKET_BYTES);
        // Header and the number of dimensions.
        packet.extend(2u16.to_le_bytes());
        packet.extend(3u16.to_le_bytes());
        for n in [block.x, block.y, block.z] {
            packet.extend((n as u16).to_le_bytes());
        }
        packet.extend([0; 2]);
        for (ctas, threads) in [(grid.x, block.x), (grid.y, block.y), (grid.z, block.z)] {
            packet.extend(ctas.wrapping_mul(threads).to_le_bytes());
        }
        packet.extend(self.scratch_bytes().to_le_bytes());
        packet.extend(self.lds_bytes().saturating_add(config.shared).to_le_bytes());
        packet.extend([0; 8]);
        packet.extend(window::PARAMS.to_le_bytes());
        if let Some(place) = all.get_mut(at..at + packet.len()) {
            place.copy_from_slice(&packet);
        }
        all
    }
}
