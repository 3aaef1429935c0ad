//! The declaration of a kernel: its parameters and its launch limits, read from the module's view.
//!
//! This is the one place that lays out launch parameters for the driver, the preload library and the command
//! line.

use prlx_isa::view;
use prlx_trace::Dim3;
use prlx_trace::kernel::{Param, Scalar};

/// A kernel as its declaration has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// `.reqntid`, `.maxntid` …: name without the dot, values.
    pub limits: Vec<(String, Vec<u32>)>,
}

/// What a kernel's declaration says by a directive, as `reqntid`, in up to three dimensions.
pub fn limit(limits: &[(String, Vec<u32>)], directive: &str) -> Option<Dim3> {
    let (_, sizes) = limits.iter().find(|(name, _)| name == directive)?;
    let axis = |i: usize| sizes.get(i).copied().unwrap_or(1);
    Some(Dim3 { x: axis(0), y: axis(1), z: axis(2) })
}

/// The CTAs that each of a grid's numbers stands for when CUDA launches a kernel with such limits: clusters
/// of so many if it has `.blocksareclusters` (PTX ISA, Cluster Dimension Directives), else one.
/// `LaunchConfig::grid` counts CTAs all the same.
pub fn counted(limits: &[(String, Vec<u32>)]) -> Dim3 {
    limit(limits, "blocksareclusters").and_then(|_| limit(limits, "reqnctapercluster")).unwrap_or_default()
}

impl Signature {
    /// Every kernel of a module.
    pub fn all(module: &view::Module) -> Vec<Signature> {
        let kernels = module.functions.iter().filter(|f| f.kind == view::FunctionKind::Kernel);
        kernels
            .map(|f| Signature {
                name: f.name.clone(),
                limits: f.limits.clone(),
                params: f
                    .params
                    .iter()
                    .zip(&f.param_offsets)
                    .filter_map(|(&id, &offset)| {
                        let symbol = module.symbols.get(id.index())?;
                        let (ty, size) = (scalar(symbol.ty), u32::try_from(symbol.size).ok()?);
                        Some(Param { name: symbol.name.clone(), ty, offset, size })
                    })
                    .collect(),
            })
            .collect()
    }
}

/// The trace's name for a type; types narrower or stranger than it knows are bytes.
fn scalar(ty: view::Type) -> Scalar {
    let name = format!("{ty:?}").to_lowercase();
    Scalar::ALL.iter().copied().find(|s| s.name() == name).unwrap_or(Scalar::B8)
}
