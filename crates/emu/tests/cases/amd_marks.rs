//! Markers in AMD's code (`tests/kernels/amd/roles.hip`): what the tracks of hooks hold. The files `.tracks`
//! beside the launches say it, for waves of 32 and of 64 lanes. Every target must leave the same. Inserted
//! code leaves what hooks leave.

use std::fmt::Write;

use crate::corpus::root;
use crate::marks::{code, emulator, every_form, observe, rewritten, same, shown};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Error, ErrorKind, Job, RecordOptions};
use prlx_plan::markers::MarkerOptions;
use prlx_plan::{Plan, RecordingRequest, RegisterChoice};
use prlx_trace::WarpSize;
use prlx_trace::device::tracks::Form;
use prlx_trace::mark::Via;

/// Code objects of `roles.hip`, and the lanes of their waves.
const OBJECTS: [(&str, u32); 7] = [
    ("gfx90a", 64),
    ("gfx942", 64),
    ("gfx950", 64),
    ("gfx1030", 32),
    ("gfx1100", 32),
    ("gfx1201", 32),
    ("gfx1100-wave64", 64),
];

/// One trial for each kernel and code object.
pub fn trials() -> Vec<Trial> {
    let kernels = ["late", "pipe", "collatz"].into_iter();
    let all = kernels.flat_map(|kernel| OBJECTS.map(|(object, lanes)| (kernel, object, lanes)));
    let trials = |(kernel, object, lanes)| {
        let by_hooks = move || tracks(kernel, object, lanes);
        let by_code = move || inserted(kernel, object);
        [
            Trial::test(format!("marks/amd/{kernel} {object}"), by_hooks),
            Trial::test(format!("marks/amd/{kernel} {object} by code"), by_code),
        ]
    };
    all.flat_map(trials).collect()
}

/// A launch of `roles.hip` with one of its code objects.
fn job(kernel: &str, object: &str) -> Result<Job, Failed> {
    let folder = root().join("tests/kernels/amd");
    let launch = std::fs::read_to_string(folder.join(format!("roles/{kernel}.toml")))?;
    let module = folder.join(format!("roles.{object}.co"));
    let read = |_: &_| {
        std::fs::read(&module)
            .map_err(|e| Error::new(ErrorKind::Module, format!("{}: {e}", module.display())))
    };
    Ok(Job::parse(kernel, &launch, &read)?)
}

fn tracks(kernel: &str, object: &str, lanes: u32) -> Result<(), Failed> {
    let job = job(kernel, object)?;
    let module = job.view(WarpSize::W32)?;
    let mut text = String::new();
    for (what, lanes) in [("warps", false), ("lanes of the first warp", true)] {
        let marking =
            MarkerOptions { source: true, outside: vec![Via::Barrier], lanes, ..MarkerOptions::default() };
        let plan = Plan::resolve(&RecordingRequest::of_markers(marking), &module, &job.module, &|_| None);
        writeln!(text, "== {what}")?;
        for track in observe(&job, &plan)?.iter().filter(|track| !lanes || track.warp.0 == 0) {
            writeln!(text, "{}", shown(&plan.module, track))?;
        }
    }
    let expected = root().join(format!("tests/kernels/amd/roles/{kernel}.{lanes}.tracks"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, &text)?;
    }
    let wanted = std::fs::read_to_string(&expected).map_err(|e| format!("{}: {e}", expected.display()))?;
    match text.lines().zip(wanted.lines()).find(|(is, wanted)| is != wanted) {
        Some((is, wanted)) => Err(format!("{is}\nand not\n{wanted}\n(BLESS=1 writes it)").into()),
        None if text != wanted => Err(format!("{}: another number of tracks", expected.display()).into()),
        None => Ok(()),
    }
}

/// Inserted code leaves the tracks of hooks in every form and whatever registers it takes.
fn inserted(kernel: &str, object: &str) -> Result<(), Failed> {
    let mut job = job(kernel, object)?;
    let forms = [Form::Records, Form::Spans, Form::Sums, Form::Ring { entries: 2 }];
    for (form, (name, registers)) in forms.iter().flat_map(|f| RegisterChoice::ALL.map(|choice| (*f, choice)))
    {
        let marking =
            MarkerOptions { source: true, outside: vec![Via::Barrier], form, ..MarkerOptions::default() };
        let request = RecordingRequest { registers, ..RecordingRequest::of_markers(marking) };
        let rewrite = rewritten(&job, &request)?;
        let of_kernel = rewrite.module.functions.iter().position(|f| f.name == kernel).ok_or("no kernel")?;
        match rewrite.plan.functions[of_kernel].skipped.as_deref() {
            None => {}
            // Code with calls needs a vector register that holds nothing, if no scalar one is free.
            Some("too few vector registers are free") if registers == RegisterChoice::Scarce => continue,
            why => return Err(format!("{form:?}, registers {name}: refused: {why:?}").into()),
        }
        let hooks = observe(&job, &rewrite.plan)?;
        let options = RecordOptions { pool: 8 << 20, ..RecordOptions::default() };
        let object = Some(code(&rewrite));
        let recorded = prlx_driver::record(&mut emulator(), object, &rewrite.plan, &job, &options)?;
        let marks = recorded.marks.ok_or("no marks")?;
        same(&hooks, &marks.tracks, marks.left_out, false)
            .map_err(|why| format!("{form:?}, registers {name}: {why}"))?;
    }
    // Of targets with the same inserted code, one does with other markers, tracks of lanes and schedules.
    if matches!(object, "gfx942" | "gfx1030" | "gfx1100" | "gfx1201") {
        every_form(&mut job, false)
    } else {
        Ok(())
    }
}
