//! What a descriptor means: registers that a wave owns, and what they hold when a kernel begins (LLVM, User
//! Guide for AMDGPU Backend, "Initial Kernel Execution State").

use super::super::target::{Family, Target};
use super::descriptor::Descriptor;
use super::fields::Field;
use crate::image::Error;

/// Bytes at a kernel's entry that hardware skips if it preloads arguments.
pub const PRELOAD_PROLOGUE: u64 = 256;

/// Vector registers of each lane of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vgprs {
    /// VGPRs that instructions may name. On targets with AGPRs, these lie behind them.
    pub vector: u32,
    /// AGPRs that instructions may name.
    pub accumulator: u32,
    /// Registers that the descriptor asks for: both kinds together.
    pub requested: u32,
    /// Registers that hardware allocates for that.
    pub allocated: u32,
}

/// What an SGPR holds when a wave begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of LLVM's documentation")]
#[rustfmt::skip]
pub enum Initial {
    PrivateSegmentBuffer, DispatchPtr, QueuePtr, KernargSegmentPtr, DispatchId, FlatScratchInit,
    PrivateSegmentSize, PreloadedKernargs, WorkgroupIdX, WorkgroupIdY, WorkgroupIdZ, WorkgroupInfo,
    ScratchWaveOffset,
}

impl Initial {
    /// The name, as `kernarg_segment_ptr`.
    pub fn name(self) -> &'static str {
        match self {
            Initial::PrivateSegmentBuffer => "private_segment_buffer",
            Initial::DispatchPtr => "dispatch_ptr",
            Initial::QueuePtr => "queue_ptr",
            Initial::KernargSegmentPtr => "kernarg_segment_ptr",
            Initial::DispatchId => "dispatch_id",
            Initial::FlatScratchInit => "flat_scratch_init",
            Initial::PrivateSegmentSize => "private_segment_size",
            Initial::PreloadedKernargs => "preloaded_kernargs",
            Initial::WorkgroupIdX => "workgroup_id_x",
            Initial::WorkgroupIdY => "workgroup_id_y",
            Initial::WorkgroupIdZ => "workgroup_id_z",
            Initial::WorkgroupInfo => "workgroup_info",
            Initial::ScratchWaveOffset => "scratch_wave_offset",
        }
    }
}

/// SGPRs with an initial content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitialSgprs {
    /// What they hold.
    pub content: Initial,
    /// Number of the first one.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

/// Where a wave finds the number of its workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkgroupIds {
    /// In SGPRs behind the user SGPRs, one for each enabled dimension.
    Sgprs,
    /// In `ttmp9` (x) and the halves of `ttmp7` (y and z).
    TrapTemporaries,
}

impl Descriptor {
    /// Lanes of a wave: 32 or 64.
    pub fn wave_size(&self) -> u32 {
        if self.is_set(Field::Wave32) { 32 } else { 64 }
    }

    /// Vector registers of each lane.
    pub fn vgprs(&self) -> Vgprs {
        let requested = (self.value(Field::Vgprs) + 1) * encoded_granule(self.target(), self.wave_size());
        let allocated = requested.next_multiple_of(allocated_granule(self.target(), self.wave_size()));
        let vector = match self.get(Field::AccumOffset) {
            Some(offset) => ((offset + 1) * 4).min(requested),
            None => requested,
        };
        Vgprs { vector, accumulator: requested - vector, requested, allocated }
    }

    /// VGPRs that the halves of a wave of 64 lanes share, beyond those of [`Descriptor::vgprs`].
    pub fn shared_vgprs(&self) -> u32 {
        self.value(Field::SharedVgprs) * 8
    }

    /// Scalar registers that a wave owns, special ones included. From gfx10 on they are always 128, whatever
    /// the field says: older compilers write it all the same (Debian's librocrand 5.3.3).
    pub fn sgprs(&self) -> u32 {
        match self.target().family() {
            // The field is twice the number of further blocks of 16.
            Family::Gfx9 => (self.value(Field::Sgprs) / 2 + 1) * 16,
            Family::Gfx10 | Family::Gfx11 | Family::Gfx12 => 128,
        }
    }

    /// Asks for at least so many VGPRs and AGPRs.
    ///
    /// # Errors
    /// If there are more than a descriptor can say.
    pub fn set_vgprs(&mut self, vector: u32, accumulator: u32) -> Result<(), Error> {
        let mut requested = vector.max(1);
        if self.get(Field::AccumOffset).is_some() {
            let offset = requested.div_ceil(4);
            self.set(Field::AccumOffset, offset - 1)?;
            requested = offset * 4 + accumulator;
        }
        let granule = encoded_granule(self.target(), self.wave_size());
        self.set(Field::Vgprs, requested.div_ceil(granule) - 1)
    }

    /// Asks for at least so many scalar registers, special ones included. From gfx10 on there is nothing to
    /// ask for.
    ///
    /// # Errors
    /// If there are more than a descriptor can say.
    pub fn set_sgprs(&mut self, count: u32) -> Result<(), Error> {
        match self.target().family() {
            Family::Gfx9 => self.set(Field::Sgprs, (count.max(1).div_ceil(16) - 1) * 2),
            Family::Gfx10 | Family::Gfx11 | Family::Gfx12 => Ok(()),
        }
    }

    /// Dwords of arguments that are in user SGPRs when the kernel begins: how many, and the offset of the
    /// first in the kernel's arguments, in bytes; `None` if there are none.
    pub fn preload(&self) -> Option<(u32, u32)> {
        let length = self.value(Field::PreloadLength);
        (length != 0).then(|| (length, self.value(Field::PreloadOffset) * 4))
    }

    /// Distance from the descriptor to the first instruction that hardware executes. Hardware that preloads
    /// arguments skips [`PRELOAD_PROLOGUE`] bytes, which load them where it does not.
    pub fn hardware_entry_offset(&self) -> i64 {
        let skipped = if self.preload().is_some() { PRELOAD_PROLOGUE.cast_signed() } else { 0 };
        self.entry_offset().wrapping_add(skipped)
    }

    /// SGPRs with an initial content, in order. User SGPRs are dense from `s0` on. System SGPRs follow the
    /// number of user SGPRs that the descriptor states, which may be larger than that of those in use.
    pub fn initial_sgprs(&self) -> Vec<InitialSgprs> {
        let user = [
            (Initial::PrivateSegmentBuffer, Field::PrivateSegmentBuffer, 4),
            (Initial::DispatchPtr, Field::DispatchPtr, 2),
            (Initial::QueuePtr, Field::QueuePtr, 2),
            (Initial::KernargSegmentPtr, Field::KernargSegmentPtr, 2),
            (Initial::DispatchId, Field::DispatchId, 2),
            (Initial::FlatScratchInit, Field::FlatScratchInit, 2),
            (Initial::PrivateSegmentSize, Field::PrivateSegmentSize, 1),
        ];
        let mut all = Vec::new();
        let mut first = 0;
        for (content, field, count) in user {
            if self.is_set(field) {
                all.push(InitialSgprs { content, first, count });
                first += count;
            }
        }
        // "The allocation of Preload SGPRs occurs directly after the last enabled non-kernarg preload User
        // SGPR."
        if let Some((count, _)) = self.preload() {
            all.push(InitialSgprs { content: Initial::PreloadedKernargs, first, count });
        }
        let scratch = self.is_set(Field::Scratch) && !self.target().has_architected_scratch();
        let in_sgprs = self.workgroup_ids() == WorkgroupIds::Sgprs;
        let system = [
            (Initial::WorkgroupIdX, in_sgprs && self.is_set(Field::WorkgroupIdX)),
            (Initial::WorkgroupIdY, in_sgprs && self.is_set(Field::WorkgroupIdY)),
            (Initial::WorkgroupIdZ, in_sgprs && self.is_set(Field::WorkgroupIdZ)),
            (Initial::WorkgroupInfo, in_sgprs && self.is_set(Field::WorkgroupInfo)),
            (Initial::ScratchWaveOffset, scratch),
        ];
        let enabled = system.into_iter().filter(|(_, enabled)| *enabled);
        let numbered = (self.value(Field::UserSgprs)..).zip(enabled);
        all.extend(numbered.map(|(first, (content, _))| InitialSgprs { content, first, count: 1 }));
        all
    }

    /// Where a wave finds the number of its workgroup.
    pub fn workgroup_ids(&self) -> WorkgroupIds {
        match self.target().family() {
            Family::Gfx12 => WorkgroupIds::TrapTemporaries,
            Family::Gfx9 | Family::Gfx10 | Family::Gfx11 => WorkgroupIds::Sgprs,
        }
    }

    /// Dimensions of the workitem's number that are in VGPRs: 1 to 3; `None` for the undefined value.
    pub fn workitem_dimensions(&self) -> Option<u32> {
        Some(self.value(Field::WorkitemId) + 1).filter(|n| *n <= 3)
    }

    /// Whether all dimensions of the workitem's number are in `v0`, ten bits each. Otherwise each has a
    /// register.
    pub fn packs_workitem_ids(&self) -> bool {
        self.target().family() != Family::Gfx10
    }
}

/// VGPRs that one block in a descriptor stands for.
fn encoded_granule(target: Target, wave: u32) -> u32 {
    if target.family() == Family::Gfx9 || wave == 32 { 8 } else { 4 }
}

/// VGPRs that hardware allocates at once. Measured by the occupancy that LLVM 22 prints for kernels.
fn allocated_granule(target: Target, wave: u32) -> u32 {
    let wide = match target.family() {
        Family::Gfx9 => return 8,
        Family::Gfx10 => 16,
        Family::Gfx11 | Family::Gfx12 => 24,
    };
    if wave == 32 { wide } else { wide / 2 }
}
