//! Timelines: what is written for Perfetto, read by a reader of the encoding's rules that knows nothing of
//! the writer; Chrome's JSON; and what the writer refuses.

use std::collections::HashMap;

use prlx_analyze::Verdict;
use prlx_analyze::report::{LaunchReport, Report, UnmatchedLaunch};
use prlx_present::perfetto::{Arg, Details, Writer};
use prlx_present::recording::timeline::{Compared, LaunchTimeline};
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{Function, Module};
use prlx_trace::launch::Totals;
use prlx_trace::{Cycles, Dim3, FuncId, Launch, Picos, Process, Recording, Streams, Trace};

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = bytes.split_first().expect("a number is cut off");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        panic!("a number has no end");
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            kind => {
                let n = if kind == 1 { 8 } else { varint(&mut bytes) as usize };
                assert!(kind == 1 || kind == 2, "kind {kind}");
                let (here, rest) = bytes.split_at(n);
                bytes = rest;
                if kind == 1 {
                    Field::Number(u64::from_le_bytes(here.try_into().unwrap()))
                } else {
                    Field::Bytes(here)
                }
            }
        };
        all.push((tag >> 3, field));
    }
    all
}

fn number(message: &[(u64, Field<'_>)], field: u64) -> Option<u64> {
    message.iter().find_map(|(f, v)| match v {
        Field::Number(n) if *f == field => Some(*n),
        _ => None,
    })
}

fn inner<'a>(message: &'a [(u64, Field<'a>)], field: u64) -> impl Iterator<Item = &'a [u8]> {
    message.iter().filter_map(move |(f, v)| match v {
        Field::Bytes(b) if *f == field => Some(*b),
        _ => None,
    })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Packets as Perfetto understands them, a line each: descriptors, and events with times since the trace
/// began.
fn read(file: &[u8]) -> String {
    #[derive(Default)]
    struct Sequence {
        track: u64,
        now: u64,
        known: HashMap<(u64, u64), String>,
        cleared: bool,
    }
    let mut sequences: HashMap<u64, Sequence> = HashMap::new();
    let mut lines = String::new();
    for packet in inner(&fields(file), 1) {
        let packet = fields(packet);
        let id = number(&packet, 10).expect("packets of a sequence");
        for track in inner(&packet, 60) {
            let track = fields(track);
            let name = match inner(&track, 3).next() {
                Some(process) => {
                    let process = fields(process);
                    let name = text(inner(&process, 6).next().unwrap());
                    format!("process {} {name}", number(&process, 1).unwrap())
                }
                None => {
                    format!("of {} {}", number(&track, 5).unwrap(), text(inner(&track, 2).next().unwrap()))
                }
            };
            lines += &format!("{}: {name}\n", number(&track, 1).unwrap());
        }
        let s = sequences.entry(id).or_default();
        s.cleared |= number(&packet, 13) == Some(1);
        for defaults in inner(&packet, 59) {
            let defaults = fields(defaults);
            assert_eq!(number(&defaults, 58), Some(64), "its own clock");
            s.track = number(&fields(inner(&defaults, 11).next().unwrap()), 11).unwrap();
        }
        for snapshot in inner(&packet, 6) {
            let snapshot = fields(snapshot);
            let clocks: Vec<_> = inner(&snapshot, 1).map(fields).collect();
            let of = |clock| clocks.iter().find(|c| number(c, 1) == Some(clock)).and_then(|c| number(c, 2));
            assert_eq!(
                (of(64), number(&clocks[0], 3)),
                (of(6), Some(1)),
                "incremental, and set by the trace's clock"
            );
            s.now = of(64).unwrap();
        }
        for data in inner(&packet, 12) {
            for (table, entry) in fields(data) {
                let Field::Bytes(entry) = entry else { panic!("a number among names") };
                let entry = fields(entry);
                let name = text(inner(&entry, 2).next().unwrap()).to_owned();
                assert!(
                    s.known.insert((table, number(&entry, 1).unwrap()), name).is_none(),
                    "interned twice"
                );
            }
        }
        for event in inner(&packet, 11) {
            assert!(s.cleared && number(&packet, 13) == Some(2), "Perfetto drops it otherwise");
            s.now += number(&packet, 8).unwrap();
            let event = fields(event);
            let name = |table, field| number(&event, field).map_or("", |id| &s.known[&(table, id)]);
            let kind = ["", "begin", "end", "instant"][number(&event, 9).unwrap() as usize];
            let mut line = format!("{} @{} {kind} {} {}", s.track, s.now, name(2, 10), name(1, 3));
            for arg in inner(&event, 4) {
                let arg = fields(arg);
                let value = match arg.last().unwrap() {
                    (2, Field::Number(yes)) => (*yes == 1).to_string(),
                    (3, Field::Number(n)) => n.to_string(),
                    (6, Field::Bytes(b)) => text(b).to_owned(),
                    (field, _) => panic!("field {field}"),
                };
                line += &format!(" {}={value}", s.known[&(3, number(&arg, 1).unwrap())]);
            }
            for (_, flow) in event.iter().filter(|(f, _)| *f == 47) {
                let Field::Number(flow) = flow else { panic!("an arrow's number") };
                line += &format!(" ~{:x}", flow);
            }
            lines += &(line.trim_end().to_owned() + "\n");
        }
    }
    lines
}

/// A process that began at `started` and launched kernels `f` and `g` in turn: (stream, start, nanoseconds).
fn trace(started: u64, launches: &[(u32, u64, u64)]) -> Trace {
    let function = |name: &str| Function { name: name.into(), kernel: true, ..Function::default() };
    let launch = |(i, &(stream, start, ran)): (usize, &(u32, u64, u64))| Recording {
        launch: Launch {
            kernel: FuncId(i as u32 % 2),
            number: i as u64,
            device: "NVIDIA H200".into(),
            stream,
            start: Nanos(start),
            skipped: (ran == 0).then(|| "not\nasked for".to_owned()),
            totals: Totals { recorded: 7, instrumented: ran, ..Totals::default() },
            ..Launch::default()
        },
        streams: Streams::default(),
    };
    Trace {
        process: Some(Process {
            pid: 41,
            host: "h\u{1b}".into(),
            started: Nanos(started),
            ..Process::default()
        }),
        modules: vec![Module { functions: vec![function("f"), function("g")], ..Module::default() }],
        launches: launches.iter().enumerate().map(launch).collect(),
        ..Trace::default()
    }
}

const STEPS: &[(u32, u64, u64)] = &[(0, 1000, 500), (0, 1200, 50), (3, 1300, 0)];

#[test]
fn a_recording_over_time() {
    let mut all = LaunchTimeline::default();
    all.add(&trace(5_000, STEPS), 4_000, None);
    let mut file = Vec::new();
    all.perfetto(&mut file).unwrap();
    let grid = format!("grid={0} block={0}", Dim3::default());
    let expected = format!(
        "1: process 1 process 41 on h\\u{{1b}}\n\
         2: of 1 launched\n\
         2 @2000 instant f launch launch=0 {grid} level=print recorded=7 ~1\n\
         2 @2200 instant g launch launch=1 {grid} level=print recorded=7 ~2\n\
         2 @2300 instant f launch launch=2 {grid} not recorded=not\\nasked for ~3\n\
         3: of 1 device 0 (NVIDIA H200), stream 0\n\
         3 @2000 begin f launch launch=0 {grid} level=print recorded=7 ~1\n\
         3 @2500 end\n\
         3 @2500 begin g launch launch=1 {grid} level=print recorded=7 ~2\n\
         3 @2550 end\n\
         4: of 1 device 0 (NVIDIA H200), stream 3\n\
         4 @2300 instant f launch launch=2 {grid} not recorded=not\\nasked for ~3\n"
    );
    assert_eq!(read(&file), expected);
}

#[test]
fn a_comparison_over_time() {
    let pair = |n: u64, verdict, culprit| LaunchReport {
        launch: [n, n],
        verdict,
        culprit,
        ..LaunchReport::default()
    };
    let report = Report {
        launches: vec![pair(0, Verdict::Differs, false), pair(1, Verdict::Differs, true)],
        unpaired: vec![UnmatchedLaunch { side: 1, launch: 2, ..UnmatchedLaunch::default() }],
        ..Report::default()
    };
    let mut all = LaunchTimeline::default();
    for (side, steps) in [(0, &STEPS[..2]), (1, STEPS)] {
        all.add(&trace(0, steps), 0, Some(Compared { report: &report, side, process: Some(0) }));
    }
    let mut file = Vec::new();
    all.perfetto(&mut file).unwrap();
    let lines = read(&file);
    let marks: Vec<&str> = lines.lines().filter(|l| l.contains(": ") || l.contains("~40")).collect();
    let has = |what: &str| assert_eq!(lines.matches(what).count(), 1, "{what} in\n{lines}");
    has("process 1 A: process 41");
    has("process 2 B: process 41");
    assert_eq!(lines.matches("@1000 instant first difference: f differs").count(), 2, "{lines}");
    assert_eq!(lines.matches("@1200 instant culprit: g differs").count(), 2, "{lines}");
    has("@1300 instant only in B: f alone");
    // Each pair that differs is joined by an arrow of its own.
    for arrow in ["~4000000000000000", "~4000000000000001"] {
        assert_eq!(marks.iter().filter(|l| l.contains(arrow)).count(), 2, "{lines}");
    }
    assert_eq!(lines.matches("culprit=true").count(), 4, "{lines}");

    let mut again = Vec::new();
    all.perfetto(&mut again).unwrap();
    assert_eq!(file, again);
}

#[test]
fn chrome_reads_the_same() {
    let mut all = LaunchTimeline::default();
    all.add(&trace(5_000, STEPS), 4_000, None);
    let mut file = Vec::new();
    all.chrome(&mut file).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    let rows = events.iter().filter(|e| e["name"] == "thread_name").count();
    let slices: Vec<_> = events.iter().filter(|e| e["ph"] == "X" && e["tid"] == 2).collect();
    let arrows: Vec<_> = events.iter().filter(|e| e["name"] == "launch" && e["id"] == 2).collect();
    assert_eq!(rows, 3);
    assert_eq!((slices[1]["ts"].as_f64(), slices[1]["dur"].as_f64()), (Some(2.5), Some(0.05)));
    assert_eq!((&slices[1]["name"], &slices[1]["args"]["launch"]), (&"g".into(), &1.into()));
    assert_eq!(
        (&arrows[0]["ph"], &arrows[0]["tid"], &arrows[0]["ts"]),
        (&"s".into(), &1.into(), &2.2.into())
    );
    assert_eq!(
        (&arrows[1]["ph"], &arrows[1]["tid"], &arrows[1]["ts"]),
        (&"f".into(), &2.into(), &2.5.into())
    );
}

#[test]
fn times_that_lie_stay_in_range() {
    let steps = [(0, u64::MAX, u64::MAX), (0, 0, 5)];
    let mut all = LaunchTimeline::default();
    all.add(&trace(u64::MAX, &steps), 0, None);
    let mut file = Vec::new();
    all.perfetto(&mut file).unwrap();
    assert!(read(&file).contains(&format!("@{} instant f", i64::MAX)));
    all.chrome(&mut Vec::new()).unwrap();
}

#[test]
fn nested_slices_and_what_is_refused() {
    let mut writer = Writer::new(Vec::new());
    let process = writer.process(1, "p").unwrap();
    let track = writer.track(process, "t").unwrap();
    let details = Details { args: vec![("loaded", Arg::Flag(true))], ..Details::default() };
    writer.begin(track, 10, "outer", &details).unwrap();
    writer.begin(track, 20, "inner", &details).unwrap();
    assert!(writer.instant(track, 19, "before", &details).is_err());
    writer.end(track, 30).unwrap();
    let other = Writer::new(Vec::new()).process(1, "q").unwrap();
    assert!(writer.end(other, 40).is_err(), "no slice is open there");
    let file = writer.finish().unwrap();
    let expected = "1: process 1 p\n2: of 1 t\n2 @10 begin outer  loaded=true\n2 @20 begin inner  loaded=true\n\
                    2 @30 end\n2 @30 end\n";
    assert_eq!(read(&file), expected);
}

/// Spans in spans on a track's row, asynchronous work on rows of its own, moments among them; and what Chrome
/// and tables get.
#[test]
fn spans_of_a_kernel() {
    use prlx_present::profile;
    use prlx_timeline::{self as p, Moment, Region, Span};
    let region = |name: &str| Region { name: name.into(), ..Region::default() };
    let span = |region, begin: u64, end: u64, depth| Span {
        region,
        begin: Picos(begin * 1000),
        end: Picos(end * 1000),
        depth,
        ..Span::default()
    };
    let flight = |begin, end, word| Span {
        asynchronous: true,
        payload: [word, 0],
        cycles: Cycles(7),
        ..span(2, begin, end, 0)
    };
    // The second span begins as the first ends, which has no length; the third lies in the second.
    let spans = vec![
        span(0, 10, 10, 0),
        span(1, 10, 40, 0),
        span(0, 10, 20, 1),
        flight(12, 30, 5),
        flight(20, 35, 6),
        flight(30, 60, 5),
    ];
    let moments = vec![
        Moment { region: 3, at: Picos(15_000), ..Moment::default() },
        Moment { region: 3, at: Picos(50_500), ..Moment::default() },
    ];
    let track = p::Track { sm: Some(3), cta: 7, group: Some(1), spans, moments, ..p::Track::default() };
    let timeline = p::Timeline {
        regions: vec![region("a"), region("b"), region("copy"), region("m,\u{1b}")],
        launches: vec![p::Launch { number: 4, kernel: "gemm".into(), ..p::Launch::default() }],
        tracks: vec![track],
        ..p::Timeline::default()
    };
    let mut file = Vec::new();
    profile::perfetto(&mut file, &timeline).unwrap();
    let expected = "1: process 1 launch 4: gemm\n2: of 1 SM 3\n3: of 2 CTA 7, group 1\n\
        3 @10 begin a  trip=0\n3 @10 end\n3 @10 begin b  trip=0\n\
        3 @10 begin a  trip=0\n3 @15 instant m,\\u{1b}\n3 @20 end\n3 @40 end\n\
        3 @50 instant m,\\u{1b}\n\
        4: of 2 CTA 7, group 1, asynchronous\n\
        4 @12 begin copy  trip=0 cycles=7 word0=5 word1=0\n4 @30 end\n\
        4 @30 begin copy  trip=0 cycles=7 word0=5 word1=0\n4 @60 end\n\
        5: of 2 CTA 7, group 1, asynchronous\n\
        5 @20 begin copy  trip=0 cycles=7 word0=6 word1=0\n5 @35 end\n";
    assert_eq!(read(&file), expected);

    let mut file = Vec::new();
    profile::chrome(&mut file, &timeline).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    let slices: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(slices.len(), 6);
    assert_eq!((slices[3]["ts"].as_f64(), slices[3]["dur"].as_f64()), (Some(0.012), Some(0.018)));
    assert_eq!(events.iter().filter(|e| e["name"] == "thread_name").count(), 3);

    let mut file = Vec::new();
    profile::csv(&mut file, &timeline).unwrap();
    let text = String::from_utf8(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[4], "4,gemm,3,7,,1,copy,source,,,async,12000,30000,7,,0,false,5,0");
    assert_eq!(lines[8], "4,gemm,3,7,,1,\"m,\u{1b}\",source,,,moment,50500,50500,,,,false,0,0");
}

/// Few bytes a span, where there are many.
#[test]
fn many_spans_take_few_bytes() {
    use prlx_timeline::{self as p, Region, Span};
    let regions =
        ["load", "compute", "store"].map(|name| Region { name: name.into(), ..Region::default() }).to_vec();
    let span = |i: u64| Span {
        region: (i % 3) as u32,
        begin: Picos(i * 700_000),
        end: Picos(i * 700_000 + 500_000),
        ..Span::default()
    };
    let tracks =
        (0..8).map(|cta| p::Track { cta, spans: (0..20_000).map(span).collect(), ..p::Track::default() });
    let timeline = p::Timeline { regions, tracks: tracks.collect(), ..p::Timeline::default() };
    let mut file = Vec::new();
    prlx_present::profile::perfetto(&mut file, &timeline).unwrap();
    assert!(file.len() <= 160_000 * 30, "{} bytes", file.len());
}

/// The page holds what it draws, and nothing of a name can become markup.
#[test]
fn a_page_of_a_kernel() {
    use prlx_present::profile::{ProfilePage, profile_html};
    use prlx_timeline::{self as p, Region, Span};
    let regions = vec![Region { name: "</script><b>".into(), ..Region::default() }];
    let span = |begin: u64| Span { begin: Picos(begin), end: Picos(begin + 500), ..Span::default() };
    let tracks = (0..20).map(|cta| p::Track {
        sm: Some(1),
        cta,
        spans: vec![span(cta * 1000)],
        ..p::Track::default()
    });
    let timeline = p::Timeline { regions, tracks: tracks.collect(), ..p::Timeline::default() };
    let analysis = p::analyze(&timeline);
    let mut page = Vec::new();
    let side = |name| ProfilePage { name, timeline: &timeline, analysis: &analysis };
    profile_html(&mut page, &[side("a<i>"), side("b")]).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://"));
    assert!(!page.contains("<b>") && !page.contains("<i>"));
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data.as_array().unwrap().len(), 2);
    let rows = data[0]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[7]["spans"][0][1]), (8, &19_000.into()));
    assert_eq!(
        (&data[0]["regions"][0][0], data[0]["overview"][0][1].as_array().unwrap().len()),
        (&"</script><b>".into(), 20)
    );
    assert!(
        data[0]["notes"][0].as_str().unwrap().starts_with("8 of 20 CTAs are shown"),
        "{}",
        data[0]["notes"]
    );
}
