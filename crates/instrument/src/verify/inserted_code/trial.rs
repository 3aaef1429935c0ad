//! One piece of inserted code in one sample state.

use super::memory::Memory;
use super::piece::{InsertedPiece, Live, Work, each};
use super::routine;
use super::sample::{self, PARAMETERS};

use crate::ptx::{Text, temporary_type};
use crate::routines::Line;
use crate::verify::machine::mix;

/// A piece in a sample.
pub(super) struct Trial<'t, P> {
    pub(super) piece: &'t P,
    pub(super) lines: &'t [Line<'t>],
    /// State between pieces, and its bits.
    pub(super) state: &'t [(&'t str, u32)],
    pub(super) lanes: &'t sample::Lanes,
    pub(super) seed: u64,
}

impl<P: InsertedPiece> Trial<'_, P> {
    pub(super) fn run(&self, begin: &P::Wave) -> Result<(), String> {
        let mut before = begin.clone();
        let mut live = self.live(begin);
        self.piece.put(&mut before, &live);
        let mut wave = before.clone();
        match self.piece.work() {
            Work::Routine(text) => {
                let memory = self.routine(text, &before, &mut live)?;
                self.piece.execute(&mut wave, self.lines)?;
                if let Some(at) = P::memory(&wave).differs(&memory) {
                    let (is, wanted) = (P::memory(&wave).read(at, 4), memory.read(at, 4));
                    return Err(format!("memory at {at:#x} becomes {is:#x}, expected {wanted:#x}"));
                }
            }
            Work::Depart(number) => {
                let leave = live.present & !live.exec;
                each(leave).for_each(|lane| live.away[lane] = *number);
                live.present &= live.exec;
                self.piece.execute(&mut wave, self.lines)?;
            }
            Work::Rejoin(number) => {
                let back = each(live.launched).filter(|lane| live.away[*lane] == *number);
                live.present |= back.fold(0, |mask, lane| mask | 1 << lane);
                self.piece.execute(&mut wave, self.lines)?;
            }
        }
        if live.present == 0 && live.events.is_some() {
            // Where no lane is with the wave, an event may be counted that none has.
            live.events = self.piece.events(&wave);
        }
        // The rest must be as before.
        self.piece.put(&mut before, &live);
        self.piece.compare(&wave, &before)
    }

    /// What is live between pieces in this sample.
    fn live(&self, begin: &P::Wave) -> Live {
        let of = |salt: u64, lane: u32| mix(self.seed << 40 ^ salt << 8 ^ u64::from(lane));
        let numbers = match self.piece.work() {
            Work::Rejoin(number) | Work::Depart(number) => [*number, 0, number + 1],
            Work::Routine(_) => [0, 1, 2],
        };
        let away = (0..64).map(|lane| numbers[(of(7, lane) % 3) as usize]).collect();
        let state = self.state.iter().enumerate().map(|(i, (name, bits))| {
            let value = |lane: u32| match bits {
                64 => sample::wide(self.seed << 16 ^ i as u64, lane),
                _ => u64::from(sample::value(of(100 + i as u64, lane))),
            };
            ((*name).to_owned(), std::array::from_fn(|lane| value(lane as u32)))
        });
        let sample::Lanes { launched, present, exec } = *self.lanes;
        let events = self.piece.events(begin).map(|_| mix(self.seed ^ 0x3b) as u32);
        Live { exec, launched, present, warp: sample::WARP, events, away, state: state.collect() }
    }

    /// Runs the routine. Returns the memory behind it.
    fn routine(&self, text: &Text, wave: &P::Wave, live: &mut Live) -> Result<Memory, String> {
        let bits = |name: &str| {
            let of_state = self.state.iter().find(|(own, _)| *own == name).map(|(_, bits)| *bits);
            let declared = text.declared.iter().find(|(_, own)| own == name).map(|(ty, _)| *ty);
            of_state.or_else(|| match declared.or_else(|| temporary_type(name))? {
                ".pred" => Some(1),
                ty => ty.get(2..)?.parse().ok(),
            })
        };
        let mut lanes = routine::Lanes {
            present: live.present,
            bits: &bits,
            outer: &|name, predicate| self.piece.register(wave, name, predicate),
            registers: std::mem::take(&mut live.state),
            parameters: PARAMETERS,
            warp: live.warp,
            environment: self.piece.environment(),
            events: live.events,
            memory: P::memory(wave).clone(),
        };
        lanes.run(self.lines)?;
        (live.warp, live.events) = (lanes.warp, lanes.events);
        live.state = lanes.registers;
        Ok(lanes.memory)
    }
}
