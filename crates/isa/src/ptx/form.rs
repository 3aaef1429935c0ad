//! An opcode with its modifiers, taken apart: `ld.global.nc.L1::no_allocate.v4.f32`.

use crate::view::{Class, Space, Type};

use super::{Op, TableClass};

/// What an opcode says. Inline assembly writes modifiers in any order, so they are a set; the order of types matters.
/// (Where the order of modifiers matters too, as in `mma….row.col`, it is in `text`.)
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Form {
    /// The whole opcode as written.
    pub text: String,
    /// The operation, `None` if the table lacks it.
    pub op: Option<super::Op>,
    /// Types in the order written: for `cvt.f32.s32`, `[F32, S32]`.
    pub types: Vec<Type>,
    /// Every other modifier, without its dot, sorted: `["L1::no_allocate", "global", "nc", "v4"]`.
    pub mods: Vec<String>,
}

impl Form {
    /// Takes an opcode apart.
    pub fn parse(text: &str) -> Form {
        let mut parts = text.split('.');
        let op = parts.next().and_then(Op::from_mnemonic);
        let mut form = Form { text: text.to_owned(), op, ..Form::default() };
        for part in parts {
            match Type::from_name(part) {
                Some(t) => form.types.push(t),
                None => form.mods.push(part.to_owned()),
            }
        }
        form.mods.sort_unstable();
        form
    }
    /// Whether modifier `name` is there.
    pub fn has(&self, name: &str) -> bool {
        self.mods.binary_search_by(|m| m.as_str().cmp(name)).is_ok()
    }
    /// The first of `names` that is there.
    pub fn one_of<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|n| self.has(n))
    }
    /// The type at position `i`.
    pub fn ty(&self, i: usize) -> Option<Type> {
        self.types.get(i).copied()
    }
    /// The first state space named, in the order written.
    pub fn space(&self) -> Space {
        self.text.split('.').skip(1).find_map(space).unwrap_or_default()
    }
    /// What kind of thing it does: the operation's class, but for forms that do something else.
    pub fn class(&self) -> Class {
        let Some(op) = self.op else { return Class::Opaque };
        match op {
            Op::St | Op::Red if self.has("async") => Class::AsyncCopy,
            Op::Multimem if self.has("st") => Class::Store,
            Op::Multimem if self.has("red") => Class::Atomic,
            Op::Multimem if self.has("cp") => Class::AsyncCopy,
            Op::Wgmma if self.has("fence") || self.has("commit_group") || self.has("wait_group") => {
                Class::Sync
            }
            Op::Tcgen05 if self.mods.iter().any(|m| ["commit", "wait", "fence"].contains(&stem(m))) => {
                Class::Sync
            }
            Op::Clusterlaunchcontrol if self.has("query_cancel") => Class::Move,
            Op::Wmma if self.has("load") => Class::Load,
            Op::Wmma if self.has("store") => Class::Store,
            _ => match op.class() {
                TableClass::Is(class) => class,
                TableClass::Arith if self.types.last().is_some_and(|t| t.is_float()) => Class::Float,
                TableClass::Arith => Class::Integer,
            },
        }
    }
}

/// `wait` of `wait::ld`.
fn stem(modifier: &str) -> &str {
    modifier.split("::").next().unwrap_or_default()
}

/// The state space a modifier names.
fn space(modifier: &str) -> Option<Space> {
    Some(match modifier {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "shared::cluster" => Space::SharedCluster,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        "reg" => Space::Reg,
        _ => return None,
    })
}

/// Names types once: both ways are derived.
macro_rules! types { ($($name:literal = $ty:ident $bits:literal;)*) => {
    impl Type {
        /// From the name without its dot.
        pub fn from_name(s: &str) -> Option<Type> { match s { $($name => Some(Type::$ty),)* _ => None } }
        /// The name without its dot.
        pub const fn name(self) -> &'static str { match self { $(Type::$ty => $name,)* } }
        /// How wide a value is. A predicate has one bit.
        pub const fn bits(self) -> u32 { match self { $(Type::$ty => $bits,)* } }
    }
} }
types! {
    "pred" = Pred 1; "b1" = B1 1; "b8" = B8 8; "b16" = B16 16; "b32" = B32 32; "b64" = B64 64; "b128" = B128 128;
    "u4" = U4 4; "u8" = U8 8; "u16" = U16 16; "u32" = U32 32; "u64" = U64 64;
    "s4" = S4 4; "s8" = S8 8; "s16" = S16 16; "s32" = S32 32; "s64" = S64 64;
    "f16" = F16 16; "f16x2" = F16x2 32; "bf16" = Bf16 16; "bf16x2" = Bf16x2 32;
    "f32" = F32 32; "f32x2" = F32x2 64; "f64" = F64 64; "tf32" = Tf32 32;
    "e4m3" = E4m3 8; "e5m2" = E5m2 8; "e4m3x2" = E4m3x2 16; "e5m2x2" = E5m2x2 16;
    "u16x2" = U16x2 32; "s16x2" = S16x2 32;
    "e2m1" = E2m1 4; "e2m1x2" = E2m1x2 8; "e2m3" = E2m3 8; "e2m3x2" = E2m3x2 16;
    "e3m2" = E3m2 8; "e3m2x2" = E3m2x2 16; "ue8m0" = Ue8m0 8; "ue8m0x2" = Ue8m0x2 16;
}

impl Type {
    /// Bytes in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
    /// Signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S4 | Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
    }
    /// Integer or untyped bits of one value, 8 to 64 of them.
    pub const fn is_integer(self) -> bool {
        use Type::*;
        matches!(self, B8 | B16 | B32 | B64 | U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
    }
    /// Floating-point, packed ones included.
    pub const fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F32x2 | F64 | Tf32 | E4m3 | E5m2 | E4m3x2 | E5m2x2)
            || matches!(self, E2m1 | E2m1x2 | E2m3 | E2m3x2 | E3m2 | E3m2x2 | Ue8m0 | Ue8m0x2)
    }
}
