//! The bit fields of kernel descriptors, as one table (LLVM, User Guide for AMDGPU Backend, "Kernel
//! Descriptor").

use super::super::target::{Family, Target};

/// Bits at which the words of a descriptor begin.
const SIZES: u16 = 0;
const RSRC3: u16 = 8 * 44;
const RSRC1: u16 = 8 * 48;
const RSRC2: u16 = 8 * 52;
const PROPERTIES: u16 = 8 * 56;
const PRELOAD: u16 = 8 * 58;

/// Targets that have a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    All,
    Gfx9,
    Gfx9To11,
    Gfx10Up,
    Gfx10To11,
    Gfx11,
    Gfx11Up,
    Gfx12,
    /// Targets without an architected `FLAT_SCRATCH`.
    GivenScratch,
}

impl On {
    fn has(self, target: Target) -> bool {
        let family = target.family();
        match self {
            On::All => true,
            On::Gfx9 => family == Family::Gfx9,
            On::Gfx9To11 => family <= Family::Gfx11,
            On::Gfx10Up => family >= Family::Gfx10,
            On::Gfx10To11 => matches!(family, Family::Gfx10 | Family::Gfx11),
            On::Gfx11 => family == Family::Gfx11,
            On::Gfx11Up => family >= Family::Gfx11,
            On::Gfx12 => family == Family::Gfx12,
            On::GivenScratch => !target.has_architected_scratch(),
        }
    }
}

macro_rules! fields {
    ($($field:ident $name:literal $word:ident $shift:literal $width:literal $on:ident)*) => {
        /// A bit field of a kernel descriptor.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Field {
            $(
                #[doc = concat!("`", $name, "`")]
                $field,
            )*
        }

        impl Field {
            /// All fields of all targets, in the order of their bits.
            pub const ALL: &[Field] = &[$(Field::$field),*];

            /// First bit, number of bits, and the targets that have it.
            fn row(self) -> (u16, u16, On) {
                match self {
                    $(Field::$field => ($word + $shift, $width, On::$on),)*
                }
            }

            /// The name that LLVM's documentation gives it, in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Field::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    GroupSegment "group_segment_fixed_size" SIZES 0 32 All
    PrivateSegment "private_segment_fixed_size" SIZES 32 32 All
    Kernarg "kernarg_size" SIZES 64 32 All

    AccumOffset "accum_offset" RSRC3 0 6 Gfx9
    TgSplit "tg_split" RSRC3 16 1 Gfx9
    SharedVgprs "shared_vgpr_count" RSRC3 0 4 Gfx10To11
    PrefetchGfx11 "inst_pref_size" RSRC3 4 6 Gfx11
    TrapOnStart "trap_on_start" RSRC3 10 1 Gfx11
    TrapOnEnd "trap_on_end" RSRC3 11 1 Gfx11
    PrefetchGfx12 "inst_pref_size" RSRC3 4 8 Gfx12
    GroupLaunchGuarantee "glg_en" RSRC3 13 1 Gfx12
    ImageOp "image_op" RSRC3 31 1 Gfx11Up

    Vgprs "granulated_workitem_vgpr_count" RSRC1 0 6 All
    Sgprs "granulated_wavefront_sgpr_count" RSRC1 6 4 All
    Priority "priority" RSRC1 10 2 All
    Round32 "float_round_mode_32" RSRC1 12 2 All
    Round16And64 "float_round_mode_16_64" RSRC1 14 2 All
    Denorm32 "float_denorm_mode_32" RSRC1 16 2 All
    Denorm16And64 "float_denorm_mode_16_64" RSRC1 18 2 All
    Priv "priv" RSRC1 20 1 All
    Dx10Clamp "enable_dx10_clamp" RSRC1 21 1 Gfx9To11
    RoundRobin "enable_wg_rr_en" RSRC1 21 1 Gfx12
    DebugMode "debug_mode" RSRC1 22 1 All
    IeeeMode "enable_ieee_mode" RSRC1 23 1 Gfx9To11
    DisablePerf "disable_perf" RSRC1 23 1 Gfx12
    Bulky "bulky" RSRC1 24 1 All
    CdbgUser "cdbg_user" RSRC1 25 1 All
    Fp16Overflow "fp16_ovfl" RSRC1 26 1 All
    WgpMode "wgp_mode" RSRC1 29 1 Gfx10Up
    MemOrdered "mem_ordered" RSRC1 30 1 Gfx10Up
    FwdProgress "fwd_progress" RSRC1 31 1 Gfx10Up

    Scratch "enable_private_segment" RSRC2 0 1 All
    UserSgprs "user_sgpr_count" RSRC2 1 5 All
    TrapHandler "enable_trap_handler" RSRC2 6 1 Gfx9To11
    DynamicVgpr "enable_dynamic_vgpr" RSRC2 6 1 Gfx12
    WorkgroupIdX "enable_sgpr_workgroup_id_x" RSRC2 7 1 All
    WorkgroupIdY "enable_sgpr_workgroup_id_y" RSRC2 8 1 All
    WorkgroupIdZ "enable_sgpr_workgroup_id_z" RSRC2 9 1 All
    WorkgroupInfo "enable_sgpr_workgroup_info" RSRC2 10 1 All
    WorkitemId "enable_vgpr_workitem_id" RSRC2 11 2 All
    TrapAddressWatch "enable_exception_address_watch" RSRC2 13 1 All
    TrapMemory "enable_exception_memory" RSRC2 14 1 All
    Lds "granulated_lds_size" RSRC2 15 9 All
    TrapInvalid "enable_exception_ieee_754_fp_invalid_operation" RSRC2 24 1 All
    TrapDenormal "enable_exception_fp_denormal_source" RSRC2 25 1 All
    TrapDivision "enable_exception_ieee_754_fp_division_by_zero" RSRC2 26 1 All
    TrapOverflow "enable_exception_ieee_754_fp_overflow" RSRC2 27 1 All
    TrapUnderflow "enable_exception_ieee_754_fp_underflow" RSRC2 28 1 All
    TrapInexact "enable_exception_ieee_754_fp_inexact" RSRC2 29 1 All
    TrapIntDivision "enable_exception_int_divide_by_zero" RSRC2 30 1 All
    WgpTakeover "wgp_takeover" RSRC2 31 1 Gfx12

    PrivateSegmentBuffer "enable_sgpr_private_segment_buffer" PROPERTIES 0 1 GivenScratch
    DispatchPtr "enable_sgpr_dispatch_ptr" PROPERTIES 1 1 All
    QueuePtr "enable_sgpr_queue_ptr" PROPERTIES 2 1 All
    KernargSegmentPtr "enable_sgpr_kernarg_segment_ptr" PROPERTIES 3 1 All
    DispatchId "enable_sgpr_dispatch_id" PROPERTIES 4 1 All
    FlatScratchInit "enable_sgpr_flat_scratch_init" PROPERTIES 5 1 GivenScratch
    PrivateSegmentSize "enable_sgpr_private_segment_size" PROPERTIES 6 1 All
    Wave32 "enable_wavefront_size32" PROPERTIES 10 1 Gfx10Up
    DynamicStack "uses_dynamic_stack" PROPERTIES 11 1 All

    PreloadLength "kernarg_preload_spec_length" PRELOAD 0 7 Gfx9
    PreloadOffset "kernarg_preload_spec_offset" PRELOAD 7 9 Gfx9
}

impl Field {
    /// The first bit in the descriptor, and the number of bits (at most 32); `None` if the target does not
    /// have the field.
    pub fn bits(self, target: Target) -> Option<(u16, u16)> {
        let (from, width, on) = self.row();
        on.has(target).then_some((from, width))
    }
}
