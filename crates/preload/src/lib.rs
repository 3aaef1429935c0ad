//! Preloaded into a CUDA program (`LD_PRELOAD`), it finds every module that the program loads, takes its PTX, writes the recorder
//! into it and has the driver load that instead; and it sees every launch. See docs/internals/preload.md.
//!
//! `symbols`: how a program's calls come here: exported symbols, `dlsym`, `cuGetProcAddress`. `exports`: the functions it then
//! calls, made from the driver's table. `load` (modules), `library`, `link`, `launch`, `graph`, `wait`: what is done about each. `leave`: the program's end. `source`: from an image to
//! PTX, and how sure it is that this is the right one. `rewrite`: from PTX to the code that is loaded instead.
//! `known`: what is known of the program's handles. `record`: the process's recording. `digests`: launches that wait for theirs.
//!
//! Holds: nothing unwinds into the program; whatever fails here leaves the program's call as it was, is said once, and goes on
//! (`think`); a call is made exactly once with the program's own arguments where nothing is to be changed. The program's
//! streams are never waited for, and what is put into them is what [`prlx_driver::cuda::recorder`] says. A process that was forked after CUDA was used is left alone.
//! Misses: Linux on x86-64 alone (elsewhere the library is empty); relocatable device code, code that the linker made of
//! several inputs, launches by kernels; calls through the driver's private tables (`cuGetExportTable`).
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![recursion_limit = "512"]

mod digests;
mod exports;
mod graph;
mod known;
mod launch;
mod leave;
mod library;
mod link;
mod load;
mod record;
mod rewrite;
mod say;
mod source;
mod symbols;
mod think;
mod wait;
