//! Faults planted in rewritten text: the verifier detects each of them and names it.

use prlx_instrument::{Rewrite, rewrite, verify};
use prlx_plan::RecordingRequest;
use prlx_trace::kernel::Level;

/// A rewritten case.
fn rewritten(name: &str, level: Level) -> (String, Rewrite) {
    rewritten_by(name, crate::support::program(level))
}

/// A case, rewritten so that all places of its functions call the code that takes a chunk.
fn with_calls(name: &str, level: Level) -> (String, Rewrite) {
    rewritten_by(name, RecordingRequest { inline_chunks: 0, ..crate::support::program(level) })
}

fn rewritten_by(name: &str, mut program: RecordingRequest) -> (String, Rewrite) {
    let path = crate::support::root().join("tests/cases/instrument").join(name).with_extension("ptx");
    let source = std::fs::read_to_string(path).unwrap();
    program.elide = true;
    let rewrite = rewrite(&source, name, &program, &|_| None).unwrap();
    (source, rewrite)
}

/// Level, case, text to replace (its first occurrence), replacement, and a part of the message.
#[rustfmt::skip]
const FAULTS: &[(Level, &str, &str, &str, &str)] = &[
    // The original's bytes.
    (Level::Path, "loops", "mov.u32 %r2, 0;", "mov.u32 %r2, 1;", "where the original has"),
    (Level::Path, "loops", "\tmov.u32 %r3, 0;\n", "", ""),
    (Level::Path, "loops", "// A search", "// Our search", "bytes of the original changed"),
    (Level::Path, "loops", "@%p1 bra FOUND", "@!%p1 bra FOUND", "where the original has"),
    // Structure.
    (Level::Path, "loops", "\t}\n", "\t\n", ""),
    (Level::Path, "loops", "$prlx_store", "$prlx_stare", ""),
    (Level::Path, "loops", "@%prlx_q bra $prlx_room", "@%prlx_q bra OUTER; bra $prlx_room", "leaves its snippet"),
    (Level::Path, "loops", ",\n\t.param .align 8 .b8 prlx_context[32]", "", ""),
    (Level::Path, "loops", ".b8 prlx_context[32]", ".b8 prlx_context[32], .param .u64 prlx_more", ""),
    // Registers and memory.
    (Level::Path, "loops", "mov.u32 %prlx_word, 1;\n$prlx_room", "mov.u32 %r3, 1;\n$prlx_room", "writes a register of the original"),
    (Level::Path, "loops", "cvt.u32.u64 %prlx_a, %prlx_cursor", "cvt.u32.u64 %prlx_a, %prlx_x", "reads a register before"),
    (Level::Path, "loops", "st.global.cg.u32 [%prlx_cursor]", "st.global.cg.u32 [%rd1]", "touches memory"),
    (Level::Path, "loops", "%prlx_leader, 31, %prlx_mask", "%prlx_leader, 31, -1", "waits for lanes"),
    (Level::Path, "loops", "setp.lt.u32 %prlx_q, %prlx_word", "bar.sync 0;\n\tsetp.lt.u32 %prlx_q, %prlx_word", "not an instruction that recording needs"),
    // Meaning.
    (Level::Path, "guards", "@%p1 shl.b32 %prlx1_word", "@!%p1 shl.b32 %prlx1_word", "word becomes"),
    (Level::Path, "loops", "@!%p1 add.u32 %prlx_trip0", "@%p1 add.u32 %prlx_trip0", "trip0 becomes"),
    (Level::Path, "loops", "@%p2 bra INNER;", "@!%p2 bra INNER;", ""),
    (Level::Path, "loops", "mov.u32 %prlx_trip0, 1;", "mov.u32 %prlx_trip0, 0;", "trip0 becomes"),
    (Level::Path, "loops", "setp.eq.u32 %prlx_q, %prlx_trip0, 0", "setp.eq.u32 %prlx_q, %prlx_trip0, 1", "becomes"),
    (Level::Path, "loops", "sub.u32 %prlx_trip0, %prlx_trip0, 1", "sub.u32 %prlx_trip0, %prlx_trip0, 2", "becomes"),
    (Level::Fingerprint, "loops", "@%prlx_q shf.l.wrap.b32 %prlx_hash0", "shf.l.wrap.b32 %prlx_hash0", "hash0 becomes"),
    (Level::Path, "counted", "@%prlx_q sub.u32 %prlx_trip0, %r3, 2", "@%prlx_q sub.u32 %prlx_trip0, %r3, 3", "becomes"),
    (Level::Path, "counted", "@%prlx_q sub.u32 %prlx_trip0, %r3", "@%prlx_q sub.u32 %prlx_trip0, %r2", "becomes"),
    (Level::Fingerprint, "counted", "@%prlx_q sub.u32 %prlx_trip0, %r3", "sub.u32 %prlx_trip0, %r3", "becomes"),
    (Level::Path, "loops", "shl.b32 %prlx_word, %prlx_word, 1", "shl.b32 %prlx_word, %prlx_word, 2", "word becomes"),
    (Level::Path, "loops", "add.u64 %prlx_cursor, %prlx_cursor, 128", "add.u64 %prlx_cursor, %prlx_cursor, 64", "cursor becomes"),
    (Level::Path, "loops", "and.b32 %prlx_b, %prlx_a, 1920", "and.b32 %prlx_b, %prlx_a, 896", "becomes"),
    (Level::Path, "loops", "sub.u64 %prlx_link, %prlx_link, 2048", "sub.u64 %prlx_link, %prlx_link, 4096", "becomes"),
    (Level::Path, "loops", "shr.u32 %prlx_b, %prlx_b, 5", "shr.u32 %prlx_b, %prlx_b, 6", "becomes"),
    (Level::Path, "loops", "mov.u64 %prlx_cursor, 0", "mov.u64 %prlx_cursor, 8", "cursor becomes"),
    (Level::Path, "loops", "\n\t@!%p1 add.u32 %prlx_trip0, %prlx_trip0, 1;", "", ""),
    (Level::Path, "guards", "@%p1 shl.b32 %prlx1_word", "shl.b32 %prlx1_word", "word becomes"),
    (Level::Fingerprint, "values", "-1640531535", "-1640531537", "hash"),
    (Level::Fingerprint, "values", "mul.wide.u32 %prlx_x, %prlx_hash2", "mul.wide.u32 %prlx_x, %prlx_hash0", "memory at"),
    (Level::Fingerprint, "values", "%prlx_b, %prlx_b, 11;", "%prlx_b, %prlx_b, 12;", "hash"),
    (Level::Fingerprint, "loops", "max.u64 %prlx_v, %prlx_v, 1", "min.u64 %prlx_v, %prlx_v, 1", ""),
    (Level::Fingerprint, "loops", "add.u64 %prlx_cursor, %prlx_x, 256", "add.u64 %prlx_cursor, %prlx_x, 128", ""),
    (Level::Events, "values", "vote.sync.ballot.b32 %prlx_value, %p1", "vote.sync.ballot.b32 %prlx_value, %p2", "memory at"),
    (Level::Events, "values", "mov.u32 %prlx_clock, %clock", "mov.u32 %prlx_clock, %smid", "memory at"),
    (Level::Events, "loops", "sub.u32 %prlx_value, %prlx_trip0, 1", "sub.u32 %prlx_value, %prlx_trip0, 2", "memory at"),
    (Level::Events, "loops", "@!%p1 add.u32 %prlx_trip0", "@%p1 add.u32 %prlx_trip0", "trip0 becomes"),
    (Level::Events, "values", "sub.u32 %prlx_a, %prlx_a, 1;", "sub.u32 %prlx_a, %prlx_a, 0;", "becomes"),
    (Level::Events, "values", "setp.gt.u32 %prlx_q, %prlx_b, 464", "setp.gt.u32 %prlx_q, %prlx_b, 480", "becomes"),
    (Level::Events, "values", "{%prlx_value1, %prlx_value2}", "{%prlx_value1, %prlx_value0}", "memory at"),
    (Level::Events, "ahead", "@%p1 mov.b32 %prlx_by1, 0", "@!%p1 mov.b32 %prlx_by1, 0", "memory at"),
    (Level::Events, "ahead", "vote.sync.ballot.b32 %prlx_mask3, %p1", "vote.sync.ballot.b32 %prlx_mask3, !%p1", "memory at"),
    (Level::Events, "ahead", "mov.u32 %prlx_site0, -8053", "mov.u32 %prlx_site0, -18053", "memory at"),
    (Level::Events, "ahead", "{%prlx_value1, %prlx_value2}", "{%prlx_value1, %prlx_clock}", "memory at"),
    (Level::Values, "values", "shf.l.wrap.b32 %prlx_word, %prlx_c, %prlx_word, 7", "shf.l.wrap.b32 %prlx_word, %prlx_c, %prlx_word, 8", "becomes"),
    (Level::Values, "values", "mul.lo.s32 %prlx_c, %prlx_c, -1640531535", "mul.lo.s32 %prlx_c, %prlx_c, -1640531537", "becomes"),
    (Level::Values, "values", "%prlx_b, %prlx_b, 18;", "%prlx_b, %prlx_b, 17;", "becomes"),
    (Level::Values, "guards", "@%p1 shf.l.wrap.b32 %prlx1_word, %prlx1_c", "shf.l.wrap.b32 %prlx1_word, %prlx1_c", "word becomes"),
    (Level::Path, "values", "mad.wide.u32 %prlx_link, %prlx_warp, 32", "mad.wide.u32 %prlx_link, %prlx_warp, 16", "memory at"),
    (Level::Path, "values", "mad.wide.u32 %prlx_link, %prlx_a, 1,", "mad.wide.u32 %prlx_link, %prlx_a, 2,", "memory at"),
    (Level::Path, "values", "[%prlx_link], %prlx_word", "[%prlx_link], %prlx_warp", "memory at"),
    (Level::Path, "values", "st.global.cg.u8 [%prlx_link]", "st.global.cg.u32 [%prlx_link]", "memory at"),
    (Level::Path, "values", "and.b32 %prlx_a, %prlx_a, 3", "and.b32 %prlx_a, %prlx_a, 1", ""),
    (Level::Path, "values", "mad.lo.u32 %prlx_warp, %prlx_c, %prlx_d, %prlx_b", "mad.lo.u32 %prlx_warp, %prlx_c, %prlx_b, %prlx_d", "memory at"),
    (Level::Path, "calls", "st.local.u32 [%prlx_state+16], %prlx_word", "st.local.u32 [%prlx_state+20], %prlx_word", "another offset of the record"),
    (Level::Path, "calls", "\tld.local.u64 %prlx_cursor, [prlx_record+0];\n", "", "not passed on"),
    (Level::Path, "calls", "a1, prlx_state", "a1, prlx_record, prlx_state", ""),
];

/// The same in the function that takes a chunk, and in its calls.
#[rustfmt::skip]
const FAULTS_OF_CALLS: &[(Level, &str, &str, &str, &str)] = &[
    // What the function does: the link, the pool, the magazine, the row, the end of the stream.
    (Level::Events, "loops", "and.b32 %prlx_a, %prlx_a, -512", "and.b32 %prlx_a, %prlx_a, -1024", "memory at"),
    (Level::Events, "loops", "mov.u64 %prlx_amount, 512", "mov.u64 %prlx_amount, 256", "memory at"),
    (Level::Events, "loops", "atom.global.add.u64 %prlx_x, [%prlx_magazine], 33554431", "atom.global.add.u64 %prlx_x, [%prlx_magazine], 33554432", "memory at"),
    (Level::Events, "loops", "\tst.global.cg.u64 [%prlx_link], %prlx_x;\n", "", "memory at"),
    (Level::Events, "loops", "add.u64 %prlx_cursor, %prlx_x, 16", "add.u64 %prlx_cursor, %prlx_x, 32", "cursor becomes"),
    (Level::Events, "loops", "mov.u64 %prlx_cursor, 2;", "mov.u64 %prlx_cursor, 1;", "cursor becomes"),
    (Level::Events, "loops", "mov.u64 %prlx_next, %prlx_cursor", "mov.u64 %prlx_next, %prlx_recorder", "cursor becomes"),
    (Level::Path, "calls", "shfl.sync.idx.b32 %prlx_a, %prlx_a, %prlx_leader, 31, %prlx_mask", "shfl.sync.idx.b32 %prlx_a, %prlx_a, %prlx_leader, 31, -1", "waits for lanes"),
    (Level::Path, "calls", "atom.global.cas.b64 %prlx_y, [%prlx_link], 0, %prlx_x", "atom.global.cas.b64 %prlx_y, [%prlx_link], 1, %prlx_x", "memory at"),
    (Level::Path, "calls", "@%prlx_q bra $prlx_full", "@!%prlx_q bra $prlx_full", "becomes"),
    // Its form: header, end, rules of inserted code, position.
    (Level::Events, "loops", ".func (.reg .b64 %prlx_next)", ".visible .func (.reg .b64 %prlx_next)", ""),
    (Level::Events, "loops", "(.reg .b64 %prlx_cursor, .reg .b64 %prlx_recorder)", "(.reg .b64 %prlx_recorder, .reg .b64 %prlx_cursor)", "header"),
    (Level::Events, "loops", "\tret;\n}\n.visible", "\texit;\n}\n.visible", "does not end in a return"),
    (Level::Events, "loops", "\tret;\n}\n.visible", "\tret;\n}\n.global .u32 prlx_more;\n.visible", ""),
    (Level::Events, "loops", "@%prlx_q bra $prlx_have", "@%prlx_q ret; bra $prlx_have", "not an instruction that recording needs"),
    (Level::Events, "loops", "mov.u64 %prlx_amount, 512;", "call (%prlx_amount), prlx_next_chunk, (%prlx_cursor, %prlx_context);", "not an instruction that recording needs"),
    (Level::Events, "loops", "ld.global.u64 %prlx_magazine, [%prlx_context+24]", "ld.global.u64 %prlx_magazine, [4096]", "touches memory"),
    // The calls.
    (Level::Events, "loops", "call (%prlx_cursor), prlx_next_chunk, (%prlx_cursor, %prlx_context)", "call (%prlx_cursor), prlx_next_chunk, (%prlx_context, %prlx_cursor)", "becomes"),
    (Level::Events, "loops", "call (%prlx_cursor), prlx_next_chunk", "call.uni (%prlx_cursor), prlx_next_chunk", "not an instruction that recording needs"),
    (Level::Events, "loops", "\tcall (%prlx_cursor), prlx_next_chunk, (%prlx_cursor, %prlx_context);\n", "", "becomes"),
    (Level::Events, "loops", "call (%prlx_cursor), prlx_next_chunk, (%prlx_cursor,", "call (%rd1), prlx_next_chunk, (%prlx_cursor,", "writes a register of the original"),
    (Level::Events, "loops", "add.u64 %prlx_cursor, %prlx_cursor, 512", "add.u64 %prlx_cursor, %prlx_cursor, 1024", "cursor becomes"),
    (Level::Path, "calls", "call (%prlx_cursor), prlx_next_chunk, (%prlx_cursor, %prlx_context);\n", "bra $prlx_done0;\n", ""),
];

#[test]
fn planted_faults_are_found() {
    find_faults(FAULTS, rewritten);
    find_faults(FAULTS_OF_CALLS, with_calls);
}

fn find_faults(
    faults: &[(Level, &str, &str, &str, &str)],
    rewritten: impl Fn(&str, Level) -> (String, Rewrite),
) {
    let mut missed = Vec::new();
    for &(level, name, find, replace, complaint) in faults {
        let (source, good) = rewritten(name, level);
        let Some(at) = good.text.find(find) else {
            missed.push(format!("{name} at {}: `{find}` is not in it", level.name()));
            continue;
        };
        let bad = format!("{}{replace}{}", &good.text[..at], &good.text[at + find.len()..]);
        match verify(&source, &bad, &good.module, &good.plan) {
            Ok(()) => missed.push(format!("{name} at {}: `{find}` as `{replace}` passed", level.name())),
            Err(e) if e.message.contains(complaint) => {}
            Err(e) => missed.push(format!("{name} at {}: `{find}` as `{replace}`: {e}", level.name())),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// A plan that differs from the lowered one is rejected.
#[test]
fn a_different_plan_is_rejected() {
    let (source, mut good) = rewritten("guards", Level::Path);
    let insertions = &mut good.plan.functions[0].insertions;
    let guarded = insertions.iter().position(|i| i.guard.is_some()).unwrap();
    if let Some(guard) = &mut insertions[guarded].guard {
        guard.negate = !guard.negate;
    }
    assert!(verify(&source, &good.text, &good.module, &good.plan).is_err());
    good.plan.functions[0].insertions.remove(guarded);
    assert!(verify(&source, &good.text, &good.module, &good.plan).is_err());
}

/// The name of a function may lie far before the end of its list.
#[test]
fn a_long_comment_in_a_list_hides_no_name() {
    let path = crate::support::root().join("tests/cases/instrument/calls.ptx");
    let source = std::fs::read_to_string(path).unwrap();
    let mut program = crate::support::program(Level::Path);
    program.elide = true;
    let name = source.find(".entry").unwrap();
    let open = name + source[name..].find('(').unwrap() + 1;
    let comment = "x ".repeat(50_000);
    let long = format!("{}/* {comment}*/{}", &source[..open], &source[open..]);
    let [short, long] = [&source, &long].map(|s| rewrite(s, "calls", &program, &|_| None).unwrap().text);
    assert_eq!(long.replace(&format!("/* {comment}*/"), ""), short);
}

/// nvcc writes the names of inlined functions as bytes without punctuation: 2 MB of a module of CUTLASS. A
/// verifier that searches from each byte for the end of a list entry needs minutes for this test.
#[test]
fn debug_sections_are_read_once() {
    let path = crate::support::root().join("tests/cases/instrument/loops.ptx");
    let mut source = std::fs::read_to_string(path).unwrap();
    source += &format!("\t.section\t.debug_str\n\t{{\n{}\t}}\n", ".b8 75\n".repeat(200_000));
    let program = crate::support::program(Level::Path);
    let rewrite = rewrite(&source, "debug", &program, &|_| None).unwrap();
    assert!(rewrite.text.ends_with(".b8 75\n\t}\n"));
}
