//! Case files: `tests/cases/plan/NAME.ptx` with what its plans are in `NAME.plan`. `BLESS=1` writes those.
//!
//! A case begins with lines `// plan: LEVEL [all] [sites=N,N] [functions=PATTERN] [classes=CLASS,CLASS]
//! [lines=FILE:FROM-TO]`: one plan for each, `all` without elision. What is the same in every plan of a
//! module stands only in the first: parameters, loops, sites with their slices.

use std::fs;
use std::path::Path;

use prlx_isa::ptx;
use prlx_plan::{Plan, RecordingRequest, check_capacity};
use prlx_trace::SiteId;
use prlx_trace::kernel::{Level, SiteClass};
use prlx_trace::launch::Window;

fn program(line: &str) -> RecordingRequest {
    let mut program = RecordingRequest::new(Level::Path);
    for word in line.split_whitespace() {
        if word == "all" {
            program.elide = false;
        } else if let Some(sites) = word.strip_prefix("sites=") {
            let sites = sites.split(',').filter_map(|s| s.parse().ok()).map(SiteId).collect();
            program.window = Some(Window { sites, warps: (0, 1), visits: (0, 1) });
        } else if let Some(pattern) = word.strip_prefix("functions=") {
            program.filter.functions.push(pattern.to_owned());
        } else if let Some(classes) = word.strip_prefix("classes=") {
            let class = |name: &str| SiteClass::ALL.iter().copied().find(|c| c.name() == name);
            program.filter.classes = classes.split(',').filter_map(class).collect();
        } else if let Some(lines) = word.strip_prefix("lines=") {
            let (file, range) = lines.split_once(':').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            program.filter.lines.push((file.to_owned(), from.parse().unwrap()..to.parse().unwrap()));
        } else {
            program.level =
                *Level::RECORDERS.iter().find(|l| l.name() == word).unwrap_or_else(|| panic!("level {word}"));
        }
    }
    program
}

/// Whether a line of a plan can differ from that of another of the same module.
fn differs(line: &str) -> bool {
    let fixed = ["  param ", "  loop", "  irreducible ", "  site", "    slice ", "    steers "];
    !fixed.iter().any(|f| line.starts_with(f)) || line.contains(" skipped: ")
}

#[test]
fn plans_are_as_written() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/plan");
    let mut wrong = Vec::new();
    let mut cases: Vec<_> = fs::read_dir(&dir).unwrap().flatten().map(|e| e.path()).collect();
    cases.retain(|p| p.extension().is_some_and(|e| e == "ptx"));
    cases.sort();
    assert!(!cases.is_empty());
    for case in cases {
        let source = fs::read_to_string(&case).unwrap();
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let (module, diagnostics) = ptx::read(&source);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
        let mut text = String::new();
        for line in source.lines().filter_map(|l| l.strip_prefix("// plan: ")) {
            let program = program(line);
            let plan = Plan::resolve(&program, &module, &name, &|_| None);
            if program.level == Level::Path {
                check_capacity(&plan, &module).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            let first = text.is_empty();
            let plan = plan.to_string();
            text += &format!("==== {line}\n");
            for line in plan.lines().filter(|l| first || differs(l)) {
                text += line;
                text += "\n";
            }
            text += "\n";
        }
        let expected = case.with_extension("plan");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, &text).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != text {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:?}");
}

/// `tests/kernels/amd/control.TARGET.plan`: the plan of level `path` of AMD's machine code.
#[test]
fn plans_of_machine_code_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/amd");
    let mut wrong = Vec::new();
    for target in ["gfx942", "gfx1100", "gfx1201"] {
        let bytes = fs::read(folder.join(format!("control.{target}.co"))).unwrap();
        let object = prlx_isa::amdgpu::object::CodeObject::read(&bytes).unwrap();
        let module = prlx_isa::amdgpu::read(&object).unwrap();
        let plan = Plan::resolve(&program("path"), &module, "control", &|_| None).to_string();
        let expected = folder.join(format!("control.{target}.plan"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, &plan).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != plan {
            wrong.push(target);
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:?}");
}
