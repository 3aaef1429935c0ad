//! A machine with one wave, which executes the instructions that inserted code is made of, as the RDNA and
//! CDNA manuals define them.
//!
//! # Invariants
//! - Registers that a load writes hold nothing that may be read until the code has waited for them.
//! - What the machine does not know stops it with an error: no instruction, modifier or operand is skipped.
//!
//! # Limitations
//! - Waits between instructions that hardware wants for other reasons are not modelled (`super` names what
//!   checks them).
//! - Clocks, timers and hardware registers hold fixed numbers.

use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, Inst, Reg, Value};

use crate::verify::inserted_code::{Memory, each, value};
use crate::verify::machine::mix;

/// Most instructions of a piece: loops of inserted code end after one round for each lane or bit.
const MOST: usize = 200_000;

/// Counters of loads that are under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counter {
    /// Of loads into vector registers.
    Vector,
    /// Of scalar memory, LDS and others.
    Scalar,
}

/// An instruction, with what executing it needs to know.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) inst: Inst,
    /// Operands in the order of the text.
    pub(super) values: Vec<Value>,
    /// Operands that are negated, by bit.
    pub(super) negated: u32,
    /// Registers that it reads or writes.
    used: Vec<Reg>,
}

impl Step {
    /// # Errors
    /// If the instruction changes its operands or its result in a way that the machine does not know.
    pub(super) fn of(inst: Inst) -> Result<Step, String> {
        let wrong = |what: &str| format!("{what}, at `{}`", inst.print());
        let registers = inst.registers().ok_or_else(|| wrong("it is not known which registers it uses"))?;
        let (mut negated, name) = (0, inst.name());
        if name.starts_with("v_") {
            negated = inst.get(Field::Neg);
            // Where an instruction has a carry, the bits of two modifiers name its register.
            let modifiers = [Field::Omod, Field::Clamp, Field::Abs, Field::OpSel];
            let modifiers = &modifiers[..if has_carry(name) { 2 } else { 4 }];
            let others = modifiers.iter().any(|field| inst.get(*field) != 0);
            if others || negated != 0 && name != "v_fma_f32" {
                return Err(wrong("the verifier knows no modifiers of it"));
            }
        }
        Ok(Step {
            values: inst.operands().iter().map(|operand| operand.value).collect(),
            negated,
            used: [registers.reads, registers.writes].concat(),
            inst,
        })
    }
}

/// Whether a vector instruction writes a mask beside its result.
pub(super) fn has_carry(name: &str) -> bool {
    let sums = ["v_add_co_u32", "v_addc_co_u32", "v_add_co_ci_u32"];
    let differences = ["v_sub_co_u32", "v_subb_co_u32", "v_sub_co_ci_u32"];
    let others = ["v_mad_u64_u32", "v_mad_co_u64_u32", "v_div_scale_f32"];
    [sums, differences, others].iter().any(|names| names.contains(&name))
}

/// What an operation makes of its sources in a lane: the result, and a carry. It also gets the lane's bit of
/// the mask that it reads, or of VCC, and the number of the lane.
pub(super) type Operation = fn([u64; 3], bool, usize) -> (u64, bool);

/// A wave, and the memory that it sees.
#[derive(Clone, Debug)]
pub(crate) struct Wave {
    /// Lanes: 32 or 64.
    pub(super) lanes: u32,
    /// Scalar registers by number.
    pub(super) scalars: Vec<u32>,
    pub(super) traps: [u32; 16],
    pub(super) vectors: Vec<[u32; 64]>,
    pub(super) accumulations: Vec<[u32; 64]>,
    pub(super) vcc: u64,
    pub(super) exec: u64,
    pub(super) m0: u32,
    pub(super) scc: bool,
    /// What all lanes see.
    pub(super) memory: Memory,
    /// Scratch memory of each lane.
    pub(super) scratch: Vec<Memory>,
    /// Registers that loads may still write.
    pub(super) pending: Vec<(Reg, Counter)>,
}

/// What special registers and timers read.
pub(super) const CLOCK: u64 = 0x1234_5678_9abc;

/// What hardware registers that say where the wave runs hold.
pub(super) const PLACE: u32 = 0x5a5a_c3c5;

impl Wave {
    pub(super) fn new(lanes: u32, memory: Memory) -> Wave {
        Wave {
            lanes,
            scalars: vec![0; 128],
            traps: [0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x158, 0x59, 0x5a, 0x5b, 0x5c, 0, 0, 0, 0],
            vectors: vec![[0; 64]; 256],
            accumulations: vec![[0; 64]; 256],
            vcc: 0x5a5a_1234_c3c3_8001,
            exec: 0,
            m0: 0x77,
            scc: false,
            memory,
            scratch: vec![Memory::default(); 64],
            pending: Vec::new(),
        }
    }

    /// All lanes that the wave can have.
    pub(super) fn all(&self) -> u64 {
        u64::MAX >> (64 - self.lanes)
    }

    /// Executes code from its first instruction until it is left at its end. Branches stay inside.
    pub(super) fn run(&mut self, code: &[Step]) -> Result<(), String> {
        let mut starts = Vec::with_capacity(code.len() + 1);
        let mut words = 0i64;
        for step in code {
            starts.push(words);
            words += step.inst.words().len() as i64;
        }
        starts.push(words);
        let (mut at, mut steps) = (0, 0);
        while let Some(step) = code.get(at) {
            let inst = &step.inst;
            steps += 1;
            if steps > MOST {
                return Err("it does not end".to_owned());
            }
            at += 1;
            let wrong = |what: String| format!("{what}, at `{}`", inst.print());
            self.check_pending(step).map_err(wrong)?;
            let Some(offset) = inst.branch_offset() else {
                self.step(step).map_err(wrong)?;
                continue;
            };
            if self.branches(inst.name()).map_err(wrong)? {
                let to = starts.get(at).copied().unwrap_or(words) + i64::from(offset);
                at = starts.binary_search(&to).map_err(|_| wrong("it leaves its piece".to_owned()))?;
            }
        }
        Ok(())
    }

    fn branches(&self, name: &str) -> Result<bool, String> {
        Ok(match name {
            "s_branch" => true,
            "s_cbranch_scc0" => !self.scc,
            "s_cbranch_scc1" => self.scc,
            "s_cbranch_execz" => self.exec == 0,
            "s_cbranch_execnz" => self.exec != 0,
            _ => return Err("the verifier knows no such branch".to_owned()),
        })
    }

    /// Registers that a load may still write are neither read nor written.
    fn check_pending(&self, step: &Step) -> Result<(), String> {
        match self.pending.iter().find(|(reg, _)| step.used.contains(reg)) {
            Some((reg, _)) => Err(format!("{reg:?} is used before the load that writes it was waited for")),
            None => Ok(()),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let inst = &step.inst;
        let name = inst.name();
        if name == "s_nop" {
            return Ok(());
        }
        if name.starts_with("s_wait") {
            self.wait(inst);
            return Ok(());
        }
        if inst.access().is_some()
            || inst.encoding() == Some(Encoding::Smem)
            || inst.name() == "s_sendmsg_rtn_b64"
        {
            return self.access(inst);
        }
        if name.starts_with("s_") { self.scalar_step(step) } else { self.vector_step(step) }
    }

    fn wait(&mut self, inst: &Inst) {
        for (counter, _) in inst.waits().into_iter().filter(|(_, left)| *left == 0) {
            match counter {
                "vmcnt" | "loadcnt" => self.pending.retain(|(_, of)| *of != Counter::Vector),
                "lgkmcnt" | "kmcnt" => self.pending.retain(|(_, of)| *of != Counter::Scalar),
                _ => {}
            }
        }
    }

    /// The words of an operand that are the same in all lanes: registers, or a constant.
    pub(super) fn scalar(&self, value: Value, wide: bool) -> Result<u64, String> {
        let word = |n: u8| self.scalars.get(usize::from(n)).copied().map(u64::from).unwrap_or(0);
        let both = |low: u64, high: u64| if wide { low | high << 32 } else { low };
        Ok(match value {
            Value::Registers { bank: Bank::Scalar, first, .. } => both(word(first), word(first + 1)),
            Value::Registers { bank: Bank::Trap, first, .. } => {
                u64::from(self.traps.get(usize::from(first)).copied().unwrap_or(0))
            }
            Value::Integer(n) if wide => i64::from(n).cast_unsigned(),
            Value::Integer(n) => u64::from(n.cast_unsigned()),
            Value::Literal(n) | Value::Immediate(n) => u64::from(n),
            Value::Float(code) if !wide => u64::from(constant(code)?),
            Value::Named(_, [Reg::VccLo, ..]) => {
                if wide {
                    self.vcc
                } else {
                    self.vcc & 0xffff_ffff
                }
            }
            Value::Named(_, [Reg::VccHi]) => self.vcc >> 32,
            Value::Named(_, [Reg::ExecLo, ..]) => {
                if wide {
                    self.exec
                } else {
                    self.exec & 0xffff_ffff
                }
            }
            Value::Named(_, [Reg::ExecHi]) => self.exec >> 32,
            Value::Named(_, [Reg::M0]) => u64::from(self.m0),
            Value::Named("null", _) => 0,
            other => return Err(format!("the verifier does not know the operand {other:?}")),
        })
    }

    /// The same of a mask of lanes.
    pub(super) fn mask(&self, value: Value) -> Result<u64, String> {
        Ok(self.scalar(value, self.lanes == 64)? & self.all())
    }

    /// An operand in a lane.
    pub(super) fn lane(&self, value: Value, lane: usize, wide: bool) -> Result<u64, String> {
        let bank = match value {
            Value::Registers { bank: Bank::Vector, .. } => &self.vectors,
            Value::Registers { bank: Bank::Accumulation, .. } => &self.accumulations,
            other => return self.scalar(other, wide),
        };
        let Value::Registers { first, .. } = value else { return Ok(0) };
        let word = |n: usize| bank.get(n).map_or(0, |register| u64::from(register[lane]));
        let first = usize::from(first);
        Ok(if wide { word(first) | word(first + 1) << 32 } else { word(first) })
    }

    /// Writes a result that all lanes have.
    pub(super) fn set_scalar(&mut self, to: Value, value: u64, wide: bool) -> Result<(), String> {
        let halves = [value as u32, (value >> 32) as u32];
        let low = |mask: &mut u64| *mask = *mask & !0xffff_ffff | value & 0xffff_ffff;
        match to {
            Value::Registers { bank: Bank::Scalar, first, .. } => {
                for (half, n) in halves.into_iter().zip(first..).take(1 + usize::from(wide)) {
                    *self.scalars.get_mut(usize::from(n)).ok_or("there is no such register")? = half;
                }
            }
            Value::Named(_, [Reg::VccLo, Reg::VccHi]) => self.vcc = value,
            Value::Named(_, [Reg::VccLo]) => low(&mut self.vcc),
            Value::Named(_, [Reg::ExecLo, Reg::ExecHi]) => self.exec = value & self.all(),
            Value::Named(_, [Reg::ExecLo]) => low(&mut self.exec),
            Value::Named("null", _) => {}
            other => return Err(format!("the verifier writes no {other:?}")),
        }
        Ok(())
    }

    /// Writes a mask of lanes.
    pub(super) fn set_mask(&mut self, to: Value, mask: u64) -> Result<(), String> {
        self.set_scalar(to, mask, self.lanes == 64)
    }

    /// Writes a result of a lane.
    pub(super) fn set_lane(&mut self, to: Value, lane: usize, value: u64, wide: bool) -> Result<(), String> {
        let bank = match to {
            Value::Registers { bank: Bank::Vector, .. } => &mut self.vectors,
            Value::Registers { bank: Bank::Accumulation, .. } => &mut self.accumulations,
            other => return Err(format!("the verifier writes no {other:?} in a lane")),
        };
        let Value::Registers { first, .. } = to else { return Ok(()) };
        let halves = [value as u32, (value >> 32) as u32];
        for (half, n) in halves.into_iter().zip(usize::from(first)..).take(1 + usize::from(wide)) {
            bank.get_mut(n).ok_or("there is no such register")?[lane] = half;
        }
        Ok(())
    }

    /// A load writes these registers later.
    pub(super) fn will_write(&mut self, to: Value, counter: Counter) {
        self.pending.extend(to.registers().into_iter().map(|reg| (reg, counter)));
    }

    /// Lanes in EXEC.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> + use<> {
        each(self.exec)
    }
}

/// A wave in an arbitrary state, without anything that inserted code keeps.
pub(super) fn sample(lanes: u32, seed: u64, memory: Memory) -> Wave {
    let mut wave = Wave::new(lanes, memory);
    for (n, register) in (0u64..).zip(&mut wave.scalars) {
        *register = mix(seed << 32 ^ n) as u32;
    }
    for (n, register) in (0u64..).zip(&mut wave.vectors) {
        for (lane, word) in (0u64..).zip(register) {
            *word = value(seed << 32 ^ n << 8 ^ lane ^ 0x7000_0000);
        }
    }
    for (n, register) in (0u64..).zip(&mut wave.accumulations) {
        for (lane, word) in (0u64..).zip(register) {
            *word = value(seed << 32 ^ n << 8 ^ lane ^ 0x3000_0000);
        }
    }
    for (n, scratch) in (0u64..).zip(&mut wave.scratch) {
        *scratch = Memory::new(mix(seed ^ n));
    }
    wave.scc = mix(seed ^ 0x5cc) & 1 == 1;
    wave
}

/// Bits of a floating-point constant by its code: 0.5, -0.5, 1, -1, 2, -2, 4, -4, and 1/(2 pi).
fn constant(code: u8) -> Result<u32, String> {
    let all = [0.5f32, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
    let at = usize::from(code.wrapping_sub(240));
    all.get(at).map(|value| value.to_bits()).ok_or_else(|| format!("the constant {code} is not known"))
}
