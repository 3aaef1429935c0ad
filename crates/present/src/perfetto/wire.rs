//! Encodes protocol buffer messages, as far as Perfetto's packets need it.
//!
//! # Invariants
//! The same calls give the same bytes; fields are written in the order of the calls.
//!
//! # Limitations
//! Groups, zigzag numbers and packed repeated fields are not supported. Field numbers have no meaning here.

/// A message that is being encoded.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Appends a varint field.
    pub fn number(&mut self, field: u32, value: u64) -> &mut Message {
        self.tag(field, 0);
        self.varint(value);
        self
    }
    /// Appends a fixed 64-bit field.
    pub fn fixed(&mut self, field: u32, value: u64) -> &mut Message {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }
    /// Appends a length-delimited field: a string or an encoded message.
    pub fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Message {
        self.tag(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
    /// Appends a nested message, which `fill` encodes.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message) -> &mut Message) -> &mut Message {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0)
    }
    /// Removes the content and keeps the allocation.
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// The bytes encoded so far.
    pub fn written(&self) -> &[u8] {
        &self.0
    }

    fn tag(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }
    /// Seven bits per byte, lowest first. The highest bit of a byte is set if more bytes follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// The tag and length before a field of `length` bytes: a buffer, and how many of its bytes are used.
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
