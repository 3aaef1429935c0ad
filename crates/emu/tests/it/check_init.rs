//! `--check init` on small kernels: a use of what nothing wrote is found, a copy is not, and both sides are
//! said.

use crate::case::Case;
use prlx_driver::{Driver, ModuleCode};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Check, Finding, Findings, Grade, Kind, Space};

fn findings(mut case: Case) -> Findings {
    case.options.checks = Checks::NONE.with(Check::Init);
    case.findings()
}

/// The one finding.
fn one(body: &str) -> Finding {
    let found = findings(Case::new(body));
    assert_eq!(found.list.len(), 1, "{found:#?}");
    found.list[0].clone()
}

fn clean(body: &str) {
    let found = findings(Case::new(body));
    assert!(found.list.is_empty(), "{found:#?}");
}

fn instruction(f: &Finding, side: usize) -> &str {
    f.sides[side].place.as_ref().map_or("", |p| &p.instruction)
}

const TILE: &str = ".shared .align 16 .b8 tile[512];\n";

#[test]
fn registers() {
    let f = one("add.u32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2;");
    assert_eq!((f.kind, f.lanes), (Kind::UndefinedStore, 32));
    assert_eq!(f.what, "stores a value that comes from register `%r1`, which nothing set");
    // Set in some lanes only.
    let f = one("setp.lt.u32 %p1, %r0, 8;\n@%p1 mov.u32 %r1, 5;\nst.global.u32 [%rd1], %r1;");
    assert_eq!((f.kind, f.lanes), (Kind::UndefinedStore, 24));
    clean(
        "setp.lt.u32 %p1, %r0, 8;\n@%p1 mov.u32 %r1, 5;\n@!%p1 mov.u32 %r1, 6;\nst.global.u32 [%rd1], %r1;",
    );
}

#[test]
fn shared_memory() {
    let f =
        one(&format!("{TILE}ld.shared.u32 %r1, [tile+8];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;"));
    assert_eq!(
        (f.kind, f.what.as_str()),
        (Kind::UndefinedStore, "stores a value that comes from memory that nothing wrote")
    );
    assert_eq!(
        (instruction(&f, 0), instruction(&f, 1)),
        ("st.global.u32 [%rd1], %r1;", "ld.shared.u32 %r1, [tile+8];")
    );
    let m = f.sides[1].memory.as_ref().unwrap();
    assert_eq!(
        (m.space, m.address, m.allocation.as_ref().unwrap().name.as_str()),
        (Space::Shared, 8, "tile")
    );
    // Half of what is read was written, and it is only copied.
    let f = one(&format!(
        "{TILE}mov.u32 %r1, 1;\nst.shared.u16 [tile], %r1;\nld.shared.u32 %r2, [tile];\nst.global.u32 [%rd1], %r2;"
    ));
    assert_eq!(f.kind, Kind::UndefinedCopy);
    clean(&format!(
        "{TILE}mov.u32 %r1, 1;\nst.shared.u32 [tile], %r1;\nld.shared.u16 %h1, [tile+2];\ncvt.u32.u16 %r2, %h1;\nst.global.u32 [%rd1], %r2;"
    ));
}

#[test]
fn what_is_not_used_is_no_fault() {
    clean(&format!("{TILE}ld.shared.u32 %r1, [tile];\nst.shared.u32 [tile+4], %r1;"));
    // The other operand is chosen.
    clean(
        "setp.eq.u32 %p1, %r0, 77;\nselp.u32 %r2, %r1, 3, %p1;\nselp.u32 %r2, %r1, %r0, %p1;\nst.global.u32 [%rd1], %r0;",
    );
    clean("setp.eq.u32 %p1, %r0, 77;\nselp.u32 %r2, %r1, %r0, %p1;\nst.global.u32 [%rd1], %r2;");
}

#[test]
fn halves_of_pairs_are_apart() {
    // Sums of binary16 are made so: the upper halves are never set, and nothing reads them.
    let pair = |upper: &str, operation: &str, lower: &str| {
        format!(
            "mov.u16 %h1, 15360;\n{upper}mov.b32 %r2, {{%h1, %h2}};\n{operation}\n\
             mov.b32 {{%h3, %h4}}, %r2;\nst.global.u16 [%rd1], {lower};"
        )
    };
    let operations = [
        "add.f16x2 %r2, %r2, %r2;",
        "fma.rn.bf16x2 %r2, %r2, %r2, %r2;",
        "max.u16x2 %r2, %r2, %r2;",
        "neg.f16x2 %r2, %r2;",
        "cvt.rn.satfinite.e4m3x2.f16x2 %h5, %r2;\ncvt.rn.f16x2.e4m3x2 %r2, %h5;",
    ];
    for operation in operations {
        clean(&pair("", operation, "%h3"));
        assert_eq!(one(&pair("", operation, "%h4")).kind, Kind::UndefinedStore, "{operation}");
        clean(&pair("mov.u16 %h2, 15360;\n", operation, "%h4"));
    }
    let joined = |half: &str| {
        format!(
            "mov.b32 %r2, 0f3F800000;\ncvt.rn.f16x2.f32 %r3, %r1, %r2;\n\
             mov.b32 {{%h3, %h4}}, %r3;\nst.global.u16 [%rd1], {half};"
        )
    };
    clean(&joined("%h3"));
    assert_eq!(one(&joined("%h4")).kind, Kind::UndefinedStore);
}

#[test]
fn copies_keep_it_undefined() {
    let f = one(&format!(
        "{TILE}ld.shared.u32 %r1, [tile];\nst.shared.u32 [tile+4], %r1;\nld.shared.u32 %r2, [tile+4];\nst.global.u32 [%rd1], %r2;"
    ));
    assert_eq!(instruction(&f, 1), "ld.shared.u32 %r1, [tile];");
    // Lane 31 has one, and lane 30 gets it.
    let shuffle = "setp.ne.u32 %p1, %r0, 31;\n@%p1 mov.u32 %r1, 5;\nshfl.sync.down.b32 %r2, %r1, 1, 31, -1;\n\
                   setp.eq.u32 %p2, %r0, 31;\n@%p2 mov.u32 %r2, 1;\nst.global.u32 [%rd1], %r2;";
    let f = one(shuffle);
    assert_eq!((f.lanes, f.sides[0].threads.unwrap().lanes.0), (1, 1 << 30));
}

#[test]
fn decisions_and_addresses() {
    let f = one(&format!("{TILE}ld.shared.u32 %r1, [tile];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra OUT;\nOUT:"));
    assert_eq!((f.kind, instruction(&f, 0)), (Kind::UndefinedBranch, "@%p1 bra OUT;"));
    let f = one("mov.u32 %r1, 1;\n@%p3 st.global.u32 [%rd1], %r1;");
    assert_eq!(f.kind, Kind::UndefinedBranch);
    let f =
        one(&format!("{TILE}ld.shared.u32 %r1, [tile];\nand.b32 %r1, %r1, 4;\nld.shared.u32 %r2, [%r1];"));
    assert_eq!((f.kind, instruction(&f, 0)), (Kind::UndefinedAddress, "ld.shared.u32 %r2, [%r1];"));
}

#[test]
fn atomics() {
    let f = one(&format!("{TILE}atom.shared.add.u32 %r1, [tile], 1;\nst.global.u32 [%rd1], %r1;"));
    assert_eq!(
        (f.kind, f.what.as_str()),
        (Kind::UndefinedUpdate, "updates 4 bytes of shared memory that nothing wrote")
    );
    clean(&format!("{TILE}atom.shared.exch.b32 %r1, [tile], 1;"));
    let f = one("red.global.add.u32 [%rd0], %r1;");
    assert_eq!(f.kind, Kind::UndefinedStore);
}

#[test]
fn local_memory_and_calls() {
    let f = one(
        ".local .align 4 .b8 mine[16];\nmov.u64 %rd2, mine;\nld.local.u32 %r1, [%rd2+4];\nst.global.u32 [%rd1], %r1;",
    );
    assert_eq!(f.sides[1].memory.as_ref().unwrap().space, Space::Local);
    let module = ".func (.param .u32 r) same(.param .u32 a)\n{\n.reg .b32 %x;\nld.param.u32 %x, [a];\nst.param.u32 [r], %x;\nret;\n}";
    let call = |set: &str| {
        format!(
            "{set}{{\n.param .u32 a;\n.param .u32 b;\nst.param.u32 [a], %r1;\ncall.uni (b), same, (a);\nld.param.u32 %r2, [b];\n}}\nst.global.u32 [%rd1], %r2;"
        )
    };
    assert_eq!(findings(Case::new(&call("")).module(module)).list.len(), 1);
    assert_eq!(findings(Case::new(&call("mov.u32 %r1, 4;\n")).module(module)).list.len(), 0);
}

#[test]
fn memory_that_the_host_did_not_write() {
    let body = "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;";
    let case = Case::new(body);
    let run = |prepare: &dyn Fn(&mut Emulator, prlx_driver::DevicePtr)| {
        let options = Options { checks: Checks::NONE.with(Check::Init), ..case.options.clone() };
        let mut e = Emulator::new(options);
        let module = e.load(ModuleCode::Ptx(&case.text())).unwrap();
        let at = e.alloc(128, 4).unwrap();
        prepare(&mut e, at);
        let dim = |x| prlx_trace::Dim3 { x, y: 1, z: 1 };
        let config = prlx_driver::LaunchConfig { grid: dim(1), block: dim(32), ..Default::default() };
        e.launch(module, "k", &config, &at.0.to_le_bytes()).unwrap();
        e.take_findings().list.iter().map(|f| f.lanes).sum::<u64>()
    };
    assert_eq!(run(&|_, _| ()), 32);
    assert_eq!(run(&|e, at| e.fill(at, 128, 0).unwrap()), 0);
    assert_eq!(run(&|e, at| e.write(at, &[1; 64]).unwrap()), 16);
    assert_eq!(run(&|e, at| (e.fill(at, 128, 0).unwrap(), e.mark_uninitialized(at, 4)).1), 1);
}

#[test]
fn products() {
    let mma = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8};\n\
               st.global.f32 [%rd1], %f1;";
    let set = |names: &[&str]| -> String { names.iter().map(|n| format!("mov.b32 {n}, 0;\n")).collect() };
    let (a, b, c) = (["%r1", "%r2", "%r3", "%r4"], ["%r5", "%r6"], ["%f5", "%f6", "%f7", "%f8"]);
    let all = [&a[..], &b, &c].concat();
    clean(&format!("{}{mma}", set(&all)));
    // Sums that nobody set to 0.
    let f = one(&format!("{}{mma}", set(&[&a[..], &b].concat())));
    assert_eq!((f.kind, instruction(&f, 0)), (Kind::UndefinedStore, "st.global.f32 [%rd1], %f1;"));
    // Half the rows of A are nobody's.
    clean(&format!("{}{mma}", set(&[&a[..1], &a[2..3], &b, &c].concat())));
}

/// A structure of three words in 16 bytes, in shared memory. Its padding is in `%r5`.
const PADDED: &str = ".shared .align 16 .b8 tile[512];\nmov.u32 %r1, 7;\nst.shared.v2.u32 [tile], {%r1, %r1};\n\
    st.shared.u32 [tile+8], %r1;\nld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [tile];\n";

#[test]
fn padding_is_copied_and_not_used() {
    let copy = "st.global.v4.u32 [%rd0], {%r2, %r3, %r4, %r5};";
    let f = one(&format!("{PADDED}{copy}"));
    assert_eq!((f.kind, f.kind.grade()), (Kind::UndefinedCopy, Grade::Note));
    assert_eq!(f.sides[1].role, "read here, where nothing had written bytes 12 to 15 of 16");
    // The defined fields are defined, also after the copy.
    clean(&format!("{PADDED}add.u32 %r2, %r2, %r4;\nst.global.u32 [%rd1], %r2;"));
    let f = one(&format!("{PADDED}add.u32 %r5, %r5, 1;\nst.global.u32 [%rd1], %r5;"));
    assert_eq!(f.kind, Kind::UndefinedStore);
    assert_eq!(f.sides[1].role, "read here, where nothing had written bytes 12 to 15 of 16");
    // The copy in global memory is as undefined as the original.
    let found = findings(Case::new(&format!(
        "{PADDED}{copy}\nld.global.u32 %r6, [%rd0+12];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd1], %r6;"
    )));
    let kinds: Vec<Kind> = found.list.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [Kind::UndefinedCopy, Kind::UndefinedStore], "{found:#?}");
    assert_eq!(instruction(&found.list[1], 1), "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [tile];");
}

#[test]
fn atomics_define_single_bits() {
    let word = ".shared .align 4 .b32 word;\n";
    let uses = |of: &str| format!("ld.shared.u32 %r1, [word];\n{of}\nst.global.u32 [%rd1], %r2;");
    let and = format!("{word}red.shared.and.b32 [word], 0xfffffffe;\n");
    let or = format!("{word}mov.u32 %r3, 6;\natom.shared.or.b32 %r4, [word], %r3;\n");
    clean(&format!("{and}{}", uses("and.b32 %r2, %r1, 1;")));
    clean(&format!("{or}{}", uses("and.b32 %r2, %r1, 6;")));
    clean(&format!("{or}{}", uses("shr.u32 %r2, %r1, 1;\nand.b32 %r2, %r2, 3;")));
    clean(&format!("{or}{}", uses("or.b32 %r2, %r1, 0xfffffff9;")));
    clean(&format!("{and}{}", uses("lop3.b32 %r2, %r1, 1, 8, 0xea;")));
    for (set, of) in [
        (&and, "and.b32 %r2, %r1, 3;"),
        (&or, "and.b32 %r2, %r1, 7;"),
        (&or, "add.u32 %r2, %r4, 1;"),
        (&or, "shr.u32 %r2, %r1, 2;"),
    ] {
        let f = one(&format!("{set}{}", uses(of)));
        assert_eq!(f.kind, Kind::UndefinedStore, "{of}");
    }
    let f = one(&format!("{word}red.shared.add.u32 [word], 1;"));
    assert_eq!(f.kind, Kind::UndefinedUpdate);
}

#[test]
fn bytes_of_a_register_are_told_apart() {
    // Byte 0 is written, bytes 1 to 3 are not.
    let load = format!("{TILE}mov.u32 %r1, 200;\nst.shared.u8 [tile], %r1;\nld.shared.u32 %r1, [tile];\n");
    let first = "prmt.b32 %r2, %r1, 0, 0x4440;\n";
    for of in [
        "cvt.u32.u8 %r2, %r1;",
        "cvt.s32.s8 %r2, %r1;",
        "bfe.u32 %r2, %r1, 0, 8;",
        "shl.b32 %r2, %r1, 24;",
        first,
        "mov.b32 {%h1, %h2}, %r1;\nmov.u16 %h3, 255;\nand.b16 %h1, %h1, %h3;\ncvt.u32.u16 %r2, %h1;",
        "st.local.u32 [stack], %r1;\nld.local.u8 %r2, [stack];",
        "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nand.b32 %r2, %r2, 255;",
    ] {
        let body = format!(
            "{load}.local .align 4 .b8 stack[8];\n{of}\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd1], %r2;"
        );
        clean(&body);
    }
    for of in [
        "bfe.u32 %r2, %r1, 0, 9;",
        "shr.u32 %r2, %r1, 1;",
        "cvt.u32.u16 %r2, %r1;",
        "shfl.sync.idx.b32 %r2, %r1, 3, 31, -1;\nand.b32 %r2, %r2, 256;",
    ] {
        let f = one(&format!("{load}{of}\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd1], %r2;"));
        assert_eq!(f.kind, Kind::UndefinedStore, "{of}");
        assert_eq!(f.sides[1].role, "read here, where nothing had written bytes 1 to 3 of 4");
    }
}

#[test]
fn the_first_read_is_named_after_other_memory() {
    let f = one(&format!(
        "{TILE}ld.shared.u32 %r1, [tile];\nmax.s32 %r1, %r1, 3;\nst.shared.u32 [tile+64], %r1;\nbar.sync 0;\n\
         ld.shared.u32 %r2, [tile+64];\nst.global.u32 [%rd1], %r2;"
    ));
    assert_eq!(instruction(&f, 1), "ld.shared.u32 %r1, [tile];");
    // A later defined value ends it.
    clean(&format!(
        "{TILE}ld.shared.u32 %r1, [tile];\nst.shared.u32 [tile+64], %r1;\nst.shared.u32 [tile+64], %r0;\n\
         ld.shared.u32 %r2, [tile+64];\nst.global.u32 [%rd1], %r2;"
    ));
}
