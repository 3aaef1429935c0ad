//! The parameters that decoding reads.
//!
//! At the levels `path` and `fingerprint`, decisions that follow from parameters are not recorded, and
//! streams of equal words mean equal paths only if these parameters are equal.

use std::collections::{BTreeSet, HashMap};

use crate::ids::{FuncId, ModuleId};
use crate::kernel::{Arg, Level, Module, Step};
use crate::launch::Launch;

/// The parameters that decoding the launches of some modules reads.
#[derive(Debug)]
pub struct ReadParams<'a> {
    modules: &'a [Module],
    /// By kernel: offset and size in bytes of the parameters.
    known: HashMap<(ModuleId, FuncId), BTreeSet<(u32, u8)>>,
}

impl<'a> ReadParams<'a> {
    /// `modules` are those that the launches refer to.
    pub fn new(modules: &'a [Module]) -> ReadParams<'a> {
        ReadParams { modules, known: HashMap::new() }
    }

    /// Their offsets, sizes and values in a launch, one after the other: equal bytes, equal parameters. Empty
    /// at levels at which decoding reads none.
    pub fn of(&mut self, launch: &Launch) -> Vec<u8> {
        let mut out = Vec::new();
        if !launch.level.in_words() && launch.level != Level::Fingerprint {
            return out;
        }
        let module = || self.modules.get(launch.module.index());
        let find = || module().map(|module| read_by(module, launch.kernel)).unwrap_or_default();
        for (offset, size) in self.known.entry((launch.module, launch.kernel)).or_insert_with(find).iter() {
            let value = launch.params.get(*offset as usize..).and_then(|p| p.get(..usize::from(*size)));
            out.extend(offset.to_le_bytes());
            out.extend([*size, value.is_some().into()]);
            out.extend(value.unwrap_or_default());
        }
        out
    }
}

/// The parameters that a kernel's decode program reads: offset and size in bytes.
fn read_by(module: &Module, kernel: FuncId) -> BTreeSet<(u32, u8)> {
    let (mut seen, mut open, mut params) = (BTreeSet::from([kernel]), vec![kernel], BTreeSet::new());
    while let Some(function) = open.pop().and_then(|id| module.functions.get(id.index())) {
        for step in function.blocks.iter().flat_map(|b| &b.steps) {
            match step {
                Step::Call { function, .. } if seen.insert(*function) => open.push(*function),
                Step::Let { args, .. } => params.extend(args.iter().filter_map(|arg| match arg {
                    Arg::Param { offset, size } => Some((*offset, *size)),
                    _ => None,
                })),
                _ => {}
            }
        }
    }
    params
}
