//! Planted faults in inserted code are found. That all inserted code of the tests is right is said by whoever
//! inserts it, as it is always verified.

use std::cell::RefCell;

use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, Inst, Value};
use prlx_isa::amdgpu::object::CodeObject;
use prlx_plan::RegisterChoice::{Free, Saved, Scarce};
use prlx_plan::{Plan, RecordingRequest, RegisterChoice};
use prlx_trace::kernel::Level;

use super::{InsertedPieces, decode, samples, verify};
use crate::amdgpu::lower;
use crate::verify::inserted_code::Work;

/// Passes the inserted code of an object to `check`. Objects that are not read have none.
fn with_code(
    bytes: &[u8],
    level: Level,
    registers: RegisterChoice,
    check: &dyn Fn(&InsertedPieces<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let Ok(object) = CodeObject::read(bytes) else { return Ok(()) };
    let Ok(module) = prlx_isa::amdgpu::read(&object) else { return Ok(()) };
    let request = RecordingRequest { registers, ..RecordingRequest::new(level) };
    let plan = Plan::resolve(&request, &module, "object", &|_| None);
    lower(&object, &module, &plan, check).map(|_| ()).map_err(|e| e.message)
}

/// Which of the instructions that fit is changed.
#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
}
use Which::{First, Last};

/// What is planted in place of an instruction.
#[derive(Clone, Copy)]
enum Change {
    /// Nothing: it is removed.
    Removed,
    /// An operation of another name with the same operands.
    Operation(&'static str),
    /// Another value of an operand.
    Operand(usize, Value),
    /// Another value of a field.
    Field(Field, u32),
}
use Change::{Operand, Operation, Removed};

/// A planted fault: what is wrong, the code, a part of the routine's text (or what the piece does), a part of
/// the instruction, which one, and the change.
type Fault =
    (&'static str, (&'static [u8], Level, RegisterChoice), &'static str, &'static str, Which, Change);

const WALK_CO: &[u8] = include_bytes!("../../../../../tests/kernels/amd/walk.gfx942.co");
const FULL_CO: &[u8] = include_bytes!("../../../../../tests/kernels/amd/full.gfx1100.co");
const ROLES_CO: &[u8] = include_bytes!("../../../../../tests/kernels/amd/roles.gfx1201.co");
const WALK: (&[u8], Level, RegisterChoice) = (WALK_CO, Level::Path, Free);
const WALK_EVENTS: (&[u8], Level, RegisterChoice) = (WALK_CO, Level::Events, Free);
const WALK_HASHES: (&[u8], Level, RegisterChoice) = (WALK_CO, Level::Fingerprint, Free);
const WALK_SCARCE: (&[u8], Level, RegisterChoice) = (WALK_CO, Level::Path, Scarce);
const FULL: (&[u8], Level, RegisterChoice) = (FULL_CO, Level::Events, Saved);
const ROLES: (&[u8], Level, RegisterChoice) = (ROLES_CO, Level::Events, Scarce);

/// Bits that begin to be appended, a decision, and code that takes a block of memory.
const BIT: &str = "or.b32 %prlx_word, %prlx_word, 1;";
const BLOCK: &str = "%prlx_magazine";

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    ("EXEC is not given back", WALK, BIT, "s_mov_b64 exec", Last, Removed),
    ("a routine runs for EXEC instead of the lanes that are there", WALK, BIT, "s_mov_b64 exec", First, Removed),
    ("SCC is not given back", FULL, BLOCK, "s_cmp_lg_u32", Last, Removed),
    ("the function's load is not waited for", WALK_HASHES, "mov.b32 %prlx_a, v", "s_waitcnt", First, Removed),
    ("a load is not waited for", WALK, BLOCK, "s_waitcnt vmcnt(0)", Last, Removed),
    ("a wait for another counter", WALK, BLOCK, "s_waitcnt vmcnt(0)", Last, Change::Field(Field::Simm16, 0xc07f)),
    ("a decision forgotten", WALK, BIT, "v_addc_co_u32", First, Removed),
    ("a decision of one lane's neighbour", WALK, BIT, "v_addc_co_u32", First, Operand(2, vector(1))),
    ("a hash is rotated by one bit less", WALK_HASHES, "shf.l.wrap", "v_alignbit_b32", First, Operand(3, Value::Integer(26))),
    ("a factor of a hash forgotten", WALK_HASHES, "mad.lo.s32", "v_mul_lo_u32", First, Removed),
    ("half a sum", WALK, BLOCK, "v_add_co_u32", Last, Removed),
    ("a word is stored four bytes on", WALK, BLOCK, "global_store_dwordx2", Last, Change::Field(Field::Offset, 4)),
    ("a store is forgotten", WALK, BLOCK, "global_store_dwordx2", First, Removed),
    ("an atomic addition sets bits", WALK, BLOCK, "global_atomic_add_x2", Last, Operation("global_atomic_or_x2")),
    ("an atomic addition returns nothing", WALK, BLOCK, "global_atomic_add_x2", Last, Change::Field(Field::Sc0, 0)),
    ("a comparison of the other side", WALK, BLOCK, "v_cmp_ge_u64", Last, Operation("v_cmp_lt_u64")),
    ("lanes go on that branch", WALK, BLOCK, "s_andn2_b64", First, Operation("s_and_b64")),
    ("lanes come back at no label", WALK, BLOCK, "v_cmp_eq_u32_e64 s[24:25], v13", First, Removed),
    ("lanes that leave the wave are still with it", WALK, "depart", "s_andn2_b64", Last, Removed),
    ("lanes that leave the wave have no number", WALK, "depart", "v_mov_b32", First, Removed),
    ("lanes do not come back to the wave", WALK, "rejoin", "s_or_b64", First, Removed),
    ("lanes come back to the wave at another place", WALK, "rejoin", "v_mov_b32", First, Operand(1, Value::Literal(99))),
    ("half a mask of active lanes", WALK_EVENTS, "activemask", ", exec_hi", First, Removed),
    ("the rank among 32 lanes", WALK_EVENTS, "mbcnt", "v_mbcnt_hi_u32_b32", First, Removed),
    ("events are not counted", WALK_EVENTS, "%clock", "s_add_u32", First, Removed),
    ("state in a slot is not loaded", WALK_SCARCE, BIT, "v_accvgpr_read_b32", First, Removed),
    ("state in a slot is not stored", WALK_SCARCE, BIT, "v_accvgpr_write_b32", First, Removed),
    ("a borrowed register is not given back", WALK_SCARCE, BIT, "v_readlane_b32 s80", Last, Removed),
    ("a borrowed register is not kept", WALK_SCARCE, BIT, "v_writelane_b32 v0, s80", First, Removed),
    ("a register of the function is not restored", FULL, BLOCK, "scratch_load_b32", Last, Removed),
    ("a load of gfx12 is not waited for", ROLES, BLOCK, "s_wait_loadcnt", Last, Removed),
    ("a register of the function is not saved", FULL, BLOCK, "scratch_store_b32", First, Removed),
    ("a lane's byte of its hash is not stored", WALK_HASHES, "st.global.cg.u8", "global_store_byte", Last, Removed),
    ("a hash is not merged with those of other lanes", WALK_HASHES, "st.global.cg.u8", "global_atomic_add", Last, Removed),
];

const fn vector(first: u8) -> Value {
    Value::Registers { bank: Bank::Vector, first, count: 1 }
}

/// The instruction with a planted fault.
fn planted(code: &InsertedPieces<'_>, inst: &Inst, change: Change) -> Inst {
    let assemble = |encoding, name, operands: &[Value]| {
        Inst::assemble(code.target, code.lanes, encoding, name, operands, &[]).unwrap()
    };
    let mut operands: Vec<Value> = inst.operands().iter().map(|operand| operand.value).collect();
    let encoding = inst.encoding().unwrap();
    match change {
        Removed => assemble(Encoding::Sopp, "s_nop", &[Value::Immediate(0)]),
        Operation(name) => match inst.address() {
            // What stands beside the operands.
            Some(_) => {
                let kept = [Field::Offset, Field::Saddr, Field::Sc0, Field::Sc1].map(|f| (f, inst.get(f)));
                Inst::assemble(code.target, code.lanes, encoding, name, &operands, &kept).unwrap()
            }
            None => assemble(encoding, name, &operands),
        },
        Operand(at, value) => {
            operands[at] = value;
            assemble(encoding, inst.name(), &operands)
        }
        Change::Field(field, value) => inst.set(field, value).unwrap(),
    }
}

/// Plants a fault in the first piece that has its place. Returns what is said of it.
fn plant(code: &InsertedPieces<'_>, fault: &Fault) -> Option<Result<(), String>> {
    let (_, _, of, begin, which, change) = *fault;
    let samples = samples(code.lanes.into());
    for piece in code.pieces {
        let fits = match &piece.work {
            Work::Routine(text) => text.lines.contains(of),
            Work::Depart(_) => of == "depart",
            Work::Rejoin(_) => of == "rejoin",
        };
        let insts = decode(code, &code.words[piece.words.clone()]).unwrap();
        let mut places = (0..insts.len()).filter(|at| insts[*at].inst.print().contains(begin));
        let place = match which {
            First => places.next(),
            Last => places.next_back(),
        };
        let Some(place) = place.filter(|_| fits) else { continue };
        let at: usize = insts[..place].iter().map(|step| step.inst.words().len()).sum();
        let (old, new) = (insts[place].inst, planted(code, &insts[place].inst, change));
        let mut words = code.words.to_vec();
        let nop = planted(code, &old, Removed).words()[0];
        let to = &mut words[piece.words.start + at..][..old.words().len()];
        to.fill(nop);
        to[..new.words().len()].copy_from_slice(new.words());
        let one = InsertedPieces { words: &words, pieces: std::slice::from_ref(piece), ..*code };
        return Some(verify(&samples, &one));
    }
    None
}

#[test]
fn planted_faults_are_found() {
    for fault in FAULTS {
        let (what, (object, level, registers), ..) = fault;
        let said = RefCell::new(None);
        let plant_it = |code: &InsertedPieces<'_>| {
            let mut said = said.borrow_mut();
            *said = said.take().or_else(|| plant(code, fault));
            Ok(())
        };
        with_code(object, *level, *registers, &plant_it).unwrap();
        match said.into_inner() {
            Some(result) => assert!(result.is_err(), "{what}: it is not found"),
            None => panic!("{what}: there is no such place"),
        }
    }
}
