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

/// Offset and size, in bytes, of each of a kernel's parameters.
pub type ParamLayout = Vec<(usize, usize)>;

/// A module whose code was rewritten.
#[derive(Debug)]
pub struct Module {
    /// The code that was inserted.
    pub plan: Arc<Plan>,
    /// The program's PTX, if the session captures launches.
    pub ptx: Option<String>,
    /// How certain it is that the PTX is the source of the program's code.
    pub fidelity: Fidelity,
    /// Its kernels, by name.
    pub kernels: HashMap<String, Kernel>,
    /// Its index in the recording, once it is written there. The inner `None`: writing failed.
    pub index: OnceLock<Option<u32>>,
}

/// A kernel of a rewritten module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its index among the functions of the plan.
    pub function: usize,
    /// Offset and size, in bytes, of each of the program's parameters, as PTX lays them out.
    pub params: ParamLayout,
    /// Offset of the hidden parameter, behind the program's, in bytes, as PTX lays them out.
    pub hidden_offset: usize,
    /// Bytes of the parameters that the kernel never reads, such as padding. They are recorded as zeros,
    /// because their values have no meaning.
    pub unread: Vec<Range<usize>>,
    /// CTAs for each unit of the launch's grid: 1, or the cluster's size if the grid counts clusters
    /// (PTX ISA, `.blocksareclusters`).
    pub grid_unit: Dim3,
    /// CTAs of a cluster, if the kernel is compiled for a fixed size (`.reqnctapercluster`).
    pub cluster: Option<Dim3>,
    /// Why the kernel was not rewritten.
    pub skipped: Option<String>,
}

impl Kernel {
    /// Bytes of the program's parameters, as PTX lays them out.
    pub fn params_size(&self) -> usize {
        self.params.iter().map(|(offset, size)| offset + size).max().unwrap_or(0)
    }

    /// The parameters as they are recorded, from the bytes that the program passed: unread bytes become
    /// zeros.
    pub fn recorded(&self, mut params: Vec<u8>) -> Vec<u8> {
        for part in &self.unread {
            let end = part.end.min(params.len());
            params.get_mut(part.start..end).unwrap_or_default().fill(0);
        }
        params
    }
}

impl Module {
    /// The module of `view`, rewritten as `plan` says. `ptx` is its own text, if launches are captured.
    pub fn new(view: &prlx_isa::view::Module, plan: Plan, fidelity: Fidelity, ptx: Option<String>) -> Module {
        let mut kernels = HashMap::new();
        for (i, function) in view.functions.iter().enumerate().filter(|(_, f)| f.kind == FunctionKind::Kernel)
        {
            let params = prlx_plan::kernel_params(view, function);
            let mut kernel = Kernel {
                function: i,
                params: params.iter().map(|p| (p.offset as usize, p.size as usize)).collect(),
                hidden_offset: 0,
                unread: unread_param_bytes(view, function)
                    .into_iter()
                    .map(|r| r.start as usize..r.end as usize)
                    .collect(),
                grid_unit: cluster_unit(&function.limits),
                cluster: limit(&function.limits, "reqnctapercluster"),
                skipped: plan.functions.get(i).and_then(|f| f.skipped.clone()),
            };
            // The hidden parameter is 8 bytes aligned.
            kernel.hidden_offset = kernel.params_size().next_multiple_of(8);
            kernels.insert(function.name.clone(), kernel);
        }
        Module { plan: Arc::new(plan), ptx, fidelity, kernels, index: OnceLock::new() }
    }
}
