//! Generates small valid kernels from bytes, and runs the master test's comparison on them.
//!
//! # Invariants
//! - Any bytes give a kernel that reads without complaint, ends after a bounded number of steps and has no
//!   race. Every schedule must therefore give the same lanes.
//! - The same bytes give the same kernel. When the bytes run out, blocks end.
//!
//! # Limitations
//! - Kernels have no floating-point operations, no shared memory, no guarded calls, no loops with two
//!   entries, and no code that waits for other lanes.

use std::fmt::Write;

use prlx_driver::Job;
use prlx_plan::Plan;
use prlx_trace::Level;

use crate::lane_runs::{observe, program, record, same};

/// Number of data registers, all of 32 bits.
const DATA: u8 = 8;
/// Number of predicate registers.
const PREDICATES: u8 = 6;
/// Loops and branches nest no deeper.
const DEPTH: usize = 3;
/// Statements of a function, at most.
const STATEMENTS: u32 = 48;

/// Generates a kernel, and compares hooks with rewritten code at levels `path` and `print`, under a schedule
/// that the bytes choose.
pub fn check(data: &[u8]) -> Result<(), String> {
    let mut job = job(data)?;
    let (_, complaints) = prlx_isa::ptx::read(&job.text);
    if !complaints.is_empty() {
        return Err(format!("the generator's fault: {complaints:?}\n{}", job.text));
    }
    let hostile = job.config.seed;
    for level in [Level::Path, Level::Fingerprint] {
        let say = |what: &dyn std::fmt::Display| format!("{} under seed {hostile}: {what}", level.name());
        let rewrite =
            prlx_instrument::rewrite(&job.text, &job.module, &program(level, true, &job), &|_| None)
                .map_err(|e| say(&e))?;
        let (view, _) = prlx_isa::ptx::read(&job.text);
        let plan =
            Plan::resolve(&program(level, level == Level::Fingerprint, &job), &view, &job.module, &|_| None);
        job.config.seed = 0;
        let hooks = observe(&job, &plan).map_err(|e| say(&e))?;
        job.config.seed = hostile;
        let code = record(&job, &rewrite.text, &rewrite.plan).map_err(|e| say(&e))?;
        if code.damaged || code.wrong > 0 {
            return Err(say(&"damaged streams"));
        }
        same(level, &hooks, &code).map_err(|e| say(&e))?;
    }
    Ok(())
}

/// The launch that bytes stand for.
pub fn job(data: &[u8]) -> Result<Job, String> {
    let mut bytes = Bytes { data, at: 0 };
    let seed = u64::from(bytes.next()) + 1;
    let block = [32, 64, 40, 7][usize::from(bytes.next() % 4)];
    let mut value = u32::from(bytes.next());
    let table: Vec<String> = (0..64)
        .map(|_| {
            value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Small numbers and large ones, so that comparisons go both ways.
            (value >> if value & 0x4000 == 0 { 28 } else { 4 }).to_string()
        })
        .collect();
    let text = module(&mut bytes);
    let launch = format!(
        "module = \"k.ptx\"\nkernel = \"k\"\ngrid = 2\nblock = {block}\nseed = {seed}\n\
         [[arg]]\nname = \"in\"\ntype = \"u32\"\narray = [{}]\n\
         [[arg]]\nname = \"out\"\ntype = \"u32\"\nfill = 0\nlen = 128\nout = true\n\
         [[arg]]\nname = \"n\"\nvalue = 5\n",
        table.join(", ")
    );
    Job::parse("generated.toml", &launch, &|_| Ok(text.clone().into_bytes()))
        .map_err(|e| format!("{e}\n{text}"))
}

/// A module: a device function `f`, and a kernel `k` that may call it.
fn module(bytes: &mut Bytes<'_>) -> String {
    let registers = format!(
        "\t.reg .pred %p<{PREDICATES}>;\n\t.reg .pred %t<2>;\n\t.reg .b32 %r<{DATA}>;\n\t.reg .b32 %c<{DEPTH}>;\n\
         \t.reg .b32 %b<{DEPTH}>;\n\t.reg .b32 %a;\n\t.reg .b32 %gid;\n\t.reg .b64 %in;\n\t.reg .b64 %out;\n\
         \t.reg .b64 %at;\n"
    );
    let global = "\tld.param.u64 %in, [P_in];\n\tcvta.to.global.u64 %in, %in;\n\
                  \tld.param.u64 %out, [P_out];\n\tcvta.to.global.u64 %out, %out;\n";
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n\n".to_owned();

    let mut f = Function { bytes, text: String::new(), labels: 0, left: STATEMENTS / 4, device: true };
    f.block(1, None);
    let body = std::mem::take(&mut f.text);
    let _ = write!(
        text,
        ".func (.param .b32 f_result) f(.param .b32 f_x, .param .b64 f_in, .param .b64 f_out)\n{{\n{registers}\
         \tld.param.b32 %r0, [f_x];\n\tld.param.b64 %in, [f_in];\n\tld.param.b64 %out, [f_out];\n\
         \tmov.u32 %gid, %tid.x;\n{}{body}$f_end:\n\tst.param.b32 [f_result], %r0;\n\tret;\n}}\n\n",
        init(&[1, 2, 3, 4, 5, 6, 7])
    );

    let mut k = Function { bytes: f.bytes, text: String::new(), labels: 0, left: STATEMENTS, device: false };
    k.block(0, None);
    let body = k.text;
    let _ = write!(
        text,
        ".visible .entry k(\n\t.param .u64 k_in,\n\t.param .u64 k_out,\n\t.param .u32 k_n\n)\n{{\n{registers}{}\
         \tld.param.u32 %r2, [k_n];\n\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %ntid.x;\n\
         \tmov.u32 %r5, %tid.x;\n\
         \tmad.lo.s32 %gid, %r3, %r4, %r5;\n\tmul.wide.u32 %at, %gid, 4;\n\tadd.s64 %out, %out, %at;\n\
         \tand.b32 %r0, %gid, 63;\n\tmul.wide.u32 %at, %r0, 4;\n\tadd.s64 %at, %in, %at;\n\
         \tld.global.u32 %r0, [%at];\n\
         {}{body}$k_end:\n\tst.global.u32 [%out], %r0;\n\tret;\n}}\n",
        global.replace("P_", "k_"),
        init(&[1, 6, 7])
    );
    text
}

/// Gives what is not set yet a value: nothing may depend on what a register held before. `of` names the
/// registers.
fn init(of: &[u8]) -> String {
    let mut text = String::new();
    for i in of {
        let _ = writeln!(text, "\tadd.s32 %r{i}, %r0, {i};");
    }
    for i in 0..PREDICATES {
        let _ = writeln!(text, "\tsetp.gt.u32 %p{i}, %r0, {};", 1 << i);
    }
    text
}

struct Bytes<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let byte = self.data.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    fn over(&self) -> bool {
        self.at >= self.data.len()
    }
}

/// A function's body in the making.
struct Function<'a, 'b> {
    bytes: &'b mut Bytes<'a>,
    text: String,
    labels: u32,
    /// Statements that may still come.
    left: u32,
    device: bool,
}

impl Function<'_, '_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "\t{text}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("${}_{}", if self.device { "f" } else { "k" }, self.labels)
    }

    fn place(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    fn reg(&mut self) -> String {
        format!("%r{}", self.bytes.next() % DATA)
    }

    fn pred(&mut self) -> String {
        format!("%p{}", self.bytes.next() % PREDICATES)
    }

    fn operand(&mut self) -> String {
        match self.bytes.next() {
            b if b < 96 => (b % 16).to_string(),
            b => format!("%r{}", b % DATA),
        }
    }

    fn condition(&mut self) -> String {
        let b = self.bytes.next();
        format!("@{}%p{}", if b & 0x80 == 0 { "" } else { "!" }, b % PREDICATES)
    }

    /// A guard for one instruction in four.
    fn guard(&mut self) -> String {
        if self.bytes.next() % 4 == 1 { self.condition() + " " } else { String::new() }
    }

    /// Statements; `exit` is where a `break` goes.
    fn block(&mut self, depth: usize, exit: Option<&str>) {
        for _ in 0..self.bytes.next() % 8 + 1 {
            if self.left == 0 || self.bytes.over() {
                return;
            }
            self.left -= 1;
            self.statement(depth, exit);
        }
    }

    fn statement(&mut self, depth: usize, exit: Option<&str>) {
        let nests = depth < DEPTH;
        match self.bytes.next() % 24 {
            0..4 => self.arithmetic(),
            4..7 => self.compare(),
            7 | 8 => self.select(),
            9 | 10 => self.load(),
            11 => {
                let (guard, value) = (self.guard(), self.reg());
                // The device function has no slot of its own: its caller's, which is as good.
                self.line(&format!("{guard}st.global.u32 [%out], {value};"));
            }
            12..15 if nests => self.branch(depth, exit),
            15..18 if nests => self.repeat(depth),
            18 if nests => self.switch(depth, exit),
            19 => {
                let condition = self.condition();
                let end = if self.device { "$f_end" } else { "$k_end" };
                match self.bytes.next() % 4 {
                    0 => self.line(&format!("{condition} exit;")),
                    1 if !self.device => self.line(&format!("{condition} ret;")),
                    _ => self.line(&format!("{condition} bra {end};")),
                }
            }
            20 | 21 => match exit {
                Some(label) => {
                    let condition = self.condition();
                    self.line(&format!("{condition} bra {label};"));
                }
                None => self.compare(),
            },
            22 if !self.device => self.call(),
            _ => self.arithmetic(),
        }
    }

    fn arithmetic(&mut self) {
        const OPS: [&str; 10] = [
            "add.s32",
            "sub.s32",
            "xor.b32",
            "and.b32",
            "or.b32",
            "mul.lo.s32",
            "min.s32",
            "max.u32",
            "shr.u32",
            "shl.b32",
        ];
        let op = OPS[usize::from(self.bytes.next()) % OPS.len()];
        let (guard, to, a, b) = (self.guard(), self.reg(), self.reg(), self.operand());
        self.line(&format!("{guard}{op} {to}, {a}, {b};"));
    }

    fn compare(&mut self) {
        const TESTS: [&str; 6] = ["lt", "le", "gt", "ge", "eq", "ne"];
        let b = self.bytes.next();
        let test = TESTS[usize::from(b) % TESTS.len()];
        let ty = if b & 0x80 == 0 { "s32" } else { "u32" };
        let (guard, to) = (self.guard(), self.pred());
        match self.bytes.next() % 8 {
            0 => {
                let (a, b) = (self.pred(), self.pred());
                self.line(&format!("{guard}and.pred {to}, {a}, {b};"));
            }
            1 => {
                let (a, b) = (self.pred(), self.pred());
                self.line(&format!("{guard}xor.pred {to}, {a}, {b};"));
            }
            2 => {
                let a = self.pred();
                self.line(&format!("{guard}not.pred {to}, {a};"));
            }
            3 => {
                let (a, b, c) = (self.reg(), self.operand(), self.pred());
                self.line(&format!("{guard}setp.{test}.or.{ty} {to}, {a}, {b}, {c};"));
            }
            4 => {
                let (a, b) = (self.reg(), self.operand());
                let other = format!("%p{}", (to.as_bytes()[2] - b'0' + 1) % PREDICATES);
                self.line(&format!("{guard}setp.{test}.{ty} {to}|{other}, {a}, {b};"));
            }
            _ => {
                let (a, b) = (self.reg(), self.operand());
                self.line(&format!("{guard}setp.{test}.{ty} {to}, {a}, {b};"));
            }
        }
    }

    fn select(&mut self) {
        let (guard, to, a, b, p) = (self.guard(), self.reg(), self.reg(), self.operand(), self.pred());
        self.line(&format!("{guard}selp.b32 {to}, {a}, {b}, {p};"));
    }

    fn load(&mut self) {
        let (guard, to, index) = (self.guard(), self.reg(), self.reg());
        self.line(&format!("and.b32 %a, {index}, 63;"));
        self.line("mul.wide.u32 %at, %a, 4;");
        self.line("add.s64 %at, %in, %at;");
        self.line(&format!("{guard}ld.global.u32 {to}, [%at];"));
    }

    fn branch(&mut self, depth: usize, exit: Option<&str>) {
        let (condition, other, end) = (self.condition(), self.label(), self.label());
        let both = self.bytes.next().is_multiple_of(2);
        self.line(&format!("{condition} bra {other};"));
        self.block(depth + 1, exit);
        if both {
            self.line(&format!("bra.uni {end};"));
        }
        self.place(&other);
        if both {
            self.block(depth + 1, exit);
            self.place(&end);
        }
    }

    /// A loop with a bound of its own: few trips inside others, up to 63 outside, which fill words.
    fn repeat(&mut self, depth: usize) {
        let (head, end) = (self.label(), self.label());
        let kind = self.bytes.next();
        let most = if depth == 0 { [3, 63][usize::from(kind >> 7)] } else { 3 };
        let from = self.reg();
        match kind % 4 {
            0 => self.line(&format!("mov.u32 %b{depth}, {};", 1 + kind % 3)),
            _ => self.line(&format!("and.b32 %b{depth}, {from}, {most};")),
        }
        self.line(&format!("mov.u32 %c{depth}, 0;"));
        self.place(&head);
        if kind & 0x40 == 0 {
            // Tested at the foot.
            self.block(depth + 1, Some(&end));
            self.line(&format!("add.s32 %c{depth}, %c{depth}, 1;"));
            self.line(&format!("setp.lt.u32 %t0, %c{depth}, %b{depth};"));
            self.line(&format!("@%t0 bra {head};"));
        } else {
            self.line(&format!("setp.ge.u32 %t1, %c{depth}, %b{depth};"));
            self.line(&format!("@%t1 bra {end};"));
            self.block(depth + 1, Some(&end));
            self.line(&format!("add.s32 %c{depth}, %c{depth}, 1;"));
            self.line(&format!("bra {head};"));
        }
        self.place(&end);
    }

    fn switch(&mut self, depth: usize, exit: Option<&str>) {
        let (table, end) = (self.label(), self.label());
        let cases: Vec<String> = (0..4).map(|_| self.label()).collect();
        let index = self.reg();
        self.line(&format!("and.b32 %a, {index}, 3;"));
        let _ = writeln!(self.text, "{table}: .branchtargets {};", cases.join(", "));
        self.line(&format!("brx.idx %a, {table};"));
        for case in &cases {
            self.place(case);
            self.block(depth + 1, exit);
            if self.bytes.next().is_multiple_of(2) {
                self.line(&format!("bra.uni {end};"));
            }
        }
        self.place(&end);
    }

    fn call(&mut self) {
        let (argument, result) = (self.reg(), self.reg());
        self.line("{");
        self.line(".param .b32 x;\n\t.param .b64 in;\n\t.param .b64 out;\n\t.param .b32 result;");
        self.line(&format!(
            "st.param.b32 [x], {argument};\n\tst.param.b64 [in], %in;\n\tst.param.b64 [out], %out;"
        ));
        self.line("call.uni (result), f, (x, in, out);");
        self.line(&format!("ld.param.b32 {result}, [result];\n\t}}"));
    }
}
