//! Records CUDA programs that know nothing of it: preloaded with `LD_PRELOAD`, it stands between the program
//! and the driver. See docs/internals/preload.md.
//!
//! It sees every module that the program loads, takes the module's PTX, inserts the recorder's instructions,
//! and lets the driver load the result. It sees every launch and passes the hidden parameter that leads to
//! the launch's context.
//!
//! | module | content |
//! |---|---|
//! | `interpose` | how the program's calls come here: exported symbols, `dlsym`, `cuGetProcAddress` |
//! | `hooks` | what is done about each call |
//! | `panic_guard` | the entry guard of every hook |
//! | `rewrite`, `rewritten_module` | from an image to its PTX and to the code that is loaded instead |
//! | `handles` | what each of the program's handles stands for |
//! | `recording` | the process's recording |
//! | `session_options`, `log` | the options from the environment; messages to the user, and the debug log |
//!
//! # Invariants
//! - No panic unwinds into the program. If this library fails, the program's call is made unchanged, one
//!   message is printed, and recording stops (`panic_guard`).
//! - A call is made exactly once. Its arguments are the program's own, unless code or parameters were
//!   replaced.
//! - The streams of the program are never waited for. [`prlx_driver::cuda::recorder`] says what is put into
//!   them.
//! - A process that was forked after CUDA was used is left alone.
//!
//! # Limitations
//! - Linux on x86-64 only; elsewhere the library is empty.
//! - Relocatable device code, code that the linker made of several inputs, and launches by kernels are not
//!   recorded.
//! - Calls through the driver's private tables (`cuGetExportTable`) are not seen.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![recursion_limit = "512"]

mod handles;
mod hooks;
mod interpose;
mod log;
mod panic_guard;
mod recording;
mod rewrite;
mod rewritten_module;
mod session_options;
