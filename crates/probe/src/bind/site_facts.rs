//! Facts about a site that are known before the kernel runs.

use prlx_isa::view::{
    Access, Base, Class, CopiedBytes, Effect, FunctionKind, InstId, Operand, Reg, Role, Space, Type,
};

use super::pairs::{self, leaves};
use super::sites::{ProbeSite, writes};
use super::value::{Reason, Value};
use super::value_type::{is_untyped, names_width, type_read, type_written};
use crate::diagnostics::own_line;
use crate::lang::{Builtin, Side};
use prlx_plan::code::Ty;
use prlx_plan::function::body::{self, Body};
use prlx_plan::function::wgmma::{WgmmaHazards, products};
use prlx_trace::table::SITE_SEPARATOR;

/// A site, with its function.
pub(super) struct SiteFacts<'a> {
    pub body: &'a Body<'a>,
    pub windows: &'a WgmmaHazards,
    pub place: &'a ProbeSite,
}

impl SiteFacts<'_> {
    fn inst(&self) -> Result<InstId, Reason> {
        self.place.inst.ok_or_else(|| "this site has no instruction".to_owned())
    }
    fn class(&self) -> Option<Class> {
        self.place.inst.map(|at| self.body.inst(at).class)
    }
    pub(super) fn memory(&self) -> Result<InstId, Reason> {
        let at = self.inst()?;
        match self.body.inst(at).class {
            Class::Load | Class::Store | Class::Atomic | Class::AsyncCopy | Class::Texture => Ok(at),
            _ => Err("the instruction does not access memory".to_owned()),
        }
    }

    /// The location that positions for all of its file and line: the first.
    pub fn line(&self) -> Option<u32> {
        let loc = self.loc()?;
        let same = |l: &prlx_isa::view::Loc| (l.file, l.line) == (loc.file, loc.line);
        self.body.module.locs.iter().position(same).map(|i| i as u32)
    }
    /// The user's own line, also where code of a library is inlined.
    fn loc(&self) -> Option<&prlx_isa::view::Loc> {
        let marked = self.place.marker.as_ref().and_then(|(_, loc)| *loc);
        let at = match self.place.inst {
            _ if marked.is_some() => marked,
            Some(at) => self.body.loc(at),
            None => self.body.function.insts.iter().find_map(|i| i.loc),
        };
        own_line(self.body.module, at?)
    }
    /// The site as a word of a table: file, line, and the instruction with its function. Instructions of one
    /// line that read the same have numbers.
    pub fn site(&self) -> String {
        let function = &self.body.function.name;
        let text = |at: Option<InstId>| at.map_or_else(|| "begin".to_owned(), |at| self.body.text(at));
        let marker = self.place.marker.as_ref().map(|(text, _)| text.clone());
        let what = marker.unwrap_or_else(|| text(self.place.inst));
        match self.loc() {
            Some(l) => {
                let path = self.body.module.files.get(l.file as usize).map_or("", |f| f.path.as_str());
                let same = |i: &InstId| {
                    let own = self.body.loc(*i).and_then(|l| own_line(self.body.module, l));
                    own.is_some_and(|own| (own.file, own.line) == (l.file, l.line)) && text(Some(*i)) == what
                };
                let before = self.place.inst.map_or(0, |at| (0..at.0).map(InstId).filter(same).count());
                let nth =
                    if before > 0 { format!(" (number {} of this text)", before + 1) } else { String::new() };
                format!("{path}{SITE_SEPARATOR}{}{SITE_SEPARATOR}{what} in {function}{nth}", l.line)
            }
            // Without lines, its number in the function tells it from others that read the same.
            None => {
                let number = self.place.inst.map_or(0, |i| i.0);
                format!("{SITE_SEPARATOR}0{SITE_SEPARATOR}#{number} {what} in {function}")
            }
        }
    }

    pub fn text(&self, builtin: Builtin) -> Result<String, Reason> {
        Ok(match builtin {
            Builtin::File => self
                .loc()
                .and_then(|l| self.body.module.files.get(l.file as usize))
                .map(|f| f.path.clone())
                .unwrap_or_default(),
            Builtin::Func => {
                let inlined = self.loc().map(|l| l.function.clone()).filter(|f| !f.is_empty());
                inlined.unwrap_or_else(|| self.body.function.name.clone())
            }
            Builtin::Kernel => self.body.function.name.clone(),
            Builtin::Opcode => self.body.inst(self.inst()?).semantics.opcode.clone(),
            Builtin::Type => self.value_type(self.inst()?).map_or("", Type::name).to_owned(),
            Builtin::Space => {
                let inst = self.body.inst(self.inst()?);
                let memory = matches!(inst.class, Class::Load | Class::Store | Class::Atomic);
                match inst.space {
                    Space::Generic if memory => "generic",
                    Space::Generic => "",
                    Space::Global => "global",
                    Space::Shared => "shared",
                    Space::SharedCluster => "shared::cluster",
                    Space::Local => "local",
                    Space::Const => "const",
                    Space::Param => "param",
                    Space::Reg => "reg",
                }
                .to_owned()
            }
            other => return Err(format!("`{}` is not a text", other.name())),
        })
    }

    pub fn number(&self, builtin: Builtin) -> Result<Value, Reason> {
        Ok(match builtin {
            Builtin::WarpSize => Value::Int(body::warp_size(self.body.module).lanes().into()),
            Builtin::Line => Value::Int(self.loc().map_or(0, |l| l.line.into())),
            Builtin::Site => Value::Int(self.place.inst.map_or(0, |i| i.0.into())),
            Builtin::Nth => Value::Int(self.place.nth.into()),
            Builtin::BlockNumber => Value::Int(self.place.part.0.into()),
            Builtin::Depth => {
                let inside = self.body.graph.loops.iter().filter(|l| l.blocks.contains(&self.place.part));
                Value::Int(inside.count() as i128)
            }
            Builtin::Reads => Value::Bool(match self.class() {
                Some(Class::AsyncCopy) => self.access().is_none_or(|access| access.reads),
                _ => self.access().is_some_and(|access| access.reads),
            }),
            Builtin::Writes => Value::Bool(match self.class() {
                Some(Class::AsyncCopy) => true,
                _ => self.access().is_some_and(|access| access.writes),
            }),
            Builtin::Volatile => {
                self.inst()?;
                Value::Bool(self.access().is_some_and(|access| access.volatile))
            }
            Builtin::Width => Value::Int(self.width()?.0.into()),
            Builtin::Elements => Value::Int(self.width()?.1.into()),
            Builtin::Flops => Value::Int(self.flops()?),
            other => return Err(format!("`{}` is not known before the kernel runs", other.name())),
        })
    }
    fn access(&self) -> Option<Access> {
        match self.body.inst(self.place.inst?).semantics.effect {
            Effect::Access(access) => Some(access),
            _ => None,
        }
    }

    /// Bytes of an element that a memory instruction moves, and how many elements.
    fn width(&self) -> Result<(u32, u32), Reason> {
        let inst = self.body.inst(self.memory()?);
        let Effect::Access(access) = inst.semantics.effect else {
            return Err("the instruction moves no elements: use `size`".to_owned());
        };
        let (element, elements) = (access.element.ok_or("the instruction has no type")?, access.elements);
        let paired = pairs::are_paired(self.body, self.memory()?) && element == 4;
        Ok(if paired { (2 * element, elements / 2) } else { (element, elements) })
    }

    /// Bytes that a lane moves: a constant or a register.
    pub fn size(&self) -> Result<Operand, Reason> {
        let inst = self.body.inst(self.memory()?);
        let positions = match inst.semantics.effect {
            Effect::Async(work) => match work.bytes {
                CopiedBytes::TensorMap => {
                    return Err("a tensor copy's size is in its tensor map".to_owned());
                }
                CopiedBytes::Operand(positions) => positions,
                CopiedBytes::None => &[],
            },
            _ => {
                let (width, elements) = self.width()?;
                return Ok(Operand::Int(i64::from(width) * i64::from(elements)));
            }
        };
        let counts = |o: &&Operand| match o {
            Operand::Int(_) => true,
            Operand::Reg(r) => matches!(self.reg_type(*r), Type::B32 | Type::U32 | Type::S32),
            _ => false,
        };
        let size = positions.iter().filter_map(|n| inst.operands.get(*n)).find(counts);
        size.cloned().ok_or_else(|| "the size of this copy is not an operand".to_owned())
    }

    /// A lane's share of the multiplications and additions of a product of matrices.
    fn flops(&self) -> Result<i128, Reason> {
        let Some(product) = self.body.inst(self.inst()?).semantics.product else { return Ok(0) };
        let all = product.shape.iter().map(|n| i128::from(*n)).product::<i128>();
        Ok(2 * all / i128::from(product.lanes))
    }

    /// An address: its register or variable, the type that this is read in, and the offset.
    pub fn address(&self) -> Result<(Option<Operand>, Ty, i64), Reason> {
        let at = self.memory()?;
        let inst = self.body.inst(at);
        let operand =
            inst.operands.iter().zip(&inst.roles).find(|(_, role)| **role == Role::Addr).map(|(o, _)| o);
        self.base(at, operand.ok_or("the instruction has no address")?)
    }
    /// The address that a copy reads from: its second.
    pub fn source(&self) -> Result<(Option<Operand>, Ty, i64), Reason> {
        let at = self.inst()?;
        let inst = self.body.inst(at);
        if inst.class != Class::AsyncCopy {
            return Err("the instruction is not an asynchronous copy: use `address`".to_owned());
        }
        let addresses = inst.operands.iter().zip(&inst.roles).filter(|(_, role)| **role == Role::Addr);
        match addresses.map(|(o, _)| o).nth(1) {
            Some(Operand::Tensor(..)) => {
                Err("the source address of a tensor copy is in its tensor map".to_owned())
            }
            Some(operand) => self.base(at, operand),
            None => Err("the instruction has no source address".to_owned()),
        }
    }
    /// The address of the barrier object: the last address of a copy, the only one of an `mbarrier`
    /// instruction.
    pub fn mbarrier(&self) -> Result<(Option<Operand>, Ty, i64), Reason> {
        let at = self.inst()?;
        let inst = self.body.inst(at);
        let all = inst.operands.iter().zip(&inst.roles);
        let addresses: Vec<&Operand> = all.filter(|(_, role)| **role == Role::Addr).map(|(o, _)| o).collect();
        let barrier = match inst.semantics.effect {
            Effect::BarrierObject { .. } => addresses.first(),
            _ if inst.class == Class::AsyncCopy && addresses.len() >= 3 => addresses.last(),
            _ => None,
        };
        self.base(at, barrier.ok_or("the instruction has no barrier object")?)
    }
    fn base(&self, at: InstId, operand: &Operand) -> Result<(Option<Operand>, Ty, i64), Reason> {
        let operand = if let Operand::Tensor(map, _) = operand { map } else { operand };
        match operand {
            Operand::Address(Base::Reg(r), offset) => {
                self.intact(at, *r)?;
                let ty = if self.reg_type(*r).bits() == 64 { Ty::U64 } else { Ty::U32 };
                Ok((Some(Operand::Reg(*r)), ty, *offset))
            }
            Operand::Address(Base::Symbol(s), offset) => Ok((Some(Operand::Symbol(*s, 0)), Ty::U64, *offset)),
            Operand::Address(Base::Absolute, offset) => Ok((None, Ty::U64, *offset)),
            _ => Err("a program cannot read this form of address".to_owned()),
        }
    }

    fn reg_type(&self, reg: Reg) -> Type {
        self.body.function.regs.get(reg.index()).map_or(Type::B32, |r| r.ty)
    }
    /// Checks that a register still has the value that the instruction read.
    pub(super) fn intact(&self, at: InstId, reg: Reg) -> Result<(), Reason> {
        match self.place.side == Side::End && writes(self.body, at, reg) {
            true => Err("the instruction overwrites its input: use `:begin`".to_owned()),
            false => Ok(()),
        }
    }
    /// Checks that code at this site may read a register.
    fn readable(&self, at: InstId, operand: &Operand) -> Result<(), Reason> {
        match operand {
            Operand::Reg(r) | Operand::Not(r) | Operand::Element(r, _)
                if self.windows.before(at).contains(r) =>
            {
                Err("the register is an accumulator of a `wgmma` that is still running".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The `n`th input, and the type that it is worked on in.
    pub fn input(&self, n: u8) -> Result<(Operand, Type), Reason> {
        let at = self.inst()?;
        let inst = self.body.inst(at);
        let inputs = pairs::values(self.body, at, &[Role::Use, Role::UseDef]);
        let operand = inputs
            .get(usize::from(n))
            .ok_or_else(|| format!("the instruction has {} inputs", inputs.len()))?;
        for r in body::regs(&leaves(operand)) {
            self.intact(at, r)?;
        }
        self.readable(at, operand)?;
        let ty = inst.semantics.input;
        match operand {
            Operand::Vector(_) => Ok((operand.clone(), pairs::wide_type(self.body, at, ty))),
            Operand::Reg(r) if self.has_width(at, *r, ty) => {
                Ok((operand.clone(), self.settled(ty, type_read(self.body, at, *r))))
            }
            _ => self.plain(operand, ty),
        }
    }
    /// Whether the type of a value in a register gives only its width.
    fn has_width(&self, at: InstId, reg: Reg, ty: Option<Type>) -> bool {
        let own = self.reg_type(reg);
        ty.is_some_and(|ty| {
            own.bits() == ty.bits()
                && names_width(self.body.inst(at), ty)
                && (is_untyped(ty) || is_untyped(own))
        })
    }
    /// The type that was found for a value of an instruction: an opcode that names an integer is wrong only
    /// for floats.
    fn settled(&self, named: Option<Type>, found: Type) -> Type {
        named.filter(|ty| !is_untyped(*ty) && !found.is_float()).unwrap_or(found)
    }
    /// The `n`th output.
    pub fn output(&self, n: u8) -> Result<(Operand, Type), Reason> {
        let at = self.inst()?;
        if self.place.side == Side::Begin {
            return Err("the instruction has not written it yet: use `:end`".to_owned());
        }
        let inst = self.body.inst(at);
        if products(inst).is_some() {
            return Err("the register is an accumulator of a `wgmma` that is still running".to_owned());
        }
        let outputs = pairs::values(self.body, at, &[Role::Def, Role::UseDef]);
        let operand = outputs
            .get(usize::from(n))
            .ok_or_else(|| format!("the instruction has {} outputs", outputs.len()))?;
        self.readable(at, operand)?;
        let ty = inst.semantics.result;
        match operand {
            Operand::Vector(_) => Ok((operand.clone(), pairs::wide_type(self.body, at, ty))),
            Operand::Reg(r) if self.has_width(at, *r, ty) => {
                Ok((operand.clone(), self.settled(ty, type_written(self.body, at, *r))))
            }
            _ => self.plain(operand, ty),
        }
    }
    /// An operand with a value, and its type: the register's own where that says more than the instruction.
    fn plain(&self, operand: &Operand, ty: Option<Type>) -> Result<(Operand, Type), Reason> {
        let (operand, own) = match operand {
            Operand::Reg(r) | Operand::Element(r, _) => (operand.clone(), Some(self.reg_type(*r))),
            Operand::Not(r) => (Operand::Reg(*r), Some(Type::Pred)),
            Operand::Int(_)
            | Operand::F32(_)
            | Operand::F64(_)
            | Operand::Special(_)
            | Operand::Symbol(..) => (operand.clone(), None),
            Operand::Sink => return Err("the instruction discards this result".to_owned()),
            _ => return Err("this kind of operand has no value".to_owned()),
        };
        Ok(match (own, ty) {
            (Some(Type::Pred), _) => (operand, Type::Pred),
            (Some(own), Some(ty)) if own.bits() == ty.bits() && is_untyped(ty) => (operand, own),
            // Loads widen: the register holds more than the type says.
            (Some(own), Some(ty)) if own.bits() >= ty.bits() => (operand, ty),
            (Some(own), _) => (operand, own),
            (None, Some(ty)) => (operand, ty),
            (None, None) => (operand, Type::U32),
        })
    }

    /// The type of the first value that a store stores, or that another instruction gives; none if it names
    /// none.
    fn value_type(&self, at: InstId) -> Option<Type> {
        let inst = self.body.inst(at);
        let store = inst.class == Class::Store;
        let (role, ty) = match store {
            true => (Role::Use, inst.semantics.input),
            false => (Role::Def, inst.semantics.result),
        };
        let ty = ty?;
        Some(match pairs::values(self.body, at, &[role, Role::UseDef]).first() {
            Some(Operand::Vector(_)) => pairs::wide_type(self.body, at, Some(ty)),
            Some(Operand::Reg(r) | Operand::Element(r, _)) if self.has_width(at, *r, Some(ty)) => {
                let found =
                    if store { type_read(self.body, at, *r) } else { type_written(self.body, at, *r) };
                self.settled(Some(ty), found)
            }
            _ => ty,
        })
    }
    /// A kernel's parameter, by name or number: its offset and type.
    pub fn param(&self, name: &str) -> Result<(u32, Ty), Reason> {
        let f = self.body.function;
        if f.kind != FunctionKind::Kernel {
            return Err("a device function cannot read the parameters of the kernel".to_owned());
        }
        let symbol = |i: usize| self.body.module.symbols.get(f.params.get(i)?.index());
        // Compilers call them `kernel_param_0`.
        let number = |i: usize, n: &str| n == i.to_string();
        let at = (0..f.params.len()).find(|i| number(*i, name) || symbol(*i).is_some_and(|s| s.name == name));
        let Some(i) = at else {
            let names: Vec<&str> = (0..f.params.len()).filter_map(symbol).map(|s| s.name.as_str()).collect();
            return Err(format!(
                "the kernel has no parameter `{name}`; its parameters are {}",
                names.join(", ")
            ));
        };
        let (Some(s), Some(offset)) = (symbol(i), f.param_offsets.get(i)) else {
            return Err(format!("the offset of parameter `{name}` is not known"));
        };
        let ty = match (s.ty, s.size) {
            (_, n) if n > 8 => return Err(format!("parameter `{name}` is a structure of {n} bytes")),
            (Type::F32, _) => Ty::F32,
            (Type::F64, _) => Ty::F64,
            (Type::S8, _) => Ty::S8,
            (Type::S16, _) => Ty::S16,
            (Type::S32, _) => Ty::S32,
            (Type::S64, _) => Ty::S64,
            (_, 1) => Ty::U8,
            (_, 2) => Ty::U16,
            (_, 8) => Ty::U64,
            _ => Ty::U32,
        };
        Ok((*offset, ty))
    }
}
