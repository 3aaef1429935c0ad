//! Instructions that the assembler moved out of a region. The listings are written here in the format of
//! `nvdisasm -c -gp`, with the lines of [`LineMapped`]'s text.

use std::fmt::Write;

use prlx_instrument::reordering::{LineMapped, RegionReordering};
use prlx_instrument::{Rewrite, rewrite};
use prlx_isa::sass;
use prlx_plan::RecordingRequest;
use prlx_plan::markers::MarkerOptions;
use prlx_trace::device::tracks::Form;

const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b32 %r<9>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [a];
ld.global.u32 %r1, [%rd1];
{ $prlx_begin_load: }
ld.global.u32 %r2, [%rd1+4]; ld.global.v2.u32
    {%r3, %r4}, [%rd1+8];
{ $prlx_switch_store: }
add.u32 %r5, %r1, %r2;
st.global.u32 [%rd1+16], %r5;
{ $prlx_end_store: }
bar.sync 0;
ret;
}

";

fn program(form: Form) -> RecordingRequest {
    RecordingRequest::of_markers(MarkerOptions { source: true, form, ..MarkerOptions::default() })
}

/// The lines on which something stands.
fn lines(text: &str, what: &str) -> Vec<usize> {
    let all: Vec<usize> =
        text.lines().enumerate().filter(|(_, l)| l.contains(what)).map(|(n, _)| n + 1).collect();
    assert!(!all.is_empty(), "{what:?} is not in\n{text}");
    all
}

/// A listing of operations, each with the text of the line that it is of and which such line; `|` ends a
/// block.
fn listing(text: &str, ops: &[(&str, &str, usize)]) -> String {
    let mut all = ".section\t.text.k,\"ax\",@progbits\n".to_owned();
    for (op, what, n) in ops {
        if *op == "|" {
            all += ".L_x_1:\n";
            continue;
        }
        let line = lines(text, what)[*n];
        let _ =
            writeln!(all, "\t//## File \".nv_debug_ptx_txt\", line {line}\n        /*0000*/   @!P0 {op} ;");
    }
    all
}

fn made(form: Form) -> (Rewrite, LineMapped) {
    let rewrite = rewrite(PTX, "k.ptx", &program(form), &|_| None).unwrap();
    let line_mapped = LineMapped::new(PTX, &rewrite).unwrap();
    (rewrite, line_mapped)
}

/// The same of records and of spans.
fn reorderings(ops: &[(&str, &str, usize)]) -> Vec<String> {
    let [records, spans] = [Form::Records, Form::Spans].map(|form| of_form(form, ops));
    assert_eq!(records, spans);
    records
}

fn of_form(form: Form, ops: &[(&str, &str, usize)]) -> Vec<String> {
    let (rewrite, line_mapped) = made(form);
    let code = sass::blocks(&listing(&line_mapped.text, ops));
    let shown = |l: RegionReordering| {
        let moved: Vec<String> = l.moved.iter().map(|m| format!(" {:?} {}", m.direction, m.opcode)).collect();
        format!("{} {}/{}{}", l.region, l.located, l.instructions, moved.concat())
    };
    line_mapped.reorderings(PTX, &rewrite, &code).into_iter().map(shown).collect()
}

const LOAD_BEGINS: (&str, &str, usize) = ("CS2R.32 R1, SR_CLOCKLO", ", %clock;", 0);
const STORE_BEGINS: (&str, &str, usize) = ("CS2R.32 R2, SR_CLOCKLO", ", %clock;", 1);
const STORE_ENDS: (&str, &str, usize) = ("CS2R.32 R3, SR_CLOCKLO", ", %clock;", 2);
const OUTER: (&str, &str, usize) = ("LDG.E R4, [R2]", "%r1, [%rd1]", 0);
const FIRST: (&str, &str, usize) = ("LDG.E R4, [R2]", "%r2, [%rd1+4]", 0);
const SECOND: (&str, &str, usize) = ("LDG.E.64 R4, [R2]", "%r4}, [%rd1+8]", 0);
const ADD: (&str, &str, usize) = ("IADD3 R4, R4, R5, RZ", "%r5, %r1, %r2", 0);
const STORE: (&str, &str, usize) = ("STG.E [R2], R4", "st.global.u32 [%rd1+16]", 0);
const BARRIER: (&str, &str, usize) = ("BAR.SYNC 0x0", "bar.sync 0", 0);

#[test]
fn every_instruction_has_a_line_and_the_code_stays_the_same() {
    let (rewrite, line_mapped) = made(Form::Records);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&line_mapped.text), words(&rewrite.text));
    let alone = |what: &str| lines(&line_mapped.text, what)[0];
    assert_eq!(alone("%r2, [%rd1+4]") + 2, alone("{%r3, %r4}, [%rd1+8]"));
    assert_eq!(lines(&line_mapped.text, ", %clock;").len(), 3);
}

#[test]
fn instructions_that_stay_are_located() {
    let ops = [OUTER, LOAD_BEGINS, FIRST, ADD, SECOND, STORE_BEGINS, STORE, STORE_ENDS, BARRIER];
    assert_eq!(reorderings(&ops), ["load 2/2", "store 1/1"]);
}

#[test]
fn moved_instructions_are_named_with_their_direction() {
    let ops = [FIRST, LOAD_BEGINS, OUTER, STORE_BEGINS, SECOND, STORE_ENDS, STORE, BARRIER];
    let expected = [
        "load 2/2 Before ld.global.u32 After ld.global.v2.u32 Inside ld.global.u32",
        "store 1/1 After st.global.u32 Inside ld.global.v2.u32",
    ];
    assert_eq!(reorderings(&ops), expected);
}

#[test]
fn copies_of_a_block_are_compared_with_their_own_markers() {
    let once = [OUTER, LOAD_BEGINS, FIRST, SECOND, STORE_BEGINS, STORE, STORE_ENDS, BARRIER];
    assert_eq!(reorderings(&[once, once].concat()), ["load 2/2", "store 1/1"]);
    let mut late = once;
    late.swap(5, 6);
    assert_eq!(reorderings(&[once, late].concat()), ["load 2/2", "store 1/1 After st.global.u32"]);
}

#[test]
fn instructions_in_other_blocks_are_not_located() {
    let ops = [LOAD_BEGINS, FIRST, ("|", "", 0), SECOND, STORE_BEGINS, STORE, STORE_ENDS];
    // The end of the first region is in another block than its begin.
    assert_eq!(reorderings(&ops), ["load 0/2", "store 1/1"]);
}
