//! `prlx probe-engine`: each of its steps is on disk, and the module that comes out keeps the right tables.
//!
//! Originals are kernels of the corpus as PTX, as cubins that `ptxas` of `cargo xtask setup` makes of them,
//! and fatbins; where there is no `ptxas` the tests that need it say so and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use prlx_driver::assemble::Assembler;
use prlx_driver::{Job, ModuleCode, RecordOptions};
use prlx_emu::{Emulator, Options};
use prlx_instrument::Rewrite;
use prlx_isa::image::{Target, cubin};
use prlx_plan::{Filter, RecordingRequest};
use prlx_present::tallies::Tallies;

const PROBE: &str = "record @ends(cta: u64) per warp keep 1;
inst:* { @mix[opcode]++; }
inst:ld.global, inst:st.global {
  @bytes[opcode, ctaid.x] = sum(size); @lowest = min(lanes_min(u32(address & 0xff)));
}
kernel:end { save @ends(cta); }";

const FILES: [&str; 7] =
    ["original.asm", "pruned.asm", "probed.asm", "pruned.bin", "probed.bin", "kernel.info", "process.log"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ptxas() -> Option<PathBuf> {
    crate::nvidia::nvidia("bin/ptxas")
}

/// A folder with an original and, perhaps, a probe.
fn folder(name: &str, original: &[u8], probe: Option<(&str, &str)>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("original.bin"), original).unwrap();
    if let Some((file, text)) = probe {
        fs::write(folder.join(file), text).unwrap();
    }
    folder
}

fn engine(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    command.arg("probe-engine").arg(folder).args(args).env("NO_COLOR", "1").env_remove("NEUTRINO_PROBES");
    if let Some(ptxas) = ptxas() {
        command.env("PRLX_PTXAS", ptxas);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|e| panic!("{}: {e}", folder.join(file).display()))
}

/// What `PROBE` keeps of a launch of `source`.
fn tables(job: &Job, rewrite: Rewrite, hooks: bool) -> String {
    let mut device = Emulator::new(Options { threads: 1, ..Options::default() });
    let text = (!hooks).then_some(rewrite.text.as_str());
    let options = RecordOptions::default();
    let recorded =
        prlx_driver::record(&mut device, text.map(ModuleCode::Ptx), &rewrite.plan, job, &options).unwrap();
    assert_eq!(recorded.fault, None);
    let wrong: u64 = recorded.outputs.iter().filter_map(|o| o.expect.as_ref()).map(|e| e.wrong).sum();
    assert_eq!(wrong, 0);
    let trace = recorded.into_trace(rewrite.plan.module);
    let mut json = Vec::new();
    prlx_present::tallies_json(&mut json, &Tallies::of(&[("x".to_owned(), &trace)]), None, None).unwrap();
    String::from_utf8(json).unwrap()
}

fn rewritten(source: &str, kernel: &str) -> Rewrite {
    let filter = Filter { kernels: vec![kernel.to_owned()], ..Filter::default() };
    let program =
        RecordingRequest { filter, ..RecordingRequest::of_probe(prlx_probe::program(PROBE).unwrap()) };
    prlx_instrument::rewrite(source, "x", &program, &|_| None).unwrap()
}

/// Runs the engine on an original of `job`, whose launch must then keep what hooks keep of the job's own
/// module.
fn agrees(name: &str, original: &[u8], job: &Job) -> PathBuf {
    let folder = folder(name, original, Some(("probe.prlx", PROBE)));
    let out = engine(&folder, &[&job.kernel], &[]);
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    for file in FILES {
        assert!(fs::metadata(folder.join(file)).is_ok_and(|m| m.len() > 0), "{name}: {file}");
    }
    let probed = rewritten(&text(&folder, "pruned.asm"), &job.kernel);
    assert_eq!(text(&folder, "probed.asm"), probed.text, "{name}");
    let alone = Job { text: text(&folder, "pruned.asm"), ..job.clone() };
    let hooks = tables(job, rewritten(&job.text, &job.kernel), true);
    assert!(hooks.contains("\"ends\"") && hooks.contains("\"mix\"") && hooks.len() > 1000, "{name}: {hooks}");
    assert_eq!(tables(&alone, probed, false), hooks, "{name}");
    for file in ["pruned.bin", "probed.bin"] {
        let code = fs::read(folder.join(file)).unwrap();
        assert_eq!(cubin::read(&code).unwrap().kernels, [job.kernel.as_str()], "{name}: {file}");
    }
    folder
}

fn job(kernel: &str) -> Job {
    Job::load(&root().join("tests/kernels/cuda").join(kernel).join("launch.toml")).unwrap()
}

#[test]
fn ptx_and_cubins_of_the_corpus_keep_their_meaning() {
    let Some(ptxas) = ptxas() else { return };
    let ptxas = Assembler::ptxas(&ptxas).unwrap();
    for kernel in
        ["saxpy", "templates", "noinline_call", "function_pointer", "debug_reduce", "gemm_tiled", "printf"]
    {
        let job = job(kernel);
        let folder = agrees(kernel, job.text.as_bytes(), &job);
        let sections = |text: &str| text.matches("\n\t.section").count() + text.matches("\n.section").count();
        assert_eq!(sections(&text(&folder, "pruned.asm")), sections(&job.text), "{kernel}");
        let (module, _) = prlx_isa::ptx::read(&job.text);
        let target = Target::parse(&module.target).unwrap();
        let code = ptxas.assemble(&job.text, target, &[]).unwrap();
        agrees(&format!("{kernel}-cubin"), &code, &job);
    }
}

#[test]
fn what_a_kernel_cannot_reach_is_cut_and_what_pointers_lead_to_is_not() {
    if ptxas().is_none() {
        return;
    }
    let two = job("templates");
    let cut = agrees("cut", two.text.as_bytes(), &two);
    let kernels = |file| text(&cut, file).matches(".entry").count();
    assert_eq!((kernels("original.asm"), kernels("pruned.asm"), kernels("probed.asm")), (2, 1, 1));
    let pointers = job("function_pointer");
    let folder = agrees("pointers", pointers.text.as_bytes(), &pointers);
    let functions = |text: &str| prlx_isa::ptx::read(text).0.functions.len();
    assert_eq!(functions(&text(&folder, "pruned.asm")), functions(&pointers.text));
}

#[test]
fn a_fatbin_is_taken_apart_and_its_options_are_kept() {
    if ptxas().is_none() {
        return;
    }
    let images = root().join("tests/images");
    let job = Job::load(&root().join("tests/cases/cli/image.in/twice.toml"));
    // The launch file names a module beside it: its text is that of the fatbin's highest target.
    let job = job.unwrap();
    for file in ["size.fatbin", "speed.fatbin", "lines.cubin", "host.o"] {
        let folder = agrees(file, &fs::read(images.join(file)).unwrap(), &job);
        let info: Vec<String> = text(&folder, "kernel.info").lines().map(str::to_owned).collect();
        // Each record takes its count and one field.
        assert_eq!(info[..4], ["_Z5twicePfi", "2", "1", "1,16"]);
        assert!(
            info[4].starts_with("context prlx_") && info[5].starts_with("tables ") && info[6] == "records 16"
        );
        let log = text(&folder, "process.log");
        let steps: Vec<&str> =
            log.lines().filter_map(|l| l.split_once(" ms  ")?.1.split(':').next()).collect();
        let expected = [
            "read the probe",
            "objdump original.bin",
            "prune original.asm",
            "probe pruned.asm",
            "assemble pruned.asm",
            "assemble probed.asm",
            "describe kernel.info",
        ];
        assert_eq!(steps, expected, "{log}");
        assert!(log.contains("kept _Z5twicePfi; cut _Z3incPii: pruned.asm"), "{log}");
    }
    // For another architecture, from the image that can be assembled for it.
    let folder = folder("arch", &fs::read(images.join("size.fatbin")).unwrap(), Some(("probe.prlx", PROBE)));
    let out = engine(&folder, &["*twice*", "--arch", "sm_86"], &[]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(
        cubin::read(&fs::read(folder.join("probed.bin")).unwrap()).unwrap().target.to_string(),
        "sm_86"
    );
}

#[test]
fn neutrinos_own_probe_is_found_where_it_leaves_it() {
    if ptxas().is_none() {
        return;
    }
    let toml = fs::read_to_string(root().join("tests/cases/neutrino/block-sched.toml")).unwrap();
    let job = job("saxpy");
    let inside = folder("toml", job.text.as_bytes(), Some(("probe.toml", &toml)));
    let variable = folder("variable", job.text.as_bytes(), None);
    for (folder, variables) in [(&inside, &[][..]), (&variable, &[("NEUTRINO_PROBES", toml.as_str())][..])] {
        let out = engine(folder, &[&job.kernel], variables);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        // One map of a warp: fields of 8, 4 and 4 bytes, and its count of 2.
        assert!(text(folder, "kernel.info").contains("\n1\n1,24\ncontext prlx_"));
    }
    assert_eq!(text(&inside, "probed.asm"), text(&variable, "probed.asm"));
}

#[test]
fn errors_name_the_step_and_the_file_and_leave_nothing_old() {
    let job = job("saxpy");
    let plain = fs::read(root().join("tests/images/plain.cubin")).unwrap();
    let ptx = job.text.as_bytes();
    let nothing = ("probe.prlx", "inst:tex { @n++; }");
    let wrong = ("probe.prlx", "inst:ld.global { @n+; }");
    let own = job.kernel.as_str();
    let cases: [(&str, &[u8], _, &str, &str, &str); 7] = [
        (
            "kernel",
            ptx,
            Some(("probe.prlx", PROBE)),
            "sax",
            "prune original.asm",
            "the code has no kernel `sax`",
        ),
        ("no-ptx", &plain, Some(("probe.prlx", PROBE)), own, "objdump original.bin", "1 image without PTX"),
        (
            "rubbish",
            b"rubbish",
            Some(("probe.prlx", PROBE)),
            own,
            "objdump original.bin",
            "neither PTX, a cubin",
        ),
        (
            "nothing",
            ptx,
            Some(nothing),
            own,
            "probe pruned.asm",
            "the probe program matches no instruction in",
        ),
        ("wrong", ptx, Some(wrong), own, "read the probe", "probe.prlx:1:"),
        ("none", ptx, None, own, "read the probe", "put probe.toml or probe.prlx into the directory"),
        ("empty", b"", Some(("probe.prlx", PROBE)), own, "objdump original.bin", "neither PTX"),
    ];
    for (name, original, probe, kernel, step, why) in cases {
        let folder = folder(name, original, probe);
        fs::write(folder.join("probed.bin"), "old").unwrap();
        let out = engine(&folder, &[kernel], &[]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(step) && said.contains(name) && said.contains(why), "{name}: {said}");
        let log = text(&folder, "process.log");
        let last = log.lines().find(|l| l.contains("error: ")).unwrap_or_default();
        assert!(last.contains(step), "{name}: {log}");
        assert!(!folder.join("probed.bin").exists(), "{name}");
    }
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine/nowhere");
    assert_eq!(engine(&missing, &["k"], &[]).status.code(), Some(2));
}
