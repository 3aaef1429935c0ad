//! Compiles operands and builtins, and the numbers of threads, warps and CTAs in the grid.

use prlx_isa::view::{Operand, Type};

use super::compile::ClauseCompiler;
use super::machine_code::native;
use super::value::{Reason, Value};
use crate::lang::{Builtin, ExprKind, Gives, Index};
use prlx_plan::code::{Binary, LaneQuery, Op, Temp, Ty, Unary};
use prlx_plan::eval;
use prlx_plan::function::body::warp_size;
use prlx_trace::WarpSize;

impl ClauseCompiler<'_> {
    /// Reads an operand as the type that the instruction works in.
    pub(super) fn read(&mut self, operand: &Operand, ty: Type) -> Result<Value, Reason> {
        let machine = self.facts.place.inst.is_some_and(|at| native(self.facts.body.inst(at)).is_some());
        match operand {
            Operand::Vector(words) => return self.pair(words, ty),
            // AMD's constants of float operations are bits.
            Operand::Int(n) if machine && ty.is_float() => {
                let bits = n.cast_unsigned();
                return Ok(Value::Temp(match ty {
                    Type::F64 => self.emit(Ty::F64, Op::Const(bits)),
                    Type::F16 => self.emit(Ty::F32, Op::Const(eval::half(bits, false, false))),
                    Type::Bf16 => self.emit(Ty::F32, Op::Const(eval::half(bits, true, false))),
                    _ => self.emit(Ty::F32, Op::Const(bits & u64::from(u32::MAX))),
                }));
            }
            // As a register of that type would hold it.
            Operand::Int(n) if ty.bits() < 64 => {
                let unused = 64 - ty.bits();
                let bits = n << unused;
                let n = if ty.is_signed() {
                    bits >> unused
                } else {
                    (bits.cast_unsigned() >> unused).cast_signed()
                };
                return Ok(Value::Int(n.into()));
            }
            Operand::Int(n) if ty.is_signed() => return Ok(Value::Int((*n).into())),
            Operand::Int(n) => return Ok(Value::Int(n.cast_unsigned().into())),
            Operand::F32(bits) => return Ok(Value::Temp(self.emit(Ty::F32, Op::Const((*bits).into())))),
            Operand::F64(bits) => return Ok(Value::Temp(self.emit(Ty::F64, Op::Const(*bits)))),
            _ => {}
        }
        let at = self.operand(operand);
        let (ty, op) = match ty {
            Type::F16 | Type::F16x2 => (Ty::F32, Op::Half(at, false, false)),
            Type::Bf16 | Type::Bf16x2 => (Ty::F32, Op::Half(at, true, false)),
            Type::Pred => (Ty::Bool, Op::Read(at)),
            Type::F32 | Type::Tf32 => (Ty::F32, Op::Read(at)),
            Type::F64 => (Ty::F64, Op::Read(at)),
            Type::S8 => (Ty::S8, Op::Read(at)),
            Type::S16 => (Ty::S16, Op::Read(at)),
            Type::S32 => (Ty::S32, Op::Read(at)),
            Type::S64 => (Ty::S64, Op::Read(at)),
            other => match other.bits() {
                ..=8 => (Ty::U8, Op::Read(at)),
                9..=16 => (Ty::U16, Op::Read(at)),
                17..=32 => (Ty::U32, Op::Read(at)),
                33..=64 => (Ty::U64, Op::Read(at)),
                _ => return Err("the operand has 128 bits; a program can read at most 64".to_owned()),
            },
        };
        Ok(Value::Temp(self.emit(ty, op)))
    }

    /// Two registers of 32 bits as one value, the low word first.
    fn pair(&mut self, words: &[Operand], ty: Type) -> Result<Value, Reason> {
        let [low, high] = words else {
            return Err("the operand has more than 64 bits; a program can read at most 64".to_owned());
        };
        let word = |s: &mut Self, operand: &Operand| {
            let at = s.operand(operand);
            let word = s.emit(Ty::U32, Op::Read(at));
            s.emit(Ty::U64, Op::Convert(word))
        };
        let (low, high) = (word(self, low), word(self, high));
        let by = self.emit(Ty::U32, Op::Const(32));
        let high = self.emit(Ty::U64, Op::Binary(Binary::Shl, high, by));
        let whole = self.emit(Ty::U64, Op::Binary(Binary::Or, low, high));
        Ok(Value::Temp(match ty {
            Type::F64 => self.emit(Ty::F64, Op::Bits(whole)),
            ty if ty.is_signed() => self.emit(Ty::S64, Op::Convert(whole)),
            _ => whole,
        }))
    }

    fn special(&mut self, name: &str) -> Temp {
        let at = self.operand(&Operand::Special(name.to_owned()));
        self.emit(Ty::U32, Op::Read(at))
    }

    /// The type of a mask of lanes, one bit for each lane of a warp of the code.
    pub(super) fn mask_type(&self) -> Ty {
        match warp_size(self.facts.body.module) {
            WarpSize::W32 => Ty::U32,
            WarpSize::W64 => Ty::U64,
        }
    }

    pub(super) fn builtin(&mut self, builtin: Builtin) -> Result<Value, Reason> {
        Ok(match builtin.gives() {
            Gives::Number(_) => self.facts.number(builtin)?,
            Gives::Text => Value::Text(self.facts.text(builtin)?),
            Gives::Special(name) => Value::Temp(self.special(name)),
            Gives::Index(index) => Value::Temp(self.index(index)),
            Gives::Query(query @ LaneQuery::Active) => {
                Value::Temp(self.emit(self.mask_type(), Op::Query(query)))
            }
            Gives::Query(query) => Value::Temp(self.emit(query.ty(), Op::Query(query))),
            Gives::Value(_) => match builtin {
                Builtin::Taken => {
                    let taken = self.facts.place.taken.ok_or("no predicate controls this branch")?;
                    let at = self.operand(&Operand::Reg(taken.reg));
                    let value = self.emit(Ty::Bool, Op::Read(at));
                    match taken.negate {
                        true => Value::Temp(self.emit(Ty::Bool, Op::Unary(Unary::Not, value))),
                        false => Value::Temp(value),
                    }
                }
                Builtin::Size => match self.facts.size()? {
                    Operand::Int(n) => Value::Int(n.into()),
                    operand => {
                        let at = self.operand(&operand);
                        Value::Temp(self.emit(Ty::U32, Op::Read(at)))
                    }
                },
                other => {
                    if let (Builtin::Address, Some(at)) = (other, self.facts.place.inst)
                        && let Some(native) = native(self.facts.body.inst(at))
                    {
                        self.facts.memory()?;
                        return self.machine_address(at, native);
                    }
                    let (base, ty, offset) = match other {
                        Builtin::Mbarrier => self.facts.mbarrier()?,
                        Builtin::Source => self.facts.source()?,
                        _ => self.facts.address()?,
                    };
                    match base {
                        None => Value::Int(offset.into()),
                        Some(base) => {
                            let at = self.operand(&base);
                            let base = self.emit(ty, Op::Read(at));
                            let base = self.temp(Value::Temp(base), Ty::U64)?;
                            let offset = self.temp(Value::Int(offset.into()), Ty::U64)?;
                            Value::Temp(self.emit(Ty::U64, Op::Binary(Binary::Add, base, offset)))
                        }
                    }
                }
            },
        })
    }

    /// A place's number in the grid.
    fn index(&mut self, index: Index) -> Temp {
        let mul_add = |s: &mut Self, ty, a, b, c| {
            let product = s.emit(ty, Op::Binary(Binary::Mul, a, b));
            s.emit(ty, Op::Binary(Binary::Add, product, c))
        };
        let lanes = warp_size(self.facts.body.module).lanes();
        match index {
            Index::LanesBelow => {
                let ty = self.mask_type();
                let lane = self.special("%laneid");
                let one = self.emit(ty, Op::Const(1));
                let own = self.emit(ty, Op::Binary(Binary::Shl, one, lane));
                let one = self.emit(ty, Op::Const(1));
                self.emit(ty, Op::Binary(Binary::Sub, own, one))
            }
            Index::Thread | Index::WarpInCta => {
                let [x, y, z] = ["%tid.x", "%tid.y", "%tid.z"].map(|n| self.special(n));
                let [nx, ny] = ["%ntid.x", "%ntid.y"].map(|n| self.special(n));
                let rows = mul_add(self, Ty::U32, z, ny, y);
                let thread = mul_add(self, Ty::U32, rows, nx, x);
                if index == Index::Thread {
                    return thread;
                }
                let log = self.emit(Ty::U32, Op::Const(lanes.trailing_zeros().into()));
                self.emit(Ty::U32, Op::Binary(Binary::Shr, thread, log))
            }
            Index::Cta => {
                let wide = |s: &mut Self, n| {
                    let narrow = s.special(n);
                    s.emit(Ty::U64, Op::Convert(narrow))
                };
                let [x, y, z] = ["%ctaid.x", "%ctaid.y", "%ctaid.z"].map(|n| wide(self, n));
                let [nx, ny] = ["%nctaid.x", "%nctaid.y"].map(|n| wide(self, n));
                let rows = mul_add(self, Ty::U64, z, ny, y);
                mul_add(self, Ty::U64, rows, nx, x)
            }
            Index::Warp => {
                let cta = self.index(Index::Cta);
                let [nx, ny, nz] = ["%ntid.x", "%ntid.y", "%ntid.z"].map(|n| self.special(n));
                let rows = self.emit(Ty::U32, Op::Binary(Binary::Mul, nz, ny));
                let last = self.emit(Ty::U32, Op::Const(lanes - 1));
                let threads = mul_add(self, Ty::U32, rows, nx, last);
                let log = self.emit(Ty::U32, Op::Const(lanes.trailing_zeros().into()));
                let warps = self.emit(Ty::U32, Op::Binary(Binary::Shr, threads, log));
                let warps = self.emit(Ty::U64, Op::Convert(warps));
                let own = self.index(Index::WarpInCta);
                let own = self.emit(Ty::U64, Op::Convert(own));
                mul_add(self, Ty::U64, cta, warps, own)
            }
        }
    }

    /// The high half of an operand that is a packed pair.
    pub(super) fn high(&mut self, of: &ExprKind) -> Result<Value, Reason> {
        let (operand, ty) = match of {
            ExprKind::In(n) => self.facts.input(*n)?,
            ExprKind::Out(n) => self.facts.output(*n)?,
            _ => return Err("`high_half` takes an operand of the instruction".to_owned()),
        };
        let bf = match ty {
            Type::F16x2 => false,
            Type::Bf16x2 => true,
            other => return Err(format!("the operand is a `{}`, not a packed pair of halves", other.name())),
        };
        let at = self.operand(&operand);
        Ok(Value::Temp(self.emit(Ty::F32, Op::Half(at, bf, true))))
    }
}
