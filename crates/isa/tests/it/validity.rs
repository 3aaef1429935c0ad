//! Which PTX the assembler refuses.

use prlx_isa::ptx::{invalid, read, refusal};

use crate::common::{ptx_files, root};

/// The first reason to refuse a module, with its line; as devices do, of the code of all functions.
fn reason(text: &str) -> Option<String> {
    let (module, diagnostics) = read(text);
    if let Some((line, d)) = invalid(text, &diagnostics) {
        return Some(format!("line {line}: {}", d.message));
    }
    let mut all = module.functions.iter().flat_map(|f| f.insts.iter().map(move |inst| (f, inst)));
    all.find_map(|(f, inst)| Some(format!("`{}`: {}", inst.span.of(text), refusal(&module, f, inst)?)))
}

/// A module with one kernel that declares registers of every type.
fn module(parts: &Parts<'_>) -> String {
    let Parts { target, top, params, declared, code } = parts;
    format!(
        ".version 8.3\n.target sm_80{target}\n.address_size 64\n{top}\n.visible .entry k(.param .u64 p{params}) {{\n\
         .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<10>; .reg .f32 %f<10>; .reg .b64 %rd<10>;\n\
         .reg .f64 %fd<4>; .reg .u32 %u<4>; .reg .s32 %s<4>; .reg .u64 %vd<4>; .reg .s64 %sd<4>;\n\
         .reg .u16 %v16<4>; .reg .s16 %w16<4>; .reg .f16 %q16<4>; .reg .f16x2 %q32<4>;\n{declared}\n{code}\nret;\n}}\n"
    )
}

#[derive(Clone, Copy, Default)]
struct Parts<'a> {
    target: &'a str,
    top: &'a str,
    params: &'a str,
    declared: &'a str,
    code: &'a str,
}

#[test]
fn ptx_of_the_repository_is_valid() {
    let files = ptx_files(&["tests/kernels", "examples", "bench", "tests/cases", "docs"]);
    assert!(files.len() > 100);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        // Cases of text that is wrong.
        let wrong = ["isa/broken.ptx", "door.in/truncated.ptx"];
        let meant =
            wrong.iter().any(|name| path.ends_with(name)) || path.iter().any(|part| part == "invalid.in");
        if !meant {
            assert_eq!(reason(&text), None, "{}", path.display());
        }
    }
}

/// The file says of each instruction whether ptxas 13.0 accepts it for sm_80 (`ok`), or refuses it and so do
/// we (`no`). Each operand of common instructions has every type of register in turn.
#[test]
fn instructions_are_refused_as_ptxas_does() {
    let text = std::fs::read_to_string(root().join("crates/isa/tests/validity.txt")).unwrap();
    let mut wrong = vec![];
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let (expected, code) = line.split_once(' ').unwrap();
        let found = reason(&module(&Parts { code: &format!("{code};"), ..Parts::default() }));
        if found.is_some() != (expected == "no") {
            wrong.push(format!("{line}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reasons_name_what_is_wrong() {
    let of = |code: &str| reason(&module(&Parts { code, ..Parts::default() })).unwrap_or_default();
    for (code, want) in [
        ("add.s32 %r1, %r99, 1;", "`%r99` is not declared, and PRLX knows no special register of this name"),
        ("add.s32 %r1, foo, 1;", "`foo` is not declared"),
        ("ld.global.f32 %f1, [%rd77];", "`%rd77` is not declared"),
        ("bra NOWHERE;", "`NOWHERE` is not declared"),
        ("ld.global.f32 %f1, [%f2];", "the address `%f2` is a register of type .f32"),
        ("@%r3 add.s32 %r1, %r2, 1;", "the guard `%r3` is a register of type .b32"),
        ("add.s32 %r1, %r2, 1, 2;", "`add` takes 3 operands, not 4"),
        ("bar.sync;", "`bar` takes 1 to 2 operands, not 0"),
        ("add.s32 %r1, %r2, %f1;", "operand 3 of `add` is `%f1` of type .f32, which .s32 does not accept"),
        ("add.s32 %r1, %tid.x, 1;", "is the special register `%tid.x`, which .s32 does not accept"),
        ("ld.global.v2.f32 {%f1}, [%rd4];", "`.v2` takes 2 elements, not 1"),
        ("add.s32 %r1, %r2, 1,;", "a comma without an operand behind it"),
        ("L1: add.s32 %r1, %r2, 1; L1: ret;", "the label `L1` is declared twice in this scope"),
        ("%r3: ret;", "`%r3` is a label and a variable"),
    ] {
        let found = of(code);
        assert!(found.contains(want), "{code}: {found}");
    }
}

#[test]
fn modules_are_refused_as_ptxas_does() {
    let none = Parts::default();
    for (parts, want) in [
        (Parts { target: " garbage", ..none }, "line 2: not understood at module level"),
        (Parts { top: "garbage", ..none }, "line 4: not understood at module level"),
        (Parts { top: ".version 8.3", ..none }, "line 4: a second `.version`"),
        (Parts { top: ".global .u32 g; .global .u32 g;", ..none }, "line 4: `g` is declared twice"),
        (Parts { top: ".func f() { ret; } .func f() { ret; }", ..none }, "line 4: `f` is declared twice"),
        (Parts { top: ".func f() { ret; } .global .u32 f;", ..none }, "line 4: `f` is declared twice"),
        (Parts { params: ", .param .u32 p", ..none }, "line 5: `p` is declared twice in this scope"),
        (Parts { declared: ".reg .b32 %r<20>;", ..none }, "`%r` is declared twice in this scope"),
        (Parts { declared: ".reg .b32 %r5;", ..none }, "`%r5` is declared twice in this scope"),
        (Parts { declared: ".reg .b32 a; .reg .f32 a;", ..none }, "`a` is declared twice in this scope"),
        (Parts { declared: ".shared .u32 s; .reg .b32 s;", ..none }, "`s` is declared twice in this scope"),
        (Parts { declared: ".reg .b32 p;", ..none }, "`p` is declared twice in this scope"),
        (Parts { declared: ".reg .b32 a", code: "mov.b32 %r1, 1;", ..none }, "text behind the last name"),
        (Parts { code: "@%p9 ret;", ..none }, "the guard is not a register that is declared here"),
    ] {
        let found = reason(&module(&parts)).unwrap_or_default();
        assert!(found.contains(want), "{found}: {want}");
    }
    for parts in [
        Parts { top: ".func f(); .func f() { ret; }", ..none },
        Parts { top: ".extern .global .u32 g; .visible .global .u32 g;", ..none },
        Parts { top: ".extern .shared .align 16 .b8 s[]; .extern .shared .align 16 .b8 s[];", ..none },
        Parts { top: ".global .u32 g;", declared: ".shared .u32 g;", ..none },
        Parts { declared: ".reg .b32 %r1<20>;", ..none },
        Parts { declared: "{ .reg .b32 %r<10>; }", ..none },
        Parts { code: "L: mov.b32 %r1, 1; { L: mov.b32 %r1, 1; } { L: mov.b32 %r1, 1; }", ..none },
        Parts { top: ".global .u32 g;", code: "g: mov.b32 %r1, 1;", ..none },
        // A directive of a later version.
        Parts { top: ".later 1;", ..none },
    ] {
        assert_eq!(reason(&module(&parts)), None);
    }
}
