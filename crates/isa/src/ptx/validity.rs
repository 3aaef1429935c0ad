//! Finds instructions that the assembler refuses: names that are not declared, too few or too many operands,
//! and registers whose types do not fit (PTX ISA, Operand Type Checking).
//!
//! The reader accepts such text, and a device that runs PTX without an assembler would give it some meaning.
//!
//! # Invariants
//! An instruction that ptxas 13.0 accepts has no [`refusal`]. `crates/isa/tests/validity.txt` has what it
//! says of 3,825 instructions.
//!
//! # Limitations
//! Only common operations have a row in [`signature`]. Of the others, names, guards and addresses are
//! checked. Elements of vectors are not.

use super::opcode::{Opcode, opcode};
use super::ops::Op;
use super::resolve::{is_special, special_widths};
use super::suffixes;
use crate::view::{Base, Function, Inst, Module, Operand, Reg, Space, Type};

/// What a position among the operands takes.
#[derive(Clone, Copy)]
enum Wanted {
    /// A value of the type's width and kind.
    Exact(Type),
    /// A register of the type's width or, unless it is a float, a wider one.
    Wide(Type),
    /// A predicate, or a pair of them.
    Predicate,
    /// An address, or whatever else the operation takes.
    Any,
}
use Wanted::{Any, Exact, Predicate, Wide};

/// Why the assembler refuses an instruction of `function`. `None` if it accepts the instruction, as far as
/// this module knows.
pub fn refusal(module: &Module, function: &Function, inst: &Inst) -> Option<String> {
    let checker = Checker { module, function };
    checker
        .guard(inst)
        .or_else(|| inst.operands.iter().find_map(|operand| checker.names(inst, operand)))
        .or_else(|| inst.operands.iter().find_map(|operand| checker.address(inst, operand)))
        .or_else(|| suffixes::misfit(opcode(inst)))
        .or_else(|| checker.operands(inst))
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
}

impl Checker<'_> {
    fn register(&self, reg: Reg) -> (&str, Type) {
        let of = self.function.regs.get(reg.index());
        of.map_or(("?", Type::B32), |reg| (reg.name.as_str(), reg.ty))
    }

    fn guard(&self, inst: &Inst) -> Option<String> {
        let (name, ty) = self.register(inst.guard?.reg);
        (ty != Type::Pred).then(|| format!("the guard `{name}` is a register of type .{}", ty.name()))
    }

    /// A name that is not declared.
    fn names(&self, inst: &Inst, operand: &Operand) -> Option<String> {
        // What an unknown operation takes is not known either.
        opcode(inst).op?;
        let all = |all: &[Operand]| all.iter().find_map(|operand| self.names(inst, operand));
        match operand {
            Operand::Special(name) => {
                let stem = name.split('.').next().unwrap_or_default();
                (name != "WARP_SZ" && !is_special(stem)).then(|| {
                    format!("`{name}` is not declared, and PRLX knows no special register of this name")
                })
            }
            Operand::Text(text) => {
                let text = text.of(&self.module.text).trim();
                let inner = text.strip_prefix('[').map_or(text, |t| t.trim_end_matches(']'));
                let name: &str = inner.split(['+', '-']).next().unwrap_or_default().trim();
                let plain = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
                let is_name = !name.is_empty()
                    && name.chars().all(plain)
                    && !name.starts_with(|c: char| c.is_ascii_digit());
                is_name.then(|| format!("`{name}` is not declared"))
            }
            Operand::Vector(parts) | Operand::List(parts) => all(parts),
            Operand::Tensor(map, parts) => self.names(inst, map).or_else(|| all(parts)),
            Operand::Pair(a, b) => self.names(inst, a).or_else(|| self.names(inst, b)),
            _ => None,
        }
    }

    fn address(&self, inst: &Inst, operand: &Operand) -> Option<String> {
        let base = match operand {
            Operand::Tensor(map, _) => return self.address(inst, map),
            Operand::Address(Base::Reg(base), _) => *base,
            _ => return None,
        };
        let (name, ty) = self.register(base);
        if ty.is_float() || ty == Type::Pred {
            return Some(format!("the address `{name}` is a register of type .{}", ty.name()));
        }
        let form = opcode(inst);
        let plain = matches!(form.op, Some(Op::Ld | Op::St | Op::Atom | Op::Red)) && !form.has("async");
        let narrow = plain && ty.bits() == 32 && matches!(inst.space, Space::Generic | Space::Global);
        narrow.then(|| format!("the address `{name}` has 32 bits, and addresses in this space have 64"))
    }

    fn operands(&self, inst: &Inst) -> Option<String> {
        let form = opcode(inst);
        let count = inst.operands.len();
        let name = form.op?.mnemonic();
        let Some((least, most)) = arity(form) else {
            return self.types(inst, form, &signature(form, count)?);
        };
        if count < least || count > most {
            let wanted = match (least, most) {
                (0, 0) => "no operands".to_owned(),
                (1, 1) => "1 operand".to_owned(),
                (least, most) if least == most => format!("{least} operands"),
                (least, most) => format!("{least} to {most} operands"),
            };
            return Some(format!("`{name}` takes {wanted}, not {count}"));
        }
        self.vector(inst, form).or_else(|| self.types(inst, form, &signature(form, count)?))
    }

    /// Checks the number of elements of a vector that is loaded or stored.
    fn vector(&self, inst: &Inst, form: &Opcode) -> Option<String> {
        let elements = ["v2", "v4", "v8"].into_iter().find(|v| form.has(v)).map(|v| (v, v[1..].parse().ok()));
        let value = match form.op? {
            Op::Ld => inst.operands.first()?,
            Op::St => inst.operands.get(1)?,
            _ => return None,
        };
        match (elements, value) {
            (Some((name, Some(wanted))), Operand::Vector(all)) if all.len() != wanted => {
                Some(format!("`.{name}` takes {wanted} elements, not {}", all.len()))
            }
            (Some((name, Some(_))), Operand::Reg(_)) => Some(format!("`.{name}` takes a vector")),
            (None, Operand::Vector(all)) if all.len() > 1 => {
                Some("a vector needs `.v2`, `.v4` or `.v8`".to_owned())
            }
            _ => None,
        }
    }

    fn types(&self, inst: &Inst, form: &Opcode, wanted: &[Wanted]) -> Option<String> {
        let op = form.op?;
        let mut all = inst.operands.iter().zip(wanted).enumerate();
        all.find_map(|(i, (operand, wanted))| self.misfit(op, operand, *wanted, i + 1))
    }

    /// Why an operand does not fit. `at` counts from 1.
    fn misfit(&self, op: Op, operand: &Operand, wanted: Wanted, at: usize) -> Option<String> {
        let ty = match wanted {
            Any => return None,
            Predicate => Type::Pred,
            Exact(ty) | Wide(ty) => ty,
        };
        let (wide, copies) = (matches!(wanted, Wide(_)), matches!(op, Op::Mov | Op::Cvt));
        let what = match operand {
            Operand::Pair(a, b) if matches!(wanted, Predicate) => {
                return self.misfit(op, a, wanted, at).or_else(|| self.misfit(op, b, wanted, at));
            }
            Operand::Reg(reg) | Operand::Not(reg) => {
                let (name, have) = self.register(*reg);
                if fits(have, ty, wide) {
                    return None;
                }
                format!("`{name}` of type .{}", have.name())
            }
            Operand::Special(name) if name != "WARP_SZ" => {
                let widths = special_widths(name).unwrap_or_default();
                let have = match (op, widths) {
                    // Conversions may read the low bits.
                    (Op::Cvt, [bits, ..]) => ty.bits() <= *bits.max(&32) && *bits > 1,
                    _ => widths.contains(&ty.bits()),
                };
                if copies && !ty.is_float() && have {
                    return None;
                }
                format!("the special register `{name}`")
            }
            Operand::Symbol(..) if !copies && op != Op::Cvta => "the name of a variable".to_owned(),
            // Triton writes braces about single registers.
            Operand::Vector(all) if all.len() == 1 => return self.misfit(op, &all[0], wanted, at),
            Operand::Vector(_) if op != Op::Mov => "a vector".to_owned(),
            Operand::F32(_) | Operand::F64(_) if ty.is_integer() && !is_bits(ty) => {
                "a floating-point constant".to_owned()
            }
            Operand::Int(_) if matches!(ty, Type::F32 | Type::F64) => "an integer constant".to_owned(),
            _ => return None,
        };
        Some(format!("operand {at} of `{}` is {what}, which .{} does not accept", op.mnemonic(), ty.name()))
    }
}

fn is_bits(ty: Type) -> bool {
    matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128)
}

/// Whether a register of type `have` can stand where an instruction of type `ty` has an operand. `wide`:
/// whether a wider one can (PTX ISA, Operand Size Exceeding Instruction-Type Size).
fn fits(have: Type, ty: Type, wide: bool) -> bool {
    if ty == Type::Pred || have == Type::Pred {
        return ty == have;
    }
    let (packed, half) = (ty.is_pair(), matches!(ty, Type::F16 | Type::Bf16));
    let size = if wide { have.bits() >= ty.bits() } else { have.bits() == ty.bits() };
    let kind = if is_bits(ty) || is_bits(have) {
        true
    } else if packed || half {
        // Registers of halves can have several types, which compilers do not agree on.
        !matches!(have, Type::F32 | Type::F64)
    } else if ty.is_float() {
        have.is_float() && have.bits() == ty.bits()
    } else {
        !have.is_float()
    };
    size && kind
}

/// The least and the greatest number of operands. `None` if it depends on more than the operation.
fn arity(form: &Opcode) -> Option<(usize, usize)> {
    let op = form.op?;
    Some(match op {
        Op::Ret | Op::Exit | Op::Trap | Op::Brkpt | Op::Membar | Op::Griddepcontrol => (0, 0),
        Op::Bra | Op::Nanosleep | Op::Activemask => (1, 1),
        Op::Bar if form.has("warp") => (1, 1),
        Op::Bar if form.has("cta") || form.has("red") => return None,
        Op::Bar if form.has("arrive") => (2, 2),
        Op::Bar if form.has("sync") => (1, 2),
        Op::Ld | Op::St if form.has("L2::cache_hint") || form.has("async") || form.has("bulk") => {
            return None;
        }
        Op::Ld | Op::St => (2, 2),
        Op::Min | Op::Max => (3, 4),
        Op::Setp => match form.one_of(&["and", "or", "xor"]) {
            Some(_) => (4, 4),
            None => (3, 3),
        },
        Op::Cvt
            if form.types.len() == 2 && form.types.iter().all(|ty| is_plain(*ty)) && !form.has("pack") =>
        {
            (2, 2)
        }
        Op::Cvt | Op::Lop3 | Op::Atom | Op::Red | Op::Shfl | Op::Vote => return None,
        Op::Mov | Op::Cvta | Op::Isspacep => (2, 2),
        _ => {
            let wanted = signature(form, 0)?;
            (wanted.len(), wanted.len())
        }
    })
}

/// What the operands of an instruction with `count` operands are. `None` if this module does not know.
fn signature(form: &Opcode, count: usize) -> Option<Vec<Wanted>> {
    let op = form.op?;
    let one = form.types.len() == 1;
    let ty = form.ty(0).unwrap_or_default();
    let (t, word) = (Exact(ty), Exact(Type::B32));
    let wide = |ty| Exact(if ty == Type::U16 || ty == Type::S16 { Type::B32 } else { Type::B64 });
    let vector = ["v2", "v4", "v8"].into_iter().any(|v| form.has(v));
    Some(match op {
        Op::Add | Op::Sub | Op::Addc | Op::Subc | Op::Div | Op::Rem | Op::Mul24 if one => vec![t; 3],
        Op::Min | Op::Max if one => vec![t; 4],
        Op::Mul if one && form.has("wide") => vec![wide(ty), t, t],
        Op::Mul if one => vec![t; 3],
        Op::Mad if one && form.has("wide") => vec![wide(ty), t, t, wide(ty)],
        Op::Mad | Op::Madc | Op::Mad24 | Op::Fma if one => vec![t; 4],
        Op::Sad if one => vec![t; 4],
        Op::Abs | Op::Neg | Op::Not | Op::Cnot | Op::Brev if one => vec![t; 2],
        Op::Sqrt | Op::Rcp | Op::Rsqrt | Op::Sin | Op::Cos | Op::Lg2 | Op::Ex2 | Op::Tanh if one => {
            vec![t; 2]
        }
        Op::Popc | Op::Clz | Op::Bfind if one => vec![Exact(Type::U32), t],
        Op::And | Op::Or | Op::Xor | Op::Copysign if one => vec![t; 3],
        Op::Shl | Op::Shr if one => vec![t, t, Exact(Type::U32)],
        Op::Bfe if one => vec![t, t, Exact(Type::U32), Exact(Type::U32)],
        Op::Bfi if one => vec![t, t, t, Exact(Type::U32), Exact(Type::U32)],
        Op::Prmt if one => vec![t; 4],
        Op::Shf if one => vec![t, t, t, Exact(Type::U32)],
        Op::Lop3 if one && count == 5 => vec![t, t, t, t, Any],
        Op::Selp if one => vec![t, t, t, Predicate],
        Op::Slct if form.types.len() == 2 => vec![t, t, t, Exact(form.ty(1)?)],
        Op::Setp if one => vec![Predicate, t, t, Predicate],
        Op::Testp if one => vec![Predicate, t],
        Op::Mov if one && !vector => vec![t; 2],
        Op::Cvta => vec![Exact(form.ty(0)?); 2],
        Op::Isspacep => vec![Predicate, Any],
        Op::Cvt if form.types.len() == 2 && count == 2 && form.types.iter().all(|ty| is_plain(*ty)) => {
            vec![Wide(ty), Wide(form.ty(1)?)]
        }
        Op::Ld if one && !vector => vec![Wide(ty), Any],
        Op::St if one && !vector => vec![Any, Wide(ty)],
        Op::Atom if one && !vector => vec![t, Any, t, if form.has("cas") { t } else { Any }],
        Op::Red if one && !vector && !form.has("async") => vec![Any, t],
        Op::Shfl if one && count >= 4 => vec![Any, t, Any, Any, Any],
        Op::Redux if one => vec![t, t, word],
        Op::Nanosleep => vec![Exact(Type::U32)],
        Op::Bar if !form.has("red") && !form.has("cta") => vec![word; 2],
        Op::Vote if form.has("ballot") => vec![word, Predicate, Any],
        Op::Vote if form.has("pred") => vec![Predicate, Predicate, Any],
        _ => return None,
    })
}

/// Whether conversions from and to this type follow the rule for wider registers.
fn is_plain(ty: Type) -> bool {
    let integers = [Type::U8, Type::S8, Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64];
    integers.contains(&ty) || matches!(ty, Type::F16 | Type::F32 | Type::F64)
}
