//! Calibrated operations: the correction reaches the result, whatever the registers, in the lanes that run
//! it, and no other operation.

use std::sync::Arc;

use crate::case::Case;
use prlx_emu::{Calibration, Options};

/// Bits of 2^3.
const EIGHT: u32 = 0x4100_0000;

fn case(body: &str, files: &[&str]) -> Vec<u32> {
    let calibrations =
        files.iter().map(|text| Arc::new(Calibration::read("test.cal", text).unwrap())).collect();
    let mut case = Case::new(body);
    case.options = Options { calibrations, ..case.options };
    case.all()
}

#[test]
fn results_are_corrected() {
    let up = "calibration 1 ex2.approx.f32\n40400000 40400000 +3\n";
    let three = "mov.f32 %f1, 0f40400000;";
    let store = "mov.b32 %r1, %f1; st.global.u32 [%rd1], %r1;";
    // Operand and result in one register; a guard; the same operation in another form; none.
    let run =
        |op: &str, files: &[&str]| case(&format!("{three} setp.lt.u32 %p1, %r0, 7; {op} {store}"), files);
    assert_eq!(run("ex2.approx.f32 %f1, %f1;", &[up]), [EIGHT + 3; 32]);
    let guarded = run("@%p1 ex2.approx.f32 %f1, %f1;", &[up]);
    assert!(
        guarded.iter().enumerate().all(|(l, &w)| w == if l < 7 { EIGHT + 3 } else { 0x4040_0000 }),
        "{guarded:x?}"
    );
    assert_eq!(run("ex2.approx.ftz.f32 %f1, %f1;", &[up]), [EIGHT; 32]);
    assert_eq!(run("ex2.approx.f32 %f1, %f1;", &[]), [EIGHT; 32]);
    // Two files, two operations, one after the other.
    let root = "calibration 1 sqrt.approx.f32\n41000003 41000003 =00000007\n";
    assert_eq!(run("ex2.approx.f32 %f2, %f1; sqrt.approx.f32 %f1, %f2;", &[up, root]), [7; 32]);
}
