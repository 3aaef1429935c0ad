//! `prlx probe` on AMD machine code, on the CPU device: builtins in waves of 32 and of 64 lanes, and the
//! shipped tools on the examples against the same source for CUDA.
//!
//! `BLESS=1 cargo test -p prlx-cli --features full --test it amd_probes::` writes the table of tools in
//! `docs/amd.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn probe(program: &[&str], launch: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    command.arg("probe").args(program).arg(launch).arg("--json").env("NO_COLOR", "1").output().unwrap()
}

/// The tables of a program, by name; `None` if it matches nothing in the launch.
fn tables(program: &[&str], launch: &Path) -> Option<BTreeMap<String, Value>> {
    let out = probe(program, launch);
    let error = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() {
        assert!(error.contains("the probe program matches no instruction"), "{}: {error}", launch.display());
        return None;
    }
    let mut json: Value = serde_json::from_slice(&out.stdout).unwrap();
    let tables = json["tables"].as_array_mut().unwrap();
    let named =
        tables.iter_mut().map(|table| (table["name"].as_str().unwrap().to_owned(), table["rows"].take()));
    Some(named.collect())
}

/// A program whose table `wrong` has a row for each builtin that is not what the others say. `LANES` stands
/// for the lanes of a wave.
const BUILTINS: &str = "
kernel:begin {
    @threads = count();
    if lane != thread % LANES || thread != tid.x + tid.y + tid.z { @wrong[1] = count(); }
    if warp_in_cta != thread / LANES { @wrong[2] = count(); }
    if warp != cta * (64 / LANES) + u64(warp_in_cta) || cta != u64(ctaid.x) { @wrong[3] = count(); }
    if popc(lanes_below) != lane || popc(active) != LANES { @wrong[4] = count(); }
    if leader != (lane == 0) || popc(ballot(lane < 5)) != 5 { @wrong[5] = count(); }
    if ntid.x != 64 || ntid.y != 1 || ntid.z != 1 { @wrong[6] = count(); }
    if nctaid.x != 2 || nctaid.y != 1 || nctaid.z != 1 { @wrong[7] = count(); }
    if lanes_sum(lane) != LANES * (LANES - 1) / 2 || lanes_max(lane) != LANES - 1 { @wrong[8] = count(); }
    if popc(lanes_same(lane / 8)) != 8 { @wrong[9] = count(); }
}
inst:st.global {
    @stored[address] = min(s32(in0));
    @bytes[opcode, space, reads, writes, width, elements] += size;
    if lanes_min(address) + u64(lane) * 4 != address || line != 36 { @wrong[10] = count(); }
}
inst:v_cmp_*:end { @compared[kernel] = count(); }
kernel:end { if clock == 0 || time == 0 { @wrong[11] = count(); } @ended = count(); }
";

#[test]
fn builtins_are_right_in_waves_of_32_and_of_64_lanes() {
    for (target, lanes, opcode) in [("gfx942", 64, "global_store_dword"), ("gfx1100", 32, "global_store_b32")]
    {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("builtins.{target}.prlx"));
        fs::write(&file, BUILTINS.replace("LANES", &lanes.to_string())).unwrap();
        let launch = PathBuf::from(format!("{ROOT}/tests/kernels/amd/calls.{target}.toml"));
        let all = tables(&["-f", file.to_str().unwrap()], &launch).unwrap();
        assert_eq!(all["wrong"], serde_json::json!([]), "{target}");
        assert_eq!(all["threads"][0]["count"], 128, "{target}");
        assert_eq!(all["ended"][0]["count"], 128, "{target}");
        // in_loop stores for the 100 elements that it has: steps of x from -3 on, until 1.
        let steps = |mut x: i64| {
            let mut n = 0;
            while x > 1 {
                x = if x & 1 == 1 { 3 * x + 1 } else { x / 2 };
                n += 1;
            }
            n
        };
        let stored = all["stored"].as_array().unwrap();
        let address = |row: &Value| {
            let digits = row["key"][0].as_str().unwrap().trim_start_matches("0x");
            u64::from_str_radix(digits, 16).unwrap()
        };
        let mut found: Vec<(u64, i64)> =
            stored.iter().map(|row| (address(row), row["min"].as_i64().unwrap())).collect();
        found.sort_unstable();
        let values: Vec<i64> = found.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, (0..100).map(|i| steps(i - 3)).collect::<Vec<i64>>(), "{target}");
        let first = found[0].0;
        assert!(found.iter().zip(0..).all(|((at, _), i)| *at == first + 4 * i), "{target}");
        let bytes = &all["bytes"][0];
        assert_eq!(bytes["sum"], 400, "{target}: {bytes}");
        assert_eq!(bytes["key"][0], opcode, "{target}: {bytes}");
        assert_eq!(bytes["key"][1], "global", "{target}: {bytes}");
        assert!(all["compared"][0]["count"].as_u64() > Some(0), "{target}");
    }
}

#[test]
fn markers_and_multiprocessors_are_the_same_in_inserted_code() {
    let launch = PathBuf::from(format!("{ROOT}/tests/cases/cli/amd_profile.in/pipe.gfx942.toml"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("markers.prlx");
    fs::write(&file, "marker:produce { @visits[warp, sm] = count(); }\n").unwrap();
    let program = ["-f", file.to_str().unwrap()];
    let hooks = tables(&program, &launch).unwrap();
    // The first warp of each CTA has 64 lanes, which produce four tiles.
    let rows = json!([{ "key": [0, 0], "count": 256 }, { "key": [3, 1], "count": 256 }]);
    assert_eq!(hooks["visits"], rows);
    assert_eq!(tables(&[&["--rewritten"], &program[..]].concat(), &launch).unwrap(), hooks);
}

#[test]
fn what_does_not_exist_there_is_refused_with_the_place() {
    let launch = PathBuf::from(format!("{ROOT}/tests/kernels/amd/calls.gfx942.toml"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("overwritten.prlx");
    fs::write(&file, "inst:v_add_u32:end { @sum[line] = sum(in0 + in1); }\nkernel:end { @n = count(); }\n")
        .unwrap();
    let out = probe(&["-f", file.to_str().unwrap()], &launch);
    let said: Value = serde_json::from_slice(&out.stdout).unwrap();
    let missed = said["missed"].to_string();
    assert!(missed.contains("the instruction overwrites its input: use `:begin`"), "{missed}");
    assert!(missed.contains("calls.c:"), "{missed}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
    let out = command.args(["probe", "explain", "bytes"]).arg(&launch).output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(error.contains("is AMD machine code") && error.contains("of PTX only"), "{error}");
}

#[test]
fn the_cost_of_inserted_code_is_measured() {
    let prlx = |args: &[&str]| -> Value {
        let launch = format!("{ROOT}/tests/kernels/amd/calls.gfx942.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_prlx"));
        let out = command.args(args).args(["--json", "--device", "cpu"]).arg(launch).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).unwrap()
    };
    let ran = prlx(&["run"])["warp_instructions"].as_u64().unwrap();
    let cost = prlx(&["cost", "--level", "path", "--level", "events", "--probe", "instruction-mix"]);
    let forms = cost["launches"][0]["forms"].as_array().unwrap();
    let median = |name: &str| {
        let form = forms.iter().find(|form| form["form"] == name).unwrap();
        assert_eq!((&form["changed"], &form["full"]), (&json!(false), &json!(false)), "{name}");
        form["median"].as_u64().unwrap()
    };
    assert_eq!([median("bare"), median("again")], [ran; 2]);
    assert!(ran < median("path") && median("path") < median("events"), "{forms:?}");
    assert!(ran < median("path off") && median("path off") < median("path"), "{forms:?}");
    assert!(ran < median("instruction-mix"), "{forms:?}");
}

#[test]
fn what_cannot_be_inserted_is_refused_with_the_place() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused.prlx");
    let refused = |program: &str, launch: &str| {
        fs::write(&file, program).unwrap();
        let launch = PathBuf::from(format!("{ROOT}/tests/kernels/amd/{launch}.toml"));
        let out = probe(&["--rewritten", "-f", file.to_str().unwrap()], &launch);
        assert!(!out.status.success(), "{program}");
        String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned()
    };
    let store = |what: &str| format!("inst:st.global {{ @t = {what}; }}\n");
    for (program, launch, why, place) in [
        (
            store("sum(f32(in0))"),
            "calls.gfx1100",
            "atomic addition of f64, which gfx1100",
            "at `global_store_b32 ",
        ),
        (store("max(f64(lane) / 3.0)"), "calls.gfx942", "`div.rn.f64`", "at `global_store_dword "),
        (store("max(s32(lane) / 3)"), "calls.gfx942", "`div.s32`", "at `global_store_dword "),
        (store("max(f32(lane))"), "full.gfx942", "does not round to nearest", "at `global_store_dword "),
    ] {
        let error = refused(&program, launch);
        assert!(error.contains(why) && error.contains(place), "{program}: {error}");
    }
}

/// The tables of a program by hooks and by inserted code.
fn both(program: &[&str], launch: &Path) -> [Option<BTreeMap<String, Value>>; 2] {
    [tables(program, launch), tables(&[program, &["--rewritten"]].concat(), launch)]
}

#[test]
fn inserted_code_reads_clocks() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clocks.prlx");
    fs::write(&file, "inst:st.global { @n[clock > 0, time > 0] = count(); }\n").unwrap();
    for target in ["gfx942", "gfx1100"] {
        let launch = PathBuf::from(format!("{ROOT}/tests/kernels/amd/calls.{target}.toml"));
        let [hooks, code] = both(&["-f", file.to_str().unwrap()], &launch);
        assert!(hooks.is_some(), "{target}");
        assert_eq!(hooks, code, "{target}");
    }
}

#[test]
fn inserted_programs_have_the_tables_of_hooks() {
    let corpus = fs::read_to_string(format!("{ROOT}/tests/kernels/amd/corpus.prlx")).unwrap();
    let floats = "
inst:st.global {
    $v = f32(s32(in0));
    @float[$v * 1.5, f64($v) + 0.25, $v / 3.0, s32($v * 0.7), $v < 3.5, u32(lane) / 3] = count();
    @sums[line] = sum(f64($v));
}
";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("inserted.prlx");
    let program = ["-f", file.to_str().unwrap()];
    let full = ["gfx90a", "gfx942", "gfx1030", "gfx1100"].map(|target| format!("full.{target}"));
    let calls = ["gfx942", "gfx1100"].map(|target| format!("calls.{target}"));
    for launch in full.iter().chain(&calls) {
        let path = PathBuf::from(format!("{ROOT}/tests/kernels/amd/{launch}.toml"));
        fs::write(&file, &corpus).unwrap();
        let [hooks, code] = both(&program, &path);
        assert!(hooks.as_ref().is_some_and(|tables| tables.len() > 15), "{launch}: {hooks:?}");
        assert_eq!(hooks, code, "{launch}");
    }
    // gfx11 adds no doubles in memory, and `full.s` flushes denormals.
    fs::write(&file, floats).unwrap();
    let [hooks, code] = both(&program, &Path::new(ROOT).join("tests/kernels/amd/calls.gfx942.toml"));
    assert!(hooks.is_some());
    assert_eq!(hooks, code);
    for (target, lanes) in [("gfx942", 64), ("gfx1100", 32)] {
        let without = BUILTINS.replace("if clock == 0 || time == 0 { @wrong[11] = count(); }", "");
        assert_ne!(without, BUILTINS);
        fs::write(&file, without.replace("LANES", &lanes.to_string())).unwrap();
        let path = PathBuf::from(format!("{ROOT}/tests/kernels/amd/calls.{target}.toml"));
        let [hooks, code] = both(&program, &path);
        assert_eq!(hooks.as_ref().unwrap()["wrong"], serde_json::json!([]), "{target}");
        assert_eq!(hooks, code, "{target}");
    }
}

#[test]
fn inserted_tools_have_the_tables_of_hooks() {
    let folders = fs::read_dir(format!("{ROOT}/examples")).unwrap().map(|entry| entry.unwrap().path());
    let launches = folders.map(|path| path.join("amd/good.toml")).filter(|launch| launch.exists());
    let launches: Vec<PathBuf> = launches.collect();
    // The others have clocks, or the order in which warps arrive.
    let exact = TOOLS.iter().filter(|(_, why)| !why.contains("clocks") && !why.contains("warps"));
    let mut compared = 0;
    for (tool, _) in exact {
        for launch in &launches {
            let [hooks, code] = both(&[tool], launch);
            assert_eq!(hooks, code, "{tool}: {}", launch.display());
            compared += usize::from(hooks.is_some());
        }
    }
    assert!(compared > 100, "only {compared} launches have tables");
}

/// Tools, and what their numbers depend on beside the source.
const TOOLS: [(&str, &str); 15] = [
    ("bytes", "code: a compiler loads a value once or twice"),
    ("global-bytes", "likewise"),
    ("transactions", "lanes of a warp"),
    ("coalescing", "lanes of a warp"),
    ("bank-conflicts", "lanes of a warp; banks are those of NVIDIA's"),
    ("stored-range", "types: a value that is only copied has none in AMD's code"),
    ("values", "likewise"),
    ("nan-origin", "code; likewise"),
    ("branch-efficiency", "code, and lanes of a warp"),
    ("instruction-mix", "opcodes"),
    ("imbalance", "code: basic blocks"),
    ("memory-timeline", "clocks"),
    ("barrier-order", "warps"),
    ("barrier-wait", "clocks, and warps"),
    ("block-scheduling", "clocks, and warps"),
];

/// Rows without the text of source lines, which launch files of AMD's code do not find.
fn plain(mut tables: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    fn forget(value: &mut Value) {
        match value {
            Value::Object(map) => {
                if map.contains_key("line") {
                    map.insert("text".to_owned(), Value::Null);
                    if let Some(file) = map.get("file").and_then(Value::as_str) {
                        let name = file.rsplit('/').next().unwrap_or(file).to_owned();
                        map.insert("file".to_owned(), Value::String(name));
                    }
                }
                map.values_mut().for_each(forget);
            }
            Value::Array(list) => list.iter_mut().for_each(forget),
            _ => {}
        }
    }
    tables.values_mut().for_each(forget);
    tables
}

#[test]
fn tools_run_on_the_examples_as_on_cuda() {
    let folders = fs::read_dir(format!("{ROOT}/examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut examples: Vec<PathBuf> = folders.filter(|path| path.join("amd/good.toml").exists()).collect();
    examples.retain(|path| path.join("good.toml").exists());
    examples.sort();
    assert!(examples.len() >= 15, "only {} examples have launches for both", examples.len());
    let mut table = String::from(
        "| tool | launches with tables: CUDA | AMD | equal | differs by |\n|---|---|---|---|---|\n",
    );
    let mut equal_of = BTreeMap::new();
    for (tool, why) in TOOLS {
        let (mut cuda, mut amd, mut equal) = (0, 0, 0);
        for example in &examples {
            let of = |launch: &str| tables(&[tool], &example.join(launch)).map(plain);
            let (first, second) = (of("good.toml"), of("amd/good.toml"));
            cuda += usize::from(first.is_some());
            amd += usize::from(second.is_some());
            equal += usize::from(first.is_some() && first == second);
        }
        equal_of.insert(tool, (cuda, amd, equal));
        table += &format!("| `{tool}` | {cuda} | {amd} | {equal} | {why} |\n");
    }
    let all = examples.len();
    assert_eq!(equal_of["global-bytes"], (all, all, all - 1), "uninit: clang loads a score once");
    let (cuda, amd, equal) = equal_of["bytes"];
    assert!((cuda, amd) == (all, all) && equal >= all - 2, "{table}");
    let path = format!("{ROOT}/docs/amd.md");
    let page = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- probe tools -->\n", "<!-- end of probe tools -->");
    let (before, rest) = page.split_once(begin).expect("docs/amd.md has a place for the table");
    let (old, after) = rest.split_once(end).expect("the place ends");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(old, table, "BLESS=1 writes docs/amd.md");
}
