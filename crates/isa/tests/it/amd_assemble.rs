//! Instructions that are put together from operands: their text is that of the operands, and their operands
//! are those that went in.

use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, Inst, Value};

const fn registers(bank: Bank, first: u8, count: u8) -> Value {
    Value::Registers { bank, first, count }
}

#[test]
fn operands_stand_where_the_text_has_them() {
    let (v, s) = (|n| registers(Bank::Vector, n, 1), |n| registers(Bank::Scalar, n, 2));
    let pair = registers(Bank::Vector, 2, 2);
    let (exec, big) = (Value::Named("exec", &[]), Value::Integer(1000));
    let add = |target, name| {
        let operands = [v(1), s(4), v(2), v(3), s(6)];
        Inst::assemble(target, 64, Encoding::Vop3, name, &operands, &[]).map(|inst| inst.print())
    };
    assert_eq!(add(Target::Gfx942, "v_addc_co_u32").unwrap(), "v_addc_co_u32_e64 v1, s[4:5], v2, v3, s[6:7]");
    assert_eq!(add(Target::Gfx942, "v_add_co_ci_u32"), None);
    assert_eq!(
        add(Target::Gfx1100, "v_add_co_ci_u32").unwrap(),
        "v_add_co_ci_u32_e64 v1, s[4:5], v2, v3, s[6:7]"
    );
    for target in Target::all() {
        let print = |encoding, name: &str, operands: &[Value], fields: &[(Field, u32)]| {
            Inst::assemble(target, 64, encoding, name, operands, fields).unwrap().print()
        };
        assert_eq!(print(Encoding::Sop1, "s_mov_b64", &[s(8), exec], &[]), "s_mov_b64 s[8:9], exec");
        assert_eq!(print(Encoding::Vop1, "v_mov_b32", &[v(1), big], &[]), "v_mov_b32_e32 v1, 0x3e8");
        let small = [v(7), Value::Integer(-16), Value::Integer(64)];
        assert!(print(Encoding::Vop3, "v_mul_lo_u32", &small, &[]).ends_with("v7, -16, 64"));
        let compared = [s(2), pair, Value::Integer(0)];
        let text = print(Encoding::Vop3, "v_cmp_eq_u64", &compared, &[]);
        assert_eq!(text, "v_cmp_eq_u64_e64 s[2:3], v[2:3], 0");
        // Operands that a slot has no room for, and too few of them.
        let wrong =
            |operands: &[Value]| Inst::assemble(target, 64, Encoding::Vop1, "v_mov_b32", operands, &[]);
        assert_eq!(wrong(&[v(1)]), None);
        assert_eq!(wrong(&[Value::Half { index: 1, high: false }, v(1)]), None);
    }
}

/// What [`Inst::assemble`] makes of the operands of an instruction is that instruction.
#[test]
fn assembled_operands_are_read_back() {
    let mut same = 0;
    for target in Target::all() {
        for (encoding, word) in
            [(Encoding::Sop2, 0x8000_0000u32), (Encoding::Vop2, 0), (Encoding::Sop1, 0xbe80_0000)]
        {
            for opcode in 0..64u32 {
                let shift = if encoding == Encoding::Sop2 {
                    23
                } else if encoding == Encoding::Vop2 {
                    25
                } else {
                    8
                };
                let words = [word | opcode << shift | 0x0204, 0];
                let Some(inst) = Inst::decode(target, 64, &words) else { continue };
                if inst.encoding() != Some(encoding) || inst.words().len() != 1 {
                    continue;
                }
                let named = |value: &Value| matches!(value, Value::Named(..) | Value::Half { .. });
                let operands: Vec<Value> = inst.operands().iter().map(|operand| operand.value).collect();
                if operands.iter().any(named) {
                    continue;
                }
                let again = Inst::assemble(target, 64, encoding, inst.name(), &operands, &[]);
                // Fields that an operation does not have may hold anything.
                assert_eq!(again.map(|i| i.print()), Some(inst.print()));
                same += 1;
            }
        }
    }
    assert!(same > 300, "only {same} instructions");
}
