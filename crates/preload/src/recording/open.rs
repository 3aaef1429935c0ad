//! Opens the recording of this process when it is first needed.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Instant;

use prlx_driver::cuda::Functions;
use prlx_driver::session::{create_process_file, this_process};
use prlx_driver::workers::WORKERS;
use prlx_trace::Writer;

use crate::recording::devices::devices;
use crate::recording::digest_queue::DigestQueue;
use crate::recording::digest_thread;
use crate::recording::flush::{Flusher, at_exit};
use crate::recording::live_file::LiveFile;
use crate::recording::live_thread;
use crate::recording::session::{SESSION, Session};
use crate::session_options::options;
use crate::{log, rewrite};

/// The recording of this process, opened by the first call. `None` if it cannot be opened.
pub(super) fn session(real: &Functions) -> Option<&'static Session> {
    SESSION.get_or_init(|| Session::new(real)).as_ref()
}

impl Session {
    fn new(real: &Functions) -> Option<Session> {
        let options = options()?;
        let mut process = this_process();
        let devices = devices(real);
        process.devices = devices.clone();
        let mut version = 0;
        // SAFETY: the driver's function (P2); the output is a local variable (P3).
        if unsafe { (real.cuDriverGetVersion)(&mut version) } == 0 {
            process
                .versions
                .push(("driver".into(), format!("CUDA {}.{}", version / 1000, version % 1000 / 10)));
        }
        process.versions.extend(rewrite::tools().map(|t| ("assembler".to_owned(), t.to_owned())));
        let producer = concat!("prlx ", env!("CARGO_PKG_VERSION"));
        let file = create_process_file(&options.folder, &process).and_then(|(f, path)| {
            Ok((Writer::new(f, producer, Some(&process))?.with_workers(&WORKERS), path))
        });
        let (file, path) = file
            .map_err(|e| log::warn_once(&format!("nothing is recorded: {}: {e}", options.folder.display())))
            .ok()?;
        // SAFETY: `at_exit` has the C type that atexit takes. It does not unwind, because `guard` catches
        // panics. It runs before the handlers that the program and its libraries have registered by now, so
        // the library and what it uses still exist.
        unsafe { libc::atexit(at_exit) };
        Flusher::start();
        let live = LiveFile::new(&path);
        if options.rings() || options.probe.is_some() {
            live_thread::start(options.interval);
        }
        if options.digest.is_some() {
            digest_thread::start();
        }
        Some(Session {
            options,
            started: Instant::now(),
            devices,
            file: Mutex::new(Some(file)),
            ranges: Mutex::default(),
            launch_part: Mutex::default(),
            launch_filter: Mutex::default(),
            digest_filter: Mutex::default(),
            digest_queue: DigestQueue::default(),
            appending: Mutex::default(),
            launches: AtomicU64::new(0),
            threads: AtomicU32::new(0),
            unchanged_modules: Mutex::default(),
            streams: Mutex::default(),
            contexts: Mutex::default(),
            graphs: Mutex::default(),
            live,
            recording: path,
        })
    }
}
