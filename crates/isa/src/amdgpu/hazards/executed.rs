//! Hazards along the instructions that a wave executes.
//!
//! # Invariants
//! - Each instruction is compared with those that the wave executed before it, in whatever function. A way
//!   that no wave takes has no hazard.

use super::super::Family::Gfx12;
use super::super::inst::Reg;
use super::traits::{
    CMPX, MATRIX, PERMLANE, SA_SDST, Traits, VA_SDST, VA_VCC, VA_VDST, VALU, VECTOR_NOP, number,
};
use super::{Code, Need, State};

/// What a wave has executed.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    state: State,
    /// By number of an SGPR: the instruction that wrote it last.
    writers: Vec<Option<u32>>,
    /// The last vector instruction.
    vector: Option<u32>,
    /// The last vector instruction that is not `v_nop`.
    busy: Option<u32>,
}

/// An instruction that came too early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Early {
    /// What goes wrong.
    pub what: &'static str,
    /// The instruction before it that it must wait for, if that is known.
    pub before: Option<usize>,
    /// Wait states that are needed between the two, and how many there were. `None` if no number of wait
    /// states is enough.
    pub states: Option<(u8, u8)>,
    /// An instruction before it that waits.
    pub remedy: String,
}

impl Executed {
    /// Executes instruction `at`. Returns what it should have waited for.
    pub fn step(&mut self, code: &Code, at: usize) -> Option<Early> {
        let now = &code.traits[at];
        let need = self.state.need(code, at);
        let early = if need.is_none() { self.order(code, now) } else { Some(self.early(code, now, need)) };
        // Counters that were not waited for are reported once.
        self.state.waited(need.depctr);
        self.state.step(code, at);
        if now.kinds & VALU != 0 {
            self.vector = Some(at as u32);
            if now.kinds & VECTOR_NOP == 0 {
                self.busy = self.vector;
            }
        }
        if code.tracks_scalars() {
            for n in now.writes.iter().filter_map(|reg| number(*reg)) {
                if self.writers.len() <= n as usize {
                    self.writers.resize(n as usize + 1, None);
                }
                self.writers[n as usize] = Some(at as u32);
            }
        }
        early
    }

    fn early(&self, code: &Code, now: &Traits, need: Need) -> Early {
        if need.states > 0 {
            let (before, had) = need.since.map_or((None, 0), |(at, had)| (Some(at as usize), had));
            let nops: Vec<String> = match need.states {
                0..=8 => vec![format!("s_nop {}", need.states - 1)],
                more => vec!["s_nop 7".into(); usize::from(more / 8)]
                    .into_iter()
                    .chain((more % 8 > 0).then(|| format!("s_nop {}", more % 8 - 1)))
                    .collect(),
            };
            let states = Some((need.states.saturating_add(had), had));
            return Early { what: need.what, before, states, remedy: nops.join("`, `") };
        }
        let fields = [(VA_VDST, "va_vdst"), (VA_SDST, "va_sdst"), (VA_VCC, "va_vcc"), (SA_SDST, "sa_sdst")];
        let fields = fields.iter().filter(|(bits, _)| need.depctr & bits == *bits);
        let fields: Vec<String> = fields.map(|(_, name)| format!("depctr_{name}(0)")).collect();
        let wait = if code.target.family() == Gfx12 { "s_wait_alu" } else { "s_waitcnt_depctr" };
        let written = |reg: &Reg| self.writers.get(number(*reg)? as usize).copied().flatten();
        let before = match need.since {
            Some((at, _)) => Some(at),
            None => now.reads.iter().filter_map(written).next_back(),
        };
        let remedy = format!("{wait} {}", fields.join(" "));
        Early { what: need.what, before: before.map(|at| at as usize), states: None, remedy }
    }

    /// Hazards of gfx11 and gfx12 that another vector instruction between the two ends:
    /// `fixVcmpxPermlaneHazards` and `fixWMMAHazards`.
    fn order(&self, code: &Code, now: &Traits) -> Option<Early> {
        if code.target.family() < super::Gfx11 {
            return None;
        }
        let of = |at: Option<u32>| at.and_then(|at| Some((at as usize, code.traits.get(at as usize)?)));
        let (what, before, remedy) = match (now.kinds & MATRIX != 0, now.kinds & PERMLANE != 0) {
            (true, _) => {
                let (at, before) = of(self.vector).filter(|(_, before)| before.kinds & MATRIX != 0)?;
                before.writes.iter().find(|reg| now.multiplied.contains(reg))?;
                ("a matrix product multiplies the result of another one", at, "v_nop")
            }
            (_, true) => {
                let (at, _) = of(self.busy).filter(|(_, before)| before.kinds & CMPX != 0)?;
                ("lanes are exchanged behind a comparison that writes EXEC", at, "v_mov_b32 v0, v0")
            }
            _ => return None,
        };
        Some(Early { what, before: Some(before), states: None, remedy: remedy.into() })
    }
}
