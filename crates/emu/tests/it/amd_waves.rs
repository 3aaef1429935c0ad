//! Kernels of AMD's as waves run them, from code objects in `tests/kernels/amd`.

use prlx_driver::{Job, ModuleCode, run};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Finding, Findings, Kind};
use prlx_trace::{Dim3, LaneMask};

/// A launch of a kernel of `waves.gfx942.co` on `data`, which it changes: its results, and what the checks
/// found.
fn waves(kernel: &str, checks: Checks) -> (Vec<u32>, Findings) {
    let text = format!(
        "module = 'waves.gfx942.co'\nkernel = '{kernel}'\ngrid = 1\nblock = 128\n\
         [[arg]]\nname = 'data'\ntype = 'u32'\niota = 5\nlen = 128\nout = true\n"
    );
    launch(&text, checks)
}

fn launch(text: &str, checks: Checks) -> (Vec<u32>, Findings) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
    let job = Job::parse("launch.toml", text, &|file| Ok(std::fs::read(format!("{folder}{file}")).unwrap()));
    let mut device = Emulator::new(Options { checks, ..Options::default() });
    let done = run::run(&mut device, &job.unwrap()).unwrap();
    let words = done.outputs[0].bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    (words, device.take_findings())
}

fn all() -> Checks {
    "race,bounds,sync,async".parse().unwrap()
}

#[test]
fn every_target_adds_vectors() {
    for target in ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"] {
        let buffer = |name: &str, content: &str| {
            format!("[[arg]]\nname = '{name}'\ntype = 'f32'\n{content}\nlen = 1000\n")
        };
        let text = format!(
            "module = 'vecadd.{target}.co'\ngrid = 8\nblock = 128\n{}{}{}[[arg]]\nname = 'n'\nvalue = 999\n",
            buffer("a", "iota = 0"),
            buffer("b", "fill = 0.5"),
            buffer("c", "fill = 7\nout = true"),
        );
        let (words, findings) = launch(&text, all());
        let expected = (0..1000u16).map(|i| if i < 999 { f32::from(i) + 0.5 } else { 7.0 });
        assert!(words.iter().map(|w| f32::from_bits(*w)).eq(expected), "{target}: {words:?}");
        assert_eq!(findings.list, [], "{target}");
    }
}

#[test]
fn a_load_that_nothing_waits_for_is_found() {
    let (words, findings) = waves("early", all());
    assert!(words.iter().copied().eq(6..134), "the device completes loads at once: {words:?}");
    let [Finding { kind: Kind::RegisterTooEarly, what, sides, help, .. }] = &findings.list[..] else {
        panic!("{findings:?}");
    };
    assert_eq!(what, "reads register `v2`, which a load may still write");
    let text = |i: usize| sides[i].place.as_ref().unwrap().instruction.as_str();
    assert_eq!((text(0), text(1)), ("v_add_u32_e32 v2, 1, v2", "global_load_dword v2, v1, s[2:3]"));
    assert_eq!(help.as_deref(), Some("wait for it with `s_waitcnt vmcnt`"));
    for side in sides {
        assert_eq!(side.threads.unwrap().lanes, LaneMask(u64::MAX), "{}", side.role);
    }
    assert_eq!((findings.list[0].visits, findings.list[0].lanes), (2, 128));
    assert_eq!(waves("waited", all()).1.list, []);
}

#[test]
fn findings_name_lanes_of_both_halves_of_a_wave() {
    let others = !(1 << 3 | 1 << 40);
    for (kernel, lanes, first, visits) in [("outside", 1 << 40, 40, 1), ("beyond", others, 0, 2)] {
        for checks in [all(), Checks::all()] {
            let (_, findings) = waves(kernel, checks);
            let [Finding { kind: Kind::OutOfBounds, sides, .. }] = &findings.list[..] else {
                panic!("{kernel}: {findings:?}");
            };
            let threads = sides[0].threads.unwrap();
            assert_eq!((threads.warp, threads.lanes), (0, LaneMask(lanes)), "{kernel}");
            assert_eq!(threads.first, Dim3 { x: first, y: 0, z: 0 }, "{kernel}");
            let counts = (findings.list[0].visits, findings.list[0].lanes);
            assert_eq!(counts, (visits, visits * u64::from(lanes.count_ones())), "{kernel}");
        }
    }
}

#[test]
fn lanes_of_a_wave_need_no_barrier_and_those_of_two_do() {
    let (words, findings) = waves("inside", all());
    assert!(words.iter().enumerate().all(|(i, w)| *w as usize == i ^ 63), "{words:?}");
    assert_eq!(findings.list, []);
    let (_, findings) = waves("across", all());
    let [Finding { kind: Kind::Race, sides, .. }] = &findings.list[..] else { panic!("{findings:?}") };
    let threads = sides.iter().map(|s| s.threads.unwrap());
    let (warps, first): (Vec<_>, Vec<_>) = threads.map(|t| ((t.warp, t.lanes), t.first)).unzip();
    assert_eq!(warps, [(1, LaneMask(1)), (0, LaneMask(1))]);
    assert_eq!(first, [Dim3 { x: 64, y: 0, z: 0 }, Dim3 { x: 0, y: 0, z: 0 }]);
}

#[test]
fn a_wait_for_all_stores_releases_what_was_stored() {
    // Fences of these targets write no cache back.
    for target in ["gfx90a", "gfx1100"] {
        let text = format!(
            "module = 'causes.good.{target}.co'\nkernel = 'add_locked'\ngrid = 20\nblock = 64\n\
             [[arg]]\nname = 'lock'\ntype = 's32'\nfill = 0\nlen = 1\n\
             [[arg]]\nname = 'total'\ntype = 's32'\nfill = 0\nlen = 1\nout = true\n\
             [[arg]]\nname = 'x'\ntype = 's32'\niota = 1\nlen = 20\n"
        );
        let (words, findings) = launch(&text, all());
        assert_eq!(words, [210], "{target}");
        assert_eq!(findings.list, [], "{target}");
    }
}

#[test]
fn the_first_lane_of_exec_is_read() {
    let (words, _) = waves("waterfall", Checks::NONE);
    assert!(words.iter().enumerate().all(|(i, w)| *w as usize == i % 4 + 1), "{words:?}");
}

#[test]
fn code_that_is_damaged_is_refused() {
    let mut device = Emulator::default();
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/waves.gfx942.co"))
            .unwrap();
    for cut in [0, 3, 64, 700, bytes.len() / 2] {
        assert!(
            prlx_driver::Driver::load(
                &mut device,
                ModuleCode::Object(prlx_isa::amdgpu::INSTRUCTION_SET, &bytes[..cut])
            )
            .is_err(),
            "{cut}"
        );
    }
}
