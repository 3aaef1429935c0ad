//! Events: recording, queries, waits and elapsed time.

use crate::codes::Result;
use crate::codes::code;
use crate::device::state::Device;
use crate::streams::data::Event;
use crate::work::Work;

impl Device {
    /// Creates an event.
    pub fn event(&mut self) -> Result<u64> {
        self.ready()?;
        let event = self.handle();
        self.streams.events.insert(event, Event::default());
        Ok(event)
    }

    /// Destroys an event.
    pub fn event_destroy(&mut self, event: u64) -> Result<()> {
        self.ready()?;
        self.streams.events.remove(&event).map(drop).ok_or(code::INVALID_HANDLE)
    }

    /// Records an event in a stream, or in the capture of the stream.
    pub fn event_record(&mut self, event: u64, stream: u64) -> Result<()> {
        self.ready()?;
        let capture = self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?.capture.clone();
        if capture.is_none() {
            self.put(stream, Work::Event(event))?;
        }
        let number = self.streams.number;
        let found = self.streams.events.get_mut(&event).ok_or(code::INVALID_HANDLE)?;
        match capture {
            Some(_) => found.captured = capture,
            None => *found = Event { at: Some((stream, number)), ..Event::default() },
        }
        Ok(())
    }

    /// Notes that an event has passed now.
    pub fn event_passed(&mut self, event: u64) {
        let time = self.clock;
        if let Some(e) = self.streams.events.get_mut(&event) {
            e.time = time;
        }
    }

    /// Stream and work number of an event that has not passed.
    fn pending(&self, event: u64) -> Result<Option<(u64, u64)>> {
        let event = self.streams.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        if event.captured.is_some() {
            return Err(code::CAPTURED_EVENT);
        }
        Ok(event.at.filter(|(stream, number)| {
            self.streams
                .all
                .get(stream)
                .is_some_and(|s| s.waiting.front().is_some_and(|i| i.number <= *number))
        }))
    }

    /// Fails with `NOT_READY` if an event has not passed. Runs one piece of work first.
    pub fn event_query(&mut self, event: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_during_capture()?;
        self.step();
        self.ready()?;
        if self.pending(event)?.is_some() { Err(code::NOT_READY) } else { Ok(()) }
    }

    /// Waits for an event.
    pub fn event_wait(&mut self, event: u64) -> Result<()> {
        self.ready()?;
        if let Some((stream, number)) = self.pending(event)? {
            self.wait_for(stream, number)?;
        }
        self.ready()
    }

    /// Milliseconds between two events, by the device's clock, on which a warp instruction takes 1 ns.
    pub fn elapsed(&self, start: u64, end: u64) -> Result<f32> {
        self.ready()?;
        if self.pending(start)?.is_some() || self.pending(end)?.is_some() {
            return Err(code::NOT_READY);
        }
        let at = |event: u64| self.streams.events[&event].time;
        Ok(at(end).saturating_sub(at(start)) as f32 / 1e6)
    }
}
