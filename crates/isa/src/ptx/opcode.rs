//! An opcode with its modifiers, split: `ld.global.nc.L1::no_allocate.v4.f32`.

use crate::view::{Class, Inst, Space, Type};

use super::ops::{Op, TableClass};

/// An opcode: operation, types and modifiers.
///
/// Inline assembly writes modifiers in any order, so they are a set. The order of the types matters. Where
/// the order of modifiers matters too, as in `mma….row.col`, read it from `text`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opcode {
    /// The opcode as written.
    pub text: String,
    /// The operation; `None` if the table lacks it.
    pub op: Option<super::Op>,
    /// Types in the order written: for `cvt.f32.s32`, `[F32, S32]`.
    pub types: Vec<Type>,
    /// Every other modifier, without its dot, sorted: `["L1::no_allocate", "global", "nc", "v4"]`.
    pub mods: Vec<String>,
}

/// The opcode of an instruction of PTX; of another instruction set, one without an operation.
pub fn opcode(inst: &Inst) -> &Opcode {
    static NONE: Opcode = Opcode { text: String::new(), op: None, types: Vec::new(), mods: Vec::new() };
    inst.semantics.native.get().unwrap_or(&NONE)
}

impl Opcode {
    /// Splits an opcode.
    pub fn parse(text: &str) -> Opcode {
        let mut parts = text.split('.');
        let op = parts.next().and_then(Op::from_mnemonic);
        let mut form = Opcode { text: text.to_owned(), op, ..Opcode::default() };
        for part in parts {
            match Type::from_name(part) {
                Some(t) => form.types.push(t),
                None => form.mods.push(part.to_owned()),
            }
        }
        form.mods.sort_unstable();
        form
    }
    /// Whether the opcode has the modifier `name`.
    pub fn has(&self, name: &str) -> bool {
        self.mods.binary_search_by(|m| m.as_str().cmp(name)).is_ok()
    }
    /// The first of `names` that the opcode has.
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
    /// What the instruction does: the operation's class, except for forms that do something else.
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

/// The part of a modifier before `::`: `wait` of `wait::ld`.
fn stem(modifier: &str) -> &str {
    modifier.split("::").next().unwrap_or_default()
}

/// The state space that a modifier names.
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
