//! What hazards depend on, of an instruction: its kinds, its registers, and what it waits for.

use super::super::Family;
use super::super::inst::table::{Access, Class, Role};
use super::super::inst::{Encoding, Field, Inst, Operand, Reg, Value};
use super::product::Product;

/// Bits of `s_waitcnt_depctr` that are 0 where it waits: for results of vector instructions in VGPRs, in
/// SGPRs and in VCC, and of scalar ones.
pub(super) const VA_VDST: u16 = 0xf000;
pub(super) const VA_SDST: u16 = 0x0e00;
pub(super) const VA_VCC: u16 = 0x0002;
pub(super) const SA_SDST: u16 = 0x0001;

/// A kind of instruction. An instruction has several.
pub(super) type Kinds = u32;
pub(super) const VALU: Kinds = 1;
pub(super) const TRANS: Kinds = 1 << 1;
pub(super) const MATRIX: Kinds = 1 << 2;
pub(super) const DOT: Kinds = 1 << 3;
pub(super) const SALU: Kinds = 1 << 4;
pub(super) const MEMORY: Kinds = 1 << 5;
pub(super) const LDS: Kinds = 1 << 6;
pub(super) const EXPORT: Kinds = 1 << 7;
pub(super) const SCALAR_MEMORY: Kinds = 1 << 8;
pub(super) const DPP: Kinds = 1 << 9;
pub(super) const READ_LANE: Kinds = 1 << 10;
pub(super) const WRITE_LANE: Kinds = 1 << 11;
pub(super) const DIV_FMAS: Kinds = 1 << 12;
pub(super) const PERMLANE: Kinds = 1 << 13;
/// The result is moved within its register: `dst_sel` of SDWA, or the high half.
pub(super) const SHIFTED: Kinds = 1 << 14;
/// A wait for internal counters.
pub(super) const DEPCTR: Kinds = 1 << 15;
/// Code goes on in another function.
pub(super) const LEAVES: Kinds = 1 << 16;
pub(super) const CLAUSE: Kinds = 1 << 17;
/// A memory access with a descriptor.
pub(super) const BUFFER: Kinds = 1 << 18;
/// Reads a hardware register.
pub(super) const GETREG: Kinds = 1 << 19;
/// Writes a hardware register.
pub(super) const SETREG: Kinds = 1 << 20;
/// Needs M0 at once: loads to LDS, messages, and LDS instructions that add the number of the lane.
pub(super) const READS_M0: Kinds = 1 << 21;
/// A multiplication and addition of binary64.
pub(super) const FMA64: Kinds = 1 << 22;
/// Writes EXEC by a comparison.
pub(super) const CMPX: Kinds = 1 << 23;
/// Does nothing, as a vector instruction.
pub(super) const VECTOR_NOP: Kinds = 1 << 24;
/// Reads or writes vector registers.
pub(super) const VECTOR: Kinds = VALU | MATRIX | MEMORY | LDS | EXPORT;

/// Which registers of an instruction a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// Vector registers, or accumulation registers, that it reads.
    ReadsVector,
    WritesVector,
    /// SGPRs and VCC that it reads.
    ReadsScalar,
    WritesScalar,
    /// More than 64 bits that it stores.
    Stores,
    /// The SGPR that chooses the lane of `v_readlane` and `v_writelane`.
    Lane,
    /// EXEC, which the other instruction always reads.
    WritesExec,
    /// M0, which the other instruction reads.
    WritesM0,
    /// A hardware register.
    Hardware,
    Any,
}

use self::Which::{
    Any, Hardware, Lane, ReadsScalar, ReadsVector, Stores, WritesExec, WritesM0, WritesScalar, WritesVector,
};

/// A hazard of an instruction with one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hit {
    /// Wait states that must lie between.
    pub(super) states: u8,
    /// What goes wrong.
    pub(super) what: &'static str,
    /// The register of both, if it depends on one.
    pub(super) reg: Option<Reg>,
    /// Whether the first instruction reads the register.
    pub(super) read: bool,
}

/// What hazards depend on, of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traits {
    pub(super) kinds: Kinds,
    /// Its name and encoding.
    pub(super) name: (&'static str, Option<Encoding>),
    pub(super) reads: Vec<Reg>,
    pub(super) writes: Vec<Reg>,
    /// More than 64 bits that are stored.
    stored: Vec<Reg>,
    /// Of a dot product or a matrix product: registers of the sources that it multiplies.
    pub(super) multiplied: Vec<Reg>,
    /// The vector registers of each source of a vector instruction.
    pub(super) operands: Vec<Vec<Reg>>,
    /// SGPR that chooses a lane.
    lane: Option<Reg>,
    /// SGPRs that it reads as a mask of lanes.
    pub(super) mask: u128,
    /// Wait states that it takes.
    pub(super) states: u8,
    /// What it waits for: bits of [`VA_VDST`] and the others that are 0 in it.
    pub(super) waits: u16,
    /// The number of a hardware register that it reads or writes.
    pub(super) hardware: u32,
    /// What it is as a matrix product of gfx9.
    pub(super) product: Option<Product>,
}

/// The number of a scalar register in a set.
pub(super) fn number(reg: Reg) -> Option<u32> {
    match reg {
        Reg::S(n) if n < 106 => Some(n.into()),
        Reg::VccLo => Some(106),
        Reg::VccHi => Some(107),
        Reg::Ttmp(n) if n < 16 => Some(108 + u32::from(n)),
        _ => None,
    }
}

pub(super) const VCC: u128 = 3 << 106;

pub(super) fn scalars(regs: &[Reg]) -> u128 {
    regs.iter().filter_map(|reg| number(*reg)).fold(0, |all, n| all | 1 << n)
}

impl Traits {
    /// Those of an instruction.
    pub fn of(inst: &Inst) -> Traits {
        let registers = inst.registers().unwrap_or_default();
        let name = inst.name();
        let operands = inst.operands();
        let of_field = |fields: &[Field]| {
            let found = operands.iter().find(|operand| fields.contains(&operand.slot.field));
            found.map(|operand| operand.value.registers()).unwrap_or_default()
        };
        let stores = matches!(inst.access(), Some(Access::Store | Access::Atomic));
        // A buffer store with an SGPR in its address takes its data in time.
        let buffer = matches!(inst.encoding(), Some(Encoding::Mubuf | Encoding::Mtbuf));
        let in_time = buffer && !of_field(&[Field::Soffset]).is_empty();
        let stores = stores && !in_time;
        let stored = if stores { of_field(&[Field::Data, Field::Vdata]) } else { Vec::new() };
        let lane = (name == "v_readlane_b32" || name == "v_writelane_b32")
            .then(|| of_field(&[Field::Src1]).first().copied())
            .flatten();
        let reads_mask = ["v_cndmask", "v_addc_co", "v_subb", "v_add_co_ci", "v_sub_co_ci", "v_subrev_co_ci"]
            .iter()
            .any(|stem| name.starts_with(stem))
            || name.starts_with("v_div_fmas");
        let mask = match operands.last().map(|operand| operand.value) {
            _ if !reads_mask => 0,
            // Forms without an operand for it read VCC.
            Some(Value::Registers { .. }) => match scalars(&of_field(&[Field::Src2])) {
                0 => scalars(&registers.reads) & VCC,
                mask => mask,
            },
            _ => scalars(&registers.reads) & VCC,
        };
        let immediate = inst.get(Field::Simm16);
        let waits = match name {
            "s_waitcnt_depctr" | "s_wait_alu" => !(immediate as u16),
            _ => 0,
        };
        let whole = [VA_VDST, VA_SDST, VA_VCC, SA_SDST].into_iter().filter(|field| waits & field == *field);
        let kinds = kinds(inst);
        let multiplied = match kinds & (DOT | MATRIX) {
            0 => Vec::new(),
            // The third source of a sparse product is an index.
            _ if name.starts_with("v_swmmac") => {
                [Field::Src0, Field::Src1, Field::Src2].map(|field| of_field(&[field])).concat()
            }
            _ => [of_field(&[Field::Src0]), of_field(&[Field::Src1, Field::Vsrc1])].concat(),
        };
        let is_source = |operand: &&Operand| operand.slot.role != Role::Result;
        let mut sources: Vec<Vec<Reg>> =
            operands.iter().filter(is_source).map(|operand| operand.value.registers()).collect();
        sources.retain(|regs| matches!(regs.first(), Some(Reg::V(_))));
        sources.sort_unstable();
        sources.dedup();
        Traits {
            kinds,
            operands: if kinds & VALU != 0 { sources } else { Vec::new() },
            name: (name, inst.encoding()),
            multiplied,
            hardware: if kinds & (GETREG | SETREG) != 0 { immediate & 63 } else { 0 },
            product: if kinds & MATRIX != 0 { Product::of(inst) } else { None },
            states: if name == "s_nop" { (immediate as u8 & 15) + 1 } else { 1 },
            stored: if stored.len() > 2 { stored } else { Vec::new() },
            lane,
            mask,
            waits: whole.fold(0, |all, field| all | field),
            reads: registers.reads,
            writes: registers.writes,
        }
    }

    pub(super) fn is(&self, (some, none): (Kinds, Kinds)) -> bool {
        self.kinds & some != 0 && self.kinds & none == 0
    }

    /// Registers of an instruction that a rule is about.
    pub(super) fn registers(&self, which: Which) -> &[Reg] {
        match which {
            ReadsVector | ReadsScalar => &self.reads,
            WritesVector | WritesScalar | WritesExec | WritesM0 => &self.writes,
            Stores => &self.stored,
            Lane => self.lane.as_slice(),
            Any | Hardware => &[],
        }
    }
}

fn kinds(inst: &Inst) -> Kinds {
    let name = inst.name();
    let (Some(class), Some(encoding)) = (inst.class(), inst.encoding()) else { return 0 };
    let on_gfx9 = inst.target().family() < Family::Gfx10;
    let mut out = match class {
        Class::Valu => VALU,
        Class::Transcendental => VALU | TRANS,
        Class::Matrix if name.starts_with("v_accvgpr") => VALU,
        Class::Matrix if on_gfx9 => MATRIX,
        Class::Matrix => MATRIX | VALU,
        Class::VectorMemory | Class::Image => MEMORY,
        Class::Lds => LDS,
        Class::Export => EXPORT,
        Class::ScalarMemory => SCALAR_MEMORY,
        _ => 0,
    };
    if matches!(encoding, Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk) {
        out |= SALU;
    }
    let starts = |stem: &str| name.starts_with(stem);
    let is = [
        (DOT, starts("v_dot")),
        (DPP, encoding.name().contains("dpp")),
        (READ_LANE, starts("v_readlane") || starts("v_readfirstlane")),
        (WRITE_LANE, starts("v_writelane")),
        (DIV_FMAS, starts("v_div_fmas")),
        (PERMLANE, starts("v_permlane")),
        (DEPCTR, name == "s_waitcnt_depctr" || name == "s_wait_alu"),
        (LEAVES, ["s_setpc_b64", "s_swappc_b64", "s_call_b64"].contains(&name)),
        (CLAUSE, name == "s_clause"),
        (GETREG, starts("s_getreg")),
        (SETREG, starts("s_setreg")),
        (READS_M0, inst.loads_to_lds() || needs_m0(inst)),
        (FMA64, starts("v_fma_f64") || starts("v_fmac_f64")),
        (CMPX, starts("v_cmpx")),
        (VECTOR_NOP, name == "v_nop"),
        (
            BUFFER,
            out & MEMORY != 0 && !matches!(encoding, Encoding::Flat | Encoding::Global | Encoding::Scratch),
        ),
        (SHIFTED, out & VALU != 0 && moves_result(inst)),
    ];
    is.into_iter().filter(|(_, is)| *is).fold(out, |all, (kind, _)| all | kind)
}

fn needs_m0(inst: &Inst) -> bool {
    let name = inst.name();
    let messages = ["s_sendmsg", "s_sendmsghalt", "s_ttracedata"].contains(&name);
    let relative = name.starts_with("s_movrel");
    messages || relative || name.ends_with("_addtid_b32") || inst.get(Field::Gds) == 1
}

/// Whether the result lands in another part of its register than the lowest bits.
fn moves_result(inst: &Inst) -> bool {
    const WHOLE: u32 = 6;
    let sdwa = matches!(inst.encoding(), Some(Encoding::Vop1Sdwa | Encoding::Vop2Sdwa));
    sdwa && inst.get(Field::DstSel) != WHOLE
        || inst.keeps_half()
        || inst.name().starts_with("v_cvt_scalef32") && inst.name().contains("fp4")
}
