//! A kernel that faults takes its context with it; what was known is said, and a new device works.

use prlx_driver::cuda::Cuda;
use prlx_driver::{Driver, ErrorKind, LaunchConfig, ModuleCode};
use prlx_trace::Dim3;

use crate::turn;

const STORE: &str = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry store(.param .u64 at)\n{\n\
    .reg .b64 %rd<2>;\n.shared .align 4 .b8 room[1024];\nld.param.u64 %rd1, [at];\nst.global.u32 [%rd1], 7;\nret;\n}\n";

#[test]
fn a_fault_is_told_and_ends_with_its_context() {
    let _turn = turn::take();
    let mut gpu = Cuda::new(0).unwrap();
    let module = gpu.load(ModuleCode::Ptx(STORE)).unwrap();
    let config = LaunchConfig { grid: Dim3 { x: 2, ..Dim3::default() }, ..LaunchConfig::default() };
    let buffer = gpu.alloc(4096, 4096).unwrap();
    assert_eq!(buffer.0 % 4096, 0);
    gpu.launch(module, "store", &config, &buffer.0.to_le_bytes()).unwrap();
    let mut back = [0; 4];
    gpu.read(buffer, &mut back).unwrap();
    assert_eq!(back, [7, 0, 0, 0]);

    let refused = gpu.launch(module, "stor", &config, &[]).unwrap_err();
    assert!(refused.kind == ErrorKind::NotFound && refused.message.contains("`stor`"), "{refused}");
    let large = LaunchConfig { shared: 228 << 10, ..config.clone() };
    let refused = gpu.launch(module, "store", &large, &buffer.0.to_le_bytes()).unwrap_err();
    assert!(refused.kind == ErrorKind::Launch && refused.message.contains("(232448)"), "{refused}");
    let block = LaunchConfig { block: Dim3 { x: 1024, y: 2, z: 1 }, ..config.clone() };
    let refused = gpu.launch(module, "store", &block, &buffer.0.to_le_bytes()).unwrap_err();
    assert!(refused.kind == ErrorKind::Launch && refused.message.contains("at most 1024"), "{refused}");
    // More than 48 KiB of dynamic shared memory: asked for by itself.
    let dynamic = LaunchConfig { shared: 100 << 10, ..config.clone() };
    gpu.launch(module, "store", &dynamic, &buffer.0.to_le_bytes()).unwrap();

    let fault = gpu.launch(module, "store", &config, &0u64.to_le_bytes()).unwrap_err();
    assert_eq!(fault.kind, ErrorKind::Fault);
    assert!(
        fault.message.contains("`store`, (2,1,1) CTAs") && fault.message.contains("ILLEGAL_ADDRESS"),
        "{fault}"
    );
    assert_eq!(gpu.read(buffer, &mut back).unwrap_err().kind, ErrorKind::Fault);
    assert_eq!(gpu.free(buffer).unwrap_err().kind, ErrorKind::Fault);
    drop(gpu);

    let mut gpu = Cuda::new(0).unwrap();
    let refused = gpu.load(ModuleCode::Ptx(".version 7.0\n.target sm_80\nrubbish")).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Module);
    let module = gpu.load(ModuleCode::Ptx(STORE)).unwrap();
    let buffer = gpu.alloc(4, 4).unwrap();
    gpu.launch(module, "store", &config, &buffer.0.to_le_bytes()).unwrap();
    gpu.free(buffer).unwrap();
    gpu.unload(module).unwrap();
    assert_eq!(gpu.unload(module).unwrap_err().kind, ErrorKind::NotFound);
}
