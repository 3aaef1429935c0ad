//! Machine code under construction: words with labels, and the instructions that inserted code is made of.
//!
//! Instructions are named as on gfx9; [`Assembler::emit`] knows what other targets call them.
//!
//! # Limitations
//! Branches of one word reach 128 KiB. Whoever needs more uses [`Assembler::address`].

use prlx_isa::amdgpu::inst::{Bank, Encoding, Field, Inst, Value};
use prlx_isa::amdgpu::{Family, Target};

/// A place in the code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label(usize);

/// An address that code computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Destination {
    /// In the code under construction.
    Label(Label),
    /// In the original object.
    Address(u64),
}

impl Destination {
    /// The label, if it is one.
    pub(super) fn label(self) -> Option<Label> {
        match self {
            Destination::Label(label) => Some(label),
            Destination::Address(_) => None,
        }
    }
}

/// Words that depend on where code lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fixup {
    /// The branch of one word at this place.
    Branch(usize, Label),
    /// The `s_setpc_b64` at this place, whose registers have the address of the label.
    Jump(usize, Label),
    /// The literals at `low` and `high`, which are added to the address of the word `base`.
    Address { base: usize, low: usize, high: usize, to: Destination },
}

/// An instruction of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// Its first word.
    pub(super) at: usize,
    pub(super) inst: Inst,
    /// Whether it is none of the original.
    pub(super) inserted: bool,
    /// Number of the piece of inserted code that it belongs to.
    pub(super) piece: Option<usize>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Assembler {
    pub(super) target: Target,
    /// Lanes of a wave: 32 or 64.
    pub(super) lanes: u8,
    pub(super) words: Vec<u32>,
    /// Instructions of the function under construction.
    pub(super) placed: Vec<Placed>,
    /// Number of the piece of inserted code under construction.
    pub(super) piece: Option<usize>,
    /// Where each label is, in words.
    labels: Vec<Option<usize>>,
    pub(super) fixups: Vec<Fixup>,
    /// The first instruction that the target does not have.
    missing: Option<String>,
}

/// A scalar register.
pub(super) fn sgpr(first: u8) -> Value {
    Value::Registers { bank: Bank::Scalar, first, count: 1 }
}

/// Scalar registers from this one on.
pub(super) fn sgprs(first: u8, count: u8) -> Value {
    Value::Registers { bank: Bank::Scalar, first, count }
}

/// A vector register.
pub(super) fn vgpr(first: u8) -> Value {
    vgprs(first, 1)
}

/// Vector registers from this one on.
pub(super) fn vgprs(first: u8, count: u8) -> Value {
    Value::Registers { bank: Bank::Vector, first, count }
}

/// EXEC as an operand.
pub(super) const EXEC: Value = Value::Named("exec", &[]);

impl Assembler {
    /// No code yet.
    pub(super) fn new(target: Target, lanes: u8) -> Assembler {
        let (words, labels, fixups, placed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Assembler { target, lanes, words, placed, piece: None, labels, fixups, missing: None }
    }

    /// Number of words so far.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// A label without a place.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts a label here.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.words.len());
    }

    /// Where a label is, in words.
    pub(super) fn place_of(&self, label: Label) -> Option<usize> {
        self.labels[label.0]
    }

    /// Appends an instruction as it is.
    pub(super) fn raw(&mut self, inst: &Inst) {
        self.put(inst, false);
    }

    fn put(&mut self, inst: &Inst, inserted: bool) {
        self.placed.push(Placed { at: self.words.len(), inst: *inst, inserted, piece: self.piece });
        self.words.extend(inst.words());
    }

    /// Appends a branch of one word with another target.
    pub(super) fn branch(&mut self, inst: &Inst, to: Label) {
        self.fixups.push(Fixup::Branch(self.words.len(), to));
        self.put(inst, false);
    }

    /// Appends a branch of that name.
    pub(super) fn jump(&mut self, name: &str, to: Label) {
        self.fixups.push(Fixup::Branch(self.words.len(), to));
        self.emit(Encoding::Sopp, name, &[Value::Immediate(0)]);
    }

    /// Appends a jump to a label whose address is in two SGPRs.
    pub(super) fn jump_by(&mut self, pair: u8, to: Label) {
        self.fixups.push(Fixup::Jump(self.words.len(), to));
        self.emit(Encoding::Sop1, "s_setpc_b64", &[sgprs(pair, 2)]);
    }

    /// Appends code that puts an address into two SGPRs. It changes SCC.
    pub(super) fn address(&mut self, into: u8, to: Destination) {
        self.emit(Encoding::Sop1, "s_getpc_b64", &[sgprs(into, 2)]);
        let base = self.words.len();
        // Any literal; the value comes later.
        let literal = Value::Literal(0);
        self.emit(Encoding::Sop2, "s_add_u32", &[sgpr(into), sgpr(into), literal]);
        let low = self.words.len() - 1;
        self.emit(Encoding::Sop2, "s_addc_u32", &[sgpr(into + 1), sgpr(into + 1), literal]);
        self.fixups.push(Fixup::Address { base, low, high: self.words.len() - 1, to });
    }

    /// Appends an operation on masks of lanes with one operand, by its stem.
    pub(super) fn mask1(&mut self, stem: &str, to: Value, a: Value) {
        self.emit(Encoding::Sop1, &format!("{stem}_b{}", self.lanes), &[to, a]);
    }

    /// The same with two operands.
    pub(super) fn mask2(&mut self, stem: &str, to: Value, a: Value, b: Value) {
        self.emit(Encoding::Sop2, &format!("{stem}_b{}", self.lanes), &[to, a, b]);
    }

    /// Appends an instruction.
    pub(super) fn emit(&mut self, encoding: Encoding, name: &str, operands: &[Value]) {
        self.emit_with(encoding, name, operands, &[]);
    }

    /// Appends an instruction with more fields than its operands.
    pub(super) fn emit_with(
        &mut self,
        encoding: Encoding,
        name: &str,
        operands: &[Value],
        fields: &[(Field, u32)],
    ) {
        let spelled = spelled(self.target.family(), name);
        match Inst::assemble(self.target, self.lanes, encoding, spelled, operands, fields) {
            Some(inst) => self.put(&inst, true),
            None => {
                let what = || format!("{} has no {spelled} with {operands:?}", self.target);
                self.missing = self.missing.take().or_else(|| Some(what()));
            }
        }
    }

    /// Notes that code from word `from` on has moved: at each of some words, in order, so many were inserted.
    pub(super) fn moved(&mut self, from: usize, added: &[(usize, usize)]) {
        let mut sums = vec![0];
        added.iter().for_each(|(_, count)| sums.push(sums[sums.len() - 1] + count));
        let shifted = |word: usize| word + sums[added.partition_point(|(at, _)| *at <= word)];
        for place in self.labels.iter_mut().flatten().filter(|place| **place >= from) {
            // What is inserted before an instruction lies behind its label.
            *place += sums[added.partition_point(|(at, _)| *at < *place)];
        }
        for fixup in &mut self.fixups {
            match fixup {
                Fixup::Branch(word, _) | Fixup::Jump(word, _) if *word >= from => *word = shifted(*word),
                Fixup::Address { base, low, high, .. } if *base > from => {
                    // The word behind `s_getpc_b64`, which it counts from.
                    (*base, *low, *high) = (shifted(*base - 1) + 1, shifted(*low), shifted(*high));
                }
                _ => {}
            }
        }
    }

    /// Whether a branch does not reach its label.
    pub(super) fn has_unreached(&self) -> bool {
        self.fixups.iter().any(|fixup| match fixup {
            Fixup::Branch(from, to) => {
                self.labels[to.0].is_some_and(|to| i16::try_from(to as i64 - (*from as i64 + 1)).is_err())
            }
            Fixup::Address { .. } | Fixup::Jump(..) => false,
        })
    }

    /// The code, if it begins at this address.
    ///
    /// # Errors
    /// If a branch does not reach its target, or the target lacks an instruction.
    pub(super) fn finish(mut self, address: u64) -> Result<Vec<u8>, String> {
        if let Some(what) = self.missing {
            return Err(what);
        }
        let at = |words: usize| address.wrapping_add(4 * words as u64);
        for fixup in std::mem::take(&mut self.fixups) {
            let place = |label: Label| self.labels[label.0].ok_or("a label has no place");
            match fixup {
                Fixup::Branch(from, to) => {
                    let distance = place(to)? as i64 - (from as i64 + 1);
                    let short = i16::try_from(distance)
                        .map_err(|_| format!("a branch over {} KiB of code", distance.abs() * 4 / 1024))?;
                    let word = &mut self.words[from];
                    *word = *word & 0xffff_0000 | u32::from(short.cast_unsigned());
                }
                Fixup::Jump(..) => {}
                Fixup::Address { base, low, high, to } => {
                    let to = match to {
                        Destination::Label(label) => at(place(label)?),
                        Destination::Address(address) => address,
                    };
                    let distance = to.wrapping_sub(at(base));
                    self.words[low] = distance as u32;
                    self.words[high] = (distance >> 32) as u32;
                }
            }
        }
        Ok(self.words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// What targets of a family call an instruction of gfx9.
fn spelled(family: Family, name: &str) -> &str {
    let gfx10 = [
        ("v_add_u32", "v_add_nc_u32"),
        ("v_sub_u32", "v_sub_nc_u32"),
        ("v_addc_co_u32", "v_add_co_ci_u32"),
        ("v_subb_co_u32", "v_sub_co_ci_u32"),
    ];
    let gfx11 = [
        ("s_ff1_i32_b32", "s_ctz_i32_b32"),
        ("s_ff1_i32_b64", "s_ctz_i32_b64"),
        ("s_andn2_b32", "s_and_not1_b32"),
        ("s_andn2_b64", "s_and_not1_b64"),
        ("global_load_dword", "global_load_b32"),
        ("global_load_dwordx2", "global_load_b64"),
        ("global_load_dwordx4", "global_load_b128"),
        ("scratch_load_dword", "scratch_load_b32"),
        ("scratch_store_dword", "scratch_store_b32"),
        ("global_store_byte", "global_store_b8"),
        ("global_store_short", "global_store_b16"),
        ("global_store_dword", "global_store_b32"),
        ("global_store_dwordx2", "global_store_b64"),
        ("global_store_dwordx4", "global_store_b128"),
        ("global_atomic_add", "global_atomic_add_u32"),
        ("global_atomic_umin", "global_atomic_min_u32"),
        ("global_atomic_smin", "global_atomic_min_i32"),
        ("global_atomic_umin_x2", "global_atomic_min_u64"),
        ("global_atomic_smin_x2", "global_atomic_min_i64"),
        ("global_atomic_umax", "global_atomic_max_u32"),
        ("global_atomic_smax", "global_atomic_max_i32"),
        ("global_atomic_umax_x2", "global_atomic_max_u64"),
        ("global_atomic_smax_x2", "global_atomic_max_i64"),
        ("global_atomic_and", "global_atomic_and_b32"),
        ("global_atomic_or", "global_atomic_or_b32"),
        ("global_atomic_and_x2", "global_atomic_and_b64"),
        ("global_atomic_or_x2", "global_atomic_or_b64"),
        ("global_atomic_xor_x2", "global_atomic_xor_b64"),
        ("global_atomic_swap", "global_atomic_swap_b32"),
        ("v_ffbh_u32", "v_clz_i32_u32"),
        ("global_atomic_add_x2", "global_atomic_add_u64"),
        ("global_atomic_xor", "global_atomic_xor_b32"),
        ("global_atomic_cmpswap_x2", "global_atomic_cmpswap_b64"),
    ];
    let gfx12 = [
        ("s_add_u32", "s_add_co_u32"),
        ("s_addc_u32", "s_add_co_ci_u32"),
        ("v_mad_u64_u32", "v_mad_co_u64_u32"),
    ];
    let lists = [(Family::Gfx12, &gfx12[..]), (Family::Gfx11, &gfx11), (Family::Gfx10, &gfx10)];
    let newer = lists.iter().filter(|(since, _)| family >= *since).flat_map(|(_, list)| *list);
    newer.into_iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}
