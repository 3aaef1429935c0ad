//! `prlx diff` of recordings of PRLX 0.x: files or sessions, with the flags, keys and columns that its scripts know.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use prlx_analyze::look::Scene;
use prlx_analyze::{Kind, Report, Verdict};
use prlx_legacy::compare::{self, Compared, SiteTable};
use prlx_legacy::v1::HistoryEntry;
use prlx_present::legacy::{Counts, Gate, Row, passes, prlx_chrome, prlx_csv, prlx_json};

use crate::args::DiffArgs;
use crate::report;
use crate::timeline;
use crate::ui::Ui;
use crate::v1::{self as disk, Input, Recording, Sources};

/// Single divergences that are listed at most.
const LISTED: usize = 1 << 16;

/// Compares them if both are of PRLX 0.x, or shows one, and prints what came of it; `None` if both are not.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<Option<ExitCode>> {
    let Some(mut found) = compare(args, ui)? else { return Ok(None) };
    if timeline::wanted(&args.report) {
        bail!("a recording of PRLX 0.x has no times: there is no timeline of it");
    }
    report::files(&mut found.report, &found.scene, listed(args), &args.report)?;
    let none = |_| bail!("a recording of PRLX 0.x has no code beside it");
    report::walk(&found.report, &found.scene, none, &args.report, ui)?;
    finish(args, &found.report, &found.counts, &found.histories, found.session, ui).map(Some)
}

/// Findings of a launch that are listed in JSON and pages: as PRLX lists divergences, more than are printed.
fn listed(args: &DiffArgs) -> usize {
    args.report.findings.max(64)
}

/// What came of a comparison.
pub struct Found {
    /// The report.
    pub report: Report,
    /// The sources that it names.
    pub scene: Scene,
    counts: Vec<Counts>,
    histories: Vec<Vec<[Vec<HistoryEntry>; 2]>>,
    session: bool,
}

/// Compares them if both are of PRLX 0.x; `None` if both are not.
pub fn compare(args: &DiffArgs, ui: &Ui) -> Result<Option<Found>> {
    let [a, b] = [&args.a, &args.b];
    let session = match (disk::look(a)?, disk::look(b)?) {
        (Input::File, Input::File) => None,
        (Input::Session(x), Input::Session(y)) => Some([x, y]),
        (Input::Other, Input::Other) => return Ok(None),
        _ => bail!(
            "{} and {} are of different forms: both files of PRLX 0.x, both its sessions, or both own recordings",
            a.display(),
            b.display()
        ),
    };
    if args.prlx.session && session.is_none() {
        bail!("--session: {} and {} are no folders with a session.json", a.display(), b.display());
    }
    if args.shard.is_some() {
        bail!("--shard is for own recordings");
    }
    let both = [(a, &args.prlx.remap_a), (b, &args.prlx.remap_b)];
    let tables = both.map(|(path, own)| disk::sites(own.as_deref().or(args.prlx.map.as_deref()), path));
    let mut tables = tables.into_iter().collect::<Result<Vec<SiteTable>>>()?;
    if args.prlx.remap_a.is_none() {
        if tables[0].apart(&tables[1]) {
            ui.warn(
                "A and B have no site in common, so all of it differs: a site's id is made of the path that its compiler was given, \
                 and --remap-a and --remap-b match sites by place",
            );
        }
        // Ids are hashes of places: a table beside either serves both.
        tables = vec![tables[0].and(&tables[1]), tables[1].and(&tables[0])];
    }
    let bar = ui.spinner("comparing");
    let mut done = Done {
        tables: [&tables[0], &tables[1]],
        launches: Vec::new(),
        counts: Vec::new(),
        histories: Vec::new(),
        made: [None; 2],
    };
    let report = match &session {
        None => {
            let pair = [Recording::open(a)?, Recording::open(b)?];
            done.pair(args, &pair, [0, 0])?;
            compare::whole(done.launches, Vec::new())
        }
        Some([x, y]) => {
            let digest = |side: usize, i: usize| {
                let recording = disk::of_session([a, b][side], &[x, y][side][i])?;
                let file = recording.file()?;
                compare::digest(&file).with_context(|| recording.path.display().to_string())
            };
            let (pairs, alone) = compare::pair([x, y], digest)?;
            for [i, j] in pairs {
                let pair = [disk::of_session(a, &x[i])?, disk::of_session(b, &y[j])?];
                done.pair(args, &pair, [x[i].launch.into(), y[j].launch.into()])?;
            }
            compare::whole(done.launches, alone)
        }
    };
    bar.finish_and_clear();
    let mut report = Report { names: [a, b].map(|p| p.display().to_string()), ..report };
    let scene = sources(args, &mut report, done.made, ui);
    Ok(Some(Found {
        report,
        scene,
        counts: done.counts,
        histories: done.histories,
        session: session.is_some(),
    }))
}

/// Gives a report the lines of the sources that are at hand.
fn sources(args: &DiffArgs, report: &mut Report, made: [Option<SystemTime>; 2], ui: &Ui) -> Scene {
    let p = &args.prlx;
    let folder = |path: &Path| if path.is_dir() { path.to_owned() } else { path.with_file_name("") };
    let of = |own: &Option<PathBuf>, first: &Path, then: &Path| {
        let table = own.as_deref().or(p.map.as_deref()).map(|t| t.with_file_name(""));
        table.into_iter().chain([folder(first), folder(then)]).collect::<Vec<_>>()
    };
    let folders = [of(&p.remap_a, &args.a, &args.b), of(&p.remap_b, &args.b, &args.a)];
    let mut sources = Sources { folders, made, changed: BTreeMap::new() };
    let mut scene = Scene::default();
    scene.read(report, |side, file| sources.text(side, file));
    for (file, sides) in &sources.changed {
        let who = match sides {
            [true, true] => "both sides were",
            [true, false] => "A was",
            _ => "B was",
        };
        let file = prlx_present::safe(&file.display().to_string());
        ui.warn(&format!(
            "{file} was changed after {who} recorded: its lines may be others than those that ran"
        ));
    }
    scene
}

/// What pairs gave so far.
struct Done<'a> {
    tables: [&'a SiteTable; 2],
    launches: Vec<prlx_analyze::report::LaunchReport>,
    counts: Vec<Counts>,
    histories: Vec<Vec<[Vec<HistoryEntry>; 2]>>,
    /// By side: when the first of them was recorded.
    made: [Option<SystemTime>; 2],
}

impl Done<'_> {
    fn pair(&mut self, args: &DiffArgs, pair: &[Recording; 2], numbers: [u64; 2]) -> Result<()> {
        let p = &args.prlx;
        let lists =
            args.report.json || args.output.is_some() || p.csv.is_some() || p.export_flamegraph.is_some();
        let options = compare::Options {
            values: p.values,
            force: p.force,
            warps: p.warps.clone(),
            kinds: p.filter_kind.clone(),
            sites: p.filter_sites.clone(),
            findings: report::kept(&args.report, listed(args)),
            listed: match p.limit {
                _ if !lists => 0,
                0 => LISTED,
                n => n.min(LISTED),
            },
            float: p.float,
        };
        let files = [pair[0].file()?, pair[1].file()?];
        for side in 0..2 {
            self.made[side] = self.made[side].into_iter().chain(disk::made(&pair[side], &files[side])).min();
        }
        let none = HashMap::new();
        let renamed = disk::renamed(p.remap_a.is_some(), self.tables);
        let give = [0, 1].map(|s| {
            let (recording, packed) = (&pair[s], files[s].packed());
            move |bytes| {
                if !packed {
                    recording.done(bytes);
                }
            }
        });
        let input = |side: usize| compare::Input {
            file: &files[side],
            sites: self.tables[side],
            renamed: if side == 1 { &renamed } else { &none },
            done: &give[side],
        };
        let names = || format!("{} and {}", pair[0].path.display(), pair[1].path.display());
        let found: Compared = compare::compare([&input(0), &input(1)], numbers, &options)
            .with_context(|| format!("cannot compare {}", names()))?;
        self.counts.push(Counts {
            kinds: found.kinds,
            warps: found.warps,
            events: found.events,
            rows: found.listed.iter().map(|d| Row::new(d, self.tables)).collect(),
        });
        self.launches.push(found.launch);
        self.histories.push(found.histories);
        Ok(())
    }
}

/// Writes everything that was asked for; the exit code is the gate's where there is one.
pub fn finish(
    args: &DiffArgs,
    report: &Report,
    counts: &[Counts],
    histories: &[Vec<[Vec<HistoryEntry>; 2]>],
    session: bool,
    ui: &Ui,
) -> Result<ExitCode> {
    let p = &args.prlx;
    let gate = Gate { threshold: p.max_allowed_divergences.unwrap_or(0), ignore_masks: p.ignore_active_mask };
    let file = |path: &Path, write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| -> Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &p.csv {
        file(path, &|out| prlx_csv(out, counts))?;
    }
    if let Some(path) = &p.export_flamegraph {
        file(path, &|out| prlx_chrome(out, report, counts))?;
    }
    if let Some(path) = &args.output {
        file(path, &|out| prlx_json(out, report, counts, gate, session))?;
    } else if !report::walks(&args.report) {
        let mut out = io::stdout().lock();
        if args.report.json {
            prlx_json(&mut out, report, counts, gate, session)?;
        } else {
            let mut shown = report.clone();
            shown.launches.iter_mut().for_each(|l| l.findings.truncate(args.report.findings));
            prlx_present::text(&mut out, &shown, &ui.style())?;
            if p.history {
                history(&mut out, report, histories)?;
            }
            if p.classify {
                classify(&mut out, report)?;
            }
        }
        out.flush()?;
    }
    let gated = p.max_allowed_divergences.is_some() || p.ignore_active_mask;
    Ok(match report.verdict {
        Verdict::Differs if gated && passes(report, counts, gate) => ExitCode::SUCCESS,
        verdict => ExitCode::from(verdict.exit_code()),
    })
}

fn history(out: &mut impl Write, report: &Report, histories: &[Vec<[Vec<HistoryEntry>; 2]>]) -> Result<()> {
    for (launch, of) in report.launches.iter().zip(histories) {
        for (i, (f, sides)) in launch.findings.iter().zip(of).enumerate() {
            for (name, values) in ["A", "B"].iter().zip(sides).filter(|(_, v)| !v.is_empty()) {
                let values: Vec<String> =
                    values.iter().map(|h| format!("{:#x} at {:#010x}", h.value, h.site)).collect();
                writeln!(
                    out,
                    "history   finding {}, warp {} of {name}: {}",
                    i + 1,
                    f.warp.warp,
                    values.join(", ")
                )?;
            }
        }
    }
    Ok(())
}

fn classify(out: &mut impl Write, report: &Report) -> Result<()> {
    let all = Kind::ALL.into_iter().map(|k| {
        let of = report.launches.iter().map(|l| l.differing.kinds[k as usize]);
        (k, of.fold(0, u64::saturating_add))
    });
    let all: Vec<String> = all.filter(|(_, n)| *n > 0).map(|(k, n)| format!("{} {n}", k.name())).collect();
    writeln!(out, "kinds     {}", if all.is_empty() { "none".into() } else { all.join(", ") })?;
    Ok(())
}

/// Says which flags change nothing for own recordings.
pub fn needless(args: &DiffArgs, ui: &Ui) {
    args.prlx.needless().for_each(|(flag, why)| ui.warn(&format!("{flag} changes nothing: {why}")));
}
