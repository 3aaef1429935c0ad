//! Immediates that have parts with names: counters of `s_waitcnt`, hardware registers, messages, delays.
//!
//! The bits are those of the "SOPP Instructions" and "SOPK Instructions" of the manuals; the words are LLVM's
//! ("Syntax of AMDGPU Instruction Operands").

use std::fmt::{self, Write};

use crate::amdgpu::{Family, Target};

/// A part of an immediate: name, lowest bit, number of bits.
type Part = (&'static str, u32, u32);

fn part(value: u32, low: u32, width: u32) -> u32 {
    value >> low & ((1 << width) - 1)
}

/// A number as LLVM writes it: small ones in decimal.
pub fn plain(value: u32, out: &mut dyn Write) -> fmt::Result {
    if value <= 64 { write!(out, "{value}") } else { write!(out, "{value:#x}") }
}

/// Counters of `s_waitcnt`: those that are waited for. The counter of vector memory has two parts on some.
pub fn waitcnt(target: Target, value: u32) -> [(&'static str, u32, bool); 3] {
    let (vm, vm_max, exp, lgkm, lgkm_max) = if target.family() >= Family::Gfx11 {
        (part(value, 10, 6), 63, part(value, 0, 3), part(value, 4, 6), 63)
    } else {
        let lgkm_width = if target.family() == Family::Gfx10 { 6 } else { 4 };
        let vm = part(value, 0, 4) | part(value, 14, 2) << 4;
        (vm, 63, part(value, 4, 3), part(value, 8, lgkm_width), (1 << lgkm_width) - 1)
    };
    [("vmcnt", vm, vm != vm_max), ("expcnt", exp, exp != 7), ("lgkmcnt", lgkm, lgkm != lgkm_max)]
}

/// Writes the counters that are waited for, or all if none is.
pub fn print_waitcnt(target: Target, value: u32, out: &mut dyn Write) -> fmt::Result {
    named_parts(&waitcnt(target, value), out)
}

fn named_parts(parts: &[(&'static str, u32, bool)], out: &mut dyn Write) -> fmt::Result {
    let all = parts.iter().all(|(_, _, waits)| !waits);
    let mut between = "";
    for (name, value, _) in parts.iter().filter(|(_, _, waits)| all || *waits) {
        write!(out, "{between}{name}({value})")?;
        between = " ";
    }
    Ok(())
}

const DEPCTR: [Part; 7] = [
    ("depctr_hold_cnt", 7, 1),
    ("depctr_sa_sdst", 0, 1),
    ("depctr_va_vdst", 12, 4),
    ("depctr_va_sdst", 9, 3),
    ("depctr_va_ssrc", 8, 1),
    ("depctr_va_vcc", 1, 1),
    ("depctr_vm_vsrc", 2, 3),
];

/// Writes the counters of `s_waitcnt_depctr`.
pub fn print_depctr(value: u32, out: &mut dyn Write) -> fmt::Result {
    if value & 0x60 != 0 {
        return write!(out, "{value:#x}");
    }
    let parts = DEPCTR.map(|(name, low, width)| {
        let count = part(value, low, width);
        (name, count, count != (1 << width) - 1)
    });
    named_parts(&parts, out)
}

/// Writes what `s_delay_alu` waits for.
pub fn print_delay(value: u32, out: &mut dyn Write) -> fmt::Result {
    const IDS: [&str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let parts = [
        ("instid0", part(value, 0, 4), &IDS[..], "/* invalid instid value */"),
        ("instskip", part(value, 4, 3), &SKIPS[..], "/* invalid instskip value */"),
        ("instid1", part(value, 7, 4), &IDS[..], "/* invalid instid value */"),
    ];
    let mut between = "";
    for (name, code, words, invalid) in parts.iter().filter(|(_, code, ..)| *code != 0) {
        let word = usize::try_from(*code).ok().and_then(|at| words.get(at)).unwrap_or(invalid);
        write!(out, "{between}{name}({word})")?;
        between = " | ";
    }
    if between.is_empty() { out.write_char('0') } else { Ok(()) }
}

/// The name of a hardware register.
fn hardware_register(target: Target, id: u32) -> Option<&'static str> {
    let gfx942 = matches!(target, Target::Gfx942 | Target::Gfx950);
    Some(match (target.family(), id) {
        (Family::Gfx12, 1) => "HW_REG_WAVE_MODE",
        (Family::Gfx12, 2) => "HW_REG_WAVE_STATUS",
        (Family::Gfx12, 4) => "HW_REG_WAVE_STATE_PRIV",
        (Family::Gfx12, 5) => "HW_REG_WAVE_GPR_ALLOC",
        (Family::Gfx12, 6) => "HW_REG_WAVE_LDS_ALLOC",
        (Family::Gfx12, 10) => "HW_REG_PERF_SNAPSHOT_DATA",
        (Family::Gfx12, 11) => "HW_REG_PERF_SNAPSHOT_PC_LO",
        (Family::Gfx12, 12) => "HW_REG_PERF_SNAPSHOT_PC_HI",
        (Family::Gfx12, 15) => "HW_REG_PERF_SNAPSHOT_DATA1",
        (Family::Gfx12, 16) => "HW_REG_PERF_SNAPSHOT_DATA2",
        (Family::Gfx12, 17) => "HW_REG_WAVE_EXCP_FLAG_PRIV",
        (Family::Gfx12, 18) => "HW_REG_WAVE_EXCP_FLAG_USER",
        (Family::Gfx12, 19) => "HW_REG_WAVE_TRAP_CTRL",
        (Family::Gfx12, 20) => "HW_REG_WAVE_SCRATCH_BASE_LO",
        (Family::Gfx12, 21) => "HW_REG_WAVE_SCRATCH_BASE_HI",
        (Family::Gfx12, 23) => "HW_REG_WAVE_HW_ID1",
        (Family::Gfx12, 24) => "HW_REG_WAVE_HW_ID2",
        (Family::Gfx12, 26) => "HW_REG_WAVE_SCHED_MODE",
        (Family::Gfx12, 29) => "HW_REG_SHADER_CYCLES_LO",
        (Family::Gfx12, 30) => "HW_REG_SHADER_CYCLES_HI",
        (Family::Gfx12, 31) => "HW_REG_WAVE_DVGPR_ALLOC_LO",
        (Family::Gfx12, 32) => "HW_REG_WAVE_DVGPR_ALLOC_HI",
        (_, 7) => "HW_REG_IB_STS",
        (Family::Gfx12, _) => return None,
        (_, 1) => "HW_REG_MODE",
        (_, 2) => "HW_REG_STATUS",
        (_, 3) => "HW_REG_TRAPSTS",
        (Family::Gfx9, 4) => "HW_REG_HW_ID",
        (_, 5) => "HW_REG_GPR_ALLOC",
        (_, 6) => "HW_REG_LDS_ALLOC",
        (_, 15) => "HW_REG_SH_MEM_BASES",
        (Family::Gfx11, 18) => "HW_REG_PERF_SNAPSHOT_PC_LO",
        (Family::Gfx11, 19) => "HW_REG_PERF_SNAPSHOT_PC_HI",
        (Family::Gfx11, 27) => "HW_REG_PERF_SNAPSHOT_DATA",
        (Family::Gfx9 | Family::Gfx10, 16) => "HW_REG_TBA_LO",
        (Family::Gfx9 | Family::Gfx10, 17) => "HW_REG_TBA_HI",
        (Family::Gfx9 | Family::Gfx10, 18) => "HW_REG_TMA_LO",
        (Family::Gfx9 | Family::Gfx10, 19) => "HW_REG_TMA_HI",
        (Family::Gfx9, 20) if gfx942 => "HW_REG_XCC_ID",
        (Family::Gfx9, 21) if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
        (Family::Gfx9, 22) if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
        (Family::Gfx9, 23) if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
        (Family::Gfx9, 24) if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
        (Family::Gfx10 | Family::Gfx11, 20) => "HW_REG_FLAT_SCR_LO",
        (Family::Gfx10 | Family::Gfx11, 21) => "HW_REG_FLAT_SCR_HI",
        (Family::Gfx10 | Family::Gfx11, 23) => "HW_REG_HW_ID1",
        (Family::Gfx10 | Family::Gfx11, 24) => "HW_REG_HW_ID2",
        (Family::Gfx10, 25) => "HW_REG_POPS_PACKER",
        (Family::Gfx10 | Family::Gfx11, 29) => "HW_REG_SHADER_CYCLES",
        _ => return None,
    })
}

/// Writes which bits of which hardware register.
pub fn print_hwreg(target: Target, value: u32, out: &mut dyn Write) -> fmt::Result {
    let (id, offset, size) = (part(value, 0, 6), part(value, 6, 5), part(value, 11, 5) + 1);
    match hardware_register(target, id) {
        Some(name) => write!(out, "hwreg({name}")?,
        None => write!(out, "hwreg({id}")?,
    }
    if (offset, size) != (0, 32) {
        write!(out, ", {offset}, {size}")?;
    }
    out.write_char(')')
}

/// The name of a message.
fn message(target: Target, id: u32) -> Option<&'static str> {
    let family = target.family();
    let rdna3 = family >= Family::Gfx11;
    Some(match id {
        1 => "MSG_INTERRUPT",
        2 if rdna3 => "MSG_HS_TESSFACTOR",
        2 => "MSG_GS",
        3 if rdna3 => "MSG_DEALLOC_VGPRS",
        3 => "MSG_GS_DONE",
        4 if !rdna3 => "MSG_SAVEWAVE",
        5 if family != Family::Gfx12 => "MSG_STALL_WAVE_GEN",
        6 if family != Family::Gfx12 => "MSG_HALT_WAVES",
        7 if !rdna3 => "MSG_ORDERED_PS_DONE",
        8 if !rdna3 => "MSG_EARLY_PRIM_DEALLOC",
        9 => "MSG_GS_ALLOC_REQ",
        10 if !rdna3 => "MSG_GET_DOORBELL",
        11 if family == Family::Gfx10 => "MSG_GET_DDID",
        15 if !rdna3 => "MSG_SYSMSG",
        128 if rdna3 => "MSG_RTN_GET_DOORBELL",
        129 if rdna3 => "MSG_RTN_GET_DDID",
        130 if rdna3 => "MSG_RTN_GET_TMA",
        131 if rdna3 => "MSG_RTN_GET_REALTIME",
        132 if rdna3 => "MSG_RTN_SAVE_WAVE",
        133 if rdna3 => "MSG_RTN_GET_TBA",
        134 if rdna3 => "MSG_RTN_GET_TBA_TO_PC",
        135 if family == Family::Gfx12 => "MSG_RTN_GET_SE_AID_ID",
        _ => return None,
    })
}

/// Writes a message with its operation and stream.
pub fn print_message(target: Target, value: u32, out: &mut dyn Write) -> fmt::Result {
    let old = target.family() < Family::Gfx11;
    let (id, op, stream) = if old {
        (part(value, 0, 4), part(value, 4, 3), part(value, 8, 2))
    } else {
        (part(value, 0, 8), 0, 0)
    };
    if let Some(name) = message(target, id) {
        let op_name = match (id, op) {
            (2 | 3, 1) if old => Some("GS_OP_CUT"),
            (2 | 3, 2) if old => Some("GS_OP_EMIT"),
            (2 | 3, 3) if old => Some("GS_OP_EMIT_CUT"),
            (3, 0) if old && stream == 0 => Some("GS_OP_NOP"),
            (15, 1) if old && stream == 0 => Some("SYSMSG_OP_ECC_ERR_INTERRUPT"),
            (15, 2) if old && stream == 0 => Some("SYSMSG_OP_REG_RD"),
            (15, 4) if old && stream == 0 => Some("SYSMSG_OP_TTRACE_PC"),
            _ => None,
        };
        let has_op = old && matches!(id, 2 | 3 | 15);
        match op_name {
            Some(op_name) if matches!(id, 2 | 3) && op != 0 => {
                return write!(out, "sendmsg({name}, {op_name}, {stream})");
            }
            Some(op_name) => return write!(out, "sendmsg({name}, {op_name})"),
            None if !has_op && op == 0 && stream == 0 => return write!(out, "sendmsg({name})"),
            None => {}
        }
    }
    if id | op << 4 | stream << 8 == value {
        write!(out, "sendmsg({id}, {op}, {stream})")
    } else {
        write!(out, "{value}")
    }
}

/// Writes which operands `s_set_gpr_idx_on` indexes.
pub fn print_gpr_index(value: u32, out: &mut dyn Write) -> fmt::Result {
    if value > 15 {
        return write!(out, "{value:#x}");
    }
    out.write_str("gpr_idx(")?;
    let mut between = "";
    for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate() {
        if value >> bit & 1 == 1 {
            write!(out, "{between}{name}")?;
            between = ",";
        }
    }
    out.write_char(')')
}

/// Writes the version that `s_version` declares.
pub fn print_version(value: u32, out: &mut dyn Write) -> fmt::Result {
    const FLAGS: [(u32, &str); 3] =
        [(13, "UC_VERSION_W64_BIT"), (14, "UC_VERSION_W32_BIT"), (15, "UC_VERSION_MDP_BIT")];
    if value & 0x1f00 != 0 {
        return plain(value, out);
    }
    let code = value & 0xff;
    let mut text = match code {
        0 => "UC_VERSION_GFX7".to_owned(),
        4 => "UC_VERSION_GFX10".to_owned(),
        6 => "UC_VERSION_GFX11".to_owned(),
        9 => "UC_VERSION_GFX12".to_owned(),
        _ => code.to_string(),
    };
    for (_, flag) in FLAGS.iter().filter(|(bit, _)| value >> bit & 1 == 1) {
        text = if text.contains('|') { format!("({text})|{flag}") } else { format!("{text}|{flag}") };
    }
    out.write_str(&text)
}
