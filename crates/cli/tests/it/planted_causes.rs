//! One change planted in a kernel: the first cause that `compare` names must be the changed line.
//!
//! The kernels are those of `tests/kernels/cuda`. A change replaces one instruction of the PTX: another
//! operator, another constant or offset, another comparison, another operand, or no barrier. A change that
//! leaves all outputs as they were is drawn again.

use std::path::{Path, PathBuf};

use prlx::Monitor;
use prlx::compare::{CompareOptions, compare_launch_files};
use prlx::device::DeviceOptions;
use prlx_analyze::report::{CauseClass, CausePlace, LaunchReport};

/// Changes to each kernel.
const CHANGES: usize = 4;
/// Draws for a change that shows in an output.
const DRAWS: usize = 5;
/// Of a hundred changes, so many must be named first.
const BOUND: usize = 92;

/// Numbers that follow from a seed (xorshift; Marsaglia, Xorshift RNGs).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

/// An operator, and what replaces it.
const OPERATORS: &[(&str, &str)] = &[
    ("add.f32", "sub.f32"),
    ("sub.f32", "add.f32"),
    ("mul.f32", "add.f32"),
    ("add.rn.f32", "sub.rn.f32"),
    ("add.s32", "sub.s32"),
    ("add.f64", "sub.f64"),
    ("xor.b32", "or.b32"),
    ("and.b32", "or.b32"),
    ("setp.lt", "setp.le"),
    ("setp.le", "setp.lt"),
    ("setp.gt", "setp.ge"),
    ("setp.ge", "setp.gt"),
    ("setp.eq", "setp.ne"),
    ("bar.sync", "// bar.sync"),
];

/// The line with one change; `None` if it has nothing to change.
fn change(line: &str, random: &mut Random) -> Option<String> {
    let text = line.trim();
    let other = ["wgmma", "mbarrier", "cp.async", "//", "."];
    if !text.ends_with(';') || text.starts_with('.') || other[..4].iter().any(|o| text.contains(o)) {
        return None;
    }
    let operators: Vec<_> = OPERATORS.iter().filter(|(from, _)| text.contains(from)).collect();
    if !operators.is_empty() && random.below(3) < 2 {
        let (from, to) = operators[random.below(operators.len())];
        return Some(line.replacen(from, to, 1));
    }
    let (opcode, operands) = text.trim_end_matches(';').split_once(char::is_whitespace)?;
    if let ("fma.rn.f32", [d, a, _, c]) =
        (opcode, &operands.split(',').map(str::trim).collect::<Vec<_>>()[..])
    {
        return Some(format!("\t{opcode} {d}, {a}, {a}, {c};"));
    }
    if ["@", "bar", "ld.param", "bra", "ret", "shfl"].iter().any(|o| opcode.starts_with(o)) {
        return None;
    }
    let last = operands.rfind([' ', '\t', '+'])? + 1;
    let number = operands[last..].trim_end_matches(']');
    let value: i64 = number.parse().ok()?;
    let step = if operands.contains('[') { 4 } else { 1 };
    let rest = &operands[last + number.len()..];
    Some(format!("\t{opcode} {}{}{rest};", &operands[..last], value + step))
}

/// The source line that a line of a module belongs to.
fn source_line(lines: &[&str], at: usize) -> Option<u32> {
    let location = lines[..at].iter().rev().map(|l| l.trim()).find(|l| l.starts_with(".loc"))?;
    location.split_whitespace().nth(2)?.parse().ok()
}

/// Whether a place is the changed instruction, or on its source line.
fn is_at(place: &CausePlace, module_line: u32, line: Option<u32>) -> bool {
    let mut locations = place.location.iter().flat_map(|l| std::iter::once(l).chain(&l.inlined));
    place.module_line == module_line || locations.any(|l| Some(l.line) == line)
}

/// Whether the report names the changed line first.
fn names(launch: &LaunchReport, module_line: u32, line: Option<u32>, barrier: bool) -> bool {
    match launch.causes.first() {
        // What a barrier orders are the accesses about it.
        Some(cause) if barrier && cause.class == CauseClass::Race => true,
        Some(cause) => {
            cause.places.iter().chain([&cause.other]).flatten().any(|p| is_at(p, module_line, line))
        }
        None => launch.findings.first().and_then(|f| f.location()).map(|l| l.line) == line,
    }
}

#[test]
fn the_first_cause_is_the_planted_line() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/cuda");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&kernels)
        .expect("the kernels are there")
        .flatten()
        .map(|entry| entry.path().join("launch.toml"))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    let device = DeviceOptions { max_steps: Some(300_000), ..DeviceOptions::default() };
    let options = CompareOptions { device: device.clone(), ..CompareOptions::default() };
    let (report, cancelled) = (|_: prlx::Event<'_>| (), || false);
    let monitor = Monitor::new(&report, &cancelled);
    let (mut planted, mut misses) = (0, Vec::new());
    for (seed, file) in files.iter().enumerate() {
        let Ok(job) = prlx::record::load(file, &device) else { continue };
        let lines: Vec<&str> = job.text.lines().collect();
        let entry = lines.iter().position(|l| l.contains(".entry") && l.contains(&job.kernel)).unwrap_or(0);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1) << 20);
        let (mut changes, mut draws) = (0, 0);
        while changes < CHANGES && draws < CHANGES * DRAWS {
            draws += 1;
            let at = entry + random.below(lines.len() - entry);
            let Some(new) = change(lines[at], &mut random) else { continue };
            let mut changed = lines.clone();
            changed[at] = &new;
            let mut other = job.clone();
            other.text = changed.join("\n");
            let names_of = [String::from("A"), String::from("B")];
            let Ok(found) = compare_launch_files(&[job.clone(), other], names_of, &options, &monitor) else {
                continue;
            };
            let Some(launch) = found.report.launches.first() else { continue };
            // A kernel that faults or hangs has no output to explain.
            if launch.outputs.iter().all(|o| o.differing == 0) || launch.faults.iter().any(Option::is_some) {
                continue;
            }
            changes += 1;
            planted += 1;
            let line = source_line(&lines, at);
            if !names(launch, at as u32 + 1, line, lines[at].contains("bar.sync")) {
                let cause = launch.causes.first();
                misses.push(format!(
                    "{}:{}: `{}` became `{}`; named: {} {}",
                    file.display(),
                    at + 1,
                    lines[at].trim(),
                    new.trim(),
                    cause.map_or("nothing", |c| c.class.name()),
                    cause.map_or("", |c| &c.what)
                ));
            }
        }
    }
    println!("{} of {planted} planted changes are named first", planted - misses.len());
    misses.iter().for_each(|miss| println!("missed {miss}"));
    assert!(planted >= 120, "only {planted} changes show in outputs");
    assert!((planted - misses.len()) * 100 >= planted * BOUND, "{} of {planted} are missed", misses.len());
}
