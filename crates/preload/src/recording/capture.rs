//! Captures launches: copies their memory before and after, and writes each as a launch file. Of a launch
//! without PTX, which could not run again, writes what it changed.
//!
//! # Limitations
//! Launches of graphs are not captured.

use std::path::PathBuf;

use prlx_driver::cuda::{Library, capture};
use prlx_driver::memory_changes::MemoryChanges;
use prlx_driver::session::{capture_folder, memory_changes_file};
use prlx_driver::tensor_map::{BYTES, TensorMap};
use prlx_driver::{CapturedBuffer, CapturedLaunch, LaunchConfig};
use prlx_trace::{Dim3, Launch};

use crate::log;
use crate::recording::session::Session;
use crate::recording::tensor_maps::encoded_as;
use crate::rewritten_module::{Kernel, Module};

/// A launch that is being captured.
pub(crate) enum Capture {
    /// To a folder with a launch file.
    Launch(CapturedLaunch, PathBuf),
    /// To a file with what the launch changed in these buffers.
    Changes(Vec<CapturedBuffer>, PathBuf),
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
        let buffers = copy_before((launch.number, name), &pointers, &kernel.params, most)?;
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

    /// As [`Session::begin_capture`], for a launch of a kernel without PTX. `layout` has offset and size of
    /// each parameter.
    pub(super) fn begin_changes(
        &self,
        name: &str,
        launch: &Launch,
        layout: &[(usize, usize)],
    ) -> Option<Box<Capture>> {
        let most = self.options.memory_changes?;
        let buffers = copy_before((launch.number, name), &launch.params, layout, most)?;
        let file = memory_changes_file(&self.recording, launch.number);
        Some(Box::new(Capture::Changes(buffers, file)))
    }
}

/// Waits for the device and copies at most `most` bytes of the memory behind a launch's parameters. Says why,
/// if it cannot be copied.
fn copy_before(
    (number, name): (u64, &str),
    params: &[u8],
    layout: &[(usize, usize)],
    most: u64,
) -> Option<Vec<CapturedBuffer>> {
    let copied = Library::open().map_err(|e| e.message).and_then(|library| {
        capture::before(library, params, layout, most).map_err(|e| e.during("capture").message)
    });
    let warn = |e: &String| log::warn_once(&format!("launch {number} of {name} is not captured: {e}"));
    copied.inspect_err(warn).ok()
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
    pub(super) fn finish(mut self, code: i32) {
        let (Capture::Launch(CapturedLaunch { buffers, .. }, _) | Capture::Changes(buffers, _)) = &mut self;
        if code == 0
            && let Ok(library) = Library::open()
        {
            capture::after(library, buffers);
        }
        let (written, to) = match &self {
            Capture::Launch(launch, folder) => (launch.write(folder), folder),
            Capture::Changes(buffers, file) => {
                (std::fs::write(file, MemoryChanges::of(buffers).to_bytes()), file)
            }
        };
        if let Err(e) = written {
            log::warn_once(&format!("cannot write {}: {e}", to.display()));
        }
    }
}
