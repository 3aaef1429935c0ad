//! Instruments a PTX file at level `operands`: `operands IN OUT`.
//!
//! The level records a window of sites, which `prlx compare` chooses around a finding. This program chooses
//! sites at equal distances in the module, eight for each kernel. It writes OUT, and prints what
//! `prlx instrument` prints of each function. `cargo xtask libraries` calls it.

use std::process::ExitCode;

use prlx_isa::view::FunctionKind;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::SiteId;
use prlx_trace::kernel::Level;
use prlx_trace::launch::Window;

/// Sites for each kernel.
const SITES: usize = 8;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = args.as_slice() else {
        eprintln!("usage: operands IN OUT");
        return ExitCode::from(2);
    };
    match instrument(input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn instrument(input: &str, output: &str) -> Result<(), Box<dyn std::error::Error>> {
    let source = std::fs::read_to_string(input)?;
    let mut program = RecordingRequest::new(Level::Operands);
    program.window = Some(Window { sites: sites(&source), warps: (0, 1), visits: (0, 1) });
    let rewrite = prlx_instrument::rewrite(&source, input, &program, &|_| None)?;
    std::fs::write(output, &rewrite.text)?;
    for (plan, function) in rewrite.plan.functions.iter().zip(&rewrite.plan.module.functions) {
        match &plan.skipped {
            Some(why) => eprintln!("{}: unchanged: {why}", function.name),
            None => eprintln!("{}: {} insertions", function.name, plan.insertions.len()),
        }
    }
    Ok(())
}

/// Sites at equal distances in the module.
fn sites(source: &str) -> Vec<SiteId> {
    let (module, _) = prlx_isa::ptx::read(source);
    let plan = Plan::resolve(&RecordingRequest::new(Level::Operands), &module, "", &|_| None);
    let kernels = module.functions.iter().filter(|f| f.kind == FunctionKind::Kernel).count();
    let (all, taken) = (plan.module.sites.len(), (SITES * kernels).min(plan.module.sites.len()));
    (0..taken).map(|i| SiteId((i * all / taken) as u32)).collect()
}
