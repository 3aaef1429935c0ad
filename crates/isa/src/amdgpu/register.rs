//! Registers of AMD's machine code in the neutral view, and what the view keeps of an instruction.
//!
//! The view is that of one lane. A hardware register of 32 bits is a register of the view
//! ([`Register::Word`]); a scalar one has the same value in all lanes. Where code uses scalar registers as a
//! mask of lanes, the mask is a predicate of the view beside them ([`Register::Mask`]), of which each lane
//! has its own bit.
//!
//! # Invariants
//! - A function of the view has a mask only if an instruction reads it as one, and words only if an
//!   instruction reads them as numbers or writes them otherwise than as a mask. Where it has both, they are
//!   always equal.
//! - EXEC is always a mask. SCC is a predicate that is the same in all lanes.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::inst::{Inst, Reg};
use crate::view::{self, Function, Type};

/// What the view keeps of an instruction in [`Semantics::native`](view::Semantics::native).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Native {
    /// The machine instruction, with its words.
    pub inst: Inst,
    /// Address of its first byte in the code object.
    pub address: u64,
}

/// A register of a function of the view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Register {
    /// A hardware register: SCC is a predicate, every other one has 32 bits.
    Word(Reg),
    /// The mask of lanes in scalar registers, of which this is the first. Waves of 64 lanes have pairs.
    Mask(Reg),
    /// Whether a bit of VCC is set in any lane: the condition of `s_cbranch_vccnz`, and not that of
    /// `s_cbranch_vccz`. It is the same in all lanes. An instruction of the view before each of these
    /// branches, without a [`Native`], writes it.
    AnyVcc,
    /// The same of EXEC, before branches on it that lanes do not take each for itself.
    AnyExec,
}

impl Register {
    /// Type of the register in the view.
    pub fn ty(self) -> Type {
        match self {
            Register::Word(Reg::Scc) | Register::Mask(_) | Register::AnyVcc | Register::AnyExec => Type::Pred,
            Register::Word(_) => Type::B32,
        }
    }

    /// Name of the register in the view: as in the text of instructions, `vcc` and `s[4:5]` for masks. In
    /// waves of 32 lanes a mask is named after its only register, as `vcc_lo` and `s4`.
    pub fn name(self, lanes: u32) -> String {
        let word = |reg: Reg| -> String {
            match reg {
                Reg::S(n) => format!("s{n}"),
                Reg::Ttmp(n) => format!("ttmp{n}"),
                Reg::V(n) => format!("v{n}"),
                Reg::A(n) => format!("a{n}"),
                Reg::VccLo => "vcc_lo".into(),
                Reg::VccHi => "vcc_hi".into(),
                Reg::ExecLo => "exec_lo".into(),
                Reg::ExecHi => "exec_hi".into(),
                Reg::M0 => "m0".into(),
                Reg::Scc => "scc".into(),
                Reg::Mode => "mode".into(),
                Reg::FlatScratchLo => "flat_scratch_lo".into(),
                Reg::FlatScratchHi => "flat_scratch_hi".into(),
                Reg::XnackMaskLo => "xnack_mask_lo".into(),
                Reg::XnackMaskHi => "xnack_mask_hi".into(),
            }
        };
        match self {
            Register::AnyVcc => "vccnz".into(),
            Register::AnyExec => "execnz".into(),
            Register::Mask(Reg::VccLo) if lanes == 64 => "vcc".into(),
            Register::Mask(Reg::ExecLo) if lanes == 64 => "exec".into(),
            Register::Mask(Reg::S(n)) if lanes == 64 => format!("s[{n}:{}]", u32::from(n) + 1),
            Register::Mask(Reg::Ttmp(n)) if lanes == 64 => format!("ttmp[{n}:{}]", u32::from(n) + 1),
            Register::Word(reg) | Register::Mask(reg) => word(reg),
        }
    }

    /// All registers that a function can have.
    fn all(lanes: u32) -> impl Iterator<Item = Register> {
        use Reg::{
            A, ExecHi, ExecLo, FlatScratchHi, FlatScratchLo, M0, Mode, S, Scc, Ttmp, V, VccHi, VccLo,
            XnackMaskHi, XnackMaskLo,
        };
        let named = [
            VccLo,
            VccHi,
            ExecLo,
            ExecHi,
            M0,
            Scc,
            Mode,
            FlatScratchLo,
            FlatScratchHi,
            XnackMaskLo,
            XnackMaskHi,
        ];
        let words = (0..=105).map(S).chain((0..=15).map(Ttmp)).chain(named);
        let words = words.chain((0..=255).map(V)).chain((0..=255).map(A));
        let step = if lanes == 64 { 2 } else { 1 };
        let masks = (0..=105).step_by(step).map(S).chain((0..=15).step_by(step).map(Ttmp));
        // In waves of 32 lanes every scalar register can be a mask.
        let halves = [VccHi, ExecHi, M0].into_iter().filter(move |_| lanes == 32);
        let masks = masks.chain([VccLo, ExecLo]).chain(halves).map(Register::Mask);
        words.map(Register::Word).chain(masks).chain([Register::AnyVcc, Register::AnyExec])
    }
}

/// Registers by their name and type.
type Named = FxHashMap<(String, Type), Register>;

/// The names of all registers that a function can have.
fn named(lanes: u32) -> Named {
    Register::all(lanes).map(|r| ((r.name(lanes), r.ty()), r)).collect()
}

/// The registers of a function of the view, by hardware register.
#[derive(Clone, Debug, Default)]
pub struct RegisterMap(FxHashMap<Register, view::Reg>);

impl RegisterMap {
    /// The registers of a function of a module whose waves have `lanes` lanes.
    pub fn of(function: &Function, lanes: u32) -> RegisterMap {
        static NAMED: [LazyLock<Named>; 2] = [LazyLock::new(|| named(32)), LazyLock::new(|| named(64))];
        let named = &NAMED[usize::from(lanes == 64)];
        let regs = function.regs.iter().zip(0..);
        let of = |(info, at): (&view::RegInfo, u32)| {
            Some((*named.get(&(info.name.clone(), info.ty))?, view::Reg(at)))
        };
        RegisterMap(regs.filter_map(of).collect())
    }

    /// The register of the view; `None` if the function does not have it.
    pub fn get(&self, register: Register) -> Option<view::Reg> {
        self.0.get(&register).copied()
    }

    /// All registers of the function, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Register, view::Reg)> {
        self.0.iter().map(|(register, reg)| (*register, *reg))
    }
}
