//! Runs the work of streams on the emulator.
//!
//! An error in a kernel is reported by a later call and by every call after that, as on a GPU.

use std::io::Write;

use prlx_driver::{DevicePtr, Driver, LaunchConfig};
use prlx_emu::MAX_COOPERATIVE_CTAS;

use crate::codes::code;
use crate::codes::{Result, code_of};
use crate::device::state::Device;
use crate::host_memory::{read_host, write_host};
use crate::work::Work;

impl Device {
    /// The work of a launch, if the device accepts it. `cooperative`: with all CTAs resident.
    pub fn launch(
        &mut self,
        function: u64,
        mut config: LaunchConfig,
        params: Vec<u8>,
        cooperative: bool,
    ) -> Result<Work> {
        self.ready()?;
        let function = self.function_of(function);
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        if config.shared > kernel.dynamic {
            return Err(code::INVALID_VALUE);
        }
        let (grid, unit) = (&mut config.grid, kernel.grid_unit);
        for (n, unit) in [(&mut grid.x, unit.x), (&mut grid.y, unit.y), (&mut grid.z, unit.z)] {
            *n = n.checked_mul(unit).ok_or(code::INVALID_VALUE)?;
        }
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        config.seed = self.seed;
        self.emulator.fits(module, &kernel.name, &config, &params).map_err(|e| code_of(&e))?;
        if cooperative && config.grid.volume() > MAX_COOPERATIVE_CTAS {
            return Err(code::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(Work::Launch { function, config, params, cooperative })
    }

    /// Runs a piece of work. After a failure nothing runs any more, and every later call returns the error.
    pub fn perform(&mut self, work: Work) {
        if self.sticky_error.is_some() {
            return;
        }
        let done = match work {
            Work::Nothing | Work::Graph(_) => Ok(()),
            Work::Event(event) => {
                self.event_passed(event);
                Ok(())
            }
            Work::Free(at) => self.free_now(at),
            Work::Fill { to, value, bytes } => {
                self.emulator.fill(DevicePtr(to), bytes as u64, value).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Copy { to, from, bytes } => {
                let mut content = vec![0; bytes];
                let read = self.emulator.read(DevicePtr(from), &mut content);
                read.and_then(|()| self.emulator.write(DevicePtr(to), &content))
                    .map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Write { to, bytes } => {
                let bytes = read_host(&bytes);
                self.emulator.write(DevicePtr(to), bytes).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Read { to, from, bytes } => {
                let mut content = vec![0; bytes];
                let read = self.emulator.read(DevicePtr(from), &mut content);
                read.map(|()| write_host(to, &content)).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Launch { function, config, params, cooperative } => {
                self.emulator.allow_grid_barrier(cooperative);
                self.run(function, &config, &params)
            }
        };
        if let Err(code) = done {
            self.sticky_error = Some(code);
        }
    }

    /// Runs a kernel. Registered host memory gets its content before the error is looked at, as on a GPU.
    fn run(&mut self, function: u64, config: &LaunchConfig, params: &[u8]) -> Result<()> {
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.timer_shows(self.timer.now());
        let run = self.emulator.launch(module, &kernel.name, config, params);
        for (at, (memory, bytes)) in &self.registered {
            let mut content = vec![0; *bytes];
            self.emulator.read(*memory, &mut content).map_err(|e| code_of(&e))?;
            write_host(*at, &content);
        }
        let printed = self.emulator.take_printed();
        let _ = std::io::stdout().write_all(&printed.text);
        self.clock += run.map_err(|e| code_of(&e))?.warp_instructions;
        Ok(())
    }
}
