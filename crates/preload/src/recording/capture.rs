//! Captures launches: copies their memory before and after, and writes each as a launch file. Of a launch
//! without PTX, which could not run again, writes what it changed.
//!
//! # Limitations
//! Launches of graphs are not captured.

use std::path::PathBuf;
use std::sync::Arc;

use prlx_driver::cuda::memory_changes::CopiedLaunch;
use prlx_driver::cuda::{Library, capture};
use prlx_driver::session::{capture_folder, memory_changes_file};
use prlx_driver::tensor_map::{BYTES, TensorMap};
use prlx_driver::{CapturedLaunch, LaunchConfig};
use prlx_trace::{Dim3, Launch};

use crate::log;
use crate::recording::context_recorder::ContextRecorder;
use crate::recording::session::Session;
use crate::recording::tensor_maps::encoded_as;
use crate::rewritten_module::{Kernel, Module};

/// A launch that is being captured.
pub(crate) enum Capture {
    /// To a folder with a launch file.
    Launch(CapturedLaunch, PathBuf),
    /// To a file with what the launch changed in its memory, which was copied.
    Changes(Arc<ContextRecorder>, CopiedLaunch, PathBuf),
}

impl Session {
    /// Waits for the device and copies the memory of a launch that is about to go into a stream. `None` if
    /// the session captures nothing, or the memory cannot be copied.
    pub(super) fn begin_capture(
        &self,
        module: &Module,
        kernel: &Kernel,
        launch: &Launch,
    ) -> Option<Box<Capture>> {
        let (most, ptx) = (self.options.capture?, module.ptx.clone()?);
        let name = &module.plan.module.functions.get(kernel.function)?.name;
        let (maps, pointers) = tensor_maps(&launch.params, &kernel.params);
        let copied = Library::open().map_err(|e| e.message).and_then(|l| {
            capture::before(l, &pointers, &kernel.params, most).map_err(|e| e.during("capture").message)
        });
        let buffers = copied.inspect_err(|e| not_captured(launch, name, e)).ok()?;
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster.unwrap_or(Dim3 { x: 1, y: 1, z: 1 }),
            shared: launch.shared,
            ..LaunchConfig::default()
        };
        let (number, params) = (launch.number, launch.params.clone());
        let captured = CapturedLaunch { number, kernel: name.clone(), ptx, config, params, buffers, maps };
        Some(Box::new(Capture::Launch(captured, capture_folder(&self.recording, number))))
    }

    /// Waits for the device and copies the memory of a launch of a kernel without PTX. `layout` has offset
    /// and size of each parameter. `None` if the session does not want what it changes, or the memory
    /// cannot be copied.
    pub(super) fn begin_changes(
        &self,
        context: &Arc<ContextRecorder>,
        name: &str,
        launch: &Launch,
        layout: &[(usize, usize)],
    ) -> Option<Box<Capture>> {
        let finder = context.changes.as_ref()?;
        let copied =
            finder.before(&launch.params, layout).map_err(|e| e.during("copying its memory").message);
        let copied = copied.inspect_err(|e| not_captured(launch, name, e)).ok()?;
        let file = memory_changes_file(&self.recording, launch.number);
        Some(Box::new(Capture::Changes(Arc::clone(context), copied, file)))
    }
}

fn not_captured(launch: &Launch, name: &str, why: &str) {
    log::warn_once(&format!("launch {} of {name} is not captured: {why}", launch.number));
}

/// The parameters that are tensor maps, by their offset, and the parameter buffer with the address of the
/// tensor in the place of each.
fn tensor_maps(params: &[u8], places: &[(usize, usize)]) -> (Vec<(u32, TensorMap)>, Vec<u8>) {
    let (mut maps, mut pointers) = (Vec::new(), params.to_vec());
    for &(offset, size) in places.iter().filter(|(_, size)| *size == BYTES) {
        let Some(bytes) = pointers.get_mut(offset..offset + size) else { continue };
        let Some((address, map)) = encoded_as(bytes) else { continue };
        bytes.fill(0);
        bytes[..8].copy_from_slice(&address.to_le_bytes());
        maps.push((offset as u32, map));
    }
    (maps, pointers)
}

impl Capture {
    /// The driver has returned `code`. Waits for the launch if it was accepted, copies the memory again, and
    /// writes what was captured.
    pub(super) fn finish(self, code: i32) {
        let (written, to) = match self {
            Capture::Launch(mut launch, folder) => {
                if code == 0
                    && let Ok(library) = Library::open()
                {
                    capture::after(library, &mut launch.buffers);
                }
                (launch.write(&folder), folder)
            }
            Capture::Changes(context, copied, file) => {
                let Some(finder) = &context.changes else { return };
                if code != 0 {
                    return finder.give_back(&copied);
                }
                // After a fault, the launch has no file.
                let Ok(changes) = finder.after(&copied) else { return };
                (std::fs::write(&file, changes.to_bytes()), file)
            }
        };
        if let Err(e) = written {
            log::warn_once(&format!("cannot write {}: {e}", to.display()));
        }
    }
}
