//! `prlx probe … -- program`: C programs of the driver API on the stand-in for the driver, with the library
//! preloaded, to the printed tables. What is counted is held against the launches that the same recording
//! has. Skipped where there is no `cc`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::programs::{prlx, program};
use prlx_driver::session::Session;
use prlx_trace::Trace;
use serde_json::Value;

/// A folder of a test's own.
fn folder(name: &str) -> std::path::PathBuf {
    crate::programs::folder("probe-program", name)
}

/// Splits what the program printed from our JSON behind it.
fn json(out: &str) -> (&str, Value) {
    let (own, ours) = out.split_at(out.find("{\n").unwrap_or_else(|| panic!("no JSON in {out}")));
    (own, serde_json::from_str(ours).unwrap())
}

fn traces(path: &Path) -> Vec<Trace> {
    let session = Session::open(path).unwrap();
    session.files.iter().map(|file| session.read(file).unwrap()).collect()
}

/// A number of threads and a number of warps, of every launch; how often a kernel of 32 threads and less is
/// left, and who it was.
const THREADS: &str = "
    record @ends(launch: u64, cta: u64) per warp keep 2;
    kernel:begin { @threads++; @launches[launch] = count(); }
    kernel:end { save @ends(launch, cta); @last[ctaid.x] = max(tid.x); }";

/// Everything that was launched is in the tables once, however it was launched: into streams, by graphs, on
/// several devices.
#[test]
fn tables_hold_every_launch() {
    for (name, words, env) in [
        ("graphs", &[][..], &[][..]),
        ("graphs", &["library"], &[]),
        ("devices", &[], &[("PRLX_MOCK_DEVICES", "2")]),
        ("leave", &["exit"], &[]),
        ("leave", &["fork"], &[]),
    ] {
        let here = folder(&format!("{name}-{}", words.concat()));
        let Some(app) = program(&here, name) else { return };
        let alone =
            Command::new(&app).args(words).env("LD_LIBRARY_PATH", &here).envs(env.iter().copied()).output();
        let alone = alone.unwrap();
        let command = [
            &["probe", THREADS, "--json", "-o", "kept", "--memory", "48", "--top", "100000", "--", &app],
            words,
        ]
        .concat();
        let (code, out, err) = prlx(&here, &command, env);
        let (own, kept) = json(&out);
        assert_eq!(
            (code, own),
            (alone.status.code(), &*String::from_utf8_lossy(&alone.stdout)),
            "{name} {err}"
        );
        let traces = traces(&here.join("kept"));
        let launches = || traces.iter().flat_map(|t| &t.launches).map(|r| &r.launch);
        assert!(launches().count() > 2 && launches().all(|l| l.skipped.is_none()), "{err}");
        let threads: u64 = launches().map(|l| l.grid.volume() * l.block.volume()).sum();
        let warps: u64 = launches().map(|l| l.warps()).sum();
        let table =
            |name: &str| kept["tables"].as_array().unwrap().iter().find(|t| t["name"] == name).unwrap();
        assert_eq!(table("threads")["rows"][0]["count"], threads, "{name} {words:?}: {kept}");
        let of_launches = table("launches")["rows"].as_array().unwrap();
        let sum: u64 = of_launches.iter().map(|r| r["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, threads);
        let records = table("ends")["rows"].as_array().unwrap();
        // A warp whose lanes leave at two places has a record of each.
        assert!(
            records.len() as u64 >= warps && records.len() as u64 <= 2 * warps,
            "{} {warps}",
            records.len()
        );
        // The launch that a record is of, and the one that it says.
        assert!(
            records.iter().all(|r| r["key"][r["key"].as_array().unwrap().len() - 3] == r["fields"]["launch"])
        );
        assert_eq!(kept["missed"].as_array().unwrap().len(), 0, "{kept}");
        // What was kept is what was printed.
        let (code, again, err) = prlx(&here, &["probe", "show", "kept", "--json", "--top", "100000"], &[]);
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(json(&again).1["tables"][0], kept["tables"][0]);
    }
}

/// Variables of warps and CTAs begin as zeros in every launch, of graphs that are launched again too, and all
/// lanes are in them.
#[test]
fn variables_of_ctas_are_those_of_one_launch() {
    const LEVELS: &str = "
        warp lanes: u32;
        cta ended: u32;
        cta threads: u64;
        kernel:begin { lanes += 1; threads += 1; }
        kernel:end {
            $n = ended++;
            if $n + 1 == ntid.x * ntid.y * ntid.z {
                @ctas[threads - u64($n), launch] = count(); @threads += threads;
            }
            @most = max(lanes);
        }";
    for (name, env) in [("graphs", &[][..]), ("devices", &[("PRLX_MOCK_DEVICES", "2")])] {
        let here = folder(&format!("levels-{name}"));
        let Some(app) = program(&here, name) else { return };
        let command =
            ["probe", LEVELS, "--json", "-o", "kept", "--memory", "48", "--top", "100000", "--", &app];
        let (_, out, err) = prlx(&here, &command, env);
        let (_, kept) = json(&out);
        let traces = traces(&here.join("kept"));
        let launches = || traces.iter().flat_map(|t| &t.launches).map(|r| &r.launch);
        assert!(launches().count() > 2 && launches().all(|l| l.skipped.is_none()), "{err}");
        let table =
            |name: &str| kept["tables"].as_array().unwrap().iter().find(|t| t["name"] == name).unwrap();
        let ctas = table("ctas")["rows"].as_array().unwrap();
        // One more than its last lane found: nothing of an earlier launch was there.
        assert!(ctas.iter().all(|r| r["key"][0] == 1), "{kept}");
        let sum: u64 = ctas.iter().map(|r| r["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, launches().map(|l| l.grid.volume()).sum::<u64>(), "{name}");
        let threads: u64 = launches().map(|l| l.grid.volume() * l.block.volume()).sum();
        assert_eq!(table("threads")["rows"][0]["sum"], threads, "{name}: {kept}");
        let most = launches().map(|l| l.block.volume().min(32)).max();
        assert_eq!(table("most")["rows"][0]["max"].as_u64(), most, "{name}: {kept}");
    }
}

#[test]
fn what_was_not_probed_is_said_and_the_program_runs_on() {
    let here = folder("skipped");
    let Some(app) = program(&here, "graphs") else { return };
    let alone = Command::new(&app).env("LD_LIBRARY_PATH", &here).output().unwrap();
    let alone = String::from_utf8_lossy(&alone.stdout).into_owned();
    // Nowhere.
    let (code, out, err) = prlx(&here, &["probe", "inst:wgmma { @n++; }", "--memory", "8", "--", &app], &[]);
    assert_eq!((code, &out), (Some(2), &alone), "{err}");
    assert!(
        err.contains("the probe program matches no instruction in 1 module: `prlx probe check`"),
        "{err}"
    );
    // A clause has nothing to stand on, one can't be told what it asks for, and one asks for lines where
    // there are none.
    let text = "block { @b++; } inst:wgmma { @w++; } inst:st.global { @n[arg.q]++; } inst:st.global { @lines[line]++; }";
    let (code, out, err) = prlx(
        &here,
        &["probe", text, "--memory", "8", "--parquet", "tables", "--csv", "tables", "--", &app],
        &[],
    );
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with(&alone) && out.contains("inst:st.global does nothing at 1 place"), "{out}");
    assert!(err.contains("clause 2 (inst:wgmma) matches no instruction: `prlx probe check`"), "{err}");
    assert_eq!(err.matches("matches no instruction").count(), 1, "{err}");
    let lines = fs::read_to_string(here.join("tables/lines.csv")).unwrap();
    assert!(lines.starts_with("file,line,count\nno line,,"), "{lines}");
    assert!(fs::read(here.join("tables/lines.parquet")).unwrap().starts_with(b"PAR1"));
    // Records that have no room, in a recording that is kept nowhere.
    let many = "record @r(x: u64) per thread keep 2000; kernel:end { save @r(clock); }";
    let (code, out, err) = prlx(&here, &["probe", many, "--memory", "4", "--top", "1", "--", &app], &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("launches not probed: there was no room for it; --memory makes more"), "{out}{err}");
    let left = fs::read_dir(&here)
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("prlx-"));
    assert_eq!(left.count(), 0, "the folder of the recording is gone");
    // A kernel that was not asked for.
    let (code, _, err) =
        prlx(&here, &["probe", "block { @b++; }", "--kernel", "other", "--memory", "8", "--", &app], &[]);
    assert!(code == Some(2) && err.contains("no kernel of it was asked for"), "{err}");
}

/// A log that grows gives its room to who asks for it, and counts the others.
#[test]
fn records_that_find_no_room_are_counted() {
    let here = folder("log");
    let Some(app) = program(&here, "graphs") else { return };
    let log = "record @log(x: u32, launch: u64) per thread grow 1;
        kernel:begin { for $i in 0..40 { if lane == 1 || $i == 0 { save @log(u32($i), launch); } } }";
    let (_, out, err) =
        prlx(&here, &["probe", log, "--json", "-o", "kept", "--memory", "48", "--top", "1", "--", &app], &[]);
    let (_, kept) = json(&out);
    let traces = traces(&here.join("kept"));
    let launches: Vec<_> = traces.iter().flat_map(|t| &t.launches).map(|r| &r.launch).collect();
    assert!(launches.len() > 2 && launches.iter().all(|l| l.skipped.is_none()), "{err}");
    // A warp has room for 32 records, and makes one a lane, and 39 if it has a second lane.
    let lanes = |l: &prlx_trace::launch::Launch, warp: u64| (l.block.volume() - warp * 32).min(32);
    let made = |l: &prlx_trace::launch::Launch| -> u64 {
        let warps = l.block.volume().div_ceil(32);
        l.grid.volume() * (0..warps).map(|w| lanes(l, w) + if lanes(l, w) > 1 { 39 } else { 0 }).sum::<u64>()
    };
    let room: u64 = launches.iter().map(|l| made(l).min(32 * l.warps())).sum();
    let all: u64 = launches.iter().map(|l| made(l)).sum();
    let rows: u64 = traces.iter().flat_map(|t| &t.tallies).map(|t| t.rows.len() as u64).sum();
    let lost: u64 = traces.iter().flat_map(|t| &t.tallies).map(|t| t.lost).sum();
    assert_eq!((rows, rows + lost), (room, all), "{kept}");
    assert!(lost > 0, "{kept}");
}

/// A program that is killed: what its tables held then is there, and was printed before.
#[test]
fn tables_of_a_killed_program_are_there() {
    let here = folder("killed");
    let Some(app) = program(&here, "leave") else { return };
    let probe = [
        "probe",
        "kernel:begin { @threads++; }",
        "--memory",
        "8",
        "--interval",
        "0.05",
        "-o",
        "kept",
        "--",
        &app,
        "kill",
    ];
    let (code, out, err) = prlx(&here, &probe, &[]);
    assert_eq!(code, Some(128 + 9), "{out}{err}");
    assert!(err.contains("after ") && err.contains("was ended by signal 9"), "{err}");
    // Two rounds are of contexts that ended before, the third one of one that did not.
    assert!(out.ends_with("@threads  count\n  96\n"), "{out}{err}");
    let (code, out, _) = prlx(&here, &["probe", "show", "kept"], &[]);
    assert!(code == Some(0) && out.ends_with("@threads  count\n  96\n"), "{out}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let here = folder("refused");
    for (words, said) in [
        (&["probe", "block { @b++; }", "a.toml", "--", "true"][..], "give either launch files, or a program"),
        (&["probe", "block { @b++; }", "--device", "cuda", "--", "true"], "--device is for launch files"),
        (&["probe", "block { @b++; }", "--memory", "7", "a.toml"], "--memory is for programs"),
        (&["probe", "block { @b", "--", "true"], "program:1"),
    ] {
        let (code, _, err) = prlx(&here, words, &[]);
        assert!(code == Some(2) && err.contains(said), "{words:?}: {err}");
    }
    // No process of it uses the driver.
    let (code, out, err) = prlx(&here, &["probe", "block { @b++; }", "--", "false"], &[]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("no process of the program used the CUDA driver"), "{err}");
}
