//! Streams. Work waits in its stream's queue until a call waits for it or queries it.
//!
//! Work has a number that ascends over the device. It runs after the work before it in its stream, and after
//! the work it waits for: an event's, or, between the legacy stream and blocking streams, everything that
//! came before.
//!
//! # Invariants
//! - Work runs as late as possible: a program that reads its result too early reads old data.
//! - A query runs one piece of work, so repeated queries finish the stream.
//! - At most [`MAX_WAITING`] pieces wait, except in streams that a test holds back. A wait for held work
//!   lasts until the test releases it.
//!
//! # Limitations
//! Two kernels never run at once. Priorities are ignored. Destroying a stream waits for it.

use std::thread::current;
use std::time::Instant;

use prlx_driver::cuda::calls::stream::{LEGACY, PER_THREAD};

use crate::codes::{Result, code};
use crate::device::state::Device;
use crate::streams::data::{QueuedWork, Stream};
use crate::work::Work;

/// Maximum number of pieces of work that wait. If there are more, the oldest run.
const MAX_WAITING: usize = 1000;

impl Device {
    /// The stream behind a handle. `per_thread`: the null stream is the thread's own default stream.
    pub fn stream(&mut self, handle: u64, per_thread: bool) -> Result<u64> {
        match handle {
            0 if !per_thread => self.streams.all.entry(LEGACY).or_default(),
            LEGACY => self.streams.all.entry(LEGACY).or_default(),
            0 | PER_THREAD => {
                let me = current().id();
                let known = self.streams.per_thread.iter().find(|(_, t)| **t == me).map(|(s, _)| *s);
                let stream = known.unwrap_or_else(|| self.handle());
                self.streams.per_thread.insert(stream, me);
                self.streams.all.entry(stream).or_default();
                return Ok(stream);
            }
            other => self.streams.all.get_mut(&other).ok_or(code::INVALID_HANDLE)?,
        };
        Ok(if handle == 0 { LEGACY } else { handle })
    }

    /// Creates a stream.
    pub fn stream_create(&mut self, non_blocking: bool) -> Result<u64> {
        self.ready()?;
        let stream = self.handle();
        self.streams.all.insert(stream, Stream { non_blocking, ..Stream::default() });
        Ok(stream)
    }

    /// Destroys a stream after its work is done.
    pub fn stream_destroy(&mut self, stream: u64) -> Result<()> {
        self.ready()?;
        let found =
            self.streams.all.get(&stream).filter(|_| stream > PER_THREAD).ok_or(code::INVALID_HANDLE)?;
        if found.capture.is_some() {
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        self.wait_for(stream, u64::MAX)?;
        self.streams.all.remove(&stream);
        Ok(())
    }

    /// Puts work into a stream, or into the graph that the stream is captured for.
    pub fn put(&mut self, stream: u64, work: Work) -> Result<()> {
        if let Some((capture, after)) =
            self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?.capture.clone()
        {
            let node = self.captured(capture, after, work)?;
            if let Some(s) = self.streams.all.get_mut(&stream) {
                s.capture = Some((capture, vec![node]));
            }
            return Ok(());
        }
        if stream == LEGACY {
            self.implicit()?;
        }
        let after = match stream {
            LEGACY => {
                self.streams.all.iter().filter(|(_, s)| !s.non_blocking).map(|(&k, s)| (k, s.last)).collect()
            }
            _ if self.streams.all[&stream].non_blocking => Vec::new(),
            _ => self.streams.all.get(&LEGACY).map(|s| (LEGACY, s.last)).into_iter().collect(),
        };
        self.queue(stream, after, work);
        Ok(())
    }

    /// Appends work that runs after `after`: pairs of a stream and a work number.
    fn queue(&mut self, stream: u64, after: Vec<(u64, u64)>, work: Work) {
        self.streams.number += 1;
        let number = self.streams.number;
        if let Some(s) = self.streams.all.get_mut(&stream) {
            s.waiting.push_back(QueuedWork { number, after, work, ran: None });
            s.last = number;
        }
        while self.streams.all.values().map(|s| s.waiting.len()).sum::<usize>() > MAX_WAITING && self.step() {
        }
    }

    /// Breaks a capture of a blocking stream, and fails: the legacy stream would have to wait for that
    /// stream.
    pub fn implicit(&mut self) -> Result<()> {
        let captured = self.streams.all.values().find(|s| !s.non_blocking && s.capture.is_some());
        match captured.and_then(|s| s.capture.as_ref()).map(|c| c.0) {
            Some(capture) => {
                self.invalidate(capture);
                Err(code::CAPTURE_IMPLICIT)
            }
            None => Ok(()),
        }
    }

    /// Runs the work of a stream up to a number, and the work that it waits for. Returns whether all of it is
    /// done.
    pub fn finish(&mut self, stream: u64, number: u64) -> bool {
        loop {
            let Some(s) = self.streams.all.get(&stream) else { return true };
            let Some(first) = s.waiting.front().filter(|i| i.number <= number) else { return true };
            if s.on_hold {
                return false;
            }
            for (other, upto) in first.after.clone() {
                if other != stream && !self.finish(other, upto) {
                    return false;
                }
            }
            let min_time = self.streams.min_kernel_time;
            let Some(s) = self.streams.all.get_mut(&stream) else { return true };
            if let Some(first) = s.waiting.front_mut() {
                if matches!(first.work, Work::Launch { .. }) && !min_time.is_zero() {
                    // The kernel runs now and counts as running for its minimum time.
                    first.ran = Some(Instant::now());
                    let work = std::mem::replace(&mut first.work, Work::Nothing);
                    self.perform(work);
                    continue;
                }
                if first.ran.is_some_and(|ran| ran.elapsed() < min_time) {
                    return false;
                }
            }
            let item = s.waiting.pop_front();
            self.perform(item.map_or(Work::Nothing, |i| i.work));
        }
    }

    /// As [`Device::finish`], for a call that waits. [`code::BUSY`] makes the call run again.
    pub fn wait_for(&mut self, stream: u64, number: u64) -> Result<()> {
        if self.finish(stream, number) { Ok(()) } else { Err(code::BUSY) }
    }

    /// Waits for the work of all streams.
    pub fn wait_for_all(&mut self) -> Result<()> {
        let streams: Vec<u64> = self.streams.all.keys().copied().collect();
        streams.into_iter().map(|s| self.wait_for(s, u64::MAX)).fold(Ok(()), Result::and)
    }

    /// Runs the oldest piece of work that can run. Returns whether there was one.
    pub fn step(&mut self) -> bool {
        let first = |(&k, s): (&u64, &Stream)| Some((s.waiting.front()?.number, k));
        let mut all: Vec<(u64, u64)> = self.streams.all.iter().filter_map(first).collect();
        all.sort_unstable();
        all.into_iter().any(|(number, stream)| self.finish(stream, number))
    }

    /// Holds a stream's work back, or lets it run again.
    pub fn hold(&mut self, stream: u64, on_hold: bool) -> Result<()> {
        self.streams.all.get_mut(&stream).ok_or(code::INVALID_HANDLE)?.on_hold = on_hold;
        Ok(())
    }

    /// Whether work waits in a stream.
    pub fn busy(&self, stream: u64) -> bool {
        self.streams.all.get(&stream).is_some_and(|s| !s.waiting.is_empty())
    }

    /// Makes later work of a stream wait for an event.
    pub fn stream_wait(&mut self, stream: u64, event: u64) -> Result<()> {
        self.ready()?;
        let found = self.streams.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        let (at, captured) = (found.at, found.captured.clone());
        let s = self.streams.all.get_mut(&stream).ok_or(code::INVALID_HANDLE)?;
        match (captured, &mut s.capture) {
            (Some((from, _)), Some((into, _))) if from != *into => Err(code::CAPTURE_ISOLATION),
            (Some((_, nodes)), Some((_, after))) => {
                after.extend(nodes);
                after.sort_unstable();
                after.dedup();
                Ok(())
            }
            // The stream joins the capture.
            (Some(join), none) => {
                *none = Some(join);
                Ok(())
            }
            (None, Some((capture, _))) => {
                let capture = *capture;
                self.invalidate(capture);
                Err(code::CAPTURE_ISOLATION)
            }
            (None, None) => {
                let after = at.into_iter().collect();
                self.queue(stream, after, Work::Nothing);
                Ok(())
            }
        }
    }

    /// Waits for the work of a stream.
    pub fn stream_synchronize(&mut self, stream: u64) -> Result<()> {
        self.ready()?;
        self.not_captured(stream)?;
        self.wait_for(stream, u64::MAX)?;
        self.ready()
    }

    /// Fails with `NOT_READY` if work waits in a stream. Runs one piece of work first.
    pub fn stream_query(&mut self, stream: u64) -> Result<()> {
        self.ready()?;
        self.not_captured(stream)?;
        self.step();
        self.ready()?;
        if self.busy(stream) { Err(code::NOT_READY) } else { Ok(()) }
    }

    /// Breaks the capture of a captured stream, and fails: its work never runs, so no call can wait for it.
    fn not_captured(&mut self, stream: u64) -> Result<()> {
        match self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?.capture.as_ref().map(|c| c.0) {
            Some(capture) => {
                self.invalidate(capture);
                Err(code::CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }
}
