//! Kernel descriptors: the 64 bytes with which a kernel is dispatched.
//!
//! A descriptor is kept as its bytes. Fields are read from them and written to them by the table in
//! [`Field`](super::Field).
//!
//! # Invariants
//! Every bit survives, reserved ones too. Writing a field changes no bit of another one.

use super::super::target::Target;
use super::fields::Field;
use crate::image::Error;

/// Size of a descriptor, bytes.
pub const SIZE: usize = 64;

/// Bits of the offset of the first instruction, which is signed and relative to the descriptor.
const ENTRY: std::ops::Range<usize> = 16..24;

/// A kernel descriptor of a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Descriptor {
    bytes: [u8; SIZE],
    target: Target,
}

impl Descriptor {
    /// The descriptor with these bytes.
    pub fn new(bytes: [u8; SIZE], target: Target) -> Descriptor {
        Descriptor { bytes, target }
    }

    /// The descriptor as it lies in the file.
    pub fn bytes(&self) -> &[u8; SIZE] {
        &self.bytes
    }

    /// The target that it is read for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The value of a field; `None` if the target does not have it.
    pub fn get(&self, field: Field) -> Option<u32> {
        let (from, width) = field.bits(self.target)?;
        Some((0..width).fold(0, |value, bit| value | u32::from(self.bit(from + bit)) << bit))
    }

    /// The value of a field; 0 if the target does not have it.
    pub(super) fn value(&self, field: Field) -> u32 {
        self.get(field).unwrap_or_default()
    }

    /// Whether a field is not 0.
    pub fn is_set(&self, field: Field) -> bool {
        self.value(field) != 0
    }

    /// Writes a field.
    ///
    /// # Errors
    /// If the target does not have the field, or the value needs more bits.
    pub fn set(&mut self, field: Field, value: u32) -> Result<(), Error> {
        let (name, target) = (field.name(), self.target);
        let wrong = |what: String| Error { at: 0, what };
        let absent = || wrong(format!("kernel descriptors of {target} have no field `{name}`"));
        let (from, width) = field.bits(target).ok_or_else(absent)?;
        if u64::from(value) >= 1 << width {
            return Err(wrong(format!("field `{name}` has {width} bits, too few for {value}")));
        }
        for bit in 0..width {
            let (byte, mask) = place(from + bit);
            if let Some(byte) = self.bytes.get_mut(byte) {
                *byte = if value >> bit & 1 != 0 { *byte | mask } else { *byte & !mask };
            }
        }
        Ok(())
    }

    /// The fields that the target has, with their values, in the order of their bits.
    pub fn fields(&self) -> impl Iterator<Item = (Field, u32)> {
        Field::ALL.iter().filter_map(|field| Some((*field, self.get(*field)?)))
    }

    /// Reserved bits that are not 0: their numbers in the descriptor.
    pub fn reserved(&self) -> Vec<u16> {
        let mut known = [false; 8 * SIZE];
        let fields = Field::ALL.iter().filter_map(|field| field.bits(self.target));
        for (from, width) in fields.chain([(8 * 16, 64)]) {
            known.iter_mut().skip(from.into()).take(width.into()).for_each(|bit| *bit = true);
        }
        (0u16..).zip(known).filter(|(bit, known)| !known && self.bit(*bit)).map(|(bit, _)| bit).collect()
    }

    /// Distance from the descriptor to the first instruction, bytes.
    pub fn entry_offset(&self) -> i64 {
        self.bytes.get(ENTRY).and_then(|b| b.first_chunk()).map_or(0, |b| i64::from_le_bytes(*b))
    }

    /// Writes the distance to the first instruction.
    pub fn set_entry_offset(&mut self, offset: i64) {
        if let Some(place) = self.bytes.get_mut(ENTRY) {
            place.copy_from_slice(&offset.to_le_bytes());
        }
    }

    fn bit(&self, bit: u16) -> bool {
        let (byte, mask) = place(bit);
        self.bytes.get(byte).is_some_and(|b| b & mask != 0)
    }
}

/// The byte of a bit, and its mask there.
fn place(bit: u16) -> (usize, u8) {
    (usize::from(bit / 8), 1 << (bit % 8))
}
