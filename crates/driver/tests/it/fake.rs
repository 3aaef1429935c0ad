//! A device without a processor: bytes, and a closure for a kernel.

use std::collections::{BTreeMap, HashMap};

use prlx_driver::{
    DeviceInfo, DevicePtr, Driver, Error, ErrorKind, LaunchConfig, LaunchStats, ModuleCode, ModuleHandle,
};
use prlx_trace::WarpSize;

/// Device memory: allocations by address, with gaps between them.
#[derive(Default)]
pub struct Memory {
    pub blocks: BTreeMap<u64, Vec<u8>>,
    /// After a fault: nothing works any more.
    pub dead: bool,
    next: u64,
}

impl Memory {
    pub fn range(&mut self, at: u64, len: usize) -> Result<&mut [u8], Error> {
        let fault = || Error::new(ErrorKind::Fault, format!("{len} bytes at {at:#x} are not allocated"));
        if self.dead {
            return Err(Error::new(ErrorKind::Fault, "the device is lost"));
        }
        let (start, block) = self.blocks.range_mut(..=at).next_back().ok_or_else(fault)?;
        let from = (at - start) as usize;
        block.get_mut(from..from + len).ok_or_else(fault)
    }
    pub fn set(&mut self, at: u64, bytes: &[u8]) {
        self.range(at, bytes.len()).unwrap().copy_from_slice(bytes);
    }
}

/// A kernel: memory, the module's text, shape, parameters.
pub type Kernel = Box<dyn FnMut(&mut Memory, &str, &LaunchConfig, &[u8]) -> Result<LaunchStats, Error>>;

/// A device whose kernel is a Rust closure.
pub struct Fake {
    pub memory: Memory,
    pub modules: HashMap<u64, String>,
    pub kernel: Kernel,
    pub warp_size: WarpSize,
    /// Bytes that can be allocated.
    pub limit: u64,
}

impl Fake {
    pub fn new(
        kernel: impl FnMut(&mut Memory, &str, &LaunchConfig, &[u8]) -> Result<LaunchStats, Error> + 'static,
    ) -> Fake {
        let memory = Memory { next: 0x7000_0000, ..Memory::default() };
        Fake {
            memory,
            modules: HashMap::new(),
            kernel: Box::new(kernel),
            warp_size: WarpSize::W32,
            limit: 1 << 30,
        }
    }
}

impl Driver for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo { name: "fake device".into(), warp_size: self.warp_size, hooks: false }
    }
    fn load(&mut self, code: ModuleCode<'_>) -> Result<ModuleHandle, Error> {
        let ModuleCode::Ptx(text) = code else { panic!("{code:?}") };
        let handle = self.modules.len() as u64 + 1;
        self.modules.insert(handle, text.to_owned());
        Ok(ModuleHandle(handle))
    }
    fn unload(&mut self, module: ModuleHandle) -> Result<(), Error> {
        self.modules.get_mut(&module.0).unwrap().clear();
        Ok(())
    }
    fn alloc(&mut self, bytes: u64, align: u64) -> Result<DevicePtr, Error> {
        self.limit = self
            .limit
            .checked_sub(bytes)
            .ok_or_else(|| Error::new(ErrorKind::Memory, "the device is full"))?;
        let at = self.memory.next.next_multiple_of(align);
        self.memory.next = at + bytes + 64;
        // What nobody wrote is not zero.
        self.memory.blocks.insert(at, vec![0xAA; bytes as usize]);
        Ok(DevicePtr(at))
    }
    fn free(&mut self, at: DevicePtr) -> Result<(), Error> {
        if self.memory.dead {
            return Err(Error::new(ErrorKind::Fault, "the device is lost"));
        }
        let block = self.memory.blocks.remove(&at.0).expect("what is freed was allocated");
        self.limit += block.len() as u64;
        Ok(())
    }
    fn write(&mut self, at: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        self.memory.range(at.0, bytes.len()).map(|r| r.copy_from_slice(bytes))
    }
    fn read(&mut self, at: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        self.memory.range(at.0, bytes.len()).map(|r| bytes.copy_from_slice(r))
    }
    fn fill(&mut self, at: DevicePtr, bytes: u64, value: u8) -> Result<(), Error> {
        self.memory.range(at.0, bytes as usize).map(|r| r.fill(value))
    }
    fn launch(
        &mut self,
        module: ModuleHandle,
        _: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<LaunchStats, Error> {
        let text = self.modules[&module.0].clone();
        (self.kernel)(&mut self.memory, &text, config, params)
    }
}
