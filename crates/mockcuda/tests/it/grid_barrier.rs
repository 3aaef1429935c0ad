//! A kernel that asks for the grid barrier of cooperative groups is launched cooperatively.

use prlx_driver::cuda::Cuda;
use prlx_driver::{Driver, Error, ErrorKind, LaunchConfig, ModuleCode};
use prlx_trace::Dim3;

use crate::turn;

/// Stores whether `this_grid().is_valid()`; `sync` also ends by a `trap` if it is not.
const MODULE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .func (.reg .b64 %out) workspace ()\n{\n.reg .b32 %r<3>;\n\
    mov.u32 %r1, %envreg2;\nmov.u32 %r2, %envreg1;\nmov.b64 %out, {%r1, %r2};\nret;\n}\n\
    .visible .entry valid(.param .u64 at)\n{\n.reg .b64 %rd<3>;\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n\
    ld.param.u64 %rd1, [at];\ncall (%rd2), workspace, ();\nsetp.ne.s64 %p1, %rd2, 0;\n\
    selp.u32 %r1, 1, 2, %p1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n\
    .visible .entry sync(.param .u64 at)\n{\n.reg .b64 %rd<3>;\n.reg .pred %p<2>;\n\
    call (%rd2), workspace, ();\nsetp.ne.s64 %p1, %rd2, 0;\n@%p1 ret;\ntrap;\n}\n";

fn launch(gpu: &mut Cuda, kernel: &str, ctas: u32) -> Result<u32, Error> {
    let module = gpu.load(ModuleCode::Ptx(MODULE))?;
    let config = LaunchConfig { grid: Dim3 { x: ctas, ..Dim3::default() }, ..LaunchConfig::default() };
    let buffer = gpu.alloc(4, 4)?;
    gpu.launch(module, kernel, &config, &buffer.0.to_le_bytes())?;
    let mut back = [0; 4];
    gpu.read(buffer, &mut back)?;
    Ok(u32::from_le_bytes(back))
}

#[test]
fn kernels_that_ask_for_the_barrier_have_it() {
    let _turn = turn::take();
    let mut gpu = Cuda::new(0).unwrap();
    assert_eq!(launch(&mut gpu, "valid", 3).unwrap(), 1);
    launch(&mut gpu, "sync", 3).unwrap();
    // Too large for a cooperative launch: the kernel may still not need the barrier.
    assert_eq!(launch(&mut gpu, "valid", 5000).unwrap(), 2);
    let fault = launch(&mut gpu, "sync", 5000).unwrap_err();
    assert_eq!(fault.kind, ErrorKind::Fault);
    assert!(fault.help.as_deref().is_some_and(|h| h.contains("no grid barrier")), "{fault:?}");
}
