//! Where the address of an access comes from: the buffer of its pointer, and the index.
//!
//! The definitions of the address are followed back to a parameter of the kernel or to a variable. The last
//! scaled term on the way is the index; its value is that of its register now.
//!
//! # Invariants
//! An origin is given only if it is the only one, and an index only if it explains the offset exactly.
//!
//! # Limitations
//! Pointers that were loaded from memory or passed to a function have no origin here.

use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{Def, DefUse};
use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Base, FuncId, Function, Inst, InstId, Operand, Reg, Space};
use prlx_lanes::Planes;

use super::fault::{self, Fault};
use super::launch::Launch;
use crate::code::{Op, Plane};
use crate::decode::{PlaneKind, kind};
use crate::mem::{Allocation, access};

/// The origin of an address.
#[derive(Clone, PartialEq, Debug)]
pub struct PointerOrigin {
    /// The value of the pointer.
    pub pointer: u64,
    /// The name of the parameter or variable that holds it.
    pub holder: String,
    /// The index: register, value, and the source place of the instruction that scales it.
    index: Option<(String, i64, String)>,
}

/// An index that is scaled and added to an address.
#[derive(Clone, Copy, Debug)]
struct Term {
    register: Reg,
    scale: i64,
    signed: bool,
    inst: InstId,
}

/// Follows the definitions of one address.
struct Search<'a, 'l> {
    launch: &'a Launch<'l>,
    planes: &'a Planes,
    lane: usize,
    func: FuncId,
    function: &'a Function,
    flow: DefUse,
    seen: Vec<(InstId, Reg)>,
    origins: Vec<(u64, String)>,
    terms: Vec<Term>,
    constant: i64,
}

/// The origin of the address that a step of a lane accesses. `None` if there is none, or more than one.
pub fn origin(
    launch: &Launch<'_>,
    planes: &Planes,
    step: u32,
    lane: usize,
    address: u64,
) -> Option<PointerOrigin> {
    let &(func, inst) = launch.code.origin.get(step as usize)?;
    let function = launch.module.functions.get(func.index()).filter(|_| func == launch.code.kernel)?;
    let flow = DefUse::of(function, &Cfg::of(function));
    let (seen, origins, terms) = (Vec::new(), Vec::new(), Vec::new());
    let mut search = Search { launch, planes, lane, func, function, flow, seen, origins, terms, constant: 0 };
    let i = function.insts.get(inst.index())?;
    let (base, offset) = i.operands.iter().find_map(|o| match o {
        Operand::Address(base, offset) => Some((*base, *offset)),
        _ => None,
    })?;
    search.constant = offset;
    match base {
        Base::Reg(r) => search.register(inst, r),
        Base::Symbol(_) | Base::Absolute => return None,
    }
    search.origins.sort_unstable();
    search.origins.dedup();
    let [(pointer, holder)] = search.origins.as_slice() else { return None };
    let left = address.wrapping_sub(*pointer) as i64;
    let index = match search.terms.as_slice() {
        [term] => {
            let value = search.value(term.register, term.signed);
            let explained = value.wrapping_mul(term.scale).wrapping_add(search.constant) == left;
            explained.then(|| {
                let at = fault::spot(launch.module, launch.source, func, term.inst)
                    .map_or_else(String::new, |s| s.1);
                (function.regs[term.register.index()].name.clone(), value, at)
            })
        }
        _ => None,
    };
    Some(PointerOrigin { pointer: *pointer, holder: holder.clone(), index })
}

/// The text of a fault outside of all allocations, with the origin of the address instead of the nearest
/// allocation.
pub fn explained(launch: &Launch<'_>, planes: &Planes, f: &Fault) -> Option<String> {
    let (head, _) = f.text.split_once(", where nothing is allocated")?;
    let lane = f.lane? as usize;
    let mem = match launch.code.steps.get(f.step as usize)?.op {
        Op::Ld(i) | Op::St(i) => &launch.code.mems[i as usize],
        Op::Atom(i) => &launch.code.atoms[i as usize].mem,
        _ => return None,
    };
    let address = access::all_addresses(planes, mem).0[lane & 31];
    let bytes = u64::from(mem.size) * mem.planes.len().max(1) as u64;
    let origin = origin(launch, planes, f.step, lane, address)?;
    Some(format!("{head}, {}", origin.words(launch, address, bytes)))
}

impl Search<'_, '_> {
    /// Follows the definitions of a register that an instruction reads.
    fn register(&mut self, user: InstId, reg: Reg) {
        for def in self.flow.defs(user, reg) {
            let Def::Inst(at) = def else { continue };
            if self.seen.contains(&(at, reg)) || self.seen.len() > 256 {
                continue;
            }
            self.seen.push((at, reg));
            self.definition(at);
        }
    }
    fn definition(&mut self, at: InstId) {
        let i = &self.function.insts[at.index()];
        let sources = i.operands.get(1..).unwrap_or_default();
        match opcode(i).op {
            Some(Ptx::Ld) if i.space == Space::Param => self.parameter(i),
            Some(Ptx::Mov | Ptx::Cvta | Ptx::Add | Ptx::Sub | Ptx::Selp | Ptx::Cvt) => {
                for source in sources {
                    match source {
                        Operand::Reg(r) => match self.term(at, *r) {
                            Some(term) => self.terms.push(term),
                            None => self.register(at, *r),
                        },
                        Operand::Int(v) if opcode(i).op == Some(Ptx::Add) => {
                            self.constant = self.constant.wrapping_add(*v);
                        }
                        _ => {}
                    }
                }
            }
            Some(Ptx::Mad) => {
                if let [Operand::Reg(a), Operand::Int(scale), Operand::Reg(base)] = sources {
                    let signed = opcode(i).types.first().is_some_and(|t| t.is_signed());
                    self.terms.push(Term { register: *a, scale: *scale, signed, inst: at });
                    self.register(at, *base);
                }
            }
            _ => {}
        }
    }
    /// The scaled index that a register holds.
    fn term(&self, user: InstId, reg: Reg) -> Option<Term> {
        let [Def::Inst(at)] = self.flow.defs(user, reg)[..] else { return None };
        let i = &self.function.insts[at.index()];
        let [Operand::Reg(a), Operand::Int(n)] = i.operands.get(1..)? else { return None };
        let scale = match opcode(i).op? {
            Ptx::Mul => *n,
            Ptx::Shl => 1i64.checked_shl(u32::try_from(*n).ok()?)?,
            _ => return None,
        };
        let signed = opcode(i).types.first().is_some_and(|t| t.is_signed()) || opcode(i).op == Some(Ptx::Shl);
        Some(Term { register: *a, scale, signed, inst: at })
    }
    /// A load of a parameter that is the address of an allocation, or null.
    fn parameter(&mut self, i: &Inst) {
        let Some(Operand::Address(Base::Symbol(s), offset)) = i.operands.get(1) else { return };
        let Some(n) = self.function.params.iter().position(|p| p == s) else { return };
        let at = u64::from(self.function.param_offsets[n]).wrapping_add_signed(*offset);
        let bytes = opcode(i).types.first().map_or(8, |t| t.bits() / 8);
        let params = self.launch.params;
        if bytes != 8 || params.len().checked_sub(8).is_none_or(|last| at > last) {
            return;
        }
        let value = params.load(at, 8);
        let holder = self.launch.module.symbols.get(s.index()).map_or_else(String::new, |s| s.name.clone());
        if value == 0 || self.launch.memory.range(value, 1).is_some() {
            self.origins.push((value, holder));
        }
    }
    fn value(&self, reg: Reg, signed: bool) -> i64 {
        let plane = self.launch.code.planes_of(self.func)[reg.index()];
        match kind(self.function.regs[reg.index()].ty) {
            PlaneKind::W32 => {
                let v = access::value(self.planes, Plane::W32(plane), self.lane) as u32;
                if signed { i64::from(v as i32) } else { i64::from(v) }
            }
            PlaneKind::W64 => access::value(self.planes, Plane::W64(plane), self.lane) as i64,
            PlaneKind::Pred | PlaneKind::W128 => 0,
        }
    }
}

impl PointerOrigin {
    /// The buffer that the pointer points into; `None` for a null pointer.
    pub fn buffer<'a>(&self, launch: &Launch<'a>) -> Option<&'a Allocation> {
        launch.memory.nearest(self.pointer).filter(|a| self.pointer >= a.base)
    }
    /// Why an access of `bytes` bytes at `address` misses the buffer, after "reads 4 bytes, ".
    pub fn words(&self, launch: &Launch<'_>, address: u64, bytes: u64) -> String {
        let index = self.index.as_ref().map_or_else(String::new, |(register, value, at)| {
            format!(", with `{register}` = {value} ({at})")
        });
        let Some(buffer) = self.buffer(launch).filter(|_| self.pointer != 0) else {
            return format!("through the pointer `{}`, which is null{index}", self.holder);
        };
        let name = format!("{} ({})", buffer.owner.quoted(), count(buffer.region.len()));
        let (len, offset) = (buffer.region.len(), address.wrapping_sub(buffer.base) as i64);
        let end = offset.saturating_add_unsigned(bytes);
        let place = match u64::try_from(offset) {
            Err(_) if end == 0 => format!("right before {name}"),
            Err(_) => format!("{} before {name}", count(offset.unsigned_abs())),
            Ok(from) if from < len => format!("{} of them past the end of {name}", end.unsigned_abs() - len),
            Ok(from) if from == len => format!("right past the end of {name}"),
            Ok(from) => format!("{} past the end of {name}", count(from - len)),
        };
        let element = if bytes > 0 && offset % bytes as i64 == 0 && len.is_multiple_of(bytes) {
            format!(": element {} of {}", offset / bytes as i64, len / bytes)
        } else {
            format!(": byte {offset} of {len}")
        };
        format!("{place}{element}{index}")
    }
}

fn count(bytes: u64) -> String {
    format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" })
}
