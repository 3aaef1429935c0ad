//! The neutral view of AMD's code objects.

use prlx_isa::amdgpu::inst::Reg;
use prlx_isa::amdgpu::object::CodeObject;
use prlx_isa::amdgpu::{Native, Register, RegisterMap, read};
use prlx_isa::view::{self, Base, BlockId, Class, Derived, Effect, Eval, Expr, Module, Operand, Space, Type};

use crate::amd_descriptors::file;
use crate::common::root;

fn view(name: &str) -> Module {
    let bytes = file(name);
    read(&CodeObject::read(&bytes).unwrap()).unwrap()
}

fn native(inst: &view::Inst) -> Option<Native> {
    inst.semantics.native.get().copied()
}

const OBJECTS: [&str; 18] = [
    "control.gfx942.co",
    "control.gfx1100.co",
    "control.gfx1201.co",
    "vecadd.gfx90a.co",
    "vecadd.gfx942.co",
    "vecadd.gfx950.co",
    "vecadd.gfx1030.co",
    "vecadd.gfx1100.co",
    "vecadd.gfx1201.co",
    "parts.gfx942.co",
    "parts.gfx1100.co",
    "parts.gfx1030.co",
    "descriptors.gfx90a.co",
    "descriptors.gfx942.co",
    "descriptors.gfx950.co",
    "descriptors.gfx1030.co",
    "descriptors.gfx1100.co",
    "descriptors.gfx1201.co",
];

/// `tests/kernels/amd/control.TARGET.view`: the text and the view of a kernel with an if, loops and a call.
/// `BLESS=1` writes them.
#[test]
fn views_are_as_written() {
    let mut wrong = Vec::new();
    for target in ["gfx942", "gfx1100", "gfx1201"] {
        let module = view(&format!("control.{target}.co"));
        let text = format!("{}\n{module}", module.text);
        let path = root().join(format!("tests/kernels/amd/control.{target}.view"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            wrong.push(target);
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:?}");
}

/// What the headers of the view and of the registers promise.
#[test]
fn views_keep_their_invariants() {
    for name in OBJECTS {
        let bytes = file(name);
        let object = CodeObject::read(&bytes).unwrap();
        let module = match read(&object) {
            Ok(module) => module,
            Err(e) => {
                assert!(e.what.contains("waves of"), "{name}: {e}");
                continue;
            }
        };
        assert_eq!(module.target, object.target.target.name());
        for f in &module.functions {
            let map = RegisterMap::of(f, module.warp_lanes);
            assert_eq!(map.iter().count(), f.regs.len(), "{name} {}: every register has a name", f.name);
            assert!(map.get(Register::Mask(Reg::ExecLo)).is_some());
            let mut next = 0;
            for (b, block) in f.blocks.iter().enumerate() {
                assert_eq!(block.insts.start, next, "{name} {}", f.name);
                next = block.insts.end;
                assert!(f.block(BlockId(b as u32)).iter().all(|inst| inst.block.index() == b));
            }
            assert_eq!(next as usize, f.insts.len());
            assert!(f.unknown_control.is_none(), "{name} {}: {:?}", f.name, f.unknown_control);
            for inst in &f.insts {
                assert_eq!(inst.operands.len(), inst.roles.len());
                let Some(native) = inst.semantics.native.get::<Native>() else {
                    assert!(matches!(inst.semantics.opcode.as_str(), "vccnz" | "entry"));
                    continue;
                };
                let text = inst.span.of(&module.text);
                assert!(text.starts_with(&inst.semantics.opcode), "{text}");
                // Every register that the instruction names is in the view, but MODE.
                let Some(regs) = native.inst.registers() else { continue };
                let (uses, defs): (Vec<_>, Vec<_>) = (inst.uses().collect(), inst.defs().collect());
                let there = |reg: Reg, list: &[view::Reg]| {
                    let low = match reg {
                        Reg::S(n) if module.warp_lanes == 64 => Reg::S(n & !1),
                        Reg::VccHi if module.warp_lanes == 64 => Reg::VccLo,
                        Reg::ExecHi if module.warp_lanes == 64 => Reg::ExecLo,
                        reg => reg,
                    };
                    let all = [map.get(Register::Word(reg)), map.get(Register::Mask(low))];
                    let all: Vec<view::Reg> = all.into_iter().flatten().collect();
                    all.is_empty() || all.iter().any(|reg| list.contains(reg))
                };
                // The symbol of a function or parameter stands for the registers with its address.
                let called = inst.class == Class::Call || inst.space == Space::Param;
                for reg in
                    regs.reads.iter().filter(|reg| !called && **reg != Reg::VccLo && **reg != Reg::VccHi)
                {
                    let transparent = *reg == Reg::Mode || there(*reg, &uses);
                    assert!(transparent, "{name} {text} reads {reg:?}");
                }
                for reg in &regs.writes {
                    assert!(there(*reg, &defs), "{name} {text} writes {reg:?}");
                }
            }
        }
    }
}

/// Facts that `llvm-dwarfdump --debug-info --debug-line` and the source give.
#[test]
fn lines_and_inlined_calls() {
    let module = view("control.gfx942.co");
    assert_eq!(module.files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["control.c"]);
    let f = module.function("steps").unwrap();
    let at = |address: u64| {
        let inst = f.insts.iter().find(|i| native(i).is_some_and(|n| n.address == address)).unwrap();
        inst.loc.map(|id| &module.locs[id.index()])
    };
    // v_cmp_lt_u32 of the loop's first test; `half` inlined at 11:29; an instruction with line 0.
    let loc = at(0x1604).unwrap();
    assert_eq!((loc.line, loc.column, loc.function.as_str(), loc.inlined_at), (10, 12, "", None));
    let loc = at(0x165c).unwrap();
    assert_eq!((loc.line, loc.column, loc.function.as_str()), (5, 12, "half"));
    let call = &module.locs[loc.inlined_at.unwrap().index()];
    assert_eq!((call.line, call.column, call.function.as_str(), call.inlined_at), (11, 29, "", None));
    assert_eq!(at(0x1664), None);
    for (i, loc) in module.locs.iter().enumerate() {
        assert!(loc.inlined_at.is_none_or(|outer| outer.index() < i));
    }
}

/// Worked out by hand from the disassembly of `control.gfx942.co`.
#[test]
fn facts_of_single_instructions() {
    let module = view("control.gfx942.co");
    let f = module.function("control").unwrap();
    let find = |text: &str| f.insts.iter().find(|i| i.span.of(&module.text) == text).unwrap();
    let name = |reg: view::Reg| f.regs[reg.index()].name.as_str();
    let pred = |reg: view::Reg| f.regs[reg.index()].ty == Type::Pred;
    // The first argument is at byte 0, `n` at 16 and `rounds` at 20: one load of the argument `n` and the next.
    let load = find("s_load_dwordx2 s[4:5], s[0:1], 0x10");
    assert_eq!((load.class, load.space), (Class::Load, Space::Param));
    assert_eq!(load.operands[1], Operand::Address(Base::Symbol(f.params[2]), 0));
    assert_eq!(load.eval, Some((Eval::LoadParam, Type::B32)));
    // A comparison writes a mask under EXEC, and 0 elsewhere.
    let compare = find("v_cmp_gt_i32_e32 vcc, s4, v2");
    assert_eq!(compare.guard.map(|g| (name(g.reg), g.negate)), Some(("exec", false)));
    assert!(compare.semantics.clears);
    let Effect::Compare(comparison) = compare.semantics.effect else { panic!() };
    assert_eq!((comparison.relation, comparison.ty), (Eval::Gt, Type::S32));
    assert_eq!(name(compare.defs().next().unwrap()), "vcc");
    // EXEC is saved, and gets the lanes for which the comparison holds.
    let save = find("s_and_saveexec_b64 s[2:3], vcc");
    assert_eq!(save.guard, None);
    let exec: Vec<&Derived> = save.semantics.results.iter().collect();
    let [Derived { operand: 0, .. }, Derived { operand, value: Expr::Of(Eval::And, Type::Pred, args), .. }] =
        exec[..]
    else {
        panic!("{exec:?}")
    };
    assert!(matches!(save.operands[*operand], Operand::Reg(r) if name(r) == "exec" && pred(r)));
    assert_eq!(args.len(), 2);
    // A branch of a lane by its own bit; then the whole wave goes where a scalar condition says.
    let branch = f.insts.iter().find(|i| i.semantics.opcode == "s_cbranch_execz").unwrap();
    assert_eq!(branch.guard.map(|g| (name(g.reg), g.negate)), Some(("exec", true)));
    let vote = f.insts.iter().position(|i| i.semantics.opcode == "vccnz").unwrap();
    assert_eq!(f.insts[vote + 1].guard.map(|g| name(g.reg)), Some("vccnz"));
    assert_eq!((f.insts[vote].class, f.insts[vote].loc), (Class::Warp, f.insts[vote + 1].loc));
    // The call is of `steps`, and may write the registers that `steps` writes: s6, not s7; never EXEC.
    let call = f.insts.iter().find(|i| i.class == Class::Call).unwrap();
    assert_eq!(module.callee(call).map(|id| module.functions[id.index()].name.as_str()), Some("steps"));
    let written: Vec<&str> = call.defs().map(name).collect();
    assert!(written.contains(&"s6") && written.contains(&"v0") && written.contains(&"vcc"), "{written:?}");
    assert!(!written.contains(&"exec") && !written.contains(&"s7"), "{written:?}");
    // A wave of 64 lanes: v0 has the number of the workitem, s2 that of the workgroup.
    let entry: Vec<&str> = f.block(BlockId(0)).iter().map(|i| i.span.of(&module.text)).take(3).collect();
    assert_eq!(entry, ["exec = 1", "s2 = %ctaid.x", "v0 = %tid.x"]);
}
