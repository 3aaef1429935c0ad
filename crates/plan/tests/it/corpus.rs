//! Over the whole corpus: every level resolves, sites keep their numbers, capacity is proved, indices are in
//! range; and the table of what is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use prlx_isa::ptx;
use prlx_isa::view;
use prlx_plan::{Action, At, Plan, RecordingRequest, check_capacity};
use prlx_trace::kernel::{Arg, End, Level, Site, Source, Step};

fn modules(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            modules(&path, out);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            out.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus() -> Vec<(String, String)> {
    let kernels = root().join("tests/kernels");
    let mut paths = Vec::new();
    modules(&kernels, &mut paths);
    paths.sort();
    let name =
        |p: &PathBuf| p.strip_prefix(&kernels).unwrap_or(p).with_extension("").to_string_lossy().into_owned();
    paths.iter().map(|p| (name(p), fs::read_to_string(p).unwrap())).collect()
}

fn plan(module: &view::Module, level: Level, elide: bool) -> Plan {
    let program = RecordingRequest { elide, ..RecordingRequest::new(level) };
    Plan::resolve(&program, module, "corpus", &|_| None)
}

/// Every index lies in its table.
fn in_range(name: &str, plan: &Plan, module: &view::Module) {
    for (i, f) in plan.module.functions.iter().enumerate() {
        let blocks = f.blocks.len();
        let slot = |s: prlx_trace::Slot| assert!(s.0 < f.slots, "{name}: {s}");
        for b in &f.blocks {
            let targets = match &b.end {
                End::Jump(t) => vec![*t],
                End::Branch { guard, taken, other } => {
                    slot(guard.slot);
                    vec![*taken, *other]
                }
                End::Switch { index, targets } => {
                    slot(*index);
                    targets.clone()
                }
                End::Return | End::Exit => vec![],
            };
            assert!(targets.iter().all(|t| t.index() < blocks), "{name}: {:?}", b.end);
            for step in &b.steps {
                let guard = match step {
                    Step::Let { to, args, guard, .. } => {
                        slot(*to);
                        args.iter().for_each(|a| {
                            if let Arg::Slot(s) = a {
                                slot(*s);
                            }
                        });
                        guard
                    }
                    Step::Decide { site, slot: s, guard } => {
                        slot(*s);
                        assert_eq!(plan.module.sites[site.index()].function.index(), i);
                        guard
                    }
                    Step::Visit { site, guard } => {
                        assert!(site.index() < plan.module.sites.len());
                        guard
                    }
                    Step::Read { to, bits, guard, .. } => {
                        slot(*to);
                        assert!((1..=64).contains(bits));
                        guard
                    }
                    Step::Call { function, guard, .. } => {
                        assert!(function.index() < plan.functions.len());
                        guard
                    }
                };
                if let Some(g) = guard {
                    slot(g.slot);
                }
            }
        }
        for l in &f.loops {
            assert!(l.header.index() < blocks && l.blocks.iter().all(|b| b.index() < blocks));
        }
        let insts = module.functions[i].insts.len();
        for i in &plan.functions[i].insertions {
            let ok = match i.at {
                At::Entry => true,
                At::Before(at) | At::After(at) => at.index() < insts,
            };
            assert!(ok, "{name}: {:?}", i.at);
        }
    }
    for s in &plan.module.sites {
        assert!(s.block.index() < plan.module.functions[s.function.index()].blocks.len());
        for (i, n) in s.slice.iter().enumerate() {
            assert!(
                n.inputs.iter().all(|&k| (k as usize) > i && (k as usize) < s.slice.len()),
                "{name}: {:?}",
                s.slice
            );
        }
    }
}

/// A site without what may differ between levels.
fn fixed(site: &Site) -> Site {
    Site { source: Source::None, skipped: None, ..site.clone() }
}

#[test]
fn every_level_of_every_module() {
    let mut rows = Vec::new();
    let mut sums = [0usize; 4];
    for (name, source) in corpus() {
        let (module, _) = ptx::read(&source);
        let reference = plan(&module, Level::Path, false);
        let path = plan(&module, Level::Path, true);
        let others = [Level::Fingerprint, Level::Events, Level::Operands].map(|l| plan(&module, l, true));
        for p in [&reference, &path, &others[0]] {
            check_capacity(p, &module).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        for p in others.iter().chain([&reference, &path]) {
            in_range(&name, p, &module);
            let same = p.module.sites.iter().map(fixed).eq(path.module.sites.iter().map(fixed));
            assert!(same, "{name}: sites depend on the level");
        }
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        let mut bits = 0usize;
        for s in &path.module.sites {
            let kind = match s.source {
                Source::None | Source::Follows => continue,
                Source::Computed => "computed",
                Source::Trips { .. } => "trips",
                Source::Bits(_) => "bits",
            };
            *count.entry(kind).or_default() += 1;
            bits += 1;
        }
        let get = |k: &str| count.get(k).copied().unwrap_or(0);
        let row = [bits, get("computed"), get("trips"), get("bits")];
        let reserves = path.functions.iter().flat_map(|f| &f.insertions);
        let reserves = reserves.filter(|i| matches!(i.action, Action::Reserve { .. })).count();
        for (sum, n) in sums.iter_mut().zip(row) {
            *sum += n;
        }
        rows.push(format!("| {name} | {} | {} | {} | {} | {reserves} |", row[0], row[1], row[2], row[3]));
    }
    let mut table = String::from(
        "| module | decisions | computed | trips | bits | reserves |\n|---|---|---|---|---|---|\n",
    );
    for row in &rows {
        table += row;
        table += "\n";
    }
    table += &format!("| all | {} | {} | {} | {} | |\n", sums[0], sums[1], sums[2], sums[3]);
    if let Some(path) = std::env::var_os("DECISIONS_TABLE") {
        fs::write(path, &table).unwrap();
    }
    println!("{table}");
}
