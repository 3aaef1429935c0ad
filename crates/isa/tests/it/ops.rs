//! The table of operations: properties of every row.

use prlx_isa::ptx::{Op, Opcode, TableClass};
use prlx_isa::view::{Class, Role, Space, Type};

#[test]
fn every_row_is_complete() {
    assert!(Op::ALL.len() >= 135);
    for op in Op::ALL {
        assert_eq!(Op::from_mnemonic(op.mnemonic()), Some(*op));
        assert!(op.doc().ends_with(&format!("{}).", op.mnemonic())), "{}: {}", op.mnemonic(), op.doc());
        assert!(op.doc().contains("(PTX ISA, ") && !op.doc().starts_with(' '), "{}", op.doc());
        // A result comes first, and an operation without one begins with an address or use.
        assert!(
            op.roles().iter().skip(1).all(|r| !matches!(r, Role::Def | Role::UseDef)),
            "{}",
            op.mnemonic()
        );
        assert_ne!(op.class(), TableClass::Is(Class::Opaque));
    }
    assert_eq!(Op::from_mnemonic("no_such"), None);
}

#[test]
fn opcodes_are_split() {
    let form = Opcode::parse("ld.global.nc.L1::no_allocate.L2::128B.v4.f32");
    assert_eq!(form.op, Some(Op::Ld));
    assert_eq!(form.types, [Type::F32]);
    assert_eq!(form.mods, ["L1::no_allocate", "L2::128B", "global", "nc", "v4"]);
    assert_eq!((form.space(), form.class()), (Space::Global, Class::Load));
    let form = Opcode::parse("cvt.rn.bf16x2.f32");
    assert_eq!(form.types, [Type::Bf16x2, Type::F32]);
    assert!(form.has("rn") && !form.has("r"));
    let class = |text: &str| Opcode::parse(text).class();
    assert_eq!(class("add.f32"), Class::Float);
    assert_eq!(class("add.u32"), Class::Integer);
    assert_eq!(class("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32"), Class::AsyncCopy);
    assert_eq!(class("wgmma.wait_group.sync.aligned"), Class::Sync);
    assert_eq!(class("from.the.future"), Class::Opaque);
    for ty in ["b32", "e4m3x2", "ue8m0", "f32x2", "pred"] {
        assert_eq!(Type::from_name(ty).map(Type::name), Some(ty));
    }
}
