//! Case files: `tests/cases/instrument/NAME.ptx`, with the expected rewritten text in `NAME.LEVEL`. `BLESS=1`
//! writes the expected files.

use std::fs;

use prlx_instrument::ErrorKind;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::WarpSize;
use prlx_trace::kernel::Level;
use prlx_trace::launch::Window;

#[test]
fn cases_are_rewritten_as_written_down() {
    let dir = crate::support::root().join("tests/cases/instrument");
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "ptx")) {
        let source = fs::read_to_string(path).unwrap();
        for level in crate::support::LEVELS {
            let mut program = crate::support::program(level);
            program.elide = true;
            if level == Level::Operands {
                let sites = (0..64).map(prlx_trace::SiteId).collect();
                program.window = Some(Window { sites, warps: (0, 4), visits: (0, 8) });
            }
            let what = format!("{} at {}", path.display(), level.name());
            let rewrite = prlx_instrument::rewrite(&source, "case", &program, &|_| None)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            let expected = path.with_extension(level.name());
            if bless {
                fs::write(expected, rewrite.text).unwrap();
            } else if fs::read_to_string(expected).unwrap_or_default() != rewrite.text {
                wrong.push(what);
            }
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:#?}");
}

/// A function with more places than the limit calls the code that takes a chunk. Others keep their copies.
#[test]
fn functions_with_many_places_call_the_code_that_takes_a_chunk() {
    let path = crate::support::root().join("tests/cases/instrument/calls.ptx");
    let source = fs::read_to_string(path).unwrap();
    let counts = |inline_chunks: usize| {
        let program = RecordingRequest { inline_chunks, ..crate::support::program(Level::Events) };
        let text = prlx_instrument::rewrite(&source, "calls", &program, &|_| None).unwrap().text;
        let count = |of: &str| text.matches(of).count();
        // Definitions of the function, calls of it, and copies of its code.
        [count("(.reg .b64 %prlx_next)"), count("prlx_next_chunk, ("), count("mov.u64 %prlx_amount, 512;")]
    };
    let [_, _, places] = counts(usize::MAX);
    assert!(places > 2);
    assert_eq!(counts(RecordingRequest::new(Level::Events).inline_chunks), [0, 0, places]);
    assert_eq!(counts(0), [1, places, 1]);
    // The function with the most places calls, the other one does not.
    let most = (1..places).rev().find(|most| counts(*most)[0] == 1).unwrap();
    let [_, calls, copies] = counts(most);
    assert_eq!((calls, copies), (most + 1, places - most));
}

/// Before `sm_80` there are no reductions of a warp (`redux.sync`): every lane writes for itself.
#[test]
fn kernels_of_all_architectures_are_rewritten_at_every_level() {
    let dir = crate::support::root().join("tests/cases/instrument");
    for name in ["loops", "guards", "calls"] {
        let source = fs::read_to_string(dir.join(name).with_extension("ptx")).unwrap();
        for arch in ["sm_70", "sm_75", "sm_80", "sm_90a"] {
            let source = source.replace("sm_80", arch);
            assert!(source.contains(&format!(".target {arch}")), "{name} has another target");
            for level in crate::support::LEVELS.into_iter().filter(|&l| l != Level::Operands) {
                let rewrite =
                    prlx_instrument::rewrite(&source, name, &crate::support::program(level), &|_| None);
                assert!(rewrite.is_ok(), "{name} for {arch} at {}: {:?}", level.name(), rewrite.err());
            }
        }
    }
}

/// Keywords of PTX are valid names of kernels too: `add` is an instruction, or a kernel.
#[test]
fn kernels_may_be_named_like_ptx_keywords() {
    for name in ["add", "wide", "u32", "ret", "reg", "global", "tid", "b32"] {
        let source = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 {name}_param_0)\n{{\n\
             .reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [{name}_param_0];\n\
             mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\n\
             ld.global.u32 %r2, [%rd1];\n\
             setp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
        );
        for level in crate::support::LEVELS.into_iter().filter(|&l| l != Level::Operands) {
            let rewrite = prlx_instrument::rewrite(&source, name, &crate::support::program(level), &|_| None);
            assert!(
                rewrite.as_ref().is_ok_and(|r| !r.plan.module.sites.is_empty()),
                "{name}: {:?}",
                rewrite.err()
            );
        }
    }
}

/// Inserts a probe into a kernel that loads through a generic address.
fn probed(probe: &str, version: &str, target: &str) -> Result<String, prlx_instrument::Error> {
    let source = format!(
        ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nld.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    );
    let probe = prlx_probe::program(probe).unwrap();
    let program = RecordingRequest { elide: false, ..RecordingRequest::of_probe(probe) };
    prlx_instrument::rewrite(&source, "k", &program, &|_| None).map(|r| r.text)
}

#[test]
fn warp_reductions_need_sm_80() {
    let probe = "inst:st.global { @all = sum(lanes_sum(in0)); }";
    let error = probed(probe, "8.3", "sm_75").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.message.contains("need sm_80, and the target is sm_75"), "{}", error.message);
    assert!(probed(probe, "8.3", "sm_80").unwrap().contains("redux.sync.add.u32"));
}

/// Where PTX can test for it, a kernel's parameter is not global memory, although its window lies in global
/// memory.
#[test]
fn a_parameter_is_not_global_memory() {
    let probe = "inst:ld.global { @n++; }";
    let asks = |version| probed(probe, version, "sm_70").unwrap().matches("isspacep.param").count();
    assert_eq!((asks("7.6"), asks("7.7")), (0, 1));
}

/// A kernel that launches a kernel would have to pass the hidden parameter itself.
#[test]
fn kernels_that_launch_kernels_are_refused() {
    for name in ["cudaLaunchDeviceV2", "__cudaCDP2LaunchDeviceV2", "__cudaCDP2GetParameterBufferV2"] {
        let source = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func {name};\n\
             .visible .entry child()\n{{\nret;\n}}\n\
             .visible .entry k()\n{{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, child;\ncall {name};\nret;\n}}\n"
        );
        let program = crate::support::program(Level::Path);
        let error = prlx_instrument::rewrite(&source, "k", &program, &|_| None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{name}");
        assert!(error.message.contains("launch kernels"), "{name}: {}", error.message);
    }
}

/// A plan for warps of 64 lanes says so everywhere. Its code may not exchange values between lanes, because
/// PTX cannot name 64 of them.
#[test]
fn plans_for_warps_of_64_lanes() {
    let source = ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
         .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u64 [%rd1], %rd1;\nret;\n}\n";
    let (mut module, _) = prlx_isa::ptx::read(source);
    let probe =
        "record @r(x: u64) per thread keep last 3; inst:st.global { save @r(in0); } inst:st.global { @n++; }";
    for (lanes, size, bits) in [(32, WarpSize::W32, 6), (64, WarpSize::W64, 7)] {
        module.warp_lanes = lanes;
        let prints = Plan::resolve(&crate::support::program(Level::Fingerprint), &module, "k", &|_| None);
        assert_eq!((prints.warp_size, prints.finals.warp_size), (size, size));
        let probe = RecordingRequest::of_probe(prlx_probe::program(probe).unwrap());
        let probed = Plan::resolve(&probe, &module, "k", &|_| None);
        assert_eq!(probed.probe_state.records.parts[0].warp_size, size);
        assert_eq!(probed.probe_state.packed.bits, bits);
        let events = Plan::resolve(&crate::support::program(Level::Events), &module, "k", &|_| None);
        for plan in [events, probed] {
            let lowered = prlx_instrument::ptx(source, &module, &plan);
            match size {
                WarpSize::W32 => assert!(!lowered.unwrap().is_empty()),
                WarpSize::W64 => {
                    let error = lowered.unwrap_err();
                    assert_eq!(error.kind, ErrorKind::Unsupported);
                    assert!(error.message.contains("warps of 64 lanes"), "{}", error.message);
                }
            }
        }
        assert!(!prlx_instrument::ptx(source, &module, &prints).unwrap().is_empty());
    }
    // Thread 100 of a CTA is in its warp 3 of 32 lanes, and in its warp 1 of 64. No lane waits for another.
    for (size, bits) in [(WarpSize::W32, 5), (WarpSize::W64, 6)] {
        for level in [Level::Path, Level::Fingerprint, Level::Operands] {
            let program = crate::support::program(level);
            let text = prlx_instrument::rewrite_for(size, source, "k", &program, &|_| None).unwrap().text;
            let waits = text.contains(".sync") || text.contains("activemask");
            assert!(size == WarpSize::W32 || !waits, "{text}");
            let shifts = text.matches(&format!(", {bits};")).count();
            assert!(level != Level::Fingerprint || shifts > 0, "{text}");
        }
    }
}
