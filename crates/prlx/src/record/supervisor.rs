//! Runs child programs and forwards signals to them.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

/// Signals that are forwarded.
const SIGNALS: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// Runs programs one after the other. While none runs, signals have their default effect on this process.
#[derive(Debug)]
pub struct Supervisor {
    idle: Arc<AtomicBool>,
}

impl Supervisor {
    /// Installs the signal handlers. One supervisor serves a process.
    ///
    /// # Errors
    /// If a handler cannot be installed.
    pub fn new() -> io::Result<Supervisor> {
        let idle = Arc::new(AtomicBool::new(true));
        for signal in SIGNALS {
            signal_hook::flag::register_conditional_default(signal, idle.clone())?;
        }
        Ok(Supervisor { idle })
    }

    /// Runs a program to its end and forwards the signals that another process sends to this one. The
    /// terminal sends its signals to the program itself. Returns the exit status, and whether one of the
    /// signals asks for an end.
    pub(super) fn run(&self, command: &mut Command) -> io::Result<(ExitStatus, bool)> {
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS)?;
        let handle = signals.handle();
        self.idle.store(false, Ordering::SeqCst);
        let ended = command.spawn().and_then(|mut child: Child| {
            let pid = Pid::from_child(&child);
            let forward = std::thread::spawn(move || {
                let mut stopped = false;
                for info in &mut signals {
                    stopped |= !matches!(info.signal, SIGUSR1 | SIGUSR2);
                    if let (Some(_), Some(signal)) = (info.process, Signal::from_named_raw(info.signal)) {
                        let _ = kill_process(pid, signal);
                    }
                }
                stopped
            });
            // The process number stays taken until `wait`, so no signal reaches another process.
            let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), exited).is_err_and(|e| e == rustix::io::Errno::INTR) {}
            handle.close();
            let stopped = forward.join().unwrap_or(false);
            Ok((child.wait()?, stopped))
        });
        self.idle.store(true, Ordering::SeqCst);
        ended
    }
}
