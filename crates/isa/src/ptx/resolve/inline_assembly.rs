//! Blocks of inline assembly, as LLVM's comments delimit them, and their locations.
//!
//! LLVM writes a `.loc` for each line of such a block and counts the line of the source up, as if the text
//! were in the source from there on. Only the first `.loc` of a block is the place of the statement.

use std::ops::Range;

use crate::view::Span;

/// The comment before a block.
const BEGIN: &str = "// begin inline asm";
/// The comment after it.
const END: &str = "// end inline asm";

/// The blocks of a function whose statements are met in order.
pub(super) struct InlineAssembly {
    /// Those that are left, the last first.
    blocks: Vec<Range<u32>>,
    /// Whether a location of the next block was met.
    met: bool,
}

impl InlineAssembly {
    /// The blocks in the text of a function.
    pub fn of(source: &str, function: Span) -> InlineAssembly {
        let (start, end) = (function.start as usize, function.end as usize);
        let text = source.get(start..end).unwrap_or_default();
        let place = |at: usize| function.start.saturating_add(at as u32);
        let (mut blocks, mut from) = (Vec::new(), 0);
        while let Some(begin) = text.get(from..).and_then(|rest| rest.find(BEGIN)).map(|at| from + at) {
            let end = text.get(begin..).and_then(|rest| rest.find(END)).map_or(text.len(), |at| begin + at);
            blocks.push(place(begin)..place(end));
            from = end;
        }
        blocks.reverse();
        InlineAssembly { blocks, met: false }
    }

    /// Whether a location at this offset is outside of blocks, or the first of its block.
    pub fn first_of_block(&mut self, at: u32) -> bool {
        while self.blocks.last().is_some_and(|block| block.end <= at) {
            self.blocks.pop();
            self.met = false;
        }
        let inside = self.blocks.last().is_some_and(|block| block.contains(&at));
        !(inside && std::mem::replace(&mut self.met, true))
    }
}
