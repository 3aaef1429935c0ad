//! The CPU device behind [`Queue`]: every call does its work at once.
//!
//! # Limitations
//! Parameters of kernels have at most eight bytes each, or eight as their alignment.
#![allow(unsafe_code, reason = "handles are numbers here, which nothing follows")]

use std::collections::BTreeMap;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use prlx_driver::queue::{CopyBuffer, Event, Failure, Function, HostMemory, Queue, Stream};
use prlx_driver::{DevicePtr, Driver, Error, ErrorKind, LaunchConfig, ModuleCode, ModuleHandle};
use prlx_emu::Emulator;
use prlx_trace::{Dim3, WarpSize};

/// A CPU device as the recorder of programs uses it.
#[derive(Clone)]
pub struct CpuQueue(Arc<Mutex<State>>);

struct State {
    device: Emulator,
    warp_size: WarpSize,
    /// When each event passed.
    events: BTreeMap<Event, Instant>,
    kernels: BTreeMap<Function, (ModuleHandle, String)>,
    handles: usize,
}

impl CpuQueue {
    pub fn new(device: Emulator, warp_size: WarpSize) -> CpuQueue {
        let (events, kernels) = (BTreeMap::new(), BTreeMap::new());
        CpuQueue(Arc::new(Mutex::new(State { device, warp_size, events, kernels, handles: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Uses the device as the program does.
    pub fn with<T>(&self, work: impl FnOnce(&mut Emulator) -> Result<T, Error>) -> T {
        work(&mut self.lock().device).unwrap()
    }

    /// Makes a call of the recorder.
    fn call<T>(
        &self,
        call: &'static str,
        work: impl FnOnce(&mut State) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        work(&mut self.lock()).map_err(|e| failure(call, e))
    }
}

fn failure(call: &'static str, e: Error) -> Failure {
    let (code, name, log) = (1, String::new(), String::new());
    Failure { call, code, name, text: e.message, kind: e.kind, help: "", log }
}

impl State {
    fn handle(&mut self) -> *mut std::ffi::c_void {
        self.handles += 1;
        without_provenance_mut(self.handles)
    }

    fn passed(&self, event: Event) -> Result<Instant, Error> {
        let unknown = || Error::new(ErrorKind::Record, "the event was not recorded");
        self.events.get(&event).copied().ok_or_else(unknown)
    }
}

impl Queue for CpuQueue {
    fn warp_size(&self) -> WarpSize {
        self.lock().warp_size
    }
    fn enter(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn leave(&self) {}
    fn begin_quiet(&self) -> Option<i32> {
        None
    }
    fn end_quiet(&self, _: i32) {}

    fn create_stream(&self) -> Result<Stream, Failure> {
        // SAFETY: the handle is a number of this queue.
        Ok(unsafe { Stream::foreign(self.lock().handle()) })
    }
    fn is_default(&self, _: Stream) -> bool {
        false
    }
    fn make_stream_wait(&self, _: Stream, event: Event) -> Result<(), Failure> {
        self.call("make_stream_wait", |s| s.passed(event).map(drop))
    }

    fn create_event(&self) -> Result<Event, Failure> {
        // SAFETY: the handle is a number of this queue.
        Ok(unsafe { Event::foreign(self.lock().handle()) })
    }
    fn record_event(&self, event: Event, _: Stream) -> Result<(), Failure> {
        self.lock().events.insert(event, Instant::now());
        Ok(())
    }
    fn event_passed(&self, event: Event) -> Result<bool, Failure> {
        self.call("event_passed", |s| s.passed(event).map(|_| true))
    }
    fn elapsed_between(&self, start: Event, end: Event) -> Result<u64, Failure> {
        self.call("elapsed_between", |s| {
            let elapsed = s.passed(end)?.saturating_duration_since(s.passed(start)?);
            Ok(elapsed.as_nanos() as u64)
        })
    }

    fn alloc(&self, bytes: usize) -> Result<u64, Failure> {
        self.call("alloc", |s| s.device.alloc(bytes as u64, 256).map(|at| at.0))
    }
    fn free(&self, at: u64) -> Result<(), Failure> {
        self.call("free", |s| s.device.free(DevicePtr(at)))
    }
    fn host_memory(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Failure> {
        let at = self.alloc(bytes)?;
        Ok(Box::new(CpuMemory { queue: self.clone(), at, bytes: bytes as u64 }))
    }
    fn copy_buffer(&self, bytes: usize) -> Result<Box<dyn CopyBuffer>, Failure> {
        Ok(Box::new(CpuCopies { queue: self.clone(), size: bytes, copied: Vec::new() }))
    }

    fn load_kernel(&self, image: &[u8], name: &str) -> Result<Function, Failure> {
        self.call("load_kernel", |s| {
            let text =
                std::str::from_utf8(image).map_err(|e| Error::new(ErrorKind::Module, e.to_string()))?;
            let module = s.device.load(ModuleCode::Ptx(text))?;
            // SAFETY: the handle is a number of this queue.
            let function = unsafe { Function::foreign(s.handle()) };
            s.kernels.insert(function, (module, name.to_owned()));
            Ok(function)
        })
    }
    fn start_kernel(
        &self,
        kernel: Function,
        _: Stream,
        [x, y]: [u32; 2],
        threads: u32,
        params: &[&[u8]],
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        for param in params {
            bytes.resize(bytes.len().next_multiple_of(param.len().min(8)), 0);
            bytes.extend_from_slice(param);
        }
        let (grid, block) = (Dim3 { x, y, z: 1 }, Dim3 { x: threads, y: 1, z: 1 });
        let config = LaunchConfig { grid, block, ..LaunchConfig::default() };
        self.call("start_kernel", |s| {
            let (module, name) = s.kernels[&kernel].clone();
            s.device.launch(module, &name, &config, &bytes).map(drop)
        })
    }
}

/// Memory of the device, which the host reads at any time.
struct CpuMemory {
    queue: CpuQueue,
    at: u64,
    bytes: u64,
}

impl HostMemory for CpuMemory {
    fn device(&self) -> u64 {
        self.at
    }
    fn copy(&self, at: u64, bytes: u64) -> Option<Vec<u8>> {
        let end = at.checked_add(bytes)?;
        if at < self.at || end > self.at + self.bytes {
            return None;
        }
        let mut copy = vec![0; bytes as usize];
        self.queue.lock().device.read(DevicePtr(at), &mut copy).ok()?;
        Some(copy)
    }
}

/// Copies, each of which has ended when its call returns.
struct CpuCopies {
    queue: CpuQueue,
    size: usize,
    copied: Vec<u8>,
}

impl CopyBuffer for CpuCopies {
    fn size(&self) -> usize {
        self.size
    }
    fn done(&mut self) -> Result<bool, Failure> {
        Ok(true)
    }
    fn copy_from_device(&mut self, _: Stream, parts: &[(u64, usize)]) -> Result<(), Failure> {
        self.copied.clear();
        for (at, bytes) in parts {
            let begin = self.copied.len();
            self.copied.resize(begin + bytes, 0);
            let to = &mut self.copied[begin..];
            self.queue.call("copy_from_device", |s| s.device.read(DevicePtr(*at), to))?;
        }
        assert!(self.copied.len() <= self.size, "the parts do not fit");
        Ok(())
    }
    fn copy_to_device(&mut self, _: Stream, parts: &[(u64, &[u8])]) -> Result<(), Failure> {
        for (at, bytes) in parts {
            self.queue.call("copy_to_device", |s| s.device.write(DevicePtr(*at), bytes))?;
        }
        Ok(())
    }
    fn zero_device(&mut self, _: Stream, parts: &[(u64, usize)]) -> Result<(), Failure> {
        for (at, bytes) in parts {
            self.queue.call("zero_device", |s| s.device.fill(DevicePtr(*at), *bytes as u64, 0))?;
        }
        Ok(())
    }
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.copied)
    }
    fn append_to(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.copied);
    }
}
