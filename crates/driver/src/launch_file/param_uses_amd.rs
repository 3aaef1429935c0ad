//! Guesses what lies behind the pointers that a kernel of AMD's machine code takes, as
//! [`param_uses`](super::param_uses) does for PTX.
//!
//! Values are followed through the registers, block by block: addresses from the arguments to accesses, and
//! loaded values from their load to the operations that use them. These give the type of the elements, as do
//! the operations that make a stored value.
//!
//! # Limitations
//! - Values that pass through memory or through a call are not followed.
//! - A write replaces the value of its register in all lanes, whatever EXEC says.
//! - Code shows the sign of integers only where it matters: in comparisons, minima, conversions and shifts.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::amdgpu::Native;
use prlx_isa::amdgpu::inst::{Field, Inst as Machine};
use prlx_isa::view::{Base, BlockId, Class, Effect, Eval, Function, Inst, Operand, Reg, Role, Space};
use prlx_trace::kernel::{Param, Scalar};

use super::param_uses::{ParamUse, is_float_within, scalar, untyped};

/// How often the blocks are visited at most. Sets only grow, so a few rounds are enough.
const ROUNDS: usize = 64;

/// Where a value was loaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Origin {
    /// By the instruction with this index.
    Load(usize),
    /// It is the argument at this position.
    Argument(usize),
}

/// What is known of a register.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Value {
    /// Positions of the parameters whose address it is, but for an offset.
    pointers: BTreeSet<usize>,
    /// The loads whose result it is.
    origins: BTreeSet<Origin>,
    /// The type of the operation that made it.
    made: Option<Scalar>,
    /// Whether it is a half that was shifted by 16 bits, as bfloat16 becomes binary32 and back.
    shifted: bool,
}

impl Value {
    fn join(&mut self, other: &Value) {
        self.pointers.extend(&other.pointers);
        self.origins.extend(&other.origins);
        self.made = better(self.made, other.made);
        self.shifted |= other.shifted;
    }
}

/// What the registers hold. A register that is missing holds nothing of interest.
type State = BTreeMap<Reg, Value>;

/// How the kernel `function` uses each of its parameters, `params`. `pointer`: by parameter, whether it is an
/// address.
pub fn param_uses_amd(function: &Function, params: &[Param], pointer: &[bool]) -> Vec<ParamUse> {
    Found::of(function, params, pointer).finish()
}

/// The types of the parameters that operations on floating-point numbers use, and no others; `None` for the
/// rest. A register that holds other values on other paths can make both kinds use a parameter.
pub(super) fn float_params(function: &Function, params: &[Param]) -> Vec<Option<Scalar>> {
    let found = Found::of(function, params, &vec![false; params.len()]);
    let float = |at: usize| {
        let ty = *found.types.get(&Origin::Argument(at))?;
        (is_float_within(ty, 64) && !found.integers.contains(&at)).then_some(ty)
    };
    (0..params.len()).map(float).collect()
}

/// A kernel and its parameters.
struct Kernel<'a> {
    function: &'a Function,
    params: &'a [Param],
    pointer: &'a [bool],
}

impl Kernel<'_> {
    /// What the registers hold at the beginning of each block.
    fn states(&self) -> Vec<State> {
        let blocks = &self.function.blocks;
        let mut states = vec![State::new(); blocks.len()];
        let mut work: BTreeSet<usize> = (0..blocks.len()).collect();
        let mut left = ROUNDS * blocks.len();
        while let Some(block) = work.pop_first() {
            let mut state = states[block].clone();
            for i in blocks[block].insts.clone() {
                if let Some(inst) = self.function.insts.get(i as usize) {
                    self.step(inst, i as usize, &mut state);
                }
            }
            for BlockId(next) in &blocks[block].succs {
                let next = *next as usize;
                if left > 0 && states.get_mut(next).is_some_and(|to| join(to, &state)) {
                    left -= 1;
                    work.insert(next);
                }
            }
        }
        states
    }

    /// Follows one instruction.
    fn step(&self, inst: &Inst, index: usize, state: &mut State) {
        let results = words_of(inst, &[Role::Def, Role::UseDef]);
        let values: Vec<Value> =
            results.iter().enumerate().map(|(n, _)| self.result(inst, index, n, state)).collect();
        for (reg, value) in results.into_iter().zip(values) {
            let Some(reg) = reg else { continue };
            if value == Value::default() {
                state.remove(&reg)
            } else {
                state.insert(reg, value)
            };
        }
    }

    /// What an instruction writes to word `n` of its results.
    fn result(&self, inst: &Inst, index: usize, n: usize, state: &State) -> Value {
        let Some(name) = name(inst) else { return Value::default() };
        let sources = sources(inst);
        let word = |source: &Vec<Source>| match source.get(n).or(source.first()) {
            Some(Source::Register(reg)) => state.get(reg).cloned().unwrap_or_default(),
            _ => Value::default(),
        };
        let joined = |sources: &mut dyn Iterator<Item = Value>| {
            sources.fold(Value::default(), |mut all, value| {
                all.join(&value);
                all
            })
        };
        match inst.class {
            Class::Load if inst.space == Space::Param => self.argument(inst, n),
            Class::Load | Class::Atomic => {
                Value { origins: BTreeSet::from([Origin::Load(index)]), ..Value::default() }
            }
            Class::Move | Class::Select => joined(&mut sources.iter().map(word)),
            Class::Warp if !inst.semantics.result.is_some_and(|ty| ty.is_float()) => {
                joined(&mut sources.iter().map(word))
            }
            _ if is_half_shift(name, &sources) => {
                let from = joined(&mut sources.iter().map(word));
                Value { shifted: true, made: None, ..from }
            }
            _ => {
                let added = added(name, &sources);
                let pointers = added.iter().map(word).flat_map(|value| value.pointers).collect();
                Value { pointers, made: made(inst, name), ..Value::default() }
            }
        }
    }

    /// Word `n` of the arguments that an instruction loads.
    fn argument(&self, inst: &Inst, n: usize) -> Value {
        let at = inst.operands.iter().find_map(|o| match o {
            Operand::Address(Base::Symbol(s), plus) => {
                let position = self.function.params.iter().position(|p| p == s)?;
                Some(i64::from(*self.function.param_offsets.get(position)?) + plus)
            }
            _ => None,
        });
        let Some(at) = at.and_then(|at| u32::try_from(at + 4 * n as i64).ok()) else {
            return Value::default();
        };
        let holds = |p: &Param| (p.offset..p.offset + p.size).contains(&at);
        let Some(position) = self.params.iter().position(holds) else { return Value::default() };
        match self.pointer.get(position) {
            Some(true) => Value { pointers: BTreeSet::from([position]), ..Value::default() },
            _ => Value { origins: BTreeSet::from([Origin::Argument(position)]), ..Value::default() },
        }
    }
}

/// Adds what a predecessor leaves. Returns whether that is new.
fn join(to: &mut State, from: &State) -> bool {
    let mut new = false;
    for (reg, value) in from {
        let known = to.entry(*reg).or_default();
        let before = known.clone();
        known.join(value);
        new |= *known != before;
    }
    new
}

/// What accesses and uses say.
#[derive(Default)]
struct Found {
    uses: Vec<ParamUse>,
    /// The type in which operations use a loaded value.
    types: BTreeMap<Origin, Scalar>,
    /// Positions of parameters that operations on integers use.
    integers: BTreeSet<usize>,
    accesses: Vec<Access>,
}

/// An access behind pointers.
struct Access {
    /// Positions of the parameters.
    pointers: BTreeSet<usize>,
    /// Bits of a register that it moves: 8, 16 or 32; and of all of them.
    bits: [u32; 2],
    /// Whether the mnemonic says that loaded elements have a sign.
    signed: bool,
    /// Of a load, itself; of a store, what loaded the values that it stores.
    origins: BTreeSet<Origin>,
    /// The type of an atomic, or of the operation that made a stored value.
    made: Option<Scalar>,
}

impl Found {
    /// Follows the values of a kernel.
    fn of(function: &Function, params: &[Param], pointer: &[bool]) -> Found {
        let kernel = Kernel { function, params, pointer };
        let mut found = Found { uses: vec![ParamUse::default(); params.len()], ..Found::default() };
        for (used, pointer) in found.uses.iter_mut().zip(pointer) {
            used.pointer = *pointer;
        }
        for (block, mut state) in kernel.states().into_iter().enumerate() {
            for i in function.blocks[block].insts.clone() {
                let i = i as usize;
                let Some(inst) = function.insts.get(i) else { continue };
                found.uses_of(&kernel, inst, &state);
                found.access(&kernel, inst, i, &state);
                kernel.step(inst, i, &mut state);
            }
        }
        found
    }

    /// Notes the types in which an instruction uses loaded values.
    fn uses_of(&mut self, kernel: &Kernel<'_>, inst: &Inst, state: &State) {
        let Some(machine) = inst.semantics.native.get::<Native>().map(|n| &n.inst) else { return };
        let sources = sources(inst);
        if is_half_shift(machine.name(), &sources) {
            return;
        }
        for (n, source) in sources.iter().enumerate() {
            let Some(ty) = used(inst, machine, n) else { continue };
            for word in source {
                let Source::Register(reg) = word else { continue };
                let Some(value) = state.get(reg) else { continue };
                let ty = if value.shifted && ty == Scalar::F32 { Scalar::Bf16 } else { ty };
                for origin in &value.origins {
                    if let Origin::Argument(at) = origin
                        && !is_float_within(ty, 64)
                    {
                        self.integers.insert(*at);
                    }
                    let fits = match origin {
                        Origin::Load(_) => true,
                        Origin::Argument(at) => {
                            kernel.params.get(*at).is_some_and(|p| p.size * 8 >= ty.bits())
                        }
                    };
                    if fits {
                        let known = self.types.get(origin).copied();
                        self.types.extend(better(known, Some(ty)).map(|ty| (*origin, ty)));
                    }
                }
            }
        }
    }

    /// Notes an access behind a pointer.
    fn access(&mut self, kernel: &Kernel<'_>, inst: &Inst, index: usize, state: &State) {
        let Some(machine) = inst.semantics.native.get::<Native>().map(|n| &n.inst) else { return };
        let accesses = matches!(inst.class, Class::Load | Class::Store | Class::Atomic);
        if !accesses || !matches!(inst.space, Space::Global | Space::Generic) {
            return;
        }
        let addresses = words_of(inst, &[Role::Addr]).into_iter().flatten();
        let mut pointers: BTreeSet<usize> = addresses
            .filter_map(|reg| state.get(&reg))
            .flat_map(|value| value.pointers.iter().copied())
            .collect();
        pointers.retain(|p| kernel.pointer.get(*p) == Some(&true));
        for (_, used) in self.uses.iter_mut().enumerate().filter(|(p, _)| pointers.contains(p)) {
            used.read |= inst.class != Class::Store;
            used.written |= inst.class != Class::Load;
        }
        let name = machine.name();
        let bytes = machine.access_bytes().unwrap_or(4);
        let mut access = Access {
            pointers,
            bits: [8 * bytes.min(4), 8 * bytes],
            signed: ["sbyte", "sshort", "_i8", "_i16"].iter().any(|word| name.contains(word)),
            origins: BTreeSet::from([Origin::Load(index)]),
            made: None,
        };
        match inst.class {
            Class::Atomic => {
                access.made = updated(inst, name, bytes);
            }
            Class::Store => {
                access.origins.clear();
                for word in sources(inst).iter().flatten() {
                    let Source::Register(reg) = word else { continue };
                    let value = state.get(reg).cloned().unwrap_or_default();
                    let half = value.shifted || name.contains("d16_hi") && value.made == Some(Scalar::F32);
                    let made = if half && bytes == 2 { Some(Scalar::Bf16) } else { value.made };
                    access.made = better(access.made, made);
                    access.origins.extend(&value.origins);
                }
            }
            _ => {}
        }
        self.accesses.push(access);
    }

    /// What the accesses say of each parameter.
    fn finish(mut self) -> Vec<ParamUse> {
        for access in &self.accesses {
            let loaded = access.origins.iter().filter_map(|o| self.types.get(o)).copied();
            let ty = loaded.fold(access.made, |known, ty| better(known, Some(ty)));
            let ty = element(access, ty);
            for p in &access.pointers {
                if let Some(used) = self.uses.get_mut(*p) {
                    used.element = better(used.element, ty);
                }
            }
        }
        for (at, used) in self.uses.iter_mut().enumerate() {
            used.only_read = used.read && !used.written;
            if !used.pointer {
                used.element = self.types.get(&Origin::Argument(at)).copied();
            }
        }
        self.uses
    }
}

/// The type of the elements of an access, whose values have the type `ty`.
fn element(access: &Access, ty: Option<Scalar>) -> Option<Scalar> {
    let [each, all] = access.bits;
    let fits = ty.filter(|ty| ty.bits() <= all);
    match (each, fits) {
        (8, _) => Some(if access.signed { Scalar::S8 } else { Scalar::U8 }),
        (16, Some(ty)) if is_float_within(ty, 16) => Some(ty),
        (16, _) if access.signed => Some(Scalar::S16),
        (16, ty) => untyped(16, ty.is_some_and(|ty| !is_float_within(ty, 64))),
        (_, Some(ty)) if ty.bits() >= 16 => Some(ty),
        (bits, _) => untyped(bits, ty.is_some_and(|ty| !is_float_within(ty, 64))),
    }
}

/// A word that an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Register(Reg),
    Constant(i64),
    Other,
}

/// The words of each operand that an instruction reads as data.
fn sources(inst: &Inst) -> Vec<Vec<Source>> {
    let word = |o: &Operand| match o {
        Operand::Reg(r) => Source::Register(*r),
        Operand::Int(n) => Source::Constant(*n),
        _ => Source::Other,
    };
    let read = inst.operands.iter().zip(&inst.roles).filter(|(_, r)| matches!(r, Role::Use | Role::UseDef));
    read.map(|(operand, _)| match operand {
        Operand::Vector(list) => list.iter().map(word).collect(),
        one => vec![word(one)],
    })
    .collect()
}

/// The registers of the operands with these roles; `None` for a word that is no register.
fn words_of(inst: &Inst, roles: &[Role]) -> Vec<Option<Reg>> {
    let mut all = Vec::new();
    for (operand, _) in inst.operands.iter().zip(&inst.roles).filter(|(_, role)| roles.contains(role)) {
        let word = |o: &Operand| if let Operand::Reg(r) = o { Some(*r) } else { None };
        match operand {
            Operand::Vector(list) => all.extend(list.iter().map(word)),
            one => all.push(word(one)),
        }
    }
    all
}

fn name(inst: &Inst) -> Option<&'static str> {
    Some(inst.semantics.native.get::<Native>()?.inst.name())
}

/// A mnemonic without the part that says which unit runs it.
fn stem(name: &str) -> &str {
    let scalar = name.strip_prefix("s_").or_else(|| name.strip_prefix("v_")).unwrap_or(name);
    scalar.strip_prefix("pk_").unwrap_or(scalar)
}

/// The operands that an operation adds to an address.
fn added(name: &str, sources: &[Vec<Source>]) -> Vec<Vec<Source>> {
    let stem = stem(name);
    let shift = sources.get(1).and_then(|source| source.first());
    if stem.starts_with("lshl_add") && shift != Some(&Source::Constant(0)) || stem.starts_with("mad_") {
        return sources.last().cloned().into_iter().collect();
    }
    let adds = ["add", "sub", "lshl_add", "or_b32", "and_b32"].iter().any(|word| stem.starts_with(word));
    if adds && !stem.starts_with("add_lshl") { sources.to_vec() } else { Vec::new() }
}

/// Whether an operation moves a half of a register by 16 bits, or keeps the upper half.
fn is_half_shift(name: &str, sources: &[Vec<Source>]) -> bool {
    let constant = |n: i64| sources.iter().any(|source| source.first() == Some(&Source::Constant(n)));
    match stem(name) {
        "lshlrev_b32" | "lshl_b32" | "lshrrev_b32" | "lshr_b32" => constant(16),
        "and_b32" => constant(-0x1_0000) || constant(0xffff_0000),
        _ => false,
    }
}

/// Whether the sign of integers matters for an operation.
fn is_ordered(name: &str) -> bool {
    ["min", "max", "med3", "ashr", "cvt", "smin", "smax", "umin", "umax"]
        .iter()
        .any(|word| name.split('_').any(|part| part.starts_with(word)))
}

/// The type in which an instruction uses its source number `n`.
fn used(inst: &Inst, machine: &Machine, n: usize) -> Option<Scalar> {
    if matches!(inst.class, Class::Move | Class::Select | Class::Load | Class::Store | Class::Sync) {
        return None;
    }
    let name = machine.name();
    if inst.class == Class::Atomic {
        return updated(inst, name, machine.access_bytes().unwrap_or(4));
    }
    if name.contains("_mix") {
        let halves = machine.get(Field::OpSelHi) | machine.get(Field::OpSelHi2) << 2;
        return Some(if halves >> n & 1 == 1 { Scalar::F16 } else { Scalar::F32 });
    }
    let ty = inst.semantics.input?;
    if ty.is_float() {
        return scalar(ty);
    }
    if matches!(inst.class, Class::Warp | Class::Branch | Class::Call) {
        return None;
    }
    let compares = match &inst.semantics.effect {
        Effect::Compare(c) => matches!(c.relation, Eval::Lt | Eval::Le | Eval::Gt | Eval::Ge),
        _ => false,
    };
    if compares || is_ordered(name) { scalar(ty) } else { untyped(ty.bits().max(32), true) }
}

/// The type of the memory that an atomic of so many bytes updates.
fn updated(inst: &Inst, name: &str, bytes: u32) -> Option<Scalar> {
    let signs = ["umin", "umax"].iter().any(|word| name.contains(word));
    match inst.semantics.result.and_then(scalar) {
        Some(ty) if is_float_within(ty, 64) || is_ordered(name) => Some(ty),
        _ if signs && bytes == 8 => Some(Scalar::U64),
        _ if signs => Some(Scalar::U32),
        _ => untyped(8 * bytes, true),
    }
}

/// The type of the value that an operation makes.
fn made(inst: &Inst, name: &str) -> Option<Scalar> {
    if !matches!(inst.class, Class::Integer | Class::Float | Class::Convert | Class::Matrix | Class::Warp) {
        return None;
    }
    let ty = inst.semantics.result?;
    // These put the bits of several values together, as those of a number and of a sign.
    if matches!(stem(name), "bfi_b32" | "perm_b32" | "alignbit_b32" | "alignbyte_b32") {
        return None;
    }
    if ty.is_float() || is_ordered(name) { scalar(ty) } else { untyped(ty.bits().max(32), true) }
}

/// The type that says more: one of floating-point numbers, then one with a sign that matters.
fn better(a: Option<Scalar>, b: Option<Scalar>) -> Option<Scalar> {
    let rank = |ty: Option<Scalar>| match ty {
        None => 0,
        Some(Scalar::S32 | Scalar::S64) => 1,
        Some(ty) if is_float_within(ty, 64) => 3,
        Some(_) => 2,
    };
    if rank(b) > rank(a) { b } else { a }
}
