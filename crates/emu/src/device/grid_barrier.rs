//! The grid barrier of cooperative groups (`cooperative_groups::this_grid().sync()`).
//!
//! CUDA's driver passes a workspace to the kernels of a cooperative launch: its address is in `%envreg1`
//! (upper half) and `%envreg2`, and it holds two 32-bit words, its size and the barrier
//! (`cooperative_groups/details/driver_abi.h`). The kernel does the rest: one thread of each CTA adds to the
//! barrier with `atom.add.release`, and polls its upper bit with `ld.acquire` (`details/sync.h`). The device
//! therefore gives a launch a workspace if the kernel reads these registers, and keeps all its CTAs resident.
//!
//! # Invariants
//! A kernel that reads the registers finds zeros in the workspace, or the address 0. With the address 0, as
//! in a launch on a GPU that is not cooperative, `sync()` ends the kernel by a `trap`.
//!
//! # Limitations
//! One device runs one launch at a time, so one workspace is enough for all modules.

use prlx_driver::{Error, ErrorKind};
use prlx_isa::view::{Function, Module};

use crate::exec::cluster::Cluster;
use crate::exec::launch::{Launch, WORKSPACE_BYTES};
use crate::exec::time::SMS;
use crate::mem::{Memory, Owner};

/// Maximum number of resident CTAs of a multiprocessor (an H200).
const CTAS_PER_SM: u64 = 32;

/// Maximum number of CTAs of a cooperative launch, as on an H200.
pub const MAX_COOPERATIVE_CTAS: u64 = SMS as u64 * CTAS_PER_SM;

/// Bytes of the race check for each pair of CTAs: what the threads of each CTA know of each other CTA.
const RACE_BYTES: u64 = 400;

/// The grid barrier of a device.
#[derive(Debug, Default)]
pub(super) struct GridBarrier {
    /// The address of the workspace, once a module has been loaded that asks for it.
    workspace: Option<u64>,
    /// Whether launches have no grid barrier.
    pub(super) forbidden: bool,
}

impl GridBarrier {
    /// Allocates the workspace if a module asks for it and there is none yet. It lies before the buffers of
    /// the launch, so that its address does not depend on them.
    ///
    /// # Errors
    /// If there is no memory for it below `limit`.
    pub(super) fn prepare(&mut self, module: &Module, memory: &mut Memory, limit: u64) -> Result<(), Error> {
        if self.workspace.is_some() || !module.functions.iter().any(Function::reads_grid_workspace) {
            return Ok(());
        }
        let owner = Owner::Symbol("the workspace of the grid barrier".into(), false);
        let at = memory.alloc(WORKSPACE_BYTES, WORKSPACE_BYTES, limit, owner).ok_or_else(|| {
            Error::new(ErrorKind::Memory, "no memory for the workspace of the grid barrier")
                .help("raise the memory limit (--max-memory)")
        })?;
        self.workspace = Some(at);
        Ok(())
    }
    /// The workspace of a launch whose kernel asks for it, or the reason why the launch has none. `race`:
    /// with the race check; `room`: bytes that are left to the launch.
    pub(super) fn of(&self, launch: &Launch<'_>, race: bool, room: u64) -> Option<Result<u64, String>> {
        let workspace = self.workspace.filter(|_| launch.code.reads_grid_workspace())?;
        if self.forbidden {
            return Some(Err("this launch is not cooperative".into()));
        }
        Some(all_resident(launch, race, room).map(|()| workspace))
    }
}

/// Checks that all CTAs of a launch can be resident in `room` bytes. `race`: with the race check.
///
/// # Errors
/// The reason why they cannot, as the end of a sentence.
fn all_resident(launch: &Launch<'_>, race: bool, room: u64) -> Result<(), String> {
    let ctas = launch.config.grid.volume();
    if ctas > MAX_COOPERATIVE_CTAS {
        return Err(format!("{ctas} CTAs are more than an H200 can hold ({MAX_COOPERATIVE_CTAS})"));
    }
    let clusters = ctas / launch.cluster.volume().max(1);
    let race = if race { RACE_BYTES * ctas * ctas } else { 0 };
    let bytes = Cluster::bytes(launch).saturating_mul(clusters).saturating_add(race);
    if bytes > room {
        return Err(format!(
            "the {ctas} CTAs need {bytes} bytes, and {room} are left to the device (--max-memory)"
        ));
    }
    Ok(())
}

/// Says why a launch had no grid barrier, if it faulted.
pub(super) fn explained(error: Error, why: &str) -> Error {
    if error.kind != ErrorKind::Fault || error.help.is_some() {
        return error;
    }
    error.help(format!(
        "the kernel had no grid barrier (`this_grid().sync()`), which needs a cooperative launch with all CTAs \
         resident: {why}"
    ))
}
