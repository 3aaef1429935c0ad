//! `prlx profile … -- program`: a C program of the driver API on the stand-in for the driver, with the
//! library preloaded, to the recording and what is printed of it. What each launch leaves is held against
//! what the same kernel leaves as a launch file. Skipped where there is no `cc`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::{ROOT, answer, command, folder, prlx, program};
use prlx_driver::session::Session;
use prlx_trace::mark::Marks;
use prlx_trace::{Trace, WarpId};
use serde_json::Value;

/// The kernel's PTX, and its launch file.
fn case(name: &str) -> String {
    format!("{ROOT}/tests/cases/marks/{name}")
}

fn traces(path: &Path) -> Vec<Trace> {
    let session = Session::open(path).unwrap();
    session.files.iter().map(|file| session.read(file).unwrap()).collect()
}

/// What is no time of what a launch's tracks hold: of each warp its marker names and words, in order.
fn told(trace: &Trace, marks: &Marks) -> BTreeMap<WarpId, Vec<(String, [u32; 2])>> {
    let module = &trace.modules[marks.module.index()];
    let name =
        |mark: u32| format!("{:?} {}", module.marks[mark as usize].kind, module.marks[mark as usize].name);
    let of = |t: &prlx_trace::mark::Track| {
        assert!(t.lost == 0 && t.begin.is_some() && t.end.is_some());
        t.records.0.iter().map(|r| (name(r.mark), r.payload)).collect()
    };
    marks.tracks.iter().map(|t| (t.warp, of(t))).collect()
}

/// Every launch leaves what it leaves as a launch file, however it is launched; what has no markers runs as
/// it is.
#[test]
fn launches_leave_what_they_leave_alone() {
    let here = folder("profile-program", "all");
    let Some(app) = program(&here, "marks") else { return };
    let ptx = case("plain.ptx");
    let (code, _, err) =
        prlx(&here, &["profile", "--rewritten", &case("plain.toml"), "-o", "alone.prlx"], &[]);
    assert_eq!(code, Some(0), "{err}");
    let alone = Trace::read(&fs::read(here.join("alone.prlx")).unwrap()).unwrap();
    let expected = told(&alone, &alone.marks[0]);
    assert_eq!(expected.len(), 9);

    let bare = Command::new(&app).args([&ptx, "5", "20"]).env("LD_LIBRARY_PATH", &here).output().unwrap();
    let bare = String::from_utf8_lossy(&bare.stdout).into_owned();
    let words = ["profile", "--memory", "48", "-o", "kept", "--json", "--", &app, &ptx, "5", "20"];
    let (code, out, err) = prlx(&here, &words, &[]);
    assert_eq!(code, Some(0), "{err}");
    let ours = out.strip_prefix(&bare).unwrap_or_else(|| panic!("{out}"));
    let json: Value = serde_json::from_str(ours).unwrap();
    assert!(err.contains("1 process, 46 launches, 45 profiled"), "{err}");

    let traces = traces(&here.join("kept"));
    let trace = &traces[0];
    assert_eq!((traces.len(), trace.launches.len(), trace.marks.len()), (1, 46, 45));
    for marks in &trace.marks {
        assert_eq!(told(trace, marks), expected, "launch {}", marks.launch);
        assert_eq!(marks.left_out, 0);
    }
    let mut numbers: Vec<u64> = trace.marks.iter().map(|m| m.launch).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..46).collect::<Vec<u64>>());
    let region = |name: &str| {
        let regions = json["analysis"]["regions"].as_array().unwrap().iter().filter(|r| r["name"] == name);
        regions.map(|r| r["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(
        (region("load"), region("compute"), json["launches"].as_array().unwrap().len()),
        (45 * 9, 45 * 9, 45)
    );

    // Launches that are asked for, when it is recorded and when it is looked at.
    let words = [
        "profile", "--memory", "48", "--launch", "3-30", "--skip", "2", "--count", "4", "--", &app, &ptx,
        "5", "20",
    ];
    let (code, out, err) = prlx(&here, &words, &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("plain  ") && out.contains("4 launches, 12 CTAs, 36 tracks, 108 spans"), "{out}");
    assert!(
        err.contains("42 launches not profiled") || err.contains("launches not profiled: enough"),
        "{err}"
    );
    let (code, out, err) = prlx(&here, &["timeline", "kept", "--launch", "7-9", "--kernel", "pl?in"], &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("3 launches, 9 CTAs"), "{out}");
    let (code, _, err) = prlx(&here, &["timeline", "kept", "--kernel", "saxpy"], &[]);
    assert!(code == Some(2) && err.contains("no launch in kept matches --kernel and --launch"), "{err}");
    let (code, out, err) = prlx(&here, &["profile", "diff", "kept", "kept"], &[]);
    assert!(code == Some(0) && out.starts_with("same  launch time: A "), "{out}{err}");
}

/// Sums of a program's launches count what those of the launch file count.
#[test]
fn regions_are_added_up() {
    let here = folder("profile-program", "sums");
    let Some(app) = program(&here, "marks") else { return };
    let ptx = case("plain.ptx");
    let counts = |trace: &Trace, marks: &Marks| -> BTreeMap<WarpId, Vec<(String, u64)>> {
        let name = |mark: u32| trace.modules[marks.module.index()].marks[mark as usize].name.clone();
        let of = |t: &prlx_trace::mark::Track| {
            let life = (t.end.unwrap().cycles - t.begin.unwrap().cycles).0;
            assert!(
                t.records.0.is_empty() && t.sums.iter().all(|s| (1..=life).contains(&s.cycles.0)),
                "{t:?}"
            );
            t.sums.iter().map(|s| (name(s.mark), s.count)).collect()
        };
        marks.tracks.iter().map(|t| (t.warp, of(t))).collect()
    };
    let (mut alone, toml) = (Vec::new(), case("plain.toml"));
    for (file, how) in [("hooks.prlx", &[][..]), ("code.prlx", &["--rewritten"])] {
        let words = [&["profile", "--sums", toml.as_str(), "-o", file], how].concat();
        let (code, out, err) = prlx(&here, &words, &[]);
        assert!(code == Some(0) && err.contains("27 sums") && out.contains("compute"), "{out}{err}");
        let trace = Trace::read(&fs::read(here.join(file)).unwrap()).unwrap();
        alone.push(counts(&trace, &trace.marks[0]));
    }
    let one: Vec<_> = ["load", "compute", "store"].map(|name| (name.to_owned(), 1)).to_vec();
    assert_eq!(alone[0], (0..9).map(|warp| (WarpId(warp), one.clone())).collect());
    assert_eq!(alone[0], alone[1]);

    let words = ["profile", "--sums", "--memory", "48", "-o", "kept", "--json", "--", &app, &ptx, "5", "20"];
    let (code, out, err) = prlx(&here, &words, &[]);
    assert_eq!(code, Some(0), "{err}");
    let trace = &traces(&here.join("kept"))[0];
    assert_eq!(trace.marks.len(), 45);
    for marks in &trace.marks {
        assert_eq!((counts(trace, marks), marks.left_out), (alone[0].clone(), 0), "launch {}", marks.launch);
    }
    let json: Value = serde_json::from_str(&out[out.find('{').unwrap()..]).unwrap();
    let rows = json["analysis"]["regions"].as_array().unwrap();
    let compute = rows.iter().filter(|r| r["name"] == "compute").map(|r| r["count"].as_u64().unwrap());
    assert_eq!(
        (compute.sum::<u64>(), &rows[0]["visits"], &json["analysis"]["spans"]),
        (45 * 9, &Value::Null, &0.into())
    );
    let (code, out, err) = prlx(&here, &["profile", "diff", "kept", "kept"], &[]);
    assert!(code == Some(0) && out.starts_with("same "), "{out}{err}");
    for option in ["--csv", "--html", "--perfetto"] {
        let (code, _, err) = prlx(&here, &["profile", "--sums", option, "x", "--", &app], &[]);
        assert!(code == Some(2) && err.contains("--sums records only totals"), "{err}");
    }
}

/// What finds no room is counted, and a later launch of the kernel gets what the first one wanted.
#[test]
fn what_has_no_room_is_counted() {
    let here = folder("profile-program", "full");
    let Some(app) = program(&here, "marks") else { return };
    let ptx = case("plain.ptx");
    // Nine warps with 32 tracks each, of 128 bytes at least.
    let words = ["profile", "--lanes", "--memory", "1", "-o", "kept", "--", &app, &ptx, "3", "0"];
    let (code, out, err) = prlx(&here, &words, &[]);
    assert_eq!(code, Some(0), "{err}");
    let trace = &traces(&here.join("kept"))[0];
    let lanes = 3 * 80;
    for marks in &trace.marks {
        let left = marks.left_out * 32;
        let tracks = marks.tracks.len() as u64;
        // A CTA's last warp has 16 lanes.
        assert!(tracks + left >= lanes && tracks <= lanes, "{tracks} {left}");
        let all: u64 = marks.tracks.iter().map(|t| slots(t) + t.lost).sum();
        // Five trips of two slots, seven others, of which one has a word.
        assert_eq!(all, tracks * (5 * 2 + 6 + 1), "{}", marks.launch);
    }
    let lost: u64 = trace.marks.iter().flat_map(|m| &m.tracks).map(|t| t.lost).sum();
    let left: u64 = trace.marks.iter().map(|m| m.left_out).sum();
    assert!(lost + left > 0, "{out}");
    assert!(lost == 0 || out.contains(&format!("{lost} last records of tracks found no room")), "{out}");
}

/// Slots that a track's records take.
fn slots(track: &prlx_trace::mark::Track) -> u64 {
    track.records.0.iter().map(|r| if r.payload == [0; 2] { 1 } else { 2 }).sum()
}

/// What a flight recorder holds outlives the context that a fault takes with it.
#[test]
fn a_flight_recorder_outlives_a_fault() {
    let here = folder("profile-program", "fault");
    let Some(app) = program(&here, "marks") else { return };
    let begin = "{ $prlx_switch_store: }";
    let text = fs::read_to_string(case("plain.ptx"))
        .unwrap()
        .replace(begin, &format!("{begin}\n\tmov.u64 %rd3, 16;"));
    fs::write(here.join("fault.ptx"), text).unwrap();
    let words =
        ["profile", "--flight-recorder", "--memory", "8", "-o", "kept", "--", &app, "fault.ptx", "1", "0"];
    let (code, out, err) = prlx(&here, &words, &[]);
    assert!(code != Some(0) && out.contains("Where it stopped") && out.contains("store"), "{out}{err}");
    let trace = &traces(&here.join("kept"))[0];
    let launch = trace.launches.iter().find(|r| r.launch.fault.is_some()).map(|r| &r.launch).unwrap();
    let said = &launch.fault.as_ref().unwrap().text;
    assert!(said.contains("it had not ended when its context died"), "{said}");
    let marks = trace.marks.iter().find(|m| m.launch == launch.number).unwrap();
    assert!(!marks.tracks.is_empty() && marks.tracks.iter().all(|t| t.last && t.lost == 0), "{marks:?}");
    // Without one it is lost, and said to be.
    let words = ["profile", "--memory", "8", "-o", "lost", "--", &app, "fault.ptx", "1", "0"];
    let (_, out, err) = prlx(&here, &words, &[]);
    assert!(!out.contains("Where it stopped") && err.contains("lost with its context"), "{out}{err}");
}

/// It outlives its process, killed while a kernel runs.
#[test]
fn a_flight_recorder_outlives_its_process() {
    let here = folder("profile-program", "hangs");
    let Some(app) = program(&here, "marks") else { return };
    let ptx = case("plain.ptx");
    let words = ["profile", "--flight-recorder", "--memory", "8", "-o", "kept", "--", &app, &ptx, "1", "0"];
    // The first kernel has no markers; the stand-in has done all of the second one when it begins to take
    // long.
    let slow = [("PRLX_MOCK_KERNEL_MICROS", "5000000")];
    let mut hangs = command(&here, &words, &slow);
    let hangs = hangs.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let left = loop {
        let files = fs::read_dir(here.join("kept")).into_iter().flatten().flatten().map(|e| e.path());
        let whole = |p: &PathBuf| {
            let trace = fs::read(p).ok().and_then(|bytes| Trace::read(&bytes).ok());
            p.extension() == Some("live".as_ref())
                && trace.is_some_and(|t| t.marks.iter().any(|m| !m.tracks.is_empty()))
        };
        match files.into_iter().find(whole) {
            Some(left) => break left,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing lies beside the recording");
    };
    // HOST.PID.live
    let pid = left.file_stem().and_then(|s| s.to_str()?.rsplit('.').next()).unwrap().to_owned();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let (code, out, err) = answer(hangs.wait_with_output().unwrap());
    assert_eq!(code, Some(128 + 9), "{out}{err}");
    assert!(out.contains("9 tracks had all ended when their launch was stopped"), "{out}{err}");
    let trace = &traces(&here.join("kept"))[0];
    let launch = trace.launches.iter().find(|r| r.launch.fault.is_some()).map(|r| &r.launch).unwrap();
    assert!(launch.fault.as_ref().unwrap().text.contains("when its process was killed"), "{launch:?}");
    assert!(trace.marks[0].tracks.iter().all(|t| t.last), "{:?}", trace.marks);
    // It can be looked at again.
    let (code, again, _) = prlx(&here, &["timeline", "kept"], &[]);
    assert!(code == Some(0) && again.contains("9 tracks had all ended"), "{again}");
}

#[test]
fn what_there_is_not_is_said() {
    let here = folder("profile-program", "none");
    let Some(app) = program(&here, "leave") else { return };
    let alone = Command::new(&app).arg("exit").env("LD_LIBRARY_PATH", &here).output().unwrap();
    let alone = String::from_utf8_lossy(&alone.stdout).into_owned();
    let (code, out, err) = prlx(&here, &["profile", "--memory", "8", "--", &app, "exit"], &[]);
    assert_eq!((code, &out), (Some(4), &alone), "{err}");
    assert!(err.contains("no kernel of the program has markers") && err.contains("--auto marks"), "{err}");
    let (_, _, err) = prlx(&here, &["profile", "--auto", "--memory", "8", "--", &app, "exit"], &[]);
    assert!(err.contains("no kernel of the program has markers\n  --auto=trip,function marks"), "{err}");
    // Functions are marked from outside.
    let (code, out, err) =
        prlx(&here, &["profile", "--auto=function", "--memory", "8", "--", &app, "exit"], &[]);
    assert_eq!(code, Some(4), "{err}");
    assert!(out.starts_with(&alone) && out.contains("saxpy") && out.contains("3 launches"), "{out}");
    for (words, said) in [
        (&["profile", "a.toml", "--", "true"][..], "cannot be used with"),
        (&["profile", "--device", "cuda", "--", "true"], "--device is for launch files"),
        (&["profile", "--warps", "0", "--", "true"], "--warps is for launch files"),
        (&["profile", "--digest", "--", "true"], "--digest is for `prlx record`"),
        (&["profile", "--skip", "1", "a.toml"], "--skip is for programs"),
        (&["profile", "--kernel", "a", "a.toml"], "--kernel is for programs"),
    ] {
        let (code, _, err) = prlx(&here, words, &[]);
        assert!(code == Some(2) && err.contains(said), "{words:?}: {err}");
    }
    let left = fs::read_dir(&here)
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("prlx-"));
    assert_eq!(left.count(), 0, "the folder of the recording is gone");
}

/// Of a program that is killed, what had ended is there.
#[test]
fn a_killed_program_leaves_what_had_ended() {
    let here = folder("profile-program", "killed");
    let Some(app) = program(&here, "marks") else { return };
    let (code, out, err) =
        prlx(&here, &["profile", "--memory", "8", "--", &app, &case("plain.ptx"), "4", "2", "kill"], &[]);
    assert_eq!(code, Some(128 + 9), "{out}{err}");
    assert!(err.contains("was ended by signal 9") && out.contains("plain  "), "{out}{err}");
    assert!(out.contains("8 launches, 24 CTAs, 72 tracks, 216 spans"), "{out}{err}");
}

/// Several processes and several kernels are shown one by one.
#[test]
fn each_process_and_each_kernel_by_itself() {
    let here = folder("profile-program", "several");
    let (Some(app), Some(forks)) = (program(&here, "marks"), program(&here, "leave")) else { return };
    let ptx = case("plain.ptx");
    let (code, out, err) =
        prlx(&here, &["profile", "--auto=function", "--memory", "16", "--", &app, &ptx, "2", "1"], &[]);
    assert_eq!(code, Some(0), "{err}");
    let heads: Vec<&str> = out.lines().filter(|l| l.contains(" launch") && l.contains(" track")).collect();
    assert!(heads[0].starts_with("plain, saxpy  ") && heads[0].contains("5 launches, 13 CTAs"), "{out}");
    assert!(
        heads[1].starts_with("saxpy  ") && heads[1].contains("1 launch, 1 CTA, 1 track, 1 span"),
        "{out}"
    );
    assert!(heads[2].starts_with("plain  ") && heads[2].contains("4 launches, 12 CTAs, 36 tracks"), "{out}");

    let words =
        ["profile", "--auto=function", "--memory", "8", "-o", "two", "--csv", "a.csv", "--", &forks, "fork"];
    let (code, out, err) = prlx(&here, &words, &[]);
    assert_eq!(code, Some(5), "{err}");
    assert_eq!(out.lines().filter(|l| l.starts_with("saxpy  ")).count(), 2, "{out}");
    assert!(err.contains(", 1 of 2:") && err.contains(", 2 of 2:"), "{err}");
    assert!(err.contains("output files hold the first process only"), "{err}");
    assert_eq!(fs::read_to_string(here.join("a.csv")).unwrap().lines().count(), 1 + 3);
    let (code, _, err) = prlx(&here, &["timeline", "two"], &[]);
    assert!(
        code == Some(2) && err.contains("two has 2 processes with markers: name the file of one"),
        "{err}"
    );
}

/// Launch calls and kernels lie on one axis, whatever the timer shows and however fast it runs: no kernel
/// begins before its call, or ends after its end was seen, and files have both with arrows.
#[test]
fn host_and_kernels_are_on_one_axis() {
    let here = folder("profile-program", "host");
    let Some(app) = program(&here, "marks") else { return };
    let ptx = case("plain.ptx");
    for (kept, timer) in [("kept0", ""), ("kept1", "7123456789012345678:200"), ("kept2", "5:-300")] {
        let files = ["--perfetto", "a.perfetto", "--chrome", "a.json", "--html", "a.html", "--csv", "a.csv"];
        let words = [
            &["profile", "--memory", "48", "--json"],
            &files[..],
            &["-o", kept],
            &["--", &app, &ptx, "5", "20"],
        ];
        let (code, out, err) = prlx(&here, &words.concat(), &[("PRLX_MOCK_TIMER", timer)]);
        assert_eq!(code, Some(0), "{err}");
        let json: Value = serde_json::from_str(&out[out.find('{').unwrap()..]).unwrap();
        let (host, calls) = (&json["host"], json["calls"].as_array().unwrap());
        assert_eq!((calls.len(), &host["launches"], &host["threads"]), (45, &45.into(), &1.into()));
        let device = &host["devices"][0];
        assert!(
            device["within"].as_i64().unwrap() > 0 && device["bounds"] == serde_json::json!([45, 45]),
            "{device}"
        );
        let number = |of: &Value, key: &str| of[key].as_i64().unwrap();
        let parts = |of: &Value| {
            ["waited", "host", "recording", "launched"].map(|key| number(of, key)).iter().sum::<i64>()
        };
        assert_eq!(parts(device), number(device, "idle"), "{device}");
        for gap in host["gaps"].as_array().unwrap() {
            assert_eq!(parts(gap), number(gap, "time"), "{gap}");
        }
        // Launch by launch: the first begin and the last end of its spans.
        let text = fs::read_to_string(here.join("a.csv")).unwrap();
        let mut ran: BTreeMap<i64, [i64; 2]> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let [launch, begin, end] = [0, 11, 12].map(|i| cells[i].parse::<i64>().unwrap());
            let range = ran.entry(launch).or_insert([begin, end]);
            *range = [range[0].min(begin), range[1].max(end)];
        }
        assert_eq!(ran.len(), 45);
        for call in calls {
            let [begin, end] = ran[&number(call, "launch")];
            let called = call["called"][0].as_i64().unwrap();
            // A tick of this timer is a nanosecond.
            assert!(number(call, "start") <= called && called <= begin + 2000, "{call} {begin}");
            assert!(end <= number(call, "seen") + 2000, "{call} {end}");
        }
        let chrome: Value = serde_json::from_slice(&fs::read(here.join("a.json")).unwrap()).unwrap();
        let events = chrome["traceEvents"].as_array().unwrap();
        let of = |ph: &str| events.iter().filter(|e| e["ph"] == ph).count();
        assert_eq!(
            [of("s"), of("t"), of("f")],
            [45; 3],
            "from the call to its stream, and to its first track"
        );
        let page = fs::read_to_string(here.join("a.html")).unwrap();
        assert!(page.contains("host, thread 0") && page.contains("device 0, stream 0"));
        let bytes = fs::read(here.join("a.perfetto")).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
        assert!(has("host and devices") && has("host, thread 0") && has("device 0, stream 1"));
        // The recording says the same again.
        let (code, again, _) = prlx(&here, &["timeline", kept, "--json"], &[]);
        let again: Value = serde_json::from_str(&again).unwrap();
        assert!(code == Some(0) && again["calls"] == json["calls"] && again["host"] == json["host"]);
        let (_, text, _) = prlx(&here, &["timeline", kept], &[]);
        assert!(
            text.contains("\nHost  ")
                && text.contains("aligned with device times within ±")
                && text.contains("\nGaps  "),
            "{text}"
        );
    }
}
