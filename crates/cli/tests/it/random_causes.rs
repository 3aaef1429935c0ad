//! Random kernels with one planted change of a value: the first cause that a comparison names must be on the
//! changed line.
//!
//! A kernel is a list of lines. Each line is a few instructions with its own `.loc`, and has variants: the
//! same line with another constant, operator, index or guard, or a barrier left out. A variant that changes
//! no output is not planted. The test prints every miss.
//!
//! # Invariants
//! - The kernels are the same on every machine.
//! - Without a planted change a kernel has no race, so every schedule gives the same outputs.
//!
//! # Limitations
//! - One CTA shape, 32-bit values, loops with one body line, no nested branches.

use std::fmt::Write;

use prlx::Monitor;
use prlx::compare::{CompareOptions, compare_launch_files};
use prlx::device::{Device, DeviceChoice, DeviceOptions};
use prlx_driver::Job;
use serde_json::Value;

use crate::field::{Answer, of_comparison};

/// Number of planted changes.
const PROGRAMS: u64 = 200;
/// Changes of a kernel that are tried until one changes the outputs.
const DRAWS: u32 = 24;
/// Schedules that are tried for a missing barrier.
const HOSTILE: [u64; 6] = [3, 7, 11, 19, 23, 42];
/// Live registers of each type, `%f0` and `%r0` first.
const LIVE: u64 = 4;

/// The random number generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// What a planted change changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Constant,
    Operator,
    Index,
    Guard,
    Barrier,
}

/// The kinds, in the order in which programs take turns.
const KINDS: [Kind; 5] = [Kind::Constant, Kind::Operator, Kind::Index, Kind::Guard, Kind::Barrier];

/// A line with a planted change.
type Variant = (Kind, String);

/// One line of a kernel.
#[derive(Clone, Default)]
struct Line {
    /// The instructions of the line, one under the other.
    code: String,
    /// The same line with a planted change.
    variants: Vec<Variant>,
    /// Of a barrier: indices of the lines whose accesses race without it.
    orders: Vec<usize>,
}

/// A kernel in the making.
struct Kernel {
    random: Random,
    lines: Vec<Line>,
    labels: u32,
    /// The second barrier of the last exchange, which orders its read before the next exchange's write.
    open: Option<usize>,
}

/// A planted change.
struct Planted {
    program: u64,
    kind: Kind,
    line: usize,
    was: String,
    is: String,
    /// Accepted lines, counted from 1.
    accepted: Vec<usize>,
    jobs: [Job; 2],
}

#[test]
fn the_cause_is_the_planted_line() {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let results: Vec<(Planted, Answer)> = std::thread::scope(|scope| {
        let share = |first| {
            move || -> Vec<(Planted, Answer)> {
                let mine = (first..PROGRAMS).step_by(threads as usize);
                mine.map(plant)
                    .map(|p| {
                        let named = named(&p);
                        (p, named)
                    })
                    .collect()
            }
        };
        let all: Vec<_> = (0..threads).map(|first| scope.spawn(share(first))).collect();
        all.into_iter().flat_map(|t| t.join().expect("a thread panicked")).collect()
    });
    let hit =
        |(p, n): &&(Planted, Answer)| n.lines.iter().any(|(_, line)| p.accepted.contains(&(*line as usize)));
    let mut missed_changes: Vec<&(Planted, Answer)> = results.iter().filter(|r| !hit(r)).collect();
    missed_changes.sort_by_key(|(p, _)| p.program);
    for (p, n) in &missed_changes {
        println!(
            "program {}, k.cu:{}\n  was   {}\n  is    {}",
            p.program,
            p.line + 1,
            words(&p.was),
            words(&p.is)
        );
        println!("  named {} {} {:?}", n.verdict, n.class, n.lines);
    }
    for kind in KINDS {
        let all = results.iter().filter(|(p, _)| p.kind == kind).count();
        let missed = missed_changes.iter().filter(|(p, _)| p.kind == kind).count();
        println!("{kind:?}: {} of {all} planted lines named first", all - missed);
        assert!(all >= 30, "{kind:?} is hardly tried");
    }
    let right = results.len() - missed_changes.len();
    println!("{right} of {} planted lines named first", results.len());
    assert_eq!(results.len() as u64, PROGRAMS);
    assert!(right * 100 >= results.len() * 95, "{} planted lines missed", missed_changes.len());
}

/// A line's instructions on one line of text.
fn words(code: &str) -> String {
    if code.is_empty() { "nothing".into() } else { code.replace('\n', " ") }
}

/// What a comparison of the original with the changed kernel names first.
fn named(planted: &Planted) -> Answer {
    let names = ["a".to_owned(), "b".to_owned()];
    let options = CompareOptions { device: device(), ..CompareOptions::default() };
    let found = compare_launch_files(&planted.jobs, names, &options, &Monitor::new(&|_| (), &|| false))
        .unwrap_or_else(|e| panic!("program {}: {e:#}", planted.program));
    let mut json = Vec::new();
    prlx_present::json(&mut json, &found.report, prlx_present::Sides::default()).expect("a report is JSON");
    of_comparison(&serde_json::from_slice::<Value>(&json).expect("JSON"))
}

fn device() -> DeviceOptions {
    DeviceOptions { device: DeviceChoice::Cpu, ..DeviceOptions::default() }
}

/// Plants a change that changes the outputs. A kernel of which no change does is replaced by another.
fn plant(program: u64) -> Planted {
    let kind = KINDS[(program % KINDS.len() as u64) as usize];
    let seeds: &[u64] = if kind == Kind::Barrier { &HOSTILE } else { &[0] };
    for attempt in 0.. {
        let mut random = Random(program * 1000 + attempt);
        let lines = Kernel::random(random.next());
        let all = lines.iter().enumerate().flat_map(|(i, l)| l.variants.iter().map(move |v| (i, v)));
        let meant: Vec<(usize, &Variant)> = all.filter(|(_, v)| v.0 == kind).collect();
        for _ in 0..if meant.is_empty() { 0 } else { DRAWS } {
            let (line, variant) = random.of(&meant);
            if let Some(planted) = seeds.iter().find_map(|s| change(program, &lines, line, variant, *s)) {
                return planted;
            }
        }
    }
    unreachable!("attempts do not end")
}

/// Plants one change, if it changes the outputs.
fn change(program: u64, lines: &[Line], line: usize, variant: &Variant, seed: u64) -> Option<Planted> {
    let mut changed = lines.to_vec();
    changed[line].code.clone_from(&variant.1);
    let jobs = [job(lines, seed), job(&changed, seed)];
    let [a, b] = jobs.each_ref().map(outputs);
    let mut accepted: Vec<usize> = lines[line].orders.iter().map(|l| l + 1).collect();
    accepted.push(line + 1);
    let (was, is) = (lines[line].code.clone(), changed[line].code.clone());
    (a != b).then_some(Planted { program, kind: variant.0, line, was, is, accepted, jobs })
}

/// The bytes that a launch leaves.
fn outputs(job: &Job) -> Vec<Vec<u8>> {
    let mut device = Device::open(&device()).expect("the CPU device");
    let run = prlx_driver::run::run(device.driver(), job).unwrap_or_else(|e| panic!("{e}"));
    run.outputs.into_iter().map(|o| o.bytes).collect()
}

fn job(lines: &[Line], seed: u64) -> Job {
    let launch = format!(
        "module = \"k.ptx\"\nkernel = \"k\"\ngrid = 2\nblock = 64\nseed = {seed}\n\
         [[arg]]\nname = \"a\"\ntype = \"f32\"\nrandom = [-2, 2]\nlen = 512\n\
         [[arg]]\nname = \"b\"\ntype = \"s32\"\nrandom = [0, 99]\nlen = 512\n\
         [[arg]]\nname = \"x\"\ntype = \"f32\"\nfill = 0\nlen = 1024\nout = true\n\
         [[arg]]\nname = \"y\"\ntype = \"s32\"\nfill = 0\nlen = 1024\nout = true\n"
    );
    let text = module(lines);
    Job::parse("k.toml", &launch, &|_| Ok(text.clone().into_bytes()))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn module(lines: &[Line]) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n\
                    .param .u64 k_a,\n.param .u64 k_b,\n.param .u64 k_x,\n.param .u64 k_y\n)\n{\n\
                    .reg .pred %p<2>;\n.reg .b32 %r<5>;\n.reg .f32 %f<5>;\n.reg .b32 %t<4>;\n.reg .f32 %u;\n\
                    .reg .b32 %me;\n.reg .b32 %gid;\n.reg .b32 %j;\n.reg .b64 %q<2>;\n\
                    .reg .b64 %a;\n.reg .b64 %b;\n.reg .b64 %x;\n.reg .b64 %y;\n\
                    .shared .align 4 .b8 tile[256];\n"
        .to_owned();
    for (i, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "\t.loc 1 {} 0\n{}", i + 1, line.code);
    }
    text + "\tret;\n}\n.file 1 \"k.cu\"\n"
}

impl Kernel {
    /// The lines of a random kernel.
    fn random(seed: u64) -> Vec<Line> {
        let mut k = Kernel { random: Random(seed), lines: Vec::new(), labels: 0, open: None };
        for name in ["a", "b", "x", "y"] {
            k.line(format!("ld.param.u64 %{name}, [k_{name}];\ncvta.to.global.u64 %{name}, %{name};"), &[]);
        }
        k.line("mov.u32 %me, %tid.x;\nmov.u32 %t0, %ctaid.x;\nmad.lo.s32 %gid, %t0, 64, %me;".into(), &[]);
        for i in 0..LIVE {
            k.load(&format!("%f{i}"), "");
            k.load(&format!("%r{i}"), "");
        }
        for _ in 0..8 + k.random.below(9) {
            k.statement();
        }
        for i in 0..LIVE {
            k.store("x", &format!("%f{i}"), "f32", i);
            k.store("y", &format!("%r{i}"), "u32", i);
        }
        k.lines
    }

    fn line(&mut self, code: String, variants: &[Variant]) {
        let variants = variants.iter().filter(|v| v.1 != code).cloned().collect();
        self.lines.push(Line { code, variants, orders: Vec::new() });
    }

    fn float(&mut self) -> String {
        format!("%f{}", self.random.below(LIVE))
    }

    fn int(&mut self) -> String {
        format!("%r{}", self.random.below(LIVE))
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn statement(&mut self) {
        match self.random.below(12) {
            0 | 1 => self.float_op(),
            2 | 3 => self.int_op(),
            4 => self.fused(),
            5 => self.select(),
            6 => self.masked_load(),
            7 => self.sum(),
            8 | 9 => self.exchange(),
            10 => self.shuffle(),
            _ => {
                if self.random.below(2) == 0 {
                    self.convert();
                } else {
                    self.branch();
                }
            }
        }
    }

    /// Loads an element of `a` or `b`: `index * stride + offset`, in a line that begins with `before`.
    fn load(&mut self, to: &str, before: &str) {
        let (stride, offset) = (1 + self.random.below(3), self.random.below(40));
        let line = |stride: u64, offset: u64| format!("{before}{}", loaded(to, "%gid", stride, offset, ""));
        let variants = [line(stride + 1, offset), line(stride, offset + 1)].map(|v| (Kind::Index, v));
        self.line(line(stride, offset), &variants);
    }

    fn store(&mut self, array: &str, value: &str, ty: &str, slot: u64) {
        let line = |slot: u64| {
            format!(
                "mad.lo.s32 %t0, %gid, 8, {slot};\nmul.wide.u32 %q0, %t0, 4;\nadd.s64 %q1, %{array}, %q0;\n\
                 st.global.{ty} [%q1], {value};"
            )
        };
        self.line(line(slot), &[(Kind::Index, line(slot + LIVE))]);
    }

    fn float_op(&mut self) {
        let to = self.float();
        let other = self.float();
        let constant = self.random.of(&[1.5f32, 0.75, -0.5, 2.25, 0.1]);
        let hex = |c: f32| format!("0f{:08X}", c.to_bits());
        let op = self.random.of(&["add", "sub", "mul", "min", "max"]);
        let with = |op: &str, by: &str| format!("{op}.f32 {to}, {to}, {by};");
        let another = match op {
            "add" => "sub",
            "sub" | "mul" => "add",
            "min" => "max",
            _ => "min",
        };
        let (line, variants) = if self.random.below(2) == 0 {
            (with(op, &other), vec![(Kind::Operator, with(another, &other))])
        } else {
            (
                with(op, &hex(constant)),
                vec![
                    (Kind::Operator, with(another, &hex(constant))),
                    (Kind::Constant, with(op, &hex(constant + 0.125))),
                ],
            )
        };
        self.line(line, &variants);
    }

    fn int_op(&mut self) {
        let (to, other) = (self.int(), self.int());
        let constant = 2 + self.random.below(30);
        let (op, another) = self.random.of(&[
            ("add.s32", "sub.s32"),
            ("sub.s32", "add.s32"),
            ("xor.b32", "or.b32"),
            ("and.b32", "xor.b32"),
            ("or.b32", "and.b32"),
            ("min.s32", "max.s32"),
            ("max.s32", "min.s32"),
            ("mul.lo.s32", "add.s32"),
        ]);
        let with = |op: &str, by: &str| format!("{op} {to}, {to}, {by};");
        if self.random.below(2) == 0 {
            self.line(with(op, &other), &[(Kind::Operator, with(another, &other))]);
        } else {
            let (c, d) = (constant.to_string(), (constant + 1).to_string());
            self.line(with(op, &c), &[(Kind::Operator, with(another, &c)), (Kind::Constant, with(op, &d))]);
        }
    }

    fn fused(&mut self) {
        let (to, a, b) = (self.float(), self.float(), self.float());
        let line = format!("fma.rn.f32 {to}, {a}, {b}, {to};");
        let apart = format!("mul.rn.f32 %u, {a}, {b};\nadd.rn.f32 {to}, %u, {to};");
        let less = format!("neg.f32 %u, {a};\nfma.rn.f32 {to}, %u, {b}, {to};");
        self.line(line, &[(Kind::Operator, apart), (Kind::Operator, less)]);
    }

    /// A bound on the low bits of an integer, as the beginning of a line and its variants.
    fn bound(&mut self) -> (String, [String; 2]) {
        let (of, bound) = (self.int(), 8 + self.random.below(48));
        let with =
            |op: &str, bound: u64| format!("and.b32 %t0, {of}, 63;\nsetp.{op}.s32 %p0, %t0, {bound};\n");
        (with("lt", bound), [with("le", bound), with("lt", bound + 5)])
    }

    fn select(&mut self) {
        let (line, variants) = self.bound();
        let (to, a, b) = (self.float(), self.float(), self.float());
        let (ito, ia, ib) = (self.int(), self.int(), self.int());
        let then = if self.random.below(2) == 0 {
            format!("selp.f32 {to}, {a}, {b}, %p0;")
        } else {
            format!("selp.b32 {ito}, {ia}, {ib}, %p0;")
        };
        self.line(line + &then, &variants.map(|v| (Kind::Guard, v + &then)));
    }

    fn masked_load(&mut self) {
        let (bound, stride, offset) =
            (40 + self.random.below(80), 1 + self.random.below(3), self.random.below(9));
        let line = |op: &str, bound: u64, offset: u64, other: f32| {
            format!(
                "setp.{op}.u32 %p0, %gid, {bound};\nmov.f32 %f4, 0f{:08X};\n{}",
                other.to_bits(),
                loaded("%f4", "%gid", stride, offset, "@%p0 ")
            )
        };
        let variants = [
            (Kind::Guard, line("le", bound, offset, 0.0)),
            (Kind::Guard, line("lt", bound + 3, offset, 0.0)),
            (Kind::Index, line("lt", bound, offset + 1, 0.0)),
            (Kind::Constant, line("lt", bound, offset, 0.5)),
        ];
        self.line(line("lt", bound, offset, 0.0), &variants);
        self.add_f4();
    }

    /// Adds `%f4`, the result of the line before, to a live register.
    fn add_f4(&mut self) {
        let to = self.float();
        self.line(
            format!("add.f32 {to}, {to}, %f4;"),
            &[(Kind::Operator, format!("sub.f32 {to}, {to}, %f4;"))],
        );
    }

    /// A loop that adds elements.
    fn sum(&mut self) {
        let (head, trips, stride) = (self.label(), 2 + self.random.below(4), 1 + self.random.below(3));
        let first = |j: u64| format!("mov.u32 %j, {j};");
        self.line(first(0), &[(Kind::Constant, first(1))]);
        let add = |by: u64| {
            format!("{head}:\nmad.lo.s32 %t1, %j, {by}, %gid;\n{}", loaded("%f4", "%t1", stride, 0, ""))
        };
        self.line(add(8), &[9, 16].map(|by| (Kind::Index, add(by))));
        self.add_f4();
        let back =
            |op: &str, n: u64| format!("add.u32 %j, %j, 1;\nsetp.{op}.u32 %p0, %j, {n};\n@%p0 bra {head};");
        self.line(
            back("lt", trips),
            &[(Kind::Guard, back("le", trips)), (Kind::Guard, back("lt", trips + 2))],
        );
    }

    /// A line executed by some threads only.
    fn branch(&mut self) {
        let (skip, (line, variants)) = (self.label(), self.bound());
        let then = format!("@!%p0 bra {skip};");
        self.line(line + &then, &variants.map(|v| (Kind::Guard, v + &then)));
        self.float_op();
        if let Some(last) = self.lines.last_mut() {
            let end = format!("\n{skip}:");
            last.code += &end;
            last.variants.iter_mut().for_each(|v| v.1 += &end);
        }
    }

    /// Every thread reads what another wrote to shared memory.
    fn exchange(&mut self) {
        let (from, by) = (self.float(), 1 + self.random.below(40));
        let address = |by: u64| {
            format!(
                "add.s32 %t0, %me, {by};\nand.b32 %t0, %t0, 63;\nshl.b32 %t0, %t0, 2;\nmov.u32 %t1, tile;\n\
                 add.s32 %t0, %t0, %t1;\n"
            )
        };
        let write = |by: u64| format!("{}st.shared.f32 [%t0], {from};", address(by));
        let written = self.lines.len();
        if let Some(barrier) = self.open.take() {
            self.lines[barrier].orders.push(written);
            self.lines[barrier].variants.push((Kind::Barrier, String::new()));
        }
        self.line(write(0), &[1, 5].map(|by| (Kind::Index, write(by))));
        self.line("bar.sync 0;".into(), &[(Kind::Barrier, String::new())]);
        let read = |by: u64| format!("{}ld.shared.f32 %f4, [%t0];", address(by));
        self.line(read(by), &[1, 7].map(|more| (Kind::Index, read(by + more))));
        self.add_f4();
        self.lines[written + 1].orders = vec![written, written + 2];
        self.line("bar.sync 0;".into(), &[]);
        let last = self.lines.len() - 1;
        self.lines[last].orders = vec![written + 2];
        self.open = Some(last);
    }

    fn shuffle(&mut self) {
        let (from, way) = (self.float(), self.random.of(&["bfly", "down", "up", "idx"]));
        let by = self.random.of(&[1, 2, 4, 8]);
        let clamp = if way == "up" { 0 } else { 31 };
        let line = |by: u32| {
            format!(
                "mov.b32 %t0, {from};\nshfl.sync.{way}.b32 %t1, %t0, {by}, {clamp}, -1;\nmov.b32 %f4, %t1;"
            )
        };
        self.line(line(by), &[by + 1, by * 2].map(|by| (Kind::Constant, line(by))));
        self.add_f4();
    }

    fn convert(&mut self) {
        let (f, r) = (self.float(), self.int());
        let line = |scale: f32| {
            if f.ends_with(['0', '2']) {
                let scale = scale.to_bits();
                format!(
                    "and.b32 %t0, {r}, 255;\ncvt.rn.f32.s32 %u, %t0;\nfma.rn.f32 {f}, %u, 0f{scale:08X}, {f};"
                )
            } else {
                let scale = (scale * 1000.0).to_bits();
                format!("mul.f32 %u, {f}, 0f{scale:08X};\ncvt.rzi.s32.f32 %t0, %u;\nxor.b32 {r}, {r}, %t0;")
            }
        };
        self.line(line(0.01), &[0.011, 0.02].map(|scale| (Kind::Constant, line(scale))));
    }
}

/// Loads `(index * stride + offset) mod 512` of `a` or `b`, which the register's type chooses.
fn loaded(to: &str, index: &str, stride: u64, offset: u64, guard: &str) -> String {
    let (array, ty) = if to.starts_with("%f") { ("a", "f32") } else { ("b", "u32") };
    format!(
        "mad.lo.s32 %t0, {index}, {stride}, {offset};\nand.b32 %t0, %t0, 511;\nmul.wide.u32 %q0, %t0, 4;\n\
         add.s64 %q1, %{array}, %q0;\n{guard}ld.global.{ty} {to}, [%q1];"
    )
}
