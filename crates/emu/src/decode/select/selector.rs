//! What the selection of one operation family works with: the instruction, its type, and the operation that
//! results.

use prlx_isa::ptx::opcode;
use prlx_isa::view::{Inst, Type};
use prlx_lanes::{LaneFn, Simd};

use crate::error::{EmuError, unsupported};

/// A selected operation.
#[derive(Clone, Debug)]
pub struct AluOp {
    /// The function that runs it.
    pub run: LaneFn,
    /// Types of the results; at most four.
    pub dst: Vec<Type>,
    /// Types of the sources; at most four.
    pub src: Vec<Type>,
    /// The constant for [`Args::imm`](prlx_lanes::Args::imm).
    pub imm: u64,
}

/// The instruction that an operation is selected for.
pub struct Selector<'a> {
    /// The instruction that needs an operation.
    pub inst: &'a Inst,
    /// The instruction set that the operation is compiled for.
    pub simd: Simd,
    /// The last type of the opcode: the type of the operation, or of its source.
    pub ty: Type,
}

impl Selector<'_> {
    /// Whether the opcode has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        opcode(self.inst).has(modifier)
    }
    /// Whether the type is a floating-point one.
    pub fn is_float(&self) -> bool {
        use Type::{Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64};
        matches!(self.ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F32x2 | F64)
    }
    /// Whether the type is a 16-bit floating-point one, or a pair of them.
    pub fn is_half(&self) -> bool {
        matches!(self.ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
    }
    /// Refuses every modifier that is not in `known`: an unknown one must not be ignored.
    pub fn only(&self, known: &[&str]) -> Result<(), EmuError> {
        match opcode(self.inst).mods.iter().find(|m| !known.contains(&m.as_str())) {
            Some(m) => Err(unsupported(format!("modifier `.{m}` is not implemented here"))),
            None => Ok(()),
        }
    }
    /// An operation with one result; refuses the type if `run` is `None`.
    pub fn op(&self, run: Option<LaneFn>, dst: Type, src: &[Type], imm: u64) -> Result<AluOp, EmuError> {
        match run {
            Some(run) => Ok(AluOp { run, dst: vec![dst], src: src.to_vec(), imm }),
            None => Err(self.untyped()),
        }
    }
    /// The error that refuses the types of the opcode.
    pub fn untyped(&self) -> EmuError {
        let types: Vec<String> =
            opcode(self.inst).types.iter().map(|t| format!(".{t:?}").to_lowercase()).collect();
        let later = ["e2m1", "e2m3", "e3m2", "ue8m0", "f32x2", "x4"];
        let why = if types.iter().any(|t| later.iter().any(|l| t.contains(l))) {
            ", which are for sm_100 and later"
        } else {
            ""
        };
        unsupported(format!("it is not implemented for the types `{}`{why}", types.concat()))
    }
}

/// The operation for a type, or `None`: `by_type!(simd, ty; U32 | B32 => Add<u32>, …)`.
macro_rules! by_type {
    ($simd:expr, $ty:expr; $($($p:ident)|+ => $body:ty),* $(,)?) => {
        match $ty { $($(prlx_isa::view::Type::$p)|+ => Some(prlx_lanes::entry::<$body>($simd)),)* _ => None }
    };
}
pub(super) use by_type;
