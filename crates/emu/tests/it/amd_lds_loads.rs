//! Loads from global memory to LDS, from code objects in `tests/kernels/amd`.

use prlx_driver::{Job, run};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::check::{Findings, Grade, Kind};

/// Runs a launch: the words of its output, and what the checks found, but for notes.
fn launch(text: &str) -> (Vec<u32>, Findings) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels/amd/");
    let job = Job::parse("launch.toml", text, &|file| Ok(std::fs::read(format!("{folder}{file}")).unwrap()));
    let mut device = Emulator::new(Options { checks: Checks::all(), ..Options::default() });
    let done = run::run(&mut device, &job.unwrap()).unwrap();
    let words = done.outputs[0].bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let mut found = device.take_findings();
    found.list.retain(|f| f.kind.grade() == Grade::Error);
    (words, found)
}

/// What a kernel of `lds_loads.gfx942.co` stores for 128 threads, which read 128 numbers from 1000 on.
fn loads(kernel: &str) -> (Vec<u32>, Findings) {
    let text = format!(
        "module = 'lds_loads.gfx942.co'\nkernel = '{kernel}'\ngrid = 1\nblock = 128\n\
         [[arg]]\nname = 'data'\ntype = 'u32'\niota = 1000\nlen = 384\nout = true\n"
    );
    let (mut words, found) = launch(&text);
    (words.split_off(256), found)
}

#[test]
fn lanes_load_to_lds() {
    type Expected = (&'static str, fn(u32) -> u32);
    let all: [Expected; 3] = [
        ("global", |t| 1000 + (t ^ 63)),
        // Elements from 112 on are behind the end of the buffer.
        ("buffer", |t| if t ^ 63 < 112 { 1000 + (t ^ 63) } else { 0 }),
        ("bytes", |t| i32::from((1001 + (t ^ 63)).cast_signed() as i8).cast_unsigned()),
    ];
    for (kernel, expected) in all {
        let (words, found) = loads(kernel);
        assert_eq!(words, (0..128).map(expected).collect::<Vec<_>>(), "{kernel}");
        assert!(found.list.is_empty(), "{kernel}: {found:#?}");
    }
}

#[test]
fn lds_is_read_before_a_load_to_it_was_waited_for() {
    let (_, found) = loads("early");
    let [f] = &found.list[..] else { panic!("{found:#?}") };
    assert_eq!(
        (f.kind, f.what.as_str()),
        (Kind::LdsTooEarly, "accesses bytes of LDS, which a load may still write")
    );
    let text = |i: usize| f.sides[i].place.as_ref().unwrap().instruction.as_str();
    assert_eq!((text(0), text(1)), ("ds_read_b32 v3, v4", "global_load_lds_dword v1, s[2:3]"));
    assert_eq!(f.help.as_deref(), Some("wait for it with `s_waitcnt vmcnt`"));
    // Bytes of a load that was waited for.
    assert_eq!(loads("partly").1.list, []);
}

#[test]
fn tiles_that_hip_loads_to_lds() {
    for (target, words) in [("gfx90a", 1), ("gfx942", 1), ("gfx950", 4)] {
        let text = format!(
            "module = 'staged.{target}.co'\nkernel = 'staged'\ngrid = 1\nblock = 256\n\
             [[arg]]\nname = 'in'\ntype = 'u32'\niota = 7\nlen = 1024\n\
             [[arg]]\nname = 'out'\ntype = 'u32'\nfill = 0\nlen = 256\nout = true\n[[arg]]\nvalue = 2\n"
        );
        let (out, found) = launch(&text);
        let sum = |t: u32| {
            (0..words).fold(2u32, |sum, i| sum.wrapping_mul(3).wrapping_add(7 + (255 - t) * words + i))
        };
        assert_eq!(out, (0..256).map(sum).collect::<Vec<_>>(), "{target}");
        assert!(found.list.is_empty(), "{target}: {found:#?}");
    }
}
