//! The neutral view of AMD's code objects.

use prlx_isa::amdgpu::inst::Reg;
use prlx_isa::amdgpu::object::CodeObject;
use prlx_isa::amdgpu::{Native, Register, RegisterMap, read};
use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{DefUse, decisions};
use prlx_isa::view::{self, Base, BlockId, Class, Derived, Effect, Eval, Expr, Module, Operand, Space, Type};

use crate::amd_descriptors::file;
use crate::common::{Random, root};

fn view(name: &str) -> Module {
    let bytes = file(name);
    read(&CodeObject::read(&bytes).unwrap()).unwrap()
}

fn native(inst: &view::Inst) -> Option<Native> {
    inst.semantics.native.get().copied()
}

const OBJECTS: [&str; 20] = [
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
    "roles.gfx942.co",
    "roles.gfx1100.co",
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
                    let added = ["vccnz", "execnz", "entry", "return"];
                    assert!(added.contains(&inst.semantics.opcode.as_str()));
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
                // A branch of the whole wave on EXEC reads whether it has a lane.
                let votes = map.get(Register::AnyExec).is_some_and(|any| uses.contains(&any));
                for reg in
                    regs.reads.iter().filter(|reg| !called && **reg != Reg::VccLo && **reg != Reg::VccHi)
                {
                    let voted = votes && matches!(reg, Reg::ExecLo | Reg::ExecHi);
                    assert!(*reg == Reg::Mode || voted || there(*reg, &uses), "{name} {text} reads {reg:?}");
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
    // Arguments are at bytes 0, 8, 16 and 20: this loads `n` and `rounds`.
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

/// `vecadd.gfx942.co` with other code: what the view says of these words.
fn of_words(words: &[u32]) -> (view::Inst, Vec<view::RegInfo>) {
    let mut bytes = file("vecadd.gfx942.co");
    let object = CodeObject::read(&bytes).unwrap();
    let code = object.code(&object.kernels[0]);
    let at = code.as_ptr() as usize - bytes.as_ptr() as usize;
    // Then code that reads every register which the instruction may write, so that all are there: SCC by a
    // branch, VCC by a carry and as a mask; and the end.
    let read = [0xbf85_0000, 0x3808_0d05, 0x8004_0404, 0xbf81_0000];
    for (i, word) in words.iter().chain(&read).enumerate() {
        bytes[at + 4 * i..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let module = read_view(&bytes);
    let f = &module.functions[0];
    let inst = f.insts.iter().find(|inst| native(inst).is_some()).unwrap();
    (inst.clone(), f.regs.clone())
}

fn read_view(bytes: &[u8]) -> Module {
    read(&CodeObject::read(bytes).unwrap()).unwrap()
}

/// An expression of the view, as PTX defines its operations.
fn evaluate(value: &Expr, inst: &view::Inst, regs: &dyn Fn(view::Reg) -> u64) -> u64 {
    let (eval, ty, args) = match value {
        Expr::Int(n) => return *n as u64,
        Expr::Operand(at, element) => {
            let operand = match &inst.operands[*at] {
                Operand::Vector(list) => &list[*element],
                operand => operand,
            };
            return match operand {
                Operand::Reg(reg) => regs(*reg),
                Operand::Int(n) => *n as u64,
                other => panic!("{other:?}"),
            };
        }
        Expr::Of(eval, ty, args) => (eval, ty, args),
    };
    let args: Vec<u64> = args.iter().map(|arg| evaluate(arg, inst, regs)).collect();
    if *ty == Type::Pred {
        let bits: Vec<bool> = args.iter().map(|arg| arg & 1 == 1).collect();
        return u64::from(match eval {
            Eval::Or => bits[0] || bits[1],
            Eval::And => bits[0] && bits[1],
            other => panic!("{other:?}"),
        });
    }
    let word: Vec<u32> = args.iter().map(|arg| *arg as u32).collect();
    let signed = *ty == Type::S32;
    let wide = |n: u32| if signed { i64::from(n as i32) } else { i64::from(n) };
    let (a, b) = (word[0], word.get(1).copied().unwrap_or(0));
    let result = match eval {
        Eval::Mov => a,
        Eval::Add => a.wrapping_add(b),
        Eval::Sub => a.wrapping_sub(b),
        Eval::Mul => a.wrapping_mul(b),
        Eval::MulHi => ((i128::from(wide(a)) * i128::from(wide(b))) >> 32) as u32,
        Eval::And => a & b,
        Eval::Or => a | b,
        Eval::Xor => a ^ b,
        Eval::Not => !a,
        Eval::Abs => (a as i32).unsigned_abs(),
        Eval::Min => wide(a).min(wide(b)) as u32,
        Eval::Max => wide(a).max(wide(b)) as u32,
        Eval::Shl => a.checked_shl(b).unwrap_or(0),
        Eval::Shr if signed => ((a as i32) >> b.min(31)) as u32,
        Eval::Shr => a.checked_shr(b).unwrap_or(0),
        Eval::Popc => a.count_ones(),
        Eval::Convert(Type::S8) => i32::from(a as i8) as u32,
        Eval::Convert(Type::S16) => i32::from(a as i16) as u32,
        Eval::Select => return if args[2] & 1 == 1 { args[0] } else { args[1] },
        Eval::Eq => u32::from(a == b),
        Eval::Ne => u32::from(a != b),
        Eval::Lt => u32::from(wide(a) < wide(b)),
        Eval::Gt => u32::from(wide(a) > wide(b)),
        // PTX ISA, bfe: the field ends at the word, and a signed one repeats its last bit.
        Eval::Bfe => {
            let (from, count) = (b & 255, word[2] & 255);
            let bits = (0..32u32).map(|i| {
                let last = (from + count).saturating_sub(1).min(31);
                let place = if i < count && from + i <= 31 { Some(from + i) } else { signed.then_some(last) };
                place.filter(|_| count > 0).map_or(0, |place| (a >> place & 1) << i)
            });
            bits.fold(0, |all, bit| all | bit)
        }
        Eval::Lop3 => (0..32).fold(0, |all, i| {
            let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | word[2] >> i & 1;
            all | (word[3] >> index & 1) << i
        }),
        other => panic!("{other:?}"),
    };
    u64::from(result)
}

/// What the CDNA 3 ISA guide says of an operation on the sources a, b, c: the result, and SCC or the carry if
/// it writes one that is compared. The last argument is SCC before.
type Reference = fn(u32, u32, u32, bool) -> (u32, Option<bool>);

fn sign(n: u32) -> i64 {
    i64::from(n as i32)
}

#[rustfmt::skip]
const OPERATIONS: &[(&str, &[u32], Reference)] = &[
    ("s_add_u32", &[0x8004_0605], |a, b, _, _| (a.wrapping_add(b), Some(u64::from(a) + u64::from(b) > 0xffff_ffff))),
    ("s_add_i32", &[0x8104_0605], |a, b, _, _| (a.wrapping_add(b), Some((a as i32).overflowing_add(b as i32).1))),
    ("s_addc_u32", &[0x8204_0605], |a, b, _, c| {
        let sum = u64::from(a) + u64::from(b) + u64::from(c);
        (sum as u32, Some(sum > 0xffff_ffff))
    }),
    ("s_subb_u32", &[0x8284_0605], |a, b, _, c| {
        (a.wrapping_sub(b).wrapping_sub(c.into()), Some(u64::from(b) + u64::from(c) > u64::from(a)))
    }),
    ("s_sub_u32", &[0x8084_0605], |a, b, _, _| (a.wrapping_sub(b), Some(b > a))),
    ("s_sub_i32", &[0x8184_0605], |a, b, _, _| (a.wrapping_sub(b), Some((a as i32).overflowing_sub(b as i32).1))),
    ("s_and_b32", &[0x8604_0605], |a, b, _, _| (a & b, Some(a & b != 0))),
    ("s_andn2_b32", &[0x8904_0605], |a, b, _, _| (a & !b, Some(a & !b != 0))),
    ("s_orn2_b32", &[0x8a04_0605], |a, b, _, _| (a | !b, Some(a | !b != 0))),
    ("s_nand_b32", &[0x8b04_0605], |a, b, _, _| (!(a & b), Some(!(a & b) != 0))),
    ("s_nor_b32", &[0x8c04_0605], |a, b, _, _| (!(a | b), Some(!(a | b) != 0))),
    ("s_xnor_b32", &[0x8d04_0605], |a, b, _, _| (!(a ^ b), Some(!(a ^ b) != 0))),
    ("s_lshl_b32", &[0x8e04_0605], |a, b, _, _| (a << (b & 31), Some(a << (b & 31) != 0))),
    ("s_lshr_b32", &[0x8f04_0605], |a, b, _, _| (a >> (b & 31), Some(a >> (b & 31) != 0))),
    ("s_ashr_i32", &[0x9004_0605], |a, b, _, _| {
        let n = ((a as i32) >> (b & 31)) as u32;
        (n, Some(n != 0))
    }),
    ("s_bfe_u32", &[0x9284_0605], |a, b, _, _| {
        let width = b >> 16 & 127;
        let n = u64::from(a >> (b & 31)) & ((1u128 << width) - 1) as u64;
        (n as u32, Some(n as u32 != 0))
    }),
    ("s_bfm_b32", &[0x9104_0605], |a, b, _, _| (((1u32 << (a & 31)) - 1) << (b & 31), None)),
    ("s_mul_hi_i32", &[0x9684_0605], |a, b, _, _| (((sign(a) * sign(b)) >> 32) as u32, None)),
    ("s_mul_hi_u32", &[0x9604_0605], |a, b, _, _| (((u64::from(a) * u64::from(b)) >> 32) as u32, None)),
    ("s_sext_i32_i8", &[0xbe84_1605], |a, _, _, _| (a as i8 as i32 as u32, None)),
    ("s_abs_i32", &[0xbe84_3005], |a, _, _, _| ((a as i32).unsigned_abs(), Some(a != 0))),
    ("s_absdiff_i32", &[0x9504_0605], |a, b, _, _| {
        let n = (a.wrapping_sub(b) as i32).unsigned_abs();
        (n, Some(n != 0))
    }),
    ("s_bcnt1_i32_b32", &[0xbe84_0c05], |a, _, _, _| (a.count_ones(), Some(a != 0))),
    ("s_pack_lh_b32_b16", &[0x9984_0605], |a, b, _, _| (b & 0xffff_0000 | a & 0xffff, None)),
    ("s_lshl3_add_u32", &[0x9804_0605], |a, b, _, _| ((a << 3).wrapping_add(b), None)),
    ("v_subrev_u32_e32", &[0x6c08_0d05], |a, b, _, _| (b.wrapping_sub(a), None)),
    ("v_add_co_u32_e32", &[0x3208_0d05], |a, b, _, _| (a.wrapping_add(b), Some(u64::from(a) + u64::from(b) > 0xffff_ffff))),
    ("v_subrev_co_u32_e32", &[0x3608_0d05], |a, b, _, _| (b.wrapping_sub(a), Some(a > b))),
    ("v_lshlrev_b32_e32", &[0x2408_0d05], |a, b, _, _| (b << (a & 31), None)),
    ("v_ashrrev_i32_e32", &[0x2208_0d05], |a, b, _, _| (((b as i32) >> (a & 31)) as u32, None)),
    ("v_mul_u32_u24_e32", &[0x1008_0d05], |a, b, _, _| ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) as u32, None)),
    ("v_mul_i32_i24_e32", &[0x0c08_0d05], |a, b, _, _| ((sign(a << 8) >> 8).wrapping_mul(sign(b << 8) >> 8) as u32, None)),
    ("v_mad_u32_u24", &[0xd1c3_0004, 0x041e_0d05], |a, b, c, _| ((a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c), None)),
    ("v_mad_i32_i24", &[0xd1c2_0004, 0x041e_0d05], |a, b, c, _| {
        (((sign(a << 8) >> 8) * (sign(b << 8) >> 8)).wrapping_add(sign(c)) as u32, None)
    }),
    ("v_lshl_add_u32", &[0xd1fd_0004, 0x041e_0d05], |a, b, c, _| ((a << (b & 31)).wrapping_add(c), None)),
    ("v_add_lshl_u32", &[0xd1fe_0004, 0x041e_0d05], |a, b, c, _| (a.wrapping_add(b) << (c & 31), None)),
    ("v_lshl_or_b32", &[0xd200_0004, 0x041e_0d05], |a, b, c, _| (a << (b & 31) | c, None)),
    ("v_and_or_b32", &[0xd201_0004, 0x041e_0d05], |a, b, c, _| (a & b | c, None)),
    ("v_or3_b32", &[0xd202_0004, 0x041e_0d05], |a, b, c, _| (a | b | c, None)),
    ("v_add3_u32", &[0xd1ff_0004, 0x041e_0d05], |a, b, c, _| (a.wrapping_add(b).wrapping_add(c), None)),
    ("v_xad_u32", &[0xd1f3_0004, 0x041e_0d05], |a, b, c, _| ((a ^ b).wrapping_add(c), None)),
    ("v_bfe_u32", &[0xd1c8_0004, 0x041e_0d05], |a, b, c, _| ((a >> (b & 31)) & ((1u32 << (c & 31)) - 1), None)),
    ("v_bfi_b32", &[0xd1ca_0004, 0x041e_0d05], |a, b, c, _| (a & b | !a & c, None)),
    ("v_alignbit_b32", &[0xd1ce_0004, 0x041e_0d05], |a, b, c, _| (((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32, None)),
    ("v_bcnt_u32_b32", &[0xd28b_0004, 0x0002_0d05], |a, b, _, _| (a.count_ones().wrapping_add(b), None)),
    ("v_med3_i32", &[0xd1d7_0004, 0x041e_0d05], |a, b, c, _| {
        let mut all = [a as i32, b as i32, c as i32];
        all.sort_unstable();
        (all[1] as u32, None)
    }),
    ("v_max3_u32", &[0xd1d5_0004, 0x041e_0d05], |a, b, c, _| (a.max(b).max(c), None)),
    ("v_xnor_b32_e32", &[0x7a08_0d05], |a, b, _, _| (!(a ^ b), None)),
];

/// Every result that the view gives is that of the manual, for values at the edges and random ones.
#[test]
fn results_are_those_of_the_manual() {
    let mut random = Random(28);
    for (name, words, reference) in OPERATIONS {
        let (inst, regs) = of_words(words);
        assert_eq!(inst.semantics.opcode, *name);
        assert!(!inst.semantics.results.is_empty(), "{name}");
        for round in 0..400 {
            let mut value = || match random.below(4) {
                0 => [0, 1, 31, 32, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x00ff_ffff][random.below(8)],
                1 => random.next() as u32 & 63,
                _ => random.next() as u32,
            };
            let (a, b, c, old) = (value(), value(), value(), round % 2 == 1);
            let of = |reg: view::Reg| match regs[reg.index()].name.as_str() {
                "s5" | "v5" => u64::from(a),
                "s6" | "v6" => u64::from(b),
                "v7" => u64::from(c),
                "scc" => u64::from(old),
                other => panic!("{name} reads {other}"),
            };
            let (wanted, flag) = reference(a, b, c, old);
            for Derived { operand, value, .. } in &inst.semantics.results {
                let Operand::Reg(to) = inst.operands[*operand] else { continue };
                let got = evaluate(value, &inst, &of);
                match (regs[to.index()].name.as_str(), flag) {
                    ("s4" | "v4", _) => assert_eq!(got as u32, wanted, "{name} {a:#x} {b:#x} {c:#x} {old}"),
                    ("scc" | "vcc", Some(flag)) => {
                        assert_eq!(got & 1 == 1, flag, "{name}: {a:#x} {b:#x} {c:#x} {old}");
                    }
                    (other, _) => panic!("{name} writes {other}"),
                }
            }
            let flags = inst.semantics.results.len() > 1;
            assert_eq!(flags, flag.is_some(), "{name}");
        }
    }
}

/// Objects with changed bytes, and with random code, are read or refused; what is read holds together.
#[test]
fn damaged_objects_are_read_or_refused() {
    let mut random = Random(1203);
    let mut read_well = 0;
    for name in OBJECTS {
        let whole = file(name);
        for round in 0..60 {
            let mut bytes = whole.clone();
            if round % 2 == 0 {
                for _ in 0..1 + random.below(12) {
                    let at = random.below(bytes.len());
                    bytes[at] = random.next() as u8;
                }
            } else {
                let object = CodeObject::read(&whole).unwrap();
                let Some(f) = object.functions().next() else { continue };
                let code = object.at_address(f.value).unwrap();
                let at = code.as_ptr() as usize - whole.as_ptr() as usize;
                for byte in &mut bytes[at..][..code.len().min(400)] {
                    *byte = random.next() as u8;
                }
            }
            let Ok(object) = CodeObject::read(&bytes) else { continue };
            let Ok(module) = read(&object) else { continue };
            read_well += 1;
            for f in &module.functions {
                assert!(f.insts.iter().all(|inst| inst.operands.len() == inst.roles.len()));
                assert_eq!(f.blocks.last().map_or(0, |block| block.insts.end) as usize, f.insts.len());
                assert!(f.blocks.iter().flat_map(|b| &b.succs).all(|b| b.index() < f.blocks.len()));
                decisions(f, &DefUse::of(f, &Cfg::of(f)));
            }
            assert!(module.to_string().len() < 1 << 24, "{name}");
        }
    }
    assert!(read_well > 400, "{read_well}");
}
