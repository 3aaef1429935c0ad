//! Registers that M0 chooses: `v_movrel*`, `s_movrel*`, and `v_mov_b32` behind `s_set_gpr_idx_on`, from code
//! objects in `tests/kernels/amd`.

use prlx_driver::{Error, Job, run};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Check, Findings, Kind};

/// Runs a launch: the words of its output, and what the check for uninitialised values found.
fn launch(text: &str) -> Result<(Vec<u32>, Findings), Error> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
    let job = Job::parse("launch.toml", text, &|file| Ok(std::fs::read(format!("{folder}{file}")).unwrap()));
    let checks = Checks::NONE.with(Check::Init);
    let mut device = Emulator::new(Options { checks, ..Options::default() });
    let done = run::run(&mut device, &job.unwrap())?;
    let words = done.outputs[0].bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    Ok((words, device.take_findings()))
}

/// A launch of a kernel of `indexed.TARGET.co`.
fn run_indexed(target: &str, kernel: &str) -> Result<(Vec<u32>, Findings), Error> {
    let text = format!(
        "module = 'indexed.{target}.co'\nkernel = '{kernel}'\ngrid = 1\nblock = 128\n\
         [[arg]]\nname = 'data'\ntype = 'u32'\nfill = 0\nlen = 128\nout = true\n"
    );
    launch(&text)
}

/// The results of a kernel of `indexed.TARGET.co`, by thread. Nothing is undefined.
fn indexed(target: &str, kernel: &str) -> Result<Vec<u32>, Error> {
    let (words, found) = run_indexed(target, kernel)?;
    assert!(found.list.is_empty(), "{kernel} of {target}: {found:#?}");
    Ok(words)
}

#[test]
fn m0_chooses_registers() {
    let odd = |t: u32| t * 100 + t % 2;
    // Threads of mask 5 in each wave get 1000 more.
    let scalars = |t: u32, lanes: u32| 100 + if 5u64 >> (t % lanes) & 1 == 1 { 1000 } else { 0 };
    type Expected = (&'static str, &'static str, Box<dyn Fn(u32) -> u32>);
    let all: [Expected; 8] = [
        ("gfx942", "source", Box::new(|_| 300)),
        ("gfx942", "result", Box::new(odd)),
        // M0 has the index 1 and the mode in bits 12 to 15; `v13` is 7.
        ("gfx942", "changed", Box::new(|_| 200 + 0x5_9001 + 7)),
        ("gfx1100", "source", Box::new(|_| 300)),
        ("gfx1100", "result", Box::new(odd)),
        ("gfx1100", "both", Box::new(|_| 400)),
        ("gfx1100", "apart", Box::new(|_| 500)),
        ("gfx1100", "scalars", Box::new(move |t| scalars(t, 32))),
    ];
    for (target, kernel, expected) in all {
        let words = indexed(target, kernel).unwrap();
        let want: Vec<u32> = (0..128).map(expected).collect();
        assert_eq!(words, want, "{kernel} of {target}");
    }
    let want: Vec<u32> = (0..128).map(|t| scalars(t, 64)).collect();
    assert_eq!(indexed("gfx942", "scalars").unwrap(), want);
}

#[test]
fn what_is_not_supported_is_refused_with_its_place() {
    for (kernel, inst, why) in [
        ("branches", "s_cbranch_scc1", "`s_set_gpr_idx_on` is in effect where control branches"),
        ("sum", "v_add_u32_e32 v3, v10, v0", "only `v_mov_b32` is supported behind `s_set_gpr_idx_on`"),
    ] {
        let error = indexed("gfx942", kernel).unwrap_err().to_string();
        assert!(error.contains(inst) && error.contains(why), "{error}");
    }
}

/// A launch of `pick.TARGET.co` on [`input`].
fn pick(target: &str) -> (Vec<u32>, Findings) {
    let input = input();
    let text = format!(
        "module = 'pick.{target}.co'\nkernel = 'pick'\ngrid = 1\nblock = 64\n\
         [[arg]]\nname = 'in'\ntype = 's32'\narray = {input:?}\n\
         [[arg]]\nname = 'out'\ntype = 's32'\nfill = 0\nlen = 64\nout = true\n[[arg]]\nvalue = 9\n"
    );
    launch(&text).unwrap()
}

/// Elements of which the first nine choose registers, and that are odd or even as they like.
fn input() -> Vec<i32> {
    (0..768).map(|i: i32| i * 7 % 11 + 12 * (i % 5)).collect()
}

const TARGETS: [&str; 5] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"];

#[test]
fn arrays_in_registers() {
    let input = input();
    let one = |t: i32| {
        let mine = &input[12 * t as usize..];
        let mut v: Vec<i32> = mine[..12].to_vec();
        for k in 0..9 {
            let at = (input[k] % 12) as usize;
            v[at] = v[at] * 3 + k as i32;
            if mine[k] & 1 == 1 {
                v[at ^ 1] -= t;
            }
        }
        v.iter().fold(0i32, |sum, x| sum.wrapping_mul(5).wrapping_add(*x)) as u32
    };
    let want: Vec<u32> = (0..64).map(one).collect();
    for target in TARGETS {
        let (words, found) = pick(target);
        assert_eq!(words, want, "{target}");
        assert!(found.list.is_empty(), "{target}: {found:#?}");
    }
}

#[test]
fn registers_that_m0_chooses_and_nothing_set() {
    for target in ["gfx942", "gfx1100"] {
        let (_, found) = run_indexed(target, "unset").unwrap();
        let [f] = &found.list[..] else { panic!("{target}: {found:#?}") };
        assert_eq!((f.kind, f.lanes), (Kind::UndefinedStore, 128), "{target}: {f:#?}");
    }
}
