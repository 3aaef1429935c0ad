//! What instrumented code does with memory, in Rust: an independent second writer of streams.

use std::collections::HashMap;

use prlx_trace::device::{CHUNK_ROWS, Context, Head, HiddenParameter, Shape};
use prlx_trace::{Level, WarpSize};

use crate::fake::Memory;

impl Memory {
    pub fn u64(&mut self, at: u64) -> u64 {
        u64::from_le_bytes(self.range(at, 8).unwrap().try_into().unwrap())
    }
}

/// The recording side of a kernel, as `prlx_trace::device` words it: one cursor a lane, chunks taken when a
/// row part is 0.
pub struct Lanes<'a> {
    pub memory: &'a mut Memory,
    pub context: Context,
    shape: Shape,
    warp_size: WarpSize,
    cursors: HashMap<(u64, u64), u64>,
}

impl<'a> Lanes<'a> {
    /// From the hidden parameter at the end of `params`.
    pub fn new(memory: &'a mut Memory, level: Level, warp_size: WarpSize, params: &[u8]) -> Lanes<'a> {
        let at = HiddenParameter::read(&params[params.len() - HiddenParameter::SIZE..]).unwrap().context;
        let context = Context::read(memory.range(at, Context::SIZE).unwrap()).unwrap();
        Lanes { memory, context, shape: Shape::of(level, warp_size), warp_size, cursors: HashMap::new() }
    }
    /// Where the head is that a lane uses.
    pub fn head(&self, warp: u64, lane: u64) -> u64 {
        let n = self.shape.heads(self.warp_size);
        self.context.heads + (warp * n + if n == 1 { 0 } else { lane }) * Head::SIZE as u64
    }
    /// Writes one element.
    pub fn store(&mut self, warp: u64, lane: u64, element: &[u8]) {
        let (chunk, row) = (self.shape.chunk(), self.shape.row());
        let start = if self.shape.lanes == 1 { 0 } else { lane * self.shape.element };
        let mut at = *self.cursors.entry((warp, lane)).or_insert(start);
        if at % chunk < row {
            // The cursor ran off its chunk (or never had one): the link is in row 0 of the one before.
            let link = if at < chunk { self.head(warp, lane) } else { at - start - chunk };
            let mut next = self.memory.u64(link);
            if next == 0 {
                let cursor = self.context.cursor;
                let offset = self.memory.u64(cursor);
                self.memory.set(cursor, &(offset + chunk).to_le_bytes());
                next = if offset + chunk <= self.context.size {
                    self.context.pool + offset
                } else {
                    self.context.bucket
                };
                self.memory.set(link, &next.to_le_bytes());
            }
            at = next + row + start;
        }
        self.memory.set(at, element);
        if at - at % chunk == self.context.bucket {
            let dropped = self.head(warp, lane) + Head::offset("dropped") as u64;
            let n = self.memory.u64(dropped) + 1;
            self.memory.set(dropped, &n.to_le_bytes());
        }
        self.cursors.insert((warp, lane), at + row);
    }
    /// How many rows a chunk has for elements.
    pub fn rows() -> u64 {
        CHUNK_ROWS - 1
    }
}
