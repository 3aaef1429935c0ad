//! Parts of registers: halves, SDWA's bytes and words, signs, and 64 bits of two words.

use super::signature::amd_ops;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V64};

amd_ops! {
    /// The high half.
    High(a: u32) -> u32 { a >> 16 }
    /// The first source as the low half of the second.
    MergeLow(a: u32, d: u32) -> u32 { a & 0xffff | d & 0xffff_0000 }
    /// The first source as the high half of the second.
    MergeHigh(a: u32, d: u32) -> u32 { a << 16 | d & 0xffff }
    /// 64 bits of two words.
    Pair(low: u32, high: u32) -> u64 { u64::from(high) << 32 | u64::from(low) }
    /// Two words of 64 bits.
    Split(a: u64) -> (u32, u32) { (a as u32, (a >> 32) as u32) }
    /// 1 where the predicate is true.
    Truth(a: bool) -> u32 { u32::from(a) }
    /// Bit 0 of the constant takes the absolute value of a binary32, bit 1 negates it then.
    Signs[imm](a: u32) -> u32 { (a & !((imm as u32 & 1) << 31)) ^ (imm as u32 >> 1 & 1) << 31 }
    /// Likewise, of a binary16.
    Signs16[imm](a: u16) -> u16 { (a & !((imm as u16 & 1) << 15)) ^ (imm as u16 >> 1 & 1) << 15 }
    /// Likewise, of a binary64.
    Signs64[imm](a: u64) -> u64 { (a & !((imm & 1) << 63)) ^ (imm >> 1 & 1) << 63 }
    /// A byte (0 to 3) or word (4, 5) of a source, as bits 0 to 2 of the constant say; bit 3 extends it by
    /// sign.
    SdwaSelect[imm](a: u32) -> u32 {
        let (low, bits) = sdwa(imm);
        let up = (a >> low) << (32 - bits);
        if imm & 8 != 0 { (up as i32 >> (32 - bits)) as u32 } else { up >> (32 - bits) }
    }
    /// A result as a byte or word of a register, as bits 0 to 2 of the constant say. Bits 3 and 4 say what
    /// the rest is: 0 zeros, 1 the sign above and zeros below, 2 what the register had.
    SdwaMerge[imm](a: u32, d: u32) -> u32 {
        let (low, bits) = sdwa(imm);
        let field = (u32::MAX >> (32 - bits)) << low;
        let part = (a << low) & field;
        let sign = 0u32.wrapping_sub(a >> (bits - 1) & 1) & !field & !((1 << low) - 1);
        part | match imm >> 3 & 3 { 1 => sign, 2 => d & !field, _ => 0 }
    }
}

/// A 64-bit base in two scalar words, of which the constant keeps bits if it is not 0, plus a 32-bit offset.
pub struct AddressSum;
impl LaneOp for AddressSum {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let word = |n: usize| u64::from(p.get32(args.src[n]).0[0]);
        let keep = if args.imm == 0 { u64::MAX } else { args.imm };
        let base = (word(1) << 32 | word(0)) & keep;
        let offset = p.get32(args.src[2]);
        let mut out = V64([0; LANES]);
        for l in 0..LANES {
            out.0[l] = base.wrapping_add(u64::from(offset.0[l]));
        }
        p.put64(args.dst[0], mask, out);
    }
}

/// The first bit, and the number of bits.
#[inline(always)]
fn sdwa(imm: u64) -> (u32, u32) {
    let select = imm as u32 & 7;
    if select < 4 {
        (8 * select, 8)
    } else if select < 6 {
        (16 * (select - 4), 16)
    } else {
        (0, 32)
    }
}
