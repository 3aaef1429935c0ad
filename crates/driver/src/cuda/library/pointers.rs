//! Looks up the memory behind an address, and launches PRLX's own kernels in streams of the program.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::collections::{BTreeMap, HashSet};
use std::ffi::c_void;
use std::ptr::null_mut;

use super::super::calls::pointer;
use crate::cuda::library::open::Library;
use crate::queue::Failure;
use crate::queue::handles::{Function, Stream};

/// Largest allocation of the host that a device reads for a digest. Programs have flags and counters in host
/// memory; larger buffers are for copies.
const MOST_HOST_BYTES: u64 = 64 << 10;

/// Memory that the driver knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointerInfo {
    /// Kind of the memory (`CUmemorytype`).
    pub kind: u32,
    /// Ordinal of the device.
    pub device: u32,
    /// Whether the memory is managed: its pages migrate to the processor that uses them.
    pub managed: bool,
    /// Whether the current context's device may read the memory.
    pub readable: bool,
    /// Begin address of the allocation.
    pub start: u64,
    /// Begin address of the part that is backed by memory and that these answers hold for.
    from: u64,
    /// End address of the allocation, or of its part that is backed by memory.
    pub end: u64,
}

impl PointerInfo {
    /// Whether this is memory of that device alone, which its kernels may read.
    pub fn is_own_memory_of(&self, device: u32) -> bool {
        self.kind == pointer::DEVICE && !self.managed && self.device == device && self.readable
    }

    /// Whether this is page-locked memory of the host, of at most `MOST_HOST_BYTES`, which the current
    /// context's device may read.
    pub fn is_small_host_memory(&self) -> bool {
        let small = self.end - self.start <= MOST_HOST_BYTES;
        self.kind == pointer::HOST && !self.managed && self.readable && small
    }
}

impl Library {
    /// Looks up the memory at an address; `None` if the driver does not know the address.
    pub fn pointer_info(&self, at: u64) -> Option<PointerInfo> {
        use pointer::{
            ACCESS_FLAGS, DEVICE_ORDINAL, IS_MANAGED, MAPPED, MAPPING_SIZE, MAPPING_START, MEMORY_TYPE,
            RANGE_SIZE, RANGE_START,
        };
        let mut asked = [
            MEMORY_TYPE,
            DEVICE_ORDINAL,
            IS_MANAGED,
            MAPPED,
            ACCESS_FLAGS,
            RANGE_START,
            RANGE_SIZE,
            MAPPING_START,
            MAPPING_SIZE,
        ];
        // No answer has more than eight bytes. Shorter ones fill the first bytes, as this is a little-endian
        // machine.
        let mut answers = [0u64; 9];
        let mut places = answers.each_mut().map(|a| (&raw mut *a).cast::<c_void>());
        call!(self.cuPointerGetAttributes(asked.len() as u32, asked.as_mut_ptr(), places.as_mut_ptr(), at))
            .ok()?;
        let [kind, device, managed, mapped, access, start, size, from, length] = answers;
        let end = start.checked_add(size)?;
        // Only a part of a reserved address range may be backed by memory.
        let (from, end) = match length {
            0 => (start, end),
            _ => (start.max(from), end.min(from.checked_add(length)?)),
        };
        let readable = mapped != 0 && access as u32 & pointer::READ != 0 && end > at;
        let info = PointerInfo {
            kind: kind as u32,
            device: device as u32,
            managed: managed != 0,
            readable,
            start,
            from,
            end: end.max(at),
        };
        (info.kind != 0).then_some(info)
    }

    /// Launches a kernel in a stream. `params` has one slice for each parameter.
    pub fn launch_in_stream(
        &self,
        function: Function,
        stream: Stream,
        [x, y]: [u32; 2],
        threads: u32,
        params: &[&[u8]],
    ) -> Result<(), Failure> {
        let mut each: Vec<*mut c_void> = params.iter().map(|p| p.as_ptr().cast_mut().cast()).collect();
        let (each, none) = (each.as_mut_ptr(), null_mut());
        call!(self.cuLaunchKernel(function.0, x, y, 1, threads, 1, 1, 0, stream.0, each, none))
    }
}

/// Looks up pointers among parameters of launches. Caching allocators put many arrays into one allocation, so
/// the driver, whose answers take longer, is asked once for each.
pub struct PointerLookup {
    library: Library,
    /// Answers by their begin address.
    known: BTreeMap<u64, PointerInfo>,
    /// Words that are no addresses of memory that the driver knows.
    unknown: HashSet<u64>,
}

impl PointerLookup {
    /// Knows nothing yet.
    pub fn new(library: Library) -> PointerLookup {
        PointerLookup { library, known: BTreeMap::new(), unknown: HashSet::new() }
    }

    /// The pointers among parameters: words of 8 bytes, at multiples of 8 within one parameter, whose value
    /// lies in memory that the driver knows. `places` has offset and size of each parameter. Returns the byte
    /// offset of each pointer, its value, and what it leads to.
    pub fn pointers(&mut self, params: &[u8], places: &[(usize, usize)]) -> Vec<(u32, u64, PointerInfo)> {
        let mut found: Vec<(u32, u64, PointerInfo)> = Vec::new();
        for (at, size) in places {
            for word in (at.next_multiple_of(8)..).step_by(8).take_while(|w| w + 8 <= at + size) {
                let Some(value) = params.get(word..).and_then(|p| p.first_chunk()) else { break };
                let value = u64::from_le_bytes(*value);
                found.extend(self.info(value).map(|info| (word as u32, value, info)));
            }
        }
        found
    }

    fn info(&mut self, value: u64) -> Option<PointerInfo> {
        let below = self.known.range(..=value).next_back();
        if let Some((_, info)) = below.filter(|(_, info)| value < info.end) {
            return Some(*info);
        }
        // No device has memory in the first page.
        if value < 4096 || self.unknown.contains(&value) {
            return None;
        }
        let asked = self.library.pointer_info(value);
        match asked {
            Some(info) => {
                self.known.insert(info.from, info);
            }
            None => {
                self.unknown.insert(value);
            }
        }
        asked
    }
}
