//! Causes of values that pass through calls of PTX: arguments, results, and functions called by pointer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::programs::comparison;

/// Adds 1 to `which[i]`, and passes the sum and a second number to `blend`, through memory. `CALL` calls it.
const CALLS: &str = ".version 8.0
.target sm_80
.address_size 64
.file 1 \"calls.cu\"
.func (.param .b32 result) blend(.param .b64 pair) {
    .reg .f32 %f<4>;
    .loc 1 1 1
    ld.param.f32 %f1, [pair];
    ld.param.f32 %f2, [pair+4];
    fma.rn.f32 %f3, %f1, FACTOR, %f2;
    st.param.f32 [result], %f3;
    ret;
}
.func (.param .b32 result) first(.param .b64 pair) {
    .reg .f32 %f<2>;
    .loc 1 2 1
    ld.param.f32 %f1, [pair];
    st.param.f32 [result], %f1;
    ret;
}
.visible .entry call(.param .u64 which, .param .u64 out) {
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [which];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    .loc 1 5 1
    ld.global.u32 %r2, [%rd4];
    cvt.rn.f32.u32 %f1, %r2;
    .loc 1 6 1
    add.f32 %f2, %f1, OFFSET;
    .loc 1 7 1
    mov.f32 %f3, 0f40000000;
    .loc 1 8 1
    setp.gt.u32 %p1, %r2, 100;
    mov.u64 %rd6, blend;
    mov.u64 %rd7, first;
    selp.b64 %rd8, %rd7, %rd6, %p1;
    .loc 1 9 1
    {
    .param .b64 sent;
    .param .b32 received;
    st.param.f32 [sent], %f2;
    st.param.f32 [sent+4], %f3;
    CALL
    ld.param.f32 %f4, [received];
    }
    st.global.f32 [%rd5], %f4;
    ret;
}
";

const DIRECT: &str = "call.uni (received), blend, (sent);";
const POINTER: &str = "prototype: .callprototype (.param .b32 _) _ (.param .b64 _);
    call (received), %rd8, (sent), prototype;";

fn launch(folder: &Path, name: &str, [call, factor, offset]: [&str; 3], which: &str) {
    let text = CALLS.replace("CALL", call).replace("FACTOR", factor).replace("OFFSET", offset);
    fs::write(folder.join(format!("{name}.ptx")), text).unwrap();
    let text = format!(
        "module = \"{name}.ptx\"\nkernel = \"call\"\ngrid = 1\nblock = 32\n\
         [[arg]]\nname = \"which\"\ntype = \"u32\"\nlen = 32\n{which}\n\
         [[arg]]\nname = \"out\"\ntype = \"f32\"\nfill = 0\nlen = 32\nout = true\n"
    );
    fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

/// The class of the only cause, and the line of its place in B.
fn cause(folder: &Path, sides: [&str; 2]) -> (String, u64, String) {
    let json = comparison(folder, &sides);
    let causes: &Vec<Value> = json["launches"][0]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{json:#}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = causes[0]["places"][1]["location"]["line"].as_u64();
    (text(&causes[0]["class"]), line.unwrap_or(0), text(&causes[0]["what"]))
}

#[test]
fn causes_pass_through_calls() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("calls");
    fs::create_dir_all(&folder).unwrap();
    let (half, quarter, one, two) = ("0f3F000000", "0f3E800000", "0f3F800000", "0f40000000");
    for (kind, call) in [("direct", DIRECT), ("pointer", POINTER)] {
        let name = |side: &str| format!("{kind}_{side}");
        launch(&folder, &name("good"), [call, half, one], "iota = 1");
        launch(&folder, &name("callee"), [call, quarter, one], "iota = 1");
        launch(&folder, &name("caller"), [call, half, two], "iota = 1");
        launch(&folder, &name("input"), [call, half, one], "iota = 2");
        launch(&folder, &name("function"), [call, half, one], "iota = 101");
        let of = |side: &str| {
            let files = ["good", side].map(|side| format!("{}.toml", name(side)));
            cause(&folder, files.each_ref().map(String::as_str))
        };
        let (class, line, what) = of("callee");
        assert_eq!((class.as_str(), line), ("operation", 1), "{kind}: {what}");
        let (class, line, what) = of("caller");
        assert_eq!((class.as_str(), line), ("operation", 6), "{kind}: {what}");
        for side in ["input", "function"] {
            let (class, line, what) = of(side);
            assert_eq!((class.as_str(), line), ("input", 5), "{kind}, {side}: {what}");
            assert!(what.contains("`which["), "{kind}, {side}: {what}");
        }
    }
}

#[test]
fn what_a_pointer_calls_is_a_gap_unless_inputs_and_code_are_equal() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pointer_calls");
    fs::create_dir_all(&folder).unwrap();
    // The number that is passed does not show in the result.
    let (zero, one) = ("0f00000000", "0f3F800000");
    launch(&folder, "a", [POINTER, zero, one], "iota = 1");
    launch(&folder, "b", [POINTER, zero, one], "iota = 2");
    let compared = |a: &str, b: &str| comparison(&folder, &[a, b]);
    let other_inputs = compared("a.toml", "b.toml");
    assert_eq!(other_inputs["verdict"], "unknown", "{other_inputs:#}");
    let gaps = other_inputs["launches"][0]["gaps"].to_string();
    assert!(gaps.contains("`call` calls functions through a pointer at calls.cu:9 in A"), "{gaps}");
    assert_eq!(compared("a.toml", "a.toml")["verdict"], "same");
}
