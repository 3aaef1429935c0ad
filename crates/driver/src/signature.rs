//! The declaration of a kernel: its parameters and its launch limits, read from the module's view.

use prlx_isa::view;
use prlx_trace::Dim3;
use prlx_trace::kernel::Param;

/// The declaration of one kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Name of the kernel.
    pub name: String,
    /// Parameters, with their offsets in the parameter buffer.
    pub params: Vec<Param>,
    /// Launch limits, for example `.reqntid`: the directive's name without the dot, and its values.
    pub limits: Vec<(String, Vec<u32>)>,
}

/// Returns the sizes that a directive such as `reqntid` declares; missing dimensions are 1.
pub fn limit(limits: &[(String, Vec<u32>)], directive: &str) -> Option<Dim3> {
    let (_, sizes) = limits.iter().find(|(name, _)| name == directive)?;
    let axis = |i: usize| sizes.get(i).copied().unwrap_or(1);
    Some(Dim3 { x: axis(0), y: axis(1), z: axis(2) })
}

/// Returns the unit in which CUDA counts the grid of a kernel with these limits, in CTAs. It is the cluster
/// for kernels with `.blocksareclusters` (PTX ISA, "Cluster Dimension Directives"), and one CTA otherwise.
/// [`LaunchConfig::grid`](crate::LaunchConfig::grid) always counts CTAs.
pub fn cluster_unit(limits: &[(String, Vec<u32>)]) -> Dim3 {
    limit(limits, "blocksareclusters").and_then(|_| limit(limits, "reqnctapercluster")).unwrap_or_default()
}

impl Signature {
    /// Declarations of all kernels of a module.
    pub fn all(module: &view::Module) -> Vec<Signature> {
        let kernels = module.functions.iter().filter(|f| f.kind == view::FunctionKind::Kernel);
        kernels
            .map(|f| Signature {
                name: f.name.clone(),
                limits: f.limits.clone(),
                params: prlx_plan::kernel_params(module, f),
            })
            .collect()
    }
}
