//! NVIDIA machine code as `nvdisasm -c -gp` prints it: basic blocks of instructions, each with the PTX line
//! that it was compiled from.
//!
//! # Invariants
//! Any text is accepted. Lines that are not instructions are skipped.
//!
//! # Limitations
//! - Operands are not parsed, and encodings are not read.
//! - Branch targets are not resolved: a block ends at a label and after an instruction that may transfer
//!   control.

/// A machine instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineInst {
    /// Opcode with modifiers and without guard, as `LDG.E.128`.
    pub name: String,
    /// Operands as printed.
    pub operands: String,
    /// Line of the PTX, from 1; 0: unknown.
    pub line: u32,
}

/// Opcodes that may transfer control.
const LEAVES: [&str; 12] =
    ["BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "EXIT", "RET", "CALL", "BREAK", "BSYNC", "KILL"];

/// Prefixes of opcodes that access memory other than constants.
const MEMORY: [&str; 12] =
    ["LD", "ST", "ATOM", "RED", "SULD", "SUST", "SURED", "SUATOM", "TEX", "TLD", "UBLK", "UTMA"];

/// Prefixes of opcodes that wait, or order memory.
const ORDER: [&str; 10] =
    ["BAR", "SYNCS", "ARRIVES", "DEPBAR", "MEMBAR", "FENCE", "UCGABAR", "WARPGROUP", "WARPSYNC", "NANOSLEEP"];

impl MachineInst {
    /// The opcode without modifiers.
    pub fn stem(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Whether the instruction accesses memory, multiplies matrices, waits or orders memory.
    pub fn observable(&self) -> bool {
        let stem = self.stem();
        let begins = |all: &[&str]| all.iter().any(|b| stem.starts_with(b));
        begins(&MEMORY) && !stem.starts_with("LDC") || begins(&ORDER) || stem.ends_with("MMA")
    }

    /// Whether the instruction reads the SM's clock.
    pub fn reads_clock(&self) -> bool {
        self.operands.contains("SR_CLOCKLO")
    }
}

/// Basic blocks of all functions in a listing.
pub fn blocks(listing: &str) -> Vec<Vec<MachineInst>> {
    let mut all = Vec::new();
    let mut block = Vec::new();
    let mut line = 0;
    for text in listing.lines().map(str::trim) {
        if let Some(at) = text.strip_prefix("//##") {
            line = ptx_line(at).unwrap_or(0);
        } else if let Some(op) = operation(text, line) {
            let leaves = LEAVES.contains(&op.stem());
            block.push(op);
            if leaves {
                all.push(std::mem::take(&mut block));
            }
        } else if text.ends_with(':') || text.starts_with(".section") {
            all.push(std::mem::take(&mut block));
            if text.starts_with(".section") {
                line = 0;
            }
        }
    }
    all.push(block);
    all.retain(|b| !b.is_empty());
    all
}

/// The line in a comment like ` File ".nv_debug_ptx_txt", line 15`.
fn ptx_line(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(".nv_debug_ptx_txt")?;
    let (_, rest) = rest.split_once("line ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The instruction in a line like `/*0090*/  @!P0 CS2R.32 R9, SR_CLOCKLO ;`.
fn operation(text: &str, line: u32) -> Option<MachineInst> {
    let (_, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    let rest = rest.trim_start().trim_start_matches('{').trim_start();
    let rest = match rest.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
        None => rest,
    };
    let (name, operands) = rest.split_once(|c: char| c.is_whitespace() || c == ';').unwrap_or((rest, ""));
    let named = name.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    named.then(|| MachineInst {
        name: name.to_owned(),
        operands: operands.trim_end_matches(['}', ' ', ';']).to_owned(),
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn a_listing_is_read() {
        let listing = "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n\t//## File \".nv_debug_ptx_txt\", line 15\n\
            \t/*0090*/              @!P0 CS2R.32 R9, SR_CLOCKLO ;\n\t//## File \".nv_debug_ptx_txt\", line 17 inlined at \"x\", line 3\n\
            \t/*00a0*/                   LDG.E R4, desc[UR4][R2.64] ;\n\
            \t/*00b0*/               @P1 BRA `(.L_x_0) ;\n\
            \t/*00c0*/                   LDC R1, c[0x0][0x28] ;\n.L_x_0:\n\t/*00d0*/                   EXIT ;\n";
        let all = blocks(listing);
        let shown: Vec<String> = all
            .iter()
            .map(|b| {
                b.iter()
                    .map(|o| format!("{} {} {}", o.line, o.name, o.observable()))
                    .collect::<Vec<_>>()
                    .join(", ")
            })
            .collect();
        assert_eq!(shown, ["15 CS2R.32 false, 17 LDG.E true, 17 BRA false", "17 LDC false", "17 EXIT false"]);
        assert!(all[0][0].reads_clock() && !all[0][1].reads_clock());
    }
}
