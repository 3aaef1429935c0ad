//! The types and modifiers that operations take (PTX ISA, Instruction Set; what ptxas 13.0 accepts for any
//! target).
//!
//! # Limitations
//! Only common operations have a row. Modifiers are checked where an operation needs one of several.

use super::opcode::Opcode;
use super::ops::Op;
use crate::view::Type::{self, *};

const INTEGERS: &[Type] = &[U16, U32, U64, S16, S32, S64];
const FLOATS: &[Type] = &[F16, F16x2, Bf16, Bf16x2, F32, F64];
const WIDE_FLOATS: &[Type] = &[F32, F64];
const BITS: &[Type] = &[B16, B32, B64];
const WORDS: &[Type] = &[B32, B64];

/// Names of modifiers that round to an integer number of bits.
const ROUNDING: &[&str] = &["rn", "rz", "rm", "rp", "rna", "rs"];

/// Why an operation does not take the types or modifiers that an opcode names. `None` if it does, as far as
/// this module knows.
pub(super) fn misfit(form: &Opcode) -> Option<String> {
    let op = form.op?;
    let taken = types(op)?;
    let name = op.mnemonic();
    // The sum and the product of halves in binary32.
    let mixed = matches!(op, Op::Add | Op::Sub | Op::Fma) && matches!(form.types[..], [F32, F16 | Bf16]);
    let ty = match form.types[..] {
        [ty] => ty,
        _ if mixed => return None,
        [] => return Some(format!("`{name}` needs a type, as `.{}`", taken.first()?.first()?.name())),
        [first, second, ..] => {
            return Some(format!(
                "`{name}` takes one type, not `.{}` and `.{}`",
                first.name(),
                second.name()
            ));
        }
    };
    if !taken.iter().any(|some| some.contains(&ty)) {
        let all: Vec<String> = taken.iter().copied().flatten().map(|ty| format!(".{}", ty.name())).collect();
        return Some(format!("`{name}` does not take `.{}`, only {}", ty.name(), all.join(", ")));
    }
    modifiers(form, op, ty).or_else(|| comparison(form, op, ty))
}

/// The types of which an operation takes one, in groups. `None` if this module does not know.
fn types(op: Op) -> Option<&'static [&'static [Type]]> {
    Some(match op {
        Op::Add => &[INTEGERS, FLOATS, &[F32x2, U16x2, S16x2]],
        Op::Sub => &[INTEGERS, FLOATS, &[F32x2]],
        Op::Mul => &[INTEGERS, FLOATS, &[F32x2]],
        Op::Mad => &[INTEGERS, WIDE_FLOATS],
        Op::Fma => &[FLOATS, &[F32x2]],
        Op::Div => &[INTEGERS, WIDE_FLOATS],
        Op::Addc | Op::Subc | Op::Madc | Op::Rem | Op::Sad => &[INTEGERS],
        Op::Mul24 | Op::Mad24 => &[&[U32, S32]],
        Op::Min | Op::Max => &[INTEGERS, FLOATS, &[U16x2, S16x2]],
        Op::Abs | Op::Neg => &[&[S16, S32, S64], FLOATS],
        Op::And | Op::Or | Op::Xor | Op::Not => &[&[Pred], BITS],
        Op::Cnot | Op::Shl => &[BITS],
        Op::Shr => &[BITS, INTEGERS],
        Op::Brev | Op::Popc | Op::Clz | Op::Bfi => &[WORDS],
        Op::Bfe | Op::Bfind => &[&[U32, U64, S32, S64]],
        Op::Prmt | Op::Shf | Op::Lop3 | Op::Shfl => &[&[B32]],
        Op::Sqrt | Op::Rcp | Op::Rsqrt | Op::Copysign | Op::Testp => &[WIDE_FLOATS],
        Op::Sin | Op::Cos | Op::Lg2 => &[&[F32]],
        Op::Ex2 | Op::Tanh => &[&[F16, F16x2, Bf16, Bf16x2, F32]],
        Op::Selp => &[BITS, INTEGERS, WIDE_FLOATS],
        Op::Setp => &[BITS, INTEGERS, FLOATS],
        Op::Mov => &[&[Pred, B128], BITS, INTEGERS, WIDE_FLOATS],
        _ => return None,
    })
}

/// A modifier that is missing, or that the type does not take.
fn modifiers(form: &Opcode, op: Op, ty: Type) -> Option<String> {
    let name = op.mnemonic();
    let part = form.one_of(&["lo", "hi", "wide"]);
    let rounding = form.one_of(ROUNDING);
    let needs = |what: &str| Some(format!("`{name}.{}` needs {what}", ty.name()));
    let integer = !ty.is_float();
    match op {
        Op::Mul | Op::Mad if integer && part.is_none() => return needs("`.lo`, `.hi` or `.wide`"),
        Op::Mul | Op::Mad if !integer && let Some(part) = part => {
            return Some(format!("`{name}.{}` does not take `.{part}`", ty.name()));
        }
        Op::Mul | Op::Mad if part == Some("wide") && ty.bits() == 64 => {
            return Some(format!("`{name}.wide` does not take `.{}`", ty.name()));
        }
        Op::Fma | Op::Mad if !integer && rounding.is_none() => {
            return needs("a rounding, as `.rn`");
        }
        Op::Div | Op::Sqrt | Op::Rcp
            if !integer && rounding.is_none() && form.one_of(&["approx", "full"]).is_none() =>
        {
            return needs("`.approx` or a rounding, as `.rn`");
        }
        Op::Rsqrt | Op::Sin | Op::Cos | Op::Lg2 | Op::Ex2 | Op::Tanh if !form.has("approx") => {
            return needs("`.approx`");
        }
        _ => {}
    }
    if op == Op::Div
        && ty != F32
        && let Some(fast) = form.one_of(&["approx", "full"])
    {
        return Some(format!("`{name}.{}` does not take `.{fast}`", ty.name()));
    }
    if form.has("cc") && !(integer && ty.bits() >= 32) {
        return Some(format!("`{name}.{}` does not take `.cc`", ty.name()));
    }
    let arithmetic = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Div | Op::Rem);
    let other = if integer {
        rounding.or(form.one_of(&["ftz"]))
    } else {
        form.one_of(&["ftz"]).filter(|_| ty == F64)
    };
    let other = other.filter(|_| arithmetic)?;
    Some(format!("`{name}.{}` does not take `.{other}`", ty.name()))
}

/// A comparison that the type does not have.
fn comparison(form: &Opcode, op: Op, ty: Type) -> Option<String> {
    if op != Op::Setp {
        return None;
    }
    const ALL: &[&str] = &[
        "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
        "num", "nan",
    ];
    let Some(relation) = form.one_of(ALL) else {
        return Some("`setp` needs a comparison, as `.lt`".to_owned());
    };
    let of_bits = ["eq", "ne"].contains(&relation);
    let ordered = ["lt", "le", "gt", "ge"].contains(&relation);
    let has = match ty {
        B16 | B32 | B64 => of_bits,
        U16 | U32 | U64 => of_bits || ordered || ["lo", "ls", "hi", "hs"].contains(&relation),
        S16 | S32 | S64 => of_bits || ordered,
        _ => !["lo", "ls", "hi", "hs"].contains(&relation),
    };
    (!has).then(|| format!("`setp.{relation}` does not take `.{}`", ty.name()))
}
