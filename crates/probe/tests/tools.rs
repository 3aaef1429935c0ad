//! The tools in the box: each reads, and binds to every module of the corpus; `tests/cases/tools/NAME.out` says in how many
//! it does something, and at how many places what can't be told. `BLESS=1` writes those.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prlx_isa::ptx;
use prlx_isa::view::{self, Space};
use prlx_probe::code::Ask;
use prlx_probe::eval::{Found, Host, run};
use prlx_probe::lang::parse;
use prlx_probe::tools::TOOLS;
use prlx_probe::{Action, Filter, Plan, Program};
use prlx_trace::kernel::Level;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text of every module of the corpus, in order of their paths.
fn corpus() -> Vec<String> {
    let mut folders = vec![root().join("tests/kernels")];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|p| fs::read_to_string(p).unwrap()).collect()
}

/// A reason without the numbers and names of its place.
fn reason(why: &str) -> String {
    why.split_whitespace()
        .map(|w| if w.contains(|c: char| c.is_ascii_digit()) { "N" } else { w })
        .collect::<Vec<_>>()
        .join(" ")
}

fn plan(tool: &str, source: &str, module: &view::Module) -> Plan {
    let script =
        parse(tool).unwrap_or_else(|c| panic!("{}", c.iter().map(|c| c.render(tool, "x")).collect::<String>()));
    let script = Some(Arc::new(script));
    let program = Program { level: Level::Probe, script, elide: true, filter: Filter::default(), window: None };
    Plan::resolve(&program, module, source, "corpus", &|_| None)
}

#[test]
fn every_tool_binds_to_every_module() {
    let corpus = corpus();
    assert!(corpus.len() > 150);
    let modules: Vec<_> = corpus.iter().map(|text| (text, ptx::read(text).0)).collect();
    let mut wrong = Vec::new();
    for (name, _, tool) in TOOLS {
        let mut bound = 0;
        let mut missed: BTreeMap<String, usize> = BTreeMap::new();
        for (source, module) in &modules {
            let plan = plan(tool, source, module);
            let mut actions = plan.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
            bound += usize::from(actions.any(|a| matches!(a, Action::Probe(_) | Action::Count { .. })));
            for m in &plan.kept.missed {
                *missed.entry(reason(&m.why)).or_default() += 1;
            }
        }
        assert!(bound > 0, "{name} does nothing in the whole corpus");
        let mut out = format!("in {bound} of {} modules\n", modules.len());
        for (why, n) in missed {
            writeln!(out, "missed {n}: {why}").unwrap();
        }
        let path = root().join(format!("tests/cases/tools/{name}.out"));
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &out).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != out {
            wrong.push(*name);
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:?}");
}

#[test]
fn every_file_is_a_tool() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    let mut files: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut names: Vec<&str> = TOOLS.iter().map(|t| t.0).collect();
    names.sort_unstable();
    assert_eq!(files, names);
    let page = fs::read_to_string(root().join("docs/probe-tools.md")).unwrap();
    for (name, answers, text) in TOOLS {
        assert!(
            text.starts_with("// ") && text.contains("\n// Misses:"),
            "{name} does not say what it counts and misses"
        );
        assert!(answers.ends_with('.') && page.contains(&format!("`{name}`")), "{name} is not in docs/probe-tools.md");
    }
}

/// Lanes with addresses and no clock: takes what a code updates.
#[derive(Default)]
struct Warp {
    addresses: [u64; 32],
    sums: BTreeMap<u32, u64>,
}

impl Host for Warp {
    fn read(&self, _: u32, lane: usize) -> u64 {
        self.addresses[lane]
    }
    fn ask(&self, what: Ask, active: u32, lane: usize) -> u64 {
        match what {
            Ask::Active => active.into(),
            Ask::Leader => u64::from(active.trailing_zeros() as usize == lane),
            _ => 0,
        }
    }
    fn param(&self, _: u32) -> u64 {
        0
    }
    fn within(&self, _: Space, _: u64) -> bool {
        true
    }
    fn load(&self, _: u32, _: usize) -> u64 {
        0
    }
    fn store(&mut self, _: u32, _: usize, _: u64) {}
    fn update(&mut self, table: u32, _: Found<'_>, value: u64, _: usize) {
        *self.sums.entry(table).or_default() += value;
    }
    fn save(&mut self, _: u32, _: &[u64], _: usize, _: bool) {}
}

/// Against a set of sectors: random strides, shuffles and masks.
#[test]
fn coalescing_counts_sectors() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b64 %rd<2>;\n.reg .f32 %f<2>;\n\
               .file 1 \"k.cu\"\n.loc 1 1 1\nld.global.f32 %f1, [%rd1];\nret;\n}\n";
    let text = TOOLS.iter().find(|t| t.0 == "coalescing").unwrap().2;
    let plan = plan(text, ptx, &ptx::read(ptx).0);
    let Action::Probe(code) =
        &plan.functions[0].insertions.iter().find(|i| matches!(i.action, Action::Probe(_))).unwrap().action
    else {
        panic!()
    };
    let number = |name: &str| plan.module.tables.iter().position(|t| t.name == name).unwrap() as u32;
    let mut state = 1u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..2000u64 {
        let (stride, base, mask) = (4 * (random() % 33), 4 * (random() % 1000), (random() as u32) | 1 << (round % 32));
        let scatter = round % 2 == 0;
        let mut warp = Warp::default();
        for lane in 0..32 {
            warp.addresses[lane] =
                0x7f00_0000_0000 + base + if scatter { 4 * (random() % 900) } else { stride * lane as u64 };
        }
        run(code, &mut warp, mask);
        let lanes = (0..32).filter(|l| mask >> l & 1 == 1);
        let sectors: BTreeSet<u64> = lanes.map(|l: usize| warp.addresses[l] / 32).collect();
        assert_eq!(warp.sums[&number("sectors")], sectors.len() as u64, "stride {stride}, mask {mask:#x}");
        assert_eq!(warp.sums[&number("needed")], u64::from(mask.count_ones() * 4).div_ceil(32));
        assert_eq!(warp.sums[&number("warps")], 1);
    }
}
