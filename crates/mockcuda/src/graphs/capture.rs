//! Stream capture.
//!
//! # Invariants
//! - While a stream is captured, calls that could wait are refused and break the capture, as the thread's and
//!   the capture's modes require.
//! - The work of a captured stream becomes graph nodes and is not executed.
//! - A stream that joined the capture must have rejoined the origin stream when the capture ends.

use std::collections::BTreeSet;
use std::thread::current;

use prlx_driver::cuda::calls::capture as mode;

use crate::codes::{Result, code};
use crate::device::state::Device;
use crate::graphs::capture_mode::MODE;
use crate::graphs::data::{Capture, Graph};
use crate::work::Work;

impl Device {
    /// Breaks a capture that forbids calls which could wait, and fails. Which captures do depends on their
    /// mode and on the thread's mode (`cuThreadExchangeStreamCaptureMode`).
    pub fn unsafe_during_capture(&mut self) -> Result<()> {
        let (thread_mode, me) = (MODE.get(), current().id());
        let forbids = |c: &Capture| match thread_mode {
            mode::RELAXED => false,
            mode::GLOBAL => c.mode == mode::GLOBAL || c.thread == me && c.mode != mode::RELAXED,
            _ => c.thread == me && c.mode != mode::RELAXED,
        };
        match self.graphs.captures.values_mut().find(|c| !c.broken && forbids(c)) {
            Some(capture) => {
                capture.broken = true;
                Err(code::CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Whether any stream is captured.
    pub fn capturing(&self) -> bool {
        !self.graphs.captures.is_empty()
    }

    /// Breaks a capture.
    pub fn invalidate(&mut self, capture: u64) {
        if let Some(c) = self.graphs.captures.get_mut(&capture) {
            c.broken = true;
        }
    }

    /// Begins to capture a stream.
    pub fn capture_begin(&mut self, stream: u64, mode: i32) -> Result<()> {
        self.ready()?;
        if !(mode::GLOBAL..=mode::RELAXED).contains(&mode) {
            return Err(code::INVALID_VALUE);
        }
        let s = self.streams.all.get_mut(&stream).ok_or(code::INVALID_HANDLE)?;
        if s.capture.is_some() || stream == prlx_driver::cuda::calls::stream::LEGACY {
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        let (graph, capture) = (self.handle(), self.handle());
        let broken = false;
        self.graphs.graphs.insert(graph, Graph::default());
        let started = Capture { graph, origin: stream, mode, thread: current().id(), broken };
        self.graphs.captures.insert(capture, started);
        if let Some(s) = self.streams.all.get_mut(&stream) {
            s.capture = Some((capture, Vec::new()));
        }
        Ok(())
    }

    /// Ends a capture in the stream in which it began, and returns the graph.
    pub fn capture_end(&mut self, stream: u64) -> Result<u64> {
        self.ready()?;
        let s = self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?;
        let (id, last) = s.capture.clone().ok_or(code::INVALID_VALUE)?;
        let found = self.graphs.captures.get(&id).ok_or(code::INVALID_VALUE)?;
        if found.origin != stream {
            return Err(code::CAPTURE_UNMATCHED);
        }
        if found.mode != mode::RELAXED && found.thread != current().id() {
            return Err(code::CAPTURE_WRONG_THREAD);
        }
        let (graph, broken) = (found.graph, found.broken);
        self.graphs.captures.remove(&id);
        for s in self.streams.all.values_mut().filter(|s| s.capture.as_ref().is_some_and(|c| c.0 == id)) {
            s.capture = None;
        }
        // Every node must come before the end of the origin stream.
        let nodes = &self.graphs.graphs[&graph].nodes;
        let mut reached: BTreeSet<u64> = last.into_iter().collect();
        for node in nodes.iter().rev() {
            if reached.contains(&node.handle) {
                reached.extend(&node.after);
            }
        }
        let joined = nodes.iter().all(|n| reached.contains(&n.handle));
        if broken || !joined {
            self.graphs.graphs.remove(&graph);
            return Err(if broken { code::CAPTURE_INVALIDATED } else { code::CAPTURE_UNJOINED });
        }
        Ok(graph)
    }

    /// Status, number and graph of the capture of a stream, and the stream's last nodes.
    pub fn capture_info(&mut self, stream: u64) -> Result<(i32, u64, u64, &[u64])> {
        self.ready()?;
        let s = self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?;
        let Some((id, last)) = &s.capture else { return Ok((mode::STATUS[0], 0, 0, &[])) };
        let capture = self.graphs.captures.get(id).ok_or(code::UNKNOWN)?;
        Ok((mode::STATUS[1 + usize::from(capture.broken)], *id, capture.graph, last))
    }

    /// Adds a node with work of a captured stream, and returns it.
    pub fn captured(&mut self, capture: u64, after: Vec<u64>, work: Work) -> Result<u64> {
        let found = self.graphs.captures.get(&capture).ok_or(code::UNKNOWN)?;
        if found.broken {
            return Err(code::CAPTURE_INVALIDATED);
        }
        self.node_add(found.graph, after, work)
    }
}
