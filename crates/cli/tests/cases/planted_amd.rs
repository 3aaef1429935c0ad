//! Planted faults in AMD's machine code: the oracles of its corpus must notice a wrong CPU device and wrong
//! instrumented code.
//!
//! There are two tables. *Device*: an instruction of a code object is changed as if the device executed
//! another operation, other operands or another modifier, or did not execute it. The result runs against the
//! kernel's reference, or under every check. *Code*: an inserted instruction is changed in the rewritten
//! object, as if the lowering had the fault. The verifier is not asked. The result runs against hooks.
//!
//! # Invariants
//! - A change is as long as what it replaces. The changed instruction decodes to what the row names.
//! - The unchanged object passes the same oracle.
//! - A fault that another oracle notices, not the one in its row, fails too.
//!
//! # Limitations
//! - Faults of the hooks are not planted. Faults in inserted code that its verifier notices are planted in
//!   `crates/instrument/src/verify/amdgpu/tests.rs`.

use crate::corpus::root;
use crate::lane_runs::{observe_in, record_sized, same};
use crate::planted_operations::{self as operations, Reference};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Error, ErrorKind, Job, ModuleCode};
use prlx_emu::{Checks, Emulator, Options};
use prlx_instrument::AmdGpu;
use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, Inst, MOST_WORDS, Value};
use prlx_isa::amdgpu::object::CodeObject;
use prlx_plan::RecordingRequest;
use prlx_trace::check::Kind;
use prlx_trace::{Level, WarpSize};
use std::path::Path;

/// Seed 0 is the fair schedule.
const SEEDS: &[u64] = &[0, 7];

/// Instructions of a launch, at most.
const STEPS: u64 = 5_000_000;

/// Where the code is, and what its results must be.
#[derive(Clone, Copy)]
enum Code {
    /// A kernel of `tests/kernels/cuda` that clang compiled for gfx942. Its launch file has the results.
    Corpus(&'static str),
    /// A kernel of `operations.hip` for a target.
    Operations(&'static str, &'static str),
}
use Code::Corpus;

/// Which of the instructions that contain the text are changed.
#[derive(Clone, Copy)]
enum Which {
    /// The first, in the order of the text.
    First,
    /// The last, in the order of the text.
    Last,
    /// All of them.
    All,
}
use Which::{All, First, Last};

/// What is planted in place of an instruction.
#[derive(Clone, Copy)]
enum Change {
    /// Nothing: it is not executed.
    Removed,
    /// An operation of the same encoding, with the same fields.
    Operation(&'static str),
    /// Another value of an operand.
    Operand(usize, Value),
    /// Other values of fields.
    Fields(&'static [(Field, u32)]),
    /// Another word after the instruction.
    Literal(u32),
    /// Two fields have each other's value.
    Swapped(Field, Field),
    /// Other instructions, which are as long together.
    Others(&'static [(Encoding, &'static str, &'static [Value])]),
}
use Change::{Fields, Operand, Operation, Others, Removed, Swapped};

/// What notices a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Oracle {
    /// Results are not those of the reference, under every seed.
    Results,
    /// The launch fails, under every seed.
    Fault,
    /// A check reports this, and the unchanged code has no finding.
    Finding(Kind),
}
use Oracle::{Fault, Finding, Results};

/// A planted fault: what is wrong, the code, the text of the instruction, which one, the change, and what
/// notices.
type Row = (&'static str, Code, &'static str, Which, Change, Oracle);

/// A vector register.
const fn v(first: u8) -> Value {
    Value::Registers { bank: Bank::Vector, first, count: 1 }
}

/// `count` scalar registers from `s[first]` on.
const fn s(first: u8, count: u8) -> Value {
    Value::Registers { bank: Bank::Scalar, first, count }
}

/// The integer 0.
const ZERO: Value = Value::Integer(0);

/// A kernel of `operations.hip` for gfx942.
const fn cdna(kernel: &'static str) -> Code {
    Code::Operations(kernel, "gfx942")
}

/// A kernel of `operations.hip` for gfx1100.
const fn rdna(kernel: &'static str) -> Code {
    Code::Operations(kernel, "gfx1100")
}

const REDUCE: Code = Corpus("reduce_atomic");
const SCAN: Code = Corpus("scan_warp");
const MATH64: Code = Corpus("math64");
const DIVISION: Code = Corpus("integer_division");
const SOFTMAX: Code = Corpus("softmax");
const HISTOGRAM: Code = Corpus("histogram_shared");
const DOT: Code = Corpus("dot_double");
const TREE: Code = Corpus("reduce_tree");
const TILED: Code = Corpus("gemm_tiled");

#[rustfmt::skip]
const DEVICE: &[Row] = &[
    // Scalar operations, SCC and masks.
    ("s_addc adds no carry", REDUCE, "s_addc_u32 s13", First, Operation("s_add_u32"), Results),
    ("s_subb subtracts no borrow", cdna("scalars"), "s_subb_u32", First, Operation("s_sub_u32"), Results),
    ("s_min without a sign", REDUCE, "s_min_i32", First, Operation("s_min_u32"), Results),
    ("s_bcnt1 counts zeros", REDUCE, "s_bcnt1_i32_b64", First, Operation("s_bcnt0_i32_b64"), Results),
    ("s_cmp_lt with a sign", cdna("scalars"), "s_cmp_lt_u32", First, Operation("s_cmp_lt_i32"), Results),
    ("s_cselect takes the other source", cdna("scalars"), "s_cselect_b32", First, Swapped(Field::Ssrc0, Field::Ssrc1), Results),
    ("s_bfe without a sign", cdna("scalars"), "s_bfe_i32", First, Operation("s_bfe_u32"), Results),
    ("s_mul_hi with a sign", cdna("scalars"), "s_mul_hi_u32", First, Operation("s_mul_hi_i32"), Results),
    ("s_lshr_b64 with a sign", cdna("scalars"), "s_lshr_b64", First, Operation("s_ashr_i64"), Results),
    ("s_lshl_b64 the other way", cdna("scalars"), "s_lshl_b64", First, Operation("s_lshr_b64"), Results),
    ("s_and_saveexec leaves EXEC", REDUCE, "s_and_saveexec_b64 s[0:1], vcc", First, Operation("s_mov_b64"), Results),
    ("s_andn2_saveexec as s_and_saveexec", cdna("branches"), "s_andn2_saveexec_b64", First, Operation("s_and_saveexec_b64"), Results),
    ("EXEC is not given back", cdna("branches"), "s_or_b64 exec, exec", Last, Removed, Results),
    ("s_andn2 on EXEC as s_and", SCAN, "s_andn2_b64 exec, exec, s[8:9]", Last, Operation("s_and_b64"), Fault),
    // Carries of lanes, selections and comparisons.
    ("v_addc_co adds no carry", cdna("carries"), "v_addc_co_u32_e32 v7, vcc, 0, v8", First, Operation("v_add_co_u32"), Results),
    ("v_subb_co subtracts no borrow", cdna("carries"), "v_subb_co_u32_e32", Last, Operation("v_sub_co_u32"), Results),
    ("v_add_co_ci adds no carry", rdna("carries"), "v_add_co_ci_u32_e32 v8", First, Operation("v_add_nc_u32"), Results),
    ("v_subbrev_co subtracts no borrow", SCAN, "v_subbrev_co_u32_e64", First, Operation("v_subrev_co_u32"), Results),
    ("v_cndmask takes the other source", SCAN, "v_cndmask_b32_e64 v4, v7, v4", First, Swapped(Field::Src0, Field::Src1), Results),
    ("v_cmp of 64 bits compares the low half", MATH64, "v_cmp_lt_i64", First, Operation("v_cmp_lt_i32"), Results),
    ("v_cmp includes equality", SCAN, "v_cmp_gt_u32_e64 s[0:1], 2,", First, Operation("v_cmp_ge_u32"), Results),
    // Other lanes.
    ("ds_bpermute sends instead of reading", SCAN, "ds_bpermute_b32", All, Operation("ds_permute_b32"), Results),
    ("ds_permute without its offset", cdna("lanes"), "ds_permute_b32", First, Fields(&[(Field::Offset0, 0)]), Results),
    ("ds_swizzle exchanges other lanes", cdna("lanes"), "ds_swizzle_b32", First, Fields(&[(Field::Offset1, 8)]), Results),
    ("v_readlane reads lane 0", REDUCE, "v_readlane_b32 s6", First, Operand(2, ZERO), Results),
    ("v_mbcnt_hi ignores its mask", SCAN, "v_mbcnt_hi_u32_b32", First, Operand(1, ZERO), Results),
    ("row_shr the other way", cdna("rows"), "row_shr:1", First, Fields(&[(Field::DppCtrl, 0x101)]), Results),
    ("a lane without a source gets 0", cdna("rows"), "row_shr:1", First, Fields(&[(Field::Bc, 1)]), Results),
    ("row_mirror within halves of a row", cdna("rows"), "row_mirror", First, Fields(&[(Field::DppCtrl, 0x141)]), Results),
    ("a mask of banks is ignored", cdna("rows"), "quad_perm", First, Fields(&[(Field::BankMask, 15)]), Results),
    ("DPP8 leaves lanes as they are", rdna("crossed"), "dpp8", First, Fields(&[(Field::DppSel, 0xfac688)]), Results),
    ("v_permlanex16 stays in its row", rdna("crossed"), "v_permlanex16_b32", First, Operation("v_permlane16_b32"), Results),
    ("row_xmask with another mask", rdna("crossed"), "row_xmask:3", First, Fields(&[(Field::DppCtrl, 0x161)]), Results),
    // Memory.
    ("an offset in LDS is ignored", cdna("shared"), "ds_write_b32", Last, Fields(&[(Field::Offset0, 0)]), Results),
    ("a second offset in LDS is ignored", cdna("tiles"), "ds_read2_b32", First, Fields(&[(Field::Offset1, 63)]), Results),
    ("a second offset in LDS has another unit", cdna("tiles"), "ds_write2st64_b32", First, Operation("ds_write2_b32"), Results),
    ("ds_add stores", HISTOGRAM, "ds_add_u32", First, Operation("ds_write_b32"), Results),
    ("ds_max without a sign", cdna("shared"), "ds_max_i32", First, Operation("ds_max_u32"), Results),
    ("ds_or keeps bits", cdna("shared"), "ds_or_rtn_b32", First, Operation("ds_and_rtn_b32"), Results),
    ("ds_cmpst compares with what it stores", cdna("shared"), "ds_cmpst_rtn_b32", First, Swapped(Field::Data0, Field::Data1), Results),
    ("global_atomic_smin without a sign", REDUCE, "global_atomic_smin", First, Operation("global_atomic_umin"), Results),
    ("global_atomic_add returns nothing", REDUCE, "global_atomic_add v1", First, Fields(&[(Field::Sc0, 0)]), Results),
    ("global_atomic_add of 64 bits adds 32", cdna("counted"), "global_atomic_add_x2", First, Operation("global_atomic_add"), Results),
    ("global_load_sbyte without a sign", cdna("parts"), "global_load_sbyte", First, Operation("global_load_ubyte"), Results),
    ("global_load_sshort without a sign", cdna("parts"), "global_load_sshort", First, Operation("global_load_ushort"), Results),
    ("global_store_byte stores two", cdna("parts"), "global_store_byte", First, Operation("global_store_short"), Fault),
    ("an offset in memory is ignored", cdna("halves"), "global_load_dword v2", First, Fields(&[(Field::Offset, 0)]), Results),
    // Integers.
    ("v_lshlrev_b64 the other way", MATH64, "v_lshlrev_b64 v[18:19]", First, Operation("v_lshrrev_b64"), Results),
    ("v_ashrrev_i64 without a sign", DIVISION, "v_ashrrev_i64", First, Operation("v_lshrrev_b64"), Results),
    ("v_mad_u64_u32 adds nothing", MATH64, "v_mad_u64_u32 v[8:9]", First, Operand(4, ZERO), Results),
    ("v_mad_u64_u32 with signs", MATH64, "v_mad_u64_u32 v[8:9]", First, Operation("v_mad_i64_i32"), Results),
    ("v_mul_hi with a sign", MATH64, "v_mul_hi_u32 v2, v10, v4", First, Operation("v_mul_hi_i32"), Results),
    ("v_bfe without a sign", cdna("parts"), "v_bfe_i32", First, Operation("v_bfe_u32"), Results),
    ("SDWA takes another byte", cdna("parts"), "v_mul_u32_u24_sdwa", First, Fields(&[(Field::Src0Sel, 1)]), Results),
    ("v_lshl_add_u64 does not shift", MATH64, "v_lshl_add_u64", First, Operand(1, s(6, 2)), Results),
    ("v_ffbh counts from the other end", MATH64, "v_ffbh_u32_e32 v27", First, Operation("v_ffbl_b32"), Results),
    // Floating point.
    ("v_fma rounds twice", cdna("divided"), "v_fma_f32 v3", First, Others(&[
        (Encoding::Vop2, "v_mul_f32", &[v(3), v(3), v(7)]),
        (Encoding::Vop2, "v_sub_f32", &[v(3), v(5), v(3)])]), Results),
    ("v_div_fixup repairs nothing", cdna("divided"), "v_div_fixup_f32", First, Others(&[
        (Encoding::Vop1, "v_mov_b32", &[v(1), v(3)]),
        (Encoding::Sopp, "s_nop", &[Value::Immediate(0)])]), Results),
    ("v_div_fmas does not scale", cdna("divided"), "v_div_fmas_f32", First, Operation("v_fma_f32"), Results),
    ("v_div_scale scales nothing", cdna("divided"), "v_div_scale_f32 v3", First, Others(&[
        (Encoding::Vop1, "v_mov_b32", &[v(3), v(2)]),
        (Encoding::Sopp, "s_nop", &[Value::Immediate(0)])]), Results),
    ("a sign that a modifier changes", cdna("divided"), "v_fma_f32 v7", First, Fields(&[(Field::Neg, 0)]), Results),
    ("v_med3 takes the smallest", cdna("divided"), "v_med3_f32", First, Operation("v_min3_f32"), Results),
    ("v_ldexp as a product", SOFTMAX, "v_ldexp_f32", All, Operation("v_mul_f32"), Results),
    ("v_rndne rounds towards zero", cdna("converted"), "v_rndne_f32", First, Operation("v_trunc_f32"), Results),
    ("v_cvt of an integer without its sign", cdna("converted"), "v_cvt_f32_i32", First, Operation("v_cvt_f32_u32"), Results),
    ("v_cvt to an integer without a sign", cdna("converted"), "v_cvt_i32_f32", First, Operation("v_cvt_u32_f32"), Results),
    ("v_cvt of a byte takes another", cdna("pairs"), "v_cvt_f32_ubyte1_e32 v4", First, Operation("v_cvt_f32_ubyte2"), Results),
    ("v_add_f64 rounds to zero", DOT, "v_add_f64", All, Operation("v_max_f64"), Results),
    ("MODE is not written", cdna("modes"), "s_setreg_imm32_b32", First, Removed, Results),
    ("MODE stays", cdna("modes"), "s_setreg_imm32_b32", Last, Removed, Results),
    ("MODE rounds the other way", rdna("modes"), "s_setreg_imm32_b32", First, Change::Literal(2), Results),
    // Halves, pairs and matrices.
    ("op_sel is ignored", cdna("halves"), "v_pk_fma_f16", First, Fields(&[(Field::OpSel, 0)]), Results),
    ("op_sel_hi is ignored", cdna("halves"), "v_pk_fma_f16", First, Fields(&[(Field::OpSelHi, 3)]), Results),
    ("neg_hi is ignored", cdna("halves"), "v_pk_add_f16", First, Fields(&[(Field::NegHi, 0)]), Results),
    ("the second of two floats is the first", cdna("pairs"), "v_pk_fma_f32", First, Fields(&[(Field::OpSelHi, 0)]), Results),
    ("one result of two operations is read by the other", rdna("crossed"), "v_dual_mov_b32 v4, v1", First, Others(&[
        (Encoding::Vop2, "v_lshlrev_b32", &[v(1), Value::Integer(8), v(2)]),
        (Encoding::Vop1, "v_mov_b32", &[v(4), v(1)])]), Results),
    ("MFMA with A and B exchanged", cdna("matrix"), "v_mfma_f32_16x16x4_f32", First, Swapped(Field::Src0, Field::Src1), Results),
    ("MFMA adds to nothing", cdna("matrix"), "v_mfma_f32_16x16x4_f32", First, Operand(3, ZERO), Results),
    ("MFMA with blocks of 4 by 4", cdna("matrix"), "v_mfma_f32_16x16x4_f32", First, Operation("v_mfma_f32_4x4x1_16b_f32"), Results),
    ("WMMA with A and B exchanged", rdna("matrix"), "v_wmma_f32_16x16x16_f16", First, Swapped(Field::Src0, Field::Src1), Results),
    // Waits and barriers.
    ("a load is not waited for", REDUCE, "s_waitcnt vmcnt(0)", First, Removed, Finding(Kind::RegisterTooEarly)),
    ("a wait for another counter", REDUCE, "s_waitcnt vmcnt(0)", First, Fields(&[(Field::Simm16, 0xc07f)]), Finding(Kind::RegisterTooEarly)),
    ("a wait for one load too few", cdna("parts"), "s_waitcnt vmcnt(2)", First, Fields(&[(Field::Simm16, 0x0f73)]), Finding(Kind::RegisterTooEarly)),
    ("a permutation is not waited for", SCAN, "s_waitcnt lgkmcnt(0)", Last, Removed, Finding(Kind::RegisterTooEarly)),
    ("scalar loads are not waited for", rdna("rows"), "s_waitcnt lgkmcnt(0)", First, Removed, Finding(Kind::RegisterTooEarly)),
    ("a barrier is not executed", HISTOGRAM, "s_barrier", Last, Removed, Finding(Kind::Race)),
    ("the first barrier is not executed", HISTOGRAM, "s_barrier", First, Removed, Finding(Kind::Race)),
    // Wait states, and waits for internal counters.
    ("wait states behind VCC are missing", DOT, "s_nop 1", First, Fields(&[(Field::Simm16, 0)]), Finding(Kind::Hazard)),
    ("wait states behind a product are missing", cdna("matrix"), "s_nop 9", First, Fields(&[(Field::Simm16, 0)]), Finding(Kind::Hazard)),
    ("a transcendental result is not waited for", rdna("divided"), "s_waitcnt_depctr", First, Removed, Finding(Kind::Hazard)),
    // Values that nothing writes.
    ("bins in LDS are not set to zero", HISTOGRAM, "ds_write_b32 v2, v1", First, Removed, Finding(Kind::UndefinedUpdate)),
    ("a constant is not set", HISTOGRAM, "v_mov_b32_e32 v3, 1", First, Removed, Finding(Kind::UndefinedStore)),
    ("sums of warps are not stored to LDS", SCAN, "ds_write_b32 v7, v6", First, Removed, Finding(Kind::UndefinedStore)),
    ("a sum in LDS is not stored", DOT, "ds_write_b64", First, Removed, Finding(Kind::UndefinedStore)),
    ("a first maximum is not set", SOFTMAX, "v_mov_b32_e32 v4, 0xff800000", All, Removed, Finding(Kind::UndefinedStore)),
    ("the greatest value is not stored to LDS", SOFTMAX, "ds_write_b32", First, Removed, Finding(Kind::UndefinedStore)),
    ("an element of a tile is not stored", TILED, "ds_write_b32", First, Removed, Finding(Kind::UndefinedStore)),
    ("elements of the other tile are not stored", TILED, "ds_write_b32", Last, Removed, Finding(Kind::UndefinedStore)),
    ("elements of a tree are not stored", TREE, "ds_write_b32", First, Removed, Finding(Kind::UndefinedStore)),
];

/// What notices a fault in inserted code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recorded {
    /// Lanes' streams are not those of the hooks.
    Streams,
    /// The host finds bytes in the pool that no recorder writes, or drops records.
    Damage,
    /// The launch fails.
    Failure,
}
use Recorded::{Damage, Failure, Streams};

/// A fault planted in the copy of `find_beats` of `examples/threshold/amd`: what is wrong, the level, the
/// text of the instruction, which one, the change, and what notices.
type InCode = (&'static str, Level, &'static str, Which, Change, Recorded);

#[rustfmt::skip]
const CODE: &[InCode] = &[
    ("a decision is forgotten", Level::Path, "v_addc_co_u32_e64 v18", First, Removed, Streams),
    ("a decision of all lanes", Level::Path, "v_addc_co_u32_e64 v18", First, Operand(4, s(22, 2)), Streams),
    ("a decision does not shift the word", Level::Path, "v_addc_co_u32_e64 v18", First, Operand(2, ZERO), Streams),
    ("the last word is not stored", Level::Path, "global_store_dword v[22:23], v18", First, Removed, Streams),
    ("lanes beyond 32 have no place", Level::Path, "v_mbcnt_hi_u32_b32", Last, Operand(1, ZERO), Streams),
    ("half a mask of lanes", Level::Events, "v_mov_b32_e32 v19, exec_hi", All, Operand(1, ZERO), Streams),
    ("a word of an event lies elsewhere", Level::Events, "v[22:23], off offset:16", First, Fields(&[(Field::Offset, 0)]), Damage),
    ("all lanes but the first store an event", Level::Events, "v_cmp_eq_u32_e64 s[26:27], v21, 0", First, Operation("v_cmp_ne_u32"), Streams),
    ("an event has the lanes that do not go on", Level::Events, "s_and_b64 s[26:27], exec, s[24:25]", First, Operation("s_andn2_b64"), Streams),
    ("events are not counted", Level::Events, "s_add_u32 s38, s38, 1", All, Removed, Streams),
    ("a hash is rotated by one bit less", Level::Fingerprint, "v_alignbit_b32 v18, v18", First, Operand(3, Value::Integer(26)), Streams),
    ("a factor of a hash is forgotten", Level::Fingerprint, "v_mul_lo_u32 v10, v18, v13", First, Operand(2, Value::Integer(1)), Streams),
    ("a byte of a hash is not stored", Level::Fingerprint, "global_store_byte", Last, Removed, Streams),
];

/// One trial for each planted fault, and one for each kernel of `operations.hip`.
pub fn trials() -> Vec<Trial> {
    let device = DEVICE.iter().map(|row| Trial::test(format!("planted/amd: {}", row.0), || in_device(row)));
    let whole = operations::KERNELS.iter().flat_map(|(kernel, targets, _)| {
        targets.iter().map(move |target| {
            let run = move || unchanged(Code::Operations(kernel, target));
            Trial::test(format!("planted/amd operations: {kernel} {target}"), run)
        })
    });
    let code = CODE.iter().map(|row| Trial::test(format!("planted/amd code: {}", row.0), || in_code(row)));
    device.chain(whole).chain(code).collect()
}

fn content(file: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(file).map_err(|e| Error::new(ErrorKind::Module, format!("{}: {e}", file.display())))
}

/// A launch, and the results of kernels whose launch file has none.
fn load(code: Code) -> Result<(Job, Option<Reference>), Failed> {
    let kernels = root().join("tests/kernels");
    match code {
        Corpus(name) => {
            let folder = kernels.join("cuda").join(name);
            let text = std::fs::read_to_string(folder.join("launch.toml"))?;
            let rest = text.lines().filter(|line| !line.starts_with("module")).collect::<Vec<_>>().join("\n");
            let module = format!("{name}.gfx942.co");
            let object = kernels.join("amd/corpus").join(&module);
            let read = |file: &str| content(&if file == module { object.clone() } else { folder.join(file) });
            Ok((Job::parse("launch.toml", &format!("module = '{module}'\n{rest}"), &read)?, None))
        }
        Code::Operations(kernel, target) => {
            let input = operations::input(kernel);
            let text = format!(
                "module = 'operations.{target}.co'\nkernel = '{kernel}'\ngrid = 1\nblock = 64\n\
                 [[arg]]\nname = 'in'\ntype = 'u32'\narray = {input:?}\n\
                 [[arg]]\nname = 'out'\ntype = 'u32'\nfill = {}\nlen = 128\nout = true\n",
                operations::FILL
            );
            let read = |file: &str| content(&kernels.join("amd").join(file));
            let reference = operations::reference(kernel, target, &input)?;
            Ok((Job::parse("launch.toml", &text, &read)?, Some(reference)))
        }
    }
}

/// What the oracle says of a run, or `None` if nothing.
fn noticed(job: &Job, reference: Option<&Reference>, checks: Checks) -> Result<Option<Oracle>, Failed> {
    let mut device = Emulator::new(Options { threads: 1, checks, max_steps: STEPS, ..Options::default() });
    let Ok(run) = prlx_driver::run(&mut device, job) else { return Ok(Some(Fault)) };
    let findings = device.take_findings();
    if let Some(finding) = findings.list.first() {
        return Ok(Some(Finding(finding.kind)));
    }
    if let Some(reference) = reference {
        let out = run.outputs.first().ok_or("the kernel has no output")?;
        let got: Vec<u32> = out.bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        return Ok((got != *reference).then_some(Results));
    }
    let compared: Vec<_> = run.outputs.iter().filter_map(|o| o.expect.as_ref()).collect();
    if compared.is_empty() {
        return Err("the kernel has no reference".into());
    }
    Ok(compared.iter().any(|c| c.wrong > 0).then_some(Results))
}

/// The oracle of a row has nothing against the unchanged code.
fn unchanged(code: Code) -> Result<(), Failed> {
    let (mut job, reference) = load(code)?;
    for checks in [Checks::NONE, Checks::all()] {
        for &seed in SEEDS {
            job.config.seed = seed;
            if let Some(by) = noticed(&job, reference.as_ref(), checks)? {
                return Err(format!("the unchanged code does not pass under seed {seed}: {by:?}").into());
            }
        }
    }
    Ok(())
}

fn in_device((_, code, find, which, change, oracle): &Row) -> Result<(), Failed> {
    unchanged(*code)?;
    let (mut job, reference) = load(*code)?;
    let kernel = job.kernel.clone();
    let object = job.object.as_mut().ok_or("the module is no code object")?;
    plant(&mut object.bytes, &kernel, find, *which, *change)?;
    let checks = if matches!(oracle, Results | Fault) { Checks::NONE } else { Checks::all() };
    for &seed in SEEDS {
        job.config.seed = seed;
        match noticed(&job, reference.as_ref(), checks)? {
            Some(by) if by == *oracle => {}
            other => return Err(format!("under seed {seed} it is noticed by {other:?}").into()),
        }
    }
    Ok(())
}

fn in_code((_, level, find, which, change, oracle): &InCode) -> Result<(), Failed> {
    let job = Job::load(&root().join("examples/threshold/amd/good.toml"))?;
    let object = &job.object.as_ref().ok_or("the module is no code object")?.bytes;
    let request = RecordingRequest::new(*level);
    let rewrite = prlx_instrument::rewrite_object(&AmdGpu, object, &job.module, &request, &|_| None)?;
    let hooks = observe_in(WarpSize::W32, &job, &rewrite.plan)?;
    let code = rewrite.object.as_ref().ok_or("nothing was rewritten")?;
    let run = |bytes: &[u8]| -> Result<Option<(Recorded, String)>, Failed> {
        let code = ModuleCode::Object(code.set, bytes);
        let run = match record_sized(WarpSize::W32, &job, code, &rewrite.plan, 8 << 20) {
            Ok(run) => run,
            Err(e) => return Ok(Some((Failure, e.to_string()))),
        };
        if run.damaged || run.launch.totals.dropped > 0 {
            return Ok(Some((Damage, format!("{} records are dropped", run.launch.totals.dropped))));
        }
        Ok(same(*level, &hooks, &run).err().map(|e| (Streams, e.to_string())))
    };
    if let Some((by, what)) = run(&code.bytes)? {
        return Err(format!("the unchanged code does not pass ({by:?}): {what}").into());
    }
    let mut bad = code.bytes.clone();
    plant(&mut bad, &format!("{}.prlx", job.kernel), find, *which, *change)?;
    match run(&bad)? {
        Some((by, _)) if by == *oracle => Ok(()),
        Some((by, what)) => Err(format!("noticed by {by:?}, not {oracle:?}: {what}").into()),
        None => Err("not noticed".into()),
    }
}

/// Changes instructions of a kernel in an object.
fn plant(bytes: &mut [u8], kernel: &str, find: &str, which: Which, change: Change) -> Result<(), Failed> {
    let object = CodeObject::read(bytes)?;
    let kernel = object.kernels.iter().find(|k| k.name == kernel).ok_or("there is no such kernel")?;
    let lanes = kernel.descriptor.wave_size() as u8;
    let target = kernel.descriptor.target();
    let code = object.code(kernel);
    // The slice is a part of the file.
    let begin = code.as_ptr() as usize - object.bytes.as_ptr() as usize;
    let words: Vec<u32> = code.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(inst) = Inst::decode(target, lanes, &words[at..]) {
        if inst.print().contains(find) {
            places.push((at, inst));
        }
        at += inst.words().len();
    }
    let chosen = match which {
        First => places.first().into_iter().collect(),
        Last => places.last().into_iter().collect(),
        All => places.iter().collect::<Vec<_>>(),
    };
    if chosen.is_empty() {
        return Err(format!("there is no `{find}`").into());
    }
    let mut changes = Vec::new();
    for (at, inst) in chosen {
        let new = changed(inst, change).ok_or_else(|| format!("`{}` cannot be changed so", inst.print()))?;
        if new.len() != inst.words().len() || new == inst.words() {
            return Err(format!("`{}` becomes {new:x?}, not another of its length", inst.print()).into());
        }
        changes.push((begin + 4 * at, new));
    }
    for (at, new) in changes {
        let to = bytes.get_mut(at..at + 4 * new.len()).ok_or("the code is outside of the file")?;
        to.copy_from_slice(&new.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    }
    Ok(())
}

/// The words in place of an instruction.
fn changed(inst: &Inst, change: Change) -> Option<Vec<u32>> {
    let (target, lanes) = (inst.target(), inst.lanes());
    let new = match change {
        Removed => return Some(vec![nop(target, lanes)?; inst.words().len()]),
        Others(list) => {
            let all = list.iter().map(|(encoding, name, operands)| {
                Some(Inst::assemble(target, lanes, *encoding, name, operands, &[])?.words().to_vec())
            });
            return Some(all.collect::<Option<Vec<_>>>()?.concat());
        }
        Operation(name) => of_fields(inst, name).or_else(|| {
            let operands: Vec<Value> = inst.operands().iter().map(|operand| operand.value).collect();
            Inst::assemble(target, lanes, inst.encoding()?, name, &operands, &[])
        })?,
        Fields(list) => list.iter().try_fold(*inst, |inst, (field, value)| inst.set(*field, *value))?,
        Swapped(a, b) => inst.set(a, inst.get(b))?.set(b, inst.get(a))?,
        Change::Literal(bits) => {
            let mut words = inst.words().to_vec();
            *words.last_mut()? = bits;
            Inst::decode(target, lanes, &words).filter(|new| new.name() == inst.name())?
        }
        Operand(at, value) => {
            let mut operands: Vec<Value> = inst.operands().iter().map(|operand| operand.value).collect();
            *operands.get_mut(at)? = value;
            Inst::assemble(target, lanes, inst.encoding()?, inst.name(), &operands, &[])?
        }
    };
    Some(new.words().to_vec())
}

fn nop(target: Target, lanes: u8) -> Option<u32> {
    Inst::assemble(target, lanes, Encoding::Sopp, "s_nop", &[Value::Immediate(0)], &[])?
        .words()
        .first()
        .copied()
}

/// An operation of the same encoding with the same fields and the same literal.
fn of_fields(inst: &Inst, name: &str) -> Option<Inst> {
    let (target, lanes) = (inst.target(), inst.lanes());
    let empty = Inst::new(target, lanes, inst.encoding()?, name)?;
    // Fields that the encoding does not have are 0 in both.
    let new = Field::ALL.iter().try_fold(empty, |new, &field| match inst.get(field) {
        value if value == new.get(field) => Some(new),
        value => new.set(field, value),
    })?;
    let mut words = [0; MOST_WORDS];
    words[..inst.words().len()].copy_from_slice(inst.words());
    let base = empty.words().len();
    words[..base].copy_from_slice(&new.words()[..base]);
    let new = Inst::decode(target, lanes, &words[..inst.words().len()])?;
    (new.name() == name).then_some(new)
}
