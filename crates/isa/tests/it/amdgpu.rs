//! Machine instructions of AMD: a sample of words with LLVM's text, and registers worked out by hand.

use std::fs;
use std::path::Path;

use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, IndexMode, Inst, Reg};

fn lanes(target: Target) -> u8 {
    if target.has_wave(32) { 32 } else { 64 }
}

fn decode(target: Target, words: &[u32]) -> Inst {
    Inst::decode(target, lanes(target), words).expect("there are words")
}

/// Every line of `tests/amdgpu/TARGET.txt` decodes to its text and back to its words.
#[test]
fn sample_has_the_text_of_llvm() {
    let mut compared = 0;
    for target in Target::all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/amdgpu/{target}.txt"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (words, wanted) = line.split_once(" | ").expect("words | text");
            let words: Vec<u32> =
                words.split(' ').map(|word| u32::from_str_radix(word, 16).expect("hexadecimal")).collect();
            let inst = decode(target, &words);
            if wanted == "-" {
                assert!(inst.is_opaque(), "{target} {line}: {}", inst.print());
                assert_eq!(inst.words(), &words[..1]);
            } else {
                assert_eq!(inst.print(), wanted, "{target} {line}");
                assert_eq!(inst.words(), words, "{target} {line}");
            }
            compared += 1;
        }
    }
    assert!(compared > 5000, "{compared} lines");
}

/// All prefixes of an instruction decode, and none reads beyond its end.
#[test]
fn short_input_is_opaque() {
    assert_eq!(Inst::decode(Target::Gfx942, 64, &[]), None);
    let load = [0xdc508000, 0x007f0002]; // global_load_dword v0, v[2:3], off
    assert!(decode(Target::Gfx942, &load[..1]).is_opaque());
    assert!(!decode(Target::Gfx942, &load).is_opaque());
    let literal = [0x7e0002ff, 0x12345678]; // v_mov_b32_e32 v0, 0x12345678
    assert!(decode(Target::Gfx1100, &literal[..1]).is_opaque());
    assert_eq!(decode(Target::Gfx1100, &literal).words().len(), 2);
}

fn registers(target: Target, lanes: u8, words: &[u32]) -> (Vec<Reg>, Vec<Reg>) {
    let inst = Inst::decode(target, lanes, words).expect("there are words");
    let regs = inst.registers().unwrap_or_else(|| panic!("{}", inst.print()));
    (regs.reads, regs.writes)
}

/// From the manuals: what each of these reads and writes.
#[test]
fn registers_read_and_written() {
    use Reg::{A, ExecHi, ExecLo, M0, Mode, S, Scc, V, VccHi, VccLo};
    // s_add_u32 s0, s1, s2
    let (reads, writes) = registers(Target::Gfx942, 64, &[0x80000201]);
    assert_eq!((reads, writes), (vec![S(1), S(2)], vec![S(0), Scc]));
    // s_and_saveexec_b64 s[4:5], vcc
    let (reads, writes) = registers(Target::Gfx942, 64, &[0xbe84206a]);
    assert_eq!(reads, [VccLo, VccHi, ExecLo, ExecHi]);
    assert_eq!(writes, [S(4), S(5), ExecLo, ExecHi, Scc]);
    // v_add_f32_e32 v1, s3, v2, on waves of 32 and of 64 lanes
    let words = [0x06020403];
    assert_eq!(registers(Target::Gfx1100, 32, &words), (vec![S(3), V(2), ExecLo, Mode], vec![V(1)]));
    assert_eq!(registers(Target::Gfx1100, 64, &words), (vec![S(3), V(2), ExecLo, ExecHi, Mode], vec![V(1)]));
    // v_addc_co_u32_e32 v0, vcc, v1, v2, vcc
    let (reads, writes) = registers(Target::Gfx942, 64, &[0x38000501]);
    assert_eq!(reads, [V(1), V(2), VccLo, VccHi, ExecLo, ExecHi]);
    assert_eq!(writes, [V(0), VccLo, VccHi]);
    // v_fmac_f32_e32 v3, v4, v5 reads its result
    let (reads, writes) = registers(Target::Gfx942, 64, &[0x76060b04]);
    assert_eq!(reads, [V(3), V(4), V(5), ExecLo, ExecHi, Mode]);
    assert_eq!(writes, [V(3)]);
    // global_load_dwordx2 v[4:5], v6, s[8:9] offset:16
    let (reads, writes) = registers(Target::Gfx942, 64, &[0xdc548010, 0x04080006]);
    assert_eq!((reads, writes), (vec![S(8), S(9), V(6), ExecLo, ExecHi], vec![V(4), V(5)]));
    // global_atomic_add v1, v[2:3], v4, off sc0; without sc0 nothing returns
    let (reads, writes) = registers(Target::Gfx942, 64, &[0xdd098000, 0x017f0402]);
    assert_eq!((reads, writes), (vec![V(2), V(3), V(4), ExecLo, ExecHi], vec![V(1)]));
    assert_eq!(registers(Target::Gfx942, 64, &[0xdd088000, 0x017f0402]).1, []);
    // ds_read_b64 v[2:3], v1: from gfx9 on without M0
    let (reads, writes) = registers(Target::Gfx942, 64, &[0xd8ec0000, 0x02000001]);
    assert_eq!((reads, writes), (vec![V(1), ExecLo, ExecHi], vec![V(2), V(3)]));
    // s_load_dwordx4 s[4:7], s[0:1], s12 offset:0x0
    let (reads, writes) = registers(Target::Gfx942, 64, &[0xc00a4100, 0x18000000]);
    assert_eq!((reads, writes), (vec![S(0), S(1), S(12)], vec![S(4), S(5), S(6), S(7)]));
    // v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[4:7]
    let (reads, writes) = registers(Target::Gfx942, 64, &[0xd3c28000, 0x04120501]);
    assert_eq!(reads, [V(1), V(2), A(4), A(5), A(6), A(7), ExecLo, ExecHi, Mode]);
    assert_eq!(writes, [A(0), A(1), A(2), A(3)]);
    // s_cbranch_vccnz, s_cbranch_execz
    assert_eq!(registers(Target::Gfx942, 64, &[0xbf870004]).0, [VccLo, VccHi]);
    assert_eq!(registers(Target::Gfx942, 64, &[0xbf880004]).0, [ExecLo, ExecHi]);
    // ds_gws_init takes its resource from M0
    assert!(registers(Target::Gfx1100, 32, &[0xd8660000, 0x00000001]).0.contains(&M0));
}

/// A pair of operations exists on waves of 32 lanes only. The results have registers of different parity.
#[test]
fn pairs_are_of_waves_of_32_lanes() {
    // opx mul_f32 (3), opy mov_b32 (8): v7 = v10 * v0, and v6 = v33, whose lowest bit is not stored.
    let words = [0xc8d0_010a, 0x0706_0121];
    let pair = Inst::decode(Target::Gfx1100, 32, &words).expect("there are words");
    assert_eq!(pair.print(), "v_dual_mul_f32 v7, v10, v0 :: v_dual_mov_b32 v6, v33");
    let regs = pair.registers().expect("known");
    assert_eq!(regs.reads, [Reg::V(0), Reg::V(10), Reg::V(33), Reg::ExecLo, Reg::Mode]);
    assert_eq!(regs.writes, [Reg::V(6), Reg::V(7)]);
    assert!(Inst::decode(Target::Gfx1100, 64, &words).expect("there are words").is_opaque());
}

/// What is not known is `None`: an image's operands, and a register that M0 chooses.
#[test]
fn unknown_registers_are_unknown() {
    let opaque = decode(Target::Gfx942, &[0xffff_ffff]);
    assert!(opaque.is_opaque() && opaque.registers().is_none());
    assert_eq!(opaque.print(), ".long 0xffffffff");
    let image = decode(Target::Gfx1030, &[0xf020_0f00, 0, 0]); // image_store, no further addresses
    assert_eq!((image.name(), image.words().len(), image.registers()), ("image_store", 2, None));
    let more = decode(Target::Gfx1030, &[0xf020_0f02, 0, 0]); // one word of further addresses
    assert_eq!((more.name(), more.words().len()), ("image_store", 3));
    let moved = decode(Target::Gfx1100, &[0xbe80_4001]); // s_movrels_b32 s0, s1
    assert_eq!((moved.name(), moved.registers()), ("s_movrels_b32", None));
}

/// Bytes, counters and shapes, from the manuals.
#[test]
fn effects_are_those_of_the_manuals() {
    use prlx_isa::amdgpu::inst::table::Access;
    let bytes = |target, words: &[u32]| {
        let inst = decode(target, words);
        (inst.access(), inst.access_bytes())
    };
    // global_load_dwordx2, global_atomic_add, ds_read_b64, ds_read2_b32, s_load_dwordx4, v_add_f32
    let gfx942 = Target::Gfx942;
    assert_eq!(bytes(gfx942, &[0xdc548010, 0x04080006]), (Some(Access::Load), Some(8)));
    assert_eq!(bytes(gfx942, &[0xdd088000, 0x017f0402]), (Some(Access::Atomic), Some(4)));
    assert_eq!(bytes(gfx942, &[0xd8ec0000, 0x02000001]), (Some(Access::Load), Some(8)));
    assert_eq!(bytes(gfx942, &[0xd86e0000, 0x02000001]), (Some(Access::Load), Some(8)));
    assert_eq!(bytes(gfx942, &[0xc00a4100, 0x18000000]).1, Some(16));
    assert_eq!(bytes(gfx942, &[0x06020403]), (None, None));
    // v_mfma_f32_4x4x1_16b_f32
    assert_eq!(decode(gfx942, &[0xd3c28000, 0x04120501]).matrix_shape(), Some([4, 4, 1]));
    assert_eq!(decode(gfx942, &[0x06020403]).matrix_shape(), None);
    // s_waitcnt vmcnt(0): the other counters are at their most
    assert_eq!(decode(gfx942, &[0xbf8c0f70]).waits(), [("vmcnt", 0)]);
    assert_eq!(decode(gfx942, &[0xbf8cc07f]).waits(), [("lgkmcnt", 0)]);
    assert_eq!(decode(Target::Gfx1100, &[0xbf8903f7]).waits(), [("vmcnt", 0)]);
    // s_wait_loadcnt_dscnt 0x102: one load, two LDS accesses
    assert_eq!(decode(Target::Gfx1201, &[0xbfc80102]).waits(), [("loadcnt", 1), ("dscnt", 2)]);
}

/// Branches: the offset counts words from the next instruction.
#[test]
fn branches_name_their_targets() {
    let back = decode(Target::Gfx1100, &[0xbfa0fffe]); // s_branch back by two words
    assert_eq!(back.branch_offset(), Some(-2));
    assert_eq!(back.print(), "s_branch 65534");
    assert_eq!(back.print_with(&|words| Some(format!("L{words}"))), "s_branch L-2");
    assert!(back.is_pc_relative());
    let getpc = decode(Target::Gfx942, &[0xbe841c00]); // s_getpc_b64 s[4:5]
    assert!(getpc.is_pc_relative() && getpc.branch_offset().is_none());
    assert!(!decode(Target::Gfx942, &[0x80000201]).is_pc_relative());
}

/// A new instruction gets its operands by fields; what means nothing is refused.
#[test]
fn instructions_are_built_by_fields() {
    let built = Inst::new(Target::Gfx1100, 32, Encoding::Vop2, "v_add_f32").expect("in the table");
    let built = built.set(Field::Src0, 256 + 7).and_then(|i| i.set(Field::Vsrc1, 8)).expect("registers");
    let built = built.set(Field::Vdst, 9).expect("a register");
    assert_eq!((built.words(), built.print().as_str()), (&[0x0612_1107][..], "v_add_f32_e32 v9, v7, v8"));
    assert!(built.set(Field::Src0, 209).is_none(), "209 is no source");
    assert!(built.set(Field::Vdst, 256).is_none(), "nine bits");
    assert!(built.set(Field::Simm16, 0).is_none(), "no such field");
    assert!(Inst::new(Target::Gfx942, 64, Encoding::Vop2, "v_add_f64").is_none());
}

#[test]
fn instructions_behind_s_set_gpr_idx_on_have_no_known_registers() {
    // s_set_gpr_idx_on s5, gpr_idx(DST); v_mov_b32 v0, 0; s_nop 0; s_set_gpr_idx_off; v_mov_b32 v0, 0
    let words = [0xbf11_0805, 0x7e00_0280, 0xbf80_0000, 0xbf9c_0000, 0x7e00_0280];
    let mut mode = IndexMode::default();
    let mut seen = Vec::new();
    for word in words {
        let inst = decode(Target::Gfx942, &[word]).in_mode(mode);
        mode = mode.after(&inst);
        seen.push((inst.indexed(), inst.indexes(), inst.registers().is_some()));
    }
    let vector = Some(Bank::Vector);
    let expected = [(0, None, true), (8, vector, false), (8, None, true), (8, None, true), (0, None, true)];
    assert_eq!(seen, expected);
    // `v_movrels_b32 v12, v1` and `s_movrels_b32 s0, s1`.
    assert_eq!(decode(Target::Gfx1100, &[0x7e18_8701]).indexes(), vector);
    assert_eq!(decode(Target::Gfx1100, &[0xbe80_4001]).indexes(), Some(Bank::Scalar));
}

#[test]
fn loads_to_lds_read_m0_and_write_no_register() {
    // global_load_lds_dword v[0:1], off; buffer_load_dword off, s[4:7], 0 lds
    for words in [[0xdca8_8000, 0x007f_0000], [0xe051_0000, 0x8001_0000]] {
        let inst = decode(Target::Gfx942, &words);
        let registers = inst.registers().unwrap();
        assert!(inst.loads_to_lds() && registers.reads.contains(&Reg::M0), "{}", inst.print());
        assert!(registers.writes.is_empty(), "{}: {registers:?}", inst.print());
    }
    // buffer_load_dword v0, off, s[4:7], 0
    assert!(!decode(Target::Gfx942, &[0xe050_0000, 0x8001_0000]).loads_to_lds());
}
