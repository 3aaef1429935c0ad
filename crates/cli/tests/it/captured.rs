//! Launches of programs that are captured as launch files, and explained.

use std::fs;

use crate::programs::{comparison, folder, prlx, program, program_with};

#[test]
fn a_program_s_wrong_number_has_a_cause() {
    let folder = folder("captured", "cause");
    let Some(chain) = program(&folder, "chain") else { return };
    let (good, bad) = (format!("{chain} -1 one new"), format!("{chain} 3 one new"));
    let (code, out, err) = prlx(&folder, &["compare", "--digest", "--a", &good, "--b", &bad], &[]);
    assert_eq!(code, Some(1), "{err}");
    for part in [
        "culprit launch 3",
        "(class: input)",
        "`bias[0]` differs before the launch",
        "y[1]   A 10931   B 10932",
        "the cause comes from running both sides again on the CPU device",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // Without digests, captured numbers find the same launch, though only a later one takes another path.
    let (code, out, err) = prlx(&folder, &["compare", "--a", &good, "--b", &bad], &[]);
    assert_eq!(code, Some(1), "{err}");
    for part in ["launch 3", "(class: input)", "y[1]   A 10931   B 10932"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(err.contains("to record the decisions of 1 launch"), "{err}");
    let (code, out, err) = prlx(&folder, &["compare", "--level", "path", "--a", &good, "--b", &bad], &[]);
    assert!(code == Some(1) && out.contains("y[1]   A 10931   B 10932"), "{out}{err}");
    assert!(err.contains("to compare what 5 launches stored"), "{err}");
    let words = ["compare", "--no-outputs", "--a", &good, "--b", &bad];
    let (_, out, err) = prlx(&folder, &words, &[]);
    assert!(out.contains("(class: input)") && out.contains("an earlier launch, or the host"), "{out}{err}");
    let words = ["compare", "--no-explain", "--no-outputs", "--a", &good, "--b", &bad];
    let (_, out, err) = prlx(&folder, &words, &[]);
    assert!(
        !out.contains("  cause  ") && !err.contains("running both programs again to capture"),
        "{out}{err}"
    );
}

#[test]
fn what_launches_store_is_compared_by_default() {
    let folder = folder("captured", "stored");
    let Some(chain) = program(&folder, "chain") else { return };
    let compare = |a: &str, b: &str, more: &[&str]| {
        let [a, b] = [a, b].map(|words| format!("{chain} {words}"));
        prlx(&folder, &[&["compare", "--a", &a, "--b", &b], more].concat(), &[])
    };
    // The last launch decides nothing: level `path` sees no difference.
    let (code, out, err) = compare("-1 one new", "5 one new", &["--level", "path"]);
    assert!(code == Some(1) && out.contains("y[1] "), "{out}{err}");
    let (code, out, err) = compare("-1 one new", "5 one new", &["--no-outputs"]);
    assert!(code == Some(3) && out.contains("what the kernel stored was not compared"), "{out}{err}");
    // Within a tolerance, the same; but not without numbers.
    let (code, out, err) = compare("-1 one new", "5 one new", &["--atol", "1"]);
    assert!(code == Some(0) && out.contains("no difference beyond the tolerance"), "{out}{err}");
    let (code, _, err) = compare("-1 one new", "5 one new", &["--atol", "1", "--no-outputs"]);
    assert!(code == Some(2) && err.contains("need the numbers of outputs"), "{err}");
    let (code, out, err) = compare("-1 one new", "-1 one new", &["--level", "path"]);
    assert!(code == Some(0) && err.contains("to digest what 6 launches stored"), "{out}{err}");
    assert!(!err.contains("to compare what"), "{err}");
    // Hashes choose among many launches.
    let (code, out, err) = compare("-1 one new none 40", "39 one new none 40", &["--level", "path"]);
    assert!(code == Some(1) && out.contains("launch 39") && out.contains("y[1] "), "{out}{err}");
    assert!(err.contains("to hash what 40 launches stored") && err.contains("what 1 launch stored"), "{err}");
    let (code, out, err) = compare("-1 one new none 40", "-1 one new none 40", &["--level", "path"]);
    assert!(code == Some(0) && !err.contains("to compare what"), "{out}{err}");
    // A graph's launch is not captured, and hashes tell that it is equal.
    let (code, out, err) = compare("-1 one new graph", "-1 one new graph", &["--level", "path"]);
    assert!(code == Some(0) && err.contains("to hash what 1 launch stored"), "{out}{err}");
}

/// Decisions of large launches have no room in the recorder's memory; their hashes have, and captures need
/// none.
#[test]
fn launches_without_room_are_hashed_and_captured() {
    let folder = folder("captured", "room");
    let Some(chain) = program(&folder, "chain") else { return };
    let compare = |wrong: &str| {
        let [a, b] = ["-1", wrong].map(|wrong| format!("{chain} {wrong} one new none 3 24000"));
        prlx(&folder, &["compare", "--level", "path", "--memory", "8", "--a", &a, "--b", &b], &[])
    };
    let (code, out, err) = compare("-1");
    assert!(code == Some(0) && out.contains("there was no room for all decisions"), "{out}{err}");
    assert!(err.contains("to hash what 3 launches stored") && !err.contains("to digest"), "{err}");
    let (code, out, err) = compare("2");
    assert!(code == Some(1) && out.contains("launch 2") && out.contains("y[1] "), "{out}{err}");
}

/// By default, both programs run once if hashes or digests settle all launches. Otherwise they run again for
/// few of them.
#[test]
fn programs_run_as_often_as_it_takes() {
    let folder = folder("captured", "survey");
    let Some(chain) = program(&folder, "chain") else { return };
    let compare = |a: &str, b: &str, more: &[&str]| {
        let [a, b] = [a, b].map(|words| format!("{chain} {words}"));
        prlx(&folder, &[&["compare", "--a", &a, "--b", &b], more].concat(), &[])
    };
    let again = |err: &str| err.matches("running both programs again").count();
    for equal in ["-1 one new", "-1 one new none 40", "-1 one new graph"] {
        let (code, out, err) = compare(equal, equal, &[]);
        assert!(code == Some(0) && again(&err) == 0, "{out}{err}");
    }
    // The culprit is looked at closer: its decisions are recorded and its memory is captured in one run.
    for (b, launch) in [("5 one new", 5), ("39 one new none 40", 39)] {
        let a = b.replacen(&launch.to_string(), "-1", 1);
        let (code, out, err) = compare(&a, b, &[]);
        assert!(code == Some(1) && out.contains("y[1] ") && out.contains("(class: input)"), "{out}{err}");
        assert!(out.contains(&format!("launch {launch}")) && again(&err) == 1, "{out}{err}");
    }
    // Within a tolerance, they are the same. The decisions of later launches follow from what differs.
    let (code, out, err) = compare("-1 one new", "5 one new", &["--atol", "1"]);
    assert!(code == Some(0) && again(&err) == 1, "{out}{err}");
}

/// Runs of one program are compared by hashes and digests, and the program runs again where they differ.
#[test]
fn repeated_runs_are_compared_as_two_programs_are() {
    let folder = folder("captured", "repeated");
    let Some(chain) = program(&folder, "chain") else { return };
    // The runs whose numbers match the pattern have the wrong launch.
    let repeat = |pattern: &str, words: &str, more: &[&str]| {
        let _ = fs::remove_file(folder.join("n"));
        let script = format!(
            "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; case $n in {pattern}) exec {chain} {words};; \
             *) exec {chain} -1 {};; esac",
            words.split_once(' ').unwrap().1
        );
        prlx(&folder, &[&["repeat", "-n", "4"], more, &["--", "sh", "-c", &script]].concat(), &[])
    };
    let again = |err: &str| err.matches("running both programs again").count();
    for words in ["-1 one new", "-1 one old"] {
        let (code, out, err) = repeat("none", words, &[]);
        assert!(code == Some(0) && again(&err) == 0, "{out}{err}");
        assert!(out.starts_with("same  the same outcome in all 4 runs"), "{out}");
    }
    // Every second run differs, the further ones too, so there is a cause.
    let (code, out, err) = repeat("*[13579]", "5 one new", &[]);
    assert!(code == Some(1) && out.contains("2 outcomes in 4 runs"), "{out}{err}");
    assert!(out.contains("y[1]   A 100045   B 100046   (class: input)"), "{out}{err}");
    let (code, out, err) = repeat("*[13579]", "5 one new", &["--atol", "1"]);
    assert!(code == Some(0) && out.contains("agrees within the tolerance"), "{out}{err}");
    // Without PTX, the memory differs.
    let (code, out, err) = repeat("*[13579]", "3 one old", &[]);
    assert!(code == Some(1) && out.contains("culprit launch 3"), "{out}{err}");
    // One run differs, and none of the further ones.
    let (code, out, err) = repeat("1", "3 one new", &[]);
    assert!(code == Some(3) && out.contains("2 outcomes in 4 runs"), "{out}{err}");
    assert!(out.contains("it happens in some runs only"), "{out}");
    // Recordings alone know nothing of what launches store.
    let (code, out, err) = repeat("none", "-1 one new", &["--level", "path"]);
    assert!(code == Some(3) && again(&err) == 0, "{out}{err}");
}

/// Code that cannot be rewritten leaves no recording. Its memory is digested, of many launches at once, and
/// of each if it differs.
#[test]
fn launches_without_a_recording_are_compared_by_their_memory() {
    let folder = folder("captured", "unrecorded");
    let Some(chain) = program(&folder, "chain") else { return };
    let compare = |a: &str, b: &str, more: &[&str]| {
        let [a, b] = [a, b].map(|words| format!("{chain} {words}"));
        prlx(&folder, &[&["compare", "--a", &a, "--b", &b], more].concat(), &[])
    };
    let again = |err: &str| err.matches("running both programs again").count();
    for equal in ["-1 one old", "-1 buffer old none 200"] {
        let (code, out, err) = compare(equal, equal, &[]);
        assert!(code == Some(0) && again(&err) == 0, "{out}{err}");
        assert!(out.contains("all memory behind the parameters is equal by digest"), "{out}");
        let (code, out, err) = compare(equal, equal, &["--strict"]);
        assert!(code == Some(3) && again(&err) == 0, "{out}{err}");
    }
    for (a, b) in [("-1 one old", "3 one old"), ("-1 one old none 200", "130 one old none 200")] {
        let (code, out, err) = compare(a, b, &[]);
        assert!(code == Some(1) && again(&err) == 1, "{out}{err}");
        assert!(out.contains("byte 4 behind the pointer at byte 16 of the parameters   A "), "{out}");
        let wrong = b.split(' ').next().unwrap();
        assert!(out.contains(&format!("culprit launch {wrong}")), "{out}{err}");
        assert!(err.contains("to compare the memory of"), "{err}");
    }
}

/// Launches that wait for others are digested before their memory or their stream goes away, and are written
/// although nobody waits for them.
#[test]
fn launches_that_nobody_waits_for_are_digested() {
    let folder = folder("captured", "unwaited");
    let Some(unwaited) = program(&folder, "unwaited") else { return };
    let verdicts = |last: &str| {
        let (a, b) = (format!("{unwaited} 2"), format!("{unwaited} {last}"));
        let report = comparison(&folder, &["--a", &a, "--b", &b]);
        let launches = report["launches"].as_array().unwrap().clone();
        launches.iter().map(|l| l["verdict"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Launches without pointers have no memory that could be compared.
    assert_eq!(verdicts("2"), ["same", "same", "same", "unknown", "unknown"]);
    // What the launch left follows from its parameter, which differs.
    assert_eq!(verdicts("3"), ["same", "same", "differs", "unknown", "unknown"]);
}

/// Allocators place memory otherwise in each run, with other content around it. Only what a launch changes
/// counts.
#[test]
fn launches_without_a_recording_may_lie_elsewhere() {
    let folder = folder("captured", "pooled");
    let Some(pooled) = program(&folder, "pooled") else { return };
    let compare = |b: &str, more: &[&str]| {
        let [a, b] = ["0 1 9", b].map(|words| format!("{pooled} {words}"));
        prlx(&folder, &[&["compare", "--a", &a, "--b", &b], more].concat(), &[])
    };
    let (code, out, err) = compare("8192 2 9", &[]);
    assert!(code == Some(0) && out.contains("all that it changed in the memory"), "{out}{err}");
    assert!(err.contains("to compare the memory of 2 launches before and after"), "{err}");
    let (code, out, err) = compare("8192 2 1065353216", &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    for part in ["byte 0 behind the pointer at byte 0 of the parameters", "(1.0 as f32)", "launch 1"] {
        assert!(out.contains(part), "{part}: {out}{err}");
    }
    // B's memory holds that already, so it changes nothing there.
    let (code, out, err) = compare("0 1 16843009", &[]);
    assert!(code == Some(1) && out.contains("0x01010101"), "{out}{err}");
    let (code, out, err) = compare("8192 2 9", &["--strict"]);
    assert!(code == Some(3) && !out.contains("changed in the memory"), "{out}{err}");
}

/// Programs have flags and counters in memory of the host. The digests read it before it ends. The host may
/// write there at any time, so other content is no difference yet, but what a launch changes there is one.
#[test]
fn launches_without_a_recording_may_write_memory_of_the_host() {
    let folder = folder("captured", "host");
    let Some(pooled) = program(&folder, "pooled") else { return };
    let compare = |b: &str| {
        let [a, b] = ["0 1 9 host", b].map(|words| format!("{pooled} {words}"));
        prlx(&folder, &["compare", "--a", &a, "--b", &b], &[])
    };
    let (code, out, err) = compare("0 1 9 host");
    assert!(code == Some(0) && out.contains("all memory behind the parameters"), "{out}{err}");
    let (code, out, err) = compare("8192 2 9 host");
    assert!(code == Some(0) && out.contains("all that it changed in the memory"), "{out}{err}");
    let (code, out, err) = compare("0 1 8 host");
    let place = "byte 0 behind the pointer at byte 0 of the parameters";
    assert!(code == Some(1) && out.contains(place) && out.contains("launch 1"), "{out}{err}");
}

/// What a program launches in further runs says nothing of a launch of another kernel.
#[test]
fn programs_may_choose_other_kernels_again() {
    let folder = folder("captured", "chosen");
    let Some(pooled) = program(&folder, "pooled") else { return };
    let [a, b] = [("9", "first"), ("8", "second")]
        .map(|(value, file)| format!("{pooled} 0 1 {value} device {}", folder.join(file).display()));
    let (code, out, err) = prlx(&folder, &["compare", "--a", &a, "--b", &b], &[]);
    assert!(err.contains("before and after") && folder.join("second").exists(), "{err}");
    assert!(code == Some(3) && out.contains("the program launched something else"), "{out}{err}");
}

/// A run in which an autotuner chose something runs again with its choices, and so do all others.
#[test]
fn what_an_autotuner_chose_is_chosen_again() {
    let folder = folder("captured", "tuned");
    let Some(chain) = program(&folder, "chain") else { return };
    let script = format!(
        "made=$JAX_COMPILATION_CACHE_DIR/xla_gpu_per_fusion_autotune_cache_dir\n[ -e $made/$1 ] && exec {chain} -1 \
         one new\nmkdir -p $made; echo > $made/$1\nexec {chain} 3 one new none 9\n"
    );
    fs::write(folder.join("tuned.sh"), script).unwrap();
    let chose = |err: &str| err.matches("autotuner chose").count();
    let words = ["compare", "--a", "sh tuned.sh dot", "--b", "sh tuned.sh dot"];
    let (code, out, err) = prlx(&folder, &words, &[]);
    assert!(code == Some(0) && chose(&err) == 1 && out.contains("6 launches are the same"), "{out}{err}");
    // Another product of B is tuned there.
    let words = ["compare", "--a", "sh tuned.sh dot", "--b", "sh tuned.sh sum"];
    let (code, _, err) = prlx(&folder, &words, &[]);
    assert!(code == Some(0) && chose(&err) == 2, "{err}");
    let (code, out, err) = prlx(&folder, &["repeat", "-n", "3", "--", "sh", "tuned.sh", "dot"], &[]);
    assert!(code == Some(0) && chose(&err) == 1 && out.contains("6 launches: 0, 1, 2"), "{out}{err}");
    // Triton keeps its choices in its cache.
    let cache = folder.join("triton");
    let script = format!(
        "made=$TRITON_CACHE_DIR/KEY\n[ $TRITON_CACHE_AUTOTUNING = 1 -a -e $made/sum.autotune.json ] && exec {chain} \
         -1 one new\nmkdir -p $made; echo > $made/sum.autotune.json\nexec {chain} 3 one new none 9\n"
    );
    fs::write(folder.join("triton.sh"), script).unwrap();
    let words = ["compare", "--a", "sh triton.sh", "--b", "sh triton.sh"];
    let own = [("TRITON_CACHE_DIR", cache.to_str().unwrap())];
    let (code, out, err) = prlx(&folder, &words, &own);
    assert!(code == Some(0) && chose(&err) == 1 && out.contains("6 launches are the same"), "{out}{err}");
    // A folder of the user's own is left alone.
    let mine = folder.join("mine").display().to_string();
    let words = ["compare", "--a", "sh tuned.sh dot", "--b", "sh tuned.sh dot"];
    let (code, _, err) = prlx(&folder, &words, &[("JAX_COMPILATION_CACHE_DIR", &mine)]);
    assert!(code == Some(1) && chose(&err) == 0, "{err}");
}

/// A fault ends the context, and with it what was recorded of all launches that were not copied yet. The side
/// runs again, one launch at a time.
#[test]
fn the_launch_that_faults_is_found_and_explained() {
    let folder = folder("captured", "fault");
    let Some(chain) = program_with(&folder, "chain", &["-DFAULT"]) else { return };
    let (good, bad) = (format!("{chain} -1 one new"), format!("{chain} 2 one new"));
    let (code, out, err) = prlx(&folder, &["compare", "--a", &good, "--b", &bad], &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("a fault lost launches of B: running it again"), "{err}");
    for part in [
        "first launch 2",
        "2 launches are the same",
        "(class: address)",
        "mul.wide.u32 %rd3, %r6,",
        "out-of-bounds   A none   B reads 4 bytes",
    ] {
        assert!(out.contains(part), "{part}: {out}{err}");
    }
}

/// Hashes of two builds cannot be compared. Digests settle their launches, and the decisions of few stand for
/// those of the others.
#[test]
fn launches_of_two_builds_are_settled_by_few() {
    let [here, there] = ["builds-a", "builds-b"].map(|name| folder("captured", name));
    let Some(a) = program(&here, "chain") else { return };
    let Some(b) = program_with(&there, "chain", &["-DOTHER_BUILD"]) else { return };
    let compare = |wrong: &str| {
        let (a, b) = (format!("{a} -1 one new none 40"), format!("{b} {wrong} one new none 40"));
        prlx(&here, &["compare", "--a", &a, "--b", &b], &[])
    };
    let (code, out, err) = compare("-1");
    assert!(
        code == Some(0) && out.contains("no decision differs in the launches of this kernel"),
        "{out}{err}"
    );
    assert!(out.contains("38 launches of them: hashes"), "{out}");
    assert!(
        err.contains("to record the decisions of 2 launches") && !err.contains("to compare what"),
        "{err}"
    );
    let (code, out, err) = compare("20");
    assert!(code == Some(1) && out.contains("launch 20") && out.contains("y[1] "), "{out}{err}");
    assert!(out.contains("the decisions of this one were not recorded"), "{out}");
    assert!(err.contains("to compare the memory of 40 launches"), "{err}");
    assert_eq!(err.matches("running both programs again").count(), 2, "{err}");
}

#[test]
fn captured_launches_run_and_are_replaced() {
    let folder = folder("captured", "record");
    let Some(chain) = program(&folder, "chain") else { return };
    let record = |more: &[&str]| {
        let words = [&["record", "-o", "r.prlx", "--capture"], more, &["--", &chain, "-1", "one", "new"]];
        prlx(&folder, &words.concat(), &[])
    };
    let (code, _, err) = record(&[]);
    assert!(code == Some(2) && err.contains("choose single ones with --launch"), "{err}");
    // One long range is enough to copy too much, whatever the others are.
    let (code, _, err) = record(&["--launch", "2", "--launch", "0-900"]);
    assert!(code == Some(2) && err.contains("choose single ones with --launch"), "{err}");
    let (code, _, err) = record(&["--launch", "2"]);
    assert!(code == Some(0) && err.contains("captured: prlx run r.prlx/"), "{err}");
    let file = err.lines().find_map(|l| l.strip_prefix("captured: prlx run ")).unwrap();
    let (code, out, err) = prlx(&folder, &["run", file], &[]);
    assert!(code == Some(0) && out.contains("y  u32[64]"), "{out}{err}");
    // Another recording takes the place, and a file that is not part of it stays.
    let (code, _, err) = record(&["--launch", "2", "--force"]);
    assert_eq!(code, Some(0), "{err}");
    let notes = folder.join("r.prlx").join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let (code, _, err) = record(&["--launch", "2", "--force"]);
    assert!(code == Some(2) && err.contains("notes.txt is not part of a recording"), "{err}");
    assert!(notes.is_file());
}

/// The bytes of a tensor map mean nothing on another device, so the launch file says what they encode.
#[test]
fn tensor_maps_are_captured() {
    let folder = folder("captured", "tiles");
    let Some(tiles) = program(&folder, "tiles") else { return };
    let [add, sub] = ["add", "sub"].map(|op| format!("{tiles} {op}"));
    let (code, out, err) = prlx(&folder, &["compare", "--a", &add, "--b", &add], &[]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, out, err) = prlx(&folder, &["compare", "--a", &add, "--b", &sub], &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    for part in [
        "output y  f32[256]: 256 of 256 elements differ",
        "y[0]   A 1.0   B -1.0   (class: operation)",
        "tiles.cu:7",
        "the cause comes from running both sides again on the CPU device",
    ] {
        assert!(out.contains(part), "{part}: {out}{err}");
    }
    assert!(!out.contains("the CPU device stopped"), "{out}");
}

#[test]
fn a_part_of_the_launches_is_compared() {
    let folder = folder("captured", "part");
    let Some(chain) = program(&folder, "chain") else { return };
    let (good, bad) = (format!("{chain} -1 one new"), format!("{chain} 3 one new"));
    let compare = |more: &[&str]| {
        let words = [&["compare", "--digest", "--no-explain"], more, &["--a", &good, "--b", &bad]].concat();
        prlx(&folder, &words, &[])
    };
    // Launch 3 is the first that differs.
    let (code, out, err) = compare(&["--to", "2"]);
    assert!(code == Some(0) && out.contains("3 launches are the same"), "{out}{err}");
    let (code, out, err) = compare(&["--from", "saxpy#3", "--to", "saxpy"]);
    assert!(code == Some(1) && out.contains("outputs differ"), "{out}{err}");
    assert!(err.contains("5: it is not in the part of --from, --to and --range"), "{err}");
    let (code, _, err) = compare(&["--from", "gemm*"]);
    assert!(code == Some(2) && err.contains("no launch lies between --from and --to"), "{err}");
    // Recordings of all launches are compared in part.
    for (command, to) in [(&good, "a.prlx"), (&bad, "b.prlx")] {
        let words: Vec<&str> =
            ["record", "--digest", "-o", to, "--"].into_iter().chain(command.split(' ')).collect();
        assert_eq!(prlx(&folder, &words, &[]).0, Some(0));
    }
    let diff = |more: &[&str]| prlx(&folder, &[&["diff", "a.prlx", "b.prlx"], more].concat(), &[]);
    assert_eq!(diff(&[]).0, Some(1));
    assert_eq!(diff(&["--to", "2"]).0, Some(0));
    assert_eq!(diff(&["--from", "3", "--to", "3"]).0, Some(1));
    let gate = prlx(&folder, &["assert", "a.prlx", "b.prlx", "--to", "saxpy#2"], &[]);
    assert_eq!(gate.0, Some(0), "{}{}", gate.1, gate.2);
}

/// CTAs that take their tile from a counter take different branches in every run, by what they load from
/// addresses that follow from it. That is no difference if the outputs agree, of however many launches.
#[test]
fn work_from_a_counter_is_a_matter_of_order() {
    let folder = folder("captured", "tickets");
    let Some(tickets) = program(&folder, "tickets") else { return };
    let compare = |how: &str, more: &[&str]| {
        let command = |seed: u64| format!("env PRLX_MOCK_SEED={seed} {tickets} {how}");
        let (a, b) = (command(1), command(2));
        prlx(&folder, &[&["compare", "--a", &a, "--b", &b], more].concat(), &[])
    };
    let (code, out, err) = compare("tile 4", &[]);
    assert!(code == Some(0) && out.contains("in 4 launches of them"), "{out}{err}");
    let (code, out, err) = compare("tile 4", &["--strict"]);
    assert_eq!(code, Some(1), "{out}{err}");
    let (code, out, err) = compare("cta 4", &[]);
    assert!(code == Some(1) && out.contains("(class: order)"), "{out}{err}");
    // No decision follows from the order of a sum, and the usual schedule of the CPU device gives one sum.
    let (code, out, err) = compare("sum 1", &[]);
    assert!(code == Some(1) && out.contains("(class: order)") && out.contains("add.cu:7"), "{out}{err}");
    assert!(out.contains("under two schedules"), "{out}{err}");
    // More launches than are captured: digests decide them all.
    let (code, out, err) = compare("tile 33", &[]);
    assert!(code == Some(0) && out.contains("in 33 launches of them"), "{out}{err}");
    let (code, out, err) = compare("tile 33", &["--digest"]);
    assert_eq!(code, Some(0), "{out}{err}");
}
