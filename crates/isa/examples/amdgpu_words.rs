//! Writes instructions of AMD for `cargo xtask amdgpu`: `amdgpu_words TARGET LANES COUNT SEED`, or `-`
//! instead of a count to decode the lines of standard input, words in hexadecimal.
//!
//! A line is the encoding that the words were made for, the words, the bytes of the instruction (0: opaque),
//! and the text. Every opcode of every encoding comes up, also those that do not exist. Fields get values
//! that mean something, and random bits.

use std::io::{self, BufRead, BufWriter, Write};

use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::table::{self, Kind, Layout, Row};
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, MOST_WORDS};

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [target, lanes, count, rest @ ..] = &args[..] else {
        return Err(io::Error::other("TARGET LANES COUNT SEED"));
    };
    let lanes: u8 = lanes.parse().map_err(io::Error::other)?;
    let target = Target::parse(target).ok_or_else(|| io::Error::other("unknown target"))?;
    let mut out = BufWriter::new(io::stdout());
    if count == "-" {
        for line in io::stdin().lock().lines() {
            let line = line?;
            let words = line.split(' ').map(|word| u32::from_str_radix(word, 16));
            let words = words.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
            write(&mut out, target, lanes, "code", &words)?;
        }
        return out.flush();
    }
    let count: usize = count.parse().map_err(io::Error::other)?;
    let seed = rest.first().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random(seed);
    let layouts: Vec<&Layout> =
        table::of(target).layouts.iter().filter(|layout| !is_image(layout.encoding)).collect();
    let rows: Vec<(&Layout, &Row)> =
        layouts.iter().flat_map(|layout| layout.rows.iter().map(move |row| (*layout, row))).collect();
    for at in 0..count {
        let (layout, row) = rows[at % rows.len()];
        let words = match random.below(20) {
            0..=13 => fields(layout, row, &mut random),
            14..=17 => bits(layout, layout.with_opcode(row.opcode) | row.fixed.1, &mut random),
            _ => {
                let layout = layouts[random.below(layouts.len())];
                let opcode = u16::try_from(random.below(0x10000)).unwrap_or(0);
                bits(layout, layout.with_opcode(opcode), &mut random)
            }
        };
        let words = without_crashes(target, layout, words);
        write(&mut out, target, lanes, layout.encoding.name(), &words)?;
    }
    out.flush()
}

/// Instructions whose operands are not read.
fn is_image(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Mimg | Encoding::Vimage | Encoding::Vsample)
}

fn write(out: &mut impl Write, target: Target, lanes: u8, name: &str, words: &[u32]) -> io::Result<()> {
    let Some(inst) = Inst::decode(target, lanes, words) else { return Ok(()) };
    let bytes = if inst.is_opaque() { 0 } else { inst.words().len() * 4 };
    let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
    let text = if inst.is_opaque() { String::new() } else { inst.print() };
    writeln!(out, "{name}\t{}\t{bytes}\t{text}", words.join(" "))
}

/// Words of an instruction, a literal, and `s_nop`.
fn words(layout: &Layout, raw: u128, random: &mut Random) -> Vec<u32> {
    let literals =
        [0x3f80_0000, 0, 0xffff_fff0, 0x3c00, 64, 0x3e22_f983, random.next(), random.next() & 0xffff];
    let mut words: Vec<u32> = (0..usize::from(layout.words)).map(|at| (raw >> (32 * at)) as u32).collect();
    words.push(literals[random.below(literals.len())]);
    words.push(0xbf80_0000); // s_nop
    words.truncate(MOST_WORDS);
    words
}

/// Random bits, except where the encoding fixes them.
fn bits(layout: &Layout, base: u128, random: &mut Random) -> Vec<u32> {
    let opcode = layout.opcode.iter().fold(layout.fixed.0, |mask, bits| mask | bits.mask());
    let noise = (0..4).fold(0u128, |all, _| all << 32 | u128::from(random.next()));
    words(layout, base | (noise & !opcode), random)
}

/// Operands that mean something; every other field is often 0.
fn fields(layout: &Layout, row: &Row, random: &mut Random) -> Vec<u32> {
    let mut raw = layout.with_opcode(row.opcode) | row.fixed.1;
    for (field, bits) in layout.fields() {
        let operand = row.form.slots.iter().find(|slot| slot.field == field);
        let most = 1u32 << bits.width.min(31);
        let value = match operand.map(|slot| slot.kind) {
            Some(_) if bits.width == 9 && random.below(4) > 0 => 256 + 2 * random.below(120) as u32,
            Some(Kind::Source { .. }) if bits.width >= 8 => {
                let constants = [255, 128, 193, 240, 248, 106, 124, 125, 126, 253, 251, 235];
                match random.below(2) {
                    0 => constants[random.below(constants.len())],
                    _ => random.below(106) as u32,
                }
            }
            Some(_) if random.below(4) > 0 => 4 * random.below(26) as u32,
            None if random.below(2) > 0 => 0,
            _ => random.next(),
        };
        let free = bits.mask() & !row.fixed.0;
        raw = (raw & !free) | (u128::from(value % most) << bits.low & free);
    }
    words(layout, raw, random)
}

/// LLVM 22 crashes when it prints a select of 7 in SDWA, or a literal where the encoding has none.
fn without_crashes(target: Target, layout: &Layout, mut words: Vec<u32>) -> Vec<u32> {
    let mut raw = words.iter().take(4).rev().fold(0u128, |raw, word| raw << 32 | u128::from(*word));
    for field in [Field::DstSel, Field::Src0Sel, Field::Src1Sel] {
        if let Some(bits) = layout.field(field).filter(|bits| bits.of(raw) == 7) {
            raw &= !(1 << bits.low);
        }
    }
    if matches!(target, Target::Gfx90a | Target::Gfx942) && layout.words == 2 {
        for field in [Field::Src0, Field::Src1, Field::Src2, Field::Soffset] {
            if let Some(bits) = layout.field(field).filter(|bits| bits.width >= 8 && bits.of(raw) == 255) {
                raw &= !(1 << bits.low);
            }
        }
    }
    for (at, word) in words.iter_mut().take(usize::from(layout.words)).enumerate() {
        *word = (raw >> (32 * at)) as u32;
    }
    words
}

/// A small generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    fn below(&mut self, most: usize) -> usize {
        self.next() as usize % most.max(1)
    }
}
