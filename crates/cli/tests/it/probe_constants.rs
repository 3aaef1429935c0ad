//! Constant expressions of the probe language: what PRLX computes when it reads a program is what a kernel
//! computes. And programs that can do nothing say why.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::programs::{folder, prlx};

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n\
    .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 7;\nret;\n}\n";

const LAUNCH: &str = "module = \"k.ptx\"\nkernel = \"k\"\ngrid = 1\nblock = 1\n\
    [[arg]]\nname = \"p\"\ntype = \"u32\"\nlen = 1\nfill = 0\n";

fn kernel(folder: &Path) {
    fs::write(folder.join("k.ptx"), PTX).unwrap();
    fs::write(folder.join("k.toml"), LAUNCH).unwrap();
}

/// An expression of constants, and its value.
#[derive(Clone)]
struct Item {
    text: String,
    value: i128,
}

/// The operation as a kernel does it: on operands whose types are not those of constants.
fn at_run_time(a: &Item, op: &str, b: &Item) -> String {
    let unsigned = |i: &Item| i.value > i128::from(i64::MAX);
    let shift = op == "<<" || op == ">>";
    let ty = if unsigned(a) || unsigned(b) && !shift { "u64" } else { "s64" };
    let right = if shift { "u32" } else { ty };
    format!("({ty}({}) {op} {right}({}))", a.value, b.value)
}

/// The value of each expression, by one probe program.
fn values(folder: &Path, expressions: &[String]) -> Vec<i128> {
    let mut program = "kernel:begin {\n".to_owned();
    for (i, e) in expressions.iter().enumerate() {
        writeln!(program, "@t{i} = max({e});").unwrap();
    }
    fs::write(folder.join("p.prlx"), program + "}\n").unwrap();
    let (code, out, err) = prlx(folder, &["probe", "-f", "p.prlx", "k.toml", "--rewritten", "--json"], &[]);
    assert_eq!(code, Some(0), "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let tables = json["tables"].as_array().unwrap();
    let value = |i: usize| {
        let table = tables.iter().find(|t| t["name"] == format!("t{i}")).unwrap();
        let max = &table["rows"][0]["max"];
        max.as_i64().map(i128::from).or(max.as_u64().map(i128::from)).unwrap()
    };
    (0..expressions.len()).map(value).collect()
}

#[test]
fn constants_mean_the_same_when_the_program_is_read_and_when_it_runs() {
    let folder = folder("probe", "constants");
    kernel(&folder);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let edges = [0, 1, -1, 2, 7, -7, 31, 32, 63, 64, 65, 200, 1 << 32, -(1 << 31), (1 << 31) - 1];
    let ends = [i128::from(i64::MIN), i128::from(i64::MAX), 1 << 63, i128::from(u64::MAX)];
    let mut items: Vec<Item> =
        edges.into_iter().chain(ends).map(|v| Item { text: format!("{v}"), value: v }).collect();
    let ops = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
    let compares = ["<", "<=", "==", "!=", ">=", ">"];
    // What people write, with the values that the documentation gives.
    let known = [
        ("7 % 0", 7),
        ("7 / 0", 0),
        ("1 << 200", 0),
        ("1 << 40", 1 << 40),
        ("-1 >> 200", -1),
        ("-9223372036854775808 / -1", i128::from(i64::MIN)),
        ("-9223372036854775808 % -1", 0),
        ("9223372036854775807 + 1", i128::from(i64::MIN)),
        ("18446744073709551615 + 1", 0),
        ("~0", -1),
        ("~18446744073709551615", 0),
        ("-(18446744073709551614 + 1)", 1),
        ("abs(-9223372036854775808)", i128::from(i64::MIN)),
    ];
    let texts: Vec<String> = known.iter().map(|k| k.0.to_owned()).collect();
    for ((text, wanted), got) in known.iter().zip(values(&folder, &texts)) {
        assert_eq!(got, *wanted, "{text}");
    }
    let mut seen = 0;
    for _ in 0..5 {
        let (mut texts, mut both) = (Vec::new(), Vec::new());
        for i in 0..60 {
            let pick = |n: u64| items[(n % items.len() as u64) as usize].clone();
            let (a, b) = (pick(random()), pick(random()));
            let (op, compare) = match i % 4 {
                0 => (compares[(random() % 6) as usize], true),
                _ => (ops[(random() % 10) as usize], false),
            };
            let wrap = |e: String| if compare { format!("u32({e})") } else { e };
            texts.push(format!("({} {op} {})", a.text, b.text));
            both.extend([wrap(texts[i].clone()), wrap(at_run_time(&a, op, &b))]);
        }
        let got = values(&folder, &both);
        for (i, text) in texts.iter().enumerate() {
            let [folded, run] = [got[2 * i], got[2 * i + 1]];
            assert_eq!(folded, run, "{text} is {folded} when it is read, but {} is {run}", both[2 * i + 1]);
            seen += 1;
            if i % 4 != 0 && text.len() < 400 {
                items.push(Item { text: text.clone(), value: run });
            }
        }
    }
    assert_eq!(seen, 300);
}

#[test]
fn a_program_that_can_do_nothing_says_why() {
    let folder = folder("probe", "idle");
    kernel(&folder);
    let cases = [
        ("inst:st.global { if 1 == 2 { @x++; } }", "found at 1 place; no condition in it can be true there"),
        ("inst:st.global { @x = sum(in9); }", "the instruction has 1 inputs"),
        (
            "inst:st.global /type == \"f64\"/ { @x++; }",
            "found at 1 place; the predicate holds at none of them",
        ),
        ("inst:bar { @x++; }", "inst:bar: no place in the module; its operations are"),
    ];
    for (program, why) in cases {
        let (code, _, err) = prlx(&folder, &["probe", program, "k.toml"], &[]);
        assert!(code == Some(2) && err.contains(why), "{program}: {err}");
    }
}
