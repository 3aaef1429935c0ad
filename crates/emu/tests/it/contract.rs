//! Which multiplications and additions are fused, against ptxas.
//!
//! A copy of each kernel says explicitly what the CPU device fuses: fused additions become `fma.rn`, and all
//! multiplications get `.rn`. If the rule is that of ptxas, both texts have the same machine
//! code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prlx_emu::testing::{Contraction, contraction};
use prlx_isa::ptx::{self, Op, opcode};
use prlx_isa::view::{Inst, InstId, Module};
use prlx_plan::RecordingRequest;
use prlx_trace::Level;

use crate::nvidia::nvidia;

/// Assembles for the module's own target and counts the fused operations in the machine code.
struct Assembler {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
    folder: PathBuf,
}

impl Assembler {
    fn new(name: &str) -> Option<Assembler> {
        let folder = std::env::temp_dir().join(format!("prlx-contract-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Some(Assembler { ptxas: nvidia("bin/ptxas")?, nvdisasm: nvidia("bin/nvdisasm")?, folder })
    }

    /// By function: how many fused operations it has. `None` if ptxas refuses the text.
    fn operations(&self, text: &str) -> Option<BTreeMap<String, i64>> {
        let target = text.lines().find_map(|l| l.trim().strip_prefix(".target "))?;
        let target = target.split(',').next()?.trim();
        let [source, image] = ["k.ptx", "k.cubin"].map(|f| self.folder.join(f));
        fs::write(&source, text).unwrap();
        let run = Command::new(&self.ptxas).args(["-arch", target, "-o"]).arg(&image).arg(&source).output();
        if !run.unwrap().status.success() {
            return None;
        }
        let listing = Command::new(&self.nvdisasm).args(["-c", "-plr"]).arg(&image).output().unwrap();
        let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
        let mut out = BTreeMap::new();
        let mut function = String::new();
        for line in listing.lines() {
            if let Some(name) = line.strip_prefix(".text.").and_then(|l| l.split(':').next()) {
                function = name.to_owned();
            }
            let code = line.split("*/").nth(1).unwrap_or_default();
            let code = code.split(';').next().unwrap_or_default();
            let fused = code.split_whitespace().find(|w| !w.starts_with('@')).is_some_and(|w| {
                ["FFMA", "DFMA", "HFMA2"].contains(&w.split('.').next().unwrap_or_default())
            });
            // With 0 as the addend, it is a multiplication.
            if fused && !code.trim().ends_with("RZ") {
                *out.entry(function.clone()).or_insert(0) += 1;
            }
        }
        Some(out)
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The text with the rounding written out.
fn explicit(source: &str, module: &Module) -> (String, Vec<Contraction>) {
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let all: Vec<Contraction> = module.functions.iter().map(contraction).collect();
    for (f, contraction) in module.functions.iter().zip(&all) {
        for (i, inst) in f.insts.iter().enumerate() {
            let id = InstId(i as u32);
            let (begin, end) = (inst.span.start as usize, inst.span.end as usize);
            match contraction.fusions.get(&id) {
                Some(fusion) => {
                    let product = &f.insts[fusion.product.index()];
                    let addend = operand(source, inst, fusion.addend);
                    let (a, b) = (operand(source, product, 1), operand(source, product, 2));
                    let ty = opcode(inst).types[0].name();
                    let flags =
                        |name: &str| if opcode(inst).has(name) { format!(".{name}") } else { String::new() };
                    let reg = match opcode(inst).types[0].bits() {
                        64 => "f64",
                        16 => "b16",
                        _ => "b32",
                    };
                    let mut text = format!("{{ .reg .{reg} fa, fc;\n");
                    let minus = |negated, to: &str, from: &str| match negated {
                        true => format!("neg.{ty} {to}, {from};\n"),
                        false => format!("mov.{reg} {to}, {from};\n"),
                    };
                    text += &minus(fusion.negate_product, "fa", &factor(contraction, fusion.product, 1, &a));
                    text += &minus(fusion.negate_addend, "fc", &addend);
                    let guard = inst.span.of(source).strip_prefix('@').map_or(String::new(), |g| {
                        format!("@{} ", g.split_whitespace().next().unwrap_or_default())
                    });
                    text += &format!(
                        "{guard}fma.rn{}{}.{ty} {}, fa, {}, fc; }}",
                        flags("ftz"),
                        flags("sat"),
                        operand(source, inst, 0),
                        factor(contraction, fusion.product, 2, &b),
                    );
                    edits.push((begin, end, text));
                }
                None if opcode(inst).op == Some(Op::Mul) && is_plain(inst) => {
                    let kept = contraction.overwritten.get(&id).into_iter().flatten();
                    let copies = kept.map(|k| {
                        format!(
                            "mov.b{} {}, {};\n",
                            opcode(inst).types[0].bits(),
                            factor(contraction, id, *k, ""),
                            operand(source, inst, *k)
                        )
                    });
                    let text = inst.span.of(source);
                    let op = opcode(inst).op.map_or("", Op::mnemonic);
                    edits.push((
                        begin,
                        end,
                        copies.collect::<String>()
                            + &text.replacen(&format!("{op}."), &format!("{op}.rn."), 1),
                    ));
                }
                None => {}
            }
        }
        let kept: String = contraction
            .overwritten
            .iter()
            .flat_map(|(id, all)| all.iter().map(move |k| (id, k)))
            .map(|(id, k)| {
                format!(
                    ".reg .b{} {};\n",
                    opcode(&f.insts[id.index()]).types[0].bits(),
                    factor(contraction, *id, *k, "")
                )
            })
            .collect();
        if let (false, Some(first)) = (kept.is_empty(), f.insts.first()) {
            edits.push((first.span.start as usize, first.span.start as usize, kept));
        }
    }
    edits.sort_by_key(|e| (e.0, e.1));
    let mut text = source.to_owned();
    for (begin, end, by) in edits.into_iter().rev() {
        text.replace_range(begin..end, &by);
    }
    (text, all)
}

/// The text of an operand, or the register that keeps it.
fn factor(contraction: &Contraction, product: InstId, k: usize, text: &str) -> String {
    let kept = contraction.overwritten.get(&product).is_some_and(|list| list.contains(&k));
    if kept { format!("%kept{}_{k}", product.0) } else { text.to_owned() }
}

fn operand(source: &str, inst: &Inst, k: usize) -> String {
    let text = inst.span.of(source).trim_end_matches(';');
    let text =
        if text.starts_with('@') { text.split_once(char::is_whitespace).unwrap().1.trim() } else { text };
    let operands = text.split_once(char::is_whitespace).unwrap().1;
    operands.split(',').nth(k).unwrap().trim().to_owned()
}

/// Whether an instruction multiplies or adds floats without a rounding mode.
fn is_plain(inst: &Inst) -> bool {
    matches!(opcode(inst).op, Some(Op::Mul | Op::Add | Op::Sub))
        && opcode(inst).types.len() == 1
        && opcode(inst).types[0].is_float()
        && opcode(inst).one_of(&["rn", "rz", "rm", "rp"]).is_none()
}

/// How many products the machine code of both texts has in common, and how many there are; and the functions
/// that differ.
fn agreement(assembler: &Assembler, source: &str) -> Option<(i64, i64, Vec<String>)> {
    let module = ptx::read(source).0;
    if module.debug {
        return None;
    }
    let (text, all) = explicit(source, &module);
    let candidates: i64 = all.iter().map(|c| c.candidates as i64).sum();
    if candidates == 0 {
        return None;
    }
    let plain = assembler.operations(source)?;
    let written = assembler
        .operations(&text)
        .unwrap_or_else(|| panic!("the text with explicit rounding is refused\n{text}"));
    let mut wrong: BTreeMap<&str, i64> = BTreeMap::new();
    for key in plain.keys().chain(written.keys()) {
        let difference = plain.get(key).unwrap_or(&0) - written.get(key).unwrap_or(&0);
        wrong.insert(key, difference.abs());
    }
    let differ = wrong.iter().filter(|w| *w.1 > 0).map(|(f, n)| format!("{f}: {n}")).collect();
    let wrong: i64 = wrong.values().sum::<i64>().min(candidates);
    Some((candidates - wrong, candidates, differ))
}

fn modules(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut out) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "ptx") => out.push(path),
                false => {}
            }
        }
    }
    out.sort();
    out
}

#[test]
fn products_are_fused_as_in_machine_code() {
    let Some(assembler) = Assembler::new("corpus") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut agree, mut all) = (0, 0);
    // One target of each kernel, and no second builds: assembling takes half a second for each.
    let once = |p: &PathBuf| !p.ends_with("sm_90a.ptx") && !p.parent().is_some_and(|f| f.ends_with("x"));
    let folders = ["tests/kernels", "tests/field"];
    for path in folders.iter().flat_map(|f| modules(&root.join(f))).filter(once) {
        let source = fs::read_to_string(&path).unwrap();
        if let Some((right, candidates, differ)) = agreement(&assembler, &source) {
            agree += right;
            all += candidates;
            if right < candidates {
                println!("{}: {right} of {candidates}; {}", path.display(), differ.join(", "));
            }
        }
    }
    println!("{agree} of {all} products are fused as in machine code");
    assert!(all > 300, "{all}");
    assert!(agree * 1000 >= all * 995, "{agree} of {all}");
}

/// How many additions are fused in a kernel with these instructions.
fn fused(instructions: &str) -> usize {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .b64 %rd<4>;\n\
         .reg .f32 %f<30>;\n.reg .f64 %d<9>;\n.reg .b32 %r<9>;\n.reg .b16 %h<9>;\n.reg .pred %p<5>;\n\
         ld.param.u64 %rd1, [p];\nld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd1];\n\
         ld.global.f32 %f5, [%rd1+16];\n\
         ld.global.v2.f64 {{%d1, %d2}}, [%rd1+32];\nld.global.f64 %d3, [%rd1+48];\n\
         ld.global.b32 %r1, [%rd1+60];\nld.global.b32 %r2, [%rd1+64];\nsetp.gt.s32 %p1, %r1, 7;\n\
         setp.gt.s32 %p2, %r2, 7;\nld.global.b16 %h1, [%rd1+70];\nld.global.b16 %h2, [%rd1+72];\n\
         {instructions}\nret;\n}}\n"
    );
    let (module, faults) = ptx::read(&text);
    assert!(faults.is_empty(), "{instructions}: {faults:?}");
    contraction(&module.functions[0]).fusions.len()
}

/// The number of fused operations in the machine code that ptxas 13.0 makes.
#[test]
fn single_rules_are_those_of_ptxas() {
    let product = "mul.f32 %f8, %f1, %f2;";
    let other = "mul.f32 %f7, %f3, %f4;";
    let store = "st.global.f32 [%rd1], %f9;";
    let cases = [
        ("add.f32 %f9, %f8, %f3;", 1),
        ("sub.f32 %f9, %f3, %f8;", 1),
        ("add.rn.f32 %f9, %f8, %f3;", 0),
        ("add.rz.f32 %f9, %f8, %f3;", 0),
        ("add.ftz.f32 %f9, %f8, %f3;", 0),
        ("add.sat.f32 %f9, %f8, %f3;", 1),
        ("neg.f32 %f7, %f8; add.f32 %f9, %f7, %f3;", 1),
        ("neg.ftz.f32 %f7, %f8; add.f32 %f9, %f7, %f3;", 0),
        ("abs.f32 %f7, %f8; add.f32 %f9, %f7, %f3;", 0),
        ("mov.b32 %r7, %f8; mov.b32 %f7, %r7; add.f32 %f9, %f7, %f3;", 1),
        ("add.f32 %f9, %f8, %f8;", 0),
        ("add.f32 %f9, %f8, %f8; add.f32 %f10, %f8, %f3; st.global.f32 [%rd1+4], %f10;", 0),
        ("add.f32 %f9, %f8, %f3; st.global.f32 [%rd1+4], %f8;", 0),
        ("add.f32 %f9, %f8, %f3; add.f32 %f10, %f8, %f4; st.global.f32 [%rd1+4], %f10;", 2),
        ("add.f32 %f9, %f8, %f3; add.rn.f32 %f10, %f8, %f4; st.global.f32 [%rd1+4], %f10;", 0),
        // Without effect: it does not count.
        ("add.f32 %f9, %f8, %f3; add.rn.f32 %f10, %f8, %f4;", 1),
        ("add.f32 %f9, %f8, %f3; abs.f32 %f10, %f8; sqrt.approx.f32 %f11, %f10;", 1),
        ("add.f32 %f9, %f8, %f3; setp.gt.f32 %p3, %f8, %f4; @%p3 st.global.f32 [%rd1+4], %f4;", 0),
        ("fma.rn.f32 %f10, %f3, %f4, %f8; add.f32 %f9, %f8, %f3; st.global.f32 [%rd1+4], %f10;", 0),
        ("mov.f32 %f9, %f5; @%p1 add.f32 %f9, %f8, %f3;", 1),
        ("mov.f32 %f9, %f5; @%p1 bra L; add.f32 %f9, %f8, %f3; L:", 0),
        ("bra.uni L; L: add.f32 %f9, %f8, %f3;", 1),
        ("selp.f32 %f7, %f8, %f4, %p1; add.f32 %f9, %f7, %f3;", 0),
        // A factor that is overwritten.
        ("ld.global.f32 %f1, [%rd1+4]; add.f32 %f9, %f8, %f1;", 1),
    ];
    for (rest, count) in cases {
        assert_eq!(fused(&format!("{product} {rest} {store}")), count, "{rest}");
    }
    let two = [
        ("add.f32 %f9, %f8, %f7;", 1),
        ("add.f32 %f9, %f8, %f7; st.global.f32 [%rd1+4], %f8;", 1),
        ("add.f32 %f9, %f8, %f7; add.f32 %f10, %f7, %f5; st.global.f32 [%rd1+4], %f10;", 1),
        ("add.f32 %f9, %f8, %f7; sub.f32 %f10, %f7, %f8; st.global.f32 [%rd1+4], %f10;", 2),
    ];
    for (rest, count) in two {
        assert_eq!(fused(&format!("{product} {other} {rest} {store}")), count, "{rest}");
    }
    let whole = [
        ("mul.rn.f32 %f8, %f1, %f2; add.f32 %f9, %f8, %f3; st.global.f32 [%rd1], %f9;", 0),
        ("mul.sat.f32 %f8, %f1, %f2; add.f32 %f9, %f8, %f3; st.global.f32 [%rd1], %f9;", 0),
        (
            "mov.f32 %f8, %f5; @%p1 mul.f32 %f8, %f1, %f2; add.f32 %f9, %f8, %f3; st.global.f32 [%rd1], %f9;",
            0,
        ),
        ("mul.f64 %d8, %d1, %d2; add.f64 %d7, %d8, %d3; st.global.f64 [%rd1], %d7;", 1),
        ("mul.f16x2 %r4, %r1, %r2; sub.f16x2 %r5, %r1, %r4; st.global.b32 [%rd1], %r5;", 1),
        ("mul.rn.f16x2 %r4, %r1, %r2; add.f16x2 %r5, %r4, %r1; st.global.b32 [%rd1], %r5;", 0),
        ("mul.bf16 %h4, %h1, %h2; add.bf16 %h5, %h4, %h1; st.global.b16 [%rd1], %h5;", 1),
        // Two constants are multiplied when the kernel is assembled.
        (
            "mov.f32 %f1, 0f40400000; mul.f32 %f8, %f1, 0f40490FDB; add.f32 %f9, %f8, %f3; st.global.f32 [%rd1], %f9;",
            0,
        ),
        // A product that a loop carries, and one of each iteration.
        ("mul.f32 %f8, %f1, %f2; L: add.f32 %f9, %f9, %f8; @%p1 bra L; st.global.f32 [%rd1], %f9;", 0),
        ("L: mul.f32 %f8, %f1, %f2; add.f32 %f9, %f9, %f8; @%p1 bra L; st.global.f32 [%rd1], %f9;", 1),
    ];
    for (instructions, count) in whole {
        assert_eq!(fused(instructions), count, "{instructions}");
    }
}

/// The fused additions of each function and their products, by their numbers among the multiplications and
/// additions of floats.
fn numbered(module: &Module) -> BTreeMap<String, Vec<(usize, usize, bool, bool)>> {
    let of = |f: &prlx_isa::view::Function| {
        let float = |i: &Inst| {
            matches!(opcode(i).op, Some(Op::Mul | Op::Add | Op::Sub))
                && opcode(i).types.iter().all(|t| t.is_float())
        };
        let ids: Vec<usize> = (0..f.insts.len()).filter(|i| float(&f.insts[*i])).collect();
        let number = |id: InstId| ids.iter().position(|i| *i == id.index()).unwrap();
        let fusions = contraction(f).fusions;
        let mut all: Vec<_> = fusions
            .iter()
            .map(|(sum, f)| (number(*sum), number(f.product), f.negate_product, f.negate_addend))
            .collect();
        all.sort_unstable();
        (f.name.clone(), all)
    };
    module.functions.iter().map(of).collect()
}

#[test]
fn instrumented_kernels_fuse_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut compared = 0;
    for path in modules(&root.join("tests/kernels")).into_iter().filter(|p| p.ends_with("sm_80.ptx")) {
        let source = fs::read_to_string(&path).unwrap();
        let plain = numbered(&ptx::read(&source).0);
        if plain.values().all(Vec::is_empty) {
            continue;
        }
        for level in [Level::Fingerprint, Level::Path, Level::Events, Level::Operands] {
            let program = RecordingRequest::new(level);
            let Ok(rewrite) = prlx_instrument::rewrite(&source, "k", &program, &|_| None) else { continue };
            let instrumented = numbered(&ptx::read(&rewrite.text).0);
            for (function, fusions) in &plain {
                assert_eq!(
                    instrumented.get(function),
                    Some(fusions),
                    "{} {function} {level:?}",
                    path.display()
                );
                compared += fusions.len();
            }
        }
    }
    assert!(compared > 20, "{compared}");
}
