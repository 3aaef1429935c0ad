//! The undefined lanes and bits of a warp's registers.

use rustc_hash::FxHashMap;

use prlx_lanes::LANES;

use super::findings::CheckContext;
use super::undefined::Origin;
use prlx_isa::view::FuncId;

/// A warp's registers, by number.
#[derive(Debug)]
pub struct Registers {
    /// The lanes in which a bit of the register is undefined.
    undefined: Vec<u32>,
    /// The origin of the undefined bits; `None`: the register itself was never written.
    origin: Vec<Option<Origin>>,
    /// The undefined bits by lane, of registers in which some lane has defined bits too. In other registers
    /// all bits of an undefined lane are undefined.
    partial: FxHashMap<u32, Box<[u64; LANES]>>,
}

impl Registers {
    /// Registers that nothing wrote, except those of `undefined` that are 0.
    pub fn new(undefined: Vec<u32>) -> Registers {
        Registers { origin: vec![None; undefined.len()], undefined, partial: FxHashMap::default() }
    }
    /// The lanes in which a bit of the register is undefined.
    pub fn lanes(&self, reg: u32) -> u32 {
        self.undefined[reg as usize]
    }
    /// The undefined bits of a register in a lane; bits above the width of the register mean nothing.
    pub fn bits(&self, reg: u32, l: usize) -> u64 {
        match self.undefined[reg as usize] >> l & 1 {
            0 => 0,
            _ => self.partial.get(&reg).map_or(u64::MAX, |p| p[l]),
        }
    }
    /// The first register that is undefined in a lane of `m`, and all lanes in which one is.
    pub fn any(&self, uses: &[u32], m: u32) -> (Option<u32>, u32) {
        let lanes = uses.iter().fold(0, |lanes, &u| lanes | self.undefined[u as usize]);
        let first = if lanes & m == 0 {
            None
        } else {
            uses.iter().copied().find(|&u| self.undefined[u as usize] & m != 0)
        };
        (first, lanes)
    }
    /// Lanes enter a function: its registers become undefined. The registers of recursive functions are not
    /// tracked.
    pub fn enter(&mut self, cx: &CheckContext<'_, '_>, func: FuncId, recursive: bool, lanes: u32) {
        let Some(f) = cx.launch.module.functions.get(func.index()).filter(|_| !recursive) else { return };
        let all = cx.facts.of_function(func.index(), f);
        let first = all.start;
        all.for_each(|r| self.set(r, lanes, u32::MAX, None));
        f.reg_params.iter().for_each(|p| self.set(first + p.index() as u32, lanes, 0, None));
    }
    /// The origin of the undefined bits of a register.
    pub fn origin_of(&self, reg: u32) -> Origin {
        self.origin[reg as usize].unwrap_or(Origin::Register(reg))
    }
    /// Writes a register in the lanes `m`: in those of `undefined`, all its bits are undefined.
    pub fn set(&mut self, reg: u32, m: u32, undefined: u32, origin: Option<Origin>) {
        let u = &mut self.undefined[reg as usize];
        *u = *u & !m | undefined & m;
        if undefined & m != 0 {
            self.origin[reg as usize] = origin;
        }
        if *u == 0 {
            self.partial.remove(&reg);
        } else if undefined & m != 0
            && let Some(p) = self.partial.get_mut(&reg)
        {
            (0..LANES).filter(|l| undefined & m & 1 << l != 0).for_each(|l| p[l] = u64::MAX);
        }
    }
    /// Writes a register of `width` bits in a lane, with these undefined bits.
    pub fn set_bits(&mut self, reg: u32, l: usize, bits: u64, width: u32, origin: Option<Origin>) {
        let whole = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        self.set(reg, 1 << l, if bits & whole == 0 { 0 } else { 1 << l }, origin);
        if bits & whole != 0 && bits & whole != whole {
            let p = self.partial.entry(reg).or_insert_with(|| Box::new([u64::MAX; LANES]));
            p[l] = bits & whole;
        }
    }
    /// Counts a register as defined in these lanes.
    pub fn define(&mut self, reg: u32, lanes: u32) {
        self.set(reg, lanes, 0, None);
    }
}
