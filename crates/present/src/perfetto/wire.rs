//! Protocol buffers as bytes: as much of the encoding as Perfetto's packets need.
//!
//! Holds: the same calls give the same bytes; fields come in the order of the calls. Misses: groups, signed zigzag numbers, packed
//! repeats; nothing here knows which field means what (`mod.rs` has the numbers).

/// A message in the making.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A number.
    pub fn number(&mut self, field: u32, value: u64) -> &mut Message {
        self.tag(field, 0);
        self.varint(value);
        self
    }
    /// A number of a fixed eight bytes.
    pub fn fixed(&mut self, field: u32, value: u64) -> &mut Message {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }
    /// A text, or a message that is done.
    pub fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Message {
        self.tag(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
    /// A message inside.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message) -> &mut Message) -> &mut Message {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0)
    }
    /// Empties it; its room stays.
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// What there is so far.
    pub fn written(&self) -> &[u8] {
        &self.0
    }

    fn tag(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }
    /// Seven bits a byte, the lowest first; the highest bit says that more come.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// What comes before the bytes of a field of so many: the bytes, and how many of them count.
pub(super) fn head(field: u32, length: usize) -> ([u8; 20], usize) {
    let (mut out, mut at) = ([0; 20], 0);
    for mut value in [u64::from(field) << 3 | 2, length as u64] {
        while value >= 0x80 {
            out[at] = value as u8 | 0x80;
            (value, at) = (value >> 7, at + 1);
        }
        (out[at], at) = (value as u8, at + 1);
    }
    (out, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding's own documentation.
    #[test]
    fn numbers_texts_and_messages() {
        let mut m = Message::default();
        m.number(1, 150);
        assert_eq!(m.written(), [0x08, 0x96, 0x01]);
        let mut m = Message::default();
        m.bytes(2, b"testing");
        assert_eq!(m.written(), b"\x12\x07testing");
        let mut m = Message::default();
        m.message(3, |inner| inner.number(1, 150));
        assert_eq!(m.written(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut m = Message::default();
        m.number(16, u64::MAX).fixed(47, 1);
        assert_eq!(m.written()[..2], [0x80, 0x01]);
        assert_eq!(m.written()[12..], [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
