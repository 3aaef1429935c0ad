//! What an instruction does: its access to memory, the counters that it waits for, the shape of its matrices.

use super::immediate;
use super::names::Field;
use super::raw::Inst;
use super::table::{Access, Class, Immediate, Kind};

impl Inst {
    /// Whether the instruction loads, stores, or both; `None` if it does not access memory.
    pub fn access(&self) -> Option<Access> {
        self.meaning.and_then(|(_, row)| row.form.access)
    }

    /// Whether the instruction is a load from memory that writes LDS instead of registers, at an address
    /// that M0 gives.
    pub fn loads_to_lds(&self) -> bool {
        self.get(Field::Lds) == 1 || self.name().contains("_load_lds_")
    }

    /// Bytes of memory that one lane accesses (a wave, for scalar memory), as the mnemonic says. `None` for
    /// accesses whose format decides, and for instructions without access.
    pub fn access_bytes(&self) -> Option<u32> {
        self.access()?;
        let name = self.name();
        let words: Vec<&str> = name.split('_').collect();
        // Old names of atomic operations have no size if it is one word.
        let usual = if name.contains("_atomic_") && !words.contains(&"x2") { Some(4) } else { None };
        let one = if words.contains(&"pk") { Some(4) } else { words.iter().find_map(|word| size(word)) };
        let two = words
            .iter()
            .any(|word| word.starts_with("2addr") || word.contains("read2") || word.contains("write2"));
        let two = two || words.iter().any(|word| word.starts_with("wrxchg2") || *word == "storexchg");
        Some(one.or(usual)? * if two && name.starts_with("ds_") { 2 } else { 1 })
    }

    /// Rows, columns and depth of a matrix product: M, N, K.
    pub fn matrix_shape(&self) -> Option<[u32; 3]> {
        if self.class() != Some(Class::Matrix) {
            return None;
        }
        self.name().split('_').find_map(|word| {
            let numbers: Vec<u32> = word.split('x').map(|part| part.parse().ok()).collect::<Option<_>>()?;
            <[u32; 3]>::try_from(numbers).ok()
        })
    }

    /// Counters of outstanding work that the instruction waits for, and how much may stay outstanding.
    pub fn waits(&self) -> Vec<(&'static str, u32)> {
        let waiting = self.meaning.filter(|(_, row)| row.class == Class::Wait);
        let Some((_, row)) = waiting else { return Vec::new() };
        let value = self.get(Field::Simm16);
        if row.form.slots.iter().any(|slot| slot.kind == Kind::Immediate(Immediate::Waitcnt)) {
            let counters = immediate::waitcnt(self.target, value);
            let waited = counters.into_iter().filter(|(.., waits)| *waits);
            return waited.map(|(name, count, _)| (name, count)).collect();
        }
        match row.name {
            "s_wait_loadcnt_dscnt" => vec![("loadcnt", value >> 8 & 63), ("dscnt", value & 63)],
            "s_wait_storecnt_dscnt" => vec![("storecnt", value >> 8 & 63), ("dscnt", value & 63)],
            name => match name.strip_prefix("s_waitcnt_").or_else(|| name.strip_prefix("s_wait_")) {
                Some(counter) if counter.ends_with("cnt") => vec![(counter, value)],
                _ => Vec::new(),
            },
        }
    }
}

/// Bytes that a word of a mnemonic means.
fn size(word: &str) -> Option<u32> {
    Some(match word {
        "byte" | "ubyte" | "sbyte" | "b8" | "u8" | "i8" => 1,
        "short" | "ushort" | "sshort" | "b16" | "u16" | "i16" => 2,
        "dword" | "b32" | "u32" | "i32" | "f32" => 4,
        "dwordx2" | "b64" | "u64" | "i64" | "f64" | "x2" => 8,
        "dwordx3" | "b96" => 12,
        "dwordx4" | "b128" => 16,
        "dwordx8" | "b256" => 32,
        "dwordx16" | "b512" => 64,
        _ => return None,
    })
}
