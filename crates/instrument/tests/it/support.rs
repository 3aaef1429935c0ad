//! Plans made without the planner: every action at every position where it could be. The planner's plans are
//! a subset in kind, so a lowering that handles these handles the planner's.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Class, FuncId, Function, FunctionKind, InstId, Module, Operand, Reg, Role, Type};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan, RecordingRequest, RollingHash, WordBits};
use prlx_trace::device::ALL;
use prlx_trace::kernel::Level;
use prlx_trace::{SiteId, WarpSize};

/// Levels with a recorder.
pub const LEVELS: [Level; 5] =
    [Level::Fingerprint, Level::Path, Level::Values, Level::Events, Level::Operands];

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every PTX file of the corpus, sorted, with its path in the repository.
pub fn corpus() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for dir in ["tests/kernels", "examples"] {
        collect(&root().join(dir), &mut paths);
    }
    paths.sort();
    let read = |p: PathBuf| {
        let name = p.strip_prefix(root()).unwrap_or(&p).to_string_lossy().into_owned();
        Some((name, std::fs::read_to_string(&p).ok()?))
    };
    paths.into_iter().filter_map(read).collect()
}

fn collect(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            into.push(path);
        }
    }
}

/// A program that takes all.
pub fn program(level: Level) -> RecordingRequest {
    RecordingRequest { elide: false, ..RecordingRequest::new(level) }
}

/// A plan with an action at every place.
pub fn dense(module: &Module, level: Level) -> Plan {
    let functions =
        module.functions.iter().enumerate().map(|(i, f)| function(module, f, FuncId(i as u32), level));
    let functions: Vec<FunctionPlan> = functions.collect();
    Plan {
        request: program(level),
        module: prlx_trace::kernel::Module::default(),
        warp_size: WarpSize::W32,
        finals: Plan::finals(&functions, WarpSize::W32),
        functions,
        probe_state: Default::default(),
    }
}

fn function(module: &Module, f: &Function, id: FuncId, level: Level) -> FunctionPlan {
    let mut plan = FunctionPlan { function: id, ..FunctionPlan::default() };
    let mut add = |at, guard, action| plan.insertions.push(Insertion { at, guard, action });
    add(At::Entry, None, Action::Begin);
    let mut site = 0;
    let mut sites = || {
        site += 1;
        SiteId(site - 1)
    };
    let mut counters = 0;
    for (i, inst) in f.insts.iter().enumerate() {
        let at = InstId(i as u32);
        let first = f.blocks[inst.block.index()].insts.start == i as u32;
        if first {
            match level {
                Level::Path | Level::Values => {
                    add(At::Before(at), None, Action::Reserve { bits: 7 });
                    add(At::Before(at), None, Action::TripBegin { counter: 0 });
                    add(At::Before(at), None, Action::TripAdd { counter: 0 });
                }
                Level::Fingerprint => add(At::Before(at), None, Action::Checkpoint { every: 8 }),
                Level::Events => add(
                    At::Before(at),
                    None,
                    Action::Event { site: sites(), of: None, value: None, bits: ALL },
                ),
                Level::Operands | Level::Probe => {}
            }
        }
        match inst.class {
            Class::Return | Class::Exit => {
                if level.in_words() {
                    add(At::Before(at), inst.guard, Action::TripEnd { counter: 0, room: 7 });
                }
                let trap = opcode(inst).op == Some(Op::Trap);
                add(At::Before(at), inst.guard, Action::End { trap });
                continue;
            }
            Class::Branch | Class::Switch => continue,
            Class::Call => {
                let direct = inst.operands.iter().zip(&inst.roles).any(|(o, r)| {
                    *r == Role::Target
                        && matches!(o, Operand::Symbol(s, _) if module.symbols[s.index()].function.is_some())
                });
                if direct {
                    add(At::Before(at), inst.guard, Action::Save);
                    add(At::After(at), inst.guard, Action::Restore);
                }
                continue;
            }
            // Between a call and its results nothing branches.
            Class::Load if inst.space == prlx_isa::view::Space::Param && f.kind == FunctionKind::Device => {
                continue;
            }
            Class::Load if after_call(f, i) => continue,
            Class::Store if inst.space == prlx_isa::view::Space::Param => continue,
            Class::Matrix | Class::Opaque => continue,
            _ => {}
        }
        let defs: Vec<Reg> = inst.defs().collect();
        let guard = inst.guard.filter(|g| !defs.contains(&g.reg));
        if inst.guard.is_some() && guard.is_none() {
            continue;
        }
        for reg in defs {
            let value = Operand::Reg(reg);
            let site = sites();
            let bits = [ALL, 8, 16, 32][site.index() % 4];
            let action = match level {
                Level::Path | Level::Values if f.regs[reg.index()].ty == Type::Pred => {
                    Action::Bits { site: Some(site), reg, from: 0, bits: 1, into: WordBits::alone(1) }
                }
                Level::Path | Level::Probe => continue,
                Level::Values => Action::ValueHash { site, values: vec![value, Operand::Int(-3)], bits },
                Level::Fingerprint => {
                    Action::Fold { site: Some(site), into: RollingHash::Loaded, values: vec![value], bits }
                }
                Level::Events => Action::Event { site, of: None, value: Some(value), bits },
                Level::Operands => {
                    counters += 1;
                    Action::Operands { site, counter: counters - 1, values: vec![value, Operand::Int(-1)] }
                }
            };
            add(At::After(at), guard, action);
            // A decision, and what is stored on the two ways behind it.
            if level == Level::Events && f.regs[reg.index()].ty == Type::Pred {
                for (negate, value) in [(false, 0x8000_0001), (false, -1), (true, 5), (true, 5), (true, 6)] {
                    let of = Some(prlx_isa::view::Guard { reg, negate });
                    add(
                        At::After(at),
                        guard,
                        Action::Event { site: sites(), of, value: Some(Operand::Int(value)), bits },
                    );
                }
            }
        }
    }
    plan.trip_counters = 1;
    plan
}

/// Whether instruction `i` loads a call's result.
fn after_call(f: &Function, i: usize) -> bool {
    f.insts[i].space == prlx_isa::view::Space::Param
        && f.insts[..i]
            .iter()
            .rev()
            .find(|x| !(x.class == Class::Load && x.space == f.insts[i].space))
            .is_some_and(|x| x.class == Class::Call)
}
