//! Instructions that come too soon after others, from `tests/kernels/amd/hazards.*`: each case is found at
//! its lines, and the same code with the right wait is not.

use prlx_driver::{Job, run};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Finding, Grade, Kind};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");

/// The errors that the checks find in a case.
fn errors(target: &str, which: usize) -> Vec<Finding> {
    let text = format!(
        "module = 'hazards.{target}.co'\nkernel = 'cases'\ngrid = 1\nblock = 64\n\
         [[arg]]\nname = 'data'\ntype = 'u32'\niota = 1000\nlen = 1024\nout = true\n\
         [[arg]]\nvalue = {which}\n"
    );
    let job = Job::parse("launch.toml", &text, &|file| Ok(std::fs::read(format!("{FOLDER}{file}")).unwrap()));
    let mut device = Emulator::new(Options { checks: Checks::all(), ..Options::default() });
    run::run(&mut device, &job.unwrap()).unwrap_or_else(|e| panic!("{target} {which}: {e:?}"));
    let mut found = device.take_findings().list;
    found.retain(|f| f.kind.grade() == Grade::Error);
    found
}

/// The line of a source that ends with a comment.
fn line(source: &str, comment: &str) -> u32 {
    let end = format!("// {comment}");
    let at = source.lines().position(|l| l.ends_with(&end));
    at.unwrap_or_else(|| panic!("no line ends with {end}")) as u32 + 1
}

/// What is wrong in a case, and what to insert; empty where the target has no such case.
type Expected = (&'static str, &'static str);

fn check(target: &str, source: &str, cases: &[Expected]) {
    let file = std::fs::read_to_string(format!("{FOLDER}{source}")).unwrap();
    for (n, (what, help)) in cases.iter().enumerate() {
        assert_eq!(errors(target, 2 * n + 1), [], "{target} {n}, in time");
        let found = errors(target, 2 * n);
        if what.is_empty() {
            assert_eq!(found, [], "{target} {n}");
            continue;
        }
        let [f] = &found[..] else { panic!("{target} {n}: {found:#?}") };
        assert_eq!(f.kind, Kind::Hazard, "{target} {n}");
        assert_eq!(f.what, format!("comes too early: {what}"), "{target} {n}");
        assert_eq!(
            f.help.as_deref(),
            Some(&*format!("insert {help} before this instruction")),
            "{target} {n}"
        );
        let lines: Vec<u32> =
            f.sides.iter().map(|side| side.place.as_ref().unwrap().source[0].line).collect();
        let expected = [format!("then {n}"), format!("first {n}")].map(|comment| line(&file, &comment));
        assert_eq!(lines, expected, "{target} {n}");
    }
}

const ADDRESS: Expected = (
    "a vector instruction writes an SGPR, and memory is accessed by it, which needs 5 wait states between, not 2",
    "`s_nop 2`",
);
const LANE: Expected = (
    "a vector instruction writes an SGPR that chooses a lane, which needs 4 wait states between, not 0",
    "`s_nop 3`",
);
const DPP: Expected =
    ("DPP reads a register that was written, which needs 2 wait states between, not 0", "`s_nop 1`");
const MODE: Expected = (
    "a hardware register is used that s_setreg wrote, which needs 2 wait states between, not 0",
    "`s_nop 1`",
);
const NONE: Expected = ("", "");

#[test]
fn wait_states_are_missing_on_gfx90a() {
    let cases = [
        ADDRESS,
        LANE,
        DPP,
        (
            "the result of a matrix product is read, which needs 19 wait states between, not 8",
            "`s_nop 7`, `s_nop 2`",
        ),
        ("the result of a matrix product is read, which needs 5 wait states between, not 0", "`s_nop 4`"),
        (
            "a matrix product multiplies the result of another one, which needs 5 wait states between, not 1",
            "`s_nop 3`",
        ),
        (
            "a matrix product adds the result of another one, which needs 16 wait states between, not 2",
            "`s_nop 7`, `s_nop 5`",
        ),
        MODE,
        NONE,
        ("data of a large store are overwritten, which needs 1 wait state between, not 0", "`s_nop 0`"),
    ];
    check("gfx90a", "hazards.cdna.s", &[&cases[..], &[NONE; 6]].concat());
}

/// The cases of gfx942, and of gfx950 with its own wait states.
fn cdna3(on_gfx950: bool) -> Vec<Expected> {
    let pick = |a: Expected, b: Expected| if on_gfx950 { b } else { a };
    vec![
        ADDRESS,
        LANE,
        DPP,
        (
            "the result of a matrix product is read, which needs 18 wait states between, not 8",
            "`s_nop 7`, `s_nop 1`",
        ),
        ("the result of a matrix product is read, which needs 5 wait states between, not 0", "`s_nop 4`"),
        (
            "a matrix product multiplies the result of another one, which needs 5 wait states between, not 1",
            "`s_nop 3`",
        ),
        NONE,
        MODE,
        (
            "a scalar instruction writes M0, and it is used, which needs 1 wait state between, not 0",
            "`s_nop 0`",
        ),
        ("data of a large store are overwritten, which needs 2 wait states between, not 0", "`s_nop 1`"),
        (
            "the result of a transcendental operation is read, which needs 1 wait state between, not 0",
            "`s_nop 0`",
        ),
        (
            "a vector instruction writes EXEC before a lane is read or written, which needs 4 wait states between, not 1",
            "`s_nop 2`",
        ),
        (
            "a vector instruction reads an SGPR that another one wrote, which needs 2 wait states between, not 0",
            "`s_nop 1`",
        ),
        pick(
            (
                "the result of a matrix product is overwritten, which needs 11 wait states between, not 4",
                "`s_nop 6`",
            ),
            (
                "the result of a matrix product is overwritten, which needs 12 wait states between, not 4",
                "`s_nop 7`",
            ),
        ),
        (
            "the matrix that a product adds is overwritten, which needs 3 wait states between, not 1",
            "`s_nop 1`",
        ),
        pick(
            NONE,
            (
                "lanes are exchanged of a register that was written, which needs 2 wait states between, not 0",
                "`s_nop 1`",
            ),
        ),
    ]
}

#[test]
fn wait_states_are_missing_on_gfx942_and_gfx950() {
    check("gfx942", "hazards.cdna.s", &cdna3(false));
    check("gfx950", "hazards.cdna.s", &cdna3(true));
}

const EXCHANGE: Expected = ("lanes are exchanged behind a comparison that writes EXEC", "`v_mov_b32 v0, v0`");
const PRODUCTS: Expected = ("a matrix product multiplies the result of another one", "`v_nop`");

#[test]
fn waits_are_missing_on_gfx1100() {
    let cases = [
        ("the result of a transcendental operation is read", "`s_waitcnt_depctr depctr_va_vdst(0)`"),
        (
            "an SGPR is read that was written behind a read by a vector instruction",
            "`s_waitcnt_depctr depctr_sa_sdst(0)`",
        ),
        (
            "registers are read that were written before and behind EXEC",
            "`s_waitcnt_depctr depctr_va_vdst(0)`",
        ),
        EXCHANGE,
        PRODUCTS,
    ];
    check("gfx1100", "hazards.gfx1100.s", &cases);
}

#[test]
fn waits_are_missing_on_gfx1201() {
    let what = "an SGPR is read that was written behind a read by a vector instruction";
    let cases = [
        (what, "`s_wait_alu depctr_sa_sdst(0)`"),
        (what, "`s_wait_alu depctr_va_vcc(0)`"),
        EXCHANGE,
        PRODUCTS,
    ];
    check("gfx1201", "hazards.gfx1201.s", &cases);
}
