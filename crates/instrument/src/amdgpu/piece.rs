//! Pieces of inserted code, as the verifier needs to know them: what each must do, and where what is live
//! between pieces lies. It is written down before anything is compiled.

use std::ops::Range;
use std::rc::Rc;

use prlx_isa::amdgpu::inst::{Bank, Value};
use rustc_hash::FxHashMap;

use super::allocation::Special;
use super::numbers::{Place, Set};
use super::registers::Registers;
use super::spill::{Home, Store};
use crate::verify::inserted_code::Work;

/// A piece of inserted code.
pub(crate) struct Piece {
    /// Its function in the module.
    pub function: usize,
    pub work: Work,
    /// Where a kernel finds special registers when it begins, if the piece runs there.
    pub specials: FxHashMap<&'static str, Special>,
    pub homes: Rc<Homes>,
    /// Registers that must be the same behind it, but for homes: those that hold something, and those that a
    /// load may still write.
    pub kept: Set,
    /// Whether SCC must be the same behind it.
    pub keeps_scc: bool,
    /// Its words in the code, when that is finished.
    pub words: Range<usize>,
}

/// Where a scalar register is between pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarHome {
    /// In a scalar register.
    Register(u8),
    /// In a lane of a vector register.
    Lane(VectorHome, u8),
}

/// Where a word of each lane is between pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VectorHome {
    Vector(u8),
    Accumulation(u8),
    /// In scratch memory of the lane, at this offset.
    Scratch(u32),
}

/// Where what is live between pieces lies.
#[derive(Clone, Debug)]
pub(crate) struct Homes {
    /// Lanes that the wave began with, as words of a mask.
    pub launched: Vec<ScalarHome>,
    /// Lanes that are where the wave is.
    pub present: Vec<ScalarHome>,
    /// Address of the hidden parameter.
    pub parameters: Vec<ScalarHome>,
    /// Number of the warp in the grid.
    pub warp: ScalarHome,
    /// Number of events of the wave so far.
    pub events: Option<ScalarHome>,
    /// Where a lane that left the wave waits.
    pub away: VectorHome,
    /// State of lanes by name: its words, low one first.
    pub state: Vec<(String, Vec<VectorHome>)>,
    /// The first accumulation register and the first byte of scratch memory that hold nothing between pieces.
    pub free_accumulation: u32,
    pub free_scratch: u32,
}

impl Homes {
    /// Those of registers of inserted code.
    pub(super) fn of(registers: &Registers) -> Homes {
        let scalar = |number: u8| {
            let Some(borrowed) = &registers.borrowed else { return ScalarHome::Register(number) };
            let home = match borrowed.passed {
                None => VectorHome::Vector(borrowed.kept),
                Some(passed) => slot(passed.store, passed.slot),
            };
            let lane = borrowed.state.iter().position(|own| *own == number);
            lane.map_or(ScalarHome::Register(number), |lane| ScalarHome::Lane(home, lane as u8))
        };
        let mask = |value| match value {
            Value::Registers { bank: Bank::Scalar, first, count } => {
                (first..first + count).map(scalar).collect()
            }
            _ => Vec::new(),
        };
        let store = registers.spill.as_ref().map(|spill| spill.store);
        let words = |home: Home| match (home, store) {
            (Home::Register(Place { first, wide }), _) => {
                (first..=first + u8::from(wide)).map(VectorHome::Vector).collect()
            }
            (Home::Slot(first, wide), Some(store)) => {
                (first..=first + u32::from(wide)).map(|at| slot(store, at)).collect()
            }
            (Home::Slot(..), None) => Vec::new(),
        };
        let mut state: Vec<(String, Vec<VectorHome>)> = match &registers.spill {
            None => {
                let own = registers.state.iter();
                own.map(|(name, place)| (name.clone(), words(Home::Register(*place)))).collect()
            }
            Some(spill) => spill.state.iter().map(|(name, home)| (name.clone(), words(*home))).collect(),
        };
        state.sort_by(|a, b| a.0.cmp(&b.0));
        let (mut free_accumulation, mut free_scratch) = (256, u32::MAX);
        let slots = registers.spill.as_ref().map_or(0, |spill| spill.slots);
        match store {
            Some(Store::Accumulation(first)) => free_accumulation = first + slots,
            Some(Store::Scratch(first)) => free_scratch = first + 4 * slots,
            None => {}
        }
        Homes {
            launched: mask(registers.launched),
            present: mask(registers.present),
            parameters: [registers.parameters, registers.parameters + 1].map(scalar).to_vec(),
            warp: scalar(registers.warp),
            events: registers.events.map(scalar),
            away: words(registers.away).first().copied().unwrap_or(VectorHome::Scratch(0)),
            state,
            free_accumulation,
            free_scratch,
        }
    }
}

fn slot(store: Store, slot: u32) -> VectorHome {
    match store {
        // A store has no more slots than there are registers.
        Store::Accumulation(first) => VectorHome::Accumulation((first + slot).min(255) as u8),
        Store::Scratch(first) => VectorHome::Scratch(first + 4 * slot),
    }
}
