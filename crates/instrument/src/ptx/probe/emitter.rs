//! What all code of a probe program shares: registers of temporaries, labels and conversions.

use prlx_plan::code::{Code, Temp, Ty};

use crate::ptx::lowering::Lowering;
use crate::ptx::snippet::Snippet;

/// Emits the code of one probe program.
pub(in crate::ptx) struct Probe<'p, 'a> {
    pub lowering: &'p Lowering<'a>,
    pub code: &'p Code,
    /// Whether a value that is the same in all lanes is stored once per warp. Only at a kernel's entry, where
    /// all lanes of a warp are active, and only if the kernel may run long. In straight-line code the saved
    /// registers do not matter (measured: none of 20 kernels), and a short warp pays for the instructions.
    pub(in crate::ptx) shares: bool,
    /// Number of labels so far.
    pub(in crate::ptx) labels: u32,
}

impl Probe<'_, '_> {
    pub fn ty(&self, temp: Temp) -> Ty {
        self.code.temps.get(temp.index()).copied().unwrap_or(Ty::U64)
    }

    /// A new label of this snippet.
    pub fn label(&mut self, s: &Snippet<'_>) -> String {
        self.labels += 1;
        s.label(&format!("l{}_", self.labels))
    }

    /// Emits code that puts a temporary's value, widened as table rows store it, into the 64-bit register
    /// `to`. Returns its type there.
    pub fn wide(&mut self, s: &mut Snippet<'_>, temp: Temp, to: &str) -> Ty {
        let ty = self.ty(temp);
        self.convert(s, &register(temp), ty, to, ty.wide());
        ty.wide()
    }

    /// Emits code that converts a value to another type.
    pub(super) fn convert(&mut self, s: &mut Snippet<'_>, a: &str, from: Ty, to: &str, ty: Ty) {
        let narrow = matches!(ty.bits(), 8 | 16);
        let all = (1u64 << (ty.bits() % 64)).wrapping_sub(1);
        // Narrow signed integers are zero-extended in their registers.
        let own = match from {
            Ty::S8 => "s8",
            Ty::S16 => "s16",
            other => name(other),
        };
        match (from, ty) {
            _ if from == ty && ty == Ty::Bool => s.ptx(&format!("mov.pred {to}, {a};")),
            _ if from == ty => s.ptx(&format!("mov.{} {to}, {a};", bits(ty))),
            (Ty::Bool, Ty::F32) => s.ptx(&format!("selp.b32 {to}, 0x3F800000, 0, {a};")),
            (Ty::Bool, Ty::F64) => s.ptx(&format!("selp.b64 {to}, 0x3FF0000000000000, 0, {a};")),
            (Ty::Bool, _) => s.ptx(&format!("selp.{} {to}, 1, 0, {a};", bits(ty))),
            (_, Ty::Bool) if from == Ty::F32 => s.ptx(&format!("setp.neu.f32 {to}, {a}, 0f00000000;")),
            (_, Ty::Bool) if from == Ty::F64 => {
                s.ptx(&format!("setp.neu.f64 {to}, {a}, 0d0000000000000000;"))
            }
            (_, Ty::Bool) => s.ptx(&format!("setp.ne.{} {to}, {a}, 0;", bits(from))),
            (Ty::F32, Ty::F64) => s.ptx(&format!("cvt.f64.f32 {to}, {a};")),
            (Ty::F64, Ty::F32) => s.ptx(&format!("cvt.rn.f32.f64 {to}, {a};")),
            (_, Ty::F32 | Ty::F64) if matches!(from, Ty::S8 | Ty::S16) => {
                s.ptx(&format!("cvt.s32.{own} %~c, {a};\ncvt.rn.{}.s32 {to}, %~c;", name(ty)));
            }
            (_, Ty::F32 | Ty::F64) => s.ptx(&format!("cvt.rn.{}.{own} {to}, {a};", name(ty))),
            _ if from.float() => {
                // NaN converts to 0 here. PTX defines that for 32-bit results only (PTX ISA, cvt).
                s.ptx(&format!(
                    "setp.neu.{own} %~q, {a}, {a};
                     cvt.rzi.{}.{own} {to}, {a};
                     selp.{} {to}, 0, {to}, %~q;",
                    name(ty),
                    bits(ty),
                ));
                if narrow {
                    let (least, most) = match ty.signed() {
                        true => (-(1i64 << (ty.bits() - 1)), (1i64 << (ty.bits() - 1)) - 1),
                        false => (0, all as i64),
                    };
                    let wide = name(ty);
                    s.ptx(&format!(
                        "max.{wide} {to}, {to}, {least};
                         min.{wide} {to}, {to}, {most};
                         and.b32 {to}, {to}, {all};"
                    ));
                }
            }
            _ if ty.bits() == 64 && from.bits() == 64 => s.ptx(&format!("mov.b64 {to}, {a};")),
            _ if ty.bits() == 64 => {
                s.ptx(&format!("cvt.{}64.{own} {to}, {a};", if from.signed() { "s" } else { "u" }))
            }
            _ => {
                match from {
                    _ if from.bits() == 64 => s.ptx(&format!("cvt.u32.u64 {to}, {a};")),
                    Ty::S8 | Ty::S16 if ty.bits() > from.bits() => {
                        s.ptx(&format!("cvt.s32.{own} {to}, {a};"))
                    }
                    _ => s.ptx(&format!("mov.b32 {to}, {a};")),
                }
                if narrow {
                    s.ptx(&format!("and.b32 {to}, {to}, {all};"));
                }
            }
        }
    }
}

/// Type of the register of a temporary.
pub(in crate::ptx) fn register_type(ty: Ty) -> &'static str {
    match ty.bits() {
        1 => ".pred",
        64 => ".b64",
        _ => ".b32",
    }
}

/// Register of a temporary.
pub(in crate::ptx) fn register(temp: Temp) -> String {
    format!("%~t{}", temp.0)
}

/// Type suffix of instructions on values of a type. Narrow values are computed in 32 bits.
pub(in crate::ptx) fn name(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "pred",
        Ty::U8 | Ty::U16 | Ty::U32 => "u32",
        Ty::S8 | Ty::S16 | Ty::S32 => "s32",
        Ty::U64 => "u64",
        Ty::S64 => "s64",
        Ty::F32 => "f32",
        Ty::F64 => "f64",
    }
}

/// Untyped suffix of a type's register.
pub(in crate::ptx) fn bits(ty: Ty) -> &'static str {
    if ty.bits() == 64 { "b64" } else { "b32" }
}
