//! Runs the work of streams on the emulator.
//!
//! An error in a kernel is reported by a later call and by every call after that, as on a GPU.

use std::io::Write;

use prlx_driver::{DevicePtr, Driver, LaunchConfig};

use crate::codes::code;
use crate::codes::{Result, of};
use crate::device::state::Device;
use crate::host_memory::{give, host};
use crate::work::Work;

impl Device {
    /// A launch that can be put into a stream.
    pub fn launch(&mut self, function: u64, mut config: LaunchConfig, params: Vec<u8>) -> Result<Work> {
        self.ready()?;
        let function = self.function_of(function);
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        if config.shared > kernel.dynamic {
            return Err(code::INVALID_VALUE);
        }
        let (grid, each) = (&mut config.grid, kernel.counted);
        for (n, each) in [(&mut grid.x, each.x), (&mut grid.y, each.y), (&mut grid.z, each.z)] {
            *n = n.checked_mul(each).ok_or(code::INVALID_VALUE)?;
        }
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.fits(module, &kernel.name, &config, &params).map_err(|e| of(&e))?;
        Ok(Work::Launch { function, config, params })
    }

    /// Does a piece of work. What goes wrong in a kernel is told by a later call, and by every one after, as
    /// on a GPU.
    pub fn perform(&mut self, work: Work) {
        if self.dead.is_some() {
            return;
        }
        let done = match work {
            Work::Nothing | Work::Graph(_) => Ok(()),
            Work::Event(event) => {
                self.event_passed(event);
                Ok(())
            }
            Work::Free(at) => self.give_back(at),
            Work::Fill { to, value, bytes } => {
                self.emulator.fill(DevicePtr(to), bytes as u64, value).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Copy { to, from, bytes } => {
                let mut held = vec![0; bytes];
                let read = self.emulator.read(DevicePtr(from), &mut held);
                read.and_then(|()| self.emulator.write(DevicePtr(to), &held))
                    .map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Write { to, bytes } => {
                let bytes = host(&bytes);
                self.emulator.write(DevicePtr(to), bytes).map_err(|_| code::ILLEGAL_ADDRESS)
            }
            Work::Read { to, from, bytes } => {
                let mut held = vec![0; bytes];
                let read = self.emulator.read(DevicePtr(from), &mut held).map_err(|_| code::ILLEGAL_ADDRESS);
                read.map(|()| give(to, &held))
            }
            Work::Launch { function, config, params } => self.run(function, &config, &params),
        };
        if let Err(code) = done {
            self.dead = Some(code);
        }
    }

    fn run(&mut self, function: u64, config: &LaunchConfig, params: &[u8]) -> Result<()> {
        let kernel = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        let module = *self.modules.get(&kernel.module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.timer_shows(self.timer.now());
        let run = self.emulator.launch(module, &kernel.name, config, params);
        for (at, (held, bytes)) in &self.registered {
            let mut content = vec![0; *bytes];
            self.emulator.read(*held, &mut content).map_err(|e| of(&e))?;
            give(*at, &content);
        }
        let said = self.emulator.take_output();
        let _ = std::io::stdout().write_all(&said);
        self.clock += run.map_err(|e| of(&e))?.warp_instructions;
        Ok(())
    }
}
