//! Planted faults: the oracles of the master test must notice a wrong instrumenter and a wrong CPU device.
//!
//! There are two tables. *Instrumenter*: the rewritten text is changed as if the lowering had the fault. The
//! verifier is not asked. The result runs against hooks under the master test's seeds. *Device*: the original
//! text is changed as if the device executed another operation, and runs against the kernel's NumPy
//! reference.
//!
//! # Invariants
//! - Every change applies exactly as often as its row says.
//! - The unchanged text passes the same oracle.
//! - A fault that another oracle notices, not the one in its row, fails too.
//!
//! # Limitations
//! - Faults of the hooks are not planted, nor faults that only the verifier can notice
//!   (`crates/instrument/tests/it/faults.rs`).

use crate::lane_runs::{emulator, observe, program, record, record_in, same};
use libtest_mimic::{Failed, Trial};
use prlx_driver::Job;
use prlx_plan::Plan;
use prlx_trace::{Level, WarpSize};

/// Seed 0 is the fair schedule; the others split warps and interleave as they please.
const SEEDS: &[u64] = &[0, 1, 7];

/// Bytes for streams so few that some warps must fetch their first chunk, if that is all that they need.
const FEW: u64 = 12 << 10;

/// What notices a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Oracle {
    /// Lanes' streams are not those of the hooks.
    Streams,
    /// The host finds bytes in the pool that no recorder writes.
    Damage,
    /// The launch itself fails, or does not fit its pool.
    Fault,
}

/// Name, kernel, level, changes (text, replacement, how often), and what notices.
type InCode = (&'static str, &'static str, Level, &'static [(&'static str, &'static str, usize)], Oracle);

#[rustfmt::skip]
const INSTRUMENTER: &[InCode] = &[
    ("decision inverted", "cuda/spmv_csr", Level::Path,
        &[("@%p5 or.b32 %prlx_word", "@!%p5 or.b32 %prlx_word", 1)], Oracle::Streams),
    ("decision before its predicate", "cuda/spmv_csr", Level::Path,
        &[("setp.lt.u32 \t%p5, %r21, 3;\n\tshl.b32 %prlx_word, %prlx_word, 1;\n\t@%p5 or.b32 %prlx_word, %prlx_word, 1;",
           "shl.b32 %prlx_word, %prlx_word, 1;\n\t@%p5 or.b32 %prlx_word, %prlx_word, 1;\n\tsetp.lt.u32 \t%p5, %r21, 3;", 1)],
        Oracle::Streams),
    ("decision forgotten", "cuda/spmv_csr", Level::Path,
        &[("shl.b32 %prlx_word, %prlx_word, 1;\n\t@%p5 or.b32 %prlx_word, %prlx_word, 1;", "", 1)], Oracle::Streams),
    ("event without its guard", "triton/vector_add", Level::Events,
        &[("@!%p4 bra $prlx_skip", "// ", 1)], Oracle::Streams),
    ("room for fewer decisions than come", "cuda/state_machine", Level::Path,
        &[("%prlx_word, 4194304;", "%prlx_word, 2147483648;", 1)], Oracle::Streams),
    ("word not reset after its flush", "cuda/state_machine", Level::Path,
        &[("mov.u32 %prlx_word, 1;\n$prlx_room", "$prlx_room", 1)], Oracle::Streams),
    ("cursor two rows on", "cuda/state_machine", Level::Path,
        &[("add.u64 %prlx_cursor, %prlx_cursor, 128", "add.u64 %prlx_cursor, %prlx_cursor, 256", 1)], Oracle::Fault),
    ("one trip too many", "cuda/spmv_csr_vector", Level::Path,
        &[("@%p3 add.u32 %prlx_trip0", "add.u32 %prlx_trip0", 1)], Oracle::Streams),
    ("part of a value from the wrong bit", "cuda/loaded_loops", Level::Path,
        &[("shr.u64 %prlx_v, %prlx_v, 30;", "shr.u64 %prlx_v, %prlx_v, 31;", 1)], Oracle::Streams),
    ("part of a value forgotten", "cuda/loaded_loops", Level::Path,
        &[("shl.b32 %prlx_word, %prlx_word, 30;\n\tor.b32 %prlx_word, %prlx_word, %prlx_a;",
           "shl.b32 %prlx_word, %prlx_word, 30;", 2)], Oracle::Streams),
    ("value one too large", "cuda/switch_dense", Level::Path,
        &[("shl.b32 %prlx_word, %prlx_word, 3;", "add.u32 %prlx_a, %prlx_a, 1;\n\tshl.b32 %prlx_word, %prlx_word, 3;", 1)],
        Oracle::Streams),
    ("trips not reset", "cuda/loaded_loops", Level::Path,
        &[("shr.u32 %prlx_trip0, %prlx_trip0, 30;\n\tsetp.ne.u32 %prlx_r, %prlx_trip0, 0;",
           "setp.gt.u32 %prlx_r, %prlx_trip0, 1073741823;", 3),
          (":\n\tmov.u32 %prlx_trip0, 0;", ":", 3)], Oracle::Streams),
    ("last word not written", "cuda/spmv_csr", Level::Path,
        &[("%prlx_word, 1;\n\t@%prlx_q bra $prlx_last", "%prlx_word, 1;\n\tbra $prlx_last", 1)], Oracle::Streams),
    ("link published without compare-and-swap", "cuda/branch_table", Level::Path,
        &[("atom.global.cas.b64 %prlx_y, [%prlx_link], 0, %prlx_x;",
           "st.global.u64 [%prlx_link], %prlx_x;\n\tmov.u64 %prlx_y, 0;", 2)], Oracle::Streams),
    ("lane 0 leads events, there or not", "cuda/spmv_csr", Level::Events,
        &[("and.b32 %prlx_b, %prlx_b, %prlx_mask;\n\tsetp.eq.u32 %prlx_lead, %prlx_b, 0;",
           "mov.u32 %prlx_b, %laneid;\n\tsetp.eq.u32 %prlx_lead, %prlx_b, 0;", 6)],
        Oracle::Streams),
    ("lane 0 in every mask", "cuda/spmv_csr", Level::Events,
        &[("@%prlx_lead st.global.cg.v4.u32", "or.b32 %prlx_mask, %prlx_mask, 1;\n\t@%prlx_lead st.global.cg.v4.u32", 6)],
        Oracle::Streams),
    ("bits of another hash", "cuda/saxpy", Level::Values,
        &[("mul.lo.s32 %prlx_c, %prlx_c, -1640531535;", "mul.lo.s32 %prlx_c, %prlx_c, -1640531537;", 1)],
        Oracle::Streams),
    ("bits of a value that is not stored", "triton/vector_add", Level::Values,
        &[("@%p4 shf.l.wrap.b32 %prlx_word", "shf.l.wrap.b32 %prlx_word", 1)], Oracle::Streams),
    ("value folded twice", "cuda/saxpy", Level::Fingerprint,
        &[("mad.lo.s32 %prlx_hash2, %prlx_hash2, -1640531535, %prlx_a;",
           "mad.lo.s32 %prlx_hash2, %prlx_hash2, -1640531535, %prlx_a;\n\
            \tshf.l.wrap.b32 %prlx_hash2, %prlx_hash2, %prlx_hash2, 7;\n\
            \tmad.lo.s32 %prlx_hash2, %prlx_hash2, -1640531535, %prlx_a;", 1)], Oracle::Streams),
    ("value not rotated", "cuda/saxpy", Level::Fingerprint,
        &[("shf.l.wrap.b32 %prlx_hash2, %prlx_hash2, %prlx_hash2, 7;", "", 1)], Oracle::Streams),
    ("back edges counted by twos", "cuda/state_machine", Level::Fingerprint,
        &[("add.u32 %prlx_edges, %prlx_edges, 1;", "add.u32 %prlx_edges, %prlx_edges, 2;", 1)], Oracle::Streams),
    ("operands swapped", "cuda/early_exit", Level::Operands,
        &[("[%prlx_cursor+256], %prlx_v0", "[%prlx_cursor+256], %prlx_v1", 15),
          ("[%prlx_cursor+512], %prlx_v1", "[%prlx_cursor+512], %prlx_v0", 15)], Oracle::Streams),
    ("visits not counted", "cuda/early_exit", Level::Operands,
        &[("add.u32 %prlx_visit7, %prlx_visit7, 1;", "", 1)], Oracle::Streams),
    ("warps of all CTAs in one stream", "cuda/mandelbrot", Level::Path,
        &[("mad.lo.u32 %prlx_warp, %prlx_c, %prlx_b, %prlx_a;", "mov.u32 %prlx_warp, %prlx_a;", 4)], Oracle::Streams),
    ("callee's word not taken back", "cuda/noinline_call", Level::Path,
        &[("ld.local.u32 %prlx_word, [prlx_record+16];", "", 1)], Oracle::Streams),
];

/// Under which schedules the reference must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// All of them.
    Always,
    /// At least one hostile one: the fault is a race.
    Raced,
}

/// Name, kernel, changes (text, replacement, how often), when.
type InDevice = (&'static str, &'static str, &'static [(&'static str, &'static str, usize)], When);

#[rustfmt::skip]
const DEVICE: &[InDevice] = &[
    ("setp.lt as le", "cuda/mandelbrot", &[("setp.lt.s32 \t%p6", "setp.le.s32 \t%p6", 1)], When::Always),
    ("shr.s64 as shr.u64", "cuda/integer_division", &[("shr.s64", "shr.u64", 1)], When::Always),
    ("selp swapped", "cuda/scan_warp", &[("selp.f32 \t%f14, %f35, %f13", "selp.f32 \t%f14, %f13, %f35", 1)], When::Always),
    ("max as min", "cuda/collatz", &[("max.u32", "min.u32", 1)], When::Always),
    ("atom.min as atom.max", "cuda/reduce_atomic", &[("atom.global.min.s32", "atom.global.max.s32", 1)], When::Always),
    ("fma rounded twice", "cuda/rounding",
        &[("fma.rm.f32 \t%f11, %f4, %f5, %f4;", "mul.rm.f32 \t%f11, %f4, %f5;\n\tadd.rm.f32 \t%f11, %f11, %f4;", 1)],
        When::Always),
    ("add.rz as add.rn", "cuda/rounding", &[("add.rz.f32", "add.rn.f32", 1)], When::Always),
    ("cvt.rni as cvt.rzi", "cuda/rounding", &[("cvt.rni.s32.f32", "cvt.rzi.s32.f32", 1)], When::Always),
    ("shfl.down as up", "cuda/reduce_shfl", &[("shfl.sync.down.b32", "shfl.sync.up.b32", 10)], When::Always),
    ("bar.sync does nothing", "cuda/reduce_tree", &[("bar.sync \t0;", "", 2)], When::Raced),
    ("atom.add in two steps", "cuda/histogram_shared",
        &[("atom.shared.add.u32 \t%r19, [%r18], 1;",
           "ld.shared.u32 \t%r19, [%r18];\n\tadd.s32 \t%r19, %r19, 1;\n\tst.shared.u32 \t[%r18], %r19;", 1)],
        When::Raced),
];

/// One trial for each planted fault.
pub fn trials() -> Vec<Trial> {
    let code =
        INSTRUMENTER.iter().map(|row| Trial::test(format!("planted/code: {}", row.0), || in_code(row)));
    let device =
        DEVICE.iter().map(|row| Trial::test(format!("planted/device: {}", row.0), || in_device(row)));
    code.chain(device).collect()
}

fn load(kernel: &str) -> Result<Job, Failed> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kernels");
    Ok(Job::load(&std::path::Path::new(root).join(kernel).join("launch.toml"))?)
}

/// The text with the changes, each of which must apply as often as it says.
fn plant(text: &str, changes: &[(&str, &str, usize)]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (find, replace, times) in changes {
        let found = text.matches(find).count();
        if found == 0 || found != *times {
            return Err(format!("`{find}` is there {found} times, not {times}"));
        }
        text = text.replace(find, replace);
    }
    Ok(text)
}

fn in_code((_, kernel, level, changes, oracle): &InCode) -> Result<(), Failed> {
    let mut job = load(kernel)?;
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program(*level, true, &job), &|_| None)?;
    let (view, _) = prlx_isa::ptx::read(&job.text);
    let reference =
        Plan::resolve(&program(*level, *level == Level::Fingerprint, &job), &view, &job.module, &|_| None);
    let bad = plant(&rewrite.text, changes)?;
    if let Some((by, what)) = noticed(&mut job, *level, &reference, &rewrite.text, &rewrite.plan)? {
        return Err(format!("the unchanged text does not pass ({by:?}): {what}").into());
    }
    match noticed(&mut job, *level, &reference, &bad, &rewrite.plan)? {
        Some((by, _)) if by == *oracle => Ok(()),
        Some((by, what)) => Err(format!("noticed by {by:?}, not {oracle:?}: {what}").into()),
        None => Err("not noticed".into()),
    }
}

/// The first complaint about rewritten code, under any seed, and whose it is.
fn noticed(
    job: &mut Job,
    level: Level,
    reference: &Plan,
    text: &str,
    plan: &Plan,
) -> Result<Option<(Oracle, String)>, Failed> {
    for (&seed, pool) in SEEDS.iter().flat_map(|seed| [(seed, None), (seed, Some(FEW))]) {
        job.config.seed = seed;
        let hooks = observe(job, reference)?;
        let code = match pool.map_or_else(|| record(job, text, plan), |few| record_in(job, text, plan, few)) {
            Ok(code) if pool.is_none() || code.launch.totals.dropped == 0 => code,
            Err(e) if pool.is_none() => return Ok(Some((Oracle::Fault, format!("seed {seed}: {e}")))),
            // It needs more than that.
            _ => continue,
        };
        if code.damaged {
            return Ok(Some((Oracle::Damage, format!("seed {seed}: damaged streams"))));
        }
        if code.wrong > 0 {
            // No row plants one: recording must not reach the kernel's data, whatever its fault.
            return Err(format!("seed {seed}: {} buffers are not as expected", code.wrong).into());
        }
        if let Err(e) = same(level, &hooks, &code) {
            return Ok(Some((Oracle::Streams, format!("seed {seed}: {e}"))));
        }
    }
    Ok(None)
}

fn in_device((_, kernel, changes, when): &InDevice) -> Result<(), Failed> {
    let mut job = load(kernel)?;
    let bad = plant(&job.text, changes)?;
    for &seed in SEEDS {
        job.config.seed = seed;
        if rejected(&job)? {
            return Err(format!("the unchanged text does not pass under seed {seed}").into());
        }
    }
    job.text = bad;
    let mut by = Vec::new();
    for &seed in SEEDS {
        job.config.seed = seed;
        if rejected(&job)? {
            by.push(seed);
        }
    }
    match when {
        When::Always if by == SEEDS => Ok(()),
        When::Raced if by.iter().any(|&seed| seed != 0) => Ok(()),
        _ => Err(format!("the reference notices it under seeds {by:?} only").into()),
    }
}

/// Whether the reference finds fault with a run. A run that fails is an error: that is another oracle.
fn rejected(job: &Job) -> Result<bool, Failed> {
    let run = prlx_driver::run(&mut emulator(WarpSize::W32), job)?;
    let compared: Vec<_> = run.outputs.iter().filter_map(|o| o.expect.as_ref()).collect();
    if compared.is_empty() {
        return Err("the kernel has no reference".into());
    }
    Ok(compared.iter().any(|c| c.wrong > 0))
}
