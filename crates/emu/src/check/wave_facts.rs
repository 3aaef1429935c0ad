//! Facts about each step of AMD's machine code that the check for uninitialised values needs: which planes
//! the registers of its instruction are.
//!
//! # Invariants
//! - A scalar register that the code has as words and as a mask of lanes is listed in both forms.
//!
//! # Limitations
//! - Instructions whose registers M0 chooses list those that their function names.

use prlx_isa::amdgpu::inst::{Address, Bank, Encoding, Field, Inst, Reg, Registers, Value};
use prlx_isa::amdgpu::{Native, Register, RegisterMap};
use prlx_isa::view::{self, FuncId, Function};

use crate::code::{Code, MemAccess, Op};
use crate::exec::launch::Launch;

use super::facts::Facts;

/// The plane of a register: of words, or of predicates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Form {
    /// A 32-bit plane.
    Word(u16),
    /// A predicate plane.
    Pred(u16),
}

/// A register of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The plane that holds it, and of which kind that is.
    pub form: Form,
    /// Its number among those of all functions ([`Facts`]).
    pub number: u32,
}

/// The facts of an instruction.
#[derive(Clone, Debug, Default)]
pub struct WaveFact {
    /// Registers of its address.
    pub addr: Vec<Place>,
    /// The other registers that it reads.
    pub uses: Vec<Place>,
    /// The registers that it writes.
    pub defs: Vec<Place>,
    /// Whether it only moves bits: what it makes of an undefined value may still be padding.
    pub moves: bool,
    /// Whether it is an access of the whole wave, with one address.
    pub scalar: bool,
    /// Whether only the lanes of EXEC run it.
    pub vector: bool,
}

/// The facts of all steps of a kernel.
#[derive(Debug, Default)]
pub struct WaveFacts {
    /// By step: the instruction, and whether it begins there.
    steps: Vec<(u32, bool)>,
    /// By step: the bytes that loads of the instruction read before and in all, where they are adjacent.
    parts: Vec<(u32, u32)>,
    insts: Vec<WaveFact>,
    /// The registers of the kernel and of all that it calls, with their planes; none if the code is not
    /// AMD's.
    pub registers: Vec<(Register, u16)>,
}

impl WaveFacts {
    /// The facts of a kernel.
    pub fn of(launch: &Launch<'_>, numbers: &Facts) -> WaveFacts {
        let (code, module) = (launch.code, launch.module);
        let mut facts = WaveFacts::default();
        let is_amd = |f: &&Function| f.insts.iter().any(|i| i.semantics.native.get::<Native>().is_some());
        for (&func, planes) in &code.registers {
            let Some(function) = module.functions.get(func.index()).filter(is_amd) else { continue };
            let map = RegisterMap::of(function, module.warp_lanes);
            facts.registers.extend(map.iter().filter_map(|(r, at)| Some((r, *planes.get(at.index())?))));
        }
        facts.registers.extend(&code.indexed);
        facts.registers.sort_unstable();
        facts.registers.dedup();
        let mut known: Option<(FuncId, Names<'_>)> = None;
        let mut last = None;
        for (at, &(func, inst)) in code.origin.iter().enumerate() {
            let begins = last != Some((func, inst));
            last = Some((func, inst));
            if begins {
                let function = module.functions.get(func.index());
                if known.as_ref().is_none_or(|(f, ..)| *f != func) {
                    let map = function.map(|f| RegisterMap::of(f, module.warp_lanes)).unwrap_or_default();
                    let first = function.map_or(0, |f| numbers.of_function(func.index(), f).start);
                    known = Some((func, Names { map, planes: code.planes_of(func), first }));
                }
                let fact = known.as_ref().and_then(|(_, names)| names.fact(function?, inst.index()));
                facts.insts.push(fact.unwrap_or_default());
            }
            facts.steps.push((facts.insts.len() as u32 - 1, begins));
            facts.parts.push(part(code, at));
        }
        facts
    }
    /// The facts of the instruction of a step, and whether the instruction begins there.
    pub fn at(&self, step: u32) -> (&WaveFact, bool) {
        let (inst, begins) = self.steps[step as usize];
        (&self.insts[inst as usize], begins)
    }
    /// Of a step that loads: bytes that its instruction loads before, and in all.
    pub fn part(&self, step: u32) -> (u32, u32) {
        self.parts[step as usize]
    }
}

/// The load of a step, if it belongs to the same instruction as another step.
fn load(code: &Code, at: usize, of: usize) -> Option<&MemAccess> {
    if code.origin.get(at)? != code.origin.get(of)? {
        return None;
    }
    match code.steps.get(at)?.op {
        Op::Ld(i) => code.mems.get(i as usize),
        _ => None,
    }
}

/// Where a load lies in the adjacent words that its instruction loads.
fn part(code: &Code, at: usize) -> (u32, u32) {
    let Some(here) = load(code, at, at) else { return (0, 0) };
    let follows = |a: &MemAccess, b: &MemAccess| a.base == b.base && a.offset + i64::from(a.size) == b.offset;
    let (mut first, mut end) = (at, at + 1);
    while let (Some(before), Some(now)) =
        (first.checked_sub(1).and_then(|b| load(code, b, at)), load(code, first, at))
        && follows(before, now)
    {
        first -= 1;
    }
    while let (Some(now), Some(next)) = (load(code, end - 1, at), load(code, end, at))
        && follows(now, next)
    {
        end += 1;
    }
    let size = u32::from(here.size);
    ((at - first) as u32 * size, (end - first) as u32 * size)
}

/// The registers of a function.
struct Names<'a> {
    map: RegisterMap,
    planes: &'a [u16],
    first: u32,
}

impl Names<'_> {
    fn place(&self, reg: view::Reg, pred: bool) -> Option<Place> {
        let plane = *self.planes.get(reg.index())?;
        let form = if pred { Form::Pred(plane) } else { Form::Word(plane) };
        Some(Place { form, number: self.first + reg.index() as u32 })
    }
    fn places(&self, regs: &[Reg], lanes: u8) -> Vec<Place> {
        let forms = |r: &Reg| [Register::Word(*r), Register::Mask(r.first_of_mask(lanes))];
        let all = regs.iter().flat_map(forms);
        let mut all: Vec<Place> =
            all.filter_map(|r| self.place(self.map.get(r)?, r.ty() == view::Type::Pred)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    fn fact(&self, function: &Function, at: usize) -> Option<WaveFact> {
        let inst = function.insts.get(at)?;
        let Some(native) = inst.semantics.native.get::<Native>() else {
            return Some(self.added(function, inst));
        };
        let (code, lanes) = (&native.inst, native.inst.lanes());
        let registers = code.registers().unwrap_or_else(|| self.indexed(code));
        let address = code.address().unwrap_or_default();
        let Address { vector, base, register, .. } = address;
        let addr: Vec<Reg> =
            [vector, base, register].into_iter().flatten().flat_map(Value::registers).collect();
        let data = data_registers(code);
        let uses: Vec<Reg> =
            registers.reads.iter().copied().filter(|r| !addr.contains(r) || data.contains(r)).collect();
        Some(WaveFact {
            addr: self.places(&addr, lanes),
            uses: self.places(&uses, lanes),
            defs: self.places(&registers.writes, lanes),
            moves: moves(code.name()),
            scalar: code.encoding() == Some(Encoding::Smem),
            vector: !code.name().starts_with("s_"),
        })
    }
    /// What an instruction may read whose registers M0 chooses, and the result in its text.
    fn indexed(&self, code: &Inst) -> Registers {
        let mut reads = code.named_sources();
        reads.extend(self.map.iter().filter_map(|(register, _)| match (register, code.indexes()?) {
            (Register::Word(reg @ Reg::V(_)), Bank::Vector) => Some(reg),
            (Register::Word(reg @ Reg::S(_)), Bank::Scalar) => Some(reg),
            _ => None,
        }));
        let first = code.operands().into_iter().next();
        Registers { reads, writes: first.map(|o| o.value.registers()).unwrap_or_default() }
    }
    /// The facts of an instruction that the view adds.
    fn added(&self, function: &Function, inst: &view::Inst) -> WaveFact {
        let mut fact = WaveFact { moves: true, ..WaveFact::default() };
        for (operand, &role) in inst.operands.iter().zip(&inst.roles) {
            operand.for_each_reg(role, &mut |r, read, written| {
                let pred = function.regs.get(r.index()).is_some_and(|info| info.ty == view::Type::Pred);
                let Some(place) = self.place(r, pred) else { return };
                if read {
                    fact.uses.push(place);
                }
                if written {
                    fact.defs.push(place);
                }
            });
        }
        fact
    }
}

/// The registers of a memory instruction that hold data.
fn data_registers(inst: &Inst) -> Vec<Reg> {
    let data = [Field::Data, Field::Data0, Field::Data1, Field::Vdata, Field::Sdata];
    let operands = inst.operands();
    operands.iter().filter(|o| data.contains(&o.slot.field)).flat_map(|o| o.value.registers()).collect()
}

/// Whether an operation only moves, selects or masks bits.
fn moves(name: &str) -> bool {
    const STEMS: [&str; 19] = [
        "_mov", "accvgpr", "lane", "cndmask", "cselect", "perm", "align", "lshl", "lshr", "ashr", "_and_",
        "_or_", "_or3", "_bfi", "_bfe", "_pack", "swap", "swizzle", "cmov",
    ];
    const SUMS: [&str; 3] = ["add", "cmp", "saveexec"];
    STEMS.iter().any(|stem| name.contains(stem)) && !SUMS.iter().any(|sum| name.contains(sum))
}
