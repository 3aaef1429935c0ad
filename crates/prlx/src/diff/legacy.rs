//! Compares recordings of PRLX 0.x: two files, or two sessions.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use prlx_analyze::report::LaunchReport;
use prlx_analyze::view::ViewModel;
use prlx_analyze::{FindingKind, Report};
use prlx_legacy::compare::{self, SiteTable};
use prlx_legacy::v1::HistoryEntry;
use prlx_present::legacy::{DivergenceCounts, DivergenceRow};

use crate::Monitor;
use crate::legacy::{self, Input, MappedFile, SourceFiles};

/// Maximum number of single divergences that are listed for a launch.
const MAX_LISTED: usize = 1 << 16;

/// How to compare recordings of PRLX 0.x.
#[derive(Clone, Debug, Default)]
pub struct LegacyOptions {
    /// Compare values, not only paths.
    pub values: bool,
    /// Match kernels of different names by the order of their launches.
    pub force: bool,
    /// Site table of both sides.
    pub site_table: Option<PathBuf>,
    /// Site table of each side. Sites of the same place then match, whatever their ids.
    pub site_tables: [Option<PathBuf>; 2],
    /// Inclusive ranges of warps; empty means all.
    pub warps: Vec<(u32, u32)>,
    /// Kinds of findings; empty means all.
    pub kinds: Vec<FindingKind>,
    /// Site ids; empty means all.
    pub sites: Vec<u32>,
    /// Findings of each launch that the report holds.
    pub findings: usize,
    /// List single divergences, at most so many of each launch; 0 means the maximum of 65,536.
    pub listed: Option<usize>,
    /// Show operands as floating-point numbers.
    pub float: bool,
    /// Fail unless both sides are sessions.
    pub session: bool,
}

/// The values that a warp read before a finding, of both sides.
pub type Histories = [Vec<HistoryEntry>; 2];

/// A comparison of recordings of PRLX 0.x.
#[derive(Debug)]
pub struct LegacyComparison {
    /// The report of the comparison.
    pub report: Report,
    /// The source files that it names.
    pub scene: ViewModel,
    /// By launch: counts and single divergences.
    pub counts: Vec<DivergenceCounts>,
    /// By launch and finding.
    pub histories: Vec<Vec<Histories>>,
    /// Both sides are sessions.
    pub session: bool,
}

/// Compares two recordings if both are of PRLX 0.x; `None` if neither is.
///
/// # Errors
/// If the two are of different kinds, or a file cannot be read.
pub fn diff_legacy(
    paths: [&Path; 2],
    options: &LegacyOptions,
    monitor: &Monitor<'_>,
) -> Result<Option<LegacyComparison>> {
    let [a, b] = paths;
    let session = match (legacy::identify(a)?, legacy::identify(b)?) {
        (Input::File, Input::File) => None,
        (Input::Session(x), Input::Session(y)) => Some([x, y]),
        (Input::Other, Input::Other) => return Ok(None),
        _ => bail!(
            "cannot compare {} with {}: both must be files of PRLX 0.x, both sessions of PRLX 0.x, or both recordings of this version",
            a.display(),
            b.display()
        ),
    };
    if options.session && session.is_none() {
        bail!("--session: {} and {} are not directories with a session.json", a.display(), b.display());
    }
    let tables = site_tables(paths, options, monitor)?;
    let activity = monitor.activity("comparing");
    let mut launches = LaunchPairs {
        options,
        tables: [&tables[0], &tables[1]],
        launches: Vec::new(),
        counts: Vec::new(),
        histories: Vec::new(),
        recorded_at: [None; 2],
    };
    let report = match &session {
        None => {
            launches.compare(&[MappedFile::open(a)?, MappedFile::open(b)?], [0, 0])?;
            compare::whole(launches.launches, Vec::new())
        }
        Some([x, y]) => {
            let digest = |side: usize, i: usize| {
                let recording = legacy::open_launch(paths[side], &[x, y][side][i])?;
                let file = recording.file()?;
                compare::digest(&file).with_context(|| recording.path.display().to_string())
            };
            let (pairs, alone) = compare::pair([x, y], digest)?;
            for [i, j] in pairs {
                monitor.check()?;
                let pair = [legacy::open_launch(a, &x[i])?, legacy::open_launch(b, &y[j])?];
                launches.compare(&pair, [x[i].launch.into(), y[j].launch.into()])?;
            }
            compare::whole(launches.launches, alone)
        }
    };
    drop(activity);
    let mut report = Report { names: paths.map(|p| p.display().to_string()), ..report };
    let scene = read_sources(paths, options, &mut report, launches.recorded_at, monitor);
    Ok(Some(LegacyComparison {
        report,
        scene,
        counts: launches.counts,
        histories: launches.histories,
        session: session.is_some(),
    }))
}

/// The site table of each side.
fn site_tables(paths: [&Path; 2], options: &LegacyOptions, monitor: &Monitor<'_>) -> Result<[SiteTable; 2]> {
    let read = |side: usize| {
        let given = options.site_tables[side].as_deref().or(options.site_table.as_deref());
        legacy::site_table(given, paths[side])
    };
    let (a, b) = (read(0)?, read(1)?);
    if options.site_tables[0].is_some() {
        return Ok([a, b]);
    }
    if a.apart(&b) {
        monitor.warn(
            "A and B have no site in common, so everything differs. A site id depends on the source path given to the \
             compiler; --remap-a and --remap-b match sites by source place instead",
        );
    }
    // Ids are hashes of places, so a table beside either side serves both.
    Ok([a.and(&b), b.and(&a)])
}

/// Gives a report the lines of the source files that can be found.
fn read_sources(
    paths: [&Path; 2],
    options: &LegacyOptions,
    report: &mut Report,
    recorded_at: [Option<SystemTime>; 2],
    monitor: &Monitor<'_>,
) -> ViewModel {
    let folder = |path: &Path| if path.is_dir() { path.to_owned() } else { path.with_file_name("") };
    let folders = [0, 1].map(|side| {
        let table = options.site_tables[side].as_deref().or(options.site_table.as_deref());
        let table = table.map(|t| t.with_file_name(""));
        table.into_iter().chain([folder(paths[side]), folder(paths[1 - side])]).collect()
    });
    let mut sources = SourceFiles { folders, recorded_at, changed: BTreeMap::new() };
    let mut scene = ViewModel::default();
    scene.read(report, |side, file| sources.text(side, file));
    for (file, sides) in &sources.changed {
        let who = match sides {
            [true, true] => "both sides were",
            [true, false] => "A was",
            _ => "B was",
        };
        let file = prlx_present::safe(&file.display().to_string());
        monitor.warn(&format!("{file} changed after {who} recorded: its lines may not be those that ran"));
    }
    scene
}

/// The pairs of launches that have been compared.
struct LaunchPairs<'a> {
    options: &'a LegacyOptions,
    tables: [&'a SiteTable; 2],
    launches: Vec<LaunchReport>,
    counts: Vec<DivergenceCounts>,
    histories: Vec<Vec<Histories>>,
    /// By side: when the first of them was recorded.
    recorded_at: [Option<SystemTime>; 2],
}

impl LaunchPairs<'_> {
    fn compare(&mut self, pair: &[MappedFile; 2], numbers: [u64; 2]) -> Result<()> {
        let o = self.options;
        let options = compare::Options {
            values: o.values,
            force: o.force,
            warps: o.warps.clone(),
            kinds: o.kinds.clone(),
            sites: o.sites.clone(),
            findings: o.findings,
            listed: match o.listed {
                None => 0,
                Some(0) => MAX_LISTED,
                Some(n) => n.min(MAX_LISTED),
            },
            float: o.float,
        };
        let files = [pair[0].file()?, pair[1].file()?];
        for side in 0..2 {
            let recorded = legacy::recorded_at(&pair[side], &files[side]);
            self.recorded_at[side] = self.recorded_at[side].into_iter().chain(recorded).min();
        }
        let none = HashMap::new();
        let renamed = legacy::ids_in_a(o.site_tables[0].is_some(), self.tables);
        let release = [0, 1].map(|s| {
            let (recording, packed) = (&pair[s], files[s].packed());
            move |bytes| {
                if !packed {
                    recording.release(bytes);
                }
            }
        });
        let input = |side: usize| compare::Input {
            file: &files[side],
            sites: self.tables[side],
            renamed: if side == 1 { &renamed } else { &none },
            done: &release[side],
        };
        let names = || format!("{} and {}", pair[0].path.display(), pair[1].path.display());
        let compared = compare::compare([&input(0), &input(1)], numbers, &options)
            .with_context(|| format!("cannot compare {}", names()))?;
        self.counts.push(DivergenceCounts {
            kinds: compared.kinds,
            warps: compared.warps,
            events: compared.events,
            rows: compared.listed.iter().map(|d| DivergenceRow::new(d, self.tables)).collect(),
        });
        self.launches.push(compared.launch);
        self.histories.push(compared.histories);
        Ok(())
    }
}
