//! Assembling PTX, and the cache of what came of it. The assemblers are those of `cargo xtask setup`, where
//! they are.

use std::path::{Path, PathBuf};

use crate::nvidia::nvidia;
use prlx_driver::ErrorKind;
use prlx_driver::assemble::cache::Cache;
use prlx_driver::assemble::{
    AssembleError, Assembler, Assemblers, RegisterBudget, target, thread_resources, threads_lost,
};
use prlx_isa::image::{Target, cubin};
use prlx_plan::RecordingRequest;
use prlx_plan::markers::MarkerOptions;
use prlx_trace::Level;
use prlx_trace::mark::Via;

const PTX: &str =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\nret;\n}\n";

fn sm(text: &str) -> Target {
    Target::parse(text).unwrap()
}

fn tools() -> Vec<Assembler> {
    let Some(cuda) = nvidia("bin/ptxas").and(nvidia("lib/libnvJitLink.so.13")).and(nvidia(".")) else {
        return Vec::new();
    };
    let ptxas = Assembler::ptxas(&cuda.join("bin/ptxas")).unwrap();
    vec![ptxas, Assembler::jit_link(&cuda.join("lib/libnvJitLink.so.13")).unwrap()]
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn the_target_is_the_devices_unless_the_module_is_for_one_alone() {
    let of = |module: &str, device: &str| {
        target(&PTX.replace("sm_80", module), sm(device))
            .map(|t| t.map(|t| t.to_string()))
            .map_err(|e| e.message)
    };
    let is = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(of("sm_80", "sm_90"), is("sm_90"));
    assert_eq!(of("sm_80, debug", "sm_80"), is("sm_80"));
    assert_eq!(of("sm_90a", "sm_90"), is("sm_90a"));
    assert_eq!(of("sm_100f", "sm_103"), is("sm_103f"));
    assert_eq!(of("sm_100f", "sm_100"), is("sm_100f"));
    assert_eq!(of("rubbish", "sm_90"), Ok(None));
    assert!(of("sm_90", "sm_80").unwrap_err().contains("the module is for sm_90"));
    assert!(of("sm_90a", "sm_100").unwrap_err().contains("runs on that one alone"));
    assert!(of("sm_100f", "sm_120").unwrap_err().contains("family"));
}

#[test]
fn every_assembler_makes_the_kernel_for_the_target() {
    for tool in tools() {
        for (module, wanted) in [("sm_80", "sm_90"), ("sm_90a", "sm_90a"), ("sm_100f", "sm_100f")] {
            let version = if module == "sm_100f" { "8.8" } else { "8.0" };
            let ptx = PTX.replace("sm_80", module).replace("8.0", version);
            let made = cubin::read(&tool.assemble(&ptx, sm(wanted), &[]).unwrap()).unwrap();
            assert_eq!(made.kernels, ["k"], "{tool:?}");
            assert_eq!(made.target.number, sm(wanted).number, "{tool:?}");
            // nvJitLink keeps lines only.
            let kept = made.ptx.is_some_and(|p| p.contains(".visible .entry k"));
            assert_eq!(kept, tool.version().starts_with("ptxas"), "{tool:?} {module}");
        }
        let wrong = tool.assemble(&PTX.replace("ret;", "ret;\nadd.s32 %r1, %r2;"), sm("sm_90"), &[]);
        let Err(AssembleError::InvalidCode(e)) = wrong else { panic!("{tool:?}: {wrong:?}") };
        assert!(e.kind == ErrorKind::Module && e.message.contains("line 7"), "{tool:?}: {e}");
        let unknown = tool.assemble(PTX, sm("sm_999"), &[]);
        assert!(matches!(unknown, Err(AssembleError::Unsuitable(_))), "{tool:?}: {unknown:?}");
        let newer = tool.assemble(&PTX.replace("8.0", "99.0"), sm("sm_90"), &[]);
        assert!(matches!(newer, Err(AssembleError::Unsuitable(_))), "{tool:?}: {newer:?}");
    }
}

/// A stand-in for ptxas that runs out of registers while the code has optional lines, and else copies it.
#[test]
fn optional_lines_are_used_where_registers_run_out() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("optional-lines");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("ptxas");
    let script = "#!/bin/sh
if [ \"$1\" = --version ]; then echo a stand-in; exit; fi
for last; do :; done
if grep -q //prlx-optional \"$last\"; then echo \"fatal (C7600) Register allocation failed\"; exit 1; fi
if grep -q wrong \"$last\"; then echo \"fatal another error\"; exit 1; fi
cp \"$last\" cubin\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let tools = Assemblers { tools: vec![Assembler::ptxas(&path).unwrap()], cache: None };
    let assemble = |text: &str| tools.assemble(&tools.tools[0], text, sm("sm_90"), &[]);
    assert_eq!(assemble("a\n//prlx-optional b\nc").unwrap(), b"a\nb\nc");
    assert_eq!(assemble("a\n// b").unwrap(), b"a\n// b");
    let wrong = assemble("wrong\n//prlx-optional b");
    assert!(
        matches!(&wrong, Err(AssembleError::InvalidCode(e)) if e.message.contains("another")),
        "{wrong:?}"
    );
}

#[test]
fn what_was_made_is_found_again_until_something_differs() {
    let folder = folder("found-again");
    let files = || std::fs::read_dir(&folder).map_or(0, |f| f.count());
    let assemblers = Assemblers { tools: tools(), cache: Some(Cache::new(folder.clone(), 1 << 20)) };
    let mut entries = 0;
    for tool in &assemblers.tools {
        let made = assemblers.assemble(tool, PTX, sm("sm_90"), &[]).unwrap();
        assert_eq!(assemblers.assemble(tool, PTX, sm("sm_90"), &[]), Ok(made));
        entries += 1;
        assert_eq!(files(), entries, "the second time, nothing is made");
        assemblers.assemble(tool, PTX, sm("sm_80"), &[]).unwrap();
        assemblers.assemble(tool, &PTX.replace("entry k", "entry m"), sm("sm_90"), &[]).unwrap();
        entries += 2;
        assert_eq!(files(), entries, "another target and another text are other entries");
    }
}

#[test]
fn no_assembler_is_none() {
    assert!(Assembler::ptxas(Path::new("/nowhere/ptxas")).is_none());
    assert!(Assembler::ptxas(Path::new("/bin/false")).is_none());
    assert!(Assembler::jit_link(Path::new("/nowhere/lib.so")).is_none());
    assert!(Assembler::jit_link(Path::new("libc.so.6")).is_none());
}

#[test]
fn damaged_entries_are_found_and_removed() {
    let folder = folder("damaged");
    let cache = Cache::new(folder.clone(), 1 << 20);
    assert_eq!(cache.get(7), None);
    cache.put(7, b"machine code");
    assert_eq!(cache.get(7).as_deref(), Some(&b"machine code"[..]));
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        for broken in [&changed[..], &whole[..at]] {
            std::fs::write(&file, broken).unwrap();
            assert_eq!(cache.get(7), None, "byte {at}");
            assert!(!file.exists());
        }
    }
    cache.put(7, b"");
    assert_eq!(cache.get(7).as_deref(), Some(&b""[..]));
}

#[test]
fn the_longest_unused_goes_first() {
    let folder = folder("bounded");
    let cache = Cache::new(folder.clone(), 10 * 1032);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    for key in 0..10u32 {
        cache.put(key.into(), &[key as u8; 1000]);
        let file =
            std::fs::File::options().append(true).open(folder.join(format!("{key:032x}.cubin"))).unwrap();
        file.set_modified(old + std::time::Duration::from_secs(key.into())).unwrap();
    }
    // Used now, so that the second is the oldest.
    assert!(cache.get(0).is_some());
    cache.put(10, &[10; 1000]);
    let there: Vec<u32> = (0..11).filter(|k| cache.get((*k).into()).is_some()).collect();
    assert_eq!(there, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    cache.put(11, &[0; 20_000]);
    assert_eq!(cache.get(11), None, "larger than all that may be kept");
}

#[test]
fn a_folder_that_cannot_be_written_keeps_nothing() {
    let cache = Cache::new("/proc/nowhere".into(), 1 << 20);
    cache.put(1, b"x");
    assert_eq!(cache.get(1), None);
}

#[test]
fn many_at_once() {
    let folder = folder("together");
    let cache = Cache::new(folder.clone(), 1 << 20);
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                for key in 0..50u32 {
                    cache.put(key.into(), &key.to_le_bytes().repeat(100));
                    let got = cache.get(key.into()).expect("it was put");
                    assert_eq!(got, key.to_le_bytes().repeat(100));
                }
            });
        }
    });
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 50, "nothing half-written is left");
}

/// At level `events` a kernel does with fewer registers where that costs nothing; what would be spilled
/// stays, and so do other levels.
#[test]
fn at_events_registers_are_given_up_for_warps() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/cuda/bitonic_sort/sm_80.ptx");
    let program = RecordingRequest::new(Level::Events);
    let source = std::fs::read_to_string(path).unwrap();
    let sort = prlx_instrument::rewrite(&source, "sort", &program, &|_| None).unwrap().text;
    // 34 values that live at once.
    let regs: Vec<u32> = (0..34).collect();
    let lines = |f: &dyn Fn(u32) -> String| regs.iter().map(|i| f(*i)).collect::<String>();
    let full = PTX.replace(
        "ret;",
        &format!(
            ".reg .b32 %r<34>;\n.reg .b64 %a;\nld.param.u64 %a, [p];\n{}bar.sync 0;\n{}ret;",
            lines(&|i| format!("ld.volatile.global.u32 %r{i}, [%a+{}];\n", 4 * i)),
            lines(&|i| format!("st.volatile.global.u32 [%a+{}], %r{i};\n", 4 * (33 - i))),
        ),
    );
    let assemblers = Assemblers { tools: tools(), cache: None };
    for tool in assemblers.tools.iter().filter(|t| t.version().starts_with("ptxas")) {
        let registers = |ptx: &str, within: RegisterBudget<'_>| {
            let code = assemblers.assemble_rewritten(tool, ptx, within, sm("sm_90"), &[]).unwrap();
            let needs = *thread_resources(&code).values().next().unwrap();
            (needs.registers, needs.local)
        };
        let (free, lean) =
            (registers(&sort, RegisterBudget::Unlimited), registers(&sort, RegisterBudget::FullOccupancy));
        assert!(free.0 > 32 && lean == (32, 0), "{free:?} {lean:?}");
        let (free, kept) =
            (registers(&full, RegisterBudget::Unlimited), registers(&full, RegisterBudget::FullOccupancy));
        assert!((33..=40).contains(&free.0) && kept == free, "{free:?} {kept:?}");
        // A kernel that says itself how many it may have is left alone.
        let own = sort.replacen("\n{", "\n.maxnreg 38\n{", 1);
        assert_eq!(registers(&own, RegisterBudget::FullOccupancy).0, 38);
    }
}

/// With markers a kernel keeps its occupancy by a register limit, if that spills nothing; otherwise no limit
/// applies. Which kernels these are depends on the assembler's version, so both must occur among several.
#[test]
fn markers_keep_the_occupancy_where_that_spills_nothing() {
    let kernels = ["softmax", "nbody", "gemm_cp_async", "gemm_tiled"].map(|name| (name, "sm_80"));
    let marks = MarkerOptions { outside: vec![Via::Barrier], ..MarkerOptions::default() };
    let program = RecordingRequest::of_markers(marks);
    let assemblers = Assemblers { tools: tools(), cache: None };
    for tool in assemblers.tools.iter().filter(|t| t.version().starts_with("ptxas")) {
        let assembled = |(name, target): (&str, &str)| {
            let path = format!("../../tests/kernels/cuda/{name}/{target}.ptx");
            let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
            let rewrite = prlx_instrument::rewrite(&text, name, &program, &|_| None).unwrap();
            let own = assemblers.assemble(tool, &text, sm(target), &[]).unwrap();
            let made =
                |within| assemblers.assemble_rewritten(tool, &rewrite.text, within, sm(target), &[]).unwrap();
            let (free, limited) =
                (made(RegisterBudget::Unlimited), made(RegisterBudget::of(&rewrite.plan, Some(&own))));
            let local = |code: &[u8]| thread_resources(code).values().map(|n| n.local).sum::<u32>();
            assert_eq!(local(&limited), local(&free), "{name} spills");
            (threads_lost(&own, &free), threads_lost(&own, &limited), limited == free)
        };
        let all = kernels.map(assembled);
        assert!(all.iter().all(|(free, limited, same)| limited == free && *same || *limited == 0), "{all:?}");
        assert!(all.iter().any(|(free, limited, _)| *free > 0 && *limited == 0), "none keeps it: {all:?}");
        assert!(all.iter().any(|(free, limited, _)| *free > 0 && limited == free), "none spills: {all:?}");
        // A limit would make its `setmaxnreg` count.
        let (_, _, same) = assembled(("warp_specialised", "sm_90a"));
        assert!(same);
    }
}
