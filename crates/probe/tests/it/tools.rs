//! The tools in the box: each reads, and binds to every module of the corpus; `tests/cases/tools/NAME.out`
//! says in how many it does something, and at how many places what can't be told. `BLESS=1` writes those.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prlx_isa::ptx;
use prlx_isa::view::{self, Operand, Space};
use prlx_plan::code::{Code, LaneQuery, Ty};
use prlx_plan::eval::{LaneHost, RowRef, run};
use prlx_plan::{Action, Plan, RecordingRequest};
use prlx_probe::lang::parse;
use prlx_probe::tools::TOOLS;

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

fn plan(tool: &str, module: &view::Module) -> Plan {
    let script = parse(tool)
        .unwrap_or_else(|c| panic!("{}", c.iter().map(|c| c.render(tool, "x")).collect::<String>()));
    let program = RecordingRequest::of_probe(Arc::new(script));
    Plan::resolve(&program, module, "corpus", &|_| None)
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
        for (_, module) in &modules {
            let plan = plan(tool, module);
            let mut actions = plan.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
            bound += usize::from(actions.any(|a| matches!(a, Action::Probe(_) | Action::Count { .. })));
            for m in &plan.probe_state.unavailable {
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
            text.starts_with("// ") && text.contains("\n// Limitations:"),
            "{name} does not say what it counts and its limitations"
        );
        assert!(
            answers.ends_with('.') && page.contains(&format!("`{name}`")),
            "{name} is not in docs/probe-tools.md"
        );
    }
}

/// Lanes with addresses and no clock: takes what a code updates.
#[derive(Default)]
struct Warp {
    /// Which operand is the lane's number.
    lane: Option<u32>,
    addresses: [u64; 32],
    /// By counter: its table.
    counters: Vec<u32>,
    sums: BTreeMap<u32, u64>,
    /// By table: how many values it took.
    updates: BTreeMap<u32, u64>,
}

impl LaneHost for Warp {
    fn read(&self, operand: u32, lane: usize) -> u64 {
        if self.lane == Some(operand) { lane as u64 } else { self.addresses[lane] }
    }
    fn ask(&self, what: LaneQuery, active: u64, lane: usize) -> u64 {
        match what {
            LaneQuery::Active => active,
            LaneQuery::Leader => u64::from(active.trailing_zeros() as usize == lane),
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
    fn get(&self, _: u32) -> u64 {
        0
    }
    fn put(&mut self, _: u32, _: u64) {}
    fn tally(&mut self, counter: u32, value: u64, _: usize) {
        *self.sums.entry(self.counters[counter as usize]).or_default() += value;
    }
    fn update(&mut self, table: u32, _: RowRef<'_>, value: u64, _: usize) {
        *self.sums.entry(table).or_default() += value;
        *self.updates.entry(table).or_default() += 1;
    }
    fn save(&mut self, _: u32, _: &[u64], _: usize, _: bool) {}
}

/// What a tool does at an instruction of `[%rd1]`, and the names of its tables.
struct Tool {
    code: Arc<Code>,
    /// What is only counted: the table, and how much a lane adds to it.
    counts: Vec<(u32, u64)>,
    /// By counter: its table.
    counters: Vec<u32>,
    tables: Vec<String>,
}

impl Tool {
    fn at(tool: &str, instruction: &str) -> Tool {
        let ptx = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n.reg .b64 %rd<2>;\n.reg .b32 %r<5>;\n\
             .reg .f32 %f<5>;\n.file 1 \"k.cu\"\n.loc 1 1 1\n{instruction}\nret;\n}}\n"
        );
        let text = TOOLS.iter().find(|t| t.0 == tool).unwrap().2;
        let plan = plan(text, &ptx::read(&ptx).0);
        let (mut codes, mut counts) = (Vec::new(), Vec::new());
        for insertion in &plan.functions[0].insertions {
            match &insertion.action {
                Action::Probe(code) => codes.push(Arc::clone(code)),
                Action::Count { counter, add } => {
                    let counter = plan.probe_state.counters[*counter as usize];
                    let shares = plan.probe_state.shares.iter().filter(|s| s.stretch == counter.row);
                    match counter.table as usize == plan.probe_state.own() {
                        true => counts.extend(shares.map(|s| (s.table, s.add * add))),
                        false => counts.push((counter.table, *add)),
                    }
                }
                _ => {}
            }
        }
        assert!(codes.len() < 2 && codes.len() + counts.len() > 0, "{tool} at {instruction}: {codes:?}");
        let tables = plan.module.tables.iter().map(|t| t.name.clone()).collect();
        let counters = plan.probe_state.counters.iter().map(|c| c.table).collect();
        Tool { code: codes.pop().unwrap_or_default(), counts, counters, tables }
    }

    /// Runs it for the lanes of `mask`: what each table takes.
    fn run(&self, addresses: [u64; 32], mask: u32) -> BTreeMap<&str, u64> {
        let lane = |o: &Operand| *o == Operand::Special("%laneid".to_owned());
        let lane = self.code.operands.iter().position(lane).map(|n| n as u32);
        let mut warp = Warp { lane, addresses, counters: self.counters.clone(), ..Warp::default() };
        run(&self.code, &mut warp, mask.into());
        for (table, add) in &self.counts {
            *warp.sums.entry(*table).or_default() += add * u64::from(mask.count_ones());
        }
        let name = |table: u32| self.tables[table as usize].as_str();
        let ratio = warp.updates.iter().find(|(table, _)| name(**table) == "ratio");
        let updates = ratio.map(|(_, n)| ("ratio updates", *n));
        warp.sums.iter().map(|(table, sum)| (name(*table), *sum)).chain(updates).collect()
    }
}

fn random() -> impl FnMut() -> u64 {
    let mut state = 1u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// The lanes of a mask.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 == 1)
}

/// Against a set of sectors: random strides, shuffles and masks.
#[test]
fn coalescing_counts_sectors() {
    let tool = Tool::at("coalescing", "ld.global.f32 %f1, [%rd1];");
    let mut random = random();
    for round in 0..2000u64 {
        let (stride, base, mask) =
            (4 * (random() % 33), 4 * (random() % 1000), (random() as u32) | 1 << (round % 32));
        let scatter = round % 2 == 0;
        let offset = |lane: usize, any: u64| if scatter { 4 * (any % 90_000) } else { stride * lane as u64 };
        let addresses = std::array::from_fn(|lane| 0x7f00_0000_0000 + base + offset(lane, random()));
        let sums = tool.run(addresses, mask);
        let sectors: BTreeSet<u64> = lanes(mask).map(|l| addresses[l] / 32).collect();
        assert_eq!(sums["sectors"], sectors.len() as u64, "stride {stride}, mask {mask:#x}");
        assert_eq!(sums["needed"], u64::from(mask.count_ones() * 4).div_ceil(32));
        assert_eq!(sums["warps"], 1);
        // The mean of as many numbers as sectors are needed.
        assert_eq!(sums["ratio"], sums["sectors"]);
        assert_eq!(sums["ratio updates"], sums["needed"]);
    }
}

/// Against banks that are asked for words: those lanes that are served together ask theirs for all words of
/// theirs.
#[test]
fn bank_conflicts_counts_what_banks_are_asked_for() {
    // Instruction, bytes of a lane, lanes that are served together.
    let cases = [
        ("ld.shared.u8 %r1, [%rd1];", 1, 32),
        ("st.shared.f32 [%rd1], %f1;", 4, 32),
        ("ld.shared.v2.f32 {%f1, %f2}, [%rd1];", 8, 16),
        ("ld.shared::cta.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", 16, 8),
        ("ld.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", 16, 8),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%rd1];", 16, 8),
    ];
    let mut random = random();
    for (instruction, size, together) in cases {
        let tool = Tool::at("bank-conflicts", instruction);
        let mut most = 0;
        for round in 0..600u64 {
            let every = if instruction.starts_with("ldmatrix") { u32::MAX } else { 1 << (round % 32) };
            let (stride, base, mask) =
                (size * (random() % 33), size * (random() % 64), (random() as u32) | every);
            let (scatter, range) = (round % 3 == 0, 1 + random() % 256);
            let offset =
                |lane: usize, any: u64| if scatter { size * (any % range) } else { stride * lane as u64 };
            let addresses = std::array::from_fn(|lane| base + offset(lane, random()));
            let (mut turns, mut needed) = (0, 0);
            for group in 0..32 / together {
                let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
                for lane in lanes(mask).filter(|l| l / together == group) {
                    let words = addresses[lane] / 4..(addresses[lane] + size).div_ceil(4);
                    for w in words {
                        banks.entry(w % 32).or_default().insert(w);
                    }
                }
                let longest = banks.values().map(BTreeSet::len).max().unwrap_or(0) as u64;
                turns += longest;
                needed += longest.min(1);
            }
            let sums = tool.run(addresses, mask);
            assert_eq!(
                [sums["turns"], sums["needed"], sums["warps"]],
                [turns, needed, 1],
                "{instruction} {addresses:?}"
            );
            assert_eq!([sums["ratio"], sums["ratio updates"]], [turns, needed], "{instruction}");
            most = most.max(turns);
        }
        assert!(most > 10 || size == 1, "{instruction}: no conflict was tried");
    }
}

/// As `coalescing` and `bank-conflicts` count them; in local memory, words of a warp's lanes lie beside each
/// other.
#[test]
fn transactions_are_sectors_turns_and_words() {
    let strided = |stride: u64| std::array::from_fn(|lane| 0x1000 + stride * lane as u64);
    let cases = [
        ("ld.global.f32 %f1, [%rd1];", strided(4), [128, 4]),
        ("st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};", strided(16), [512, 16]),
        ("ld.global.f32 %f1, [%rd1];", strided(4096), [128, 32]),
        ("red.global.add.f32 [%rd1], %f1;", strided(0), [128, 1]),
        ("ld.shared.f32 %f1, [%rd1];", strided(128), [128, 32]),
        ("ld.shared.v2.f32 {%f1, %f2}, [%rd1];", strided(8), [256, 2]),
        ("atom.shared.add.f32 %f1, [%rd1], %f1;", strided(4), [128, 32]),
        ("ld.local.f32 %f1, [%rd1];", strided(0), [128, 4]),
        ("ld.local.v2.f32 {%f1, %f2}, [%rd1];", strided(0), [256, 8]),
        ("ld.const.f32 %f1, [%rd1];", strided(0), [128, 1]),
        ("ld.const.f32 %f1, [%rd1];", strided(4), [128, 32]),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4;", strided(8), [256, 8]),
    ];
    for (instruction, addresses, expected) in cases {
        let tool = Tool::at("transactions", instruction);
        let sums = tool.run(addresses, u32::MAX);
        assert_eq!([sums["bytes"], sums["transactions"]], expected, "{instruction}");
    }
}

/// The number of a thread's warp and the bits of a mask of lanes follow the size of warps.
#[test]
fn programs_know_how_wide_warps_are() {
    let source = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b64 %rd<2>;\n\
                  .reg .b32 %r<5>;\nld.global.u32 %r1, [%rd1];\nret;\n}\n";
    let mut module = ptx::read(source).0;
    for (lanes, shift) in [(32, 5), (64, 6)] {
        module.warp_lanes = lanes;
        let of = |text: &str| {
            let plan = plan(text, &module);
            let missed = plan.probe_state.unavailable.first().map(|m| m.why.clone());
            let code = plan.functions[0].insertions.iter().find_map(|i| match &i.action {
                Action::Probe(code) => Some(code.clone()),
                _ => None,
            });
            assert_eq!(missed, None, "{text}");
            code.unwrap()
        };
        let code = of("inst:ld.global { @by[warp_in_cta]++; }").to_string();
        assert!(code.contains(&format!("= {shift:#x};")), "{code}");
        for mask in ["active", "ballot(lane > 3)", "lanes_same(lane)"] {
            let code = of(&format!("inst:ld.global {{ @by[{mask}]++; }}"));
            assert_eq!(code.temps.contains(&Ty::U64), lanes == 64, "{mask}: {code}");
        }
    }
}

/// Accesses under one guard are counted once, as long as it is the same.
#[test]
fn places_under_one_guard_are_counted_together() {
    let accesses = [
        "@%p1 ld.global.u32 %r1, [%rd1];",
        "@%p1 ld.global.u32 %r2, [%rd1];",
        "@!%p1 ld.global.u32 %r2, [%rd1];",
        "@%p2 ld.global.u32 %r3, [%rd1];",
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 ld.global.u32 %r1, [%rd1];",
        "ld.global.u32 %r1, [%rd1];",
        "@%p2 st.global.u32 [%rd1], %r1;",
    ];
    let lines: String =
        (1..).zip(accesses).map(|(line, access)| format!(".loc 1 {line} 1\n{access}\n")).collect();
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n.reg .b64 %rd<2>;\n.reg .b32 %r<5>;\n\
         .reg .pred %p<3>;\n.file 1 \"k.cu\"\n{lines}ret;\n}}\n"
    );
    let text = TOOLS.iter().find(|t| t.0 == "global-bytes").unwrap().2;
    let plan = plan(text, &ptx::read(&ptx).0);
    let counted = plan.functions[0].insertions.iter().filter_map(|i| match &i.action {
        Action::Count { counter, .. } => {
            let stretch = plan.probe_state.counters[*counter as usize].row;
            let shares = plan.probe_state.shares.iter().filter(|s| s.stretch == stretch);
            Some((i.guard.map(|g| g.negate), shares.map(|s| (s.row, s.add)).collect::<Vec<_>>()))
        }
        Action::Probe(code) => panic!("{code:?} is no addition to a register"),
        _ => None,
    });
    let guarded = Some(false);
    assert_eq!(
        counted.collect::<Vec<_>>(),
        [
            (guarded, vec![(0, 4), (1, 4)]),
            (Some(true), vec![(2, 4)]),
            (guarded, vec![(3, 4), (6, 4)]),
            (guarded, vec![(4, 4)]),
            (None, vec![(5, 4)]),
        ]
    );
}

/// Whether a program does something in a kernel with these instructions, whose registers are all untyped.
fn acts(program: &str, instructions: &str) -> bool {
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 s[256];\n.visible .entry k() {{\n\
         .reg .b64 %rd<3>;\n.reg .b32 %r<9>;\n.reg .b16 %h<5>;\n.reg .pred %p<3>;\n{instructions}\nret;\n}}\n"
    );
    let plan = plan(program, &ptx::read(&ptx).0);
    plan.functions[0].insertions.iter().any(|i| matches!(i.action, Action::Probe(_) | Action::Count { .. }))
}

#[test]
fn untyped_values_have_the_type_in_which_they_are_used() {
    let load = "ld.global.b32 %r1, [%rd1];";
    let vector = "ld.global.v2.b32 {%r1, %r2}, [%rd1];";
    let loads = [
        // Used as a float, as an integer, not at all.
        (load, "mul.f32 %r3, %r1, %r1;", true),
        (load, "setp.lt.f32 %p1, %r1, 0f00000000;", true),
        (load, "add.s32 %r3, %r1, 1;", false),
        (load, "cvt.rn.f32.s32 %r3, %r1;", false),
        (load, "st.global.b32 [%rd2], %r1;", false),
        // Through moves, shuffles and selects, and as one element of a vector.
        (load, "mov.b32 %r2, %r1;\nshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nadd.f32 %r4, %r3, %r3;", true),
        (load, "selp.b32 %r2, %r1, 0, %p1;\nfma.rn.f32 %r4, %r2, %r2, %r2;", true),
        (vector, "sub.f32 %r4, %r2, %r2;", true),
        // Halves that are taken apart.
        (load, "mov.b32 {%h1, %h2}, %r1;\ncvt.f32.f16 %r2, %h2;", true),
        (load, "mov.b32 {%h1, %h2}, %r1;\nadd.s16 %h3, %h2, 1;", false),
        // Its lane index is no value.
        (load, "shfl.sync.idx.b32 %r3, %r4, %r1, 31, -1;\nadd.f32 %r4, %r3, %r3;", false),
    ];
    for (load, used, float) in loads {
        let text = format!("{load}\n{used}");
        let program = "inst:ld.global:end /type == \"*f*\"/ { @loaded++; }";
        assert_eq!(acts(program, &text), float, "{text}");
    }
    let store = "st.global.b32 [%rd2], %r5;";
    let stores = [
        ("add.f32 %r1, %r2, %r3;\nmov.b32 %r5, %r1;", true),
        ("add.s32 %r1, %r2, %r3;\nmov.b32 %r5, %r1;", false),
        ("mov.u32 %r5, 7;\n@%p1 mul.f32 %r5, %r2, %r3;", true),
        // Through shared memory.
        ("mul.f32 %r1, %r2, %r3;\nst.shared.b32 [s], %r1;\nld.shared.b32 %r5, [s];", true),
        ("st.shared.f32 [s], %r1;\nld.shared.b32 %r5, [s+4];", true),
        ("add.u32 %r1, %r2, %r3;\nst.shared.b32 [s], %r1;\nld.shared.b32 %r5, [s];", false),
        // Two meanings there: not known.
        (
            "mul.f32 %r1, %r2, %r3;\nst.shared.b32 [s], %r1;\nst.shared.u32 [s+8], %r4;\nld.shared.b32 %r5, [s];",
            false,
        ),
        // What a loop carries through shared memory.
        (
            "L:\nld.shared.b32 %r1, [s];\nadd.f32 %r5, %r1, %r1;\nst.shared.b32 [s], %r5;\n@%p1 bra L;\nld.shared.b32 %r5, [s];",
            true,
        ),
    ];
    for (before, float) in stores {
        let program = TOOLS.iter().find(|t| t.0 == "stored-range").unwrap().2;
        assert_eq!(acts(program, &format!("{before}\n{store}")), float, "{before}");
    }
}
