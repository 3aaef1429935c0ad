//! C programs of the driver API on the mock, with the library preloaded and without: they must print the same
//! and end the same way, and what they loaded must have been rewritten. Skipped where there is no `cc`; with
//! real images where there is an nvcc.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use prlx_analyze::{DiffOptions, Verdict, diff};
use prlx_driver::session::{
    KernelPattern, LaunchPart, NVTX_LIBRARY, Options, Session, VARIABLE, capture_folder,
};
use prlx_driver::{Job, LAUNCH_FILE, after_file, npy};
use prlx_emu::Emulator;
use prlx_trace::{Dim3, Launch, Trace};

use crate::nvidia::nvidia;
use crate::tools::skip;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    /// With the mock in it, under the driver's name.
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("prlx-preload-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(beside("libprlx_mockcuda.so"), folder.join("libcuda.so.1")).unwrap();
        Folder(folder)
    }
    /// Builds a program of `tests/programs`; `None` where there is no compiler.
    fn program(&self, name: &str, how: How) -> Option<PathBuf> {
        self.program_with(name, how, &[])
    }
    /// As [`Folder::program`], with more options for the compiler.
    fn program_with(&self, name: &str, how: How, options: &[&str]) -> Option<PathBuf> {
        let out = self.0.join(format!("{name}-{how:?}"));
        let mut cc = Command::new("cc");
        cc.args(options);
        cc.arg("-w").arg("-o").arg(&out).arg(format!("{ROOT}/tests/programs/{name}.c"));
        match how {
            How::Linked => cc.arg("-L").arg(&self.0).arg("-l:libcuda.so.1"),
            How::Dlsym => cc.arg("-DFIND=1").arg("-ldl"),
            How::ProcAddress => cc.arg("-DFIND=2").arg("-ldl"),
        };
        let built = cc.output().map_err(|_| skip("no cc")).ok()?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(out)
    }
    /// A file with a kernel `saxpy` in PTX.
    fn ptx(&self) -> PathBuf {
        let header = fs::read_to_string(format!("{ROOT}/tests/programs/cu.h")).unwrap();
        let body =
            &header[header.find("\".version").unwrap()..header.find(", more);\n    return text;").unwrap()];
        let lines = body.lines().map(|l| l.trim().trim_matches('"').replace("\\n", "\n").replace("%%", "%"));
        let text = lines.collect::<String>().replace("%s", "");
        let path = self.0.join("saxpy.ptx");
        fs::write(&path, text).unwrap();
        path
    }
    /// What nvcc makes of `saxpy.cu`; `None` where there is no nvcc.
    fn nvcc(&self, options: &str, out: &str) -> Option<PathBuf> {
        let out = self.0.join(out);
        let mut nvcc = Command::new(nvidia("bin/nvcc")?);
        nvcc.args(options.split(' ')).arg("-o").arg(&out).arg(format!("{ROOT}/tests/programs/saxpy.cu"));
        let made = nvcc.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Some(out)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How a program finds the driver's functions.
#[derive(Clone, Copy, Debug)]
enum How {
    Linked,
    Dlsym,
    ProcAddress,
}

/// A library that cargo builds beside this test.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

/// What came of a run.
#[derive(PartialEq, Eq, Debug)]
struct Ran {
    code: Option<i32>,
    signal: Option<i32>,
    out: String,
    err: String,
}

/// Runs a program; preloaded, also gives what the library wrote down.
fn run(
    folder: &Folder,
    program: &Path,
    words: &[&str],
    preloaded: bool,
    env: &[(&str, &str)],
) -> (Ran, String) {
    let log = folder.0.join("log");
    let _ = fs::remove_file(&log);
    let mut command = Command::new(program);
    command
        .args(words)
        .env("LD_LIBRARY_PATH", &folder.0)
        .env("PRLX_ASSEMBLER", "driver")
        .env("PRLX_CACHE_DIR", "");
    if preloaded {
        let options = Options::new(folder.0.as_path()).to_variable().unwrap();
        command
            .env("LD_PRELOAD", beside("libprlx_preload.so"))
            .env("PRLX_PRELOAD_LOG", &log)
            .env(VARIABLE, options);
    }
    let done = command.envs(env.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (code, signal) = (done.status.code(), done.status.signal());
    let ran = Ran { code, signal, out: text(&done.stdout), err: text(&done.stderr) };
    (ran, fs::read_to_string(log).unwrap_or_default())
}

/// Runs a program both ways; they must be alike. Gives what it printed and what the library wrote down.
fn alike(folder: &Folder, program: &Path, words: &[&str], env: &[(&str, &str)]) -> (String, String) {
    let (bare, _) = run(folder, program, words, false, env);
    let (ours, log) = run(folder, program, words, true, env);
    assert_eq!(bare, ours, "{} {words:?}\n{log}", program.display());
    (bare.out, log)
}

/// The lines that are not ours.
fn theirs(mut ran: Ran) -> Ran {
    ran.err = ran.err.lines().filter(|l| !l.starts_with("prlx: ")).map(|l| format!("{l}\n")).collect();
    ran
}

/// The one recording in the folder: what launches it has, recorded and not; every stream of it is read.
fn recorded(folder: &Folder, whole: bool) -> (usize, Vec<String>) {
    let session = Session::open(&folder.0).unwrap();
    let file = session.files.last().unwrap();
    let trace = session.read(file).unwrap();
    assert_eq!(trace.cut.is_none(), whole, "{:?}", trace.cut);
    let mut skipped = Vec::new();
    let mut recorded = 0;
    for recording in &trace.launches {
        let launch = &recording.launch;
        match &launch.skipped {
            Some(why) => skipped.push(why.clone()),
            None => {
                recorded += 1;
                let lanes: usize =
                    (0..recording.streams.frames()).map(|f| recording.streams.frame(f).unwrap().len()).sum();
                assert_eq!(lanes as u64, launch.warps(), "{launch:?}");
                assert_eq!(launch.totals.dropped, 0);
            }
        }
    }
    for file in &session.files {
        fs::remove_file(&file.path).unwrap();
    }
    (recorded, skipped)
}

fn is_recording(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "prlx")
}

const PTX_WAYS: [&str; 8] =
    ["data", "options", "file", "library", "library-file", "link", "link-file", "fatbin"];

#[test]
fn every_way_to_load_and_to_launch() {
    let folder = Folder::new();
    let ptx = folder.ptx();
    let ptx = ptx.to_str().unwrap();
    for how in [How::Linked, How::Dlsym, How::ProcAddress] {
        let Some(program) = folder.program("ways", how) else { return };
        for way in PTX_WAYS {
            let (out, log) = alike(&folder, &program, &[way, ptx], &[]);
            // The program's own launches, and the four parameters that the driver reports to it.
            assert!(
                out.contains("parameters 0+4 4+4 8+8 16+8\n") && out.contains("enumerated "),
                "{way}: {out}"
            );
            assert!(out.contains("bias of 4 bytes"), "{way}: {out}");
            assert_eq!(
                log.matches("module saxpy: 1 of 1 kernels rewritten, source, for sm_90").count(),
                1,
                "{how:?} {way}: {log}"
            );
        }
    }
}

#[test]
fn images_that_nvcc_makes() {
    let folder = Folder::new();
    let Some(program) = folder.program("ways", How::Dlsym) else { return };
    let Some(cuda) = nvidia("bin/nvcc").and(nvidia(".")) else { return };
    let ptxas = cuda.join("bin/ptxas");
    let env = [("PRLX_ASSEMBLER", "ptxas"), ("PRLX_PTXAS", ptxas.to_str().unwrap())];
    let real = "-gencode arch=compute_90,code=sm_90";
    let later = "-gencode arch=compute_90,code=compute_90";
    for (options, fidelity) in [
        (format!("-fatbin -lineinfo {real} {later}"), "exact, for sm_90;"),
        (format!("-fatbin -lineinfo {real} {later} --compress-mode=size"), "exact, for sm_90;"),
        (format!("-fatbin -lineinfo {real} {later} -maxrregcount=24 -Xptxas -O1"), "exact, for sm_90;"),
        (format!("-fatbin -lineinfo {real}"), "exact, for sm_90;"),
        ("-cubin -lineinfo -arch=sm_90a".to_owned(), "exact, for sm_90a;"),
        (format!("-fatbin -lineinfo {later}"), "source, for sm_90;"),
        ("-fatbin -lineinfo -gencode arch=compute_80,code=compute_80".to_owned(), "source, for sm_90;"),
    ] {
        let image = folder.nvcc(&options, "image").unwrap();
        let cubin = options.starts_with("-cubin");
        for way in
            ["data", "library", "file", "library-file"].into_iter().chain((!cubin).then_some("wrapped"))
        {
            let (out, log) = alike(&folder, &program, &[way, image.to_str().unwrap()], &env);
            assert!(out.contains("bias of 4 bytes") && out.contains("\nex "), "{options} {way}: {out}");
            let wanted = format!("module saxpy: 1 of 1 kernels rewritten, {fidelity}");
            assert_eq!(log.matches(&wanted).count(), 1, "{options} {way}: {log}");
            // What it takes, where the program brings machine code of its own.
            let session = Session::open(&folder.0).unwrap();
            let trace = session.read(session.files.last().unwrap()).unwrap();
            let saxpy = trace.modules.iter().flat_map(|m| &m.functions).find(|f| f.name == "saxpy").unwrap();
            let more = saxpy.needs.map(|(own, ours)| own.registers > 0 && ours.registers >= own.registers);
            assert_eq!(
                more,
                fidelity.starts_with("exact").then_some(true),
                "{options} {way}: {:?}",
                saxpy.needs
            );
        }
    }
    // Another assembler of the same machine, as Triton has, makes other code.
    let Some(own) = nvidia("../../triton/backends/nvidia/bin/ptxas") else { return };
    let image = folder.0.join("triton.cubin");
    let made =
        Command::new(&own).args(["-arch=sm_90", "-lineinfo", "-o"]).arg(&image).arg(folder.ptx()).status();
    assert!(made.unwrap().success());
    let words = ["data", image.to_str().unwrap()];
    let with_triton = [&env[..], &[("TRITON_PTXAS_PATH", own.to_str().unwrap())]].concat();
    for (env, fidelity) in [(&env[..], "unproven"), (&with_triton, "exact")] {
        let (out, log) = alike(&folder, &program, &words, env);
        let wanted = format!("module saxpy: 1 of 1 kernels rewritten, {fidelity}, for sm_90;");
        assert!(out.contains("bias of 4 bytes") && log.contains(&wanted), "{out} {log}");
    }
    // PTX for an earlier architecture beside machine code that keeps none: the mock can't run that, but it is
    // found out.
    let lower = format!("-fatbin {real} -gencode arch=compute_80,code=compute_80");
    let image = folder.nvcc(&lower, "lower").unwrap();
    let (ran, log) = run(&folder, &program, &["data", image.to_str().unwrap()], true, &env);
    assert!(log.contains("rewritten, lower-arch, for sm_90;") && ran.code == Some(0), "{log} {ran:?}");
    for (options, why) in [
        (real, "it holds machine code and no PTX"),
        ("-gencode arch=compute_100,code=compute_100", "nothing in it runs on this device"),
    ] {
        let image = folder.nvcc(&format!("-fatbin {options}"), "none").unwrap();
        let (out, log) = alike(&folder, &program, &["data", image.to_str().unwrap()], &env);
        assert!(out == "does not load: 209\n" && log.contains(why), "{options}: {out} {log}");
    }
}

#[test]
fn graphs() {
    let folder = Folder::new();
    for (how, words) in [(How::Linked, &[][..]), (How::ProcAddress, &[]), (How::ProcAddress, &["library"])] {
        let Some(program) = folder.program("graphs", how) else { return };
        let (out, log) = alike(&folder, &program, words, &[]);
        assert!(out.starts_with("3 nodes\ncaptured ") && out.contains("by hand "), "{out}");
        let file = Session::open(&folder.0).unwrap().files.pop().unwrap();
        let trace = Session::open(&folder.0).unwrap().read(&file).unwrap();
        let pairs = trace.launches.iter().filter(|r| r.launch.cluster == Some(Dim3 { x: 2, y: 1, z: 1 }));
        assert_eq!(
            (pairs.count(), trace.launches.iter().filter(|r| r.launch.cluster.is_some()).count()),
            (2, 2)
        );
        // 102 launches of the captured graph, one of that with clusters, and two of that with three nodes
        // built by hand.
        assert_eq!(recorded(&folder, true), (102 * 3 + 2 + 2 * 3, vec![]), "{log}");
        assert!(log.contains("module saxpy: 1 of 1 kernels rewritten"), "{log}");
    }
}

#[test]
fn launches_know_their_nvtx_ranges() {
    let folder = Folder::new();
    let Some(include) = nvidia("include/nvtx3/nvToolsExt.h") else { return };
    let include = format!("-I{}", include.parent().unwrap().parent().unwrap().display());
    let Some(program) = folder.program_with("ranges", How::Linked, &[&include, "-pthread"]) else { return };
    let tool = folder.0.join("tool.so");
    let built = Command::new("cc")
        .args(["-w", "-shared", "-fPIC", "-DTOOL", &include, "-o"])
        .arg(&tool)
        .arg(format!("{ROOT}/tests/programs/ranges.c"))
        .output();
    assert!(built.unwrap().status.success());
    let library = beside("libprlx_preload.so");
    let injection = ("NVTX_INJECTION64_PATH", library.to_str().unwrap());
    let read = || {
        let session = Session::open(&folder.0).unwrap();
        let trace = session.read(&session.files[0]).unwrap();
        fs::remove_file(&session.files[0].path).unwrap();
        let mut launches: Vec<_> = trace.launches.iter().map(|r| r.launch.clone()).collect();
        launches.sort_by_key(|l| l.number);
        let names =
            |l: &Launch| trace.range_names(l).map(ToString::to_string).collect::<Vec<_>>().join(" > ");
        let ranges: Vec<String> = launches.iter().map(names).collect();
        (ranges, launches)
    };
    let want = [
        "",
        "step",
        "step > inér",
        "step > op@lib",
        "op@lib",
        "whole",
        "whole > other",
        "whole > step",
        "step",
        "",
    ];

    let (ran, log) = run(&folder, &program, &[], true, &[injection]);
    assert_eq!((ran.code, &ran.out[..]), (Some(0), "levels 0 1 1 0\n"), "{ran:?} {log}");
    let (ranges, launches) = read();
    assert_eq!(ranges, want);
    let instances: Vec<u64> = launches.iter().flat_map(|l| &l.ranges).map(|r| r.instance).collect();
    assert_eq!(instances, [0, 0, 1, 0, 2, 2, 3, 3, 5, 3, 4, 4]);

    // The user's own library gets every call, and its results are the program's.
    let theirs = (NVTX_LIBRARY, tool.to_str().unwrap());
    let (ran, log) = run(&folder, &program, &[], true, &[injection, theirs]);
    assert_eq!(ran.out, "levels 100 1 0 1\ntool: 3 pushes, 4 pops\n", "{ran:?} {log}");
    assert_eq!(read().0, want);

    // Only launches in a range are recorded.
    for (range, numbers) in [("step", &[1, 2, 3, 7, 8][..]), ("step#1", &[7, 8]), ("*@lib", &[3, 4])] {
        let part = LaunchPart { range: Some(range.parse().unwrap()), ..LaunchPart::default() };
        let options = Options { part, ..Options::new(folder.0.as_path()) }.to_variable().unwrap();
        let (ran, log) = run(&folder, &program, &[], true, &[injection, (VARIABLE, &options)]);
        assert_eq!(ran.code, Some(0), "{log}");
        let recorded = read().1.into_iter().filter(|l| l.skipped.is_none()).map(|l| l.number);
        assert_eq!(recorded.collect::<Vec<_>>(), numbers, "{range}");
    }
}

#[test]
fn every_device_has_its_recorder() {
    let folder = Folder::new();
    let Some(program) = folder.program("devices", How::Dlsym) else { return };
    let (out, log) = alike(&folder, &program, &[], &[("PRLX_MOCK_DEVICES", "2")]);
    assert!(out.starts_with("device 0: ") && out.contains("\ndevice 1: "), "{out}");
    let session = Session::open(&folder.0).unwrap();
    let trace = session.read(&session.files[0]).unwrap();
    assert_eq!(trace.process.as_ref().unwrap().devices.len(), 2);
    let of = |ordinal| {
        let all = trace.launches.iter().map(|r| &r.launch).filter(move |l| l.ordinal == ordinal);
        let mut numbers: Vec<u64> =
            all.inspect(|l| assert_eq!(l.device, "mock device")).map(|l| l.number).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!((of(0), of(1)), (vec![0, 2, 4, 6, 8], vec![1, 3, 5, 7, 9, 10, 11, 12]));
    assert_eq!(recorded(&folder, true), (13, vec![]), "{log}");
}

/// What a program recorded with digests, of so many bytes a launch.
fn digested(folder: &Folder, program: &Path, words: &[&str], most: u64) -> Trace {
    let options = Options { digest: Some(most), ..Options::new(folder.0.as_path()) };
    let variable = options.to_variable().unwrap();
    let (bare, _) = run(folder, program, words, false, &[]);
    let (ours, log) = run(folder, program, words, true, &[(VARIABLE, &variable)]);
    assert_eq!(bare, ours, "{words:?}\n{log}");
    let session = Session::open(&folder.0).unwrap();
    let trace = session.read(session.files.last().unwrap()).unwrap();
    fs::remove_file(&session.files[0].path).unwrap();
    assert_eq!((session.files.len(), &trace.cut), (1, &None));
    trace
}

#[test]
fn queued_launches_wait_for_room_for_digests() {
    let folder = Folder::new();
    let Some(program) = folder.program_with("queue", How::Linked, &["-pthread"]) else { return };
    let trace = digested(&folder, &program, &[], 1 << 20);
    let without: Vec<_> = trace.launches.iter().filter_map(|r| r.launch.undigested.as_ref()).collect();
    assert_eq!((trace.launches.len(), without), (1200, vec![]));
}

#[test]
fn the_culprit_is_the_first_launch_that_gets_the_same_and_leaves_something_else() {
    let folder = Folder::new();
    let Some(program) = folder.program("chain", How::Linked) else { return };
    for how in [["one", "new"], ["buffer", "new"], ["one", "old"], ["buffer", "old"]] {
        let of = |wrong: &str| digested(&folder, &program, &[wrong, how[0], how[1]], 1 << 20);
        let (good, again, bad) = (of("-1"), of("-1"), of("3"));
        for launch in good.launches.iter().map(|r| &r.launch) {
            assert_eq!((launch.pointees.len(), &launch.undigested), (2, &None), "{how:?} {launch:?}");
            // Four arrays, two of them given: up to the other one, or to the end.
            assert!(launch.pointees.iter().all(|p| p.digested == p.bytes && p.bytes >= 256));
            let [x, y] = [launch.pointees[0], launch.pointees[1]];
            assert!(y.before != y.after && y.after.is_some(), "{how:?} {launch:?}");
            // Where y lies behind x, that stays as it is.
            assert!(launch.number % 4 == 3 || x.before == x.after, "{how:?} {launch:?}");
            assert_eq!(launch.skipped.is_some(), how[1] == "old");
        }
        let same = diff(&good, &again, &DiffOptions::default()).unwrap();
        assert!(same.launches.iter().all(|l| l.differences.is_empty()) && same.culprit().is_none());
        let report = diff(&good, &bad, &DiffOptions::default()).unwrap();
        let culprit = report.culprit().unwrap();
        assert_eq!((culprit.launch, culprit.verdict), ([3, 3], Verdict::Differs), "{how:?}");
        // What comes later gets something else already.
        assert_eq!(report.launches.iter().filter(|l| l.culprit).count(), 1);
        assert!(
            report.launches.iter().skip(4).all(|l| l.differences.len() >= 2),
            "{how:?} {:?}",
            report.launches
        );
    }
    // What lies in a structure's padding is nothing that the kernel gets.
    let of =
        |wrong: &str, padding: &str| digested(&folder, &program, &[wrong, "padded", "new", padding], 1 << 20);
    let (good, bad) = (of("-1", "7"), of("3", "9"));
    let params: Vec<_> = good.launches.iter().map(|r| &r.launch.params).collect();
    assert!(params.iter().all(|p| p.len() == 40
        && p[0] == 64
        && p[24] == 3
        && p[4..8] == [0; 4]
        && p[28..] == [0; 12]));
    let report = diff(&good, &bad, &DiffOptions::default()).unwrap();
    assert_eq!(report.culprit().map(|l| l.launch), Some([3, 3]), "{:?}", report.launches);
    assert!(report.launches[..3].iter().all(|l| l.differences.is_empty()), "{:?}", report.launches);
    // Without PTX nobody can tell what is padding: it is said which bytes may be, and that they differ where
    // the same came out.
    let of =
        |wrong: &str, padding: &str| digested(&folder, &program, &[wrong, "padded", "old", padding], 1 << 20);
    let report = diff(&of("-1", "7"), &of("3", "9"), &DiffOptions::default()).unwrap();
    assert_eq!((report.culprit(), report.launches.len()), (None, 6));
    let (suspect, alike) = report.suspect().unwrap();
    let bytes = "byte 4 of parameter 0, bytes 28 to 39 of parameter 0";
    assert_eq!(
        (suspect.launch, alike, suspect.padding.as_deref()),
        ([3, 3], 3, Some(bytes)),
        "{:?}",
        report.launches
    );
    // Where a part that is set differs, nothing is suspected.
    let report = diff(&of("-1", "7"), &of("3", "7"), &DiffOptions::default()).unwrap();
    assert_eq!((report.suspect(), report.culprit().map(|l| l.launch)), (None, Some([3, 3])));
    // What was digested only in part says so, and nothing is a culprit then.
    let of = |wrong: &str| digested(&folder, &program, &[wrong, "one", "new", "graph"], 300);
    let report = diff(&of("-1"), &of("3"), &DiffOptions::default()).unwrap();
    let why = |i: usize| report.launches[i].undigested[0].clone().unwrap_or_default();
    assert_eq!((report.culprit(), report.launches.len()), (None, 7));
    assert_eq!(
        (why(0), why(6)),
        (
            "2 pointers lead to more than was digested (--digest=MIB)".into(),
            "launches of graphs are not digested".into()
        )
    );
}

#[test]
fn programs_leave_as_they_do() {
    let folder = Folder::new();
    let Some(program) = folder.program("leave", How::Dlsym) else { return };
    for (how, code, signal) in [
        ("return", Some(4), None),
        ("release", Some(4), None),
        ("destroy", Some(4), None),
        ("_exit", Some(3), None),
        ("_Exit", Some(3), None),
        ("quick_exit", Some(3), None),
        ("handler", Some(3), None),
        ("vfork", Some(4), None),
        ("signal", None, Some(15)),
        ("abort", None, Some(6)),
        ("kill", None, Some(9)),
        ("fault", Some(4), None),
        ("fork", Some(5), None),
    ] {
        let (bare, _) = run(&folder, &program, &[how], false, &[]);
        let (ran, log) = run(&folder, &program, &[how], true, &[]);
        assert_eq!((ran.code, ran.signal), (code, signal), "{how}");
        // What was recorded and not copied is lost with a faulty context, and a warning says so.
        let warned = how == "fault";
        assert_eq!(
            ran.err.contains("prlx: the recording is incomplete: recording: illegal address"),
            warned,
            "{}",
            ran.err
        );
        assert_eq!(bare, if warned { theirs(ran) } else { ran }, "{how}");
        // A file that was not ended says so, and is read as far as it goes.
        let whole = signal.is_none();
        if how == "fork" {
            // The child that ends by `_exit`, and the parent.
            assert_eq!(
                fs::read_dir(&folder.0).unwrap().flatten().filter(|e| is_recording(&e.path())).count(),
                2
            );
            recorded(&folder, true);
        } else {
            // The program waits for its launches: all but the one that faults are safe from then on, and soon
            // in the file.
            let (launches, skipped) = recorded(&folder, whole);
            let least = if matches!(how, "signal" | "abort") { 2 } else { 3 };
            assert!((least..=3).contains(&launches), "{how}: {launches} {skipped:?} {log}");
            assert_eq!(skipped.len(), usize::from(how == "fault"), "{how}: {skipped:?}");
        }
        let loads = log.matches("1 of 1 kernels rewritten").count();
        let wanted = match how {
            "fork" => 6,
            "fault" => 4,
            "destroy" => 1,
            _ => 3,
        };
        assert_eq!(loads, wanted, "{how}: {log}");
    }
}

#[test]
fn a_fault_takes_nothing_with_it_where_launches_are_waited_for() {
    let folder = Folder::new();
    let Some(program) = folder.program("leave", How::Dlsym) else { return };
    let hint = "; with CUDA_LAUNCH_BLOCKING=1 every launch is saved before the next one runs";
    for value in ["0", "1"] {
        let (ran, log) = run(&folder, &program, &["queued"], true, &[("CUDA_LAUNCH_BLOCKING", value)]);
        assert_eq!((ran.code, ran.err.contains(hint)), (Some(4), value == "0"), "{}", ran.err);
        let (launches, skipped) = recorded(&folder, true);
        // Three that the program waits for, two that it does not, and the one that faults.
        assert_eq!(launches + skipped.len(), 6, "{log}");
        assert!(skipped.last().is_some_and(|why| why.starts_with("lost with its context: ")), "{skipped:?}");
        assert!(value == "0" || launches == 5, "{skipped:?} {log}");
    }
}

#[test]
fn a_process_that_is_not_asked_for_is_left_alone() {
    let folder = Folder::new();
    let Some(program) = folder.program("ways", How::ProcAddress) else { return };
    let ptx = folder.ptx();
    let words = ["library", ptx.to_str().unwrap()];
    let (bare, _) = run(&folder, &program, &words, false, &[]);
    let (_, log) = run(&folder, &program, &words, true, &[(VARIABLE, "")]);
    assert_eq!(log, "");
    let mut options = Options::new(folder.0.as_path());
    options.kernels = vec![KernelPattern::new("other*").unwrap()];
    let (ours, log) = run(&folder, &program, &words, true, &[(VARIABLE, &options.to_variable().unwrap())]);
    assert!(bare == ours && log.contains("not rewritten: no kernel of it was asked for"), "{log}");
    let (ours, _) = run(&folder, &program, &words, true, &[(VARIABLE, "nonsense")]);
    assert_eq!((bare.code, bare.out), (ours.code, ours.out));
    assert!(
        ours.err.starts_with("prlx: PRLX_SESSION is not what this version of prlx writes"),
        "{}",
        ours.err
    );
}

#[test]
fn what_can_not_be_rewritten_runs_as_it_is() {
    let folder = Folder::new();
    let Some(program) = folder.program("ways", How::Linked) else { return };
    let text = fs::read_to_string(folder.ptx()).unwrap();
    let broken = text.replace("ret;", "rett;");
    let old = text.replace("sm_80", "sm_60");
    let many = "a kernel that fills the limit of parameters";
    let full = text.replace(".param .u64 y)", ".param .u64 y, .param .align 4 .b8 rest[4068])");
    for (name, text, why) in [
        ("broken", broken.as_str(), ""),
        ("old", &old, "older than sm_70"),
        (many, &full, "its parameters leave no room for one more"),
        ("empty", ".version 8.0\n.target sm_80\n.address_size 64\n", "it has no kernels"),
        ("nonsense", "nonsense", "neither PTX, a cubin, a fatbin nor a program"),
    ] {
        let path = folder.0.join("odd.ptx");
        fs::write(&path, text).unwrap();
        for way in ["data", "library"] {
            let (bare, _) = run(&folder, &program, &[way, path.to_str().unwrap()], false, &[]);
            let (ours, log) = run(&folder, &program, &[way, path.to_str().unwrap()], true, &[]);
            assert_eq!(bare, ours, "{name} {way}\n{log}");
            // A library that the driver does not take is never looked at.
            let refused = way == "library" && bare.out.starts_with("does not load");
            assert!(log.contains(why) || refused, "{name} {way}: {log}");
        }
    }
}

#[test]
fn a_driver_that_refuses_rewritten_code_gets_the_programs_own() {
    let folder = Folder::new();
    let Some(program) = folder.program("ways", How::Linked) else { return };
    let ptx = folder.ptx();
    // An assembler that makes something that no driver takes.
    let fake = folder.0.join("ptxas");
    fs::write(&fake, "#!/bin/sh\ncase $1 in --*) echo fake;; *) echo nothing > cubin;; esac\n").unwrap();
    fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let env = [("PRLX_ASSEMBLER", "ptxas"), ("PRLX_PTXAS", fake.to_str().unwrap())];
    for way in ["data", "library"] {
        let (bare, _) = run(&folder, &program, &[way, ptx.to_str().unwrap()], false, &env);
        let (ours, _) = run(&folder, &program, &[way, ptx.to_str().unwrap()], true, &env);
        assert_eq!((bare.code, &bare.out), (ours.code, &ours.out), "{way}");
        assert_eq!(
            ours.err.lines().filter(|l| l.starts_with("prlx: the driver does not load")).count(),
            1,
            "{}",
            ours.err
        );
    }
}

#[test]
fn a_captured_launch_runs_from_its_launch_file() {
    let folder = Folder::new();
    let Some(program) = folder.program("chain", How::Linked) else { return };
    for how in ["one", "buffer", "padded"] {
        let options =
            Options { capture: Some(1 << 20), launches: vec![(2, 3)], ..Options::new(folder.0.as_path()) };
        let variable = options.to_variable().unwrap();
        let (bare, _) = run(&folder, &program, &["-1", how, "new"], false, &[]);
        let (ours, log) = run(&folder, &program, &["-1", how, "new"], true, &[(VARIABLE, &variable)]);
        assert_eq!(bare, ours, "{log}");
        let recording = Session::open(&folder.0).unwrap().files.pop().unwrap().path;
        let captured = capture_folder(&recording, 2);
        let job = Job::load(&captured.join(LAUNCH_FILE)).unwrap();
        let done = prlx_driver::run(&mut Emulator::new(Default::default()), &job).unwrap();
        let (mut changed, mut all) = (0, 0);
        for output in done.outputs {
            let after = npy::read(&fs::read(captured.join(after_file(&output.name))).unwrap()).unwrap();
            assert_eq!(after.bytes, output.bytes, "{how}: {}", output.name);
            all += 1;
            changed += u32::from(output.bytes.len() >= 256);
        }
        assert_eq!((all, changed), (1, 1), "{how}");
        fs::remove_file(&recording).unwrap();
        fs::remove_dir_all(&captured).unwrap();
    }
}
