//! Instructions of AMD's machine code as the data flow names them: operands in the order of the operation,
//! offsets as parts of addresses, and the two operations of a pair apart.
//!
//! # Limitations
//! - Operations with modifiers, on parts of registers, on two elements of a register or on several registers
//!   are none that [`Operation`] names, but those on two binary32 numbers in two registers.
//! - Of permutations, `ds_permute_b32`, `v_permlane16_b32` and `v_permlanex16_b32` are read as exchanges with
//!   any lane.

use std::sync::Arc;

use prlx_isa::amdgpu::Native;
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst as Machine};
use prlx_isa::view::{Access, Atomic, Class, Effect, Inst, Operand as View, Role, Type};
use prlx_plan::function::body::scalar;
use prlx_trace::dataflow::{Action, Instruction, Operand, Operation};
use prlx_trace::kernel::Scalar;

use super::reader::Reader;
use super::results::ResultPlane;
use crate::decode::amdgpu::source_lanes;

/// An instruction, and where its results lie.
type Read = (Instruction, Vec<ResultPlane>);

/// The operations of a machine instruction: one, or two of a pair.
pub(super) fn read(reader: &Reader<'_, '_>, i: &Inst, native: &Native, step: u32) -> Vec<Read> {
    let machine = &native.inst;
    if let Some((first, second)) = machine.name().split_once("::") {
        return pair(reader, i, machine, [first, second], step);
    }
    if let Some(both) = packed(reader, i, machine, step) {
        return both;
    }
    let (mut out, mut results) = reader.instruction(i, step);
    out.ty = type_of(i, machine.name());
    // What a callee writes is a result of its own instructions.
    if i.class == Class::Call {
        out.results.clear();
        results.clear();
    }
    match machine.access() {
        Some(_) => memory(&mut out, i, machine),
        None => registers(&mut out, i, machine),
    }
    vec![(out, results)]
}

/// The type of what an instruction computes; of a comparison, of what it compares.
fn type_of(i: &Inst, name: &str) -> Scalar {
    let ty = if i.class == Class::Compare { i.semantics.input } else { i.semantics.result };
    let ty = if has_no_sign(name) { ty.map(signed) } else { ty };
    match scalar(ty.unwrap_or(Type::B32)) {
        Scalar::F16 if name.starts_with("v_pk_") => Scalar::F16x2,
        Scalar::Bf16 if name.starts_with("v_pk_") => Scalar::Bf16x2,
        ty => ty,
    }
}

/// Whether an operation on integers is the same with and without a sign. AMD's mnemonics call most of these
/// `u32`, and CUDA's compiler calls them `s32`.
fn has_no_sign(name: &str) -> bool {
    let sums = ["add", "addc", "add3", "sub", "subb", "subrev", "subbrev", "xad"];
    sums.contains(&stem(name)) || ["mul_lo_", "lshl_add_", "_lshl_u32"].iter().any(|part| name.contains(part))
}

/// The integers of that width with a sign. Other types stay.
fn signed(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::S16,
        Type::U32 => Type::S32,
        Type::U64 => Type::S64,
        ty => ty,
    }
}

/// Makes the constants of an access offsets of its addresses: data is in registers.
fn memory(out: &mut Instruction, i: &Inst, machine: &Machine) {
    out.operands.retain(|o| o.register().is_some());
    let adds = matches!(i.semantics.effect, Effect::Access(Access { atomic: Some(Atomic::Add), .. }));
    if adds && !machine.name().contains("_pk_") {
        out.operation = Operation::Add;
    }
    let Some(first) = out.addresses.first_mut().filter(|a| matches!(a.base, Operand::Register(_))) else {
        return;
    };
    if let Some(offsets) = machine.two_offsets() {
        let far = ["st64", "stride64"].iter().any(|word| machine.name().contains(word));
        let stride = if far { 64 } else { 1 };
        let unit = i64::from(machine.access_bytes().unwrap_or(0) / 2) * stride;
        let base = first.clone();
        out.addresses = vec![base; offsets.len()];
        out.addresses.iter_mut().zip(offsets).for_each(|(a, n)| a.offset = i64::from(n) * unit);
        return;
    }
    first.offset = machine.address().map_or(0, |address| address.offset);
}

/// Says what an operation on registers does, and orders its operands.
fn registers(out: &mut Instruction, i: &Inst, machine: &Machine) {
    let name = machine.name();
    if let Some(lanes) = source_lanes(machine) {
        from_other_lanes(out, i, name, lanes);
    }
    match name {
        "v_readlane_b32" => out.operation = Operation::ReadLane,
        "v_readfirstlane_b32" => out.operation = Operation::ReadFirstLane,
        "ds_bpermute_b32" | "ds_bpermute_fi_b32" => {
            let address = out.addresses.drain(..).map(|a| a.base);
            out.operands.splice(1..1, address);
            out.operation = Operation::Permute;
        }
        _ if !is_plain(machine) => {
            if matches!(out.action, Action::Move | Action::Select) {
                out.action = Action::Compute;
            }
        }
        _ => arrange(out, name),
    }
}

/// Whether nothing but the operands decides the result.
fn is_plain(machine: &Machine) -> bool {
    use Encoding::{
        Mai, Vop1Sdwa, Vop2Sdwa, Vop3, Vop3Dpp8, Vop3Dpp16, Vop3p, Vop3pDpp8, Vop3pDpp16, VopcSdwa,
    };
    let set = |fields: &[Field]| fields.iter().any(|f| machine.get(*f) != 0);
    match machine.encoding() {
        Some(Mai | Vop1Sdwa | Vop2Sdwa | VopcSdwa | Vop3p | Vop3pDpp8 | Vop3pDpp16) => {
            machine.name().starts_with("v_accvgpr")
        }
        Some(Vop3 | Vop3Dpp8 | Vop3Dpp16) => {
            // A second result stands where other operations have absolute values and halves.
            let second = machine.operands().iter().any(|operand| operand.slot.field == Field::Sdst);
            !set(&[Field::Clamp, Field::Omod, Field::Neg]) && (second || !set(&[Field::Abs, Field::OpSel]))
        }
        _ => !set(&[Field::Src0Neg, Field::Src1Neg, Field::Src0Abs, Field::Src1Abs]),
    }
}

/// What an operation without modifiers does.
fn action(name: &str) -> Action {
    match stem(name) {
        "mov" | "swizzle" | "permlane64" => Action::Move,
        "cndmask" => Action::Select,
        "cmp" | "cmpx" => Action::Compare,
        _ => Action::Compute,
    }
}

/// The first word of a mnemonic that says what it does.
fn stem(name: &str) -> &str {
    name.split('_').find(|word| !matches!(*word, "s" | "v" | "ds" | "dual")).unwrap_or_default()
}

/// Operands in the order of [`Operation`] and [`Action::Select`], and which operation it is.
fn arrange(out: &mut Instruction, name: &str) {
    let word = stem(name);
    match (word, out.operands.len()) {
        // The mask chooses the second source; `cmov` keeps the result otherwise.
        ("cndmask" | "cmov" | "cmovk", 3) if out.action == Action::Select => out.operands.swap(0, 1),
        ("swap", 2) => out.operands.swap(0, 1),
        // The result is the first operand in the text, and added to the product.
        (_, 3) if accumulates(name) => out.operands.rotate_left(1),
        ("subrev", _) if out.operands.len() > 1 => out.operands.swap(0, 1),
        _ => {}
    }
    // Numbers of 64 bits are in two registers.
    if out.ty.bits() == 64 || out.action != Action::Compute {
        return;
    }
    out.operation = match (word, out.operands.len()) {
        ("add", 2) => Operation::Add,
        ("sub" | "subrev", 2) => Operation::Subtract,
        ("mul", 2) => Operation::Multiply,
        ("fma" | "mad" | "fmac" | "mac" | "fmamk" | "fmaak" | "madmk" | "madak", 3) => Operation::MultiplyAdd,
        ("min" | "max" | "and" | "or" | "xor", 2) => Operation::Symmetric,
        _ => Operation::Other,
    };
}

/// How many operands are read before the first source of the text.
fn reads_before(i: &Inst) -> usize {
    let before = i.roles.iter().zip(&i.operands).take_while(|(role, _)| **role != Role::Use);
    let kept = before.filter(|(role, _)| **role == Role::UseDef);
    kept.map(|(_, o)| if let View::Vector(list) = o { list.len() } else { 1 }).sum()
}

/// Makes the first source of the text one of other lanes. A lane without a source does not execute the
/// instruction, so it keeps nothing.
fn from_other_lanes(out: &mut Instruction, i: &Inst, name: &str, lanes: Vec<Option<usize>>) {
    let lanes: Arc<[Option<u8>]> =
        lanes.into_iter().map(|lane| lane.and_then(|lane| u8::try_from(lane).ok())).collect();
    // The source of a swizzle stands where other operations have an address.
    let addresses = out.addresses.drain(..).map(|a| a.base);
    out.operands.splice(0..0, addresses);
    let at = reads_before(i);
    if let Some(Operand::Register(register)) = out.operands.get(at) {
        out.operands[at] = Operand::OtherLane(*register, lanes);
    }
    if !accumulates(name) {
        out.operands.drain(..at.min(out.operands.len()));
    }
    out.action = action(name);
    if out.action == Action::Move {
        out.operands.truncate(1);
    }
}

/// Whether the operation adds to its result.
fn accumulates(name: &str) -> bool {
    matches!(stem(name), "fmac" | "mac")
}

/// The two operations of a pair.
fn pair(reader: &Reader<'_, '_>, i: &Inst, machine: &Machine, names: [&str; 2], step: u32) -> Vec<Read> {
    let all: Vec<(&View, Role)> = i.operands.iter().zip(i.roles.iter().copied()).collect();
    let written = |(_, (_, role)): &(usize, &(&View, Role))| matches!(role, Role::Def | Role::UseDef);
    let second = all.iter().enumerate().filter(written).nth(1).map_or(all.len(), |(at, _)| at);
    let text = machine.operands().len().clamp(second, all.len());
    let (first, rest) = all.split_at(second);
    let (last, implicit) = rest.split_at(text - second);
    let (base, _) = reader.instruction(i, step);
    let one = |(name, own): (&str, &[(&View, Role)])| {
        let ty = if has_no_sign(name) { signed(ty_of(name)) } else { ty_of(name) };
        let mut out = Instruction {
            opcode: name.to_owned(),
            action: action(name),
            ty: scalar(ty),
            operands: Vec::new(),
            ..base.clone()
        };
        // The mask of a selection is VCC, which the text does not name.
        let mask = if out.action == Action::Select && own.len() < 4 { implicit } else { &[] };
        let reads = own.iter().chain(mask);
        reads.for_each(|(operand, role)| reader.operand(operand, *role, ty, &mut out));
        let (registers, results) = reader.results(own.iter().copied());
        out.results = registers;
        arrange(&mut out, name);
        (out, results)
    };
    [(names[0], first), (names[1], last)].map(one).into()
}

/// The two operations of one on two binary32 numbers (CDNA 3 ISA, "Packed Math"); `None` for others, and if a
/// source is a constant.
fn packed(reader: &Reader<'_, '_>, i: &Inst, machine: &Machine, step: u32) -> Option<Vec<Read>> {
    let word = machine.name().strip_prefix("v_pk_")?;
    let word = word.strip_suffix("_f32").or_else(|| word.strip_suffix("_b32"))?;
    let mut operands = i.operands.iter().map(|operand| match operand {
        View::Vector(list) => <&[View; 2]>::try_from(list.as_slice()).ok(),
        _ => None,
    });
    let written = operands.next()??;
    let sources: Vec<&[View; 2]> = operands.collect::<Option<_>>()?;
    let (base, _) = reader.instruction(i, step);
    let moves = word == "mov";
    let (low, high) =
        (machine.get(Field::OpSel), machine.get(Field::OpSelHi) | machine.get(Field::OpSelHi2) << 2);
    let one = |half: usize| {
        // A move takes a word of each source.
        let select = if half == 1 && !moves { high } else { low };
        let action = if moves { Action::Move } else { Action::Compute };
        let mut out = Instruction { action, ty: Scalar::F32, operands: Vec::new(), ..base.clone() };
        for (n, source) in sources.iter().enumerate().filter(|(n, _)| !moves || *n == half) {
            reader.operand(&source[(select >> n & 1) as usize], Role::Use, Type::F32, &mut out);
        }
        let (registers, results) = reader.results([(&written[half], Role::Def)].into_iter());
        out.results = registers;
        let negated = machine.get(if half == 0 { Field::Neg } else { Field::NegHi });
        out.operation = match (word, negated) {
            _ if machine.get(Field::Clamp) == 1 => Operation::Other,
            ("add", 0) => Operation::Add,
            ("add", 1 | 2) => Operation::Subtract,
            ("mul", 0) => Operation::Multiply,
            ("fma", 0) => Operation::MultiplyAdd,
            _ => Operation::Other,
        };
        if out.operation == Operation::Subtract && negated == 1 {
            out.operands.swap(0, 1);
        }
        (out, results)
    };
    Some(vec![one(0), one(1)])
}

/// The type in a mnemonic of one operation of a pair.
fn ty_of(name: &str) -> Type {
    let ty = |word: &str| {
        Some(match word {
            "f32" => Type::F32,
            "u32" => Type::U32,
            "i32" => Type::S32,
            _ => return None,
        })
    };
    name.split('_').find_map(ty).unwrap_or(Type::B32)
}
