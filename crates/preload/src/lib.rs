//! Records the kernel launches of an unmodified CUDA program. The library is loaded with `LD_PRELOAD` and
//! intercepts the program's driver calls. See docs/internals/preload.md.
//!
//! It sees every module that the program loads, takes the module's PTX, inserts the recorder's instructions,
//! and lets the driver load the result. It sees every launch and passes the hidden parameter, which holds the
//! address of the launch's context.
//!
//! | module | content |
//! |---|---|
//! | `interpose` | how the program's calls are intercepted: exported symbols, `dlsym`, `cuGetProcAddress` |
//! | `hooks` | what the library does for each intercepted call |
//! | `panic_guard` | the entry guard of every hook |
//! | `rewrite`, `rewritten_module` | from an image to its PTX, and to the code that is loaded instead |
//! | `handles` | the modules and kernels behind the program's handles |
//! | `recording` | the process's recording |
//! | `nvtx` | the program's NVTX ranges |
//! | `session_options`, `log` | the options from the environment; warnings, and the debug log |
//!
//! # Invariants
//! - No panic unwinds into the program. If this library fails, the program's call is made unchanged, one
//!   warning is printed, and recording stops (`panic_guard`).
//! - Each of the program's calls is made exactly once. Its arguments are the program's own, except where code
//!   or parameters are replaced.
//! - The library never waits for the program's streams. [`prlx_driver::record::program`] lists what it puts
//!   into them.
//! - A process that was forked after CUDA was used is left alone.
//!
//! # Limitations
//! - Linux on x86-64 only; elsewhere the library is empty.
//! - Relocatable device code, code that the linker made of several inputs, and launches by kernels are not
//!   recorded.
//! - Calls through the driver's private tables (`cuGetExportTable`) are not intercepted.
//!
//! # Safety contract
//! The `SAFETY` comments of this crate refer to these clauses:
//!
//! - **P1, the program's arguments.** A hook gets its arguments unchanged from the export of its name, and
//!   only from there. The program passes what cuda.h requires of that call: each pointer is null, or points
//!   to as many readable (inputs) or writable (outputs) values as the call takes, until the call returns.
//!   Passing the same arguments on to the driver is the call that the program wanted to make.
//! - **P2, the driver's functions.** `interpose::driver_functions::driver` looks up every pointer of
//!   [`Functions`](prlx_driver::cuda::Functions) by name in the driver library. Its type is the one that the
//!   driver's table declares; a test compares that table with cuda.h.
//! - **P3, own outputs.** When this library calls the driver for itself, each output pointer is the address
//!   of a local variable that has the type and size in cuda.h and lives until the call returns.
//! - **P4, after success.** A call that has returned 0 has read its inputs and written its outputs, so both
//!   may be read until the program gets control back. A name that the driver returns lives as long as its
//!   module or library.
//! - **P5, handles.** Contexts, streams, graphs, nodes, modules and kernels are names. This library never
//!   follows them. The program passed the handle in the call that is being handled, or the driver returned
//!   it, and the driver knows it until the program destroys it.
//! - **P6, replaced arguments.** Parameters, structures and images that replace the program's own belong to
//!   local variables of the hook and live until the driver's call returns. The driver keeps no pointer to
//!   them: it copies kernel parameters and images before it returns.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![recursion_limit = "512"]

mod handles;
mod hooks;
mod interpose;
mod log;
mod nvtx;
mod panic_guard;
mod recording;
mod rewrite;
mod rewritten_module;
mod session_options;
