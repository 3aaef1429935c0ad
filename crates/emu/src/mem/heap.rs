//! The heap of `malloc` in kernels: one allocation of the device, handed out in blocks.
//!
//! # Limitations
//! An access is checked against the whole heap, not against its block. The bounds check examines blocks
//! ([`crate::check`]).

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::error::{EmuError, invalid};

/// Bytes of the heap: the default of CUDA.
pub const SIZE: u64 = 8 << 20;

/// The heap: free and used blocks, by address.
#[derive(Debug, Default)]
pub struct Heap {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: bool,
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// Whether the heap has memory.
    pub fn ready(&self) -> bool {
        self.state.lock().is_ok_and(|s| s.ready)
    }
    /// Gives the heap its memory, [`SIZE`] bytes at `base`.
    pub fn begin(&self, base: u64) {
        if let Ok(mut s) = self.state.lock() {
            s.ready = true;
            s.free.insert(base, SIZE);
        }
    }
    /// Allocates a block, aligned to 16; returns 0 if there is no room.
    pub fn malloc(&self, bytes: u64) -> u64 {
        let Some(size) = bytes.max(1).checked_next_multiple_of(16) else { return 0 };
        let Ok(mut s) = self.state.lock() else { return 0 };
        let Some((&at, &have)) = s.free.iter().find(|&(_, &n)| n >= size) else { return 0 };
        s.free.remove(&at);
        if have > size {
            s.free.insert(at + size, have - size);
        }
        s.used.insert(at, size);
        at
    }
    /// Frees a block. Freeing 0 does nothing.
    ///
    /// # Errors
    /// `at` is not the address of a used block.
    pub fn free(&self, at: u64) -> Result<(), EmuError> {
        let Ok(mut s) = self.state.lock() else { return Ok(()) };
        if at == 0 {
            return Ok(());
        }
        let Some(mut size) = s.used.remove(&at) else {
            return Err(invalid(format!("frees {at:#x}, which `malloc` did not give or which was freed")));
        };
        let mut start = at;
        if let Some(n) = s.free.remove(&(at + size)) {
            size += n;
        }
        if let Some((&before, &n)) = s.free.range(..at).next_back()
            && before + n == at
        {
            start = before;
            size += n;
        }
        s.free.insert(start, size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back() {
        let h = Heap::default();
        h.begin(4096);
        let a = h.malloc(10);
        let b = h.malloc(100);
        assert_eq!((a, b), (4096, 4112));
        assert_eq!(h.malloc(SIZE), 0);
        h.free(a).unwrap();
        assert!(h.free(a).is_err());
        h.free(b).unwrap();
        assert_eq!(h.malloc(SIZE), 4096);
    }
}
