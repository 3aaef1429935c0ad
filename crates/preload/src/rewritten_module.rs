//! A module whose code was rewritten, and its kernels.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use prlx_driver::signature::{cluster_unit, limit};
use prlx_isa::dataflow::unread_param_bytes;
use prlx_isa::view::FunctionKind;
use prlx_plan::Plan;
use prlx_trace::Dim3;
use prlx_trace::kernel::Fidelity;

/// A module whose code was rewritten.
#[derive(Debug)]
pub struct Module {
    /// What was written into it.
    pub plan: Arc<Plan>,
    /// How sure it is that it is the program's.
    pub fidelity: Fidelity,
    /// Its kernels, by name.
    pub kernels: HashMap<String, Kernel>,
    /// Its number in the recording; `None`: it could not be written down.
    pub number: OnceLock<Option<u32>>,
}

/// A kernel of a rewritten module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its place in the plan.
    pub function: usize,
    /// Where each parameter lies that the program knows of, as PTX lays them out, and how large it is.
    pub params: Vec<(usize, usize)>,
    /// Where the next parameter lies behind these, in bytes, as PTX lays them out.
    pub end: usize,
    /// Bytes of its parameters that it never reads, as padding: they are recorded as zeros, for they mean
    /// nothing.
    pub unread: Vec<Range<usize>>,
    /// CTAs that each of a grid's numbers stands for, for a kernel that counts clusters.
    pub counted: Dim3,
    /// CTAs of a cluster, for a kernel that is compiled for so many.
    pub cluster: Option<Dim3>,
    /// Why it was not rewritten.
    pub skipped: Option<String>,
}

impl Kernel {
    /// Parameters as they are recorded, from what the program passed.
    pub fn recorded(&self, mut params: Vec<u8>) -> Vec<u8> {
        for part in &self.unread {
            let end = part.end.min(params.len());
            params.get_mut(part.start..end).unwrap_or_default().fill(0);
        }
        params
    }
}

impl Module {
    /// A module that was rewritten like this.
    pub fn new(view: &prlx_isa::view::Module, plan: Plan, fidelity: Fidelity) -> Module {
        let mut kernels = HashMap::new();
        for (i, function) in view.functions.iter().enumerate().filter(|(_, f)| f.kind == FunctionKind::Kernel)
        {
            let sizes =
                function.params.iter().map(|p| view.symbols.get(p.index()).map_or(0, |s| s.size as usize));
            let params: Vec<_> = function.param_offsets.iter().map(|at| *at as usize).zip(sizes).collect();
            let kernel = Kernel {
                function: i,
                end: params.iter().map(|(at, size)| at + size).max().unwrap_or(0).next_multiple_of(8),
                params,
                unread: unread_param_bytes(view, function)
                    .into_iter()
                    .map(|r| r.start as usize..r.end as usize)
                    .collect(),
                counted: cluster_unit(&function.limits),
                cluster: limit(&function.limits, "reqnctapercluster"),
                skipped: plan.functions.get(i).and_then(|f| f.skipped.clone()),
            };
            kernels.insert(function.name.clone(), kernel);
        }
        Module { plan: Arc::new(plan), fidelity, kernels, number: OnceLock::new() }
    }
}
