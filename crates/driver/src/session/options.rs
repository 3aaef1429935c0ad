//! Options of recording a program. The command passes them to the recorder inside the program's processes
//! through an environment variable.
//!
//! # Invariants
//! - Options that were written read back equal.
//! - A value that this version did not write is refused with a message.
//!
//! # Limitations
//! - All processes of a program have the same options.
//! - A folder whose name is not UTF-8 cannot be passed on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prlx_plan::markers::MarkerOptions;
use prlx_plan::{ProbeProgram, RecordingRequest};
use prlx_trace::device::tracks::Form;
use prlx_trace::launch::Window;
use prlx_trace::mark::Via;
use prlx_trace::{Level, Nanos, SiteId};
use serde::{Deserialize, Serialize};

use super::part::LaunchPart;
use super::pattern::KernelPattern;
use crate::error::{Error, ErrorKind};

/// Parses the text of a probe program. The error says what is wrong with it.
pub type ParseProbe = dyn Fn(&str) -> Result<Arc<dyn ProbeProgram>, String>;

/// Environment variable that holds the options. A process without it is not recorded.
pub const VARIABLE: &str = "PRLX_SESSION";

/// Environment variable that holds the user's own NVTX injection library. `NVTX_INJECTION64_PATH` names the
/// recorder, which passes NVTX calls on to that library.
pub const NVTX_LIBRARY: &str = "PRLX_NVTX_INJECTION64_PATH";

/// What to record of a program, and where to write it.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Folder of the session. It exists, and the path is absolute, because processes change their working
    /// directory.
    pub folder: PathBuf,
    /// Level of recording. At [`Level::Probe`], either `probe` or `markers` is set.
    pub level: Level,
    /// Probe program to run.
    pub probe: Option<Arc<dyn ProbeProgram>>,
    /// Markers to record.
    pub markers: Option<MarkerOptions>,
    /// Whether to elide decisions that can be reconstructed.
    pub elide: bool,
    /// Kernels to record; empty means all.
    pub kernels: Vec<KernelPattern>,
    /// Part of each process's launches to record.
    pub part: LaunchPart,
    /// Launch numbers to record in each process, as half-open ranges; empty means all.
    pub launches: Vec<(u64, u64)>,
    /// Number of launches to skip, among those that pass the other filters.
    pub skip: u64,
    /// Number of launches to record after that; `None` means all.
    pub count: Option<u64>,
    /// Half-open range of start times to record, measured from the start of the process.
    pub time: Option<(Nanos, Nanos)>,
    /// Device memory for streams in bytes, for each device of a process. 0: an eighth of what is free there.
    pub memory: u64,
    /// Host memory for recorded data that is not written yet, in bytes for each process.
    pub host_memory: u64,
    /// Maximum bytes per launch to digest before and after it, of the memory that its parameters point to;
    /// `None` means no digests.
    pub digest: Option<u64>,
    /// Whether only launches without hashes are digested, and only after them, several at once. Launches with
    /// hashes are those that are recorded at level `fingerprint`.
    pub batched_digests: bool,
    /// Maximum bytes of memory per launch to copy, before and after it, into a launch file: the memory that
    /// its parameters point to. `None` means that no launch is captured.
    pub capture: Option<u64>,
    /// Maximum bytes of memory per launch without PTX to copy, before and after it, to find what it changed;
    /// `None` means that this is not wanted.
    pub memory_changes: Option<u64>,
    /// Whether nothing but the captures is of interest: launches that are captured record no streams.
    pub only_capture: bool,
    /// At level `fingerprint`: whether hashes of all streams of a launch are kept instead of the streams.
    /// They need no checkpoints.
    pub launch_hashes: bool,
    /// Whether compilers that the program runs get options that keep PTX and source lines in their code.
    pub keep_ptx: bool,
    /// Window to record in detail, at level `operands`.
    pub zoom: Option<Zoom>,
    /// Minimum time between two live copies of a probe program's tables.
    pub interval: Duration,
}

/// A window of one module, found by an earlier run, to be recorded in detail.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Zoom {
    /// [Digest](prlx_trace::kernel::Module::digest) of the module. Other modules are not instrumented.
    pub module: u128,
    /// Sites, warps and visits to record.
    pub window: Window,
}

impl Options {
    /// Records all launches at level `path` into `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Options {
        Options {
            folder: folder.into(),
            level: Level::Path,
            probe: None,
            markers: None,
            elide: true,
            kernels: Vec::new(),
            part: LaunchPart::default(),
            launches: Vec::new(),
            skip: 0,
            count: None,
            time: None,
            memory: 0,
            host_memory: 1 << 30,
            digest: None,
            batched_digests: false,
            capture: None,
            memory_changes: None,
            only_capture: false,
            launch_hashes: false,
            keep_ptx: true,
            zoom: None,
            interval: Duration::from_secs(1),
        }
    }
    /// The request for the planner: what to insert into a module's code.
    pub fn program(&self) -> RecordingRequest {
        RecordingRequest {
            probe: self.probe.clone(),
            markers: self.markers.clone(),
            elide: self.elide,
            launch_hashes: self.launch_hashes,
            window: self.zoom.as_ref().map(|c| c.window.clone()),
            ..RecordingRequest::new(self.level)
        }
    }
    /// Whether tracks are rings that keep the last records (a flight recorder). Rings survive the loss of
    /// their context.
    pub fn rings(&self) -> bool {
        self.markers.as_ref().is_some_and(|m| matches!(m.form, Form::Ring { .. }))
    }
    /// Whether launches of a kernel with this name in its module can pass the kernel filter. Other kernels
    /// need not be instrumented.
    pub fn wants(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|p| p.matches(kernel))
    }
    /// Encodes the options as the value of [`VARIABLE`].
    ///
    /// # Errors
    /// If the folder's name is not UTF-8.
    pub fn to_variable(&self) -> Result<String, Error> {
        let folder = self.folder.to_str().ok_or_else(|| {
            refuse(format!("the folder's name, {}, is no UTF-8", self.folder.display()))
                .help("name another folder")
        })?;
        let written = SerializedOptions {
            folder: folder.into(),
            level: self.level.name().into(),
            script: self.probe.as_ref().map(ToString::to_string),
            marks: self.markers.as_ref().map(|m| SerializedMarkers {
                source: m.source,
                outside: m.outside.iter().map(|via| via.name().to_owned()).collect(),
                lines: m.lines.clone(),
                lanes: m.lanes,
                sums: m.form == Form::Sums,
                spans: m.form == Form::Spans,
                spare: m.spare,
                ring: match m.form {
                    Form::Ring { entries } => Some(entries),
                    Form::Records | Form::Spans | Form::Sums => None,
                },
            }),
            elide: self.elide,
            kernels: self.kernels.iter().map(|p| p.text().to_owned()).collect(),
            part: [&self.part.from, &self.part.to].map(|b| b.as_ref().map(ToString::to_string)),
            range: self.part.range.as_ref().map(ToString::to_string),
            launches: self.launches.clone(),
            skip: self.skip,
            count: self.count,
            time: self.time.map(|(from, to)| (from.0, to.0)),
            memory: self.memory,
            host_memory: self.host_memory,
            digest: self.digest,
            batched_digests: self.batched_digests,
            capture: self.capture,
            memory_changes: self.memory_changes,
            only_capture: self.only_capture,
            launch_hashes: self.launch_hashes,
            keep_ptx: self.keep_ptx,
            zoom: self.zoom.as_ref().map(|Zoom { module, window }| {
                let sites = window.sites.iter().map(|s| s.0).collect();
                (format!("{module:032x}"), sites, window.warps, window.visits)
            }),
            interval: u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX),
        };
        serde_json::to_string(&written).map_err(|e| refuse(e.to_string()))
    }
    /// Decodes the value of [`VARIABLE`]. `parse` parses the text of a probe program.
    ///
    /// # Errors
    /// If this version did not write the value.
    pub fn from_variable(text: &str, parse: &ParseProbe) -> Result<Options, Error> {
        let not =
            |what: String| refuse(format!("{VARIABLE} is not what this version of prlx writes: {what}"));
        let w: SerializedOptions = serde_json::from_str(text).map_err(|e| not(e.to_string()))?;
        let zoom = |(module, sites, warps, visits): SerializedZoom| {
            let module = u128::from_str_radix(&module, 16).map_err(|e| not(format!("`{module}`: {e}")))?;
            let window = Window { sites: sites.into_iter().map(SiteId).collect(), warps, visits };
            Ok(Zoom { module, window })
        };
        let marks = |w: SerializedMarkers| {
            let via = |name: &String| {
                Via::ALL
                    .iter()
                    .copied()
                    .find(|v| v.name() == name)
                    .ok_or_else(|| not(format!("there are no `{name}` to mark")))
            };
            let outside = w.outside.iter().map(via).collect::<Result<_, Error>>()?;
            let form = match w.ring {
                Some(entries) => Form::Ring { entries },
                None if w.sums => Form::Sums,
                None if w.spans => Form::Spans,
                None => Form::Records,
            };
            Ok::<_, Error>(MarkerOptions {
                source: w.source,
                outside,
                lines: w.lines,
                lanes: w.lanes,
                form,
                spare: w.spare,
            })
        };
        let probe = w.script.map(|text| parse(&text)).transpose().map_err(not)?;
        let markers = w.marks.map(marks).transpose()?;
        let bound = |text: Option<String>| text.map(|t| t.parse().map_err(not)).transpose();
        let [from, to] = w.part;
        let probes = (probe.is_some() || markers.is_some()).then_some(Level::Probe);
        let level = Level::from_word(&w.level).or(probes.filter(|l| l.name() == w.level));
        Ok(Options {
            folder: w.folder.into(),
            level: level.ok_or_else(|| not(format!("there is no level `{}`", w.level)))?,
            probe,
            markers,
            elide: w.elide,
            kernels: w
                .kernels
                .iter()
                .map(|p| KernelPattern::new(p))
                .collect::<Result<_, String>>()
                .map_err(not)?,
            part: LaunchPart {
                from: bound(from)?,
                to: bound(to)?,
                range: w.range.map(|t| t.parse().map_err(not)).transpose()?,
            },
            launches: w.launches,
            skip: w.skip,
            count: w.count,
            time: w.time.map(|(from, to)| (Nanos(from), Nanos(to))),
            memory: w.memory,
            host_memory: w.host_memory,
            digest: w.digest,
            batched_digests: w.batched_digests,
            capture: w.capture,
            memory_changes: w.memory_changes,
            only_capture: w.only_capture,
            launch_hashes: w.launch_hashes,
            keep_ptx: w.keep_ptx,
            zoom: w.zoom.map(zoom).transpose()?,
            interval: Duration::from_nanos(w.interval),
        })
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::Record, message)
}

/// A [`Zoom`] in plain types: module, sites, warps, visits.
type SerializedZoom = (String, Vec<u32>, (u64, u64), (u64, u64));

/// [`Options`] in plain types.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerializedOptions {
    folder: String,
    level: String,
    #[serde(default)]
    script: Option<String>,
    #[serde(default)]
    marks: Option<SerializedMarkers>,
    elide: bool,
    kernels: Vec<String>,
    /// First and last launch, as the user wrote them.
    #[serde(default)]
    part: [Option<String>; 2],
    /// The ranges of `--range`.
    #[serde(default)]
    range: Option<String>,
    launches: Vec<(u64, u64)>,
    skip: u64,
    count: Option<u64>,
    /// First and end, nanoseconds since the start of the process.
    time: Option<(u64, u64)>,
    memory: u64,
    host_memory: u64,
    digest: Option<u64>,
    #[serde(default)]
    batched_digests: bool,
    #[serde(default)]
    capture: Option<u64>,
    #[serde(default)]
    memory_changes: Option<u64>,
    #[serde(default)]
    only_capture: bool,
    #[serde(default)]
    launch_hashes: bool,
    #[serde(default)]
    keep_ptx: bool,
    #[serde(rename = "closer")]
    zoom: Option<SerializedZoom>,
    /// Nanoseconds between two live copies.
    interval: u64,
}

/// A [`MarkerOptions`] in plain types.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerializedMarkers {
    source: bool,
    outside: Vec<String>,
    lines: Vec<(String, u32)>,
    lanes: bool,
    sums: bool,
    spans: bool,
    spare: bool,
    ring: Option<u32>,
}

/// Applies the launch filters of the options to the launches of one process, in their order.
#[derive(Clone, Debug, Default)]
pub struct LaunchFilterState {
    /// Number of launches so far that passed all other filters.
    wanted: u64,
}

impl LaunchFilterState {
    /// Returns why the next launch is not recorded, or `None` if it is. `wanted` is the result of
    /// [`Options::wants`] for its kernel, `number` its number in the process, and `start` its start time
    /// since the start of the process.
    pub fn skip_reason(
        &mut self,
        options: &Options,
        wanted: bool,
        number: u64,
        start: Nanos,
    ) -> Option<&'static str> {
        let within = |(first, end): &(u64, u64), n: u64| (*first..*end).contains(&n);
        if !wanted {
            return Some("its kernel was not asked for (--kernel)");
        }
        if !options.launches.is_empty() && !options.launches.iter().any(|range| within(range, number)) {
            return Some("its number was not asked for (--launch)");
        }
        if options.time.is_some_and(|(first, end)| !(first..end).contains(&start)) {
            return Some("it started at another time (--time)");
        }
        let nth = self.wanted;
        self.wanted += 1;
        if nth < options.skip {
            return Some("the first ones were left out (--skip)");
        }
        if options.count.is_some_and(|count| nth - options.skip >= count) {
            return Some("enough were recorded (--count)");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use prlx_plan::BoundProbe;
    use prlx_plan::function::body::Body;

    use super::*;

    /// A stand-in for a probe program: just a text.
    #[derive(Debug)]
    struct Text(String);

    impl fmt::Display for Text {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl ProbeProgram for Text {
        fn bind(&self, _: &[&Body<'_>], _: &dyn Fn(usize) -> bool) -> BoundProbe {
            BoundProbe::default()
        }
        fn clause(&self, _: usize) -> String {
            String::new()
        }
        fn keeps_records(&self) -> bool {
            false
        }
    }

    fn parse(text: &str) -> Result<Arc<dyn ProbeProgram>, String> {
        if text == "inst:" {
            Err("`inst:` has no action".to_owned())
        } else {
            Ok(Arc::new(Text(text.to_owned())))
        }
    }

    #[test]
    fn options_are_passed_on() {
        let plain = Options::new("/tmp/a b\n\"c\"");
        let full = Options {
            level: Level::Events,
            elide: false,
            kernels: vec![KernelPattern::new("gemm*").unwrap(), KernelPattern::new("/^a|b$/").unwrap()],
            part: LaunchPart {
                from: Some("gemm*#2".parse().unwrap()),
                to: Some("90".parse().unwrap()),
                range: Some("step#1".parse().unwrap()),
            },
            launches: vec![(3, 4), (7, u64::MAX)],
            skip: 5,
            count: Some(0),
            time: Some((Nanos(1), Nanos(2))),
            memory: 1,
            host_memory: 2,
            digest: Some(1 << 28),
            capture: Some(5),
            memory_changes: Some(6),
            only_capture: true,
            launch_hashes: true,
            zoom: Some(Zoom {
                module: u128::MAX - 1,
                window: Window { sites: vec![SiteId(3), SiteId(9)], warps: (1, 2), visits: (0, u64::MAX) },
            }),
            interval: Duration::from_nanos(7),
            ..plain.clone()
        };
        for options in [plain, full] {
            assert_eq!(Options::from_variable(&options.to_variable().unwrap(), &parse), Ok(options));
        }
        let text = "inst:ld.global {\n    @bytes[line, \"a \\\"b\\\"\"] = sum(size);\n}\n";
        let probe = Options { level: Level::Probe, probe: Some(parse(text).unwrap()), ..Options::new("x") };
        let read = Options::from_variable(&probe.to_variable().unwrap(), &parse).unwrap();
        assert_eq!((read.level, read.probe.unwrap().to_string()), (Level::Probe, text.to_owned()));
        let marking = MarkerOptions {
            source: true,
            outside: vec![Via::Barrier, Via::CpAsync],
            lines: vec![("a \"b\".cu".into(), 7)],
            lanes: true,
            form: Form::Sums,
            spare: true,
        };
        let marked = |form| {
            let marking = MarkerOptions { form, ..marking.clone() };
            Options { level: Level::Probe, markers: Some(marking), ..Options::new("x") }
        };
        for form in [Form::Records, Form::Spans, Form::Sums, Form::Ring { entries: 9 }] {
            let read = Options::from_variable(&marked(form).to_variable().unwrap(), &parse).unwrap();
            assert_eq!((read.level, read.markers), (Level::Probe, marked(form).markers));
        }
        let marked = marked(Form::Sums);
        let wrong = marked.to_variable().unwrap().replace("cp.async", "cp.sync");
        assert!(
            Options::from_variable(&wrong, &parse)
                .unwrap_err()
                .message
                .contains("there are no `cp.sync` to mark")
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let good = Options::new("x").to_variable().unwrap();
        for (from, to, what) in [
            ("\"path\"", "\"paht\"", "there is no level `paht`"),
            ("\"kernels\":[]", "\"kernels\":[\"/(/\"]", "`/(/`"),
            ("\"skip\"", "\"slip\"", "unknown field `slip`"),
            ("\"path\"", "\"probe\"", "there is no level `probe`"),
            ("\"script\":null", "\"script\":\"inst:\"", "inst:"),
            ("{", "", "at line 1"),
        ] {
            let e = Options::from_variable(&good.replace(from, to), &parse).unwrap_err();
            assert!(e.message.contains(what) && e.message.starts_with(VARIABLE), "{e}");
        }
    }

    #[test]
    fn launches_are_chosen() {
        let which = |options: &Options, wanted: fn(u64) -> bool| -> Vec<u64> {
            let mut choice = LaunchFilterState::default();
            (0..20)
                .filter(|n| choice.skip_reason(options, wanted(*n), *n, Nanos(n * 100)).is_none())
                .collect()
        };
        let all = Options::new("x");
        assert_eq!(which(&all, |_| true).len(), 20);
        assert_eq!(which(&all, |n| n % 8 == 0), [0, 8, 16]);
        let some = Options { launches: vec![(3, 5), (18, u64::MAX)], ..all.clone() };
        assert_eq!(which(&some, |_| true), [3, 4, 18, 19]);
        let few = Options { skip: 2, count: Some(3), ..all.clone() };
        assert_eq!(which(&few, |n| n % 2 == 0), [4, 6, 8]);
        let timed = Options { time: Some((Nanos(250), Nanos(500))), skip: 1, ..all };
        assert_eq!(which(&timed, |_| true), [4]);
    }
}
