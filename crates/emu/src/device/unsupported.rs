//! Lists what the device cannot run in a function, without running it.
//!
//! # Invariants
//! A launch refuses a kernel only for reasons that are listed here, with the same text: both come from the
//! same decoding.
//!
//! # Limitations
//! Reasons that depend on the launch (its shape, its shared memory) are not listed, nor are modules that
//! cannot be loaded.

use prlx_isa::view::{FuncId, Function, InstId, Module};

use crate::decode::{self, Request, UnsupportedInst};
use crate::device::emulator::{Options, in_memory};
use crate::error::EmuError;
use crate::exec::fault;
use prlx_lanes::Simd;

/// A reason why the device cannot run a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The function that contains the instruction.
    pub function: FuncId,
    /// The instruction; `None`: the function as a whole.
    pub inst: Option<InstId>,
    /// The instruction's text, or the function's name.
    pub text: String,
    /// The source line, or the line of the PTX.
    pub place: String,
    /// What is missing, as a sentence.
    pub why: String,
}

/// The reasons why the device cannot run each function of `roots` of the module (text `source`), or a
/// function that it can reach, in source order.
pub fn unsupported(module: &Module, source: &str, roots: &[FuncId]) -> Vec<Vec<Refusal>> {
    // Decoding only asks whether a variable has an address, not which.
    let addresses: Vec<_> = module.symbols.iter().map(|s| in_memory(s).then_some(4096)).collect();
    let constants = decode::constants(module, &addresses);
    let of = |&root: &FuncId| match module.functions.get(root.index()) {
        Some(main) => refusals(
            &Request {
                module,
                source,
                addresses: &addresses,
                constants,
                kernel: &main.name,
                plan: None,
                stack: Options::default().stack,
                simd: Simd::Base,
                contract: false,
                calibrations: &[],
                machine: None,
            },
            root,
            main,
        ),
        None => Vec::new(),
    };
    roots.iter().map(of).collect()
}

/// The reasons why the device cannot run function `root`, which is `main`.
fn refusals(request: &Request<'_>, root: FuncId, main: &Function) -> Vec<Refusal> {
    let (module, source) = (request.module, request.source);
    let (code, missing) = decode::attempt(request, root);
    let whole = |why: EmuError| Refusal {
        function: root,
        inst: None,
        text: main.name.clone(),
        place: fault::line(module, source, main.span),
        why: why.into(),
    };
    let mut out = Vec::new();
    for UnsupportedInst { function, inst, why } in missing {
        let (text, place) = fault::spot(module, source, function, inst).unwrap_or_default();
        out.push(Refusal { function, inst: Some(inst), text, place, why: why.into() });
    }
    if out.is_empty() {
        out.extend(decode::limits(&code).err().map(whole));
    }
    out
}
