//! Binds the operands of instructions to planes, and appends steps.

use prlx_isa::view::{
    BlockId, FuncId, Function, Guard, Inst, InstId, Module, Operand, Reg, Space, SymbolId, Type,
    VideoSelector,
};
use prlx_trace::kernel::Special as Launch;
use rustc_hash::FxHashMap;

use crate::code::{Code, GuardBits, HookValue, NEGATE, NO_GUARD, Op, Plane, SpecialRegister, Step, window};
use crate::error::{EmuError, unsupported};
use prlx_lanes::{Args, LaneFn};
use prlx_lanes::{LANES, Planes, V32, V64};

/// Bytes of shared memory that are reserved for the system, in code that asks for their address.
pub const SYSTEM_SHARED: u32 = 1024;

/// A branch whose target is still a block: the decoder sets the step when all blocks have one.
pub enum BranchFixup {
    /// A branch: the step, and its target.
    Branch(usize, BlockId),
    /// An indexed branch: the step, its table, and the targets.
    Table(usize, usize, Vec<BlockId>),
    /// A branch of a wave: the step, its row in the table, and the target.
    Wave(usize, usize, BlockId),
}

/// The kind of plane that a type needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlaneKind {
    /// A mask with one bit per lane.
    Pred,
    /// A plane of 32-bit values.
    W32,
    /// A plane of 64-bit values.
    W64,
    /// Two planes of 64-bit values.
    W128,
}

/// Bytes of a value of a type, from 1 to 16.
pub fn bytes(ty: Type) -> u8 {
    (bits(ty) / 8).clamp(1, 16) as u8
}

/// The width of a type in bits.
pub fn bits(ty: Type) -> u32 {
    ty.bits()
}

/// The kind of plane of a type.
pub fn kind(ty: Type) -> PlaneKind {
    match bits(ty) {
        1 if ty == Type::Pred => PlaneKind::Pred,
        0..=32 => PlaneKind::W32,
        64 => PlaneKind::W64,
        _ => PlaneKind::W128,
    }
}

/// What an operand is, for messages.
fn shape(operand: &Operand) -> &'static str {
    match operand {
        Operand::Reg(_) | Operand::Not(_) => "a register",
        Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => "a constant",
        Operand::Special(_) => "a special register",
        Operand::Symbol(..) => "a name",
        Operand::Address(..) | Operand::Tensor(..) => "an address",
        Operand::Vector(_) | Operand::List(_) => "a vector",
        Operand::Pair(..) => "a pair",
        Operand::Sink => "`_`",
        Operand::Label(_) | Operand::Targets(_) => "a label",
        Operand::Element(..) => "a part of a register",
        Operand::Text(_) => "text that PRLX does not understand",
    }
}

/// Whether values of the type extend by sign.
pub fn signed(ty: Type) -> bool {
    ty.is_signed() && ty.is_integer()
}

/// Planes handed out, by kind.
#[derive(Clone, Copy, Default)]
pub struct PlaneCounts {
    /// Number of 32-bit planes.
    pub w32: u32,
    /// Number of 64-bit planes.
    pub w64: u32,
    /// Number of predicate planes.
    pub pred: u32,
}

/// The state of decoding one kernel.
pub struct Binder<'a> {
    /// The module that is decoded.
    pub module: &'a Module,
    /// The address of each symbol in global memory, if it has one.
    pub addresses: &'a [Option<u64>],
    /// The code so far.
    pub code: Code,
    /// By function: planes of its trip counters, first and how many.
    pub counters: FxHashMap<FuncId, (u16, u16)>,
    /// Planes so far.
    pub count: PlaneCounts,
    /// Planes that hold registers of the code.
    pub registers: PlaneCounts,
    /// By symbol: its address in the lane's parameter space, and whether it is relative to the stack pointer.
    pub local: FxHashMap<SymbolId, (u32, bool)>,
    /// By symbol: its address in shared memory.
    pub shared: FxHashMap<SymbolId, u32>,
    /// Where the shared memory that is reserved for the system begins, if code asks.
    pub reserved: Option<u32>,
    /// By symbol: its offset among the kernel's parameters.
    pub params: FxHashMap<SymbolId, u32>,
    consts32: FxHashMap<u32, u16>,
    consts64: FxHashMap<u64, u16>,
    consts_pred: FxHashMap<bool, u16>,
    specials: FxHashMap<SpecialRegister, u16>,
    temps: [Vec<u16>; 3],
    used: [usize; 3],
    /// The function being decoded.
    pub func: FuncId,
    /// The instruction being decoded.
    pub inst: InstId,
    /// The guard of the instruction that is decoded.
    pub guard: GuardBits,
}

impl<'a> Binder<'a> {
    /// A binder that has decoded nothing.
    pub fn new(module: &'a Module, addresses: &'a [Option<u64>]) -> Binder<'a> {
        Binder {
            module,
            addresses,
            code: Code::default(),
            counters: FxHashMap::default(),
            // Nothing names plane 0 of each kind.
            count: PlaneCounts { w32: 1, w64: 1, pred: 1 },
            registers: PlaneCounts::default(),
            local: FxHashMap::default(),
            shared: FxHashMap::default(),
            reserved: None,
            params: FxHashMap::default(),
            consts32: FxHashMap::default(),
            consts64: FxHashMap::default(),
            consts_pred: FxHashMap::default(),
            specials: FxHashMap::default(),
            temps: Default::default(),
            used: [0; 3],
            func: FuncId(0),
            inst: InstId(0),
            guard: NO_GUARD,
        }
    }
    /// A binder for a kernel of the module. `constants`: the address range of the module's constant
    /// variables.
    pub fn for_kernel(
        module: &'a Module,
        addresses: &'a [Option<u64>],
        constants: (u64, u64),
        kernel: FuncId,
    ) -> Binder<'a> {
        let mut b = Binder::new(module, addresses);
        b.code.name = module.functions[kernel.index()].name.clone();
        b.code.kernel = kernel;
        b.code.constants = constants;
        b
    }
    /// Ends a kernel: how many planes it has, and which of them are registers. These lie before all others.
    pub fn finish_code(&mut self) {
        let PlaneCounts { w32, w64, pred } = self.registers;
        self.code.variable = [w32, w64, pred].map(|n| vec![(0, n as u16)]);
        let PlaneCounts { w32, w64, pred } = self.count;
        self.code.planes = (w32 as u16, w64 as u16, pred as u16);
    }
    /// The function being decoded.
    pub fn function(&self) -> &'a Function {
        &self.module.functions[self.func.index()]
    }
    /// A new plane.
    pub fn plane(&mut self, k: PlaneKind) -> u16 {
        let (n, add) = match k {
            PlaneKind::Pred => (&mut self.count.pred, 1),
            PlaneKind::W32 => (&mut self.count.w32, 1),
            PlaneKind::W64 => (&mut self.count.w64, 1),
            PlaneKind::W128 => (&mut self.count.w64, 2),
        };
        let i = *n;
        *n += add;
        // Past the limit the index is wrong, and `decode` refuses the kernel before it runs.
        i as u16
    }
    /// A plane for a value between two steps of the same instruction.
    pub fn temp(&mut self, k: PlaneKind) -> u16 {
        let (pool, pair) = match k {
            PlaneKind::Pred => (0, 1),
            PlaneKind::W32 => (1, 1),
            PlaneKind::W64 => (2, 1),
            // Pairs are rare: always new ones.
            PlaneKind::W128 => return self.plane(PlaneKind::W128),
        };
        let at = self.used[pool];
        self.used[pool] += pair;
        if at == self.temps[pool].len() {
            let p = self.plane(k);
            self.temps[pool].push(p);
        }
        self.temps[pool][at]
    }
    /// Begins an instruction: temporaries are free again.
    pub fn begin(&mut self, inst: InstId, guard: Option<Guard>) {
        self.used = [0; 3];
        self.inst = inst;
        self.guard = self.guard_bits(guard);
    }
    /// The encoding of a guard in a step.
    pub fn guard_bits(&self, guard: Option<Guard>) -> GuardBits {
        match guard {
            None => NO_GUARD,
            Some(g) => self.reg(g.reg) | if g.negate { NEGATE } else { 0 },
        }
    }
    /// The plane of a register of this function.
    pub fn reg(&self, r: Reg) -> u16 {
        self.code.planes_of(self.func).get(r.index()).copied().unwrap_or(0)
    }
    /// The declared type of a register.
    pub fn reg_type(&self, r: Reg) -> Type {
        self.function().regs.get(r.index()).map_or(Type::B32, |r| r.ty)
    }
    /// Appends a step around the instruction.
    pub fn emit(&mut self, op: Op) {
        let guard = self.guard;
        self.push(op, guard, 0);
    }
    /// Appends the step that is the instruction.
    pub fn emit_main(&mut self, op: Op) {
        let guard = self.guard;
        self.push(op, guard, 1);
    }
    /// Appends a step.
    pub fn push(&mut self, op: Op, guard: GuardBits, cost: u8) {
        self.code.steps.push(Step { op, guard, cost });
        self.code.origin.push((self.func, self.inst));
    }
    /// Appends a step around the instruction: an operation with one source.
    pub fn alu(&mut self, run: LaneFn, dst: u16, src: u16, imm: u64) {
        self.emit(Op::Alu(run, Args { dst: [dst, 0, 0, 0], src: [src, 0, 0, 0], imm }));
    }
    /// The 32-bit plane of a constant.
    pub fn const32(&mut self, v: u32) -> u16 {
        if let Some(&p) = self.consts32.get(&v) {
            return p;
        }
        let p = self.plane(PlaneKind::W32);
        self.consts32.insert(v, p);
        self.code.const32.push((p, v));
        p
    }
    /// The 64-bit plane of a constant.
    pub fn const64(&mut self, v: u64) -> u16 {
        if let Some(&p) = self.consts64.get(&v) {
            return p;
        }
        let p = self.plane(PlaneKind::W64);
        self.consts64.insert(v, p);
        self.code.const64.push((p, v));
        p
    }
    /// The predicate plane of a constant.
    pub fn const_pred(&mut self, v: bool) -> u16 {
        if let Some(&p) = self.consts_pred.get(&v) {
            return p;
        }
        let p = self.plane(PlaneKind::Pred);
        self.consts_pred.insert(v, p);
        self.code.const_pred.push((p, v));
        p
    }
    fn constant(&mut self, v: u64, ty: Type) -> u16 {
        match kind(ty) {
            PlaneKind::Pred => self.const_pred(v != 0),
            PlaneKind::W32 => {
                let n = bits(ty);
                self.const32(if n >= 32 { v as u32 } else { v as u32 & ((1 << n) - 1) })
            }
            PlaneKind::W64 => self.const64(v),
            PlaneKind::W128 => {
                let p = self.plane(PlaneKind::W128);
                self.code.const64.push((p, v));
                self.code.const64.push((p + 1, if (v as i64) < 0 { u64::MAX } else { 0 }));
                p
            }
        }
    }
    fn special(&mut self, s: SpecialRegister) -> u16 {
        if let Some(&p) = self.specials.get(&s) {
            return p;
        }
        let p = self.plane(PlaneKind::W32);
        self.specials.insert(s, p);
        self.code.specials.push((p, s));
        p
    }
    /// The address of a symbol (`None` if it depends on the stack of the lane), and its state space.
    pub fn address(&self, s: SymbolId) -> Result<(Option<u64>, Space), EmuError> {
        let Some(symbol) = self.module.symbols.get(s.index()) else {
            return Err(unsupported("it names nothing"));
        };
        if symbol.is_function {
            return Ok((Some(window::CODE + (u64::from(s.0) + 1) * window::CODE_STRIDE), Space::Generic));
        }
        if let Some(&a) = self.shared.get(&s) {
            return Ok((Some(a.into()), Space::Shared));
        }
        if let Some(&(a, stack)) = self.local.get(&s) {
            let space = if symbol.space == Space::Param { Space::Param } else { Space::Local };
            return Ok(((!stack).then_some(a.into()), space));
        }
        if let Some(&offset) = self.params.get(&s) {
            return Ok((Some(offset.into()), Space::Param));
        }
        match self.addresses.get(s.index()).copied().flatten() {
            Some(a) => Ok((Some(a), symbol.space)),
            None => {
                Err(unsupported(format!("`{}` is declared elsewhere and has no address here", symbol.name)))
            }
        }
    }
    /// The plane of a source operand, as a value of `ty`.
    pub fn source(&mut self, operand: &Operand, ty: Type) -> Result<u16, EmuError> {
        Ok(match operand {
            Operand::Reg(r) => {
                let (have, at) = (self.reg_type(*r), self.reg(*r));
                match (kind(have), kind(ty)) {
                    (a, b) if a == b => at,
                    (PlaneKind::W64, PlaneKind::W32) => {
                        let t = self.temp(PlaneKind::W32);
                        self.alu(narrow, t, at, 0);
                        t
                    }
                    (PlaneKind::W32, PlaneKind::W64) => {
                        let t = self.temp(PlaneKind::W64);
                        self.alu(widen, t, at, u64::from(if signed(have) { bits(have) } else { 0 }));
                        t
                    }
                    _ => {
                        let (have, ty) = (have.name(), ty.name());
                        return Err(unsupported(format!("a register of type .{have} where .{ty} is read")));
                    }
                }
            }
            // The operation itself selects the part.
            Operand::Element(r, code) if VideoSelector::from_code(*code).is_some() => {
                self.source(&Operand::Reg(*r), ty)?
            }
            Operand::Not(r) => {
                let (t, at) = (self.temp(PlaneKind::Pred), self.reg(*r));
                self.alu(not_pred, t, at, 0);
                t
            }
            Operand::Int(v) => self.constant(*v as u64, ty),
            Operand::F32(v) if ty == Type::F64 => self.constant(f64::from(f32::from_bits(*v)).to_bits(), ty),
            Operand::F32(v) => self.constant((*v).into(), ty),
            Operand::F64(v) if bits(ty) == 32 => {
                self.constant((f64::from_bits(*v) as f32).to_bits().into(), ty)
            }
            Operand::F64(v) => self.constant(*v, ty),
            Operand::Special(name) => {
                let s = special(name)
                    .or_else(|| self.reserved(name))
                    .ok_or_else(|| unsupported(format!("the special register `{name}` is not simulated")))?;
                let at = self.special(s);
                match kind(ty) {
                    PlaneKind::W32 => at,
                    PlaneKind::Pred => {
                        let t = self.temp(PlaneKind::Pred);
                        self.alu(holds, t, at, 0);
                        t
                    }
                    PlaneKind::W64 | PlaneKind::W128 => {
                        let t = self.temp(PlaneKind::W64);
                        self.alu(widen, t, at, 0);
                        t
                    }
                }
            }
            Operand::Symbol(s, offset) => match self.address(*s)? {
                (Some(a), _) => self.constant(a.wrapping_add_signed(*offset), ty),
                (None, _) => {
                    let offset =
                        u32::try_from(*offset).map_err(|_| unsupported("a negative offset on the stack"))?;
                    let at = self.local_address(*s, offset);
                    if kind(ty) == PlaneKind::W32 {
                        let t = self.temp(PlaneKind::W32);
                        self.alu(narrow, t, at, 0);
                        t
                    } else {
                        at
                    }
                }
            },
            Operand::Sink => self.constant(0, ty),
            other => {
                return Err(unsupported(format!("{} as a source is not supported", shape(other))));
            }
        })
    }
    /// `%reserved_smem_offset_…`: two halves, of which cooperative groups have the second.
    fn reserved(&self, name: &str) -> Option<SpecialRegister> {
        let at = match name.strip_prefix("%reserved_smem_offset_")? {
            "begin" | "0" => 0,
            "1" => SYSTEM_SHARED / 2,
            "end" | "cap" => SYSTEM_SHARED,
            _ => return None,
        };
        Some(SpecialRegister::Value(self.reserved? + at))
    }
    /// A temporary that holds the address of a stack variable.
    pub fn local_address(&mut self, s: SymbolId, offset: u32) -> u16 {
        let at = self.local.get(&s).map_or(0, |l| l.0);
        let t = self.temp(PlaneKind::W64);
        self.emit(Op::LocalAddr(t, at.wrapping_add(offset)));
        t
    }
    /// The plane of a destination operand that receives a value of `ty`, and what must be done afterwards.
    pub fn dest(&mut self, operand: &Operand, ty: Type) -> Result<(u16, Option<ResultFixup>), EmuError> {
        Ok(match operand {
            Operand::Sink => (self.temp(kind(ty)), None),
            Operand::Element(r, code) if VideoSelector::from_code(*code).is_some() => {
                self.dest(&Operand::Reg(*r), ty)?
            }
            Operand::Reg(r) => {
                let (have, at) = (self.reg_type(*r), self.reg(*r));
                match (kind(have), kind(ty)) {
                    (PlaneKind::W32, PlaneKind::W32) if signed(ty) && bits(ty) < bits(have) => (
                        at,
                        Some(ResultFixup {
                            run: extend,
                            dst: at,
                            src: at,
                            imm: (bits(ty) | bits(have) << 8).into(),
                        }),
                    ),
                    (a, b) if a == b => (at, None),
                    (PlaneKind::W64, PlaneKind::W32) => {
                        let t = self.temp(PlaneKind::W32);
                        let from = if signed(ty) { bits(ty) } else { 0 };
                        (t, Some(ResultFixup { run: widen, dst: at, src: t, imm: from.into() }))
                    }
                    _ => {
                        let (have, ty) = (have.name(), ty.name());
                        return Err(unsupported(format!(
                            "a register of type .{have} where .{ty} is written"
                        )));
                    }
                }
            }
            other => {
                return Err(unsupported(format!("{} as a destination is not supported", shape(other))));
            }
        })
    }
    /// Appends the steps that [`Binder::dest`] returned.
    pub fn finish(&mut self, after: impl IntoIterator<Item = ResultFixup>) {
        for a in after {
            self.alu(a.run, a.dst, a.src, a.imm);
        }
    }
    /// The plane of a register as an element of a load, store or call.
    pub fn element(&mut self, operand: &Operand, ty: Type) -> Result<Plane, EmuError> {
        Ok(match operand {
            Operand::Reg(r) => {
                let at = self.reg(*r);
                match kind(self.reg_type(*r)) {
                    PlaneKind::W32 => Plane::W32(at),
                    PlaneKind::W64 => Plane::W64(at),
                    PlaneKind::W128 => Plane::W128(at),
                    PlaneKind::Pred => return Err(unsupported("a predicate can't be loaded or stored")),
                }
            }
            Operand::Sink => Plane::None,
            other => {
                let at = self.source(other, ty)?;
                match kind(ty) {
                    PlaneKind::W64 => Plane::W64(at),
                    PlaneKind::W128 => Plane::W128(at),
                    _ => Plane::W32(at),
                }
            }
        })
    }
    /// An operand's own value, whatever its type, for hooks.
    pub fn value(&mut self, operand: &Operand) -> Result<HookValue, EmuError> {
        Ok(HookValue::Plane(match operand {
            Operand::Reg(r) if self.reg_type(*r) == Type::Pred => return Ok(HookValue::Pred(self.reg(*r))),
            Operand::Reg(_) => self.element(operand, Type::B64)?,
            Operand::F32(v) => Plane::W32(self.const32(*v)),
            Operand::Special(_) => Plane::W32(self.source(operand, Type::B32)?),
            _ => Plane::W64(self.source(operand, Type::B64)?),
        }))
    }
}

/// A step after the instruction that finishes its result.
#[derive(Clone, Copy)]
pub struct ResultFixup {
    run: LaneFn,
    dst: u16,
    src: u16,
    imm: u64,
}

/// The operands of an instruction, flattened: leaves of the first, leaves of the others.
pub fn leaves(inst: &Inst) -> (Vec<&Operand>, Vec<&Operand>) {
    fn flatten<'o>(o: &'o Operand, out: &mut Vec<&'o Operand>) {
        match o {
            Operand::Vector(v) | Operand::List(v) => v.iter().for_each(|o| flatten(o, out)),
            Operand::Pair(a, b) => {
                flatten(a, out);
                flatten(b, out);
            }
            o => out.push(o),
        }
    }
    let (mut dst, mut src) = (Vec::new(), Vec::new());
    for (i, o) in inst.operands.iter().enumerate() {
        flatten(o, if i == 0 { &mut dst } else { &mut src });
    }
    (dst, src)
}

/// A special register whose value is fixed for a CTA.
fn special(name: &str) -> Option<SpecialRegister> {
    if let Some(&s) = Launch::ALL.iter().find(|s| s.name() == name) {
        return Some(SpecialRegister::Launch(s));
    }
    Some(match name {
        "%tid" => SpecialRegister::Launch(Launch::TidX),
        "%ntid" => SpecialRegister::Launch(Launch::NtidX),
        "%ctaid" => SpecialRegister::Launch(Launch::CtaidX),
        "%nctaid" => SpecialRegister::Launch(Launch::NctaidX),
        "%warpid" => SpecialRegister::WarpId,
        "%nwarpid" => SpecialRegister::NWarpId,
        "%smid" => SpecialRegister::SmId,
        "%nsmid" => SpecialRegister::NSmId,
        "%gridid" => SpecialRegister::GridId,
        "%dynamic_smem_size" => SpecialRegister::DynamicShared,
        "%total_smem_size" | "%aggr_smem_size" => SpecialRegister::TotalShared,
        "%cluster_ctarank" => SpecialRegister::ClusterRank,
        "%cluster_nctarank" => SpecialRegister::ClusterSize,
        "%is_explicit_cluster" => SpecialRegister::ExplicitCluster,
        "%envreg1" => SpecialRegister::GridWorkspace { high: true },
        "%envreg2" => SpecialRegister::GridWorkspace { high: false },
        "%current_graph_exec" => SpecialRegister::Value(0),
        _ if name.starts_with("%envreg") || name.starts_with("%pm") => SpecialRegister::Value(0),
        _ => {
            let (name, axis) = name.split_once('.')?;
            let axis = ["x", "y", "z"].iter().position(|&a| a == axis)? as u8;
            match name {
                "%clusterid" => SpecialRegister::ClusterId(axis),
                "%nclusterid" => SpecialRegister::NClusterId(axis),
                "%cluster_ctaid" => SpecialRegister::ClusterCtaid(axis),
                "%cluster_nctaid" => SpecialRegister::ClusterNctaid(axis),
                _ => return None,
            }
        }
    })
}

/// Low half of a 64-bit value.
fn narrow(p: &mut Planes, a: &Args, m: u32) {
    let (v, mut out) = (p.get64(a.src[0]), V32([0; LANES]));
    for l in 0..LANES {
        out.0[l] = v.0[l] as u32;
    }
    p.put32(a.dst[0], m, out);
}

/// 64 bits of a 32-bit value; by sign from bit `imm - 1` if `imm` is not 0.
fn widen(p: &mut Planes, a: &Args, m: u32) {
    let (v, mut out) = (p.get32(a.src[0]), V64([0; LANES]));
    let up = if a.imm == 0 { 0 } else { 64 - a.imm.min(64) as u32 };
    for l in 0..LANES {
        let x = u64::from(v.0[l]);
        out.0[l] = if up == 0 { x } else { (((x << up) as i64) >> up) as u64 };
    }
    p.put64(a.dst[0], m, out);
}

/// Extends by sign from `imm & 255` bits to `imm >> 8` bits.
fn extend(p: &mut Planes, a: &Args, m: u32) {
    let (v, mut out) = (p.get32(a.src[0]), V32([0; LANES]));
    let (up, to) = (32 - (a.imm as u32 & 255).clamp(1, 32), (a.imm >> 8).clamp(1, 32) as u32);
    for l in 0..LANES {
        out.0[l] = ((((v.0[l] << up) as i32) >> up) as u32) & (u32::MAX >> (32 - to));
    }
    p.put32(a.dst[0], m, out);
}

/// The other value of a predicate.
fn not_pred(p: &mut Planes, a: &Args, m: u32) {
    let v = !p.get_pred(a.src[0]);
    p.put_pred(a.dst[0], m, v);
}

/// Whether a 32-bit value is not 0.
fn holds(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get32(a.src[0]).0.iter().enumerate().fold(0, |v, (l, &x)| v | u32::from(x != 0) << l);
    p.put_pred(a.dst[0], m, v);
}
