//! An opcode with its modifiers, taken apart: `ld.global.nc.L1::no_allocate.v4.f32`.

use crate::view::Type;

/// What an opcode says. Inline assembly writes modifiers in any order, so they are a set; the order of types matters.
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
}
