//! The neutral view of AMD's code objects.

use prlx_isa::amdgpu::inst::Reg;
use prlx_isa::amdgpu::object::CodeObject;
use prlx_isa::amdgpu::{Native, Register, RegisterMap, read};
use prlx_isa::view::{self, BlockId, Class, Space};

use crate::amd_descriptors::file;
use crate::common::root;

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
        let bytes = file(&format!("control.{target}.co"));
        let module = read(&CodeObject::read(&bytes).unwrap()).unwrap();
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
