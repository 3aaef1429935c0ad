//! Reads any bytes as a file that holds AMD code objects. Listing and reading them must not panic, must not
//! use more memory than the compressed bytes account for, and an object must be written as it was read. Its
//! neutral view must hold together.
//! Seeds: `tests/kernels/amd`.

use prlx_isa::amdgpu::object::{self, TargetId};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let images = object::read(bytes).unwrap_or_default();
    let device = TargetId::parse("gfx942:sramecc+:xnack-");
    let _ = device.map(|device| object::choose(&images, 0, device).map(|image| image.at));
    for image in images.iter().filter(|image| image.size < 1 << 24) {
        let (Ok(stored), Ok(object)) = (image.bytes(), image.code_object()) else { continue };
        assert!(object.write() == stored, "an object is not written as it was read");
        if let Ok(module) = prlx_isa::amdgpu::read(&object) {
            for f in &module.functions {
                assert!(f.insts.iter().all(|inst| inst.operands.len() == inst.roles.len()));
                let ends = f.blocks.last().map_or(0, |block| block.insts.end);
                assert_eq!(ends as usize, f.insts.len(), "blocks do not cover the function");
                let succs = f.blocks.iter().flat_map(|block| &block.succs);
                assert!(succs.into_iter().all(|block| block.index() < f.blocks.len()));
                let graph = prlx_isa::cfg::Cfg::of(f);
                let _ = prlx_isa::dataflow::decisions(f, &prlx_isa::dataflow::DefUse::of(f, &graph));
            }
            assert!(module.to_string().len() < 1 << 30);
        }
        for kernel in &object.kernels {
            let mut copy = kernel.descriptor;
            for (field, value) in kernel.descriptor.fields() {
                assert!(copy.set(field, value).is_ok(), "a field does not take its own value");
            }
            assert_eq!(copy, kernel.descriptor);
            let _ = (copy.vgprs(), copy.sgprs(), copy.initial_sgprs(), copy.reserved(), object.code(kernel));
        }
    }
}
