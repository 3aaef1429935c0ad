//! On random small programs: what a decoder computes is what the program did.
//!
//! A lane is run by a small interpreter of the view, once with the insertions of the reference plan (every
//! decision is recorded) and once with those of the eliding plan. Decoding the second must give the first.
//! Loads give random values, registers that nothing wrote hold rubbish, so that a claim to know either is
//! found out.

use std::collections::{HashMap, VecDeque};

use prlx_isa::ptx;
use prlx_isa::view::{self, BlockId, Class, Eval, FuncId, Inst, InstId, Operand, Type};
use prlx_plan::{Action, At, Insertion, Plan, RecordingRequest, check_capacity};
use prlx_trace::device::value_parts;
use prlx_trace::kernel::{Alu, Arg, End, Level, Scalar, Source, Special, Step};

/// The random number generator SplitMix64.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// One random function body.
fn body(r: &mut Random, name: &str, kernel: bool, callee: Option<&str>) -> String {
    let mut out = String::from("{\n.reg .pred %p<6>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<4>;\n");
    let blocks = 3 + r.below(8);
    for p in 0..6 {
        out += &format!("setp.eq.u32 %p{p}, {}, 1;\n", r.below(2));
    }
    let written = if r.below(4) == 0 { 6 } else { 10 };
    for i in 0..written {
        out += &match r.below(5) {
            0 if kernel => format!("ld.param.u32 %r{i}, [{name}_param_1];\n"),
            1 => format!("mov.u32 %r{i}, %tid.x;\n"),
            2 => format!("ld.global.u32 %r{i}, [%rd0];\n"),
            _ => format!("mov.u32 %r{i}, {};\n", r.below(7)),
        };
    }
    for b in 0..blocks {
        out += &format!("{name}_L{b}:\n");
        for _ in 0..r.below(6) {
            out += &instruction(r, callee);
        }
        let mut p = || r.below(6);
        let (p, n) = (p(), p());
        let not = if n % 2 == 0 { "!" } else { "" };
        let mut to = || format!("{name}_L{}", r.below(blocks));
        let (a, b) = (to(), to());
        out += &match r.below(10) {
            0 => format!("bra {a};\n"),
            1 => format!("@{not}%p{p} ret;\n"),
            2 if kernel => format!("@{not}%p{p} exit;\n"),
            3 => {
                let t = r.below(u64::MAX);
                format!(
                    "and.b32 %r9, %r{}, 1;\nT{t}: .branchtargets {a}, {b};\nbrx.idx %r9, T{t};\n",
                    r.below(10)
                )
            }
            4 | 5 => String::new(),
            _ => format!("@{not}%p{p} bra {a};\n"),
        };
    }
    out + "ret;\n}\n"
}

fn instruction(r: &mut Random, callee: Option<&str>) -> String {
    let (d, a, b, c) = (r.below(10), r.below(10), r.below(10), r.below(6));
    let (p, q) = (r.below(6), r.below(6));
    let guard = match r.below(6) {
        0 => format!("@%p{c} "),
        1 => format!("@!%p{c} "),
        _ => String::new(),
    };
    let text = match r.below(16) {
        0 => format!("mov.u32 %r{d}, {}", r.below(9)),
        1 => format!("sub.s32 %r{d}, %r{a}, %r{b}"),
        2 => format!("mad.lo.s32 %r{d}, %r{a}, 3, %r{b}"),
        3 => match r.below(3) {
            0 => format!("ld.global.u32 %r{d}, [%rd0]"),
            1 => format!("ld.global.s8 %r{d}, [%rd0]"),
            _ => format!("ld.global.u8 %r{d}, [%rd0]"),
        },
        4 => format!("selp.b32 %r{d}, %r{a}, %r{b}, %p{p}"),
        5 => format!("and.pred %p{p}, %p{q}, %p{c}"),
        6 => format!("setp.lt.s32 %p{p}|%p{}, %r{a}, %r{b}", (p + 1) % 6),
        7 => format!("setp.ge.and.u32 %p{p}, %r{a}, %r{b}, !%p{q}"),
        8 | 9 => format!("setp.ne.s32 %p{p}, %r{a}, {}", r.below(4)),
        10 => format!("shr.u32 %r{d}, %r{a}, 1"),
        11 => format!("cvt.s32.s8 %r{d}, %r{a}"),
        12 => match callee {
            Some(f) => format!("call {f}, ()"),
            None => format!("max.s32 %r{d}, %r{a}, %r{b}"),
        },
        _ => format!("add.s32 %r{d}, %r{a}, {}", r.below(3)),
    };
    format!("{guard}{text};\n")
}

fn module(seed: u64) -> String {
    let mut r = Random(seed);
    let callee = (r.below(3) == 0).then_some("f");
    let mut out = String::from(".version 8.7\n.target sm_80\n.address_size 64\n");
    if callee.is_some() {
        out += ".func f()\n";
        out += &body(&mut r, "f", false, None);
    }
    out += ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n";
    out + &body(&mut r, "k", true, callee)
}

/// Does an instruction's arithmetic, apart from `lower`.
fn arithmetic(inst: &Inst, args: &[u64]) -> u64 {
    let (eval, ty) = inst.eval.unwrap_or_else(|| panic!("no meaning: {}", inst.semantics.opcode));
    let signed = matches!(ty, Type::S32 | Type::S8);
    let (a, b) = (args[0] as u32, args.get(1).copied().unwrap_or(0) as u32);
    let less = if signed { (a as i32) < b as i32 } else { a < b };
    let compare = |o: Eval| match o {
        Eval::Eq => a == b,
        Eval::Ne => a != b,
        Eval::Lt => less,
        Eval::Ge => !less,
        other => panic!("{other:?}"),
    };
    u64::from(match eval {
        Eval::Mov => a,
        Eval::Add => a.wrapping_add(b),
        Eval::Sub => a.wrapping_sub(b),
        Eval::Mad => a.wrapping_mul(b).wrapping_add(args[2] as u32),
        Eval::And => a & b,
        Eval::Shr => a >> b.min(31),
        Eval::Max => (a as i32).max(b as i32) as u32,
        Eval::Select => {
            if args[2] != 0 {
                a
            } else {
                b
            }
        }
        Eval::Convert(_) => a as u8 as i8 as i32 as u32,
        other => u32::from(compare(other)),
    })
}

/// What a lane wrote: decisions with their sites, and counts.
#[derive(Default)]
struct Written {
    bits: VecDeque<(u32, u64, u8)>,
    counts: VecDeque<u64>,
}

struct Lane<'m> {
    module: &'m view::Module,
    plan: &'m Plan,
    loads: Random,
    param: u32,
    tid: u32,
    fuel: u32,
    out: Written,
}

enum Left {
    Return,
    Exit,
    NoFuel,
}

impl Lane<'_> {
    fn function(&mut self, id: FuncId) -> Left {
        let function = &self.module.functions[id.index()];
        let plan = &self.plan.functions[id.index()];
        let mut regs: Vec<u64> = (0..function.regs.len() as u64).map(|i| Random(i ^ 77).next() & 1).collect();
        let mut trips = 0u64;
        let mut by: HashMap<At, Vec<&Insertion>> = HashMap::new();
        for i in &plan.insertions {
            by.entry(i.at).or_default().push(i);
        }
        let mut at = 0usize;
        loop {
            let Some(inst) = function.insts.get(at) else { return Left::Return };
            let id = InstId(at as u32);
            if self.fuel == 0 {
                return Left::NoFuel;
            }
            self.fuel -= 1;
            self.insertions(by.get(&At::Before(id)), &regs, &mut trips);
            let active = inst.guard.is_none_or(|g| (regs[g.reg.index()] != 0) != g.negate);
            let start = |b: BlockId| function.blocks[b.index()].insts.start as usize;
            let mut next = at + 1;
            if active {
                match inst.class {
                    Class::Branch => {
                        next = inst
                            .operands
                            .iter()
                            .find_map(|o| match o {
                                Operand::Label(b) => Some(start(*b)),
                                _ => None,
                            })
                            .unwrap()
                    }
                    Class::Switch => {
                        let (Operand::Reg(i), Some(Operand::Targets(t))) =
                            (&inst.operands[0], inst.operands.get(1))
                        else {
                            panic!("{:?}", inst.operands)
                        };
                        next = start(t[regs[i.index()] as usize]);
                    }
                    Class::Return => return Left::Return,
                    Class::Exit => return Left::Exit,
                    Class::Call => {
                        let callee = self.module.functions.iter().position(|f| f.name == "f").unwrap();
                        match self.function(FuncId(callee as u32)) {
                            Left::Return => {}
                            other => return other,
                        }
                    }
                    _ => self.compute(inst, &mut regs),
                }
            }
            if next == at + 1 {
                self.insertions(by.get(&At::After(id)), &regs, &mut trips);
            }
            at = next;
        }
    }

    fn compute(&mut self, inst: &Inst, regs: &mut [u64]) {
        let value = |o: &Operand, regs: &[u64]| match o {
            Operand::Reg(r) => regs[r.index()],
            Operand::Not(r) => 1 - regs[r.index()],
            Operand::Int(i) => *i as u64,
            Operand::Special(s) if s == "%tid.x" => u64::from(self.tid),
            other => panic!("{other:?}"),
        };
        let set = |o: &Operand, v: u64, regs: &mut [u64]| match o {
            Operand::Reg(r) => regs[r.index()] = v & 0xFFFF_FFFF,
            other => panic!("{other:?}"),
        };
        match inst.semantics.opcode.as_str() {
            "ld.global.u32" | "ld.global.u8" => {
                let v = self.loads.below(5);
                set(&inst.operands[0], v, regs);
            }
            "ld.global.s8" => {
                let v = self.loads.below(5).wrapping_sub(2);
                set(&inst.operands[0], v, regs);
            }
            "ld.param.u32" => set(&inst.operands[0], u64::from(self.param), regs),
            "setp.lt.s32" => {
                let (a, b) = (value(&inst.operands[1], regs) as i32, value(&inst.operands[2], regs) as i32);
                let Operand::Pair(p, q) = &inst.operands[0] else { panic!() };
                set(p, u64::from(a < b), regs);
                set(q, u64::from(a >= b), regs);
            }
            "setp.ge.and.u32" => {
                let (a, b) = (value(&inst.operands[1], regs) as u32, value(&inst.operands[2], regs) as u32);
                let c = value(&inst.operands[3], regs);
                set(&inst.operands[0], u64::from(a >= b && c != 0), regs);
            }
            _ => {
                let args: Vec<u64> = inst.operands[1..].iter().map(|o| value(o, regs)).collect();
                set(&inst.operands[0], arithmetic(inst, &args), regs);
            }
        }
    }

    fn insertions(&mut self, list: Option<&Vec<&Insertion>>, regs: &[u64], trips: &mut u64) {
        for i in list.into_iter().flatten() {
            if i.guard.is_some_and(|g| (regs[g.reg.index()] != 0) == g.negate) {
                continue;
            }
            match &i.action {
                Action::Bits { site, reg, from, bits, .. } => {
                    let value = regs[reg.index()] >> from & ((1 << bits) - 1);
                    self.out.bits.push_back((site.map_or(VALUE, |s| s.0), value, *bits));
                }
                Action::TripBegin { .. } => *trips = 1,
                Action::TripAdd { .. } => *trips += 1,
                Action::TripRead { reg, less, .. } if *trips != 0 => {
                    *trips = u64::from((regs[reg.index()] as u32).wrapping_sub(*less));
                }
                Action::TripEnd { .. } => {
                    let Some(count) = std::mem::take(trips).checked_sub(1) else { continue };
                    self.out.bits.push_back((COUNT, count.min(63), 6));
                    if count >= 63 {
                        self.out.counts.push_back(count);
                    }
                }
                _ => {}
            }
        }
    }
}

/// In place of a site: a small trip count.
const COUNT: u32 = u32::MAX;
/// In place of a site: a part of a recorded value.
const VALUE: u32 = u32::MAX - 1;

/// Decodes a lane; `None` if it runs out of what was recorded.
struct Decoder<'p> {
    plan: &'p Plan,
    out: &'p mut Written,
    param: u32,
    tid: u32,
    events: Vec<(u32, u64)>,
}

impl Decoder<'_> {
    fn function(&mut self, id: usize) -> Option<bool> {
        let function = &self.plan.module.functions[id];
        let mut slots = vec![0u64; function.slots as usize];
        let mut stays: HashMap<u32, u64> = HashMap::new();
        let (mut block, mut from) = (0usize, usize::MAX);
        loop {
            for (l, this) in function.loops.iter().enumerate() {
                let inside = from != usize::MAX && this.blocks.iter().any(|b| b.index() == from);
                let counted = |s: &prlx_trace::kernel::Site| {
                    s.function.index() == id
                        && matches!(s.source, Source::Trips { of, .. } if of.index() == l)
                };
                if this.header.index() == block && !inside && self.plan.module.sites.iter().any(counted) {
                    let (at, small, _) = self.out.bits.pop_front()?;
                    assert_eq!(at, COUNT, "the queue of bits is out of step");
                    let count = if small == 63 { self.out.counts.pop_front()? } else { small };
                    stays.insert(l as u32, count);
                }
            }
            for step in &function.blocks[block].steps {
                let holds = |g: &Option<prlx_trace::kernel::Guard>, slots: &[u64]| {
                    g.is_none_or(|g| (slots[g.slot.index()] & 1 != 0) != g.negate)
                };
                match step {
                    Step::Let { to, op, ty, args, guard } if holds(guard, &slots) => {
                        let args: Vec<u64> = args.iter().map(|a| self.arg(a, &slots)).collect();
                        slots[to.index()] = alu(*op, *ty, &args);
                    }
                    Step::Decide { site, slot, guard } if holds(guard, &slots) => {
                        match self.plan.module.sites[site.index()].source {
                            Source::Computed => {}
                            Source::Bits(n) => {
                                let (at, v, bits) = self.out.bits.pop_front()?;
                                assert_eq!((at, bits), (site.0, n), "the queue of bits is out of step");
                                slots[slot.index()] = v;
                            }
                            Source::Trips { of, stay, .. } => {
                                let left = stays.get_mut(&of.0)?;
                                slots[slot.index()] = u64::from((*left > 0) == stay);
                                *left = left.saturating_sub(1);
                            }
                            Source::None | Source::Follows => panic!("a decision without a source"),
                        }
                        self.events.push((site.0, slots[slot.index()] & 0xFFFF_FFFF));
                    }
                    Step::Read { to, bits, guard, .. } if holds(guard, &slots) => {
                        slots[to.index()] = value_parts(*bits).try_fold(0, |value, (_, n)| {
                            let (at, part, bits) = self.out.bits.pop_front()?;
                            assert_eq!((at, bits), (VALUE, n), "the queue of bits is out of step");
                            Some(value << n | part)
                        })?;
                    }
                    Step::Call { function, guard, .. }
                        if holds(guard, &slots) && self.function(function.index())? =>
                    {
                        return Some(true);
                    }
                    _ => {}
                }
            }
            from = block;
            block = match &function.blocks[block].end {
                End::Jump(b) => b.index(),
                End::Branch { guard, taken, other } => {
                    let holds = (slots[guard.slot.index()] & 1 != 0) != guard.negate;
                    if holds { taken.index() } else { other.index() }
                }
                End::Switch { index, targets } => targets[slots[index.index()] as usize].index(),
                End::Return => return Some(false),
                End::Exit => return Some(true),
            };
        }
    }

    fn arg(&self, arg: &Arg, slots: &[u64]) -> u64 {
        match arg {
            Arg::Slot(s) => slots[s.index()],
            Arg::Const(c) => *c,
            Arg::Special(Special::TidX) => u64::from(self.tid),
            Arg::Param { offset: 8, size: 4 } => u64::from(self.param),
            other => panic!("{other:?}"),
        }
    }
}

fn alu(op: Alu, ty: Scalar, args: &[u64]) -> u64 {
    let mask = if ty.bits() == 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
    let narrow = |v: u64| {
        let v = v & mask;
        let sign = ty.signed() && v >> (ty.bits() - 1) & 1 == 1;
        if sign { (v | !mask) as i64 } else { v as i64 }
    };
    let arg = |i: usize| narrow(args.get(i).copied().unwrap_or(0));
    let (a, b, c) = (arg(0), arg(1), arg(2));
    let wide = match op {
        Alu::Mov | Alu::Extend => a,
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mad => a.wrapping_mul(b).wrapping_add(c),
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Not => !a,
        Alu::Shr => a >> b.min(63),
        Alu::Max => a.max(b),
        Alu::Select => {
            if args[2] & 1 != 0 {
                a
            } else {
                b
            }
        }
        Alu::Eq => i64::from(a == b),
        Alu::Ne => i64::from(a != b),
        Alu::Lt => i64::from(a < b),
        Alu::Ge => i64::from(a >= b),
        other => panic!("{other:?}"),
    } as u64;
    if op == Alu::Extend { wide } else { wide & mask }
}

fn plan(module: &view::Module, elide: bool) -> Plan {
    let program = RecordingRequest { elide, ..RecordingRequest::new(Level::Path) };
    Plan::resolve(&program, module, "random", &|_| None)
}

#[test]
fn what_is_elided_is_what_happened() {
    let (mut finished, mut elided, mut recorded, mut valued) = (0, 0usize, 0usize, 0);
    for seed in 0..1000u64 {
        let source = module(seed);
        let (module, diagnostics) = ptx::read(&source);
        assert!(diagnostics.is_empty(), "{diagnostics:?}\n{source}");
        let (all, some) = (plan(&module, false), plan(&module, true));
        for p in [&all, &some] {
            check_capacity(p, &module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{source}"));
        }
        let kernel = module.functions.iter().position(|f| f.name == "k").unwrap();
        for lane in 0..4u32 {
            let run = |plan: &Plan| {
                let (loads, param) = (Random(seed ^ u64::from(lane) << 40), (seed % 5) as u32);
                let mut l = Lane {
                    module: &module,
                    plan,
                    loads,
                    param,
                    tid: lane,
                    fuel: 4000,
                    out: Written::default(),
                };
                let left = l.function(FuncId(kernel as u32));
                (l.out, !matches!(left, Left::NoFuel))
            };
            let ((mut truth, done), (mut short, _)) = (run(&all), run(&some));
            if !done {
                continue;
            }
            finished += 1;
            let reference: Vec<(u32, u64)> = truth.bits.iter().map(|b| (b.0, b.1)).collect();
            recorded += reference.len();
            elided += reference.len().saturating_sub(short.bits.iter().map(|b| usize::from(b.2)).sum());
            valued += usize::from(short.bits.iter().any(|b| b.0 == VALUE));
            for (plan, written) in [(&all, &mut truth), (&some, &mut short)] {
                let mut d =
                    Decoder { plan, out: written, param: (seed % 5) as u32, tid: lane, events: Vec::new() };
                assert!(d.function(kernel).is_some(), "seed {seed} lane {lane}: ran out\n{source}\n{plan}");
                assert_eq!(d.events, reference, "seed {seed} lane {lane}\n{source}\n{plan}");
                assert!(
                    written.bits.is_empty() && written.counts.is_empty(),
                    "seed {seed}: left over\n{plan}"
                );
            }
        }
    }
    println!("{finished} lanes ended; {elided} of {recorded} bits were saved, by values in {valued} lanes");
    assert!(finished > 1000 && elided > recorded / 10 && valued > 100);
}
