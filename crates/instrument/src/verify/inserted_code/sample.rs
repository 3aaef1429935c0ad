//! Sample states: what registers and memory hold when a piece of inserted code begins.

use prlx_trace::device::{Context, HiddenParameter, LaunchSize, MAGAZINE_COUNT};

use super::memory::Memory;
use crate::verify::machine::mix;

/// Number of states that each piece is executed in.
pub(super) const SAMPLES: u64 = 8;

/// Address of the hidden parameter.
pub const PARAMETERS: u64 = 0x7000_0000_0000;

/// The number of the warp in the grid.
pub(super) const WARP: u32 = 0x1_2345;

/// Addresses in the memory of the recorder.
const CONTEXT: u64 = 0x1_0000;

const CURSOR: u64 = 0x7_0000_0000;

const MAGAZINE: u64 = 0x7_8000_0000;

/// Bytes of a block of the pool. Levels have others; all of them are powers of two.
const BLOCK: u64 = 4096;

/// Memory with the hidden parameter of a launch, and what it leads to.
pub(super) fn memory(seed: u64) -> Memory {
    let mut memory = Memory::new(seed);
    let context = context(seed);
    // Some launches are not recorded.
    let parameter =
        if seed % SAMPLES == 6 { HiddenParameter::default() } else { context.hidden_parameter(CONTEXT) };
    let mut put = |at: u64, bytes: &[u8]| {
        (at..).zip(bytes).for_each(|(at, byte)| memory.write(at, 1, u64::from(*byte)));
    };
    put(PARAMETERS, &parameter.to_bytes());
    let size = LaunchSize { block_x: 37, block_y: 3, block_z: 4, grid_x: 70_000, grid_y: 50, grid_z: 9 };
    put(PARAMETERS + HiddenParameter::SIZE as u64, &size.to_bytes());
    put(CONTEXT, &context.to_bytes());
    put(CURSOR, &(2 * BLOCK).to_le_bytes());
    // Blocks that are left, and where they begin.
    let left = [0, 3, 40][(seed % 3) as usize];
    let magazine = (17 * BLOCK) << MAGAZINE_COUNT | left;
    for number in 0..16 {
        put(MAGAZINE + 128 * number, &magazine.to_le_bytes());
    }
    memory
}

/// The context of a launch.
fn context(seed: u64) -> Context {
    let either = |bit: u64, value: u64| if seed >> bit & 1 == 0 { value } else { 0 };
    Context {
        pool: 0x8_0000_1000,
        // Some lanes find it exhausted, or all.
        size: [200 * BLOCK, 20 * BLOCK, BLOCK][(seed % 3) as usize],
        cursor: CURSOR,
        magazines: either(0, MAGAZINE),
        batch: 4 * BLOCK,
        heads: 0x2_0000_0000,
        finals: either(1, 0x4_0000_0000),
        cta_warps: either(2, 8),
        bucket: 0x6_0000_0000,
        // The filter may leave the warp out.
        warp_first: if seed % SAMPLES == 7 { WARP + 1 } else { WARP - 1 },
        warps: 2,
        given: either(1, 2),
        tables: either(0, 0x6_8000_0000),
        records: either(1, 0x40_0000_0000),
        record_warps: either(2, 8),
        tracks: 0x50_1000_0000,
        track_log: 7 + seed % 4,
        launch: seed,
        visit_first: seed % 3,
        visit_last: if seed % 5 == 4 { u64::MAX } else { seed % 3 + 2 },
    }
}

/// What lanes do in a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// Lanes that the wave began with.
    pub launched: u64,
    /// Lanes that are where the wave is.
    pub present: u64,
    /// Lanes in EXEC.
    pub exec: u64,
}

impl Lanes {
    pub(super) fn of(lanes: u32, seed: u64) -> Lanes {
        let all = u64::MAX >> (64 - lanes);
        let some = mix(seed ^ 0xace1) | mix(seed ^ 0xbeef);
        let launched = match seed % 3 {
            2 => all >> (mix(seed) % u64::from(lanes)),
            _ => all,
        };
        let (present, exec) = match seed % SAMPLES {
            0 | 1 => (launched, launched),
            // Lanes outside EXEC are with the wave, or not.
            3 => (launched & some, launched & mix(seed ^ 0x51)),
            // The lanes with the highest numbers.
            7 => (launched & some & all << (lanes / 2 + 3), launched),
            4 => (launched & mix(seed ^ 0x52) & mix(seed ^ 0x53), launched),
            5 => (0, launched & some),
            _ => (launched, launched & some),
        };
        Lanes { launched, present, exec }
    }
}

/// A value that a register may hold: often one that code treats apart.
pub fn value(seed: u64) -> u32 {
    let value = mix(seed);
    match value >> 60 {
        0 | 1 => 0,
        2 => 1,
        3 => u32::MAX,
        4 => 1 << 31 | value as u32 & 7,
        5 => 1 << (value & 31),
        6 | 7 => value as u32 & 15,
        // A number between 0 and 200, as a floating-point value.
        8 => ((value & 0xffff) as f32 / 320.0).to_bits(),
        _ => value as u32,
    }
}

/// Values of a state register of 64 bits in a lane: addresses in lists of rows, which end at multiples of a
/// power of two, and small numbers.
pub(super) fn wide(seed: u64, lane: u32) -> u64 {
    let own = 0x20_0000_0000 + u64::from(lane) * 0x10_0000;
    match mix(seed ^ u64::from(lane)) % 10 {
        0 | 1 => 0,
        // Rows of this lane, at and before the end of a block.
        2 => own,
        3 => own + 0x1000,
        4 => own + 0x1000 - 64 * (1 + seed % 4),
        5 => own + 128 * (seed % 64),
        // Lost elements, and lanes that are not recorded, have odd numbers.
        6 => 1 + 2 * (mix(seed) & 0xffff),
        7 => u64::from(value(seed ^ u64::from(lane) << 20)),
        // Sums of it carry.
        8 => u64::from(0x21 + lane) << 32 | 0xffff_ffc0,
        _ => own + 8 * (mix(seed ^ u64::from(lane)) & 0x1fff),
    }
}
