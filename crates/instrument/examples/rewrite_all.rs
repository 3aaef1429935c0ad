//! Rewrites every module of the corpus at every level, as input for the assembler.
//!
//! `rewrite_all DIR [WORD…]` writes `DIR/LEVEL/NAME.ptx`, and the originals to `DIR/none/NAME.ptx`. Words
//! select modules by their path. Level `operands` watches eight sites. The programs of `tests/cases/probe`,
//! and tools that compare lanes, produce `DIR/probe-PROGRAM`; automatic markers produce `DIR/probe-marks`.
//! The exit code is 1 if a module is refused.

#[path = "../tests/it/support.rs"]
mod support;

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use prlx_plan::markers::MarkerOptions;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::SiteId;
use prlx_trace::kernel::Level;
use prlx_trace::launch::Window;
use prlx_trace::mark::Via;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let out = Path::new(args.first().map_or("target/rewritten", String::as_str));
    let words = args.get(1..).unwrap_or_default();
    let programs = programs();
    let mut refused = 0;
    for (name, source) in support::corpus() {
        if !words.is_empty() && !words.iter().any(|w| name.contains(w)) {
            continue;
        }
        let file = name.replace('/', "~");
        let mut texts = vec![("none".to_owned(), Ok(source.clone()))];
        for level in support::LEVELS {
            let mut program = support::program(level);
            program.elide = true;
            if level == Level::Operands {
                program.window = Some(Window { sites: sites(&source), warps: (0, 1), visits: (0, 1) });
            }
            let rewrite = prlx_instrument::rewrite(&source, &name, &program, &|_| None);
            texts.push((level.name().to_owned(), rewrite.map(|r| r.text).map_err(|e| e.to_string())));
        }
        for (program, request) in &programs {
            let rewrite = prlx_instrument::rewrite(&source, &name, request, &|_| None);
            texts.push((format!("probe-{program}"), rewrite.map(|r| r.text).map_err(|e| e.to_string())));
        }
        for (level, text) in texts {
            let text = text.and_then(|t| put(&out.join(&level).join(&file), &t).map_err(|e| e.to_string()));
            if let Err(error) = text {
                eprintln!("{name} at {level}: {error}");
                refused += 1;
            }
        }
    }
    ExitCode::from(u8::from(refused > 0))
}

/// Tools that compare lanes.
const COMPARE: [&str; 2] = ["bank-conflicts", "transactions"];

/// The programs of `tests/cases/probe`, tools, and markers.
fn programs() -> Vec<(String, RecordingRequest)> {
    let of_probe = |p| RecordingRequest { elide: false, ..RecordingRequest::of_probe(p) };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/probe");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = fs::read_to_string(entry.path()).ok().and_then(|t| prlx_probe::program(&t).ok());
        all.extend(program.map(|p| (name, of_probe(p))));
    }
    for (name, _, text) in prlx_probe::tools::TOOLS.iter().filter(|t| COMPARE.contains(&t.0)) {
        all.extend(prlx_probe::program(text).ok().map(|p| ((*name).to_owned(), of_probe(p))));
    }
    let outside =
        vec![Via::Barrier, Via::Mbarrier, Via::Tma, Via::CpAsync, Via::Wgmma, Via::Trip, Via::Function];
    let marking = MarkerOptions { source: true, outside, ..MarkerOptions::default() };
    all.push((
        "marks".to_owned(),
        RecordingRequest { elide: false, ..RecordingRequest::of_markers(marking) },
    ));
    all
}

/// Eight sites, spread over the module.
fn sites(source: &str) -> Vec<SiteId> {
    let (module, _) = prlx_isa::ptx::read(source);
    let plan = Plan::resolve(&support::program(Level::Operands), &module, "", &|_| None);
    let n = plan.module.sites.len() as u32;
    (0..8).map(|i| SiteId(i * n / 8)).collect()
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}
